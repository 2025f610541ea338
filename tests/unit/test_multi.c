/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Lists of hosts of xdd multi: src/commands/multi_hosts.c.
 */
#include "unit.h"

#include <string.h>

#include "commands/multi.h"
#include "xdd/base/log.h"
#include "xdd/base/memory.h"

/* One host; NULL: refused. */
static void is_host(const char *text, const char *user, const char *name, uint32_t slots)
{
	struct arena *arena = arena_new();
	struct multi_hosts h = { .n = 0 };
	enum xdd_status status;

	assert_non_null(arena);
	log_hold();
	status = multi_hosts_add(arena, &h, text, "-hosts", 7);
	log_drop(0);
	log_release();
	assert_int_equal(status, name ? XDD_OK : XDD_BAD_ARGUMENT);
	if (name) {
		assert_int_equal(h.n, 1);
		assert_string_equal(h.list[0].name, name);
		assert_int_equal(h.list[0].slots, slots);
		assert_int_equal(!h.list[0].user, !user);
		if (user)
			assert_string_equal(h.list[0].user, user);
	}
	arena_free(arena);
}

TEST(test_hosts)
{
	is_host("node1", NULL, "node1", 7);
	is_host(" node1, ", NULL, "node1", 7);
	is_host("node1:3", NULL, "node1", 3);
	is_host("ann@node1.example.org:3", "ann", "node1.example.org", 3);
	is_host("10.0.0.1", NULL, "10.0.0.1", 7);
	is_host("::1", NULL, "::1", 7);
	is_host("[fe80::1]:2", NULL, "fe80::1", 2);
	is_host("ann@[::1]", "ann", "::1", 7);
	is_host("a@b@c", "a@b", "c", 7);
}

TEST(test_refused)
{
	static const char *const texts[] = {
		"-x",  "-x@a", "@a",  "a@",  ":2",	"a:",	 "a:0",	   "a:-1",  "a:16385",
		"a:x", "[::1", "[]",  "a/b", "[a]b:1",	"a\tb;", "a`b",	   "../a",  "a%b",
		"4",   "a*",   "a=b", "..:", "a$(x):1", "\x7f",	 "[a]:1x", "[a]1:2"
	};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		is_host(texts[i], NULL, NULL, 0);
}

TEST(test_ranges)
{
	static const char *const names[] = { "n08", "n09", "n10", "n3", "b1-x2", "b1-x3" };
	static const char *const wrong[] = { "n[",     "n[]",	"n[1",		 "n[1-]",
					     "n[2-1]", "n[a]",	"n[1,]",	 "n[1-2",
					     "n[1;2]", "n[1]]", "n[9999999999]", "n[1-99999]" };
	struct arena *arena = arena_new();
	struct multi_hosts h = { .n = 0 };

	assert_non_null(arena);
	assert_int_equal(multi_hosts_add(arena, &h, "ann@n[08-10,3]:2,b[1]-x[2-3]", "-hosts", 1),
			 XDD_OK);
	assert_int_equal(h.n, 6);
	for (size_t i = 0; i < h.n; i++) {
		assert_string_equal(h.list[i].name, names[i]);
		assert_int_equal(h.list[i].slots, i < 4 ? 2 : 1);
	}
	arena_free(arena);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		is_host(wrong[i], NULL, NULL, 0);
}

/* More hosts than the first allocation has room for. */
TEST(test_many)
{
	struct arena *arena = arena_new();
	struct multi_hosts h = { .n = 0 };

	assert_non_null(arena);
	for (unsigned i = 0; i < 1000; i++) {
		const char *name = arena_printf(arena, "node%u", i);

		assert_int_equal(multi_hosts_add(arena, &h, name, "-hosts", 1), XDD_OK);
	}
	assert_int_equal(h.n, 1000);
	assert_string_equal(h.list[63].name, "node63");
	assert_string_equal(h.list[999].name, "node999");
	arena_free(arena);
}

RUN_TESTS(NULL, NULL)
