/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Figures of passes and targets together: the elapsed time, -deskew and the skew of starts, the
 * figures of each pass, stops of this process, and the record of -stonewall; see the header.
 * Called by the results manager.
 */
#include "run/results/sums.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "run/coord/pace.h"
#include "run/meter/meter.h"
#include "run/results/manager.h"
#include "run/run_state.h"
#include "run/target.h"
#include "xdd/base/file.h"
#include "xdd/base/log.h"
#include "xdd/base/memory.h"
#include "xdd/base/units.h"
#include "xdd/plan/plan.h"
#include "xdd/plan/stonewall_record.h"
#include "xdd/report/report.h"
#include "xdd/report/result.h"
#include "xdd/stat/counters.h"
#include "xdd/stat/histogram.h"
#include "xdd/sys/clock.h"

/*
 * The elapsed time of all targets together. With -nobarrier the window is the whole run, and
 * targets report passes in any order. Up to the time that each target has reached, no further pass
 * can begin, so the spans before it are final and only their length is kept.
 */

int window_init(struct window *w, size_t n_targets)
{
	*w = (struct window){ .room = n_targets, .n_targets = n_targets };
	w->spans = calloc(n_targets, sizeof(*w->spans));
	w->ends = calloc(n_targets, sizeof(*w->ends));
	if (w->spans && w->ends)
		return 0;
	window_destroy(w);
	return -ENOMEM;
}

void window_destroy(struct window *w)
{
	free(w->spans);
	free(w->ends);
	*w = (struct window){ 0 };
}

static void remove_spans(struct window *w, size_t at, size_t n)
{
	memmove(&w->spans[at], &w->spans[at + n], (w->n - at - n) * sizeof(*w->spans));
	w->n -= n;
}

/* Add the spans before `end_ns` to the length. */
static void window_settle(struct window *w, uint64_t end_ns)
{
	size_t done = 0;

	while (done < w->n && w->spans[done].last_ns <= end_ns) {
		w->busy_ns += w->spans[done].last_ns - w->spans[done].first_ns;
		done++;
	}
	remove_spans(w, 0, done);
	if (w->n && w->spans[0].first_ns < end_ns) {
		w->busy_ns += end_ns - w->spans[0].first_ns;
		w->spans[0].first_ns = end_ns;
	}
}

/* Returns false when there is no room for one more. */
static bool has_room(struct window *w)
{
	size_t room = w->room * 2;
	struct window_span *spans;

	if (w->n < w->room)
		return true;
	spans = reallocarray(w->spans, room, sizeof(*spans));
	if (!spans)
		return false;
	w->spans = spans;
	w->room = room;
	return true;
}

/* Join span `at` with those after it that it reaches. */
static void window_join(struct window *w, size_t at)
{
	struct window_span *s = &w->spans[at];
	size_t next = at + 1;

	while (next < w->n && w->spans[next].first_ns <= s->last_ns) {
		if (w->spans[next].last_ns > s->last_ns)
			s->last_ns = w->spans[next].last_ns;
		next++;
	}
	remove_spans(w, at + 1, next - at - 1);
}

static void insert(struct window *w, uint64_t first_ns, uint64_t last_ns)
{
	size_t at = w->n;

	while (at && w->spans[at - 1].first_ns > first_ns)
		at--;
	if (at && w->spans[at - 1].last_ns >= first_ns) {
		at--;
	} else if (has_room(w)) {
		memmove(&w->spans[at + 1], &w->spans[at], (w->n - at) * sizeof(*w->spans));
		w->spans[at] = (struct window_span){ first_ns, last_ns };
		w->n++;
	} else if (at) {
		at--;
	} else {
		w->spans[0].first_ns = first_ns;
	}
	if (w->spans[at].last_ns < last_ns)
		w->spans[at].last_ns = last_ns;
	window_join(w, at);
}

void window_add(struct window *w, size_t target, uint64_t first_ns, uint64_t last_ns)
{
	uint64_t all = UINT64_MAX;

	if (last_ns <= first_ns)
		return;
	insert(w, first_ns, last_ns);
	w->n_ended += !w->ends[target];
	w->ends[target] = last_ns;
	if (w->n_ended < w->n_targets)
		return;
	for (size_t i = 0; i < w->n_targets; i++) {
		if (w->ends[i] < all)
			all = w->ends[i];
	}
	window_settle(w, all);
}

