/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The numbers of the format of dumps, version 1; doc/tsdump.md. Private to src/trace, and for
 * tests.
 */
#ifndef XDD_TRACE_FORMAT_H
#define XDD_TRACE_FORMAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "xdd/trace/trace.h"

/* The preamble; a text transfer, a cut to seven bits and a stray line end all show in the magic. */
#define DUMP_MAGIC "\x89XDDTS\r\n"
#define DUMP_MAGIC_SIZE 8
#define DUMP_PREAMBLE_SIZE 32
#define DUMP_VERSION_MAJOR 1
#define DUMP_VERSION_MINOR 0

/* Blocks. */
#define DUMP_BLOCK_MARK 0x4b4c4278u /* "xBLK" */
#define DUMP_BLOCK_HEADER_SIZE 32
#define DUMP_BLOCK_ENTRIES 1024 /* that a writer puts into one block */

enum dump_block_type {
	DUMP_BLOCK_META = 1,
	DUMP_BLOCK_INFORMATION = 2,
	DUMP_BLOCK_ENTRY = 3,
	DUMP_BLOCK_END = 4,
};

#define DUMP_END_SIZE 16

/* A field of an entry: its offset in memory and in the file. */
struct dump_field {
	const char *name;
	bool net; /* in memory it is one of struct trace_net; only targets with a network have it */
	uint16_t memory_off;
	uint16_t file_off;
	uint8_t bytes;
};

extern const struct dump_field dump_fields[];
extern const size_t dump_n_fields;

#define DUMP_ENTRY_MAX_BYTES 4096
#define DUMP_FIELDS_MAX 64

/* A field as a file describes it. */
struct dump_file_field {
	const struct dump_field *known;
	uint32_t off;
};

/* How the entries of a file lie. */
struct dump_layout {
	struct dump_file_field fields[DUMP_FIELDS_MAX];
	size_t n_fields;
	bool net; /* the record has the fields of the network */
	uint64_t entry_bytes;
	uint64_t entries; /* that there should be; UINT64_MAX: not known */
};

/* The state that the readers of both formats share. */
struct dump_reader {
	struct trace_dump *dump;
	const unsigned char *data;
	size_t size;
	const char *name;
	trace_complain *complain;
	void *arg;
};

void dump_say(struct dump_reader *r, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/*
 * Room for another entry, zeroed; its network part is storage of the same index. NULL: no memory.
 */
struct trace_entry *dump_new_entry(struct trace_dump *d, bool net);

/* Add a thread of the recording program; duplicates are allowed. Returns 0 or -ENOMEM. */
int dump_add_thread(struct trace_dump *d, uint32_t qthread, int32_t tid);

/* dump_old.c: recognize a dump of an older program by its beginning, and read it. */
bool dump_is_old(const unsigned char *data, size_t size);
int dump_read_old(struct dump_reader *r);

#endif
