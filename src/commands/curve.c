/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * xdd curve: response time against load, and its standard output. Called by main, the output by
 * sweep.c and sweep_run.c.
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "commands/commands.h"
#include "commands/sweep.h"
#include "xdd/base/log.h"
#include "xdd/base/memory.h"
#include "xdd/base/units.h"
#include "xdd/commands/command.h"
#include "xdd/io/access.h"
#include "xdd/plan/option.h"

/*
 * Standard output of a curve: the rounds as they end, on a terminal, the table of all loads, and
 * what follows from it in words.
 */

#define NUMBER 32

/* The figures of response times that -goal may name, and that are shown. */
static const struct {
	enum pass_figure figure;
	const char *name;
} shown[] = {
	{ FIGURE_RESPONSE, "mean" },
	{ FIGURE_RESPONSE_P50, "p50" },
	{ FIGURE_RESPONSE_P99, "p99" },
	{ FIGURE_RESPONSE_P999, "p99.9" },
};

#define SHOWN (sizeof(shown) / sizeof(shown[0]))

static const char *goal_name(const struct curve_goal *goal)
{
	size_t i = 0;

	while (shown[i].figure != goal->figure)
		i++;
	return shown[i].name;
}

static void put_header(const char *last)
{
	printf("%15s  %11s  %11s  %10s  %10s  %10s  %10s  %10s  %s\n", "load", "offered/s",
	       "reached/s", "response", "p50", "p99", "p99.9", "service", last);
}

static void curve_show_head(const struct sweep *s)
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
	for (size_t i = 0; i < SHOWN; i++)
		printf("  %10s", sweep_time_text(responses[i], text, sizeof(text)));
	printf("  %10s  ", sweep_time_text(service, text, sizeof(text)));
}

static void curve_show_round(const struct sweep *s, const struct sweep_round *r)
{
	const struct curve *c = &s->curve->results;
	double responses[SHOWN], offered = NAN;
	char text[NUMBER];

	for (size_t i = 0; i < c->n_loads; i++) {
		if (c->loads[i].point == r->point)
			offered = c->loads[i].share * c->maximum;
	}
	for (size_t i = 0; i < SHOWN; i++)
		responses[i] = sweep_round_value(r, shown[i].figure);
	printf("%15s  %11s  ", s->curve->words[r->point].text,
	       sweep_rate_text(offered, text, sizeof(text)));
	put_cells(sweep_round_value(r, FIGURE_IOPS), responses,
		  sweep_round_value(r, FIGURE_LATENCY));
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
	double responses[SHOWN];
	char text[NUMBER];

	for (size_t i = 0; i < SHOWN; i++)
		responses[i] = sweep_mean(&s->results, p, shown[i].figure).mean;
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
	return sweep_mean(&s->results, &s->results.points[load->point], FIGURE_RESPONSE).mean;
}

#define LATE_SHARE 0.05 /* of the mean response time, from which it is worth a word */

