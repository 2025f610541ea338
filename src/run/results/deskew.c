/*
 * -deskew and the skew of starts. Called by the results manager with the results of a pass.
 */
#include "run/results/deskew.h"

#include <errno.h>
#include <stdlib.h>

#include "run/meter/results.h"
#include "run/target.h"
#include "xdd/base/units.h"
#include "xdd/report/deskew.h"
#include "xdd/report/report.h"
#include "xdd/stat/counters.h"
#include "xdd/stat/histogram.h"

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
