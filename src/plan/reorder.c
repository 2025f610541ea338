/*
 * A random cycle of the numbers below n, without a table: each number has a position by a Feistel
 * network, and its successor is the number at the next position. Called by feature_layout.c.
 */
#include "plan/reorder.h"

#include "xdd/base/random.h"

#define ROUNDS 8

/* A permutation of the numbers of 2 * bits bits. */
struct network {
	struct random_sequence sequence;
	unsigned bits;
	uint64_t mask;
};

static uint64_t mix(const struct network *w, unsigned round, uint64_t half)
{
	return random_u64(&w->sequence, half * ROUNDS + round) & w->mask;
}

static uint64_t forward(const struct network *w, uint64_t x)
{
	uint64_t high = x >> w->bits, low = x & w->mask;

	for (unsigned round = 0; round < ROUNDS; round++) {
		uint64_t next = high ^ mix(w, round, low);

		high = low;
		low = next;
	}
	return high << w->bits | low;
}

static uint64_t backward(const struct network *w, uint64_t x)
{
	uint64_t high = x >> w->bits, low = x & w->mask;

	for (unsigned round = ROUNDS; round-- > 0;) {
		uint64_t before = low ^ mix(w, round, high);

		low = high;
		high = before;
	}
	return high << w->bits | low;
}

uint64_t reorder_next(uint64_t seed, uint64_t n, uint64_t i)
{
	struct random_key key = { .seed = seed, .pass = 1, .stream = RANDOM_STREAM_REORDER };
	struct network w = { .sequence = random_sequence(&key), .bits = 1 };

	while (n > 1ull << 2 * w.bits)
		w.bits++;
	w.mask = (1ull << w.bits) - 1;

	/* Fewer than three of four results are too large: repeating ends, and inverts as well. */
	do
		i = forward(&w, i);
	while (i >= n);
	i = (i + 1) % n;
	do
		i = backward(&w, i);
	while (i >= n);
	return i;
}
