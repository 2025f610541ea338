/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Text that fits on a screen: src/report/screen.c.
 */
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/screen.h"
#include "xdd/base/memory.h"

static int begin(void **state)
{
	static struct screen screen;

	unsetenv("COLUMNS");
	unsetenv("LINES");
	setenv("LC_ALL", "C", 1);
	screen_init(&screen, -1);
	*state = &screen;
	return 0;
}

static int end(void **state)
{
	screen_free(*state);
	return 0;
}

TEST_SETUP_TEARDOWN(test_defaults, begin, end)
{
	const struct screen *s = *state;
	struct screen narrow;

	assert_int_equal(s->columns, 80);
	assert_int_equal(s->rows, 0);
	assert_false(s->colour);
	assert_string_equal(s->gap, "...");
	setenv("COLUMNS", "20", 1);
	setenv("LINES", "33", 1);
	setenv("LC_ALL", "de_DE.UTF-8", 1);
	screen_init(&narrow, -1);
	assert_int_equal(narrow.columns, SCREEN_MIN_COLUMNS);
	assert_int_equal(narrow.rows, 33);
	assert_string_equal(narrow.gap, "\u2026");
	screen_free(&narrow);
	screen_free(&narrow);
}

TEST_SETUP_TEARDOWN(test_widths, begin, end)
{
	const struct screen *s = *state;

	if (s->unicode == (locale_t)0)
		skip();
	assert_int_equal(screen_width(s, ""), 0);
	assert_int_equal(screen_width(s, "data"), 4);
	assert_int_equal(screen_width(s, "caf\u00e9"), 4);
	assert_int_equal(screen_width(s, "cafe\u0301"), 4);
	assert_int_equal(screen_width(s, "\u6587\u4ef6"), 4);
}

static void check_shortened(const struct screen *s, const char *text, unsigned columns,
			    const char *expected)
{
	char *shown = screen_shorten(s, text, columns);

	assert_non_null(shown);
	assert_string_equal(shown, expected);
	free(shown);
}

TEST_SETUP_TEARDOWN(test_shorten, begin, end)
{
	const struct screen *s = *state;

	check_shortened(s, "data", 4, "data");
	check_shortened(s, "/mnt/very-long-name/file", 13, "/mn...me/file");
	check_shortened(s, "/mnt/very-long-name/file", 4, "...e");
	check_shortened(s, "/mnt/very-long-name/file", 3, "...");
	check_shortened(s, "/mnt/very-long-name/file", 0, "");
}

/* The rest of any name fits. */
TEST_SETUP_TEARDOWN(test_shorten_all, begin, end)
{
	static const char *const names[] = { "abcdefghijklmnopqrstuvwxyz",
					     "\u6587\u4ef6\u540d\u7a31\u6587\u4ef6\u540d\u7a31",
					     "a\u6587b\u4ef6c\u540dd\u7a31e", "" };
	const struct screen *s = *state;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		for (unsigned columns = 0; columns < 30; columns++) {
			char *shown = screen_shorten(s, names[i], columns);

			assert_non_null(shown);
			if (screen_width(s, shown) > columns)
				fail_msg("\"%s\" exceeds %u columns", shown, columns);
			free(shown);
		}
	}
}

static char *wrapped(const struct screen *s, const char *label, const char *text)
{
	struct memstream m;

	assert_non_null(memstream_open(&m));
	screen_wrap(s, m.f, SCREEN_BAD, label, text);
	assert_int_equal(memstream_close(&m), 0);
	return m.text;
}

