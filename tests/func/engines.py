#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""
Engines: every engine does the same bytes, counts and errors on the same plan as psync.
"""
import os
import re
import signal
import subprocess

import messages as m
import xddhold
import xddsys as s
import xddtest as t
from xddengines import QUEUED, ENGINES, KIB, COLUMNS, absent, failures_of, execute, restore, same, dio_works, \
    BOTH, BATCHES, KEYWORDS, STREAMS

t.may_warn(m.REACHES)

if t.ENGINE:
    t.skip_all("this test sets the engine itself")


def test_offered():
    """-ioengine list: what this build and this kernel have."""
    run = t.xdd("-ioengine", "list")
    found = dict(re.findall(r"^(\S+) +(yes|no) ", run.out, re.M))
    t.equal((run.status, run.err, sorted(found)), (0, "", sorted(("psync", "libaio", "io_uring", "sg", "mmap", "stdio", "null"))),
            "-ioengine list names every engine")
    reasons = re.findall(r"^(\S+) +no +.*\n +\S", run.out, re.M)
    t.equal(sorted(reasons), sorted(e for e in found if found[e] == "no"), "-ioengine list says why one is not there")
    t.equal([found.get(e) for e in ("psync", "mmap", "stdio", "null", "sg")], ["yes"] * 5, "what needs no library is there")


def test_reads():
    file = t.make_file("reads", 256 * KIB + 1000)
    reads = ["-op", "read", "-targets", 1, file]
    everybody = BOTH + ["mmap", "mmap touch"] + STREAMS
    same("the end of a file", reads + "-reqsize 16 -numreqs 40 -qd 16 -passes 3 -timelimit 60".split(),
         everybody + BATCHES + KEYWORDS, status=6)
    same("random reads", reads + "-reqsize 4 -numreqs 500 -qd 7 -seek random -seek range 256 -passes 2 -randomize".split(),
         everybody)
    same("a short last operation", reads + "-reqsize 4 -bytes 100001 -qd 5 -passes 2".split(), everybody + BATCHES)
    same("the whole file", reads + "-reqsize 3 -qd 9".split(), everybody)
    same("more slots than operations", reads + "-reqsize 4 -numreqs 3 -qd 100 -passes 4".split(), everybody + BATCHES)
    same("-maxerrors", reads + "-reqsize 4 -numreqs 500 -startoffset 512 -maxerrors 4 -passes 2 -timelimit 60".split(), BOTH + STREAMS,
         status=6)
    same("-stoponerror", reads + "-reqsize 16 -numreqs 500 -stoponerror -timelimit 60".split(), everybody, status=6)
    same("-operationdelay", reads + "-reqsize 4 -numreqs 12 -qd 4 -operationdelay 0.01 -passes 2".split(),
         everybody + ["libaio batch 8", "io_uring batch 8"])
    same("-runtime", reads + "-reqsize 4 -numreqs 12 -qd 4 -runtime 600".split(), everybody)
    same("interleave", reads + "-reqsize 4 -numreqs 12 -qd 4 -seek interleave 3".split(), everybody)


def test_reads_direct():
    file = t.make_file("direct", 40 * 4096 + 512)
    if not dio_works(file):
        return t.skip("direct reads", "no direct I/O here")
    reads = ["-op", "read", "-targets", 1, file, "-dio"]
    same("a file that ends inside a request, -dio", reads + "-reqsize 8 -numreqs 30 -qd 16 -passes 2 -timelimit 60".split(),
         BOTH + BATCHES + KEYWORDS, status=6)
    same("random reads, -dio", reads + "-reqsize 4 -numreqs 1000 -qd 128 -seek random -seek range 160".split(),
         BOTH + BATCHES + KEYWORDS)
    same("-operationdelay, -dio", reads + "-reqsize 4 -numreqs 40 -qd 16 -operationdelay 0.01".split(), BOTH + BATCHES)
    return None


def test_writes():
    one, two = t.path("writes1"), t.path("writes2")
    old = {one: b"\xa5" * (300 * KIB), two: b"\x5a" * (300 * KIB)}
    both = ["-targets", 2, one, two]
    mapped = BOTH + ["mmap"] + STREAMS
    same("writes", ["-op", "write"] + both + "-reqsize 4 -numreqs 37 -qd 7 -passes 2 -startoffset 3".split(), mapped + BATCHES,
         old)
    same("random writes", ["-op", "write"] + both + "-reqsize 3 -numreqs 50 -qd 8 -seek random -seek range 300".split(), mapped,
         old)
    # Writes carry what the reads before them left in the buffer: with one, that is the same everywhere.
    same("reads and writes", ["-rwratio", 30] + both + "-reqsize 4 -numreqs 60".split(), mapped, old)
    restore(old)
    same("reads and writes, 16 outstanding", ["-rwratio", 30] + both + "-reqsize 4 -numreqs 60 -qd 16".split(),
         mapped + BATCHES + KEYWORDS)
    same("a short last write", ["-op", "write"] + both + "-reqsize 4 -bytes 100001 -qd 8".split(), mapped, old)
    same("a file that grows", ["-op", "write"] + both + "-reqsize 4 -numreqs 100 -qd 16".split(), BOTH + KEYWORDS + STREAMS,
         {one: b"\xa5" * 100, two: b""})
    same("noop", ["-op", "noop"] + both + "-reqsize 4 -numreqs 100 -qd 16 -passes 2".split(), mapped + BATCHES, old)
    if not dio_works(one):
        return t.skip("direct writes", "no direct I/O here")
    same("writes, -dio", ["-op", "write"] + both + "-dio -reqsize 4 -numreqs 70 -qd 32".split(), BOTH, old)
    same("reads and writes, -dio", ["-rwratio", 40] + both + "-dio -reqsize 4 -numreqs 70 -qd 32".split(), BOTH + BATCHES + KEYWORDS)
    return None


def test_threads():
    file = t.make_file("threads", 512 * KIB)
    dio = ["-dio"] if dio_works(file) else []
    for engine in [e for e in QUEUED if e in ENGINES]:
        for threads in (1, 2, 4, 7, 20):
            args = ["-op", "read", "-targets", 1, file, *dio, "-threads", threads,
                    *"-reqsize 4 -numreqs 128 -qd 7 -passes 3".split()]
            run, rows = execute(engine, args)
            title = "%s, -threads %d, depth 7" % (engine, threads)
            queues = [[r for r in rows if r["WHAT"] == "QUEUE_PASS" and r["PASS"] == str(p)] for p in (1, 2, 3)]
            t.ok(run.status == 0 and [len(q) for q in queues] == [min(threads, 7)] * 3, title + ": lines of QThreads", run)
            t.equal([[sum(int(r[k]) for r in q) for k in ("OPS", "BYTESREAD")] for q in queues], [[128, 128 * 4096]] * 3,
                    title + ": they add up")
    absent("-threads")


def test_fewer_threads_do_it():
    """A depth of 200 with -threads 2 has two threads, not 200."""
    file = t.make_file("few", 64 * KIB)
    for engine in [e for e in QUEUED if e in ENGINES]:
        run = Started("pass ended:1", "-ioengine", engine, "-op", "read", "-targets", 1, file,
                      *"-reqsize 4 -numreqs 16 -qd 200 -threads 2 -passes 2 -passdelay 100".split())
        tasks = len(os.listdir("/proc/%d/task" % run.p.pid))
        run.end()
        t.ok(tasks <= 8, engine + ": two QThreads carry a depth of 200", tasks)


def calls_of(args):
    """System calls of a run by name, or None."""
    log = t.path("strace.sum")
    run = t.command(["strace", "-f", "-c", "-o", log, t.XDD] + [str(a) for a in args],
                    env={"ASAN_OPTIONS": t.sanitizer_options("ASAN_OPTIONS", "detect_leaks=0")})
    with open(log) as f:
        rows = [line.split() for line in f if re.match(r" *[\d.]+ +[\d.]+ +\d+ +\d+ ", line)]
    return {row[-1]: int(row[3]) for row in rows if row[-1] != "total"} if run.status == 0 else None


def test_system_calls():
    """An operation makes the system calls of its transfer and no others, whatever is recorded of it."""
    if not s.can_trace():
        return t.skip("system calls of an operation", s.sys_why())
    file, few, many = t.make_file("calls", 256 * KIB), 500, 1500
    transfer = {"psync": {"pread64": 1}, "libaio": {"io_submit": 1, "io_getevents": 1}, "io_uring": {"io_uring_enter": 2},
                "mmap": {}, "stdio": {"read": 1, "lseek": 1}, "null": {}}
    recorded = "-latency percentiles 50,99 -ts summary -ts output".split() + [t.path("calls.ts"), "-qthreadinfo", "-rwratio", 100]
    for engine, names in transfer.items():
        if engine in QUEUED and engine not in ENGINES:
            continue
        for title, more in (("", []), (", recorded", recorded)):
            args = ["-ioengine", engine, *"-targets 1".split(), file, *"-reqsize 4 -seek random -seek range 256 -qd 4".split(),
                    *(more or ["-op", "read"])]
            counts = [calls_of(args + ["-numreqs", n]) for n in (few, many)]
            title = "%s%s: system calls of an operation" % (engine, title)
            if not t.ok(None not in counts, title + ": the runs", counts):
                continue
            grown = {name: n - counts[0].get(name, 0) for name, n in counts[1].items() if n > counts[0].get(name, 0)}
            # A tenth is for what a busy machine and sanitizers add, which does not grow with the operations. Where the
            # clock cannot be read without the kernel, it is.
            others = {name: n for name, n in grown.items()
                      if name not in names and name != "clock_gettime" and n > (many - few) // 10}
            t.ok(not others and all(grown.get(name, 0) <= most * (many - few) * 1.1 for name, most in names.items()), title,
                 "of %d more operations: %s" % (many - few, grown))
    absent("system calls of an operation")
    return None


class Started:
    """A run that is held at a point."""

    count = 0

    def __init__(self, point, *args):
        self.hold = xddhold.at(point, "signal taken:1")
        Started.count += 1
        self.csv = t.path("started.%d.csv" % Started.count)
        self.files = [t.path("started.%d.%s" % (Started.count, kind)) for kind in ("out", "err")]
        with open(self.files[0], "wb") as out, open(self.files[1], "wb") as err:
            words = [str(a) for a in args] + ["-csvout", self.csv]
            self.p = subprocess.Popen([t.XDD] + words, stdin=subprocess.DEVNULL, stdout=out, stderr=err, env=self.hold.env)
        self.hold.wait(self.p)

    def text(self):
        texts = []
        for file in self.files:
            with open(file, errors="replace") as f:
                texts.append(f.read())
        return "\n".join(texts)

    def end(self):
        """Send SIGINT, and go on once it has arrived; the status."""
        self.p.send_signal(signal.SIGINT)
        self.hold.wait(self.p)
        self.hold.__exit__()
        try:
            return self.p.wait(timeout=t.TIMEOUT / 2)
        except subprocess.TimeoutExpired:
            self.p.kill()
            self.p.wait()
            return "it never ended"


def whole(rows, size):
    """Return true if the lines agree with each other, and bytes with operations."""
    sums = {what: [sum(int(r[k]) for r in rows if r["WHAT"] == what) for k in ("OPS", "BYTESREAD", "ERRORS")]
            for what in ("QUEUE_PASS", "TARGET_PASS", "TARGET_AVERAGE", "COMBINED")}
    return len({tuple(x) for x in sums.values()}) == 1 and sums["COMBINED"][0] > 0 and \
        sums["COMBINED"][1] == sums["COMBINED"][0] * size and sums["COMBINED"][2] == 0


def test_limits_with_many_outstanding():
    file = t.make_file("limits", 1024 * KIB)
    dio = ["-dio"] if dio_works(file) else []
    lines = ["-verbose", "-qthreadinfo", "-outputformat", "new", COLUMNS]
    reads = ["-op", "read", "-targets", 1, file, *dio, *"-reqsize 4 -qd 128 -seek random -seek range 1024".split()]
    for engine in ["psync"] + [e for e in BOTH + BATCHES + KEYWORDS if e.split()[0] in ENGINES]:
        run, rows = execute(engine, reads + "-timelimit 0.01 -passes 2".split())
        t.ok(run.status == 0 and not run.err and run.seconds >= 0.02 and whole(rows, 4096),
             "%s: a time limit with 128 outstanding" % engine, run)
        if "batch 8" in engine or "fixed" in engine:
            continue
        run = Started("operation:1000", "-ioengine", *engine.split(), *reads, *lines, "-numreqs", 10 ** 9)
        status = run.end()
        rows = t.read_csv(run.csv) if os.path.exists(run.csv) else []
        t.ok(status == 5 and "This run was canceled" in run.text() and whole(rows, 4096),
             "%s: SIGINT with 128 outstanding: status 5, and results" % engine, "status %s\n%s" % (status, run.text()))


def test_max_errors_with_many_outstanding():
    file = t.make_file("errors", 16 * KIB)
    for engine in ["psync"] + [e for e in BOTH + BATCHES if e.split()[0] in ENGINES]:
        run, rows = execute(engine, ["-op", "read", "-targets", 1, file, *"-reqsize 4 -numreqs 100000 -qd 32 -maxerrors 5 -timelimit 60".split()])
        combined = [r for r in rows if r["WHAT"] == "COMBINED"]
        # Operations that are outstanding at the last permitted error may fail too.
        t.ok(run.status == 6 and combined and combined[0]["OPS"] == "4" and 5 <= int(combined[0]["ERRORS"]) < 5 + 32,
             "%s: -maxerrors with 32 outstanding" % engine, run)


def test_many_targets():
    kinds = [e for e in ("psync", "libaio", "io_uring", "mmap", "stdio") if e in ENGINES + ["mmap", "stdio"]]
    files = [t.make_file("own%d" % i, 64 * KIB) for i in range(64)]
    chosen = []
    for i in range(64):
        chosen += ["-ioengine", "target", i, kinds[i % len(kinds)]]
    run, rows = t.xdd_csv("-op", "read", "-targets", 64, *files, *chosen, *"-reqsize 4 -numreqs 17 -qd 4 -passes 2 -timelimit 60".split(),
                          "-verbose", "-qthreadinfo", "-maxerrorstoprint", 1000, "-outputformat", "new", COLUMNS)
    passes = {(int(r["TARGET"]), int(r["PASS"]), r["OPS"], r["ERRORS"], r["BYTESREAD"]) for r in rows
              if r["WHAT"] == "TARGET_PASS"}
    t.equal((run.status, passes), (6, {(i, p, "16", "1", "65536") for i in range(64) for p in (1, 2)}),
            "64 targets, each with an engine of its own")
    t.equal(sorted(failures_of(run)), sorted((str(i), "read", "4096", "65536", "16", "1", "END-OF-FILE", "0")
                                                     for i in range(64)), "64 targets: the first error of each")
    t.equal(run.err.count(": 1 more operations failed: END-OF-FILE\n"), 64, "64 targets: the others are counted")
    queues = {i: len([r for r in rows if r["WHAT"] == "QUEUE_PASS" and r["TARGET"] == str(i) and r["PASS"] == "1"])
              for i in range(64)}
    t.equal(queues, {i: 1 if kinds[i % len(kinds)] in QUEUED else 4 for i in range(64)},
            "64 targets: one QThread where an engine queues, else one an operation")
    t.equal(len([line for line in run.warnings if "without -dio" in line]), int(len(ENGINES) > 1),
            "64 targets: buffered requests are warned of once")


def test_eio_of_a_device():
    backing = t.make_file("backing", 1 << 20)
    device = s.loop_device(backing, "--direct-io=on")
    if device is None:
        return t.skip("EIO of a loop device", s.sys_why())
    os.truncate(backing, 512 * KIB)
    reads = ["-op", "read", "-targets", 1, device]
    run, _ = execute("psync", reads + "-dio -reqsize 64 -numreqs 16".split())
    if run.status != 6:
        return t.skip("EIO of a loop device", "this kernel reads what is not there")
    same("EIO in the middle of a batch", reads + "-dio -reqsize 4 -qd 64 -numreqs 400 -seek random -seek range 1024".split(),
         BOTH + BATCHES + KEYWORDS, status=6)
    same("EIO at depth 1", reads + "-dio -reqsize 64 -numreqs 16 -passes 2".split(), BOTH, status=6)
    same("EIO, buffered", reads + "-reqsize 64 -numreqs 16 -qd 16".split(), BOTH + ["mmap"] + STREAMS, status=6)
    return None


def test_not_merged():
    """The device gets requests of the size asked for: the kernel would merge adjacent ones of one submission."""
    device = s.loop_device(t.make_file("merged", 4096 * KIB), "--direct-io=on")
    stat = "/sys/block/%s/stat" % os.path.basename(device or "none")
    if not os.path.exists(stat):
        return t.skip("adjacent requests are not merged", s.sys_why())
    for engine in [e for e in BOTH if e in ENGINES]:
        before = read_words(stat)
        run, _ = execute(engine, ["-op", "read", "-targets", 1, device, *"-dio -reqsize 4 -qd 128 -bytes 4m".split()])
        after = read_words(stat)
        t.equal((run.status, after[0] - before[0], after[1] - before[1]), (0, 1024, 0),
                "%s: 1024 adjacent reads of 4 KiB are as many of the device, none of them merged" % engine)
    return None


def read_words(path):
    with open(path) as f:
        return [int(word) for word in f.read().split()]


def test_verbose():
    file = t.make_file("told", 64 * KIB)
    dio = dio_works(file)
    cases = (("libaio", r"\S"), ("io_uring", r"\S.*\S"),
             ("io_uring fixedfiles", "registered:.* file"), ("io_uring fixedbufs", "registered:.* buffers"),
             ("io_uring sqpoll", "polled submission"))
    for engine, text in cases:
        if engine.split()[0] not in ENGINES:
            t.skip("-verbose: " + engine, "this build or this kernel has no such engine")
            continue
        args = ["-op", "read", "-targets", 1, file, *"-reqsize 4 -numreqs 16 -qd 8".split()] + ["-dio"] * dio
        run = t.xdd("-ioengine", *engine.split(), *args, "-verbose")
        t.ok(run.status == 0 and re.search("^Target 0, engine %s: .*%s" % (engine.split()[0], text), run.out, re.M),
             "-verbose says what was got: " + engine, run)
        run = t.xdd("-ioengine", *engine.split(), *args)
        t.equal((run.status, ", engine " in run.out), (0, False), "without -verbose it is not said: " + engine, run)


def workers_of(process):
    """Kernel threads of io_uring in a process; none once it has ended."""
    names = 0
    for task in os.listdir("/proc/%d/task" % process.pid) if process.poll() is None else ():
        try:
            with open("/proc/%d/task/%s/comm" % (process.pid, task), encoding="ascii") as file:
                names += file.read().startswith("iou-wrk")
        except OSError:
            continue
    return names


def test_kernel_threads():
    """-verbose says whether kernel threads execute the requests; the kernel's list of the tasks of the process is the witness."""
    if "io_uring" not in ENGINES:
        return t.skip("kernel threads of io_uring", "no io_uring")
    files = [t.make_file("cached", 64 * KIB)]
    if s.MEMORY:
        files.append(s.MEMORY + "/xdd-test-%d" % os.getpid())
    for path in files:
        with open(path, "wb") as file:
            file.write(bytes(64 * KIB))
        words = t.xdd_words("-op", "read", "-targets", 1, path, *"-reqsize 4 -qd 8 -seek range 16 -timelimit 1".split(),
                            "-ioengine", "io_uring", "-verbose")
        p = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        seen = t.until(lambda p=p: workers_of(p), p)
        out = p.communicate()[0]
        said = "kernel threads execute all requests" in out
        t.equal((p.returncode, said), (0, seen > 0), "%s: -verbose agrees with the tasks of the process: %s" % (
            os.path.dirname(path), "kernel threads" if seen else "no kernel threads"))
        os.unlink(path)
    return None


t.run_together(test_offered, test_reads, test_reads_direct, test_writes, test_threads, test_fewer_threads_do_it,
               test_system_calls, test_limits_with_many_outstanding, test_max_errors_with_many_outstanding, test_many_targets,
               test_eio_of_a_device, test_not_merged, test_verbose, test_kernel_threads)
t.done()
