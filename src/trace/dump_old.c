/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reading the dumps of older programs of this family; doc/tsdump.md. They have neither a version
 * nor checksums: impossible values are reported. Called by trace_dump_parse().
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "trace/format.h"
#include "xdd/base/codec.h"
#include "xdd/base/memory.h"

#define OLD_MAGIC 0xdeadbeefu
#define OLD_HEADER_SIZE 8416
#define OLD_ENTRY_SIZE 112

enum old_header {
	OLD_VERSION = 4,
	OLD_REQ_BYTES = 72,
	OLD_BLOCK_SIZE = 76,
	OLD_ENTRIES = 80,
	OLD_ID = 152,
	OLD_TIME = 8344,
};

#define OLD_VERSION_SIZE 64
#define OLD_ID_SIZE 8192
#define OLD_TIME_SIZE 32

enum old_entry {
	OLD_OP = 0,
	OLD_PASS = 2,
	OLD_WORKER = 4,
	OLD_TID = 8,
	OLD_CPU_START = 12,
	OLD_CPU_END = 14,
	OLD_NET_CPU_START = 16,
	OLD_NET_CPU_END = 18,
	OLD_BYTES = 20,
	OLD_NET_BYTES = 24,
	OLD_NET_CALLS = 28,
	OLD_NUMBER = 32,
	OLD_OFFSET = 40,
	OLD_START = 48,
	OLD_END = 64,
	OLD_NET_START = 80,
	OLD_NET_END = 96,
};

bool dump_is_old(const unsigned char *data, size_t size)
{
	return size >= 4 && bytes_get(data, 4) == OLD_MAGIC;
}

/* A text of the header, in which a NUL may be missing. */
static const char *text_at(struct dump_reader *r, size_t at, size_t size)
{
	char *text = arena_alloc(r->dump->arena, size + 1);

	if (!text)
		return "";
	memcpy(text, r->data + at, size);
	text[strcspn(text, "\n")] = '\0';
	return text;
}

/* The target, from "PREFIX.target.0003.bin": the file itself does not have it. */
static uint32_t target_of(const char *name)
{
	const char *found = NULL;
	unsigned number;

	for (const char *p = name; (p = strstr(p, ".target.")); p++)
		found = p;
	return found && sscanf(found, ".target.%9u", &number) == 1 ? number : 0;
}

/* Set the kind of operation; false: it moves no data. */
static bool get_dir(int op, uint8_t *dir)
{
	switch (op) {
	case 1:
	case 'r':
		*dir = DIR_READ;
		return true;
	case 2:
	case 'w':
		*dir = DIR_WRITE;
		return true;
	case 3:
	case 'n':
		*dir = DIR_NOOP;
		return true;
	default:
		return false;
	}
}

/* A slot that was never used, or the mark of the end of the data. */
static bool is_idle(const unsigned char *p)
{
	int op = p[OLD_OP];

	return op == 4 || op == 'e' || (op == 0 && !bytes_get(p + OLD_END, 8));
}

