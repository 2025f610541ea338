/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Journals of sessions of copying: as bytes, and in the root of a copy. Callers: commit.c,
 * commit_session.c, stale.c.
 */
#ifndef XDD_COPY_DESTINATION_JOURNAL_H
#define XDD_COPY_DESTINATION_JOURNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#include "copy/destination/commit.h"
#include "xdd/base/journal.h"
#include "xdd/base/sets.h"

/*
 * The journal of a session of copying as bytes: a line with the version, and records that are
 * appended, each with a checksum. doc/restart-files.md describes it. Callers: journal.c,
 * stale.c and commit_session.c.
 *
 * Pure functions; any thread.
 */

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
	uint64_t version;    /* FILE: of the source (tree/dirs.h) */
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

/*
 * Journals in the root of a copy ("xdd/base/journal.h"): locks, writing and reading. Callers:
 * commit.c, stale.c, commit_session.c.
 */

/* A live session tells others so this often, where locks alone do not. */
#define JOURNAL_TOUCH_NS 10000000000ull

/* The number in the temporary name of a journal that has no head yet; files have others. */
#define JOURNAL_START_NUMBER 0

/* A journal that is written. */
struct journal_file {
	struct journal file;
	bool touch; /* locks do not reach all that may look at it: commit.c has it touched */

	/* of one that was opened as dead */
	struct timespec used;	/* when its session wrote to it, or touched it, last */
	struct timespec looked; /* the time that the look has given it; 0: none */
};

/* Fill boot and host of a head. Any thread. */
void journal_identify(struct journal_record *head);

/*
 * Create the journal of a session in `root_fd`, locked, with this head. Its name appears with the
 * whole head in it, and with the lock. Returns 0 or -errno.
 */
int journal_create(struct journal_file *j, int root_fd, const struct journal_record *head);

/*
 * Open the journal `name` of a session that is dead, and lock it. -EBUSY: the session lives, or may
 * live; -EPERM: it is of another user, or of a kind that this program does not create; or another
 * -errno.
 */
int journal_open_dead(struct journal_file *j, int root_fd, const char *name);

/*
 * Close such a journal, which is not continued: it is as old as before. Otherwise a look would
 * count as a sign of life, and the next one would find it alive.
 */
void journal_leave(struct journal_file *j);

/* Have others see that the session lives. */
void journal_touch(const struct journal_file *j);

/*
 * Read a journal from its beginning. records_read() returns 0; -EPROTONOSUPPORT: it is of a later
 * version; -EBADMSG: it is none; or another -errno. records_next() as journal_read_next(), with a
 * record that is valid until the next call.
 */
struct records {
	struct journal_reader in;
	struct journal_record *record; /* the next one */
	bool first;
};
int records_read(struct records *r, int fd);
int records_next(struct records *r, struct journal_record *rec);
void records_end(struct records *r);

#endif
