#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""
Files of many ranks with -mpi: a shared one with blocks and segments, and one for each rank. What is written is checked byte by
byte, what is read by strace.
"""
import os
import re

import xddmpi
import xddsys as s
import xddtest as t
from xddmpi import mpi

xddmpi.needed()

REQUEST = 4096
BLOCK = 3 * REQUEST
SHAPE = ["-reqsize", "4k", "-blockperrank", "12k"]


def contents(name):
    with open(t.path(name), "rb") as f:
        return f.read()


def filled(rank, target, size):
    """The data of a target of a rank: each request begins with its name."""
    name = b"rank %d target %d;" % (rank, target)
    return (name * REQUEST)[:REQUEST] * (size // REQUEST)


def names(targets):
    return [w for i in range(targets) for w in ("-datapattern", "target", i, "ascii", "rank %%r target %d;" % i, "replicate")]


def test_segments():
    """Each block has the bytes of the target of the rank that owns it."""
    for ranks, targets, segments in ((4, 1, 5), (4, 2, 3), (16, 1, 2)):
        name = "shared.%d.%d" % (ranks, targets)
        run = mpi(ranks, "-op", "write", "-targets", -targets if targets > 1 else 1, name, *SHAPE, "-segments", segments, *names(targets))
        wanted = b"".join(filled(r, i, BLOCK) for r in range(ranks) for i in range(targets)) * segments
        t.ok(run.status == 0 and run.lines == [] and contents(name) == wanted, "%d ranks of %d targets, %d segments" %
             (ranks, targets, segments), run)


def test_own_files():
    run = mpi(4, "-op", "write", "-targets", 2, "own.%r.0", "own.%r.1", *SHAPE[:2], "-bytes", "24k", *names(2))
    t.ok(run.status == 0 and all(contents("own.%d.%d" % (r, i)) == filled(r, i, 24576) for r in range(4) for i in range(2)),
         "a file for each target of each rank", run)


def reads(rank, name):
    """Offset and size of each read of a file by a rank."""
    with open(t.path("trace.%d" % rank)) as f:
        found = re.findall(r'pread64\(\d+<[^>]*%s>.*, (\d+), (\d+)\) += (\d+)' % re.escape(name), f.read())
    return sorted((int(at), int(got)) for size, at, got in found if size == got)


def blocks_of(owner, ranks, segments):
    return sorted((k * ranks * BLOCK + owner * BLOCK + i * REQUEST, REQUEST) for k in range(segments) for i in range(3))


def test_reorder():
    """Each rank reads exactly the blocks of another one."""
    if not s.can_trace():
        t.skip("strace", s.sys_why())
        return
    script = t.path("traced")
    with open(script, "w") as f:
        f.write("#!/bin/sh\nexec %s \"$@\"\n" % " ".join(s.strace(t.path("trace.$OMPI_COMM_WORLD_RANK"), "pread64")))
    os.chmod(script, 0o755)
    ranks, segments = 4, 3
    with open(t.path("order"), "wb") as f:
        f.write(b"".join(bytes([r]) * BLOCK for r in range(ranks)) * segments)
    for words, wanted in ((["-reorder"], [1, 2, 3, 0]), (["-reorder", 3], [3, 0, 1, 2]), ([], [0, 1, 2, 3])):
        run = mpi(ranks, "-op", "read", "-targets", 1, "order", *SHAPE, "-segments", segments, "-ioengine", "psync", *words, before=[script])
        found = [reads(r, "order") for r in range(ranks)] if run.status == 0 else []
        t.ok(found == [blocks_of(o, ranks, segments) for o in wanted], " ".join(map(str, words)) or "without -reorder",
             "%s\n%s" % (found, run))


def test_verified():
    """A rank finds the data of another one right, in the order of the seed too; and names what is wrong."""
    words = ["-targets", 1, "tagged", *SHAPE, "-segments", 4, "-datapattern", "tagged"]
    run = mpi(4, "-op", "write", *words)
    t.equal(run.status, 0, "4 ranks write", run)
    for order in (["ranks"], ["random", 7]):
        run = mpi(4, "-op", "read", *words, "-verify", "contents", "-reorder", *order)
        t.ok(run.status == 0 and run.lines == [], "and read with -reorder %s" % " ".join(map(str, order)), run)
    with open(t.path("tagged"), "r+b") as f:
        f.seek(BLOCK * (4 + 2) + 100)
        f.write(b"wrong")
    run = mpi(4, "-op", "read", *words, "-verify", "contents", "-reorder", "ranks")
    t.ok(run.status == 7 and any("rank 1 on" in l for l in run.lines), "wrong data of rank 2, which rank 1 reads", run)


t.run_all()
