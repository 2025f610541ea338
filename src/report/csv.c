/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * CSV files with several kinds of lines: results of runs, points of sweeps and loads of curves.
 * Called by xdd combine and xdd report, and by the commands of sweeps at their end.
 */
#include "report/csv.h"

#include <ctype.h>
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
#include "xdd/report/result.h"
#include "xdd/report/sweep.h"

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

/*
 * Begin the columns of the rows that follow, which csv_column() names in order. A name that another
 * kind of rows has is one column of both.
 */
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

static void __attribute__((format(printf, 2, 3)))
csv_column(struct csv_table *t, const char *fmt, ...)
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

/* Begin a row, whose cells follow in the order of the columns of its kind. */
static void csv_row(struct csv_table *t)
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

static void csv_text(struct csv_table *t, const char *text)
{
	csv_take(t, arena_strdup(t->arena, text));
}

static void __attribute__((format(printf, 2, 3)))
csv_cell(struct csv_table *t, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	csv_take(t, arena_vprintf(t->arena, fmt, ap));
	va_end(ap);
}

static void csv_count(struct csv_table *t, uint64_t n)
{
	csv_cell(t, "%" PRIu64, n);
}

/* csvtext_number(); empty where it is not finite */
static void csv_real(struct csv_table *t, double x)
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

static int csv_write(FILE *f, const struct csv_table *t)
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

/* ---- points of sweeps and loads of curves ---- */

/* The figures of a point, over its rounds. */
struct point_line {
	size_t rounds;
	struct sweep_mean means[FIGURE_ROUND];
	uint64_t max_ns; /* the longest operation; 0: not known */
	uint64_t ops, bytes, errors;
	uint64_t steady_after;
	int status;
	struct sweep_mean columns[SWEEP_MAX_COLUMNS];
};

/* Further columns, which are the last ones. */
struct further {
	const struct column *columns[SWEEP_MAX_COLUMNS];
	size_t n;
};

/* ---- of results ---- */

static struct further further_of_results(const struct sweep_results *r)
{
	struct further f = { .n = r->columns.n };

	for (size_t i = 0; i < f.n; i++)
		f.columns[i] = r->columns.columns[i];
	return f;
}

static struct point_line point_of_results(const struct sweep_results *r,
					  const struct sweep_point *p)
{
	struct point_line line = { .rounds = p->n,
				   .steady_after = sweep_steady(p).after,
				   .status = p->status };

	for (int i = 0; i < FIGURE_COUNT; i++)
		line.means[i] = sweep_mean(r, p, (enum pass_figure)i);
	for (int i = 0; i < SWEEP_RESPONSES; i++)
		line.means[sweep_responses[i]] = sweep_mean(r, p, sweep_responses[i]);
	for (size_t i = 0; i < p->n; i++) {
		const struct sweep_round *round = &p->rounds[i];

		line.ops += round->ops;
		line.bytes += round->bytes;
		line.errors += round->errors;
		line.max_ns = round->max_ns > line.max_ns ? round->max_ns : line.max_ns;
	}
	for (size_t i = 0; i < r->columns.n; i++)
		line.columns[i] = sweep_column_mean(r, p, i);
	return line;
}

/* As the document has it. */
static struct document_load load_of_results(const struct sweep_results *r,
					    const struct curve_load *load)
{
	const struct curve_figures f = curve_figures(r->curve, r, load);

	return (struct document_load){
		.percent = 100 * load->share,
		.offered_iops = f.offered,
		.reached_iops = f.reached,
		.service_ns = f.service_ns,
		.queue = f.queue,
		.in_service = f.in_service,
		.drift_percent = f.drift.known ? 100 * f.drift.amount : NAN,
		.lateness_ns = sweep_round_value(&load->lateness, FIGURE_RESPONSE),
		.lateness_p99_ns = sweep_round_value(&load->lateness, FIGURE_RESPONSE_P99),
		.overloaded = f.overloaded,
		.disturbed = f.disturbed_by,
		.steady = !f.drift.drifts,
	};
}

/* ---- of documents ---- */

static const struct column *column_of_member(const char *member)
{
	char id[COLUMN_MEMBER_SIZE];
	size_t n = 0;

	for (; member[n] && n + 1 < sizeof(id); n++)
		id[n] = (char)toupper((unsigned char)member[n]);
	return column_find(id, n);
}

/* The further columns of the first point that has any: all points have the same ones. */
static struct further further_of_document(const struct document *d)
{
	struct further f = { .n = 0 };

	for (size_t i = 0; i < d->n_points && !f.n; i++) {
		const char *member;
		const json_t *value;

		json_object_foreach((json_t *)(uintptr_t)d->points[i].columns, member, value)
		{
			const struct column *col = column_of_member(member);

			if (col && f.n < SWEEP_MAX_COLUMNS)
				f.columns[f.n++] = col;
		}
	}
	return f;
}

static struct sweep_mean mean_of_figure(const struct document_figure *f)
{
	const double half = f->high - f->mean;

