/*
 * Files of the destination from their first byte to their result. Private to src/copy/destination.
 * Any thread, except where stated.
 *
 * An item that is passed to a function that ends it is the caller's (ITEM_TAKEN), and is gone then.
 */
#ifndef COPY_DESTINATION_FILE_H
#define COPY_DESTINATION_FILE_H

#include "copy/destination/destination.h"

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

/* Give a file that is there the attributes of `e` where they differ; `st` is that of the file. */
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

#endif
