/*
 * -throttle and -snooze: the pace of a target. Their rows are in the group of feature_passes.c.
 */
#include "plan/feature.h"

#include <errno.h>
#include <string.h>

#include "plan/errors.h"
#include "plan/value.h"
#include "xdd/base/memory.h"
#include "xdd/base/units.h"
#include "xdd/plan/mix.h"

#define LEAST_RATE 1e-9
#define MOST_RATE 1e9
#define MEGABYTE 1e6
#define MOST_SNOOZE 100000.0

static enum xdd_status is_positive(const struct setting *s, int err, double v, double most,
				   const char *what)
{
	if (!err && v >= LEAST_RATE && v <= most)
		return XDD_OK;
	return parse_error(XDD_BAD_ARGUMENT, s, &s->args[0],
			   "expected %s, above 0 and up to %.0f, with decimals if need be", what,
			   most);
}

static enum xdd_status parse_ops(const struct setting *s, double *rate)
{
	double v = 0;
	int err = units_parse_op_rate(s->args[0].text, &v);
	enum xdd_status status = is_positive(
		s, err, v, MOST_RATE, "a number of operations per second, such as 200 or 10k");

	if (!status)
		*rate = v;
	return status;
}

static enum xdd_status parse_bandwidth(const struct setting *s, double *rate)
{
	const char *word = s->args[0].text;
	double v = 0;
	int err = units_parse_byte_rate(word, MEGABYTE, &v);
	enum xdd_status status;

	/* A number alone stays as it is: times 10^6 and back may round. */
	if (units_has_suffix(word))
		v /= MEGABYTE;
	else
		err = units_parse_real(word, &v);
	status = is_positive(s, err, v, MOST_RATE,
			     "a number of 10^6 bytes per second, or bytes per second with a "
			     "suffix, such as 10M or 10MB/s");
	if (!status)
		*rate = v;
	return status;
}

/* Of ops, bw and delay the last wins. */
static enum xdd_status apply_rate(const struct setting *s, void *dst)
{
	struct target_plan *t = dst;
	enum xdd_status status = s->sub->value == THROTTLE_OPS ?
					 parse_ops(s, &t->throttle.rate) :
					 parse_bandwidth(s, &t->throttle.rate);

	if (status)
		return status;
	t->throttle.by = (enum throttle_by)s->sub->value;
	t->throttle.delay_ns = 0;
	return XDD_OK;
}

static enum xdd_status apply_var(const struct setting *s, void *dst)
{
	struct target_plan *t = dst;
	double percent = 0;
	int err = units_parse_percentage(s->args[0].text, &percent);
	enum xdd_status status = is_positive(s, err, percent, 100,
					     "a percentage of the interval between operations");

	if (!status)
		t->throttle.var_percent = percent;
	return status;
}

enum xdd_status plan_apply_snooze(const struct setting *s, void *dst)
{
	const char *text = s->args[0].text;
	const size_t n = strlen(text);
	struct target_plan *t = dst;
	double percent = 0;
	char number[32];
	int err = -EINVAL;

	if (n < sizeof(number)) {
		memcpy(number, text, n + 1);
		if (n > 1 && number[n - 1] == '%')
			number[n - 1] = '\0';
		err = units_parse_real(number, &percent);
	}
	if (err || percent < 0 || percent > MOST_SNOOZE)
		return parse_error(XDD_BAD_ARGUMENT, s, &s->args[0],
				   "expected a percentage of the mean response time, 0 to %.0f, "
				   "such as 80%%",
				   MOST_SNOOZE);
	t->snooze_percent = percent;
	return XDD_OK;
}

