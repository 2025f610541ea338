/*
 * xdd curve: response time against load. Called by main.
 */
#include "commands/curve.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "commands/commands.h"
#include "xdd/base/log.h"
#include "xdd/base/memory.h"
#include "xdd/base/units.h"
#include "xdd/commands/command.h"
#include "xdd/io/access.h"
#include "xdd/plan/option.h"

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

static enum xdd_status no_memory(void)
{
	log_error("%s", strerror(ENOMEM));
	return XDD_INIT_FAILED;
}

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
	static const struct {
		const char *name;
		enum sweep_response figure;
	} figures[] = {
		{ "mean=", SWEEP_RESPONSE_MEAN },
		{ "p50=", SWEEP_RESPONSE_P50 },
		{ "p99=", SWEEP_RESPONSE_P99 },
		{ "p99.9=", SWEEP_RESPONSE_P999 },
	};
	uint64_t ns;

	for (size_t i = 0; text && i < sizeof(figures) / sizeof(figures[0]); i++) {
		const size_t length = strlen(figures[i].name);

		if (strncmp(text, figures[i].name, length) != 0)
			continue;
		if (units_parse_seconds(text + length, &ns) || !ns)
			break;
		goal->figure = figures[i].figure;
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
static enum xdd_status make_points(struct sweep *s, struct curve_command *c)
{
	const struct curve *r = &c->results;
	const size_t n = c->n_given + CURVE_REFINE + (r->goal.limit_ns > 0 ? CURVE_PROBES : 0);

	c->values = arena_alloc(s->arena, n * sizeof(*c->values));
	c->words = arena_alloc(s->arena, n * sizeof(*c->words));
	if (!c->values || !c->words)
		return no_memory();
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
	return vary_add_axis(&s->vary, "load", c->values, n) ? XDD_OK : no_memory();
}

static enum xdd_status prepare(struct sweep *s)
{
	struct curve_command *c = arena_alloc(s->arena, sizeof(*c));
	enum xdd_status status;

	if (!c)
		return no_memory();
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
		status = make_points(s, c);
	s->curve = c;
	s->results.curve = &c->results;
	return status;
}

static enum xdd_status check(const struct plan *plan, size_t point)
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

static void print(struct sweep *s)
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
	.prepare = prepare,
	.check = check,
	.print = print,
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
