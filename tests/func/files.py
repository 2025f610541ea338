#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""
Operations on files: create, recreate, reopen and delete; and bad input of these options and of those of files_data.py.
"""
import errno
import os
import re
import signal
import subprocess

import messages as m
import xddsys as s
import xddtest as t
from xddfiles import WRITE, calls, of, one_error, passes, run_rows, total


def fresh(name):
    """A new directory of that name."""
    os.mkdir(t.path(name))
    return t.path(name)


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
                "0.02", "-verbose", warns=m.FEWER_PASSES_RUN)
    shown = len([r for r in run.rows() if r["What"] == "TARGET_PASS"])
    t.ok(run.status == 0 and shown and len(os.listdir(directory)) == shown,
         "-createnewfiles, -runtime: no file of a pass that was not", "%d\n%s" % (len(os.listdir(directory)), run.err))


def test_recreate():
    directory = fresh("recreate")
    file = os.path.join(directory, "data")
    if not s.can_trace():
        return t.skip("-recreatefiles", s.sys_why())
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
    t.ok(run.status == 2 and os.stat(file).st_ino == before, "-recreatefiles: nor one whose other targets cannot be opened", run.err)


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
    if not s.can_trace():
        return t.skip("OPENTIME, CLOSETIME", s.sys_why())
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
    t.ok(run.status == 2 and os.path.getsize(names[0]) == 32768, "-deletefile: not when the run cannot start", run.err)
    p = subprocess.Popen(t.xdd_words(*"-op read -reqsize 4 -timelimit 60 -deletefile -targets 1".split(), names[0]),
                         stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    # A signal before the first pass begins leaves the file.
    t.until(lambda: s.io_bytes(p.pid) >= 1 << 20, p)
    p.send_signal(signal.SIGINT)
    p.communicate(timeout=t.TIMEOUT)
    t.ok(p.returncode == 5 and not os.listdir(directory), "-deletefile: when the run is ended early", p.returncode)


def test_no_preallocation():
    """Where the file system cannot allocate space, one warning for all passes; the file is written all the same."""
    env = s.preload("fallocate", "#include <errno.h>\nint fallocate(void) { errno = EOPNOTSUPP; return -1; }\n"
                    "int fallocate64(void) { errno = EOPNOTSUPP; return -1; }\n")
    if env is None:
        return t.skip("a file system that cannot allocate space", "no C compiler")
    file = os.path.join(fresh("unsupported"), "file")
    run = t.xdd("-op", "write", "-target", file, *"-reqsize 4 -numreqs 4 -preallocate 16k -passes 2 -recreatefiles".split(), env=env,
                warns="continuing without it")
    t.equal((run.status, run.error_lines(), os.path.getsize(file)),
            (0, ["xdd: warning: target 0, %s: -preallocate: the file system cannot allocate space; continuing without it" % file], 16384),
            "a file system that cannot allocate space: a warning", run)
    return None


# Bad input


def test_bad_input():
    directory = fresh("bad")
    file = os.path.join(directory, "file")
    for words in ("-preallocate 0", "-preallocate -1", "-preallocate abc", "-preallocate", "-preallocate 9e9",
                  "-preallocate 8388608T", "-pretruncate -1", "-pretruncate 1.5", "-pretruncate", "-flushwrite -1",
                  "-flushwrite 4x", "-flushwrite", "-flushwrite 9223372036854775808", "-retry -1", "-retry 4294967296",
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
                  "-op write -createnewfiles -targets 1 /dev/zero", "-op write -recreatefiles target 0 -targets 1 " + file,
                  "-op write -createnewfiles -targets 1 " + os.path.join(directory, ".", "file")):
        run = t.xdd("-targets", 1, file, *"-reqsize 4 -numreqs 8".split(), *words.split())
        t.ok(one_error(run, 2, re.search("-(re)?create\\w+|-deletefile", words).group(0)) and
             os.listdir(directory) == ["file"], words, run)
    absent = os.path.join(directory, "absent")
    for option in ("-createnewfiles", "-recreatefiles target 1"):
        run = t.xdd(*WRITE, "-targets", 2, absent, os.path.join(directory, ".", "absent"), *option.split())
        t.ok(one_error(run, 2, option.split()[0], "same file") and os.listdir(directory) == ["file"],
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


def test_old_container():
    """A container runtime that does not know faccessat2 answers EPERM for it: files that can be opened are used."""
    title, data, out = "faccessat2 answered with EPERM", t.path("contained"), t.path("contained.json")
    filtered = {"preexec_fn": s.forbid(439, errno.EPERM)}
    try:
        if t.command(["true"], **filtered).status:
            raise OSError
    except (OSError, subprocess.SubprocessError):
        return t.skip(title, "this kernel takes no seccomp filter")
    for words in (["-op", "write"], ["-op", "write"], ["-op", "read"]):
        run = t.xdd(*words, "-targets", 1, data, "-reqsize", 4, "-numreqs", 4, "-jsonout", out, **filtered)
        t.ok(run.status == 0 and os.path.exists(out), "%s: %s" % (title, " ".join(words)), run)
    run = t.command([t.XDD, "copy", "-q", data, data + ".copy"], **filtered)
    t.ok(run.status == 0 and os.path.getsize(data + ".copy") == os.path.getsize(data), title + ": a copy", run)
    return None


t.run(test_old_container, test_new_files_of_others, test_passes, test_recreate, test_reopen, test_times, test_delete,
      test_no_preallocation, test_bad_input)
t.done()
