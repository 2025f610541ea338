#!/usr/bin/env python3
"""
xdd curve: its points and files, what is refused before the first run, curves that are interrupted and resumed, and the
law: on a target with a fixed latency and c outstanding operations, response times are those of a queue M/D/c, which is
simulated here.

XDD_TEST_LONG=1 measures the law 20 times with the bounds of an idle machine: 5 % for response times, 3 % for the knee
and the load of the goal. Otherwise its bounds are those of a busy one.
"""
import csv
import heapq
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
import xddpoisson
import xddsys as s
import xddtest as t

t.tolerate(t.BUFFERED, t.CACHED)
t.may_warn(m.RATE_NOT_REACHED, m.BANDWIDTH_NOT_REACHED, r"curve: the maximum is not steady after \d+ rounds")

LONG = bool(os.environ.get("XDD_TEST_LONG"))
NULL = "-op noop -target null -numreqs 300".split()
SHORT = ["-queuedepth", "2", "-each", "0.1s", "-rounds", "2", "-orderseed", "7"]


def curve(*args, **kwargs):
    return t.command([t.XDD, "curve"] + [str(a) for a in args], **kwargs)


def document(run, name, title):
    t.equal(run.status, 0, title, run)
    try:
        doc = j.load(t.path(name))
    except (OSError, ValueError) as e:
        t.ok(False, title + ": the document can be read", e)
        return None
    rules = j.schema("sweep.schema.json")
    t.equal(list(j.complaints(doc, rules, rules))[:5], [], title + ": the document is as the schema has it")
    return doc


def test_points():
    run = curve(*NULL, *SHORT, "-load", "20,50%,120", "-goal", "p99=10s", "-jsonout", t.path("a.json"), "-csvout", t.path("a.csv"))
    doc = document(run, "a.json", "a curve")
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
    t.equal({x["overloaded"] for x in found["loads"] if x["percent"] > 100}, {True}, "a load above the maximum is an overload")
    late = ["lateness", "lateness_p50", "lateness_p99", "lateness_p99.9", "lateness_max"]
    known = [x for x in found["loads"] if x["percent"] in (20, 50)]
    t.ok(len(known) == 2 and all(None not in [x[f] for f in late] and 0 < x["lateness"] <= x["lateness_max"] and
                                 x["lateness_p50"] <= x["lateness_p99"] for x in known), "the lateness of xdd itself at each load", known)
    t.equal({x[f] for x in found["loads"] if x["percent"] > 100 for f in late}, {None}, "except an overload")
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


