#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""
OVERHEADTIME: what QThreads do between operations. With one QThread that waits for nothing, operations and overhead
add up to the time of the pass; operations, waits and filling are no part of it.
"""
import json
import os
import re

import xddsys as s
import xddtest as t

ENGINES = [e for e in ("psync", "libaio", "io_uring", "mmap") if e in t.engines()]

if t.ENGINE:
    t.skip_all("this test sets the engine itself")


def times(*args):
    """The run, and of its one pass in ns: elapsed time, sum of the operations, overhead, filling; and the column."""
    run = t.xdd(*args, "-jsonout", t.path("json"))
    rows = []
    if run.status in (0, 7):
        with open(t.path("json")) as f:
            rows = [r for r in json.load(f)["results"] if r["what"] == "TARGET_PASS"]
    if len(rows) != 1:
        return run, None
    r = rows[0]
    return run, (r["elapsed_ns"], sum(r["busy_ns"].values()), r.get("overhead_ns", 0), r["fill_ns"])


def data(name, size=1 << 20):
    with open(t.path(name), "wb") as f:
        f.write(os.urandom(size))
    return t.path(name)


def test_adds_up():
    """The pass of a QThread begins before its first operation and ends after its last."""
    for title, args in (("null", "-op noop -targets 1 null -numreqs 2000000"),
                        ("reads", "-op read -targets 1 %s -blocksize 64 -reqsize 1 -numreqs 16384" % data("read")),
                        ("checked reads", "-op read -targets 1 %s -reqsize 64 -numreqs 16 -verify contents "
                         "-datapattern 0 -maxerrorstoprint 1" % data("read"))):
        run, ns = times(*args.split())
        if not t.ok(ns, "%s: there are figures" % title, run):
            continue
        elapsed, busy, overhead, fill = ns
        t.ok(overhead > 0, "%s: there is overhead" % title, ns)
        t.ok(elapsed <= busy + overhead + fill <= run.seconds * 1e9,
             "%s: operations and overhead add up to the pass" % title, (ns, run.seconds))


def test_leaves_out_waits():
    for engine in ENGINES:
        for words in ("-throttle ops 40 -numreqs 20 -queuedepth 2", "-operationdelay 0.05 -numreqs 20 -queuedepth 2",
                      "-throttle ops 40 -numreqs 20 -ordering serial -queuedepth 3"):
            run, ns = times("-op", "read", "-targets", 1, data("read"), "-reqsize", 4, "-ioengine", engine, *words.split())
            t.ok(run.status == 0 and ns and ns[0] > 3e8 and 0 < ns[2] < ns[0] / 2,
                 "%s: a wait is no overhead: %s" % (engine, words), (ns, str(run)))


def test_leaves_out_filling():
    run, ns = times("-op", "write", "-targets", 1, t.path("written"), "-reqsize", 64, "-numreqs", 200, "-datapattern", "random")
    if t.ok(ns, "filling: there are figures", run):
        elapsed, busy, overhead, fill = ns
        t.ok(fill and 0 <= busy + overhead + fill - elapsed < fill / 10, "filling is no overhead", (ns, str(run)))


def test_start():
    """Between its release and its first operation a QThread opens nothing: with -starttime that would make it late."""
    if not s.can_trace():
        t.skip("strace", s.sys_why())
        return
    trace, passes = t.path("start.trace"), 3
    run = t.command(s.strace(trace, "openat,pread64") +
                    t.xdd_words("-op", "read", "-targets", 1, data("start"), "-reqsize", 4, "-numreqs", 2, "-passes", passes,
                                "-ioengine", "psync", "-jsonout", t.path("json")))
    with open(trace) as f:
        calls = "".join("O" if "openat(" in line else "." for line in f if re.search(r"openat\(.*schedstat|, 4096, ", line))
    t.ok(run.status == 0 and calls == "O..O" * passes + "O", "its wait for processors is read before and after each pass", (calls, run))


t.run_all()
