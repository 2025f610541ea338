#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""
-dio with an amount that is no multiple of a sector: the file gets exactly that size, and the whole of it is read. Whole
pages go past the page cache, what is left of the last operation goes through it, by a descriptor of its own.
"""
import os
import random
import re
import struct

import messages as m
import xddsys as s
import xddtest as t
import xddtrace as x

if t.ENGINE:
    t.skip_all("this test sets the engine itself")

LIMIT_S = 60
ENGINES = [e for e in ("psync", "libaio", "io_uring", "io_uring fixedbufs", "io_uring sqpoll")
           if e.split()[0] in t.engines() and not (e == "io_uring sqpoll" and os.geteuid())]
WHERE = s.ext4("ext4", 64 << 20) or t.tmp()
FILE = os.path.join(WHERE, "file")


def sequence(size):
    return struct.pack("<%dQ" % (size // 8 + 1), *range(0, size + 8 - size % 8, 8))[:size]


def contents(file):
    """The contents of the file, in the page cache and, once that is dropped, on the disk; None where they differ."""
    try:
        with open(file, "r+b", buffering=0) as f:
            cached = f.read()
            # The kernel reports here that a page and the disk came apart.
            os.fsync(f.fileno())
            os.posix_fadvise(f.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
            f.seek(0)
            return cached if f.read() == cached else None
    except OSError as err:
        t.diag("%s: %s" % (file, err))
        return None


def fill(file, size):
    with open(file, "wb") as f:
        f.write(b"\xaa" * size)


def xdd(*args, **kwargs):
    return t.xdd(*args, timeout=LIMIT_S, **kwargs)


probe = xdd("-op", "write", "-targets", 1, FILE, *"-dio -reqsize 4 -numreqs 1".split())
if probe.status:
    t.skip_all("no direct I/O here: " + probe.err)


def test_guide():
    """The guide's example of an exact number of bytes, made small."""
    size = 1000000
    for engine in ENGINES:
        for more in ("", "-queuedepth 4", "-queuedepth 8 -ordering serial", "-queuedepth 32 -threads 3", "-recreatefiles",
                     "-reopen -queuedepth 2", "-nobarrier -queuedepth 3", "-preallocate 2m", "-pretruncate 0",
                     "-syncwrite -flushwrite 3", "-startoffset 8", "-memalign 512"):
            if "-threads" in more and engine == "psync":
                continue
            if os.path.exists(FILE):
                os.unlink(FILE)
            run, rows = t.xdd_csv("-op", "write", "-targets", 1, FILE, *"-dio -reqsize 40 -passes 4 -verbose -dp sequenced".split(),
                                  "-bytes", size, "-ioengine", *engine.split(), *more.split(), timeout=LIMIT_S)
            start = 8192 if "startoffset" in more else 0
            title = "-bytes %d -dio, %s %s" % (size, engine, more)
            t.ok(run.status == 0 and not run.err and
                 contents(FILE) == bytes(start) + sequence(start + size)[start:], title + ": exactly that", run)
            t.equal({(r["OPS"], r["BYTESXFERED"]) for r in rows if r["WHAT"] == "TARGET_PASS"}, {("25", str(size))},
                    title + ": and it is counted")
        names = os.path.join(WHERE, "new")
        run = xdd("-op", "write", "-targets", 1, names, *"-dio -reqsize 40 -passes 3 -createnewfiles -queuedepth 4 -dp sequenced".split(),
                  "-bytes", size, "-ioengine", *engine.split())
        files = ["%s.%08d" % (names, n) for n in (1, 2, 3)]
        t.ok(run.status == 0 and all(contents(f) == sequence(size) for f in files), "-createnewfiles, %s: exactly that" % engine,
             run)
        for file in files:
            os.path.exists(file) and os.unlink(file)


def test_sizes():
    """Requests of less than a page, amounts around sectors and pages: nothing of the neighbours is lost."""
    rng = random.Random(11)
    wrong = []
    sizes = [1, 511, 513, 700, 4095, 4097, 4608 + 1, 8191, 12288 + 511]
    for turn in range(60):
        size = sizes[turn] if turn < len(sizes) else 512 * rng.randrange(1, 80) + rng.randrange(1, 512)
        engine = ENGINES[turn % len(ENGINES)]
        before = rng.choice((0, size, 100000))
        fill(FILE, before)
        words = ["-blocksize", 512, "-reqsize", rng.choice((1, 1, 3, 8)), "-bytes", size, "-queuedepth", rng.choice((1, 8, 32)),
                 "-ioengine"] + engine.split()
        if engine != "psync" and rng.random() < 0.5:
            words += ["-threads", 2]
        if rng.random() < 0.3:
            words += ["-passes", 2]
        run = xdd("-op", "write", "-targets", 1, FILE, "-dio", "-dp", "sequenced", *words)
        if run.status or run.err or contents(FILE) != sequence(size) + b"\xaa" * max(0, before - size):
            wrong.append((words, before, str(run)))
    t.ok(not wrong, "60 amounts that end inside a sector, requests of 512 bytes and more", wrong[:3])


