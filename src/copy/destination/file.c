/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Files of the destination: the table of those whose result is outstanding, and each from its
 * first byte to its result; and the messages that tell the source, WANT and RESULT. Called by the
 * thread of the entries, data threads, the receiving thread and the commit.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "copy/destination/destination.h"
#include "xdd/base/err.h"
#include "xdd/io/guard.h"

/* Ranges that are remembered of a file: of what came, and of what differs. */
#define STREAM_MAX_RANGES (1u << 22)
#define STREAM_MAX_DIFFERING 4096

int items_init(struct items *t)
{
	*t = (struct items){ .n_awaited = 0 };
	if (idmap_init(&t->map))
		return -ENOMEM;
	pthread_mutex_init(&t->lock, NULL);
	return 0;
}

void items_destroy(struct items *t)
{
	if (!t->map.lists)
		return;
	pthread_mutex_destroy(&t->lock);
	idmap_free(&t->map);
}

/* The item of `id`, or NULL. */
static struct item *items_find(struct items *t, uint64_t id)
{
	return IDMAP_STRUCT(idmap_find(&t->map, id), struct item);
}

int items_open(struct items *t, uint32_t cost_bytes)
{
	uint64_t n = atomic_fetch_add(&t->open_entries, 1);
	uint64_t bytes = atomic_fetch_add(&t->open_bytes, cost_bytes);

	return n >= COPY_WINDOW_ENTRIES || bytes >= COPY_WINDOW_BYTES ? -ENOSPC : 0;
}

/* Its RESULT is sent. */
static void items_close(struct items *t, uint32_t cost_bytes)
{
	atomic_fetch_sub(&t->open_entries, 1);
	atomic_fetch_sub(&t->open_bytes, cost_bytes);
}

static bool is_awaited(const struct item *i)
{
	return i->state != ITEM_TAKEN;
}

static struct stream *stream_new(void)
{
	struct stream *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	pthread_mutex_init(&s->lock, NULL);
	s->direct_fd = -1;
	extents_init(&s->got, STREAM_MAX_RANGES);
	extents_init(&s->differing, STREAM_MAX_DIFFERING);
	return s;
}

static void stream_free(struct stream *s)
{
	if (!s)
		return;
	if (s->direct_fd >= 0)
		close(s->direct_fd);
	extents_clear(&s->got);
	extents_clear(&s->differing);
	pthread_mutex_destroy(&s->lock);
	free(s);
}

/* The ranges that must come: with too many, the last one goes on to the end. */
static size_t list_missing(const struct extents *durable, uint64_t size, struct extent *missing)
{
	struct extent gap = { 0, 0 };
	size_t n = 0;

	while (extents_next_missing(durable, gap.end, size, &gap)) {
		missing[n++] = gap;
		if (n == COPY_MAX_RANGES) {
			missing[n - 1].end = size;
			break;
		}
	}
	return n;
}

int items_resume(struct item *i, const struct extents *durable, struct extent **missing,
		 size_t *n_missing)
{
	const uint64_t size = i->file.entry->size_bytes;
	struct extent *list = calloc(COPY_MAX_RANGES, sizeof(*list));
	uint64_t at = 0;
	size_t n;
	int err = 0;

	*missing = list;
	items_drop_stream(i);
	i->stream = stream_new();
	if (!list || !i->stream)
		return -ENOMEM;
	n = list_missing(durable, size, list);
	for (size_t k = 0; k < n && !err; k++) {
		err = extents_add(&i->stream->got, at, list[k].begin);
		at = list[k].end;
	}
	if (!err)
		err = extents_add(&i->stream->got, at, size);
	*n_missing = n;
	return err;
}

int items_add(struct items *t, struct item *i)
{
	int err = 0;

	pthread_mutex_lock(&t->lock);
	if (t->map.n >= ITEMS_MAX) {
		err = -ENOSPC;
	} else {
		idmap_add(&t->map, &i->link);
		t->n_awaited += is_awaited(i);
	}
	pthread_mutex_unlock(&t->lock);
	return err;
}

static void take(struct items *t, struct item *i)
{
	i->state = ITEM_TAKEN;
	t->n_awaited--;
}

struct item *items_take(struct items *t, uint64_t id)
{
	struct item *i;

	pthread_mutex_lock(&t->lock);
	i = items_find(t, id);
	if (i && i->state == ITEM_SEND && !i->stream)
		take(t, i);
	else
		i = NULL;
	pthread_mutex_unlock(&t->lock);
	return i;
}

