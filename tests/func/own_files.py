#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""
Open files of the QThreads of one target: each that only reads, and with an engine that is faster for it, has an open
file of its own; seen by strace, and by the limit on descriptors.
"""
import re
import resource

import xddsys as s
import xddtest as t

LIMIT_S = 60
DEPTH = 4
PSYNC = t.ENGINE in ("", "psync")
READ = ["-op", "read", "-reqsize", 4, "-queuedepth", DEPTH]


def again(trace):
    """Openings of what is open already: their flags."""
    return [flags for path, flags in trace.opens if path.startswith("/proc/self/fd/")]


def descriptors(trace, file):
    """{thread: the descriptors it read or wrote through}"""
    used = {}
    for op in trace.of(file):
        used.setdefault(op.pid, set()).add(op.fd)
    return used


def test_own():
    file = t.make_file("data", 8 << 20)
    for words, passes in (([], 1), (["-passes", 2, "-reopen"], 2), (["-ordering", "serial"], 1)):
        run, trace = s.trace(*READ, "-targets", 1, file, "-numreqs", 2000, *words, timeout=LIMIT_S)
        used = descriptors(trace, file)
        t.ok(run.status == 0 and not run.err and len(trace.of(file)) == 2000 * passes,
             "a run of reads %s" % words, run)
        t.equal(len(again(trace)), (DEPTH - 1) * passes if PSYNC else 0,
                "each QThread but the first opens the file once more, each time it is opened %s" % words)
        shared = [fd for pid, fds in used.items() for other, theirs in used.items() if pid < other for fd in fds & theirs]
        # Descriptors have new numbers after -reopen.
        if PSYNC and passes == 1:
            t.ok(not shared and all(len(fds) == 1 for fds in used.values()), "no two read through one %s" % words, used)


def test_two():
    """Two QThreads are enough."""
    file = t.make_file("two", 1 << 20)
    run, trace = s.trace(*READ, "-targets", 1, file, "-numreqs", 200, "-queuedepth", 2, timeout=LIMIT_S)
    t.ok(run.status == 0 and len(again(trace)) == (1 if PSYNC else 0), "of two QThreads one opens the file once more",
         "%s\n%s" % (trace.opens, run))


def test_flags():
    file = t.make_file("flags", 1 << 20)
    run, trace = s.trace(*READ, "-targets", 1, file, "-blocksize", 4096, "-reqsize", 1, "-numreqs", 20, "-dio", timeout=LIMIT_S)
    if run.status == 2 and "-dio" in run.err:
        return t.skip("-dio", "the file system here does not have it")
    t.ok(run.status == 0 and len(again(trace)) == (DEPTH - 1 if PSYNC else 0) and
         all({"O_RDONLY", "O_DIRECT", "O_CLOEXEC"} == set(flags) for flags in again(trace)),
         "-dio: flags are those of the target", "%s\n%s" % (trace.opens, run))


def test_shared():
    file = t.make_file("shared", 1 << 20)
    for what, words in (("one that is written", ["-op", "write"]), ("one that is both", ["-rwratio", 50]),
                        ("one QThread", ["-queuedepth", 1]), ("noop", ["-op", "noop"])):
        run, trace = s.trace(*READ, "-targets", 1, file, "-numreqs", 20, *words, timeout=LIMIT_S)
        t.ok(run.status == 0 and not again(trace), "the file is opened once: " + what, "%s\n%s" % (trace.opens, run))


def limited(soft, hard, *args):
    return t.xdd(*READ, "-targets", 1, t.path("data"), "-numreqs", 300, "-queuedepth", 300, "-verbose", *args,
                 timeout=LIMIT_S, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard)))


def test_limit():
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    line = re.compile(r"^Target 0, open files, (\d+) for 300 QThreads$", re.M)
    for soft, most, wanted in ((64, 600, ["300"]), (64, 200, []), (600, 600, ["300"])):
        if hard not in (-1, resource.RLIM_INFINITY) and hard < most:
            t.skip("a limit of %d descriptors" % most, "the limit here is %d" % hard)
            continue
        run = limited(soft, most)
        row = run.row("COMBINED") or {}
        t.ok(run.status == 0 and row.get("Ops") == "300" and line.findall(run.out) == (wanted if PSYNC else []),
             "-verbose: %s with %d descriptors, %d at most" % ("one for each" if wanted else "one for all", soft, most), run)


def test_many_targets():
    """The soft limit does not restrict targets and engines; the hard limit does, and one line reports it."""
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    offered = t.command([t.XDD, "-ioengine", "list"]).out
    files = [t.path("data")] * 100
    for words, most, wanted in (([], 400, 0), (["-ioengine", "io_uring", "-threads", 2], 600, 0), ([], 64, 2)):
        title = "100 targets %s with 64 descriptors, %d at most" % (words, most)
        if hard not in (-1, resource.RLIM_INFINITY) and hard < most or words and not re.search("^io_uring +yes", offered, re.M):
            t.skip(title, "the limit here is %d, or there is no io_uring" % hard)
            continue
        run = t.xdd(*READ, "-targets", len(files), *files, "-numreqs", 4, *words, timeout=LIMIT_S,
                    preexec_fn=lambda most=most: resource.setrlimit(resource.RLIMIT_NOFILE, (64, most)))
        t.equal((run.status, len(run.error_lines()), "open files" in run.err), (wanted, wanted != 0, wanted != 0),
                title, run)


if s.can_trace():
    t.run(test_own, test_two, test_flags, test_shared)
else:
    t.make_file("data", 8 << 20)
    t.skip("openings", s.sys_why())
t.run(test_limit, test_many_targets)
t.done()
