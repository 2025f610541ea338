/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Setup files taken apart into words: src/plan/value.c.
 */
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "plan/parse.h"
#include "scratch.h"
#include "xdd/base/log.h"
#include "xdd/base/memory.h"

#define WORDS_TEST(name) TEST_SETUP_TEARDOWN(name, new_arena, free_arena)

static const char setup_path[] = "setup", log_path[] = "log";
static struct arena *arena;
static struct setup_words found;
static struct word *words;
static size_t n_words;

/* The one line that was written to the log since the last call, without its newline. */
static const char *message(void)
{
	static char line[4096];
	FILE *f = fopen(log_path, "r");
	char *end;

	assert_non_null(f);
	line[0] = '\0';
	end = fgets(line, sizeof(line), f) ? strchr(line, '\n') : NULL;
	if (end) {
		*end = '\0';
		assert_int_equal(fgetc(f), EOF);
	}
	fclose(f);
	assert_int_equal(truncate(log_path, 0), 0);
	return line;
}

static enum xdd_status read_file(const struct word *name)
{
	enum xdd_status status = setup_file_read(arena, name, &found);

	words = found.words;
	n_words = found.n;
	return status;
}

static enum xdd_status read_bytes(const char *text, size_t size)
{
	struct word name = { .text = setup_path, .pos = 2 };
	FILE *f = fopen(setup_path, "w");

	assert_non_null(f);
	assert_int_equal(fwrite(text, 1, size, f), size);
	assert_int_equal(fclose(f), 0);
	return read_file(&name);
}

/* Read `text` and compare with the words of `wanted`, each of which is followed by a NUL. */
#define assert_words(text, wanted) check_words(text, sizeof(text) - 1, wanted, sizeof(wanted) - 1)

static void check_words(const char *text, size_t size, const char *wanted, size_t wanted_size)
{
	size_t n = 0;

	assert_int_equal(read_bytes(text, size), XDD_OK);
	for (const char *w = wanted; w < wanted + wanted_size; w += strlen(w) + 1, n++) {
		assert_true(n < n_words);
		assert_string_equal(words[n].text, w);
		assert_string_equal(words[n].file, setup_path);
	}
	assert_int_equal(n_words, n);
	assert_string_equal(message(), "");
}

static int new_arena(void **state)
{
	arena = arena_new();
	return arena ? 0 : -1;
}

static int free_arena(void **state)
{
	arena_free(arena);
	return 0;
}

WORDS_TEST(nothing)
{
	assert_words("", "");
	assert_words("\n", "");
	assert_words(" \t\r\n\f\v\n  ", "");
	assert_words("#", "");
	assert_words("# a comment", "");
	assert_words("  # a comment\n#another\n\n", "");
	assert_words("\\\n", "");
	assert_words(" \\\n \\\n# x \\\n", "");
}

WORDS_TEST(blanks)
{
	assert_words("a", "a\0");
	assert_words("a b", "a\0b\0");
	assert_words(" a  b\tc\nd\r\ne\n\n f ", "a\0b\0c\0d\0e\0f\0");
	assert_words("-op read -reqsize 4", "-op\0read\0-reqsize\0"
					    "4\0");
	assert_words("\xc3\xa4 \xff\xfe", "\xc3\xa4\0\xff\xfe\0");
}

WORDS_TEST(quotes)
{
	assert_words("'a b'", "a b\0");
	assert_words("''", "\0");
	assert_words("\"\" a ''", "\0a\0\0");
	assert_words("a''b", "ab\0");
	assert_words("a'b c'd\"e f\"g", "ab cde fg\0");
	assert_words("'a\"b' \"c'd\"", "a\"b\0c'd\0");
	assert_words("'a\\b' '\\'", "a\\b\0\\\0");
	assert_words("\"a\\\"b\\\\c\\$d\\`e\"", "a\"b\\c$d`e\0");
	assert_words("\"a\\b\\n\"", "a\\b\\n\0");
	assert_words("'two\nlines' x", "two\nlines\0x\0");
	assert_words("\"one\\\nline\" x", "oneline\0x\0");
	assert_words("'# no comment'", "# no comment\0");
}

