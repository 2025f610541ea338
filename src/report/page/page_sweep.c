/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A sweep: its points, its lines and its grid; and two sweeps in common plots. Called by page.c and
 * page_summary.c.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/page/page.h"
#include "xdd/base/memory.h"
#include "xdd/base/text.h"
#include "xdd/base/units.h"

#define AXES_MAX 16

/* The figures over the rounds of a point; NULL: there are none. */
static const struct document_statistic *rounds_of(const struct document_point *point)
{
	return document_statistic(&point->statistics, DOCUMENT_ALL);
}

static double mean_of(const struct document_point *point, enum pass_figure figure)
{
	const struct document_statistic *all = point ? rounds_of(point) : NULL;

	return all ? all->figures[figure].mean : NAN;
}

/* Half of the interval of the bandwidth, in percent: "12 %"; or "too few" rounds. */
static const char *certainty(const struct document_point *point, char *buf, size_t size)
{
	const struct document_statistic *all = rounds_of(point);
	const double percent = all ? page_interval_percent(&all->figures[FIGURE_BANDWIDTH]) : NAN;

	if (rule_too_few(percent))
		snprintf(buf, size, "too few");
	else if (!isnan(percent))
		snprintf(buf, size, "%.*f %%", percent < 10 ? 1 : 0, percent);
	else
		snprintf(buf, size, "-");
	return buf;
}

/* The value of a point along an axis. */
static const char *value_of(const struct document_point *point, const char *option)
{
	return document_text(point->varied, option);
}

static void put_point(struct page *p, const struct document *d, const struct document_point *point)
{
	char text[32];

	snprintf(text, sizeof(text), "%.15g", point->number);
	page_row(p, text);
	for (size_t i = 0; i < d->n_axes && i < AXES_MAX; i++)
		page_number(p, value_of(point, d->axes[i].option));
	for (enum pass_figure i = 0; i < FIGURE_COUNT; i++) {
		page_figure_cell(p, i, mean_of(point, i));
		if (i == FIGURE_BANDWIDTH)
			page_number(p, certainty(point, text, sizeof(text)));
	}
	page_count_cell(p, (double)point->rounds);
	page_count_cell(p, point->status);
	page_row_end(p);
}

void page_points(struct page *p, const struct compare_run *run)
{
	static const char *const last[] = { "~rounds", "~status", NULL };
	const struct document *d = &run->doc;
	const char *heads[AXES_MAX + FIGURE_COUNT + 2 + sizeof(last) / sizeof(*last)] = { "|point" };
	size_t n = 1;

	for (size_t i = 0; i < d->n_axes && i < AXES_MAX; i++)
		heads[n++] = d->axes[i].option;
	for (enum pass_figure i = 0; i < FIGURE_COUNT; i++) {
		heads[n++] = pass_figures[i].shown;
		if (i == FIGURE_BANDWIDTH)
			heads[n++] = "+-95 %";
	}
	memcpy(&heads[n], last, sizeof(last));
	page_section(p, 3, "Points");
	page_table(p, "Means over the rounds of each point", heads);
	for (size_t i = 0; i < d->n_points && i < PAGE_MAX_ROWS; i++)
		put_point(p, d, &d->points[i]);
	page_table_end(p, d->n_points > PAGE_MAX_ROWS ? d->n_points - PAGE_MAX_ROWS : 0);
	page_section_end(p);
}

/* Lines and grids are drawn for up to this many combinations of the other axes. */
#define MAX_PANELS 6

/*
 * One sweep, or two that are compared. The axis that is asked for, or the one with the most values:
 * along x. The one with the most values of the others: as lines or along y; NULL: there is one
 * axis.
 */
struct axes {
	const struct compare_run *runs;
	size_t n; /* of runs */
	const struct document_axis *x, *y;
	bool pairs; /* each value belongs to one point: the other axes have nothing to add */
	struct arena *arena; /* owned: what follows, and axes that are made */
	double *at;	     /* the places of the values along x */
	size_t *rank;	     /* the values along x from the first place on */
	enum plot_scale scale;

	/* of two sweeps */
	const struct compare_subjects *subjects;
	bool same_plan;
};

static bool is_paired(const struct document *d)
{
	return strcmp(document_text(d->root, "arrangement"), "pairs") == 0;
}

