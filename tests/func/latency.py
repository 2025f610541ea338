#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""
Latencies: the figures of -latency and of the columns against the times of a device that follows a law, how they add up
over QThreads, targets and passes, the CSV file, and what is refused.
"""
import bisect
import collections
import itertools
import json
import math
import os
import re
import statistics

import messages as m
import xddhold
import xddsys as s
import xddjson as j
import xddterm
import xddtest as t

t.tolerate(t.CACHED)

PERCENTS = (50, 90, 95, 99, 99.9, 99.99, 99.999)
COLUMNS = ("MIN", "MEAN", "STDDEV", "WAVG", "P50", "P90", "P95", "P99", "P999", "P9999", "P99999", "MAX")

SUB_BUCKETS = 128  # of the histogram, for each power of two
OCTAVES_NS = [2**n * unit for unit, most in ((1000, 10), (1000000, 10), (1000000000, 4)) for n in range(most)]


def bucket_value(ns, least, most):
    """The histogram value of a time: the middle of its bucket, within the extremes."""
    size = max(1, 2 ** (ns.bit_length() - 1) // SUB_BUCKETS)
    return min(max(ns - ns % size + (size - 1) // 2, least), most)


def expected(counts):
    """The figures of so many operations of each time, in ms: extremes, mean, deviation, weighted average, percentiles."""
    times = sorted(itertools.chain.from_iterable([ns] * n for ns, n in counts.items()))
    least, most, buckets = times[0], times[-1], collections.Counter(bucket_value(ns, times[0], times[-1]) for ns in times)
    figures = {"Min": least, "Max": most, "Mean": statistics.fmean(times), "StdDev": statistics.pstdev(times),
               "WAvg": sum(n * n * ns for ns, n in buckets.items()) / sum(n * n for n in buckets.values())}
    for percent in PERCENTS:
        rank = math.ceil(len(times) * percent / 100 - 1e-9)
        figures["P%g" % percent] = bucket_value(times[rank - 1], least, most) if j.enough(percent, len(times)) else None
    return {name: "-" if ns is None else "%.6f" % (ns / 1e6) for name, ns in figures.items()}


def shares(counts):
    """The distribution in 1/1000, by powers of two."""
    found = [0] * len(OCTAVES_NS)
    for ns, n in counts.items():
        found[max(bisect.bisect(OCTAVES_NS, ns) - 1, 0)] += n
    return [0 if not n else "---" if n * 1000 < sum(found) else round(n * 1000 / sum(found)) for n in found]


def table(run, what="LATENCY_COMBINED"):
    """Rows of the table of -latency as dictionaries."""
    names, rows = None, []
    for line in run.out.splitlines():
        words = line.split()
        if words[:1] == ["Latency"] and "Ops" in words:
            names = words
        elif names and words[:1] == [what] and "|" not in words:
            rows.append(dict(zip(names, words)))
    return rows


def octaves(run, what="LATENCY_COMBINED"):
    """Counts in 1/1000 of the distribution, each a number, 0 or "---"."""
    rows = []
    for line in run.out.splitlines():
        if line.split()[:1] == [what] and "|" in line:
            words = [word for word in " ".join(line.split("|")[1:]).split() if word not in ("us", "ms", "s")]
            rows.append([0 if word == "___" else word if word == "---" else int(word) for word in words])
    return rows


def test_against_sort():
    """All figures of operations whose times are known are exact: to the nanosecond, and percentiles to their bucket."""
    file = t.make_file("delayed", 65536)
    normal = statistics.NormalDist(math.log(200e3), 1)
    laws = {"lognormal": {round(math.exp(normal.inv_cdf((i + 0.5) / 250))): 8 for i in range(250)},
            "bimodal": {**{100000 + 137 * i: 18 for i in range(100)}, 2100000: 190, 2222222: 10},
            "two, 99 in 100": {100000: 1980, 2000000: 20}, "two, 98.95 in 100": {100000: 1979, 2000000: 21}, "constant": {500000: 2000}}
    for what, counts in laws.items():
        document = t.path("times.json")
        run = t.xdd(*"-op read -reqsize 1 -numreqs 2000 -seek none -ioengine psync -targets 1".split(), file, "-latency", "percentiles",
                    ",".join(str(p) for p in PERCENTS), "-latency", "histogram", "-jsonout", document, step=0,
                    device="/delayed " + ",".join("%d*%d" % pair for pair in counts.items()))
        rows = table(run)
        if not t.equal((run.status, [row["Ops"] for row in rows], sum(counts.values())), (0, ["2000"], 2000), what + ": all operations", run):
            continue
        wanted = expected(counts)
        t.equal({name: rows[0][name] for name in wanted}, wanted, what + ": each figure", run)
        t.equal(octaves(run), [shares(counts)], what + ": distribution", run)
        with open(document, encoding="utf-8") as f:
            found = next(r for r in json.load(f)["results"] if r["what"] == "COMBINED")["latency"]["service"]["read"]
        t.equal((found["count"], found["minimum_ns"], found["maximum_ns"]), (2000, min(counts), max(counts)), what + ": as in -jsonout")


SCREEN = """latency        read
operations   2.00 k
min          100 us
mean         290 us
stddev       570 us
weighted     123 us
p50          100 us
p99         2.00 ms
p99.9             -
max         2.00 ms

