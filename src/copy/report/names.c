/*
 * Names of entries between their OFFER and RESULT; see the header. The window of the copy bounds
 * them.
 */
#include "copy/report/names.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "copy/report/report_internal.h"
#include "xdd/base/array.h"

#define BUCKETS (1u << 14)

/* Directories that were entered do not count in the window. */
#define MOST_NAMES (2 * COPY_WINDOW_ENTRIES)
#define MOST_PATH_BYTES (1u << 20)

struct name {
	struct name *next;
	uint64_t id, bytes;
	enum copy_kind kind;
	char path[];
};

struct names {
	struct copy_report *report; /* const */

	/* owned by the thread of the offers: the directory that was entered last */
	struct copy_cursor cursor;
	char *path; /* "a/b/" */
	size_t length;
	size_t *lengths; /* of `path` before each level */
	size_t depth;
	bool lost; /* it is too long, or there is no memory: names are not known any more */

	pthread_mutex_t lock;
	/* guarded by lock */
	struct name *buckets[BUCKETS];
	size_t n;
};

struct names *names_new(struct copy_report *report)
{
	struct names *n;

	n = calloc(1, sizeof(*n));
	if (!n)
		return NULL;
	n->report = report;
	pthread_mutex_init(&n->lock, NULL);
	return n;
}

void names_free(struct names *n)
{
	if (!n)
		return;
	for (size_t i = 0; i < BUCKETS; i++) {
		while (n->buckets[i]) {
			struct name *name = n->buckets[i];

			n->buckets[i] = name->next;
			free(name);
		}
	}
	pthread_mutex_destroy(&n->lock);
	free(n->path);
	free(n->lengths);
	free(n);
}

/* ---- offers ---- */

/* "" is a directory that stands for the destination itself. */
static bool enter(struct names *n, const char *name)
{
	size_t length = strlen(name);
	size_t *lengths = array_room(n->lengths, n->depth, sizeof(*lengths));
	char *path;

	if (!lengths || n->length + length + 2 > MOST_PATH_BYTES)
		return false;
	n->lengths = lengths;
	path = realloc(n->path, n->length + length + 2);
	if (!path)
		return false;
	n->path = path;
	n->lengths[n->depth++] = n->length;
	if (length) {
		memcpy(path + n->length, name, length);
		path[n->length + length] = '/';
		n->length += length + 1;
	}
	return true;
}

static void leave(struct names *n)
{
	if (n->depth > 0)
		n->length = n->lengths[--n->depth];
}

static void remember(struct names *n, const struct copy_entry *e)
{
	size_t length = strlen(e->name);
	struct name *name = malloc(sizeof(*name) + n->length + length + 1);

	if (!name)
		return;
	name->id = e->id;
	name->bytes = e->size_bytes;
	name->kind = e->kind;
	if (n->length)
		memcpy(name->path, n->path, n->length);
	memcpy(name->path + n->length, e->name, length + 1);
	pthread_mutex_lock(&n->lock);
	if (n->n < MOST_NAMES) {
		name->next = n->buckets[e->id % BUCKETS];
		n->buckets[e->id % BUCKETS] = name;
		n->n++;
		name = NULL;
	}
	pthread_mutex_unlock(&n->lock);
	free(name);
}

static void take_entry(struct names *n, const struct copy_entry *e)
{
	if (e->kind == COPY_LEAVE) {
		leave(n);
		return;
	}
	if (e->kind == COPY_OWNER || e->kind == COPY_END)
		return;
	remember(n, e);
	if (e->kind == COPY_DIR && !enter(n, e->name))
		n->lost = true;
}

void names_offer(struct names *n, const uint8_t *body, size_t length)
{
	struct copy_entry e;
	bool more = true;

	copy_cursor_init(&n->cursor, body, length);
	while (!n->lost && copy_decode_entry(&n->cursor, &e, &more) == WIRE_OK && more)
		take_entry(n, &e);
}

/* ---- results ---- */

/* Take the name of an entry out. The caller frees it; NULL: it is not known. */
static struct name *forget(struct names *n, uint64_t id)
{
	struct name **at, *name;

	pthread_mutex_lock(&n->lock);
	at = &n->buckets[id % BUCKETS];
	while (*at && (*at)->id != id)
		at = &(*at)->next;
	name = *at;
	if (name) {
		*at = name->next;
		n->n--;
	}
	pthread_mutex_unlock(&n->lock);
	return name;
}

void names_result(struct names *n, const uint8_t *body, size_t length)
{
	size_t count;

	if (copy_check_results(body, length, &count) != WIRE_OK)
		return;
	for (size_t i = 0; i < count; i++) {
		struct copy_result r = copy_result_at(body, i);
		struct name *name = forget(n, r.id);

		if (name)
			copy_report_entry(n->report, name->path, name->kind, name->bytes,
					  r.outcome);
		free(name);
	}
}
