/*
 * Bytes of file formats: whole numbers as little-endian bytes, and a checksum. Pure functions; any
 * thread.
 */
#ifndef XDD_BASE_BYTES_H
#define XDD_BASE_BYTES_H

#include <stddef.h>
#include <stdint.h>

/*
 * Whole numbers at any address.
 */

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

/*
 * CRC-32C (Castagnoli, polynomial 0x1EDC6F41 reflected, as in RFC 3720 B.4), the checksum of the
 * blocks of a dump.
 */

/* The checksum `crc` (0 to begin with) continued with `size` further bytes. */
uint32_t crc32c(uint32_t crc, const void *data, size_t size);

#endif
