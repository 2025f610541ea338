#!/usr/bin/env python3
"""
Latencies: the figures of -latency and of the columns against times that a library in front of pread wrote down
itself, how they add up over QThreads, targets and passes, the CSV file, and what is refused.
"""
import json
import math
import os
import re
import signal
import statistics
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.environ["TOP_SRCDIR"], "tests", "lib"))
import messages as m
import xddhold
import xddsys as s
import xddjson as j
import xddtest as t

t.tolerate(t.BUFFERED, t.CACHED)

PERCENTS = (50, 90, 95, 99, 99.9, 99.99, 99.999)
COLUMNS = ("MIN", "MEAN", "STDDEV", "WAVG", "P50", "P90", "P95", "P99", "P999", "P9999", "P99999", "MAX")

# Each pread takes as long as XDD_DELAY says, and how long it did take, in nanoseconds, goes to XDD_DELAY_LOG.
DELAYS = r"""
#define _GNU_SOURCE
#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define ROOM 1000000

static uint64_t times[ROOM];
static _Atomic unsigned n_times;

static uint64_t now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ull + ts.tv_nsec;
}

static double uniform(void)
{
	static __thread uint64_t x;

	if (!x)
		x = (uint64_t)&x | 1;
	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	return (x >> 11) / 9007199254740992.0;
}

static double delay_ns(const char *what)
{
	double u = uniform(), v = uniform();

	if (!strcmp(what, "lognormal"))
		return 200e3 * exp(sqrt(-2 * log(1 - u)) * cos(2 * M_PI * v));
	if (!strcmp(what, "bimodal"))
		return u < 0.9 ? 100e3 + 20e3 * v : 2e6 + 200e3 * v;
	return 500e3;
}

static ssize_t delayed(int fd, void *buf, size_t size, off_t offset)
{
	const char *what = getenv("XDD_DELAY");
	uint64_t begin = now(), end;
	unsigned n;
	ssize_t got = syscall(SYS_pread64, fd, buf, size, offset);

	if (!what)
		return got;
	end = begin + delay_ns(what);
	while (now() < end)
		if (end - now() > 200000)
			nanosleep(&(struct timespec){ 0, 100000 }, NULL);
	n = n_times++;
	if (n < ROOM)
		times[n] = now() - begin;
	return got;
}

ssize_t pread(int fd, void *buf, size_t size, off_t offset)
{
	return delayed(fd, buf, size, offset);
}

ssize_t pread64(int fd, void *buf, size_t size, off_t offset)
{
	return delayed(fd, buf, size, offset);
}

static void __attribute__((destructor)) write_down(void)
{
	const char *file = getenv("XDD_DELAY_LOG");
	int fd = file ? open(file, O_WRONLY | O_CREAT | O_TRUNC, 0600) : -1;

	if (fd >= 0 && write(fd, times, n_times * sizeof(times[0])) < 0)
		abort();
}
"""

_library = None


def delays(what, log):
    """The environment in which each pread takes so long, or None."""
    global _library
    _library = _library or s.library("delays", DELAYS, "-lm")
    if _library is None:
        return None
    options = os.environ.get("ASAN_OPTIONS", "")
    return {"XDD_DELAY": what, "XDD_DELAY_LOG": log, "LD_PRELOAD": _library,
            "ASAN_OPTIONS": (options + ":" if options else "") + "verify_asan_link_order=0"}


def read_log(file):
    """The times that the library recorded, sorted."""
    with open(file, "rb") as f:
        return sorted(memoryview(f.read()).cast("Q"))


def percentile(times, percent):
    """The smallest of the sorted times that so many do not exceed, in ms."""
    rank = max(1, math.ceil(len(times) * percent / 100 - 1e-9))
    return times[min(rank, len(times)) - 1] / 1e6


def table(run, what="LATENCY_COMBINED"):
    """Rows of the table of -latency as dictionaries."""
    names, rows = None, []
    for line in run.out.splitlines():
        words = line.split()
        if words[:1] == ["Latency"] and "Ops" in words:
            names = words
        elif names and words[:1] == [what] and "|" not in words:
            rows.append(dict(zip(names, words)))
    return rows


