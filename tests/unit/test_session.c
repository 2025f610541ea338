/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Sessions that go well, and plans that do not fit: src/net/session*.c.
 */
#include "unit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "net_rig.h"
#include "session_rig.h"

/* A limit on silence: longer than a machine stands still, mostly. */
#define LIFE_NS (4 * SECOND_NS)

/* The outcome of a copy without a fault. */
static void assert_good(const struct rig_copy *c)
{
	assert_string_equal(c->source.why, "");
	assert_string_equal(c->destination.why, "");
	assert_int_equal(c->source.err, 0);
	assert_int_equal(c->destination.err, 0);
	assert_int_equal(c->source.failed, 0);
	assert_int_equal(c->destination.failed, 0);
}

static void assert_copied(const struct rig_copy *c, unsigned pass)
{
	for (uint64_t op = 0; op < c->ops; op++)
		assert_true(rig_has(c, pass, op));
	assert_int_equal(c->written, c->ops * c->passes);
	assert_memory_equal(&c->source.own_pass, &c->destination.peer_pass,
			    sizeof(c->source.own_pass));
	assert_memory_equal(&c->source.peer_pass, &c->destination.own_pass,
			    sizeof(c->source.own_pass));
}

static void copy_well(unsigned connections, unsigned passes, uint64_t ops, uint64_t tail)
{
	struct rig_copy c = rig_copy(connections, passes, ops);

	c.tail_bytes = tail;
	rig_run(&c, 1);
	assert_good(&c);
	assert_copied(&c, passes);
	assert_int_equal(c.source.begun, passes);
	assert_int_equal(c.destination.begun, passes);
	rig_free(&c);
}

TEST(test_copies)
{
	copy_well(1, 1, 1, 1);
	copy_well(1, 1, 100, 0);
	copy_well(4, 1, 101, 7);
	copy_well(8, 3, 50, 4095);
	copy_well(3, 1, 1, 0);
}

TEST(test_nothing_to_copy)
{
	copy_well(1, 1, 0, 0);
	copy_well(4, 3, 0, 0);
}

TEST(test_many_passes)
{
	copy_well(2, 100, 5, 0);
}

TEST(test_targets)
{
	struct rig_copy c[3] = { rig_copy(1, 2, 40), rig_copy(4, 1, 33), rig_copy(2, 3, 0) };

	rig_run(c, 3);
	for (unsigned i = 0; i < 3; i++) {
		assert_good(&c[i]);
		assert_copied(&c[i], c[i].passes);
		rig_free(&c[i]);
	}
}

/* Both sides get the plan of the other. */
static void name_source(struct wire_plan *own)
{
	memset(own->run, 7, sizeof(own->run));
	snprintf(own->name, sizeof(own->name), "the source");
	own->size_bytes = 12345;
	own->mtime_ns = -1;
}

static void name_destination(struct wire_plan *own)
{
	snprintf(own->name, sizeof(own->name), "the destination");
	own->start_bytes = 8192;
}

TEST(test_plans_exchanged)
{
	struct rig_copy c = rig_copy(1, 1, 1);

	c.source.change = name_source;
	c.destination.change = name_destination;
	rig_run(&c, 1);
	assert_good(&c);
	assert_string_equal(c.destination.peer.name, "the source");
	assert_int_equal(c.destination.peer.run[15], 7);
	assert_int_equal(c.destination.peer.size_bytes, 12345);
	assert_int_equal(c.destination.peer.mtime_ns, -1);
	assert_string_equal(c.source.peer.name, "the destination");
	assert_int_equal(c.source.peer.start_bytes, 8192);
	assert_int_equal(c.source.peer.flags & WIRE_RESUMES, 0);
	rig_free(&c);
}

/* ---- parts ---- */

TEST(test_ranges)
{
	struct rig_copy c = rig_copy(2, 1, 50);

	c.accepts = 1;
	c.ranges[0] = (struct wire_range){ .first = 3, .count = 4 };
	c.ranges[1] = (struct wire_range){ .first = 49, .count = 1 };
	c.n_ranges = 2;
	c.tail_bytes = 100;
	rig_run(&c, 1);
	assert_good(&c);
	assert_true(c.source.peer.flags & WIRE_RESUMES);
	assert_int_equal(c.source.n_ranges, 2);
	assert_int_equal(c.written, 5);
	for (uint64_t op = 0; op < 50; op++)
		assert_int_equal(rig_has(&c, 1, op), (op >= 3 && op < 7) || op == 49);
	rig_free(&c);
}

