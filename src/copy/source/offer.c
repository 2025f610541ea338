/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The walk, the books, and the answers: what the source has is offered in batches, while the window
 * has room, and is in the books until its result; wants and results of the destination come in the
 * receiving thread of the role.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "copy/source/source.h"
#include "copy/tree/meta.h"
#include "xdd/base/err.h"
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

static int offer_flush(struct offering *o)
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
 * Encode an entry after the batch, of which it becomes a part with offer_add(). Returns its size,
 * or -errno. offer_flush() loses it.
 */
static int offer_encode(struct offering *o, const struct copy_entry *e)
{
	size_t n = copy_encode_entry(e, o->batch + o->batch_bytes,
				     COPY_MAX_OFFER_BYTES - o->batch_bytes);

	if (!n && o->batch_bytes) {
		int err = offer_flush(o);

		if (err)
			return err;
		n = copy_encode_entry(e, o->batch, COPY_MAX_OFFER_BYTES);
	}
	return n ? (int)n : -ENAMETOOLONG;
}

static void offer_add(struct offering *o, int bytes)
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
		return offer_flush(o);
	return 0;
}

/* ---- entries without a result ---- */

/* An entry that the walk has found, without a reference to its directory; NULL without memory. */
static struct entry *entry_new(const struct walk_found *found, size_t encoded_bytes)
{
	const char *name = found->entry.kind == COPY_FILE ? found->name : found->entry.name;
	size_t length = strlen(name) + 1;
	struct entry *e = calloc(1, sizeof(*e) + length);

	if (!e)
		return NULL;
	e->link.id = found->entry.id;
	e->dirs = found->dirs;
	e->size_bytes = found->entry.size_bytes;
	e->file_bytes = (uint64_t)found->st.st_size;
	e->dev = found->st.st_dev;
	e->ino = found->st.st_ino;
	e->mtime_ns = timespec_ns(&found->st.st_mtim);
	e->ctime_ns = timespec_ns(&found->st.st_ctim);
	e->type = found->st.st_mode & S_IFMT;
	e->uid = found->st.st_uid;
	e->encoded_bytes = (uint32_t)encoded_bytes;
	e->kind = (uint8_t)found->entry.kind;
	e->flags = (uint8_t)found->entry.flags;
	memcpy(e->name, name, length);
	return e;
}

void entry_free(struct entry *e)
{
	if (!e)
		return;
	if (e->dir)
		dirs_release(e->dirs, e->dir);
	free(e->ranges);
	free(e);
}

/* The lock of the source is held from here on. */

static struct entry *books_find(const struct source *s, uint64_t id)
{
	return IDMAP_STRUCT(idmap_find(&s->books, id), struct entry);
}

/* Take an entry out, and out of the window. The caller owns it. */
static void books_remove(struct source *s, struct entry *e)
{
	idmap_remove(&s->books, &e->link);
	e->listed = false;
	if (e->counted) {
		e->counted = false;
		s->window_entries--;
		s->window_bytes -= e->encoded_bytes;
	}
}

/* Count an entry in the window. */
static void window_count(struct source *s, struct entry *e)
{
	e->counted = true;
	s->window_entries++;
	s->window_bytes += e->encoded_bytes;
}

/* True if the window has room for one more entry of so many bytes. */
static bool window_has_room(const struct source *s, size_t encoded_bytes)
{
	return s->window_entries < COPY_WINDOW_ENTRIES &&
	       s->window_bytes + encoded_bytes <= COPY_WINDOW_BYTES;
}

/* ---- the window ---- */

