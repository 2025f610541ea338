#!/usr/bin/env python3
"""
Engines: the tests of options that move data run again with each engine that queues; every engine does the
same bytes, counts and errors on the same plan as psync; and what an engine cannot do is refused in one line
before anything is touched.
"""
import ctypes
import errno
import hashlib
import os
import platform
import re
import shutil
import signal
import subprocess
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.environ["TOP_SRCDIR"], "tests", "lib"))
import messages as m
import xddsys as s
import xddtest as t

t.tolerate(t.BUFFERED, t.CACHED)
t.may_warn(m.REACHES)

HERE = os.path.dirname(os.path.abspath(__file__))
QUEUED = ("libaio", "io_uring")
KIB = 1024
COLUMNS = "+WHAT+PASS+TARGET+QUEUE+OPS+READOPS+WRITEOPS+BYTESXFERED+BYTESREAD+BYTESWRITTEN+ERRORS"
# What moves data; the rest of these tests is about null, words and outputs, where no engine has a part, or goes over
# the engines by itself. MORE is as large again, and runs beside it.
SUITE = (("errors.py", "test_end_of_file test_end_of_file_direct test_eio test_eio_of_a_device test_full_disk "
          "test_max_errors test_max_errors_to_print test_stop_on_error test_short_and_interrupted test_closed_output"),
         ("arithmetic.py", "test_short_last_operation test_directions test_noop test_latency"),
         ("patterns.py", "test_random_repeats test_randomize test_targets_differ test_sequential test_interleave "
          "test_offsets"),
         ("files.py", "test_passes test_reopen test_flushwrite test_syncwrite test_threshold test_retry "
          "test_retry_in_vain test_retry_full test_preallocate test_pretruncate"),
         ("timestamps.py", "test_rows test_against_results test_strace test_failures test_wrap test_oneshot"),
         ("guide_examples.py", ""))
MORE = (("result_lines.py", ""),
        ("datapattern.py", "test_contents test_random test_reducible test_tagged"),
        ("verify.py", "test_kinds_of_places test_kinds_of_tags test_location test_nothing_transferred test_limits test_dio"),
        ("jsonout.py", "test_latency test_against_csv test_errors test_time_limits"),
        ("latency.py", "test_sums test_intervals test_errors_do_not_count"),
        ("coordinate.py", "test_guide_example test_allowance test_start_trigger test_stop_trigger test_syncio test_master_ends"),
        ("heartbeat.py", "test_targets test_passes test_files"), ("scale.py", "test_many_targets"),
        ("crosschecks.py", ""), ("deskew.py", ""))

if t.ENGINE:
    t.skip_all("this test sets the engine itself")


def offered():
    """Engines that this build and this kernel have."""
    run = t.xdd("-ioengine", "list")
    found = dict(re.findall(r"^(\S+) +(yes|no) ", run.out, re.M))
    t.equal((run.status, run.err, sorted(found)), (0, "", sorted(("psync", "libaio", "io_uring", "sg", "mmap", "null"))),
            "-ioengine list names every engine")
    reasons = re.findall(r"^(\S+) +no +.*\n +\S", run.out, re.M)
    t.equal(sorted(reasons), sorted(e for e in found if found[e] == "no"), "-ioengine list says why one is not there")
    t.equal([found.get(e) for e in ("psync", "mmap", "null", "sg")], ["yes"] * 4, "what needs no library is there")
    return [e for e in ("psync", "libaio", "io_uring") if found.get(e) == "yes"]


ENGINES = offered()


def absent(title):
    """Say SKIP for the engines that are not there."""
    for engine in QUEUED:
        if engine not in ENGINES:
            t.skip("%s: %s" % (engine, title), "this build or this kernel has no " + engine)


# The tests of other options, with each engine


