/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Verification: the kinds that are reported for data that is wrong in a known way. */
#include <stdio.h>
#include <string.h>

#include "unit.h"

#include "xdd/io/verify.h"

#define SIZE 8192
#define OFFSET 40960

/* A read of SIZE bytes at OFFSET, and its findings. */
struct fixture {
	struct target_plan target;
	struct pattern pattern;
	struct verifier verifier;
	uint8_t buf[SIZE];
	struct miscompare got[8];
	unsigned n;
};

static bool take(void *arg, const struct miscompare *m)
{
	struct fixture *f = arg;

	assert_true(f->n < 8);
	f->got[f->n++] = *m;
	return true;
}

static void setup_with(struct fixture *f, enum verify_kind verify, struct pattern_options o)
{
	memset(f, 0, sizeof(*f));
	f->target.pattern = o;
	f->target.verify = verify;
	f->target.pass_bytes = 1 << 20;
	f->target.end_bytes = 1 << 20;
	assert_int_equal(pattern_init(&f->pattern, &f->target), 0);
	verifier_init(&f->verifier, &f->target, &f->pattern, 1000, NULL, NULL);
	pattern_bytes(&f->pattern, OFFSET, 0, f->buf, SIZE);
}

static void setup(struct fixture *f, enum pattern_kind kind, enum verify_kind verify)
{
	setup_with(f, verify, (struct pattern_options){ .kind = kind });
}

static unsigned check(struct fixture *f)
{
	struct verify_read r = {
		.buf = f->buf, .offset = OFFSET, .bytes = SIZE, .op = 5, .pass = 2
	};

	uint64_t n;

	f->n = 0;
	n = verify_read(&f->verifier, &r, true, take, f);
	assert_int_equal(n, f->n);
	return f->n;
}

static void expect(const struct fixture *f, unsigned i, enum miscompare_kind kind, uint64_t offset,
		   uint64_t bytes)
{
	assert_int_equal(f->got[i].kind, kind);
	assert_int_equal(f->got[i].offset, offset);
	assert_int_equal(f->got[i].bytes, bytes);
	assert_true(f->got[i].op == 5 && f->got[i].pass == 2);
}

TEST(test_plain)
{
	struct fixture f;

	for (int kind = 0; kind < PATTERN_TAGGED; kind++) {
		if (kind == PATTERN_ASCII || kind == PATTERN_HEX || kind == PATTERN_FILE)
			continue;
		setup(&f, (enum pattern_kind)kind, VERIFY_CONTENTS);
		assert_int_equal(check(&f), 0);
		f.buf[1000] ^= 0x20;
		f.buf[1001] ^= 0x01;
		assert_int_equal(check(&f), 1);
		expect(&f, 0, MISCOMPARE_FLIPPED, OFFSET + 1000, 2);
		assert_string_equal(f.got[0].text, "bit 5 of byte 41960, bit 0 of byte 41961");
		verify_poison(f.buf, 0, SIZE);
		assert_int_equal(check(&f), 1);
		expect(&f, 0, MISCOMPARE_POISON, OFFSET, SIZE);
		pattern_destroy(&f.pattern);
	}
}

/* From any byte on it is the same as from the start, and nothing before it is touched. */
TEST(test_poison)
{
	uint8_t whole[40], part[40];

	verify_poison(whole, 0, sizeof(whole));
	for (size_t from = 0; from <= sizeof(part); from++) {
		for (size_t size = from; size <= sizeof(part); size++) {
			memset(part, 0x11, sizeof(part));
			verify_poison(part, from, size);
			assert_memory_equal(part + from, whole + from, size - from);
			for (size_t i = 0; i < sizeof(part); i++)
				assert_true((i >= from && i < size) || part[i] == 0x11);
		}
	}
}

