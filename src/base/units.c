/*
 * Numbers as people write them, and back. Called by the option table, the seek list reader and the
 * reports.
 */
#include "xdd/base/nstime.h"
#include "xdd/base/uint128.h"
#include "xdd/base/units.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NS_MAX (100ull * 36525 * 864 * NS_PER_SEC) /* 100 years of 365.25 days */
#define FRACTION_DIGITS_MAX 18			   /* more would not fit 64 bits */

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
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

/* The power of two of a size suffix, or -1. */
static int size_shift(char suffix)
{
	switch (suffix) {
	case 'k':
	case 'K':
		return 10;
	case 'm':
	case 'M':
		return 20;
	case 'g':
	case 'G':
		return 30;
	case 't':
	case 'T':
		return 40;
	}
	return -1;
}

int units_parse_size(const char *word, uint64_t *bytes)
{
	size_t n = count_digits(word);
	uint64_t value;
	int shift = 0;
	int ret;

	if (!n)
		return -EINVAL;
	if (word[n]) {
		shift = size_shift(word[n]);
		if (shift < 0 || word[n + 1])
			return -EINVAL;
	}
	ret = digits_value(word, n, &value);
	if (ret)
		return ret;
	if (value > UINT64_MAX >> shift)
		return -ERANGE;
	*bytes = value << shift;
	return 0;
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

int units_parse_real(const char *word, double *value)
{
	struct decimal d;
	const char *rest = split_decimal(word, &d);
	char *end;
	double v;

	if (!rest || *rest)
		return -EINVAL;
	v = strtod(word, &end);
	if (end != rest)
		return -EINVAL; /* a locale with another decimal point */
	if (!isfinite(v))
		return -ERANGE;
	*value = v;
	return 0;
}

/* Nanoseconds in the unit of a time, or 0. */
static uint64_t time_unit_ns(const char *suffix)
{
	static const struct {
		const char *suffix;
		uint64_t ns;
	} units[] = {
		{ "", NS_PER_SEC },	    { "ns", 1 },	 { "us", 1000 },
		{ "ms", 1000000 },	    { "s", NS_PER_SEC }, { "m", 60 * NS_PER_SEC },
		{ "h", 3600 * NS_PER_SEC },
	};

	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
		if (!strcmp(suffix, units[i].suffix))
			return units[i].ns;
	return 0;
}

int units_parse_seconds(const char *word, uint64_t *ns)
{
	struct decimal d;
	const char *rest = split_decimal(word, &d);
	uint64_t unit = rest ? time_unit_ns(rest) : 0;
	uint64_t whole, fraction;
	uint64_t scale = 1;
	uint128 total;
	int ret;

	if (!unit)
		return -EINVAL;
	ret = digits_value(d.whole, d.n_whole, &whole);
	if (ret)
		return ret;

	/* In integers: a double holds whole nanoseconds for 104 days only. */
	if (d.n_fraction > FRACTION_DIGITS_MAX)
		d.n_fraction = FRACTION_DIGITS_MAX;
	ret = digits_value(d.fraction, d.n_fraction, &fraction);
	if (ret)
		return ret;
	for (size_t i = 0; i < d.n_fraction; i++)
		scale *= 10;
	total = (uint128)whole * unit + ((uint128)fraction * unit + scale / 2) / scale;
	if (total > NS_MAX)
		return -ERANGE;
	*ns = (uint64_t)total;
	return 0;
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
