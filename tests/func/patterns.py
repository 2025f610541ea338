#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""
Access patterns as they reach the kernel: the same places for the same seed in every run and at every queue
depth, ranges that are kept to, offsets that add up, and lists that are saved and loaded. Operations are seen
with strace, or taken from -seek save where no I/O is needed.
"""
import collections
import os
import re

import messages as m
import xddsys as s
import xddtest as t

t.may_warn(m.RANGE_STARTS_OVER)
# Files of these tests are in memory or holes, which runs that read enough say.
t.tolerate(t.CACHED)

if not s.can_trace():
    t.skip_all(s.sys_why())

DISK = s.sparse_file("disk", 64 << 20)
DEPTHS = (1, 4, 32)
_saves = 0


def places(*args, target=DISK, **kwargs):
    """(direction, offset, size) of each operation on `target` in the order of their ends; -op read unless given."""
    op = [] if "-op" in args or "-rwratio" in args or "load" in args else ["-op", "read"]
    run, trace = s.trace(*op, "-targets", 1, target, *args, **kwargs)
    if run.status or any(op.result != op.size for op in trace.of(target)):
        t.ok(False, "runs: " + " ".join(str(a) for a in args), run)
    return [(op.call[1], op.offset, op.size) for op in trace.of(target)]


def offsets(*args):
    return [offset for _, offset, _ in places(*args)]


def saved(*args, number=0):
    """The rows of -seek save on null: (block, blocks, operation), and the lines that begin with a #."""
    global _saves
    _saves += 1
    file = t.path("saved.%d" % _saves)
    run = t.xdd("-op", "read", "-targets", 1, "null", *args, "-seek", "save", file)
    if run.status:
        t.ok(False, "saves: " + " ".join(str(a) for a in args), run)
        return [], []
    return read_saved("%s.T%d.txt" % (file, number))


def read_saved(file):
    with open(file) as f:
        lines = f.read().splitlines()
    rows = [line.split() for line in lines if not line.startswith("#")]
    t.ok([int(row[0]) for row in rows] == list(range(len(rows))), "saved: ordinals count from 0")
    return [(int(row[1]), int(row[2]), row[3]) for row in rows], [line for line in lines if line.startswith("#")]


RANDOM = "-seek random -seek range 40000 -reqsize 4 -numreqs 300".split()


def passes(found, size):
    return [found[i:i + size] for i in range(0, len(found), size)]


def test_random_repeats():
    first = offsets(*RANDOM)
    t.equal(len(first), 300, "random: 300 operations")
    t.equal(offsets(*RANDOM), first, "random: the next run is the same, in the same order")
    for depth in DEPTHS[1:]:
        t.equal(sorted(offsets(*RANDOM, "-queuedepth", depth)), sorted(first), "random: the same at depth %d" % depth)
    t.equal([row[0] * 1024 for row in saved(*RANDOM)[0]], first, "random: -seek save says the same")
    t.equal(offsets(*RANDOM, "-seek", "seed", 72058), first, "random: the default seed is the guide's")
    other = offsets(*RANDOM, "-seek", "seed", 1)
    t.ok(len(set(other) & set(first)) < 40, "random: another seed, other places")
    t.equal(offsets("-seek", "seed", 1, *RANDOM), other, "random: which repeat")
    for key in (0, 1, 2, 1 << 32, (1 << 64) - 1):
        t.ok(key == 1 or offsets(*RANDOM, "-seek", "seed", key) != other, "random: seed %d differs from 1" % key)


def test_randomize():
    plain = passes(offsets(*RANDOM, "-passes", 3), 300)
    t.ok(len(plain) == 3 and plain[0] == plain[1] == plain[2], "without -randomize all passes are alike")
    mixed = passes(offsets(*RANDOM, "-passes", 3, "-randomize"), 300)
    t.ok(len(mixed) == 3 and all(len(set(a) & set(b)) < 40 for a, b in
                                 ((mixed[0], mixed[1]), (mixed[0], mixed[2]), (mixed[1], mixed[2]))),
         "with -randomize passes differ")
    t.equal(mixed[0], plain[0], "with -randomize the first pass is the one without")
    again = passes(offsets(*RANDOM, "-passes", 3, "-randomize", "-queuedepth", 8), 300)
    t.equal([sorted(p) for p in again], [sorted(p) for p in mixed], "with -randomize runs repeat, at another depth too")


