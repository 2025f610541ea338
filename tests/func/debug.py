#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""
What a run says of itself: -debug, held against strace and against the plan; -extendedstats, held against operations
that were made slow and against the times that -debug io shows.
"""
import os
import re
import signal
import subprocess

import messages as m
import xddhold
import xddsys as s
import xddterm
import xddtest as t

t.may_warn(m.REACHES)

LIMIT_S = 60
LINE = re.compile(r"DEBUG_([A-Z0-9]+) (\d+\.\d{9}) (.*)$")
IO = re.compile(r"target (\d+) QThread (\d+): (issue|done) operation (\d+) of pass (\d+), (read|write|noop) of (\d+) "
                r"bytes at byte (\d+)(?:, (\d+) bytes in (\d+) ns: (.*))?$")
EXTREME = re.compile(r"(Run|Target (\d+)(?:, pass (\d+))?), (longest|shortest) operation: ([0-9.]+ \w*s), "
                     r"operation (\d+) of pass (\d+)(?: of target (\d+))?, (read|write|noop) of (\d+) KiB at byte "
                     r"(\d+)$", re.M)


def lines(text, kind=None):
    """Texts of the diagnostic lines of a kind; of all, (kind, text)."""
    found = [m.groups() for m in map(LINE.match, text.splitlines()) if m]
    return [f[2] for f in found if f[0] == kind] if kind else [(f[0], f[2]) for f in found]


def kinds(run):
    return {kind for kind, _ in lines(run.err)}


def only_debug(run):
    """Every line of standard error is one, and none is on standard output."""
    return "DEBUG_" not in run.out and all(LINE.match(line) for line in run.err.splitlines())


class Io:
    """Lines of -debug io: {(target, pass, operation): fields} of those issued and of those done."""

    def __init__(self, text):
        self.issued, self.done, self.bad = {}, {}, []
        for line in lines(text, "IO"):
            m = IO.match(line)
            if not m:
                self.bad.append(line)
                continue
            target, thread, what, op, number, way, size, offset, moved, took, result = m.groups()
            key = int(target), int(number), int(op)
            into = self.issued if what == "issue" else self.done
            if key in into or what == "done" and (key not in self.issued or self.issued[key][0] != thread):
                self.bad.append(line)
            fields = thread, way, int(size), int(offset)
            into[key] = fields if what == "issue" else fields + (int(moved), int(took), result)


def test_io():
    if not s.can_trace():
        return t.skip("-debug io against strace", s.sys_why())
    file = t.make_file("io", 1 << 20)
    run, trace = s.trace("-op", "read", "-targets", 1, file, "-blocksize", 512, "-reqsize", 3, "-numreqs", 40, "-seek",
                         "random", "-queuedepth", 4, "-passes", 2, "-debug", "io", timeout=LIMIT_S)
    io = Io(run.err)
    t.ok(run.status == 0 and only_debug(run) and not io.bad, "-debug io: a run of reads, and nothing but its lines",
         "%s\n%s" % (io.bad, run))
    t.equal(sorted(io.issued), [(0, p, n) for p in (1, 2) for n in range(40)], "-debug io: each operation is issued once")
    t.ok(sorted(io.done) == sorted(io.issued) and
         all(f[4:] == (1536, f[5], "ok") and f[5] < LIMIT_S * 10**9 for f in io.done.values()),
         "-debug io: and completes once, with all its bytes", run)
    t.equal(sorted((f[2], f[3]) for f in io.issued.values()), sorted((op.size, op.offset) for op in trace.of(file)),
            "-debug io: offsets and sizes are those that strace sees")


def test_io_kinds():
    file = t.make_file("mixed", 65536)
    run = t.xdd("-rwratio", 50, "-targets", 2, file, "null", "-op", "target", 1, "noop", "-reqsize", 4, "-numreqs", 8,
                "-debug", "io", timeout=LIMIT_S)
    io = Io(run.err)
    t.equal([sorted({f[1] for key, f in io.done.items() if key[0] == target}) for target in (0, 1)],
            [["read", "write"], ["noop"]], "-debug io: reads, writes and noops")
    env = s.faults("eio", start=16384, end=20480)
    if not env:
        return t.skip("-debug io: an operation that fails", s.sys_why())
    run = t.xdd("-op", "read", "-targets", 1, file, "-reqsize", 4, "-numreqs", 8, "-debug", "io", env=env, timeout=LIMIT_S)
    t.ok(run.status == 6 and {key[2]: f[6] for key, f in Io(run.err).done.items()} ==
         {n: "Input/output error" if n == 4 else "ok" for n in range(8)}, "-debug io: an operation that fails", run)
    run = t.xdd("-op", "read", "-targets", 1, file, "-reqsize", 4, "-numreqs", 17, "-timelimit", 60, "-debug", "io", timeout=LIMIT_S)
    t.equal([f[4:7:2] for key, f in Io(run.err).done.items() if key[2] == 16], [(0, "end of the target")],
            "-debug io: the end of the target")


def test_open():
    if not s.can_trace():
        return t.skip("-debug open against strace", s.sys_why())
    old = t.make_file("old", 65536)
    for what, file, words in (("a file that is read", old, ["-op", "read"]),
                              ("one that is both", old, ["-op", "read", "-rwratio", 50]),
                              ("one that is made", t.path("new"), ["-op", "write"])):
        run, trace = s.trace(*words, "-targets", 1, file, "-reqsize", 4, "-numreqs", 4, "-debug", "open", timeout=LIMIT_S)
        said = [re.match(r"target 0: open (.*), ([A-Z_|]+): descriptor (\d+)$", line) for line in lines(run.err, "OPEN")]
        seen = [(file, sorted(set(flags) - {"O_CLOEXEC"})) for path, flags in trace.opens
                if os.path.realpath(path) == os.path.realpath(file)]
        t.ok(only_debug(run) and [(m.group(1), sorted(m.group(2).split("|"))) for m in said if m] == seen and seen,
             "-debug open: %s: its openings are those that strace sees" % what, "%r\n%s" % (seen, run))
        closed = [line for line in lines(run.err, "OPEN") if re.match(r"target 0: close descriptor \d+: ok$", line)]
        t.equal(len(closed), len(seen), "-debug open: %s: each is closed" % what)
        refused = [line for line in lines(run.err, "OPEN") if line.endswith(": No such file or directory")]
        t.equal(len(refused), 1 if "made" in what else 0, "-debug open: %s: openings that fail" % what)


def test_task():
    if not s.can_trace():
        return t.skip("-debug task against strace", s.sys_why())
    file = t.make_file("task", 1 << 20)
    run, trace = s.trace("-op", "read", "-targets", 2, file, file, "-reqsize", 1, "-numreqs", 200, "-queuedepth", 3,
                         "-heartbeat", 1, "-attached", "output", "-debug", "task", timeout=LIMIT_S)
    said = [re.match(r"(.*): thread (\d+) (starts|ends)$", line) for line in lines(run.err, "TASK")]
    starts = [m.groups()[:2] for m in said if m and m.group(3) == "starts"]
    ends = [m.groups()[:2] for m in said if m and m.group(3) == "ends"]
    t.ok(run.status == 0 and all(said) and sorted(starts) == sorted(ends) and len(set(dict(starts).values())) == len(starts),
         "-debug task: each thread starts and ends, and has its number", run)
    threads = 1 if t.ENGINE else 3
    t.equal(sorted(name for name, _ in starts),
            sorted(["attached", "heartbeat", "results manager", "sampler", "signals"] +
                   ["target %d QThread %d" % (n, q) for n in range(2) for q in range(threads)]),
            "-debug task: all of them")
    t.ok({str(op.pid) for op in trace.of(file)} <= {tid for name, tid in starts if name.startswith("target")},
         "-debug task: operations come from QThreads")


def test_threads_that_fail():
    if not s.can_trace():
        return t.skip("a thread of the run that cannot be started", s.sys_why())
    own = "thread" in os.environ.get("XDD_SANITIZERS", "")   # that sanitizer has a thread of its own, the first
    for n, name in enumerate(("signals", "heartbeat", "intervals", "results manager"), 2 if own else 1):
        run = t.command(s.strace("/dev/null", "clone,clone3", "-e", "inject=clone,clone3:error=EAGAIN:when=%d" % n) +
                        [t.XDD, "-op", "noop", "-targets", "1", "null", "-numreqs", "5", "-heartbeat", "1",
                         "-latency", "intervals", "0.1", "-debug", "task"], timeout=LIMIT_S)
        said = [re.match(r"(.*: thread \d+) (starts|ends)$", line).groups() for line in lines(run.err, "TASK")]
        starts, ends = (sorted(thread for thread, what in said if what == which) for which in ("starts", "ends"))
        t.ok(run.status == 1 and run.err.count("cannot be set up") == 1 and (starts or name == "signals") and starts == ends,
             "without the thread of %s: the others are ended" % name, run)
        t.ok("cannot be set up: no more threads: " in run.err, "without the thread of %s: the message says what is short" % name, run)


def test_timelimit():
    paced = ["-op", "noop", "-targets", 1, "null", "-queuedepth", 2, "-operationdelay", "10ms", "-debug", "timelimit"]
    for words, option in ((["-timelimit", "0.3"], "-timelimit"), (["-timelimit", 60, "-runtime", "0.3"], "-runtime")):
        run = t.xdd(*paced, *words, timeout=LIMIT_S)
        said = [re.match(r"target 0 QThread (\d+): (\S+) ends pass 1 after (\d+) operations, \d+ ns past the limit$", line)
                for line in lines(run.err, "TIMELIMIT")]
        row = run.row("COMBINED") or {}
        t.ok(run.status == 0 and only_debug(run) and said and all(said) and {m.group(2) for m in said} == {option} and
             max(int(m.group(3)) for m in said) == int(row.get("Ops", -1)) and
             len({m.group(1) for m in said}) == len(said), "-debug timelimit: %s ends a pass" % option, run)
    if t.XDD_SANITIZERS != "thread":
        run = t.xdd(*paced, "-timelimit", "0.3", step=0, timeout=LIMIT_S)
        said = lines(run.err, "TIMELIMIT")
        t.ok(run.status == 0 and len(said) == 2 and all(line.endswith(" 0 ns past the limit") for line in said),
             "-debug timelimit: a pass that ends at the limit", run)
    run = t.xdd("-op", "noop", "-targets", 1, "null", "-numreqs", 10, "-timelimit", 60, "-debug", "tl", timeout=LIMIT_S)
    t.equal((run.status, run.err), (0, ""), "-debug timelimit: a limit that ends nothing is not reported", run)


def test_tot():
    file = t.make_file("tot", 1 << 20)
    words = ["-op", "read", "-targets", 1, file, "-reqsize", 4, "-numreqs", 60, "-queuedepth", 4]
    for how in ("serial", "loose") + (("strict",) if t.ENGINE else ()):
        run = t.xdd(*words, "-ordering", how, "-debug", "tot", timeout=LIMIT_S)
        turns = [re.match(r"target 0 QThread \d+: operation (\d+) of pass 1 has its turn, %s by the " % how, line)
                 for line in lines(run.err, "TOT")]
        numbers = [int(m.group(1)) for m in turns if m]
        # With loose order the turn is passed on before the line is written.
        t.ok(run.status == 0 and only_debug(run) and
             (sorted(numbers) if how == "loose" else numbers) == list(range(60)),
             "-debug tot: -ordering %s: each operation has its turn" % how, run)
    run = t.xdd(*words, "-debug", "tot", timeout=LIMIT_S)
    t.equal((run.status, run.err), (0, ""), "-debug tot: nothing without an ordering", run)


def test_lockstep():
    file = t.make_file("steps", 1 << 20)
    run = t.xdd("-op", "read", "-targets", 2, file, file, "-reqsize", 4, "-numreqs", 10, "-lockstep", 0, 1, "op", 1, "op", 1,
                "wait", "complete", "-debug", "ls", "io", timeout=LIMIT_S)
    through, other = {}, []
    for kind, line in lines(run.err):
        m = re.match(r"target (\d): operation (\d+) of pass 1 (is admitted|waits for other targets)$", line)
        if kind == "LOCKSTEP" and not m:
            other.append(line)
        elif kind == "LOCKSTEP" and m.group(3) == "is admitted":
            through.setdefault(int(m.group(1)), []).append(int(m.group(2)))
    t.ok(run.status == 0 and only_debug(run) and kinds(run) == {"IO", "LOCKSTEP"} and not other and
         [sorted(set(through.get(n, []))) for n in range(2)] == [list(range(10))] * 2,
         "-debug lockstep: each operation is admitted", run)
    run = t.xdd("-op", "read", "-targets", 1, file, "-reqsize", 4, "-numreqs", 10, "-debug", "lockstep", timeout=LIMIT_S)
    t.equal((run.status, run.err), (0, ""), "-debug lockstep: nothing where no target waits for another", run)


def test_throttle():
    words = ["-op", "noop", "-targets", 1, "null", "-numreqs", 10, "-debug", "throttle"]
    run = t.xdd(*words, "-throttle", "ops", 200, timeout=LIMIT_S)
    late = [re.match(r"target 0 QThread 0: operation (\d+) of pass 1 goes (\d+) ns after it was due$", line)
            for line in lines(run.err, "THROTTLE")]
    t.ok(run.status == 0 and only_debug(run) and [int(m.group(1)) for m in late if m] == list(range(10)),
         "-debug throttle: each operation, none before it was due", run)
    run = t.xdd(*words, timeout=LIMIT_S)
    t.equal((run.status, run.err), (0, ""), "-debug throttle: nothing without a throttle", run)


def test_user1():
    file = t.path("user1.err")

    def said():
        with open(file, encoding="utf-8") as f:
            return lines(f.read(), "USER1")
    with xddhold.at("operation") as h, open(file, "wb") as err:
        p = subprocess.Popen(t.xdd_words("-op", "noop", "-targets", 2, "null", "null", "-queuedepth", 2, "-numreqs", 6, "-heartbeat", 0,
                                         "-debug", "user1"), env=h.env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=err)
        for held in [h.wait(p) for _ in range(4)]:
            held.go()
        # Each QThread has done one operation, and has begun another.
        for _ in range(4):
            h.wait(p)
        p.send_signal(signal.SIGUSR1)
        t.until(lambda: len(said()) >= 4, p)
        found = said()
    status = p.wait(LIMIT_S)
    t.equal((status, sorted(found)), (0, ["target %d QThread %d: pass 1, 2 issued, 1 done, 0 failed, 1 outstanding, 131072 bytes" % (i, q)
                                          for i in range(2) for q in range(2)]),
            "-debug user1: SIGUSR1 tells how far each QThread is")


def test_words():
    one = ["-op", "noop", "-targets", 1, "null", "-numreqs", 3, "-serialordering"]
    every = {"IO", "TASK", "TOT"}
    for words, wanted in ((["io"], {"IO"}), (["IO", "Task"], {"IO", "TASK"}), (["all"], every), (["A"], every),
                          (["tot", "-debug", "io"], {"IO", "TOT"}), (["user1"], set()), (["tl", "open"], set()), (["e2e", "END2END"], set())):
        run = t.xdd(*one, "-debug", *words, timeout=LIMIT_S)
        t.ok(run.status == 0 and only_debug(run) and kinds(run) == wanted, "-debug " + " ".join(words), run)
    file = t.path("messages")
    run = t.xdd(*one, "-debug", "io", "-errout", file, timeout=LIMIT_S)
    with open(file) as f:
        t.ok(run.status == 0 and not run.err and len(Io(f.read()).done) == 3, "-debug io: into the file of -errout", run)
    run = t.xdd(*one, timeout=LIMIT_S)
    t.equal((run.status, run.err), (0, ""), "no such line without -debug", run)


def test_bad_input():
    target = t.path("untouched")
    for status, words, pattern in (
            (2, "-debug", "xdd: -debug: " + m.missing(r"<kind> \[<kind> \.\.\.\]")),
            (2, "-debug -dio", "xdd: -debug: " + m.MISSING),
            (2, "-debug network", r"xdd: -debug network: expected e2e, io, lockstep, open, task, .* user1 or all \(argument"),
            (2, "-debug tsak io", "xdd: -debug tsak: " + m.choice("e2e, io, .*", "task")),
            (2, "-debug io lokstep", "xdd: -debug lokstep: " + m.choice("e2e, io, .*", "lockstep")),
            (3, "-debug io network", "xdd: network: " + m.STRAY),
            (3, "-extendedstats target 0", "xdd: -extendedstats.*: .*" + m.WHOLE_RUN),
            (3, "-extstats 1", "xdd: 1: " + m.STRAY)):
        run = t.xdd("-op", "write", "-targets", 1, target, "-numreqs", 1, *words.split(), timeout=LIMIT_S)
        t.ok(run.status == status and len(run.error_lines()) == 1 and re.match(pattern, run.err) and
             not os.path.exists(target), "refused, one line, status %d: %s" % (status, words), run)


def extremes(run):
    """{(subject, "longest" or "shortest"): (time, operation, pass, target, direction, bytes, offset)}"""
    return {(m.group(1), m.group(4)): (m.group(5), int(m.group(6)), int(m.group(7)), m.group(8) or m.group(2),
                                       m.group(9), int(m.group(10)) * 1024, int(m.group(11))) for m in EXTREME.finditer(run.out)}


COLUMNS = ["-outputformat", "new", "+WHAT+PASS+TARGET" + "".join("+%s%s" % (which, what)
           for which in ("LONGEST", "SHORTEST") for what in ("", "OP", "OFFSET", "TYPE"))]


def test_extremes():
    """They are the extremes of the times that -debug io shows."""
    files = [t.make_file("x%d" % n, 1 << 18) for n in range(2)]
    run, rows = t.xdd_csv("-op", "read", "-targets", 2, *files, "-reqsize", 4, "-numreqs", 50, "-seek", "random",
                          "-queuedepth", 3, "-passes", 2, "-verbose", "-extendedstats", "-debug", "io", *COLUMNS,
                          timeout=LIMIT_S)
    io = Io(run.err)
    got = extremes(run)
    rows = {(r["WHAT"].strip(), r["PASS"].strip(), r["TARGET"].strip()): {k: v.strip() for k, v in r.items()}
            for r in rows}
    bad = []
    for subject, row, concerned in (
            [("Run", ("COMBINED", "2", "2"), lambda target, number: True)] +
            [("Target %d" % n, ("TARGET_AVERAGE", "2", str(n)), lambda target, number, n=n: target == n)
             for n in range(2)] +
            [("Target %d, pass %d" % (n, p), ("TARGET_PASS", str(p), str(n)),
              lambda target, number, n=n, p=p: (target, number) == (n, p)) for n in range(2) for p in (1, 2)]):
        done = {key: f for key, f in io.done.items() if concerned(*key[:2])}
        for which, best in (("longest", max), ("shortest", min)):
            took, op, number, target, way, size, offset = got.get((subject, which), ("", 0, 0, "0", "", 0, 0))
            wanted = best(f[5] for f in done.values()) if done else -1
            named = io.done.get((int(target), number, op))
            cells = [rows.get(row, {}).get(which.upper() + what) for what in ("", "OP", "OFFSET", "TYPE")]
            if (not took or not xddterm.near(took, wanted) or not named or named[1:] != (way, size, offset, size, wanted, "ok") or
                    cells != ["%.6f" % (wanted / 1e6), str(op), str(offset), way]):
                bad.append((subject, which, wanted, got.get((subject, which)), named, cells))
    t.ok(run.status == 0 and len(io.done) == 200 and not io.bad and len(got) == 14 and not bad,
         "-extendedstats: of each pass, target and the run: the operation that -debug io shows, in lines and columns",
         "%r\n%s" % (bad, run))
    run = t.xdd("-op", "read", "-targets", 2, *files, "-reqsize", 4, "-numreqs", 10, "-passes", 2, "-extendedstats",
                timeout=LIMIT_S)
    t.equal(sorted({subject for subject, _ in extremes(run)}), ["Run", "Target 0", "Target 1"],
            "-extendedstats without -verbose: targets and the run")
    run = t.xdd("-op", "read", "-targets", 1, files[0], "-reqsize", 4, "-numreqs", 10, "-verbose", timeout=LIMIT_S)
    t.ok(run.status == 0 and not extremes(run), "no such line without -extendedstats", run)


def test_slow_one():
    file = t.make_file("slow", 1 << 16)
    env = s.faults("slow", start=45056, end=49152, ns=30000000)
    if not env:
        return t.skip("-extendedstats: an operation that is slow", s.sys_why())
    run, rows = t.xdd_csv("-op", "read", "-targets", 2, t.make_file("quick", 1 << 15), file, "-reqsize", 4, "-numreqs", 8,
                          "-passes", 2, "-passoffset", 32, "-targetoffset", 0, "-startoffset", "target", 0, 0,
                          "-passoffset", "target", 0, 0, *COLUMNS, "-extendedstats", env=env, timeout=LIMIT_S)
    got = extremes(run).get(("Run", "longest"), ("0 ns",) + (0,) * 6)
    t.ok(run.status == 0 and xddterm.number(got[0]) >= 30e6 and got[1:] == (3, 2, "1", "read", 4096, 45056),
         "-extendedstats: the slow one of all: target, pass, number, direction, place", run)
    row = [r for r in rows if r["WHAT"].strip() == "COMBINED"]
    t.equal([[r[c].strip() for c in ("LONGESTOP", "LONGESTOFFSET", "LONGESTTYPE")] for r in row], [["3", "45056", "read"]],
            "LONGESTOP and its like: the slow one")


def test_none():
    file = t.make_file("none", 4096)
    run, rows = t.xdd_csv("-op", "read", "-targets", 1, file, "-reqsize", 4, "-startoffset", 8, "-numreqs", 2, "-timelimit", 60, "-verbose",
                          "-extendedstats", *COLUMNS, timeout=LIMIT_S)
    t.ok(run.status == 6 and not extremes(run) and rows and
         all(r["LONGESTTYPE"] == "" and r["LONGEST"] == "" for r in rows),
         "-extendedstats: operations that fail do not count", run)
    run, rows = t.xdd_csv("-op", "noop", "-targets", 1, "null", "-numreqs", 5, "-qthreadinfo", *COLUMNS, timeout=LIMIT_S)
    t.ok(run.status == 0 and not extremes(run) and rows and
         all(r["SHORTESTTYPE"].strip() == "noop" and float(r["LONGEST"]) >= float(r["SHORTEST"]) for r in rows),
         "the columns without -extendedstats, QUEUE_PASS and COMBINED", run)


t.run_all()
