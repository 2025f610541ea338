#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""
-ordering, as an outside witness sees it: which operation reaches the kernel when. Serial and strict are held to 0
order breaks, and what xdd says of itself (its audit) to what the witness has seen. Runs of many threads have real
time: in virtual time one thread runs at a time.

XDD_TEST_LONG=1 makes every run one of 100000 operations. order_ends.py is about the end of a pass.
"""
import json
import os
import re

import witness as w
import messages as m
import xddhold
import xddsys as s
import xddtest as t
from xddorder import ALL_LONG, ASKED_FOR, AUDIT, DEPTHS, LONG, RANGE, SHORT, SIZE, audit, engines, places, watched, words

# Files of these tests are in memory or holes, which runs that read enough say.
t.tolerate(t.CACHED, m.DIRTY)
t.may_warn(m.REACHES, m.STRICT_URING, m.RANGE_STARTS_OVER)


def together(ops):
    """Operations that were begun before the one before them had ended."""
    return sum(1 for a, b in zip(ops, ops[1:]) if a.end is None or b.begin < a.end)


def check_order(title, run, ops, n, order, op, by_workers=0):
    """
    All `n` operations are issued one after the other, alone if serial, and xdd reports the same. If strict, workers of io_uring
    may issue some later, which xdd says: there is a break where each is missing, before it, and after it.
    """
    late = by_workers if order == "strict" and any(re.search(m.STRICT_URING, line) for line in run.warnings) else 0
    # Before it writes to a device, xdd reads whether that holds something.
    ops = [o for o in ops if o.write == (op == "write")]
    t.ok(run.status == 0 and len(ops) == n and w.order_breaks(ops, RANGE * SIZE) <= 3 * late and audit(run) == (0, n) and
         not (order == "serial" and together(ops)),
         "%s: 0 order breaks of %d" % (title, n),
         "witness: %d breaks, %d operations, %d begun too early, %d by workers; audit: %s\n%s" % (
             w.order_breaks(ops, RANGE * SIZE), len(ops), together(ops), by_workers, audit(run), run))


# The proof


def test_serial_psync():
    if w.available() is None:
        return t.skip("serial, psync", s.sys_why())
    here = places()
    for where, path in (("file", here.raw), ("loop device", here.loop)):
        for op in ("read", "write"):
            for depth in DEPTHS:
                title = "serial, psync, depth %d, %s, %s" % (depth, op, where)
                if path is None:
                    t.skip(title, s.sys_why())
                    continue
                seen = w.Syscalls(SIZE)
                n = 1000 if seen.slow else LONG if depth == 32 and not s.sanitized() else SHORT
                with seen:
                    run = seen.xdd(*words(path, op, depth, n, "serial", "-ioengine", "psync"), real=True)
                check_order(title, run, seen.ops(), n, "serial", op)
    return None


def test_queues():
    if w.can_trace_block() is None or places().why:
        return t.skip("serial and strict, libaio and io_uring", places().why or s.sys_why())
    for engine in engines():
        for order, more in (("serial", []), ("serial", ["-threads", 3]), ("strict", []), ("strict", ["-threads", 3])):
            for where in ("file", "loop device"):
                for depth in DEPTHS:
                    if depth == 128 and engine == "io_uring" and not places().roomy:
                        t.skip("%s, io_uring, depth 128" % order, "the queue of a loop device is too short")
                        continue
                    for op in ("read", "write"):
                        if not ALL_LONG and (op == "write" and depth != 32 or order == "serial" and more and depth < 32):
                            continue
                        most = depth == 32 and op == "read" and where == "loop device" and not s.sanitized()
                        n = LONG if most else SHORT
                        path, seen = places().block(where)
                        with seen:
                            run = seen.xdd(*words(path, op, depth, n, order, "-ioengine", engine, "-dio", *more), real=True)
                        title = " ".join([order + ",", engine] + [str(x) for x in more])
                        check_order("%s, depth %d, %s, %s" % (title, depth, op, where), run, seen.ops(), n, order, op, seen.by_workers)
    return None


def test_fresh_file():
    """The first writes to a file that the kernel has just taken in, which have something to wait for: that is seen to."""
    here, n = places(), 2000
    if w.can_trace_block() is None or here.why:
        return t.skip("the first writes after a mount", here.why or s.sys_why())
    directory = os.path.dirname(here.file)
    for engine in engines():
        for more in ([], ["-threads", 3]):
            for again in range(2):
                title = "the first writes after a mount, strict, %s %s, %d" % (engine, " ".join(map(str, more)), again)
                remount = t.command(["sh", "-c", 'umount "$1" && mount "$0" "$1"', here.below, directory])
                if remount.status:
                    t.skip(title, remount.err.strip())
                    continue
                path, seen = here.block("file")
                with seen:
                    run = seen.xdd(*words(path, "write", 32, n, "strict", "-ioengine", engine, "-dio", *more), real=True)
                check_order(title, run, seen.ops(), n, "strict", "write", seen.by_workers)
    return None


def test_one_stream():
    """One sequential stream from many threads: no gaps, no duplicates, in order; and the file has what was written."""
    here, n = places(), min(SHORT, RANGE)
    if w.available() is None or w.can_trace_block() is None or here.why:
        return t.skip("one stream from many threads", here.why or s.sys_why())
    cases = [("psync", "serial", 8, []), ("psync", "serial", 32, [])]
    cases += [(engine, "strict", 32, ["-threads", 4]) for engine in engines()]
    wanted = [i * SIZE for i in range(n)]
    for engine, order, depth, more in cases:
        title = "one stream, %s -ordering %s, depth %d %s" % (engine, order, depth, " ".join(map(str, more)))
        here.fill(here.file)
        path, seen = here.block("file")
        if engine == "psync":
            seen.instance.remove()
            seen = w.Syscalls(SIZE)
        with seen:
            run = seen.xdd(*words(path, "write", depth, n, order, "-ioengine", engine, "-dio", *more), real=True)
        t.ok(run.status == 0 and [o.offset for o in seen.ops()] == wanted,
             title + ": each offset once, and in order", run)
        with open(path, "rb") as file:
            written = all(file.read(SIZE) == bytes(SIZE) for _ in range(n))
            rest = file.read()
        t.ok(written and rest == b"\xa5" * ((RANGE - n) * SIZE), title + ": the file holds what was written")
    return None


def in_small_files(args):
    """A run that cannot write more than 20 MiB to a file."""
    return t.command(["sh", "-c", 'ulimit -f 20480; exec "$@"', "sh"] + args)


def test_turns():
    """Data that is expensive to make is made before the turn (target operation table), whatever ends the pass."""
    big, path = 256 << 10, t.path("turns")
    if w.available() is None:
        return t.skip("turns", s.sys_why())
    for order, depth in (("serial", 4), ("serial", 16), ("loose", 8)):
        for name, command, after, status, n in (
                ("whole", t.command, [], 0, 200), ("a time limit", t.command, ["-timelimit", 0.001], 0, 1 << 20),
                ("SIGINT", lambda args: xddhold.interrupted(args, 40), [], 5, 1 << 20),
                ("-stoponerror", in_small_files, ["-stoponerror"], 6, 400)):
            title = "turns, %s, depth %d, %s" % (order, depth, name)
            args = t.xdd_words("-op", "write", "-targets", 1, path, "-reqsize", big >> 10, "-numreqs", n, "-queuedepth", depth,
                               "-ordering", order, "-datapattern", "random", "-seek", "range", 65536, "-verbose", *after)
            run, seen = watched(lambda: w.Syscalls(big), lambda: command(args), name == "whole")
            if run is None:
                t.skip(title, "no tracefs")
                continue
            offsets = [o.offset for o in seen.ops()]
            t.ok("%s by turns in the target operation table" % order in run.out, title + ": -verbose says so", run)
            places = [n % 256 * big for n in range(len(offsets))]
            t.ok(run.status == status and offsets and (offsets == places if order == "serial" else
                                                       sorted(offsets) == sorted(places)),
                 title + ": without holes" + (", in order" if order == "serial" else ""), "%r\n%s" % (offsets[:20], run))
            if order == "serial":
                t.equal(audit(run), (0, len(offsets)), title + ": the audit")
        check = t.xdd("-op", "read", "-targets", 1, path, "-reqsize", big >> 10, "-numreqs", 40, "-datapattern", "random",
                      "-verify", "contents")
        t.equal(check.status, 0, "turns, %s, depth %d: what was written" % (order, depth))
        os.unlink(path)
    return None


# The audit


def test_audit_of_none():
    """
    Threads that nothing orders overtake each other between any look of theirs and the kernel. So there is no number, whatever
    the engine; and every operation is still issued once.
    """
    if w.available() is None:
        return t.skip("the audit of what is not in order", s.sys_why())
    cases = [("psync", [], order) for order in ("none", "loose")]
    if w.can_trace_block() and not places().why:
        cases += [(engine, ["-dio", "-threads", 3], "none") for engine in engines()]
    for engine, more, order in cases:
        path, seen = (places().raw, w.Syscalls(SIZE)) if engine == "psync" else places().block("loop device")
        n = 2000 if getattr(seen, "slow", False) else 20000
        with seen:
            run = seen.xdd(*words(path, "read", 32, n, order, "-ioengine", engine, *more), real=True)
        ops = seen.ops()
        t.ok(run.status == 0 and len(ops) == n and
             sorted(o.offset for o in ops) == sorted(i % RANGE * SIZE for i in range(n)),
             "%s, %s: every operation once" % (order, engine), run)
        t.ok(audit(run) == (None, n), "%s, %s: the witness saw %d order breaks, the audit says unknown" % (
            order, engine, w.order_breaks(ops, RANGE * SIZE)), run)
    return None


def test_way_is_reported():
    """-verbose says by what means the order is kept; by turns: test_turns()."""
    lock, one = "by the issue lock", "by the one QThread that issues them"
    rows = [("serial", "-qd 8", lock), ("loose", "-qd 1", one), ("serial", "-qd 1", one), ("strict", "-qd 1", one)]
    rows += [(order, "-qd 8 -ioengine %s -threads %d" % (engine, threads), how)
             for engine in engines() for order in ("strict", "serial") for threads, how in ((1, one), (2, lock))]
    file = t.make_file("way", 8 * SIZE)
    for order, more, how in rows:
        if ASKED_FOR and "-ioengine" not in more:
            continue
        run = t.xdd("-op", "read", "-targets", 1, file, "-reqsize", 4, "-numreqs", 8, "-ordering", order, *more.split(), "-verbose")
        t.ok("\nTarget 0, order breaks 0 of 8, %s %s\n" % (order, how) in run.out,
             "%s, %s: %s" % (order, more, how), run)
    for order, how in (("loose", " " + lock), ("none", "")):
        run = t.xdd("-op", "read", "-targets", 1, file, "-reqsize", 4, "-numreqs", 8, "-ordering", order, "-qd", 2, "-verbose")
        t.ok("\nTarget 0, order breaks unknown of 8, %s%s: QThreads may overtake each other on their way into the kernel\n" %
             (order, how) in run.out, "%s, two QThreads: the order in the kernel is unknown, and why" % order, run)


def test_audit_is_reported():
    for more, there in ((["-verbose"], True), ([], False)):
        run = t.xdd("-op", "noop", "-targets", 2, "null", "null", *"-numreqs 1000 -qd 4 -passes 3".split(),
                    *"-ordering target 1 serial".split(), *more)
        t.equal([m.group(1, 3, 4) for m in AUDIT.finditer(run.out)],
                [("0", "3000", "none"), ("1", "3000", "serial")] if there else [],
                "a line for each target with -verbose, of all passes" if there else "no line without -verbose")
    run, rows = t.xdd_csv("-op", "noop", "-targets", 1, "null", *"-numreqs 5000 -qd 8 -ordering serial".split(),
                          "-outputformat", "new", "+WHAT+OPS+ORDERBREAKS")
    t.equal([(r["WHAT"], r["OPS"], r["ORDERBREAKS"]) for r in rows], [("COMBINED", "5000", "0")],
            "the column ORDERBREAKS")
    run, rows = t.xdd_csv("-op", "noop", "-targets", 1, "null", *"-numreqs 5000 -qd 8".split(),
                          "-outputformat", "new", "+WHAT+ORDERBREAKS", "-jsonout", t.path("audit.json"))
    with open(t.path("audit.json"), encoding="utf-8") as f:
        results = json.load(f)["results"]
    t.equal([r["ORDERBREAKS"] for r in rows], [""], "the column, where the number cannot be known")
    t.equal({r["order_breaks"] for r in results}, {None}, "and -jsonout")
    run = t.xdd("-op", "noop", "-targets", 2, "null", "null", *"-numreqs 500 -qd 8 -ordering serial -jsonout".split(),
                t.path("audit.json"))
    with open(t.path("audit.json"), encoding="utf-8") as f:
        results = json.load(f)["results"]
    t.equal({r["order_breaks"] for r in results}, {0},
            "-jsonout has the audit without -verbose")


def documented(begin):
    """The lines of the user guide between fences of which the first begins so."""
    with open(os.path.join(os.environ["TOP_SRCDIR"], "doc", "user-guide.md"), encoding="utf-8") as f:
        blocks = [block for block in f.read().split("```")[1::2] if block.strip().startswith(begin)]
    return blocks[0].strip() if len(blocks) == 1 else None


def as_written(lines, here):
    """Run documented lines, with what is `here` in place of what they name; xdd is the one that is tested."""
    os.makedirs(t.path("bin"), exist_ok=True)
    if not os.path.exists(t.path("bin/xdd")):
        os.symlink(os.path.abspath(t.XDD), t.path("bin/xdd"))
    for there, what in here:
        if there not in lines:
            return None
        lines = lines.replace(there, what)
    return t.command(["sh", "-c", lines], cwd=t.tmp(),
                     env={"PATH": t.path("bin") + ":" + os.environ["PATH"],
                          "ASAN_OPTIONS": t.sanitizer_options("ASAN_OPTIONS", "detect_leaks=0")})


def test_documented_witness():
    """The lines with which a user is to see the order from outside run as they are written, and see disorder too."""
    title = "the documented line for strace"
    if t.ENGINE or not s.can_trace() or not t.have("perl"):
        t.skip(title, "another engine is asked for, or there is no perl" if s.can_trace() else s.sys_why())
    else:
        file = t.make_file("traced", 1000 * SIZE)
        run = as_written(documented("strace"), [("/data/file", file)])
        t.ok(run and run.status == 0 and run.out.endswith("\n0 order breaks of 1000\n"), title, run)
        run = as_written(documented("strace"), [("/data/file", file), ("-ordering serial", "-seek random -seek range 4000")])
        found = run and re.search(r"^(\d+) order breaks of 1000$", run.out, re.M)
        t.ok(found and int(found.group(1)) > 900, title + ": random offsets", run)
    title = "the documented line for bpftrace"
    loop = s.loop_device(s.sparse_file("seen", 20000 * SIZE))
    if t.ENGINE or "libaio" not in engines() or not t.have("bpftrace") or loop is None:
        return t.skip(title, "no bpftrace, no libaio, or no loop device")
    device = os.stat(loop).st_rdev
    here = [("0x700000", hex(os.major(device) << 20 | os.minor(device))), ("/dev/loop0", loop)]
    run = as_written(documented("bpftrace"), here)
    # Not everybody may.
    if run and run.status and "@" not in run.out:
        return t.skip(title, run.err.strip().replace("\n", " ")[:100])
    t.ok(run and "@ops: 20000\n" in run.out and not re.search(r"^@breaks: [1-9]", run.out, re.M), title, run)
    run = as_written(documented("bpftrace"), here + [("-ordering strict", "-seek random -seek range 80000")])
    found = run and re.search(r"^@breaks: (\d+)$", run.out, re.M)
    return t.ok(found and int(found.group(1)) > 10000, title + ": random offsets", run)


# Answers that come out of order


def test_slow_file_system():
    """A file system that turns answers round is a witness too, and needs no root."""
    slow, n = w.slow_fs(256 << 20, "lognormal:300:1"), 2000
    if slow is None:
        return t.skip("strict on a file system that turns answers round", s.sys_why())
    runs = 0
    for engine in [e for e in engines() if e == "libaio"]:
        for threads in (1, 3):
            run = t.xdd(*words(slow.data, "read", 32, n, "strict", "-ioengine", engine, "-dio", "-threads", threads))
            t.ok(run.status == 0 and audit(run) == (0, n), "strict on a file system that turns answers round", run)
            runs += 1
    arrived = slow.log()
    t.ok([a.offset for a in arrived] == [i * SIZE for i in range(n)] * runs, "strict, as the file system sees it")
    slow.end()
    return None


# Runs that may lose the order, and runs that cannot


def test_warnings():
    """Kernel threads of io_uring execute requests that have to wait: one warning says so. libaio keeps the order."""
    file = t.make_file("full", 1 << 20)
    for engine in engines():
        for depth, order, more, warned in ((8, "strict", [], True), (8, "strict", ["-dio"], True), (1, "strict", [], False),
                                           (8, "serial", [], False), (8, "none", [], False)):
            wanted = int(warned and engine == "io_uring")
            run = t.xdd(*words(file, "read", depth, 64, order, "-ioengine", engine, *more))
            t.equal((run.status, len(re.findall(m.STRICT_URING, run.err, re.M))), (0, wanted),
                    "%s, %s, depth %d %s: %s" % (engine, order, depth, "".join(more), "one warning" if wanted else "no warning"))
    if "io_uring" in engines():
        run = t.xdd("-op", "read", "-targets", 2, file, file, *"-reqsize 4 -numreqs 8 -qd 4 -dio -ordering strict".split(),
                    "-ioengine", "io_uring")
        t.equal((run.status, len(re.findall(m.STRICT_URING, run.err, re.M))), (0, 1), "two targets: one warning")
    loop = s.loop_device(s.sparse_file("queue", 64 << 20))
    if loop:
        s.set_queue(loop, "nr_requests", "4")
    if "libaio" not in engines():
        return t.skip("libaio on a short queue", "no libaio")
    if loop is None or w.can_trace_block() is None:
        return t.skip("libaio on a short queue", s.sys_why())
    for threads in (1, 3):
        with w.Block(loop) as seen:
            run = t.xdd(*words(loop, "read", 128, 5000, "strict", "-ioengine", "libaio", "-dio", "-threads", threads), real=True)
        check_order("libaio on a queue of 4 requests, depth 128, -threads %d" % threads, run, seen.ops(), 5000, "strict",
                    "read")
    return None


def test_where():
    """storage, network and both."""
    for where, warns in (("storage serial", False), ("both serial", False), ("network serial", True)):
        run = t.xdd("-op", "noop", "-targets", 1, "null", *"-numreqs 10 -qd 4 -verbose -ordering".split(), *where.split(),
                    warns="-ordering network serial: " if warns else ())
        t.equal((run.status, len(run.error_lines()), "-ordering network serial" in run.err), (0, int(warns), warns),
                "-ordering %s: %s" % (where, "a warning that nothing is sent" if warns else "no warning"))
        t.equal(AUDIT.search(run.out).group(4), "none" if warns else "serial", "-ordering %s: of storage" % where)


def test_refused():
    file = t.make_file("target", 64 << 10)
    engine = (engines() or ["libaio"])[0]
    rows = [
        ("a wrong word", "-ordering sideways", 3, ["-ordering", "sideways"]),
        ("a wrong way", "-ordering storage sideways", 3, ["storage", "sideways", "serial", "strict"]),
        ("no word", "-ordering", 3, ["-ordering"]),
        ("one word too few", "-ordering both", 3, ["both"]),
        ("a target that is not there", "-ordering target 7 serial", 3, ["7"]),
    ] + [("strict, %s" % name, "-queuedepth 2 -ordering strict -ioengine " + name, 2,
          ["-ordering strict", "libaio", "io_uring"]) for name in ("psync", "mmap")]
    if engines():
        rows += [("strict, threads and batches", "-qd 8 -dio -ordering strict -threads 2 -ioengine %s batch 4" % engine,
                  2, ["batch: ", "-threads"])]
    if "io_uring" in engines():
        rows += [("strict, threads and sqpoll", "-qd 8 -dio -ordering strict -threads 2 -ioengine io_uring sqpoll", 2,
                  ["sqpoll", "-threads"])]
    for name, text, status, wants in rows:
        run = t.command([t.XDD] + "-op read -targets 1".split() + [file, "-reqsize", "4"] + text.split())
        t.ok(run.status in (2, 3) and len(run.error_lines()) == 1 and all(x in run.err for x in wants) and not run.out,
             "refused: " + name, "wanted: status %d, %s\n%s" % (status, wants, run))
    run = t.command([t.XDD] + "-op read -targets 1".split() + [file] + "-reqsize 4 -ordering strict".split())
    t.equal(run.status, 0, "strict with psync at depth 1 is what it is anyhow")


t.run(test_refused, test_where, test_way_is_reported, test_audit_is_reported, test_serial_psync, test_queues,
      test_fresh_file, test_one_stream, test_turns, test_audit_of_none, test_documented_witness, test_slow_file_system,
      test_warnings)
t.done()
