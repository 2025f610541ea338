/*
 * The documents of xdd compare: reading them, and checking what the other parts rely on. Called by
 * compare.c.
 */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "report/jsonout.h"
#include "xdd/base/log.h"
#include "xdd/report/compare.h"

/* No rate per second, and no latency in nanoseconds, is greater. */
#define VALUE_MAX 1e24

static bool bad(const struct compare_run *run, const char *why)
{
	log_error("compare: %s: %s", run->path, why);
	return false;
}

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
	for (enum pass_figure i = 0; i < FIGURE_COUNT; i++) {
		const json_t *figure = json_object_get(o, figure_name(i));

		/* Percentiles are missing in documents of older versions. */
		if ((figure || i < FIGURE_FIRST_PERCENTILE) && !is_figure(figure))
			return false;
	}
	return true;
}

static bool check_document(const struct compare_run *run)
{
	const json_t *root = run->root, *statistic, *version = json_object_get(root, "version");
	const char *format = json_string_value(json_object_get(root, "format"));
	char why[120];
	size_t i;

	if (!format || strcmp(format, JSONOUT_FORMAT) != 0)
		return bad(run, "this is JSON, but not of xdd -jsonout");
	if (!json_is_integer(version) || json_integer_value(version) != JSONOUT_VERSION) {
		snprintf(why, sizeof(why),
			 "this is of version %" JSON_INTEGER_FORMAT
			 " of the format; this xdd reads version %d",
			 json_integer_value(version), JSONOUT_VERSION);
		return bad(run, why);
	}
	if (!json_is_object(json_object_get(root, "environment")) ||
	    !json_is_object(json_object_get(root, "plan")) ||
	    !json_is_array(json_object_get(root, "statistics")))
		return bad(run, "the environment, the plan or the statistics are missing");
	json_array_foreach(json_object_get(root, "statistics"), i, statistic)
	{
		if (!is_statistic(statistic))
			return bad(run, "the statistics are not as they should be");
	}
	return true;
}

bool compare_load(struct compare_run *run)
{
	char why[JSON_ERROR_TEXT_LENGTH + 80];
	FILE *f = fopen(run->path, "re");
	json_error_t err;
	struct stat st;
	bool at_end;

	if (!f)
		return bad(run, strerror(errno));
	if (fstat(fileno(f), &st) == 0 && S_ISDIR(st.st_mode)) {
		fclose(f);
		return bad(run, strerror(EISDIR));
	}
	run->root = json_loadf(f, JSON_REJECT_DUPLICATES, &err);
	at_end = feof(f);
	fclose(f);
	if (run->root)
		return check_document(run);
	/* A document that ends in the middle of a word or a number is cut short as well. */
	if (at_end || json_error_code(&err) == json_error_premature_end_of_input) {
		snprintf(why, sizeof(why), "the document is cut short, in line %d", err.line);
	} else {
		snprintf(why, sizeof(why), "no JSON: line %d, column %d: %s", err.line, err.column,
			 err.text);
	}
	return bad(run, why);
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
