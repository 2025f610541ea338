/*
 * The summary of a document in words: what ran, how it ended, what it says about its own figures;
 * its environment and plan as tables; and the difference of two documents, as xdd compare reports
 * it. Called by page.c.
 */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/page/page.h"
#include "xdd/base/memory.h"
#include "xdd/base/units.h"
#include "xdd/report/endtoend.h"
#include "xdd/report/jvalue.h"
#include "xdd/report/sweep.h"

#define PATH_BYTES 256
#define MAX_LEVELS 8

struct facts {
	struct page *p;
	size_t n; /* rows so far, also those that are not shown */
};

static void put_value(struct facts *facts, const char *path, const json_t *value)
{
	struct memstream m;

	if (++facts->n > PAGE_MAX_ROWS)
		return;
	if (memstream_open(&m))
		jvalue_write(m.f, value);
	if (memstream_close(&m)) {
		facts->p->incomplete = true;
		return;
	}
	page_row(facts->p, path);
	page_cell(facts->p, m.text);
	page_row_end(facts->p);
	free(m.text);
}

static void page_environment_walk(struct facts *facts, const char *path, const json_t *value,
				  int level)
{
	const json_t *member;
	const char *key;
	char below[PATH_BYTES];
	size_t i;

	if (level > MAX_LEVELS || json_is_null(value))
		return;
	if (json_is_object(value)) {
		json_object_foreach((json_t *)(uintptr_t)value, key, member)
		{
			snprintf(below, sizeof(below), "%s%s%s", path, *path ? " " : "", key);
			page_environment_walk(facts, below, member, level + 1);
		}
	} else if (json_is_array(value)) {
		json_array_foreach(value, i, member)
		{
			snprintf(below, sizeof(below), "%s %zu", path, i);
			page_environment_walk(facts, below, member, level + 1);
		}
	} else {
		put_value(facts, path, value);
	}
}

static void page_environment_put_table(struct page *p, const char *caption, const json_t *value)
{
	static const char *const heads[] = { "|name", "|value", NULL };
	struct facts facts = { .p = p };

	page_table(p, caption, heads);
	page_environment_walk(&facts, "", value, 0);
	page_table_end(p, facts.n > PAGE_MAX_ROWS ? facts.n - PAGE_MAX_ROWS : 0);
}

/* Members that a document lacks are left out. Returns 0, or -1 without memory. */
static int copy_member(json_t *to, const char *name, json_t *value)
{
	return value ? json_object_set(to, name, value) : 0; /* its references are counted */
}

/* The targets as the run had them. */
static void put_plan(struct page *p, const json_t *plan)
{
	const json_t *targets = json_object_get(plan, "targets"), *target;
	json_t *shown = json_object(), *list = json_array();
	int failed = copy_member(shown, "run", json_object_get(plan, "resolved"));
	size_t i;

	json_array_foreach(targets, i, target)
	{
		json_t *one = json_object(), *resolved = json_object_get(target, "resolved");

		failed |= copy_member(one, "path", json_object_get(target, "path"));
		failed |= resolved ? json_object_update(one, resolved) : 0;
		failed |= json_array_append_new(list, one);
	}
	failed |= json_object_set_new(shown, "target", list);
	p->incomplete |= failed != 0;
	page_environment_put_table(p, "The plan of the run", shown);
	json_decref(shown);
}

void page_environment(struct page *p, const struct compare_run *run)
{
	page_section(p, 3, "Environment");
	page_environment_put_table(p, "Machine, kernel, programs and storage",
				   json_object_get(run->root, "environment"));
	if (!compare_is_sweep(run))
		put_plan(p, json_object_get(run->root, "plan"));
	page_section_end(p);
}

/* The documents and what is compared. */
struct difference {
	struct compare_side a, b;
	struct compare_points points; /* of sweeps; owned */
	struct compare_subject *subjects;
	char (*names)[PAGE_NAME_SIZE]; /* of the targets of runs; owned */
	size_t n;
	size_t real, unknown; /* rows */
};

