/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Lists and ranges of values: xdd/plan/runs.h. Called by vary.c.
 */
#include "xdd/plan/runs.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "xdd/base/memory.h"
#include "xdd/base/units.h"
#include "xdd/plan/option.h"

#define MOST_DECIMALS 6

/* A number of a range: `scaled` is its value times 10^decimals. */
struct number {
	uint64_t scaled;
	unsigned decimals;
	const char *suffix; /* rest of the word */
	size_t suffix_length;
};

/* A growing list. */
struct values {
	struct arena *arena;
	const char **texts;
	size_t n, room;
};

static bool is_number_type(enum option_type type)
{
	return type == OPT_U64 || type == OPT_SIZE || type == OPT_AMOUNT || type == OPT_BLOCKS ||
	       type == OPT_SECONDS;
}

bool vary_is_list(const struct option *row, const char *text)
{
	/* The commas of a mix of sizes are part of its one value. */
	if (row->form && strchr(text, ':'))
		return false;
	if (is_number_type(row->type) || row->varies)
		return strchr(text, ',') || strstr(text, "..");
	return row->type == OPT_CHOICE && strchr(text, ',');
}

static const char *add(struct values *v, const char *text)
{
	if (v->n == VARY_MAX_VALUES)
		return xarena_printf(v->arena, "has more than %d values", VARY_MAX_VALUES);
	v->texts = xarena_room(v->arena, v->texts, v->n, sizeof(*v->texts));
	v->texts[v->n++] = text;
	return NULL;
}

/* Read digits, decimals and a suffix from `text` of `length` bytes. */
static bool read_number(const char *text, size_t length, struct number *x)
{
	size_t i = 0;
	bool point = false;

	*x = (struct number){ .scaled = 0 };
	for (; i < length && (isdigit((unsigned char)text[i]) || (text[i] == '.' && !point)); i++) {
		if (text[i] == '.') {
			point = true;
			continue;
		}
		if (x->scaled > (UINT64_MAX - 9) / 10)
			return false;
		x->scaled = x->scaled * 10 + (uint64_t)(text[i] - '0');
		x->decimals += point;
	}
	x->suffix = text + i;
	x->suffix_length = length - i;
	return i > (size_t)point && x->decimals <= MOST_DECIMALS;
}

static bool same_suffix(const struct number *a, const struct number *b)
{
	return a->suffix_length == b->suffix_length &&
	       strncasecmp(a->suffix, b->suffix, a->suffix_length) == 0;
}

static bool raise_decimals(struct number *x, unsigned decimals)
{
	for (; x->decimals < decimals; x->decimals++) {
		if (x->scaled > UINT64_MAX / 10)
			return false;
		x->scaled *= 10;
	}
	return true;
}

/* ---- ranges whose ends have different units ---- */

struct unit {
	const char *suffix;
	uint64_t size;
};

static const struct unit sizes[] = {
	{ "T", 1ull << 40 }, { "G", 1ull << 30 }, { "M", 1ull << 20 },
	{ "k", 1ull << 10 }, { "B", 1 },	  { NULL, 0 },
};

static const struct unit times[] = {
	{ "s", 1000000000 }, { "ms", 1000000 }, { "us", 1000 }, { "ns", 1 }, { NULL, 0 },
};

static const struct unit counts[] = {
	{ "", 1 },
	{ NULL, 0 },
};

static const struct unit *units_of(const struct option *row)
{
	if (row->type == OPT_SECONDS)
		return times;
	return row->type == OPT_U64 ? counts : sizes;
}

/* Make `x` a whole number of the smallest unit of the type. */
static bool to_base(const struct option *row, struct arena *arena, const char *text, size_t length,
		    struct number *x)
{
	const char *word = xarena_printf(arena, "%.*s", (int)length, text);
	int err = -1;

	x->decimals = 0;
	if (!word || !x->suffix_length || !is_number_type(row->type))
		return false;
	if (row->type == OPT_SECONDS)
		err = units_parse_seconds(word, &x->scaled);
	else if (row->type == OPT_U64)
		err = units_parse_count(word, &x->scaled);
	else
		err = units_parse_size(word, &x->scaled);
	return !err;
}

static const char *base_text(const struct option *row, struct arena *arena, uint64_t value)
{
	const struct unit *u = units_of(row);

	while (u[1].suffix && (value % u->size || !value))
		u++;
	return xarena_printf(arena, "%" PRIu64 "%s", value / u->size, u->suffix);
}

/* ---- ranges ---- */

struct range {
	struct number first, last, step;
	bool base;    /* they are of the smallest unit */
	bool factors; /* the step multiplies */
};

