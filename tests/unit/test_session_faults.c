/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Sessions that end before their time: runs that stop or fail at every step, connections that a
 * proxy damages, cuts or freezes. Both sides end soon, and a wrong block is never written.
 */
#include "unit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "net_rig.h"
#include "session_rig.h"

/* Short where tests wait for it, long where a busy machine must not reach it. */
#define TIMEOUT_NS (500 * MS_NS)
#define LONG_TIMEOUT_NS (20 * SECOND_NS)

/* Time that a side may need beyond its limit: for last words, or as the machine stood still. */
#define LATE_NS (20 * SECOND_NS)

static struct rig_copy small_copy(uint64_t timeout_ns)
{
	struct rig_copy c = rig_copy(2, 2, 12);

	c.source.timeout_ns = timeout_ns;
	c.destination.timeout_ns = timeout_ns;
	c.destination.timeout_given = true;
	return c;
}

static bool is_empty(const struct rig_copy *c, uint64_t op)
{
	for (unsigned i = 0; i < RIG_REQ; i++)
		if (c->data[op * RIG_REQ + i])
			return false;
	return true;
}

/* A side has ended well, or it knows why not; and it did not take long. */
static void assert_side(const struct rig_copy *c, const struct rig_side *side)
{
	if (side->err < 0 && side->err != -ECANCELED)
		assert_true(side->why[0]);
	if (side->err >= 0)
		assert_string_equal(side->why, "");
	assert_true(side->ended_ns - c->began_ns < 2 * side->timeout_ns + LATE_NS);
}

static void assert_ended(const struct rig_copy *c)
{
	assert_side(c, &c->source);
	assert_side(c, &c->destination);
	for (uint64_t op = 0; op < c->ops; op++)
		if (!rig_has(c, 1, op) && !rig_has(c, 2, op))
			assert_true(is_empty(c, op));
	if (c->source.err >= 0 || c->destination.err >= 0)
		for (uint64_t op = 0; op < c->ops; op++)
			assert_true(rig_has(c, c->passes, op));
}

/* ---- this side ends ---- */

static void assert_text(const char *text, const char *expected)
{
	/* A source whose destination has ended before it came is told so. */
	if (strcmp(text, "the copy has ended on the destination") != 0)
		assert_string_equal(text, expected);
}

static void stop_at(bool source, unsigned n, bool *reached)
{
	struct rig_copy c = small_copy(LONG_TIMEOUT_NS);
	struct rig_side *own = source ? &c.source : &c.destination;
	struct rig_side *other = source ? &c.destination : &c.source;

	own->stop_at = n;
	rig_run(&c, 1);
	*reached = own->steps >= n;
	assert_ended(&c);
	if (*reached) {
		assert_int_equal(own->err, -ECANCELED);
		assert_int_equal(own->failed, 0);
		assert_string_equal(own->why, "");
		assert_true(other->err < 0);
		assert_int_equal(other->failed, 1);
		assert_text(other->why, source ? "the source was interrupted by signal 2" :
						 "the destination was interrupted by signal 2");
	}
	rig_free(&c);
}

TEST(test_stop_at_each_step)
{
	for (int source = 0; source < 2; source++) {
		bool reached = true;
		/* Before the first step of a source no destination knows it. */
		unsigned n = source ? 2 : 1;

		while (reached)
			stop_at(source, n++, &reached);
		assert_true(n > 8);
	}
}

/* The other side reports the reason that the run gave, or the cause. */
TEST(test_stop_words)
{
	static const struct {
		enum stop_reason why;
		const char *explain, *words;
	} cases[] = {
		{ STOP_SIGNAL, NULL, "was interrupted by signal 2" },
		{ STOP_SIGNAL, "no room", "was interrupted by signal 2" },
		{ STOP_START, NULL, "could not start" },
		{ STOP_START, "no room", NULL },
		{ STOP_ERROR, NULL, "stopped after an error" },
		{ STOP_ERROR, "no\033room", NULL },
	};

	for (size_t i = 0; i < 2 * sizeof(cases) / sizeof(cases[0]); i++) {
		const bool source = i % 2;
		const char *side = source ? "source" : "destination";
		struct rig_copy c = small_copy(LONG_TIMEOUT_NS);
		struct rig_side *own = source ? &c.source : &c.destination;
		struct rig_side *other = source ? &c.destination : &c.source;
		char words[64];

		/* The sides have met. */
		own->stop_at = 3;
		own->stop_for = cases[i / 2].why;
		own->explain = cases[i / 2].explain;
		if (cases[i / 2].words)
			snprintf(words, sizeof(words), "the %s %s", side, cases[i / 2].words);
		else
			snprintf(words, sizeof(words), "the %s: no%sroom", side,
				 cases[i / 2].why == STOP_START ? " " : "\\x1b");
		rig_run(&c, 1);
		assert_int_equal(own->err, -ECANCELED);
		assert_string_equal(own->why, "");
		assert_string_equal(other->why, words);
		rig_free(&c);
	}
}

