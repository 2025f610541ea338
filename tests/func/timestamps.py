#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""
Time stamps: the reports in the guide's form with rows that add up to the summary, every operation recorded or
counted, the same operations that strace sees, and what is kept when the table is smaller than the run.
"""
import collections
import os
import re
import signal
import sys

import messages as m
import xddhold
import xddsys as s
import xddtest as t
import xddtrace as x

t.may_warn(m.REACHES, m.NOTHING_STAMPED)

LIMIT_S = 60
MANY = 100000 if os.environ.get("XDD_SANITIZERS", "no") == "no" else 30000
_prefixes = 0


def prefix():
    global _prefixes
    _prefixes += 1
    return t.path("ts%d" % _prefixes)


def stamped(*args, words=("detailed",), target=None, status=0, **kwargs):
    """Run with the reports in a file; returns the run and the Report."""
    name = prefix()
    run = t.xdd("-op", "read", "-targets", 1, target or DATA, *args, *[w for word in words for w in ("-ts", *word.split())],
                "-ts", "output", name, **kwargs)
    file = name + ".target.0000.csv"
    if run.status != status or not os.path.exists(file):
        t.ok(False, "runs: " + " ".join(str(a) for a in args), run)
        return run, x.Report("")
    return run, x.read_report(file)


DATA = t.make_file("data", 4 << 20)


def near(a, b, digits):
    return abs(a - b) <= 0.6 * 10 ** -digits


# The form


def test_form():
    name = prefix()
    run = t.xdd("-op", "read", "-targets", 1, DATA, *"-reqsize 64 -numreqs 16 -ts detailed -ts output".split(), name)
    t.equal((run.status, run.err), (0, ""), "the guide's example runs", run)
    with open(name + ".target.0000.csv") as f:
        lines = f.read().splitlines()
    t.equal(lines[0], "Target number for this report, 0", "the first line names the target")
    for label in ("XDD version", "Starting time for this run, ", "ID for this run, 'No ID Specified'", "Passes, 1",
                  "Computer Name, ", "Machine hardware type, ", "Blocksize in bytes, 1024", "Seek pattern, sequential",
                  "Timestamping, enabled with options, DETAILED SUMMARY",
                  "Timestamp ASCII output file name, %s.target.0000.csv" % name):
        t.ok(any(label in line for line in lines), "the sections about the run: " + label)
    at = next(i for i, line in enumerate(lines) if line.startswith("Start of DETAILED"))
    rest = lines[at:]
    t.equal(rest[0], "Start of DETAILED Time Stamp Report, Number of entries, 16, Picoseconds per clock tick, 1000, "
            "delta, 0", "the first line of the detailed report")
    t.ok(rest[1] == x.GUIDE_COLUMNS + x.OUR_COLUMNS, "the guide's columns, and ours after them", rest[1])
    row = re.compile(r"0, r, 1, (\d+), \d+, 0, \d{4,}000, \d{4,}000, +\d+\.\d{5}, +\d+\.\d{5}, +\d+\.\d{5}, "
                     r"+\d+\.\d{5}, +\d+\.\d{3}, 0, \d+, 0, 65536, 65536, 0, \d+, \d+$")
    numbers = [m.group(1) for m in map(row.match, rest[2:18]) if m]
    t.equal(numbers, [str(i) for i in range(16)], "sixteen rows")
    patterns = [r"End of DETAILED Time Stamp Report", r"Start of SUMMARY Time Stamp Report",
                r"Average seek distance in 1024 byte blocks, 0, request size in blocks, 64",
                r"Range: Longest seek distance in blocks, 0, shortest seek distance in blocks, 0",
                r"Average I/O time in milliseconds, +\d+\.\d{5}, average dead time in microseconds, +\d+\.\d{5}",
                r"I/O Time Range: Longest I/O time in milliseconds, +\d+\.\d{5}, shortest I/O time in milliseconds, "
                r"+\d+\.\d{5}",
                r"Dead Time Range: Longest dead time in microseconds, +\d+\.\d{5}, shortest dead time in microseconds, "
                r"+\d+\.\d{5}",
                r"Operations recorded, 16, failed, 0, overwritten, 0, not recorded, 0, before the trigger, 0",
                r"End of SUMMARY Time Stamp Report"]
    t.ok(len(rest) == 18 + len(patterns) and all(re.fullmatch(p, line) for p, line in zip(patterns, rest[18:])),
         "the end and the summary, line for line", "\n".join(rest[18:]))


def check_rows(title, report, depth, block=1024):
    """Each value of each row from its two times, and the summary from the rows."""
    wrong, lanes, before = [], {}, None
    first = min(r["StartTS"] for r in report.rows)
    sums = collections.defaultdict(list)
    for r in report.rows:
        took, start, end = r["EndTS"] - r["StartTS"], r["StartTS"], r["EndTS"]
        lane = (r["QThread"], r["Slot"], r["Pass"])
        delta = start - lanes[lane] if lane in lanes else 0
        loop = end - lanes[lane] if lane in lanes else 0
        distance = 0
        if before and before["Pass"] == r["Pass"] and before["OP Number"] + 1 == r["OP Number"]:
            distance = abs(r["Block Location"] - before["Block Location"] - before["IO Size"] // block)
            sums["distance"].append(distance)
        if lane in lanes:
            sums["dead"].append(delta / 1e6)
        sums["io"].append(took / 1e9)
        rate = r["Bytes"] / (took / 1e6) if took else 0
        if not (near(r["IO Time ms"], took / 1e9, 5) and near(r["Relative ms"], (start - first) / 1e9, 5) and
                near(r["Delta us"], delta / 1e6, 5) and near(r["Loop ms"], loop / 1e9, 5) and delta >= 0 and
                abs(r["Inst MB/sec"] - rate) <= 0.001 + rate * 1e-6 and r["Distance"] == distance and
                r["cells"] == len(report.columns) and r["Slot"] < depth):
            wrong.append((r, took, delta, loop, distance, rate))
        lanes[lane] = end
        before = r
    t.ok(report.rows and not wrong, title + ": each row follows from its times", wrong[:3])
    summary = report.summary

    def mean(values):
        return sum(values) / len(values) if values else 0

    wanted = [("Average I/O time in milliseconds", mean(sums["io"])),
              ("average dead time in microseconds", mean(sums["dead"])),
              ("I/O Time Range: Longest I/O time in milliseconds", max(sums["io"])),
              ("shortest I/O time in milliseconds", min(sums["io"])),
              ("Dead Time Range: Longest dead time in microseconds", max(sums["dead"], default=0)),
              ("shortest dead time in microseconds", min(sums["dead"], default=0))]
    t.ok(all(near(summary.get(label, -1), value, 5) for label, value in wanted), title + ": the rows add up to the summary",
         "%r\n%r" % (wanted, summary))
    t.equal((summary.get("Average seek distance in %d byte blocks" % block),
             summary.get("Range: Longest seek distance in blocks"), summary.get("shortest seek distance in blocks")),
            (int(mean(sums["distance"])), max(sums["distance"], default=0), min(sums["distance"], default=0)),
            title + ": the distances add up to the summary")


def test_rows():
    for depth in (1, 4, 32):
        _, report = stamped(*"-reqsize 4 -numreqs 300 -passes 2 -seek random range 4000".split(), "-queuedepth", depth)
        check_rows("depth %d" % depth, report, depth)
        t.equal([(r["Pass"], r["OP Number"]) for r in report.rows], [(p, n) for p in (1, 2) for n in range(300)],
                "depth %d: every operation of both passes, in order" % depth)
        t.equal(report.text.count("\n\n2, r") + report.text.count("\n\n0, r, 2, 0,"), 1,
                "depth %d: an empty line between the passes" % depth)
    _, report = stamped(*"-reqsize 3 -blocksize 512 -numreqs 50 -rwratio 50".split(), "-op", "noop")
    check_rows("noop", report, 1, 512)
    t.equal({r["RWV Op"] for r in report.rows}, {"n"}, "noop: the letter n")


def test_against_results():
    """The sums of the trace are those of the result lines."""
    name = prefix()
    run, rows = t.xdd_csv("-op", "read", "-targets", 1, DATA, *"-reqsize 4 -numreqs 500 -queuedepth 4 -verbose".split(),
                          "-ts", "dump", name, "-outputformat", "new", "+WHAT+OPS+BYTESXFERED+LATENCY+ELAPSEDTIMEPASS")
    found = x.rows_of(name + ".target.0000.bin")
    row = [r for r in rows if r["WHAT"] == "TARGET_PASS"][0]
    t.ok(run.status == 0 and int(row["OPS"]) == len(found) == 500, "as many operations as the result line has", run)
    t.equal(sum(r["BYTES"] for r in found), int(row["BYTESXFERED"]), "as many bytes")
    mean_ms = sum(r["IO_NS"] for r in found) / len(found) / 1e6
    t.ok(abs(mean_ms - float(row["LATENCY"])) <= 0.0006, "the mean time is the latency", (mean_ms, row))
    elapsed_s = (max(r["END_NS"] for r in found) - min(r["START_NS"] for r in found)) / 1e9
    t.ok(abs(elapsed_s - float(row["ELAPSEDTIMEPASS"])) <= 0.0006, "from first start to last end is the elapsed time",
         (elapsed_s, row))


# Complete, and true


def test_complete():
    name = prefix()
    run = t.xdd("-op", "noop", "-targets", 1, "null", "-numreqs", MANY, *"-reqsize 1 -queuedepth 32 -ts dump".split(), name)
    t.ok(run.status == 0 and "Timestamp table written to %s.target.0000.bin - %d entries, %d bytes" % (
        name, MANY, os.path.getsize(name + ".target.0000.bin")) in run.out, "%d operations at depth 32" % MANY, run)
    rows = x.tsread("-csv", name + ".target.0000.bin").out.splitlines()[1:]
    t.equal(len(rows), MANY, "as many rows")
    t.ok(sorted(int(r.split(",")[4]) for r in rows) == list(range(MANY)), "each operation once")


def test_strace():
    if not s.can_trace():
        return t.skip("the operations that strace sees", s.sys_why())
    for words in ("-queuedepth 1 -op read", "-queuedepth 8 -op read -seek random range 4000",
                  "-queuedepth 4 -rwratio 60 -seek random range 4000"):
        name = prefix()
        file = t.make_file("strace", 4 << 20)
        run, trace = s.trace("-targets", 1, file, *words.split(), *"-reqsize 4 -numreqs 200 -passes 2 -ts dump".split(), name)
        dump = name + ".target.0000.bin"
        if run.status or not os.path.exists(dump):
            t.ok(False, words, run)
            continue
        rows = x.rows_of(dump)
        t.equal(sorted((r["TYPE"], r["OFFSET"], r["SIZE"]) for r in rows),
                sorted((op.call[1], op.offset, op.size) for op in trace.of(file)), words + ": the same operations")
        if t.ENGINE:
            continue
        tids = {int(q): int(tid) for q, tid in (line.split() for line in x.Dump(dump).meta["thread"])}
        mine = collections.defaultdict(list)
        for r in sorted(rows, key=lambda r: r["START_NS"]):
            mine[tids[r["QTHREAD"]]].append(r["OFFSET"])
        theirs = collections.defaultdict(list)
        for op in trace.of(file):
            theirs[op.pid].append(op.offset)
        t.equal(mine, theirs, words + ": each by the same thread, in the same order")
    return None


def test_processors():
    if not t.have("taskset"):
        return t.skip("processors", "no taskset")
    # Not 0, where there is another.
    cpu = max(os.sched_getaffinity(0))
    name = prefix()
    run = t.command(["taskset", "-c", str(cpu)] + t.xdd_words("-op", "read", "-targets", 1, DATA, "-reqsize", 4, "-numreqs", 50,
                                                              "-queuedepth", 2, "-ts", "dump", name))
    found = {(r["CPU_START"], r["CPU_END"]) for r in x.rows_of(name + ".target.0000.bin")}
    return t.equal((run.status, found), (0, {(cpu, cpu)}), "the processor that it ran on", "%r\n%s" % (found, run))


def test_failures():
    file = t.make_file("half", 10 * 1024 + 512)
    for depth in (1, 4):
        name = prefix()
        run = t.xdd("-op", "read", "-targets", 1, file, *"-reqsize 1 -numreqs 15 -timelimit 60 -ts detailed output".split(), name,
                    "-queuedepth", depth, "-maxerrorstoprint", 1)
        report = x.read_report(name + ".target.0000.csv")
        t.equal((run.status, [(r["OP Number"], r["Bytes"]) for r in report.rows if r["Error"] == 61], report.counts()),
                (6, [(10, 512), (11, 0), (12, 0), (13, 0), (14, 0)], (15, 5, 0, 0, 0)),
                "depth %d: operations that failed, with their errno and bytes" % depth)


# More entries than fit


def test_wrap():
    run, report = stamped(*"-reqsize 4 -numreqs 1000 -passes 3".split(), words=("size 100",))
    t.equal([(r["Pass"], r["OP Number"]) for r in report.rows], [(3, n) for n in range(900, 1000)],
            "size: the newest operations are kept")
    t.equal(report.counts(), (100, 0, 2900, 0, 0), "size: the others are counted")
    t.ok("Target 0, time stamps of 100 operations recorded, 2900 overwritten, 0 not recorded, 0 before" in run.out and
         not run.err, "size: and the run says so", run)
    t.ok("Last time stamp table entry, 99" in report.text, "size: the last entry of the table")
    check_rows("size", report, 1)
    _, report = stamped(*"-reqsize 4 -numreqs 1000 -queuedepth 8".split(), words=("wrap size 37",))
    t.equal(report.counts(), (37, 0, 963, 0, 0), "wrap: at depth 8")
    _, report = stamped(*"-reqsize 4 -numreqs 50 -queuedepth 4".split(), words=("wrap",))
    t.equal(report.counts(), (50, 0, 0, 0, 0), "wrap: without size all are kept")


def test_oneshot():
    run, report = stamped(*"-reqsize 4 -numreqs 1000 -passes 2".split(), words=("oneshot size 100",))
    t.equal([(r["Pass"], r["OP Number"]) for r in report.rows], [(1, n) for n in range(100)],
            "oneshot: the oldest operations are kept")
    t.equal(report.counts(), (100, 0, 0, 1900, 0), "oneshot: the others are counted")
    t.equal(("0 overwritten, 1900 not recorded" in run.out, run.err), (True, ""), "oneshot: and the run says so", run)
    _, report = stamped(*"-reqsize 4 -numreqs 1000 -queuedepth 8".split(), words=("oneshot size 37",))
    t.equal(report.counts(), (37, 0, 0, 963, 0), "oneshot: at depth 8")


def test_time_limit():
    for option in ("-timelimit", "-runtime"):
        name = prefix()
        run = t.xdd("-op", "read", "-targets", 1, "null", "-reqsize", 1, option, 0.02, "-queuedepth", 4,
                    "-ts", "summary", "size", 5000, "output", name)
        ops = int(run.row("COMBINED")["Ops"])
        counts = x.read_report(name + ".target.0000.csv").counts()
        t.ok(run.status == 0 and counts[0] == min(ops, 5000) and sum(counts[:1] + counts[2:]) == ops,
             "%s: every operation is recorded or counted" % option, "%r of %d\n%s" % (counts, ops, run))
    # 2 us for each operation: more than the table has.
    run = t.xdd("-op", "noop", "-targets", 1, "null", *"-numreqs 1000000000 -runtime 2.2 -ts summary -ts dump".split(), name,
                warns="operations were overwritten; ")
    t.ok(run.status == 0 and "- 1048576 entries, " in run.out, "-runtime: the table wraps by itself, whatever -numreqs says", run)
    for words, size, wraps in (("-numreqs 2000000 -runtime 9", 1048576, True), ("-numreqs 2000000", 2000000, False),
                               ("-numreqs 9000 -runtime 9", 9000, False), ("-numreqs 9000 -runtime 9 -ts size 7", 7, True)):
        run = t.xdd("-op", "read", "-targets", 1, "null", *words.split(), "-ts", "on", "-dryrun")
        t.equal(("Timestamp table size in operations, %d\n" % size in run.out, " WRAP" in run.out), (True, wraps),
                words + ": the size of the table", run)
    run = t.xdd("-op", "read", "-targets", 1, "null", *"-reqsize 1 -timelimit 0.2 -ts on -dryrun".split())
    t.equal(("Timestamp table size in operations, 1048576" in run.out, " WRAP" in run.out), (True, True),
            "-timelimit: a table of 1048576 that wraps", run)


def test_trigger_op():
    _, report = stamped(*"-reqsize 4 -numreqs 100 -passes 2".split(), words=("triggerop 40",))
    t.equal([(r["Pass"], r["OP Number"]) for r in report.rows],
            [(1, n) for n in range(40, 100)] + [(2, n) for n in range(100)], "triggerop: from that operation on")
    t.equal(report.counts(), (160, 0, 0, 0, 40), "triggerop: those before are counted")
    _, report = stamped(*"-reqsize 4 -numreqs 100 -queuedepth 8".split(), words=("to 99",))
    t.equal([r["OP Number"] for r in report.rows], [99], "to: its short name")


def test_trigger_time():
    begin_ns, name = t.next_begin_ns(), prefix()
    at_ns = begin_ns // 10**6 * 10**6 + 3 * 10**9  # whole milliseconds; the run begins in the middle of one
    run = t.xdd("-op", "noop", "-targets", 1, "null", *"-reqsize 1 -timelimit 4 -operationdelay 1ms -ts tt".split(),
                "%.3f" % (at_ns / 1e9), "dump", name, step=0)
    rows = x.rows_of(name + ".target.0000.bin")
    t.equal((run.status, len(rows), rows[0]["START_NS"], re.findall(r", (\d+) before the trigger", run.out)),
            (0, 1000, begin_ns + 3 * 10**9, ["3000"]), "triggertime: nothing from before", run)
    run = t.xdd("-op", "noop", "-targets", 1, "null", *"-numreqs 3 -ts on triggertime 5".split(),
                warns=m.TRIGGER_PAST)
    t.ok(run.status == 0 and len(run.error_lines()) == 1 and "triggertime: that time is past" in run.err and
         "Operations recorded, 3," in run.out, "triggertime: a time that is past", run)


# Files and reports


def test_words():
    base = ["-op", "read", "-targets", 1, DATA, "-reqsize", 4, "-numreqs", 4, "-ts"]
    for words, parts in (("summary", 1), ("on", 1), ("detailed", 2), ("detailed summary", 2), ("detailed off", 0),
                         ("off summary", 1)):
        run = t.xdd(*base, *words.split())
        t.ok(run.status == 0 and not run.err and len(x.detailed_part(run.out)) == parts, "-ts %s: on standard output" % words,
             run)
        t.ok(run.out.find("COMBINED") < run.out.find("Start of SUMMARY") < run.out.find("Ending time") or not parts,
             "-ts %s: after the results" % words)
    for words, parts in (("output", 2), ("summary output", 1), ("detailed output", 2)):
        name = prefix()
        run = t.xdd(*base, *words.split(), name)
        text = x.read_report(name + ".target.0000.csv").text
        t.ok(run.status == 0 and len(x.detailed_part(text)) == parts and not x.detailed_part(run.out),
             "-ts %s <prefix>" % words, text)
    name = prefix()
    run = t.xdd(*base, "dump", name)
    t.ok(run.status == 0 and not x.detailed_part(run.out) and os.listdir(t.tmp()).count(os.path.basename(name) +
         ".target.0000.bin") == 1, "-ts dump alone: no report", run)
    for words in ("wrap", "size 3", "append", "triggerop 1", "normalize"):
        run = t.xdd(*base, *words.split())
        t.ok(run.status == 0 and "nothing is stamped" in run.err and not x.detailed_part(run.out),
             "-ts %s alone: a warning that nothing is stamped" % words, run)


def test_files():
    name = prefix()
    small = ["-op", "read", "-targets", 3, DATA, "null", DATA, *"-reqsize 4 -ts detailed dump".split(), name,
             "-ts", "output", name, "-ts", "target", 1, "off"]
    csvs = [name + ".target.%04d.csv" % i for i in (0, 2)]
    run = t.xdd(*small, "-numreqs", 5)
    made = sorted(f for f in os.listdir(t.tmp()) if f.startswith(os.path.basename(name) + "."))
    t.equal((run.status, made), (0, sorted(os.path.basename(name) + ".target.%04d.%s" % (i, e) for i in (0, 2)
                                           for e in ("csv", "bin"))), "a file for each target that is stamped")
    t.equal([x.read_report(f).rows[0]["Target"] for f in csvs], [0, 2], "each with the rows of its target")
    t.xdd(*small, "-numreqs", 3)
    t.equal([len(x.read_report(f).rows) for f in csvs], [3, 3], "the next run replaces them")
    run = t.xdd(*small, "-numreqs", 4, "-ts", "append")
    t.equal([len(x.read_report(f).rows) for f in csvs], [7, 7], "append: adds to them")
    t.equal(len(x.rows_of(name + ".target.0002.bin")), 4, "append: the dump is that of this run")


def test_normalize():
    run, report = stamped(*"-reqsize 4 -numreqs 4".split(), words=("normalize detailed",))
    end_ns = run.begin_ns + run.seconds * 1e9
    t.ok(all(run.begin_ns <= r["StartTS"] // 1000 <= r["EndTS"] // 1000 <= end_ns for r in report.rows) and report.rows,
         "normalize: times of the wall clock", report.rows[:1])
    t.ok(re.search(r", delta, [1-9]\d+000$", report.heading), "normalize: the delta is shown", report.heading)


def test_canceled():
    for n in (0, 100):
        name = prefix()
        run = xddhold.interrupted(t.xdd_words("-op", "noop", "-targets", 2, "null", "null", *"-reqsize 1 -timelimit 60 -queuedepth 4 "
                                              "-operationdelay 0.001 -ts summary dump".split(), name, "-ts", "output", name), n)
        ops = int(re.search(r"^ *COMBINED +\d+ +\d+ +\d+ +\d+ +(\d+)", run.out, re.M).group(1))
        dumps = [x.Dump(name + ".target.%04d.bin" % i) for i in (0, 1)]
        t.equal((run.status, sum(len(d.entries) for d in dumps), dumps[0].meta["partial"]), (5, ops, ["1"]),
                "interrupted in operation %d: all that was done is in the dumps" % n)


def test_not_begun():
    """A target that has not begun when the run is interrupted: its dump is empty, and partial like the other one."""
    name = prefix()
    run = t.xdd("-op", "noop", "-targets", 2, "null", "null", *"-targetstartdelay 60 -reqsize 1 -operationdelay 0.1 -numreqs 100".split(),
                "-ts", "dump", name, at={1: signal.SIGINT})
    dumps = [x.Dump(name + ".target.%04d.bin" % i) for i in (0, 1)]
    t.equal((run.status, [(len(d.entries) > 0, d.meta["partial"]) for d in dumps]), (5, [(True, ["1"]), (False, ["1"])]),
            "interrupted before a target begins: its dump is partial, too", run)


def test_hanging():
    """A target that never answers keeps back neither its own dump nor that of the other."""
    env = s.faults("hang", start=40 * 1024, file="hanging")
    if env is None:
        return t.skip("a target that hangs", s.sys_why())
    name, file = prefix(), t.make_file("hanging", 1 << 20)
    # The last operation of the target that does not hang.
    run = xddhold.interrupted(t.xdd_words("-op", "read", "-targets", 2, file, DATA, *"-reqsize 4 -numreqs 100 -queuedepth 4".split(),
                                          "-ts", "dump", name, "-ts", "detailed", "output", name), 99,
                              env=dict(os.environ, **env))
    combined = re.search(r"^ *COMBINED +\d+ +\d+ +\d+ +\d+ +(\d+)", run.out, re.M)
    found = [sorted(e["op"] for e in x.Dump(name + ".target.%04d.bin" % i).entries) for i in (0, 1)]
    reports = [[r["OP Number"] for r in x.read_report(name + ".target.%04d.csv" % i).rows] for i in (0, 1)]
    # The first ten operations of one target complete; a slow machine may not reach the end of the other.
    t.ok(run.status == 5 and found[0] == list(range(len(found[0]))) and len(found[0]) <= 10 and
         sum(map(len, found)) == int(combined.group(1)), "a target that hangs: what was done is in the dumps", (found, run))
    return t.equal(reports, found, "a target that hangs: and in the reports")


def test_full_disk():
    directory = s.tmpfs("tiny", 1 << 16)
    if directory is None:
        return t.skip("a full disk", s.sys_why())
    for what in ("dump", "detailed output"):
        run = t.xdd("-op", "noop", "-targets", 1, "null", *"-reqsize 1 -numreqs 20000 -ts".split(), *what.split(),
                    os.path.join(directory, "x"))
        t.ok(run.status == 6 and len(run.error_lines()) == 1 and re.search(
            r"^xdd: target 0, null: -ts (dump|output) .*: No space left on device$", run.err) and
             "terminated with errors" in run.out and not os.listdir(directory),
             "-ts %s to a full disk: one line, status 6, and nothing of it is left" % what, run)
    return None


def test_timerinfo():
    for name in ("-timerinfo", "-ti"):
        run = t.xdd("-op", "noop", "-targets", 1, "null", "-numreqs", 3, name, real=True)
        found = re.findall(r"^Timer, (TSC|vDSO), resolution (\d+) ns, overhead (\d+\.\d) ns per reading, time stamp "
                           r"(\d+\.\d) ns per operation$", run.out, re.M)
        t.ok(run.status == 0 and len(found) == 1 and float(found[0][2]) > 0 and float(found[0][3]) > 0, name, run)


def test_no_cost():
    """Without the option, no memory is taken for it."""
    if os.environ.get("XDD_SANITIZERS", "no") != "no":
        return t.skip("memory", "not with sanitizers")
    base = [t.XDD, "-op", "noop", "-targets", "1", "null", "-numreqs", "1000000"]
    peaks = []
    for more in ([], ["-ts", "summary"]):
        code = "import resource,subprocess,sys;subprocess.run(sys.argv[1:],stdout=subprocess.DEVNULL);" \
            "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"
        peaks.append(int(t.command([sys.executable, "-c", code] + base + more).out))
    return t.ok(peaks[0] < 30000 and peaks[1] > 62500, "memory: none without, the table with", peaks)


# Bad input


def test_bad_input():
    directory = t.path("bad")
    os.mkdir(directory)
    with open(os.path.join(directory, "data"), "wb") as f:
        f.write(bytes(65536))
    os.mkdir(os.path.join(directory, "x.target.0000.csv"))
    os.mkdir(os.path.join(directory, "closed"))
    before = sorted(os.listdir(directory))
    base = "-op read -targets 1 data -reqsize 1 -numreqs 10 "
    for args, status, want in (
            ("-ts", 2, "-ts: " + m.missing("<suboption>")),
            ("-ts sumary", 3, "-ts sumary: " + m.no_suboption("summary")),
            ("-ts zzzz", 3, "-ts zzzz: " + m.one_of("summary, detailed, .* or off")),
            ("-ts detailed zzzz", 3, "zzzz: " + m.STRAY),
            ("-ts output", 2, "-ts output: " + m.missing("<prefix>")),
            ("-ts dump -verbose", 2, "-ts dump: " + m.missing("<prefix>", follows="-verbose")),
            ("-ts output ''", 2, "-ts output '': " + "<prefix> " + m.EMPTY),
            ("-ts size", 2, "-ts size: " + m.MISSING),
            ("-ts size 0", 2, "-ts size 0: " + m.whole_number("operations", 1)),
            ("-ts size -1", 2, "-ts size -1: " + m.whole_number("operations", 1)),
            ("-ts size 4x", 2, "-ts size 4x: " + m.whole_number("operations")),
            ("-ts size 99999999999999", 2, "-ts size 99999999999999: " + m.WHOLE_NUMBER),
            ("-timelimit 1 -ts on size 1099511627776 -numreqs 1099511627776", 2,
             "-ts: the tables of time stamps would take .* GiB, .* -ts size"),
            ("-numreqs 1000000000000 -ts on", 2, "-ts: the tables of time stamps would take .* GiB, .* -ts size"),
            ("-ts triggerop x on", 2, "-ts triggerop x: " + m.WHOLE_NUMBER),
            ("-ts on triggerop 10", 2, "target 0, data: -ts triggerop 10: a pass has 10 operations, 0 to 9"),
            ("-ts on to 18446744073709551615", 2, "-ts triggerop 18446744073709551615: " + m.WHOLE_NUMBER),
            ("-ts triggertime soon on", 2, "-ts triggertime soon: expected a time "),
            ("-ts tt -1 on", 2, "-ts triggertime -1: expected a time "),
            ("-ts on wrap oneshot", 2, "target 0, data: -ts wrap and -ts oneshot: "),
            ("-ts target 1 on", 2, "-ts on target 1: " + m.no_such_target()),
            ("-ts output none/x", 2, "-ts output none/x.target.0000.csv: " + m.no_directory("none")),
            ("-ts dump none/x", 2, "-ts dump none/x.target.0000.bin: " + m.no_directory("none")),
            ("-ts output data/x", 2, "-ts output data/x.target.0000.csv: " + m.NOT_A_DIRECTORY),
            ("-ts output x", 2, "-ts output x.target.0000.csv: " + m.IS_DIRECTORY),
            ("-ts output y -csvout y.target.0000.csv", 2, "-ts output y.target.0000.csv: " + m.file_of("-csvout")),
            ("-ts dump y -output y.target.0000.bin", 2, "-ts dump y.target.0000.bin: " + m.file_of("-output")),
            ("-timerinfo 5", 3, "5: " + m.STRAY)):
        words = [w if w != "''" else "" for w in (base + args).split()]
        run = t.xdd(*words, cwd=directory, timeout=LIMIT_S)
        t.ok(run.status == status and len(run.error_lines()) == 1 and re.search("^xdd: " + want, run.err) and not run.out and
             len(run.err) <= 220, "refused: " + args, run)
    t.equal(sorted(os.listdir(directory)), before, "nothing was created")
    run = t.xdd("-op", "write", "-targets", 1, "z.target.0000.bin", *"-reqsize 1 -numreqs 10 -ts dump z".split(), cwd=directory)
    t.ok(run.status == 2 and "-ts dump z.target.0000.bin: " + m.is_target(0) in run.err, "refused: a dump over a target", run)
    run = t.xdd(*(base + "-ts detailed output y dump y -dryrun").split(), cwd=directory)
    t.ok(run.status == 0 and "Timestamp binary output file name, y.target.0000.bin" in run.out and
         sorted(os.listdir(directory)) == before, "-dryrun shows the files and makes none", run)


t.run_all()
