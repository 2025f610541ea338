/*
 * xdd compare: the differences between two JSON values, for people, conditions of -failif,
 * verdicts, and sweeps side by side; see the header. Called by the command.
 */
#include "xdd/report/compare.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "xdd/base/log.h"
#include "xdd/base/memory.h"
#include "xdd/base/text.h"
#include "xdd/base/units.h"
#include "xdd/report/jvalue.h"
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

/* A list of plain values is one value: the words of an option. */
static bool is_plain(const json_t *value)
{
	const json_t *element;
	size_t i;

	if (json_is_object(value))
		return false;
	json_array_foreach(value, i, element)
	{
		if (json_is_object(element) || json_is_array(element))
			return false;
	}
	return true;
}

static void compare_diff_show(FILE *f, const json_t *value)
{
	const json_t *element;
	size_t i;

	if (!value || json_is_null(value)) {
		fputs("(none)", f);
	} else if (json_is_string(value) && !json_string_length(value)) {
		fputs("(empty)", f);
	} else if (!is_plain(value)) {
		fputs("(there)", f);
	} else if (json_is_array(value)) {
		json_array_foreach(value, i, element)
		{
			if (i)
				fputc(' ', f);
			compare_diff_show(f, element);
		}
	} else {
		jvalue_write(f, value);
	}
}

static void compare_diff_line(struct diff *d, const char *path, const json_t *a, const json_t *b)
{
	const size_t width = printable_is_safe(path) ? strlen(path) : PATH_WIDTH;

	fputs("  ", d->f);
	printable_put(d->f, path);
	fprintf(d->f, "%*s  ", width < PATH_WIDTH ? (int)(PATH_WIDTH - width) : 0, "");
	compare_diff_show(d->f, a);
	fputs(" -> ", d->f);
	compare_diff_show(d->f, b);
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
	else if (json_is_array(a) && json_is_array(b) && !(is_plain(a) && is_plain(b)))
		walk_array(d, path, a, b);
	else
		compare_diff_line(d, path, a, b);
}

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
	log_error("compare: -failif %.*s: %s", (int)limit->length, limit->text, problem);
	return false;
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

/*
 * A limit is exceeded when the change is, and is real. An interval that reaches further to one
 * side than the limit allows could not show a change of that size: the answer would depend on
 * luck. The limit 0 asks for any real change, which needs no such precision.
 */
enum compare_limit_state compare_limit_check(const struct compare_limit *limit,
					     const struct compare_figure *figure, const char **why)
{
	double change = limit->falls ? 1 / figure->ratio.ratio : figure->ratio.ratio;
	double allowed = limit->falls ? 1 / limit->ratio : limit->ratio;
	double width = sqrt(figure->ratio.high / figure->ratio.low);

	if (figure->verdict == COMPARE_NO_FIGURE) {
		*why = limit->figure >= FIGURE_ALL ?
			       "a curve does not have it" :
			       "a document does not have this figure for each pass; p99 needs 1000 operations in "
			       "each, p99.9 10,000";
		return COMPARE_UNDECIDED;
	}
	if (figure->verdict == COMPARE_UNKNOWN) {
		*why = "there is no interval; run with -passes 5 or more";
		return COMPARE_UNDECIDED;
	}
	if (change > allowed && figure->verdict == COMPARE_REAL)
		return COMPARE_EXCEEDED;
	if (change > allowed && figure->verdict == COMPARE_UNSTABLE) {
		*why = "a run is not reproducible; see above";
		return COMPARE_UNDECIDED;
	}
	if (allowed > 1 && width > allowed) {
		*why = "the interval is wider than the limit; run more passes";
		return COMPARE_UNDECIDED;
	}
	return COMPARE_WITHIN;
}

/*
 * Verdicts: whether a figure of two sides differs by more than chance.
 */

/*
 * Percentiles, flushes and response times are more figures in which equal runs may differ by
 * chance. At this level they add little to the share of equal runs that are called different.
 */
#define MORE_LEVEL 0.99

