/*
 * Files of the destination from their first byte to their result. Called by data threads, the
 * receiving thread and the commit.
 */
#include "copy/destination/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "copy/destination/directory.h"
#include "copy/destination/inplace.h"
#include "copy/destination/links.h"
#include "xdd/io/guard.h"

int file_open(struct destination *d, struct dir_node *dir, const char *name, int flags)
{
	int dir_fd, fd;

	if (!dir)
		return fcntl(d->root.device, F_DUPFD_CLOEXEC, 0);
	dir_fd = dirs_fd(d->dirs, dir);
	if (dir_fd < 0)
		return dir_fd;
	fd = openat(dir_fd, name, flags | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
	if (fd < 0)
		fd = -errno;
	dirs_done(d->dirs, dir);
	return fd;
}

/* Look whether a file may be written in place. Returns as file_create(). */
static int guard(struct destination *d, const struct item *i, int fd)
{
	char why[GUARD_WHY_SIZE], path[COPY_MAX_PATH_BYTES];
	int err = i->file.dir ? root_guard(&d->root, fd, why, sizeof(why)) : 0;

	if (!err || !*why)
		return err;
	role_fail(d->role, i->id, COPY_FAILED, dest_path(d, i->file.dir, i->file.entry->name, path),
		  "%s", why);
	return -ECANCELED;
}

int file_create(struct destination *d, struct item *i)
{
	int fd, err;

	if (i->file.fd >= 0)
		return 0;
	if (i->file.dir && !d->settings->in_place)
		return commit_create(d->commit, &i->file);
	fd = file_open(d, i->file.dir, i->file.entry->name,
		       O_RDWR | (i->exists ? 0 : O_CREAT | O_EXCL));
	if (fd < 0)
		return fd;
	err = guard(d, i, fd);
	if (err)
		close(fd);
	else
		i->file.fd = fd;
	return err;
}

int file_write(int fd, const uint8_t *data, size_t size, uint64_t offset)
{
	while (size) {
		ssize_t n = pwrite(fd, data, size, (off_t)offset);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n ? -errno : -ENOSPC;
		data += n;
		size -= (size_t)n;
		offset += (uint64_t)n;
	}
	return 0;
}

void file_count(struct destination *d, const struct copy_entry *e, enum copy_outcome outcome)
{
	bool is_file = e->kind == COPY_FILE;

	if (outcome == COPY_LOST || outcome == COPY_DIFFERS)
		return;
	if (!is_file) {
		dest_tally_add(&d->tally.links, 1);
	} else if (outcome == COPY_DONE) {
		dest_tally_add(&d->tally.done_files, 1);
		dest_tally_add(&d->tally.done_bytes, e->size_bytes);
	} else if (outcome != COPY_WOULD) {
		dest_tally_add(&d->tally.skipped_files, 1);
		dest_tally_add(&d->tally.skipped_bytes, e->size_bytes);
	}
}

void file_end(struct destination *d, struct item *i, enum copy_outcome outcome)
{
	const struct copy_entry *e = i->file.entry;

	items_remove(&d->items, i);
	file_count(d, e, outcome);
	if (!i->answered)
		dest_result(d, i->id, i->cost_bytes, outcome);
	if (e->flags & COPY_HAS_LINKS)
		links_file_ended(d, i->id, outcome);
	if (i->file.dir) {
		directory_release(d, i->file.dir);
		dirs_release(d->dirs, i->file.dir);
	}
	item_free(i);
}

/* Close it, without a trace unless it is in place. */
static void drop(struct destination *d, struct item *i, bool keep)
{
	if (i->file.dir && d->commit)
		commit_drop(d->commit, &i->file, keep);
	else if (i->file.fd >= 0)
		close(i->file.fd);
	i->file.fd = -1;
}

/* Name a file or block device that has a part of its new contents, and is not to be completed. */
static void name_incomplete(struct destination *d, const struct item *i)
{
	const bool in_place = i->file.dir ? d->settings->in_place : d->root.block;
	char path[COPY_MAX_PATH_BYTES];

	/* Files that are compared are open as well. */
	if (i->file.fd < 0 || !in_place || i->state == ITEM_SUMS)
		return;
	role_fail(d->role, i->id, 0, dest_path(d, i->file.dir, i->file.entry->name, path),
		  "is incomplete, as it was written in place");
}

void file_lost(struct destination *d, struct item *i)
{
	name_incomplete(d, i);
	drop(d, i, false);
	file_end(d, i, COPY_LOST);
}

void file_failed(struct destination *d, struct item *i, const char *what, int err)
{
	dest_failed(d, i->id, i->file.dir, i->file.entry->name, what, err);
	file_lost(d, i);
}

static void device_complete(struct destination *d, struct item *i)
{
	int err = d->root.block && fsync(i->file.fd) ? -errno : 0;

	if (close(i->file.fd) && !err)
		err = -errno;
	i->file.fd = -1;
	if (err) {
		file_failed(d, i, "write", err);
		return;
	}
	file_end(d, i, COPY_DONE);
}

static void set_attributes(struct destination *d, struct dir_node *dir, const struct copy_entry *e,
			   int fd, mode_t mode)
{
	struct meta_result result;

	meta_apply(fd, e, mode, d->owners, &result);
	dest_attributes(d, e->id, dir, e->name, &result);
}

/* Without -P the access list of the file that is replaced belongs to its permissions. */
static void keep_acl(struct destination *d, struct item *i)
{
	const struct copy_entry *e = i->file.entry;
	struct meta_result result = { .not_set = false };
	int dir_fd = dirs_fd(d->dirs, i->file.dir);

	result.err[META_ACL] = dir_fd < 0 ? dir_fd : meta_keep_acl(i->file.fd, dir_fd, e->name);
	if (dir_fd >= 0)
		dirs_done(d->dirs, i->file.dir);
	dest_attributes(d, e->id, i->file.dir, e->name, &result);
}

/*
 * Open a file to compare and to set its attributes. Its owner may have no right to read it; it gets
 * that one, and `*changed` says that the permissions are to be set again.
 */
static int open_to_correct(struct destination *d, struct dir_node *dir, const char *name,
			   const struct stat *st, bool *changed)
{
	int fd = file_open(d, dir, name, O_RDONLY), path_fd;
	char self[32];

	*changed = false;
	if (fd != -EACCES || st->st_uid != geteuid())
		return fd;
	path_fd = file_open(d, dir, name, O_PATH);
	if (path_fd < 0)
		return path_fd;
	snprintf(self, sizeof(self), "/proc/self/fd/%d", path_fd);
	if (!chmod(self, (st->st_mode & 07777) | S_IRUSR)) {
		*changed = true;
		fd = open(self, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
		if (fd < 0)
			fd = -errno;
	}
	close(path_fd);
	return fd;
}

/* All that a copy sets without -P of a file that exists; it takes no right but the owner's. */
static void correct_times(struct destination *d, struct dir_node *dir, const struct copy_entry *e)
{
	struct meta_result result = { .not_set = false };
	int dir_fd = dirs_fd(d->dirs, dir);

	if (dir_fd < 0) {
		result.err[META_TIMES] = dir_fd;
	} else {
		meta_apply_link(dir_fd, e->name, e, NULL, &result);
		dirs_done(d->dirs, dir);
	}
	dest_attributes(d, e->id, dir, e->name, &result);
}

static void correct_everything(struct destination *d, struct dir_node *dir,
			       const struct copy_entry *e, const struct stat *st)
{
	struct meta_file f = { .st = st };
	char path[COPY_MAX_PATH_BYTES];
	bool changed;

	f.fd = open_to_correct(d, dir, e->name, st, &changed);
	if (f.fd < 0) {
		role_fail(d->role, e->id, COPY_FAILED, dest_path(d, dir, e->name, path),
			  "cannot open to set attributes (%s)", strerror(-f.fd));
		return;
	}
	if (changed || !meta_same(&f, e, d->owners))
		set_attributes(d, dir, e, f.fd, META_KEEP_MODE);
	close(f.fd);
}

void file_correct(struct destination *d, struct dir_node *dir, const struct copy_entry *e,
		  const struct stat *st)
{
	if (e->flags & COPY_DEVICE)
		return; /* its attributes are of a device, and change with each use */
	if (d->settings->everything)
		correct_everything(d, dir, e, st);
	else if (!meta_same_time(&st->st_mtim, e->mtime_ns))
		correct_times(d, dir, e);
}

int file_compare(struct destination *d, struct dir_node *dir, const struct copy_entry *e, int fd,
		 char text[WIRE_MAX_TEXT_BYTES])
{
	struct stat st;
	struct meta_file f = { .st = &st, .fd = fd };
	int err = 0;

	if (!dir || e->flags & COPY_DEVICE)
		return 0;
	if (fd < 0)
		f.fd = file_open(d, dir, e->name, d->settings->everything ? O_RDONLY : O_PATH);
	if (f.fd < 0)
		return f.fd;
	if (fstat(f.fd, &st))
		err = -errno;
	else
		meta_differences(&f, e, d->owners, text, WIRE_MAX_TEXT_BYTES);
	if (fd < 0)
		close(f.fd);
	return err;
}

bool file_refused(struct destination *d, struct inplace_file *f, struct dir_node *dir,
		  const struct copy_entry *e, bool writes)
{
	char path[COPY_MAX_PATH_BYTES], other[COPY_MAX_PATH_BYTES];

	if (!f || !inplace_refuses(d->inplace, f, e->id, writes, other))
		return false;
	role_fail(
		d->role, e->id, COPY_FAILED, dest_path(d, dir, e->name, path),
		"is the same file as %.512s there, which cannot have the contents of two sources; "
		"copy without -inplace",
		other);
	return true;
}

void file_put(struct destination *d, struct item *i)
{
	dest_busy(d);
	commit_put(d->commit, &i->file);
	if (atomic_load(&d->all_offered) && !items_awaited(&d->items))
		commit_hurry(d->commit);
}

void file_complete(struct destination *d, struct item *i)
{
	bool in_place = i->exists && d->settings->in_place;

	if (!i->file.dir) {
		device_complete(d, i);
		return;
	}
	set_attributes(d, i->file.dir, i->file.entry, i->file.fd,
		       in_place || i->file.has_mode ? META_KEEP_MODE : i->file.mode);
	if (i->exists && !in_place && !d->settings->everything)
		keep_acl(d, i);
	file_put(d, i);
}

void file_done(void *arg, struct commit_file *f, int err, const char *what)
{
	struct destination *d = arg;
	struct item *i = (struct item *)f;

	if (err)
		dest_failed(d, i->id, f->dir, f->entry->name, what, err);
	file_end(d, i, err ? COPY_LOST : COPY_DONE);
	dest_idle(d);
}

void file_forget(struct destination *d, struct item *i)
{
	drop(d, i, d->settings->resume);
	if (i->file.dir) {
		directory_release(d, i->file.dir);
		dirs_release(d->dirs, i->file.dir);
	}
	item_free(i);
}

void file_drop_all(struct destination *d)
{
	struct item *i;
	size_t at = 0;

	while (d->items.table && (i = items_remove_any(&d->items, &at))) {
		name_incomplete(d, i);
		file_forget(d, i);
	}
}
