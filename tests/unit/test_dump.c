/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Dumps of time stamps: what is written is read back, whatever happens to the bytes in between is
 * noticed, and nothing of it makes the reader stumble.
 */
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "unit.h"

#include "trace/format.h"
#include "xdd/base/codec.h"
#include "xdd/trace/trace.h"

struct sample {
	struct trace trace;
	struct trace_entry *storage;
	char *file;
	size_t size;
};

static const struct trace_thread threads[] = { { 0, 100 }, { 1, 101 } };

static void make_entry(struct trace_entry *e, size_t i)
{
	memset(e, 0, sizeof(*e));
	e->op = i;
	e->offset_bytes = i * 4096 + ((uint64_t)1 << 40);
	e->start_ns = 1000000 + i * 1000;
	e->end_ns = e->start_ns + 700;
	e->size_bytes = 4096;
	e->done_bytes = i % 5 ? 4096 : 100;
	e->pass = 1;
	e->qthread = i % 2;
	e->error = i % 5 ? 0 : 61;
	e->slot = (uint32_t)(i % 3);
	e->cpu_start = TRACE_NO_CPU;
	e->cpu_end = 7;
	e->dir = (uint8_t)(i % DIR_COUNT);
}

static void sample_make(struct sample *s, size_t n)
{
	FILE *f;

	memset(s, 0, sizeof(*s));
	s->trace = (struct trace){
		.program = "test",
		.host = "one",
		.path = "a\\b\nc",
		.id = "",
		.command = "xdd -op read",
		.information = "line\nline\n",
		.target = 3,
		.block_size = 1024,
		.req_bytes = 4096,
		.queue_depth = 8,
		.wall_ns = 1700000000000000000,
		.wall_end_ns = -5,
		.partial = true,
		.missing = { 1, 2, 3 },
		.threads = threads,
		.n_threads = 2,
		.n = n,
	};
	s->storage = aligned_alloc(64, (n + 1) * sizeof(*s->storage));
	s->trace.entries = calloc(n + 1, sizeof(struct trace_entry *));
	assert_non_null(s->storage);
	assert_non_null(s->trace.entries);
	for (size_t i = 0; i < n; i++) {
		make_entry(&s->storage[i], i);
		s->trace.entries[i] = &s->storage[i];
	}
	f = open_memstream(&s->file, &s->size);
	assert_non_null(f);
	assert_int_equal(trace_dump_write(f, &s->trace), 0);
	assert_int_equal(fclose(f), 0);
}

static void sample_free(struct sample *s)
{
	free(s->storage);
	free(s->trace.entries);
	free(s->file);
}

static void count_lines(void *arg, const char *text)
{
	assert_true(*text && !strchr(text, '\n'));
	(*(unsigned *)arg)++;
}

/* From memory of its own, so that a byte too far is noticed. */
static int parse(struct trace_dump *d, const void *data, size_t size, unsigned *lines)
{
	char *copy = malloc(size ? size : 1);
	int err;

	assert_non_null(copy);
	memcpy(copy, data, size);
	*lines = 0;
	err = trace_dump_parse(d, copy, size, "x.target.0009.bin", count_lines, lines);
	free(copy);
	return err;
}

static void check_same(const struct trace *a, const struct trace *b)
{
	assert_string_equal(a->program, b->program);
	assert_string_equal(a->host, b->host);
	assert_string_equal(a->path, b->path);
	assert_string_equal(a->command, b->command);
	assert_string_equal(a->information, b->information);
	assert_int_equal(a->target, b->target);
	assert_int_equal(a->block_size, b->block_size);
	assert_int_equal(a->req_bytes, b->req_bytes);
	assert_int_equal(a->queue_depth, b->queue_depth);
	assert_true(a->wall_ns == b->wall_ns && a->wall_end_ns == b->wall_end_ns);
	assert_int_equal(a->partial, b->partial);
	assert_memory_equal(&a->missing, &b->missing, sizeof(a->missing));
	assert_int_equal(a->n, b->n);
	for (size_t i = 0; i < a->n; i++)
		assert_memory_equal(a->entries[i], b->entries[i], sizeof(struct trace_entry));
	assert_int_equal(!a->net, !b->net);
	for (size_t i = 0; a->net && i < a->n; i++)
		assert_memory_equal(a->net[i], b->net[i], sizeof(struct trace_net));
	assert_int_equal(a->n_threads, b->n_threads);
	assert_memory_equal(a->threads, b->threads, a->n_threads * sizeof(*a->threads));
}

TEST(test_round_trip)
{
	static const size_t sizes[] = { 0, 1, 1023, 1024, 1025, 5000 };

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		struct trace_dump d;
		struct sample s;
		unsigned lines;

		sample_make(&s, sizes[i]);
		assert_int_equal(parse(&d, s.file, s.size, &lines), 0);
		assert_int_equal(lines, 0);
		assert_int_equal(d.complaints, 0);
		check_same(&s.trace, &d.trace);
		trace_dump_free(&d);
		sample_free(&s);
	}
}

/* The members that most traces do not have. */
TEST(test_round_trip_global)
{
	struct trace_dump d;
	struct sample s;
	unsigned lines;
	FILE *f;

	sample_make(&s, 2);
	s.trace.id = "an\\id\n";
	s.trace.cut = true;
	s.trace.partial = false;
	s.trace.global_ns = -7;
	s.trace.global_at_ns = 8;
	s.trace.global_drift_ppb = -9;
	s.trace.global_bound_ns = 10;
	s.storage[1].offset_bytes = 0xfedcba9876543210;
	s.storage[1].end_ns = 0x7edcba9876543210;
	s.storage[1].size_bytes = 0xfedcba98;
	s.storage[1].error = -1;
	s.storage[1].cpu_end = 0xfedc;
	free(s.file);
	f = open_memstream(&s.file, &s.size);
	assert_non_null(f);
	assert_int_equal(trace_dump_write(f, &s.trace), 0);
	assert_int_equal(fclose(f), 0);
	assert_int_equal(parse(&d, s.file, s.size, &lines), 0);
	check_same(&s.trace, &d.trace);
	assert_string_equal(d.trace.id, "an\\id\n");
	assert_true(d.trace.cut);
	assert_true(d.trace.global_ns == -7 && d.trace.global_at_ns == 8);
	assert_true(d.trace.global_drift_ppb == -9 && d.trace.global_bound_ns == 10);
	trace_dump_free(&d);
	sample_free(&s);
}

/* Of an end-to-end target. */
TEST(test_network)
{
	const size_t n = 1500;
	struct trace_net *nets = calloc(n, sizeof(*nets));
	const struct trace_net **list = calloc(n, sizeof(*list));
	struct trace_dump d;
	struct sample s;
	unsigned lines;
	FILE *f;

	assert_non_null(nets);
	assert_non_null(list);
	sample_make(&s, n);
	for (size_t i = 0; i < n; i++) {
		nets[i].start_ns = 7 * i;
		nets[i].end_ns = 7 * i + ((uint64_t)1 << 40);
		nets[i].bytes = (uint32_t)(3 * i);
		nets[i].calls = 1;
		nets[i].cpu_start = (uint16_t)i;
		nets[i].cpu_end = TRACE_NO_CPU;
		list[i] = &nets[i];
	}
	s.trace.net = list;
	free(s.file);
	f = open_memstream(&s.file, &s.size);
	assert_non_null(f);
	assert_int_equal(trace_dump_write(f, &s.trace), 0);
	assert_int_equal(fclose(f), 0);
	assert_int_equal(parse(&d, s.file, s.size, &lines), 0);
	assert_int_equal(d.complaints, 0);
	check_same(&s.trace, &d.trace);
	trace_dump_free(&d);
	sample_free(&s);
	free(nets);
	free(list);
}

