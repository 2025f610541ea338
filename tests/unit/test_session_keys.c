/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Sessions with keys and encryption, and peers without: src/net/session*.c.
 */
#include "unit.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "net/session_internal.h"
#include "net_rig.h"
#include "session_rig.h"

static struct rig_copy keyed_copy(uint8_t source, uint8_t destination)
{
	struct rig_copy c = rig_copy(3, 2, 40);

	if (source)
		c.source.key = rig_key(source);
	if (destination)
		c.destination.key = rig_key(destination);
	c.source.timeout_ns = 20 * SECOND_NS;
	return c;
}

static void assert_good(const struct rig_copy *c)
{
	assert_string_equal(c->source.why, "");
	assert_string_equal(c->destination.why, "");
	assert_int_equal(c->source.err, 0);
	assert_int_equal(c->destination.err, 0);
	for (uint64_t op = 0; op < c->ops; op++)
		assert_true(rig_has(c, c->passes, op));
}

TEST(test_key)
{
	struct rig_copy c = keyed_copy(1, 1);

	rig_run(&c, 1);
	assert_good(&c);
	assert_true(c.source.peer.flags & WIRE_CAN_KEY);
	assert_false(c.source.peer.flags & WIRE_CAN_ENCRYPT);
	rig_free(&c);
}

TEST(test_encrypt)
{
	struct rig_copy c = keyed_copy(1, 1);

	c.source.encrypt = true;
	c.destination.encrypt = true;
	rig_run(&c, 1);
	assert_good(&c);
	assert_true(c.destination.peer.flags & WIRE_CAN_ENCRYPT);
	rig_free(&c);
}

TEST(test_targets)
{
	struct rig_copy c[3] = { keyed_copy(1, 1), keyed_copy(1, 1), keyed_copy(1, 1) };

	rig_run(c, 3);
	for (unsigned i = 0; i < 3; i++) {
		assert_good(&c[i]);
		rig_free(&c[i]);
	}
}

/* The source ends; the destination waits for one that has the key, until it is stopped. */
static void assert_kept_out(struct rig_copy *c, const char *text)
{
	c->source.timeout_ns = 2 * SECOND_NS;
	c->destination.stop_after_ns = 3 * SECOND_NS;
	rig_run(c, 1);
	assert_true(c->source.err < 0);
	if (!strstr(c->source.why, text))
		fail_msg("\"%s\" has no \"%s\"", c->source.why, text);
	assert_int_equal(c->destination.err, -ECANCELED);
	assert_int_equal(c->destination.failed, 0);
	assert_int_equal(c->destination.begun, 0);
	rig_free(c);
}

TEST(test_wrong_key)
{
	struct rig_copy c = keyed_copy(1, 2);

	assert_kept_out(&c, "-e2e key");
}

TEST(test_source_without_key)
{
	struct rig_copy c = keyed_copy(0, 1);

	assert_kept_out(&c, "the destination has a key, the source has none: give both sides the "
			    "same -e2e key");
}

TEST(test_destination_without_key)
{
	struct rig_copy c = keyed_copy(1, 0);

	assert_kept_out(&c, "-e2e key");
}

/* Both have the key: both end, in words. */
TEST(test_one_encrypts)
{
	static const char *const texts[] = {
		"the source has -e2e encrypt, the destination has not: give it to both",
		"the destination has -e2e encrypt, the source has not: give it to both",
	};

	for (int i = 0; i < 2; i++) {
		struct rig_copy c = keyed_copy(1, 1);

		c.source.encrypt = i == 0;
		c.destination.encrypt = i == 1;
		rig_run(&c, 1);
		assert_string_equal(c.source.why, texts[i]);
		assert_string_equal(c.destination.why, texts[i]);
		assert_int_equal(c.destination.begun, 0);
		rig_free(&c);
	}
}

/* The key comes before encryption, which needs it. */
TEST(test_flags_differ)
{
	static const uint32_t key = WIRE_CAN_KEY, both = WIRE_CAN_KEY | WIRE_CAN_ENCRYPT;
	static const char no_key_there[] =
		"the source has a key, the destination has none: give both the same -e2e key";
	static const char no_key_here[] =
		"the destination has a key, the source has none: give both the same -e2e key";

	assert_null(session_flags_differ(0, 0));
	assert_null(session_flags_differ(key, key));
	assert_null(session_flags_differ(both, both));
	assert_string_equal(session_flags_differ(key, 0), no_key_there);
	assert_string_equal(session_flags_differ(both, 0), no_key_there);
	assert_string_equal(session_flags_differ(0, key), no_key_here);
	assert_string_equal(session_flags_differ(0, both), no_key_here);
	assert_string_equal(
		session_flags_differ(both, key),
		"the source has -e2e encrypt, the destination has not: give it to both");
	assert_string_equal(
		session_flags_differ(key, both),
		"the destination has -e2e encrypt, the source has not: give it to both");
}

RUN_TESTS_IF(digest_available(&reason) && net_key_available(&reason), ignore_sigpipe, NULL)
