/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Complete files get their names: temporary names, flushes, renames, and what -R keeps.
 *
 * A file is written under a temporary name in its directory, ".xddcp-SESSION-N.part" (SESSION: 16
 * hexadecimal digits, N a number). A session holds a lock on the journal ".xddcp-SESSION.journal"
 * in the destination directory while it lives, so others can tell its files from those that a
 * killed one has left. Complete files are collected; a thread makes a batch durable, renames it,
 * and has results sent. There are two policies of durability: all together by syncfs(2), or each
 * file by fsync(2), for few files and where syncfs(2) cannot be relied on. A file system in memory
 * needs neither: its files get their names at once, from the thread that has written them.
 */
#ifndef XDD_COPY_DESTINATION_COMMIT_H
#define XDD_COPY_DESTINATION_COMMIT_H

#include <stdbool.h>
#include <sys/stat.h>

#include "copy/role.h"
#include "copy/tree/dirs.h"
#include "xdd/base/err.h"
#include "xdd/base/sets.h"

struct commit;
struct commit_progress;

#define COPY_TEMPORARY_PREFIX ".xddcp-"
#define COPY_TEMPORARY_SIZE 64

/* Kinds of names in the destination. */
enum commit_name {
	COMMIT_NO_NAME,	       /* not of this program */
	COMMIT_TEMPORARY_NAME, /* ".xddcp-SESSION-N.part" */
	COMMIT_JOURNAL_NAME,   /* ".xddcp-SESSION.journal" */
};

/* Write a name. Any thread; `name` has COPY_TEMPORARY_SIZE bytes. */
void commit_temporary_name(uint64_t session, uint64_t number, char *name);
void commit_journal_name(uint64_t session, char *name);
/* The opposite; `number` of a temporary name only. Any thread. */
enum commit_name commit_parse_name(const char *name, uint64_t *session, uint64_t *number);

/* A file that is being written, or complete. What the caller does not set is zero. */
struct commit_file {
	struct copy_entry *entry; /* owned */
	struct dir_node *dir;	  /* a reference, owned */
	uint64_t number;	  /* of its temporary name; 0: in place, there is none */
	int fd;			  /* -1: none; closed by the commit */
	bool unnamed;		  /* it has no name before its final one */
	mode_t mode;		  /* permissions that it gets; with -P the entry's */
	bool has_mode;		  /* it was created with them */
	bool kept;		  /* in the journal: -R */

	/* of the commit; not for others */
	struct commit_file *next;
	struct commit_progress *progress;
	uint32_t fs;
	uint32_t losses;
	int err;
	const char *what;
};

/*
 * Called by the commit thread for each file of a batch, or by commit_put() for one of a file system
 * in memory: entries that are durable under their names, or
 * failed (`err` 0 or -errno, with `what`: "rename", "flush", "close"; the temporary file is then
 * removed). `f` belongs to the caller of this module again, who frees it with what it owns.
 */
typedef void commit_done(void *arg, struct commit_file *f, int err, const char *what);

/*
 * Begin: remove or (with -R) adopt what dead sessions left in the root of `dirs`, start the thread.
 * The job is borrowed until commit_close(). `tree_id` identifies the copy for -R: a hash of host
 * and sources; the latest journal with the same one is continued. Without -R it is removed. Another
 * copy that can be resumed is left alone for 14 days. The own journal is made, and locked, with the
 * first temporary file; with -R at once.
 * With -k and -n nothing is written at all. Returns 0, with `why` empty or a warning; or -errno
 * with a text in `why`.
 */
int commit_open(struct commit **c, const struct copy_job *job, struct dirs *dirs, uint64_t tree_id,
		commit_done *done, void *arg, struct err *why);

/*
 * How the name of the destination was understood, for a later copy with the same `tree_id`: with
 * `renamed`, the root of `dirs` is the new name of the only source, which did not exist; it was not
 * a directory into which sources are copied. The journal is then made at once. Called after
 * commit_open(), before the first file.
 */
void commit_note_root(struct commit *c, bool renamed);

