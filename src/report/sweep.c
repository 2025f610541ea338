/*
 * The results of a sweep in memory: xdd/report/sweep.h. Called by the command.
 */
#include "xdd/report/sweep.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "xdd/base/memory.h"

#define SEEDS (UINT64_C(1) << 31)

int sweep_results_begin(struct sweep_results *r)
{
	r->points = calloc(r->vary->n_points, sizeof(*r->points));
	return r->points ? 0 : -ENOMEM;
}

void sweep_results_free(struct sweep_results *r)
{
	for (size_t i = 0; r->points && i < r->vary->n_points; i++)
		free(r->points[i].rounds);
	free(r->points);
	r->points = NULL;
}

int sweep_results_add(struct sweep_results *r, const struct sweep_round *round)
{
	struct sweep_point *p = &r->points[round->point];
	struct sweep_round *rounds = array_room(p->rounds, p->n, sizeof(*rounds));

	if (!rounds)
		return -ENOMEM;
	p->rounds = rounds;
	rounds[p->n++] = *round;
	p->elapsed_ns += round->elapsed_ns;
	if (!p->status)
		p->status = round->status;
	return 0;
}

uint64_t sweep_round_seed(const struct sweep_results *r, uint64_t round)
{
	return (r->seed + round) % SEEDS;
}

/* `n`, or 0 if one of the values is not known: the mean of the others would be of other rounds. */
static size_t all_known(const double *x, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (isnan(x[i]))
			return 0;
	}
	return n;
}

size_t sweep_values(const struct sweep_point *p, enum pass_figure figure, double *x)
{
	size_t n = 0;

	for (size_t i = 0; i < p->n; i++) {
		if (p->rounds[i].known)
			x[n++] = p->rounds[i].values[figure];
	}
	return all_known(x, n);
}

const char *sweep_response_name(enum sweep_response which)
{
	static const char *const names[SWEEP_RESPONSES] = {
		[SWEEP_RESPONSE_MEAN] = "response",    [SWEEP_RESPONSE_P50] = "response_p50",
		[SWEEP_RESPONSE_P99] = "response_p99", [SWEEP_RESPONSE_P999] = "response_p99.9",
		[SWEEP_RESPONSE_MAX] = "response_max",
	};

	return names[which];
}

size_t sweep_response_values(const struct sweep_point *p, enum sweep_response which, double *x)
{
	size_t n = 0;

	for (size_t i = 0; i < p->n; i++) {
		if (p->rounds[i].responded)
			x[n++] = p->rounds[i].responses[which];
	}
	return all_known(x, n);
}

/* `until`: the series ended once its mean was known. */
static struct sweep_mean mean_of(const double *x, size_t n, bool until)
{
	struct sweep_mean m = { .n = n, .mean = NAN, .percent = INFINITY };
	struct stats_summary s;
	double half;

	if (!n)
		return m;
	s = stats_summarize(x, n);
	half = until ? stats_until_half_width(x, n) : s.half_width;
	m.mean = s.mean;
	m.percent = s.mean > 0 ? 100 * half / s.mean : INFINITY;
	return m;
}

struct sweep_mean sweep_response_mean(const struct sweep_point *p, enum sweep_response which)
{
	double *x = calloc(p->n + 1, sizeof(*x));
	const struct sweep_mean m = mean_of(x, x ? sweep_response_values(p, which, x) : 0, false);

	free(x);
	return m;
}

struct sweep_mean sweep_mean(const struct sweep_results *r, const struct sweep_point *p,
			     enum pass_figure figure)
{
	double *x = calloc(p->n + 1, sizeof(*x));
	const struct sweep_mean m =
		mean_of(x, x ? sweep_values(p, figure, x) : 0, r->until_percent > 0);

	free(x);
	return m;
}

struct sweep_mean sweep_column_mean(const struct sweep_results *r, const struct sweep_point *p,
				    size_t i)
{
	double *x = calloc(p->n + 1, sizeof(*x));
	struct sweep_mean m;
	size_t n = 0;

	for (size_t k = 0; x && k < p->n; k++) {
		if (i < p->rounds[k].n_columns && !isnan(p->rounds[k].columns[i]))
			x[n++] = p->rounds[k].columns[i];
	}
	m = mean_of(x, n, r->until_percent > 0);
	free(x);
	return m;
}

struct sweep_steadiness sweep_steady(const struct sweep_point *p)
{
	double *x = calloc(p->n + 1, sizeof(*x));
	const size_t n = x ? sweep_values(p, FIGURE_BANDWIDTH, x) : 0;
	struct sweep_steadiness s = { .steady = stats_steady(x, n) };
	size_t known = 0;

	for (size_t i = 0; s.steady.reached && known < s.steady.after && i < p->n; i++) {
		known += p->rounds[i].known;
		s.after = p->rounds[i].round;
	}
	free(x);
	return s;
}

struct stats_drift sweep_response_drift(const struct sweep_point *p)
{
	double *x = calloc(p->n + 1, sizeof(*x));
	const struct stats_drift d =
		stats_drift(x, x ? sweep_response_values(p, SWEEP_RESPONSE_MEAN, x) : 0);

	free(x);
	return d;
}