/* NULL: the sweep does not vary it. */
static const struct document_axis *axis_of(const struct document *d, const char *option)
{
	for (size_t i = 0; i < d->n_axes && i < AXES_MAX; i++) {
		if (strcmp(d->axes[i].option, option) == 0)
			return &d->axes[i];
	}
	return NULL;
}

/* Return the axis with the values of all sweeps: the first sweep's come first. */
static const struct document_axis *merge_axis(struct axes *a, const struct document_axis *axis)
{
	struct document_axis *merged = xarena_alloc(a->arena, sizeof(*merged));
	const char **values = NULL;
	size_t n = 0, k;

	for (size_t r = 0; r < a->n; r++) {
		const struct document_axis *own = axis_of(&a->runs[r].doc, axis->option);

		for (size_t i = 0; own && i < own->n; i++) {
			for (k = 0; k < n && strcmp(values[k], own->values[i]) != 0; k++)
				;
			if (k < n)
				continue;
			values = xarena_room(a->arena, values, n, sizeof(*values));
			values[n++] = own->values[i];
		}
	}
	*merged = (struct document_axis){ axis->option, values, n };
	return merged;
}

/* Without `wanted`, or where no axis has this name, the two with the most values. */
static void find_axes(struct axes *a, const char *wanted)
{
	const struct document *d = &a->runs[0].doc;
	bool found = false;

	a->pairs = is_paired(d);
	for (size_t i = 0; i < d->n_axes; i++) {
		const struct document_axis *axis = &d->axes[i];
		const bool is_wanted = wanted && strcmp(axis->option, wanted) == 0;

		if (!a->x || is_wanted || (!found && axis->n > a->x->n)) {
			a->y = a->x;
			a->x = axis;
			found = is_wanted;
		} else if (!a->y || axis->n > a->y->n) {
			a->y = axis;
		}
	}
	if (a->pairs || (a->y && !a->y->n))
		a->y = NULL;
	if (a->n > 1 && a->x)
		a->x = merge_axis(a, a->x);
	if (a->n > 1 && a->y)
		a->y = merge_axis(a, a->y);
}

/* ---- the places of values ---- */

static bool page_lines_real(const char *word, double *value)
{
	return units_parse_real(word, value) == 0;
}

static bool page_lines_size(const char *word, double *value)
{
	uint64_t bytes;
	const int err = units_parse_size(word, &bytes);

	*value = err ? NAN : (double)bytes;
	return !err;
}

static bool page_lines_time(const char *word, double *value)
{
	uint64_t ns;
	const int err = units_parse_seconds(word, &ns);

	*value = err ? NAN : (double)ns;
	return !err;
}

/* True if all values are numbers of a kind. */
static bool page_lines_numbers(struct axes *a, bool (*parse)(const char *word, double *value))
{
	for (size_t i = 0; i < a->x->n; i++) {
		if (!parse(a->x->values[i], &a->at[i]))
			return false;
	}
	return true;
}

static void page_lines_sort(struct axes *a)
{
	for (size_t i = 0; i < a->x->n; i++) {
		size_t k = i;

		for (; k && a->at[a->rank[k - 1]] > a->at[i]; k--)
			a->rank[k] = a->rank[k - 1];
		a->rank[k] = i;
	}
}

/* How much a value must be above the last for a logarithmic axis: 1, 2, 4 as well as 4, 6, 8, 12 */
#define LEAST_RATIO 1.3

/* False: two values have one place. */
static bool page_lines_scale(struct axes *a)
{
	bool grows = a->x->n > 2 && a->at[a->rank[0]] > 0;

	for (size_t i = 1; i < a->x->n; i++) {
		const double last = a->at[a->rank[i - 1]], own = a->at[a->rank[i]];

		if (!(own > last))
			return false;
		grows = grows && own >= LEAST_RATIO * last;
	}
	a->scale = grows ? PLOT_LOG : PLOT_FIT;
	return true;
}