struct item *items_use(struct items *t, uint64_t id, unsigned states, int *err)
{
	struct item *i;

	*err = 0;
	pthread_mutex_lock(&t->lock);
	i = items_find(t, id);
	if (!i || !(i->state & states)) {
		i = NULL;
		*err = -ENOENT;
	} else if (!i->stream) {
		i->stream = stream_new();
		if (!i->stream) {
			i = NULL;
			*err = -ENOMEM;
		}
	}
	if (i)
		i->stream->users++;
	pthread_mutex_unlock(&t->lock);
	return i;
}

int items_claim(struct items *t, struct item *i, uint64_t offset, uint64_t length, bool *failed)
{
	const uint64_t size = i->file.entry->size_bytes;
	struct stream *s = i->stream;
	int err = -EBADMSG;

	pthread_mutex_lock(&t->lock);
	*failed = s->failed;
	if (length && offset <= size && length <= size - offset)
		err = extents_add_new(&s->got, offset, offset + length);
	pthread_mutex_unlock(&t->lock);
	return err == -EEXIST ? -EBADMSG : err == -ENOSPC ? -EFBIG : err;
}

bool items_fail(struct items *t, struct item *i)
{
	bool first;

	pthread_mutex_lock(&t->lock);
	first = !i->stream->failed;
	i->stream->failed = true;
	pthread_mutex_unlock(&t->lock);
	return first;
}

int items_announce(struct items *t, struct item *i, const struct copy_file_end *e)
{
	struct stream *s = i->stream;
	int err = 0;

	pthread_mutex_lock(&t->lock);
	if (s->ended)
		err = -EBADMSG;
	s->ended = true;
	s->end_messages = e->messages;
	s->end_bytes = e->bytes;
	if (e->status)
		s->source_failed = true;
	pthread_mutex_unlock(&t->lock);
	return err;
}

void items_compared(struct items *t, struct item *i, uint64_t blocks)
{
	pthread_mutex_lock(&t->lock);
	i->stream->n_blocks += blocks;
	pthread_mutex_unlock(&t->lock);
}

void items_read_failed(struct items *t, struct item *i, int err)
{
	pthread_mutex_lock(&t->lock);
	i->stream->read_err = err;
	pthread_mutex_unlock(&t->lock);
}

void items_differ(struct items *t, struct item *i, uint64_t begin, uint64_t end)
{
	struct stream *s = i->stream;

	pthread_mutex_lock(&t->lock);
	s->n_differing++;
	if (extents_add(&s->differing, begin, end))
		s->differing_cut = true;
	pthread_mutex_unlock(&t->lock);
}

int items_unuse(struct items *t, struct item *i, unsigned messages, uint64_t bytes)
{
	struct stream *s = i->stream;
	int complete = 0;

	pthread_mutex_lock(&t->lock);
	s->users--;
	s->messages += messages;
	s->bytes += bytes;
	if (s->ended && (s->messages > s->end_messages || s->bytes > s->end_bytes))
		complete = -EBADMSG;
	else if (s->ended && s->messages == s->end_messages && !s->users)
		complete = s->bytes == s->end_bytes ? 1 : -EBADMSG;
	if (complete == 1)
		take(t, i);
	pthread_mutex_unlock(&t->lock);
	return complete;
}

int items_equal(const struct item *i, struct extents *equal)
{
	const struct stream *s = i->stream;
	struct extent rest;
	int err = 0;

	extents_init(equal, 0);
	if (s->read_err || s->differing_cut)
		return 0;
	for (size_t k = 0; k < s->got.n && !err; k++) {
		const struct extent *x = &s->got.items[k];

		rest.end = x->begin;
		while (!err && extents_next_missing(&s->differing, rest.end, x->end, &rest))
			err = extents_add(equal, rest.begin, rest.end);
	}
	return err;
}

void items_drop_stream(struct item *i)
{
	stream_free(i->stream);
	i->stream = NULL;
}

void items_await(struct items *t, struct item *i)
{
	pthread_mutex_lock(&t->lock);
	i->state = ITEM_SEND;
	t->n_awaited++;
	pthread_mutex_unlock(&t->lock);
}

