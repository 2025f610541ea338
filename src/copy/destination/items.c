/*
 * The table of files whose result is outstanding; see the header. Called by the thread of the
 * entries, data threads and the commit.
 */
#include "copy/destination/items.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

/* Ranges that are remembered of a file: of what came, and of what differs. */
#define STREAM_MAX_RANGES (1u << 22)
#define STREAM_MAX_DIFFERING 4096

int items_init(struct items *t)
{
	*t = (struct items){ .n = 0 };
	t->table = calloc(ITEMS_TABLE_SIZE, sizeof(struct item *));
	if (!t->table)
		return -ENOMEM;
	pthread_mutex_init(&t->lock, NULL);
	return 0;
}

void items_destroy(struct items *t)
{
	if (!t->table)
		return;
	pthread_mutex_destroy(&t->lock);
	free(t->table);
	t->table = NULL;
}

/* The pointer to the item of `id`, or to the end of its list. */
static struct item **find(struct items *t, uint64_t id)
{
	struct item **at = &t->table[id & (ITEMS_TABLE_SIZE - 1)];

	while (*at && (*at)->id != id)
		at = &(*at)->next;
	return at;
}

int items_open(struct items *t, uint32_t cost_bytes)
{
	uint64_t n = atomic_fetch_add(&t->open_entries, 1);
	uint64_t bytes = atomic_fetch_add(&t->open_bytes, cost_bytes);

	return n >= COPY_WINDOW_ENTRIES || bytes >= COPY_WINDOW_BYTES ? -ENOSPC : 0;
}

void items_close(struct items *t, uint32_t cost_bytes)
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
	if (t->n >= ITEMS_MAX) {
		err = -ENOSPC;
	} else {
		struct item **at = &t->table[i->id & (ITEMS_TABLE_SIZE - 1)];

		i->next = *at;
		*at = i;
		t->n++;
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
	i = *find(t, id);
	if (i && i->state == ITEM_SEND && !i->stream)
		take(t, i);
	else
		i = NULL;
	pthread_mutex_unlock(&t->lock);
	return i;
}

static struct item *use(struct items *t, uint64_t id, bool any, enum item_state state, int *err)
{
	struct item *i;

	*err = 0;
	pthread_mutex_lock(&t->lock);
	i = *find(t, id);
	if (!i || i->state == ITEM_TAKEN || (!any && i->state != state)) {
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

struct item *items_use(struct items *t, uint64_t id, enum item_state state, int *err)
{
	return use(t, id, false, state, err);
}

struct item *items_use_any(struct items *t, uint64_t id, int *err)
{
	return use(t, id, true, ITEM_SEND, err);
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

static void remove_at(struct items *t, struct item **at)
{
	struct item *i = *at;

	*at = i->next;
	i->next = NULL;
	t->n--;
	t->n_awaited -= is_awaited(i);
}

void items_remove(struct items *t, struct item *i)
{
	struct item **at;

	pthread_mutex_lock(&t->lock);
	at = find(t, i->id);
	if (*at == i)
		remove_at(t, at);
	pthread_mutex_unlock(&t->lock);
}

size_t items_count(struct items *t)
{
	size_t n;

	pthread_mutex_lock(&t->lock);
	n = t->n;
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

struct item *items_remove_any(struct items *t, size_t *at)
{
	struct item *found = NULL;

	pthread_mutex_lock(&t->lock);
	for (; *at < ITEMS_TABLE_SIZE && t->n_awaited && !found; *at += !found) {
		struct item **i = &t->table[*at];

		while (*i && !is_awaited(*i))
			i = &(*i)->next;
		found = *i;
		if (found)
			remove_at(t, i);
	}
	pthread_mutex_unlock(&t->lock);
	return found;
}

void item_free(struct item *i)
{
	stream_free(i->stream);
	free(i->file.entry);
	free(i);
}
