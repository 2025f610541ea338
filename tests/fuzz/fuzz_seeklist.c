/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Files of -seek load. An input is the contents of one.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "fuzz.h"
#include "plan/feature.h"
#include "xdd/base/memory.h"

static const char *const words[] = { "#",  "r",	 "w",	 "n",	" ",	       "\t",  "\n",
				     "\r", "rw", "0 0 ", "R\n", "4294967295 ", "1k ", "\f" };

/* A number of up to so many bits, or one that may be none. */
static char *add_number(struct fuzz_random *r, char *out, unsigned bits)
{
	char number[32];
	uint64_t value;

	if (fuzz_once_in(r, 40))
		return stpcpy(stpcpy(out, fuzz_number(r, number, sizeof(number))), " ");
	value = fuzz_u64(r) >> (64 - bits);
	value >>= fuzz_below(r, bits);
	return out + sprintf(out, "%" PRIu64 " ", value);
}

static size_t make(struct fuzz_random *r, uint8_t *data)
{
	char *out = (char *)data;

	for (size_t row = 0, n = fuzz_below(r, 24); row <= n; row++) {
		if (fuzz_once_in(r, 16))
			out = stpcpy(out, "# ordinal location size operation\n");
		out += sprintf(out, "%zu ", row);
		out = add_number(r, out, 63);
		out = add_number(r, out, 32);
		*out++ = "rwnRWN"[fuzz_below(r, 6)];
		if (fuzz_once_in(r, 2))
			out += sprintf(out, " %zu 0", fuzz_below(r, 1000));
		out = stpcpy(out, fuzz_once_in(r, 8) ? "\r\n" : "\n");
	}
	return (size_t)(out - (char *)data);
}

static void check_rows(const struct seek_row *rows, size_t n)
{
	if (!n)
		fuzz_fail("a list without rows was accepted");
	for (size_t i = 0; i < n; i++) {
		uint64_t end;

		if (!rows[i].blocks ||
		    __builtin_add_overflow(rows[i].block, rows[i].blocks, &end) ||
		    (rows[i].op != 'r' && rows[i].op != 'w' && rows[i].op != 'n'))
			fuzz_fail("row %zu makes no sense", i);
	}
}

int fuzz_one(const uint8_t *data, size_t size)
{
	char *argv[] = { (char *)"xdd",
			 (char *)"-op",
			 (char *)"read",
			 (char *)"-targets",
			 (char *)"1",
			 (char *)"data",
			 (char *)"-seek",
			 (char *)"load",
			 (char *)fuzz_file(0, data, size),
			 NULL };
	struct arena *arena = arena_new();
	const struct seek_row *rows = NULL;
	size_t n = 0;
	unsigned line = 0;
	const char *what = NULL;
	int err;

	if (!arena)
		fuzz_fail("memory is short");
	err = seek_load_read(argv[8], arena, &rows, &n, &line, &what);
	if (err == -EBADMSG && !what)
		fuzz_fail("a list is refused without a reason");
	if (err && err != -EBADMSG)
		fuzz_fail("error %d", err);
	if (!err)
		check_rows(rows, n);
	arena_free(arena);
	/* The locations may still lie outside of the file. */
	if (!fuzz_plan(9, argv) && err)
		fuzz_fail("a plan uses a list that is refused");
	return err != 0;
}

const struct fuzz_harness fuzz_harness = {
	.name = "seeklist",
	.make = make,
	.words = words,
	.n_words = sizeof(words) / sizeof(words[0]),
};
