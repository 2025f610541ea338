#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""
-deskew: the bandwidth while all targets were transferring. In virtual time the windows follow from the words and from the
law of the device; and the figures must agree with each other, with the time stamps and with the result lines.
"""
import math
import re

import messages as m
import xddjson
import xddtest as t
import xddtrace

t.virtual_time()

LIMIT_S = 120
PARTS = ("whole", "head", "window", "tail")
SIZE = 4096


# Of an interval without length there is no rate.
NONE = (0, 0, None, None)


def rate(word):
    return None if word == "-" else float(word)


class Figures:
    """The lines of one pass, or of "combined": (seconds, bytes, MB/s, Ops/s) of each part, and the fairness."""

    def __init__(self, run, of):
        found = re.findall(r"^Deskew, %s, (\w+), ([\d.]+), seconds, (\d+), bytes, (-|[\d.]+), MB/s, (-|[\d.]+), Ops/s$" % of,
                           run.out, re.M)
        self.parts = {x[0]: (float(x[1]), int(x[2]), rate(x[3]), rate(x[4])) for x in found}
        self.once = len(found) == len(self.parts) == 4
        m = re.findall(r"^Fairness, %s, ([\d.]+), slowest, target (\d+), (-|[\d.]+), MB/s, "
                       r"fastest, target (\d+), (-|[\d.]+), MB/s$" % of, run.out, re.M)
        self.fairness = [rate(x) for x in m[0]] if len(m) == 1 else None

    def __getitem__(self, what):
        return self.parts[what]


def near(a, b, by):
    return abs(a - b) <= by


def consistent(run, of, rows):
    """The figures of a pass agree with each other and with its TARGET_PASS rows, or with a COMBINED one."""
    f = Figures(run, of)
    if not f.once or not f.fairness:
        return t.ok(False, of + ": four parts and the fairness", run)
    whole, head, window, tail = (f[p] for p in PARTS)
    t.ok(head[1] + window[1] + tail[1] == whole[1] and near(head[0] + window[0] + tail[0], whole[0], 3e-6),
         of + ": head, window and tail are the whole", run)
    t.ok(all(near(seconds * rate * 1e6, count, 0.02 * count + 2000) and near(ops * SIZE, rate * 1e6, 1e-4 * rate * 1e6 + 1000)
             for seconds, count, rate, ops in f.parts.values()), of + ": bytes and operations over time are the rates", run)
    t.equal(whole[1], sum(int(r["Bytes_Xfered"]) for r in rows), of + ": the bytes of the result lines")
    rates = [float(r["Bandwidth"]) for r in rows]
    slowest, fastest = int(f.fairness[1]), int(f.fairness[3])
    if len(rates) > 1:
        t.ok(near(f.fairness[2], min(rates), 0.002) and near(f.fairness[4], max(rates), 0.002) and
             near(rates[slowest], min(rates), 0.002) and near(rates[fastest], max(rates), 0.002) and
             near(f.fairness[0], min(rates) / max(rates), 0.002), of + ": the slowest target against the fastest", run)
    return f


def test_consistent():
    run = t.xdd(*("-op noop -targets -3 null -reqsize 4 -numreqs 60 -numreqs target 2 20 -operationdelay 5ms "
                  "-targetstartdelay 0.05 -passes 3 -verbose -deskew").split(), timeout=LIMIT_S)
    t.equal((run.status, run.err), (0, ""), "three targets, three passes", run)
    rows = [r for r in run.rows() if r["What"] == "TARGET_PASS"]
    passes = [consistent(run, "pass %d" % n, [r for r in rows if r["Pass"] == str(n)]) for n in (1, 2, 3)]
    combined = consistent(run, "combined", [r for r in run.rows() if r["What"] == "COMBINED"])
    if combined and all(passes):
        t.ok(all(combined[p][1] == sum(f[p][1] for f in passes) and
                 near(combined[p][0], sum(f[p][0] for f in passes), 5e-6) for p in PARTS),
             "combined: the sums of the passes", run)
        # Targets begin after 0, 50 and 100 ms; the last operations begin after 295, 345 and 195 ms, and take no time.
        t.equal([[f[p][0] for p in PARTS] for f in passes], [[0.345, 0.1, 0.095, 0.15]] * 3, "head, window and tail of each pass", run)


def test_columns():
    words = ("-op noop -targets 2 null null -reqsize 4 -numreqs 60 -numreqs target 0 30 -operationdelay 5ms "
             "-passes 2 -outputformat add +DESKEWTIME+DESKEWBANDWIDTH+DESKEWIOPS+TAILTIME+TAILBANDWIDTH+TAILIOPS+FAIRNESS").split()

    run, rows = t.xdd_csv(*words, "-deskew", timeout=LIMIT_S)
    f = Figures(run, "combined")
    got = [float(rows[0][name]) for name in ("DESKEWTIME", "DESKEWBANDWIDTH", "DESKEWIOPS", "TAILTIME", "TAILBANDWIDTH",
                                                 "TAILIOPS", "FAIRNESS")]
    wanted = [f["window"][0], f["window"][2], f["window"][3], f["tail"][0], f["tail"][2], f["tail"][3], f.fairness[0]]
    t.ok(len(rows) == 1 and all(near(a, b, 0.0011) for a, b in zip(got, wanted)),
         "the columns of COMBINED hold what the lines say", "%s %s\n%s" % (got, wanted, run))
    # Of two passes: 30 operations of the first target until 145 ms, and 60 of the second one until 295 ms.
    t.equal((got[0], got[3], f.fairness[1::2]), (0.29, 0.3, [1, 0]), "and these are the window, the tail and the slowest target")
    run, rows = t.xdd_csv(*words, timeout=LIMIT_S)
    t.equal([(r["DESKEWTIME"], r["TAILIOPS"], r["FAIRNESS"]) for r in rows], [("", "", "")], "without -deskew they are empty")


def test_document():
    file = t.path("deskew.json")
    run = t.xdd(*("-op noop -targets 3 null null null -reqsize 4 -numreqs 40 -operationdelay 2ms -targetstartdelay 0.02 "
                  "-passes 2 -deskew -verbose -jsonout").split(), file, timeout=LIMIT_S)
    document = xddjson.check(file, "the document of -deskew") or {}
    found = document.get("deskew", [])
    t.equal([d["pass"] for d in found], [1, 2, None], "-jsonout has each pass, and all")
    for d in found:
        f = Figures(run, "pass %d" % d["pass"] if d["pass"] else "combined")
        t.ok(f.once and all(near(f[p][0], d[p]["ns"] / 1e9, 1e-6) and f[p][1] == d[p]["bytes"] and
                            near(f[p][0] * f[p][3], d[p]["ops"], 0.002 + 1e-5 * f[p][3]) for p in PARTS) and
             near(f.fairness[0], d["fairness"], 0.0006) and f.fairness[1::2] == [d["slowest_target"], d["fastest_target"]],
             "the document has what the lines say, pass %s" % d["pass"], "%s\n%s" % (d, run))
    lines = re.findall(r"^Start skew, pass (\d), ([\d.]+), seconds, first, target (\d), last, target (\d)$", run.out, re.M)
    t.equal([("%d" % k["pass"], "%.6f" % (k["skew_ns"] / 1e9), "%d" % k["first_target"], "%d" % k["last_target"])
             for k in document.get("start_skew", [])], lines, "the document has the skew of starts")
    t.equal(len(lines), 2, "of each pass")
    t.xdd(*"-op noop -targets 1 null -numreqs 10 -jsonout".split(), file)
    document = xddjson.check(file, "the document of one target") or {}
    t.equal([document.get("deskew"), document.get("start_skew")], [[], []], "one target without -deskew has neither")


def test_operations():
    """Operations are counted for themselves: requests of 4 and of 64 KiB, and those that fail are none."""
    listed = t.path("sizes.txt")
    with open(listed, "w") as f:
        f.writelines("%d %d %d r 0 0\n" % (n, 64 * n, 4 if n < 50 else 64) for n in range(60))
    run = t.xdd("-op", "read", "-targets", 2, "null", "null", "-reqsize", 64, "-seek", "load", listed, *"-operationdelay 3ms "
                "-deskew -startdelay target 1 0.05".split(), timeout=LIMIT_S)
    f = Figures(run, "pass 1")
    # 17 operations begin in the 50 ms before the second target does; the last of 60 begins after 177 ms.
    t.equal((f["head"][0], f["window"][0], f["tail"][0]), (0.05, 0.127, 0.05), "operations of two sizes: head, window and tail", run)
    ops = [f[p][0] * f[p][3] for p in PARTS] if f.once else []
    t.ok(run.status == 0 and f.once and near(ops[0], 120, 0.01) and near(sum(ops[1:]), 120, 0.01) and
         f["whole"][1] == 2 * (50 * 4 + 10 * 64) * 1024 and ops[1] > 0 and near(f["head"][1] / ops[1], SIZE, 0.01 * SIZE),
         "operations of two sizes: as many as there were, small ones in the head", run)
    file = t.make_file("half", 30 * SIZE)
    run = t.xdd("-op", "read", "-targets", 2, file, file, *"-reqsize 4 -numreqs 60 -timelimit 60 -operationdelay 2ms -deskew".split(),
                timeout=LIMIT_S, warns=m.REACHES)
    f = Figures(run, "pass 1")
    t.ok(run.status == 6 and f.once and near(f["whole"][0] * f["whole"][3], 60, 0.01), "operations that fail do not count", run)


def test_without_overlap():
    run = t.xdd(*("-op noop -targets 2 null null -reqsize 4 -numreqs 20 -operationdelay 2ms -starttrigger 0 1 percent 100 "
                  "-deskew").split(), timeout=LIMIT_S)
    f = Figures(run, "pass 1")
    t.ok(run.status == 0 and f.once and f["whole"][1] == 40 * SIZE and f["window"] == NONE == f["head"] == f["tail"],
         "targets that do not overlap have no window", run)
    run = t.xdd(*("-op noop -targets 2 null null -reqsize 4 -numreqs 20 -operationdelay 2ms -startdelay target 1 0.5 "
                  "-timelimit target 1 0.1 -stoptrigger 0 1 op 5 -deskew").split(), timeout=LIMIT_S)
    f = Figures(run, "pass 1")
    t.ok(run.status == 0 and f.once and f["whole"][1] == 20 * SIZE and f["window"] == NONE,
         "a target that did nothing: no window", run)
    run = t.xdd(*"-op noop -targets 1 null -reqsize 4 -numreqs 300 -operationdelay 1ms -queuedepth 3 -deskew".split(), timeout=LIMIT_S)
    f = Figures(run, "pass 1")
    t.ok(run.status == 0 and f.once and f["window"] == f["whole"] and f.fairness[0] == 1,
         "one target: the window is the whole", run)


def test_silent():
    run = t.xdd(*"-op noop -targets 2 null null -numreqs 10 -verbose".split(), timeout=LIMIT_S)
    t.equal((run.status, "Deskew" in run.out, "Fairness" in run.out), (0, False, False),
            "without -deskew nothing is said", run)


def parts_of(ops, files):
    """Seconds and bytes of the parts."""
    first = [min(begin for name, begin, _, _ in ops if name == f) for f in files]
    last = [max(end for name, _, end, _ in ops if name == f) for f in files]
    edges = [min(first), max(first), min(last), max(last)]

    def moved(a, b):
        return sum(size * max(0, min(end, b) - max(begin, a)) / (end - begin) if end > begin else size * (a <= begin < b)
                   for _, begin, end, size in ops)

    return {"whole": (edges[3] - edges[0], moved(edges[0], edges[3])), "head": (edges[1] - edges[0], moved(edges[0], edges[1])),
            "window": (edges[2] - edges[1], moved(edges[1], edges[2])), "tail": (edges[3] - edges[2], moved(edges[2], edges[3]))}


def moved_around(ops, at, by):
    """Bytes that go over in so many seconds on either side: what an interval may have on the wrong side of `at`."""
    return sum(size * max(0, min(end, at + by) - max(begin, at - by)) / max(end - begin, 1e-9) for _, begin, end, size in ops)


def issued(file, ops, depth, delay):
    """The operations of a target on a device of 3 ms: each QThread begins one each 10 ms."""
    begins = [delay + 0.01 * (n // depth) for n in range(ops)]
    return [(file, begin, begin + 0.003, SIZE) for begin in begins]


def test_law():
    """Two targets that overlap for a while, as the guide has it: by their delays, or because one does more."""
    files = [t.path("device.a"), t.path("device.b")]
    for title, words, ops in (("start delays", "-startdelay target 1 0.2 -numreqs 60", ((60, 1, 0), (60, 1, 0.2))),
                              ("unequal amounts", "-numreqs 80 -numreqs target 0 40", ((40, 1, 0), (80, 1, 0))),
                              ("a target inside the other", "-numreqs 80 -numreqs target 1 20 -startdelay target 1 0.1",
                               ((80, 1, 0), (20, 1, 0.1))),
                              ("queue depth 3", "-numreqs 120 -queuedepth 3 -startdelay target 1 0.15", ((120, 3, 0), (120, 3, 0.15)))):
        run = t.xdd("-op", "write", "-targets", 2, *files, "-reqsize", 4, "-operationdelay", "7ms", "-deskew", *words.split(),
                    device="/device. 3000000 6", timeout=LIMIT_S)
        ops = sum((issued(file, *of) for file, of in zip(files, ops)), [])
        f, wanted = Figures(run, "pass 1"), parts_of(ops, files)
        t.equal((run.status, [f[p][0] for p in PARTS], f["whole"][1]), (0, [round(wanted[p][0], 6) for p in PARTS], len(ops) * SIZE),
                "as the law has it: %s" % title, run)
        # The bytes of an interval, a power of two of nanoseconds, are spread over it: at an edge, a QThread of the target that
        # neither begins nor ends there has at most a quarter of an interval on the wrong side.
        interval_s = 2 ** math.ceil(math.log2(wanted["whole"][0] * 1e9 / 512)) / 1e9
        off = SIZE * (3 if "3" in title else 1) * interval_s / 4 / 0.003
        most = {"whole": 0, "head": off, "window": 2 * off, "tail": off}
        t.ok(all(near(f[p][1], wanted[p][1], most[p] + 1) for p in PARTS), "and its bytes: %s" % title, "wanted: %s\n%s" % (wanted, run))


def test_against_trace():
    """The times of all engines are those of the time stamps, and the bytes are off by an interval's at most."""
    listed = t.command([t.XDD, "-ioengine", "list"]).out
    for engine in ("psync", "libaio", "io_uring"):
        title = "%s, as the time stamps have it" % engine
        if t.ENGINE or not re.search(r"^%s +yes" % engine, listed, re.M):
            t.skip(title, "another engine is asked for" if t.ENGINE else "it is not there")
            continue
        files = [t.path(name) for name in "abc"]
        threads = [] if engine == "psync" else ["-threads", 2]
        run = t.xdd("-op", "write", "-targets", 3, *files, "-reqsize", 4, "-numreqs", 150, "-numreqs", "target", 1, 90,
                    "-queuedepth", 3, "-startdelay", "target", 2, 0.03, "-operationdelay", "2ms", "-ioengine", engine, *threads,
                    "-passes", 2, "-deskew", "-ts", "detailed", "-ts", "output", t.path("ts"), timeout=LIMIT_S, step=20000)
        rows = [r for i in range(3) for r in xddtrace.read_report(t.path("ts.target.%04d.csv" % i)).rows]
        first = min((r["StartTS"] for r in rows), default=0)
        for number in (1, 2):
            ops = [(files[r["Target"]], (r["StartTS"] - first) / 1e12, (r["EndTS"] - first) / 1e12, r["Bytes"])
                   for r in rows if r["Pass"] == number]
            f, wanted = Figures(run, "pass %d" % number), parts_of(ops, files)
            edges = [max(min(o[1] for o in ops if o[0] == file) for file in files),
                     min(max(o[2] for o in ops if o[0] == file) for file in files)]
            # The time before a target's first operation is in its intervals too.
            off = [moved_around(ops, at, (wanted["whole"][0] + 0.1) / 512) + 2 for at in edges]
            most = {"whole": 0, "head": off[0], "window": sum(off), "tail": off[1]}
            t.ok(run.status == 0 and len(ops) == 390 and f.once and
                 all(near(f[p][0], wanted[p][0], 2e-6) and near(f[p][1], wanted[p][1], most[p] + 1) for p in PARTS),
                 "%s, pass %d" % (title, number), "wanted: %s\nwithin %s\n%s" % (wanted, most, run))


t.run_all()
