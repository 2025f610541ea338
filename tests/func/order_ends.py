#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""
-ordering at the end of a pass, as an outside witness sees it: limits, errors, retries and a device that hangs leave
no hole in what was issued.
"""
import os
import signal

import messages as m
import witness as w
import xddhold
import xddsys as s
import xddtest as t
from xddorder import ASKED_FOR, QUEUES, SIZE, audit, engines, watched, words

t.tolerate(t.CACHED)
t.may_warn(m.REACHES, m.STRICT_URING, m.RANGE_STARTS_OVER)


def issued_without_holes(title, run, offsets, status, in_order):
    """The issued operations are 0 to n-1, and xdd reports their number."""
    n = len(offsets)
    t.ok(run.status == status and n > 0 and sorted(offsets) == [i * SIZE for i in range(n)] and
         (not in_order or offsets == sorted(offsets)) and audit(run) is not None and audit(run)[1] == n,
         title + ": what was issued has no holes",
         "%d issued, up to %d\n%s" % (n, max(offsets, default=0) // SIZE, run))


def ended(extra):
    """How to end a run early: (name, what runs the words, words, status)."""
    return [("-timelimit", t.command, ["-timelimit", 0.005] + extra, 0), ("-runtime", t.command, ["-runtime", 0.005] + extra, 0),
            ("SIGINT", lambda args: xddhold.interrupted(args, 300), extra, 5)]


def test_limits():
    if w.available() is None or w.can_trace_block() is None:
        return t.skip("limits", s.sys_why())
    huge = s.sparse_file("huge", 16 << 30)
    loop = s.loop_device(huge, "--direct-io=on")
    if loop is None:
        return t.skip("limits", s.sys_why())
    cases = [("psync", order, []) for order in ("none", "loose", "serial")]
    cases += [(engine, order, ["-threads", threads]) for engine in engines()
              for order, threads in (("none", 3), ("serial", 3), ("strict", 3), ("strict", 1))]
    for engine, order, more in cases:
        for name, command, after, status in ended(["-dio", "-ioengine", engine] + more):
            args = t.xdd_words(*words(loop, "read", 8, 1 << 22, order, "-seek", "range", 1 << 22, *after))
            witness = (lambda: w.Syscalls(SIZE)) if engine == "psync" else (lambda: w.Block(loop))
            run, seen = watched(witness, lambda: command(args))
            if run is None:
                t.skip("%s, %s, %s" % (engine, order, name), "no tracefs")
                continue
            issued_without_holes("%s %s, %s, %s" % (engine, " ".join(map(str, more)), order, name), run,
                                 [o.offset for o in seen.ops()], status, order in ("serial", "strict"))
    return None


def test_errors():
    """-maxerrors, and errors that end nothing: the turn is passed on all the same."""
    here = t.make_file("short", 50 * SIZE)
    if w.available() is None:
        return t.skip("errors", s.sys_why())
    for order in ("none", "loose", "serial"):
        for more, least, most in (([], 200, 200), (["-maxerrors", 3], 53, 52 + 8), (["-stoponerror"], 51, 50 + 8)):
            seen = w.Syscalls(SIZE)
            with seen:
                run = seen.xdd(*words(here, "read", 8, 200, order, "-ioengine", "psync", "-timelimit", 60, *more))
            title = "errors, %s %s" % (order, " ".join(map(str, more)))
            offsets = [o.offset for o in seen.ops()]
            issued_without_holes(title, run, offsets, 6, order == "serial")
            t.ok(least <= len(offsets) <= (least if order == "serial" else most), title + ": how many", len(offsets))
    return None


def test_again():
    """A retry and the rest of a short transfer come before the next operation of -ordering serial."""
    file, n = t.make_file("again", 64 * SIZE), 64
    for what, settings, more in (("short", {}, []),
                                 ("eio", {"start": 20 * SIZE, "end": 21 * SIZE, "times": 2}, ["-retry", 3])):
        title = "serial, depth 8, %s" % (what + " " + " ".join(map(str, more)))
        env = s.faults(what, file="again", **settings) if s.can_trace() else None
        if env is None:
            t.skip(title, s.sys_why())
            continue
        run, seen = s.trace(*words(file, "read", 8, n, "serial"), *more,
                            *(["-threads", 3] if ASKED_FOR in QUEUES else []), env=env)
        places = [op.offset for op in seen.of(file)]
        t.ok(run.status == 0 and audit(run) == (0, n) and places == sorted(places) and
             len(set(places)) == (n if what == "eio" else 5 * n), title + ": in order all the same",
             "%s\n%s" % (places, run))


def test_errors_of_a_device():
    """EIO in the middle, with engines that queue."""
    for engine in engines():
        for order, threads in (("strict", 1), ("strict", 3), ("serial", 3)):
            backing = s.sparse_file("backing.%s.%s.%d" % (engine, order, threads), 1000 * SIZE)
            device = s.loop_device(backing, "--direct-io=on")
            title = "EIO in the middle, %s, %s, -threads %d" % (engine, order, threads)
            if device is None or w.can_trace_block() is None:
                t.skip(title, s.sys_why())
                continue
            os.truncate(backing, 500 * SIZE)
            with w.Block(device) as seen:
                run = t.xdd(*words(device, "read", 32, 1000, order, "-ioengine", engine, "-dio", "-threads", threads))
            if run.status == 0:
                t.skip(title, "this kernel reads what is not there")
                continue
            offsets = [o.offset for o in seen.ops()]
            issued_without_holes(title, run, offsets, 6, True)
            t.equal((len(offsets), run.row("COMBINED")["Ops"]), (1000, "500"), title + ": all issued, half succeeded")


def test_hung_device():
    """The request that holds the turn never completes; the QThreads that wait for the turn still end with the run."""
    for order in ("serial", "loose"):
        env = s.faults("hang", start=100 * SIZE, end=101 * SIZE, file="hangs")
        if env is None:
            t.skip("a hung device, %s" % order, s.sys_why())
            continue
        file = t.make_file("hangs", 200 * SIZE)
        done = "100" if order == "serial" else "199"
        run = t.xdd(*words(file, "read", 8, 200, order, "-ioengine", "psync"), env=env, at={1: signal.SIGINT}, step=0)
        # 3 s are left to what is outstanding.
        t.equal((run.status, run.seconds, (run.row("COMBINED") or {}).get("Ops")), (5, 4, done),
                "a hung device, %s: results of what was done, in the grace time" % order, run)
        t.ok("1 operation" in run.err and "outstanding" in run.err, "a hung device, %s: it is named" % order, run.err)
        t.ok(audit(run) and audit(run)[1] == int(done) + 1, "a hung device, %s: issued are those and one" % order, run)


t.run_all()
