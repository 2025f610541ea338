# SPDX-License-Identifier: GPL-2.0-or-later
"""End-to-end copies with -restart that are interrupted and resumed, for tests.

    r = xddresume.Resumable()
    r.interrupt()
    copy = r.copy().run()
"""
import os
import signal
import time

import xdde2e as e
import xddtest as t

REQUEST = 65536
OPS = 200
SIZE = OPS * REQUEST - 777
PLAN = ["-blocksize", REQUEST, "-reqsize", 1, "-e2e", "timeout", 10]
REMEDY = "to copy everything, remove it or name another with -restart file"
CTIME = "the time of the last change of any kind of the source, in ns, was "
_names = 0


def fresh(kind):
    """A name that no file has."""
    global _names
    _names += 1
    return t.path("%s.%d" % (kind, _names))


def source(size=SIZE):
    file = fresh("source")
    with open(file, "wb") as f:
        f.write(t.noise(size))
    return file


class Record:
    """A restart file; one that is missing has nothing."""

    def __init__(self, path):
        self.lines = []
        if os.path.exists(path):
            with open(path, errors="replace") as f:
                self.lines = f.read().splitlines()
        durable = [line.split()[2:] for line in self.lines if line.startswith("# durable ")]
        self.ops = {n for first, count in durable for n in range(int(first), int(first) + int(count))}

    def field(self, name):
        return [line.split(" ", 2)[2] for line in self.lines if line.startswith("# %s " % name)][0]


class Resumable:
    """A copy with a restart file, as often as it is started."""

    def __init__(self, both=(), size=SIZE, frequency=0.02, **kwargs):
        self.source, self.destination, self.file = source(size), fresh("copy"), fresh("restart")
        self.both, self.frequency, self.kwargs = [*PLAN, *both], frequency, kwargs

    def copy(self, reads=(), writes=()):
        kwargs = dict(self.kwargs)
        kwargs["reads"] = [*kwargs.get("reads", ()), *reads]
        kwargs["writes"] = [*kwargs.get("writes", ()), *writes, "-restart", "file", self.file, "-restart", "frequency",
                            self.frequency]
        return e.Copy(self.source, self.destination, self.both, ports=kwargs.pop("ports", 3), **kwargs)

    def slow(self):
        """A copy that takes half a second."""
        return self.copy(reads=["-throttle", "bw", "%.1f" % (SIZE / 0.5 / 1e6)])

    def steady(self):
        """
        A copy that takes 7 seconds with three QThreads: a test ends it much earlier. A pause after each operation is not
        made up for when the machine has stood still, nor does it get shorter while a flush takes its time.
        """
        return self.copy(reads=["-throttle", "delay", 0.1])

    def interrupt(self, ops=20, sig=signal.SIGKILL):
        """Start it, and end the destination once so many operations are recorded."""
        copy = self.steady().start()
        end = time.monotonic() + 20
        while len(self.record().ops) < ops and copy.destination.process.poll() is None and time.monotonic() < end:
            time.sleep(0.005)
        copy.destination.signal(sig)
        return copy.finish()

    def record(self):
        return Record(self.file)


def sent(copy):
    """Operations that the source has sent."""
    row = copy.source.run.row("COMBINED")
    return int(row["Ops"]) if row else 0
