/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The destination of a copy: set up, the wait for the end, tear down, and failures in words. Called
 * by attempt.c and server.c.
 */
#include "copy/destination/destination.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "copy/destination/commit.h"
#include "copy/tree/dirs.h"
#include "xdd/base/err.h"
#include "xdd/base/file.h"

/* ---- reports ---- */

const char *dest_path(struct destination *d, struct dir_node *dir, const char *name, char *buf)
{
	const bool is_device = d->root.device >= 0;

	if (dir)
		return dirs_path(d->dirs, dir, name, buf, COPY_MAX_PATH_BYTES);
	snprintf(buf, COPY_MAX_PATH_BYTES, "%s", name && !is_device ? name : d->job->destination);
	return buf;
}

/* Errors after which no other file can be written either. */
static bool is_fatal(int err)
{
	return err == -ENOSPC || err == -EDQUOT || err == -EROFS || err == -EIO;
}

/* The name names a link, a FIFO or the like. */
static bool is_no_file(struct destination *d, struct dir_node *dir, const char *name)
{
	int dir_fd = dir ? dirs_fd(d->dirs, dir) : -1;
	struct stat st;
	bool other;

	if (dir_fd < 0)
		return false;
	other = !fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) && !S_ISREG(st.st_mode);
	dirs_done(d->dirs, dir);
	return other;
}

void dest_failed(struct destination *d, uint64_t id, struct dir_node *dir, const char *name,
		 const char *what, int err)
{
	char path[COPY_MAX_PATH_BYTES];

	if (err == -ECANCELED)
		return;
	dest_path(d, dir, name, path);
	if (err == -EEXIST && d->settings->in_place && is_no_file(d, dir, name))
		role_fail(d->role, id, COPY_FAILED, path,
			  "is not a regular file there, and -inplace replaces nothing");
	else if (is_fatal(err) && !copy_reads_only(d->job))
		role_cancel(d->role, COPY_FAILED, "%.512s: cannot %s (%s)", path, what,
			    strerror(-err));
	else
		role_fail(d->role, id, COPY_FAILED, path, "cannot %s (%s)", what, strerror(-err));
}

void dest_failed_text(struct destination *d, uint64_t id, struct dir_node *dir, const char *name,
		      const char *text)
{
	char path[COPY_MAX_PATH_BYTES];

	role_fail(d->role, id, COPY_FAILED, dest_path(d, dir, name, path), "%s", text);
}

void dest_differs(struct destination *d, uint64_t id, struct dir_node *dir, const char *name,
		  const char *fmt, ...)
{
	struct copy_failure f = { .id = id, .status = XDD_MISCOMPARE, .differs = true };
	char path[COPY_MAX_PATH_BYTES];
	va_list ap;

	copy_failure_path(&f, dest_path(d, dir, name, path));
	va_start(ap, fmt);
	vsnprintf(f.text, sizeof(f.text), fmt, ap);
	va_end(ap);
	role_failure(d->role, &f);
}

int dest_violation(struct err *why, const char *what)
{
	return err_set(why, -EBADMSG, "%s", what);
}

/* ---- the receiving thread and counts ---- */

/*
 * The receiving thread lives until role_close(), and another one may have ended the copy while it
 * handles a message. What it uses can be freed after this.
 */
static void end_receiving(struct destination *d)
{
	pthread_mutex_lock(&d->receiving);
	d->ended = true;
	pthread_mutex_unlock(&d->receiving);
}

static uint64_t destination_get(_Atomic uint64_t *n)
{
	return atomic_load_explicit(n, memory_order_relaxed);
}

static void destination_counts(void *arg, struct copy_counts *c)
{
	struct destination *d = arg;
	struct dest_tally *t = &d->tally;

	c->done_files = destination_get(&t->done_files);
	c->done_bytes = destination_get(&t->done_bytes);
	c->skipped_files = destination_get(&t->skipped_files);
	c->skipped_bytes = destination_get(&t->skipped_bytes);
	c->dirs = destination_get(&t->dirs);
	c->links = destination_get(&t->links);
	c->moved_bytes = destination_get(&t->moved_bytes);
	c->storage_ns = destination_get(&t->storage_ns);
	c->network_ns = destination_get(&t->network_ns);
	c->waiting_ns = destination_get(&t->waiting_ns);
	c->checking_ns = destination_get(&t->checking_ns);
	c->flush_ns = destination_get(&t->flush_ns);
	c->resumed_bytes = destination_get(&t->resumed_bytes);
	c->owners_not_set = destination_get(&t->owners_not_set);
	c->cpu_ns = atomic_load(&d->cpu.cpu_ns);
	c->cpu_wait_ns = atomic_load(&d->cpu.wait_ns);
}

/* ---- begin and end ---- */

int begin_root(struct destination *d, const struct copy_entry *first)
{
	struct err why = { 0 };
	uint64_t id = root_tree_id(d->job);
	int status = root_open(&d->root, d->job, first->kind == COPY_END ? NULL : first, &why);
	int err;

	if (status) {
		role_fatal(d->role, status, "%s", why.text);
		return 0;
	}
	if (d->root.fd < 0)
		return 0;
	d->dirs = dirs_new(d->root.fd, 0);
	d->root.fd = -1;
	if (!d->dirs)
		return -ENOMEM;
	err = commit_open(&d->commit, d->job, d->dirs, id, file_done, d, &why);
	if (err)
		role_fatal(d->role,
			   err == -EACCES || err == -EROFS ? COPY_NOT_WRITABLE : COPY_FAILED,
			   "%s: %s", d->job->destination, why.text);
	else
		commit_note_root(d->commit, d->root.renamed);
	if (!err && err_is_set(&why))
		role_fail(d->role, 0, 0, "", "%s", why.text);
	return 0;
}

