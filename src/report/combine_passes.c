/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The passes of several hosts, matched by their numbers. Called by combine.c.
 *
 * One pass is looked at after another, so that there is memory for latencies of one pass. Where
 * hosts wait for each other, a pass lasts from its first operation to its last one on any host.
 * Where they do not, these times overlap and would count several times; a pass then takes that
 * share of the elapsed time of all which its hosts' own times have of the times of all passes.
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/combine_host.h"
#include "report/jsonout.h"
#include "xdd/base/log.h"
#include "xdd/base/units.h"
#include "xdd/report/jvalue.h"
#include "xdd/report/result.h"
#include "xdd/stat/histogram.h"

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
		.known = statistics_known(s->values, s->n),
		.passes = s->passes,
	};

	for (enum pass_figure i = 0; i < FIGURE_ALL; i++) {
		st.values[i] = s->values[i];
		st.summary[i] = stats_summarize(s->values[i], s->n);
		st.stability[i] = stats_stability(s->values[i], s->n);
	}
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
