/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * xdd compare: the differences between two JSON values as text, conditions of -failif,
 * verdicts, and sweeps side by side; see the header. Called by the command.
 */
#include "xdd/report/compare.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "xdd/base/log.h"
#include "xdd/base/memory.h"
#include "xdd/base/text.h"
#include "xdd/base/units.h"
#include "xdd/report/jvalue.h"
#include "xdd/report/rule.h"
#include "xdd/report/sweep.h"

#define PATH_SIZE 256
#define PATH_WIDTH 46

struct diff {
	FILE *f;
	const char *const *skip;
	size_t n;
};

static bool is_left_out(const struct diff *d, const char *key)
{
	for (const char *const *s = d->skip; *s; s++) {
		if (strcmp(*s, key) == 0)
			return true;
	}
	return false;
}

static void compare_diff_line(struct diff *d, const char *path, const json_t *a, const json_t *b)
{
	const size_t width = printable_is_safe(path) ? strlen(path) : PATH_WIDTH;

	fputs("  ", d->f);
	printable_put(d->f, path);
	fprintf(d->f, "%*s  ", width < PATH_WIDTH ? (int)(PATH_WIDTH - width) : 0, "");
	jvalue_show(d->f, a);
	fputs(" -> ", d->f);
	jvalue_show(d->f, b);
	fputc('\n', d->f);
	d->n++;
}

/* `path` and one name more, with blanks for underscores. */
static void deeper(char *buf, const char *path, const char *name)
{
	snprintf(buf, PATH_SIZE, "%s%s%s", path, *path ? " " : "", name);
	for (char *c = buf; *c; c++) {
		if (*c == '_')
			*c = ' ';
	}
}

static void compare_diff_walk(struct diff *d, const char *path, const json_t *a, const json_t *b);

static void walk_member(struct diff *d, const char *path, const char *key, const json_t *a,
			const json_t *b)
{
	char buf[PATH_SIZE];

	if (is_left_out(d, key))
		return;
	deeper(buf, path, key);
	compare_diff_walk(d, buf, a, b);
}

/* In the order of a, then what b alone has. */
static void walk_object(struct diff *d, const char *path, json_t *a, json_t *b)
{
	const char *key;
	json_t *value;

	json_object_foreach(a, key, value)
		walk_member(d, path, key, value, json_object_get(b, key));
	json_object_foreach(b, key, value)
	{
		if (!json_object_get(a, key))
			walk_member(d, path, key, NULL, value);
	}
}

static void walk_array(struct diff *d, const char *path, const json_t *a, const json_t *b)
{
	size_t na = json_array_size(a), nb = json_array_size(b);

	for (size_t i = 0; i < na || i < nb; i++) {
		char number[24];

		snprintf(number, sizeof(number), "%zu", i);
		walk_member(d, path, number, json_array_get(a, i), json_array_get(b, i));
	}
}

static void compare_diff_walk(struct diff *d, const char *path, const json_t *a, const json_t *b)
{
	if (a && b && json_equal((json_t *)a, (json_t *)b))
		return;
	if ((!a || json_is_null(a)) && (!b || json_is_null(b)))
		return;
	if (json_is_object(a) && json_is_object(b))
		walk_object(d, path, (json_t *)a, (json_t *)b);
	else if (json_is_array(a) && json_is_array(b) &&
		 !(jvalue_is_plain(a) && jvalue_is_plain(b)))
		walk_array(d, path, a, b);
	else
		compare_diff_line(d, path, a, b);
}

const char *const compare_skipped[] = {
	"available_bytes", "free_bytes", "given",	"jsonout", "output",
	"errout",	   "csvout",	 "combinedout", "id",	   NULL
};

size_t compare_diff(FILE *f, const json_t *a, const json_t *b, const char *const *skip)
{
	struct diff d = { .f = f, .skip = skip };

	compare_diff_walk(&d, "", a, b);
	return d.n;
}

/*
 * The conditions of -failif: parsing them, and judging them.
 */

#define NUMBER_SIZE 32
#define PERCENT_MAX 1e6

static bool compare_failif_refuse(const struct compare_limit *limit, const char *problem)
{
	return log_fail(false, "compare: -failif %.*s: %s", (int)limit->length, limit->text,
			problem);
}

static const char *figure_at(const void *words, size_t i)
{
	(void)words;
	return i < FIGURE_NAMES ? figure_name((enum pass_figure)i) : NULL;
}

