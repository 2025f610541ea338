/*
 * -throttle: the rate of a target. Its row is in the group of feature_passes.c.
 */
#include "plan/feature.h"

#include "plan/errors.h"
#include "plan/value.h"
#include "xdd/base/arena.h"
#include "xdd/base/units.h"

#define LEAST_RATE 1e-9
#define MOST_RATE 1e9

/* A positive real number. */
static enum xdd_status parse_positive(const struct setting *s, double most, const char *what,
				      double *value)
{
	double v;

	if (units_parse_real(s->args[0].text, &v) || v < LEAST_RATE || v > most)
		return parse_error(XDD_BAD_ARGUMENT, s, &s->args[0],
				   "expected %s, above 0 and up to %.0f, with decimals if need be",
				   what, most);
	*value = v;
	return XDD_OK;
}

/* Of ops, bw and delay the last wins. */
static enum xdd_status apply_rate(const struct setting *s, void *dst)
{
	struct target_plan *t = dst;
	bool ops = s->sub->value == THROTTLE_OPS;
	enum xdd_status status = parse_positive(s, MOST_RATE,
						ops ? "a number of operations per second" :
						      "a number of 10^6 bytes per second",
						&t->throttle.rate);

	if (status)
		return status;
	t->throttle.by = (enum throttle_by)s->sub->value;
	t->throttle.delay_ns = 0;
	return XDD_OK;
}

static enum xdd_status apply_var(const struct setting *s, void *dst)
{
	struct target_plan *t = dst;

	return parse_positive(s, 100, "a percentage of the interval between operations",
			      &t->throttle.var_percent);
}

const struct option throttle_rows[] = {
	{ .name = "ops",
	  .type = OPT_CUSTOM,
	  .arg = "<#operations/second>",
	  .value = THROTTLE_OPS,
	  .apply = apply_rate,
	  .help = "issue this many operations per second" },
	{ .name = "bw",
	  .type = OPT_CUSTOM,
	  .arg = "<#megabytes/second>",
	  .value = THROTTLE_BANDWIDTH,
	  .apply = apply_rate,
	  .help = "transfer this many megabytes (10^6 bytes) per second" },
	{ .name = "var",
	  .type = OPT_CUSTOM,
	  .arg = "<%>",
	  .apply = apply_var,
	  .help = "vary the interval between operations at random by up to this much" },
	{ .name = "delay",
	  .type = OPT_SECONDS,
	  .arg = "<seconds>",
	  .min = 1,
	  .max = PLAN_CENTURY_NS,
	  TARGET_FIELD(throttle.delay_ns),
	  .selects = offsetof(struct target_plan, throttle.by),
	  .value = THROTTLE_DELAY,
	  .help = "wait this long after each operation instead" },
	{ 0 },
};

/* With a rate of bytes, when an operation is due depends on the sizes of all before it. */
static enum xdd_status sum_rows(struct plan *plan, struct target_plan *t)
{
	uint64_t *before = arena_alloc(plan->arena, (t->n_rows + 1) * sizeof(*before)), sum = 0;

	if (!before)
		return plan_no_memory();
	for (size_t i = 0; i < t->n_rows; i++) {
		before[i] = sum;
		sum += t->rows[i].blocks * t->block_size;
	}
	before[t->n_rows] = sum;
	t->throttle.bytes_before = before;
	return XDD_OK;
}

static enum xdd_status resolve_throttle(struct plan *plan, struct target_plan *t)
{
	struct throttle_options *throttle = &t->throttle;

	switch (throttle->by) {
	case THROTTLE_OPS:
		throttle->interval_ns = (double)NS_PER_SEC / throttle->rate;
		return XDD_OK;
	case THROTTLE_BANDWIDTH:
		/* 10^6 bytes per second are one byte per microsecond. */
		throttle->interval_ns = (double)t->req_bytes * 1000 / throttle->rate;
		return t->rows ? sum_rows(plan, t) : XDD_OK;
	case THROTTLE_DELAY:
	case THROTTLE_NONE:
		break;
	}
	if (throttle->var_percent > 0)
		return plan_refuse(
			t,
			"-throttle var: is for a rate; say -throttle ops or -throttle bw as well");
	return XDD_OK;
}

const struct plan_feature feature_throttle = {
	.target = { [TARGET_SIZE] = resolve_throttle },
};
