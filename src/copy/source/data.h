/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Files of the source and their contents, for data threads. Private to src/copy/source.
 */
#ifndef XDD_COPY_SOURCE_DATA_H
#define XDD_COPY_SOURCE_DATA_H

#include "copy/source/source.h"
#include "xdd/base/err.h"

/*
 * Times that prove that a file did not change while it was read. Called by data threads.
 */

/*
 * Before an open file is read: wait as long as fileage_wait_ns() says for `*ctime_ns`, which it
 * has. The time counts as waiting, and is added to d->settling_ns. Ends early once the source is
 * closing.
 *
 * Returns FILE_SAME, with `*ctime_ns` as it is now; or FILE_CHANGED or FILE_UNKNOWN, as
 * source_compare().
 */
enum file_state settle_wait(struct data_thread *d, int fd, const struct entry *e,
			    int64_t *ctime_ns);

/*
 * Files of the source, opened for reading: the file that the walk has found, and no other.
 */

/*
 * A directory that is held and borrowed: consecutive files are often in the same one. All zero at
 * first, except for the effective user of the process.
 */
struct held_dir {
	uid_t self;
	struct dirs *dirs;
	struct dir_node *node;
	int fd;
};

/*
 * Open the file of `e` with O_RDONLY and `flags`. Returns a descriptor, or -errno. -ESTALE: there
 * is another file now.
 */
int source_open(struct held_dir *held, const struct entry *e, int flags);
void source_let_go(struct held_dir *held);

enum file_state {
	FILE_SAME,    /* as the walk found it, or as `*ctime_ns` says */
	FILE_TOUCHED, /* the same, except for its ctime, now in `*ctime_ns` */
	FILE_CHANGED, /* other contents, or another file */
	FILE_UNKNOWN, /* errno says why */
};

/* Compare an open file with what the walk found. `*ctime_ns` is e->ctime_ns at first. */
enum file_state source_compare(int fd, const struct entry *e, int64_t *ctime_ns);

/*
 * Why a file is not copied of which `more` or fewer bytes were read than its size, while it is
 * FILE_SAME: the kernel makes the contents of such a file when it is read.
 */
int source_wrong_size(struct err *why, const struct entry *e, bool more);

/*
 * Reads of large files: at any offset, around the page cache with -s where the file system allows
 * it, and of devices that cannot be read at an offset.
 */

/* The most that direct reads add to a block in the buffer of a thread. */
#define READ_SPARE_BYTES (128u << 10)

/*
 * Small files, many in one message.
 */

/*
 * Large files, which several data threads read: their blocks, or digests of these.
 */

struct large {
	/* const while it is shared */
	struct entry *entry;
	int fd;
	uint64_t step_bytes;  /* that a thread takes at a time: a block, or several for digests */
	uint64_t align_bytes; /* of direct reads */
	bool stream;	      /* it cannot be read at an offset */

	/* guarded by the lock of the source */
	struct large *next;
	unsigned users; /* threads that work on it */
	bool shared;	/* in the list of open files */

	/* guarded by its lock */
	pthread_mutex_t lock;
	uint64_t at_bytes;	 /* the next byte to take */
	size_t range;		 /* of entry->ranges */
	bool sparse;		 /* holes are left out */
	uint64_t data_end_bytes; /* of the extent of data that at_bytes lies in */
	bool exhausted;
	bool dropped; /* the copy or a connection ended first: nothing more is sent of it */
	int64_t ctime_ns;
	struct err failed; /* the number is an exit status */

	/* atomic: reads go around the page cache; cleared where that is refused */
	_Atomic bool direct;
	/* atomic: what was sent */
	_Atomic uint64_t messages, bytes;
};

/*
 * Open the file of a want and do all of its work, with the help of other threads. Returns 0, or
 * -errno of the connection.
 */
int large_answer(struct data_thread *d, struct held_dir *held, struct entry *e);

/* Help with a file, whose user this thread is. Returns as above. */
int large_help(struct data_thread *d, struct large *f);

#endif
