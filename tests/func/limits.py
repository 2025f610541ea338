#!/usr/bin/env python3
"""
The end of a pass and of a run: what holds operations back does not hold back a time limit, a stop trigger or a
signal. Delays are far longer than the tests may take, so that no result hangs on how fast the machine is.
"""
import os
import sys

sys.path.insert(0, os.path.join(os.environ["TOP_SRCDIR"], "tests", "lib"))
import xddtest as t

ENGINES = [e for e in ("psync", "libaio", "io_uring") if e in t.engines()]
LONG_S = 40  # of a delay; a run that waits for it is far beyond SOON_S
SOON_S = 20

if t.ENGINE:
    t.skip_all("this test sets the engine itself")


def data(size=1 << 20):
    name = t.path("data")
    with open(name, "wb") as f:
        f.write(os.urandom(size))
    return name


def ops_of(run):
    """Of all targets."""
    row = run.row("COMBINED")
    return row and int(row["Ops"])


def test_limits_end_delays():
    for engine in ENGINES:
        for words in ("-operationdelay %d -timelimit 0.2" % LONG_S, "-throttle delay %d -timelimit 0.2" % LONG_S,
                      "-operationdelay %d -runtime 0.2 -queuedepth 3" % LONG_S):
            run = t.xdd("-op", "read", "-targets", 1, data(), "-reqsize", 4, "-ioengine", engine,
                        *words.split(), timeout=3 * LONG_S)
            depth = 3 if "queuedepth" in words else 1
            t.ok(run.status == 0 and run.seconds < SOON_S and ops_of(run) == depth,
                 "%s: the limit ends a delay: %s" % (engine, words), "%.1f s\n%s" % (run.seconds, run))


def test_stop_trigger_ends_delays():
    for engine in ENGINES:
        for words in ("delay %d" % LONG_S, "ops %f" % (1 / LONG_S)):
            run = t.xdd("-op", "read", "-targets", 2, data(), data(), "-reqsize", 4, "-numreqs", 20, "-ioengine", engine,
                        "-throttle", "target", 0, "ops", 50, "-throttle", "target", 1, *words.split(),
                        "-stoptrigger", 0, 1, "op", 10, timeout=3 * LONG_S)
            t.ok(run.status == 0 and run.seconds < SOON_S and ops_of(run) == 21,
                 "%s: the stop trigger ends -throttle %s" % (engine, words), "%.1f s\n%s" % (run.seconds, run))


t.run(test_limits_end_delays, test_stop_trigger_ends_delays)
t.done()
