/*
 * Memory that is freed at once: src/base/memory.c.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "xdd/base/memory.h"

static void test_empty(void **state)
{
	(void)state;
	arena_free(NULL);
	arena_free(arena_new());
}

static void test_alloc(void **state)
{
	enum {
		COUNT = 3000
	};
	static unsigned char *pieces[COUNT];
	struct arena *a = arena_new();
	size_t sizes[COUNT];

	(void)state;
	assert_non_null(a);
	for (size_t i = 0; i < COUNT; i++) {
		/* small ones, and now and then one that needs its own chunk, as does the first */
		sizes[i] = i % 100 == 0 ? 100000 + i : i % 300;
		pieces[i] = arena_alloc(a, sizes[i]);
		assert_non_null(pieces[i]);
		assert_int_equal((uintptr_t)pieces[i] % _Alignof(max_align_t), 0);
		for (size_t k = 0; k < sizes[i]; k++)
			assert_int_equal(pieces[i][k], 0);
		memset(pieces[i], (int)(i % 255 + 1), sizes[i]);
	}
	/* None lies over another. */
	for (size_t i = 0; i < COUNT; i++)
		for (size_t k = 0; k < sizes[i]; k++)
			if (pieces[i][k] != i % 255 + 1)
				fail_msg("piece %zu was overwritten", i);
	arena_free(a);
}

static void test_too_much(void **state)
{
	struct arena *a = arena_new();

	(void)state;
	assert_null(arena_alloc(a, SIZE_MAX));
	assert_null(arena_alloc(a, SIZE_MAX - 40));
	assert_non_null(arena_alloc(a, 8));
	arena_free(a);
}

static void test_strings(void **state)
{
	struct arena *a = arena_new();
	char text[] = "text";
	char *copy, *made, *none, *longer;

	(void)state;
	copy = arena_strdup(a, text);
	none = arena_strdup(a, "");
	made = arena_printf(a, "%s.T%u.txt", "list", 7u);
	longer = arena_printf(a, "%40000d", 1);
	text[0] = 'n';
	assert_string_equal(copy, "text");
	assert_string_equal(none, "");
	assert_string_equal(made, "list.T7.txt");
	assert_int_equal(strlen(longer), 40000);
	arena_free(a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_empty),
		cmocka_unit_test(test_alloc),
		cmocka_unit_test(test_too_much),
		cmocka_unit_test(test_strings),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