static bool find_subjects(struct difference *d)
{
	const json_t *root = d->a.runs[0].root;
	const size_t targets = json_array_size(json_object_get(root, "statistics"));

	d->subjects = calloc(targets + 1, sizeof(*d->subjects));
	d->names = calloc(targets + 1, sizeof(*d->names));
	if (!d->subjects || !d->names)
		return false;
	for (size_t i = 0; i <= targets; i++) {
		const json_int_t target = (json_int_t)i - 1;

		if (!compare_statistic(&d->a.runs[0], target) ||
		    !compare_statistic(&d->b.runs[0], target))
			continue;
		page_target(root, target < 0 ? NAN : (double)target, d->names[d->n]);
		d->subjects[d->n] = (struct compare_subject){
			.target = target, .name = d->names[d->n], .a = &d->a, .b = &d->b
		};
		d->n++;
	}
	return true;
}

static bool find_points(struct difference *d)
{
	if (!compare_sweep_points(&d->a, &d->b, &d->points))
		return false;
	d->subjects = d->points.subjects;
	d->n = d->points.n;
	return true;
}

static const char *page_difference_percent(double ratio, char *buf, size_t size)
{
	if (isfinite(ratio))
		snprintf(buf, size, "%+.1f %%", 100 * (ratio - 1));
	else
		snprintf(buf, size, "-");
	return buf;
}

static void put_percent(struct page *p, double value)
{
	char text[32];

	snprintf(text, sizeof(text), "%.3g %%", value);
	page_number(p, text);
}

static void put_row(struct difference *d, struct page *p, const struct compare_subject *s,
		    enum pass_figure figure)
{
	static const char *const verdicts[] = {
		[COMPARE_UNKNOWN] = "unknown: too few passes",
		[COMPARE_CHANCE] = "may be chance",
		[COMPARE_UNSTABLE] = "may be chance: a run is not reproducible",
		[COMPARE_REAL] = "real",
	};
	const struct compare_figure f = compare_judge(s, figure, d->n);
	const struct figure_shown *shown = &pass_figures[figure].shown;
	void (*put)(struct page *, double) = figure == FIGURE_BANDWIDTH ? page_rate_cell :
					     figure == FIGURE_IOPS || figure == FIGURE_MAXIMUM ?
									  page_ops_cell :
					     figure == FIGURE_KNEE ? put_percent :
								     page_time_cell;
	char low[32], high[32], interval[72] = "-";

	p->incomplete |= f.no_memory;
	if (f.verdict == COMPARE_NO_FIGURE)
		return;
	if (f.verdict != COMPARE_UNKNOWN)
		snprintf(interval, sizeof(interval), "%s to %s",
			 page_difference_percent(f.ratio.low, low, sizeof(low)),
			 page_difference_percent(f.ratio.high, high, sizeof(high)));
	page_row(p, s->name);
	page_cell(p, shown->name);
	put(p, f.a);
	put(p, f.b);
	page_number(p, page_difference_percent(f.ratio.ratio, low, sizeof(low)));
	page_number(p, interval);
	page_cell(p, verdicts[f.verdict]);
	page_row_end(p);
	d->real += f.verdict == COMPARE_REAL;
	d->unknown += f.verdict == COMPARE_UNKNOWN;
}

static void page_difference_put_table(struct difference *d, struct page *p)
{
	static const char *const heads[] = { "|subject", "|figure",  "a",	 "b",
					     "b to a",	 "interval", "|verdict", NULL };
	const size_t most = PAGE_MAX_ROWS / FIGURE_NAMES;

	page_table(p,
		   "b to a; intervals are at 95 %, of percentiles, flushes and response times at "
		   "99 %",
		   heads);
	for (size_t i = 0; i < d->n && i < most; i++) {
		for (enum pass_figure figure = 0; figure < FIGURE_NAMES; figure++)
			put_row(d, p, &d->subjects[i], figure);
	}
	page_table_end(p, d->n > most ? FIGURE_NAMES * (d->n - most) : 0);
}

static void page_difference_put_verdict(struct difference *d, struct page *p)
{
	if (!d->n)
		page_line(p,
			  "The documents have no target or point in common with complete passes.");
	else if (d->real)
		page_line(
			p,
			"The results differ: %zu differences are real, beyond the scatter of the passes.",
			d->real);
	else if (d->unknown)
		page_line(
			p,
			"The results cannot be compared: two complete passes of each are needed, as with -passes 5.");
	else
		page_line(p, "No difference between the results is more than chance.");
}

/* ---- distributions beside each other ---- */

static void put_cells(struct page *p, const json_t *const *all, const char *key)
{
	page_row(p, key);
	for (size_t i = 0; i < 2 * PAGE_DIRECTIONS; i++) {
		const json_t *times = page_service(all[i % 2], page_directions[i / 2]);

		page_time_cell(p, page_real(json_object_get(times, "percentiles_ns"), key));
	}
	page_row_end(p);
}

