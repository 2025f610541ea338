/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The document of a host as results and passes, and the times of several hosts on one clock. Called
 * by combine.c.
 */
#include "report/combine_host.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "xdd/base/log.h"
#include "xdd/base/memory.h"
#include "xdd/base/units.h"

/* ---- one host ---- */

/* The result of all targets. False: memory is short. */
static bool read_combined(struct combine_host *h, const struct document_result *r)
{
	char why[DOCUMENT_WHY_SIZE];

	h->combined = r;
	return document_result_read(h->doc, r, &h->sum, why) == 0;
}

static bool add_pass(struct combine_host *h, uint32_t number, const struct document_result *r)
{
	struct combine_pass *passes = array_room(h->passes, h->n_passes, sizeof(*passes));

	if (!passes)
		return false;
	h->passes = passes;
	passes[h->n_passes++] = (struct combine_pass){ number, r };
	h->last_pass = r->pass > h->last_pass ? r->pass : h->last_pass;
	return true;
}

static int by_pass(const void *a, const void *b)
{
	const struct document_result *x = ((const struct combine_pass *)a)->r;
	const struct document_result *y = ((const struct combine_pass *)b)->r;

	if (x->pass != y->pass)
		return x->pass < y->pass ? -1 : 1;
	return (x->target > y->target) - (x->target < y->target);
}

/*
 * When the host was transferring. Targets meet before each pass, so a pass of all lasts from its
 * first issue to its last completion; with -nobarrier passes of targets are independent.
 */
static void find_spans(struct combine_host *h, bool apart)
{
	uint64_t solid_ns = UINT64_MAX;

	h->placed = true;
	for (size_t i = 0; i < h->n_passes; i++) {
		const struct document_result *r = h->passes[i].r;
		const struct document_result *before = i ? h->passes[i - 1].r : NULL;
		struct combine_span *last = h->n_spans ? &h->spans[h->n_spans - 1] : NULL;

		if (!r->placed) {
			h->placed &= !r->elapsed_ns;
		} else if (!apart && last && before->pass == r->pass && before->placed) {
			if (r->begin_ns < last->from_ns)
				last->from_ns = r->begin_ns;
			if (r->finish_ns > last->to_ns)
				last->to_ns = r->finish_ns;
		} else {
			h->spans[h->n_spans++] = (struct combine_span){ r->begin_ns, r->finish_ns };
		}
	}
	/* Once a target has ended its last pass, the host is never between passes. */
	for (size_t i = 0; apart && i < h->n_passes; i++) {
		const struct document_result *r = h->passes[i].r;

		if (r->pass == h->last_pass && r->placed && r->finish_ns < solid_ns)
			solid_ns = r->finish_ns;
	}
	h->n_spans = combine_spans_join(h->spans, h->n_spans, solid_ns);
}

static bool once_each(const struct combine_host *h)
{
	for (size_t i = 1; i < h->n_passes; i++) {
		if (by_pass(&h->passes[i - 1], &h->passes[i]) == 0)
			return false;
	}
	return true;
}

static bool read_results(struct combine_host *h, uint32_t number)
{
	const json_t *plan = json_object_get(h->doc->root, "plan");
	const json_t *options = json_object_get(plan, "options");
	bool good = true;

	for (size_t i = 0; i < h->doc->n_results && good; i++) {
		const struct document_result *r = &h->doc->results[i];

		if (r->what == RESULT_COMBINED)
			good = read_combined(h, r);
		else if (r->what == RESULT_TARGET_PASS)
			good = add_pass(h, number, r);
	}
	h->spans = calloc(h->n_passes + 1, sizeof(*h->spans));
	if (!good || !h->spans) {
		log_error("combine: %s: %s", h->doc->name, strerror(ENOMEM));
		return false;
	}
	if (h->n_passes)
		qsort(h->passes, h->n_passes, sizeof(*h->passes), by_pass);
	if (once_each(h)) {
		find_spans(h, json_is_true(json_object_get(options, "nobarrier")));
		return true;
	}
	log_error("combine: %s: results: a pass of a target is there twice", h->doc->name);
	return false;
}

