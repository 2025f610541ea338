/*
 * Zipf's distribution: rank k of n, from 1, has a probability proportional to 1 / k^theta, for any
 * theta above 0. A draw is a pure function of the sequence and its number.
 *
 * The ranks are cut into buckets: the first ones have a rank each, later ones an eighth of their
 * first rank. A draw chooses a bucket by its exact probability, and then a rank by rejection
 * sampling, which takes 1.1^theta attempts at most. So all differences to the distribution are
 * those of 53-bit numbers, and memory is 7 KiB for any n.
 *
 * Source of the sums: L. Euler and C. Maclaurin's formula. Pure functions; any thread.
 */
#ifndef XDD_BASE_ZIPF_H
#define XDD_BASE_ZIPF_H

#include <stdint.h>

#include "xdd/base/random.h"

#define ZIPF_BUCKETS_MAX 448
#define ZIPF_THETA_MAX 10

/* Const after zipf_init(), so threads may share it. */
struct zipf {
	double theta;
	uint32_t n_buckets;
	uint64_t first[ZIPF_BUCKETS_MAX + 1]; /* rank of each bucket; then the one after the last */
	uint64_t below[ZIPF_BUCKETS_MAX];     /* probability of the buckets before, times 2^64 */
};

/* Prepare draws of ranks 1 to `n`, up to 2^63. `theta` is above 0 and at most ZIPF_THETA_MAX. */
void zipf_init(struct zipf *z, uint64_t n, double theta);

/* Draw `n` of the sequence: a rank. */
uint64_t zipf_draw(const struct zipf *z, const struct random_sequence *sequence, uint64_t n);

#endif
