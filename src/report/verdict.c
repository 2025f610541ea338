/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The verdict on a run, the facts that it needs, from the plan and from what was kept of the
 * results, and its lines on the screen; see the header. Called by person.c.
 *
 * A line is written only if the facts support it. Suggestions name exact options.
 */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "report/person.h"
#include "xdd/base/memory.h"
#include "xdd/base/text.h"
#include "xdd/base/units.h"
#include "xdd/plan/engine_info.h"

void verdict_free(struct verdict *v)
{
	for (size_t i = 0; i < v->n; i++)
		free(v->lines[i].text);
	free(v->lines);
	*v = (struct verdict){ 0 };
}

/* Add a line; takes `text`, which is NULL where memory is short. */
static int verdict_put(struct verdict *v, enum screen_tone tone, const char *label, char *text)
{
	struct verdict_line *lines = text ? array_room(v->lines, v->n, sizeof(*lines)) : NULL;

	if (!lines) {
		free(text);
		return -ENOMEM;
	}
	v->lines = lines;
	lines[v->n++] = (struct verdict_line){ tone, label, text };
	return 0;
}

/* Add the line of a rule, from SAYS(). */
static int __attribute__((format(printf, 4, 5)))
verdict_add(struct verdict *v, enum screen_tone tone, enum rule_id rule, const char *says, ...)
{
	char *text;
	va_list ap;
	int len;

	va_start(ap, says);
	len = vasprintf(&text, says, ap);
	va_end(ap);
	return verdict_put(v, tone, rule_table[rule].label, len < 0 ? NULL : text);
}

/* "93 %", or "90 to 99 %". */
static const char *percents(const struct verdict_range *r, char *buf, size_t size)
{
	const double least = round(100 * r->least), most = round(100 * r->most);

	if (most > least)
		snprintf(buf, size, "%.0f to %.0f %%", least, most);
	else
		snprintf(buf, size, "%.0f %%", most);
	return buf;
}

/* Intervals from this half width on, in percent of the mean, say little. */
static bool is_wide(double percent)
{
	return percent >= rule_table[RULE_MEAN].limit;
}

/* Half the width of an interval: "1.8", "0.25" or "160". */
static const char *half_width(double percent, char *buf, size_t size)
{
	snprintf(buf, size, "%.*f", percent < 1 ? 2 : is_wide(percent) ? 0 : 1, percent);
	return buf;
}

/* A run that is too short to be judged. */
static bool is_trial(const struct verdict_facts *f)
{
	return (double)f->elapsed_ns < rule_table[RULE_TRIAL].limit * (double)NS_PER_SEC;
}

/* The line for the targets that one cause limited. */
static int __attribute__((format(printf, 5, 6)))
limit_add(const struct verdict_facts *f, struct verdict *v, size_t n, enum rule_id rule,
	  const char *says, ...)
{
	/* The figure is then of the machine at that time, and not of the target. */
	const enum screen_tone tone = rule == RULE_BY_OTHERS ? SCREEN_CAUTION : SCREEN_BOLD;
	const char *label = rule_table[rule].label;
	char *text, *whole;
	va_list ap;
	int len;

	va_start(ap, says);
	len = vasprintf(&text, says, ap);
	va_end(ap);
	if (len < 0)
		return -ENOMEM;
	if (n >= f->targets)
		return verdict_put(v, tone, label, text);
	len = asprintf(&whole, "%zu of %zu targets by %s", n, f->targets, text);
	free(text);
	return verdict_put(v, tone, "limited", len < 0 ? NULL : whole);
}

/* xdd and the kernel had no time left: it depends on the targets what that means. */
static int add_busy(const struct verdict_facts *f, struct verdict *v, const struct verdict_bound *b)
{
	char busy[40];

	percents(&b->busy, busy, sizeof(busy));
	if (!f->files)
		return limit_add(f, v, b->n, SAYS(BY_ITSELF), busy);
	if (!f->direct)
		return limit_add(f, v, b->n, SAYS(BY_MEMORY), busy);
	return limit_add(f, v, b->n, SAYS(BY_KERNEL), busy);
}

static int add_several(const struct verdict_facts *f, struct verdict *v,
		       const struct verdict_bound *b)
{
	char busy[40], waited[40], idle[40], share[40], held[80] = "";

	if (round(100 * b->held.most) > 0)
		snprintf(held, sizeof(held), ", for the next request to be due %s",
			 percents(&b->held, share, sizeof(share)));
	return limit_add(f, v, b->n, SAYS(BY_SEVERAL), percents(&b->idle, idle, sizeof(idle)),
			 percents(&b->waited, waited, sizeof(waited)), held,
			 percents(&b->busy, busy, sizeof(busy)));
}