/* Numbers have their true places; on a logarithmic axis where each is a multiple of the last. */
static void page_lines_place(struct axes *a)
{
	a->at = xarena_alloc(a->arena, a->x->n * sizeof(*a->at));
	a->rank = xarena_alloc(a->arena, a->x->n * sizeof(*a->rank));
	if (page_lines_numbers(a, page_lines_real) || page_lines_numbers(a, page_lines_size) ||
	    page_lines_numbers(a, page_lines_time)) {
		page_lines_sort(a);
		if (page_lines_scale(a))
			return;
	}
	a->scale = PLOT_NAMES;
	for (size_t i = 0; i < a->x->n; i++) {
		a->at[i] = (double)i;
		a->rank[i] = i;
	}
}

/* ---- the points ---- */

static bool has_value(const struct document_point *point, const struct document_axis *axis,
		      size_t i)
{
	return !axis || strcmp(axis->values[i], value_of(point, axis->option)) == 0;
}

/* The values of all axes but x and y as a text, which tells panels apart. */
static void others(const struct document_point *point, const struct axes *a, char *buf, size_t size)
{
	const char *option;
	json_t *value;

	buf[0] = '\0';
	json_object_foreach((json_t *)(uintptr_t)point->varied, option, value)
	{
		if (a->pairs || strcmp(option, a->x->option) == 0 ||
		    (a->y && strcmp(option, a->y->option) == 0))
			continue;
		text_list(buf, size, "%s %s", option, json_string_value(value));
	}
}

/* The distinct texts of others(), up to MAX_PANELS. */
#define TEXT_BYTES 256
struct texts {
	char list[MAX_PANELS][TEXT_BYTES];
	size_t n, left_out;
};

static void page_lines_collect(const struct axes *a, const struct document *d, struct texts *t)
{
	for (size_t i = 0; i < d->n_points; i++) {
		char text[TEXT_BYTES];
		size_t k;

		others(&d->points[i], a, text, sizeof(text));
		for (k = 0; k < t->n && strcmp(t->list[k], text) != 0; k++)
			;
		if (k < t->n)
			continue;
		if (t->n < MAX_PANELS)
			memcpy(t->list[t->n++], text, sizeof(text));
		else
			t->left_out++;
	}
}

/* The point of sweep number `run`; NULL: it has none. */
static const struct document_point *find_point(const struct axes *a, size_t run, const char *rest,
					       size_t x, size_t y)
{
	const struct document *d = &a->runs[run].doc;

	for (size_t i = 0; i < d->n_points; i++) {
		const struct document_point *point = &d->points[i];
		char text[TEXT_BYTES];

		if (!has_value(point, a->x, x) || !has_value(point, a->y, y))
			continue;
		others(point, a, text, sizeof(text));
		if (strcmp(text, rest) == 0)
			return point;
	}
	return NULL;
}

/*
 * The change of a figure from the first to the second sweep. NULL: it is not known, as where a
 * sweep lacks the point.
 */
static const struct compare_subject *find_change(const struct axes *a, const char *rest, size_t x,
						 size_t y, enum pass_figure figure,
						 struct compare_figure *f)
{
	const struct document_point *point = find_point(a, 0, rest, x, y);
	const struct document_statistic *all = point ? rounds_of(point) : NULL;

	for (size_t i = 0; all && i < a->subjects->n; i++) {
		const struct compare_subject *s = &a->subjects->list[i];

		if (!s->of || s->of[0] != all)
			continue;
		*f = compare_judge(s, figure, a->subjects->n);
		return f->verdict == COMPARE_NO_FIGURE ? NULL : s;
	}
	return NULL;
}

/* ---- lines ---- */

static void put_tics(struct plot_tics *tics, const struct document_axis *axis, const double *at)
{
	for (size_t i = 0; i < axis->n; i++)
		plot_tic(tics, at ? at[i] : (double)i, axis->values[i]);
}

/* Lines are of the values of the second list, or of the sweeps that are compared. */
static size_t lines_of(const struct axes *a)
{
	return a->n > 1 ? a->n : a->y ? a->y->n : 1;
}

static const struct document_point *point_of_line(const struct axes *a, const char *rest, size_t x,
						  size_t line)
{
	return a->n > 1 ? find_point(a, line, rest, x, 0) : find_point(a, 0, rest, x, line);
}

/* "queuedepth 4" or "a: sweep.json" for a line; "" for the only one. */
static const char *line_name(const struct axes *a, size_t line, char buf[PAGE_NAME_SIZE])
{
	buf[0] = '\0';
	if (a->n > 1)
		page_document(&a->runs[line], buf);
	else if (a->y)
		snprintf(buf, PAGE_NAME_SIZE, "%s %s", a->y->option, a->y->values[line]);
	return buf;
}

