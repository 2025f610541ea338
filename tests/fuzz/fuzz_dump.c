/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Dumps of time stamps of both formats, and each way to print them. An input is a dump; in three
 * out of four the checksums are repaired, so that the code after their check is reached.
 */
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "trace/format.h"
#include "xdd/base/codec.h"
#include "xdd/trace/trace.h"

#define ENTRIES_MAX 40
#define OLD_HEADER_SIZE 8416
#define OLD_ENTRY_SIZE 112

static const char *const words[] = {
	"xBLK",
	"\x89XDDTS\r\n",
	"entries=",
	"entry_bytes=",
	"field=start_ns 0 8\n",
	"\n",
	"=",
	"thread=0 1\n",
	"block_size=0\n",
	"req_bytes=1\n",
	"program=\\n\\\\\n",
	"partial=1\n",
	"field=",
	"wall_ns=-1\n",
	"global_at_ns=18446744073709551615\n",
	"global_drift_ppb=-1000000\n",
	"global_bound_ns=9223372036854775807\n",
	"\\",
	"\xff\xfe",
	"\x1b[1m",
	"field=dir 0 1\n",
};

/* ---- valid dumps ---- */

static void make_entry(struct fuzz_random *r, struct trace_entry *e, size_t i)
{
	memset(e, 0, sizeof(*e));
	e->op = i;
	e->offset_bytes = fuzz_u64(r);
	e->offset_bytes >>= fuzz_below(r, 64);
	e->start_ns = 1000 * i + fuzz_below(r, 5000);
	e->end_ns = e->start_ns + fuzz_below(r, 10000);
	e->size_bytes = 4096;
	e->done_bytes = fuzz_once_in(r, 8) ? 0 : 4096;
	e->pass = 1 + (uint32_t)(i / 16);
	e->qthread = (uint32_t)fuzz_below(r, 3);
	e->error = fuzz_once_in(r, 8) ? EIO : 0;
	e->slot = (uint32_t)fuzz_below(r, 2);
	e->cpu_start = TRACE_NO_CPU;
	e->cpu_end = 3;
	e->dir = (uint8_t)fuzz_below(r, DIR_COUNT);
}

static size_t make_new(struct fuzz_random *r, uint8_t *data)
{
	static const struct trace_thread threads[] = { { 0, 100 }, { 1, 101 }, { 2, 102 } };
	struct trace_entry storage[ENTRIES_MAX];
	const struct trace_entry *entries[ENTRIES_MAX];
	struct trace t = {
		.program = "xdd",
		.host = "one",
		.path = "a/b",
		.id = "id",
		.command = "xdd -op read",
		.information = "line\n",
		.target = 3,
		.block_size = 1024,
		.req_bytes = 4096,
		.queue_depth = 2,
		.wall_ns = 1700000000000000000,
		.threads = threads,
		.n_threads = 3,
		.entries = entries,
		.n = fuzz_below(r, ENTRIES_MAX + 1),
	};
	FILE *f = fmemopen(data, FUZZ_MAX_BYTES, "w");
	long size;

	if (fuzz_once_in(r, 2)) {
		t.global_ns = -1000000;
		t.global_at_ns = 5000;
		t.global_drift_ppb = (int64_t)fuzz_below(r, 100000) - 50000;
		t.global_bound_ns = 77210;
	}
	for (size_t i = 0; i < t.n; i++) {
		make_entry(r, &storage[i], i);
		entries[i] = &storage[i];
	}
	if (!f || trace_dump_write(f, &t) || fflush(f))
		fuzz_fail("a dump cannot be written");
	size = ftell(f);
	fclose(f);
	return (size_t)size;
}

static size_t make_old(struct fuzz_random *r, uint8_t *data)
{
	size_t n = fuzz_below(r, ENTRIES_MAX + 1);
	uint8_t *p = data + OLD_HEADER_SIZE;

	memset(data, 0, OLD_HEADER_SIZE + n * OLD_ENTRY_SIZE);
	bytes_put(data, 4, 0xdeadbeef);
	strcpy((char *)data + 4, "xdd 7");
	bytes_put(data + 72, 4, 4096);
	bytes_put(data + 76, 4, 1024);
	bytes_put(data + 80, 8, n);
	for (size_t i = 0; i < n; i++, p += OLD_ENTRY_SIZE) {
		p[0] = "rwn\1\2\3"[fuzz_below(r, 6)];
		bytes_put(p + 2, 2, 1);
		bytes_put(p + 4, 4, fuzz_below(r, 3));
		bytes_put(p + 20, 4, 4096);
		bytes_put(p + 32, 8, i);
		bytes_put(p + 40, 8, i * 4);
		bytes_put(p + 48, 8, 1000 * i + 1);
		bytes_put(p + 64, 8, 1000 * i + fuzz_below(r, 5000) + 1);
		if (fuzz_once_in(r, 2))
			bytes_put(p + 96, 8, 1000 * i);
	}
	return OLD_HEADER_SIZE + n * OLD_ENTRY_SIZE;
}

