#!/usr/bin/env python3
"""
-throttle: the rate and the schedule as seen from outside, stalls that show up in the response time, the engines,
ends of passes while an operation is waited for, and what is refused.

Times are measured here; the bounds leave room for a machine that is busy with other things, and say so where only
one side of them is sure: nothing may ever be issued before it is due.
"""
import os
import re
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.environ["TOP_SRCDIR"], "tests", "lib"))
import messages as m
import xddsys as s
import xddtest as t
import xddtrace as x

t.tolerate(t.BUFFERED)

FORMAT = "+ELAPSEDTIMEPASS+RESPMIN+RESPP50+RESPP90+RESPP99+RESPMAX+LATP50+LATP99+LATMAX+IOPS+BANDWIDTH+CPUTIME+OPS"
COLUMNS = ["-outputformat", "new", "+WHAT+PASS" + FORMAT]
# The total time that a run of this test may be late, in seconds.
LATE = 10.0


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


_dumps = 0


def timed(*args, **kwargs):
    """As paced(), and the time in seconds at which each operation of the first pass began, in order."""
    global _dumps
    _dumps += 1
    prefix = t.path("timed%d" % _dumps)
    run, row = paced(*args, "-ts", "dump", prefix, **kwargs)
    rows = x.rows_of(prefix + ".target.0000.bin") if run.status == 0 else []
    return run, row, sorted(r["START_NS"] / 1e9 for r in rows if r["PASS"] == 1)


