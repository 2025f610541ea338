#!/usr/bin/env python3
"""
-deskew: the bandwidth while all targets were transferring. The windows are computed again from the strace
output of the same run; and the figures must agree with each other and with the result lines.
"""
import os
import re
import sys

sys.path.insert(0, os.path.join(os.environ["TOP_SRCDIR"], "tests", "lib"))
import messages as m
import xddjson
import xddsys as s
import xddtest as t
import xddtrace

t.tolerate(t.BUFFERED)

LIMIT_S = 120
PARTS = ("whole", "head", "window", "tail")
SIZE = 4096
ATTEMPTS = 5        # of a comparison with strace: both look at clocks, and either may be held up between


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
        # A first target that is held up as it starts makes a head that much shorter.
        t.ok(any(f["head"][0] >= 0.09 and f["window"][0] >= 0.01 for f in passes),
             "the head lasts as long as the start delays", run)


def test_columns():
    words = ("-op noop -targets 2 null null -reqsize 4 -numreqs 60 -numreqs target 1 30 -operationdelay 5ms "
             "-passes 2 -outputformat add +DESKEWTIME+DESKEWBANDWIDTH+DESKEWIOPS+TAILTIME+TAILBANDWIDTH+TAILIOPS+FAIRNESS").split()

    def measure():
        run, rows = t.xdd_csv(*words, "-deskew", timeout=LIMIT_S)
        return len(rows) == 1 and all(float(rows[0][name]) > 0.2 for name in ("DESKEWTIME", "TAILTIME")), run, rows
    _, run, rows = t.again(measure)
    f = Figures(run, "combined")
    got = [float(rows[0][name]) for name in ("DESKEWTIME", "DESKEWBANDWIDTH", "DESKEWIOPS", "TAILTIME", "TAILBANDWIDTH",
                                                 "TAILIOPS", "FAIRNESS")]
    wanted = [f["window"][0], f["window"][2], f["window"][3], f["tail"][0], f["tail"][2], f["tail"][3], f.fairness[0]]
    t.ok(len(rows) == 1 and all(near(a, b, 0.0011) for a, b in zip(got, wanted)) and got[0] > 0.2 and got[3] > 0.2,
         "the columns of COMBINED hold what the lines say", "%s %s\n%s" % (got, wanted, run))
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
    for _ in range(ATTEMPTS):
        run = t.xdd("-op", "read", "-targets", 2, "null", "null", "-reqsize", 64, "-seek", "load", listed, *"-operationdelay 3ms "
                    "-deskew -startdelay target 1 0.05".split(), timeout=LIMIT_S)
        f = Figures(run, "pass 1")
        # Unless the second target was held up, the first has not come to its large requests.
        if not f.once or f["head"][0] < 0.14:
            break
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
    run = t.xdd(*"-op noop -targets 1 null -reqsize 4 -numreqs 2000 -queuedepth 3 -deskew".split(), timeout=LIMIT_S)
    f = Figures(run, "pass 1")
    t.ok(run.status == 0 and f.once and f["window"] == f["whole"] and f.fairness[0] == 1,
         "one target: the window is the whole", run)


def test_silent():
    run = t.xdd(*"-op noop -targets 2 null null -numreqs 10 -verbose".split(), timeout=LIMIT_S)
    t.equal((run.status, "Deskew" in run.out, "Fairness" in run.out), (0, False, False),
            "without -deskew nothing is said", run)


# Against strace

def traced(args):
    """Run xdd under strace; returns the run and (file, begin, end, bytes) of each write, in seconds."""
    log = t.path("strace.out")
    env = ["-E", "ASAN_OPTIONS=" + os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0"]
    run = t.command(["strace", "-f", "-y", "-ttt", "-T", "-s", "0", "-o", log, "-e", "signal=none", "-e", "trace=pwrite64"] +
                    env + t.xdd_words(*args), timeout=LIMIT_S)
    ops, begun = [], {}
    with open(log, errors="replace") as f:
        for line in f:
            pid, at, text = line.split(None, 2)
            took = re.search(r"= (\d+) <([\d.]+)>$", text.rstrip())
            m = re.match(r"pwrite64\(\d+<([^>]*)>", text)
            if m:
                begun[pid] = (m.group(1), float(at))
            if took and pid in begun:
                file, begin = begun.pop(pid)
                ops.append((file, begin, begin + float(took.group(2)), int(took.group(1))))
    os.unlink(log)
    return run, ops


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


def test_against_strace():
    """Two targets that overlap for a while, as the guide has it: by their delays, or because one does more."""
    for title, words in (("start delays", "-startdelay target 1 0.2 -numreqs 60"),
                         ("unequal amounts", "-numreqs 80 -numreqs target 0 40"),
                         ("a target inside the other", "-numreqs 80 -numreqs target 1 20 -startdelay target 1 0.1"),
                         ("queue depth 3", "-numreqs 120 -queuedepth 3 -startdelay target 1 0.15")):
        title = "as strace saw it: " + title
        if t.ENGINE or not s.can_trace():
            t.skip(title, "strace does not see what an engine that queues does" if t.ENGINE else s.sys_why())
            continue
        files = [t.path("a"), t.path("b")]
        for _ in range(ATTEMPTS):
            run, ops = traced(["-op", "write", "-targets", 2, *files, "-reqsize", 4, "-operationdelay", "7ms", "-deskew"] +
                              words.split())
            f, wanted = Figures(run, "pass 1"), parts_of(ops, files)
            good = run.status == 0 and f.once and all(near(f[p][0], wanted[p][0], 0.004) and
                                                      near(f[p][1], wanted[p][1], 3 * SIZE) for p in PARTS)
            if good:
                break
        t.ok(good, title, "wanted: %s\n%s" % (wanted, run))


# Against the trace

def moved_around(ops, at, by):
    """Bytes that go over in so many seconds on either side: what an interval may have on the wrong side of `at`."""
    return sum(size * max(0, min(end, at + by) - max(begin, at - by)) / max(end - begin, 1e-9) for _, begin, end, size in ops)


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
                    "-passes", 2, "-deskew", "-ts", "detailed", "-ts", "output", t.path("ts"), timeout=LIMIT_S)
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


t.run(test_consistent, test_columns, test_document, test_operations, test_without_overlap, test_silent, test_against_strace, test_against_trace)
t.done()
