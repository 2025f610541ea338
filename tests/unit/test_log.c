/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Messages: src/base/log.c.
 */
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <pty.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <termios.h>
#include <unistd.h>

#include "scratch.h"
#include "xdd/base/log.h"

static const char path[] = "log";
static char content[1 << 20];

static const char *read_log(void)
{
	int fd = open(path, O_RDONLY);
	size_t used = 0;
	ssize_t n;

	assert_true(fd >= 0);
	while ((n = read(fd, content + used, sizeof(content) - 1 - used)) > 0)
		used += (size_t)n;
	close(fd);
	content[used] = '\0';
	return content;
}

/* Begin with an empty file, which log_open() promises. */
static void open_log(void)
{
	keeps_open = 1;
	assert_int_equal(log_open(path), 0);
	assert_string_equal(read_log(), "");
}

/* Must be the first: later ones change where messages go. */
TEST(test_standard_error)
{
	int saved = dup(STDERR_FILENO);
	int ends[2];
	ssize_t n;

	assert_int_equal(pipe(ends), 0);
	fflush(stderr);
	dup2(ends[1], STDERR_FILENO);
	log_error("no such %s", "thing");
	dup2(saved, STDERR_FILENO);
	close(saved);
	close(ends[1]);
	n = read(ends[0], content, sizeof(content) - 1);
	close(ends[0]);
	assert_true(n >= 0);
	content[n] = '\0';
	assert_string_equal(content, "xdd: no such thing\n");
}

TEST(test_open_fails)
{
	assert_int_equal(log_open("/nonexistent/directory/log"), -ENOENT);
	assert_int_equal(log_open(directory), -EISDIR);
}

/* Standard error stays as it is, and a later file takes the descriptor of the one before. */
TEST(test_open_again)
{
	struct stat before, after;
	unsigned open;

	assert_int_equal(fstat(STDERR_FILENO, &before), 0);
	open_log();
	open = open_descriptors();
	open_log();
	assert_int_equal(open_descriptors(), open);
	assert_int_equal(fstat(STDERR_FILENO, &after), 0);
	assert_int_equal(after.st_dev, before.st_dev);
	assert_int_equal(after.st_ino, before.st_ino);
}

TEST(test_levels)
{
	open_log();
	log_error("one %d", 1);
	log_warning("two");
	log_notice("three");
	assert_string_equal(read_log(), "xdd: one 1\n"
					"xdd: warning: two\n"
					"xdd: note: three\n");
}

TEST(test_one_line_each)
{
	static char text[10000];

	open_log();
	log_error("a\nb\r%s", "c\n");
	assert_string_equal(read_log(), "xdd: a?b?c?\n");

	open_log();
	memset(text, 'x', sizeof(text) - 1);
	log_error("%s", text);
	log_error("next");
	read_log();
	assert_int_equal(strcspn(content, "\n"), 4095);
	assert_memory_equal(content, "xdd: xxx", 8);
	assert_string_equal(content + 4096, "xdd: next\n");
}

TEST(test_raw)
{
	open_log();
	log_raw("#A 1\n#B 2\n");
	log_raw("");
	assert_string_equal(read_log(), "#A 1\n#B 2\n");
}

TEST(test_errno_is_kept)
{
	/* a place to write to that is always full */
	if (log_open("/dev/full"))
		skip();
	errno = ENOTTY;
	log_error("%s", strerror(ENOSPC));
	assert_int_equal(errno, ENOTTY);
	log_raw("text\n");
	assert_int_equal(errno, ENOTTY);
}

enum {
	WRITERS = 4,
	LINES = 1000
};

static void *write_lines(void *arg)
{
	const char *name = arg;

	for (int i = 0; i < LINES; i++)
		log_notice("%s %04d %s", name, i, name);
	return NULL;
}

