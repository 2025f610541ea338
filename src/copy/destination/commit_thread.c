/*
 * The commit thread: makes batches of complete files durable, and gives them their names.
 *
 * On a file system with storage, a round is: syncfs(2); then the files of the batch before this one
 * are done, whose names that flush has made durable; then this batch is renamed. A round without
 * new files ends the last batch. So a batch costs one flush, however many files it has, and the
 * next one is filled meanwhile. Up to COMMIT_FEW files have fsync(2) instead, and their directories
 * after the renames: a flush of the whole file system may take long if others write to it.
 *
 * A flush that fails fails its batch, of which no file is renamed; and the batch before, whose
 * names may not be durable; and all files that were begun before the failure was seen, because the
 * kernel reports it once only.
 */
#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "copy/destination/commit_state.h"
#include "xdd/base/log.h"
#include "xdd/base/units.h"
#include "xdd/sys/clock.h"

/* ---- lists ---- */

void commit_list_add(struct commit_list *l, struct commit_file *f)
{
	f->next = NULL;
	if (l->head)
		l->last->next = f;
	else
		l->head = f;
	l->last = f;
	l->n++;
	l->bytes += f->entry ? f->entry->size_bytes : 0;
}

struct commit_file *commit_list_take(struct commit_list *l)
{
	struct commit_file *f = l->head;

	if (f)
		l->head = f->next;
	if (!l->head)
		*l = (struct commit_list){ .head = NULL };
	return f;
}

/* ---- directories ---- */

/* The directory that the last file was in: files come in order. */
struct near {
	struct dir_node *node;
	int fd;
};

static void leave(struct commit *c, struct near *d)
{
	if (d->node && d->fd >= 0)
		dirs_done(c->dirs, d->node);
	d->node = NULL;
}

static int enter(struct commit *c, struct near *d, struct dir_node *node)
{
	if (d->node == node)
		return d->fd;
	leave(c, d);
	d->node = node;
	d->fd = dirs_fd(c->dirs, node);
	return d->fd;
}

/* ---- steps of a file ---- */

static void fail(struct commit_file *f, int err, const char *what)
{
	if (f->err || !err)
		return;
	f->err = err;
	f->what = what;
}

/* Some kinds of files have nothing to flush, and say so. */
static int flush_fd(int fd)
{
	return fsync(fd) && errno != EINVAL && errno != ENOTSUP ? -errno : 0;
}

/* A directory that may not be read cannot be flushed. */
static int flush_dir(int fd)
{
	int err = flush_fd(fd);

	return err == -EBADF ? 0 : err;
}

static void close_file(struct commit_file *f)
{
	if (f->fd >= 0 && close(f->fd) && errno != EINTR)
		fail(f, -errno, "close");
	f->fd = -1;
}

/* A file that is there already is replaced at once, which only a rename does. */
static int link_file(struct commit *c, const struct commit_file *f, int dir_fd)
{
	char name[COPY_TEMPORARY_SIZE];
	int err = commit_fs_link(f->fd, dir_fd, f->entry->name);

	if (err != -EEXIST)
		return err;
	journal_temporary_name(c->session, f->number, name);
	err = commit_fs_link(f->fd, dir_fd, name);
	if (err)
		return err;
	if (renameat(dir_fd, name, dir_fd, f->entry->name) == 0)
		return 0;
	err = -errno;
	unlinkat(dir_fd, name, 0);
	return err;
}

static void name_file(struct commit *c, struct near *d, struct commit_file *f)
{
	int fd = f->err ? f->err : enter(c, d, f->dir);

	if (fd >= 0)
		fail(f, link_file(c, f, fd), "link");
	else
		fail(f, fd, "link");
	close_file(f);
}

static void give_name(struct commit *c, struct near *d, struct commit_file *f)
{
	char name[COPY_TEMPORARY_SIZE];
	int fd;

	if (f->unnamed) {
		name_file(c, d, f);
		return;
	}
	close_file(f);
	if (!f->number)
		return;
	journal_temporary_name(c->session, f->number, name);
	fd = enter(c, d, f->dir);
	if (fd < 0)
		fail(f, fd, "rename");
	else if (!f->err && renameat(fd, name, fd, f->entry->name))
		fail(f, -errno, "rename");
	if (f->err && fd >= 0)
		unlinkat(fd, name, 0);
}

