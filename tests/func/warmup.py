#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""
-warmup: the first operations of each pass are carried out and are in no figure. What the kernel saw (strace) and the
dump of time stamps say which these are: counted operations are all operations without those of the warm-up.
"""
import os
import re

import xddjson
import xddsys as s
import xddtest as t
import xddtrace

t.virtual_time()

if t.ENGINE:
    t.skip_all("this test sets the engine itself")

ENGINES = [e for e in ("psync", "mmap", "libaio", "io_uring", "null") if e in t.engines()]
SIZE, OPS, WARM = 4096, 200, 60
t.make_file("data", OPS * SIZE)
DATA = ["-op", "read", "-targets", 1, t.path("data"), "-reqsize", "4k"]


def results(*args, **kwargs):
    """The run, and the results of its document: those of passes and COMBINED."""
    file = t.path("j.json")
    run = t.xdd(*args, "-jsonout", file, **kwargs)
    return run, xddjson.load(file)["results"] if run.status == 0 else []


def passes(rows):
    return [r for r in rows if r["what"] == "TARGET_PASS"]


def identity(r):
    return r["issued"] == sum(r["ops"].values()) + r["errors"] + r["warmup_ops"] + r["outstanding"]


def test_exact():
    """By number: every engine and depth leaves out exactly the first operations of each pass."""
    for engine in ENGINES:
        for depth in (1, 8):
            for extra in ([], ["-latency", "intervals", 10, "-intervals", 1]):
                run, rows = results(*DATA, "-numreqs", OPS, "-ioengine", engine, "-queuedepth", depth, "-passes", 2, "-warmup",
                                    "%dops" % WARM, *extra)
                got = [(r["ops"]["read"], r["bytes"]["read"], r["warmup_ops"], r["issued"], identity(r)) for r in passes(rows)]
                t.equal(got, [(OPS - WARM, (OPS - WARM) * SIZE, WARM, OPS, True)] * 2,
                        "%s, depth %d%s" % (engine, depth, ", with intervals" if extra else ""), run)


def test_histogram():
    run, rows = results(*DATA, "-numreqs", OPS, "-queuedepth", 4, "-warmup", "%dops" % WARM, "-latency", "histogram")
    latency = passes(rows)[0]["latency"] if rows else {}
    t.equal((run.status, latency.get("service", {}).get("read", {}).get("count")), (0, OPS - WARM),
            "the histogram has the operations that count", (run, latency))


def test_kernel():
    """All operations reach the kernel, and what is verified includes those of the warm-up."""
    if not s.can_trace():
        return t.skip("as the kernel saw it", s.sys_why())
    log = t.path("strace.out")
    run = t.command(s.strace(log, "pread64") +
                    t.xdd_words(*DATA, "-numreqs", OPS, "-queuedepth", 4, "-ioengine", "psync", "-warmup", "%dops" % WARM,
                                "-jsonout", t.path("k.json")))
    with open(log) as f:
        calls = len(re.findall(r"pread64\(\d+<[^>]*/data>", f.read()))
    row = passes(xddjson.load(t.path("k.json"))["results"])[0]
    return t.equal((run.status, calls, row["ops"]["read"], row["warmup_ops"]), (0, OPS, OPS - WARM, WARM),
                   "all reach the kernel; counted are all without the warm-up", run)


def test_dump():
    """The dump of time stamps has exactly the operations that count."""
    for engine in ENGINES:
        name = t.path("ts." + engine)
        run, rows = results(*DATA, "-numreqs", OPS, "-ioengine", engine, "-queuedepth", 4, "-warmup", "%dops" % WARM, "-ts",
                            "dump", name)
        dump = name + ".target.0000.bin"
        numbers = sorted(r["OP"] for r in xddtrace.rows_of(dump)) if os.path.exists(dump) else []
        t.equal((run.status, numbers), (0, list(range(WARM, OPS))), engine + ": the dump", run)
    name = t.path("ts.time")
    run, rows = results(*DATA, "-throttle", "ops", 400, "-queuedepth", 2, "-warmup", "200ms", "-ts", "dump", name)
    numbers = sorted(r["OP"] for r in xddtrace.rows_of(name + ".target.0000.bin"))
    row = passes(rows)[0]
    # One each 2.5 ms: 80 of them in 200 ms.
    t.equal((numbers, row["ops"]["read"], row["warmup_ops"]), (list(range(80, OPS)), OPS - 80, 80), "by the clock: those that count", run)


def test_verified():
    write = ["-op", "write", "-targets", 1, t.path("v"), "-reqsize", "4k", "-numreqs", OPS, "-datapattern", "sequenced"]
    t.equal(t.xdd(*write).status, 0, "data to verify")
    with open(t.path("v"), "r+b") as f:
        f.seek(3 * SIZE)
        f.write(b"\xff" * 8)
    run = t.xdd("-op", "read", *write[2:], "-verify", "contents", "-warmup", "%dops" % WARM)
    t.equal(run.status, 7, "wrong data that the warm-up reads is found", run)


def test_time():
    """By the clock: a time limit is the time after the warm-up."""
    for engine in ENGINES:
        # Operations are due after 0, 5, 10, ... ms: 100 of them before 500 ms, and 200 in the second after that.
        run, rows = results(*DATA, "-ioengine", engine, *"-queuedepth 4 -throttle ops 200 -warmup 500ms -timelimit 1".split())
        row = passes(rows)[0]
        t.equal((row["warmup_ops"], sum(row["ops"].values()), row["issued"], round(row["elapsed_ns"] / 1e9, 4), identity(row)),
                (100, 200, 300, 1, True), "%s: 500 ms at 200 per second, and a second" % engine, run)
    # The 51st operation, after 500 ms, is the first one that counts; 995 ms after it the last one has been issued, after 1490 ms.
    run, rows = results(*DATA, *"-throttle ops 100 -queuedepth 2 -warmup 50ops -timelimit 0.995".split())
    row = passes(rows)[0]
    t.equal((row["warmup_ops"], sum(row["ops"].values()), round(row["elapsed_ns"] / 1e9, 4), identity(row)), (50, 100, 0.995, True),
            "50 operations at 100 per second, and almost a second", run)
    # A device of 3 ms: of its operations 1 to 4 begin before 10 ms, and those are the warm-up, the last of them too.
    run, rows = results(*DATA, *"-warmup 10ms -numreqs 10".split(), device="/data 3000000")
    row = passes(rows)[0]
    t.equal((row["warmup_ops"], sum(row["ops"].values()), row["elapsed_ns"], row["issued"]), (4, 6, 18000000, 10),
            "10 ms of operations of 3 ms", run)


def test_mixed():
    t.make_file("mix", 1 << 20)
    run, rows = results("-rwratio", 70, "-targets", 1, t.path("mix"), "-reqsize", "4k", "-numreqs", 1000, "-seek", "random",
                        "-seek", "range", "1M", "-queuedepth", 4, "-warmup", "100ops")
    row = passes(rows)[0] if rows else {}
    # Each 100 operations have 70 reads.
    t.equal((row["ops"]["read"], row["ops"]["write"], row["warmup_ops"], identity(row)), (630, 270, 100, True), "reads and writes", run)


def test_said():
    run = t.xdd(*DATA, "-numreqs", OPS, "-passes", 2, "-warmup", "%dops" % WARM, "-verbose")
    t.equal((run.status, re.findall(r"^Warm-up, target 0, (.*), (\d+), ops$", run.out, re.M)),
            (0, [("pass 1", str(WARM)), ("pass 2", str(WARM)), ("all passes", str(2 * WARM))]), "-verbose has the number", run)
    t.ok("\tWarm-up, %d operations\n" % WARM in run.out, "and so has the plan", run)
    run = t.xdd(*DATA, "-numreqs", OPS, "-warmup", "%dops" % WARM, "-report", "person")
    t.ok(run.status == 0 and "the figures leave out the 60 operations of the warm-up" in run.out, "the block has it", run)
    run = t.xdd(*DATA, "-numreqs", OPS, "-warmup", "1h", warns="-warmup")
    t.ok(run.status == 0 and "-warmup: pass 1 was over before its warm-up: nothing of it was measured" in run.err,
         "a pass that is shorter than its warm-up", run)


def test_refused():
    run, rows = results(*DATA, "-numreqs", OPS, "-warmup", "%031dops" % WARM)
    t.equal([r["warmup_ops"] for r in passes(rows)], [WARM], "a number of 31 digits, the most", run)
    for words, text in (("-warmup x", "-warmup x: expected a time, such as 5 or 500ms, or a number of operations"),
                        ("-warmup 5bops", "expected a time"),
                        ("-warmup %032dops" % WARM, "expected a time"),
                        ("-warmup 200ops", "-warmup 200ops: leaves nothing of a pass of 200 operations"),
                        ("-warmup 5ops -stonewall", "-warmup: cannot be combined with -stonewall")):
        run = t.xdd(*DATA, "-numreqs", OPS, *words.split())
        t.ok(run.status == 2 and text in run.err and len(run.error_lines()) == 1, words, run)


test_exact()
test_histogram()
test_dump()
test_kernel()
test_verified()
test_time()
test_mixed()
test_said()
test_refused()
t.done()