def chi_square(counts, total):
    expected = total / len(counts)
    return sum((c - expected) ** 2 / expected for c in counts)


def test_random_uniform():
    for seed in (72058, 1, 12345678901234567890):
        rows = saved("-seek", "random", "-seek", "range", 6403, "-seek", "seed", seed,
                     *"-reqsize 64 -startoffset 1000 -numreqs 100000".split())[0]
        blocks = [row[0] for row in rows]
        t.ok(len(blocks) == 100000 and all((b - 1000) % 64 == 0 for b in blocks),
             "random, seed %d: whole requests from the start offset" % seed)
        t.equal((min(blocks), max(blocks)), (1000, 1000 + 99 * 64),
                "random, seed %d: from end to end of the range" % seed)
        # 99 degrees of freedom: mean 99, deviation 14. Fixed seeds: this cannot fail by chance.
        chi = chi_square(list(collections.Counter(blocks).values()), 100000)
        t.ok(40 < chi < 200, "random, seed %d: uniform" % seed, chi)
        tenths = [(b - 1000) // 640 for b in blocks]
        chi = chi_square(list(collections.Counter(zip(tenths[::2], tenths[1::2])).values()), 50000)
        t.ok(40 < chi < 200, "random, seed %d: neighbours have nothing to do with each other" % seed, chi)
    for blocks, request in ((4, 4), (7, 4), (1000, 999), (8, 4)):
        rows = saved("-seek", "random", "-seek", "range", blocks, "-reqsize", request, "-numreqs", 200)[0]
        t.equal({row[0] for row in rows}, {i * request for i in range(blocks // request)},
                "random: a range of %d blocks for requests of %d" % (blocks, request))
    rows = saved(*"-seek random -reqsize 8 -mbytes 16".split())[0]
    blocks = [row[0] for row in rows]
    t.ok(len(rows) == 2048 and max(blocks) <= 16384 - 8 and max(blocks) > 15000 and len(set(blocks)) > 1000,
         "random: the range is the amount of data by default", (len(rows), max(blocks)))


MASK = (1 << 64) - 1
GOLDEN = 0x9e3779b97f4a7c15


def mix(z):
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9 & MASK
    z = (z ^ z >> 27) * 0x94d049bb133111eb & MASK
    return z ^ z >> 31


def draw(seed, pass_number, target, n):
    """Draw n of the locations, by the formula at the top of src/base/random.c."""
    word = pass_number << 32 | target << 16
    a = mix(mix(seed + GOLDEN & MASK) + word * GOLDEN & MASK)
    b = mix(mix(seed + 2 * GOLDEN & MASK) ^ mix(word + GOLDEN & MASK))
    return mix(mix(n * GOLDEN + a & MASK) ^ b)


def test_random_formula():
    """Random offsets stay the same in later versions."""
    for seed in (72058, 0, MASK):
        file = t.path("formula")
        t.xdd("-op", "noop", "-targets", 2, "null", "null", *RANDOM, "-seek", "seed", seed, "-seek", "save", file)
        for target in range(2):
            with open("%s.T%d.txt" % (file, target)) as f:
                blocks = [int(line.split()[1]) for line in f if not line.startswith("#")]
            # A range of 40000 blocks has 10000 slots of 4; no draw is rejected here.
            expected = [(draw(seed, 1, target, n) * 10000 >> 64) * 4 for n in range(300)]
            t.equal(blocks, expected, "random, seed %d, target %d: the offsets of the formula" % (seed, target))


def test_targets_differ():
    run, trace = s.trace("-op", "read", "-targets", 4, *[s.sparse_file("many%d" % i, 64 << 20) for i in range(4)],
                         *RANDOM)
    lists = [tuple(op.offset for op in trace.of(t.path("many%d" % i))) for i in range(4)]
    t.ok(run.status == 0 and all(len(x) == 300 for x in lists), "four targets", run)
    t.ok(all(len(set(lists[a]) & set(lists[b])) < 40 for a in range(4) for b in range(a)), "each has places of its own")
    t.equal(list(lists[0]), offsets(*RANDOM), "target 0 has those of a run by itself")


def test_sequential():
    wanted = [("r", n * 4096, 4096) for n in range(50)]
    t.equal(places(*"-reqsize 4 -numreqs 50".split()), wanted, "sequential: in order")
    for depth in DEPTHS[1:]:
        t.equal(sorted(places(*"-reqsize 4 -numreqs 50 -passes 2".split(), "-queuedepth", depth)), sorted(wanted * 2),
                "sequential: depth %d" % depth)
    found = [(n % 12 * 4096) + 1024 * 1000 for n in range(50)]
    t.equal(offsets(*"-reqsize 4 -numreqs 50 -seek range 50 -startoffset 1000".split()), found,
            "sequential: starts over at the end of a range")
    t.equal(places(*"-reqsize 4 -bytes 10001".split()), [("r", 0, 4096), ("r", 4096, 4096), ("r", 8192, 1809)],
            "sequential: a short operation at the end")
    short = [("r", 0, 4096), ("r", 4096, 4096), ("r", 8192, 1809)]
    t.equal(sorted(places(*"-reqsize 4 -bytes 10001 -passes 2 -queuedepth 4".split())), sorted(short * 2),
            "sequential: a short operation at the end of each pass, depth 4")
    t.equal(offsets(*"-seek none -reqsize 4 -numreqs 20 -startoffset 7".split()), [7168] * 20, "none: one place")
    found = places(*"-rwratio 50 -reqsize 4 -numreqs 10 -seek streams -startoffset 8".split())
    t.equal(found, [(op, 8192 + n * 4096, 4096) for n in range(5) for op in "rw"], "streams: reads and writes in a sequence each")
    found = places(*"-rwratio 25 -reqsize 4 -numreqs 8 -seek streams range 16".split())
    t.equal(([n for op, n, _ in found if op == "r"], [n for op, n, _ in found if op == "w"]), ([0, 4096], [0, 4096, 8192, 12288, 0, 4096]),
            "streams: each starts over at the end of the range")
    small = t.make_file("small", 20 * 1024 + 100)
    t.equal(places("-reqsize", 4, target=small), [("r", n * 4096, 4096) for n in range(5)] + [("r", 20480, 100)],
            "nothing said: the whole file once")
    for seconds in (0.2, 1, 3):  # a busy machine needs more
        found = places("-reqsize", 4, "-timelimit", seconds, target=small)
        if len(found) > 5:
            break
    t.ok(len(found) > 5 and all(op == ("r", n % 5 * 4096, 4096) for n, op in enumerate(found)),
         "-timelimit alone: over and over, within the file", found[:12])


def test_writes_for_a_time():
    """A write that only time limits starts over at the end of what is there, and grows what is not."""
    limit = "-op write -reqsize 16 -throttle ops 200".split()

    def timed(words, least, name, before):
        """Places of a run that has time for more than `least` operations: a busy machine needs another one."""
        for seconds in ("0.3", "1", "3"):
            file = t.path(name) if before is None else t.make_file(name, before)
            if before is None and os.path.exists(file):
                os.unlink(file)
            found = places(*limit, "-runtime", seconds, *words.split(), target=file)
            if len(found) > least:
                break
        return file, found

    for words, size in (("", 65536), ("-startoffset 32", 65536), ("-pretruncate 32k", 32768), ("-queuedepth 4", 65536),
                        ("-timelimit 0.2", 65536)):
        start = 32768 if "startoffset" in words else 0
        file, found = timed(words, 4, "timed", 65536)
        wanted = [start + n * 16384 % (size - start) for n in range(len(found))]
        t.ok(len(found) > 4 and sorted(o for _, o, _ in found) == sorted(wanted),
             "writes for a time, a file that is there, %s: start over at its end" % (words or "as it is"), found[:20])
        t.equal(os.path.getsize(file), size, "and it keeps its size")
    for before, words in ((None, ""), (0, ""), (32768, "-pretruncate 0"), (32768, "-recreatefiles"), (32768, "-startoffset 32")):
        start = 32768 if "startoffset" in words else 0
        file, found = timed(words, 4, "timed.grows", before)
        t.ok(len(found) > 4 and [o for _, o, _ in found] == [start + n * 16384 for n in range(len(found))] and
             os.path.getsize(file) == start + len(found) * 16384,
             "writes for a time, %s bytes before, %s: grows" % (before, words or "as it is"), found[:20])
    file = t.make_file("timed", 3000)
    run = t.xdd(*limit, "-timelimit", 1, "-targets", 1, file)
    t.ok(run.status == 2 and len(run.error_lines()) == 1 and "less than one request of 16384" in run.err and
         os.path.getsize(file) == 3000, "writes for a time, less than a request is there: refused", run)


def test_starts_over():
    """An amount that is larger than the range starts over in it, which is said once."""
    line = (r"^xdd: warning: target 0, .*: -seek range 64: is smaller than the amount of a pass; its 20 operations start over "
            r"after each 8$")
    for words, warned in (("-numreqs 20", True), ("-kbytes 160", True), ("-numreqs 8", False), ("-bytes 65536", False),
                          ("-numreqs 20 -seek random", False), ("-numreqs 20 -seek interleave 3", False),
                          ("-timelimit 0.1", False)):
        run = t.xdd("-op", "read", "-targets", 2, DISK, DISK, *"-reqsize 8 -seek range 64".split(), *words.split())
        lines = [l for l in run.error_lines() if "start over" in l]
        t.ok(run.status == 0 and len(lines) == warned and all(re.match(line, l) for l in lines),
             "a range of 8 requests, %s: %s" % (words, "a warning" if warned else "none"), run)
    t.equal(offsets(*"-reqsize 8 -seek range 64 -numreqs 20".split()), [n % 8 * 8192 for n in range(20)],
            "20 operations in a range of 8 start over in it")


def test_stagger():
    for count, request, blocks in ((10, 4, 1000), (7, 3, 100), (25, 4, 100), (1, 4, 100), (3, 1, 1000000)):
        args = ["-seek", "stagger", "-seek", "range", blocks, "-reqsize", request, "-numreqs", count,
                "-startoffset", 13]
        rows = [row[0] - 13 for row in saved(*args)[0]]
        title = "stagger: %d requests of %d in %d blocks" % (count, request, blocks)
        t.ok(len(rows) == count and rows[0] == 0 and all(b - a >= request for a, b in zip(rows, rows[1:])),
             title + ": apart, ascending from the start", rows)
        t.ok(rows[-1] + request <= blocks, title + ": in the range", rows)
        steps = [b - a for a, b in zip(rows + [blocks], (rows + [blocks])[1:])]
        t.ok(max(steps) - min(steps) <= 1, title + ": spread evenly over all of it", steps)
    t.equal(offsets(*"-seek stagger -seek range 4096 -reqsize 4 -numreqs 128".split()), [n * 32768 for n in range(128)],
            "stagger: every 8th request, as in the guide")
    t.equal(sorted(offsets(*"-seek stagger -seek range 4096 -reqsize 4 -numreqs 128 -queuedepth 8".split())),
            [n * 32768 for n in range(128)], "stagger: at depth 8")


def test_interleave():
    t.equal(offsets(*"-seek interleave 3 -reqsize 4 -numreqs 20 -startoffset 5".split()),
            [5120 + n * 3 * 4096 for n in range(20)], "interleave: every 3rd request")
    t.equal(offsets(*"-seek interleave 1 -reqsize 4 -numreqs 20".split()), [n * 4096 for n in range(20)],
            "interleave 1: every request")
    found = offsets(*"-seek interleave 3 -seek range 80 -reqsize 4 -numreqs 40".split())
    t.ok(len(found) == 40 and max(found) <= 76 * 1024 and found[:7] == [n * 3 * 4096 for n in range(7)],
         "interleave: stays in its range", found)
    t.equal(collections.Counter(found), {n * 4096: 2 for n in range(20)}, "interleave: covers its range evenly")


def test_offsets():
    base = "-reqsize 4 -numreqs 10 ".split()
    t.equal(offsets(*base, "-startoffset", 100), [102400 + n * 4096 for n in range(10)], "-startoffset")
    t.equal(offsets(*base, "-startoffset", 10, "-blocksize", 512), [5120 + n * 2048 for n in range(10)],
            "-startoffset counts blocks of the block size")
    t.equal(offsets(*base, "-startoffset", 100, "-passoffset", 1000, "-passes", 3),
            [102400 + p * 1024000 + n * 4096 for p in range(3) for n in range(10)], "-passoffset moves every pass on")
    moved = passes(offsets(*RANDOM, "-passoffset", 3, "-passes", 3), 300)
    t.equal([[x - p * 3072 for x in moved[p]] for p in range(3)], [moved[0]] * 3, "-passoffset with random offsets")
    run, trace = s.trace("-op", "read", "-targets", "-4", DISK, *"-targetoffset 1024 -reqsize 4 -numreqs 10".split())
    by_fd = collections.defaultdict(list)
    for op in trace.of(DISK):
        by_fd[op.fd].append(op.offset)
    t.equal((run.status, sorted(by_fd.values())), (0, [[k * 1048576 + n * 4096 for n in range(10)] for k in range(4)]),
            "-targetoffset 1024 on four targets: they start at blocks 0, 1024, 2048, 3072 (guide, 4.8)")
    run, trace = s.trace("-op", "read", "-targets", "-3", DISK,
                         *"-targetoffset 2048 -passoffset 64 -startoffset 5 -reqsize 4 -numreqs 4 -passes 2".split())
    wanted = [5120 + k * 2097152 + p * 65536 + n * 4096 for k in range(3) for p in range(2) for n in range(4)]
    t.equal((run.status, sorted(op.offset for op in trace.of(DISK))), (0, sorted(wanted)), "all offsets together")
    run, trace = s.trace("-op", "read", "-startoffset", "target", 1, 50, "-targets", "-2", DISK,
                         *"-reqsize 4 -numreqs 2".split())
    t.equal(sorted(op.offset for op in trace.of(DISK)), [0, 4096, 51200, 55296], "-startoffset of one target")


def test_save_and_load():
    cases = (("random", RANDOM), ("sequential", "-reqsize 4 -numreqs 40 -startoffset 9".split()),
             ("a short operation", "-reqsize 4 -bytes 99328 -startoffset 9".split()),
             ("stagger", "-seek stagger -seek range 5000 -reqsize 3 -numreqs 77".split()),
             ("mixed", "-rwratio 30 -seek random -seek range 9000 -reqsize 2 -numreqs 200".split()),
             ("writes", "-op write -seek interleave 3 -reqsize 2 -numreqs 60".split()))
    for title, args in cases:
        file = t.path("save-" + title.replace(" ", "-"))
        first = places(*args, "-seek", "save", file)
        rows = read_saved(file + ".T0.txt")[0]
        t.equal([(op, block * 1024, blocks * 1024) for block, blocks, op in rows], first,
                "%s: saved as it is done" % title)
        request = args[args.index("-reqsize") + 1]
        for name in (file, file + ".T0.txt"):
            t.equal(places("-reqsize", request, "-seek", "load", name), first, "%s: loaded and done again" % title)
        t.equal(sorted(places("-reqsize", request, "-seek", "load", file, "-passes", 2, "-queuedepth", 4)),
                sorted(first * 2), "%s: loaded, two passes, depth 4" % title)
        again = t.path("again")
        places("-reqsize", request, "-seek", "load", file, "-seek", "save", again)
        t.equal(read_saved(again + ".T0.txt"), read_saved(file + ".T0.txt"), "%s: saved again" % title)
        moved = places("-reqsize", request, "-seek", "load", file, "-passoffset", 10, "-passes", 2)
        t.equal(sorted(moved), sorted(first + [(d, o + 10240, n) for d, o, n in first]),
                "%s: moved by -passoffset" % title)


def test_load_amount():
    """An amount of bytes takes the first operations of a list, and cuts the last of them off."""
    sizes = (8, 8, 3, 8, 1, 8)
    rows = [(n * 16 + 5, size) for n, size in enumerate(sizes)]
    whole = [("r", at * 1024, size * 1024) for at, size in rows]
    file = t.path("amounts")
    with open(file, "w") as f:
        f.write("".join("%d %d %d r 0 0\n" % (n, at, size) for n, (at, size) in enumerate(rows)))
    load = ["-reqsize", 8, "-seek", "load", file]
    for amount, size in (("-kbytes 16", 16384), ("-bytes 16385", 16385), ("-bytes 10000", 10000), ("-bytes 1", 1),
                         ("-kbytes 19", 19456), ("-bytes 19457", 19457), ("-kbytes 36", 36864),
                         ("-mbytes 1 -bytes 28000", 28000)):
        wanted, left = [], size
        for op, at, n in whole:
            if left:
                wanted.append((op, at, min(n, left)))
                left -= min(n, left)
        for depth in (1, 4):
            found = places(*load, *amount.split(), "-queuedepth", depth)
            t.equal(sorted(found, key=lambda op: op[1]), wanted, "-seek load, %s, depth %d" % (amount, depth))
    t.equal(places(*load, *"-bytes 10000 -numreqs 3".split()), whole[:3], "-seek load: -numreqs overrides -bytes")
    run, rows = t.xdd_csv("-targets", 1, DISK, *load, *"-bytes 19457 -passes 2 -verbose".split())
    t.equal([(r["OPS"], r["BYTESXFERED"]) for r in rows if r["WHAT"] == "TARGET_PASS"], [("4", "19457")] * 2,
            "-seek load -bytes: every pass moves the amount")


def test_extent():
    """How far operations reach is known to the byte: a file one byte larger is large enough."""
    for words, end in (("-reqsize 4 -numreqs 2 -seek stagger range 11", 9216),
                       ("-reqsize 4 -bytes 4097 -seek stagger range 11", 5121),
                       ("-reqsize 3 -numreqs 7 -seek stagger range 100", 88 * 1024),
                       ("-reqsize 4 -numreqs 1 -seek stagger range 11", 4096)):
        at = max(offset + size for _, offset, size in places(*words.split()))
        t.equal(at, end, words + ": its last byte")
        for size in (end - 1, end):
            run = t.xdd("-op", "read", "-targets", 1, s.sparse_file("extent", size), *words.split())
            t.equal("the operations reach to" in run.err, size < end, "%s: a file of %d bytes" % (words, size))


def test_save_several():
    file = t.path("several")
    run = t.xdd("-op", "read", "-targets", 3, "null", "null", "null", *RANDOM, "-seek", "save", file,
                "-targetoffset", 5000, "-seek", "target", 2, "sequential")
    lists = [read_saved("%s.T%d.txt" % (file, n))[0] for n in range(3)]
    t.ok(run.status == 0 and lists[0] != lists[1] and lists[2] == [(n * 4, 4, "r") for n in range(300)],
         "each target saves a list of its own", run)
    t.equal([(b * 1024) for b, _, _ in lists[0]], offsets(*RANDOM), "that of target 0")
    run = t.xdd("-op", "read", "-targets", 1, "null", "-numreqs", 10, "-seek", "save", t.path("nowhere/list"))
    t.ok(run.status != 0 and len(run.error_lines()) == 1, "a list that cannot be saved is an error", run)
    t.equal([f for f in os.listdir(t.tmp()) if re.search(r"\.txt\.", f)], [], "no temporary file is left")


def histogram(lines, name):
    found = [re.match(r"#%s (\d{4}) +(\d+)$" % name, line) for line in lines]
    return [(int(m.group(1)), int(m.group(2))) for m in found if m]


def test_histograms():
    args = RANDOM + ["-seek", "seekhist", 10, "-seek", "disthist", 5]
    rows, comments = saved(*args)
    run = t.xdd("-op", "read", "-targets", 1, "null", *args)
    blocks = [b for b, _, _ in rows]
    ends = [b + n for b, n, _ in rows]
    distances = [abs(b - end) for b, end in zip(blocks[1:], ends)]
    low, high, far = min(blocks), max(blocks), max(distances)
    seeks, dists = [0] * 10, [0] * 5
    for b in blocks:
        seeks[(b - low) * 10 // (high - low + 1)] += 1
    for d in distances:
        dists[d * 5 // (far + 1)] += 1
    for where, lines in (("the saved list", comments), ("the messages", run.err.splitlines())):
        t.equal(histogram(lines, "SeekHist"), list(enumerate(seeks)), "seekhist in %s" % where)
        t.equal(histogram(lines, "DistHist"), list(enumerate(dists)), "disthist in %s" % where)
    m = re.match(r"# Longest seek=(\d+), Shortest seek=(\d+), Average seek distance=(\d+)$", comments[0])
    t.equal([int(x) for x in m.groups()] if m else comments[0], [far, min(distances), sum(distances) // len(distances)],
            "the figures at the top of a saved list")
    for requests, far in ((4, 9996), (2, 19996), (1, 0)):
        _, top = saved(*"-seek stagger -seek range 40000 -reqsize 4 -numreqs".split(), requests)
        t.equal(top[0], "# Longest seek=%d, Shortest seek=%d, Average seek distance=%d" % (far, far, far),
                "the figures of %d requests" % requests)
    t.equal(comments[1], "#Ordinal Location Reqsize Operation Time1 Time2", "the heading of a saved list")


t.run_all()
