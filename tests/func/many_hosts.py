#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""
-timeserver and -starttime: hosts whose clocks differ, with links of different delays, state when they started and how
exactly they know that; the truth, from the time stamps and the real offsets, lies within what they state.
"""
import csv
import io
import os
import re
import shutil
import subprocess
import time

import messages as m
import xddhosts as h
import xddjson as j
import xddnet as net
import xddports
import xddssh
import xddtest as t
import xddtime
import xddtrace as x

NS = 10**9
SLACK_NS = 20000   # by which the clock of xdd may differ from the kernel's
LONG = bool(os.environ.get("XDD_TEST_LONG"))
ROUNDS = 67 if LONG else 1   # of three runs
WAIT_S = 3 if LONG else 5    # for hosts that are busy
DRIFTS = (30, -400, 200, 0, 450)
RUN = h.RUN

REASON = xddssh.why_not()


class Round:
    """All hosts start at one moment; `clocks`: the global clock of each, and the port of its server."""

    def __init__(self, label, hosts, link, clocks, wait_s):
        self.how = (hosts, link, clocks)
        moment = time.monotonic_ns() + round(wait_s * NS)
        self.label, self.hosts, self.clocks, self.equal = label, hosts, [clock for clock, _ in clocks], link == h.EQUAL
        self.start = h.Start(label, hosts, link, [port for _, port in clocks], [clock.at(moment) for clock in self.clocks])

    def settled(self):
        """Itself, or a second attempt with more time if the machine was too busy to reach the server before the start."""
        ends = [run.end(tolerate=m.STARTED_LATE) for run in self.start.runs]
        if all("seconds in the past" not in end.err for end in ends):
            return self
        return Round(self.label + "again", *self.how, 60)

    def judge(self):
        """Return the starts as the hosts report them, and by the clock of this machine."""
        said, firsts = [], []
        for host, run, clock, at in zip(self.hosts, self.start.runs, self.clocks, self.start.at):
            title = "%s: host %d" % (self.label, host.number)
            done = run.end(tolerate=m.STARTED_LATE)
            t.equal(done.status, 0, title + " runs", done)
            doc = j.check(self.start.file(host, ".json"), title) if done.status == 0 else None
            if not doc:
                continue
            first = self.start.first_ns(host)
            true, start = clock.at(first), doc["start"]
            bound, error = start["bound_ns"], start["achieved_ns"] - true
            t.ok(start["requested_ns"] == at and abs(error) <= bound + SLACK_NS,
                 title + ": the true start is within the stated bound", (start, true))
            # No message was faster than its link: that much of the bound is not used on either side.
            t.ok(not self.equal or abs(error) <= bound - h.DELAY_NS + SLACK_NS,
                 title + ": the error is less than the bound by the delay", (start, true))
            t.ok(start["late_ns"] == start["achieved_ns"] - at >= -SLACK_NS and true - at >= -bound - SLACK_NS,
                 title + ": does not start before the time", (start, true - at))
            t.ok(doc["clock"]["source"] == "timeserver" and 0 < bound < 20 * 10**6, title + ": a bound", doc["clock"])
            rows = list(csv.DictReader(io.StringIO(x.tsread("-csv", self.start.dump(host)).out)))
            stated = int(x.Dump(self.start.dump(host)).meta["global_bound_ns"][0])
            t.ok(abs(min(int(r["START_NS"]) for r in rows) - true) <= stated + SLACK_NS,
                 title + ": tsread has global times within the bound of the dump", (rows[0], true, stated))
            said.append(start)
            firsts.append(first)
        return said, firsts


def judge_skew(made, said, firsts):
    """A host that was late, or whose clock is not known well, says so."""
    late = [start["late_ns"] for start in said]
    reported, true = max(late) - min(late), max(firsts) - min(firsts)
    error = max(start["bound_ns"] for start in said) - h.DELAY_NS
    t.ok(abs(true - reported) <= 2 * (error + SLACK_NS), "%s: the hosts start as close to each other as they report" % made.label,
         (said, firsts))
    t.diag("%s: start skew %.1f us, reported %.1f us, clocks known to %.1f us" % (made.label, true / 1e3, reported / 1e3, error / 1e3))


def combined(made, true_ns):
    """xdd combine states the skew of the hosts, whose clock is one."""
    out = t.path("combined.json")
    run = t.command([t.XDD, "combine", *(made.start.file(host, ".json") for host in made.hosts), "-jsonout", out])
    if t.ok(run.status == 0, "%s: xdd combine" % made.label, run):
        skew = j.load(out)["together"]["start_skew"]
        t.ok(skew["bound_ns"] is not None and abs(skew["skew_ns"] - true_ns) <= skew["bound_ns"] + 2 * SLACK_NS,
             "%s: the skew of xdd combine is right within its bound" % made.label, (skew, true_ns))


def judge_round(made):
    said, firsts = made.judge()
    if len(said) < len(made.hosts) or not made.equal:
        return
    if made.label.startswith("equal"):
        combined(made, max(firsts) - min(firsts))
    judge_skew(made, said, firsts)


def test_hosts():
    """Links with equal delays and others, one clock for all hosts, or one for each: as if its own drifted the other way."""
    why = net.why_not("unshare") or net.why_no_clocks()
    if why:
        t.skip("hosts in namespaces", why)
        return
    server = net.namespace("server")
    hosts = [h.Host(number, server) for number in range(len(h.HOSTS))]
    clocks, origin, base = [], time.monotonic_ns(), time.time_ns() - 3600 * NS
    for port, ppm in enumerate(DRIFTS, 2000):
        serving = server.start("python3", xddtime.__file__, "address=0.0.0.0", "port=%d" % port, "base=%d" % base, "ppm=%d" % ppm,
                               "origin=%d" % origin)
        t.until(serving.text, serving.process)  # prints its port
        clocks.append((xddtime.Clock(base, ppm, origin), port))
    one, own = clocks[:1] * len(hosts), clocks[1:]
    kinds = (("equal", h.EQUAL, one), ("unequal", h.UNEQUAL, own), ("drift", h.EQUAL, own))
    for number in range(ROUNDS):
        # The long version has one run at a time, which no other disturbs.
        for some in [[kind] for kind in kinds] if LONG else [kinds]:
            made = [Round("%s%d" % (name, number), hosts, link, which, WAIT_S + 0.4 * n)
                    for n, (name, link, which) in enumerate(some)]
            for each in made:
                judge_round(each.settled())


def test_refused():
    """Nothing is opened or created when the clock is not there, not exact, or past the start."""
    made = t.path("made")
    words = ["-op", "write", "-targets", 1, made, "-numreqs", 1, "-csvout", t.path("csv")]
    serving = xddtime.Server(xddtime.Clock(time.time_ns() + 1000 * NS, 0)).start()
    here = ["-timeserver", "host", "127.0.0.1", "port", serving.port]
    soon = "%d" % (time.time() + 500)
    for title, status, more, text in (
            ("no server", 1, ["-tsvr", "host", "127.0.0.1", "-tsvr", "port", xddports.free_ports(1)], "no answer"),
            ("past by the global clock", 2, [*here, "-starttime", soon], "seconds in the past: the clock of 127.0.0.1"),
            ("maxerror", 1, [*here, "maxerror", "1ns"], "is known within .* only, and maxerror allows")):
        run = t.xdd(*words, *more)
        t.ok(run.status == status and not os.path.exists(made) and not os.path.exists(t.path("csv")),
             title + ": status %d, and nothing is created" % status, run)
        t.ok(len(run.error_lines()) == 1 and re.search(text, run.err),
             title + ": one line", run)
    port = xddports.free_ports(1)
    with subprocess.Popen([*t.xdd_words(*RUN), "-timeserver", "host", "127.0.0.1", "port", str(port), "wait", "60"],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE) as late:
        time.sleep(0.5)
        xddtime.Server(xddtime.Clock(time.time_ns(), 0), port=port).start()
        out, err = late.communicate(timeout=t.TIMEOUT)
        t.ok(late.returncode == 0 and b"COMBINED" in out, "wait: a server that is started later is reached", err)


def test_script():
    """The script of the guide: gettime, and xdd on four hosts by ssh."""
    if REASON:
        t.skip("the guide's script", REASON)
        return
    hosts = ["host%d" % n for n in range(1, 5)]
    where = t.path("script")
    os.mkdir(where)
    for name in ("gettime", "timeserver"):
        os.symlink(os.path.abspath(t.XDD), os.path.join(where, name))
    serving = net.Started([os.path.join(where, "timeserver"), "-foreground", "-port", 0])
    t.until(lambda: "listening" in serving.text(), serving.process)
    port = re.search(r"listening on port (\d+)", serving.text())[1]
    lines = ["Host %s\n  HostName 127.0.0.%d" % (host, n) for n, host in enumerate(hosts, 1)]
    with xddssh.Sshd(listen="0.0.0.0", client_lines=lines) as server:
        with open(os.path.join(where, "ssh"), "w", encoding="utf-8") as file:
            file.write('#!/bin/sh\nexec %s "$@"\n' % server.ssh.replace("ssh", shutil.which("ssh"), 1))
        os.chmod(file.name, 0o755)
        script = """g=`gettime -timeserver 127.0.0.1 -port %s -add $1`
for host in %s; do
ssh $host xdd -op noop -targets 1 null -numreqs 5 -timeserver host 127.0.0.1 port %s -starttime $g -jsonout %s/$host.json &
done; wait
echo $g""" % (port, " ".join(hosts), port, where)
        # A machine that is so busy that ssh takes longer needs more time.
        for seconds in (8, 30, 120):
            run = t.command(["sh", "-c", script, "sh", str(seconds)], env={"PATH": where + ":" + os.environ["PATH"]})
            if "seconds in the past" not in run.err:
                break
    if not t.ok(run.status == 0 and re.search(r"^\d{10}$", run.out, re.M), "the guide's script ends well", run):
        return
    moment = int(run.out.split()[-1]) * NS
    for host in hosts:
        start = j.load(os.path.join(where, host + ".json"))["start"]
        t.equal((start["requested_ns"], start["late_ns"]), (moment, start["achieved_ns"] - moment), host + ": the start that was asked for")
        t.ok(start["bound_ns"] is not None and -start["bound_ns"] - SLACK_NS <= start["late_ns"] < seconds * NS, host + ": not before it", start)


t.run_together(test_refused, test_hosts, test_script)
t.done()