static void add_point(struct plot *plot, double x, const struct document_point *point,
		      enum pass_figure figure)
{
	const struct document_statistic *all = point ? rounds_of(point) : NULL;
	const struct document_figure *f = all ? &all->figures[figure] : NULL;

	if (f)
		plot_add(plot, &(struct plot_point){ .x = x,
						     .y = f->mean,
						     .low = 2 * f->mean - f->high,
						     .high = f->high });
}

static void draw_lines(struct page *p, const struct axes *a, const char *rest, enum plot_id id,
		       enum pass_figure figure)
{
	struct plot *plot = page_plot(p, a->runs, id);
	char name[PAGE_NAME_SIZE];

	plot_label(plot->x_label, a->x->option);
	plot_label(plot->part, rest);
	plot->x_scale = a->scale;
	put_tics(&plot->x_tics, a->x, a->at);
	for (size_t line = 0; line < lines_of(a); line++) {
		plot_series(plot, line_name(a, line, name));
		for (size_t i = 0; i < a->x->n && line < PLOT_MAX_SERIES; i++) {
			const size_t x = a->rank[i];

			if (a->scale != PLOT_NAMES || x < PLOT_MAX_TICS)
				add_point(plot, a->at[x], point_of_line(a, rest, x, line), figure);
		}
	}
}

static struct plot *begin_grid(struct page *p, const struct axes *a, const char *rest,
			       enum plot_id id)
{
	struct plot *plot = page_plot(p, a->runs, id);

	plot_label(plot->x_label, a->x->option);
	plot_label(plot->y_label, a->y->option);
	plot_label(plot->part, rest);
	put_tics(&plot->x_tics, a->x, NULL);
	put_tics(&plot->y_tics, a->y, NULL);
	plot_series(plot, "");
	return plot;
}

/* The place of a cell of a grid. */
static struct plot_point cell_at(size_t x, size_t y)
{
	return (struct plot_point){ .x = (double)x - 0.5,
				    .x_to = (double)x + 0.5,
				    .y = (double)y - 0.5,
				    .y_to = (double)y + 0.5 };
}

static void draw_grid(struct page *p, const struct axes *a, const char *rest)
{
	struct plot *plot = begin_grid(p, a, rest, PLOT_SWEEP_GRID);

	for (size_t y = 0; y < plot->y_tics.n; y++) {
		for (size_t x = 0; x < plot->x_tics.n; x++) {
			struct plot_point cell = cell_at(x, y);

			cell.value = mean_of(find_point(a, 0, rest, x, y), FIGURE_BANDWIDTH);
			plot_add(plot, &cell);
		}
	}
}

/* "412 MB/s +-3 %". */
static void put_cell(struct page *p, const struct document_point *point, enum pass_figure figure)
{
	const struct document_statistic *all = point ? rounds_of(point) : NULL;
	const double mean = mean_of(point, figure);
	const double percent = all ? page_interval_percent(&all->figures[figure]) : NAN;
	char scaled[SCALED_SIZE], text[2 * SCALED_SIZE];

	figure_text(figure, mean, scaled);
	if (rule_too_few(percent))
		snprintf(text, sizeof(text), "%s, too few rounds", scaled);
	else if (!isnan(percent))
		snprintf(text, sizeof(text), "%s +-%.2g %%", scaled, percent);
	else
		snprintf(text, sizeof(text), "%s", scaled);
	page_number(p, text);
}

/* "+12.5 %", in brackets where it is not real; "-": not known. */
static void put_change(const struct compare_texts *t, const struct compare_figure *f, char *buf,
		       size_t size)
{
	const bool bare = f->verdict == COMPARE_REAL || strcmp(t->change, "-") == 0;

	snprintf(buf, size, bare ? "%s" : "(%s)", t->change);
}

