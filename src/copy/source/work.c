/*
 * Wanted files and large files, from the receiver to the data threads.
 */
#include "copy/source/work.h"

#include <stdlib.h>

#include "copy/source/large.h"
#include "xdd/sys/clock.h"

/* A bundle that is smaller costs more than its share of a system call. */
#define LEAST_BUNDLE_BYTES (64u << 10)

static bool is_bundled(const struct entry *e)
{
	return e->how == COPY_SEND && !e->ranges && entry_is_small(e);
}

void work_put(struct source *s, struct entry *e)
{
	e->state = ENTRY_QUEUED;
	e->next = NULL;
	*s->queue_end = e;
	s->queue_end = &e->next;
	if (is_bundled(e))
		s->queued_small_bytes += copy_bundle_bytes((uint32_t)e->size_bytes);
	s->queued_ranges += e->n_ranges;
}

static struct entry *pop(struct source *s)
{
	struct entry *e = s->queue;

	s->queue = e->next;
	if (!s->queue)
		s->queue_end = &s->queue;
	e->next = NULL;
	e->state = ENTRY_TAKEN;
	if (is_bundled(e))
		s->queued_small_bytes -= copy_bundle_bytes((uint32_t)e->size_bytes);
	s->queued_ranges -= e->n_ranges;
	return e;
}

/*
 * All connections get a share of what is there. As with batches of offers, a bundle is at most as
 * large as what its connection has sent before: the destination writes it once all of it is there.
 */
static uint64_t bundle_limit(const struct data_thread *d)
{
	uint64_t share = d->s->queued_small_bytes / d->s->n_data;
	uint64_t sent = atomic_load_explicit(&d->counts.moved_bytes, memory_order_relaxed);
	uint64_t limit = share < sent ? share : sent;

	if (limit < LEAST_BUNDLE_BYTES)
		return LEAST_BUNDLE_BYTES;
	return limit < COPY_MAX_BUNDLE_BYTES ? limit : COPY_MAX_BUNDLE_BYTES;
}

static void pop_bundle(struct data_thread *d, struct work *w)
{
	uint64_t limit = bundle_limit(d), bytes = 0;
	struct entry **end = &w->entries;
	struct source *s = d->s;

	while (s->queue && is_bundled(s->queue)) {
		uint64_t more = copy_bundle_bytes((uint32_t)s->queue->size_bytes);

		if (bytes && bytes + more > limit)
			break;
		bytes += more;
		*end = pop(s);
		end = &(*end)->next;
	}
}

static bool find_work(struct data_thread *d, struct work *w)
{
	struct source *s = d->s;

	w->entries = NULL;
	w->file = NULL;
	if (atomic_load(&s->closing)) {
		w->kind = WORK_NONE;
	} else if (s->open_files) {
		w->kind = WORK_BLOCKS;
		w->file = s->open_files;
		w->file->users++;
	} else if (!s->queue) {
		return false;
	} else if (is_bundled(s->queue)) {
		w->kind = WORK_SMALL;
		pop_bundle(d, w);
	} else {
		w->kind = WORK_OPEN;
		w->entries = pop(s);
	}
	return true;
}

void work_take(struct data_thread *d, struct work *w)
{
	struct source *s = d->s;
	uint64_t begin_ns;

	cpu_use_add(&d->cpu, &s->cpu);
	pthread_mutex_lock(&s->lock);
	if (!find_work(d, w)) {
		begin_ns = clock_now_ns();
		do
			pthread_cond_wait(&s->work, &s->lock);
		while (!find_work(d, w));
		count_add(&d->counts.waiting_ns, clock_now_ns() - begin_ns);
	}
	if (w->kind != WORK_NONE)
		s->busy++;
	/* One was woken for all that was queued. */
	if (s->queue || s->open_files)
		pthread_cond_signal(&s->work);
	pthread_mutex_unlock(&s->lock);
}

void work_done(struct source *s)
{
	pthread_mutex_lock(&s->lock);
	if (--s->busy == 0 && !s->queue)
		pthread_cond_broadcast(&s->changed);
	pthread_mutex_unlock(&s->lock);
}

void work_share(struct source *s, struct large *f)
{
	pthread_mutex_lock(&s->lock);
	f->next = NULL;
	f->shared = true;
	for (struct large **at = &s->open_files;; at = &(*at)->next) {
		if (*at)
			continue;
		*at = f;
		break;
	}
	pthread_cond_broadcast(&s->work);
	pthread_mutex_unlock(&s->lock);
}

bool work_leave(struct source *s, struct large *f)
{
	bool last;

	pthread_mutex_lock(&s->lock);
	for (struct large **at = &s->open_files; f->shared && *at; at = &(*at)->next) {
		if (*at != f)
			continue;
		*at = f->next;
		f->shared = false;
		break;
	}
	last = --f->users == 0;
	pthread_mutex_unlock(&s->lock);
	return last;
}

void work_answered(struct entry *e)
{
	free(e->ranges);
	e->ranges = NULL;
	e->n_ranges = 0;
	e->state = ENTRY_IDLE;
	if (!e->listed)
		entry_free(e);
}

void work_clear(struct source *s)
{
	while (s->queue) {
		work_answered(pop(s));
	}
}
