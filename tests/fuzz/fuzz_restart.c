/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Restart files. An input is the contents of one. In half of them the checksum is repaired, so that
 * the code after its check is reached.
 *
 * A record that is accepted has one text only: its input. Used as a setup file, that is the option
 * -restart offset at most.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "plan/parse.h"
#include "xdd/base/err.h"
#include "xdd/net/restart_file.h"
#include "xdd/plan/option.h"

#define CHECKSUM "# checksum "
#define CHECKSUM_SIZE (sizeof(CHECKSUM) - 1 + 16 + 1) /* with its number and the end of the line */

static const char *const words[] = {
	"-restart offset ",
	"# The copy is complete.\n",
	"# xdd restart file, version ",
	"# ranges ",
	"# durable ",
	CHECKSUM,
	"# ",
	"\n",
	" ",
	"%0a",
	"%",
	"18446744073709551615",
	"9223372036854775808",
	"-9223372036854775808",
	"0",
	"-deletefile\n",
	"\xe2\x80\xae",
	"\xff",
};

/* ---- valid files ---- */

static void make_name(struct fuzz_random *r, char *name, size_t size)
{
	static const char *const parts[] = { "/",  "data",     "a b",  "%", "\n-op write\n",
					     "\\", "\xc3\xa4", "\xff", "#" };
	size_t n = fuzz_below(r, 6);

	*name = '\0';
	while (n--)
		strncat(name, parts[fuzz_below(r, 9)], size - strlen(name) - 1);
}

/* A number of up to `bits` bits. */
static uint64_t make_number(struct fuzz_random *r, unsigned bits)
{
	return (fuzz_u64(r) >> (64 - bits)) >> fuzz_below(r, bits);
}

static void make_ranges(struct fuzz_random *r, struct restart_record *rec)
{
	uint64_t full = rec->ops * rec->req_bytes, at = 0;

	for (size_t n = fuzz_below(r, 20); n && at < rec->ops; n--) {
		uint64_t begin = at + fuzz_below(r, 4), end = begin + 1 + fuzz_below(r, 9);

		at = end < rec->ops ? end : rec->ops;
		if (begin < at && extents_add(&rec->durable, begin, at))
			fuzz_fail("memory is short");
	}
	if (rec->complete && extents_add(&rec->durable, 0, rec->ops))
		fuzz_fail("memory is short");
	rec->durable_bytes = rec->durable.total * rec->req_bytes;
	if (rec->ops && extents_contains(&rec->durable, rec->ops - 1, rec->ops))
		rec->durable_bytes -= full - rec->bytes;
}

static void make_record(struct fuzz_random *r, struct restart_record *rec)
{
	rec->req_bytes = 1 + make_number(r, 24);
	rec->ops = make_number(r, 30);
	rec->bytes = rec->ops * rec->req_bytes;
	if (rec->ops)
		rec->bytes -= fuzz_below(r, rec->req_bytes);
	rec->complete = fuzz_once_in(r, 4);
	rec->offset_bytes = rec->complete ? 0 : make_number(r, 40);
	rec->end_bytes = make_number(r, 63);
	rec->source_mtime_ns = (int64_t)fuzz_u64(r) / 2;
	rec->version = 1 + (unsigned)fuzz_below(r, RESTART_VERSION);
	if (rec->version > 1)
		rec->source_ctime_ns = (int64_t)fuzz_u64(r) / 2;
	rec->source_inode = make_number(r, 64);
	rec->destination_size_bytes = fuzz_once_in(r, 2) ? WIRE_NO_SIZE : make_number(r, 40);
	rec->digest.high = fuzz_u64(r);
	strcpy(rec->time, "2026-11-22 21:58:26 UTC");
	make_name(r, rec->source_host, sizeof(rec->source_host));
	make_name(r, rec->source_name, sizeof(rec->source_name));
	make_name(r, rec->destination_host, sizeof(rec->destination_host));
	make_name(r, rec->destination_name, sizeof(rec->destination_name));
	make_ranges(r, rec);
}

static size_t make(struct fuzz_random *r, uint8_t *data)
{
	static struct restart_record rec;
	size_t size;
	char *text;

	restart_record_init(&rec);
	make_record(r, &rec);
	if (restart_record_encode(&rec, &text, &size))
		fuzz_fail("memory is short");
	restart_record_free(&rec);
	memcpy(data, text, size);
	free(text);
	return size;
}

/* ---- checks ---- */

/* Give the text the checksum of the rest. */
static void repair(char *text, size_t size)
{
	char line[CHECKSUM_SIZE + 1];

	if (size < CHECKSUM_SIZE || memcmp(text + size - CHECKSUM_SIZE, CHECKSUM, strlen(CHECKSUM)))
		return;
	snprintf(line, sizeof(line), CHECKSUM "%016" PRIx64 "\n",
		 digest_short(text, size - CHECKSUM_SIZE));
	memcpy(text + size - CHECKSUM_SIZE, line, CHECKSUM_SIZE);
}

static void check_setup(const struct restart_record *rec, const char *text, size_t size)
{
	struct arena *arena = arena_new();
	struct word name = { .text = fuzz_file(0, text, size) }, *w;
	struct setup_words found;
	char offset[32];

	snprintf(offset, sizeof(offset), "%" PRIu64, rec->offset_bytes);
	if (!arena || setup_file_read(arena, &name, &found))
		fuzz_fail("is no setup file");
	w = found.words;
	if (found.n != (rec->complete ? 0 : 3) || found.n_sections)
		fuzz_fail("a setup file with %zu words", found.n);
	if (found.n && (strcmp(w[0].text, "-restart") || strcmp(w[1].text, "offset") ||
			strcmp(w[2].text, offset)))
		fuzz_fail("another option: %s %s %s", w[0].text, w[1].text, w[2].text);
	arena_free(arena);
}

static void check_accepted(const struct restart_record *rec, const char *text, size_t size)
{
	char *again;
	struct err why;
	size_t again_size;

	if (restart_record_encode(rec, &again, &again_size))
		fuzz_fail("memory is short");
	if (again_size != size || memcmp(again, text, size))
		fuzz_fail("a record with two texts was accepted");
	free(again);
	if (rec->durable.total > rec->ops || rec->durable_bytes > rec->bytes ||
	    rec->durable.n > RESTART_MAX_RANGES)
		fuzz_fail("more is durable than is copied");
	if (rec->destination_size_bytes >= rec->destination_start_bytes + rec->end_bytes &&
	    !restart_record_matches(rec, rec, &why))
		fuzz_fail("a record does not match itself: %s", why.text);
	check_setup(rec, text, size);
}

int fuzz_one(const uint8_t *data, size_t size)
{
	static struct restart_record rec;
	struct err why;
	char *text = malloc(size + 1);
	int err;

	if (!text)
		fuzz_fail("memory is short");
	memcpy(text, data, size);
	if (fuzz_hash(data, size) & 1)
		repair(text, size);
	restart_record_init(&rec);
	err = restart_record_decode(text, size, &rec, &why);
	if (!err)
		check_accepted(&rec, text, size);
	else if (err != -EINVAL || strncmp(why.text, "line ", 5) != 0)
		fuzz_fail("error %d: %s", err, why.text);
	else
		fuzz_text_check(why.text, strlen(why.text));
	restart_record_free(&rec);
	free(text);
	return err != 0;
}

const struct fuzz_harness fuzz_harness = {
	.name = "restart",
	.make = make,
	.words = words,
	.n_words = sizeof(words) / sizeof(words[0]),
};