TEST(test_places)
{
	static const enum pattern_kind kinds[] = { PATTERN_SEQUENCED, PATTERN_RANDOM };
	struct fixture f;

	for (int i = 0; i < 2; i++) {
		setup(&f, kinds[i], VERIFY_CONTENTS);
		pattern_bytes(&f.pattern, 512 * 1999, 0, f.buf + 512, 1024);
		memset(f.buf + 2048, 0, 1024);
		memset(f.buf + 4096 + 256, 0x5a, 256);
		assert_int_equal(check(&f), 3);
		assert_int_equal(f.got[0].kind, MISCOMPARE_MISPLACED);
		assert_string_equal(f.got[0].text, "the data of offset 1023488");
		assert_int_equal(f.got[1].kind, MISCOMPARE_ZEROS);
		expect(&f, 2, MISCOMPARE_TORN, OFFSET + 4096 + 256, 256);
	}
	setup(&f, PATTERN_SEQUENCED, VERIFY_LOCATION);
	memset(f.buf + 8, 0, 504);
	assert_int_equal(check(&f), 0);
	pattern_bytes(&f.pattern, 8, 0, f.buf, 512);
	assert_int_equal(check(&f), 1);
	assert_string_equal(f.got[0].text, "the data of offset 8");
}

/* ---- the place that misplaced data belongs to ---- */

/* A read of `bytes` at `offset`, with what `from` of the target has in its sector `sector`. */
static void misplace(struct fixture *f, uint64_t offset, uint64_t bytes, uint64_t sector,
		     uint64_t from)
{
	uint64_t left = bytes - sector * 512;

	pattern_bytes(&f->pattern, offset, 0, f->buf, bytes);
	pattern_bytes(&f->pattern, from, 0, f->buf + sector * 512, left < 512 ? left : 512);
}

static unsigned check_at(struct fixture *f, uint64_t offset, uint64_t bytes, bool detail)
{
	struct verify_read r = {
		.buf = f->buf, .offset = offset, .bytes = bytes, .op = 5, .pass = 2
	};
	uint64_t n;

	f->n = 0;
	n = verify_read(&f->verifier, &r, detail, take, f);
	assert_int_equal(n, f->n);
	return f->n;
}

/* The only finding is that the data is that of `from`; UINT64_MAX: of no place that is known. */
static void found_at(const struct fixture *f, uint64_t from)
{
	char text[64];

	assert_int_equal(f->n, 1);
	snprintf(text, sizeof(text), "the data of offset %llu", (unsigned long long)from);
	assert_int_equal(f->got[0].kind,
			 from == UINT64_MAX ? MISCOMPARE_OTHER : MISCOMPARE_MISPLACED);
	assert_string_equal(f->got[0].text, from == UINT64_MAX ? "" : text);
}

/* Words that name their place are enough, however far away it is. */
TEST(test_sequenced_elsewhere)
{
	static const struct pattern_options options[] = {
		{ .kind = PATTERN_SEQUENCED },
		{ .kind = PATTERN_SEQUENCED, .inverse = true },
		{ .kind = PATTERN_SEQUENCED, .prefix = "abc" },
		{ .kind = PATTERN_SEQUENCED, .prefix = "abc", .inverse = true },
	};
	static const uint64_t places[] = { 0, 8, 512, OFFSET + 4096, 1ull << 40 };
	struct fixture f;

	for (size_t i = 0; i < 4; i++) {
		for (size_t k = 0; k < 5; k++) {
			setup_with(&f, VERIFY_CONTENTS, options[i]);
			misplace(&f, OFFSET, SIZE, 3, places[k]);
			check_at(&f, OFFSET, SIZE, false);
			found_at(&f, places[k]);
		}
		/* Its first word is of another offset, and the rest of none. */
		setup_with(&f, VERIFY_CONTENTS, options[i]);
		misplace(&f, OFFSET, SIZE, 3, 1ull << 40);
		memset(f.buf + 3 * 512 + 8, 0x77, 504);
		check_at(&f, OFFSET, SIZE, false);
		found_at(&f, UINT64_MAX);
		/* No word of the pattern begins there. */
		misplace(&f, OFFSET, SIZE, 3, (1ull << 40) + 3);
		check_at(&f, OFFSET, SIZE, false);
		found_at(&f, UINT64_MAX);
	}
	/* Another prefix is another pattern. */
	setup_with(&f, VERIFY_CONTENTS, options[2]);
	misplace(&f, OFFSET, SIZE, 3, 1ull << 40);
	for (size_t at = 3 * 512; at < 4 * 512; at += 8)
		f.buf[at + 7] ^= 0x10;
	check_at(&f, OFFSET, SIZE, false);
	found_at(&f, UINT64_MAX);
	/* An offset beyond those that files have. */
	setup_with(&f, VERIFY_CONTENTS, options[0]);
	misplace(&f, OFFSET, SIZE, 3, 1ull << 63);
	check_at(&f, OFFSET, SIZE, false);
	found_at(&f, UINT64_MAX);
	misplace(&f, OFFSET, SIZE, 3, INT64_MAX - 1023);
	check_at(&f, OFFSET, SIZE, false);
	found_at(&f, INT64_MAX - 1023);
	/* A word alone, which is compared by location, names no place after the end. */
	for (size_t i = 0; i < 2; i++) {
		const uint64_t from = i ? 0x5a5a5a5a5a5a5a58 : (1 << 20) - 512;

		setup(&f, PATTERN_SEQUENCED, VERIFY_LOCATION);
		misplace(&f, OFFSET, SIZE, 3, from);
		check_at(&f, OFFSET, SIZE, false);
		found_at(&f, i ? UINT64_MAX : from);
	}
}

