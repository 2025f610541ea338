/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The document of a host as results and passes, the times of several hosts on one clock, and their
 * passes, matched by their numbers. Called by combine.c.
 */
#include "report/combine_host.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "report/jsonout.h"
#include "xdd/base/log.h"
#include "xdd/base/memory.h"
#include "xdd/base/units.h"
#include "xdd/report/jvalue.h"
#include "xdd/report/result.h"
#include "xdd/sys/clock.h"

/* ---- spans ---- */

static int by_begin(const void *a, const void *b)
{
	const struct combine_span *x = a, *y = b;

	return (x->from_ns > y->from_ns) - (x->from_ns < y->from_ns);
}

/*
 * Sort `n` spans and join those that meet; all that follows `solid_ns` becomes one. Returns how
 * many are left.
 */
static size_t combine_spans_join(struct combine_span *spans, size_t n, uint64_t solid_ns)
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
	if (!good || !h->spans)
		return log_fail(false, "combine: %s: %s", h->doc->name, strerror(ENOMEM));
	if (h->n_passes)
		qsort(h->passes, h->n_passes, sizeof(*h->passes), by_pass);
	if (once_each(h)) {
		find_spans(h, json_is_true(json_object_get(options, "nobarrier")));
		return true;
	}
	return log_fail(false, "combine: %s: results: a pass of a target is there twice",
			h->doc->name);
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
		c->bound_ns = c->end_bound_ns = moved(c, &first->clock) + CLOCK_SAME_MACHINE_NS;
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

/*
 * ---- passes ----
 *
 * One pass is looked at after another, so that there is memory for latencies of one pass. Where
 * hosts wait for each other, a pass lasts from its first operation to its last one on any host.
 * Where they do not, these times overlap and would count several times; a pass then takes that
 * share of the elapsed time of all which its hosts' own times have of the times of all passes.
 */

#define MAX_PASSES 10000 /* in the statistics and in the times */

/* All passes of all hosts, and the values of those that count. */
struct series {
	const struct combine_host *hosts;
	size_t n_hosts;
	struct combine_pass *all; /* by their numbers, then by hosts */
	size_t n_all;
	size_t n, left_out;
	uint64_t *passes;
	double *values[FIGURE_ALL]; /* of rates the amounts, until they are divided */
	double *window_ns;	    /* of each pass, from its first operation to its last one */
	double *own_ns;		    /* sum of the times of its hosts */
	double all_own_ns;	    /* of all passes, those left out too */
	uint64_t last_finish_ns;    /* of the pass before */
	bool overlaps; /* a pass begins on a host before the last one ends on another */
};

/* One pass of all hosts. */
struct pass_sum {
	uint64_t pass;
	size_t hosts;
	bool whole, placed;
	uint64_t begin_first_ns, begin_last_ns, finish_first_ns, finish_last_ns;
	uint32_t first, last; /* hosts: to begin first, to finish last */
	uint64_t longest_ns;  /* of a target */
	double own_ns;
	struct figures figures; /* of all hosts; without an elapsed time of their own */
};

static int by_pass_and_host(const void *a, const void *b)
{
	const struct combine_pass *x = a, *y = b;

	if (x->r->pass != y->r->pass)
		return x->r->pass < y->r->pass ? -1 : 1;
	return (x->host > y->host) - (x->host < y->host);
}

static bool combine_passes_prepare(struct series *s)
{
	size_t room = 0;

	for (size_t i = 0; i < s->n_hosts; i++) {
		s->n_all += s->hosts[i].n_passes;
		room = s->hosts[i].n_passes > room ? s->hosts[i].n_passes : room;
	}
	room = room > MAX_PASSES ? MAX_PASSES : room;
	s->all = calloc(s->n_all + 1, sizeof(*s->all));
	s->passes = calloc(room + 1, sizeof(*s->passes));
	s->window_ns = calloc(room + 1, sizeof(*s->window_ns));
	s->own_ns = calloc(room + 1, sizeof(*s->own_ns));
	if (!s->all || !s->passes || !s->window_ns || !s->own_ns)
		return false;
	for (enum pass_figure i = 0; i < FIGURE_ALL; i++) {
		s->values[i] = calloc(room + 1, sizeof(*s->values[i]));
		if (!s->values[i])
			return false;
	}
	s->n_all = 0;
	for (size_t i = 0; i < s->n_hosts; i++) {
		if (s->hosts[i].n_passes)
			memcpy(&s->all[s->n_all], s->hosts[i].passes,
			       s->hosts[i].n_passes * sizeof(*s->all));
		s->n_all += s->hosts[i].n_passes;
	}
	qsort(s->all, s->n_all, sizeof(*s->all), by_pass_and_host);
	return true;
}

