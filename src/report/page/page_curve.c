/*
 * The curve of xdd curve: response times against load, with its knee and the load of its goal.
 * Called by page.c.
 */
#include <math.h>
#include <string.h>

#include "report/page/page.h"
#include "xdd/base/units.h"

static const struct line {
	const char *member, *title;
} lines[] = {
	{ "response", "response, mean" },    { "response_p50", "response, p50" },
	{ "response_p99", "response, p99" }, { "response_p99.9", "response, p99.9" },
	{ "service", "service, mean" },	     { "lateness", "lateness of xdd" },
};
#define LINES (sizeof(lines) / sizeof(lines[0]))

struct span {
	double least, most; /* response times, ns */
};

static void widen(struct span *s, double ns)
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
static void put_mark(struct plot *plot, const char *title, double percent, const struct span *s)
{
	if (!(percent > 0) || !(s->most > 0))
		return;
	plot_series(plot, title);
	plot_row(plot, (double[]){ percent, s->least / 1e9 });
	plot_row(plot, (double[]){ percent, s->most / 1e9 });
}

static void draw(struct plot *plot, const json_t *curve, const json_t *loads)
{
	struct span span = { 0 };
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
	draw(page_plot(p, run, PLOT_LINES, "curve", "Response and service times by load"), curve,
	     loads);
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
