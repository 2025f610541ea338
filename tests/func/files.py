#!/usr/bin/env python3
"""
Operations on files besides reads and writes: create, recreate, reopen, delete, allocate, truncate and flush; slow
operations, and operations that are retried.
"""
import errno
import os
import re
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.environ["TOP_SRCDIR"], "tests", "lib"))
import messages as m
import xddjson
import xddsys as s
import xddtest as t

t.tolerate(t.CACHED)

COLUMNS = ("+WHAT+PASS+TARGET+OPS+ERRORS+RETRIES+BYTESXFERED+ELAPSEDTIMEPASS+LATENCY+BUFFERFLUSHTIME+OPENTIME"
           "+CLOSETIME")
WRITE = "-op write -reqsize 4 -numreqs 8".split()


def run_rows(*args, **kwargs):
    return t.xdd_csv(*args, "-verbose", "-outputformat", "new", COLUMNS, **kwargs)


def passes(rows, column, target=0):
    return [float(r[column]) for r in rows if r["WHAT"] == "TARGET_PASS" and r["TARGET"] == str(target)]


def total(rows, column):
    return [float(r[column]) for r in rows if r["WHAT"] == "COMBINED"][0]


def one_error(run, status, *texts):
    return run.status == status and len(run.error_lines()) == 1 and all(x in run.err for x in texts)


def fresh(name):
    """A new directory of that name."""
    os.mkdir(t.path(name))
    return t.path(name)


def calls(*args, inject=(), only=None, **kwargs):
    """
    Run xdd under strace. Returns the run, its rows, and what it called on files, in order: (call, path, result,
    the line). `only` is a path that alone is looked at, and that `inject` (words of strace) is about.
    """
    if not t.have("strace"):
        return None
    calls.n += 1
    log, csv = t.path("calls.%d" % calls.n), t.path("calls.%d.csv" % calls.n)
    env = s._sanitizer_options("ASAN_OPTIONS", "detect_leaks=0")
    words = ["strace", "-f", "-y", "-s", "0", "-o", log, "-E", "ASAN_OPTIONS=" + env, "-e", "signal=none", "-e",
             "trace=openat,close,unlink,fdatasync,fallocate,ftruncate,pwrite64"]
    for path in [only] + ["/proc/self/fd/%d" % fd for fd in range(3, 40)] if only else []:
        words += ["-P", path]
    for word in inject:
        words += ["-e", "inject=" + word]
    run = t.command(words + t.xdd_words(*args, "-verbose", "-outputformat", "new", COLUMNS, "-csvout", csv), **kwargs)
    found, begun, looked = [], {}, {}
    with open(log, errors="replace") as f:
        for line in f:
            pid, _, text = line.rstrip("\n").partition(" ")
            text = text.strip()
            if text.endswith("<unfinished ...>"):
                begun[pid] = text[:-len("<unfinished ...>")]
                continue
            again = re.match(r"<\.\.\. \w+ resumed>(.*)", text)
            if again:
                text = begun.pop(pid, "") + again.group(1)
            m = re.match(r'(\w+)\((?:AT_FDCWD[^,]*, )?(?:"([^"]*)"|\d+<([^>]*)>).*\) += (-?\d+)', text)
            closed = re.match(r"close\((\d+)<", text)
            if closed and looked.pop((pid, closed.group(1)), None):
                continue
            if not m:
                continue
            call = (m.group(1), (m.group(2) or m.group(3)).replace(" (deleted)", ""), int(m.group(4)), text)
            # A file is found and looked at (O_PATH). If it is then opened by that descriptor, that is one opening, by its name.
            if "O_PATH" in text and call[2] >= 0:
                looked[pid, m.group(4)] = call
                continue
            by = re.fullmatch(r"/proc/self/fd/(\d+)", call[1])
            if by and (pid, by.group(1)) in looked:
                call = looked[pid, by.group(1)][:2] + call[2:]
            found.append(call)
    rows = t.read_csv(csv) if os.path.exists(csv) else []
    return run, rows, found


calls.n = 0


