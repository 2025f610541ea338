/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Entries and contents at the destination: the functions of its threads for them. Private to
 * src/copy/destination.
 */
#ifndef XDD_COPY_DESTINATION_ENTRIES_H
#define XDD_COPY_DESTINATION_ENTRIES_H

#include "copy/destination/destination.h"
#include "xdd/base/err.h"

struct receivers;

/*
 * Offers of the source. Private to src/copy/destination. Receiving thread.
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
 * Files of the destination from their first byte to their result. Private to src/copy/destination.
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

/* Give a file that is there the attributes of `e` where they differ; `st` describes the file. */
void file_correct(struct destination *d, struct dir_node *dir, const struct copy_entry *e,
		  const struct stat *st);

/*
 * -k: append to `text` how the attributes of a file differ from those that another copy would give
 * it. `fd` is a descriptor of the file, or -1: it is opened here. Returns 0, or -errno of the open.
 */
int file_compare(struct destination *d, struct dir_node *dir, const struct copy_entry *e, int fd,
		 char text[WIRE_MAX_TEXT_BYTES]);

/*
 * -i: true if the entry must not be written into, or found equal to, the file `f` (NULL: any may),
 * which has its line then; see inplace_refuses().
 */
bool file_refused(struct destination *d, struct inplace_file *f, struct dir_node *dir,
		  const struct copy_entry *e, bool writes);

/* To the commit, as it is. */
void file_put(struct destination *d, struct item *i);

/* Called by the commit: struct destination. */
void file_done(void *destination, struct commit_file *f, int err, const char *what);

/* Drop all that is not complete. Main thread, after all others have ended. */
void file_drop_all(struct destination *d);

/*
 * Comparison of existing files, and of parts of an interrupted copy, with digests of the source.
 * Private to src/copy/destination.
 */

/* A message of digests. Returns 0, -EBADMSG with `why`, or -ENOMEM. */
int sums_message(struct destination *d, const uint8_t *body, size_t length, struct err *why);

/* All digests of a file have come: the caller owns the item, which is gone then. */
void sums_complete(struct destination *d, struct item *i);

/*
 * Files of several names that are written in place (-i): two sources must not be written into one
 * file. Private to src/copy/destination. Any thread, except where stated.
 */

/* A file whose names were offered. It lives as long as the table. */
struct inplace_file;
struct inplace;

/* Returns NULL without memory. */
struct inplace *inplace_new(void);
/* Accepts NULL. */
void inplace_free(struct inplace *p);

/*
 * True if the entry `id` must not be written into the file, nor found equal to it: another name of
 * it was offered, and one of both needs other contents. With `writes` the entry needs them, and no
 * other one may have been offered; later ones will be refused. `other`, of COPY_MAX_PATH_BYTES,
 * becomes the other name then.
 */
bool inplace_refuses(struct inplace *p, struct inplace_file *f, uint64_t id, bool writes,
		     char *other);

/*
 * Symbolic and hard links at the destination. Private to src/copy/destination.
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
 * Directories of the destination until they get their attributes: once they were left, and all
 * that lies below has its result. Private to src/copy/destination. Any thread.
 */

/*
 * Begin to count for the directory of `node`, which is entered, and whose parent counts; `e` has
 * its attributes. `made`: it did not exist; else `old_mode` is of directory_open_up(). Returns 0 or
 * -ENOMEM.
 */
int directory_begin(struct dir_node *node, const struct copy_entry *e, uint32_t cost_bytes,
		    bool made, mode_t old_mode);

/*
 * Let this user, if it owns the directory, write into it until all below has its result. Returns
 * the permissions that it had, or META_KEEP_MODE: they were not changed. A failure shows when a
 * file is made in it. `name` is one component; the descriptor may be one of O_PATH.
 */
mode_t directory_open_up(int fd);
mode_t directory_open_up_at(int at, const char *name);

/* The outcome of the comparison with -k: its RESULT, which is EQUAL otherwise. */
void directory_differs(struct dir_node *node);

/* One more entry below it has no result; and one has. */
void directory_hold(struct dir_node *node);
void directory_release(struct destination *d, struct dir_node *node);

/*
 * Give the directory of `node` the attributes of `e` where they differ. Without -P one that existed
 * gets `old_mode` back, and a new one those permissions that the mask or a default ACL leaves.
 */
void directory_attributes(struct destination *d, struct dir_node *node, const struct copy_entry *e,
			  bool made, mode_t old_mode);

/*
 * Data threads of the destination. Private to src/copy/destination.
 */

/* Start a thread for each data connection. Returns 0 or -errno; those that run are in `*r`. */
int receivers_start(struct receivers **r, struct destination *d);

/* Join all; their connections are aborted. Accepts NULL. */
void receivers_end(struct receivers *r);

/*
 * A message of data with its checked body, in data thread `thread`, or in the receiving thread
 * where data comes through the channel. `stamp` has the times of its transfer. Returns 0, -EBADMSG
 * with `why`, or -ENOMEM.
 */
int receive_message(struct destination *d, unsigned thread, struct stamp *stamp,
		    const struct wire_header *h, const uint8_t *body, struct err *why);

/*
 * Files that come in several messages. Private to src/copy/destination. Each returns 0, -EBADMSG
 * with `why`, or -ENOMEM. Data threads, or the receiving thread where data comes through the
 * channel.
 */

/* The end of a message of digests for a file in use. */
int stream_sums_end(struct destination *d, struct item *i, struct err *why);

#endif
