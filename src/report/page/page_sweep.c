/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A sweep: its points, its lines and its grid. Called by page.c.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/page/page.h"
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
	static const enum pass_figure times[] = { FIGURE_LATENCY, FIGURE_P50, FIGURE_P99,
						  FIGURE_P999 };
	char text[32];

	snprintf(text, sizeof(text), "%.15g", point->number);
	page_row(p, text);
	for (size_t i = 0; i < d->n_axes && i < AXES_MAX; i++)
		page_number(p, value_of(point, d->axes[i].option));
	page_rate_cell(p, mean_of(point, FIGURE_BANDWIDTH));
	page_number(p, certainty(point, text, sizeof(text)));
	page_ops_cell(p, mean_of(point, FIGURE_IOPS));
	for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++)
		page_time_cell(p, mean_of(point, times[i]));
	page_count_cell(p, (double)point->rounds);
	page_count_cell(p, point->status);
	page_row_end(p);
}

void page_points(struct page *p, const struct compare_run *run)
{
	static const char *const figures[] = { "bandwidth", "+-95 %", "IOPS",	 "latency", "p50",
					       "p99",	    "p99.9",  "~rounds", "~status", NULL };
	const struct document *d = &run->doc;
	const char *heads[AXES_MAX + 1 + sizeof(figures) / sizeof(figures[0])] = { "|point" };
	size_t n = 1;

	for (size_t i = 0; i < d->n_axes && i < AXES_MAX; i++)
		heads[n++] = d->axes[i].option;
	memcpy(&heads[n], figures, sizeof(figures));
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
 * The axis that is asked for, or the one with the most values: along x. The one with the most
 * values of the others: as lines or along y; NULL: there is one axis.
 */
struct axes {
	const struct document *d;
	const struct document_axis *x, *y;
	bool pairs;   /* each value belongs to one point: the other axes have nothing to add */
	double *at;   /* the places of the values along x; owned */
	size_t *rank; /* the values along x from the first place on; owned */
	enum plot_scale scale;
};

/* Without `wanted`, or where no axis has this name, the two with the most values. */
static void find_axes(const struct document *d, const char *wanted, struct axes *a)
{
	bool found = false;

	*a = (struct axes){ .d = d };
	a->pairs = strcmp(document_text(d->root, "arrangement"), "pairs") == 0;
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
	a->at = xcalloc(a->x->n, sizeof(*a->at));
	a->rank = xcalloc(a->x->n, sizeof(*a->rank));
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
	size_t n = 0;

	buf[0] = '\0';
	json_object_foreach((json_t *)(uintptr_t)point->varied, option, value)
	{
		if (a->pairs || strcmp(option, a->x->option) == 0 ||
		    (a->y && strcmp(option, a->y->option) == 0))
			continue;
		if (n + 1 < size)
			n += (size_t)snprintf(buf + n, size - n, "%s%s %s", n ? ", " : "", option,
					      json_string_value(value));
	}
}

/* The distinct texts of others(), up to MAX_PANELS. */
#define TEXT_BYTES 256
struct texts {
	char list[MAX_PANELS][TEXT_BYTES];
	size_t n, left_out;
};

static void page_lines_collect(const struct axes *a, struct texts *t)
{
	for (size_t i = 0; i < a->d->n_points; i++) {
		char text[TEXT_BYTES];
		size_t k;

		others(&a->d->points[i], a, text, sizeof(text));
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

static const struct document_point *find_point(const struct axes *a, const char *rest, size_t x,
					       size_t y)
{
	for (size_t i = 0; i < a->d->n_points; i++) {
		const struct document_point *point = &a->d->points[i];
		char text[TEXT_BYTES];

		if (!has_value(point, a->x, x) || !has_value(point, a->y, y))
			continue;
		others(point, a, text, sizeof(text));
		if (strcmp(text, rest) == 0)
			return point;
	}
	return NULL;
}

/* ---- lines ---- */

static void put_tics(struct plot_tics *tics, const struct document_axis *axis, const double *at)
{
	for (size_t i = 0; i < axis->n; i++)
		plot_tic(tics, at ? at[i] : (double)i, axis->values[i]);
}

/* "queuedepth 4" for a line; "" for the only one. */
static const char *line_name(const struct axes *a, size_t y, char buf[PLOT_LABEL_SIZE])
{
	buf[0] = '\0';
	if (a->y)
		snprintf(buf, PLOT_LABEL_SIZE, "%s %s", a->y->option, a->y->values[y]);
	return buf;
}

static size_t lines_of(const struct axes *a)
{
	return a->y ? a->y->n : 1;
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

static void draw_lines(struct page *p, const struct compare_run *run, const struct axes *a,
		       const char *rest, enum plot_id id, enum pass_figure figure)
{
	struct plot *plot = page_plot(p, run, id);
	char name[PLOT_LABEL_SIZE];

	plot_label(plot->x_label, a->x->option);
	plot_label(plot->part, rest);
	plot->x_scale = a->scale;
	put_tics(&plot->x_tics, a->x, a->at);
	for (size_t y = 0; y < lines_of(a); y++) {
		plot_series(plot, line_name(a, y, name));
		for (size_t i = 0; i < a->x->n && y < PLOT_MAX_SERIES; i++) {
			const size_t x = a->rank[i];

			if (a->scale != PLOT_NAMES || x < PLOT_MAX_TICS)
				add_point(plot, a->at[x], find_point(a, rest, x, y), figure);
		}
	}
}

static void draw_grid(struct page *p, const struct compare_run *run, const struct axes *a,
		      const char *rest)
{
	struct plot *plot = page_plot(p, run, PLOT_SWEEP_GRID);

	plot_label(plot->x_label, a->x->option);
	plot_label(plot->y_label, a->y->option);
	plot_label(plot->part, rest);
	put_tics(&plot->x_tics, a->x, NULL);
	put_tics(&plot->y_tics, a->y, NULL);
	plot_series(plot, "");
	for (size_t y = 0; y < plot->y_tics.n; y++) {
		for (size_t i = 0; i < plot->x_tics.n; i++) {
			const double mean = mean_of(find_point(a, rest, i, y), FIGURE_BANDWIDTH);

			plot_add(plot, &(struct plot_point){ .x = (double)i - 0.5,
							     .x_to = (double)i + 0.5,
							     .y = (double)y - 0.5,
							     .y_to = (double)y + 0.5,
							     .value = mean });
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

	(figure == FIGURE_BANDWIDTH ? scaled_rate : scaled_time)(mean, scaled);
	if (rule_too_few(percent))
		snprintf(text, sizeof(text), "%s, too few rounds", scaled);
	else if (!isnan(percent))
		snprintf(text, sizeof(text), "%s +-%.2g %%", scaled, percent);
	else
		snprintf(text, sizeof(text), "%s", scaled);
	page_number(p, text);
}

static void put_lines_table(struct page *p, const struct axes *a, const char *rest,
			    enum pass_figure figure)
{
	const bool rate = figure == FIGURE_BANDWIDTH;
	const size_t n = lines_of(a) < PLOT_MAX_TICS ? lines_of(a) : PLOT_MAX_TICS;
	const char *heads[PLOT_MAX_TICS + 2] = { a->x->option };
	char names[PLOT_MAX_TICS][PLOT_LABEL_SIZE];
	size_t i;

	for (size_t y = 0; y < n; y++) {
		heads[y + 1] = line_name(a, y, names[y]);
		if (!*names[y])
			heads[y + 1] = rate ? "bandwidth" : "p99";
	}
	page_table(p, rate ? "Bandwidth of the points" : "99th percentile of the points", heads);
	for (i = 0; i < a->x->n && i < PAGE_MAX_ROWS; i++) {
		page_row(p, a->x->values[i]);
		for (size_t y = 0; y < n; y++)
			put_cell(p, find_point(a, rest, i, y), figure);
		page_row_end(p);
	}
	page_table_end(p, a->x->n - i);
}

/* False where no point has enough operations for it. */
static bool has_p99(const struct axes *a, const char *rest)
{
	for (size_t x = 0; x < a->x->n; x++) {
		for (size_t y = 0; y < lines_of(a); y++) {
			if (isfinite(mean_of(find_point(a, rest, x, y), FIGURE_P99)))
				return true;
		}
	}
	return false;
}

/* The lines, the grid and the tables of a combination of the other axes. */
static void put_panel(struct page *p, const struct compare_run *run, const struct axes *a,
		      const char *rest)
{
	char caption[2 * TEXT_BYTES];

	snprintf(caption, sizeof(caption),
		 "%s%sBandwidth and 99th percentile of the service time by %s: means over the "
		 "rounds, with intervals of 95 %% confidence",
		 rest, *rest ? ". " : "", a->x->option);
	page_figure(p, caption);
	draw_lines(p, run, a, rest, PLOT_SWEEP_BANDWIDTH, FIGURE_BANDWIDTH);
	draw_lines(p, run, a, rest, PLOT_SWEEP_P99, FIGURE_P99);
	if (a->y)
		draw_grid(p, run, a, rest);
	put_lines_table(p, a, rest, FIGURE_BANDWIDTH);
	if (has_p99(a, rest))
		put_lines_table(p, a, rest, FIGURE_P99);
	page_figure_end(p);
	if (lines_of(a) > PLOT_MAX_SERIES)
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

/* Panels of a sweep have one scale: their bandwidths can be compared. */
static void page_lines_align(struct page *p, size_t first)
{
	double most = 0;

	for (size_t i = first; i < p->plots.n; i++) {
		const struct plot *plot = p->plots.list[i];

		if (plot->kind == &plot_kinds[PLOT_SWEEP_BANDWIDTH])
			most = fmax(most, plot_greatest(plot));
	}
	for (size_t i = first; i < p->plots.n; i++) {
		if (p->plots.list[i]->kind == &plot_kinds[PLOT_SWEEP_BANDWIDTH])
			p->plots.list[i]->y_most = 1.02 * most;
	}
}

void page_lines(struct page *p, const struct compare_run *run)
{
	const size_t first = p->plots.n;
	struct texts *t;
	struct axes a;

	find_axes(&run->doc, p->axis, &a);
	if (!a.x || !a.x->n || !run->doc.n_points)
		return;
	page_lines_place(&a);
	t = xcalloc(1, sizeof(*t));
	page_lines_collect(&a, t);
	page_section(p, 3, "Lines and grid");
	for (size_t i = 0; i < t->n; i++)
		put_panel(p, run, &a, t->list[i]);
	if (t->n > 1)
		page_lines_align(p, first);
	if (t->left_out)
		page_line(p, "Points of other combinations, %zu, are in the table of points only.",
			  t->left_out);
	page_section_end(p);
	free(t);
	free(a.at);
	free(a.rank);
}
