/*
 * Symbolic and hard links at the destination. Private to src/copy/destination.
 */
#ifndef COPY_DESTINATION_LINKS_H
#define COPY_DESTINATION_LINKS_H

#include "copy/destination/destination.h"

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
int links_make(struct destination *d, struct item *i, bool is_file, char *why);

/* A LINK in a directory that is not there, which ends without being made. Receiving thread. */
void links_omit(struct destination *d, const struct copy_entry *e);

/*
 * An entry with COPY_HAS_LINKS is offered, and has ended. `path` is below `dir`: its name, or, if
 * it `is_lost`, the path in directories that are not there. links_expect() returns 0, -ENOMEM, or
 * -EBADMSG with `why`. A file is remembered until its last name (COPY_LAST_NAME) is made.
 */
int links_expect(struct destination *d, struct dir_node *dir, const char *path,
		 const struct copy_entry *e, bool is_lost, char *why);
void links_file_ended(struct destination *d, uint64_t id, enum copy_outcome outcome);

#endif