def octaves(run, what="LATENCY_COMBINED"):
    """Counts in 1/1000 of the distribution, each a number, 0 or "---"."""
    rows = []
    for line in run.out.splitlines():
        if line.split()[:1] == [what] and "|" in line:
            words = [word for word in " ".join(line.split("|")[1:]).split() if word not in ("us", "ms", "s")]
            rows.append([0 if word == "___" else word if word == "---" else int(word) for word in words])
    return rows


def weighted_average(document):
    """Of the latencies of reads in a JSON document, in ms: the buckets, each weighted by the square of its operations."""
    with open(document) as f:
        results = json.load(f)["results"]
    flat = next(r for r in results if r["what"] == "COMBINED")["latency"]["service"]["read"]["histogram"]
    buckets = list(zip(flat[::2], flat[1::2]))
    return sum(n * n * ns for ns, n in buckets) / sum(n * n for _, n in buckets) / 1e6


def test_against_sort():
    """
    An interval that xdd measures contains the one that the library measures, so no figure may be below that of
    the library's times. None may be above, except for a few operations that lost the processor between the two clocks.
    """
    file = t.make_file("delayed", 65536)
    for what in ("lognormal", "bimodal", "constant"):
        log = t.path("times")
        env = delays(what, log)
        if env is None:
            t.skip("delays", "no C compiler")
            return
        document = t.path("times.json")
        run = t.xdd(*"-op read -reqsize 1 -numreqs 2000 -seek none -targets 1".split(), file, "-latency",
                    "percentiles", ",".join(str(p) for p in PERCENTS), "-latency", "histogram", "-jsonout", document, env=env)
        rows, times = table(run), read_log(log) if os.path.exists(log) else []
        if not t.ok(run.status == 0 and len(rows) == 1 and len(times) == 2000 and rows[0]["Ops"] == "2000",
                    what + ": all operations", run):
            continue
        row = {k: float(v) for k, v in rows[0].items() if re.match(r"[\d.]+$", v)}
        wrong = []
        for percent in PERCENTS:
            if not j.enough(percent, 2000):
                t.equal(rows[0]["P%g" % percent], "-", "%s: no percentile %g of 2000 operations" % (what, percent))
                continue
            least = percentile(times, percent) * 0.995
            most = (percentile(times, percent + 1) * 1.005 + 0.05) if percent < 99 else row["Max"]
            if not least <= row["P%g" % percent] <= most:
                wrong.append((percent, least, row["P%g" % percent], most))
        t.equal(wrong, [], what + ": percentiles")
        t.ok(times[0] / 1e6 <= row["Min"] <= times[20] / 1e6 + 0.05 and row["Max"] >= times[-1] / 1e6,
             what + ": shortest and longest", (row, times[0], times[-1]))
        mean, lower = statistics.fmean(times) / 1e6, row["Min"] <= row["Mean"] <= row["Max"]
        t.ok(lower and mean <= row["Mean"] <= mean * 1.25 + 0.05, what + ": mean", (row, mean))
        # How the times lie is the machine's affair: the average is held against the buckets it is made of.
        average = weighted_average(document)
        t.ok(row["Min"] <= row["WAvg"] <= row["Max"] and abs(row["WAvg"] - average) <= average * 0.01,
             what + ": weighted average", (row, average))
        shares = octaves(run)
        t.ok(len(shares) == 1 and len(shares[0]) == 24 and
             990 <= sum(0 if x == "---" else x for x in shares[0]) <= 1010, what + ": distribution", run)
        if what == "constant":
            # 500 us: from 256 us on. A longer time is also longer in the library, except for the part that the
            # library cannot see.
            most, least = (sum(1 for x in times if x <= limit) / 2 for limit in (1024000, 922000))
            found = sum(x for x in shares[0][8:10] if x != "---")
            t.ok(least - 40 <= found <= most + 10 and sum(x for x in shares[0][:8] if x != "---") == 0,
                 what + ": at its place", (shares, least, most))
        if what == "bimodal":
            low = sum(1 for x in times if x < 1000000) / 2
            t.ok(abs(sum(x for x in shares[0][:10] if x != "---") - low) < 30, what + ": two places", (shares, low))


