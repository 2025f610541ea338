/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * xdd curve: response time against load, and its standard output. Called by main, the output by
 * sweep.c and sweep_run.c.
 */
#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "commands/commands.h"
#include "commands/sweep.h"
#include "xdd/base/log.h"
#include "xdd/base/memory.h"
#include "xdd/base/units.h"
#include "xdd/commands/command.h"
#include "xdd/plan/option.h"
#include "xdd/report/rule.h"
#include "xdd/report/screen.h"

/*
 * Standard output of a curve: the rounds as they end, on a terminal, the table of all loads, and
 * what follows from it in words.
 */

#define NUMBER 48

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

/* The columns of the tables. */
enum curve_column {
	CURVE_LOAD,
	CURVE_OFFERED,
	CURVE_REACHED,
	CURVE_RESPONSES, /* SHOWN of them */
	CURVE_SERVICE = CURVE_RESPONSES + SHOWN,
	CURVE_ROUND, /* the last one, while rounds are shown */
	CURVE_QUEUE = CURVE_ROUND,
	CURVE_ROUNDS,
	CURVE_STEADY,
	CURVE_COLUMNS,
};

/* Rounds are shown as they end: their widths are known before. */
static const struct screen_column round_columns[CURVE_ROUND + 1] = {
	{ .heading = "load", .width = 14 },
	{ .heading = "offered", .width = 8, .leave = 3 },
	{ .heading = "reached", .width = 8 },
	{ .heading = "response", .width = 8 },
	{ .heading = "p50", .width = 7 },
	{ .heading = "p99", .width = 7 },
	{ .heading = "p99.9", .width = 7, .leave = 1 },
	{ .heading = "service", .width = 7, .leave = 2 },
	{ .heading = "round" },
};

static const struct screen_column table_columns[CURVE_COLUMNS] = {
	{ .heading = "load" },
	{ .heading = "offered", .leave = 6 },
	{ .heading = "reached" },
	{ .heading = "response" },
	{ .heading = "p50" },
	{ .heading = "p99" },
	{ .heading = "p99.9", .leave = 2 },
	{ .heading = "service", .leave = 3 },
	{ .heading = "queue", .leave = 4 },
	{ .heading = "rounds", .leave = 5 },
	{ .heading = "steady", .leave = 1 },
};

struct curve_row {
	char texts[CURVE_COLUMNS][NUMBER];
	const char *cells[CURVE_COLUMNS];
};

static void row_begin(struct curve_row *row)
{
	for (size_t i = 0; i < CURVE_COLUMNS; i++) {
		*row->texts[i] = '\0';
		row->cells[i] = row->texts[i];
	}
}

/* The cells up to the service time. */
static void set_cells(const struct sweep *s, struct curve_row *row, size_t point, double offered,
		      double reached, const double *responses, double service)
{
	snprintf(row->texts[CURVE_LOAD], NUMBER, "%s", s->curve->words[point].text);
	scaled_ops(offered, row->texts[CURVE_OFFERED]);
	scaled_ops(reached, row->texts[CURVE_REACHED]);
	for (size_t i = 0; i < SHOWN; i++)
		scaled_time(responses[i], row->texts[CURVE_RESPONSES + i]);
	scaled_time(service, row->texts[CURVE_SERVICE]);
}

/* Write the row of a round; NULL: the headings. */
static void put_round(const struct curve_row *row)
{
	struct screen_column columns[CURVE_ROUND + 1];
	struct screen screen;
	struct screen_table t = { .screen = &screen, .columns = columns, .n = CURVE_ROUND + 1 };

	memcpy(columns, round_columns, sizeof(columns));
	screen_init(&screen, STDOUT_FILENO);
	screen_table_fit(&t);
	screen_table_put(&t, stdout, row ? row->cells : NULL);
	screen_free(&screen);
	fflush(stdout);
}

