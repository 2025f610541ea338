/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The commit thread: makes batches of complete files durable, and gives them their names.
 *
 * All together, a round is: syncfs(2); then the files of the batch before this one are done, whose
 * names that flush has made durable; then this batch is renamed. A round without new files ends the
 * last batch. So a batch costs one flush, however many files it has, and the next one is filled
 * meanwhile.
 *
 * Each by itself: fsync(2) of the files, renames, fsync(2) of the directories. Up to COMMIT_FEW
 * files of any file system are committed so: a flush of the whole may take long if others write to
 * it.
 *
 * A flush that fails fails its batch, of which no file is renamed; and the batch before, whose
 * names may not be durable; and all files that were begun before the failure was seen, because the
 * kernel reports it once only.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "copy/destination/commit.h"
#include "copy/destination/commit_state.h"
#include "xdd/base/log.h"
#include "xdd/base/units.h"
#include "xdd/sys/clock.h"

struct kind {
	unsigned long magic;
	enum commit_flush flush;
	bool shared;
};

/*
 * All others, such as stacked ones, FUSE and those outside of the kernel, have each file flushed,
 * and count as shared: their syncfs(2) may do nothing, or may not learn of errors below.
 */
static const struct kind kinds[] = {
	{ 0x01021994, COMMIT_FLUSH_NONE, false }, /* tmpfs */
	{ 0x858458f6, COMMIT_FLUSH_NONE, false }, /* ramfs */
	{ 0x0000ef53, COMMIT_FLUSH_ALL, false },  /* ext2, ext3, ext4 */
	{ 0x58465342, COMMIT_FLUSH_ALL, false },  /* xfs */
	{ 0x9123683e, COMMIT_FLUSH_ALL, false },  /* btrfs */
	{ 0xf2f52010, COMMIT_FLUSH_ALL, false },  /* f2fs */
	{ 0xca451a4e, COMMIT_FLUSH_ALL, false },  /* bcachefs */
	{ 0x00004d44, COMMIT_FLUSH_ALL, false },  /* vfat */
	{ 0x2011bab0, COMMIT_FLUSH_ALL, false },  /* exfat */
	{ 0x00006969, COMMIT_FLUSH_ALL, true },	  /* nfs */
	{ 0x00c36400, COMMIT_FLUSH_ALL, true },	  /* ceph */
	{ 0x794c7630, COMMIT_FLUSH_EACH, false }, /* overlay */
};

static struct kind kind_of(int fd)
{
	const struct kind other = { 0, COMMIT_FLUSH_EACH, true };
	struct statfs st;

	if (fstatfs(fd, &st))
		return other;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		if (kinds[i].magic == (unsigned long)st.f_type)
			return kinds[i];
	}
	return other;
}

/* syncfs(2) reports errors of writes since Linux 5.8. */
static bool syncfs_reports(void)
{
	struct utsname u;
	unsigned major, minor;

	return uname(&u) == 0 && sscanf(u.release, "%u.%u", &major, &minor) == 2 &&
	       (major > 5 || (major == 5 && minor >= 8));
}

enum commit_flush commit_fs_flush(int fd)
{
	enum commit_flush flush = kind_of(fd).flush;

	return flush == COMMIT_FLUSH_ALL && !syncfs_reports() ? COMMIT_FLUSH_EACH : flush;
}

bool commit_fs_is_shared(int fd)
{
	return kind_of(fd).shared;
}

int commit_fs_link(int fd, int dir_fd, const char *name)
{
	char path[32];

	if (linkat(fd, "", dir_fd, name, AT_EMPTY_PATH) == 0)
		return 0;
	if (errno != ENOENT)
		return -errno;
	/* Only some kernels let all users do that. */
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return linkat(AT_FDCWD, path, dir_fd, name, AT_SYMLINK_FOLLOW) ? -errno : 0;
}

/*
 * The durable ranges of files that are not complete, in the journal, for -R.
 *
 * Data threads report what they have written. Each second the commit thread takes the ranges that
 * are new, flushes the file, and appends the ranges to the journal, in this order: a record never
 * says more than what is durable. After a flush that failed nothing more of the file is recorded,
 * and the file fails when it is complete: the kernel reports a lost page only once.
 */

#define RECORD_NS NS_PER_SEC

/* ---- files that are tracked ---- */

