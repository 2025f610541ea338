/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Data patterns. Called where targets are opened, and for each request that is filled or verified,
 * outside the timed window.
 */
#include "xdd/io/pattern.h"

#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "xdd/base/random.h"

/*
 * The 8B/10B test patterns of Fibre Channel, as the bytes that are encoded.
 *
 * The compliant ones (CJTPAT, CRPAT, CSPAT) are described in the technical report "Fibre Channel -
 * Methodologies for Jitter and Signal Quality Specification" (MJSQ).
 */

/* A piece of a pattern: some bytes, so many times. */
struct piece {
	uint16_t times;
	uint8_t n;
	uint8_t bytes[12];
};

#define PIECES_MAX 16

static const struct piece lfpat[PIECES_MAX] = {
	{ 128, 1, { 0xab } },
	{ 1, 1, { 0xeb } },
	{ 124, 1, { 0x54 } },
	{ 1, 3, { 0xf4, 0xab, 0xab } },
};

static const struct piece ltpat[PIECES_MAX] = {
	{ 1, 6, { 0xee, 0xfe, 0xc7, 0xf1, 0xfe, 0x27 } },
	{ 6, 1, { 0x7e } },
	{ 2, 2, { 0xfc, 0xe3 } },
	{ 492, 1, { 0x7e } },
	{ 2, 2, { 0xfc, 0xe3 } },
};

static const struct piece cjtpat[PIECES_MAX] = {
	{ 6, 4, { 0xbc, 0x95, 0xb5, 0xb5 } },
	{ 1, 4, { 0xbc, 0xb5, 0x36, 0x36 } },
	{ 151, 1, { 0x7e } },
	{ 1, 3, { 0x74, 0x7e, 0xab } },
	{ 51, 1, { 0xb5 } },
	{ 1, 2, { 0x5e, 0x4a } },
	{ 4, 1, { 0x7e } },
	{ 1, 5, { 0xfe, 0xf5, 0x2e, 0xf6, 0xdd } },
	{ 1, 4, { 0xbc, 0xb5, 0xd5, 0xd5 } },
};

static const struct piece crpat[PIECES_MAX] = {
	{ 6, 4, { 0xbc, 0x95, 0xb5, 0xb5 } },
	{ 1, 4, { 0xbc, 0xb5, 0x36, 0x36 } },
	{ 16, 12, { 0xbe, 0xd7, 0x23, 0x47, 0x6b, 0x8f, 0xb3, 0x14, 0x5e, 0xfb, 0x35, 0x59 } },
	{ 1, 4, { 0xee, 0x23, 0x55, 0x16 } },
	{ 1, 4, { 0xbc, 0xb5, 0xd5, 0xd5 } },
};

static const struct piece cspat[PIECES_MAX] = {
	{ 6, 4, { 0xbc, 0x95, 0xb5, 0xb5 } },
	{ 1, 4, { 0xbc, 0xb5, 0x36, 0x36 } },
	{ 2012, 1, { 0x7f } },
	{ 1, 4, { 0xf1, 0x96, 0xdb, 0x97 } },
	{ 1, 4, { 0xbc, 0xb5, 0xd5, 0xd5 } },
};

static const struct piece *pieces_of(enum pattern_kind kind)
{
	switch (kind) {
	case PATTERN_LFPAT:
		return lfpat;
	case PATTERN_LTPAT:
		return ltpat;
	case PATTERN_CJTPAT:
		return cjtpat;
	case PATTERN_CRPAT:
		return crpat;
	case PATTERN_CSPAT:
		return cspat;
	default:
		return NULL;
	}
}

size_t pattern_8b10b(enum pattern_kind kind, uint8_t out[PATTERN_8B10B_MAX])
{
	const struct piece *piece = pieces_of(kind);
	size_t size = 0;

	for (; piece && piece->times; piece++) {
		for (unsigned i = 0; i < piece->times; i++) {
			memcpy(out + size, piece->bytes, piece->n);
			size += piece->n;
		}
	}
	return size;
}

/*
 * Random data, all of it or in part: of the patterns random, randbytarget, compress and dedupe.
 *
 * It is made in chunks of 4 KiB that know nothing of each other. Each is the output of eight
 * xoshiro256+ generators side by side, which vector units carry out at once: D. Blackman and S.
 * Vigna, "Scrambled linear pseudorandom number generators", 2019, with the code in the public
 * domain at prng.di.unimi.it. Their states come from splitmix64, of the same source, and that from
 * the counter-based generator of random.h. What a chunk holds is part of what the program
 * promises: a later version has to verify it.
 */

#define LANES 8
#define STATE 4 /* words of a generator */
#define PERCENT 100

/*
 * Chunks whose seeds come from one draw of the counter-based generator, and how far apart these
 * are.
 */
