/*
 * The walk: what the source has is offered in batches, while the window has room.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "copy/source/open.h"
#include "copy/source/source.h"
#include "copy/tree/meta.h"
#include "xdd/base/memory.h"
#include "xdd/sys/clock.h"

#define FIRST_BATCH_BYTES (8u << 10)
#define BATCH_BYTES (256u << 10)
#define BATCH_NS (10 * NS_PER_MS)

/* Owned by the walk. */
struct offering {
	struct source *s;
	uint8_t *batch; /* COPY_MAX_OFFER_BYTES */
	size_t batch_bytes;
	uint64_t since_ns;   /* clock when it was begun */
	uint64_t sent_bytes; /* of the batches before it */
	uint64_t *open_dirs; /* ids, from the top down */
	size_t n_open_dirs;
	struct held_dir held;
	struct meta_names *names; /* -P */
};

static int flush(struct offering *o)
{
	size_t n = o->batch_bytes;

	/* The role may be gone, if the walk was left behind. */
	if (atomic_load(&o->s->closing))
		return -ECANCELED;
	o->batch_bytes = 0;
	o->sent_bytes += n;
	if (n)
		copy_report_offer(o->s->job->report, o->batch, n);
	return n ? role_send(o->s->role, WIRE_COPY_OFFER, o->batch, n) : 0;
}

/*
 * Encode an entry after the batch, of which it becomes a part with add(). Returns its size, or
 * -errno. flush() loses it.
 */
static int encode(struct offering *o, const struct copy_entry *e)
{
	size_t n = copy_encode_entry(e, o->batch + o->batch_bytes,
				     COPY_MAX_OFFER_BYTES - o->batch_bytes);

	if (!n && o->batch_bytes) {
		int err = flush(o);

		if (err)
			return err;
		n = copy_encode_entry(e, o->batch, COPY_MAX_OFFER_BYTES);
	}
	return n ? (int)n : -ENAMETOOLONG;
}

static void add(struct offering *o, int bytes)
{
	if (!o->batch_bytes)
		o->since_ns = clock_now_ns();
	o->batch_bytes += (size_t)bytes;
}

/*
 * The destination takes a batch once all of it is there. TCP begins slowly: on a long way the first
 * large batch would take some round trips, with nothing to do for the destination meanwhile. So
 * batches grow as TCP's window does, each to the bytes that were sent before it.
 */
static size_t batch_limit(const struct offering *o)
{
	if (o->sent_bytes < FIRST_BATCH_BYTES)
		return FIRST_BATCH_BYTES;
	return o->sent_bytes < BATCH_BYTES ? (size_t)o->sent_bytes : BATCH_BYTES;
}

/* Send the batch when it is large or old enough. */
static int pace(struct offering *o)
{
	if (o->batch_bytes >= batch_limit(o) ||
	    (o->batch_bytes && clock_now_ns() - o->since_ns >= BATCH_NS))
		return flush(o);
	return 0;
}

/* ---- the window ---- */

/* Wait for room, with the lock. Returns 0, -ECANCELED, or another -errno. */
static int wait_for_room(struct offering *o, size_t bytes)
{
	struct source *s = o->s;
	int err;

	if (books_have_room(&s->books, bytes))
		return 0;
	pthread_mutex_unlock(&s->lock);
	err = flush(o);
	pthread_mutex_lock(&s->lock);
	s->waits_for_room = true;
	while (!err && !books_have_room(&s->books, bytes)) {
		if (atomic_load(&s->closing))
			err = -ECANCELED;
		else
			pthread_cond_wait(&s->changed, &s->lock);
	}
	s->waits_for_room = false;
	return err;
}

static int put_in_books(struct offering *o, struct entry *e)
{
	struct source *s = o->s;
	int err = 0;

	pthread_mutex_lock(&s->lock);
	if (e->kind != COPY_DIR)
		err = wait_for_room(o, e->encoded_bytes);
	if (!err)
		err = books_add(&s->books, e);
	if (!err && e->kind != COPY_DIR)
		books_count(&s->books, e);
	pthread_mutex_unlock(&s->lock);
	if (err)
		entry_free(e);
	return err;
}