/* The remaining entries are as they were written. */
static void check_sound(const struct sample *s, const struct trace_dump *d)
{
	for (size_t i = 0; i < d->trace.n; i++) {
		const struct trace_entry *e = d->trace.entries[i];

		assert_true(e->op < s->trace.n);
		assert_memory_equal(e, &s->storage[e->op], sizeof(*e));
	}
}

static void print_all(const struct trace_dump *d)
{
	const struct trace_text want = { true, true, true };
	const struct trace *both[] = { &d->trace, &d->trace };
	FILE *f = fopen("/dev/null", "w");

	assert_non_null(f);
	assert_int_equal(trace_text_write(f, &d->trace, &want), 0);
	assert_int_equal(trace_text_merged(f, both, 2, &want), 0);
	assert_int_equal(trace_export_csv(f, both, 2), 0);
	assert_int_equal(trace_export_json(f, both, 2), 0);
	fclose(f);
}

TEST(test_cut)
{
	struct sample s;

	sample_make(&s, 40);
	for (size_t size = 0; size < s.size; size++) {
		struct trace_dump d;
		unsigned lines;
		int err = parse(&d, s.file, size, &lines);

		assert_true(err == 0 || err == -EBADMSG);
		assert_true(lines > 0 && d.complaints > 0);
		check_sound(&s, &d);
		if (!err)
			print_all(&d);
		trace_dump_free(&d);
	}
	sample_free(&s);
}

TEST(test_flipped)
{
	size_t kept = 0, flips = 0;
	struct sample s;

	sample_make(&s, 8);
	for (size_t bit = 0; bit < s.size * 8; bit++) {
		struct trace_dump d;
		unsigned lines;
		int err;

		s.file[bit / 8] ^= (char)(1 << bit % 8);
		err = parse(&d, s.file, s.size, &lines);
		s.file[bit / 8] ^= (char)(1 << bit % 8);
		assert_true(err == 0 || err == -EBADMSG);
		assert_true(lines > 0 && d.complaints > 0);
		check_sound(&s, &d);
		kept += d.trace.n;
		flips++;
		trace_dump_free(&d);
	}
	/* One flip costs one block: only those in the one with the entries lose them. */
	assert_true(kept > flips * 8 / 2);
	sample_free(&s);
}

/* A damaged block in the middle costs its entries and no others. */
TEST(test_resync)
{
	struct trace_dump d;
	struct sample s;
	unsigned lines;
	char *second;

	sample_make(&s, 3000);
	second = memmem(s.file, s.size, "xBLK\x03", 5);
	assert_non_null(second);
	memset(second + 8, 0x55, 200);
	assert_int_equal(parse(&d, s.file, s.size, &lines), 0);
	assert_int_equal(d.trace.n, 3000 - 1024);
	assert_int_equal(d.lost_entries, 1024);
	assert_true(lines > 0);
	check_sound(&s, &d);
	trace_dump_free(&d);
	sample_free(&s);
}

static void note_line(void *arg, const char *text)
{
	fprintf(arg, "%s\n", text);
}

/* The reader prints its result, the entries that it has, and then all lines that it says. */
static char *said_of(const void *data, size_t size)
{
	char *copy = malloc(size ? size : 1), *text = NULL, *result = NULL;
	struct trace_dump d;
	size_t length;
	FILE *f;
	int err;

	assert_non_null(copy);
	memcpy(copy, data, size);
	f = open_memstream(&text, &length);
	assert_non_null(f);
	err = trace_dump_parse(&d, copy, size, "x.target.0009.bin", note_line, f);
	assert_int_equal(fclose(f), 0);
	assert_true(asprintf(&result, "%d, %zu of %zu:\n%s", err, d.trace.n,
			     d.trace.n + (size_t)d.lost_entries, text) > 0);
	free(text);
	free(copy);
	trace_dump_free(&d);
	return result;
}

static void says(const void *data, size_t size, const char *wanted)
{
	char *text = said_of(data, size);

	assert_string_equal(text, wanted);
	free(text);
}

/* Block `n` of the sample. */
static unsigned char *block_of(const struct sample *s, unsigned n)
{
	unsigned char *p = (unsigned char *)s->file + DUMP_PREAMBLE_SIZE;

	while (n-- > 0)
		p += DUMP_BLOCK_HEADER_SIZE + bytes_get(p + 16, 8);
	return p;
}

static void seal(unsigned char *block)
{
	bytes_put(block + 24, 4, crc32c(block + DUMP_BLOCK_HEADER_SIZE, bytes_get(block + 16, 8)));
	bytes_put(block + 28, 4, crc32c(block, 28));
}

/* The sample with one byte changed. */
static void changed_says(const struct sample *s, const unsigned char *at, const char *wanted)
{
	unsigned char *byte = (unsigned char *)s->file + (at - (unsigned char *)s->file);

	*byte ^= 1;
	says(s->file, s->size, wanted);
	*byte ^= 1;
}