/* A target that has ended its last pass is in no delay: from then on everything counts. */
uint64_t window_close(struct window *w)
{
	uint64_t first = UINT64_MAX, last = 0, ns;

	for (size_t i = 0; i < w->n_targets; i++) {
		if (w->ends[i] && w->ends[i] < first)
			first = w->ends[i];
		if (w->ends[i] > last)
			last = w->ends[i];
		w->ends[i] = 0;
	}
	if (last)
		window_settle(w, first);
	ns = w->busy_ns + (last ? last - first : 0);
	w->n = 0;
	w->n_ended = 0;
	w->busy_ns = 0;
	return ns;
}

int deskew_init(struct deskew *d, const struct plan *plan)
{
	*d = (struct deskew){ .n_targets = plan->n_targets };
	if (!plan->deskew)
		return 0;
	d->targets = calloc(plan->n_targets, sizeof(*d->targets));
	return d->targets ? 0 : -ENOMEM;
}

void deskew_destroy(struct deskew *d)
{
	free(d->targets);
	d->targets = NULL;
}

static uint64_t units_of_ops(const struct pass_result *r)
{
	return tally_ops(&r->figures.tally) * FLOW_OP;
}

static void add_span(struct span *sum, const struct span *s)
{
	sum->ns += s->ns;
	sum->bytes += s->bytes;
	sum->op_units += s->op_units;
}

/* Add what a target had done by then. Of its ends more is known than the intervals tell. */
static void add_done_by(struct span *sum, const struct pass_result *r, uint64_t at_ns)
{
	struct span done = { .bytes = tally_bytes(&r->figures.tally), .op_units = units_of_ops(r) };

	if (at_ns <= r->figures.tally.first_issue_ns)
		return;
	if (at_ns < r->figures.tally.last_done_ns) {
		struct flow_amount amount = flow_before(r->flow, at_ns);

		done.bytes = amount.bytes;
		done.op_units = amount.op_units;
	}
	add_span(sum, &done);
}

/* From the end of `a` to the end of `b`, which began at the same time. */
static struct span between(const struct span *a, const struct span *b)
{
	return (struct span){ b->ns - a->ns, b->bytes - a->bytes, b->op_units - a->op_units };
}

/* Take apart one pass: a result of each target, in which what never came is NULL. */
static void take_apart(struct deskew_result *d, struct pass_result *const *results, size_t n)
{
	uint64_t first = UINT64_MAX, all = 0, none = UINT64_MAX, last = 0;
	struct span until = { 0 };
	size_t began = 0;

	for (size_t i = 0; i < n; i++) {
		const struct tally *t = results[i] ? &results[i]->figures.tally : NULL;

		if (!t || !t->last_done_ns || !results[i]->flow)
			continue;
		began++;
		d->whole.bytes += tally_bytes(t);
		d->whole.op_units += units_of_ops(results[i]);
		first = ns_earlier(first, t->first_issue_ns);
		all = ns_later(all, t->first_issue_ns);
		none = ns_earlier(none, t->last_done_ns);
		last = ns_later(last, t->last_done_ns);
	}
	if (!began)
		return;
	d->whole.ns = last - first;
	if (began < n || all >= none)
		return;
	for (size_t i = 0; i < n; i++) {
		add_done_by(&d->head, results[i], all);
		add_done_by(&until, results[i], none);
	}
	d->head.ns = all - first;
	until.ns = none - first;
	d->window = between(&d->head, &until);
	d->tail = between(&until, &d->whole);
}

/* The slowest target against the fastest, by their own bytes and times. */
static void compare_targets(struct deskew_result *d, const struct span *targets, size_t n)
{
	size_t slowest = 0, fastest = 0;

	for (size_t i = 1; i < n; i++) {
		if (span_rate(&targets[i]) < span_rate(&targets[slowest]))
			slowest = i;
		if (span_rate(&targets[i]) > span_rate(&targets[fastest]))
			fastest = i;
	}
	d->slowest = (struct span_of_target){ (uint32_t)slowest, targets[slowest] };
	d->fastest = (struct span_of_target){ (uint32_t)fastest, targets[fastest] };
	d->fairness = span_rate(&targets[fastest]) > 0 ?
			      span_rate(&targets[slowest]) / span_rate(&targets[fastest]) :
			      0;
}

static struct span own_span(const struct pass_result *r)
{
	if (!r || r->figures.tally.last_done_ns <= r->figures.tally.first_issue_ns)
		return (struct span){ 0 };
	return (struct span){ r->figures.tally.last_done_ns - r->figures.tally.first_issue_ns,
			      tally_bytes(&r->figures.tally), units_of_ops(r) };
}