static void put_distributions(struct page *p, const struct compare_run *runs)
{
	static const char *const keys[] = { "50", "90", "95", "99", "99.9", "99.99", "99.999" };
	static const char *const heads[] = { "|percentile", "read, a", "read, b", "write, a",
					     "write, b",    "noop, a", "noop, b", "discard, a",
					     "discard, b",  NULL };
	const json_t *all[] = { page_result(runs[0].root, "COMBINED"),
				page_result(runs[1].root, "COMBINED") };
	struct plot *plot;

	page_figure(p,
		    "Distributions of the service times of both: share of the operations that took "
		    "at least so long");
	plot = page_plot(p, &runs[0], PLOT_LINES, "distributions",
			 "Distributions of both documents");
	page_distribution_axes(plot);
	for (size_t i = 0; i < 2 * PAGE_DIRECTIONS; i++) {
		char title[32];

		snprintf(title, sizeof(title), "%s, %s", page_directions[i / 2], i % 2 ? "b" : "a");
		page_distribution_line(plot, page_service(all[i % 2], page_directions[i / 2]),
				       title);
	}
	page_table(p, "Percentiles of both", heads);
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		put_cells(p, all, keys[i]);
	page_table_end(p, 0);
	page_figure_end(p);
}

void page_difference(struct page *p, const struct compare_run *runs)
{
	/* The sides do not change them. */
	struct compare_run *both = (struct compare_run *)(uintptr_t)runs;
	struct difference d = { .a = { "a", &both[0], 1 }, .b = { "b", &both[1], 1 } };
	const bool sweeps = compare_is_sweep(&runs[0]);

	page_section(p, 2, "Difference");
	if (sweeps != compare_is_sweep(&runs[1])) {
		page_line(p, "A run and a sweep are not compared.");
	} else if (sweeps ? find_points(&d) : find_subjects(&d)) {
		if (d.n)
			page_difference_put_table(&d, p);
		page_difference_put_verdict(&d, p);
		if (!sweeps)
			put_distributions(p, runs);
	} else {
		p->incomplete = true;
	}
	page_section_end(p);
	if (sweeps)
		compare_sweep_free(&d.points);
	else
		free(d.subjects);
	free(d.names);
}

#define MAX_MESSAGES 100
#define MAX_VERDICTS 100
#define MAX_POINTS 20
#define KEPT_MESSAGES 1000 /* of a run: those past them are not compared */

/* An element of the list of verdicts. `tone` is a class; `label` says the same as its colour. */
static void open_verdict(struct page *p, const char *tone, const char *label)
{
	page_put(p, "<li class=\"%s\"><strong>%s:</strong> ", tone, label);
}

static void close_verdict(struct page *p)
{
	page_put(p, "</li>\n");
}

static void page_summary_put_verdict(struct page *p, const char *tone, const char *label,
				     const char *text)
{
	open_verdict(p, tone, label);
	page_text(p, text);
	close_verdict(p);
}

static void put_facts(struct page *p, const struct compare_run *run)
{
	const json_t *root = run->root;
	const json_t *host = json_object_get(json_object_get(root, "environment"), "host");

	page_put(p, "<p><code>");
	page_text(p, page_string(root, "command_line"));
	page_put(p, "</code></p>\n");
	page_line(p, "%s%s%s from %s to %s, xdd %s", compare_is_sweep(run) ? "Sweep" : "Run",
		  *page_string(host, "name") ? " on " : "", page_string(host, "name"),
		  page_string(root, "start_time"), page_string(root, "end_time"),
		  page_string(root, "xdd"));
}

static void put_end(struct page *p, const json_t *root)
{
	const char *end = page_string(root, "end");
	const double status = page_real(root, "status");

	if (strcmp(end, "canceled") == 0)
		page_summary_put_verdict(p, "bad", "partial",
					 "the run was canceled before its end");
	else if (json_is_true(json_object_get(root, "partial")))
		page_summary_put_verdict(p, "bad", "partial", "it was cut short");
	if (status > 0) {
		open_verdict(p, "bad", "failed");
		page_put(p, "the exit status was %.0f", status);
		close_verdict(p);
	}
}

