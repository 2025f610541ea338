#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""
-stonewall with -mpi: a pass that is over on one rank is over on all, and with wearout all go on to the greatest count.
"""
import csv
import os
import re
import signal
import time

import xddhold
import xddjson
import xddmpi
import xddsys as s
import xddtest as t
from xddmpi import HOST, load, mpi, wait_until_up

xddmpi.needed()

SIZE = 4096
LINE = re.compile(r"^Stonewall, pass (\d+), (time|rank \d+ target \d+), (at|end), ([\d.]+), seconds, (\d+), bytes, .* Ops/s$", re.M)


def lines(run):
    return [(int(a), b, c, float(d), int(e)) for a, b, c, d, e in LINE.findall(run.out)]


def counts(save, ranks):
    """The operations of each target of each rank, from the records."""
    found = []
    for rank in range(ranks):
        with open("%s.R%d.txt" % (t.path(save), rank)) as f:
            found.append([int(n) for n in re.findall(r"operations (\d+)", f.read())])
    return found


def csv_rows(name, what):
    with open(t.path(name)) as f:
        return [row for row in csv.DictReader(f) if row["WHAT"].strip() == what]


HELD_AT = 50  # the operation that the other ranks are held at while the first rank ends its pass


def held_passes(words, targets, passes):
    """
    A run of four ranks with "-stonewall first". In each pass ranks 1 to 3 stand at an operation until they know that rank 0
    has ended the pass.
    """
    with xddhold.at("operation:%d" % HELD_AT, "pass closed") as h:
        run = xddmpi.Ranks(4, "-mpi", *words, **{xddhold.VARIABLE: h.value})
        first = None
        for _ in range(passes):
            at = [h.wait(run.process) for _ in range(4 * targets)]
            first = first or run.children()[0]
            for held in at:
                if held.pid == first:
                    held.go()
            for _ in range(4):
                h.wait(run.process).go()
            h.go()
        return run.wait()


def test_first():
    """The rank that has the least to do ends each pass of all; the outputs have the sums of all ranks."""
    run = held_passes("-op write -targets 2 first.%r.a first.%r.b -reqsize 4 -throttle ops 1000 -numreqs 1000000 -numreqs target 1 1%r0 "
                      "-stonewall first -stonewall save first -passes 2 -jsonout first.json -csvout first.%r.csv -pretruncate 0".split(), 2, 2)
    wrote = counts("first", 4) if run.status == 0 else []
    t.ok(run.status == 0 and wrote[0][1] == 100 and wrote[1:] == [[HELD_AT + 1] * 2] * 3, "all ranks end with the first one", "%s\n%s" % (wrote, run))
    doc = load("first.json")
    found = lines(run)
    schema = xddjson.schema()
    t.equal(list(xddjson.complaints(doc, schema, schema)), [], "the document")
    t.equal([(s["pass"], s["rank"], s["target"]) for s in doc["stonewall"]], [(1, 0, 1), (2, 0, 1)], "one decision for each pass", run)
    t.equal([(p, who, what, b) for p, who, what, _, b in found],
            [(s["pass"], "rank 0 target 1", what, s[what]["bytes"]) for s in doc["stonewall"] for what in ("at", "end")], "the lines")
    for what, word in (("at", "STONEWALL_AT"), ("end", "STONEWALL_END")):
        rows = [csv_rows("first.%d.csv" % r, word) for r in range(4)]
        t.equal([sum(int(r[p]["BYTESXFERED"]) for r in rows) for p in (0, 1)], [s[what]["bytes"] for s in doc["stonewall"]],
                "CSV: the ranks' %s add up" % what)
    t.equal(sum(s["end"]["bytes"] for s in doc["stonewall"]),
            sum(r["bytes"]["write"] for r in doc["results"] if r["what"] == "COMBINED"), "to the end: all that was written")


def test_wear_out():
    """Of a shared file each rank writes as many blocks as the fastest had, and a reader with the record finds them right."""
    shape = ["-targets", 1, "worn", *"-reqsize 4 -blockperrank 8 -segments 100000 -datapattern tagged".split()]

    run = held_passes(["-op", "write", *shape, *"-throttle ops 1000 -numreqs 1%r0 -stonewall first -stonewall wearout "
                       "-stonewall save worn -jsonout".split(), "worn.json"], 1, 1)
    wrote = counts("worn", 4) if run.status == 0 else []
    t.equal((run.status, wrote), (0, [[100]] * 4), "first: all ranks have the count of the first one", run)
    walls = load("worn.json")["stonewall"] if run.status == 0 else []
    t.equal([(s["rank"], s["target"], s["at"]["bytes"], s["end"]["bytes"]) for s in walls],
            [(0, 0, (100 + 3 * HELD_AT) * SIZE, 400 * SIZE)], "first: both figures", walls)
    before = time.time_ns()
    run = mpi(4, "-op", "write", *shape, *"-throttle ops 1%r0 -stonewall 0.6s -stonewall wearout -stonewall save worn -jsonout".split(),
              "worn.json")
    wrote = [n for rank in counts("worn", 4) for n in rank] if run.status == 0 else []
    walls = load("worn.json")["stonewall"] if run.status == 0 else []
    t.ok(run.status == 0 and len(set(wrote)) == 1 and wrote[0] < 100000, "all ranks have one count", "%s\n%s" % (wrote, run))
    t.ok([(s["target"], s["end"]["bytes"]) for s in walls] == [(None, 4 * wrote[0] * SIZE)] and
         all(0 < s["at"]["ns"] <= s["end"]["ns"] and s["at"]["bytes"] <= s["end"]["bytes"] for s in walls),
         "both figures", walls)
    # "at" is counted from the first operation, which a busy machine issues some time after the begin of the pass.
    t.ok(all(s["begin_ns"] + s["at"]["ns"] >= before + 0.6e9 for s in walls), "none before its time", (before, walls))
    run = mpi(4, "-op", "read", *shape, *"-reorder ranks -verify contents -stonewall load worn -jsonout read.json".split())
    doc = load("read.json") if run.status == 0 else {"results": []}
    t.equal((run.status, sum(r["bytes"]["read"] for r in doc["results"] if r["what"] == "COMBINED")), (0, 4 * wrote[0] * SIZE),
            "each rank reads what the next one wrote, and no more", run)


def test_many():
    """Short passes that all ranks end at nearly one moment: one decision for each, and nothing hangs."""
    for ranks, words in ((4, []), (16, ["-stonewall", "wearout"])):
        run = mpi(ranks, "-op", "noop", "-targets", 1, "null", "-reqsize", 4, "-numreqs", "4%r", "-passes", 9, "-stonewall", *words,
                  "-jsonout", "many.json")
        doc = load("many.json") if run.status == 0 else {"stonewall": []}
        t.equal((run.status, [s["pass"] for s in doc["stonewall"]]), (0, list(range(1, 10))), "%d ranks %s" % (ranks, " ".join(words)), run)


def reading(pid, file):
    """True once the process has the file open."""
    try:
        return file in [os.readlink("/proc/%d/fd/%s" % (pid, fd)) for fd in os.listdir("/proc/%d/fd" % pid)]
    except OSError:
        return False


def lose(word, number, why):
    """
    Lose rank 2 while the others wait for its count; (whether it is named, the run). All stand still as it is lost and as the
    next read of rank 1 fails, which ends the pass. mpirun does until the others have ended: it kills all ranks as soon as it
    sees that one has ended.
    """
    files = [t.make_file("%s.%d" % (word, i), 1 << 20) for i in range(4)]
    run = xddmpi.Ranks(4, "-mpi", *"-op read -targets 1".split(), word + ".%r", *"-reqsize 4 -seek random range 1024 -numreqs 1000000 "
                       "-throttle ops 200 -maxerrors 1 -stonewall wearout".split())
    t.ok(wait_until_up(run, lambda: len(run.children()) == 4 and all(reading(p, f) for p, f in zip(run.children(), files))), "4 ranks run")
    ranks = run.children()
    t.ok(all([s.stop(pid) for pid in [run.process.pid, *ranks]]), "%s: all stand still" % word)
    gone = ranks.pop(2)
    os.kill(gone, number)
    t.ok(number == signal.SIGSTOP or t.until(lambda: s.has_ended(gone)), "%s: rank 2 is lost" % word)
    begin = time.monotonic()
    os.truncate(files[1], 0)
    for pid in ranks:
        os.kill(pid, signal.SIGCONT)
    t.ok(t.until(lambda: all(s.has_ended(pid) for pid in ranks)), "%s: the others end" % word)
    t.diag("%s: they ended after %.1f s" % (word, time.monotonic() - begin))
    # It is a zombie at most until mpirun goes on.
    os.kill(gone, signal.SIGKILL)
    os.kill(run.process.pid, signal.SIGCONT)
    run.wait()
    return run.status != 0 and any("rank 2 on %s is gone: %s" % (HOST, why) in l for l in run.lines), run


def test_lost():
    """A rank that is gone, and one that does not answer, while the others wait for its count."""
    for word, number, why in (("killed", signal.SIGKILL, "its process has ended"), ("frozen", signal.SIGSTOP, "it has not been heard of")):
        good, run = lose(word, number, why)
        t.ok(good, "%s: it is named" % word, run)


t.run_together(test_first, test_wear_out, test_many, test_lost)
t.done()