static int add_bound(const struct verdict_facts *f, struct verdict *v, enum result_bound bound)
{
	const struct verdict_bound *b = &f->bounds[bound];
	char share[40];

	if (!b->n)
		return 0;
	switch (bound) {
	case RESULT_BOUND_DEVICE:
		return limit_add(f, v, b->n, SAYS(BY_DEVICE),
				 percents(&b->idle, share, sizeof(share)));
	case RESULT_BOUND_GENERATOR:
		return add_busy(f, v, b);
	case RESULT_BOUND_PACED:
		return limit_add(f, v, b->n, SAYS(BY_PACE), f->pace ? f->pace : "its pace",
				 percents(&b->held, share, sizeof(share)));
	case RESULT_BOUND_STARVED:
		return limit_add(f, v, b->n, SAYS(BY_OTHERS),
				 percents(&b->waited, share, sizeof(share)));
	case RESULT_BOUND_QUOTA:
		return limit_add(f, v, b->n, SAYS(BY_QUOTA),
				 percents(&b->waited, share, sizeof(share)));
	case RESULT_BOUND_LIMIT:
		return limit_add(f, v, b->n, SAYS(BY_LIMIT),
				 percents(&b->idle, share, sizeof(share)));
	case RESULT_BOUND_MIXED:
		return add_several(f, v, b);
	case RESULT_BOUND_UNKNOWN:
		break;
	}
	return 0;
}

static int add_limit(const struct verdict_facts *f, struct verdict *v)
{
	char copy[COPY_VERDICT_SIZE];
	int err = 0;

	if (is_trial(f))
		return 0;
	/* The parts of a copy are known better than the threads of one side. */
	if (f->copy.any)
		return copy_verdict_text(&f->copy.verdict, copy) ?
			       verdict_add(v, SCREEN_BOLD, SAYS(BY_COPY), copy) :
			       0;
	for (unsigned i = 0; i < RESULT_BOUNDS && !err; i++)
		err = add_bound(f, v, (enum result_bound)i);
	return err;
}

static int add_until(const struct verdict_facts *f, struct verdict *v)
{
	const struct person_passes *p = &f->passes;
	const bool reached = p->until_percent <= f->until_percent;
	char mean[SCALED_SIZE], half[40];

	if (!isfinite(p->until_percent))
		return 0;
	return verdict_add(v, reached ? SCREEN_GOOD : SCREEN_CAUTION, SAYS(UNTIL),
			   scaled_rate(p->mean, mean),
			   half_width(p->until_percent, half, sizeof(half)), p->n, f->until_percent,
			   reached ? "reached" : "not reached");
}

static int add_one_pass(const struct verdict_facts *f, struct verdict *v)
{
	if (!f->run_time_ns)
		return verdict_add(v, SCREEN_BOLD, SAYS(ONE_PASS));
	/* -runtime would end the run in the first of the passes. */
	return verdict_add(v, SCREEN_BOLD, SAYS(ONE_RUNTIME), (double)f->run_time_ns / NS_PER_SEC);
}

/* An amount of work ends a run whatever its time limits are. */
static int add_trial(const struct verdict_facts *f, struct verdict *v)
{
	char took[SCALED_SIZE];

	return verdict_add(v, SCREEN_BOLD, SAYS(TRIAL), scaled_time((double)f->elapsed_ns, took),
			   f->run_time_ns   ? "a greater -runtime" :
			   f->time_limit_ns ? "a greater -timelimit" :
					      "-timelimit 10s without -bytes, -numreqs or "
					      "another amount of work");
}

static int add_certainty(const struct verdict_facts *f, struct verdict *v)
{
	const struct person_passes *p = &f->passes;
	double percent = p->mean > 0 ? 100 * p->half_width / p->mean : INFINITY;
	char mean[SCALED_SIZE], half[40];
	int err = 0;

	/* A copy is done once. */
	if (!f->ops || (f->copy.any && f->passes_ran < 2))
		return 0;
	if (is_trial(f) && f->passes_ran < 2)
		return f->partial ? 0 : add_trial(f, v);
	if (f->passes_ran < 2)
		return f->partial ? 0 : add_one_pass(f, v);
	if (f->until_percent > 0)
		err = add_until(f, v);
	else if (p->n > 1 && isfinite(percent) && rule_too_few(percent))
		err = verdict_add(v, SCREEN_CAUTION, SAYS(TOO_FEW), scaled_rate(p->mean, mean),
				  p->n);
	else if (p->n > 1 && isfinite(percent))
		err = verdict_add(v, is_wide(percent) ? SCREEN_CAUTION : SCREEN_GOOD, SAYS(MEAN),
				  scaled_rate(p->mean, mean),
				  half_width(percent, half, sizeof(half)), p->n);
	if (!err && p->why[0])
		err = verdict_add(v, SCREEN_CAUTION, SAYS(UNSTEADY), p->why);
	return err;
}