/* A directory counts from now on, unless it was lost before. */
static int leave_dir(struct offering *o)
{
	struct source *s = o->s;
	struct entry *e;
	int err = 0;

	if (!o->n_open_dirs)
		return -EPROTO;
	pthread_mutex_lock(&s->lock);
	e = books_find(&s->books, o->open_dirs[--o->n_open_dirs]);
	if (e) {
		uint64_t id = e->id;

		err = wait_for_room(o, e->encoded_bytes);
		e = books_find(&s->books, id);
	}
	if (e && !err)
		books_count(&s->books, e);
	pthread_mutex_unlock(&s->lock);
	return err;
}

static int enter_dir(struct offering *o, uint64_t id)
{
	uint64_t *ids = array_room(o->open_dirs, o->n_open_dirs, sizeof(*ids));

	if (!ids)
		return -ENOMEM;
	o->open_dirs = ids;
	ids[o->n_open_dirs++] = id;
	return 0;
}

/* ---- entries ---- */

/* The entry is copied without its attributes, which is a failure. */
static void attributes_failed(struct offering *o, const struct walk_found *found, int err)
{
	struct copy_failure f = { .id = found->entry.id, .status = COPY_FAILED };

	dirs_path(found->dirs, found->dir, found->entry.kind == COPY_DIR ? NULL : found->entry.name,
		  f.path, sizeof(f.path));
	if (err == -E2BIG)
		snprintf(f.text, sizeof(f.text),
			 "it has more than %d attributes or %u KiB of them: none are copied",
			 COPY_MAX_ATTRS, COPY_MAX_ATTRS_BYTES >> 10);
	else
		snprintf(f.text, sizeof(f.text), "its attributes cannot be read: %s",
			 strerror(-err));
	role_failure(o->s->role, &f);
}

/* Attributes of a file; 0 as well for one that is gone, which fails when it is to be read. */
static int read_of_file(struct offering *o, struct walk_found *found, int dir, struct meta_set *set)
{
	struct entry *file = entry_new(found, 0);
	int fd, err;

	if (!file)
		return -ENOMEM;
	file->dir = found->dir;
	fd = source_open(&o->held, file, 0);
	source_let_go(&o->held);
	file->dir = NULL;
	entry_free(file);
	if (fd == -ENOENT || fd == -ESTALE)
		return 0;
	/* ACLs and the names of attributes may be read where contents may not. */
	if (fd == -EACCES)
		return meta_read(-1, dir, found->entry.name, set);
	if (fd < 0)
		return fd;
	err = meta_read(fd, -1, NULL, set);
	close(fd);
	return err;
}

/* -P. */
static void read_attributes(struct offering *o, struct walk_found *found, struct meta_set *set)
{
	struct copy_entry *e = &found->entry;
	int dir = dirs_fd(found->dirs, found->dir), err = dir < 0 ? dir : 0;

	if (dir >= 0) {
		if (e->kind == COPY_FILE && !(e->flags & COPY_DEVICE))
			err = read_of_file(o, found, dir, set);
		else if (e->kind == COPY_SYMLINK)
			err = meta_read(-1, dir, e->name, set);
		else if (e->kind == COPY_DIR)
			err = meta_read(dir, -1, NULL, set);
		dirs_done(found->dirs, found->dir);
	}
	if (err && !atomic_load(&o->s->closing))
		attributes_failed(o, found, err);
	if (err)
		return;
	e->attrs = set->attrs;
	e->n_attrs = set->n;
}

