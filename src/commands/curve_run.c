/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The stages of a curve: maximum, loads, the loads next to the knee, the search for the goal. Each
 * follows from the rounds before it alone, so that a curve that is resumed makes the same ones.
 * Called by sweep_run().
 */
#include <math.h>
#include <string.h>

#include "commands/sweep.h"
#include "xdd/base/log.h"
#include "xdd/base/memory.h"
#include "xdd/base/units.h"
#include "xdd/plan/engine_info.h"
#include "xdd/plan/plan.h"

/*
 * The lateness of xdd itself in a curve: response times at the same loads where nothing is
 * transferred. What is left then is how late operations are issued: the processor sleeps at a low
 * load and wakes late, or others use it.
 */

#define SHARE 4 /* of the time of a round */
#define MOST_NS (NS_PER_SEC / 2)

/* Warnings are about the load, and its own runs have had them. */
static void take_message(void *arg, const char *text, size_t size)
{
	static const char warning[] = "xdd: warning: ";

	(void)arg;
	if (size < sizeof(warning) - 1 || memcmp(text, warning, sizeof(warning) - 1) != 0)
		log_undiverted(text, size);
}

static void drop(void *arg, const char *text, size_t size)
{
	(void)arg;
	(void)text;
	(void)size;
}

/* The plan of a load with the null engine; NULL: there is none that can be run. */
static struct plan *null_plan(struct sweep *s, size_t point, const char *seconds)
{
	const char *words[] = { "-timelimit", seconds, "-ioengine", "null", NULL, NULL, NULL };
	struct plan *plan = NULL;
	bool queues;

	if (sweep_plan(s, point, &plan))
		return NULL;
	/* One thread issues all operations of such an engine. */
	queues = plan->n_targets == 1 && plan_queues(&plan->targets[0]);
	plan_free(plan);
	plan = NULL;
	if (queues) {
		words[4] = "-queuedepth";
		words[5] = "1";
	}
	return sweep_plan_with(s, point, words, &plan) ? NULL : plan;
}

static void curve_lateness_measure(struct sweep *s, struct curve_load *load, const char *seconds)
{
	struct sweep_round round = { .point = load->point, .round = 1 };
	struct plan *plan;

	/* Some data options refuse an engine without data. */
	log_divert(drop, NULL);
	plan = null_plan(s, load->point, seconds);
	log_divert(take_message, NULL);
	if (plan && !sweep_run_plan(s, plan, "lateness of xdd itself", &round))
		load->lateness = round;
	log_divert(NULL, NULL);
	if (!s->runner.stuck)
		plan_free(plan);
}

/* Measure it for each load up to the maximum. False: the curve ends here, with `s->status`. */
static bool curve_measure_lateness(struct sweep *s)
{
	struct curve *c = &s->curve->results;
	const uint64_t part = s->line.round_ns / SHARE, ns = part < MOST_NS ? part : MOST_NS;
	const char *seconds = xarena_printf(s->arena, "%ju.%09ju", (uintmax_t)(ns / NS_PER_SEC),
					    (uintmax_t)(ns % NS_PER_SEC));

	for (size_t i = 0; i < c->n_loads; i++) {
		if (c->loads[i].share > 1)
			continue;
		curve_lateness_measure(s, &c->loads[i], seconds);
		if (runner_is_canceled(&s->runner)) {
			s->status = XDD_CANCELED;
			return false;
		}
		if (s->runner.stuck)
			return false;
	}
	return true;
}

#define GAIN 1.05   /* a depth that brings less than this is no gain, */
#define NO_GAINS 2  /* and after so many in turn the search ends */
#define ENOUGH 0.97 /* of the best rate: the least depth that has it is taken */
#define MORE 2	    /* the maximum may take so many times its rounds more until it is steady */
#define REFINE 0.04 /* distance of loads, as a share of the knee, that is fine enough */

const char *curve_percent(double share, char *buf)
{
	snprintf(buf, CURVE_NUMBER, "%.5g %%", 100 * share);
	return buf;
}

