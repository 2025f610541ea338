/*
 * A run: latencies of each direction and of flushes, as figures and percentiles and as a heat map
 * of each pass, and the targets side by side, with starts and ends of each pass. Called by page.c.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/page/page.h"

/* Fields of the map: columns are passes, or several of them; rows are parts of a decade. */
#define COLUMNS 50
#define PARTS 8
#define DECADES 14
#define ROWS (PARTS * DECADES)

struct heat {
	double counts[COLUMNS][ROWS];
	double ops[COLUMNS];
	double passes;	   /* the number of the last one */
	double per_column; /* passes */
};

static bool is_pass(const json_t *result)
{
	return strcmp(page_string(result, "what"), "TARGET_PASS") == 0;
}

static void add_histogram(struct heat *h, size_t column, const json_t *histogram)
{
	for (size_t i = 0; i + 1 < json_array_size(histogram); i += 2) {
		const double from = page_element(histogram, i);
		const double count = page_element(histogram, i + 1);
		const double row = from >= 1 ? PARTS * log10(from) : 0;

		h->counts[column][row < ROWS ? (size_t)row : ROWS - 1] += count;
		h->ops[column] += count;
	}
}

static void page_heat_collect(struct heat *h, const json_t *results)
{
	const json_t *result;
	size_t i;

	json_array_foreach(results, i, result)
	{
		if (is_pass(result))
			h->passes = fmax(h->passes, page_real(result, "pass"));
	}
	h->per_column = fmax(1, ceil(h->passes / COLUMNS));
	json_array_foreach(results, i, result)
	{
		const double pass = page_real(result, "pass");
		const double column = floor((pass - 1) / h->per_column);

		if (!is_pass(result) || !(column >= 0 && column < COLUMNS))
			continue;
		for (size_t k = 0; k < PAGE_DIRECTIONS; k++)
			add_histogram(h, (size_t)column,
				      json_object_get(page_service(result, page_directions[k]),
						      "histogram"));
	}
}

static void page_heat_draw(struct plot *plot, const struct heat *h)
{
	plot_series(plot, NULL);
	for (size_t c = 0; c < COLUMNS; c++) {
		const double from = (double)c * h->per_column + 0.5;

		for (size_t r = 0; r < ROWS; r++) {
			if (h->counts[c][r] > 0)
				plot_row(plot, (double[]){ from, from + h->per_column,
							   pow(10, (double)r / PARTS - 9),
							   pow(10, (double)(r + 1) / PARTS - 9),
							   100 * h->counts[c][r] / h->ops[c] });
		}
	}
}

/* The share of operations in each decade. */
static void put_table(struct page *p, const struct heat *h)
{
	static const char *const heads[] = { "|passes",	 "operations", "< 1 us",  "< 10 us",
					     "< 100 us", "< 1 ms",     "< 10 ms", "< 100 ms",
					     "< 1 s",	 "longer",     NULL };
	static const size_t least = 3, most = 9; /* decades: < 10^least ns, < 10^most ns */

	page_table(p, "Operations by their service times, in percent of those of the passes",
		   heads);
	for (size_t c = 0; c < COLUMNS; c++) {
		const double from = (double)c * h->per_column + 1;
		size_t r = 0;
		char text[64];

		if (!(h->ops[c] > 0))
			continue;
		if (h->per_column > 1)
			snprintf(text, sizeof(text), "%.15g to %.15g", from,
				 from + h->per_column - 1);
		else
			snprintf(text, sizeof(text), "%.15g", from);
		page_row(p, text);
		page_count_cell(p, h->ops[c]);
		for (size_t decade = least; decade <= most + 1; decade++) {
			double sum = 0;

			for (; r < (decade > most ? ROWS : decade * PARTS); r++)
				sum += h->counts[c][r];
			snprintf(text, sizeof(text), "%.4g", 100 * sum / h->ops[c]);
			page_number(p, text);
		}
		page_row_end(p);
	}
	page_table_end(p, 0);
}

