/*
 * A counter-based random generator: draw n of a stream is a pure function of (key, counter), so any
 * thread can work out any operation without its predecessors, and the sequence is the same on every
 * machine, at every queue depth, in every run.
 *
 * The generator is Philox4x32-10: J. K. Salmon, M. A. Moraes, R. O. Dror, D. E. Shaw, "Parallel random
 * numbers: as easy as 1, 2, 3", SC'11. Pure functions; any thread.
 */
#ifndef XDD_BASE_RANDOM_H
#define XDD_BASE_RANDOM_H

#include <stdint.h>

/* Independent sequences under one seed. */
enum random_stream {
	RANDOM_STREAM_LOCATION,
	RANDOM_STREAM_DIRECTION,
	RANDOM_STREAM_DATA,	 /* of -datapattern: what a chunk holds */
	RANDOM_STREAM_DUPLICATE, /* of -datapattern dedupe: which unit is repeated */
	RANDOM_STREAM_PACE,
};

/* What a sequence is keyed by; two that differ in any field are independent. */
struct random_key {
	uint64_t seed;
	uint32_t pass;
	uint16_t target;
	enum random_stream stream;
};

/*
 * What splitmix64 makes of a state: output n, from 1, of the generator that begins at `seed` is that of
 * seed + n * RANDOM_GOLDEN. (S. Vigna, public domain, prng.di.unimi.it.)
 */
#define RANDOM_GOLDEN 0x9e3779b97f4a7c15ull
static inline uint64_t random_splitmix64(uint64_t state)
{
	state = (state ^ state >> 30) * 0xbf58476d1ce4e5b9ull;
	state = (state ^ state >> 27) * 0x94d049bb133111ebull;
	return state ^ state >> 31;
}

/* The block function itself: `ctr` and `key` in, 128 random bits out. */
void random_philox4x32(const uint32_t ctr[4], const uint32_t key[2], uint32_t out[4]);

/* 64 random bits: draw `n` of the sequence. */
uint64_t random_u64(const struct random_key *key, uint64_t n);

/*
 * A whole number uniform over 0 .. bound-1, without bias: draw `n` of the sequence. `bound` is at
 * least 1. (Multiply-and-reject: D. Lemire, "Fast random integer generation in an interval", 2019.)
 */
uint64_t random_below(const struct random_key *key, uint64_t n, uint64_t bound);

#endif