static bool parse_figure(struct compare_limit *limit, size_t length)
{
	char word[NUMBER_SIZE], problem[200];
	const char *near;

	for (enum pass_figure i = 0; i < FIGURE_NAMES; i++) {
		if (strlen(figure_name(i)) == length &&
		    strncmp(limit->text, figure_name(i), length) == 0) {
			limit->figure = i;
			return true;
		}
	}
	snprintf(word, sizeof(word), "%.*s", (int)length, limit->text);
	near = suggest_nearest(word, figure_at, NULL);
	snprintf(
		problem, sizeof(problem),
		"expected bandwidth, iops, latency, p50, p99, p99.9, flush, response, "
		"response_p50, response_p99, response_p99.9, maximum or knee before the sign%s%s%s",
		near ? "; did you mean " : "", near ? near : "", near ? "?" : "");
	return compare_failif_refuse(limit, problem);
}

bool compare_limit_parse(struct compare_limit *limit, const char *text)
{
	size_t sign = strcspn(text, "+-,"), length;
	char number[NUMBER_SIZE];
	double percent;

	*limit = (struct compare_limit){ .text = text, .length = strcspn(text, ",") };
	if (sign >= limit->length || text[limit->length - 1] != '%')
		return compare_failif_refuse(
			limit,
			"expected <figure>+<percent>% or <figure>-<percent>%, such as p99+10%");
	if (!parse_figure(limit, sign))
		return false;
	limit->falls = text[sign] == '-';
	length = limit->length - sign - 2;
	snprintf(number, sizeof(number), "%.*s", (int)length, text + sign + 1);
	if (length >= sizeof(number) || units_parse_real(number, &percent) ||
	    percent > PERCENT_MAX || (limit->falls && percent >= 100))
		return compare_failif_refuse(
			limit, limit->falls ? "expected a percentage from 0 to less than 100" :
					      "expected a percentage from 0 to 1000000");
	limit->ratio = limit->falls ? 1 - percent / 100 : 1 + percent / 100;
	return true;
}

static const char *why_no_figure(const struct compare_subject *s, enum pass_figure figure)
{
	if (figure >= FIGURE_ALL)
		return "a curve does not have it";
	if (figure_is_percentile(figure))
		return s->rounds ?
			       "a document does not have this figure for each round; p99 needs 1000 operations in "
			       "each, p99.9 10,000" :
			       "a document does not have this figure for each pass; p99 needs 1000 operations in "
			       "each, p99.9 10,000";
	return s->rounds ? "a document does not have this figure for each round" :
			   "a document does not have this figure for each pass";
}

/* More passes make an interval narrower; the spread between several runs needs more of these. */
static const char *why_wide(const struct compare_subject *s)
{
	if (s->a->n > 1 || s->b->n > 1)
		return s->rounds ? "the interval is wider than the limit; compare more sweeps" :
				   "the interval is wider than the limit; compare more runs";
	return s->rounds ? "the interval is wider than the limit; run more rounds" :
			   "the interval is wider than the limit; run more passes";
}

static const char *why_unsteady(const struct compare_subject *s)
{
	return s->rounds ? COMPARE_UNSTEADY ", since " COMPARE_UNSTEADY_ROUNDS
					    "; compare several sweeps of each" :
			   COMPARE_UNSTEADY ", since " COMPARE_UNSTEADY_PASSES
					    "; compare several runs of each";
}

/* True if the whole interval is within the limit, however wide it is. */
static bool is_proven(const struct compare_limit *limit, const struct stats_ratio *r)
{
	return limit->falls ? r->low >= limit->ratio : r->high <= limit->ratio;
}

/*
 * A limit is exceeded when the change is, and is real. An interval that reaches further to one
 * side than the limit allows could not show a change of that size: the answer would depend on
 * luck. The limit 0 asks for any real change, which needs no such precision.
 */
enum compare_limit_state compare_limit_check(const struct compare_limit *limit,
					     const struct compare_subject *s,
					     const struct compare_figure *figure, const char **why)
{
	double change = limit->falls ? 1 / figure->ratio.ratio : figure->ratio.ratio;
	double allowed = limit->falls ? 1 / limit->ratio : limit->ratio;
	double width = sqrt(figure->ratio.high / figure->ratio.low);

	if (figure->verdict == COMPARE_NO_FIGURE)
		*why = why_no_figure(s, limit->figure);
	else if (figure->verdict == COMPARE_UNKNOWN)
		/* The remedy of a run depends on its options, and is the command's to name. */
		*why = s->rounds ?
			       "unknown, since there is no interval; run with -rounds 5 or more" :
			       "unknown, since there is no interval";
	else if (change > allowed && figure->verdict == COMPARE_REAL)
		return COMPARE_EXCEEDED;
	else if (change > allowed && figure->verdict == COMPARE_UNSTABLE)
		*why = why_unsteady(s);
	else if (allowed > 1 && width > allowed && !is_proven(limit, &figure->ratio))
		*why = why_wide(s);
	else
		return COMPARE_WITHIN;
	return COMPARE_UNDECIDED;
}

