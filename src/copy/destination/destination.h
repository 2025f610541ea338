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
#include "copy/message/message.h"
#include "copy/report/report.h"
#include "copy/role.h"
#include "copy/tree/dirs.h"
#include "copy/tree/meta.h"
#include "xdd/base/err.h"
#include "xdd/base/sets.h"
#include "xdd/io/guard.h"
#include "xdd/sys/clock.h"

/*
 * Files whose result is outstanding at the destination, by their ids.
 *
 * An item is added by the thread of the entries. A data thread takes it when contents arrive; from
 * then on it belongs to that thread, or to the stream with all threads that use it, until it is
 * passed to the commit or finished. Functions lock; any thread.
 */

/*
 * Files at most, of which some may have their RESULT: those that failed while data of them is still
 * on its way.
 */
#define ITEMS_MAX (COPY_WINDOW_ENTRIES + 65536u)

enum item_state {
	ITEM_SEND = 1 << 0,  /* contents were asked for; none has arrived, or there is a stream */
	ITEM_SUMS = 1 << 1,  /* digests were asked for */
	ITEM_TAKEN = 1 << 2, /* belongs to one thread or to the commit */
};

/* A file that arrives in several messages, or whose digests do. */
struct stream {
	/* held while the file is opened, and for ordered writes */
	pthread_mutex_t lock;
	bool opened;
	int open_err;
	int direct_fd; /* -1: none */
	uint32_t direct_align;
	uint64_t next_offset; /* ordered: where the last write ended */

	/* guarded by items.lock */
	unsigned users;
	uint64_t messages, bytes;
	bool ended; /* FILE_END has come */
	uint64_t end_messages, end_bytes;
	bool failed;		  /* data that comes is dropped */
	bool source_failed;	  /* the status of FILE_END */
	struct extents got;	  /* bytes that came or need not come */
	struct extents differing; /* of digests */
	uint64_t n_blocks, n_differing;
	bool differing_cut; /* there are more ranges */
	int read_err;	    /* -errno: the file here cannot be compared */
};

struct item {
	struct commit_file file; /* first: the commit's callback gets it */
	struct idmap_link link;	 /* in the table */
	struct item *next;	 /* of links that wait for one file; of items to be dropped */
	uint32_t cost_bytes;
	enum item_state state;	      /* guarded by items.lock */
	struct stream *stream;	      /* the same; NULL: no message has come */
	bool answered;		      /* RESULT LOST was sent already */
	bool exists;		      /* a regular file is there */
	struct inplace_file *inplace; /* -i, and the file has several names */
	bool resumed;		      /* it has bytes of an interrupted copy */
};

struct items {
	pthread_mutex_t lock;
	/* guarded by lock */
	struct idmap map;
	size_t n_awaited; /* contents or digests of so many must still arrive */

	/* the window: entries of all kinds without RESULT; atomic */
	_Atomic uint64_t open_entries, open_bytes;
};

/* Count an entry that is offered. Returns 0; -ENOSPC: more than the window allows. */
int items_open(struct items *t, uint32_t cost_bytes);

/* Returns 0 or -ENOMEM. */
int items_init(struct items *t);
void items_destroy(struct items *t);

/* Returns 0; -ENOSPC: there are too many. The item stays the caller's then. */
int items_add(struct items *t, struct item *i);

/* Take the item of `id` that waits for contents, as a whole. NULL: there is none. */
struct item *items_take(struct items *t, uint64_t id);

/*
 * Use the stream of `id`, in one of `states` (ITEM_SEND, ITEM_SUMS); creates it. NULL with `*err`:
 * -ENOENT or -ENOMEM.
 */
struct item *items_use(struct items *t, uint64_t id, unsigned states, int *err);

/*
 * A user of a stream has `length` bytes at `offset` of it. Returns 0; -EBADMSG: they are out of
 * range or came before; or -ENOMEM. `*failed`: they are to be dropped.
 */
int items_claim(struct items *t, struct item *i, uint64_t offset, uint64_t length, bool *failed);

/*
 * The caller owns the item: `durable` bytes need not come. `*missing` are those that must (to be
 * freed), at most COPY_MAX_RANGES. Returns 0 or -ENOMEM.
 */
