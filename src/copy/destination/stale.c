/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Files of earlier sessions: what dead ones have left, and what an interrupted one has left that
 * is continued. Called when a copy begins, and by the thread of the entries.
 *
 * A power failure may take the end of a journal, or all of it, and leave temporary files in
 * directories that it does not name any more. So the copy looks at each directory that it enters,
 * too, and the journals stay until it has entered the last one.
 *
 * A session is dead if the lock on its journal is free, and, where locks may not reach other
 * hosts, it was silent for long. What may be alive is left alone. An interrupted copy that can be
 * resumed is kept for another one of the same sources, and for a while.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "copy/destination/commit_state.h"
#include "xdd/base/err.h"
#include "xdd/base/memory.h"
#include "xdd/net/wire.h"
#include "xdd/sys/clock.h"

#define MAX_JOURNALS 256	  /* that are looked at when a copy begins */
#define KEPT_SECONDS (14 * 86400) /* a resumable copy of other sources */

/* ---- names in a directory ---- */

typedef void each_name(void *arg, int dir_fd, const char *name);

/* Call `fn` for the names of this program. Returns 0 or -errno. */
static int for_names(int dir_fd, each_name *fn, void *arg)
{
	int fd = openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *e;
	int err;

	if (!d) {
		err = -errno;
		if (fd >= 0)
			close(fd);
		return err;
	}
	errno = 0;
	while ((e = readdir(d))) {
		if (strncmp(e->d_name, COPY_TEMPORARY_PREFIX, strlen(COPY_TEMPORARY_PREFIX)) == 0)
			fn(arg, dir_fd, e->d_name);
		errno = 0;
	}
	err = -errno;
	closedir(d);
	return err;
}

/* ---- temporary files of one session ---- */

static bool is_kept(struct commit_kept *k, uint64_t number);

struct sweep {
	uint64_t session;
	struct commit_kept *kept; /* files that stay; NULL: none */
};

static void sweep_name(void *arg, int dir_fd, const char *name)
{
	const struct sweep *s = arg;
	uint64_t session, number;

	if (commit_parse_name(name, &session, &number) != COMMIT_TEMPORARY_NAME ||
	    session != s->session || (s->kept && is_kept(s->kept, number)))
		return;
	commit_unlink_quietly(dir_fd, name);
}

/* The directory `path` below the root, entered name by name. Returns 0 or -errno. */
static int commit_enter_path(struct commit *c, const char *path, struct dir_node **node)
{
	struct dir_node *at = dirs_root(c->dirs), *next;
	char name[NAME_MAX + 1];
	int err = 0;

	dirs_hold(c->dirs, at);
	while (*path && !err) {
		size_t n = strcspn(path, "/");

		snprintf(name, sizeof(name), "%.*s", (int)n, path);
		err = dirs_enter(c->dirs, at, name, &next);
		dirs_release(c->dirs, at);
		at = err ? NULL : next;
		path += n + (path[n] == '/');
	}
	*node = at;
	return err;
}

/* Sweep a directory of a journal, if it is still there. */
static void sweep_dir(struct commit *c, const char *path, struct sweep *s)
{
	struct dir_node *node;
	int fd;

	if (commit_enter_path(c, path, &node))
		return;
	fd = dirs_fd(c->dirs, node);
	if (fd >= 0) {
		for_names(fd, sweep_name, s);
		dirs_done(c->dirs, node);
	}
	dirs_release(c->dirs, node);
}

/*
 * Remove the temporary files of a session from the root and from the directories that its journal
 * names, except `kept` (may be NULL).
 */
static void stale_sweep(struct commit *c, int journal_fd, uint64_t session,
			struct commit_kept *kept)
{
	struct sweep s = { session, kept };
	struct journal_record rec;
	struct records r;

	sweep_dir(c, "", &s);
	if (records_read(&r, journal_fd))
		return;
	while (records_next(&r, &rec) == 1) {
		if (rec.type == JOURNAL_DIR && *rec.path)
			sweep_dir(c, rec.path, &s);
	}
	records_end(&r);
}

/* ---- journals ---- */

