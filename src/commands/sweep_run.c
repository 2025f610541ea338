/*
 * The runs of a sweep: rounds over all points, in an order of its own each. Called by sweep.c.
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "commands/sweep.h"
#include "xdd/base/log.h"
#include "xdd/base/random.h"
#include "xdd/plan/plan.h"
#include "xdd/sys/clock.h"

#define TITLE_SIZE 256

/* ---- the order and the number of rounds ---- */

void sweep_shuffle(uint64_t seed, uint64_t round, size_t *order, size_t n)
{
	const struct random_key key = { .seed = seed,
					.pass = (uint32_t)round,
					.stream = RANDOM_STREAM_REORDER };
	const struct random_sequence sequence = random_sequence(&key);

	for (size_t i = 0; i < n; i++)
		order[i] = i;
	/* Fisher and Yates. */
	for (size_t i = n; i > 1; i--) {
		const size_t k = (size_t)random_below(&sequence, i, i);
		const size_t other = order[k];

		order[k] = order[i - 1];
		order[i - 1] = other;
	}
}

bool sweep_wants(const struct sweep_results *r, const struct sweep_point *p)
{
	const uint64_t least = r->least + p->extra, most = r->most + p->extra;
	struct sweep_mean m;

	if (p->unused)
		return false;
	/* A point that could not be run does not get better. */
	if (p->n && p->status && p->status != XDD_IO_ERROR && p->status != XDD_MISCOMPARE)
		return false;
	if (p->n < least)
		return true;
	if (p->n >= most)
		return false;
	/* Half a round less is as near to the time as half a round more. */
	if (r->each_ns && p->elapsed_ns + p->elapsed_ns / p->n / 2 >= r->each_ns)
		return false;
	if (!(r->until_percent > 0))
		return r->each_ns;
	m = sweep_mean(r, p, FIGURE_BANDWIDTH);
	return m.n < least || m.percent > r->until_percent;
}

/* ---- one run ---- */

/* The results of a run on their way into its round. */
struct taken {
	struct sweep_round *round;
	const struct column_list *columns;
	bool bound_known;
};

static void take_responses(struct sweep_round *round, const struct latency *latency)
{
	const struct histogram_view v = latency_view(latency, LATENCY_RESPONSE, LATENCY_ALL_DIRS);

	round->responded = histogram_count(&v);
	for (int i = SWEEP_RESPONSE_MEAN; i < SWEEP_RESPONSE_MAX; i++)
		round->responses[i] =
			figure_of_latency(latency, (enum pass_figure)(FIGURE_RESPONSE + i));
	round->responses[SWEEP_RESPONSE_MAX] = (double)histogram_max(&v);
}

static void take_columns(struct sweep_round *round, const struct column_list *list,
			 const struct result *result)
{
	round->n_columns = list->n;
	for (size_t i = 0; i < list->n; i++) {
		const struct column *col = list->columns[i];
		struct column_value v;

		column_value(col, result, &v);
		round->columns[i] = v.unknown		      ? NAN :
				    col->type == COLUMN_COUNT ? (double)v.count :
								v.real;
	}
}

static void take_result(void *arg, const struct result *result)
{
	struct taken *t = arg;
	struct sweep_round *round = t->round;
	const struct figures *f = &result->figures;

	if (result->what == RESULT_TARGET_AVERAGE) {
		if (t->bound_known && round->bound != result->bound)
			round->bound = RESULT_BOUND_MIXED;
		else
			round->bound = result->bound;
		t->bound_known = true;
	}
	if (result->what != RESULT_COMBINED)
		return;
	if (f->known & FIGURES_LATENCY)
		take_responses(round, &f->latency);
	take_columns(round, t->columns, result);
	round->ops = tally_ops(&f->tally);
	round->bytes = tally_bytes(&f->tally);
	round->errors = f->tally.errors;
	round->miscompares = f->tally.miscompares;
	round->elapsed_ns = f->elapsed_ns;
	if (f->known & FIGURES_LATENCY) {
		const struct histogram_view v =
			latency_view(&f->latency, LATENCY_SERVICE, LATENCY_ALL_DIRS);

		round->max_ns = histogram_count(&v) ? histogram_max(&v) : 0;
	}
}

static void take_statistics(void *arg, const struct pass_statistics *s)
{
	struct taken *t = arg;

	if (!s->combined || !s->n)
		return;
	t->round->known = true;
	for (enum pass_figure i = 0; i < FIGURE_COUNT; i++)
		t->round->values[i] = statistics_has(s, i) ? s->summary[i].mean : NAN;
}

static void take_finding(void *arg, const struct finding *finding)
{
	struct taken *t = arg;

	t->round->findings |= 1u << finding->kind;
}

/* Arrivals and offsets of a round are those of its seed, so that rounds are independent. */
static void set_seed(struct sweep *s, uint64_t round)
{
	snprintf(s->seed, sizeof(s->seed), "%" PRIu64, sweep_round_seed(&s->results, round));
	s->round_words[0] = "-seek";
	s->round_words[1] = "seed";
	s->round_words[2] = s->seed;
}