distribution        read
64 us to 128 us   90.0 %%  %s
128 us to 256 us       -
256 us to 512 us       -
512 us to 1 ms         -
1 ms to 2 ms           -
2 ms to 4 ms      10.0 %%  %s
""" % ("#" * 40, "#" * 4)


def test_screen():
    """On a terminal the tables have lines for figures and columns for rows, as many beside each other as fit."""
    file = t.make_file("delayed", 65536)
    words = t.xdd_words(*"-op read -reqsize 1 -numreqs 2000 -seek none -ioengine psync -target".split(), file,
                        *"-latency percentiles 50,99,99.9 histogram".split())
    screen = xddterm.on_terminal(words, step=0, device="/delayed 100000*1800,2000000*200")
    t.ok(screen.status == 0 and "\n\n" + SCREEN in "\n".join(screen.lines) + "\n", "each figure is a line, each range has a bar", screen)
    run = t.xdd(*words[1:], "-report", "table", step=0, device="/delayed 100000*1800,2000000*200")
    t.ok(run.status == 0 and table(run)[0]["P99"] == "2.000000" and "distribution  " not in run.out, "-report table has the exact form", run)
    for columns in (60, 80):
        screen = xddterm.on_terminal(t.xdd_words(*"-rwratio 50 -reqsize 4 -numreqs 200 -passes 2 -throttle ops 10000 -latency histogram "
                                                 "-verbose -report person -target null -target null".split()), columns)
        ops, text = re.findall(r"^operations(.*)", screen.text, re.M), screen.text[screen.text.index("\npass "):]
        heads = [re.findall(r"^%s +(.*?)\r?$" % head, text, re.M) for head in ("pass", "target", "latency", "distribution")]
        cells = [" ".join(lines).split() for lines in heads]
        # Two passes, an average, of both targets, and the run: reads, writes and all, service and response.
        t.equal([len(cells[0]), len(cells[1]), len(cells[2]), len(cells[3]), len(" ".join(ops).split())], [70, 70, 42, 28, 42],
                "%d columns: no row of the wide form is lost" % columns, screen)
        t.ok(len(ops) > 1 and all(len(line) < columns for line in text.replace("\r", "").splitlines()), "and its tables fit", screen)


def test_screen_of_intervals():
    """On a terminal rows of intervals have the figures that fit, and a line names the others."""
    for columns, left_out in ((60, "min, stddev, weighted, p90, p95, p99"), (80, "min, stddev, weighted, p95"), (200, None)):
        screen = xddterm.on_terminal(t.xdd_words(*"-rwratio 50 -reqsize 4 -numreqs 400 -throttle ops 1000 -verbose -latency intervals 0.1 "
                                                 "percentiles 50,90,95,99 -target null -target null".split()), columns)
        begins = next((i for i, line in enumerate(screen.lines) if line.split()[:1] == ["time"]), None)
        if not t.ok(screen.status == 0 and begins, "%d columns: headings" % columns, screen):
            continue
        t.equal(screen.lines[begins - 1].split("no room for: ")[1:], [left_out] if left_out else [], "what is left out", screen)
        rows = [line for line in screen.lines[begins + 1:] if re.match(r" *[\d.]+ +(#0|#1|all) ", line)]
        t.ok(len(rows) >= 4 * 3 * 6 and all(len(line) < columns for line in rows), "a row for each direction and time, which fits", screen)


def test_sums():
    """Buckets of the passes add up to those of the targets, and those to the run's, exactly."""
    file, csv_file = t.make_file("summed", 1 << 20), t.path("sums.csv")
    run, rows = t.xdd_csv(*"-reqsize 4 -qd 3 -passes 2 -rwratio 50 -numreqs 120 -verbose -targets 2".split(), file, file,
                          "-latency", "output", csv_file, "histogram", "percentiles", "50,100", "-outputformat", "add",
                          "".join("+LAT" + c for c in COLUMNS) + "+READLATP50+WRITELATMAX+RESPMAX")
    if not t.ok(run.status == 0, "two targets, two passes", run):
        return
    sums = {}
    lines = t.read_csv(csv_file)
    for line in lines:
        if line["RECORD"] == "BUCKET":
            key = line["DIRECTION"], line["TIME"], line["FROM"], line["TO"]
            into = sums.setdefault(line["WHAT"], {})
            into[key] = into.get(key, 0) + int(line["OPS"])
    t.ok(len(sums) == 3 and sums["TARGET_PASS"] == sums["TARGET_AVERAGE"] == sums["COMBINED"],
         "buckets of passes, targets and the run", sums)
    counts = {(x["WHAT"], x["PASS"], x["TARGET"], x["DIRECTION"]): int(x["OPS"]) for x in lines
              if x["RECORD"] == "SUMMARY"}
    wanted = {}
    for what, pass_, target, times in [("TARGET_PASS", p, n, 1) for p in "12" for n in "01"] + [
            ("TARGET_AVERAGE", "2", n, 2) for n in "01"] + [("COMBINED", "2", "2", 4)]:
        for dir_, ops in (("read", 60), ("write", 60), ("all", 120)):
            wanted[what, pass_, target, dir_] = ops * times
    t.equal(counts, wanted, "a line for each pass, target and direction")
    by = {(x["WHAT"], x["PASS"], x["TARGET"]): x for x in lines if x["RECORD"] == "SUMMARY" and
          x["DIRECTION"] == "all"}
    columns = [r for r in rows if r["WHAT"] != "QUEUE_PASS"]
    t.ok(len(columns) == 7 and all(
        all(r["LAT" + c] == by[r["WHAT"], r["PASS"], r["TARGET"]][c] for c in ("MIN", "MEAN", "STDDEV", "P50", "MAX"))
        for r in columns), "columns and file have the same figures", (rows, lines))
    passes = [r for r in columns if r["WHAT"] == "TARGET_PASS"]
    whole = [r for r in columns if r["WHAT"] == "COMBINED"][0]
    t.ok(float(whole["LATMAX"]) == max(float(r["LATMAX"]) for r in passes) and
         float(whole["LATMIN"]) == min(float(r["LATMIN"]) for r in passes), "extremes of the run", passes)
    t.ok(all(float(r["LATMIN"]) <= float(r["LATP50"]) <= float(r["LATP90"]) <= float(r["LATMAX"]) and r["RESPMAX"] == ""
             for r in columns), "percentiles ascend; no response time without -throttle", columns)
    t.ok(all((r["LATP99"], r["LATP99999"]) == ("", "") for r in columns), "no 99th percentile of less than 1000 operations", columns)
    t.ok(all(abs(float(r["LATMEAN"]) - float(r["LATENCY"])) < 0.001 for r in columns), "LATMEAN is LATENCY", columns)
    t.equal([(r["Latency"], r["Op"]) for w in ("PASS", "AVERAGE", "COMBINED") for r in table(run, "LATENCY_" + w)],
            [("LATENCY_" + w, op) for w, n in (("PASS", 4), ("AVERAGE", 2), ("COMBINED", 1)) for _ in range(n)
             for op in ("read", "write", "all")], "-verbose: the table has all of it")


