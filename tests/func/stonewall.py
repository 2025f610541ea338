#!/usr/bin/env python3
"""
-stonewall: all targets end a pass together. The figures at that moment are counted again from the time stamps of the
operations, those to the end are those of the results.
"""
import os
import re
import sys

sys.path.insert(0, os.path.join(os.environ["TOP_SRCDIR"], "tests", "lib"))
import messages as m
import xddjson
import xddtest as t
import xddtrace

t.tolerate(m.BUFFERED)

LIMIT_S = 60
ATTEMPTS = 5        # a thread that has no processor for a moment counts later than it reads the clock
SIZE = 4096


def lines(run):
    """(pass, by, what, seconds, bytes) of each line."""
    return [(int(a), b, c, float(d), int(e)) for a, b, c, d, e in re.findall(
        r"^Stonewall, pass (\d+), (time|target \d+), (at|end), ([\d.]+), seconds, (\d+), bytes, [-\d.]+, MB/s, [-\d.]+, Ops/s$",
        run.out, re.M)]


def moments(run, doc, dumps):
    """Compare the lines, the document and the time stamps of each pass; None: they agree."""
    stamps = [row for dump in dumps for row in xddtrace.rows_of(dump)]
    for of in doc["stonewall"]:
        rows = [row for row in stamps if row["PASS"] == of["pass"]]
        first = min(row["START_NS"] for row in rows)
        at = [row for row in rows if row["END_NS"] <= first + of["at"]["ns"]]
        if (of["at"]["ops"], of["at"]["bytes"]) != (len(at), len(at) * SIZE):
            return "pass %d: %r, and %d operations in time" % (of["pass"], of["at"], len(at))
        if (of["end"]["ops"], of["end"]["bytes"]) != (len(rows), len(rows) * SIZE):
            return "pass %d: %r, and %d operations" % (of["pass"], of["end"], len(rows))
        # A target that is throttled lasts until its next operation is due.
        if not -1000 < of["end"]["ns"] - (max(row["END_NS"] for row in rows) - first) < 20e6:
            return "pass %d: it ends at another time" % of["pass"]
    shown = [(of["pass"], "time" if of["target"] is None else "target %d" % of["target"], what, of[what]["bytes"])
             for of in doc["stonewall"] for what in ("at", "end")]
    return None if shown == [(a, b, c, e) for a, b, c, _, e in lines(run)] else "lines %r" % lines(run)


def check(title, wanted, words, also=lambda run: None):
    """A run whose figures are right, and whose passes were ended by `wanted`; `also` may find something else wrong."""
    dump, out = t.path("dmp"), t.path("doc.json")
    targets = int(words[words.index("-targets") + 1])
    dumps = ["%s.target.%04d.bin" % (dump, i) for i in range(abs(targets))]
    for attempt in range(ATTEMPTS):
        run = t.xdd(*words, "-ts", "dump", dump, "-jsonout", out, timeout=LIMIT_S)
        if run.status:
            break
        doc = xddjson.load(out)
        wrong = moments(run, doc, dumps) or also(run)
        if not wrong:
            break
        t.diag("attempt %d: %s" % (attempt, wrong))
    t.ok(run.status == 0 and not wrong, title + ": the figures are those of the time stamps", run)
    t.equal([of["target"] for of in doc["stonewall"]], wanted, title + ": what ended the passes", run)
    problems = list(xddjson.problems(doc))
    t.equal(problems, [], title + ": the document")
    return run


def test_first():
    """The target that has the least to do ends the passes of the others."""
    file = t.path("data")

    def all_early(run):
        ops = [int(r["Ops"]) for r in run.rows() if r["What"] == "TARGET_PASS"]
        good = len(ops) == 9 and ops[1::3] == [20] * 3 and all(20 <= n < 200 for n in ops[0::3] + ops[2::3])
        return None if good else "the operations of the targets in each pass: %r" % ops
    run = check("three targets, three passes", [1, 1, 1],
                ["-op", "write", "-targets", 3, file + "0", file + "1", file + "2", *"-reqsize 4 -numreqs 2000 -throttle ops 200 "
                 "-throttle target 1 ops 170 -throttle target 2 ops 230 -numreqs target 1 20 -queuedepth target 2 3 -passes 3 -verbose -stonewall".split()],
                all_early)
    t.equal(all_early(run), None, "the others end early, in each pass")


def test_time():
    file = t.path("timed")
    run = check("a time", [None, None], ["-op", "write", "-targets", -2, file, *"-reqsize 4 -numreqs 2000 -throttle ops 200 "
                "-stonewall 0.253 -passes 2".split()])
    found = lines(run)
    t.ok(all(0.2 <= seconds for _, _, what, seconds, _ in found if what == "at"), "it lasts that long", found)
    check("a target is earlier", [0], ["-op", "write", "-targets", 2, file, file, *"-reqsize 4 -numreqs 2000 -throttle ops 200 "
          "-throttle target 0 ops 170 -numreqs target 0 10 -stonewall 20s".split()])


