/*
 * The values of the options of a plan; see the header. Called by the writer of -jsonout, once for
 * each option and target.
 */
#include "xdd/base/units.h"
#include "xdd/plan/option_value.h"

#include <stdlib.h>

#include "plan/errors.h"
#include "plan/parse.h"
#include "xdd/base/memory.h"

static struct option_value flag(bool on)
{
	return (struct option_value){ .type = OPTION_VALUE_FLAG, .flag = on };
}

static struct option_value real(double value)
{
	return (struct option_value){ .type = OPTION_VALUE_REAL, .real = value };
}

/* In units of `scale`. */
static struct option_value count(const struct option *row, uint64_t value)
{
	uint64_t scale = row->scale ? row->scale : 1;

	if (value % scale)
		return real((double)value / (double)scale);
	return (struct option_value){ .type = OPTION_VALUE_COUNT, .count = value / scale };
}

static struct option_value text(const char *value)
{
	return (struct option_value){ .type = value ? OPTION_VALUE_TEXT : OPTION_VALUE_NONE,
				      .text = value };
}

static struct option_value choice(const struct option *row, int value)
{
	const struct choice *c = row->choices;

	while (c->word && c->value != value)
		c++;
	return text(c->word);
}

static int compare_pointers(const void *a, const void *b)
{
	return ((uintptr_t)a > (uintptr_t)b) - ((uintptr_t)a < (uintptr_t)b);
}

static int by_row(const struct setting *s, const struct option *opt, const struct option *sub)
{
	int order = compare_pointers(s->opt, opt);

	return order ? order : compare_pointers(s->sub, sub);
}

/* Those of one row in the order in which they were given. */
static int compare_settings(const void *a, const void *b)
{
	const struct setting *s = *(const struct setting *const *)a;
	const struct setting *r = *(const struct setting *const *)b;
	int order = by_row(s, r->opt, r->sub);

	return order ? order : compare_pointers(s, r);
}

enum xdd_status plan_sort_settings(struct plan *plan)
{
	plan->by_option = arena_alloc(plan->arena, plan->n_settings * sizeof(*plan->by_option));
	if (!plan->by_option)
		return plan_no_memory();
	for (size_t i = 0; i < plan->n_settings; i++)
		plan->by_option[i] = &plan->settings[i];
	qsort(plan->by_option, plan->n_settings, sizeof(*plan->by_option), compare_settings);
	return XDD_OK;
}

/* The number of settings in `by_option` up to the last one of a row. */
static size_t end_of_row(const struct plan *plan, const struct option *opt,
			 const struct option *sub)
{
	size_t low = 0, high = plan->n_settings;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (by_row(plan->by_option[middle], opt, sub) <= 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* The last setting for the target. */
static struct option_value words(const struct plan *plan, const struct target_plan *target,
				 const struct option *opt, const struct option *sub)
{
	for (size_t i = end_of_row(plan, opt, sub); i > 0; i--) {
		const struct setting *s = plan->by_option[i - 1];

		if (by_row(s, opt, sub) != 0)
			break;
		if (target && (target->number < s->first || target->number > s->last))
			continue;
		return (struct option_value){ .type = OPTION_VALUE_WORDS, .setting = s };
	}
	return (struct option_value){ .type = OPTION_VALUE_NONE };
}

struct option_value option_value(const struct plan *plan, const struct target_plan *target,
				 const struct option *opt, const struct option *sub)
{
	static const struct option_value none = { .type = OPTION_VALUE_NONE };
	const struct option *row = sub ? sub : opt;
	const void *base = target ? (const void *)target : (const void *)plan;
	struct option_value given;
	const void *field;

	if (sub && opt->source && row->type != OPT_CUSTOM)
		base = target ? opt->source->field(target, &row) : NULL;
	if (!base)
		return row->type == OPT_FLAG ? flag(false) : none;
	field = (const char *)base + row->off;
	if (row->form) {
		given = words(plan, target, opt, sub);
		if (given.type == OPTION_VALUE_WORDS && given.setting->n_args > 1)
			return given;
	}
	switch (row->type) {
	case OPT_FLAG:
		if (!row->size) /* its function stores the value */
			return flag(words(plan, target, opt, sub).type == OPTION_VALUE_WORDS);
		return flag(*(const bool *)field == (bool)row->value);
	case OPT_U64:
	case OPT_SIZE:
	case OPT_AMOUNT:
	case OPT_BLOCKS:
	case OPT_SECONDS:
		/*
		 * 0 without a default: the option shares its field with others, or was not given.
		 */
		if (!*(const uint64_t *)field && !row->def &&
		    (row->min || words(plan, target, opt, sub).type == OPTION_VALUE_NONE))
			return (struct option_value){ .type = OPTION_VALUE_NONE };
		if (row->type != OPT_SECONDS)
			return count(row, *(const uint64_t *)field);
		return real((double)*(const uint64_t *)field / (double)NS_PER_SEC);
	case OPT_TEXT:
		return text(*(const char *const *)field);
	case OPT_CHOICE:
		return choice(row, *(const int *)field);
	case OPT_SET:
	case OPT_BIT:
	case OPT_CUSTOM:
	case OPT_NAMES:
		return words(plan, target, opt, sub);
	case OPT_SUB:
	case OPT_ACTION:
	case OPT_REFUSED:
		break;
	}
	return (struct option_value){ .type = OPTION_VALUE_NONE };
}