void commit_rename_all(struct commit *c, struct commit_list *l)
{
	struct near d = { .node = NULL };

	for (struct commit_file *f = l->head; f; f = f->next) {
		hold(HOLD_BEFORE_RENAME);
		give_name(c, &d, f);
		hold(HOLD_AFTER_RENAME);
	}
	leave(c, &d);
}

static void fail_all(struct commit_list *l, int err)
{
	for (struct commit_file *f = l->head; f; f = f->next)
		fail(f, err, "flush");
}

/* Report them; they belong to the caller of the commit then. */
static void finish(struct commit *c, struct commit_list *l)
{
	const size_t n = l->n;
	struct commit_file *f;

	if (!n)
		return;
	while ((f = commit_list_take(l))) {
		/* Its name is durable: without that, -R would miss the file under its old one. */
		commit_gone(c, f);
		c->done(c->arg, f, f->err, f->what);
	}
	pthread_mutex_lock(&c->lock);
	c->done_files += n;
	pthread_cond_broadcast(&c->room);
	pthread_mutex_unlock(&c->lock);
}

/* ---- flushes ---- */

/* Returns 0 or -errno; a failure concerns all that was begun before it. */
static int flush_fs(struct commit_fs *fs)
{
	int err = fs->fd >= 0 && syncfs(fs->fd) ? -errno : 0;

	if (err)
		atomic_fetch_add(&fs->losses, 1);
	return err;
}

/* Files that were begun before a flush that failed, and files in place, which may be devices. */
static void check_files(struct commit *c, struct commit_fs *fs)
{
	const uint32_t losses = atomic_load(&fs->losses);

	for (struct commit_file *f = fs->batch.head; f; f = f->next) {
		fail(f, commit_untrack(c, f, false), "flush");
		if (f->losses != losses)
			fail(f, -EIO, "flush");
		else if (!f->number && f->fd >= 0 && fs->flush != COMMIT_FLUSH_EACH)
			fail(f, flush_fd(f->fd), "flush");
	}
}

static void flush_files(struct commit_list *l)
{
	for (struct commit_file *f = l->head; f; f = f->next) {
		if (f->fd >= 0)
			fail(f, flush_fd(f->fd), "flush");
	}
}

/* Flush the directories of files that have their names. */
static void flush_dirs(struct commit *c, struct commit_list *l)
{
	struct near d = { .node = NULL };
	int err = 0;

	for (struct commit_file *f = l->head; f; f = f->next) {
		const struct dir_node *before = d.node;
		int fd;

		if (f->err)
			continue;
		fd = enter(c, &d, f->dir);
		if (before != f->dir)
			err = fd < 0 ? fd : flush_dir(fd);
		fail(f, err, "flush");
	}
	leave(c, &d);
}

static void commit_each(struct commit *c, struct commit_fs *fs)
{
	flush_files(&fs->batch);
	commit_rename_all(c, &fs->batch);
	flush_dirs(c, &fs->batch);
	finish(c, &fs->batch);
}

/* A round of syncfs(2); the batch may be empty. */
static void commit_all(struct commit *c, struct commit_fs *fs)
{
	int err = flush_fs(fs);

	if (err) {
		fail_all(&fs->renamed, err);
		fail_all(&fs->batch, err);
	}
	finish(c, &fs->renamed);
	commit_rename_all(c, &fs->batch);
	fs->renamed = fs->batch;
	fs->batch = (struct commit_list){ .head = NULL };
}

static bool are_open(const struct commit_list *l)
{
	for (const struct commit_file *f = l->head; f; f = f->next) {
		if (f->fd < 0)
			return false;
	}
	return true;
}

