#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""
-throttle poisson: the schedule that -seek save lists is a Poisson process at the rate, and operations are issued where
it has them: with each engine and depth, in each pass, and after a stall, which their response times include.

In virtual time (tests/lib/clock.c). A thread that waits for an operation goes on reading the clock at the end, and each
reading is then a step of 1 us: so operations are issued within a few steps after they are due, and never before.
"""
import math
import os

import messages as m
import xddpoisson
import xddtest as t
import xddtrace as x

t.virtual_time()
t.tolerate(t.CACHED)

NULL = "-op noop -targets 1 null".split()
SEED = 72058  # of -seek, without "seed"
STEPS_US = 15  # that all threads take together when one operation of each is due


def schedule(ops, *words, base=NULL, target=0):
    """When operations of the first pass are due, in seconds, as -seek save lists them during a run."""
    name = t.path("list")
    run = t.xdd(*base, "-numreqs", ops, *words, "-seek", "save", name)
    listed = "%s.T%d.txt" % (name, target)
    if run.status or not os.path.exists(listed):
        t.ok(False, "-seek save lists the schedule", run)
        return []
    with open(listed) as f:
        return [int(line.split()[4]) / 1e9 for line in f if not line.startswith("#")]


def exponential(gaps):
    """The greatest distance between the distribution of the gaps and that of the exponential one of their mean."""
    mean, n = sum(gaps) / len(gaps), len(gaps)
    f = [1 - math.exp(-g / mean) for g in sorted(gaps)]
    return max(max((i + 1) / n - p, p - i / n) for i, p in enumerate(f))


def test_schedule():
    seen = []
    for words, rate in (("-throttle ops 100k poisson", 100000), ("-throttle poisson bw 409.6 -reqsize 4", 100000),
                        ("-throttle ops 100k -throttle poisson -seek seed 5", 100000)):
        times = schedule(20000, *words.split())
        gaps = [b - a for a, b in zip(times, times[1:])]
        t.ok(len(times) == 20000 and times[0] == 0 and min(gaps) >= 0, words + ": all operations, in order", times[:5])
        if not gaps:
            continue
        t.ok(abs(times[-1] * rate / 20000 - 1) < 4 / math.sqrt(20000), words + ": at the rate", times[-1])
        # Kolmogorov and Smirnov, at the level of 1 %; the seed is the same in every run of the test.
        t.ok(exponential(gaps) < 1.63 / math.sqrt(len(gaps)), words + ": gaps are exponential", exponential(gaps))
        seen.append(times)
        seed = 5 if "seed 5" in words else SEED
        # xdd's times are whole nanoseconds.
        t.ok(max(abs(at - gap / rate) for at, gap in zip(times, xddpoisson.arrivals(20000, seed))) < 3e-9,
             words + ": as a computation of its own has it", times[:5])
    t.ok(len(seen) == 3 and max(abs(a - b) for a, b in zip(seen[0], seen[1])) < 1e-8 and seen[0][:50] != seen[2][:50],
         "the seed alone decides", [times[:5] for times in seen])
    two = "-op noop -targets 2 null null -throttle ops 100k poisson".split()
    other = schedule(50, base=two, target=1)
    t.ok(schedule(50, base=two) != other, "each target has its own")
    t.ok(other and max(abs(at - gap / 1e5) for at, gap in zip(other, xddpoisson.arrivals(50, SEED, target=1))) < 3e-9,
         "and the second one that of the computation", other[:5])


def dispersion(moments, interval_s, last_s):
    """Variance over mean of the arrivals in intervals; 1 for a Poisson process."""
    counts = [0] * int(last_s / interval_s)
    for at in moments:
        if at < len(counts) * interval_s:
            counts[int(at / interval_s)] += 1
    mean = sum(counts) / len(counts)
    return sum((c - mean) ** 2 for c in counts) / len(counts) / mean


def test_ranks():
    """The ranks of a run have arrivals of their own, so all of them together are a Poisson process too."""
    words = "-throttle ops 100 poisson".split()
    ranks = [schedule(2000, *words, "-rank", r, "-ranks", 4) for r in range(4)]
    t.equal(ranks[0], schedule(2000, *words), "rank 0 has the arrivals of a run without ranks")
    last = min(r[-1] for r in ranks)
    t.ok(0.9 < dispersion(sum(ranks, []), 0.005, last) < 1.1, "the arrivals of 4 ranks are a Poisson process",
         dispersion(sum(ranks, []), 0.005, last))
    for words in ("-throttle ops 100 poisson", "-throttle ops 100 var 50"):
        ranks = [schedule(100, *words.split(), "-rank", r, "-ranks", 4) for r in range(4)]
        t.equal(len({tuple(r) for r in ranks}), 4, words + ": each rank has its own times")


def test_sizes():
    """With a rate of bytes, requests of a list arrive at the rate of those of mean size, whatever their own size."""
    name = t.path("sizes")
    with open(name, "w") as f:
        for i in range(4000):
            f.write("%d %d %d n\n" % (i, 8 * i, 8 if i % 4 == 0 else 1))
    words = "-targets 1 null -reqsize 8 -throttle poisson bw 281.6".split()
    times = schedule(4000, "-seek", "load", name, base=words)
    t.ok(len(times) == 4000 and abs(times[-1] / 0.04 - 1) < 4 / math.sqrt(4000), "requests of two sizes: at the rate", times[-5:])
    t.ok(times and exponential([b - a for a, b in zip(times, times[1:])]) < 1.63 / math.sqrt(4000),
         "requests of two sizes: gaps are exponential")


def issued(words, passes):
    """When operations of each pass were issued, by number, in microseconds of the run."""
    prefix = t.path("trace")
    run = t.xdd(*words, "-ts", "dump", prefix)
    rows = x.rows_of(prefix + ".target.0000.bin") if run.status == 0 else []
    return [[(r["START_NS"] - run.begin_ns) / 1000 for r in sorted(rows, key=lambda r: r["OP"]) if r["PASS"] == number]
            for number in range(1, passes + 1)]


def on_time(starts, due, title):
    """All operations are issued when they are due (us), within the steps of the clock."""
    late = [at - when for at, when in zip(starts, due)]
    t.ok(len(starts) == len(due) and all(0 <= us <= STEPS_US for us in late), title,
         "%d of %d operations, late by (us): %s" % (len(starts), len(due), sorted(late)[:9] + sorted(late)[-9:]))


def test_issued():
    file = t.make_file("data", 1 << 20)
    pace = "-throttle ops 2000 poisson -numreqs 400 -passes 2".split()
    # Arrivals are whole nanoseconds: a part of one is cut off.
    first, second = [[1e6 * gap / 2000 - 0.001 for gap in xddpoisson.arrivals(401, SEED, number_of_pass=number)]
                     for number in (1, 2)]
    apart = [a - b for a, b in zip(first, second)]
    t.ok(max(apart) - min(apart) > 5000, "each pass has a schedule of its own", apart[::50])
    for engine, more in (("psync", []), ("psync", ["-qd", 8]), ("libaio", ["-qd", 8]), ("io_uring", ["-qd", 8]),
                         ("io_uring", ["-qd", 8, "-threads", 3])):
        name = " ".join(["-ioengine", engine] + [str(w) for w in more])
        if engine not in t.engines():
            t.skip(name, "not available")
            continue
        found = issued(["-op", "read", "-reqsize", 1, "-targets", 1, file, "-ioengine", engine] + more + pace, 2)
        on_time(found[0], first[:400], name + ": operations of the first pass are issued where its schedule has them")
        # The second pass begins when a further operation would be due.
        on_time(found[1], [first[400] + us for us in second[:400]], name + ": and those of the second pass")


def test_limit():
    """All that is due before a limit is issued, and nothing else."""
    # The seed is the same at every rate.
    due = [gap / 40 for gap in xddpoisson.arrivals(200, SEED)]
    for limit in (0.5, 0.75, 1):
        for depth in (1, 4):
            run, rows = t.xdd_csv(*NULL, "-throttle", "ops", 40, "poisson", "-timelimit", limit, "-qd", depth, "-outputformat",
                                  "new", "+WHAT+OPS+ELAPSEDTIMEPASS")
            found = [(int(r["OPS"]), float(r["ELAPSEDTIMEPASS"])) for r in rows if r["WHAT"] == "COMBINED"]
            t.equal((run.status, found, round(run.seconds, 4)), (0, [(sum(at < limit for at in due), limit)], limit),
                    "-timelimit %g, -qd %d" % (limit, depth), run)


def test_stall():
    """A third of all operations were due while the process was stopped: their response times have it."""
    file = t.make_file("stalled", 2 << 20)
    run, rows = t.xdd_csv(*"-throttle ops 1000 poisson -numreqs 1500 -op read -reqsize 1 -qd 2 -targets 1".split(), file,
                          "-outputformat", "new", "+WHAT+OPS+RESPP50+RESPP90+RESPP95+RESPMAX+LATMAX", at={0.5: "+0.5"}, warns=m.STOPPED)
    row = {k: float(v) for k, v in [r for r in rows if r["WHAT"] == "COMBINED"][0].items() if k != "WHAT"}
    # Those that are due in the stop begin one after the other at its end, and each takes a step of 1 us.
    due = [1000 * gap for gap in xddpoisson.arrivals(1500, SEED)]
    late = sorted(1e6 - at + n for n, at in enumerate(at for at in due if 5e5 < at <= 1e6))
    responses = [0] * (1500 - len(late)) + late
    t.equal((run.status, row["OPS"]), (0, 1500), "a stall moves no arrival", run)
    found = [("RESPP50", row["RESPP50"], 0), ("RESPP90", row["RESPP90"], responses[1349]),
             ("RESPP95", row["RESPP95"], responses[1424]), ("RESPMAX", row["RESPMAX"], late[-1]), ("LATMAX", row["LATMAX"], 0)]
    # A percentile is the middle of an interval of the histogram.
    t.ok(all(abs(1000 * ms - us) <= us / 256 + STEPS_US for _, ms, us in found), "the response times are those of a stall", found)


def test_shown():
    run = t.xdd(*"-dryrun -op noop -numreqs 1 -targets 1 null -throttle ops 5 poisson".split())
    t.ok("\t\tThrottle arrivals form a Poisson process\n" in run.out, "information", run)
    run = t.xdd(*"-report person -op noop -numreqs 10 -targets 1 null -throttle ops 1000 poisson".split())
    t.ok("Poisson arrivals" in run.out, "the block for people", run)


def test_refused():
    for words, line in (("poisson", "-throttle poisson: is for a rate"), ("delay 1 poisson", "-throttle poisson: is for a rate"),
                        ("ops 10 var 5 poisson", "-throttle poisson: cannot be used with -throttle var")):
        run = t.xdd(*NULL, "-numreqs", 1, "-throttle", *words.split())
        t.ok(run.status == 2 and len(run.error_lines()) == 1 and line in run.err and not run.out,
             "-throttle %s: refused" % words, run)


t.run_all()