int commit_track(struct commit *c, struct commit_file *f, bool listed)
{
	struct commit_progress *p = calloc(1, sizeof(*p));

	if (!p)
		return -ENOMEM;
	p->file = f;
	p->listed = listed;
	pthread_mutex_lock(&c->progress_lock);
	/* Two threads may come with the first ranges of a file. */
	if (f->progress) {
		pthread_mutex_unlock(&c->progress_lock);
		free(p);
		return 0;
	}
	p->next = c->progress;
	p->at = &c->progress;
	if (p->next)
		p->next->at = &p->next;
	c->progress = p;
	f->progress = p;
	atomic_fetch_add(&c->n_progress, 1);
	pthread_mutex_unlock(&c->progress_lock);

	pthread_mutex_lock(&c->lock);
	if (c->asleep)
		pthread_cond_signal(&c->changed);
	pthread_mutex_unlock(&c->lock);
	return 0;
}

int commit_wrote(struct commit *c, struct commit_file *f, uint64_t begin, uint64_t end)
{
	bool tracked;
	int err = 0;

	if (!c->resume || !f->number)
		return 0;
	pthread_mutex_lock(&c->progress_lock);
	tracked = f->progress;
	if (tracked)
		err = extents_add(&f->progress->fresh, begin, end);
	pthread_mutex_unlock(&c->progress_lock);
	if (tracked)
		return err;
	err = commit_track(c, f, false);
	return err ? err : commit_wrote(c, f, begin, end);
}

/* ---- records ---- */

static int list_file(struct commit *c, const struct commit_file *f)
{
	char path[JOURNAL_MAX_PATH_BYTES];
	struct journal_record r = { .type = JOURNAL_FILE,
				    .path = path,
				    .number = f->number,
				    .size_bytes = f->entry->size_bytes,
				    .mtime_ns = f->entry->mtime_ns,
				    .version = f->entry->version };
	struct stat st;

	if (fstat(f->fd, &st))
		return -errno;
	r.inode = st.st_ino;
	if (!dirs_whole_path(c->dirs, f->dir, f->entry->name, path, sizeof(path)))
		return -ENAMETOOLONG;
	return commit_record(c, &r);
}

static int list_ranges(struct commit *c, const struct commit_file *f, const struct extents *x)
{
	int err = 0;

	for (size_t i = 0; i < x->n && !err; i += JOURNAL_MAX_RANGES) {
		size_t rest = x->n - i;
		const struct journal_record r = {
			.type = JOURNAL_RANGES,
			.number = f->number,
			.ranges = x->items + i,
			.n_ranges = rest < JOURNAL_MAX_RANGES ? rest : JOURNAL_MAX_RANGES,
		};

		err = commit_record(c, &r);
	}
	return err;
}

/*
 * Flush the file and record the ranges. `*listed` becomes true. Returns -errno of the flush; where
 * the journal cannot be written, more is sent again, and the file is none the worse for it.
 */
static int commit_resume_record(struct commit *c, const struct commit_file *f,
				const struct extents *x, bool *listed)
{
	if (fdatasync(f->fd))
		return -errno;
	if (!*listed && list_file(c, f))
		return 0;
	*listed = true;
	list_ranges(c, f, x);
	return 0;
}

/* The next file with ranges that are not recorded, and these; it is marked. NULL: there is none. */
static struct commit_progress *take_fresh(struct commit *c, struct extents *x, bool *listed)
{
	struct commit_progress *p;

	pthread_mutex_lock(&c->progress_lock);
	for (p = c->progress; p && (p->round == c->record_round || !p->fresh.n || p->err);)
		p = p->next;
	if (p) {
		p->round = c->record_round;
		p->flushing = true;
		*x = p->fresh;
		*listed = p->listed;
		p->fresh = (struct extents){ .n = 0 };
	}
	pthread_mutex_unlock(&c->progress_lock);
	return p;
}

static void give_back(struct commit *c, struct commit_progress *p, bool listed, int err)
{
	pthread_mutex_lock(&c->progress_lock);
	p->flushing = false;
	p->listed = listed;
	if (err)
		p->err = err;
	pthread_cond_broadcast(&c->flushed);
	pthread_mutex_unlock(&c->progress_lock);
}