def test_sums():
    """Buckets of the passes add up to those of the targets, and those to the run's, exactly."""
    file, csv_file = t.make_file("summed", 1 << 20), t.path("sums.csv")
    run, rows = t.xdd_csv(*"-reqsize 4 -qd 3 -passes 2 -rwratio 50 -numreqs 120 -verbose -targets 2".split(), file, file,
                          "-latency", "output", csv_file, "histogram", "percentiles", "50,100", "-outputformat", "add",
                          "".join("+LAT" + c for c in COLUMNS) + "+READLATP50+WRITELATMAX+RESPMAX")
    if not t.ok(run.status == 0, "two targets, two passes", run):
        return
    sums = {}
    lines = t.read_csv(csv_file)
    for line in lines:
        if line["RECORD"] == "BUCKET":
            key = line["DIRECTION"], line["TIME"], line["FROM"], line["TO"]
            into = sums.setdefault(line["WHAT"], {})
            into[key] = into.get(key, 0) + int(line["OPS"])
    t.ok(len(sums) == 3 and sums["TARGET_PASS"] == sums["TARGET_AVERAGE"] == sums["COMBINED"],
         "buckets of passes, targets and the run", sums)
    counts = {(x["WHAT"], x["PASS"], x["TARGET"], x["DIRECTION"]): int(x["OPS"]) for x in lines
              if x["RECORD"] == "SUMMARY"}
    wanted = {}
    for what, pass_, target, times in [("TARGET_PASS", p, n, 1) for p in "12" for n in "01"] + [
            ("TARGET_AVERAGE", "2", n, 2) for n in "01"] + [("COMBINED", "2", "2", 4)]:
        for dir_, ops in (("read", 60), ("write", 60), ("all", 120)):
            wanted[what, pass_, target, dir_] = ops * times
    t.equal(counts, wanted, "a line for each pass, target and direction")
    by = {(x["WHAT"], x["PASS"], x["TARGET"]): x for x in lines if x["RECORD"] == "SUMMARY" and
          x["DIRECTION"] == "all"}
    columns = [r for r in rows if r["WHAT"] != "QUEUE_PASS"]
    t.ok(len(columns) == 7 and all(
        all(r["LAT" + c] == by[r["WHAT"], r["PASS"], r["TARGET"]][c] for c in ("MIN", "MEAN", "STDDEV", "P50", "MAX"))
        for r in columns), "columns and file have the same figures", (rows, lines))
    passes = [r for r in columns if r["WHAT"] == "TARGET_PASS"]
    whole = [r for r in columns if r["WHAT"] == "COMBINED"][0]
    t.ok(float(whole["LATMAX"]) == max(float(r["LATMAX"]) for r in passes) and
         float(whole["LATMIN"]) == min(float(r["LATMIN"]) for r in passes), "extremes of the run", passes)
    t.ok(all(float(r["LATMIN"]) <= float(r["LATP50"]) <= float(r["LATP90"]) <= float(r["LATMAX"]) and r["RESPMAX"] == ""
             for r in columns), "percentiles ascend; no response time without -throttle", columns)
    t.ok(all((r["LATP99"], r["LATP99999"]) == ("", "") for r in columns), "no 99th percentile of less than 1000 operations", columns)
    t.ok(all(abs(float(r["LATMEAN"]) - float(r["LATENCY"])) < 0.001 for r in columns), "LATMEAN is LATENCY", columns)
    t.equal([(r["Latency"], r["Op"]) for w in ("PASS", "AVERAGE", "COMBINED") for r in table(run, "LATENCY_" + w)],
            [("LATENCY_" + w, op) for w, n in (("PASS", 4), ("AVERAGE", 2), ("COMBINED", 1)) for _ in range(n)
             for op in ("read", "write", "all")], "-verbose: the table has all of it")


def intervals_of(lines, what=""):
    """Intervals by target, pass, direction and time, in the order of the file; with COMBINED those of all targets."""
    found = {}
    for line in lines:
        if line["RECORD"] == "INTERVAL" and line["WHAT"] == what:
            found.setdefault((line["TARGET"], line["PASS"], line["DIRECTION"], line["TIME"]), []).append(
                (float(line["START"]), float(line["END"]), int(line["OPS"]), float(line["MIN"]), float(line["MAX"])))
    return found


