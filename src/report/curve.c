/*
 * The maximum, the knee and the goal of a curve: xdd/report/curve.h. Called by the command.
 */
#include "xdd/report/curve.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "xdd/report/finding.h"

/* A response time that falls by this much, and more than by chance, while the load rises. */
#define FALL 0.10
#define FALL_LEVEL 0.95

/* ---- the maximum ---- */

bool curve_find_maximum(struct curve *c, const struct sweep_results *r, size_t point)
{
	const struct sweep_point *p = &r->points[point];
	double *x = calloc(p->n + 1, sizeof(*x));
	const struct sweep_steadiness steady = sweep_steady(p);
	size_t n = x ? sweep_values(p, FIGURE_IOPS, x) : 0, from = 0;
	struct stats_summary s;

	c->max_point = point;
	c->steady_after = steady.after;
	if (steady.after) {
		from = steady.steady.after - STATS_STEADY_WINDOW;
		n = STATS_STEADY_WINDOW;
	}
	s = stats_summarize(x + from, n);
	c->maximum = n && s.mean > 0 ? s.mean : 0;
	c->percent = c->maximum > 0 ? 100 * s.half_width / s.mean : INFINITY;
	free(x);
	return c->maximum > 0;
}

/* ---- loads ---- */

bool curve_add_load(struct curve *c, const struct curve_load *load)
{
	size_t at = 0;

	while (at < c->n_loads && c->loads[at].share < load->share)
		at++;
	if (c->n_loads == CURVE_MAX_LOADS || (at < c->n_loads && c->loads[at].share <= load->share))
		return false;
	memmove(&c->loads[at + 1], &c->loads[at], (c->n_loads - at) * sizeof(c->loads[0]));
	c->loads[at] = *load;
	c->n_loads++;
	return true;
}

/* True if most rounds took longer than their arrivals: the queue grew. */
static bool most_are_late(const struct sweep_point *p)
{
	size_t n = 0;

	for (size_t i = 0; i < p->n; i++)
		n += p->rounds[i].findings >> FINDING_RATE & 1;
	return 2 * n > p->n;
}

static struct stats_summary response_summary(const struct sweep_point *p)
{
	double *x = calloc(p->n + 1, sizeof(*x));
	const struct stats_summary s =
		stats_summarize(x, x ? sweep_response_values(p, SWEEP_RESPONSE_MEAN, x) : 0);

	free(x);
	return s;
}

/*
 * A greater load without overload that has a lower mean response time, by more than chance, among
 * all loads: no queue has that, so something else was active. NULL: there is none.
 */
static const struct curve_load *find_lower(const struct curve *c, const struct sweep_results *r,
					   const struct curve_load *load)
{
	const struct stats_summary own = response_summary(&r->points[load->point]);
	const double level = 1 - (1 - FALL_LEVEL) / (double)(c->n_loads * c->n_loads);
	const struct curve_load *lowest = NULL;
	double least = 1 - FALL;

	for (size_t i = 0; i < c->n_loads; i++) {
		const struct sweep_point *p = &r->points[c->loads[i].point];
		struct stats_summary other;
		struct stats_ratio ratio;

		if (c->loads[i].share <= load->share || most_are_late(p))
			continue;
		other = response_summary(p);
		ratio = stats_compare(&own, 1, &other, 1, level);
		if (ratio.high < 1 && ratio.ratio < least) {
			least = ratio.ratio;
			lowest = &c->loads[i];
		}
	}
	return lowest;
}

struct curve_figures curve_figures(const struct curve *c, const struct sweep_results *r,
				   const struct curve_load *load)
{
	const struct sweep_point *p = &r->points[load->point];
	const struct sweep_mean response = sweep_response_mean(p, SWEEP_RESPONSE_MEAN);
	struct curve_figures f = { .offered = load->share * c->maximum,
				   .reached = sweep_mean(r, p, FIGURE_IOPS).mean,
				   .service_ns = sweep_mean(r, p, FIGURE_LATENCY).mean };

	f.queue = f.reached * response.mean / 1e9;
	f.in_service = f.reached * f.service_ns / 1e9;
	f.overloaded = most_are_late(p);
	f.drift = sweep_response_drift(p);
	f.disturbed_by = find_lower(c, r, load);
	return f;
}

/* ---- the knee ---- */

/*
 * A point with no more rounds than all points have. Those that the search for a goal adds come
 * after the knee is known, and a curve that is resumed must find the same one.
 */
static struct sweep_point first_rounds(const struct sweep_results *r, const struct curve_load *load)
{
	struct sweep_point p = r->points[load->point];

	p.n = p.n < r->least ? p.n : r->least;
	return p;
}