/* The end of a request may have a part of a word, which names no place. */
TEST(test_parts_of_words)
{
	struct fixture f;

	for (uint64_t more = 1; more <= 16; more++) {
		setup(&f, PATTERN_SEQUENCED, VERIFY_CONTENTS);
		misplace(&f, OFFSET, 512 + more, 1, 0x5a5a5a5a5a5a5a58);
		if (more < 8)
			memset(f.buf + 512, 0xa5, more);
		check_at(&f, OFFSET, 512 + more, false);
		assert_int_equal(f.n, 1);
		assert_true((f.got[0].kind == MISCOMPARE_MISPLACED) == (more >= 16));
	}
	/* The word of offset 0 is a place, more zeros are none. */
	for (uint64_t words = 1; words <= 2; words++) {
		setup(&f, PATTERN_SEQUENCED, VERIFY_CONTENTS);
		memset(f.buf + 512, 0, words * 8);
		check_at(&f, OFFSET, 512 + words * 8, false);
		assert_int_equal(f.got[0].kind,
				 words == 1 ? MISCOMPARE_MISPLACED : MISCOMPARE_ZEROS);
	}
}

/* Extents of different distances are told apart; neighbours of one distance are one. */
TEST(test_distances)
{
	struct fixture f;

	setup(&f, PATTERN_SEQUENCED, VERIFY_CONTENTS);
	pattern_bytes(&f.pattern, 1 << 19, 0, f.buf, 1024);
	pattern_bytes(&f.pattern, 1 << 20, 0, f.buf + 1024, 512);
	assert_int_equal(check(&f), 2);
	assert_string_equal(f.got[0].text, "the data of offset 524288");
	assert_int_equal(f.got[0].offset / 512, OFFSET / 512);
	assert_true(f.got[0].bytes > 512 && f.got[0].bytes <= 1024);
	assert_string_equal(f.got[1].text, "the data of offset 1048576");
}

#define MIB (1ull << 20)

/*
 * Data that does not name its place is looked for in the request, then in the target: 256 MiB
 * around the request.
 */
