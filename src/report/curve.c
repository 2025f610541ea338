/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The maximum, the knee and the goal of a curve: xdd/report/sweep.h. Called by the command.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "xdd/report/result.h"
#include "xdd/report/sweep.h"

/*
 * The reciprocal of the response time, at all loads together, is a polynomial of the load; the
 * knee is where the load times this polynomial has its greatest value, so its derivative is zero
 * there. The derivative is linear in the reciprocals, which makes its scatter from round to round
 * easy to know: each round contributes its jackknife pseudo-values, whose mean is free of most of
 * the bias of a reciprocal (M. H. Quenouille, Biometrika 43 (1956) 353). The interval are the
 * loads at which the derivative may be zero: E. C. Fieller, J. Royal Statist. Soc. B 16 (1954)
 * 175.
 */

#define COEFFICIENTS 5
#define STEPS 1000 /* of the search between the least and the greatest load */
#define HALVINGS 60

/*
 * Probability that the knee is below and above the interval, in two tails. A mean response time of
 * few rounds is too small more often than too great, and the knee too high; the difference makes up
 * for that. tests/unit/test_curve.c holds the coverage.
 */
#define TAILS_BELOW 0.025
#define TAILS_ABOVE 0.06

static const char below_all[] = "not known: it is below the least load";

struct knee_fit {
	double low, high; /* loads, which are scaled to -1 .. 1 */
	size_t n;	  /* of the coefficients */
	size_t rounds;
	double (*factors)[COEFFICIENTS]; /* of each round; owned */
};

/* Solve the `n` equations whose rows are `m`, by elimination; the solution goes to `x`. */
static void solve(double m[COEFFICIENTS][COEFFICIENTS + 1], size_t n, double *x)
{
	for (size_t i = 0; i < n; i++) {
		size_t pivot = i;

		for (size_t k = i + 1; k < n; k++) {
			if (fabs(m[k][i]) > fabs(m[pivot][i]))
				pivot = k;
		}
		for (size_t j = 0; j <= n; j++) {
			const double other = m[pivot][j];

			m[pivot][j] = m[i][j];
			m[i][j] = other;
		}
		for (size_t k = 0; k < n; k++) {
			const double factor = k == i ? 0 : m[k][i] / m[i][i];

			for (size_t j = i; j <= n; j++)
				m[k][j] -= factor * m[i][j];
		}
	}
	for (size_t i = 0; i < n; i++)
		x[i] = m[i][n] / m[i][i];
}

static double scaled(const struct knee_fit *fit, double share)
{
	return (2 * share - fit->low - fit->high) / (fit->high - fit->low);
}

/* Least squares over all loads. */
static void fit_round(struct knee_fit *fit, size_t round, const double *shares, const double *y,
		      size_t n)
{
	double m[COEFFICIENTS][COEFFICIENTS + 1] = { 0 };

	for (size_t i = 0; i < n; i++) {
		const double u = scaled(fit, shares[i]);

		for (size_t k = 0; k < fit->n; k++) {
			for (size_t j = 0; j < fit->n; j++)
				m[k][j] += pow(u, (double)(k + j));
			m[k][fit->n] += y[i] * pow(u, (double)k);
		}
	}
	solve(m, fit->n, fit->factors[round]);
}

/* Of the reciprocal of the mean of `x`, leaving out value `left`. A single value stands for all. */
static double pseudo_value(const double *x, size_t n, size_t left)
{
	double sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += x[i];
	if (n == 1)
		return 1 / sum;
	return (double)n * (double)n / sum - (double)(n - 1) * (double)(n - 1) / (sum - x[left]);
}

/* False: no memory. */
static bool fit_rounds(struct knee_fit *fit, const double *shares, const double *responses,
		       size_t n)
{
	double *y = calloc(n, sizeof(*y));

	fit->factors = calloc(fit->rounds, sizeof(*fit->factors));
	for (size_t k = 0; y && fit->factors && k < fit->rounds; k++) {
		for (size_t i = 0; i < n; i++)
			y[i] = pseudo_value(responses + i * fit->rounds, fit->rounds, k);
		fit_round(fit, k, shares, y, n);
	}
	free(y);
	return y && fit->factors;
}

/* Power at a load: the mean over the rounds. */
static double power(const struct knee_fit *fit, double share)
{
	const double u = scaled(fit, share);
	double sum = 0;

	for (size_t k = 0; k < fit->rounds; k++) {
		double y = 0;

		for (size_t i = fit->n; i-- > 0;)
			y = y * u + fit->factors[k][i];
		sum += y;
	}
	return share * sum / (double)fit->rounds;
}

/* Derivative of the power of a round. */
static double slope_of_round(const struct knee_fit *fit, size_t round, double share)
{
	const double u = scaled(fit, share);
	double y = 0, dy = 0;

	for (size_t i = fit->n; i-- > 0;) {
		dy = dy * u + y;
		y = y * u + fit->factors[round][i];
	}
	return y + share * dy * 2 / (fit->high - fit->low);
}

/* The derivative of the power plus `errors` times its standard error. */
static double slope(const struct knee_fit *fit, double share, double errors)
{
	const double n = (double)fit->rounds;
	double mean = 0, squares = 0;

	for (size_t k = 0; k < fit->rounds; k++)
		mean += slope_of_round(fit, k, share) / n;
	if (fit->rounds < 2)
		return mean;
	for (size_t k = 0; k < fit->rounds; k++) {
		const double d = slope_of_round(fit, k, share) - mean;

		squares += d * d;
	}
	return mean + errors * sqrt(squares / (n - 1) / n);
}