void items_remove(struct items *t, struct item *i)
{
	pthread_mutex_lock(&t->lock);
	if (idmap_remove(&t->map, &i->link))
		t->n_awaited -= is_awaited(i);
	pthread_mutex_unlock(&t->lock);
}

static size_t items_count(struct items *t)
{
	size_t n;

	pthread_mutex_lock(&t->lock);
	n = t->map.n;
	pthread_mutex_unlock(&t->lock);
	return n;
}

size_t items_awaited(struct items *t)
{
	size_t n;

	pthread_mutex_lock(&t->lock);
	n = t->n_awaited;
	pthread_mutex_unlock(&t->lock);
	return n;
}

/* Remove all that are not taken, as a list. After all data threads have ended. */
static struct item *items_remove_awaited(struct items *t)
{
	struct item *list = NULL, **end = &list;
	struct idmap_link *next;

	pthread_mutex_lock(&t->lock);
	for (struct idmap_link *l = idmap_next(&t->map, NULL); l && t->n_awaited; l = next) {
		struct item *i = IDMAP_STRUCT(l, struct item);

		next = idmap_next(&t->map, l);
		if (!is_awaited(i))
			continue;
		idmap_remove(&t->map, l);
		t->n_awaited--;
		*end = i;
		end = &i->next;
	}
	pthread_mutex_unlock(&t->lock);
	return list;
}

/* Free a removed item with its entry and stream, and leave its directory. Not its descriptor. */
static void item_leave(struct destination *d, struct item *i)
{
	if (i->file.dir) {
		directory_release(d, i->file.dir);
		dirs_release(d->dirs, i->file.dir);
	}
	stream_free(i->stream);
	free(i->file.entry);
	free(i);
}

/* ---- answers ---- */

/* The lock of the answers is held. */
static void send_results(struct destination *d)
{
	struct answers *a = &d->answers;
	size_t n = a->n_results_bytes;

	a->n_results_bytes = 0;
	if (!n)
		return;
	copy_report_results(d->job->report, a->results, n);
	role_send(d->role, WIRE_COPY_RESULT, a->results, n);
}

void answers_flush(struct destination *d)
{
	pthread_mutex_lock(&d->answers.lock);
	send_results(d);
	pthread_mutex_unlock(&d->answers.lock);
}

void answers_flush_wants(struct destination *d)
{
	size_t n = d->answers.n_wants_bytes;

	d->answers.n_wants_bytes = 0;
	if (n)
		role_send(d->role, WIRE_COPY_WANT, d->answers.wants, n);
}

void answers_want_now(struct destination *d, const struct copy_want *w)
{
	size_t room = 64 + w->n_ranges * 2 * sizeof(uint64_t), n;
	uint8_t *body = malloc(room);

	n = body ? copy_encode_want(w, body, room) : 0;
	if (n)
		role_send(d->role, WIRE_COPY_WANT, body, n);
	else
		role_fatal(d->role, COPY_FAILED, "there is no memory");
	free(body);
}

void answers_want(struct destination *d, const struct copy_want *w)
{
	struct answers *a = &d->answers;
	size_t n;

	n = copy_encode_want(w, a->wants + a->n_wants_bytes, sizeof(a->wants) - a->n_wants_bytes);
	if (!n) {
		answers_flush_wants(d);
		n = copy_encode_want(w, a->wants, sizeof(a->wants));
	}
	if (!n)
		answers_want_now(d, w);
	a->n_wants_bytes += n;
}

void dest_result(struct destination *d, uint64_t id, uint32_t cost_bytes, enum copy_outcome outcome)
{
	const struct copy_result r = { .id = id, .outcome = outcome };
	struct answers *a = &d->answers;
	size_t n;

	/* It leaves the window before the source can learn of it. */
	if (cost_bytes)
		items_close(&d->items, cost_bytes);
	pthread_mutex_lock(&a->lock);
	for (;;) {
		n = copy_encode_result(&r, a->results + a->n_results_bytes,
				       sizeof(a->results) - a->n_results_bytes);
		if (n || !a->n_results_bytes)
			break;
		send_results(d);
	}
	a->n_results_bytes += n;
	pthread_mutex_unlock(&a->lock);
}

void dest_busy(struct destination *d)
{
	atomic_fetch_add(&d->busy, 1);
}

/*
 * All that was offered has its result, and the source has answered all wants, also the wants of
 * files that failed meanwhile too. Once true, it stays so.
 */
