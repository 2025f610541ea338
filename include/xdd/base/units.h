/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Numbers with units: as people write them, as people read them, and nanoseconds.
 */
#ifndef XDD_BASE_UNITS_H
#define XDD_BASE_UNITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

/*
 * Numbers as people write them, and back. Pure functions; any thread.
 *
 * A parser accepts the whole word or nothing: leading blanks, signs, other letters and empty words
 * are -EINVAL, a value that does not fit is -ERANGE. No locale counts. `*value` is written only on
 * success (0).
 */

/* Decimal digits only: for files and protocols. */
int units_parse_u64(const char *word, uint64_t *value);

/* True if something follows the number: "4k" and "70%", but not "4", "0.5" or "k". */
bool units_has_suffix(const char *word);

/*
 * A whole number, or a number with decimals and one of k M G T in any case, for powers of 1000:
 * 1k and 1.5k, but not 1.2345k.
 */
int units_parse_count(const char *word, uint64_t *value);

/*
 * A number of bytes: digits, or a number with decimals and a suffix in any case: k Ki KiB, M Mi MiB
 * and so on up to T for powers of 1024, kB MB GB TB for powers of 1000, B for bytes. `*bytes` is
 * rounded to the nearest.
 */
int units_parse_size(const char *word, uint64_t *bytes);

/*
 * As units_parse_size(), but a number without a suffix, with decimals if need be, is in units of
 * `bare` bytes.
 */
int units_parse_amount(const char *word, uint64_t bare, uint64_t *bytes);

/*
 * A percentage, 0 to 100 with decimals, and % if need be; `*millionths` in units of 10^-6 percent,
 * rounded to the nearest. A larger one is -ERANGE.
 */
int units_parse_percent(const char *word, uint64_t *millionths);

/* As units_parse_percent(), in percent. */
int units_parse_percentage(const char *word, double *percent);

/* A decimal fraction such as 30.2, .5 or 7; no exponent, no hexadecimal, no inf or nan. */
int units_parse_real(const char *word, double *value);

/*
 * Operations per second, with decimals: 200, 10k or 0.5M, as in units_parse_count(); then /s, ops,
 * ops/s or iops if need be, as in 10kiops.
 */
int units_parse_op_rate(const char *word, double *per_second);

/*
 * Bytes per second, with decimals: a suffix is as in units_parse_size(), then /s if need be, as in
 * 10MB/s; without one the number is in units of `bare` bytes per second.
 */
int units_parse_byte_rate(const char *word, double bare, double *per_second);

/*
 * A time in seconds with decimals, or with one of the suffixes ns, us, ms, s, sec, m, min, h; `*ns`
 * in nanoseconds, rounded to the nearest; a time above 0 is at least 1. A value above 100 years is
 * -ERANGE.
 */
int units_parse_seconds(const char *word, uint64_t *ns);

/*
 * Write `bytes` in the largest power of 1024 that divides it ("4 KiB", "1500 bytes", "1 byte") into
 * `buf` (at least 32 bytes); returns `buf`.
 */
char *units_size_text(uint64_t bytes, char *buf, size_t size);

/*
 * Measured numbers as text: three significant digits and a decimal unit, such as "412 MB/s".
 *
 * Each function writes to `buf` (SCALED_SIZE bytes) and returns it. A value that rounds to the
 * next unit is written in that unit: 999.7 kB/s is "1.00 MB/s". A value that is unknown or
 * infinite is "-". The decimal point does not depend on the locale. Sizes that are powers of two
 * are as in units_size_text(). Pure functions; any thread.
 */

#define SCALED_SIZE 24

/* Bytes per second: "412 MB/s", "512 B/s", "0 B/s". */
char *scaled_rate(double bytes_per_s, char *buf);

/* Operations per second: "103 k/s", "512 /s", "1.94 /s". */
char *scaled_ops(double per_s, char *buf);

/* A time in nanoseconds: "120 ns", "12.0 us", "1.94 ms", "3.00 s"; from 1000 s on in min or h. */
char *scaled_time(double ns, char *buf);

/* An amount: "67.1 MB", "512 B"; whole numbers below 1000 have no decimals. */
char *scaled_bytes(double bytes, char *buf);

/* A number without a unit: "1.25 M", "999", "12"; whole numbers below 1000 have no decimals. */
char *scaled_count(double n, char *buf);

/*
 * Nanoseconds: their units, and the kernel's monotonic clock, for waits and deadlines.
 * Measurements use clock_now_ns() of xdd/sys/clock.h instead.
 */

#define NS_PER_US 1000ull
#define NS_PER_MS 1000000ull
#define NS_PER_SEC 1000000000ull

/* The earlier and the later of two times. */
static inline uint64_t ns_earlier(uint64_t a_ns, uint64_t b_ns)
{
	return a_ns < b_ns ? a_ns : b_ns;
}

static inline uint64_t ns_later(uint64_t a_ns, uint64_t b_ns)
{
	return a_ns > b_ns ? a_ns : b_ns;
}

/* A time of a file, in nanoseconds since 1970; the nearest one that fits. */
static inline int64_t timespec_ns(const struct timespec *t)
{
	int64_t ns;

	if (__builtin_mul_overflow((int64_t)t->tv_sec, (int64_t)NS_PER_SEC, &ns) ||
	    __builtin_add_overflow(ns, (int64_t)t->tv_nsec, &ns))
		return t->tv_sec < 0 ? INT64_MIN : INT64_MAX;
	return ns;
}

/* CLOCK_MONOTONIC in nanoseconds. Any thread. */
static inline uint64_t clock_kernel_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * NS_PER_SEC + (uint64_t)ts.tv_nsec;
}

#endif