TEST(test_search)
{
	static const struct {
		uint64_t start, end, here, from;
		bool found;
	} cases[] = {
		/* All of a small target; its end is one past its last byte. */
		{ 0, MIB, 512 * 1024, 0, true },
		{ 0, MIB, 512 * 1024, MIB - 512, true },
		{ 0, MIB, 512 * 1024, MIB, false },
		{ 4096, MIB, 512 * 1024, 4096, true },
		{ 4096, MIB, 512 * 1024, 4096 - 512, false },
		/* Of a large one what is near. */
		{ 0, 1024 * MIB, 64 * MIB, 256 * MIB - 512, true },
		{ 0, 1024 * MIB, 512 * MIB, 384 * MIB, true },
		{ 0, 1024 * MIB, 512 * MIB, 384 * MIB - 512, false },
		{ 0, 1024 * MIB, 512 * MIB, 640 * MIB - 512, true },
		{ 0, 1024 * MIB, 512 * MIB, 640 * MIB, false },
		{ 0, 1024 * MIB, 1000 * MIB, 1024 * MIB - 512, true },
		{ 0, 1024 * MIB, 1000 * MIB, 1024 * MIB, false },
		{ 0, 1024 * MIB, 100 * MIB, 0, true },
		{ 0, 1024 * MIB, 200 * MIB, 72 * MIB, true },
		{ 0, 1024 * MIB, 200 * MIB, 72 * MIB - 512, false },
		{ 100 * MIB, 1024 * MIB, 600 * MIB, 472 * MIB, true },
		{ 100 * MIB, 1024 * MIB, 600 * MIB, 472 * MIB - 512, false },
		/* All of one with 256 MiB or less. */
		{ 0, 256 * MIB, 200 * MIB, 0, true },
		{ 100 * MIB, 300 * MIB, 290 * MIB, 100 * MIB, true },
		/* Requests that do not begin where sectors of the disk do. */
		{ 0, MIB, 512 * 1024 + 100, 100, true },
		{ 0, MIB, 512 * 1024 + 100, 512 * 7 + 100, true },
		{ 4096, MIB, 512 * 1024 + 100, 4096 + 100, true },
		{ 0, MIB, 512 * 1024 + 100, 512 * 7 + 101, false },
		/* A target of no size: the request alone. */
		{ 0, 0, 512 * 1024, 0, false },
	};
	struct fixture f;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		setup(&f, PATTERN_RANDOM, VERIFY_CONTENTS);
		f.target.start_bytes = cases[i].start;
		f.target.end_bytes = cases[i].end;
		misplace(&f, cases[i].here, 1024, 0, cases[i].from);
		check_at(&f, cases[i].here, 1024, true);
		found_at(&f, cases[i].found ? cases[i].from : UINT64_MAX);
		pattern_destroy(&f.pattern);
	}
}

/* Data of any pass, or of runs before this one, may be anywhere in the file. */
TEST(test_search_end)
{
	static const struct {
		uint64_t pass_bytes, end, size, last;
	} cases[] = {
		{ 4096, 65536, 0, 65536 },
		{ 4096, 65536, 32768, 65536 },
		{ 4096, 32768, 65536, 65536 },
		{ PLAN_UNLIMITED, 1 << 20, 65536, 65536 },
	};
	struct fixture f;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		for (int beyond = 0; beyond < 2; beyond++) {
			uint64_t from = cases[i].last - (beyond ? 0 : 512);

			setup(&f, PATTERN_RANDOM, VERIFY_CONTENTS);
			f.target.pass_bytes = cases[i].pass_bytes;
			f.target.end_bytes = cases[i].end;
			f.target.size_bytes = cases[i].size;
			misplace(&f, 8192, 1024, 0, from);
			check_at(&f, 8192, 1024, true);
			found_at(&f, beyond ? UINT64_MAX : from);
			pattern_destroy(&f.pattern);
		}
	}
}

/* The request is searched first, also where it is outside of the target. */
TEST(test_search_request)
{
	struct fixture f;

	for (uint64_t skew = 0; skew <= 100; skew += 100) {
		for (uint64_t from = 0; from < 1024; from += 512) {
			setup(&f, PATTERN_RANDOM, VERIFY_CONTENTS);
			f.target.start_bytes = f.target.end_bytes = MIB;
			misplace(&f, OFFSET + skew, 1536, 2, OFFSET + skew + from);
			check_at(&f, OFFSET + skew, 1536, true);
			found_at(&f, OFFSET + skew + from);
			pattern_destroy(&f.pattern);
		}
	}
}

