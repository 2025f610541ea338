/*
 * Measured numbers for people. Called by the result block for people and by commands that print
 * figures on a terminal.
 */
#include "xdd/base/scaled.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DIGITS 3

/* A number rounded to three significant digits: digits[0].digits[1..2] times 10 ^ exponent. */
struct rounded {
	char digits[DIGITS];
	int exponent;
};

static const char *const decimal[] = { "", "k", "M", "G", "T", "P", "E" };

#define N_DECIMAL ((int)(sizeof(decimal) / sizeof(decimal[0])))

static void round_digits(double value, struct rounded *r)
{
	char text[32];

	snprintf(text, sizeof(text), "%.*e", DIGITS - 1, value);
	/* The point, or a comma, is at [1]. */
	r->digits[0] = text[0];
	r->digits[1] = text[2];
	r->digits[2] = text[3];
	r->exponent = (int)strtol(strchr(text, 'e') + 1, NULL, 10);
}

/* Write the digits of r / 10 ^ shift, and return the end of what was written. */
static char *put_digits(char *p, const struct rounded *r, int shift)
{
	int whole = r->exponent - shift; /* position of the point: after digits[whole] */
	int i;

	if (whole < 0) {
		*p++ = '0';
		*p++ = '.';
		for (i = -1; i > whole; i--)
			*p++ = '0';
		for (i = 0; i < DIGITS; i++)
			*p++ = r->digits[i];
		return p;
	}
	for (i = 0; i <= whole || i < DIGITS; i++) {
		if (i == whole + 1)
			*p++ = '.';
		*p++ = i < DIGITS ? r->digits[i] : '0';
	}
	return p;
}

/*
 * Write `value` with the largest of `n` prefixes, which are a factor of 1000 apart, then `unit`.
 * The blank separates the number from whichever of them follows.
 */
static char *put(double value, const char *const *prefixes, int n, const char *unit, char *buf)
{
	struct rounded r;
	char *p = buf;
	int prefix;

	if (!isfinite(value) || fabs(value) > 1e24)
		return strcpy(buf, "-");
	if (value < 0)
		*p++ = '-';
	if (fabs(value) < 1e-5) {
		p = buf;
		*p++ = '0';
		prefix = 0;
	} else {
		round_digits(fabs(value), &r);
		prefix = r.exponent < 0 ? 0 : r.exponent / 3;
		if (prefix >= n)
			prefix = n - 1;
		p = put_digits(p, &r, 3 * prefix);
	}
	*p = '\0';
	if (prefixes[prefix][0] || unit[0])
		snprintf(p, SCALED_SIZE - (size_t)(p - buf), " %s%s", prefixes[prefix], unit);
	return buf;
}

/* Whole numbers that need no more than three digits are exact. */
static char *put_whole(double value, const char *unit, char *buf)
{
	if (fabs(value) < 1000 && value == trunc(value)) {
		snprintf(buf, SCALED_SIZE, "%d%s%s", (int)value, unit[0] ? " " : "", unit);
		return buf;
	}
	return put(value, decimal, N_DECIMAL, unit, buf);
}

char *scaled_rate(double bytes_per_s, char *buf)
{
	return put(bytes_per_s, decimal, N_DECIMAL, "B/s", buf);
}

char *scaled_ops(double per_s, char *buf)
{
	return put(per_s, decimal, N_DECIMAL, "/s", buf);
}

char *scaled_time(double ns, char *buf)
{
	static const char *const units[] = { "ns", "us", "ms", "s" };
	static const char *const minutes[] = { "min" };
	static const char *const hours[] = { "h" };
	const double min = 60e9;

	/* 999.5 is the least number that three digits round to 1000. */
	if (fabs(ns) >= 999.5 * min)
		return put(ns / (60 * min), hours, 1, "", buf);
	if (fabs(ns) >= 999.5e9)
		return put(ns / min, minutes, 1, "", buf);
	return put(ns, units, 4, "", buf);
}

char *scaled_bytes(double bytes, char *buf)
{
	return put_whole(bytes, "B", buf);
}

char *scaled_count(double n, char *buf)
{
	return put_whole(n, "", buf);
}
