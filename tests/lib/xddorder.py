# SPDX-License-Identifier: GPL-2.0-or-later
"""Common parts of the tests of -ordering: places that they read and write, their command lines, and xdd's audit."""
import os
import re
import witness as w
import xddsys as s
import xddtest as t

SIZE = 4096
ALL_LONG = bool(os.environ.get("XDD_TEST_LONG"))
RANGE = 16384  # operations that the places hold; a longer run starts over
LONG = 100000 if ALL_LONG else 20000
SHORT = LONG if ALL_LONG else 2000
DEPTHS = (2, 8, 32, 128)
AUDIT = re.compile(r"^Target (\d+), order breaks (\d+|unknown) of (\d+), (\w+)", re.M)
QUEUES = ("libaio", "io_uring")
ASKED_FOR = (t.ENGINE.split() or [""])[0]


def engines():
    """Those that queue and are to be had here; one, when the suite is run for one."""
    return [e for e in QUEUES if e in t.engines() and ASKED_FOR in ("", e)]


def audit(run):
    """The audit of xdd: (order breaks, or None where it cannot know them, operations)."""
    found = AUDIT.search(run.out)
    breaks = found and found.group(2)
    return found and (None if breaks == "unknown" else int(breaks), int(found.group(3)))


def make_room(device):
    """
    More requests in its queue than any depth here: a request that finds none free is turned round by io_uring.
    The scheduler is there for the room that it has; the witness looks before it.
    """
    return bool(device and s.set_queue(device, "scheduler", "mq-deadline") and
                s.set_queue(device, "nr_requests", "256"))


class Places:
    """A loop device, and a file on ext4 on another one, all of whose blocks are there; None where that cannot be."""

    def __init__(self):
        self.raw = s.sparse_file("raw", RANGE * SIZE)
        self.loop = s.loop_device(self.raw)
        directory = s.ext4("fs", RANGE * SIZE + (64 << 20)) if self.loop else None
        if directory:
            self.file = os.path.join(directory, "file")
            self.fill(self.file)
            with open("/proc/self/mounts", encoding="utf-8") as mounts:
                self.below = [line.split()[0] for line in mounts if line.split()[1] == directory][0]
        self.why = None if directory else s.sys_why()
        self.roomy = bool(directory) and make_room(self.loop) and make_room(self.below)

    @staticmethod
    def fill(path):
        with open(path, "wb") as file:
            file.write(b"\xa5" * (RANGE * SIZE))
            os.fsync(file.fileno())
            # Cached pages obstruct writes with -dio: io_uring then passes the writes to threads.
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)

    def block(self, where):
        """(target, the witness of requests to it)."""
        if where == "loop device":
            return self.loop, w.Block(self.loop)
        return self.file, w.Block(self.below, self.file)


_places = None


def places():
    global _places
    if _places is None:
        _places = Places()
    return _places


def words(path, op, depth, n, order, *more):
    return ["-op", op, "-targets", 1, path, "-blocksize", SIZE, "-reqsize", 1, "-numreqs", n, "-queuedepth", depth,
            "-seek", "range", RANGE, "-ordering", "storage", order, "-verbose", *more]


def watched(witness, run, slow_too=False):
    """Call `run` with a witness of that kind: (its result, witness); None where the witness is slow, unless `slow_too`."""
    seen = witness()
    if getattr(seen, "slow", False) and not slow_too:
        return None, seen
    with seen:
        return run(), seen
