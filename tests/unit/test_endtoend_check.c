/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Options that the targets of an end-to-end run must have in common, and its ports:
 * endtoend.c in src/plan.
 */
#include "plan_fixture.h"

#include "plan/feature.h"
#include "xdd/plan/engine_info.h"

#define COOKIE "0123456789abcdef0123456789abcdef"
#define OTHER_COOKIE "0123456789abcdef0123456789abcdee"
#define SOURCES "-targets 3 null data list -numreqs target 0 1 " SIDE("source")
#define DESTINATIONS "-targets 3 null new1 new2 -op write -numreqs target 0 1 " SIDE("destination")
#define SIDE(side)                                                                       \
	"-e2e target 1 is" side " -e2e target 2 is" side " -e2e target 1 destination h " \
	"-e2e target 2 destination h "

/* `first` is an option of target 1, and `second` one of target 2. */
static void pair(const char *side, const char *first, const char *second, const char *text)
{
	char line[500];

	snprintf(line, sizeof(line), "%s%s %s", side, first, second);
	if (text)
		bad(line, XDD_BAD_ARGUMENT, text);
	else
		good(line);
}

/* Destinations share sockets. Target 0 is no copy, and has no say. */
TEST_TEARDOWN(test_together, forget_plan)
{
	static const struct {
		const char *option, *first, *second, *other;
		bool sources;
	} cases[] = {
		{ "-cookie", "-cookie target 1 " COOKIE, "-cookie target 2 " COOKIE,
		  "-cookie target 2 " OTHER_COOKIE, true },
		{ "-e2e congestion", "-e2e target 1 congestion reno",
		  "-e2e target 2 congestion reno", "-e2e target 2 congestion cubic", false },
		{ "-e2e sendbuffer", "-e2e target 1 sendbuffer 4096",
		  "-e2e target 2 sendbuffer 4096", "-e2e target 2 sendbuffer 8192", false },
		{ "-e2e receivebuffer", "-e2e target 1 receivebuffer 4096",
		  "-e2e target 2 receivebuffer 4096", "-e2e target 2 receivebuffer 8192", false },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char text[200];

		snprintf(text, sizeof(text),
			 "%s: %s: must be the same for all targets of a run; target 1 has another",
			 "target 2, new2", cases[i].option);
		pair(DESTINATIONS, cases[i].first, cases[i].second, NULL);
		pair(DESTINATIONS, cases[i].first, cases[i].other, text);
		pair(DESTINATIONS, cases[i].first, "", text);
		pair(DESTINATIONS, "", cases[i].second, text);
		snprintf(text, sizeof(text), "target 2, list: %s: must be the same",
			 cases[i].option);
		pair(SOURCES, cases[i].first, cases[i].second, NULL);
		pair(SOURCES, cases[i].first, cases[i].other, cases[i].sources ? text : NULL);
		pair(SOURCES, "", cases[i].second, cases[i].sources ? text : NULL);
	}
}

TEST_TEARDOWN(test_sides, forget_plan)
{
	bad("-targets 3 null data new -numreqs target 0 1 -e2e target 1 issource -e2e target 2 "
	    "isdestination -e2e target 1 destination h -e2e target 2 destination h",
	    XDD_BAD_ARGUMENT,
	    "target 2, new: -e2e: is the destination of a copy, and target 1 the source of another");
	bad("-targets 2 null new -numreqs target 0 1 -e2e target 1 isdestination -e2e target 1 "
	    "destination h -syncio 1",
	    XDD_BAD_ARGUMENT, "-syncio: a destination cannot wait for another target");
	good("-targets 2 null data -numreqs target 0 1 -e2e target 1 issource -e2e target 1 "
	     "destination h -syncio 1");
}

/* ---- ports ---- */

static const struct engine_info one_at_a_time = { .name = "one" };
static const struct engine_info queueing = { .name = "many", .caps = ENGINE_QUEUES };

/* A target of two addresses, which have that many ports from 1 on; 0: as many as are needed. */
static struct endtoend_address addresses[2];

static struct target_plan copy(const struct engine_info *engine, uint32_t first, uint32_t second)
{
	addresses[0] = (struct endtoend_address){ .host = "a", .port = 1, .ports = first };
	addresses[1] = (struct endtoend_address){ .host = "b", .port = 1, .ports = second };
	return (struct target_plan){ .path = "x",
				     .kind = TARGET_FILE,
				     .engine = engine,
				     .queue_depth = 7,
				     .endtoend = { .addresses = addresses, .n_addresses = 2 } };
}

