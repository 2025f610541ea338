#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""
-recreatefiles with several targets of one file: it is recreated once for each pass, when all targets have closed it and before
any opens it; in runs and in sweeps, with errors and signals between passes.
"""
import json
import os
import signal

import messages as m
import xddsys as s
import xddtest as t
from xddfiles import calls, of, one_error

PART = 1 << 20
PATTERN = ["-datapattern", "sequenced"]


def words(file, n, *more):
    """Each of `n` targets writes its own part."""
    return ["-op", "write", "-targets", -n, file, "-targetoffset", 1, "-blocksize", PART, "-reqsize", 1, "-bytes", PART, *more]


def check_calls(title, found, file, n, again):
    """It is created `again` times over the file that was there: each time once no target has it open."""
    open_now, removed = 0, 0
    for call in of(found, file, "openat", "close", "unlink"):
        if call[0] == "unlink":
            t.ok(open_now == 0, "%s: no target has it open when it is removed" % title, call)
            removed += 1
        else:
            open_now += 1 if call[0] == "openat" else -1
    created = [c for c in found if c[1] == file and c[0] == "openat" and "O_EXCL" in c[3] and c[2] >= 0]
    t.equal((removed, len(created)), (again, again), "%s: it is created once for each pass" % title)


def test_once():
    if not s.can_trace():
        return t.skip("-recreatefiles of one file", s.sys_why())
    for n, passes, more in ((4, 3, []), (4, 3, ["-nobarrier"]), (2, 5, ["-queuedepth", 2]), (3, 2, ["-pretruncate", 0, "-preallocate", PART])):
        file, title = t.make_file("once", 10 * PART), "%d targets, %s" % (n, " ".join(str(w) for w in more) or "psync")
        run, rows, found = calls(*words(file, n, "-passes", passes, "-recreatefiles", *more), only=file)
        t.ok(run.status == 0, title, run)
        # O_EXCL opens and closes are not looked at by of(): only the closes need their partner.
        found = [c for i, c in enumerate(found) if c[0] != "close" or not i or "O_EXCL" not in found[i - 1][3]]
        check_calls(title, found, file, n, passes)
        t.equal(os.path.getsize(file), n * PART, "%s: the parts of all targets are in it" % title)
        t.equal(len([r for r in rows if r["WHAT"] == "TARGET_PASS" and float(r["OPENTIME"]) > 0]), n * passes,
                "%s: each target and pass has its time of opening" % title)
    file = t.path("absent")
    run, _, found = calls(*words(file, 4, "-passes", 3, "-recreatefiles"), only=file)
    t.equal((run.status, len([c for c in found if c[0] == "unlink"]), os.path.getsize(file)), (0, 2, 4 * PART),
            "a file that is not there: removed between passes only")


def test_contents():
    """A target that is slow, or has done less: no write of a pass goes to the file of the one before."""
    file = t.path("contents")
    for more in ([], ["-nobarrier"]):
        for passes in (2, 7, 100):
            run = t.xdd("-op", "write", "-targets", -3, file, "-targetoffset", 4, "-blocksize", 4096, "-reqsize", 1, "-numreqs", 4,
                        "-throttle", "target", 1, "ops", 400 * passes, "-passes", passes, "-recreatefiles", *PATTERN, *more)
            title = "%d passes %s" % (passes, " ".join(more))
            t.ok(run.status == 0, title, run)
            run = t.xdd("-op", "read", "-target", file, "-blocksize", 4096, "-reqsize", 1, "-numreqs", 12, *PATTERN, "-verify", "contents")
            t.equal((run.status, os.path.getsize(file)), (0, 12 * 4096), "%s: all parts are there" % title, run)
    run = t.xdd("-op", "write", "-targets", -3, file, "-targetoffset", 4, "-blocksize", 4096, "-reqsize", 1, "-numreqs", 4, "-passes", 1000000,
                "-recreatefiles", "-runtime", "0.02", warns=m.FEWER_PASSES_RUN)
    t.ok(run.status == 0, "-runtime ends it", run)


def test_refused():
    file = t.make_file("refused", PART)
    other = t.path("refused.link")
    os.link(file, other)
    before = os.stat(file).st_ino
    for more, why in ((["-targets", 2, file, file, "-recreatefiles", "target", 1], "is the same file; recreate it by both of them or by none"),
                      (["-targets", 2, file, other, "-recreatefiles"], "is the same file by another name"),
                      (["-targets", 2, file, file, "-createnewfiles"], "is the same file")):
        run = t.xdd("-op", "write", "-reqsize", 4, "-numreqs", 2, *more)
        t.ok(one_error(run, 2, "target 1 " + why) and os.stat(file).st_ino == before, why, run)


def test_failures():
    """A failure between passes ends the run, and no target waits for ever."""
    if not s.can_trace():
        return t.skip("errors between passes", s.sys_why())
    file = t.path("failing")
    for inject in ("unlink:error=EIO:when=2", "openat:error=EACCES:when=12+"):
        for more in ([], ["-nobarrier"]):
            t.make_file("failing", PART)
            run, _, _ = calls(*words(file, 4, "-passes", 9, "-recreatefiles", *more), only=file, inject=[inject], timeout=30)
            t.ok(run.status in (4, 6) and run.error_lines(), "%s %s" % (inject, " ".join(more)), run)
    for number in (signal.SIGINT, signal.SIGTERM):
        # The others have closed the file, and wait for target 0.
        run = t.xdd("-op", "write", "-targets", 3, file, file, file, "-reqsize", 4, "-bytes", 4 * PART, "-throttle", "target", 0, "ops", 1,
                    "-passes", 3, "-recreatefiles", at={0.5: number}, step=0)
        t.equal((run.status, run.seconds), (5, 0.5), "a signal while targets wait for each other", run)


def test_sweep():
    """Shared against separate files, from fresh files in each round."""
    shared, parts, document = t.path("shared"), t.path("part.%d"), t.path("shapes.json")
    log = t.path("sweep.log")
    run = t.command((s.strace(log, "unlink,unlinkat") if s.can_trace() else []) +
                    [t.XDD, "sweep", "-rounds", "3", "-op", "write", "-vary", "targets=|-4 %s -blockperrank 1M|4 %s" % (shared, parts),
                     "-reqsize", "64k,1M", "-bytes", "1M", "-restore", "recreate", "-jsonout", document])
    t.equal(run.status, 0, "a sweep of shared and separate files", run)
    with open(document, encoding="utf-8") as f:
        doc = json.load(f)
    t.equal([(p["status"], len(p["rounds"])) for p in doc["points"]], [(0, 3)] * 4, "each round of each point")
    t.equal((os.path.getsize(shared), [os.path.getsize(parts % i) for i in range(4)]), (4 * PART, [PART] * 4), "what is written")
    if s.can_trace():
        gone = [text for _, text in s.calls_of(log) if text.endswith("= 0")]
        t.equal((len([g for g in gone if shared in g]), len([g for g in gone if parts[:-2] in g])), (5, 20),
                "each file is a new one in each run but the first")


t.run_all()
