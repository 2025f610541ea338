/*
 * The results for people: what is kept of the results until the run is over, and the parts of the
 * block. Called by report.c, facts.c and the writers.
 */
#include "report/person.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/screen.h"
#include "xdd/base/units.h"

struct person *person_new(const struct plan *plan)
{
	struct person *p = calloc(1, sizeof(*p) + plan->n_targets * sizeof(p->targets[0]));

	if (!p)
		return NULL;
	p->plan = plan;
	p->n = plan->n_targets;
	p->copy.complete = true;
	return p;
}

static void take_latency(struct person_figures *to, const struct figures *f, unsigned dir)
{
	for (enum latency_time time = 0; time < LATENCY_TIMES; time++) {
		struct histogram_view v = latency_view(&f->latency, time, dir);

		if (!(f->known & FIGURES_PERCENTILES) || !histogram_count(&v))
			continue;
		to->latency[time] = (struct person_latency){
			.known = true,
			.p50 = histogram_known_percentile(&v, 50 * HISTOGRAM_PERCENT),
			.p99 = histogram_known_percentile(&v, 99 * HISTOGRAM_PERCENT),
			.max = histogram_max(&v),
		};
	}
}

static void take_sum(struct person_sum *s, const struct result *r)
{
	const struct figures *f = &r->figures;
	const double seconds = (double)f->elapsed_ns / (double)NS_PER_SEC;

	*s = (struct person_sum){
		.any = true,
		.partial = r->partial,
		.verified = r->verified,
		.passes = r->pass,
		.elapsed_ns = f->elapsed_ns,
		.errors = f->tally.errors,
		.miscompares = f->tally.miscompares,
		.outstanding = f->tally.outstanding,
		.warmup_ops = f->tally.warmup_ops,
		.flush_ns = f->tally.flush_ns,
		.bound = r->bound,
		.times = r->times,
	};
	for (unsigned dir = 0; dir < DIR_COUNT; dir++) {
		s->dirs[dir].n = f->tally.ops[dir];
		s->dirs[dir].bytes = (double)f->tally.bytes[dir] / seconds;
		s->dirs[dir].ops = (double)f->tally.ops[dir] / seconds;
		take_latency(&s->dirs[dir], f, dir);
	}
	s->all.n = tally_ops(&f->tally);
	s->all.bytes = (double)tally_bytes(&f->tally) / seconds;
	s->all.ops = (double)tally_ops(&f->tally) / seconds;
	take_latency(&s->all, f, LATENCY_ALL_DIRS);
	s->flushes.n = f->tally.flushes;
	s->flushes.ops = (double)f->tally.flushes / seconds;
	take_latency(&s->flushes, f, LATENCY_FLUSHES);
}

void person_result(struct person *p, const struct result *result)
{
	if (result->what == RESULT_TARGET_AVERAGE && result->target < p->n)
		take_sum(&p->targets[result->target], result);
	else if (result->what == RESULT_COMBINED)
		take_sum(&p->all, result);
}

void person_statistics(struct person *p, const struct pass_statistics *statistics)
{
	const struct stats_summary *s = &statistics->summary[FIGURE_BANDWIDTH];

	/* Without a barrier there are no passes of all targets together. */
	if (!statistics->n || (!statistics->combined && p->n > 1))
		return;
	p->passes.n = statistics->n;
	p->passes.mean = s->mean;
	p->passes.half_width = s->half_width;
	p->passes.until_percent =
		s->mean > 0 ? 100 / s->mean *
				      stats_until_half_width(statistics->values[FIGURE_BANDWIDTH],
							     statistics->n) :
			      INFINITY;
	if (statistics->n < 3 || !statistics_why(statistics, p->passes.why))
		p->passes.why[0] = '\0';
}

void person_endtoend(struct person *p, const struct endtoend_result *e)
{
	const struct endtoend_side *own = e->role == E2E_SOURCE ? &e->source : &e->destination;

	p->copy.any = true;
	p->copy.source = e->role == E2E_SOURCE;
	p->copy.complete = p->copy.complete && e->complete;
	p->copy.ops += own->ops;
	p->copy.verdict = endtoend_verdict(e);
	snprintf(p->copy.digest, sizeof(p->copy.digest), "%s", own->digest);
}

int person_write(const struct person *p, const struct finding *findings, size_t n_findings,
		 enum report_end end, const struct screen *screen, FILE *f)
{
	int err;

	/* Messages have said why nothing ran. */
	if (!p->all.any && end == REPORT_END_ERRORS && !n_findings)
		return 0;
	err = person_words(p, screen, f);
	if (!err && p->all.any) {
		fputc('\n', f);
		err = person_table(p, screen, f);
	}
	if (!err)
		err = person_verdict(p, findings, n_findings, end, screen, f);
	return err;
}