def of(found, path, *names):
    """The calls on that file, and their names; opening that fails, and the opening that makes a file, left out."""
    return [c for c in found if c[1] == path and c[0] in names and c[2] >= 0 and "O_EXCL" not in c[3]]


def can_trace():
    return t.have("strace") and t.command(["strace", "-o", "/dev/null", "true"]).status == 0


# Files of passes


def test_passes():
    directory = fresh("passes")
    base = os.path.join(directory, "data")
    run, rows = run_rows(*WRITE, "-targets", 1, base, "-createnewfiles", "-passes", 3)
    names = ["data.%08d" % n for n in (1, 2, 3)]
    t.ok(run.status == 0 and sorted(os.listdir(directory)) == names, "-createnewfiles: a file for each pass", run)
    t.equal([os.path.getsize(os.path.join(directory, n)) for n in names], [32768] * 3, "each whole")
    before = [os.stat(os.path.join(directory, n)).st_ino for n in names]
    os.link(os.path.join(directory, names[0]), t.path("kept"))
    run = t.xdd("-op", "write", "-reqsize", 4, "-numreqs", 2, "-targets", 1, "data", "-targetdir", directory, "-cnf",
                "-queuedepth", 2)
    t.ok(run.status == 0 and os.path.getsize(os.path.join(directory, names[0])) == 8192 and
         os.stat(os.path.join(directory, names[0])).st_ino != before[0] and os.path.getsize(t.path("kept")) == 32768,
         "-createnewfiles: a file of that name is replaced, not written to", run)
    t.equal([os.stat(os.path.join(directory, n)).st_ino for n in names[1:]], before[1:], "those of other passes stay")
    os.unlink(os.path.join(directory, names[0]))
    os.symlink("elsewhere", os.path.join(directory, names[0]))
    run = t.xdd(*WRITE, "-targets", 1, base, "-createnewfiles")
    t.ok(one_error(run, 4, "-createnewfiles") and not os.path.lexists(os.path.join(directory, "elsewhere")),
         "-createnewfiles: what is no regular file is not replaced", run)
    directory = fresh("limits")
    run = t.xdd(*WRITE, "-targets", 1, os.path.join(directory, "x"), "-createnewfiles", "-passes", 1000000, "-runtime",
                "0.5", "-verbose")
    shown = len([r for r in run.rows() if r["What"] == "TARGET_PASS"])
    t.ok(run.status == 0 and shown and len(os.listdir(directory)) == shown,
         "-createnewfiles, -runtime: no file of a pass that was not", "%d\n%s" % (len(os.listdir(directory)), run.err))


def test_recreate():
    directory = fresh("recreate")
    file = os.path.join(directory, "data")
    if not can_trace():
        return t.skip("-recreatefiles", "no strace")
    run, _, found = calls(*WRITE, "-targets", 1, file, "-recreatefiles", "-passes", 3, "-queuedepth", 2)
    # The code that creates a file closes it, and opens it again with the flags of the run.
    t.equal([c[0] for c in of(found, file, "openat", "close", "unlink")],
            (["close", "openat", "close", "unlink"] * 3)[:-1],
            "-recreatefiles closes, removes and makes the file between passes")
    t.ok(run.status == 0 and os.listdir(directory) == ["data"] and os.path.getsize(file) == 32768,
         "-recreatefiles: the last one stays", run)
    test_recreate_first(directory)
    real, link = os.path.join(directory, "real"), os.path.join(directory, "link")
    os.rename(file, real)
    before = os.stat(real).st_ino
    os.symlink("real", link)
    holder = open(real, "rb")
    run = t.xdd(*WRITE, "-targets", 1, link, "-recreate", "-passes", 2)
    t.ok(run.status == 0 and os.path.islink(link) and os.stat(real).st_ino != before,
         "-recreatefiles by way of a link: the link stays, the file is a new one", run)
    both = fresh("recreate.both")
    run = t.xdd(*WRITE, "-targets", 1, os.path.join(both, "f"), "-recreatefiles", "-createnewfiles", "-passes", 3)
    t.ok(run.status == 0 and os.listdir(both) == ["f.00000003"], "-recreatefiles -createnewfiles: the last file stays", run)
    holder.close()
    return None