static void put_faults(struct page *p, const json_t *all)
{
	static const struct {
		const char *key, *label, *text;
	} faults[] = {
		{ "errors", "errors", "operations failed" },
		{ "miscompares", "wrong data", "extents of what was read are not as expected" },
		{ "outstanding", "hung", "requests never completed" },
	};

	for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++) {
		const double n = page_real(all, faults[i].key);

		if (!(n > 0))
			continue;
		open_verdict(p, "bad", faults[i].label);
		page_put(p, "%.15g %s", n, faults[i].text);
		close_verdict(p);
	}
}

/* The cause of TARGET_AVERAGE, in words. */
static const char *cause_of(const char *bound)
{
	static const struct {
		const char *bound, *words;
	} causes[] = {
		{ "device", "the device" },
		{ "generator", "xdd, the kernel and the processors; the device may do more" },
		{ "paced", "its pace: most of the time no request was due" },
		{ "starved", "other programs: xdd was ready and had no processor" },
		{ "mixed", "several causes" },
		{ "quota", "the CPU quota of the control group of xdd" },
		{ "io_quota", "what the control group of xdd allows on the device" },
	};

	for (size_t i = 0; i < sizeof(causes) / sizeof(causes[0]); i++) {
		if (strcmp(bound, causes[i].bound) == 0)
			return causes[i].words;
	}
	return NULL;
}

/* The copy of an end-to-end target, in its last pass. */
static const json_t *copy_of(const json_t *root, double target)
{
	const json_t *copy, *last = NULL;
	size_t i;

	json_array_foreach(json_object_get(root, "endtoend"), i, copy)
	{
		if (page_real(copy, "target") == target)
			last = copy;
	}
	return last;
}

/* The words of the limit of a copy, whose parts are known better than the threads of one side. */
static const char *cause_of_copy(const json_t *copy, char words[COPY_VERDICT_SIZE])
{
	const json_t *between = json_object_get(copy, "bound_between");
	const char *first = json_string_value(json_array_get(between, 0));
	const char *second = json_string_value(json_array_get(between, 1));
	const struct copy_verdict v = {
		.limit = copy_limit_named(first ? first : page_string(copy, "bound")),
		.other = copy_limit_named(second ? second : ""),
	};

	return copy_verdict_text(&v, words);
}

static void put_limits(struct page *p, const json_t *root)
{
	const json_t *result;
	size_t i, shown = 0;
	char name[PAGE_NAME_SIZE], words[COPY_VERDICT_SIZE];

	json_array_foreach(json_object_get(root, "results"), i, result)
	{
		const json_t *copy = copy_of(root, page_real(result, "target"));
		const char *cause = copy ? cause_of_copy(copy, words) :
					   cause_of(page_string(result, "bound"));

		if (strcmp(page_string(result, "what"), "TARGET_AVERAGE") != 0 || !cause)
			continue;
		if (++shown > MAX_VERDICTS)
			continue;
		open_verdict(p, "plain", "limited");
		page_text(p, page_target(root, page_real(result, "target"), name));
		page_put(p, ", by %s", cause);
		close_verdict(p);
	}
	if (shown > MAX_VERDICTS)
		page_item(p, "%zu more targets have a limit.", shown - MAX_VERDICTS);
}

/* -runtime, where `limit_ns` is above 0, would end the run in the first of the passes. */
static void put_one_pass(struct page *p, double limit_ns)
{
	open_verdict(p, "note", "certainty");
	page_put(p, "less than two complete passes say nothing about repeatability; ");
	if (limit_ns > 0)
		page_put(p, "-timelimit %.9g -passes 5 in place of -runtime does",
			 limit_ns / NS_PER_SEC);
	else
		page_put(p, "-passes 5 does");
	close_verdict(p);
}

/* NAN without -runtime. */
static double run_time_ns(const struct compare_run *run)
{
	const json_t *plan = json_object_get(run->root, "plan");

	return page_real(json_object_get(plan, "resolved"), "run_time_ns");
}

