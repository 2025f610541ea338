#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""
-intervals: rows that add up to the results in every kind of run, the same rows in CSV, in the JSON document and in the
table, gaps that show, short rows that are marked, the file, and what is refused. In virtual time.
"""
import csv
import fcntl
import os
import random
import re
import signal
import subprocess
import time

import messages as m
import xdde2e as e
import xddjson as j
import xddsys as s
import xddtest as t

t.virtual_time()
t.tolerate(t.CACHED)

HEADER = "START,END,TARGET,NAME,PASS,DIRECTION,OPS,BYTES,ERRORS,IOPS,BANDWIDTH,P50,P99,MAX,PARTIAL"
SEED = int(os.environ.get("XDD_TEST_SEED") or random.randrange(1 << 30))
MIXES = 200 if os.environ.get("XDD_TEST_LONG") else 12
_runs = 0


def ns(text):
    """Seconds or milliseconds with all digits as whole nanoseconds; None where it is empty."""
    whole, _, rest = text.partition(".")
    return int(whole + rest) if text else None


def of_csv(row):
    """A row of the file as it is in the document, without the rates."""
    number = {k: int(row[k.upper()]) for k in ("ops", "bytes", "errors")}
    return dict(number, start_ns=ns(row["START"]), end_ns=ns(row["END"]),
                target=None if row["TARGET"] == "all" else int(row["TARGET"]), name=row["NAME"],
                direction=row["DIRECTION"], partial=row["PARTIAL"] == "yes", p50_ns=ns(row["P50"]), p99_ns=ns(row["P99"]),
                max_ns=ns(row["MAX"]), **{"pass": int(row["PASS"]) if row["PASS"] else None})


def is_rate(text, value):
    return value is None if text == "" else abs(float(text) - value) <= 1e-6 * max(1, value)


def both(title, *words, interval="10ms", status=0, **kwargs):
    """A run with the file and the document: (run, document, rows of the document); checks that both are the same."""
    global _runs
    _runs += 1
    csv_file, json_file = t.path("series.%d.csv" % _runs), t.path("series.%d.json" % _runs)
    run = t.xdd(*words, "-intervals", interval, "output", csv_file, "-jsonout", json_file, **kwargs)
    t.equal(run.status, status, title + ": the run", run)
    document = j.check(json_file, title)
    rows, lines = document["intervals"], t.read_csv(csv_file)
    bare = [{k: v for k, v in r.items() if k not in ("iops", "bandwidth")} for r in rows]
    t.equal([of_csv(x) for x in lines], bare, title + ": the file has the rows of the document")
    t.ok(all(is_rate(x["IOPS"], r["iops"]) and is_rate(x["BANDWIDTH"], r["bandwidth"] and r["bandwidth"] / 1e6) for x, r in zip(lines, rows)),
         title + ": with the same rates", lines)
    return run, document, rows


def series(rows, key=("target", "direction")):
    found = {}
    for r in rows:
        found.setdefault(tuple(r[k] for k in key), []).append(r)
    return found


def test_exact():
    """Operations of 0.7 ms, 14 in each interval of 10 ms, and 50 in a pass: its last row ends after 35 ms."""
    file = t.make_file("device", 1 << 20)
    _, _, rows = both("a device", *"-op read -reqsize 4 -numreqs 50 -passes 2 -targets 1".split(), file, device="/device 700000")
    own = [r for r in rows if r["target"] == 0]
    t.equal([(r["pass"], r["start_ns"] / 1e6, r["end_ns"] / 1e6, r["ops"], r["max_ns"], r["partial"]) for r in own],
            [(1, 0, 10, 14, 700000, False), (1, 10, 20, 14, 700000, False), (1, 20, 30, 14, 700000, False),
             (1, 30, 35, 8, 700000, True),
             # The second pass begins in the same grid, after 35 ms: 7, 14 and 14 operations end before 40, 50 and 60 ms.
             (2, 35, 40, 7, 700000, True), (2, 40, 50, 14, 700000, False), (2, 50, 60, 14, 700000, False),
             (2, 60, 70, 15, 700000, False)], "rows are exact", own)
    t.equal([(r["iops"], round(r["bandwidth"])) for r in own[:4]], [(1400, 5734400)] * 3 + [(1600, 6553600)],
            "and so are their rates")
    _, _, rows = both("percentiles", *"-op read -reqsize 1 -numreqs 1000 -targets 1".split(), file, interval="1s",
                      device="/device " + ",".join(["100000"] * 98 + ["500000", "900000"]))
    # 980 operations of 0.1 ms, 10 of 0.5 and 10 of 0.9 ms: a percentile is the upper limit of its interval.
    t.equal([(r["ops"], r["p50_ns"] // 1000, r["p99_ns"] // 1000, r["max_ns"]) for r in rows], [(1000, 100, 500, 900000)] * 2,
            "percentiles are those of the service times")


def test_figures():
    """Each figure of a row from the others, and the rows of a pass one after the other."""
    run, document, rows = both("two passes of a mix", *"-rwratio 30 -targets 2 null null -reqsize 4 -timelimit 0.035".split(),
                               *"-passes 2 -qd 2 -throttle target 1 ops 3000".split(), step=1000)
    t.ok(all(r["bytes"] == 4096 * r["ops"] for r in rows),
         "operations and bytes of a row belong together", rows)
    t.ok(all((r["iops"] is None) == (r["bandwidth"] is None) == (r["end_ns"] == r["start_ns"]) for r in rows),
         "a row without length has no rates, each other one has them", rows)
    timed = [r for r in rows if r["iops"] is not None]
    t.ok(all(abs(r["iops"] * (r["end_ns"] - r["start_ns"]) - r["ops"] * 1e9) <= 1e-6 * r["ops"] * 1e9 + 1 and
             abs(r["bandwidth"] * (r["end_ns"] - r["start_ns"]) - r["bytes"] * 1e9) <= 1e-6 * r["bytes"] * 1e9 + 1
             for r in timed), "rates are those of the row", rows)
    ordered = [[x for x in (r["p50_ns"], r["p99_ns"], r["max_ns"] and r["max_ns"] * 1.01) if x is not None] for r in rows]
    t.ok(all(x == sorted(x) for x in ordered) and any(len(x) == 2 for x in ordered), "percentiles are in order", rows)
    t.ok(all((r["p50_ns"] is None, r["p99_ns"] is None) == (r["ops"] < 20, r["ops"] < 1000) for r in rows),
         "and there are none of too few operations", rows)
    t.equal(sorted(series(rows), key=str), sorted(((n, d) for n in (0, 1, None) for d in ("read", "write")), key=str),
            "rows for each target and direction, and for all", rows)
    for key, found in series(rows, ("target", "direction", "pass")).items():
        t.ok(all(a["end_ns"] == b["start_ns"] for a, b in zip(found, found[1:])), "no gap within a pass: %s" % (key,), found)
        t.ok(not any(r["partial"] for r in found[1:-1]), "only the ends of a pass are partial: %s" % (key,), found)
        t.ok(all(r["partial"] == (r["end_ns"] - r["start_ns"] < 10000000) for r in (found[0], found[-1])),
             "and these if they are short: %s" % (key,), found)
    first = [r for r in rows if r["pass"] == 1]
    t.equal({r["start_ns"] for r in first if r in [x[0] for x in series(first).values()]}, {0}, "the first pass begins at 0")
    ends = {p: max(r["end_ns"] for r in rows if r["pass"] == p) for p in (1, 2)}
    t.ok(all(r["start_ns"] >= ends[1] for r in rows if r["pass"] == 2), "passes do not overlap", rows)
    for p in j.rows(document, "TARGET_PASS"):
        own = [r for r in rows if (r["target"], r["pass"]) == (p["target"], p["pass"])]
        t.equal({d: sum(r["ops"] for r in own if r["direction"] == d) for d in ("read", "write")},
                {d: p["ops"][d] for d in ("read", "write")}, "they add up to pass %d of target %d" % (p["pass"], p["target"]))


def random_words(rng, files):
    """A run of some kind: its words."""
    n = rng.randint(1, 8)
    file = rng.random() < 0.5
    names = [rng.choice(files) for _ in range(n)] if file else ["null"] * n
    words = ["-targets", n, *names, "-reqsize", rng.choice((1, 4, 16)), "-queuedepth", rng.choice((1, 2, 5))]
    words += rng.choice((["-op", "read"], ["-op", "noop"])) if file else rng.choice((["-rwratio", 40], ["-op", "write"], ["-op", "noop"]))
    words += ["-numreqs", rng.choice((1, 7, 16))] if file or rng.random() < 0.3 else ["-timelimit", rng.choice((0.002, 0.007, 0.02))]
    words += ["-passes", rng.randint(1, 4)]
    if file:
        words += ["-ioengine", rng.choice([e for e in ("psync", "libaio", "io_uring", "mmap") if e in t.engines()])]
    for more in ("-nobarrier", "-passdelay 0.01", "-throttle ops 2000", "-runtime 0.2", "-targetstartdelay target 0 0.01",
                 "-operationdelay 0.001", "-latency intervals 0.02 output %s" % t.path("lat.csv"), "-verbose"):
        if rng.random() < 0.25:
            words += more.split()
    return words


def test_mixes():
    """Rows add up to the results, whatever the run is like; j.check() compares them."""
    rng = random.Random(SEED)
    t.diag("XDD_TEST_SEED=%d" % SEED)
    files = [t.make_file("mix%d" % i, 1 << 18) for i in range(3)]
    for i in range(MIXES):
        words = random_words(rng, files)
        if os.path.exists(t.path("lat.csv")):
            os.unlink(t.path("lat.csv"))
        interval = rng.choice(("1ms", "3ms", "0.02", "7"))
        title = "mix %d: %s, %s" % (i, " ".join(os.path.basename(str(w)) for w in words), interval)
        # Words that are drawn at random may ask for more than there is time for.
        both(title, *words, interval=interval, step=rng.choice((None, 100, 1000)),
             tolerate=(m.FEWER_PASSES_RUN, m.RUNTIME_FIRST_PASS, m.RATE_NOT_REACHED))


def test_many_targets():
    run, document, rows = both("64 targets", *"-op noop -targets -64 null -timelimit 0.05 -operationdelay 2ms".split())
    t.equal({r["target"] for r in rows}, {None, *range(64)}, "64 targets, and all")
    # An operation each 2 ms, from the begin on.
    t.equal({n: sum(r["ops"] for r in rows if r["target"] == n) for n in range(64)}, dict.fromkeys(range(64), 25), "and all of their operations")


def test_copies():
    """Both sides of an end-to-end copy."""
    size = (4 << 20) + 5
    source, documents = t.make_file("source", size), [t.path("copy.0.json"), t.path("copy.1.json")]
    words = [["-intervals", "5ms", "output", t.path("copy.%d.csv" % i), "-jsonout", file] for i, file in enumerate(documents)]
    copy = e.Copy(source, t.path("destination"), ["-blocksize", 4096, "-reqsize", 1, "-passes", 2], reads=words[0],
                  writes=words[1], ports=2).run()
    t.equal(copy.statuses(), (0, 0), "a copy", copy)
    for file, direction in zip(documents, ("read", "write")):
        rows = j.check(file, "the side that does %ss" % direction)["intervals"]
        t.equal(({r["direction"] for r in rows}, sum(r["bytes"] for r in rows if r["target"] == 0)), ({direction}, 2 * size),
                "its rows have the bytes of both passes")


def test_guide():
    """The commands of the user guide for plots."""
    with open(os.path.join(os.environ["TOP_SRCDIR"], "doc", "user-guide.md"), encoding="utf-8") as f:
        programs = re.findall(r"^awk -F, ('[^']*') series.csv$", f.read(), re.M)
    if not t.ok(len(programs) == 2, "the guide has two awk programs", programs):
        return
    file = t.path("series.csv")
    t.xdd(*"-rwratio 0 -targets 2 null null -timelimit 0.13 -passes 2 -operationdelay 1ms -intervals 0.05 output".split(), file)
    rows = [r for r in t.read_csv(file) if r["PARTIAL"] == "no"]
    # 50 operations of 128 KiB in each whole interval of 50 ms; the second pass begins after 130 ms.
    t.equal([(r["END"], r["BANDWIDTH"]) for r in rows if r["TARGET"] == "1"],
            [("%.9f" % end, "131.072000") for end in (0.05, 0.1, 0.2, 0.25)], "the rows of a target", rows)
    got = [t.command(["awk", "-F,", p.strip("'"), file]).out.split("\n")[:-1] for p in programs]
    t.equal(got[0], ["%s %s" % (r["END"], r["BANDWIDTH"]) for r in rows if r["TARGET"] == "all"], "points of all targets")
    least = {k: min(float(r["BANDWIDTH"]) for r in rows if r["TARGET"] == k) for k in ("0", "1", "all")}
    t.equal({x.split()[0]: float(x.split()[1]) for x in got[1]}, least, "the slowest interval of each target")


def test_errors():
    """Failures are counted in rows, and bytes and operations still add up."""
    file = t.make_file("failing", 65536)
    env = s.faults("eio", file="failing", start=0, end=8192)
    if env is None:
        t.skip("operations that fail", s.sys_why())
        return
    _, _, rows = both("failures", *"-op read -reqsize 1 -numreqs 64 -targets 1".split(), file, status=6, env=env)
    t.equal((sum(r["errors"] for r in rows if r["target"] is None), sum(r["ops"] for r in rows if r["target"] is None)), (8, 56),
            "failures are counted in the rows")


def test_stall():
    """A device that stops answering shows as rows of 0 while the run lasts, and what it did adds up."""
    file = t.make_file("hangs", 65536)
    csv_file, json_file = t.path("hangs.csv"), t.path("hangs.json")
    words = [*"-op read -reqsize 1 -numreqs 64 -intervals 0.02 output".split(), csv_file, "-jsonout", json_file, "-targets", 1, file]
    # 32 operations of 0.9 ms, 22 of them in the first 20 ms.
    law = {"device": "/hangs hang:32,900000"}
    ops = [22, 10, 0, 0, 0]
    run = t.xdd(*words, at={0.105: signal.SIGKILL}, **law)
    t.equal((run.status, [int(r["OPS"]) for r in t.read_csv(csv_file) if r["TARGET"] == "0"]), (-signal.SIGKILL, ops),
            "rows of 0 are written while nothing completes", run)
    os.unlink(csv_file)
    run = t.xdd(*words, at={0.105: signal.SIGINT}, **law)
    rows = t.read_csv(csv_file)
    found = [int(r["OPS"]) for r in rows if r["TARGET"] == "0"]
    # The end of the operation that hangs is awaited for 3 s: 155 intervals and a part of one.
    t.equal((run.status, found, [int(r["OPS"]) for r in rows if r["TARGET"] == "all"]), (5, ops + [0] * 151, found),
            "a pass that never ends has rows until it is abandoned")
    document = j.check(json_file, "a device that never answers")
    t.equal(len(document["intervals"]), len(rows), "the document of it has all rows")


def test_signal():
    """Ctrl-C: the rows add up to what was done."""
    _, document, rows = both("a run that is cancelled", *"-rwratio 50 -targets 3 null null null -timelimit 600".split(),
                             *"-operationdelay 1ms".split(), interval="20ms", status=5, at={0.1055: signal.SIGINT})
    # Each of them issues operations after 0, 1, 2, ..., 105 ms.
    t.equal([sum(r["ops"] for r in rows if r["target"] == n) for n in (0, 1, 2, None)], [106, 106, 106, 318],
            "a run that is cancelled: what was done", document)


def test_delays():
    """Between the passes there is nothing to show; a target that waits for its start has rows of 0."""
    _, _, rows = both("delays", *"-op noop -targets 2 null null -numreqs 3 -operationdelay 1ms -passes 2 -passdelay 0.1".split(),
                      *"-startdelay target 1 0.105".split(), interval="20ms")
    own = [(r["pass"], r["start_ns"] / 1e6, r["end_ns"] / 1e6, r["ops"]) for r in rows if r["target"] == 1]
    # A row ends 1 ms after the last of 3 operations, which has rested then, and so does the pass. 100 ms later the next begins.
    first = [(1, 0, 20, 0), (1, 20, 40, 0), (1, 40, 60, 0), (1, 60, 80, 0), (1, 80, 100, 0), (1, 100, 108, 3)]
    second = [(2, 208, 220, 0), (2, 220, 240, 0), (2, 240, 260, 0), (2, 260, 280, 0), (2, 280, 300, 0), (2, 300, 316, 3)]
    t.equal(own, first + second, "-passdelay is no part of any row, a target that starts late has rows of 0", own)


def test_table():
    """Without a file there is a table in the text output, with the rows of the document."""
    json_file = t.path("table.json")
    run = t.xdd(*"-rwratio 50 -targets 2 null null -timelimit 0.05 -operationdelay 1ms -intervals 20ms -jsonout".split(), json_file)
    lines = [line.split() for line in run.out.splitlines() if line.startswith("INTERVAL")]
    rows = j.check(json_file, "with a table")["intervals"]
    table = [(x[0] == "INTERVAL_ALL", None if x[0] == "INTERVAL_ALL" else int(x[3]), int(x[4]), x[5], int(x[6]), int(x[7]), int(x[8]))
             for x in lines]
    t.equal(table, [(r["target"] is None, r["target"], r["pass"], r["direction"], r["ops"], r["bytes"], r["errors"]) for r in rows],
            "the table has the rows of the document", run)
    t.equal([len(x) for x in lines], [15] * len(lines), "each with all columns", run)
    heads = [line for line in run.out.splitlines() if line.startswith("Interval ")]
    t.equal([len(h.split()) for h in heads], [15], "one header", run)
    run = t.xdd(*"-op noop -targets 1 null -numreqs 5 -intervals 1".split())
    found = [line.split()[0] for line in run.out.splitlines() if line.startswith("INTERVAL")]
    t.equal(found, ["INTERVAL"], "the table does not repeat the only target", run)


def test_screen():
    """For people: the rows on 60 columns, those of all targets alone where there are many."""
    for n, words, ops in ((1, "-op noop", "noop"), (2, "-rwratio 50", "read write"), (9, "-rwratio 50", "read write")):
        json_file = t.path("screen.%d.json" % n)
        run = t.xdd("-targets", n, *["null"] * n, *words.split(), *"-timelimit 0.05 -operationdelay 1ms -report person".split(),
                    *"-intervals 20ms -jsonout".split(), json_file)
        lines = run.out.split("\n\n")[0].splitlines()
        t.equal(lines[:2], ["Up to each time in seconds; * marks a short interval", "  time %s     " % ("     " if n > 1 else "") +
                            "      rate     IOPS     p50     p99     max"], "%d targets: the heads" % n)
        rows = [r for r in j.check(json_file, "%d targets on a screen" % n)["intervals"]
                if (r["target"] is None and n > 1) or (r["target"] is not None and n <= 8)]
        got = [re.match(r" *([0-9.]+)([* ])(?:(#\d+|all) +)?(\w+) .* (\S+ \S+|-) *(\S+ \S+|-) *(\S+ \S+|-)$", x) for x in lines[2:]]
        t.ok(all(got) and len(got) == len(rows), "%d targets: a line for each row" % n, run)
        t.equal([(g[1], g[2] == "*", g[3], g[4]) for g in got if g],
                [("%.2f" % (r["end_ns"] / 1e9), r["partial"], None if n == 1 else "all" if r["target"] is None else "#%d" % r["target"],
                  r["direction"]) for r in rows], "%d targets: time, short rows, target and direction" % n)
        t.equal([x for x in lines if len(x) > 60], [], "%d targets: no line is longer than 60 columns" % n, run)
        t.equal({g[4] for g in got if g}, set(ops.split()), "%d targets: their directions" % n)
    run = t.xdd(*"-targets 1 null -op noop -numreqs 5 -report person -verbose -intervals 1".split())
    t.ok("\nINTERVAL " not in run.out and "\n  time " in run.out, "with -verbose too", run)
    run = t.xdd(*"-targets 1 null -op noop -numreqs 5 -report table -intervals 1".split())
    t.ok("\nINTERVAL " in run.out, "with -report table it is the table", run)


def test_names():
    """Names of targets are quoted in CSV, and the table has none."""
    name = 'a,"b"\nc'
    file = t.make_file(name, 4096)
    _, _, rows = both("a name with a comma, quotes and a line end", *"-op read -reqsize 1 -numreqs 4 -targets 1".split(), file)
    t.equal({r["name"] for r in rows}, {file, "all"}, "the name is exact")


def test_standard_output():
    run = t.xdd(*"-op noop -targets 1 null -numreqs 5 -intervals 1 output -".split())
    lines = run.out.splitlines()
    t.equal((run.status, lines.count(HEADER), len([x for x in lines if re.match(r"0\.0{9},[0-9.]+,0,null,1,noop,5,", x)])), (0, 1, 1),
            "output -: CSV on standard output", run)
    run = t.xdd(*"-op noop -targets 1 null -numreqs 5 -intervals 1 -jsonout -".split())
    t.equal([r["ops"] for r in j.parse(run.out)["intervals"]], [5, 5], "-jsonout -: the document alone", run)
    run = t.xdd(*"-op noop -targets 1 null -numreqs 5 -jsonout -".split())
    t.ok("intervals" not in j.parse(run.out), "without -intervals the document has none", run)


def test_slow_reader():
    """A reader that pauses makes rows longer, not memory: they still add up. In real time, as the writer waits in the kernel."""
    p = subprocess.Popen(t.xdd_words(*"-op noop -targets 4 null null null null -timelimit 1 -operationdelay 1ms".split(),
                                     *"-intervals 1ms output - -csvout".split(), t.path("slow.csv")),
                         stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    # Rows are 300 KB in a second, and it takes 100 KB.
    fcntl.fcntl(p.stdout, fcntl.F_SETPIPE_SZ, 4096)
    out = b""
    while part := p.stdout.read(4096):
        out += part
        time.sleep(0.04)
    p.wait(timeout=t.TIMEOUT)
    text = out.decode()
    sums = {}
    for x in csv.reader(line for line in text.splitlines() if re.match(r"[0-9.]+,[0-9.]+,", line)):
        sums[x[2]] = sums.get(x[2], 0) + int(x[6])
    total = [int(r["OPS"]) for r in t.read_csv(t.path("slow.csv")) if r["WHAT"] == "COMBINED"]
    t.equal((p.returncode, [sums["all"]], sum(v for k, v in sums.items() if k != "all")), (0, total, total[0]),
            "rows add up after pauses of the reader", text[-2000:])


def test_file():
    words = "-op noop -numreqs 10 -targets 1 null -intervals 1 output".split()
    file = t.path("again.csv")
    for _ in range(2):
        t.equal(t.xdd(*words, file).status, 0, "-intervals output")
    with open(file, encoding="utf-8") as f:
        lines = f.read().splitlines()
    t.ok(len(lines) == 5 and [x for x in lines if x.startswith("START")] == [HEADER], "a file is continued", lines)
    other, target = t.make_file("other.csv", 100), t.make_file("target", 4096)
    for title, args, text in (("another file", (other,), m.OTHER_COLUMNS), ("no directory", (t.path("no/f"),), "there is no directory"),
                              ("a directory", (t.tmp(),), m.IS_DIRECTORY)):
        run = t.xdd(*words, *args)
        t.ok(run.status == 2 and len(run.error_lines()) == 1 and "-intervals output" in run.err and text in run.err and
             run.out == "" and "-outputformat" not in run.err, title + " is refused", run)
    for option in ("-csvout", "-latency output", "-jsonout", "-errout"):
        run = t.xdd(*words, t.path("same"), *option.split(), t.path("same"))
        t.ok(run.status == 2 and "give each output a file of its own" in run.err and not os.path.exists(t.path("same")),
             "one file with %s is refused" % option, run)
    run = t.xdd("-op", "read", "-targets", 1, target, "-intervals", 1, "output", target)
    t.ok(run.status == 2 and m.is_target(0) in run.err and os.path.getsize(target) == 4096, "a target is refused", run)
    run = t.xdd(*words, t.path("dry.csv"), "-dryrun")
    t.equal((run.status, os.path.exists(t.path("dry.csv"))), (0, False), "-dryrun makes no file", run)
    run = t.xdd(*"-op noop -numreqs 10 -targets 1 null -intervals output".split(), t.path("default.csv"))
    t.equal((run.status, len(t.read_csv(t.path("default.csv")))), (0, 2), "without a length it is a second", run)
    run = t.xdd(*words, "/dev/full", tolerate=t.CACHED)
    t.ok(run.status == 6 and "-intervals output /dev/full" in run.err, "a full disk is reported", run)


def test_bad_input():
    for args, text in (("0", "a time of 1ms to"), ("999us", "a time of 1ms to"), ("-1", ""), ("x", ""), ("", ""),
                       ("output", m.MISSING), ("1 output", m.MISSING)):
        run = t.xdd("-op", "noop", "-numreqs", 1, "-targets", 1, "null", "-intervals", *args.split())
        t.ok(run.status in (2, 3) and len(run.error_lines()) == 1 and text in run.err and run.out == "",
             "-intervals %s is refused" % args, run)


t.run_all()
