#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""
Every number of the result lines: counts are exact; rates are held against the bytes, operations and times of
the same line, within the last digit printed; delays are held against the clock on the wall, from the side
on which a slow machine makes no difference.
"""
import os
import re
import resource

import messages as m
import xddjson
import xddsys as s
import xddtest as t

# Runs last long in which -runtime ends the passes, or whose file is slow and in memory.
t.tolerate(m.FEWER_PASSES_RUN, t.CACHED)

ALL = ("+WHAT+PASS+TARGET+QUEUE+BYTESXFERED+BYTESREAD+BYTESWRITTEN+OPS+READOPS+WRITEOPS+BANDWIDTH+READBANDWIDTH"
       "+WRITEBANDWIDTH+IOPS+READIOPS+WRITEIOPS+LATENCY+ELAPSEDTIME1STOP+ELAPSEDTIMEPASS+CPUTIME+PERCENTCPUTIME"
       "+USERTIME+SYSTEMTIME+PERCENTUSER+PERCENTSYSTEM+OPTYPE+XFERSIZEBYTES+XFERSIZEBLOCKS+XFERSIZEKBYTES"
       "+XFERSIZEMBYTES")
MS = 0.0005  # half of the last digit of most columns


def full(*args, **kwargs):
    """Run with all lines and all columns; returns the run and its rows."""
    return t.xdd_csv(*args, "-verbose", "-qthreadinfo", "-outputformat", "new", ALL, **kwargs)


def pick(rows, what, **fields):
    return [r for r in rows if r["WHAT"] == what and all(r[k] == str(v) for k, v in fields.items())]


def total(rows, name):
    return sum(int(r[name]) for r in rows)


def real(row, name):
    return float(row[name])


def combined(*args):
    """(operations, bytes) of COMBINED of a run on null, or what went wrong."""
    run, rows = t.xdd_csv(*args)
    last = pick(rows, "COMBINED")
    if run.status or run.error_lines() or len(last) != 1:
        return run
    return int(last[0]["OPS"]), int(last[0]["BYTESXFERED"])


# Counts


def test_the_checklist():
    for op in ("read", "write", "noop"):
        run = t.xdd("-op", op, *"-targets 1 null -numreqs 1000 -reqsize 4 -passes 3 -verbose".split())
        passes = [run.row("TARGET_PASS", Pass=p) or {} for p in (1, 2, 3)]
        average = run.row("TARGET_AVERAGE", Pass=3) or {}
        last = run.row("COMBINED", Pass=3, Target=1) or {}
        t.equal([(r.get("Ops"), r.get("Bytes_Xfered")) for r in passes + [average, last]],
                [("1000", "4096000")] * 3 + [("3000", "12288000")] * 2, "%s: 1000 requests of 4 KiB, 3 passes" % op)
        t.equal({r["Op_Type"] for r in run.rows()}, {op}, op + ": its name")


def test_amounts():
    cases = (("-bytes 10000", 3, 10000), ("-bytes 4096", 1, 4096), ("-bytes 1", 1, 1), ("-bytes 8K", 2, 8192),
             ("-kbytes 5", 2, 5120), ("-mbytes 3", 768, 3 << 20), ("-gbytes 1 -reqsize 1024", 1024, 1 << 30),
             ("-bytes 12289 -blocksize 512", 7, 12289), ("-numreqs 7 -blocksize 512", 7, 7 * 2048),
             ("-numreqs 10 -mbytes 1", 10, 40960), ("-mbytes 1 -numreqs 10", 10, 40960),
             ("-numreqs 10 -timelimit 600", 10, 40960), ("-kbytes 8 -bytes 4096", 1, 4096),
             ("-bytes 4096 -kbytes 8", 2, 8192), ("-gbytes 1 -mbytes 1 -kbytes 1", 1, 1024),
             ("-bytes 40960 -runtime 600 -timelimit 600", 10, 40960))
    for args, ops, size in cases:
        t.equal(combined(*"-op read -targets 1 null -reqsize 4".split(), *args.split(), "-passes", 2, "-queuedepth", 3),
                (2 * ops, 2 * size), args)


def test_short_last_operation():
    file = t.make_file("short", 20000)
    for depth in (1, 4):
        run, rows = full("-op", "read", "-targets", 1, file, *"-reqsize 4 -bytes 10001 -passes 2".split(), "-qd", depth)
        last = pick(rows, "COMBINED")[0]
        t.equal((total(pick(rows, "TARGET_PASS", PASS=1), "BYTESREAD"), last["BYTESXFERED"], last["OPS"]),
                (10001, "20002", "6"), "depth %d: the short operation counts its own bytes" % depth)
        t.equal((last["XFERSIZEBYTES"], last["XFERSIZEBLOCKS"], last["XFERSIZEKBYTES"]), ("3334", "3.26", "3.26"),
                "depth %d: the mean size of a request" % depth)


def test_sums():
    run, rows = full(*("-op read -op target 1 write -op target 2 noop -targets 3 null null null -numreqs 1000 "
                       "-numreqs target 1 333 -reqsize 2 -reqsize target 2 3 -passes 4 -queuedepth 4 "
                       "-queuedepth target 2 7").split())
    t.ok(run.status == 0, "three unlike targets", run)
    work = ((1000, 2048, 4, "read"), (333, 2048, 4, "write"), (1000, 3072, 7, "noop"))
    counts = ("OPS", "READOPS", "WRITEOPS", "BYTESXFERED", "BYTESREAD", "BYTESWRITTEN")
    sums = dict.fromkeys(counts, 0)
    for number, (ops, size, depth, op) in enumerate(work):
        wanted = {"OPS": ops, "READOPS": ops * (op == "read"), "WRITEOPS": ops * (op == "write"),
                  "BYTESXFERED": ops * size, "BYTESREAD": ops * size * (op == "read"),
                  "BYTESWRITTEN": ops * size * (op == "write")}
        for p in (1, 2, 3, 4):
            queues = pick(rows, "QUEUE_PASS", TARGET=number, PASS=p)
            t.ok([r["QUEUE"] for r in queues] == [str(i) for i in range(depth)],
                 "target %d, pass %d: a line for each QThread" % (number, p), queues)
            for name, rows_of in (("QUEUE_PASS", queues), ("TARGET_PASS", pick(rows, "TARGET_PASS", TARGET=number,
                                                                              PASS=p))):
                t.equal({k: total(rows_of, k) for k in counts}, wanted,
                        "target %d, pass %d: the counts of %s" % (number, p, name))
        average = pick(rows, "TARGET_AVERAGE", TARGET=number)
        t.ok(len(average) == 1 and average[0]["PASS"] == "4" and average[0]["QUEUE"] == str(depth) and
             average[0]["OPTYPE"] == op, "target %d: one TARGET_AVERAGE" % number, average)
        t.equal({k: total(average, k) for k in counts}, {k: 4 * v for k, v in wanted.items()},
                "target %d: TARGET_AVERAGE sums the passes" % number)
        for k in counts:
            sums[k] += 4 * wanted[k]
    last = pick(rows, "COMBINED")
    t.equal([{k: int(r[k]) for k in counts} for r in last], [sums], "COMBINED sums the targets")
    t.equal([(r["PASS"], r["TARGET"], r["QUEUE"], r["OPTYPE"]) for r in last], [("4", "3", "15", "mixed")],
            "COMBINED has the numbers of passes, targets and QThreads")
    t.equal(rows.index(last[0]), len(rows) - 1, "COMBINED is the last line")


def test_nobarrier():
    run, rows = full(*("-op read -targets 3 null null null -numreqs 5000 -numreqs target 1 10 -numreqs target 2 700 "
                       "-reqsize 4 -passes 5 -queuedepth 3 -nobarrier").split())
    for number, ops in enumerate((5000, 10, 700)):
        passes = pick(rows, "TARGET_PASS", TARGET=number)
        t.equal([(r["PASS"], r["OPS"]) for r in passes], [(str(p), str(ops)) for p in range(1, 6)],
                "-nobarrier, target %d: five passes" % number)
        t.equal([r["OPS"] for r in pick(rows, "TARGET_AVERAGE", TARGET=number)], [str(5 * ops)],
                "-nobarrier, target %d: all passes" % number)
    t.equal([(r["PASS"], r["OPS"], r["BYTESXFERED"]) for r in pick(rows, "COMBINED")],
            [("5", str(5 * 5710), str(5 * 5710 * 4096))], "-nobarrier: COMBINED")
    t.equal(run.status, 0, "-nobarrier: status")


def test_rwratio():
    for percent, ops, reads in ((0, 1000, 0), (1, 1000, 10), (10, 1000, 100), (25, 1000, 250), (30.2, 1000, 302), (40, 1000, 400),
                                (33.333, 1000, 333), (50, 1000, 500), (75, 1000, 750), (99, 1000, 990), (100, 1000, 1000),
                                (25, 4, 1), (10, 10, 1), (1, 100, 1), (30.2, 10, 3), (49.9, 1, 0), (50, 1, 1), (99, 10, 10)):
        run, rows = full("-rwratio", percent,
                         *"-targets 1 null -reqsize 4 -passes 2 -queuedepth 5".split(), "-numreqs", ops)
        title = "-rwratio %s of %d operations" % (percent, ops)
        got = [tuple(int(r[k]) for k in ("READOPS", "WRITEOPS", "BYTESREAD", "BYTESWRITTEN"))
               for r in pick(rows, "TARGET_PASS")]
        t.equal(got, [(reads, ops - reads, reads * 4096, (ops - reads) * 4096)] * 2, title)
        t.equal({r["OPTYPE"] for r in rows}, {"write" if percent == 0 else "read" if percent == 100 else "mixed"},
                title + ": its name")
    drawn = [full(*"-rwratio 30 random -targets 1 null -numreqs 10000".split(), "-queuedepth", depth)[1]
             for depth in (1, 8)]
    reads = [total(pick(rows, "COMBINED"), "READOPS") for rows in drawn]
    t.ok(abs(reads[0] - 3000) < 300 and reads[0] == reads[1], "-rwratio 30 random draws, in every run the same", reads)


def test_directions():
    if not s.can_trace():
        return t.skip("directions of single operations", s.sys_why())
    file = t.make_file("directions", 40 * 1024)
    for percent, wanted in ((50, "rwrwrwrwrw"), (30, "wrwwrwwwrwwrwwr"), (75, "rrwrrrwrrr"), (30.2, "wrwwrwwwrw"), (25, "wrww")):
        run, trace = s.trace("-rwratio", percent, "-targets", 1, file, "-reqsize", 1, "-numreqs", len(wanted))
        t.equal("".join("r" if op.call == "pread" else "w" for op in trace.of(file)), wanted,
                "-rwratio %s: the order of reads and writes" % percent)
        t.equal(run.status, 0, "-rwratio %s: status" % percent)


def test_noop():
    file = t.make_file("noop", 8192)
    run, rows = full("-op", "noop", "-targets", 1, file, *"-numreqs 100 -reqsize 4 -passes 2".split())
    last = pick(rows, "COMBINED")[0]
    t.equal((run.status, last["OPS"], last["READOPS"], last["WRITEOPS"], last["BYTESXFERED"], last["BYTESREAD"]),
            (0, "200", "0", "0", "819200", "0"), "noop on a file counts what it would have moved")
    if s.can_trace():
        run, trace = s.trace("-op", "noop", "-targets", 1, file, *"-numreqs 100 -reqsize 4".split())
        t.equal(trace.of(file), [], "noop moves nothing")


# Rates


def near_ratio(row, name, amount, seconds_name="ELAPSEDTIMEPASS"):
    """Return true if a rate is amount over elapsed time, within the printed digits of both."""
    low, high = real(row, seconds_name) - MS, real(row, seconds_name) + MS
    return amount / high - MS - 1e-9 <= real(row, name) <= amount / low + MS + 1e-9


def check_rates(rows, title):
    wrong = []
    for r in rows:
        if real(r, "ELAPSEDTIMEPASS") < 10 * MS:
            continue
        for name, of, scale in (("BANDWIDTH", "BYTESXFERED", 1e6), ("READBANDWIDTH", "BYTESREAD", 1e6),
                                ("WRITEBANDWIDTH", "BYTESWRITTEN", 1e6), ("IOPS", "OPS", 1),
                                ("READIOPS", "READOPS", 1), ("WRITEIOPS", "WRITEOPS", 1)):
            if not near_ratio(r, name, int(r[of]) / scale):
                wrong.append((name, r))
        if abs(real(r, "XFERSIZEBYTES") - int(r["BYTESXFERED"]) / int(r["OPS"])) > 0.501:
            wrong.append(("XFERSIZEBYTES", r))
        for name, unit in (("XFERSIZEBLOCKS", 1024), ("XFERSIZEKBYTES", 1024), ("XFERSIZEMBYTES", 1 << 20)):
            if abs(real(r, name) - int(r["BYTESXFERED"]) / int(r["OPS"]) / unit) > 0.00501:
                wrong.append((name, r))
    t.ok(not wrong, title, wrong)


def test_rates():
    run, rows = full(*("-rwratio 40 -targets 2 null null -numreqs 60 -numreqs target 1 30 -reqsize 512 -passes 2 "
                       "-queuedepth 2 -operationdelay 0.005").split())
    slow = [r for r in rows if r["WHAT"] != "QUEUE_PASS" and real(r, "ELAPSEDTIMEPASS") > 0.02]
    t.equal((run.status, len(rows), len(slow)), (0, 2 * 2 * 2 + 7, 7), "lines with an elapsed time")
    check_rates(rows, "rates are what the line says over its elapsed time")
    for number in (0, 1):
        times = [real(r, "ELAPSEDTIMEPASS") for r in pick(rows, "TARGET_PASS", TARGET=number)]
        average = pick(rows, "TARGET_AVERAGE", TARGET=number)[0]
        t.ok(abs(sum(times) - real(average, "ELAPSEDTIMEPASS")) <= 3 * MS,
             "target %d: TARGET_AVERAGE sums the elapsed times" % number, (times, average))
    t.ok(all(real(r, "LATENCY") < 4 for r in rows), "-operationdelay is no part of the latency", rows)
    t.ok(all(real(r, "ELAPSEDTIMEPASS") >= 14 * 0.005 for r in pick(rows, "TARGET_PASS")),
         "-operationdelay is part of the elapsed time", rows)


def test_combined_window():
    run, rows = full(*("-op read -targets 2 null null -numreqs 40 -numreqs target 1 80 -reqsize 4 -passes 3 "
                       "-operationdelay 0.005").split())
    last, longest, together = pick(rows, "COMBINED")[0], 0, 0
    for p in (1, 2, 3):
        times = [real(r, "ELAPSEDTIMEPASS") for r in pick(rows, "TARGET_PASS", PASS=p)]
        longest += max(times)
        together += sum(times)
    t.ok(longest - 6 * MS <= real(last, "ELAPSEDTIMEPASS") < together,
         "COMBINED spans the longest target of each pass, and counts what overlaps once", (longest, together, last))
    t.ok(last["OPS"] == "360" and near_ratio(last, "IOPS", 360) and near_ratio(last, "BANDWIDTH", 360 * 4096 / 1e6),
         "COMBINED has the sums over that time", last)


def test_latency():
    env = s.faults("slow", ns=5000000, file="slow")
    if env is None:
        return t.skip("latency", s.sys_why())
    file = t.make_file("slow", 64 * 1024)
    for depth in (1, 4):
        run, rows = full("-op", "read", "-targets", 1, file, *"-numreqs 16 -reqsize 4".split(), "-queuedepth", depth,
                         "-operationdelay", 0.2, env=env)
        busy = [r for r in rows if r["OPS"] != "0"]
        t.ok(run.status == 0 and len(busy) >= 3 and all(5 <= real(r, "LATENCY") < 150 for r in busy),
             "depth %d: the mean time of an operation, whatever is between them" % depth, rows)
        first = pick(rows, "TARGET_PASS")[0]
        t.ok(5 <= real(first, "ELAPSEDTIME1STOP") < 1000, "depth %d: the time of the first operation" % depth, first)
        t.ok(real(first, "ELAPSEDTIMEPASS") >= 16 / depth * 0.005, "depth %d: elapsed" % depth, first)
    return None


def test_cpu():
    processors = os.sysconf("SC_NPROCESSORS_ONLN")
    for how, share in (("absolute", 1), ("relative", processors), (None, 1)):
        run, rows = full("-op", "noop", "-targets", 1, "null", "-numreqs", 10000000,
                         *(["-percentcpu", how] if how else []), real=True)
        wrong = []
        for r in rows:
            for percent, seconds in (("PERCENTCPUTIME", "CPUTIME"), ("PERCENTUSER", "USERTIME"),
                                     ("PERCENTSYSTEM", "SYSTEMTIME")):
                low = 100 * (real(r, seconds) - MS) / (real(r, "ELAPSEDTIMEPASS") + MS) / share - MS
                high = 100 * (real(r, seconds) + MS) / (real(r, "ELAPSEDTIMEPASS") - MS) / share + MS
                if not low <= real(r, percent) <= high:
                    wrong.append((percent, r))
            if abs(real(r, "USERTIME") + real(r, "SYSTEMTIME") - real(r, "CPUTIME")) > 3.01 * MS:
                wrong.append(("CPUTIME", r))
        t.ok(run.status == 0 and rows and not wrong, "percent of CPU, %s" % (how or "by default"), wrong or run)
        t.ok(all(real(r, "CPUTIME") > 0.01 for r in rows), "a busy thread uses the CPU (%s)" % (how or "by default"),
             rows)
    return None


def test_cpu_of_passes():
    """Making ready buffers that one operation uses a part of is most of the work, and none of the result."""
    file = t.make_file("cpu", 16 << 20)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    run, rows = full(*"-op read -reqsize 16384 -numreqs 1 -queuedepth 16 -nomemlock -targets 1".split(), file, real=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    whole = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    last = pick(rows, "COMBINED")
    t.ok(run.status == 0 and last and 0 <= real(last[0], "CPUTIME") < whole / 2, "COMBINED: setting up does not count",
         (whole, last))
    run, rows = full(*"-op noop -targets 2 null null -timelimit 0.2 -passes 2".split(), real=True)
    own = sum(real(r, "CPUTIME") for r in pick(rows, "TARGET_AVERAGE"))
    t.ok(run.status == 0 and pick(rows, "COMBINED") and real(pick(rows, "COMBINED")[0], "CPUTIME") > 0.9 * own,
         "COMBINED: what all threads have used in all passes", rows)


def test_cpu_of_short_passes():
    """A QThread uses no more than the elapsed time, however short: what it does before and after is none of it."""
    processors = os.sysconf("SC_NPROCESSORS_ONLN")
    file = t.make_file("short_passes", 16384)
    for words in ("-op noop -targets 1 null -numreqs 10 -passes 5", "-op read -reqsize 4 -numreqs 4 -passes 5 -targets 1 " + file,
                  "-op noop -targets 2 null null -numreqs 10 -passes 3 -queuedepth 3"):
        run, rows = full(*words.split(), real=True)
        # A QThread without an operation has no elapsed time, and so no share of it.
        wrong = [r for r in rows if int(r["OPS"]) and real(r, "PERCENTCPUTIME") > MS + 100 * (
            processors if r["WHAT"] == "COMBINED" else 1 if r["WHAT"] == "QUEUE_PASS" else int(r["QUEUE"]))]
        t.ok(run.status == 0 and rows and not wrong, words + ": no more time than there was", wrong or run)
        used = pick(rows, "TARGET_AVERAGE")
        t.ok(used and all(real(r, "PERCENTCPUTIME") > 0 for r in used), words + ": and some", used)


# Time


def check_delay(title, args, shared, unequal=0):
    """
    A run of two targets that waits for `shared` seconds with both, which must show on the wall and in no rate, and
    for `unequal` more with one of them, which are in the rates of COMBINED alone. Waiting may take longer
    than it should on a busy machine, which does count: hence half of it is enough.
    """
    run, rows = full(*args.split())
    last = pick(rows, "COMBINED")[0]
    rest = run.seconds - (shared + unequal) / 2
    t.equal((run.status, run.seconds >= shared + unequal), (0, True), title + ": is waited for", run.seconds)
    sums = [real(r, "ELAPSEDTIMEPASS") for r in pick(rows, "TARGET_AVERAGE")]
    t.ok(len(sums) == 2 and all(x <= rest for x in sums), title + ": is left out of TARGET_AVERAGE",
         (sums, run.seconds))
    rest = run.seconds - shared / 2
    t.ok(unequal / 2 <= real(last, "ELAPSEDTIMEPASS") <= rest, title + ": COMBINED leaves out what both share",
         (last, run.seconds))
    t.ok(real(last, "IOPS") >= int(last["OPS"]) / rest, title + ": is left out of the rates", (last, run.seconds))


def test_delays():
    two = "-op read -targets 2 null null -numreqs 100 -reqsize 4 "
    check_delay("-passdelay", two + "-passes 3 -passdelay 0.5", 1.0)
    check_delay("-passdelay, -nobarrier", two + "-passes 3 -passdelay 0.5 -nobarrier", 1.0)
    check_delay("-startdelay", two + "-passes 2 -startdelay 0.5", 1.0)
    check_delay("-targetstartdelay", two + "-passes 2 -targetstartdelay 0.5", 0, 1.0)
    check_delay("all delays", two + "-passes 2 -targetstartdelay 0.3 -startdelay 0.2 -passdelay 0.4", 0.8, 0.6)
    check_delay("all delays, -nobarrier", two + "-passes 2 -targetstartdelay 0.3 -startdelay 0.2 -passdelay 0.4 "
                "-nobarrier", 0.8, 0.6)
    run = t.xdd(*two.split(), "-passes", 1, "-passdelay", 60)
    t.equal((run.status, run.seconds < 50), (0, True), "-passdelay: not after the last pass", run.seconds)


def test_unequal_delays():
    """A rate of COMBINED is one that the targets had together: what -deskew, the document and the clock say too."""
    paced = "-op noop -targets 2 null null -reqsize 4 -numreqs 200 -throttle ops 1000 -startdelay target 1 0.5".split()
    document = t.path("unequal.json")
    run, rows = full(*paced, "-deskew", "-passes", 2, "-jsonout", document)
    last = pick(rows, "COMBINED")[0]
    whole = re.findall(r"^Deskew, combined, whole, ([\d.]+), seconds, (\d+), bytes, ([\d.]+), MB/s, ", run.out, re.M)
    t.ok(run.status == 0 and whole and abs(real(last, "ELAPSEDTIMEPASS") - float(whole[0][0])) < 2 * MS and
         abs(real(last, "BANDWIDTH") - float(whole[0][2])) < 2 * MS, "COMBINED has the whole of -deskew", (last, whole))
    t.ok(real(last, "IOPS") < 1005 and real(last, "ELAPSEDTIMEPASS") < run.seconds,
         "targets that take turns are no faster than one", (last, run.seconds))
    together = next((x for x in (xddjson.check(document, "the document of unequal delays") or {}).get("statistics", [])
                     if x["target"] is None), None)
    t.ok(together and len(together["iops"]["values"]) == 2 and all(v < 1005 for v in together["iops"]["values"]),
         "so say the statistics of all targets", together)
    run, rows = full(*paced, "-passes", 2, "-passdelay", 0.1, "-nobarrier")
    last = pick(rows, "COMBINED")[0]
    t.ok(run.status == 0 and real(last, "IOPS") < 2005 and 0.4 < real(last, "ELAPSEDTIMEPASS") < run.seconds,
         "-nobarrier: no rate above that of both", (last, run.seconds))


def test_limits():
    run, rows = full(*"-op noop -targets 2 null null -timelimit 0.05 -passes 2 -queuedepth 2".split())
    passes = pick(rows, "TARGET_PASS")
    t.ok(run.status == 0 and not run.error_lines() and len(passes) == 4 and run.seconds < 30,
         "-timelimit alone ends each pass", run)
    t.ok(all(int(r["OPS"]) > 0 and 0.05 <= real(r, "ELAPSEDTIMEPASS") < 0.051 for r in passes) and run.seconds >= 0.1,
         "-timelimit: passes last as long", (passes, run.seconds))
    run, rows = full(*("-op noop -targets 1 null -runtime 0.5 -passes 1000000000 -numreqs 10 "
                       "-operationdelay 0.001").split())
    last = pick(rows, "COMBINED")
    t.ok(run.status == 0 and last and 1 <= int(last[0]["PASS"]) < 1000 and run.seconds < 30, "-runtime ends the run",
         run)
    t.ok(0 < int(pick(rows, "TARGET_AVERAGE")[0]["OPS"]) <= 10 * int(last[0]["PASS"]),
         "-runtime: the last pass may be cut")
    for limit in ("-timelimit 100", "-runtime 100"):
        t.equal(combined(*"-op noop -targets 1 null -passes 2 -numreqs 10 -reqsize 1".split(), *limit.split()),
                (20, 20480), limit + " adds nothing")
    for delay in ("-passdelay", "-startdelay", "-operationdelay"):
        run = t.xdd(*"-op noop -targets 1 null -passes 3 -numreqs 10 -runtime 0.5".split(), delay, 60)
        t.equal((run.status, run.seconds < 50), (0, True), "-runtime ends %s too" % delay, run.seconds)


TESTS = (test_the_checklist, test_amounts, test_short_last_operation, test_sums, test_nobarrier, test_rwratio,
         test_directions, test_noop, test_rates, test_combined_window, test_latency, test_cpu, test_cpu_of_passes,
         test_cpu_of_short_passes, test_delays, test_unequal_delays, test_limits)
t.run(*TESTS)
t.done()
