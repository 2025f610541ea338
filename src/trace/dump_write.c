/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Writing dumps; doc/tsdump.md. Called when a run ends.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "trace/format.h"
#include "xdd/base/codec.h"
#include "xdd/base/memory.h"
#include "xdd/trace/trace.h"

#define FIELD(name_, member_, file_off_)                                                    \
	{                                                                                   \
		.name = name_, .memory_off = offsetof(struct trace_entry, member_),         \
		.file_off = file_off_, .bytes = sizeof(((struct trace_entry *)0)->member_), \
	}

#define NET_FIELD(name_, member_, file_off_)                                                   \
	{                                                                                      \
		.name = name_, .net = true, .memory_off = offsetof(struct trace_net, member_), \
		.file_off = file_off_, .bytes = sizeof(((struct trace_net *)0)->member_),      \
	}

const struct dump_field dump_fields[] = {
	FIELD("op", op, 0),
	FIELD("offset_bytes", offset_bytes, 8),
	FIELD("start_ns", start_ns, 16),
	FIELD("end_ns", end_ns, 24),
	FIELD("size_bytes", size_bytes, 32),
	FIELD("done_bytes", done_bytes, 36),
	FIELD("pass", pass, 40),
	FIELD("qthread", qthread, 44),
	FIELD("error", error, 48),
	FIELD("slot", slot, 52),
	FIELD("cpu_start", cpu_start, 56),
	FIELD("cpu_end", cpu_end, 58),
	FIELD("dir", dir, 60),
	NET_FIELD("net_start_ns", start_ns, 64),
	NET_FIELD("net_end_ns", end_ns, 72),
	NET_FIELD("net_bytes", bytes, 80),
	NET_FIELD("net_calls", calls, 84),
	NET_FIELD("net_cpu_start", cpu_start, 88),
	NET_FIELD("net_cpu_end", cpu_end, 90),
};

const size_t dump_n_fields = sizeof(dump_fields) / sizeof(dump_fields[0]);

#define ENTRY_FILE_BYTES 64
#define NET_ENTRY_FILE_BYTES 96

static size_t entry_bytes(const struct trace *t)
{
	return t->net ? NET_ENTRY_FILE_BYTES : ENTRY_FILE_BYTES;
}

struct writer {
	FILE *f;
	uint32_t blocks; /* written so far */
};

static int put(FILE *f, const void *data, size_t size)
{
	return fwrite(data, 1, size, f) == size ? 0 : errno ? -errno : -EIO;
}

static int put_preamble(FILE *f)
{
	unsigned char p[DUMP_PREAMBLE_SIZE];
	struct encoder e = enc_begin(p, sizeof(p));

	enc_bytes(&e, DUMP_MAGIC, DUMP_MAGIC_SIZE);
	enc_put(&e, 2, DUMP_VERSION_MAJOR);
	enc_put(&e, 2, DUMP_VERSION_MINOR);
	enc_put(&e, 4, DUMP_PREAMBLE_SIZE);
	enc_zeros(&e, 12);
	enc_put(&e, 4, crc32c(p, enc_end(&e)));
	return put(f, p, sizeof(p));
}

/* `size` is a multiple of 8. */
static int put_block(struct writer *w, enum dump_block_type type, uint32_t count,
		     const void *payload, uint64_t size)
{
	unsigned char h[DUMP_BLOCK_HEADER_SIZE];
	struct encoder e = enc_begin(h, sizeof(h));
	int err;

	enc_put(&e, 4, DUMP_BLOCK_MARK);
	enc_put(&e, 4, type);
	enc_put(&e, 4, w->blocks++);
	enc_put(&e, 4, count);
	enc_put(&e, 8, size);
	enc_put(&e, 4, crc32c(payload, size));
	enc_put(&e, 4, crc32c(h, enc_end(&e)));
	err = put(w->f, h, sizeof(h));
	return err ? err : put(w->f, payload, size);
}

/* A line of the META block, in which a value has no line ends. */
static void put_line(FILE *f, const char *name, const char *value)
{
	fprintf(f, "%s=", name);
	for (; *value; value++) {
		if (*value == '\n')
			fputs("\\n", f);
		else if (*value == '\\')
			fputs("\\\\", f);
		else
			fputc(*value, f);
	}
	fputc('\n', f);
}

