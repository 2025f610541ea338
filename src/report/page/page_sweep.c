/* SPDX-License-Identifier: GPL-2.0-or-later */
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
	const double mean = mean_of(point, FIGURE_BANDWIDTH);
	const double half = all ? all->figures[FIGURE_BANDWIDTH].high - mean : NAN;

	if (mean > 0 && rule_too_few(100 * half / mean))
		snprintf(buf, size, "too few");
	else if (mean > 0 && half >= 0)
		snprintf(buf, size, "%.*f %%", half < 0.1 * mean ? 1 : 0, 100 * half / mean);
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
	static const char *const figures[] = { "bandwidth", "+-95 %", "IOPS",	"latency", "p50",
					       "p99",	    "p99.9",  "rounds", "status",  NULL };
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

#define MAX_GRIDS 6

/*
 * The axis that is asked for, or the one with the most values: along x. The one with the most
 * values of the others: as lines or along y; NULL: there is one axis.
 */
struct axes {
	const struct document *d;
	const struct document_axis *x, *y;
};

/* Without `wanted`, or where no axis has this name, the two with the most values. */
static void find_axes(const struct document *d, const char *wanted, struct axes *a)
{
	bool found = false;

	*a = (struct axes){ .d = d };
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
}

#define NO_INDEX SIZE_MAX

/* The index of a point's value along an axis, or NO_INDEX. */
static size_t index_of(const struct document_axis *axis, const struct document_point *point)
{
	const char *own = value_of(point, axis->option);

	for (size_t i = 0; i < axis->n; i++) {
		if (strcmp(axis->values[i], own) == 0)
			return i;
	}
	return NO_INDEX;
}

