/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Symbolic links, and hard links: other names of files that the copy has, once those have their
 * names; and, with -i, files here that have several names already. Called by the receiving thread,
 * and where files end.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "copy/destination/destination.h"
#include "xdd/base/random.h"
#include "xdd/base/sets.h"
#include "xdd/base/text.h"

#define MAX_LOST_BYTES (64u << 20) /* of paths in directories that are not there */

/* A file of which other names may follow. */
struct first {
	struct idmap_link link;
	struct dir_node *dir; /* a reference */
	struct item *waiting; /* links to be made once it has an outcome */
	uint32_t users;	      /* threads that make links to it */
	uint8_t outcome;      /* enum copy_outcome; 0: it has none yet */
	bool all_came;	      /* its last name: it is forgotten once that is made */
	bool is_lost;	      /* it is in a directory that is not there */
	bool is_symlink;
	char name[]; /* below `dir` */
};

struct links {
	pthread_mutex_t lock;
	/* guarded by lock; but `dir`, `name`, `is_lost` and `is_symlink` of a first are const */
	struct idmap firsts;
	size_t lost_bytes; /* of the names of those that are lost. Of the receiving thread */
};

struct links *links_new(void)
{
	struct links *l = calloc(1, sizeof(*l));

	if (!l)
		return NULL;
	if (idmap_init(&l->firsts)) {
		free(l);
		return NULL;
	}
	pthread_mutex_init(&l->lock, NULL);
	return l;
}

/* ---- the files that are remembered ---- */

/* The first of `id`, or NULL. l->lock is held. */
static struct first *links_find(struct links *l, uint64_t id)
{
	return IDMAP_STRUCT(idmap_find(&l->firsts, id), struct first);
}

/* False: there are too many. */
static bool links_add(struct links *l, struct first *f)
{
	bool has_room;

	pthread_mutex_lock(&l->lock);
	has_room = l->firsts.n < COPY_MAX_FIRSTS;
	if (has_room)
		idmap_add(&l->firsts, &f->link);
	pthread_mutex_unlock(&l->lock);
	return has_room;
}

int links_expect(struct destination *d, struct dir_node *dir, const char *path,
		 const struct copy_entry *e, bool is_lost, struct err *why)
{
	struct links *l = d->links;
	size_t n = strlen(path) + 1;
	struct first *f;

	if (is_lost && n > COPY_MAX_NAME_BYTES && l->lost_bytes + n > MAX_LOST_BYTES) {
		path = path_last(path);
		n = strlen(path) + 1;
	} else if (is_lost) {
		l->lost_bytes += n;
	}
	f = calloc(1, sizeof(*f) + n);
	if (!f)
		return -ENOMEM;
	f->link.id = e->id;
	f->dir = dir;
	f->is_lost = is_lost;
	f->is_symlink = e->kind == COPY_SYMLINK;
	memcpy(f->name, path, n);
	dirs_hold(d->dirs, dir);
	if (!links_add(l, f)) {
		dirs_release(d->dirs, dir);
		free(f);
		return dest_violation(why, "more files with other names than are supported");
	}
	return 0;
}

/* Forget a first that has all its names. l->lock is held, and released. */
static void links_unlock(struct destination *d, struct first *f)
{
	struct links *l = d->links;
	bool is_over = f->all_came && f->outcome && !f->users && !f->waiting;

	if (is_over)
		idmap_remove(&l->firsts, &f->link);
	pthread_mutex_unlock(&l->lock);
	if (is_over) {
		dirs_release(d->dirs, f->dir);
		free(f);
	}
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
	const struct idmap *m = d->links ? &d->links->firsts : NULL;

	for (struct idmap_link *l = m ? idmap_next(m, NULL) : NULL; l; l = idmap_next(m, l))
		drop_waiting(d, IDMAP_STRUCT(l, struct first));
}

void links_free(struct destination *d)
{
	struct links *l = d->links;
	struct idmap_link *next;

	if (!l)
		return;
	for (struct idmap_link *k = idmap_next(&l->firsts, NULL); k; k = next) {
		struct first *f = IDMAP_STRUCT(k, struct first);

		next = idmap_next(&l->firsts, k);
		dirs_release(d->dirs, f->dir);
		free(f);
	}
	pthread_mutex_destroy(&l->lock);
	idmap_free(&l->firsts);
	free(l);
	d->links = NULL;
}

