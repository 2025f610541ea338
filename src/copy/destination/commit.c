/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Complete files get their names; see the header. All that happens to one file is here, from its
 * temporary name on; its session, with the journal, is in commit_session.c. Callers: the threads of
 * the destination.
 *
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
#include "copy/destination/commit.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "copy/destination/commit_state.h"
#include "xdd/base/log.h"
#include "xdd/sys/clock.h"

/*
 * Names of temporary files and of journals.
 */

void commit_temporary_name(uint64_t session, uint64_t number, char *name)
{
	snprintf(name, COPY_TEMPORARY_SIZE, COPY_TEMPORARY_PREFIX "%016" PRIx64 "-%" PRIu64 ".part",
		 session, number);
}

void commit_journal_name(uint64_t session, char *name)
{
	snprintf(name, COPY_TEMPORARY_SIZE, COPY_TEMPORARY_PREFIX "%016" PRIx64 ".journal",
		 session);
}

enum commit_name commit_parse_name(const char *name, uint64_t *session, uint64_t *number)
{
	const size_t prefix = strlen(COPY_TEMPORARY_PREFIX);
	char again[COPY_TEMPORARY_SIZE];

	if (strncmp(name, COPY_TEMPORARY_PREFIX, prefix) != 0 ||
	    sscanf(name + prefix, "%16" SCNx64, session) != 1)
		return COMMIT_NO_NAME;
	commit_journal_name(*session, again);
	if (strcmp(name, again) == 0)
		return COMMIT_JOURNAL_NAME;
	if (sscanf(name + prefix, "%*16[0-9a-f]-%" SCNu64, number) != 1)
		return COMMIT_NO_NAME;
	commit_temporary_name(*session, *number, again);
	return strcmp(name, again) == 0 ? COMMIT_TEMPORARY_NAME : COMMIT_NO_NAME;
}

/*
 * Directories that files are created in: their file systems, and a record of each in the journal,
 * so that a later copy finds the temporary files of this one, if it is killed, without a walk.
 */

static struct commit_place *slot_of(struct commit *c, const struct dir_node *node)
{
	return &c->places[((uintptr_t)node >> 4) * 0x9e3779b97f4a7c15ull >> 56];
}

_Static_assert(COMMIT_PLACES == 256, "slot_of() takes 8 bits");

/* Record that the directory may have temporary files. A journal that fails stops no copy. */
static void commit_place_record(struct commit *c, struct dir_node *node)
{
	char path[JOURNAL_MAX_PATH_BYTES];
	struct journal_record r = { .type = JOURNAL_DIR, .path = path };

	if (commit_journal(c))
		return;
	if (!dirs_whole_path(c->dirs, node, NULL, path, sizeof(path)))
		return; /* the next copy removes its files only if it enters the directory */
	if (strcmp(path, ".") == 0)
		path[0] = '\0';
	commit_record(c, &r);
}

/* Known already? Returns the number of the file system, or -ENOENT. */
static int look_up(struct commit *c, const struct dir_node *node)
{
	const struct commit_place *p = slot_of(c, node);
	int fs;

	pthread_mutex_lock(&c->place_lock);
	fs = p->node == node ? (int)p->fs : -ENOENT;
	pthread_mutex_unlock(&c->place_lock);
	return fs;
}

static void commit_place_remember(struct commit *c, struct dir_node *node, uint32_t fs)
{
	struct commit_place *p = slot_of(c, node);
	struct dir_node *old;

	dirs_hold(c->dirs, node);
	pthread_mutex_lock(&c->place_lock);
	old = p->node;
	*p = (struct commit_place){ .node = node, .fs = fs };
	pthread_mutex_unlock(&c->place_lock);
	dirs_release(c->dirs, old);
}

/*
 * If files that are created with `mode` in a directory have it: commit_mode_found() notes how the
 * first one was. The last mode of each directory is known. The mask of the process does not change
 * during a copy, and an ACL that a directory gets meanwhile takes rights away only. Any thread.
 */
static enum commit_mode commit_mode_of(struct commit *c, const struct dir_node *node, mode_t mode)
{
	const struct commit_place *p = slot_of(c, node);
	enum commit_mode state = COMMIT_MODE_UNKNOWN;

	pthread_mutex_lock(&c->place_lock);
	if (p->node == node && p->mode == mode)
		state = p->state;
	pthread_mutex_unlock(&c->place_lock);
	return state;
}

static void commit_mode_found(struct commit *c, const struct dir_node *node, mode_t mode,
			      enum commit_mode state)
{
	struct commit_place *p = slot_of(c, node);

