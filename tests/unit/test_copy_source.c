/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The source of a copy, against a destination that the test plays: src/copy/source/.
 */
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "copy/source/source.h"
#include "copy_source_rig.h"
#include "xdd/base/units.h"

#define SMALL_BYTES 1000u
#define LARGE_BYTES 1000000u
#define HUGE_BYTES (20u << 20) /* more than fits into the buffers of all connections */

static const char *const one_small[] = { "small", NULL };
static const char *const one_large[] = { "large", NULL };
static const char *const one_huge[] = { "huge", NULL };
static const char *const both[] = { "small", "large", NULL };

static void open_rig(struct rig *r, const char *const *names)
{
	rig_init(r);
	r->names = (const char **)names;
	rig_file(r, "small", SMALL_BYTES, 1);
	rig_file(r, "large", LARGE_BYTES, 2);
}

static void check_small(struct rig *r, uint64_t id, unsigned seed)
{
	struct copy_bundle_file f = rig_record(r, id);
	uint8_t *data = rig_contents(SMALL_BYTES, seed);

	assert_int_equal(f.status, 0);
	assert_int_equal(f.size, SMALL_BYTES);
	assert_memory_equal(f.data, data, SMALL_BYTES);
	free(data);
}

static void check_large(struct rig *r, uint64_t id, unsigned seed)
{
	struct copy_file_end end = rig_file_end(r, id);
	uint8_t *data = rig_contents(LARGE_BYTES, seed), *got = malloc(LARGE_BYTES);

	assert_int_equal(end.status, 0);
	assert_int_equal(end.bytes, LARGE_BYTES);
	assert_int_equal(end.messages, (LARGE_BYTES + RIG_BLOCK_BYTES - 1) / RIG_BLOCK_BYTES);
	assert_int_equal(rig_blocks(r, id, got, LARGE_BYTES), LARGE_BYTES);
	assert_memory_equal(got, data, LARGE_BYTES);
	free(data);
	free(got);
}

static void want_contents(struct rig *r, uint64_t id)
{
	rig_want(r, id, COPY_SEND, NULL, 0);
}

/* Of the bodies of all messages of data. */
static uint64_t data_bytes(struct rig *r)
{
	uint64_t n = 0;

	pthread_mutex_lock(&r->lock);
	for (size_t i = 0; i < r->n_messages; i++)
		n += r->messages[i].length;
	pthread_mutex_unlock(&r->lock);
	return n;
}

/* Both files were offered: they arrive, and the copy ends well. */
static void take_both(struct rig *r)
{
	want_contents(r, 2);
	want_contents(r, 1);
	check_small(r, 1, 1);
	check_large(r, 2, 2);
	rig_result(r, 1, COPY_DONE);
	rig_result(r, 2, COPY_DONE);
	rig_finish(r, 2, SMALL_BYTES + LARGE_BYTES);
	assert_int_equal(r->sent.walk_done, 1);
	assert_int_equal(r->sent.offered_files, 2);
	assert_int_equal(r->sent.offered_bytes, SMALL_BYTES + LARGE_BYTES);
	assert_int_equal(r->sent.offered_dirs + r->sent.offered_links, 0);
	assert_int_equal(r->sent.done_files, 2);
	assert_int_equal(r->sent.done_bytes, SMALL_BYTES + LARGE_BYTES);
	assert_int_equal(r->sent.moved_bytes, data_bytes(r));
	assert_int_equal(r->sent.failed + r->sent.warnings, 0);
	assert_int_equal(r->sent.status, 0);
	assert_int_equal(rig_end(r), 0);
	assert_int_equal(r->n_failures, 0);
}

TEST(test_files)
{
	struct rig r;

	open_rig(&r, both);
	rig_start(&r);
	assert_int_equal(rig_offers(&r), 2);
	take_both(&r);
}

TEST(test_direct)
{
	struct rig r;

	open_rig(&r, both);
	r.settings.direct_source = true;
	rig_start(&r);
	rig_offers(&r);
	take_both(&r);
}

