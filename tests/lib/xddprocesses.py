# SPDX-License-Identifier: GPL-2.0-or-later
"""The processes of a program, found by its path in their command lines."""
import os
import select
import time

END_S = 20


def await_end(pid, seconds):
    """True if all threads of the process end in this time (its state is Z once the first has), reaped or not."""
    try:
        fd = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        return bool(select.select([fd], [], [], seconds)[0])
    finally:
        os.close(fd)


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
                await_end(pid, max(0, end - time.monotonic()))
            if not left or time.monotonic() > end:
                return left

    def is_server(self, words):
        return words[0] == self.program and words[-1] == b"-server"

    def victim(self, kind, initiator):
        """
        A "server", an "ssh", which is between both, or the "initiator". Waits for the server and for ssh: a source sends its
        first bundle before the other side has been started.
        """
        if kind == "initiator":
            return initiator
        end = time.monotonic() + END_S
        while time.monotonic() < end:
            for pid, words in self.all().items():
                server = self.is_server(words)
                if (kind == "server" and server) or (kind == "ssh" and not server and pid != initiator):
                    return pid
            time.sleep(0.005)
        raise RuntimeError("there is no %s; processes: %s" % (kind, self.all()))
