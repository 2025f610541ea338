#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""
Statistics over passes: the lines of -verbose and their values in the document of -jsonout against the passes
themselves, passes that are not reproducible, and -passes until. In virtual time; devices with exponential service times
make passes that differ.
"""
import math
import re
import signal
import statistics

import messages as m
import xddjson as j
import xddsys as s
import xddterm
import xddtest as t
import xddtrace

t.virtual_time()
t.tolerate(t.CACHED)
t.may_warn(m.REACHES)

LINE = re.compile(r"(Target \d+|All targets), (bandwidth|IOPS|latency) of (\d+) passes: mean ([\d.]+ \S+), standard "
                  r"deviation ([\d.]+ \S+), 95 % interval (?:(-?[\d.]+ \S+) to ([\d.]+ \S+) \(\+-([\d.]+) %\)|too few passes)$", re.M)
UNITS = {"bandwidth": "B/s", "IOPS": "/s", "latency": "s"}
_files = 0


def run_json(*args, **kwargs):
    global _files
    _files += 1
    file = t.path("s%d.json" % _files)
    run = t.xdd(*args, "-jsonout", file, **kwargs)
    return run, j.load(file)


def near(a, b, digits=0):
    return abs(a - b) <= 1e-3 * abs(b) + 1.01 * 10 ** -digits


def figures(row):
    seconds, ops = row["elapsed_ns"] / 1e9, j.total(row)
    return {"bandwidth": j.total(row, "bytes") / seconds, "iops": ops / seconds, "latency": j.total(row, "busy_ns") / ops}


def check_target(title, document, statistic):
    """The values of a target are those of its passes, and the statistics of them are right."""
    passes = j.rows(document, "TARGET_PASS", target=statistic["target"])
    t.equal(statistic["passes"], [r["pass"] for r in passes], title + ": its passes")
    for name in ("bandwidth", "iops", "latency"):
        f, wanted = statistic[name], [figures(r)[name] for r in passes]
        x, n = f["values"], len(passes)
        t.ok(len(x) == n and all(math.isclose(a, b, rel_tol=1e-9) for a, b in zip(x, wanted)), title + ": " + name,
             (x, wanted))
        if n < 2:
            t.equal((f["mean"], f["standard_deviation"], f["interval_low"], f["change"]), (x[0], None, None, None),
                    "%s: %s of one pass" % (title, name))
            continue
        t.equal(f["autocorrelation"] == 0, n < 5, "%s: the correlation of %s counts from five passes on" % (title, name))
        half = half_of_mean(x, f["autocorrelation"], .05)
        t.ok(math.isclose(f["mean"], statistics.fmean(x), rel_tol=1e-9) and
             math.isclose(f["standard_deviation"], statistics.stdev(x), rel_tol=1e-6) and
             math.isclose(f["interval_high"] - f["mean"], half, rel_tol=1e-4) and
             math.isclose(f["mean"] - f["interval_low"], half, rel_tol=1e-4) and
             (f["minimum"], f["maximum"]) == (min(x), max(x)), "%s: mean and interval of %s" % (title, name), f)
        t.equal(f["change"] is None, n < 3, "%s: %s is judged from three passes on" % (title, name))
    for name, percent in (("p50", "50"), ("p99", "99"), ("p99.9", "99.9")):
        times = [next(iter(r["latency"]["service"].values())) for r in passes]
        if not all(j.enough(float(percent), x["count"]) for x in times):
            t.equal((statistic[name], {x["percentiles_ns"][percent] for x in times}), (None, {None}),
                    "%s: no %s of too few operations" % (title, name))
            continue
        wanted = [x["percentiles_ns"][percent] for x in times]
        t.equal((statistic[name]["unit"], statistic[name]["values"]), ("ns", wanted), "%s: %s" % (title, name))


def test_values():
    files = [t.make_file("data%d" % i, 1 << 20) for i in range(2)]
    for n in (1, 2, 3, 5, 9):
        title = "%d passes" % n
        run, document = run_json("-op", "read", "-targets", 2, *files, "-reqsize", 4, "-numreqs", 200, "-passes", n, "-verbose",
                                 device="/data exponential:1000000 2")
        t.equal([st["target"] for st in document["statistics"]], [0, 1, None], title + ": the targets, and all")
        for statistic in document["statistics"][:2]:
            check_target("%s, target %d" % (title, statistic["target"]), document, statistic)
        lines = LINE.findall(run.out)
        t.equal([(m[0], m[1], int(m[2])) for m in lines],
                [(subject, what, n) for subject in ("Target 0", "Target 1", "All targets") for what in UNITS] if n > 2 else [],
                title + ": the lines of -verbose")
        for m in lines:
            st = document["statistics"][-1 if m[0] == "All targets" else int(m[0][-1])][m[1].lower()]
            wide = st["interval_high"] - st["mean"] >= st["mean"]
            wanted = [st[k] for k in ("mean", "standard_deviation", "interval_low", "interval_high")]
            shown = m[3:5] + (() if wide else m[5:7])
            t.ok(all(xddterm.near(cell, v) and cell.endswith(UNITS[m[1]]) for cell, v in zip(shown, wanted)),
                 "%s: %s, %s" % (title, m[0], m[1]), (shown, wanted))
    run = t.xdd(*"-op noop -targets 1 null -numreqs 10 -passes 5".split())
    t.ok(not LINE.search(run.out) and "reproducible" not in run.out, "without -verbose there are none", run)


def test_together():
    """All targets together: in each pass the bytes of all, over the time in which any was busy."""
    _, document = run_json(*"-op noop -targets 3 null null null -numreqs 30 -operationdelay 1ms -passes 4".split(),
                           "-numreqs", "target", 1, 60)
    statistic = document["statistics"][-1]
    t.equal((statistic["target"], statistic["passes"]), (None, [1, 2, 3, 4]), "all targets together: the passes")
    combined = j.rows(document, "COMBINED")[0]
    # The 60th operation of the second target begins after 59 ms, and takes no time.
    t.equal((combined["elapsed_ns"], [round(120 * 131072 / v, 9) for v in statistic["bandwidth"]["values"]]), (236000000, [0.059] * 4),
            "their times are that of COMBINED")
    _, document = run_json(*"-op noop -targets 2 null null -numreqs 30 -operationdelay 1ms -passes 4 -nobarrier".split())
    t.equal([len(st["passes"]) for st in document["statistics"]], [4, 4, 0], "-nobarrier: there are no passes together")


def test_percentiles_together():
    """Of all targets: those of all operations of a pass, in any direction."""
    file = t.make_file("slow", 10 << 20)
    _, document = run_json("-op", "read", "-targets", 2, file, "null", "-reqsize", 256, "-numreqs", 40, "-numreqs", "target", 1,
                           960, "-passes", 3, step=1000, device="/slow 5000000")
    together = document["statistics"][-1]
    # A reading of the clock takes 1 us, and three operations may wait for each other's.
    # A reading of the clock takes 1 us, and the middle of an interval of the histogram stands for its times.
    t.equal(together["p50"]["values"], [xddtrace.bucket_middle(1000)] * 3,
            "all targets: the median is that of the fast target, which has most operations")
    t.equal(together["p99"]["values"], [xddtrace.bucket_middle(5001000)] * 3, "and the 99th percentile that of the slow one, which has 4 %")
    _, document = run_json(*"-op noop -targets 2 null null -numreqs 1000 -operationdelay 1ms -passes 3 -nobarrier".split())
    t.equal([st["p99"] and len(st["p99"]["values"]) for st in document["statistics"][:2]] + [document["statistics"][2]["passes"]],
            [3, 3, []], "-nobarrier: of each target", document["statistics"])


def test_only_run_time():
    """A pass is complete when -runtime was the only thing that could end it."""
    run, document = run_json(*"-op noop -targets 2 null null -runtime .3 -verbose".split(), step=10000)
    t.equal([(st["target"], st["passes"], st["left_out"]) for st in document["statistics"]],
            [(0, [1], 0), (1, [1], 0), (None, [1], 0)], "-runtime alone: its pass counts")
    t.equal(run.err, "", "-runtime alone: no warning")
    run, document = run_json(*"-op noop -targets 1 null -runtime .3 -passes 3".split(),
                             step=10000, warns=m.RUNTIME_FIRST_PASS)
    t.ok(document["statistics"][0]["passes"] == [1] and len(run.error_lines()) == 1 and
         "-passes: -runtime ends the run in its first pass; -timelimit <seconds> ends each pass" in run.err,
         "-runtime alone and several passes: a warning", run)
    run = t.xdd(*"-op noop -targets 2 null null -runtime 3 -passes 3 -numreqs target 1 10 -dryrun".split())
    t.equal(run.err, "", "not where a pass may end in another way")
    for extra in ("-numreqs 1000000000", "-timelimit 100"):
        run, document = run_json(*"-op noop -targets 1 null -runtime .3".split(), *extra.split(), step=10000)
        t.equal([(st["passes"], st["left_out"]) for st in document["statistics"]], [([], 1)] * 2,
                "-runtime before %s: the pass is left out" % extra)


def test_left_out():
    """A pass that was cut short does not count."""
    paced = "-op noop -targets 1 null -numreqs 100 -operationdelay 1ms -passes 99999".split()
    for title, words, kwargs, whole in (("interrupted", [], {"at": {0.3555: signal.SIGINT}}, [1, 2, 3]),
                                        ("-runtime", ["-runtime", 0.55], {"warns": m.FEWER_PASSES_RUN}, [1, 2, 3, 4, 5])):
        run, document = run_json(*paced, *words, **kwargs)
        t.equal([(r["pass"], j.total(r)) for r in j.rows(document, "TARGET_PASS")],
                [(n, 100) for n in whole] + [(len(whole) + 1, 56 if words == [] else 50)], title + ": the passes of 0.1 s", run)
        t.equal([(st["target"], st["passes"], st["left_out"]) for st in document["statistics"]], [(0, whole, 1), (None, whole, 1)],
                title + ": the last pass is left out")
    short = t.make_file("short", 8 * 1024)
    run, document = run_json("-op", "read", "-targets", 1, short, *"-reqsize 1 -numreqs 20 -passes 4 -maxerrors 2 -timelimit 60".split())
    t.equal((run.status, document["statistics"][0]["passes"], document["statistics"][0]["left_out"]), (6, [], 4),
            "-maxerrors: passes that it ended")
    _, document = run_json(*"-op noop -targets 1 null -timelimit .3 -passes 1000".split(), step=10000, at={1.05: signal.SIGINT})
    t.equal(([r["pass"] for r in j.rows(document, "TARGET_PASS")], document["statistics"][0]["passes"],
             document["statistics"][0]["left_out"]), ([1, 2, 3, 4], [1, 2, 3], 1),
            "interrupted: a pass that time would have ended is left out too")
    # Passes that only time ends are whole.
    _, document = run_json(*"-op noop -targets 1 null -timelimit .05 -passes 4".split(), step=10000)
    t.equal(document["statistics"][0]["passes"], [1, 2, 3, 4], "-timelimit: passes that time ends")


def test_not_reproducible():
    """A process that is stopped for 4 s in its second pass; operations begin after 0, 20, ... 380 ms of a pass."""
    run, document = run_json(*"-op noop -targets 1 null -numreqs 20 -operationdelay 20ms -passes 7 -verbose".split(),
                             at={0.55: "+4"}, warns=m.STOPPED)
    bandwidth = document["statistics"][0]["bandwidth"]
    # The operation that would have begun 10 ms after the stop begins at its end, 3.99 s late.
    slow_s, s_of_others = 4.37, 0.38
    wanted = [20 * 131072 / (slow_s if i == 1 else s_of_others) for i in range(7)]
    t.ok(all(math.isclose(a, b, rel_tol=1e-12) for a, b in zip(bandwidth["values"], wanted)), "the bandwidths of the passes", bandwidth)
    t.equal((bandwidth["change"], bandwidth["change_pass"], round(bandwidth["change_amount"], 6)),
            ("odd", 2, round(s_of_others / slow_s - 1, 6)), "an odd pass is found, and how odd it is", bandwidth)
    t.equal((document["statistics"][0]["not_reproducible"], re.findall(r"^Target 0, not reproducible: (.*)$", run.out, re.M)),
            ("pass 2 is 91 % slower than the others", ["pass 2 is 91 % slower than the others"]), "and said", run)


UNTIL = re.compile(r"^Passes until (\S+) %, (reached|not reached) after (\d+) passes: the 95 % interval of the bandwidth is "
                   r"\+-([\d.]+) %$", re.M)
PACED = ["-op", "read", "-targets", 2, *(t.make_file("paced%d" % i, 65536) for i in range(2)), *"-reqsize 1 -numreqs 40".split()]
LAW = "/paced exponential:1000000 2"


def until(*args, **kwargs):
    """(percent, reached, passes, half width), the run and its document."""
    run, document = run_json(*args, device=LAW, **kwargs)
    m = UNTIL.search(run.out)
    return m and (m.group(1), m.group(2) == "reached", int(m.group(3)), float(m.group(4))), run, document


LEAST = 18


def t_tails(x, freedom):
    """Student's t: the probability beyond +-x, by Simpson's rule over the angle atan(x / sqrt(freedom))."""
    steps, top = 2000, math.atan(x / math.sqrt(freedom))
    scale = math.exp(math.lgamma((freedom + 1) / 2) - math.lgamma(freedom / 2)) / math.sqrt(math.pi)
    total = sum((1 if i in (0, steps) else 4 if i % 2 else 2) * math.cos(top * i / steps) ** (freedom - 1)
                for i in range(steps + 1))
    return 1 - 2 * scale * total * top / steps / 3


def t_quantile(tails, freedom):
    low, high = 0, 1000
    while high - low > 1e-9:
        middle = (low + high) / 2
        low, high = (middle, high) if t_tails(middle, freedom) > tails else (low, middle)
    return high


def half_of_mean(x, r, tails):
    """Half the interval of the mean of passes whose neighbours have the correlation `r`."""
    n = len(x)
    effective = max(n * (1 - r) / (1 + r), .2 * n)
    return t_quantile(tails, min(effective, n) - 1) * math.sqrt(statistics.pvariance(x) / (1 - 1 / effective) / effective)


def half_width(x):
    """In percent of the mean, of a run that may stop at any pass from LEAST on: the rule of src/stat/stats.c."""
    n, mean = len(x), statistics.fmean(x)
    if n < 5:
        return 100 * half_of_mean(x, 0, .05) / mean
    squares = sum((v - mean) ** 2 for v in x)
    r = (n * sum((v - mean) * (w - mean) for v, w in zip(x[1:], x)) / squares + 1) / (n - 4)
    r = min(max((n * r + 3 * .5) / (n + 3), -.4), .95) * min((n - 2) / 16, 1)
    error = .05 * (1 - .7 * LEAST / n) if n > LEAST else .05
    return 100 * half_of_mean(x, r, error) / mean


def test_until():
    found, run, document = until(*PACED, "-passes", "until", 100, 29)
    passes = [r["pass"] for r in j.rows(document, "TARGET_PASS", target=0)]
    values = document["statistics"][-1]["bandwidth"]["values"]
    t.ok(run.status == 0 and found and found[:2] == ("100", True) and found[2] == len(passes) == len(values) == LEAST,
         "until 100 %: reached with the least number of passes", run)
    t.ok(found and near(found[3], half_width(values), 2) and half_width(values) <= 100, "and the interval is that narrow",
         (found, values))
    # The rate rises and falls from pass to pass: an interval of several percent, that shrinks slowly.
    one = ["-op", "read", "-targets", 1, t.path("paced0"), "-reqsize", 1]
    found, run, document = until(*one, *"-numreqs 10 -passes until 20 200".split())
    values = document["statistics"][-1]["bandwidth"]["values"]
    t.ok(run.status == 0 and found and found[2] == len(values) > LEAST and near(found[3], half_width(values), 2),
         "until 20 %: the interval of a run that may stop at any pass", (found, values))
    t.ok(found and found[1] and half_width(values) <= 20, "and reached when it is narrow enough", (found, values))
    t.ok(all(half_width(values[:n]) > 20 for n in range(LEAST, len(values))), "which it was not before", values)
    found, run, document = until(*PACED, "-passes", "until", 100, 29)
    t.equal(document["plan"]["resolved"]["passes"], 29, "the plan has the most")
    t.equal(document["plan"]["resolved"]["passes_until_percent"], 100, "and the percentage")
    found, run, document = until(*PACED, "-passes", "until", "0.00001", 19)
    t.ok(run.status == 0 and found and found[1:3] == (False, 19) and len(j.rows(document, "TARGET_PASS")) == 38,
         "until 0.00001 %: not reached, and the most passes are run", run)
    found, run, _ = until(*PACED, "-passes", "until", 100, "-numreqs", 2, "-passdelay", "10ms", "-verbose")
    delays = run.out.count("Starting Pass Delay of 0.010000 seconds...\n")
    t.ok(found and delays == found[2] - 1, "with -passdelay: none after the last", run)
    found, run, _ = until(*PACED, "-passes", "until", "0.00001", "-runtime", ".5")
    t.ok(run.status == 0 and found and not found[1] and found[2] < 100, "-runtime ends it", run)
    found, run, document = until(*one, *"-numreqs 1 -passes until .000001".split())
    t.ok(found and found[2] == 100 and j.rows(document, "COMBINED")[0]["passes"] == 100, "100 passes unless it is said",
         run)
    _, run, document = until("-op", "read", "-targets", 1, t.make_file("small", 4096),
                             *"-reqsize 8 -numreqs 1 -timelimit 60 -passes until 5 18".split())
    t.equal((run.status, "not reached after 18 passes" in run.out), (6, True), "passes in which nothing succeeds",
            run)
    run = t.xdd(*PACED, *"-passes until 7.5 44 -verbose -dryrun".split())
    t.equal(("Passes, 44\n" in run.out, "Passes until, 7.5 percent\n" in run.out), (True, True), "-dryrun shows it",
            run)
    run = t.xdd(*PACED, *"-passes until 7.5 44 -passes 2".split())
    t.ok("until" not in run.out and run.row("COMBINED")["Pass"] == "2", "the last -passes wins", run)


def test_refused():
    null = "-op noop -targets 1 null -numreqs 1".split()
    for args, status, want in (
            ("until", 2, m.MISSING), ("until -verbose", 2, m.MISSING),
            ("until 0", 2, m.UNTIL_PERCENT),
            ("until 101", 2, "percentage"), ("until -5", 2, "percentage"), ("until 5%%", 2, "percentage"),
            ("until abc", 2, "percentage"), ("until nan", 2, "percentage"),
            ("until 5 17", 2, m.whole_number("passes", 18, 10000) + m.FEWER_PASSES),
            ("until 5 10001", 2, "18 to 10000"), ("until 5 4x", 2, "18 to 10000"), ("until 5 abc", 3, m.STRAY),
            ("untill", 2, m.whole_number("passes", 1, 1000000000)),
            ("until 5 -nobarrier", 2, "-passes until: with -nobarrier")):
        run = t.xdd(*null, "-passes", *args.split())
        t.equal((run.status, run.out, len(run.error_lines()), want in run.err), (status, "", 1, True),
                "-passes %s" % args, run)
    run = t.xdd(*"-op noop -targets 1 null -numreqs 1 -passoffset 92233720368547758 -passes until 5".split())
    t.equal((run.status, "8 EiB" in run.err), (2, True), "-passoffset: the most passes there can be", run)
    device = s.loop_device(s.sparse_file("backing", 1 << 20))
    if device is None:
        t.skip("-passoffset on a device", s.sys_why())
        return
    args = ["-op", "read", "-targets", 1, device, *"-reqsize 4 -numreqs 2 -passoffset 8 -passes until 100".split()]
    run = t.xdd(*args, 128)
    t.ok(run.status == 0, "-passoffset: the device holds the most passes", run)
    run = t.xdd(*args, 129)
    t.equal((run.status, "the operations reach to" in run.err), (2, True), "-passoffset: the device does not", run)


t.run_all()
