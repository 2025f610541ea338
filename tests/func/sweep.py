#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""
xdd sweep: the points that lists make, the order and number of their runs, the files, what is refused before the first
run, and sweeps that are interrupted at any moment and resumed.
"""
import csv
import json
import os
import random
import re
import signal
import stat
import subprocess

import messages as m
import xddhold
import xddjson as j
import xddsys as s
import xddterm
import xddtest as t

LIMIT_S = 60
NULL = "-op noop -target null -numreqs 10".split()


def sweep(*args, **kwargs):
    return t.command([t.XDD, "sweep"] + [str(a) for a in args], **kwargs)


def document(run, name, title):
    """With statistics as in the document of a run."""
    doc = j.of_sweep(run, name, title)
    if not doc:
        return None
    statistic = j.schema()
    found = [line for p in doc["points"] for s in p["statistics"] for line in
             j.complaints(s, statistic["$defs"]["statistic"], statistic)]
    t.equal(found[:5], [], title + ": its statistics are those of a run's document")
    return doc


def varied(doc):
    return [tuple(p["varied"].values()) for p in doc["points"]]


def numbers(doc):
    return [[r["round"] for r in p["rounds"]] for p in doc["points"]]


def test_grid():
    run = sweep(*NULL, "-queuedepth", "1,2..8x2", "-reqsize", "4k,1M", "-rounds", 2, "-jsonout", t.path("grid.json"),
                "-csvout", t.path("grid.csv"), "-orderseed", 42)
    doc = document(run, "grid.json", "a grid")
    t.equal(run.out.splitlines()[:1], ["8 points, 2 rounds each, order by -orderseed 42"], "what follows is announced", run)
    one = sweep(*NULL, "-queuedepth", 2, "-reqsize", "4k", "-rounds", 1, "-orderseed", 42)
    t.equal(one.out.splitlines()[:1], ["1 point, 1 round each, order by -orderseed 42"], "so is one point", one)
    wanted = [(q, r) for q in "1248" for r in ("4k", "1M")]
    t.equal(varied(doc), wanted, "every combination, and the last option changes fastest")
    t.equal(numbers(doc), [[1, 2]] * 8, "each point has two rounds")
    t.equal([(r["ops"], r["errors"], r["status"]) for p in doc["points"] for r in p["rounds"]], [(10, 0, 0)] * 16,
            "each round is a run of its words")
    t.equal(doc["points"][3]["words"], NULL + ["-queuedepth", "2", "-reqsize", "1M"], "the words of a point")
    t.equal((doc["seed"], doc["arrangement"], doc["partial"]), (42, "grid", False), "the seed is that of the command line")
    starts = {r["start_time"]: (r["round"], i) for i, p in enumerate(doc["points"]) for r in p["rounds"]}
    order = [starts[time] for time in sorted(starts)]
    t.ok(len(order) < 16 or [r for r, _ in order] == [1] * 8 + [2] * 8, "all points have a round before any has the next", order)
    t.ok([i for _, i in order[:8]] != list(range(8)), "they are in another order than the table", order)
    with open(t.path("grid.csv"), encoding="utf-8", newline="") as f:
        rows = list(csv.DictReader(f))
    t.equal([(r["queuedepth"], r["reqsize"], r["rounds"], r["ops"]) for r in rows], [w + ("2", "20") for w in wanted],
            "the CSV file has a line for each, with a column for each option")
    means = [p["statistics"][0]["bandwidth"]["mean"] for p in doc["points"]]
    t.ok(all("e" not in r["bandwidth (bytes/s)"] and abs(float(r["bandwidth (bytes/s)"]) / mean - 1) < 1e-13
             for r, mean in zip(rows, means)), "and the bandwidth, with the digits of the document", rows)
    table = [line.split()[:2] for line in run.out.splitlines()[2:]]
    t.equal(table, [list(w) for w in wanted], "the table has the order of the grid", run.out)
    t.ok(not os.path.exists(t.path("grid.json.journal")), "the journal is gone once the document is complete")


SCREEN = """\
4 points, 3 rounds each, order by -orderseed 1
reqsize  queuedepth       rate      IOPS  latency      p99  round
     4k           2   205 kB/s   50.0 /s  39.8 ms        -  1
     4k           1   205 kB/s   50.0 /s  20.0 ms        -  1
     8k           2   410 kB/s   50.0 /s  39.8 ms        -  1
     8k           1   410 kB/s   50.0 /s  20.0 ms        -  1
     4k           1   205 kB/s   50.0 /s  20.0 ms        -  2
     8k           1   410 kB/s   50.0 /s  20.0 ms        -  2
     8k           2   410 kB/s   50.0 /s  39.8 ms        -  2
     4k           2   205 kB/s   50.0 /s  39.8 ms        -  2
     4k           1   205 kB/s   50.0 /s  20.0 ms        -  3
     8k           2   410 kB/s   50.0 /s  39.8 ms        -  3
     8k           1   410 kB/s   50.0 /s  20.0 ms        -  3
     4k           2   205 kB/s   50.0 /s  39.8 ms        -  3