const struct option throttle_rows[] = {
	{ .name = "ops",
	  .type = OPT_CUSTOM,
	  .arg = "<#operations/second>",
	  .value = THROTTLE_OPS,
	  .apply = apply_rate,
	  .varies = true,
	  .help = "issue this many operations per second, such as 200 or 10k" },
	{ .name = "bw",
	  .type = OPT_CUSTOM,
	  .arg = "<#megabytes/second>",
	  .value = THROTTLE_BANDWIDTH,
	  .apply = apply_rate,
	  .varies = true,
	  .help = "transfer this many megabytes (10^6 bytes) per second; with a suffix bytes, such "
		  "as 10M, 10MB or 10MB/s" },
	{ .name = "var",
	  .type = OPT_CUSTOM,
	  .arg = "<%>",
	  .apply = apply_var,
	  .varies = true,
	  .help = "vary the interval between operations at random by up to this much" },
	{ .name = "poisson",
	  .type = OPT_FLAG,
	  .value = true,
	  TARGET_FIELD(throttle.poisson),
	  .help = "have operations arrive at random and independently of each other at this rate" },
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

/*
 * Arrivals do not depend on sizes: those of a list or mix come at the rate of requests of mean
 * size.
 */
static double mean_size(const struct target_plan *t)
{
	uint64_t blocks = 0;

	if (t->mix)
		return (double)t->mix->cycle_bytes / (double)t->mix->cycle_ops;
	for (size_t i = 0; i < t->n_rows; i++)
		blocks += t->rows[i].blocks;
	return t->n_rows ? (double)blocks / (double)t->n_rows * (double)t->block_size :
			   (double)t->req_bytes;
}

/* Refuse words that change the intervals of a rate, and have none or contradict each other. */
static enum xdd_status check_intervals(const struct target_plan *t)
{
	const struct throttle_options *throttle = &t->throttle;
	const bool rate = throttle->by == THROTTLE_OPS || throttle->by == THROTTLE_BANDWIDTH;

	if (!rate && (throttle->poisson || throttle->var_percent > 0))
		return plan_refuse(
			t, "-throttle %s: is for a rate; say -throttle ops or -throttle bw as well",
			throttle->poisson ? "poisson" : "var");
	if (throttle->poisson && throttle->var_percent > 0)
		return plan_refuse(t, "-throttle poisson: cannot be used with -throttle var; the "
				      "intervals are random already");
	return XDD_OK;
}

static enum xdd_status check_snooze(const struct target_plan *t)
{
	if (t->snooze_percent <= 0)
		return XDD_OK;
	if (t->throttle.by == THROTTLE_OPS || t->throttle.by == THROTTLE_BANDWIDTH)
		return plan_refuse(
			t,
			"-snooze: cannot be used with -throttle %s, whose rate says when "
			"each operation is due",
			t->throttle.by == THROTTLE_OPS ? "ops" : "bw");
	if (t->endtoend.role != E2E_NONE)
		return plan_refuse(t, "-snooze: cannot be used in an end-to-end copy; "
				      "-throttle holds it to a rate");
	return XDD_OK;
}

static enum xdd_status resolve_throttle(struct plan *plan, struct target_plan *t)
{
	struct throttle_options *throttle = &t->throttle;
	enum xdd_status status = check_intervals(t);

	throttle->rank = plan->rank;
	if (!status)
		status = check_snooze(t);
	if (status)
		return status;
	switch (throttle->by) {
	case THROTTLE_OPS:
		throttle->interval_ns = (double)NS_PER_SEC / throttle->rate;
		return XDD_OK;
	case THROTTLE_BANDWIDTH:
		/* 10^6 bytes per second are one byte per microsecond. */
		throttle->interval_ns = (throttle->poisson ? mean_size(t) : (double)t->req_bytes) *
					1000 / throttle->rate;
		return t->rows && !throttle->poisson ? sum_rows(plan, t) : XDD_OK;
	case THROTTLE_DELAY:
	case THROTTLE_NONE:
		break;
	}
	return XDD_OK;
}

const struct plan_feature feature_throttle = {
	.target = { [TARGET_SIZE] = resolve_throttle },
};
