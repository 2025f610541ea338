/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Addresses of -e2e destination: what is read, what is refused, and the ports of connections.
 */
#include "unit.h"

#include <errno.h>
#include <string.h>

#include "plan/feature.h"
#include "xdd/base/memory.h"

static const struct {
	const char *text, *host;
	uint16_t port;
	uint32_t ports;
} good[] = {
	{ "hostb", "hostb", 0, 0 },
	{ "hostb:2010", "hostb", 2010, 0 },
	{ "192.168.1.5:40010,4", "192.168.1.5", 40010, 4 },
	{ "a-b.c_d.example:1", "a-b.c_d.example", 1, 0 },
	{ "h:65535", "h", 65535, 0 },
	{ "h:65535,1", "h", 65535, 1 },
	{ "h:1,65535", "h", 1, 65535 },
	{ "h:00080,0004", "h", 80, 4 },
	{ "[::1]", "::1", 0, 0 },
	{ "[::1]:40010", "::1", 40010, 0 },
	{ "[fe80::1%eth0]:40010,4", "fe80::1%eth0", 40010, 4 },
	{ "[::ffff:10.0.0.1]:7", "::ffff:10.0.0.1", 7, 0 },
};

TEST(test_good)
{
	struct arena *arena = arena_new();

	assert_non_null(arena);
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		struct endtoend_address a;
		const char *why;

		why = endtoend_address_read(good[i].text, arena, &a);
		if (why)
			fail_msg("%s: refused: %s", good[i].text, why);
		if (strcmp(a.host, good[i].host) || a.port != good[i].port ||
		    a.ports != good[i].ports)
			fail_msg("%s: read as %s, %u, %u", good[i].text, a.host, a.port, a.ports);
	}
	arena_free(arena);
}

static const struct {
	const char *text, *why;
} bad[] = {
	{ "", "expected <host>" },
	{ " ", "expected <host>" },
	{ "host b", "expected <host>" },
	{ " hostb", "expected <host>" },
	{ "host\n", "expected <host>" },
	{ "-h", "expected <host>" },
	{ "user@host", "expected <host>" },
	{ "host/path", "expected <host>" },
	{ "h]", "expected <host>" },
	{ ":2010", "expected <host>" },
	{ "h:", "expected a port from 1" },
	{ "h:x", "expected a port from 1" },
	{ "h:0", "expected a port from 1" },
	{ "h:-1", "expected a port from 1" },
	{ "h:+1", "expected a port from 1" },
	{ "h: 1", "expected a port from 1" },
	{ "h:1 ", "expected a port from 1" },
	{ "h:1k", "expected a port from 1" },
	{ "h:65536", "expected a port from 1" },
	{ "h:18446744073709551617", "expected a port from 1" },
	{ "h:00000000000000000000000000000000001", "expected a port from 1" },
	{ "h:,4", "expected a port from 1" },
	{ "h,4", "a number of ports needs a port before it" },
	{ "[::1],4", "a number of ports needs a port before it" },
	{ "h:2010,", "expected a number of ports from 1" },
	{ "h:2010,0", "expected a number of ports from 1" },
	{ "h:2010,x", "expected a number of ports from 1" },
	{ "h:2010, 4", "expected a number of ports from 1" },
	{ "h:2010,65536", "expected a number of ports from 1" },
	{ "h:65535,2", "the ports would end past 65535" },
	{ "h:2,65535", "the ports would end past 65535" },
	{ "h:2010,4,0", "a third number, a NUMA node" },
	{ "h:2010,4,", "a third number, a NUMA node" },
	{ "::1", "an IPv6 number needs brackets" },
	{ "fe80::1:40010,4", "an IPv6 number needs brackets" },
	{ "h:1:2", "an IPv6 number needs brackets" },
	{ "[", "the bracket after the IPv6 number" },
	{ "[::1", "the bracket after the IPv6 number" },
	{ "[::1:40010", "the bracket after the IPv6 number" },
	{ "[::1]40010", "expected a colon and a port after" },
	{ "[::1]]", "expected a colon and a port after" },
	{ "[]", "expected an IPv6 number" },
	{ "[hostb]", "expected an IPv6 number" },
	{ "[10.0.0.1]", "expected an IPv6 number" },
	{ "[fe80::1%]", "expected an IPv6 number" },
	{ "[:::1]:1", "expected an IPv6 number" },
};

TEST(test_bad)
{
	struct arena *arena = arena_new();

	assert_non_null(arena);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct endtoend_address a;
		const char *why = NULL;

		why = endtoend_address_read(bad[i].text, arena, &a);
		if (!why)
			fail_msg("'%s': taken as %s, %u, %u", bad[i].text, a.host, a.port, a.ports);
		if (strncmp(why, bad[i].why, strlen(bad[i].why)) != 0)
			fail_msg("'%s': refused with: %s", bad[i].text, why);
	}
	arena_free(arena);
}

TEST(test_long_host)
{
	struct arena *arena = arena_new();
	char text[300];
	struct endtoend_address a;

	assert_non_null(arena);
	memset(text, 'x', sizeof(text));
	strcpy(text + 255, ":1");
	assert_null(endtoend_address_read(text, arena, &a));
	assert_int_equal(strlen(a.host), 255);
	memset(text, 'x', sizeof(text));
	strcpy(text + 256, ":1");
	assert_non_null(endtoend_address_read(text, arena, &a));
	arena_free(arena);
}

/* Connections go through the ports of one address, then to the next. */
TEST(test_connections)
{
	struct endtoend_address addresses[] = { { "a", 100, 2 },
						{ "b", 200, 1 },
						{ "c", 65533, 3 } };
	struct endtoend_options e = { .addresses = addresses, .n_addresses = 3 };
	static const struct {
		char host;
		uint16_t port;
	} want[] = { { 'a', 100 },   { 'a', 101 },   { 'b', 200 },
		     { 'c', 65533 }, { 'c', 65534 }, { 'c', 65535 } };

	assert_int_equal(endtoend_connections(&e), 6);
	for (uint64_t i = 0; i < 6; i++) {
		uint16_t port;
		const struct endtoend_address *a = endtoend_address_of(&e, i, &port);

		assert_int_equal(*a->host, want[i].host);
		assert_int_equal(port, want[i].port);
	}
}

RUN_TESTS(NULL, NULL)
