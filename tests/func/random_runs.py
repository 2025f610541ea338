#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""
Random runs against their own time stamps: of each pass of each target, operations 0 to n-1 are there once each, at
their offsets, in their order, within the queue depth; and bytes, counts, elapsed time, rates and latencies of the
results are those of the stamps.

Run n is a function of the seed (XDD_TEST_SEED) and n. XDD_FUZZ_RUNS says how many there are; XDD_TEST_LONG=1 makes
1000. XDD_TEST_ONLY=<n> makes that one.
"""
import collections
import concurrent.futures
import math
import os
import random
import shlex
import shutil

import xddjson as j
import xddsys as s
import xddtest as t
import xddtrace

SEED = int(os.environ.get("XDD_TEST_SEED", "1"))
LONG = os.environ.get("XDD_TEST_LONG")
LIMIT_S = 60
WORKERS = 2
FILE_BYTES = 1 << 20
QUEUES = ("libaio", "io_uring")
DIRECTIONS = {"r": "read", "w": "write", "n": "noop"}
RESOLUTION = 0.02       # of percentiles: more than the width of a bucket of the histogram


class Target:
    """The work and options of one target."""

    def __init__(self, r, number, engines):
        self.number = number
        self.null = r.random() < 0.2
        self.engine = "null" if self.null else r.choice(engines)
        self.op = "noop" if self.null else r.choice(("read", "write", "mixed"))
        self.share = r.choice((1, 25, 50, 75, 99)) if self.op == "mixed" else None
        self.depth = r.choice((1, 1, 2, 3, 8, 16))
        self.threads = r.randint(1, min(self.depth, 3)) if self.engine in QUEUES else None
        self.order = r.choice(("none", "none", "serial", "loose", "strict" if self.engine in QUEUES else "serial"))
        self.request = r.choice((1, 4, 7, 16)) * 1024
        self.ops = r.choice((1, 2, 10, 33, 60))
        # A last operation that is shorter than the others.
        self.bytes = (self.ops - 1) * self.request + r.choice((self.request, 1024, 512))
        self.in_bytes = r.random() < 0.3
        self.start = r.choice((0, 0, 3)) * 1024
        self.seek = r.choice(("sequential", "sequential", "random", "stagger", "none"))
        self.rate = r.choice((2000, 20000)) if r.random() < 0.2 else None
        self.limit_ms = r.choice((1, 5)) if r.random() < 0.15 else None
        self.delay_ms = r.choice((0, 0, 0, 3))
        if not self.in_bytes:
            self.bytes = self.ops * self.request

    def words(self):
        def option(name, *values):
            return [name, "target", self.number] + list(values)
        words = option("-reqsize", self.request // 1024) + option("-queuedepth", self.depth) + \
            option("-ordering", "storage", self.order)
        words += option("-rwratio", self.share) if self.share else option("-op", self.op)
        words += option("-bytes", self.bytes) if self.in_bytes else option("-numreqs", self.ops)
        if not self.null:
            words += option("-ioengine", self.engine)
        if self.threads:
            words += option("-threads", self.threads)
        if self.start:
            words += option("-startoffset", self.start // 1024)
        if self.seek in ("random", "stagger"):
            words += option("-seek", self.seek) + option("-seek", "range", (FILE_BYTES - self.start) // 1024)
        elif self.seek == "none":
            words += option("-seek", "none")
        if self.rate:
            words += option("-throttle", "ops", self.rate)
        if self.limit_ms:
            words += option("-timelimit", "%dms" % self.limit_ms)
        if self.delay_ms:
            words += option("-startdelay", "%dms" % self.delay_ms)
        return words


class Mix:
    def __init__(self, number, engines):
        r = random.Random("%d runs %d" % (SEED, number))
        self.targets = [Target(r, i, engines) for i in range(r.choice((1, 1, 2, 3)))]
        self.passes = r.choice((1, 1, 2, 5))
        self.sync = r.random() < 0.15
        self.words = ["-targets", len(self.targets)] + ["null" if x.null else "f%d" % x.number for x in self.targets]
        for x in self.targets:
            self.words += x.words()
        self.words += ["-passes", self.passes, "-ts", "dump", "dmp", "-jsonout", "doc.json"]
        if self.sync:
            self.words.append("-syncwrite")
        self.words = [str(w) for w in self.words]


class Wrong(Exception):
    pass


def demand(condition, text, *args):
    if not condition:
        raise Wrong(text % args if args else text)


def near(a, b, text, *args):
    demand(math.isclose(a, b, rel_tol=1e-9, abs_tol=1e-9), text + ": %r is not %r", *args, a, b)


# One pass of one target

def check_order(x, rows):
    """Numbers, order, depth; `rows` is sorted by number."""
    numbers = [row["OP"] for row in rows]
    demand(numbers == list(range(len(rows))), "operations %s", numbers)
    demand(len(rows) == x.ops or x.limit_ms and len(rows) < x.ops, "%d of %d operations", len(rows), x.ops)
    for a, b in zip(rows, rows[1:]):
        demand(x.order != "serial" or b["START_NS"] >= a["END_NS"], "operation %d begins before %d has ended", b["OP"], a["OP"])
        demand(x.order != "strict" or b["START_NS"] >= a["START_NS"], "operation %d begins before %d", b["OP"], a["OP"])
    slots = collections.defaultdict(list)
    edges = []
    for row in rows:
        demand(row["END_NS"] - row["START_NS"] == row["IO_NS"] >= 0, "operation %d ends before it begins", row["OP"])
        slots[row["QTHREAD"], row["SLOT"]].append(row)
        # An end at the moment of a begin makes room for it.
        edges += [(row["START_NS"], 1), (row["END_NS"], 0 if row["IO_NS"] else 2)]
    demand(len(slots) <= x.depth, "%d slots at queue depth %d", len(slots), x.depth)
    for of in slots.values():
        of.sort(key=lambda row: row["START_NS"])
        for a, b in zip(of, of[1:]):
            demand(b["START_NS"] >= a["END_NS"], "operations %d and %d overlap in a slot", a["OP"], b["OP"])
    depth = 0
    for _, edge in sorted(edges):
        depth += 1 if edge == 1 else -1
        demand(depth <= x.depth, "%d operations at a time at queue depth %d", depth, x.depth)


def check_places(x, rows):
    """Offsets, sizes and directions."""
    for row in rows:
        n, size, offset = row["OP"], row["SIZE"], row["OFFSET"]
        demand(size == min(x.request, x.bytes - n * x.request), "operation %d of %d bytes", n, size)
        demand(row["BYTES"] == size and row["ERROR"] == 0, "operation %d moved %d bytes, error %d", n, row["BYTES"], row["ERROR"])
        if x.seek == "sequential":
            demand(offset == x.start + n * x.request, "operation %d at byte %d", n, offset)
        elif x.seek == "none":
            demand(offset == x.start, "operation %d at byte %d", n, offset)
        else:
            demand(offset % 1024 == 0 and x.start <= offset <= FILE_BYTES - size, "operation %d at byte %d", n, offset)
        demand(x.op == "mixed" or DIRECTIONS[row["TYPE"]] == x.op, "operation %d is a %s", n, row["TYPE"])
    if x.op == "mixed" and len(rows) == x.ops:
        reads = sum(row["TYPE"] == "r" for row in rows)
        demand(abs(reads - x.ops * x.share / 100) <= 0.5, "%d reads of %d operations at %d %%", reads, x.ops, x.share)


def check_sums(x, rows, result, sync):
    """The line of the pass."""
    of = {name: [row for row in rows if DIRECTIONS[row["TYPE"]] == name] for name in DIRECTIONS.values()}
    for name, own in of.items():
        for what, value in (("ops", len(own)), ("bytes", sum(row["BYTES"] for row in own)),
                            ("busy_ns", sum(row["IO_NS"] for row in own))):
            demand(result[what][name] == value, "%s of %s: %r is not %r", what, name, result[what][name], value)
        check_latency(own, result["latency"]["service"].get(name))
    span = rows[-1:] and max(row["END_NS"] for row in rows) - min(row["START_NS"] for row in rows)
    elapsed, moved = result["elapsed_ns"], sum(row["BYTES"] for row in rows)
    if not rows:
        return
    # A paced pass lasts as many intervals as it has operations; a flush is part of the time.
    if x.rate or sync or x.limit_ms:
        demand(elapsed >= span, "elapsed %d ns, stamps %d ns", elapsed, span)
    else:
        near(elapsed, span, "elapsed")
    near(result["bandwidth"], moved / elapsed * 1e9 if elapsed else 0, "bandwidth")
    near(result["iops"], len(rows) / elapsed * 1e9 if elapsed else 0, "iops")


def check_latency(rows, latency):
    if not rows:
        demand(not latency or not latency["count"], "latencies of no operations")
        return
    times = sorted(row["IO_NS"] for row in rows)
    demand((latency["count"], latency["minimum_ns"], latency["maximum_ns"]) == (len(times), times[0], times[-1]),
           "latencies %r of %r", {k: latency[k] for k in ("count", "minimum_ns", "maximum_ns")}, times)
    near(latency["mean_ns"], sum(times) / len(times), "mean latency")
    for percent, value in latency["percentiles_ns"].items():
        if not j.enough(float(percent), len(times)):
            demand(value is None, "percentile %s of %d operations is %r", percent, len(times), value)
            continue
        exact = times[max(math.ceil(len(times) * float(percent) / 100 - 1e-9), 1) - 1]
        demand(abs(value - exact) <= exact * RESOLUTION + 1, "percentile %s: %d is not %d", percent, value, exact)
    histogram = latency["histogram"]
    demand(sum(histogram[1::2]) == len(times), "the histogram has %d operations", sum(histogram[1::2]))


# A run

def check_run(mix, directory):
    document = j.load(os.path.join(directory, "doc.json"))
    demand(not j.problems(document), "the document: %s", j.problems(document)[:3])
    demand(document["status"] == 0 and not document["partial"], "the document says %r", document["end"])
    spans = collections.defaultdict(list)
    for x in mix.targets:
        by_pass = collections.defaultdict(list)
        for row in xddtrace.rows_of(os.path.join(directory, "dmp.target.%04d.bin" % x.number)):
            demand(row["TARGET"] == x.number, "a row of target %d", row["TARGET"])
            by_pass[row["PASS"]].append(row)
        for number in range(1, mix.passes + 1):
            rows = sorted(by_pass.pop(number, []), key=lambda row: row["OP"])
            results = j.rows(document, "TARGET_PASS", target=x.number, **{"pass": number})
            demand(len(results) == 1, "%d lines of a pass", len(results))
            try:
                check_order(x, rows)
                check_places(x, rows)
                check_sums(x, rows, results[0], mix.sync)
            except Wrong as why:
                raise Wrong("target %d, pass %d: %s" % (x.number, number, why)) from None
            spans[number] += [(row["START_NS"], row["END_NS"]) for row in rows]
        demand(not by_pass, "target %d: rows of passes %s", x.number, list(by_pass))
    check_combined(mix, j.rows(document, "COMBINED")[0], spans)


def check_combined(mix, combined, spans):
    """Without options that delay or extend single targets, the time is from the first begin to the last end of each pass."""
    moved, elapsed = sum(combined["bytes"].values()), combined["elapsed_ns"]
    near(combined["bandwidth"], moved / elapsed * 1e9 if elapsed else 0, "COMBINED bandwidth")
    near(combined["iops"], sum(combined["ops"].values()) / elapsed * 1e9 if elapsed else 0, "COMBINED iops")
    if mix.sync or any(x.rate or x.limit_ms or x.delay_ms for x in mix.targets):
        return
    near(elapsed, sum(max(e for _, e in of) - min(b for b, _ in of) for of in spans.values() if of), "COMBINED elapsed")


def wrong(number):
    """None, or what is wrong with a run and all there is to know about it."""
    mix, directory = Mix(number, ENGINES), os.path.join(BASE, "run%d" % number)
    os.makedirs(directory)
    for x in mix.targets:
        if not x.null:
            with open(os.path.join(directory, "f%d" % x.number), "wb") as f:
                f.write(bytes(FILE_BYTES))
    run = t.command([t.XDD] + mix.words, timeout=LIMIT_S, cwd=directory)
    why = None
    try:
        demand(run.status == 0, "status %s", run.status)
        check_run(mix, directory)
    except (Wrong, OSError, ValueError) as bad:
        why = "run %d, seed %d: %s\n%s\n%s" % (number, SEED, bad, shlex.join(mix.words), run)
    shutil.rmtree(directory, ignore_errors=True)
    return why


def test_runs(numbers):
    findings = []

    def one(number):
        if len(findings) < 3:
            why = wrong(number)
            if why:
                findings.append(why)

    with concurrent.futures.ThreadPoolExecutor(WORKERS) as pool:
        list(pool.map(one, numbers))
    t.ok(not findings, "%d runs against their time stamps" % len(numbers), "\n\n".join(findings))


ENGINES = ["psync", "psync", "mmap"] + [e for e in t.engines() if e in QUEUES]
BASE = os.path.join(s.MEMORY or t.tmp(), "xddruns.%d" % os.getpid())
COUNT = int(os.environ.get("XDD_FUZZ_RUNS", "1000" if LONG else "20" if s.sanitized() else "40"))
ONLY = os.environ.get("XDD_TEST_ONLY")
t.diag("seed %d" % SEED)
try:
    test_runs([int(ONLY)] if ONLY else range(COUNT))
finally:
    shutil.rmtree(BASE, ignore_errors=True)
t.done()
