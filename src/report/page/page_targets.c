/*
 * The targets of a run, side by side. Called by page.c.
 */
#include <math.h>
#include <string.h>

#include "report/page/page.h"

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

static double first_begin(const json_t *results)
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
	const double origin = first_begin(results);
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