reqsize  queuedepth      rate     IOPS  latency  p99   +-95 %  rounds  steady
     4k           1  205 kB/s  50.0 /s  20.0 ms    -  +-0.0 %       3  -
     4k           2  205 kB/s  50.0 /s  39.8 ms    -  +-0.0 %       3  -
     8k           1  410 kB/s  50.0 /s  20.0 ms    -  +-0.0 %       3  -
     8k           2  410 kB/s  50.0 /s  39.8 ms    -  +-0.0 %       3  -"""


def on_server(law, words):
    """A sweep on a terminal, of a file whose operations take these times in ns: the lines of its screen, and the titles of its runs."""
    screen = xddterm.on_terminal([t.XDD, "sweep", "-op", "read", "-target", t.make_file("device", 1 << 20), "-orderseed", "1", "-seek", "random",
                                  "-ioengine", "psync", "-numreqs", "120", *words.split()], columns=100, device="/device " + law, step=0)
    return ([line.rstrip() for line in screen.lines if not line.startswith("Finding: reads were")],
            [title for title in re.findall("\r(round [^\r]*)", screen.text) if ": pass" not in title])


def test_screen():
    """All of a terminal, for one server of 20 ms: a run takes 2.4 s."""
    if t.XDD_SANITIZERS == "thread" or not t.have_terminals():
        t.skip("the screen of a sweep", "there is no virtual time, or no pseudo-terminal")
        return
    lines, titles = on_server("20000000", "-reqsize 4k,8k -queuedepth 1,2 -rounds 3")
    t.equal(lines, SCREEN.splitlines(), "all lines")
    left = ["", *(" 0:%02d left," % s for s in (26, 24, 21, 19, 16, 14, 12, 9, 7, 4, 2))]
    points = [(line.split()[0], line.split()[1], line.split()[-1]) for line in SCREEN.splitlines()[2:14]]
    t.equal(titles, ["round %s, point %d of 4,%s reqsize %s, queuedepth %s" % (n, 2 * (size == "8k") + int(depth), time, size, depth)
                     for (size, depth, n), time in zip(points, left)], "each run is announced, with the time that is left")
    lines, titles = on_server("20000000,30000000", "-reqsize 4k -queuedepth 1,2 -until 5% -rounds 2")
    t.equal((lines[0], titles[1:]), ("2 points, 2 rounds each or more, order by -orderseed 1",
                                     ["round 1, point 1 of 2, at least 0:09 left, queuedepth 1", "round 2, point 1 of 2, at least 0:06 left, queuedepth 1",
                                      "round 2, point 2 of 2, at least 0:03 left, queuedepth 2"]), "-until: the least time")
    lines, _ = on_server("20000000,30000000", "-reqsize 4k -queuedepth 1,2 -rounds 6")
    t.equal(lines[-2:], ["         1  164 kB/s  40.0 /s  25.0 ms    -  +-0.0 %       6  after 5",
                         "         2  164 kB/s  40.0 /s  49.8 ms    -  +-0.0 %       6  after 5"], "rounds after which a point is steady")


def test_arrangements():
    run = sweep("-dryrun", "-pairs", *NULL, "-queuedepth", "1,2", "-throttle", "ops", "100,200")
    t.equal(run.out.splitlines(), ["xdd %s -queuedepth %s -throttle ops %s" % (" ".join(NULL), q, o) for q, o in
                                   (("1", "100"), ("2", "200"))], "pairs", run)
    run = sweep("-dryrun", "--op=read,write", "-target", t.make_file("some", 1 << 20), "-bytes", "64k", "-vary", "dio", "-vary",
                "seek=|sequential|random range 128")
    t.equal([re.sub(r"-target \S+ -bytes 64k", "", line).split()[3:] for line in run.out.splitlines()], [
        dio + ["-seek"] + seek.split() for _ in range(2) for dio in ([], ["-dio"]) for seek in ("sequential", "random range 128")],
        "flags, and values of several words", run)
    run = sweep("-dryrun", *NULL, "-vary", "queuedepth=1..100", "-vary", "throttle=|ops 100..400x2")
    t.equal(run.out.splitlines(), ["xdd %s -queuedepth %d -throttle ops %d" % (" ".join(NULL), q, o) for q in range(1, 101)
                                   for o in (100, 200, 400)], "ranges in -vary are those of the option", run)
    run = sweep("-dryrun", *NULL, "-targets", "-1,-2", "null", "-queuedepth", "target", 0, "1,2")
    t.equal(len(run.out.splitlines()), 4, "numbers of targets, and options of one target", run)


def test_traffic():
    """From outside: a sweep over directions and sizes reads and writes just that."""
    name = t.make_file("traffic", 1 << 20)
    run = t.command(s.strace(t.path("trace"), "pread64,pwrite64") +
                    [t.XDD, "sweep", "-rounds", "2", "-op", "read,write", "-target", name, "-reqsize", "64k,256k", "-bytes", "1M", "-ioengine", "psync"])
    t.equal(run.status, 0, "a sweep that writes", run)
    with open(t.path("trace"), encoding="utf-8") as f:
        calls = re.findall(r"(pread64|pwrite64)\(\d+<[^>]*>, .*, (\d+), \d+\) += (\d+)", f.read())
    counts = {}
    for call, size, _ in calls:
        if int(size) >= 65536:
            counts[call, int(size)] = counts.get((call, int(size)), 0) + 1
    t.equal(counts, {(call, size): 2 * (1 << 20) // size for call in ("pread64", "pwrite64") for size in (65536, 262144)},
            "each point reads or writes the file in its requests, twice")


def test_time():
    run = sweep("-op", "noop", "-target", "null", "-queuedepth", "1,2", "-each", "0.2s", "-rounds", 4, "-jsonout",
                t.path("time.json"), "-operationdelay", "0.001", "-numreqs", 1000000)
    doc = document(run, "time.json", "points with a time")
    t.ok(all("-timelimit" in p["words"] for p in doc["points"]), "each run has a time limit")
    spent = [sum(r["elapsed_ns"] for r in p["rounds"]) for p in doc["points"]]
    t.ok(all(0.1e9 < ns for ns in spent), "and each point about its time", spent)
    run = sweep(*NULL, "-until", "99.9%", "-jsonout", t.path("until.json"))
    doc = document(run, "until.json", "a single point, until it is known")
    t.ok(len(doc["points"]) == 1 and 18 <= len(doc["points"][0]["rounds"]) <= 100, "has 18 rounds or more", numbers(doc))


def test_own_time():
    """A time that is given with two dashes is not followed by the one of -each."""
    for word in ("-timelimit", "--timelimit", "--runtime"):
        run = sweep("-dryrun", *NULL, word, 5, "-each", "1s")
        t.equal((run.status, re.findall(r"-(?:timelimit|runtime) \S+", run.out)), (0, [word[-len(word.lstrip("-")) - 1:] + " 5"]), word, run)


def test_responses():
    """Response times, where a throttle sets due times; they survive the journal."""
    words = "-op noop -target null -throttle ops 1000,4000 -numreqs 40 -rounds 2".split()
    doc = document(sweep(*words, "-jsonout", t.path("resp.json")), "resp.json", "a sweep with rates")
    figures = ["response", "response_p50", "response_p99", "response_p99.9", "response_max"]
    rounds = [[r[f] for f in figures] for p in doc["points"] for r in p["rounds"]]
    t.ok(len(rounds) == 4 and all(0 < r[1] <= r[4] and 0 < r[0] <= r[4] and r[2:4] == [None, None] for r in rounds),
         "has response times of each run, and no percentiles of too few operations", rounds)
    words += ["-journal", t.path("resp.journal"), "-orderseed", 3]
    t.equal(sweep(*words).status, 0, "the same with a journal")
    again = document(sweep(*words, "-resume", "-jsonout", t.path("again.json")), "again.json", "read from its journal")
    known = [[r[f] is not None for f in figures] for p in again["points"] for r in p["rounds"]]
    t.equal(known, [[True, True, False, False, True]] * 4, "has the same")
    run = sweep(*NULL, "-rounds", 1, "-jsonout", t.path("none.json"))
    doc = document(run, "none.json", "a sweep without rates")
    t.equal([doc["points"][0]["rounds"][0][f] for f in figures], [None] * 5, "has none")


def test_columns():
    """Further columns: the figures of each run's line COMBINED, which survive the journal."""
    words = ["-op", "read", "-target", t.make_file("columns", 1 << 20), "-reqsize", "64k,256k", "-passes", 2, "-rounds", 3, "-orderseed", 1,
             "-columns", "+OPENTIME+OPS+CLOSETIME+REQUESTEDIOPS"]
    run = sweep(*words, "-jsonout", t.path("columns.json"), "-csvout", t.path("columns.csv"))
    doc = document(run, "columns.json", "a sweep with further columns")
    with open(t.path("columns.csv"), encoding="utf-8", newline="") as f:
        rows = list(csv.DictReader(f))
    t.equal(list(rows[0])[-8:], ["OPENTIME (millisec)", "OPENTIME (+-%)", "OPS (#ops)", "OPS (+-%)", "CLOSETIME (millisec)", "CLOSETIME (+-%)",
                                 "REQUESTEDIOPS (Ops/s)", "REQUESTEDIOPS (+-%)"], "the CSV file has them last, with their units")
    t.equal([(r["OPS (#ops)"], r["OPS (+-%)"], r["REQUESTEDIOPS (Ops/s)"]) for r in rows], [("32", "0", ""), ("8", "0", "")],
            "with the values of all passes, or empty where there is none")
    for p, row in zip(doc["points"], rows):
        times = [r["columns"]["opentime"] for r in p["rounds"]]
        mean = p["columns"]["opentime"]["mean"]
        t.ok(all(x > 0 for x in times) and abs(sum(times) / 3 - mean) < 1e-9 and abs(float(row["OPENTIME (millisec)"]) - mean) < 1e-4 * mean,
             "the document has each round, and the mean, as the CSV file has it", p["columns"])
        t.equal(p["columns"]["requestediops"], {"mean": None, "interval_percent": None}, "null where there is none")
    journal = t.path("columns.journal")
    t.equal(sweep(*words, "-csvout", t.path("first.csv"), "-journal", journal).status, 0, "the same with a journal")
    with open(journal, "rb") as f:
        lines = f.read().splitlines(True)
    with open(journal, "wb") as f:
        f.write(b"".join(lines[:-2]))
    # Opening takes three times as long.
    run = sweep(*words, "-resume", "-journal", journal, "-jsonout", t.path("again.json"), step=3000)
    again = document(run, "again.json", "resumed")
    kept = {json.loads(line[9:])["start"]: json.loads(line[9:])["columns"][0] for line in lines[1:-2]}
    t.equal(sorted(r["columns"]["opentime"] for p in again["points"] for r in p["rounds"] if r["columns"]["opentime"] in kept.values()),
            sorted(kept.values()), "the columns of rounds in the journal are kept")
    t.equal([[r["columns"]["ops"] for r in p["rounds"]] for p in again["points"]], [[32] * 3, [8] * 3], "and the others are measured")
    run = sweep(*words[:-1], "+OPENTIME", "-resume", "-journal", journal, "-csvout", t.path("other.csv"))
    t.ok(run.status == 2 and "nothing to resume" in run.err, "the journal is gone then", run)
    run = sweep(*NULL, "-rounds", 1, "-jsonout", t.path("none.json"))
    t.ok("columns" not in document(run, "none.json", "without -columns")["points"][0], "there are none")


