/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The answer of a document, which its part of the page begins with: a few figures with what they
 * are worth. Called by page.c.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "report/page/page.h"
#include "xdd/base/text.h"
#include "xdd/base/units.h"

#define NOTE_BYTES 320

/* A value of more letters is no figure, and smaller: both causes of a copy. */
#define FIGURE_LETTERS 24

/* One figure; `note` may be empty. `tone` is a class of the style. */
static void put_toned(struct page *p, const char *tone, const char *name, const char *value,
		      const char *note)
{
	page_put(p, "<div class=\"%s%s\"><dt>", tone,
		 strlen(value) > FIGURE_LETTERS ? " words" : "");
	page_text(p, name);
	page_put(p, "</dt><dd><strong>");
	page_text(p, value);
	page_put(p, "</strong>");
	if (*note) {
		page_put(p, "<span>");
		page_text(p, note);
		page_put(p, "</span>");
	}
	page_put(p, "</dd></div>\n");
}

static void put_answer(struct page *p, const char *name, const char *value, const char *note)
{
	put_toned(p, "plain", name, value, note);
}

/* ---- a run ---- */

/*
 * A rate over all passes. The mean of the passes may differ, and it is what the scatter is of;
 * a wide one makes the figure uncertain.
 */
static void put_rate(struct page *p, const char *name, const char *value,
		     const struct document_statistic *all, enum pass_figure figure,
		     char *(*write)(double value, char *buf))
{
	const struct document_figure *f = all ? &all->figures[figure] : NULL;
	char text[SCALED_SIZE], note[NOTE_BYTES];
	const double percent = f && all->n > 1 ? page_interval_percent(f) : NAN;
	bool wide;

	if (isnan(percent)) {
		put_answer(p, name, value, "");
		return;
	}
	wide = percent >= rule_table[RULE_MEAN].limit;
	if (rule_too_few(percent))
		snprintf(note, sizeof(note), "uncertain: %zu passes are too few", all->n);
	else
		snprintf(note, sizeof(note), "%s%zu passes: mean %s +-%.2g %%",
			 wide ? "uncertain; " : "", all->n, write(f->mean, text), percent);
	put_toned(p, wide ? "note" : "plain", name, value, note);
}

/* "p50 292 us", or nothing where it is not known. */
static void add_time(char *note, size_t size, const char *before, const struct figures *f,
		     enum pass_figure figure, unsigned dir)
{
	const double ns = figure_of_dir(f, figure, dir);
	char text[SCALED_SIZE];

	if (isfinite(ns))
		text_add(note, size, "%s %s", before, scaled_time(ns, text));
}

/*
 * A direction: half of the operations took no longer than the value, 99 % than its note. Response
 * times come first: they include the wait of operations that are due.
 */
static void put_latency(struct page *p, const struct figures *f, unsigned dir)
{
	const bool responds = f->latency.of[LATENCY_RESPONSE][dir].n;
	const enum pass_figure half = responds ? FIGURE_RESPONSE_P50 : FIGURE_P50;
	const enum pass_figure far = responds ? FIGURE_RESPONSE_P99 : FIGURE_P99;
	char value[SCALED_SIZE], note[NOTE_BYTES] = "", title[64];

	if (!responds && !f->latency.of[LATENCY_SERVICE][dir].n)
		return;
	snprintf(title, sizeof(title), "%s time, %s: p50", responds ? "response" : "service",
		 op_dir_name((enum op_dir)dir));
	add_time(note, sizeof(note), "p99", f, far, dir);
	if (!*note)
		snprintf(note, sizeof(note), "p99 not known: too few operations");
	if (responds && f->latency.of[LATENCY_SERVICE][dir].n) {
		add_time(note, sizeof(note), "; service time: p50", f, FIGURE_P50, dir);
		add_time(note, sizeof(note), ", p99", f, FIGURE_P99, dir);
	}
	put_answer(p, title, scaled_time(figure_of_dir(f, half, dir), value), note);
}

/* ---- what limited a run ---- */

/* The targets with one cause, and the range of its share in percent; NAN: not known. */
struct limited {
	size_t n;
	double least, most;
};

static void limited_add(struct limited *l, const struct document_result *r)
{
	const char *name = result_causes[r->bound].share;
	const double share =
		name ? 100 * document_real(json_object_get(r->value, "bound_shares"), name) : NAN;

	l->least = l->n ? fmin(l->least, share) : share;
	l->most = l->n ? fmax(l->most, share) : share;
	l->n++;
}