static bool nothing_left(struct destination *d)
{
	return atomic_load(&d->all_offered) && !atomic_load(&d->items.open_entries) &&
	       !items_count(&d->items);
}

/* A thread is busy while it ends an entry, so the last one to be idle finds nothing_left(). */
void dest_idle(struct destination *d)
{
	if (atomic_fetch_sub(&d->busy, 1) != 1)
		return;
	answers_flush(d);
	if (nothing_left(d))
		role_nothing_left(d->role);
}

/* ---- files ---- */

/* As file_open(); with O_CREAT in `flags`, `mode` is of the new file. */
static int open_with_mode(struct destination *d, struct dir_node *dir, const char *name, int flags,
			  mode_t mode)
{
	int dir_fd, fd;

	if (!dir)
		return fcntl(d->root.device, F_DUPFD_CLOEXEC, 0);
	dir_fd = dirs_fd(d->dirs, dir);
	if (dir_fd < 0)
		return dir_fd;
	fd = openat(dir_fd, name, flags | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, mode);
	if (fd < 0)
		fd = -errno;
	dirs_done(d->dirs, dir);
	return fd;
}

int file_open(struct destination *d, struct dir_node *dir, const char *name, int flags)
{
	return open_with_mode(d, dir, name, flags, 0);
}

/*
 * Permissions of a new file in place, which it keeps if the copy is interrupted: others have no
 * right that they will not have at its end, and the owner may continue it. With -P they have none,
 * as it may get another owner; the next copy sets its permissions.
 */
static mode_t first_mode(const struct destination *d, const struct item *i)
{
	return (d->settings->everything ? 0 : i->file.mode & 0777) | S_IRUSR | S_IWUSR;
}

/* Look whether a file may be written in place. Returns as file_create(). */
static int guard(struct destination *d, const struct item *i, int fd)
{
	char path[COPY_MAX_PATH_BYTES];
	struct err why;
	int err = i->file.dir ? root_guard(&d->root, fd, &why) : 0;

	if (!err || !err_is_set(&why))
		return err;
	role_fail(d->role, i->link.id, COPY_FAILED,
		  dest_path(d, i->file.dir, i->file.entry->name, path), "%s", why.text);
	return -ECANCELED;
}

int file_create(struct destination *d, struct item *i)
{
	int fd, err;

	if (i->file.fd >= 0)
		return 0;
	if (i->file.dir && !d->settings->in_place)
		return commit_create(d->commit, &i->file);
	fd = open_with_mode(d, i->file.dir, i->file.entry->name,
			    O_RDWR | (i->exists ? 0 : O_CREAT | O_EXCL), first_mode(d, i));
	if (fd < 0)
		return fd;
	err = guard(d, i, fd);
	if (err)
		close(fd);
	else
		i->file.fd = fd;
	return err;
}

int file_write(int fd, const uint8_t *data, size_t size, uint64_t offset)
{
	while (size) {
		ssize_t n = pwrite(fd, data, size, (off_t)offset);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n ? -errno : -ENOSPC;
		data += n;
		size -= (size_t)n;
		offset += (uint64_t)n;
	}
	return 0;
}

void file_count(struct destination *d, const struct copy_entry *e, enum copy_outcome outcome)
{
	bool is_file = e->kind == COPY_FILE;

	if (outcome == COPY_LOST || outcome == COPY_DIFFERS)
		return;
	if (!is_file) {
		dest_tally_add(&d->tally.links, 1);
	} else if (outcome == COPY_DONE) {
		dest_tally_add(&d->tally.done_files, 1);
		dest_tally_add(&d->tally.done_bytes, e->size_bytes);
	} else if (outcome != COPY_WOULD) {
		dest_tally_add(&d->tally.skipped_files, 1);
		dest_tally_add(&d->tally.skipped_bytes, e->size_bytes);
	}
}

void file_end(struct destination *d, struct item *i, enum copy_outcome outcome)
{
	const struct copy_entry *e = i->file.entry;

	items_remove(&d->items, i);
	file_count(d, e, outcome);
	if (!i->answered)
		dest_result(d, i->link.id, i->cost_bytes, outcome);
	if (e->flags & COPY_HAS_LINKS)
		links_file_ended(d, i->link.id, outcome);
	item_leave(d, i);
}

/* Close it, without a trace unless it is in place. */
static void file_drop(struct destination *d, struct item *i, bool keep)
{
	if (i->file.dir && d->commit)
		commit_drop(d->commit, &i->file, keep);
	else if (i->file.fd >= 0)
		close(i->file.fd);
	i->file.fd = -1;
}

