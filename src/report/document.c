/*
 * Documents of -jsonout from files, and those of xdd compare and xdd report: reading them, and
 * checking what the other parts rely on. Called by the commands and combine*.c.
 */
#include "report/document.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "report/jsonout.h"
#include "xdd/base/log.h"
#include "xdd/report/compare.h"
#include "xdd/report/jvalue.h"
#include "xdd/report/sweep.h"

struct reader {
	int fd;
	unsigned long long bytes; /* so far */
	int error;		  /* errno of a failed read, EFBIG: too long; 0: none */
	bool at_end;
};

static size_t read_some(void *buf, size_t size, void *arg)
{
	struct reader *r = arg;
	ssize_t n;

	do {
		n = read(r->fd, buf, size);
	} while (n < 0 && errno == EINTR);
	if (n < 0)
		r->error = errno;
	if (n == 0)
		r->at_end = true;
	if (n > 0)
		r->bytes += (unsigned long long)n;
	if (r->bytes > DOCUMENT_MAX_BYTES)
		r->error = EFBIG;
	return r->error ? (size_t)-1 : (size_t)n;
}

static json_t *document_parse(const char *command, const char *path, struct reader *r)
{
	const unsigned long lost = jvalue_lost();
	json_error_t err;
	json_t *root = jvalue_load(read_some, r, JSON_REJECT_DUPLICATES, &err);

	if (root)
		return root;
	if (jvalue_lost() != lost)
		r->error = ENOMEM;
	/* A document that ends in the middle of a word or a number is cut short as well. */
	if (r->error)
		log_error("%s: %s: %s", command, path, strerror(r->error));
	else if (r->at_end || json_error_code(&err) == json_error_premature_end_of_input)
		log_error("%s: %s: the document is cut short, in line %d", command, path, err.line);
	else
		log_error("%s: %s: no JSON: line %d, column %d: %s", command, path, err.line,
			  err.column, err.text);
	return NULL;
}

json_t *document_read(const char *command, const char *path)
{
	struct reader r = { .fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY) };
	struct stat st;
	json_t *root;

	if (r.fd < 0) {
		log_error("%s: %s: %s", command, path, strerror(errno));
		return NULL;
	}
	if (fstat(r.fd, &st) == 0 && S_ISDIR(st.st_mode)) {
		log_error("%s: %s: %s", command, path, strerror(EISDIR));
		close(r.fd);
		return NULL;
	}
	root = document_parse(command, path, &r);
	close(r.fd);
	return root;
}

bool document_check(const char *command, const char *path, const json_t *root)
{
	const char *format = json_string_value(json_object_get(root, "format"));
	const json_t *version = json_object_get(root, "version");

	if (!format || strcmp(format, JSONOUT_FORMAT) != 0) {
		log_error("%s: %s: this is JSON, but not of xdd -jsonout", command, path);
		return false;
	}
	if (!json_is_integer(version) || json_integer_value(version) != JSONOUT_VERSION) {
		log_error("%s: %s: this is of version %" JSON_INTEGER_FORMAT
			  " of the format; this xdd reads version %d",
			  command, path, json_integer_value(version), JSONOUT_VERSION);
		return false;
	}
	if (json_is_object(json_object_get(root, "environment")) &&
	    json_is_object(json_object_get(root, "plan")) &&
	    json_is_array(json_object_get(root, "statistics")))
		return true;
	log_error("%s: %s: the environment, the plan or the statistics are missing", command, path);
	return false;
}

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

		/*
		 * Percentiles are missing in documents of older versions, and null where there
		 * were too few operations; flushes and response times are missing in most runs.
		 */
		if ((figure || i < FIGURE_FIRST_PERCENTILE) &&
		    !(json_is_null(figure) && i >= FIGURE_FIRST_PERCENTILE) && !is_figure(figure))
			return false;
	}
	return true;
}

bool compare_is_sweep(const struct compare_run *run)
{
	const char *format = json_string_value(json_object_get(run->root, "format"));

	return format && strcmp(format, SWEEP_FORMAT) == 0;
}

static bool is_point(const json_t *o)
{
	const json_t *statistics = json_object_get(o, "statistics"), *statistic, *value;
	const char *option;
	size_t i;

	if (!json_is_object(json_object_get(o, "varied")) || !json_is_array(statistics))
		return false;
	json_object_foreach((json_t *)(uintptr_t)json_object_get(o, "varied"), option, value)
	{
		if (!json_is_string(value))
			return false;
	}
	json_array_foreach(statistics, i, statistic)
	{
		if (!is_statistic(statistic))
			return false;
	}
	return true;
}

static bool check_sweep(const char *command, const struct compare_run *run)
{
	const json_t *version = json_object_get(run->root, "version"), *point;
	const json_t *points = json_object_get(run->root, "points");
	bool good = json_is_array(points);
	size_t i;

	if (!json_is_integer(version) || json_integer_value(version) != SWEEP_VERSION) {
		log_error("%s: %s: this is of version %" JSON_INTEGER_FORMAT
			  " of the format of sweeps; this xdd reads version %d",
			  command, run->path, json_integer_value(version), SWEEP_VERSION);
		return false;
	}
	json_array_foreach(points, i, point) good = good && is_point(point);
	if (!good)
		log_error("%s: %s: the points are not as they should be", command, run->path);
	return good;
}

static bool check_document(const char *command, const struct compare_run *run)
{
	const json_t *statistic;
	size_t i;

	if (!document_check(command, run->path, run->root))
		return false;
	json_array_foreach(json_object_get(run->root, "statistics"), i, statistic)
	{
		if (!is_statistic(statistic)) {
			log_error("%s: %s: the statistics are not as they should be", command,
				  run->path);
			return false;
		}
	}
	return true;
}

bool compare_load(const char *command, struct compare_run *run)
{
	run->root = document_read(command, run->path);
	if (!run->root)
		return false;
	return compare_is_sweep(run) ? check_sweep(command, run) : check_document(command, run);
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