static void put_meta(FILE *f, const struct trace *t)
{
	put_line(f, "program", t->program);
	put_line(f, "host", t->host);
	put_line(f, "path", t->path);
	put_line(f, "id", t->id);
	put_line(f, "command", t->command);
	fprintf(f,
		"target=%" PRIu32 "\nblock_size=%" PRIu64 "\nreq_bytes=%" PRIu64
		"\nqueue_depth=%" PRIu64 "\n",
		t->target, t->block_size, t->req_bytes, t->queue_depth);
	fprintf(f, "wall_ns=%" PRId64 "\nwall_end_ns=%" PRId64 "\nglobal_ns=%" PRId64 "\n",
		t->wall_ns, t->wall_end_ns, t->global_ns);
	if (t->global_bound_ns)
		fprintf(f,
			"global_at_ns=%" PRIu64 "\nglobal_drift_ppb=%" PRId64
			"\nglobal_bound_ns=%" PRId64 "\n",
			t->global_at_ns, t->global_drift_ppb, t->global_bound_ns);
	fprintf(f, "partial=%d\ncut=%d\n", t->partial, t->cut);
	fprintf(f, "overwritten=%" PRIu64 "\nunrecorded=%" PRIu64 "\nbefore_trigger=%" PRIu64 "\n",
		t->missing.overwritten, t->missing.unrecorded, t->missing.before);
	fprintf(f, "entries=%zu\nentry_bytes=%zu\n", t->n, entry_bytes(t));
	for (size_t i = 0; i < dump_n_fields; i++) {
		if (!dump_fields[i].net || t->net)
			fprintf(f, "field=%s %u %u\n", dump_fields[i].name, dump_fields[i].file_off,
				dump_fields[i].bytes);
	}
	for (size_t i = 0; i < t->n_threads; i++)
		fprintf(f, "thread=%" PRIu32 " %" PRId32 "\n", t->threads[i].qthread,
			t->threads[i].tid);
}

/* Text as a block: filled up with NULs. */
static int put_text(struct writer *w, enum dump_block_type type, const char *text, size_t size)
{
	size_t whole = (size + 7) / 8 * 8;
	char *padded = calloc(1, whole + 1);
	int err;

	if (!padded)
		return -ENOMEM;
	memcpy(padded, text, size);
	err = put_block(w, type, 0, padded, whole);
	free(padded);
	return err;
}

static int put_meta_block(struct writer *w, const struct trace *t)
{
	struct memstream m;
	int err;

	if (!memstream_open(&m))
		return -ENOMEM;
	put_meta(m.f, t);
	err = memstream_close(&m);
	if (!err)
		err = put_text(w, DUMP_BLOCK_META, m.text, m.size);
	free(m.text);
	return err;
}

/*
 * In memory a field is as wide as in the file, and in the order of the machine. `net` may be NULL.
 */
static void put_entry(unsigned char *p, const struct trace_entry *e, const struct trace_net *net)
{
	for (size_t i = 0; i < dump_n_fields && (!dump_fields[i].net || net); i++) {
		const struct dump_field *field = &dump_fields[i];
		const char *at =
			(field->net ? (const char *)net : (const char *)e) + field->memory_off;
		uint64_t v8;
		uint32_t v4;
		uint16_t v2;

		switch (field->bytes) {
		case 8:
			memcpy(&v8, at, 8);
			bytes_put(p + field->file_off, 8, v8);
			break;
		case 4:
			memcpy(&v4, at, 4);
			bytes_put(p + field->file_off, 4, v4);
			break;
		case 2:
			memcpy(&v2, at, 2);
			bytes_put(p + field->file_off, 2, v2);
			break;
		default:
			p[field->file_off] = *(const unsigned char *)at;
		}
	}
}

static int put_entries(struct writer *w, const struct trace *t)
{
	const size_t bytes = entry_bytes(t);
	unsigned char *payload = calloc(DUMP_BLOCK_ENTRIES, bytes);
	int err = payload ? 0 : -ENOMEM;

	for (size_t i = 0; i < t->n && !err;) {
		uint32_t n = 0;

		for (; n < DUMP_BLOCK_ENTRIES && i < t->n; n++, i++)
			put_entry(payload + n * bytes, t->entries[i], t->net ? t->net[i] : NULL);
		err = put_block(w, DUMP_BLOCK_ENTRY, n, payload, n * bytes);
	}
	free(payload);
	return err;
}

int trace_dump_write(FILE *f, const struct trace *t)
{
	struct writer w = { .f = f };
	unsigned char end[DUMP_END_SIZE];
	int err;

	errno = 0;
	err = put_preamble(f);
	if (!err)
		err = put_meta_block(&w, t);
	if (!err)
		err = put_text(&w, DUMP_BLOCK_INFORMATION, t->information, strlen(t->information));
	if (!err)
		err = put_entries(&w, t);
	/* A second copy: without META the entries are useless. */
	if (!err)
		err = put_meta_block(&w, t);
	bytes_put(end, 8, t->n);
	bytes_put(end + 8, 8, w.blocks);
	return err ? err : put_block(&w, DUMP_BLOCK_END, 0, end, sizeof(end));
}