bool combine_host_read(struct combine_host *h, uint32_t number, const struct document *doc)
{
	*h = (struct combine_host){ .doc = doc, .clock = doc->clock };
	h->name = h->called = *doc->host ? doc->host : "?";
	figures_init(&h->sum.figures);
	if (!document_check_sums(doc, "combine") || !read_results(h, number))
		return false;
	h->idle = !tally_ops(&h->sum.figures.tally) && !h->sum.figures.tally.errors &&
		  !h->sum.figures.tally.outstanding;
	h->placed &= h->n_spans > 0;
	return true;
}

void combine_host_free(struct combine_host *host)
{
	figures_free(&host->sum.figures);
	free(host->passes);
	free(host->spans);
}

/* ---- times ---- */

/* The difference between two processes' clocks on one machine: see xdd/sys/clock.h. */
#define SAME_CLOCK_NS 5000

static int by_begin(const void *a, const void *b)
{
	const struct combine_span *x = a, *y = b;

	return (x->from_ns > y->from_ns) - (x->from_ns < y->from_ns);
}

size_t combine_spans_join(struct combine_span *spans, size_t n, uint64_t solid_ns)
{
	size_t kept = 0;

	if (!n)
		return 0;
	qsort(spans, n, sizeof(*spans), by_begin);
	for (size_t i = 1; i < n; i++) {
		struct combine_span *last = &spans[kept];

		if (spans[i].from_ns > last->to_ns && last->to_ns < solid_ns) {
			spans[++kept] = spans[i];
		} else if (spans[i].to_ns > last->to_ns) {
			last->to_ns = spans[i].to_ns;
		}
	}
	return kept + 1;
}

uint64_t combine_spans_length(const struct combine_span *spans, size_t n)
{
	uint64_t ns = 0;

	for (size_t i = 0; i < n; i++)
		ns += spans[i].to_ns - spans[i].from_ns;
	return ns;
}

/* A host begins or ends to transfer. */
struct edge {
	uint64_t at_ns;
	bool ends;
};

/* An end before a beginning at the same time. */
static int by_time(const void *a, const void *b)
{
	const struct edge *x = a, *y = b;

	if (x->at_ns != y->at_ns)
		return x->at_ns < y->at_ns ? -1 : 1;
	return y->ends - x->ends;
}

/* The time in which `n` spans, one of each host, overlap. */
static uint64_t combine_times_overlap(struct edge *edges, size_t n_edges, size_t n)
{
	uint64_t ns = 0;
	size_t open = 0;

	qsort(edges, n_edges, sizeof(*edges), by_time);
	for (size_t i = 0; i < n_edges; i++) {
		if (open == n)
			ns += edges[i].at_ns - edges[i - 1].at_ns;
		open = edges[i].ends ? open - 1 : open + 1;
	}
	return ns;
}

/* A time, and how exact it is. */
struct moment {
	uint64_t at_ns;
	bool bound_known;
	uint64_t bound_ns;
	uint32_t host;
};

static uint64_t below(uint64_t at, uint64_t bound)
{
	return at > bound ? at - bound : 0;
}

/*
 * Each time is true within its bound. So the latest one is at least the greatest lower bound, and
 * at most the greatest upper one, whichever host it is of; the earliest in the same way.
 */
static struct combine_skew skew_of(const struct moment *m, size_t n)
{
	uint64_t low_max = 0, high_max = 0, low_min = UINT64_MAX, high_min = UINT64_MAX, most,
		 least;
	const struct moment *first = m, *last = m;
	struct combine_skew s = { .bound_known = true };

	for (size_t i = 0; i < n; i++) {
		uint64_t low = below(m[i].at_ns, m[i].bound_ns);
		uint64_t high = m[i].at_ns + m[i].bound_ns;

		first = m[i].at_ns < first->at_ns ? &m[i] : first;
		last = m[i].at_ns > last->at_ns ? &m[i] : last;
		low_max = low > low_max ? low : low_max;
		high_max = high > high_max ? high : high_max;
		low_min = low < low_min ? low : low_min;
		high_min = high < high_min ? high : high_min;
		s.bound_known &= m[i].bound_known;
	}
	s.skew_ns = last->at_ns - first->at_ns;
	s.first = first->host;
	s.last = last->host;
	most = high_max - low_min - s.skew_ns;
	least = s.skew_ns - below(low_max, high_min);
	s.bound_ns = !s.bound_known ? 0 : most > least ? most : least;
	/* A time is no further from itself. */
	if (n == 1)
		s = (struct combine_skew){ .bound_known = true, .first = m->host, .last = m->host };
	return s;
}

