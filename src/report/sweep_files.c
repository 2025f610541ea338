/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The JSON document of a sweep: xdd/report/sweep.h. Called by the command at its end.
 * doc/sweep.schema.json says what is in it.
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "config.h"
#include "report/info.h"
#include "report/jsonout.h"
#include "xdd/base/log.h"
#include "xdd/base/memory.h"
#include "xdd/base/text.h"
#include "xdd/report/jvalue.h"
#include "xdd/report/result.h"
#include "xdd/report/sweep.h"
#include "xdd/sys/clock.h"

unsigned sweep_findings(const struct sweep_point *p)
{
	unsigned bits = 0;

	for (size_t i = 0; i < p->n; i++)
		bits |= p->rounds[i].findings;
	return bits;
}

/*
 * A curve in the document of its sweep.
 */

/* A number, or null. */
static json_t *curve_files_real(double x)
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
	jvalue_put(o, "iops", curve_files_real(c->maximum));
	jvalue_put(o, "interval_percent", curve_files_real(c->percent));
	jvalue_put(o, "steady_after", jvalue_count(c->steady_after));
	jvalue_put(o, "searched_queue_depth", c->depth ? jvalue_count(c->depth) : json_null());
	return o;
}

/* "lateness_p99" for "response_p99": the figure of a load where nothing is transferred. */
static void put_lateness(json_t *o, const struct curve_load *load, enum pass_figure figure)
{
	char name[32];

	snprintf(name, sizeof(name), "lateness%s", figure_name(figure) + strlen("response"));
	jvalue_put(o, name, curve_files_real(sweep_round_value(&load->lateness, figure)));
}

static json_t *one_load(const struct curve *c, const struct sweep_results *r,
			const struct curve_load *load)
{
	const struct curve_figures f = curve_figures(c, r, load);
	json_t *o = json_object();

	jvalue_put(o, "point", jvalue_count(load->point + 1));
	jvalue_put(o, "percent", curve_files_real(100 * load->share));
	jvalue_put(o, "offered_iops", curve_files_real(f.offered));
	jvalue_put(o, "reached_iops", curve_files_real(f.reached));
	for (int i = 0; i < SWEEP_RESPONSES; i++) {
		const enum pass_figure figure = sweep_responses[i];
		const struct sweep_mean m = sweep_mean(r, &r->points[load->point], figure);

		jvalue_put(o, figure_name(figure), curve_files_real(m.mean));
		if (figure == FIGURE_RESPONSE)
			jvalue_put(o, "response_interval_percent", curve_files_real(m.percent));
	}
	for (int i = 0; i < SWEEP_RESPONSES; i++)
		put_lateness(o, load, sweep_responses[i]);
	jvalue_put(o, "service", curve_files_real(f.service_ns));
	jvalue_put(o, "queue", curve_files_real(f.queue));
	jvalue_put(o, "in_service", curve_files_real(f.in_service));
	jvalue_put(o, "overloaded", json_boolean(f.overloaded));
	jvalue_put(o, "steady", f.drift.known ? json_boolean(!f.drift.drifts) : json_null());
	jvalue_put(o, "drift_percent",
		   curve_files_real(f.drift.known ? 100 * f.drift.amount : NAN));
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
	jvalue_put(o, "percent", curve_files_real(100 * c->knee.share));
	jvalue_put(o, "low_percent", curve_files_real(100 * c->knee.low));
	jvalue_put(o, "high_percent", curve_files_real(100 * c->knee.high));
	jvalue_put(o, "iops", curve_files_real(c->knee.share * c->maximum));
	return o;
}

