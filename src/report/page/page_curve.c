/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The curve of xdd curve: response times against load, with its knee and the load of its goal; and
 * two of them in one plot. Called by page.c and page_summary.c.
 */
#include <math.h>
#include <stdio.h>

#include "report/page/page.h"
#include "xdd/base/units.h"

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

/* ---- plot ---- */

/* Of the response times, multiples of the least service time; longer ones are at the edge. */
#define SERVICE_TIMES 5

/* A goal that is farther away than this many times the edge does not extend the axis. */
#define GOAL_EDGES 4

static const struct {
	enum plot_id plot;
	const char *name;
	size_t line; /* of `lines` */
} curve_lines[] = {
	{ PLOT_CURVE, "response mean", 0 }, { PLOT_CURVE, "response p50", 1 },
	{ PLOT_CURVE, "response p99", 2 },  { PLOT_CURVE, "service mean", 4 },
	{ PLOT_CURVE_TAIL, "p99", 2 },	    { PLOT_CURVE_TAIL, "p99.9", 3 },
	{ PLOT_CURVE_LATENESS, "", 5 },
};
#define CURVE_LINES (sizeof(curve_lines) / sizeof(curve_lines[0]))

static void draw_curve_line(struct plot *plot, const struct document_curve *c, size_t i)
{
	const bool mean = curve_lines[i].line == 0;

	plot_series(plot, curve_lines[i].name);
	for (size_t k = 0; k < c->n_loads; k++) {
		const struct document_load *load = &c->loads[k];
		const double ns = time_of(load, curve_lines[i].line);
		const double half = mean ? ns * load->interval_percent / 100 : NAN;

		/* A cross for each disturbed load, not for each line. */
		plot_add(plot, &(struct plot_point){ .x = load->percent,
						     .y = ns > 0 ? ns : NAN,
						     .low = ns - half,
						     .high = ns + half,
						     .disturbed = mean && load->disturbed });
	}
}

/* The end of the axis; 0: the greatest time. */
static double curve_edge(const struct plot *plot, const struct document_curve *c)
{
	double service = INFINITY, edge;

	for (size_t i = 0; i < c->n_loads; i++) {
		if (c->loads[i].service_ns > 0)
			service = fmin(service, c->loads[i].service_ns);
	}
	edge = SERVICE_TIMES * service;
	if (c->goal.given && c->goal.limit_ns > edge / 1.1 && c->goal.limit_ns < GOAL_EDGES * edge)
		edge = 1.1 * c->goal.limit_ns;
	return isfinite(edge) && plot_greatest(plot) > edge ? edge : 0;
}

static void mark_knee(struct plot *plot, const struct document_curve *c)
{
	char label[PLOT_LABEL_SIZE];

	if (!c->knee.known)
		return;
	if (c->knee.low_percent >= 0 && c->knee.high_percent >= 0)
		snprintf(label, sizeof(label), "knee %.3g %% (%.3g to %.3g %%)", c->knee.percent,
			 c->knee.low_percent, c->knee.high_percent);
	else
		snprintf(label, sizeof(label), "knee %.3g %%, uncertain", c->knee.percent);
	plot_line_at(plot, c->knee.percent, c->knee.low_percent, c->knee.high_percent, label);
}

/* As a level of the figure that the goal limits, and at the load that meets it. */
static void mark_goal(struct plot *plot, const struct document_curve *c)
{
	char label[PLOT_LABEL_SIZE], limit[SCALED_SIZE];

	if (!c->goal.given || (plot->y_most > 0 && c->goal.limit_ns > plot->y_most))
		return;
	scaled_time(c->goal.limit_ns, limit);
	if (c->goal.holds_percent > 0) {
		snprintf(label, sizeof(label), "goal: %s up to %s (to %.4g %%)",
			 page_goal_figure(c->goal.figure), limit, c->goal.holds_percent);
		plot_line_at(plot, c->goal.holds_percent, NAN, NAN, "");
	} else {
		snprintf(label, sizeof(label), "goal: %s up to %s",
			 page_goal_figure(c->goal.figure), limit);
	}
	plot_level(plot, c->goal.limit_ns, label);
}

