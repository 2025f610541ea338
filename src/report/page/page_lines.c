/*
 * The lines and the grid of a sweep. Called by page.c.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/page/page.h"

#define MAX_GRIDS 6

/*
 * The axis that is asked for, or the one with the most values: along x. The one with the most
 * values of the others: as lines or along y; NULL: there is one axis.
 */
struct axes {
	const char *x, *y; /* names of options */
	const json_t *x_values, *y_values;
};

/* Without `wanted`, or where no axis has this name, the two with the most values. */
static void find_axes(const json_t *list, const char *wanted, struct axes *a)
{
	bool found = false;
	const json_t *axis;
	size_t i;

	*a = (struct axes){ .x = NULL };
	json_array_foreach(list, i, axis)
	{
		const json_t *values = json_object_get(axis, "values");
		const char *name = page_string(axis, "option");

		const bool is_wanted = wanted && strcmp(name, wanted) == 0;

		if (!a->x || is_wanted ||
		    (!found && json_array_size(values) > json_array_size(a->x_values))) {
			a->y = a->x;
			a->y_values = a->x_values;
			a->x = name;
			a->x_values = values;
			found = is_wanted;
		} else if (!a->y || json_array_size(values) > json_array_size(a->y_values)) {
			a->y = name;
			a->y_values = values;
		}
	}
}

/* The index of a point's value along an axis; -1: it is not there. */
static double index_of(const json_t *values, const json_t *point, const char *option)
{
	const char *own = page_string(json_object_get(point, "varied"), option);
	const json_t *value;
	size_t i;

	json_array_foreach(values, i, value)
	{
		if (json_is_string(value) && strcmp(json_string_value(value), own) == 0)
			return (double)i;
	}
	return -1;
}

static double figure_of(const json_t *point, const char *figure)
{
	const json_t *all = json_array_get(json_object_get(point, "statistics"), 0);

	return page_real(json_object_get(all, figure), "mean");
}

/* The values of all axes but x (and y) as a text, which tells lines (and grids) apart. */
static void others(const json_t *point, const struct axes *a, bool grid, char *buf, size_t size)
{
	const json_t *varied = json_object_get(point, "varied");
	const json_t *value;
	const char *option;
	size_t n = 0;

	buf[0] = '\0';
	json_object_foreach((json_t *)(uintptr_t)varied, option, value)
	{
		if (strcmp(option, a->x) == 0 || (grid && a->y && strcmp(option, a->y) == 0))
			continue;
		if (n + 1 < size)
			n += (size_t)snprintf(buf + n, size - n, "%s%s %s", n ? ", " : "", option,
					      json_string_value(value));
	}
}

/* The distinct texts of others(), up to `most`; returns their number. */
#define TEXT_BYTES 256
struct texts {
	char (*list)[TEXT_BYTES];
	size_t n, left_out;
};

static void collect(const json_t *points, const struct axes *a, bool grid, size_t most,
		    struct texts *t)
{
	const json_t *point;
	size_t i, k;

	json_array_foreach(points, i, point)
	{
		char text[TEXT_BYTES];

		others(point, a, grid, text, sizeof(text));
		for (k = 0; k < t->n && strcmp(t->list[k], text) != 0; k++)
			;
		if (k < t->n)
			continue;
		if (t->n < most)
			memcpy(t->list[t->n++], text, sizeof(text));
		else
			t->left_out++;
	}
}

/* ---- lines ---- */

static void put_tics(struct plot *plot, const json_t *values, bool x)
{
	const json_t *value;
	size_t i;

	json_array_foreach(values, i, value)
	{
		const char *text = json_string_value(value);

		(x ? plot_x_tic : plot_y_tic)(plot, (double)i, text ? text : "");
	}
}

