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
#include "report/screen.h"
#include "xdd/base/memory.h"
#include "xdd/base/text.h"
#include "xdd/base/units.h"
#include "xdd/plan/engine_info.h"

/* In less time, start and end of a run count as much as what is between them. */
#define TRIAL_NS (NS_PER_SEC / 10)

/* Intervals from this half width on, in percent of the mean, say little. */
#define WIDE_PERCENT 10.0

void verdict_free(struct verdict *v)
{
	for (size_t i = 0; i < v->n; i++)
		free(v->lines[i].text);
	free(v->lines);
	*v = (struct verdict){ 0 };
}

static int __attribute__((format(printf, 4, 5)))
verdict_add(struct verdict *v, enum screen_tone tone, const char *label, const char *fmt, ...)
{
	struct verdict_line *lines = array_room(v->lines, v->n, sizeof(*lines));
	char *text;
	va_list ap;
	int len;

	if (!lines)
		return -ENOMEM;
	v->lines = lines;
	va_start(ap, fmt);
	len = vasprintf(&text, fmt, ap);
	va_end(ap);
	if (len < 0)
		return -ENOMEM;
	lines[v->n++] = (struct verdict_line){ tone, label, text };
	return 0;
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

/* Half the width of an interval: "1.8", "0.25" or "160". */
static const char *half_width(double percent, char *buf, size_t size)
{
	snprintf(buf, size, "%.*f", percent < 1 ? 2 : percent < WIDE_PERCENT ? 1 : 0, percent);
	return buf;
}

/* The end of the sentence for the targets that one cause limited. */
static int limit_text(const struct verdict_facts *f, enum result_bound bound, char *buf,
		      size_t size)
{
	const struct verdict_bound *b = &f->bounds[bound];
	char share[40], waited[40], idle[40], held[64] = "", part[40];

	switch (bound) {
	case RESULT_BOUND_DEVICE:
		return snprintf(buf, size, "the device: xdd waited for it %s of the time",
				percents(&b->idle, share, sizeof(share)));
	case RESULT_BOUND_GENERATOR:
		percents(&b->busy, share, sizeof(share));
		if (!f->files)
			return snprintf(buf, size,
					"xdd itself, busy %s of the time: there is no device",
					share);
		if (!f->direct)
			return snprintf(
				buf, size,
				"processors and memory, busy %s of the time: data went through the page "
				"cache",
				share);
		return snprintf(buf, size,
				"xdd and the kernel, busy %s of the time: the device may do more",
				share);
	case RESULT_BOUND_PACED:
		return snprintf(buf, size, "%s: no request was due %s of the time",
				f->pace ? f->pace : "its pace",
				percents(&b->held, share, sizeof(share)));
	case RESULT_BOUND_STARVED:
		return snprintf(buf, size,
				"other programs: xdd was ready and had no processor %s of the time",
				percents(&b->waited, share, sizeof(share)));
	case RESULT_BOUND_QUOTA:
		return snprintf(buf, size,
				"the CPU quota of its control group: it stopped xdd %s of the time",
				percents(&b->waited, share, sizeof(share)));
	case RESULT_BOUND_LIMIT:
		return snprintf(buf, size,
				"what its control group allows on the device: xdd waited for it %s "
				"of the time",
				percents(&b->idle, share, sizeof(share)));
	case RESULT_BOUND_MIXED:
		if (round(100 * b->held.most) > 0)
			snprintf(held, sizeof(held), "no request due %s, ",
				 percents(&b->held, part, sizeof(part)));
		return snprintf(buf, size,
				"several causes: busy %s, without a processor %s, %swaiting for "
				"the device %s of the time",
				percents(&b->busy, share, sizeof(share)),
				percents(&b->waited, waited, sizeof(waited)), held,
				percents(&b->idle, idle, sizeof(idle)));
	case RESULT_BOUND_UNKNOWN:
		break;
	}
	return 0;
}

static int add_limit(const struct verdict_facts *f, struct verdict *v)
{
	char text[240], of[64], copy[COPY_VERDICT_SIZE];
	int err = 0;

	if (f->elapsed_ns < TRIAL_NS)
		return 0;
	/* The parts of a copy are known better than the threads of one side. */
	if (f->copy.any)
		return copy_verdict_text(&f->copy.verdict, copy) ?
			       verdict_add(v, SCREEN_BOLD, "limited by", "%s", copy) :
			       0;
	for (unsigned i = 0; i < RESULT_BOUNDS && !err; i++) {
		const size_t n = f->bounds[i].n;

		if (!n || limit_text(f, (enum result_bound)i, text, sizeof(text)) <= 0)
			continue;
		of[0] = '\0';
		if (n < f->targets)
			snprintf(of, sizeof(of), "%zu of %zu targets by ", n, f->targets);
		err = verdict_add(v, SCREEN_BOLD, n < f->targets ? "limited" : "limited by", "%s%s",
				  of, text);
	}
	return err;
}

static int add_until(const struct verdict_facts *f, struct verdict *v)
{
	const struct person_passes *p = &f->passes;
	const bool reached = p->until_percent <= f->until_percent;
	char mean[SCALED_SIZE], half[40];

	if (!isfinite(p->until_percent))
		return 0;
	return verdict_add(
		v, reached ? SCREEN_GOOD : SCREEN_CAUTION, "certainty",
		"%s +-%s %% is the mean of %zu passes with 95 %% confidence; -passes until %g "
		"was %s",
		scaled_rate(p->mean, mean), half_width(p->until_percent, half, sizeof(half)), p->n,
		f->until_percent, reached ? "reached" : "not reached");
}

/* -runtime would end the run in the first of the passes. */
static int add_one_pass(const struct verdict_facts *f, struct verdict *v)
{
	if (!f->run_time_ns)
		return verdict_add(v, SCREEN_BOLD, "certainty",
				   "one pass says nothing about repeatability; -passes 5 does");
	return verdict_add(
		v, SCREEN_BOLD, "certainty",
		"one pass says nothing about repeatability; -timelimit %.9g -passes 5 in place "
		"of -runtime does",
		(double)f->run_time_ns / NS_PER_SEC);
}

/* An amount of work ends a run whatever its time limits are. */
static int add_trial(const struct verdict_facts *f, struct verdict *v)
{
	char took[SCALED_SIZE];

	return verdict_add(v, SCREEN_BOLD, "certainty", "%s say little; %s measures for longer",
			   scaled_time((double)f->elapsed_ns, took),
			   f->run_time_ns   ? "a greater -runtime" :
			   f->time_limit_ns ? "a greater -timelimit" :
					      "-timelimit 10s without an amount of work");
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
	if (f->elapsed_ns < TRIAL_NS && f->passes_ran < 2)
		return f->partial ? 0 : add_trial(f, v);
	if (f->passes_ran < 2)
		return f->partial ? 0 : add_one_pass(f, v);
	if (f->until_percent > 0)
		err = add_until(f, v);
	else if (p->n > 1 && isfinite(percent))
		err = verdict_add(v, percent < WIDE_PERCENT ? SCREEN_GOOD : SCREEN_CAUTION,
				  "certainty",
				  "%s +-%s %% is the mean of %zu passes with 95 %% confidence",
				  scaled_rate(p->mean, mean),
				  half_width(percent, half, sizeof(half)), p->n);
	if (!err && p->why[0])
		err = verdict_add(v, SCREEN_CAUTION, "not reproducible", "%s", p->why);
	return err;
}

static int add_warmup(const struct verdict_facts *f, struct verdict *v)
{
	char ops[SCALED_SIZE];

	if (!f->warmup_ops)
		return 0;
	return verdict_add(v, SCREEN_PLAIN, "note", "%s operations of the warm-up are in no figure",
			   scaled_count(f->warmup_ops, ops));
}

/* A log is as fast as its flushes, and the latencies are those of the writes alone. */
static int add_flushes(const struct verdict_facts *f, struct verdict *v)
{
	char all[SCALED_SIZE], each[SCALED_SIZE];

	if (!f->flushes)
		return 0;
	scaled_time((double)f->flush_ns, all);
	if (f->flushes == 1)
		return verdict_add(v, SCREEN_BOLD, "note",
				   "one flush took %s; p50, p99 and max of writes are without it",
				   all);
	return verdict_add(v, SCREEN_BOLD, "note",
			   "%" PRIu64
			   " flushes took %s, %s each; p50, p99 and max of writes are without "
			   "them",
			   f->flushes, all,
			   scaled_time((double)f->flush_ns / (double)f->flushes, each));
}

/* Findings that need another label than "disturbed". */
static const char *label_of(enum finding_kind kind)
{
	switch (kind) {
	case FINDING_RATE:
		return "rate not reached";
	case FINDING_ZEROS:
	case FINDING_PASSES:
		return "note";
	default:
		return "disturbed";
	}
}

/* Findings that the limit tells already. */
static bool is_told(const struct verdict_facts *f, enum finding_kind kind)
{
	return (kind == FINDING_GENERATOR && f->bounds[RESULT_BOUND_GENERATOR].n) ||
	       (kind == FINDING_STARVED && f->bounds[RESULT_BOUND_STARVED].n) ||
	       (kind == FINDING_QUOTA && f->bounds[RESULT_BOUND_QUOTA].n) ||
	       (kind == FINDING_LIMIT && f->bounds[RESULT_BOUND_LIMIT].n);
}

/* The text without its target, where there is only one, and without a suggestion at its end. */
static char *finding_text(const struct verdict_facts *f, size_t i)
{
	const char *text = f->findings[i].text, *last = NULL;
	const char *prefix = f->targets == 1 && f->prefixes ? f->prefixes[i] : NULL;

	if (prefix && strncmp(text, prefix, strlen(prefix)) == 0)
		text += strlen(prefix);
	for (const char *at = strstr(text, "; "); at; at = strstr(at + 2, "; "))
		last = at;
	if (last && strstr(last, " -"))
		return strndup(text, (size_t)(last - text));
	return strdup(text);
}

static int add_finding(const struct verdict_facts *f, size_t i, struct verdict *v)
{
	const enum finding_kind kind = f->findings[i].kind;
	size_t more = 0;
	char *text;
	int err;

	for (size_t k = 0; k < i; k++)
		if (f->findings[k].kind == kind)
			return 0;
	for (size_t k = i + 1; k < f->n_findings; k++)
		more += f->findings[k].kind == kind;
	if (is_told(f, kind))
		return 0;
	text = finding_text(f, i);
	if (!text)
		return -ENOMEM;
	if (more)
		err = verdict_add(v, SCREEN_CAUTION, label_of(kind), "%s (and %zu more like this)",
				  text, more);
	else
		err = verdict_add(v, SCREEN_CAUTION, label_of(kind), "%s", text);
	free(text);
	return err;
}

static bool verdict_has(const struct verdict_facts *f, enum finding_kind kind)
{
	for (size_t i = 0; i < f->n_findings; i++) {
		if (f->findings[i].kind == kind)
			return true;
	}
	return false;
}

/* More QThreads help where processors are idle. */
static const char *next_of_generator(const struct verdict_facts *f)
{
	if (!f->bounds[RESULT_BOUND_GENERATOR].n || f->elapsed_ns < TRIAL_NS || !f->files ||
	    !f->direct || verdict_has(f, FINDING_HOLES) || f->qthreads >= f->processors)
		return NULL;
	return f->queues ? "a greater -threads uses more processors" :
			   "a greater -queuedepth uses more processors";
}

static int add_next(const struct verdict_facts *f, struct verdict *v)
{
	const char *const candidates[] = {
		verdict_has(f, FINDING_CACHED) ? f->direct ?
						 "-dropcache empties the page cache first" :
						 "-dio and -dropcache read the device" :
						 NULL,
		verdict_has(f, FINDING_DIRTY) ? "-dio or -syncwrite measures the device" : NULL,
		verdict_has(f, FINDING_HOLES) ? "write the data first, with -op write" : NULL,
		verdict_has(f, FINDING_RATE) ? "a lower rate or a greater -queuedepth" : NULL,
		verdict_has(f, FINDING_OTHERS) ? "repeat it while nothing else uses the device" :
						 NULL,
		verdict_has(f, FINDING_SPLIT) ? "a smaller -reqsize is not split" : NULL,
		verdict_has(f, FINDING_ZEROS) ?
			"-datapattern random writes data that does not compress" :
			NULL,
		next_of_generator(f),
		f->bounds[RESULT_BOUND_DEVICE].n && f->elapsed_ns >= TRIAL_NS && f->depth == 1 &&
				!f->copy.any ?
			"-queuedepth 8 shows what the device does with several requests at once" :
			NULL,
	};
	const char *next[VERDICT_NEXT_MAX] = { NULL };
	size_t n = 0;

	for (size_t i = 0; i < sizeof(candidates) / sizeof(candidates[0]); i++) {
		if (candidates[i] && n < VERDICT_NEXT_MAX)
			next[n++] = candidates[i];
	}
	if (!n)
		return 0;
	return verdict_add(v, SCREEN_BOLD, "next", "%s%s%s", next[0], n > 1 ? "; " : "",
			   n > 1 ? next[1] : "");
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

/* Faults come first: the figures above are those of the operations that succeeded. */
static int add_faults(const struct verdict_facts *f, struct verdict *v)
{
	char on[PATH_MAX];
	int err = 0;

	if (f->end == REPORT_END_CANCELED)
		err = verdict_add(v, SCREEN_CAUTION, "partial", "%s",
				  f->ops ? "the run was canceled before its end" :
					   "the run was canceled before it began");
	else if (f->partial)
		err = verdict_add(v, SCREEN_CAUTION, "partial", "the run was cut short");
	if (!err && f->outstanding)
		err = verdict_add(v, SCREEN_BAD, "hung", "%" PRIu64 " %s%s never completed",
				  f->outstanding, f->outstanding == 1 ? "request" : "requests",
				  on_targets(f, &f->hung, on, sizeof(on)));
	if (!err && f->errors)
		err = verdict_add(v, SCREEN_BAD, "errors",
				  "%" PRIu64 " of %" PRIu64 " requests failed%s", f->errors,
				  f->ops + f->errors, on_targets(f, &f->failed, on, sizeof(on)));
	if (!err && f->miscompares)
		err = verdict_add(v, SCREEN_BAD, "wrong data",
				  "%" PRIu64 " %s of what was read is not as expected",
				  f->miscompares, f->miscompares == 1 ? "extent" : "extents");
	else if (!err && f->verified && f->ops)
		err = verdict_add(v, SCREEN_GOOD, "verified",
				  "all data that was read is as expected");
	return err;
}

static int add_copy(const struct verdict_facts *f, struct verdict *v)
{
	if (!f->copy.any)
		return 0;
	if (!f->copy.complete)
		return verdict_add(v, SCREEN_BAD, "copy not confirmed",
				   "this side %s %" PRIu64
				   " requests, and the other side does not confirm them",
				   f->copy.source ? "sent" : "wrote", f->copy.ops);
	return verdict_add(v, SCREEN_GOOD, "copy complete",
			   "both sides confirm %" PRIu64 " requests, digest %s", f->copy.ops,
			   f->copy.digest);
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

static void add_bound(struct verdict_facts *f, const struct person_sum *s)
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
	for (size_t i = 0; i < plan->n_targets; i++) {
		const struct target_plan *t = &plan->targets[i];

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

	f->direct = true;
	f->queues = true;
	for (size_t i = 0; i < plan->n_targets; i++) {
		const struct target_plan *t = &plan->targets[i];

		f->files |= has_pages(t);
		f->direct &= t->direct_io || !has_pages(t);
		f->depth = t->queue_depth > f->depth ? t->queue_depth : f->depth;
		f->queues &= plan_queues(t);
		f->qthreads += t->qthreads;
		if (t->time_limit_ns > f->time_limit_ns)
			f->time_limit_ns = t->time_limit_ns;
	}
	f->pace = pace_of(plan);
	f->processors = processors > 0 ? (uint64_t)processors : 0;
	f->passes_planned = plan->passes;
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
			add_bound(f, &p->targets[i]);
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

static void free_prefixes(char **prefixes, size_t n)
{
	for (size_t i = 0; prefixes && i < n; i++)
		free(prefixes[i]);
	free(prefixes);
}

/* The beginnings of the texts of findings, which name their targets. NULL: no memory. */
static char **make_prefixes(const struct plan *plan, const struct finding *findings, size_t n)
{
	char **prefixes = calloc(n + 1, sizeof(*prefixes));

	for (size_t i = 0; prefixes && i < n; i++) {
		const int64_t target = findings[i].target;

		if (target < 0 || (size_t)target >= plan->n_targets)
			continue;
		if (asprintf(&prefixes[i], "target %lld, %s: ", (long long)target,
			     plan->targets[target].path) < 0) {
			prefixes[i] = NULL;
			free_prefixes(prefixes, n);
			return NULL;
		}
	}
	return prefixes;
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
	char **prefixes = make_prefixes(p->plan, findings, n_findings);
	struct verdict v;
	int err;

	if (!prefixes)
		return -ENOMEM;
	facts.prefixes = prefixes;
	take_plan(&facts, p->plan);
	take_results(&facts, p);
	err = verdict_make(&facts, &v);
	if (!err)
		err = write_verdict(&v, screen, f);
	verdict_free(&v);
	free_prefixes(prefixes, n_findings);
	return err;
}
