#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""
-reqsize mix: requests of several sizes. Sizes and offsets that reach the kernel are those of the formulas in src/plan/mix.c,
which are written down here once more, whatever the engine and the queue depth; amounts, ranges, verification, rates.
"""
import csv
import io
import itertools
import json
import os
import re

import messages as m
import xddsys as s
import xddtest as t
import xddtrace as x

# Files of these tests are in memory or holes, which runs that move enough say.
t.tolerate(t.CACHED, m.DIRTY)

SEED, GOLDEN, WORD = 72058, 0x9e3779b97f4a7c15, (1 << 64) - 1
MIX = "4k:60,64k:40"
SIZES = [(4096, 3), (65536, 2)]
CYCLE = 3 * 4096 + 2 * 65536
ODD = "512B:1,3k:5,20k:7"
ODD_SIZES = [(512, 1), (3072, 5), (20480, 7)]
_files = 0


def scramble(v):
    v &= WORD
    v = (v ^ v >> 30) * 0xbf58476d1ce4e5b9 & WORD
    v = (v ^ v >> 27) * 0x94d049bb133111eb & WORD
    return v ^ v >> 31


class Sequence:
    """src/base/random.c"""

    def __init__(self, seed, stream):
        word = 1 << 32 | stream
        self.a = scramble(scramble(seed + GOLDEN) + word * GOLDEN)
        self.b = scramble(scramble(seed + 2 * GOLDEN) ^ scramble(word + GOLDEN))

    def word(self, n):
        return scramble(scramble(n * GOLDEN + self.a) ^ self.b)

    def below(self, n, bound):
        state = self.word(n)
        product = state * bound
        if product & WORD < (1 << 64) % bound:
            raise ValueError("a draw that is tried again: choose another seed for the test")
        return product >> 64


def sizes_of(mix, seed=SEED):
    """The sizes of operations 0, 1, 2 ..."""
    n = sum(ops for _, ops in mix)
    count = 1 if n == 1 else max(1, min(256, 4096 // (n + 1)))
    draws, choice, orders = Sequence(seed, 5), Sequence(seed, 6), []
    for r in range(count):
        order = [size for size, ops in sorted(mix) for _ in range(ops)]
        for e in range(n - 1, 0, -1):
            other = draws.below(r * n + e, e + 1)
            order[e], order[other] = order[other], order[e]
        orders.append(order)
    for cycle in itertools.count():
        word = choice.word(cycle)
        order, first = orders[(word >> 32) * count >> 32], (word & 0xffffffff) * n >> 32
        yield from order[first:] + order[:first]


def sequential(mix, ops, seed=SEED, lap=None):
    """(offset, size) of the first operations, which start over after `lap` bytes."""
    rows, at = [], 0
    for size in itertools.islice(sizes_of(mix, seed), ops):
        rows.append((at % lap if lap else at, size))
        at += size
    return rows


def at_random(mix, ops, span):
    places = Sequence(SEED, 0)
    return [(places.below(n, span // size) * size, size) for n, size in enumerate(itertools.islice(sizes_of(mix), ops))]


def name_of(kind):
    global _files
    _files += 1
    return t.path("%s%d" % (kind, _files))


def dumped(*args, **kwargs):
    """The run, and (offset, size) of its operations by number, from the dump of time stamps."""
    name = name_of("dump")
    run = t.xdd(*args, "-ts", "dump", name, **kwargs)
    if run.status:
        t.ok(False, "runs: " + " ".join(str(a) for a in args), run)
        return run, []
    rows = csv.reader(io.StringIO(x.tsread("-csv", name + ".target.0000.bin").out))
    head = next(rows)
    picked = [head.index(column) for column in ("PASS", "OP", "OFFSET", "BYTES")]
    return run, [row[2:] for row in sorted(tuple(int(row[i]) for i in picked) for row in rows)]


def submitted(file, *args):
    """(offset, size) of what libaio submits, as strace has it."""
    log = name_of("strace")
    run = t.command(s.strace(log, "io_submit", "-s", "32") + t.xdd_words(*args), warns=())
    with open(log) as f:
        text = f.read()
    found = re.findall(r"aio_fildes=\d+<([^>]*)>[^}]*?aio_nbytes=(\d+), aio_offset=(\d+)", text)
    return run, [(int(offset), int(size)) for path, size, offset in found if path == file]


def test_formula():
    """Engines and depths: each operation of the formula once."""
    ops, want = 60, sequential(SIZES, 60)
    total = sum(size for _, size in want)
    for engine in [e for e in ("psync", "libaio", "io_uring", "mmap") if e in t.engines()]:
        for depth in (1, 16):
            file = name_of("file")
            s.sparse_file(os.path.basename(file), total)
            run, rows = dumped("-op", "write", "-targets", 1, file, "-reqsize", "mix", MIX, "-numreqs", ops, "-queuedepth", depth,
                               "-ioengine", engine)
            t.equal((rows, os.path.getsize(file)), (want, total), "%s, depth %d: the sizes and offsets of the formula" %
                    (engine, depth), run)
    run = t.xdd("-op", "write", "-targets", 1, "null", "-reqsize", "mix", MIX, "-numreqs", ops, "-jsonout", t.path("null.json"))
    with open(t.path("null.json")) as f:
        combined = json.load(f)["results"][-1]
    t.equal((combined["ops"]["write"], combined["bytes"]["write"]), (ops, total), "the null device: operations and bytes", run)


def test_seen():
    """strace: what the kernel gets."""
    if not s.can_trace():
        return t.skip("strace", s.sys_why())
    for words, mix in ((MIX, SIZES), (ODD, ODD_SIZES)):
        for depth in (1, 8):
            file = name_of("seen")
            run, trace = s.trace("-op", "write", "-targets", 1, file, "-reqsize", "mix", words, "-numreqs", 100, "-queuedepth", depth,
                                 "-ioengine", "psync")
            got = [(op.offset, op.size) for op in trace.of(file)]
            want = sequential(mix, 100)
            t.equal((run.status, got if depth == 1 else sorted(got)), (0, want), "%s, depth %d: strace" % (words, depth), run)
    disk = s.sparse_file("disk", 1 << 20)
    run, trace = s.trace(*"-op read -targets 1".split(), disk, "-reqsize", "mix", ODD,
                         *"-numreqs 200 -seek random range 1000k -queuedepth 4 -ioengine psync".split())
    t.equal((run.status, sorted((op.offset, op.size) for op in trace.of(disk))), (0, sorted(at_random(ODD_SIZES, 200, 1000 << 10))),
            "random requests are whole requests of their own size", run)
    if "libaio" in t.engines():
        run, got = submitted(disk, *"-op read -targets 1".split(), disk, "-reqsize", "mix", MIX,
                             *"-numreqs 20 -queuedepth 8 -ioengine libaio".split())
        t.equal((run.status, got), (0, sequential(SIZES, 20)), "libaio: strace", run)
    return None


def test_amounts():
    """-bytes cuts the last request; a file is read to its last byte."""
    file = t.path("amount")
    for amount in (4096, 100000, CYCLE, 3 * CYCLE + 1, 1 << 20):
        s.sparse_file("amount", amount)
        for words in (["-bytes", amount], []):
            run, rows = dumped("-op", "read", "-targets", 1, file, "-reqsize", "mix", MIX, "-queuedepth", 2, *words)
            want = [row for row in sequential(SIZES, 60) if row[0] < amount]
            want[-1] = (want[-1][0], amount - want[-1][0])
            t.equal(rows, want, "%d bytes, %s: the last request is cut" % (amount, words[0] if words else "the whole file"), run)
    s.sparse_file("amount", 1 << 20)
    run = t.xdd("-op", "read", "-targets", 1, file, "-reqsize", "mix", MIX, "-bytes", (1 << 20) + 1)
    t.ok(run.status == 2 and "the operations reach to" in run.err, "an amount of more than the file has is refused", run)


def test_range():
    """A pass starts over after the whole cycles of its range, unless all of it fits."""
    file = s.sparse_file("ranged", 3 * CYCLE + 5000)
    args = ["-op", "read", "-targets", 1, file, "-reqsize", "mix", MIX, "-numreqs", 40]
    run, rows = dumped(*args, "-seek", "range", 3 * CYCLE // 1024 + 4, warns=m.RANGE_STARTS_OVER)
    t.equal(rows, sequential(SIZES, 40, lap=3 * CYCLE), "it starts over after whole cycles", run)
    run, rows = dumped(*args[:-1], 15, "-seek", "range", 3 * CYCLE // 1024, warns=())
    t.equal(rows, sequential(SIZES, 15), "a pass that the range holds does not", run)
    run = t.xdd(*args, "-seek", "range", "68k")
    t.ok(run.status == 2 and m.LESS_THAN_CYCLE in run.err, "a range of less than a cycle is refused", run)
    run = t.xdd(*args[:-2], "-timelimit", 0.1)
    t.equal(run.status, 0, "with a time limit a file is gone over", run)
    for words in ([], ["-randomize"]):
        run, rows = dumped(*args[:-1], 300, "-passes", 2, "-seek", "random", "range", "256k", *words)
        a, b = rows[:300], rows[300:]
        t.equal(([r[1] for r in a], max(r[0] + r[1] for r in a + b) <= 256 << 10, a == b),
                ([r[1] for r in b], True, not words), "random passes %s" % " ".join(words or ["have the same offsets"]), run)


def test_seeds():
    file = s.sparse_file("seeds", 1 << 22)
    args = ["-op", "read", "-targets", 1, file, "-reqsize", "mix", MIX, "-numreqs", 50]
    run, rows = dumped(*args, "-seek", "seed", 5)
    t.ok(rows == sequential(SIZES, 50, seed=5) != sequential(SIZES, 50), "another seed, another order", run)
    run, rows = dumped(*args[:7], "64:2,4:3", *args[8:])
    t.equal(rows, sequential(SIZES, 50), "weights count by their ratio, and sizes without a suffix blocks", run)
    name = t.path("saved")
    run = t.xdd(*args, "-seek", "save", name)
    run, rows = dumped("-targets", 1, file, "-seek", "load", name)
    t.equal(rows, sequential(SIZES, 50), "-seek save has the operations, and -seek load repeats them", run)


def test_verify():
    """The data that a mix has written are verified, by the same mix and by others; also while it is written."""
    for pattern in ("tagged", "sequenced", "random"):
        file = t.path("verified." + pattern)
        base = ["-targets", 1, file, "-datapattern", pattern, "-queuedepth", 4]
        amount = 6 * CYCLE + 512 * 9
        run = t.xdd("-op", "write", *base, "-reqsize", "mix", ODD, "-bytes", amount, "-flushwrite", 7)
        t.equal((run.status, os.path.getsize(file)), (0, amount), pattern + ": a file has its size", run)
        for words in (["mix", ODD], ["mix", MIX], ["4k"]):
            run = t.xdd("-op", "read", *base, "-bytes", amount, "-verify", "contents", "-reqsize", *words)
            t.equal((run.status, run.error_lines()), (0, []), "%s: verified by -reqsize %s" % (pattern, " ".join(words)), run)
    with open(t.path("verified.tagged"), "r+b") as f:
        f.seek(300000)
        f.write(b"wrong")
    run = t.xdd("-op", "read", "-targets", 1, t.path("verified.tagged"), *"-datapattern tagged -verify contents".split(), "-reqsize",
                "mix", ODD)
    t.equal(run.status, 7, "a wrong byte is found", run)
    mixed = ["-targets", 1, t.path("mixed"), "-reqsize", "mix", MIX, *"-datapattern tagged -numreqs 400 -queuedepth 8".split()]
    run = t.xdd("-op", "write", *mixed)
    for words in ("-rwratio 50", "-rwratio 50 -seek random", "-rwratio 30 random -seek random -passes 2 -randomize"):
        run = t.xdd(*mixed, *words.split(), "-verify", "contents")
        t.equal((run.status, run.error_lines()), (0, []), "reads and writes together: " + words, run)
    run = t.xdd("-op", "write", "-op", "target", 1, "read", "-targets", 2, t.path("steps"), t.path("steps"), "-reqsize", "mix", MIX,
                *"-numreqs 100 -lockstep 0 1 op 1 op 1 wait complete -datapattern tagged -verify target 1 contents".split())
    t.equal(run.status, 0, "in lockstep one target reads what another has written", run)


def test_direct():
    file = t.path("direct")
    amount = 4 * CYCLE + 5000
    run = t.xdd("-op", "write", "-targets", 1, file, "-dio", "-reqsize", "mix", MIX, "-bytes", amount, "-queuedepth", 4)
    t.equal((run.status, os.path.getsize(file)), (0, amount), "-dio: the file has its size, with its tail", run)
    run = t.xdd("-op", "read", "-targets", 1, file, "-dio", "-reqsize", "mix", "4k:1,100B:1", "-blocksize", 100, "-numreqs", 10)
    t.ok(run.status == 2 and len(run.error_lines()) == 1, "-dio: a size that is no multiple of the sector is refused", run)


def test_rate():
    """A rate of bytes: an operation is due when the bytes before it have had their time."""
    name = t.path("due")
    run = t.xdd("-op", "write", "-targets", 1, "null", "-reqsize", "mix", MIX, *"-numreqs 30 -throttle bw 100".split(), "-seek", "save",
                name)
    with open(name + ".T0.txt") as f:
        due = [int(line.split()[4]) for line in f if line[0] != "#"]
    want = [offset * 10 for offset, _ in sequential(SIZES, 30)]
    t.ok(run.status == 0 and len(due) == 30 and all(abs(a - b) < 10 for a, b in zip(due, want)), "-throttle bw", (due, want))
    run = t.xdd("-op", "write", "-targets", 1, "null", "-reqsize", "mix", MIX,
                *"-numreqs 30 -throttle bw 1000 poisson -retry 2 -heartbeat 1 ops -latency".split())
    t.equal(run.status, 0, "-throttle poisson, -retry and -heartbeat", run)


def test_said():
    file = t.path("said.json")
    run = t.xdd("-op", "write", "-targets", 1, "null", "-reqsize", "mix", MIX, "-numreqs", 10, "-jsonout", file)
    with open(file) as f:
        document = json.load(f)
    target = document["plan"]["targets"][0]
    t.equal((target["options"]["reqsize"], target["resolved"]["request_bytes"], target["resolved"]["request_mix"]),
            (["mix", MIX], 65536, [{"bytes": 4096, "operations": 3}, {"bytes": 65536, "operations": 2}]), "-jsonout", run)
    t.equal(float(run.row("COMBINED").get("Xfer_Size", 0)), CYCLE / 5, "the size in a result line is the mean", run)
    run = t.xdd("-op", "write", "-targets", 1, "null", "-reqsize", "mix", MIX, "-numreqs", 10, "-dryrun")
    t.ok(run.status == 0 and "Mix of request sizes, 4 KiB:3, 64 KiB:2" in run.out, "-dryrun", run)
    run = t.xdd("sweep", "-op", "write", "-targets", 1, "null", "-numreqs", "100,200", "-reqsize", "mix", MIX, "-rounds", 1, "-dryrun")
    t.ok(run.status == 0 and run.out.count(MIX) and "4k:60 " not in run.out, "the commas of a mix are no list of a sweep", run)


def test_stonewall():
    """A record of a stonewall names the mix; a reader reads what was written."""
    name, file = t.path("wall"), t.path("walled")
    base = ["-targets", 1, file, "-numreqs", 50]
    run = t.xdd("-op", "write", *base, "-reqsize", "mix", MIX, "-stonewall", "save", name)
    with open(name + ".R0.txt") as f:
        text = f.read()
    t.ok(run.status == 0 and "operations 50, request 65536 of 4 KiB:3, 64 KiB:2," in text, "the record names the mix", (run, text))
    with open(name + ".R0.txt", "w") as f:
        f.write(text.replace("operations 50", "operations 21"))
    run, rows = dumped("-op", "read", *base, "-reqsize", "mix", MIX, "-stonewall", "load", name)
    t.equal(rows, sequential(SIZES, 21), "only what was written is read", run)
    run = t.xdd("-op", "read", *base, "-reqsize", "mix", ODD, "-stonewall", "load", name)
    t.ok(run.status == 2 and len(run.error_lines()) == 1, "another mix is refused", run)


t.run_all()