/* Names of journals in the root. `clean`: what died before it was one is removed meanwhile. */
struct journals {
	bool clean;
	size_t n;
	char names[MAX_JOURNALS][COPY_TEMPORARY_SIZE];
};

/* Remove the start of a journal, by its temporary name, of a session that has died. */
static void remove_start(int root_fd, const char *name)
{
	struct journal_file j;

	if (journal_open_dead(&j, root_fd, name))
		return;
	commit_unlink_quietly(root_fd, name);
	journal_close(&j.file);
}

static void note_journal(void *arg, int dir_fd, const char *name)
{
	struct journals *all = arg;
	uint64_t session, number;

	switch (commit_parse_name(name, &session, &number)) {
	case COMMIT_JOURNAL_NAME:
		/* Further ones wait for the next copy. */
		if (all->n < MAX_JOURNALS)
			snprintf(all->names[all->n++], COPY_TEMPORARY_SIZE, "%s", name);
		break;
	case COMMIT_TEMPORARY_NAME:
		if (number == JOURNAL_START_NUMBER && all->clean)
			remove_start(dir_fd, name);
		break;
	case COMMIT_NO_NAME:
		break;
	}
}

/*
 * The head, and how the root was understood. Returns 0; -EBADMSG: it is damaged; -EPROTONOSUPPORT:
 * it is of a later version; or another -errno.
 */
static int read_head(int fd, struct journal_record *head, bool *renamed)
{
	struct journal_record rec;
	struct records r;
	int got = records_read(&r, fd);

	*renamed = false;
	if (got)
		return got;
	got = records_next(&r, &rec);
	if (got == 1)
		*head = rec;
	while (got == 1 && records_next(&r, &rec) == 1 && rec.type == JOURNAL_ROOT)
		*renamed = rec.renamed;
	records_end(&r);
	return got == 1 ? 0 : got ? got : -EBADMSG;
}

static bool is_worth_keeping(const struct commit *c, const struct journal_file *j,
			     const struct journal_record *head)
{
	return head->resumable && head->tree_id != c->tree_id &&
	       time(NULL) - j->used.tv_sec < KEPT_SECONDS;
}

/* Journals of later versions, which are kept. */
struct later {
	size_t n;
	char name[COPY_TEMPORARY_SIZE]; /* of the first one */
};

/* Its files are looked for in the directories that the copy enters. The journal stays locked. */
static void note_dead(struct commit *c, struct journal_file *j, uint64_t session)
{
	struct commit_dead *dead = array_room(c->dead, c->n_dead, sizeof(*dead));

	if (!dead) {
		journal_leave(j); /* the next copy does it */
		return;
	}
	c->dead = dead;
	dead[c->n_dead++] = (struct commit_dead){ .session = session, .journal = *j };
}

/*
 * Remove what a dead session has left, unless it is another copy that can be resumed. A journal
 * whose session may be alive, or of another user, or that cannot be read now, is left alone.
 */
static void sweep_journal(struct commit *c, int root_fd, const char *name, struct later *later)
{
	struct journal_record head;
	struct journal_file j;
	uint64_t session, number;
	bool renamed, wanted;
	int err;

	if (journal_open_dead(&j, root_fd, name))
		return;
	commit_parse_name(name, &session, &number);
	err = read_head(j.file.fd, &head, &renamed);
	if (err == -EPROTONOSUPPORT && !later->n++)
		snprintf(later->name, sizeof(later->name), "%s", name);
	wanted = err ? err != -EBADMSG : head.session == session && is_worth_keeping(c, &j, &head);
	if (wanted) {
		journal_leave(&j);
		return;
	}
	stale_sweep(c, j.file.fd, session, NULL);
	note_dead(c, &j, session);
}

/* A dead session that can be continued. */
struct candidate {
	struct journal_file j;
	struct journal_record head;
};

static bool is_later(const struct timespec *a, const struct timespec *b)
{
	return a->tv_sec > b->tv_sec || (a->tv_sec == b->tv_sec && a->tv_nsec > b->tv_nsec);
}

/* Keep the journal in `*best` if it is of this copy, and the latest one. */
static void stale_consider(const struct commit *c, int root_fd, const char *name,
			   struct candidate *best)
{
	struct candidate now;
	uint64_t session, number;
	bool renamed;