TEST_SETUP_TEARDOWN(test_wrap, begin, end)
{
	struct screen s = *(const struct screen *)*state;
	char *text;

	s.columns = 20;
	text = wrapped(&s, "next", "one two three four five six");
	assert_string_equal(text, "next: one two three\n  four five six\n");
	free(text);
	text = wrapped(&s, NULL, "it took as long as 12.5 ms of 90 %");
	assert_string_equal(text, "it took as long as\n  12.5 ms of 90 %\n");
	free(text);
	text = wrapped(&s, NULL, "a-word-that-does-not-fit-on-a-line");
	assert_string_equal(text, "a-word-that-does-not\n  -fit-on-a-line\n");
	free(text);
	text = wrapped(&s, NULL, "");
	assert_string_equal(text, "\n");
	free(text);
	s.colour = true;
	text = wrapped(&s, "errors", "one");
	assert_string_equal(text, "\033[31merrors\033[m: one\n");
	free(text);
}

/* Each line is folded by itself, with its own indent and two blanks more. */
TEST_SETUP_TEARDOWN(test_fold, begin, end)
{
	static const char lines[] =
		"one two three four five\n  six seven eight nine\nten  \n\n\televen twelve "
		"thirteen";
	struct screen s = *(const struct screen *)*state;
	struct memstream m;

	s.columns = 20;
	assert_non_null(memstream_open(&m));
	screen_fold(&s, m.f, lines, sizeof(lines) - 1);
	assert_int_equal(memstream_close(&m), 0);
	assert_string_equal(m.text,
			    "one two three four\n  five\n  six seven eight\n    nine\nten  \n\n"
			    "\televen\n\t  twelve\n\t  thirteen");
	free(m.text);
}

/* ---- lines of cells ---- */

static void set_cells(struct line_cell *cells, const char *const *texts, size_t n)
{
	for (size_t i = 0; i < n; i++)
		line_cell_set(&cells[i], texts[i]);
}

TEST(test_join)
{
	static const char *const texts[] = { "aaaa", "bbb", "cc", "d" };
	struct line_cell cells[4];
	char buf[2048];

	assert_true(line_size(4) <= sizeof(buf));
	set_cells(cells, texts, 4);
	assert_int_equal(line_join(buf, cells, 4, 0), 14);
	assert_string_equal(buf, "aaaa bbb cc d\n");
	line_join(buf, cells, 4, 13);
	assert_string_equal(buf, "aaaa bbb cc d\n");
	line_join(buf, cells, 4, 12);
	assert_string_equal(buf, "aaaa bbb cc\n    d\n");
	line_join(buf, cells, 4, 8);
	assert_string_equal(buf, "aaaa bbb\n    cc d\n");
	line_join(buf, cells, 4, 7);
	assert_string_equal(buf, "aaaa\n    bbb\n    cc\n    d\n");
	line_join(buf, cells, 4, 1);
	assert_string_equal(buf, "aaaa\n    bbb\n    cc\n    d\n");
	assert_int_equal(line_join(buf, cells, 0, 80), 1);
	assert_string_equal(buf, "\n");
}

TEST(test_csv_quoting)
{
	static const char *const texts[] = { "plain",	   "",	   "a,b",     "say \"hi\"",
					     "two\nlines", "cr\r", " blanks " };
	struct line_cell cells[7];
	char buf[2048];
	size_t len;

	assert_true(line_size(7) <= sizeof(buf));
	set_cells(cells, texts, 7);
	memset(buf, '?', sizeof(buf));
	len = line_csv(buf, cells, 7);
	assert_string_equal(buf,
			    "plain,,\"a,b\",\"say \"\"hi\"\"\",\"two\nlines\",\"cr\r\", blanks \n");
	assert_int_equal(len, strlen(buf));
}

/* The longest cells there can be, all quotes, fit into what line_size() asks for. */
TEST(test_line_size)
{
	struct line_cell cells[3];
	char quotes[2 * LINE_CELL_SIZE];
	char *buf = malloc(line_size(3));

	memset(quotes, '"', sizeof(quotes) - 1);
	quotes[sizeof(quotes) - 1] = '\0';
	for (size_t i = 0; i < 3; i++)
		line_cell_set(&cells[i], quotes);
	assert_true(line_csv(buf, cells, 3) < line_size(3));
	assert_true(line_join(buf, cells, 3, 1) < line_size(3));
	free(buf);
}

RUN_TESTS(NULL, NULL)
