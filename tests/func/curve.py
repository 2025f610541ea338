#!/usr/bin/env python3
"""
xdd curve: its points and files, what is refused before the first run, curves that are interrupted and resumed, and the
law: on a target with a fixed latency and c outstanding operations, response times are those of a queue M/D/c, which is
simulated here with the arrivals that xdd had (tests/lib/xddlaw.py).

XDD_TEST_LONG=1 measures the law 20 times, for 35 seconds each: 5 % for response times, 3 % for the knee and the load of
the goal. Otherwise the curve is short, and a round of each load has to agree.
"""
import copy
import csv
import json
import os
import random
import re
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.environ["TOP_SRCDIR"], "tests", "lib"))
import messages as m
import witness as w
import xddjson as j
import xddlaw as law
import xddpoisson
import xddsys as s
import xddtest as t

t.tolerate(t.BUFFERED)
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
    with open(t.path("a.csv"), encoding="utf-8", newline="") as f:
        rows = list(csv.DictReader(f))
    t.equal([float(r["load (%)"]) for r in rows], [float("%.9g" % share) for share in shares], "the CSV file has a line for each load")
    t.ok(all(float(r["response_p99 (ns)"]) > 0 for r in rows), "and the response times")
    t.equal({float(r["load (%)"]): r["lateness_p99 (ns)"] != "" for r in rows if float(r["load (%)"]) in (20, 50, 120)},
            {20: True, 50: True, 120: False}, "and the lateness")
    check_repeats(by_point[next(x["point"] for x in found["loads"] if x["percent"] == 50)])
    t.ok(re.search(r"^maximum: .* operations/s", run.out, re.M) and re.search(r"^Knee: ", run.out, re.M) and
         re.search(r"^Goal: p99 up to 10 s holds ", run.out, re.M) and
         re.search(r"^Lateness of xdd itself, .* in the mean and .* for p99, at \d+ %; ", run.out, re.M), "the output says what follows", run)
    t.ok(not os.path.exists(t.path("a.json.journal")), "the journal is gone once the document is complete")
    run = t.command([t.XDD, "compare", t.path("a.json"), t.path("a.json")])
    t.ok(run.status == 0 and "load 50 %" in run.out, "a curve and itself are compared load by load", run)


def test_few():
    """A percentile of too few operations is not known, so that a goal for it neither holds nor fails."""
    run = curve(*NULL, *SHORT, "-load", "20,50", "-goal", "p99.9=10s", "-jsonout", t.path("few.json"), "-csvout", t.path("few.csv"))
    doc = j.of_sweep(run, "few.json", "a goal for p99.9, and 1000 operations in a round")
    if not doc:
        return
    loads, goal = doc["curve"]["loads"], doc["curve"]["goal"]
    t.equal({(x["response_p99"] is None, x["response_p99.9"]) for x in loads}, {(False, None)}, "p99 is known, and p99.9 is not")
    t.ok(goal["unjudged_loads"] > 0 and goal["holds_percent"] == 0 and
         re.search(r"^Goal: p99\.9 up to 10 s cannot be judged; \d loads had too few operations in a round", run.out, re.M),
         "the goal cannot be judged", run)
    with open(t.path("few.csv"), encoding="utf-8", newline="") as f:
        t.equal({(r["response_p99.9 (ns)"], r["response_p99 (ns)"] == "") for r in csv.DictReader(f)}, {("", False)}, "nor in the CSV file")


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
        rows = re.findall(r"^  (.*?)  +(\S+(?: p[0-9.]+)?)  +[0-9.]+ +[0-9.]+ (?:\S+) +(\S+) %.* (real|chance|unknown)$", run.out, re.M)
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


