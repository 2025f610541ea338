/*
 * Symbolic links, and hard links: other names of files that the copy has, once those have their
 * names. Called by the receiving thread, and where files end.
 */
#include "copy/destination/links.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "copy/destination/file.h"

#define BUCKETS 4096u		     /* a power of two */
#define FIRSTS_MAX (1u << 18)	     /* files with other names that are remembered */
#define FIRSTS_MAX_BYTES (64u << 20) /* of their names */

/* A file of which other names may follow. */
struct first {
	struct first *next;
	uint64_t id;
	struct dir_node *dir;	   /* a reference */
	enum copy_outcome outcome; /* 0: it has none yet */
	struct item *waiting;	   /* links to be made then */
	char name[];
};

struct links {
	pthread_mutex_t lock;
	/* guarded by lock; but `dir`, `name` of a first are const */
	struct first *buckets[BUCKETS];
	size_t n;
	size_t bytes; /* of names */
	bool forgot;  /* there were more than FIRSTS_MAX, or than FIRSTS_MAX_BYTES */
};

struct links *links_new(void)
{
	struct links *l = calloc(1, sizeof(*l));

	if (l)
		pthread_mutex_init(&l->lock, NULL);
	return l;
}

/* l->lock is held. */
static struct first *find(struct links *l, uint64_t id)
{
	struct first *f = l->buckets[id & (BUCKETS - 1)];

	while (f && f->id != id)
		f = f->next;
	return f;
}

int links_expect(struct destination *d, struct dir_node *dir, const char *path, uint64_t id)
{
	struct links *l = d->links;
	size_t n = strlen(path) + 1;
	struct first *f;

	if (l->n >= FIRSTS_MAX || l->bytes + n > FIRSTS_MAX_BYTES) {
		l->forgot = true;
		return 0;
	}
	f = calloc(1, sizeof(*f) + n);
	if (!f)
		return -ENOMEM;
	f->id = id;
	f->dir = dir;
	memcpy(f->name, path, n);
	dirs_hold(d->dirs, f->dir);
	pthread_mutex_lock(&l->lock);
	f->next = l->buckets[f->id & (BUCKETS - 1)];
	l->buckets[f->id & (BUCKETS - 1)] = f;
	l->n++;
	l->bytes += n;
	pthread_mutex_unlock(&l->lock);
	return 0;
}

static void drop_waiting(struct destination *d, struct first *f)
{
	while (f->waiting) {
		struct item *i = f->waiting;

		f->waiting = i->next;
		file_forget(d, i);
	}
}

void links_drop(struct destination *d)
{
	for (size_t k = 0; d->links && k < BUCKETS; k++) {
		for (struct first *f = d->links->buckets[k]; f; f = f->next)
			drop_waiting(d, f);
	}
}

void links_free(struct destination *d)
{
	struct links *l = d->links;

	if (!l)
		return;
	for (size_t k = 0; k < BUCKETS; k++) {
		while (l->buckets[k]) {
			struct first *f = l->buckets[k];

			l->buckets[k] = f->next;
			dirs_release(d->dirs, f->dir);
			free(f);
		}
	}
	pthread_mutex_destroy(&l->lock);
	free(l);
	d->links = NULL;
}

/* ---- hard links ---- */

enum relation {
	LINKED,	   /* both names are those of one file */
	ABSENT,	   /* nothing is there */
	DIRECTORY, /* a directory is there */
	OTHER,
};

static enum relation relation(int first_dir, const char *first, int dir, const char *name)
{
	struct stat a, b;

	if (fstatat(dir, name, &b, AT_SYMLINK_NOFOLLOW))
		return ABSENT;
	if (S_ISDIR(b.st_mode))
		return DIRECTORY;
	if (!fstatat(first_dir, first, &a, AT_SYMLINK_NOFOLLOW) && a.st_dev == b.st_dev &&
	    a.st_ino == b.st_ino)
		return LINKED;
	return OTHER;
}

