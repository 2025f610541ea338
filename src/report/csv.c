/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * CSV files with several kinds of lines, and the results of runs in them. Called by xdd combine and
 * xdd report, and by sweep_csv.c for the points of sweeps.
 */
#include "report/csv.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "xdd/base/memory.h"
#include "xdd/base/text.h"
#include "xdd/report/compare.h"
#include "xdd/report/jvalue.h"

struct csv_row {
	const char **cells; /* by column of the table; NULL: empty */
	size_t n;
};

/* Memory is the arena's. */
struct csv_table {
	struct arena *arena;
	const char **names;
	size_t n_names;
	size_t *columns; /* of the kind of rows: their places in `names` */
	size_t n_columns;
	struct csv_row *rows;
	size_t n_rows;
	size_t cell; /* of the last row: the next one, by column of its kind */
	bool lost;   /* memory was short */
};

struct csv_table *csv_new(void)
{
	struct csv_table *t = calloc(1, sizeof(*t));

	if (t)
		t->arena = arena_new();
	if (t && t->arena)
		return t;
	free(t);
	return NULL;
}

void csv_free(struct csv_table *t)
{
	if (!t)
		return;
	arena_free(t->arena);
	free(t->names);
	free(t->columns);
	free(t->rows);
	free(t);
}

void csv_kind(struct csv_table *t)
{
	free(t->columns);
	t->columns = NULL;
	t->n_columns = 0;
}

/* The place of a name, which is added where it is new. SIZE_MAX: memory is short. */
static size_t csv_place(struct csv_table *t, const char *name)
{
	const char **names;

	for (size_t i = 0; i < t->n_names; i++) {
		if (strcmp(t->names[i], name) == 0)
			return i;
	}
	names = array_room(t->names, t->n_names, sizeof(*names));
	if (!names)
		return SIZE_MAX;
	t->names = names;
	names[t->n_names] = name;
	return t->n_names++;
}

void csv_column(struct csv_table *t, const char *fmt, ...)
{
	size_t *columns = array_room(t->columns, t->n_columns, sizeof(*columns));
	const char *name;
	va_list ap;

	va_start(ap, fmt);
	name = arena_vprintf(t->arena, fmt, ap);
	va_end(ap);
	if (columns)
		t->columns = columns;
	if (columns && name)
		columns[t->n_columns] = csv_place(t, name);
	if (columns && name && columns[t->n_columns] != SIZE_MAX)
		t->n_columns++;
	else
		t->lost = true;
}

void csv_row(struct csv_table *t)
{
	struct csv_row *rows = array_room(t->rows, t->n_rows, sizeof(*rows));
	const char **cells = arena_alloc(t->arena, (t->n_names + 1) * sizeof(*cells));

	t->cell = 0;
	if (rows)
		t->rows = rows;
	if (rows && cells)
		rows[t->n_rows++] = (struct csv_row){ cells, t->n_names };
	else
		t->lost = true;
}

/* `text` is memory of the arena; NULL: memory is short. */
static void csv_take(struct csv_table *t, const char *text)
{
	if (text && !t->lost && t->cell < t->n_columns)
		t->rows[t->n_rows - 1].cells[t->columns[t->cell++]] = text;
	else
		t->lost = true;
}

void csv_text(struct csv_table *t, const char *text)
{
	csv_take(t, arena_strdup(t->arena, text));
}

void csv_cell(struct csv_table *t, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	csv_take(t, arena_vprintf(t->arena, fmt, ap));
	va_end(ap);
}

void csv_count(struct csv_table *t, uint64_t n)
{
	csv_cell(t, "%" PRIu64, n);
}

void csv_real(struct csv_table *t, double x)
{
	char text[CSVTEXT_NUMBER_SIZE];

	csv_text(t, isfinite(x) ? csvtext_number(x, text) : "");
}

int csv_write_names(FILE *f, const struct csv_table *t)
{
	for (size_t i = 0; i < t->n_names; i++) {
		if (i)
			fputc(',', f);
		csvtext_write(f, t->names[i]);
	}
	fputc('\n', f);
	return t->lost ? -ENOMEM : ferror(f) ? -EIO : 0;
}

int csv_write_rows(FILE *f, const struct csv_table *t)
{
	for (size_t k = 0; k < t->n_rows; k++) {
		const struct csv_row *row = &t->rows[k];

		for (size_t i = 0; i < t->n_names; i++) {
			if (i)
				fputc(',', f);
			if (i < row->n && row->cells[i])
				csvtext_write(f, row->cells[i]);
		}
		fputc('\n', f);
	}
	return t->lost ? -ENOMEM : ferror(f) ? -EIO : 0;
}

int csv_write(FILE *f, const struct csv_table *t)
{
	const int err = csv_write_names(f, t);

	return err ? err : csv_write_rows(f, t);
}

