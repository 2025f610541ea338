#!/usr/bin/env python3
"""
Strict order keeps the queue of a device full, with engines whose queue is in the kernel: on a file system that answers each
operation after 1 ms, 32 at once, strict has at least 80 % of the rate without an order. A queue that were not kept full
would have a small part of it: one operation a millisecond is 3 %, a queue that runs empty before it is filled again 50 %.
"""
import os
import sys

sys.path.insert(0, os.path.join(os.environ["TOP_SRCDIR"], "tests", "lib"))
import messages as m
import witness as w
import xddsys as s
import xddtest as t
from xddorder import SIZE, engines

ROUNDS = 3


def rate(path, engine, order):
    run = t.xdd("-op", "read", "-targets", 1, path, "-dio", "-blocksize", SIZE, "-reqsize", 1, "-queuedepth", 32,
                "-timelimit", 0.4, "-ordering", order, "-ioengine", engine)
    t.equal(run.status, 0, "%s, %s: a run" % (engine, order), run)
    return float(run.row("COMBINED")["IOPS"])


def median(values):
    return sorted(values)[len(values) // 2]


def compare(path, engine):
    """Interleaved, medians."""
    samples = [(rate(path, engine, "none"), rate(path, engine, "strict")) for _ in range(ROUNDS)]
    none, strict = (median(rates) for rates in zip(*samples))
    t.ok(strict >= 0.8 * none > 0, "%s: strict keeps up with none" % engine, samples)


t.real_time()
t.tolerate(m.STRICT_URING)
fs = w.slow_fs(256 << 20)
if fs is None:
    t.skip_all(s.sys_why())
for name in engines():
    if name == "libaio":
        compare(fs.data, name)
    elif name == "io_uring":
        loop = s.loop_device(fs.data, "--direct-io=on")
        if loop is None:
            t.skip("io_uring: strict keeps up with none", s.sys_why())
        else:
            compare(loop, name)
            s.detach(loop)
fs.end()
t.done()