def test_engines():
    """With each engine all targets end."""
    for engine in [t.ENGINE] if t.ENGINE else [e for e in t.engines() if e not in ("sg", "mmap", "null")]:
        file = t.path("engine")
        run = t.xdd("-op", "write", "-targets", 2, file + "0", file + "1", *"-reqsize 4 -numreqs 1000000 -numreqs target 0 50 "
                    "-queuedepth 4 -stonewall -verbose".split(), "-ioengine", engine, timeout=LIMIT_S, tolerate=".")
        rows = [r for r in run.rows() if r["What"] == "TARGET_PASS"]
        t.ok(run.status == 0 and len(lines(run)) == 2 and int(rows[0]["Ops"]) == 50 and int(rows[1]["Ops"]) < 1000000, engine, run)
        size = os.path.getsize(file + "1")
        t.equal(size, int(rows[1]["Ops"]) * SIZE, engine + ": the file has what was counted")
        os.unlink(file + "0")
        os.unlink(file + "1")


def test_waits():
    """Targets that wait, for a turn, the clock or each other, end as well."""
    for words in ("-ordering storage serial -queuedepth 4", "-throttle target 1 ops 20", "-operationdelay 20ms",
                  "-lockstep 0 1 op 1 op 1 wait complete", "-syncio 7", "-syncwrite", "-starttrigger 0 1 op 5"):
        run = t.xdd(*"-op write -targets 2".split(), t.path("w0"), t.path("w1"), *"-reqsize 4 -numreqs 1000000 -numreqs target 0 10 "
                    "-stonewall".split(), *words.split(), timeout=LIMIT_S, tolerate=".")
        found = lines(run)
        t.ok(run.status == 0 and len(found) == 2 and found[0][1] == "target 0" and found[0][3] <= found[1][3] and
             found[0][4] <= found[1][4] < 999990 * SIZE, words, run)


def test_wear_out():
    """All go on to what the one that had come furthest had issued, whatever makes them wait; not beyond their own amount."""
    for words in ("", "-queuedepth 4", "-syncio 3", "-ordering storage serial -queuedepth 4", "-lockstep 0 1 op 1 op 1 wait complete",
                  "-starttrigger 0 1 op 5", "-seek random -queuedepth 3"):
        run = t.xdd(*"-op write -targets 3".split(), t.path("x0"), t.path("x1"), t.path("x2"), *"-reqsize 4 -numreqs 100000 -numreqs target 2 7 "
                    "-throttle ops 150 -throttle target 1 ops 300 -stonewall wearout -passes 2 -verbose".split(), *words.split(),
                    timeout=LIMIT_S, tolerate=".")
        ops = [int(r["Ops"]) for r in run.rows() if r["What"] == "TARGET_PASS"]
        t.ok(run.status == 0 and len(ops) == 6 and len(lines(run)) == 4 and all(a == b and a >= 7 == c for a, b, c in (ops[:3], ops[3:])),
             "wearout %s" % words, "%s\n%s" % (ops, run))
    run = t.xdd(*"-op write -targets 2".split(), t.path("x0"), t.path("x1"), *"-reqsize 4 -numreqs 100000 -numreqs target 1 40 -queuedepth 4 "
                "-stonewall 20s -stonewall wearout".split(), "-stonewall", "save", t.path("worn"), timeout=LIMIT_S, tolerate=".")
    with open(t.path("worn.R0.txt")) as f:
        ops = [int(n) for n in re.findall(r"operations (\d+)", f.read())]
    found = lines(run)
    t.ok(run.status == 0 and ops[0] >= ops[1] == 40 and found[1][4] == sum(ops) * SIZE >= found[0][4],
         "the record has what was written", "%s\n%s" % (ops, run))
    with open(t.path("x.csv"), "w") as f:
        pass
    run = t.xdd(*"-op noop -targets -2 null -numreqs 50 -stonewall -csvout".split(), t.path("x.csv"))
    with open(t.path("x.csv")) as f:
        rows = [line.split(",")[:2] for line in f]
    t.ok(run.status == 0 and [r for r in rows if r[0].startswith("STONE")] == [["STONEWALL_AT", "1"], ["STONEWALL_END", "1"]], "CSV", rows)


def ended(rank, file, save, words=()):
    """A rank of two writes tagged data until it is cut short, and records how much."""
    return t.xdd("-op", "write", "-targets", -2, file, *"-reqsize 4 -blockperrank 8 -segments 100000 -throttle ops 500 -datapattern "
                 "tagged -stonewall".split(), "%.2f" % (0.1 + 0.1 * rank), "-stonewall", "save", save, "-rank", rank, "-ranks", 2,
                 *words, timeout=LIMIT_S)