static size_t bundles(struct rig *r)
{
	size_t n = 0;

	pthread_mutex_lock(&r->lock);
	for (size_t i = 0; i < r->n_messages; i++)
		n += r->messages[i].type == WIRE_COPY_BUNDLE;
	pthread_mutex_unlock(&r->lock);
	return n;
}

/* Wants of one message: bundles have up to 64 KiB, here four files, then the last. */
TEST(test_bundles)
{
	static const char *const names[] = { "a", "b", "c", "d", "e", NULL };
	static const size_t sizes[] = { 1000, 1000, 1000, 40000, 40000 };
	uint8_t out[1024];
	size_t length = 0;
	struct rig r;

	rig_init(&r);
	r.names = (const char **)names;
	for (unsigned i = 0; i < 5; i++)
		rig_file(&r, names[i], sizes[i], i);
	rig_start(&r);
	assert_int_equal(rig_offers(&r), 5);
	for (uint64_t id = 1; id <= 5; id++) {
		const struct copy_want w = { .id = id, .how = COPY_SEND };

		length += copy_encode_want(&w, out + length, sizeof(out) - length);
	}
	assert_int_equal(link_send_body(r.channel, WIRE_COPY_WANT, out, length), 0);
	for (uint64_t id = 1; id <= 5; id++)
		assert_int_equal(rig_record(&r, id).size, sizes[id - 1]);
	assert_int_equal(bundles(&r), 2);
	for (uint64_t id = 1; id <= 5; id++)
		rig_result(&r, id, COPY_DONE);
	rig_finish(&r, 5, 83000);
	assert_int_equal(rig_end(&r), 0);
}

/* The sides count other files. */
TEST(test_counts_differ)
{
	struct rig r;

	open_rig(&r, one_small);
	rig_start(&r);
	rig_offers(&r);
	want_contents(&r, 1);
	check_small(&r, 1, 1);
	rig_result(&r, 1, COPY_DONE);
	rig_finish(&r, 1, SMALL_BYTES - 1);
	assert_int_equal(rig_end(&r), COPY_FAILED);
	assert_non_null(strstr(r.failure, "disagree"));
}

/* ---- the window ---- */

static uint64_t count_entries(const struct rig *r)
{
	struct copy_cursor *c = malloc(sizeof(*c));
	struct copy_entry e;
	uint64_t n = 0;
	bool more;

	c->in = dec_begin(r->body, r->h.length);
	while (copy_decode_entry(c, &e, &more) == WIRE_OK && more)
		n += e.kind == COPY_FILE;
	free(c);
	return n;
}

TEST(test_window)
{
	uint64_t total = COPY_WINDOW_ENTRIES + 1000, offered = 0, ended = 0;
	struct rig r;

	rig_init(&r);
	r.generated = total;
	rig_start(&r);
	while (offered < COPY_WINDOW_ENTRIES) {
		rig_next(&r, WIRE_COPY_OFFER);
		offered += count_entries(&r);
	}
	assert_int_equal(offered, COPY_WINDOW_ENTRIES);
	/* One result makes room for one entry. */
	rig_result(&r, ++ended, COPY_SAME);
	rig_next(&r, WIRE_COPY_OFFER);
	assert_int_equal(count_entries(&r), 1);
	/* Only of entries that were offered: others are refused. */
	while (ended < COPY_WINDOW_ENTRIES + 1)
		rig_result(&r, ++ended, COPY_SAME);
	for (offered = COPY_WINDOW_ENTRIES + 1; offered < total; offered += count_entries(&r))
		rig_next(&r, WIRE_COPY_OFFER);
	assert_int_equal(offered, total);
	while (ended < total)
		rig_result(&r, ++ended, COPY_SAME);
	rig_finish(&r, 0, 0);
	assert_int_equal(rig_end(&r), 0);
}