static void curve_show_head(const struct sweep *s)
{
	const struct curve *c = &s->curve->results;

	if (s->quiet)
		return;
	sweep_say(s, NULL,
		  "the maximum, then %zu load%s, %" PRIu64 " round%s each, order and arrivals by "
		  "-orderseed %" PRIu64,
		  c->n_loads, c->n_loads == 1 ? "" : "s", s->results.least,
		  s->results.least == 1 ? "" : "s", s->results.seed);
	if (s->terminal)
		put_round(NULL);
	fflush(stdout);
}

static void curve_show_round(const struct sweep *s, const struct sweep_round *r)
{
	const struct curve *c = &s->curve->results;
	double responses[SHOWN], offered = NAN;
	struct curve_row row;

	for (size_t i = 0; i < c->n_loads; i++) {
		if (c->loads[i].point == r->point)
			offered = c->loads[i].share * c->maximum;
	}
	for (size_t i = 0; i < SHOWN; i++)
		responses[i] = sweep_round_value(r, shown[i].figure);
	row_begin(&row);
	set_cells(s, &row, (size_t)r->point, offered, sweep_round_value(r, FIGURE_IOPS), responses,
		  sweep_round_value(r, FIGURE_LATENCY));
	snprintf(row.texts[CURVE_ROUND], NUMBER, "%" PRIu64, r->round);
	put_round(&row);
}

static void put_maximum(const struct sweep *s)
{
	const struct curve *c = &s->curve->results;
	char rate[SCALED_SIZE], percent[NUMBER], depth[NUMBER] = "", steady[64] = "not steady";

	if (!(c->maximum > 0))
		return;
	if (c->depth)
		snprintf(depth, sizeof(depth), ", at -queuedepth %" PRIu64, c->depth);
	if (c->steady_after)
		snprintf(steady, sizeof(steady), "steady after round %" PRIu64, c->steady_after);
	sweep_say(s, "maximum", "%s (%s)%s, %s", scaled_ops(c->maximum, rate),
		  rule_too_few(c->percent) ?
			  RULE_TOO_FEW_WORDS " to say how far it repeats" :
			  sweep_percent_text(c->percent, percent, sizeof(percent)),
		  depth, steady);
}

/* The row of a load. */
static void set_load(const struct sweep *s, const struct curve_load *load, struct curve_row *row)
{
	const struct sweep_point *p = &s->results.points[load->point];
	const struct curve_figures f = curve_figures(&s->curve->results, &s->results, load);
	double responses[SHOWN];
	char *steady = row->texts[CURVE_STEADY];

	for (size_t i = 0; i < SHOWN; i++)
		responses[i] = sweep_mean(&s->results, p, shown[i].figure).mean;
	row_begin(row);
	set_cells(s, row, load->point, f.offered, f.reached, responses, f.service_ns);
	scaled_count(f.queue, row->texts[CURVE_QUEUE]);
	snprintf(row->texts[CURVE_ROUNDS], NUMBER, "%zu", p->n);
	if (f.overloaded)
		strcpy(steady, "overloaded");
	else if (f.drift.drifts)
		snprintf(steady, NUMBER, "drifts %+.0f %%", 100 * f.drift.amount);
	else
		strcpy(steady, f.drift.known ? "yes" : "-");
}

