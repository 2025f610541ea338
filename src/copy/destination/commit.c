/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Complete files get their names; see the header. Callers: the threads of the destination. The
 * commit thread is in commit_thread.c.
 */
#include "copy/destination/commit.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "copy/destination/commit_state.h"
#include "xdd/base/codec.h"
#include "xdd/base/err.h"
#include "xdd/base/log.h"
#include "xdd/sync/thread.h"

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
static int fs_of(struct commit *c, int dir_fd)
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

static int commit_journal(struct commit *c);

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
	fs = fs_of(c, dir_fd);
	if (fs < 0 || !temporary)
		return fs;
	commit_place_record(c, node);
	commit_place_remember(c, node, (uint32_t)fs);
	return fs;
}

/*
 * If files that are created with `mode` in a directory have it: commit_mode_found() notes how the
 * first one was. The last mode of each directory is known. The mask of the process does not change
 * during a copy, and an ACL that a directory gets meanwhile takes rights away only. Any thread.
 */
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
				       .resumable = c->resume };
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

static int commit_journal(struct commit *c)
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
	if (!renamed || c->passive)
		return;
	/* Without it, the next copy would take the new name for a directory to copy into. */
	if (commit_journal(c))
		return; /* nothing can be made there */
	if (c->resume)
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
	if (c->announced || c->passive)
		return;
	c->announced = true;
	if (c->session != c->own_session)
		mark_root(c);
	else if (commit_journal(c))
		return; /* nothing can be made there */
}

/* ---- begin and end ---- */

static struct commit *new_commit(const struct copy_job *job, struct dirs *dirs, uint64_t tree_id,
				 commit_done *done, void *arg)
{
	struct commit *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->dirs = dirs;
	c->done = done;
	c->arg = arg;
	c->stop = job->stop;
	c->own_session = bytes_get(job->session, 8);
	c->session = c->own_session;
	c->tree_id = tree_id;
	c->passive = job->settings->verify || job->settings->dry_run;
	c->resume = job->settings->resume;
	c->everything = job->settings->everything;
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
	if (c->resume) {
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
	if (!c->passive)
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
		struct commit_fs *fs = &c->fs[i];

		if (fs->fd >= 0 && syncfs(fs->fd))
			continue; /* files were durable before: no result depends on it */
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
	keep = (interrupted && c->resume) || atomic_load(&c->left);
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

/* ---- files ---- */

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

	if (!c->everything && (mode & ~(mode_t)0177) == 0600)
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

	if (c->resume || c->fs[f->fs].flush != COMMIT_FLUSH_NONE)
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
	return c->stop && stop_requested(c->stop);
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
	if (c->asleep || c->pending.n == commit_batch_files(c))
		pthread_cond_signal(&c->changed);
	pthread_mutex_unlock(&c->lock);
}

void commit_drop(struct commit *c, struct commit_file *f, bool keep)
{
	char name[COPY_TEMPORARY_SIZE];
	int fd;

	keep = !commit_untrack(c, f, keep) && keep && f->kept;
	if (f->fd >= 0)
		close(f->fd);
	f->fd = -1;
	if (keep)
		atomic_store(&c->left, true);
	if (!f->number || keep || f->unnamed)
		return;
	commit_gone(c, f);
	commit_temporary_name(c->session, f->number, name);
	fd = dirs_fd(c->dirs, f->dir);
	if (fd >= 0) {
		unlinkat(fd, name, 0);
		dirs_done(c->dirs, f->dir);
	}
	f->number = 0;
}

/* ---- waits ---- */

static void hurry(struct commit *c)
{
	c->hurry_files = c->put_files;
	pthread_cond_signal(&c->changed);
}

void commit_hurry(struct commit *c)
{
	pthread_mutex_lock(&c->lock);
	hurry(c);
	pthread_mutex_unlock(&c->lock);
}

/*
 * The round that runs may have what was put; the next one takes what is pending; the one after that
 * makes its names durable.
 */
void commit_drain(struct commit *c)
{
	uint64_t rounds;

	pthread_mutex_lock(&c->lock);
	rounds = c->rounds + 3;
	hurry(c);
	while (c->done_files < c->put_files && c->rounds < rounds)
		pthread_cond_wait(&c->room, &c->lock);
	pthread_mutex_unlock(&c->lock);
}