/* A percentile is that of a bucket of the histogram; either side may be off by 0.4 %. */
#define PERCENTILE_RESOLUTION 1.008

/*
 * The values of a figure, one for each pass; to be freed. NULL: the document does not have it, or
 * memory is short, which sets `*no_memory`.
 */
static double *values_of(const json_t *statistic, enum pass_figure figure, size_t *n,
			 bool *no_memory)
{
	const json_t *values =
		json_object_get(json_object_get(statistic, figure_name(figure)), "values");
	double *x;

	*n = json_array_size(values);
	x = *n ? calloc(*n, sizeof(*x)) : NULL;
	*no_memory |= *n && !x;
	for (size_t i = 0; x && i < *n; i++)
		x[i] = json_number_value(json_array_get(values, i));
	return x;
}

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

static double compare_judge_number(const json_t *o, const char *key)
{
	const json_t *value = json_object_get(o, key);

	return json_is_number(value) ? json_number_value(value) : NAN;
}

/* Rounds that the maximum of a curve is the mean of. */
static double rounds_of_maximum(const json_t *root, const json_t *maximum)
{
	const json_t *points = json_object_get(root, "points"), *point;
	size_t i;

	if (compare_judge_number(maximum, "steady_after") > 0)
		return STATS_STEADY_WINDOW;
	json_array_foreach(points, i, point)
	{
		if (json_equal(json_object_get(point, "point"), json_object_get(maximum, "point")))
			return (double)json_array_size(json_object_get(point, "rounds"));
	}
	return 0;
}

/* The maximum or the knee of each curve of a side. False: one has none. */
static bool summarize_curves(const struct compare_side *side, enum pass_figure figure,
			     struct stats_summary *runs)
{
	for (size_t i = 0; i < side->n; i++) {
		const json_t *root = side->runs[i].root;
		const json_t *o =
			json_object_get(json_object_get(root, "curve"), figure_name(figure));

		if (figure == FIGURE_KNEE) {
			const double knee = compare_judge_number(o, "percent");
			const double half = fmax(compare_judge_number(o, "high_percent") - knee,
						 knee - compare_judge_number(o, "low_percent"));

			runs[i] =
				summary_of(knee, half, compare_judge_number(root, "rounds_least"));
		} else {
			const double iops = compare_judge_number(o, "iops");

			runs[i] = summary_of(
				iops, iops * compare_judge_number(o, "interval_percent") / 100,
				rounds_of_maximum(root, o));
		}
		if (!(runs[i].mean > 0))
			return false;
	}
	return true;
}

/* A summary for each run of a side. False: the figure is missing in one. */
static bool compare_judge_summarize(const struct compare_side *side, json_int_t target,
				    enum pass_figure figure, struct stats_summary *runs,
				    bool *no_memory)
{
	if (figure >= FIGURE_ALL)
		return summarize_curves(side, figure, runs);
	for (size_t i = 0; i < side->n; i++) {
		size_t n;
		double *x =
			values_of(compare_statistic(&side->runs[i], target), figure, &n, no_memory);

		if (!x)
			return false;
		runs[i] = stats_summarize(x, n);
		free(x);
	}
	return true;
}

/*
 * By how much the passes of a run change among themselves, as the logarithm of a ratio; 0 for
 * stable ones.
 */
static double change_of(const json_t *statistic, enum pass_figure figure, bool *no_memory)
{
	struct stats_stability s = { .change = STATS_STABLE };
	size_t n;
	double *x = values_of(statistic, figure, &n, no_memory);

	if (x)
		s = stats_stability(x, n);
	free(x);
	return s.change == STATS_STABLE ? 0 : fabs(log1p(s.amount));
}

/*
 * True if the passes of a run that stands alone on its side vary as much as the sides differ.
 * Then the difference depends on when the runs were made. Several runs show that in their spread.
 */
