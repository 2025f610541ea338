/*
 * The summary of a document in words: what ran, how it ended, what it says about its own figures.
 * Called by page.c.
 */
#include <math.h>
#include <string.h>

#include "report/page/page.h"
#include "xdd/base/units.h"
#include "xdd/report/copy_limit.h"
#include "xdd/report/sweep.h"

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

static void put_verdict(struct page *p, const char *tone, const char *label, const char *text)
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
		put_verdict(p, "bad", "partial", "the run was canceled before its end");
	else if (json_is_true(json_object_get(root, "partial")))
		put_verdict(p, "bad", "partial", "it was cut short");
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
		put_verdict(p, "note", "not reproducible", why);
}

static void put_steady(struct page *p, const struct compare_run *run)
{
	const json_t *steady = json_object_get(compare_statistic(run, -1), "steady_state");
	const double after = page_real(steady, "after_pass");

	if (!json_is_object(steady))
		return;
	if (!json_is_true(json_object_get(steady, "reached"))) {
		put_verdict(p, "note", "steady state", "not reached");
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
	put_verdict(p, "good", "complete",
		    status >= 0 ? "it ended normally" : "its exit status is not known");
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
		put_verdict(p, error ? "bad" : "note", error ? "error" : "warning",
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
	const char *name;
	size_t i;

	for (unsigned kind = 0; (name = sweep_finding_name(kind)); kind++) {
		size_t n = 0;

		json_array_foreach(points, i, point)
		{
			if (!point_has(point, name) || ++n > MAX_POINTS)
				continue;
			if (n == 1) {
				open_verdict(p, "note", "finding");
				page_put(p, "%s, at point", sweep_finding_text(kind));
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
