#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""
xdd curve: its points and files, what is refused before the first run, curves that are interrupted and resumed, and the
law: on a target with a fixed latency and c outstanding operations, response times are those of a queue M/D/c, which is
simulated here with the arrivals that xdd had (tests/lib/xddlaw.py).

All runs are in virtual time. XDD_TEST_LONG=1 makes 20 curves, whose knees are compared with the knee of endless ones as well.
"""
import copy
import csv
import json
import math
import os
import re
import signal
import subprocess

import messages as m
import xddhold
import xddjson as j
import xddlaw as law
import xddpoisson
import xddterm
import xddtest as t

t.may_warn(m.RATE_NOT_REACHED, m.BANDWIDTH_NOT_REACHED, r"curve: the maximum is not steady after \d+ rounds")

LONG = bool(os.environ.get("XDD_TEST_LONG"))
NULL = "-op noop -target null -numreqs 1000".split()
SHORT = ["-queuedepth", "2", "-each", "0.1s", "-rounds", "2", "-orderseed", "7"]


def curve(*args, **kwargs):
    return t.command([t.XDD, "curve"] + [str(a) for a in args], **kwargs)


def test_points():
    run = curve(*NULL, *SHORT, "-load", "20,50%,120", "-goal", "p99=10s", "-jsonout", t.path("a.json"), "-csvout", t.path("a.csv"))
    doc = j.of_sweep(run, "a.json", "a curve")
    if not doc:
        return
    found = doc["curve"]
    shares = [x["percent"] for x in found["loads"]]
    t.ok({20, 50, 120} <= set(shares) and shares == sorted(shares), "has all loads, in order", shares)
    by_point = {p["point"]: p for p in doc["points"]}
    rate = found["maximum"]["iops"]
    closed = by_point[found["maximum"]["point"]]
    t.ok(closed["varied"] == {"load": "max"} and "-throttle" not in closed["words"], "the maximum is a closed loop", closed["words"])
    rates = [r["iops"] for r in closed["rounds"]]
    t.ok(rate > 0 and min(rates) <= rate <= max(rates), "its rate is the maximum", (rate, rates))
    t.ok(len(rates) >= 5 or found["maximum"]["steady_after"] == 0, "which is steady after 5 rounds at the soonest", found["maximum"])
    for x in found["loads"]:
        words = by_point[x["point"]]["words"]
        at = words.index("-throttle")
        t.ok(words[at + 1] == "ops" and words[at + 3] == "poisson" and abs(float(words[at + 2]) / (rate * x["percent"] / 100) - 1) < 1e-6,
             "%s %%: arrivals at random, at this share of the maximum" % x["percent"], words)
        t.ok(abs(x["queue"] - x["reached_iops"] * x["response"] / 1e9) <= 1e-4 * x["queue"] and x["response"] >= x["service"] * 0.99,
             "%s %%: the queue is that of Little's law" % x["percent"], x)
    late_rounds = {p["point"]: sum("rate" in r["findings"] for r in p["rounds"]) * 2 > len(p["rounds"]) for p in doc["points"]}
    t.equal([x["overloaded"] for x in found["loads"]], [late_rounds[x["point"]] for x in found["loads"]],
            "an overload is a load whose rounds end late, also above the maximum")
    t.ok(all(x["steady"] is None and x["drift_percent"] is None for x in found["loads"]), "two rounds have no trend")
    late = ["lateness", "lateness_p50", "lateness_p99", "lateness_max"]
    known = [x for x in found["loads"] if x["percent"] in (20, 50)]
    t.ok(len(known) == 2 and all(None not in [x[f] for f in late] and 0 < x["lateness"] <= x["lateness_max"] and
                                 x["lateness_p50"] <= x["lateness_p99"] for x in known), "the lateness of xdd itself at each load", known)
    t.equal({x[f] for x in found["loads"] if x["percent"] > 100 for f in late}, {None}, "except above the maximum")
    goal = found["goal"]
    t.ok(goal["limit"] == 1e10 and goal["holds_percent"] >= 50, "a goal that is easily held", goal)
    t.ok(math.isclose(goal["holds_iops"], goal["holds_percent"] / 100 * found["maximum"]["iops"]), "a share of the maximum as a rate",
         (goal, found["maximum"]))
    with open(t.path("a.csv"), encoding="utf-8", newline="") as f:
        rows = list(csv.DictReader(f))
    t.equal([float(r["load (%)"]) for r in rows], [float("%.9g" % share) for share in shares], "the CSV file has a line for each load")
    t.ok(all(float(r["response_p99 (ns)"]) > 0 for r in rows), "and the response times")
    t.equal({float(r["load (%)"]): r["lateness_p99 (ns)"] != "" for r in rows if float(r["load (%)"]) in (20, 50, 120)},
            {20: True, 50: True, 120: False}, "and the lateness")
    check_repeats(by_point[next(x["point"] for x in found["loads"] if x["percent"] == 50)])
    said = "\n".join(xddterm.unfolded(run.out))
    t.ok(re.search(r"^maximum: [\d.]+ k/s ", said, re.M) and re.search(r"^Knee: ", said, re.M) and
         re.search(r"^Goal: p99 up to 10.0 s holds ", said, re.M) and
         re.search(r"^Lateness of xdd itself: .* in the mean and .* for p99, at \d+ %; ", said, re.M), "the output says what follows", run)
    t.ok(not os.path.exists(t.path("a.json.journal")), "the journal is gone once the document is complete")
    run = t.command([t.XDD, "compare", t.path("a.json"), t.path("a.json")])
    t.ok(run.status == 0 and "load 50 %" in run.out, "a curve and itself are compared load by load", run)


def test_widths():
    for columns in 60, 80, 120:
        run = curve(*NULL, *SHORT, "-load", "20,50,120", "-goal", "p99=10s", env=dict(os.environ, COLUMNS=str(columns)))
        t.equal((run.status, [x for x in run.out.splitlines() if len(x) > columns]), (0, []), "%d columns: lines fit" % columns, run)
        t.ok(re.search(r"^ *load .*reached +response +p50 +p99 .*steady$", run.out, re.M), "%d columns: the answer has room" % columns, run)


def test_few():
    """A percentile of too few operations is not known, so that a goal for it neither holds nor fails."""
    run = curve(*NULL, *SHORT, "-load", "20,50", "-goal", "p99.9=10s", "-jsonout", t.path("few.json"), "-csvout", t.path("few.csv"))
    doc = j.of_sweep(run, "few.json", "a goal for p99.9, and 1000 operations in a round")
    if not doc:
        return
    loads, goal = doc["curve"]["loads"], doc["curve"]["goal"]
    t.equal({(x["response_p99"] is None, x["response_p99.9"]) for x in loads}, {(False, None)}, "p99 is known, and p99.9 is not")
    t.ok(goal["unjudged_loads"] > 0 and goal["holds_percent"] == 0 and
         re.search(r"^Goal: p99\.9 up to 10\.0 s cannot be judged; \d loads had too few operations in a round",
                   "\n".join(xddterm.unfolded(run.out)), re.M),
         "the goal cannot be judged", run)
    with open(t.path("few.csv"), encoding="utf-8", newline="") as f:
        t.equal({(r["response_p99.9 (ns)"], r["response_p99 (ns)"] == "") for r in csv.DictReader(f)}, {("", False)}, "nor in the CSV file")
    run = curve(*NULL, *SHORT, "-load", "20")
    t.equal(run.out.splitlines()[0], "the maximum, then 1 load, 2 rounds each, order and arrivals by -orderseed 7", "one load is announced", run)
    t.ok("Knee: not known: there are less than three loads without overload." in xddterm.unfolded(run.out), "no knee of one load", run)


def altered(document, name, factors, knee):
    """The curve with these values in each of its loads, and other numbers for the whole: a file of the test."""
    new = copy.deepcopy(document)
    for point in new["points"]:
        for figure, factor in factors.items():
            values = [1e6 * factor * (1 + .001 * (i % 3)) for i in range(5)]
            for statistic in point["statistics"]:
                if statistic.get(figure):
                    statistic[figure]["values"], statistic["passes"], statistic["not_reproducible"] = values, [1, 2, 3, 4, 5], None
    new["rounds_least"] = 5
    new["curve"]["maximum"].update(iops=1000.0, interval_percent=1.0, steady_after=5)
    new["curve"]["knee"] = {"percent": knee, "low_percent": knee - 2, "high_percent": knee + 2, "iops": knee * 10.0}
    return j.write(name, new)


def test_compare():
    """Users of a load wait for response times: those are judged, and not service times that fall while they rise."""
    run = curve(*NULL, *SHORT, "-load", "20,50", "-jsonout", t.path("c.json"))
    doc = j.of_sweep(run, "c.json", "a curve to compare")
    if not doc:
        return
    figures = ("latency", "p50", "p99", "response", "response_p50", "response_p99")
    base = altered(doc, "base.json", {f: 1 for f in figures}, 70)
    slower = altered(doc, "slower.json", {f: 1.9 if f.startswith("response") else .7 for f in figures}, 60)

    def compare(*args):
        run = t.command([t.XDD, "compare", *args])
        rows = re.findall(r"^  (.*?)  +(\S+(?: p[0-9.]+)?)  +[0-9.]+ \S+ +[0-9.]+ \S+ +(\S+) %.* (real|chance|unknown|offers differ)$", run.out, re.M)
        return run, {(row[0], row[1]): row[2:] for row in rows}

    run, rows = compare(base, slower)
    of_loads = {k[1]: v for k, v in rows.items() if k[0] == "load 50 %"}
    t.equal((run.status, [of_loads.get(f) for f in ("response", "resp p50", "resp p99")]), (1, [("+90.0", "real")] * 3),
            "the response times of a load have become worse", run)
    t.equal([f for f in of_loads if f in ("latency", "p50", "p99")], [], "and its service times are not judged")
    t.equal([rows.get(("load max", f)) for f in ("latency", "response")], [("-30.0", "real"), None], "those of a closed loop are")
    t.equal([rows.get(("the curve", f)) for f in ("maximum", "knee")], [("+0.0", "chance"), ("-14.3", "real")], "the whole curve")
    loads = {"load " + p["varied"]["load"] for p in doc["points"]} - {"load max"}
    for limit, status, subjects in (("p50+10%", 4, loads), ("response_p99+100%", 0, set()), ("response_p99+50%", 4, loads),
                                    ("knee-5%", 4, {"the curve"}), ("maximum-5%,knee-30%", 0, set())):
        run, _ = compare("-failif", limit, base, slower)
        t.equal((run.status, set(re.findall(r"^  \S+ +(.*\S) +exceeded$", run.out, re.M))), (status, subjects), "-failif " + limit, run)
    rates = ("bandwidth", "iops")
    same = altered(doc, "same.json", {f: 1 for f in rates}, 70)
    fewer = altered(doc, "fewer.json", {f: .8 for f in rates}, 70)
    run, rows = compare(same, fewer)
    t.equal(rows.get(("load 50 %", "IOPS")), ("-20.0", "real"), "the same load reaches a lower rate", run)
    with open(fewer, encoding="utf-8") as f:
        document = json.load(f)
    for load in document["curve"]["loads"]:
        load["offered_iops"] *= .8
    j.write("fewer.json", document)
    run, rows = compare(same, fewer)
    t.equal([rows.get(("load 50 %", "IOPS")), rows.get(("load max", "IOPS"))], [("-20.0", "offers differ"), ("-20.0", "real")],
            "a load that offers a lower rate", run)
    run, _ = compare("-failif", "iops-5%", same, fewer)
    t.equal((run.status, re.findall(r"^  \S+ +(.*\S) +exceeded$", run.out, re.M)), (4, ["load max"]), "... is no loss of its rate", run)
    run = t.command([t.XDD, "report", same, fewer, "-o", t.path("offers.html")])
    with open(t.path("offers.html"), encoding="utf-8") as f:
        t.ok(run.status == 0 and "offers differ" in f.read(), "... nor on the page", run)
    j.write("none.json", dict(json.loads(open(base, encoding="utf-8").read()), curve=dict(doc["curve"], knee=None)))
    run, _ = compare("-failif", "knee-5%", base, t.path("none.json"))
    t.ok(run.status == 3 and re.search(r"knee-5% +the curve +cannot be judged: a curve does not have it$", run.out, re.M),
         "a curve without a knee", run)
    run = t.command([t.XDD, "report", base, slower, "-o", t.path("curves.html")])
    with open(t.path("curves.html"), encoding="utf-8") as f:
        page = f.read()
    t.ok(run.status == 0 and "resp p99" in page and ">knee<" in page, "xdd report shows the same difference", run)


def check_repeats(point):
    """The words of a point with the seed of a round have the arrivals of that round, and no others."""
    rate, seeds = float(point["words"][point["words"].index("-throttle") + 2]), [r["seek_seed"] for r in point["rounds"]]
    run = t.xdd(*point["words"], "-seek", "seed", seeds[0], "-seek", "save", t.path("again"))
    t.equal(run.status, 0, "a round is repeated", run)
    with open(t.path("again.T0.txt"), encoding="ascii") as f:
        due = [int(line.split()[4]) / 1e9 for line in f if not line.startswith("#")]
    gaps = xddpoisson.arrivals(len(due), seeds[0])
    t.ok(len(set(seeds)) == len(seeds) and len(due) == 1000 and max(abs(at - gap / rate) for at, gap in zip(due, gaps)) < 1e-8,
         "with the same arrivals", (seeds, due[:5], gaps[:5], rate))


def on_device(law, *words, name="device.json", title="a curve of a device with a law", seed=1):
    """The document of a curve of a file whose operations take these times in ns, of so many servers."""
    run = curve("-op", "read", "-target", t.make_file("device", 1 << 20), "-reqsize", "4k", "-seek", "random", "-jsonout", t.path(name),
                "-orderseed", seed, *words, device="/device " + law, step=0, tolerate=t.CACHED)
    return j.of_sweep(run, name, title)


def test_depth():
    """Without -queuedepth: a device that serves 8 operations at once needs this depth, and a greater one gains nothing."""
    doc = on_device("2000000 8", "-each", "0.2s", "-rounds", 2, "-load", "30")
    if not doc:
        return
    tried = [p["varied"]["load"] for p in doc["points"] if p["varied"]["load"].startswith("max, depth ")]
    maximum = doc["curve"]["maximum"]
    t.equal((maximum["searched_queue_depth"], tried, maximum["iops"]), (8, ["max, depth %d" % 2**i for i in range(6)], 4000),
            "the depth is the number of servers")
    loads = [p["words"] for p in doc["points"] if p["varied"]["load"] == "30 %"]
    t.equal([words[words.index("-queuedepth") + 1] for words in loads], ["8"], "the loads have it")


SCREEN = """\
the maximum, then 5 loads, 3 rounds each, order and arrivals by -orderseed 1
maximum: 500 /s (+-0.0 %), steady after round 5
    load  offered  reached  response      p50  p99  p99.9  service  queue  rounds  steady
    20 %   100 /s  98.5 /s   2.27 ms  2.00 ms    -      -  2.00 ms  0.224       3  -
    40 %   200 /s   197 /s   2.65 ms  2.00 ms    -      -  2.00 ms  0.522       3  -
    50 %   250 /s   237 /s   2.83 ms  2.01 ms    -      -  2.00 ms  0.673       7  yes
  52.5 %   262 /s   253 /s   2.97 ms  2.14 ms    -      -  2.00 ms  0.750       9  yes
