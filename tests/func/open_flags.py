#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""
-osync, -odsync, -orsync: the flags of the open files of a running xdd, as the kernel shows them in /proc; the engines
that refuse them; what the plan and the document say.
"""
import os
import re
import subprocess

import xddhold
import xddjson
import xddsys as s
import xddtest as t

FLAGS = os.O_SYNC | os.O_DIRECT | os.O_ACCMODE
OPTIONS = {"-osync": os.O_SYNC, "-odsync": os.O_DSYNC, "-orsync": os.O_RSYNC}
ENGINES = [e for e in ("psync", "libaio", "io_uring") if e in t.engines()]

if t.ENGINE:
    t.skip_all("this test sets the engine itself")


def flags_of(pid, file):
    """The flags of each descriptor of the process that has this file open."""
    found = []
    for fd in os.listdir("/proc/%d/fd" % pid):
        try:
            if os.path.samefile("/proc/%d/fd/%s" % (pid, fd), file):
                with open("/proc/%d/fdinfo/%s" % (pid, fd)) as f:
                    found.append(int(re.search(r"flags:\s*(\d+)", f.read()).group(1), 8))
        except OSError:
            pass
    return [f & FLAGS for f in found if not f & os.O_PATH]


def seen(file, *args, held=0):
    """The flags of all descriptors of the file in a run that is held at this operation."""
    # A file that is not there is created first, with a descriptor of its own that has no flags.
    with open(file, "ab"):
        pass
    with xddhold.at("operation:%d" % held) as h:
        xdd = subprocess.Popen(t.xdd_words("-targets", 1, file, *args), cwd=t.tmp(), env=h.env, stdout=subprocess.DEVNULL,
                               stderr=subprocess.PIPE, text=True)
        h.wait(xdd)
        flags = flags_of(xdd.pid, file)
    _, err = xdd.communicate(timeout=60)
    return sorted(flags), err


def test_flags():
    write = "-op write -reqsize 4k -numreqs 1000".split()
    for engine in ENGINES:
        for option, wanted in OPTIONS.items():
            flags, err = seen(t.path("%s%s" % (engine, option)), *write, "-ioengine", engine, option)
            t.equal([f & os.O_SYNC for f in flags], [wanted], "%s: %s" % (engine, option), err)
    flags, err = seen(t.path("plain"), *write)
    t.equal([f & os.O_SYNC for f in flags], [0], "none without an option", err)
    flags, err = seen(t.path("last"), *write, "-osync", "-odsync")
    t.equal([f & os.O_SYNC for f in flags], [os.O_DSYNC], "the last option wins", err)
    t.make_file("data", 1 << 16)
    flags, err = seen(t.path("data"), "-op", "read", "-reqsize", "4k", "-numreqs", 16, "-osync")
    t.equal(flags, [os.O_RDONLY | os.O_SYNC], "a target that is read", err)


def test_tail():
    directory = s.ext4("ext", 64 << 20)
    if directory is None:
        return t.skip("the descriptor of the last bytes of -dio", s.sys_why())
    flags, err = seen(os.path.join(directory, "f"), *"-op write -reqsize 4k -bytes 41000 -dio -odsync".split(), held=10)
    t.equal([f & (os.O_SYNC | os.O_DIRECT) for f in flags], [os.O_DSYNC, os.O_DSYNC | os.O_DIRECT],
            "the descriptor of the last bytes of -dio has the flag too", err)


def test_passes():
    """Files of a pass are created and opened in two steps."""
    if not s.can_trace():
        return t.skip("each pass", s.sys_why())
    log = t.path("strace.out")
    run = t.command(s.strace(log, "openat,fdatasync") +
                    t.xdd_words("-targets", 1, t.path("new"), *"-op write -createnewfiles -passes 3 -reqsize 4k -numreqs 2 -osync".split()))
    with open(log) as f:
        lines = f.read()
    # The file is found by its name, and opened by the descriptor of that.
    t.equal((run.status, len(re.findall(r"openat\(.*O_WRONLY\|O_SYNC\|O_CLOEXEC", lines)), lines.count("fdatasync(")),
            (0, 3, 0), "the file of each pass, and no flush", lines)


def test_refused():
    t.make_file("map", 1 << 16)
    run = t.xdd("-targets", 1, t.path("map"), *"-op write -reqsize 4k -numreqs 4 -ioengine mmap -osync".split())
    t.ok(run.status == 2 and "-ioengine mmap: writes to a mapping go into the page cache, whatever -osync" in run.err,
         "mmap: writes", run)
    run = t.xdd("-targets", 1, t.path("map"), *"-op read -reqsize 4k -numreqs 4 -ioengine mmap -osync".split())
    t.equal((run.status, run.err), (0, ""), "mmap: reads", run)
    run = t.xdd(*"-op write -targets 1 null -reqsize 4k -numreqs 4 -odsync".split())
    t.equal((run.status, run.err), (0, ""), "the null device", run)


def test_shown():
    write = ["-targets", 1, t.path("shown"), *"-op write -reqsize 4k -numreqs 4 -verbose -jsonout".split()]
    for option, name in (("-osync", "O_SYNC"), ("-odsync", "O_DSYNC"), ("-orsync", "O_RSYNC"), ("-reopen", None)):
        run = t.xdd(*write, t.path("j" + option), option)
        t.equal((run.status, xddjson.load(t.path("j" + option))["plan"]["targets"][0]["resolved"]["open_sync"],
                 re.findall(r"Synchronous writes, (\S+)", run.out)), (0, name, [name] if name else []),
                option + " in plan and document", run)


t.run_all()
