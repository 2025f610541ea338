/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Mixes of request sizes: see the header. Called while a plan is built, by the access patterns and
 * by the throttle.
 *
 * The order of the sizes is part of what the program promises, like random offsets: the same seed
 * gives the same sizes in every later version. So the formulas here must not change. With N
 * operations in a cycle, and sizes in ascending order:
 *
 *	orders  4096 / (N + 1) of them, from 1 to 256; for N = 1 there is one
 *	order r the sizes, each as often as it is in a cycle, shuffled from the end: element e
 *		changes places with element random_below(draw r * N + e, e + 1)
 *	cycle c takes the order and the first element that the high and the low half of draw c name
 */
#include "xdd/plan/mix.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "xdd/base/arith.h"
#include "xdd/base/memory.h"
#include "xdd/base/text.h"
#include "xdd/base/units.h"
#include "xdd/plan/plan.h"

/* Bytes before each operation, of all orders together: as much as a processor's first cache. */
#define MOST_ENTRIES 4096
#define MOST_ORDERS 256

#define SIZE_EXPECTED "expected a whole number of blocks, or bytes with a suffix such as 4k or 1M"

/* ---- the words ---- */

/* "4k:60" of `length` bytes. Returns NULL, or what is wrong. */
static const char *read_item(struct arena *arena, const char *text, size_t length,
			     struct mix_item *item)
{
	char *word = xarena_printf(arena, "%.*s", (int)length, text), *colon;
	uint64_t weight;
	int err;

	colon = strchr(word, ':');
	if (!colon)
		return xarena_printf(arena,
				     "%.64s: expected <size>:<weight>, as in 4k:60,64k:40, with a "
				     "whole number as weight",
				     *word ? word : "a size is missing");
	*colon = '\0';
	if (!*word)
		return xarena_printf(arena, ":%.64s: a size is missing: " SIZE_EXPECTED, colon + 1);
	item->text = word;
	item->in_blocks = !units_has_suffix(word);
	err = item->in_blocks ? units_parse_u64(word, &item->value) :
				units_parse_size(word, &item->value);
	if (err || !item->value || item->value > INT64_MAX)
		return xarena_printf(arena, "%.64s: " SIZE_EXPECTED, word);
	if (colon[1] && colon[strlen(colon + 1)] == '%')
		colon[strlen(colon + 1)] = '\0';
	if (units_parse_u64(colon + 1, &weight) || !weight || weight > MIX_MAX_WEIGHT)
		return xarena_printf(arena,
				     "%.64s: expected a whole number from 1 to %u as its weight",
				     word, MIX_MAX_WEIGHT);
	item->ops = (uint32_t)weight;
	return NULL;
}

/* Divide the weights by what they have in common. */
static const char *reduce(struct arena *arena, struct mix_words *words)
{
	uint64_t common = 0, sum = 0;

	for (size_t i = 0; i < words->n; i++)
		common = gcd(common, words->items[i].ops);
	for (size_t i = 0; i < words->n; i++) {
		words->items[i].ops /= (uint32_t)common;
		sum += words->items[i].ops;
	}
	if (sum <= MIX_MAX_CYCLE)
		return NULL;
	return xarena_printf(arena,
			     "the weights must have a sum of %u at most, divided by what they have "
			     "in common; it is %" PRIu64 "; round them",
			     MIX_MAX_CYCLE, sum);
}

const char *mix_read(struct arena *arena, const char *text, struct mix_words *words)
{
	words->n = 0;
	for (bool more = true; more;) {
		const size_t length = strcspn(text, ",");
		const char *why;

		if (words->n == MIX_MAX_SIZES)
			return xarena_printf(arena, "has more than %d sizes", MIX_MAX_SIZES);
		why = read_item(arena, text, length, &words->items[words->n]);
		if (why)
			return why;
		words->n++;
		more = text[length];
		text += length + 1;
	}
	return reduce(arena, words);
}

/* ---- the orders ---- */

static uint32_t count_orders(uint64_t cycle_ops)
{
	uint64_t n = MOST_ENTRIES / (cycle_ops + 1);

	if (cycle_ops == 1 || !n)
		return 1;
	return n < MOST_ORDERS ? (uint32_t)n : MOST_ORDERS;
}

static void shuffle(uint64_t *sizes, uint64_t n, const struct random_sequence *s, uint64_t first)
{
	for (uint64_t e = n; e-- > 1;) {
		uint64_t other = random_below(s, first + e, e + 1), size = sizes[e];

		sizes[e] = sizes[other];
		sizes[other] = size;
	}
}

/* The bytes before each operation of order `r` of a cycle. */
static void fill_order(const struct request_mix *mix, const struct random_sequence *s, uint64_t r,
		       uint64_t *before)
{
	uint64_t n = 0, sum = 0;

	for (size_t i = 0; i < mix->n; i++) {
		for (uint32_t k = 0; k < mix->sizes[i].ops; k++)
			before[n++] = mix->sizes[i].bytes;
	}
	shuffle(before, n, s, r * n);
	for (uint64_t i = 0; i < n; i++) {
		uint64_t size = before[i];

		before[i] = sum;
		sum += size;
	}
	before[n] = sum;
}

