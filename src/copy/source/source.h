/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The source of a copy, private to this directory: its threads and what they share.
 *
 *	walk		offers entries, waits while the window is full		offer.c
 *	data threads	take wanted files and blocks from one queue		data.c, large.c
 *	main		waits for the end					source.c
 *
 * The receiving thread of the role (role.h) puts wanted files into the queue, and takes entries
 * that have a result out of the books (offer.c). It never waits for another thread's sending.
 */
#ifndef XDD_COPY_SOURCE_SOURCE_H
#define XDD_COPY_SOURCE_SOURCE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "copy/report/report.h"
#include "copy/role.h"
#include "copy/tree/walk.h"
#include "xdd/base/err.h"
#include "xdd/base/sets.h"

struct data_thread;

struct large;
struct source;

/* The state of a file's wants. */
enum entry_state {
	ENTRY_IDLE,   /* it has no want without an answer */
	ENTRY_QUEUED, /* in the queue of work */
	ENTRY_TAKEN,  /* a data thread works on it */
};

/* An entry that was offered. */
struct entry {
	struct idmap_link link; /* in the books: its id is const, the rest guarded by the lock */

	/* const once it was offered */
	struct dirs *dirs;
	struct dir_node *dir; /* FILE: a reference; else NULL */
	uint64_t size_bytes;  /* to copy */
	uint64_t file_bytes;  /* of the file, as the walk found it */
	uint64_t dev, ino;
	int64_t mtime_ns;
	uint32_t type; /* S_IFMT of the mode */
	uint32_t uid;
	uint32_t encoded_bytes; /* in the offer */
	uint8_t kind;		/* enum copy_kind */
	uint8_t flags;		/* COPY_SPARSE ... */

	/* guarded by the lock of the source */
	bool counted;	       /* in the window */
	bool listed;	       /* in the books */
	uint8_t state;	       /* enum entry_state */
	uint8_t how;	       /* of the want that is worked on */
	uint8_t asked;	       /* all hows that were wanted, as bits 1 << how */
	struct entry *next;    /* in the queue, or in a batch */
	struct extent *ranges; /* of the want; NULL: all */
	size_t n_ranges;
	bool partly; /* the destination keeps a part, by digests: the file must stay as it is */

	/* of the walk, then of the thread that has sent digests of a part */
	int64_t ctime_ns;

	/* atomic: the destination has lost it; set once */
	_Atomic bool lost;

	char name[]; /* in `dir` */
};

/* Free it, and release its directory. Accepts NULL. */
void entry_free(struct entry *e);

/* Append a wanted file to the queue. With the lock. */
void work_put(struct source *s, struct entry *e);

/*
 * The last message of the answer is about to be sent: the caller touches the entry no more, and the
 * destination may want it again, or send its result. With the lock.
 */
void work_answered(struct entry *e);

/* Free what is in the queue, when no thread is left. */
void work_clear(struct source *s);

/* One writer each, its thread; any reader. */
struct data_counts {
	_Atomic uint64_t files, bytes, moved_bytes;
	_Atomic uint64_t storage_ns, network_ns, waiting_ns, checking_ns;
};

static inline void count_add(_Atomic uint64_t *n, uint64_t more)
{
	atomic_store_explicit(n, atomic_load_explicit(n, memory_order_relaxed) + more,
			      memory_order_relaxed);
}

/* Owned by its thread, except for the counts. */
struct data_thread {
	struct source *s;
	struct link *link;
	unsigned number;
	uint8_t *buf; /* aligned; for a block or a bundle */
	struct data_counts counts;
	struct stamp stamp; /* of the message that it is about to send */
	struct cpu_use cpu;
	uint64_t settling_ns; /* that it has waited for young files */
	pthread_t thread;
	bool started;
};

struct source {
	/* const while there are threads */
	struct copy_job *job;
	const struct copy_settings *settings;
	struct role *role;
	struct walk *walk;
	struct data_thread *data;
	unsigned n_data;
	struct stamps *stamps; /* NULL: without -v. Each data thread writes its part */

	pthread_mutex_t lock;
	pthread_cond_t changed; /* room in the window, or the end: walk, main */
	pthread_cond_t work;	/* data threads */

	/* guarded by lock */
	struct idmap books;    /* entries that were offered and have no result yet */
	size_t window_entries; /* of these: in the window */
	uint64_t window_bytes;
	struct entry *queue, **queue_end; /* wanted files */
	uint64_t queued_small_bytes;	  /* of records of bundles */
	size_t queued_ranges;
	struct large *open_files;	 /* a list: large files with blocks to take */
	unsigned busy;			 /* data threads that have work */
	bool walk_over;			 /* END was offered, or the walk has ended early */
	bool waits_for_room;		 /* the walk does */
	unsigned running;		 /* threads that have not ended */
	uint64_t done_files, done_bytes; /* FILEs with RESULT DONE */

	/* of the main thread */
	pthread_t walker;
	bool has_walker;
	struct err no_walk; /* of a server: its sources cannot be walked; it tells so in its run */
	bool left_behind;   /* a thread did not end in time */

	/* atomic: no thread takes more work or sends. Set with the lock */
	_Atomic bool closing;

	/* atomic: one writer, the walk */
	_Atomic uint64_t offered_files, offered_bytes, offered_dirs, offered_links;

	struct cpu_sums cpu; /* of the data threads */

	/* -o: held across each read */
	pthread_mutex_t read_lock;
};

/* Add a read to the time stamp of the message that a thread is about to send. */
static inline void stamp_storage(struct data_thread *d, uint64_t begin_ns, uint64_t end_ns)
{
	if (!d->stamp.storage_begin_ns)
		d->stamp.storage_begin_ns = begin_ns;
	d->stamp.storage_end_ns = end_ns;
}

/* Record a message that was sent since `begin_ns`, with the reads before it. */
void stamp_sent(struct data_thread *d, uint64_t begin_ns, uint64_t offset_bytes, uint64_t bytes);

/* The receiving thread: WANT and RESULT. As role_ops.receive. */
int source_receive(void *source, const struct wire_header *h, const uint8_t *body, struct err *why);

void *offer_thread(void *source);
void *data_thread(void *data);
/* The last call of each thread. One that ends late finds `closing` and touches nothing else. */
void source_thread_ends(struct source *s);

/* Name a file that has failed, to both sides. Any data thread. */
void source_entry_failed(struct source *s, const struct entry *e, const char *text);

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