def test_intervals():
    """Intervals follow each other, add up to their pass, and end with it."""
    csv_file = t.path("intervals.csv")
    for more in ([], ["-nobarrier", "-passdelay", "0.1"]):
        if os.path.exists(csv_file):
            os.unlink(csv_file)
        run = t.xdd(*"-rwratio 40 -targets 2 null null -timelimit 0.5 -passes 2 -qd 2 -throttle target 1 ops 400".split(),
                    "-latency", "intervals", "0.1", "output", csv_file, *more)
        lines = t.read_csv(csv_file)
        found = intervals_of(lines)
        passes = {(x["TARGET"], x["PASS"], x["DIRECTION"], x["TIME"]): x for x in lines
                  if x["RECORD"] == "SUMMARY" and x["WHAT"] == "TARGET_PASS"}
        title = "intervals" + (" with -nobarrier" if more else "")
        # A machine that is too busy for the rate of target 1 is warned of; that changes nothing here.
        t.ok(run.status == 0 and re.fullmatch("(%s.*\n)?" % m.RATE_NOT_REACHED, run.err) and
             sorted(found) == sorted(passes) and len(found) == 18, title, run)
        t.equal({k: sum(x[2] for x in v) for k, v in found.items()}, {k: int(x["OPS"]) for k, x in passes.items()},
                title + " add up to their pass")
        t.ok(all(e - b >= 0.01 for v in found.values() for b, e, *_ in v), title + ": none is shorter than a tenth", found)
        together = intervals_of(lines, "COMBINED")
        t.equal({k[:2] for k in together}, {("2", "0")} if more else {("2", "1"), ("2", "2")}, title + " of all targets")
        whole = {(x["DIRECTION"], x["TIME"]): x for x in lines if x["RECORD"] == "SUMMARY" and x["WHAT"] == "COMBINED"}
        t.equal({k: sum(x[2] for key, v in together.items() for x in v if key[2:] == k) for k in whole},
                {k: int(x["OPS"]) for k, x in whole.items()}, title + " of all targets add up to the run")
        for key, v in together.items():
            t.ok(all(a[1] <= b[0] + 1e-6 for a, b in zip(v, v[1:])), "%s of all targets do not overlap, %s" % (title, key), v)
        if not more:
            t.equal({k: sum(x[2] for x in v) for k, v in together.items()},
                    {k: sum(int(x["OPS"]) for key, x in passes.items() if key[1:] == k[1:]) for k in together},
                    title + " of all targets add up to the pass")
        t.ok(all(b[0] <= e[0] + 1e-6 <= e[1] + 1e-6 and (i == len(v) - 1 or e[1] - e[0] < 3)
                 for v in found.values() for i, (b, e) in enumerate(zip([(0,)] + v, v))), title + " follow each other", found)
        t.ok(all(a[1] <= b[0] + 1e-6 for v in found.values() for a, b in zip(v, v[1:])), title + " do not overlap", found)
        t.ok(all(float(passes[k]["MIN"]) <= x[3] * 1.01 and x[4] <= float(passes[k]["MAX"]) * 1.000001
                 for k, v in found.items() for x in v), title + " keep to the extremes of the pass", (found, passes))
        t.ok("LATENCY_INTERVAL" not in run.out, title + " go to the file alone", run)
    run = t.xdd(*"-op noop -targets 1 null -numreqs 100 -throttle ops 200 -latency intervals 0.2".split())
    for direction in ("noop", "all"):
        ops = [int(line.split()[5]) for line in run.out.splitlines()
               if re.match("LATENCY_INTERVAL .* %s +service " % direction, line)]
        t.ok(run.status == 0 and sum(ops) == 100 and len(ops) >= 1, "intervals in the text, " + direction, run)
    t.ok("LATENCY_INT_ALL" not in run.out, "one target: none of all targets", run)
    run = t.xdd(*"-op noop -targets 3 null null null -numreqs 100 -throttle ops 200 -latency intervals 0.2".split())
    ops = [int(line.split()[5]) for line in run.out.splitlines() if re.match("LATENCY_INT_ALL +1 +3 all +service ", line)]
    t.ok(run.status == 0 and sum(ops) == 300, "intervals of all targets in the text", run)


