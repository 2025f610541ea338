/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The time to compute a random offset from its number, in nanoseconds. Run by hand;
 * doc/performance.md has the command and the results.
 *
 * 	offsets [<#slots>]
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "xdd/base/random.h"

#define COUNT 5000000
#define ROUNDS 5

static struct random_sequence sequence;
static struct permutation order;
static struct zipf zipf;
static uint64_t slots;

static double now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return 1e9 * (double)t.tv_sec + (double)t.tv_nsec;
}

static inline uint64_t draw(uint64_t n)
{
	return random_below(&sequence, n, slots);
}

static inline uint64_t once(uint64_t n)
{
	return permutation_at(&order, n);
}

static inline uint64_t hot(uint64_t n)
{
	return permutation_at(&order, zipf_draw(&zipf, &sequence, n) - 1);
}

/* The best of several rounds; each number waits for the one before it. */
#define MEASURE(name, call)                                    \
	static double name(void)                               \
	{                                                      \
		volatile uint64_t sink;                        \
		double best = 1e9;                             \
                                                               \
		for (int i = 0; i < ROUNDS; i++) {             \
			double start = now_ns(), took;         \
			uint64_t value = 0;                    \
                                                               \
			for (uint64_t n = 0; n < COUNT; n++)   \
				value = call(n + (value & 1)); \
			sink = value;                          \
			took = (now_ns() - start) / COUNT;     \
			best = took < best ? took : best;      \
		}                                              \
		(void)sink;                                    \
		return best;                                   \
	}

MEASURE(measure_draw, draw)
MEASURE(measure_once, once)
MEASURE(measure_zipf, hot)

int main(int argc, char **argv)
{
	const struct random_key key = { .seed = 72058, .pass = 1 };

	slots = argc > 1 ? strtoull(argv[1], NULL, 10) : 1000000000000;
	if (!slots || slots > PERMUTATION_MAX) {
		fprintf(stderr, "offsets: expected a number of slots\n");
		return 2;
	}
	sequence = random_sequence(&key);
	permutation_init(&order, &sequence, slots, 0);
	printf("-seek random       %5.1f ns\n", measure_draw());
	printf("-seek random once  %5.1f ns\n", measure_once());
	zipf_init(&zipf, slots, 1.1);
	printf("-seek zipf 1.1     %5.1f ns\n", measure_zipf());
	zipf_init(&zipf, slots, 0.5);
	printf("-seek zipf 0.5     %5.1f ns\n", measure_zipf());
	return 0;
}