/*
 * Verdicts: whether a figure of two sides differs by more than chance.
 */

/*
 * Percentiles, flushes and response times are more figures in which equal runs may differ by
 * chance. At this level they add little to the share of equal runs that are called different.
 */
#define MORE_LEVEL 0.99

/* A percentile is a bucket's of the histogram; either side may be off by 0.4 %. */
#define PERCENTILE_RESOLUTION 1.008

/* The mean whose 95 % interval over `rounds` rounds has the half width `half`. */
static struct stats_summary summary_of(double mean, double half, double rounds)
{
	struct stats_summary s = { .n = 1, .mean = mean, .error = INFINITY };

	if (!(rounds >= 2) || !isfinite(half))
		return s;
	s.n = (size_t)rounds;
	s.freedom = rounds - 1;
	s.error = half / stats_t_quantile(1 - STATS_LEVEL, s.freedom);
	return s;
}

/* Rounds that the maximum of a curve is the mean of. */
static double rounds_of_maximum(const struct document *d)
{
	if (d->curve.maximum.steady_after > 0)
		return STATS_STEADY_WINDOW;
	for (size_t i = 0; i < d->n_points; i++) {
		if (!islessgreater(d->points[i].number, d->curve.maximum.point) &&
		    !isnan(d->points[i].number))
			return (double)d->points[i].rounds;
	}
	return 0;
}

static struct stats_summary summarize_curve(const struct document *d, enum pass_figure figure)
{
	const struct document_curve *c = &d->curve;
	const double knee = c->knee.percent, iops = c->maximum.iops;

	if (figure == FIGURE_KNEE)
		return summary_of(knee,
				  fmax(c->knee.high_percent - knee, knee - c->knee.low_percent),
				  c->rounds_least);
	return summary_of(iops, iops * c->maximum.interval_percent / 100, rounds_of_maximum(d));
}

/* The maximum or the knee of each curve of a side. False: one has none. */
static bool summarize_curves(const struct compare_side *side, enum pass_figure figure,
			     struct stats_summary *runs)
{
	for (size_t i = 0; i < side->n; i++) {
		runs[i] = summarize_curve(&side->runs[i].doc, figure);
		if (!(runs[i].mean > 0))
			return false;
	}
	return true;
}

/* A summary for each run of both sides. False: the figure is missing in one. */
static bool compare_judge_summarize(const struct compare_subject *s, enum pass_figure figure,
				    struct stats_summary *runs)
{
	if (figure >= FIGURE_ALL)
		return summarize_curves(s->a, figure, runs) &&
		       summarize_curves(s->b, figure, runs + s->a->n);
	for (size_t i = 0; i < s->a->n + s->b->n; i++) {
		const struct document_figure *f = &s->of[i]->figures[figure];

		if (!f->n)
			return false;
		runs[i] = stats_summarize(f->values, f->n);
	}
	return true;
}

/*
 * By how much the passes of a run change among themselves, as the logarithm of a ratio; 0 for
 * stable ones.
 */
static double change_of(const struct document_figure *f)
{
	struct stats_stability s = { .change = STATS_STABLE };

	if (f->n)
		s = stats_stability(f->values, f->n);
	return s.change == STATS_STABLE ? 0 : fabs(log1p(s.amount));
}

/*
 * True if the passes of a run vary as much as the sides differ: then the difference depends on when
 * the runs were made.
 */
static bool is_unstable(const struct document_statistic *s, enum pass_figure figure,
			double difference)
{
	double change = change_of(&s->figures[figure]);

	if (change <= 0 && *s->not_reproducible) {
		change = change_of(&s->figures[FIGURE_BANDWIDTH]);
		change = change > 0 ? change : INFINITY;
	}
	return change >= difference;
}

/* True if that is so for a run alone on its side; several runs show it in their spread. */
static bool are_unstable(const struct compare_subject *s, enum pass_figure figure,
			 double difference)
{
	return s->of && ((s->a->n == 1 && is_unstable(s->of[0], figure, difference)) ||
			 (s->b->n == 1 && is_unstable(s->of[s->a->n], figure, difference)));
}

