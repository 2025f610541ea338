/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Numbers as people write them and read them. Called by the option table, the seek list reader,
 * the reports, the result block, and commands that print figures on a terminal.
 */
#include "xdd/base/units.h"

#include <errno.h>
#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "xdd/base/arith.h"

/*
 * Numbers as people write them, and back. Called by the option table, the seek list reader and the
 * reports.
 */

#define NS_MAX (100ull * 36525 * 864 * NS_PER_SEC) /* 100 years of 365.25 days */
#define FRACTION_DIGITS_MAX 18			   /* more would not fit 64 bits */
#define PERCENT_ONE 1000000ull			   /* of units_parse_percent() */

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* Without the locale: in a Turkish one, i is no small I. */
static char lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static bool same_word(const char *a, const char *b)
{
	while (*a && lower(*a) == lower(*b)) {
		a++;
		b++;
	}
	return *a == *b;
}

static size_t count_digits(const char *s)
{
	size_t n = 0;

	while (is_digit(s[n]))
		n++;
	return n;
}

/* The value of `n` digits at `s`; -ERANGE when it needs more than 64 bits. */
static int digits_value(const char *s, size_t n, uint64_t *value)
{
	uint64_t v = 0;

	for (size_t i = 0; i < n; i++) {
		if (__builtin_mul_overflow(v, 10, &v) ||
		    __builtin_add_overflow(v, (uint64_t)(s[i] - '0'), &v))
			return -ERANGE;
	}
	*value = v;
	return 0;
}

int units_parse_u64(const char *word, uint64_t *value)
{
	size_t n = count_digits(word);

	if (!n || word[n])
		return -EINVAL;
	return digits_value(word, n, value);
}

/* A decimal fraction at the start of a word, taken apart. */
struct decimal {
	const char *whole;
	size_t n_whole;
	const char *fraction;
	size_t n_fraction;
};

/* Returns what follows the fraction, or NULL when there is none: "", ".", "7.", "-1". */
static const char *split_decimal(const char *s, struct decimal *d)
{
	d->whole = s;
	d->n_whole = count_digits(s);
	s += d->n_whole;
	d->fraction = s;
	d->n_fraction = 0;
	if (*s == '.') {
		d->fraction = ++s;
		d->n_fraction = count_digits(s);
		s += d->n_fraction;
		return d->n_fraction ? s : NULL;
	}
	return d->n_whole ? s : NULL;
}

enum rounding {
	NEAREST,
	EXACT, /* a fraction that is left is -EINVAL */
};

/*
 * `d` times `unit`, up to `max`, in integers: a double holds whole nanoseconds for 104 days only.
 */
static int scale_decimal(const struct decimal *d, uint64_t unit, enum rounding rounding,
			 uint64_t max, uint64_t *value)
{
	size_t digits = d->n_fraction;
	uint64_t whole, fraction, scale = 1;
	uint128 total, part;
	int ret;

	while (digits && d->fraction[digits - 1] == '0')
		digits--;
	if (digits > FRACTION_DIGITS_MAX && rounding == EXACT)
		return -EINVAL;
	if (digits > FRACTION_DIGITS_MAX)
		digits = FRACTION_DIGITS_MAX;
	ret = digits_value(d->fraction, digits, &fraction);
	if (ret)
		return ret;
	for (size_t i = 0; i < digits; i++)
		scale *= 10;
	part = (uint128)fraction * unit;
	if (rounding == EXACT && part % scale)
		return -EINVAL;
	ret = digits_value(d->whole, d->n_whole, &whole);
	if (ret)
		return ret;
	total = (uint128)whole * unit + (part + scale / 2) / scale;
	if (total > max)
		return -ERANGE;
	*value = (uint64_t)total;
	return 0;
}

/* A suffix, in any case, and what it stands for. */
struct suffix {
	const char *text;
	uint64_t unit;
};