	return (struct sweep_mean){
		.n = isnan(f->mean) ? 0 : f->n,
		.mean = f->n ? f->mean : NAN,
		.percent = f->mean > 0 && !isnan(half) ? 100 * half / f->mean : INFINITY,
	};
}

static struct sweep_mean mean_of_response_max(const struct document *d,
					      const struct document_figure *f)
{
	size_t n = f->n;

	for (size_t i = 0; i < f->n; i++)
		n = isnan(f->values[i]) ? 0 : n;
	return sweep_mean_of(f->values, n, document_real(d->root, "until_percent") > 0);
}

static struct sweep_mean mean_of_column(const struct document_point *p, const struct column *col)
{
	char member[COLUMN_MEMBER_SIZE];
	const json_t *o = json_object_get(p->columns, column_member(col, member));
	const json_t *mean = json_object_get(o, "mean");
	const json_t *percent = json_object_get(o, "interval_percent");

	return (struct sweep_mean){
		.n = json_is_number(mean),
		.mean = json_is_number(mean) ? json_number_value(mean) : NAN,
		.percent = json_is_number(percent) ? json_number_value(percent) : INFINITY,
	};
}

static struct point_line point_of_document(const struct document *d, const struct document_point *p,
					   const struct further *further)
{
	const struct document_statistic *s = document_statistic(&p->statistics, DOCUMENT_ALL);
	struct point_line line = { .rounds = p->rounds,
				   .max_ns = p->max_ns,
				   .ops = p->ops,
				   .bytes = p->bytes,
				   .errors = p->errors,
				   .steady_after = s && s->steady ? s->steady_after : 0,
				   .status = isnan(p->status) ? 0 : (int)p->status };

	for (int i = 0; i < FIGURE_ROUND; i++)
		line.means[i] = (struct sweep_mean){ .mean = NAN, .percent = INFINITY };
	for (int i = 0; i < FIGURE_ALL && s; i++)
		line.means[i] = mean_of_figure(&s->figures[i]);
	line.means[FIGURE_RESPONSE_MAX] = mean_of_response_max(d, &p->response_max);
	for (size_t i = 0; i < further->n; i++)
		line.columns[i] = mean_of_column(p, further->columns[i]);
	return line;
}

/* ---- columns and cells ---- */

static void put_mean(struct csv_table *t, const struct sweep_mean *m)
{
	csv_real(t, m->n ? m->mean : NAN);
	if (m->n && isfinite(m->percent))
		csv_cell(t, "%.4g", m->percent);
	else
		csv_text(t, "");
}

static void further_columns(struct csv_table *t, const struct further *further)
{
	for (size_t i = 0; i < further->n; i++) {
		const struct column *col = further->columns[i];
		const char *unit = col->units + strspn(col->units, " ");

		if (*unit)
			csv_column(t, "%s (%s)", col->id, unit);
		else
			csv_column(t, "%s", col->id);
		csv_column(t, "%s (+-%%)", col->id);
	}
}

static void further_cells(struct csv_table *t, const struct further *further,
			  const struct point_line *p)
{
	for (size_t i = 0; i < further->n; i++)
		put_mean(t, &p->columns[i]);
}

/* Those that follow the values of the axes. */
static void point_columns(struct csv_table *t, const struct further *further)
{
	static const char *const last[] = {
		"max (ns)", "ops", "bytes", "errors", "steady after round", "status",
	};

	csv_column(t, "rounds");
	for (int i = 0; i < FIGURE_COUNT; i++) {
		csv_column(t, "%s (%s)", figure_name((enum pass_figure)i),
			   figure_unit((enum pass_figure)i)->name);
		csv_column(t, "%s (+-%%)", figure_name((enum pass_figure)i));
	}
	for (size_t i = 0; i < sizeof(last) / sizeof(last[0]); i++)
		csv_column(t, "%s", last[i]);
	further_columns(t, further);
}

static void point_cells(struct csv_table *t, const struct further *further,
			const struct point_line *p)
{
	csv_count(t, p->rounds);
	for (int i = 0; i < FIGURE_COUNT; i++)
		put_mean(t, &p->means[i]);
	csv_count(t, p->max_ns);
	csv_count(t, p->ops);
	csv_count(t, p->bytes);
	csv_count(t, p->errors);
	csv_count(t, p->steady_after);
	csv_cell(t, "%d", p->status);
	further_cells(t, further, p);
}

static void load_columns(struct csv_table *t, const struct further *further)
{
	static const char *const first[] = { "load (%)", "offered (operations/s)",
					     "reached (operations/s)", "bandwidth (bytes/s)" };
	static const char *const last[] = {
		"service (ns)",
		"service_p99 (ns)",
		"queue (operations)",
		"in service (operations)",
		"overloaded",
		"disturbed",
		"rounds",
		"errors",
		"drift (%)",
		"steady",
		"status",
		"lateness (ns)",
		"lateness_p99 (ns)",
	};

	for (size_t i = 0; i < sizeof(first) / sizeof(first[0]); i++)
		csv_column(t, "%s", first[i]);
	for (int i = 0; i < SWEEP_RESPONSES; i++) {
		csv_column(t, "%s (ns)", figure_name(sweep_responses[i]));
		csv_column(t, "%s (+-%%)", figure_name(sweep_responses[i]));
	}
	for (size_t i = 0; i < sizeof(last) / sizeof(last[0]); i++)
		csv_column(t, "%s", last[i]);
	further_columns(t, further);
}

