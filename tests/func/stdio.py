#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""
The engine stdio: streams of the C library. Seen by strace, by the contents of files, and by what fails when a buffer
cannot be written.
"""
import os
import re
import resource
import signal

import messages as m
import xddsys as s
import xddtest as t

t.tolerate(m.FEWER_PASSES_RUN)
t.may_warn(m.REACHES)

if t.ENGINE:
    t.skip_all("this test sets the engine itself")

KIB = 1024
CALL = re.compile(r"\b(read|write|lseek)\(\d+<([^>]*)>, (?:[^,]*, )?(\d+)[^=]*\) += (-?\d+)")
TAGGED = "-datapattern tagged".split()


def traced(*args):
    """A run, and its calls of read(2), write(2) and lseek(2) for `file`: (name, amount, result)."""
    log = t.path("strace")
    run = t.command(s.strace(log, "read,write,lseek,pread64,pwrite64") + t.xdd_words(*args))
    with open(log) as f:
        calls = [match.groups() for match in map(CALL.search, f) if match]
    return run, [(name, int(size), int(result)) for name, path, size, result in calls if path == FILE]


FILE = os.path.realpath(t.path("data"))


def stdio(op, *words):
    return ("-op", op, "-targets", 1, FILE, "-reqsize", "4k", "-ioengine", "stdio", *words)


def test_calls():
    if not s.can_trace():
        return t.skip("system calls of stdio", s.sys_why())
    t.make_file("data", 4096 * KIB)
    for op in ("read", "write"):
        for passes in (1, 2):
            run, calls = traced(*stdio(op, "bufsize", "1m", "-numreqs", 1000, "-passes", passes))
            sizes = [c[1] for c in calls if c[0] == op]
            # The last buffer of a pass is not full: 1000 requests are 96 KiB less than 4 MiB.
            wanted = [1024 * KIB] * 4 if op == "read" else [1024 * KIB] * 3 + [928 * KIB]
            t.ok(run.status == 0 and sizes == wanted * passes,
                 "-op %s with a buffer of 1 MiB, %d passes: calls of 1 MiB, and each pass begins with an empty buffer" % (op, passes),
                 "%s\n%s" % (calls[:40], run))
        run, calls = traced(*stdio(op, "unbuffered", "-numreqs", 100))
        t.ok(run.status == 0 and [c[1] for c in calls if c[0] == op] == [4 * KIB] * 100,
             "-op %s unbuffered: a call for each request" % op, calls[:40])
    run, calls = traced(*stdio("read", "-blocksize", 512, "-reqsize", 1, "-numreqs", 64))
    sizes = {c[1] for c in calls if c[0] == "read"}
    t.ok(run.status == 0 and len(sizes) == 1 and sizes.pop() in (4 * KIB, 8 * KIB),
         "without bufsize the C library chooses the size of its buffer", calls)
    run, calls = traced(*stdio("read", "bufsize", "64k", "-numreqs", 40, "-seek", "random", "range", 64))
    t.ok(run.status == 0 and [c[0] for c in calls].count("read") <= 3,
         "random reads within what is in the buffer make no call", calls)
    return None


def test_flush():
    """-flushwrite writes the buffer before fdatasync(2)."""
    if not s.can_trace():
        return t.skip("-flushwrite writes the buffer", s.sys_why())
    for words, least in (("-flushwrite 4", 4), ("-syncwrite", 1)):
        log = t.path("flush")
        run = t.command(s.strace(log, "write,fdatasync") +
                        t.xdd_words(*stdio("write", "bufsize", "1m", "-numreqs", 16), *words.split()))
        with open(log) as f:
            names = [line.split(" ", 1)[1].split("(")[0].strip() for line in f if FILE in line]
        t.ok(run.status == 0 and names == ["write", "fdatasync"] * least,
             "%s: what is in the buffer is written, then flushed" % words, "%s\n%s" % (names, run))
    return None


def test_contents():
    """Data that is written through a buffer is in the file, whatever the queue depth; and is verified through one."""
    for depth, seek in ((1, []), (4, []), (3, ["-seek", "random", "once"])):
        with open(FILE, "wb"):
            pass
        words = ["-numreqs", 200, "-queuedepth", depth, *seek, *TAGGED]
        run = t.xdd(*stdio("write", "bufsize", "100k"), *words)
        check = t.xdd("-op", "read", "-targets", 1, FILE, "-reqsize", "4k", "-verify", "contents", *words)
        t.ok(run.status == 0 and check.status == 0 and os.path.getsize(FILE) == 800 * KIB,
             "depth %d %s: psync verifies what stdio has written" % (depth, seek), "%s\n%s" % (run, check))
        run = t.xdd(*stdio("read", "bufsize", "30001"), *words, "-verify", "contents")
        t.equal((run.status, run.err), (0, ""), "depth %d %s: and stdio too" % (depth, seek), run)
    run = t.xdd("-rwratio", 50, "-targets", 1, FILE, "-reqsize", "4k", "-ioengine", "stdio", "bufsize", "64k", *TAGGED,
                "-verify", "contents", "-numreqs", 400, "-seek", "random", "range", 400, "-passes", 3)
    t.ok(run.status == 0, "one QThread sees in its buffer what it has written", run)


def limited():
    """Files end at 64 KiB for the process; more is EFBIG, and no signal."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (64 * KIB, resource.RLIM_INFINITY))