/* Searches take time: there are 32, none where the text is not used, and none for a known way. */
TEST(test_searches)
{
	struct fixture f;

	setup(&f, PATTERN_RANDOM, VERIFY_CONTENTS);
	misplace(&f, OFFSET, 1024, 0, 512 * 7);
	check_at(&f, OFFSET, 1024, false);
	found_at(&f, UINT64_MAX);
	for (unsigned i = 0; i < 33; i++) {
		check_at(&f, OFFSET, 1024, true);
		found_at(&f, i < 32 ? 512 * 7 : UINT64_MAX);
	}
	pattern_destroy(&f.pattern);

	/* The second and third sectors are as far away as the first one. */
	setup(&f, PATTERN_RANDOM, VERIFY_CONTENTS);
	f.verifier.scans = 1;
	pattern_bytes(&f.pattern, 0, 0, f.buf, 1024);
	pattern_bytes(&f.pattern, 4096, 0, f.buf + 4096, 512);
	assert_int_equal(check(&f), 2);
	assert_string_equal(f.got[0].text, "the data of offset 0");
	assert_string_equal(f.got[1].text, "the data of offset 4096");
	/* Another distance would need another search. */
	f.verifier.scans = 1;
	pattern_bytes(&f.pattern, 4608, 0, f.buf + 4096, 512);
	assert_int_equal(check(&f), 2);
	assert_int_equal(f.got[1].kind, MISCOMPARE_OTHER);
	pattern_destroy(&f.pattern);

	/* Few bytes are found anywhere. */
	for (uint64_t more = 15; more <= 16; more++) {
		setup(&f, PATTERN_RANDOM, VERIFY_CONTENTS);
		misplace(&f, OFFSET, 512 + more, 1, 512 * 7);
		check_at(&f, OFFSET, 512 + more, true);
		found_at(&f, more < 16 ? UINT64_MAX : 512 * 7);
		pattern_destroy(&f.pattern);
	}
}

/* ---- sectors of two parts ---- */

/* The bytes from `first` to `last` of a sector are wrong. */
static const struct miscompare *wrong_bytes(struct fixture *f, size_t first, size_t last, int byte)
{
	setup(f, PATTERN_RANDOM, VERIFY_CONTENTS);
	f->verifier.scans = 0;
	for (size_t i = first; i <= last; i++)
		f->buf[1024 + i] = byte < 0 ? (uint8_t)~f->buf[1024 + i] : (uint8_t)byte;
	assert_int_equal(check(f), 1);
	pattern_destroy(&f->pattern);
	return &f->got[0];
}

TEST(test_torn)
{
	struct fixture f;
	const struct miscompare *m = wrong_bytes(&f, 16, 511, -1);

	assert_int_equal(m->kind, MISCOMPARE_TORN);
	assert_string_equal(m->text,
			    "of 512 bytes from 41984 on the first 16 are right, the rest is "
			    "other data");
	assert_int_equal(wrong_bytes(&f, 15, 511, -1)->kind, MISCOMPARE_OTHER);
	m = wrong_bytes(&f, 0, 495, -1);
	assert_int_equal(m->kind, MISCOMPARE_TORN);
	assert_string_equal(m->text,
			    "of 512 bytes from 41984 on the last 16 are right, the rest is "
			    "other data");
	assert_int_equal(wrong_bytes(&f, 0, 496, -1)->kind, MISCOMPARE_OTHER);
	/* Neither end, or both. */
	assert_int_equal(wrong_bytes(&f, 0, 511, -1)->kind, MISCOMPARE_OTHER);
	assert_int_equal(wrong_bytes(&f, 100, 400, -1)->kind, MISCOMPARE_OTHER);
	/* The part that is wrong is as long. */
	assert_int_equal(wrong_bytes(&f, 495, 511, -1)->kind, MISCOMPARE_TORN);
	assert_int_equal(wrong_bytes(&f, 496, 511, -1)->kind, MISCOMPARE_OTHER);
	m = wrong_bytes(&f, 256, 511, 0);
	assert_non_null(strstr(m->text, "the first 256 are right, the rest is zeros"));
	m = wrong_bytes(&f, 0, 255, 0);
	assert_non_null(strstr(m->text, "the last 256 are right, the rest is zeros"));
	/* Up to 16 bits are flipped. */
	assert_int_equal(wrong_bytes(&f, 500, 501, -1)->kind, MISCOMPARE_FLIPPED);
	assert_int_equal(wrong_bytes(&f, 500, 502, -1)->kind, MISCOMPARE_OTHER);
}