def intervals_of(lines, what=""):
    """Intervals by target, pass, direction and time, in the order of the file; with COMBINED those of all targets."""
    found = {}
    for line in lines:
        if line["RECORD"] == "INTERVAL" and line["WHAT"] == what:
            found.setdefault((line["TARGET"], line["PASS"], line["DIRECTION"], line["TIME"]), []).append(
                (float(line["START"]), float(line["END"]), int(line["OPS"]), float(line["MIN"]), float(line["MAX"])))
    return found


def test_intervals():
    """Intervals follow each other, add up to their pass, and end with it."""
    csv_file = t.path("intervals.csv")
    for more in ([], ["-nobarrier", "-passdelay", "0.01"]):
        if os.path.exists(csv_file):
            os.unlink(csv_file)
        run = t.xdd(*"-rwratio 40 -targets 2 null null -timelimit 0.05 -passes 2 -qd 2 -throttle target 1 ops 4000".split(),
                    "-latency", "intervals", "0.01", "output", csv_file, *more)
        lines = t.read_csv(csv_file)
        found = intervals_of(lines)
        passes = {(x["TARGET"], x["PASS"], x["DIRECTION"], x["TIME"]): x for x in lines
                  if x["RECORD"] == "SUMMARY" and x["WHAT"] == "TARGET_PASS"}
        title = "intervals" + (" with -nobarrier" if more else "")
        t.ok(run.status == 0 and not run.err and sorted(found) == sorted(passes) and len(found) == 18, title, run)
        t.equal({k: sum(x[2] for x in v) for k, v in found.items()}, {k: int(x["OPS"]) for k, x in passes.items()},
                title + " add up to their pass")
        t.ok(all(e - b >= 0.001 for v in found.values() for b, e, *_ in v), title + ": none is shorter than a tenth", found)
        together = intervals_of(lines, "COMBINED")
        t.equal({k[:2] for k in together}, {("2", "0")} if more else {("2", "1"), ("2", "2")}, title + " of all targets")
        whole = {(x["DIRECTION"], x["TIME"]): x for x in lines if x["RECORD"] == "SUMMARY" and x["WHAT"] == "COMBINED"}
        t.equal({k: sum(x[2] for key, v in together.items() for x in v if key[2:] == k) for k in whole},
                {k: int(x["OPS"]) for k, x in whole.items()}, title + " of all targets add up to the run")
        for key, v in together.items():
            t.ok(all(a[1] <= b[0] + 1e-6 for a, b in zip(v, v[1:])), "%s of all targets do not overlap, %s" % (title, key), v)
        if not more:
            t.equal({k: sum(x[2] for x in v) for k, v in together.items()},
                    {k: sum(int(x["OPS"]) for key, x in passes.items() if key[1:] == k[1:]) for k in together},
                    title + " of all targets add up to the pass")
        t.ok(all(b[0] <= e[0] + 1e-6 <= e[1] + 1e-6 and (i == len(v) - 1 or e[1] - e[0] < 0.3)
                 for v in found.values() for i, (b, e) in enumerate(zip([(0,)] + v, v))), title + " follow each other", found)
        t.ok(all(a[1] <= b[0] + 1e-6 for v in found.values() for a, b in zip(v, v[1:])), title + " do not overlap", found)
        t.ok(all(float(passes[k]["MIN"]) <= x[3] * 1.01 and x[4] <= float(passes[k]["MAX"]) * 1.000001
                 for k, v in found.items() for x in v), title + " keep to the extremes of the pass", (found, passes))
        t.ok("LATENCY_INTERVAL" not in run.out, title + " go to the file alone", run)
    run = t.xdd(*"-op noop -targets 1 null -numreqs 100 -throttle ops 200 -latency intervals 0.2".split())
    for direction in ("noop", "all"):
        ops = [int(line.split()[5]) for line in run.out.splitlines()
               if re.match("LATENCY_INTERVAL .* %s +service " % direction, line)]
        t.ok(run.status == 0 and sum(ops) == 100 and len(ops) >= 1, "intervals in the text, " + direction, run)
    t.ok("LATENCY_INT_ALL" not in run.out, "one target: none of all targets", run)
    run = t.xdd(*"-op noop -targets 3 null null null -numreqs 100 -throttle ops 200 -latency intervals 0.2".split())
    ops = [int(line.split()[5]) for line in run.out.splitlines() if re.match("LATENCY_INT_ALL +1 +3 all +service ", line)]
    t.ok(run.status == 0 and sum(ops) == 300, "intervals of all targets in the text", run)