	if (journal_open_dead(&now.j, root_fd, name))
		return;
	commit_parse_name(name, &session, &number);
	if (read_head(now.j.file.fd, &now.head, &renamed) || !now.head.resumable ||
	    now.head.tree_id != c->tree_id || now.head.session != session ||
	    (best->j.file.fd >= 0 && is_later(&best->j.used, &now.j.used))) {
		journal_leave(&now.j);
		return;
	}
	journal_leave(&best->j);
	*best = now;
}

static int commit_adopt(struct commit *c, struct journal_file *j,
			const struct journal_record *head);

/*
 * Continue the latest session of this copy, if there is one. Returns 0 or -errno; a damaged journal
 * is a warning.
 */
static int stale_adopt(struct commit *c, int root_fd, const struct journals *all, struct err *why)
{
	struct candidate best = { .j = { .file.fd = -1 } };
	int err;

	for (size_t i = 0; i < all->n; i++)
		stale_consider(c, root_fd, all->names[i], &best);
	if (best.j.file.fd < 0)
		return 0;
	err = commit_adopt(c, &best.j, &best.head);
	if (!err)
		return 0;
	journal_leave(&best.j);
	if (err != -EBADMSG)
		return err;
	err_set(why, err, "cannot continue an interrupted copy: its journal is damaged");
	return 0;
}

/* Adds to what `why` says already. */
static void warn_later(const struct later *later, struct err *why)
{
	char more[48] = "";

	if (!later->n)
		return;
	if (later->n > 1)
		snprintf(more, sizeof(more), " and %zu more", later->n - 1);
	why->no = -EBADMSG;
	err_add(why,
		"%s%s%s: written by a later version of xdd, so temporary files of that "
		"copy stay; remove them with that version",
		err_is_set(why) ? "; " : "", later->name, more);
}

int commit_sweep(struct commit *c, struct err *why)
{
	struct later later = { .n = 0 };
	struct dir_node *root = dirs_root(c->dirs);
	struct journals *all = calloc(1, sizeof(*all));
	int fd, err;

	if (!all)
		return -ENOMEM;
	all->clean = true;
	fd = dirs_fd(c->dirs, root);
	err = fd < 0 ? fd : for_names(fd, note_journal, all);
	if (!err && c->job->settings->resume)
		err = stale_adopt(c, fd, all, why);
	/* The lock on the one that is continued is held: it counts as alive. */
	for (size_t i = 0; i < all->n && !err; i++)
		sweep_journal(c, fd, all->names[i], &later);
	if (!err)
		warn_later(&later, why);
	if (fd >= 0)
		dirs_done(c->dirs, root);
	free(all);
	return err;
}

/* ---- directories that the copy enters ---- */

static struct kept_file *find_number(const struct commit_kept *k, uint64_t number);

static bool is_left(const struct commit *c, uint64_t session, uint64_t number)
{
	for (size_t i = 0; i < c->n_dead; i++) {
		if (c->dead[i].session == session)
			return true;
	}
	return session == c->session && number <= c->kept_numbers &&
	       !(c->kept && find_number(c->kept, number));
}

static void look_at_name(void *arg, int dir_fd, const char *name)
{
	struct commit *c = arg;
	uint64_t session, number;

	if (commit_parse_name(name, &session, &number) == COMMIT_TEMPORARY_NAME &&
	    is_left(c, session, number))
		commit_unlink_quietly(dir_fd, name);
}

void commit_look(struct commit *c, struct dir_node *dir)
{
	int fd;

	if (!c || (!c->n_dead && !c->kept))
		return;
	fd = dirs_fd(c->dirs, dir);
	if (fd < 0)
		return; /* then nothing can be copied into it either */
	for_names(fd, look_at_name, c);
	dirs_done(c->dirs, dir);
}

