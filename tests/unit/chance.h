/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Random numbers of simulations, the same in every run. */
#ifndef XDD_TESTS_UNIT_CHANCE_H
#define XDD_TESTS_UNIT_CHANCE_H

#include <math.h>
#include <stdint.h>

static uint64_t drawn, chance_seed = 0x5eed;

/* Uniform between 0 and 1, neither included. */
static inline double uniform(void)
{
	uint64_t x = drawn++ * 0x9e3779b97f4a7c15ull + chance_seed;

	/* The finaliser of SplitMix64. */
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
	x ^= x >> 31;
	return ((double)(x >> 11) + 0.5) / 9007199254740992.0;
}

/* Standard normal, by Box and Muller. */
static inline double normal(void)
{
	double radius = sqrt(-2 * log(uniform()));

	return radius * cos(2 * M_PI * uniform());
}

#endif