static struct plot *draw_lines_of(struct page *p, const struct compare_run *run, enum plot_id id)
{
	struct plot *plot = page_plot(p, run, id);

	for (size_t i = 0; i < CURVE_LINES; i++) {
		if (curve_lines[i].plot == id)
			draw_curve_line(plot, &run->doc.curve, i);
	}
	return plot;
}

static void draw_curve(struct page *p, const struct compare_run *run)
{
	const struct document_curve *c = &run->doc.curve;
	struct plot *curve = draw_lines_of(p, run, PLOT_CURVE);
	struct plot *tail = draw_lines_of(p, run, PLOT_CURVE_TAIL);

	draw_lines_of(p, run, PLOT_CURVE_LATENESS);
	curve->y_most = curve_edge(curve, c);
	mark_knee(curve, c);
	mark_goal(curve, c);
	mark_knee(tail, c);
	mark_goal(tail, c);
}

static void put_load(struct page *p, const struct document_load *load)
{
	char text[32];

	snprintf(text, sizeof(text), load->percent >= 0 ? "%.5g\u00a0%%" : "-", load->percent);
	page_row(p, text);
	page_figure_cell(p, FIGURE_IOPS, load->offered_iops);
	page_figure_cell(p, FIGURE_IOPS, load->reached_iops);
	for (size_t k = 0; k < LINES; k++)
		page_time_cell(p, time_of(load, k));
	snprintf(text, sizeof(text), "%.4g", load->queue);
	page_number(p, load->queue >= 0 ? text : "-");
	page_number(p, load->disturbed ? "yes" : "no");
	page_number(p, load->overloaded ? "yes" : "no");
	page_row_end(p);
}

void page_curve(struct page *p, const struct compare_run *run)
{
	const struct document_curve *c = &run->doc.curve;
	const char *heads[LINES + 7] = { "load", "~offered", "reached" };
	size_t n = 3;

	for (size_t k = 0; k < LINES; k++)
		heads[n++] = lines[k];
	heads[n++] = "~queue";
	heads[n++] = "disturbed";
	heads[n] = "overloaded";
	page_section(p, 3, "Response time against load");
	page_figure(p,
		    "Response and service times by offered load. The axis ends at five times the "
		    "least service time, or above the goal; markers above it are of longer times, "
		    "crosses are on disturbed loads. The band is the "
		    "interval of the knee with 95 % confidence: there throughput divided by mean "
		    "response time is greatest. The lateness is of xdd itself, where "
		    "nothing is transferred, and part of the response times");
	draw_curve(p, run);
	page_table(p, "Loads of the curve; queue: operations that are due and not complete", heads);
	for (size_t i = 0; i < c->n_loads && i < PAGE_MAX_ROWS; i++)
		put_load(p, &c->loads[i]);
	page_table_end(p, c->n_loads > PAGE_MAX_ROWS ? c->n_loads - PAGE_MAX_ROWS : 0);
	page_figure_end(p);
	page_section_end(p);
}

void page_curves(struct page *p, const struct compare_run *runs)
{
	struct plot *plot = page_plot(p, &runs[0], PLOT_CURVES);
	char name[PAGE_NAME_SIZE];
	double edges[2];

	for (size_t i = 0; i < 2; i++) {
		const struct document_curve *c = &runs[i].doc.curve;

		plot_series(plot, page_document(&runs[i], name));
		for (size_t k = 0; k < c->n_loads; k++) {
			const struct document_load *load = &c->loads[k];
			const double ns = time_of(load, 0);
			const double half = ns * load->interval_percent / 100;

			plot_add(plot, &(struct plot_point){ .x = load->offered_iops,
							     .y = ns > 0 ? ns : NAN,
							     .low = ns - half,
							     .high = ns + half,
							     .disturbed = load->disturbed });
		}
	}
	for (size_t i = 0; i < 2; i++) {
		const struct document_curve *c = &runs[i].doc.curve;

		edges[i] = curve_edge(plot, c);
		if (c->knee.known)
			plot_line_at(plot, c->knee.iops, NAN, NAN, i ? "knee of b" : "knee of a");
	}
	plot->y_most = edges[0] > 0 && edges[1] > 0 ? fmax(edges[0], edges[1]) : 0;
}
