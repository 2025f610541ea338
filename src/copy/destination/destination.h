/*
 * The destination of a copy: state that its threads share. Private to src/copy/destination.
 *
 * Threads: the main thread waits for the end; the receiving thread of the role (role.h) handles
 * offers (entries.c); data threads receive contents (receive.c), one for each data connection; the
 * thread of the commit flushes and renames.
 */
#ifndef COPY_DESTINATION_DESTINATION_H
#define COPY_DESTINATION_DESTINATION_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "copy/cpu_use.h"
#include "copy/destination/answers.h"
#include "copy/destination/commit.h"
#include "copy/destination/items.h"
#include "copy/destination/root.h"
#include "copy/link/channel.h"
#include "copy/report/stamps.h"
#include "copy/role.h"
#include "copy/tree/dirs.h"
#include "copy/tree/meta.h"
#include "xdd/sys/clock.h"

struct entries; /* private to entries.c */
struct links;	/* private to links.c */
struct inplace; /* private to inplace.c */

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
 * The source breaks the rules with `what`, which becomes `why` (WIRE_MAX_TEXT_BYTES). Returns
 * -EBADMSG. Any thread.
 */
int dest_violation(char *why, const char *what);

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