WORDS_TEST(backslashes)
{
	assert_words("a\\ b", "a b\0");
	assert_words("\\'a\\\"", "'a\"\0");
	assert_words("\\\\", "\\\0");
	assert_words("\\n", "n\0");
	assert_words("a\\\nb", "ab\0");
	assert_words("a \\\n b", "a\0b\0");
	assert_words("\\#a", "#a\0");
	assert_words("a\\", "a\\\0");
	assert_words("\\\\\n", "\\\0");
}

WORDS_TEST(comments)
{
	assert_words("a # b\nc", "a\0c\0");
	assert_words("a#b #c", "a#b\0");
	assert_words("a ''#b", "a\0#b\0");
	assert_words("# it's\na", "a\0");
	assert_words("#\\\na", "a\0");
}

WORDS_TEST(lines)
{
	static const char text[] = "a\nb 'c\nd'\n# e\ne \"f\\\n\" g\\\nh\n\n\\\ni";
	static const unsigned wanted[] = { 1, 2, 2, 5, 5, 6, 10 };

	assert_int_equal(read_bytes(text, sizeof(text) - 1), XDD_OK);
	assert_int_equal(n_words, sizeof(wanted) / sizeof(wanted[0]));
	for (size_t i = 0; i < n_words; i++)
		assert_int_equal(words[i].pos, wanted[i]);
}

WORDS_TEST(many)
{
	enum {
		N = 100000
	};
	char *text = malloc(N * 8);
	size_t size = 0;

	assert_non_null(text);
	for (unsigned i = 0; i < N; i++)
		size += (size_t)sprintf(text + size, "%u\n", i);
	assert_int_equal(read_bytes(text, size), XDD_OK);
	assert_int_equal(n_words, N);
	for (unsigned i = 0; i < N; i += 997) {
		assert_int_equal(strtoul(words[i].text, NULL, 10), i);
		assert_int_equal(words[i].pos, i + 1);
	}
	free(text);
}

/* In line `line`, or as a whole when that is 0. */
static void refuse(const char *text, size_t size, const char *what, unsigned line)
{
	char wanted[512];

	assert_int_equal(read_bytes(text, size), XDD_BAD_ARGUMENT);
	if (line)
		snprintf(wanted, sizeof(wanted), "xdd: %s:%u: -setup %s: %s", setup_path, line,
			 setup_path, what);
	else
		snprintf(wanted, sizeof(wanted), "xdd: -setup %s: %s (argument 2)", setup_path,
			 what);
	assert_string_equal(message(), wanted);
}

#define assert_open_quote(text, line) \
	refuse(text, sizeof(text) - 1, "a quote opens here and is never closed", line)
#define assert_no_text(text) \
	refuse(text, sizeof(text) - 1, "is not a text file: it holds a NUL byte", 0)

WORDS_TEST(refused)
{
	assert_open_quote("'", 1);
	assert_open_quote("a\n\"b\nc", 2);
	assert_open_quote("a\n\n 'b\\' 'y", 3);
	assert_open_quote("\"\\\"", 1);
	assert_open_quote("\"\\", 1);
	assert_open_quote("a ''\n'", 2);
	assert_no_text("a\0b");
	assert_no_text("\0");
}

WORDS_TEST(unreadable)
{
	struct word name = { .text = directory, .file = "outer", .pos = 7 };
	char line[256];

	assert_int_equal(read_file(&name), XDD_BAD_ARGUMENT);
	snprintf(line, sizeof(line), "xdd: outer:7: -setup %s: cannot be read (Is a directory)",
		 directory);
	assert_string_equal(message(), line);

	name.text = "/nonexistent/setup";
	assert_int_equal(read_file(&name), XDD_BAD_ARGUMENT);
	assert_string_equal(
		message(),
		"xdd: outer:7: -setup /nonexistent/setup: cannot be read (No such file or "
		"directory)");
}

