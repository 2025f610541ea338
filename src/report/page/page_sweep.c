/*
 * A sweep: its points, its lines and its grid, and the curve of xdd curve, response times against
 * load, with its knee and the load of its goal. Called by page.c.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/page/page.h"
#include "xdd/base/units.h"

#define AXES_MAX 16

static double mean_of(const json_t *point, const char *figure)
{
	const json_t *all = json_array_get(json_object_get(point, "statistics"), 0);

	return page_real(json_object_get(all, figure), "mean");
}

/* Half of the interval of the bandwidth, in percent: "12 %". */
static const char *certainty(const json_t *point, char *buf, size_t size)
{
	const json_t *all = json_array_get(json_object_get(point, "statistics"), 0);
	const json_t *bandwidth = json_object_get(all, "bandwidth");
	const double mean = page_real(bandwidth, "mean");
	const double half = page_real(bandwidth, "interval_high") - mean;

	if (mean > 0 && half >= 0)
		snprintf(buf, size, "%.*f %%", half < 0.1 * mean ? 1 : 0, 100 * half / mean);
	else
		snprintf(buf, size, "-");
	return buf;
}

static void put_point(struct page *p, const json_t *axes, const json_t *point)
{
	const json_t *varied = json_object_get(point, "varied"), *axis;
	char text[32];
	size_t i;

	snprintf(text, sizeof(text), "%.15g", page_real(point, "point"));
	page_row(p, text);
	json_array_foreach(axes, i, axis)
	{
		if (i < AXES_MAX)
			page_number(p, page_string(varied, page_string(axis, "option")));
	}
	page_rate_cell(p, mean_of(point, "bandwidth"));
	page_number(p, certainty(point, text, sizeof(text)));
	page_ops_cell(p, mean_of(point, "iops"));
	page_time_cell(p, mean_of(point, "latency"));
	page_time_cell(p, mean_of(point, "p50"));
	page_time_cell(p, mean_of(point, "p99"));
	page_time_cell(p, mean_of(point, "p99.9"));
	page_count_cell(p, (double)json_array_size(json_object_get(point, "rounds")));
	page_count_cell(p, page_real(point, "status"));
	page_row_end(p);
}

void page_points(struct page *p, const struct compare_run *run)
{
	static const char *const figures[] = { "bandwidth", "+-95 %", "IOPS",	"latency", "p50",
					       "p99",	    "p99.9",  "rounds", "status",  NULL };
	const json_t *axes = json_object_get(run->root, "axes"), *axis, *point;
	const json_t *points = json_object_get(run->root, "points");
	const char *heads[AXES_MAX + 1 + sizeof(figures) / sizeof(figures[0])] = { "|point" };
	size_t i, n = 1;

	json_array_foreach(axes, i, axis)
	{
		if (i < AXES_MAX)
			heads[n++] = page_string(axis, "option");
	}
	memcpy(&heads[n], figures, sizeof(figures));
	page_section(p, 3, "Points");
	page_table(p, "Means over the rounds of each point", heads);
	json_array_foreach(points, i, point)
	{
		if (i < PAGE_MAX_ROWS)
			put_point(p, axes, point);
	}
	n = json_array_size(points);
	page_table_end(p, n > PAGE_MAX_ROWS ? n - PAGE_MAX_ROWS : 0);
	page_section_end(p);
}

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