/* "94 % of the time". */
static int limited_text(const struct limited *l, char *buf, size_t size)
{
	buf[0] = '\0';
	if (!(l->most <= 100.5))
		return 0;
	if (round(l->least) < round(l->most))
		return snprintf(buf, size, "%.0f to %.0f %% of the time", l->least, l->most);
	return snprintf(buf, size, "%.0f %% of the time", l->most);
}

/* Each cause with its number of targets. */
static void put_causes(struct page *p, const struct limited *l, size_t n)
{
	char note[NOTE_BYTES] = "", share[64];

	for (unsigned b = RESULT_BOUND_UNKNOWN + 1; b < RESULT_BOUNDS; b++) {
		if (!l[b].n)
			continue;
		limited_text(&l[b], share, sizeof(share));
		text_add(note, sizeof(note), "%s%zu of %zu: %s%s%s", *note ? "; " : "", l[b].n, n,
			 result_causes[b].words, *share ? ", " : "", share);
	}
	put_answer(p, "limited by", "several causes", note);
}

/* A cause that is not single has all shares. */
static void mixed_text(const struct document_result *r, char *buf, size_t size)
{
	const json_t *shares = json_object_get(r->value, "bound_shares");

	buf[0] = '\0';
	if (json_is_object(shares))
		snprintf(buf, size, "storage %.0f %%, no free processor %.0f %%, busy %.0f %%",
			 100 * document_real(shares, "device"),
			 100 * document_real(shares, "no_processor"),
			 100 * document_real(shares, "busy"));
}

/* The part of a copy that the others waited for. */
static bool put_copy_limit(struct page *p, const struct document *d)
{
	static const struct {
		const char *side, *share;
	} parts[COPY_LIMITS] = {
		[COPY_LIMIT_SOURCE_STORAGE] = { "source", "storage" },
		[COPY_LIMIT_NETWORK] = { "source", "network" },
		[COPY_LIMIT_DESTINATION_STORAGE] = { "destination", "storage" },
		[COPY_LIMIT_SOURCE_PROCESSOR] = { "source", "processor" },
		[COPY_LIMIT_DESTINATION_PROCESSOR] = { "destination", "processor" },
		[COPY_LIMIT_SOURCE_PACE] = { "source", "pace" },
		[COPY_LIMIT_DESTINATION_PACE] = { "destination", "pace" },
	};
	const struct copy_verdict *v = d->n_copies ? &d->copies[d->n_copies - 1].verdict : NULL;
	const json_t *copies = json_object_get(d->root, "endtoend"), *side;
	char words[COPY_VERDICT_SIZE], note[NOTE_BYTES] = "";
	double share;

	if (!v || !copy_verdict_text(v, words))
		return v != NULL;
	side = json_object_get(json_array_get(copies, json_array_size(copies) - 1),
			       parts[v->limit].side ? parts[v->limit].side : "");
	share = parts[v->limit].share ?
			document_real(json_object_get(side, "shares"), parts[v->limit].share) :
			NAN;
	if (share <= 1)
		snprintf(note, sizeof(note), "%.0f %% of the time", 100 * share);
	put_answer(p, "limited by", words, note);
	return true;
}

static void put_limit(struct page *p, const struct document *d)
{
	struct limited l[RESULT_BOUNDS] = { { .n = 0 } };
	const struct document_result *last = NULL;
	char note[NOTE_BYTES];
	size_t n = 0;

	if (put_copy_limit(p, d))
		return;
	for (size_t i = 0; i < d->n_results; i++) {
		const struct document_result *r = &d->results[i];

		if (r->what != RESULT_TARGET_AVERAGE || r->bound == RESULT_BOUND_UNKNOWN)
			continue;
		limited_add(&l[r->bound], r);
		last = r;
		n++;
	}
	if (!n)
		return;
	if (l[last->bound].n < n) {
		put_causes(p, l, n);
		return;
	}
	if (last->bound == RESULT_BOUND_MIXED && n == 1)
		mixed_text(last, note, sizeof(note));
	else
		limited_text(&l[last->bound], note, sizeof(note));
	put_toned(p, result_causes[last->bound].disturbs ? "note" : "plain", "limited by",
		  result_causes[last->bound].words, note);
}

