/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Traces: the order of entries, times by the global clock, traces of several targets and hosts
 * merged, and rows and sums. Called by the writers of reports.
 */
#include "xdd/trace/trace.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "trace/walk.h"
#include "xdd/base/arith.h"

#define BILLION 1000000000

int64_t trace_to_global_ns(const struct trace *t, uint64_t ns)
{
	const uint64_t shift = (uint64_t)t->wall_ns + (uint64_t)t->global_ns;
	const int64_t since = (int64_t)(ns - t->global_at_ns);

	/* Seconds and the rest apart, so that no product overflows. */
	const int64_t drift = since / BILLION * t->global_drift_ppb +
			      since % BILLION * t->global_drift_ppb / BILLION;

	return (int64_t)(shift + (uint64_t)drift);
}

char trace_letter(const struct trace_entry *e)
{
	static const char letters[DIR_COUNT] = { 'r', 'w', 'n', 'd' };

	return e->dir < DIR_COUNT ? letters[e->dir] : '?';
}

static int order(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

static int by_number(const struct trace_entry *a, const struct trace_entry *b)
{
	int diff = order(a->pass, b->pass);

	if (!diff)
		diff = order(a->op, b->op);
	if (!diff)
		diff = order(a->start_ns, b->start_ns);
	return diff ? diff : order(a->qthread, b->qthread);
}

static int compare_numbers(const void *a, const void *b)
{
	return by_number(*(const struct trace_entry *const *)a,
			 *(const struct trace_entry *const *)b);
}

static int compare_ends(const void *a, const void *b)
{
	const struct trace_entry *x = *(const struct trace_entry *const *)a;
	const struct trace_entry *y = *(const struct trace_entry *const *)b;
	int diff = order(x->end_ns, y->end_ns);

	return diff ? diff : by_number(x, y);
}

struct pair {
	const struct trace_entry *entry;
	const struct trace_net *net;
};

static int compare_pairs(const void *a, const void *b)
{
	return by_number(((const struct pair *)a)->entry, ((const struct pair *)b)->entry);
}

int trace_sort(const struct trace_entry **entries, const struct trace_net **net, size_t n)
{
	struct pair *pairs;

	if (!net) {
		if (n)
			qsort(entries, n, sizeof(struct trace_entry *), compare_numbers);
		return 0;
	}
	pairs = calloc(n ? n : 1, sizeof(*pairs));
	if (!pairs)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		pairs[i] = (struct pair){ entries[i], net[i] };
	qsort(pairs, n, sizeof(*pairs), compare_pairs);
	for (size_t i = 0; i < n; i++) {
		entries[i] = pairs[i].entry;
		net[i] = pairs[i].net;
	}
	free(pairs);
	return 0;
}

void trace_sort_by_end(const struct trace_entry **entries, size_t n)
{
	if (n)
		qsort(entries, n, sizeof(struct trace_entry *), compare_ends);
}

/* The last operation of a slot. */
struct lane {
	uint64_t key; /* QThread and slot; 0 is one of them, so: plus 1, 0 when free */
	uint32_t pass;
	uint64_t end_ns;
};

struct trace_walk {
	const struct trace *trace;
	size_t i;
	uint64_t first_start_ns;
	uint64_t last_end_bytes;
	uint32_t last_pass;
	uint64_t last_op;

	/* a table of lanes by hash, a power of two large and at most half full */
	struct lane *lanes;
	size_t n_lanes;
	size_t used;

	struct trace_sums sums;
	uint128 sum_distance;
	uint128 sum_io;
	__int128 sum_delta;
};

struct trace_walk *trace_walk_new(const struct trace *trace)
{
	struct trace_walk *w = calloc(1, sizeof(*w));

	if (!w)
		return NULL;
	w->trace = trace;
	w->n_lanes = 64;
	w->lanes = calloc(w->n_lanes, sizeof(*w->lanes));
	if (!w->lanes) {
		free(w);
		return NULL;
	}
	w->first_start_ns = UINT64_MAX;
	for (size_t i = 0; i < trace->n; i++) {
		if (trace->entries[i]->start_ns < w->first_start_ns)
			w->first_start_ns = trace->entries[i]->start_ns;
	}
	w->sums.shortest_distance_bytes = UINT64_MAX;
	w->sums.shortest_io_ns = UINT64_MAX;
	w->sums.shortest_delta_ns = INT64_MAX;
	w->sums.longest_delta_ns = INT64_MIN;
	return w;
}

void trace_walk_free(struct trace_walk *w)
{
	if (w)
		free(w->lanes);
	free(w);
}

static struct lane *walk_find(struct lane *lanes, size_t n, uint64_t key)
{
	size_t i = (size_t)(key * 0x9e3779b97f4a7c15ull >> 32) & (n - 1);

	while (lanes[i].key && lanes[i].key != key)
		i = (i + 1) & (n - 1);
	return &lanes[i];
}

/* Double the table. Where memory is short, it is used until one slot is free. */
static void walk_grow(struct trace_walk *w)
{
	struct lane *more = calloc(w->n_lanes * 2, sizeof(*more));

	if (!more)
		return;
	for (size_t i = 0; i < w->n_lanes; i++) {
		if (w->lanes[i].key)
			*walk_find(more, w->n_lanes * 2, w->lanes[i].key) = w->lanes[i];
	}
	free(w->lanes);
	w->lanes = more;
	w->n_lanes *= 2;
}

/* The lane of `e`, or NULL when the table is full. */
static struct lane *lane_of(struct trace_walk *w, const struct trace_entry *e)
{
	uint64_t key = ((uint64_t)(e->qthread & INT32_MAX) << 32 | e->slot) + 1;
	struct lane *lane;

	if (w->used * 2 >= w->n_lanes)
		walk_grow(w);
	lane = walk_find(w->lanes, w->n_lanes, key);
	if (!lane->key) {
		if (w->used + 1 == w->n_lanes)
			return NULL;
		w->used++;
		lane->key = key;
	}
	return lane;
}

static void set_distance(struct trace_walk *w, struct trace_row *row)
{
	const struct trace_entry *e = row->entry;
	uint64_t at = e->offset_bytes, before = w->last_end_bytes;

	row->has_distance = w->i > 0 && w->last_pass == e->pass && w->last_op + 1 == e->op;
	if (row->has_distance)
		row->distance_bytes = at > before ? at - before : before - at;
	w->last_end_bytes = at + e->size_bytes;
	w->last_pass = e->pass;
	w->last_op = e->op;
}

static void set_times(struct trace_walk *w, struct trace_row *row)
{
	const struct trace_entry *e = row->entry;
	struct lane *lane = lane_of(w, e);

	row->io_ns = e->end_ns > e->start_ns ? e->end_ns - e->start_ns : 0;
	row->relative_ns = (int64_t)(e->start_ns - w->first_start_ns);
	if (row->io_ns)
		row->mb_per_s = (double)e->done_bytes * 1e3 / (double)row->io_ns;
	if (!lane)
		return;
	row->has_delta = lane->pass == e->pass && lane->end_ns;
	if (row->has_delta) {
		row->delta_ns = (int64_t)(e->start_ns - lane->end_ns);
		row->loop_ns = (int64_t)(e->end_ns - lane->end_ns);
	}
	lane->pass = e->pass;
	lane->end_ns = e->end_ns;
}

static void walk_add(struct trace_walk *w, const struct trace_row *row)
{
	struct trace_sums *s = &w->sums;

	s->ops++;
	s->failed += row->entry->error != 0;
	w->sum_io += row->io_ns;
	if (row->io_ns > s->longest_io_ns)
		s->longest_io_ns = row->io_ns;
	if (row->io_ns < s->shortest_io_ns)
		s->shortest_io_ns = row->io_ns;
	if (row->has_distance) {
		s->distances++;
		w->sum_distance += row->distance_bytes;
		if (row->distance_bytes > s->longest_distance_bytes)
			s->longest_distance_bytes = row->distance_bytes;
		if (row->distance_bytes < s->shortest_distance_bytes)
			s->shortest_distance_bytes = row->distance_bytes;
	}
	if (row->has_delta) {
		s->deltas++;
		w->sum_delta += row->delta_ns;
		if (row->delta_ns > s->longest_delta_ns)
			s->longest_delta_ns = row->delta_ns;
		if (row->delta_ns < s->shortest_delta_ns)
			s->shortest_delta_ns = row->delta_ns;
	}
}

bool trace_walk_next(struct trace_walk *w, struct trace_row *row)
{
	if (w->i == w->trace->n)
		return false;
	*row = (struct trace_row){ .entry = w->trace->entries[w->i] };
	if (w->trace->net)
		row->net = w->trace->net[w->i];
	set_distance(w, row);
	set_times(w, row);
	walk_add(w, row);
	w->i++;
	return true;
}

void trace_walk_sums(const struct trace_walk *w, struct trace_sums *sums)
{
	*sums = w->sums;
	if (sums->ops)
		sums->average_io_ns = (double)w->sum_io / (double)sums->ops;
	else
		sums->shortest_io_ns = 0;
	if (sums->distances)
		sums->average_distance_bytes = (uint64_t)(w->sum_distance / sums->distances);
	else
		sums->shortest_distance_bytes = 0;
	if (sums->deltas)
		sums->average_delta_ns = (double)w->sum_delta / (double)sums->deltas;
	else
		sums->shortest_delta_ns = sums->longest_delta_ns = 0;
}

static int by_start(const void *a, const void *b)
{
	const struct trace_merged_row *x = a, *y = b;

	if (x->start_ns != y->start_ns)
		return x->start_ns < y->start_ns ? -1 : 1;
	if (x->trace != y->trace)
		return x->trace < y->trace ? -1 : 1;
	return (x->row.entry > y->row.entry) - (x->row.entry < y->row.entry);
}

static int merge_take(struct trace_merge *m, const struct trace *t, size_t number)
{
	struct trace_walk *w = trace_walk_new(t);
	struct trace_merged_row *r = &m->rows[m->n];

	if (!w)
		return -ENOMEM;
	for (; trace_walk_next(w, &r->row); r++) {
		r->trace = number;
		r->start_ns = trace_global_ns(t, r->row.entry->start_ns);
		r->end_ns = trace_global_ns(t, r->row.entry->end_ns);
	}
	m->n += t->n;
	trace_walk_sums(w, &m->sums[number]);
	trace_walk_free(w);
	return 0;
}

int trace_merge(struct trace_merge *m, const struct trace *const *traces, size_t n)
{
	size_t all = 1;
	int err = 0;

	memset(m, 0, sizeof(*m));
	for (size_t i = 0; i < n; i++)
		all += traces[i]->n;
	m->rows = calloc(all, sizeof(*m->rows));
	m->sums = calloc(n, sizeof(*m->sums));
	if (!m->rows || !m->sums)
		return -ENOMEM;
	for (size_t i = 0; i < n && !err; i++)
		err = merge_take(m, traces[i], i);
	if (!err)
		qsort(m->rows, m->n, sizeof(*m->rows), by_start);
	return err;
}

void trace_merge_free(struct trace_merge *m)
{
	free(m->rows);
	free(m->sums);
	memset(m, 0, sizeof(*m));
}
