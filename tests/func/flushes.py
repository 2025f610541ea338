#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""
Latencies of flushes (-flushwrite, -syncwrite): a row and columns of their own, apart from operations. strace counts the
calls, and delays them.
"""
import os
import re

import xddjson
import xddterm
import xddsys as s
import xddtest as t
from xddfiles import WRITE, calls, of, passes, total

if t.ENGINE:
    t.skip_all("this test sets the engine itself")

ENGINES = [e for e in ("psync", "mmap", "libaio", "io_uring") if e in t.engines()]
PERCENTILES = ("50", "99", "99.9", "99.99", "99.999")


def document(run, name):
    return xddjson.check(t.path(name), "the document") or {"results": [], "statistics": []} if run.status in (0, 6) else {}


def of_what(doc, what):
    return xddjson.rows(doc, what)


def flush_of(result):
    return result["latency"].get("flush")


def is_one_measurement(r):
    """The counter, the histogram and the sum of times of a result say the same."""
    own = flush_of(r)
    if not r["flushes"]:
        return own is None
    percentiles = [own["percentiles_ns"][name] for name in PERCENTILES]
    known = [own["minimum_ns"], *(x for x in percentiles if x is not None), own["maximum_ns"]]
    return ((percentiles[0] is None) == (own["count"] < 20) and (percentiles[1] is None) == (own["count"] < 1000) and
            own["count"] == r["flushes"] == sum(own["histogram"][1::2]) and
            abs(own["mean_ns"] * own["count"] - r["flush_ns"]) < 1 + 1e-9 * r["flush_ns"] and
            own["minimum_ns"] <= own["mean_ns"] <= own["maximum_ns"] and known == sorted(known))


def test_counted():
    if not s.can_trace():
        return t.skip("flushes are counted", s.sys_why())
    file, csv = t.path("counted"), t.path("counted.csv")
    for engine in ENGINES:
        for depth in (1, 4):
            title = "%s, depth %d: " % (engine, depth)
            t.make_file("counted", 20 * 4096)
            run, rows, found = calls(*"-op write -reqsize 4 -numreqs 20 -passes 2 -flushwrite 3 -syncwrite".split(),
                                     "-ioengine", engine, "-queuedepth", depth, "-qthreadinfo", "-jsonout", t.path("j.json"),
                                     "-latency", "histogram", "-latency", "output", csv, "-targets", 1, file)
            doc, seen = document(run, "j.json"), len(of(found, file, "fdatasync"))
            own, qthreads = of_what(doc, "TARGET_PASS"), of_what(doc, "QUEUE_PASS")
            t.equal((run.status, seen, [r["flushes"] for r in own], sum(r["flushes"] for r in qthreads)), (0, 14, [7, 7], 12),
                    title + "each call is counted, those at the end of a pass by no QThread", run)
            t.equal([r["flushes"] for what in ("TARGET_AVERAGE", "COMBINED") for r in of_what(doc, what)], [14, 14],
                    title + "and in the sums")
            t.equal([r for r in doc["results"] if not is_one_measurement(r)], [], title + "all figures say the same")
            t.ok(abs(total(rows, "BUFFERFLUSHTIME") - sum(passes(rows, "BUFFERFLUSHTIME"))) < 0.002, title + "as in the result lines")
            lines = [r for r in t.read_csv(csv) if r["DIRECTION"] == "flush"]
            os.unlink(csv)
            t.equal([(r["WHAT"], r["OPS"]) for r in lines if r["RECORD"] == "SUMMARY"],
                    [("TARGET_PASS", "7")] * 2 + [("TARGET_AVERAGE", "14"), ("COMBINED", "14")], title + "rows of -latency output")
            t.equal(sum(int(r["OPS"]) for r in lines if r["RECORD"] == "BUCKET" and r["WHAT"] == "COMBINED"), 14, title + "buckets")
    return None


def test_times():
    """Flushes that are delayed by 100 ms take no less, and no write takes part in one."""
    if not s.can_trace():
        return t.skip("times of flushes", s.sys_why())
    file = t.path("delayed")
    for words, n in (("-flushwrite 4", 2), ("-syncwrite", 1)):
        run, _, _ = calls(*WRITE, *words.split(), "-targets", 1, file, "-jsonout", t.path("j.json"), only=file,
                          inject=["fdatasync:delay_enter=100000"])
        result = of_what(document(run, "j.json"), "COMBINED")[0]
        own = flush_of(result)
        t.ok(own and own["count"] == n and own["minimum_ns"] >= 1e8 and result["flush_ns"] >= n * 1e8,
             words + ": no flush is shorter than its delay", own)
        t.ok(result["latency"]["service"]["write"]["count"] == 8 and
             result["busy_ns"]["write"] + result["flush_ns"] <= result["elapsed_ns"],
             words + ": writes and flushes are apart, and within the elapsed time", result)
    run, _, _ = calls(*WRITE, *"-flushwrite 4".split(), "-targets", 1, file, "-jsonout", t.path("j.json"), only=file,
                      inject=["fdatasync:delay_enter=400000:when=2"])
    own = flush_of(of_what(document(run, "j.json"), "COMBINED")[0])
    t.ok(own["maximum_ns"] >= 4e8 and own["maximum_ns"] > own["minimum_ns"], "a single slow flush is the longest", own)
    run, _, _ = calls(*WRITE, *"-flushwrite 4".split(), "-targets", 1, file, "-jsonout", t.path("j.json"), only=file,
                      inject=["fdatasync:error=EIO:when=1"])
    result = of_what(document(run, "j.json"), "COMBINED")[0]
    return t.equal((run.status, result["flushes"], flush_of(result)["count"], result["errors"]), (6, 2, 2, 0),
                   "a flush that fails is counted, and no failed operation", run)


def test_none():
    """Without flushes there is no row, in no output."""
    t.make_file("plain", 8 * 4096)
    for words in ("-op write -intervals 1", "-op write -osync -intervals 1", "-op read -flushwrite 1 -syncwrite -intervals 1",
                  "-op write -flushwrite 9"):
        run = t.xdd(*words.split(), *"-reqsize 4 -numreqs 8 -passes 3 -verbose -latency histogram".split(),
                    *"-outputformat new +WHAT+FLUSHES+FLUSHLATMEAN+FLUSHLATMAX -report person -targets 1".split(), t.path("plain"),
                    "-jsonout", t.path("j.json"))
        combined = of_what(document(run, "j.json"), "COMBINED")[0]
        rows = re.findall(r"^ COMBINED .*", run.out, re.M)
        t.ok(run.status == 0 and not re.search(r"^(LATENCY|INTERVAL).* flush |^ *flush |flush(es)? took|, flush of ", run.out, re.M) and
             [row.split() for row in rows] == [["COMBINED", "0", "-", "-"]], words + ": no row of flushes", run)
        t.equal((combined["flushes"], flush_of(combined)), (0, None), words + ": nor in the document")


def test_warmup():
    if not s.can_trace():
        return t.skip("flushes of a warm-up", s.sys_why())
    file = t.path("warm")
    run, rows, found = calls(*"-op write -reqsize 4 -numreqs 20 -passes 2 -warmup 10ops -flushwrite 4 -syncwrite".split(), "-targets",
                             1, file, "-jsonout", t.path("j.json"))
    doc = xddjson.load(t.path("j.json"))
    t.equal((run.status, len(of(found, file, "fdatasync"))), (0, 12), "-warmup: all flushes are done", run)
    t.equal([r["flushes"] for r in of_what(doc, "TARGET_PASS")], [4, 4], "those of the warm-up are in no figure")
    t.equal([r for r in doc["results"] if not is_one_measurement(r)], [], "in none of them")
    t.ok([x > 0 for x in passes(rows, "BUFFERFLUSHTIME")] == [True] * 2, "and the others are", rows)
    run = t.xdd(*"-op write -reqsize 4 -numreqs 9 -warmup 60 -syncwrite".split(), "-targets", 1, file, "-jsonout", t.path("j.json"),
                warns="-warmup: pass 1 was over before its warm-up: ")
    doc = xddjson.load(t.path("j.json"))
    return t.equal((run.status, {r["flushes"] for r in doc["results"]}, [flush_of(r) for r in of_what(doc, "COMBINED")]), (0, {0}, [None]),
                   "nor is the flush of a pass that ends in its warm-up", run)


def test_intervals():
    files = [t.path("interval.%d" % i) for i in (0, 1)]
    series, csv = t.path("series.csv"), t.path("latency.csv")
    run = t.xdd(*"-op write -reqsize 4 -numreqs 64 -passes 2 -flushwrite 2 -syncwrite -intervals 0.01 output".split(), series,
                "-latency", "intervals", 0.01, "-latency", "output", csv, "-jsonout", t.path("j.json"), "-targets", 2, *files)
    doc = document(run, "j.json")
    rows = [r for r in doc["intervals"] if r["direction"] == "flush"]
    t.equal([sum(r["ops"] for r in rows if r["target"] == i) for i in (0, 1, None)], [66, 66, 132], "-intervals: rows of flushes add up", run)
    t.equal({(r["bytes"], r["errors"], r["bandwidth"]) for r in rows}, {(0, 0, None)}, "they have no bandwidth")
    t.ok(all((r["p50_ns"] is None) == (r["ops"] < 20) and r["p99_ns"] is None and (r["p50_ns"] or 0) <= (r["max_ns"] or 0) for r in rows),
         "and percentiles where there are enough", rows)
    t.equal([(r["OPS"], r["BANDWIDTH"]) for r in t.read_csv(series) if r["DIRECTION"] == "flush"], [(str(r["ops"]), "") for r in rows],
            "the same rows in the file")
    writes = [(r["start_ns"], r["target"], r["pass"]) for r in doc["intervals"] if r["direction"] == "write"]
    t.equal([(r["start_ns"], r["target"], r["pass"]) for r in rows], writes, "-flushwrite: each interval has a row")
    own = [r for r in t.read_csv(csv) if r["RECORD"] == "INTERVAL" and r["DIRECTION"] == "flush"]
    t.equal(sum(int(r["OPS"]) for r in own if not r["WHAT"]), 132, "-latency intervals: rows of flushes add up")
    run = t.xdd(*WRITE, *"-syncwrite -intervals 60 -jsonout".split(), t.path("j.json"), "-targets", 1, files[0])
    t.equal([(r["target"], r["ops"]) for r in document(run, "j.json")["intervals"] if r["direction"] == "flush"], [(0, 1), (None, 1)],
            "-syncwrite: the flush is in the interval in which the pass ends", run)


CELLS = r"\s+-\s+[\d.]+ ?k? ?/s" + r"\s+-" * 2 + r"\s+[\d.]+ \w?s"


def test_person():
    for columns in (60, 80, 200):
        for names in (["one"], ["one", "two"], ["a" * 50, "b" * 50]):
            args = [*"-op write -reqsize 4 -numreqs 8 -flushwrite 2 -syncwrite -targets".split(), len(names), *names]
            screen = xddterm.on_terminal(t.xdd_words(*args), columns, cwd=t.tmp())
            rows = [i for i, line in enumerate(screen.lines) if re.fullmatch(r" *flush" + CELLS, line)]
            t.ok(screen.status == 0 and len(rows) == 1 and max(map(len, screen.lines)) <= columns,
                 "%d columns, %d targets: one row" % (columns, len(names)), screen)
            before = screen.lines[rows[0] - 1].split()[0] if rows else ""
            t.equal(before, "write" if len(names) == 1 else "all", "after those of the operations", screen)
            note = r"\bnote: %d flushes to the device took \S+ \w?s, \S+ \w?s each; p50, p99 and max of writes leave them out" % (5 * len(names))
            t.ok(re.search(note, " ".join(" ".join(screen.lines).split())), "and their number", screen)


def test_other_commands():
    documents = []
    for name in ("a", "b"):
        run = t.xdd(*"-op write -reqsize 4 -numreqs 16 -passes 3 -flushwrite 4 -runid same -verbose -targets 1".split(), t.path("file"),
                    "-jsonout", t.path(name))
        documents.append(document(run, name))
    t.ok(re.search(r"^Target 0, flush of 3 passes: mean [\d.]+ \w?s, ", run.out, re.M), "-verbose: statistics over passes", run)
    values = [[r["flush_ns"] / r["flushes"] for r in of_what(d, "TARGET_PASS")] for d in documents]
    t.equal([s["flush"]["values"] for d in documents for s in d["statistics"]], [v for v in values for _ in (0, 1)],
            "mean times of the flushes of each pass")
    run = t.xdd("combine", "-force", t.path("a"), t.path("b"), "-jsonout", t.path("c"))
    both, parts = of_what(xddjson.load(t.path("c")), "COMBINED")[0], [of_what(d, "COMBINED")[0] for d in documents]
    counts = {}
    for part in parts:
        for at, n in zip(*[iter(flush_of(part)["histogram"])] * 2):
            counts[at] = counts.get(at, 0) + n
    t.equal((both["flushes"], both["flush_ns"], dict(zip(*[iter(flush_of(both)["histogram"])] * 2))),
            (24, sum(p["flush_ns"] for p in parts), counts), "xdd combine: those of all hosts", run)
    t.ok(re.search(r"^Flushes +24, mean \S+ \w?s, p99 -, max \S+ \w?s", run.out, re.M), "and a line about them", run)
    run = t.xdd("compare", "-failif", "flush+100000%", t.path("a"), t.path("b"))
    t.ok(re.search(r"^ +flush +[\d.]+ \w?s +[\d.]+ \w?s ", run.out, re.M), "xdd compare: a figure", run)
    t.ok(re.search(r"^  flush\+100000% +all targets  (within|cannot be judged)", run.out, re.M), "xdd compare -failif flush", run)
    run = t.xdd("compare", "-failif", "flushes+1%", t.path("a"), t.path("b"))
    t.ok(run.status == 2 and "did you mean flush?" in run.err, "a wrong word", run)
    run = t.xdd("report", "-noplots", t.path("a"))
    t.ok(run.status == 0 and re.search(r"<tr><th[^>]*>flush</th><td[^>]*>12</td>", run.out), "xdd report: a row of its own", run)


t.run_all()
