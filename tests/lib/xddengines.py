# SPDX-License-Identifier: GPL-2.0-or-later
"""Helpers for the tests of engines: a plan is run with each of them, and must give what psync gives."""
import hashlib
import os
import re
import messages as m
import xddtest as t

QUEUED = ("libaio", "io_uring")
ENGINES = [engine for engine in ("psync", *QUEUED) if engine in t.engines()]
KIB = 1024
COLUMNS = "+WHAT+PASS+TARGET+QUEUE+OPS+READOPS+WRITEOPS+BYTESXFERED+BYTESREAD+BYTESWRITTEN+ERRORS"


def absent(title):
    """Say SKIP for the engines that are not there."""
    for engine in QUEUED:
        if engine not in ENGINES:
            t.skip("%s: %s" % (engine, title), "this build or this kernel has no " + engine)


FAILURE = re.compile(m.FAILURE, re.M)
COUNTS = ("OPS", "READOPS", "WRITEOPS", "BYTESXFERED", "BYTESREAD", "BYTESWRITTEN", "ERRORS")


def failures_of(run):
    """Failed operations, without QThread and name: (target, direction, bytes, offset, operation, pass, reason, done)."""
    return [f[:1] + f[2:5] + f[6:] for f in FAILURE.findall(run.err)]


def outcome(run, rows):
    """The part of a result that must be the same whatever the engine."""
    lines = [tuple(r[k] for k in ("WHAT", "PASS", "TARGET") + COUNTS) for r in rows if r["WHAT"] != "QUEUE_PASS"]
    queues = [sum(int(r[k]) for r in rows if r["WHAT"] == "QUEUE_PASS") for k in COUNTS]
    others = [line for line in run.error_lines() if not FAILURE.match(line)]
    # Of those that others follow the first is shown, whichever that is.
    failures = [(f[0], f[1], f[6]) if f[6] in ("END-OF-FILE", "No space left on device") else f
                for f in failures_of(run)]
    return {"status": run.status, "failures": sorted(failures), "rows": lines, "queues": queues,
            "other lines": others}


def digest(files):
    """The checksums of these files."""
    result = []
    for file in files:
        with open(file, "rb") as f:
            result.append(hashlib.sha256(f.read()).hexdigest())
    return result


def execute(engine, args, timeout=t.TIMEOUT):
    """Run with all lines; returns the run and its rows."""
    return t.xdd_csv("-ioengine", *engine.split(), *args, "-verbose", "-qthreadinfo", "-maxerrorstoprint", 1000,
                     "-outputformat", "new", COLUMNS, timeout=timeout)


def restore(contents):
    for file, data in contents.items():
        with open(file, "wb") as f:
            f.write(data)
        os.utime(file)


def same(title, args, engines, contents=None, status=0):
    """
    Run the plan with psync and with each of the engines ("name keyword ..."); `contents` is what files hold
    before each run, and they are compared after it.
    """
    contents = contents or {}
    wanted = None
    for engine in ["psync"] + [e for e in engines if e.split()[0] in ENGINES or e.split()[0] not in QUEUED]:
        restore(contents)
        run, rows = execute(engine, args)
        got = outcome(run, rows)
        got["contents"] = digest(contents)
        if wanted is None:
            t.ok(run.status == status and rows, "%s: psync" % title, run)
            wanted = got
            continue
        different = [k for k in wanted if got[k] != wanted[k]]
        t.ok(not different, "%s: %s does what psync does" % (title, engine),
             "".join("%s:\n got    %s\n wanted %s\n" % (k, got[k], wanted[k]) for k in different) + str(run))


def dio_works(file):
    return t.xdd("-op", "read", "-targets", 1, file, "-dio", "-reqsize", 4, "-numreqs", 1).status == 0


BOTH = ["libaio", "io_uring"]
BATCHES = ["libaio batch 8", "libaio batch 200", "io_uring batch 1", "io_uring batch 8", "io_uring batch 200"]
KEYWORDS = ["io_uring fixedbufs", "io_uring fixedfiles", "io_uring sqpoll", "io_uring sqpoll fixedbufs fixedfiles batch 4"]
STREAMS = ["stdio", "stdio bufsize 64k", "stdio unbuffered"]