enum xdd_status sweep_run_plan(struct sweep *s, const struct plan *plan, const char *title,
			       struct sweep_round *round)
{
	struct taken taken = { .round = round, .columns = &s->results.columns };
	struct report_sink sink = {
		.arg = &taken,
		.needs = FIGURES_LATENCY | FIGURES_CPU | FIGURES_WAIT | FIGURES_PASSES |
			 FIGURES_PERCENTILES,
		.title = title,
		.result = take_result,
		.statistics = take_statistics,
		.finding = take_finding,
	};

	for (size_t i = 0; i < s->results.columns.n; i++)
		sink.needs |= s->results.columns.columns[i]->needs;
	return runner_run(&s->runner, plan, &sink);
}

static enum xdd_status run_point(struct sweep *s, struct sweep_round *round)
{
	char title[TITLE_SIZE];
	struct plan *plan;
	enum xdd_status status;

	sweep_title(s, round, title, sizeof(title));
	log_transient(title);
	if (s->kind->seeds)
		set_seed(s, round->round);
	round->start_ns = clock_wall_ns();
	status = sweep_plan(s, (size_t)round->point, &plan);
	if (!status)
		status = sweep_restore(s, plan);
	if (!status && !runner_is_canceled(&s->runner)) {
		round->start_ns = clock_wall_ns();
		status = sweep_run_plan(s, plan, title, round);
	}
	if (!s->runner.stuck)
		plan_free(plan);
	round->status = (int)status;
	s->runs++;
	return status;
}

/* Run and keep a round. False: the sweep ends here, with `s->status`. */
static bool do_round(struct sweep *s, size_t point, uint64_t number)
{
	struct sweep_round round = { .point = point, .round = number };
	enum xdd_status status = run_point(s, &round);

	if (runner_is_canceled(&s->runner) || status == XDD_CANCELED) {
		s->status = XDD_CANCELED;
		return false;
	}
	if (status && !s->status) {
		char label[TITLE_SIZE];

		log_error("%s: point %zu (%s) ended with status %d", s->kind->name, point + 1,
			  sweep_label(&s->vary, point, label, sizeof(label)), (int)status);
	}
	if (status > s->status)
		s->status = status;
	if (sweep_results_add(&s->results, &round)) {
		log_error("%s", strerror(ENOMEM));
		s->status = XDD_INIT_FAILED;
		return false;
	}
	if (!sweep_journal_add(s, &round)) {
		s->status = XDD_IO_ERROR;
		return false;
	}
	if (s->terminal)
		s->kind->round(s, &round);
	return !s->runner.stuck;
}

bool sweep_has_round(const struct sweep_point *p, uint64_t number)
{
	for (size_t i = p->n; i-- > 0;) {
		if (p->rounds[i].round == number)
			return true;
	}
	return false;
}

/* True if the rounds of a point go on: it could be run, and has had the one before. */
static bool may_follow(const struct sweep_point *p, uint64_t number)
{
	return p->n + 1 >= number && !p->unused &&
	       (!p->n || !p->status || p->status == XDD_IO_ERROR || p->status == XDD_MISCOMPARE);
}

/*
 * With SWEEP_ORDER_KEEP a round has all points or none: one that is left out would not restore the
 * file that another reads.
 */
static bool any_wants(const struct sweep *s, uint64_t number)
{
	for (size_t i = 0; i < s->vary.n_points; i++) {
		const struct sweep_point *p = &s->results.points[i];

		if (sweep_has_round(p, number) ||
		    (may_follow(p, number) && sweep_wants(&s->results, p)))
			return true;
	}
	return false;
}

static void order_round(const struct sweep *s, uint64_t number, size_t *order)
{
	if (number > s->in_order_until) {
		sweep_shuffle(s->results.seed, number, order, s->vary.n_points);
		return;
	}
	for (size_t i = 0; i < s->vary.n_points; i++)
		order[i] = i;
}

/* `*wanted`: points got a round, or have had it. */
static bool run_round(struct sweep *s, uint64_t number, size_t *order, bool *wanted)
{
	const bool any = s->order == SWEEP_ORDER_KEEP && any_wants(s, number);

	order_round(s, number, order);
	*wanted = false;
	for (size_t i = 0; i < s->vary.n_points; i++) {
		const struct sweep_point *p = &s->results.points[order[i]];

		if (sweep_has_round(p, number)) {
			*wanted = true;
			continue;
		}
		if (!may_follow(p, number) || (!any && !sweep_wants(&s->results, p)))
			continue;
		*wanted = true;
		if (!do_round(s, order[i], number))
			return false;
	}
	return true;
}

bool sweep_rounds(struct sweep *s)
{
	size_t *order = calloc(s->vary.n_points, sizeof(*order));
	bool wanted = true, goes = order;

	if (!order) {
		log_error("%s", strerror(ENOMEM));
		s->status = XDD_INIT_FAILED;
	}
	for (uint64_t round = 1; goes && wanted; round++)
		goes = run_round(s, round, order, &wanted);
	free(order);
	return goes;
}

enum xdd_status sweep_run(struct sweep *s)
{
	for (size_t i = 0; i < s->vary.n_points; i++) {
		const int status = s->results.points[i].status;

		if (status > (int)s->status)
			s->status = (enum xdd_status)status;
	}
	s->begun_ns = clock_now_ns();
	s->results.partial = !s->kind->run(s);
	log_transient(NULL);
	return s->status;
}