/* "412 -> 460 MB/s": the unit is there once if both have it. */
static void put_before_after(enum pass_figure figure, const struct compare_figure *f, char *buf,
			     size_t size)
{
	char a[SCALED_SIZE], b[SCALED_SIZE];
	const char *unit = strchr(figure_text(figure, f->b, b), ' ');
	char *own = strchr(figure_text(figure, f->a, a), ' ');

	if (own && unit && strcmp(own, unit) == 0)
		*own = '\0';
	snprintf(buf, size, "%s \u2192 %s", a, b);
}

/* A change, after the values that it is of where there is no cell for these. */
static void put_change_cell(struct page *p, const struct axes *a, const char *rest, size_t x,
			    size_t y, enum pass_figure figure, bool with_values)
{
	struct compare_figure f;
	const struct compare_subject *s = find_change(a, rest, x, y, figure, &f);
	char change[COMPARE_TEXT + 2], values[3 * SCALED_SIZE];
	char text[sizeof(change) + sizeof(values) + 2];
	struct compare_texts t;

	if (!s) {
		page_number(p, "-");
		return;
	}
	compare_texts(&t, s, &f);
	put_change(&t, &f, change, sizeof(change));
	put_before_after(figure, &f, values, sizeof(values));
	snprintf(text, sizeof(text), "%s, %s", values, change);
	page_number(p, with_values ? text : change);
}

static const char *table_caption(const struct axes *a, enum pass_figure figure)
{
	if (a->n > 1)
		return figure == FIGURE_BANDWIDTH ? "Bandwidth of both" : "99th percentile of both";
	return figure == FIGURE_BANDWIDTH ? "Bandwidth of the points" :
					    "99th percentile of the points";
}

static void put_lines_table(struct page *p, const struct axes *a, const char *rest,
			    enum pass_figure figure)
{
	const size_t n = lines_of(a) < PLOT_MAX_TICS ? lines_of(a) : PLOT_MAX_TICS;
	const char *heads[PLOT_MAX_TICS + 3] = { a->x->option };
	char names[PLOT_MAX_TICS][sizeof(PAGE_FOLD_HEAD) + PAGE_NAME_SIZE];
	size_t i;

	for (size_t line = 0; line < n; line++) {
		/* Where there is no room for all columns, the changes stay. */
		strcpy(names[line], a->n > 1 ? PAGE_FOLD_HEAD : "");
		line_name(a, line, names[line] + strlen(names[line]));
		heads[line + 1] = names[line];
		if (!*names[line])
			heads[line + 1] = figure == FIGURE_BANDWIDTH ? "bandwidth" : "p99";
	}
	if (a->n > 1)
		heads[n + 1] = "b to a";
	page_table(p, table_caption(a, figure), heads);
	for (i = 0; i < a->x->n && i < PAGE_MAX_ROWS; i++) {
		page_row(p, a->x->values[i]);
		for (size_t line = 0; line < n; line++)
			put_cell(p, point_of_line(a, rest, i, line), figure);
		if (a->n > 1)
			put_change_cell(p, a, rest, i, 0, figure, false);
		page_row_end(p);
	}
	page_table_end(p, a->x->n - i);
}

/* False where less than two points have enough operations for it: these show nothing. */
static bool has_p99(const struct axes *a, const char *rest)
{
	size_t n = 0;

	for (size_t x = 0; x < a->x->n; x++) {
		for (size_t line = 0; line < lines_of(a); line++) {
			if (isfinite(mean_of(point_of_line(a, rest, x, line), FIGURE_P99)) &&
			    ++n > 1)
				return true;
		}
	}
	return false;
}

/* ---- changes ---- */

static enum plot_tone tone_of(const struct axes *a, enum pass_figure figure,
			      const struct compare_figure *f)
{
	if (f->verdict != COMPARE_REAL)
		return PLOT_PLAIN;
	if (!a->same_plan)
		return PLOT_CHANGED;
	return *page_direction(figure, f->ratio.ratio) == 'b' ? PLOT_BETTER : PLOT_WORSE;
}