#define GROUP_CHUNKS 64
#define GROUP_STEP 0xd1342543de82ef95ull

typedef uint64_t pair __attribute__((vector_size(16)));
typedef uint64_t quad __attribute__((vector_size(32)));

/* The next output. */
static uint64_t splitmix64(uint64_t *x)
{
	return random_splitmix64(*x += RANDOM_GOLDEN);
}

/* One step of a vector of generators. */
#define STEP(a, b, c, d, t)                  \
	do {                                 \
		(t) = (b) << 17;             \
		(c) ^= (a);                  \
		(d) ^= (b);                  \
		(b) ^= (c);                  \
		(a) ^= (d);                  \
		(c) ^= (t);                  \
		(d) = (d) << 45 | (d) >> 19; \
	} while (0)

/*
 * Word i of the chunk is output i / 8 of generator i % 8. Two vectors at a time, as that is what
 * the registers hold; the result is the same for any width. The words of a big-endian machine are
 * turned by the caller.
 */
#define DEFINE_GENERATE(name, vector, attributes)                                                \
	attributes static void name(const uint64_t state[STATE][LANES], uint8_t *out)            \
	{                                                                                        \
		enum {                                                                           \
			WIDTH = sizeof(vector) / sizeof(uint64_t)                                \
		};                                                                               \
                                                                                                 \
		for (int lane = 0; lane < LANES; lane += 2 * WIDTH) {                            \
			vector a, b, c, d, e, f, g, h, t;                                        \
			uint8_t *at = out + lane * sizeof(uint64_t);                             \
                                                                                                 \
			memcpy(&a, &state[0][lane], sizeof(a));                                  \
			memcpy(&b, &state[1][lane], sizeof(a));                                  \
			memcpy(&c, &state[2][lane], sizeof(a));                                  \
			memcpy(&d, &state[3][lane], sizeof(a));                                  \
			memcpy(&e, &state[0][lane + WIDTH], sizeof(a));                          \
			memcpy(&f, &state[1][lane + WIDTH], sizeof(a));                          \
			memcpy(&g, &state[2][lane + WIDTH], sizeof(a));                          \
			memcpy(&h, &state[3][lane + WIDTH], sizeof(a));                          \
			for (; at < out + PATTERN_CHUNK_BYTES; at += LANES * sizeof(uint64_t)) { \
				t = a + d;                                                       \
				memcpy(at, &t, sizeof(t));                                       \
				t = e + h;                                                       \
				memcpy(at + sizeof(t), &t, sizeof(t));                           \
				STEP(a, b, c, d, t);                                             \
				STEP(e, f, g, h, t);                                             \
			}                                                                        \
		}                                                                                \
	}

DEFINE_GENERATE(generate, pair, )

#if defined(__x86_64__)
DEFINE_GENERATE(generate_avx2, quad, __attribute__((target("avx2"))))
#else
#define generate_avx2 generate
#endif

/* clang makes pairs of narrower vectors of it, which is slower. */
#if defined(__x86_64__) && !defined(__clang__)
typedef uint64_t octet __attribute__((vector_size(64)));

__attribute__((target("avx512f,avx512vl,prefer-vector-width=512"))) static void
generate_avx512(const uint64_t state[STATE][LANES], uint8_t *out)
{
	octet a, b, c, d, t;

	memcpy(&a, state[0], sizeof(a));
	memcpy(&b, state[1], sizeof(a));
	memcpy(&c, state[2], sizeof(a));
	memcpy(&d, state[3], sizeof(a));
	for (size_t at = 0; at < PATTERN_CHUNK_BYTES; at += sizeof(t)) {
		t = a + d;
		memcpy(out + at, &t, sizeof(t));
		STEP(a, b, c, d, t);
	}
}
#else
#define generate_avx512 generate_avx2
#endif

#if defined(__x86_64__)
#define HAVE(feature) __builtin_cpu_supports(feature)
#else
#define HAVE(feature) false
#endif

/* The generators of a chunk, from the seed that is its own. */
static void seed_generators(uint64_t seed, uint64_t state[STATE][LANES])
{
	for (int lane = 0; lane < LANES; lane++)
		state[0][lane] = splitmix64(&seed);
	for (int lane = 0; lane < LANES; lane++)
		state[1][lane] = splitmix64(&seed);
	/* The output does not show the relation of these blocks to the others. */
	for (int lane = 0; lane < LANES; lane++) {
		state[2][lane] = (state[0][lane] << 32 | state[0][lane] >> 32) + RANDOM_GOLDEN;
		state[3][lane] = state[1][lane] ^ RANDOM_GOLDEN;
	}
}

/* The seed that 64 chunks share, and which they are. */
struct group {
	bool known;
	uint64_t number;
	uint64_t seed;
};