double compare_level(enum pass_figure figure)
{
	return figure < FIGURE_FIRST_PERCENTILE || figure >= FIGURE_ALL ? STATS_LEVEL : MORE_LEVEL;
}

static double level_of(const struct compare_subject *s, enum pass_figure figure, size_t subjects)
{
	/* Bonferroni: among many subjects one would differ by chance. */
	return 1 - (1 - compare_level(figure)) / (s->kind == COMPARE_CURVE ? 1 : (double)subjects);
}

bool compare_limit_figure(const struct compare_subject *s, enum pass_figure *figure)
{
	if (s->kind == COMPARE_LOAD)
		*figure = figure_of_response(*figure);
	if (s->kind == COMPARE_LOOP && *figure >= FIGURE_RESPONSE)
		return false;
	if (s->offers_differ && figure_unit(*figure)->is_rate)
		return false;
	return (s->kind == COMPARE_CURVE) == (*figure >= FIGURE_ALL);
}

static bool is_judged_by(const struct compare_subject *s, enum pass_figure figure)
{
	enum pass_figure meant = figure;

	return (s->offers_differ && figure_unit(figure)->is_rate) ||
	       (compare_limit_figure(s, &meant) && meant == figure);
}

static enum compare_verdict verdict_of(const struct compare_subject *s, enum pass_figure figure,
				       const struct stats_ratio *r)
{
	if (!(r->low > 0) || !isfinite(r->high))
		return COMPARE_UNKNOWN;
	if (s->offers_differ && figure_unit(figure)->is_rate)
		return COMPARE_OFFERED;
	if (r->low <= 1 && r->high >= 1)
		return COMPARE_CHANCE;
	return are_unstable(s, figure, fabs(log(r->ratio))) ? COMPARE_UNSTABLE : COMPARE_REAL;
}

struct compare_figure compare_judge(const struct compare_subject *s, enum pass_figure figure,
				    size_t subjects)
{
	const struct compare_side *a = s->a, *b = s->b;
	struct stats_summary *runs = xcalloc(a->n + b->n, sizeof(*runs));
	struct compare_figure f = { .verdict = COMPARE_NO_FIGURE };

	if (is_judged_by(s, figure) && compare_judge_summarize(s, figure, runs)) {
		f.a = stats_mean_of_runs(runs, a->n);
		f.b = stats_mean_of_runs(runs + a->n, b->n);
		f.ratio =
			stats_compare(runs, a->n, runs + a->n, b->n, level_of(s, figure, subjects));
		if (figure_is_percentile(figure)) {
			f.ratio.low /= PERCENTILE_RESOLUTION;
			f.ratio.high *= PERCENTILE_RESOLUTION;
		}
		f.verdict = verdict_of(s, figure, &f.ratio);
	}
	free(runs);
	return f;
}

/*
 * Subjects: the targets of runs, and the points of sweeps side by side.
 */

/* Room for the statistics of all runs. */
static const struct document_statistic **
new_list(struct compare_subjects *s, const struct compare_side *a, const struct compare_side *b)
{
	return xarena_alloc(s->arena, (a->n + b->n) * sizeof(struct document_statistic *));
}

static void add_subject(struct compare_subjects *s, const struct compare_side *a,
			const struct compare_side *b, const struct document_statistic *const *of,
			const char *name, enum compare_kind kind)
{
	s->list[s->n++] = (struct compare_subject){
		.name = name, .a = a, .b = b, .of = of, .kind = kind, .rounds = a->runs[0].doc.sweep
	};
}

/* False: a run lacks the target. */
static bool find_target(const struct compare_side *side, int64_t target,
			const struct document_statistic **of)
{
	for (size_t i = 0; i < side->n; i++) {
		of[i] = document_statistic(&side->runs[i].doc.statistics, target);
		if (!of[i])
			return false;
	}
	return true;
}

static void add_target(struct compare_subjects *s, const struct compare_side *a,
		       const struct compare_side *b, int64_t target)
{
	const struct document_statistic **of = new_list(s, a, b);
	const char *name = "all targets";

	if (!find_target(a, target, of) || !find_target(b, target, of + a->n))
		return;
	if (target != DOCUMENT_ALL)
		name = xarena_printf(s->arena, "target %" PRId64, target);
	add_subject(s, a, b, of, name, COMPARE_TARGET);
}

