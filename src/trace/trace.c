/*
 * The order of the entries of a trace, and their times by the global clock.
 */
#include "xdd/trace/trace.h"

#include <errno.h>
#include <stdlib.h>

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
