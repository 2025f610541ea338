/*
 * The points of a sweep. Called by page.c.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/page/page.h"

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
