#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""
Operations that fail, and results that cannot be written: each is reported with target, operation and offset,
counted, and makes the status 6, and the results of the rest are there all the same.
"""
import json
import mmap
import os
import re
import subprocess
import threading

import messages as m
import xddhold
import xddjson
import xddsys as s
import xddtest as t

t.may_warn(m.REACHES)

COLUMNS = "+WHAT+PASS+TARGET+QUEUE+OPS+READOPS+WRITEOPS+BYTESXFERED+ERRORS+XFERSIZEBYTES"


def run_failing(*args, **kwargs):
    """Run with all lines; returns the run and its rows."""
    return t.xdd_csv(*args, "-verbose", "-qthreadinfo", "-outputformat", "new", COLUMNS, **kwargs)


class Failure:
    """A line about an operation."""

    PATTERN = re.compile(m.FAILURE)

    def __init__(self, m):
        self.target, self.qthread, self.size, self.offset = (int(m.group(i)) for i in (1, 2, 4, 5))
        self.direction, self.path, self.why = m.group(3), m.group(6), m.group(9)
        self.op, self.number_of_pass, self.done = (int(m.group(i)) for i in (7, 8, 10))


def failures(run):
    found = [Failure.PATTERN.match(line) for line in run.error_lines()]
    return [Failure(m) for m in found if m]


def counts(rows, what, **fields):
    """(operations, errors, bytes), summed over the rows of that kind."""
    found = [r for r in rows if r["WHAT"] == what and all(r[k] == str(v) for k, v in fields.items())]
    return tuple(sum(int(r[k]) for r in found) for k in ("OPS", "ERRORS", "BYTESXFERED"))


def check_failures(title, run, rows, wanted, good, size, repeats=None):
    """
    `wanted`: (target, pass, operation, offset, reason, bytes done) of each failure; `good` operations of
    `size` bytes succeeded. With `repeats`, a reason, one line reports the first, and one the others.
    """
    t.equal(run.status, 6, title + ": status")
    said = sorted((f.target, f.number_of_pass, f.op, f.offset, f.why, f.done) for f in failures(run))
    if repeats:
        # The first that fails speaks for those that follow, of which there is one line.
        more = "%d more operations failed: %s" % (len(wanted) - 1, repeats)
        t.ok(len(said) == 1 and said[0] in wanted and run.err.count(more) == 1 and "shown" not in run.err,
             title + ": one line names target, pass, operation, offset and reason, and one the number of others", run)
    else:
        t.equal(said, sorted(wanted), title + ": a line names target, pass, operation, offset and reason")
    total = (good, len(wanted), good * size + sum(w[5] for w in wanted))
    for what in ("QUEUE_PASS", "TARGET_PASS", "TARGET_AVERAGE", "COMBINED"):
        t.equal(counts(rows, what), total, "%s: %s counts what succeeded and what failed" % (title, what))
    t.ok("This run terminated with errors" in run.out, title + ": the last line says so", run)


# Operations


def test_end_of_file():
    file = t.make_file("half", 10 * 1024 + 512)
    for depth in (1, 4, 32):
        run, rows = run_failing("-op", "read", "-targets", 2, "null", file, *"-reqsize 1 -numreqs 15 -passes 2 -timelimit 60".split(),
                                "-queuedepth", depth, "-maxerrorstoprint", 100)
        wanted = [(1, p, op, op * 1024, "END-OF-FILE", 512 if op == 10 else 0) for p in (1, 2) for op in range(10, 15)]
        check_failures("end of file, depth %d" % depth, run, rows, wanted, 2 * 15 + 2 * 10, 1024, repeats="END-OF-FILE")
        t.ok(all(f.path == file and f.size == 1024 and f.direction == "read" and f.qthread < depth
                 for f in failures(run)), "end of file, depth %d: the line names the file" % depth, run.err)
        t.equal(counts(rows, "TARGET_PASS", TARGET=0), (30, 0, 30 * 1024),
                "depth %d: the other target is whole" % depth)
        t.equal({r["XFERSIZEBYTES"] for r in rows}, {"1024"}, "depth %d: a request that failed has no size" % depth)
    run = t.xdd("-op", "read", "-targets", 1, file, *"-reqsize 1 -numreqs 15 -timelimit 60".split())
    t.ok(run.status == 6 and "COMBINED" in run.out and len(failures(run)) == 1, "end of file: without -verbose", run)
    document = t.path("half.json")
    t.xdd("-op", "read", "-targets", 1, file, *"-reqsize 1 -numreqs 15 -timelimit 60 -jsonout".split(), document)
    last = xddjson.rows(xddjson.check(document, "end of file: the document") or {"results": []}, "COMBINED")
    t.equal([(r["bytes"]["read"], r["failed_bytes"]) for r in last],
            [(10 * 1024 + 512, {"read": 512, "write": 0, "noop": 0, "discard": 0})], "end of file: bytes of failed operations in the document")


def test_only_past_the_end():
    """The pass ends with what there is, in place of a million failures per second until its time is over."""
    file = t.make_file("short", 64 * 1024)
    for depth in (1, 4):
        run, rows = run_failing("-op", "read", "-targets", 1, file,
                                *"-reqsize 4 -bytes 1G -timelimit 600 -queuedepth".split(), depth)
        ops, errors, moved = counts(rows, "COMBINED")
        t.ok(run.status == 6 and (ops, moved) == (16, 65536) and 1000 <= errors < 2000 and m.PAST_END in run.err,
             "a pass past the end of its target ends, depth %d" % depth, run)
    run, rows = run_failing("-op", "read", "-targets", 1, file, *"-reqsize 4 -numreqs 900 -timelimit 600".split())
    t.equal((run.status, counts(rows, "COMBINED"), m.PAST_END in run.err), (6, (16, 884, 65536), False),
            "each of a few failures past the end is counted", run)


def test_end_of_file_direct():
    file = t.make_file("direct", 10 * 4096 + 512)
    if t.xdd("-op", "read", "-targets", 1, file, "-dio", "-reqsize", 4, "-numreqs", 1).status:
        return t.skip("end of a file, direct", "no direct I/O here")
    run, rows = run_failing("-op", "read", "-targets", 1, file, *"-dio -reqsize 4 -numreqs 12 -timelimit 60".split())
    wanted = [(0, 1, 10, 40960, "END-OF-FILE", 512), (0, 1, 11, 45056, "END-OF-FILE", 0)]
    return check_failures("end of file, direct", run, rows, wanted, 10, 4096, repeats="END-OF-FILE")


def test_eio():
    env = s.faults("eio", start=40960, end=49152, file="bad")
    if env is None:
        return t.skip("EIO", s.sys_why())
    good, bad = t.make_file("good", 128 * 1024), t.make_file("bad", 128 * 1024)
    for op in ("read", "write"):
        for depth in (1, 8):
            run, rows = run_failing("-op", op, "-targets", 2, good, bad, *"-reqsize 4 -numreqs 20 -passes 2".split(),
                                    "-queuedepth", depth, env=env)
            title = "EIO, %s, depth %d" % (op, depth)
            wanted = [(1, p, n, n * 4096, "Input/output error", 0) for p in (1, 2) for n in (10, 11)]
            check_failures(title, run, rows, wanted, 76, 4096)
            t.equal({f.direction for f in failures(run)}, {op}, title + ": the direction")
            t.equal(len(run.error_lines()), 4, title + ": no other lines")
    run, rows = run_failing("-op", "read", "-targets", 1, bad, *"-reqsize 4 -numreqs 20 -passes 2".split(),
                            env=s.faults("eio"))
    t.equal((run.status, counts(rows, "COMBINED")), (6, (0, 40, 0)), "EIO everywhere: results all the same")
    return None


def test_eio_of_a_device():
    backing = t.make_file("backing", 1 << 20)
    device = s.loop_device(backing, "--direct-io=on")
    if device is None:
        return t.skip("EIO of a loop device", s.sys_why())
    os.truncate(backing, 512 * 1024)
    fd = os.open(device, os.O_RDONLY | os.O_DIRECT)
    try:
        os.preadv(fd, [mmap.mmap(-1, 4096)], 768 * 1024)
        return t.skip("EIO of a loop device", "this kernel reads what is not there")
    except OSError:
        pass
    finally:
        os.close(fd)
    run, rows = run_failing("-op", "read", "-targets", 1, device, *"-dio -reqsize 64 -numreqs 16".split())
    wanted = [(0, 1, n, n * 65536, "Input/output error", 0) for n in range(8, 16)]
    return check_failures("EIO of a loop device", run, rows, wanted, 8, 65536)


def test_full_disk():
    directory = s.tmpfs("tiny", 1 << 20)
    if directory is None:
        return t.skip("a full disk", s.sys_why())
    file = os.path.join(directory, "file")
    for depth in (1, 4):
        run, rows = run_failing("-op", "write", "-targets", 1, file, *"-reqsize 64 -numreqs 24 -timelimit 60".split(),
                                "-queuedepth", depth, "-maxerrorstoprint", 100)
        ops, errors, _ = counts(rows, "COMBINED")
        t.ok(run.status == 6 and ops + errors == 24 and 0 < ops <= 16 and len(failures(run)) == 1 and
             (errors == 1 or "target 0, %s: %d more operations failed: No space left on device\n" % (file, errors - 1) in run.err),
             "a full disk, depth %d: operations that succeeded and failed" % depth, run)
        t.ok(all(f.why == "No space left on device" and f.path == file and f.offset == f.op * 65536
                 for f in failures(run)), "a full disk, depth %d: the reason" % depth, run.err)
        t.ok(os.path.getsize(file) >= ops * 65536, "a full disk, depth %d: what was written is there" % depth)
        os.unlink(file)
        # Rings let go of the file some time after the program has ended.
        t.until(lambda: os.statvfs(directory).f_bavail >= 200)
    with open(file, "wb") as f:
        f.truncate(2 << 20)
    run = t.xdd(*"-op write -ioengine mmap -reqsize 64 -numreqs 32 -timelimit 60 -targets 1".split(), file)
    t.ok(run.status == 6 and [f.why for f in failures(run)] == ["No space left on device"],
         "a full disk, mmap of a file with holes: the reason", run)
    return None


def test_file_size_limit():
    file = t.path("limited")
    run = t.command(["sh", "-c", 'ulimit -f 20 && exec "$@"', "sh", t.XDD, "-op", "write", "-targets", "1", file] +
                    "-reqsize 1 -numreqs 30".split())
    written = os.path.getsize(file) // 1024  # the unit of ulimit -f depends on the shell
    row = run.row("COMBINED") or {}
    t.equal((run.status, written in (10, 20), row.get("Ops")), (6, True, str(written)),
            "a limit on the size of files", run)
    t.ok(failures(run) and all(f.why == "File too large" and f.path == file for f in failures(run)),
         "a limit on the size of files: the reason", run)


# Limits


def test_max_errors():
    file = t.make_file("limits", 10 * 1024)
    run, rows = run_failing("-op", "read", "-targets", 2, file, "null",
                            *"-reqsize 1 -numreqs 1000 -passes 3 -maxerrors 4 -timelimit 60".split())
    for p in (1, 2, 3):
        t.equal(counts(rows, "TARGET_PASS", TARGET=0, PASS=p), (10, 4, 10240), "-maxerrors ends pass %d" % p)
        t.equal(counts(rows, "TARGET_PASS", TARGET=1, PASS=p), (1000, 0, 1024000), "but not that of another target")
    t.ok(run.status == 6 and len([line for line in run.error_lines() if "-maxerrors)" in line]) == 3,
         "-maxerrors: a line says so for each pass", run)
    zeros = t.path("zeros")
    with open(zeros, "wb") as f:
        f.write(bytes(32768))
    run = t.xdd("-op", "read", "-target", zeros, *"-reqsize 4 -numreqs 8 -datapattern sequenced -verify contents -maxerrors 2".split())
    t.equal((run.status, [line for line in run.error_lines() if "-maxerrors)" in line]),
            (7, ["xdd: target 0, %s: pass 1 ends: 2 errors and miscompares (-maxerrors)" % zeros]),
            "-maxerrors: miscompares count", run)
    run, rows = run_failing("-op", "read", "-targets", 1, file,
                            *"-reqsize 1 -numreqs 100000 -maxerrors 4 -qd 8 -timelimit 60".split())
    ops, errors, _ = counts(rows, "COMBINED")
    t.ok(run.status == 6 and ops == 10 and 4 <= errors < 4 + 8, "-maxerrors, depth 8", run)


def test_max_errors_to_print():
    file = t.path("printed")
    for limit, most in ((1, 1), (7, 7), (None, 10), (1000, 1000)):
        words = ["-maxerrorstoprint", str(limit)] if limit else []
        run = t.command(["sh", "-c", 'ulimit -f 20 && exec "$@"', "sh"] +
                        t.xdd_words("-op", "write", "-targets", "1", file, *"-reqsize 1 -numreqs 100 -qd 4".split(), *words))
        errors = 100 - os.path.getsize(file) // 1024
        title = "-maxerrorstoprint %s: " % (limit or "by default")
        t.equal((run.status, len(failures(run)), (run.row("COMBINED") or {}).get("Ops")), (6, min(most, errors), str(100 - errors)),
                title + "lines, and all counted")
        said = [line for line in run.error_lines() if "a total of %d operations failed" % errors in line]
        t.equal(len(said), int(most < errors), title + "how many there were")


def test_stop_on_error():
    file = t.make_file("stops", 10 * 1024)
    for extra in ([], ["-nobarrier"]):
        # Operation 10 of target 1 fails, and each of the others has done 10 by then.
        with xddhold.at("operation:10") as h:
            all_there = threading.Thread(target=lambda h=h: [h.wait() for _ in range(3)] and h.go())
            all_there.start()
            run, rows = run_failing("-op", "read", "-targets", 3, "null", file, "null", "-numreqs", "target", 1, 1000,
                                    *"-timelimit 100 -reqsize 1 -passes 5 -stoponerror".split(), *extra, env=h.env, real=True)
            all_there.join()
        title = "-stoponerror" + ", -nobarrier" * bool(extra)
        t.equal((run.status, run.seconds < 50), (6, True), title + " stops all targets", run)
        t.equal(counts(rows, "TARGET_PASS", TARGET=1), (10, 1, 10240), title + ": at the first error")
        t.ok(all(counts(rows, "TARGET_PASS", TARGET=n)[0] >= 10 and
                 len([r for r in rows if r["WHAT"] == "TARGET_PASS" and r["TARGET"] == str(n)]) == 1 for n in (0, 2)),
             title + ": the others show what they did in that pass", rows)
        t.equal([r["WHAT"] for r in rows].count("COMBINED"), 1, title + ": COMBINED")
    run = t.xdd("-op", "read", "-targets", 2, file, "null", *"-reqsize 1 -numreqs 11 -stoponerror -timelimit 200".split(),
                "-startdelay", "target", 1, 100)
    t.equal((run.status, run.seconds < 50), (6, True), "-stoponerror ends a delay", run)


def test_short_and_interrupted():
    file = t.make_file("pieces", 64 * 1024)
    for what in ("short", "eintr"):
        env = s.faults(what, file="pieces")
        if env is None:
            t.skip("transfers in pieces", s.sys_why())
            continue
        for op in ("read", "write"):
            run, rows = run_failing("-op", op, "-targets", 1, file, *"-reqsize 4 -numreqs 16 -qd 3".split(), env=env)
            t.equal((run.status, run.error_lines(), counts(rows, "COMBINED")), (0, [], (16, 0, 65536)),
                    "%s %ss are carried on with" % (what, op))
        if what == "eintr" or not s.can_trace():
            continue
        run, trace = s.trace("-op", "read", "-targets", 1, file, *"-reqsize 4 -numreqs 16".split(), env=env)
        pieces = [(op.offset, op.result) for op in trace.of(file)]
        t.equal(pieces, [(n * 4096 + i * 1000, min(1000, 4096 - i * 1000)) for n in range(16) for i in range(5)],
                "short reads are carried on with at the right place")


# Results that cannot be written


def shell(script, *args):
    """xdd, as the shell runs it: $@ is the command."""
    return t.command(["/bin/sh", "-c", script, "sh"] + t.xdd_words(*args))


NULL = "-op read -targets 1 null -numreqs 10".split()


def test_full_output():
    if not os.path.exists("/dev/full"):
        return t.skip("output to a full device", "no /dev/full")
    for words in ([], ["-verbose"]):
        run = shell('"$@" >/dev/full', *NULL, *words)
        t.equal((run.status, len(run.error_lines()), "standard output" in run.err, m.NO_SPACE in run.err),
                (6, 1, True, True), "standard output is full" + ", -verbose" * bool(words), run)
    for option in ("-output", "-csvout", "-combinedout"):
        run = t.xdd(*NULL, option, "/dev/full")
        t.equal((run.status, len(run.error_lines()), option in run.err), (6, 1, True), option + " is full", run)
        t.ok(option == "-output" or "COMBINED" in run.out, option + " is full: the other outputs are there", run)
    run = shell('"$@" >/dev/full', *NULL, "-csvout", "/dev/full")
    t.equal((run.status, len(run.error_lines())), (6, 2), "standard output and -csvout are full: a line each", run)
    t.ok("standard output" in run.err and "-csvout" in run.err, "standard output and -csvout are full: both named", run)
    for words in (["-help"], ["-fullhelp"], ["-version"], ["fio", "--name=job", "--rw=read", "--size=1m", "--ioengine=null"],
                  ["-dryrun"] + NULL):
        run = shell('"$@" >/dev/full', *words)
        t.equal((run.status, len(run.error_lines())), (6, 1), "%s: standard output is full" % words[0], run)
    return None


def test_full_document():
    """A document has the exit status, also where standard output is full."""
    if not os.path.exists("/dev/full"):
        return t.skip("the status of a document", "no /dev/full")
    one = t.path("status-one.json")
    t.xdd(*NULL, "-jsonout", one)
    # A sweep and a combination print a text whose flush fails, or write a CSV file that is full.
    for words in (NULL, ["sweep", *NULL, "-rounds", "1"], ["combine", one]):
        for full in ('"$@" >/dev/full', '"$@" -csvout /dev/full'):
            out = t.path("status-%s-%d.json" % (words[0], "csv" in full))
            run = t.command(["sh", "-c", full, "sh", t.XDD, *words, "-jsonout", out])
            status = None
            if os.path.exists(out):
                with open(out, encoding="utf-8") as f:
                    status = json.load(f)["status"]
            t.ok(run.status in (6, 2) and status in (run.status, None) and (status == 6 or "combine" in words),
                 "%s, %s: the document has the exit status" % (words[0], full), (status, run))
    return None


def test_full_heartbeat():
    if not os.path.exists("/dev/full"):
        return t.skip("heartbeat lines to a full device", "no /dev/full")
    os.symlink("/dev/full", t.path("hb.T0000.csv"))
    run = t.xdd(*NULL, "-heartbeat", "ops", "output", t.path("hb"))
    t.equal((run.status, len(run.error_lines()), m.NO_SPACE in run.err), (6, 1, True), "-heartbeat output is full", run)
    t.ok("terminated with errors" in run.out, "-heartbeat output is full: the closing line says so", run)
    return None


def test_closed_output():
    csv_file, file = t.path("closed.csv"), t.path("closed.data")
    run = shell('"$@" >&-', "-op", "write", "-targets", 1, file, *"-numreqs 3 -reqsize 1 -verbose".split(), "-csvout",
                csv_file)
    with open(file, "rb") as f:
        data = f.read()
    t.equal((run.status, len(run.error_lines())), (6, 1), "standard output is closed", run)
    t.equal(data, bytes(3072), "standard output is closed: no results in the target")
    rows = t.read_csv(csv_file)
    t.equal([r["WHAT"] for r in rows if "WHAT" in r], ["TARGET_PASS", "TARGET_AVERAGE", "COMBINED"],
            "standard output is closed: none in the CSV file but its own")
    os.unlink(file)
    run = shell('"$@" 2>&-', "-op", "write", "-targets", 1, file, *"-numreqs 3 -reqsize 1 -passes 2".split())
    with open(file, "rb") as f:
        data = f.read()
    t.ok(run.status == 0 and data == bytes(3072), "standard error is closed: no messages in the target", run)
    run = shell('"$@" <&- >&- 2>&-', "-op", "read", "-targets", 1, file, *"-numreqs 5 -reqsize 1 -timelimit 60".split())
    t.equal(run.status, 6, "all three are closed")


def test_broken_pipe():
    p = subprocess.Popen([t.XDD] + "-op noop -targets 1 null -numreqs 10 -passes 3 -verbose -passdelay 0.5".split(),
                         stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    p.stdout.readline()
    p.stdout.close()
    err = p.stderr.read().decode()
    p.stderr.close()
    t.ok(p.wait(timeout=t.TIMEOUT) == 6 and len(err.splitlines()) == 1 and "Broken pipe" in err,
         "the reader of the results closes the pipe: a line and a status", err)


t.run_all()
