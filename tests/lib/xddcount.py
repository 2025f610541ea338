# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs of which one call fails, the k-th of its class: faultcount.c, and what is left of a run.

    counter = xddcount.Counter()
    counter.arm("memory", 17)
    outcome = xddcount.run([[t.XDD, ...]], directory, counter)
    counter.reached, counter.failed
"""
import ctypes
import mmap
import os
import signal
import struct
import subprocess
import time

import xddsys as s
import xddtest as t

CLASSES = ("memory", "shrink", "exhausted", "error", "full", "interrupt", "short", "message")
# struct state of faultcount.c
_LAYOUT = struct.Struct("=2q%dq4q64s" % len(CLASSES))

PR_SET_CHILD_SUBREAPER = 36

_library = []


def library():
    """The path of the library, or None where there is no compiler."""
    if not _library:
        with open(os.path.join(os.path.dirname(__file__), "faultcount.c"), encoding="ascii") as f:
            _library.append(s.library("faultcount", f.read(), "-ldl"))
    return _library[0]


class Counter:
    """The state that the processes of a run share. After a run: counts by class, `reached`, and `failed`, for people."""

    def __init__(self):
        self.file = t.path("faultcount.state")
        with open(self.file, "wb") as f:
            f.write(bytes(_LAYOUT.size))
        with open(self.file, "r+b") as f:
            self.map = mmap.mmap(f.fileno(), _LAYOUT.size)
        self.env = {"LD_PRELOAD": library(), "XDD_COUNT_PROGRAM": os.path.realpath(t.XDD), "XDD_COUNT_STATE": self.file}

    def arm(self, which, at):
        """Have call `at` of a class fail, or none where it is 0; counts begin at 0."""
        self.map[:] = _LAYOUT.pack(CLASSES.index(which), at, *[0] * (len(CLASSES) + 4), b"")

    def _fields(self):
        return _LAYOUT.unpack(self.map[:])

    @property
    def counts(self):
        return dict(zip(CLASSES, self._fields()[2:2 + len(CLASSES)]))

    @property
    def reached(self):
        return self._fields()[2 + len(CLASSES)] > 0

    @property
    def descriptor(self):
        """That of the first call that failed, or -1."""
        return self._fields()[4 + len(CLASSES)]

    @property
    def site(self):
        """The name of the first call that failed, and the place in the program; 0: in a library."""
        fields = self._fields()
        return fields[-1], fields[-2]

    @property
    def failed(self):
        """The first call that failed."""
        fields = self._fields()
        pid, fd, caller, call = fields[3 + len(CLASSES):]
        return "%s(fd %d), called at 0x%x of process %d" % (call.rstrip(b"\0").decode(), fd, caller, pid)


# Processes of a run


_adopts = []
os.register_at_fork(after_in_child=_adopts.clear)


def _adopt():
    """Have this process be the parent of all that a run leaves behind."""
    if not _adopts:
        _adopts.append(ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0)


def _children():
    """Children that have not ended; those that have are reaped."""
    with open("/proc/thread-self/children", encoding="ascii") as f:
        found = [int(pid) for pid in f.read().split()]
    left = []
    for pid in found:
        try:
            if os.waitpid(pid, os.WNOHANG) == (0, 0):
                left.append(pid)
        except ChildProcessError:
            pass
    return left


def _words_of(pid):
    try:
        with open("/proc/%d/cmdline" % pid, "rb") as f:
            return f.read().replace(b"\0", b" ").decode(errors="replace")
    except OSError:
        return "?"


def left_running(bound_s):
    """Command lines of the processes of runs that have not ended within that time; they are killed."""
    end, wait = time.monotonic() + bound_s, 0.0005
    while _children() and time.monotonic() < end:
        time.sleep(wait)
        wait = min(2 * wait, 0.05)
    found = [(pid, _words_of(pid)) for pid in _children()]
    for pid, _ in found:
        os.kill(pid, signal.SIGKILL)
    while _children():
        time.sleep(0.001)
    return [words for _, words in found]


class Started:
    """A command of a run; its output goes to files."""

    def __init__(self, name, words, directory, env, log):
        _adopt()
        self.name, self.words = name, words
        self.logs = [os.path.join(log, name + "." + which) for which in ("out", "err")]
        with open(self.logs[0], "wb") as out, open(self.logs[1], "wb") as err:
            self.process = subprocess.Popen(words, cwd=directory, env=dict(os.environ, LC_ALL="C", **env),
                                            stdin=subprocess.DEVNULL, stdout=out, stderr=err, start_new_session=True)

    def text(self, which):
        with open(self.logs[which == "err"], encoding="utf-8", errors="replace") as f:
            return f.read()

    def await_text(self, which, text, end):
        """Wait until the command has written that; False: it ended before, or the time `end` came."""
        return t.until(lambda: text in self.text(which), self.process, end - time.monotonic())

    def finish(self, end):
        """The outcome as a t.Run; status "timeout" if the command has not ended at the time `end`."""
        try:
            status = self.process.wait(max(end - time.monotonic(), 0.001))
        except subprocess.TimeoutExpired:
            status = "timeout"
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
        return t.Run([self.name] + self.words, status, self.text("out"), self.text("err"))
