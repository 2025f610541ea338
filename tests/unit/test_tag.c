/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tagged sectors, the book of writes, and the history of reads. */
#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <unistd.h>

#include "unit.h"

#include "xdd/io/tag.h"

static const struct tag some = {
	.run = 0x1122334455667788,
	.offset = 1024,
	.generation = 7,
	.oldest = 6,
	.since = 5,
	.request = 512,
	.sweep = 0,
	.target = 9,
	.pass = 3,
	.bytes = 4096,
};

static int need_hash(void **state)
{
	const char *why;

	if (!tag_available(&why))
		skip();
	return 0;
}

TEST(test_round_trip)
{
	/* At an odd address, as with -memalign 1. */
	_Alignas(uint64_t) uint8_t room[4 * TAG_SECTOR_BYTES + 1];
	uint8_t *sectors = room + 1;
	struct tag got, wanted = some;

	need_hash(state);
	tag_fill(&some, sectors, sizeof(room) - 1);
	for (uint64_t i = 0; i < 4; i++, wanted.offset += TAG_SECTOR_BYTES) {
		memset(&got, 0xff, sizeof(got));
		assert_int_equal(tag_read(sectors + i * TAG_SECTOR_BYTES, &got), TAG_GOOD);
		assert_memory_equal(&got, &wanted, offsetof(struct tag, bytes) + sizeof(got.bytes));
	}
}

/*
 * A buffer may begin at any byte; what is misaligned is seen by the undefined-behaviour sanitizer.
 */
TEST(test_any_address)
{
	_Alignas(8) uint8_t room[TAG_SECTOR_BYTES + 8];
	struct tag got;

	need_hash(state);
	for (size_t shift = 0; shift < 8; shift++) {
		memset(&got, 0xff, sizeof(got));
		tag_fill(&some, room + shift, TAG_SECTOR_BYTES);
		assert_int_equal(tag_read(room + shift, &got), TAG_GOOD);
		assert_memory_equal(&got, &some, offsetof(struct tag, bytes) + sizeof(got.bytes));
	}
}

TEST(test_every_bit_counts)
{
	uint8_t sector[TAG_SECTOR_BYTES];
	struct tag got;

	need_hash(state);
	tag_write(&some, sector);
	for (unsigned bit = 0; bit < TAG_SECTOR_BYTES * 8; bit++) {
		sector[bit / 8] ^= (uint8_t)(1u << bit % 8);
		assert_int_equal(tag_read(sector, &got), bit < 64 ? TAG_NONE : TAG_BROKEN);
		sector[bit / 8] ^= (uint8_t)(1u << bit % 8);
	}
	assert_int_equal(tag_read(sector, &got), TAG_GOOD);
}

/* One write after the other: each replaces all before it. */
TEST(test_bounds_in_turn)
{
	struct tag_book b;
	uint64_t oldest, bounds[4];

	assert_int_equal(tag_book_init(&b, 4, 1000 * 512, 1100 * 512, false), 0);
	for (uint64_t i = 1; i <= 5; i++) {
		assert_int_equal(tag_book_write(&b, i % 4, 1001 * 512, 1024, &oldest), i);
		assert_int_equal(oldest, i);
		tag_book_written(&b, i % 4, true);
		tag_book_read(&b, 1000 * 512, sizeof(bounds) / 8 * 512, bounds);
		assert_true(bounds[0] == 0 && bounds[1] == i && bounds[2] == i && bounds[3] == 0);
	}
	/* The result of a failed write is unknown, and there is nothing outside. */
	tag_book_write(&b, 0, 1001 * 512, 512, &oldest);
	tag_book_written(&b, 0, false);
	tag_book_write(&b, 0, 10 * 512, 512, &oldest);
	tag_book_written(&b, 0, true);
	tag_book_read(&b, 1001 * 512, 512, bounds);
	assert_int_equal(bounds[0], 5);
	tag_book_read(&b, 10 * 512, 512, bounds);
	assert_int_equal(bounds[0], 0);
	assert_int_equal(tag_book_next(&b), 8);
	tag_book_destroy(&b);
}