/* That a run failed is its first answer. */
static void put_failure(struct page *p, const struct document *d)
{
	const bool failed = d->status > 0;
	char note[NOTE_BYTES];
	struct figures f;

	if (!failed && !d->partial)
		return;
	page_figures(document_result(d, RESULT_COMBINED), &f);
	if (failed)
		snprintf(note, sizeof(note), "exit status %.0f%s", d->status,
			 d->partial ? "; cut short" : "");
	else
		snprintf(note, sizeof(note), "the figures are of a part of it");
	if (f.tally.errors)
		text_add(note, sizeof(note), "; %" PRIu64 " operation%s failed", f.tally.errors,
			 f.tally.errors == 1 ? "" : "s");
	figures_free(&f);
	put_toned(p, "bad", "end", failed ? "failed" : "cut short", note);
}

static void put_run(struct page *p, const struct document *d)
{
	const struct document_statistic *s = document_statistic(&d->statistics, DOCUMENT_ALL);
	const struct document_result *all = document_result(d, RESULT_COMBINED);
	char text[SCALED_SIZE];
	struct figures f;

	if (page_figures(all, &f) && all->elapsed_ns) {
		put_rate(p, "rate", scaled_rate(figure_of_pass(&f, FIGURE_BANDWIDTH), text), s,
			 FIGURE_BANDWIDTH, scaled_rate);
		put_rate(p, "operations per second",
			 scaled_ops(figure_of_pass(&f, FIGURE_IOPS), text), s, FIGURE_IOPS,
			 scaled_ops);
		for (unsigned dir = 0; dir < DIR_COUNT; dir++)
			put_latency(p, &f, dir);
	}
	figures_free(&f);
	put_limit(p, d);
}

/* ---- a sweep ---- */

/* A figure of sweeps for which one point is the best. */
struct best {
	enum pass_figure figure;
	const char *name;
	bool low; /* the lowest value is the best */
	char *(*write)(double value, char *buf);
};

static const struct document_figure *figure_at(const struct document_point *point,
					       const struct best *b)
{
	const struct document_statistic *all = document_statistic(&point->statistics, DOCUMENT_ALL);
	const struct document_figure *f = all ? &all->figures[b->figure] : NULL;

	return f && f->mean > 0 ? f : NULL;
}

static const struct document_point *best_point(const struct document *d, const struct best *b)
{
	const struct document_point *found = NULL;
	double mean = 0;

	for (size_t i = 0; i < d->n_points; i++) {
		const struct document_figure *f = figure_at(&d->points[i], b);

		if (!f || (found && (b->low ? f->mean >= mean : f->mean <= mean)))
			continue;
		found = &d->points[i];
		mean = f->mean;
	}
	return found;
}

/*
 * Points whose interval overlaps with the interval of the best one; of a sweep of one option,
 * their values in `buf`.
 */
static size_t as_good(const struct document *d, const struct best *b,
		      const struct document_point *best, char *buf, size_t size)
{
	const struct document_figure *f = figure_at(best, b);
	size_t n = 0;

	buf[0] = '\0';
	for (size_t i = 0; i < d->n_points; i++) {
		const struct document_figure *other = figure_at(&d->points[i], b);

		if (&d->points[i] == best || !other ||
		    fabs(other->mean - f->mean) > (other->high - other->mean) + (f->high - f->mean))
			continue;
		n++;
		if (d->n_axes == 1)
			text_add(buf, size, "%s%s", n > 1 ? ", " : "",
				 document_text(d->points[i].varied, d->axes[0].option));
	}
	return n;
}

static void put_best(struct page *p, const struct document *d, const struct best *b)
{
	const struct document_point *point = best_point(d, b);
	char value[SCALED_SIZE], note[NOTE_BYTES] = "", values[NOTE_BYTES / 4];
	size_t others;

	if (!point)
		return;
	for (size_t i = 0; i < d->n_axes; i++) {
		const char *text = document_text(point->varied, d->axes[i].option);

		if (*text)
			text_add(note, sizeof(note), "%s%s %s", *note ? ", " : "at ",
				 d->axes[i].option, text);
	}
	others = as_good(d, b, point, values, sizeof(values));
	if (others && d->n_axes == 1)
		text_add(note, sizeof(note), "; as good within the intervals: %s", values);
	else if (others)
		text_add(note, sizeof(note),
			 "; %zu of %zu others %s as good, within their intervals", others,
			 d->n_points - 1, others == 1 ? "is" : "are");
	put_answer(p, b->name, b->write(figure_at(point, b)->mean, value), note);
}