void commit_entered_all(struct commit *c)
{
	char name[COPY_TEMPORARY_SIZE];
	struct dir_node *root;
	int fd;

	if (!c || !c->n_dead)
		return;
	root = dirs_root(c->dirs);
	fd = dirs_fd(c->dirs, root);
	for (size_t i = 0; i < c->n_dead && fd >= 0; i++) {
		commit_journal_name(c->dead[i].session, name);
		unlinkat(fd, name, 0);
	}
	if (fd >= 0)
		dirs_done(c->dirs, root);
	stale_leave(c);
}

void stale_leave(struct commit *c)
{
	for (size_t i = 0; i < c->n_dead; i++)
		journal_leave(&c->dead[i].journal);
	free(c->dead);
	c->dead = NULL;
	c->n_dead = 0;
}

/* ---- before a copy begins ---- */

bool commit_root_was_renamed(int root_fd, uint64_t tree_id)
{
	struct journals *all = calloc(1, sizeof(*all));
	struct journal_record head;
	bool found = false, renamed;
	struct journal_file j;

	if (all && for_names(root_fd, note_journal, all))
		all->n = 0;
	for (size_t i = 0; all && i < all->n && !found; i++) {
		if (journal_open_dead(&j, root_fd, all->names[i]))
			continue;
		found = !read_head(j.file.fd, &head, &renamed) && head.tree_id == tree_id &&
			renamed;
		journal_leave(&j);
	}
	free(all);
	return found;
}

/*
 * Files of an interrupted session that is continued: -R. The thread of the entries claims those
 * whose source is the same; the others are removed at the end.
 */

#define BUCKETS 1024
#define MAX_FILES 65536 /* of a journal */
#define NUMBERS_OF_RUN (1ull << 40)
#define MAX_RANGES_OF_FILE 16384 /* more are sent again */

struct kept_file {
	struct idmap_link link; /* its id is the number of the temporary name */
	struct kept_file *next_path;
	uint64_t size_bytes;
	int64_t mtime_ns;
	uint64_t version;
	uint64_t inode;
	struct extents durable;
	char path[];
};

struct commit_kept {
	size_t n;			    /* not claimed yet */
	uint64_t last_number;		    /* the greatest one that was seen */
	struct kept_file *by_path[BUCKETS]; /* not claimed yet */
	struct idmap by_number;		    /* all */
};

/* ---- the table ---- */

static struct kept_file **path_bucket(struct commit_kept *k, const char *path)
{
	return &k->by_path[digest_short(path, strlen(path)) % BUCKETS];
}

static struct kept_file *find_number(const struct commit_kept *k, uint64_t number)
{
	return IDMAP_STRUCT(idmap_find(&k->by_number, number), struct kept_file);
}

static struct kept_file *find_path(struct commit_kept *k, const char *path)
{
	struct kept_file *f = *path_bucket(k, path);

	while (f && strcmp(f->path, path) != 0)
		f = f->next_path;
	return f;
}

static void take_path(struct commit_kept *k, struct kept_file *f)
{
	struct kept_file **at = path_bucket(k, f->path);

	while (*at != f)
		at = &(*at)->next_path;
	*at = f->next_path;
	k->n--;
}

static void free_file(struct kept_file *f)
{
	extents_clear(&f->durable);
	free(f);
}

static void commit_kept_forget(struct commit_kept *k, struct kept_file *f)
{
	take_path(k, f);
	idmap_remove(&k->by_number, &f->link);
	free_file(f);
}

static int add_file(struct commit_kept *k, const struct journal_record *r)
{
	struct kept_file *f, **bucket;

	if (k->n >= MAX_FILES || find_number(k, r->number) || find_path(k, r->path))
		return -EBADMSG;
	f = calloc(1, sizeof(*f) + strlen(r->path) + 1);
	if (!f)
		return -ENOMEM;
	f->link.id = r->number;
	f->size_bytes = r->size_bytes;
	f->mtime_ns = r->mtime_ns;
	f->version = r->version;
	f->inode = r->inode;
	extents_init(&f->durable, MAX_RANGES_OF_FILE);
	strcpy(f->path, r->path);
	bucket = path_bucket(k, f->path);
	f->next_path = *bucket;
	*bucket = f;
	idmap_add(&k->by_number, &f->link);
	k->n++;
	return 0;
}

