# SPDX-License-Identifier: GPL-2.0-or-later
"""Helpers for functional tests in Python that print TAP (standard library only).

A test imports it as t, from the PYTHONPATH that run-test sets, and ends with t.run_all(), or t.done(). The binary is
named by $XDD; t.tmp is a directory of the test's own, made when first asked for and removed at the end.
"""
import atexit
import csv
import os
import pty
import re
import select
import shlex
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import time
import traceback
import messages as m

XDD = os.environ.get("XDD") or sys.exit("XDD must name the xdd binary; \"make check\" sets it")
TIMEOUT = 300
# Kinds of sanitizers of the build, and the library of virtual_time().
XDD_SANITIZERS = os.environ.get("XDD_SANITIZERS", "")
# A processor that this process may use: a suite may be confined to some without 0.
PROCESSOR = str(min(os.sched_getaffinity(0)))
CLOCK = os.path.join(os.environ.get("TOP_BUILDDIR", "."), "tests", "lib", "clock.so")
_virtual, _step_ns = XDD_SANITIZERS != "thread", 1000
# The engine that runs are to have, in the words of -ioengine; a test may be run once for each.
ENGINE = os.environ.get("XDD_TEST_ENGINE", "")
# Warnings that a test may tolerate, see tolerate(): patterns of the first part of the line.
CACHED = m.CACHED            # small files are in the page cache, or all holes
BUFFERED = m.BUFFERED        # engines that queue, on files without -dio: only commands that name one print it
QUEUEING = {"libaio", "io_uring"}
# Runs in real time may print these on a machine that does something else as well.
REAL_TIME = (m.BUSY, m.OTHERS_USE_DEVICE, m.RATE_NOT_REACHED, m.BANDWIDTH_NOT_REACHED, m.STARTED_LATE, m.DIRTY, m.BECAME_SLOW,
             m.FEWER_PASSES_RUN, m.STOPPED, CACHED)

FOR_ENGINE = (BUFFERED,) if ENGINE else ()



def _on_loop():
    """True: the directory of tests is on a loop device, which runs that move enough say."""
    device = os.stat(tempfile.gettempdir()).st_dev
    return os.path.isdir("/sys/dev/block/%d:%d/loop" % (os.major(device), os.minor(device)))


def _has_direct_io():
    """False where a file cannot be opened for it, and in memory, where it can but is read from the page cache."""
    device = os.stat(tempfile.gettempdir()).st_dev
    with open("/proc/self/mountinfo", encoding="utf-8", errors="replace") as mounts:
        for words in map(str.split, mounts):
            if words[2] == "%d:%d" % (os.major(device), os.minor(device)) and words[words.index("-") + 1] == "tmpfs":
                return False
    with tempfile.TemporaryFile() as f:
        try:
            os.close(os.open("/proc/self/fd/%d" % f.fileno(), os.O_RDWR | os.O_DIRECT))
        except OSError:
            return False
    return True


FOR_PLACE = (*((m.LOOP_BUFFERED,) if _on_loop() else ()), *(() if _has_direct_io() else (m.DIO_CACHED,)))

# Tests override options of a command line that they share; tests/func/repeated.py is about this warning.
OVERRIDDEN = (m.REPEATED,)

_judged = True
_possible = []
_tolerated = [*FOR_ENGINE, *FOR_PLACE, *OVERRIDDEN]

_count = 0
_failed = 0
_tmp = None


def tmp():
    """The test's own directory."""
    global _tmp
    if _tmp is None:
        _tmp = tempfile.mkdtemp(prefix="xddtest.")
        # Unlike shutil.rmtree(), rm takes trees of any depth.
        atexit.register(subprocess.run, ["rm", "-rf", "--one-file-system", "--", _tmp], stderr=subprocess.DEVNULL, check=False)
    return _tmp


def short_tmp():
    """A directory of the test whose name leaves room for the names of sockets."""
    name = os.environ["XDD_TEST_SHORT"]
    try:
        os.mkdir(name, 0o700)
    except FileExistsError:
        found = os.lstat(name)
        if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid():
            raise
    return name


def path(name):
    """A name in the test's own directory."""
    return os.path.join(tmp(), name)


def diag(text):
    for line in str(text).splitlines()[:200]:
        print("# " + line)


