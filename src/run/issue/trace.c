/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Record time stamps. The target opens and closes the table, QThreads write it, the results manager
 * reads it.
 */
#include "run/issue/trace.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "xdd/base/log.h"

/* Entries ahead of the one written whose cache line is prefetched. */
#define AHEAD 8

_Static_assert(sizeof(struct trace_entry) == PLAN_TRACE_ENTRY_BYTES, "the plan knows the size");
_Static_assert(sizeof(struct trace_net) == PLAN_TRACE_NET_BYTES, "the plan knows the size");

/* Memory for all chunks, with all pages touched. */
static int take_memory(struct trace_table *t)
{
	const struct trace_options *ts = &t->plan->trace;
	const size_t n = ts->chunks * ts->chunk_ops;
	struct trace_entry *entries;
	struct trace_net *nets;

	t->memory_bytes = n * plan_trace_bytes(t->plan);
	t->memory = mmap(NULL, t->memory_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			 -1, 0);
	if (t->memory == MAP_FAILED) {
		t->memory = NULL;
		return -ENOMEM;
	}
	madvise(t->memory, t->memory_bytes, MADV_HUGEPAGE);
	memset(t->memory, 0, t->memory_bytes);
	t->chunks = aligned_alloc(_Alignof(struct trace_chunk), ts->chunks * sizeof(*t->chunks));
	if (!t->chunks)
		return -ENOMEM;
	memset(t->chunks, 0, ts->chunks * sizeof(*t->chunks));
	entries = t->memory;
	nets = (struct trace_net *)(entries + n);
	for (size_t i = 0; i < ts->chunks; i++) {
		t->chunks[i].entries = entries + i * ts->chunk_ops;
		t->chunks[i].nets = t->plan->endtoend.role != E2E_NONE ? nets + i * ts->chunk_ops :
									 NULL;
	}
	return 0;
}

/* The trigger's time by the clock of the time stamps. */
static uint64_t trigger_time(const struct trace_options *ts, int64_t wall_ns)
{
	uint64_t at = ts->trigger_time_ns - (uint64_t)wall_ns;

	return ts->triggered_by_time && (int64_t)at > 0 ? at : 0;
}

int trace_open(struct trace_table *t, const struct target_plan *plan, int64_t wall_ns)
{
	const struct trace_options *ts = &plan->trace;
	size_t size = plan->qthreads * sizeof(*t->writers);
	int err;

	if (!ts->on)
		return 0;
	t->plan = plan;
	t->wall_ns = wall_ns;
	t->newest = &t->oldest;
	pthread_mutex_init(&t->lock, NULL);
	err = take_memory(t);
	if (err)
		return err;
	t->writers = aligned_alloc(_Alignof(struct trace_writer), size);
	if (!t->writers)
		return -ENOMEM;
	memset(t->writers, 0, size);
	for (uint32_t i = 0; i < plan->qthreads; i++) {
		t->writers[i].table = t;
		t->writers[i].qthread = i;
		t->writers[i].trigger_ns = trigger_time(ts, wall_ns);
		t->writers[i].triggered = ts->trigger_op || t->writers[i].trigger_ns;
	}
	return 0;
}

void trace_trigger(struct trace_writer *w, uint64_t at_ns)
{
	w->trigger_ns = at_ns;
	w->triggered = w->table->plan->trace.trigger_op || at_ns;
}

void trace_close(struct trace_table *t)
{
	if (t->plan)
		pthread_mutex_destroy(&t->lock);
	if (t->memory)
		munmap(t->memory, t->memory_bytes);
	free(t->chunks);
	free(t->writers);
	memset(t, 0, sizeof(*t));
}

/* Return the chunk of `w`, and get another; NULL: there is none. With the table's lock. */
static struct trace_chunk *exchange(struct trace_table *t, struct trace_chunk *full)
{
	struct trace_chunk *c;

	if (full) {
		full->next = NULL;
		*t->newest = full;
		t->newest = &full->next;
	}
	if (t->closed)
		return NULL;
	if (t->n_taken < t->plan->trace.chunks)
		return &t->chunks[t->n_taken++];
	c = t->plan->trace.wrap ? t->oldest : NULL;
	if (!c)
		return NULL;
	t->oldest = c->next;
	if (!t->oldest)
		t->newest = &t->oldest;
	t->overwritten += t->plan->trace.chunk_ops;
	atomic_store_explicit(&c->used, 0, memory_order_relaxed);
	return c;
}

static void count(_Atomic uint64_t *counter)
{
	atomic_store_explicit(counter, atomic_load_explicit(counter, memory_order_relaxed) + 1,
			      memory_order_relaxed);
}

/* The chunk is full. False: there is no other, and later operations are only counted. */
static bool next_chunk(struct trace_writer *w)
{
	struct trace_table *t = w->table;

	if (!w->chunk && atomic_load_explicit(&w->tid, memory_order_relaxed))
		return false;
	atomic_store_explicit(&w->tid, gettid(), memory_order_relaxed);
	pthread_mutex_lock(&t->lock);
	w->chunk = exchange(t, w->chunk);
	if (debug_on(DEBUG_TS))
		debug_line(DEBUG_TS,
			   "target %u QThread %u: %s; %" PRIu64 " of %" PRIu64
			   " chunks in use, %" PRIu64 " entries overwritten",
			   t->plan->number, w->qthread,
			   w->chunk ? "takes a chunk" : "finds the table full", t->n_taken,
			   t->plan->trace.chunks, t->overwritten);
	pthread_mutex_unlock(&t->lock);
	w->next = w->end = NULL;
	if (!w->chunk)
		return false;
	w->next = w->chunk->entries;
	w->end = w->next + t->plan->trace.chunk_ops;
	return true;
}