def test_descriptors():
    """Which bytes go which way, as the kernel is told, and when."""
    if s.can_trace() is None:
        return t.skip("descriptors", s.sys_why())
    size = 7 * 16384 + 4096 + 700
    for op, depth in (("write", 1), ("write", 4), ("read", 1), ("read", 4)):
        fill(FILE, size)
        log = t.path("calls")
        run = t.command(s.strace(log, "pread64,pwrite64,openat,fcntl") +
                        t.xdd_words("-op", op, "-targets", 1, FILE, *"-dio -reqsize 16 -passes 2".split(), "-bytes", size,
                                    "-queuedepth", depth), timeout=LIMIT_S)
        text = "\n".join(text for _, text in s.calls_of(log))
        title = "%s, depth %d: " % (op, depth)
        t.equal((run.status, run.err), (0, ""), title + "runs", run)
        opened = dict((fd, flags) for flags, fd in re.findall(r'openat\(.*?, "[^"]*", (\S+?)(?:, \d+)? *\) += (\d+)<%s>' % re.escape(FILE), text))
        moved = [(fd, int(n), int(at)) for fd, n, at in re.findall(r"p(?:read|write)64\((\d+)<%s>, .*?, (\d+), (\d+)" % re.escape(FILE), text)]
        direct = sorted((at, n) for fd, n, at in moved if "O_DIRECT" in opened[fd])
        cached = sorted((at, n) for fd, n, at in moved if "O_DIRECT" not in opened[fd])
        t.equal(direct, sorted([(n * 16384, 16384) for n in range(7)] * 2 + [(7 * 16384, 4096)] * 2), title + "whole pages directly")
        t.equal(cached, [(size - 700, 700)] * 2, title + "the rest through the page cache")
        t.ok("F_SETFL" not in text, title + "no descriptor is changed")
    return None


def test_last_write_is_alone():
    """The last write waits until all others of its pass are complete: by the time stamps."""
    size = 60 * 512 + 100
    for engine in ENGINES:
        dump = t.path("alone")
        run = xdd("-op", "write", "-targets", 1, FILE, *"-dio -blocksize 512 -reqsize 1 -queuedepth 8 -passes 3".split(), "-bytes", size,
                  "-ioengine", *engine.split(), "-ts", "dump", dump)
        rows = x.rows_of(dump + ".target.0000.bin")
        late = [p for p in (1, 2, 3)
                if max(r["END_NS"] for r in rows if r["PASS"] == p and r["OP"] < 60) >
                min(r["START_NS"] for r in rows if r["PASS"] == p and r["OP"] == 60)]
        t.ok(run.status == 0 and len(rows) == 183 and not late, engine + ": the last write of a pass is alone", (late, run))


def test_reads():
    """A file that ends inside a sector is read to its end; it was cut off there before."""
    for size in (1, 700, 65536 + 1, 100000, 8192):
        with open(FILE, "wb") as f:
            f.write(sequence(size))
        for engine in ENGINES:
            for more in ("", "-queuedepth 4", "-reqsize 64 -ordering serial -queuedepth 3", "-passes 2 -reopen", "-dropcache"):
                run, rows = t.xdd_csv("-op", "read", "-targets", 1, FILE, *"-dio -reqsize 16 -dp sequenced".split(), "-ioengine",
                                      *engine.split(), *more.split(), timeout=LIMIT_S)
                passes = 2 if "-passes" in more else 1
                t.ok(run.status == 0 and not run.err and rows[-1]["BYTESXFERED"] == str(size * passes),
                     "a file of %d bytes with -dio, %s %s: all of it, and it is right" % (size, engine, more), run)
    with open(FILE, "r+b") as f:
        f.truncate(8000)
        f.seek(7999)
        f.write(b"!")
    run = xdd("-op", "read", "-targets", 1, FILE, *"-dio -reqsize 4 -dp sequenced".split())
    t.equal((run.status, "at 7999 " in run.err), (7, True), "its last byte is verified", run)
    run = xdd("-op", "read", "-targets", 1, FILE, *"-dio -reqsize 4 -bytes 5000 -startoffset 4 -timelimit 60".split(),
              warns=m.REACHES)
    t.ok(run.status == 6 and "END-OF-FILE" in run.err and (run.row("COMBINED") or {}).get("Bytes_Xfered") == str(8000 - 4096),
         "a tail after the end of the file", run)


