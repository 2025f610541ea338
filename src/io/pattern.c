/*
 * Data patterns. Called where targets are opened, and for each request that is filled or verified,
 * outside the timed window.
 */
#include "xdd/io/pattern.h"

#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

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
