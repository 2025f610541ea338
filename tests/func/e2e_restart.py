#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""
-restart: a copy that is killed at any moment and resumed ends with an identical file, and sends again what was not
durable only; copies that cannot be resumed are refused, and nothing is written.
"""
import os
import random
import re
import signal
import time

import messages as m
import xdde2e as e
import xddports
import xddsys as s
import xddtest as t
from xddresume import CTIME, OPS, PLAN, REMEDY, REQUEST, SIZE, Resumable, fresh, sent, source

LONG = os.environ.get("XDD_TEST_LONG") == "1"
CANNOT_FLUSH = "-restart: cannot flush the target: Input/output error"
NO_MORE = m.warning(m.ANY_TARGET, CANNOT_FLUSH + "; no more is recorded")


def resumes(r, description):
    """Start the copy once more: it sends what is missing in the restart file."""
    missing = OPS - len(r.record().ops)
    copy = r.copy().run()
    t.equal((copy.statuses(), copy.statuses() == (0, 0) and copy.same(), sent(copy)), ((0, 0), True, missing),
            "%s: resumed, the files are equal, and %d operations were sent" % (description, missing), copy)
    t.equal(r.record().lines[:2], ["# The copy is complete.", "# %d bytes written to file %s" % (SIZE, r.destination)],
            "%s: the restart file says so" % description, r.record().lines)


def test_kills():
    rounds = 100 if LONG else 6
    for i in range(rounds):
        r = Resumable(ports=random.choice((1, 2, 5)))
        copy = r.slow().start()
        delay = random.uniform(0, 0.7)
        victim = random.choice((copy.source, copy.destination))
        time.sleep(delay)
        victim.signal(signal.SIGKILL)
        copy.finish()
        other = copy.source if victim is copy.destination else copy.destination
        what = "round %d, the %s is killed after %.3f s" % (i, victim.name, delay)
        t.ok(other.run.status in (0, 4, 6) and other.seconds < 30, what + ": the other ends with a status of its own", copy)
        resumes(r, what)


def test_kill_again():
    r = Resumable()
    for ops in (30, 80, 130):
        r.interrupt(ops)
    t.ok(len(r.record().ops) >= 130, "three sessions add to one restart file", r.record().lines)
    resumes(r, "the fourth")


def test_engines():
    for engine in ("psync", "libaio", "io_uring"):
        if engine not in t.engines():
            t.skip(engine, "not here")
            continue
        for words in ([], ["-dio"], ["-ordering", "storage", "serial"]):
            r = Resumable(["-ioengine", engine, *words])
            r.interrupt()
            resumes(r, " ".join([engine, *words]))


def test_signals():
    r = Resumable()
    copy = r.interrupt(sig=signal.SIGINT)
    t.equal(copy.statuses(), (6, 5), "SIGINT ends the destination with 5, the source with 6", copy)
    durable = len(r.record().ops)
    written = copy.destination.run.row("COMBINED")
    t.equal(durable, int(written["Ops"]) if written else -1, "all that was written is recorded at the end", copy)
    resumes(r, "after SIGINT")


def test_first_line():
    r = Resumable()
    r.interrupt()
    record = r.record()
    first = min(set(range(OPS + 1)) - record.ops)
    t.equal(record.lines[0], "-restart offset %d" % (first * REQUEST), "the first line is the first missing byte")
    t.equal([line for line in record.lines[1:] if not line.startswith("# ")], [], "all others are comments")
    copy = e.Copy(r.source, r.destination, ["-setup", r.file, *PLAN], ports=3,
                  writes=["-restart", "file", fresh("restart")]).run()
    t.equal((copy.statuses(), copy.same(), sent(copy)), ((0, 0), True, OPS - first),
            "as a setup file on both sides it copies the rest", copy)


def test_setup_with_file():
    r = Resumable()
    r.interrupt()
    missing = OPS - len(r.record().ops)
    copy = e.Copy(r.source, r.destination, ["-setup", r.file, *PLAN], ports=3, writes=["-restart", "file", r.file]).run()
    t.equal((copy.statuses(), copy.same(), sent(copy)), ((0, 0), True, missing),
            "as a setup file and as the restart file it copies the same", copy)


def test_offset_of_one_side():
    r = Resumable()
    for side in ("reads", "writes"):
        copy = r.copy(**{side: ["-restart", "offset", REQUEST]}).run()
        text = "the source leaves out %d bytes, the destination %d: give both the same -restart offset" % (
            (REQUEST, 0) if side == "reads" else (0, REQUEST))
        for end in (copy.source, copy.destination):
            t.ok(text in end.run.err, "-restart offset among the words of one side, %s: the %s says so" % (side, end.name), copy)
        t.equal((copy.statuses(), os.path.exists(r.destination)), ((4, 4), False), "nothing is written", copy)


def refused(r, problem, what):
    """Neither side starts, both say why, and nothing changes."""
    before = {name: (open(name, "rb").read(), os.stat(name).st_mtime_ns)
              for name in (r.destination, r.file) if os.path.exists(name)}
    copy = r.copy().run()
    text = "restart file %s: %s" % (r.file, problem)
    for side in (copy.source, copy.destination):
        t.ok(text in side.run.err and REMEDY in side.run.err, "%s: the %s says what differs, and what to do" % (what, side.name),
             "expected %s\n%s" % (text, copy))
    after = {name: (open(name, "rb").read(), os.stat(name).st_mtime_ns)
             for name in (r.destination, r.file) if os.path.exists(name)}
    t.ok(copy.statuses() == (4, 4) and before == after, what + ": status 4 on both sides, and nothing changed", copy)


def test_changed_source():
    r = Resumable()
    r.interrupt()
    was = os.stat(r.source)
    os.utime(r.source, ns=(was.st_atime_ns, was.st_mtime_ns + 5))
    refused(r, "the time of the last change of the source, in ns, was %d, and is %d now" % (
        was.st_mtime_ns, was.st_mtime_ns + 5), "a source that was touched")
    with open(r.source, "ab") as f:
        f.write(b"more")
    os.utime(r.source, ns=(was.st_atime_ns, was.st_mtime_ns))
    refused(r, "the size of the source in bytes was %d, and is %d now" % (SIZE, SIZE + 4), "a source that has grown")
    os.truncate(r.source, SIZE)
    os.utime(r.source, ns=(was.st_atime_ns, was.st_mtime_ns))
    other = fresh("source")
    with open(other, "wb") as f:
        f.write(bytes(SIZE))
    os.utime(other, ns=(was.st_atime_ns, was.st_mtime_ns))
    kept = r.source + ".kept"
    os.rename(r.source, kept)
    os.rename(other, r.source)
    refused(r, "the inode number of the source was %d, and is %d now" % (was.st_ino, os.stat(r.source).st_ino),
            "a source that was replaced")
    os.rename(kept, r.source)
    refused(r, CTIME, "a source whose name was changed, and changed back")


def test_other_plan():
    r = Resumable()
    r.interrupt()
    r.both = ["-blocksize", REQUEST // 2, "-reqsize", 1, "-e2e", "timeout", 10]
    refused(r, "the request size in bytes was %d, and is %d now" % (REQUEST, REQUEST // 2), "another request size")
    r.both = [*PLAN, "-startoffset", 1]
    refused(r, "the start offset in the source was 0, and is %d now" % REQUEST, "another start offset")
    r.both = PLAN
    r.kwargs["reads"] = ["-seek", "interleave", "2"]
    copy = r.copy().run()
    t.ok("-seek" in copy.source.run.err and copy.statuses()[0] != 0, "another order of the source is refused", copy)


def test_other_destination():
    r = Resumable()
    r.interrupt()
    kept = r.destination + ".kept"
    os.rename(r.destination, kept)
    with open(kept, "rb") as f, open(r.destination, "wb") as g:
        g.write(f.read())
    refused(r, "the inode number of the destination was %d" % os.stat(kept).st_ino, "a copy of the destination")
    os.unlink(r.destination)
    refused(r, "the destination cannot be examined (No such file or directory)", "a destination that is gone")
    os.rename(kept, r.destination)
    os.truncate(r.destination, REQUEST)
    refused(r, "the destination has %d bytes now" % REQUEST, "a destination that was cut")


def test_bad_files():
    r = Resumable()
    r.interrupt()
    with open(r.file, "rb") as f:
        text = f.read()
    for what, bad, problem in (
            ("a flipped bit", text.replace(b"# bytes ", b"# bytet "), "line 22: expected "),
            ("another digit", text.replace(b"# durable-end ", b"# durable-end 1"), "line "),
            ("half of it", text[:len(text) // 2], "line "),
            ("a NUL", text[:50] + b"\0" + text[51:], "line 1: is not from a restart file of xdd"),
            ("another version", text.replace(b"version 2", b"version 3"), "line 2: is of version 3"),
            ("a letter", b"precious\n", "line 1: is not from a restart file of xdd")):
        with open(r.file, "wb") as f:
            f.write(bad)
        side = e.Side("destination", ["-targets", 1, r.destination, *PLAN, "-e2e", "isdestination", "-e2e", "destination",
                                      "127.0.0.1:%d" % xddports.free_ports(1), "-restart", "file", r.file]).start()
        run = side.finish(20)
        t.ok(run.status == 4 and "restart file %s: %s" % (r.file, problem) in run.err and REMEDY in run.err,
             "a restart file with %s: refused before a source comes, with its line" % what, run)
    with open(r.file, "wb") as f:
        f.write(text)
    resumes(r, "with the restart file as it was")
    with open(r.file, "wb"):
        pass
    copy = r.copy().run()
    t.equal((copy.statuses(), sent(copy)), ((0, 0), OPS), "an empty restart file counts as none", copy)


def test_complete():
    r = Resumable()
    copy = r.copy().run()
    t.equal((copy.statuses(), copy.same(), sent(copy)), ((0, 0), True, OPS), "a copy at full speed", copy)
    lines = r.record().lines
    t.equal([line for line in lines if not line.startswith("# ")], [], "its restart file has comments only", lines)
    run = t.xdd("-setup", r.file, "-targets", 1, r.source, "-op", "read", *PLAN[:4], "-dryrun")
    t.equal(run.status, 0, "and does nothing as a setup file", run)
    copy = r.copy().run()
    t.equal((copy.statuses(), copy.same(), sent(copy)), ((0, 0), True, 0), "the same copy again has nothing to do", copy)
    t.ok("nothing is copied" in copy.destination.run.err, "and says so", copy)
    with open(r.destination, "r+b") as f:
        f.write(b"other")
    copy = r.copy().run()
    t.equal((copy.statuses(), copy.same(), sent(copy)), ((0, 0), True, OPS), "a destination that was changed is copied again", copy)
    with open(r.source, "r+b") as f:
        f.write(b"other")
    copy = r.copy().run()
    t.equal((copy.statuses(), copy.same(), sent(copy)), ((0, 0), True, OPS), "and so is a source that was changed", copy)


def test_sizes():
    for size in (0, 1, REQUEST, REQUEST + 1):
        r = Resumable(size=size)
        copy = r.copy().run()
        t.equal((copy.statuses(), copy.same(), r.record().lines[:1]), ((0, 0), True, ["# The copy is complete."]),
                "%d bytes" % size, copy)


def test_frequency():
    r = Resumable(frequency=0.1)
    copy = r.slow().start()
    seen = {}
    while copy.source.process.poll() is None:
        try:
            st = os.stat(r.file)
            seen.setdefault((st.st_ino, st.st_mtime_ns), time.monotonic())
        except FileNotFoundError:
            pass
        time.sleep(0.002)
    copy.finish()
    cost = re.search(r"^End-to-end, target 0, restart monitor: (\d+) flushes in \d+\.\d+ s, (\d+) records in \d+\.\d+ s$",
                     copy.destination.run.out, re.M)
    t.ok(cost and cost.group(1) == cost.group(2), "the cost of the monitor is printed", copy)
    t.ok("restart monitor" not in copy.source.run.out, "the source has none", copy)
    times = sorted(seen.values())
    took = times[-1] - times[0]
    t.ok(copy.statuses() == (0, 0) and 3 <= len(times) <= 4 + took / 0.1 and cost and len(times) <= int(cost.group(2)),
         "the restart file is written every 0.1 s, and at both ends", "%s\n%s" % (times, copy))


def test_no_flush_without_writes():
    r = Resumable(frequency=0.05)
    log = fresh("strace")
    if not s.can_trace():
        t.skip("nothing is flushed while nothing is written", s.sys_why())
        return
    # One operation each 0.5 s: four operations, 2 s, 40 beats.
    r.source = source(4 * REQUEST)
    r.kwargs["prefix_destination"] = s.strace(log, "fdatasync,rename")
    copy = r.copy(reads=["-throttle", "ops", 2]).run()
    with open(log) as f:
        text = f.read()
    flushes, renames = text.count("fdatasync("), text.count("rename(")
    t.ok(copy.statuses() == (0, 0) and 3 <= flushes <= 6 and renames == flushes,
         "nothing is flushed while nothing is written", "%d flushes, %d records\n%s" % (flushes, renames, copy))


def test_flush_fails():
    if not s.can_trace():
        t.skip("a flush that fails", s.sys_why())
        return
    r = Resumable()
    # The first flush of each thread succeeds: that before any write, and one of the monitor.
    r.kwargs["prefix_destination"] = s.strace("/dev/null", "fdatasync", "-e", "inject=fdatasync:error=EIO:when=2+")
    r.kwargs["warns_destination"] = [NO_MORE]
    copy = r.steady().run()
    t.equal(copy.statuses(), (6, 6), "a flush that fails: status 6 on both sides", copy)
    for side in (copy.source, copy.destination):
        t.ok(CANNOT_FLUSH in side.run.err, "the %s says why" % side.name, copy)
    t.ok(len(r.record().ops) < OPS, "no more is recorded", r.record().lines)
    r.kwargs.clear()
    resumes(r, "after a flush that failed")


def test_default_name():
    r = Resumable()
    where = fresh("directory")
    os.mkdir(where)
    copy = e.Copy(r.source, r.destination, PLAN, ports=2, writes=["-restart", "enable"],
                  prefix_destination=["env", "-C", where]).run()
    names = os.listdir(where)
    host = os.uname().nodename
    beginning = ".".join(["xdd", host, os.path.basename(r.source), host, os.path.basename(r.destination), ""])
    t.ok(copy.statuses() == (0, 0) and len(names) == 1 and names[0].startswith(beginning) and
         names[0].endswith("-GMT.rst"), "the default name has hosts, files and time", "%s\n%s" % (names, copy))
    t.ok(names and names[0] in copy.destination.run.err, "and is reported", copy)


def test_cannot_write():
    r = Resumable()
    r.file = t.path("nowhere/file")
    copy = r.copy()
    run = copy.destination.start().finish(20)
    t.ok(run.status != 0 and "-restart file" in run.err and not os.path.exists(r.destination),
         "a restart file that cannot be written: refused before anything is opened", run)


if __name__ == "__main__":
    t.run_together(test_kills, test_kill_again, test_engines, test_signals, test_first_line, test_setup_with_file,
                   test_offset_of_one_side, test_changed_source, test_other_plan, test_other_destination, test_bad_files,
                   test_complete, test_sizes, test_frequency, test_no_flush_without_writes, test_flush_fails,
                   test_default_name, test_cannot_write)
    t.done()