static void combine_passes_release(struct series *s)
{
	free(s->all);
	free(s->passes);
	free(s->window_ns);
	free(s->own_ns);
	for (enum pass_figure i = 0; i < FIGURE_ALL; i++)
		free(s->values[i]);
}

/* ---- one pass ---- */

/* False: memory is short. */
static bool add_figures(struct pass_sum *sum, const struct combine_pass *p)
{
	char why[DOCUMENT_WHY_SIZE];
	struct figures f;
	bool good = document_figures(p->r, &f, why) == 0;

	if (good)
		good = figures_add(&sum->figures, &f) == 0;
	figures_free(&f);
	return good;
}

/* The targets of a host in a pass: when it began and ended it. Returns how many they are. */
static size_t add_host(struct pass_sum *sum, const struct series *s, const struct combine_pass *p,
		       size_t left)
{
	const struct combine_host *host = &s->hosts[p->host];
	struct combine_span span = { UINT64_MAX, 0 };
	size_t n = 0;

	for (; n < left && p[n].r->pass == p->r->pass && p[n].host == p->host; n++) {
		const struct document_result *r = p[n].r;

		sum->whole &= !r->partial;
		sum->placed &= r->placed;
		if (r->elapsed_ns > sum->longest_ns)
			sum->longest_ns = r->elapsed_ns;
		if (r->placed && r->begin_ns < span.from_ns)
			span.from_ns = r->begin_ns;
		if (r->placed && r->finish_ns > span.to_ns)
			span.to_ns = r->finish_ns;
	}
	sum->whole &= n == host->sum.target;
	if (!sum->hosts || span.from_ns < sum->begin_first_ns) {
		sum->begin_first_ns = span.from_ns;
		sum->first = p->host;
	}
	if (!sum->hosts || span.from_ns > sum->begin_last_ns)
		sum->begin_last_ns = span.from_ns;
	if (!sum->hosts || span.to_ns < sum->finish_first_ns)
		sum->finish_first_ns = span.to_ns;
	if (!sum->hosts || span.to_ns > sum->finish_last_ns) {
		sum->finish_last_ns = span.to_ns;
		sum->last = p->host;
	}
	if (span.to_ns)
		sum->own_ns += (double)(span.to_ns - span.from_ns);
	sum->hosts++;
	return n;
}

static void keep_values(struct series *s, const struct pass_sum *sum)
{
	const struct figures *f = &sum->figures;
	uint64_t ns = sum->placed ? sum->finish_last_ns - sum->begin_first_ns : sum->longest_ns;

	s->all_own_ns += sum->own_ns;
	if (!sum->whole || sum->hosts < s->n_hosts || !tally_ops(&f->tally) || !ns ||
	    s->n == MAX_PASSES) {
		s->left_out++;
		return;
	}
	s->passes[s->n] = sum->pass;
	s->window_ns[s->n] = (double)ns;
	s->own_ns[s->n] = sum->own_ns;
	for (enum pass_figure i = 0; i < FIGURE_ALL; i++)
		s->values[i][s->n] = figure_of_pass(f, i);
	s->values[FIGURE_BANDWIDTH][s->n] = (double)tally_bytes(&f->tally);
	s->values[FIGURE_IOPS][s->n] = (double)tally_ops(&f->tally);
	s->n++;
}