class Suite(threading.Thread):
    """Runs tests one after the other; what they print is kept."""

    def __init__(self, engine, suite):
        super().__init__(daemon=True)
        self.engine, self.suite, self.printed = engine, suite, []
        self.child = None

    def run(self):
        for name, tests in self.suite:
            env = dict(os.environ, XDD_TEST_ENGINE=self.engine, XDD_TEST_ONLY=tests, XDD=os.path.abspath(t.XDD))
            self.child = subprocess.Popen([sys.executable, os.path.join(HERE, name)], stdin=subprocess.DEVNULL,
                                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=env)
            try:
                out = self.child.communicate(timeout=10 * t.TIMEOUT)[0]
            except subprocess.TimeoutExpired:
                self.child.terminate()  # it removes what it made
                out = self.child.communicate()[0]
            self.printed.append((name, out.decode(errors="replace"), self.child.returncode))

    def show(self):
        """Its results as ours."""
        self.join()
        for name, out, status in self.printed:
            title = "%s, %s: " % (self.engine, name)
            lines = out.splitlines()
            nothing = re.search(r"^1\.\.0 # SKIP (.*)", out, re.M)
            if nothing:
                t.skip(title + "all", nothing.group(1))
                continue
            for i, line in enumerate(lines):
                m = re.match(r"(not )?ok \d+ - (.*?)(?: # SKIP (.*))?$", line)
                if m and m.group(3):
                    t.skip(title + m.group(2), m.group(3))
                elif m:
                    detail = []
                    for more in lines[i + 1:]:
                        if not more.startswith("#"):
                            break
                        detail.append(more[2:])
                    t.ok(not m.group(1), title + m.group(2), "\n".join(detail))
            if not re.search(r"^1\.\.\d+$", out, re.M):
                t.ok(False, title + "runs to its end", "status %s\n%s" % (status, "\n".join(lines[-30:])))


# The same plan, every engine


FAILURE = re.compile(m.FAILURE, re.M)
COUNTS = ("OPS", "READOPS", "WRITEOPS", "BYTESXFERED", "BYTESREAD", "BYTESWRITTEN", "ERRORS")


def failures_of(run):
    """Failed operations, without QThread and name: (target, direction, bytes, offset, operation, pass, reason, done)."""
    return [f[:1] + f[2:5] + f[6:] for f in FAILURE.findall(run.err)]


def outcome(run, rows):
    """What must be the same whatever the engine."""
    lines = [tuple(r[k] for k in ("WHAT", "PASS", "TARGET") + COUNTS) for r in rows if r["WHAT"] != "QUEUE_PASS"]
    queues = [sum(int(r[k]) for r in rows if r["WHAT"] == "QUEUE_PASS") for k in COUNTS]
    others = [line for line in run.error_lines() if not FAILURE.match(line)]
    # Of those that others follow the first is shown, whichever that is.
    failures = [(f[0], f[1], f[6]) if f[6] in ("END-OF-FILE", "No space left on device") else f
                for f in failures_of(run)]
    return {"status": run.status, "failures": sorted(failures), "rows": lines, "queues": queues,
            "other lines": others}


def digest(files):
    """What is in these files."""
    result = []
    for file in files:
        with open(file, "rb") as f:
            result.append(hashlib.sha256(f.read()).hexdigest())
    return result


def execute(engine, args, timeout=t.TIMEOUT):
    """Run with all lines; returns the run and its rows."""
    return t.xdd_csv("-ioengine", *engine.split(), *args, "-verbose", "-qthreadinfo", "-maxerrorstoprint", 1000,
                     "-outputformat", "new", COLUMNS, timeout=timeout)


def restore(contents):
    for file, data in contents.items():
        with open(file, "wb") as f:
            f.write(data)
        os.utime(file)