def refused(title, words, message, status=2):
    run = sweep(*words)
    t.ok(run.status == status and run.err.count("\n") == 1 and re.search(message, run.err), title, run)


def test_refused():
    before = set(os.listdir(t.tmp()))
    new = t.path("new")
    some = t.make_file("target", 65536)
    write = ["-op", "write", "-target", new, "-numreqs", 1]
    refused("a value that is wrong", write + ["-queuedepth", "1,2,0"],
            r"sweep: point 3 of 3 \(queuedepth 0\): -queuedepth 0: expected")
    refused("a target and no value", write + ["-queuedepth", "target", "0"], r"-queuedepth: missing argument <#operations> \(argument \d+\)\n$")
    refused("several targets", write + ["-queuedepth", "target", "0,1"],
            r"-queuedepth target 0,1: expected a target number, a range such as 0-3, or \"all\" after \"target\" \(argument \d+\)\n$")
    refused("a range that is wrong", write + ["-queuedepth", "8..1"], r"sweep: -queuedepth 8\.\.1: a range begins with")
    refused("a value twice", write + ["-queuedepth", "1,2,1"], r"1 is in the list twice")
    refused("two lists of an option", write + ["-queuedepth", "1,2", "-qd", "1,2"], r"-queuedepth: has two lists")
    for words in ("-vary qd=1,2 -vary queuedepth=4,8", "-qd 1,2 -vary queuedepth=4,8", "-vary=qd=1,2 -qd 4,8", "-vary --qd=1,2 -qd 4,8"):
        refused("two names, and two lists: " + words, write + words.split(), r"-queuedepth: has two lists")
    refused("two names of a flag", write + ["-vary", "dio", "-vary", "directio"], r"-dio: has two lists")
    refused("two names of a suboption", write + ["-vary", "seek target all range=1M,2M", "-vary", "seek range=1M,2M"], r"-seek range: has two lists")
    for words in ("-qd 1,2 -queuedepth 4", "-queuedepth 4 -qd 1,2", "-qd 4 -vary queuedepth=1,2", "--queuedepth=4 -vary qd=1,2",
                  "-vary qd=1,2 -qd target all 4"):
        refused("a list and a value: " + words, write + words.split(), r"-queuedepth: is varied, and is 4 for all points; leave one out")
    refused("a flag that is varied and given", write + ["-dio", "-vary", "dio"], r"-dio: is varied, and is given for all points")
    refused("a suboption", write + ["-seek", "random", "range", "4M", "-vary", "seek range=1M,2M"], r"-seek range: is varied, and is 4M for all points")
    # A setup file after the list has the last word, and before it none.
    with open(t.path("depth"), "w", encoding="utf-8") as f:
        f.write("-op noop -target null -numreqs 3\n-qd 4 -seek random range 1M\n")
    for words, name in (("-queuedepth 1,2", "queuedepth"), ("-seek range 1M,2M", "seek range")):
        refused("a setup file after " + words, [*words.split(), "-setup", t.path("depth")],
                "-%s: is varied, and .*depth:2 has one value for all points; say -setup before the list" % name)
    for words in (["-setup", t.path("depth"), "-qd", "1,2"], ["-vary", "qd=1,2", "-setup", t.path("depth")],
                  ["-qd", "target", 0, "1,2", "-setup", t.path("depth")]):
        t.equal(sweep(*words, "-rounds", 1).status, 0, "a setup file, and the list last %s" % words)
    with open(t.path("depth"), "w", encoding="utf-8") as f:
        f.write("-op noop -target null\n-timelimit 0.05\n")
    refused("a time limit in a setup file", ["-setup", t.path("depth"), "-qd", "1,2", "-each", "1s"],
            r"-timelimit: in .*depth:2 it has no effect, as each run gets its own; say it on the command line")
    t.equal(sweep("-setup", t.path("depth"), "-qd", "1,2", "-rounds", 1).status, 0, "without -each it has")
    os.unlink(t.path("depth"))
    run = sweep(*NULL, "-hogmemory", "1M,2M", "-rounds", 1, "-dryrun")
    t.equal(re.findall("-hogmemory (\\S+)", run.out), ["1M", "2M"], "a list of -hogmemory")
    # Lists of options that take several kinds of values.
    for words, values in ((["-seek", "zipf", "0.5..1.5+0.5"], ["0.5", "1", "1.5"]), (["-passes", "1,2..8x2"], ["1", "2", "4", "8"])):
        run = sweep(*NULL, *words, "-rounds", 1, "-csvout", "-")
        t.equal((run.status, [row.split(",")[1] for row in run.out.splitlines()[1:]]), (0, values), "a list %s" % words)
    # Other targets, other suboptions.
    for name, words in (("queuedepth", ["-vary", "qd=1,2"]), ("queuedepth target 0", ["-qd", 4, "-vary", "qd target 0=1,2"]),
                        ("seek range", ["-seek", "random", "-vary", "seek range=1M,2M"])):
        run = sweep("-op", "noop", "-targets", 2, "null", "null", "-numreqs", 10, "-rounds", 1, *words, "-csvout", "-")
        t.ok(run.status == 0 and run.out.startswith("point,%s," % name), "no conflict, and the column %s" % name, run)
    refused("an engine that is none", write + ["-ioengine", "psync,nonsense"], r"point 2 of 2 \(ioengine nonsense\)", 3)
    refused("pairs of different lengths", ["-pairs"] + write + ["-queuedepth", "1,2", "-reqsize", "1,2,3"], r"-pairs: .*has 2 .*has 3")
    refused("too many points", write + ["-startoffset", "1..1000", "-queuedepth", "1..1000"], r"more than 100000 points")
    refused("an output of a single run", write + ["-output", t.path("out")], r"-output: is for a single run", 3)
    refused("a document that is a target", write + ["-jsonout", new], r"-jsonout \S+: is a target")
    refused("a document that is the second target", ["-op", "read", "-targets", 2, "null", some, "-numreqs", 1, "-jsonout", some],
            r"-jsonout \S+: is a target")
    refused("a CSV file that is a target", ["-op", "read", "-target", some, "-csvout", some], r"-csvout \S+: is a target")
    for one, other in (("-jsonout", "-csvout"), ("-jsonout", "-journal"), ("-csvout", "-journal")):
        refused("%s and %s in one file" % (one, other), write + [one, t.path("x"), other, t.tmp() + "/./x"],
                r"%s \S+: this is the file of %s too" % (other, one))
    refused("the CSV file in place of the journal", write + ["-jsonout", t.path("x"), "-csvout", t.path("x.journal")],
            r"this is the file of -csvout too")
    refused("two files on standard output", write + ["-jsonout", "-", "-csvout", "/dev/stdout"], r"this is the file of -jsonout too")
    refused("a journal that cannot be read", write + ["-journal", "-"], r"-journal -: expected a file")
    refused("an interval that is none", write + ["-until", "0"], r"-until 0: expected a percentage")
    refused("a time that is none", write + ["-each", "soon"], r"-each soon: expected")
    refused("-mostrounds by itself", write + ["-mostrounds", 9], r"-mostrounds: needs -until or -each")
    refused("-resume without a journal", write + ["-resume"], r"-resume: needs the journal")
    refused("-resume of nothing", write + ["-resume", "-journal", t.path("none")], r"there is nothing to resume")
    refused("a value for a flag", write + ["--pairs=yes"], r"sweep --pairs: takes no value; say -pairs", status=3)
    refused("-vary of no option", write + ["-vary", "nonsense=1,2"], r"-vary nonsense=1,2: expected <option>=<list>")
    refused("-vary with a range that is wrong", write + ["-vary", "queuedepth=8..1"],
            r"sweep: -vary: -queuedepth 8\.\.1: a range begins with its smaller number")
    refused("-vary with a value twice", write + ["-vary", "queuedepth=1..4,2"], r"-vary queuedepth: 2 is in the list twice")
    out = write + ["-csvout", t.path("x"), "-columns"]
    refused("-columns without a file", write + ["-columns", "+OPENTIME"], r"-columns \+OPENTIME: needs a file for them")
    refused("-columns without a plus sign", out + ["OPENTIME"], r"sweep: -columns OPENTIME: expected a list of identifiers")
    refused("-columns of no column", out + ["+OPENTIM"], r"-columns OPENTIM: no such column identifier; did you mean \+OPENTIME\?")
    refused("-columns of a text", out + ["+OPS+WHAT"], r"-columns WHAT: is a text")
    refused("-columns of one twice", out + ["+OPS+OPENTIME+OPS"], r"-columns OPS: is in the list twice")
    refused("too many -columns", out + ["+OPS+IOPS+ERRORS+RETRIES+OPENTIME+CLOSETIME+LATENCY+BANDWIDTH+BYTESXFERED"],
            r"-columns: names 9 columns; expected up to 8")
    refused("no words", [], r"expected the options of a run")
    refused("-version", ["-version"] + write, r"no options of a point")
    t.equal(set(os.listdir(t.tmp())) - before, {"target"}, "nothing was created, and no target")