int items_resume(struct item *i, const struct extents *durable, struct extent **missing,
		 size_t *n_missing);

/* Nothing more is written or compared. Returns true for the first call. */
bool items_fail(struct items *t, struct item *i);

/* FILE_END has come to a user: so many messages and bytes are sent. -EBADMSG: it came before. */
int items_announce(struct items *t, struct item *i, const struct copy_file_end *e);

/* Add a range that differs, of so many blocks compared. */
void items_differ(struct items *t, struct item *i, uint64_t begin, uint64_t end);
void items_compared(struct items *t, struct item *i, uint64_t blocks);
void items_read_failed(struct items *t, struct item *i, int err);

/*
 * End the use, after a message with `bytes` (`messages` 1 for BLOCK and SUMS, else 0). Returns 1 if
 * everything has arrived and there is no other user: the item is the caller's, in ITEM_TAKEN. 0; or
 * -EBADMSG if there is more than was announced.
 */
int items_unuse(struct items *t, struct item *i, unsigned messages, uint64_t bytes);

/*
 * Bytes whose digests were compared and are equal; none if not all that differ are known. The
 * caller owns the item, and clears `*equal`. Returns 0 or -ENOMEM.
 */
int items_equal(const struct item *i, struct extents *equal);

/* The digests of a taken item are done with: it has no stream any more. */
void items_drop_stream(struct item *i);

/* Have a taken item wait for contents. */
void items_await(struct items *t, struct item *i);

/* Remove it from the table, if it is there. */
void items_remove(struct items *t, struct item *i);
size_t items_awaited(struct items *t);

/*
 * Messages of the destination about entries: WANT and RESULT, many of them in one.
 */

#define ANSWERS_ROOM (64u << 10)

struct answers {
	pthread_mutex_t lock; /* held while results are sent, so that they stay in order */
	/* guarded by lock */
	uint8_t results[ANSWERS_ROOM];
	size_t n_results_bytes;

	/* receiving thread */
	uint8_t wants[ANSWERS_ROOM];
	size_t n_wants_bytes;
};

/*
 * The name of the destination that the user gave: a directory into which files go, the new name of
 * the only source, or a device.
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
struct inplace; /* private to links.c */

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
	uint64_t host;	/* identity_host() */
	mode_t mask;	/* newfile_mask() */
	bool announced; /* commit_announce() was called. Of the receiving thread */
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

/* Any thread. A channel that fails ends the copy (role_send()). */
void answers_flush(struct destination *d);

/* Receiving thread, but answers_want_now() by any thread: alone in a message, at once. */
void answers_want(struct destination *d, const struct copy_want *w);
void answers_flush_wants(struct destination *d);
void answers_want_now(struct destination *d, const struct copy_want *w);

struct receivers; /* private to receive.c */

/*
 * Offers of the source. Receiving thread.
 */

/* A directory that is entered, as it is at the destination. */
enum level_kind {
	LEVEL_THERE,  /* it exists */
	LEVEL_LOST,   /* it failed: so do all entries in it, without lines */
	LEVEL_WOULD,  /* -n: it would be created */
	LEVEL_ABSENT, /* -k: it does not exist, which was reported */
};

struct level {
	enum level_kind kind;
	struct dir_node *node; /* LEVEL_THERE: a reference. Others: the nearest that is, borrowed */
	int fd;		       /* of `node`, borrowed while entries arrive in it; -1: not now */
	mode_t mask;	    /* of files that are created in it: META_KEEP_MODE until it is known */
	bool fresh;	    /* it was made by this copy: nothing is in it */
	bool differs;	    /* -k: its attributes do. Only of the root */
	bool is_root;	    /* an entry that stands for the destination itself */
	size_t below_bytes; /* not LEVEL_THERE: length of its path below `node`; 0: it is `node` */
	uint64_t id;	    /* of its entry; 0: the root, without one */
	uint32_t cost_bytes;
};

/* Returns NULL without memory. */
struct entries *entries_new(void);
/* Leaves the directories that are still entered. Accepts NULL. */
void entries_free(struct destination *d, struct entries *x);

/* An OFFER. Returns 0, -EBADMSG with `why`, or another -errno. */
int entries_offer(struct destination *d, const uint8_t *body, size_t length, struct err *why);

