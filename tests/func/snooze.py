#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""
-snooze: each slot rests for a share of the mean response time of its QThread. Time stamps have the operations; a file
system with a fixed delay for each request is the other witness. Times are lower bounds: a busy machine rests longer.
"""
import json
import os

import messages as m
import witness as w
import xddsys as s
import xddtest as t
import xddtrace as x

t.may_warn(m.REACHES)

if t.ENGINE:
    t.skip_all("this test sets the engine itself")

LONG_S = 200
SOON_S = 60
DELAY_US = 4000
CLOCK_NS = 20000  # readings of the clock beside those of the time stamps
QUEUED = [e for e in ("libaio", "io_uring") if e in t.engines()]


def rested(title, share, *words, status=0):
    """
    Run, and compare the time from each operation to the next of its QThread with the share of the mean so far. In a
    QThread with one slot, that is.
    """
    dump = t.path("dump")
    run = t.xdd(*words, "-snooze", "%s%%" % share, "-ts", "dump", dump)
    rows = x.rows_of(dump + ".target.0000.bin") if run.status == status else []
    short, times, last = [], {}, {}
    for row in sorted(rows, key=lambda r: (r["PASS"], r["START_NS"])):
        own, took = (row["PASS"], row["QTHREAD"]), row["END_NS"] - row["START_NS"]
        if own in last and row["START_NS"] - last[own][0] < last[own][1] - CLOCK_NS:
            short.append((row, last[own]))
        done = times.setdefault(own + (row["TYPE"],), [])
        done.append(took)
        last[own] = row["END_NS"], share / 100 * sum(done) / len(done)
    t.ok(run.status == status and len(rows) > 8 and not short, title, "%s\n%s" % (short[:4], run))
    return run, rows


def test_shares():
    fs = w.slow_fs(1 << 20, "constant:%d" % DELAY_US)
    if not fs:
        return t.skip("shares of a response time", s.sys_why())
    base = ["-targets", 1, fs.data, *"-reqsize 4k -dio -seek random -seek range 256".split()]
    rested("80 % of the mean of reads", 80, "-op", "read", *base, "-numreqs", 12)
    rested("200 %", 200, "-op", "read", *base, "-numreqs", 10, "-passes", 2)
    rested("reads and writes have means of their own", 150, "-rwratio", 50, *base, "-numreqs", 20)
    rested("each of three QThreads rests by itself", 100, "-op", "write", *base, "-numreqs", 24, "-queuedepth", 3)
    arrivals = fs.log()
    gaps = [(b.arrived_ns - a.answered_ns) / 1000 for a, b in zip(arrivals, arrivals[1:12]) if a.kind == b.kind == "r"]
    t.ok(len(gaps) == 11 and min(gaps) >= 0.8 * DELAY_US, "the file system is idle for 80 % of its delay between requests", gaps)
    return None


def test_slots():
    """Of two slots each rests: no more than two operations begin in one mean time and its share."""
    fs = w.slow_fs(1 << 20, "constant:%d" % DELAY_US)
    if not fs or not QUEUED:
        return t.skip("slots of asynchronous engines", s.sys_why() if not fs else "no such engine")
    for engine in QUEUED:
        dump = t.path(engine)
        run = t.xdd("-op", "read", "-targets", 1, fs.data, *"-reqsize 4k -dio -numreqs 24 -queuedepth 2 -snooze 100".split(),
                    "-ioengine", engine, "-ts", "dump", dump)
        rows = sorted(x.rows_of(dump + ".target.0000.bin"), key=lambda r: r["START_NS"]) if run.status == 0 else []
        starts = [r["START_NS"] for r in rows]
        short = [(a, b) for a, b in zip(starts, starts[2:]) if b - a < 2 * DELAY_US * 1000 - CLOCK_NS]
        t.ok(len(starts) == 24 and not short, "%s: each of two slots rests" % engine, "%s\n%s" % (short, run))
    return None


def test_same_operations():
    """A rest changes when operations are issued, not which ones."""
    file = t.make_file("data", 1 << 20)
    seen = []
    for words in ((), ("-snooze", 300), ("-snooze", 50, "-queuedepth", 3)):
        dump = t.path("same")
        run = t.xdd("-rwratio", 40, "-targets", 1, file, *"-reqsize 4k -numreqs 60 -seek random -seek range 256".split(), *words,
                    "-ts", "dump", dump)
        rows = x.rows_of(dump + ".target.0000.bin") if run.status == 0 else []
        seen.append(sorted((r["OP"], r["TYPE"], r["OFFSET"]) for r in rows))
    t.ok(len(seen[0]) == 60 and seen[0] == seen[1] == seen[2], "the operations are those without -snooze", seen)


def test_ends():
    """Limits, triggers and other rests: 1000 times a response time of milliseconds would last for minutes."""
    fs = w.slow_fs(1 << 20, "constant:%d" % DELAY_US)
    if not fs:
        return t.skip("ends of rests", s.sys_why())
    base = ["-op", "read", "-reqsize", "4k", "-dio", "-numreqs", 1000]
    for title, words, status in (
            ("-timelimit", "-timelimit .2", 0), ("-runtime", "-runtime .2 -queuedepth 2", 0),
            ("a failure with -stoponerror", "-stoponerror -startoffset 2m -numreqs 2", 6)):
        run = t.xdd(*base, "-targets", 1, fs.data, "-snooze", "100000", *words.split(), timeout=LONG_S)
        t.ok(run.status == status and run.seconds < SOON_S, "%s ends a rest" % title, run)
    run = t.xdd(*base, "-targets", 2, fs.data, "null", "-snooze", "target", 0, "100000", "-throttle", "target", 1, "ops", 50,
                "-stoptrigger", 1, 0, "op", 10, "-numreqs", "target", 1, 20, timeout=LONG_S)
    t.ok(run.status == 0 and run.seconds < SOON_S, "a stop trigger ends a rest", run)
    return None


def test_shown():
    base = ["-op", "noop", "-targets", 2, "null", "null", "-numreqs", 20, "-snooze", "target", 1, "80.5%"]
    run = t.xdd(*base, "-jsonout", t.path("j"))
    with open(t.path("j")) as f:
        targets = json.load(f)["plan"]["targets"]
    t.equal((run.status, [target["resolved"]["snooze_percent"] for target in targets]), (0, [None, 80.5]), "-jsonout has the share")
    run = t.xdd(*base, "-dryrun")
    t.equal(run.out.count("\t\tSnooze in percent of the mean response time, 80.5\n"), 1, "-dryrun shows it for its target", run)
    run = t.xdd(*base, "-snooze", 0, "-dryrun")
    t.ok(run.status == 0 and "Snooze" not in run.out, "0: no rests", run)


def test_refused():
    for words, part in (("-snooze -1", "-snooze -1"), ("-snooze 100001", "-snooze 100001"), ("-snooze x", "-snooze x"),
                        ("-snooze %", "-snooze %"), ("-snooze 8%%", "-snooze 8%%"), ("-snooze", "-snooze"),
                        ("-snooze 50 -throttle ops 10", "-throttle ops"), ("-throttle bw 10 -snooze 50", "-throttle bw")):
        file = t.path("untouched")
        run = t.xdd("-op", "write", "-numreqs", 1, "-targets", 1, file, *words.split())
        t.ok(run.status == 2 and len(run.error_lines()) == 1 and part in run.err and not run.out and not os.path.exists(file),
             "refused: " + words, run)
    run = t.xdd(*"-op noop -targets 1 null -numreqs 3 -snooze 50 -throttle delay 0.001 -operationdelay 0.001".split())
    t.equal((run.status, run.err), (0, ""), "with -throttle delay and -operationdelay rests add up", run)


t.real_time()
t.run_all()