static json_t *goal(const struct curve *c)
{
	json_t *o;

	if (!(c->goal.limit_ns > 0))
		return json_null();
	o = json_object();
	jvalue_put(o, "figure", jvalue_text(figure_name(c->goal.figure)));
	jvalue_put(o, "limit", curve_files_real(c->goal.limit_ns));
	jvalue_put(o, "holds_percent", curve_files_real(100 * c->goal.holds));
	jvalue_put(o, "holds_iops", curve_files_real(c->goal.holds * c->maximum));
	jvalue_put(o, "fails_percent", curve_files_real(100 * c->goal.fails));
	jvalue_put(o, "sure", json_boolean(c->goal.sure));
	jvalue_put(o, "disturbed", json_boolean(c->goal.disturbed));
	jvalue_put(o, "unjudged_loads", jvalue_count(c->goal.unjudged));
	return o;
}

/* The member "curve" of the document; NULL: no memory. */
static json_t *curve_value(const struct sweep_results *r)
{
	const struct curve *c = r->curve;
	json_t *o = json_object(), *loads = json_array();

	for (size_t i = 0; i < c->n_loads; i++)
		json_array_append_new(loads, one_load(c, r, &c->loads[i]));
	jvalue_put(o, "maximum", maximum(c));
	jvalue_put(o, "loads", loads);
	jvalue_put(o, "knee", knee(c));
	jvalue_put(o, "knee_missing", jvalue_text(c->knee.why));
	jvalue_put(o, "goal", goal(c));
	return o;
}

/* ---- statistics over the rounds of a point ---- */

struct series {
	uint64_t *rounds;
	double *values[FIGURE_ALL];
};

static void series_free(struct series *s)
{
	free(s->rounds);
	for (int i = 0; i < FIGURE_ALL; i++)
		free(s->values[i]);
}

static bool series_of(const struct sweep_point *p, struct series *s, struct pass_statistics *st)
{
	bool good;

	*s = (struct series){ .rounds = calloc(p->n + 1, sizeof(*s->rounds)) };
	good = s->rounds;
	for (int i = 0; i < FIGURE_ALL; i++) {
		s->values[i] = calloc(p->n + 1, sizeof(double));
		good = good && s->values[i];
	}
	if (!good)
		return false;
	*st = (struct pass_statistics){ .combined = true, .passes = s->rounds };
	for (size_t i = 0; i < p->n; i++) {
		if (!p->rounds[i].known) {
			st->left_out++;
			continue;
		}
		for (enum pass_figure k = 0; k < FIGURE_ALL; k++)
			s->values[k][st->n] = sweep_round_value(&p->rounds[i], k);
		s->rounds[st->n++] = p->rounds[i].round;
	}
	st->known = statistics_known(s->values, st->n);
	return true;
}

static json_t *statistics(const struct sweep_results *r, const struct sweep_point *p)
{
	struct series s;
	struct pass_statistics st;
	json_t *list = NULL;

	if (series_of(p, &s, &st)) {
		for (enum pass_figure i = 0; i < FIGURE_ALL; i++) {
			if (!statistics_has(&st, i))
				continue;
			st.values[i] = s.values[i];
			st.summary[i] = stats_summarize(st.values[i], st.n);
			st.stability[i] = stats_stability(st.values[i], st.n);
			if (r->until_percent > 0)
				st.summary[i].half_width =
					stats_until_half_width(st.values[i], st.n);
		}
		list = json_array();
		json_array_append_new(list, jsonout_statistics_value(&st));
	}
	series_free(&s);
	return list;
}

/* ---- the document ---- */

static json_t *findings(unsigned bits)
{
	json_t *list = json_array();

	for (unsigned i = 0; i < RULE_FINDINGS; i++) {
		if (bits >> i & 1)
			json_array_append_new(list, jvalue_text(rule_table[i].name));
	}
	return list;
}

/* The columns of a round. */
static json_t *round_columns(const struct column_list *list, const struct sweep_round *r)
{
	json_t *o = json_object();
	char member[COLUMN_MEMBER_SIZE];

	for (size_t i = 0; i < list->n; i++) {
		const bool known = i < r->n_columns && !isnan(r->columns[i]);

		jvalue_put(o, column_member(list->columns[i], member),
			   known ? jvalue_real(r->columns[i]) : json_null());
	}
	return o;
}