def test_depth():
    """Without -queuedepth: operations that take a millisecond each in every QThread need depth."""
    fs = w.slow_fs(1 << 20, "constant:2000")
    if not fs:
        t.skip("a search for the depth", s.sys_why())
        return
    run = curve("-op", "read", "-target", fs.data, "-reqsize", "4k", "-dio", "-each", "0.2s", "-rounds", 2, "-load", "30", "-jsonout",
                t.path("depth.json"))
    fs.end()
    doc = j.of_sweep(run, "depth.json", "a search for the depth")
    if doc:
        depth = doc["curve"]["maximum"]["searched_queue_depth"]
        tried = [p["varied"]["load"] for p in doc["points"] if p["varied"]["load"].startswith("max, depth ")]
        t.ok(depth > 2 and "max, depth %d" % depth in tried, "a target with a latency needs a depth", (depth, tried))
        loads = [p["words"] for p in doc["points"] if p["varied"]["load"] == "30 %"]
        t.ok(len(loads) == 1 and loads[0][loads[0].index("-queuedepth") + 1] == str(depth), "the loads have it", loads)


def test_unsure():
    """A load of the command line whose figure scatters around the limit has further rounds before it decides."""
    # Each second round of 60 operations has 1 ms, and each other one 6 ms.
    fs = w.slow_fs(1 << 20, "turns:1000:6000:60")
    if not fs:
        t.skip("a load next to the limit", s.sys_why())
        return
    run = curve("-op", "read", "-target", fs.data, "-reqsize", "4k", "-dio", "-numreqs", 60, "-queuedepth", 2, "-load", "20",
                "-goal", "p50=3.4ms", "-jsonout", t.path("unsure.json"))
    doc = j.of_sweep(run, "unsure.json", "a curve of a target that scatters")
    fs.end()
    if doc:
        rounds = [len(p["rounds"]) for p in doc["points"] if p["varied"]["load"] == "20 %"]
        t.ok(doc["curve"]["goal"]["sure"] is False and rounds == [15], "three times as many rounds", (doc["curve"]["goal"], rounds))


def test_lateness():
    """The lateness is that of xdd with any engine: nothing is transferred where it is measured."""
    fs = w.slow_fs(1 << 20, "constant:20000")
    if not fs:
        t.skip("lateness beside a slow target", s.sys_why())
        return
    for engine in ("psync", "libaio"):
        for _ in range(3):  # a machine that stands still is late with some of the few operations
            run = curve("-op", "read", "-target", fs.data, "-reqsize", "4k", "-dio", "-ioengine", engine, "-queuedepth", 4,
                        "-each", "0.8s", "-rounds", 2, "-load", "20", "-jsonout", t.path(engine + ".json"))
            doc = j.of_sweep(run, engine + ".json", "a curve of a slow target, " + engine)
            x = doc["curve"]["loads"][0] if doc else {}
            if not doc or x["lateness"] is None or x["lateness"] < x["service"]:
                break
        t.ok(doc and x["service"] > 19e6 and x["lateness"] is not None and x["lateness"] < x["service"],
             "the lateness is not that of the target", x)
    fs.end()