/* A chunk of random bytes of its own for each key and number. */
static void random_chunk(const struct pattern *p, struct group *g, uint64_t number, uint8_t *out)
{
	uint64_t state[STATE][LANES], seed;

	if (!g->known || g->number != number / GROUP_CHUNKS) {
		const struct philox_key key = { .seed = p->seed,
						.target = p->target,
						.stream = PHILOX_STREAM_DATA };

		g->known = true;
		g->number = number / GROUP_CHUNKS;
		g->seed = philox_u64(&key, g->number);
	}
	seed = g->seed + number % GROUP_CHUNKS * GROUP_STEP;
	seed_generators(splitmix64(&seed), state);
	if (HAVE("avx512f") && HAVE("avx512vl"))
		generate_avx512(state, out);
	else if (HAVE("avx2"))
		generate_avx2(state, out);
	else
		generate(state, out);
	for (size_t i = 0; htole16(1) != 1 && i < PATTERN_CHUNK_BYTES; i += sizeof(seed)) {
		memcpy(&seed, out + i, sizeof(seed));
		seed = htole64(seed);
		memcpy(out + i, &seed, sizeof(seed));
	}
}

/* How many of the units before `unit` are copies: the share, rounded down. */
static uint64_t copies_before(uint64_t unit, uint64_t percent)
{
	return unit / PERCENT * percent + unit % PERCENT * percent / PERCENT;
}

/*
 * Which of all the different contents `unit` has. Units that are no copies are numbered one after
 * the other; a copy is of one that is not, drawn from the same MiB.
 */
static uint64_t content_of(const struct pattern *p, uint64_t unit)
{
	const struct philox_key key = { .seed = p->seed, .stream = PHILOX_STREAM_DUPLICATE };
	uint64_t percent = p->options->dedupe, before = copies_before(unit, percent);
	uint64_t first = unit - unit % PATTERN_DEDUPE_UNITS, end = first + PATTERN_DEDUPE_UNITS;
	uint64_t own = first - copies_before(first, percent), others;

	if (percent == PERCENT)
		return 0;
	if (copies_before(unit + 1, percent) == before)
		return unit - before;
	others = end - copies_before(end, percent) - own;
	return own + philox_below(&key, unit, others);
}

static void make_chunk(const struct pattern *p, struct group *g, uint64_t number, uint8_t *out)
{
	size_t zeros = PATTERN_CHUNK_BYTES * p->options->compress / PERCENT;

	if (p->options->dedupe)
		number = content_of(p, number);
	random_chunk(p, g, number, out);
	memset(out + PATTERN_CHUNK_BYTES - zeros, 0, zeros);
}

/* Random data, compressible and repetitive as the options say, from byte `at` of the target on. */
static void pattern_random(const struct pattern *p, uint64_t at, uint8_t *out, size_t size)
{
	uint8_t chunk[PATTERN_CHUNK_BYTES];
	struct group g = { 0 };

	while (size) {
		size_t skip = (size_t)(at % PATTERN_CHUNK_BYTES), n = PATTERN_CHUNK_BYTES - skip;

		if (n > size)
			n = size;
		if (n == PATTERN_CHUNK_BYTES) {
			make_chunk(p, &g, at / PATTERN_CHUNK_BYTES, out);
		} else {
			make_chunk(p, &g, at / PATTERN_CHUNK_BYTES, chunk);
			memcpy(out, chunk + skip, n);
		}
		at += n;
		out += n;
		size -= n;
	}
}

#define WORD_BYTES 8
#define TILE_MIN_BYTES \
	4096 /* short ones are repeated until they have as many: fewer, longer copies */

/* `n` bytes as often as it takes. */
static int make_tile(struct pattern *p, const uint8_t *bytes, size_t n)
{
	size_t times = n < TILE_MIN_BYTES ? (TILE_MIN_BYTES + n - 1) / n : 1;

	p->tile = malloc(n * times);
	if (!p->tile)
		return -ENOMEM;
	for (size_t i = 0; i < times; i++)
		memcpy(p->tile + i * n, bytes, n);
	p->n_tile = n * times;
	return 0;
}

static void init_prefix(struct pattern *p)
{
	const char *digits = p->options->prefix;
	unsigned bits = digits ? (unsigned)strlen(digits) * 4 : 0;

	p->keep = bits == 64 ? 0 : UINT64_MAX >> bits;
	p->prefix = bits ? (uint64_t)strtoull(digits, NULL, 16) << (64 - bits) : 0;
}