static void put_sweep(struct page *p, const struct document *d)
{
	static const struct best best[] = {
		{ FIGURE_BANDWIDTH, "highest rate", false, scaled_rate },
		{ FIGURE_IOPS, "most operations per second", false, scaled_ops },
		{ FIGURE_LATENCY, "lowest mean latency", true, scaled_time },
		{ FIGURE_P99, "lowest p99", true, scaled_time },
	};

	for (size_t i = 0; i < sizeof(best) / sizeof(best[0]); i++)
		put_best(p, d, &best[i]);
}

/* ---- a curve ---- */

static void put_maximum(struct page *p, const struct document_curve *c)
{
	char rate[SCALED_SIZE], note[NOTE_BYTES] = "";

	if (!c->maximum.known) {
		put_answer(p, "maximum", "not known", "");
		return;
	}
	if (rule_too_few(c->maximum.interval_percent))
		snprintf(note, sizeof(note), "uncertain: " RULE_TOO_FEW_WORDS);
	else if (c->maximum.interval_percent >= 0)
		snprintf(note, sizeof(note), "+-%.2g %%", c->maximum.interval_percent);
	put_toned(p, c->maximum.interval_percent >= rule_table[RULE_MEAN].limit ? "note" : "plain",
		  "maximum", scaled_ops(c->maximum.iops, rate), note);
}

static void put_knee(struct page *p, const struct document_curve *c)
{
	char value[SCALED_SIZE], note[NOTE_BYTES];

	if (!c->knee.known) {
		put_answer(p, "knee", "none found", c->knee.missing);
		return;
	}
	snprintf(note, sizeof(note), "%.3g %% of the maximum", c->knee.percent);
	if (c->knee.low_percent >= 0 && c->knee.high_percent >= 0)
		text_add(note, sizeof(note), ", between %.3g %% and %.3g %% with 95 %% confidence",
			 c->knee.low_percent, c->knee.high_percent);
	put_answer(p, "knee: more load costs more time than it gains",
		   scaled_ops(c->knee.iops, value), note);
}

const char *page_goal_figure(const char *name)
{
	static const char prefix[] = "response_";

	if (strncmp(name, prefix, sizeof(prefix) - 1) == 0)
		return name + sizeof(prefix) - 1;
	return "mean";
}

static void put_goal(struct page *p, const struct document_curve *c)
{
	const double holds = c->goal.holds_percent, fails = c->goal.fails_percent;
	char title[NOTE_BYTES], value[SCALED_SIZE], limit[SCALED_SIZE], note[NOTE_BYTES] = "";

	if (!c->goal.given)
		return;
	snprintf(title, sizeof(title), "goal: response %s up to %s",
		 page_goal_figure(c->goal.figure), scaled_time(c->goal.limit_ns, limit));
	if (!(holds > 0)) {
		put_answer(p, title, fails > 0 ? "at no load" : "not judged",
			   fails > 0 ? "" : "too few operations in a round");
		return;
	}
	snprintf(note, sizeof(note), "at %.4g %% of the maximum", holds);
	if (fails > 0)
		text_add(note, sizeof(note), ", not at %.4g %%", fails);
	if (c->goal.disturbed)
		text_add(note, sizeof(note),
			 "; a response time falls while the load rises: disturbed");
	put_answer(p, title, scaled_ops(c->goal.holds_iops, value), note);
}

/* ---- a comparison ---- */

const char *page_direction(enum pass_figure figure, double ratio)
{
	const bool more = figure == FIGURE_BANDWIDTH || figure == FIGURE_IOPS ||
			  figure == FIGURE_MAXIMUM || figure == FIGURE_KNEE;

	return (ratio > 1) == more ? "better" : "worse";
}

static void put_change(struct page *p, const struct compare_subject *s, enum pass_figure figure,
		       const struct compare_figure *f, bool same_plan)
{
	const bool real = f->verdict == COMPARE_REAL;
	const char *direction = page_direction(figure, f->ratio.ratio);
	char a[SCALED_SIZE], b[SCALED_SIZE], note[NOTE_BYTES];
	struct compare_texts t;

	compare_texts(&t, s, f);
	snprintf(note, sizeof(note), "%s%s%s in a, %s in b; %s%s%s", real ? direction : "",
		 real ? ": " : "", figure_text(figure, f->a, a), figure_text(figure, f->b, b),
		 t.verdict, *t.reason ? ": " : "", t.reason);
	put_toned(p,
		  !real || !same_plan ? "plain" :
		  *direction == 'b'   ? "good" :
					"bad",
		  pass_figures[figure].shown, t.change, note);
}

/* Of a sweep: the changes of all points, and how many are real. */
struct changes {
	size_t n, better, worse;
	double least, most; /* ratios */
};

