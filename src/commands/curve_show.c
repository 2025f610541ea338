/*
 * Standard output of a curve: the rounds as they end, on a terminal, the table of all loads, and
 * what follows from it in words. Called by sweep.c and sweep_run.c.
 */
#include <inttypes.h>
#include <math.h>

#include "commands/curve.h"

#define NUMBER 32

static const char *const goal_names[SWEEP_RESPONSES] = {
	[SWEEP_RESPONSE_MEAN] = "mean",
	[SWEEP_RESPONSE_P50] = "p50",
	[SWEEP_RESPONSE_P99] = "p99",
	[SWEEP_RESPONSE_P999] = "p99.9",
};

static void put_header(const char *last)
{
	printf("%15s  %11s  %11s  %10s  %10s  %10s  %10s  %10s  %s\n", "load", "offered/s",
	       "reached/s", "response", "p50", "p99", "p99.9", "service", last);
}

void curve_show_head(const struct sweep *s)
{
	const struct curve *c = &s->curve->results;

	if (s->quiet)
		return;
	printf("the maximum, then %zu loads, %" PRIu64 " rounds each, order and arrivals by "
	       "-orderseed %" PRIu64 "\n",
	       c->n_loads, s->results.least, s->results.seed);
	if (s->terminal)
		put_header("round");
	fflush(stdout);
}

/* The cells from the rate that was reached to the service time. */
static void put_cells(double reached, const double *responses, double service)
{
	char text[NUMBER];

	printf("%11s", sweep_rate_text(reached, text, sizeof(text)));
	for (int i = 0; i <= SWEEP_RESPONSE_P999; i++)
		printf("  %10s", sweep_time_text(responses[i], text, sizeof(text)));
	printf("  %10s  ", sweep_time_text(service, text, sizeof(text)));
}

void curve_show_round(const struct sweep *s, const struct sweep_round *r)
{
	const struct curve *c = &s->curve->results;
	double responses[SWEEP_RESPONSES], offered = NAN;
	char text[NUMBER];

	for (size_t i = 0; i < c->n_loads; i++) {
		if (c->loads[i].point == r->point)
			offered = c->loads[i].share * c->maximum;
	}
	for (int i = 0; i < SWEEP_RESPONSES; i++)
		responses[i] = r->responded ? r->responses[i] : NAN;
	printf("%15s  %11s  ", s->curve->words[r->point].text,
	       sweep_rate_text(offered, text, sizeof(text)));
	put_cells(r->known ? r->values[FIGURE_IOPS] : NAN, responses,
		  r->known ? r->values[FIGURE_LATENCY] : NAN);
	printf("%5" PRIu64 "\n", r->round);
	fflush(stdout);
}

static void put_maximum(const struct sweep *s)
{
	const struct curve *c = &s->curve->results;
	char rate[NUMBER], percent[NUMBER];

	if (!(c->maximum > 0))
		return;
	printf("maximum: %s operations/s (+-%s)", sweep_rate_text(c->maximum, rate, sizeof(rate)),
	       sweep_percent_text(c->percent, percent, sizeof(percent)));
	if (c->depth)
		printf(", at -queuedepth %" PRIu64, c->depth);
	if (c->steady_after)
		printf(", steady after round %" PRIu64 "\n", c->steady_after);
	else
		puts(", not steady");
}

static void put_load(const struct sweep *s, const struct curve_load *load)
{
	const struct sweep_point *p = &s->results.points[load->point];
	const struct curve_figures f = curve_figures(&s->curve->results, &s->results, load);
	double responses[SWEEP_RESPONSES];
	char text[NUMBER];

	for (int i = 0; i < SWEEP_RESPONSES; i++)
		responses[i] = sweep_response_mean(p, (enum sweep_response)i).mean;
	printf("%15s  %11s  ", s->curve->words[load->point].text,
	       sweep_rate_text(f.offered, text, sizeof(text)));
	put_cells(f.reached, responses, f.service_ns);
	printf("%7s  %6zu  ", sweep_rate_text(f.queue, text, sizeof(text)), p->n);
	if (f.overloaded)
		fputs("overloaded", stdout);
	else if (f.drift.drifts)
		printf("drifts %+.0f %%", 100 * f.drift.amount);
	else
		fputs(f.drift.known ? "yes" : "-", stdout);
	if (f.disturbed_by)
		fputs(", disturbed", stdout);
	if (p->status)
		printf(", status %d", p->status);
	putchar('\n');
}

static double response_of(const struct sweep *s, const struct curve_load *load)
{
	return sweep_response_mean(&s->results.points[load->point], SWEEP_RESPONSE_MEAN).mean;
}

#define LATE_SHARE 0.05 /* of the mean response time, from which it is worth a word */