def test_recreate_first(directory):
    """A file that is there is removed for the first pass too, once all targets are open; not when the run is refused."""
    old = fresh("recreate.old")
    for depth, passes_ in ((1, 1), (3, 1), (2, 3)):
        file = t.make_file("recreate.old/data", 1 << 20)
        holder = open(file, "rb")
        run, _, found = calls(*WRITE, "-targets", 1, file, "-recreatefiles", "-queuedepth", depth, "-passes", passes_,
                              "-reqsize", 4, "-numreqs", 1)
        t.equal([c[0] for c in of(found, file, "openat", "close", "unlink")],
                (["openat"] + ["close", "unlink", "close", "openat"] * passes_ + ["close"]),
                "-recreatefiles of a file that is there, depth %d, %d passes" % (depth, passes_))
        t.ok(run.status == 0 and os.path.getsize(file) == 4096 and os.fstat(holder.fileno()).st_nlink == 0,
             "it holds what was written, in a new file", run)
        holder.close()
    t.equal(os.listdir(old), ["data"], "and nothing else is left")
    before = os.stat(file).st_ino
    for words in (["-targets", 1, "/proc/nowhere/at/all"], ["-targets", 1, directory], ["-reqsize", 0],
                  ["-ioengine", "mmap"], ["-op", "read"]):
        run = t.xdd(*WRITE, "-targets", 1, file, "-recreatefiles", *words)
        t.ok(run.status in (2, 4) and os.stat(file).st_ino == before and os.path.getsize(file) == 4096,
             "-recreatefiles: a run that is refused removes nothing: " + " ".join(str(w) for w in words), run)
    run = t.command(["sh", "-c", 'ulimit -n 40 && exec "$@"', "sh"] +
                    t.xdd_words(*WRITE, "-recreatefiles", "-target", file, "-targets", 60, *[t.path("many.%d" % i) for i in range(60)]))
    t.ok(run.status == 4 and os.stat(file).st_ino == before, "-recreatefiles: nor one whose other targets cannot be opened", run.err)


def test_reopen():
    file = t.make_file("reopened", 32768)
    for op in ("read", "write"):
        run, rows = run_rows("-op", op, *"-reqsize 4 -numreqs 8 -passes 3 -reopen -queuedepth 4".split(), "-targets", 1,
                             file)
        t.ok(run.status == 0 and passes(rows, "OPS") == [8] * 3 and all(x > 0 for x in passes(rows, "OPENTIME")),
             "-reopen, %s: each pass has its time of opening" % op, rows)
        run, rows = run_rows("-op", op, *"-reqsize 4 -numreqs 8 -passes 3".split(), "-targets", 1, file)
        times = passes(rows, "OPENTIME")
        t.ok(times[0] > 0 and times[1:] == [0, 0], "without it, %s: the first alone" % op, times)
    run, rows = run_rows("-op", "noop", *"-numreqs 8 -passes 3 -reopen -deletefile -syncwrite".split(), "-targets", 1,
                         "null")
    t.ok(run.status == 0 and passes(rows, "OPS") == [8] * 3 and total(rows, "OPENTIME") == 0, "the null device", run)


def test_times():
    if not can_trace():
        return t.skip("OPENTIME, CLOSETIME", "no strace")
    file = t.make_file("timed", 32768)
    slow = ("openat:delay_enter=30000", "close:delay_enter=40000")
    for words, opens, closes in ((["-reopen"], [1, 1, 1], [1, 1, 1]), ([], [1, 0, 0], [0, 0, 1]),
                                 (["-reopen", "-nobarrier"], [1, 1, 1], [1, 1, 1]),
                                 (["-recreatefiles"], [1, 1, 1], [1, 1, 1])):
        run, rows, found = calls(*WRITE, "-targets", 1, file, "-passes", 3, *words, only=file, inject=slow)
        t.equal(([int(x >= 30) for x in passes(rows, "OPENTIME")], [int(x >= 40) for x in passes(rows, "CLOSETIME")]),
                (opens, closes), "OPENTIME and CLOSETIME of each pass: " + " ".join(words))
        if "-recreatefiles" in words:
            continue
        t.equal([len(of(found, file, name)) for name in ("openat", "close")], [sum(opens), sum(closes)],
                "and so many calls")
        for column in ("OPENTIME", "CLOSETIME"):
            averages = [float(r[column]) for r in rows if r["WHAT"] != "TARGET_PASS"]
            t.ok(all(abs(a - sum(passes(rows, column))) < 0.01 for a in averages) and len(averages) == 2,
                 "%s is summed up" % column, rows)
    return None