/* The sectors from the cut on are forgotten; the bounds take several pages. */
TEST(test_forget)
{
	const uint64_t first = 100, sectors = 3000;
	const uint64_t cuts[] = { 0, 100, 101, 700, 611, 1124, 2048, 2900, 3099, 3100, 9999 };
	uint64_t oldest, bound;
	struct tag_book b;

	for (size_t i = 0; i < sizeof(cuts) / sizeof(cuts[0]); i++) {
		assert_int_equal(tag_book_init(&b, 1, first * 512, (first + sectors) * 512, false),
				 0);
		tag_book_write(&b, 0, first * 512, sectors * 512, &oldest);
		tag_book_written(&b, 0, true);
		/* In the middle of a sector: that one is forgotten as well. */
		tag_book_forget(&b, cuts[i] * 512 + i % 2);
		for (uint64_t at = first; at < first + sectors; at++) {
			tag_book_read(&b, at * 512, 512, &bound);
			assert_int_equal(bound, at < cuts[i]);
		}
		tag_book_destroy(&b);
	}
}

/* Writes at once: none of them is certain to be the one that remains. */
TEST(test_bounds_at_once)
{
	struct tag_book b;
	uint64_t oldest, bound;

	assert_int_equal(tag_book_init(&b, 4, 0, 512 * 100, false), 0);
	tag_book_write(&b, 0, 0, 512, &oldest);
	tag_book_write(&b, 1, 0, 512, &oldest);
	assert_int_equal(oldest, 1);
	tag_book_written(&b, 1, true);
	tag_book_read(&b, 0, 512, &bound);
	assert_int_equal(bound, 1);
	tag_book_write(&b, 2, 0, 512, &oldest);
	assert_int_equal(oldest, 1);
	tag_book_written(&b, 0, true);
	/* 3 was prepared while 1 was outstanding; 4 was not. */
	tag_book_write(&b, 3, 0, 512, &oldest);
	assert_int_equal(oldest, 3);
	tag_book_written(&b, 2, true);
	tag_book_read(&b, 0, 512, &bound);
	assert_int_equal(bound, 1);
	tag_book_written(&b, 3, true);
	tag_book_read(&b, 0, 512, &bound);
	assert_int_equal(bound, 3);
	tag_book_destroy(&b);
}

/*
 * A write that is never issued holds the bounds of others down, or has reads excused, no longer
 * than it waits.
 */
TEST(test_bounds_released)
{
	struct tag_book b;
	uint64_t oldest, bound, logged;

	assert_int_equal(tag_book_init(&b, 2, 0, 512 * 100, true), 0);
	tag_book_write(&b, 0, 0, 512, &oldest);
	logged = tag_book_read(&b, 0, 512, &bound);
	tag_book_release(&b, 0);
	assert_false(tag_book_overlaps(&b, logged, 0, 512));
	tag_book_read(&b, 0, 512, &bound);
	assert_int_equal(bound, 0);
	tag_book_write(&b, 1, 0, 512, &oldest);
	assert_int_equal(oldest, 2);
	tag_book_written(&b, 1, true);
	tag_book_read(&b, 0, 512, &bound);
	assert_int_equal(bound, 2);
	tag_book_destroy(&b);
}

