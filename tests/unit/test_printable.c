/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Text of others for a terminal, JSON and CSV, lists in a buffer, names of files, and words for a
 * shell: src/base/text.c.
 */
#include "unit.h"

#include <float.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "xdd/base/memory.h"
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

/* The UTF-8 of a code point. */
static char *encoded(uint32_t code, char out[5])
{
	char *o = out;

	if (code < 0x80) {
		*o++ = (char)code;
	} else if (code < 0x800) {
		*o++ = (char)(0xc0 | code >> 6);
	} else if (code < 0x10000) {
		*o++ = (char)(0xe0 | code >> 12);
		*o++ = (char)(0x80 | (code >> 6 & 0x3f));
	} else {
		*o++ = (char)(0xf0 | code >> 18);
		*o++ = (char)(0x80 | (code >> 12 & 0x3f));
		*o++ = (char)(0x80 | (code >> 6 & 0x3f));
	}
	if (code >= 0x80)
		*o++ = (char)(0x80 | (code & 0x3f));
	*o = '\0';
	return out;
}

/* The first and the last of each range of characters that are escaped, and their neighbours. */
TEST(test_unsafe_ranges)
{
	static const struct {
		uint32_t first, last;
	} unsafe[] = { { 1, 0x1f },	   { 0x7f, 0x9f },     { 0x61c, 0x61c },
		       { 0x200e, 0x200f }, { 0x2028, 0x202e }, { 0x2066, 0x2069 } };
	char text[5], mask[8], wanted[8];

	for (size_t i = 0; i < sizeof(unsafe) / sizeof(unsafe[0]); i++) {
		for (uint32_t c = unsafe[i].first; c <= unsafe[i].last; c++) {
			encoded(c, text);
			assert_int_equal(printable_unsafe(text), strlen(text));
			assert_false(printable_is_safe(text));
		}
		assert_int_equal(printable_unsafe(encoded(unsafe[i].last + 1, text)), 0);
		assert_true(printable_is_safe(text));
		if (unsafe[i].first > 1)
			assert_int_equal(printable_unsafe(encoded(unsafe[i].first - 1, text)), 0);
		/* Each byte of it is masked, and nothing else. */
		snprintf(mask, sizeof(mask), "a%sb", encoded(unsafe[i].last, text));
		snprintf(wanted, sizeof(wanted), "a%.*sb", (int)strlen(text), "????");
		printable_mask(mask);
		assert_string_equal(mask, wanted);
	}
	assert_string_equal(encoded(0x10ffff, text), "\xf4\x8f\xbf\xbf");
	assert_int_equal(printable_unsafe(text), 0);
	snprintf(mask, sizeof(mask), "%s\xff", "\xc3\xa4");
	printable_mask(mask);
	assert_string_equal(mask, "\xc3\xa4?");
}

/* The Unicode Standard, table 3-7: the bounds of each row, and the bytes beside them. */
TEST(test_utf8)
{
	static const struct {
		unsigned char first, low, high;
		size_t length;
	} rows[] = {
		{ 0xc2, 0x80, 0xbf, 2 }, { 0xdf, 0x80, 0xbf, 2 }, { 0xe0, 0xa0, 0xbf, 3 },
		{ 0xe1, 0x80, 0xbf, 3 }, { 0xec, 0x80, 0xbf, 3 }, { 0xed, 0x80, 0x9f, 3 },
		{ 0xee, 0x80, 0xbf, 3 }, { 0xef, 0x80, 0xbf, 3 }, { 0xf0, 0x90, 0xbf, 4 },
		{ 0xf1, 0x80, 0xbf, 4 }, { 0xf3, 0x80, 0xbf, 4 }, { 0xf4, 0x80, 0x8f, 4 },
	};
	static const unsigned char alone[] = { 0x80, 0xbf, 0xc0, 0xc1, 0xf5, 0xff };

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const size_t length = rows[i].length;

		for (unsigned second = 1; second < 256; second++) {
			const bool in_row = second >= rows[i].low && second <= rows[i].high;
			char text[6] = { (char)rows[i].first, (char)second, '\x80', '\xbf' };

			assert_int_equal(utf8_length(text), in_row ? length : 0);
			for (size_t at = 2; at < length; at++) {
				const char good = text[at];

				text[at] = '\x7f';
				assert_int_equal(utf8_length(text), 0);
				text[at] = '\xc0';
				assert_int_equal(utf8_length(text), 0);
				text[at] = good;
			}
		}
	}
	for (size_t i = 0; i < sizeof(alone); i++)
		assert_int_equal(utf8_length((const char[]){ (char)alone[i], '\x80', 0 }), 0);
	assert_int_equal(utf8_length(""), 1);
	assert_int_equal(utf8_length("\x7f"), 1);
}

