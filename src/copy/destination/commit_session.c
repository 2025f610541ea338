/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The session of a commit: its begin and end, its journal, with what -R records of files, and the
 * file systems of the tree. Callers: destination.c, entries.c, and commit.c and stale.c.
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

#include "copy/destination/commit_state.h"
#include "xdd/base/codec.h"
#include "xdd/base/err.h"
#include "xdd/base/log.h"
#include "xdd/base/units.h"
#include "xdd/sync/thread.h"
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

/* Of the file system of an open file or directory. Any thread. */
static enum commit_flush commit_fs_flush(int fd)
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

/* ---- file systems of the tree ---- */

/* Returns the number of the file system, or -ENOENT. With place_lock. */
static int commit_place_find(struct commit *c, dev_t dev)
{
	uint32_t n = atomic_load(&c->n_fs);

	for (uint32_t i = 0; i < n; i++) {
		if (c->fs[i].dev == dev)
			return (int)i;
	}
	return n == COMMIT_MAX_FS ? COMMIT_MAX_FS - 1 : -ENOENT;
}

/* Add a file system; `fd` becomes its own. With place_lock. */
static int commit_place_add(struct commit *c, dev_t dev, int fd)
{
	uint32_t n = atomic_load(&c->n_fs);
	struct commit_fs *fs = &c->fs[n];

	fs->dev = dev;
	fs->fd = fd;
	fs->flush = commit_fs_flush(fd);
	if (n == COMMIT_MAX_FS - 1) {
		fs->flush = COMMIT_FLUSH_EACH;
		fs->fd = -1;
		close(fd);
	}
	atomic_store(&c->n_fs, n + 1);
	pthread_mutex_lock(&c->lock);
	c->each = c->each || fs->flush == COMMIT_FLUSH_EACH;
	pthread_mutex_unlock(&c->lock);
	return (int)n;
}

/* Of a directory that may not be read, a file without a name serves as well. */
static int open_fs(int dir_fd)
{
	int fd = openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0 && errno == EACCES)
		fd = openat(dir_fd, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	return fd < 0 ? -errno : fd;
}

/*
 * The descriptor is opened before anything is written to the file system: syncfs(2) reports what
 * failed since then.
 */
int commit_fs_of(struct commit *c, int dir_fd)
{
	struct stat st;
	int i, fd;

	if (fstat(dir_fd, &st))
		return -errno;
	pthread_mutex_lock(&c->place_lock);
	i = commit_place_find(c, st.st_dev);
	pthread_mutex_unlock(&c->place_lock);
	if (i >= 0)
		return i;
	fd = open_fs(dir_fd);
	if (fd < 0)
		return fd;
	pthread_mutex_lock(&c->place_lock);
	i = commit_place_find(c, st.st_dev);
	if (i >= 0)
		close(fd);
	else
		i = commit_place_add(c, st.st_dev, fd);
	pthread_mutex_unlock(&c->place_lock);
	return i;
}

/* ---- journal ---- */

/* With journal_lock. */
static int commit_append(struct commit *c, const struct journal_record *r)
{
	uint8_t data[JOURNAL_MAX_RECORD_BYTES];
	size_t n = journal_encode(r, data, sizeof(data));

	return n ? journal_append(&c->journal.file, data, n) : -EINVAL;
}

/* With journal_lock. */
static int create_journal(struct commit *c)
{
	struct journal_record head = { .type = JOURNAL_HEAD,
				       .session = c->session,
				       .tree_id = c->tree_id,
				       .resumable = c->job->settings->resume };
	struct journal_record root = { .type = JOURNAL_ROOT, .renamed = true };
	struct dir_node *node = dirs_root(c->dirs);
	int fd = dirs_fd(c->dirs, node), err;

	if (fd < 0)
		return fd;
	journal_identify(&head);
	err = journal_create(&c->journal, fd, &head);
	dirs_done(c->dirs, node);
	if (!err && c->renamed_root)
		err = commit_append(c, &root);
	return err;
}