static void put_loads(const struct sweep *s)
{
	const struct curve *c = &s->curve->results;
	struct screen_column columns[CURVE_COLUMNS];
	struct screen screen;
	struct screen_table t = { .screen = &screen, .columns = columns, .n = CURVE_COLUMNS };
	struct curve_row row;

	memcpy(columns, table_columns, sizeof(columns));
	screen_init(&screen, STDOUT_FILENO);
	screen_table_widen(&t, NULL);
	for (size_t i = 0; i < c->n_loads; i++) {
		set_load(s, &c->loads[i], &row);
		screen_table_widen(&t, row.cells);
	}
	screen_table_fit(&t);
	screen_table_put(&t, stdout, NULL);
	for (size_t i = 0; i < c->n_loads; i++) {
		const struct sweep_point *p = &s->results.points[c->loads[i].point];

		set_load(s, &c->loads[i], &row);
		screen_table_put(&t, stdout, row.cells);
		if (curve_figures(c, &s->results, &c->loads[i]).disturbed_by)
			puts("  the load above: disturbed");
		if (p->status)
			printf("  the load above: status %d\n", p->status);
	}
	screen_table_end(&t, stdout);
	screen_free(&screen);
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
	char mean[SCALED_SIZE], p99[SCALED_SIZE], and[64] = "", share[CURVE_NUMBER], many[64];
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
	if (!isnan(values[FIGURE_RESPONSE_P99]))
		snprintf(and, sizeof(and), " and %s for p99",
			 scaled_time(values[FIGURE_RESPONSE_P99], p99));
	snprintf(many, sizeof(many), "; more than 5 %% of the response time at %zu load%s", n,
		 n == 1 ? "" : "s");
	sweep_say(s, "Lateness of xdd itself",
		  "where nothing is transferred, up to %s in the mean%s, at %s%s.",
		  scaled_time(values[FIGURE_RESPONSE], mean), and,
		  curve_percent(worst->share, share),
		  n ? many : "; less than 5 % of the response times");
}

static void put_knee(const struct sweep *s)
{
	const struct curve *c = &s->curve->results;
	char share[CURVE_NUMBER], low[CURVE_NUMBER], high[CURVE_NUMBER], rate[SCALED_SIZE];
	char interval[2 * CURVE_NUMBER + 16] = "; there are too few rounds for an interval";

	if (!c->knee.known) {
		if (c->knee.none_to > 0)
			sweep_say(s, "Knee",
				  "none up to %s of the maximum: throughput divided by mean "
				  "response time does not fall by more than its error.",
				  curve_percent(c->knee.none_to, share));
		else if (c->knee.why)
			sweep_say(s, "Knee", "%s.", c->knee.why);
		return;
	}
	/* Three digits say as much as there is to know. */
	snprintf(share, sizeof(share), "%.3g %%", 100 * c->knee.share);
	snprintf(low, sizeof(low), "%.3g %%", 100 * c->knee.low);
	snprintf(high, sizeof(high), "%.3g %%", 100 * c->knee.high);
	if (!isnan(c->knee.low))
		snprintf(interval, sizeof(interval), " (95 %%: %s to %s)", low, high);
	sweep_say(s, "Knee",
		  "at %s of the maximum, %s, throughput divided by mean response time is "
		  "greatest%s.",
		  share, scaled_ops(c->knee.share * c->maximum, rate), interval);
}

/* Response times that no queue has: the load whose mean is furthest above one of a greater load. */
static void put_disturbed(const struct sweep *s)
{
	const struct curve *c = &s->curve->results;
	const struct curve_load *worst = NULL, *lower = NULL;
	char high[SCALED_SIZE], low[SCALED_SIZE], at[CURVE_NUMBER], then[CURVE_NUMBER];
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
	sweep_say(s, "Disturbed",
		  "the mean response time falls from %s at %s to %s at %s: something else was "
		  "active, or the target is slow to wake at low loads; repeat the curve.",
		  scaled_time(response_of(s, worst), high), curve_percent(worst->share, at),
		  scaled_time(response_of(s, lower), low), curve_percent(lower->share, then));
}

