/*
 * The greatest common divisor. Pure; any thread.
 */
#ifndef XDD_BASE_GCD_H
#define XDD_BASE_GCD_H

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

#endif
