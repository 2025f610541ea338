#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""
Operations on the data of files besides reads and writes: allocate, truncate and flush; slow operations, and operations
that are retried. files.py is about the files themselves.
"""
import errno
import os
import re

import messages as m
import xddhold
import xddjson
import xddsys as s
import xddtest as t
from xddfiles import WRITE, calls, of, one_error, passes, run_rows, total

# The slow files of these tests are in memory.
t.tolerate(t.CACHED)


# Space and size


def test_preallocate():
    directory = s.ext4("ext", 64 << 20)
    if directory is None:
        return t.skip("-preallocate", s.sys_why())
    file = os.path.join(directory, "file")
    for words in ([], ["-passes", 2, "-recreatefiles"], ["-dio"]):
        run = t.xdd(*WRITE, "-targets", 1, file, "-preallocate", "16m", *words)
        st = os.stat(file)
        t.equal((run.status, st.st_size, st.st_blocks * 512 >= 16 << 20), (0, 32768, True),
                "-preallocate: the space is there, the size that of what was written" + " %s" % words, (run, st))
        os.unlink(file)
    run = t.xdd(*WRITE, "-targets", 1, file, "-preallocate", "1g")
    t.ok(one_error(run, 4, file + ": -preallocate: " + m.NO_SPACE) and not os.path.exists(file),
         "-preallocate: more than there is", run)
    with open(file, "wb") as f:
        f.write(bytes(32768))
    run = t.xdd("-op", "read", *"-reqsize 4 -numreqs 8 -preallocate 16m -pretruncate 1m".split(), "-targets", 1, file)
    st = os.stat(file)
    t.equal((run.status, run.err, st.st_size, st.st_blocks * 512 < 1 << 20), (0, "", 32768, True),
            "-preallocate, -pretruncate: nothing is done to what is read", run)
    device = s.loop_device(s.sparse_file("blank.img", 1 << 20))
    run = t.xdd(*WRITE, "-targets", 1, device, "-preallocate", "16m", "-pretruncate", "4k")
    t.equal((run.status, run.err), (0, ""), "-preallocate, -pretruncate: nor to devices", run)
    old = s.loop_device(s.sparse_file("ext2.img", 16 << 20))
    os.mkdir(t.path("ext2"))
    if s._admin("mkfs.ext4", "-q", "-F", "-O", "^extents,^64bit", old) is None or \
            s._admin("mount", "-t", "ext4", old, t.path("ext2")) is None:
        return t.skip("a file system that cannot allocate", s.sys_why())
    s._mounted(t.path("ext2"))
    run, rows = run_rows(*WRITE, *"-preallocate 1m -passes 3 -recreatefiles -targets 1".split(), t.path("ext2/file"),
                         warns="-preallocate: ")
    return t.ok(one_error(run, 0, "warning", "-preallocate") and passes(rows, "OPS") == [8, 8, 8],
                "-preallocate where the file system cannot: a warning, once", run)


def test_preallocate_guide():
    """The example of the XDD User Guide, 4.12, step by step, on the file systems that it is about."""
    for kind, directory in (("XFS", s.xfs("guide.xfs")), ("ext4", s.ext4("guide.ext4", 128 << 20))):
        if directory is None:
            t.skip("-preallocate, the example of the guide, " + kind, s.sys_why())
            continue
        file = os.path.join(directory, "file")
        wanted = bytearray(36 << 10)
        for words, pattern, at, size, space in (
                ("-reqsize 8 -numreqs 1 -preallocate 16m", b"a", 0, 8, 16),
                ("-reqsize 4 -numreqs 1 -startoffset 32 -preallocate 64m", b"b", 32, 4, 64),
                ("-reqsize 8 -numreqs 3 -startoffset 8", b"c", 8, 24, 64)):
            run = t.xdd("-op", "write", "-targets", 1, file, "-dio", *words.split(), "-datapattern", pattern.decode())
            end = os.stat(file).st_size
            wanted[at << 10:(at + size) << 10] = pattern * (size << 10)
            with open(file, "rb") as f:
                t.ok(run.status == 0 and not run.err and f.read() == bytes(wanted[:end]) and
                     end == (8 << 10 if at == 0 else 36 << 10) and
                     space <= os.stat(file).st_blocks * 512 >> 20 < space + 2,
                     "the example of the guide, %s: %s" % (kind, words),
                     "%s\n%s" % (run, os.stat(file)))


def test_pretruncate():
    file = t.make_file("cut", 100000)
    if s.can_trace():
        run, _, found = calls(*WRITE, "-targets", 1, file, "-pretruncate", 0, "-numreqs", 1, only=file)
        calls_wanted = ["openat", "ftruncate"] + (["pwrite64"] if not t.ENGINE else [])
        t.equal([c[0] for c in of(found, file, "openat", "ftruncate", "pwrite64")], calls_wanted,
                "-pretruncate 0: the file is emptied before the first write")
    else:
        t.xdd(*WRITE, "-targets", 1, file, "-pretruncate", 0, "-numreqs", 1)
    t.equal(os.path.getsize(file), 4096, "-pretruncate 0: the file has what was written")
    for before, after in ((100000, 40000), (1000, 123456)):
        file = t.make_file("cut", before)
        run = t.xdd(*WRITE, "-targets", 1, file, "-pretruncate", after)
        t.ok(run.status == 0 and os.path.getsize(file) == after, "-pretruncate %d of %d bytes" % (after, before), run)
    if s.can_trace():
        file = t.make_file("fails", 4096)
        for when, status in ((1, 4), (2, 6)):
            run, _, _ = calls(*WRITE, *"-passes 2 -reopen -pretruncate 1m -preallocate 1m -targets 1".split(), file,
                              only=file, inject=["ftruncate:error=EIO:when=%d" % when])
            t.ok(one_error(run, status, file + ": -pretruncate: Input/output error"),
                 "-pretruncate that fails, pass %d" % when, run)
    file = t.make_file("mixed", 4096)
    run = t.xdd(*"-op read -rwratio 50 -reqsize 4 -numreqs 8 -pretruncate 32k".split(), "-targets", 1, file)
    t.ok(run.status == 0 and not run.err and os.path.getsize(file) == 32768,
         "-pretruncate: what is read and written grows to it before the first operation", run)
    files = [t.make_file("kept.%d" % i, 50000) for i in range(60)]
    run = t.command(["sh", "-c", 'ulimit -n 40 && exec "$@"', "sh"] +
                    t.xdd_words(*WRITE, "-targets", len(files), *files, "-pretruncate", "4k"))
    t.ok(run.status == 2 and {os.path.getsize(f) for f in files} == {50000},
         "-pretruncate: nothing is cut off when not all targets can be opened", run.err)
    files = [t.path("new.%d" % i) for i in range(60)]
    run = t.command(["sh", "-c", 'ulimit -n 40 && exec "$@"', "sh"] +
                    t.xdd_words(*WRITE, "-targets", len(files), *files, "-pretruncate", "4k"))
    t.ok(run.status == 2 and not [f for f in files if os.path.exists(f)], "and nothing is left behind", run.err)


# Flushes


def test_flushwrite():
    if not s.can_trace():
        return t.skip("-flushwrite", s.sys_why())
    file = t.path("flushed")
    for n, depth, reqs in ((1, 1, 8), (3, 1, 20), (3, 4, 20), (16, 4, 20), (5, 8, 20), (21, 4, 20)):
        title = "-flushwrite %d, depth %d" % (n, depth)
        run, rows, found = calls(*"-op write -reqsize 4 -passes 2".split(), "-numreqs", reqs, "-queuedepth", depth,
                                 "-targets", 1, file, "-flushwrite", n)
        t.ok(run.status == 0 and passes(rows, "OPS") == [reqs] * 2, title, run)
        t.equal(len(of(found, file, "fdatasync")), 2 * (reqs // n), title + ": so many flushes")
        t.ok([x > 0 for x in passes(rows, "BUFFERFLUSHTIME")] == [reqs >= n] * 2, title + ": their time is shown", rows)
        if depth == 1 and not t.ENGINE:
            t.equal([i for i, c in enumerate(of(found, file, "fdatasync", "pwrite64")) if c[0] == "fdatasync"],
                    [p * (reqs + reqs // n) + (k + 1) * n + k for p in (0, 1) for k in range(reqs // n)],
                    title + ": each after so many writes")
    for n, depth, reqs in ((1, 1, 8), (4, 1, 20), (5, 4, 20), (20, 4, 20), (3, 4, 20)):
        run, rows, found = calls(*"-op write -reqsize 4 -passes 2".split(), "-numreqs", reqs, "-queuedepth", depth,
                                 "-targets", 1, file, "-flushwrite", n, "-flushbetween")
        t.equal((run.status, len(of(found, file, "fdatasync"))), (0, 2 * ((reqs - 1) // n)),
                "-flushwrite %d -flushbetween, depth %d: no flush after the last write of a pass" % (n, depth), run)
    for words, why in (("-flushbetween", "there is no -flushwrite <#writes>"),
                       ("-flushwrite 4 -flushbetween -rwratio 50", "the target reads too; say -op write")):
        run = t.xdd("-targets", 1, file, *"-op write -reqsize 4 -numreqs 20".split(), *words.split())
        t.equal((run.status, run.error_lines()), (2, ["xdd: target 0, %s: -flushbetween: %s" % (file, why)]),
                words + ": refused", run)
    run, rows, found = calls(*"-op read -reqsize 4 -numreqs 20 -flushwrite 2 -rwratio 50".split(), "-targets", 1, file)
    t.equal(len(of(found, file, "fdatasync")), 5, "-flushwrite: reads do not count")
    run, rows, found = calls(*"-op read -reqsize 4 -numreqs 20 -flushwrite 1 -syncwrite".split(), "-targets", 1, file)
    t.equal((run.status, len(of(found, file, "fdatasync"))), (0, 0), "-flushwrite, -syncwrite: nothing for reads")
    # Four flushes of 300 ms, and no operation takes part in one.
    for depth in (1, 4):
        run, rows, found = calls(*"-op write -reqsize 4 -numreqs 20 -flushwrite 5".split(), "-queuedepth", depth,
                                 "-targets", 1, file, only=file, inject=["fdatasync:delay_enter=300000"])
        t.ok(run.status == 0 and total(rows, "BUFFERFLUSHTIME") >= 4 * 300 and total(rows, "LATENCY") < 150,
             "-flushwrite, depth %d: the time is no part of that of an operation" % depth, rows)
        t.ok(depth > 1 or total(rows, "ELAPSEDTIMEPASS") >= 4 * 0.3,
             "-flushwrite, depth %d: the elapsed time has all of it, the last one too" % depth, rows)
    run, rows, _ = calls(*"-op write -reqsize 4 -numreqs 8 -flushwrite 4".split(), "-targets", 1, file, only=file,
                         inject=["fdatasync:error=EIO:when=1"])
    t.ok(one_error(run, 6, file, "-flushwrite", "Input/output error") and total(rows, "OPS") == 8,
         "-flushwrite: a flush that fails", run)
    run, rows, found = calls(*"-op write -reqsize 4 -numreqs 8 -flushwrite 4".split(), "-targets", 1, file, only=file,
                             inject=["fdatasync:error=EINTR:when=1"])
    t.ok(run.status == 0 and not run.err and len(of(found, file, "fdatasync")) == 2,
         "-flushwrite: a flush that is interrupted is begun again", run)
    run, rows, _ = calls(*"-op write -reqsize 4 -numreqs 1000 -flushwrite 4 -stoponerror".split(), "-targets", 1, file,
                         only=file, inject=["fdatasync:error=EIO:when=1"])
    return t.ok(run.status == 6 and total(rows, "OPS") < 1000, "-flushwrite, -stoponerror", run)


def test_syncwrite():
    if not s.can_trace():
        return t.skip("-syncwrite", s.sys_why())
    files = [t.path("synced.%d" % i) for i in (0, 1)]
    for words in ([], ["-recreatefiles"], ["-queuedepth", 4], ["-nobarrier"]):
        run, rows, found = calls(*WRITE, "-passes", 3, "-syncwrite", "-targets", 2, *files, *words)
        t.equal((run.status, [len(of(found, f, "fdatasync")) for f in files]), (0, [3, 3]),
                "-syncwrite: once a target and pass " + " ".join(str(w) for w in words))
        t.ok(all(x > 0 for i in (0, 1) for x in passes(rows, "BUFFERFLUSHTIME", i)), "and its time is shown", rows)
    # The guide's synopsis has a number, without a meaning.
    for words, flushes in (("-syncwrite 5", [2, 2]), ("-syncwrite target 1 1", [0, 2]),
                           ("-syncwrite 3 -verbose", [2, 2]),
                           ("-syncwrite -syncwrite target 0 0", [0, 2])):
        run, rows, found = calls(*WRITE, "-passes", 2, "-targets", 2, *files, *words.split())
        t.equal((run.status, [len(of(found, f, "fdatasync")) for f in files]), (0, flushes), words)
    run, rows, found = calls(*WRITE, "-syncwrite", "-targets", 1, files[0], only=files[0],
                             inject=["fdatasync:delay_enter=2000000"])
    t.ok(len(rows) == 3 and all(2000 <= float(r["BUFFERFLUSHTIME"]) <= 1000 * float(r["ELAPSEDTIMEPASS"]) + 1 <
                                1000 * run.seconds and float(r["LATENCY"]) < 1000 for r in rows),
         "-syncwrite: part of the elapsed time, not of an operation", rows)
    lines = re.findall(r"^Without flush, target 0, (pass 1|all passes), ([\d.]+), seconds, ([\d.]+), MB/s, ([\d.]+), "
                       r"Ops/s$", run.out, re.M)
    rest = [float(r["ELAPSEDTIMEPASS"]) - float(r["BUFFERFLUSHTIME"]) / 1000 for r in rows[:2]]
    t.ok([line[0] for line in lines] == ["pass 1", "all passes"] and
         all(abs(float(line[1]) - x) < 0.002 for line, x in zip(lines, rest)) and
         # Seconds are printed to 1 us.
         all(abs(amount / float(rate) - float(line[1])) < 0.6e-6 + 0.001 / float(rate)
             for line in lines for rate, amount in ((line[3], 8), (line[2], 8 * 4096 / 1e6))),
         "-syncwrite -verbose: the rates without it", (lines, rest, run))
    document = t.path("synced.json")
    run, rows, _ = calls(*WRITE, "-syncwrite", "-passes", 2, "-flushwrite", 4, "-targets", 2, *files, "-deskew",
                         "-jsonout", document)
    found = (xddjson.check(document, "-syncwrite: the document") or {"results": []})["results"]
    own = [r for r in found if r["what"] in ("TARGET_PASS", "TARGET_AVERAGE")]
    t.ok(run.status == 0 and len(own) == 6 and
         all(0 < r["sync_ns"] < min(r["flush_ns"], r["elapsed_ns"]) for r in own) and
         all(r["sync_ns"] is None for r in found if r["what"] == "QUEUE_PASS"),
         "-syncwrite: the document has its share", found)
    whole = re.search(r"^Deskew, combined, whole, ([\d.]+), seconds", run.out, re.M)
    t.ok(whole and abs(float(whole.group(1)) - total(rows, "ELAPSEDTIMEPASS")) < 0.002,
         "-syncwrite: COMBINED, and the whole of -deskew, last as long", run)
    run, rows, _ = calls(*WRITE, "-syncwrite", "-targets", 1, files[0], only=files[0],
                         inject=["fdatasync:error=ENOSPC"])
    return t.ok(one_error(run, 6, files[0], "-syncwrite", m.NO_SPACE) and total(rows, "OPS") == 8,
                "-syncwrite: a flush that fails", run)


# Operations that are slow, or retried


def test_threshold():
    file = t.make_file("slow", 128 * 1024)
    env = s.faults("slow", start=40960, end=49152, file="slow", ns=999999999)
    if env is None:
        return t.skip("-reportthreshold", s.sys_why())
    pattern = re.compile(m.THRESHOLD, re.M)
    for op in ("read", "write"):
        run = t.xdd("-op", op, "-targets", 2, "null", file, *"-reqsize 4 -numreqs 20 -reportthreshold 0.9".split(),
                    env=env)
        found = pattern.findall(run.out)
        t.equal((run.status, run.err), (0, ""), "-reportthreshold, %s: its lines are results" % op, run)
        t.equal([(f[0], f[1], f[2], f[3], f[4], f[7]) for f in found],
                [("1", "0", op, "40", "40960", "900 ms"), ("1", "0", op, "44", "45056", "900 ms")],
                "-reportthreshold, %s: a line for each slow operation" % op)
        t.ok(all(float(f[5]) >= 1 and abs(1000 * float(f[5]) - 900 - float(f[6])) < 10 for f in found),
             "-reportthreshold, %s: the times" % op, found)
    out = t.path("slow.out")
    # A thread that sleeps in its stead holds back all operations of an engine that queues.
    run = t.xdd(*"-op read -reqsize 4 -numreqs 20 -report_threshold 900ms -queuedepth".split(), 1 if t.ENGINE else 4,
                "-targets", 1, file,
                "-output", out, env=env)
    with open(out) as f:
        text = f.read()
    t.equal(sorted(f[4] for f in pattern.findall(text)), ["40960", "45056"], "-reportthreshold: in an -output file")
    run = t.xdd("-op", "read", "-targets", 1, file, *"-reqsize 4 -numreqs 20 -rept target 0 30".split())
    return t.equal((run.status, "slow read" in run.out), (0, False), "-reportthreshold: nothing that is not slower",
                   run)


def test_retry():
    file = t.make_file("again", 128 * 1024)
    kinds = [(errno.EIO, "Input/output error")]
    if "libaio" not in t.ENGINE:
        kinds.append((errno.EAGAIN, "Resource temporarily unavailable"))
    for number, text in kinds:
        env = s.faults("eio", start=40960, end=45056, file="again", times=3, errno=number)
        if env is None:
            return t.skip("-retry", s.sys_why())
        for op in ("read", "write"):
            for depth in (1, 4):
                title = "-retry, %s, %s, depth %d" % (text, op, depth)
                base = ("-op", op, *"-reqsize 4 -numreqs 20".split(), "-queuedepth", depth, "-targets", 1, file)
                run, rows = run_rows(*base, "-retry", 3, env=env)
                t.equal((run.status, run.err, total(rows, "OPS"), total(rows, "ERRORS"), total(rows, "RETRIES"),
                         total(rows, "BYTESXFERED")), (0, "", 20, 0, 3, 81920), title + ": the last try helps")
                run, rows = run_rows(*base, "-retry", 2, env=env)
                t.equal((run.status, total(rows, "OPS"), total(rows, "ERRORS"), total(rows, "RETRIES")), (6, 19, 1, 2),
                        title + ": one try too few")
                t.equal((len(run.error_lines()),
                         "operation 10 of pass 1: %s after 0 bytes, tried 3 times" % text in run.err),
                        (1, True), title + ": the line says how often", run.err)
                run, rows = run_rows(*base, env=env)
                t.ok(run.status == 6 and total(rows, "ERRORS") == 1 and total(rows, "RETRIES") == 0 and
                     "tried" not in run.err, title + ": none by default", run)
    if "libaio" not in t.ENGINE:
        for what in ("short", "eintr"):
            env = s.faults(what, file="again")
            run, rows = run_rows(*"-op read -reqsize 4 -numreqs 20 -retry 2 -targets 1".split(), file, env=env)
            t.equal((run.status, total(rows, "OPS"), total(rows, "RETRIES")), (0, 20, 0),
                    "-retry: what is %s has not failed" % what)
    return None


def test_retry_in_vain():
    """Permanent errors are not retried, and retries end when the run ends."""
    file = t.make_file("vain", 40 * 1024)
    run, rows = run_rows("-op", "read", *"-reqsize 4 -numreqs 15 -retry 5 -timelimit 60".split(), "-targets", 1, file,
                         warns=m.REACHES)
    t.equal((run.status, total(rows, "ERRORS"), total(rows, "RETRIES")), (6, 5, 0), "-retry: not the end of a file")
    env = s.faults("eio", file="vain", errno=errno.EINVAL)
    if env is None:
        return t.skip("-retry in vain", s.sys_why())
    run, rows = run_rows("-op", "write", *"-reqsize 4 -numreqs 8 -retry 5".split(), "-targets", 1, file, env=env)
    t.equal((run.status, total(rows, "ERRORS"), total(rows, "RETRIES")), (6, 8, 0), "-retry: not EINVAL")
    env = s.faults("eio", file="vain")
    run = xddhold.interrupted(t.xdd_words(*"-op read -reqsize 4 -numreqs 8 -retry 4294967295 -targets 1".split(), file), 0,
                              env=dict(os.environ, **env))
    t.equal((run.status, "COMBINED" in run.out), (5, True), "-retry without end: the run can be ended", run)
    run, rows = run_rows("-op", "read", *"-reqsize 4 -numreqs 8 -retry 3 -maxerrors 2".split(), "-targets", 1, file,
                         env=env)
    return t.equal((run.status, total(rows, "ERRORS"), total(rows, "RETRIES")), (6, 2, 6), "-retry, -maxerrors")


def test_retry_full():
    directory = s.tmpfs("full", 1 << 20)
    if directory is None:
        return t.skip("-retry on a full disk", s.sys_why())
    file = os.path.join(directory, "file")
    run, rows = run_rows(*"-op write -reqsize 64 -numreqs 24 -retry 2 -timelimit 60 -maxerrorstoprint 100".split(),
                         "-targets", 1, file)
    errors = total(rows, "ERRORS")
    return t.ok(run.status == 6 and 0 < errors < 24 and errors + total(rows, "OPS") == 24 and
                total(rows, "RETRIES") == 2 * errors and
                len(re.findall("No space left on device after .*, tried 3 times", run.err)) == 1,
                "-retry on a full disk: each tried, the first reported", run)


s.own_mounts()
t.run_all()
