/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The summary of a document in words: what ran, how it ended, what it says about its own figures;
 * its environment and plan as tables; and the difference of two documents, as xdd compare reports
 * it. Called by page.c.
 */
#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/latency.h"
#include "report/page/page.h"
#include "xdd/base/memory.h"
#include "xdd/base/text.h"
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
	jvalue_write(xmemstream_open(&m), value);
	page_row(facts->p, path);
	page_cell(facts->p, xmemstream_close(&m));
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

/* The targets as the run had them. */
static void put_plan(struct page *p, const json_t *plan)
{
	const json_t *targets = json_object_get(plan, "targets"), *target;
	const unsigned long lost = jvalue_lost();
	json_t *shown = json_object(), *list = json_array();
	size_t i;

	json_object_set(shown, "run", json_object_get(plan, "resolved"));
	json_array_foreach(targets, i, target)
	{
		json_t *one = json_object();

		json_object_set(one, "path", json_object_get(target, "path"));
		json_object_update(one, json_object_get(target, "resolved"));
		json_array_append_new(list, one);
	}
	json_object_set_new(shown, "target", list);
	/* A member that the document lacks is left out. */
	if (jvalue_lost() != lost)
		memory_end();
	page_environment_put_table(p, "The plan of the run", shown);
	json_decref(shown);
}

void page_environment(struct page *p, const struct compare_run *run)
{
	page_section(p, 3, "Environment");
	page_environment_put_table(p, "Machine, kernel, programs and storage",
				   json_object_get(run->doc.root, "environment"));
	if (!run->doc.sweep)
		put_plan(p, json_object_get(run->doc.root, "plan"));
	page_section_end(p);
}

/* The subjects, and what was found. */
struct difference {
	struct compare_subjects subjects;
	/* rows, also those that are left out; the judged have an interval */
	size_t judged, real, unsteady, unknown;
};

/* Targets of runs have the names that the rest of the page gives them. */
static void find_subjects(struct difference *d, const struct compare_side *a,
			  const struct compare_side *b)
{
	const struct document *doc = &a->runs[0].doc;

	compare_subjects(&d->subjects, a, b);
	for (size_t i = 0; !doc->sweep && i < d->subjects.n; i++) {
		struct compare_subject *s = &d->subjects.list[i];
		char name[PAGE_NAME_SIZE];

		s->name =
			xarena_strdup(d->subjects.arena, page_target(doc, s->of[0]->target, name));
	}
}

static void put_row(struct page *p, const struct compare_subject *s, enum pass_figure figure,
		    const struct compare_figure *f)
{
	struct compare_texts t;
	char verdict[96];

	compare_texts(&t, s, f);
	page_row(p, s->name);
	page_cell(p, pass_figures[figure].shown);
	page_figure_cell(p, figure, f->a);
	page_figure_cell(p, figure, f->b);
	page_number(p, t.change);
	page_number(p, *t.interval ? t.interval : "-");
	if (f->verdict == COMPARE_REAL)
		t.reason = page_direction(figure, f->ratio.ratio);
	snprintf(verdict, sizeof(verdict), "%s%s%s", t.verdict, *t.reason ? ": " : "", t.reason);
	page_cell(p, verdict);
	page_row_end(p);
}

/* As xdd compare counts: percentiles need no interval. */
static bool difference_count(struct difference *d, enum pass_figure figure,
			     enum compare_verdict verdict)
{
	d->judged += verdict > COMPARE_UNKNOWN;
	d->real += verdict == COMPARE_REAL;
	d->unsteady += verdict == COMPARE_UNSTABLE;
	d->unknown += figure < FIGURE_FIRST_PERCENTILE && verdict == COMPARE_UNKNOWN;
	return verdict != COMPARE_NO_FIGURE;
}