/* ---- hard links ---- */

enum relation {
	LINKED,	   /* both names belong to one file */
	ABSENT,	   /* nothing is there */
	DIRECTORY, /* a directory is there */
	OTHER,
};

static enum relation relation(const struct first *f, int first_dir, int dir, const char *name)
{
	struct stat a, b;

	if (fstatat(dir, name, &b, AT_SYMLINK_NOFOLLOW))
		return ABSENT;
	if (S_ISDIR(b.st_mode))
		return DIRECTORY;
	if (!f->is_lost && !fstatat(first_dir, f->name, &a, AT_SYMLINK_NOFOLLOW) &&
	    a.st_dev == b.st_dev && a.st_ino == b.st_ino)
		return LINKED;
	return OTHER;
}

static void links_verify(struct destination *d, const struct first *f, struct item *i,
			 enum relation r)
{
	char path[COPY_MAX_PATH_BYTES];

	if (r == LINKED) {
		file_end(d, i, COPY_EQUAL);
		return;
	}
	if (r == ABSENT)
		dest_differs(d, i->link.id, i->file.dir, i->file.entry->name, "does not exist");
	else
		dest_differs(d, i->link.id, i->file.dir, i->file.entry->name,
			     "is not a hard link to %s", dest_path(d, f->dir, f->name, path));
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
	enum relation r = relation(f, first_dir, dir, i->file.entry->name);

