/*
 * Checksums of an end-to-end copy: XXH3 with 128 bits, from the library xxHash.
 *
 * The digest of a pass is the sum modulo 2^128 of a hash of (offset, length, digest of the data) of
 * each block. It does not depend on the order of the blocks, and parts of a copy can be added.
 * Pure functions; any thread.
 */
#ifndef XDD_NET_DIGEST_H
#define XDD_NET_DIGEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DIGEST_TEXT_SIZE 33

struct digest {
	uint64_t low;
	uint64_t high;
};

/* False, with `*why` a text for people (static): this xdd was built without xxHash. */
bool digest_available(const char **why);

/* Of `size` bytes; of 0 bytes it is zero. */
struct digest digest_data(const void *data, size_t size);

/*
 * The digest of data that arrives in pieces, so that each piece is read while it is in the cache.
 * digest_stream_end() returns the digest_data() of all that was added since digest_stream_start().
 * A stream belongs to one thread. digest_stream_new() returns NULL without memory;
 * digest_stream_free() accepts NULL.
 */
struct digest_stream;
struct digest_stream *digest_stream_new(void);
void digest_stream_free(struct digest_stream *s);
void digest_stream_start(struct digest_stream *s);
void digest_stream_add(struct digest_stream *s, const void *data, size_t size);
struct digest digest_stream_end(const struct digest_stream *s);

/*
 * Bytes of a piece that a receiver adds at a time. Smaller pieces wake it more often, which costs
 * more than reading a block of this size from the second-level cache.
 */
#define DIGEST_PIECE_BYTES (1u << 20)

static inline bool digest_equal(struct digest a, struct digest b)
{
	return a.low == b.low && a.high == b.high;
}

/* Add the block of `length` bytes at `offset` with the digest `data` to `*sum`. */
void digest_add(struct digest *sum, uint64_t offset, uint64_t length, struct digest data);

/* Add the sum `from` to `*sum`. */
void digest_join(struct digest *sum, struct digest from);

/* XXH3 with 64 bits, for the checksums of headers. */
uint64_t digest_short(const void *data, size_t size);

/* 32 hexadecimal digits, the high ones first, into `buf`; returns `buf`. */
char *digest_text(struct digest d, char buf[DIGEST_TEXT_SIZE]);

#endif