/*
 * Once: have the file commit_journal_name() of the session of the job in the root before anything
 * else is made there: by it, the source recognizes a destination that lies in the tree that it
 * walks. The thread of the entries.
 */
void commit_announce(struct commit *c);

/*
 * True if `root_fd`, an existing directory, has the journal of a dead session with this `tree_id`
 * whose root was the new name of the source: the next copy continues in it. Before commit_open().
 */
bool commit_root_was_renamed(int root_fd, uint64_t tree_id);

/*
 * The copy enters a directory that existed: remove the temporary files of dead sessions in it.
 * commit_open() has removed those that their journals name; but a power failure may have taken
 * records. commit_entered_all(): the last one was entered, and the journals can be removed. The
 * thread of the entries; both accept NULL.
 */
void commit_look(struct commit *c, struct dir_node *dir);
void commit_entered_all(struct commit *c);

/*
 * The journal of the continued copy has a part of this file: same path, and size, mtime and
 * version of the source. Opens it: `f->fd` and `f->number` are set, `durable` has its bytes.
 * Returns 1; 0: there is none; or -errno. The caller is the thread of the entries.
 */
int commit_resume(struct commit *c, struct commit_file *f, struct extents *durable);

/*
 * Of such a file only these bytes are right: the journal forgets the others. The owner of the file,
 * before more is written to it. Returns 0 or -errno.
 */
int commit_proven(struct commit *c, struct commit_file *f, const struct extents *proven);

/* Create the temporary file of `f`: f->fd, f->number. Returns 0 or -errno. Any thread. */
int commit_create(struct commit *c, struct commit_file *f);

/*
 * As commit_create(), for a link, which the caller makes under `name`: f->number, and f->fd is -1.
 * Any thread.
 */
int commit_reserve(struct commit *c, struct commit_file *f, char name[COPY_TEMPORARY_SIZE]);

/*
 * -R: bytes of a large file that were written; the commit thread flushes the file from time to time
 * (each second) and records them. Any thread; `f` until commit_put() or commit_drop().
 */
int commit_wrote(struct commit *c, struct commit_file *f, uint64_t begin, uint64_t end);

/*
 * A complete file, with its attributes set: the commit owns it until `done`, which frees it. Waits
 * while too many are pending. Any thread. Of what is there already under its final name `number` is
 * 0: a file in place (its `fd` is flushed), a link or a directory (`fd` is -1). `done` is then
 * called once it is durable. May be called by `done`, and does not wait then.
 */
void commit_put(struct commit *c, struct commit_file *f);

/*
 * Close one that is not complete, and remove its temporary file; with -R and `keep`, leave that and
 * record what it has. `f` remains the caller's, who frees it. Any thread.
 */
void commit_drop(struct commit *c, struct commit_file *f, bool keep);

/*
 * A directory was made, or has new attributes, which commit_close() makes durable. Any thread;
 * accepts NULL.
 */
void commit_changed_dir(struct commit *c);

/* Have all that was put until now be committed soon. */
void commit_hurry(struct commit *c);

/*
 * End: drain, end the thread, remove the journal. It stays of a copy that was interrupted with -R,
 * or into a new name, and where commit_drop() has left a file. Accepts NULL. Time of flushes and
 * renames is added to `*storage_ns`.
 */
void commit_close(struct commit *c, bool interrupted, uint64_t *storage_ns);

/*
 * Kinds of file systems, by the way in which files in them become durable, and files without
 * names. Callers: commit.c, commit_session.c, destination.c, journal.c.
 */

enum commit_flush {
	COMMIT_FLUSH_NONE, /* it is in memory only: nothing is flushed, or collected */
	COMMIT_FLUSH_ALL,  /* syncfs(2) makes all of it durable, names too, and reports errors */
	COMMIT_FLUSH_EACH, /* each file and directory needs fsync(2) */
};

/* True if other hosts may have it mounted, as far as its kind tells. Any thread. */
bool commit_fs_is_shared(int fd);

/*
 * Give an unnamed file (O_TMPFILE) its name in a directory. -EEXIST: there is one; or another
 * -errno. Any thread.
 */
int commit_fs_link(int fd, int dir_fd, const char *name);

#endif