def test_columns():
    """Further columns, as those of a sweep; those of flushes by themselves where there are flushes."""
    # Where a flush takes 50 ms, a round has time for several.
    words = ["-op", "write", "-target", t.path("flushed"), "-reqsize", "4k", "-bytes", "256k", "-load", "50,90", "-each", "0.8",
             "-rounds", 2, "-queuedepth", 1]
    flushes = ["FLUSHES", "FLUSHLATMEAN", "FLUSHLATP99", "FLUSHLATMAX"]
    for more, wanted in ((["-flushwrite", 1], flushes), (["-syncwrite"], flushes), ([], []),
                         (["-flushwrite", 4, "-columns", "+OPS+FLUSHES"], ["OPS", "FLUSHES"])):
        run = curve(*words, *more, "-csvout", t.path("columns.csv"), "-jsonout", t.path("columns.json"))
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
    refused("two targets", ["-op", "noop", "-targets", 2, "null", "null", "-numreqs", 1], r"a curve is that of one target, and there are 2")
    for load in ("0", "1,,2", "5,5.0", "2000", "x", "9..1"):
        refused("-load " + load, write + ["-load", load], r"curve: -load \S+: ")
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
    """SIGINT and SIGKILL at random moments: each point has each round once, and rates follow from the first maximum."""
    draw = random.Random(3)
    journal = t.path("long.journal")
    words = [*NULL, *SHORT, "-operationdelay", "0.0001", "-load", "20..90+10", "-goal", "p99=50ms", "-jsonout", t.path("long.json"),
             "-journal", journal]
    wrong, stops = [], 0
    for i in range(40):
        number = signal.SIGKILL if i % 2 else signal.SIGINT
        with subprocess.Popen([t.XDD, "curve", *words] + (["-resume"] if os.path.exists(journal) else []), stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE) as p:
            time.sleep(0.1 + 0.3 * draw.random())
            p.send_signal(number)
            out, err = p.communicate(timeout=60)
        if p.returncode == 0:
            break
        stops += 1
        if p.returncode not in (5, -signal.SIGINT, -signal.SIGKILL) or (p.returncode == 5 and b"-resume continues" not in out):
            wrong.append((i, p.returncode, out, err))
    t.equal(wrong, [], "interrupted curves end with status 5 or by the signal")
    if p.returncode:
        t.equal(curve(*words, "-resume").status, 0, "the last one completes it")
    doc = j.load(t.path("long.json"))
    rounds = [[r["round"] for r in p["rounds"]] for p in doc["points"]]
    t.ok(stops > 0 and all(r == list(range(1, len(r) + 1)) and len(r) >= 2 for r in rounds), "each point has each round once",
         (stops, rounds))
    rate = doc["curve"]["maximum"]["iops"]
    offered = {p["point"]: float(p["words"][p["words"].index("-throttle") + 2]) for p in doc["points"] if "-throttle" in p["words"]}
    t.ok(len(offered) >= 8 and all(abs(offered[x["point"]] / (rate * x["percent"] / 100) - 1) < 1e-6 for x in doc["curve"]["loads"]),
         "all rates are shares of the same maximum", (rate, offered))


# ---- the law ----

SERVERS, SERVICE_S = 4, 0.005
GOAL_S = 1.5 * SERVICE_S  # of the mean: at 83 %
RUNS, EACH_S, AGAIN = 20, 2, 10
NEAR, NEAR_LOAD = 0.05, 0.03


def measure(fs, each, *words, **kwargs):
    run = curve("-op", "read", "-target", fs.data, "-reqsize", "4k", "-dio", "-seek", "random", "-queuedepth", SERVERS, "-each", each,
                "-jsonout", t.path("law.json"), *words, timeout=t.TIMEOUT + 300, **kwargs)
    return j.of_sweep(run, "law.json", "M/D/%d" % SERVERS)


def near(ratio, by=NEAR):
    return abs(ratio - 1) < by


def agrees(rounds):
    """Some round of a load has the response times of theory. The machine can disturb a round, and only make it slower."""
    return any(all(near(m / e) for m, e in zip(r.measured, r.theory) if m is not None) for r in rounds)


def first(priority, tasks=(0,)):
    """Let these threads, 0 for this process, have the processors before those without a priority."""
    for task in tasks:
        os.sched_setscheduler(int(task), os.SCHED_FIFO, os.sched_param(priority))


def may_be_first(fs):
    """Let the target have the processors before all others, as the program may then; False where that is not allowed."""
    try:
        first(20, os.listdir("/proc/%d/task" % fs.process.pid))
    except PermissionError:
        return False
    return True


def short_law(fs):
    """Other tests run beside this one: the program and its target go first, where they may."""
    go_first = {"preexec_fn": lambda: first(10)} if may_be_first(fs) else {}
    found = {20: [], 50: [], 70: []}
    for _ in range(5):
        doc = measure(fs, "0.8s", "-load", "20,50,70", **go_first)
        for x in doc["curve"]["loads"] if doc else ():
            found.setdefault(x["percent"], []).extend(law.rounds_of(doc, x, SERVERS))
        if not doc or all(agrees(found[share]) for share in (20, 50, 70)):
            break
    seen = {share: [(r.measured, r.theory) for r in rounds] for share, rounds in found.items()}
    t.ok(all(agrees(found[share]) for share in (20, 50, 70)),
         "up to 70 %% response times are those of M/D/%d with the same arrivals" % SERVERS, seen)
    issued = {share: [(r.ops, r.due()) for r in rounds] for share, rounds in found.items()}
    t.ok(all(ops <= due for pairs in issued.values() for ops, due in pairs), "nothing is issued that is not due", issued)
    t.ok(all(any(ops == due for ops, due in issued[share]) for share in (20, 50)),
         "all that is due is issued where no queue is left at the end", issued)