/* How certain the bandwidth of all targets is. */
static void put_certainty(struct page *p, const struct compare_run *run)
{
	const json_t *all = compare_statistic(run, -1);
	const json_t *bandwidth = json_object_get(all, "bandwidth");
	const double mean = page_real(bandwidth, "mean"),
		     high = page_real(bandwidth, "interval_high");
	const size_t passes = json_array_size(json_object_get(all, "passes"));
	const char *why = page_string(all, "not_reproducible");
	char text[SCALED_SIZE];

	if (passes < 2) {
		put_one_pass(p, run_time_ns(run));
		return;
	}
	if (mean > 0 && high >= mean) {
		open_verdict(p, 10 * (high - mean) < mean ? "good" : "note", "certainty");
		page_put(p, "%s +-%.2g %% is the mean of %zu passes with 95 %% confidence",
			 scaled_rate(mean, text), 100 * (high - mean) / mean, passes);
		close_verdict(p);
	}
	if (*why)
		page_summary_put_verdict(p, "note", "not reproducible", why);
}

static void put_steady(struct page *p, const struct compare_run *run)
{
	const json_t *steady = json_object_get(compare_statistic(run, -1), "steady_state");
	const double after = page_real(steady, "after_pass");

	if (!json_is_object(steady))
		return;
	if (!json_is_true(json_object_get(steady, "reached"))) {
		page_summary_put_verdict(p, "note", "steady state", "not reached");
		return;
	}
	open_verdict(p, "good", "steady state");
	page_put(p, "reached after pass %.15g", after);
	close_verdict(p);
}

/* A list is never empty. */
static void put_good(struct page *p, const json_t *root)
{
	const double status = page_real(root, "status");

	if (status > 0 || json_is_true(json_object_get(root, "partial")))
		return;
	page_summary_put_verdict(p, "good", "complete",
				 status >= 0 ? "it ended normally" :
					       "its exit status is not known");
}

/* True if an earlier message has the text of message `i`: rounds of a sweep repeat theirs. */
static bool is_repeated(const json_t *messages, size_t i)
{
	const char *text = page_string(json_array_get(messages, i), "text");

	for (size_t k = 0; k < i && k < KEPT_MESSAGES; k++) {
		if (strcmp(page_string(json_array_get(messages, k), "text"), text) == 0)
			return true;
	}
	return false;
}

static void put_messages(struct page *p, const json_t *root)
{
	const json_t *messages = json_object_get(root, "messages"), *message;
	size_t i, n = 0;

	json_array_foreach(messages, i, message)
	{
		const bool error = strcmp(page_string(message, "level"), "error") == 0;

		if (is_repeated(messages, i) || ++n > MAX_MESSAGES)
			continue;
		page_summary_put_verdict(p, error ? "bad" : "note", error ? "error" : "warning",
					 page_string(message, "text"));
	}
	if (n > MAX_MESSAGES)
		page_item(p, "%zu more messages are in the document.", n - MAX_MESSAGES);
}

/* True if a round of the point has the finding. */
static bool point_has(const json_t *point, const char *name)
{
	const json_t *round, *finding;
	size_t i, k;

	json_array_foreach(json_object_get(point, "rounds"), i, round)
	{
		json_array_foreach(json_object_get(round, "findings"), k, finding)
		{
			if (json_is_string(finding) &&
			    strcmp(json_string_value(finding), name) == 0)
				return true;
		}
	}
	return false;
}

/* The findings of the rounds of a sweep, with the numbers of the points. */
static void put_findings(struct page *p, const json_t *root)
{
	const json_t *points = json_object_get(root, "points"), *point;
	size_t i;

	for (unsigned rule = 0; rule < RULE_FINDINGS; rule++) {
		size_t n = 0;

		json_array_foreach(points, i, point)
		{
			if (!point_has(point, rule_table[rule].name) || ++n > MAX_POINTS)
				continue;
			if (n == 1) {
				open_verdict(p, "note", "finding");
				page_put(p, "%s, at point", rule_table[rule].condition);
			}
			page_put(p, "%s %.15g", n == 1 ? "" : ",", page_real(point, "point"));
		}
		if (n > MAX_POINTS)
			page_put(p, " and %zu more", n - MAX_POINTS);
		if (n)
			close_verdict(p);
	}
}

void page_summary(struct page *p, const struct compare_run *run)
{
	const json_t *root = run->root;

	put_facts(p, run);
	page_put(p, "<ul class=\"verdicts\">\n");
	put_end(p, root);
	put_faults(p, page_result(root, "COMBINED"));
	if (!compare_is_sweep(run)) {
		put_limits(p, root);
		put_certainty(p, run);
		put_steady(p, run);
	} else {
		put_findings(p, root);
	}
	put_messages(p, root);
	put_good(p, root);
	page_put(p, "</ul>\n");
}
