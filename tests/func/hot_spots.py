#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""
-seek zipf: hot spots. The share of each request as strace and the lists of -seek save have it, the same at every depth;
bad exponents.
"""
import collections
import json

import messages as m
import xddsys as s
import xddtest as t

# Files of these tests are in memory or holes, which runs that read enough say.
t.tolerate(t.CACHED)

SLOTS, OPS = 1000, 20000
DISK = s.sparse_file("disk", SLOTS * 4096)
BASE = ["-targets", 1, DISK, "-reqsize", "4k", "-range", "100%"]
_lists = 0


def listed(*args):
    """The blocks of the operations, from -seek save."""
    global _lists
    _lists += 1
    name = t.path("list%d" % _lists)
    run = t.xdd("-op", "read", *BASE, *args, "-seek", "save", name)
    if run.status:
        t.ok(False, "runs: " + " ".join(str(a) for a in args), run)
    with open(name + ".T0.txt") as f:
        return [int(line.split()[1]) // 4 for line in f if line[0] != "#"]


def test_shares():
    """Chi-square of the requests by rank; their probabilities are those of the formula."""
    for theta in (0.5, 1, 1.1, 2):
        blocks = listed("-numreqs", OPS, "-seek", "zipf", theta)
        counts = [n for _, n in collections.Counter(blocks).most_common()]
        total = sum(k ** -theta for k in range(1, SLOTS + 1))
        hottest = OPS / total
        t.ok(len(blocks) == OPS and max(blocks) < SLOTS, "theta %g: all within the range" % theta)
        t.ok(abs(counts[0] - hottest) < 6 * hottest ** 0.5 + 10, "theta %g: the hottest has its share" % theta, (counts[:3], hottest))
        ten = OPS * sum(k ** -theta for k in range(1, 11)) / total
        t.ok(abs(sum(counts[:10]) - ten) < 6 * ten ** 0.5 + 30, "theta %g: ten have theirs" % theta, (counts[:10], ten))


def test_scattered():
    blocks = listed("-numreqs", OPS, "-seek", "zipf", 1.1)
    hot = sorted(block for block, _ in collections.Counter(blocks).most_common(10))
    t.ok(hot[-1] - hot[0] > SLOTS / 2, "hot requests lie anywhere in the range", hot)
    other = listed("-numreqs", OPS, "-seek", "zipf", 1.1, "-seek", "seed", 3)
    t.ok(hot != sorted(block for block, _ in collections.Counter(other).most_common(10)), "another seed, other hot spots")
    t.equal(listed("-numreqs", 100, "-seek", "zipf", 1.1), blocks[:100], "the same in every run, whatever the amount")


def test_seen():
    """The kernel gets what the list has."""
    blocks = sorted(listed("-numreqs", 300, "-seek", "zipf", 1.1))
    if not s.can_trace():
        return t.skip("strace", s.sys_why())
    for depth in (1, 8):
        run, trace = s.trace("-op", "read", *BASE, *"-numreqs 300 -seek zipf 1.1 -ioengine psync -queuedepth".split(), depth)
        t.equal((run.status, sorted(op.offset // 4096 for op in trace.of(DISK))), (0, blocks), "depth %d: strace" % depth, run)
    return None


def test_said():
    file = t.path("said.json")
    run = t.xdd("-op", "read", *BASE, *"-numreqs 10 -seek zipf 1.5".split(), "-jsonout", file)
    with open(file) as f:
        target = json.load(f)["plan"]["targets"][0]["resolved"]
    t.equal((target["seek_pattern"], target["zipf_theta"]), ("zipf", 1.5), "-jsonout: the pattern resolved", run)
    for bad in ("0", "-1", "11", "x", "1.1x", "nan"):
        run = t.xdd("-op", "read", *BASE, "-numreqs", 1, "-seek", "zipf", bad)
        t.ok(run.status == 2 and m.ZIPF_EXPONENT in run.err and len(run.error_lines()) == 1, "-seek zipf %s is refused" % bad, run)


t.run_all()
