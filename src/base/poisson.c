/*
 * A Poisson process by number; see the header. Called by the schedule of -throttle.
 *
 * Draws 2m and 2m + 1 belong to arrival m: to its beta variate if m is in the middle of a node, or
 * to its gamma variate if m is a power of two. Each m is one of these, once.
 */
#include "xdd/base/poisson.h"

#include <math.h>

#define TWO_PI 6.283185307179586476925

/* Uniform over the open interval from 0 to 1. */
static double uniform(uint64_t word)
{
	return ((double)(word >> 11) + 0.5) / 9007199254740992.0;
}

/* Further numbers of a draw that a rejection needs. */
static double next_uniform(uint64_t *state)
{
	*state += RANDOM_GOLDEN;
	return uniform(random_splitmix64(*state));
}

/* By the method of Box and Muller. */
static double next_normal(uint64_t *state)
{
	double r = sqrt(-2 * log(next_uniform(state)));

	return r * cos(TWO_PI * next_uniform(state));
}

/* The sum of `gaps` exponential gaps, at least 1. */
static double gamma_variate(double gaps, uint64_t state)
{
	const double d = gaps - 1.0 / 3, c = 1 / sqrt(9 * d);

	for (;;) {
		double x = next_normal(&state), u = next_uniform(&state);
		/* v - 1 of the source: near to 0 where there are many gaps. */
		double w = c * x * (3 + c * x * (3 + c * x));

		if (w > -1 && log(u) < x * x / 2 + d * (log1p(w) - w))
			return d * (1 + w);
	}
}

/* The share of the first half of 2 * `half` gaps. */
static double half_share(const struct random_sequence *draws, uint64_t middle, uint64_t half)
{
	double u = uniform(random_u64(draws, 2 * middle));
	double angle = TWO_PI * uniform(random_u64(draws, 2 * middle + 1));
	double r = sqrt(-expm1(log(u) * 2 / (2 * (double)half - 1)));

	return (1 + r * cos(angle)) / 2;
}

void poisson_init(struct poisson *p, const struct random_key *key)
{
	double sum;

	*p = (struct poisson){ .draws = random_sequence(key) };
	/* Arrival 1 is one gap after arrival 0, and arrival 2m is m gaps after arrival m. */
	for (unsigned i = 0; i <= POISSON_LEVELS; i++) {
		double gaps = i ? (double)(1ull << (i - 1)) : 1;

		sum = gamma_variate(gaps, random_u64(&p->draws, 2ull << i)) * POISSON_UNIT;
		p->power[i] = (i ? p->power[i - 1] : 0) + (uint64_t)(sum + 0.5);
	}
}

static unsigned log2_floor(uint64_t n)
{
	return 63 - (unsigned)__builtin_clzll(n);
}

/* The lowest node of the way that is kept which arrival `n`, above 0, is in. Sets p->level. */
static struct poisson_node begin_way(struct poisson *p, uint64_t n)
{
	const unsigned top = log2_floor(n);
	unsigned common = n == p->last ? 0 : log2_floor(n ^ p->last) + 1;

	if (p->last && log2_floor(p->last) == top) {
		if (p->level < common)
			p->level = common;
	} else {
		p->level = top;
		p->way[top] =
			(struct poisson_node){ p->power[top], p->power[top + 1] - p->power[top] };
	}
	p->last = n;
	return p->way[p->level];
}

uint64_t poisson_arrival(struct poisson *p, uint64_t n)
{
	struct poisson_node node;

	if (!n || n >= POISSON_END)
		return n ? UINT64_MAX : 0;
	node = begin_way(p, n);
	/* Until the node begins with arrival n. */
	while (n & ((1ull << p->level) - 1)) {
		uint64_t half = 1ull << --p->level, middle = (n & ~(half - 1)) | half;
		double share = half_share(&p->draws, middle, half);
		uint64_t first = (uint64_t)((double)node.sum * share + 0.5);

		if (first > node.sum)
			first = node.sum;
		if (n & half) {
			node.from += first;
			node.sum -= first;
		} else {
			node.sum = first;
		}
		p->way[p->level] = node;
	}
	return node.from;
}