def median_interval(starts, span=None, interval=None):
    """
    The median time from an operation to the next. A machine that is busy now and then moves the mean, and not the
    median. Intervals that are short for the scheduler of a busy machine are taken over `span` operations: 0.1 s of
    the schedule.
    """
    span = span or (1 if interval >= 0.001 else round(0.1 / interval))
    found = sorted((b - a) / span for a, b in zip(starts, starts[span:]))
    return found[len(found) // 2] if found else None


def timed_at(interval, *args, span=None, **kwargs):
    """As timed(); again where the median interval is another: after standing still a machine does all at once that is due."""
    def measure():
        found = timed(*args, **kwargs)
        return found[0].status or is_near(median_interval(found[2], span, interval), interval), found
    return t.again(measure)[1]


def is_near(median, interval):
    """Neither slower nor faster than the schedule."""
    return median and 0.9 * interval < median < 1.1 * interval


def at_rate(starts, interval, title, span=None):
    median = median_interval(starts, span, interval)
    t.ok(is_near(median, interval), title + ": the median interval is %g ms" % (1000 * interval),
         "median: %s s of %d operations" % (median, len(starts)))


def at_least(row, seconds):
    """From when the first operation was due to the last completion, or the end of its interval."""
    return row["ELAPSEDTIMEPASS"] >= seconds * 0.999999 - 0.000001


def test_rate():
    for args, ops, seconds in (("ops 500 -numreqs 500", 500, 1.0), ("ops 20.5 -numreqs 20", 20, 20 / 20.5),
                               ("ops 20000 -numreqs 20000", 20000, 1.0),
                               ("bw 4.096 -reqsize 4 -numreqs 1000", 1000, 1.0),
                               ("bw 2 -reqsize 1 -blocksize 1000 -qd 4 -numreqs 1000", 1000, 0.5),
                               ("ops 100 -throttle bw 4.096 -reqsize 4 -numreqs 500", 500, 0.5),
                               ("bw 0.001 -throttle ops 1000 -numreqs 500", 500, 0.5),
                               ("bw 0.1 -reqsize 1 -blocksize 1000 -bytes 10100", 11, 0.101),
                               ("ops 500 var 100 -numreqs 500", 500, 1.0)):
        # With var the intervals differ, and their mean is that of the rate.
        span = 50 if "var" in args else None
        run, row, starts = timed_at(seconds / ops, *"-op noop -targets 1 null -throttle".split(), *args.split(), span=span)
        t.equal((run.status, run.err, row.get("OPS")), (0, "", ops), "-throttle %s: all operations" % args)
        if not row:
            continue
        # Each operation has its interval, the last one too.
        t.ok(at_least(row, seconds), "-throttle %s: takes %g s" % (args, seconds), row)
        at_rate(starts, seconds / ops, "-throttle " + args, span)
        if row["RESPMAX"] < 5:
            t.ok(row["ELAPSEDTIMEPASS"] < seconds + 0.006, "-throttle %s: when nothing is late" % args, row)


def test_achieved():
    """The rate that is reported is the rate that was asked for, also where operations are few."""
    for args, column, rate in (("ops 1000 -numreqs 10", "IOPS", 1000), ("ops 50 -qd 4 -numreqs 10 -passes 2", "IOPS", 50),
                               ("bw 20.48 -reqsize 1000 -numreqs 5", "BANDWIDTH", 20.48),
                               ("ops 100 -timelimit 0.05", "IOPS", 100), ("ops 100 -runtime 0.1 -qd 2", "IOPS", 100)):
        for _ in range(4):
            run, rows = t.xdd_csv(*"-op noop -targets 1 null -qthreadinfo -verbose -throttle".split(), *args.split(), *COLUMNS)
            whole, queues = each(rows, "TARGET_PASS")[0], each(rows, "QUEUE_PASS")
            # A limit comes while the last operation waits for the processor; the pass is as long as its limit still.
            least = whole[column] > rate * 0.9999
            if least:
                break
        qd = len([q for q in queues if q["PASS"] == 1])
        t.ok(run.status == 0 and whole[column] <= rate * 1.00001 and least, "-throttle %s: is what is reported" % args, rows)
        t.ok(abs(sum(q[column] for q in queues[:qd]) - whole[column]) <= 0.0001 * rate,
             "-throttle %s: QThreads have their shares of it" % args, rows)
        t.ok("not reached" not in run.err and re.search(r"Target 0, rate: [\d.]+ of %g " % rate, run.out),
             "-throttle %s: nothing is amiss" % args, run)


def test_stopped():
    """A pass that is stopped in the interval of its last operation has lasted until then."""
    run, rows = t.xdd_csv(*"-op noop -targets 2 null null -verbose -numreqs 10 -throttle target 0 ops 2 -throttle target 1".split(),
                          *"ops 10 -stoptrigger 1 0 op 5".split(), *COLUMNS)
    stopped = each(rows, "TARGET_PASS")[0]
    # The fifth operation of the other target is complete after 0.4 s, or later.
    t.ok(run.status == 0 and stopped["OPS"] >= 1 and stopped["ELAPSEDTIMEPASS"] > 0.39 and
         stopped["IOPS"] <= max(2, 1 / 0.39) * 1.001, "a stop trigger", rows)


def test_not_reached():
    """A device that cannot do what was asked for is reported, with what it did."""
    for more in ([], ["-numreqs", "5000000"], ["-verbose"]):
        run, row = paced(*"-op noop -targets 1 null -throttle ops 1000000000 -timelimit 0.3".split(), *more,
                         warns=m.RATE_NOT_REACHED)
        said = re.fullmatch(m.warning("target 0, null", "-throttle ops 1000000000: " + m.RATE) + ".*\n", run.err)
        t.ok(run.status == 0 and said and abs(float(said.group(1)) - row["IOPS"]) < row["IOPS"] * 0.01,
             "the rate is not reached " + " ".join(more), (run, row))
    document = t.path("missed.json")
    t.xdd(*"-op noop -targets 1 null -throttle bw 1000000000 -timelimit 0.3 -jsonout".split(), document,
          warns=m.BANDWIDTH_NOT_REACHED)
    with open(document) as f:
        t.ok("-throttle bw 1000000000: the rate was not reached" in f.read(), "the JSON document has it, too")


def test_targets():
    run, rows = t.xdd_csv(*"-op noop -verbose -targets 3 null null null -numreqs 101 -throttle target 0 ops 400".split(),
                          *"-throttle target 1 ops 200".split(), *COLUMNS)
    passes = each(rows, "TARGET_PASS")
    t.ok(run.status == 0 and len(passes) == 3 and
         all(at_least(p, took) and p["ELAPSEDTIMEPASS"] < took + LATE for p, took in zip(passes, (0.25, 0.5, 0))) and
         passes[2]["ELAPSEDTIMEPASS"] < 0.2, "each target has its own", rows)


def test_held():
    """
    While another target holds operations of a target, its schedule rests: what was held is no response time, and comes
    at its rate afterwards. Half of the operations may be late on a machine that is busy, not for as long as they were held.
    """
    file = t.make_file("held", 1 << 20)
    for name, args, held_ms, ops, seconds in (
            ("-starttrigger", "-numreqs 900 -numreqs target 1 400 -starttrigger 0 1 time 0.5", 500, 400, 0.399),
            ("-lockstep", "-numreqs 15 -numreqs target 1 400 -throttle target 0 ops 20 -throttle target 1 ops 500 "
             "-lockstep 0 1 time 0.5 op 200 wait complete", 500, 400, 0.798),
            ("-syncio", "-numreqs 30 -throttle target 0 ops 40 -syncio 10", 250, 30, 0.029)):
        for engine in ("-qd 1", "-qd 4", "-qd 4 -ioengine io_uring"):
            if "io_uring" in engine and "io_uring" not in t.engines():
                t.skip(name + " " + engine, "not available")
                continue
            for _ in range(4):
                run, rows = t.xdd_csv(*"-op read -reqsize 1 -verbose -targets 2".split(), file, file, *COLUMNS, "-throttle",
                                      "ops", "1000", *args.split(), *engine.split())
                row = each(rows, "TARGET_PASS")[-1]
                good = run.status == 0 and row["OPS"] == ops and row["RESPP50"] < held_ms / 5
                if good or run.status:
                    break
            t.ok(good and at_least(row, seconds), "%s %s: held, then at its rate" % (name, engine), (run, row))


def starts(trace, file):
    """When operations on the file were submitted, in seconds, from the times that strace puts before them."""
    found = []
    with open(trace, errors="replace") as f:
        for line in f:
            m = re.match(r"\d+ +(\d+\.\d+) +pread64\(\d+<([^>]*)>", line)
            if m and m.group(2) == os.path.realpath(file):
                found.append(float(m.group(1)))
    return sorted(found)


def trace_starts(args, file):
    """Run with these words under strace; the run and when its operations were submitted."""
    log = t.path("schedule.strace")
    run = t.command(["strace", "-f", "-y", "-ttt", "-o", log, "-e", "trace=pread64", "-E", "ASAN_OPTIONS=detect_leaks=0",
                     t.XDD, "-op", "read", "-reqsize", "1", "-targets", "1", file] + args.split())
    return run, starts(log, file)


def test_schedule():
    """Seen by strace, operations are where the schedule has them; one that is late makes none after it late."""
    if not s.can_trace():
        t.skip("the schedule", s.sys_why())
        return
    file = t.make_file("schedule", 1 << 20)
    for args, interval in (("-throttle ops 100 -numreqs 60", 0.01), ("-throttle ops 200 -numreqs 100 -qd 4", 0.005),
                           ("-throttle bw 0.1024 -numreqs 60 -passes 2", 0.01),
                           ("-throttle ops 100 -numreqs 60 -qd 4 -ordering storage serial", 0.01)):
        passes = 2 if "-passes" in args else 1
        n = int(re.search(r"-numreqs (\d+)", args).group(1))
        # A machine that is busy with other things may be late most of the time, but hardly four times.
        for _ in range(4):
            run, at = trace_starts(args, file)
            good = False
            if run.status or len(at) != n * passes:
                t.ok(False, args + ": all operations", run)
                break
            # The start is not seen: it is where the operation that came closest to its time puts it.
            offsets = [sorted(x - i * interval for i, x in enumerate(at[k * n:(k + 1) * n])) for k in range(passes)]
            good = all(o[n // 2] - o[0] < interval for o in offsets)
            if good:
                break
        if len(at) == n * passes:
            t.ok(good, args + ": on time", offsets)


def stop_and_go(p, after, seconds):
    s.settle(p, after)
    p.send_signal(signal.SIGSTOP)
    time.sleep(seconds)
    p.send_signal(signal.SIGCONT)


def frozen(*args):
    """A run of 5 s at 1000 operations per second, stopped for 1 s in its middle; its COMBINED row."""
    csv = t.path("frozen.csv")
    if os.path.exists(csv):
        os.unlink(csv)
    words = t.xdd_words(*"-throttle ops 1000 -numreqs 5000 -op read -reqsize 1".split(), *args, *COLUMNS, "-csvout", csv)
    with subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as p:
        stop_and_go(p, 2, 1)
        err = p.stderr.read().decode()
        status = p.wait(timeout=t.TIMEOUT)
    return status, err, numbers(t.read_csv(csv)) if os.path.exists(csv) else {}


def test_freeze():
    """
    A stall makes operations late; it moves none. Of 5000 operations 1000 were due while the process was stopped, and
    they were late by 0 to 1 s. The machine's own stalls may add to that; then it is tried again.
    """
    file = t.make_file("frozen", 1 << 20)
    for args in (["-qd", 1], ["-qd", 8]):
        for attempt in range(4):
            status, err, row = frozen("-seek", "range", 1000, "-targets", 1, file, *args)
            good = status == 0 and row.get("OPS") == 5000 and 475 <= row["RESPP90"] <= 525 and \
                950 <= row["RESPP99"] <= 1000 and row["RESPMAX"] >= 990 and row["LATP99"] < 5 and \
                row["RESPP50"] < 100 and row["ELAPSEDTIMEPASS"] < 5.1
            if good or status:
                break
        t.ok(good, "-qd %d: 1 s stopped is in the response time, not in the service time" % args[1], (status, err, row))


def test_engines():
    file = t.make_file("engines", 1 << 20)
    for engine, depth in (("psync", 8), ("libaio", 1), ("libaio", 8), ("io_uring", 1), ("io_uring", 8), ("mmap", 2)):
        if engine not in t.engines():
            t.skip(engine, "not available")
            continue
        for more in ([], ["-threads", 2] if engine in ("libaio", "io_uring") and depth > 1 else
                     ["-ordering", "storage", "serial"]):
            run, row, starts = timed_at(0.0025, *"-op read -reqsize 4 -numreqs 201 -throttle ops 400 -targets 1".split(), file,
                                        "-ioengine", engine, "-qd", depth, *more)
            name = " ".join(str(w) for w in [engine, "-qd", depth] + more)
            t.equal((run.status, row.get("OPS")), (0, 201), name + ": all operations")
            t.ok(row and at_least(row, 0.5), name + ": each has its interval", (run, row))
            at_rate(starts, 0.0025, name)
            t.ok(row and row["RESPMIN"] > 0, name + ": there is a response time", row)
            t.ok(row and row["RESPMAX"] >= row["LATMAX"] * 0.99, name + ": it is no less than the service time", row)


def test_processor():
    """Waiting takes no processor time to speak of."""
    if s.sanitized():
        t.skip("processor time", "sanitizers take their own")
        return
    run, row = paced(*"-op noop -targets 1 null -throttle ops 20 -qd 4 -timelimit 2".split())
    t.ok(run.status == 0 and row["CPUTIME"] < 0.2, "2 s of waiting", row)


def in_time(title, holds, *args, **kwargs):
    """Test a run and its COMBINED row; where the machine stands still there are further attempts."""
    def measure():
        run, row = paced(*args, **kwargs)
        return run.status == 0 and holds(run, row), run, row
    good, *found = t.again(measure)
    t.ok(good, title, found)


def test_limits():
    """
    What is due before the end of a pass is issued, all of it, and nothing else; the pass lasts its time. The last one
    is due 0.2 s before the end, for machines that are late.
    """
    def four(run, row):
        return row["OPS"] == 4 and 0.95 <= run.seconds < 0.95 + LATE

    for depth in (1, 8):
        in_time("-timelimit, -qd %d" % depth, four, *"-op noop -targets 1 null -throttle ops 4 -timelimit 0.95".split(), "-qd", depth)
    file = t.make_file("limits", 65536)
    for engine in ("libaio", "io_uring"):
        words = ["-op", "read", "-targets", 1, file, "-ioengine", engine, "-reqsize", 1, "-seek", "range", 64]
        if engine not in t.engines():
            t.skip("-timelimit, " + engine, "not available")
            continue
        for depth in (1, 8):
            in_time("-timelimit, %s, -qd %d" % (engine, depth), four, *words, *"-throttle ops 4 -timelimit 0.95 -qd".split(), depth)
    in_time("-runtime", lambda run, row: row["OPS"] == 4, *"-op noop -targets 1 null -throttle ops 4 -runtime 0.95 -passes 3".split(),
            warns=m.RUNTIME_FIRST_PASS)
    run, row = paced(*"-op noop -targets 1 null -throttle ops 0.01 -timelimit 1 -numreqs 5".split())
    t.ok(run.status == 0 and row["OPS"] == 1 and 1 <= run.seconds < 1 + LATE, "one interval is longer than the pass", run)
    in_time("a pass begins after -startdelay", lambda run, row: row["OPS"] == 22 and row["RESPMAX"] < 300,
            *"-op noop -targets 1 null -throttle ops 100 -startdelay 0.3 -passes 2 -numreqs 11".split())


def test_stop():
    for engine in ("psync", "libaio", "io_uring"):
        file = t.make_file("stopped", 65536)
        if engine not in t.engines():
            t.skip("SIGINT with " + engine, "not available")
            continue
        csv = t.path("stopped.%s.csv" % engine)
        with subprocess.Popen([t.XDD, "-op", "read", "-targets", "1", file, "-reqsize", "1", "-throttle", "ops", "0.02",
                               "-numreqs", "4", "-qd", "2", "-ioengine", engine, "-csvout", csv], stdin=subprocess.DEVNULL,
                              stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as p:
            s.settle(p, 1)
            p.send_signal(signal.SIGINT)
            err = p.communicate(timeout=t.TIMEOUT)[1].decode()
            status = p.returncode
        rows = [r for r in t.read_csv(csv) if r["WHAT"] == "COMBINED"]
        # A thread that went on waiting would be abandoned.
        t.ok(status == 5 and "abandoned" not in err and len(rows) == 1 and rows[0]["OPS"] == "1",
             "SIGINT ends the wait, " + engine, (status, rows, err))


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
        t.equal((run.status, run.seconds < 40), (6, True), "-maxerrors ends the pass, -qd %d" % depth, run)


def test_delay():
    for words, title in (("-throttle delay 0.05", "delay: after each operation"),
                         ("-throttle delay 0.02 -operationdelay 0.03", "delay adds to -operationdelay")):
        run, row, starts = timed(*"-op noop -targets 1 null -qd 1 -numreqs 11".split(), *words.split())
        t.ok(run.status == 0 and row["ELAPSEDTIMEPASS"] >= 0.5, title, (run, row))
        at_rate(starts, 0.05, title)
        t.ok(not row.get("RESPMAX"), title + ": no schedule, no response time", row)
    run, row = paced(*"-op noop -targets 1 null -throttle delay 100 ops 1000 -numreqs 11".split())
    t.equal((run.status, run.seconds < LATE), (0, True), "the last of ops and delay wins", row)


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
        with open(base + ".T0.txt") as f:
            times = [int(line.split()[4]) for line in f if not line.startswith("#")]
        t.equal((run.status, times), (0, wanted), "-seek save, %s: Time1" % args, (run, times))
    # A list of requests of two sizes: bytes decide.
    with open(base, "w") as f:
        f.write("0 0 4 n\n1 4 1 n\n2 5 1 n\n3 6 4 n\n")
    run = t.xdd(*"-targets 1 null -reqsize 4 -throttle bw 0.1024 -seek load".split(), base, "save", t.path("again"))
    with open(t.path("again.T0.txt")) as f:
        times = [int(line.split()[4]) for line in f if not line.startswith("#")]
    t.equal((run.status, times), (0, [0, 40000000, 50000000, 60000000]), "-seek load: sizes count", (run, times))
    with open(base, "w") as f:
        place = 0
        for i in range(200):
            f.write("%d %d %d n\n" % (i, place, 1 if i % 50 else 128))
            place += 128
    run = t.xdd(*"-targets 1 null -blocksize 1024 -reqsize 128 -throttle bw 10 var 100 -seek load".split(), base, "save",
                t.path("varied"))
    with open(t.path("varied.T0.txt")) as f:
        times = [int(line.split()[4]) for line in f if not line.startswith("#")]
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


t.run(test_rate, test_achieved, test_stopped, test_not_reached, test_targets, test_held, test_schedule, test_freeze, test_engines, test_processor, test_limits, test_stop, test_max_errors,
      test_delay, test_info, test_save, test_bad_input)
t.done()
