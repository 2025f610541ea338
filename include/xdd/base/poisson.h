/*
 * A Poisson process of rate 1 by number: the time of arrival n is a pure function of (key, n). It
 * is the sum of n independent exponential gaps of mean 1, and arrival 0 is at time 0.
 *
 * The sum of 2a gaps has a gamma distribution, and the share of the first a of them in it has the
 * distribution Beta(a, a) and does not depend on the sum (L. Devroye, "Non-Uniform Random Variate
 * Generation", 1986, chapter IX). So arrivals 1, 2, 4, 8 ... are sums of gamma variates, and what
 * lies between two of them is halved until arrival n is reached, each time at a beta variate that
 * belongs to the arrival in the middle. That takes log2(n) steps and no predecessors; a struct
 * poisson keeps the last way, so that the next numbers take two steps on average.
 *
 * Gamma variates: G. Marsaglia, W. W. Tsang, "A simple method for generating gamma variables", ACM
 * TOMS 26, 2000. Symmetric beta variates: G. Ulrich, "Computer generation of distributions on the
 * m-sphere", Applied Statistics 33, 1984. Both are exact; what is left is rounding: times are whole
 * numbers of 2^-16 gaps, and never descend.
 */
#ifndef XDD_BASE_POISSON_H
#define XDD_BASE_POISSON_H

#include <stdint.h>

#include "xdd/base/random.h"

/* Arrivals from this one on are at UINT64_MAX. */
#define POISSON_LEVELS 47
#define POISSON_END (1ull << POISSON_LEVELS)

/* Of the mean gap: the unit of times. */
#define POISSON_UNIT (1u << 16)

/* Gaps of which the sum is known: those before arrival `from`. All in units. */
struct poisson_node {
	uint64_t from; /* time of the first arrival */
	uint64_t sum;  /* of the gaps from there */
};

/* A process and the last way through it. Owned by one thread; no memory to free. */
struct poisson {
	struct random_sequence draws;
	uint64_t power[POISSON_LEVELS + 1]; /* times of arrivals 1, 2, 4, 8 ... */
	uint64_t last;			    /* the way that is kept is that to this arrival */
	unsigned level;			    /* and has the nodes of 2^level gaps and more */
	struct poisson_node way[POISSON_LEVELS];
};

/* Set up the process that `key` names. Takes a few microseconds. */
void poisson_init(struct poisson *p, const struct random_key *key);

/* The time of arrival `n`, in units; the same in whatever order arrivals are asked for. */
uint64_t poisson_arrival(struct poisson *p, uint64_t n);

#endif