void curve_set_words(struct curve_command *c, size_t point, uint64_t depth, const char *rate)
{
	struct curve_words *w = &c->words[point];
	size_t n = 0;

	if (depth) {
		snprintf(w->depth, sizeof(w->depth), "%ju", (uintmax_t)depth);
		w->words[n++] = "-queuedepth";
		w->words[n++] = w->depth;
	}
	if (rate) {
		snprintf(w->rate, sizeof(w->rate), "%s", rate);
		w->words[n++] = "-throttle";
		w->words[n++] = "ops";
		w->words[n++] = w->rate;
		w->words[n++] = "poisson";
	}
	c->values[point].n_words = n;
}

/* ---- the maximum ---- */

static double rate_of(const struct sweep *s, size_t point)
{
	const double rate = sweep_mean(&s->results, &s->results.points[point], FIGURE_IOPS).mean;

	return isnan(rate) ? 0 : rate;
}

/* Try depths until they bring nothing. `*point`: the closed loop of the maximum. */
static bool search_depth(struct sweep *s, size_t *point)
{
	struct curve *r = &s->curve->results;
	double best = 0;
	size_t tried = 0;

	for (size_t without = 0; tried < r->n_depths && without < NO_GAINS; tried++) {
		double rate;

		s->results.points[tried].unused = false;
		if (!sweep_rounds(s))
			return false;
		rate = rate_of(s, tried);
		without = rate < best * GAIN ? without + 1 : 0;
		best = rate > best ? rate : best;
	}
	for (*point = 0; *point + 1 < tried && rate_of(s, *point) < best * ENOUGH;)
		++*point;
	if (r->n_depths > 1)
		r->depth = 1ull << *point;
	return true;
}

/* Let a point have one round more than it has, also where the journal brought some of those. */
static void one_more(const struct sweep *s, struct sweep_point *p)
{
	const uint64_t least = s->results.least;

	p->extra = p->n > least + p->extra ? p->n - least + 1 : p->extra + 1;
}

/* Repeat the closed loop until it is steady. */
static bool find_maximum(struct sweep *s)
{
	struct curve *r = &s->curve->results;
	struct sweep_point *p;
	size_t point = 0;

	if (!search_depth(s, &point))
		return false;
	p = &s->results.points[point];
	while (!sweep_steady(p).after && !p->status &&
	       p->extra < MORE * s->results.least + STATS_STEADY_WINDOW) {
		const size_t n = p->n;

		one_more(s, p);
		if (!sweep_rounds(s))
			return false;
		if (p->n == n)
			break;
	}
	if (p->status || !curve_find_maximum(r, &s->results, point)) {
		log_error("curve: the maximum is not known: a run of the closed loop ended with "
			  "status %d",
			  p->status);
		if (!s->status)
			s->status = XDD_IO_ERROR;
	} else if (!r->steady_after) {
		log_warning("curve: the maximum is not steady after %zu rounds; shares of it are "
			    "as uncertain",
			    p->n);
	}
	return true;
}

/* ---- loads ---- */

/* Give a load its words. */
static void curve_run_use(struct sweep *s, const struct curve_load *load)
{
	struct curve_command *c = s->curve;
	char rate[CURVE_NUMBER];

	snprintf(rate, sizeof(rate), "%.9g", load->share * c->results.maximum);
	curve_set_words(c, load->point, c->results.depth, rate);
	curve_percent(load->share, c->words[load->point].text);
	s->results.points[load->point].unused = false;
}

/* Add a load that the command line does not have. */
static void curve_run_add(struct sweep *s, double share, bool probe)
{
	struct curve_command *c = s->curve;
	const struct curve_load load = { .share = share, .point = c->n_used, .probe = probe };

	if (c->n_used < s->vary.n_points && curve_add_load(&c->results, &load)) {
		c->n_used++;
		curve_run_use(s, &load);
	}
}