	pthread_mutex_lock(&c->place_lock);
	if (p->node == node) {
		p->mode = mode;
		p->state = state;
	}
	pthread_mutex_unlock(&c->place_lock);
}

int commit_place(struct commit *c, struct dir_node *node, int dir_fd, bool temporary)
{
	int fs = look_up(c, node);

	if (fs >= 0)
		return fs;
	fs = commit_fs_of(c, dir_fd);
	if (fs < 0 || !temporary)
		return fs;
	commit_place_record(c, node);
	commit_place_remember(c, node, (uint32_t)fs);
	return fs;
}

/* ---- files that are begun ---- */

/* Number it, in the directory of this descriptor. Returns 0 or -errno. */
static int reserve(struct commit *c, struct commit_file *f, int dir_fd)
{
	int fs = commit_place(c, f->dir, dir_fd, true);

	if (fs < 0)
		return fs;
	f->fs = (uint32_t)fs;
	f->losses = atomic_load(&c->fs[fs].losses);
	f->fd = -1;
	f->has_mode = false;
	f->number = 1 + atomic_fetch_add(&c->numbers, 1);
	return 0;
}

int commit_reserve(struct commit *c, struct commit_file *f, char name[COPY_TEMPORARY_SIZE])
{
	int fd = dirs_fd(c->dirs, f->dir), err;

	if (fd < 0)
		return fd;
	err = reserve(c, f, fd);
	dirs_done(c->dirs, f->dir);
	if (!err)
		commit_temporary_name(c->session, f->number, name);
	return err;
}

/* The first file of a directory with these permissions: does it have them? */
static bool look_at_mode(struct commit *c, const struct commit_file *f)
{
	const mode_t mode = f->mode;
	struct stat st;
	bool kept = fstat(f->fd, &st) == 0 && (st.st_mode & 07777) == mode;

	commit_mode_found(c, f->dir, mode, kept ? COMMIT_MODE_KEPT : COMMIT_MODE_CHANGED);
	return kept;
}

/*
 * No other user can open a file without a name, so it may have its permissions from the beginning,
 * which saves the system call that sets them. With -P it does not, as it gets its owner first.
 * Set-user-ID bits do not outlast a write, and a file may be opened again for direct I/O.
 */
static int open_unnamed(struct commit *c, struct commit_file *f, int dir_fd)
{
	const mode_t mode = f->mode;
	enum commit_mode state = COMMIT_MODE_CHANGED;

	if (!c->job->settings->everything && (mode & ~(mode_t)0177) == 0600)
		state = commit_mode_of(c, f->dir, mode);
	f->fd = openat(dir_fd, ".", O_RDWR | O_TMPFILE | O_CLOEXEC,
		       state == COMMIT_MODE_CHANGED ? 0600 : mode);
	if (f->fd < 0)
		return -errno;
	f->has_mode = state == COMMIT_MODE_KEPT ||
		      (state == COMMIT_MODE_UNKNOWN && look_at_mode(c, f));
	return 0;
}

/*
 * Where files get their names at once, they need none before: that is cheaper than a rename, and
 * nothing is left of a file when the process is killed. -R looks for files by their names.
 */
static int create_unnamed(struct commit *c, struct commit_file *f, int dir_fd)
{
	int err;

	if (c->job->settings->resume || c->fs[f->fs].flush != COMMIT_FLUSH_NONE)
		return -EOPNOTSUPP;
	err = open_unnamed(c, f, dir_fd);
	f->unnamed = !err;
	return err;
}

