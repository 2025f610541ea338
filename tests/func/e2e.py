#!/usr/bin/env python3
"""
End-to-end copies between two runs of xdd over loopback: sizes, engines, orders, several passes and targets, limits,
and what both sides say when one of them ends early.
"""
import os
import re
import signal
import sys
import time

sys.path.insert(0, os.path.join(os.environ["TOP_SRCDIR"], "tests", "lib"))
import messages as m
import xdde2e as e
import xddtest as t

t.tolerate(t.BUFFERED, t.CACHED)

MIB = 1 << 20
_names = 0


def fresh(kind="copy"):
    """A name that no file has."""
    global _names
    _names += 1
    return t.path("%s.%d" % (kind, _names))


def source_of(size):
    """A file of `size` random bytes, made once."""
    file = t.path("source.%d" % size)
    if not os.path.exists(file):
        with open(file, "wb") as f:
            f.write(os.urandom(size))
    return file


def copied(copy, description):
    """Both sides end with status 0, and the files are equal."""
    t.equal(copy.statuses() + (copy.statuses() == (0, 0) and copy.same(),), (0, 0, True),
            description + ": both sides end with status 0 and the files are equal", copy)


SMALL = ["-blocksize", 4096, "-reqsize", 1]
LARGE = ["-blocksize", MIB, "-reqsize", 1]


def test_sizes():
    for size in (0, 1, 4095, 4096, MIB, MIB + 1, 64 * MIB):
        copied(e.Copy(source_of(size), fresh(), LARGE, ports=2).run(), "%d bytes" % size)


def test_families():
    copied(e.Copy(source_of(MIB + 1), fresh(), SMALL, ports=2, address="::1").run(), "IPv6")
    copied(e.Copy(source_of(MIB + 1), fresh(), SMALL, ports=2, address="localhost").run(), "a host name")


def test_first():
    copied(e.Copy(source_of(MIB + 1), fresh(), LARGE, early=1.5).run(), "the source starts first")


def test_engines():
    for reads in t.engines():
        if reads in ("sg", "null"):
            continue
        for depth in (1, 4):
            words = ["-ioengine", reads]
            copied(e.Copy(source_of(8 * MIB + 5), fresh(), ["-blocksize", 65536, "-reqsize", 1], reads=words, ports=depth).run(),
                   "%s reads, psync writes, %d connections" % (reads, depth))
            if reads != "mmap":
                copied(e.Copy(source_of(8 * MIB + 5), fresh(), ["-blocksize", 65536, "-reqsize", 1], writes=words, ports=depth).run(),
                       "psync reads, %s writes, %d connections" % (reads, depth))


def test_depths():
    for depth in (1, 4, 16, 64):
        copied(e.Copy(source_of(8 * MIB + 5), fresh(), SMALL, ports=depth).run(), "%d connections" % depth)


def test_orders():
    for ordering in ("none", "loose", "strict", "serial"):
        words = ["-ordering", "storage", ordering] if ordering != "none" else []
        for engine in ("psync", "libaio"):
            # Several QThreads that complete requests inside submit are in strict order only where they are serial.
            if engine not in t.engines() or (ordering, engine) == ("strict", "psync"):
                continue
            copied(e.Copy(source_of(8 * MIB + 5), fresh(), ["-blocksize", 16384, "-reqsize", 1, "-ioengine", engine, *words],
                          ports=4).run(),
                   "%s, %s on both sides" % (engine, ordering))


def test_longer_file():
    file = fresh()
    with open(file, "wb") as f:
        f.write(b"x" * (3 * MIB))
    copied(e.Copy(source_of(MIB + 1), file, SMALL, ports=4).run(), "a destination that was longer")


def test_sparse():
    file = fresh("sparse")
    with open(file, "wb") as f:
        f.seek(5 * MIB)
        f.write(b"data")
        f.truncate(9 * MIB + 77)
    copied(e.Copy(file, fresh(), LARGE, ports=3).run(), "a sparse source")


def test_passes():
    copied(e.Copy(source_of(MIB + 1), fresh(), ["-passes", 3, *SMALL], ports=4).run(), "three passes")
    copied(e.Copy(source_of(MIB + 1), fresh(), ["-passes", 3, "-nobarrier", *SMALL], ports=4).run(), "three passes without a barrier")


def test_targets():
    copied(e.Copy([source_of(MIB + 1), source_of(8 * MIB + 5)], [fresh(), fresh()], SMALL, ports=4).run(), "two targets")


if __name__ == "__main__":
    t.run(test_sizes, test_families, test_first, test_engines, test_depths, test_orders, test_longer_file, test_sparse,
          test_passes, test_targets)
    t.done()
