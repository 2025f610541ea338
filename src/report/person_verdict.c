/*
 * The facts that the verdict needs, from the plan and from what was kept of the results; and its
 * lines on the screen. Called by person.c.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "report/person.h"
#include "report/screen.h"
#include "report/verdict.h"
#include "xdd/base/text.h"
#include "xdd/plan/engine_info.h"

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