TEST(test_lines_do_not_mix)
{
	static const char *const names[WRITERS] = { "aaaaaaaa", "bbbbbbbbbbbb", "cccc", "d" };
	unsigned lines = 0;
	pthread_t threads[WRITERS];
	char *save = NULL;

	open_log();
	for (int i = 0; i < WRITERS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, write_lines, (void *)names[i]),
				 0);
	for (int i = 0; i < WRITERS; i++)
		assert_int_equal(pthread_join(threads[i], NULL), 0);
	read_log();
	for (char *line = strtok_r(content, "\n", &save); line;
	     line = strtok_r(NULL, "\n", &save)) {
		char first[16], second[16];
		int number;

		assert_int_equal(sscanf(line, "xdd: note: %15s %d %15s", first, &number, second),
				 3);
		assert_string_equal(first, second);
		lines++;
	}
	assert_int_equal(lines, WRITERS * LINES);
}

/* Lines that are kept back go to where messages go when they are released. */
TEST(test_held)
{
	size_t held;

	assert_int_equal(log_hold(), 0);
	log_error("one");
	held = log_hold();
	assert_int_equal(held, strlen("xdd: one\n"));
	log_warning("two");
	log_drop(held);
	log_notice("three");
	open_log();
	assert_string_equal(read_log(), "");
	log_release();
	log_error("four");
	assert_string_equal(read_log(), "xdd: one\nxdd: note: three\nxdd: four\n");
	log_release();
	assert_string_equal(read_log(), "xdd: one\nxdd: note: three\nxdd: four\n");
}

static char diverted[256];

static void keep(void *arg, const char *text, size_t size)
{
	assert_ptr_equal(arg, diverted);
	assert_true(strlen(diverted) + size < sizeof(diverted));
	strncat(diverted, text, size);
}

TEST(test_diverted)
{
	open_log();
	log_divert(keep, diverted);
	log_error("one");
	log_undiverted("two\n", 4);
	log_warning("three");
	assert_string_equal(diverted, "xdd: one\nxdd: warning: three\n");
	assert_string_equal(read_log(), "two\n");
	log_divert(NULL, NULL);
	log_error("four");
	assert_string_equal(diverted, "xdd: one\nxdd: warning: three\n");
	assert_string_equal(read_log(), "two\nxdd: four\n");
}

/* The first LOG_KEPT_MAX messages are kept, without their beginnings; the others are counted. */
TEST(test_kept)
{
	static const char *const level_names[] = { "error", "warning", "note" };
	enum log_level level = LOG_LEVEL_ERROR;

	open_log();
	log_error("before");
	assert_null(log_kept(0, &level));
	for (int round = 0; round < 2; round++) {
		log_keep();
		assert_null(log_kept(0, &level));
		assert_int_equal(log_not_kept(), 0);
		log_error("one\n%d", round);
		log_warning("two");
		log_raw("not a message\n");
		log_notice("three");
		log_keep_warning("fo\x1bur");
		assert_string_equal(log_kept(0, &level), round ? "one?1" : "one?0");
		assert_int_equal(level, LOG_LEVEL_ERROR);
		assert_string_equal(log_kept(1, &level), "two");
		assert_int_equal(level, LOG_LEVEL_WARNING);
		assert_string_equal(log_kept(2, &level), "three");
		assert_int_equal(level, LOG_LEVEL_NOTICE);
		assert_string_equal(log_kept(3, &level), "fo?ur");
		assert_int_equal(level, LOG_LEVEL_WARNING);
		assert_null(log_kept(4, &level));
		for (unsigned i = 4; i < LOG_KEPT_MAX; i++)
			log_keep_warning("more");
		assert_int_equal(log_not_kept(), 0);
		assert_string_equal(log_kept(LOG_KEPT_MAX - 1, &level), "more");
		log_keep_warning("too much");
		log_error("too much");
		assert_int_equal(log_not_kept(), 2);
		assert_null(log_kept(LOG_KEPT_MAX, &level));
	}
	/* A warning that is only kept is not written. */
	assert_null(strstr(read_log(), "four"));
	assert_non_null(strstr(read_log(), "xdd: too much\n"));
	log_keep();
	for (int i = 0; i < 3; i++)
		assert_string_equal(log_level_name((enum log_level)i), level_names[i]);
}

