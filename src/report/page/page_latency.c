/*
 * Latencies of a run: figures and percentiles of each direction and of flushes. Called by page.c.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "report/page/page.h"

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
