/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Measured numbers for people: src/base/units.c.
 */
#include "unit.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "xdd/base/units.h"

typedef char *scaled_fn(double value, char *buf);

struct scaled_case {
	double value;
	const char *text;
};

static void check_cases(scaled_fn *scaled, const struct scaled_case *c)
{
	char buf[SCALED_SIZE];

	for (; c->text; c++) {
		if (scaled(c->value, buf) != buf || strcmp(buf, c->text) != 0)
			fail_msg("%.17g: \"%s\" instead of \"%s\"", c->value, buf, c->text);
	}
}

TEST(test_rate)
{
	static const struct scaled_case cases[] = {
		{ 0, "0 B/s" },
		{ 0.25, "0.250 B/s" },
		{ 0.001234, "0.00123 B/s" },
		{ 1, "1.00 B/s" },
		{ 512, "512 B/s" },
		{ 999.4, "999 B/s" },
		{ 999.6, "1.00 kB/s" },
		{ 9.994e3, "9.99 kB/s" },
		{ 9.996e3, "10.0 kB/s" },
		{ 99.96e3, "100 kB/s" },
		{ 999.4e3, "999 kB/s" },
		{ 999.7e3, "1.00 MB/s" },
		{ 412345678, "412 MB/s" },
		{ 1048576, "1.05 MB/s" },
		{ 12.34e9, "12.3 GB/s" },
		{ 1.5e12, "1.50 TB/s" },
		{ 2e15, "2.00 PB/s" },
		{ 2.5e18, "2.50 EB/s" },
		{ 1234e18, "1230 EB/s" },
		{ -3.14159e6, "-3.14 MB/s" },
		{ NAN, "-" },
		{ INFINITY, "-" },
		{ DBL_MAX, "-" },
		{ 0, NULL },
	};

	check_cases(scaled_rate, cases);
}

TEST(test_ops)
{
	static const struct scaled_case cases[] = {
		{ 0, "0 /s" },		{ 1.9444, "1.94 /s" },	{ 512, "512 /s" },
		{ 103456, "103 k/s" },	{ 999999, "1.00 M/s" }, { 1000, "1.00 k/s" },
		{ 1.25e6, "1.25 M/s" }, { NAN, "-" },		{ 0, NULL },
	};

	check_cases(scaled_ops, cases);
}

TEST(test_time)
{
	static const struct scaled_case cases[] = {
		{ 0, "0 ns" },
		{ 0.5, "0.500 ns" },
		{ 120, "120 ns" },
		{ 999.9, "1.00 us" },
		{ 12000, "12.0 us" },
		{ 290400, "290 us" },
		{ 1.94e6, "1.94 ms" },
		{ 999.6e6, "1.00 s" },
		{ 3e9, "3.00 s" },
		{ 90e9, "90.0 s" },
		{ 999.4e9, "999 s" },
		{ 999.5e9, "16.7 min" },
		{ 999.6e9, "16.7 min" },
		{ 1200e9, "20.0 min" },
		{ 999.4 * 60e9, "999 min" },
		{ 999.5 * 60e9, "16.7 h" },
		{ 999.6 * 60e9, "16.7 h" },
		{ 48 * 3600e9, "48.0 h" },
		{ 12345 * 3600e9, "12300 h" },
		{ NAN, "-" },
		{ 0, NULL },
	};

	check_cases(scaled_time, cases);
}

TEST(test_bytes)
{
	static const struct scaled_case cases[] = {
		{ 0, "0 B" },
		{ 1, "1 B" },
		{ 512, "512 B" },
		{ 999, "999 B" },
		{ 1000, "1.00 kB" },
		{ 1.5, "1.50 B" },
		{ 4096, "4.10 kB" },
		{ 67108864, "67.1 MB" },
		{ 999500000, "1.00 GB" },
		{ -5, "-5 B" },
		{ NAN, "-" },
		{ 0, NULL },
	};

	check_cases(scaled_bytes, cases);
}

TEST(test_count)
{
	static const struct scaled_case cases[] = {
		{ 0, "0" },
		{ 5, "5" },
		{ 999, "999" },
		{ 1000, "1.00 k" },
		{ 1250000, "1.25 M" },
		{ 2.5, "2.50" },
		{ 12.345, "12.3" },
		{ NAN, "-" },
		{ 0, NULL },
	};

	check_cases(scaled_count, cases);
}

/* The finalizer of splitmix64: numbers that look random. */
static uint64_t bits(uint64_t x)
{
	x = (x + 1) * 0x9e3779b97f4a7c15;
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
	x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
	return x ^ (x >> 31);
}

/* A number and its unit, read again, are within half of the third digit. */
TEST(test_read_again)
{
	static const char prefixes[] = "\0kMGTPE";
	char buf[SCALED_SIZE];

	for (uint64_t i = 0; i < 20000; i++) {
		double value = ldexp((double)(bits(i) >> 11) + 1, (int)(i % 60) - 50);
		double back;
		char *end;

		scaled_ops(value, buf);
		back = strtod(buf, &end);
		for (size_t p = 1; p < sizeof(prefixes) - 1; p++) {
			if (end[1] == prefixes[p])
				back *= pow(1000, (double)p);
		}
		if (value >= 1e-5 && value < 1e20 && fabs(back - value) > 0.00501 * value)
			fail_msg("%.17g: \"%s\"", value, buf);
		if (strlen(buf) > 8 && value >= 1 && value < 999e18)
			fail_msg("%.17g: \"%s\" is wide", value, buf);
	}
}

RUN_TESTS(NULL, NULL)