static int add_warmup(const struct verdict_facts *f, struct verdict *v)
{
	char ops[SCALED_SIZE];

	if (!f->warmup_ops)
		return 0;
	return verdict_add(v, SCREEN_PLAIN, SAYS(WARMUP), scaled_count(f->warmup_ops, ops));
}

/* A log is as fast as its flushes; the latencies exclude the flushes. */
static int add_flushes(const struct verdict_facts *f, struct verdict *v)
{
	char all[SCALED_SIZE], each[SCALED_SIZE];

	if (!f->flushes)
		return 0;
	scaled_time((double)f->flush_ns, all);
	if (f->flushes == 1)
		return verdict_add(v, SCREEN_BOLD, SAYS(FLUSH), all);
	return verdict_add(v, SCREEN_BOLD, SAYS(FLUSHES), f->flushes, all,
			   scaled_time((double)f->flush_ns / (double)f->flushes, each));
}

/* Findings that the limit tells already. */
static bool is_told(const struct verdict_facts *f, enum rule_id rule)
{
	return (rule == RULE_GENERATOR && f->bounds[RESULT_BOUND_GENERATOR].n) ||
	       (rule == RULE_STARVED && f->bounds[RESULT_BOUND_STARVED].n) ||
	       (rule == RULE_QUOTA && f->bounds[RESULT_BOUND_QUOTA].n) ||
	       (rule == RULE_LIMIT && f->bounds[RESULT_BOUND_LIMIT].n);
}

/* The line of a finding, and of `more` like it; without its target, where there is only one. */
static char *finding_line(const struct verdict_facts *f, const struct finding *finding, size_t more)
{
	const size_t from = f->targets == 1 && finding->target >= 0 ? finding->sentence : 0;
	const int len = (int)(finding->advice - from);
	char *text;
	int n;

	if (more)
		n = asprintf(&text, "%.*s (and %zu more like this)", len, finding->text + from,
			     more);
	else
		n = asprintf(&text, "%.*s", len, finding->text + from);
	return n < 0 ? NULL : text;
}

static int add_finding(const struct verdict_facts *f, size_t i, struct verdict *v)
{
	const struct finding *finding = &f->findings[i];
	size_t more = 0;

	for (size_t k = 0; k < i; k++)
		if (f->findings[k].rule == finding->rule)
			return 0;
	for (size_t k = i + 1; k < f->n_findings; k++)
		more += f->findings[k].rule == finding->rule;
	if (is_told(f, finding->rule))
		return 0;
	return verdict_put(v, SCREEN_CAUTION, rule_table[finding->rule].label,
			   finding_line(f, finding, more));
}

/* The first finding of a rule, or NULL. */
static const struct finding *verdict_find(const struct verdict_facts *f, enum rule_id rule)
{
	for (size_t i = 0; i < f->n_findings; i++) {
		if (f->findings[i].rule == rule)
			return &f->findings[i];
	}
	return NULL;
}

/* More QThreads help where processors are idle. */
static const char *next_of_generator(const struct verdict_facts *f)
{
	if (!f->bounds[RESULT_BOUND_GENERATOR].n || is_trial(f) || !f->files || !f->direct ||
	    verdict_find(f, RULE_HOLES) || f->qthreads >= f->processors)
		return NULL;
	return f->queues ? rule_says_MORE_THREADS : rule_says_MORE_QTHREADS;
}

/* The share of time in which QThreads were at work or had no processor, at most. */
static double occupied(const struct verdict_facts *f)
{
	double most = 0;

	for (unsigned i = 0; i < RESULT_BOUNDS; i++) {
		const struct verdict_bound *b = &f->bounds[i];

		if (b->n && b->busy.most + b->waited.most > most)
			most = b->busy.most + b->waited.most;
	}
	return most;
}

/* A QThread for each request costs processor time, which an engine that queues saves. */
static const char *next_of_engine(const struct verdict_facts *f, char *buf, size_t size)
{
	if (f->queues || !f->queueing || is_trial(f) || !f->files || !f->direct || f->copy.any ||
	    f->pace || f->qthreads <= f->processors ||
	    100 * occupied(f) < rule_table[RULE_QUEUEING].limit)
		return NULL;
	snprintf(buf, size, rule_says_QUEUEING, f->queueing);
	return buf;
}