static const struct suffix size_suffixes[] = {
	{ "b", 1 },
	{ "k", 1ull << 10 },
	{ "ki", 1ull << 10 },
	{ "kib", 1ull << 10 },
	{ "kb", 1000ull },
	{ "m", 1ull << 20 },
	{ "mi", 1ull << 20 },
	{ "mib", 1ull << 20 },
	{ "mb", 1000000ull },
	{ "g", 1ull << 30 },
	{ "gi", 1ull << 30 },
	{ "gib", 1ull << 30 },
	{ "gb", 1000000000ull },
	{ "t", 1ull << 40 },
	{ "ti", 1ull << 40 },
	{ "tib", 1ull << 40 },
	{ "tb", 1000000000000ull },
	{ NULL, 0 },
};

static const struct suffix count_suffixes[] = {
	{ "", 1 },
	{ "k", 1000ull },
	{ "m", 1000000ull },
	{ "g", 1000000000ull },
	{ "t", 1000000000000ull },
	{ NULL, 0 },
};

/* The unit of a suffix; 0: it is none. */
static uint64_t unit_of(const struct suffix *s, const char *text)
{
	for (; s->text; s++)
		if (same_word(s->text, text))
			return s->unit;
	return 0;
}

bool units_has_suffix(const char *word)
{
	struct decimal d;
	const char *rest = split_decimal(word, &d);

	return rest && *rest;
}

int units_parse_count(const char *word, uint64_t *value)
{
	struct decimal d;
	const char *rest = split_decimal(word, &d);
	uint64_t unit = rest ? unit_of(count_suffixes, rest) : 0;

	/* "1.0" is no whole number as people write them. */
	if (!unit || (unit == 1 && d.n_fraction))
		return -EINVAL;
	return scale_decimal(&d, unit, EXACT, UINT64_MAX, value);
}

int units_parse_amount(const char *word, uint64_t bare, uint64_t *bytes)
{
	struct decimal d;
	const char *rest = split_decimal(word, &d);
	uint64_t unit;

	if (!rest)
		return -EINVAL;
	unit = *rest ? unit_of(size_suffixes, rest) : bare;
	if (!unit || (unit == 1 && d.n_fraction))
		return -EINVAL;
	return scale_decimal(&d, unit, NEAREST, UINT64_MAX, bytes);
}

int units_parse_size(const char *word, uint64_t *bytes)
{
	return units_parse_amount(word, 1, bytes);
}

int units_parse_percent(const char *word, uint64_t *millionths)
{
	struct decimal d;
	const char *rest = split_decimal(word, &d);

	if (!rest || (*rest && strcmp(rest, "%") != 0))
		return -EINVAL;
	return scale_decimal(&d, PERCENT_ONE, NEAREST, 100 * PERCENT_ONE, millionths);
}

int units_parse_percentage(const char *word, double *percent)
{
	uint64_t millionths;
	int ret = units_parse_percent(word, &millionths);

	if (!ret)
		*percent = (double)millionths / (double)PERCENT_ONE;
	return ret;
}

/*
 * In a long double, which is exact for up to 19 digits where it has 64 bits; strtod() would want
 * the decimal point of the locale.
 */
static int decimal_value(const struct decimal *d, double unit, double *value)
{
	long double whole = 0, fraction = 0, scale = 1, v;
	size_t digits = d->n_fraction;

	if (digits > FRACTION_DIGITS_MAX)
		digits = FRACTION_DIGITS_MAX;
	for (size_t i = 0; i < d->n_whole; i++)
		whole = whole * 10 + (long double)(d->whole[i] - '0');
	for (size_t i = 0; i < digits; i++) {
		fraction = fraction * 10 + (long double)(d->fraction[i] - '0');
		scale *= 10;
	}
	v = (whole * scale + fraction) / scale * (long double)unit;
	if (!(v <= (long double)DBL_MAX))
		return -ERANGE;
	*value = (double)v;
	return 0;
}

int units_parse_real(const char *word, double *value)
{
	struct decimal d;
	const char *rest = split_decimal(word, &d);

	if (!rest || *rest)
		return -EINVAL;
	return decimal_value(&d, 1, value);
}

#define RATE_SUFFIX 8 /* longer than any suffix of a rate with its end */

/* A rate without its "/s", which needs a unit before it; -EINVAL: too long. */
static int cut_rate(const char *rest, char *suffix)
{
	size_t n = strlen(rest);

	if (n >= RATE_SUFFIX)
		return -EINVAL;
	memcpy(suffix, rest, n + 1);
	if (n > 2 && strcmp(suffix + n - 2, "/s") == 0)
		suffix[n - 2] = '\0';
	return 0;
}