def lengths(*words):
    """The lengths of all intervals of two targets, and of both together, in ms, by pass."""
    run = t.xdd(*"-op noop -targets 2 null null -operationdelay 1ms -latency intervals 0.25".split(), *words, step=0)
    found = {}
    for line in run.out.splitlines():
        if re.match("LATENCY_INT(ERVAL|_ALL) .* all +service ", line):
            kind, pass_, target, _, _, _, begin, end, *_ = line.split()
            found.setdefault((kind, pass_, target), []).append(round(1000 * (float(end) - float(begin))))
    return run, found


def test_short_intervals():
    """A pass that ends just after an interval, or just before it, has no interval of its own for that."""
    run, found = lengths("-timelimit", 0.52)
    t.equal((run.status, sorted(found.values())), (0, [[250, 270]] * 3), "the rest is part of the last interval", (found, run))
    run, found = lengths("-timelimit", 0.24, "-passes", 2)
    t.equal((run.status, sorted(found.values())), (0, [[240]] * 6), "the start is part of the first interval", (found, run))


def test_intervals_of_a_hang():
    """The intervals before a device stopped answering are written, although its last requests never complete."""
    file = t.make_file("hangs", 65536)
    env = s.faults("hang", file="hangs", start=32768)
    if env is None:
        t.skip("a device that never answers", s.sys_why())
        return
    csv_file = t.path("hangs.csv")
    run = xddhold.interrupted(t.xdd_words(*"-op read -reqsize 1 -numreqs 64 -targets 1".split(), file, "-latency",
                                          "intervals", "0.05", "output", csv_file), 32, env=dict(os.environ, **env))
    lines = t.read_csv(csv_file)
    t.ok(run.status == 5 and sum(x[2] for k, v in intervals_of(lines).items() for x in v if k[2] == "all") == 32 and
         [x["OPS"] for x in lines if x["WHAT"] == "COMBINED"] == ["32"], "a device that never answers", (run, lines))


