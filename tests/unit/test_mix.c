/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Mixes of request sizes: src/plan/mix.c, and their use by the access patterns and the throttle.
 */
#include "unit.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "access_plan.h"
#include "xdd/base/memory.h"
#include "xdd/io/access.h"
#include "xdd/plan/mix.h"

#define KIB 1024u
#define MOST_OPS 1000

static struct arena *arena;

static int setup(void **state)
{
	arena = arena_new();
	return arena ? 0 : -1;
}

static int teardown(void **state)
{
	arena_free(arena);
	return 0;
}

/* The mix that the words name, whose blocks have 1 KiB. */
static struct request_mix mix_of(const char *text, uint64_t seed)
{
	struct request_mix mix = { 0 };
	struct mix_words words;

	assert_null(mix_read(arena, text, &words));
	for (size_t i = 0; i < words.n; i++) {
		const struct mix_item *item = &words.items[i];

		mix.sizes[mix.n++] =
			(struct mix_size){ item->in_blocks ? item->value * KIB : item->value,
					   item->ops };
	}
	mix_init(&mix, arena, seed, NULL);
	return mix;
}

static struct target_plan plan_with(const struct request_mix *mix, enum seek_pattern pattern,
				    uint64_t ops)
{
	struct target_plan t = plan_of(pattern, ops);

	t.mix = mix;
	t.req_bytes = mix_largest(mix);
	if (ops != PLAN_UNLIMITED) {
		t.pass_bytes = mix_bytes(mix, ops);
		t.last_op_bytes = mix_op(mix, ops - 1).size;
	} else {
		t.pass_bytes = PLAN_UNLIMITED;
	}
	return t;
}

static const char *const mixes[] = {
	"4k:60,64k:40",
	"4k:1",
	"512B:1,1:1",
	"64k:40,4k:60",
	"4k:37,8k:11,16k:29,512B:23",
	"1k:1,2k:2,3k:3,4k:4,5k:5,6k:6,7k:7,8k:8,9k:9,10k:10,11k:11,12k:12,13k:13,14k:14,15k:15",
	"4k:9999,1M:1",
	"2G:1,1B:3",
};

#define N_MIXES (sizeof(mixes) / sizeof(mixes[0]))

/* Every cycle has each size as often as its weight says, and operations lie end to end. */
TEST(test_shares)
{
	for (size_t m = 0; m < N_MIXES; m++) {
		const struct request_mix mix = mix_of(mixes[m], 7);
		uint64_t before = 0, n = 0;

		for (uint64_t cycle = 0; cycle < 50; cycle++) {
			uint32_t found[MIX_MAX_SIZES] = { 0 };

			for (uint64_t i = 0; i < mix.cycle_ops; i++, n++) {
				const struct mix_op op = mix_op(&mix, n);
				size_t k = 0;

				assert_int_equal(op.before, before);
				while (k < mix.n && mix.sizes[k].bytes != op.size)
					k++;
				assert_true(k < mix.n);
				found[k]++;
				before += op.size;
			}
			assert_int_equal(before, (cycle + 1) * mix.cycle_bytes);
			for (size_t k = 0; k < mix.n; k++)
				assert_int_equal(found[k], mix.sizes[k].ops);
		}
	}
}

/* Any operation is computed without those before it. */
TEST(test_far)
{
	const struct request_mix mix = mix_of(mixes[0], 7);
	const uint64_t far = (1ull << 40) + 3;
	struct mix_op op = mix_op(&mix, far);

	assert_int_equal(mix_op(&mix, far + 1).before, op.before + op.size);
	assert_int_equal(mix_op(&mix, far / 5 * 5).before, far / 5 * mix.cycle_bytes);
}

/* The operations for an amount: as few as have it, of which the last is cut. */
TEST(test_amounts)
{
	for (size_t m = 0; m < 6; m++) {
		const struct request_mix mix = mix_of(mixes[m], 1);

		for (uint64_t n = 0; n < 3 * mix.cycle_ops; n++) {
			const struct mix_op op = mix_op(&mix, n);
			uint64_t last = 0;

			assert_int_equal(mix_ops(&mix, op.before + 1, &last), n + 1);
			assert_int_equal(last, 1);
			assert_int_equal(mix_ops(&mix, op.before + op.size, &last), n + 1);
			assert_int_equal(last, op.size);
			assert_int_equal(mix_ops(&mix, op.before + op.size / 2, &last), n + 1);
			assert_int_equal(last, op.size / 2);
		}
	}
}

/*
 * Later versions have the same sizes as this one. They were computed from the formulas in
 * mix.c by another program.
 */
