/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Journals of copies. An input is the records of one; in half of them the checksums are repaired,
 * so that the code after their check is reached.
 *
 * A record that is accepted has one encoding only: its own bytes.
 */
#include <stdlib.h>
#include <string.h>

#include "copy/destination/journal.h"
#include "fuzz.h"
#include "xdd/base/codec.h"

#define HEAD_BYTES 12

static const char *const words[] = { "..", "/", "../", "a/b", "\xff\xff\xff\xff\xff\xff\xff\xff" };

static size_t make(struct fuzz_random *r, uint8_t *data)
{
	static const char *const paths[] = { "", "a", "a/b c", "...", "\xff\n" };
	size_t n = 0;

	for (size_t i = 1 + fuzz_below(r, 8); i; i--) {
		uint64_t at = fuzz_below(r, 1000);
		const struct extent ranges[] = { { at, at + 7 }, { at + 9, at + 4096 } };
		struct journal_record rec = {
			.type = (enum journal_type)(1 + fuzz_below(r, 6)),
			.session = fuzz_u64(r),
			.tree_id = fuzz_u64(r),
			.resumable = fuzz_once_in(r, 2),
			.host = "alpha",
			.path = paths[fuzz_below(r, 5)],
			.number = fuzz_below(r, 4),
			.size_bytes = fuzz_u64(r) >> 1,
			.mtime_ns = (int64_t)fuzz_u64(r),
			.version = fuzz_u64(r),
			.ranges = ranges,
			.n_ranges = 1 + fuzz_below(r, 2),
		};

		n += journal_encode(&rec, data + n, FUZZ_MAX_BYTES - n);
	}
	return n;
}

static void repair(uint8_t *data, size_t size)
{
	while (size >= HEAD_BYTES) {
		size_t n = HEAD_BYTES + (size_t)bytes_get(data + 8, 4);

		if (n > size)
			return;
		bytes_put(data, 4, crc32c(data + 4, n - 4));
		data += n;
		size -= n;
	}
}

static void check(struct journal_record *rec, const uint8_t *data, size_t used)
{
	static uint8_t again[JOURNAL_MAX_RECORD_BYTES];
	struct extent ranges[JOURNAL_MAX_RANGES];

	for (size_t i = 0; i < rec->n_ranges; i++)
		ranges[i] = journal_range(rec, i);
	rec->ranges = ranges;
	if (journal_encode(rec, again, sizeof(again)) != used || memcmp(again, data, used))
		fuzz_fail("a record with two encodings was accepted");
}

int fuzz_one(const uint8_t *data, size_t size)
{
	uint8_t *copy = malloc(size + 1);
	struct journal_record rec;
	size_t at = 0, used;
	int got;

	if (!copy)
		fuzz_fail("memory is short");
	memcpy(copy, data, size);
	if (fuzz_hash(data, size) & 1)
		repair(copy, size);
	while ((got = journal_decode(copy + at, size - at, &rec, &used)) == 1) {
		check(&rec, copy + at, used);
		at += used;
	}
	free(copy);
	return got < 0 || at < size;
}

const struct fuzz_harness fuzz_harness = {
	.name = "journal",
	.make = make,
	.words = words,
	.n_words = sizeof(words) / sizeof(words[0]),
};