def errors_of(run, rows):
    return run.status, sum(int(r["ERRORS"]) for r in rows if r["WHAT"] == "TARGET_PASS")


def test_late_errors():
    """A buffer that cannot be written fails the run, also where all operations were complete before."""
    columns = ["-verbose", "-outputformat", "new", "+WHAT+ERRORS"]
    os.unlink(FILE)
    run, rows = t.xdd_csv(*stdio("write", "bufsize", "1m", "-numreqs", 32), *columns, preexec_fn=limited)
    t.ok(errors_of(run, rows) == (6, 0) and len(re.findall(m.LATE_WRITE, run.err, re.M)) == 1,
         "the end of the pass reports what cannot be written", run)
    t.equal(os.path.getsize(FILE), 64 * KIB, "what fits is in the file")
    run, rows = t.xdd_csv(*stdio("write", "bufsize", "32k", "-numreqs", 32), *columns, preexec_fn=limited)
    t.ok(run.status == 6 and errors_of(run, rows)[1] >= 1 and re.search(m.LOST_BEFORE, run.err, re.M),
         "an operation that has earlier data written, which fails, says so", run)
    run = t.xdd(*stdio("write", "bufsize", "1m", "-numreqs", 32, "-passes", 3), "-stoponerror", preexec_fn=limited)
    t.ok(run.status == 6 and len(re.findall(m.LATE_WRITE, run.err, re.M)) == 1, "-stoponerror ends the run then", run)
    run = t.xdd(*stdio("write", "bufsize", "1m", "-numreqs", 32, "-flushwrite", 17), preexec_fn=limited)
    t.ok(run.status == 6 and re.search(m.LATE_WRITE, run.err, re.M), "-flushwrite reports it", run)


# The stream of "data" is opened once and not again, or cannot be closed.
STREAMS = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int wanted(const char *call, int fd)
{
	char link[64], name[4096] = "";

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	return getenv(call) && readlink(link, name, sizeof(name) - 1) > 5 && !strcmp(name + strlen(name) - 5, "/data");
}

FILE *fdopen(int fd, const char *mode)
{
	static int calls;

	if (wanted("XDD_FDOPEN", fd) && calls++) {
		errno = EMFILE;
		return NULL;
	}
	return ((FILE *(*)(int, const char *))dlsym(RTLD_NEXT, "fdopen"))(fd, mode);
}

