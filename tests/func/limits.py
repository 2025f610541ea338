#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""
The end of a pass and of a run: what holds operations back does not hold back a time limit, a stop trigger or a
signal.
"""
import concurrent.futures
import json
import os
import re
import signal
import subprocess
import sys
import threading

import messages as m
import witness as w
import xddsys
import xddtest as t
import xddtrace

t.virtual_time()
t.tolerate(t.CACHED)

ENGINES = [e for e in ("psync", "libaio", "io_uring") if e in t.engines()]
LIMIT_S = 60  # of a run in real time that should end by itself

if t.ENGINE:
    t.skip_all("this test sets the engine itself")


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
        for words, ops in (("-operationdelay 40 -timelimit 0.2", 1), ("-throttle delay 40 -timelimit 0.2", 1),
                           ("-operationdelay 40 -runtime 0.2 -queuedepth 3", 3)):
            run = t.xdd("-op", "read", "-targets", 1, data(), "-reqsize", 4, "-ioengine", engine, *words.split())
            t.equal((run.status, run.seconds, ops_of(run)), (0, 0.2, ops), "%s: the limit ends a delay: %s" % (engine, words), run)
            t.equal(" bytes for 0.2 s\n" in run.out, "-timelimit" in words, "and the first lines have it", run)


def test_stop_trigger_ends_delays():
    for engine in ENGINES:
        for words in ("delay 40", "ops 0.025"):
            run = t.xdd("-op", "read", "-targets", 2, data(), data(), "-reqsize", 4, "-numreqs", 20, "-ioengine", engine,
                        "-throttle", "target", 0, "ops", 50, "-throttle", "target", 1, *words.split(),
                        "-stoptrigger", 0, 1, "op", 10)
            # Target 0 goes on, until a 21st operation would be due; it looks at the clock for the last few microseconds.
            t.equal((run.status, round(run.seconds, 4), ops_of(run)), (0, 0.4, 21),
                    "%s: the stop trigger ends -throttle %s" % (engine, words), run)


def test_zero_is_no_limit():
    """Scripts for older programs say so."""
    run = t.xdd(*"-op noop -target null -numreqs 20 -passes 2 -runtime 0 -timelimit 0.0".split(),
                warns=[m.no_limit("runtime 0"), m.no_limit("timelimit 0.0")])
    t.equal((run.status, ops_of(run)), (0, 40), "-runtime 0 and -timelimit 0 limit nothing", run)
    run = t.xdd(*"-op noop -target null -runtime 0".split())
    t.ok(run.status == 2 and "no amount of work" in run.err, "-runtime 0 is no amount of work", run)


def test_hung_operation():
    """A limit ends a run whose device never answers, as a signal does; one that is only late is awaited."""
    for option in ("runtime", "timelimit"):
        # Operation 7 hangs at 30 ms, and operation 8 at 40. The limit is looked at each second, and 3 s are left to it.
        name = t.path(option + ".json")
        run = t.xdd("-op", "read", "-target", data(), *"-reqsize 4 -queuedepth 2 -ioengine psync".split(), "-" + option, 0.2,
                    "-jsonout", name, device="/data hang:7,10000000 2")
        with open(name, encoding="utf-8") as f:
            rows = json.load(f)["results"]
        results = [(sum(r["ops"].values()), r["outstanding"]) for r in rows if r["what"] == "TARGET_PASS"]
        t.equal((run.status, results, run.seconds, m.hung(option) in run.err, "2 operations are still outstanding, for 4.0 s" in run.err),
                (6, [(7, 2)], 4, True, True), "-%s, and reads that hang: ends with results, which count them" % option, run)
        t.equal([{r[key] for key in ("user_ns", "system_ns", "wait_ns")} for r in rows if r["what"].endswith("_PASS")], [{None}] * 3,
                "-%s: no processor time of QThreads that are stuck" % option, run)
    name = t.path("second.json")
    run = t.xdd("-op", "read", "-target", data(), *"-reqsize 4 -numreqs 5 -passes 2 -runtime 0.2 -jsonout".split(), name,
                device="/data hang:7,10000000")
    with open(name, encoding="utf-8") as f:
        rows = [(r["what"], r["ops"]["read"]) for r in json.load(f)["results"] if r["what"].startswith("TARGET")]
    t.equal((run.status, rows), (6, [("TARGET_PASS", 5), ("TARGET_PASS", 2), ("TARGET_AVERAGE", 7)]),
            "of a pass that hangs, the results of the pass before it do not count twice", run)
    run = t.xdd("-op", "read", "-target", data(), *"-reqsize 4 -numreqs 5 -attached input".split(), device="/data hang:0,10000000")
    t.equal((run.status, run.err.count("-attached: standard input has ended"), run.err.count("signal 2"), round(run.seconds)),
            (5, 1, 1, 3), "-attached, and a read that hangs: it has the time of one signal", run)
    for queue, ops in ((1, 1), (2, 1)):
        run = t.xdd("-op", "read", "-target", data(), *"-reqsize 4 -runtime 0.2 -queuedepth".split(), queue, "-numreqs", 1,
                    device="/data 2000000000")
        t.equal((run.status, run.seconds, ops_of(run), "outstanding" in run.err), (0, 2, ops, False),
                "an operation that is only late is awaited by %d QThreads" % queue, run)


def hangs(fs, engine, option):
    """A run whose one read hangs: (process, whether it ended in time, its document, standard error)."""
    words = t.xdd_words("-op", "read", "-target", fs.data, *"-dio -reqsize 4 -ioengine".split(), engine, "-" + option, 0.2,
                        "-jsonout", "-")
    env = dict(os.environ, TSAN_OPTIONS=os.environ.get("TSAN_OPTIONS", "") + " report_thread_leaks=0")
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env) as p:
        # The kernel has no process end before its request does.
        late = threading.Timer(LIMIT_S, fs.end)
        late.start()
        text = ""
        for line in p.stdout:
            text += line
            if line.startswith('"status":'):  # the last one
                break
        in_time = late.is_alive()
        late.cancel()
        fs.end()
        err = p.communicate()[1]
    return p, in_time, json.loads(text), err


def test_hung_in_the_kernel():
    """The same with engines that queue, in real time and all at once."""
    cases = [(engine, option, w.slow_fs(1 << 20, "constant:100", ("-n", "0"))) for engine in ENGINES
             for option in ("runtime", "timelimit")]
    if not all(fs for _, _, fs in cases):
        t.skip("reads that hang in the kernel", xddsys.sys_why())
        return
    with concurrent.futures.ThreadPoolExecutor(len(cases)) as pool:
        runs = list(pool.map(lambda case: hangs(case[2], *case[:2]), cases))
    for (engine, option, _), (p, in_time, document, err) in zip(cases, runs):
        left = [r["outstanding"] for r in document["results"] if r["what"] == "TARGET_PASS"]
        t.equal((p.returncode, in_time, m.hung(option) in err, "still outstanding" in err, left), (6, True, True, True, [1]),
                "%s: -%s, and a read that hangs: ends with results, which count it" % (engine, option), err)


def issued(run, stamps, pass_number=1):
    """Numbers of the operations that have a time stamp, sorted; and how many xdd says were left out."""
    rows = xddtrace.read_report(stamps + ".target.0000.csv").rows
    said = re.search(m.BECAME_SLOW, run.err, re.M)
    return sorted(r["OP Number"] for r in rows if r["Pass"] == pass_number), int(said.group(1)) if said else 0


def accounted(document):
    """Each operation of each pass has succeeded, failed, or is outstanding."""
    passes = [r for r in document["results"] if r["what"] == "TARGET_PASS"]
    return passes and all(r["issued"] == sum(r["ops"].values()) + r["errors"] + r["outstanding"] for r in passes)


def test_slow_inside_a_group():
    """
    1000 reads are fast, and then each takes 2 s. Each of 4 QThreads waits for one when the pass ends; one of them has 8 more of
    the group of 16 that it has taken.
    """
    for title, words, at, status in (("-timelimit", "-timelimit 1", None, 0), ("SIGINT", "-timelimit 60", {1: signal.SIGINT}, 5)):
        name = t.path(title)
        run = t.xdd("-op", "read", "-targets", 1, data(), "-reqsize", 4, "-queuedepth", 4, *words.split(), "-jsonout", name + ".json",
                    "-ts", "detailed", "-ts", "output", name, device="/data 0*1000,2000000000*100 4", at=at, warns=[m.BECAME_SLOW])
        with open(name + ".json", encoding="utf-8") as f:
            document = json.load(f)
        t.equal((run.status, document["status"], run.seconds), (status, status, 2),
                "operations that become slow: %s ends the run" % title, run)
        numbers, released = issued(run, name)
        t.equal((numbers, released), ([*range(1001), 1009, 1010, 1011], 8), "%s: each operation at most once, and gaps reported" % title)
        t.ok(accounted(document), "%s: what was issued is accounted for" % title, document["results"])


# fsync, fdatasync, fflush and close of the target, once it has data, take XDD_SETTLE_S seconds, one of them.
SETTLE = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
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

int fflush(FILE *f)
{
	if (f && fileno(f) >= 0)
		settle(fileno(f), "drain");
	return ((int (*)(FILE *))dlsym(RTLD_NEXT, "fflush"))(f);
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
    for what, words in (("flush", ""), ("close", ""), ("drain", "-ioengine stdio bufsize 20k -operationdelay 100ms")):
        target = t.path(what + ".settle.data")
        # 8 writes of 0.1 s, and then 5 s: the signal comes 1 s after these have begun.
        run = t.xdd("-op", "write", "-targets", 1, target, *"-reqsize 4 -numreqs 8 -syncwrite -deletefile".split(), *words.split(),
                    env=dict(env, XDD_SETTLE=what, XDD_SETTLE_S="5"), device="settle.data 100000000", at={1.8: signal.SIGINT})
        t.equal((run.status, run.seconds, "QThreads" in run.err, ops_of(run)), (5, 5.8, False, 8),
                "a signal during a %s: the run is complete, not stuck" % what, run)
        t.ok(not os.path.exists(target), "a signal during a %s: -deletefile is done" % what, run)
    return None


def test_no_gap_without_a_processor():
    """QThreads that wait for a processor when the pass ends have no slow operations: they issue what they have taken."""
    code = "import os; os.sched_setaffinity(0, [%s]); print(flush=True)\nwhile os.getppid() == %d: pass" % (t.PROCESSOR, os.getpid())
    others = [subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) for _ in range(4)]
    try:
        for p in others:
            p.stdout.readline()  # it takes the processor
        run = t.xdd(*"-op noop -targets 1 null -numreqs 1000000000000 -qd 16 -timelimit 0.3 -processor 0".split(), t.PROCESSOR, real=True)
    finally:
        for p in others:
            p.kill()
            p.communicate()
    t.equal((run.status, "not issued" in run.err), (0, False), "no gap where others take the processor", run)


t.run(test_zero_is_no_limit, test_hung_operation, test_hung_in_the_kernel, test_limits_end_delays, test_stop_trigger_ends_delays,
      test_slow_inside_a_group, test_no_gap_without_a_processor, test_complete_runs_are_not_stuck)
t.done()