/* The point of a sweep with these values; most often it has the same number. NULL: it has none. */
static const struct document_point *find_point(const struct document *d, size_t at,
					       const json_t *varied)
{
	if (at < d->n_points && json_equal(d->points[at].varied, varied))
		return &d->points[at];
	for (size_t i = 0; i < d->n_points; i++) {
		if (json_equal(d->points[i].varied, varied))
			return &d->points[i];
	}
	return NULL;
}

/* Find the point in each sweep of a side. False: it is missing in one. */
static bool find_points(const struct compare_side *side, size_t at, const json_t *varied,
			const struct document_statistic **of)
{
	for (size_t i = 0; i < side->n; i++) {
		const struct document_point *p = find_point(&side->runs[i].doc, at, varied);

		of[i] = p ? document_statistic(&p->statistics, DOCUMENT_ALL) : NULL;
		if (!of[i])
			return false;
	}
	return true;
}

/* "queuedepth 4, reqsize 4k" */
static const char *name_of(struct arena *arena, const json_t *varied)
{
	const char *option, *name = NULL;
	json_t *value;

	json_object_foreach((json_t *)(uintptr_t)varied, option, value)
		name = xarena_printf(arena, "%s%s%s %s", name ? name : "", name ? ", " : "", option,
				     json_string_value(value));
	return name ? name : "the point";
}

/* Offered rates that differ by less are equal, and were rounded. */
#define SAME_OFFER 1.001

/* The rate that the load of a point offers; NAN: not known. */
static double offered_by(const struct document *d, size_t at, const json_t *varied)
{
	const struct document_point *p = find_point(d, at, varied);

	for (size_t i = 0; p && i < d->curve.n_loads; i++) {
		if (!islessgreater(d->curve.loads[i].point, p->number))
			return d->curve.loads[i].offered_iops;
	}
	return NAN;
}

/* Loads are shares of the maximum of their curve, so that their rates differ as the maxima do. */
static bool offers_differ(const struct compare_side *a, const struct compare_side *b, size_t at,
			  const json_t *varied)
{
	double least = INFINITY, most = 0;

	for (size_t i = 0; i < a->n + b->n; i++) {
		const struct compare_run *run = i < a->n ? &a->runs[i] : &b->runs[i - a->n];
		const double offered = offered_by(&run->doc, at, varied);

		least = fmin(least, offered);
		most = fmax(most, offered);
	}
	return least > 0 && most > SAME_OFFER * least;
}

static void add_point(struct compare_subjects *s, const struct compare_side *a,
		      const struct compare_side *b, size_t at)
{
	const struct document_point *p = &a->runs[0].doc.points[at];
	const struct document_statistic **of = new_list(s, a, b);
	const char *name;

	if (!find_points(a, at, p->varied, of) || !find_points(b, at, p->varied, of + a->n))
		return;
	name = name_of(s->arena, p->varied);
	add_subject(s, a, b, of, name,
		    !s->curve	? COMPARE_TARGET :
		    p->responds ? COMPARE_LOAD :
				  COMPARE_LOOP);
	if (s->curve && p->responds)
		s->list[s->n - 1].offers_differ = offers_differ(a, b, at, p->varied);
	if (strlen(name) > s->width)
		s->width = strlen(name);
}

static bool are_curves(const struct compare_side *side)
{
	for (size_t i = 0; i < side->n; i++) {
		if (!side->runs[i].doc.curved)
			return false;
	}
	return true;
}

static void add_points(struct compare_subjects *s, const struct compare_side *a,
		       const struct compare_side *b)
{
	size_t most = a->runs[0].doc.n_points;

	s->curve = are_curves(a) && are_curves(b);
	for (size_t i = 0; i < a->runs[0].doc.n_points; i++)
		add_point(s, a, b, i);
	for (size_t i = 0; i < b->n; i++)
		most = b->runs[i].doc.n_points > most ? b->runs[i].doc.n_points : most;
	s->left_out = most - s->n;
	if (s->curve)
		add_subject(s, a, b, NULL, "the curve", COMPARE_CURVE);
}

void compare_subjects(struct compare_subjects *s, const struct compare_side *a,
		      const struct compare_side *b)
{
	const struct document *d = &a->runs[0].doc;
	const size_t n = d->sweep ? d->n_points : d->statistics.n;

	*s = (struct compare_subjects){ .arena = xarena_new() };
	s->list = xarena_alloc(s->arena, (n + 1) * sizeof(*s->list));
	if (d->sweep)
		add_points(s, a, b);
	for (int64_t i = DOCUMENT_ALL; !d->sweep && i < (int64_t)n; i++)
		add_target(s, a, b, i);
	/* The only target is all targets. */
	if (!d->sweep && s->n == 2 && n == 2 && s->list[0].of[0]->target == DOCUMENT_ALL)
		s->n = 1;
}