/* How late xdd itself is, and where that is much of a response time. */
static void put_lateness(const struct sweep *s)
{
	const struct curve *c = &s->curve->results;
	const struct curve_load *worst = NULL;
	char mean[NUMBER], p99[NUMBER], share[CURVE_NUMBER];
	size_t n = 0;

	for (size_t i = 0; i < c->n_loads; i++) {
		const struct curve_load *load = &c->loads[i];
		const double late = load->lateness[SWEEP_RESPONSE_MEAN];

		if (!load->lateness_known)
			continue;
		if (!worst || late > worst->lateness[SWEEP_RESPONSE_MEAN])
			worst = load;
		n += late > LATE_SHARE * response_of(s, load);
	}
	if (!worst)
		return;
	printf("Lateness of xdd itself, where nothing is transferred: up to %s in the mean",
	       sweep_time_text(worst->lateness[SWEEP_RESPONSE_MEAN], mean, sizeof(mean)));
	if (!isnan(worst->lateness[SWEEP_RESPONSE_P99]))
		printf(" and %s for p99",
		       sweep_time_text(worst->lateness[SWEEP_RESPONSE_P99], p99, sizeof(p99)));
	printf(", at %s", curve_percent(worst->share, share));
	if (n)
		printf("; more than 5 %% of the response time at %zu load%s.\n", n,
		       n == 1 ? "" : "s");
	else
		puts("; less than 5 % of the response times.");
}

static void put_knee(const struct curve *c)
{
	char share[CURVE_NUMBER], low[CURVE_NUMBER], high[CURVE_NUMBER], rate[NUMBER];

	if (!c->knee.known) {
		if (c->knee.none_to > 0)
			printf("Knee: none up to %s of the maximum: throughput divided by mean "
			       "response time does not fall by more than its error.\n",
			       curve_percent(c->knee.none_to, share));
		else if (c->knee.why)
			printf("Knee: %s.\n", c->knee.why);
		return;
	}
	/* Three digits say as much as there is to know. */
	snprintf(share, sizeof(share), "%.3g %%", 100 * c->knee.share);
	snprintf(low, sizeof(low), "%.3g %%", 100 * c->knee.low);
	snprintf(high, sizeof(high), "%.3g %%", 100 * c->knee.high);
	printf("Knee: at %s of the maximum, %s operations/s, throughput divided by mean response "
	       "time is greatest",
	       share, sweep_rate_text(c->knee.share * c->maximum, rate, sizeof(rate)));
	if (isnan(c->knee.low))
		puts("; there are too few rounds for an interval.");
	else
		printf(" (95 %%: %s to %s).\n", low, high);
}

/* Response times that no queue has: the load whose mean is furthest above one of a greater load. */
static void put_disturbed(const struct sweep *s)
{
	const struct curve *c = &s->curve->results;
	const struct curve_load *worst = NULL, *lower = NULL;
	char high[NUMBER], low[NUMBER], at[CURVE_NUMBER], then[CURVE_NUMBER];
	double most = 0;

	for (size_t i = 0; i < c->n_loads; i++) {
		const struct curve_load *other =
			curve_figures(c, &s->results, &c->loads[i]).disturbed_by;
		const double fall = other ? response_of(s, &c->loads[i]) / response_of(s, other) :
					    0;

		if (fall > most) {
			most = fall;
			worst = &c->loads[i];
			lower = other;
		}
	}
	if (!worst)
		return;
	printf("Disturbed: the mean response time falls from %s at %s to %s at %s: something else "
	       "was active, or the target is slow to wake at low loads; repeat the curve.\n",
	       sweep_time_text(response_of(s, worst), high, sizeof(high)),
	       curve_percent(worst->share, at),
	       sweep_time_text(response_of(s, lower), low, sizeof(low)),
	       curve_percent(lower->share, then));
}

static void put_goal(const struct curve *c)
{
	const struct curve_goal *g = &c->goal;
	char limit[NUMBER], holds[CURVE_NUMBER], fails[CURVE_NUMBER], rate[NUMBER];

	if (!(g->limit_ns > 0) || !c->n_loads)
		return;
	sweep_time_text(g->limit_ns, limit, sizeof(limit));
	curve_percent(g->holds, holds);
	curve_percent(g->fails, fails);
	sweep_rate_text(g->holds * c->maximum, rate, sizeof(rate));
	printf("Goal: %s up to %s ", goal_names[g->figure], limit);
	if (!(g->holds > 0) && isinf(g->fails))
		printf("cannot be judged");
	else if (!(g->holds > 0))
		printf("does not hold at %s of the maximum, the least load", fails);
	else if (g->fails < INFINITY)
		printf("holds at %s of the maximum, %s operations/s, and not at %s%s", holds, rate,
		       fails, g->sure ? "" : "; the limit is within the intervals of these");
	else
		printf("holds at all%s loads, up to %s of the maximum, %s operations/s",
		       g->unjudged ? " other" : "", holds, rate);
	if (g->unjudged)
		printf("; %zu load%s had too few operations in a round for it: -each makes rounds "
		       "longer",
		       g->unjudged, g->unjudged == 1 ? "" : "s");
	puts(g->disturbed ? "; but loads were disturbed, as the line above says." : ".");
}

void curve_show_table(const struct sweep *s)
{
	const struct curve *c = &s->curve->results;

	if (s->quiet)
		return;
	if (s->terminal)
		putchar('\n');
	put_maximum(s);
	if (c->n_loads)
		put_header("  queue  rounds  steady");
	for (size_t i = 0; i < c->n_loads; i++)
		put_load(s, &c->loads[i]);
	put_lateness(s);
	put_knee(c);
	put_disturbed(s);
	put_goal(c);
	if (s->results.partial)
		printf("Interrupted: %zu loads have results%s.\n", c->n_loads,
		       s->journal_path ? "; -resume continues" : "");
}