static void page_difference_put_table(struct difference *d, struct page *p)
{
	static const char *const heads[] = { "|subject", "|figure",   "~a",	  "~b",
					     "b to a",	 "~interval", "|verdict", NULL };
	const size_t most = PAGE_MAX_ROWS / FIGURE_NAMES;
	size_t left_out = 0;

	page_table(p,
		   "b to a; intervals are at 95 %, of percentiles, flushes and response times at "
		   "99 %",
		   heads);
	for (size_t i = 0; i < d->subjects.n; i++) {
		const struct compare_subject *s = &d->subjects.list[i];

		for (enum pass_figure figure = 0; figure < FIGURE_NAMES; figure++) {
			const struct compare_figure f = compare_judge(s, figure, d->subjects.n);

			if (!difference_count(d, figure, f.verdict))
				continue;
			if (i < most)
				put_row(p, s, figure, &f);
			else
				left_out++;
		}
	}
	page_table_end(p, left_out);
}

static void page_difference_put_verdict(struct difference *d, struct page *p)
{
	const bool sweep = d->subjects.n && d->subjects.list[0].rounds;

	if (!d->subjects.n)
		page_line(p,
			  "The documents have no target or point in common with complete passes.");
	else if (d->real)
		page_line(
			p,
			"The results differ: %zu difference%s real, beyond the scatter of the %s.",
			d->real, d->real == 1 ? " is" : "s are", sweep ? "rounds" : "passes");
	else if (d->unknown || !d->judged)
		page_line(p, "%s be compared: two complete %s of each are needed, as with %s 5.",
			  d->judged ? "Not all results can" : "The results cannot",
			  sweep ? "rounds" : "passes", sweep ? "-rounds" : "-passes");
	else if (d->unsteady)
		page_line(p, "The results differ, but are " COMPARE_UNSTEADY ": %s.",
			  sweep ? COMPARE_UNSTEADY_ROUNDS : COMPARE_UNSTEADY_PASSES);
	else
		page_line(p, "No difference between the results is more than chance.");
}

/* ---- distributions beside each other ---- */

static void put_cells(struct page *p, const struct figures *all, uint32_t percent)
{
	char text[LATENCY_PERCENT_SIZE];

	page_row(p, latency_percent_text(percent, text));
	for (unsigned i = 0; i < 2 * DIR_COUNT; i++)
		page_time_cell(p, page_percentile(&all[i % 2], i / 2, percent));
	page_row_end(p);
}

static void put_both(struct page *p, const struct compare_run *runs, const struct figures *all)
{
	static const double percents[] = { 50, 90, 95, 99, 99.9, 99.99, 99.999 };
	static const char *const heads[] = { "|percentile", "read, a", "read, b", "write, a",
					     "write, b",    "noop, a", "noop, b", "discard, a",
					     "discard, b",  NULL };
	struct plot *plot;

	page_figure(p,
		    "Distributions of the service times of both: share of the operations that took "
		    "at least so long");
	plot = page_plot(p, &runs[0], PLOT_DISTRIBUTIONS);
	for (unsigned i = 0; i < 2 * DIR_COUNT; i++) {
		char title[32];

		snprintf(title, sizeof(title), "%s, %s", op_dir_name((enum op_dir)(i / 2)),
			 i % 2 ? "b" : "a");
		page_distribution_line(plot, page_service(&all[i % 2], i / 2), title);
	}
	page_table(p, "Percentiles of both", heads);
	for (size_t i = 0; i < sizeof(percents) / sizeof(percents[0]); i++)
		put_cells(p, all, (uint32_t)lround(percents[i] * HISTOGRAM_PERCENT));
	page_table_end(p, 0);
	page_figure_end(p);
}

static void put_distributions(struct page *p, const struct compare_run *runs)
{
	struct figures all[2];

	for (size_t i = 0; i < 2; i++)
		page_figures(document_result(&runs[i].doc, RESULT_COMBINED), &all[i]);
	put_both(p, runs, all);
	for (size_t i = 0; i < 2; i++)
		figures_free(&all[i]);
}

/* The words of the run of a point; NULL: there are none. */
static const json_t *words_of(const struct document *d, const json_t *varied)
{
	const json_t *point;
	size_t i;

	json_array_foreach(json_object_get(d->root, "points"), i, point)
	{
		if (json_equal(json_object_get(point, "varied"), varied))
			return json_object_get(point, "words");
	}
	return NULL;
}