void compare_subjects_free(struct compare_subjects *s)
{
	arena_free(s->arena);
	*s = (struct compare_subjects){ .n = 0 };
}

/* ---- changes, intervals and verdicts as text ---- */

/* From ten times on, a change is a factor: "+60882 %" is hard to read. */
#define FACTOR_LEAST 10

/* A smaller ratio would round to -100.0 %, as if nothing were left. */
#define PERCENT_LEAST 0.0005

static bool is_factor(double ratio)
{
	return ratio >= FACTOR_LEAST || ratio < PERCENT_LEAST;
}

/* "0.43", "1.25", "12.5", "610" */
static void put_factor(double ratio, char buf[COMPARE_TEXT])
{
	if (ratio < 1)
		snprintf(buf, COMPARE_TEXT, "%.2g", ratio);
	else if (ratio < 1e6)
		snprintf(buf, COMPARE_TEXT, "%.*f", ratio < 10 ? 2 : ratio < 100 ? 1 : 0, ratio);
	else
		snprintf(buf, COMPARE_TEXT, "%.1e", ratio);
}

static void put_change(double ratio, bool factor, char buf[COMPARE_TEXT])
{
	if (!isfinite(ratio)) {
		strcpy(buf, "-");
	} else if (factor) {
		put_factor(ratio, buf);
		strcat(buf, " times");
	} else {
		snprintf(buf, COMPARE_TEXT, "%+.1f %%", 100 * (ratio - 1));
	}
}

static void put_range(double low, double high, bool factor, char buf[COMPARE_TEXT])
{
	char from[COMPARE_TEXT], to[COMPARE_TEXT];

	put_change(high, factor, to);
	if (factor)
		put_factor(low, from);
	else
		snprintf(from, sizeof(from), "%+.1f", 100 * (low - 1));
	snprintf(buf, COMPARE_TEXT, "%.28s to %.28s", from, to);
}

const char *compare_change_text(double ratio, char buf[COMPARE_TEXT])
{
	put_change(ratio, is_factor(ratio), buf);
	return buf;
}

const char *compare_range_text(double low, double high, char buf[COMPARE_TEXT])
{
	put_range(low, high, is_factor(low) || is_factor(high), buf);
	return buf;
}

/* The words of a verdict, and the reason where it is not plain. */
static const struct {
	const char *word;
	const char *passes, *rounds; /* the reason, of runs and of sweeps */
} verdicts[] = {
	[COMPARE_NO_FIGURE] = { "", "", "" },
	[COMPARE_UNKNOWN] = { "unknown", RULE_TOO_FEW_PASSES, RULE_TOO_FEW_WORDS },
	[COMPARE_CHANCE] = { "may be chance", "", "" },
	[COMPARE_UNSTABLE] = { COMPARE_UNSTEADY, COMPARE_UNSTEADY_PASSES, COMPARE_UNSTEADY_ROUNDS },
	[COMPARE_OFFERED] = { "offers differ", "", "" },
	[COMPARE_REAL] = { "real", "", "" },
};

/* True if an interval says something: one that proves a difference does, however wide it is. */
static bool is_telling(const struct compare_figure *f)
{
	return f->verdict == COMPARE_REAL ||
	       !rule_too_few(100 * (sqrt(f->ratio.high / f->ratio.low) - 1));
}

void compare_texts(struct compare_texts *t, const struct compare_subject *s,
		   const struct compare_figure *f)
{
	const bool known = f->verdict > COMPARE_UNKNOWN, telling = known && is_telling(f);
	const bool factor = is_factor(f->ratio.ratio) ||
			    (telling && (is_factor(f->ratio.low) || is_factor(f->ratio.high)));

	*t = (struct compare_texts){ .verdict = verdicts[f->verdict].word };
	t->reason = s->rounds ? verdicts[f->verdict].rounds : verdicts[f->verdict].passes;
	put_change(f->ratio.ratio, factor, t->change);
	if (telling)
		put_range(f->ratio.low, f->ratio.high, factor, t->interval);
	else if (known)
		strcpy(t->interval, s->rounds ? RULE_TOO_FEW_WORDS : RULE_TOO_FEW_PASSES);
}
