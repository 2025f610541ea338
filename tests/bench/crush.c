/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Statistical tests of the random generator of offsets by TestU01, which is not part of Debian. Run
 * by hand; doc/performance.md has the command and the results.
 *
 * 	crush STREAM HALF [crush]
 *
 * STREAM is one of the names below; HALF says which 32 bits of a draw are tested: hi, lo, revhi and
 * revlo (their bits in the reverse order), or both (one after the other). SmallCrush is run, or
 * Crush with a third word.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <testu01/bbattery.h>
#include <testu01/swrite.h>
#include <testu01/unif01.h>

#include "xdd/base/random.h"

#define SEED 72058
#define SEQUENCES_MAX 1024

static struct random_sequence sequences[SEQUENCES_MAX];
static uint64_t n_sequences = 1, step = 1, counter;

static struct random_sequence of(uint64_t seed, uint32_t pass, uint16_t target, unsigned stream)
{
	const struct random_key key = { seed, pass, target, (enum random_stream)stream };

	return random_sequence(&key);
}

/* Draws of several sequences in turns. */
static uint64_t next_interleaved(void)
{
	uint64_t i = counter++;

	return random_u64(&sequences[i % n_sequences], i / n_sequences * step);
}

static uint64_t next_bounded(void)
{
	uint64_t i = counter++, high = random_below(sequences, i, 1ull << 32);

	return high << 32 | random_below(sequences, ~i, 1ull << 32);
}

/* Draw 0 of as many keys as are needed. */
static uint64_t next_first(struct random_sequence s)
{
	return random_u64(&s, 0);
}

static uint64_t next_pass(void)
{
	uint64_t i = counter++;

	return next_first(of(SEED, (uint32_t)i, (uint16_t)(i >> 32), 0));
}

static uint64_t next_target(void)
{
	uint64_t i = counter++;

	return next_first(of(SEED, (uint32_t)(i >> 16), (uint16_t)i, 0));
}

static uint64_t next_seed(void)
{
	return next_first(of(counter++, 1, 0, 0));
}

/* Gray code: each seed differs from the one before in one bit. */
static uint64_t next_gray_seed(void)
{
	uint64_t i = counter++;

	return next_first(of((i ^ i >> 1) << 20, 1, 0, 0));
}

static const struct stream {
	const char *name;
	uint64_t (*next)(void);
	uint64_t n_sequences;
	uint64_t step;
} streams[] = {
	{ "plain", next_interleaved, 1, 1 },
	{ "bounded", next_bounded, 1, 1 },
	{ "stride16", next_interleaved, 1, 1 << 16 },
	{ "stride32", next_interleaved, 1, 1ull << 32 },
	/* The inverse of RANDOM_GOLDEN: the states are 0, 1, 2 and so on. */
	{ "inverse", next_interleaved, 1, 0xf1de83e19937733d },
	{ "passes", next_interleaved, 1024, 1 },
	{ "targets", next_interleaved, 1024, 1 },
	{ "kinds", next_interleaved, 3, 1 },
	{ "seedbits", next_interleaved, 65, 1 },
	{ "seeds", next_interleaved, 64, 1 },
	{ "first-pass", next_pass, 1, 1 },
	{ "first-target", next_target, 1, 1 },
	{ "first-seed", next_seed, 1, 1 },
	{ "first-gray", next_gray_seed, 1, 1 },
};

static void set_sequences(const char *name)
{
	for (unsigned i = 0; i < SEQUENCES_MAX; i++) {
		if (!strcmp(name, "passes"))
			sequences[i] = of(SEED, i + 1, 0, 0);
		else if (!strcmp(name, "targets"))
			sequences[i] = of(SEED, 1, (uint16_t)i, 0);
		else if (!strcmp(name, "kinds"))
			sequences[i] = of(SEED, 1, 0, i);
		else if (!strcmp(name, "seedbits"))
			sequences[i] = of(i ? SEED ^ 1ull << (i - 1) % 64 : SEED, 1, 0, 0);
		else if (!strcmp(name, "seeds"))
			sequences[i] = of(i, 1, 0, 0);
		else
			sequences[i] = of(SEED, 1, 0, 0);
	}
}

static const struct stream *stream;
static const char *half;

static uint64_t reversed(uint64_t bits)
{
	uint64_t result = 0;

	for (int i = 0; i < 64; i++)
		result |= (bits >> i & 1) << (63 - i);
	return result;
}

static unsigned int next_bits(void)
{
	static uint64_t kept;
	static int is_kept;

	if (!strcmp(half, "hi"))
		return (unsigned)(stream->next() >> 32);
	if (!strcmp(half, "lo"))
		return (unsigned)stream->next();
	if (!strcmp(half, "revhi"))
		return (unsigned)reversed(stream->next());
	if (!strcmp(half, "revlo"))
		return (unsigned)(reversed(stream->next()) >> 32);
	is_kept = !is_kept;
	if (!is_kept)
		return (unsigned)(kept >> 32);
	kept = stream->next();
	return (unsigned)kept;
}

int main(int argc, char **argv)
{
	char title[100];
	unif01_Gen *gen;

	for (size_t i = 0; argc > 2 && i < sizeof(streams) / sizeof(streams[0]); i++)
		if (!strcmp(argv[1], streams[i].name))
			stream = &streams[i];
	if (!stream)
		return EXIT_FAILURE;
	half = argv[2];
	n_sequences = stream->n_sequences;
	step = stream->step;
	set_sequences(stream->name);

	swrite_Basic = FALSE;
	snprintf(title, sizeof(title), "%s %s", stream->name, half);
	gen = unif01_CreateExternGenBits(title, next_bits);
	if (argc > 3)
		bbattery_Crush(gen);
	else
		bbattery_SmallCrush(gen);
	unif01_DeleteExternGenBits(gen);
	return EXIT_SUCCESS;
}