class Law:
    """
    A curve against theory. Rounds during which the machine stood still, by a witness that is neither xdd nor the
    target, are no measurement of a target that keeps its law: they are left out where a load is compared. What the
    program makes of all rounds together, the knee and the goal, is compared with what theory makes of them, where
    such a round counts as it was measured.
    """

    def __init__(self, doc, watch):
        self.curve = doc["curve"]
        self.loads = [x for x in self.curve["loads"] if x["percent"] <= 95]
        self.rounds = {x["percent"]: law.rounds_of(doc, x, SERVERS) for x in self.loads}
        every = [r for rounds in self.rounds.values() for r in rounds]
        for r in every:
            r.quiet = watch.quiet(r.begin, r.end)
        self.left_out = "%d of %d rounds" % (sum(not r.quiet for r in every), len(every))
        # A machine that stands so often says nothing of xdd.
        self.counts = all(any(r.quiet for r in rounds) for rounds in self.rounds.values())
        for rounds in self.rounds.values() if self.counts else ():
            service = [r.service for r in rounds if r.quiet]
            for r in rounds:
                if not r.quiet:
                    # As it would have been.
                    r.service = sum(service) / len(service)
                    r.theory = r.at(r.rate)
                r.expected = r.theory if r.quiet else r.measured

    def ratios(self):
        """
        Measured to expected mean, p50 and p99 of each load, as far as there are enough operations for these.
        """
        found = {}
        for share, rounds in self.rounds.items():
            quiet = [r for r in rounds if r.quiet]
            known = [i for i in range(3) if all(r.measured[i] is not None for r in quiet)]
            found[share] = [sum(r.measured[i] for r in quiet) / sum(r.theory[i] for r in quiet) for i in known]
        return found

    def service_ratios(self):
        """The service times that xdd has measured, to that of the target."""
        return [r.service / SERVICE_S for rounds in self.rounds.values() for r in rounds if r.quiet]

    def knee(self):
        loads = [x["percent"] for x in self.loads if not x["probe"] and not x["overloaded"]]
        rounds = min(len(self.rounds[share]) for share in loads)
        return law.knee([share / 100 for share in loads], [[r.expected[0] for r in self.rounds[share][:rounds]] for share in loads])

    def limit_of_goal(self, share, disturbed):
        """
        Where the goal ceases to hold, as a share, by the arrivals of this load; with what disturbed its rounds, or as if
        nothing had.
        """
        rounds = self.rounds[share]
        added = sum(r.expected[0] - r.theory[0] for r in rounds) if disturbed else 0
        low, high = 0.8, 1.2
        while high - low > 0.0005:
            middle = (low + high) / 2
            mean = (sum(r.at(middle * r.rate)[0] for r in rounds) + added) / len(rounds)
            low, high = (middle, high) if mean <= GOAL_S else (low, middle)
        return low * share / 100

    def goal_ratios(self, disturbed=True):
        """
        The load at which the goal holds to where it ceases to by the arrivals there, and the same of the one at which it
        does not: these may have rounds of different numbers, and so different limits.
        """
        sides = [self.curve["goal"][side] for side in ("holds_percent", "fails_percent")]
        return [side / 100 / self.limit_of_goal(side, disturbed) for side in sides] if all(sides) else [0, 0]


def measure_long(fs):
    """A curve whose program and target have the processors before all others; repeated where the machine stands still."""
    for _ in range(1 + AGAIN):
        with law.Watch() as watch:
            doc = measure(fs, "%gs" % EACH_S, "-load", "20,40,60,70,80,90,95", "-goal", "mean=%gms" % (GOAL_S * 1e3),
                          preexec_fn=lambda: first(10))
        found = doc and Law(doc, watch)
        if not found or found.counts:
            return found
        print("# a curve that does not count: the machine stood still in %s" % found.left_out, flush=True)
    return None