static void page_heat(struct page *p, const struct compare_run *run)
{
	struct heat *h = calloc(1, sizeof(*h));
	struct plot *plot;

	if (!h) {
		p->incomplete = true;
		return;
	}
	page_heat_collect(h, json_object_get(run->root, "results"));
	if (h->passes < 2) {
		page_missing(p,
			     "a heat map of the latencies over time, for which a document has one "
			     "histogram for each pass",
			     "-passes 10");
		free(h);
		return;
	}
	page_figure(
		p,
		"Heat map of the service times: the stronger the colour, the more operations of a pass");
	plot = page_plot(p, run, PLOT_HEAT, "heat", "Heat map of the service times");
	if (plot) {
		plot->log_y = plot->log_shade = true;
		plot->x_label = "pass";
		plot->y_label = "service time";
		plot->y_format = "%.0s %cs";
		plot->shade_format = "%g %%";
	}
	page_heat_draw(plot, h);
	put_table(p, h);
	page_figure_end(p);
	free(h);
}

#define MAX_PERCENTILES 100
#define HEAD_BYTES 64

/* The directions, and the flushes after them. */
#define N_SUBJECTS (PAGE_DIRECTIONS + 1)

static const char *subject_name(size_t i)
{
	return i < PAGE_DIRECTIONS ? page_directions[i] : "flush";
}

static const json_t *subject_times(const json_t *all, size_t i)
{
	return i < PAGE_DIRECTIONS ? page_service(all, page_directions[i]) : page_flushes(all);
}

static void put_figures(struct page *p, const json_t *all)
{
	static const char *const heads[] = { "|direction", "operations", "least", "mean",
					     "deviation",  "greatest",	 NULL };
	static const char *const keys[] = { "minimum_ns", "mean_ns", "standard_deviation_ns",
					    "maximum_ns" };

	page_table(p, "Service times of all targets, from issue to completion", heads);
	for (size_t i = 0; i < N_SUBJECTS; i++) {
		const json_t *times = subject_times(all, i);

		if (!times)
			continue;
		page_row(p, subject_name(i));
		page_count_cell(p, page_real(times, "count"));
		for (size_t k = 0; k < sizeof(keys) / sizeof(keys[0]); k++)
			page_time_cell(p, page_real(times, keys[k]));
		page_row_end(p);
	}
	page_table_end(p, 0);
}

/* The members of the first direction that has any are the rows. */
static void put_percentiles(struct page *p, const json_t *all)
{
	const size_t n_subjects = page_flushes(all) ? N_SUBJECTS : PAGE_DIRECTIONS;
	const char *heads[N_SUBJECTS + 2] = { "|percentile" };
	const json_t *rows = NULL, *value;
	const char *percent;
	size_t n = 0;

	for (size_t i = 0; i < n_subjects; i++) {
		heads[i + 1] = subject_name(i);
		if (!rows)
			rows = json_object_get(subject_times(all, i), "percentiles_ns");
	}
	page_table(p, "Percentiles: so many percent of the operations took no longer", heads);
	json_object_foreach((json_t *)(uintptr_t)rows, percent, value)
	{
		char head[HEAD_BYTES];

		if (++n > MAX_PERCENTILES)
			break;
		snprintf(head, sizeof(head), "%.32s %%", percent);
		page_row(p, head);
		for (size_t i = 0; i < n_subjects; i++)
			page_time_cell(p, page_real(json_object_get(subject_times(all, i),
								    "percentiles_ns"),
						    percent));
		page_row_end(p);
	}
	page_table_end(p, 0);
}

/* ---- the distribution ---- */

#define PARTS_PER_DECADE 20

