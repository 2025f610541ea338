/*
 * The maximum, the knee and the goal of a curve: xdd/report/curve.h. Called by the command.
 */
#include "xdd/report/curve.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "xdd/base/random.h"
#include "xdd/report/finding.h"

#define WINDOW 6 /* loads that the fit takes */
#define DEGREE 3
#define STEPS 400 /* of the search between two loads; the greatest is then refined */
#define SAMPLES 1000

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
	f.overloaded = load->share > 1 || most_are_late(p);
	f.steady_after = sweep_response_steady(p).after;
	f.steady_known = response.n >= STATS_STEADY_WINDOW;
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

struct polynomial {
	double middle, half; /* x is scaled to -1 .. 1 */
	double factors[DEGREE + 1];
	size_t n;
};

/* Solve the `n` equations whose rows are `m`, by elimination; the solution goes to `x`. */
static void solve(double m[DEGREE + 1][DEGREE + 2], size_t n, double *x)
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

/* Least squares. */
static struct polynomial fit(const double *x, const double *y, size_t n)
{
	struct polynomial p = { .middle = (x[0] + x[n - 1]) / 2,
				.half = (x[n - 1] - x[0]) / 2,
				.n = n > DEGREE ? DEGREE + 1 : n };
	double m[DEGREE + 1][DEGREE + 2] = { 0 };

	for (size_t i = 0; i < n; i++) {
		const double u = (x[i] - p.middle) / p.half;

		for (size_t k = 0; k < p.n; k++) {
			for (size_t j = 0; j < p.n; j++)
				m[k][j] += pow(u, (double)(k + j));
			m[k][p.n] += y[i] * pow(u, (double)k);
		}
	}
	solve(m, p.n, p.factors);
	return p;
}

/* The load times the fit of the reciprocal of the response time. */
static double power(const struct polynomial *p, double x)
{
	const double u = (x - p->middle) / p->half;
	double y = 0;

	for (size_t i = p->n; i-- > 0;)
		y = y * u + p->factors[i];
	return x * y;
}

/* The load of greatest power between `low` and `high`. */
static double greatest(const struct polynomial *p, double low, double high)
{
	const double step = (high - low) / STEPS;
	double at = low, before, after, bend;

	for (int i = 1; i <= STEPS; i++) {
		if (power(p, low + i * step) > power(p, at))
			at = low + i * step;
	}
	if (at - step < low || at + step > high)
		return at;
	before = power(p, at - step);
	after = power(p, at + step);
	bend = before - 2 * power(p, at) + after;
	return bend < 0 ? at + step * (before - after) / (2 * bend) : at;
}

/* The knee by mean response times; `*best` is the load next to it. */
static double knee_of_means(const double *shares, const double *means, size_t n, size_t *best)
{
	const size_t window = n < WINDOW ? n : WINDOW;
	double y[WINDOW];
	struct polynomial p;
	size_t from;

	*best = 0;
	for (size_t i = 1; i < n; i++) {
		if (means[i] / shares[i] < means[*best] / shares[*best])
			*best = i;
	}
	from = *best > window / 2 ? *best - window / 2 : 0;
	if (from > n - window)
		from = n - window;
	for (size_t i = 0; i < window; i++)
		y[i] = 1 / means[from + i];
	p = fit(shares + from, y, window);
	return greatest(&p, shares[*best ? *best - 1 : 0],
			shares[*best + 1 < n ? *best + 1 : n - 1]);
}

/* Means over the rounds that `draw` chooses; NULL: over each once. */
static void means_of(const double *responses, size_t n, size_t rounds, const size_t *draw,
		     double *means)
{
	for (size_t i = 0; i < n; i++) {
		means[i] = 0;
		for (size_t k = 0; k < rounds; k++)
			means[i] += responses[i * rounds + (draw ? draw[k] : k)] / (double)rounds;
	}
}

/* Standard error of the knee, by the bootstrap over rounds. */
static double knee_error(const double *shares, const double *responses, size_t n, size_t rounds,
			 uint64_t seed)
{
	const struct random_key key = { .seed = seed, .stream = RANDOM_STREAM_REORDER };
	const struct random_sequence sequence = random_sequence(&key);
	size_t *draw = calloc(rounds, sizeof(*draw)), best;
	double *means = calloc(n, sizeof(*means)), sum = 0, squares = 0, first = 0;

	for (uint64_t i = 0; draw && means && i < SAMPLES; i++) {
		double knee;

		for (size_t k = 0; k < rounds; k++)
			draw[k] = (size_t)random_below(&sequence, i * rounds + k, rounds);
		means_of(responses, n, rounds, draw, means);
		knee = knee_of_means(shares, means, n, &best);
		first = i ? first : knee;
		sum += knee - first;
		squares += (knee - first) * (knee - first);
	}
	free(draw);
	free(means);
	squares = squares / SAMPLES - sum / SAMPLES * (sum / SAMPLES);
	return sqrt(squares > 0 ? squares : 0);
}

struct curve_knee curve_knee_of(const double *shares, const double *responses, size_t n,
				size_t rounds, uint64_t seed)
{
	struct curve_knee knee = { .low = NAN, .high = NAN };
	double *means = calloc(n + 1, sizeof(*means));
	size_t best = 0;
	double half;

	if (!means || n < 3 || !rounds) {
		knee.why = "there are less than three loads without overload";
		free(means);
		return knee;
	}
	means_of(responses, n, rounds, NULL, means);
	knee.share = knee_of_means(shares, means, n, &best);
	free(means);
	knee.known = best && best + 1 < n;
	if (!knee.known)
		knee.why = best ? "it is above the greatest load without overload" :
				  "it is below the least load";
	if (!knee.known || rounds < CURVE_KNEE_ROUNDS_MIN)
		return knee;
	/* The bootstrap draws from the sample, whose variance is smaller by (n - 1) / n. */
	half = knee_error(shares, responses, n, rounds, seed) *
	       sqrt((double)rounds / (double)(rounds - 1)) *
	       stats_t_quantile(1 - STATS_LEVEL, (double)(rounds - 1));
	knee.low = knee.share - half > 0 ? knee.share - half : 0;
	/* There is no more than the maximum. */
	knee.high = knee.share + half < 1 || knee.share >= 1 ? knee.share + half : 1;
	return knee;
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
	struct curve_knee knee = { .why = "there is no memory" };
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
		knee = curve_knee_of(shares, responses, n, rounds, r->seed);
	free(shares);
	free(responses);
	return knee;
}

/* ---- the goal ---- */

bool curve_goal_holds(const struct curve *c, const struct sweep_results *r,
		      const struct curve_load *load, bool *sure)
{
	const struct sweep_mean m = sweep_response_mean(&r->points[load->point], c->goal.figure);
	const double half = m.mean * m.percent / 100;

	*sure = m.n && fabs(m.mean - c->goal.limit_ns) > half;
	if (curve_figures(c, r, load).overloaded) {
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
	for (size_t i = 0; i < c->n_loads; i++) {
		bool sure;

		if (!r->points[c->loads[i].point].n)
			continue;
		if (!curve_goal_holds(c, r, &c->loads[i], &sure)) {
			g->fails = c->loads[i].share;
			sure_high = sure;
			break;
		}
		g->holds = c->loads[i].share;
		sure_low = sure;
	}
	g->sure = sure_low && sure_high;
	*share = (g->holds + g->fails) / 2;
	return g->holds > 0 && g->fails < INFINITY &&
	       g->fails - g->holds > CURVE_RESOLUTION * g->holds;
}
