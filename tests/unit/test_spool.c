/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Temporary files without a name: src/base/file.c.
 */
#include "unit.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "scratch.h"
#include "xdd/base/file.h"

#define LINES 50000 /* more than one buffer */

static size_t names_in(const char *path)
{
	DIR *d = opendir(path);
	size_t n = 0;

	assert_non_null(d);
	while (readdir(d))
		n++;
	closedir(d);
	return n - 2; /* without . and .. */
}

static void fill(FILE *spool)
{
	for (int i = 0; i < LINES; i++)
		assert_true(fprintf(spool, "%d\n", i) > 0);
}

static void check_copy(FILE *spool)
{
	FILE *to = tmpfile();
	int got;

	assert_non_null(to);
	assert_int_equal(spool_copy(spool, to), 0);
	rewind(to);
	for (int i = 0; i < LINES; i++) {
		assert_int_equal(fscanf(to, "%d\n", &got), 1);
		assert_int_equal(got, i);
	}
	assert_int_equal(fgetc(to), EOF);
	fclose(to);
}

/* All of it is copied, and the directory never shows a file. */
TEST(test_copy)
{
	char near[64];
	FILE *spool;

	snprintf(near, sizeof(near), "%s/document", directory);
	spool = spool_open(near);
	assert_non_null(spool);
	assert_int_equal(names_in(directory), 0);
	fill(spool);
	check_copy(spool);
	fclose(spool);
	assert_int_equal(names_in(directory), 0);
}

/* Without a usable directory it lies in memory. */
TEST(test_memory)
{
	FILE *spool;

	spool = spool_open("/dev/null/document");
	assert_non_null(spool);
	fill(spool);
	check_copy(spool);
	fclose(spool);
}

TEST(test_empty)
{
	FILE *spool = spool_open(NULL), *to = tmpfile();

	assert_non_null(spool);
	assert_non_null(to);
	assert_int_equal(spool_copy(spool, to), 0);
	assert_int_equal(ftell(to), 0);
	fclose(to);
	fclose(spool);
}

/* A full disk is an error. */
TEST(test_full)
{
	FILE *spool = spool_open(NULL), *to = fopen("/dev/full", "w");

	assert_non_null(spool);
	assert_non_null(to);
	fill(spool);
	assert_int_equal(spool_copy(spool, to), -ENOSPC);
	fclose(to);
	fclose(spool);
}

static int stop_at_second(void *arg, const char *piece, size_t size)
{
	size_t *pieces = arg;

	assert_true(size > 0 && *piece);
	return ++*pieces == 2 ? -ESTALE : 0;
}

/* The first error ends it, of the file or of its reader. */
TEST(test_errors)
{
	size_t pieces = 0;
	FILE *spool = spool_open(NULL);

	assert_non_null(spool);
	fill(spool);
	assert_int_equal(spool_read(spool, stop_at_second, &pieces), -ESTALE);
	assert_int_equal(pieces, 2);
	fclose(spool);
	/* This one cannot be read. */
	spool = fopen("/dev/null", "w");
	assert_non_null(spool);
	assert_int_equal(spool_read(spool, stop_at_second, &pieces), -EIO);
	fclose(spool);
	assert_int_equal(pieces, 2);
	/* Nor can what was not written be read back. */
	spool = fopen("/dev/full", "w+");
	assert_non_null(spool);
	fputs("text", spool);
	assert_int_equal(spool_read(spool, stop_at_second, &pieces), -ENOSPC);
	fclose(spool);
	assert_int_equal(pieces, 2);
}

RUN_TESTS(enter_directory, remove_directory)