TEST(test_says_damage)
{
	unsigned char *entries, *last, *second;
	struct sample s;

	sample_make(&s, 8);
	entries = block_of(&s, 2);
	second = block_of(&s, 3);
	last = block_of(&s, 4);
	assert_int_equal(last - (unsigned char *)s.file + DUMP_BLOCK_HEADER_SIZE + DUMP_END_SIZE,
			 s.size);
	says(s.file, s.size, "0, 8 of 8:\n");
	says(s.file, 31,
	     "-74, 0 of 0:\n"
	     "no dump of time stamps, or cut short: it has 31 bytes, and one begins with 32\n");
	says(s.file, 32,
	     "-74, 0 of 0:\n"
	     "the file was cut short: its last block is missing, at byte 32\n"
	     "neither of the two blocks that describe the entries is sound: nothing can be made of "
	     "the rest\n");
	changed_says(&s, (unsigned char *)s.file + 3,
		     "0, 8 of 8:\nbytes 0 to 31 were changed: they are not how a dump begins\n");
	s.file[3] ^= 1;
	says(s.file, 40,
	     "-74, 0 of 0:\n"
	     "no dump of time stamps: it does not begin like one, and holds no block of one\n");
	s.file[3] ^= 1;
	s.file[8]++;
	bytes_put(s.file + 28, 4, crc32c(s.file, 28));
	says(s.file, s.size, "-74, 0 of 0:\nversion 2 of the format is not known, only 1\n");
	s.file[8]--;
	bytes_put(s.file + 28, 4, crc32c(s.file, 28));
	changed_says(&s, block_of(&s, 0) + 4,
		     "0, 8 of 8:\n"
		     "bytes 32 to 591 are no block: they were changed\n"
		     "block 1 at byte 592: block 0 should be here\n");
	changed_says(&s, entries + 4,
		     "0, 0 of 8:\n"
		     "bytes 640 to 1183 are no block: they were changed\n"
		     "block 3 at byte 1184: block 2 should be here\n"
		     "8 of 8 entries are lost\n");
	changed_says(
		&s, entries + DUMP_BLOCK_HEADER_SIZE,
		"0, 0 of 8:\n"
		"block 2 at byte 640: its checksum is wrong: the 512 bytes after it were changed\n"
		"8 of 8 entries are lost\n");
	changed_says(
		&s, block_of(&s, 0) + DUMP_BLOCK_HEADER_SIZE,
		"0, 8 of 8:\n"
		"block 0 at byte 32: its checksum is wrong: the 528 bytes after it were changed\n");
	block_of(&s, 0)[DUMP_BLOCK_HEADER_SIZE] ^= 1;
	changed_says(
		&s, second + DUMP_BLOCK_HEADER_SIZE,
		"-74, 0 of 0:\n"
		"block 0 at byte 32: its checksum is wrong: the 528 bytes after it were changed\n"
		"block 2 at byte 640: its entries do not have the layout that the file describes\n"
		"block 3 at byte 1184: its checksum is wrong: the 528 bytes after it were changed\n"
		"neither of the two blocks that describe the entries is sound: nothing can be made of the "
		"rest\n");
	block_of(&s, 0)[DUMP_BLOCK_HEADER_SIZE] ^= 1;
	changed_says(
		&s, last,
		"0, 8 of 8:\n"
		"bytes 1744 to 1791 are no block: they were changed, or the file was cut there\n"
		"the file was cut short: its last block is missing, at byte 1792\n");
	says(s.file, s.size - 1,
	     "0, 8 of 8:\n"
	     "block 4 at byte 1744: cut short: 15 of its 16 bytes are there\n"
	     "the file was cut short: its last block is missing, at byte 1791\n");
	says(s.file, (size_t)(entries - (unsigned char *)s.file) + 100,
	     "0, 0 of 8:\n"
	     "block 2 at byte 640: cut short: 68 of its 512 bytes are there\n"
	     "the file was cut short: its last block is missing, at byte 740\n"
	     "8 of 8 entries are lost\n");
	sample_free(&s);
}

/* The sample whose first description has further lines; freed by the caller. */
static unsigned char *described(const struct sample *s, const char *lines, size_t *all)
{
	const size_t more = (strlen(lines) + 7) / 8 * 8;
	unsigned char *meta = block_of(s, 0), *file = malloc(s->size + more), *to;
	const size_t size = bytes_get(meta + 16, 8);
	const size_t text = strnlen((char *)meta + DUMP_BLOCK_HEADER_SIZE, size);

	assert_non_null(file);
	memset(file, 0, s->size + more);
	memcpy(file, s->file, DUMP_PREAMBLE_SIZE + DUMP_BLOCK_HEADER_SIZE + text);
	to = file + DUMP_PREAMBLE_SIZE;
	memcpy(to + DUMP_BLOCK_HEADER_SIZE + text, lines, strlen(lines));
	bytes_put(to + 16, 8, size + more);
	seal(to);
	memcpy(to + DUMP_BLOCK_HEADER_SIZE + size + more, meta + DUMP_BLOCK_HEADER_SIZE + size,
	       s->size - DUMP_PREAMBLE_SIZE - DUMP_BLOCK_HEADER_SIZE - size);
	*all = s->size + more;
	return file;
}

static void described_says(const struct sample *s, const char *lines, const char *wanted)
{
	size_t size;
	unsigned char *file = described(s, lines, &size);

	says(file, size, wanted);
	free(file);
}

#define NONSENSE(name) "0, 8 of 8:\nblock 0 at byte 32: a line that makes no sense: " name "\n"
#define FINE "0, 8 of 8:\n"
#define NO_LAYOUT(at)                                                                            \
	"0, 0 of 8:\nblock 2 at byte " #at ": its entries do not have the layout that the file " \
	"describes\n8 of 8 entries are lost\n"

TEST(test_says_descriptions)
{
	static const char *const cases[][2] = {
		{ "nothing\n", NONSENSE("nothing") },
		{ "a line that is longer than what is shown of it, which is sixty\n",
		  NONSENSE("a line that is longer than what is shown of it, which is six") },
		{ "later=\n", FINE },
		{ "thread=2 9\n", FINE },
		{ "thread=4294967295 -2147483648\n", FINE },
		{ "thread=4294967295 2147483647\n", FINE },
		{ "thread=2\n", NONSENSE("thread") },
		{ "thread=2 \n", NONSENSE("thread") },
		{ "thread=-1 9\n", NONSENSE("thread") },
		{ "thread=4294967296 9\n", NONSENSE("thread") },
		{ "thread=2 2147483648\n", NONSENSE("thread") },
		{ "thread=2 -2147483649\n", NONSENSE("thread") },
		{ "field=mood 4096 1\n", FINE },
		{ "field=mood 0 0\n", FINE },
		{ "field=mood\n", NONSENSE("field") },
		{ "field=mood 1\n", NONSENSE("field") },
		{ "field=mood -1 1\n", NONSENSE("field") },
		{ "field=mood 1 -1\n", NONSENSE("field") },
		{ "field=mood 4097 1\n", NONSENSE("field") },
		{ "queue_depth=x\n", NONSENSE("queue_depth") },
		{ "queue_depth=-1\n", NONSENSE("queue_depth") },
		{ "wall_ns=-9223372036854775807\n", FINE },
		{ "wall_ns=9223372036854775807\n", FINE },
		{ "wall_ns=9223372036854775808\n", NONSENSE("wall_ns") },
		{ "wall_ns=\n", NONSENSE("wall_ns") },
		{ "global_drift_ppb=1000000\n", FINE },
		{ "global_drift_ppb=-1000000\n", FINE },
		{ "global_drift_ppb=1000001\n", NONSENSE("global_drift_ppb") },
		{ "global_drift_ppb=-1000001\n", NONSENSE("global_drift_ppb") },
		{ "entries=9\n", "0, 8 of 9:\n1 of 9 entries are lost\n" },
		{ "entries=7\n", FINE },
		{ "entry_bytes=4096\n", NO_LAYOUT(664) },
		{ "entry_bytes=0\n", NO_LAYOUT(656) },
		{ "entry_bytes=61\n", FINE },
		{ "entry_bytes=60\n", NO_LAYOUT(656) },
		{ "entry_bytes=65\n", NO_LAYOUT(656) },
		{ "field=op 4096 8\n", NO_LAYOUT(656) },
	};
	struct sample s;

	sample_make(&s, 8);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		described_says(&s, cases[i][0], cases[i][1]);
	sample_free(&s);
}