static bool is_unstable(const struct compare_side *side, json_int_t target, enum pass_figure figure,
			double difference, bool *no_memory)
{
	const json_t *statistic = compare_statistic(&side->runs[0], target);
	double change = change_of(statistic, figure, no_memory);

	if (side->n > 1)
		return false;
	if (change <= 0 && json_is_string(json_object_get(statistic, "not_reproducible"))) {
		change = change_of(statistic, FIGURE_BANDWIDTH, no_memory);
		change = change > 0 ? change : INFINITY;
	}
	return change >= difference;
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
	return (s->kind == COMPARE_CURVE) == (*figure >= FIGURE_ALL);
}

static bool is_judged_by(const struct compare_subject *s, enum pass_figure figure)
{
	enum pass_figure meant = figure;

	return compare_limit_figure(s, &meant) && meant == figure;
}

static bool is_percentile(enum pass_figure figure)
{
	return figure >= FIGURE_FIRST_PERCENTILE && figure < FIGURE_ALL && figure != FIGURE_FLUSH &&
	       figure != FIGURE_RESPONSE;
}

static double mean_of(const struct stats_summary *runs, size_t n)
{
	double sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += runs[i].mean;
	return sum / (double)n;
}

static enum compare_verdict verdict_of(const struct compare_side *a, const struct compare_side *b,
				       json_int_t target, enum pass_figure figure,
				       const struct stats_ratio *r, bool *no_memory)
{
	double difference = fabs(log(r->ratio));

	if (!(r->low > 0) || !isfinite(r->high))
		return COMPARE_UNKNOWN;
	if (r->low <= 1 && r->high >= 1)
		return COMPARE_CHANCE;
	if (is_unstable(a, target, figure, difference, no_memory) ||
	    is_unstable(b, target, figure, difference, no_memory))
		return COMPARE_UNSTABLE;
	return COMPARE_REAL;
}

struct compare_figure compare_judge(const struct compare_subject *s, enum pass_figure figure,
				    size_t subjects)
{
	const struct compare_side *a = s->a, *b = s->b;
	struct stats_summary *runs = calloc(a->n + b->n, sizeof(*runs));
	struct compare_figure f = { .verdict = COMPARE_NO_FIGURE, .no_memory = !runs };

	if (runs && is_judged_by(s, figure) &&
	    compare_judge_summarize(a, s->target, figure, runs, &f.no_memory) &&
	    compare_judge_summarize(b, s->target, figure, runs + a->n, &f.no_memory)) {
		f.a = mean_of(runs, a->n);
		f.b = mean_of(runs + a->n, b->n);
		f.ratio =
			stats_compare(runs, a->n, runs + a->n, b->n, level_of(s, figure, subjects));
		if (is_percentile(figure)) {
			f.ratio.low /= PERCENTILE_RESOLUTION;
			f.ratio.high *= PERCENTILE_RESOLUTION;
		}
		f.verdict = verdict_of(a, b, s->target, figure, &f.ratio, &f.no_memory);
	}
	free(runs);
	return f;
}

/*
 * Sweeps side by side, point by point.
 */

/* A point of both sides; the runs' documents are the point's objects, which the sweeps own. */
struct point {
	struct compare_side a, b;
	struct compare_run runs[];
};

/* The point of a sweep with these values; NULL: it has none. */
static json_t *find_point(const struct compare_run *sweep, const json_t *varied)
{
	json_t *point;
	size_t i;

	json_array_foreach(json_object_get(sweep->root, "points"), i, point)
	{
		if (json_equal(json_object_get(point, "varied"), varied))
			return point;
	}
	return NULL;
}

/* Find the point in each sweep of a side. False: it is missing in one. */
static bool compare_sweep_fill(const struct compare_side *sweeps, struct compare_side *side,
			       size_t at, const json_t *varied)
{
	for (size_t i = 0; i < sweeps->n; i++) {
		json_t *found =
			at < json_array_size(json_object_get(sweeps->runs[i].root, "points")) ?
				json_array_get(json_object_get(sweeps->runs[i].root, "points"),
					       at) :
				NULL;

		/* Most often it has the same number. */
		if (!found || !json_equal(json_object_get(found, "varied"), varied))
			found = find_point(&sweeps->runs[i], varied);
		if (!found)
			return false;
		side->runs[i] = sweeps->runs[i];
		side->runs[i].root = found;
		if (!compare_statistic(&side->runs[i], -1))
			return false;
	}
	return true;
}