TEST(test_torn_poison)
{
	struct fixture f;

	for (int tail = 0; tail < 2; tail++) {
		setup(&f, PATTERN_RANDOM, VERIFY_CONTENTS);
		f.verifier.scans = 0;
		if (tail)
			verify_poison(f.buf, 1024 + 256 + 3, 1536);
		else {
			verify_poison(f.buf, 1024, 1024 + 256 - 3);
		}
		assert_int_equal(check(&f), 1);
		assert_int_equal(f.got[0].kind, MISCOMPARE_TORN);
		assert_non_null(
			strstr(f.got[0].text,
			       tail ? "the first 259 are right, the rest is never transferred" :
				      "the last 259 are right, the rest is never transferred"));
		pattern_destroy(&f.pattern);
	}
}

/* Tags where another pattern should be name the run, and are apart from those of other runs. */
TEST(test_tags_elsewhere)
{
	struct fixture f;
	struct tag tag = { .run = 0xabc, .offset = OFFSET, .request = OFFSET, .bytes = SIZE };
	const char *why;

	if (!tag_available(&why))
		skip();
	for (int contents = 0; contents < 2; contents++) {
		setup(&f, PATTERN_RANDOM, contents ? VERIFY_CONTENTS : VERIFY_LOCATION);
		tag_fill(&tag, f.buf, 1024);
		tag.run = 0xdef;
		tag.offset = OFFSET + 1024;
		tag_fill(&tag, f.buf + 1024, 512);
		tag.run = 0xabc;
		tag.offset = OFFSET;
		assert_int_equal(check(&f), 2);
		assert_int_equal(f.got[0].kind, MISCOMPARE_OTHER);
		assert_string_equal(f.got[0].text,
				    contents ? "tagged data of run abc: say -datapattern tagged" :
					       "tagged data of run abc: say -datapattern tagged "
					       "-verify contents");
		assert_true(strstr(f.got[1].text, "run def"));
		pattern_destroy(&f.pattern);
	}
	/* A part of a sector has a part of a tag. */
	setup(&f, PATTERN_RANDOM, VERIFY_CONTENTS);
	tag_fill(&tag, f.buf, 512);
	check_at(&f, OFFSET, 508, true);
	assert_string_equal(f.got[0].text, "");
	pattern_destroy(&f.pattern);
}

static void tagged(struct fixture *f, uint64_t run, uint64_t generation)
{
	const struct tag tag = { .run = run,
				 .offset = OFFSET,
				 .generation = generation,
				 .pass = 7,
				 .oldest = generation,
				 .request = OFFSET,
				 .sweep = OFFSET,
				 .bytes = SIZE };

	tag_fill(&tag, f->buf, SIZE);
}