/* Threads are sorted by their QThreads; one with several ids gets the least. */
TEST(test_threads)
{
	static const struct trace_thread wanted[] = {
		{ 0, 100 }, { 1, 101 }, { 2, -6 }, { 3, 5 }, { 4, 4 },
	};
	struct trace_dump d;
	struct sample s;
	unsigned char *file;
	unsigned lines;
	size_t size;

	sample_make(&s, 1);
	file = described(
		&s, "thread=4 4\nthread=3 9\nthread=3 5\nthread=2 -6\nthread=2 7\nthread=1 101\n",
		&size);
	assert_int_equal(parse(&d, file, size, &lines), 0);
	assert_int_equal(d.trace.n_threads, 5);
	assert_memory_equal(d.trace.threads, wanted, sizeof(wanted));
	trace_dump_free(&d);
	free(file);
	sample_free(&s);
}

/* Of many complaints the first 20 are reported, and that there are others. */
TEST(test_says_no_more)
{
	char lines[512] = "", wanted[2048] = FINE;
	struct sample s;

	sample_make(&s, 8);
	for (unsigned i = 1; i <= 25; i++) {
		sprintf(lines + strlen(lines), "line %u\n", i);
		if (i <= 20)
			sprintf(wanted + strlen(wanted),
				"block 0 at byte 32: a line that makes no sense: line %u\n", i);
		if (i == 21)
			strcat(wanted, "further complaints are left out\n");
		described_says(&s, lines, wanted);
	}
	sample_free(&s);
}

/* A later version may add fields, lines and blocks. */
TEST(test_later_version)
{
	struct trace_dump d;
	struct sample s;
	unsigned lines;
	char *file;
	unsigned char block[DUMP_BLOCK_HEADER_SIZE + 8] = "xBLK";
	size_t end = DUMP_BLOCK_HEADER_SIZE + DUMP_END_SIZE;

	sample_make(&s, 10);
	file = malloc(s.size + sizeof(block));
	assert_non_null(file);
	/* A block of another type in front of the last one, which moves to the next number. */
	bytes_put(block + 4, 4, 99);
	bytes_put(block + 8, 4, bytes_get(s.file + s.size - end + 8, 4));
	bytes_put(block + 16, 8, 8);
	bytes_put(block + 24, 4, crc32c(block + DUMP_BLOCK_HEADER_SIZE, 8));
	bytes_put(block + 28, 4, crc32c(block, 28));
	memcpy(file, s.file, s.size - end);
	memcpy(file + s.size - end, block, sizeof(block));
	memcpy(file + s.size - end + sizeof(block), s.file + s.size - end, end);
	bytes_put(file + s.size - end + sizeof(block) + 8, 4, bytes_get(block + 8, 4) + 1);
	bytes_put(file + s.size - end + sizeof(block) + 28, 4,
		  crc32c(file + s.size - end + sizeof(block), 28));
	assert_int_equal(parse(&d, file, s.size + sizeof(block), &lines), 0);
	assert_int_equal(lines, 0);
	check_same(&s.trace, &d.trace);
	trace_dump_free(&d);
	/* Another major version is another format. */
	bytes_put(file + 8, 2, 2);
	bytes_put(file + 28, 4, crc32c(file, 28));
	assert_int_equal(parse(&d, file, s.size + sizeof(block), &lines), -EBADMSG);
	assert_int_equal(lines, 1);
	trace_dump_free(&d);
	free(file);
	sample_free(&s);
}

#define OLD_SIZE(n) (8416 + 112 * (size_t)(n))

static void old_entry(unsigned char *file, size_t i, int op, uint64_t start, uint64_t end)
{
	unsigned char *p = file + OLD_SIZE(i);

	p[0] = (unsigned char)op;
	bytes_put(p + 2, 2, 1);
	bytes_put(p + 4, 4, i % 2);
	bytes_put(p + 8, 4, 500 + i % 2);
	bytes_put(p + 20, 4, 1024);
	bytes_put(p + 32, 8, i);
	bytes_put(p + 40, 8, i * 1024);
	bytes_put(p + 48, 8, start);
	bytes_put(p + 64, 8, end);
}

static unsigned char *old_dump(size_t n)
{
	unsigned char *file = calloc(1, OLD_SIZE(n + 1));

	assert_non_null(file);
	bytes_put(file, 4, 0xdeadbeef);
	memcpy(file + 4, "Linux.7", 7);
	bytes_put(file + 72, 4, 1024);
	bytes_put(file + 76, 4, 1024);
	bytes_put(file + 80, 8, n);
	memcpy(file + 8344, "Thu Jan 28 03:22:28 2010\n", 25);
	for (size_t i = 0; i < n; i++)
		old_entry(file, i, i % 2 ? 'w' : 1, 1000 + i * 100, 1050 + i * 100);
	return file;
}

TEST(test_old)
{
	unsigned char *file = old_dump(10);
	struct trace_dump d;
	unsigned lines;

	assert_int_equal(parse(&d, file, OLD_SIZE(11), &lines), 0);
	assert_int_equal(lines, 0);
	assert_int_equal(d.trace.n, 10);
	assert_int_equal(d.trace.target, 9);
	assert_int_equal(d.trace.block_size, 1024);
	assert_string_equal(d.trace.information,
			    "Dump of an older program, Linux.7\n"
			    "Starting time for this run, Thu Jan 28 03:22:28 2010\n"
			    "ID for this run, ''\n");
	assert_null(d.trace.net);
	assert_int_equal(d.trace.entries[3]->dir, DIR_WRITE);
	assert_int_equal(d.trace.entries[3]->start_ns, 1300);
	assert_int_equal(d.trace.entries[3]->end_ns, 1350);
	assert_int_equal(d.trace.entries[3]->offset_bytes, 3072);
	assert_int_equal(d.trace.threads[1].tid, 501);
	print_all(&d);
	trace_dump_free(&d);
	/* With large requests, network times, an end of file, an unused slot, and nonsense. */
	bytes_put(file + 72, 4, 0x12345678);
	bytes_put(file + 76, 4, 0x12345600);
	bytes_put(file + OLD_SIZE(2) + 24, 4, 0x87654321);
	bytes_put(file + OLD_SIZE(2) + 8, 4, (uint32_t)-2);
	bytes_put(file + OLD_SIZE(2) + 80, 8, 900);
	bytes_put(file + OLD_SIZE(2) + 96, 8, 950);
	old_entry(file, 4, 4, 0, 0);
	old_entry(file, 5, 0, 0, 0);
	old_entry(file, 6, 77, 5, 6);
	old_entry(file, 7, 1, 9, 6);
	assert_int_equal(parse(&d, file, OLD_SIZE(11), &lines), 0);
	assert_int_equal(lines, 2);
	assert_int_equal(d.lost_entries, 2);
	assert_int_equal(d.trace.req_bytes + d.trace.block_size, 0x12345678 + 0x12345600);
	assert_int_equal(d.trace.n, 6);
	assert_non_null(d.trace.net);
	assert_int_equal(d.trace.net[2]->bytes, 0x87654321);
	/* A QThread of several ids has the least. */
	assert_int_equal(d.trace.threads[0].tid, -2);
	print_all(&d);
	trace_dump_free(&d);
	free(file);
}

