#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""
Global time on four hosts, which are network namespaces with clocks of their own: whatever the delays of their links and
the drift of the server's clock, the true time lies within the bound that gettime states, every time.
"""
import os
import re
import sys
import time

import xddnet as net
import xddtest as t
import xddtime

why = net.why_not("unshare") or net.why_no_clocks()
if why:
    t.skip_all(why)

LONG = bool(os.environ.get("XDD_TEST_LONG"))
RUNS = 1000 if LONG else 50   # of each host
WAIT_S = 60 if LONG else 4
LIB = os.path.join(os.environ["TOP_SRCDIR"], "tests/lib/xddtime.py")
NS = 10**9

# Seconds that the clock of the host is ahead, and the settings of its link; "a" is the way to the server.
HOSTS = (
    (5000, ("delay=0.2",)),
    (-20, ("a:delay=0.1", "b:delay=2")),
    (100000, ("a:delay=3", "b:delay=0.2", "jitter=0.5")),
    (7, ("delay=0.5", "jitter=1", "loss=5")),
)

# Warnings of gettime where the machine stood still: when it was to begin to wait, or to ask again at the end.
HELD_UP = r"gettime -waitfortime \d+: is over since |gettime: .* does not answer any more"
LINE = re.compile(r"Global Time now is (\d+) ns, \+- (\d+) ns, at (\d+) ns of the monotonic clock")


class Host:
    def __init__(self, number, server):
        ahead, settings = HOSTS[number]
        self.space = net.namespace("host%d" % number, ahead)
        self.ahead_ns = ahead * NS
        self.server = "10.77.%d.1" % number
        self.link = net.link(self.space, server, ["10.77.%d.2/24" % number], [self.server + "/24"], *settings)

    def times(self, run):
        """(global time, bound, monotonic clock of the machine) of each gettime in the output of a run."""
        return [(int(a), int(b), int(c) - self.ahead_ns) for a, b, c in LINE.findall(run.err)]

    def start(self, port, runs, *words):
        """Start gettime `runs` times, one after the other."""
        script = 'n=$1; shift; while [ "$n" -gt 0 ]; do "$@" || exit; n=$((n - 1)); done'
        return self.space.start("sh", "-c", script, "sh", runs, t.XDD, "gettime", "-timeserver", self.server,
                                "-port", port, "-verbose", *words)


SERVER = net.namespace("server")
CLIENTS = [Host(number, SERVER) for number in range(len(HOSTS))]


class Drifting:
    """A server of the test, whose clock is known exactly."""

    def __init__(self, ppm):
        self.clock = xddtime.Clock(time.time_ns() - 3600 * NS, ppm)
        self.process = SERVER.start(sys.executable, LIB, "address=0.0.0.0", "base=%d" % self.clock.base,
                                    "origin=%d" % self.clock.origin, "ppm=%s" % ppm, "slow_us=20")
        found = t.until(lambda: re.search(r"^(\d+)$", self.process.text(), re.M))
        self.port = int(found.group(1))

    def errors(self, host, run):
        """How much each time is wrong, as a part of its bound."""
        return [abs(at - self.clock.at(local)) / bound for at, bound, local in host.times(run)]


def check_counts(title, runs, wanted):
    short = [str(run) for host, run in zip(CLIENTS, runs) if run.status or len(host.times(run)) != wanted]
    t.ok(not short, title + ": each host has its times", "\n".join(short))


def judge(title, server, runs, wanted):
    check_counts(title, runs, wanted)
    errors = [error for host, run in zip(CLIENTS, runs) for error in server.errors(host, run)]
    t.ok(errors and max(errors) <= 1, "%s: %d times, all within their bounds" % (title, len(errors)), sorted(errors)[-10:])
    t.diag("greatest error: %.3f of the bound" % max(errors, default=0))


def test_bursts():
    for ppm, share in ((400, 2), (-499, 2)):
        server = Drifting(ppm)
        runs = [host.start(server.port, RUNS // share, "-bounce", 5) for host in CLIENTS]
        judge("drift of %d ppm" % ppm, server, [run.end(t.TIMEOUT * (10 if LONG else 1)) for run in runs], RUNS // share)
        server.process.kill()


def test_waits():
    """Bounds after a wait, in which the drift was followed; the wait ends when it is to end."""
    server = Drifting(311)
    for seconds in (WAIT_S, 10 * WAIT_S, WAIT_S, 5 * WAIT_S):
        until_ms = server.clock.now() // 10**6 + seconds * 1000
        runs = [host.start(server.port, 1, "-waitfortime", until_ms) for host in CLIENTS]
        runs = [run.end(t.TIMEOUT, tolerate=HELD_UP) for run in runs]
        said = [warning for run in runs for warning in run.warnings if re.search(HELD_UP, warning)]
        if not said:
            break
    t.equal(said, [], "a wait of %d s: it begins and ends in time" % seconds)
    judge("a wait of %d s" % seconds, server, runs, 1)
    times = [host.times(run)[0] for host, run in zip(CLIENTS, runs)]
    t.ok(all(server.clock.at(local) >= until_ms * 10**6 - bound for _, bound, local in times),
         "no wait ends before its time", times)
    server.process.kill()


def wall_minus_monotonic():
    """The difference of the clocks of this machine, by the reading that took the least time."""
    def reading():
        before, wall, after = time.monotonic_ns(), time.time_ns(), time.monotonic_ns()
        return after - before, wall - (before + after) // 2
    return min(reading() for _ in range(1000))[1]


def test_timeserver():
    """The program's own server: its clock is the wall clock of its start."""
    before = wall_minus_monotonic()
    server = SERVER.start(t.XDD, "timeserver", "-port", 0, "-foreground")
    found = t.until(lambda: re.search(r"listening on port (\d+)", server.text()))
    runs = [host.start(int(found.group(1)), 10).end(t.TIMEOUT) for host in CLIENTS]
    after = wall_minus_monotonic()
    server.signal(15)
    t.ok(server.end().status == 0, "timeserver ends with SIGTERM, status 0")
    check_counts("timeserver", runs, 10)
    if abs(after - before) > 20000:
        t.skip("times of timeserver", "the wall clock of this machine was set")
        return
    # The clock of the server itself is known to a few microseconds only.
    wrong = [(at - local - before, bound) for host, run in zip(CLIENTS, runs) for at, bound, local in host.times(run)
             if abs(at - local - before) > bound + 20000]
    t.ok(not wrong, "timeserver: times of four hosts, all within their bounds", wrong)


t.run_all()
