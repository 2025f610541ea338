#!/usr/bin/env python3
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
import sys
import time

sys.path.insert(0, os.path.join(os.environ["TOP_SRCDIR"], "tests", "lib"))
import messages as m
import xddjson as j
import xddnet as net
import xddssh
import xddtest as t
import xddtime
import xddtrace as x

NS = 10**9
SLACK_NS = 20000   # by which the clock of xdd may differ from the kernel's
HOSTS = ((5000, "delay=0.2"), (-20, "a:delay=0.1 b:delay=2"), (7, "delay=0.5"))
RUN = "-op noop -targets 1 null -reqsize 1 -numreqs 5".split()

REASON = xddssh.why_not()


def test_hosts():
    why = net.why_not("unshare") or net.why_no_clocks()
    if why:
        return t.skip("hosts in namespaces", why)
    server = net.namespace("server")
    origin, base, ppm = time.monotonic_ns(), time.time_ns() - 3600 * NS, 30
    clock = xddtime.Clock(base, ppm, origin)
    serving = server.start("python3", xddtime.__file__, "address=0.0.0.0", "port=2000", "base=%d" % base, "ppm=%d" % ppm,
                           "origin=%d" % origin)
    server.wait_for_port(2000, serving)
    hosts = []
    for n, (ahead, settings) in enumerate(HOSTS):
        space = net.namespace("h%d" % n, ahead)
        net.link(space, server, ["10.78.%d.2/24" % n], ["10.78.%d.1/24" % n], *settings.split())
        hosts.append(space)
    at = clock.now() + 8 * NS
    runs = [space.start_xdd(*RUN, "-timeserver", "host", "10.78.%d.1" % n, "-tsvr", "bounce", 50, "-starttime",
                            "%d.%09d" % divmod(at, NS), "-ts", "dump", t.path("h%d" % n), "-jsonout", t.path("h%d.json" % n))
            for n, space in enumerate(hosts)]
    for n, run in enumerate(runs):
        done = run.end(tolerate=m.STARTED_LATE)
        t.equal(done.status, 0, "host %d: runs" % n, done)
        doc = j.check(t.path("h%d.json" % n), "host %d" % n)
        if not doc:
            continue
        dump = t.path("h%d.target.0000.bin" % n)
        first = min(e["start_ns"] for e in x.Dump(dump).entries)
        true = clock.at(first - HOSTS[n][0] * NS)
        start, bound = doc["start"], doc["start"]["bound_ns"]
        t.ok(start["requested_ns"] == at and abs(start["achieved_ns"] - true) <= bound + SLACK_NS,
             "host %d: the true start is within the stated bound" % n, (start, true))
        t.ok(start["late_ns"] == start["achieved_ns"] - at >= -SLACK_NS and true - at >= -bound - SLACK_NS,
             "host %d: does not start before the time" % n, (start, true - at))
        t.ok(doc["clock"]["source"] == "timeserver" and 0 < bound < 20 * 10**6, "host %d: a bound" % n, doc["clock"])
        rows = list(csv.DictReader(io.StringIO(x.tsread("-csv", dump).out)))
        stated = int(x.Dump(dump).meta["global_bound_ns"][0])
        t.ok(abs(min(int(r["START_NS"]) for r in rows) - true) <= stated + SLACK_NS,
             "host %d: tsread has global times within the bound of the dump" % n, (rows[0], true, stated))
    return None