def test_short_last_interval():
    """A pass that ends just after an interval has no interval of its own for that."""
    found = []
    for _ in range(8):
        run = t.xdd(*"-op noop -targets 2 null null -timelimit 0.52 -operationdelay 1ms -latency intervals 0.25".split())
        found.append([float(line.split()[7]) - float(line.split()[6]) for line in run.out.splitlines()
                      if re.match("LATENCY_INT(ERVAL|_ALL) .* all +service ", line)])
        if len(found[-1]) == 6:
            break
    # A stall of the interval's thread makes fewer.
    t.ok(len(found[-1]) == 6 and all(x > 0.025 for run in found for x in run), "the rest is part of the last interval", found)


def test_short_first_interval():
    """A pass that begins just before the end of an interval has no interval of its own for that."""
    run = t.xdd(*"-op noop -targets 2 null null -timelimit 0.24 -passes 2 -operationdelay 1ms -latency intervals 0.25".split())
    found = [float(line.split()[7]) - float(line.split()[6]) for line in run.out.splitlines()
             if re.match("LATENCY_INT(ERVAL|_ALL) .* all +service ", line)]
    t.ok(run.status == 0 and len(found) >= 6 and all(x > 0.025 for x in found), "the start is part of the first interval", found)


def test_intervals_of_a_hang():
    """The intervals before a device stopped answering are written, although its last requests never complete."""
    file = t.make_file("hangs", 65536)
    env = s.faults("hang", file="hangs", start=32768)
    if env is None:
        t.skip("a device that never answers", s.sys_why())
        return
    csv_file = t.path("hangs.csv")
    with xddhold.at("operation:32", "signal taken:1", env=dict(os.environ, **env)) as h, \
            subprocess.Popen(t.xdd_words(*"-op read -reqsize 1 -numreqs 64 -targets 1".split(), file, "-latency", "intervals",
                                         "0.05", "output", csv_file), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                             stderr=subprocess.DEVNULL, env=h.env) as p:
        h.wait(p)
        p.send_signal(signal.SIGINT)
        h.wait(p)
        h.go()
        status = p.wait(timeout=t.TIMEOUT)
    lines = t.read_csv(csv_file)
    t.ok(status == 5 and sum(x[2] for k, v in intervals_of(lines).items() for x in v if k[2] == "all") == 32 and
         [x["OPS"] for x in lines if x["WHAT"] == "COMBINED"] == ["32"], "a device that never answers", (status, lines))


def test_queue_pass():
    _, rows = t.xdd_csv(*"-op noop -qd 3 -numreqs 300 -qthreadinfo -targets 1 null".split(), "-outputformat", "add",
                        "+LATMAX+LATMIN")
    queues = [float(r["LATMAX"]) for r in rows if r["WHAT"] == "QUEUE_PASS" and int(r["OPS"])]
    whole = [float(r["LATMAX"]) for r in rows if r["WHAT"] == "COMBINED"]
    t.ok(queues and len(whole) == 1 and max(queues) == whole[0], "QUEUE_PASS has its own figures", rows)


def test_engines():
    file = t.make_file("engines", 1 << 20)
    for engine in ("libaio", "io_uring", "mmap"):
        if engine not in t.engines():
            t.skip(engine, "not available")
            continue
        run = t.xdd(*"-op read -reqsize 4 -qd 4 -numreqs 200 -targets 1".split(), file, "-ioengine", engine, "-latency",
                    "percentiles", "50")
        rows = table(run)
        t.ok(run.status == 0 and len(rows) == 1 and rows[0]["Ops"] == "200" and
             0 < float(rows[0]["P50"]) <= float(rows[0]["Max"]), engine + ": all operations", run)


def test_errors_do_not_count():
    file = t.make_file("failing", 65536)
    env = s.faults("eio", file="failing", start=0, end=8192)
    if env is None:
        t.skip("operations that fail", s.sys_why())
        return
    run = t.xdd(*"-op read -reqsize 1 -numreqs 64 -targets 1".split(), file, "-latency", "percentiles", "50", env=env)
    t.ok(run.status == 6 and [r["Ops"] for r in table(run)] == ["56"], "operations that fail have no latency", run)


