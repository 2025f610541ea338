#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""
xdd sweep, and files that its points write and read: a point may read what the points before it write, from files that are not
there yet, in every round and after an interruption.
"""
import json
import os
import re

import xddcount
import xddtest as t

LEAVE = ["-orderseed", 7]


def sweep(*args, **kwargs):
    return t.command([t.XDD, "sweep", *[str(a) for a in args]], **kwargs)


def results(run, name, title, points, rounds):
    """All rounds of all points were run, without errors. Returns the points in the order of their runs, by round."""
    t.equal(run.status, 0, title, run)
    if run.status:
        return []
    with open(t.path(name), encoding="utf-8") as f:
        doc = json.load(f)
    t.equal([[(r["round"], r["status"], r["errors"]) for r in p["rounds"]] for p in doc["points"]],
            [[(r, 0, 0) for r in range(1, rounds + 1)]] * points, title + ": each round of each point")
    runs = sorted((r["start_time"], r["round"], i) for i, p in enumerate(doc["points"]) for r in p["rounds"])
    return [[i for _, number, i in runs if number == r] for r in range(1, rounds + 1)]


def refused(title, message, *args, status):
    run = sweep(*args)
    t.ok(run.status == status and message in run.err and len(run.error_lines()) == 1, title, run)


def test_new_file():
    """The first round has the order of the points; the next ones have their own."""
    new = t.path("new")
    words = ["-target", new, "-bytes", "1M", "-jsonout", t.path("new.json"), *LEAVE]
    order = results(sweep("-op", "write,read", "-reqsize", "4k,16k,64k,256k", "-rounds", 3, *words), "new.json",
                    "write,read of a file that is not there", 8, 3)
    t.equal(order[:1], [list(range(8))], "first those that write")
    t.ok(order[1] != list(range(8)) and order[2] != order[1], "then all are shuffled", order)
    order = results(sweep("-op", "write,read", "-reqsize", "4k,16k,64k,256k", "-rounds", 1, *words), "new.json",
                    "once it is there", 8, 1)
    t.ok(order[0] != list(range(8)), "the first round is shuffled as well", order)
    os.unlink(new)
    refused("read,write: nothing is written yet", "point 1 of 2 (op read): target 0, %s: No such file" % new, "-op", "read,write",
            *words, status=4)
    refused("more than was written", "point 2 of 2 (op read, bytes 2M): target 0, %s: the operations reach to 2 MiB" % new,
            "-pairs", "-op", "write,read", *words[:2], "-bytes", "1M,2M", status=2)
    refused("another file", "point 2 of 2 (op read, targets 1 %s): target 0" % t.path("other"), "-pairs", "-vary", "op=write,read",
            "-vary", "targets=1 %s,1 %s" % (new, t.path("other")), "-bytes", "1M", status=4)
    t.ok(not os.path.exists(new), "what is refused writes nothing")
    run = sweep("-dryrun", "-op", "write,read", *words)
    t.ok(run.status == 0 and not os.path.exists(new), "nor does -dryrun", run)
    order = results(sweep("-op", "write,read", "-bytes", "1M,3M", *words[:2], *words[4:], "-rounds", 2), "new.json",
                    "each reads the size that was written", 4, 2)


def test_shorter_files():
    """Writes that make the file shorter: all rounds are in the order of the points."""
    for option, words in (("-restore", ["recreate"]), ("-pretruncate", [0])):
        for first in ("op", "bytes"):
            lists = {"op": ["-op", "write,read"], "bytes": ["-bytes", "1M,3M"]}
            new = t.path("short")
            run = sweep(option, *words, "-target", new, *lists.pop(first), *lists.popitem()[1], "-rounds", 4, "-jsonout",
                        t.path("short.json"), *LEAVE)
            order = results(run, "short.json", "%s, %s varied first" % (option, first), 4, 4)
            t.equal(order, [[0, 1, 2, 3]] * 4, "%s: the order of the points in each round" % option, order)
            t.equal(os.path.getsize(new), 3 << 20, "%s: the last size that was written" % option)
            os.unlink(new)
    name = t.make_file("long", 3 << 20)
    refused("a file that the first round leaves too short for the second", "point 1 of 2 (op read, bytes 3M)", "-pairs", "-op", "read,write",
            "-bytes", "3M,1M", "-target", name, "-restore", "recreate", status=2)
    refused("... of the second target", "point 1 of 2 (op target 1 read, bytes 3M): target 1, ", "-pairs", "-op", "noop", "-op", "target", 1,
            "read,write", "-bytes", "3M,1M", "-targets", 2, "null", name, "-restore", "recreate", status=2)
    run = sweep("-pairs", "-op", "read,write", "-bytes", "3M,1M", "-target", name, "-restore", "recreate", "-rounds", 1, "-jsonout",
                t.path("short.json"))
    results(run, "short.json", "and for one round it is good", 2, 1)
    run = sweep("-op", "write,read", "-bytes", "64k,128k", "-target", t.path("until"), "-restore", "recreate", "-until", "30%",
                "-mostrounds", 24, "-jsonout", t.path("until.json"))
    t.equal(run.status, 0, "-until: no read comes after a shorter write", run)
    run = sweep("-op", "write,read", "-bytes", "64k,128k", "-target", t.make_file("limited", 3 << 20), "-restore", "recreate", "-timelimit", 60,
                "-rounds", 4, "-jsonout", t.path("limited.json"))
    t.equal(results(run, "limited.json", "-timelimit, a longer file before", 4, 4), [[0, 1, 2, 3]] * 4, "-timelimit: the order of the points in each round")
    # With a delay after each operation, a point of one operation has time for more rounds than a point of two.
    run = sweep("-op", "write,read", "-bytes", "64k,128k", "-reqsize", "64k", "-operationdelay", 0.001, "-target", t.path("each"),
                "-restore", "recreate", "-each", "10ms", "-mostrounds", 24, "-jsonout", t.path("each.json"))
    with open(t.path("each.json"), encoding="utf-8") as f:
        rounds = [len(point["rounds"]) for point in json.load(f)["points"]]
    t.equal((run.status, len(set(rounds))), (0, 1), "-each: a round has all points", run)


def test_resume():
    """Interrupted after any number of runs; what was written may be there or not."""
    new, document = t.path("resumed"), t.path("resumed.json")
    journal = document + ".journal"
    words = ["-op", "write,read", "-target", new, "-bytes", "1M", "-reqsize", "64k,1M", "-rounds", 2, "-journal", journal, *LEAVE]
    t.equal(sweep(*words).status, 0, "a sweep with a journal")
    with open(journal, "rb") as f:
        lines = f.read().splitlines(True)
    order = [(r["round"], r["point"]) for r in (json.loads(line[9:]) for line in lines[1:])]
    t.equal(order[:4], [(1, i) for i in range(4)], "whose first round is in the order of the points")
    for done in range(9):
        for there in (True, False):
            with open(journal, "wb") as f:
                f.write(b"".join(lines[:1 + done]))
            if not there:
                os.unlink(new)
            elif not os.path.exists(new):
                t.make_file("resumed", 1 << 20)
            run = sweep(*words, "-resume", "-jsonout", document)
            title = "%d runs were done, the file is %s" % (done, "there" if there else "gone")
            had = [point for number, point in order[:done] if number == order[min(done, 7)][0]]
            left = [point for point in range(4) if point not in had]
            # The rest of the round that was begun has a read, and no write before it.
            if not there and had and left and left[0] >= 2:
                t.ok(run.status == 4 and "(op read, reqsize" in run.err and "No such file" in run.err and not os.path.exists(new), title + ": refused", run)
                t.make_file("resumed", 1 << 20)
            else:
                results(run, "resumed.json", title, 4, 2)
            t.make_file("resumed", 1 << 20)


def test_no_memory():
    """Memory that is short between runs ends the sweep with the table of the runs so far."""
    if xddcount.library() is None or os.environ.get("XDD_SANITIZERS", "no") != "no":
        t.skip("memory that is short", "no compiler, or a sanitizer has its own memory")
        return
    counter = xddcount.Counter()
    words = ["-op", "noop", "-target", "null", "-numreqs", 10, "-queuedepth", "1,2", "-rounds", 3, "-orderseed", 7]

    def run_to(at):
        counter.arm("memory", at)
        return sweep(*words, env=dict(os.environ, **counter.env))

    t.equal(run_to(0).status, 0, "a sweep with memory")
    calls = counter.counts["memory"]
    kept = 0
    for at in range(calls // 3, calls, 5):
        run = run_to(at)
        if "xdd: out of memory\n" not in run.err:
            continue
        t.ok(run.status == 1 and len(run.error_lines()) == 1, "out of memory, with status 1", run)
        if "Interrupted: " in run.out:
            rounds = [int(n) for n in re.findall(r"^ +[12] .* (\d)  -$", run.out, re.M)]
            t.ok(len(rounds) == 2 and abs(rounds[0] - rounds[1]) < 2, "a table of the runs so far", run)
            kept = max(kept, sum(rounds))
            if kept > 2:
                break
    t.ok(kept > 2, "the first round was not lost in the second", kept)


t.run_all()
