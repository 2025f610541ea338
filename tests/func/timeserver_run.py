#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""
Runs with -timeserver whose server loses packets, falls silent, dies or steps, whose start is canceled, or which stamp from
a moment of the global clock. The servers are the test's own, so the true time is known.
"""
import os
import re
import signal
import time

import messages as m
import xddjson as j
import xddnet as net
import xddtest as t
import xddtime
import xddtrace as x

NS = 10**9
SLACK_NS = 20000         # by which the clock of xdd may differ from the kernel's
AHEAD_NS = 1000 * NS     # of the servers' clocks: a time of this machine's wall clock shows
RUN_S = 12              # it asks its server again after 1, 3 and 7 s
SILENT_S = 3             # at least, of a run whose server falls silent after its start
NOOP = ["-op", "noop", "-targets", 1, "null", "-operationdelay", "1ms"]
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Case:
    """A run with a server; `name` is also that of its files."""

    def __init__(self, name, *words, lost=0, program=False):
        self.name, self.lost = name, lost
        self.server = self.clock = None
        if program:
            self.server = net.Started([t.XDD, "timeserver", "-foreground", "-port", 0, "-bind", "127.0.0.1"])
            port = t.until(lambda: re.search(r"listening on .*port (\d+)", self.server.text())).group(1)
        else:
            self.clock = xddtime.Clock(time.time_ns() + AHEAD_NS, 100)
            self.server = xddtime.Server(self.clock, lost=lost).start()
            port = self.server.port
        self.run = net.Started(t.xdd_words(*NOOP, "-timeserver", "127.0.0.1", "port", port, "-jsonout", self.file(".json"),
                                           "-csvout", self.file(".csv"), "-ts", "dump", self.file(""), *words))

    def file(self, suffix):
        return t.path(self.name + suffix)

    def entries(self):
        return x.Dump(self.file(".target.0000.bin")).entries


FAULTS = {  # what happens to the server of a run, and the warning of the run
    "lost": (lambda case: None, None),
    "silent": (lambda case: setattr(case.server, "lost", 100), "it does not answer any more"),
    "dead": (lambda case: case.server.kill(), "it does not answer any more"),
    "another": (lambda case: setattr(case.server, "id", case.server.id + 2), "its clock was set, or another server answered"),
    "step": (lambda case: setattr(case.clock, "base", case.clock.base + 3600 * NS), "its clock was set, or another server answered"),
}


def begun(case):
    """Outputs are created when the clock is known."""
    return os.path.exists(case.file(".csv")) or not case.run.running()


def start_faults():
    cases = [Case(name, "-timelimit", RUN_S, lost=20 if name == "lost" else 0, program=name == "dead") for name in FAULTS]
    for case in cases:
        t.until(lambda case=case: begun(case))
    time.sleep(0.7)
    for case in cases:
        FAULTS[case.name][0](case)
    return cases


def judge_fault(case):
    warning = FAULTS[case.name][1]
    run = case.run.end(warns=[warning] if warning else [])
    t.ok(run.status == 0 and len(run.error_lines()) == (1 if warning else 0),
         case.name + ": the run ends well, with a warning for what lasted", run)
    doc = j.check(case.file(".json"), case.name)
    if not doc:
        return
    clock, start = doc["clock"], doc["start"]
    said = {"lost": clock["lost"] > 0 and clock["steps"] == 0, "silent": clock["lost"] > 0 and clock["steps"] == 0,
            "dead": clock["steps"] == 0, "another": clock["steps"] == 1, "step": clock["steps"] == 1}[case.name]
    t.ok(said, case.name + ": the document says so", clock)
    if case.name in ("silent", "dead"):
        # 50 ppm is the least that a bound grows by. Exchanges after the start may have made that of the start smaller.
        t.ok(clock["bound_at_end_ns"] >= clock["round_trip_ns"] // 2 + SILENT_S * 50000, case.name + ": the bound grows by the drift", clock)
    if case.name in ("lost", "silent"):
        first = min(e["start_ns"] for e in case.entries())
        t.ok(abs(start["achieved_ns"] - case.clock.at(first)) <= start["bound_ns"] + SLACK_NS,
             case.name + ": the start is right within its bound", (start, case.clock.at(first)))
        end = max(e["end_ns"] for e in case.entries())
        finish = doc["results"][-1]["finish_ns"]
        t.ok(abs(finish - case.clock.at(end)) <= clock["bound_at_end_ns"] + SLACK_NS,
             case.name + ": the end is right within the bound at the end", (finish, case.clock.at(end), clock))


def start_trigger():
    """A run that stamps from a moment of the global clock, and is to begin a second before it."""
    at = time.time_ns() + AHEAD_NS + 12 * NS
    return at, Case("trigger", "-timelimit", 2, "-starttime", "%.3f" % ((at - NS) / NS), "-ts", "triggertime", "%.3f" % (at / NS))


def judge_trigger(at, case):
    run = case.run.end(tolerate=(m.STARTED_LATE, m.TRIGGER_PAST))
    true = [case.clock.at(e["start_ns"]) for e in case.entries()]
    bound, before = (int(x.Dump(case.file(".target.0000.bin")).meta[name][0]) for name in ("global_bound_ns", "before_trigger"))
    ops = int(re.search(r"^ *COMBINED +\d+ +\d+ +\d+ +\d+ +(\d+)", run.out, re.M)[1])
    t.equal((run.status, sorted(e["op"] for e in case.entries())), (0, list(range(before, ops))),
            "triggertime: all operations from one on", run)
    # Those of a machine that stood still may all be late.
    at = at // 10**6 * 10**6
    t.ok(min(true, default=at) >= at - bound - SLACK_NS, "triggertime: none before it by the global clock", (at, bound, true[:3], run))


def test_faults():
    """And, in the same time, runs that stamp from a moment of the global clock."""
    cases = start_faults()
    late = start_trigger()
    past = Case("past", "-numreqs", 3, "-ts", "triggertime", "%.3f" % (time.time() + AHEAD_NS / NS / 2))
    for case in cases:
        judge_fault(case)
    judge_trigger(*late)
    run = past.run.end(warns=m.TRIGGER_PAST)
    t.ok(run.status == 0 and len(past.entries()) == 3, "triggertime: past by the global clock", run)


def test_step_before_start():
    """A server whose clock passes the start at once, an hour before it."""
    case = Case("early", "-numreqs", 3, "-starttime", "%d" % ((time.time_ns() + AHEAD_NS) // NS + 3000))
    t.until(lambda: m.WILL_START in case.run.text(), case.run.process)
    case.clock.base += 3600 * NS
    said = "its clock was set, or another server answered"
    run = case.run.end(warns=[said + ", before the start; the targets start in 0.0 seconds", said + "; global times"], tolerate=m.STARTED_LATE)
    t.ok(run.status == 0 and len(case.entries()) == 3, "a step while the run waits for its start", run)


def test_signals():
    """Nothing is left of a run that a signal ends before its server has answered, or before its start."""
    cases = []
    for number in SIGNALS:
        for what in ("server", "start"):
            name = "%s.%d" % (what, number)
            clock = xddtime.Clock(time.time_ns() + AHEAD_NS, 0)
            serving = xddtime.Server(clock, lost=100 if what == "server" else 0).start()
            words = ["-op", "write", "-targets", 1, t.path(name), "-numreqs", 1, "-timeserver", "127.0.0.1", "port",
                     serving.port, "wait", 300, "-starttime", "%d" % (clock.now() // NS + 600)]
            cases.append((what, name, number, serving, net.Started(t.xdd_words(*words))))
    for what, name, number, serving, run in cases:
        t.until(lambda what=what, serving=serving, run=run:
                serving.requests if what == "server" else m.WILL_START in run.text(), run.process)
        run.signal(number)
    for what, name, number, _, run in cases:
        done = run.end(t.TIMEOUT)
        sign = "signal %d, %s: %s" % (number, signal.Signals(number).name,
                                      "nothing is begun" if what == "server" else "no further operations are issued")
        lines = [line for line in done.err.splitlines() if m.WILL_START not in line]
        t.ok(done.status == 5 and len(lines) == 1 and sign in lines[0],
             "%s before the %s: status 5, one line" % (signal.Signals(number).name, what), done)
        t.ok(not os.path.exists(t.path(name)), "%s before the %s: nothing is left" % (signal.Signals(number).name, what))


t.run_all()
