/*
 * Text of others for a terminal: src/base/printable.c.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "xdd/base/printable.h"

static void becomes(const char *text, const char *wanted)
{
	char *got = printable_dup(text, false);

	assert_non_null(got);
	assert_string_equal(got, wanted);
	free(got);
}

static void test_kept(void **state)
{
	static const char *const texts[] = {
		"",	    "/dev/sdx", "a \\ b", "\xc3\xa4", "\xe2\x82\xac", "\xf0\x9f\x98\x80",
		"\xc2\xa0",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		becomes(texts[i], texts[i]);
}

static void test_escaped(void **state)
{
	(void)state;
	becomes("a\nb\tc\rd", "a\\nb\\tc\\x0dd");
	becomes("\x1b[2J\x7f\x01", "\\x1b[2J\\x7f\\x01");
	/* C1 as one byte, which is no UTF-8, and as a character. */
	becomes("\x9b"
		"31m",
		"\\x9b"
		"31m");
	becomes("\xc2\x9b"
		"31m",
		"\\u009b"
		"31m");
	/* direction, and a separator of lines */
	becomes("\xe2\x80\xaegpj.exe\xe2\x81\xa9\xd8\x9c", "\\u202egpj.exe\\u2069\\u061c");
	becomes("a\xe2\x80\xa8", "a\\u2028");
	/* cut short, overlong, a surrogate */
	becomes("\xe2\x82", "\\xe2\\x82");
	becomes("\xc0\x9b", "\\xc0\\x9b");
	becomes("\xed\xa0\x80", "\\xed\\xa0\\x80");
}

static void test_lines(void **state)
{
	char *got = printable_dup("\ta\x1b\n\xe2\x80\xae\n", true);

	(void)state;
	assert_string_equal(got, "\ta\\x1b\n\\u202e\n");
	free(got);
}

/*
 * Escaped text is not escaped again, and every byte becomes printable.
 */
static void test_any_bytes(void **state)
{
	(void)state;
	for (unsigned seed = 1; seed < 2000; seed++) {
		char text[32], *once, *twice;
		unsigned next = seed;

		for (size_t i = 0; i < sizeof(text) - 1; i++) {
			next = next * 1664525 + 1013904223;
			text[i] = (char)(next >> 24 ? next >> 24 : 1);
		}
		text[sizeof(text) - 1] = '\0';
		once = printable_dup(text, false);
		assert_non_null(once);
		for (const char *c = once; *c; c++)
			assert_true((unsigned char)*c >= ' ' && *c != 0x7f);
		twice = printable_dup(once, false);
		assert_string_equal(once, twice);
		free(once);
		free(twice);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_kept),
		cmocka_unit_test(test_escaped),
		cmocka_unit_test(test_lines),
		cmocka_unit_test(test_any_bytes),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name("printable", tests, NULL, NULL);
}