def test_delete():
    directory = fresh("deleted")
    names = [os.path.join(directory, n) for n in ("a", "b")]
    for words in (["-op", "write"], ["-op", "read"], ["-op", "noop"], ["-op", "write", "-recreatefiles", "-passes", 2]):
        for name in names:
            with open(name, "wb") as f:
                f.write(bytes(32768))
        run = t.xdd(*words, *"-reqsize 4 -numreqs 8".split(), "-targets", 2, *names, "-deletefile", "target", 1)
        t.ok(run.status == 0 and os.listdir(directory) == ["a"], "-deletefile: " + " ".join(map(str, words)), run)
    run = t.xdd(*WRITE, "-targets", -3, names[0], "-deletefile")
    t.ok(run.status == 0 and not os.listdir(directory), "-deletefile: three targets, one file", run)
    run = t.xdd(*WRITE, "-targets", 1, names[0], "-createnewfiles", "-passes", 3, "-del")
    t.ok(run.status == 0 and not os.listdir(directory), "-deletefile -createnewfiles: the files of all passes", run)
    with open(names[0], "wb") as f:
        f.write(bytes(32768))
    os.symlink("a", names[1])
    run = t.xdd(*WRITE, "-targets", 1, names[1], "-deletefile")
    t.ok(run.status == 0 and os.listdir(directory) == ["b"], "-deletefile by way of a link: the file", run)
    os.unlink(names[1])
    with open(names[0], "wb") as f:
        f.write(bytes(32768))
    run = t.xdd(*WRITE, "-targets", 2, names[0], os.path.join(directory, "no", "where"), "-deletefile")
    t.ok(run.status == 4 and os.path.getsize(names[0]) == 32768, "-deletefile: not when a target cannot be had", run)
    run = t.command(["sh", "-c", 'ulimit -n 40 && exec "$@"', "sh"] +
                    t.xdd_words(*WRITE, "-targets", 60, names[0], *[t.path("many.%d" % i) for i in range(59)],
                                "-deletefile"))
    t.ok(run.status == 4 and os.path.getsize(names[0]) == 32768, "-deletefile: not when the run cannot start", run.err)
    p = subprocess.Popen(t.xdd_words(*"-op read -reqsize 4 -timelimit 60 -deletefile -targets 1".split(), names[0]),
                         stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    while b"Target[0]" not in p.stdout.readline():
        pass
    time.sleep(0.2)
    p.send_signal(signal.SIGINT)
    p.communicate(timeout=t.TIMEOUT)
    t.ok(p.returncode == 5 and not os.listdir(directory), "-deletefile: when the run is ended early", p.returncode)


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
    run, rows = run_rows(*WRITE, *"-preallocate 1m -passes 2 -recreatefiles -targets 1".split(), t.path("ext2/file"),
                         warns="-preallocate: ")
    return t.ok(one_error(run, 0, "warning", "-preallocate") and passes(rows, "OPS") == [8, 8],
                "-preallocate where the file system cannot: a warning, once", run)


def test_preallocate_guide():
    """The example of the XDD User Guide, 4.12, step by step, on the file systems that it is about."""
    for kind, directory in (("XFS", s.xfs("guide.xfs")), ("ext4", s.ext4("guide.ext4", 128 << 20))):
        if directory is None:
            t.skip("-preallocate, the example of the guide, " + kind, s.sys_why())
            continue
        file = os.path.join(directory, "file")
        wanted = bytearray(36 << 10)
        for words, pattern, at, size, space in (("-reqsize 8 -numreqs 1 -preallocate 16m", b"a", 0, 8, 16),
                                                ("-reqsize 4 -numreqs 1 -startoffset 32 -preallocate 64m", b"b", 32, 4, 64),
                                                ("-reqsize 8 -numreqs 3 -startoffset 8", b"c", 8, 24, 64)):
            run = t.xdd("-op", "write", "-targets", 1, file, "-dio", *words.split(), "-datapattern", pattern.decode())
            end = os.stat(file).st_size
            wanted[at << 10:(at + size) << 10] = pattern * (size << 10)
            with open(file, "rb") as f:
                t.ok(run.status == 0 and not run.err and f.read() == bytes(wanted[:end]) and end == (8 << 10 if at == 0 else 36 << 10)
                     and space <= os.stat(file).st_blocks * 512 >> 20 < space + 2, "the example of the guide, %s: %s" % (kind, words),
                     "%s\n%s" % (run, os.stat(file)))


def test_pretruncate():
    file = t.make_file("cut", 100000)
    if can_trace():
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
    if can_trace():
        file = t.make_file("fails", 4096)
        for when, status in ((1, 4), (2, 6)):
            run, _, _ = calls(*WRITE, *"-passes 2 -reopen -pretruncate 1m -preallocate 1m -targets 1".split(), file, only=file,
                              inject=["ftruncate:error=EIO:when=%d" % when])
            t.ok(one_error(run, status, file + ": -pretruncate: Input/output error"),
                 "-pretruncate that fails, pass %d" % when, run)
    file = t.make_file("mixed", 4096)
    run = t.xdd(*"-op read -rwratio 50 -reqsize 4 -numreqs 8 -pretruncate 32k".split(), "-targets", 1, file)
    t.ok(run.status == 0 and not run.err and os.path.getsize(file) == 32768,
         "-pretruncate: what is read and written grows to it before the first operation", run)
    files = [t.make_file("kept.%d" % i, 50000) for i in range(60)]
    run = t.command(["sh", "-c", 'ulimit -n 40 && exec "$@"', "sh"] +
                    t.xdd_words(*WRITE, "-targets", len(files), *files, "-pretruncate", "4k"))
    t.ok(run.status == 4 and {os.path.getsize(f) for f in files} == {50000},
         "-pretruncate: nothing is cut off when not all targets can be opened", run.err)
    files = [t.path("new.%d" % i) for i in range(60)]
    run = t.command(["sh", "-c", 'ulimit -n 40 && exec "$@"', "sh"] +
                    t.xdd_words(*WRITE, "-targets", len(files), *files, "-pretruncate", "4k"))
    t.ok(run.status == 4 and not [f for f in files if os.path.exists(f)], "and nothing is left behind", run.err)


# Flushes


def test_flushwrite():
    if not can_trace():
        return t.skip("-flushwrite", "no strace")
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
    if not can_trace():
        return t.skip("-syncwrite", "no strace")
    files = [t.path("synced.%d" % i) for i in (0, 1)]
    for words in ([], ["-recreatefiles"], ["-queuedepth", 4], ["-nobarrier"]):
        run, rows, found = calls(*WRITE, "-passes", 3, "-syncwrite", "-targets", 2, *files, *words)
        t.equal((run.status, [len(of(found, f, "fdatasync")) for f in files]), (0, [3, 3]),
                "-syncwrite: once a target and pass " + " ".join(str(w) for w in words))
        t.ok(all(x > 0 for i in (0, 1) for x in passes(rows, "BUFFERFLUSHTIME", i)), "and its time is shown", rows)
    # The guide's synopsis has a number, without a meaning.
    for words, flushes in (("-syncwrite 5", [2, 2]), ("-syncwrite target 1 1", [0, 2]), ("-syncwrite 3 -verbose", [2, 2]),
                           ("-syncwrite -syncwrite target 0 0", [0, 2])):
        run, rows, found = calls(*WRITE, "-passes", 2, "-targets", 2, *files, *words.split())
        t.equal((run.status, [len(of(found, f, "fdatasync")) for f in files]), (0, flushes), words)
    run, rows, found = calls(*WRITE, "-syncwrite", "-targets", 1, files[0], only=files[0],
                             inject=["fdatasync:delay_enter=2000000"])
    t.ok(len(rows) == 3 and all(2000 <= float(r["BUFFERFLUSHTIME"]) <= 1000 * float(r["ELAPSEDTIMEPASS"]) + 1 <
                                1000 * run.seconds and float(r["LATENCY"]) < 1000 for r in rows),
         "-syncwrite: part of the elapsed time, not of an operation", rows)
    lines = re.findall(r"^Without flush, target 0, (pass 1|all passes), ([\d.]+), seconds, ([\d.]+), MB/s, ([\d.]+), Ops/s$",
                       run.out, re.M)
    rest = [float(r["ELAPSEDTIMEPASS"]) - float(r["BUFFERFLUSHTIME"]) / 1000 for r in rows[:2]]
    t.ok([line[0] for line in lines] == ["pass 1", "all passes"] and
         all(abs(float(line[1]) - x) < 0.002 for line, x in zip(lines, rest)) and
         # Seconds are printed to 1 us.
         all(abs(amount / float(rate) - float(line[1])) < 0.6e-6 + 0.001 / float(rate)
             for line in lines for rate, amount in ((line[3], 8), (line[2], 8 * 4096 / 1e6))),
         "-syncwrite -verbose: the rates without it", (lines, rest, run))
    document = t.path("synced.json")
    run, rows, _ = calls(*WRITE, "-syncwrite", "-passes", 2, "-flushwrite", 4, "-targets", 2, *files, "-deskew", "-jsonout", document)
    found = (xddjson.check(document, "-syncwrite: the document") or {"results": []})["results"]
    own = [r for r in found if r["what"] in ("TARGET_PASS", "TARGET_AVERAGE")]
    t.ok(run.status == 0 and len(own) == 6 and all(0 < r["sync_ns"] < min(r["flush_ns"], r["elapsed_ns"]) for r in own) and
         all(r["sync_ns"] is None for r in found if r["what"] == "QUEUE_PASS"), "-syncwrite: the document has its share", found)
    whole = re.search(r"^Deskew, combined, whole, ([\d.]+), seconds", run.out, re.M)
    t.ok(whole and abs(float(whole.group(1)) - total(rows, "ELAPSEDTIMEPASS")) < 0.002,
         "-syncwrite: COMBINED, and the whole of -deskew, last as long", run)
    run, rows, _ = calls(*WRITE, "-syncwrite", "-targets", 1, files[0], only=files[0],
                         inject=["fdatasync:error=ENOSPC"])
    return t.ok(one_error(run, 6, files[0], "-syncwrite", m.NO_SPACE) and total(rows, "OPS") == 8,
                "-syncwrite: a flush that fails", run)


# Operations that are slow, or tried again


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
        t.equal([(f[0], f[1], float(f[2]), f[5], f[6]) for f in found],
                [("1", "0", 900000, "40", "40960"), ("1", "0", 900000, "44", "45056")],
                "-reportthreshold, %s: a line for each slow operation" % op)
        t.ok(all(float(f[4]) >= 999999 and abs(float(f[4]) - 900000 - float(f[3])) < 0.01 for f in found),
             "-reportthreshold, %s: the times" % op, found)
    out = t.path("slow.out")
    # A thread that sleeps in its stead holds back all operations of an engine that queues.
    run = t.xdd(*"-op read -reqsize 4 -numreqs 20 -report_threshold 900ms -queuedepth".split(), 1 if t.ENGINE else 4,
                "-targets", 1, file,
                "-output", out, env=env)
    with open(out) as f:
        text = f.read()
    t.equal(sorted(f[6] for f in pattern.findall(text)), ["40960", "45056"], "-reportthreshold: in an -output file")
    run = t.xdd("-op", "read", "-targets", 1, file, *"-reqsize 4 -numreqs 20 -rept target 0 30".split())
    return t.equal((run.status, "Threshold" in run.out), (0, False), "-reportthreshold: nothing that is not slower",
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
                t.equal((len(run.error_lines()), "operation 10 of pass 1: %s after 0 bytes, tried 3 times" % text in run.err),
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
    run, rows = run_rows("-op", "read", *"-reqsize 4 -numreqs 15 -retry 5 -timelimit 60".split(), "-targets", 1, file, warns=m.REACHES)
    t.equal((run.status, total(rows, "ERRORS"), total(rows, "RETRIES")), (6, 5, 0), "-retry: not the end of a file")
    env = s.faults("eio", file="vain", errno=errno.EINVAL)
    if env is None:
        return t.skip("-retry in vain", s.sys_why())
    run, rows = run_rows("-op", "write", *"-reqsize 4 -numreqs 8 -retry 5".split(), "-targets", 1, file, env=env)
    t.equal((run.status, total(rows, "ERRORS"), total(rows, "RETRIES")), (6, 8, 0), "-retry: not EINVAL")
    env = s.faults("eio", file="vain")
    p = subprocess.Popen(t.xdd_words(*"-op read -reqsize 4 -numreqs 8 -retry 4294967295 -targets 1".split(), file),
                         stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                         env=dict(os.environ, **env))
    s.settle(p, 1)
    p.send_signal(signal.SIGINT)
    out, err = p.communicate(timeout=t.TIMEOUT)
    t.equal((p.returncode, b"COMBINED" in out), (5, True), "-retry without end: the run can be ended",
            (p.returncode, err))
    run, rows = run_rows("-op", "read", *"-reqsize 4 -numreqs 8 -retry 3 -maxerrors 2".split(), "-targets", 1, file,
                         env=env)
    return t.equal((run.status, total(rows, "ERRORS"), total(rows, "RETRIES")), (6, 2, 6), "-retry, -maxerrors")


def test_retry_full():
    directory = s.tmpfs("full", 1 << 20)
    if directory is None:
        return t.skip("-retry on a full disk", s.sys_why())
    file = os.path.join(directory, "file")
    run, rows = run_rows(*"-op write -reqsize 64 -numreqs 24 -retry 2 -timelimit 60 -maxerrorstoprint 100 -targets 1".split(), file)
    errors = total(rows, "ERRORS")
    return t.ok(run.status == 6 and 0 < errors < 24 and errors + total(rows, "OPS") == 24 and
                total(rows, "RETRIES") == 2 * errors and
                len(re.findall("No space left on device after .*, tried 3 times", run.err)) == 1,
                "-retry on a full disk: each tried, the first reported", run)


# Bad input


def test_bad_input():
    directory = fresh("bad")
    file = os.path.join(directory, "file")
    for words in ("-preallocate 0", "-preallocate -1", "-preallocate abc", "-preallocate", "-preallocate 9e9",
                  "-preallocate 8388608T", "-pretruncate -1", "-pretruncate 1.5", "-pretruncate", "-flushwrite -1",
                  "-flushwrite 4k", "-flushwrite", "-flushwrite 9223372036854775808", "-retry -1", "-retry 4294967296",
                  "-retry x", "-retry", "-reportthreshold -1", "-reportthreshold x", "-reportthreshold",
                  "-reportthreshold 101000000h"):
        run = t.xdd(*WRITE, "-targets", 1, file, *words.split())
        t.ok(one_error(run, 2, words.split()[0]) and not os.listdir(directory), words, run)
    run = t.xdd(*WRITE, "-targets", 1, file, "-syncwrite", "target", 1)
    t.ok(one_error(run, 2, "-syncwrite"), "-syncwrite target 1: no such target", run)
    with open(file, "wb") as f:
        f.write(bytes(32768))
    for words in ("-op read -createnewfiles", "-op read -recreatefiles", "-op read -rwratio 50 -recreatefiles",
                  "-op noop -createnewfiles", "-op write -recreatefiles -ioengine mmap",
                  "-op write -deletefile -targets 1 /dev/zero", "-op write -recreatefiles -targets 1 /dev/zero",
                  "-op write -createnewfiles -targets 1 /dev/zero", "-op write -recreatefiles -targets 1 " + file,
                  "-op write -createnewfiles -targets 1 " + os.path.join(directory, ".", "file")):
        run = t.xdd("-targets", 1, file, *"-reqsize 4 -numreqs 8".split(), *words.split())
        t.ok(one_error(run, 2, re.search("-(re)?create\\w+|-deletefile", words).group(0)) and
             os.listdir(directory) == ["file"], words, run)
    absent = os.path.join(directory, "absent")
    for option in ("-createnewfiles", "-recreatefiles"):
        run = t.xdd(*WRITE, "-targets", 2, absent, os.path.join(directory, ".", "absent"), option)
        t.ok(one_error(run, 2, option, "same file") and os.listdir(directory) == ["file"],
             option + ": two names of one file that is not there yet", run)
    run = t.xdd(*WRITE, "-targets", 1, os.path.join(directory, "x" * 250), "-createnewfiles")
    t.ok(one_error(run, 4, "too long"), "-createnewfiles: a name that is too long", run)


def test_new_files_of_others():
    """No other target, and no output, uses a file of -createnewfiles."""
    directory = fresh("others")
    name, second = os.path.join(directory, "new"), os.path.join(directory, "new.00000002")
    link = os.path.join(directory, "link")
    with open(second, "wb") as f:
        f.write(b"kept")
    os.symlink("new.00000002", link)
    before = sorted(os.listdir(directory))
    words = [*WRITE, "-passes", 2, "-createnewfiles", "target", 0, "-targets"]
    for other in (second, link, os.path.join(directory, ".", "new.00000002")):
        run = t.xdd(*words, 2, name, other)
        t.ok(one_error(run, 2, "-createnewfiles would replace target 1"), "another target: " + other, run)
    for option in ("-output", "-errout", "-csvout", "-combinedout", "-jsonout", "-latency output", "-hb output", "-ts output",
                   "-ts dump", "-seek save"):
        own = {"-hb output": ".T0000.csv", "-ts output": ".target.0000.csv", "-ts dump": ".target.0000.bin",
               "-seek save": ".T0.txt"}.get(option)
        # Names that xdd puts together never end in the number of a pass.
        if own:
            run = t.xdd(*words, 1, name, *option.split(), name, warns=m.NO_FIELD if "-hb" in option else ())
            made = sorted(os.listdir(directory))
            t.equal((run.status, len(made)), (0, len(before) + 2), option + ": its names are others", run)
            for file in set(made) - set(before):
                os.unlink(os.path.join(directory, file))
            with open(second, "wb") as f:
                f.write(b"kept")
            continue
        for file in (second, link):
            run = t.xdd(*words, 1, name, *option.split(), file)
            t.ok(one_error(run, 2, option, "-createnewfiles makes a file of that name for target 0"), option + " " + file, run)
    with open(second, "ab") as f:
        run = t.command(t.xdd_words(*words, 1, name), stdout=f)
    t.ok(one_error(run, 2, "standard output: -createnewfiles"), "standard output", run)
    with open(second, "rb") as f:
        t.ok(sorted(os.listdir(directory)) == before and f.read() == b"kept", "and nothing was done to any of them")
    for other in ("new.00000003", "new.0000002", "new.000000002", "new.00000000", "new.00000002x", "new2.00000002"):
        run = t.xdd(*words, 1, name, "-csvout", os.path.join(directory, other))
        t.ok(run.status == 0, "a name that is none of a pass: " + other, run)


t.run(test_new_files_of_others, test_passes, test_recreate, test_reopen, test_times, test_delete, test_preallocate, test_preallocate_guide, test_pretruncate,
      test_flushwrite, test_syncwrite, test_threshold, test_retry, test_retry_in_vain, test_retry_full, test_bad_input)
t.done()