TEST(test_stays_the_same)
{
	static const char small[] = "44LL444L4LLL444L444LL44L4L444LL44L444LL4";
	static const unsigned kib[] = { 10, 13, 7, 14, 7, 15, 13, 3, 15, 12, 14, 13, 5, 12, 14, 11 };
	const struct request_mix mix = mix_of("4k:60,64k:40", PLAN_DEFAULT_SEED);
	const struct request_mix wide = mix_of(mixes[5], 1);

	for (size_t n = 0; n < sizeof(small) - 1; n++)
		assert_int_equal(mix_op(&mix, n).size, (small[n] == '4' ? 4 : 64) * KIB);
	for (size_t n = 0; n < sizeof(kib) / sizeof(kib[0]); n++)
		assert_int_equal(mix_op(&wide, n + 1000).size, kib[n] * KIB);
}

static unsigned differences(const struct request_mix *a, const struct request_mix *b)
{
	unsigned n = 0;

	for (uint64_t i = 0; i < MOST_OPS; i++)
		n += mix_op(a, i).size != mix_op(b, i).size;
	return n;
}

/* Seeds have orders of their own; how the sizes are written does not matter. */
TEST(test_differs)
{
	const struct request_mix mix = mix_of("4k:60,64k:40", 1);
	const struct request_mix seed = mix_of("4k:60,64k:40", 2);
	const struct request_mix written = mix_of("64:2,4:3", 1);
	struct request_mix shared = mix;

	/* Two independent ones differ in 48 %. */
	assert_in_range(differences(&mix, &seed), MOST_OPS / 3, MOST_OPS * 2 / 3);
	assert_int_equal(differences(&mix, &written), 0);
	mix_init(&shared, arena, 1, &mix);
	assert_ptr_equal(shared.before, mix.before);
	assert_int_equal(differences(&shared, &mix), 0);
	mix_init(&shared, arena, 2, &mix);
	assert_ptr_not_equal(shared.before, mix.before);
	assert_int_equal(differences(&shared, &seed), 0);
}

/* All ten orders of a cycle of five come up, each about as often as the others. */
TEST(test_orders)
{
	const struct request_mix mix = mix_of("4k:60,64k:40", 1);
	unsigned hits[32] = { 0 }, seen = 0;

	for (uint64_t cycle = 0; cycle < 10000; cycle++) {
		unsigned order = 0;

		for (unsigned i = 0; i < 5; i++)
			order = order << 1 | (mix_op(&mix, cycle * 5 + i).size > 4 * KIB);
		hits[order]++;
	}
	for (unsigned i = 0; i < 32; i++) {
		if (!hits[i])
			continue;
		seen++;
		assert_in_range(hits[i], 700, 1300);
	}
	assert_int_equal(seen, 10);
}

/* Sequential operations follow each other, and the last one may be shorter. */
TEST(test_sequential)
{
	const struct request_mix mix = mix_of(mixes[4], 1);
	struct target_plan t = plan_with(&mix, SEEK_SEQUENTIAL, MOST_OPS);
	uint64_t next = START;
	struct access a;

	t.last_op_bytes = 100;
	access_init(&a, &t, 1);
	for (uint64_t n = 0; n < MOST_OPS; n++) {
		const struct access_op op = op_of(&a, n);

		assert_int_equal(op.offset, next);
		assert_int_equal(op.size, n + 1 < MOST_OPS ? mix_op(&mix, n).size : 100);
		assert_int_equal(op.dir, DIR_READ);
		next += op.size;
	}
	assert_true(access_reads_in_sequence(&a));
	assert_int_equal(access_laps(&a, MOST_OPS).rest_bytes, next - START);
	t.randomize = true;
	access_init(&a, &t, 2);
	assert_int_equal(op_of(&a, 77).offset, START + mix_bytes(&mix, 77));
}

/* A range holds whole cycles, or all of the pass. */
TEST(test_starts_over)
{
	const struct request_mix mix = mix_of("4k:60,64k:40", 1);
	struct target_plan t = plan_with(&mix, SEEK_SEQUENTIAL, PLAN_UNLIMITED);
	struct access_laps laps;
	uint64_t next = 0;
	struct access a;

	t.range_bytes = 4 * mix.cycle_bytes - 1;
	assert_int_equal(mix_lap_bytes(&t), 3 * mix.cycle_bytes);
	access_init(&a, &t, 1);
	for (uint64_t n = 0; n < MOST_OPS; n++) {
		const struct access_op op = op_of(&a, n);

		if (n % 15 == 0)
			next = 0;
		assert_int_equal(op.offset, START + next);
		assert_int_equal(op.size, mix_op(&mix, n).size);
		next += op.size;
		assert_true(next <= t.range_bytes);
	}
	laps = access_laps(&a, 47);
	assert_int_equal(laps.whole, 3);
	assert_int_equal(laps.lap_bytes, 3 * mix.cycle_bytes);
	assert_int_equal(laps.rest_bytes, mix_bytes(&mix, 47) - 9 * mix.cycle_bytes);
	t.pass_bytes = t.range_bytes;
	assert_int_equal(mix_lap_bytes(&t), UINT64_MAX);
}