int fclose(FILE *f)
{
	int fails = wanted("XDD_FCLOSE", fileno(f)), err = ((int (*)(FILE *))dlsym(RTLD_NEXT, "fclose"))(f);

	if (!fails)
		return err;
	errno = EDQUOT;
	return -1;
}
"""


def test_streams_that_fail():
    """Each pass has a stream of its own: one that cannot be closed or opened fails the run, with the reason."""
    env = s.preload("streams", STREAMS)
    if env is None:
        return t.skip("streams that fail", "no C compiler")
    for call, reason in (("XDD_FDOPEN", "Too many open files"), ("XDD_FCLOSE", "Disk quota exceeded")):
        t.make_file("data", 16 * KIB)
        run = t.xdd(*stdio("read", "-numreqs", 4), env=dict(env, **{call: "1"}))
        t.equal((run.status, run.error_lines()),
                (6, ["xdd: target 0, %s: cannot close its stream and open it again: %s" % (FILE, reason)]),
                "%s fails at the end of a pass" % call, run)
    return None


def test_ends():
    """A limit of time does not lose the data of operations that are complete."""
    for title, words in (("-timelimit", "-timelimit .2"), ("-runtime", "-runtime .2 -passes 3")):
        with open(FILE, "wb"):
            pass
        run, rows = t.xdd_csv("-op", "write", "-targets", 1, FILE, "-reqsize", "4k", *"-ioengine stdio bufsize 8m".split(),
                              "-numreqs", 1 << 16, "-operationdelay", "1ms", *words.split(), "-verbose", "-outputformat", "new",
                              "+WHAT+OPS")
        ops = [int(r["OPS"]) for r in rows if r["WHAT"] == "TARGET_PASS"]
        t.ok(run.status == 0 and ops and os.path.getsize(FILE) == max(ops) * 4 * KIB,
             "%s: the file has the data of all operations" % title, "%s %d\n%s" % (ops, os.path.getsize(FILE), run))


def test_refused():
    t.make_file("data", 1024 * KIB)
    with open(FILE, "rb") as f:
        before = f.read()
    writes = ("write", "-numreqs", 4)
    for title, words, pattern in (
            ("-dio", stdio(*writes, "-dio"),
             "data goes through a buffer of the C library, whose address and size -dio does not allow"),
            ("-retry", stdio(*writes, "-retry", 2),
             "-retry: an error may concern data of earlier operations, which is lost then; say unbuffered"),
            ("-flushwrite of several QThreads", stdio(*writes, "-flushwrite", 2, "-queuedepth", 2),
             "-flushwrite: a QThread cannot write the buffers of the others; say -flushwrite 1, -queuedepth 1 or unbuffered"),
            ("an order of several QThreads", stdio(*writes, "-ordering", "storage", "serial", "-queuedepth", 2),
             "-ordering: each QThread writes its buffer when that is full; say -queuedepth 1 or unbuffered"),
            ("bufsize and unbuffered", stdio("read", "bufsize", 8192, "unbuffered", "-numreqs", 4),
             "unbuffered, bufsize: exclude each other; leave one of them out"),
            ("bufsize 0", stdio("read", "bufsize", 0, "-numreqs", 4), "-ioengine bufsize 0"),
            ("bufsize of another engine", ("-op", "read", "-targets", 1, FILE, *"-ioengine psync bufsize 1m".split()),
             m.keyword_of_another("stdio", "psync")),
            ("verification by several QThreads",
             ("-rwratio", 50, "-targets", 1, FILE, *"-reqsize 4k -numreqs 4 -queuedepth 2 -ioengine stdio".split(), *TAGGED,
              "-verify", "contents"),
             "-verify: a QThread does not see what is in the buffers of the others; say -queuedepth 1 or unbuffered"),
            ("a reader that verifies what a buffer holds",
             ("-op", "target", 0, "write", "-op", "target", 1, "read", "-targets", 2, FILE, FILE, "-ioengine", "target", 0,
              "stdio", *"-reqsize 4k -numreqs 4 -datapattern sequenced -verify contents -lockstep 0 1 op 1 op 1 wait complete"
              .split()), "keeps target 1 from reading")):
        run = t.xdd(*words)
        t.ok(run.status == 2 and len(run.error_lines()) == 1 and re.search(pattern, run.err), "refused: " + title, run)
    with open(FILE, "rb") as f:
        t.ok(f.read() == before, "nothing is written by what is refused")
    run = t.xdd(*stdio("write", "unbuffered", *"-numreqs 8 -retry 2 -flushwrite 2 -queuedepth 2 -ordering storage serial".split()))
    t.equal((run.status, run.err), (0, ""), "unbuffered it is allowed", run)
    for words in ("-flushwrite 2 -ordering storage serial", "-flushwrite 1 -queuedepth 2"):
        run = t.xdd(*stdio("write", *"-numreqs 8".split(), *words.split()))
        t.equal((run.status, run.err), (0, ""), "buffered it is allowed with " + words, run)


t.run_all()