/* Attributes of the root come after the last flush of the commit. */
static void flush_root(struct destination *d)
{
	struct dir_node *root = dirs_root(d->dirs);
	int fd = dirs_fd(d->dirs, root), err = 0;
	char path[COPY_MAX_PATH_BYTES];

	if (fd < 0)
		return; /* its attributes were not set either */
	/* Some kinds of directories have nothing to flush, or may not be read. */
	if (fsync(fd) && errno != EINVAL && errno != ENOTSUP && errno != EBADF)
		err = -errno;
	dirs_done(d->dirs, root);
	if (err)
		role_fail(d->role, 0, COPY_FAILED, dest_path(d, root, NULL, path),
			  "cannot make its attributes durable (%s)", strerror(-err));
}

static void finish_root(struct destination *d)
{
	const struct copy_entry *e = d->entries ? entries_of_root(d->entries) : NULL;

	if (!e || !d->dirs || copy_reads_only(d->job) ||
	    (!entries_complete(d->entries) && d->root.old_mode == META_KEEP_MODE))
		return;
	directory_attributes(d, dirs_root(d->dirs), e, d->root.fresh, d->root.old_mode);
	flush_root(d);
}

/*
 * All other threads have ended, except the role's. The order matters: the commit removes its
 * journal from the root, whose times are set after that.
 */
static void end_files(struct destination *d)
{
	bool early = dest_stopped(d);
	uint64_t flush_ns = 0;

	if (d->links)
		links_drop(d);
	file_drop_all(d);
	commit_close(d->commit, early, &flush_ns);
	d->commit = NULL;
	/* A link whose first file was committed last is complete now, or was dropped. */
	if (d->links)
		links_drop(d);
	dest_tally_add(&d->tally.flush_ns, flush_ns);
	finish_root(d);
	answers_flush(d);
}

static void close_all(struct destination *d)
{
	if (d->dirs || d->entries)
		entries_free(d, d->entries);
	links_free(d);
	inplace_free(d->inplace);
	dirs_free(d->dirs);
	root_close(&d->root);
	meta_owners_free(d->owners);
	pthread_mutex_destroy(&d->answers.lock);
	items_destroy(&d->items);
	stamps_close(d->stamps);
	pthread_mutex_destroy(&d->receiving);
}

/* Into the directory of the destination; the current one for a device. */
static void write_stamps(struct destination *d)
{
	struct dir_node *root = d->dirs ? dirs_root(d->dirs) : NULL;
	int fd = root ? dirs_fd(d->dirs, root) : AT_FDCWD;

	stamps_write(d->stamps, d->role, fd, dest_stopped(d));
	if (fd >= 0)
		dirs_done(d->dirs, root);
}

static int open_all(struct destination *d)
{
	d->entries = entries_new();
	d->links = links_new();
	if (!d->entries || !d->links)
		return -ENOMEM;
	if (d->settings->in_place) {
		d->inplace = inplace_new();
		if (!d->inplace)
			return -ENOMEM;
	}
	if (d->settings->everything) {
		d->owners = meta_owners_new();
		if (!d->owners)
			return -ENOMEM;
	}
	if (stamps_open(&d->stamps, d->job, COPY_DESTINATION))
		return -ENOMEM;
	return items_init(&d->items);
}

/* Without results for all entries the source may not finish. */
static void check_finish(struct destination *d)
{
	if (!dest_stopped(d) &&
	    (!entries_complete(d->entries) || atomic_load(&d->items.open_entries)))
		role_fatal(d->role, COPY_FAILED, "%s ended the copy before all was done",
			   d->job->peer_host);
}

static int destination_run(struct destination *d)
{
	struct receivers *receivers = NULL;
	int err = role_start(d->role);

	if (!err)
		err = receivers_start(&receivers, d);
	if (err)
		role_fatal(d->role, COPY_FAILED, "cannot start (%s)", strerror(-err));
	if (role_wait_finish(d->role))
		check_finish(d);
	atomic_store(&d->finishing, true);
	receivers_end(receivers);
	end_receiving(d);
	write_stamps(d);
	end_files(d);
	return role_finish(d->role);
}

static int cannot_start(struct copy_job *job, int err)
{
	job->why_side = COPY_DESTINATION;
	return err_set(&job->why, COPY_FAILED, "cannot start (%s)", strerror(-err));
}

int copy_destination(struct copy_job *job)
{
	static const struct role_ops ops = { .receive = receive_from_channel,
					     .counts = destination_counts };
	struct destination *d = calloc(1, sizeof(*d));
	int status = COPY_FAILED, err;

	if (!d)
		return cannot_start(job, -ENOMEM);
	d->job = job;
	d->settings = job->settings;
	d->host = identity_host();
	d->mask = newfile_mask();
	root_init(&d->root);
	err = role_open(&d->role, job, COPY_DESTINATION, &ops, d);
	if (err) {
		free(d);
		return cannot_start(job, err);
	}
	pthread_mutex_init(&d->answers.lock, NULL);
	err = open_all(d);
	if (err)
		role_fatal(d->role, COPY_FAILED, "cannot start (%s)", strerror(-err));
	status = destination_run(d);
	role_close(d->role);
	close_all(d);
	free(d);
	return status;
}