int pattern_init(struct pattern *p, const struct target_plan *target)
{
	const struct pattern_options *o = &target->pattern;
	uint8_t bytes[PATTERN_8B10B_MAX];

	*p = (struct pattern){ .options = o, .seed = target->seek.seed, .once = SIZE_MAX };
	switch (o->kind) {
	case PATTERN_ASCII:
	case PATTERN_HEX:
		if (!o->replicate)
			p->once = o->n_bytes;
		return make_tile(p, o->bytes, o->n_bytes);
	case PATTERN_FILE:
		return make_tile(p, o->bytes, o->n_bytes);
	case PATTERN_LFPAT:
	case PATTERN_LTPAT:
	case PATTERN_CJTPAT:
	case PATTERN_CRPAT:
	case PATTERN_CSPAT:
		return make_tile(p, bytes, pattern_8b10b(o->kind, bytes));
	case PATTERN_RANDOM_BY_TARGET:
		/* A block has the data of its owner, whichever target reads it. */
		p->target = (uint16_t)((target->layout.block_bytes ? target->layout.owner :
								     target->number) +
				       1);
		return 0;
	case PATTERN_SEQUENCED:
		init_prefix(p);
		return 0;
	case PATTERN_CHARACTER:
	case PATTERN_RANDOM:
	case PATTERN_REDUCIBLE:
	case PATTERN_TAGGED:
		break;
	}
	return 0;
}

void pattern_destroy(struct pattern *p)
{
	free(p->tile);
	memset(p, 0, sizeof(*p));
}

bool pattern_moves(const struct pattern *p)
{
	switch (p->options->kind) {
	case PATTERN_FILE:
	case PATTERN_RANDOM:
	case PATTERN_RANDOM_BY_TARGET:
	case PATTERN_SEQUENCED:
	case PATTERN_REDUCIBLE:
	case PATTERN_TAGGED:
		return true;
	default:
		return false;
	}
}

bool pattern_by_place(const struct pattern *p)
{
	return p->options->kind == PATTERN_CHARACTER || pattern_moves(p);
}

/* The tile again and again, as if from its byte `at` on. */
static void repeat(const struct pattern *p, uint64_t at, uint8_t *out, size_t size)
{
	size_t skip = (size_t)(at % p->n_tile);

	while (size) {
		size_t n = p->n_tile - skip < size ? p->n_tile - skip : size;

		memcpy(out, p->tile + skip, n);
		out += n;
		size -= n;
		skip = 0;
	}
}

/* The tile at the start of the request, and zeros. */
static void start_with(const struct pattern *p, uint64_t pos, uint8_t *out, size_t size)
{
	size_t n = pos >= p->once ? 0 : p->once - pos < size ? (size_t)(p->once - pos) : size;

	memset(out + n, 0, size - n);
	if (n)
		repeat(p, pos, out, n);
}

static uint64_t word_at(const struct pattern *p, uint64_t offset)
{
	return htole64((offset & p->keep) | p->prefix);
}

/* Words count from the start of the request; the first and the last may be cut. */
static void sequence(const struct pattern *p, uint64_t offset, uint64_t pos, uint8_t *out,
		     size_t size)
{
	size_t skip = (size_t)(pos % WORD_BYTES);
	uint64_t at = offset + pos - skip, word;

	for (; size && (skip || size < WORD_BYTES); at += WORD_BYTES) {
		size_t n = WORD_BYTES - skip < size ? WORD_BYTES - skip : size;

		word = word_at(p, at);
		memcpy(out, (const uint8_t *)&word + skip, n);
		out += n;
		size -= n;
		skip = 0;
	}
	for (; size >= WORD_BYTES; size -= WORD_BYTES, out += WORD_BYTES, at += WORD_BYTES) {
		word = word_at(p, at);
		memcpy(out, &word, WORD_BYTES);
	}
	if (size) {
		word = word_at(p, at);
		memcpy(out, &word, size);
	}
}

static void invert(uint8_t *out, size_t size)
{
	for (size_t i = 0; i < size; i++)
		out[i] = (uint8_t)~out[i];
}

void pattern_bytes(const struct pattern *p, uint64_t offset, uint64_t pos, void *out, size_t size)
{
	switch (p->options->kind) {
	case PATTERN_CHARACTER:
		memset(out, p->options->word ? (uint8_t)*p->options->word : 0, size);
		break;
	case PATTERN_SEQUENCED:
		sequence(p, offset, pos, out, size);
		break;
	case PATTERN_RANDOM:
	case PATTERN_RANDOM_BY_TARGET:
	case PATTERN_REDUCIBLE:
		pattern_random(p, offset + pos, out, size);
		break;
	case PATTERN_FILE:
		repeat(p, offset + pos, out, size);
		break;
	case PATTERN_TAGGED:
		memset(out, 0, size);
		return;
	default:
		if (p->once == SIZE_MAX)
			repeat(p, pos, out, size);
		else
			start_with(p, pos, out, size);
		break;
	}
	if (p->options->inverse)
		invert(out, size);
}