/* "queuedepth 4, reqsize 4k"; to be freed. */
static char *name_of(const json_t *varied)
{
	struct memstream m;
	const char *option, *comma = "";
	json_t *value;

	if (!memstream_open(&m))
		return NULL;
	json_object_foreach((json_t *)(uintptr_t)varied, option, value)
	{
		fprintf(m.f, "%s%s %s", comma, option, json_string_value(value));
		comma = ", ";
	}
	if (!*comma)
		fputs("the point", m.f);
	return memstream_close(&m) ? NULL : m.text;
}

static enum compare_kind kind_of(const struct compare_points *points, const json_t *point)
{
	const json_t *round = json_array_get(json_object_get(point, "rounds"), 0);

	if (!points->curve)
		return COMPARE_TARGET;
	return json_is_number(json_object_get(round, "response")) ? COMPARE_LOAD : COMPARE_LOOP;
}

static bool are_curves(const struct compare_side *side)
{
	for (size_t i = 0; i < side->n; i++) {
		if (!json_is_object(json_object_get(side->runs[i].root, "curve")))
			return false;
	}
	return true;
}

static bool add_point(const struct compare_side *a, const struct compare_side *b, size_t at,
		      struct compare_points *points)
{
	const json_t *varied = json_object_get(
		json_array_get(json_object_get(a->runs[0].root, "points"), at), "varied");
	struct compare_subject *subject = &points->subjects[points->n];
	struct point *p = calloc(1, sizeof(*p) + (a->n + b->n) * sizeof(p->runs[0]));
	char *name;

	if (!p)
		return false;
	p->a = (struct compare_side){ a->name, p->runs, a->n };
	p->b = (struct compare_side){ b->name, p->runs + a->n, b->n };
	if (!compare_sweep_fill(a, &p->a, at, varied) ||
	    !compare_sweep_fill(b, &p->b, at, varied)) {
		points->left_out++;
		free(p);
		return true;
	}
	name = name_of(varied);
	if (!name) {
		free(p);
		return false;
	}
	*subject = (struct compare_subject){ .target = -1,
					     .name = name,
					     .a = &p->a,
					     .b = &p->b,
					     .kind = kind_of(points, p->runs[0].root) };
	points->n++;
	if (strlen(name) > points->width)
		points->width = strlen(name);
	return true;
}

bool compare_sweep_points(const struct compare_side *a, const struct compare_side *b,
			  struct compare_points *points)
{
	const size_t n = json_array_size(json_object_get(a->runs[0].root, "points"));
	size_t most = n;

	*points = (struct compare_points){ .subjects = calloc(n + 1, sizeof(*points->subjects)),
					   .curve = are_curves(a) && are_curves(b) };
	if (!points->subjects)
		return false;
	for (size_t i = 0; i < n; i++) {
		if (!add_point(a, b, i, points)) {
			compare_sweep_free(points);
			return false;
		}
	}
	for (size_t i = 0; i < b->n; i++) {
		const size_t other = json_array_size(json_object_get(b->runs[i].root, "points"));

		most = other > most ? other : most;
	}
	points->left_out = most - points->n;
	if (points->curve)
		points->subjects[points->n++] = (struct compare_subject){
			.target = -1, .name = "the curve", .a = a, .b = b, .kind = COMPARE_CURVE
		};
	return true;
}

void compare_sweep_free(struct compare_points *points)
{
	for (size_t i = 0; i < points->n; i++) {
		if (points->subjects[i].kind == COMPARE_CURVE)
			continue;
		free((char *)(uintptr_t)points->subjects[i].name);
		/* The side is the first member of its point. */
		free((struct compare_side *)(uintptr_t)points->subjects[i].a);
	}
	free(points->subjects);
	*points = (struct compare_points){ .n = 0 };
}