/* Write the differences of the plans; of sweeps, of the words of the first point that both have. */
static size_t diff_plans(FILE *f, const struct compare_run *runs)
{
	const struct document *a = &runs[0].doc, *b = &runs[1].doc;

	if (!a->sweep)
		return compare_diff(f, json_object_get(a->root, "plan"),
				    json_object_get(b->root, "plan"), compare_skipped);
	for (size_t i = 0; i < a->n_points && i < PAGE_MAX_ROWS; i++) {
		const json_t *words = words_of(b, a->points[i].varied);

		if (words)
			return compare_diff(f, words_of(a, a->points[i].varied), words,
					    compare_skipped);
	}
	return 0;
}

#define MAX_DIFFERENCES 12

/* A difference between the plans may be the cause of all others. */
static void put_plans(struct page *p, const char *plans, char *lines, size_t n)
{
	char *line;

	page_line(p, "The %s differ, which may be the cause:", plans);
	page_put(p, "<ul>\n");
	for (size_t i = 0; i < n && i < MAX_DIFFERENCES && (line = strsep(&lines, "\n")); i++)
		page_item(p, "%s", line + strspn(line, " "));
	if (n > MAX_DIFFERENCES)
		page_item(p, "%zu more differences; xdd compare lists them", n - MAX_DIFFERENCES);
	page_put(p, "</ul>\n");
}

/* True if the plans are the same. */
static bool put_changes(struct page *p, const struct compare_subjects *subjects,
			const struct compare_run *runs)
{
	const bool sweeps = runs[0].doc.sweep;
	struct memstream m;
	const size_t n = diff_plans(xmemstream_open(&m), runs);

	xmemstream_close(&m);
	if (subjects->n)
		page_answer_change(p, subjects, runs, sweeps && !subjects->curve && subjects->n > 1,
				   n == 0);
	if (n)
		put_plans(p, sweeps ? "words of their points" : "plans", m.text, n);
	else if (!sweeps || subjects->n > subjects->curve)
		page_line(p, "Both have the same plan.");
	if (sweeps && !json_equal(json_object_get(runs[0].doc.root, "axes"),
				  json_object_get(runs[1].doc.root, "axes")))
		page_line(p, "Their lists differ: points that both have are compared.");
	free(m.text);
	return n == 0;
}

/* Plots of both documents, and the table of all changes. */
static void put_both_documents(struct page *p, struct difference *d, const struct compare_run *runs,
			       bool same_plan)
{
	const bool curves = runs[0].doc.curved && runs[1].doc.curved;

	if (curves) {
		page_figure(p, "Mean response times of both curves by offered load; the values of "
			       "all loads are in the table");
		page_curves(p, runs);
	} else if (runs[0].doc.sweep && !runs[0].doc.curved && !runs[1].doc.curved) {
		page_sweeps(p, runs, &d->subjects, same_plan);
	}
	page_difference_put_table(d, p);
	if (curves)
		page_figure_end(p);
}

void page_difference(struct page *p, const struct compare_run *runs)
{
	const struct compare_side a = { "a", &runs[0], 1 }, b = { "b", &runs[1], 1 };
	struct difference d = { .real = 0 };
	bool same_plan;

	page_section(p, 2, "Difference");
	if (runs[0].doc.sweep != runs[1].doc.sweep) {
		page_line(p, "A run and a sweep are not compared.");
	} else {
		find_subjects(&d, &a, &b);
		same_plan = put_changes(p, &d.subjects, runs);
		if (d.subjects.n)
			put_both_documents(p, &d, runs, same_plan);
		page_difference_put_verdict(&d, p);
		if (!runs[0].doc.sweep)
			put_distributions(p, runs);
	}
	page_section_end(p);
	compare_subjects_free(&d.subjects);
}

#define MAX_MESSAGES 100
#define MAX_VERDICTS 100
#define MAX_POINTS 20

/* An element of the list of verdicts. `tone` is a class; `label` says the same as its colour. */
static void __attribute__((format(printf, 4, 5)))
put_verdict(struct page *p, const char *tone, const char *label, const char *fmt, ...)
{
	char *text;
	va_list ap;

	va_start(ap, fmt);
	if (vasprintf(&text, fmt, ap) < 0)
		memory_end();
	va_end(ap);
	page_put(p, "<li class=\"%s\"><strong>%s:</strong> ", tone, label);
	page_text(p, text);
	page_put(p, "</li>\n");
	free(text);
}

