/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Memory that is freed at once, and the end of the program where memory is short:
 * src/base/memory.c.
 */
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "xdd/base/log.h"
#include "xdd/base/memory.h"
#include "xdd/base/status.h"

TEST(test_empty)
{
	arena_free(NULL);
	arena_free(arena_new());
}

TEST(test_alloc)
{
	enum {
		COUNT = 3000
	};
	static unsigned char *pieces[COUNT];
	struct arena *a = arena_new();
	size_t sizes[COUNT];

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

TEST(test_too_much)
{
	struct arena *a = arena_new();

	assert_null(arena_alloc(a, SIZE_MAX));
	assert_null(arena_alloc(a, SIZE_MAX - 40));
	assert_non_null(arena_alloc(a, 8));
	arena_free(a);
}

TEST(test_strings)
{
	struct arena *a = arena_new();
	char text[] = "text";
	char *copy, *made, *none, *longer;

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

static void lose(void *arg, const char *text, size_t size)
{
	(void)arg;
	(void)text;
	(void)size;
}

static void save(void *arg)
{
	log_error("%s", (const char *)arg);
	/* It is not called again. */
	memory_end();
}

/* A child runs out of memory in `how`. Returns its messages, with its status in `*status`. */
static const char *ends(void (*how)(struct arena *a), int *status)
{
	static char text[256];
	int pipe_fds[2];
	ssize_t n;
	pid_t pid;

	assert_int_equal(pipe(pipe_fds), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (!pid) {
		dup2(pipe_fds[1], STDERR_FILENO);
		how(xarena_new());
		_exit(99);
	}
	close(pipe_fds[1]);
	assert_int_equal(waitpid(pid, status, 0), pid);
	assert_true(WIFEXITED(*status));
	*status = WEXITSTATUS(*status);
	n = read(pipe_fds[0], text, sizeof(text) - 1);
	assert_true(n >= 0);
	close(pipe_fds[0]);
	text[n] = '\0';
	return text;
}

static void arena_is_full(struct arena *a)
{
	log_divert(lose, NULL);
	xarena_alloc(a, SIZE_MAX);
}

static void status_is_chosen(struct arena *a)
{
	memory_on_end(XDD_BAD_ARGUMENT, NULL, NULL);
	log_hold();
	log_error("held");
	xarena_alloc(a, SIZE_MAX);
}

static void results_are_saved(struct arena *a)
{
	static char results[] = "results";

	/* The leak checker of a sanitizer would add its own lines. */
	arena_free(a);
	memory_on_end(XDD_IO_ERROR, save, results);
	xneed(NULL);
}

TEST(test_end)
{
	int status;

	assert_string_equal(ends(arena_is_full, &status), "xdd: out of memory\n");
	assert_int_equal(status, XDD_INIT_FAILED);
	assert_string_equal(ends(status_is_chosen, &status), "xdd: held\nxdd: out of memory\n");
	assert_int_equal(status, XDD_BAD_ARGUMENT);
	assert_string_equal(ends(results_are_saved, &status),
			    "xdd: out of memory\nxdd: results\nxdd: out of memory\n");
	assert_int_equal(status, XDD_IO_ERROR);
}

TEST(test_no_end)
{
	struct arena *a = xarena_new();
	unsigned *numbers = NULL;
	struct memstream m;
	char *text;

	assert_int_equal(*(char *)xarena_alloc(a, 1), 0);
	assert_string_equal(xarena_strdup(a, "text"), "text");
	assert_string_equal(xarena_printf(a, "%s %d", "text", 7), "text 7");
	numbers = xarray_room(numbers, 0, sizeof(*numbers));
	numbers[ARRAY_FIRST_ROOM - 1] = 7;
	free(numbers);
	numbers = xcalloc(0, sizeof(*numbers));
	free(numbers);
	numbers = NULL;
	for (unsigned i = 0; i < 100; i++) {
		const bool full = i == 0 || i == 8 || i == 16 || i == 32 || i == 64;
		unsigned *const before = numbers;

		numbers = xarena_room(a, numbers, i, sizeof(*numbers));
		assert_int_equal(numbers != before, full);
		numbers[i] = i;
	}
	for (unsigned i = 0; i < 100; i++)
		assert_int_equal(numbers[i], i);
	text = xstrdup("text");
	fputs(text, xmemstream_open(&m));
	assert_string_equal(xmemstream_close(&m), "text");
	free(m.text);
	free(text);
	arena_free(a);
}

RUN_TESTS(NULL, NULL)
