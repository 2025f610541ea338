/* Verification: the kinds that are reported for data that is wrong in a known way. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

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

static void setup(struct fixture *f, enum pattern_kind kind, enum verify_kind verify)
{
	memset(f, 0, sizeof(*f));
	f->target.pattern.kind = kind;
	f->target.verify = verify;
	f->target.pass_bytes = 1 << 20;
	f->target.end_bytes = 1 << 20;
	assert_int_equal(pattern_init(&f->pattern, &f->target), 0);
	verifier_init(&f->verifier, &f->target, &f->pattern, 1000, NULL, NULL);
	pattern_bytes(&f->pattern, OFFSET, 0, f->buf, SIZE);
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

static void test_plain(void **state)
{
	struct fixture f;

	(void)state;
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
static void test_poison(void **state)
{
	uint8_t whole[40], part[40];

	(void)state;
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

static void test_places(void **state)
{
	static const enum pattern_kind kinds[] = { PATTERN_SEQUENCED, PATTERN_RANDOM };
	struct fixture f;

	(void)state;
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

static void tagged(struct fixture *f, uint64_t run, uint64_t generation)
{
	const struct tag tag = { .run = run,
				 .offset = OFFSET,
				 .generation = generation,
				 .oldest = generation,
				 .request = OFFSET,
				 .sweep = OFFSET,
				 .bytes = SIZE };

	tag_fill(&tag, f->buf, SIZE);
}

/* With a book: writes 1 and 2 of this run are over, and 2 went to the first sector only. */
static void test_tagged(void **state)
{
	struct fixture f;
	struct tag_book book;
	uint64_t bounds[SIZE / 512], oldest;
	struct verify_read r = {
		.buf = f.buf, .offset = OFFSET, .bytes = SIZE, .op = 5, .pass = 2, .bounds = bounds
	};
	const char *why;

	(void)state;
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
	memset(f.buf + 512, 0x11, 512);
	memset(f.buf + SIZE - 512, 0x11, 512);
	assert_int_equal(verify_read(&f.verifier, &r, true, take, &f), 1);
	expect(&f, 0, MISCOMPARE_OTHER, OFFSET + 512, 512);
	assert_int_equal(f.verifier.unjudged, 1);
	f.n = 0;
	/* While it is being written a broken tag says nothing. */
	tag_book_write(&book, 0, OFFSET, 1024, &oldest);
	assert_int_equal(verify_read(&f.verifier, &r, true, take, &f), 0);
	tag_book_destroy(&book);
}

/* Without one: parts of a write that others should have replaced. */
static void test_partial(void **state)
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

	(void)state;
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_plain),	cmocka_unit_test(test_poison),
		cmocka_unit_test(test_places),	cmocka_unit_test(test_tagged),
		cmocka_unit_test(test_partial),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
