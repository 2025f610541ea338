#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""
-stonewall: all targets end a pass together. The figures at that moment are counted again from the time stamps of the
operations, those to the end are those of the results.
"""
import os
import re

import messages as m
import xddjson
import xddtest as t
import xddtrace

t.virtual_time()

LIMIT_S = 60
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
    shown = [(of["pass"], "time" if of["target"] is None else "target %d" % of["target"], what, of[what]["bytes"])
             for of in doc["stonewall"] for what in ("at", "end")]
    return None if shown == [(a, b, c, e) for a, b, c, _, e in lines(run)] else "lines %r" % lines(run)


def check(title, wanted, words):
    """
    A run whose figures are those of the time stamps. `wanted` has for each pass what ended it, the moment and
    the operations until then, and those of the end, in microseconds.
    """
    dump, out = t.path("dmp"), t.path("doc.json")
    targets = int(words[words.index("-targets") + 1])
    dumps = ["%s.target.%04d.bin" % (dump, i) for i in range(abs(targets))]
    run = t.xdd(*words, "-ts", "dump", dump, "-jsonout", out, timeout=LIMIT_S)
    doc = xddjson.load(out)
    t.equal((run.status, moments(run, doc, dumps)), (0, None), title + ": the figures are those of the time stamps", run)
    t.equal([(of["target"], *[(of[what]["ns"] // 1000, of[what]["ops"]) for what in ("at", "end")]) for of in doc["stonewall"]],
            wanted, title + ": what ended the passes, and when", run)
    t.equal(list(xddjson.problems(doc)), [], title + ": the document")
    return run


# A target that is throttled lasts until its next operation is due, and looks at the clock for the last 40 us.

def test_first():
    """The target that has the least to do ends the passes of the others."""
    file = t.path("data")
    # Target 1 has done 20 operations at 117.647 ms, with 24 of target 0 and 28 of target 2, whose next one is due at 121.739 ms.
    run = check("three targets, three passes", [(1, (117650, 72), (121739, 72))] * 3,
                ["-op", "write", "-targets", 3, file + "0", file + "1", file + "2", *"-reqsize 4 -numreqs 2000 -throttle ops 200 "
                 "-throttle target 1 ops 170 -throttle target 2 ops 230 -numreqs target 1 20 -queuedepth target 2 3 -passes 3 "
                 "-verbose -stonewall".split()])
    t.equal([int(r["Ops"]) for r in run.rows() if r["What"] == "TARGET_PASS"], [24, 20, 28] * 3, "the others end early, in each pass", run)


def test_time():
    file = t.path("timed")
    # Operations 1 to 51 of each target are due until 250 ms, and the next one at 255.
    check("a time", [(None, (253000, 102), (254960, 102))] * 2,
          ["-op", "write", "-targets", -2, file, *"-reqsize 4 -numreqs 2000 -throttle ops 200 -stonewall 0.253 -passes 2".split()])
    # 10 at 170 per second are done at 58.824 ms; the other target has done 12 by then.
    check("a target is earlier", [(0, (58826, 22), (59960, 22))],
          ["-op", "write", "-targets", 2, file, file, *"-reqsize 4 -numreqs 2000 -throttle ops 200 "
           "-throttle target 0 ops 170 -numreqs target 0 10 -stonewall 20s".split()])


def test_engines():
    """With each engine all targets end."""
    for engine in [t.ENGINE] if t.ENGINE else [e for e in t.engines() if e not in ("sg", "mmap", "null")]:
        file = t.path("engine")
        run = t.xdd("-op", "write", "-targets", 2, file + "0", file + "1", *"-reqsize 4 -numreqs 1000000 -numreqs target 0 50 "
                    "-queuedepth 4 -stonewall -verbose".split(), "-ioengine", engine, timeout=LIMIT_S, tolerate=m.DIRTY)
        rows = [r for r in run.rows() if r["What"] == "TARGET_PASS"]
        t.ok(run.status == 0 and len(lines(run)) == 2 and int(rows[0]["Ops"]) == 50 and int(rows[1]["Ops"]) < 1000000, engine, run)
        size = os.path.getsize(file + "1")
        t.equal(size, int(rows[1]["Ops"]) * SIZE, engine + ": the file has what was counted")
        os.unlink(file + "0")
        os.unlink(file + "1")


def test_waits():
    """Targets that wait, for a turn, the clock or each other, end as well. Target 0 needs 10 ms for its 10 writes."""
    # The moment in ms and the operations until then, and those of the end.
    for words, wanted in (("-ordering storage serial -queuedepth 4", [(10, 20), (11, 21)]),
                          # Its next one is due at 50 ms.
                          ("-throttle target 1 ops 20", [(10, 11), (49.96, 11)]),
                          # 10 writes and 10 delays.
                          ("-operationdelay 20ms", [(210, 20), (211, 21)]),
                          # In turn: 10 and 9.
                          ("-lockstep 0 1 op 1 op 1 wait complete", [(19, 19), (19, 19)]),
                          ("-syncio 7", [(10, 19), (10, 20)]), ("-syncwrite", [(10, 20), (11, 21)]),
                          # It begins after 5.
                          ("-starttrigger 0 1 op 5", [(10, 14), (10, 15)])):
        run = t.xdd(*"-op write -targets 2".split(), t.path("w0"), t.path("w1"), *"-reqsize 4 -numreqs 1000000 -numreqs target 0 10 "
                    "-stonewall".split(), *words.split(), timeout=LIMIT_S, device="/w 1000000 8")
        found = lines(run)
        t.equal((run.status, [by for _, by, *_ in found], [(round(s * 1000, 3), n // SIZE) for *_, s, n in found]),
                (0, ["target 0"] * 2, wanted), words, run)


def test_wear_out():
    """All go on to what the one that had come furthest had issued, whatever makes them wait; not beyond their own amount."""
    # Target 2 has done 7 operations at 46.7 ms, target 0 as many, and target 1, at twice the rate, 15 or as many as it may.
    for words, most in (("", 15), ("-queuedepth 4", 15), ("-syncio 3", 9), ("-ordering storage serial -queuedepth 4", 15),
                        ("-lockstep 0 1 op 1 op 1 wait complete", 8), ("-starttrigger 0 1 op 5", 8), ("-seek random -queuedepth 3", 15)):
        run = t.xdd(*"-op write -targets 3".split(), t.path("x0"), t.path("x1"), t.path("x2"), *"-reqsize 4 -numreqs 100000 -numreqs target 2 7 "
                    "-throttle ops 150 -throttle target 1 ops 300 -stonewall wearout -passes 2 -verbose".split(), *words.split(),
                    timeout=LIMIT_S)
        ops = [int(r["Ops"]) for r in run.rows() if r["What"] == "TARGET_PASS"]
        t.equal((run.status, ops, len(lines(run))), (0, [most, most, 7] * 2, 4), "wearout %s" % words, run)
    run = t.xdd(*"-op write -targets 2".split(), t.path("x0"), t.path("x1"), *"-reqsize 4 -numreqs 100000 -numreqs target 1 40 -queuedepth 4 "
                "-stonewall 20s -stonewall wearout".split(), "-stonewall", "save", t.path("worn"), timeout=LIMIT_S, tolerate=m.DIRTY)
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


def test_record_of_failures():
    """A target that is only written to has a line if all of its operations have succeeded."""
    save, there = t.path("failed"), t.make_file("read", 10 * SIZE)
    run = t.xdd(*"-op write -op target 2 read -targets 3 /dev/full".split(), t.path("w"), there, *"-reqsize 4 -numreqs 10 -throttle ops 200 "
                "-maxerrors 100 -stonewall -stonewall save".split(), save, warns=(m.NOT_SAVED,))
    with open(save + ".R0.txt") as f:
        text = f.read()
    said = "xdd: warning: target 0, /dev/full: -stonewall save: leaves it out, whose operations have not all succeeded"
    t.equal((run.err.splitlines().count(said), text), (1, "xdd stonewall 1, rank 0 of 1, targets 3\ntarget 1, operations 10, "
            "request 4096, start 0, block 0, sequential, range 0, seed 0\n"), "a target with errors has no line", run)


def test_record_of_files():
    """The same with a file for each target, random offsets, and several threads."""
    save = t.path("files")
    base = ["-targets", 2, t.path("f0"), t.path("f1"), *"-reqsize 4 -numreqs 300000 -seek random range 4000 -datapattern tagged "
            "-queuedepth 4".split()]
    run = t.xdd("-op", "write", *base, *"-numreqs target 1 200 -throttle target 0 ops 20000 -stonewall first save".split(), save,
                timeout=LIMIT_S)
    with open(save + ".R0.txt") as f:
        wrote = [int(n) for n in re.findall(r"operations (\d+)", f.read())]
    again = t.xdd("-op", "read", *base, *"-numreqs target 1 200 -verify contents -verbose -stonewall load".split(), save,
                  timeout=LIMIT_S, tolerate=m.REACHES)
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


t.run_all()
