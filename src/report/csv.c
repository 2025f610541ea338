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

#include "report/screen.h"
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

json_t *csv_identity(const json_t *root, const char *host, int64_t target)
{
	json_t *targets = targets_of(root, target), *path = of_targets(targets, NULL, "path", "*");
	json_t *id = json_object_get(root, "id"), *o = json_object();

	if (host && json_is_string(path)) {
		json_t *both = json_sprintf("%s:%s", host, json_string_value(path));

		json_decref(path);
		path = both;
	}
	jvalue_put(o, "id", json_is_string(id) ? json_incref(id) : json_null());
	jvalue_put(o, "targetname", path);
	jvalue_put(o, "engine", of_targets(targets, "resolved", "engine", "mixed"));
	jvalue_put(o, "pattern", of_targets(targets, "resolved", "seek_pattern", "mixed"));
	jvalue_put(o, "requestediops", requested(targets, "requested_iops"));
	jvalue_put(o, "requestedbandwidth", requested(targets, "requested_bandwidth"));
	json_decref(targets);
	return o;
}

/* ---- results of runs ---- */

void csv_result_columns(struct csv_table *t, const struct column_list *list)
{
	for (size_t i = 0; i < list->n; i++) {
		if (list->columns[i]->type != COLUMN_DELIMITER)
			csv_column(t, "%s", list->names[i]);
	}
}

/* Columns of the run, the host and its target: a new reference. */
static json_t *identity_of(const struct document *d, const struct document_result *r)
{
	const json_t *hosts = json_object_get(d->root, "hosts"), *host = NULL;
	const bool all = r->what == RESULT_COMBINED;
	const char *name = all && json_array_size(hosts) > 1 ? NULL : d->host;
	const char *start = d->start_time;
	json_t *o;

	if (r->what == RESULT_HOST) {
		host = json_array_get(hosts, r->host);
		name = document_text(host, "host");
		start = document_text(host, "start_time");
		o = json_copy(json_object_get(host, "identity"));
	} else {
		o = csv_identity(d->root, NULL, all ? DOCUMENT_ALL : (int64_t)r->target);
	}
	jvalue_put(o, "nodename", jvalue_text(name));
	jvalue_put(o, "starttime", jvalue_text(start));
	return o;
}

static void csv_result_cell(struct csv_table *t, const struct column *col, const struct result *r,
			    const json_t *identity)
{
	char member[COLUMN_MEMBER_SIZE];
	const json_t *value = json_object_get(identity, column_member(col, member));
	struct line_cell cell;

	if (json_is_string(value))
		csv_text(t, json_string_value(value));
	else if (json_is_number(value) && fabs(json_number_value(value)) < 1e60)
		csv_cell(t, "%.*f", col->precision, json_number_value(value));
	else if (value || !r->figures.known)
		csv_text(t, "");
	else {
		line_cell_bare(&cell, col, r);
		csv_text(t, cell.whole ? cell.whole : cell.text);
	}
}

static void csv_result(struct csv_table *t, const struct column_list *list,
		       const struct document *d, const struct document_result *r, const char *name)
{
	json_t *identity = identity_of(d, r);
	char why[DOCUMENT_WHY_SIZE];
	struct result result;
	const int err = document_result_read(d, r, &result, why);

	t->lost |= err == -ENOMEM;
	/* Of a result that is not as it should be, nothing is known. */
	if (err)
		result.figures.known = 0;
	csv_row(t);
	if (name)
		csv_text(t, name);
	for (size_t i = 0; i < list->n; i++) {
		if (list->columns[i]->type != COLUMN_DELIMITER)
			csv_result_cell(t, list->columns[i], &result, identity);
	}
	figures_free(&result.figures);
	json_decref(identity);
}

/* True if results of this kind have a row. */
static bool csv_shows(enum csv_results which, enum result_what what)
{
	return which == CSV_TARGETS || what == RESULT_COMBINED || what == RESULT_HOST;
}

void csv_results(struct csv_table *t, const struct column_list *list, const struct document *d,
		 enum csv_results which, const char *name)
{
	const unsigned long lost = jvalue_lost();

	for (size_t i = 0; i < d->n_results; i++) {
		if (csv_shows(which, d->results[i].what))
			csv_result(t, list, d, &d->results[i], name);
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
	csv_results(t, list, d, CSV_TARGETS, d->name);
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