def _first_false(call):
    """The first condition of `ok(a and b, ...)`, called in frame `call`, that does not hold; "" where that is not known."""
    # Only a failed test needs these modules, and importing them takes 14 ms.
    import ast
    import inspect
    try:
        at = inspect.getframeinfo(call).positions
        with open(call.f_code.co_filename) as f:
            tree = ast.parse(f.read())
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and (node.lineno, node.col_offset, node.end_lineno) == (
                    at.lineno, at.col_offset, at.end_lineno) and isinstance(node.args[0], ast.BoolOp):
                if isinstance(node.args[0].op, ast.And):
                    for value in node.args[0].values:
                        if not eval(compile(ast.Expression(value), "condition", "eval"), call.f_globals, call.f_locals):
                            return ast.unparse(value)
    except Exception as e:
        return "unknown: %r" % e
    return ""


def ok(passed, description, detail=""):
    """One result; `detail` is shown when it failed, and which of several conditions joined by `and` does not hold."""
    global _count, _failed
    _count += 1
    if not passed:
        _failed += 1
    print("%s %d - %s" % ("ok" if passed else "not ok", _count, description))
    if not passed:
        condition = _first_false(sys._getframe(1))
        if condition:
            diag("does not hold: " + condition)
    if not passed and detail != "":
        diag(detail)
    sys.stdout.flush()
    return bool(passed)


def equal(got, wanted, description, detail=""):
    """One result; what differs is shown when it failed, and `detail`. Several values that belong together are tuples."""
    return ok(got == wanted, description, "got:    %r\nwanted: %r\n%s" % (got, wanted, detail))


def skip(description, reason):
    global _count
    _count += 1
    print("ok %d - %s # SKIP %s" % (_count, description, reason))


def skip_all(reason):
    print("1..0 # SKIP %s" % reason)
    sys.exit(0)


def have(command):
    return shutil.which(command) is not None


def done():
    print("1..%d" % _count)
    sys.exit(1 if _failed else 0)


class Run:
    """
    The outcome of a command: status, out, err, seconds (how long it took), begin_ns (by the wall clock in virtual time), and
    for xdd its results. What copies print on a machine that stands still is not in `err`: notes of sides that met too
    slowly are in `slow_meeting`, and lines of the progress after 5 s in `progress`.
    """

    def __init__(self, args, status, out, err):
        self.args, self.status, self.out = args, status, out
        lines = err.splitlines(True)
        self.slow_meeting = [line for line in lines if re.search(m.SLOW_MEETING, line)]
        self.progress = [line for line in lines if re.search(m.COPY_PROGRESS, line)]
        self.err = "".join(line for line in lines if line not in self.slow_meeting + self.progress)

    def __str__(self):
        return "command: %s\nstatus:  %s\nstderr:\n%s\nstdout:\n%s" % (
            " ".join(self.args), self.status, self.err, self.out)

    def error_lines(self):
        return [line for line in self.err.splitlines() if line.strip()]

    def rows(self):
        """Result lines of the text output as dictionaries by heading."""
        names, rows = None, []
        for line in self.out.splitlines():
            words = line.split()
            if not words:
                continue
            if words[0] == "What":
                names = words
            elif names and re.match(r"(QUEUE_PASS|TARGET_PASS|TARGET_AVERAGE|COMBINED)$", words[0]):
                rows.append(dict(zip(names, words)))
        return rows

    def row(self, what, **fields):
        """The one row of that kind whose fields have these values, or None."""
        found = [r for r in self.rows() if r["What"] == what and
                 all(r.get(k) == str(v) for k, v in fields.items())]
        return found[0] if len(found) == 1 else None


def tolerate(*patterns):
    """
    Warnings that any run of this test may print: they are taken out of Run.err. No effect after
    look_at_all_warnings().
    """
    if _judged:
        _tolerated.extend(patterns)


def may_warn(*patterns):
    """Warnings that runs of this test may print and that its results look at: they stay in Run.err."""
    _possible.extend(patterns)


def look_at_all_warnings():
    """For a test whose subject they are: it sees all of them in Run.err, and judges them itself."""
    global _judged
    _judged = False
    _tolerated[:] = FOR_ENGINE + FOR_PLACE


def without(err, *patterns, unless=(), virtual=False):
    """
    Standard error without the warnings that match, those that the test tolerates, and in real time those of REAL_TIME; but
    with `unless`.
    """
    patterns = (*patterns, *_tolerated, *(REAL_TIME if _judged and not virtual else ()))

    def one_of(those, line):
        return any(re.search(pattern, line) for pattern in those)
    return "".join(line for line in err.splitlines(True) if not line.startswith("xdd: warning: ") or
                   one_of(unless, line) or not one_of(patterns, line))


