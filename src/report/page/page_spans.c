/*
 * Starts and ends of targets, pass by pass. Called by page_targets.c.
 */
#include <math.h>
#include <string.h>

#include "report/page/page.h"

/* Lines of the plot. */
#define MAX_TARGETS 32

static bool is_pass(const json_t *result)
{
	return strcmp(page_string(result, "what"), "TARGET_PASS") == 0;
}

static double first_begin(const json_t *results)
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

void page_spans(struct page *p, const struct compare_run *run)
{
	static const char *const heads[] = { "|target", "pass",	   "begins at",
					     "ends at", "elapsed", NULL };
	const json_t *results = json_object_get(run->root, "results"), *result;
	const double origin = first_begin(results);
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