/* The bytes of the entry are numbered from 1, so each field shows which bytes it comes from. */
TEST(test_old_fields)
{
	static const struct trace_entry entry = {
		.op = 0x2827262524232221,
		.offset_bytes = 0x302f2e2d2c2b2a29,
		.start_ns = 0x3837363534333231,
		.end_ns = 0x4847464544434241,
		.size_bytes = 0x18171615,
		.done_bytes = 0x18171615,
		.pass = 0x0403,
		.qthread = 0x08070605,
		.cpu_start = 0x0e0d,
		.cpu_end = 0x100f,
		.dir = DIR_READ,
	};
	static const struct trace_net net = {
		.start_ns = 0x5857565554535251,
		.end_ns = 0x6867666564636261,
		.bytes = 0x1c1b1a19,
		.calls = 0x201f1e1d,
		.cpu_start = 0x1211,
		.cpu_end = 0x1413,
	};
	unsigned char *file = old_dump(1), *p = file + OLD_SIZE(0);
	struct trace_dump d;
	unsigned lines;

	for (unsigned char i = 0; i < 112; i++)
		p[i] = i + 1;
	p[0] = 'r';
	assert_int_equal(parse(&d, file, OLD_SIZE(1), &lines), 0);
	assert_int_equal(lines, 0);
	assert_int_equal(d.trace.n, 1);
	assert_memory_equal(d.trace.entries[0], &entry, sizeof(entry));
	assert_memory_equal(d.trace.net[0], &net,
			    offsetof(struct trace_net, cpu_end) + sizeof(net.cpu_end));
	assert_int_equal(d.trace.n_threads, 1);
	assert_int_equal(d.trace.threads[0].qthread, 0x08070605);
	assert_int_equal(d.trace.threads[0].tid, 0x0c0b0a09);
	trace_dump_free(&d);
	free(file);
}

/* An old dump of 4 entries with another number in its first entry, or in its header. */
TEST(test_old_says)
{
#define NO_SENSE(op, from, to)                                                               \
	"0, 3 of 4:\nentry 0 at byte 8416 makes no sense: operation code " op ", from " from \
	" to " to " ns\n"
#define NO_SIZES "0, 4 of 4:\nbytes 72 to 79, the sizes of request and block, make no sense\n"
	static const struct {
		size_t at, bytes;
		uint64_t value;
		const char *says;
	} cases[] = {
		{ 8416, 1, 1, "0, 4 of 4:\n" },
		{ 8416, 1, 'r', "0, 4 of 4:\n" },
		{ 8416, 1, 3, "0, 4 of 4:\n" },
		{ 8416, 1, 'n', "0, 4 of 4:\n" },
		{ 8416, 1, 4, "0, 3 of 3:\n" },
		{ 8416, 1, 'e', "0, 3 of 3:\n" },
		{ 8416, 1, 0, NO_SENSE("0", "1000", "1050") },
		{ 8416, 1, 5, NO_SENSE("5", "1000", "1050") },
		{ 8416 + 20, 4, INT32_MAX, "0, 4 of 4:\n" },
		{ 8416 + 20, 4, (uint64_t)INT32_MAX + 1, NO_SENSE("1", "1000", "1050") },
		{ 8416 + 32, 8, INT64_MAX, "0, 4 of 4:\n" },
		{ 8416 + 32, 8, (uint64_t)INT64_MAX + 1, NO_SENSE("1", "1000", "1050") },
		{ 8416 + 48, 8, 1050, "0, 4 of 4:\n" },
		{ 8416 + 48, 8, 1051, NO_SENSE("1", "1051", "1050") },
		{ 8416 + 64, 8, INT64_MAX, "0, 4 of 4:\n" },
		{ 8416 + 64, 8, (uint64_t)INT64_MAX + 1,
		  NO_SENSE("1", "1000", "9223372036854775808") },
		{ 72, 4, INT32_MAX, "0, 4 of 4:\n" },
		{ 72, 4, (uint64_t)INT32_MAX + 1, NO_SIZES },
		{ 76, 4, INT32_MAX, "0, 4 of 4:\n" },
		{ 76, 4, (uint64_t)INT32_MAX + 1, NO_SIZES },
		{ 80, 8, 3, "0, 3 of 3:\n" },
		{ 80, 8, 6,
		  "0, 5 of 6:\na dump of an older program that was cut short or changed: 5 of 6 "
		  "entries are there, up to byte 8976\n" },
	};
	unsigned char *file = old_dump(4);

	old_entry(file, 4, 1, 1000, 1000);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		uint64_t was = bytes_get(file + cases[i].at, cases[i].bytes);

		bytes_put(file + cases[i].at, cases[i].bytes, cases[i].value);
		says(file, OLD_SIZE(5), cases[i].says);
		bytes_put(file + cases[i].at, cases[i].bytes, was);
	}
	says(file, 8415,
	     "-74, 0 of 0:\na dump of an older program that was cut short: 8415 of the 8416 bytes it "
	     "begins with are there\n");
	says(file, 4,
	     "-74, 0 of 0:\na dump of an older program that was cut short: 4 of the 8416 bytes it "
	     "begins with are there\n");
	says(file, 3,
	     "-74, 0 of 0:\nno dump of time stamps, or cut short: it has 3 bytes, and one begins with "
	     "32\n");
	says(file, 8416,
	     "0, 0 of 4:\na dump of an older program that was cut short or changed: 0 of 4 entries "
	     "are there, up to byte 8416\n");
	free(file);
}

TEST(test_old_damaged)
{
	unsigned char *file = old_dump(4);
	struct trace_dump d;
	unsigned lines;

	for (size_t size = 0; size < OLD_SIZE(4); size += size < 8000 ? 97 : 1) {
		int err = parse(&d, file, size, &lines);

		assert_int_equal(err, size < 8416 ? -EBADMSG : 0);
		assert_true(lines > 0);
		trace_dump_free(&d);
	}
	/*
	 * No checksums: what a flip makes of it may look sound. It must not make the reader
	 * stumble.
	 */
	for (size_t bit = 0; bit<OLD_SIZE(5) * 8; bit += bit / 8> 200 && bit / 8 < 8300 ? 331 : 1) {
		int err;

		file[bit / 8] ^= (unsigned char)(1 << bit % 8);
		err = parse(&d, file, OLD_SIZE(5), &lines);
		assert_true(err == 0 || err == -EBADMSG);
		if (!err)
			print_all(&d);
		trace_dump_free(&d);
		file[bit / 8] ^= (unsigned char)(1 << bit % 8);
	}
	free(file);
}