/* True once COPY_END has come and all directories were left. */
bool entries_complete(const struct entries *x);

/* The attributes of an entry that stands for the destination itself; NULL: there was none. */
const struct copy_entry *entries_of_root(const struct entries *x);

/*
 * Let this user, if it owns the directory, write into it until all below has its result. Returns
 * the permissions that it had, or META_KEEP_MODE: they were not changed. A failure shows when a
 * file is made in it. The descriptor may be one of O_PATH.
 */
mode_t directory_open_up(int fd);

/*
 * The mode to create the directory of `e` with, which it may keep if the copy is killed. Its owner
 * may write into it; others have no right that it will not have at its end. With `everything` (-P)
 * they have none, as it may get another owner; the next copy sets its permissions.
 */
mode_t directory_first_mode(const struct copy_entry *e, bool everything);

/* As directory_open_up(), for `name` of one component. */
mode_t directory_open_up_at(int at, const char *name);

/*
 * Visits of the directories of a list, see visits.c. Receiving thread, except visits_leave().
 */
struct visits;
struct visited;

/* Returns NULL without memory. */
struct visits *visits_new(void);
/* Accepts NULL. */
void visits_free(struct visits *x);

/*
 * A visit of the directory of `e` in `at` begins, which was `made` for it, or exists: its owner may
 * write into it then, if it will get attributes; `*old_mode` as of directory_open_up(). Returns
 * NULL where the visit is the only one, as always with `x` NULL: there is no list.
 */
struct visited *visits_enter(struct visits *x, int at, const struct copy_entry *e,
			     uint32_t cost_bytes, bool made, mode_t *old_mode);

/* The visit ends, with all in it. `node` NULL: it could not be entered. `id` is of its entry. */
void visits_leave(struct destination *d, struct visits *x, struct visited *v, struct dir_node *node,
		  uint64_t id);

/*
 * An entry in the directory has its result. The directory gets its attributes and its own result
 * once it was left, and all that lies below has its result. Any thread.
 */
void directory_release(struct destination *d, struct dir_node *node);

/*
 * Give the directory of `node` the attributes of `e` where they differ. Without -P one that existed
 * gets `old_mode` back, and a new one those permissions that the mask or a default ACL leaves.
 */
void directory_attributes(struct destination *d, struct dir_node *node, const struct copy_entry *e,
			  bool made, mode_t old_mode);

/* ---- existing.c ---- */

/* Without -P: the permissions that new files in `level` (THERE, with its descriptor) may have. */
mode_t entries_mask(struct destination *d, struct level *level);

/*
 * A file is offered in `level` (THERE): is it there already, and what is to come? Returns 0,
 * -EBADMSG with `why`, or -ENOMEM.
 */
int existing_offer(struct destination *d, struct level *level, const struct copy_entry *e,
		   uint32_t cost_bytes, struct err *why);

/* A new item for an entry in `level`; counted in its directory. NULL without memory. */
struct item *entries_item(struct destination *d, const struct level *level,
			  const struct copy_entry *e, uint32_t cost_bytes);

/*
 * Files of the destination from their first byte to their result.
 * Any thread, except where stated.
 *
 * An item that is passed to a function that ends it is the caller's (ITEM_TAKEN), and is gone
 * then.
 */

/*
 * Open a file of the destination without following a link; the device with `dir` NULL. Returns a
 * descriptor or -errno.
 */
int file_open(struct destination *d, struct dir_node *dir, const char *name, int flags);

/*
 * Have a descriptor to write to in i->file.fd: a temporary file, one in place, a device. Returns 0;
 * -ECANCELED where it has named the failure itself; or another -errno.
 */
int file_create(struct destination *d, struct item *i);

/* Write all. Returns 0 or -errno. */
int file_write(int fd, const uint8_t *data, size_t size, uint64_t offset);

/* End it: its RESULT, its directory, its memory. Not its descriptor. */
void file_end(struct destination *d, struct item *i, enum copy_outcome outcome);

/* As file_end(), for a file with a reported failure: its temporary file is removed. */
void file_lost(struct destination *d, struct item *i);
/* And for one that failed here with -errno: "cannot `what` (strerror)". */
void file_failed(struct destination *d, struct item *i, const char *what, int err);

