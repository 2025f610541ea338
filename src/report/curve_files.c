/*
 * A curve in the document of its sweep, and as CSV: xdd/report/curve.h. Called by sweep_files.c and
 * the command. doc/sweep.schema.json says what is in the document.
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>

#include "xdd/base/text.h"
#include "xdd/report/curve.h"
#include "xdd/report/jvalue.h"

/* A number, or null. */
static json_t *real(double x)
{
	return isfinite(x) ? jvalue_real(x) : json_null();
}

static json_t *maximum(const struct curve *c)
{
	json_t *o;

	if (!(c->maximum > 0))
		return json_null();
	o = json_object();
	jvalue_put(o, "point", jvalue_count(c->max_point + 1));
	jvalue_put(o, "iops", real(c->maximum));
	jvalue_put(o, "interval_percent", real(c->percent));
	jvalue_put(o, "steady_after", jvalue_count(c->steady_after));
	jvalue_put(o, "searched_queue_depth", c->depth ? jvalue_count(c->depth) : json_null());
	return o;
}

static const char *const lateness_names[SWEEP_RESPONSES] = {
	[SWEEP_RESPONSE_MEAN] = "lateness",    [SWEEP_RESPONSE_P50] = "lateness_p50",
	[SWEEP_RESPONSE_P99] = "lateness_p99", [SWEEP_RESPONSE_P999] = "lateness_p99.9",
	[SWEEP_RESPONSE_MAX] = "lateness_max",
};

static json_t *one_load(const struct curve *c, const struct sweep_results *r,
			const struct curve_load *load)
{
	const struct curve_figures f = curve_figures(c, r, load);
	json_t *o = json_object();

	jvalue_put(o, "point", jvalue_count(load->point + 1));
	jvalue_put(o, "percent", real(100 * load->share));
	jvalue_put(o, "offered_iops", real(f.offered));
	jvalue_put(o, "reached_iops", real(f.reached));
	for (int i = 0; i < SWEEP_RESPONSES; i++) {
		const enum sweep_response which = (enum sweep_response)i;
		const struct sweep_mean m = sweep_response_mean(&r->points[load->point], which);

		jvalue_put(o, sweep_response_name(which), real(m.mean));
		if (i == SWEEP_RESPONSE_MEAN)
			jvalue_put(o, "response_interval_percent", real(m.percent));
	}
	for (int i = 0; i < SWEEP_RESPONSES; i++)
		jvalue_put(o, lateness_names[i],
			   load->lateness_known ? real(load->lateness[i]) : json_null());
	jvalue_put(o, "service", real(f.service_ns));
	jvalue_put(o, "queue", real(f.queue));
	jvalue_put(o, "in_service", real(f.in_service));
	jvalue_put(o, "overloaded", json_boolean(f.overloaded));
	jvalue_put(o, "steady", f.drift.known ? json_boolean(!f.drift.drifts) : json_null());
	jvalue_put(o, "drift_percent", real(f.drift.known ? 100 * f.drift.amount : NAN));
	jvalue_put(o, "disturbed", json_boolean(f.disturbed_by));
	jvalue_put(o, "probe", json_boolean(load->probe));
	return o;
}

static json_t *knee(const struct curve *c)
{
	json_t *o;

	if (!c->knee.known)
		return json_null();
	o = json_object();
	jvalue_put(o, "percent", real(100 * c->knee.share));
	jvalue_put(o, "low_percent", real(100 * c->knee.low));
	jvalue_put(o, "high_percent", real(100 * c->knee.high));
	jvalue_put(o, "iops", real(c->knee.share * c->maximum));
	return o;
}