static void draw(struct plot *plot, const json_t *points, const struct axes *a,
		 const struct texts *t, const char *figure, double scale)
{
	const json_t *point;
	size_t i;

	for (size_t k = 0; k < t->n; k++) {
		plot_series(plot, t->list[k]);
		json_array_foreach(points, i, point)
		{
			const double x = index_of(a->x_values, point, a->x);
			char text[TEXT_BYTES];

			others(point, a, false, text, sizeof(text));
			if (x >= 0 && strcmp(text, t->list[k]) == 0)
				plot_row(plot, (double[]){ x, figure_of(point, figure) / scale });
		}
	}
}

static struct plot *open_lines(struct page *p, const struct compare_run *run, const struct axes *a,
			       const char *name, const char *title)
{
	struct plot *plot = page_plot(p, run, PLOT_LINES, name, title);

	if (!plot)
		return NULL;
	plot_x_name(plot, a->x);
	put_tics(plot, a->x_values, true);
	return plot;
}

static void put_cell(struct page *p, const json_t *points, const struct axes *a, const char *line,
		     double x, bool rate)
{
	const json_t *point;
	double found = NAN;
	size_t i;

	json_array_foreach(points, i, point)
	{
		char text[TEXT_BYTES];

		others(point, a, false, text, sizeof(text));
		if (index_of(a->x_values, point, a->x) == x && strcmp(text, line) == 0)
			found = figure_of(point, rate ? "bandwidth" : "p99");
	}
	(rate ? page_rate_cell : page_time_cell)(p, found);
}

static void put_lines_table(struct page *p, const json_t *points, const struct axes *a,
			    const struct texts *t, bool rate)
{
	const char *heads[PLOT_MAX_SERIES + 2] = { a->x };
	const json_t *value;
	size_t i;

	for (i = 0; i < t->n; i++)
		heads[i + 1] = *t->list[i] ? t->list[i] : rate ? "bandwidth" : "p99";
	page_table(p, rate ? "Bandwidth of the points" : "99th percentile of the points", heads);
	json_array_foreach(a->x_values, i, value)
	{
		if (i >= PAGE_MAX_ROWS)
			break;
		page_row(p, json_string_value(value));
		for (size_t k = 0; k < t->n; k++)
			put_cell(p, points, a, t->list[k], (double)i, rate);
		page_row_end(p);
	}
	page_table_end(p, json_array_size(a->x_values) - i);
}

static void put_lines(struct page *p, const struct compare_run *run, const json_t *points,
		      const struct axes *a)
{
	struct texts t = { .list = calloc(PLOT_MAX_SERIES, sizeof(*t.list)) };
	struct plot *bandwidth, *p99;

	if (!t.list) {
		p->incomplete = true;
		return;
	}
	collect(points, a, false, PLOT_MAX_SERIES, &t);
	page_figure(p,
		    p->axis && strcmp(a->x, p->axis) == 0 ?
			    "Bandwidth and 99th percentile of the service time by the values of "
			    "the list of -axis; a line for each combination of the others" :
			    "Bandwidth and 99th percentile of the service time by the values of "
			    "the list that is longest; a line for each combination of the others");
	bandwidth = open_lines(p, run, a, "lines-bandwidth", "Bandwidth of the points");
	p99 = open_lines(p, run, a, "lines-p99", "99th percentile of the points");
	if (bandwidth && p99) {
		bandwidth->y_label = "bandwidth";
		bandwidth->y_format = "%.1s %cB/s";
		bandwidth->from_zero = true;
		p99->y_label = "p99";
		p99->y_format = "%.0s %cs";
		p99->log_y = true;
	}
	draw(bandwidth, points, a, &t, "bandwidth", 1);
	draw(p99, points, a, &t, "p99", 1e9);
	put_lines_table(p, points, a, &t, true);
	put_lines_table(p, points, a, &t, false);
	if (t.left_out)
		page_line(p, "Points of other combinations, %zu, are in the table of points only.",
			  t.left_out);
	page_figure_end(p);
	free(t.list);
}

/* ---- grids ---- */