/* All of its contents are written: attributes, and to the commit. */
void file_complete(struct destination *d, struct item *i);
/* Free one without a result, as the copy ends. Removes its temporary file unless -R keeps it. */
void file_forget(struct destination *d, struct item *i);

/* The counts of an entry that has ended, with `outcome`. */
void file_count(struct destination *d, const struct copy_entry *e, enum copy_outcome outcome);

/* To the commit, as it is. */
void file_put(struct destination *d, struct item *i);

/* Called by the commit: struct destination. */
void file_done(void *destination, struct commit_file *f, int err, const char *what);

/* Drop all that is not complete. Main thread, after all others have ended. */
void file_drop_all(struct destination *d);

/*
 * Comparison of existing files, and of parts of an interrupted copy, with digests of the source.
 */

/*
 * Compare the digests of a message. Returns 0 with the item, which the caller unuses; -EBADMSG with
 * `why`; or -ENOMEM.
 */
int sums_message(struct destination *d, const uint8_t *body, size_t length, struct item **item,
		 struct err *why);

/* All digests of a file have come: the caller owns the item, which is gone then. */
void sums_complete(struct destination *d, struct item *i);

/*
 * Files of several names that are written in place (-i): two sources must not be written into one
 * file. Any thread, except where stated.
 */

/* A file whose names were offered. It lives as long as the table. */
struct inplace_file;
struct inplace;

/* Returns NULL without memory. */
struct inplace *inplace_new(void);
/* Accepts NULL. */
void inplace_free(struct inplace *p);

/*
 * A source is offered for `path`, a name of the existing file with the status `st`; `id` is of its
 * entry. Returns the file, or NULL without memory. Receiving thread.
 */
struct inplace_file *inplace_offer(struct inplace *p, const struct stat *st, uint64_t id,
				   const char *path);

/*
 * True if the entry `id` must not be written into the file, nor found equal to it: another name of
 * it was offered, and one of both needs other contents. With `writes` the entry needs them, and no
 * other one may have been offered; later ones will be refused. `other`, of COPY_MAX_PATH_BYTES,
 * becomes the other name then.
 */
bool inplace_refuses(struct inplace *p, struct inplace_file *f, uint64_t id, bool writes,
		     char *other);

/*
 * Symbolic and hard links at the destination.
 */

/* Returns NULL without memory. links_free() accepts NULL; after links_drop(). */
struct links *links_new(void);
void links_free(struct destination *d);

/* Drop the links that wait for their first file. Main thread, after all others have ended. */
void links_drop(struct destination *d);

/*
 * An item of kind SYMLINK or LINK, which is gone then. `fresh`: nothing is there under its name.
 * `is_file`: a user has named it, so it is no other name of a symbolic link. links_make() returns
 * 0, or -EBADMSG with `why`. Receiving thread.
 */
void links_symlink(struct destination *d, struct item *i, bool fresh);
int links_make(struct destination *d, struct item *i, bool is_file, struct err *why);

/* A LINK in a directory that is not there, which ends without being made. Receiving thread. */
void links_omit(struct destination *d, const struct copy_entry *e);

/*
 * An entry with COPY_HAS_LINKS is offered, and has ended. `path` is below `dir`: its name, or, if
 * it `is_lost`, the path in directories that are not there. links_expect() returns 0, -ENOMEM, or
 * -EBADMSG with `why`. A file is remembered until its last name (COPY_LAST_NAME) is made.
 */
int links_expect(struct destination *d, struct dir_node *dir, const char *path,
		 const struct copy_entry *e, bool is_lost, struct err *why);
void links_file_ended(struct destination *d, uint64_t id, enum copy_outcome outcome);

/*
 * Messages that come to the destination.
 */

/* Start a thread for each data connection. Returns 0 or -errno; those that run are in `*r`. */
int receivers_start(struct receivers **r, struct destination *d);

/* Join all; their connections are aborted. Accepts NULL. */
void receivers_end(struct receivers *r);

/* A message of the channel, in the receiving thread: `receive` of role_ops (role.h). */
int receive_from_channel(void *destination, const struct wire_header *h, const uint8_t *body,
			 struct err *why);

#endif
