/*
 * The figures of each pass; see the header. Called by the results manager, between passes.
 */
#include "run/results/statistics.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "xdd/base/memory.h"
#include "xdd/base/units.h"

/* Make room for one more pass. */
static int grow(struct pass_series *s)
{
	uint64_t *passes = array_room(s->passes, s->n, sizeof(*passes));

	if (!passes)
		return -ENOMEM;
	s->passes = passes;
	for (enum pass_figure i = 0; i < FIGURE_ALL; i++) {
		double *values = array_room(s->values[i], s->n, sizeof(*values));

		if (!values)
			return -ENOMEM;
		s->values[i] = values;
	}
	return 0;
}

int series_add(struct pass_series *s, const struct result *pass, bool whole)
{
	double seconds = (double)pass->figures.elapsed_ns / (double)NS_PER_SEC;
	double ops = (double)tally_ops(&pass->figures.tally);
	bool known = pass->figures.known & FIGURES_LATENCY;

	if (!whole || ops <= 0 || seconds <= 0 || s->n == SERIES_MAX_PASSES) {
		s->left_out++;
		return 0;
	}
	if (grow(s)) {
		s->left_out++;
		return -ENOMEM;
	}
	for (enum pass_figure i = FIGURE_FIRST_PERCENTILE; i < FIGURE_ALL; i++)
		s->values[i][s->n] = known ? figure_of_latency(&pass->figures.latency, i) : NAN;
	s->values[FIGURE_FLUSH][s->n] =
		pass->figures.tally.flushes ?
			(double)pass->figures.tally.flush_ns / (double)pass->figures.tally.flushes :
			NAN;
	s->passes[s->n] = pass->pass;
	s->values[FIGURE_BANDWIDTH][s->n] = (double)tally_bytes(&pass->figures.tally) / seconds;
	s->values[FIGURE_IOPS][s->n] = ops / seconds;
	s->values[FIGURE_LATENCY][s->n] = (double)tally_busy_ns(&pass->figures.tally) / ops;
	s->n++;
	return 0;
}

double series_percent(const struct pass_series *s)
{
	double mean = stats_summarize(s->values[FIGURE_BANDWIDTH], s->n).mean;

	return mean > 0 ? 100 * stats_until_half_width(s->values[FIGURE_BANDWIDTH], s->n) / mean :
			  INFINITY;
}

bool series_is_known(const struct pass_series *s, double percent)
{
	return s->n >= PLAN_UNTIL_MIN_PASSES && series_percent(s) <= percent;
}

void series_report(const struct pass_series *s, struct report *report, bool combined,
		   uint64_t target)
{
	struct pass_statistics st = {
		.combined = combined,
		.target = target,
		.left_out = s->left_out,
		.n = s->n,
		.known = statistics_known(s->values, s->n),
		.passes = s->passes,
	};

	for (enum pass_figure i = 0; i < FIGURE_ALL; i++) {
		if (!statistics_has(&st, i))
			continue;
		st.values[i] = s->values[i];
		st.summary[i] = stats_summarize(s->values[i], s->n);
		st.stability[i] = stats_stability(s->values[i], s->n);
	}
	report_statistics(report, &st);
}

void series_free(struct pass_series *s)
{
	free(s->passes);
	for (enum pass_figure i = 0; i < FIGURE_ALL; i++)
		free(s->values[i]);
	*s = (struct pass_series){ 0 };
}
