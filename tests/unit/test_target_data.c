/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The state for the data of a target: target_data_open() in src/run/target/data.c, with a book
 * of tags that is made here. test_tag.c has the book.
 */
#include "unit.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "access_plan.h"
#include "run/qthread.h"
#include "run/run_state.h"
#include "run/target.h"
#include "run/target/data.h"
#include "xdd/io/engine.h"
#include "xdd/io/tag.h"

static struct {
	unsigned books, histories;
	uint32_t depth;
	uint64_t first, end;
	bool tears;
	int err;
} fake;

static int fake_book(struct tag_book *b, uint32_t depth, uint64_t first, uint64_t end, bool tears)
{
	(void)b;
	fake.books++;
	fake.depth = depth;
	fake.first = first;
	fake.end = end;
	fake.tears = tears;
	return fake.err;
}

static int fake_history(struct tag_history **h)
{
	*h = NULL;
	fake.histories++;
	return fake.err;
}

static void fake_destroy(struct tag_book *b)
{
	(void)b;
}

#define tag_book_init fake_book
#define tag_book_destroy fake_destroy
#define tag_history_new fake_history
#define print_error data_print_error /* cmocka has a function of this name */

#include "../../src/run/target/data.c"

static struct target_plan target_plan;
static struct target target;
static struct engine_info engine;

static int set_up(void **state)
{
	memset(&fake, 0, sizeof(fake));
	memset(&target, 0, sizeof(target));
	engine.caps = 0;
	target_plan = plan_of(SEEK_SEQUENTIAL, 10);
	target_plan.kind = TARGET_FILE;
	target_plan.op = OP_WRITE;
	target_plan.engine = &engine;
	target_plan.queue_depth = 6;
	target_plan.extent_bytes = 10 * REQ;
	target_plan.end_bytes = START + 10 * REQ;
	target_plan.pattern.kind = PATTERN_TAGGED;
	target_plan.pattern.given = true;
	target.plan = &target_plan;
	return 0;
}

#define SET_UP_TEST(name) TEST_SETUP(name, set_up)

/* Opens; whether there are data to look after, and of these a book or a history. */
static void opens(bool data, unsigned books, unsigned histories)
{
	fake.books = fake.histories = 0;
	assert_int_equal(target_data_open(&target), 0);
	assert_int_equal(target.data != NULL, data);
	assert_true(fake.books == books && fake.histories == histories);
	if (data && books)
		assert_true(target.data->tagged);
	target_data_close(&target);
	assert_null(target.data);
}

/* Bounds are for writes that are read, and there is one sector at least. */
SET_UP_TEST(test_bounds)
{
	static const struct {
		bool verifies;
		uint64_t end, to;
	} cases[] = {
		{ true, START + 10 * REQ, START + 10 * REQ },
		{ true, START + 2, START + 2 },
		{ true, START + 1, START + 1 },
		{ true, START, START + 1 },
		{ true, 0, START + 1 },
		{ false, START + 10 * REQ, 0 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		target_plan.verify = cases[i].verifies ? VERIFY_CONTENTS : VERIFY_NONE;
		target_plan.end_bytes = cases[i].end;
		engine.caps = i % 2 ? ENGINE_MAPS : 0;
		opens(true, 1, 0);
		assert_true(fake.depth == 6 && fake.first == START && fake.tears == (i % 2));
		assert_int_equal(fake.end, cases[i].to);
	}
}

SET_UP_TEST(test_kept)
{
	opens(true, 1, 0);
	target_plan.op = OP_MIXED;
	opens(true, 1, 0);
	target_plan.op = OP_READ;
	opens(true, 0, 0);
	target_plan.verify = VERIFY_CONTENTS;
	opens(true, 0, 1);
	target_plan.pattern.given = false;
	opens(true, 0, 1);
	target_plan.verify = VERIFY_NONE;
	opens(false, 0, 0);
	target_plan.op = OP_WRITE;
	opens(false, 0, 0);
	target_plan.op = OP_MIXED;
	opens(true, 1, 0);
	engine.caps = ENGINE_NO_PATTERN;
	opens(false, 0, 0);
	engine.caps = 0;
	target_plan.kind = TARGET_NULL;
	opens(false, 0, 0);
	target_plan.kind = TARGET_FILE;
	target_plan.op = OP_NOOP;
	opens(false, 0, 0);
}

SET_UP_TEST(test_fails)
{
	fake.err = -ENOMEM;
	assert_int_equal(target_data_open(&target), -ENOMEM);
	target_data_close(&target);
	target_plan.op = OP_READ;
	target_plan.verify = VERIFY_CONTENTS;
	assert_int_equal(target_data_open(&target), -ENOMEM);
	target_data_close(&target);
}

RUN_TESTS(NULL, NULL)
