/*
 * Random data, all of it or in part: of the patterns random, randbytarget, compress and dedupe.
 * Called by pattern.c.
 *
 * It is made in chunks of 4 KiB that know nothing of each other. Each is the output of eight
 * xoshiro256+ generators side by side, which vector units carry out at once: D. Blackman and S.
 * Vigna, "Scrambled linear pseudorandom number generators", 2019, with the code in the public
 * domain at prng.di.unimi.it. Their states come from splitmix64, of the same source, and that from
 * the counter-based generator of random.h. What a chunk holds is part of what the program promises:
 * a later version has to verify it.
 */
#include <endian.h>
#include <string.h>

#include "xdd/base/random.h"
#include "xdd/io/pattern.h"

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

void pattern_random(const struct pattern *p, uint64_t at, uint8_t *out, size_t size)
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