/* The operation precedes the trigger. */
static bool too_early(const struct trace_writer *w, const struct io_request *req, uint64_t pass)
{
	return (pass == 1 && req->op < w->table->plan->trace.trigger_op) ||
	       req->issue_ns < w->trigger_ns;
}

/* Of the entry that is about to be complete. */
static void put_net(struct trace_writer *w, const struct trace_entry *e,
		    const struct trace_net *net)
{
	static const struct trace_net none = { .cpu_start = TRACE_NO_CPU, .cpu_end = TRACE_NO_CPU };

	if (w->chunk->nets)
		w->chunk->nets[e - w->chunk->entries] = net ? *net : none;
}

void trace_done(struct trace_writer *w, const struct io_request *req, const struct trace_net *net,
		uint64_t pass, uint64_t done_ns)
{
	struct trace_entry *e;

	if (__builtin_expect(w->triggered, 0) && too_early(w, req, pass)) {
		count(&w->before);
		return;
	}
	if (__builtin_expect(w->next == w->end, 0) && !next_chunk(w)) {
		count(&w->unrecorded);
		return;
	}
	e = w->next++;
	__builtin_prefetch(e + AHEAD, 1);
	e->op = req->op;
	e->offset_bytes = req->offset;
	e->start_ns = req->issue_ns;
	e->end_ns = done_ns > req->issue_ns ? done_ns : req->issue_ns;
	e->size_bytes = (uint32_t)req->size;
	e->done_bytes = (uint32_t)req->done;
	e->pass = (uint32_t)pass;
	e->qthread = w->qthread;
	e->error = -req->error;
	e->slot = req->slot;
	e->cpu_start = req->issue_cpu;
	e->cpu_end = (uint16_t)sched_getcpu();
	e->dir = (uint8_t)req->dir;
	put_net(w, e, net);
	atomic_store_explicit(&w->chunk->used, (uint32_t)(w->next - w->chunk->entries),
			      memory_order_release);
}

/* All entries of the table. With its lock. */
static size_t gather(const struct trace_table *t, const struct trace_entry **to)
{
	size_t n = 0;

	for (size_t i = 0; i < t->n_taken; i++) {
		const struct trace_chunk *c = &t->chunks[i];
		uint32_t used = atomic_load_explicit(&c->used, memory_order_acquire);

		for (uint32_t k = 0; k < used; k++)
			to[n++] = &c->entries[k];
	}
	return n;
}

/*
 * Keep the newest or the oldest entries, if there are more than requested. They have no gap: the
 * table is so large that the entries after a gap are enough.
 */
static void trim(const struct trace_options *ts, struct trace *trace)
{
	size_t extra = trace->n - ts->size_ops;

	trace_sort_by_end(trace->entries, trace->n);
	trace->n = ts->size_ops;
	if (!ts->wrap) {
		trace->missing.unrecorded += extra;
		return;
	}
	trace->missing.overwritten += extra;
	memmove(trace->entries, trace->entries + extra, trace->n * sizeof(struct trace_entry *));
}

/* The network parts of the entries, by their offset in the table. Returns 0 or -ENOMEM. */
static int list_nets(const struct trace_table *t, struct trace *trace)
{
	const struct trace_entry *first = t->memory;

	if (t->plan->endtoend.role == E2E_NONE)
		return 0;
	trace->net = malloc((trace->n + 1) * sizeof(struct trace_net *));
	if (!trace->net)
		return -ENOMEM;
	for (size_t i = 0; i < trace->n; i++)
		trace->net[i] = t->chunks[0].nets + (trace->entries[i] - first);
	return 0;
}

int trace_collect(struct trace_table *t, struct trace *trace)
{
	size_t room;
	int err = 0;

	pthread_mutex_lock(&t->lock);
	t->closed = true;
	room = t->n_taken * t->plan->trace.chunk_ops + 1;
	trace->net = NULL;
	trace->entries = malloc(room * sizeof(struct trace_entry *));
	if (trace->entries)
		trace->n = gather(t, trace->entries);
	else
		err = -ENOMEM;
	trace->missing = (struct trace_missing){ .overwritten = t->overwritten };
	pthread_mutex_unlock(&t->lock);
	for (uint32_t i = 0; i < t->plan->qthreads; i++) {
		const struct trace_writer *w = &t->writers[i];

		trace->missing.unrecorded +=
			atomic_load_explicit(&w->unrecorded, memory_order_relaxed);
		trace->missing.before += atomic_load_explicit(&w->before, memory_order_relaxed);
	}
	if (err)
		return err;
	if (t->plan->trace.cut && trace->n > t->plan->trace.size_ops)
		trim(&t->plan->trace, trace);
	err = list_nets(t, trace);
	return err ? err : trace_sort(trace->entries, trace->net, trace->n);
}