def test_output_file():
    words = "-op noop -numreqs 10 -targets 1 null -latency output".split()
    file = t.path("more.csv")
    for _ in range(2):
        run = t.xdd(*words, file)
        t.equal(run.status, 0, "-latency output")
    with open(file) as f:
        lines = f.read().splitlines()
    t.ok(len(lines) == 7 and len([x for x in lines if x.startswith("RECORD,")]) == 1, "a file is continued", lines)
    before = os.stat(file).st_mtime_ns
    for args, text in (((file, "percentiles", "50"), m.OTHER_COLUMNS),
                       ((t.path("no/directory"),), "there is no directory"),
                       ((t.tmp(),), m.IS_DIRECTORY)):
        run = t.xdd(*words, *args)
        t.equal((run.status, len(run.error_lines()), "-latency output" in run.err, text in run.err),
                (2, 1, True, True), "-latency output: " + text, run)
    run = t.xdd(*words, file, "-csvout", file)
    t.equal((run.status, "give each output a file of its own" in run.err), (2, True), "-latency output and -csvout: one file",
            run)
    target = t.make_file("target", 4096)
    run = t.xdd("-op", "read", "-targets", 1, target, "-latency", "output", target)
    t.ok(run.status == 2 and m.is_target(0) in run.err and os.path.getsize(target) == 4096,
         "-latency output: a target", run)
    t.equal(os.stat(file).st_mtime_ns, before, "what is refused changes nothing")
    run = t.xdd(*words, t.path("dry.csv"), "-dryrun")
    t.equal((run.status, os.path.exists(t.path("dry.csv"))), (0, False), "-latency output: -dryrun makes none", run)
    file = t.path("sorted.csv")
    t.xdd(*words, file, "percentiles", "99.999999,50,1,50.0,50.000000")
    with open(file) as f:
        t.ok(f.readline().endswith(",WAVG,P1,P50,P99.999999,MAX\n"), "percentiles in ascending order, each once")


def test_defaults():
    """-latency without a word, and percentiles without a list: the columns of the default list."""
    columns = ["P" + p for p in "50 90 95 99 99.9 99.99 99.999".split()]
    base = ["-op", "noop", "-numreqs", 100, "-targets", 1, "null"]
    for words in ("-latency", "-latency percentiles", "-latency percentiles 50 percentiles", "-latency -qd 1",
                  "-latency percentiles histogram", "-latency histogram percentiles", "-lat-first"):
        args = ["-latency"] + base if words == "-lat-first" else base + words.split()
        run = t.xdd(*args)
        heads = re.findall(r"^Latency .*", run.out, re.M)
        t.equal((run.status, [w for w in heads[0].split() if re.match(r"P\d", w)] if heads else heads), (0, columns), words, run)
    run = t.xdd(*base, "-latency", "percentiles", "50%,99%")
    t.ok(run.status == 0 and re.search(r"^Latency .* P50 +P99 +Max$", run.out, re.M), "percentiles 50%,99%", run)


def test_bad_input():
    for args, status, text in (
            ("percentiles 0", 2, "up to 32 percentages"),
            ("percentiles 101", 2, "up to 32 percentages"), ("percentiles 50,,60", 2, "up to 32 percentages"),
            ("percentiles 50,", 2, "up to 32 percentages"), ("percentiles abc", 2, "up to 32 percentages"),
            ("percentiles -5", 2, ""), ("percentiles 1e1", 2, "up to 32 percentages"),
            ("percentiles 99.9999999", 2, "at most 6 digits after the point"),
            ("percentiles " + ",".join(["50"] * 33), 2, "up to 32 percentages"), ("output", 2, ""),
            ("intervals 0", 2, "a time of 10ms to 100 years"), ("intervals 9ms", 2, "a time of 10ms to"), ("intervals x", 2, ""),
            ("nonsense", 3, ""), ("target 0 histogram", 3, "")):
        run = t.xdd("-op", "noop", "-numreqs", 1, "-targets", 1, "null", "-latency", *args.split())
        t.equal((run.status, len(run.error_lines()), "latency" in run.err, text in run.err, run.out),
                (status, 1, True, True, ""), "-latency %s: refused" % args, run)
    run = t.xdd("-op", "noop", "-numreqs", 1, "-targets", 1, "null", "-outputformat", "add", "+LATP98")
    t.equal((run.status, "LATP9" in run.err), (2, True), "a column that there is not", run)


t.run(test_against_sort, test_sums, test_intervals, test_short_last_interval, test_short_first_interval,
      test_intervals_of_a_hang, test_queue_pass, test_engines, test_errors_do_not_count, test_output_file, test_defaults, test_bad_input)
t.done()
