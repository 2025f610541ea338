#!/usr/bin/env python3
"""
The end of a pass and of a run: what holds operations back does not hold back a time limit, a stop trigger or a
signal. Delays are far longer than the tests may take, so that no result hangs on how fast the machine is.
"""
import json
import os
import re
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.environ["TOP_SRCDIR"], "tests", "lib"))
import messages as m
import witness as w
import xddsys
import xddtest as t
import xddtrace

t.tolerate(t.BUFFERED)

ENGINES = [e for e in ("psync", "libaio", "io_uring") if e in t.engines()]
LONG_S = 40  # of a delay; a run that waits for it is far beyond SOON_S
SOON_S = 20
FAST = 1000  # operations of a device that is slow after them

if t.ENGINE:
    t.skip_all("this test sets the engine itself")

# A device that is fast, and then slow: each pread after the first N sleeps.
SLOW = r"""
#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static ssize_t slow(int fd, void *buf, size_t size, off_t offset)
{
	static _Atomic long calls;
	const char *fast = getenv("XDD_FAST");

	if (fast && ++calls > atol(fast))
		nanosleep(&(struct timespec){ atol(getenv("XDD_SLOW")), 0 }, NULL);
	return syscall(SYS_pread64, fd, buf, size, offset);
}

ssize_t pread(int fd, void *buf, size_t size, off_t offset)
{
	return slow(fd, buf, size, offset);
}

ssize_t pread64(int fd, void *buf, size_t size, off_t offset)
{
	return slow(fd, buf, size, offset);
}
"""


def data(size=1 << 20):
    name = t.path("data")
    with open(name, "wb") as f:
        f.write(os.urandom(size))
    return name


def ops_of(run):
    """Of all targets."""
    row = run.row("COMBINED")
    return row and int(row["Ops"])


def test_limits_end_delays():
    for engine in ENGINES:
        for words in ("-operationdelay %d -timelimit 0.2" % LONG_S, "-throttle delay %d -timelimit 0.2" % LONG_S,
                      "-operationdelay %d -runtime 0.2 -queuedepth 3" % LONG_S):
            run = t.xdd("-op", "read", "-targets", 1, data(), "-reqsize", 4, "-ioengine", engine,
                        *words.split(), timeout=3 * LONG_S)
            depth = 3 if "queuedepth" in words else 1
            t.ok(run.status == 0 and run.seconds < SOON_S and ops_of(run) == depth,
                 "%s: the limit ends a delay: %s" % (engine, words), "%.1f s\n%s" % (run.seconds, run))


def test_stop_trigger_ends_delays():
    for engine in ENGINES:
        for words in ("delay %d" % LONG_S, "ops %f" % (1 / LONG_S)):
            run = t.xdd("-op", "read", "-targets", 2, data(), data(), "-reqsize", 4, "-numreqs", 20, "-ioengine", engine,
                        "-throttle", "target", 0, "ops", 50, "-throttle", "target", 1, *words.split(),
                        "-stoptrigger", 0, 1, "op", 10, timeout=3 * LONG_S)
            t.ok(run.status == 0 and run.seconds < SOON_S and ops_of(run) == 21,
                 "%s: the stop trigger ends -throttle %s" % (engine, words), "%.1f s\n%s" % (run.seconds, run))


def test_zero_is_no_limit():
    """Scripts for older programs say so."""
    run = t.xdd(*"-op noop -target null -numreqs 20 -passes 2 -runtime 0 -timelimit 0.0".split(),
                warns=[m.no_limit("runtime 0"), m.no_limit("timelimit 0.0")])
    t.equal((run.status, ops_of(run)), (0, 40), "-runtime 0 and -timelimit 0 limit nothing", run)
    run = t.xdd(*"-op noop -target null -runtime 0".split())
    t.ok(run.status == 2 and "no amount of work" in run.err, "-runtime 0 is no amount of work", run)


