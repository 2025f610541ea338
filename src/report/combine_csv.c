/*
 * A combined result as CSV: a line of each host and one of all together, with the columns of a run.
 * Called by the command; combine.c adds the columns that identify a line to results.
 */
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/combine_host.h"
#include "report/csv.h"
#include "xdd/base/log.h"
#include "xdd/base/memory.h"
#include "xdd/base/output.h"
#include "xdd/report/jvalue.h"
#include "xdd/report/outfile.h"

#define MAX_ID 32
#define FORMAT COLUMN_DEFAULTS COLUMN_CSV_DEFAULTS

/* ---- columns that identify a line ---- */

/* A member of a target of the plan, by its path of one or two names. */
static json_t *of_target(const json_t *target, const char *group, const char *key)
{
	return json_object_get(group ? json_object_get(target, group) : target, key);
}

/* The member of all targets, `mixed` where they differ; NULL: not known. */
static json_t *of_targets(const json_t *targets, const char *group, const char *key,
			  const char *mixed)
{
	json_t *first = of_target(json_array_get(targets, 0), group, key);
	const json_t *target;
	size_t i;

	if (!json_is_string(first))
		return json_null();
	json_array_foreach(targets, i, target)
	{
		const json_t *other = of_target(target, group, key);

		if (!other || !json_equal(first, (json_t *)other))
			return jvalue_text(mixed);
	}
	return json_incref(first);
}

/* The sum of the rates of -throttle; null unless each target has one of that kind. */
static json_t *requested(const json_t *targets, const char *kind)
{
	const json_t *target;
	double sum = 0;
	size_t i;

	json_array_foreach(targets, i, target)
	{
		const json_t *throttle = of_target(target, "options", "throttle");
		const json_t *rate = json_object_get(throttle, kind);

		if (!json_is_number(rate))
			return json_null();
		sum += json_number_value(rate);
	}
	return json_array_size(targets) ? jvalue_real(sum) : json_null();
}

void combine_identify(json_t *columns, const json_t *doc, const char *host)
{
	const json_t *targets = json_object_get(json_object_get(doc, "plan"), "targets");
	json_t *id = json_object_get(doc, "id"), *start = json_object_get(doc, "start_time");
	json_t *path = of_targets(targets, NULL, "path", "*");

	if (host && json_is_string(path)) {
		json_t *both = json_sprintf("%s:%s", host, json_string_value(path));

		json_decref(path);
		path = both;
	}
	jvalue_put(columns, "id", json_is_string(id) ? json_incref(id) : json_null());
	jvalue_put(columns, "starttime", json_is_string(start) ? json_incref(start) : json_null());
	jvalue_put(columns, "targetname", path);
	jvalue_put(columns, "engine", of_targets(targets, "resolved", "engine", "mixed"));
	jvalue_put(columns, "pattern", of_targets(targets, "resolved", "seek_pattern", "mixed"));
	jvalue_put(columns, "requestediops", requested(targets, "ops"));
	jvalue_put(columns, "requestedbandwidth", requested(targets, "bw"));
}

/* ---- lines ---- */

static void put_cell(struct line_cell *cell, const struct column *col, const json_t *columns)
{
	char id[MAX_ID], text[LINE_CELL_SIZE] = "";
	const json_t *value;
	size_t n = 0;

	for (; col->id[n] && n + 1 < sizeof(id); n++)
		id[n] = (char)tolower((unsigned char)col->id[n]);
	id[n] = '\0';
	value = json_object_get(columns, id);
	if (json_is_string(value)) {
		line_cell_set(cell, "");
		cell->whole = json_string_value(value);
		return;
	}
	if (json_is_integer(value))
		snprintf(text, sizeof(text), "%" JSON_INTEGER_FORMAT, json_integer_value(value));
	else if (json_is_real(value) && fabs(json_real_value(value)) < 1e60)
		snprintf(text, sizeof(text), "%.*f", col->precision, json_real_value(value));
	line_cell_set(cell, text);
}

/* Bytes that a line of these cells needs. */
static size_t size_of(const struct line_cell *cells, size_t n)
{
	size_t size = line_size(n);

	for (size_t i = 0; i < n; i++)
		size += cells[i].whole ? 2 * strlen(cells[i].whole) : 0;
	return size;
}

