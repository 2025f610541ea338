/*
 * Values of documents for the page; see the header. Called by its parts.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/page/page.h"

/* No count, rate or time is greater; the same as in compare_load.c. */
#define VALUE_MAX 1e24

const char *const page_directions[PAGE_DIRECTIONS] = { "read", "write", "noop", "discard" };

static double real_of(const json_t *value)
{
	double x = NAN;
	const char *text = json_string_value(value);

	if (json_is_number(value))
		x = json_number_value(value);
	else if (text && *text && !text[strspn(text, "0123456789")])
		x = strtod(text, NULL);
	return x >= 0 && x <= VALUE_MAX ? x : NAN;
}

double page_real(const json_t *o, const char *key)
{
	return real_of(json_object_get(o, key));
}

double page_element(const json_t *array, size_t i)
{
	const double x = real_of(json_array_get(array, i));

	return isnan(x) ? 0 : x;
}

const char *page_string(const json_t *o, const char *key)
{
	const char *text = json_string_value(json_object_get(o, key));

	return text ? text : "";
}

double page_sum(const json_t *o, const char *key)
{
	const json_t *by_direction = json_object_get(o, key);
	double sum = 0;

	for (size_t i = 0; i < PAGE_DIRECTIONS; i++) {
		const double x = page_real(by_direction, page_directions[i]);

		sum += isnan(x) ? 0 : x;
	}
	return sum;
}

void page_rate_cell(struct page *p, double bytes_per_s)
{
	char text[SCALED_SIZE];

	page_number(p, scaled_rate(bytes_per_s, text));
}

void page_ops_cell(struct page *p, double per_s)
{
	char text[SCALED_SIZE];

	page_number(p, scaled_ops(per_s, text));
}

void page_time_cell(struct page *p, double ns)
{
	char text[SCALED_SIZE];

	page_number(p, scaled_time(ns, text));
}

void page_bytes_cell(struct page *p, double bytes)
{
	char text[SCALED_SIZE];

	page_number(p, scaled_bytes(bytes, text));
}

void page_count_cell(struct page *p, double n)
{
	char text[32];

	if (isfinite(n))
		snprintf(text, sizeof(text), "%.15g", n);
	page_number(p, isfinite(n) ? text : "-");
}

const char *page_target(const json_t *root, double number, char *buf)
{
	const json_t *targets = json_object_get(json_object_get(root, "plan"), "targets");
	const json_t *target;
	const char *path;

	if (isnan(number))
		return strcpy(buf, "all targets");
	target = number < (double)json_array_size(targets) ?
			 json_array_get(targets, (size_t)number) :
			 NULL;
	path = page_string(target, "path");
	if (!(page_real(target, "number") == number) || !*path)
		snprintf(buf, PAGE_NAME_SIZE, "target %.15g", number);
	else
		snprintf(buf, PAGE_NAME_SIZE, "target %.15g, %s", number, path);
	return buf;
}

const json_t *page_result(const json_t *root, const char *what)
{
	const json_t *result;
	size_t i;

	json_array_foreach(json_object_get(root, "results"), i, result)
	{
		if (strcmp(page_string(result, "what"), what) == 0)
			return result;
	}
	return NULL;
}

const json_t *page_service(const json_t *result, const char *direction)
{
	return json_object_get(json_object_get(json_object_get(result, "latency"), "service"),
			       direction);
}

const json_t *page_flushes(const json_t *result)
{
	return json_object_get(json_object_get(result, "latency"), "flush");
}
