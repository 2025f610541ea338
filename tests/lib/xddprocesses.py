"""The processes of a program, found by its path in their command lines."""
import os
import select
import time

END_S = 20


class Processes:
    """`program`: a path that no other process has among its words, such as that of a copy of xdd."""

    def __init__(self, program):
        self.program = program.encode()

    def all(self):
        """{pid: words} of those that run; a shell that starts the program is among them."""
        found = {}
        for pid in os.listdir("/proc"):
            if not pid.isdigit():
                continue
            try:
                with open("/proc/%s/cmdline" % pid, "rb") as f:
                    words = f.read()
                if self.program not in words:
                    continue
                with open("/proc/%s/stat" % pid, "rb") as f:
                    state = f.read().rsplit(b")", 1)[1].split()[0]
            except OSError:
                continue
            if state not in b"ZX":
                found[int(pid)] = words.rstrip(b"\0").split(b"\0")
        return found

    def wait_none(self):
        """Wait until all have ended; those that stay for too long."""
        end = time.monotonic() + END_S
        while True:
            left = self.all()
            for pid in left:
                try:
                    fd = os.pidfd_open(pid)
                except ProcessLookupError:
                    continue
                select.select([fd], [], [], max(0, end - time.monotonic()))
                os.close(fd)
            if not left or time.monotonic() > end:
                return left

    def is_server(self, words):
        return words[0] == self.program and words[-1] == b"-server"

    def victim(self, kind, initiator):
        """A "server", an "ssh", which is between both, or the "initiator"; 0 while there is none."""
        if kind == "initiator":
            return initiator
        for pid, words in self.all().items():
            server = self.is_server(words)
            if (kind == "server" and server) or (kind == "ssh" and not server and pid != initiator):
                return pid
        return 0