static void load_cells(struct csv_table *t, const struct further *further,
		       const struct document_load *l, const struct point_line *p)
{
	csv_cell(t, "%.9g", l->percent);
	csv_real(t, l->offered_iops);
	csv_real(t, l->reached_iops);
	csv_real(t, p->means[FIGURE_BANDWIDTH].mean);
	for (int i = 0; i < SWEEP_RESPONSES; i++) {
		csv_real(t, p->means[sweep_responses[i]].mean);
		csv_real(t, p->means[sweep_responses[i]].percent);
	}
	csv_real(t, l->service_ns);
	csv_real(t, p->means[FIGURE_P99].mean);
	csv_real(t, l->queue);
	csv_real(t, l->in_service);
	csv_cell(t, "%d", l->overloaded);
	csv_cell(t, "%d", l->disturbed);
	csv_count(t, p->rounds);
	csv_count(t, p->errors);
	csv_real(t, l->drift_percent);
	csv_text(t, isnan(l->drift_percent) ? "" : l->steady ? "1" : "0");
	csv_cell(t, "%d", p->status);
	csv_real(t, l->lateness_ns);
	csv_real(t, l->lateness_p99_ns);
	further_cells(t, further, p);
}

/* ---- files of the commands ---- */

static int write_table(FILE *f, struct csv_table *t)
{
	const int err = csv_write(f, t);

	csv_free(t);
	return err;
}

int sweep_write_csv(FILE *f, const struct sweep_results *r)
{
	const struct further further = further_of_results(r);
	const struct vary *v = r->vary;
	struct csv_table *t = csv_new();

	if (!t)
		return -ENOMEM;
	csv_column(t, "point");
	for (size_t i = 0; i < v->n_axes; i++)
		csv_column(t, "%s", v->axes[i].name);
	point_columns(t, &further);
	for (size_t k = 0; k < v->n_points; k++) {
		const struct point_line line = point_of_results(r, &r->points[k]);

		csv_row(t);
		csv_count(t, k + 1);
		for (size_t i = 0; i < v->n_axes; i++)
			csv_text(t, v->axes[i].values[vary_at(v, k, i)].text);
		point_cells(t, &further, &line);
	}
	return write_table(f, t);
}

int curve_write_csv(FILE *f, const struct sweep_results *r)
{
	const struct further further = further_of_results(r);
	struct csv_table *t = csv_new();

	if (!t)
		return -ENOMEM;
	load_columns(t, &further);
	for (size_t i = 0; i < r->curve->n_loads; i++) {
		const struct curve_load *load = &r->curve->loads[i];
		const struct document_load l = load_of_results(r, load);
		const struct point_line p = point_of_results(r, &r->points[load->point]);

		csv_row(t);
		load_cells(t, &further, &l, &p);
	}
	return write_table(f, t);
}

/* ---- documents ---- */

static void csv_points(struct csv_table *t, const struct document *d, const struct further *further)
{
	csv_column(t, "point");
	for (size_t i = 0; i < d->n_axes; i++)
		csv_column(t, "%s", d->axes[i].option);
	point_columns(t, further);
	for (size_t k = 0; k < d->n_points; k++) {
		const struct document_point *p = &d->points[k];
		const struct point_line line = point_of_document(d, p, further);

		csv_row(t);
		csv_text(t, d->name);
		csv_cell(t, "%.15g", p->number);
		for (size_t i = 0; i < d->n_axes; i++)
			csv_text(t, document_text(p->varied, d->axes[i].option));
		point_cells(t, further, &line);
	}
}

static const struct document_point *point_of(const struct document *d, double number)
{
	static const struct document_point none = { .status = NAN };

	for (size_t i = 0; i < d->n_points; i++) {
		if (d->points[i].number == number)
			return &d->points[i];
	}
	return &none;
}

static void csv_loads(struct csv_table *t, const struct document *d, const struct further *further)
{
	load_columns(t, further);
	for (size_t i = 0; i < d->curve.n_loads; i++) {
		const struct document_load *load = &d->curve.loads[i];
		const struct point_line p = point_of_document(d, point_of(d, load->point), further);

		csv_row(t);
		csv_text(t, d->name);
		load_cells(t, further, load, &p);
	}
}

/* Columns and rows of the points of a sweep, or of the loads of a curve; the name comes first. */
static void csv_sweep(struct csv_table *t, const struct document *d)
{
	const struct further further = further_of_document(d);

	if (d->curved)
		csv_loads(t, d, &further);
	else
		csv_points(t, d, &further);
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