int commit_journal(struct commit *c)
{
	bool created = false;
	int err;

	pthread_mutex_lock(&c->journal_lock);
	if (!c->journal_tried) {
		c->journal_tried = true;
		created = create_journal(c) == 0;
	}
	err = c->journal.file.fd >= 0 ? 0 : -EROFS;
	pthread_mutex_unlock(&c->journal_lock);
	if (created)
		hold(HOLD_JOURNAL_CREATED);
	return err;
}

int commit_record(struct commit *c, const struct journal_record *r)
{
	int err;

	pthread_mutex_lock(&c->journal_lock);
	err = c->journal.file.fd >= 0 ? commit_append(c, r) : -EROFS;
	pthread_mutex_unlock(&c->journal_lock);
	return err;
}

void commit_flush_journal(struct commit *c)
{
	pthread_mutex_lock(&c->journal_lock);
	/* One that cannot become durable makes a later copy send more, at most. */
	if (c->journal.file.fd >= 0)
		journal_flush(&c->journal.file);
	pthread_mutex_unlock(&c->journal_lock);
}

void commit_note_root(struct commit *c, bool renamed)
{
	const struct journal_record root = { .type = JOURNAL_ROOT, .renamed = renamed };

	pthread_mutex_lock(&c->journal_lock);
	if (c->journal.file.fd >= 0 && renamed != c->renamed_root)
		commit_append(c, &root);
	c->renamed_root = renamed;
	pthread_mutex_unlock(&c->journal_lock);
	if (!renamed || copy_reads_only(c->job))
		return;
	/* Without it, the next copy would take the new name for a directory to copy into. */
	if (commit_journal(c))
		return; /* nothing can be made there */
	if (c->job->settings->resume)
		commit_flush_journal(c);
}

/* An empty journal, if the journal of the session that is continued has another name. */
static void mark_root(struct commit *c)
{
	struct dir_node *root = dirs_root(c->dirs);
	char name[COPY_TEMPORARY_SIZE];
	int dir = dirs_fd(c->dirs, root), fd;

	if (dir < 0)
		return;
	commit_journal_name(c->own_session, name);
	fd = openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	dirs_done(c->dirs, root);
	c->marked = fd >= 0;
	if (fd >= 0)
		close(fd);
}