	if (d->settings->verify)
		links_verify(d, f, i, r);
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
		role_fail(d->role, i->link.id, COPY_FAILED,
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

/* The file that a LINK is another name of; NULL with `why`. l->lock is held. */
static struct first *links_first_of(struct links *l, const struct copy_entry *e, bool is_file,
				    struct err *why)
{
	struct first *f = links_find(l, e->first);

	if (!f || f->all_came)
		dest_violation(why, "a link to an unknown file");
	else if (is_file && f->is_symlink)
		dest_violation(why, DEST_NO_FILE);
	else
		return f;
	return NULL;
}

int links_make(struct destination *d, struct item *i, bool is_file, struct err *why)
{
	const struct copy_entry *e = i->file.entry;
	struct links *l = d->links;
	struct first *f;

	pthread_mutex_lock(&l->lock);
	f = links_first_of(l, e, is_file, why);
	if (!f) {
		pthread_mutex_unlock(&l->lock);
		file_forget(d, i);
		return -EBADMSG;
	}
	f->all_came = e->flags & COPY_LAST_NAME;
	if (!f->outcome) {
		i->next = f->waiting;
		f->waiting = i;
		pthread_mutex_unlock(&l->lock);
		return 0;
	}
	f->users++;
	pthread_mutex_unlock(&l->lock);
	make(d, f, i);
	pthread_mutex_lock(&l->lock);
	f->users--;
	links_unlock(d, f);
	return 0;
}

void links_omit(struct destination *d, const struct copy_entry *e)
{
	struct links *l = d->links;
	struct first *f;

	if (!(e->flags & COPY_LAST_NAME))
		return;
	pthread_mutex_lock(&l->lock);
	f = links_find(l, e->first);
	if (f) {
		f->all_came = true;
		links_unlock(d, f);
	} else {
		pthread_mutex_unlock(&l->lock);
	}
}

void links_file_ended(struct destination *d, uint64_t id, enum copy_outcome outcome)
{
	struct links *l = d->links;
	struct item *waiting;
	struct first *f;

	pthread_mutex_lock(&l->lock);
	f = links_find(l, id);
	if (!f) {
		pthread_mutex_unlock(&l->lock);
		return;
	}
	f->outcome = (uint8_t)outcome;
	waiting = f->waiting;
	f->waiting = NULL;
	f->users++;
	pthread_mutex_unlock(&l->lock);
	while (waiting) {
		struct item *i = waiting;

		waiting = i->next;
		i->next = NULL;
		make(d, f, i);
	}
	pthread_mutex_lock(&l->lock);
	f->users--;
	links_unlock(d, f);
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
	dest_attributes(d, i->link.id, i->file.dir, i->file.entry->name, &result);
}

/* Where something is under its name, the link replaces it at once. */
static int links_create(struct destination *d, struct item *i, int dir, bool fresh)
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
		dest_differs(d, i->link.id, i->file.dir, e->name, "does not exist");
	else if (!same)
		dest_differs(d, i->link.id, i->file.dir, e->name, "is not a symbolic link to %s",
			     e->target);
	else if (*text)
		dest_differs(d, i->link.id, i->file.dir, e->name, "%s", text);
	file_end(d, i, there && same && !*text ? COPY_EQUAL : COPY_DIFFERS);
}

/*
 * True: its attributes would also become attributes of other names of the link that is there, which
 * the source does not have as such. So a new link is to replace this name.
 */
static bool would_change_others(struct destination *d, const struct meta_file *there,
				const struct copy_entry *e)
{
	return there->st->st_nlink > 1 && !(e->flags & COPY_HAS_LINKS) &&
	       !meta_same_settable(there, e, d->owners);
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
	} else if (same && !would_change_others(d, &there, e)) {
		if (!d->settings->dry_run && !meta_same(&there, e, d->owners))
			set_attributes(d, i, dir, e->name);
		file_end(d, i, COPY_SAME);
	} else if (exists && S_ISDIR(st.st_mode)) {
		file_failed(d, i, "replace", -EISDIR);
	} else if (d->settings->dry_run) {
		file_end(d, i, COPY_WOULD);
	} else {
		err = links_create(d, i, dir, !exists);
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

/* ---- files of several names that are written in place ---- */

#define INPLACE_BUCKETS 4096u /* a power of two */

struct inplace_file {
	struct inplace_file *next;
	/* const */
	uint64_t dev, ino;
	uint64_t first_id;
	char *first; /* the name that was offered first */

	/* guarded by the lock of the table */
	char *last; /* another one; NULL: there is none */
	bool written;
};

struct inplace {
	pthread_mutex_t lock;
	struct inplace_file *buckets[INPLACE_BUCKETS]; /* of the receiving thread */
};

struct inplace *inplace_new(void)
{
	struct inplace *p = calloc(1, sizeof(*p));

	if (p)
		pthread_mutex_init(&p->lock, NULL);
	return p;
}

void inplace_free(struct inplace *p)
{
	if (!p)
		return;
	for (size_t i = 0; i < INPLACE_BUCKETS; i++) {
		while (p->buckets[i]) {
			struct inplace_file *f = p->buckets[i];

			p->buckets[i] = f->next;
			free(f->first);
			free(f->last);
			free(f);
		}
	}
	pthread_mutex_destroy(&p->lock);
	free(p);
}

static struct inplace_file **inplace_find(struct inplace *p, const struct stat *st)
{
	uint64_t hash = random_splitmix64(st->st_ino * RANDOM_GOLDEN + st->st_dev);
	struct inplace_file **at = &p->buckets[hash & (INPLACE_BUCKETS - 1)];

	while (*at && ((*at)->ino != st->st_ino || (*at)->dev != st->st_dev))
		at = &(*at)->next;
	return at;
}

struct inplace_file *inplace_offer(struct inplace *p, const struct stat *st, uint64_t id,
				   const char *path)
{
	struct inplace_file **at = inplace_find(p, st), *f = *at;
	char *name = strdup(path);

	if (!f && name)
		f = calloc(1, sizeof(*f));
	if (!f || !name) {
		free(name);
		return NULL;
	}
	if (*at) {
		pthread_mutex_lock(&p->lock);
		free(f->last);
		f->last = name;
		pthread_mutex_unlock(&p->lock);
		return f;
	}
	f->dev = st->st_dev;
	f->ino = st->st_ino;
	f->first_id = id;
	f->first = name;
	*at = f;
	return f;
}

bool inplace_refuses(struct inplace *p, struct inplace_file *f, uint64_t id, bool writes,
		     char *other)
{
	bool refused;

	pthread_mutex_lock(&p->lock);
	refused = f->last && (writes || f->written);
	if (refused)
		snprintf(other, COPY_MAX_PATH_BYTES, "%s", id == f->first_id ? f->last : f->first);
	else
		f->written |= writes;
	pthread_mutex_unlock(&p->lock);
	return refused;
}
