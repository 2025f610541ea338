/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Checksums of an end-to-end copy, from the library xxHash; without it a stand-in that says so.
 * Called for every message, and by the restart file.
 */
#include "config.h"

#include "xdd/net/wire.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "xdd/base/arith.h"
#include "xdd/base/codec.h"

#ifdef HAVE_XXHASH

/* This header replaces the functions of xxhash.h by those that choose instructions at run time. */
#ifdef HAVE_XXHASH_DISPATCH
#include <xxh_x86dispatch.h>
#else
#include <xxhash.h>
#endif

bool digest_available(const char **why)
{
	(void)why;
	return true;
}

static struct digest of_library(XXH128_hash_t h)
{
	return (struct digest){ .low = h.low64, .high = h.high64 };
}

static struct digest hash(const void *data, size_t size)
{
	return of_library(XXH3_128bits(data, size));
}

uint64_t digest_short(const void *data, size_t size)
{
	return XXH3_64bits(data, size);
}

struct digest_stream {
	XXH3_state_t *state;
	bool empty;
};

struct digest_stream *digest_stream_new(void)
{
	struct digest_stream *s = malloc(sizeof(*s));

	if (!s)
		return NULL;
	s->state = XXH3_createState();
	if (!s->state) {
		free(s);
		return NULL;
	}
	digest_stream_start(s);
	return s;
}

void digest_stream_free(struct digest_stream *s)
{
	if (!s)
		return;
	XXH3_freeState(s->state);
	free(s);
}

void digest_stream_start(struct digest_stream *s)
{
	XXH3_128bits_reset(s->state);
	s->empty = true;
}

void digest_stream_add(struct digest_stream *s, const void *data, size_t size)
{
	if (!size)
		return;
	XXH3_128bits_update(s->state, data, size);
	s->empty = false;
}

struct digest digest_stream_end(const struct digest_stream *s)
{
	return s->empty ? (struct digest){ 0 } : of_library(XXH3_128bits_digest(s->state));
}

#else

bool digest_available(const char **why)
{
	*why = "this xdd was built without the library xxHash";
	return false;
}

static struct digest hash(const void *data, size_t size)
{
	(void)data;
	(void)size;
	return (struct digest){ 0 };
}

uint64_t digest_short(const void *data, size_t size)
{
	(void)data;
	(void)size;
	return 0;
}

/* No stream is ever made. */
struct digest_stream *digest_stream_new(void)
{
	return NULL;
}

void digest_stream_free(struct digest_stream *s)
{
	(void)s;
}

void digest_stream_start(struct digest_stream *s)
{
	(void)s;
}

void digest_stream_add(struct digest_stream *s, const void *data, size_t size)
{
	(void)s;
	(void)data;
	(void)size;
}

struct digest digest_stream_end(const struct digest_stream *s)
{
	(void)s;
	return (struct digest){ 0 };
}

#endif

struct digest digest_data(const void *data, size_t size)
{
	return size ? hash(data, size) : (struct digest){ 0 };
}

void digest_join(struct digest *sum, struct digest from)
{
	uint128 total =
		((uint128)sum->high << 64 | sum->low) + ((uint128)from.high << 64 | from.low);

	sum->low = (uint64_t)total;
	sum->high = (uint64_t)(total >> 64);
}

void digest_add(struct digest *sum, uint64_t offset, uint64_t length, struct digest data)
{
	uint8_t block[32];

	bytes_put(block, 8, offset);
	bytes_put(block + 8, 8, length);
	bytes_put(block + 16, 8, data.low);
	bytes_put(block + 24, 8, data.high);
	digest_join(sum, hash(block, sizeof(block)));
}

char *digest_text(struct digest d, char buf[DIGEST_TEXT_SIZE])
{
	snprintf(buf, DIGEST_TEXT_SIZE, "%016" PRIx64 "%016" PRIx64, d.high, d.low);
	return buf;
}