static const json_t *find_point(const json_t *points, const struct axes *a, const char *rest,
				double x, double y)
{
	const json_t *point;
	size_t i;

	json_array_foreach(points, i, point)
	{
		char text[TEXT_BYTES];

		if (index_of(a->x_values, point, a->x) != x ||
		    index_of(a->y_values, point, a->y) != y)
			continue;
		others(point, a, true, text, sizeof(text));
		if (strcmp(text, rest) == 0)
			return point;
	}
	return NULL;
}

static void put_grid_table(struct page *p, const json_t *points, const struct axes *a,
			   const char *rest, struct plot *plot)
{
	const char *heads[PLOT_MAX_TICS + 2];
	size_t columns = json_array_size(a->x_values), rows = json_array_size(a->y_values);

	columns = columns < PLOT_MAX_TICS ? columns : PLOT_MAX_TICS;
	rows = rows < PLOT_MAX_TICS ? rows : PLOT_MAX_TICS;
	heads[0] = a->y;
	for (size_t x = 0; x < columns; x++) {
		const char *text = json_string_value(json_array_get(a->x_values, x));

		heads[x + 1] = text ? text : "";
	}
	heads[columns + 1] = NULL;
	page_table(p, "Bandwidth; a column for each value of the longest list", heads);
	for (size_t y = 0; y < rows; y++) {
		page_row(p, json_string_value(json_array_get(a->y_values, y)));
		for (size_t x = 0; x < columns; x++) {
			const double mean = figure_of(
				find_point(points, a, rest, (double)x, (double)y), "bandwidth");
			const double at_x = (double)x, at_y = (double)y;

			page_rate_cell(p, mean);
			plot_row(plot, (double[]){ at_x - 0.5, at_x + 0.5, at_y - 0.5, at_y + 0.5,
						   mean });
		}
		page_row_end(p);
	}
	page_table_end(p, json_array_size(a->y_values) - rows);
}

static void put_grids(struct page *p, const struct compare_run *run, const json_t *points,
		      const struct axes *a)
{
	struct texts t = { .list = calloc(MAX_GRIDS, sizeof(*t.list)) };

	if (t.list)
		collect(points, a, true, MAX_GRIDS, &t);
	else
		p->incomplete = true;
	for (size_t i = 0; i < t.n; i++) {
		char caption[TEXT_BYTES + 64];
		struct plot *plot;

		snprintf(caption, sizeof(caption),
			 "Grid of the bandwidth: the stronger the colour, the more%s%s",
			 *t.list[i] ? "; " : "", t.list[i]);
		page_figure(p, caption);
		plot = page_plot(p, run, PLOT_HEAT, "grid", "Grid of the bandwidth");
		if (plot) {
			plot->x_label = plot->y_label = "";
			plot->shade_format = "%.1s %cB/s";
			put_tics(plot, a->x_values, true);
			put_tics(plot, a->y_values, false);
		}
		plot_series(plot, NULL);
		put_grid_table(p, points, a, t.list[i], plot);
		page_figure_end(p);
	}
	if (t.left_out)
		page_line(p, "More grids are not shown; all points are in the table of points.");
	free(t.list);
}

bool page_has_axis(const struct compare_run *run, const char *axis)
{
	const json_t *one;
	size_t i;

	if (json_object_get(run->root, "curve"))
		return false;
	json_array_foreach(json_object_get(run->root, "axes"), i, one)
	{
		if (strcmp(page_string(one, "option"), axis) == 0)
			return true;
	}
	return false;
}

void page_lines(struct page *p, const struct compare_run *run)
{
	const json_t *points = json_object_get(run->root, "points");
	struct axes a;

	find_axes(json_object_get(run->root, "axes"), p->axis, &a);
	if (!a.x || !json_array_size(a.x_values) || !json_array_size(points))
		return;
	page_section(p, 3, "Lines and grid");
	put_lines(p, run, points, &a);
	if (a.y && json_array_size(a.y_values))
		put_grids(p, run, points, &a);
	page_section_end(p);
}