/* Their means over the rounds of a point. */
static json_t *point_columns(const struct sweep_results *r, const struct sweep_point *p)
{
	json_t *o = json_object();
	char member[COLUMN_MEMBER_SIZE];

	for (size_t i = 0; i < r->columns.n; i++) {
		const struct sweep_mean m = sweep_column_mean(r, p, i);
		json_t *value = json_object();

		jvalue_put(value, "mean", m.n ? jvalue_real(m.mean) : json_null());
		jvalue_put(value, "interval_percent",
			   isfinite(m.percent) ? jvalue_real(m.percent) : json_null());
		jvalue_put(o, column_member(r->columns.columns[i], member), value);
	}
	return o;
}

static json_t *one_round(const struct sweep_results *results, const struct sweep_round *r)
{
	json_t *o = json_object();

	jvalue_put(o, "round", jvalue_count(r->round));
	if (results->curve)
		jvalue_put(o, "seek_seed", jvalue_count(sweep_round_seed(results, r->round)));
	jvalue_put(o, "start_time", jvalue_time(r->start_ns));
	jvalue_put(o, "elapsed_ns", jvalue_count(r->elapsed_ns));
	jvalue_put(o, "ops", jvalue_count(r->ops));
	jvalue_put(o, "bytes", jvalue_count(r->bytes));
	jvalue_put(o, "errors", jvalue_count(r->errors));
	jvalue_put(o, "miscompares", jvalue_count(r->miscompares));
	for (enum pass_figure i = 0; i < FIGURE_COUNT; i++)
		jvalue_put(o, figure_name(i), jvalue_real(sweep_round_value(r, i)));
	jvalue_put(o, "max", r->max_ns ? jvalue_count(r->max_ns) : json_null());
	for (int i = 0; i < SWEEP_RESPONSES; i++)
		jvalue_put(o, figure_name(sweep_responses[i]),
			   jvalue_real(sweep_round_value(r, sweep_responses[i])));
	if (results->columns.n)
		jvalue_put(o, "columns", round_columns(&results->columns, r));
	jvalue_put(o, "bound", jvalue_text(jsonout_bound_name(r->bound)));
	jvalue_put(o, "findings", findings(r->findings));
	jvalue_put(o, "status", json_integer(r->status));
	return o;
}

static json_t *varied(const struct vary *v, size_t point)
{
	json_t *o = json_object();

	for (size_t i = 0; i < v->n_axes; i++) {
		const struct vary_axis *axis = &v->axes[i];

		jvalue_put(o, axis->name, jvalue_text(axis->values[vary_at(v, point, i)].text));
	}
	return o;
}

/* The words of a point as an array, and as a line. */
static void put_words(json_t *o, const struct sweep_results *r, size_t point)
{
	struct arena *arena = arena_new();
	const char **words =
		arena ? arena_alloc(arena, vary_room(r->vary, r->more) * sizeof(*words)) : NULL;
	const size_t n = words ? vary_words(r->vary, point, r->more, words) : 0;
	json_t *list = json_array();
	const char *line = "xdd";

	for (size_t i = 1; i < n && line; i++) {
		const char *word = quote_word(arena, words[i]);

		json_array_append_new(list, jvalue_text(words[i]));
		line = word ? arena_printf(arena, "%s %s", line, word) : NULL;
	}
	jvalue_put(o, "words", list);
	jvalue_put(o, "command_line", jvalue_text(line));
	arena_free(arena);
}

static json_t *one_point(const struct sweep_results *r, size_t point)
{
	const struct sweep_point *p = &r->points[point];
	json_t *o = json_object(), *rounds = json_array();

	for (size_t i = 0; i < p->n; i++)
		json_array_append_new(rounds, one_round(r, &p->rounds[i]));
	jvalue_put(o, "point", jvalue_count(point + 1));
	jvalue_put(o, "varied", varied(r->vary, point));
	put_words(o, r, point);
	jvalue_put(o, "rounds", rounds);
	jvalue_put(o, "statistics", statistics(r, p));
	if (r->columns.n)
		jvalue_put(o, "columns", point_columns(r, p));
	jvalue_put(o, "status", json_integer(p->status));
	return o;
}

