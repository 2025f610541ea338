#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""
Large runs, long runs, and runs that end before their time: many targets, memory that stays what it was,
signals at any moment, devices that never answer, and what is left behind.

XDD_TEST_LONG=1 makes the long runs as long as they are promised to be: 10^9 operations.
"""
import collections
import os
import re
import resource
import shutil
import signal
import subprocess

import messages as m
import xddhold
import xddsys as s
import xddtest as t

AT_ONCE_S = 0.1    # of virtual time, which passes while all threads wait
LONG = os.environ.get("XDD_TEST_LONG", "0") not in ("", "0")


class Started:
    """A run that goes on; its output goes to files, so that nothing waits for this test."""

    count = 0

    def __init__(self, *args, env=None, **kwargs):
        Started.count += 1
        self.csv = t.path("started.%d.csv" % Started.count)
        self.out, self.err = t.path("started.out"), t.path("started.err")
        with open(self.out, "wb") as out, open(self.err, "wb") as err:
            self.p = subprocess.Popen([t.XDD] + [str(a) for a in args] + ["-csvout", self.csv],
                                      stdin=subprocess.DEVNULL, stdout=out, stderr=err,
                                      env=dict(os.environ, **(env or {})), **kwargs)

    def end(self, number=None):
        """Send a signal; returns the status."""
        if number and self.p.poll() is None:
            self.p.send_signal(number)
        try:
            return self.p.wait(timeout=t.TIMEOUT / 2)
        except subprocess.TimeoutExpired:
            self.p.kill()
            self.p.wait()
            return "it never ended"

    def text(self):
        return "stderr:\n%s\nstdout:\n%s" % (read(self.err), read(self.out))


def read(file):
    with open(file, errors="replace") as f:
        return f.read()


# Many targets


def test_many_targets():
    file = t.make_file("shared", 64 * 1024)
    for words in ([], ["-nobarrier"]):
        # A pipe that is full would take time.
        run, rows = t.xdd_csv(*"-op read -reqsize 4 -numreqs 16 -queuedepth 4 -passes 2 -verbose".split(), "-targets",
                              -512, file, *words, stdout=subprocess.DEVNULL)
        title = "512 targets, queue depth 4%s" % "".join(words)
        t.equal((run.status, run.error_lines()), (0, []), title)
        t.equal(sorted((int(r["TARGET"]), int(r["PASS"])) for r in rows if r["WHAT"] == "TARGET_PASS" and
                       (r["OPS"], r["BYTESXFERED"]) == ("16", "65536")),
                [(n, p) for n in range(512) for p in (1, 2)], title + ": every pass of every target")
        t.equal([(r["TARGET"], r["QUEUE"], r["OPS"]) for r in rows if r["WHAT"] == "COMBINED"],
                [("512", "2048", str(512 * 16 * 2))], title + ": COMBINED")
        t.ok((exactly(run) or 0) < AT_ONCE_S, title + ": starts and ends without a wait", run.seconds)


def test_too_many_threads():
    # More than kernel.pid_max can be.
    words = ["-op", "noop", "-targets", -64, "null", "-queuedepth", 65536, "-numreqs", 1]
    run = t.xdd(*words, "-dryrun", "-ioengine", "psync", timeout=30)
    t.ok(run.status == 2 and not run.out and len(run.error_lines()) == 1 and
         re.search(r"^xdd: -targets, -queuedepth: the run needs 4194306 threads: .* leaves room for \d+; use fewer targets or a smaller queue depth$", run.err),
         "more threads than the machine lets start: refused at once", run)
    if os.geteuid() != 0 or not t.have("setpriv") or not t.have("prlimit"):
        return t.skip("the limit on threads of a user", "that needs root, setpriv and prlimit")
    # In a directory of its own: those above it may be closed to others.
    user = ["setpriv", "--reuid=%d" % s.idle_user(), "--clear-groups", "prlimit", "--nproc=6", "./xdd"]
    os.chmod(shutil.copy(t.XDD, t.path("xdd")), 0o755)
    os.chmod(t.tmp(), 0o755)
    run = t.command(user + "-op noop -targets 1 null -queuedepth 6 -numreqs 6 -ioengine psync".split(), cwd=t.tmp())
    t.equal((run.status, "needs 8 threads: the limit on processes (ulimit -u), 6, leaves room for 5" in run.err),
            (2, True), "ulimit -u: the message says it", run)
    # A sanitizer may have a thread of its own.
    run = t.command(user + ["-queuedepth", str(2 if s.sanitized() else 3)] +
                    "-op noop -targets 1 null -numreqs 6 -ioengine psync".split(), cwd=t.tmp())
    t.equal((run.status, run.err), (0, ""), "ulimit -u: all that there is room for", run)
    return None


def test_claims_given_back():
    """A run that cannot be set up lets go of the devices that it has claimed."""
    if s.can_trace() is None:
        return t.skip("a device is let go of when the set-up fails", s.sys_why())
    device = s.loop_device(s.sparse_file("claimed.img", 1 << 20))
    if device is None:
        return t.skip("a device is let go of when the set-up fails", s.sys_why())
    log = t.path("claimed")
    own = "thread" in os.environ.get("XDD_SANITIZERS", "")  # that sanitizer has a thread of its own, the first
    run = t.command(s.strace(log, "openat,close,clone,clone3", "-e", "inject=clone,clone3:error=EAGAIN:when=%d" % (3 if own else 2)) +
                    [t.XDD, "-op", "write", "-targets", "1", device, "-numreqs", "1"])
    with open(log) as f:
        trace = f.read()
    failed = trace.rfind("EAGAIN")
    claims = re.findall(r'openat\([^,]*, "%s", [^)]*O_EXCL[^)]*\) += (\d+)' % device, trace[:failed])
    t.ok(run.status == 1 and failed > 0 and claims and re.search(r"close\(%s<[^>]*>\) += 0" % claims[-1], trace[failed:]),
         "a device is let go of when the set-up fails", "%s\n%s" % (run, trace[-2000:]))
    return None


def can_write(file):
    try:
        os.close(os.open(file, os.O_WRONLY))
        return True
    except OSError:
        return False


def bad_targets(directory):
    """(what it is, its name) of targets that cannot be written to; the first two pass any look from outside."""
    yield "a link to a directory that is missing", os.path.join(directory, "link")
    if not can_write(os.path.join(directory, "program")):  # some kernels let one
        yield "a program that runs", os.path.join(directory, "program")
    yield "a file in no directory", os.path.join(directory, "nowhere/file")
    yield "a directory", os.path.join(directory, "directory")


def test_one_bad_target():
    directory = t.path("written")
    os.makedirs(os.path.join(directory, "directory"))
    os.symlink("nowhere/file", os.path.join(directory, "link"))
    shutil.copy(shutil.which("sleep"), os.path.join(directory, "program"))
    before = os.path.join(directory, "before")
    with open(before, "wb") as f:
        f.write(b"was here before")
    # Several names for a program of many tools go by the name it is called by.
    program = subprocess.Popen(["sleep", "1000"], executable=os.path.join(directory, "program"))
    there = sorted(os.listdir(directory))
    for what, bad in bad_targets(directory):
        for place in (0, 37, 63):
            names = [os.path.join(directory, "new%d" % i) for i in range(64)]
            names[5], names[place] = before, bad
            run = t.xdd("-op", "write", "-targets", 64, *names, *"-numreqs 100 -reqsize 4 -queuedepth 2".split())
            title = "64 targets, number %d is %s" % (place, what)
            t.ok(run.status == 4 and (exactly(run) or 0) < AT_ONCE_S, title + ": ends at once with status 4", run)
            t.equal((len(run.error_lines()), "target %d," % place in run.err, bad in run.err), (1, True, True),
                    title + ": one line names it", run.err)
            t.equal(sorted(os.listdir(directory)), there, title + ": nothing is left behind")
            t.ok("COMBINED" not in run.out, title + ": no results", run)
    program.kill()
    program.wait()
    t.equal(read(before), "was here before", "a file that was there is what it was")
    run = t.xdd("-op", "read", "-targets", 64, *[before] * 63, os.path.join(directory, "missing"), "-numreqs", 1)
    t.equal((run.status, len(run.error_lines()), "target 63," in run.err), (4, 1, True),
            "one target to read is missing", run)


def test_no_more_threads():
    if s.sanitized():
        return t.skip("threads that cannot be started", "sanitizers want more memory than the limit")
    directory = t.path("threads")
    os.mkdir(directory)
    for kib in (60000, 150000, 400000):
        run = t.command(["sh", "-c", 'ulimit -v "$0" && exec "$@"', str(kib), t.XDD, "-op", "write"] +
                        "-queuedepth 4 -numreqs 3 -targets 512".split() +
                        [os.path.join(directory, "new%d" % i) for i in range(512)])
        named = re.search(r"target \d+, .*(cannot be started|buffers of QThread|engine psync: Cannot allocate)|"
                          r"memory for the results: Cannot allocate", run.err)
        t.ok(run.status == 4 and len(run.error_lines()) == 1 and named,
             "threads that cannot be started end the run, %d KiB" % kib, run)
        t.equal(os.listdir(directory), [], "and leave nothing behind, %d KiB" % kib)
    return None


# Memory


def resident_kib(pid):
    """The resident memory of the process; exact, unlike the counters in /proc/PID/status."""
    for file, name in (("smaps_rollup", "Rss"), ("status", "VmRSS")):
        try:
            return int(re.search(r"^%s:\s+(\d+) kB" % name, read("/proc/%d/%s" % (pid, file)), re.M).group(1))
        except (OSError, AttributeError):
            pass
    return 0


def peak_kib(*args):
    """The most that a run has in memory up to the end of its first pass."""
    with xddhold.at("pass ended:1") as h:
        run = Started(*args, *"-targets 1 null -reqsize 4 -passes 2".split(), env=h.env)
        h.wait(run.p)
        peak = int(re.search(r"^VmHWM:\s+(\d+) kB", read("/proc/%d/status" % run.p.pid), re.M).group(1))
        now = resident_kib(run.p.pid)
    t.equal(run.end(signal.SIGINT) in (0, 5), True, "memory: a run of %s" % " ".join(str(a) for a in args), run.text())
    return max(peak, now)


def test_memory():
    if s.sanitized():
        return t.skip("memory does not grow", "a build with sanitizers")
    many = 10 ** 9 if LONG else 10 ** 7
    short = peak_kib("-op", "noop", "-numreqs", 1000)
    t.ok(short > 500, "memory: 1000 operations", short)
    for title, args in (("%d operations" % many, ["-op", "noop", "-numreqs", many]),
                        ("10^6 random offsets", "-op noop -numreqs 1000000 -seek random".split()),
                        ("10^6 mixed operations", "-rwratio 30 -numreqs 1000000".split())):
        long = peak_kib(*args)
        t.ok(long <= short + 1024, "memory: %s take no more than 1000" % title, "%d KiB, %d KiB" % (short, long))
    return None


def test_memory_of_passes():
    if s.sanitized():
        return t.skip("memory does not grow with passes", "a build with sanitizers")
    sizes = []
    for passes in (10, 5000):
        with xddhold.at("pass ended:%d" % passes) as h:
            run = Started(*("-op noop -targets 2 null null -numreqs 10 -queuedepth 2 -qthreadinfo -outputformat new +WHAT "
                            "-passes 1000000").split(), env=h.env)
            h.wait(run.p)
            sizes.append(resident_kib(run.p.pid))
            run.p.send_signal(signal.SIGINT)
        t.equal(run.end(), 5, "memory: a run of many passes", run.text())
    t.ok(0 < sizes[0] and sizes[1] <= sizes[0] + 1024, "memory: 5000 passes take no more than 10", sizes)
    return None


# The end by a signal


def exactly(what):
    """The time of a run, or one; the thread that looks for leaks reads the clock as well, and lets time pass."""
    return None if s.sanitized() else getattr(what, "seconds", what)


def check_canceled(title, number, run, rows, seconds=None):
    """A run that a signal has ended: its status, after so many seconds where that is known, and what it wrote."""
    t.equal((run.status, seconds and exactly(run)), (5, seconds and exactly(seconds)), title + ": status 5, at once", run)
    t.ok(run.err.count("\n") == 1 and "SIG" + number.name[3:] in run.err, title + ": a line names the signal", run)
    lines = run.out.splitlines()
    t.ok(lines[-1] == " This run was canceled" and lines[-2].startswith("Ending time for this run, "),
         title + ": the last lines say so", run)
    t.ok(not rows or None not in rows[-1].values(), title + ": CSV is whole", rows[-1:])


def check_sums(rows, title, targets):
    """The lines of a run that was cut short still add up."""
    ops = {what: sum(int(r["OPS"]) for r in rows if r["WHAT"] == what)
           for what in ("QUEUE_PASS", "TARGET_PASS", "TARGET_AVERAGE", "COMBINED")}
    t.ok(len(set(ops.values())) == 1 and [r["WHAT"] for r in rows].count("COMBINED") == 1 and
         rows[-1]["WHAT"] == "COMBINED", title + ": its lines add up to COMBINED", ops)
    seen = [(r["TARGET"], r["PASS"]) for r in rows if r["WHAT"] == "TARGET_PASS"]
    t.ok(len(seen) == len(set(seen)) and len({target for target, _ in seen}) <= targets, title + ": each pass once")


def test_signals():
    """Each clock reading takes a microsecond, and a signal comes at the same reading in each run."""
    file = t.make_file("signals", 4 << 20)
    signals = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    for i in range(7):
        number = signals[i % 3]
        words = ["-nobarrier"] if i % 2 else []
        run, rows = t.xdd_csv("-op", "read", "-op", "target", 2, "write", "-targets", 3, file, "null", t.path("out%d" % i),
                              *"-reqsize 16 -numreqs 256 -queuedepth 2 -passes 1000000 -verbose -qthreadinfo".split(), *words,
                              at={0.01 + i * 0.0011: number}, step=1000, tolerate=(m.DIRTY, m.BUSY))
        title = "%s %d us into a run%s" % (number.name, 10000 + i * 1100, "".join(words))
        check_canceled(title, number, run, rows)
        check_sums(rows, title, 3)
        t.ok("TARGET_PASS" in run.out, title + ": it has ended a pass", run)


def test_signals_at_the_start():
    """At the first readings of the clock, one after the other."""
    file, results = t.make_file("start", 1 << 20), collections.Counter()
    for moment in range(60):
        number = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)[moment % 3]
        out = t.path("start.%d.csv" % moment)
        run = t.xdd(*"-op read -reqsize 4 -numreqs 40 -passes 1000000 -queuedepth 3 -verbose".split(), "-csvout", out,
                    "-targets", -20, file, *["-nobarrier"] * (moment // 3 % 2), at={moment * 1e-6: number}, step=1000, tolerate=m.BUSY)
        # Before any output is opened the signal does what it always does.
        early = run.status == -number and not os.path.exists(out)
        results["by the signal" if early else "with results" if run.status == 5 else str(run)] += 1
    t.equal((sorted(results), sum(results.values())), (["by the signal", "with results"], 60), "signals while a run starts", results)


def test_signals_while_waiting():
    for title, args in (("a pass delay", "-numreqs 10 -passes 5 -passdelay 1000"), ("a start delay", "-numreqs 10 -startdelay 1000"),
                        ("an operation delay", "-numreqs 10 -operationdelay 1000"),
                        ("a pass delay, -nobarrier", "-numreqs 10 -passes 5 -passdelay 1000 -nobarrier"),
                        ("a start delay of one target", "-numreqs 100 -startdelay target 1 1000")):
        run, rows = t.xdd_csv("-op", "noop", "-targets", 2, "null", "null", *args.split(), "-verbose", "-qthreadinfo",
                              at={0.2: signal.SIGINT})
        check_canceled("SIGINT in " + title, signal.SIGINT, run, rows, 0.2)
        if rows:
            check_sums(rows, "SIGINT in " + title, 2)
    # Two kinds, so that both arrive; one after the other, as timeout(1) sends to the process and to its group.
    with xddhold.at("operation:1") as h:
        run = Started("-op", "noop", "-targets", 1, "null", "-timelimit", 30, env=h.env)
        h.wait(run.p)
        # It takes both at one moment.
        run.p.send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, run.p.pid, os.WSTOPPED | os.WNOWAIT)
        run.p.send_signal(signal.SIGTERM)
        run.p.send_signal(signal.SIGINT)
        run.p.send_signal(signal.SIGCONT)
    t.equal((run.end(), "COMBINED" in read(run.out)), (5, True), "two signals at once are one: results", run.text())
    # nohup: a hang-up is not for this process
    run = t.xdd(*"-op noop -targets 1 null -operationdelay 0.1 -numreqs 10".split(), at={0.4: signal.SIGHUP},
                preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
    t.equal((run.status, exactly(run)), (0, exactly(1)), "a hang-up that is ignored stays ignored", run)


def test_hang():
    env = s.faults("hang", start=1 << 20, end=(1 << 20) + (1 << 18), file="stuck")
    if env is None:
        return t.skip("a device that never answers", s.sys_why())
    stuck, good = t.make_file("stuck", 4 << 20), t.make_file("good", 4 << 20)

    def run(signals, *words):
        return t.xdd_csv("-op", "read", "-targets", 2, good, stuck, *"-reqsize 256 -numreqs 16 -queuedepth 4 -passes 3".split(),
                         "-operationdelay", "1ms", "-verbose", "-qthreadinfo", *words, env=env, at={at: signal.SIGINT for at in signals})

    for words in ([], ["-nobarrier"]):
        title = "a read that never returns%s" % "".join(words)
        # All else is done after a second. What is outstanding has 3 s more.
        done, rows = run([1], *words)
        t.equal((done.status, done.seconds), (5, 4), title + ": SIGINT ends the run", done)
        t.ok(re.search(r"target 1, .*stuck: 1 operation.* outstanding", done.err), title + ": it is named", done)
        t.ok("target 0," not in done.err, title + ": and no other", done)
        passes = [(r["TARGET"], r["PASS"], r["OPS"]) for r in rows if r["WHAT"] == "TARGET_PASS"]
        t.equal((("0", "1", "16") in passes, ("1", "1", "15") in passes), (True, True),
                title + ": results of what was done", rows)
        check_sums(rows, title, 2)
        t.ok(done.out.endswith(" This run was canceled\n"), title + ": the last line", done)
    done, _ = run([1, 1.3])
    t.equal((done.status, done.seconds), (5, 1.3), "the second SIGINT ends at once", done)
    return None


def test_hang_and_error():
    env = s.faults("hang", start=0, file="stuck")
    if env is None:
        return t.skip("an error beside a device that never answers", s.sys_why())
    stuck, short = t.make_file("stuck", 64 * 1024), t.make_file("short", 1024)
    run = t.xdd("-op", "read", "-targets", 2, stuck, short, *"-reqsize 1 -numreqs 3 -stoponerror -timelimit target 1 60 -verbose".split(),
                *"-startdelay target 1 1".split(), env=env, warns=m.REACHES)
    t.equal((run.status, run.seconds), (6, 4), "-stoponerror ends a run with a read that never returns", run)
    t.ok(re.search("target 0, .*outstanding", run.err), "and names what is outstanding", run)
    return None


def test_kill():
    directory = t.path("killed")
    os.mkdir(directory)
    names = [os.path.join(directory, name) for name in ("a", "b")]
    with xddhold.at("pass ended:5") as h:
        run = Started("-op", "write", "-targets", 2, *names, *"-reqsize 64 -numreqs 16 -passes 1000000 -verbose".split(),
                      "-seek", "save", os.path.join(directory, "seeks"), "-output", os.path.join(directory, "output"), env=h.env)
        h.wait(run.p)
        status = run.end(signal.SIGKILL)
    t.equal((status, sorted(os.listdir(directory))), 
            (-signal.SIGKILL, ["a", "b", "output", "seeks.T0.txt", "seeks.T1.txt"]),
            "kill -9: nothing is left behind but targets and outputs")
    lines = read(run.csv).splitlines()
    t.ok(len({line.count(",") for line in lines[:-1]}) == 1, "kill -9: the CSV file has whole lines up to its last")


def test_kill_while_saving():
    for number in (signal.SIGKILL, signal.SIGINT):
        directory = t.path("saving-" + number.name)
        os.mkdir(directory)
        # A whole list would be larger than files may be.
        run = Started("-op", "noop", "-targets", 1, "null", *"-numreqs 100000000 -seek random -seek save".split(),
                      os.path.join(directory, "seeks"),
                      preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (256 << 20, 256 << 20)))
        t.until(lambda: s.io_bytes(run.p.pid, "wchar") > 1 << 20, run.p)
        status = run.end(number)
        t.equal(status, -number, "%s while a list is saved" % number.name, run.text())
        t.equal(os.listdir(directory), [], "%s while a list is saved: no part of it is left" % number.name)


t.virtual_time()
t.tolerate(t.CACHED)
t.run_together(test_many_targets, test_too_many_threads, test_claims_given_back, test_one_bad_target, test_no_more_threads,
               test_memory, test_memory_of_passes, test_signals, test_signals_at_the_start, test_signals_while_waiting,
               test_hang, test_hang_and_error, test_kill, test_kill_while_saving)
t.done()