void page_distribution_line(struct plot *plot, const json_t *times, const char *title)
{
	const json_t *histogram = json_object_get(times, "histogram");
	const size_t n = json_array_size(histogram);
	double total = 0, slower;
	int last = -1;

	for (size_t i = 1; i < n; i += 2)
		total += page_element(histogram, i);
	if (!(total > 0))
		return;
	plot_series(plot, title);
	slower = total;
	for (size_t i = 0; i + 1 < n; i += 2) {
		const double from = page_element(histogram, i),
			     count = page_element(histogram, i + 1);
		const int part = from >= 1 ? (int)(PARTS_PER_DECADE * log10(from)) : 0;

		if (part != last && isfinite(slower))
			plot_row(plot, (double[]){ from / 1e9, 100 * slower / total });
		last = part;
		slower -= count;
	}
}

void page_distribution_axes(struct plot *plot)
{
	if (!plot)
		return;
	plot->log_x = plot->log_y = true;
	plot->x_label = "service time";
	plot->y_label = "operations (%)";
	plot->x_format = "%.0s %cs";
}

static void put_distribution(struct page *p, const struct compare_run *run, const json_t *all)
{
	struct plot *plot;

	page_figure(p, "Distribution of the service times: share of the operations that took at "
		       "least so long, on logarithmic scales");
	plot = page_plot(p, run, PLOT_LINES, "distribution", "Distribution of the service times");
	page_distribution_axes(plot);
	for (size_t i = 0; i < N_SUBJECTS; i++)
		page_distribution_line(plot, subject_times(all, i), subject_name(i));
	put_percentiles(p, all);
	page_figure_end(p);
}

void page_latency(struct page *p, const struct compare_run *run)
{
	const json_t *all = page_result(run->root, "COMBINED");
	const json_t *service = json_object_get(json_object_get(all, "latency"), "service");

	page_section(p, 3, "Latency");
	if (json_object_size(service)) {
		put_figures(p, all);
		put_distribution(p, run, all);
		page_heat(p, run);
	} else {
		page_line(p, "The document has no latencies: nothing was completed.");
	}
	page_section_end(p);
}

/* Lines of the plot. */
#define MAX_TARGETS 32

static double page_spans_first_begin(const json_t *results)
{
	const json_t *result;
	double least = INFINITY;
	size_t i;

	json_array_foreach(results, i, result)
	{
		if (is_pass(result))
			least = fmin(least, page_real(result, "begin_ns"));
	}
	return least;
}

static void add_span(struct plot *plot, const json_t *root, const json_t *result, double origin)
{
	const double target = page_real(result, "target");
	char name[PAGE_NAME_SIZE];

	if (!(target < MAX_TARGETS))
		return;
	plot_row(plot, (double[]){ (page_real(result, "begin_ns") - origin) / 1e9,
				   (page_real(result, "finish_ns") - origin) / 1e9, target - 0.35,
				   target + 0.35 });
	for (size_t i = 0; plot && i < plot->n_y_tics; i++) {
		if (plot->y_tics[i].at == target)
			return;
	}
	plot_y_tic(plot, target, page_target(root, target, name));
}

static void put_row(struct page *p, const json_t *root, const json_t *result, double origin)
{
	char name[PAGE_NAME_SIZE];

	page_row(p, page_target(root, page_real(result, "target"), name));
	page_count_cell(p, page_real(result, "pass"));
	page_time_cell(p, page_real(result, "begin_ns") - origin);
	page_time_cell(p, page_real(result, "finish_ns") - origin);
	page_time_cell(p, page_real(result, "elapsed_ns"));
	page_row_end(p);
}