53.125 %   266 /s   256 /s   2.99 ms  2.15 ms    -      -  2.00 ms  0.764       9  yes
 53.75 %   269 /s   259 /s   3.01 ms  2.16 ms    -      -  2.00 ms  0.778       9  yes
    55 %   275 /s   265 /s   3.05 ms  2.21 ms    -      -  2.00 ms  0.807       9  yes
    60 %   300 /s   286 /s   3.19 ms  2.44 ms    -      -  2.00 ms  0.913       8  yes
    70 %   350 /s   342 /s   3.94 ms  3.28 ms    -      -  2.00 ms   1.35       3  -
    80 %   400 /s   389 /s   5.08 ms  4.20 ms    -      -  2.00 ms   1.98       3  -
   120 %   600 /s   494 /s   33.3 ms  31.4 ms    -      -  2.00 ms   16.5       3  overloaded
Lateness of xdd itself: where nothing is transferred, up to <time> in the mean, at 80 %; less than 5 % of the response times.
Knee: at 62.3 % of the maximum, 311 /s, throughput divided by mean response time is greatest (95 %: 53.4 % to 70.2 %).
Goal: mean up to 3.00 ms holds at 53.125 % of the maximum, 266 /s, and not at 53.75 %; the limit is within the intervals of these.
Finding: the rate of -throttle was not reached, at 1 of 12 points: load 120 %"""

ROUNDS = """\
          load   offered   reached  response      p50      p99    p99.9  service  round
           max         -   50.0 /s         -        -        -        -  20.0 ms  1
           max         -   50.0 /s         -        -        -        -  20.0 ms  2
           max         -   50.0 /s         -        -        -        -  20.0 ms  3
           max         -   50.0 /s         -        -        -        -  20.0 ms  4
           max         -   50.0 /s         -        -        -        -  20.0 ms  5
         120 %   60.0 /s   50.0 /s    123 ms   117 ms        -        -  20.0 ms  1
          30 %   15.0 /s   15.1 /s   25.8 ms  20.0 ms        -        -  20.0 ms  1
         120 %   60.0 /s   44.9 /s    133 ms   106 ms        -        -  20.0 ms  2
          30 %   15.0 /s   14.0 /s   23.9 ms  20.0 ms        -        -  20.0 ms  2"""


def test_screen():
    """All of the output for one server of 2 ms, which depends on no machine."""
    run = curve("-op", "read", "-target", t.make_file("device", 1 << 20), *"-reqsize 4k -seek random -orderseed 1 -numreqs 200 -queuedepth 1 "
                "-load 20,40,60,80,120 -rounds 3 -goal mean=3ms -ioengine psync".split(), device="/device 2000000", step=0,
                env=dict(os.environ, COLUMNS="120"))
    lines = [re.sub(r"up to \S+ us", "up to <time>", line) for line in xddterm.unfolded(run.out) if not line.startswith("Finding: reads were")]
    t.equal((run.status, lines), (0, xddterm.unfolded(SCREEN)), "all of the output", run)
    if not t.have_terminals():
        t.skip("a terminal", "no pseudo-terminals")
        return
    screen = xddterm.on_terminal([t.XDD, "curve", "-op", "read", "-target", t.path("device"), *"-reqsize 4k -seek random -orderseed 1 -numreqs 60 "
                                  "-queuedepth 1 -load 30,120 -rounds 2 -ioengine psync".split()], columns=100, device="/device 20000000", step=0)
    lines = screen.lines[1:screen.lines.index("")]
    t.equal(lines, ROUNDS.splitlines(), "a terminal has a line for each round", screen)
    titles = [title for title in re.findall("\r(round [^\r]*)", screen.text) if ": pass" not in title]
    t.equal(titles, ["round 1, point 1 of 5, load max", *("round %d, point 1 of 5, at least 0:01 left, load max" % n for n in (2, 3, 4, 5)),
                     *("round %d, point %d of 5, at least 0:0%d left, load %d %%" % row for row in ((1, 3, 4, 120), (1, 2, 3, 30), (2, 3, 3, 120), (2, 2, 1, 30)))],
            "and its title before", screen.text)


def test_unsure():
    """A load of the command line whose figure scatters around the limit has further rounds before it decides."""
    for goal, sure, rounds in (("3ms", False, 15), ("30ms", True, 5), ("2.1ms", True, 5)):
        doc = on_device("2000000", "-numreqs", 60, "-queuedepth", 1, "-load", "60", "-goal", "mean=" + goal)
        made = [len(p["rounds"]) for p in doc["points"] if p["varied"]["load"] == "60 %"]
        t.equal((doc["curve"]["goal"]["sure"], made), (sure, [rounds]), "a goal of %s: %d rounds" % (goal, rounds), doc["curve"]["goal"])


def test_lateness():
    """The lateness is that of xdd with any engine: nothing is transferred where it is measured."""
    for engine in ("psync", "libaio", "io_uring"):
        if engine not in t.engines():
            t.skip("lateness, " + engine, "it is not there")
            continue
        doc = on_device("20000000 4", "-ioengine", engine, "-queuedepth", 4, "-each", "0.8s" if engine == "psync" else "0.05s", "-rounds", 2,
                        "-load", "20")
        x = doc["curve"]["loads"][0] if doc else {}
        # Only psync has a modelled device here. xdd looks at the clock for the last few microseconds.
        t.ok(doc and (engine != "psync" or round(x["service"], -2) == 20e6) and 0 <= x["lateness"] < 5e3,
             "the target does not count as lateness, " + engine, x)


def test_columns():
    """Further columns, as those of a sweep; those of flushes by themselves where there are flushes."""
    # A write takes 10 ms, and a flush as long as its readings of the clock.
    words = ["-op", "write", "-target", t.path("flushed"), "-reqsize", "4k", "-bytes", "256k", "-load", "50,90", "-each", "0.8",
             "-rounds", 2, "-queuedepth", 1, "-orderseed", 1]
    flushes = ["FLUSHES", "FLUSHLATMEAN", "FLUSHLATP99", "FLUSHLATMAX"]
    for more, wanted in ((["-flushwrite", 1], flushes), (["-syncwrite"], flushes), ([], []),
                         (["-flushwrite", 4, "-columns", "+OPS+FLUSHES"], ["OPS", "FLUSHES"])):
        run = curve(*words, *more, "-csvout", t.path("columns.csv"), "-jsonout", t.path("columns.json"),
                    device="/flushed 10000000", tolerate=m.DIRTY)
        doc = j.of_sweep(run, "columns.json", "columns %s" % more)
        with open(t.path("columns.csv"), encoding="utf-8", newline="") as f:
            rows = list(csv.DictReader(f))
        names = [name.split(" (")[0] for name in list(rows[0])[list(rows[0]).index("lateness_p99 (ns)") + 1::2]]
        t.equal((names, [len(row) for row in rows], [sorted(p.get("columns", {})) for p in doc["points"]]),
                (wanted, [len(rows[0])] * len(rows), [sorted(w.lower() for w in wanted)] * len(doc["points"])), "the columns %s" % more)
        if wanted == flushes:
            t.ok(all(float(row["FLUSHES (#flushes)"]) >= 1 and float(row["FLUSHLATMEAN (millisec)"]) > 0 for row in rows), "with the flushes", rows)


def test_dryrun():
    run = curve("-dryrun", *NULL, *SHORT, "-load", "10,20")
    lines = run.out.splitlines()
    t.ok(run.status == 0 and len(lines) == 3 and "-throttle" not in lines[0] and
         "-throttle ops '<20 % of the maximum>' poisson" in lines[2], "-dryrun prints what is to be run", run)
    run = curve("-dryrun", *NULL, *SHORT, "-load", "0.1,1000")
    t.equal(re.findall("<(.*?) % of the maximum>", run.out), ["0.1", "1000"], "the least and the greatest load", run)


def refused(title, words, message, status=2):
    run = curve(*words)
    t.ok(run.status == status and run.err.count("\n") == 1 and re.search(message, run.err), title, run)


def test_refused():
    before = set(os.listdir(t.tmp()))
    write = ["-op", "write", "-target", t.path("new"), "-numreqs", 1]
    refused("a list", write + ["-reqsize", "4k,8k"], r"curve: -reqsize: has a list")
    refused("-throttle", write + ["-throttle", "ops", 5], r"curve: -throttle: cannot be used", 3)
    with open(t.path("setup"), "w", encoding="utf-8") as f:
        f.write("-throttle ops 5\n")
    refused("-throttle in a setup file", write + ["-queuedepth", 1, "-setup", t.path("setup")], r"curve: -throttle: cannot be used", 3)
    for words in ("-queuedepth 2", "-timelimit 5", "-runtime 5"):
        with open(t.path("setup"), "w", encoding="utf-8") as f:
            f.write("-dio\n" + words + "\n")
        refused(words + " in a setup file", write + ["-setup", t.path("setup")],
                r"curve: .*%s: in .*setup:2 it has no effect" % words.split()[0])
    os.unlink(t.path("setup"))
    refused("two targets", ["-op", "noop", "-targets", 2, "null", "null", "-numreqs", 1], r"a curve has one target, and there are 2")
    for load in ("0", "1,,2", "5,5.0", "2000", "x", "9..1"):
        refused("-load " + load, write + ["-load", load], r"curve: -load \S+: ")
    for load in ("0.099", "1000.1"):
        refused("-load " + load, write + ["-load", load],
                r"curve: -load %s: expected percentages from 0\.1 to 1000, such as 10\.\.90\+10,95$" % re.escape(load))
    refused("101 loads", write + ["-load", "1..101"], r"curve: -load 1\.\.101: has more than 100 loads$")
    run = curve("-dryrun", "-op", "noop", "-target", "null", "-queuedepth", 1, "-load", "1..100")
    t.equal((run.status, run.out.count("% of the maximum")), (0, 100), "100 loads", run)
    for goal in ("p99", "p98=5ms", "p99=0", "p99=soon"):
        refused("-goal " + goal, write + ["-goal", goal], r"curve: -goal \S+: expected a response time")
    refused("an option that is wrong", write + ["-queuedepth", 0], r"curve: -queuedepth 0: expected")
    refused("options of a sweep", write + ["-until", "3%"], r"-until", 3)
    refused("no words", [], r"curve: expected the options of a run; see xdd curve -help")
    t.equal(set(os.listdir(t.tmp())) - before, set(), "nothing was created, and no target")


def test_errors():
    """A target that cannot be read has no maximum, and no load is offered."""
    some = t.make_file("short", 65536)
    run = curve("-op", "read", "-target", some, "-reqsize", "4k", "-startoffset", "1M", "-numreqs", 4, *SHORT, warns=m.REACHES)
    t.ok(run.status != 0 and "50 %" not in run.out and "curve: the maximum is not known" in run.err, "it is said", run)


def test_interrupted():
    """SIGINT and SIGKILL inside of rounds: each point has each round once, and rates follow from the first maximum."""
    journal = t.path("long.journal")
    words = [*NULL, *SHORT, "-load", "20..90+10", "-goal", "p99=50ms", "-jsonout", t.path("long.json"), "-journal", journal]
    wrong, complete = [], 0
    for i in range(30):
        number, rounds = signal.SIGKILL if i % 2 else signal.SIGINT, i % 5 + 1
        with xddhold.at("operation:%d" % (17 * i % 50), "signal taken:1") as h, \
                subprocess.Popen([t.XDD, "curve", *words] + (["-resume"] if os.path.exists(journal) else []), env=h.env,
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE) as p:
            for n in range(rounds):
                held = h.arrived(t.TIMEOUT, p)
                if held and n + 1 < rounds:
                    held.go()
            if held:
                p.send_signal(number)
            if held and number == signal.SIGINT:
                while h.wait(p).point != "signal taken":
                    pass
            h.go()
            h.socket.close()
            out, err = p.communicate(timeout=t.TIMEOUT)
        if not held:
            # Fewer rounds were left; the next try begins a new curve.
            complete += 1
            os.unlink(journal)
        wanted = 0 if not held else 5 if number == signal.SIGINT else -number
        if p.returncode != wanted or (p.returncode == 5 and (b"-resume continues" not in out or (b"maximum: " in out) != (b"Knee: " in out))):
            wrong.append((i, p.returncode, out, err))
    t.equal(wrong, [], "interrupted curves end with status 5 or by the signal")
    # Tries have 60 rounds before their signals, a curve has at least 18.
    t.ok(complete <= 3, "few of them are complete before", complete)
    left = ["-resume"] if os.path.exists(journal) else []
    t.equal(curve(*words, *left).status, 0, "the last one completes it")
    doc = j.load(t.path("long.json"))
    rounds = [[r["round"] for r in p["rounds"]] for p in doc["points"]]
    t.ok(all(r == list(range(1, len(r) + 1)) and len(r) >= 2 for r in rounds), "each point has each round once", rounds)
    rate = doc["curve"]["maximum"]["iops"]
    offered = {p["point"]: float(p["words"][p["words"].index("-throttle") + 2]) for p in doc["points"] if "-throttle" in p["words"]}
    t.ok(len(offered) >= 8 and all(abs(offered[x["point"]] / (rate * x["percent"] / 100) - 1) < 1e-6 for x in doc["curve"]["loads"]),
         "all rates are shares of the same maximum", (rate, offered))


# ---- the law ----

SERVERS, SERVICE_NS = 4, 5000000
GOAL_NS = 1.5 * SERVICE_NS  # of the mean: at 83 %
CURVES = 20
SPIN_NS = 3000              # an operation may begin so long after it is due: xdd looks at the clock for the last microseconds
BUCKET = 1 / 128            # resolution of percentiles


def follows(found, theory):
    """True if the response times (mean, median, p99) agree with theory. Unknown values agree."""
    mean, *percentiles = [None if x is None else x * 1e9 for x in found]
    expected, *others = [x * 1e9 for x in theory]
    return 0 <= mean - expected < SPIN_NS and all(x is None or -BUCKET * y < x - y < BUCKET * y + SPIN_NS
                                                  for x, y in zip(percentiles, others))


def compare_with_law(seed):
    """A curve against theory with the same arrivals; returns its knee."""
    doc = on_device("%d %d" % (SERVICE_NS, SERVERS), "-queuedepth", SERVERS, "-each", "4.5s", "-load", "20,40,60,70,80,90,95", "-rounds", 3 if LONG else 2,
                    "-goal", "mean=%gms" % (GOAL_NS / 1e6), seed=seed, title="M/D/%d, seed %d" % (SERVERS, seed))
    if not doc:
        return None
    found, title = doc["curve"], "seed %d: " % seed
    t.equal(found["maximum"]["iops"], SERVERS * 1e9 / SERVICE_NS, title + "the maximum is what the servers can do")
    loads = [x for x in found["loads"] if x["percent"] <= 95]
    rounds = {x["percent"]: law.rounds_of(doc, x, SERVERS) for x in loads}
    wrong = {share: [(r.measured, r.theory) for r in those if not follows(r.measured, r.theory)] for share, those in rounds.items()}
    t.equal({share: those for share, those in wrong.items() if those}, {}, title + "response times agree with theory, round by round")
    t.ok(any(r.measured[2] for those in rounds.values() for r in those), title + "with percentiles")
    t.equal({round(r.service * 1e9 / 100) * 100 for those in rounds.values() for r in those}, {SERVICE_NS}, title + "service times are exact")
    wrong = [(share, r.ops, r.expected_ops) for share, those in rounds.items() for r in those if r.ops != r.expected_ops]
    t.equal(wrong, [], title + "all that is due is issued up to the time limit, and nothing else")
    means = {x["percent"]: sum(r.theory[0] for r in rounds[x["percent"]]) / len(rounds[x["percent"]]) * 1e9 for x in loads}
    holds, fails = (max(share for share, mean in means.items() if mean <= GOAL_NS), min(share for share, mean in means.items() if mean > GOAL_NS))
    t.equal((found["goal"]["holds_percent"], found["goal"]["fails_percent"]), (holds, fails), title + "the goal holds as long as theory has it",
            (found["goal"], means))
    steady = [x["percent"] for x in loads if not x["probe"] and not x["overloaded"]]
    least = min(len(rounds[share]) for share in steady)
    expected = 100 * law.knee([share / 100 for share in steady], [[r.theory[0] for r in rounds[share][:least]] for share in steady])
    t.ok(found["knee"] and abs(found["knee"]["percent"] - expected) < 0.1, title + "the knee agrees with theory", (found["knee"], expected))
    return found["knee"]


def test_law():
    """
    Each curve against theory with its own arrivals. Against the mean of all arrivals that there could be, one curve of this
    length differs by chance. So that is compared over many curves together, and with the intervals that the program states.
    """
    knees = [compare_with_law(seed) for seed in range(1, 1 + (100 * CURVES if LONG else 1), 100)]  # each round has the next seed
    if not LONG or None in knees:
        return
    typical, long_run = law.typical_knee(SERVERS, 1.5e9 / SERVICE_NS * SERVERS, 3), 100 * law.long_run_knee(SERVERS)
    mean, covered = sum(x["percent"] for x in knees) / CURVES / 100, sum(x["low_percent"] <= long_run <= x["high_percent"] for x in knees)
    print("# knee: mean %.4f, theory of curves of this length %.4f, of endless ones %.4f, which %d intervals include" % (
        mean, typical, long_run / 100, covered))
    t.ok(abs(mean / typical - 1) < 0.03, "the mean of all knees agrees with theory for its own arrivals", (mean, typical))
    # By chance fewer than 16 of 20 intervals of 95 % include it once in 380 times. These are the same curves each time.
    t.ok(covered >= 0.8 * CURVES, "the intervals of the knee include the knee of endless curves", covered)


def test_help():
    run = curve("-help")
    t.ok(run.status == 0 and "-goal <figure>=<time>" in run.out and "-pairs" not in run.out, "the help", run)
    run = t.command([t.XDD, "-help", "curve"])
    t.ok(run.status == 0 and "usage: xdd curve" in run.out, "xdd -help curve", run)



t.run_all()
