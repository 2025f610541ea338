/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Points of sweeps and loads of curves as CSV: of results in memory, and of documents. Called by
 * the commands at their end, and by xdd report.
 */
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <string.h>

#include "report/csv.h"
#include "xdd/base/memory.h"
#include "xdd/report/result.h"
#include "xdd/report/sweep.h"

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

/* A load of a curve beside that; NAN: not known. */
struct load_line {
	double percent, offered_iops, reached_iops;
	double service_ns, queue, in_service;
	double drift_percent;
	double lateness_ns, lateness_p99_ns;
	bool overloaded, disturbed;
	bool steady; /* where the drift is known */
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

static struct load_line load_of_results(const struct sweep_results *r,
					const struct curve_load *load)
{
	const struct curve_figures f = curve_figures(r->curve, r, load);

	return (struct load_line){
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

/* Those of the first point that has some: all have the same ones. */
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

static struct load_line load_of_document(const struct document_load *l)
{
	return (struct load_line){
		.percent = l->percent,
		.offered_iops = l->offered_iops,
		.reached_iops = l->reached_iops,
		.service_ns = l->service_ns,
		.queue = l->queue,
		.in_service = l->in_service,
		.drift_percent = l->drift_percent,
		.lateness_ns = l->lateness_ns,
		.lateness_p99_ns = l->lateness_p99_ns,
		.overloaded = l->overloaded,
		.disturbed = l->disturbed,
		.steady = l->steady,
	};
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
			   figure_unit((enum pass_figure)i));
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
		       const struct load_line *l, const struct point_line *p)
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
		const struct load_line l = load_of_results(r, load);
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
		const struct load_line l = load_of_document(load);
		const struct point_line p = point_of_document(d, point_of(d, load->point), further);

		csv_row(t);
		csv_text(t, d->name);
		load_cells(t, further, &l, &p);
	}
}

void csv_sweep(struct csv_table *t, const struct document *d)
{
	const struct further further = further_of_document(d);

	if (d->curved)
		csv_loads(t, d, &further);
	else
		csv_points(t, d, &further);
}