/* Divide amounts by times, once it is known if the passes overlap. */
static void make_rates(struct series *s, uint64_t elapsed_ns)
{
	for (size_t i = 0; i < s->n; i++) {
		double share = s->all_own_ns > 0 ? s->own_ns[i] / s->all_own_ns : 0;
		double ns = s->overlaps && share > 0 ? share * (double)elapsed_ns : s->window_ns[i];

		s->values[FIGURE_BANDWIDTH][i] *= NS_PER_SEC / ns;
		s->values[FIGURE_IOPS][i] *= NS_PER_SEC / ns;
	}
}

static void put_times(json_t *times, const struct pass_sum *sum)
{
	json_t *o = json_object();

	jvalue_put(o, "pass", jvalue_count(sum->pass));
	jvalue_put(o, "hosts", jvalue_count(sum->hosts));
	jvalue_put(o, "begin_ns", jvalue_count(sum->begin_first_ns));
	jvalue_put(o, "finish_ns", jvalue_count(sum->finish_last_ns));
	jvalue_put(o, "start_skew_ns", jvalue_count(sum->begin_last_ns - sum->begin_first_ns));
	jvalue_put(o, "end_skew_ns", jvalue_count(sum->finish_last_ns - sum->finish_first_ns));
	jvalue_put(o, "first_host", jvalue_count(sum->first));
	jvalue_put(o, "last_host", jvalue_count(sum->last));
	json_array_append_new(times, o);
}

/* The passes from `p` on with its number. Returns how many they are, 0: memory is short. */
static size_t one_pass(struct series *s, const struct combine_pass *p, size_t left, json_t *times)
{
	struct pass_sum sum = { .pass = p->r->pass, .whole = true, .placed = true };
	bool good = true;
	size_t n = 0;

	figures_init(&sum.figures);
	while (n < left && p[n].r->pass == p->r->pass)
		n += add_host(&sum, s, &p[n], left - n);
	for (size_t i = 0; i < n && good; i++)
		good = add_figures(&sum, &p[i]);
	if (good)
		keep_values(s, &sum);
	if (good && sum.placed) {
		s->overlaps |= sum.begin_first_ns < s->last_finish_ns;
		s->last_finish_ns = sum.finish_last_ns;
		if (json_array_size(times) < MAX_PASSES)
			put_times(times, &sum);
	}
	figures_free(&sum.figures);
	return good ? n : 0;
}

/* ---- all of them ---- */

static json_t *statistics_value(const struct series *s)
{
	struct pass_statistics st = {
		.combined = true,
		.left_out = s->left_out,
		.n = s->n,
		.passes = s->passes,
	};

	statistics_take(&st, s->values);
	return jsonout_statistics_value(&st);
}

static void note_counts(const struct series *s, json_t *notes)
{
	uint64_t most = 0;
	size_t noted = 0;
	char text[200];

	for (size_t i = 0; i < s->n_hosts; i++)
		most = s->hosts[i].last_pass > most ? s->hosts[i].last_pass : most;
	for (size_t i = 0; i < s->n_hosts && noted < 16; i++) {
		const struct combine_host *h = &s->hosts[i];

		if (h->last_pass == most || h->idle)
			continue;
		snprintf(text, sizeof(text), "%.80s: %" PRIu64 " passes, others have %" PRIu64,
			 h->label, h->last_pass, most);
		json_array_append_new(notes, jvalue_text(text));
		noted++;
	}
	if (s->overlaps)
		json_array_append_new(
			notes,
			jvalue_text("hosts begin a pass before others have ended the one before: "
				    "in the statistics, a pass takes its share of the time of "
				    "all"));
}

bool combine_passes(const struct combine_host *hosts, size_t n, uint64_t elapsed_ns,
		    json_t *statistics, json_t *times, json_t *notes)
{
	struct series s = { .hosts = hosts, .n_hosts = n };
	bool good = combine_passes_prepare(&s);
	size_t done = 0;

	while (good && done < s.n_all) {
		size_t one = one_pass(&s, &s.all[done], s.n_all - done, times);

		good = one > 0;
		done += one;
	}
	if (good) {
		make_rates(&s, elapsed_ns);
		json_array_append_new(statistics, statistics_value(&s));
		note_counts(&s, notes);
	} else {
		log_error("combine: %s", strerror(ENOMEM));
	}
	combine_passes_release(&s);
	return good;
}