TEST(test_most_ports)
{
	struct target_plan t = copy(&one_at_a_time, 32768, 32768);

	assert_int_equal(endtoend_resolve_ports(&t), XDD_OK);
	assert_int_equal(t.queue_depth, 65536);
	t = copy(&one_at_a_time, 32768, 32769);
	assert_int_equal(endtoend_resolve_ports(&t), XDD_BAD_ARGUMENT);
	assert_string_equal(messages(), "xdd: target 0, x: -e2e destination: 65537 ports are too "
					"many: a target has at most 65536\n");
	t = copy(&one_at_a_time, 1, 1);
	addresses[1].port = 65535;
	assert_int_equal(endtoend_resolve_ports(&t), XDD_OK);
	addresses[1].ports = 2;
	assert_int_equal(endtoend_resolve_ports(&t), XDD_BAD_ARGUMENT);
	assert_non_null(strstr(messages(),
			       "-e2e destination b: 2 ports from port 65535 on would end "
			       "past 65535"));
}

/* Connections are dealt to the addresses in turn, at least one to each. */
TEST(test_dealt)
{
	struct target_plan t = copy(&one_at_a_time, 0, 0);

	assert_int_equal(endtoend_resolve_ports(&t), XDD_OK);
	assert_int_equal(addresses[0].ports, 4);
	assert_int_equal(addresses[1].ports, 3);
	assert_int_equal(t.queue_depth, 7);
	t = copy(&one_at_a_time, 0, 0);
	t.queue_depth = 1;
	assert_int_equal(endtoend_resolve_ports(&t), XDD_OK);
	assert_int_equal(addresses[0].ports, 1);
	assert_int_equal(addresses[1].ports, 1);
	assert_int_equal(t.queue_depth, 2);
	/* Each address has its number, or the common one. */
	t = copy(&one_at_a_time, 0, 5);
	assert_int_equal(endtoend_resolve_ports(&t), XDD_OK);
	assert_int_equal(addresses[0].ports, 1);
	assert_int_equal(t.queue_depth, 6);
	t = copy(&one_at_a_time, 0, 5);
	t.endtoend.port_count = 3;
	assert_int_equal(endtoend_resolve_ports(&t), XDD_OK);
	assert_int_equal(addresses[0].ports, 3);
	assert_int_equal(addresses[1].ports, 5);
	/* The common port is for addresses without their own. */
	t = copy(&one_at_a_time, 1, 1);
	addresses[0].port = 0;
	assert_int_equal(endtoend_resolve_ports(&t), XDD_OK);
	assert_int_equal(addresses[0].port, E2E_DEFAULT_PORT);
	assert_int_equal(addresses[1].port, 1);
	t = copy(&one_at_a_time, 1, 1);
	addresses[0].port = 0;
	t.endtoend.port = 99;
	assert_int_equal(endtoend_resolve_ports(&t), XDD_OK);
	assert_int_equal(addresses[0].port, 99);
}

/* An engine that queues has two operations for each connection, unless a greater depth is given. */
TEST(test_depth)
{
	struct target_plan t = copy(&queueing, 2, 2);

	assert_int_equal(endtoend_resolve_ports(&t), XDD_OK);
	assert_int_equal(t.queue_depth, 8);
	t.queue_depth_given = true;
	for (uint64_t depth = 3; depth <= 5; depth++) {
		t.queue_depth = depth;
		assert_int_equal(endtoend_resolve_ports(&t), XDD_OK);
		assert_int_equal(t.queue_depth, depth < 4 ? 8 : depth);
	}
	t = copy(&queueing, 32768, 32768);
	assert_int_equal(endtoend_resolve_ports(&t), XDD_OK);
	assert_int_equal(t.queue_depth, 65536);
	/* Its threads have the connections. */
	t = copy(&queueing, 0, 0);
	t.threads = 3;
	assert_int_equal(endtoend_resolve_ports(&t), XDD_OK);
	assert_int_equal(addresses[0].ports, 2);
	assert_int_equal(addresses[1].ports, 1);
}

RUN_TESTS(set_up, remove_directory)
