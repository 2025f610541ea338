/*
 * The latencies of each pass as a heat map. Called by page_latency.c.
 */
#include <math.h>
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

static void collect(struct heat *h, const json_t *results)
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

static void draw(struct plot *plot, const struct heat *h)
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

void page_heat(struct page *p, const struct compare_run *run)
{
	struct heat *h = calloc(1, sizeof(*h));
	struct plot *plot;

	if (!h) {
		p->incomplete = true;
		return;
	}
	collect(h, json_object_get(run->root, "results"));
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
	draw(plot, h);
	put_table(p, h);
	page_figure_end(p);
	free(h);
}