/*
 * -stonewall on several hosts: the figures of a pass of all of them.
 *
 * Each host counts until it learned that the pass was over, or was over with it. All of that
 * together lasts from the first issue of any host to the moment from which no host issued any
 * more.
 */

static uint64_t count_of(const json_t *o, const char *key)
{
	const json_int_t n = json_integer_value(json_object_get(o, key));

	return n > 0 ? (uint64_t)n : 0;
}

/* Add an interval of a host, which begins at `begin_ns`; `*end_ns` is the last end of all. */
static void add_span(struct span *sum, uint64_t *end_ns, uint64_t begin_ns, const json_t *o)
{
	const struct span s = document_span(o);

	sum->bytes += s.bytes;
	sum->op_units += s.op_units;
	if (begin_ns && begin_ns + s.ns > *end_ns)
		*end_ns = begin_ns + s.ns;
}

/* The entry for a pass in the document of a host, or NULL. */
static const json_t *entry_of(const json_t *root, uint64_t pass)
{
	const json_t *o;
	size_t i;

	json_array_foreach(json_object_get(root, "stonewall"), i, o)
	{
		if (count_of(o, "pass") == pass)
			return o;
	}
	return NULL;
}

/* Whose target ended the pass. Ranks of MPI know it; of other hosts `doc` is of the first one. */
static void set_cause(struct stonewall_result *s, const struct document *doc, const json_t *o)
{
	const json_t *target = json_object_get(o, "target"), *rank = json_object_get(o, "rank");

	s->target = json_is_integer(target) ? (uint32_t)json_integer_value(target) :
					      STONEWALL_BY_TIME;
	s->ranks = json_is_integer(rank) || doc->ranked;
	s->rank = json_is_integer(rank) ? (unsigned)json_integer_value(rank) : (unsigned)doc->rank;
}

/* Add up a pass that all hosts have. False: one has not. */
static bool add_up(const struct combine_host *hosts, size_t n, struct stonewall_result *s)
{
	uint64_t at_ns = 0, end_ns = 0, first_ns = UINT64_MAX;

	for (size_t i = 0; i < n; i++) {
		const json_t *o = entry_of(hosts[i].doc->root, s->pass);
		const json_t *at = json_object_get(o, "at");
		const uint64_t begin = count_of(o, "begin_ns");

		if (!o)
			return false;
		if (begin && (!s->begin_ns || begin < s->begin_ns))
			s->begin_ns = begin;
		if (begin && begin + count_of(at, "ns") < first_ns) {
			first_ns = begin + count_of(at, "ns");
			set_cause(s, hosts[i].doc, o);
		}
		add_span(&s->at, &at_ns, begin, at);
		add_span(&s->end, &end_ns, begin, json_object_get(o, "end"));
	}
	s->at.ns = at_ns - s->begin_ns;
	s->end.ns = end_ns - s->begin_ns;
	return true;
}

json_t *combine_stonewall(const struct combine_host *hosts, size_t n)
{
	json_t *passes = json_array();
	const json_t *o;
	size_t i;

	json_array_foreach(json_object_get(hosts[0].doc->root, "stonewall"), i, o)
	{
		struct stonewall_result s = { .pass = count_of(o, "pass") };

		set_cause(&s, hosts[0].doc, o);
		if (add_up(hosts, n, &s))
			json_array_append_new(passes, jvalue_stonewall(&s));
	}
	return passes;
}

void combine_stonewall_text(const json_t *doc, FILE *to)
{
	const json_t *o;
	size_t i;

	json_array_foreach(json_object_get(doc, "stonewall"), i, o)
	{
		struct stonewall_result s = { .pass = count_of(o, "pass"),
					      .at = document_span(json_object_get(o, "at")),
					      .end = document_span(json_object_get(o, "end")) };

		set_cause(&s, &(struct document){ .ranked = false }, o);
		stonewall_write(to, &s);
	}
}