static int take(struct dump_reader *r, uint64_t i, const unsigned char *p)
{
	struct trace_entry *e;
	struct trace_net *net;
	uint8_t dir;

	if (is_idle(p))
		return 0;
	if (!get_dir(p[OLD_OP], &dir) || bytes_get(p + OLD_END, 8) < bytes_get(p + OLD_START, 8) ||
	    bytes_get(p + OLD_END, 8) > INT64_MAX || bytes_get(p + OLD_BYTES, 4) > INT32_MAX ||
	    bytes_get(p + OLD_NUMBER, 8) > INT64_MAX) {
		r->dump->lost_entries++;
		dump_say(r,
			 "entry %" PRIu64 " at byte %" PRIu64
			 " makes no sense: operation code %d, from %" PRIu64 " to %" PRIu64 " ns",
			 i, OLD_HEADER_SIZE + i * OLD_ENTRY_SIZE, p[OLD_OP],
			 bytes_get(p + OLD_START, 8), bytes_get(p + OLD_END, 8));
		return 0;
	}
	e = dump_new_entry(r->dump, true);
	if (!e)
		return -ENOMEM;
	net = &r->dump->net_storage[r->dump->trace.n - 1];
	e->dir = dir;
	e->pass = (uint32_t)bytes_get(p + OLD_PASS, 2);
	e->qthread = (uint32_t)bytes_get(p + OLD_WORKER, 4);
	e->cpu_start = (uint16_t)bytes_get(p + OLD_CPU_START, 2);
	e->cpu_end = (uint16_t)bytes_get(p + OLD_CPU_END, 2);
	e->size_bytes = e->done_bytes = (uint32_t)bytes_get(p + OLD_BYTES, 4);
	e->op = bytes_get(p + OLD_NUMBER, 8);
	e->offset_bytes = bytes_get(p + OLD_OFFSET, 8);
	e->start_ns = bytes_get(p + OLD_START, 8);
	e->end_ns = bytes_get(p + OLD_END, 8);
	net->cpu_start = (uint16_t)bytes_get(p + OLD_NET_CPU_START, 2);
	net->cpu_end = (uint16_t)bytes_get(p + OLD_NET_CPU_END, 2);
	net->bytes = (uint32_t)bytes_get(p + OLD_NET_BYTES, 4);
	net->calls = (uint32_t)bytes_get(p + OLD_NET_CALLS, 4);
	net->start_ns = bytes_get(p + OLD_NET_START, 8);
	net->end_ns = bytes_get(p + OLD_NET_END, 8);
	return dump_add_thread(r->dump, e->qthread, (int32_t)bytes_get_signed(p + OLD_TID, 4));
}

static bool has_net(const struct trace_dump *d)
{
	for (size_t i = 0; i < d->trace.n; i++) {
		if (d->net_storage[i].end_ns)
			return true;
	}
	return false;
}

static void read_header(struct dump_reader *r)
{
	struct trace *t = &r->dump->trace;
	const unsigned char *p = r->data;

	t->program = text_at(r, OLD_VERSION, OLD_VERSION_SIZE);
	t->id = text_at(r, OLD_ID, OLD_ID_SIZE);
	t->path = r->name;
	t->information = arena_printf(r->dump->arena,
				      "Dump of an older program, %s\n"
				      "Starting time for this run, %s\nID for this run, '%s'\n",
				      t->program, text_at(r, OLD_TIME, OLD_TIME_SIZE), t->id);
	if (!t->information)
		t->information = "";
	t->target = target_of(r->name);
	t->req_bytes = (uint32_t)bytes_get(p + OLD_REQ_BYTES, 4);
	t->block_size = (uint32_t)bytes_get(p + OLD_BLOCK_SIZE, 4);
	if (t->block_size > INT32_MAX || t->req_bytes > INT32_MAX) {
		dump_say(r, "bytes %d to %d, the sizes of request and block, make no sense",
			 OLD_REQ_BYTES, OLD_BLOCK_SIZE + 3);
		t->block_size = t->req_bytes = 0;
	}
}

int dump_read_old(struct dump_reader *r)
{
	uint64_t used, there;
	int err = 0;

	if (r->size < OLD_HEADER_SIZE) {
		dump_say(r,
			 "a dump of an older program that was cut short: %zu of the %d bytes it "
			 "begins with are there",
			 r->size, OLD_HEADER_SIZE);
		return -EBADMSG;
	}
	read_header(r);
	used = bytes_get(r->data + OLD_ENTRIES, 8);
	there = (r->size - OLD_HEADER_SIZE) / OLD_ENTRY_SIZE;
	if (used > there) {
		dump_say(r,
			 "a dump of an older program that was cut short or changed: %" PRIu64
			 " of %" PRIu64 " entries are there, up to byte %zu",
			 there, used, r->size);
		r->dump->lost_entries = used - there;
		used = there;
	}
	for (uint64_t i = 0; i < used && !err; i++)
		err = take(r, i, r->data + OLD_HEADER_SIZE + i * OLD_ENTRY_SIZE);
	/* Network columns only where they have values. */
	if (!err && !has_net(r->dump)) {
		free(r->dump->net_storage);
		r->dump->net_storage = NULL;
	}
	return err;
}