void deskew_pass(struct deskew *d, struct report *report, struct pass_result *const *results,
		 uint64_t pass)
{
	struct span *targets = d->targets ? calloc(d->n_targets, sizeof(*targets)) : NULL;
	struct deskew_result of = { .pass = pass };

	if (!targets)
		return;
	for (size_t i = 0; i < d->n_targets; i++) {
		targets[i] = own_span(results[i]);
		add_span(&d->targets[i], &targets[i]);
	}
	take_apart(&of, results, d->n_targets);
	compare_targets(&of, targets, d->n_targets);
	add_span(&d->sum.whole, &of.whole);
	add_span(&d->sum.head, &of.head);
	add_span(&d->sum.window, &of.window);
	add_span(&d->sum.tail, &of.tail);
	compare_targets(&d->sum, d->targets, d->n_targets);
	report_deskew(report, &of);
	free(targets);
}

void deskew_fill(const struct deskew *d, struct result *result)
{
	if (!d->targets)
		return;
	result->figures.known |= FIGURES_DESKEW;
	result->window = d->sum.window;
	result->tail = d->sum.tail;
	result->fairness = d->sum.fairness;
}

void deskew_end(const struct deskew *d, struct report *report)
{
	if (d->targets)
		report_deskew(report, &d->sum);
}

static struct start_skew *find_pass(struct start_skew **list, uint64_t pass)
{
	struct start_skew *s = *list;

	while (s && s->pass != pass)
		s = s->next;
	if (s)
		return s;
	s = calloc(1, sizeof(*s));
	if (!s)
		return NULL;
	s->pass = pass;
	s->first_ns = UINT64_MAX;
	s->next = *list;
	*list = s;
	return s;
}

static void unlink_pass(struct start_skew **list, struct start_skew *s)
{
	while (*list != s)
		list = &(*list)->next;
	*list = s->next;
	free(s);
}

void start_skew_add(struct start_skew **list, struct report *report, const struct pass_result *r,
		    size_t n_targets)
{
	struct start_skew *s = find_pass(list, r->pass);

	if (!s)
		return;
	if (r->first_issue_ns != UINT64_MAX) {
		uint64_t start = r->first_issue_ns - r->shift_ns;

		if (start < s->first_ns) {
			s->first_ns = start;
			s->first_target = r->target;
		}
		if (start >= s->last_ns) {
			s->last_ns = start;
			s->last_target = r->target;
		}
	}
	if (++s->results < n_targets)
		return;
	if (s->last_ns) {
		struct start_skew_result skew = { s->pass, s->last_ns - s->first_ns,
						  s->first_target, s->last_target };

		report_start_skew(report, &skew);
	}
	unlink_pass(list, s);
}

void start_skew_free(struct start_skew *list)
{
	while (list) {
		struct start_skew *next = list->next;

		free(list);
		list = next;
	}
}

/* Make room for one more pass. */
static int grow(struct pass_series *s)
{
	uint64_t *passes = array_room(s->passes, s->n, sizeof(*passes));

	if (!passes)
		return -ENOMEM;
	s->passes = passes;
	for (enum pass_figure i = 0; i < FIGURE_ALL; i++) {
		double *values = array_room(s->values[i], s->n, sizeof(*values));

		if (!values)
			return -ENOMEM;
		s->values[i] = values;
	}
	return 0;
}

int series_add(struct pass_series *s, const struct result *pass, bool whole)
{
	const struct figures *f = &pass->figures;

	if (!whole || !tally_ops(&f->tally) || !f->elapsed_ns || s->n == SERIES_MAX_PASSES) {
		s->left_out++;
		return 0;
	}
	if (grow(s)) {
		s->left_out++;
		return -ENOMEM;
	}
	for (enum pass_figure i = 0; i < FIGURE_ALL; i++)
		s->values[i][s->n] = figure_of_pass(f, i);
	s->passes[s->n] = pass->pass;
	s->n++;
	return 0;
}

double series_percent(const struct pass_series *s)
{
	double mean = stats_summarize(s->values[FIGURE_BANDWIDTH], s->n).mean;

	return mean > 0 ? 100 * stats_until_half_width(s->values[FIGURE_BANDWIDTH], s->n) / mean :
			  INFINITY;
}