def long_law(fs):
    """
    Each curve against theory with its own arrivals. Against the mean of all arrivals that there could be, one curve of
    this length differs by chance: its knee by 4 % (standard error). So that is compared over all curves together, and
    with the intervals that the program states.
    """
    long_run, typical = law.long_run_knee(SERVERS), law.typical_knee(SERVERS, EACH_S / 5 / SERVICE_S * SERVERS, 5)
    knees, covered = [], 0
    for i in range(RUNS):
        found = measure_long(fs)
        if not found:
            t.ok(False, "run %d: a curve on a machine that runs" % i)
            continue
        ratios, service, knee = found.ratios(), found.service_ratios(), found.curve["knee"]
        t.ok(all(near(ratio) for row in ratios.values() for ratio in row), "run %d: response times are within 5 %%" % i, ratios)
        t.ok(all(0.999 < ratio < 1.1 for ratio in service), "run %d: service times are those of the target" % i, service)
        ratio = knee["percent"] / 100 / found.knee() if knee else 0
        t.ok(near(ratio, NEAR_LOAD), "run %d: the knee is within 3 %%" % i, (knee, ratio))
        if knee:
            knees.append(knee["percent"] / 100)
            covered += knee["low_percent"] <= long_run * 100 <= knee["high_percent"]
        goal = found.curve["goal"]
        holds, fails = found.goal_ratios()
        t.ok(holds < 1 + NEAR_LOAD and fails > 1 - NEAR_LOAD and goal["fails_percent"] <= 1.0201 * goal["holds_percent"],
             "run %d: the load of the goal is within 3 %%" % i, (goal, holds, fails))
        sides = found.goal_ratios(disturbed=False)
        t.ok(sides[0] < 1.1 and sides[1] > 0.9, "run %d: what disturbs single rounds does not hide it" % i, (goal, sides))
        print("# run %d: %s; knee %.4f of %s; goal %.4f to %.4f (undisturbed %.4f to %.4f) at %.5g %%; the machine stood still in %s" % (
            i, ", ".join("%.5g %%: %s" % (share, " ".join("%.3f" % x for x in row)) for share, row in ratios.items()),
            ratio, knee and "%.4g %%" % knee["percent"], holds, fails, *sides, goal["holds_percent"], found.left_out), flush=True)
    mean = sum(knees) / max(len(knees), 1)
    print("# knee: mean %.4f, theory of curves of this length %.4f, of endless ones %.4f, which %d intervals include" % (
        mean, typical, long_run, covered))
    t.ok(near(mean / typical, NEAR_LOAD), "the mean of all knees is within 3 % of theory with arrivals of its own", (mean, typical))
    # By chance fewer than 16 of 20 intervals of 95 % include it once in 380 times.
    t.ok(covered >= 0.8 * RUNS, "the intervals of the knee include that of endless curves", covered)


def test_law():
    fs = w.slow_fs(64 << 20, "constant:%d" % (SERVICE_S * 1e6))
    if not fs:
        t.skip("the law of M/D/c", s.sys_why())
        return
    short_law(fs)
    if LONG and may_be_first(fs):
        long_law(fs)
    elif LONG:
        t.skip("the law of M/D/c, 20 times", "no priority over other processes")
    fs.end()


def test_help():
    run = curve("-help")
    t.ok(run.status == 0 and "-goal <figure>=<time>" in run.out and "-pairs" not in run.out, "the help", run)
    run = t.command([t.XDD, "-help", "curve"])
    t.ok(run.status == 0 and "usage: xdd curve" in run.out, "xdd -help curve", run)


t.real_time()
t.run(test_points, test_few, test_compare, test_depth, test_unsure, test_lateness, test_columns, test_dryrun, test_refused, test_errors, test_interrupted, test_law,
      test_help)
t.done()