/* How late xdd itself is, and where that is much of a response time. */
static void put_lateness(const struct sweep *s)
{
	const struct curve *c = &s->curve->results;
	const struct curve_load *worst = NULL;
	char mean[NUMBER], p99[NUMBER], share[CURVE_NUMBER];
	const double *values;
	size_t n = 0;

	for (size_t i = 0; i < c->n_loads; i++) {
		const struct curve_load *load = &c->loads[i];
		const double late = load->lateness.values[FIGURE_RESPONSE];

		if (!load->lateness.responded)
			continue;
		if (!worst || late > worst->lateness.values[FIGURE_RESPONSE])
			worst = load;
		n += late > LATE_SHARE * response_of(s, load);
	}
	if (!worst)
		return;
	values = worst->lateness.values;
	printf("Lateness of xdd itself, where nothing is transferred: up to %s in the mean",
	       sweep_time_text(values[FIGURE_RESPONSE], mean, sizeof(mean)));
	if (!isnan(values[FIGURE_RESPONSE_P99]))
		printf(" and %s for p99",
		       sweep_time_text(values[FIGURE_RESPONSE_P99], p99, sizeof(p99)));
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
	printf("Goal: %s up to %s ", goal_name(g), limit);
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

static void curve_show_table(const struct sweep *s)
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

#define LOADS "10..90+10,95,100,105"
#define LEAST_PERCENT 0.1

static const char usage[] =
	"usage: xdd curve [options of the curve] <options of a run>\n"
	"\n"
	"Finds the greatest rate of a target, and then offers shares of it: operations\n"
	"that arrive at random, whatever the target does (-throttle ops <rate> poisson).\n"
	"Shows response times, counted from the time at which an operation was due,\n"
	"against load; the knee; and with -goal the greatest load at which that holds.\n"
	"\n"
	"The greatest rate is that of -queuedepth; without it, of the least depth from 1\n"
	"to 128 that comes within 3 % of the best. The loads have the same queue depth:\n"
	"operations that are due wait in xdd while so many are outstanding, and their\n"
	"response times include that.\n";

static const char footer[] =
	"Exit status: 0 all loads were run, 5 a signal ended the curve (-resume continues\n"
	"it), otherwise the greatest status of a run, as xdd has it.\n";

/* ---- the command line ---- */

static enum xdd_status bad_load(const char *text, const char *why)
{
	log_error("curve: -load %.128s: %s", text, why);
	return XDD_BAD_ARGUMENT;
}

/* With or without a percent sign. */
static int read_percent(const char *text, double *percent)
{
	return strchr(text, '%') ? units_parse_percentage(text, percent) :
				   units_parse_real(text, percent);
}

static enum xdd_status read_loads(struct sweep *s, struct curve *c)
{
	static const struct option row = { .type = OPT_CUSTOM, .varies = true };
	const char *text = s->line.load ? s->line.load : LOADS, *why;
	const char *const *values;
	size_t n;

	why = vary_list(s->arena, &row, text, &values, &n);
	if (why)
		return bad_load(text, why);
	if (n > CURVE_MAX_LOADS - CURVE_REFINE - CURVE_PROBES)
		return bad_load(text, "has more than 100 loads");
	for (size_t i = 0; i < n; i++) {
		struct curve_load load = { .point = c->n_depths + i };
		double percent;

		if (read_percent(values[i], &percent) || percent < LEAST_PERCENT ||
		    percent > 100 * CURVE_SHARE_MAX)
			return bad_load(text, "expected percentages from 0.1 to 1000, such as "
					      "10..90+10,95");
		load.share = percent / 100;
		if (!curve_add_load(c, &load))
			return bad_load(text, "has a load twice");
	}
	return XDD_OK;
}

/* "p99=5ms" */
static enum xdd_status read_goal(const char *text, struct curve_goal *goal)
{
	uint64_t ns;

	for (size_t i = 0; text && i < SHOWN; i++) {
		const size_t length = strlen(shown[i].name);

		if (strncmp(text, shown[i].name, length) != 0 || text[length] != '=')
			continue;
		if (units_parse_seconds(text + length + 1, &ns) || !ns)
			break;
		goal->figure = shown[i].figure;
		goal->limit_ns = (double)ns;
		return XDD_OK;
	}
	if (!text)
		return XDD_OK;
	log_error("curve: -goal %.64s: expected a response time and its limit, such as p99=5ms; "
		  "mean, p50, p99 or p99.9",
		  text);
	return XDD_BAD_ARGUMENT;
}

/* ---- points ---- */

/* Words for all points, so that they can be checked: a rate of 1 stands for what is not known. */
static void make_points(struct sweep *s, struct curve_command *c)
{
	const struct curve *r = &c->results;
	const size_t n = c->n_given + CURVE_REFINE + (r->goal.limit_ns > 0 ? CURVE_PROBES : 0);

	c->values = xarena_alloc(s->arena, n * sizeof(*c->values));
	c->words = xarena_alloc(s->arena, n * sizeof(*c->words));
	for (size_t i = 0; i < n; i++) {
		const uint64_t depth = r->n_depths > 1 ? 1ull << (i < r->n_depths ? i : 0) : 0;
		char *text = c->words[i].text;

		c->values[i].words = c->words[i].words;
		c->values[i].text = text;
		curve_set_words(c, i, depth, i < r->n_depths ? NULL : "1");
		if (i >= r->n_depths)
			snprintf(text, CURVE_NUMBER, "-");
		else if (depth)
			snprintf(text, CURVE_NUMBER, "max, depth %ju", (uintmax_t)depth);
		else
			snprintf(text, CURVE_NUMBER, "max");
	}
	for (size_t i = 0; i < r->n_loads; i++)
		curve_percent(r->loads[i].share, c->words[r->loads[i].point].text);
	c->n_used = c->n_given;
	if (!vary_add_axis(&s->vary, "load", c->values, n))
		memory_end();
}

static enum xdd_status curve_prepare(struct sweep *s)
{
	struct curve_command *c = xarena_alloc(s->arena, sizeof(*c));
	enum xdd_status status;

	*c = (struct curve_command){ .results = { .n_depths = 1 } };
	if (s->vary.n_axes) {
		log_error("curve: -%s: has a list; a curve varies the load only, and xdd sweep "
			  "other options",
			  s->vary.axes[0].name);
		return XDD_BAD_ARGUMENT;
	}
	if (sweep_has_option(s, "throttle")) {
		log_error("curve: -throttle: cannot be used; -load names the loads");
		return XDD_BAD_OPTION;
	}
	if (!sweep_has_option(s, "queuedepth"))
		c->results.n_depths = CURVE_DEPTHS;
	status = read_loads(s, &c->results);
	if (!status)
		status = read_goal(s->line.goal, &c->results.goal);
	c->n_given = c->results.n_depths + c->results.n_loads;
	if (!status)
		make_points(s, c);
	s->curve = c;
	s->results.curve = &c->results;
	return status;
}

static enum xdd_status curve_check(const struct plan *plan, size_t point)
{
	if (plan->n_targets != 1) {
		log_error("a curve is that of one target, and there are %zu", plan->n_targets);
		return XDD_BAD_ARGUMENT;
	}
	if (!point && plan->targets[0].throttle.by != THROTTLE_NONE) {
		log_error("-throttle: cannot be used; -load names the loads");
		return XDD_BAD_OPTION;
	}
	return XDD_OK;
}

static void curve_print(struct sweep *s)
{
	struct curve_command *c = s->curve;

	for (size_t i = c->results.n_depths; i < c->n_given; i++) {
		char text[CURVE_NUMBER + 20];

		snprintf(text, sizeof(text), "<%s of the maximum>", c->words[i].text);
		curve_set_words(c, i, 0, text);
	}
	sweep_print_points(s, c->n_given);
}

/* ---- the command ---- */

static const struct sweep_kind kind = {
	.name = "curve",
	.command = &command_curve,
	.options = &curve_options,
	.seeds = true,
	.prepare = curve_prepare,
	.check = curve_check,
	.print = curve_print,
	.run = curve_run,
	.head = curve_show_head,
	.round = curve_show_round,
	.table = curve_show_table,
	.csv = curve_write_csv,
};

static int curve_main(int argc, char **argv)
{
	return sweep_command(&kind, argc, argv);
}

const struct command command_curve = {
	.name = "curve",
	.summary = "response time against load: maximum, knee, and the load of a goal",
	.usage = usage,
	.options = &curve_options,
	.footer = footer,
	.main = curve_main,
};