/* Where slope() becomes 0 between `rising`, where it is above 0, and `falling`, where it is not. */
static double crossing(const struct knee_fit *fit, double rising, double falling, double errors)
{
	for (int i = 0; i < HALVINGS; i++) {
		const double middle = (rising + falling) / 2;

		if (slope(fit, middle, errors) > 0)
			rising = middle;
		else
			falling = middle;
	}
	return (rising + falling) / 2;
}

/* Load number `i` of the search. */
static double step_at(const struct knee_fit *fit, size_t i)
{
	return fit->low + (fit->high - fit->low) * (double)i / STEPS;
}

/* The interval around step `best` of the search. */
static void find_interval(const struct knee_fit *fit, size_t best, struct curve_knee *knee)
{
	const double freedom = (double)(fit->rounds - 1);
	const double below = -stats_t_quantile(TAILS_BELOW, freedom),
		     above = stats_t_quantile(TAILS_ABOVE, freedom);
	size_t low = best, high = best;

	while (low > 0 && slope(fit, step_at(fit, low), below) <= 0)
		low--;
	while (high < STEPS && slope(fit, step_at(fit, high), above) > 0)
		high++;
	knee->low = 0;
	if (slope(fit, step_at(fit, low), below) > 0)
		knee->low = crossing(fit, step_at(fit, low), knee->share, below);
	knee->known = slope(fit, step_at(fit, high), above) <= 0;
	knee->high = crossing(fit, knee->share, step_at(fit, high), above);
}

static void find_knee(const struct knee_fit *fit, struct curve_knee *knee)
{
	size_t best = 0;

	for (size_t i = 1; i <= STEPS; i++) {
		if (power(fit, step_at(fit, i)) > power(fit, step_at(fit, best)))
			best = i;
	}
	if (!best) {
		knee->why = below_all;
		return;
	}
	knee->known = best < STEPS;
	knee->share = step_at(fit, best);
	if (knee->known)
		knee->share = crossing(fit, step_at(fit, best - 1), step_at(fit, best + 1), 0);
	if (knee->known && fit->rounds >= CURVE_KNEE_ROUNDS_MIN)
		find_interval(fit, best, knee);
	if (knee->known)
		return;
	*knee = (struct curve_knee){ .low = NAN, .high = NAN, .none_to = fit->high };
	knee->why = "none up to the greatest load without overload: throughput divided by mean "
		    "response time does not fall by more than its error";
}

/* True if the measured power is greatest at the least load. */
static bool is_first_best(const double *shares, const double *responses, size_t n, size_t rounds)
{
	double least = INFINITY, first = 0;

	for (size_t i = 0; i < n; i++) {
		double sum = 0;

		for (size_t k = 0; k < rounds; k++)
			sum += responses[i * rounds + k] / shares[i];
		first = i ? first : sum;
		least = fmin(least, sum);
	}
	return first <= least;
}

struct curve_knee curve_knee_of(const double *shares, const double *responses, size_t n,
				size_t rounds)
{
	struct curve_knee knee = { .low = NAN, .high = NAN };
	struct knee_fit fit = { .n = n - 1, .rounds = rounds };

	if (n < 3 || !rounds) {
		knee.why = "not known: there are less than three loads without overload";
		return knee;
	}
	fit.low = shares[0];
	fit.high = shares[n - 1];
	fit.n = fit.n < 3 ? 3 : fit.n > COEFFICIENTS ? COEFFICIENTS : fit.n;
	if (is_first_best(shares, responses, n, rounds))
		knee.why = below_all;
	else if (fit_rounds(&fit, shares, responses, n))
		find_knee(&fit, &knee);
	else
		knee.why = "not known: there is no memory";
	free(fit.factors);
	return knee;
}

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
		n += p->rounds[i].findings >> RULE_RATE & 1;
	return 2 * n > p->n;
}

static struct stats_summary response_summary(const struct sweep_point *p)
{
	double *x = calloc(p->n + 1, sizeof(*x));
	const struct stats_summary s =
		stats_summarize(x, x ? sweep_values(p, FIGURE_RESPONSE, x) : 0);

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
	const struct sweep_mean response = sweep_mean(r, p, FIGURE_RESPONSE);
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
	return !load->probe && load->share < 1 && p.n && sweep_mean(r, &p, FIGURE_RESPONSE).n &&
	       !most_are_late(&p);
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
		ratio = sweep_mean(r, &p, FIGURE_RESPONSE).mean / load->share;
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
			responses[n * rounds + k] = p->rounds[k].values[FIGURE_RESPONSE];
		n++;
	}
	if (shares && responses)
		knee = curve_knee_of(shares, responses, n, rounds);
	free(shares);
	free(responses);
	return knee;
}

/* ---- the goal ---- */

/*
 * True if the goal can be judged at a load: each round has enough operations for the figure, or
 * most rounds end late.
 */
static bool curve_goal_judges(const struct curve *c, const struct sweep_results *r,
			      const struct curve_load *load)
{
	const struct sweep_point *p = &r->points[load->point];

	return p->n && (most_are_late(p) || sweep_mean(r, p, c->goal.figure).n);
}

bool curve_goal_holds(const struct curve *c, const struct sweep_results *r,
		      const struct curve_load *load, bool *sure)
{
	const struct sweep_mean m = sweep_mean(r, &r->points[load->point], c->goal.figure);
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