static void record_all(struct commit *c)
{
	struct commit_progress *p;
	bool any = false, listed;
	struct extents x;

	c->record_round++;
	while ((p = take_fresh(c, &x, &listed))) {
		int err = commit_resume_record(c, p->file, &x, &listed);

		give_back(c, p, listed, err);
		extents_clear(&x);
		any = true;
	}
	if (any) {
		commit_flush_journal(c);
		hold(HOLD_RANGE_DURABLE);
	}
}

/* ---- ends ---- */

int commit_untrack(struct commit *c, struct commit_file *f, bool keep)
{
	struct commit_progress *p = f->progress;
	int err;

	if (!p)
		return 0;
	pthread_mutex_lock(&c->progress_lock);
	while (p->flushing)
		pthread_cond_wait(&c->flushed, &c->progress_lock);
	*p->at = p->next;
	if (p->next)
		p->next->at = p->at;
	atomic_fetch_sub(&c->n_progress, 1);
	pthread_mutex_unlock(&c->progress_lock);

	err = p->err;
	if (keep && !err && p->fresh.n)
		err = commit_resume_record(c, f, &p->fresh, &p->listed);
	f->kept = p->listed;
	f->progress = NULL;
	extents_clear(&p->fresh);
	free(p);
	return err;
}

void commit_gone(struct commit *c, struct commit_file *f)
{
	const struct journal_record gone = { .type = JOURNAL_GONE, .number = f->number };

	if (f->kept)
		commit_record(c, &gone);
	f->kept = false;
}

int commit_proven(struct commit *c, struct commit_file *f, const struct extents *proven)
{
	const struct journal_record gone = { .type = JOURNAL_GONE, .number = f->number };
	int err = commit_record(c, &gone);

	if (!err)
		err = list_file(c, f);
	if (!err)
		err = list_ranges(c, f, proven);
	return err;
}

/* ---- the commit thread ---- */

/* Do what is due each second. The commit thread. */
static void commit_tick(struct commit *c)
{
	const uint64_t now_ns = clock_kernel_ns();

	if (atomic_load(&c->n_progress) && now_ns - c->recorded_ns >= RECORD_NS) {
		record_all(c);
		c->recorded_ns = clock_kernel_ns();
	}
	if (now_ns - c->touched_ns >= JOURNAL_TOUCH_NS) {
		c->touched_ns = now_ns;
		pthread_mutex_lock(&c->journal_lock);
		journal_touch(&c->journal);
		pthread_mutex_unlock(&c->journal_lock);
	}
}

/* How long the thread may sleep. With the lock. */
static uint64_t commit_sleep_ns(const struct commit *c)
{
	const uint64_t now_ns = clock_kernel_ns(), due_ns = c->recorded_ns + RECORD_NS;

	if (!atomic_load(&c->n_progress))
		return JOURNAL_TOUCH_NS;
	return due_ns > now_ns ? due_ns - now_ns : 0;
}

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

static struct commit_file *commit_list_take(struct commit_list *l)
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

static void commit_thread_leave(struct commit *c, struct near *d)
{
	if (d->node && d->fd >= 0)
		dirs_done(c->dirs, d->node);
	d->node = NULL;
}

static int commit_thread_enter(struct commit *c, struct near *d, struct dir_node *node)
{
	if (d->node == node)
		return d->fd;
	commit_thread_leave(c, d);
	d->node = node;
	d->fd = dirs_fd(c->dirs, node);
	return d->fd;
}

/* ---- steps of a file ---- */

static void commit_thread_fail(struct commit_file *f, int err, const char *what)
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
		commit_thread_fail(f, -errno, "close");
	f->fd = -1;
}

/* A file that is there already is replaced at once, which only a rename does. */
static int link_file(struct commit *c, const struct commit_file *f, int dir_fd)
{
	char name[COPY_TEMPORARY_SIZE];
	int err = commit_fs_link(f->fd, dir_fd, f->entry->name);

	if (err != -EEXIST)
		return err;
	commit_temporary_name(c->session, f->number, name);
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
	int fd = f->err ? f->err : commit_thread_enter(c, d, f->dir);

	if (fd >= 0)
		commit_thread_fail(f, link_file(c, f, fd), "link");
	else
		commit_thread_fail(f, fd, "link");
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
	commit_temporary_name(c->session, f->number, name);
	fd = commit_thread_enter(c, d, f->dir);
	if (fd < 0)
		commit_thread_fail(f, fd, "rename");
	else if (!f->err && renameat(fd, name, fd, f->entry->name))
		commit_thread_fail(f, -errno, "rename");
	if (f->err && fd >= 0)
		unlinkat(fd, name, 0);
}

