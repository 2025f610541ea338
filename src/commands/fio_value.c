/*
 * Values as fio writes them: sizes, times, patterns. Called where jobs are read. Pure functions.
 */
#include <stdlib.h>
#include <string.h>

#include "commands/fio.h"
#include "xdd/base/memory.h"
#include "xdd/base/units.h"

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* The digits at `*text`, decimal, or hexadecimal after 0x. */
static int parse_whole(const char **text, uint64_t *value)
{
	bool hex = (*text)[0] == '0' && ((*text)[1] == 'x' || (*text)[1] == 'X');
	const char *from = *text + (hex ? 2 : 0);
	unsigned long long v;
	char *end;

	if (strspn(from, hex ? "0123456789abcdefABCDEF" : "0123456789") == 0)
		return -EINVAL;
	errno = 0;
	v = strtoull(from, &end, hex ? 16 : 10);
	if (errno == ERANGE)
		return -ERANGE;
	*value = v;
	*text = end;
	return 0;
}

/* The digits after a decimal point, as a share of one. */
static double parse_fraction(const char **text)
{
	double share = 0, digit = 1;

	if (**text != '.')
		return 0;
	while (is_digit(*++*text)) {
		digit /= 10;
		share += digit * (**text - '0');
	}
	return share;
}

int fio_parse_bytes(const char *text, unsigned kb_base, uint64_t *value)
{
	static const char letters[] = "kmgtp";
	uint64_t whole, base = kb_base;
	const char *letter;
	bool cut, hex = text[0] == '0' && (text[1] | 0x20) == 'x';
	int err = parse_whole(&text, &whole);

	if (err)
		return err;
	/* Fractions are cut off, as in fio, which takes no unit after them or after 0x. */
	cut = *text == '.' || hex;
	parse_fraction(&text);
	letter = *text ? strchr(letters, *text | 0x20) : NULL;
	if (letter && cut)
		return -EINVAL;
	if (letter) {
		text++;
		/* With kb_base=1024, which is the default, fio has 4k = 4096 and 4kib = 4000. */
		if ((text[0] | 0x20) == 'i') {
			if ((text[1] | 0x20) == 'b')
				base = kb_base == 1000 ? 1024 : 1000;
			text++;
		}
	}
	if ((*text | 0x20) == 'b')
		text++;
	if (*text)
		return -EINVAL;
	for (size_t i = 0; letter && i <= (size_t)(letter - letters); i++) {
		if (__builtin_mul_overflow(whole, base, &whole))
			return -ERANGE;
	}
	*value = whole;
	return 0;
}

/* Nanoseconds of the unit at `*text`, which is passed by. 0: it is none. */
static uint64_t time_unit(const char **text)
{
	static const struct {
		const char *name;
		uint64_t ns;
	} units[] = {
		{ "msec", NS_PER_MS },
		{ "usec", NS_PER_US },
		{ "nsec", 1 },
		{ "min", 60 * NS_PER_SEC },
		{ "sec", NS_PER_SEC },
		{ "ms", NS_PER_MS },
		{ "us", NS_PER_US },
		{ "ns", 1 },
		{ "s", NS_PER_SEC },
		{ "m", 60 * NS_PER_SEC },
		{ "h", 3600 * NS_PER_SEC },
		{ "d", 24 * 3600 * NS_PER_SEC },
	};

	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		size_t n = strlen(units[i].name);

		if (strncasecmp(*text, units[i].name, n) == 0) {
			*text += n;
			return units[i].ns;
		}
	}
	return 0;
}

int fio_parse_time(const char *text, uint64_t unit_ns, uint64_t *ns)
{
	uint64_t sum = 0;

	do {
		uint64_t whole, part, unit = unit_ns;
		double fraction;
		int err = parse_whole(&text, &whole);

		if (err)
			return err;
		fraction = parse_fraction(&text);
		while (*text == ' ')
			text++;
		if (*text)
			unit = time_unit(&text);
		if (!unit)
			return -EINVAL;
		if (__builtin_mul_overflow(whole, unit, &part) ||
		    __builtin_add_overflow(part, (uint64_t)(fraction * (double)unit), &part) ||
		    __builtin_add_overflow(sum, part, &sum))
			return -ERANGE;
	} while (*text);
	*ns = sum;
	return 0;
}

char *fio_size_text(uint64_t bytes, char *buf)
{
	static const char suffixes[] = "BkMGT";
	size_t i = 0;

	while (bytes && bytes % 1024 == 0 && i < sizeof(suffixes) - 2) {
		bytes /= 1024;
		i++;
	}
	snprintf(buf, FIO_SIZE_SIZE, "%llu%c", (unsigned long long)bytes, suffixes[i]);
	return buf;
}

char *fio_time_text(uint64_t ns, char *buf)
{
	static const struct {
		const char *suffix;
		uint64_t ns;
	} units[] = { { "", NS_PER_SEC }, { "ms", NS_PER_MS }, { "us", NS_PER_US }, { "ns", 1 } };
	size_t i = 0;

	while (ns % units[i].ns)
		i++;
	snprintf(buf, FIO_SIZE_SIZE, "%llu%s", (unsigned long long)(ns / units[i].ns),
		 units[i].suffix);
	return buf;
}

/* ---- patterns ---- */

/* "text", where a backslash protects the next character. */
static int put_string(FILE *out, const char **text)
{
	const char *c = *text + 1;

	for (; *c && *c != '"'; c++) {
		if (*c == '\\' && c[1])
			c++;
		fprintf(out, "%02x", (unsigned)(unsigned char)*c);
	}
	if (*c != '"')
		return -EINVAL;
	*text = c + 1;
	return 0;
}

static void put_hex(FILE *out, const char **text)
{
	const char *from = *text + 2;
	size_t n = strspn(from, "0123456789abcdefABCDEF");

	fprintf(out, "%s%.*s", n % 2 ? "0" : "", (int)n, from);
	*text = from + n;
}

/* A decimal number: its bytes, the lowest first; four of a negative one, as in fio. */
static int put_decimal(FILE *out, const char **text)
{
	bool negative = **text == '-';
	uint64_t value;

	if (negative)
		++*text;
	if (!is_digit(**text) || parse_whole(text, &value) || (negative && value > INT32_MAX))
		return -EINVAL;
	if (negative) {
		uint32_t low = 0u - (uint32_t)value;

		for (int i = 0; i < 4; i++, low >>= 8)
			fprintf(out, "%02x", (unsigned)(low & 0xff));
		return 0;
	}
	do {
		fprintf(out, "%02x", (unsigned)(value & 0xff));
		value >>= 8;
	} while (value);
	return 0;
}

int fio_parse_pattern(struct arena *arena, const char *text, const char **hex)
{
	struct memstream m;
	int err = *text ? 0 : -EINVAL;

	if (!memstream_open(&m))
		return -ENOMEM;
	while (!err && *text) {
		if (*text == '"')
			err = put_string(m.f, &text);
		else if (text[0] == '0' && (text[1] | 0x20) == 'x' && text[2])
			put_hex(m.f, &text);
		else
			err = put_decimal(m.f, &text);
	}
	if (memstream_close(&m))
		return -ENOMEM;
	if (!err && !m.size)
		err = -EINVAL;
	if (!err) {
		*hex = arena_strdup(arena, m.text);
		err = *hex ? 0 : -ENOMEM;
	}
	free(m.text);
	return err;
}