static int add_ranges(struct commit_kept *k, const struct journal_record *r)
{
	struct kept_file *f = find_number(k, r->number);

	if (!f)
		return -EBADMSG;
	for (size_t i = 0; i < r->n_ranges; i++) {
		struct extent e = journal_range(r, i);
		int err;

		if (e.end > f->size_bytes)
			return -EBADMSG;
		err = extents_add(&f->durable, e.begin, e.end);
		if (err && err != -ENOSPC)
			return err;
	}
	return 0;
}

static int add_record(struct commit_kept *k, const struct journal_record *r)
{
	struct kept_file *f;

	if (r->number > k->last_number)
		k->last_number = r->number;
	switch (r->type) {
	case JOURNAL_FILE:
		return add_file(k, r);
	case JOURNAL_RANGES:
		return add_ranges(k, r);
	case JOURNAL_GONE:
		f = find_number(k, r->number);
		if (f)
			commit_kept_forget(k, f);
		return 0;
	default:
		return 0;
	}
}

/* ---- adoption ---- */

/*
 * Read the records of the journal up to the first damaged one. Records after it are cut off,
 * because others will be appended. Returns 0 or -errno.
 */
static int read_kept(struct commit_kept *k, struct journal_file *j, bool *renamed)
{
	struct journal_record rec;
	struct records r;
	uint64_t end = 0;
	int err = records_read(&r, j->file.fd);

	if (err)
		return err;
	do {
		end = r.in.end;
		err = records_next(&r, &rec);
		if (err == 1 && rec.type == JOURNAL_ROOT)
			*renamed = rec.renamed;
		if (err == 1)
			err = add_record(k, &rec) ?: 1;
	} while (err == 1);
	records_end(&r);
	if (err && err != -EBADMSG)
		return err;
	return journal_continue(&j->file, end);
}

/* True: the temporary file of this number is still wanted. */
static bool is_kept(struct commit_kept *k, uint64_t number)
{
	if (number > k->last_number)
		k->last_number = number;
	return find_number(k, number);
}

/*
 * This run begins above the numbers of all earlier runs, even where the journal has lost the
 * records that named them: a run that creates less than one file per ns stays below the time.
 */
static void begin_numbers(struct commit *c, const struct commit_kept *k)
{
	struct journal_record none = { .type = JOURNAL_GONE };

	c->kept_numbers = clock_wall_ns();
	/* The clock was set back, or the numbers are not from a clock. */
	if (c->kept_numbers <= k->last_number)
		c->kept_numbers = k->last_number + NUMBERS_OF_RUN;
	none.number = c->kept_numbers;
	atomic_store(&c->numbers, c->kept_numbers);
	commit_record(c, &none);
	commit_flush_journal(c);
}

/*
 * Continue the session of this journal, which becomes the commit's: its files are known, its other
 * temporary files are removed. Returns 0 or -errno; the journal is then not taken.
 */
static int commit_adopt(struct commit *c, struct journal_file *j, const struct journal_record *head)
{
	struct commit_kept *k = calloc(1, sizeof(*k));
	bool renamed = false;
	int err;

	if (!k || idmap_init(&k->by_number)) {
		free(k);
		return -ENOMEM;
	}
	c->kept = k;
	err = read_kept(k, j, &renamed);
	/* Numbers near the end are not from this program; the next ones must not meet others. */
	if (!err && k->last_number > UINT64_MAX / 2)
		err = -EBADMSG;
	if (err) {
		commit_kept_free(c, false);
		return err;
	}
	stale_sweep(c, j->file.fd, head->session, k);
	c->session = head->session;
	c->journal = *j;
	c->journal_tried = true;
	c->renamed_root = renamed;
	begin_numbers(c, k);
	return 0;
}

/* ---- claims ---- */

/* One that is longer than its source has bytes that nothing would cut off again. */
static bool is_same_file(const struct kept_file *k, const struct stat *st)
{
	const struct extents *x = &k->durable;
	const uint64_t size = (uint64_t)st->st_size;

	return S_ISREG(st->st_mode) && st->st_nlink == 1 && st->st_ino == k->inode &&
	       size <= k->size_bytes && (!x->n || size >= x->items[x->n - 1].end);
}

