/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Directories of a tree, and the identity of files.
 */
#ifndef XDD_COPY_TREE_DIRS_H
#define XDD_COPY_TREE_DIRS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

struct dir_node;
struct dirs;

/*
 * Directories of a tree that is walked or written, below one directory that is held open. Names
 * are never looked up from the root again: each directory is opened below its parent, no symbolic
 * link is followed, and ".." never occurs.
 *
 * A node is counted: the walk, the entries in it, and its subdirectories hold it. Descriptors are
 * cached: at most `limit` are open, unless more are borrowed; the least recently used one is
 * closed, and opened again through the parents. All calls lock, but not while they open; any
 * thread.
 *
 * A directory that may be searched and not be read is opened with O_PATH: names in it can be
 * opened, reading and syncing it fail with EBADF.
 */

/*
 * `root_fd` becomes the tree's, also on failure. NULL without memory. `limit` 0: half of
 * RLIMIT_NOFILE, at most 4096.
 */
struct dirs *dirs_new(int root_fd, size_t limit);
/*
 * The tree is freed once all nodes are released, except the root. Accepts NULL.
 */
void dirs_free(struct dirs *t);
struct dir_node *dirs_root(struct dirs *t);

/*
 * The node of subdirectory `name` of `parent`, which must exist and be a directory. Returns 0 with
 * a reference in `*node`, or -errno: -ELOOP or -ENOTDIR where it is a link or another file, -EINVAL
 * for ".", "..", "" and names with "/". Once it is known, device and inode must stay the same when
 * it is opened again: -ESTALE. `st` may be NULL. Two calls with one name give two nodes.
 */
int dirs_enter(struct dirs *t, struct dir_node *parent, const char *name, struct dir_node **node);
int dirs_enter_stat(struct dirs *t, struct dir_node *parent, const char *name,
		    struct dir_node **node, struct stat *st);

/*
 * As dirs_enter_stat(), for a directory that the user has named: `path` is absolute or relative to
 * the root, any links in it are followed. Paths of files below it begin with `shown`. The
 * descriptor is opened again by `path`, and must then be the same directory.
 */
int dirs_enter_path(struct dirs *t, const char *path, const char *shown, struct dir_node **node,
		    struct stat *st);

void dirs_hold(struct dirs *t, struct dir_node *node);
/* The last release frees it, and releases its parent. Accepts NULL. */
void dirs_release(struct dirs *t, struct dir_node *node);

/*
 * Borrow a descriptor of the directory (O_RDONLY | O_DIRECTORY), which stays open until
 * dirs_done(). The caller must hold the node for as long. Returns it or -errno.
 */
int dirs_fd(struct dirs *t, struct dir_node *node);
void dirs_done(struct dirs *t, struct dir_node *node);

/*
 * The path of `name` in `node`, or of `node` (NULL), relative to the root, "." for the root itself.
 * One that does not fit is cut in front, after ".../". `size` is at least 16. Returns `buf`.
 */
char *dirs_path(struct dirs *t, struct dir_node *node, const char *name, char *buf, size_t size);

/*
 * As dirs_path(), for a path that is looked up later. False: it is cut, and may name another file.
 */
bool dirs_whole_path(struct dirs *t, struct dir_node *node, const char *name, char *buf,
		     size_t size);

/* A value of the user of this module for the node, NULL at first. Not locked. */
void *dir_user(const struct dir_node *node);
void dir_set_user(struct dir_node *node, void *user);
/* Constant facts of a node. The parent of the root and of one by path is NULL. */
struct dir_node *dir_parent(const struct dir_node *node);
const char *dir_name(const struct dir_node *node);
bool dir_same(const struct dir_node *a, const struct dir_node *b); /* device and inode are equal */

/*
 * Opening one directory. Any thread.
 */

/*
 * Tells whether both sides of a copy have the same file: they may be two processes of one host,
 * also where ssh is between them. Pure functions, except identity_host(); any thread.
 */

/* A number of this host until its next start; 0: it is not known. Reads a file of /proc. */
uint64_t identity_host(void);

/*
 * A number of the file that `st` describes on the host with the number `host`: the same on both
 * sides if it is one file, whatever its name; a block device is known by its device number. 0: it
 * cannot be told, as for character devices, which may be source and destination.
 */
uint64_t identity_of_file(uint64_t host, const struct stat *st);

/*
 * A number of the contents of the file that `st` describes: of its inode, size and times, also that
 * of its last change of any kind. Another number: the file was changed or replaced. Its device
 * number is no part of it, as that may differ after each mount. 0 for anything but regular files.
 */
uint64_t identity_of_contents(const struct stat *st);

#endif