static bool put_line(FILE *f, const struct line_cell *cells, size_t n)
{
	char *buf = malloc(size_of(cells, n));

	if (!buf)
		return false;
	fwrite(buf, 1, line_csv(buf, cells, n), f);
	free(buf);
	return true;
}

static bool put_result(FILE *f, const struct column_list *list, struct line_cell *cells,
		       const json_t *doc, const json_t *result)
{
	json_t *columns = json_copy(json_object_get(result, "columns"));
	size_t n = 0;
	bool good;

	/* The result of a single host is as its document has it. */
	if (json_is_object(columns) && !json_object_get(columns, "targetname"))
		combine_identify(columns, doc, NULL);
	for (size_t i = 0; i < list->n; i++) {
		if (list->columns[i]->type != COLUMN_DELIMITER)
			put_cell(&cells[n++], list->columns[i], columns);
	}
	good = put_line(f, cells, n);
	json_decref(columns);
	return good;
}

static bool put_results(FILE *f, const struct column_list *list, struct line_cell *cells,
			const json_t *doc)
{
	const json_t *result;
	size_t i;

	json_array_foreach(json_object_get(doc, "results"), i, result)
	{
		const char *what = json_string_value(json_object_get(result, "what"));

		if (!what ||
		    (strcmp(what, "HOST") != 0 && strcmp(what, column_what(RESULT_COMBINED)) != 0))
			continue;
		if (!put_result(f, list, cells, doc, result))
			return false;
	}
	return true;
}

/* ---- the file ---- */

static enum xdd_status start(const char *path, const char *header, size_t len, bool *is_new)
{
	int found = csv_look(path, header, len);

	*is_new = found == CSV_START_NEW;
	if (found == CSV_START_NEW || found == CSV_START_SAME)
		return XDD_OK;
	if (found == CSV_START_OTHER)
		log_error("combine: -csvout %s: its first line does not name the columns of a run; "
			  "use another file",
			  path);
	else
		log_error("combine: -csvout %s: its first line cannot be read: %s", path,
			  strerror(-found));
	return XDD_BAD_ARGUMENT;
}

static enum xdd_status append(const char *path, const char *text, size_t size)
{
	struct outfile o;
	int err = outfile_open(&o, path);

	if (!err) {
		outfile_write(&o, text, size);
		err = outfile_close(&o);
	}
	if (!err)
		return XDD_OK;
	log_error("combine: -csvout %s: %s", path, output_strerror(err));
	return XDD_IO_ERROR;
}

static enum xdd_status write_lines(const json_t *doc, const char *path,
				   const struct column_list *list, struct line_cell *cells)
{
	struct memstream header, lines;
	enum xdd_status status = XDD_INIT_FAILED;
	const unsigned long lost = jvalue_lost();
	bool is_new = false, good;

	memstream_open(&header);
	memstream_open(&lines);
	good = header.f && lines.f && put_line(header.f, cells, csv_header_cells(cells, list)) &&
	       put_results(lines.f, list, cells, doc);
	if (memstream_close(&header) | memstream_close(&lines) || !good || jvalue_lost() != lost)
		log_error("combine: %s", strerror(ENOMEM));
	else
		status = start(path, header.text, header.size, &is_new);
	if (!status && is_new)
		status = append(path, header.text, header.size);
	if (!status)
		status = append(path, lines.text, lines.size);
	free(header.text);
	free(lines.text);
	return status;
}

enum xdd_status combine_write_csv(const json_t *doc, const char *path)
{
	enum xdd_status status = XDD_INIT_FAILED;
	struct column_list list;
	struct line_cell *cells;
	const char *bad;
	size_t len;

	if (column_list_parse(&list, FORMAT, &bad, &len)) {
		log_error("combine: %s", strerror(ENOMEM));
		return XDD_INIT_FAILED;
	}
	cells = calloc(list.n, sizeof(*cells));
	if (cells)
		status = write_lines(doc, path, &list, cells);
	else
		log_error("combine: %s", strerror(ENOMEM));
	free(cells);
	column_list_free(&list);
	return status;
}