/* Random requests lie at multiples of their own size, uniform over the range, never past it. */
TEST(test_random)
{
	const struct request_mix mix = mix_of("4k:50,12k:25,64k:25", 1);
	struct target_plan t = plan_with(&mix, SEEK_RANDOM, 100000);
	unsigned hits[16] = { 0 };
	struct access a, b;

	t.range_bytes = 1024 * KIB + 5 * KIB;
	access_init(&a, &t, 1);
	access_init(&b, &t, 2);
	for (uint64_t n = 0; n < 100000; n++) {
		const struct access_op op = op_of(&a, n), again = op_of(&b, n);
		const uint64_t place = op.offset - START;

		assert_int_equal(op.size, mix_op(&mix, n).size);
		assert_int_equal(place % op.size, 0);
		assert_true(place + op.size <= t.range_bytes);
		assert_int_equal(op.offset, again.offset);
		hits[place / (64 * KIB) % 16]++;
	}
	for (unsigned i = 0; i < 16; i++)
		assert_in_range(hits[i], 5500, 7000);
	assert_false(access_reads_in_sequence(&a));
	t.randomize = true;
	access_init(&b, &t, 2);
	assert_int_equal(op_of(&b, 5).size, op_of(&a, 5).size);
	assert_true(op_of(&b, 5).offset != op_of(&a, 5).offset ||
		    op_of(&b, 6).offset != op_of(&a, 6).offset);
}

/* At a rate of bytes, when an operation is due depends on the sizes of all before it. */
TEST(test_throttle)
{
	const struct request_mix mix = mix_of("4k:60,64k:40", 1);
	struct target_plan t = plan_with(&mix, SEEK_SEQUENTIAL, 101);

	t.throttle.by = THROTTLE_BANDWIDTH;
	t.throttle.interval_ns = (double)t.req_bytes * 1000; /* 10^6 bytes per second */
	t.last_op_bytes = 100;
	t.pass_bytes = mix_bytes(&mix, 100) + 100;
	for (uint64_t n = 0; n < 101; n++)
		assert_true(fabs((double)throttle_due_ns(&t, NULL, n) -
				 (double)mix_bytes(&mix, n) * 1000) < 10);
	assert_true(fabs((double)throttle_span_ns(&t, NULL, 101) - (double)t.pass_bytes * 1000) <
		    10);
	t.throttle.by = THROTTLE_OPS;
	assert_int_equal(throttle_due_ns(&t, NULL, 7), 7 * t.req_bytes * 1000);
	t.throttle.var_percent = 100;
	t.throttle.by = THROTTLE_BANDWIDTH;
	for (uint64_t n = 1; n < 101; n++)
		assert_true(throttle_due_ns(&t, NULL, n) >= throttle_due_ns(&t, NULL, n - 1));
}

TEST(test_words)
{
	static const char *const wrong[] = {
		"",	  "4k",	   ":1",	 "4k:",		  "4k:0",  "4k:-1",
		"4k:1,",  ",4k:1", "4k:1,,8k:1", "x:1",		  "0:1",   "4k:1.5",
		"4k:1:2", "4q:1",  "4k:1000001", "4k:1,8k:10000", "-4k:1", "4k:60%%",
	};
	char many[33 * 8] = "", text[MIX_TEXT_SIZE];
	struct request_mix mix;
	struct mix_words words;

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		assert_non_null(mix_read(arena, wrong[i], &words));
	for (unsigned i = 1; i <= 33; i++) {
		if (i == 33)
			assert_null(mix_read(arena, many, &words));
		snprintf(many + strlen(many), 9, "%s%u:1", i > 1 ? "," : "", i);
	}
	assert_non_null(mix_read(arena, many, &words));
	assert_null(mix_read(arena, "8k:60%,4:40%", &words));
	assert_int_equal(words.n, 2);
	assert_int_equal(words.items[0].ops, 3);
	assert_int_equal(words.items[0].value, 8 * KIB);
	assert_true(words.items[1].in_blocks);
	mix = mix_of("64k:40,4k:60", 1);
	assert_string_equal(mix_text(&mix, text, sizeof(text)), "4 KiB:3, 64 KiB:2");
	assert_int_equal(mix.unit_bytes, 4 * KIB);
}

RUN_TESTS(setup, teardown)