/* ---- columns that identify a row ---- */

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
static json_t *requested(const json_t *targets, const char *key)
{
	const json_t *target;
	double sum = 0;
	size_t i;

	json_array_foreach(targets, i, target)
	{
		const json_t *rate = of_target(target, "resolved", key);

		if (!json_is_number(rate))
			return json_null();
		sum += json_number_value(rate);
	}
	return json_array_size(targets) ? jvalue_real(sum) : json_null();
}

/* The targets of the plan with that number: one, or with DOCUMENT_ALL all. To be released. */
static json_t *targets_of(const json_t *root, int64_t number)
{
	const json_t *targets = json_object_get(json_object_get(root, "plan"), "targets"), *target;
	json_t *list = json_array();
	size_t i;

	json_array_foreach(targets, i, target)
	{
		const json_t *is = json_object_get(target, "number");

		if (number == DOCUMENT_ALL || json_integer_value(is) == number)
			json_array_append(list, (json_t *)(uintptr_t)target);
	}
	return list;
}

void csv_identify(json_t *columns, const json_t *root, const char *host, int64_t target)
{
	json_t *targets = targets_of(root, target), *path = of_targets(targets, NULL, "path", "*");
	json_t *id = json_object_get(root, "id"), *start = json_object_get(root, "start_time");

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
	jvalue_put(columns, "requestediops", requested(targets, "requested_iops"));
	jvalue_put(columns, "requestedbandwidth", requested(targets, "requested_bandwidth"));
	json_decref(targets);
}

/* ---- results of runs ---- */

void csv_result_columns(struct csv_table *t, const struct column_list *list)
{
	for (size_t i = 0; i < list->n; i++) {
		if (list->columns[i]->type != COLUMN_DELIMITER)
			csv_column(t, "%s", list->names[i]);
	}
}

static void csv_result_cell(struct csv_table *t, const struct column *col, const json_t *columns)
{
	char member[COLUMN_MEMBER_SIZE];
	const json_t *value = json_object_get(columns, column_member(col, member));

	if (json_is_string(value))
		csv_text(t, json_string_value(value));
	else if (json_is_integer(value))
		csv_cell(t, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
	else if (json_is_real(value) && fabs(json_real_value(value)) < 1e60)
		csv_cell(t, "%.*f", col->precision, json_real_value(value));
	else
		csv_text(t, "");
}

static void csv_result(struct csv_table *t, const struct column_list *list, const json_t *root,
		       const json_t *result, const char *name)
{
	json_t *columns = json_copy(json_object_get(result, "columns"));
	const json_t *target = json_object_get(result, "target");

	/* Hosts that were combined have these. */
	if (json_is_object(columns) && !json_object_get(columns, "targetname"))
		csv_identify(columns, root, NULL,
			     json_is_integer(target) ? json_integer_value(target) : DOCUMENT_ALL);
	csv_row(t);
	if (name)
		csv_text(t, name);
	for (size_t i = 0; i < list->n; i++) {
		if (list->columns[i]->type != COLUMN_DELIMITER)
			csv_result_cell(t, list->columns[i], columns);
	}
	json_decref(columns);
}

/* True if results of this kind have a row. */
static bool csv_shows(enum csv_results which, const char *what)
{
	static const enum result_what of_targets[] = { RESULT_TARGET_PASS, RESULT_TARGET_AVERAGE };

	for (size_t i = 0; which == CSV_TARGETS && i < sizeof(of_targets) / sizeof(*of_targets);
	     i++) {
		if (strcmp(what, column_what(of_targets[i])) == 0)
			return true;
	}
	return strcmp(what, "HOST") == 0 || strcmp(what, column_what(RESULT_COMBINED)) == 0;
}

void csv_results(struct csv_table *t, const struct column_list *list, const json_t *root,
		 enum csv_results which, const char *name)
{
	const unsigned long lost = jvalue_lost();
	const json_t *result;
	size_t i;

	json_array_foreach(json_object_get(root, "results"), i, result)
	{
		if (csv_shows(which, document_text(result, "what")))
			csv_result(t, list, root, result, name);
	}
	t->lost |= jvalue_lost() != lost;
}

/* ---- documents ---- */

static void csv_document(struct csv_table *t, const struct document *d,
			 const struct column_list *list)
{
	csv_kind(t);
	csv_column(t, "document");
	if (d->sweep) {
		csv_sweep(t, d);
		return;
	}
	csv_result_columns(t, list);
	csv_results(t, list, d->root, CSV_TARGETS, d->name);
}

int documents_write_csv(FILE *f, const struct compare_run *runs, size_t n,
			const struct column_list *list)
{
	struct csv_table *t = csv_new();
	int err;

	if (!t)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		csv_document(t, &runs[i].doc, list);
	err = csv_write(f, t);
	csv_free(t);
	return err;
}