/* An empty line is between two passes, and nowhere else. */
TEST(test_text_passes)
{
	static const uint32_t passes[] = { 2, 2, 2, 3, 3, 5, 5 };
	static const bool first[] = { false, false, false, true, false, true, false };
	const struct trace_text want = { .detailed = true };
	const size_t n = sizeof(passes) / sizeof(passes[0]);
	char *text, *at;
	struct sample s;
	size_t size;
	FILE *f;

	sample_make(&s, n);
	for (size_t i = 0; i < n; i++)
		s.storage[i].pass = passes[i];
	f = open_memstream(&text, &size);
	assert_non_null(f);
	assert_int_equal(trace_text_write(f, &s.trace, &want), 0);
	assert_int_equal(fclose(f), 0);
	at = strstr(text, "\nEnd of DETAILED Time Stamp Report\n");
	assert_non_null(at);
	*at = '\0';
	for (size_t i = n; i-- > 0;) {
		at = strrchr(text, '\n');
		assert_non_null(at);
		assert_int_equal(at[-1] == '\n', first[i]);
		assert_true(strlen(at) > 20);
		at[first[i] ? -1 : 0] = '\0';
	}
	free(text);
	sample_free(&s);
}

/* Two traces of three operations, one of them of an end-to-end target, 250 ns apart. */
TEST(test_outputs)
{
	static const char expected[] =
		"Target number for this report, 3\n"
		"line\n"
		"line\n"
		"Global times are right within, 1.234567, milliseconds\n"
		"Start of DETAILED Time Stamp Report, Number of entries, 3, Picoseconds per clock tick, 1"
		"000, delta, 1700000000000005000000\n"
		"Target, RWV Op, Pass, OP Number, Block Location, Distance, StartTS, EndTS, IO Time ms, R"
		"elative ms, Delta us, Loop ms, Inst MB/sec, QThread, Thread ID, Slot, IO Size, Bytes, Er"
		"ror, CPU Start, CPU End\n"
		"3, r, 1, 0, 1073741824, 0, 1700000000001005250000, 1700000000001005950000,         0.000"
		"70,         0.00000,         0.00000,         0.00000,         142.857, 0, 100, 0, 4096,"
		" 100, 61, -1, 7\n"
		"3, w, 1, 1, 1073741828, 0, 1700000000001006250000, 1700000000001006950000,         0.000"
		"70,         0.00100,         0.00000,         0.00000,        5851.429, 1, 101, 1, 4096,"
		" 4096, 0, -1, 7\n"
		"3, n, 1, 2, 1073741842, 10, 1700000000001007250000, 1700000000001007950000,         0.00"
		"070,         0.00200,         1.30000,         0.00200,        5851.429, 0, 100, 0, 4096"
		", 4096, 0, -1, 7\n"
		"End of DETAILED Time Stamp Report\n"
		"Start of SUMMARY Time Stamp Report\n"
		"Average seek distance in 1024 byte blocks, 5, request size in blocks, 4\n"
		"Range: Longest seek distance in blocks, 10, shortest seek distance in blocks, 0\n"
		"Average I/O time in milliseconds,         0.00070, average dead time in microseconds,   "
		"      1.30000\n"
		"I/O Time Range: Longest I/O time in milliseconds,         0.00070, shortest I/O time in "
		"milliseconds,         0.00070\n"
		"Dead Time Range: Longest dead time in microseconds,         1.30000, shortest dead time "
		"in microseconds,         1.30000\n"
		"Operations recorded, 3, failed, 1, overwritten, 1, not recorded, 2, before the trigger, "
		"3\n"
		"End of SUMMARY Time Stamp Report\n"
		"Target number for this report, 3, on, one, a\\b\\nc\n"
		"Target number for this report, 3, on, two, a\\b\\nc\n"
		"Global times are right within, 1.234567, milliseconds\n"
		"Start of DETAILED Time Stamp Report, Number of entries, 6, Picoseconds per clock tick, 1"
		"000, delta, 0\n"
		"Target, RWV Op, Pass, OP Number, Block Location, Distance, StartTS, EndTS, IO Time ms, R"
		"elative ms, Delta us, Loop ms, Inst MB/sec, QThread, Thread ID, Slot, IO Size, Bytes, Er"
		"ror, CPU Start, CPU End, Net Size, Net Calls, Net CPU Start, Net CPU End, Net StartTS, N"
		"et EndTS, Net Time ms, Net MB/sec, Host\n"
		"3, r, 1, 0, 1073741824, 0, 1700000000001000000000, 1700000000001000700000,         0.000"
		"70,         0.00000,         0.00000,         0.00000,         142.857, 0, 100, 0, 4096,"
		" 100, 61, -1, 7, 4096, 2, 3, -1, 1700000000001000100000, 1700000000001000600000,        "
		" 0.00050,        8192.000, one\n"
		"3, w, 1, 1, 1073741828, 0, 1700000000001001000000, 1700000000001001700000,         0.000"
		"70,         0.00100,         0.00000,         0.00000,        5851.429, 1, 101, 1, 4096,"
		" 4096, 0, -1, 7, 4096, 2, 3, -1, 1700000000001000100000, 1700000000001000600000,        "
		" 0.00050,        8192.000, one\n"
		"3, n, 1, 2, 1073741832, 0, 1700000000001002000000, 1700000000001002700000,         0.000"
		"70,         0.00200,         0.00000,         0.00000,        5851.429, 0, 100, 2, 4096,"
		" 4096, 0, -1, 7, 4096, 2, 3, -1, 1700000000001000100000, 1700000000001000600000,        "
		" 0.00050,        8192.000, one\n"
		"3, r, 1, 0, 1073741824, 0, 1700000000001005250000, 1700000000001005950000,         0.000"
		"70,         0.00525,         0.00000,         0.00000,         142.857, 0, 100, 0, 4096,"
		" 100, 61, -1, 7, 0, 0, -1, -1, 0, 0,         0.00000,           0.000, two\n"
		"3, w, 1, 1, 1073741828, 0, 1700000000001006250000, 1700000000001006950000,         0.000"
		"70,         0.00625,         0.00000,         0.00000,        5851.429, 1, 101, 1, 4096,"
		" 4096, 0, -1, 7, 0, 0, -1, -1, 0, 0,         0.00000,           0.000, two\n"
		"3, n, 1, 2, 1073741842, 10, 1700000000001007250000, 1700000000001007950000,         0.00"
		"070,         0.00725,         1.30000,         0.00200,        5851.429, 0, 100, 0, 4096"
		", 4096, 0, -1, 7, 0, 0, -1, -1, 0, 0,         0.00000,           0.000, two\n"
		"End of DETAILED Time Stamp Report\n"
		"Target number for this report, 3, on, one, a\\b\\nc\n"
		"Start of SUMMARY Time Stamp Report\n"
		"Average seek distance in 1024 byte blocks, 0, request size in blocks, 4\n"
		"Range: Longest seek distance in blocks, 0, shortest seek distance in blocks, 0\n"
		"Average I/O time in milliseconds,         0.00070, average dead time in microseconds,   "
		"      0.00000\n"
		"I/O Time Range: Longest I/O time in milliseconds,         0.00070, shortest I/O time in "
		"milliseconds,         0.00070\n"
		"Dead Time Range: Longest dead time in microseconds,         0.00000, shortest dead time "
		"in microseconds,         0.00000\n"
		"Operations recorded, 3, failed, 1, overwritten, 1, not recorded, 2, before the trigger, "
		"3\n"
		"End of SUMMARY Time Stamp Report\n"
		"Target number for this report, 3, on, two, a\\b\\nc\n"
		"Global times are right within, 1.234567, milliseconds\n"
		"Start of SUMMARY Time Stamp Report\n"
		"Average seek distance in 1024 byte blocks, 5, request size in blocks, 4\n"
		"Range: Longest seek distance in blocks, 10, shortest seek distance in blocks, 0\n"
		"Average I/O time in milliseconds,         0.00070, average dead time in microseconds,   "
		"      1.30000\n"
		"I/O Time Range: Longest I/O time in milliseconds,         0.00070, shortest I/O time in "
		"milliseconds,         0.00070\n"
		"Dead Time Range: Longest dead time in microseconds,         1.30000, shortest dead time "
		"in microseconds,         1.30000\n"
		"Operations recorded, 3, failed, 1, overwritten, 1, not recorded, 2, before the trigger, "
		"3\n"
		"End of SUMMARY Time Stamp Report\n"
		"HOST,TARGET,PATH,PASS,OP,TYPE,OFFSET,SIZE,BYTES,ERROR,START_NS,END_NS,IO_NS,QTHREAD,SLOT"
		",CPU_START,CPU_END,NET_BYTES,NET_CALLS,NET_START_NS,NET_END_NS,NET_CPU_START,NET_CPU_END"
		"\n"
		"one,3,\"a\\b\n"
		"c\",1,0,r,1099511627776,4096,100,61,1700000000001000000,1700000000001000700,700,0,0,,7,4"
		"096,2,1700000000001000100,1700000000001000600,3,\n"
		"one,3,\"a\\b\n"
		"c\",1,1,w,1099511631872,4096,4096,0,1700000000001001000,1700000000001001700,700,1,1,,7,4"
		"096,2,1700000000001000100,1700000000001000600,3,\n"
		"one,3,\"a\\b\n"
		"c\",1,2,n,1099511635968,4096,4096,0,1700000000001002000,1700000000001002700,700,0,2,,7,4"
		"096,2,1700000000001000100,1700000000001000600,3,\n"
		"two,3,\"a\\b\n"
		"c\",1,0,r,1099511627776,4096,100,61,1700000000001005250,1700000000001005950,700,0,0,,7,,"
		",,,,\n"
		"two,3,\"a\\b\n"
		"c\",1,1,w,1099511631872,4096,4096,0,1700000000001006250,1700000000001006950,700,1,1,,7,,"
		",,,,\n"
		"two,3,\"a\\b\n"
		"c\",1,2,n,1099511646208,4096,4096,0,1700000000001007250,1700000000001007950,700,0,0,,7,,"
		",,,,\n"
		"{\"displayTimeUnit\":\"ns\",\"otherData\":{\"origin_ns\":\"1700000000001000000\"},\"trac"
		"eEvents\":[\n"
		"{\"name\":\"process_name\",\"ph\":\"M\",\"pid\":1,\"args\":{\"name\":\"one\"}},\n"
		"{\"name\":\"process_name\",\"ph\":\"M\",\"pid\":2,\"args\":{\"name\":\"two\"}},\n"
		"{\"name\":\"process_labels\",\"ph\":\"M\",\"pid\":2,\"args\":{\"labels\":\"global times "
		"within 1234.567 us\"}},\n"
		"{\"name\":\"thread_name\",\"ph\":\"M\",\"pid\":1,\"tid\":1,\"args\":{\"name\":\"target 3"
		" QThread 0 slot 0, a\\\\b\\u000ac\"}},\n"
		"{\"name\":\"thread_name\",\"ph\":\"M\",\"pid\":1,\"tid\":2,\"args\":{\"name\":\"target 3"
		" QThread 0 slot 2, a\\\\b\\u000ac\"}},\n"
		"{\"name\":\"thread_name\",\"ph\":\"M\",\"pid\":1,\"tid\":3,\"args\":{\"name\":\"target 3"
		" QThread 1 slot 1, a\\\\b\\u000ac\"}},\n"
		"{\"name\":\"thread_name\",\"ph\":\"M\",\"pid\":2,\"tid\":4,\"args\":{\"name\":\"target 3"
		" QThread 0 slot 0, a\\\\b\\u000ac\"}},\n"
		"{\"name\":\"thread_name\",\"ph\":\"M\",\"pid\":2,\"tid\":5,\"args\":{\"name\":\"target 3"
		" QThread 1 slot 1, a\\\\b\\u000ac\"}},\n"
		"{\"name\":\"read\",\"cat\":\"storage\",\"ph\":\"X\",\"ts\":0.000,\"dur\":0.700,\"pid\":1"
		",\"tid\":1,\"args\":{\"target\":3,\"op\":0,\"pass\":1,\"offset\":1099511627776,\"size\":"
		"4096,\"bytes\":100,\"error\":61}},\n"
		"{\"name\":\"network\",\"cat\":\"network\",\"ph\":\"X\",\"ts\":0.100,\"dur\":0.500,\"pid"
		"\":1,\"tid\":1,\"args\":{\"target\":3,\"op\":0,\"bytes\":4096,\"calls\":2}},\n"
		"{\"name\":\"write\",\"cat\":\"storage\",\"ph\":\"X\",\"ts\":1.000,\"dur\":0.700,\"pid\":"
		"1,\"tid\":3,\"args\":{\"target\":3,\"op\":1,\"pass\":1,\"offset\":1099511631872,\"size\""
		":4096,\"bytes\":4096,\"error\":0}},\n"
		"{\"name\":\"network\",\"cat\":\"network\",\"ph\":\"X\",\"ts\":0.100,\"dur\":0.500,\"pid"
		"\":1,\"tid\":3,\"args\":{\"target\":3,\"op\":1,\"bytes\":4096,\"calls\":2}},\n"
		"{\"name\":\"noop\",\"cat\":\"storage\",\"ph\":\"X\",\"ts\":2.000,\"dur\":0.700,\"pid\":1"
		",\"tid\":2,\"args\":{\"target\":3,\"op\":2,\"pass\":1,\"offset\":1099511635968,\"size\":"
		"4096,\"bytes\":4096,\"error\":0}},\n"
		"{\"name\":\"network\",\"cat\":\"network\",\"ph\":\"X\",\"ts\":0.100,\"dur\":0.500,\"pid"
		"\":1,\"tid\":2,\"args\":{\"target\":3,\"op\":2,\"bytes\":4096,\"calls\":2}},\n"
		"{\"name\":\"read\",\"cat\":\"storage\",\"ph\":\"X\",\"ts\":5.250,\"dur\":0.700,\"pid\":2"
		",\"tid\":4,\"args\":{\"target\":3,\"op\":0,\"pass\":1,\"offset\":1099511627776,\"size\":"
		"4096,\"bytes\":100,\"error\":61}},\n"
		"{\"name\":\"write\",\"cat\":\"storage\",\"ph\":\"X\",\"ts\":6.250,\"dur\":0.700,\"pid\":"
		"2,\"tid\":5,\"args\":{\"target\":3,\"op\":1,\"pass\":1,\"offset\":1099511631872,\"size\""
		":4096,\"bytes\":4096,\"error\":0}},\n"
		"{\"name\":\"noop\",\"cat\":\"storage\",\"ph\":\"X\",\"ts\":7.250,\"dur\":0.700,\"pid\":2"
		",\"tid\":4,\"args\":{\"target\":3,\"op\":2,\"pass\":1,\"offset\":1099511646208,\"size\":"
		"4096,\"bytes\":4096,\"error\":0}}\n"
		"]}\n";
	static const struct trace_net net = { .start_ns = 1000100,
					      .end_ns = 1000600,
					      .bytes = 4096,
					      .calls = 2,
					      .cpu_start = 3,
					      .cpu_end = TRACE_NO_CPU };
	static const struct trace_net *nets[] = { &net, &net, &net };
	const struct trace_text want = { .detailed = true, .summary = true, .normalize = true };
	const struct trace *both[2];
	struct sample a, b;
	char *text;
	size_t size;
	FILE *f;

	sample_make(&a, 3);
	sample_make(&b, 3);
	a.trace.net = nets;
	b.trace.host = "two";
	b.trace.global_ns = 5000;
	b.trace.global_bound_ns = 1234567;
	for (size_t i = 0; i < 3; i++) {
		b.storage[i].start_ns += 250;
		b.storage[i].end_ns += 250;
	}
	/* The next operation of a slot, and farther than its end. */
	b.storage[2].slot = 0;
	b.storage[2].offset_bytes += 10240;
	both[0] = &a.trace;
	both[1] = &b.trace;
	f = open_memstream(&text, &size);
	assert_non_null(f);
	assert_int_equal(trace_text_write(f, &b.trace, &want), 0);
	assert_int_equal(trace_text_merged(f, both, 2, &want), 0);
	assert_int_equal(trace_export_csv(f, both, 2), 0);
	assert_int_equal(trace_export_json(f, both, 2), 0);
	assert_int_equal(fclose(f), 0);
	assert_string_equal(text, expected);
	free(text);
	sample_free(&a);
	sample_free(&b);
}