int units_parse_byte_rate(const char *word, double bare, double *per_second)
{
	struct decimal d;
	const char *rest = split_decimal(word, &d);
	char suffix[RATE_SUFFIX];
	double unit;

	if (!rest || cut_rate(rest, suffix))
		return -EINVAL;
	unit = *suffix ? (double)unit_of(size_suffixes, suffix) : bare;
	return unit > 0 ? decimal_value(&d, unit, per_second) : -EINVAL;
}

int units_parse_op_rate(const char *word, double *per_second)
{
	static const char *const ends[] = { "iops", "ops/s", "ops", "/s" };
	char suffix[RATE_SUFFIX];
	struct decimal d;
	const char *rest = split_decimal(word, &d);
	double unit;

	if (!rest || strlen(rest) >= sizeof(suffix))
		return -EINVAL;
	strcpy(suffix, rest);
	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
		const size_t n = strlen(ends[i]), len = strlen(suffix);

		if (len >= n && same_word(ends[i], suffix + len - n)) {
			suffix[len - n] = '\0';
			break;
		}
	}
	unit = (double)unit_of(count_suffixes, suffix);
	return unit > 0 ? decimal_value(&d, unit, per_second) : -EINVAL;
}

/* Nanoseconds in the unit of a time, or 0. */
static uint64_t time_unit_ns(const char *suffix)
{
	/* As written: a capital M would be a month to some. */
	static const struct suffix units[] = {
		{ "", NS_PER_SEC },
		{ "ns", 1 },
		{ "us", 1000 },
		{ "ms", 1000000 },
		{ "s", NS_PER_SEC },
		{ "sec", NS_PER_SEC },
		{ "m", 60 * NS_PER_SEC },
		{ "min", 60 * NS_PER_SEC },
		{ "h", 3600 * NS_PER_SEC },
	};

	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
		if (!strcmp(suffix, units[i].text))
			return units[i].unit;
	return 0;
}

int units_parse_seconds(const char *word, uint64_t *ns)
{
	struct decimal d;
	const char *rest = split_decimal(word, &d);
	uint64_t unit = rest ? time_unit_ns(rest) : 0;

	int err = unit ? scale_decimal(&d, unit, NEAREST, NS_MAX, ns) : -EINVAL;

	if (!err && !*ns && strpbrk(word, "123456789"))
		*ns = 1;
	return err;
}

char *units_size_text(uint64_t bytes, char *buf, size_t size)
{
	static const char *const names[] = { "bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB" };
	unsigned power = 0;

	while (bytes && bytes % 1024 == 0) {
		bytes /= 1024;
		power++;
	}
	snprintf(buf, size, "%llu %s", (unsigned long long)bytes,
		 bytes == 1 && !power ? "byte" : names[power]);
	return buf;
}

/*
 * Measured numbers with units. Called by the result block and by commands that print
 * figures on a terminal.
 */

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
static char *scaled_put(double value, const char *const *prefixes, int n, const char *unit,
			char *buf)
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
	return scaled_put(value, decimal, N_DECIMAL, unit, buf);
}

char *scaled_rate(double bytes_per_s, char *buf)
{
	return scaled_put(bytes_per_s, decimal, N_DECIMAL, "B/s", buf);
}

char *scaled_ops(double per_s, char *buf)
{
	return scaled_put(per_s, decimal, N_DECIMAL, "/s", buf);
}

char *scaled_time(double ns, char *buf)
{
	static const char *const units[] = { "ns", "us", "ms", "s" };
	static const char *const minutes[] = { "min" };
	static const char *const hours[] = { "h" };
	const double min = 60e9;

	/* 999.5 is the least number that three digits round to 1000. */
	if (fabs(ns) >= 999.5 * min)
		return scaled_put(ns / (60 * min), hours, 1, "", buf);
	if (fabs(ns) >= 999.5e9)
		return scaled_put(ns / min, minutes, 1, "", buf);
	return scaled_put(ns, units, 4, "", buf);
}

char *scaled_bytes(double bytes, char *buf)
{
	return put_whole(bytes, "B", buf);
}

char *scaled_count(double n, char *buf)
{
	return put_whole(n, "", buf);
}