/* One request at a time says little of a device. */
static const char *next_of_device(const struct verdict_facts *f)
{
	return f->bounds[RESULT_BOUND_DEVICE].n && !is_trial(f) && f->depth == 1 && !f->copy.any ?
		       rule_says_DEEPER :
		       NULL;
}

struct verdict_next {
	const char *texts[VERDICT_NEXT_MAX];
	size_t n;
};

/* Accepts NULL. */
static void next_add(struct verdict_next *next, const char *text)
{
	for (size_t i = 0; i < next->n; i++)
		if (text && strcmp(text, next->texts[i]) == 0)
			return;
	if (text && next->n < VERDICT_NEXT_MAX)
		next->texts[next->n++] = text;
}

/* The advice of the findings, most important first, and of the limits. */
static int add_next(const struct verdict_facts *f, struct verdict *v)
{
	static const enum rule_id order[] = { RULE_CACHED, RULE_ELSEWHERE, RULE_DIRTY, RULE_HOLES,
					      RULE_RATE,   RULE_OTHERS,	   RULE_SPLIT, RULE_ZEROS };
	struct verdict_next next = { .n = 0 };
	char engine[160], *text;

	for (size_t i = 0; i < sizeof(order) / sizeof(order[0]); i++) {
		const struct finding *finding = verdict_find(f, order[i]);

		next_add(&next, finding ? finding_advice(finding) : NULL);
	}
	next_add(&next, next_of_generator(f));
	next_add(&next, next_of_engine(f, engine, sizeof(engine)));
	next_add(&next, next_of_device(f));
	if (!next.n)
		return 0;
	if (asprintf(&text, "%s%s%s", next.texts[0], next.n > 1 ? "; " : "",
		     next.n > 1 ? next.texts[1] : "") < 0)
		return -ENOMEM;
	return verdict_put(v, SCREEN_BOLD, rule_table[RULE_DEEPER].label, text);
}

/* The targets that a fault is on, where there are others: " on data". */
static const char *on_targets(const struct verdict_facts *f, const struct verdict_targets *t,
			      char *buf, size_t size)
{
	buf[0] = '\0';
	if (f->targets > 1 && t->n == 1)
		snprintf(buf, size, " on %s", t->name);
	else if (f->targets > 1 && t->n)
		snprintf(buf, size, " on %zu targets", t->n);
	return buf;
}

/* Faults come first: the figures above cover operations that succeeded. */
static int add_faults(const struct verdict_facts *f, struct verdict *v)
{
	char on[PATH_MAX];
	int err = 0;

	if (f->end == REPORT_END_CANCELED && f->ops)
		err = verdict_add(v, SCREEN_CAUTION, SAYS(CANCELED));
	else if (f->end == REPORT_END_CANCELED)
		err = verdict_add(v, SCREEN_CAUTION, SAYS(NOT_BEGUN));
	else if (f->partial)
		err = verdict_add(v, SCREEN_CAUTION, SAYS(CUT));
	if (!err && f->outstanding)
		err = verdict_add(v, SCREEN_BAD, SAYS(HUNG), f->outstanding,
				  f->outstanding == 1 ? "request" : "requests",
				  on_targets(f, &f->hung, on, sizeof(on)));
	if (!err && f->errors)
		err = verdict_add(v, SCREEN_BAD, SAYS(ERRORS), f->errors, f->ops + f->errors,
				  on_targets(f, &f->failed, on, sizeof(on)));
	if (!err && f->miscompares)
		err = verdict_add(v, SCREEN_BAD, SAYS(WRONG_DATA), f->miscompares,
				  f->miscompares == 1 ? "extent" : "extents",
				  f->miscompares == 1 ? "holds" : "hold");
	else if (!err && f->verified && f->ops)
		err = verdict_add(v, SCREEN_GOOD, SAYS(VERIFIED));
	return err;
}

static int add_copy(const struct verdict_facts *f, struct verdict *v)
{
	if (!f->copy.any)
		return 0;
	if (!f->copy.complete)
		return verdict_add(v, SCREEN_BAD, SAYS(COPY_LOST),
				   f->copy.source ? "sent" : "wrote", f->copy.ops);
	return verdict_add(v, SCREEN_GOOD, SAYS(COPY_DONE), f->copy.ops, f->copy.digest);
}

int verdict_make(const struct verdict_facts *f, struct verdict *v)
{
	int err;

	*v = (struct verdict){ 0 };
	err = add_faults(f, v);
	if (!err)
		err = add_copy(f, v);
	if (!err)
		err = add_limit(f, v);
	if (!err)
		err = add_certainty(f, v);
	if (!err)
		err = add_warmup(f, v);
	if (!err)
		err = add_flushes(f, v);
	for (size_t i = 0; i < f->n_findings && !err; i++)
		err = add_finding(f, i, v);
	return err ? err : add_next(f, v);
}

