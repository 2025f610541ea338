/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Structs that are found by their numbers, src/base/sets.c, as the entries of a source are:
 * src/copy/source/source.c.
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
	e->link.id = id;
	books_add(b, e);
	return e;
}

static void end(struct books *b, struct entry *e)
{
	const uint64_t id = e->link.id;

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
		assert_int_equal(b.entries.n, id - ended);
		if (id % 500)
			continue;
		for (size_t i = 0; i < WINDOW; i++) {
			if (open[i])
				assert_ptr_equal(books_find(&b, open[i]->link.id), open[i]);
		}
	}
	for (size_t i = 0; i < WINDOW; i++) {
		if (open[i])
			end(&b, open[i]);
	}
	assert_int_equal(b.entries.n, 0);
	books_free(&b);
}

/* An entry that counts in the window leaves it when it is taken out. */
TEST(test_counts)
{
	struct entry *e;
	struct books b;

	assert_int_equal(books_init(&b), 0);
	e = add(&b, 1);
	e->encoded_bytes = 100;
	books_count(&b, e);
	assert_int_equal(b.window_entries, 1);
	assert_int_equal(b.window_bytes, 100);
	end(&b, e);
	assert_int_equal(b.window_entries, 0);
	assert_int_equal(b.window_bytes, 0);
	books_free(&b);
}

/* Each is visited once, also while those that were visited are taken out; others are not there. */
TEST(test_visits)
{
	struct idmap_link links[N_IDS], stranger = { .id = 1 }, *next;
	struct idmap m;
	size_t n = 0;

	assert_int_equal(idmap_init(&m), 0);
	assert_null(idmap_next(&m, NULL));
	for (uint64_t id = 0; id < N_IDS; id++) {
		links[id] = (struct idmap_link){ .id = id };
		idmap_add(&m, &links[id]);
	}
	assert_false(idmap_remove(&m, &stranger));
	for (struct idmap_link *l = idmap_next(&m, NULL); l; l = next, n++) {
		next = idmap_next(&m, l);
		assert_true(idmap_remove(&m, l));
		assert_false(idmap_remove(&m, l));
	}
	assert_int_equal(n, N_IDS);
	assert_int_equal(m.n, 0);
	idmap_free(&m);
}

/* The longest list bounds what a look-up costs: numbers in order have one each. */
TEST(test_lists)
{
	struct idmap_link links[N_IDS];
	struct idmap m;

	assert_int_equal(idmap_init(&m), 0);
	for (size_t i = 0; i < N_IDS; i++) {
		links[i] = (struct idmap_link){ .id = 1000000 + i };
		idmap_add(&m, &links[i]);
	}
	for (size_t i = 0; i < N_IDS; i++)
		assert_null(links[i].next);
	assert_null(IDMAP_STRUCT(idmap_find(&m, 1), struct entry));
	idmap_free(&m);
}

RUN_TESTS(NULL, NULL)
