/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Walks over the files that a source copies, in the order in which they are offered: depth first,
 * directories before what is in them. Memory does not grow with the number of files, and not with
 * the depth beyond a name and a descriptor's worth per level. One thread; no state is shared.
 */
#ifndef COPY_TREE_WALK_H
#define COPY_TREE_WALK_H

#include <sys/stat.h>

#include "copy/message/message.h"
#include "copy/tree/dirs.h"
#include "xdd/base/err.h"
#include "xdd/copy/copy.h"

struct walk;

/* A name that the walk found: an entry without attributes, and where it is. */
struct walk_found {
	struct copy_entry entry; /* strings are valid until the next call */
	struct dirs *dirs; /* the tree that `dir` belongs to; valid as long as one node of it is */
	struct dir_node *dir; /* FILE, SYMLINK, LINK: its directory; DIR: itself. A reference */
	/*
	 * FILE: its name in `dir`. It differs from the entry's where a symbolic link was named as a
	 * source. Valid as the entry's.
	 */
	const char *name;
	struct stat st;
	/* a name that cannot be copied; `entry` is not set then */
	bool failed;
	struct copy_failure failure;
};

/*
 * `sources` as the user wrote them: a trailing "/" of a directory stands for its contents; with
 * settings->list there is one, the file of names ("-": standard input). Returns 0, or an exit
 * status with a text in `why`: a source that does not exist (COPY_NO_SOURCE), a directory without
 * -r (COPY_BAD_ARGUMENTS).
 * Checks all names, except the names of a list, before anything is offered.
 */
int walk_open(struct walk **w, const struct copy_settings *settings, const char *const *sources,
	      size_t n, struct err *why);
void walk_close(struct walk *w);

/*
 * The name at the top of the destination that a source gets: its last component, a part of it. "":
 * its contents go there, as for "dir/", "dir/.", ".", ".." and "". Any thread.
 */
const char *walk_top_name(const char *source);

/*
 * A copy into its own source ends: in a directory that has the file `journal`, which belongs to
 * this copy's destination, directories are not entered if this copy makes them: those with the
 * names of the sources, or `made` if it is not NULL. With "" (the destination may be a new name),
 * for contents and for lists, these are all that have changed in the last hour. Failures say so.
 * Strings are borrowed.
 */
void walk_avoid(struct walk *w, const char *journal, const char *made);

/* Leave this file out of trees. With an `ino` of 0 none is left out. */
void walk_leave_out(struct walk *w, uint64_t dev, uint64_t ino);

/*
 * The next one. True; false: COPY_END was returned before. Ids are set. The caller releases
 * found->dir. FIFOs, sockets and devices in a tree are failures with one line each; symbolic links
 * named as a source without a trailing "/" are followed, those in trees are not. Hard links: the
 * first name is a FILE or SYMLINK with COPY_HAS_LINKS, later ones are LINKs, if the walk still
 * knows it.
 *
 * dirs_path() of `dir` and `name` gives the path as the user would write it, for messages. OWNER
 * entries are not made here, see meta_owner_before().
 */
bool walk_next(struct walk *w, struct walk_found *found);

#endif