/* The beginnings or the ends of the hosts that did anything. */
static size_t moments(struct moment *m, const struct combine_host *hosts, size_t n, bool ends)
{
	size_t found = 0;

	for (size_t i = 0; i < n; i++) {
		const struct combine_host *h = &hosts[i];

		if (!h->n_spans)
			continue;
		m[found++] = (struct moment){
			.at_ns = ends ? h->spans[h->n_spans - 1].to_ns : h->spans[0].from_ns,
			.bound_known = h->clock.bound_known,
			.bound_ns = ends ? h->clock.end_bound_ns : h->clock.bound_ns,
			.host = (uint32_t)i,
		};
	}
	return found;
}

/* With room for all spans, twice as many edges, and a moment of each host. */
static void combine_times_fill(struct combine_times *t, const struct combine_host *hosts, size_t n,
			       struct combine_span *spans, struct edge *edges, struct moment *m)
{
	size_t n_spans = 0, busy = moments(m, hosts, n, true);
	uint64_t solid_ns = UINT64_MAX;

	for (size_t i = 0; i < n; i++) {
		for (size_t k = 0; k < hosts[i].n_spans; k++) {
			const struct combine_span *s = &hosts[i].spans[k];

			edges[2 * n_spans] = (struct edge){ s->from_ns, false };
			edges[2 * n_spans + 1] = (struct edge){ s->to_ns, true };
			spans[n_spans++] = *s;
		}
	}
	for (size_t i = 0; i < busy; i++)
		solid_ns = m[i].at_ns < solid_ns ? m[i].at_ns : solid_ns;
	t->end = skew_of(m, busy);
	moments(m, hosts, n, false);
	t->start = skew_of(m, busy);
	t->window_ns = combine_times_overlap(edges, 2 * n_spans, busy);
	n_spans = combine_spans_join(spans, n_spans, solid_ns);
	t->begin_ns = spans[0].from_ns;
	t->finish_ns = spans[n_spans - 1].to_ns;
	t->elapsed_ns = combine_spans_length(spans, n_spans);
}

/* The first host that did anything, or NULL. */
static const struct combine_host *first_busy(const struct combine_host *hosts, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (hosts[i].n_spans)
			return &hosts[i];
	}
	return NULL;
}

/* The wall clock may have been set between two processes: the offsets differ by that. */
static uint64_t moved(const struct document_clock *a, const struct document_clock *b)
{
	const uint64_t x = (uint64_t)a->machine_offset, y = (uint64_t)b->machine_offset;

	return a->machine_offset > b->machine_offset ? x - y : y - x;
}

void combine_share_clock(struct combine_host *hosts, size_t n)
{
	const struct combine_host *first = first_busy(hosts, n);

	for (size_t i = 0; i < n; i++) {
		const struct document_clock *c = &hosts[i].clock;

		if (!hosts[i].n_spans)
			continue;
		if (c->bound_known || !c->machine || !first->clock.machine ||
		    strcmp(c->machine, first->clock.machine) != 0 ||
		    moved(c, &first->clock) > NS_PER_SEC)
			return;
	}
	for (size_t i = 0; i < n; i++) {
		struct document_clock *c = &hosts[i].clock;

		if (!hosts[i].n_spans)
			continue;
		c->bound_known = true;
		c->bound_ns = c->end_bound_ns = moved(c, &first->clock) + SAME_CLOCK_NS;
	}
}

int combine_times(struct combine_times *t, const struct combine_host *hosts, size_t n)
{
	struct combine_span *spans;
	struct edge *edges;
	struct moment *m;
	size_t n_spans = 0;

	*t = (struct combine_times){ .known = true };
	for (size_t i = 0; i < n; i++) {
		const struct combine_host *h = &hosts[i];

		t->known &= h->placed || h->idle;
		n_spans += h->n_spans;
		if (h->sum.figures.elapsed_ns > t->elapsed_ns)
			t->elapsed_ns = h->sum.figures.elapsed_ns;
	}
	t->known &= n_spans > 0;
	if (!t->known)
		return 0;
	spans = calloc(n_spans, sizeof(*spans));
	edges = calloc(n_spans, 2 * sizeof(*edges));
	m = calloc(n, sizeof(*m));
	if (spans && edges && m)
		combine_times_fill(t, hosts, n, spans, edges, m);
	free(spans);
	free(edges);
	free(m);
	return spans && edges && m ? 0 : -ENOMEM;
}