/* Wait for room, with the lock. Returns 0, -ECANCELED, or another -errno. */
static int wait_for_room(struct offering *o, size_t bytes)
{
	struct source *s = o->s;
	int err;

	if (window_has_room(s, bytes))
		return 0;
	pthread_mutex_unlock(&s->lock);
	err = offer_flush(o);
	pthread_mutex_lock(&s->lock);
	s->waits_for_room = true;
	while (!err && !window_has_room(s, bytes)) {
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
	if (!err) {
		idmap_add(&s->books, &e->link);
		e->listed = true;
		if (e->kind != COPY_DIR)
			window_count(s, e);
	}
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
	e = books_find(s, o->open_dirs[--o->n_open_dirs]);
	if (e) {
		uint64_t id = e->link.id;

		err = wait_for_room(o, e->encoded_bytes);
		e = books_find(s, id);
	}
	if (e && !err)
		window_count(s, e);
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
	/* A directory that may not be opened fails when it is to be read. */
	if (err && !(err == -EACCES && e->kind == COPY_DIR) && !atomic_load(&o->s->closing))
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
		err = enter_dir(o, e->link.id);
	if (err) {
		entry_free(e);
		return err;
	}
	return put_in_books(o, e);
}

static int offer_entry(struct offering *o, const struct copy_entry *e, struct walk_found *found)
{
	int err = e->kind == COPY_LEAVE ? leave_dir(o) : 0;
	int n = err ? err : offer_encode(o, e);
	size_t at = o->batch_bytes;

	if (n >= 0 && has_id(e->kind)) {
		err = note_entry(o, found, n);
		/* A wait for room may have sent the batch before it. */
		if (err || o->batch_bytes != at)
			n = err ? err : offer_encode(o, e);
	}
	if (n < 0)
		return n;
	offer_add(o, n);
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
		n = offer_encode(o, &owner);
		if (n > 0)
			offer_add(o, n);
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
	return err ? err : offer_flush(o);
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

/*
 * Wants and results of the destination: everything in them is checked before anything acts on it.
 */

/* Of all wants in the queue; 16 bytes each. A resumed copy has some thousands. */
#define MAX_QUEUED_RANGES (1u << 20)

static int receive_refuse(struct err *why, const char *what, uint64_t id)
{
	return err_set(why, -EBADMSG, "it sent a %s for entry %" PRIu64, what, id);
}

/* ---- WANT ---- */

static bool ranges_fit(const struct copy_want *w, const struct entry *e)
{
	return w->n_ranges == 0 || w->ranges[w->n_ranges - 1].end <= e->size_bytes;
}

/* A second want concerns a file whose digests differ. */
static bool may_want(const struct source *s, const struct entry *e, const struct copy_want *w)
{
	const struct copy_settings *settings = s->settings;
	unsigned asked = e->asked;

	if (e->kind != COPY_FILE || e->state != ENTRY_IDLE || !ranges_fit(w, e))
		return false;
	if (w->how == COPY_SUMS)
		return asked == 0 && (w->n_ranges == 0 || (settings->resume && !settings->verify));
	return !settings->verify && !settings->dry_run && !(asked & 1u << COPY_SEND);
}

static int take_want(struct source *s, const struct copy_want *w, struct err *why)
{
	struct entry *e = books_find(s, w->id);

	if (!e || !may_want(s, e, w))
		return receive_refuse(why, "want that is not valid", w->id);
	if (s->queued_ranges + w->n_ranges > MAX_QUEUED_RANGES)
		return receive_refuse(why, "want with too many ranges", w->id);
	if (w->n_ranges) {
		e->ranges = malloc(w->n_ranges * sizeof(*e->ranges));
		if (!e->ranges)
			return -ENOMEM;
		memcpy(e->ranges, w->ranges, w->n_ranges * sizeof(*e->ranges));
		e->n_ranges = w->n_ranges;
	}
	e->how = (uint8_t)w->how;
	e->asked |= (uint8_t)(1u << w->how);
	work_put(s, e);
	return 0;
}

static int take_wants(struct source *s, const struct wire_header *h, const uint8_t *body,
		      struct err *why)
{
	struct copy_want_cursor *c = malloc(sizeof(*c));
	struct copy_want w;
	bool more = true;
	int err = 0;

	if (!c)
		return -ENOMEM;
	c->in = dec_begin(body, h->length);
	pthread_mutex_lock(&s->lock);
	while (!err) {
		if (copy_decode_want(c, &w, &more) != WIRE_OK)
			err = err_set(why, -EBADMSG, "it sent wants that do not parse");
		if (err || !more)
			break;
		err = take_want(s, &w, why);
	}
	pthread_cond_signal(&s->work);
	pthread_mutex_unlock(&s->lock);
	free(c);
	return err;
}

/* ---- RESULT ---- */

/* -k and -n have outcomes of their own. */
static bool is_outcome_of(const struct copy_settings *settings, enum copy_outcome outcome)
{
	switch (outcome) {
	case COPY_DONE:
		return !settings->verify && !settings->dry_run;
	case COPY_EQUAL:
	case COPY_DIFFERS:
		return settings->verify;
	case COPY_WOULD:
		return settings->dry_run;
	case COPY_SAME:
	case COPY_LOST:
		break;
	}
	return true;
}

static bool may_end(const struct source *s, const struct entry *e, enum copy_outcome outcome)
{
	return outcome == COPY_LOST ||
	       (e->state == ENTRY_IDLE && is_outcome_of(s->settings, outcome));
}

static void count_done(struct source *s, const struct entry *e, enum copy_outcome outcome)
{
	if (e->kind != COPY_FILE || outcome != COPY_DONE)
		return;
	s->done_files++;
	s->done_bytes += e->size_bytes;
}

/* Take the entry out of the books, and append it to a list if no data thread has it. */
static int take_result(struct source *s, const struct copy_result *r, struct entry ***end,
		       struct err *why)
{
	struct entry *e = books_find(s, r->id);

	if (!e || !may_end(s, e, r->outcome))
		return receive_refuse(why, "result that is not valid", r->id);
	count_done(s, e, r->outcome);
	books_remove(s, e);
	if (e->state != ENTRY_IDLE) {
		atomic_store(&e->lost, true);
		return 0;
	}
	e->next = NULL;
	**end = e;
	*end = &e->next;
	return 0;
}

static int take_results(struct source *s, const struct wire_header *h, const uint8_t *body,
			struct err *why)
{
	struct entry *ended = NULL, **end = &ended;
	size_t n = 0;
	int err = 0;

	if (copy_check_results(body, h->length, &n) != WIRE_OK)
		return err_set(why, -EBADMSG, "it sent results that do not parse");
	pthread_mutex_lock(&s->lock);
	for (size_t i = 0; i < n && !err; i++) {
		struct copy_result r = copy_result_at(body, i);

		err = take_result(s, &r, &end, why);
	}
	if (s->waits_for_room || (s->walk_over && s->books.n == 0))
		pthread_cond_broadcast(&s->changed);
	pthread_mutex_unlock(&s->lock);
	if (!err)
		copy_report_results(s->job->report, body, h->length);
	while (ended) {
		struct entry *e = ended;

		ended = e->next;
		entry_free(e);
	}
	return err;
}

int source_receive(void *source, const struct wire_header *h, const uint8_t *body, struct err *why)
{
	struct source *s = source;

	if (atomic_load(&s->closing) && h->type != WIRE_COPY_RESULT)
		return 0;
	if (h->type == WIRE_COPY_WANT)
		return take_wants(s, h, body, why);
	if (h->type == WIRE_COPY_RESULT)
		return take_results(s, h, body, why);
	return err_set(why, -EBADMSG, "it sent a message that a destination does not send: %s",
		       wire_type_name(h->type));
}