/* ---- a destination that breaks the rules; func/copy_hostile_destinations.py has more ---- */

static void start_offered(struct rig *r)
{
	open_rig(r, both);
	rig_start(r);
	rig_offers(r);
}

static void refused(struct rig *r, const char *text)
{
	rig_expect_error(r, text);
	assert_int_equal(rig_end(r), COPY_FAILED);
	assert_non_null(strstr(r->job.why.text, text));
}

/* A file that was sent is not sent again; of several ranges the last one may be outside. */
TEST(test_bad_wants)
{
	const struct extent last_outside[] = { { 0, 4096 }, { 8192, LARGE_BYTES + 1 } };
	struct rig r;

	start_offered(&r);
	want_contents(&r, 1);
	check_small(&r, 1, 1);
	want_contents(&r, 1);
	refused(&r, "want that is not valid for entry 1");

	start_offered(&r);
	rig_want(&r, 2, COPY_SEND, last_outside, 2);
	refused(&r, "want that is not valid for entry 2");
}

/* A source that has offered one huge file, whose data nothing takes. */
static void offer_huge(struct rig *r)
{
	open_rig(r, one_huge);
	rig_file(r, "huge", HUGE_BYTES, 3);
	rig_start(r);
	rig_offers(r);
	rig_hold(r, true);
}

TEST(test_bad_results)
{
	static const struct {
		bool verify, dry_run;
		enum copy_outcome outcome;
	} wrong[] = {
		{ false, false, COPY_EQUAL }, { false, false, COPY_DIFFERS },
		{ false, false, COPY_WOULD }, { true, false, COPY_DONE },
		{ true, false, COPY_WOULD },  { false, true, COPY_DONE },
		{ false, true, COPY_EQUAL },  { false, true, COPY_DIFFERS },
	};
	struct rig r;

	/* Of one that is still being sent. */
	offer_huge(&r);
	want_contents(&r, 1);
	rig_result(&r, 1, COPY_DONE);
	refused(&r, "result that is not valid for entry 1");

	/* A copy, -k and -n each have outcomes that the others refuse. */
	for (unsigned i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		open_rig(&r, both);
		r.settings.verify = wrong[i].verify;
		r.settings.dry_run = wrong[i].dry_run;
		rig_start(&r);
		rig_offers(&r);
		rig_result(&r, 1, wrong[i].outcome);
		refused(&r, "result that is not valid for entry 1");
	}
}

/* -k and -n have outcomes of their own. */
TEST(test_other_results)
{
	struct rig r;

	open_rig(&r, both);
	r.settings.verify = true;
	rig_start(&r);
	rig_offers(&r);
	rig_result(&r, 1, COPY_EQUAL);
	rig_result(&r, 2, COPY_DIFFERS);
	rig_finish(&r, 0, 0);
	assert_int_equal(rig_end(&r), 0);
	open_rig(&r, both);
	r.settings.dry_run = true;
	rig_start(&r);
	rig_offers(&r);
	rig_result(&r, 1, COPY_WOULD);
	rig_result(&r, 2, COPY_SAME);
	rig_finish(&r, 0, 0);
	assert_int_equal(rig_end(&r), 0);
}

/* ---- files that fail ---- */

TEST(test_vanished)
{
	struct copy_bundle_file f;
	struct rig r;

	start_offered(&r);
	assert_int_equal(unlinkat(r.dir_fd, "small", 0), 0);
	assert_int_equal(unlinkat(r.dir_fd, "large", 0), 0);
	want_contents(&r, 1);
	f = rig_record(&r, 1);
	assert_int_equal(f.status, COPY_FAILED);
	assert_string_equal((const char *)f.data, "cannot open (No such file or directory)");
	want_contents(&r, 2);
	assert_int_equal(rig_file_end(&r, 2).status, COPY_FAILED);
	rig_result(&r, 1, COPY_LOST);
	rig_result(&r, 2, COPY_LOST);
	rig_finish(&r, 0, 0);
	assert_int_equal(rig_end(&r), COPY_FAILED);
	assert_int_equal(r.n_failures, 2);
	assert_int_equal(r.failures_sent, 2);
	assert_int_equal(r.sent.failed, 2);
	assert_int_equal(r.sent.done_files + r.sent.done_bytes, 0);
	assert_int_equal(r.sent.status, COPY_FAILED);
	assert_string_equal(r.failure, "large: cannot open (No such file or directory)");
}