/* The words about the goal after its limit. */
static const char *goal_text(const struct sweep *s)
{
	const struct curve *c = &s->curve->results;
	const struct curve_goal *g = &c->goal;
	char holds[CURVE_NUMBER], fails[CURVE_NUMBER], rate[SCALED_SIZE];

	curve_percent(g->holds, holds);
	curve_percent(g->fails, fails);
	scaled_ops(g->holds * c->maximum, rate);
	if (!(g->holds > 0) && isinf(g->fails))
		return "cannot be judged";
	if (!(g->holds > 0))
		return xarena_printf(s->arena, "does not hold at %s of the maximum, the least load",
				     fails);
	if (g->fails < INFINITY)
		return xarena_printf(s->arena, "holds at %s of the maximum, %s, and not at %s%s",
				     holds, rate, fails,
				     g->sure ? "" : "; the limit is within the intervals of these");
	return xarena_printf(s->arena, "holds at all%s loads, up to %s of the maximum, %s",
			     g->unjudged ? " other" : "", holds, rate);
}

static void put_goal(const struct sweep *s)
{
	const struct curve_goal *g = &s->curve->results.goal;
	char limit[SCALED_SIZE], few[160] = "";

	if (!(g->limit_ns > 0) || !s->curve->results.n_loads)
		return;
	if (g->unjudged)
		snprintf(few, sizeof(few),
			 "; %zu load%s had too few operations in a round for it: -each makes "
			 "rounds longer",
			 g->unjudged, g->unjudged == 1 ? "" : "s");
	sweep_say(s, "Goal", "%s up to %s %s%s%s.", goal_name(g), scaled_time(g->limit_ns, limit),
		  goal_text(s), few,
		  g->disturbed ? "; but loads were disturbed, as the line above says" : "");
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
		put_loads(s);
	put_lateness(s);
	put_knee(s);
	put_disturbed(s);
	put_goal(s);
	if (s->results.partial)
		sweep_say(s, "Interrupted", "%zu loads have results%s.", c->n_loads,
			  s->journal_path ? "; -resume continues" : "");
}

#define LOADS "10..90+10,95,100,105"
#define LOADS_MAX 100 /* of -load */
_Static_assert(LOADS_MAX + CURVE_REFINE + CURVE_PROBES <= CURVE_MAX_LOADS, "no room for probes");
#define LEAST_PERCENT 0.1

static const char usage[] =
	"usage: xdd curve [options of the curve] <options of a run>\n"
	"\n"
	"Finds the greatest rate of a target, and then offers shares of it: operations\n"
	"that arrive at random, whatever the target does (-throttle ops <rate> poisson).\n"
	"Shows response times, counted from the time at which an operation was due,\n"
	"against load; the knee; and with -goal the greatest load at which that holds.\n"
	"\n"
	"The greatest rate is measured at -queuedepth; without it, at the least depth\n"
	"from 1 to 128 that comes within 3 % of the best. The loads have the same queue\n"
	"depth: operations that are due wait in xdd while so many are outstanding, and\n"
	"their response times include that.\n";

static const char footer[] =
	"Exit status: 0 all loads were run, 5 a signal ended the curve (-resume continues\n"
	"it), otherwise the greatest status of a run, as xdd has it.\n";

/* ---- the command line ---- */

static enum xdd_status bad_load(const char *text, const char *why)
{
	return log_refuse("curve: -load %.128s: %s", text, why);
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
	if (n > LOADS_MAX)
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
	return log_refuse(
		"curve: -goal %.64s: expected a response time and its limit, such as p99=5ms; "
		"mean, p50, p99 or p99.9",
		text);
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
	if (s->vary.n_axes)
		return log_refuse(
			"curve: -%s: has a list; a curve varies the load only, and xdd sweep "
			"other options",
			s->vary.axes[0].name);
	if (sweep_has_option(s, "throttle"))
		return log_fail(XDD_BAD_OPTION,
				"curve: -throttle: cannot be used; -load names the loads");
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
	if (plan->n_targets != 1)
		return log_refuse("a curve has one target, and there are %zu", plan->n_targets);
	if (!point && plan->targets[0].throttle.by != THROTTLE_NONE)
		return log_fail(XDD_BAD_OPTION, "-throttle: cannot be used; -load names the loads");
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