def test_record():
    """Of a file that a stonewall has cut short, a reader takes what its owner has written, and finds it right."""
    file, save = t.path("cut"), t.path("record")
    runs = [ended(rank, file, save) for rank in range(2)]
    wrote = [[int(n) for n in re.findall(r"operations (\d+)", open("%s.R%d.txt" % (save, rank)).read())] for rank in range(2)]
    t.ok(all(run.status == 0 for run in runs) and all(len(w) == 2 and 10 < n < 100000 for w in wrote for n in w), "two ranks", wrote)
    read = ["-op", "read", "-targets", -2, file, *"-reqsize 4 -blockperrank 8 -segments 100000 -datapattern tagged -verify contents "
            "-verbose -reorder -ranks 2 -rank".split()]
    for rank in range(2):
        run = t.xdd(*read, rank, "-stonewall", "load", save, timeout=LIMIT_S)
        ops = [int(r["Ops"]) for r in run.rows() if r["What"] == "TARGET_PASS"]
        t.ok(run.status == 0 and ops == wrote[1 - rank], "rank %d reads what the other one wrote" % rank, run)
    run = t.xdd(*read, 0, timeout=LIMIT_S)
    t.ok(run.status != 0, "without the record it would read beyond that", run)
    for words, why in ((["-reqsize", 8], "was written with other options"), (["-ranks", 3], "its first line must be"),
                       (["-startoffset", 4], "was written with other options"), (["-seek", "random"], "was written with other options"),
                       (["-stonewall", "load", save + "x"], "No such file")):
        run = t.xdd(*read, 0, "-stonewall", "load", save, *words)
        t.ok(run.status == 2 and len(run.error_lines()) == 1 and why in run.err, " ".join(map(str, words)), run)
    for text in ("", "xdd stonewall 1, rank 1 of 2, targets 2\n", "xdd stonewall 1, rank 1 of 2, targets 2\ntarget 0, operations x, y\n"):
        with open(save + ".R1.txt", "w") as f:
            f.write(text)
        run = t.xdd(*read, 0, "-stonewall", "load", save)
        t.ok(run.status == 2 and len(run.error_lines()) == 1, "a damaged record: %r" % text, run)


def test_record_of_files():
    """The same with a file for each target, random offsets, and several threads."""
    save = t.path("files")
    base = ["-targets", 2, t.path("f0"), t.path("f1"), *"-reqsize 4 -numreqs 300000 -seek random range 4000 -datapattern tagged "
            "-queuedepth 4".split()]
    # The rate: on a busy machine too, target 1 is the first to end.
    run = t.xdd("-op", "write", *base, *"-numreqs target 1 200 -throttle target 0 ops 20000 -stonewall first save".split(), save,
                timeout=LIMIT_S)
    with open(save + ".R0.txt") as f:
        wrote = [int(n) for n in re.findall(r"operations (\d+)", f.read())]
    again = t.xdd("-op", "read", *base, *"-numreqs target 1 200 -verify contents -verbose -stonewall load".split(), save,
                  timeout=LIMIT_S, tolerate=".")
    ops = [int(r["Ops"]) for r in again.rows() if r["What"] == "TARGET_PASS"]
    t.ok(run.status == 0 and again.status == 0 and ops == wrote and wrote[1] == 200, "each offset that is read was written",
         "%s\n%s" % (wrote, again))


def test_refused():
    for words, status, why in (
            (["-stonewall", "-nobarrier"], 2, "-stonewall: with -nobarrier the targets have no passes together"),
            (["-stonewall", "0s"], 2, "-stonewall seconds 0s:"), (["-stonewall", "later"], 3, "later"),
            (["-stonewall", "save", "s"], 2, "-stonewall save: needs a target that is only written to"),
            ("-stonewall -endtoend issource -e2e destination h".split(), 2, "-stonewall: cannot be combined with -endtoend")):
        run = t.xdd("-op", "read", "-targets", 1, t.make_file("there", SIZE), "-reqsize", 4, *words)
        t.ok(run.status == status and len(run.error_lines()) == 1 and why in run.err, " ".join(words), run)


def test_silent():
    out = t.path("none.json")
    run = t.xdd(*"-op noop -targets -2 null -numreqs 10".split(), "-jsonout", out)
    t.ok(run.status == 0 and not lines(run) and xddjson.load(out)["stonewall"] == [], "nothing without the option", run)


t.run(test_first, test_time, test_engines, test_waits, test_wear_out, test_record, test_record_of_files, test_refused, test_silent)
t.done()