static void put_facts(struct page *p, const struct document *d)
{
	page_put(p, "<p><code>");
	page_text(p, d->command_line);
	page_put(p, "</code></p>\n");
	if (d->combined)
		page_line(p, "Run on %zu hosts from %s to %s, xdd %s",
			  json_array_size(json_object_get(d->root, "hosts")), d->start_time,
			  d->end_time, d->xdd);
	else
		page_line(p, "%s%s%s from %s to %s, xdd %s",
			  d->curved ? "Curve" :
			  d->sweep  ? "Sweep" :
				      "Run",
			  *d->host ? " on " : "", d->host, d->start_time, d->end_time, d->xdd);
}

static void put_end(struct page *p, const struct document *d)
{
	if (strcmp(d->end, "canceled") == 0)
		put_verdict(p, "bad", "partial", "the run was canceled before its end");
	else if (d->partial)
		put_verdict(p, "bad", "partial", "it was cut short");
	if (d->status > 0)
		put_verdict(p, "bad", "failed", "the exit status was %.0f", d->status);
}

static void put_fault(struct page *p, uint64_t n, const char *label, const char *text)
{
	if (n)
		put_verdict(p, "bad", label, "%" PRIu64 " %s", n, text);
}

static void put_faults(struct page *p, const struct document_result *all)
{
	struct figures f;

	page_figures(all, &f);
	put_fault(p, f.tally.errors, "errors", "operations failed");
	put_fault(p, f.tally.miscompares, "wrong data",
		  "extents of what was read are not as expected");
	put_fault(p, f.tally.outstanding, "hung", "requests never completed");
	figures_free(&f);
}

/* The cause that limited a target, without the kind of the target; NULL: it is not known. */
static const char *cause_of(enum result_bound bound)
{
	const struct result_cause *cause = &result_causes[bound];

	return cause->name ? rule_table[cause->rule].condition : NULL;
}

/* The copy of an end-to-end target, in its last pass. */
static const struct document_copy *copy_of(const struct document *d, uint64_t target)
{
	const struct document_copy *last = NULL;

	for (size_t i = 0; i < d->n_copies; i++) {
		if (d->copies[i].target == target)
			last = &d->copies[i];
	}
	return last;
}

static void put_limits(struct page *p, const struct document *d)
{
	char name[PAGE_NAME_SIZE], words[COPY_VERDICT_SIZE];
	size_t shown = 0;

	for (size_t i = 0; i < d->n_results; i++) {
		const struct document_result *r = &d->results[i];
		const struct document_copy *copy = copy_of(d, r->target);
		/* The parts of a copy are known better than the threads of one side. */
		const char *cause = copy ? copy_verdict_text(&copy->verdict, words) :
					   cause_of(r->bound);

		if (r->what != RESULT_TARGET_AVERAGE || !cause || ++shown > MAX_VERDICTS)
			continue;
		put_verdict(p, "plain", "limited", copy ? "%s, by %s" : "%s: %s",
			    page_target(d, (int64_t)r->target, name), cause);
	}
	if (shown > MAX_VERDICTS)
		page_item(p, "%zu more targets have a limit.", shown - MAX_VERDICTS);
}

/* -runtime, where `limit_ns` is above 0, would end the run in the first of the passes. */
static void put_one_pass(struct page *p, double limit_ns)
{
	const char *label = rule_table[RULE_ONE_PASS].label;

	if (limit_ns > 0)
		put_verdict(p, "note", label, rule_says_ONE_RUNTIME, limit_ns / NS_PER_SEC);
	else
		put_verdict(p, "note", label, rule_says_ONE_PASS);
}

/* Only a figure that nothing disturbed is as certain as its interval is narrow. */
static const char *certainty_tone(const struct document *d, double percent)
{
	if (percent >= rule_table[RULE_MEAN].limit)
		return "note";
	return d->n_messages || d->partial || d->status > 0 ? "plain" : "good";
}