def same(title, args, engines, contents=None, status=0):
    """
    Run the plan with psync and with each of the engines ("name keyword ..."); `contents` is what files hold
    before each run, and they are compared after it.
    """
    contents = contents or {}
    wanted = None
    for engine in ["psync"] + [e for e in engines if e.split()[0] in ENGINES or e.split()[0] == "mmap"]:
        restore(contents)
        run, rows = execute(engine, args)
        got = outcome(run, rows)
        got["contents"] = digest(contents)
        if wanted is None:
            t.ok(run.status == status and rows, "%s: psync" % title, run)
            wanted = got
            continue
        different = [k for k in wanted if got[k] != wanted[k]]
        t.ok(not different, "%s: %s does what psync does" % (title, engine),
             "".join("%s:\n got    %s\n wanted %s\n" % (k, got[k], wanted[k]) for k in different) + str(run))


def dio_works(file):
    return t.xdd("-op", "read", "-targets", 1, file, "-dio", "-reqsize", 4, "-numreqs", 1).status == 0


BOTH = ["libaio", "io_uring"]
BATCHES = ["libaio batch 8", "libaio batch 200", "io_uring batch 1", "io_uring batch 8", "io_uring batch 200"]
KEYWORDS = ["io_uring fixedbufs", "io_uring fixedfiles", "io_uring sqpoll", "io_uring sqpoll fixedbufs fixedfiles batch 4"]