TEST(test_nothing_missing)
{
	struct rig_copy c = rig_copy(2, 1, 50);

	c.accepts = 1;
	rig_run(&c, 1);
	assert_good(&c);
	assert_true(c.source.peer.flags & WIRE_RESUMES);
	assert_int_equal(c.source.n_ranges, 0);
	assert_int_equal(c.written, 0);
	rig_free(&c);
}

TEST(test_ranges_outside)
{
	struct rig_copy c = rig_copy(1, 1, 50);

	c.accepts = 1;
	c.ranges[0] = (struct wire_range){ .first = 49, .count = 2 };
	c.n_ranges = 1;
	rig_run(&c, 1);
	assert_true(c.source.err < 0);
	assert_true(c.destination.err < 0);
	assert_non_null(strstr(c.source.why, "a message whose contents are malformed"));
	rig_free(&c);
}

TEST(test_refused)
{
	struct rig_copy c = rig_copy(2, 1, 5);

	c.accepts = -1;
	rig_run(&c, 1);
	assert_int_equal(c.destination.err, -EPERM);
	assert_true(c.source.err < 0);
	assert_string_equal(c.source.why, "the destination refuses: test");
	assert_string_equal(c.destination.why, "the destination refuses: test");
	rig_free(&c);
}

/* ---- proofs ---- */

static void assert_answer(struct session *s, uint64_t first, uint64_t n)
{
	struct wire_sums sums;
	size_t length, used;
	uint8_t *body;

	assert_int_equal(session_sums(s, &body, &length), 0);
	assert_int_equal(wire_decode_sums(body, length, &sums, &used), WIRE_OK);
	assert_int_equal(used, length);
	assert_int_equal(sums.id, first);
	assert_int_equal(sums.n, n);
	for (uint64_t k = 0; k < n; k++)
		assert_int_equal(wire_sums_at(&sums, k).low, first + k);
	free(body);
}

/* Two questions are outstanding at a time. */
static int ask_all(struct session *s, const struct rig_copy *c)
{
	const uint64_t step = 5;

	for (uint64_t op = 0; op < c->ops; op += step) {
		const struct wire_range range = { .first = op, .count = step };

		assert_int_equal(session_prove(s, &range, 1), 0);
		if (op)
			assert_answer(s, op - step, step);
	}
	assert_answer(s, c->ops - step, step);
	return 0;
}

TEST(test_proof)
{
	struct rig_copy c = rig_copy(2, 1, 200);

	c.ask = ask_all;
	c.accepts = 1;
	c.ranges[0] = (struct wire_range){ .first = 3, .count = 4 };
	c.n_ranges = 1;
	rig_run(&c, 1);
	assert_good(&c);
	assert_int_equal(c.written, 4);
	rig_free(&c);
}

static struct wire_range bad_questions[2];

static int ask_badly(struct session *s, const struct rig_copy *c)
{
	(void)c;
	for (unsigned i = 0; i < 2; i++) {
		uint8_t *body = NULL;
		size_t length;
		int err = session_prove(s, &bad_questions[i], 1);

		if (!err)
			err = session_sums(s, &body, &length);
		if (err) {
			assert_null(body);
			return err;
		}
		free(body);
	}
	return 0;
}

/* The source answers each operation once: a destination cannot keep it busy for ever. */
TEST(test_bad_questions)
{
	static const struct wire_range cases[][2] = {
		{ { 0, 5 }, { 0, 5 } },	  { { 5, 5 }, { 0, 5 } },
		{ { 0, 5 }, { 4, 5 } },	  { { 0, 5 }, { 45, 6 } },
		{ { 49, 1 }, { 50, 1 } }, { { INT64_MAX - 1, 1 }, { 0, 1 } },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct rig_copy c = rig_copy(1, 1, 50);

		memcpy(bad_questions, cases[i], sizeof(bad_questions));
		c.ask = ask_badly;
		rig_run(&c, 1);
		assert_true(c.source.err < 0);
		assert_true(c.destination.err < 0);
		assert_non_null(strstr(c.source.why, "a message whose contents are malformed"));
		assert_int_equal(c.written, 0);
		rig_free(&c);
	}
}

static int ask_and_refuse(struct session *s, const struct rig_copy *c)
{
	const struct wire_range range = { .first = 0, .count = c->ops };

	assert_int_equal(session_prove(s, &range, 1), 0);
	return -EBADMSG;
}

/* The answer to a question need not be waited for. */
TEST(test_unanswered)
{
	struct rig_copy c = rig_copy(1, 1, 50);

	c.ask = ask_and_refuse;
	rig_run(&c, 1);
	assert_int_equal(c.destination.err, -EBADMSG);
	assert_true(c.source.err < 0);
	rig_free(&c);
}

/* ---- failed operations ---- */

