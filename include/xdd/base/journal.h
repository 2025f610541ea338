/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Journals: files to which records are appended while work is going on, so that a later process
 * can continue it. The caller has the format of the records, each of which has a checksum.
 *
 * All journals recover in one way. A process that dies leaves whole records, and perhaps the
 * beginning of one more: it is not read, and cut off before others are appended. A whole record
 * with a wrong checksum is damage. What was appended survives the process; what was flushed, a
 * power failure. The lock on a journal ends with its process, in whatever way that ends.
 *
 * A journal belongs to one thread at a time. State that is replaced as a whole, such as a restart
 * file, is a newfile ("xdd/base/file.h").
 */
#ifndef XDD_BASE_JOURNAL_H
#define XDD_BASE_JOURNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A journal that is written. `fd` was opened with O_APPEND. */
struct journal {
	int fd;	       /* -1: none */
	uint64_t size; /* bytes of whole records */
	bool broken;   /* an append or a flush failed, and nothing is appended any more */
};

/*
 * Lock the file of a journal, without waiting. `name`, below `dir_fd`, must still lead to it, with
 * `flags` as of fstatat(2); NULL: it has no name yet. Returns 0; -EBUSY: another process has the
 * lock, or has replaced or removed the file; -ENOLCK: the file system has no locks.
 */
int journal_lock(int fd, int dir_fd, const char *name, int flags);

/* Append whole records. An append that fails leaves no part. Returns 0 or -errno. */
int journal_append(struct journal *j, const void *data, size_t size);

/* Make durable what was appended. Returns 0 or -errno. */
int journal_flush(struct journal *j);

/* Cut off what follows the whole records, up to `end`, to append others. Returns 0 or -errno. */
int journal_continue(struct journal *j, uint64_t end);

/* Close it, which releases the lock. */
void journal_close(struct journal *j);

/*
 * Decode the record at `data`. Returns 1 with its bytes in `*used`; 0: `size` bytes are the
 * beginning of a record, or none; -EBADMSG: they are damaged; or another -errno.
 */
typedef int journal_decode_fn(void *arg, const uint8_t *data, size_t size, size_t *used);

#define JOURNAL_MAX_BYTES (1ull << 30) /* of a journal that is read */

/* A journal that is read; it takes as much memory as its longest record. */
struct journal_reader {
	int fd;
	uint8_t *buf;
	size_t at, n, room;
	uint64_t end; /* after the last whole record */
};

/*
 * Read the records from `begin` on. journal_read_next() returns 1 with the next record decoded, in
 * memory that is valid until the next call; 0 at the end, which may be torn; -EBADMSG; -EFBIG
 * beyond the limit; or another -errno.
 */
void journal_read(struct journal_reader *r, int fd, uint64_t begin);
int journal_read_next(struct journal_reader *r, journal_decode_fn *decode, void *arg);
void journal_read_end(struct journal_reader *r);

#endif