def test_patterns():
    """The tail is wherever the last operation is."""
    fill(FILE, 400000)
    run = xdd("-op", "write", "-targets", 1, FILE, *"-dio -reqsize 4 -seek random range 256 -bytes 70001 -queuedepth 8 -dp sequenced".split(),
              "-seek", "save", t.path("places"))
    wanted, want = bytearray(b"\xaa" * 400000), sequence(400000)
    with open(t.path("places.T0.txt")) as f:
        places = [int(line.split()[1]) * 1024 for line in f if not line.startswith("#")]
    left = 70001
    for at in places:
        n = min(4096, left)
        wanted[at:at + n] = want[at:at + n]
        left -= n
    t.ok(run.status == 0 and contents(FILE) == bytes(wanted), "-seek random", run)
    with open(t.path("list"), "w") as f:
        f.write("0 0 4 w 0 0\n1 100 4 w 0 0\n2 40 4 w 0 0\n3 80 4 w 0 0\n")
    fill(FILE, 200000)
    run = xdd("-targets", 1, FILE, *"-dio -reqsize 4 -queuedepth 3 -dp sequenced -bytes 9001 -seek load".split(), t.path("list"))
    wanted, want = bytearray(b"\xaa" * 200000), sequence(200000)
    for at, n in ((0, 4096), (102400, 4096), (40960, 9001 - 8192)):
        wanted[at:at + n] = want[at:at + n]
    t.ok(run.status == 0 and contents(FILE) == bytes(wanted), "-seek load", run)
    run = xdd("-rwratio", 50, "-targets", 1, FILE, *"-dio -reqsize 4 -queuedepth 4 -bytes 60000 -passes 3 -retry 2".split())
    t.equal((run.status, run.err), (0, ""), "reads and writes", run)


def test_device():
    device = s.loop_device(t.make_file("disk", 1 << 20))
    if device is None:
        return t.skip("a block device", s.sys_why())
    with open(t.path("disk"), "rb") as f:
        before = f.read()
    for engine in ENGINES:
        run = xdd("-op", "write", "-targets", 1, device, *"-dio -reqsize 16 -queuedepth 4 -dp sequenced -bytes 300001".split(),
                  "-ioengine", *engine.split())
        t.command(["sync", device])
        with open(t.path("disk"), "rb") as f:
            after = f.read()
        t.ok(run.status == 0 and not run.err and after == sequence(300001) + before[300001:],
             "a block device, %s: exactly 300001 bytes" % engine, run)
    run = xdd("-op", "read", "-targets", 1, device, *"-dio -reqsize 16 -queuedepth 4 -dp sequenced -bytes 300001".split())
    return t.equal((run.status, run.err), (0, ""), "a block device: read back", run)


def test_said():
    run = xdd("-op", "write", "-targets", 1, FILE, *"-dio -reqsize 16 -bytes 100700 -verbose".split())
    t.ok("\t\tBytes of the last operation through the page cache, 2396\n" in run.out, "-verbose says so", run)
    for words in ("-reqsize 16 -bytes 131072 -dio", "-reqsize 16 -bytes 100700", "-reqsize 16 -bytes 100864 -dio",
                  "-reqsize 16 -bytes 100700 -dio -op noop"):
        run = xdd(*([] if "-op" in words else ["-op", "write"]), "-targets", 1, FILE, *words.split(), "-verbose")
        t.equal((run.status, "through the page cache" in run.out), (0, False), words + ": nothing to say", run)
    if "io_uring" in ENGINES:
        run = xdd("-op", "write", "-targets", 1, FILE, *"-dio -reqsize 16 -bytes 100700 -ioengine io_uring iopoll".split())
        t.equal((run.status, len(run.error_lines()), "page cache, which cannot be polled" in run.err), (2, 1, True),
                "iopoll: refused", run)


def test_no_proc():
    """A descriptor that cannot be had is said, and the run does not start."""
    hide = s.without_proc()
    if hide is None:
        return t.skip("without /proc", s.sys_why())
    os.path.exists(FILE) and os.unlink(FILE)
    run = t.command(hide + t.xdd_words("-op", "write", "-targets", 1, FILE, "-dio", "-reqsize", 16, "-bytes", 100700))
    return t.equal((run.status, len(run.error_lines()), "cannot open it a second time" in run.err, os.path.exists(FILE)),
                   (4, 1, True, False), "without /proc: refused, and no file is left", run)


t.run_all()