/* The same size, but other contents; another file of the same name; a link. */
static void change(struct rig *r, int how)
{
	switch (how) {
	case 0:
		rig_file(r, "small", SMALL_BYTES, 9);
		break;
	case 1:
		rig_file(r, "small", SMALL_BYTES + 1, 1);
		break;
	case 2:
		rig_file(r, "small", SMALL_BYTES - 1, 1);
		break;
	case 3:
		rig_file(r, "other", SMALL_BYTES, 1);
		assert_int_equal(renameat(r->dir_fd, "other", r->dir_fd, "small"), 0);
		break;
	case 4:
		assert_int_equal(unlinkat(r->dir_fd, "small", 0), 0);
		assert_int_equal(symlinkat("large", r->dir_fd, "small"), 0);
		break;
	default:
		assert_int_equal(unlinkat(r->dir_fd, "small", 0), 0);
		assert_int_equal(mkfifoat(r->dir_fd, "small", 0600), 0);
	}
}

TEST(test_changed)
{
	for (int how = 0; how < 6; how++) {
		struct rig r;

		start_offered(&r);
		change(&r, how);
		want_contents(&r, 1);
		assert_int_equal(rig_record(&r, 1).status, COPY_FAILED);
		rig_result(&r, 1, COPY_LOST);
		rig_result(&r, 2, COPY_SAME);
		rig_finish(&r, 0, 0);
		assert_int_equal(rig_end(&r), COPY_FAILED);
		assert_int_equal(r.n_failures, 1);
		if (!strstr(r.failure, "while it was copied"))
			fail_msg("%d: %s", how, r.failure);
	}
}

/* ---- young files: the source waits ---- */

static struct rig *waited; /* of the test that follows the waits; NULL: none does */
static unsigned waits;
static unsigned touches; /* the file is touched in so many waits */
static unsigned changes; /* and changed in this one; 0: in none */
static int writer;	 /* keeps the file open for writing, until nothing more happens to it */

static void during_wait(void)
{
	waits++;
	if (waits <= touches) {
		assert_int_equal(fchmodat(waited->dir_fd, "small", 0600 + waits % 2, 0), 0);
	} else if (waits == changes) {
		assert_int_equal(pwrite(writer, "x", 1, SMALL_BYTES), 1);
	} else if (!changes && writer >= 0) {
		close(writer);
		writer = -1;
	}
}

int nanosleep(const struct timespec *time, struct timespec *left)
{
	if (waited)
		during_wait();
	return clock_nanosleep(CLOCK_REALTIME, 0, time, left);
}

static void start_waiting(struct rig *r, unsigned n, unsigned change)
{
	start_offered(r);
	writer = openat(r->dir_fd, "small", O_WRONLY | O_CLOEXEC);
	assert_true(writer >= 0);
	waits = 0;
	touches = n;
	changes = change;
	waited = r;
	want_contents(r, 1);
}