def test_hung_operation():
    """A limit ends a run whose device never answers, as a signal does; one that is only late is awaited."""
    for engine in ENGINES:
        for option in ("runtime", "timelimit"):
            title = "%s: -%s, and a read that hangs" % (engine, option)
            fs = w.slow_fs(1 << 20, "constant:100", ("-n", "20"))
            if not fs:
                t.skip(title, xddsys.sys_why())
                continue
            name = t.path("%s.%s.json" % (engine, option))
            words = t.xdd_words("-op", "read", "-target", fs.data, *"-dio -reqsize 4 -queuedepth 2 -ioengine".split(),
                                engine, "-" + option, 0.2, "-jsonout", name)
            env = dict(os.environ, TSAN_OPTIONS=os.environ.get("TSAN_OPTIONS", "") + " report_thread_leaks=0")
            with subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env=env) as p:
                end = time.monotonic() + LONG_S
                while not os.path.exists(name) and p.poll() is None and time.monotonic() < end:
                    time.sleep(0.05)
                written = os.path.exists(name)
                # The kernel has no process end before its request does.
                fs.end()
                err = p.communicate()[1]
            left = []
            if written:
                with open(name, encoding="utf-8") as f:
                    left = [r["outstanding"] for r in json.load(f)["results"] if r["what"] == "TARGET_PASS"]
            t.ok(p.returncode == 6 and m.hung(option) in err and "still outstanding" in err and left == [1],
                 title + ": ends with results, which count it", "%s %s\n%s" % (p.returncode, left, err))
    fs = w.slow_fs(1 << 20, "constant:2000000")
    if not fs:
        return t.skip("a late operation", xddsys.sys_why())
    run = t.xdd("-op", "read", "-target", fs.data, *"-dio -reqsize 4 -runtime 0.2".split(), timeout=LONG_S, tolerate=".")
    t.ok(run.status == 0 and ops_of(run) == 1 and "outstanding" not in run.err, "an operation that is only late is awaited", run)
    run = t.xdd("-op", "read", "-target", fs.data, *"-dio -reqsize 4 -runtime 0.2 -queuedepth 2 -numreqs 1".split(), timeout=LONG_S,
                tolerate=".")
    fs.end()
    return t.ok(run.status == 0 and ops_of(run) == 1 and "outstanding" not in run.err, "also beside a QThread that has no operation", run)


def issued(run, stamps, pass_number=1):
    """Numbers of the operations that have a time stamp, sorted; and how many xdd says were left out."""
    rows = xddtrace.read_report(stamps + ".target.0000.csv").rows
    said = re.search(m.BECAME_SLOW, run.err, re.M)
    return sorted(r["OP Number"] for r in rows if r["Pass"] == pass_number), int(said.group(1)) if said else 0


def accounted(document):
    """Each operation of each pass has succeeded, failed, or is outstanding."""
    passes = [r for r in document["results"] if r["what"] == "TARGET_PASS"]
    return passes and all(r["issued"] == sum(r["ops"].values()) + r["errors"] + r["outstanding"] for r in passes)


def interrupted_when_slow(args, env):
    """Run it, and send SIGINT once it has read what is read fast, and then nothing for a while."""
    begin = time.monotonic()
    p = subprocess.Popen(args, env=dict(os.environ, **env), text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                         stdin=subprocess.DEVNULL)
    before, size = -1, 0
    while p.poll() is None and time.monotonic() < begin + 60 and (size < FAST * 4096 or size != before):
        time.sleep(0.3)
        before, size = size, xddsys.io_bytes(p.pid)
    interrupted = time.monotonic()
    p.send_signal(signal.SIGINT)
    try:
        out, err = p.communicate(timeout=60)
    except subprocess.TimeoutExpired:
        p.kill()
        out, err = p.communicate()
    run = t.Run(["SIGINT"], p.returncode, out, err)
    run.seconds = time.monotonic() - interrupted
    return run


def test_slow_inside_a_group():
    env = xddsys.preload("slow", SLOW)
    if env is None:
        return t.skip("operations that become slow", "no C compiler")
    env.update(XDD_FAST=str(FAST), XDD_SLOW="2")
    # Operations of a slow build, or of a busy machine, come one by one; then there is no gap.
    t.may_warn(m.BECAME_SLOW)
    for title, limit, start, status in (("-timelimit", 1, t.command, 0), ("SIGINT", 60, interrupted_when_slow, 5)):
        name = t.path(title)
        args = t.xdd_words("-op", "read", "-targets", 1, data(), "-reqsize", 4, "-queuedepth", 4, "-timelimit", limit,
                           "-jsonout", name + ".json", "-ts", "detailed", "-ts", "output", name)

        def ends(start=start, args=args, name=name, status=status):
            run = start(args, env=env)
            with open(name + ".json") as f:
                document = json.load(f)
            return document["status"] == status and run.seconds < 12 and "abandoned" not in run.err, run, document
        good, run, document = t.again(ends)
        t.ok(good, "operations that become slow: %s ends the run" % title, "%.1f s\n%s" % (run.seconds, run))
        numbers, released = issued(run, name)
        t.ok(len(numbers) >= FAST and len(set(numbers)) == len(numbers) and len(numbers) + released == numbers[-1] + 1,
             "%s: each operation at most once, and gaps reported" % title, (len(numbers), released, numbers[-4:], run.err))
        t.ok(accounted(document), "%s: what was issued is accounted for" % title, document["results"])
    return None


