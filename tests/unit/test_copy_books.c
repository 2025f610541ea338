/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Entries that are found by their ids: src/copy/source/source.c.
 */
#include "unit.h"

#include <stdlib.h>

#include "copy/source/source.h"

#define N_IDS 20000u
#define WINDOW 3000u

static struct entry *add(struct books *b, uint64_t id)
{
	struct entry *e = calloc(1, sizeof(*e) + 1);

	assert_non_null(e);
	e->id = id;
	assert_int_equal(books_add(b, e), 0);
	return e;
}

static void end(struct books *b, struct entry *e)
{
	const uint64_t id = e->id;

	assert_ptr_equal(books_find(b, id), e);
	books_remove(b, e);
	assert_null(books_find(b, id));
	entry_free(e);
}

/* Ids are added in order, and end in any; all others are found meanwhile. */
TEST(test_window)
{
	struct entry *open[WINDOW] = { NULL };
	uint64_t seed = 1, ended = 0;
	struct books b;

	assert_int_equal(books_init(&b), 0);
	for (uint64_t id = 1; id <= N_IDS; id++) {
		size_t at;

		seed = seed * 6364136223846793005ull + 1442695040888963407ull;
		at = (size_t)(seed >> 33) % WINDOW;
		if (open[at]) {
			end(&b, open[at]);
			ended++;
		}
		open[at] = add(&b, id);
		assert_int_equal(b.n, id - ended);
		if (id % 500)
			continue;
		for (size_t i = 0; i < WINDOW; i++) {
			if (open[i])
				assert_ptr_equal(books_find(&b, open[i]->id), open[i]);
		}
	}
	for (size_t i = 0; i < WINDOW; i++) {
		if (open[i])
			end(&b, open[i]);
	}
	assert_int_equal(b.n, 0);
	books_free(&b);
}

/* The first id from `id` on whose own slot is `slot`. */
static uint64_t id_of_slot(size_t slot, uint64_t id)
{
	for (;; id++) {
		struct books b;
		bool found;

		assert_int_equal(books_init(&b), 0);
		add(&b, id);
		found = b.slots[slot] != NULL;
		books_free(&b);
		if (found)
			return id;
	}
}

/* The first slot follows the last one: an end there moves back what has overflowed, no more. */
TEST(test_wraps)
{
	struct entry *last, *more, *first;
	struct books b;
	size_t at;

	assert_int_equal(books_init(&b), 0);
	at = ((size_t)1 << b.bits) - 1;
	last = add(&b, id_of_slot(at, 1));
	first = add(&b, id_of_slot(0, 1));
	end(&b, last);
	assert_ptr_equal(books_find(&b, first->id), first);

	last = add(&b, id_of_slot(at, 1));
	more = add(&b, id_of_slot(at, last->id + 1));
	assert_ptr_equal(b.slots[1], more);
	end(&b, last);
	assert_ptr_equal(b.slots[at], more);
	assert_ptr_equal(books_find(&b, first->id), first);
	more->encoded_bytes = 100;
	books_count(&b, more);
	assert_int_equal(b.window_bytes, 100);
	end(&b, more);
	assert_int_equal(b.window_entries, 0);
	assert_int_equal(b.window_bytes, 0);
	end(&b, first);
	books_free(&b);
}

/* The longest run of used slots bounds what a look-up, and an end, cost. */
TEST(test_runs)
{
	size_t run = 0, longest = 0;
	struct books b;

	assert_int_equal(books_init(&b), 0);
	for (uint64_t id = 1; id <= N_IDS; id++)
		add(&b, id);
	for (size_t i = 0; i < (size_t)1 << b.bits; i++) {
		run = b.slots[i] ? run + 1 : 0;
		longest = run > longest ? run : longest;
	}
	assert_in_range(longest, 1, 64);
	books_free(&b);
}

/* Ids that follow each other lie in the same cache line, mostly. */
TEST(test_neighbours)
{
	size_t lines = 0;
	struct books b;

	assert_int_equal(books_init(&b), 0);
	for (uint64_t id = 1; id <= N_IDS; id++)
		add(&b, id);
	for (size_t i = 0; i < (size_t)1 << b.bits; i += 8) {
		bool used = false;

		for (size_t k = i; k < i + 8; k++)
			used |= b.slots[k] != NULL;
		lines += used;
	}
	assert_in_range(lines, N_IDS / 8, N_IDS / 8 + N_IDS / 16);
	books_free(&b);
}

RUN_TESTS(NULL, NULL)