static void verify(struct destination *d, const struct first *f, struct item *i, enum relation r)
{
	char path[COPY_MAX_PATH_BYTES];

	if (r == LINKED) {
		file_end(d, i, COPY_EQUAL);
		return;
	}
	if (r == ABSENT)
		dest_differs(d, i->id, i->file.dir, i->file.entry->name, "does not exist");
	else
		dest_differs(d, i->id, i->file.dir, i->file.entry->name, "is not a hard link to %s",
			     dest_path(d, f->dir, f->name, path));
	file_end(d, i, COPY_DIFFERS);
}

static void link_file(struct destination *d, const struct first *f, struct item *i, int first_dir,
		      int dir)
{
	char temporary[COPY_TEMPORARY_SIZE];
	int err = commit_reserve(d->commit, &i->file, temporary);

	if (!err && linkat(first_dir, f->name, dir, temporary, 0))
		err = -errno;
	if (err)
		file_failed(d, i, "link", err);
	else
		file_put(d, i);
}

static void make_in(struct destination *d, const struct first *f, struct item *i, int first_dir,
		    int dir)
{
	enum relation r = relation(first_dir, f->name, dir, i->file.entry->name);

	if (d->settings->verify)
		verify(d, f, i, r);
	else if (r == DIRECTORY)
		file_failed(d, i, "replace", -EISDIR);
	else if (r == LINKED)
		file_end(d, i, COPY_SAME);
	else if (d->settings->dry_run)
		file_end(d, i, COPY_WOULD);
	else
		link_file(d, f, i, first_dir, dir);
}

/* Its first file has its result: any thread. */
static void make(struct destination *d, const struct first *f, struct item *i)
{
	struct dir_node *dir_node = i->file.dir, *first_node = f->dir;
	char path[COPY_MAX_PATH_BYTES], first[COPY_MAX_PATH_BYTES];
	int first_dir, dir;

	if (f->outcome == COPY_LOST) {
		role_fail(d->role, i->id, COPY_FAILED,
			  dest_path(d, dir_node, i->file.entry->name, path),
			  "its other name %s was not copied",
			  dest_path(d, first_node, f->name, first));
		file_lost(d, i);
		return;
	}
	dirs_hold(d->dirs, dir_node);
	first_dir = dirs_fd(d->dirs, first_node);
	dir = dirs_fd(d->dirs, dir_node);
	if (first_dir >= 0 && dir >= 0)
		make_in(d, f, i, first_dir, dir);
	else
		file_failed(d, i, "link", dir < 0 ? dir : first_dir);
	if (dir >= 0)
		dirs_done(d->dirs, dir_node);
	if (first_dir >= 0)
		dirs_done(d->dirs, first_node);
	dirs_release(d->dirs, dir_node);
}

static void forgotten(struct destination *d, struct item *i)
{
	char path[COPY_MAX_PATH_BYTES];

	role_fail(d->role, i->id, COPY_FAILED, dest_path(d, i->file.dir, i->file.entry->name, path),
		  "there are too many files with several names");
	file_lost(d, i);
}

int links_make(struct destination *d, struct item *i, char *why)
{
	struct links *l = d->links;
	bool waits = false;
	struct first *f;

	pthread_mutex_lock(&l->lock);
	f = find(l, i->file.entry->first);
	if (f && !f->outcome) {
		i->next = f->waiting;
		f->waiting = i;
		waits = true;
	}
	pthread_mutex_unlock(&l->lock);
	if (waits)
		return 0;
	if (f) {
		make(d, f, i);
	} else if (l->forgot) {
		forgotten(d, i);
	} else {
		snprintf(why, WIRE_MAX_TEXT_BYTES, "a link to an unknown file");
		file_forget(d, i);
		return -EBADMSG;
	}
	return 0;
}

