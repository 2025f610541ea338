#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""
-seek random once: each request of the range exactly once, in random order, whatever the engine and the queue depth.
Offsets are those of the dumps of time stamps, and of strace.
"""
import csv
import io
import json
import os

import messages as m
import xddsys as s
import xddtest as t
import xddtrace as x

# Files of these tests are in memory or holes, which runs that read enough say.
t.tolerate(t.CACHED)

BLOCK = 512
BLOCKS = 20000
TAIL = 100
DISK = s.sparse_file("disk", BLOCKS * BLOCK)
SMALL = ["-blocksize", 512, "-reqsize", 1]
_dumps = 0


def offsets(*args, target=0, **kwargs):
    """(pass, operation, offset, bytes) of each operation, from the dump."""
    global _dumps
    _dumps += 1
    name = t.path("dump%d" % _dumps)
    run = t.xdd(*args, "-ts", "dump", name, **kwargs)
    if run.status:
        t.ok(False, "runs: " + " ".join(str(a) for a in args), run)
    table = x.tsread("-csv", "%s.target.%04d.bin" % (name, target))
    rows = csv.reader(io.StringIO(table.out))
    head = next(rows)
    picked = [head.index(name) for name in ("PASS", "OP", "OFFSET", "BYTES")]
    result = sorted(tuple(int(row[i]) for i in picked) for row in rows)
    os.remove("%s.target.%04d.bin" % (name, target))
    return result


def is_once(rows, blocks=BLOCKS, size=BLOCK):
    return sorted(row[2] for row in rows) == [i * size for i in range(blocks)] and all(row[3] == size for row in rows)


def test_engines_and_depths():
    first = None
    for engine in [e for e in ("psync", "libaio", "io_uring", "mmap") if e in t.engines()]:
        for depth in (1, 16, 128):
            rows = offsets("-op", "read", "-targets", 1, DISK, *SMALL, "-seek", "random", "once", "-queuedepth", depth,
                           "-ioengine", engine)
            first = first or rows
            title = "%s, depth %d: " % (engine, depth)
            t.ok(is_once(rows), title + "each block once", len(rows))
            t.ok(rows == first, title + "the same order of numbers")
    ups = sum(a[2] < b[2] for a, b in zip(first, first[1:]))
    t.ok(abs(ups / BLOCKS - 0.5) < 0.03, "the order is no order of the offsets", ups)


def test_tail():
    """A file that ends inside of a block is read from its first to its last byte."""
    file = t.path("tail")
    with open(file, "wb") as f:
        f.truncate(300 * 4096 + TAIL)
    for words in ((), ("-dio",)):
        rows = offsets("-op", "read", "-targets", 1, file, "-reqsize", "4k", "-seek", "random", "once", "-queuedepth", 8, *words,
                       warns=())
        title = " ".join(words) or "buffered"
        t.ok(is_once(rows[:-1], 300, 4096), title + ": each whole request once")
        t.equal(rows[-1][2:], (300 * 4096, TAIL), title + ": the end of the file comes last")
        t.equal(sum(row[3] for row in rows), 300 * 4096 + TAIL, title + ": every byte of the file")


def test_writes():
    """Writes in random order leave nothing out: the size of the file, and data verified in another order."""
    file, size = t.path("written"), 1000 * 4096 + 512
    words = ["-targets", 1, file, "-reqsize", "4k", "-bytes", size, *"-datapattern tagged -queuedepth 16".split()]
    run = t.xdd("-op", "write", *words, "-seek", "random", "once", "seed", 5)
    t.equal((run.status, os.path.getsize(file)), (0, size), "a new file has its size", run)
    run = t.xdd("-op", "read", *words, "-verify", "contents", "-verify", "location", "-seek", "random", "once")
    t.equal((run.status, run.error_lines()), (0, []), "each block is verified, in the order of another seed", run)
    run = t.xdd("-op", "read", *words, "-verify", "contents", "-verify", "location")
    t.equal((run.status, run.error_lines()), (0, []), "and from start to end", run)


def test_seeds_and_passes():
    base = ["-op", "read", "-targets", 1, DISK, *SMALL, "-seek", "random", "once"]
    other = offsets(*base, "-seek", "seed", 5)
    rows = offsets(*base, "-passes", 2)
    passes = [[row[1:] for row in rows if row[0] == n] for n in (1, 2)]
    t.ok(is_once(other) and [row[2] for row in other] != [row[1] for row in passes[0]], "another seed, another order")
    t.ok(passes[0] == passes[1], "passes have the same order")
    rows = offsets(*base, "-passes", 2, "-randomize")
    passes = [[row for row in rows if row[0] == n] for n in (1, 2)]
    t.ok(all(is_once(p) for p in passes), "-randomize: each pass has each block once")
    t.ok([row[2] for row in passes[0]] != [row[2] for row in passes[1]], "-randomize: in another order")


def test_more_operations():
    """More operations than blocks: round after round, each of them complete and in its own order."""
    rows = offsets("-op", "read", "-targets", 1, DISK, *SMALL, *"-seek random once range 1000 -numreqs 2500 -queuedepth 4".split(),
                   warns=m.RANGE_STARTS_OVER)
    rounds = [rows[:1000], rows[1000:2000], rows[2000:]]
    t.ok(is_once(rounds[0], 1000) and is_once(rounds[1], 1000), "two rounds have each block once")
    t.equal(len({row[2] for row in rounds[2]}), 500, "the rest repeats no block")
    t.ok(rounds[0] != rounds[1] and [r[2] for r in rounds[0]] != [r[2] for r in rounds[1]], "each round has its own order")
    run = t.xdd("-op", "read", "-targets", 1, DISK, *SMALL, "-seek", "random", "once", "-timelimit", 0.2)
    t.equal(run.status, 0, "with a time limit it goes on from round to round", run)


def test_shared_file():
    """Targets of one file share it by -targetoffset; ranks by -blockperrank."""
    half = BLOCKS // 2
    args = ["-op", "read", "-targets", 2, DISK, DISK, *SMALL, "-targetoffset", half, "-numreqs", half, "-seek", "random", "once"]
    rows = offsets(*args) + offsets(*args, target=1)
    t.ok(is_once(rows), "-targetoffset: two targets read each block once together")
    rows = []
    for rank in range(4):
        rows += offsets("-op", "read", "-targets", 1, DISK, *SMALL, "-ranks", 4, "-rank", rank, "-blockperrank", 50, "-segments",
                        BLOCKS // 200, "-seek", "random", "once")
    t.ok(is_once(rows), "-blockperrank: four ranks read each block once together")


def test_kernel_sees_it():
    if not s.can_trace():
        return t.skip("strace", s.sys_why())
    run, trace = s.trace("-op", "read", "-targets", 1, DISK, "-reqsize", "64k", *"-seek random once -queuedepth 4".split())
    size = 65536
    found = sorted((op.offset, op.size) for op in trace.of(DISK))
    left = BLOCKS * BLOCK % size
    wanted = [(i * size, size) for i in range(BLOCKS * BLOCK // size)] + ([(BLOCKS * BLOCK // size * size, left)] if left else [])
    t.equal((run.status, found), (0, wanted), "strace sees each request once, and the end of the file", run)
    return None


def test_said():
    file = t.path("said.json")
    run = t.xdd("-op", "read", "-targets", 1, DISK, *SMALL, "-numreqs", 100, *"-seek random once".split(), "-jsonout", file)
    with open(file) as f:
        target = json.load(f)["plan"]["targets"][0]
    t.equal(target["resolved"]["seek_pattern"], "random once", "-jsonout: the pattern resolved", run)
    run = t.xdd("-op", "read", "-targets", 1, DISK, *SMALL, *"-numreqs 10 -seek random once -seek random -verbose".split())
    t.ok("Seek pattern, random\n" in run.out, "the last of -seek random once and -seek random wins", run)


t.run_all()
