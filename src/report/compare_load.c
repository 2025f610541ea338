/*
 * The documents of xdd compare: reading them, and checking what the other parts rely on. Called by
 * compare.c.
 */
#include "report/document.h"
#include "xdd/base/log.h"
#include "xdd/report/compare.h"

/* No rate per second, and no latency in nanoseconds, is greater. */
#define VALUE_MAX 1e24

static bool is_figure(const json_t *o)
{
	const json_t *values = json_object_get(o, "values"), *value;
	size_t i;

	if (!json_is_array(values))
		return false;
	json_array_foreach(values, i, value)
	{
		double x = json_number_value(value);

		if (!json_is_number(value) || !(x >= 0) || x > VALUE_MAX)
			return false;
	}
	return true;
}

static bool is_statistic(const json_t *o)
{
	const json_t *target = json_object_get(o, "target");

	if (!json_is_null(target) && !json_is_integer(target))
		return false;
	for (enum pass_figure i = 0; i < FIGURE_ALL; i++) {
		const json_t *figure = json_object_get(o, figure_name(i));

		/* Percentiles are missing in documents of older versions, flushes in most runs. */
		if ((figure || i < FIGURE_FIRST_PERCENTILE) && !is_figure(figure))
			return false;
	}
	return true;
}

static bool check_document(const struct compare_run *run)
{
	const json_t *statistic;
	size_t i;

	if (!document_check("compare", run->path, run->root))
		return false;
	json_array_foreach(json_object_get(run->root, "statistics"), i, statistic)
	{
		if (!is_statistic(statistic)) {
			log_error("compare: %s: the statistics are not as they should be",
				  run->path);
			return false;
		}
	}
	return true;
}

bool compare_load(struct compare_run *run)
{
	run->root = document_read("compare", run->path);
	return run->root && check_document(run);
}

const json_t *compare_statistic(const struct compare_run *run, json_int_t target)
{
	const json_t *o;
	size_t i;

	json_array_foreach(json_object_get(run->root, "statistics"), i, o)
	{
		const json_t *number = json_object_get(o, "target");
		json_int_t found = json_is_integer(number) ? json_integer_value(number) : -1;

		if (found == target && json_array_size(json_object_get(o, "passes")))
			return o;
	}
	return NULL;
}