def test_refused():
    """Nothing is opened or created when the clock is not there, not exact, or past the start."""
    made = t.path("made")
    words = ["-op", "write", "-targets", 1, made, "-numreqs", 1, "-csvout", t.path("csv")]
    serving = xddtime.Server(xddtime.Clock(time.time_ns() + 1000 * NS, 0)).start()
    here = ["-timeserver", "host", "127.0.0.1", "port", serving.port]
    soon = "%d" % (time.time() + 500)
    for title, status, more, text in (
            ("no server", 1, ["-tsvr", "host", "127.0.0.1", "-tsvr", "port", xddssh.free_port()], "no answer"),
            ("past by the global clock", 2, [*here, "-starttime", soon], "seconds in the past: the clock of 127.0.0.1"),
            ("maxerror", 1, [*here, "maxerror", "1ns"], "is known within .* only, and maxerror allows")):
        run = t.xdd(*words, *more)
        t.ok(run.status == status and not os.path.exists(made) and not os.path.exists(t.path("csv")),
             title + ": status %d, and nothing is created" % status, run)
        t.ok(len(run.error_lines()) == 1 and re.search(text, run.err),
             title + ": one line", run)
    port = xddssh.free_port()
    with subprocess.Popen([*t.xdd_words(*RUN), "-timeserver", "host", "127.0.0.1", "port", str(port), "wait", "60"],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE) as late:
        time.sleep(0.5)
        xddtime.Server(xddtime.Clock(time.time_ns(), 0), port=port).start()
        out, err = late.communicate(timeout=t.TIMEOUT)
        t.ok(late.returncode == 0 and b"COMBINED" in out, "wait: a server that is started later is reached", err)


def test_lost():
    """A server that falls silent during a run, or is another one: a warning, and the run goes on."""
    for title, change, text in (("silent", lambda s: setattr(s, "lost", 100), "it does not answer any more"),
                                ("another", lambda s: setattr(s, "id", s.id + 2), "its clock was set, or another server answered")):
        serving = xddtime.Server(xddtime.Clock(time.time_ns(), 0), tcp=0).start()
        file = t.path(title + ".json")
        with subprocess.Popen([*t.xdd_words("-op", "noop", "-targets", 1, "null", "-timelimit", 5, "-operationdelay", "1ms"),
                               "-timeserver", "127.0.0.1", "port", str(serving.port), "-jsonout", file],
                              stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as run:
            time.sleep(0.7)
            change(serving)
            _, err = run.communicate(timeout=t.TIMEOUT)
        t.ok(run.returncode == 0 and err.count(text) == 1, title + ": the run ends well, with one warning", err)
        clock = j.load(file)["clock"]
        t.ok(clock["bound_at_end_ns"] > 0 and (clock["lost"] > 0 if title == "silent" else clock["steps"] == 1),
             title + ": the document says so", clock)


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
    net.until(lambda: "listening" in serving.text() or not serving.running())
    port = re.search(r"listening on port (\d+)", serving.text())[1]
    lines = ["Host %s\n  HostName 127.0.0.%d" % (host, n) for n, host in enumerate(hosts, 1)]
    with xddssh.Sshd(listen="0.0.0.0", client_lines=lines) as server:
        with open(os.path.join(where, "ssh"), "w", encoding="utf-8") as file:
            file.write('#!/bin/sh\nexec %s "$@"\n' % server.ssh.replace("ssh", shutil.which("ssh"), 1))
        os.chmod(file.name, 0o755)
        script = """g=`gettime -timeserver 127.0.0.1 -port %s -add 8`
for host in %s; do
ssh $host xdd -op noop -targets 1 null -numreqs 5 -timeserver host 127.0.0.1 port %s -starttime $g -jsonout %s/$host.json &
done; wait
echo $g""" % (port, " ".join(hosts), port, where)
        run = t.command(["sh", "-c", script], env={"PATH": where + ":" + os.environ["PATH"]})
    if not t.ok(run.status == 0 and re.search(r"^\d{10}$", run.out, re.M), "the guide's script ends well", run):
        return
    moment = int(run.out.split()[-1]) * NS
    for host in hosts:
        start = j.load(os.path.join(where, host + ".json"))["start"]
        t.equal((start["requested_ns"], start["late_ns"]), (moment, start["achieved_ns"] - moment), host + ": the start that was asked for")
        t.ok(start["bound_ns"] is not None and -start["bound_ns"] - SLACK_NS <= start["late_ns"] < 8 * NS, host + ": not before it", start)


t.run(test_refused, test_lost, test_hosts, test_script)
t.done()