TEST(test_overlaps)
{
	struct tag_book b;
	uint64_t oldest, bounds[8], logged;

	assert_int_equal(tag_book_init(&b, 2, 0, 512 * 100, true), 0);
	logged = tag_book_read(&b, 0, 512, bounds);
	assert_false(tag_book_overlaps(&b, logged, 0, 512));
	tag_book_write(&b, 0, 512, 1024, &oldest);
	assert_false(tag_book_overlaps(&b, logged, 0, 512));
	assert_true(tag_book_overlaps(&b, logged, 512, 512));
	tag_book_written(&b, 0, true);
	/* It is over, but was not when that read was issued. */
	assert_true(tag_book_overlaps(&b, logged, 1024, 512));
	assert_false(tag_book_overlaps(&b, logged, 1536, 512));
	logged = tag_book_read(&b, 0, 512, bounds);
	assert_false(tag_book_overlaps(&b, logged, 1024, 512));
	/* Two at once leave a doubt, which the next one takes away. */
	tag_book_write(&b, 0, 0, 1024, &oldest);
	tag_book_write(&b, 1, 512, 1024, &oldest);
	tag_book_written(&b, 0, true);
	tag_book_written(&b, 1, true);
	tag_book_read(&b, 0, 4 * 512, bounds);
	assert_true(bounds[1] & TAG_BOOK_DUBIOUS && bounds[2] & TAG_BOOK_DUBIOUS && !bounds[3]);
	tag_book_write(&b, 0, 0, 1536, &oldest);
	tag_book_written(&b, 0, true);
	tag_book_read(&b, 0, 4 * 512, bounds);
	assert_true(bounds[0] == 4 && bounds[1] == 4 && bounds[2] == 4);
	/* The log is bounded: what it has forgotten counts as overlapping. */
	for (int i = 0; i < 10000; i++) {
		tag_book_write(&b, 0, 99 * 512, 512, &oldest);
		tag_book_written(&b, 0, true);
	}
	assert_true(tag_book_overlaps(&b, logged, 0, 512));
	tag_book_destroy(&b);
}

/* Threads that write to a few places and read them: what is there is never below the bound. */
enum {
	PLACES = 4,
	THREADS = 4,
	ROUNDS = 20000
};

struct device {
	struct tag_book book;
	_Atomic uint64_t sectors[PLACES];
	_Atomic unsigned wrong;
};

struct worker {
	struct device *device;
	uint32_t number;
	pthread_t thread;
};

static void *work(void *arg)
{
	struct worker *w = arg;
	struct device *d = w->device;
	uint64_t x = w->number + 1, oldest, bound;

	for (int i = 0; i < ROUNDS; i++) {
		uint64_t place;

		x = x * 6364136223846793005ull + 1442695040888963407ull;
		place = x >> 33 & (PLACES - 1);
		if (x >> 62 & 1) {
			uint64_t own =
				tag_book_write(&d->book, w->number, place * 512, 512, &oldest);

			d->sectors[place] = own;
			tag_book_written(&d->book, w->number, true);
		} else {
			tag_book_read(&d->book, place * 512, 512, &bound);
			d->wrong += d->sectors[place] < bound;
		}
	}
	return NULL;
}

TEST(test_many_threads)
{
	static struct device d;
	struct worker workers[THREADS];

	assert_int_equal(tag_book_init(&d.book, THREADS, 0, PLACES * 512, false), 0);
	for (uint32_t i = 0; i < THREADS; i++) {
		workers[i] = (struct worker){ .device = &d, .number = i };
		assert_int_equal(pthread_create(&workers[i].thread, NULL, work, &workers[i]), 0);
	}
	for (int i = 0; i < THREADS; i++)
		pthread_join(workers[i].thread, NULL);
	assert_int_equal(d.wrong, 0);
	tag_book_destroy(&d.book);
}

/*
 * A sector that two writes may leave torn, at the end of many: a long write, which takes its time
 * over all bounds, and short ones of this sector alone, which meet while it does. A thread that
 * reads two halves that differ has a reason not to mind.
 */
enum {
	SECTORS = 65536,
	LAST = (SECTORS - 1) * 512,
	MEETINGS = 1000
};

static struct torn {
	struct tag_book book;
	_Atomic uint64_t head, tail;
	_Atomic unsigned torn, wrong;
	_Atomic bool over;
	pthread_barrier_t meeting; /* of the short ones */
} shared;

static void write_halves(uint32_t place, uint64_t offset, uint64_t bytes)
{
	uint64_t oldest, own = tag_book_write(&shared.book, place, offset, bytes, &oldest);

	shared.head = own;
	if (offset)
		sched_yield();
	shared.tail = own;
	tag_book_written(&shared.book, place, true);
}

static void *write_long(void *arg)
{
	const struct worker *w = arg;

	while (!shared.over) {
		write_halves(w->number, 0, SECTORS * 512);
		usleep(50);
	}
	return NULL;
}

