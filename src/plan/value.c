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
#include "xdd/base/text.h"
#include "xdd/base/units.h"

static bool is_percentage(const struct option *row)
{
	return row->unit && strcmp(row->unit, "percent") == 0;
}

static enum xdd_status want_u64(const struct setting *s, const struct option *row)
{
	const char *word = s->args[0].text, *unit = row->unit ? " of " : "";
	bool suffix = units_has_suffix(word) && row->unit && !is_percentage(row);

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
	/* A number without a unit, such as a port or a seed, counts nothing. */
	int ret = is_percentage(row) ? read_percentage(word, &v) :
		  row->unit	     ? units_parse_count(word, &v) :
				       units_parse_u64(word, &v);

	if (ret || v < row->min || v > row->max)
		return want_u64(s, row);
	*(uint64_t *)field = v * (row->scale ? row->scale : 1);
	return XDD_OK;
}

/* Keep how the number was given, for feature_amount.c. */
static void keep_amount(const struct setting *s, const struct option *row, void *dst,
			enum amount_kind kind, uint64_t value)
{
	struct amount *a = (struct amount *)((char *)dst + row->amount);

	if (!row->amount)
		return;
	a->kind = kind;
	a->value = value;
	a->from = s->by_default ? NULL : s;
}

static enum xdd_status store_size(const struct setting *s, const struct option *row, void *dst)
{
	char lo[32], hi[32];
	uint64_t v;

	if (units_parse_size(s->args[0].text, &v) || v < row->min || v > row->max)
		return parse_error(
			XDD_BAD_ARGUMENT, s, &s->args[0],
			"expected a size in bytes, such as 4096, 4k, 1.5G or 10MB, %s to %s",
			units_size_text(row->min, lo, sizeof(lo)),
			units_size_text(row->max, hi, sizeof(hi)));
	*(uint64_t *)((char *)dst + row->off) = v;
	keep_amount(s, row, dst, units_has_suffix(s->args[0].text) ? AMOUNT_OF_BYTES : AMOUNT_AS_IS,
		    v);
	return XDD_OK;
}

static enum xdd_status want_amount(const struct setting *s, const struct option *row)
{
	const char *share = row->share ? ", or a share of the target such as 50%" : "";
	uint64_t scale = row->scale ? row->scale : 1;
	char hi[32];

	if (row->type == OPT_BLOCKS)
		return parse_error(XDD_BAD_ARGUMENT, s, &s->args[0],
				   "expected a whole number of %s, %" PRIu64 " to %" PRIu64
				   ", bytes with a suffix such as 4k or 1M%s",
				   row->unit, row->min, row->max, share);
	if (scale > 1)
		return parse_error(XDD_BAD_ARGUMENT, s, &s->args[0],
				   "expected a number of %s, up to %" PRIu64
				   ", bytes with a suffix such as 16M or 10MB%s",
				   row->unit, row->max, share);
	return parse_error(XDD_BAD_ARGUMENT, s, &s->args[0],
			   "expected a size in bytes, such as 4096, 4k, 1.5G or 10MB, 1 byte to "
			   "%s%s",
			   units_size_text(row->max, hi, sizeof(hi)), share);
}

/* OPT_AMOUNT and OPT_BLOCKS; `*field` gets what is known without the target. */
static enum xdd_status store_amount(const struct setting *s, const struct option *row, void *dst)
{
	uint64_t *field = (uint64_t *)((char *)dst + row->off);
	uint64_t v, scale = row->scale ? row->scale : 1;
	const char *word = s->args[0].text;
	bool blocks = row->type == OPT_BLOCKS;

	if (row->share && *word && word[strlen(word) - 1] == '%') {
		if (units_parse_percent(word, &v) || (!v && row->min))
			return want_amount(s, row);
		keep_amount(s, row, dst, AMOUNT_SHARE, v);
		*field = 0;
		return XDD_OK;
	}
	if (units_has_suffix(word)) {
		/* The block size is not known yet, nor the greatest number of bytes. */
		uint64_t most = blocks ? INT64_MAX : row->max * scale;

		if (units_parse_size(word, &v) || (!v && row->min) || v > most)
			return want_amount(s, row);
		keep_amount(s, row, dst, blocks ? AMOUNT_OF_BYTES : AMOUNT_AS_IS, v);
		*field = blocks ? 0 : v;
		return XDD_OK;
	}
	if ((blocks ? units_parse_u64(word, &v) : units_parse_amount(word, scale, &v)) ||
	    (v < row->min && blocks) || (!v && row->min) || v > row->max * scale)
		return want_amount(s, row);
	keep_amount(s, row, dst, AMOUNT_AS_IS, v);
	*field = v;
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
		status = store_size(s, row, dst);
		break;
	case OPT_AMOUNT:
	case OPT_BLOCKS:
		status = store_amount(s, row, dst);
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

/* The words of the other form without its name: a list of sizes and weights. */
static enum xdd_status refuse_form(const struct setting *s, const struct option *row)
{
	return parse_error(XDD_BAD_ARGUMENT, s, &s->args[0],
			   "sizes with weights need the word %s: -%s %s %s", row->form->name,
			   s->opt->name, row->form->name, s->args[0].text);
}

enum xdd_status parse_apply_row(const struct setting *s, const struct option *row, void *dst)
{
	enum xdd_status status;

	if (row->form && strcmp(s->args[0].text, row->form->name) == 0)
		row = row->form;
	else if (row->form && strchr(s->args[0].text, ':'))
		return refuse_form(s, row);
	status = store(s, row, dst);
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
