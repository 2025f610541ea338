#!/usr/bin/env python3
"""
-warmup: the first operations of each pass are carried out and are in no figure. What the kernel saw (strace) and the
dump of time stamps say which these are: counted operations are all operations without those of the warm-up.
"""
import os
import re
import sys

sys.path.insert(0, os.path.join(os.environ["TOP_SRCDIR"], "tests", "lib"))
import xddjson
import xddsys as s
import xddtest as t
import xddtrace

t.tolerate(t.BUFFERED)

if t.ENGINE:
    t.skip_all("this test sets the engine itself")

ENGINES = [e for e in ("psync", "mmap", "libaio", "io_uring", "null") if e in t.engines()]
SIZE, OPS, WARM = 4096, 200, 60
t.make_file("data", OPS * SIZE)
DATA = ["-op", "read", "-targets", 1, t.path("data"), "-reqsize", "4k"]


def results(*args):
    """The run, and the results of its document: those of passes and COMBINED."""
    file = t.path("j.json")
    run = t.xdd(*args, "-jsonout", file)
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
    if not t.have("strace") or t.command(["strace", "-o", "/dev/null", "true"]).status:
        return t.skip("as the kernel saw it", "needs strace")
    log = t.path("strace.out")
    run = t.command(["strace", "-f", "-y", "-o", log, "-e", "signal=none", "-e", "trace=pread64", "-E",
                     "ASAN_OPTIONS=" + s._sanitizer_options("ASAN_OPTIONS", "detect_leaks=0")] +
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
    t.equal((len(numbers), row["ops"]["read"] + row["warmup_ops"]), (row["ops"]["read"], OPS),
            "by the clock: as many as count, of all", (run, row))


def test_verified():
    write = ["-op", "write", "-targets", 1, t.path("v"), "-reqsize", "4k", "-numreqs", OPS, "-datapattern", "sequenced"]
    t.equal(t.xdd(*write).status, 0, "data to verify")
    with open(t.path("v"), "r+b") as f:
        f.seek(3 * SIZE)
        f.write(b"\xff" * 8)
    run = t.xdd("-op", "read", *write[2:], "-verify", "contents", "-warmup", "%dops" % WARM)
    t.equal(run.status, 7, "wrong data that the warm-up reads is found", run)


def timed(title, holds, *words):
    """A pass that a limit of a second ends. A stall of the machine makes it longer, so there are further attempts."""
    for _ in range(4):
        run, rows = results(*DATA, *words, "-timelimit", 1)
        row = passes(rows)[0]
        good = run.status == 0 and 0.8e9 <= row["elapsed_ns"] <= 1.5e9 and holds(row)
        if good:
            break
    t.ok(good, title, (run, row))


def test_time():
    """By the clock: a time limit is the time after the warm-up."""
    for engine in ENGINES:
        timed("%s: 500 ms at 200 per second, and a second" % engine,
              lambda row: 50 <= row["warmup_ops"] <= 110 and identity(row) and row["issued"] <= 301,
              "-ioengine", engine, "-queuedepth", 4, "-throttle", "ops", 200, "-warmup", "500ms")
    timed("50 operations at 100 per second, and a second",
          lambda row: row["warmup_ops"] == 50 and 90 <= sum(row["ops"].values()) <= 101,
          "-throttle", "ops", 100, "-queuedepth", 2, "-warmup", "50ops")


def test_mixed():
    t.make_file("mix", 1 << 20)
    run, rows = results("-rwratio", 70, "-targets", 1, t.path("mix"), "-reqsize", "4k", "-numreqs", 1000, "-seek", "random",
                        "-seek", "range", "1M", "-queuedepth", 4, "-warmup", "100ops")
    row = passes(rows)[0] if rows else {}
    t.ok(run.status == 0 and sum(row["ops"].values()) == 900 and identity(row) and
         600 <= row["ops"]["read"] <= 660, "reads and writes", (run, row))


def test_said():
    run = t.xdd(*DATA, "-numreqs", OPS, "-passes", 2, "-warmup", "%dops" % WARM, "-verbose")
    t.equal((run.status, re.findall(r"^Warm-up, target 0, (.*), (\d+), ops$", run.out, re.M)),
            (0, [("pass 1", str(WARM)), ("pass 2", str(WARM)), ("all passes", str(2 * WARM))]), "-verbose has the number", run)
    t.ok("\tWarm-up, %d operations\n" % WARM in run.out, "and so has the plan", run)
    run = t.xdd(*DATA, "-numreqs", OPS, "-warmup", "%dops" % WARM, "-report", "person")
    t.ok(run.status == 0 and "60 operations of the warm-up are in no figure" in run.out, "the block for people has it", run)
    run = t.xdd(*DATA, "-numreqs", OPS, "-warmup", "1h", warns="-warmup")
    t.ok(run.status == 0 and "-warmup: pass 1 was over before its warm-up: nothing of it was measured" in run.err,
         "a pass that is shorter than its warm-up", run)


def test_refused():
    for words, text in (("-warmup x", "-warmup x: expected a time, such as 5 or 500ms, or a number of operations"),
                        ("-warmup 5bops", "expected a time"),
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
