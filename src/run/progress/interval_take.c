/*
 * Intervals from their progress to the results manager; see the header. Called by intervals.c.
 */
#include "run/progress/interval_take.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "run/meter/qthread_latency.h"
#include "run/meter/results.h"
#include "run/run_state.h"
#include "run/target.h"
#include "xdd/base/log.h"
#include "xdd/stat/counters.h"
#include "xdd/stat/figures.h"
#include "xdd/stat/histogram.h"

static bool is_empty(const struct latency *l)
{
	struct histogram_view v = latency_view(l, LATENCY_SERVICE, LATENCY_ALL_DIRS);

	return histogram_count(&v) == 0 && l->flushes.n == 0;
}

/*
 * Pass `r` on to the results manager; -latency drops an interval in which nothing was completed.
 * Accepts NULL.
 */
static void put(struct intervals *i, struct pass_result *r)
{
	if (!r)
		return;
	if (i->kind == INTERVALS_LATENCY && is_empty(&r->figures.latency)) {
		pass_result_free(r);
		return;
	}
	r->partial = (r->first || r->last) && r->to_ns - r->from_ns < i->length_ns;
	results_put(&i->run->results, r);
}

void interval_hold(struct intervals *i, struct pass_result **held, struct pass_result *r)
{
	put(i, *held);
	*held = r;
}

int interval_finish(struct intervals *i, struct pass_result **held, struct pass_result *r)
{
	struct pass_result *whole = *held ? *held : r;
	int err = 0;

	if (whole != r) {
		err = latency_add(&whole->figures.latency, &r->figures.latency);
		tally_add(&whole->figures.tally, &r->figures.tally);
		whole->to_ns = r->to_ns;
		pass_result_free(r);
	}
	whole->last = true;
	*held = NULL;
	put(i, whole);
	return err;
}

static struct pass_result *new_interval(struct intervals *i, uint32_t target, uint64_t pass,
					uint64_t from_ns, uint64_t to_ns)
{
	struct pass_result *r = calloc(1, sizeof(*r));
	uint64_t begin = atomic_load(&i->begin_ns);

	if (!r)
		return NULL;
	r->interval = i->kind == INTERVALS_SERIES ? RESULT_INTERVAL : RESULT_LATENCY_INTERVAL;
	r->target = target;
	r->pass = pass;
	r->from_ns = from_ns > begin ? from_ns - begin : 0;
	r->to_ns = to_ns > begin ? to_ns - begin : 0;
	if (r->to_ns < r->from_ns)
		r->to_ns = r->from_ns;
	figures_init(&r->figures);
	return r;
}

void intervals_fail(struct intervals *i, int err)
{
	if (run_stop(i->run, STOP_START, -err))
		log_error("%s: %s",
			  i->kind == INTERVALS_SERIES ? "-intervals" : "-latency intervals",
			  strerror(-err));
}

/* The first interval of a pass begins with its first measured operation, at clock `first_ns`. */
static void begin_measured(const struct intervals *i, struct pass_result *r, uint64_t first_ns)
{
	uint64_t begin = atomic_load(&i->begin_ns);

	if (first_ns == UINT64_MAX || first_ns < begin || first_ns - begin > r->to_ns)
		return;
	if (first_ns - begin > r->from_ns)
		r->from_ns = first_ns - begin;
}

/* Add the progress of a target to that of all. Returns 0 or -ENOMEM. */
static int add_to_sum(struct intervals *i, const struct figures *progress)
{
	int err;

	if (!i->several)
		return 0;
	pthread_mutex_lock(&i->sum.lock);
	tally_add(&i->sum.figures.tally, &progress->tally);
	err = latency_add(&i->sum.figures.latency, &progress->latency);
	pthread_mutex_unlock(&i->sum.lock);
	return err;
}

struct pass_result *interval_take(struct intervals *i, struct target *t, struct figures *now,
				  uint64_t now_ns)
{
	struct interval_series *s = &i->series[t->plan->number];
	struct pass_result *r =
		new_interval(i, t->plan->number, atomic_load(&t->pass), s->from_ns, now_ns);
	int err = r ? latency_add(&r->figures.latency, &now->latency) : -ENOMEM;

	if (err) {
		figures_free(now);
		pass_result_free(r);
		intervals_fail(i, err);
		return NULL;
	}
	r->first = s->first;
	s->first = false;
	if (r->first && plan_warms_up(t->plan))
		begin_measured(i, r, now->tally.first_issue_ns);
	tally_add(&r->figures.tally, &now->tally);
	tally_subtract(&r->figures.tally, &s->last.tally);
	latency_subtract(&r->figures.latency, &s->last.latency);
	figures_free(&s->last);
	s->last = *now;
	s->from_ns = now_ns;
	err = add_to_sum(i, &r->figures);
	if (err)
		intervals_fail(i, err);
	return r;
}

struct pass_result *interval_take_now(struct intervals *i, struct target *t, uint64_t now_ns)
{
	struct figures now;
	int err = target_progress_copy(&now, t);

	/* Intervals of the warm-up have no rows. */
	if (!err && plan_warms_up(t->plan) && now.tally.first_issue_ns == UINT64_MAX) {
		figures_free(&now);
		i->series[t->plan->number].from_ns = now_ns;
		return NULL;
	}
	if (!err)
		return interval_take(i, t, &now, now_ns);
	figures_free(&now);
	intervals_fail(i, err);
	return NULL;
}

static bool any_warms_up(const struct plan *plan)
{
	bool any = false;

	for (size_t i = 0; i < plan->n_targets; i++)
		any |= plan_warms_up(&plan->targets[i]);
	return any;
}

struct pass_result *interval_take_sum(struct intervals *i, uint64_t now_ns, uint64_t pass)
{
	const struct plan *plan = i->run->plan;
	struct interval_sum *sum = &i->sum;
	struct pass_result *r;

	/* No target measures yet, or all were still warming up when the pass ended. */
	if (sum->first && any_warms_up(plan) && !tally_bytes(&sum->figures.tally) &&
	    !tally_ops(&sum->figures.tally)) {
		sum->from_ns = now_ns;
		return NULL;
	}
	r = new_interval(i, (uint32_t)plan->n_targets, plan->no_barrier ? 0 : pass, sum->from_ns,
			 now_ns);
	if (!r) {
		intervals_fail(i, -ENOMEM);
		return NULL;
	}
	r->first = sum->first;
	sum->first = false;
	if (r->first && any_warms_up(plan))
		begin_measured(i, r, sum->figures.tally.first_issue_ns);
	r->figures = sum->figures;
	figures_init(&sum->figures);
	sum->from_ns = now_ns;
	return r;
}