static void fail_at(bool source, unsigned n, bool *reached)
{
	struct rig_copy c = small_copy(LONG_TIMEOUT_NS);
	struct rig_side *own = source ? &c.source : &c.destination;
	struct rig_side *other = source ? &c.destination : &c.source;

	own->fail_at = n;
	rig_run(&c, 1);
	*reached = own->steps >= n;
	assert_ended(&c);
	if (*reached) {
		assert_true(own->err < 0);
		assert_int_equal(own->failed, 0);
		assert_string_equal(own->why, "the test has failed");
		assert_true(other->err < 0);
		assert_int_equal(other->failed, 1);
		assert_text(other->why, "the test has failed");
	}
	rig_free(&c);
}

TEST(test_fail_at_each_step)
{
	for (int source = 0; source < 2; source++) {
		bool reached = true;
		unsigned n = source ? 2 : 1;

		while (reached)
			fail_at(source, n++, &reached);
		assert_true(n > 8);
	}
}

/* At any moment, while threads wait in any call. */
TEST(test_stop_at_random)
{
	srandom(7);
	for (unsigned i = 0; i < 100; i++) {
		struct rig_copy c = small_copy(LONG_TIMEOUT_NS);
		bool source = i % 2;
		struct rig_side *own = source ? &c.source : &c.destination;

		/* A source that stops before it has connected leaves a destination that waits. */
		c.destination.timeout_ns = SECOND_NS;
		c.throttle_ns = i % 3 ? MS_NS : 0;
		c.open_late_ns = i % 5 ? 0 : 5 * MS_NS;
		own->stop_after_ns = 1 + (uint64_t)random() % (25 * MS_NS);
		rig_run(&c, 1);
		assert_ended(&c);
		rig_free(&c);
	}
}

/* ---- the network ---- */

/* HELLO and WELCOME at most: a source without an answer tries again, and all ends well. */
#define GREETING_BYTES (WIRE_HEADER_BYTES + 24 + sizeof(((struct wire_hello *)0)->software))

/* Harm a copy whose sides have `timeout_ns` as their limit on silence. */
static void harm(enum proxy_harm what, unsigned connection, bool upstream, uint64_t at,
		 uint64_t timeout_ns, struct rig_copy *c)
{
	struct proxy_fault fault = { what, connection, upstream, at };
	bool healed;

	*c = small_copy(timeout_ns);
	c->fault = &fault;
	rig_run(c, 1);
	c->fault = NULL;
	assert_ended(c);
	healed = connection == 0 && at < GREETING_BYTES && !c->source.err && !c->destination.err;
	if (c->harmed && !healed)
		assert_true(c->source.err < 0 || c->destination.err < 0);
	rig_free(c);
}

/* The bytes of each connection, by a run without harm. */
static void measure(uint64_t bytes[3][2])
{
	struct rig_copy c;

	harm(PROXY_FLIP, 0, true, UINT64_MAX, LONG_TIMEOUT_NS, &c);
	assert_int_equal(c.source.err, 0);
	assert_int_equal(c.destination.err, 0);
	memcpy(bytes, c.forwarded, 3 * sizeof(bytes[0]));
}

/* `points` bytes, spread over each stream; many with XDD_TEST_LONG. */
static void harm_all(enum proxy_harm what, unsigned points)
{
	uint64_t bytes[3][2];

	if (getenv("XDD_TEST_LONG"))
		points *= 16;
	measure(bytes);
	for (unsigned i = 0; i < 3; i++)
		for (int up = 0; up < 2; up++)
			for (unsigned k = 0; k < points; k++) {
				struct rig_copy c;

				harm(what, i, up, bytes[i][up] * (2 * k + 1) / (2 * points),
				     TIMEOUT_NS, &c);
			}
}

TEST(test_kill)
{
	harm_all(PROXY_KILL, 10);
}

TEST(test_cut)
{
	harm_all(PROXY_CUT, 1);
}

TEST(test_freeze)
{
	harm_all(PROXY_FREEZE, 1);
}

TEST(test_flip)
{
	harm_all(PROXY_FLIP, 24);
}

/* A damaged block is told by its place in the file on both sides. */
TEST(test_damaged_block)
{
	static const char text[] = "block at byte 4096 of the copy arrived damaged (connection 1, ";
	uint64_t bytes[3][2];
	struct rig_copy c;

	measure(bytes);
	/* In the middle of the first block of connection 1, which is operation 1. */
	harm(PROXY_FLIP, 2, true, bytes[2][1] - 2 * 96 - 11 * (96 + 4096) - 2000, LONG_TIMEOUT_NS,
	     &c);
	assert_int_equal(c.destination.err, -EBADMSG);
	assert_memory_equal(c.destination.why, text, sizeof(text) - 1);
	assert_string_equal(c.source.why, c.destination.why);
}

TEST(test_lost_peer)
{
	uint64_t bytes[3][2];
	struct rig_copy c;

	measure(bytes);
	harm(PROXY_KILL, 1, true, bytes[1][1] / 2, LONG_TIMEOUT_NS, &c);
	assert_non_null(strstr(c.source.why, "was closed by the destination before the end"));
	assert_non_null(strstr(c.destination.why, "was closed by the source before the end"));
	/* Its steps before the freeze have this limit as well. */
	harm(PROXY_FREEZE, 1, true, bytes[1][1] / 2, 3 * SECOND_NS, &c);
	assert_non_null(strstr(c.source.why, "was lost: no sign of life for 3 s"));
	assert_non_null(strstr(c.destination.why, "was lost: no sign of life for 3 s"));
}

RUN_TESTS_IF(digest_available(&reason), NULL, NULL)
