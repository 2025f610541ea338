/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Placeholders in words of a command line: src/plan/runs.c.
 */
#include "unit.h"

#include <errno.h>
#include <string.h>

#include "xdd/base/memory.h"
#include "xdd/plan/runs.h"

static const struct placeholders rank = { .host = "node7", .rank = 3, .n_ranks = 16 };

static void becomes(const char *word, const char *wanted)
{
	struct arena *a = arena_new();
	const char *got = NULL;

	assert_non_null(a);
	assert_null(placeholder_replace(a, word, &rank, &got));
	assert_string_equal(got, wanted);
	arena_free(a);
}

static void is_refused(const char *word, const char *wanted)
{
	struct arena *a = arena_new();
	const char *got = NULL;

	assert_non_null(a);
	assert_string_equal(placeholder_replace(a, word, &rank, &got), wanted);
	arena_free(a);
}

TEST(test_replaced)
{
	becomes("%h", "node7");
	becomes("%r", "3");
	becomes("%n", "16");
	becomes("%%", "%");
	becomes("/data/%h/file.%r-of-%n", "/data/node7/file.3-of-16");
	becomes("%r%r%h%h", "33node7node7");
	becomes("%%h%%%r", "%h%3");
}

TEST(test_kept)
{
	const char *word = "results-50.txt", *got = NULL;
	struct arena *a = arena_new();

	assert_non_null(a);
	assert_null(placeholder_replace(a, word, &rank, &got));
	assert_ptr_equal(got, word);
	arena_free(a);
	becomes("", "");
	becomes("50%", "50%");
	becomes("%", "%");
	becomes("100%%", "100%");
	becomes("$(id) `id` 'a' \\ \n;", "$(id) `id` 'a' \\ \n;");
	becomes("\xc3\xa4%r", "\xc3\xa4"
			      "3");
}

/* A value is text, and no placeholder again. */
TEST(test_once)
{
	const struct placeholders odd = { .host = "%r%n%x", .n_ranks = UINT32_MAX };
	struct arena *a = arena_new();
	const char *got = NULL;

	assert_non_null(a);
	assert_null(placeholder_replace(a, "%h:%n", &odd, &got));
	assert_string_equal(got, "%r%n%x:4294967295");
	arena_free(a);
}

TEST(test_refused)
{
	is_refused("out.%d",
		   "\"%d\" is no placeholder; expected %h, %r, %n, or %% for a percent sign");
	is_refused("%r 50% b",
		   "\"%\" is no placeholder; expected %h, %r, %n, or %% for a percent sign");
	is_refused("%\xc3\xa4",
		   "\"%\" is no placeholder; expected %h, %r, %n, or %% for a percent sign");
	is_refused("%H", "\"%H\" is no placeholder; expected %h, %r, %n, or %% for a percent sign");
}

TEST(test_bound)
{
	static char word[2 * (PLACEHOLDER_MAX_BYTES / 5 + 1) + 1];
	const size_t n = PLACEHOLDER_MAX_BYTES / 5;
	struct arena *a = arena_new();
	const char *got = NULL;

	assert_non_null(a);
	for (size_t i = 0; i < n; i++)
		memcpy(word + 2 * i, "%h", 3);
	assert_null(placeholder_replace(a, word, &rank, &got));
	assert_int_equal(strlen(got), 5 * n);
	arena_free(a);
	memcpy(word + 2 * n, "%h", 3);
	is_refused(word, "is longer than 65536 bytes with its placeholders replaced");
}

RUN_TESTS(NULL, NULL)
