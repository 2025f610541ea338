/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The destination of a copy: state that its threads share. Private to src/copy/destination.
 *
 * Threads: the main thread waits for the end; the receiving thread of the role (role.h) handles
 * offers (entries.c); data threads receive contents (receive.c), one for each data connection; the
 * thread of the commit flushes and renames.
 */
#ifndef XDD_COPY_DESTINATION_DESTINATION_H
#define XDD_COPY_DESTINATION_DESTINATION_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "copy/destination/commit.h"
#include "copy/destination/items.h"
#include "copy/link/channel.h"
#include "copy/message/message.h"
#include "copy/process.h"
#include "copy/report/report.h"
#include "copy/role.h"
#include "copy/tree/dirs.h"
#include "copy/tree/meta.h"
#include "xdd/base/err.h"
#include "xdd/io/guard.h"
#include "xdd/sys/clock.h"

/*
 * Messages of the destination about entries: WANT and RESULT, many of them in one. Private to
 * src/copy/destination.
 */

#define ANSWERS_ROOM (64u << 10)

struct answers {
	struct role *role;
	struct copy_report *report;

	pthread_mutex_t lock; /* held while results are sent, so that they stay in order */
	/* guarded by lock */
	uint8_t results[ANSWERS_ROOM];
	size_t n_results_bytes;

	/* receiving thread */
	uint8_t wants[ANSWERS_ROOM];
	size_t n_wants_bytes;
};

/* Any thread. A channel that fails ends the copy (role_send()). */
void answers_flush(struct answers *a);

/* Receiving thread, but answers_want_now() by any thread: alone in a message, at once. */
void answers_want(struct answers *a, const struct copy_want *w);
void answers_flush_wants(struct answers *a);
void answers_want_now(struct answers *a, const struct copy_want *w);

/*
 * The name of the destination that the user gave: a directory into which files go, the new name of
 * the only source, or a device. Private to src/copy/destination.
 */

struct root {
	int fd; /* the directory below which all lies; -1: none, see `device` and `missing` */
	/*
	 * The name of the only source there, where that is not its own: owned. NULL: names are
	 * the source's.
	 */
	char *name;
	bool is_entry;	 /* the only source, a directory, is the root itself */
	bool renamed;	 /* the same, and not because the source is given as its contents */
	bool fresh;	 /* the root was made, and is empty */
	mode_t old_mode; /* before its owner got the right to write into it; META_KEEP_MODE */
	bool missing;	 /* -k, -n: it does not exist */
	int device;	 /* a device is written in place: its descriptor; -1: none */
	int claim;	 /* the exclusive claim on it; -1: none */
	bool block;	 /* a block device */
	bool guarded;	 /* -i: `loops` is read */
	struct guard_loops loops;
};

/* The identity of a copy in its journals: of host, sources and destination. */
uint64_t root_tree_id(const struct copy_job *job);

/*
 * Find out what the name of the destination means for a copy whose first entry is `first` (NULL:
 * there is none), and open it. Creates its last component where that may be necessary, except with
 * -k and -n. Returns 0, or an exit status with a text in `why`. `*r` is closed by root_close().
 */
int root_open(struct root *r, const struct copy_job *job, const struct copy_entry *first,
	      struct err *why);
/* Safe on one that was never opened, but initialized. */
void root_close(struct root *r);
void root_init(struct root *r);

/*
 * Check an open file that is written in place: a regular one, and not in use as a device. Returns 0
 * or -errno, with the reason in `why`, which is empty where errno is the reason.
 */
int root_guard(const struct root *r, int fd, struct err *why);

struct entries; /* private to entries.c */
struct links;	/* private to links.c */
struct inplace; /* private to existing.c */

/* Sums over threads; struct copy_counts has their meaning. */
struct dest_tally {
	_Atomic uint64_t done_files, done_bytes, skipped_files, skipped_bytes, dirs, links;
	_Atomic uint64_t moved_bytes, storage_ns, network_ns, waiting_ns, checking_ns, flush_ns;
	_Atomic uint64_t resumed_bytes, owners_not_set;
};