/* How certain the bandwidth of all targets is. */
static void put_certainty(struct page *p, const struct document *d)
{
	const struct document_statistic *all = document_statistic(&d->statistics, DOCUMENT_ALL);
	const char *label = rule_table[RULE_MEAN].label;
	char text[SCALED_SIZE], half[40];
	double mean, percent;

	if (!all || all->n < 2) {
		/* A copy is done once. */
		if (!d->n_copies)
			put_one_pass(p, d->run_time_ns);
		return;
	}
	mean = all->figures[FIGURE_BANDWIDTH].mean;
	percent = page_interval_percent(&all->figures[FIGURE_BANDWIDTH]);
	snprintf(half, sizeof(half), "%.2g", percent);
	scaled_rate(mean, text);
	if (rule_too_few(percent))
		put_verdict(p, certainty_tone(d, percent), label, rule_says_TOO_FEW, text, all->n);
	else if (!isnan(percent))
		put_verdict(p, certainty_tone(d, percent), label, rule_says_MEAN, text, half,
			    all->n);
	if (*all->not_reproducible)
		put_verdict(p, "note", rule_table[RULE_UNSTEADY].label, "%s",
			    all->not_reproducible);
}

static void put_steady(struct page *p, const struct document *d)
{
	const struct document_statistic *all = document_statistic(&d->statistics, DOCUMENT_ALL);

	if (!all || !all->steady_known)
		return;
	if (all->steady)
		put_verdict(p, "plain", "steady state", "reached after pass %" PRIu64,
			    all->steady_after);
	else
		put_verdict(p, "note", "steady state", "not reached");
}

/* A list is never empty. */
static void put_good(struct page *p, const struct document *d)
{
	if (!(d->status > 0) && !d->partial)
		put_verdict(p, "plain", "complete", "%s",
			    d->status >= 0 ? "it ended normally" : "its exit status is not known");
}

/* ---- messages ---- */

#define MAX_NUMBERS 8 /* of a message whose ranges are known */

/* Messages that differ in their targets and numbers only, as in the rounds of a sweep. */
struct alike {
	const char *text; /* of the first one */
	bool error;
	size_t n;
	double least[MAX_NUMBERS], most[MAX_NUMBERS];
	bool others; /* they are of several hosts or targets */
};

/* The number at `text`, which is part of no word, and its length; 0: there is none. */
static size_t number_at(const char *begin, const char *text, double *value)
{
	char *end;

	if (*text < '0' || *text > '9')
		return 0;
	if (text > begin && (isalnum((unsigned char)text[-1]) || strchr("_.-/", text[-1])))
		return 0;
	*value = strtod(text, &end);
	return isalpha((unsigned char)*end) || *end == '_' || *end == '/' ? 0 :
									    (size_t)(end - text);
}

/*
 * The sentence of a message after the name of its target, "target 0, data: ", and the name of its
 * host in the document of several hosts.
 */
static const char *sentence(const struct document *d, const char *text)
{
	const char *host = d->combined ? strstr(text, ": ") : NULL;
	const char *rest = host ? host + 2 : text;
	const char *target = strncmp(rest, "target ", 7) == 0 ? strstr(rest, ": ") : NULL;

	return target ? target + 2 : rest;
}

/* True if the texts are equal apart from numbers. */
static bool are_alike(const char *a, const char *b)
{
	const char *const begin_a = a, *const begin_b = b;
	double value;

	while (*a && *b) {
		const size_t in_a = number_at(begin_a, a, &value);
		const size_t in_b = number_at(begin_b, b, &value);

		if (!in_a != !in_b || (!in_a && *a != *b))
			return false;
		a += in_a ? in_a : 1;
		b += in_b ? in_b : 1;
	}
	return *a == *b;
}

static void alike_add(struct alike *group, const char *text)
{
	size_t k = 0, length;
	double value;

	for (const char *c = text; *c && k < MAX_NUMBERS; c += length ? length : 1) {
		length = number_at(text, c, &value);
		if (!length)
			continue;
		group->least[k] = group->n ? fmin(group->least[k], value) : value;
		group->most[k] = group->n ? fmax(group->most[k], value) : value;
		k++;
	}
	group->n++;
}

