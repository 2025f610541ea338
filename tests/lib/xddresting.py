# SPDX-License-Identifier: GPL-2.0-or-later
"""An xdd that is held between two passes, for tests that look at its threads and its memory from outside."""
import atexit
import os
import re
import subprocess
import xddhold
import xddsys
import xddtest as t


class Resting:
    """
    An xdd that has done its first pass and is held before the next, with its threads and buffers as they are while it
    works. Used in a `with` statement; killed at its end, if it was not before. `pid`; `out` and `err` afterwards.
    """

    def __init__(self, *args, prefix=(), binary=None):
        words = t.xdd_words(*args, "-verbose", "-passes", 2)
        if binary:
            words[0] = binary
        Resting.count = getattr(Resting, "count", 0) + 1
        self.files = [t.path("resting.%d.%s" % (Resting.count, name)) for name in ("out", "err")]
        self.hold = xddhold.at("pass ended:1", env=dict(os.environ, LC_ALL="C"))
        with open(self.files[0], "wb") as out, open(self.files[1], "wb") as err:
            self.process = subprocess.Popen(list(prefix) + words, stdin=subprocess.DEVNULL, stdout=out, stderr=err,
                                            env=self.hold.env)
        atexit.register(self.kill)
        self.pid = self.process.pid
        try:
            self.rests = bool(self.hold.wait(self.process))
        except xddhold.Missed:
            self.rests = False

    def kill(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.hold.__exit__()
        self.out, self.err = (open(name, errors="replace").read() for name in self.files)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.kill()

    def __str__(self):
        return "\n".join(open(name, errors="replace").read() for name in self.files)

    def messages(self):
        """The lines that it has printed to standard error so far."""
        with open(self.files[1], errors="replace") as f:
            return f.read().splitlines()

    def _proc(self, name):
        """The content of a file below /proc/PID; nothing once the process is gone."""
        try:
            with open("/proc/%d/%s" % (self.pid, name)) as f:
                return f.read()
        except (OSError, ValueError):
            return ""

    def status(self, label):
        """The value of a line of /proc/PID/status."""
        found = re.search("^%s:\\s*(.*)" % label, self._proc("status"), re.M)
        return found.group(1) if found else "0"

    def tasks(self):
        """Numbers of its threads; without the one of ThreadSanitizer, which alone sleeps by the clock here."""
        try:
            found = sorted(int(name) for name in os.listdir("/proc/%d/task" % self.pid))
        except OSError:
            return []
        if not xddsys.sanitized():
            return found
        return [tid for tid in found if self._proc("task/%d/wchan" % tid) != "hrtimer_nanosleep"]

    def task(self, tid):
        """Fields of a thread's stat, by their numbers in proc(5)."""
        return [None, str(tid), "xdd"] + self._proc("task/%d/stat" % tid).rpartition(")")[2].split()

    def name(self, tid):
        return self._proc("task/%d/comm" % tid).strip()

    def allowed(self):
        """The processors that its threads may run on, as the kernel writes them, by thread number."""
        found = {tid: re.search(r"^Cpus_allowed_list:\s*(\S+)", self._proc("task/%d/status" % tid), re.M)
                 for tid in self.tasks()}
        return {tid: match.group(1) for tid, match in found.items() if match}

    def mappings(self):
        """Its memory: a dictionary each, of the fields of smaps (sizes in bytes) and start, end, name, flags."""
        found = []
        for line in self._proc("smaps").splitlines():
            head = re.match(r"([0-9a-f]+)-([0-9a-f]+) \S+ \S+ \S+ \d+ *(.*)", line)
            size = re.match(r"(\w+): +(\d+) kB", line)
            if head:
                found.append({"start": int(head.group(1), 16), "end": int(head.group(2), 16), "name": head.group(3)})
            elif size:
                found[-1][size.group(1)] = int(size.group(2)) * 1024
            elif line.startswith("VmFlags:"):
                found[-1]["flags"] = line.split()[1:]
        return found