static void fill_orders(struct request_mix *mix, struct arena *arena)
{
	const struct random_key key = {
		.seed = mix->seed,
		.pass = 1,
		.stream = RANDOM_STREAM_MIX_ORDERS,
	};
	const struct random_sequence s = random_sequence(&key);
	uint64_t *before =
		xarena_alloc(arena, mix->orders * (mix->cycle_ops + 1) * sizeof(*before));

	for (uint32_t r = 0; r < mix->orders; r++)
		fill_order(mix, &s, r, before + r * (mix->cycle_ops + 1));
	mix->before = before;
}

static bool same_sizes(const struct request_mix *a, const struct request_mix *b)
{
	if (a->n != b->n || a->seed != b->seed)
		return false;
	for (size_t i = 0; i < a->n; i++) {
		if (a->sizes[i].bytes != b->sizes[i].bytes || a->sizes[i].ops != b->sizes[i].ops)
			return false;
	}
	return true;
}

static int compare_sizes(const void *a, const void *b)
{
	const struct mix_size *x = a, *y = b;

	return (x->bytes > y->bytes) - (x->bytes < y->bytes);
}

void mix_init(struct request_mix *mix, struct arena *arena, uint64_t seed,
	      const struct request_mix *same)
{
	const struct random_key key = {
		.seed = seed,
		.pass = 1,
		.stream = RANDOM_STREAM_MIX,
	};

	qsort(mix->sizes, mix->n, sizeof(mix->sizes[0]), compare_sizes);
	mix->unit_bytes = mix->cycle_ops = mix->cycle_bytes = 0;
	for (size_t i = 0; i < mix->n; i++) {
		mix->unit_bytes = gcd(mix->unit_bytes, mix->sizes[i].bytes);
		mix->cycle_ops += mix->sizes[i].ops;
		mix->cycle_bytes += mix->sizes[i].ops * mix->sizes[i].bytes;
	}
	mix->seed = seed;
	mix->orders = count_orders(mix->cycle_ops);
	mix->order = random_sequence(&key);
	if (same && same_sizes(mix, same))
		mix->before = same->before;
	else
		fill_orders(mix, arena);
}

/* ---- operations ---- */

/* A cycle: an order, entered at operation `first`. */
struct cycle {
	const uint64_t *before;
	uint64_t first;
};

static inline struct cycle cycle_at(const struct request_mix *mix, uint64_t number)
{
	uint64_t word = random_u64(&mix->order, number);

	return (struct cycle){
		.before = mix->before + ((word >> 32) * mix->orders >> 32) * (mix->cycle_ops + 1),
		.first = (word & UINT32_MAX) * mix->cycle_ops >> 32,
	};
}

/* Operation `i` of a cycle; `before` counts from the start of the cycle. */
static inline struct mix_op op_of(const struct request_mix *mix, const struct cycle *c, uint64_t i)
{
	uint64_t k = c->first + i, start = c->before[c->first], wrapped = 0;

	if (k >= mix->cycle_ops) {
		k -= mix->cycle_ops;
		wrapped = mix->cycle_bytes;
	}
	return (struct mix_op){
		.size = c->before[k + 1] - c->before[k],
		.before = wrapped + c->before[k] - start,
	};
}

struct mix_op mix_op(const struct request_mix *mix, uint64_t n)
{
	const uint64_t number = n / mix->cycle_ops;
	const struct cycle c = cycle_at(mix, number);
	struct mix_op op = op_of(mix, &c, n - number * mix->cycle_ops);

	op.before += number * mix->cycle_bytes;
	return op;
}

uint64_t mix_ops(const struct request_mix *mix, uint64_t bytes, uint64_t *last)
{
	/* The last byte belongs to a cycle, also where it is the end of it. */
	const uint64_t number = (bytes - 1) / mix->cycle_bytes;
	const uint64_t rest = bytes - number * mix->cycle_bytes;
	const struct cycle c = cycle_at(mix, number);
	uint64_t low = 0, high = mix->cycle_ops - 1;

	/* The last operation of the cycle that has less than the rest before it. */
	while (low < high) {
		uint64_t middle = high - (high - low) / 2;

		if (op_of(mix, &c, middle).before < rest)
			low = middle;
		else
			high = middle - 1;
	}
	*last = rest - op_of(mix, &c, low).before;
	return number * mix->cycle_ops + low + 1;
}

uint64_t mix_lap_bytes(const struct target_plan *t)
{
	if (!t->range_bytes || t->pass_bytes <= t->range_bytes)
		return UINT64_MAX;
	return t->range_bytes - t->range_bytes % t->mix->cycle_bytes;
}

char *mix_text(const struct request_mix *mix, char *buf, size_t size)
{
	char bytes[32];

	*buf = '\0';
	for (size_t i = 0; i < mix->n; i++)
		text_list(buf, size, "%s:%" PRIu32,
			  units_size_text(mix->sizes[i].bytes, bytes, sizeof(bytes)),
			  mix->sizes[i].ops);
	return buf;
}