static void page_lines_collect(const json_t *points, const struct axes *a, bool grid, size_t most,
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

static void page_lines_draw(struct plot *plot, const json_t *points, const struct axes *a,
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
	page_lines_collect(points, a, false, PLOT_MAX_SERIES, &t);
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
	page_lines_draw(bandwidth, points, a, &t, "bandwidth", 1);
	page_lines_draw(p99, points, a, &t, "p99", 1e9);
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
		page_lines_collect(points, a, true, MAX_GRIDS, &t);
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

static const struct line {
	const char *member, *title;
} lines[] = {
	{ "response", "response, mean" },    { "response_p50", "response, p50" },
	{ "response_p99", "response, p99" }, { "response_p99.9", "response, p99.9" },
	{ "service", "service, mean" },	     { "lateness", "lateness of xdd" },
};
#define LINES (sizeof(lines) / sizeof(lines[0]))

struct curve_span {
	double least, most; /* response times, ns */
};

static void widen(struct curve_span *s, double ns)
{
	if (!(ns > 0))
		return;
	s->least = s->least > 0 && s->least < ns ? s->least : ns;
	s->most = s->most > ns ? s->most : ns;
}

/* ---- in words ---- */

static void put_maximum(struct page *p, const json_t *curve)
{
	const json_t *maximum = json_object_get(curve, "maximum");
	const double percent = page_real(maximum, "interval_percent");
	char rate[SCALED_SIZE];

	if (!json_is_object(maximum)) {
		page_item(p, "maximum: not known");
		return;
	}
	scaled_ops(page_real(maximum, "iops"), rate);
	if (percent >= 0)
		page_item(p, "maximum: %s, +-%.2g %%", rate, percent);
	else
		page_item(p, "maximum: %s", rate);
}

static void put_knee(struct page *p, const json_t *curve)
{
	const json_t *knee = json_object_get(curve, "knee");
	const double low = page_real(knee, "low_percent"), high = page_real(knee, "high_percent");
	char rate[SCALED_SIZE];

	if (!json_is_object(knee)) {
		page_item(p, "knee: %s", page_string(curve, "knee_missing"));
		return;
	}
	scaled_ops(page_real(knee, "iops"), rate);
	if (low >= 0 && high >= 0)
		page_item(p,
			  "knee: at %.3g %% of the maximum, %s, between %.3g %% and %.3g %% with "
			  "95 %% confidence: throughput divided by mean response time is greatest",
			  page_real(knee, "percent"), rate, low, high);
	else
		page_item(p,
			  "knee: at %.3g %% of the maximum, %s, of unknown uncertainty: throughput "
			  "divided by mean response time is greatest",
			  page_real(knee, "percent"), rate);
}

/* "p99" of "response_p99". */
static const char *goal_figure(const json_t *goal)
{
	static const char prefix[] = "response_";
	const char *name = page_string(goal, "figure");

	if (strncmp(name, prefix, sizeof(prefix) - 1) == 0)
		return name + sizeof(prefix) - 1;
	return "mean";
}

static void put_goal(struct page *p, const json_t *curve)
{
	const json_t *goal = json_object_get(curve, "goal");
	const double holds = page_real(goal, "holds_percent");
	const double fails = page_real(goal, "fails_percent");
	const char *disturbed = json_is_true(json_object_get(goal, "disturbed")) ?
					"; a response time falls while the load rises: disturbed" :
					"";
	char rate[SCALED_SIZE], limit[SCALED_SIZE];

	if (!json_is_object(goal))
		return;
	scaled_ops(page_real(goal, "holds_iops"), rate);
	scaled_time(page_real(goal, "limit"), limit);
	if (!(holds > 0) && !(fails > 0))
		page_item(p, "goal: %s up to %s cannot be judged: too few operations in a round",
			  goal_figure(goal), limit);
	else if (!(holds > 0))
		page_item(p, "goal: %s up to %s holds at no load%s", goal_figure(goal), limit,
			  disturbed);
	else if (fails > 0)
		page_item(p,
			  "goal: %s up to %s holds at %.4g %% of the maximum, %s, not at %.4g %%%s",
			  goal_figure(goal), limit, holds, rate, fails, disturbed);
	else
		page_item(
			p,
			"goal: %s up to %s holds at all loads, up to %.4g %% of the maximum, %s%s",
			goal_figure(goal), limit, holds, rate, disturbed);
}

/* ---- plot ---- */

/* A vertical line. */
static void put_mark(struct plot *plot, const char *title, double percent,
		     const struct curve_span *s)
{
	if (!(percent > 0) || !(s->most > 0))
		return;
	plot_series(plot, title);
	plot_row(plot, (double[]){ percent, s->least / 1e9 });
	plot_row(plot, (double[]){ percent, s->most / 1e9 });
}

static void page_curve_draw(struct plot *plot, const json_t *curve, const json_t *loads)
{
	struct curve_span span = { 0 };
	const json_t *load;
	size_t i;

	if (!plot)
		return;
	plot->x_label = "offered load (% of the maximum)";
	plot->y_label = "time";
	plot->y_format = "%.0s %cs";
	plot->log_y = true;
	for (size_t k = 0; k < LINES; k++) {
		plot_series(plot, lines[k].title);
		json_array_foreach(loads, i, load)
		{
			const double ns = page_real(load, lines[k].member);

			if (!(ns > 0))
				continue;
			plot_row(plot, (double[]){ page_real(load, "percent"), ns / 1e9 });
			widen(&span, ns);
		}
	}
	put_mark(plot, "knee", page_real(json_object_get(curve, "knee"), "percent"), &span);
	put_mark(plot, "goal", page_real(json_object_get(curve, "goal"), "holds_percent"), &span);
}

static void put_load(struct page *p, const json_t *load)
{
	const double percent = page_real(load, "percent");
	char text[32];

	snprintf(text, sizeof(text), percent >= 0 ? "%.5g %%" : "-", percent);
	page_row(p, text);
	page_ops_cell(p, page_real(load, "offered_iops"));
	page_ops_cell(p, page_real(load, "reached_iops"));
	for (size_t k = 0; k < LINES; k++)
		page_time_cell(p, page_real(load, lines[k].member));
	snprintf(text, sizeof(text), "%.4g", page_real(load, "queue"));
	page_number(p, page_real(load, "queue") >= 0 ? text : "-");
	page_number(p, json_is_true(json_object_get(load, "overloaded")) ? "yes" : "no");
	page_row_end(p);
}

bool page_has_curve(const struct compare_run *run)
{
	return json_is_object(json_object_get(run->root, "curve"));
}

void page_curve(struct page *p, const struct compare_run *run)
{
	const json_t *curve = json_object_get(run->root, "curve");
	const json_t *loads = json_object_get(curve, "loads"), *load;
	const char *heads[LINES + 6] = { "load", "offered", "reached" };
	size_t i, n = 3;

	for (size_t k = 0; k < LINES; k++)
		heads[n++] = lines[k].title;
	heads[n++] = "queue";
	heads[n] = "overloaded";
	page_section(p, 3, "Response time against load");
	page_put(p, "<ul>\n");
	put_maximum(p, curve);
	put_knee(p, curve);
	put_goal(p, curve);
	page_put(p, "</ul>\n");
	page_figure(p, "Response and service times by offered load; the knee and the load of the "
		       "goal are vertical lines. The lateness is that of xdd where nothing is "
		       "transferred, and part of the response times");
	page_curve_draw(page_plot(p, run, PLOT_LINES, "curve",
				  "Response and service times by load"),
			curve, loads);
	page_table(p, "Loads of the curve; queue: operations that are due and not complete", heads);
	json_array_foreach(loads, i, load)
	{
		if (i < PAGE_MAX_ROWS)
			put_load(p, load);
	}
	n = json_array_size(loads);
	page_table_end(p, n > PAGE_MAX_ROWS ? n - PAGE_MAX_ROWS : 0);
	page_figure_end(p);
	page_section_end(p);
}
