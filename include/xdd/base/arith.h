/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Arithmetic on whole numbers. Pure; any thread.
 */
#ifndef XDD_BASE_ARITH_H
#define XDD_BASE_ARITH_H

#include <stdint.h>

/* Of 0 and a number it is that number. */
static inline uint64_t gcd(uint64_t a, uint64_t b)
{
	while (b) {
		const uint64_t rest = a % b;

		a = b;
		b = rest;
	}
	return a;
}

/*
 * Products of two 64-bit numbers, and sums of many, without overflow.
 */

typedef unsigned __int128 uint128;

#endif