bool series_is_known(const struct pass_series *s, double percent)
{
	return s->n >= PLAN_UNTIL_MIN_PASSES && series_percent(s) <= percent;
}

void series_report(const struct pass_series *s, struct report *report, bool combined,
		   uint64_t target)
{
	struct pass_statistics st = {
		.combined = combined,
		.target = target,
		.left_out = s->left_out,
		.n = s->n,
		.passes = s->passes,
	};

	statistics_take(&st, s->values);
	report_statistics(report, &st);
}

void series_free(struct pass_series *s)
{
	free(s->passes);
	for (enum pass_figure i = 0; i < FIGURE_ALL; i++)
		free(s->values[i]);
	*s = (struct pass_series){ 0 };
}

/* Less is not told from a busy machine. */
#define LEAST_NS (NS_PER_SEC / 2)

uint64_t stopped_part_ns(uint64_t late_ns, uint64_t waited_ns)
{
	const uint64_t ns = late_ns > waited_ns ? late_ns - waited_ns : 0;

	return ns >= LEAST_NS ? ns : 0;
}

void stopped_after(struct stopped *s, uint64_t due_ns)
{
	const uint64_t now_ns = clock_kernel_ns();
	uint64_t wait_ns;

	/* Where the kernel does not tell, a thread without a processor looks like one. */
	if (now_ns < due_ns + LEAST_NS || !clock_has_thread_wait())
		return;
	wait_ns = clock_thread_wait_ns();
	s->total_ns += stopped_part_ns(now_ns - due_ns, wait_ns - s->wait_ns);
	s->wait_ns = wait_ns;
}

/*
 * -stonewall: the figures of a pass, and the record at the end of a run. Called by the results
 * manager.
 */

static struct span span_of(const struct tally *t, uint64_t ns)
{
	return (struct span){ ns, tally_bytes(t), tally_ops(t) * FLOW_OP };
}

void stonewall_pass(struct manager *m, const struct tally *all)
{
	struct stonewall_result result = { .pass = m->together.pass, .ranks = m->run->group };
	struct stonewall_moment moment;
	uint64_t first;

	if (!stonewall_get(m->run, m->together.pass, &moment, &result.rank))
		return;
	first = moment.tally.first_issue_ns;
	result.target = moment.target;
	if (all->first_issue_ns != UINT64_MAX)
		result.begin_ns = all->first_issue_ns + (uint64_t)m->clock.begin.g.offset_ns;
	result.end = span_of(all, m->together.figures.elapsed_ns);
	result.at = span_of(&moment.tally, moment.at_ns > first ? moment.at_ns - first : 0);
	/* Nothing was outstanding. */
	if (result.at.ns > result.end.ns)
		result.at.ns = result.end.ns;
	report_stonewall(m->report, &result);
	manager_write_stonewall(m, RESULT_STONEWALL_AT, &moment.tally, result.begin_ns,
				result.at.ns);
	manager_write_stonewall(m, RESULT_STONEWALL_END, all, result.begin_ns, result.end.ns);
}

/* Operations that failed or hang may lie anywhere in the pass: such a target has no line. */
static bool wrote_all(const struct target_sum *sum)
{
	return !sum->figures.tally.errors && !sum->figures.tally.outstanding && !sum->partial;
}

static void put_lines(const struct manager *m, FILE *f)
{
	stonewall_record_begin(f, m->plan);
	for (size_t i = 0; i < m->plan->n_targets; i++) {
		const struct target_plan *t = &m->plan->targets[i];

		if (t->op != OP_WRITE)
			continue;
		if (wrote_all(&m->sums[i]))
			stonewall_record_put(f, t, m->sums[i].most_ops);
		else
			log_warning("target %" PRIu32 ", %s: -stonewall save: leaves it out, whose "
				    "operations have not all succeeded",
				    t->number, t->path);
	}
}

void stonewall_save(const struct manager *m)
{
	char *name = stonewall_record_name(m->plan->stonewall.save_file, m->plan->rank);
	struct newfile file = { 0 };
	int err = name ? newfile_open(&file, name) : -ENOMEM;

	if (!err) {
		put_lines(m, file.f);
		err = newfile_close(&file, ferror(file.f) ? -EIO : 0);
	}
	if (err) {
		log_error("-stonewall save %s: %s", name ? name : m->plan->stonewall.save_file,
			  strerror(-err));
		m->run->manager.output_failed = true;
	}
	free(name);
}