/* The text of the first message; "2 to 17" stands for numbers of its sentence that differ. */
static void put_alike(struct page *p, const struct document *d, const struct alike *group)
{
	struct memstream m;
	FILE *f = xmemstream_open(&m);
	const char *text = sentence(d, group->text);
	size_t k = 0, length;
	double value;

	fwrite(group->text, 1, (size_t)(text - group->text), f);
	for (const char *c = text; *c; c += length ? length : 1) {
		length = number_at(text, c, &value);
		if (length && k < MAX_NUMBERS && group->least[k] < group->most[k])
			fprintf(f, "%.15g to %.15g", group->least[k], group->most[k]);
		else
			fwrite(c, 1, length ? length : 1, f);
		k += length > 0;
	}
	if (group->n > 1)
		fprintf(f, " (%zu times%s)", group->n,
			group->others ? d->combined ? ", of several hosts or targets" :
						      ", of several targets" :
					"");
	xmemstream_close(&m);
	put_verdict(p, group->error ? "bad" : "note", group->error ? "error" : "warning", "%s",
		    m.text);
	free(m.text);
}

static void put_messages(struct page *p, const struct document *d)
{
	struct alike *groups = xcalloc(MAX_MESSAGES, sizeof(*groups));
	size_t n = 0, left_out = 0, k;

	for (size_t i = 0; i < d->n_messages; i++) {
		const struct document_message *m = &d->messages[i];

		for (k = 0; k < n; k++) {
			if (groups[k].error == m->error &&
			    are_alike(sentence(d, groups[k].text), sentence(d, m->text)))
				break;
		}
		if (k == MAX_MESSAGES) {
			left_out++;
			continue;
		}
		if (k == n)
			groups[n++] = (struct alike){ .text = m->text, .error = m->error };
		groups[k].others |= !are_alike(groups[k].text, m->text);
		alike_add(&groups[k], sentence(d, m->text));
	}
	for (k = 0; k < n; k++)
		put_alike(p, d, &groups[k]);
	if (left_out)
		page_item(p, "%zu more messages are in the document.", left_out);
	free(groups);
}

static bool has_finding(const struct document *d, size_t point, unsigned rule)
{
	return point < d->n_points && d->points[point].findings >> rule & 1;
}

/* "1 to 7, 9, 10": the numbers of the points with a finding; true if there are any. */
static bool finding_points(const struct document *d, unsigned rule, char *buf, size_t size)
{
	size_t ranges = 0, end;

	buf[0] = '\0';
	for (size_t i = 0; i < d->n_points; i = end + 1) {
		for (end = i; has_finding(d, i, rule) && has_finding(d, end + 1, rule); end++)
			;
		if (!has_finding(d, i, rule) || ++ranges > MAX_POINTS)
			continue;
		text_list(buf, size, "%.15g", d->points[i].number);
		if (end > i)
			text_add(buf, size, end > i + 1 ? " to %.15g" : ", %.15g",
				 d->points[end].number);
	}
	if (ranges > MAX_POINTS)
		text_add(buf, size, " and more");
	return ranges > 0;
}

/* The findings of the rounds of a sweep, with the numbers of the points. */
static void put_findings(struct page *p, const struct document *d)
{
	char points[PATH_BYTES * 4];

	for (unsigned rule = 0; rule < RULE_FINDINGS; rule++) {
		if (finding_points(d, rule, points, sizeof(points)))
			put_verdict(p, "note", "finding", "%s, at point %s",
				    rule_table[rule].condition, points);
	}
}

void page_summary(struct page *p, const struct compare_run *run)
{
	const struct document *d = &run->doc;

	page_put(p, "<ul class=\"verdicts\">\n");
	put_end(p, d);
	put_faults(p, document_result(d, RESULT_COMBINED));
	if (!d->sweep) {
		put_limits(p, d);
		put_certainty(p, d);
		put_steady(p, d);
	} else {
		put_findings(p, d);
	}
	put_messages(p, d);
	put_good(p, d);
	page_put(p, "</ul>\n");
	put_facts(p, d);
}
