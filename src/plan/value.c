/*
 * Words of the command line as values: reading them, and storing them where a row says. Called
 * while a plan is built.
 */
#include "plan/value.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "plan/errors.h"
#include "xdd/base/suggest.h"
#include "xdd/base/units.h"

static bool is_percentage(const struct option *row)
{
	return row->unit && strcmp(row->unit, "percent") == 0;
}

/* A suffix would be one of a size. */
static bool counts_in_bytes(const struct option *row)
{
	return row->scale || (row->unit && strcmp(row->unit, "blocks") == 0);
}

static enum xdd_status want_u64(const struct setting *s, const struct option *row)
{
	const char *word = s->args[0].text, *unit = row->unit ? " of " : "";
	bool suffix = units_has_suffix(word) && !is_percentage(row) && !counts_in_bytes(row);

	return parse_error(XDD_BAD_ARGUMENT, s, &s->args[0],
			   "expected a whole number%s%s, %" PRIu64 " to %" PRIu64 "%s", unit,
			   row->unit ? row->unit : "", row->min, row->max,
			   suffix ? "; k, M and G are thousands, millions and so on" : "");
}

/* Whole percent: "70" and "70%". */
static int read_percentage(const char *word, uint64_t *value)
{
	uint64_t millionths;
	int ret = units_parse_percent(word, &millionths);

	if (!ret && millionths % 1000000)
		ret = -EINVAL;
	if (!ret)
		*value = millionths / 1000000;
	return ret;
}

static enum xdd_status store_u64(const struct setting *s, const struct option *row, void *field)
{
	const char *word = s->args[0].text;
	uint64_t v;
	int ret = is_percentage(row)   ? read_percentage(word, &v) :
		  counts_in_bytes(row) ? units_parse_u64(word, &v) :
					 units_parse_count(word, &v);

	if (ret || v < row->min || v > row->max)
		return want_u64(s, row);
	*(uint64_t *)field = v * (row->scale ? row->scale : 1);
	return XDD_OK;
}

static enum xdd_status store_size(const struct setting *s, const struct option *row, void *field)
{
	char lo[32], hi[32];
	uint64_t v;

	if (units_parse_size(s->args[0].text, &v) || v < row->min || v > row->max)
		return parse_error(
			XDD_BAD_ARGUMENT, s, &s->args[0],
			"expected a size in bytes, such as 4096, 4k, 1.5G or 10MB, %s to %s",
			units_size_text(row->min, lo, sizeof(lo)),
			units_size_text(row->max, hi, sizeof(hi)));
	*(uint64_t *)field = v;
	return XDD_OK;
}

/* A limit of a time, for a message. */
static char *time_text(uint64_t ns, char *buf, size_t size)
{
	const uint64_t second = NS_PER_SEC, ms = second / 1000;

	if (ns == PLAN_CENTURY_NS)
		snprintf(buf, size, "100 years");
	else if (ns % second)
		snprintf(buf, size, "%" PRIu64 "ms", ns / ms);
	else
		snprintf(buf, size, "%" PRIu64 "s", ns / second);
	return buf;
}

enum xdd_status parse_time(const struct setting *s, const struct word *w, uint64_t min,
			   uint64_t max, uint64_t *ns)
{
	char lo[32], hi[32];
	uint64_t v;

	if (units_parse_seconds(w->text, &v) == 0 && v >= min && v <= max) {
		*ns = v;
		return XDD_OK;
	}
	time_text(min, lo, sizeof(lo));
	time_text(max, hi, sizeof(hi));
	if (min == 1)
		return parse_error(
			XDD_BAD_ARGUMENT, s, w,
			"expected a time above 0 and up to %s: seconds with decimals, or with ms, "
			"us, min or h",
			hi);
	return parse_error(
		XDD_BAD_ARGUMENT, s, w,
		"expected a time of %s to %s: seconds with decimals, or with ms, us, min or h",
		min ? lo : "0", hi);
}

static const char *choice_at(const void *choices, size_t i)
{
	return ((const struct choice *)choices)[i].word;
}

static enum xdd_status store_choice(const struct setting *s, const struct option *row, void *field)
{
	const char *word = s->args[0].text;

	for (const struct choice *c = row->choices; c->word; c++) {
		if (strcmp(word, c->word) == 0 || (c->alias && strcmp(word, c->alias) == 0)) {
			*(int *)field = c->value;
			return XDD_OK;
		}
	}
	return parse_error_words(s, &s->args[0], choice_at, row->choices);
}

static enum xdd_status store_text(const struct setting *s, const struct option *row, void *field)
{
	if (!*s->args[0].text)
		return parse_error(XDD_BAD_ARGUMENT, s, &s->args[0], "%s cannot be empty",
				   row->arg);
	*(const char **)field = s->args[0].text;
	return XDD_OK;
}

static void store_value(const struct option *row, void *field)
{
	if (row->size == sizeof(bool))
		*(bool *)field = row->value;
	else if (row->size)
		*(int *)field = row->value;
}

/* The value of a row into its field, and the further fields that it sets. */
static enum xdd_status store(const struct setting *s, const struct option *row, void *dst)
{
	void *field = (char *)dst + row->off;
	enum xdd_status status = XDD_OK;

	switch (row->type) {
	case OPT_FLAG:
	case OPT_SET:
		store_value(row, field);
		break;
	case OPT_BIT:
		*(unsigned *)field |= (unsigned)row->value;
		break;
	case OPT_U64:
		status = store_u64(s, row, field);
		break;
	case OPT_SIZE:
		status = store_size(s, row, field);
		break;
	case OPT_SECONDS:
		status = parse_time(s, &s->args[0], row->min, row->max, field);
		break;
	case OPT_TEXT:
		status = store_text(s, row, field);
		break;
	case OPT_CHOICE:
		status = store_choice(s, row, field);
		break;
	case OPT_CUSTOM:
	case OPT_NAMES:
	case OPT_SUB:
	case OPT_ACTION:
	case OPT_REFUSED:
		break;
	}
	if (row->sets && !s->by_default)
		*(bool *)((char *)dst + row->sets) = true;
	if (row->selects)
		*(int *)((char *)dst + row->selects) = row->value;
	return status;
}

enum xdd_status parse_apply_row(const struct setting *s, const struct option *row, void *dst)
{
	enum xdd_status status = store(s, row, dst);

	return !status && row->apply ? row->apply(s, dst) : status;
}

enum xdd_status parse_apply(const struct setting *s, void *dst)
{
	if (s->sub && s->opt->source)
		return s->opt->source->apply(s, dst);
	return parse_apply_row(s, s->sub ? s->sub : s->opt, dst);
}

size_t option_arity_number(const struct word *args, size_t avail)
{
	uint64_t n;

	return avail && units_parse_u64(args[0].text, &n) == 0;
}
