#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""
Where threads run: -processor, -singleproc, -roundrobin, seen in /proc. What two NUMA nodes are needed for is in
tests/vm/guest-numa.sh.
"""
import collections
import os
import re

import messages as m
import xddsys as s
import xddtest as t
from xddresting import Resting

USABLE = sorted(os.sched_getaffinity(0))
FIRST, LAST = USABLE[0], USABLE[-1]
TWO = len(USABLE) > 1
FILE = t.make_file("data", 256 * 1024)


def text_of(processors):
    """As the kernel writes them."""
    ranges = []
    for n in sorted(processors):
        if ranges and ranges[-1][1] == n - 1:
            ranges[-1][1] = n
        else:
            ranges.append([n, n])
    return ",".join(str(a) if a == b else "%d-%d" % (a, b) for a, b in ranges)


ALL = text_of(USABLE)


def resting(*args, **kwargs):
    """A run of one QThread for each operation, unless the arguments say something else."""
    return Resting("-ioengine", "psync", "-op", "read", "-reqsize", 4, "-numreqs", 8, *args, **kwargs)


def lists(title, wanted, *args, **kwargs):
    """
    What the threads of that run may run on: `wanted` has how many there are with each list. Two are not QThreads,
    the first and the results manager; a third may wait for signals.
    """
    with resting(*args, **kwargs) as run:
        if not t.ok(run.rests and not os.path.getsize(run.files[1]), title + ": it runs", run):
            return
        got = collections.Counter(run.allowed().values())
    t.ok(all(got[k] == n if k != ALL else got[k] >= n for k, n in wanted.items()) and set(got) <= set(wanted) | {ALL},
         "%s: %s" % (title, dict(wanted)), got)


def shown(title, wanted, *args, prefix=()):
    words = t.xdd_words(*"-ioengine psync -dryrun -op read -reqsize 4 -numreqs 8".split(), *args)
    run = t.command(list(prefix) + words)
    t.equal(re.findall(r"^\t\tProcessor, (.*)$", run.out, re.M), wanted, "%s: as -dryrun shows it" % title)


def test_any():
    lists("none of the options", {ALL: 4}, "-targets", 1, FILE, "-queuedepth", 2)
    shown("none of the options", ["all/any"] * 2, "-targets", 2, FILE, FILE)


def test_processor():
    for n in (FIRST, LAST):
        lists("-processor %d" % n, {str(n): 1}, "-targets", 1, FILE, "-processor", n)
        lists("-processor %d, depth 3" % n, {str(n): 3}, "-targets", 1, FILE, "-queuedepth", 3, "-processor", n)
    shown("-processor %d" % LAST, [str(LAST)], "-targets", 1, FILE, "-processor", LAST)
    lists("-processor %s" % ALL, {ALL: 3}, "-targets", 1, FILE, "-processor", ALL)
    shown("-processor %s" % ALL, [ALL], "-targets", 1, FILE, "-processor", ALL)
    shown("-pr all", [ALL], "-targets", 1, FILE, "-pr", "all")
    if "libaio" in t.engines():
        lists("-processor, an engine that queues", {str(LAST): 2}, "-targets", 1, FILE, *"-dio -qd 8 -threads 2".split(),
              "-processor", LAST, "-ioengine", "libaio")


def test_workers():
    """Requests that io_uring passes to threads of the kernel run on the same processors."""
    if not TWO or "io_uring" not in t.engines():
        return t.skip("threads of the kernel", "no io_uring, or one processor")
    directory = s.tmpfs("workers", 4 << 20)
    if directory is None:
        return t.skip("threads of the kernel", s.sys_why())
    file = os.path.join(directory, "file")
    with open(file, "wb") as f:
        f.write(bytes(1 << 20))
    for option in ("-processor", "-singleproc"):
        with resting("-targets", 1, file, "-queuedepth", 8, option, LAST, "-ioengine", "io_uring") as run:
            lists_of = run.allowed()
            workers = [lists_of[tid] for tid in run.tasks() if run.name(tid).startswith("iou-wrk")]
        if not workers:
            t.skip(option + ": threads of the kernel", "there are none here")
        else:
            t.equal(set(workers), {str(LAST)}, option + ": threads of the kernel")
    return None


def test_running_there():
    with resting("-targets", 1, FILE, "-queuedepth", 2, "-processor", LAST) as run:
        bound = [tid for tid, allowed in run.allowed().items() if allowed == str(LAST)]
        on = {run.task(tid)[39] for tid in (bound if TWO else run.tasks())}
    t.equal(on, {str(LAST)}, "threads that may run on one processor do")


def test_targets():
    if not TWO:
        return t.skip("targets on different processors", "there is one processor")
    lists("-processor target 1", {str(LAST): 2, ALL: 2}, "-targets", 3, FILE, FILE, FILE, "-queuedepth", "target", 1, 2,
          "-processor", "target", 1, LAST)
    lists("two targets", {str(FIRST): 1, str(LAST): 2}, "-targets", 2, FILE, FILE, "-queuedepth", "target", 1, 2,
          "-processor", FIRST, "-processor", "target", 1, LAST)
    for words in ((1, LAST), ("target", 1, LAST), (1, "%d,%d" % (LAST, LAST))):
        shown("-processor %s" % " ".join(str(w) for w in words), ["all/any", str(LAST)], "-targets", 2, FILE, FILE,
              "-processor", *words)
    run = t.xdd("-op", "read", "-targets", 2, FILE, FILE, "-processor", 2, FIRST)
    t.ok(run.status == 2 and len(run.error_lines()) == 1 and "-processor target 2: " + m.no_such_target() in run.err,
         "-processor 2 of two targets", run)
    return shown("-processor target 1", ["all/any", str(LAST)], "-targets", 2, FILE, FILE, "-processor", "target", 1, LAST)


def one_node():
    try:
        with open("/sys/devices/system/node/online") as f:
            return f.read().strip() == "0"
    except OSError:
        return True


def test_nodes():
    if not one_node():
        return t.skip("NUMA nodes by name", "this machine has several; see tests/vm")
    shown("-processor node0", [ALL], "-targets", 1, FILE, "-processor", "node0")
    run = t.xdd("-op", "read", "-targets", 1, FILE, "-processor", "node1")
    return t.equal((run.status, len(run.error_lines()), "is not a NUMA node; there are: 0" in run.err), (2, 1, True),
                   "-processor node1: there is none", run)


def test_singleproc():
    with resting("-targets", 2, FILE, FILE, "-queuedepth", 2, "-singleproc", LAST) as run:
        t.equal(set(run.allowed().values()), {str(LAST)}, "-singleproc: all threads")
        t.ok(len(run.tasks()) >= 6, "-singleproc: and they are all there", run.tasks())
    if TWO:
        with resting("-targets", 2, FILE, FILE, "-queuedepth", 2, "-singleproc", LAST, "-processor", "target", 0,
                     FIRST) as run:
            got = collections.Counter(run.allowed().values())
            t.ok(got[str(FIRST)] == 2 and got[str(LAST)] == len(run.tasks()) - 2, "-singleproc and -processor", got)
        with resting("-targets", 2, FILE, FILE, "-singleproc", LAST, "-processor", "target", 1, "all") as run:
            t.equal(collections.Counter(run.allowed().values())[ALL], 1, "-singleproc and -processor all")
    shown("-singleproc", [str(LAST)] * 2, "-targets", 2, FILE, FILE, "-sp", LAST)


def test_roundrobin():
    if not TWO:
        return t.skip("-roundrobin", "there is one processor")
    a, b = str(USABLE[0]), str(USABLE[1])
    lists("-roundrobin 2, one target", {a: 3, b: 2, ALL: 2}, "-targets", 1, FILE, "-queuedepth", 5, "-roundrobin", 2)
    lists("-roundrobin 2, the guide's five threads", {a: 3, b: 2, ALL: 2}, "-targets", 5, *[FILE] * 5, "-roundrobin", 2)
    lists("-roundrobin 2, counted through the targets", {a: 2, b: 2, ALL: 2}, "-targets", 2, FILE, FILE, "-queuedepth",
          "target", 0, 3, "-roundrobin", 2)
    lists("-roundrobin 1", {a: 3, ALL: 2}, "-targets", 1, FILE, "-queuedepth", 3, "-roundrobin", 1)
    setup = t.path("singleproc")
    with open(setup, "w", encoding="ascii") as f:
        f.write("-singleproc %d\n" % LAST)
    lists("the last one wins", {a: 1, b: 1, ALL: 2}, "-targets", 2, FILE, FILE, "-setup", setup, "-roundrobin", 2)
    shown("-roundrobin 2", [a, b, a], "-targets", 3, FILE, FILE, FILE, "-rr", 2)
    shown("-roundrobin 2, depth 2", [text_of(USABLE[:2])], "-targets", 1, FILE, "-qd", 2, "-roundrobin", 2)
    shown("-roundrobin all", [str(n) for n in USABLE] + [a], "-targets", len(USABLE) + 1, *[FILE] * (len(USABLE) + 1),
          "-roundrobin", "all")
    return shown("the last one wins", [b], "-targets", 1, FILE, "-roundrobin", 2, "-singleproc", b)


def test_taskset():
    """The process stays on the processors that it was given when it was started."""
    if not TWO or not t.have("taskset"):
        return t.skip("a process that may not use all", "one processor, or no taskset")
    prefix = ["taskset", "-c", str(LAST)]
    node = [["-processor", "node0"]] if one_node() else []
    for option in [["-processor", "all"], ["-roundrobin", "all"], ["-roundrobin", 1], ["-singleproc", LAST]] + node:
        shown("taskset, %s %s" % tuple(option), [str(LAST)], "-targets", 1, FILE, *option, prefix=prefix)
    for option in (["-processor", FIRST], ["-singleproc", FIRST], ["-roundrobin", 2], ["-processor", ALL]):
        run = t.command(prefix + t.xdd_words("-op", "read", "-targets", 1, FILE, *option))
        t.equal((run.status, len(run.error_lines()), "may use: %d " % LAST in run.err, run.out), (2, 1, True, ""),
                "taskset, %s %s: refused" % tuple(option), run)
    with resting("-targets", 1, FILE, prefix=prefix) as run:
        t.equal(set(run.allowed().values()), {str(LAST)}, "taskset, none of the options")
    return None


def test_before_buffers():
    """A thread is where it is to be before it has its buffers."""
    if s.can_trace() is None:
        return t.skip("threads are bound before they allocate", s.sys_why())
    log = t.path("binds")
    run = t.command(s.strace(log, "sched_setaffinity,shmget,openat") +
                    t.xdd_words(*"-ioengine psync -op read -reqsize 16 -numreqs 8 -queuedepth 3 -sharedmemory".split(),
                                "-targets", 1, FILE, "-processor", LAST))
    with open(log) as f:
        lines = [line.split(None, 1) for line in f]
    calls = collections.defaultdict(list)
    for tid, call in lines:
        calls[tid].append(re.match(r"(<... )?(\w+)", call).group(2) + (" target" if FILE in call else ""))
    bound = {tid: names for tid, names in calls.items() if "sched_setaffinity" in names}
    t.equal((run.status, len(bound)), (0, 3), "each QThread binds itself", "%s\n%s" % (run, dict(calls)))
    return t.ok(all(names.index("sched_setaffinity") < names.index(later) for names in bound.values()
                    for later in ("shmget", "openat target") if later in names) and
                any("openat target" in names for names in bound.values()) and
                all("shmget" in names for names in bound.values()),
                "threads are bound before they open and allocate", dict(calls))


def test_bad():
    none = max(USABLE) + 1
    wanted = m.PROCESSORS
    cases = [("-processor", value, wanted) for value in
             ("", "x", "1-", "-1", "3-1", "0,", ",0", "0;1", "1.5", "node", "nodex", "node-1", "99999", "0-99999", "0x1")]
    cases += [("-processor", str(none), "processor %d; this process may use: %s" % (none, ALL)),
              ("-processor", "%d,%d" % (FIRST, none), "processor %d; this process may use: %s" % (none, ALL)),
              ("-processor", "8191", "may use: "), ("-processor", "node8191", "is not a NUMA node"),
              ("-singleproc", str(none), "processor %d; this process may use: %s" % (none, ALL)),
              ("-singleproc", "all", m.PROCESSOR),
              ("-singleproc", "%d-%d" % (FIRST, FIRST), m.PROCESSOR),
              ("-singleproc", "node0", m.PROCESSOR),
              ("-roundrobin", "0", "1 to %d, or all" % len(USABLE)),
              ("-roundrobin", str(len(USABLE) + 1), "1 to %d, or all" % len(USABLE)),
              ("-roundrobin", "any", "1 to %d, or all" % len(USABLE)), ("-roundrobin", "2k", "or all")]
    for option, value, pattern in cases:
        new = t.path("not-made")
        run = t.xdd("-op", "write", "-targets", 1, new, "-numreqs", 1, option, value)
        t.equal((run.status, len(run.error_lines()), pattern in run.err, option in run.err, run.out, os.path.exists(new)),
                (2, 1, True, True, "", False), "%s %r is refused" % (option, value), run)
    for option in ("-processor", "-singleproc", "-roundrobin"):
        run = t.xdd("-op", "read", "-targets", 1, FILE, option)
        t.equal((run.status in (2, 3), m.MISSING in run.err), (True, True), option + " without a word is refused",
                run)
    for option in ("-singleproc", "-roundrobin"):
        run = t.xdd("-op", "read", "-targets", 1, FILE, option, "target", 0, 0)
        t.equal((run.status in (2, 3), len(run.error_lines())), (True, 1), option + " is for all targets", run)


if __name__ == "__main__":
    t.run(test_any, test_processor, test_workers, test_running_there, test_targets, test_nodes, test_singleproc, test_roundrobin,
          test_taskset, test_before_buffers, test_bad)
    t.done()
