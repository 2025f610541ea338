/*
 * Philox4x32-10, the counter-based random generator that seeds random data: draw n of a sequence is
 * a pure function of (key, n).
 *
 * Data on disks depend on these numbers, and later versions have to verify them: neither the
 * generator nor its layout (philox.c) may change. Offsets and intervals come from the cheaper
 * random.h.
 *
 * Source: J. K. Salmon, M. A. Moraes, R. O. Dror, D. E. Shaw, "Parallel random numbers: as easy as
 * 1, 2, 3", SC'11. Pure functions; any thread.
 */
#ifndef XDD_BASE_PHILOX_H
#define XDD_BASE_PHILOX_H

#include <stdint.h>

/* Independent sequences under one seed. The values are part of the layout. */
enum philox_stream {
	PHILOX_STREAM_DATA = 2,	     /* seeds of the chunks of -datapattern random */
	PHILOX_STREAM_DUPLICATE = 3, /* the units that -datapattern dedupe repeats */
};

/* Names a sequence; two that differ in any field are independent. */
struct philox_key {
	uint64_t seed;
	uint16_t target;
	enum philox_stream stream;
};

/* The block function itself: `ctr` and `key` in, 128 random bits out. */
void philox_4x32(const uint32_t ctr[4], const uint32_t key[2], uint32_t out[4]);

/* 64 random bits: draw `n` of the sequence. */
uint64_t philox_u64(const struct philox_key *key, uint64_t n);

/*
 * A whole number uniform over 0 .. bound-1, without bias: draw `n` of the sequence. `bound` is at
 * least 1. (Multiply-and-reject: D. Lemire, "Fast random integer generation in an interval", 2019.)
 */
uint64_t philox_below(const struct philox_key *key, uint64_t n, uint64_t bound);

#endif
