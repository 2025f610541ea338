/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The restart file of an end-to-end copy: which operations are durable on the destination, and of
 * which copy they are. doc/restart-files.md describes the text.
 *
 * Its first line is an option, `-restart offset N`, and all others are comments, so that the file
 * can be used with -setup. Of a complete copy, all lines are comments.
 */
#ifndef XDD_NET_RESTART_FILE_H
#define XDD_NET_RESTART_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "xdd/base/err.h"
#include "xdd/base/sets.h"
#include "xdd/net/wire.h"

#define RESTART_VERSION 2	     /* version 1 has no ctime of the source; it is read as well */
#define RESTART_MAX_BYTES (8u << 20) /* of a file */
#define RESTART_TIME_SIZE 32

/* The ranges between and around these fit into a message. */
#define RESTART_MAX_RANGES (WIRE_MAX_RANGES - 1)

struct restart_record {
	unsigned version; /* of the text: 1 to RESTART_VERSION */

	/* the last session that wrote to the destination */
	uint8_t run[WIRE_SESSION_BYTES];
	char time[RESTART_TIME_SIZE]; /* of this record: "2026-11-22 21:58:26 UTC" */

	/* identity of the source: wire_plan */
	char source_host[256];
	char source_name[WIRE_MAX_NAME_BYTES];
	uint64_t source_size_bytes;
	int64_t source_mtime_ns;
	int64_t source_ctime_ns; /* 0: a device, or the record is of version 1 */
	uint64_t source_device, source_inode;
	uint64_t source_start_bytes;

	/* identity of the destination; birth: 0 where the file system does not keep it */
	char destination_host[256];
	char destination_name[WIRE_MAX_NAME_BYTES];
	uint64_t destination_size_bytes; /* now; WIRE_NO_SIZE: not a regular file */
	int64_t destination_mtime_ns;	 /* now; 0: the same */
	int64_t destination_birth_ns;
	uint64_t destination_device, destination_inode;
	uint64_t destination_start_bytes;

	/* the plan of both */
	uint64_t req_bytes;
	uint64_t bytes;
	uint64_t ops;
	uint64_t pattern; /* of the offsets of operations; 0: sequential */

	/* the durable part */
	bool complete;
	uint64_t offset_bytes;	/* N of the first line; of a complete copy: 0 */
	uint64_t durable_bytes; /* in the operations of `durable` */
	uint64_t end_bytes;	/* after the last durable byte of the copied extent */
	struct digest digest;	/* sum over the durable blocks: digest_add() */
	struct extents durable; /* operations; at most RESTART_MAX_RANGES ranges */
};

/* Set up an empty record. restart_record_free() frees its memory, not `r` itself. */
void restart_record_init(struct restart_record *r);
void restart_record_free(struct restart_record *r);

/* The text of a record, in memory that the caller frees. Returns 0 or -ENOMEM. Any thread. */
int restart_record_encode(const struct restart_record *r, char **text, size_t *size);

/*
 * Decode `size` bytes into the empty record `r`, and check everything that does not depend on the
 * copy: each line, its limits, the relations between them, and the checksum. Returns 0; -EINVAL
 * with a message in `why`, which names the line; or -ENOMEM. Any thread.
 */
int restart_record_decode(const char *text, size_t size, struct restart_record *r, struct err *why);

/*
 * Read the file `path` into the empty record `r`. Returns 0; -ENOENT when there is no file or an
 * empty one; -EINVAL as above; or another -errno, with a text in `why` in all cases. Any thread.
 */
int restart_record_read(const char *path, struct restart_record *r, struct err *why);

/*
 * Replace the file `path` by `r`, in one step that also survives a power failure: file.h.
 * Returns 0 or -errno. Any thread.
 */
int restart_record_write(const char *path, const struct restart_record *r);

/*
 * Compare the identity and plan of the copy in `old` with the copy `now`, whose
 * destination is as it is now. Returns true if `now` may continue it. Otherwise `why` names the
 * first difference, with both values. Any thread.
 */
bool restart_record_matches(const struct restart_record *old, const struct restart_record *now,
			    struct err *why);

/* The destination, a regular file, was not changed after `old`. Any thread. */
bool restart_record_unchanged(const struct restart_record *old, const struct restart_record *now);

#endif
