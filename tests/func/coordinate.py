#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""
Targets that wait for each other: -lockstep, -starttrigger, -stoptrigger, -syncio, -starttime. What is issued when
is seen from outside, by strace; counts are compared with what the user guide says; every wait is ended in every
way; and what cannot be is refused in one line.
"""
import itertools
import math
import os
import re
import signal
import time

import messages as m
import xddsys as s
import xddtest as t
import xddtrace

t.may_warn(m.REACHES, m.DID_NOTHING)

t.virtual_time()
t.tolerate(t.CACHED)

LIMIT_S = t.TIMEOUT
MANY = 100000
QUEUES = (t.ENGINE.split() or [""])[0] in ("libaio", "io_uring")


# The order of events, observed from outside

class Event:
    """An operation begins or ends; events of a run are in the order in which they took place."""

    def __init__(self, begins, target, number):
        self.begins, self.target, self.number = begins, target, number

    def __repr__(self):
        return "%s%d.%d" % ("<" if self.begins else ">", self.target, self.number)


def stamped(n_targets, *args):
    """events() by the time stamps of `n_targets` targets."""
    run = t.xdd(*args, "-ts", "detailed", "-ts", "output", t.path("ts"), timeout=LIMIT_S)
    found = []
    for target in range(n_targets):
        for row in xddtrace.read_report(t.path("ts.target.%04d.csv" % target)).rows:
            for begins in (False, True):
                found.append((row["StartTS" if begins else "EndTS"], begins, target, row["OP Number"]))
    return run, [Event(*event) for _, *event in sorted(found)]


def traced(calls, *args, clock=None):
    """Run xdd under strace, in real time without `clock`, an environment of virtual time; returns the run and the log."""
    log = t.path("strace.out")
    return t.command(s.strace(log, calls, env=clock) + t.xdd_words(*args), timeout=LIMIT_S), log


def events(targets, size, *args, clock=None):
    """
    Run xdd as traced() does; `targets` says for each which (call, file) are its operations, of `size` bytes. strace writes
    down each call as it begins, and breaks the line off when something else happens before it has ended, so
    the order of its lines is the order of events. It does not see what an engine that queues does: of these the time
    stamps are taken.
    """
    if QUEUES:
        return stamped(len(targets), *args)
    run, log = traced("pread64,pwrite64", *args, clock=clock)
    found, under_way = [], {}
    with open(log, errors="replace") as f:
        for line in f:
            # A read that is broken off shows its size and offset only where it goes on.
            m = re.match(r"(\d+) +(?:<\.\.\. )?(pread|pwrite)64(?:\((\d+)<([^>]*)>| resumed>)"
                         r"(?:.*?, \d+, (\d+)(?:\)| <unfinished))?", line)
            if not m:
                continue
            pid, call, fd, name, offset = m.groups()
            begun = under_way.pop(pid, None)
            if fd:
                if (call, name) not in targets:
                    continue
                begun = Event(True, targets.index((call, name)), None)
                found.append(begun)
            if not begun:
                continue
            if offset:
                begun.number = int(offset) // size
            if "<unfinished" in line:
                under_way[pid] = begun
            else:
                found.append(Event(False, begun.target, begun.number))
    return run, found


def witness():
    """Why operations cannot be seen one by one, as they begin and end; None when they can."""
    return None if QUEUES or s.can_trace() else s.sys_why()


def written(names):
    """Files that are written to, as targets of events()."""
    return [("pwrite", t.path(name)) for name in names]


def test_guide_example():
    """The guide, 5.4: target 1 follows target 0 by exactly one operation all the time."""
    title = "the guide's example, operation by operation"
    if witness():
        return t.skip(title, witness())
    size, ops = 4096, 300
    file = t.make_file("disk", size * ops)
    run, found = events([("pwrite", file), ("pread", file)], size,
                        "-targets", 2, file, file, "-op", "target", 0, "write", "-op", "target", 1, "read", "-reqsize",
                        4, "-kbytes", ops * 4, *"-lockstep 0 1 op 1 op 1 wait complete".split())
    wanted = [(begins, target, n) for n in range(ops) for target in (0, 1) for begins in (True, False)]
    t.ok(run.status == 0, title + ": status", run)
    got = [(e.begins, e.target, e.number) for e in found]
    first = next((i for i, pair in enumerate(itertools.zip_longest(got, wanted)) if pair[0] != pair[1]), 0)
    t.ok(got == wanted, title, "%d events of %d; the first that is wrong is in %s" %
         (len(got), len(wanted), found[max(0, first - 6):first + 10]))


def test_stop_in_rest():
    """A stop trigger ends a target that rests after an operation, here for longer than the test may take."""
    run = t.xdd("-op", "noop", "-targets", 2, "null", "null", "-throttle", "target", 1, "delay", 3600, "-throttle", "target", 0,
                "ops", 100, "-numreqs", "target", 0, 10, "-numreqs", "target", 1, 5, "-stoptrigger", 0, 1, "op", 5, timeout=60)
    row = run.row("COMBINED")
    t.ok(run.status == 0 and row and row["Ops"] == "11", "a stop trigger cuts the rest after an operation short", run)


def allowance(found, ops, when, what, run_first):
    """
    The first event against the rules, or None: a slave begins an operation that was not requested, or lags by more
    than one task when the next request is made.
    """
    begun, ended = [0, 0], [0, 0]
    for e in found:
        if e.begins:
            begun[e.target] += 1
            if e.target == 1 and ended[0] < ops and begun[1] > (ended[0] // when + run_first) * what:
                return e, begun, ended
        else:
            ended[e.target] += 1
            if (e.target == 0 and ended[0] % when == 0 and
                    ended[1] < min(ops, (ended[0] // when - 1) * what)):
                return e, begun, ended
    return None


def test_allowance():
    """A slave never exceeds its allowance, and never lags by more than that."""
    for when, what, startup, depth in ((1, 1, "run", 1), (8, 3, "wait", 1), (8, 3, "run", 4), (3, 8, "wait", 4),
                                       (5, 5, "run", 3)):
        title = "op %d op %d %s, queue depth %d: never early, never late" % (when, what, startup, depth)
        if witness():
            t.skip(title, witness())
            continue
        ops = 240
        run, found = events(written("ms"), 1024, "-op", "write", "-targets", 2, t.path("m"), t.path("s"), "-reqsize", 1,
                            "-numreqs", ops, "-queuedepth", depth, "-lockstep", 0, 1, "op", when, "op", what, startup,
                            "complete")
        wrong = allowance(found, ops, when, what, startup == "run")
        t.ok(run.status == 0 and len(found) == 4 * ops and wrong is None, title, "%s\n%s" % (wrong, run))


# Counts

NULL = "-op noop -reqsize 4 -verbose".split()


def ops_of(run):
    """Operations of each target, by pass."""
    rows = [r for r in run.rows() if r["What"] == "TARGET_PASS"]
    passes = sorted({int(r["Pass"]) for r in rows})
    return [[int(r["Ops"]) for r in sorted(rows, key=lambda r: int(r["Target"])) if int(r["Pass"]) == p]
            for p in passes]


def null(n, *args):
    """Run on n null devices."""
    words = args[0].split() if len(args) == 1 else args
    return t.xdd(*NULL, "-targets", "-%d" % n, "null", *words, timeout=LIMIT_S)


def done_ok(run, wanted, title):
    t.ok(run.status == 0 and not run.err and ops_of(run) == wanted, title, "wanted: %s\n%s" % (wanted, run))


def requests(unit, value, ops):
    """How often the master makes a request in a pass of `ops` operations of 4 KiB."""
    return int({"op": ops // value, "percent": 100 // value, "kbytes": ops * 4 // value,
                "mbytes": ops * 4 // 1024 // value}[unit])


def task_ops(unit, value, tasks, ops):
    """How many operations so many tasks are."""
    return min(ops, int({"op": tasks * value, "percent": math.ceil(tasks * value * ops / 100),
                         "kbytes": math.ceil(tasks * value / 4),
                         "mbytes": math.ceil(tasks * value * 256)}[unit]))


def test_combinations():
    """All of when, what, startup and completion."""
    whens = (("op", 700), ("percent", 3), ("kbytes", 2222), ("mbytes", 7), ("time", "0.0003"))
    whats = (("op", 300), ("percent", 1), ("kbytes", 1111), ("mbytes", 2), ("time", "0.0001"))
    for when, what, startup, completion in itertools.product(whens, whats, ("run", "wait"), ("complete", "stop")):
        words = "-lockstep 0 1 %s %s %s %s %s %s" % (*when, *what, startup, completion)
        run = null(2, "-numreqs", MANY, *words.split())
        got = ops_of(run)
        good = run.status == 0 and not run.err and len(got) == 1 and got[0][0] == MANY
        if completion == "complete":
            good = good and got[0][1] == MANY
        elif "time" not in (when[0], what[0]):
            tasks = requests(*when, MANY) + (startup == "run")
            good = good and got[0][1] == task_ops(*what, tasks, MANY)
        elif what[0] != "time" and good:
            # As many whole tasks as there was time for.
            good = got[0][1] == MANY or got[0][1] in {task_ops(*what, n, MANY) for n in range(MANY)}
        t.ok(good, "%d operations, %s" % (MANY, words), run)


def test_counts():
    one = "-lockstep 0 1 op 1 op 1 "
    # Each operation waits for a thread to wake up: on a busy machine that takes milliseconds.
    done_ok(null(2, "-numreqs 10000 %s wait complete" % one), [[10000] * 2], "one by one, 10^4 operations")
    done_ok(null(2, "-numreqs 2000 -queuedepth 8 %s run complete" % one), [[2000] * 2], "one by one, queue depth 8")
    done_ok(null(2, "-numreqs 1000 -serialordering -queuedepth 4 %s run complete" % one), [[1000] * 2],
            "one by one, in serial order, queue depth 4")
    done_ok(null(2, "-numreqs 50 -numreqs target 1 1000 -passes 5 -lockstep 0 1 op 10 op 3 run stop"), [[50, 18]] * 5,
            "several passes, stop")
    done_ok(null(2, "-numreqs 50 -numreqs target 1 1000 -passes 5 -lockstep 0 1 op 10 op 3 run complete"),
            [[50, 1000]] * 5, "several passes, complete")
    done_ok(null(2, "-numreqs 50 -numreqs target 1 1000 -queuedepth 8 -passes 300 -lockstep 0 1 op 10 op 7 wait stop"),
            [[50, 35]] * 300, "what was requested is done, whichever QThread has it when the master ends")
    done_ok(null(2, "-numreqs 1000 -numreqs target 1 10 %s wait stop" % one), [[1000, 10]],
            "a slave that has completed its pass holds no other target")
    done_ok(null(3, "-numreqs 3000 %s wait complete -lockstep 1 2 op 1 op 1 wait complete" % one), [[3000] * 3],
            "a chain of three")
    done_ok(null(3, "-numreqs 700 -passes 2 %s wait stop -lockstep 1 2 op 7 op 3 wait stop" % one),
            [[700, 700, 300]] * 2, "a chain of three, stop")
    done_ok(null(4, "-numreqs 900 %s wait stop -lockstep 0 2 op 3 op 2 wait stop -lockstep 2 3 op 2 op 1 run stop" % one),
            [[900, 900, 600, 301]], "one master of two, one slave that is a master")
    done_ok(null(2, "-numreqs 100 -lockstep 0 1 op 500 op 1 wait stop"), [[100, 0]],
            "a master that never makes a request, stop")
    done_ok(null(2, "-numreqs 100 -lockstep 0 1 op 500 op 1 wait complete"), [[100, 100]],
            "a master that never makes a request, complete")
    done_ok(null(2, "-numreqs 100 -lockstep 0 1 op 5 op 1 wait stop -lockstep 0 1 op 2 op 1 wait stop"), [[100, 50]],
            "the same pair again: the last one wins")
    done_ok(null(2, "-numreqs 100 -numreqs target 1 60 -queuedepth 3 %s run stop" % one), [[100, 60]],
            "unequal passes, queue depth 3")


def test_sizes():
    """Requests that are not all of one size: a short one at the end, and a list of them."""
    for words, wanted in (("-lockstep 0 1 kbytes 4 kbytes 4 wait stop", [3, 2]),
                          ("-lockstep 0 1 kbytes 4 kbytes 4 run stop", [3, 3]),
                          ("-lockstep 0 1 kbytes 5 op 1 wait stop", [3, 1]),
                          ("-starttrigger 0 1 kbytes 9", [3, 3]), ("-lockstep 0 1 op 1 op 1 wait complete", [3, 3])):
        for depth in (1, 3):
            run = null(2, "-bytes 10000 -blocksize 1 -reqsize 4096 -queuedepth %d %s" % (depth, words))
            done_ok(run, [wanted], "10000 bytes in requests of 4096, queue depth %d, %s" % (depth, words))
    for i in range(2):
        with open(t.path("list.T%d.txt" % i), "w", encoding="ascii") as f:
            f.writelines("%d %d %d r 0 0\n" % (n, 8 * n, size) for n, size in enumerate((1, 8, 2, 5, 4)))
    file = t.make_file("data", 64 << 10)
    words = "-op read -targets 2 %s %s -seek load %s -numreqs 5 -verbose " % (file, file, t.path("list"))
    for more, wanted in (("-lockstep 0 1 op 2 op 1 wait stop", [5, 2]), ("-starttrigger 0 1 kbytes 20", [5, 5])):
        done_ok(t.xdd(*(words + more).split(), timeout=LIMIT_S), [wanted], "a list of requests, " + more)
    for more, number in (("kbytes 2 op 1", 0), ("op 1 kbytes 2", 1), ("mbytes 1 op 1", 0)):
        refused(words + "-lockstep 0 1 %s wait stop" % more,
                m.line("target %d, .*: -lockstep" % number, "the requests of -seek load differ in size"))
    refused(words + "-starttrigger 0 1 kbytes 21", "never fires: needs 21504 bytes, a pass has 20480")


def test_engines():
    """Engines that queue wait at the gate with operations outstanding."""
    for engine in ("libaio", "io_uring"):
        title = engine + ", queue depth 8 by 2 QThreads"
        if t.ENGINE or engine not in t.engines():
            t.skip(title, "another engine is asked for" if t.ENGINE else "it is not there")
            continue
        file = t.make_file("data", 4096 * 600)
        words = ["-ioengine", engine, "-op", "read", "-targets", "-2", file, "-reqsize", 4, "-numreqs", 600, "-queuedepth",
                 8, "-threads", 2, "-verbose"]
        run = t.xdd(*words, *"-lockstep 0 1 op 3 op 1 run stop -passes 2".split(), timeout=LIMIT_S)
        done_ok(run, [[600, 201]] * 2, title + ": lockstep")
        run = t.xdd(*words, *"-syncio 5 -numreqs target 1 333".split(), timeout=LIMIT_S)
        done_ok(run, [[600, 333]], title + ": -syncio")


# Triggers

SLOW = "-operationdelay 4ms"


def test_start_trigger():
    for words, first in (("op 50", 50), ("percent 25", 25), ("kbytes 60", 60), ("mbytes 1", 64), ("percent 0.5", 1)):
        title = "-starttrigger %s: the first operation of target 1 comes after operation %d of target 0" % (words, first)
        if witness():
            t.skip(title, witness())
            continue

        block = 16 if "mbytes" in words else 1
        run, found = events(written("ab"), 1024 * block, "-op", "write", "-targets", 2, t.path("a"), t.path("b"), "-reqsize", block,
                            "-numreqs", 100, *SLOW.split(), "-starttrigger", 0, 1, *words.split(), clock=t.clock_environment())
        begun = next((i for i, e in enumerate(found) if e.target == 1), len(found))
        before = [sum(e.begins == begins for e in found[:begun]) for begins in (True, False)]
        t.equal((run.status, len(found), before), (0, 400, [first] * 2), title, run)

    def skews(run, last):
        """Of each pass in which target 0 begins first, and that target last."""
        pattern = r"^Start skew, pass \d, ([\d.]+), seconds, first, target 0, last, target %d$" % last
        return [float(x) for x in re.findall(pattern, run.out, re.M)]

    run = null(2, "-numreqs 60 -operationdelay 10ms -passes 2 -starttrigger 0 1 time 0.3")
    t.equal((run.status, ops_of(run), skews(run, 1)), (0, [[60, 60]] * 2, [0.3, 0.3]), "-starttrigger time: not before", run)
    run = null(2, "-numreqs 20 -operationdelay 5ms -starttrigger 0 1 op 10 -ts detailed -ts output " + t.path("ts"))
    rows = xddtrace.read_report(t.path("ts.target.0001.csv")).rows
    took = (max(r["EndTS"] for r in rows) - min(r["StartTS"] for r in rows)) / 1e12
    t.ok(abs(float(run.row("TARGET_PASS", Target=1)["Elapsed"]) - took) < 0.0011 and took > 0.09,
         "the wait for a start trigger counts in no rate", "%f\n%s" % (took, run))

    run = null(3, "-numreqs 50 -operationdelay 10ms -starttrigger 0 1 time 0.3 -starttrigger 1 2 time 0.3")
    t.equal((run.status, ops_of(run), skews(run, 2)), (0, [[50] * 3], [0.6]),
            "-starttrigger time in a chain counts from when that target started", run)
    run = null(2, "-numreqs 1000 -operationdelay 10ms -timelimit target 0 0.2 -starttrigger 0 1 op 500")
    t.ok(run.status == 0 and ops_of(run)[0][1] == 0 and ops_of(run)[0][0] < 500 and len(run.error_lines()) == 1 and
         "target 1" in run.err and "start trigger" in run.err, "a start trigger that is never pulled: told, and no hang", run)


def test_stop_trigger():
    # Both have an operation every 5 ms; of two at one moment target 0 has the first, which ends target 1 before the other.
    for words, ops in (("op 50", 49), ("percent 25", 24), ("kbytes 60", 59), ("time 0.2", 40)):
        run = null(2, "-numreqs 100 -reqsize 1 -numreqs target 1 1000000 -operationdelay 5ms -stoptrigger 0 1 " + words)
        done_ok(run, [[100, ops]], "-stoptrigger %s: target 1 ends, target 0 goes on" % words)
    done_ok(null(2, "-numreqs 10 -numreqs target 1 200 -operationdelay 1ms -stoptrigger 0 1 time 3000"), [[10, 200]],
            "a stop trigger that is never pulled")
    done_ok(null(2, "-numreqs 30 -startdelay target 1 0.3 -stoptrigger 0 1 op 30"), [[30, 0]],
            "a stop trigger that is pulled before the target starts")


# -syncio

def meets(found, lengths, every):
    """The first event that -syncio should have held back, or None."""
    begun, ended = [0] * len(lengths), [0] * len(lengths)
    for e in found:
        if e.begins:
            reached = begun[e.target] // every * every
            begun[e.target] += 1
            if any(ended[i] < min(reached, n) for i, n in enumerate(lengths)):
                return e, begun, ended
        else:
            ended[e.target] += 1
    return None


def test_syncio():
    lengths = (200, 91, 33)
    for every, depth in ((1, 1), (10, 1), (10, 4), (7, 3)):
        title = "-syncio %d, queue depth %d, targets of %d, %d and %d operations" % (every, depth, *lengths)
        if witness():
            t.skip(title, witness())
            continue
        run, found = events(written("abc"), 1024, "-op", "write", "-targets", 3, *map(t.path, "abc"), "-reqsize", 1,
                            "-queuedepth", depth, "-numreqs", lengths[0], "-numreqs", "target", 1, lengths[1],
                            "-numreqs", "target", 2, lengths[2], "-syncio", every)
        wrong = meets(found, lengths, every)
        t.ok(run.status == 0 and len(found) == 2 * sum(lengths) and wrong is None, title, "%s\n%s" % (wrong, run))
    done_ok(null(3, "-numreqs 20000 -numreqs target 1 12345 -numreqs target 2 777 -queuedepth 2 -syncio 10 -passes 2"),
            [[20000, 12345, 777]] * 2, "-syncio, several passes")
    done_ok(null(1, "-numreqs 1000 -syncio 3"), [[1000]], "-syncio of one target")
    done_ok(null(2, "-numreqs 1000 -numreqs target 1 7 -syncio 3 -syncio 0"), [[1000, 7]], "-syncio 0: they do not meet")
    done_ok(null(2, "-numreqs 10 -syncio 1000"), [[10, 10]], "-syncio of more than there is")
    run = null(2, "-numreqs 100000 -timelimit target 1 0.2 -operationdelay 1ms -numreqs target 0 400 -syncio 2")
    t.ok(run.status == 0 and ops_of(run)[0][0] == 400, "-syncio: a target whose time is over is not waited for", run)


# The end of the other, and of the run

def test_master_ends():
    for completion, good in (("complete", lambda n: n == 500), ("stop", lambda n: n < 500)):
        run = null(2, "-numreqs 500 -timelimit target 0 0.1 -operationdelay 1ms -lockstep 0 1 op 2 op 1 wait " + completion)
        t.ok(run.status == 0 and good(ops_of(run)[0][1]) and ops_of(run)[0][0] < 500,
             "a master whose time is over, " + completion, run)
        short = t.make_file("short", 4096 * 10)
        run = t.xdd("-op", "read", "-targets", 2, short, "null", "-reqsize", 4, "-numreqs", 500, "-maxerrors", 3, "-verbose",
                    *"-timelimit 200 -lockstep 0 1 op 1 op 1 wait".split(), completion, timeout=LIMIT_S)
        got = ops_of(run)
        t.ok(run.status == 6 and got and got[0][0] == 10 and got[0][1] == (500 if completion == "complete" else 13),
             "a master that -maxerrors ends, %s: operations that failed count as complete" % completion, run)
    short = t.make_file("short", 4096 * 10)
    run = t.xdd("-op", "read", "-targets", 2, "null", short, "-reqsize", 4, "-numreqs", 500, "-maxerrors", 3, "-verbose",
                *"-lockstep 0 1 op 1 op 1 wait stop".split(), timeout=LIMIT_S)
    t.ok(run.status == 6 and ops_of(run)[0] == [500, 10], "a slave that -maxerrors ends holds its master no more", run)
    run = t.xdd("-op", "read", "-targets", 3, short, "null", "null", "-reqsize", 4, "-numreqs", 500, "-stoponerror",
                *"-timelimit 200 -lockstep 0 1 op 100 op 1 wait complete -starttrigger 0 2 op 100".split(), timeout=LIMIT_S)
    t.ok(run.status == 6, "-stoponerror ends the waits of the others", run)


WAITS = (
    ("a slave that waits for its master", "-startdelay target 0 1000 -lockstep 0 1 op 1 op 1 wait complete"),
    ("a slave that waits for a time", "-startdelay target 0 1000 -lockstep 0 1 time 500 op 1 wait complete"),
    ("a slave between its times", "-operationdelay 10ms -lockstep 0 1 time 500 time 0.01 run complete"),
    ("a master that waits for its slave", "-startdelay target 1 1000 -lockstep 0 1 op 1 op 1 wait complete"),
    ("a start trigger", "-startdelay target 0 1000 -starttrigger 0 1 op 1"),
    ("a start trigger by time", "-operationdelay 10ms -numreqs 100000 -starttrigger 0 1 time 500"),
    ("-syncio", "-startdelay target 1 1000 -syncio 2"),
    ("-syncio, queue depth 4", "-startdelay target 1 1000 -syncio 2 -queuedepth 4"),
    ("a lockstep in serial order, queue depth 4",
     "-startdelay target 0 1000 -serialordering -queuedepth 4 -lockstep 0 1 op 1 op 1 wait complete"),
)


def interrupted(words, env=None, stuck=0):
    """Interrupt xdd after half a second, which is in its wait; what went wrong, or its status, and when it ended."""
    run = t.xdd(*words, env=env or {}, at={0.5: signal.SIGINT}, timeout=60)
    left = re.search(r"(\d+) QThreads did not return", run.err)
    right = int(left.group(1) if left else 0) == stuck
    return (run.status if right else "wrong threads left behind: %s" % run.err), round(run.seconds, 2)


def later(seconds):
    """A time for -starttime, so long after the begin of the next run."""
    return "%d.%09d" % divmod(t.next_begin_ns() + int(seconds * 10**9), 10**9)


def test_stop_in_every_wait():
    base = "-op noop -targets 2 null null -numreqs 1000 "
    for title, words in WAITS:
        t.equal(interrupted((base + words).split()), (5, 0.5), "SIGINT ends " + title)
        run = t.xdd(*(base + words + " -runtime 0.3").split(), timeout=30)
        t.ok(run.status == 0, "-runtime ends " + title, run)
        run = t.xdd(*(base + words + " -timelimit 0.3").split(), timeout=30) if "startdelay" not in words else None
        t.ok(run is None or run.status == 0, "-timelimit ends " + title, run)
    for title, words in (("a slave", "-lockstep 0 1 op 1 op 1 wait complete"), ("a start trigger", "-starttrigger 0 1 op 1"),
                         ("-syncio", "-syncio 2")):
        title = "SIGINT ends %s whose other target hangs in the kernel" % title
        env = s.faults("hang", file="hung")
        if env is None:
            t.skip(title, s.sys_why())
            continue
        words = "-op read -targets 2 %s null -reqsize 4 -numreqs 10 -queuedepth target 1 3 " % t.make_file("hung", 65536) + words
        t.equal(interrupted(words.split(), env, stuck=1), (5, 3.5), title)  # 3 s are left to it
    t.equal(interrupted((base + "-starttime " + later(1000)).split()), (5, 0.5), "SIGINT ends -starttime")


# -starttime, and the skew of starts

def test_start_time():
    run = t.xdd("-op", "write", "-targets", 1, t.path("late"), "-reqsize", 1, "-numreqs", 1, "-starttime", later(3),
                at={2.999999999: ["test", "!", "-s", t.path("late")]})
    t.equal((run.status, run.seconds, os.path.getsize(t.path("late"))), (0, 3, 1024), "-starttime: nothing is written before", run)
    t.equal(run.err, "xdd: note: the targets start in 3.0 seconds (-starttime)\n", "-starttime: says so")
    run = t.xdd(*"-op noop -targets 1 null -numreqs 1 -verbose -starttime".split(), later(1000))
    t.ok(run.status == 0 and re.search(r"^Seconds before starting, 1000$", run.out, re.M), "-verbose says how many seconds are left", run)
    run = t.xdd(*"-op read -targets 2 null nosuch -numreqs 1 -starttime".split(), later(1000))
    t.equal((run.status, run.seconds), (4, 0), "-starttime: a target that cannot start is not waited for", run)


def test_wait_is_no_stop():
    """The wait for the start is no stop of the process. In real time: virtual time has no counter that follows a clock."""
    run = t.xdd("-op", "noop", "-target", "null", "-numreqs", 2, "-operationdelay", 0.3, "-starttime",
                "%.3f" % (time.time() + 3), real=True)
    told = [float(amount) for amount in re.findall("^" + m.STOPPED + r"([\d.]+) s ", "\n".join(run.warnings), re.M)]
    t.ok(run.status == 0 and all(amount < 2 for amount in told), "-starttime: the wait is no stop of xdd", (run, run.warnings))


def test_prepared():
    """A QThread prepares its first operation before the moment of -starttime, for the operation to be on time."""
    if not s.can_trace():
        return t.skip("-starttime: what precedes the first operation", s.sys_why())
    begin = later(2)
    run, log = traced("execve,getrusage,pread64", "-op", "read", "-targets", 1, t.make_file("started", 4096), "-reqsize", 4,
                      "-numreqs", 1, "-starttime", begin, clock=t.clock_environment({1.999999999: ["true"]}))
    calls = list(s.calls_of(log))
    # The main thread loads libraries with pread64. The program runs a nanosecond before the moment.
    thread = next((pid for pid, text in calls if "RUSAGE_THREAD" in text), None)
    order = "".join("x" if "/at." in text else "u" if "RUSAGE_SELF" in text else "r" if text.startswith("pread64") else ""
                    for pid, text in calls if pid == thread or "/at." in text)
    return t.ok(run.status == 0 and re.match("u+x+r", order), "-starttime: what precedes the first operation precedes the moment",
                "%s\n%s\n%s" % (order, calls, run))


def test_barrier():
    """No target begins a pass before all have ended the one before; with -nobarrier each goes on by itself."""
    for words, together in (("", True), ("-nobarrier", False)):
        def measure(words=words, together=together):
            run = null(2, "-numreqs 5 -passes 3 -operationdelay 1ms -throttle target 1 ops 20 %s -ts detailed -ts output %s" %
                       (words, t.path("ts")))
            rows = [r for i in range(2) for r in xddtrace.read_report(t.path("ts.target.%04d.csv" % i)).rows]
            ends = max((r["EndTS"] for r in rows if r["Pass"] == 1), default=0)
            begins = min((r["StartTS"] for r in rows if r["Pass"] == 2), default=0)
            found = run.status, len(rows), begins > ends
            return found == (0, 30, together), found, begins, ends, run
        good, *found = measure()
        t.ok(good, "passes %s %s" % ("together" if together else "apart", words), found)


def test_start_skew():
    pattern = r"^Start skew, pass (\d), \d+\.\d{6}, seconds, first, target \d, last, target \d$"
    for words, passes in (("", 1), ("-passes 3", 3), ("-passes 3 -nobarrier", 3), ("-startdelay target 1 0.1", 1),
                          ("-targetstartdelay 0.05 -passes 2", 2)):
        run = null(3, "-numreqs 10 " + words)
        t.equal(sorted(re.findall(pattern, run.out, re.M)), [str(i + 1) for i in range(passes)],
                "the skew of starts is shown for each pass: " + words)
    # Delays that were asked for are taken off; the rest is what the time stamps say.
    for words in ("-startdelay target 1 0.1 -targetstartdelay 0.03", "-startdelay target 0 0.1 -nobarrier -passdelay 0.02"):
        run = null(3, "-numreqs 10 -passes 2 -ts detailed -ts output %s %s" % (t.path("ts"), words))
        starts = {}
        for i in range(3):
            delay = (0.1 * (i == 1) + 0.03 * i, 0.1 * (i == 0))["-nobarrier" in words]
            for r in xddtrace.read_report(t.path("ts.target.%04d.csv" % i)).rows:
                if r["OP Number"] == 0:
                    # Without barriers, delays of the passes before are still to be seen.
                    off = delay * r["Pass"] if "-nobarrier" in words else delay
                    starts.setdefault(r["Pass"], []).append(r["StartTS"] / 1e12 - off)
        wanted = {p: max(s) - min(s) for p, s in starts.items()}
        got = {int(p): float(skew) for p, skew in re.findall(r"^Start skew, pass (\d), ([\d.]+), seconds", run.out, re.M)}
        t.ok(run.status == 0 and set(got) == set(wanted) == {1, 2} and all(abs(got[p] - wanted[p]) < 3e-6 for p in got),
             "the skew of starts, %s" % words, "wanted: %s\n%s" % (wanted, run))
    t.ok("Start skew" not in null(1, "-numreqs 10").out, "one target has no skew")
    run = t.xdd(*"-op noop -targets 2 null null -numreqs 10".split())
    t.ok("Start skew" not in run.out, "without -verbose the skew is not shown", run)


# Bad input

def refused(args, *wants, status=2):
    run = t.command([t.XDD] + args.split(), timeout=30)
    good = (run.status == status and not run.out and len(run.error_lines()) == 1 and len(run.err) < 250 and
            all(re.search(w, run.err) for w in wants) and not os.path.exists(t.path("new")))
    t.ok(good, "refused: " + args, run)


def test_bad_input():
    base = "-op write -targets 3 %s null null -numreqs 100 -reqsize 4 " % t.path("new")
    first = len(base.split()) + 1

    def at(n):
        return r"\(argument %d\)" % (first + n)

    for option, rest, n in (("lockstep", " op 1 op 1 wait complete", 8), ("starttrigger", " op 1", 4),
                            ("stoptrigger", " op 1", 4)):
        refused(base + "-%s 0 7%s" % (option, rest), m.line("-%s 7" % option, m.no_such_target(3)), at(2))
        refused(base + "-%s 3 1%s" % (option, rest), m.line("-%s 3" % option, m.no_such_target()), at(1))
        refused(base + "-%s x 1%s" % (option, rest), m.line("-%s x" % option, m.TARGET_NUMBER), at(1))
        refused(base + "-%s -1 1%s" % (option, rest), "^xdd: -%s -1: " % option, at(1))
        refused(base + "-%s 1 1%s" % (option, rest), "^xdd: -%s 1: must be another target: .* wait for itself" % option, at(2))
        refused(base + "-" + option, m.line("-%s" % option, m.MISSING))
        refused(base + "-%s 0 1 op" % option, m.line("-%s" % option, m.MISSING))
        refused(base + "-%s target 0 1 0%s" % (option, rest), "^xdd: -%s " % option, status=3)
        for when, value, want in (("ops", "1", m.choice("time, op, percent, mbytes or kbytes", "op")),
                                  ("percent", "101", "above 0 and up to 100"), ("percent", "0", "above 0 and up to 100"),
                                  ("percent", "x", "above 0 and up to 100"), ("op", "0", m.whole_number(None, 1)),
                                  ("op", "1.5", m.whole_number()), ("op", "-1", m.whole_number()),
                                  ("op", "9999999999999999999", m.whole_number()),
                                  ("mbytes", "4x", "expected a number, up to"), ("kbytes", "0", "expected a number, up to"),
                                  ("time", "0", "a time above 0"), ("time", "x", "a time above 0")):
            tail = " op 1 wait complete" if option == "lockstep" else ""
            refused(base + "-%s 0 1 %s %s%s" % (option, when, value, tail), "^xdd: -%s %s: .*%s" %
                    (option, re.escape(when if when == "ops" else value), want), at(3 if when == "ops" else 4))
    for what in ("op 0", "percent 100.5", "bytes 3", "time x"):
        refused(base + "-lockstep 0 1 op 1 %s wait complete" % what, "^xdd: -lockstep ", "expected")
    refused(base + "-lockstep 0 1 op 1 op 1 waits complete", m.line("-lockstep waits", m.choice("run or wait", "wait")), at(7))
    refused(base + "-lockstep 0 1 op 1 op 1 wait ends", m.line("-lockstep ends", m.choice("complete or stop")), at(8))
    refused(base + "-lockstep 0 1 op 1 op 1 wait complete -lockstep 2 1 op 1 op 1 wait complete",
            "^xdd: -lockstep 1: target 1 is a slave of target 0 already")
    refused(base + "-starttrigger 0 1 op 1 -starttrigger 2 1 op 1", "^xdd: -starttrigger 1: target 1 waits for target 0 already")
    refused(base + "-stoptrigger 0 1 op 1 -stoptrigger 2 1 op 1", "^xdd: -stoptrigger 1: ")
    refused(base + "-lockstep 0 1 op 1 op 1 wait complete -lockstep 1 0 op 1 op 1 run complete", m.WAITS_FOR_ITSELF)
    refused(base + "-lockstep 0 1 op 1 op 1 run stop -lockstep 1 2 op 1 op 1 run stop -lockstep 2 0 op 1 op 1 run stop",
            m.WAITS_FOR_ITSELF)
    refused(base + "-lockstep 0 1 op 1 op 1 wait complete -starttrigger 1 0 op 1", m.WAITS_FOR_ITSELF)
    refused(base + "-starttrigger 0 1 op 1 -starttrigger 1 2 op 1 -starttrigger 2 0 op 1", m.WAITS_FOR_ITSELF)
    refused(base + "-lockstep 2 0 op 1 op 1 run stop -starttrigger 1 0 op 1 -starttrigger 0 1 op 1",
            r"target (0, .*by way of target 1|1, .*by way of target 0)\)$")
    for option in ("starttrigger", "stoptrigger"):
        refused(base + "-%s 1 0 op 101" % option, "target 1, null: -%s: " % option + m.never_comes_to(101, 100))
        refused(base + "-%s 1 0 kbytes 401" % option, "-%s: never fires: needs 410624 bytes, a pass has 409600" % option)
    timed = "-op noop -targets 2 null null -timelimit 1 "
    refused(timed + "-starttrigger 0 1 percent 50", "^xdd: target 0, null: -starttrigger percent: .*-numreqs")
    refused(timed + "-stoptrigger 0 1 percent 50", "^xdd: target 0, null: -stoptrigger percent: ")
    refused(timed + "-lockstep 0 1 percent 50 op 1 wait stop", "^xdd: target 0, null: -lockstep percent: ")
    refused(timed + "-lockstep 0 1 op 50 percent 1 wait stop", "^xdd: target 1, null: -lockstep percent: ")
    refused(base + "-passes 2 -nobarrier -lockstep 0 1 op 1 op 1 wait complete", "^xdd: -nobarrier: -lockstep ")
    refused(base + "-passes 2 -nobarrier -syncio 3", "^xdd: -nobarrier: -syncio ")
    refused(base + "-nobarrier -deskew", "^xdd: -nobarrier: -deskew ")
    refused(base + "-syncio 3 -starttrigger 0 1 op 5", "^xdd: -syncio: with -starttrigger")
    refused(base + "-syncio 3 -lockstep 0 1 op 1 op 1 wait complete", "^xdd: -syncio: with -lockstep")
    for value in ("x", "1.5", "-3", "4kB"):
        refused(base + "-syncio " + value, "^xdd: -syncio %s: " % re.escape(value), at(1))
    for value in ("x", "0", "-5"):
        refused(base + "-starttime " + value, "^xdd: -starttime %s: " % value, at(1))
    refused(base + "-starttime 1000", r"^xdd: -starttime 1000\.000: is \d+\.\d+ seconds in the past: the clock")
    refused(base + "-starttime " + later(8 * 24 * 3600), r"^xdd: -starttime .*is \d+\.\d+ seconds in the future: .*a week")
    refused(base + "-starttime %d000" % (t.next_begin_ns() // 10**9), "^xdd: -starttime ")


t.run(test_guide_example, test_stop_in_rest, test_allowance, test_counts, test_combinations, test_sizes, test_engines, test_start_trigger,
      test_stop_trigger, test_syncio, test_master_ends, test_stop_in_every_wait, test_start_time, test_wait_is_no_stop, test_prepared,
      test_barrier, test_start_skew, test_bad_input)
t.done()