def test_queue_pass():
    _, rows = t.xdd_csv(*"-op noop -qd 3 -numreqs 300 -qthreadinfo -targets 1 null".split(), "-outputformat", "add",
                        "+LATMAX+LATMIN")
    queues = [float(r["LATMAX"]) for r in rows if r["WHAT"] == "QUEUE_PASS" and int(r["OPS"])]
    whole = [float(r["LATMAX"]) for r in rows if r["WHAT"] == "COMBINED"]
    t.ok(queues and len(whole) == 1 and max(queues) == whole[0], "QUEUE_PASS has its own figures", rows)


def test_engines():
    file = t.make_file("engines", 1 << 20)
    for engine in ("libaio", "io_uring", "mmap"):
        if engine not in t.engines():
            t.skip(engine, "not available")
            continue
        run = t.xdd(*"-op read -reqsize 4 -qd 4 -numreqs 200 -targets 1".split(), file, "-ioengine", engine, "-latency",
                    "percentiles", "50")
        rows = table(run)
        t.ok(run.status == 0 and len(rows) == 1 and rows[0]["Ops"] == "200" and
             0 < float(rows[0]["P50"]) <= float(rows[0]["Max"]), engine + ": all operations", run)


def test_errors_do_not_count():
    file = t.make_file("failing", 65536)
    env = s.faults("eio", file="failing", start=0, end=8192)
    if env is None:
        t.skip("operations that fail", s.sys_why())
        return
    run = t.xdd(*"-op read -reqsize 1 -numreqs 64 -targets 1".split(), file, "-latency", "percentiles", "50", env=env)
    t.ok(run.status == 6 and [r["Ops"] for r in table(run)] == ["56"], "operations that fail have no latency", run)


