/*
 * Merging traces of several targets and hosts. Called by the writers of reports of more than one.
 */
#include "trace/merge.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int by_start(const void *a, const void *b)
{
	const struct trace_merged_row *x = a, *y = b;

	if (x->start_ns != y->start_ns)
		return x->start_ns < y->start_ns ? -1 : 1;
	if (x->trace != y->trace)
		return x->trace < y->trace ? -1 : 1;
	return (x->row.entry > y->row.entry) - (x->row.entry < y->row.entry);
}

static int take(struct trace_merge *m, const struct trace *t, size_t number)
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
		err = take(m, traces[i], i);
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