struct destination {
	/* const once the threads run */
	struct copy_job *job;
	const struct copy_settings *settings;
	struct role *role;
	uint64_t host;	 /* identity_host() */
	mode_t mask;	 /* newfile_mask() */
	bool reads_only; /* -k, -n: nothing is written */
	bool announced;	 /* commit_announce() was called. Of the receiving thread */
	struct root root;
	struct dirs *dirs;	    /* NULL: the destination is a device */
	struct commit *commit;	    /* the same */
	struct meta_owners *owners; /* NULL: without -P. Changed by the receiving thread */
	struct entries *entries;
	struct links *links;
	struct inplace *inplace; /* NULL: without -i */
	struct stamps *stamps;	 /* NULL: without -v. Each data thread writes its part */

	pthread_mutex_t receiving; /* held while the receiving thread handles a message */
	bool ended;		   /* guarded by it: nothing is handled any more */

	struct answers answers;
	struct items items;
	struct dest_tally tally;
	struct cpu_sums cpu;	/* of the data threads, or of the receiving thread */
	struct cpu_use channel; /* of the receiving thread, where data comes through the channel */

	/* atomic */
	_Atomic bool all_offered; /* COPY_END has come */
	_Atomic bool finishing; /* role_wait_finish() has returned: all is done, or never will be */
	_Atomic uint64_t busy;	/* files in the commit, and threads that handle messages */
};

static inline void dest_tally_add(_Atomic uint64_t *to, uint64_t n)
{
	atomic_fetch_add_explicit(to, n, memory_order_relaxed);
}

/* True once nothing new is begun. */
static inline bool dest_stopped(const struct destination *d)
{
	return role_stopped(d->job);
}

/*
 * The first entry has come: open the root and begin the commit. A refusal ends the copy. Returns 0
 * or -ENOMEM. Receiving thread.
 */
int begin_root(struct destination *d, const struct copy_entry *first);

/*
 * The path of an entry relative to the destination, into `buf` (COPY_MAX_PATH_BYTES). `name` NULL:
 * the directory. A device has its own path, whatever the name of the entry.
 */
const char *dest_path(struct destination *d, struct dir_node *dir, const char *name, char *buf);

/*
 * Name a failure of an entry: "cannot `what` (strerror)"; or end the copy, where no other file can
 * be written either: a full or broken file system. -ECANCELED has been named. Any thread.
 */
void dest_failed(struct destination *d, uint64_t id, struct dir_node *dir, const char *name,
		 const char *what, int err);

#define DEST_NO_FILE "a symbolic link in the place of a file"

/*
 * The source breaks the rules with `what`, which becomes `why`. Returns
 * -EBADMSG. Any thread.
 */
int dest_violation(struct err *why, const char *what);

/*
 * Results are sent once nothing is busy that has more of them, and the copy may be over then.
 * dest_idle() ends dest_busy(). Any thread.
 */
void dest_busy(struct destination *d);
void dest_idle(struct destination *d);

/* Name a difference that -k has found. Any thread. */
void dest_differs(struct destination *d, uint64_t id, struct dir_node *dir, const char *name,
		  const char *fmt, ...) __attribute__((format(printf, 5, 6)));

/* A failure in other words. */
void dest_failed_text(struct destination *d, uint64_t id, struct dir_node *dir, const char *name,
		      const char *text);

/*
 * Name each attribute of an entry that could not be set; the entry itself is there. `name` NULL:
 * the directory. Any thread.
 */
void dest_attributes(struct destination *d, uint64_t id, struct dir_node *dir, const char *name,
		     const struct meta_result *result);

/* The end of an entry: its RESULT, which is sent by answers_flush() at the latest. */
void dest_result(struct destination *d, uint64_t id, uint32_t cost_bytes,
		 enum copy_outcome outcome);

#endif