def test_standard_output():
    run = sweep(*NULL, "-queuedepth", "1,2", "-rounds", 1, "-csvout", "-")
    rows = list(csv.DictReader(run.out.splitlines()))
    t.equal((run.status, [r["queuedepth"] for r in rows]), (0, ["1", "2"]), "-csvout - is standard output, and nothing else is", run)
    run = sweep(*NULL, "-queuedepth", "1,2", "-rounds", 1, "-jsonout", "-")
    doc = json.loads(run.out)
    t.equal((run.status, doc["status"], varied(doc)), (0, 0, [("1",), ("2",)]), "-jsonout - is standard output, and nothing else is", run)
    run = sweep(*NULL, "-rounds", 1, "-jsonout", "/dev/null")
    t.equal((run.status, os.path.exists("/dev/null.journal")), (0, False), "a device has no journal beside it", run)


# Some seconds of work: 60 runs with 10 ms each.
LONG = "-op noop -target null -queuedepth 1..20 -numreqs 10 -operationdelay 0.001 -rounds 3 -orderseed 9".split()


def end_after(seconds, number, words):
    p = subprocess.Popen([t.XDD, "sweep", *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        p.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        p.send_signal(number)
    out, err = p.communicate(timeout=LIMIT_S)
    return p.returncode, out.decode(), err.decode()


def test_early_progress():
    """SIGUSR1, which asks a run for a line, before main() begins: the constructor of a library sends it."""
    env = s.preload("early", "#include <signal.h>\n#include <unistd.h>\n"
                         "__attribute__((constructor)) static void begin(void) { kill(getpid(), SIGUSR1); }\n")
    if env is None:
        return t.skip("SIGUSR1 before the sweep begins", "no C compiler")
    run = t.command([t.XDD, "sweep", *NULL, "-rounds", "1"], env=env)
    return t.equal(run.status, 0, "SIGUSR1 before the sweep begins", run)


def test_interrupted():
    """SIGINT and SIGKILL at random moments: no finished round is lost, and none is counted twice."""
    draw = random.Random(5)
    journal, words = t.path("long.journal"), LONG + ["-jsonout", t.path("long.json"), "-journal", t.path("long.journal")]
    rounds, done, wrong = 0, False, []
    for i in range(40):
        resume = ["-resume"] if os.path.exists(journal) else []
        number = signal.SIGKILL if i % 2 else signal.SIGINT
        status, out, err = end_after(0.05 + 0.15 * draw.random(), number, words + resume)
        # Killed after its end: the document has all of it, and the journal is gone.
        if status == 0 or number == signal.SIGKILL and rounds and not os.path.exists(journal):
            done = True
            break
        if status not in (5, -signal.SIGINT, -signal.SIGKILL):
            wrong.append((i, status, err))
        if status == 5 and not re.search(r"Interrupted: \d+ of 20 points are complete; -resume continues", out):
            wrong.append((i, out))
        if os.path.exists(journal):
            with open(journal, "rb") as f:
                now = max(f.read().count(b"\n") - 1, 0)  # one may end before its first line
            if now < rounds:
                wrong.append((i, now, rounds))
            rounds = max(now, rounds)
    t.equal(wrong, [], "interrupted sweeps end with status 5 or by the signal, and the journal only grows")
    run = None if done else sweep(*words, "-resume")
    if run:
        t.equal(run.status, 0, "the last one completes it", run)
    doc = j.load(t.path("long.json"))
    t.equal(numbers(doc), [[1, 2, 3]] * 20, "each point has each round once")
    t.ok(rounds > 0 and not doc["partial"], "the sweep was interrupted, and is complete", rounds)


def test_resume():
    name = t.path("torn.journal")
    words = [*NULL, "-queuedepth", "1,2", "-rounds", 2, "-orderseed", 1, "-journal", name]
    t.equal(sweep(*words).status, 0, "a sweep with a journal and no document")
    with open(name, "rb") as f:
        lines = f.read().splitlines(True)
    t.equal(len(lines), 5, "the journal stays, with a line for each run")
    run = sweep(*words)
    t.ok(run.status == 2 and "exists; -resume continues" in run.err, "it is not written over", run)
    run = sweep(*words, "-resume")
    with open(name, "rb") as f:
        t.equal((run.status, f.read()), (0, b"".join(lines)), "nothing is left to do", run)
    run = sweep(*words[:-4], "-journal", name, "-resume")
    t.ok(run.status == 2 and "is of another sweep" in run.err, "other words are refused", run)

    def resumed(data):
        with open(name, "wb") as f:
            f.write(data)
        return sweep(*words, "-resume", "-jsonout", t.path("torn.json"))

    # Cut in the last line: that run is made again.
    run = resumed(b"".join(lines)[:-20])
    doc = document(run, "torn.json", "a journal whose last line is torn")
    t.equal(numbers(doc), [[1, 2]] * 2, "each round once")
    t.ok(not os.path.exists(name), "the journal is removed once a document has all of it")
    run = resumed(lines[0] + lines[1][:20] + b"x" + lines[1][21:] + lines[2])
    t.ok(run.status == 2 and "line 2 is damaged" in run.err, "damage elsewhere is refused", run)
    run = resumed(lines[0] + lines[1] + lines[1])
    t.ok(run.status == 2 and "line 3 is damaged" in run.err, "and a run that is there twice", run)

    # A name that was mistyped: nothing but a journal is removed or cut.
    for data in (b"notes without an end of line", b"notes\n", b"0123abcd {}", b"0123abcd {\"format\":\"other\"}\n"):
        run = resumed(data)
        with open(name, "rb") as f:
            t.equal((run.status, f.read()), (2, data), "%r is no journal" % data, run)
        t.ok("is no journal of a sweep" in run.err, "%r: it is said" % data, run)
    for part in (b"", lines[0][:5], lines[0][:12], lines[0][:-1]):
        document(resumed(part), "torn.json", "a journal of %d bytes is written again" % len(part))
    null = t.path("null")
    if os.geteuid() == 0:
        os.mknod(null, stat.S_IFCHR | 0o666, os.makedev(1, 3))
        run = sweep(*words[:-1], null, "-resume")
        t.ok(run.status == 2 and "is no journal of a sweep" in run.err, "a device is no journal", run)
        t.ok(stat.S_ISCHR(os.lstat(null).st_mode), "and stays", run)


def test_errors():
    """A point that fails does not keep the others from being run."""
    env = s.faults("eio", file="short", start=32768)
    if env is None:
        return t.skip("a point whose reads fail", s.sys_why())
    run = sweep("-op", "read", "-target", t.make_file("short", 65536), "-reqsize", "4k", "-rounds", 2, "-startoffset", "0,24k", "-numreqs", 4,
                "-jsonout", t.path("errors.json"), env=env)
    t.equal((run.status, re.findall("^  the point above: .*", run.out, re.M)), (6, ["  the point above: 4 errors"]), "a point whose reads fail", run)
    run = sweep("-op", "read", "-target", t.path("short"), "-reqsize", "4k", "-rounds", 2, "-numreqs", "1,2", "-datapattern", "x", "-verify", "contents")
    t.equal((run.status, re.findall("^  the point above: .*", run.out, re.M)), (7, ["  the point above: status 7"] * 2), "wrong data", run)
    again = ["-op", "read", "-target", t.path("short"), "-reqsize", "4k", "-startoffset", "24k,0", "-numreqs", 4, "-journal",
             t.path("errors.journal")]
    runs = [sweep(*again, env=env), sweep(*again, "-resume", env=env)]
    t.equal([r.status for r in runs], [6, 6], "its status counts also where the journal has it", runs[1])
    points = j.load(t.path("errors.json"))["points"]
    return t.equal([[(p["status"], r["ops"], r["errors"]) for r in p["rounds"]] for p in points], [[(0, 4, 0)] * 2, [(6, 2, 2)] * 2],
                   "has errors, and the other has none")


def test_no_plan():
    """The first point cannot be planned any more when the document is written: its setup file is gone."""
    setup, out = t.path("gone.setup"), t.path("gone.json")
    with open(setup, "w", encoding="utf-8") as f:
        f.write(" ".join(NULL))
    with xddhold.at("operation:5") as h, subprocess.Popen([t.XDD, "sweep", "-setup", setup, "-rounds", "1", "-jsonout", out], env=h.env,
                                                          stdout=subprocess.PIPE, stderr=subprocess.PIPE) as p:
        h.wait(p)
        os.unlink(setup)
        h.go()
        shown, err = p.communicate(timeout=LIMIT_S)
    t.ok(p.returncode == 6 and b"xdd: sweep: -jsonout %s: " % out.encode() in err and not os.path.exists(out),
         "a document that cannot have its plan is not written", (p.returncode, shown, err))


def test_restore():
    """The state before each run of a point that writes, from outside; reading points are left as they are."""
    name = t.make_file("restored", 1 << 20)
    words = ["-op", "read,write", "-target", name, "-reqsize", "64k", "-bytes", "256k", "-ioengine", "psync", "-rounds", 2]

    def calls(trace):
        with open(t.path(trace), encoding="utf-8") as f:
            return f.read()

    def traced(*args):
        return t.command(s.strace(t.path("trace"), "pwrite64,unlink,unlinkat,openat") +
                         [t.XDD, "sweep", *[str(a) for a in args]])

    run = traced("-restore", "precondition", *words)
    sizes = re.findall(r"pwrite64\(\d+<[^>]*>, .*, (\d+), \d+\) += \d+", calls("trace"))
    t.equal((run.status, sizes.count(str(1 << 20)), sizes.count("65536")), (0, 2, 8),
            "precondition: all of the file is written once before each run that writes", run)
    run = traced("-restore", "precondition", "-op", "write", "-targets", 3, name, t.make_file("other", 1 << 20), name, *words[4:])
    t.equal((run.status, calls("trace").count(", %d, 0) " % (1 << 20))), (0, 4), "precondition: each file once, whose writers are several", run)
    run = traced("-restore", "recreate", *words[2:], "-op", "write")
    gone = len(re.findall(r"unlink(?:at)?\(.*restored", calls("trace")))
    t.equal((run.status, gone, os.path.getsize(name)), (0, 2, 256 << 10), "recreate: the file is a new one for each run", run)
    refused("precondition of a file that does not exist", ["-restore", "precondition", "-op", "write", "-target", t.path("new"),
            "-numreqs", 1], r"-restore precondition: target 0, \S+: does not exist")
    refused("the second target does not exist", ["-restore", "precondition", "-op", "write", "-targets", 2, name, t.path("new"), "-numreqs", 1],
            r"-restore precondition: target 1, \S+/new: does not exist; write it once before")
    refused("a state that is none", ["-restore", "nonsense", *NULL], r"-restore nonsense: expected recreate, precondition or trim")


def test_compare():
    """Documents of sweeps, point by point."""
    words = [*NULL, "-numreqs", 10000, "-queuedepth", "1,2", "-reqsize", "4k,8k", "-rounds", 3]
    t.equal(sweep(*words, "-jsonout", t.path("base.json")).status, 0, "a sweep to compare")
    base = j.load(t.path("base.json"))

    def altered(name, factors, points=4, values=(1000, 1010, 990), why=None):
        doc = json.loads(json.dumps(base))
        doc["points"] = doc["points"][:points]
        for p, factor in zip(doc["points"], factors):
            s = p["statistics"][0]
            s["not_reproducible"], s["passes"] = why, list(range(1, len(values) + 1))
            for figure in ("bandwidth", "iops", "latency", "p50", "p99", "p99.9"):
                s[figure]["values"] = [factor * v for v in values]
        with open(t.path(name), "w", encoding="utf-8") as f:
            json.dump(doc, f)
        return t.path(name)

    def compare(*names):
        return t.command([t.XDD, "compare", *names])

    same = altered("same.json", (1, 1, 1, 1))
    run = compare(same, same)
    t.equal((run.status, run.err), (0, ""), "a sweep and itself", run)
    for name, factors, values, why, status, end in (
            ("itself", (1, 1, 1, 1), (1000, 1010, 990), None, 0, "No difference between the results is more than chance."),
            ("a point differs", (1, 1, 1.5, 1), (1000, 1010, 990), None, 1,
             "The results differ, by more than the scatter inside the two sweeps."),
            ("a point differs, and is unsteady", (1, 1, 1.5, 1), (1000, 1010, 990), "round 1 is slower", 0,
             "The results differ, but are unsteady: the rounds of a sweep differ by as much. Find out why, or compare several sweeps of each."),
            ("one round", (1, 1, 1, 1), (1000,), None, 3,
             "The sweeps cannot be compared.\nPoints need two complete rounds: run with -rounds 5 or more.")):
        run = compare(same, altered("end.json", factors, 4, values, why))
        t.equal((run.status, run.out.split("\n\n")[-1]), (status, end + "\n"), "the end: " + name, run)
        t.equal(re.findall("^  (b, .*)", run.out, re.M), ["b, queuedepth %s, reqsize %s, is not reproducible: %s" % (q, r, why)
                                                         for q in "12" for r in ("4k", "8k")] if why else [], "... its points", run)
    other = altered("other.json", (1, 1, 1.5, 1))
    run = compare(same, other)
    real = re.findall(r"^  (queuedepth .*?) +bandwidth .* real$", run.out, re.M)
    t.equal((run.status, real), (1, ["queuedepth 2, reqsize 4k"]), "the point that differs is named", run)
    t.equal(len(re.findall(r"^  queuedepth .* bandwidth ", run.out, re.M)), 4, "and all points are shown", run)
    t.equal(compare("-failif", "bandwidth+10%", same, other).status, 4, "a limit holds for each point")
    run = compare(same, altered("fewer.json", (1, 1, 1), 3))
    t.ok(run.status == 0 and "points that a sweep does not have: 1" in run.out, "points that one sweep lacks are counted", run)
    run = compare(same, same, "--", same, other)
    t.ok(run.status in (0, 1) and "queuedepth 2, reqsize 4k" in run.out, "several sweeps on a side", run)
    t.equal(t.xdd(*NULL, "-passes", 2, "-jsonout", t.path("run.json")).status, 0, "a run")
    run = compare(same, t.path("run.json"))
    t.ok(run.status == 2 and "is the document of a run, and" in run.err, "a sweep and a run are refused", run)
    for member, value in (("version", 2), ("points", [{}]), ("points", 5)):
        doc = dict(base)
        doc[member] = value
        with open(t.path("bad.json"), "w", encoding="utf-8") as f:
            json.dump(doc, f)
        run = compare(same, t.path("bad.json"))
        t.ok(run.status == 2 and run.err.count("\n") == 1, "a document with %s %r is refused" % (member, value), run)


def test_notes():
    """Warnings of the plans and findings of the runs: each once, with the points that it concerns."""
    holes = t.path("holes")
    with open(holes, "wb") as f:
        f.truncate(64 << 20)
    run = sweep("-target", holes, "-reqsize", "64k", "-bytes", "64M", "-vary", "op=read,noop", "-vary", "queuedepth=1,2",
                "-rounds", 2, "-jsonout", t.path("notes.json"))
    found = [line for line in xddterm.unfolded(run.out) if line.startswith("Finding: ") and "never written" in line]
    t.ok(len(found) == 1 and found[0].endswith(", at 2 of 4 points: op read, queuedepth 1; op read, queuedepth 2") and
         run.out.index("Finding: data") > run.out.index("noop"), "a finding follows the table, once, with its points", run)
    page = t.command([t.XDD, "report", "-noplots", t.path("notes.json")])
    t.ok(len(re.findall("<strong>finding:</strong> [^<]*never written[^<]*, at point 1, 2</li>", page.out)) == 1, "so does the page", page)
    t.equal(page.out.count("% of what was read was never written"), 1, "which shows the message of four runs once")
    # The plans of all points, not only of the first.
    run = sweep(*NULL, "-blocksize", "4k,4096", "-queuedepth", "1,2", "-rounds", 1, "-jsonout", t.path("warned.json"),
                warns=[m.line(r"warning: target 0, null", "-blocksize 4096 without -reqsize: .*")])
    points = "2 of 4 points: blocksize 4096, queuedepth 1; blocksize 4096, queuedepth 2"
    t.ok(len(run.err.splitlines()) == 1 and run.err.endswith(" (%s)\n" % points), "a warning of later points, once", run)
    said = [line for line in xddterm.unfolded(run.out) if line.startswith("Warning: ")]
    t.ok(len(said) == 1 and said[0].endswith(", at " + points), "and after the table", run)
    t.equal([("without -reqsize" in e["text"], e["level"]) for e in j.load(t.path("warned.json"))["messages"]], [(True, "warning")],
            "and in the document")
    run = sweep(*NULL, "-blocksize", "4k,4096", "-dryrun", warns=[m.line(r"warning: target 0, null", "-blocksize 4096 without -reqsize: .*")])
    t.ok(run.err.endswith(" (1 of 2 points: blocksize 4096)\n"), "-dryrun warns, too", run)
    run = sweep(*NULL, "-blocksize", "4k,4096", "-queuedepth", "1,2", "-seek", "range", 128, "-dryrun",
                warns=[m.line(r"warning: target 0, null", "-blocksize 4096 without -reqsize: .*"), m.RANGE_STARTS_OVER])
    t.equal([line.endswith(" (%s)" % points) for line in run.err.splitlines()], [True, True], "two warnings of the same points, each once", run)
    run = sweep(*NULL, "-blocksize", "4k,4096", "-queuedepth", "1..5", "-dryrun",
                warns=[m.line(r"warning: target 0, null", "-blocksize 4096 without -reqsize: .*")])
    t.ok(run.err.endswith(" (5 of 10 points: %s; and 2 more)\n" % "; ".join("blocksize 4096, queuedepth %d" % n for n in (1, 2, 3))),
         "three points are named", run)
    run = sweep(*NULL, "-blocksize", 4096, "-queuedepth", "1,2", "-dryrun", warns=[m.line(r"warning: target 0, null", "-blocksize 4096 without -reqsize: .*")])
    t.ok(run.err.count("\n") == 1 and "points" not in run.err, "points are named where they are not all", run)


def test_widths():
    """Tables and lines fit the screen; columns without room are named; an interval that reaches zero is none."""
    words = ["-op", "noop", "-target", "null", "-reqsize", "4k,64k", "-queuedepth", "1,2", "-numreqs", "2000", "-rounds", 2]
    for columns in 60, 80, 120:
        run = sweep(*words, env=dict(os.environ, COLUMNS=str(columns)))
        t.equal((run.status, [x for x in run.out.splitlines() if len(x) > columns]), (0, []), "%d columns: lines fit" % columns, run)
        named = re.search(r"^no room for: (.*)$", run.out, re.M)
        t.equal((set(named.group(1).split(", ")) if named else set()) & set(run.out.splitlines()[1].split()), set(),
                "%d columns: what is not in the table is named" % columns, run)
    t.ok(not named and re.search(r"^ *reqsize +queuedepth +rate +IOPS +latency +p99 +\+-95 % +rounds +steady$", run.out, re.M),
         "120 columns: all have room", run)
    run = sweep(*NULL, "-queuedepth", "1,2", "-rounds", 1)
    t.ok(len(re.findall(r" too few +1  -$", run.out, re.M)) == 2 and
         "+-95 %: too few rounds at 2 points to say how far they repeat; -rounds makes more" in xddterm.unfolded(run.out),
         "one round has no interval, and what makes one is said", run)


def test_help():
    run = sweep("-help")
    t.ok(run.status == 0 and "-orderseed <number>" in run.out, "the help", run)
    run = t.command([t.XDD, "-help", "sweep"])
    t.ok(run.status == 0 and "usage: xdd sweep" in run.out, "xdd -help sweep", run)


t.run_all()