static json_t *axes(const struct vary *v)
{
	json_t *list = json_array();

	for (size_t i = 0; i < v->n_axes; i++) {
		json_t *o = json_object(), *values = json_array();

		for (size_t k = 0; k < v->axes[i].n; k++)
			json_array_append_new(values, jvalue_text(v->axes[i].values[k].text));
		jvalue_put(o, "option", jvalue_text(v->axes[i].name));
		jvalue_put(o, "values", values);
		json_array_append_new(list, o);
	}
	return list;
}

static int sweep_files_put(FILE *f, const char *before, const char *key, json_t *value)
{
	int err = value ? 0 : -ENOMEM;

	fputs(before, f);
	if (key)
		fprintf(f, "\"%s\":", key);
	if (value && json_dumpf(value, f, JVALUE_FORMAT | JSON_ENCODE_ANY))
		err = errno ? -errno : -EIO;
	json_decref(value);
	return err;
}

static int put_head(FILE *f, const struct sweep_results *r, const struct plan *plan)
{
	int err = sweep_files_put(f, "{", "format", jvalue_text(SWEEP_FORMAT));

	err = err ? err : sweep_files_put(f, ",\n", "version", json_integer(SWEEP_VERSION));
	err = err ? err : sweep_files_put(f, ",\n", "xdd", jvalue_text(PACKAGE_VERSION));
	err = err ? err : sweep_files_put(f, ",\n", "command_line", jvalue_text(r->command_line));
	err = err ? err : sweep_files_put(f, ",\n", "start_time", jvalue_time(r->started_ns));
	err = err ? err : sweep_files_put(f, ",\n", "environment", environment_collect(plan));
	err = err ? err :
		    sweep_files_put(f, ",\n", "arrangement",
				    jvalue_text(r->vary->pairs ? "pairs" : "grid"));
	err = err ? err : sweep_files_put(f, ",\n", "axes", axes(r->vary));
	err = err ? err : sweep_files_put(f, ",\n", "seed", jvalue_count(r->seed));
	err = err ? err : sweep_files_put(f, ",\n", "rounds_least", jvalue_count(r->least));
	err = err ? err : sweep_files_put(f, ",\n", "rounds_most", jvalue_count(r->most));
	err = err ? err :
		    sweep_files_put(f, ",\n", "until_percent",
				    r->until_percent > 0 ? jvalue_real(r->until_percent) :
							   json_null());
	err = err ? err :
		    sweep_files_put(f, ",\n", "each_ns",
				    r->each_ns ? jvalue_count(r->each_ns) : json_null());
	return err ? err : sweep_files_put(f, ",\n", "restore", jvalue_text(r->restore));
}

int sweep_write_json(FILE *f, const struct sweep_results *r, const struct plan *plan, int status)
{
	const unsigned long lost = jvalue_lost();
	const char *before = "\n";
	int err = put_head(f, r, plan);

	fputs(",\n\"points\":[", f);
	for (size_t i = 0; i < r->vary->n_points && !err; i++) {
		if (r->points[i].unused)
			continue;
		err = sweep_files_put(f, before, NULL, one_point(r, i));
		before = ",\n";
	}
	fputs("\n]", f);
	if (r->curve && !err)
		err = sweep_files_put(f, ",\n", "curve", curve_value(r));
	err = err ? err : sweep_files_put(f, ",\n", "messages", jvalue_messages());
	err = err ? err : sweep_files_put(f, ",\n", "end_time", jvalue_time(clock_wall_ns()));
	err = err ? err : sweep_files_put(f, ",\n", "partial", json_boolean(r->partial));
	err = err ? err : sweep_files_put(f, ",\n", "status", json_integer(status));
	fputs("}\n", f);
	if (!err && jvalue_lost() != lost)
		err = -ENOMEM;
	return err ? err : ferror(f) ? -EIO : 0;
}
