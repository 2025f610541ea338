/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The elapsed time of all targets together: src/run/results/sums.c.
 */
#include "unit.h"

#include <errno.h>
#include <stdlib.h>

#include "run/results/sums.h"

#define MAX_TIME 4000
#define TARGETS 5

static struct window w;

static void begin(size_t n_targets)
{
	assert_int_equal(window_init(&w, n_targets), 0);
}

TEST(test_one_pass)
{
	begin(3);
	assert_int_equal(window_close(&w), 0);
	/* A gap that only one target waits in is part of it. */
	window_add(&w, 1, 100, 150);
	window_add(&w, 0, 10, 30);
	assert_int_equal(window_close(&w), 140);
	/* One target inside the other, and one that did nothing. */
	window_add(&w, 2, 1000, 1000);
	window_add(&w, 0, 1100, 1200);
	window_add(&w, 1, 1050, 1350);
	assert_int_equal(window_close(&w), 300);
	assert_int_equal(window_close(&w), 0);
	window_destroy(&w);
}

TEST(test_shared_delays)
{
	begin(1);
	for (uint64_t pass = 1; pass <= 10; pass++)
		window_add(&w, 0, pass * 1000, pass * 1000 + 7);
	assert_int_equal(w.n, 0);
	assert_int_equal(window_close(&w), 70);
	window_destroy(&w);
	begin(2);
	/* Both wait from 20 to 100; from 130 on only one has passes to come. */
	window_add(&w, 0, 10, 20);
	window_add(&w, 1, 12, 15);
	window_add(&w, 0, 110, 130);
	window_add(&w, 1, 100, 120);
	window_add(&w, 1, 200, 250);
	assert_int_equal(window_close(&w), 10 + 30 + 120);
	window_destroy(&w);
}

/* The length by the definition in the header, moment by moment. */
static uint64_t by_moments(unsigned char busy[TARGETS][MAX_TIME], const uint64_t ends[TARGETS])
{
	uint64_t first = MAX_TIME, last = 0, done = MAX_TIME, ns = 0;

	for (int i = 0; i < TARGETS; i++) {
		if (ends[i] > last)
			last = ends[i];
		if (ends[i] < done)
			done = ends[i];
		for (uint64_t at = 0; at < first; at++) {
			if (busy[i][at])
				first = at;
		}
	}
	for (uint64_t at = first; at < last; at++) {
		unsigned any = at >= done;

		for (int i = 0; i < TARGETS; i++)
			any |= busy[i][at];
		ns += any;
	}
	return ns;
}

/* Passes of targets that go on by themselves, reported in the order of their ends. */
TEST(test_at_random)
{
	static unsigned char busy[TARGETS][MAX_TIME];

	srand(7);
	for (int round = 0; round < 300; round++) {
		uint64_t ends[TARGETS] = { 0 }, from[TARGETS];
		unsigned left[TARGETS];

		begin(TARGETS);
		for (int i = 0; i < TARGETS; i++) {
			left[i] = 1 + (unsigned)rand() % 12;
			for (int at = 0; at < MAX_TIME; at++)
				busy[i][at] = 0;
			from[i] = 1 + (unsigned)rand() % 300;
			ends[i] = from[i] + 1 + (unsigned)rand() % 60;
		}
		for (;;) {
			int next = -1;

			for (int i = 0; i < TARGETS; i++) {
				if (left[i] && (next < 0 || ends[i] < ends[next]))
					next = i;
			}
			if (next < 0)
				break;
			window_add(&w, (size_t)next, from[next], ends[next]);
			for (uint64_t at = from[next]; at < ends[next]; at++)
				busy[next][at] = 1;
			if (!--left[next])
				continue;
			from[next] = ends[next] + (unsigned)rand() % 200;
			ends[next] = from[next] + 1 + (unsigned)rand() % 60;
		}
		assert_int_equal(window_close(&w), by_moments(busy, ends));
		window_destroy(&w);
	}
}

/* A run that ends for want of memory closes its window too. */
TEST(test_no_memory)
{
	struct pass_series series = { .n = 0 };
	struct result pass = { .figures = { .elapsed_ns = 1, .tally.ops[DIR_READ] = 1 } };

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
	skip(); /* sanitizers end a program that asks for that much */
#endif
	assert_int_equal(window_init(&w, SIZE_MAX / 32), -ENOMEM);
	assert_int_equal(window_close(&w), 0);
	window_destroy(&w);
	/* A pass that finds no room is counted as left out. */
	series.n = (size_t)1 << 62;
	assert_int_equal(series_add(&series, &pass, true), -ENOMEM);
	assert_int_equal(series.left_out, 1);
	assert_int_equal(series.n, (size_t)1 << 62);
}

/* Passes that are whole, moved something and took time are kept, in order. */
TEST(test_series)
{
	struct pass_series s = { .n = 0 };
	struct result pass = { .pass = 0 };

	for (uint64_t i = 1; i <= 20; i++) {
		pass.pass = i;
		pass.figures.elapsed_ns = i == 5 ? 0 : 1000000000;
		pass.figures.tally.ops[DIR_READ] = i != 7;
		pass.figures.tally.bytes[DIR_READ] = 1000 * i;
		assert_int_equal(series_add(&s, &pass, i != 9), 0);
	}
	assert_int_equal(s.left_out, 3);
	assert_int_equal(s.n, 17);
	for (size_t k = 0, i = 1; k < s.n; k++, i++) {
		i += i == 5 || i == 7 || i == 9;
		assert_int_equal(s.passes[k], i);
		assert_true(s.values[FIGURE_BANDWIDTH][k] == (double)(1000 * i));
	}
	series_free(&s);
	/* The limit of memory. */
	pass.figures.tally.ops[DIR_READ] = 1;
	s.n = SERIES_MAX_PASSES;
	assert_int_equal(series_add(&s, &pass, true), 0);
	assert_int_equal(s.n, SERIES_MAX_PASSES);
	assert_int_equal(s.left_out, 1);
}

RUN_TESTS(NULL, NULL)
