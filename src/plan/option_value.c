/*
 * What the options of a plan stand at; see the header. Called by the writer of -jsonout.
 */
#include "xdd/plan/option_value.h"

#include "xdd/base/units.h"

static struct option_value flag(bool on)
{
	return (struct option_value){ .type = OPTION_VALUE_FLAG, .flag = on };
}

static struct option_value real(double value)
{
	return (struct option_value){ .type = OPTION_VALUE_REAL, .real = value };
}

/* In units of `scale`; 0 where that cannot be given means that nothing was. */
static struct option_value count(const struct option *row, uint64_t value)
{
	uint64_t scale = row->scale ? row->scale : 1;

	if (!value && row->min)
		return (struct option_value){ .type = OPTION_VALUE_NONE };
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

/* The last setting that concerned the target. */
static struct option_value words(const struct plan *plan, const struct target_plan *target,
				 const struct option *opt, const struct option *sub)
{
	for (size_t i = plan->n_settings; i > 0; i--) {
		const struct setting *s = &plan->settings[i - 1];

		if (s->opt != opt || s->sub != sub)
			continue;
		if (target && (target->number < s->first || target->number > s->last))
			continue;
		return (struct option_value){ .type = OPTION_VALUE_WORDS, .setting = s };
	}
	return (struct option_value){ .type = OPTION_VALUE_NONE };
}

struct option_value option_value(const struct plan *plan, const struct target_plan *target,
				 const struct option *opt, const struct option *sub)
{
	const struct option *row = sub ? sub : opt;
	const char *base = target ? (const char *)target : (const char *)plan;
	const void *field = base + row->off;

	switch (row->type) {
	case OPT_FLAG:
		/* With a function of its own, it stored nothing by itself. */
		if (row->apply)
			return flag(words(plan, target, opt, sub).type == OPTION_VALUE_WORDS);
		return flag(*(const bool *)field == (bool)row->value);
	case OPT_U64:
	case OPT_SIZE:
		return count(row, *(const uint64_t *)field);
	case OPT_SECONDS:
		if (!*(const uint64_t *)field && row->min)
			return (struct option_value){ .type = OPTION_VALUE_NONE };
		return real((double)*(const uint64_t *)field / (double)UNITS_NS_PER_SEC);
	case OPT_TEXT:
		return text(*(const char *const *)field);
	case OPT_CHOICE:
		return choice(row, *(const int *)field);
	case OPT_CUSTOM:
		return words(plan, target, opt, sub);
	case OPT_SUB:
	case OPT_ACTION:
	case OPT_REFUSED:
		break;
	}
	return (struct option_value){ .type = OPTION_VALUE_NONE };
}