static size_t make(struct fuzz_random *r, uint8_t *data)
{
	return fuzz_once_in(r, 4) ? make_old(r, data) : make_new(r, data);
}

/* ---- checks ---- */

/* Repair the checksums of each block, and of the preamble. */
static void repair(uint8_t *data, size_t size)
{
	static const uint8_t mark[] = { 'x', 'B', 'L', 'K' };
	uint8_t *p = data, *end = data + size;

	if (size >= DUMP_PREAMBLE_SIZE)
		bytes_put(data + 28, 4, crc32c(data, 28));
	while ((p = memmem(p, (size_t)(end - p), mark, sizeof(mark)))) {
		uint64_t left = (uint64_t)(end - p), payload;

		if (left < DUMP_BLOCK_HEADER_SIZE)
			return;
		payload = bytes_get(p + 16, 8);
		if (payload <= left - DUMP_BLOCK_HEADER_SIZE)
			bytes_put(p + 24, 4, crc32c(p + DUMP_BLOCK_HEADER_SIZE, payload));
		bytes_put(p + 28, 4, crc32c(p, 28));
		p += sizeof(mark);
	}
}

static void check_complaint(void *arg, const char *text)
{
	if (!*text || strchr(text, '\n'))
		fuzz_fail("a complaint is not a line: %s", text);
	++*(size_t *)arg;
}

/* A field in quotes may hold the ends of lines. */
static void check_csv(const char *text, size_t rows)
{
	bool quoted = false;
	size_t lines = 0;

	for (const char *p = text; *p; p++) {
		quoted ^= *p == '"';
		lines += *p == '\n' && !quoted;
	}
	if (lines != rows + 1)
		fuzz_fail("%zu lines of CSV for %zu rows", lines, rows);
}

/* Whole numbers above 2^63 are legal JSON, and more than jansson takes as one. */
static void check_json(const char *text, size_t size)
{
	json_error_t err;
	json_t *root =
		json_loadb(text, size, JSON_REJECT_DUPLICATES | JSON_DECODE_INT_AS_REAL, &err);

	if (!root)
		fuzz_fail("no JSON: %s at byte %d", err.text, err.position);
	json_decref(root);
}

/* Print it in one of five ways. */
static void print(const struct trace *t, unsigned way)
{
	const struct trace *two[] = { t, t };
	struct trace_text want = { true, true, way == 1 };
	char *text = NULL;
	size_t size = 0;
	FILE *f = open_memstream(&text, &size);
	int err;

	if (!f)
		fuzz_fail("memory is short");
	if (way < 2)
		err = trace_text_write(f, t, &want);
	else if (way == 2)
		err = trace_text_merged(f, two, 2, &want);
	else if (way == 3)
		err = trace_export_csv(f, two, 2);
	else
		err = trace_export_json(f, two, 2);
	if (err || fclose(f))
		fuzz_fail("printing fails: %d", err);
	if (way < 3)
		fuzz_text_check(text, size);
	if (way == 3)
		check_csv(text, 2 * t->n);
	if (way == 4)
		check_json(text, size);
	free(text);
}

int fuzz_one(const uint8_t *data, size_t size)
{
	uint64_t hash = fuzz_hash(data, size);
	uint8_t *copy = malloc(size ? size : 1);
	struct trace_dump d = { 0 };
	size_t said = 0;
	int err;

	if (!copy)
		fuzz_fail("memory is short");
	memcpy(copy, data, size);
	if (hash % 4)
		repair(copy, size);
	err = trace_dump_parse(&d, copy, size, "x.target.0009.bin", check_complaint, &said);
	free(copy);
	if (err && err != -EBADMSG)
		fuzz_fail("error %d", err);
	if (err && !said)
		fuzz_fail("a dump is refused without a complaint");
	if (!err)
		print(&d.trace, hash / 4 % 5);
	trace_dump_free(&d);
	return err != 0;
}

const struct fuzz_harness fuzz_harness = {
	.name = "dump",
	.make = make,
	.words = words,
	.n_words = sizeof(words) / sizeof(words[0]),
};
