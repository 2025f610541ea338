/*
 * Directories of a tree that is walked or written, below one directory that is held open. Names are
 * never looked up from the root again: each directory is opened below its parent, no symbolic link
 * is followed, and ".." never occurs.
 *
 * A node is counted: the walk, the entries in it, and its subdirectories hold it. Descriptors are
 * cached: at most `limit` are open, the least recently used one is closed, and opened again through
 * the parents. All calls lock; any thread.
 */
#ifndef COPY_TREE_DIRS_H
#define COPY_TREE_DIRS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct dirs;
struct dir_node;

/* `root_fd` becomes the tree's. NULL without memory. `limit` 0: half of RLIMIT_NOFILE. */
struct dirs *dirs_new(int root_fd, size_t limit);
/* All nodes must be released, except the root. Accepts NULL. */
void dirs_free(struct dirs *t);
struct dir_node *dirs_root(struct dirs *t);

/*
 * The node of subdirectory `name` of `parent`, which must exist and be a directory. Returns 0 with
 * a reference in `*node`, or -errno: -ELOOP or -ENOTDIR where it is a link or another file. Once it
 * is known, device and inode must stay the same when it is opened again: -ESTALE.
 */
int dirs_enter(struct dirs *t, struct dir_node *parent, const char *name, struct dir_node **node);

void dirs_hold(struct dirs *t, struct dir_node *node);
/* The last release frees it, and releases its parent. Accepts NULL. */
void dirs_release(struct dirs *t, struct dir_node *node);

/*
 * Borrow a descriptor of the directory (O_RDONLY | O_DIRECTORY), which stays open until
 * dirs_done(). Returns it or -errno.
 */
int dirs_fd(struct dirs *t, struct dir_node *node);
void dirs_done(struct dirs *t, struct dir_node *node);

/* The path of `name` in `node`, relative to the root; cut in front if it does not fit. */
char *dirs_path(struct dirs *t, struct dir_node *node, const char *name, char *buf, size_t size);

/* A value of the user of this module for the node, 0 at first. Not locked. */
void *dir_user(const struct dir_node *node);
void dir_set_user(struct dir_node *node, void *user);
struct dir_node *dir_parent(const struct dir_node *node);

#endif