def check_warnings(run, warns, tolerated, virtual=False):
    """
    A result that fails, when a run prints a warning that the caller does not expect, or lacks one of `warns`, which are
    patterns. Those that are tolerated leave Run.err, and so does BUFFERED where the words name an engine that queues.
    """
    run.warnings = [line for line in run.err.splitlines() if line.startswith("xdd: warning: ")]
    warns = (warns,) if isinstance(warns, str) else warns
    if _judged and not QUEUEING.isdisjoint(run.args):
        tolerated = (*tolerated, BUFFERED)
    run.err = without(run.err, *tolerated, unless=(*warns, *_possible), virtual=virtual)
    if not _judged:
        return
    wrong = ["unexpected: " + line for line in without(run.err, *warns, *_possible, virtual=virtual).splitlines() if line in run.warnings]
    wrong += ["missing: " + p for p in warns if not any(re.search(p, line) for line in run.warnings)]
    if wrong:
        ok(False, "the warnings of the next result's command", "%s\n%s" % ("\n".join(wrong), run))


def virtual_time():
    """
    For a test about time: skip it where commands do not run in virtual time (tests/lib/clock.c). There a wait takes no time,
    a run is the same each time, and Run.seconds is exact. `at` of a command is what happens when, by seconds: a signal,
    "+SECONDS" for a process that stands still for so long, or the words of another command, which runs to its end. `step`
    lets work take time: so many nanoseconds for each reading of the clock; with "NS,idle" no thread works in that time.
    `device` is a law for files: "part-of-name 1000000,2000000 [servers]" (ns), "... exponential:1000000", "... hang:7,1000".
    `real=True` keeps a command in real time. In tests that do not call this, work takes a microsecond for each reading.
    """
    global _step_ns
    _step_ns = 0
    if not _virtual:
        skip_all("one thread runs at a time in virtual time: nothing for the thread sanitizer to find")


def real_time():
    """
    For a test of what takes real time: devices, peers, processor time. Its commands run in real time, and may print the
    warnings of REAL_TIME.
    """
    global _virtual
    _virtual = False


_clocks, _clock_file, _clock_begin_ns = None, None, 1000 * 10**9
WALL_NS = (1900000000 - 1000) * 10**9  # by which the wall clock in virtual time is ahead of the other one


def _clock_ns(file):
    with open(file, "rb") as f:
        return int.from_bytes(f.read(8), sys.byteorder)


def _action(what, when):
    if isinstance(what, str):
        return what
    if isinstance(what, int):
        return int(what)
    script = path("at.%s.sh" % when)
    with open(script, "w", encoding="utf-8") as f:
        f.write("#!/bin/sh\nPATH=%s\nexec %s >%s 2>&1\n" % (shlex.quote(os.environ["PATH"]), shlex.join(what), script + ".out"))
    os.chmod(script, 0o700)
    return "!" + script


def _clock_directory():
    """A directory beside that of the test, which may look at all of its files."""
    global _clocks
    if _clocks is None:
        _clocks = tempfile.mkdtemp(prefix="xddclock.")
        atexit.register(shutil.rmtree, _clocks, ignore_errors=True)
    return _clocks


def next_begin_ns():
    """The wall clock at which the next process begins, in nanoseconds since 1970; exact in virtual time."""
    if not _virtual:
        return time.time_ns()
    return WALL_NS + (_clock_ns(_clock_file) + 10**9 if _clock_file else _clock_begin_ns)


