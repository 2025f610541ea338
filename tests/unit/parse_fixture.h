/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Common parts of the tests of the command line: a directory to run in, the messages, and the rows
 * of the option table.
 */
#ifndef PARSE_FIXTURE_H
#define PARSE_FIXTURE_H

#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "plan/parse.h"
#include "scratch.h"
#include "xdd/base/log.h"
#include "xdd/plan/option.h"

#define DATA_BYTES 100000u /* no multiple of a block */
#define MAX_WORDS 64

static inline void write_file(const char *name, const char *text, size_t size)
{
	FILE *f;

	/* A file that is cut and written again is one that some file systems flush. */
	unlink(name);
	f = fopen(name, "w");
	assert_non_null(f);
	assert_int_equal(fwrite(text, 1, size, f), size);
	assert_int_equal(fclose(f), 0);
}

static inline int set_up(void **state)
{
	char *data = calloc(1, DATA_BYTES);

	if (!data || enter_directory(state))
		return -1;
	write_file("data", data, DATA_BYTES);
	write_file("empty", "", 0);
	write_file("list", "0 4 2 r\n1 0 1 r\n2 9 2 r 0 0\n", 28);
	free(data);
	keeps_open = 1;
	return log_open("log");
}

/* The messages since the last call. */
static inline const char *messages(void)
{
	static char text[8192];
	static long seen;
	FILE *f = fopen("log", "r");
	size_t n;

	assert_non_null(f);
	assert_int_equal(fseek(f, seen, SEEK_SET), 0);
	n = fread(text, 1, sizeof(text) - 1, f);
	text[n] = '\0';
	assert_int_equal(fseek(f, 0, SEEK_END), 0);
	seen = ftell(f);
	fclose(f);
	return text;
}

typedef void row_check(const struct option *row, const struct option *of);

static inline void each_row_of(const struct option *rows, row_check *fn)
{
	const struct option *sub;

	for (const struct option *row = rows; row->name; row++) {
		fn(row, NULL);
		for (size_t i = 0; (sub = option_sub(row, i)); i++)
			fn(sub, row);
	}
}

/* Call `fn` for every row, suboptions with the row they belong to. */
static inline void each_row(row_check *fn)
{
	for (const struct option_group *const *g = run_options.groups; *g; g++)
		each_row_of((*g)->options, fn);
	each_row_of(run_options.refused, fn);
}

#endif