# fsync, fdatasync and close of the target, once it has data, take XDD_SETTLE_S seconds, one of them, and leave a file
# as they begin.
SETTLE = r"""
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static void settle(int fd, const char *what)
{
	const char *which = getenv("XDD_SETTLE");
	char link[64], name[4096] = "";
	struct stat st;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	if (!which || strcmp(which, what) || readlink(link, name, sizeof(name) - 1) < 0 || !strstr(name, "settle.data") ||
	    fstat(fd, &st) || !st.st_size)
		return;
	syscall(SYS_close, syscall(SYS_openat, AT_FDCWD, getenv("XDD_SETTLE_FILE"), O_CREAT | O_WRONLY, 0600));
	nanosleep(&(struct timespec){ atol(getenv("XDD_SETTLE_S")), 0 }, NULL);
}

int fsync(int fd)
{
	settle(fd, "flush");
	return syscall(SYS_fsync, fd);
}

int fdatasync(int fd)
{
	settle(fd, "flush");
	return syscall(SYS_fdatasync, fd);
}

int close(int fd)
{
	settle(fd, "close");
	return syscall(SYS_close, fd);
}
"""


def test_complete_runs_are_not_stuck():
    """A run that takes longer than the grace after its last operation is not reported as stuck."""
    env = xddsys.preload("settle", SETTLE)
    if env is None:
        return t.skip("a run that flushes or closes when it is interrupted", "no C compiler")
    runs = []
    for what in ("flush", "close"):
        target, marker = t.path(what + ".settle.data"), t.path(what + ".begun")
        args = t.xdd_words("-op", "write", "-targets", 1, target, "-reqsize", 4, "-numreqs", 8, "-syncwrite", "-deletefile")
        runs.append((what, target, marker, subprocess.Popen(
            args, env=dict(os.environ, XDD_SETTLE=what, XDD_SETTLE_FILE=marker, XDD_SETTLE_S="5", **env), text=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL)))
    for what, target, marker, p in runs:
        end = time.monotonic() + 60
        while not os.path.exists(marker) and p.poll() is None and time.monotonic() < end:
            time.sleep(0.01)
        p.send_signal(signal.SIGINT)
    for what, target, marker, p in runs:
        try:
            out, err = p.communicate(timeout=60)
        except subprocess.TimeoutExpired:
            p.kill()
            out, err = p.communicate()
        run = t.Run([what], p.returncode, out, err)
        t.ok(run.status in (0, 5) and os.path.exists(marker) and "QThreads" not in run.err and ops_of(run) == 8,
             "a signal during a %s: the run is complete, not stuck" % what, run)
        t.ok(not os.path.exists(target), "a signal during a %s: -deletefile is done" % what, run)
    return None


def test_no_gap_without_a_processor():
    """QThreads that wait for a processor when the pass ends have no slow operations: they issue what they have taken."""
    cpu = min(os.sched_getaffinity(0))
    code = "import os; os.sched_setaffinity(0, [%d])\nwhile os.getppid() == %d: pass" % (cpu, os.getpid())
    others = [subprocess.Popen([sys.executable, "-c", code]) for _ in range(4)]
    try:
        for i in range(3):
            run = t.xdd(*"-op noop -targets 1 null -numreqs 1000000000000 -qd 16 -timelimit 0.3 -processor 0".split(), cpu)
            t.equal((run.status, "not issued" in run.err), (0, False),
                    "no gap where others take the processor, %d" % i, run)
    finally:
        for p in others:
            p.kill()
            p.wait()


t.run(test_zero_is_no_limit, test_hung_operation, test_limits_end_delays, test_stop_trigger_ends_delays, test_slow_inside_a_group, test_no_gap_without_a_processor,
      test_complete_runs_are_not_stuck)
t.done()
