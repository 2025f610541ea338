/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names of entries between their OFFER and RESULT; see the header. Called by report.c.
 *
 * The window of the copy bounds the names of entries. Paths exist only while they are reported, as
 * the names in a deep tree are long.
 */
#include "copy/report/report_internal.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "xdd/base/sets.h"

/* Directories that were entered do not count in the window. */
#define MOST_NAMES (2 * COPY_WINDOW_ENTRIES)

/* A directory that was entered. Names in it, and directories, hold it. */
struct place {
	struct place *in; /* NULL: at the top */
	size_t holds;	  /* guarded by the lock of the names */
	size_t length;	  /* of the path, "a/b/" */
	char name[];	  /* "": it stands for the destination itself */
};

struct name {
	struct idmap_link link;
	struct place *in;
	uint64_t bytes;
	enum copy_kind kind;
	char name[];
};

struct names {
	struct copy_report *report; /* const */

	/* owned by the thread of the offers */
	struct copy_cursor cursor;
	struct place *in; /* the directory that was entered last, held */
	bool lost;	  /* there is no memory: names are not known any more */

	pthread_mutex_t lock;
	/* guarded by lock */
	struct idmap map;
};

/* n->lock is held. */
static void names_release(struct place *p)
{
	while (p && --p->holds == 0) {
		struct place *in = p->in;

		free(p);
		p = in;
	}
}

static void free_name(struct name *name)
{
	names_release(name->in);
	free(name);
}

struct names *names_new(struct copy_report *report)
{
	struct names *n;

	n = calloc(1, sizeof(*n));
	if (!n)
		return NULL;
	if (idmap_init(&n->map)) {
		free(n);
		return NULL;
	}
	n->report = report;
	pthread_mutex_init(&n->lock, NULL);
	return n;
}

void names_free(struct names *n)
{
	struct idmap_link *next;

	if (!n)
		return;
	for (struct idmap_link *l = idmap_next(&n->map, NULL); l; l = next) {
		next = idmap_next(&n->map, l);
		free_name(IDMAP_STRUCT(l, struct name));
	}
	idmap_free(&n->map);
	names_release(n->in);
	pthread_mutex_destroy(&n->lock);
	free(n);
}

/* ---- offers ---- */

static bool names_enter(struct names *n, const char *name)
{
	size_t length = strlen(name);
	struct place *p = malloc(sizeof(*p) + length + 1);

	if (!p)
		return false;
	/* The new directory takes over the hold on the one around it. */
	p->in = n->in;
	p->holds = 1;
	p->length = (n->in ? n->in->length : 0) + (length ? length + 1 : 0);
	memcpy(p->name, name, length + 1);
	n->in = p;
	return true;
}

static void names_leave(struct names *n)
{
	struct place *p = n->in;

	if (!p)
		return;
	pthread_mutex_lock(&n->lock);
	n->in = p->in;
	if (n->in)
		n->in->holds++;
	names_release(p);
	pthread_mutex_unlock(&n->lock);
}

static void names_remember(struct names *n, const struct copy_entry *e)
{
	size_t length = strlen(e->name);
	struct name *name = malloc(sizeof(*name) + length + 1);

	if (!name)
		return;
	name->in = n->in;
	name->link.id = e->id;
	name->bytes = e->size_bytes;
	name->kind = e->kind;
	memcpy(name->name, e->name, length + 1);
	pthread_mutex_lock(&n->lock);
	if (n->map.n < MOST_NAMES) {
		if (n->in)
			n->in->holds++;
		idmap_add(&n->map, &name->link);
		name = NULL;
	}
	pthread_mutex_unlock(&n->lock);
	free(name);
}

static void take_entry(struct names *n, const struct copy_entry *e)
{
	if (e->kind == COPY_LEAVE) {
		names_leave(n);
		return;
	}
	if (e->kind == COPY_OWNER || e->kind == COPY_END)
		return;
	names_remember(n, e);
	if (e->kind == COPY_DIR && !names_enter(n, e->name))
		n->lost = true;
}

void names_offer(struct names *n, const uint8_t *body, size_t length)
{
	struct copy_entry e;
	bool more = true;

	n->cursor.in = dec_begin(body, length);
	while (!n->lost && copy_decode_entry(&n->cursor, &e, &more) == WIRE_OK && more)
		take_entry(n, &e);
}

/* ---- results ---- */

/* Take the name of an entry out. NULL: it is not known. */
static struct name *names_forget(struct names *n, uint64_t id)
{
	struct name *name;

	pthread_mutex_lock(&n->lock);
	name = IDMAP_STRUCT(idmap_find(&n->map, id), struct name);
	if (name)
		idmap_remove(&n->map, &name->link);
	pthread_mutex_unlock(&n->lock);
	return name;
}

/* Its path, to be freed, or NULL. The directories of a name do not change. */
static char *path_of(const struct name *name)
{
	size_t at = name->in ? name->in->length : 0, length = strlen(name->name);
	char *path = malloc(at + length + 1);

	if (!path)
		return NULL;
	memcpy(path + at, name->name, length + 1);
	for (const struct place *p = name->in; p; p = p->in) {
		length = strlen(p->name);
		if (!length)
			continue;
		path[--at] = '/';
		at -= length;
		memcpy(path + at, p->name, length);
	}
	return path;
}

static void names_report(struct names *n, struct name *name, enum copy_outcome outcome)
{
	char *path = path_of(name);

	if (path)
		copy_report_entry(n->report, path, name->kind, name->bytes, outcome);
	free(path);
	pthread_mutex_lock(&n->lock);
	free_name(name);
	pthread_mutex_unlock(&n->lock);
}

void names_result(struct names *n, const uint8_t *body, size_t length)
{
	size_t count;

	if (copy_check_results(body, length, &count) != WIRE_OK)
		return;
	for (size_t i = 0; i < count; i++) {
		struct copy_result r = copy_result_at(body, i);
		struct name *name = names_forget(n, r.id);

		if (name)
			names_report(n, name, r.outcome);
	}
}
