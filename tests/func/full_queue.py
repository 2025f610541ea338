#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""
Strict order keeps the queue of a device full, with engines whose queue is in the kernel. The device answers one operation
only while 32 are outstanding: a queue that is not filled up after each completion gets no more answers.
"""
import messages as m
import witness as w
import xddsys as s
import xddtest as t
from xddorder import SIZE, engines

FILE = 64 << 20
DEPTH, OPS = 32, 2000


def test_full(engine, order):
    """Every second block, so that the kernel merges none."""
    title = "%s, %s" % (engine, order)
    fs = w.slow_fs(FILE, options=["-q", "%d,%d" % (DEPTH, OPS)])
    device = fs and (s.loop_device(fs.data, "--direct-io=on") if engine == "io_uring" else fs.data)
    if not device:
        return t.skip(title, s.sys_why())
    run = t.xdd("-op", "read", "-targets", 1, device, "-dio", "-blocksize", SIZE, "-reqsize", 1, "-queuedepth", DEPTH, "-numreqs",
                OPS, "-startoffset", FILE // 4 // SIZE, "-seek", "interleave", 2, "-ordering", order, "-ioengine", engine)
    t.equal((run.status, (run.row("COMBINED") or {}).get("Ops")), (0, str(OPS)), title + ": a run", run)
    if engine == "io_uring":
        s.detach(device)
    seen = [a for a in fs.log() if FILE // 4 <= a.offset < FILE // 4 * 3]
    t.equal([(a.number, a.size) for a in seen if a.size != SIZE], [], title + ": no request is merged")
    held = [(n, (a.answered_ns - a.arrived_ns) / 1e9) for n, a in enumerate(seen) if a.answered_ns - a.arrived_ns > 10e9]
    return t.equal((len(seen), held), (OPS, []), title + ": %d are outstanding again after each completion" % DEPTH)


t.real_time()
t.tolerate(m.STRICT_URING)
for name in engines():
    for kind in ("none", "strict"):
        test_full(name, kind)
t.done()