static const char *range_text(const struct option *row, struct arena *arena, const struct range *r,
			      uint64_t value)
{
	uint64_t one = 1;
	char fraction[MOST_DECIMALS + 2] = "";
	size_t end;

	if (r->base)
		return base_text(row, arena, value);
	for (unsigned i = 0; i < r->first.decimals; i++)
		one *= 10;
	if (value % one) {
		snprintf(fraction, sizeof(fraction), ".%0*" PRIu64, (int)r->first.decimals,
			 value % one);
		for (end = strlen(fraction); fraction[end - 1] == '0'; end--)
			fraction[end - 1] = '\0';
	}
	return xarena_printf(arena, "%" PRIu64 "%s%.*s", value / one, fraction,
			     (int)r->first.suffix_length, r->first.suffix);
}

static const char *add_range(struct values *v, const struct option *row, const struct range *r)
{
	uint64_t x = r->first.scaled;

	for (;;) {
		const char *why = add(v, range_text(row, v->arena, r, x));

		if (why)
			return why;
		if (r->factors) {
			if (x > r->last.scaled / r->step.scaled)
				return NULL;
			x *= r->step.scaled;
		} else {
			if (r->last.scaled - x < r->step.scaled)
				return NULL;
			x += r->step.scaled;
		}
	}
}

/* Give all numbers of the range the same unit and the same decimals. */
static const char *align(struct arena *arena, const struct option *row, struct range *r,
			 const char *const *texts, const size_t *lengths)
{
	struct number *numbers[] = { &r->first, &r->last, &r->step };
	const size_t n = r->factors ? 2 : 3;
	unsigned decimals = 0;

	for (size_t i = 1; i < n; i++)
		r->base |= !same_suffix(numbers[0], numbers[i]);
	for (size_t i = 0; r->base && i < n; i++) {
		if (!to_base(row, arena, texts[i], lengths[i], numbers[i]))
			return "the numbers of a range need the same unit, or each a unit";
	}
	for (size_t i = 0; i < n; i++)
		decimals = numbers[i]->decimals > decimals ? numbers[i]->decimals : decimals;
	for (size_t i = 0; i < n; i++) {
		if (!raise_decimals(numbers[i], decimals))
			return "a number of the range is too large";
	}
	return NULL;
}

static const char *check_range(const struct range *r)
{
	if (r->first.scaled > r->last.scaled)
		return "a range begins with its smaller number";
	if (r->factors && (r->step.scaled < 2 || r->step.decimals || r->step.suffix_length))
		return "expected a whole number from 2 after the x of a range";
	if (r->factors && !r->first.scaled)
		return "a range with a factor begins above 0";
	if (!r->factors && !r->step.scaled)
		return "the step of a range is above 0";
	return NULL;
}

/* "A..B", "A..BxF" or "A..B+S"; `dots` is where the two dots are. */
static const char *take_range(struct values *v, const struct option *row, const char *text,
			      const char *dots)
{
	const char *last = dots + 2, *sign = last + strcspn(last, "x+");
	const char *texts[3] = { text, last, *sign ? sign + 1 : "" };
	const size_t lengths[3] = { (size_t)(dots - text), (size_t)(sign - last),
				    strlen(texts[2]) };
	struct range r = { .factors = *sign == 'x' };
	const char *why;

	if (!read_number(texts[0], lengths[0], &r.first) ||
	    !read_number(texts[1], lengths[1], &r.last) ||
	    (*sign && !read_number(texts[2], lengths[2], &r.step)))
		return "expected a range such as 1..8, 1..64x2 or 0..1M+64k";
	if (!*sign) {
		r.step = r.first;
		r.step.scaled = 1;
		r.step.decimals = 0;
		if (!same_suffix(&r.first, &r.last))
			return "the numbers of a range need the same unit, or a step or factor";
	}
	why = align(v->arena, row, &r, texts, lengths);
	if (!why)
		why = check_range(&r);
	return why ? why : add_range(v, row, &r);
}

static const char *find_twice(struct arena *arena, const struct values *v)
{
	for (size_t i = 0; i < v->n && v->n <= 1000; i++) {
		for (size_t k = i + 1; k < v->n; k++) {
			if (strcmp(v->texts[i], v->texts[k]) == 0)
				return xarena_printf(arena, "%.64s is in the list twice",
						     v->texts[i]);
		}
	}
	return NULL;
}

const char *vary_list(struct arena *arena, const struct option *row, const char *text,
		      const char *const **values, size_t *n)
{
	struct values v = { .arena = arena };
	const char *why = NULL;

	for (bool more = true; more && !why;) {
		const size_t length = strcspn(text, ",");
		const char *item = xarena_printf(arena, "%.*s", (int)length, text);
		const char *dots = is_number_type(row->type) || row->varies ? strstr(item, "..") :
									      NULL;

		if (!length)
			why = "expected a value before and after each comma";
		else
			why = dots ? take_range(&v, row, item, dots) : add(&v, item);
		more = text[length];
		text += length + 1;
	}
	if (!why)
		why = find_twice(arena, &v);
	*values = v.texts;
	*n = v.n;
	return why;
}