/* Name a file or block device that has a part of its new contents, and is not to be completed. */
static void name_incomplete(struct destination *d, const struct item *i)
{
	const bool in_place = i->file.dir ? d->settings->in_place : d->root.block;
	char path[COPY_MAX_PATH_BYTES];

	/* Files that are compared are open as well. */
	if (i->file.fd < 0 || !in_place || i->state == ITEM_SUMS)
		return;
	role_fail(d->role, i->link.id, 0, dest_path(d, i->file.dir, i->file.entry->name, path),
		  "is incomplete, as it was written in place");
}

void file_lost(struct destination *d, struct item *i)
{
	name_incomplete(d, i);
	file_drop(d, i, false);
	file_end(d, i, COPY_LOST);
}

void file_failed(struct destination *d, struct item *i, const char *what, int err)
{
	dest_failed(d, i->link.id, i->file.dir, i->file.entry->name, what, err);
	file_lost(d, i);
}

static void device_complete(struct destination *d, struct item *i)
{
	int err = d->root.block && fsync(i->file.fd) ? -errno : 0;

	if (close(i->file.fd) && !err)
		err = -errno;
	i->file.fd = -1;
	if (err) {
		file_failed(d, i, "write", err);
		return;
	}
	file_end(d, i, COPY_DONE);
}

void dest_attributes(struct destination *d, uint64_t id, struct dir_node *dir, const char *name,
		     const struct meta_result *result)
{
	char path[COPY_MAX_PATH_BYTES];

	if (result->not_set)
		dest_tally_add(&d->tally.owners_not_set, 1);
	for (int step = 0; step < META_STEPS; step++) {
		if (!result->err[step])
			continue;
		role_fail(d->role, id, COPY_FAILED, dest_path(d, dir, name, path),
			  "cannot set %s (%s)", meta_step_name(step), strerror(-result->err[step]));
	}
}

static void set_attributes(struct destination *d, struct dir_node *dir, const struct copy_entry *e,
			   int fd, mode_t mode)
{
	struct meta_result result;

	meta_apply(fd, e, mode, d->owners, &result);
	dest_attributes(d, e->id, dir, e->name, &result);
}

/* Without -P the access list of the file that is replaced belongs to its permissions. */
static void keep_acl(struct destination *d, struct item *i)
{
	const struct copy_entry *e = i->file.entry;
	struct meta_result result = { .not_set = false };
	int dir_fd = dirs_fd(d->dirs, i->file.dir);

	result.err[META_ACL] = dir_fd < 0 ? dir_fd : meta_keep_acl(i->file.fd, dir_fd, e->name);
	if (dir_fd >= 0)
		dirs_done(d->dirs, i->file.dir);
	dest_attributes(d, e->id, i->file.dir, e->name, &result);
}

void file_put(struct destination *d, struct item *i)
{
	dest_busy(d);
	commit_put(d->commit, &i->file);
	if (atomic_load(&d->all_offered) && !items_awaited(&d->items))
		commit_hurry(d->commit);
}

void file_complete(struct destination *d, struct item *i)
{
	bool in_place = i->exists && d->settings->in_place;

	if (!i->file.dir) {
		device_complete(d, i);
		return;
	}
	set_attributes(d, i->file.dir, i->file.entry, i->file.fd,
		       in_place || i->file.has_mode ? META_KEEP_MODE : i->file.mode);
	if (i->exists && !in_place && !d->settings->everything)
		keep_acl(d, i);
	file_put(d, i);
}

void file_done(void *arg, struct commit_file *f, int err, const char *what)
{
	struct destination *d = arg;
	struct item *i = (struct item *)f;

	if (err)
		dest_failed(d, i->link.id, f->dir, f->entry->name, what, err);
	file_end(d, i, err ? COPY_LOST : COPY_DONE);
	dest_idle(d);
}

void file_forget(struct destination *d, struct item *i)
{
	file_drop(d, i, d->settings->resume);
	item_leave(d, i);
}

void file_drop_all(struct destination *d)
{
	struct item *list = d->items.map.lists ? items_remove_awaited(&d->items) : NULL;

	while (list) {
		struct item *i = list;

		list = i->next;
		name_incomplete(d, i);
		file_forget(d, i);
	}
}