static void *write_short(void *arg)
{
	const struct worker *w = arg;
	uint64_t bound, logged;

	for (int i = 0; i < MEETINGS; i++) {
		pthread_barrier_wait(&shared.meeting);
		write_halves(w->number, LAST, 512);
		usleep(i % 8 * 150);
		logged = tag_book_read(&shared.book, LAST, 512, &bound);
		if (shared.head == shared.tail)
			continue;
		shared.torn++;
		shared.wrong += !(bound & TAG_BOOK_DUBIOUS) &&
				!tag_book_overlaps(&shared.book, logged, LAST, 512);
	}
	return NULL;
}

static void write_all(void)
{
	struct worker workers[3];

	shared.over = false;
	for (uint32_t i = 0; i < 3; i++) {
		workers[i] = (struct worker){ .number = i };
		assert_int_equal(pthread_create(&workers[i].thread, NULL,
						i ? write_short : write_long, &workers[i]),
				 0);
	}
	for (int i = 2; i >= 0; i--) {
		shared.over = i == 0;
		pthread_join(workers[i].thread, NULL);
	}
}

TEST(test_torn_sector)
{
	assert_int_equal(tag_book_init(&shared.book, 3, 0, SECTORS * 512, true), 0);
	assert_int_equal(pthread_barrier_init(&shared.meeting, NULL, 2), 0);
	/* On a busy machine the writes may not meet at first. */
	for (int i = 0; !shared.torn && i < 20; i++)
		write_all();
	assert_true(shared.torn > 0);
	assert_int_equal(shared.wrong, 0);
	pthread_barrier_destroy(&shared.meeting);
	tag_book_destroy(&shared.book);
}

/* Reads: `bytes` from `offset` on, of a pass that began with `since`. */
static void seen(struct tag_history *h, uint64_t run, uint64_t since, uint64_t offset,
		 uint64_t bytes, bool sweeps)
{
	struct tag_extent s = {
		.tag = { .run = run,
			 .since = since,
			 .request = offset + bytes - 512,
			 .sweep = sweeps ? 0 : offset + bytes - 512 },
		.offset = offset,
		.end = offset + bytes,
		.op = offset / 512,
	};

	tag_history_add(h, &s);
}

TEST(test_history)
{
	struct tag_history *h;
	struct tag_stale stale;

	assert_int_equal(tag_history_new(&h), 0);
	/* A pass that ended early, and the rest of the one before: nothing is wrong with that. */
	seen(h, 1, 10, 0, 8192, true);
	seen(h, 1, 1, 8192, 4096, true);
	seen(h, 1, 1, 12288, 4096, true);
	assert_false(tag_history_take(h, &stale));
	/* But then it had not ended there. */
	seen(h, 1, 10, 16384, 8192, true);
	assert_true(tag_history_take(h, &stale));
	assert_true(stale.what.offset == 8192 && stale.what.end == 16384 &&
		    stale.what.tag.since == 1 && stale.newer.since == 10 && stale.what.op == 16);
	assert_false(tag_history_take(h, &stale));
	/* Known by now; of an older run; and one that is newer. */
	seen(h, 1, 1, 512, 512, false);
	assert_true(tag_history_take(h, &stale) && stale.what.offset == 512);
	seen(h, 0, 90, 1024, 512, false);
	assert_true(tag_history_take(h, &stale) && stale.what.offset == 1024);
	seen(h, 2, 1, 1024, 512, false);
	assert_false(tag_history_take(h, &stale));
	/* After the last sector of the sweep nothing is known. */
	seen(h, 1, 1, 1 << 20, 512, false);
	assert_false(tag_history_take(h, &stale));
	tag_history_free(h);
}

TEST(test_history_of_targets)
{
	struct tag_history *h;
	struct tag t = { .run = 1, .target = 4 };

	assert_int_equal(tag_history_new(&h), 0);
	assert_true(tag_history_target(h, &t, 0));
	assert_true(tag_history_target(h, &t, 0));
	t.target = 5;
	assert_false(tag_history_target(h, &t, 0));
	t.target = 0;
	assert_true(tag_history_target(h, &t, 0));
	t.target = 4;
	assert_false(tag_history_target(h, &t, 0));
	t.run = 2;
	assert_true(tag_history_target(h, &t, 0));
	tag_history_free(h);
}

RUN_TESTS(NULL, NULL)