static void count_offered(struct source *s, const struct copy_entry *e)
{
	switch (e->kind) {
	case COPY_FILE:
		count_add(&s->offered_files, 1);
		count_add(&s->offered_bytes, e->size_bytes);
		break;
	case COPY_DIR:
		count_add(&s->offered_dirs, 1);
		break;
	case COPY_SYMLINK:
	case COPY_LINK:
		count_add(&s->offered_links, 1);
		break;
	default:
		break;
	}
}

static bool has_id(enum copy_kind kind)
{
	return kind == COPY_DIR || kind == COPY_FILE || kind == COPY_SYMLINK || kind == COPY_LINK;
}

/* An entry with an id: it is in the books before the destination can know it. */
static int note_entry(struct offering *o, struct walk_found *found, int encoded_bytes)
{
	struct entry *e = entry_new(found, (size_t)encoded_bytes);
	int err = 0;

	if (!e)
		return -ENOMEM;
	if (e->kind == COPY_FILE) {
		e->dir = found->dir;
		found->dir = NULL;
	}
	if (e->kind == COPY_DIR)
		err = enter_dir(o, e->id);
	if (err) {
		entry_free(e);
		return err;
	}
	return put_in_books(o, e);
}

static int offer_entry(struct offering *o, const struct copy_entry *e, struct walk_found *found)
{
	int err = e->kind == COPY_LEAVE ? leave_dir(o) : 0;
	int n = err ? err : encode(o, e);
	size_t at = o->batch_bytes;

	if (n >= 0 && has_id(e->kind)) {
		err = note_entry(o, found, n);
		/* A wait for room may have sent the batch before it. */
		if (err || o->batch_bytes != at)
			n = err ? err : encode(o, e);
	}
	if (n < 0)
		return n;
	add(o, n);
	count_offered(o->s, e);
	if (e->kind == COPY_END)
		role_all_offered(o->s->role);
	return 0;
}

/* -P: attributes, after the names of users and groups that the destination does not know yet. */
static int offer_everything(struct offering *o, struct walk_found *found)
{
	struct meta_set set = { .n = 0 };
	struct copy_entry owner;
	int n = 0;

	read_attributes(o, found, &set);
	while (n >= 0 && meta_owner_before(o->names, &found->entry, &owner)) {
		n = encode(o, &owner);
		if (n > 0)
			add(o, n);
	}
	if (n >= 0)
		n = offer_entry(o, &found->entry, found);
	meta_set_free(&set);
	return n;
}

static int offer_found(struct offering *o, struct walk_found *found)
{
	if (o->names && has_id(found->entry.kind))
		return offer_everything(o, found);
	return offer_entry(o, &found->entry, found);
}

static int offer_all(struct offering *o)
{
	struct source *s = o->s;
	struct walk_found found;
	int err = 0;

	while (!err && walk_next(s->walk, &found)) {
		if (atomic_load(&s->closing))
			err = -ECANCELED;
		else if (found.failed)
			role_failure(s->role, &found.failure);
		else
			err = offer_found(o, &found);
		if (found.dir)
			dirs_release(found.dirs, found.dir);
		if (!err)
			err = pace(o);
	}
	return err ? err : flush(o);
}

void *offer_thread(void *source)
{
	struct offering o = { .s = source, .held = { .self = geteuid(), .fd = -1 } };
	struct source *s = source;
	int err = -ENOMEM;

	o.batch = malloc(COPY_MAX_OFFER_BYTES);
	if (s->settings->everything)
		o.names = meta_names_new();
	if (o.batch && (o.names || !s->settings->everything))
		err = offer_all(&o);
	if (err && !atomic_load(&s->closing))
		role_fatal(s->role, COPY_FAILED, "cannot offer files (%s)", strerror(-err));
	free(o.batch);
	free(o.open_dirs);
	meta_names_free(o.names);
	pthread_mutex_lock(&s->lock);
	s->walk_over = true;
	pthread_cond_broadcast(&s->changed);
	pthread_mutex_unlock(&s->lock);
	source_thread_ends(s);
	return NULL;
}
