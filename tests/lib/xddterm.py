# SPDX-License-Identifier: GPL-2.0-or-later
"""A command on a pseudo-terminal of its own, as a person sees it."""
import fcntl
import os
import pty
import re
import select
import signal
import struct
import termios
import time
import xddtest as t


FACTOR = {"": 1, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15}
SECONDS = {"ns": 1, "us": 1e3, "ms": 1e6, "s": 1e9, "min": 60e9, "h": 3600e9}


def number(cell):
    """A cell such as "412 MB/s", "1.23 ms" or "1.25 k" as a number; times in nanoseconds."""
    value, _, unit = cell.partition(" ")
    if unit in SECONDS:
        return float(value) * SECONDS[unit]
    return float(value) * FACTOR[unit.replace("B/s", "").replace("/s", "")]


def near(cell, value):
    """True if the cell is that value in three digits."""
    return abs(number(cell) - value) <= 0.0051 * abs(value) + 1e-9


class Screen:
    """The outcome: status ("timeout" if it was killed), all that was written, and the lines that remain on the screen."""

    def __init__(self, status, raw):
        text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", raw)
        self.status, self.raw, self.text = status, raw, text
        self.lines = [line.rpartition("\r")[2].rstrip() for line in text.replace("\r\n", "\n").split("\n")]
        if self.lines and not self.lines[-1]:
            self.lines.pop()

    def __str__(self):
        return "status: %s\n%s" % (self.status, "\n".join(self.lines))


def on_terminal(args, columns=80, rows=50, cwd=None, env=None, timeout=t.TIMEOUT, **kwargs):
    """Run the words `args` on a terminal of that size without colours. `kwargs` as of t.command(): at, step, device, real."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
    full, _ = t.environment(args, {"TERM": "dumb", **(env or {})}, **kwargs)
    full.pop("COLUMNS", None)
    full.pop("LINES", None)
    pid = os.fork()
    if pid == 0:
        try:
            os.setsid()
            fcntl.ioctl(theirs, termios.TIOCSCTTY, 0)
            for fd in (0, 1, 2):
                os.dup2(theirs, fd)
            os.closerange(3, 256)
            if cwd:
                os.chdir(cwd)
            os.execvpe(args[0], [str(word) for word in args], full)
        finally:
            os._exit(127)
    os.close(theirs)
    text, timed_out = read_all(ours, time.monotonic() + timeout)
    if timed_out:
        os.killpg(pid, signal.SIGKILL)
    os.close(ours)
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    return Screen("timeout" if timed_out else status, text)


def unfolded(text):
    """Its lines, with those that xdd folded, "label: text", in one piece."""
    return re.sub(r"\n  (?=\S)", " ", text).splitlines()


def read_all(fd, limit):
    """All output until the last process that has the terminal ends; the text, and True if the time limit was first."""
    parts = []
    while time.monotonic() < limit:
        if not select.select([fd], [], [], 1)[0]:
            continue
        try:
            part = os.read(fd, 65536)
        except OSError:  # EIO: no process has the other end
            part = b""
        if not part:
            return b"".join(parts).decode(errors="replace"), False
        parts.append(part)
    return b"".join(parts).decode(errors="replace"), True