/* With a book: writes 1 and 2 of this run are over, and 2 went to the first sector only. */
TEST(test_tagged)
{
	struct fixture f;
	struct tag_book book;
	uint64_t bounds[SIZE / 512], oldest;
	struct verify_read r = {
		.buf = f.buf, .offset = OFFSET, .bytes = SIZE, .op = 5, .pass = 2, .bounds = bounds
	};
	uint8_t head[200];
	const char *why;

	if (!tag_available(&why))
		skip();
	setup(&f, PATTERN_TAGGED, VERIFY_CONTENTS);
	assert_int_equal(tag_book_init(&book, 1, 0, 1 << 20, false), 0);
	verifier_init(&f.verifier, &f.target, &f.pattern, 1000, &book, NULL);
	tag_book_write(&book, 0, OFFSET, SIZE - 512, &oldest);
	tag_book_written(&book, 0, true);
	tag_book_write(&book, 0, OFFSET, 512, &oldest);
	tag_book_written(&book, 0, true);
	r.logged = tag_book_read(&book, OFFSET, SIZE, bounds);

	tagged(&f, 1000, 1);
	assert_int_equal(verify_read(&f.verifier, &r, true, take, &f), 1);
	expect(&f, 0, MISCOMPARE_STALE, OFFSET, 512);
	f.n = 0;
	tagged(&f, 1000, 2);
	assert_int_equal(verify_read(&f.verifier, &r, true, take, &f), 0);
	/*
	 * A write that was not made; one of another run, where this one has written and where not.
	 */
	tagged(&f, 1000, 3);
	assert_int_equal(verify_read(&f.verifier, &r, true, take, &f), 1);
	assert_int_equal(f.got[0].kind, MISCOMPARE_OTHER);
	f.n = 0;
	tagged(&f, 999, 77);
	assert_int_equal(verify_read(&f.verifier, &r, true, take, &f), 1);
	expect(&f, 0, MISCOMPARE_STALE, OFFSET, SIZE - 512);
	f.n = 0;
	/* No tag: wrong where there must be one, and unknown where this run has not written. */
	tagged(&f, 1000, 2);
	memset(f.buf + 512, 0, 512);
	f.buf[512] = 0x11;
	memset(f.buf + SIZE - 512, 0x11, 512);
	assert_int_equal(verify_read(&f.verifier, &r, true, take, &f), 1);
	expect(&f, 0, MISCOMPARE_OTHER, OFFSET + 512, 512);
	assert_int_equal(f.verifier.unjudged, 1);
	f.n = 0;
	/* A sector of two writes. */
	tagged(&f, 1000, 2);
	memset(f.buf + 512 + 200, 0, 312);
	assert_int_equal(verify_read(&f.verifier, &r, true, take, &f), 1);
	expect(&f, 0, MISCOMPARE_TORN, OFFSET + 512 + 200, 312);
	assert_string_equal(f.got[0].text,
			    "the first 200 bytes of the sector at 41472 are of write 2 in pass 7 "
			    "of run 3e8, the rest is zeros");
	f.n = 0;
	tagged(&f, 1000, 2);
	memset(f.buf + 512, 0x11, 200);
	assert_int_equal(verify_read(&f.verifier, &r, true, take, &f), 1);
	expect(&f, 0, MISCOMPARE_TORN, OFFSET + 512, 200);
	assert_string_equal(f.got[0].text,
			    "the last 312 bytes of the sector at 41472 are of write 2 in pass 7 "
			    "of run 3e8, the rest is other data");
	f.n = 0;
	/* The write that its head is of, and not the write of its neighbours. */
	tagged(&f, 1000, 1);
	memcpy(head, f.buf + 512, sizeof(head));
	tagged(&f, 1000, 2);
	memset(f.buf + 512, 0, 512);
	memcpy(f.buf + 512, head, sizeof(head));
	assert_int_equal(verify_read(&f.verifier, &r, true, take, &f), 1);
	expect(&f, 0, MISCOMPARE_TORN, OFFSET + 512 + 200, 312);
	assert_string_equal(f.got[0].text,
			    "the first 200 bytes of the sector at 41472 are of write 1 in pass 7 "
			    "of run 3e8, the rest is zeros");
	f.n = 0;
	/* While it is being written a broken tag says nothing. */
	tag_book_write(&book, 0, OFFSET, 1024, &oldest);
	assert_int_equal(verify_read(&f.verifier, &r, true, take, &f), 0);
	tag_book_destroy(&book);
}

/* Without one: parts of a write that others should have replaced. */
TEST(test_partial)
{
	struct fixture f;
	struct tag_history *history;
	struct tag old = { .run = 1,
			   .offset = OFFSET + 1024,
			   .generation = 5,
			   .oldest = 5,
			   .request = OFFSET,
			   .sweep = OFFSET,
			   .bytes = SIZE };
	const char *why;

	if (!tag_available(&why))
		skip();
	setup(&f, PATTERN_TAGGED, VERIFY_CONTENTS);
	assert_int_equal(tag_history_new(&history), 0);
	verifier_init(&f.verifier, &f.target, &f.pattern, 1000, NULL, history);
	tagged(&f, 1, 9);
	assert_int_equal(check(&f), 0);
	tag_fill(&old, f.buf + 1024, 1024);
	assert_int_equal(check(&f), 1);
	expect(&f, 0, MISCOMPARE_STALE, OFFSET + 1024, 1024);
	/* Not when the two went on at the same time. */
	tagged(&f, 1, 9);
	old.offset = OFFSET;
	old.generation = 8;
	tag_fill(&old, f.buf, SIZE);
	old.generation = 9;
	old.oldest = 8;
	old.offset = OFFSET + 1024;
	tag_fill(&old, f.buf + 1024, 1024);
	assert_int_equal(check(&f), 0);
	tag_history_free(history);
}

RUN_TESTS(NULL, NULL)