static json_t *goal(const struct curve *c)
{
	json_t *o;

	if (!(c->goal.limit_ns > 0))
		return json_null();
	o = json_object();
	jvalue_put(o, "figure", jvalue_text(sweep_response_name(c->goal.figure)));
	jvalue_put(o, "limit", real(c->goal.limit_ns));
	jvalue_put(o, "holds_percent", real(100 * c->goal.holds));
	jvalue_put(o, "holds_iops", real(c->goal.holds * c->maximum));
	jvalue_put(o, "fails_percent", real(100 * c->goal.fails));
	jvalue_put(o, "sure", json_boolean(c->goal.sure));
	jvalue_put(o, "disturbed", json_boolean(c->goal.disturbed));
	jvalue_put(o, "unjudged_loads", jvalue_count(c->goal.unjudged));
	return o;
}

json_t *curve_value(const struct sweep_results *r)
{
	const struct curve *c = r->curve;
	json_t *o = json_object(), *loads = json_array();

	for (size_t i = 0; i < c->n_loads; i++)
		json_array_append_new(loads, one_load(c, r, &c->loads[i]));
	jvalue_put(o, "maximum", maximum(c));
	jvalue_put(o, "loads", loads);
	jvalue_put(o, "knee", knee(c));
	jvalue_put(o, "knee_missing",
		   c->knee.known || !c->knee.why ? json_null() : jvalue_text(c->knee.why));
	jvalue_put(o, "goal", goal(c));
	return o;
}

/* ---- CSV ---- */

static void put(FILE *f, double x)
{
	fputc(',', f);
	if (isfinite(x))
		csvtext_number(f, x);
}

static void put_row(FILE *f, const struct sweep_results *r, const struct curve_load *load)
{
	const struct sweep_point *p = &r->points[load->point];
	const struct curve_figures figures = curve_figures(r->curve, r, load);
	uint64_t errors = 0;

	fprintf(f, "%.9g", 100 * load->share);
	put(f, figures.offered);
	put(f, figures.reached);
	put(f, sweep_mean(r, p, FIGURE_BANDWIDTH).mean);
	for (int i = 0; i < SWEEP_RESPONSES; i++) {
		const struct sweep_mean m = sweep_response_mean(p, (enum sweep_response)i);

		put(f, m.mean);
		put(f, m.percent);
	}
	put(f, figures.service_ns);
	put(f, sweep_mean(r, p, FIGURE_P99).mean);
	put(f, figures.queue);
	put(f, figures.in_service);
	for (size_t i = 0; i < p->n; i++)
		errors += p->rounds[i].errors;
	fprintf(f, ",%d,%d,%zu,%" PRIu64, figures.overloaded, figures.disturbed_by != NULL, p->n,
		errors);
	put(f, figures.drift.known ? 100 * figures.drift.amount : NAN);
	fprintf(f, ",%s,%d",
		!figures.drift.known ? "" :
		figures.drift.drifts ? "0" :
				       "1",
		p->status);
	put(f, load->lateness_known ? load->lateness[SWEEP_RESPONSE_MEAN] : NAN);
	put(f, load->lateness_known ? load->lateness[SWEEP_RESPONSE_P99] : NAN);
	sweep_csv_columns(f, r, p);
	fputc('\n', f);
}

int curve_write_csv(FILE *f, const struct sweep_results *r)
{
	fputs("load (%),offered (operations/s),reached (operations/s),bandwidth (bytes/s)", f);
	for (int i = 0; i < SWEEP_RESPONSES; i++) {
		const char *name = sweep_response_name((enum sweep_response)i);

		fprintf(f, ",%s (ns),%s (+-%%)", name, name);
	}
	fputs(",service (ns),service_p99 (ns),queue (operations),in service (operations),overloaded,"
	      "disturbed,rounds,errors,drift (%),steady,status,lateness (ns),lateness_p99 (ns)",
	      f);
	sweep_csv_column_names(f, r);
	fputc('\n', f);
	for (size_t i = 0; i < r->curve->n_loads; i++)
		put_row(f, r, &r->curve->loads[i]);
	return ferror(f) ? -EIO : 0;
}
