/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names with a number in them.
 */
#include "unit.h"

#include <string.h>

#include "plan/files.h"
#include "xdd/base/memory.h"

static void is(const char *name, uint64_t n, const char *wanted)
{
	struct arena *arena = arena_new();

	assert_non_null(arena);
	assert_true(numbered_name_is(name));
	assert_null(numbered_name_wrong(name));
	assert_string_equal(numbered_name(arena, name, n), wanted);
	arena_free(arena);
}

TEST(test_conversions)
{
	is("file%d", 0, "file0");
	is("file%d", 8191, "file8191");
	is("file%02d", 7, "file07");
	is("file%02d", 123, "file123");
	is("%01d", 3, "3");
	is("%09d", 3, "000000003");
	is("%09d%d", UINT64_MAX, "1844674407370955161518446744073709551615");
	is("d%d/f%03d.dat", 12, "d12/f012.dat");
	is("100%%/%d", 1, "100%/1");
	is("%%%d%%", 1, "%1%");
	is("%%%%%dd", 1, "%%1d");
}

TEST(test_none)
{
	static const char *const names[] = { "",     "file",  "100%", "%%",   "%%d",  "%%%%02d",
					     "%s",   "%2d",   "%0d",  "%00d", "%02",  "%02x",
					     "%-2d", "%010d", "%0",   "%ld",  "%%%s", "%D" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (numbered_name_is(names[i]))
			fail_msg("\"%s\" has a conversion", names[i]);
	}
}

TEST(test_wrong)
{
	static const struct {
		const char *name;
		size_t at;
	} rows[] = { { "%d%", 2 },	{ "%d%s", 2 },	{ "%2d%d", 0 },
		     { "%%%d%%%x", 6 }, { "%d%0d", 2 }, { "a%d%%%", 5 } };

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		assert_true(numbered_name_is(rows[i].name));
		assert_ptr_equal(numbered_name_wrong(rows[i].name), rows[i].name + rows[i].at);
	}
}

RUN_TESTS(NULL, NULL)