static void page_spans(struct page *p, const struct compare_run *run)
{
	static const char *const heads[] = { "|target", "pass",	   "begins at",
					     "ends at", "elapsed", NULL };
	const json_t *results = json_object_get(run->root, "results"), *result;
	const double origin = page_spans_first_begin(results);
	struct plot *plot;
	size_t i, n = 0;

	if (isinf(origin))
		return;
	page_figure(p, "Starts and ends of the passes of each target, since the first operation");
	plot = page_plot(p, run, PLOT_BOXES, "targets", "Starts and ends of the targets");
	if (plot) {
		plot->x_label = "time (s)";
		plot->y_label = "";
	}
	plot_series(plot, NULL);
	page_table(p, "Passes of the targets", heads);
	json_array_foreach(results, i, result)
	{
		if (!is_pass(result) || ++n > PAGE_MAX_ROWS)
			continue;
		add_span(plot, run->root, result, origin);
		put_row(p, run->root, result, origin);
	}
	page_table_end(p, n > PAGE_MAX_ROWS ? n - PAGE_MAX_ROWS : 0);
	page_figure_end(p);
}

static double per_second(double amount, double ns)
{
	return ns > 0 ? amount * 1e9 / ns : NAN;
}

/* The 99th percentile of the direction with the most operations. */
static double p99_of(const json_t *result)
{
	double most = 0, p99 = NAN;

	for (size_t i = 0; i < PAGE_DIRECTIONS; i++) {
		const json_t *times = page_service(result, page_directions[i]);
		const double n = page_real(times, "count");

		if (n > most) {
			most = n;
			p99 = page_real(json_object_get(times, "percentiles_ns"), "99");
		}
	}
	return p99;
}

/* `origin` is the beginning of the first target. */
static void put_target(struct page *p, const json_t *root, const json_t *result, double origin)
{
	const double elapsed = page_real(result, "elapsed_ns");
	const double bytes = page_sum(result, "bytes"), ops = page_sum(result, "ops");
	char name[PAGE_NAME_SIZE];

	page_row(p, page_target(root, page_real(result, "target"), name));
	page_cell(p, page_string(result, "operation"));
	page_bytes_cell(p, page_real(result, "request_bytes"));
	page_count_cell(p, page_real(result, "queue_depth"));
	page_rate_cell(p, per_second(bytes, elapsed));
	page_ops_cell(p, per_second(ops, elapsed));
	page_time_cell(p, page_sum(result, "busy_ns") / (ops > 0 ? ops : NAN));
	page_time_cell(p, p99_of(result));
	page_bytes_cell(p, bytes);
	page_count_cell(p, ops);
	page_count_cell(p, page_real(result, "errors"));
	page_time_cell(p, page_real(result, "begin_ns") - origin);
	page_time_cell(p, page_real(result, "finish_ns") - origin);
	page_row_end(p);
}

static double page_targets_first_begin(const json_t *results)
{
	const json_t *result;
	double least = INFINITY;
	size_t i;

	json_array_foreach(results, i, result)
	{
		const double begin = page_real(result, "begin_ns");

		if (begin < least)
			least = begin;
	}
	return least;
}

static bool is_shown(const json_t *result)
{
	const char *what = page_string(result, "what");

	return strcmp(what, "TARGET_AVERAGE") == 0 || strcmp(what, "COMBINED") == 0;
}

void page_targets(struct page *p, const struct compare_run *run)
{
	static const char *const heads[] = { "|target",	  "|operation", "request", "depth",
					     "bandwidth", "IOPS",	"latency", "p99",
					     "bytes",	  "operations", "errors",  "begins at",
					     "ends at",	  NULL };
	const json_t *results = json_object_get(run->root, "results"), *result;
	const double origin = page_targets_first_begin(results);
	size_t i, n = 0;

	page_section(p, 3, "Targets");
	page_table(p, "Targets side by side, over all passes; times since the first operation",
		   heads);
	json_array_foreach(results, i, result)
	{
		if (is_shown(result) && ++n <= PAGE_MAX_ROWS)
			put_target(p, run->root, result, origin);
	}
	page_table_end(p, n > PAGE_MAX_ROWS ? n - PAGE_MAX_ROWS : 0);
	page_spans(p, run);
	page_section_end(p);
}