/* Close the files and give them their names. Any thread. */
static void commit_rename_all(struct commit *c, struct commit_list *l)
{
	struct near d = { .node = NULL };

	for (struct commit_file *f = l->head; f; f = f->next) {
		hold(HOLD_BEFORE_RENAME);
		give_name(c, &d, f);
		hold(HOLD_AFTER_RENAME);
	}
	commit_thread_leave(c, &d);
}

static void fail_all(struct commit_list *l, int err)
{
	for (struct commit_file *f = l->head; f; f = f->next)
		commit_thread_fail(f, err, "flush");
}

/* It belongs to the caller of the commit then. */
static void commit_end(struct commit *c, struct commit_file *f)
{
	/* Its name is durable: without that, -R would miss the file under its old one. */
	commit_gone(c, f);
	c->done(c->arg, f, f->err, f->what);
}

void commit_at_once(struct commit *c, struct commit_file *f)
{
	struct commit_list l = { .head = NULL };

	commit_thread_fail(f, commit_untrack(c, f, false), "flush");
	commit_list_add(&l, f);
	commit_rename_all(c, &l);
	commit_end(c, f);
}

static void commit_thread_finish(struct commit *c, struct commit_list *l)
{
	const size_t n = l->n;
	struct commit_file *f;

	if (!n)
		return;
	while ((f = commit_list_take(l)))
		commit_end(c, f);
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
		commit_thread_fail(f, commit_untrack(c, f, false), "flush");
		if (f->losses != losses)
			commit_thread_fail(f, -EIO, "flush");
		else if (!f->number && f->fd >= 0 && fs->flush != COMMIT_FLUSH_EACH)
			commit_thread_fail(f, flush_fd(f->fd), "flush");
	}
}

static void flush_files(struct commit_list *l)
{
	for (struct commit_file *f = l->head; f; f = f->next) {
		if (f->fd >= 0)
			commit_thread_fail(f, flush_fd(f->fd), "flush");
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
		fd = commit_thread_enter(c, &d, f->dir);
		if (before != f->dir)
			err = fd < 0 ? fd : flush_dir(fd);
		commit_thread_fail(f, err, "flush");
	}
	commit_thread_leave(c, &d);
}

static void commit_each(struct commit *c, struct commit_fs *fs)
{
	/* All at once first: each file then has little left. */
	if (fs->batch.n > COMMIT_FEW && flush_fs(fs))
		fail_all(&fs->batch, -EIO);
	flush_files(&fs->batch);
	commit_rename_all(c, &fs->batch);
	flush_dirs(c, &fs->batch);
	commit_thread_finish(c, &fs->batch);
}

/* A round of syncfs(2); the batch may be empty. */
static void commit_all(struct commit *c, struct commit_fs *fs)
{
	int err = flush_fs(fs);

	if (err) {
		fail_all(&fs->renamed, err);
		fail_all(&fs->batch, err);
	}
	commit_thread_finish(c, &fs->renamed);
	commit_rename_all(c, &fs->batch);
	fs->renamed = fs->batch;
	fs->batch = (struct commit_list){ .head = NULL };
}

/* True: no names wait for a flush, and the files of the batch are few, and open. */
static bool are_few(const struct commit_fs *fs)
{
	if (!fs->batch.n || fs->batch.n > COMMIT_FEW || fs->renamed.n)
		return false;
	for (const struct commit_file *f = fs->batch.head; f; f = f->next) {
		if (f->fd < 0)
			return false;
	}
	return true;
}

static void commit_fs(struct commit *c, struct commit_fs *fs)
{
	if (!fs->batch.n && !fs->renamed.n)
		return;
	check_files(c, fs);
	if (fs->flush == COMMIT_FLUSH_EACH || are_few(fs))
		commit_each(c, fs);
	else
		commit_all(c, fs);
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
			if (idle || clock_kernel_ns() >= old_ns)
				return;
			if (old_ns == UINT64_MAX)
				old_ns = clock_kernel_ns() + COMMIT_OLD_NS;
		}
		before = c->put_files;
		nap(c, COMMIT_NAP_NS);
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
static bool commit_thread_work(struct commit *c)
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

	while (commit_thread_work(c))
		;
	return NULL;
}