/* One that changes fails at once; one that is touched is looked at again, but not for ever. */
TEST(test_changed_while_waiting)
{
	static const unsigned fails[][3] = { { 0, 1, 1 }, { 0, 3, 3 }, { 2, 3, 3 }, { 5, 0, 4 } };
	struct rig r;

	for (size_t i = 0; i < sizeof(fails) / sizeof(fails[0]); i++) {
		start_waiting(&r, fails[i][0], fails[i][1]);
		assert_int_equal(rig_record(&r, 1).status, COPY_FAILED);
		waited = NULL;
		assert_int_equal(waits, fails[i][2]);
		close(writer);
		rig_result(&r, 1, COPY_LOST);
		rig_result(&r, 2, COPY_SAME);
		rig_finish(&r, 0, 0);
		assert_int_equal(rig_end(&r), COPY_FAILED);
		assert_string_equal(r.failure, "small: changed while it was copied");
	}
	start_waiting(&r, 3, 0);
	check_small(&r, 1, 1);
	waited = NULL;
	assert_true(waits > 3);
	rig_result(&r, 1, COPY_DONE);
	rig_result(&r, 2, COPY_SAME);
	rig_finish(&r, 1, SMALL_BYTES);
	assert_int_equal(rig_end(&r), 0);
}

/* Attributes that change leave the contents alone. */
TEST(test_touched)
{
	struct rig r;

	start_offered(&r);
	assert_int_equal(fchmodat(r.dir_fd, "small", 0600, 0), 0);
	assert_int_equal(fchmodat(r.dir_fd, "large", 0600, 0), 0);
	take_both(&r);
}