static void draw_change(struct plot *plot, const struct axes *a, const char *rest, size_t x,
			size_t y, enum pass_figure figure)
{
	struct compare_figure f;
	const struct compare_subject *s = find_change(a, rest, x, y, figure, &f);
	char change[COMPARE_TEXT + 2], values[3 * SCALED_SIZE];
	struct plot_point cell = cell_at(x, y);
	struct compare_texts t;

	if (!s)
		return;
	compare_texts(&t, s, &f);
	if (f.verdict == COMPARE_REAL)
		t.reason = page_direction(figure, f.ratio.ratio);
	put_change(&t, &f, change, sizeof(change));
	put_before_after(figure, &f, values, sizeof(values));
	cell.value = f.ratio.ratio;
	cell.tone = tone_of(a, figure, &f);
	cell.text = plot_text(plot, "%s", change);
	cell.title = plot_text(plot, "%s: %s, %s%s%s%s; %s%s%s", s->name, values, t.change,
			       *t.interval ? " (" : "", t.interval, *t.interval ? ")" : "",
			       t.verdict, *t.reason ? ": " : "", t.reason);
	plot_add(plot, &cell);
}

/* False: no cell has a change. */
static bool draw_changes(struct page *p, const struct axes *a, const char *rest, enum plot_id id,
			 enum pass_figure figure)
{
	struct plot *plot = begin_grid(p, a, rest, id);
	char label[PAGE_NAME_SIZE];

	snprintf(label, sizeof(label), "%s by %s", pass_figures[figure].shown, a->y->option);
	plot_label(plot->y_label, label);
	for (size_t y = 0; y < plot->y_tics.n; y++) {
		for (size_t x = 0; x < plot->x_tics.n; x++)
			draw_change(plot, a, rest, x, y, figure);
	}
	return plot_is_drawn(plot);
}

static void put_changes_table(struct page *p, const struct axes *a, const char *rest,
			      enum pass_figure figure)
{
	const size_t n = a->y->n < PLOT_MAX_TICS ? a->y->n : PLOT_MAX_TICS;
	const char *heads[PLOT_MAX_TICS + 2] = { a->x->option };
	char names[PLOT_MAX_TICS][PAGE_NAME_SIZE];
	size_t i;

	for (size_t y = 0; y < n; y++) {
		snprintf(names[y], sizeof(names[y]), "%s %s", a->y->option, a->y->values[y]);
		heads[y + 1] = names[y];
	}
	page_table(p,
		   figure == FIGURE_BANDWIDTH ? "Bandwidth: a \u2192 b" :
						"99th percentile: a \u2192 b",
		   heads);
	for (i = 0; i < a->x->n && i < PAGE_MAX_ROWS; i++) {
		page_row(p, a->x->values[i]);
		for (size_t y = 0; y < n; y++)
			put_change_cell(p, a, rest, i, y, figure, true);
		page_row_end(p);
	}
	page_table_end(p, a->x->n - i);
}

/* ---- panels ---- */

static void begin_panel(struct page *p, const struct axes *a, const char *rest)
{
	char caption[2 * TEXT_BYTES];

	if (a->n > 1 && a->y)
		snprintf(caption, sizeof(caption),
			 "%s%sChanges of bandwidth and 99th percentile of the service time from a "
			 "to b, by %s and %s; in brackets: not real. A pointer over a cell shows "
			 "the values and the interval",
			 rest, *rest ? ". " : "", a->x->option, a->y->option);
	else
		snprintf(caption, sizeof(caption),
			 "%s%sBandwidth%s%s by %s: means over the rounds, with intervals of 95 %% "
			 "confidence%s",
			 rest, *rest ? ". " : "",
			 has_p99(a, rest) ? " and 99th percentile of the service time" : "",
			 a->n > 1 ? " of both" : "", a->x->option,
			 a->n > 1 ? "; changes in brackets are not real" : "");
	page_figure(p, caption);
}

/* Of one sweep: lines, and a grid where there is a second list. */
static void put_panel_plots(struct page *p, const struct axes *a, const char *rest)
{
	const bool both = a->n > 1, times = has_p99(a, rest);

	draw_lines(p, a, rest, both ? PLOT_SWEEPS_BANDWIDTH : PLOT_SWEEP_BANDWIDTH,
		   FIGURE_BANDWIDTH);
	if (times)
		draw_lines(p, a, rest, both ? PLOT_SWEEPS_P99 : PLOT_SWEEP_P99, FIGURE_P99);
	if (a->y)
		draw_grid(p, a, rest);
	put_lines_table(p, a, rest, FIGURE_BANDWIDTH);
	if (times)
		put_lines_table(p, a, rest, FIGURE_P99);
}