/* Load `i` or its neighbor `k` may not be there. */
static void add_between(struct sweep *s, size_t i, size_t k)
{
	const struct curve *r = &s->curve->results;
	double a, b;

	if (k >= r->n_loads)
		return;
	a = r->loads[i].share;
	b = r->loads[k].share;
	if (fabs(b - a) > REFINE * a && b < 1)
		curve_run_add(s, (a + b) / 2, false);
}

static bool refine_knee(struct sweep *s)
{
	const struct curve *r = &s->curve->results;
	const size_t i = curve_turn(r, &s->results);

	if (i == SIZE_MAX)
		return true;
	/* The one above first: it does not move the other. */
	add_between(s, i, i + 1);
	if (i)
		add_between(s, i, i - 1);
	return sweep_rounds(s);
}

/* Rounds of a load next to the limit, until it is clear on which side it is. */
static bool make_sure(struct sweep *s, const struct curve_load *load)
{
	struct sweep_point *p = &s->results.points[load->point];
	const uint64_t most = (1 + MORE) * s->results.least;

	for (bool sure = false; p->n < most;) {
		const size_t n = p->n;

		curve_goal_holds(&s->curve->results, &s->results, load, &sure);
		if (sure)
			return true;
		one_more(s, p);
		if (!sweep_rounds(s))
			return false;
		if (p->n == n)
			return true;
	}
	return true;
}

/*
 * Find the loads on both sides of the limit, and be sure of them: a single round that something
 * disturbs can make a load fail, and all above it would go unseen. True in `*more`: `*share` is the
 * load to try next.
 */
static bool find_sides(struct sweep *s, double *share, bool *more)
{
	struct curve *r = &s->curve->results;
	bool again = true;

	while (again) {
		const struct curve_load *sides[2];

		*more = curve_goal_next(r, &s->results, share);
		sides[0] = curve_goal_side(r, true);
		sides[1] = curve_goal_side(r, false);
		again = false;
		for (size_t i = 0; i < 2; i++) {
			const struct sweep_point *p =
				sides[i] ? &s->results.points[sides[i]->point] : NULL;
			const size_t n = p ? p->n : 0;

			if (p && !make_sure(s, sides[i]))
				return false;
			again = again || (p && p->n != n);
		}
	}
	return true;
}

static bool search_goal(struct sweep *s)
{
	double share;
	bool more;

	while (find_sides(s, &share, &more)) {
		const size_t used = s->curve->n_used;

		if (more)
			curve_run_add(s, share, true);
		if (s->curve->n_used == used)
			return true;
		if (!sweep_rounds(s))
			return false;
	}
	return false;
}

static bool run_stages(struct sweep *s)
{
	struct curve *r = &s->curve->results;

	if (!find_maximum(s))
		return false;
	if (!(r->maximum > 0))
		return true;
	for (size_t i = 0; i < r->n_loads; i++)
		curve_run_use(s, &r->loads[i]);
	if (!sweep_rounds(s) || !curve_measure_lateness(s) || !refine_knee(s))
		return false;
	r->knee = curve_knee(r, &s->results);
	return r->goal.limit_ns > 0 ? search_goal(s) : true;
}

/* Leave out loads without a round. */
static void drop_unused(struct sweep *s)
{
	struct curve *r = &s->curve->results;
	size_t n = 0;

	for (size_t i = 0; i < r->n_loads; i++) {
		struct sweep_point *p = &s->results.points[r->loads[i].point];

		if (!p->unused && p->n)
			r->loads[n++] = r->loads[i];
	}
	r->n_loads = n;
}

bool curve_run(struct sweep *s)
{
	struct curve *r = &s->curve->results;
	bool complete;
	double share;

	for (size_t i = 0; i < s->vary.n_points; i++)
		s->results.points[i].unused = true;
	complete = run_stages(s);
	drop_unused(s);
	/* An interrupted curve shows the knee of its rounds so far. */
	if (!complete && r->maximum > 0)
		r->knee = curve_knee(r, &s->results);
	if (r->goal.limit_ns > 0 && r->maximum > 0)
		curve_goal_next(r, &s->results, &share);
	return complete;
}
