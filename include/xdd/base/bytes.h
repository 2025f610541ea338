/*
 * Whole numbers as little-endian bytes, at any address: for file formats. Pure functions; any
 * thread.
 */
#ifndef XDD_BASE_BYTES_H
#define XDD_BASE_BYTES_H

#include <stdint.h>

/* Store the low `n` bytes (1 to 8) of `value` at `p`. */
static inline void bytes_put(void *p, unsigned n, uint64_t value)
{
	unsigned char *b = p;

	for (unsigned i = 0; i < n; i++)
		b[i] = (unsigned char)(value >> 8 * i);
}

/* The number in the `n` bytes (1 to 8) at `p`. */
static inline uint64_t bytes_get(const void *p, unsigned n)
{
	const unsigned char *b = p;
	uint64_t value = 0;

	for (unsigned i = 0; i < n; i++)
		value |= (uint64_t)b[i] << 8 * i;
	return value;
}

/* The signed number, in two's complement, in the `n` bytes (1 to 8) at `p`. */
static inline int64_t bytes_get_signed(const void *p, unsigned n)
{
	unsigned spare = 64 - 8 * n;

	return (int64_t)(bytes_get(p, n) << spare) >> spare;
}

#endif