/* As in -setup <(generate): what is read has no size that could be asked for. */
WORDS_TEST(from_a_pipe)
{
	char path[32];
	struct word name = { .text = path, .pos = 2 };
	int fds[2];

	assert_int_equal(pipe(fds), 0);
	assert_int_equal(write(fds[1], "-op read\n-qd 4", 14), 14);
	close(fds[1]);
	snprintf(path, sizeof(path), "/dev/fd/%d", fds[0]);
	assert_int_equal(read_file(&name), XDD_OK);
	close(fds[0]);
	assert_int_equal(n_words, 4);
	assert_string_equal(words[3].text, "4");
	assert_int_equal(words[3].pos, 2);
}

/* The sections of `text`: "name:line:words ...", with the words that each has. */
static void assert_sections(const char *text, const char *wanted)
{
	char list[512] = "";
	size_t len = 0;

	assert_int_equal(read_bytes(text, strlen(text)), XDD_OK);
	for (size_t i = 0; i < found.n_sections; i++) {
		const struct setup_section *s = &found.sections[i];
		const size_t end = i + 1 < found.n_sections ? s[1].first : found.n;

		len += (size_t)snprintf(list + len, sizeof(list) - len, "%s%s:%u:", i ? " " : "",
					s->name, s->line);
		for (size_t k = s->first; k < end; k++)
			len += (size_t)snprintf(list + len, sizeof(list) - len, "%s%s",
						k > s->first ? "," : "", found.words[k].text);
	}
	assert_string_equal(list, wanted);
}

WORDS_TEST(sections)
{
	assert_sections("[a]", "a:1:");
	assert_sections("-x 1\n[a]\n-y\n2\n\n [b.c-d_1] # second\n-z\n", "a:2:-y,2 b.c-d_1:6:-z");
	assert_sections("# [a]\n\t[b]\t\r\n-y [c]\n", "b:2:-y,[c]");
	/* These are words: quoted, of a pattern, after a word, or continued. */
	assert_sections("'[a]'\n\\[b]\n\"[c]\"\n", "");
	assert_int_equal(found.n, 3);
	assert_string_equal(found.words[1].text, "[b]");
	assert_sections("[ab]*.dat\n[a] -op\n[a]#\n[\n[a\n]\n-x [d]\n-x \\\n[e]\n'\n[f]\n'", "");
	assert_int_equal(found.n, 12);
}

WORDS_TEST(bad_sections)
{
	static const char *const names[] = { "",    "a b", " a", "a/b", "a%b", "a\"", "'a'",
					     "a\\", "-a",  ".a", "..",	"a[",  "a#",  "a\tb" };
	char text[128], line[256];

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		snprintf(text, sizeof(text), "-x\n[%s]\n", names[i]);
		assert_int_equal(read_bytes(text, strlen(text)), XDD_BAD_ARGUMENT);
		snprintf(line, sizeof(line), "xdd: %s:2: section ", setup_path);
		assert_memory_equal(message(), line, strlen(line));
	}
	memset(text, 'a', sizeof(text));
	text[0] = '[';
	snprintf(text + 65, sizeof(text) - 65, "]\n");
	assert_int_equal(read_bytes(text, strlen(text)), XDD_OK);
	snprintf(text + 66, sizeof(text) - 66, "]\n");
	text[65] = 'a';
	assert_int_equal(read_bytes(text, strlen(text)), XDD_BAD_ARGUMENT);
	message();
}

static int begin(void **state)
{
	keeps_open = 1;
	return enter_directory(state) || log_open(log_path) ? -1 : 0;
}

RUN_TESTS(begin, remove_directory)