static void extend(struct verdict_range *r, double value, bool first)
{
	if (first || value < r->least)
		r->least = value;
	if (first || value > r->most)
		r->most = value;
}

static void take_bound(struct verdict_facts *f, const struct person_sum *s)
{
	struct verdict_bound *b = &f->bounds[s->bound];
	const bool first = !b->n++;

	extend(&b->busy, s->times.busy, first);
	extend(&b->waited, s->times.waited, first);
	extend(&b->held, s->times.held, first);
	extend(&b->idle, s->times.idle, first);
}

static bool has_pages(const struct target_plan *t)
{
	return t->op != OP_NOOP && t->op != OP_DISCARD &&
	       (t->kind == TARGET_FILE || t->kind == TARGET_BLOCK || t->kind == TARGET_MISSING);
}

static const char *pace_of(const struct plan *plan)
{
	for (const struct target_plan *t = plan->targets; t < plan_end(plan); t++) {
		if (t->throttle.by != THROTTLE_NONE)
			return "-throttle";
		if (t->snooze_percent > 0)
			return "-snooze";
		if (t->lockstep.on)
			return "-lockstep";
	}
	return plan->operation_delay_ns ? "-operationdelay" : NULL;
}

static void take_plan(struct verdict_facts *f, const struct plan *plan)
{
	const long processors = sysconf(_SC_NPROCESSORS_ONLN);
	const struct engine_info *queueing;

	f->direct = true;
	f->queues = true;
	for (const struct target_plan *t = plan->targets; t < plan_end(plan); t++) {
		f->files |= has_pages(t);
		f->direct &= t->direct_io || !has_pages(t);
		f->depth = t->queue_depth > f->depth ? t->queue_depth : f->depth;
		f->queues &= plan_queues(t);
		f->qthreads += t->qthreads;
		if (t->time_limit_ns > f->time_limit_ns)
			f->time_limit_ns = t->time_limit_ns;
	}
	queueing = f->queues ? NULL : engine_queueing(NULL);
	f->queueing = queueing ? queueing->name : NULL;
	f->pace = pace_of(plan);
	f->processors = processors > 0 ? (uint64_t)processors : 0;
	f->until_percent = plan->until_percent;
	f->run_time_ns = plan->run_time_ns;
}

static void add_target(struct verdict_targets *targets, const char *name)
{
	if (!targets->n++)
		targets->name = name;
}

static void take_results(struct verdict_facts *f, const struct person *p)
{
	for (size_t i = 0; i < p->n; i++) {
		if (!p->targets[i].any)
			continue;
		f->targets++;
		if (p->targets[i].errors)
			add_target(&f->failed, p->plan->targets[i].path);
		if (p->targets[i].outstanding)
			add_target(&f->hung, p->plan->targets[i].path);
		if (p->targets[i].times.known)
			take_bound(f, &p->targets[i]);
	}
	f->passes_ran = p->all.passes;
	f->passes = p->passes;
	f->elapsed_ns = p->all.elapsed_ns;
	f->ops = p->all.all.n;
	f->errors = p->all.errors;
	f->miscompares = p->all.miscompares;
	f->outstanding = p->all.outstanding;
	f->flushes = p->all.flushes.n;
	f->flush_ns = p->all.flush_ns;
	f->warmup_ops = p->all.warmup_ops;
	f->verified = p->all.verified;
	f->partial = p->all.partial;
	f->copy = p->copy;
}

static int write_verdict(const struct verdict *v, const struct screen *screen, FILE *f)
{
	if (v->n)
		fputc('\n', f);
	for (size_t i = 0; i < v->n; i++) {
		char *text = printable_dup(v->lines[i].text, false);

		if (!text)
			return -ENOMEM;
		screen_wrap(screen, f, v->lines[i].tone, v->lines[i].label, text);
		free(text);
	}
	return 0;
}

int person_verdict(const struct person *p, const struct finding *findings, size_t n_findings,
		   enum report_end end, const struct screen *screen, FILE *f)
{
	struct verdict_facts facts = { .end = end, .findings = findings, .n_findings = n_findings };
	struct verdict v;
	int err;

	take_plan(&facts, p->plan);
	take_results(&facts, p);
	err = verdict_make(&facts, &v);
	if (!err)
		err = write_verdict(&v, screen, f);
	verdict_free(&v);
	return err;
}
