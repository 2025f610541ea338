/*
 * The journal of a session of copying as bytes: a line with the version, and records that are
 * appended, each with a checksum. doc/restart-files.md describes it. Callers: journal_file.c,
 * stale.c and commit_resume.c.
 *
 * Pure functions; any thread.
 */
#ifndef COPY_DESTINATION_JOURNAL_H
#define COPY_DESTINATION_JOURNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "xdd/base/sets.h"

/* The first bytes of a file; the last one but the newline is the version. */
#define JOURNAL_MAGIC "xddcp journal 2\n"
#define JOURNAL_MAGIC_BYTES 16
#define JOURNAL_BOOT_BYTES 16
#define JOURNAL_HOST_SIZE 65	     /* with its NUL */
#define JOURNAL_MAX_PATH_BYTES 16384 /* with its NUL */
#define JOURNAL_MAX_RANGES 512	     /* of a record */
#define JOURNAL_MAX_RECORD_BYTES (12 + 48 + JOURNAL_MAX_PATH_BYTES)

enum journal_type {
	JOURNAL_HEAD = 1, /* the first record, and no other */
	JOURNAL_ROOT,	  /* how the name of the destination was understood */
	JOURNAL_DIR,	  /* a directory that may have temporary files */
	JOURNAL_FILE,	  /* a file whose durable ranges follow */
	JOURNAL_RANGES,	  /* of such a file */
	JOURNAL_GONE,	  /* such a file has its name, or was removed */
};

/* A record; each type has the fields that its comment lists. Pointers into the bytes. */
struct journal_record {
	enum journal_type type;

	/* HEAD */
	uint64_t session;
	uint64_t tree_id;
	bool resumable; /* -R */
	uint8_t boot[JOURNAL_BOOT_BYTES];
	char host[JOURNAL_HOST_SIZE];

	bool renamed;	     /* ROOT */
	const char *path;    /* DIR, FILE: below the root; DIR: "" is the root */
	uint64_t number;     /* FILE, RANGES, GONE: of the temporary name */
	uint64_t size_bytes; /* FILE: of the source */
	int64_t mtime_ns;    /* FILE: of the source */
	uint64_t version;    /* FILE: of the source (tree/identity.h) */
	uint64_t inode; /* FILE: of the temporary file. Its device may change with each mount */

	/* RANGES: bytes that are durable; ascending, disjoint. Encoded from `ranges`. */
	const struct extent *ranges;
	const uint8_t *range_bytes; /* decoded: journal_range() */
	size_t n_ranges;
};

/* Bytes used; 0: it does not fit into `room`, or is not valid. */
size_t journal_encode(const struct journal_record *r, uint8_t *out, size_t room);

/*
 * Decode the record at `data`. Returns 1 with the bytes of it in `*used`; 0: `size` bytes are the
 * beginning of a record, or none; -EBADMSG: they are not.
 */
int journal_decode(const uint8_t *data, size_t size, struct journal_record *r, size_t *used);
struct extent journal_range(const struct journal_record *r, size_t i);

/* True for a path of names that are not empty, "." or "..", without a "/" at either end; or "". */
bool journal_path_is_clean(const char *path);

#endif