void links_file_ended(struct destination *d, uint64_t id, enum copy_outcome outcome)
{
	struct links *l = d->links;
	struct item *waiting = NULL;
	struct first *f;

	pthread_mutex_lock(&l->lock);
	f = find(l, id);
	if (f) {
		f->outcome = outcome;
		waiting = f->waiting;
		f->waiting = NULL;
	}
	pthread_mutex_unlock(&l->lock);
	while (waiting) {
		struct item *i = waiting;

		waiting = i->next;
		i->next = NULL;
		make(d, f, i);
	}
}

/* ---- symbolic links ---- */

/* True: the same link is there. */
static bool is_same(int dir, const char *name, const char *target)
{
	char there[COPY_MAX_PATH_BYTES + 1];
	ssize_t n = readlinkat(dir, name, there, sizeof(there));

	return n >= 0 && (size_t)n == strlen(target) && !memcmp(there, target, (size_t)n);
}

static void set_attributes(struct destination *d, const struct item *i, int dir, const char *name)
{
	struct meta_result result;

	meta_apply_link(dir, name, i->file.entry, d->owners, &result);
	dest_attributes(d, i->id, i->file.dir, i->file.entry->name, &result);
}

/* Where something is under its name, the link replaces it at once. */
static int create(struct destination *d, struct item *i, int dir, bool fresh)
{
	const struct copy_entry *e = i->file.entry;
	char temporary[COPY_TEMPORARY_SIZE];
	int err;

	if (fresh && !symlinkat(e->target, dir, e->name)) {
		set_attributes(d, i, dir, e->name);
		return 0;
	}
	if (fresh && errno != EEXIST)
		return -errno;
	err = commit_reserve(d->commit, &i->file, temporary);
	if (err)
		return err;
	if (symlinkat(e->target, dir, temporary))
		return -errno;
	set_attributes(d, i, dir, temporary);
	return 0;
}

static void verify_symlink(struct destination *d, struct item *i, const struct meta_file *there,
			   bool same)
{
	const struct copy_entry *e = i->file.entry;
	char text[WIRE_MAX_TEXT_BYTES] = "";

	if (there && same)
		meta_differences(there, e, d->owners, text, sizeof(text));
	if (!there)
		dest_differs(d, i->id, i->file.dir, e->name, "does not exist");
	else if (!same)
		dest_differs(d, i->id, i->file.dir, e->name, "is not a symbolic link to %s",
			     e->target);
	else if (*text)
		dest_differs(d, i->id, i->file.dir, e->name, "%s", text);
	file_end(d, i, there && same && !*text ? COPY_EQUAL : COPY_DIFFERS);
}

static void copy_symlink(struct destination *d, struct item *i, int dir, bool fresh)
{
	const struct copy_entry *e = i->file.entry;
	bool exists, same;
	struct stat st;
	const struct meta_file there = { .st = &st, .fd = -1, .dir_fd = dir, .name = e->name };
	int err;

	exists = !fresh && !fstatat(dir, e->name, &st, AT_SYMLINK_NOFOLLOW);
	same = exists && S_ISLNK(st.st_mode) && is_same(dir, e->name, e->target);
	if (d->settings->verify) {
		verify_symlink(d, i, exists ? &there : NULL, same);
	} else if (same) {
		if (!d->settings->dry_run && !meta_same(&there, e, d->owners))
			set_attributes(d, i, dir, e->name);
		file_end(d, i, COPY_SAME);
	} else if (exists && S_ISDIR(st.st_mode)) {
		file_failed(d, i, "replace", -EISDIR);
	} else if (d->settings->dry_run) {
		file_end(d, i, COPY_WOULD);
	} else {
		err = create(d, i, dir, !exists);
		if (err)
			file_failed(d, i, "create", err);
		else
			file_put(d, i);
	}
}

void links_symlink(struct destination *d, struct item *i, bool fresh)
{
	struct dir_node *node = i->file.dir;
	int dir;

	dirs_hold(d->dirs, node);
	dir = dirs_fd(d->dirs, node);
	if (dir < 0) {
		file_failed(d, i, "create", dir);
	} else {
		copy_symlink(d, i, dir, fresh);
		dirs_done(d->dirs, node);
	}
	dirs_release(d->dirs, node);
}