def test_output_file():
    words = "-op noop -numreqs 10 -targets 1 null -latency output".split()
    file = t.path("more.csv")
    for _ in range(2):
        run = t.xdd(*words, file)
        t.equal(run.status, 0, "-latency output")
    with open(file) as f:
        lines = f.read().splitlines()
    t.ok(len(lines) == 7 and len([x for x in lines if x.startswith("RECORD,")]) == 1, "a file is continued", lines)
    before = os.stat(file).st_mtime_ns
    for args, text in (((file, "percentiles", "50"), m.OTHER_COLUMNS),
                       ((t.path("no/directory"),), "there is no directory"),
                       ((t.tmp(),), m.IS_DIRECTORY)):
        run = t.xdd(*words, *args)
        t.equal((run.status, len(run.error_lines()), "-latency output" in run.err, text in run.err),
                (2, 1, True, True), "-latency output: " + text, run)
    run = t.xdd(*words, file, "-csvout", file)
    t.equal((run.status, "give each output a file of its own" in run.err), (2, True), "-latency output and -csvout: one file",
            run)
    target = t.make_file("target", 4096)
    run = t.xdd("-op", "read", "-targets", 1, target, "-latency", "output", target)
    t.ok(run.status == 2 and m.is_target(0) in run.err and os.path.getsize(target) == 4096,
         "-latency output: a target", run)
    t.equal(os.stat(file).st_mtime_ns, before, "what is refused changes nothing")
    run = t.xdd(*words, t.path("dry.csv"), "-dryrun")
    t.equal((run.status, os.path.exists(t.path("dry.csv"))), (0, False), "-latency output: -dryrun makes none", run)
    file = t.path("sorted.csv")
    t.xdd(*words, file, "percentiles", "99.999999,50,1,50.0,50.000000")
    with open(file) as f:
        t.ok(f.readline().endswith(",WAVG,P1,P50,P99.999999,MAX\n"), "percentiles in ascending order, each once")


def test_defaults():
    """-latency without a word, and percentiles without a list: the columns of the default list."""
    columns = ["P" + p for p in "50 90 95 99 99.9 99.99 99.999".split()]
    base = ["-op", "noop", "-numreqs", 100, "-targets", 1, "null"]
    for words in ("-latency", "-latency percentiles", "-latency percentiles 50 percentiles", "-latency -qd 1",
                  "-latency percentiles histogram", "-latency histogram percentiles", "-lat-first"):
        args = ["-latency"] + base if words == "-lat-first" else base + words.split()
        run = t.xdd(*args)
        heads = re.findall(r"^Latency .*", run.out, re.M)
        t.equal((run.status, [w for w in heads[0].split() if re.match(r"P\d", w)] if heads else heads), (0, columns), words, run)
    for words, columns in (("99.99", ["P99.99"]), ("50,99", ["P50", "P99"]), ("99 50 99.9", ["P50", "P99", "P99.9"]),
                           ("p99,P50", ["P50", "P99"]), ("histogram p99", ["P99"]),
                           ("percentiles 50 p99 histogram", ["P50", "P99"]), (".5", ["P0.5"])):
        run = t.xdd(*base, "-latency", *words.split())
        heads = re.findall(r"^Latency .*", run.out, re.M)
        t.equal((run.status, [w for w in heads[0].split() if re.match(r"P\d", w)] if heads else heads), (0, columns),
                "-latency " + words, run)
    run = t.xdd(*base, "-latency", "percentiles", "50%,99%")
    t.ok(run.status == 0 and re.search(r"^Latency .* P50 +P99 +Max$", run.out, re.M), "percentiles 50%,99%", run)


def test_bad_input():
    for args, status, text in (
            ("percentiles 0", 2, "up to 32 percentages"),
            ("percentiles 101", 2, "up to 32 percentages"), ("percentiles 50,,60", 2, "up to 32 percentages"),
            ("percentiles 50,", 2, "up to 32 percentages"), ("percentiles abc", 2, "up to 32 percentages"),
            ("percentiles -5", 2, ""), ("percentiles 1e1", 2, "up to 32 percentages"),
            ("percentiles 99.9999999", 2, "at most 6 digits after the point"),
            ("percentiles " + ",".join(["50"] * 33), 2, "up to 32 percentages"), ("output", 2, ""),
            ("intervals 0", 2, "a time of 10ms to 100 years"), ("intervals 9ms", 2, "a time of 10ms to"), ("intervals x", 2, ""),
            ("50 0", 2, "-latency percentiles 0"), ("p", 3, ""), ("50,p", 2, "up to 32 percentages"), ("50,pp1", 2, ""),
            ("nonsense", 3, ""), ("target 0 histogram", 3, "")):
        run = t.xdd("-op", "noop", "-numreqs", 1, "-targets", 1, "null", "-latency", *args.split())
        t.equal((run.status, len(run.error_lines()), "latency" in run.err, text in run.err, run.out),
                (status, 1, True, True, ""), "-latency %s: refused" % args, run)
    run = t.xdd("-op", "noop", "-numreqs", 1, "-targets", 1, "null", "-outputformat", "add", "+LATP98")
    t.equal((run.status, "LATP9" in run.err), (2, True), "a column that there is not", run)


t.run_all()
