/*
 * Attributes of directories; see the header. Called by the receiving thread and by each thread in
 * which a file ends.
 */
#include "copy/destination/directory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The value that a node of a directory below the root has. */
struct directory {
	struct copy_entry *entry; /* owned */
	uint32_t cost_bytes;
	bool made;
	mode_t old_mode; /* of directory_open_up() */
	bool differs;	 /* receiving thread, while it is entered */

	/* atomic: 1 while it is entered, and entries and directories in it */
	_Atomic unsigned holds;
};

int directory_begin(struct dir_node *node, const struct copy_entry *e, uint32_t cost_bytes,
		    bool made, mode_t old_mode)
{
	struct directory *x = calloc(1, sizeof(*x));

	if (x)
		x->entry = meta_entry_dup(e);
	if (!x || !x->entry) {
		free(x);
		return -ENOMEM;
	}
	/* It may be entered again for other names of the list. */
	if (e->flags & COPY_IMPLIED)
		x->entry->mode |= S_IRWXU;
	x->cost_bytes = cost_bytes;
	x->made = made;
	x->old_mode = old_mode;
	atomic_init(&x->holds, 1);
	dir_set_user(node, x);
	directory_hold(dir_parent(node));
	return 0;
}

void directory_differs(struct dir_node *node)
{
	struct directory *x = dir_user(node);

	x->differs = true;
}

/* The root has no value, and is not counted: it lives as long as all others. */
void directory_hold(struct dir_node *node)
{
	struct directory *x = dir_user(node);

	if (x)
		atomic_fetch_add(&x->holds, 1);
}

mode_t directory_open_up(int fd)
{
	char path[32];
	struct stat st;

	/* Permissions do not hold root up. */
	if (!geteuid() || fstat(fd, &st) || st.st_uid != geteuid() ||
	    (st.st_mode & S_IRWXU) == S_IRWXU)
		return META_KEEP_MODE;
	/* fchmod() refuses a descriptor of O_PATH. */
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return chmod(path, (st.st_mode & 07777) | S_IRWXU) ? META_KEEP_MODE : st.st_mode & 07777;
}

mode_t directory_open_up_at(int at, const char *name)
{
	int fd = geteuid() ? openat(at, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC) : -1;
	mode_t old_mode;

	if (fd < 0)
		return META_KEEP_MODE;
	old_mode = directory_open_up(fd);
	close(fd);
	return old_mode;
}

/*
 * Permissions of a directory that was made, without -P: a default ACL was inherited, as was the bit
 * that has its files belong to the group of the directory.
 */
static mode_t usual_mode(const struct destination *d, int fd, const struct stat *st,
			 const struct copy_entry *e)
{
	mode_t mode = e->mode & 0777 & meta_creation_mask(fd, d->mask);

	/* It may be entered again for other names of the list. */
	if (e->flags & COPY_IMPLIED)
		mode |= S_IRWXU;
	return mode | (st->st_mode & S_ISGID);
}

void directory_attributes(struct destination *d, struct dir_node *node, const struct copy_entry *e,
			  bool made, mode_t old_mode)
{
	struct meta_result result = { .not_set = false };
	int fd = dirs_fd(d->dirs, node);
	struct stat st = { .st_mode = 0 };
	struct meta_file f = { .st = &st, .fd = fd };

	if (fd < 0) {
		dest_failed(d, e->id, node, NULL, "open to set attributes", fd);
		return;
	}
	if (fstat(fd, &st) || made || old_mode != META_KEEP_MODE || !meta_same(&f, e, d->owners)) {
		if (made && !d->owners)
			old_mode = usual_mode(d, fd, &st, e);
		meta_apply(fd, e, old_mode, d->owners, &result);
		commit_changed_dir(d->commit);
	}
	dirs_done(d->dirs, node);
	dest_attributes(d, e->id, node, NULL, &result);
}

static void finish(struct destination *d, struct dir_node *node, struct directory *x)
{
	enum copy_outcome outcome = x->made ? COPY_DONE : COPY_SAME;

	if (d->settings->verify)
		outcome = x->differs ? COPY_DIFFERS : COPY_EQUAL;
	if (!d->reads_only && (x->made || !(x->entry->flags & COPY_IMPLIED)))
		directory_attributes(d, node, x->entry, x->made, x->old_mode);
	dest_result(d, x->entry->id, x->cost_bytes, outcome);
	dir_set_user(node, NULL);
	free(x->entry);
	free(x);
}

void directory_release(struct destination *d, struct dir_node *node)
{
	struct directory *x = dir_user(node);

	while (x && atomic_fetch_sub(&x->holds, 1) == 1) {
		struct dir_node *parent = dir_parent(node);

		finish(d, node, x);
		/* The parent stays: it is held until its own turn in this loop. */
		dirs_release(d->dirs, node);
		node = parent;
		x = dir_user(node);
	}
}