/* Times of the network that are before the first operation, missing, or make no sense. */
TEST(test_json_network)
{
	static const struct trace_net nets[] = {
		{ .start_ns = 999000, .end_ns = 999500, .bytes = 1, .calls = 1 },
		{ .start_ns = 1001000, .end_ns = 0, .bytes = 2, .calls = 1 },
		{ .start_ns = 1002500, .end_ns = 1002499, .bytes = 3, .calls = 1 },
		{ .start_ns = 0, .end_ns = 5, .bytes = 4, .calls = 1 },
		{ .start_ns = 1004000, .end_ns = 1004000, .bytes = 5, .calls = 1 },
	};
	const struct trace_net *list[5];
	const struct trace *traces[1];
	char *text;
	size_t size;
	struct sample s;
	FILE *f;

	sample_make(&s, 5);
	for (size_t i = 0; i < 5; i++)
		list[i] = &nets[i];
	s.trace.net = list;
	s.trace.wall_ns = 0;
	s.trace.host = s.trace.path = "";
	s.storage[3].dir = DIR_COUNT;
	traces[0] = &s.trace;
	f = open_memstream(&text, &size);
	assert_non_null(f);
	assert_int_equal(trace_export_json(f, traces, 1), 0);
	assert_int_equal(fclose(f), 0);
	assert_string_equal(
		text,
		"{\"displayTimeUnit\":\"ns\",\"otherData\":{\"origin_ns\":\"999000\"},"
		"\"traceEvents\":[\n"
		"{\"name\":\"process_name\",\"ph\":\"M\",\"pid\":1,"
		"\"args\":{\"name\":\"unknown host\"}},\n"
		"{\"name\":\"thread_name\",\"ph\":\"M\",\"pid\":1,\"tid\":1,"
		"\"args\":{\"name\":\"target 3 QThread 0 slot 0, \"}},\n"
		"{\"name\":\"thread_name\",\"ph\":\"M\",\"pid\":1,\"tid\":2,"
		"\"args\":{\"name\":\"target 3 QThread 0 slot 1, \"}},\n"
		"{\"name\":\"thread_name\",\"ph\":\"M\",\"pid\":1,\"tid\":3,"
		"\"args\":{\"name\":\"target 3 QThread 0 slot 2, \"}},\n"
		"{\"name\":\"thread_name\",\"ph\":\"M\",\"pid\":1,\"tid\":4,"
		"\"args\":{\"name\":\"target 3 QThread 1 slot 0, \"}},\n"
		"{\"name\":\"thread_name\",\"ph\":\"M\",\"pid\":1,\"tid\":5,"
		"\"args\":{\"name\":\"target 3 QThread 1 slot 1, \"}},\n"
		"{\"name\":\"read\",\"cat\":\"storage\",\"ph\":\"X\",\"ts\":1.000,"
		"\"dur\":0.700,\"pid\":1,\"tid\":1,\"args\":{\"target\":3,\"op\":0,\"pass\":1,"
		"\"offset\":1099511627776,\"size\":4096,\"bytes\":100,\"error\":61}},\n"
		"{\"name\":\"network\",\"cat\":\"network\",\"ph\":\"X\",\"ts\":0.000,"
		"\"dur\":0.500,\"pid\":1,\"tid\":1,\"args\":{\"target\":3,\"op\":0,\"bytes\":1,"
		"\"calls\":1}},\n"
		"{\"name\":\"write\",\"cat\":\"storage\",\"ph\":\"X\",\"ts\":2.000,"
		"\"dur\":0.700,\"pid\":1,\"tid\":5,\"args\":{\"target\":3,\"op\":1,\"pass\":1,"
		"\"offset\":1099511631872,\"size\":4096,\"bytes\":4096,\"error\":0}},\n"
		"{\"name\":\"noop\",\"cat\":\"storage\",\"ph\":\"X\",\"ts\":3.000,"
		"\"dur\":0.700,\"pid\":1,\"tid\":3,\"args\":{\"target\":3,\"op\":2,\"pass\":1,"
		"\"offset\":1099511635968,\"size\":4096,\"bytes\":4096,\"error\":0}},\n"
		"{\"name\":\"?\",\"cat\":\"storage\",\"ph\":\"X\",\"ts\":4.000,\"dur\":0.700,"
		"\"pid\":1,\"tid\":4,\"args\":{\"target\":3,\"op\":3,\"pass\":1,"
		"\"offset\":1099511640064,\"size\":4096,\"bytes\":4096,\"error\":0}},\n"
		"{\"name\":\"read\",\"cat\":\"storage\",\"ph\":\"X\",\"ts\":5.000,"
		"\"dur\":0.700,\"pid\":1,\"tid\":2,\"args\":{\"target\":3,\"op\":4,\"pass\":1,"
		"\"offset\":1099511644160,\"size\":4096,\"bytes\":4096,\"error\":0}},\n"
		"{\"name\":\"network\",\"cat\":\"network\",\"ph\":\"X\",\"ts\":5.000,"
		"\"dur\":0.000,\"pid\":1,\"tid\":2,\"args\":{\"target\":3,\"op\":4,\"bytes\":5,"
		"\"calls\":1}}\n"
		"]}\n");
	free(text);
	sample_free(&s);
}

RUN_TESTS(NULL, NULL)