/*
 * Open the file that the journal means, and no other; it may have the permissions of the source
 * already, without the right to write. Returns a descriptor or -errno.
 */
static int open_kept(int dir_fd, const char *name, const struct kept_file *k)
{
	int path_fd = openat(dir_fd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC), fd;
	char self[64];
	struct stat st;

	if (path_fd < 0)
		return -errno;
	if (fstat(path_fd, &st) || !is_same_file(k, &st)) {
		close(path_fd);
		return -ESTALE;
	}
	snprintf(self, sizeof(self), "/proc/self/fd/%d", path_fd);
	fd = chmod(self, 0600) ? -1 : open(self, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		fd = -errno;
	close(path_fd);
	return fd;
}

/* Open it for `f`, or remove it. Returns 1 or 0. */
static int commit_kept_claim(struct commit *c, struct commit_file *f, const struct kept_file *k,
			     bool wanted)
{
	const struct journal_record gone = { .type = JOURNAL_GONE, .number = k->link.id };
	char name[COPY_TEMPORARY_SIZE];
	int dir_fd = dirs_fd(c->dirs, f->dir), fd = -ESTALE, fs;

	if (dir_fd < 0)
		return 0;
	commit_temporary_name(c->session, k->link.id, name);
	fs = commit_place(c, f->dir, dir_fd, true);
	if (wanted && fs >= 0)
		fd = open_kept(dir_fd, name, k);
	if (fd < 0) {
		unlinkat(dir_fd, name, 0);
		commit_record(c, &gone);
	}
	dirs_done(c->dirs, f->dir);
	if (fd < 0)
		return 0;
	f->fd = fd;
	f->number = k->link.id;
	f->fs = (uint32_t)fs;
	f->losses = atomic_load(&c->fs[fs].losses);
	f->kept = true;
	return 1;
}

int commit_resume(struct commit *c, struct commit_file *f, struct extents *durable)
{
	char path[JOURNAL_MAX_PATH_BYTES];
	struct kept_file *k;
	int ret, err = 0;

	if (!c->kept || !c->kept->n)
		return 0;
	if (!dirs_whole_path(c->dirs, f->dir, f->entry->name, path, sizeof(path)))
		return 0;
	k = find_path(c->kept, path);
	if (!k)
		return 0;
	take_path(c->kept, k);
	ret = commit_kept_claim(c, f, k,
				k->size_bytes == f->entry->size_bytes &&
					k->mtime_ns == f->entry->mtime_ns &&
					k->version == f->entry->version);
	if (ret)
		err = extents_copy(durable, &k->durable);
	if (ret && !err)
		err = commit_track(c, f, true);
	extents_clear(&k->durable);
	if (err)
		commit_drop(c, f, false);
	return err ? err : ret;
}

/* ---- the end ---- */

static void remove_file(struct commit *c, const struct kept_file *k)
{
	char dir[JOURNAL_MAX_PATH_BYTES], name[COPY_TEMPORARY_SIZE];
	struct dir_node *node;
	char *slash;
	int fd;

	strcpy(dir, k->path);
	slash = strrchr(dir, '/');
	*(slash ? slash : dir) = '\0';
	if (commit_enter_path(c, dir, &node))
		return;
	commit_temporary_name(c->session, k->link.id, name);
	fd = dirs_fd(c->dirs, node);
	if (fd >= 0) {
		commit_unlink_quietly(fd, name);
		dirs_done(c->dirs, node);
	}
	dirs_release(c->dirs, node);
}

void commit_kept_free(struct commit *c, bool remove)
{
	struct commit_kept *k = c->kept;
	struct idmap_link *next;

	if (!k)
		return;
	for (size_t i = 0; i < BUCKETS && remove; i++) {
		for (struct kept_file *f = k->by_path[i]; f; f = f->next_path)
			remove_file(c, f);
	}
	for (struct idmap_link *l = idmap_next(&k->by_number, NULL); l; l = next) {
		next = idmap_next(&k->by_number, l);
		free_file(IDMAP_STRUCT(l, struct kept_file));
	}
	idmap_free(&k->by_number);
	free(k);
	c->kept = NULL;
}
