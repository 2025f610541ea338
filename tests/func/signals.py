#!/usr/bin/env python3
"""
Signals while the reader of an output stalls, at the very start, and between the last operation and the end.
"""
import fcntl
import os
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.environ["TOP_SRCDIR"], "tests", "lib"))
import xddjson as j
import xddstall
import xddsys as s
import xddtest as t

LIMIT_S = 40     # for what hangs otherwise
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
        p = subprocess.Popen(t.xdd_words(*NOOP, "-numreqs", 100, "-passes", 3, *words, "-jsonout", document),
                             stdin=subprocess.DEVNULL,
                             **{name: pipe.w if name in streams else subprocess.DEVNULL for name in ("stdout", "stderr")})
        runs.append((what, p, pipe, document))
    for what, p, pipe, document in runs:
        s.settle(p, 0, qthreads=0)
    time.sleep(0.5)
    waits = [p.poll() is None for what, p, pipe, document in runs]
    for what, p, pipe, document in runs:
        if p.poll() is None:
            p.send_signal(signal.SIGTERM)
    for waited, (what, p, pipe, document) in zip(waits, runs):
        title = "SIGTERM, and no process reads " + what
        t.equal((waited, wait(p)), (True, 5), title + ": status 5")
        d = j.check(document, title)
        t.equal(d and (d["end"], d["status"], d["partial"]), ("canceled", 5, True), title + ": the document says so")
        pipe.close()


def test_stalled_document():
    """The document itself: the status is that of other outputs that are cut, and no error of the device."""
    fifo = t.path("stalled-document")
    pipe = xddstall.Stalled(fifo)
    p = subprocess.Popen(t.xdd_words(*NOOP, "-numreqs", 100, "-jsonout", fifo), stdin=subprocess.DEVNULL,
                         stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    s.settle(p, 0.3, qthreads=0)
    waits = p.poll() is None
    p.send_signal(signal.SIGTERM)
    t.equal((waits, wait(p)), (True, 5), "SIGTERM, and no process reads -jsonout: status 5")
    pipe.close()


def test_second():
    """With operations that hang a single signal ends nothing for three seconds; the second does at once."""
    env = s.faults("hang", file="hangs")
    if env is None:
        return t.skip("a second signal, and no process reads stderr", s.sys_why())

    def end_at_once():
        pipe, document = xddstall.Stalled(), t.path("second.%d.json" % time.monotonic_ns())
        p = subprocess.Popen(t.xdd_words("-op", "read", "-targets", 1, t.make_file("hangs", 1 << 20), "-reqsize", 4, "-numreqs", 8,
                                         "-heartbeat", 0.05, "-jsonout", document),
                             stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=pipe.w, env=dict(os.environ, **env))
        s.settle(p, 0.3)
        # A progress line that finds no room must not keep the thread from the signals that follow.
        for number in (signal.SIGUSR1, signal.SIGTERM, signal.SIGTERM):
            p.send_signal(number)
            time.sleep(0.4)
        status = wait(p)
        pipe.close()
        return status == 5 and not os.path.exists(document), status
    good, status = t.again(end_at_once)
    t.ok(good, "a second signal, and no process reads stderr: it ends at once", status)


def test_progress_early():
    """SIGUSR1 before anything is known of the run, here while the setup file is still read: no reason to end."""
    setup = t.path("setup")
    os.mkfifo(setup)
    p = subprocess.Popen([t.XDD, "-setup", setup], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    w = os.open(setup, os.O_WRONLY)
    for _ in range(3):
        p.send_signal(signal.SIGUSR1)
        time.sleep(0.05)
    if p.poll() is None:
        os.write(w, b"-op noop\n-targets 1 null\n-numreqs 5\n")
    os.close(w)
    t.equal(wait(p), 0, "SIGUSR1 at the very start")


def test_at_the_end():
    """A signal while the last results are written: status and document say the same, whatever that is."""
    name, document = t.path("last"), t.path("last.json")
    fifo = name + ".target.0000.csv"
    pipe = xddstall.Stalled(fifo, full=False)
    p = subprocess.Popen(t.xdd_words(*NOOP, "-numreqs", 2000, "-ts", "detailed", "output", name, "-jsonout", document),
                         stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    end = time.monotonic() + LIMIT_S
    while p.poll() is None and time.monotonic() < end and not queued(pipe.r):
        time.sleep(0.01)
    time.sleep(0.1)
    p.send_signal(signal.SIGTERM)
    time.sleep(0.2)
    os.close(pipe.w)
    os.set_blocking(pipe.r, True)
    while os.read(pipe.r, 1 << 16):
        pass
    os.close(pipe.r)
    status = wait(p)
    d = j.check(document, "a signal after the last operation")
    t.ok(d and d["status"] == status and (d["end"], d["partial"]) == (("canceled", True) if status == 5 else ("normal", False)) and
         status in (0, 5), "a signal after the last operation: status and document agree",
         (status, d and (d["status"], d["end"], d["partial"])))


def queued(fd):
    """Bytes that wait in a pipe."""
    return int.from_bytes(fcntl.ioctl(fd, 0x541b, b"\0\0\0\0"), sys.byteorder)  # FIONREAD


t.run(test_stalled, test_stalled_document, test_second, test_progress_early, test_at_the_end)
t.done()
