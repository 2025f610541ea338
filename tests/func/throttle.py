#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""
-throttle: the rate and the schedule, stalls that show up in the response time, the engines, ends of passes while an
operation is waited for, and what is refused.

In virtual time (tests/lib/clock.c). A thread that waits for an operation goes on reading the clock at the end, and each
reading is then a step of 1 us: so operations are issued within a few steps after they are due, and never before.
"""
import os
import re
import signal

import messages as m
import xddsys as s
import xddtest as t
import xddtrace as x

t.virtual_time()
t.tolerate(t.CACHED)

FORMAT = "+ELAPSEDTIMEPASS+RESPMIN+RESPP50+RESPP90+RESPP99+RESPMAX+LATP50+LATP99+LATMAX+IOPS+BANDWIDTH+CPUTIME+OPS"
COLUMNS = ["-outputformat", "new", "+WHAT+PASS" + FORMAT]
STEPS_US = 15  # that all threads take together when one operation of each is due


def paced(*args, **kwargs):
    """Run with these words; the run and its COMBINED row, numbers as numbers."""
    run, rows = t.xdd_csv(*args, *COLUMNS, **kwargs)
    return run, numbers(rows)


def each(rows, what):
    """The rows of one kind, with numbers as numbers."""
    return [{k: float(v) for k, v in r.items() if re.match(r"[\d.]+$", v)} for r in rows if r["WHAT"] == what]


def numbers(rows):
    found = each(rows, "COMBINED")
    return found[0] if len(found) == 1 else {}


def timed(*args, **kwargs):
    """As paced(), and when each operation began, in order, in microseconds of the run: a list for each pass."""
    prefix = t.path("timed")
    run, row = paced(*args, "-ts", "dump", prefix, **kwargs)
    rows = x.rows_of(prefix + ".target.0000.bin") if run.status == 0 else []
    found = {}
    for r in rows:
        found.setdefault(r["PASS"], []).append((r["START_NS"] - run.begin_ns) / 1000)
    return run, row, [sorted(found[number]) for number in sorted(found)]


def on_time(starts, due, title):
    """All operations are issued when they are due (us), within the steps of the clock."""
    late = [at - when for at, when in zip(starts, due)]
    t.ok(len(starts) == len(due) and all(0 <= us <= STEPS_US for us in late), title + ": each when it is due",
         "%d of %d operations, late by (us): %s" % (len(starts), len(due), late[:20]))


def lasts(seconds):
    """ELAPSEDTIMEPASS: from when the first operation was due to the last completion, or the end of its interval."""
    return round(seconds, 3)


def saved_times(file):
    """When operations are due, as -seek save has listed it, in nanoseconds."""
    with open(file) as f:
        return [int(line.split()[4]) for line in f if not line.startswith("#")]


def test_rate():
    for args, ops, seconds in (("ops 500 -numreqs 500", 500, 1.0), ("ops 20.5 -numreqs 20", 20, 20 / 20.5),
                               ("ops 20000 -numreqs 2000", 2000, 0.1),
                               ("bw 4.096 -reqsize 4 -numreqs 1000", 1000, 1.0),
                               ("bw 2 -reqsize 1 -blocksize 1000 -qd 4 -numreqs 1000", 1000, 0.5),
                               ("ops 100 -throttle bw 4.096 -reqsize 4 -numreqs 500", 500, 0.5),
                               ("bw 0.001 -throttle ops 1000 -numreqs 500", 500, 0.5),
                               # The last operation is of 100 bytes, and so is its interval.
                               ("bw 0.1 -reqsize 1 -blocksize 1000 -bytes 10100", 11, 0.101),
                               ("ops 500 var 100 -numreqs 500", 500, 1.0)):
        run, row, starts = timed(*"-op noop -targets 1 null -seek save".split(), t.path("rate"), "-throttle", *args.split())
        # Each operation has its interval, the last one too.
        t.equal((run.status, run.err, row.get("OPS"), row.get("ELAPSEDTIMEPASS"), row.get("IOPS")),
                (0, "", ops, lasts(seconds), round(ops / seconds, 3)), "-throttle %s: all operations, in %g s" % (args, seconds))
        interval = 1e6 * (0.01 if "10100" in args else seconds / ops)
        due = [i * interval for i in range(ops)]
        if "var" in args:
            # The intervals differ, and their mean is that of the rate: each operation is somewhere in its own.
            varied = [ns / 1000 for ns in saved_times(t.path("rate.T0.txt"))]
            t.ok(all(abs(a - b) <= interval for a, b in zip(varied, due)) and varied != due,
                 "-throttle %s: intervals differ" % args, varied[:9])
            due = varied
        # An operation is due in a whole nanosecond.
        on_time([us + 0.001 for us in starts[0]], due, "-throttle " + args)


def test_achieved():
    """The rate that is reported is the rate that was asked for, also where operations are few."""
    for args, column, rate in (("ops 1000 -numreqs 10", "IOPS", 1000), ("ops 50 -qd 4 -numreqs 10 -passes 2", "IOPS", 50),
                               ("bw 20.48 -reqsize 1000 -numreqs 5", "BANDWIDTH", 20.48),
                               ("ops 100 -timelimit 0.05", "IOPS", 100), ("ops 100 -runtime 0.1 -qd 2", "IOPS", 100)):
        run, rows = t.xdd_csv(*"-op noop -targets 1 null -qthreadinfo -verbose -throttle".split(), *args.split(), *COLUMNS)
        passes = each(rows, "TARGET_PASS")
        t.equal((run.status, run.err, [p[column] for p in passes]), (0, "", [rate] * len(passes)),
                "-throttle %s: is what is reported" % args, rows)
        for p in passes:
            shares = [q[column] for q in each(rows, "QUEUE_PASS") if q["PASS"] == p["PASS"]]
            t.equal(round(sum(shares), 3), rate, "-throttle %s: QThreads have their shares of it" % args, rows)
        t.equal(re.findall(r"Target 0, rate: ([\d.]+) of ([\d.]+) (?:operations|MB)", run.out), [("%.2f" % rate, "%g" % rate)],
                "-throttle %s: and in words" % args, run)


def test_stopped():
    """A pass that is stopped in the interval of its last operation has lasted until then."""
    _, rows = t.xdd_csv(*"-op noop -targets 2 null null -verbose -numreqs 10 -throttle target 0 ops 2 -throttle target 1".split(),
                        *"ops 10 -stoptrigger 1 0 op 5".split(), *COLUMNS)
    # The fifth operation of the other target is complete after 0.4 s.
    t.equal([(p["OPS"], p["ELAPSEDTIMEPASS"], round(p["IOPS"], 2)) for p in each(rows, "TARGET_PASS")],
            [(1, 0.4, 2.5), (10, 1.0, 10)], "a stop trigger", rows)


def test_not_reached():
    """A device that cannot do what was asked for is reported, with what it did: if that is less than 95 %."""
    file = t.make_file("slow", 2 << 20)
    words = ["-op", "read", "-reqsize", 1, "-targets", 1, file, "-timelimit", 1.06]
    for more in ([], ["-numreqs", 2048], ["-verbose"]):
        run, row = paced(*words, "-throttle", "ops", 1000, *more, device="/slow 1060000", warns=m.RATE_NOT_REACHED)
        # Operations of 1.06 ms: 1000 of them in 1.06 s, and they began before the end.
        t.equal((run.status, row["OPS"], row["IOPS"], [float(rate) for rate in re.findall(m.RATE, run.err)]),
                (0, 1000, 943.396, [943.40]), "the rate is not reached " + " ".join(map(str, more)), run)
    document = t.path("missed.json")
    t.xdd(*words, "-throttle", "bw", 2.048, "-jsonout", document, device="/slow 1060000", warns=m.BANDWIDTH_NOT_REACHED)
    with open(document) as f:
        t.ok("-throttle bw 2.048: only " in f.read(), "the JSON document has it, too")
    # 1.04 ms: 96 %.
    run, row = paced(*words, "-throttle", "ops", 1000, device="/slow 1040000")
    t.equal((run.status, run.err, row["IOPS"]), (0, "", 961.538), "almost the rate: no warning", run)


def test_targets():
    run, rows = t.xdd_csv(*"-op noop -verbose -targets 3 null null null -numreqs 101 -throttle target 0 ops 400".split(),
                          *"-throttle target 1 ops 200".split(), *COLUMNS)
    t.equal((run.status, [(p["OPS"], p["ELAPSEDTIMEPASS"]) for p in each(rows, "TARGET_PASS")]),
            (0, [(101, lasts(101 / 400 + 0.0001)), (101, 0.505), (101, 0)]), "each target has its own", rows)


def test_held():
    """
    While another target holds operations of a target, its schedule rests: what was held is no response time, and comes
    at its rate afterwards.
    """
    file = t.make_file("held", 1 << 20)
    for name, args, ops, seconds in (
            ("-starttrigger", "-numreqs 900 -numreqs target 1 400 -starttrigger 0 1 time 0.5", 400, 0.4),
            ("-lockstep", "-numreqs 15 -numreqs target 1 400 -throttle target 0 ops 20 -throttle target 1 ops 500 "
             "-lockstep 0 1 time 0.5 op 200 wait complete", 400, 0.8),
            # The slower target has its operations 9, 19 and 29 after 225, 475 and 725 ms, and the other one three groups
            # of ten: the last group begins at 475 ms.
            ("-syncio", "-numreqs 30 -throttle target 0 ops 40 -syncio 10", 30, 0.485)):
        for engine in ("-qd 1", "-qd 4", "-qd 4 -ioengine io_uring"):
            if "io_uring" in engine and "io_uring" not in t.engines():
                t.skip(name + " " + engine, "not available")
                continue
            run, rows = t.xdd_csv(*"-op read -reqsize 1 -verbose -targets 2".split(), file, file, *COLUMNS, "-throttle",
                                  "ops", "1000", *args.split(), *engine.split())
            row = each(rows, "TARGET_PASS")[-1]
            t.equal((run.status, row["OPS"], row["ELAPSEDTIMEPASS"]), (0, ops, seconds),
                    "%s %s: held, then at its rate" % (name, engine), run)
            t.ok(1000 * row["RESPMAX"] <= STEPS_US, "%s %s: what was held is no response time" % (name, engine), row)


def test_schedule():
    """Operations of all passes are where the schedule has them."""
    file = t.make_file("schedule", 1 << 20)
    for args, interval_us in (("-throttle ops 100 -numreqs 60", 10000), ("-throttle ops 200 -numreqs 100 -qd 4", 5000),
                              ("-throttle bw 0.1024 -numreqs 60 -passes 2", 10000),
                              ("-throttle ops 100 -numreqs 60 -qd 4 -ordering storage serial", 10000)):
        n = int(re.search(r"-numreqs (\d+)", args).group(1))
        _, _, starts = timed("-op", "read", "-reqsize", 1, "-targets", 1, file, *args.split())
        t.equal([len(at) for at in starts], [n] * (2 if "-passes" in args else 1), args + ": all operations")
        for number, at in enumerate(starts):
            # A pass begins when the interval of the last operation of the one before is over.
            on_time(at, [(number * n + i) * interval_us for i in range(n)], args)


def is_percentile(ms, of_us):
    return round(1e6 * ms) == x.bucket_middle(1000 * of_us)


def test_freeze():
    """
    A stall makes operations late; it moves none. Of 5000 operations 1000 were due while the process was stopped: from
    2.001 to 3 s, and it goes on after 3.0005 s.
    """
    file = t.make_file("frozen", 5 << 20)
    for args in (["-qd", 1], ["-qd", 8]):
        run, row = paced(*"-throttle ops 1000 -numreqs 5000 -op read -reqsize 1 -targets 1".split(), file, *args,
                         at={2.0005: "+1"}, warns=m.STOPPED)
        # Operation k of those that are late is due after k ms, and begins when k - 1 others are done, for which each
        # takes a step of 1 us.
        late_us = sorted(1000500 - 1000 * k + k for k in range(1, 1001))
        title = "-qd %d: 1 s stopped" % args[1]
        t.equal((run.status, row["OPS"], row["ELAPSEDTIMEPASS"], row["RESPMAX"]), (0, 5000, 5, 999.5),
                title + " delays operations", row)
        t.ok(is_percentile(row["RESPP90"], late_us[499]) and is_percentile(row["RESPP99"], late_us[949]) and
             row["RESPP50"] * 1000 <= STEPS_US, title + ": a fifth of them", row)
        t.ok(row["LATMAX"] * 1000 <= STEPS_US, title + " is no service time", row)


def test_engines():
    file = t.make_file("engines", 1 << 20)
    for engine, depth in (("psync", 8), ("libaio", 1), ("libaio", 8), ("io_uring", 1), ("io_uring", 8), ("mmap", 2)):
        if engine not in t.engines():
            t.skip(engine, "not available")
            continue
        for more in ([], ["-threads", 2] if engine in ("libaio", "io_uring") and depth > 1 else
                     ["-ordering", "storage", "serial"]):
            run, row, starts = timed(*"-op read -reqsize 4 -numreqs 200 -throttle ops 400 -targets 1".split(), file,
                                     "-ioengine", engine, "-qd", depth, *more)
            name = " ".join(str(w) for w in [engine, "-qd", depth] + more)
            t.equal((run.status, row.get("OPS"), row.get("ELAPSEDTIMEPASS"), row.get("IOPS")), (0, 200, 0.5, 400),
                    name + ": each operation has its interval")
            on_time(starts[0], [2500 * i for i in range(200)], name)
            t.ok(row["LATMAX"] <= row["RESPMAX"] <= STEPS_US / 1000,
                 name + ": the response time is no less than the service time", row)


def test_device():
    """The response time of an operation that is late because of the one before, and of the one after that."""
    file = t.make_file("device", 1 << 20)
    run, row, starts = timed(*"-op read -reqsize 1 -numreqs 100 -throttle ops 1000 -qd 1 -targets 1".split(), file,
                             device="/device 2500000,100000,100000,100000,100000")
    # Of five operations the first takes 2.5 ms. The second and the third, due after 1 and 2 ms, begin after 2.5 and 2.6 ms.
    due = [1000 * (5 * i + us) for i in range(20) for us in (0, 2.5, 2.6, 3, 4)]
    on_time(starts[0], due, "a slow operation delays those that are due before its end")
    t.equal((run.status, row["LATMAX"], round(row["RESPMAX"], 2), row["ELAPSEDTIMEPASS"]), (0, 2.5, 2.5, 0.1),
            "and no others", row)
    # Their response times are 2.5, 1.6, 0.7, 0.1 and 0.1 ms.
    t.ok(abs(1000 * row["RESPP50"] - 700) <= STEPS_US and abs(1000 * row["LATP50"] - 100) <= STEPS_US,
         "the time they wait is in their response time", row)


def test_processor():
    """Waiting takes no processor time to speak of."""
    if s.sanitized():
        t.skip("processor time", "sanitizers take their own")
        return
    # The processor time of a process does not depend on others; it is real, and so is the wait.
    run, row = paced(*"-op noop -targets 1 null -throttle ops 20 -qd 4 -timelimit 1".split(), real=True)
    t.ok(run.status == 0 and row["CPUTIME"] < 0.1, "1 s of waiting", row)


def test_limits():
    """Operations that are due before the end of a pass are issued, and no others; the pass lasts its time."""
    file = t.make_file("limits", 65536)
    for engine in ("", "libaio", "io_uring"):
        if engine and engine not in t.engines():
            t.skip("-timelimit, " + engine, "not available")
            continue
        words = "-op noop -targets 1 null".split()
        if engine:
            words = ["-op", "read", "-targets", 1, file, "-ioengine", engine, "-reqsize", 1]
        for depth in (1, 8):
            # Operations are due after 0, 0.25, 0.5, 0.75 and 1 s; one that is due at the limit is not issued.
            for limit, ops in ((0.95, 4), (0.75, 3), (0.751, 4), (1, 4), (1.001, 5)):
                run, row = paced(*words, *"-throttle ops 4".split(), "-timelimit", limit, "-qd", depth)
                t.equal((run.status, row["OPS"], row["ELAPSEDTIMEPASS"], round(run.seconds, 4)), (0, ops, limit, limit),
                        "-timelimit %g %s, -qd %d" % (limit, engine, depth), run)
    run, row = paced(*"-op noop -targets 1 null -throttle ops 4 -runtime 0.95 -passes 3".split(), warns=m.RUNTIME_FIRST_PASS)
    t.equal((row["OPS"], round(run.seconds, 4)), (4, 0.95), "-runtime", run)
    run, row = paced(*"-op noop -targets 1 null -throttle ops 0.01 -timelimit 1 -numreqs 5".split())
    t.equal((run.status, row["OPS"], round(run.seconds, 4)), (0, 1, 1), "one interval is longer than the pass", run)
    run, row = paced(*"-op noop -targets 1 null -throttle ops 100 -startdelay 0.3 -passes 2 -numreqs 11".split())
    t.equal((row["OPS"], row["ELAPSEDTIMEPASS"], round(run.seconds, 4)), (22, 0.22, 0.82), "a pass begins after -startdelay", run)
    t.ok(1000 * row["RESPMAX"] <= STEPS_US, "which is no response time", row)


def test_stop():
    file = t.make_file("stopped", 65536)
    for engine in ("psync", "libaio", "io_uring"):
        if engine not in t.engines():
            t.skip("SIGINT with " + engine, "not available")
            continue
        run, row = paced("-op", "read", "-targets", 1, file, *"-reqsize 1 -throttle ops 0.02 -numreqs 4 -qd 2".split(),
                         "-ioengine", engine, at={1: signal.SIGINT})
        # A thread that went on waiting would be abandoned.
        t.equal((run.status, "abandoned" in run.err, row["OPS"], run.seconds), (5, False, 1, 1),
                "SIGINT ends the wait, " + engine, run)


def test_max_errors():
    """The end of a pass is not waited for by operations that are due much later."""
    file = t.make_file("failing", 65536)
    env = s.faults("eio", file="failing", start=0, end=1024)
    if env is None:
        t.skip("-maxerrors", s.sys_why())
        return
    for depth in (1, 4):
        run = t.xdd(*"-op read -reqsize 1 -numreqs 9 -throttle ops 0.02 -maxerrors 1 -targets 1".split(), file, "-qd",
                    depth, env=env)
        t.equal((run.status, round(run.seconds, 4)), (6, 0), "-maxerrors ends the pass, -qd %d" % depth, run)


def test_delay():
    for words, title in (("-throttle delay 0.05", "delay: after each operation"),
                         ("-throttle delay 0.02 -operationdelay 0.03", "delay adds to -operationdelay")):
        run, row, starts = timed(*"-op noop -targets 1 null -qd 1 -numreqs 11".split(), *words.split())
        t.equal((run.status, row["ELAPSEDTIMEPASS"], starts), (0, 0.5, [[50000 * i for i in range(11)]]), title, run)
        t.ok(not row.get("RESPMAX"), title + ": no schedule, no response time", row)
    run, row = paced(*"-op noop -targets 1 null -throttle delay 100 ops 1000 -numreqs 11".split())
    t.equal((run.status, row["ELAPSEDTIMEPASS"], round(run.seconds, 4)), (0, 0.011, 0.011), "the last of ops and delay wins", row)


def test_info():
    for args, line in (("", "Throttle is unrestricted"), ("ops 7.8", "Throttle in ops/sec is,   7.80"),
                       ("bw 87.25", "Throttle in MB/sec is,  87.25"), ("delay 1.5", "Throttle in Delay is,   1.50"),
                       ("ops 5 bw 6", "Throttle in MB/sec is,   6.00"),
                       ("ops 5 var 10", "Throttle variation in percent of the interval is,  10.00")):
        run = t.xdd(*"-dryrun -op noop -numreqs 1 -targets 1 null".split(), *(["-throttle"] + args.split() if args else []))
        t.equal((run.status, "\t\t" + line + "\n" in run.out), (0, True), "information: " + line, run)


def test_save():
    base = t.path("saved")
    for args, wanted in (("ops 1000", [0, 1000000, 2000000]), ("bw 2.048 -reqsize 2", [0, 1000000, 2000000])):
        run = t.xdd(*"-op noop -targets 1 null -numreqs 3 -throttle".split(), *args.split(), "-seek", "save", base)
        times = saved_times(base + ".T0.txt")
        t.equal((run.status, times), (0, wanted), "-seek save, %s: Time1" % args, (run, times))
    # A list of requests of two sizes: bytes decide.
    with open(base, "w") as f:
        f.write("0 0 4 n\n1 4 1 n\n2 5 1 n\n3 6 4 n\n")
    run = t.xdd(*"-targets 1 null -reqsize 4 -throttle bw 0.1024 -seek load".split(), base, "save", t.path("again"))
    times = saved_times(t.path("again.T0.txt"))
    t.equal((run.status, times), (0, [0, 40000000, 50000000, 60000000]), "-seek load: sizes count", (run, times))
    with open(base, "w") as f:
        place = 0
        for i in range(200):
            f.write("%d %d %d n\n" % (i, place, 1 if i % 50 else 128))
            place += 128
    run = t.xdd(*"-targets 1 null -blocksize 1024 -reqsize 128 -throttle bw 10 var 100 -seek load".split(), base, "save",
                t.path("varied"))
    times = saved_times(t.path("varied.T0.txt"))
    t.equal((run.status, len(times), times), (0, 200, sorted(times)),
            "var: operations of unequal sizes keep their order", (run, times))


def test_bad_input():
    for args, status in (("ops 0", 2), ("ops -5", 2), ("ops abc", 2), ("ops 1e3", 2), ("ops", 2), ("bw 0", 2),
                         ("bw 10x", 2), ("ops 1000000001", 2), ("var 0", 2), ("var 101 ops 5", 2), ("var 10", 2),
                         ("delay 0", 2), ("delay x", 2), ("nonsense", 3), ("", 2), ("target 5 ops 3", 2),
                         ("delay 1 var 10", 2)):
        file = t.path("untouched")
        run = t.xdd("-op", "write", "-numreqs", 1, "-targets", 1, file, "-throttle", *args.split())
        t.equal((run.status, len(run.error_lines()), "throttle" in run.err, run.out, os.path.exists(file)),
                (status, 1, True, "", False), "-throttle %s: refused" % args, run)


def test_unit_for_name():
    """A unit says what the name before a rate would; a number alone may be a rate of operations or of bytes."""
    base = ("-op", "noop", "-targets", 1, "null", "-reqsize", 1, "-numreqs", 1, "-dryrun", "-throttle")
    for word, named in (("500iops", "ops 500"), ("2kiops", "ops 2k"), ("500/s", "ops 500"), ("500ops/s", "ops 500"),
                        ("10MB/s", "bw 10MB"), ("10MiB", "bw 10MiB"), ("512B/s", "bw 512B")):
        run, same = t.xdd(*base, word), t.xdd(*base, *named.split())
        shown = [re.findall(r"Throttle in .*", r.out) for r in (run, same)]
        t.equal((run.status, shown[0], len(shown[0])), (0, shown[1], 1), "-throttle %s is -throttle %s" % (word, named), (run, same))
    for word in ("500", "0.5", "10k", "10M/s"):
        run = t.xdd(*base, word)
        t.equal((run.status, len(run.error_lines()), m.without_name(word) in run.err), (3, 1, True),
                "-throttle %s: which rate?" % word, run)


t.run_all()