static void changes_add(struct changes *c, enum pass_figure figure, const struct compare_figure *f)
{
	const double ratio = f->ratio.ratio;

	if (f->verdict == COMPARE_NO_FIGURE || !isfinite(ratio))
		return;
	c->least = c->n ? fmin(c->least, ratio) : ratio;
	c->most = c->n ? fmax(c->most, ratio) : ratio;
	c->n++;
	if (f->verdict != COMPARE_REAL)
		return;
	if (*page_direction(figure, ratio) == 'b')
		c->better++;
	else
		c->worse++;
}

/* Only a change that all points have is good or bad. */
static void put_changes(struct page *p, enum pass_figure figure,
			const struct compare_subjects *subjects, bool same_plan)
{
	struct changes c = { .n = 0 };
	char value[COMPARE_TEXT], note[NOTE_BYTES] = "";
	size_t rest;

	for (size_t i = 0; i < subjects->n; i++) {
		const struct compare_figure f =
			compare_judge(&subjects->list[i], figure, subjects->n);

		changes_add(&c, figure, &f);
	}
	if (!c.n)
		return;
	if (c.n == 1)
		compare_change_text(c.least, value);
	else
		compare_range_text(c.least, c.most, value);
	rest = c.n - c.better - c.worse;
	if (c.better)
		snprintf(note, sizeof(note), "better at %zu of %zu points", c.better, c.n);
	if (c.worse)
		text_add(note, sizeof(note), "%sworse at %zu of %zu points", *note ? "; " : "",
			 c.worse, c.n);
	if (rest)
		text_add(note, sizeof(note), "%snot real at %zu", *note ? "; " : "", rest);
	put_toned(p,
		  !same_plan	  ? "plain" :
		  c.better == c.n ? "good" :
		  c.worse == c.n  ? "bad" :
				    "plain",
		  pass_figures[figure].shown, value, note);
}

/* The load that meets the goal of two curves; how certain it is, is not known. */
static void put_goal_change(struct page *p, const struct document_curve *a,
			    const struct document_curve *b)
{
	char title[NOTE_BYTES], limit[SCALED_SIZE], value[COMPARE_TEXT], note[NOTE_BYTES];
	char in_a[SCALED_SIZE], in_b[SCALED_SIZE];

	if (!a->goal.given || !b->goal.given || strcmp(a->goal.figure, b->goal.figure) != 0 ||
	    a->goal.limit_ns != b->goal.limit_ns || !(a->goal.holds_iops > 0) ||
	    !(b->goal.holds_iops > 0))
		return;
	snprintf(title, sizeof(title), "load of the goal: response %s up to %s",
		 page_goal_figure(a->goal.figure), scaled_time(a->goal.limit_ns, limit));
	compare_change_text(b->goal.holds_iops / a->goal.holds_iops, value);
	snprintf(note, sizeof(note), "%s in a, %s in b; not judged, since it has no interval",
		 scaled_ops(a->goal.holds_iops, in_a), scaled_ops(b->goal.holds_iops, in_b));
	put_answer(p, title, value, note);
}

void page_answer_change(struct page *p, const struct compare_subjects *subjects,
			const struct compare_run *runs, bool points, bool same_plan)
{
	/* A curve is the last one, and all targets together are the first one. */
	const struct compare_subject *s = &subjects->list[subjects->curve ? subjects->n - 1 : 0];

	page_put(p, "<dl class=\"answer\">\n");
	if (subjects->curve)
		put_goal_change(p, &runs[0].doc.curve, &runs[1].doc.curve);
	for (enum pass_figure figure = 0; figure < FIGURE_NAMES; figure++) {
		const struct compare_figure f = compare_judge(s, figure, subjects->n);

		if (!pass_figures[figure].shown)
			continue;
		if (points)
			put_changes(p, figure, subjects, same_plan);
		else if (f.verdict != COMPARE_NO_FIGURE)
			put_change(p, s, figure, &f, same_plan);
	}
	page_put(p, "</dl>\n");
}

void page_answer(struct page *p, const struct compare_run *run)
{
	const struct document *d = &run->doc;

	page_put(p, "<dl class=\"answer\">\n");
	put_failure(p, d);
	if (d->curved) {
		put_goal(p, &d->curve);
		put_maximum(p, &d->curve);
		put_knee(p, &d->curve);
	} else if (d->sweep) {
		put_sweep(p, d);
	} else {
		put_run(p, d);
	}
	page_put(p, "</dl>\n");
}