/* Of two sweeps of several lists: there would be too many lines. */
static void put_panel_changes(struct page *p, const struct axes *a, const char *rest)
{
	const bool rates = draw_changes(p, a, rest, PLOT_CHANGES_BANDWIDTH, FIGURE_BANDWIDTH);
	const bool times = draw_changes(p, a, rest, PLOT_CHANGES_P99, FIGURE_P99);

	if (rates)
		put_changes_table(p, a, rest, FIGURE_BANDWIDTH);
	if (times)
		put_changes_table(p, a, rest, FIGURE_P99);
	if (!rates && !times)
		page_line(p, "No point of both has these figures.");
}

/* The plots and the tables of a combination of the other axes. */
static void put_panel(struct page *p, const struct axes *a, const char *rest)
{
	begin_panel(p, a, rest);
	if (a->n > 1 && a->y)
		put_panel_changes(p, a, rest);
	else
		put_panel_plots(p, a, rest);
	page_figure_end(p);
	if (a->n == 1 && lines_of(a) > PLOT_MAX_SERIES)
		page_line(p, "The plots have lines for %d of %zu values of %s.", PLOT_MAX_SERIES,
			  lines_of(a), a->y->option);
}

bool page_has_axis(const struct compare_run *run, const char *axis)
{
	const struct document *d = &run->doc;

	for (size_t i = 0; !d->curved && i < d->n_axes; i++) {
		if (strcmp(d->axes[i].option, axis) == 0)
			return true;
	}
	return false;
}

/* Panels have one scale: their bandwidths can be compared. */
static void page_lines_align(struct page *p, size_t first, enum plot_id id)
{
	double most = 0;

	for (size_t i = first; i < p->plots.n; i++) {
		const struct plot *plot = p->plots.list[i];

		if (plot->kind == &plot_kinds[id])
			most = fmax(most, plot_greatest(plot));
	}
	for (size_t i = first; i < p->plots.n; i++) {
		if (p->plots.list[i]->kind == &plot_kinds[id])
			p->plots.list[i]->y_most = 1.02 * most;
	}
}

static void put_panels(struct page *p, struct axes *a)
{
	const size_t first = p->plots.n;
	struct texts *t = xcalloc(1, sizeof(*t));

	page_lines_place(a);
	for (size_t i = 0; i < a->n; i++)
		page_lines_collect(a, &a->runs[i].doc, t);
	for (size_t i = 0; i < t->n; i++)
		put_panel(p, a, t->list[i]);
	if (t->n > 1)
		page_lines_align(p, first, a->n > 1 ? PLOT_SWEEPS_BANDWIDTH : PLOT_SWEEP_BANDWIDTH);
	if (t->left_out)
		page_line(p, "Points of other combinations, %zu, are in the tables only.",
			  t->left_out);
	free(t);
}

void page_lines(struct page *p, const struct compare_run *run)
{
	struct axes a = { .runs = run, .n = 1, .arena = xarena_new() };

	find_axes(&a, p->axis);
	if (a.x && a.x->n && run->doc.n_points) {
		page_section(p, 3, "Lines and grid");
		put_panels(p, &a);
		page_section_end(p);
	}
	arena_free(a.arena);
}

/* True if both vary the same lists; in pairs also the same values, since one list is along x. */
static bool have_same_axes(const struct document *a, const struct document *b, size_t left_out)
{
	if (a->n_axes != b->n_axes || a->n_axes > AXES_MAX || is_paired(a) != is_paired(b))
		return false;
	for (size_t i = 0; i < a->n_axes; i++) {
		if (!axis_of(b, a->axes[i].option))
			return false;
	}
	return !is_paired(a) || !left_out;
}

void page_sweeps(struct page *p, const struct compare_run *runs,
		 const struct compare_subjects *subjects, bool same_plan)
{
	struct axes a = { .runs = runs, .n = 2, .subjects = subjects, .same_plan = same_plan };

	if (!have_same_axes(&runs[0].doc, &runs[1].doc, subjects->left_out)) {
		page_line(p, "The sweeps combine their values in different ways: they have no plot "
			     "in common.");
		return;
	}
	a.arena = xarena_new();
	find_axes(&a, p->axis);
	if (a.x && a.x->n)
		put_panels(p, &a);
	arena_free(a.arena);
}