void commit_announce(struct commit *c)
{
	if (copy_reads_only(c->job))
		return;
	if (c->session != c->own_session)
		mark_root(c);
	else if (commit_journal(c))
		return; /* nothing can be made there */
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

	if (!c->job->settings->resume || !f->number)
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

/* ---- what is due each second ---- */

void commit_tick(struct commit *c)
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

uint64_t commit_sleep_ns(const struct commit *c)
{
	const uint64_t now_ns = clock_kernel_ns(), due_ns = c->recorded_ns + RECORD_NS;

	if (!atomic_load(&c->n_progress))
		return JOURNAL_TOUCH_NS;
	return due_ns > now_ns ? due_ns - now_ns : 0;
}

/* ---- begin and end ---- */

static void commit_places_free(struct commit *c)
{
	for (unsigned i = 0; i < COMMIT_PLACES; i++) {
		dirs_release(c->dirs, c->places[i].node);
		c->places[i].node = NULL;
	}
	for (uint32_t i = 0; i < atomic_load(&c->n_fs); i++) {
		if (c->fs[i].fd >= 0)
			close(c->fs[i].fd);
	}
}

static struct commit *new_commit(const struct copy_job *job, struct dirs *dirs, uint64_t tree_id,
				 commit_done *done, void *arg)
{
	struct commit *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->dirs = dirs;
	c->done = done;
	c->arg = arg;
	c->job = job;
	c->own_session = bytes_get(job->session, 8);
	c->session = c->own_session;
	c->tree_id = tree_id;
	c->journal.file.fd = -1;
	pthread_mutex_init(&c->journal_lock, NULL);
	pthread_mutex_init(&c->place_lock, NULL);
	pthread_mutex_init(&c->progress_lock, NULL);
	pthread_cond_init(&c->flushed, NULL);
	pthread_mutex_init(&c->lock, NULL);
	pthread_cond_init(&c->changed, NULL);
	pthread_cond_init(&c->room, NULL);
	return c;
}

static void free_commit(struct commit *c)
{
	commit_places_free(c);
	journal_close(&c->journal.file);
	pthread_cond_destroy(&c->room);
	pthread_cond_destroy(&c->changed);
	pthread_mutex_destroy(&c->lock);
	pthread_cond_destroy(&c->flushed);
	pthread_mutex_destroy(&c->progress_lock);
	pthread_mutex_destroy(&c->place_lock);
	pthread_mutex_destroy(&c->journal_lock);
	free(c);
}

static int commit_begin(struct commit *c, struct err *why)
{
	int err = commit_sweep(c, why);

	if (err)
		return err_sys(why, err, "cannot look for interrupted copies");
	if (c->job->settings->resume) {
		err = commit_journal(c);
		if (err)
			return err_sys(why, err, "cannot create a journal");
	}
	err = thread_start(&c->thread, commit_thread, c);
	c->started = !err;
	return err ? err_sys(why, err, "cannot start a thread") : 0;
}

int commit_open(struct commit **commit, const struct copy_job *job, struct dirs *dirs,
		uint64_t tree_id, commit_done *done, void *arg, struct err *why)
{
	struct commit *c = new_commit(job, dirs, tree_id, done, arg);
	int err = 0;

	*commit = NULL;
	err_clear(why);
	if (!c)
		return err_errno(why, -ENOMEM);
	if (!copy_reads_only(job))
		err = commit_begin(c, why);
	if (err) {
		/* A session that was to be continued is left for the next copy. */
		commit_close(c, c->kept, NULL);
		return err;
	}
	*commit = c;
	return 0;
}

void commit_unlink_quietly(int dir_fd, const char *name)
{
	struct timespec times[2];
	struct stat st;
	bool known = fstat(dir_fd, &st) == 0;

	if (unlinkat(dir_fd, name, 0) || !known)
		return;
	times[0] = st.st_atim;
	times[1] = st.st_mtim;
	if (futimens(dir_fd, times))
		return; /* it is of another user: its times were not set either */
}

void commit_changed_dir(struct commit *c)
{
	if (c)
		atomic_store(&c->changed_dirs, true);
}

/*
 * Directories have got their attributes after the last batch. Files are durable, so a copy of files
 * only does not wait for what others have written.
 */
static void flush_rest(struct commit *c)
{
	if (!atomic_load(&c->changed_dirs))
		return;
	for (uint32_t i = 0; i < atomic_load(&c->n_fs); i++) {
		/* Files were durable before: no result depends on it. */
		if (c->fs[i].fd >= 0)
			syncfs(c->fs[i].fd);
	}
}

static void remove_journal(struct commit *c, uint64_t session)
{
	struct dir_node *root = dirs_root(c->dirs);
	char name[COPY_TEMPORARY_SIZE];
	int fd = dirs_fd(c->dirs, root);

	if (fd < 0)
		return;
	commit_journal_name(session, name);
	commit_unlink_quietly(fd, name);
	dirs_done(c->dirs, root);
}

void commit_close(struct commit *c, bool interrupted, uint64_t *storage_ns)
{
	bool keep;

	if (!c)
		return;
	if (c->started) {
		pthread_mutex_lock(&c->lock);
		c->quit = true;
		pthread_cond_signal(&c->changed);
		pthread_mutex_unlock(&c->lock);
		pthread_join(c->thread, NULL);
		flush_rest(c);
	}
	keep = (interrupted && c->job->settings->resume) || atomic_load(&c->left);
	commit_kept_free(c, !keep);
	/* It also says what the root is. */
	keep = keep || (interrupted && c->renamed_root);
	stale_leave(c);
	if (c->marked)
		remove_journal(c, c->own_session);
	if (c->journal.file.fd >= 0 && !keep)
		remove_journal(c, c->session);
	else if (c->journal.file.fd >= 0)
		commit_flush_journal(c);
	if (storage_ns)
		*storage_ns += c->storage_ns;
	free_commit(c);
}

void commit_hurry(struct commit *c)
{
	pthread_mutex_lock(&c->lock);
	c->hurry_files = c->put_files;
	pthread_cond_signal(&c->changed);
	pthread_mutex_unlock(&c->lock);
}
