/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Text of others for a terminal, and lists in a buffer: src/base/text.c.
 */
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "xdd/base/text.h"

static void becomes(const char *text, const char *wanted)
{
	char *got = printable_dup(text, false);

	assert_non_null(got);
	assert_string_equal(got, wanted);
	free(got);
}

TEST(test_kept)
{
	static const char *const texts[] = {
		"",	    "/dev/sdx", "a \\ b", "\xc3\xa4", "\xe2\x82\xac", "\xf0\x9f\x98\x80",
		"\xc2\xa0",
	};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		becomes(texts[i], texts[i]);
}

TEST(test_escaped)
{
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

TEST(test_lines)
{
	char *got = printable_dup("\ta\x1b\n\xe2\x80\xae\n", true);

	assert_string_equal(got, "\ta\\x1b\n\\u202e\n");
	free(got);
}

/* Reads what printable_put_exact() has written, as doc/xddcp.md describes it. */
static void read_back(const char *s, char *out)
{
	while (*s) {
		unsigned code;
		int n;

		if (*s != '\\') {
			*out++ = *s++;
		} else if (s[1] == 'n' || s[1] == 't' || s[1] == '\\') {
			*out++ = s[1] == 'n' ? '\n' : s[1] == 't' ? '\t' : '\\';
			s += 2;
		} else if (s[1] == 'x') {
			assert_int_equal(sscanf(s + 2, "%2x%n", &code, &n), 1);
			*out++ = (char)code;
			s += 2 + n;
		} else {
			assert_int_equal(sscanf(s, "\\u%4x%n", &code, &n), 1);
			if (code >= 0x800)
				*out++ = (char)(0xe0 | code >> 12);
			*out++ = (char)((code >= 0x800 ? 0x80 : 0xc0) | (code >> 6 & 0x3f));
			*out++ = (char)(0x80 | (code & 0x3f));
			s += n;
		}
	}
	*out = '\0';
}

static char *exact(const char *text)
{
	char *result = NULL;
	size_t size;
	FILE *f = open_memstream(&result, &size);

	assert_non_null(f);
	printable_put_exact(f, text);
	fclose(f);
	return result;
}

TEST(test_exact)
{
	static const char *const texts[] = {
		"",
		"a\\b",
		"a\\nb\nc",
		"\\",
		"\\\\x1b\x1b",
		"\\u202e\xe2\x80\xae",
		"\xc2\x9b\x9b\xd8\x9c",
		"\xff\\\xc3\xa4 \t",
	};
	char back[64], *got;

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		got = exact(texts[i]);
		assert_true(printable_is_safe(got));
		read_back(got, back);
		assert_string_equal(back, texts[i]);
		free(got);
	}
	got = exact("a\\b\nc");
	assert_string_equal(got, "a\\\\b\\nc");
	free(got);
}

/*
 * Escaped text is not escaped again, and every byte becomes printable.
 */
TEST(test_any_bytes)
{
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

/* An item that has no room is cut, and nothing follows it. */
TEST(test_list)
{
	char buf[12] = "";

	assert_string_equal(text_list(buf, sizeof(buf), "%d", 1), "1");
	assert_string_equal(text_list(buf, sizeof(buf), "%s", "two"), "1, two");
	assert_string_equal(text_add(buf, sizeof(buf), "%s", "!"), "1, two!");
	assert_string_equal(text_list(buf, sizeof(buf), "%s", "three"), "1, two!, th");
	assert_string_equal(text_list(buf, sizeof(buf), "%d", 4), "1, two!, th");
}

RUN_TESTS(NULL, NULL)
