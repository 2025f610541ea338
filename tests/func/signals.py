#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""
Signals while the reader of an output stalls, at the very start, and between the last operation and the end.
"""
import os
import signal
import subprocess
import time

import xddhold
import xddjson as j
import xddstall
import xddtest as t

LIMIT_S = 40     # for what hangs otherwise
SAME_SIGNAL_S = 0.1     # a signal this soon after the first one is part of it
NOOP = ["-op", "noop", "-targets", 1, "null"]


def wait(p, seconds=LIMIT_S):
    """The status; None: it had to be killed."""
    try:
        return p.wait(seconds)
    except subprocess.TimeoutExpired:
        p.kill()
        p.wait()
        return None


def stalled_runs():
    """(what stalls, options, name of its FIFO, streams) of runs that wait for a reader."""
    for streams in (("stdout",), ("stderr",), ("stdout", "stderr")):
        # That makes messages while operations are issued.
        yield " and ".join(streams), ["-debug", "io"], None, streams
    for option in ("-output", "-csvout", "-combinedout", "-latency output"):
        name = t.path(option.replace(" ", ""))
        yield option, option.split() + [name], name, ()
    for option, end in (("-heartbeat 0.01 ops output", ".T0000.csv"), ("-ts detailed output", ".target.0000.csv"),
                        ("-ts detailed append output", ".target.0000.csv")):
        name = t.path(option.replace(" ", ""))
        yield option, option.split() + [name], name + end, ()


def test_stalled():
    """A single SIGTERM, as timeout(1) sends it, ends a run that waits for the reader of an output."""
    runs = []
    for n, (what, words, fifo, streams) in enumerate(stalled_runs()):
        pipe, document = xddstall.Stalled(fifo), t.path("stalled.%d.json" % n)
        with xddhold.at("output full:1") as h:
            p = subprocess.Popen(t.xdd_words(*NOOP, "-numreqs", 100, "-passes", 3, *words, "-jsonout", document),
                                 stdin=subprocess.DEVNULL, env=h.env,
                                 **{name: pipe.w if name in streams else subprocess.DEVNULL for name in ("stdout", "stderr")})
            h.wait(p)
            p.send_signal(signal.SIGTERM)
        runs.append((what, p, pipe, document))
    for what, p, pipe, document in runs:
        title = "SIGTERM, and no process reads " + what
        t.equal(wait(p), 5, title + ": status 5")
        d = j.check(document, title)
        t.equal(d and (d["end"], d["status"], d["partial"]), ("canceled", 5, True), title + ": the document says so")
        pipe.close()


def test_stalled_document():
    """The document itself: the status is that of other outputs that are cut, and no error of the device."""
    fifo = t.path("stalled-document")
    pipe = xddstall.Stalled(fifo)
    with xddhold.at("output full:1") as h:
        p = subprocess.Popen(t.xdd_words(*NOOP, "-numreqs", 100, "-jsonout", fifo), stdin=subprocess.DEVNULL,
                             stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=h.env)
        h.wait(p)
        p.send_signal(signal.SIGTERM)
    t.equal(wait(p), 5, "SIGTERM, and no process reads -jsonout: status 5")
    pipe.close()


def test_second():
    """With an operation that hangs a single signal ends nothing for three seconds; the second does at once."""
    pipe, document = xddstall.Stalled(), t.path("second.json")
    with xddhold.at("operation:0", "signal taken") as h:
        p = subprocess.Popen(t.xdd_words(*NOOP, "-numreqs", 8, "-heartbeat", 0.05, "-jsonout", document),
                             stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=pipe.w, env=h.env)
        h.wait(p)
        # A progress line that finds no room must not keep the thread from the signals that follow.
        for number in (signal.SIGUSR1, signal.SIGTERM):
            p.send_signal(number)
            h.wait(p).go()
        time.sleep(SAME_SIGNAL_S)
        p.send_signal(signal.SIGTERM)
        status = wait(p)
    pipe.close()
    t.equal((status, os.path.exists(document)), (5, False), "a second signal, and no process reads stderr: it ends at once")


def has_pending(p):
    """Do signals of the process wait to be taken?"""
    with open("/proc/%d/status" % p.pid, encoding="ascii") as f:
        return any(line.split()[0] in ("SigPnd:", "ShdPnd:") and int(line.split()[1], 16) for line in f)


def test_forwarded():
    """A parent that forwards a signal repeats it: only its second one, or another one of the sender, is a second signal."""
    for senders, ends in (("other parent", False), ("other parent parent", True), ("other other", True), ("parent parent", True)):
        document = t.path(senders + ".json")
        with xddhold.at("operation:0", "signal taken") as h:
            p = subprocess.Popen(t.xdd_words(*NOOP, "-numreqs", 8, "-jsonout", document), stdin=subprocess.DEVNULL,
                                 stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=h.env)
            operation = h.wait(p)
            for n, sender in enumerate(senders.split()):
                # Two that wait to be taken would be one.
                t.until(lambda p=p: not has_pending(p), p)
                if sender == "other":
                    subprocess.run(["kill", "-TERM", str(p.pid)], check=True)
                else:
                    p.send_signal(signal.SIGTERM)
                if not n:
                    h.wait(p).go()
                    time.sleep(SAME_SIGNAL_S)
            if not ends:
                operation.go()
            status = wait(p)
        t.equal((status, os.path.exists(document)), (5, not ends),
                "SIGTERM of %s: %s" % (senders.replace(" ", ", then of "), "ends at once" if ends else "is one signal"))


def test_progress_early():
    """SIGUSR1 before anything is known of the run, here while the setup file is still read: no reason to end."""
    setup = t.path("setup")
    os.mkfifo(setup)
    p = subprocess.Popen([t.XDD, "-setup", setup], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    # Returns when xdd has opened it.
    w = os.open(setup, os.O_WRONLY)
    p.send_signal(signal.SIGUSR1)
    if p.poll() is None:
        os.write(w, b"-op noop\n-targets 1 null\n-numreqs 5\n")
    os.close(w)
    t.equal(wait(p), 0, "SIGUSR1 at the very start")


def test_at_the_end():
    """A signal after the last operation: status and document say the same."""
    document = t.path("last.json")
    with xddhold.at("results written", "signal taken") as h:
        p = subprocess.Popen(t.xdd_words(*NOOP, "-numreqs", 2000, "-jsonout", document), stdin=subprocess.DEVNULL,
                             stdout=subprocess.DEVNULL, env=h.env)
        h.wait(p)
        p.send_signal(signal.SIGTERM)
        h.wait(p)
    status = wait(p)
    d = j.check(document, "a signal after the results")
    t.equal((status, d and (d["status"], d["end"], d["partial"])), (0, (0, "normal", False)),
            "a signal after the results: status and document agree")


def test_in_the_last_output():
    """A signal while the last output waits for its reader, who then goes on to read."""
    name, document = t.path("output"), t.path("output.json")
    pipe = xddstall.Stalled(name + ".target.0000.csv", full=False)
    with xddhold.at("output full:1", "signal taken") as h:
        p = subprocess.Popen(t.xdd_words(*NOOP, "-numreqs", 2000, "-ts", "detailed", "output", name, "-jsonout", document),
                             stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, env=h.env)
        h.wait(p)
        p.send_signal(signal.SIGTERM)
        h.wait(p)
        os.close(pipe.w)
        h.go()
        os.set_blocking(pipe.r, True)
        while os.read(pipe.r, 1 << 16):
            pass
        os.close(pipe.r)
    status = wait(p)
    d = j.check(document, "a signal in the last output")
    t.equal((status, d and (d["status"], d["end"], d["partial"])), (0, (0, "normal", False)),
            "a signal in the last output: status and document agree")


t.run_all()
