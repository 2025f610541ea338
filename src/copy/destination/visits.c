/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Directories that a list names, or that lead to its names. They may be entered many times, in any
 * order and at the same time. When the last visit of a directory ends, it gets the attributes that
 * came with its own name. Before that name has come, it gets the attributes that came with the
 * first name below it. Called by entries.c.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "copy/destination/destination.h"
#include "xdd/base/random.h"
#include "xdd/base/sets.h"

/* Directories beyond are treated as if each visit were the only one. */
#define MAX_VISITS_BYTES (256u << 20)

struct visited {
	struct idmap_link link;
	/* const */
	dev_t dev;
	ino_t ino;

	/* guarded by the lock of all */
	struct copy_entry *entry; /* its attributes; NULL: it existed, and keeps its own */
	bool made;
	mode_t old_mode; /* of directory_open_up() */
	unsigned users;
};

struct visits {
	/* held while a directory gets attributes, so that no visit begins before the end of that */
	pthread_mutex_t lock;
	struct idmap map; /* guarded by lock */
	size_t bytes;	  /* of the receiving thread */
};

struct visits *visits_new(void)
{
	struct visits *x = calloc(1, sizeof(*x));

	if (!x)
		return NULL;
	if (idmap_init(&x->map)) {
		free(x);
		return NULL;
	}
	pthread_mutex_init(&x->lock, NULL);
	return x;
}

void visits_free(struct visits *x)
{
	struct idmap_link *next;

	if (!x)
		return;
	for (struct idmap_link *l = idmap_next(&x->map, NULL); l; l = next) {
		struct visited *v = IDMAP_STRUCT(l, struct visited);

		next = idmap_next(&x->map, l);
		free(v->entry);
		free(v);
	}
	idmap_free(&x->map);
	pthread_mutex_destroy(&x->lock);
	free(x);
}

/* The one of the directory that `st` describes, which is added. NULL: there are too many. */
static struct visited *visits_find(struct visits *x, const struct stat *st)
{
	const uint64_t key = random_splitmix64(st->st_ino * RANDOM_GOLDEN + st->st_dev);
	struct visited *v = IDMAP_STRUCT(idmap_find(&x->map, key), struct visited);

	if (v)
		return v->ino == st->st_ino && v->dev == st->st_dev ? v : NULL;
	if (x->bytes > MAX_VISITS_BYTES)
		return NULL;
	v = calloc(1, sizeof(*v));
	if (!v)
		return NULL;
	v->link.id = key;
	v->dev = st->st_dev;
	v->ino = st->st_ino;
	v->old_mode = META_KEEP_MODE;
	idmap_add(&x->map, &v->link);
	x->bytes += sizeof(*v);
	return v;
}

/* The entry of a visit has attributes for the directory, unless there are better ones. */
static void take_attributes(struct visits *x, struct visited *v, const struct copy_entry *e,
			    uint32_t cost_bytes)
{
	const bool named = !(e->flags & COPY_IMPLIED);
	struct copy_entry *entry;

	if (!named && (v->entry || !v->made))
		return;
	entry = meta_entry_dup(e);
	if (!entry)
		return;
	if (!named)
		entry->mode |= S_IRWXU;
	if (!v->entry)
		x->bytes += cost_bytes;
	free(v->entry);
	v->entry = entry;
}

struct visited *visits_enter(struct visits *x, int at, const struct copy_entry *e,
			     uint32_t cost_bytes, bool made, mode_t *old_mode)
{
	struct visited *v = NULL;
	struct stat st;

	if (x)
		pthread_mutex_lock(&x->lock);
	if (x && !fstatat(at, e->name, &st, AT_SYMLINK_NOFOLLOW) && S_ISDIR(st.st_mode))
		v = visits_find(x, &st);
	if (!made && (!(e->flags & COPY_IMPLIED) || (v && v->entry)))
		*old_mode = directory_open_up_at(at, e->name);
	if (v) {
		v->users++;
		v->made |= made;
		if (v->old_mode == META_KEEP_MODE)
			v->old_mode = *old_mode;
		take_attributes(x, v, e, cost_bytes);
	}
	if (x)
		pthread_mutex_unlock(&x->lock);
	return v;
}

void visits_leave(struct destination *d, struct visits *x, struct visited *v, struct dir_node *node,
		  uint64_t id)
{
	pthread_mutex_lock(&x->lock);
	if (!--v->users && v->entry && node) {
		v->entry->id = id; /* whose result is outstanding */
		directory_attributes(d, node, v->entry, v->made, v->old_mode);
	}
	pthread_mutex_unlock(&x->lock);
}
