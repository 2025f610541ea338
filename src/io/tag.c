/*
 * Tagged sectors: making and reading them. Called by the run when it fills buffers, and by verify.
 */
#include "xdd/io/tag.h"

#include <endian.h>
#include <string.h>

#define SUMMED_FROM 16
#define PAYLOAD_WORDS ((TAG_SECTOR_BYTES - TAG_HEADER_BYTES) / sizeof(uint64_t))

static const char magic[8] = "XDDtag1\n";

/* A sector as it lies on the target. Packed, as buffers begin at any byte (-memalign 1). */
struct __attribute__((packed)) sector {
	char magic[8];
	uint64_t checksum;
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
	uint32_t zero;
	uint64_t payload[PAYLOAD_WORDS];
};

_Static_assert(sizeof(struct sector) == TAG_SECTOR_BYTES, "a tagged sector has no gaps");
_Static_assert(offsetof(struct sector, run) == TAG_AT_RUN, "the format is in tag.h");
_Static_assert(offsetof(struct sector, offset) == TAG_AT_OFFSET, "the format is in tag.h");
_Static_assert(offsetof(struct sector, generation) == TAG_AT_GENERATION, "the format is in tag.h");
_Static_assert(offsetof(struct sector, target) == TAG_AT_TARGET, "the format is in tag.h");
_Static_assert(offsetof(struct sector, payload) == TAG_HEADER_BYTES, "the format is in tag.h");

static uint64_t checksum_of(const struct sector *s)
{
	return tag_hash((const char *)s + SUMMED_FROM, sizeof(*s) - SUMMED_FROM);
}

/* Word i depends on no other, so the compiler may make several at a time. */
static void fill_payload(struct sector *s)
{
	uint64_t seed = tag_hash((const char *)s + SUMMED_FROM, TAG_HEADER_BYTES - SUMMED_FROM);

	for (size_t i = 0; i < PAYLOAD_WORDS; i++) {
		uint64_t z = seed + (i + 1) * 0x9e3779b97f4a7c15ull;

		z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
		z = (z ^ z >> 27) * 0x94d049bb133111ebull;
		s->payload[i] = htole64(z ^ z >> 31);
	}
}

void tag_write(const struct tag *tag, void *sector)
{
	struct sector s = {
		.run = htole64(tag->run),
		.offset = htole64(tag->offset),
		.generation = htole64(tag->generation),
		.oldest = htole64(tag->oldest),
		.since = htole64(tag->since),
		.request = htole64(tag->request),
		.sweep = htole64(tag->sweep),
		.target = htole32(tag->target),
		.pass = htole32(tag->pass),
		.bytes = htole32(tag->bytes),
	};

	memcpy(s.magic, magic, sizeof(magic));
	fill_payload(&s);
	s.checksum = htole64(checksum_of(&s));
	memcpy(sector, &s, sizeof(s));
}

void tag_fill(const struct tag *tag, void *buf, uint64_t bytes)
{
	struct tag t = *tag;

	for (uint64_t at = 0; at < bytes; at += TAG_SECTOR_BYTES) {
		t.offset = tag->offset + at;
		tag_write(&t, (char *)buf + at);
	}
}

enum tag_state tag_read(const void *sector, struct tag *tag)
{
	const struct sector *s = sector;

	if (memcmp(s->magic, magic, sizeof(magic)) != 0)
		return TAG_NONE;
	*tag = (struct tag){
		.run = le64toh(s->run),
		.offset = le64toh(s->offset),
		.generation = le64toh(s->generation),
		.oldest = le64toh(s->oldest),
		.since = le64toh(s->since),
		.request = le64toh(s->request),
		.sweep = le64toh(s->sweep),
		.target = le32toh(s->target),
		.pass = le32toh(s->pass),
		.bytes = le32toh(s->bytes),
	};
	return le64toh(s->checksum) == checksum_of(s) ? TAG_GOOD : TAG_BROKEN;
}