TEST(test_skip)
{
	struct rig_copy c = rig_copy(3, 1, 20);

	c.skip_op = 4;
	rig_run(&c, 1);
	assert_good(&c);
	assert_int_equal(c.destination.peer_pass.failed, 1);
	assert_int_equal(c.destination.peer_pass.ops, 19);
	assert_int_equal(c.destination.own_pass.ops, 19);
	assert_false(rig_has(&c, 1, 4));
	rig_free(&c);
}

TEST(test_bad_write)
{
	struct rig_copy c = rig_copy(3, 1, 20);

	c.bad_write = 4;
	rig_run(&c, 1);
	assert_good(&c);
	assert_int_equal(c.source.peer_pass.failed, 1);
	assert_int_equal(c.source.peer_pass.ops, 19);
	rig_free(&c);
}

/* ---- early ends ---- */

TEST(test_source_ends_early)
{
	for (unsigned passes = 1; passes < 4; passes++) {
		struct rig_copy c = rig_copy(2, 4, 10);

		c.source.end_after = passes;
		rig_run(&c, 1);
		assert_good(&c);
		assert_int_equal(c.destination.begun, passes);
		assert_int_equal(c.written, 10 * passes);
		rig_free(&c);
	}
}

TEST(test_destination_ends_pass)
{
	struct rig_copy c = rig_copy(2, 3, 200);

	c.throttle_ns = 20 * MS_NS;
	c.destination.stop_pass_at = 2;
	rig_run(&c, 1);
	assert_good(&c);
	assert_int_equal(c.source.stops, 1);
	assert_int_equal(c.source.begun, 3);
	assert_true(c.written >= 400);
	assert_true(c.written < 600);
	rig_free(&c);
}

/* Both sides end after a silence of LIFE_NS. */
static void stay_alive(struct rig_copy c)
{
	c.source.timeout_ns = LIFE_NS;
	c.destination.timeout_ns = LIFE_NS;
	rig_run(&c, 1);
	assert_good(&c);
	assert_copied(&c, 1);
	rig_free(&c);
}

/* A destination that takes longer than the time limit to open its file is alive. */
TEST(test_slow_to_open)
{
	struct rig_copy c = rig_copy(2, 1, 10);

	c.open_late_ns = LIFE_NS + SECOND_NS;
	stay_alive(c);
}

/* A source that has nothing to send for longer than the time limit is alive. */
TEST(test_slow_source)
{
	struct rig_copy c = rig_copy(1, 1, 1);

	c.throttle_ns = LIFE_NS + SECOND_NS;
	stay_alive(c);
}

/* ---- plans that do not fit ---- */

static void more_bytes(struct wire_plan *own)
{
	own->req_bytes = 8192;
}

static void any_amount(struct wire_plan *own)
{
	own->bytes = WIRE_NO_SIZE;
	own->ops = WIRE_NO_SIZE;
}

static void assert_misfit(void (*change)(struct wire_plan *), const char *text)
{
	struct rig_copy c = rig_copy(2, 1, 10);

	c.destination.change = change;
	rig_run(&c, 1);
	assert_string_equal(c.source.why, text);
	assert_string_equal(c.destination.why, text);
	assert_true(c.source.err < 0);
	assert_true(c.destination.err < 0);
	assert_int_equal(c.source.begun + c.destination.begun, 0);
	assert_int_equal(c.written, 0);
	assert_true(c.source.failed <= 1);
	rig_free(&c);
}

/* Of all fields test_session_control.c has the words. */
TEST(test_misfit)
{
	assert_misfit(more_bytes,
		      "the source sends requests of 4096 bytes, the destination expects 8192: "
		      "give both the same -reqsize and -blocksize");
}

TEST(test_open_amount)
{
	struct rig_copy c = rig_copy(2, 1, 10);

	c.destination.change = any_amount;
	rig_run(&c, 1);
	assert_good(&c);
	assert_copied(&c, 1);
	rig_free(&c);
}

/* Without a destination the source ends with its time limit, and says why. */
TEST(test_no_source)
{
	struct rig_copy c = rig_copy(1, 1, 1);

	c.destination.timeout_ns = 300 * MS_NS;
	c.destination.timeout_given = true;
	c.source.stop_at = 1;
	rig_run(&c, 1);
	assert_int_equal(c.source.err, -ECANCELED);
	assert_string_equal(c.source.why, "");
	assert_int_equal(c.destination.err, -ETIMEDOUT);
	assert_string_equal(c.destination.why, "no source has connected for 0.3 s (-e2e timeout)");
	rig_free(&c);
}

RUN_TESTS_IF(digest_available(&reason), NULL, NULL)