static void change_huge(struct rig *r, int how)
{
	int fd = openat(r->dir_fd, "huge", O_WRONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	if (how == 0)
		assert_int_equal(ftruncate(fd, HUGE_BYTES / 2), 0);
	else if (how == 1)
		assert_int_equal(ftruncate(fd, HUGE_BYTES + 1), 0);
	else
		assert_int_equal(pwrite(fd, "x", 1, 10), 1);
	close(fd);
}

/* While it is read: nothing is received, so the source cannot go on. */
TEST(test_large_changes)
{
	static const char *const texts[] = { "shorter", "changed", "changed" };

	for (int how = 0; how < 3; how++) {
		struct rig r;

		open_rig(&r, one_huge);
		rig_file(&r, "huge", HUGE_BYTES, 3);
		rig_start(&r);
		rig_offers(&r);
		rig_hold(&r, true);
		want_contents(&r, 1);
		rig_await_data(&r);
		usleep(100000); /* time stamps are coarse */
		change_huge(&r, how);
		rig_hold(&r, false);
		assert_int_equal(rig_file_end(&r, 1).status, COPY_FAILED);
		rig_result(&r, 1, COPY_LOST);
		rig_finish(&r, 0, 0);
		assert_int_equal(rig_end(&r), COPY_FAILED);
		assert_int_equal(r.n_failures, 1);
		if (!strstr(r.failure, texts[how]))
			fail_msg("%d: %s", how, r.failure);
	}
}

/* The destination has lost it: it is read no more, and FILE_END counts what was sent. */
TEST(test_lost)
{
	struct copy_file_end end;
	struct rig r;

	offer_huge(&r);
	want_contents(&r, 1);
	rig_await_data(&r);
	rig_result(&r, 1, COPY_LOST);
	while (rig_unanswered(&r))
		usleep(1000);
	rig_hold(&r, false);
	end = rig_file_end(&r, 1);
	assert_true(end.bytes < HUGE_BYTES);
	rig_finish(&r, 0, 0);
	assert_int_equal(rig_end(&r), 0);
	assert_int_equal(r.n_failures, 0);
}

/* ---- ranges, digests, holes ---- */

TEST(test_ranges)
{
	static const struct extent missing[] = { { 5, 100 },
						 { RIG_BLOCK_BYTES - 1, RIG_BLOCK_BYTES + 1 },
						 { LARGE_BYTES - 1, LARGE_BYTES } };
	uint8_t *data = rig_contents(LARGE_BYTES, 2), *got = malloc(LARGE_BYTES);
	struct copy_file_end end;
	struct rig r;

	open_rig(&r, one_large);
	rig_start(&r);
	rig_offers(&r);
	rig_want(&r, 1, COPY_SEND, missing, 3);
	end = rig_file_end(&r, 1);
	assert_int_equal(end.bytes, 95 + 2 + 1);
	assert_int_equal(rig_blocks(&r, 1, got, LARGE_BYTES), end.bytes);
	for (int i = 0; i < 3; i++)
		assert_memory_equal(got + missing[i].begin, data + missing[i].begin,
				    missing[i].end - missing[i].begin);
	rig_result(&r, 1, COPY_DONE);
	rig_finish(&r, 1, LARGE_BYTES);
	assert_int_equal(rig_end(&r), 0);
	free(data);
	free(got);
}

/* Compare the digests of all messages with those of the contents. */
static void check_sums(struct rig *r, const uint8_t *data)
{
	size_t blocks = 0;

	for (size_t i = 0; i < r->n_messages; i++) {
		struct wire_sums b;

		if (r->messages[i].type != WIRE_COPY_SUMS)
			continue;
		assert_int_equal(copy_decode_sums(r->messages[i].body, r->messages[i].length, &b),
				 WIRE_OK);
		assert_int_equal(b.block_bytes, COPY_MIN_BLOCK_BYTES);
		for (size_t k = 0; k < b.n; k++, blocks++) {
			uint64_t at = b.offset_bytes + k * COPY_MIN_BLOCK_BYTES;
			uint64_t size = b.end_bytes - at < COPY_MIN_BLOCK_BYTES ?
						b.end_bytes - at :
						COPY_MIN_BLOCK_BYTES;

			assert_true(
				digest_equal(wire_sums_at(&b, k), digest_data(data + at, size)));
		}
	}
	assert_int_equal(blocks, (LARGE_BYTES + COPY_MIN_BLOCK_BYTES - 1) / COPY_MIN_BLOCK_BYTES);
}

/* Digests, and the contents then. */
TEST(test_sums)
{
	uint8_t *data = rig_contents(LARGE_BYTES, 2);
	struct copy_file_end end;
	struct rig r;

	open_rig(&r, one_large);
	rig_start(&r);
	rig_offers(&r);
	rig_want(&r, 1, COPY_SUMS, NULL, 0);
	end = rig_file_end(&r, 1);
	assert_int_equal(end.status, 0);
	assert_int_equal(end.bytes, 0);
	check_sums(&r, data);
	/* They are not to be taken for those of the contents. */
	for (size_t i = 0; i < r.n_messages; i++)
		r.messages[i].type = WIRE_ALIVE;
	want_contents(&r, 1);
	check_large(&r, 1, 2);
	rig_result(&r, 1, COPY_DONE);
	rig_finish(&r, 1, LARGE_BYTES);
	assert_int_equal(rig_end(&r), 0);
	free(data);
}

/* Digests of two ranges for -R; `touch`: the file changes before the rest is sent. */
static void sums_of_a_part(bool touch)
{
	static const struct extent kept[] = { { 0, 8192 }, { 512 << 10, LARGE_BYTES } };
	static const struct extent rest[] = { { 8192, 512 << 10 } };
	struct copy_file_end end;
	uint64_t bytes = 0;
	struct rig r;

	open_rig(&r, one_large);
	r.settings.resume = true;
	rig_start(&r);
	rig_offers(&r);
	rig_want(&r, 1, COPY_SUMS, kept, 2);
	assert_int_equal(rig_file_end(&r, 1).status, 0);
	for (size_t i = 0; i < r.n_messages; i++) {
		struct wire_sums b;

		if (r.messages[i].type != WIRE_COPY_SUMS)
			continue;
		assert_int_equal(copy_decode_sums(r.messages[i].body, r.messages[i].length, &b),
				 WIRE_OK);
		bytes += b.end_bytes - b.offset_bytes;
	}
	assert_int_equal(bytes, 8192 + LARGE_BYTES - (512 << 10));
	for (size_t i = 0; i < r.n_messages; i++)
		r.messages[i].type = WIRE_ALIVE;
	if (touch)
		assert_int_equal(fchmodat(r.dir_fd, "large", 0600, 0), 0);
	rig_want(&r, 1, COPY_SEND, rest, 1);
	end = rig_file_end(&r, 1);
	assert_int_equal(end.status, touch ? COPY_FAILED : 0);
	assert_int_equal(end.bytes, touch ? 0 : (512 << 10) - 8192);
	rig_result(&r, 1, touch ? COPY_LOST : COPY_DONE);
	rig_finish(&r, touch ? 0 : 1, touch ? 0 : LARGE_BYTES);
	assert_int_equal(r.sent.done_files, touch ? 0 : 1);
	assert_int_equal(rig_end(&r), touch ? COPY_FAILED : 0);
}

/* The part that the destination keeps by digests, and the rest, are of one state of the file. */
TEST(test_sums_of_a_part)
{
	struct rig r;

	sums_of_a_part(false);
	sums_of_a_part(true);
	open_rig(&r, one_large);
	rig_start(&r);
	rig_offers(&r);
	rig_want(&r, 1, COPY_SUMS, &(struct extent){ 0, 4096 }, 1);
	rig_expect_error(&r, "a want that is not valid");
	rig_end(&r);
}

TEST(test_holes)
{
	static const char *const names[] = { "sparse", NULL };
	uint64_t size = 10u << 20, piece = 128u << 10;
	uint8_t *data = rig_contents(piece, 3), *got = malloc(size);
	struct rig r;
	int fd;

	open_rig(&r, names);
	r.flags = COPY_SPARSE;
	fd = openat(r.dir_fd, "sparse", O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	assert_int_equal(ftruncate(fd, (off_t)size), 0);
	assert_int_equal(pwrite(fd, data, piece, 1 << 20), (ssize_t)piece);
	assert_int_equal(pwrite(fd, data, piece, 5 << 20), (ssize_t)piece);
	close(fd);
	rig_start(&r);
	rig_offers(&r);
	want_contents(&r, 1);
	assert_int_equal(rig_file_end(&r, 1).status, 0);
	assert_int_equal(rig_blocks(&r, 1, got, size), 2 * piece);
	assert_memory_equal(got + (1 << 20), data, piece);
	assert_memory_equal(got + (5 << 20), data, piece);
	rig_result(&r, 1, COPY_DONE);
	rig_finish(&r, 1, size);
	assert_int_equal(rig_end(&r), 0);
	free(data);
	free(got);
}

/* Each connection has blocks in ascending order. */
TEST(test_ordered)
{
	uint64_t last[RIG_MAX_LINKS] = { 0 };
	struct rig r;

	open_rig(&r, one_large);
	r.settings.ordered_source = r.settings.ordered_destination = true;
	rig_start(&r);
	rig_offers(&r);
	want_contents(&r, 1);
	check_large(&r, 1, 2);
	for (size_t i = 0; i < r.n_messages; i++) {
		const struct rig_message *m = &r.messages[i];

		if (m->type != WIRE_COPY_BLOCK)
			continue;
		assert_true(m->offset >= last[m->link]);
		last[m->link] = m->offset;
	}
	rig_result(&r, 1, COPY_DONE);
	rig_finish(&r, 1, LARGE_BYTES);
	assert_int_equal(rig_end(&r), 0);
}

/* ---- early ends ---- */

static void send_cancel(struct rig *r)
{
	struct wire_error e = { .status = COPY_FAILED, .text = "the disk is full" };
	uint8_t out[WIRE_MAX_ERROR_BYTES];

	assert_int_equal(
		link_send_body(r->channel, WIRE_COPY_CANCEL, out, wire_encode_error(&e, out)), 0);
}

/* The peer cancels, while nothing can be sent, and while the window is full. */
TEST(test_cancel)
{
	struct rig r;

	open_rig(&r, one_huge);
	rig_file(&r, "huge", HUGE_BYTES, 3);
	r.generated = COPY_WINDOW_ENTRIES + 10;
	rig_start(&r);
	rig_next(&r, WIRE_COPY_OFFER);
	rig_hold(&r, true);
	want_contents(&r, 1);
	rig_await_data(&r);
	send_cancel(&r);
	while (rig_any(&r) && r.h.type == WIRE_COPY_OFFER)
		;
	assert_int_equal(r.h.type, WIRE_COPY_FINISH);
	rig_lose(&r);
	assert_int_equal(rig_end(&r), COPY_FAILED);
}

TEST(test_stopped)
{
	struct rig r;

	offer_huge(&r);
	want_contents(&r, 1);
	rig_await_data(&r);
	stop_request(&r.stop, STOP_SIGNAL, SIGINT);
	rig_next(&r, WIRE_COPY_CANCEL);
	rig_finish(&r, 0, 0);
	assert_int_equal(rig_end(&r), XDD_CANCELED);
}

TEST(test_channel_lost)
{
	struct rig r;

	offer_huge(&r);
	want_contents(&r, 1);
	rig_lose(&r);
	assert_int_equal(rig_end(&r), COPY_SSH_ENDED);
}

/* The limit is short from the last message that the source gets. */
TEST(test_channel_silent)
{
	struct rig r;

	offer_huge(&r);
	link_set_timeout(r.job.channel, NS_PER_SEC / 2);
	want_contents(&r, 1);
	link_abort(r.channel);
	assert_int_equal(rig_end(&r), COPY_SSH_ENDED);
}

/* A walk that the kernel held for too long finds that all is over. */
TEST(test_left_behind)
{
	/* The source is not freed in this case, and stays in the reach of this. */
	static struct rig r;

	keeps_open = 1;
	open_rig(&r, one_large);
	r.hangs = true;
	rig_start(&r);
	rig_await_hung(&r);
	rig_lose(&r);
	assert_int_equal(rig_end(&r), COPY_SSH_ENDED);
	assert_int_equal(rig_threads(&r), 1);
	rig_let_go(&r);
	for (unsigned i = 0; i < 10000 && rig_threads(&r); i++)
		usleep(1000);
	assert_int_equal(rig_threads(&r), 0);
}

TEST(test_connection_lost)
{
	struct rig r;

	open_rig(&r, one_large);
	rig_start(&r);
	rig_offers(&r);
	for (unsigned i = 0; i < r.n_links; i++)
		link_abort(r.peers[i]);
	want_contents(&r, 1);
	rig_expect_error(&r, "data connection");
	assert_int_equal(rig_end(&r), COPY_SSH_ENDED);
}

/* The results of all files of a directory may come while a data thread has it still. */
TEST(test_directory_of_answered)
{
	char dir[] = "/tmp/xdd-test-held-XXXXXX", path[64], command[64];
	struct held_dir held = { .self = geteuid() };
	struct dir_node *node;
	struct entry *e;
	struct dirs *t;
	int fd;

	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/sub", dir);
	assert_int_equal(mkdir(path, 0700), 0);
	snprintf(path, sizeof(path), "%s/sub/file", dir);
	fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	close(fd);
	t = dirs_new(open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC), 0);
	assert_non_null(t);
	assert_int_equal(dirs_enter(t, dirs_root(t), "sub", &node), 0);
	e = calloc(1, sizeof(*e) + sizeof("file"));
	assert_non_null(e);
	e->dirs = t;
	e->dir = node;
	strcpy(e->name, "file");
	fd = source_open(&held, e, 0);
	assert_true(fd >= 0);
	close(fd);
	entry_free(e);
	dirs_free(t);
	assert_int_equal(fcntl(held.fd, F_GETFD), FD_CLOEXEC);
	fd = held.fd;
	source_let_go(&held);
	assert_int_equal(fcntl(fd, F_GETFD), -1);
	assert_int_equal(errno, EBADF);
	snprintf(command, sizeof(command), "rm -rf %s", dir);
	assert_int_equal(system(command), 0);
}

RUN_TESTS(ignore_sigpipe, NULL)
