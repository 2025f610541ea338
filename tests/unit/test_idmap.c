/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Structs that are found by their numbers: src/base/sets.c.
 */
#include "unit.h"

#include "xdd/base/sets.h"

#define N_IDS 20000u
#define WINDOW 3000u

static void end(struct idmap *m, struct idmap_link *l)
{
	assert_ptr_equal(idmap_find(m, l->id), l);
	assert_true(idmap_remove(m, l));
	assert_null(idmap_find(m, l->id));
	l->id = 0;
}

/* Ids are added in order, and end in any; all others are found meanwhile. */
TEST(test_window)
{
	struct idmap_link open[WINDOW] = { { .id = 0 } };
	uint64_t seed = 1, ended = 0;
	struct idmap m;

	assert_int_equal(idmap_init(&m), 0);
	for (uint64_t id = 1; id <= N_IDS; id++) {
		size_t at;

		seed = seed * 6364136223846793005ull + 1442695040888963407ull;
		at = (size_t)(seed >> 33) % WINDOW;
		if (open[at].id) {
			end(&m, &open[at]);
			ended++;
		}
		open[at].id = id;
		idmap_add(&m, &open[at]);
		assert_int_equal(m.n, id - ended);
		if (id % 500)
			continue;
		for (size_t i = 0; i < WINDOW; i++) {
			if (open[i].id)
				assert_ptr_equal(idmap_find(&m, open[i].id), &open[i]);
		}
	}
	for (size_t i = 0; i < WINDOW; i++) {
		if (open[i].id)
			end(&m, &open[i]);
	}
	assert_int_equal(m.n, 0);
	idmap_free(&m);
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
	assert_null(idmap_find(&m, 1));
	idmap_free(&m);
}

RUN_TESTS(NULL, NULL)
