/*
 * Tagged data: sectors of 512 bytes that say what they are. Format, all words little endian:
 *
 * 	  0	8 bytes	"XDDtag1\n" 	  8	u64	checksum: XXH3, 64 bits, of bytes 16 to 511
 * 	 16	u64	run: wall clock at its start, nanoseconds since 1970 	
 * 24	u64	offset: of this sector in the target, bytes 	 32	u64	generation: number
 * of the write, from 1, of all writes of that run to that target 	 40	u64	oldest: the
 * lowest generation that may have been outstanding with this write 	 48	u64	since: the
 * generation with which the pass began 	 56	u64	request: offset of the first sector
 * of the write 	 64	u64	sweep: everything from here to the request was written
 * before it in the same 			pass; equals the request where that is not known
 * 	 72	u32	target: its number in that run 	 76	u32	pass, from 1 	
 * 80	u32	bytes of the request 	 84	u32	zero 	 88	424 bytes	output of
 * splitmix64 (S. Vigna, public domain) from the checksum of 			bytes 16 to 87
 *
 * Pure functions; any thread.
 */
#ifndef XDD_IO_TAG_H
#define XDD_IO_TAG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "xdd/plan/pattern_options.h"

#define TAG_MAGIC PATTERN_TAG_MAGIC
#define TAG_MAGIC_BYTES 8
#define TAG_SECTOR_BYTES 512
#define TAG_HEADER_BYTES 88

/* Where a field stands in a sector, for messages. */
#define TAG_AT_RUN 16
#define TAG_AT_OFFSET 24
#define TAG_AT_GENERATION 32
#define TAG_AT_TARGET 72

struct tag {
	uint64_t run;
	uint64_t offset;
	uint64_t generation;
	uint64_t oldest;
	uint64_t since;
	uint64_t request;
	uint64_t sweep;
	uint32_t target;
	uint32_t pass;
	uint32_t bytes;
};

enum tag_state {
	TAG_NONE,   /* no tag */
	TAG_BROKEN, /* a tag, and a checksum that is not that of the sector */
	TAG_GOOD,
};

/* True if this build has the checksum. Otherwise false, with `*why` a text for people (static). */
bool tag_available(const char **why);

/* XXH3 with 64 bits. tag_hash.c */
uint64_t tag_hash(const void *data, size_t size);

/* Write one sector. */
void tag_write(const struct tag *tag, void *sector);

/* Write `bytes`, whole sectors, the first of which is that of `tag`; the others follow it. */
void tag_fill(const struct tag *tag, void *buf, uint64_t bytes);

/* Read the tag of a sector into `tag`, which does not change when there is none. */
enum tag_state tag_read(const void *sector, struct tag *tag);

#endif
