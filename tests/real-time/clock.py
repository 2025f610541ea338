#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""
The clock against a counter whose rate was measured wrong at the start: paced operations are neither issued later
and later, nor does their thread spin with system calls until its own clock has come to the time of the kernel's.
And against a run that waits before its first pass, while the clock comes due to be compared with the kernel's.
"""
import concurrent.futures
import os
import re
import sys
import time

sys.path.insert(0, os.path.join(os.environ["TOP_SRCDIR"], "tests", "lib"))
import messages as m
import xddsys
import xddtest as t

# The kernel's clock is off by XDD_SHIFT nanoseconds in its first 0.3 ms, which are over when the rate is measured
# for the second time, a millisecond after the first. How often a thread slept goes to XDD_SLEEPS.
SHIFT = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static _Atomic unsigned sleeps;

int clock_gettime(clockid_t id, struct timespec *ts)
{
	static int (*real)(clockid_t, struct timespec *);
	static int64_t first, shift;
	int64_t now;
	int err;

	if (!real)
		real = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
	err = real(id, ts);
	if (err || id != CLOCK_MONOTONIC)
		return err;
	now = ts->tv_sec * 1000000000ll + ts->tv_nsec;
	if (!first) {
		first = now;
		shift = getenv("XDD_SHIFT") ? atoll(getenv("XDD_SHIFT")) : 0;
	}
	if (now - first < 300000)
		now += shift;
	ts->tv_sec = now / 1000000000;
	ts->tv_nsec = now % 1000000000;
	return 0;
}

long syscall(long number, ...)
{
	static long (*real)(long, ...);
	long a[6];
	va_list args;

	if (!real)
		real = (long (*)(long, ...))dlsym(RTLD_NEXT, "syscall");
	va_start(args, number);
	for (int i = 0; i < 6; i++)
		a[i] = va_arg(args, long);
	va_end(args);
	if (number == SYS_futex && (a[1] & FUTEX_CMD_MASK) == FUTEX_WAIT_BITSET)
		sleeps++;
	return real(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

static void __attribute__((destructor)) write_down(void)
{
	FILE *f = getenv("XDD_SLEEPS") ? fopen(getenv("XDD_SLEEPS"), "w") : NULL;

	if (f) {
		fprintf(f, "%u\n", sleeps);
		fclose(f);
	}
}
"""

OPS = 150


def paced(shift_ns):
    """
    A run of 3 s on a device that takes no time, with a rate that was measured with that error: the run, the shortest
    response time of its last second in ms, and how often its threads went to sleep. Where a thread waits for a processor at
    the end of that second, a rest of it follows, with late operations only.
    """
    options = os.environ.get("ASAN_OPTIONS", "")
    log = t.path("sleeps.%d" % shift_ns)
    run = t.xdd(*"-op noop -targets 1 null -throttle ops 50 -latency intervals 1 -verbose -numreqs".split(), OPS,
                env={"LD_PRELOAD": LIBRARY, "XDD_SHIFT": str(shift_ns), "XDD_SLEEPS": log,
                     "ASAN_OPTIONS": (options + ":" if options else "") + "verify_asan_link_order=0"})
    found = [least for ops, least in re.findall(r"LATENCY_INTERVAL .* all +response +(\d+) +[\d.]+ +[\d.]+ +([\d.]+)", run.out)
             if int(ops) > 25]
    with open(log) as f:
        return run, float(found[-1]) if found else None, int(f.read())


def judge(shift_ns, run, response_ms, sleeps):
    # The shortest response of 50 operations: an error of 300 ppm makes it 0.9 ms after 3 s.
    good = run.status == 0 and response_ms is not None and response_ms < 0.3
    name = "the rate seems %d ppm too %s" % (abs(shift_ns), "high" if shift_ns < 0 else "low")
    t.ok(good, name + ": no operation is late", "%s ms\n%s" % (response_ms, run))
    t.ok(sleeps < 8 * OPS, name + ": a sleep ends when its time has come", sleeps)


def waiting():
    """A run that begins when its clock is due to be compared."""
    return t.xdd(*"-op noop -targets 1 null -throttle ops 20 -numreqs 10 -starttime".split(), "%.3f" % (time.time() + 2))


def test_clock():
    """The runs sleep nearly always, so they do not disturb each other."""
    with concurrent.futures.ThreadPoolExecutor() as pool:
        wait = pool.submit(waiting)
        rates = {shift_ns: pool.submit(paced, shift_ns) for shift_ns in (-300, 300)} if LIBRARY else {}
    if not LIBRARY:
        t.skip("a rate that was measured wrong", "no C compiler")
    elif "Clock, TSC" not in rates[300].result()[0].out:
        t.skip("a rate that was measured wrong", "the clock is not read from a counter here")
    else:
        for shift_ns, made in rates.items():
            judge(shift_ns, *made.result())
    run = wait.result()
    t.ok(run.status == 0 and not [line for line in run.warnings if line.startswith(m.STOPPED)],
         "a wait for -starttime is no time in which xdd was stopped", "%s\n%s" % (run, run.warnings))


t.real_time()
LIBRARY = xddsys.library("shift", SHIFT, "-ldl")
t.run_all()