/* The values of all axes but x (and y) as a text, which tells lines (and grids) apart. */
static void others(const struct document_point *point, const struct axes *a, bool grid, char *buf,
		   size_t size)
{
	const char *option;
	json_t *value;
	size_t n = 0;

	buf[0] = '\0';
	json_object_foreach((json_t *)(uintptr_t)point->varied, option, value)
	{
		if (strcmp(option, a->x->option) == 0 ||
		    (grid && a->y && strcmp(option, a->y->option) == 0))
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

static void page_lines_collect(const struct axes *a, bool grid, size_t most, struct texts *t)
{
	for (size_t i = 0; i < a->d->n_points; i++) {
		char text[TEXT_BYTES];
		size_t k;

		others(&a->d->points[i], a, grid, text, sizeof(text));
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

static void put_tics(struct plot *plot, const struct document_axis *axis, bool x)
{
	for (size_t i = 0; i < axis->n; i++)
		(x ? plot_x_tic : plot_y_tic)(plot, (double)i, axis->values[i]);
}

static void page_lines_draw(struct plot *plot, const struct axes *a, const struct texts *t,
			    enum pass_figure figure, double scale)
{
	for (size_t k = 0; k < t->n; k++) {
		plot_series(plot, t->list[k]);
		for (size_t i = 0; i < a->d->n_points; i++) {
			const struct document_point *point = &a->d->points[i];
			const size_t x = index_of(a->x, point);
			char text[TEXT_BYTES];

			others(point, a, false, text, sizeof(text));
			if (x != NO_INDEX && strcmp(text, t->list[k]) == 0)
				plot_row(plot,
					 (double[]){ (double)x, mean_of(point, figure) / scale });
		}
	}
}

static struct plot *open_lines(struct page *p, const struct compare_run *run, const struct axes *a,
			       const char *name, const char *title)
{
	struct plot *plot = page_plot(p, run, PLOT_LINES, name, title);

	plot_x_name(plot, a->x->option);
	put_tics(plot, a->x, true);
	return plot;
}

static void put_cell(struct page *p, const struct axes *a, const char *line, size_t x, bool rate)
{
	double found = NAN;

	for (size_t i = 0; i < a->d->n_points; i++) {
		const struct document_point *point = &a->d->points[i];
		char text[TEXT_BYTES];

		others(point, a, false, text, sizeof(text));
		if (index_of(a->x, point) == x && strcmp(text, line) == 0)
			found = mean_of(point, rate ? FIGURE_BANDWIDTH : FIGURE_P99);
	}
	(rate ? page_rate_cell : page_time_cell)(p, found);
}

static void put_lines_table(struct page *p, const struct axes *a, const struct texts *t, bool rate)
{
	const char *heads[PLOT_MAX_SERIES + 2] = { a->x->option };
	size_t i;

	for (i = 0; i < t->n; i++)
		heads[i + 1] = *t->list[i] ? t->list[i] : rate ? "bandwidth" : "p99";
	page_table(p, rate ? "Bandwidth of the points" : "99th percentile of the points", heads);
	for (i = 0; i < a->x->n && i < PAGE_MAX_ROWS; i++) {
		page_row(p, a->x->values[i]);
		for (size_t k = 0; k < t->n; k++)
			put_cell(p, a, t->list[k], i, rate);
		page_row_end(p);
	}
	page_table_end(p, a->x->n - i);
}

static void put_lines(struct page *p, const struct compare_run *run, const struct axes *a)
{
	struct texts t = { .list = xcalloc(PLOT_MAX_SERIES, sizeof(*t.list)) };
	struct plot *bandwidth, *p99;

	page_lines_collect(a, false, PLOT_MAX_SERIES, &t);
	page_figure(p,
		    p->axis && strcmp(a->x->option, p->axis) == 0 ?
			    "Bandwidth and 99th percentile of the service time by the values of "
			    "the list of -axis; a line for each combination of the others" :
			    "Bandwidth and 99th percentile of the service time by the values of "
			    "the list that is longest; a line for each combination of the others");
	bandwidth = open_lines(p, run, a, "lines-bandwidth", "Bandwidth of the points");
	p99 = open_lines(p, run, a, "lines-p99", "99th percentile of the points");
	bandwidth->y_label = "bandwidth";
	bandwidth->y_format = "%.1s %cB/s";
	bandwidth->from_zero = true;
	p99->y_label = "p99";
	p99->y_format = "%.0s %cs";
	p99->log_y = true;
	page_lines_draw(bandwidth, a, &t, FIGURE_BANDWIDTH, 1);
	page_lines_draw(p99, a, &t, FIGURE_P99, 1e9);
	put_lines_table(p, a, &t, true);
	put_lines_table(p, a, &t, false);
	if (t.left_out)
		page_line(p, "Points of other combinations, %zu, are in the table of points only.",
			  t.left_out);
	page_figure_end(p);
	free(t.list);
}

/* ---- grids ---- */

static const struct document_point *find_point(const struct axes *a, const char *rest, size_t x,
					       size_t y)
{
	for (size_t i = 0; i < a->d->n_points; i++) {
		const struct document_point *point = &a->d->points[i];
		char text[TEXT_BYTES];

		if (index_of(a->x, point) != x || index_of(a->y, point) != y)
			continue;
		others(point, a, true, text, sizeof(text));
		if (strcmp(text, rest) == 0)
			return point;
	}
	return NULL;
}

static void put_grid_table(struct page *p, const struct axes *a, const char *rest,
			   struct plot *plot)
{
	const size_t columns = a->x->n < PLOT_MAX_TICS ? a->x->n : PLOT_MAX_TICS;
	const size_t rows = a->y->n < PLOT_MAX_TICS ? a->y->n : PLOT_MAX_TICS;
	const char *heads[PLOT_MAX_TICS + 2] = { a->y->option };

	for (size_t x = 0; x < columns; x++)
		heads[x + 1] = a->x->values[x];
	page_table(p, "Bandwidth; a column for each value of the longest list", heads);
	for (size_t y = 0; y < rows; y++) {
		page_row(p, a->y->values[y]);
		for (size_t x = 0; x < columns; x++) {
			const double mean = mean_of(find_point(a, rest, x, y), FIGURE_BANDWIDTH);
			const double at_x = (double)x, at_y = (double)y;

			page_rate_cell(p, mean);
			plot_row(plot, (double[]){ at_x - 0.5, at_x + 0.5, at_y - 0.5, at_y + 0.5,
						   mean });
		}
		page_row_end(p);
	}
	page_table_end(p, a->y->n - rows);
}

static void put_grids(struct page *p, const struct compare_run *run, const struct axes *a)
{
	struct texts t = { .list = xcalloc(MAX_GRIDS, sizeof(*t.list)) };

	page_lines_collect(a, true, MAX_GRIDS, &t);
	for (size_t i = 0; i < t.n; i++) {
		char caption[TEXT_BYTES + 64];
		struct plot *plot;

		snprintf(caption, sizeof(caption),
			 "Grid of the bandwidth: the stronger the colour, the more%s%s",
			 *t.list[i] ? "; " : "", t.list[i]);
		page_figure(p, caption);
		plot = page_plot(p, run, PLOT_HEAT, "grid", "Grid of the bandwidth");
		plot->x_label = plot->y_label = "";
		plot->shade_format = "%.1s %cB/s";
		put_tics(plot, a->x, true);
		put_tics(plot, a->y, false);
		plot_series(plot, NULL);
		put_grid_table(p, a, t.list[i], plot);
		page_figure_end(p);
	}
	if (t.left_out)
		page_line(p, "More grids are not shown; all points are in the table of points.");
	free(t.list);
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

void page_lines(struct page *p, const struct compare_run *run)
{
	struct axes a;

	find_axes(&run->doc, p->axis, &a);
	if (!a.x || !a.x->n || !run->doc.n_points)
		return;
	page_section(p, 3, "Lines and grid");
	put_lines(p, run, &a);
	if (a.y && a.y->n)
		put_grids(p, run, &a);
	page_section_end(p);
}

/* The times of a load, lines of the plot and columns of the table. */
static const char *const lines[] = { "response, mean",	"response, p50", "response, p99",
				     "response, p99.9", "service, mean", "lateness of xdd" };
#define LINES (sizeof(lines) / sizeof(lines[0]))

static double time_of(const struct document_load *load, size_t line)
{
	if (line < DOCUMENT_RESPONSES)
		return load->response_ns[line];
	return line == DOCUMENT_RESPONSES ? load->service_ns : load->lateness_ns;
}

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

static void put_maximum(struct page *p, const struct document_curve *c)
{
	char rate[SCALED_SIZE];

	if (!c->maximum.known) {
		page_item(p, "maximum: not known");
		return;
	}
	scaled_ops(c->maximum.iops, rate);
	if (rule_too_few(c->maximum.interval_percent))
		page_item(p, "maximum: %s, " RULE_TOO_FEW_WORDS " to say how far it repeats", rate);
	else if (c->maximum.interval_percent >= 0)
		page_item(p, "maximum: %s, +-%.2g %%", rate, c->maximum.interval_percent);
	else
		page_item(p, "maximum: %s", rate);
}

static void put_knee(struct page *p, const struct document_curve *c)
{
	char rate[SCALED_SIZE];

	if (!c->knee.known) {
		page_item(p, "knee: %s", c->knee.missing);
		return;
	}
	scaled_ops(c->knee.iops, rate);
	if (c->knee.low_percent >= 0 && c->knee.high_percent >= 0)
		page_item(p,
			  "knee: at %.3g %% of the maximum, %s, between %.3g %% and %.3g %% with "
			  "95 %% confidence: throughput divided by mean response time is greatest",
			  c->knee.percent, rate, c->knee.low_percent, c->knee.high_percent);
	else
		page_item(p,
			  "knee: at %.3g %% of the maximum, %s, of unknown uncertainty: throughput "
			  "divided by mean response time is greatest",
			  c->knee.percent, rate);
}

/* "p99" of "response_p99". */
static const char *goal_figure(const char *name)
{
	static const char prefix[] = "response_";

	if (strncmp(name, prefix, sizeof(prefix) - 1) == 0)
		return name + sizeof(prefix) - 1;
	return "mean";
}

static void put_goal(struct page *p, const struct document_curve *c)
{
	const double holds = c->goal.holds_percent, fails = c->goal.fails_percent;
	const char *figure = goal_figure(c->goal.figure);
	const char *disturbed =
		c->goal.disturbed ? "; a response time falls while the load rises: disturbed" : "";
	char rate[SCALED_SIZE], limit[SCALED_SIZE];

	if (!c->goal.given)
		return;
	scaled_ops(c->goal.holds_iops, rate);
	scaled_time(c->goal.limit_ns, limit);
	if (!(holds > 0) && !(fails > 0))
		page_item(p, "goal: %s up to %s cannot be judged: too few operations in a round",
			  figure, limit);
	else if (!(holds > 0))
		page_item(p, "goal: %s up to %s holds at no load%s", figure, limit, disturbed);
	else if (fails > 0)
		page_item(p,
			  "goal: %s up to %s holds at %.4g %% of the maximum, %s, not at %.4g %%%s",
			  figure, limit, holds, rate, fails, disturbed);
	else
		page_item(
			p,
			"goal: %s up to %s holds at all loads, up to %.4g %% of the maximum, %s%s",
			figure, limit, holds, rate, disturbed);
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

static void page_curve_draw(struct plot *plot, const struct document_curve *c)
{
	struct curve_span span = { 0 };

	plot->x_label = "offered load (% of the maximum)";
	plot->y_label = "time";
	plot->y_format = "%.0s %cs";
	plot->log_y = true;
	for (size_t k = 0; k < LINES; k++) {
		plot_series(plot, lines[k]);
		for (size_t i = 0; i < c->n_loads; i++) {
			const double ns = time_of(&c->loads[i], k);

			if (!(ns > 0))
				continue;
			plot_row(plot, (double[]){ c->loads[i].percent, ns / 1e9 });
			widen(&span, ns);
		}
	}
	put_mark(plot, "knee", c->knee.percent, &span);
	put_mark(plot, "goal", c->goal.holds_percent, &span);
}

static void put_load(struct page *p, const struct document_load *load)
{
	char text[32];

	snprintf(text, sizeof(text), load->percent >= 0 ? "%.5g %%" : "-", load->percent);
	page_row(p, text);
	page_ops_cell(p, load->offered_iops);
	page_ops_cell(p, load->reached_iops);
	for (size_t k = 0; k < LINES; k++)
		page_time_cell(p, time_of(load, k));
	snprintf(text, sizeof(text), "%.4g", load->queue);
	page_number(p, load->queue >= 0 ? text : "-");
	page_number(p, load->overloaded ? "yes" : "no");
	page_row_end(p);
}

void page_curve(struct page *p, const struct compare_run *run)
{
	const struct document_curve *c = &run->doc.curve;
	const char *heads[LINES + 6] = { "load", "offered", "reached" };
	size_t n = 3;

	for (size_t k = 0; k < LINES; k++)
		heads[n++] = lines[k];
	heads[n++] = "queue";
	heads[n] = "overloaded";
	page_section(p, 3, "Response time against load");
	page_put(p, "<ul>\n");
	put_maximum(p, c);
	put_knee(p, c);
	put_goal(p, c);
	page_put(p, "</ul>\n");
	page_figure(p, "Response and service times by offered load; the knee and the load of the "
		       "goal are vertical lines. The lateness is that of xdd where nothing is "
		       "transferred, and part of the response times");
	page_curve_draw(
		page_plot(p, run, PLOT_LINES, "curve", "Response and service times by load"), c);
	page_table(p, "Loads of the curve; queue: operations that are due and not complete", heads);
	for (size_t i = 0; i < c->n_loads && i < PAGE_MAX_ROWS; i++)
		put_load(p, &c->loads[i]);
	page_table_end(p, c->n_loads > PAGE_MAX_ROWS ? c->n_loads - PAGE_MAX_ROWS : 0);
	page_figure_end(p);
	page_section_end(p);
}
