/*
 * Reports of latencies, and of progress over time: -latency, -intervals.
 */
#include "plan/feature.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "plan/errors.h"
#include "plan/value.h"
#include "xdd/base/memory.h"
#include "xdd/base/units.h"
#include "xdd/stat/histogram.h"

#define P(field) PLAN_FIELD(latency.field)
#define SHOWN .sets = offsetof(struct plan, latency.shown)
#define MAX_PERCENTS 32
#define PERCENT_DIGITS 6
#define MIN_INTERVAL_NS 10000000
#define MIN_SERIES_NS 1000000

/*
 * One item of the list, `len` characters: above 0 and up to 100, with at most six digits after the
 * point.
 */
static int parse_percent(const char *item, size_t len, uint32_t *percent)
{
	char word[32];
	const char *point;
	uint64_t millionths;

	if (!len || len >= sizeof(word))
		return -EINVAL;
	memcpy(word, item, len);
	word[len] = '\0';
	/* Finer values would be rounded, in the end to 100. */
	point = strchr(word, '.');
	if (point && strspn(point + 1, "0123456789") > PERCENT_DIGITS)
		return -EINVAL;
	if (units_parse_percent(word, &millionths))
		return -EINVAL;
	*percent = (uint32_t)millionths;
	return *percent ? 0 : -EINVAL;
}

static int by_percent(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

/*
 * In ascending order, each once: columns are found by their names. Returns the number of distinct
 * ones.
 */
static size_t sort_percents(uint32_t *percents, size_t n)
{
	size_t left = 0;

	qsort(percents, n, sizeof(*percents), by_percent);
	for (size_t i = 0; i < n; i++) {
		if (!left || percents[left - 1] != percents[i])
			percents[left++] = percents[i];
	}
	return left;
}

/* A list, unless the next word is another option or suboption. */
static size_t arity_percentiles(const struct word *args, size_t avail)
{
	const struct option *latency = option_find(&run_options, "latency");

	return avail && !option_is_word(&run_options, args[0].text) &&
	       !option_find_sub(latency, args[0].text);
}

static enum xdd_status apply_percentiles(const struct setting *s, void *dst)
{
	struct plan *plan = dst;
	const char *item;
	uint32_t *percents;
	size_t n = 0;

	plan->latency.percents = NULL;
	plan->latency.n_percents = 0;
	if (!s->n_args)
		return XDD_OK;
	item = s->args[0].text;
	percents = arena_alloc(s->arena, MAX_PERCENTS * sizeof(*percents));
	if (!percents)
		return plan_no_memory();
	for (;; item++) {
		size_t len = strcspn(item, ",");

		if (n == MAX_PERCENTS || parse_percent(item, len, &percents[n]))
			return parse_error(
				XDD_BAD_ARGUMENT, s, &s->args[0],
				"expected up to %d percentages above 0 and up to 100, with at most "
				"%d digits after the point, separated by commas, as in 50,99,99.9",
				MAX_PERCENTS, PERCENT_DIGITS);
		n++;
		item += len;
		if (!*item)
			break;
	}
	plan->latency.percents = percents;
	plan->latency.n_percents = sort_percents(percents, n);
	return XDD_OK;
}

static const struct option latency_options[] = {
	{ .name = "percentiles",
	  .type = OPT_CUSTOM,
	  .arg = "[<%,%,...>]",
	  .arity = arity_percentiles,
	  .apply = apply_percentiles,
	  SHOWN,
	  .help = "which percentiles to show (50,90,95,99,99.9,99.99,99.999)" },
	{ .name = "histogram",
	  .type = OPT_SET,
	  .value = true,
	  P(histogram),
	  SHOWN,
	  .help = "show how the latencies are distributed over powers of two" },
	{ .name = "intervals",
	  .type = OPT_SECONDS,
	  .arg = "<seconds>",
	  .min = MIN_INTERVAL_NS,
	  .max = PLAN_CENTURY_NS,
	  P(interval_ns),
	  SHOWN,
	  .help = "show the figures of each such interval of time as well, 10ms at least" },
	{ .name = "output",
	  .type = OPT_TEXT,
	  .arg = "<file>",
	  P(file),
	  .is_output = true,
	  SHOWN,
	  .help = "append the figures to a file as CSV as well" },
	{ 0 },
};

#define I(field) PLAN_FIELD(intervals.field)
#define I_SHOWN .sets = offsetof(struct plan, intervals.shown)

static const struct option interval_options[] = {
	{ .name = "seconds",
	  .type = OPT_SECONDS,
	  .arg = "<seconds>",
	  .min = MIN_SERIES_NS,
	  .max = PLAN_CENTURY_NS,
	  .bare = true,
	  I(length_ns),
	  I_SHOWN,
	  .help = "length of an interval, 1ms at least (1); the word seconds may be left out" },
	{ .name = "output",
	  .type = OPT_TEXT,
	  .arg = "<file>",
	  I(file),
	  .is_output = true,
	  I_SHOWN,
	  .help = "append the rows to a file as CSV, instead of a table in the text output; - is "
		  "standard output" },
	{ 0 },
};

static const struct option rows[] = {
	{ .name = "latency",
	  .scope = SCOPE_GLOBAL,
	  .type = OPT_SUB,
	  .arg = "[<suboption>]",
	  .subs = latency_options,
	  .alone = &latency_options[0],
	  .help = "show figures of the latencies after the results",
	  .detail =
		  "Every suboption enables a table with the number of operations, the shortest, "
		  "mean, standard deviation, weighted average, percentiles and longest of their "
		  "times in milliseconds, for each direction; with -verbose for each target and "
		  "pass. Service time is from issue to completion; with -throttle response time, "
		  "from when the operation was due, is beside it. Percentiles are accurate to 0.4 "
		  "%, the other figures are exact. The same figures exist as columns: see +LATP99 "
		  "and the like in -outputformat. Several suboptions may follow one -latency; without any it is -latency percentiles.",
	  .example = "xdd -op read -targets 1 data -latency percentiles 50,99.9 histogram" },
	{ .name = "intervals",
	  .scope = SCOPE_GLOBAL,
	  .type = OPT_SUB,
	  .arg = "<seconds> [output <file>]",
	  .subs = interval_options,
	  .help = "show rates and latencies of each interval of time while the run lasts",
	  .detail =
		  "A row for each target and direction, and for all targets together: start and "
		  "end in seconds since the first pass began, operations, bytes, errors, IOPS, "
		  "bandwidth (10^6 bytes per second), median, 99th percentile and longest service "
		  "time. An operation belongs to the interval in which it completes. The rows of a "
		  "pass have no gaps, and their operations and bytes add up to those of its "
		  "results; an interval without completions has a row with 0. A row that is short "
		  "because the pass begins or ends in it is marked as partial; a remainder of less "
		  "than a tenth of an interval is part of the row before it. The document of "
		  "-jsonout has the same rows.",
	  .example = "xdd -op read -targets 1 data -runtime 60 -intervals 1 output series.csv" },
	{ 0 },
};

/* -intervals output without a length. */
static enum xdd_status resolve(struct plan *plan)
{
	if (plan->intervals.shown && !plan->intervals.length_ns)
		plan->intervals.length_ns = NS_PER_SEC;
	return XDD_OK;
}

const struct plan_feature feature_latency = {
	.group = { "Latency", rows },
	.plan = { [PLAN_CHECK] = resolve },
};