/* Each kind of -debug by its name and its alias, in any case. */
TEST(test_debug_kinds)
{
	const struct debug_row *row;
	unsigned all = 0;
	size_t n = 0;

	while ((row = debug_row_at(n)) && row->kinds != DEBUG_ALL) {
		assert_ptr_equal(debug_row_find(row->name), row);
		assert_int_equal(all & row->kinds, 0);
		all |= row->kinds;
		n++;
	}
	assert_int_equal(all, DEBUG_ALL);
	assert_ptr_equal(debug_row_find("ALL"), row);
	assert_ptr_equal(debug_row_find("A"), row);
	assert_null(debug_row_at(n + 1));
	assert_string_equal(debug_row_find("Throt")->name, "throttle");
	assert_null(debug_row_find("thro"));
	assert_null(debug_row_find(""));
}

/* Lines of -debug begin with their kind in capitals, and the time. */
TEST(test_debug_line)
{
	double seconds;
	int end = 0;

	open_log();
	log_keep();
	debug_enable(DEBUG_E2E);
	assert_true(debug_on(DEBUG_E2E) && !debug_on(DEBUG_IO));
	debug_print(DEBUG_TIMELIMIT, "pass %d", 7);
	debug_enable(0);
	assert_int_equal(sscanf(read_log(), "DEBUG_TIMELIMIT %lf pass 7%n", &seconds, &end), 1);
	assert_string_equal(content + end, "\n");
	assert_int_equal(end, strlen("DEBUG_TIMELIMIT 0.123456789 pass 7"));
	assert_true(seconds >= 0 && seconds < 10);
	/* They are no messages. */
	assert_null(log_kept(0, &(enum log_level){ 0 }));
}

/* The terminal, and its other end. */
static int master, slave;

/* The bytes that the terminal has got since the last call; it passes them on in its own time. */
static const char *shown(void)
{
	static char text[512];
	size_t n = 0;

	assert_int_equal(write(slave, "|", 1), 1);
	do {
		assert_int_equal(read(master, text + n, 1), 1);
		n++;
	} while (text[n - 1] != '|' && n < sizeof(text));
	text[n - 1] = '\0';
	return text;
}

#define WIPE "\r\033[K"

TEST(test_terminal)
{
	static const struct {
		unsigned short columns;
		size_t used;
	} widths[] = { { 0, 79 }, { 1, 79 }, { 2, 1 }, { 3, 2 }, { 20, 19 } };
	struct winsize size = { .ws_row = 10, .ws_col = 20 };
	int other, other_slave, null = open("/dev/null", O_RDWR | O_CLOEXEC);
	struct termios modes;
	char name[64];

	memset(&modes, 0, sizeof(modes));
	cfmakeraw(&modes);
	assert_int_equal(openpty(&master, &slave, name, &modes, &size), 0);
	assert_int_equal(openpty(&other, &other_slave, NULL, &modes, &size), 0);
	open_log();
	assert_false(log_is_terminal());
	assert_false(log_shares_terminal(slave));
	log_transient("a text");
	assert_string_equal(read_log(), "");

	assert_int_equal(log_open(name), 0);
	assert_true(log_is_terminal());
	assert_true(log_shares_terminal(slave));
	assert_false(log_shares_terminal(other_slave));
	assert_false(log_shares_terminal(null));
	for (size_t i = 0; i < sizeof(widths) / sizeof(widths[0]); i++) {
		size.ws_col = widths[i].columns;
		assert_int_equal(ioctl(slave, TIOCSWINSZ, &size), 0);
		assert_int_equal(log_transient_columns(), widths[i].used);
	}
	log_transient("a text");
	assert_string_equal(shown(), WIPE "a text");
	/* The last column stays free. */
	log_transient("a text of more than 19 columns");
	assert_string_equal(shown(), WIPE "a text of more than");
	/* Messages erase what is drawn, once. */
	log_error("one");
	assert_string_equal(shown(), WIPE "xdd: one\n");
	log_error("two");
	assert_string_equal(shown(), "xdd: two\n");
	log_transient(NULL);
	assert_string_equal(shown(), "");
	log_transient("a text");
	log_transient(NULL);
	assert_string_equal(shown(), WIPE "a text" WIPE);
	*diverted = '\0';
	log_divert(keep, diverted);
	log_transient("a text");
	log_divert(NULL, NULL);
	assert_string_equal(diverted, "");
	assert_string_equal(shown(), "");
	open_log();
	close(master);
	close(slave);
	close(other);
	close(other_slave);
	close(null);
}

RUN_TESTS(enter_directory, remove_directory)