static char *folded(const char *text, int width, int indent)
{
	char *result = NULL;
	size_t size;
	FILE *f = open_memstream(&result, &size);

	assert_non_null(f);
	text_fold(f, text, width, indent);
	fclose(f);
	return result;
}

/* A line is full with its last column, and a word that is longer than a line has one of its own. */
TEST(test_fold)
{
	static const struct {
		const char *text;
		int width, indent;
		const char *wanted;
	} cases[] = {
		{ "", 10, 2, "\n" },
		{ "one two three", 7, 0, "one two\nthree\n" },
		{ "one two three", 6, 0, "one\ntwo\nthree\n" },
		{ "one two three", 9, 2, "one two\n  three\n" },
		{ "one two three", 8, 2, "one\n  two\n  three\n" },
		{ "a  b   c", 20, 4, "a b c\n" },
		{ "longer-than-all b", 6, 1, "longer-than-all\n b\n" },
		{ "a longer-than-all b", 6, 1, "a\n longer-than-all\n b\n" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char *got = folded(cases[i].text, cases[i].width, cases[i].indent);

		assert_string_equal(got, cases[i].wanted);
		free(got);
	}
}

TEST(test_words_of_list)
{
	const char *list = " one,two three ", *word = NULL;

	assert_int_equal(list_next(&list, &word), 3);
	assert_memory_equal(word, "one", 3);
	assert_int_equal(list_next(&list, &word), 3);
	assert_memory_equal(word, "two", 3);
	assert_int_equal(list_next(&list, &word), 5);
	assert_memory_equal(word, "three", 5);
	assert_int_equal(list_next(&list, &word), 0);
	list = NULL;
	assert_int_equal(list_next(&list, &word), 0);
	assert_true(list_has("one, two", "two", 3, strncmp));
	assert_false(list_has("one, two", "Two", 3, strncmp));
	assert_true(list_has("one, two", "Two", 3, strncasecmp));
	assert_false(list_has("one, two", "tw", 2, strncmp));
	assert_false(list_has("one, two", "twos", 4, strncmp));
	assert_false(list_has(NULL, "two", 3, strncmp));
}

TEST(test_names_of_files)
{
	static const struct {
		const char *path, *last, *directory;
	} cases[] = {
		{ "a", "a", "." },     { "/a", "a", "/" },	{ "a/b", "b", "a" },
		{ "/a/b", "b", "/a" }, { "a/b/", "", "a/b" },	{ "./a", "a", "." },
		{ "a//b", "b", "a/" }, { "x/y/z", "z", "x/y" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char *directory = path_directory(cases[i].path);

		assert_string_equal(path_last(cases[i].path), cases[i].last);
		assert_string_equal(directory, cases[i].directory);
		free(directory);
	}
}

TEST(test_hexadecimal)
{
	char buf[9];

	assert_string_equal(text_hex("\x00\x7f\xff\x10", 4, buf), "007fff10");
	assert_string_equal(text_hex("", 0, buf), "");
}

TEST(test_csv_fields)
{
	static const char *const cases[][2] = {
		{ "", "" },
		{ "plain text; $", "plain text; $" },
		{ "a,b", "\"a,b\"" },
		{ "a\nb", "\"a\nb\"" },
		{ "a\rb", "\"a\rb\"" },
		{ "say \"a\"", "\"say \"\"a\"\"\"" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char *got = NULL;
		size_t size;
		FILE *f = open_memstream(&got, &size);

		assert_non_null(f);
		csvtext_write(f, cases[i][0]);
		fclose(f);
		assert_string_equal(got, cases[i][1]);
		free(got);
	}
}

/* 15 digits, at most 24 of them decimals, and no zeros at the end. */
TEST(test_csv_numbers)
{
	static const struct {
		double x;
		const char *wanted;
	} cases[] = {
		{ 0, "0" },
		{ 1, "1" },
		{ -1, "-1" },
		{ 10, "10" },
		{ 100, "100" },
		{ 2483780.25, "2483780.25" },
		{ 0.1, "0.1" },
		{ -0.05, "-0.05" },
		{ 1 / 3.0, "0.333333333333333" },
		{ 20 / 3.0, "6.66666666666667" },
		{ 200 / 3.0, "66.6666666666667" },
		{ 1 / 30.0, "0.0333333333333333" },
		{ 1e14 / 3, "33333333333333.3" },
		{ 1e15 / 3, "333333333333333" },
		{ 12345678901234.5, "12345678901234.5" },
		{ 123456789012345678.0, "123456789012345680" },
		{ 2e-24 / 3, "0.000000000000000000000001" },
		{ 1e-25, "0" },
	};
	char text[CSVTEXT_NUMBER_SIZE];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_string_equal(csvtext_number(cases[i].x, text), cases[i].wanted);
	assert_int_equal(strlen(csvtext_number(-DBL_MAX, text)), 310);
}

TEST(test_quoted)
{
	static const char *const cases[][2] = {
		{ "", "''" },
		{ "azAZ09-_./+:,=@%", "azAZ09-_./+:,=@%" },
		{ "a b", "'a b'" },
		{ "$x", "'$x'" },
		{ "it's", "'it'\\''s'" },
		{ "'", "''\\''"
		       "'" },
		{ "\xc3\xa4", "'\xc3\xa4'" },
		{ "''''''''", "''\\'''\\'''\\'''\\'''\\'''\\'''\\'''\\'''" },
		{ "a b", "'a b'" },
	};
	char *words[sizeof(cases) / sizeof(cases[0])];
	struct arena *arena = arena_new();

	assert_non_null(arena);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		words[i] = quote_word(arena, cases[i][0]);
	/* None lies over another. */
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_string_equal(words[i], cases[i][1]);
	arena_free(arena);
}

#define TEN "abcdefghij"
#define SIXTY TEN TEN TEN TEN TEN TEN

/* Letters that are missing, too many, others, or exchanged with the next; in any case. */
TEST(test_distance)
{
	static const struct {
		const char *a, *b;
		unsigned distance;
	} cases[] = {
		{ "", "", 0 },
		{ "", "abc", 3 },
		{ "abc", "", 3 },
		{ "abc", "ABC", 0 },
		{ "abc", "abd", 1 },
		{ "abc", "ac", 1 },
		{ "ac", "abc", 1 },
		{ "ab", "BA", 1 },
		{ "abcd", "badc", 2 },
		{ "abc", "cab", 2 },
		{ "kitten", "sitting", 3 },
		{ SIXTY "abc", "abc", 60 },
		{ SIXTY "abc", SIXTY "acb", 1 },
		/* not compared */
		{ SIXTY "abcd", SIXTY "abcd", 64 },
		{ "abc", SIXTY "abcd", 64 },
		{ SIXTY "abcd", "abc", 64 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_int_equal(suggest_distance(cases[i].a, strlen(cases[i].a), cases[i].b),
				 cases[i].distance);
	assert_int_equal(suggest_distance("target=5", 6, "target"), 0);
	/* The byte before the word is not exchanged with its first, whatever "ab" has left. */
	assert_int_equal(suggest_distance("ab", 2, "abc"), 1);
	assert_int_equal(suggest_distance(&"yx"[1], 1, "abxy"), 3);
}

static const char *word_at(const void *words, size_t i)
{
	return ((const char *const *)words)[i];
}

TEST(test_nearest)
{
	static const char *const words[] = { "target", "targets", "passes", "ts", NULL };
	static const char *const none[] = { NULL };
	/* Up to one mistake, and one more for each four letters; less than all of the word. */
	static const unsigned most[] = { 0, 0, 1, 1, 2, 2, 2, 2, 3 };

	for (size_t len = 0; len < sizeof(most) / sizeof(most[0]); len++) {
		assert_int_equal(suggest_is_near(most[len], len), len > 0);
		assert_false(suggest_is_near(most[len] + 1, len));
	}
	assert_string_equal(suggest_nearest("targer", word_at, words), "target");
	assert_string_equal(suggest_nearest("targetts", word_at, words), "targets");
	/* The first of two that are as near. */
	assert_string_equal(suggest_nearest("targetx", word_at, words), "target");
	assert_string_equal(suggest_nearest("TX", word_at, words), "ts");
	assert_null(suggest_nearest("xy", word_at, words));
	assert_null(suggest_nearest("", word_at, words));
	assert_null(suggest_nearest("target", word_at, none));
}

RUN_TESTS(NULL, NULL)