def check_repeats(point):
    """The words of a point with the seed of a round have the arrivals of that round, and no others."""
    rate, seeds = float(point["words"][point["words"].index("-throttle") + 2]), [r["seek_seed"] for r in point["rounds"]]
    run = t.xdd(*point["words"], "-seek", "seed", seeds[0], "-seek", "save", t.path("again"))
    t.equal(run.status, 0, "a round is repeated", run)
    with open(t.path("again.T0.txt"), encoding="ascii") as f:
        due = [int(line.split()[4]) / 1e9 for line in f if not line.startswith("#")]
    gaps = xddpoisson.arrivals(len(due), seeds[0])
    t.ok(len(set(seeds)) == len(seeds) and len(due) == 300 and max(abs(at - gap / rate) for at, gap in zip(due, gaps)) < 1e-8,
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
    doc = document(run, "depth.json", "a search for the depth")
    if doc:
        depth = doc["curve"]["maximum"]["searched_queue_depth"]
        tried = [p["varied"]["load"] for p in doc["points"] if p["varied"]["load"].startswith("max, depth ")]
        t.ok(depth > 2 and "max, depth %d" % depth in tried, "a target with a latency needs a depth", (depth, tried))
        loads = [p["words"] for p in doc["points"] if p["varied"]["load"] == "30 %"]
        t.ok(len(loads) == 1 and loads[0][loads[0].index("-queuedepth") + 1] == str(depth), "the loads have it", loads)


def test_unsure():
    """A load of the command line whose figure scatters around the limit has further rounds before it decides."""
    # A round of 60 operations has a slow one or none, with even chances.
    fs = w.slow_fs(1 << 20, "bimodal:1000:30000:1.15")
    if not fs:
        t.skip("a load next to the limit", s.sys_why())
        return
    for _ in range(3):
        run = curve("-op", "read", "-target", fs.data, "-reqsize", "4k", "-dio", "-numreqs", 60, "-queuedepth", 2, "-load", "20",
                    "-goal", "p99=15ms", "-jsonout", t.path("unsure.json"))
        doc = document(run, "unsure.json", "a curve of a target that scatters")
        if not doc or not doc["curve"]["goal"]["sure"]:
            break
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
        run = curve("-op", "read", "-target", fs.data, "-reqsize", "4k", "-dio", "-ioengine", engine, "-queuedepth", 4, "-each", "0.8s",
                    "-rounds", 2, "-load", "20", "-jsonout", t.path(engine + ".json"))
        doc = document(run, engine + ".json", "a curve of a slow target, " + engine)
        x = doc["curve"]["loads"][0] if doc else {}
        t.ok(doc and x["service"] > 19e6 and x["lateness"] is not None and x["lateness_p50"] < x["service"],
             "the lateness is not that of the target", x)
    fs.end()


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
    run = curve("-op", "read", "-target", some, "-reqsize", "4k", "-startoffset", "1M", "-numreqs", 4, *SHORT, tolerate=".")
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


def simulate(rate, service, servers, operations, seed):
    """Response times of M/D/c that begins empty, sorted; in the unit of `service`."""
    draw, now = random.Random(seed), 0.0
    free = [0.0] * servers
    found = []
    for _ in range(operations):
        start = max(now, free[0])
        heapq.heapreplace(free, start + service)
        found.append(start + service - now)
        now += draw.expovariate(rate)
    return sorted(found)


def expected(rate, service, servers, seconds):
    """Mean and 99th percentile of rounds of this length."""
    means, p99 = [], []
    for seed in range(60):
        x = simulate(rate, service, servers, max(int(rate * seconds), 1), seed)
        means.append(sum(x) / len(x))
        p99.append(x[min(len(x) - 1, int(0.99 * len(x)))])
    return sum(means) / len(means), sum(p99) / len(p99)


def measure(fs, servers, seconds, goal):
    run = curve("-op", "read", "-target", fs.data, "-reqsize", "4k", "-dio", "-seek", "random", "-queuedepth", servers, "-each",
                "%gs" % seconds, "-load", "20..90+10,95", "-goal", "p99=%gms" % goal, "-jsonout", t.path("law.json"),
                timeout=t.TIMEOUT + 60 * seconds)
    return document(run, "law.json", "M/D/%d" % servers)


def deviations(doc, servers, round_s):
    """The measured mean response time of each load as a ratio of the simulated one."""
    ratios = {}
    for x in doc["curve"]["loads"]:
        if not x["overloaded"] and not x["probe"]:
            mean, _ = expected(x["offered_iops"], x["service"] / 1e9, servers, round_s)
            ratios[x["percent"]] = x["response"] / 1e9 / mean
    return ratios


def knee_of(service, servers, round_s):
    """The share of greatest power by simulation."""
    def ratio(share):
        return expected(share * servers / service, service, servers, round_s)[0] / share
    return min((i / 100 for i in range(40, 96)), key=ratio)


def goal_of(service, servers, round_s, limit):
    low, high = 0.1, 1.0
    while high - low > 0.002:
        middle = (low + high) / 2
        if expected(middle * servers / service, service, servers, round_s)[1] <= limit:
            low = middle
        else:
            high = middle
    return low


def test_law():
    servers = 4
    fs = w.slow_fs(64 << 20, "constant:5000")
    if not fs:
        t.skip("the law of M/D/c", s.sys_why())
        return
    if not LONG:
        for _ in range(3):
            doc = measure(fs, servers, 1, 12)
            ratios = deviations(doc, servers, 0.2) if doc else {}
            some = [r for share, r in ratios.items() if share <= 70]
            good = len(some) >= 3 and all(0.8 < r < 1.5 for r in some)
            if good:
                break
        t.ok(good, "response times up to 70 %% are near those of M/D/%d" % servers, ratios)
        fs.end()
        return
    for i in range(20):
        doc = measure(fs, servers, 20, 12)
        ratios = deviations(doc, servers, 4)
        t.ok(all(0.95 < r < 1.05 for share, r in ratios.items() if share <= 95), "run %d: response times are within 5 %%" % i, ratios)
        service = servers / doc["curve"]["maximum"]["iops"]
        knee = knee_of(service, servers, 4) * 100
        t.ok(doc["curve"]["knee"] and abs(doc["curve"]["knee"]["percent"] / knee - 1) < 0.03, "run %d: the knee is within 3 %%" % i,
             (doc["curve"]["knee"], knee))
        goal = goal_of(service, servers, 4, 0.012) * 100
        t.ok(abs(doc["curve"]["goal"]["holds_percent"] / goal - 1) < 0.03, "run %d: the load of the goal is within 3 %%" % i,
             (doc["curve"]["goal"], goal))
    fs.end()


def test_help():
    run = curve("-help")
    t.ok(run.status == 0 and "-goal <figure>=<time>" in run.out and "-pairs" not in run.out, "the help", run)
    run = t.command([t.XDD, "-help", "curve"])
    t.ok(run.status == 0 and "usage: xdd curve" in run.out, "xdd -help curve", run)


t.run(test_points, test_depth, test_unsure, test_lateness, test_dryrun, test_refused, test_errors, test_interrupted, test_law, test_help)
t.done()