def clock_environment(at=None, step=None, device=None):
    """The environment of a process in virtual time; see virtual_time(). A second lies between two of them."""
    global _clock_file, _clock_begin_ns
    _clock_begin_ns = next_begin_ns() - WALL_NS
    fd, _clock_file = tempfile.mkstemp(prefix="clock.", dir=_clock_directory())
    os.write(fd, _clock_begin_ns.to_bytes(8, sys.byteorder))
    os.close(fd)
    env = {"LD_PRELOAD": CLOCK, "XDD_CLOCK_FILE": _clock_file,
           "ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "") + ":verify_asan_link_order=0"}
    if at:
        env["XDD_CLOCK_DO"] = ",".join("%s@%s" % (_action(what, when), when) for when, what in sorted(at.items()))
    if step is None and _step_ns:
        env["XDD_CLOCK_STEP_NS"] = "%d,idle" % _step_ns
    elif step:
        env["XDD_CLOCK_STEP_NS"] = str(step)
    if device:
        env["XDD_CLOCK_DEVICE"] = device
    return env


def device_environment(device):
    """The environment of a process in virtual time with this law for files; empty where processes have real time."""
    return clock_environment(device=device) if _virtual else {}


def clock_seconds(env):
    """How much time has passed in a process with this environment, and in those it has started."""
    return (_clock_ns(env["XDD_CLOCK_FILE"]) - _clock_begin_ns) / 1e9


# Peers and other processes take real time.
PEERS = {"copy", "multi", "report", "check", "timeserver", "gettime", "-mpi", "-e2e", "-endtoend", "-timeserver"}


def _is_virtual(args):
    return _virtual and args[0] == XDD and not PEERS.intersection(word[1:] if word.startswith("--") else word
                                                                  for word in map(str, args[1:]))


def environment(args, env=None, at=None, step=None, device=None, real=False):
    """The environment of a command, and True where it runs in virtual time."""
    full = dict(os.environ, LC_ALL="C")
    virtual = not real and _is_virtual(args)
    if virtual:
        full.update(clock_environment(at, step, device))
    full.update(env or {})
    if virtual and full["LD_PRELOAD"] != CLOCK:
        full["LD_PRELOAD"] += ":" + CLOCK
    return full, virtual


def sanitizer_options(name, option, env=None):
    """The options of a sanitizer in the variable `name`, of `env` before the environment's, and one more."""
    options = (env or {}).get(name, os.environ.get(name, ""))
    return (options + ":" if options else "") + option


def command(args, timeout=TIMEOUT, env=None, cwd=None, warns=(), tolerate=(), at=None, step=None, device=None, real=False,
            **kwargs):
    """
    Run any command; bounded in time. A command that outlasts it has status "timeout". A warning of xdd is a failure
    unless `warns` expects it, which must occur then, or it is tolerated: here, or by tolerate() for the whole test.
    `at`, `step`, `device` and `real`: see virtual_time().
    """
    full, virtual = environment(args, env, at, step, device, real)
    begin = time.monotonic()
    # A session of its own, so that what the command has started ends with it.
    p = subprocess.Popen(args, stdin=kwargs.pop("stdin", subprocess.DEVNULL), stdout=kwargs.pop("stdout", subprocess.PIPE),
                         stderr=subprocess.PIPE, env=full, cwd=cwd, start_new_session=True, **kwargs)
    try:
        out, err = p.communicate(timeout=timeout)
        status = p.returncode
    except subprocess.TimeoutExpired:
        os.killpg(p.pid, signal.SIGKILL)
        out, err = p.communicate()
        status = "timeout"
    except BaseException:  # the test itself is to end
        os.killpg(p.pid, signal.SIGKILL)
        raise
    run = Run(args, status, (out or b"").decode(errors="replace"), (err or b"").decode(errors="replace"))
    check_warnings(run, warns, (tolerate,) if isinstance(tolerate, str) else tolerate, virtual)
    run.seconds = clock_seconds(full) if virtual else time.monotonic() - begin
    run.begin_ns = WALL_NS + _clock_begin_ns if virtual else None
    return run


def until(condition, process=None, seconds=TIMEOUT / 2):
    """
    Wait for a moment in which the test is to act: until condition() is true, `process` has ended or this time is over. Returns
    its last value.
    """
    end = time.monotonic() + seconds
    while not (value := condition()):
        if time.monotonic() > end or (process and process.poll() is not None):
            return condition()
        time.sleep(0.005)
    return value


def xdd_words(*args):
    """The words that run xdd with these arguments, and with the engine that is asked for."""
    return [XDD] + (["-ioengine"] + ENGINE.split() if ENGINE else []) + [str(a) for a in args]


def xdd(*args, **kwargs):
    """Run xdd with these arguments (numbers are turned into words)."""
    return command(xdd_words(*args), **kwargs)


def have_terminals():
    """Can this machine make pseudo-terminals? A chroot or a container may lack /dev/pts."""
    try:
        ends = pty.openpty()
    except OSError:
        return False
    for end in ends:
        os.close(end)
    return True


_engines = None


def engines():
    """Names of the engines that this build and this kernel have."""
    global _engines
    if _engines is None:
        _engines = re.findall(r"^(\S+) +yes", command([XDD, "-ioengine", "list"]).out, re.M)
    return _engines


def run(*tests):
    """
    Call these tests; only those that XDD_TEST_ONLY names, when it is set. One that an exception ends has failed, and the
    log says where: what a test writes to standard error is in no log.
    """
    for test in _asked_for(tests):
        _call(test)


def run_all():
    """Call all tests of the program, test_*(), in the order of the file, and end."""
    run(*(f for name, f in vars(sys.modules["__main__"]).items() if name.startswith("test_")))
    done()


def _asked_for(tests):
    only = os.environ.get("XDD_TEST_ONLY", "").split()
    for name in set(only) - {test.__name__ for test in tests}:
        ok(False, "XDD_TEST_ONLY: there is no " + name)
    return [test for test in tests if not only or test.__name__ in only]


def _call(test):
    try:
        test()
    except Exception:  # pylint: disable=broad-except
        ok(False, test.__name__ + ": ends by itself", traceback.format_exc())


class _Child:
    """A process that calls one test; its results are in `output`."""

    def __init__(self, test):
        self.test, self.output = test, tempfile.TemporaryFile("w+", encoding="utf-8")
        sys.stdout.flush()
        self.pid = os.fork()
        if self.pid == 0:
            self._run()
        self.fd = os.pidfd_open(self.pid)

    def _run(self):
        global _count, _tmp, _clocks
        status = 1
        try:
            atexit._clear()  # pylint: disable=protected-access
            _count, _tmp, _clocks = 0, None, None
            os.dup2(self.output.fileno(), sys.stdout.fileno())
            _call(self.test)
            atexit._run_exitfuncs()  # pylint: disable=protected-access
            sys.stdout.flush()
            status = 0
        finally:
            os._exit(status)

    def take_results(self):
        """Once it has ended: print its results with numbers of this process."""
        global _count, _failed
        status = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        os.close(self.fd)
        self.output.seek(0)
        for line in self.output:
            result = re.match(r"(not )?ok \d+( - .*)", line)
            if result:
                _count += 1
                _failed += result.group(1) is not None
                line = "%sok %d%s\n" % (result.group(1) or "", _count, result.group(2))
            sys.stdout.write(line)
        sys.stdout.flush()
        if status != 0:
            ok(False, self.test.__name__ + ": ends by itself", "status %d" % status)


# So many tests of a file wait at a time.
TOGETHER = 2 * os.cpu_count()


def run_together(*tests):
    """
    As run(), but side by side, for tests that mostly wait: each runs in a process and a directory of its own, so none sees
    what another one leaves in variables or files. Results are printed in the order of `tests`.
    """
    tests = _asked_for(tests)
    waiting, running, ended = list(tests), [], {}
    for test in tests:
        while test not in ended:
            while waiting and len(running) < TOGETHER:
                running.append(_Child(waiting.pop(0)))
            ready, _, _ = select.select([child.fd for child in running], [], [])
            ended.update((child.test, child) for child in running if child.fd in ready)
            running = [child for child in running if child.fd not in ready]
        ended[test].take_results()


_csv_files = 0


def xdd_csv(*args, **kwargs):
    """Run xdd with -csvout as well; returns the run and the rows of the CSV file."""
    global _csv_files
    _csv_files += 1
    file = path("results.%d.csv" % _csv_files)
    run = xdd(*args, "-csvout", file, **kwargs)
    return run, read_csv(file) if os.path.exists(file) else []


def read_csv(file):
    """Rows of a CSV file as dictionaries."""
    with open(file, newline="") as f:
        return list(csv.DictReader(f))


def make_pipe(path):
    """Make a pipe with a name and a reader, whose descriptor is returned: there from the start, with no process to wait for."""
    os.mkfifo(path)
    return os.open(path, os.O_RDONLY | os.O_NONBLOCK)


def drain(reader):
    """The bytes in a pipe of make_pipe() that no process writes any more, up to 64 KiB. Closes the reader."""
    data = b""
    try:
        while chunk := os.read(reader, 1 << 16):
            data += chunk
    finally:
        os.close(reader)
    return data


def noise(size, draw=os.urandom):
    """
    Random bytes without a repeated block of 4 KiB, up to 256 MiB: one random piece, rotated by a byte more each time. This takes
    half as long as drawing every byte.
    """
    piece = draw(64 << 10)
    return b"".join(piece[n:] + piece[:n] for n in range(-(-size // len(piece))))[:size]


def make_file(name, size):
    """A file of `size` bytes with data in it (not sparse); returns its path."""
    file = path(name)
    block = bytes(range(256)) * 4096
    with open(file, "wb") as f:
        left = size
        while left > 0:
            f.write(block[:min(left, len(block))])
            left -= len(block)
    return file
