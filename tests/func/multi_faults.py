#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""
xdd multi with hosts that are dead, silent, slow, stopped or without xdd: they are named and the results of the others kept. Nothing
stays, however the run ends.
"""
import os
import signal
import socket
import time

import messages as m
import xddhold
import xddmulti as multi
import xddports
import xddssh
import xddsys
import xddtest as t

REASON = xddssh.why_not()
if REASON:
    t.skip_all(REASON)

# An hour's work.
LONG = "-op noop -targets 1 null -reqsize 1 -numreqs 360000 -operationdelay 0.01".split()
SHORT = "-op noop -targets 1 null -reqsize 1 -numreqs 64".split()


# Seconds in which hosts answer, however busy the machine is.
LIMIT_S = 15
# Longer than that.
LONGER = [*LONG[:-4], "-numreqs", 160 * LIMIT_S, "-operationdelay", 0.01]


def hosts(n):
    return ["127.0.0.%d" % (i + 1) for i in range(n)]


def answered(started, point):
    """All hosts that `point` counts have answered; the run goes on."""
    point.wait(started.p)
    point.go()


def test_failures():
    """One of each kind; the results of the sound ones are there."""
    silent = socket.create_server(("127.0.0.1", 0))
    with xddssh.Sshd(listen="0.0.0.0") as own, xddssh.Sshd(remote_xdd="") as bare:
        own.client_lines = [
            "Host dead", "  HostName 127.0.0.1", "  Port %d" % xddports.free_ports(1),
            "Host silent", "  HostName 127.0.0.1", "  Port %d" % silent.getsockname()[1], "  ConnectTimeout 100",
            "Host bare", "  HostName 127.0.0.1", "  Port %d" % bare.port, "  IdentityFile " + bare.path("client"),
            "  UserKnownHostsFile " + bare.path("known")]
        own.configure()
        out = t.path("failures.json")
        run = multi.run(own, "-hosts", "127.0.0.1,dead,silent,bare,127.0.0.2,127.0.0.9", "-startin", 0, "-timeout", LIMIT_S,
                        "-jsonout", out, "-S", multi.slow_ssh(own, "127.0.0.9", 2), "--", *SHORT,
                        warns=[m.MULTI_MISSING % (3, 6)])
    silent.close()
    doc = multi.load(out)
    t.equal((run.status, len(doc["hosts"])), (4, 3), "status 4, and the results of the sound ones and the slow one", run)
    for text in ("multi: dead: ssh cannot reach it, or is not let in; its last messages:", "multi: dead:   ssh: connect to host",
                 "multi: silent: did not answer within %d s" % LIMIT_S,
                 "multi: bare: cannot start \"xdd\" there; install xdd there, or give its path with -remotexdd",
                 "multi: there are results of 3 of 6 ranks"):
        t.ok(text in run.all_err, "report: " + text, run)
    t.ok(not any("multi: " + host + ": " in run.all_err for host in ("127.0.0.1", "127.0.0.2", "127.0.0.9")), "the others are not named", run)
    t.ok(not multi.left(run.run_id), "nothing is left running", multi.left(run.run_id))


def interrupted(sig):
    """
    Signal the process and then its group, as timeout(1) does, while the process stands still: it gets both at one moment.
    (Whether the results of all are there, status, messages.)
    """
    out = t.path("interrupt.json")
    if os.path.exists(out):
        os.unlink(out)
    with xddhold.at("host answered:4") as h, multi.Started(
            server, "-hosts", ",".join(hosts(4)), "-startin", 0, "-jsonout", out, "--", *LONG, env=h.env) as started:
        h.wait(started.p)
        stopped = xddsys.stop(started.p.pid)
        h.go()
        os.kill(started.p.pid, sig)
        os.killpg(started.p.pid, sig)
        os.kill(started.p.pid, signal.SIGCONT)
        status, err = started.end()
    t.ok(not multi.left(started.run_id), "nothing is left running", multi.left(started.run_id))
    doc = multi.load(out) if os.path.exists(out) else {"hosts": []}
    return stopped and status == 5 and len(doc["hosts"]) == 4 and doc["partial"], status, err


def test_interrupt():
    for sig in (signal.SIGINT, signal.SIGTERM):
        good, *found = interrupted(sig)
        t.ok(good, "%s: all end, and their results are combined" % sig.name, found)


def test_killed():
    """kill -9 of xdd multi, and of ssh: no xdd stays."""
    with xddhold.at("host answered:2") as h, multi.Started(
            server, "-hosts", ",".join(hosts(2)), "-startin", 0, "--", *LONG, env=h.env) as started:
        h.wait(started.p)
        started.p.kill()
        started.end()
    t.ok(not multi.left(started.run_id), "kill -9 of xdd multi: no process stays", multi.left(started.run_id))
    with xddhold.at("host answered:2") as h, multi.Started(
            server, "-hosts", ",".join(hosts(2)), "-startin", 0, "-grace", 30, "--", *LONG, env=h.env) as started:
        answered(started, h)
        pid = started.ssh_of("127.0.0.2")
        if pid:
            os.kill(pid, signal.SIGKILL)
        time.sleep(1)
        os.kill(started.p.pid, signal.SIGINT)
        status, err = started.end()
    t.ok(status == 5 and "multi: 127.0.0.2: ssh was ended by signal 9" in err, "kill -9 of ssh: the host is named", (status, err))
    t.ok(not multi.left(started.run_id), "and no xdd stays there", multi.left(started.run_id))


def test_stopped():
    """A host that freezes during the run: the other one is still running when that is noticed."""
    with xddhold.at("host answered:2") as h, multi.Started(
            server, "-hosts", ",".join(hosts(2)), "-startin", 0, "-timeout", LIMIT_S, "-grace", 1, "--", *LONGER,
            env=h.env) as started:
        h.wait(started.p)
        pid = started.xdd_of(1)
        os.kill(pid, signal.SIGSTOP)
        h.go()
        status, err = started.end()
        os.kill(pid, signal.SIGCONT)
    t.ok(status == 4 and "multi: 127.0.0.2: gave no sign of life for %d s" % LIMIT_S in err and "multi: 127.0.0.1: " not in err,
         "a host that is silent is named, and the other one is not", (status, err))
    t.ok(not multi.left(started.run_id), "nothing is left running", multi.left(started.run_id))


def test_own_stop():
    """xdd multi itself stands still for longer than the limit: it has not heard its hosts, which says nothing of them."""
    with xddhold.at("host answered:2") as h, multi.Started(
            server, "-hosts", ",".join(hosts(2)), "-startin", 0, "-timeout", LIMIT_S, "--", *LONGER, env=h.env) as started:
        h.wait(started.p)
        time.sleep(LIMIT_S + 1)  # the time for which it stands still, in which other tests of this file run
        h.go()
        status, err = started.end()
    t.ok(status == 0 and "multi: 127" not in err, "xdd multi that stood still for longer than -timeout: no host is silent", (status, err))


def test_pdsh():
    """The real pdsh, with ssh."""
    if not t.have("pdsh"):
        t.skip("pdsh", "there is no pdsh")
        return
    env = dict(os.environ, PDSH_RCMD_TYPE="ssh", PDSH_SSH_ARGS="-F %s -l%%u %%h" % server.path("ssh_config"))
    out = t.path("pdsh.json")
    run = multi.run(None, "-launcher", "pdsh", "-hosts", "127.0.0.1,127.0.0.2:2", "-startin", 0, "-jsonout", out, "--", *SHORT,
                    "-id", "%h.%r it's 50%%h $HOME `id` %%%%u%% %%n%%%%", env=env)
    doc = multi.load(out) if run.status == 0 else {"hosts": [], "plan": {"options": {}}}
    t.ok(run.status == 0 and len(doc["hosts"]) == 3, "pdsh: the results of all ranks", run)
    t.equal(doc["plan"]["options"].get("id"), ["127.0.0.1.0 it's 50%h $HOME `id` %%u% %n%%"], "pdsh: the words reach xdd as they are")
    for sig in (signal.SIGINT, signal.SIGKILL):
        with xddhold.at("host answered:2", env=env) as h, multi.Started(
                None, "-launcher", "pdsh", "-hosts", ",".join(hosts(2)), "-startin", 0, "-jsonout", out, "--", *LONG,
                env=h.env, more_id="'$x.[%h]*`") as started:
            answered(started, h)
            os.kill(started.p.pid, sig)
            status, err = started.end()
        if sig == signal.SIGINT:
            doc = multi.load(out)
            t.ok(status == 5 and len(doc["hosts"]) == 2 and doc["partial"], "pdsh, SIGINT: all end, and their results are combined",
                 (status, err))
        t.ok(not multi.left(started.run_id), "pdsh, %s of xdd multi: no process stays" % sig.name, multi.left(started.run_id))
    # Stands in for a pdsh that starts xdd here, on a host without pkill.
    os.makedirs(t.path("bin"))
    with open(t.path("bin/pdsh"), "w", encoding="utf-8") as f:
        f.write("#!/bin/sh\ncase $6 in *pkill*) [ -z \"$SLOW\" ] && exit 127; sleep 2 ;; esac\nexec sh -c \"$6\"\n")
    os.chmod(t.path("bin/pdsh"), 0o755)
    env["PATH"] = t.path("bin") + ":" + env["PATH"]
    with xddhold.at("host answered:1", env=env) as h, multi.Started(
            None, "-launcher", "pdsh", "-hosts", "localhost", "-startin", 0, "-grace", 3600, "-remotexdd", t.XDD, "--", *LONG,
            env=h.env) as started:
        answered(started, h)
        os.kill(started.p.pid, signal.SIGINT)
        status, err = started.end()
    t.ok(status == 5 and "localhost: did not end when it was asked to" in err, "pdsh, no pkill: the lost results are named", (status, err))
    t.ok(not multi.left(started.run_id), "pdsh, no pkill: no process stays", multi.left(started.run_id))
    # The connection of the second pdsh takes longer than -grace, as on a busy machine.
    with xddhold.at("host answered:1", env=dict(env, SLOW="1")) as h, multi.Started(
            None, "-launcher", "pdsh", "-hosts", "localhost", "-startin", 0, "-grace", 1, "-remotexdd", t.XDD, "-jsonout", out, "--",
            *LONG, env=h.env) as started:
        answered(started, h)
        os.kill(started.p.pid, signal.SIGINT)
        status, err = started.end()
    doc = multi.load(out)
    t.ok(status == 5 and len(doc["hosts"]) == 1 and "did not end" not in err, "pdsh, slow pkill: the results are there", (status, err))


with xddssh.Sshd(listen="0.0.0.0") as server:
    t.run_together(test_failures, test_interrupt, test_killed, test_stopped, test_own_stop, test_pdsh)
t.done()
