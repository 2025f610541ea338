#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""
A file that one target of a run creates and another reads (the guide, 5.4): it may be missing before, is opened by the
reader once it is there, and is read in the order that was asked for.
"""
import os
import struct

import messages as m
import xddsys as s
import xddtest as t

# Files of these tests are in memory, which runs that move enough say.
t.tolerate(t.CACHED, m.DIRTY)

if t.ENGINE:
    t.skip_all("this test sets the engine itself")

LIMIT_S = 60
LOCKSTEP = "-lockstep 0 1 op 1 op 1 wait complete".split()
GUIDE = "-op target 0 write -op target 1 read -reqsize 1024 -numreqs 10".split()
_files = 0


def fresh():
    """A name that nothing has."""
    global _files
    _files += 1
    return t.path("foo%d" % _files)


def xdd(*args, **kwargs):
    return t.xdd(*args, timeout=LIMIT_S, **kwargs)


def ops(run, target):
    row = run.row("TARGET_PASS", Target=target) or {}
    return int(row.get("Ops", -1))


def sequence(size):
    return b"".join(struct.pack("<Q", at) for at in range(0, size, 8))


def size_of(file):
    return os.path.getsize(file) if os.path.exists(file) else None


def quiet(run):
    """Done, all of it, and without a word: no file was too short."""
    return run.status == 0 and not run.err


def test_guide():
    foo = fresh()
    run = xdd("-targets", 2, foo, foo, *GUIDE, *LOCKSTEP)
    t.ok(quiet(run) and size_of(foo) == 10 << 20, "the guide's lockstep on a new file", run)
    for words in (["-starttrigger", 0, 1, "op", 5], ["-starttrigger", 0, 1, "percent", 100], ["-starttrigger", 0, 1, "mbytes", 10]):
        foo = fresh()
        run = xdd("-targets", 2, foo, foo, *GUIDE, "-verbose", *words)
        t.ok(run.status in ((0, 6) if 5 in words else (0,)) and ops(run, 0) == 10, " ".join(map(str, words)) + " on a new file", run)
    if s.can_trace() is None:
        return t.skip("the order of operations", s.sys_why())
    for words, wanted in ((LOCKSTEP, "wr" * 10), (["-starttrigger", 0, 1, "percent", 100], "w" * 10 + "r" * 10),
                          ("-lockstep 0 1 op 5 op 2 wait complete".split(), None)):
        foo = fresh()
        run, trace = s.trace("-targets", 2, foo, foo, *GUIDE, *words, timeout=LIMIT_S)
        order = "".join(op.call[1] for op in trace.of(foo))
        good = order == wanted if wanted else order.startswith("wwwww") and order.count("r") == 10
        t.ok(quiet(run) and good and all(op.result == op.size for op in trace.of(foo)), "%s: %s" % (words, order), run)
    return None


def test_names():
    """The same file by other names, the reader first or last."""
    os.mkdir(t.path("dir"))
    os.symlink("dir", t.path("dirlink"))
    for reader, writer in ((0, 1), (1, 0)):
        for title, name in (("the same name", "%s"), ("a name with dots", "../dir/./%s"), ("a directory that is a link", "../dirlink/%s"),
                            ("a link to nothing", "LINK"), ("a link to a link", "LINK LINK")):
            foo = fresh()
            base = os.path.basename(foo)
            other = os.path.join(t.path("dir"), name % base) if "%" in name else fresh()
            if name == "LINK":
                os.symlink(os.path.join("dir", base), other)
            elif name != "LINK" and "%" not in name:
                os.symlink(os.path.join(t.path("dirlink"), base), other + ".2")
                os.symlink(os.path.basename(other) + ".2", other)
            foo = os.path.join(t.path("dir"), base)
            for pair in ((foo, other), (other, foo)):
                run = xdd("-targets", 2, *pair, "-op", "target", reader, "read", "-op", "target", writer, "write", "-reqsize", 4,
                          "-numreqs", 50, "-lockstep", writer, reader, *"op 1 op 1 wait complete".split())
                if t.ok(quiet(run) and size_of(foo) == 204800, "%s, target %d reads" % (title, reader), run):
                    os.unlink(foo)
    wrong = []
    for _ in range(40):
        foo = fresh()
        run = xdd("-targets", 2, foo, foo, *"-op target 0 read -op target 1 write -reqsize 1 -numreqs 4".split(),
                  *"-lockstep 1 0 op 1 op 1 wait complete".split())
        if not quiet(run):
            wrong.append(str(run))
    t.ok(not wrong, "40 times: the reader opens it once the writer has created it", wrong[:2])


def test_engines():
    for engine in [e for e in ("psync", "libaio", "io_uring") if e in t.engines()]:
        for more in ("", "-queuedepth 4", "-dio", "-dio -queuedepth 4 -bytes 100700", "-passes 3", "-passes 2 -reopen", "-syncwrite",
                     "-preallocate 1m", "-pretruncate 300k", "-nobarrier"):
            foo = fresh()
            run = xdd("-targets", 2, foo, foo, *"-op target 0 write -op target 1 read -reqsize 4 -dp sequenced".split(), "-ioengine",
                      engine, *more.split(), *([] if "-bytes" in more else ["-numreqs", 40]), *LOCKSTEP)
            if "-dio" in more and "does not support -dio" in run.err:
                t.skip("%s %s" % (engine, more), "no direct I/O here")
                continue
            run.err = "" if engine != "psync" and "-dio" not in more else run.err
            data = open(foo, "rb").read() if os.path.exists(foo) else b""
            size = 100700 if "-bytes" in more else 163840
            t.ok(quiet(run) and data[:size] == sequence(size + 8)[:size], "%s %s: written, and verified when read" % (engine, more),
                 run)
    run = xdd("-targets", 2, t.path("mapped"), t.path("mapped"), *GUIDE, *LOCKSTEP, *"-ioengine target 1 mmap".split())
    t.equal((run.status, len(run.error_lines()), m.MAPPED_CANNOT_GROW in run.err, os.path.exists(t.path("mapped"))),
            (2, 1, True, False), "mmap cannot read it: refused", run)


def test_amounts():
    """The reader has its own amount, or that of the writer."""
    base = "-op target 0 write -op target 1 read -reqsize 4 -verbose".split()
    for words, counts in (("-numreqs target 0 25", (25, 25)), ("-bytes target 0 50000", (13, 13)),
                          ("-numreqs target 0 25 -numreqs target 1 7", (25, 7)), ("-numreqs 25 -bytes target 1 9000", (25, 25)),
                          ("-numreqs target 0 25 -startoffset 8", (25, 25)), ("-numreqs target 0 25 -startoffset target 1 40", (25, 15)),
                          ("-numreqs target 0 25 -startoffset target 0 40", (25, 35)),
                          ("-numreqs target 0 25 -reqsize target 1 8", (25, 13)), ("-numreqs target 0 10 -seek target 0 interleave 3", (10, 28)),
                          ("-numreqs target 0 10 -passes 2 -passoffset target 0 80", (10, 30))):
        foo = fresh()
        run = xdd("-targets", 2, foo, foo, *base, *words.split(), *"-starttrigger 0 1 percent 100".split())
        found = [int((run.row("TARGET_PASS", Target=n, Pass=1) or {}).get("Ops", -1)) for n in (0, 1)]
        if "passoffset" in words:
            # The data that pass 2 writes does not exist in pass 1.
            t.ok("END-OF-FILE" in run.err, words + ": what is not there yet is an error", run)
            continue
        t.ok(found == list(counts) and quiet(run), "%s: %s operations" % (words, counts), run)
    foo = fresh()
    run = xdd("-targets", 3, foo, foo, foo, *"-op write -op target 2 read -reqsize 4 -numreqs target 0-1 25 -startoffset target 1 100 "
              "-starttrigger 0 1 percent 100 -starttrigger 1 2 percent 100 -verbose".split())
    t.ok(quiet(run) and ops(run, 2) == 50, "two writers: to the end of the last", run)
    foo = fresh()
    run = xdd("-targets", 2, foo, foo, *base, *"-timelimit target 0 0.3".split())
    t.equal((run.status, len(run.error_lines()), "is given no amount of work" in run.err, os.path.exists(foo)),
            (2, 1, True, False), "a writer that only time ends gives no amount", run)
    run = xdd("-targets", 2, foo, foo, *base, *"-timelimit 0.3 -lockstep 0 1 op 1 op 1 wait stop".split())
    t.ok(quiet(run) and ops(run, 0) > 0, "both for a time, the reader no longer than the writer", run)


def test_short():
    """A file that is there, and shorter than it will be."""
    for size in (0, 5000):
        foo = t.make_file("short", size)
        run = xdd("-targets", 2, foo, foo, *GUIDE, *LOCKSTEP)
        t.ok(quiet(run), "a file of %d bytes: it is not called too short" % size, run)
    foo = t.make_file("short", 0)
    run = xdd("-targets", 2, foo, foo, *"-op target 0 write -op target 1 read -reqsize 4 -numreqs target 0 25 -verbose".split(), *LOCKSTEP)
    t.ok(quiet(run) and ops(run, 1) == 25, "an empty file: the amount of the writer", run)
    foo = fresh()
    run = xdd("-targets", 2, foo, foo, *GUIDE, *"-numreqs target 1 12".split(), *LOCKSTEP)
    t.ok(run.status and m.reach_to("12 MiB", "10 MiB") in run.err, "more than is written: said", run)


def test_refused():
    foo, directory = fresh(), t.path("refused")
    os.mkdir(directory)
    for title, words, status, text in (
            ("no target writes it", "-op read", 4, "target 0, FOO: " + m.NO_FILE),
            ("another file is written", "-op target 0 write -op target 1 read -targetdir target 1 refused", 4, "target 1, refused"),
            ("both mix", "-rwratio 50", 4, "target 0, FOO: " + m.NO_FILE),
            ("-createnewfiles", "-op target 0 write -op target 1 read -createnewfiles target 0", 4, "target 1, FOO: " + m.NO_FILE),
            ("-recreatefiles", "-op target 0 write -op target 1 read -recreatefiles target 0", 2, "-recreatefiles: target 1 is the same"),
            ("no such directory", "-op target 0 write -op target 1 read -targetdir nowhere", 4, m.DIRECTORY_MISSING)):
        run = xdd("-targets", 2, os.path.basename(foo), os.path.basename(foo), *"-reqsize 4 -numreqs 4".split(), *words.split(),
                  cwd=t.tmp())
        t.ok(run.status == status and len(run.error_lines()) == 1 and text.replace("FOO", os.path.basename(foo)) in run.err and
             not os.path.exists(foo), title + ": refused, and nothing is created", run)
    run = t.command(["sh", "-c", 'ulimit -n 8 && exec "$@"', "sh"] +
                    t.xdd_words("-targets", 9, foo, *[t.path("many%d" % i) for i in range(7)], foo, "-op", "write", "-op", "target", 0,
                                "read", "-reqsize", 4, "-numreqs", 4), timeout=LIMIT_S)
    t.equal((run.status, os.path.exists(foo)), (2, False),
            "more targets than files that may be open: refused, and nothing is created", run)


def test_more():
    foo = fresh()
    run = xdd("-targets", 2, foo, foo, *GUIDE, *LOCKSTEP, "-deletefile")
    t.ok(quiet(run) and not os.path.exists(foo), "-deletefile", run)
    run = xdd("-targets", 2, foo, foo, *"-op target 0 read -op target 1 write -reqsize 4 -numreqs 100 -maxerrors 3".split())
    t.ok(run.status in (0, 6) and size_of(foo) == 409600 and (run.status == 0 or "END-OF-FILE" in run.err),
         "without an order: what is not there yet is an error", run)
    foo = fresh()
    run = xdd("-targets", 2, foo, foo, *"-op target 0 write -rwratio target 1 100 -reqsize 4 -numreqs 20 -dryrun".split())
    t.equal((run.status, run.err, os.path.exists(foo)), (0, "", False), "-dryrun creates nothing", run)
    foo = fresh()
    run = xdd("-targets", 3, foo, foo, foo, *"-op read -op target 1 write -op target 2 noop -reqsize 4 -numreqs 20".split(),
              *"-lockstep 1 0 op 1 op 1 wait complete".split())
    t.ok(quiet(run), "-op noop of it", run)


t.run_all()
