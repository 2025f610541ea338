/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The state of a commit, for commit.c, commit_session.c and stale.c only.
 */
#ifndef XDD_COPY_DESTINATION_COMMIT_STATE_H
#define XDD_COPY_DESTINATION_COMMIT_STATE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "copy/destination/commit.h"
#include "copy/destination/journal.h"
#include "xdd/base/err.h"

struct commit;

#define COMMIT_MAX_FS 64  /* file systems of one tree; more share the last number */
#define COMMIT_PLACES 256 /* directories that are remembered */

/* Up to so many files are flushed one by one, and stay open until then. */
#define COMMIT_FEW 4

/* A batch is large with so many files, or bytes; old after this time. */
#define COMMIT_BATCH_FILES 8192
#define COMMIT_BATCH_FILES_EACH 128 /* where files stay open */
#define COMMIT_BATCH_BYTES (1ull << 30)
#define COMMIT_OLD_NS 500000000ull

/* Those that put files wait while so many are pending. */
#define COMMIT_ROOM_FILES 16384
#define COMMIT_ROOM_FILES_EACH 256

/* How long the thread collects at a time, and how often before it sleeps. */
#define COMMIT_NAP_NS 10000000ull
#define COMMIT_NAPS 50

/* Files in order. */
struct commit_list {
	struct commit_file *head, *last;
	size_t n;
	uint64_t bytes;
};

/* A file system of the tree. */
struct commit_fs {
	/* const once it is in the list */
	dev_t dev;
	int fd; /* of a directory, opened before anything was written; -1: too many */
	enum commit_flush flush;

	/* atomic: flushes that failed; what was begun before a failure may have lost data */
	_Atomic uint32_t losses;

	/* of the commit thread */
	struct commit_list batch;   /* to be flushed now */
	struct commit_list renamed; /* names that the next flush makes durable */
};

/* How the permissions of files compare with those that they are created with. */
enum commit_mode {
	COMMIT_MODE_UNKNOWN,
	COMMIT_MODE_KEPT,
	COMMIT_MODE_CHANGED, /* by the mask of the process, or an ACL */
};

/* A directory that files are created in. */
struct commit_place {
	struct dir_node *node; /* held, so that no other gets its address; NULL: free */
	uint32_t fs;
	enum commit_mode state; /* of files that are created in it with `mode` */
	mode_t mode;
};

/* A file that is being written, whose durable ranges are recorded: -R. Guarded by progress_lock. */
struct commit_progress {
	struct commit_progress *next, **at; /* in commit.progress */
	struct commit_file *file;
	struct extents fresh; /* written since the last record */
	uint64_t round;	      /* of the last record */
	bool flushing;	      /* the commit thread uses file->fd */
	bool listed;	      /* the journal has the file */
	int err;	      /* a flush failed; the kernel reports that once */
};

/* A dead session whose files are removed. */
struct commit_dead {
	uint64_t session;
	struct journal_file journal; /* locked, so that no other copy looks for them too */
};

struct commit {
	/* const after commit_open() */
	struct dirs *dirs;
	commit_done *done;
	void *arg;
	const struct copy_job *job;
	uint64_t session;     /* in names; of the session that is continued, if one is */
	uint64_t own_session; /* of the job */
	bool marked;	      /* announced with a file of its own. Of the thread of the entries */
	uint64_t tree_id;

	atomic_bool changed_dirs; /* see commit_changed_dir() */
	_Atomic uint64_t numbers; /* of temporary names given away */
	_Atomic bool left;	  /* a temporary file was kept: so is the journal */

	/* guarded by journal_lock, which is held across appends: that is its purpose */
	pthread_mutex_t journal_lock;
	struct journal_file journal;
	bool journal_tried;
	bool renamed_root;

	/* guarded by place_lock */
	pthread_mutex_t place_lock;
	struct commit_place places[COMMIT_PLACES];
	_Atomic uint32_t n_fs; /* entries below are const */
	struct commit_fs fs[COMMIT_MAX_FS];

	/* guarded by lock */
	pthread_mutex_t lock;
	pthread_cond_t changed; /* for the thread */
	pthread_cond_t room;	/* for those that wait */
	struct commit_list pending;
	uint64_t put_files, done_files;
	uint64_t hurry_files; /* put_files when hurry was asked for last */
	bool asleep;	      /* the thread waits without limit */
	bool quit;
	bool each; /* files stay open until they are flushed */

	/* guarded by progress_lock */
	pthread_mutex_t progress_lock;
	pthread_cond_t flushed;
	struct commit_progress *progress;
	_Atomic size_t n_progress;

	/* of the thread of the entries: files of the continued session, NULL: there is none */
	struct commit_kept *kept;
	uint64_t kept_numbers; /* names up to this one are not of this run */
	struct commit_dead *dead;
	size_t n_dead;

	/* of the commit thread, until it is joined */
	pthread_t thread;
	bool started;
	uint64_t storage_ns;
	uint64_t touched_ns, recorded_ns;
	uint64_t record_round;
};

/* ---- commit.c: directories and their file systems ---- */

/*
 * The number of the file system of directory `node`, whose descriptor is `dir_fd`. With `temporary`
 * the journal knows that it may have temporary files. Returns it or -errno. Any thread.
 */
int commit_place(struct commit *c, struct dir_node *node, int dir_fd, bool temporary);

void *commit_thread(void *arg);

/* ---- commit_session.c ---- */

/* The number of the file system of a directory, which gets one, or -errno. Any thread. */
int commit_fs_of(struct commit *c, int dir_fd);

/* Do what is due each second. The commit thread. */
void commit_tick(struct commit *c);
/* How long that thread may sleep. With the lock. */
uint64_t commit_sleep_ns(const struct commit *c);

/* Begin to record what is written to `f`, of which the journal may know already. 0 or -ENOMEM. */
int commit_track(struct commit *c, struct commit_file *f, bool listed);

/*
 * End that for a file with f->progress; f->kept is true if the journal has the file. With `keep`
 * what was written is flushed and recorded first. Returns 0, or -errno of a flush that failed, now
 * or before. Any thread that owns `f`.
 */
int commit_untrack(struct commit *c, struct commit_file *f, bool keep);

/* The journal need not keep a file with f->kept any more: it has its name, or was removed. */
void commit_gone(struct commit *c, struct commit_file *f);

/* Create the own journal, if it was not yet. Returns 0 or -errno. Any thread. */
int commit_journal(struct commit *c);
/* Append to it. Returns 0 or -errno. Any thread. */
int commit_record(struct commit *c, const struct journal_record *r);
void commit_flush_journal(struct commit *c);

/*
 * Remove `name` from a directory whose times stay as they are: they may be the source's by
 * now. Any thread.
 */
void commit_unlink_quietly(int dir_fd, const char *name);

/* ---- stale.c ---- */

/* Forget the files; with `remove`, remove those that were not claimed. */
void commit_kept_free(struct commit *c, bool remove);

/*
 * Look for dead sessions in the root; continue one, with -R, and remove what the others left.
 * Returns 0 or -errno; `why` becomes a warning, or remains.
 */
int commit_sweep(struct commit *c, struct err *why);

/* Close the journals of dead sessions; commit_entered_all() has removed its own. */
void stale_leave(struct commit *c);

#endif