static int create_named(struct commit *c, struct commit_file *f, int dir_fd)
{
	char name[COPY_TEMPORARY_SIZE];

	commit_temporary_name(c->session, f->number, name);
	f->fd = openat(dir_fd, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	return f->fd < 0 ? -errno : 0;
}

int commit_create(struct commit *c, struct commit_file *f)
{
	int fd = dirs_fd(c->dirs, f->dir), err;

	if (fd < 0)
		return fd;
	err = reserve(c, f, fd);
	if (!err && create_unnamed(c, f, fd))
		err = create_named(c, f, fd);
	dirs_done(c->dirs, f->dir);
	if (err)
		f->number = 0;
	return err;
}

/* ---- lists ---- */

static void commit_list_add(struct commit_list *l, struct commit_file *f)
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

/* A rename does nothing where both names are of one file: another LINK has made the second one. */
static int rename_file(const struct commit_file *f, int dir_fd, const char *name)
{
	if (renameat(dir_fd, name, dir_fd, f->entry->name))
		return -errno;
	if (f->entry->kind == COPY_LINK && unlinkat(dir_fd, name, 0) && errno != ENOENT)
		return -errno;
	return 0;
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
	else if (!f->err)
		commit_thread_fail(f, rename_file(f, fd, name), "rename");
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
	if (f->kept)
		commit_gone(c, f);
	c->done(c->arg, f, f->err, f->what);
}

static void commit_at_once(struct commit *c, struct commit_file *f)
{
	struct commit_list l = { .head = NULL };

	if (f->progress)
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

/* ---- complete files, and those that are dropped ---- */

/* Files of a batch that is large enough. With the lock. */
static size_t batch_files(const struct commit *c)
{
	return c->each ? COMMIT_BATCH_FILES_EACH : COMMIT_BATCH_FILES;
}

/* The file system of one that has no temporary name is not known yet. */
static void place_existing(struct commit *c, struct commit_file *f)
{
	int fd = dirs_fd(c->dirs, f->dir);
	int fs = fd < 0 ? fd : commit_place(c, f->dir, fd, false);

	if (fd >= 0)
		dirs_done(c->dirs, f->dir);
	if (fs < 0) {
		f->err = fs;
		f->what = "flush";
		fs = 0;
	}
	f->fs = (uint32_t)fs;
	f->losses = atomic_load(&c->fs[fs].losses);
}

/* True if the flush does not need the descriptor of a file. With the lock. */
static bool may_close(const struct commit *c, const struct commit_file *f)
{
	return f->fd >= 0 && f->number && !f->err && !f->progress &&
	       c->fs[f->fs].flush == COMMIT_FLUSH_ALL && c->pending.n >= COMMIT_FEW;
}

/* Close it here, where many threads do so. With the lock, which is released meanwhile. */
static void close_early(struct commit *c, struct commit_file *f)
{
	if (!may_close(c, f))
		return;
	pthread_mutex_unlock(&c->lock);
	if (close(f->fd) && errno != EINTR) {
		f->err = -errno;
		f->what = "close";
	}
	f->fd = -1;
	pthread_mutex_lock(&c->lock);
}

static bool is_stopped(const struct commit *c)
{
	return c->job->stop && stop_requested(c->job->stop);
}

/* `done` puts files, such as links to one that has its name now: it cannot wait for itself. */
static bool is_own_thread(const struct commit *c)
{
	return pthread_equal(pthread_self(), c->thread);
}

void commit_put(struct commit *c, struct commit_file *f)
{
	if (!f->number)
		place_existing(c, f);
	/*
	 * There is no reason to wait for a batch: the thread that has written the file still has
	 * all that a rename looks up in its caches.
	 */
	if (c->fs[f->fs].flush == COMMIT_FLUSH_NONE) {
		commit_at_once(c, f);
		return;
	}
	pthread_mutex_lock(&c->lock);
	close_early(c, f);
	while (c->pending.n >= (c->each ? COMMIT_ROOM_FILES_EACH : COMMIT_ROOM_FILES) &&
	       !is_stopped(c) && !is_own_thread(c))
		pthread_cond_wait(&c->room, &c->lock);
	commit_list_add(&c->pending, f);
	c->put_files++;
	if (c->asleep || c->pending.n == batch_files(c))
		pthread_cond_signal(&c->changed);
	pthread_mutex_unlock(&c->lock);
}

void commit_drop(struct commit *c, struct commit_file *f, bool keep)
{
	char name[COPY_TEMPORARY_SIZE];
	int fd;

	if (f->progress && commit_untrack(c, f, keep))
		keep = false;
	keep = keep && f->kept;
	if (f->fd >= 0)
		close(f->fd);
	f->fd = -1;
	if (keep)
		atomic_store(&c->left, true);
	if (!f->number || keep || f->unnamed)
		return;
	if (f->kept)
		commit_gone(c, f);
	commit_temporary_name(c->session, f->number, name);
	fd = dirs_fd(c->dirs, f->dir);
	if (fd >= 0) {
		unlinkat(fd, name, 0);
		dirs_done(c->dirs, f->dir);
	}
	f->number = 0;
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
		if (f->progress)
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

/* ---- the commit thread ---- */

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
	return c->quit || c->hurry_files > c->done_files || c->pending.n >= batch_files(c) ||
	       c->pending.bytes >= COMMIT_BATCH_BYTES;
}

/* Sleep until there is a signal, or for `ns`. With the lock. */
static void nap(struct commit *c, uint64_t ns)
{
	cond_wait(&c->changed, &c->lock, ns == UINT64_MAX ? ns : clock_kernel_ns() + ns);
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
	return more;
}

void *commit_thread(void *arg)
{
	struct commit *c = arg;

	while (commit_thread_work(c))
		;
	return NULL;
}