static void commit_fs(struct commit *c, struct commit_fs *fs)
{
	const size_t n = fs->batch.n;

	if (!n && !fs->renamed.n)
		return;
	check_files(c, fs);
	if (fs->flush == COMMIT_FLUSH_NONE) {
		commit_rename_all(c, &fs->batch);
		finish(c, &fs->batch);
	} else if (fs->flush == COMMIT_FLUSH_EACH) {
		/* All at once first: each file then has little left. */
		if (n > COMMIT_FEW && flush_fs(fs))
			fail_all(&fs->batch, -EIO);
		commit_each(c, fs);
	} else if (n && n <= COMMIT_FEW && !fs->renamed.n && are_open(&fs->batch)) {
		commit_each(c, fs);
	} else {
		commit_all(c, fs);
	}
}

/* ---- the thread ---- */

static bool has_renamed(const struct commit *c)
{
	for (uint32_t i = 0; i < atomic_load(&c->n_fs); i++) {
		if (c->fs[i].renamed.n)
			return true;
	}
	return false;
}

/* True: there is no reason to collect more before the next round. With the lock. */
static bool is_full(const struct commit *c)
{
	return c->quit || c->hurry_files > c->done_files || c->pending.n >= commit_batch_files(c) ||
	       c->pending.bytes >= COMMIT_BATCH_BYTES;
}

/* Sleep until there is a signal, or for `ns`. With the lock. */
static void nap(struct commit *c, uint64_t ns)
{
	struct timespec until = clock_timespec(clock_kernel_ns() + ns);

	if (ns == UINT64_MAX)
		pthread_cond_wait(&c->changed, &c->lock);
	else
		pthread_cond_clockwait(&c->changed, &c->lock, CLOCK_MONOTONIC, &until);
}

/* Sleep until there is work; those that put files signal. With the lock. */
static void sleep_long(struct commit *c)
{
	c->asleep = true;
	nap(c, commit_sleep_ns(c));
	c->asleep = false;
}

/*
 * Wait until there is a batch: it is large, or old, or no more files come at the moment. A thread
 * that naps costs those that put files no wake-ups; it sleeps longer after COMMIT_NAPS. With the
 * lock.
 */
static void wait_for_batch(struct commit *c, bool renamed)
{
	uint64_t before = UINT64_MAX, old_ns = UINT64_MAX;
	unsigned naps = 0;

	while (!is_full(c)) {
		const bool idle = before == c->put_files;

		if (!c->pending.n && !renamed && idle && ++naps > COMMIT_NAPS) {
			sleep_long(c);
			return;
		}
		if (c->pending.n || renamed) {
			if (idle || !c->slow || clock_kernel_ns() >= old_ns)
				return;
			if (old_ns == UINT64_MAX)
				old_ns = clock_kernel_ns() + COMMIT_OLD_NS;
		}
		before = c->put_files;
		nap(c, c->slow ? COMMIT_NAP_NS : COMMIT_FAST_NAP_NS);
	}
}

/* Sort what is pending by file system. */
static void sort(struct commit *c, struct commit_list *l)
{
	struct commit_file *f;

	while ((f = commit_list_take(l)))
		commit_list_add(&c->fs[f->fs].batch, f);
}

/* One round. False: all is done, and the thread is to end. */
static bool work(struct commit *c)
{
	const bool renamed = has_renamed(c);
	struct commit_list l;
	uint64_t begin_ns;
	bool more;

	pthread_mutex_lock(&c->lock);
	wait_for_batch(c, renamed);
	l = c->pending;
	c->pending = (struct commit_list){ .head = NULL };
	more = !c->quit || l.n || renamed;
	if (l.n)
		pthread_cond_broadcast(&c->room);
	pthread_mutex_unlock(&c->lock);

	begin_ns = clock_kernel_ns();
	sort(c, &l);
	for (uint32_t i = 0; i < atomic_load(&c->n_fs); i++)
		commit_fs(c, &c->fs[i]);
	commit_tick(c);
	c->storage_ns += clock_kernel_ns() - begin_ns;
	pthread_mutex_lock(&c->lock);
	c->rounds++;
	pthread_cond_broadcast(&c->room);
	pthread_mutex_unlock(&c->lock);
	return more;
}

void *commit_thread(void *arg)
{
	struct commit *c = arg;

	while (work(c))
		;
	return NULL;
}