/* True if the knee may use this load. */
static bool counts(const struct sweep_results *r, const struct curve_load *load)
{
	const struct sweep_point p = first_rounds(r, load);

	/* Beyond the maximum a queue has no mean: it grows for as long as it is measured. */
	return !load->probe && load->share < 1 && p.n &&
	       sweep_response_mean(&p, SWEEP_RESPONSE_MEAN).n && !most_are_late(&p);
}

size_t curve_turn(const struct curve *c, const struct sweep_results *r)
{
	size_t best = SIZE_MAX;
	double least = INFINITY;

	for (size_t i = 0; i < c->n_loads; i++) {
		const struct curve_load *load = &c->loads[i];
		const struct sweep_point p = first_rounds(r, load);
		double ratio;

		if (!counts(r, load))
			continue;
		ratio = sweep_response_mean(&p, SWEEP_RESPONSE_MEAN).mean / load->share;
		if (ratio < least) {
			least = ratio;
			best = i;
		}
	}
	return best;
}

/* Rounds that all loads of the knee have with response times. */
static size_t common_rounds(const struct curve *c, const struct sweep_results *r)
{
	size_t least = SIZE_MAX;

	for (size_t i = 0; i < c->n_loads; i++) {
		const struct sweep_point p = first_rounds(r, &c->loads[i]);

		if (!counts(r, &c->loads[i]))
			continue;
		least = p.n < least ? p.n : least;
		for (size_t k = 0; k < least; k++) {
			if (!p.rounds[k].responded)
				least = k;
		}
	}
	return least == SIZE_MAX ? 0 : least;
}

struct curve_knee curve_knee(const struct curve *c, const struct sweep_results *r)
{
	const size_t rounds = common_rounds(c, r);
	double *shares = calloc(c->n_loads + 1, sizeof(*shares));
	double *responses = calloc(c->n_loads * rounds + 1, sizeof(*responses));
	struct curve_knee knee = { .why = "not known: there is no memory" };
	size_t n = 0;

	for (size_t i = 0; shares && responses && i < c->n_loads; i++) {
		const struct sweep_point *p = &r->points[c->loads[i].point];

		if (!counts(r, &c->loads[i]))
			continue;
		shares[n] = c->loads[i].share;
		for (size_t k = 0; k < rounds; k++)
			responses[n * rounds + k] = p->rounds[k].responses[SWEEP_RESPONSE_MEAN];
		n++;
	}
	if (shares && responses)
		knee = curve_knee_of(shares, responses, n, rounds);
	free(shares);
	free(responses);
	return knee;
}

/* ---- the goal ---- */

bool curve_goal_judges(const struct curve *c, const struct sweep_results *r,
		       const struct curve_load *load)
{
	const struct sweep_point *p = &r->points[load->point];

	return p->n && (most_are_late(p) || sweep_response_mean(p, c->goal.figure).n);
}

bool curve_goal_holds(const struct curve *c, const struct sweep_results *r,
		      const struct curve_load *load, bool *sure)
{
	const struct sweep_mean m = sweep_response_mean(&r->points[load->point], c->goal.figure);
	const double half = m.mean * m.percent / 100;

	*sure = m.n && fabs(m.mean - c->goal.limit_ns) > half;
	if (most_are_late(&r->points[load->point])) {
		*sure = true;
		return false;
	}
	return m.n && m.mean <= c->goal.limit_ns;
}

const struct curve_load *curve_goal_side(const struct curve *c, bool holds)
{
	const double share = holds ? c->goal.holds : c->goal.fails;

	for (size_t i = 0; i < c->n_loads; i++) {
		if (fabs(c->loads[i].share - share) <= 0)
			return &c->loads[i];
	}
	return NULL;
}

bool curve_goal_next(struct curve *c, const struct sweep_results *r, double *share)
{
	struct curve_goal *g = &c->goal;
	bool sure_low = true, sure_high = true;

	g->holds = 0;
	g->fails = INFINITY;
	g->unjudged = 0;
	for (size_t i = 0; i < c->n_loads; i++) {
		bool sure;

		if (!r->points[c->loads[i].point].n)
			continue;
		if (!curve_goal_judges(c, r, &c->loads[i])) {
			g->unjudged++;
			continue;
		}
		if (!curve_goal_holds(c, r, &c->loads[i], &sure)) {
			g->fails = c->loads[i].share;
			sure_high = sure;
			break;
		}
		g->holds = c->loads[i].share;
		sure_low = sure;
	}
	g->sure = sure_low && sure_high;
	g->disturbed = false;
	for (size_t i = 0; i < c->n_loads; i++)
		g->disturbed |= find_lower(c, r, &c->loads[i]) != NULL;
	*share = (g->holds + g->fails) / 2;
	return g->holds > 0 && g->fails < INFINITY &&
	       g->fails - g->holds > CURVE_RESOLUTION * g->holds;
}