def test_reads():
    file = t.make_file("reads", 256 * KIB + 1000)
    reads = ["-op", "read", "-targets", 1, file]
    everybody = BOTH + ["mmap", "mmap touch"]
    same("the end of a file", reads + "-reqsize 16 -numreqs 40 -qd 16 -passes 3 -timelimit 60".split(),
         everybody + BATCHES + KEYWORDS, status=6)
    same("random reads", reads + "-reqsize 4 -numreqs 500 -qd 7 -seek random -seek range 256 -passes 2 -randomize".split(),
         everybody)
    same("a short last operation", reads + "-reqsize 4 -bytes 100001 -qd 5 -passes 2".split(), everybody + BATCHES)
    same("the whole file", reads + "-reqsize 3 -qd 9".split(), everybody)
    same("more slots than operations", reads + "-reqsize 4 -numreqs 3 -qd 100 -passes 4".split(), everybody + BATCHES)
    same("-maxerrors", reads + "-reqsize 4 -numreqs 500 -startoffset 512 -maxerrors 4 -passes 2 -timelimit 60".split(), BOTH, status=6)
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
    mapped = BOTH + ["mmap"]
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
    same("a file that grows", ["-op", "write"] + both + "-reqsize 4 -numreqs 100 -qd 16".split(), BOTH + KEYWORDS,
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
        run = Started("-ioengine", engine, "-op", "read", "-targets", 1, file,
                      *"-reqsize 4 -numreqs 16 -qd 200 -threads 2 -passes 2 -passdelay 100".split())
        run.wait_running()
        tasks = len(os.listdir("/proc/%d/task" % run.p.pid))
        run.end()
        t.ok(tasks <= 8, engine + ": two QThreads carry a depth of 200", tasks)


def calls_of(args):
    """System calls of a run by name, or None."""
    log = t.path("strace.sum")
    options = os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0"
    run = t.command(["strace", "-f", "-c", "-o", log, t.XDD] + [str(a) for a in args], env={"ASAN_OPTIONS": options})
    with open(log) as f:
        rows = [line.split() for line in f if re.match(r" *[\d.]+ +[\d.]+ +\d+ +\d+ ", line)]
    return {row[-1]: int(row[3]) for row in rows if row[-1] != "total"} if run.status == 0 else None


def test_system_calls():
    """An operation makes the system calls of its transfer and no others, whatever is recorded of it."""
    if not s.can_trace():
        return t.skip("system calls of an operation", s.sys_why())
    file, few, many = t.make_file("calls", 256 * KIB), 500, 4500
    transfer = {"psync": {"pread64": 1}, "libaio": {"io_submit": 1, "io_getevents": 1}, "io_uring": {"io_uring_enter": 2},
                "mmap": {}, "null": {}}
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
    """A run that goes on."""

    count = 0

    def __init__(self, *args):
        Started.count += 1
        self.csv = t.path("started.%d.csv" % Started.count)
        self.files = [t.path("started.%d.%s" % (Started.count, kind)) for kind in ("out", "err")]
        with open(self.files[0], "wb") as out, open(self.files[1], "wb") as err:
            words = [str(a) for a in args] + ["-csvout", self.csv]
            self.p = subprocess.Popen([t.XDD] + words, stdin=subprocess.DEVNULL, stdout=out, stderr=err)

    def text(self):
        texts = []
        for file in self.files:
            with open(file, errors="replace") as f:
                texts.append(f.read())
        return "\n".join(texts)

    def wait_running(self):
        end = time.monotonic() + t.TIMEOUT / 2
        while not re.search(r"Target\[0\]|Target number, 0", self.text()) and self.p.poll() is None and time.monotonic() < end:
            time.sleep(0.005)
        time.sleep(1 if s.sanitized() else 0.3)

    def end(self):
        """Send SIGINT; the status."""
        if self.p.poll() is None:
            self.p.send_signal(signal.SIGINT)
        try:
            return self.p.wait(timeout=t.TIMEOUT / 2)
        except subprocess.TimeoutExpired:
            self.p.kill()
            self.p.wait()
            return "it never ended"


def whole(rows, size):
    """Whether the lines agree with each other, and bytes with operations."""
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
        run, rows = execute(engine, reads + "-timelimit 0.2 -passes 2".split())
        t.ok(run.status == 0 and not run.err and run.seconds >= 0.4 and whole(rows, 4096),
             "%s: a time limit with 128 outstanding" % engine, run)
        if "batch 8" in engine or "fixed" in engine:
            continue
        run = Started("-ioengine", *engine.split(), *reads, *lines, "-numreqs", 10 ** 9)
        run.wait_running()
        status = run.end()
        rows = t.read_csv(run.csv) if os.path.exists(run.csv) else []
        t.ok(status == 5 and "This run was canceled" in run.text() and whole(rows, 4096),
             "%s: SIGINT with 128 outstanding: status 5, and results" % engine, "status %s\n%s" % (status, run.text()))


def test_max_errors_with_many_outstanding():
    file = t.make_file("errors", 16 * KIB)
    for engine in ["psync"] + [e for e in BOTH + BATCHES if e.split()[0] in ENGINES]:
        run, rows = execute(engine, ["-op", "read", "-targets", 1, file, *"-reqsize 4 -numreqs 100000 -qd 32 -maxerrors 5 -timelimit 60".split()])
        combined = [r for r in rows if r["WHAT"] == "COMBINED"]
        # What was outstanding when the last permitted error came back may fail too.
        t.ok(run.status == 6 and combined and combined[0]["OPS"] == "4" and 5 <= int(combined[0]["ERRORS"]) < 5 + 32,
             "%s: -maxerrors with 32 outstanding" % engine, run)


def test_many_targets():
    kinds = [e for e in ("psync", "libaio", "io_uring", "mmap") if e in ENGINES + ["mmap"]]
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
    same("EIO, buffered", reads + "-reqsize 64 -numreqs 16 -qd 16".split(), BOTH + ["mmap"], status=6)
    return None


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
        t.ok(run.status == 0 and ", engine " not in run.out, "without -verbose it is not said: " + engine, run)


# Refusals


def refused(title, args, pattern, status=2, prefix=(), existing=True, **kwargs):
    """One line, that status, nothing printed, and the folder is what it was."""
    folder = t.path("refused")
    if not os.path.isdir(folder):
        os.mkdir(folder)
        os.chmod(t.tmp(), 0o711)
        os.chmod(folder, 0o777)
    data = os.path.join(folder, "data")
    restore({data: b"was here before\n" * 4096})
    before = sorted(os.listdir(folder)), os.stat(folder).st_mtime_ns, digest([data]), os.stat(data).st_mtime_ns
    run = t.command([*prefix, kwargs.pop("binary", os.path.abspath(t.XDD))] + [str(a) for a in args], cwd=folder, **kwargs)
    after = sorted(os.listdir(folder)), os.stat(folder).st_mtime_ns, digest([data]), os.stat(data).st_mtime_ns
    t.ok(run.status == status and len(run.error_lines()) == 1 and re.search("^xdd: .*" + pattern, run.err) and not run.out,
         "refused: %s: one line, status %d" % (title, status), run)
    t.ok(before == after, "refused: %s: nothing is touched" % title, "%s\n%s" % (before, after))


DATA = "-op read -targets 1 data -reqsize 4 -numreqs 2 "
NEW = "-op write -targets 1 new -reqsize 4 -numreqs 2 "


def test_refusals():
    cases = [("an engine there is none of", NEW + "-ioengine io_urng", "-ioengine io_urng: .*" + m.near("io_uring"), 3),
             ("a keyword of others", NEW + "-ioengine psync batch 4",
              "-ioengine batch: " + m.keyword_of_another("libaio and io_uring", "psync")),
             ("touch with null", NEW + "-ioengine null touch", "-ioengine touch: " + m.keyword_of_another("mmap", "null")),
             ("fua with psync", NEW + "-ioengine psync fua", "-ioengine fua: " + m.keyword_of_another("sg", "psync")),
             ("a keyword of io_uring", NEW + "-dio -ioengine libaio fixedbufs",
              "-ioengine fixedbufs: " + m.keyword_of_another("io_uring", "libaio")),
             ("sg on a plain file", DATA + "-ioengine sg", "data: -ioengine sg: " + m.SCSI_WANTED),
             ("-sgio on a plain file", DATA + "-sgio", "data: -ioengine sg: " + m.SCSI_WANTED),
             ("sg on a new file", NEW + "-ioengine sg", "new: -ioengine sg: "),
             ("mmap with -dio", DATA + "-dio -ioengine mmap", "mmap: mapped data is in the page cache: not with -dio"),
             ("mmap of a new file", NEW + "-ioengine mmap", "new: -ioengine mmap: " + m.MAPPED_CANNOT_GROW),
             ("mmap of a short file", "-op write -targets 1 data -reqsize 4 -numreqs 17 -ioengine mmap",
              "data: -ioengine mmap: " + m.MAPPED_CANNOT_GROW),
             ("-threads with psync", NEW + "-threads 2", "new: -threads: the engine psync has a QThread for each"),
             ("-threads with mmap", DATA + "-threads 2 -ioengine mmap", "-threads: the engine mmap has a QThread for each"),
             ("batch 0", NEW + "-ioengine libaio batch 0", "-ioengine batch 0: .*1 to 65536"),
             ("batch without a number", NEW + "-ioengine libaio batch", "-ioengine batch: " + m.MISSING),
             ("-threads 0", NEW + "-threads 0", "-threads 0: .*1 to 65536"),
             ("no engine", NEW + "-ioengine", "-ioengine: " + m.MISSING)]
    if "io_uring" in ENGINES:
        cases += [("a ring too deep", NEW + "-dio -qd 40000 -ioengine io_uring", "a ring holds 32768 requests at most")]
    for title, args, pattern, *status in cases:
        refused(title, args.split(), pattern, *status)
    absent("refusals")


def test_libaio_depth():
    if "libaio" not in ENGINES:
        return absent("the depth the kernel allows")
    with open("/proc/sys/fs/aio-max-nr") as f:
        most = int(f.read())
    if most >= 65536:
        return t.skip("libaio: a depth past the kernel's limit", "fs.aio-max-nr is %d, and -queuedepth ends at 65536" % most)
    return refused("libaio: a depth past the kernel's limit", (NEW + "-dio -reqsize 1 -qd %d -ioengine libaio" % (most + 1)).split(),
                   "fs.aio-max-nr")


def test_together():
    """Targets that each have room, but not all of them: the run ends before it begins, and leaves nothing."""
    if "libaio" not in ENGINES:
        return absent("contexts of several targets")
    with open("/proc/sys/fs/aio-max-nr") as f:
        most = int(f.read())
    if most > 100000:
        return t.skip("libaio: contexts of several targets", "fs.aio-max-nr is %d" % most)
    names = [t.path("together%d" % i) for i in (1, 2)]
    run = t.xdd("-op", "write", "-targets", 2, *names, *"-blocksize 512 -reqsize 1 -dio -numreqs 2 -ioengine libaio".split(),
                "-queuedepth", most * 5 // 8)
    t.ok(run.status == 2 and len(run.error_lines()) == 1 and "fs.aio-max-nr" in run.err and "COMBINED" not in run.out,
         "libaio: the depths of all targets are past the kernel's limit: one line", run)
    t.ok(not [name for name in names if os.path.exists(name)], "libaio: nothing is left behind")
    return None


def test_iopoll():
    if "io_uring" not in ENGINES:
        return absent("iopoll")
    folder = s.tmpfs("nopoll", 1 << 20)
    if folder is None:
        return t.skip("iopoll where none is", s.sys_why())
    file = os.path.join(folder, "file")
    with open(file, "wb") as f:
        f.write(bytes(65536))
    run = t.xdd("-op", "read", "-targets", 1, file, *"-reqsize 4 -numreqs 2 -dio -ioengine io_uring iopoll".split())
    t.ok(run.status == 2 and len(run.error_lines()) == 1 and re.search("-ioengine io_uring: iopoll: |-dio", run.err) and
         not run.out, "refused: iopoll on tmpfs", run)
    file = t.make_file("poll", 65536)
    run = t.xdd("-op", "read", "-targets", 1, file, *"-reqsize 4 -numreqs 2 -ioengine io_uring iopoll".split())
    t.ok(run.status == 2 and "iopoll: only requests with -dio" in run.err and not run.out, "refused: iopoll without -dio", run)
    return None


def test_memlock():
    if "io_uring" not in ENGINES:
        return absent("fixedbufs and the memlock limit")
    if not t.have("prlimit") or os.geteuid() == 0 and not t.have("setpriv"):
        return t.skip("fixedbufs and the memlock limit", "no prlimit or setpriv")
    prefix, binary = ["prlimit", "--memlock=65536:65536"], t.XDD
    if os.geteuid() == 0:
        prefix += ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--bounding-set=-all", "--inh-caps=-all"]
        binary = t.path("xdd-for-all")
        shutil.copy(t.XDD, binary)
        os.chmod(t.tmp(), 0o711)
        os.chmod(binary, 0o755)
    if t.command(prefix + [binary, "-version"]).status:
        return t.skip("fixedbufs and the memlock limit", "the binary does not run for all")
    return refused("a memlock limit too low for fixedbufs", (NEW + "-dio -qd 64 -ioengine io_uring fixedbufs").split(),
                   r"fixedbufs: .* and the memlock limit \(ulimit -l\) is 64 KiB", prefix=prefix, binary=binary)


class Instruction(ctypes.Structure):
    _fields_ = [("code", ctypes.c_ushort), ("jt", ctypes.c_ubyte), ("jf", ctypes.c_ubyte), ("k", ctypes.c_uint32)]


class Program(ctypes.Structure):
    _fields_ = [("len", ctypes.c_ushort), ("filter", ctypes.POINTER(Instruction))]


def forbid(number, error):
    """What makes a system call fail in this process and in what it runs."""
    rules = ((0x20, 0, 0, 0), (0x15, 0, 1, number), (0x06, 0, 0, 0x00050000 | error), (0x06, 0, 0, 0x7fff0000))
    program = Program(len(rules), (Instruction * len(rules))(*[Instruction(*r) for r in rules]))
    libc = ctypes.CDLL(None, use_errno=True)

    def apply():
        if libc.prctl(38, 1, 0, 0, 0) or libc.prctl(22, 2, ctypes.byref(program), 0, 0):
            raise OSError(ctypes.get_errno(), "seccomp")
    return apply


def test_seccomp():
    setup = {"x86_64": 206, "aarch64": 0}.get(platform.machine())
    for engine, number, error, pattern in (("io_uring", 425, errno.EPERM, "a seccomp filter forbids io_uring|io_uring is "),
                                           ("io_uring", 425, errno.ENOSYS, "no io_uring .*or a seccomp filter hides"),
                                           ("libaio", setup, errno.EPERM, "a seccomp filter forbids asynchronous"),
                                           ("libaio", setup, errno.ENOSYS, "a seccomp filter hides it")):
        title = "%s where seccomp answers %s" % (engine, errno.errorcode[error])
        if engine not in ENGINES or number is None:
            t.skip(title, "this build, kernel or machine has no such engine")
            continue
        try:
            if t.command(["true"], preexec_fn=forbid(number, error)).status:
                raise OSError
        except (OSError, subprocess.SubprocessError):
            t.skip(title, "this kernel takes no seccomp filter")
            continue
        refused(title, (NEW + "-dio -ioengine " + engine).split(), "new: -ioengine %s: .*(%s)" % (engine, pattern),
                preexec_fn=forbid(number, error))
        run = t.xdd("-ioengine", "list", preexec_fn=forbid(number, error))
        t.ok(run.status == 0 and re.search(r"^%s +no .*\n +.*(%s)" % (engine, pattern), run.out, re.M),
             title + ": -ioengine list says so", run)


def test_sysctl():
    """The kernel says EPERM, as a seccomp filter does, and a sysctl (a stand-in for it) says why."""
    sysctl = "/proc/sys/kernel/io_uring_disabled"
    if "io_uring" not in ENGINES or not os.path.exists(sysctl):
        return t.skip("io_uring disabled by sysctl", "no io_uring, or no such sysctl in this kernel")
    stand_in = t.path("io_uring_disabled")
    prefix = ["unshare", "-m", "sh", "-c", 'mount --bind "$0" %s && exec "$@"' % sysctl, stand_in]
    for value, pattern in ((1, "io_uring is for the administrator and one group: the sysctl kernel.io_uring_disabled is 1"),
                           (2, "io_uring is switched off: the sysctl kernel.io_uring_disabled is 2")):
        with open(stand_in, "w") as f:
            f.write("%d\n" % value)
        try:
            if t.command(prefix + ["cat", sysctl], preexec_fn=forbid(425, errno.EPERM)).out != "%d\n" % value:
                raise OSError
        except (OSError, subprocess.SubprocessError):
            t.skip("io_uring disabled by sysctl, %d" % value, "no mounts in a namespace, or no seccomp")
            continue
        refused("io_uring disabled by sysctl, %d" % value, (NEW + "-dio -ioengine io_uring").split(), pattern, prefix=prefix,
                preexec_fn=forbid(425, errno.EPERM))
    return None


suites = [Suite(engine, suite) for suite in (SUITE, MORE) for engine in QUEUED if engine in ENGINES]


def main():
    if not os.environ.get("XDD_TEST_ONLY"):
        for suite in suites:
            suite.start()
    try:
        t.run(test_reads, test_reads_direct, test_writes, test_threads, test_fewer_threads_do_it, test_system_calls,
              test_limits_with_many_outstanding, test_max_errors_with_many_outstanding, test_many_targets,
              test_eio_of_a_device, test_verbose, test_refusals, test_libaio_depth, test_together, test_iopoll, test_memlock, test_seccomp, test_sysctl)
        for suite in suites:
            if suite.ident:
                suite.show()
        absent("the tests of other options")
    finally:
        for suite in suites:
            if suite.is_alive() and suite.child:
                suite.child.terminate()


main()
t.done()
