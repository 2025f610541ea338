/*
 * Directories of the destination until they get their attributes: once they were left, and all that
 * lies below has its result. Private to src/copy/destination. Any thread.
 */
#ifndef COPY_DESTINATION_DIRECTORY_H
#define COPY_DESTINATION_DIRECTORY_H

#include "copy/destination/destination.h"

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

#endif
