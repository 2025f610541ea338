/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The results of a sweep in memory, their journal as text, and their JSON document:
 * xdd/report/sweep.h. Called by the command. doc/sweep.schema.json says what is in the document.
 */
#include "xdd/report/sweep.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <limits.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "config.h"
#include "report/info.h"
#include "report/jsonout.h"
#include "xdd/base/codec.h"
#include "xdd/base/memory.h"
#include "xdd/base/text.h"
#include "xdd/report/jvalue.h"
#include "xdd/report/result.h"
#include "xdd/sys/clock.h"

#define SEEDS (UINT64_C(1) << 31)

int sweep_results_begin(struct sweep_results *r)
{
	r->points = calloc(r->vary->n_points, sizeof(*r->points));
	return r->points ? 0 : -ENOMEM;
}

void sweep_results_free(struct sweep_results *r)
{
	for (size_t i = 0; r->points && i < r->vary->n_points; i++)
		free(r->points[i].rounds);
	free(r->points);
	r->points = NULL;
}

int sweep_results_add(struct sweep_results *r, const struct sweep_round *round)
{
	struct sweep_point *p = &r->points[round->point];
	struct sweep_round *rounds = array_room(p->rounds, p->n, sizeof(*rounds));

	if (!rounds)
		return -ENOMEM;
	p->rounds = rounds;
	rounds[p->n++] = *round;
	p->elapsed_ns += round->elapsed_ns;
	if (!p->status)
		p->status = round->status;
	return 0;
}

uint64_t sweep_round_seed(const struct sweep_results *r, uint64_t round)
{
	return (r->seed + round) % SEEDS;
}

/* `n`, or 0 if one of the values is not known: the mean of the others would be of other rounds. */
static size_t all_known(const double *x, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (isnan(x[i]))
			return 0;
	}
	return n;
}

const enum pass_figure sweep_responses[SWEEP_RESPONSES] = {
	FIGURE_RESPONSE,      FIGURE_RESPONSE_P50, FIGURE_RESPONSE_P99,
	FIGURE_RESPONSE_P999, FIGURE_RESPONSE_MAX,
};

/* True if the round has figures of that kind. */
static bool has(const struct sweep_round *round, enum pass_figure figure)
{
	if (figure < FIGURE_COUNT)
		return round->known;
	return figure >= FIGURE_RESPONSE && round->responded;
}

double sweep_round_value(const struct sweep_round *round, enum pass_figure figure)
{
	return has(round, figure) ? round->values[figure] : NAN;
}

size_t sweep_values(const struct sweep_point *p, enum pass_figure figure, double *x)
{
	size_t n = 0;

	for (size_t i = 0; i < p->n; i++) {
		if (has(&p->rounds[i], figure))
			x[n++] = p->rounds[i].values[figure];
	}
	return all_known(x, n);
}

struct sweep_mean sweep_mean_of(const double *x, size_t n, bool until)
{
	struct sweep_mean m = { .n = n, .mean = NAN, .percent = INFINITY };
	struct stats_summary s;
	double half;

	if (!n)
		return m;
	s = stats_summarize(x, n);
	half = until ? stats_until_half_width(x, n) : s.half_width;
	m.mean = s.mean;
	m.percent = s.mean > 0 ? 100 * half / s.mean : INFINITY;
	return m;
}

struct sweep_mean sweep_mean(const struct sweep_results *r, const struct sweep_point *p,
			     enum pass_figure figure)
{
	double *x = calloc(p->n + 1, sizeof(*x));
	const struct sweep_mean m =
		sweep_mean_of(x, x ? sweep_values(p, figure, x) : 0, r->until_percent > 0);

	free(x);
	return m;
}

struct sweep_mean sweep_column_mean(const struct sweep_results *r, const struct sweep_point *p,
				    size_t i)
{
	double *x = calloc(p->n + 1, sizeof(*x));
	struct sweep_mean m;
	size_t n = 0;

	for (size_t k = 0; x && k < p->n; k++) {
		if (i < p->rounds[k].n_columns && !isnan(p->rounds[k].columns[i]))
			x[n++] = p->rounds[k].columns[i];
	}
	m = sweep_mean_of(x, n, r->until_percent > 0);
	free(x);
	return m;
}

struct sweep_steadiness sweep_steady(const struct sweep_point *p)
{
	double *x = calloc(p->n + 1, sizeof(*x));
	const size_t n = x ? sweep_values(p, FIGURE_BANDWIDTH, x) : 0;
	struct sweep_steadiness s = { .steady = stats_steady(x, n) };
	size_t known = 0;

	for (size_t i = 0; s.steady.reached && known < s.steady.after && i < p->n; i++) {
		known += p->rounds[i].known;
		s.after = p->rounds[i].round;
	}
	free(x);
	return s;
}

struct stats_drift sweep_response_drift(const struct sweep_point *p)
{
	double *x = calloc(p->n + 1, sizeof(*x));
	const struct stats_drift d = stats_drift(x, x ? sweep_values(p, FIGURE_RESPONSE, x) : 0);

	free(x);
	return d;
}

/*
 * The journal: each line is eight hexadecimal digits, a blank, and JSON; the digits are the
 * CRC-32C of the JSON.
 */

#define JOURNAL_VERSION 1
#define VALUE_MAX 1e24

/* ---- writing ---- */

/* The line of a value, which is let go; it was begun when jvalue_lost() was `lost`. */
static char *line_of(json_t *o, unsigned long lost)
{
	char *text = o ? jvalue_dump(o, JSON_COMPACT | JSON_REAL_PRECISION(17)) : NULL;
	char *line = NULL;

	json_decref(o);
	if (text && jvalue_lost() == lost &&
	    asprintf(&line, "%08x %s\n", crc32c(text, strlen(text)), text) < 0)
		line = NULL;
	free(text);
	return line;
}

char *sweep_journal_header(const struct sweep_journal *header)
{
	const unsigned long lost = jvalue_lost();
	json_t *o = json_object();

	jvalue_put(o, "format", jvalue_text(SWEEP_JOURNAL_FORMAT));
	jvalue_put(o, "version", json_integer(JOURNAL_VERSION));
	jvalue_put(o, "words", jvalue_text(header->words));
	jvalue_put(o, "seed", jvalue_count(header->seed));
	jvalue_put(o, "points", jvalue_count(header->points));
	jvalue_put(o, "started", jvalue_count(header->started_ns));
	return line_of(o, lost);
}

static json_t *columns_value(const struct sweep_round *r)
{
	json_t *list = json_array();

	for (size_t i = 0; i < r->n_columns; i++)
		json_array_append_new(list, jvalue_real(r->columns[i]));
	return list;
}

char *sweep_journal_round(const struct sweep_round *r)
{
	const unsigned long lost = jvalue_lost();
	json_t *o = json_object(), *values = json_array(), *responses = json_array();

	for (int i = 0; r->known && i < FIGURE_COUNT; i++)
		json_array_append_new(values, jvalue_real(r->values[i]));
	for (int i = 0; r->responded && i < SWEEP_RESPONSES; i++)
		json_array_append_new(responses, jvalue_real(r->values[sweep_responses[i]]));
	jvalue_put(o, "point", jvalue_count(r->point));
	jvalue_put(o, "round", jvalue_count(r->round));
	jvalue_put(o, "start", jvalue_count(r->start_ns));
	jvalue_put(o, "elapsed", jvalue_count(r->elapsed_ns));
	jvalue_put(o, "ops", jvalue_count(r->ops));
	jvalue_put(o, "bytes", jvalue_count(r->bytes));
	jvalue_put(o, "errors", jvalue_count(r->errors));
	jvalue_put(o, "miscompares", jvalue_count(r->miscompares));
	jvalue_put(o, "max", jvalue_count(r->max_ns));
	jvalue_put(o, "findings", jvalue_count(r->findings));
	jvalue_put(o, "bound", jvalue_count((uint64_t)r->bound));
	jvalue_put(o, "status", jvalue_count((uint64_t)r->status));
	jvalue_put(o, "values", values);
	jvalue_put(o, "responses", responses);
	if (r->n_columns)
		jvalue_put(o, "columns", columns_value(r));
	return line_of(o, lost);
}

/* ---- reading ---- */

bool sweep_journal_matches(const struct sweep_journal *header, const char *words)
{
	json_t *text = jvalue_text(words);
	const bool same = text && strcmp(header->words, json_string_value(text)) == 0;

	json_decref(text);
	return same;
}

/* A whole number up to `most`. */
static bool get_count(const json_t *o, const char *key, uint64_t most, uint64_t *value)
{
	const json_t *v = json_object_get(o, key);

	if (!json_is_integer(v) || json_integer_value(v) < 0)
		return false;
	*value = (uint64_t)json_integer_value(v);
	return *value <= most;
}

/* The value of a line of `length` bytes; NULL: it is damaged. */
static json_t *line_value(const char *line, size_t length)
{
	char digits[SWEEP_JOURNAL_DIGITS + 1];
	json_error_t why;
	char *end;

	if (length < SWEEP_JOURNAL_DIGITS + 2 || line[SWEEP_JOURNAL_DIGITS] != ' ')
		return NULL;
	memcpy(digits, line, SWEEP_JOURNAL_DIGITS);
	digits[SWEEP_JOURNAL_DIGITS] = '\0';
	if (strspn(digits, "0123456789abcdef") != SWEEP_JOURNAL_DIGITS)
		return NULL;
	line += SWEEP_JOURNAL_DIGITS + 1;
	length -= SWEEP_JOURNAL_DIGITS + 1;
	if (strtoul(digits, &end, 16) != crc32c(line, length))
		return NULL;
	return jvalue_parse(line, length, JSON_REJECT_DUPLICATES, &why);
}

static bool take_header(const json_t *o, struct sweep_journal *header)
{
	const char *format = json_string_value(json_object_get(o, "format"));
	const char *words = json_string_value(json_object_get(o, "words"));
	uint64_t version;

	if (!format || strcmp(format, SWEEP_JOURNAL_FORMAT) != 0 || !words ||
	    !get_count(o, "version", JOURNAL_VERSION, &version) || version != JOURNAL_VERSION ||
	    !get_count(o, "seed", INT64_MAX, &header->seed) ||
	    !get_count(o, "points", VARY_MAX_POINTS, &header->points) ||
	    !get_count(o, "started", INT64_MAX, &header->started_ns))
		return false;
	header->words = strdup(words);
	return header->words;
}

/* A number from 0 on; null, where the figure may be unknown, is NAN. */
static bool take_real(const json_t *v, double *x, bool may_be_null)
{
	*x = json_is_null(v) && may_be_null ? NAN : json_number_value(v);
	return isnan(*x) || (json_is_number(v) && *x >= 0 && *x <= VALUE_MAX);
}

static bool take_responses(const json_t *values, struct sweep_round *r)
{
	const size_t n = json_array_size(values);

	r->responded = n;
	if (!json_is_array(values) || (n && n != SWEEP_RESPONSES))
		return false;
	for (size_t i = 0; i < n; i++)
		if (!take_real(json_array_get(values, i), &r->values[sweep_responses[i]], i > 0))
			return false;
	return true;
}

/* Numbers, or null for one that is not known. A sweep without -columns has no array. */
static bool take_columns(const json_t *values, struct sweep_round *r)
{
	const size_t n = json_array_size(values);

	if (values && (!json_is_array(values) || n > SWEEP_MAX_COLUMNS))
		return false;
	r->n_columns = n;
	for (size_t i = 0; i < n; i++) {
		const json_t *v = json_array_get(values, i);

		r->columns[i] = json_is_null(v) ? NAN : json_number_value(v);
		if (!json_is_null(v) && (!json_is_number(v) || fabs(r->columns[i]) > VALUE_MAX))
			return false;
	}
	return true;
}

static bool take_values(const json_t *values, struct sweep_round *r)
{
	const size_t n = json_array_size(values);

	r->known = n;
	if (!json_is_array(values) || (n && n != (size_t)FIGURE_COUNT))
		return false;
	for (size_t i = 0; i < n; i++)
		if (!take_real(json_array_get(values, i), &r->values[i],
			       i >= FIGURE_FIRST_PERCENTILE))
			return false;
	return true;
}

static bool take_round(const json_t *o, uint64_t points, struct sweep_round *r)
{
	uint64_t findings, bound, status;

	*r = (struct sweep_round){ .known = false };
	if (!points || !get_count(o, "point", points - 1, &r->point) ||
	    !get_count(o, "round", INT64_MAX, &r->round) || !r->round ||
	    !get_count(o, "start", INT64_MAX, &r->start_ns) ||
	    !get_count(o, "elapsed", INT64_MAX, &r->elapsed_ns) ||
	    !get_count(o, "ops", INT64_MAX, &r->ops) ||
	    !get_count(o, "bytes", INT64_MAX, &r->bytes) ||
	    !get_count(o, "errors", INT64_MAX, &r->errors) ||
	    !get_count(o, "miscompares", INT64_MAX, &r->miscompares) ||
	    !get_count(o, "max", INT64_MAX, &r->max_ns) ||
	    !get_count(o, "findings", UINT_MAX, &findings) ||
	    !get_count(o, "bound", RESULT_BOUNDS - 1, &bound) ||
	    !get_count(o, "status", XDD_MISCOMPARE, &status))
		return false;
	r->findings = (unsigned)findings;
	r->bound = (enum result_bound)bound;
	r->status = (int)status;
	return take_values(json_object_get(o, "values"), r) &&
	       take_responses(json_object_get(o, "responses"), r) &&
	       take_columns(json_object_get(o, "columns"), r);
}

int sweep_journal_line(void *arg, const uint8_t *data, size_t size, size_t *used)
{
	const unsigned long lost = jvalue_lost();
	struct sweep_journal_lines *lines = arg;
	const char *text = (const char *)data, *end = size ? memchr(text, '\n', size) : NULL;
	struct sweep_round round;
	json_t *o;
	bool good;
	int err;

	if (!end)
		return 0;
	lines->line++;
	*used = (size_t)(end - text) + 1;
	o = line_value(text, *used - 1);
	good = o && (lines->line == 1 ? take_header(o, &lines->header) :
					take_round(o, lines->header.points, &round));
	json_decref(o);
	if (!good)
		return jvalue_lost() == lost ? -EBADMSG : -ENOMEM;
	err = lines->line > 1 ? lines->take(lines->arg, &round) : 0;
	return err ? err : 1;
}

/* ---- the document ---- */

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

static json_t *maximum(const struct curve *c)
{
	json_t *o;

	if (!(c->maximum > 0))
		return json_null();
	o = json_object();
	jvalue_put(o, "point", jvalue_count(c->max_point + 1));
	jvalue_put(o, "iops", jvalue_real(c->maximum));
	jvalue_put(o, "interval_percent", jvalue_real(c->percent));
	jvalue_put(o, "steady_after", jvalue_count(c->steady_after));
	jvalue_put(o, "searched_queue_depth", jvalue_given(c->depth));
	return o;
}

/* "lateness_p99" for "response_p99": the figure of a load where nothing is transferred. */
static void put_lateness(json_t *o, const struct curve_load *load, enum pass_figure figure)
{
	char name[32];

	snprintf(name, sizeof(name), "lateness%s", figure_name(figure) + strlen("response"));
	jvalue_put(o, name, jvalue_real(sweep_round_value(&load->lateness, figure)));
}

static json_t *one_load(const struct curve *c, const struct sweep_results *r,
			const struct curve_load *load)
{
	const struct curve_figures f = curve_figures(c, r, load);
	json_t *o = json_object();

	jvalue_put(o, "point", jvalue_count(load->point + 1));
	jvalue_put(o, "percent", jvalue_real(100 * load->share));
	jvalue_put(o, "offered_iops", jvalue_real(f.offered));
	jvalue_put(o, "reached_iops", jvalue_real(f.reached));
	for (int i = 0; i < SWEEP_RESPONSES; i++) {
		const enum pass_figure figure = sweep_responses[i];
		const struct sweep_mean m = sweep_mean(r, &r->points[load->point], figure);

		jvalue_put(o, figure_name(figure), jvalue_real(m.mean));
		if (figure == FIGURE_RESPONSE)
			jvalue_put(o, "response_interval_percent", jvalue_real(m.percent));
	}
	for (int i = 0; i < SWEEP_RESPONSES; i++)
		put_lateness(o, load, sweep_responses[i]);
	jvalue_put(o, "service", jvalue_real(f.service_ns));
	jvalue_put(o, "queue", jvalue_real(f.queue));
	jvalue_put(o, "in_service", jvalue_real(f.in_service));
	jvalue_put(o, "overloaded", json_boolean(f.overloaded));
	jvalue_put(o, "steady", f.drift.known ? json_boolean(!f.drift.drifts) : json_null());
	jvalue_put(o, "drift_percent", jvalue_real(f.drift.known ? 100 * f.drift.amount : NAN));
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
	jvalue_put(o, "percent", jvalue_real(100 * c->knee.share));
	jvalue_put(o, "low_percent", jvalue_real(100 * c->knee.low));
	jvalue_put(o, "high_percent", jvalue_real(100 * c->knee.high));
	jvalue_put(o, "iops", jvalue_real(c->knee.share * c->maximum));
	return o;
}

static json_t *goal(const struct curve *c)
{
	json_t *o;

	if (!(c->goal.limit_ns > 0))
		return json_null();
	o = json_object();
	jvalue_put(o, "figure", jvalue_text(figure_name(c->goal.figure)));
	jvalue_put(o, "limit", jvalue_real(c->goal.limit_ns));
	jvalue_put(o, "holds_percent", jvalue_real(100 * c->goal.holds));
	jvalue_put(o, "holds_iops", jvalue_real(c->goal.holds * c->maximum));
	jvalue_put(o, "fails_percent", jvalue_real(100 * c->goal.fails));
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
	statistics_take(st, s->values);
	return true;
}

static json_t *statistics(const struct sweep_results *r, const struct sweep_point *p)
{
	struct series s;
	struct pass_statistics st;
	json_t *list = NULL;

	if (series_of(p, &s, &st)) {
		for (enum pass_figure i = 0; r->until_percent > 0 && i < FIGURE_ALL; i++) {
			if (statistics_has(&st, i))
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
		jvalue_put(value, "interval_percent", jvalue_real(m.percent));
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
	jvalue_put(o, "max", jvalue_given(r->max_ns));
	for (int i = 0; i < SWEEP_RESPONSES; i++)
		jvalue_put(o, figure_name(sweep_responses[i]),
			   jvalue_real(sweep_round_value(r, sweep_responses[i])));
	if (results->columns.n)
		jvalue_put(o, "columns", round_columns(&results->columns, r));
	jvalue_put(o, "bound", jvalue_text(result_causes[r->bound].name));
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

static void put_head(struct jsonfile *j, const struct sweep_results *r, const struct plan *plan)
{
	fprintf(j->f, "{\"format\":\"%s\"", SWEEP_FORMAT);
	jsonfile_member(j, "version", json_integer(SWEEP_VERSION));
	jsonfile_member(j, "xdd", jvalue_text(PACKAGE_VERSION));
	jsonfile_member(j, "command_line", jvalue_text(r->command_line));
	jsonfile_member(j, "start_time", jvalue_time(r->started_ns));
	jsonfile_member(j, "environment", environment_collect(plan));
	jsonfile_member(j, "arrangement", jvalue_text(r->vary->pairs ? "pairs" : "grid"));
	jsonfile_member(j, "axes", axes(r->vary));
	jsonfile_member(j, "seed", jvalue_count(r->seed));
	jsonfile_member(j, "rounds_least", jvalue_count(r->least));
	jsonfile_member(j, "rounds_most", jvalue_count(r->most));
	jsonfile_member(j, "until_percent",
			r->until_percent > 0 ? jvalue_real(r->until_percent) : json_null());
	jsonfile_member(j, "each_ns", jvalue_given(r->each_ns));
	jsonfile_member(j, "restore", jvalue_text(r->restore));
}

int sweep_write_json(FILE *f, const struct sweep_results *r, const struct plan *plan, int status)
{
	struct jsonfile j = { .f = f, .lost = jvalue_lost() };
	const char *before = "\n";

	put_head(&j, r, plan);
	fputs(",\n\"points\":[", f);
	for (size_t i = 0; i < r->vary->n_points && !j.error; i++) {
		if (r->points[i].unused)
			continue;
		fputs(before, f);
		jsonfile_put(&j, f, one_point(r, i));
		before = ",\n";
	}
	fputs("\n]", f);
	if (r->curve)
		jsonfile_member(&j, "curve", curve_value(r));
	jsonfile_member(&j, "messages", jvalue_messages());
	jsonfile_member(&j, "end_time", jvalue_time(clock_wall_ns()));
	jsonfile_member(&j, "partial", json_boolean(r->partial));
	jsonfile_member(&j, "status", json_integer(status));
	fputs("}\n", f);
	if (jvalue_lost() != j.lost)
		jsonfile_fail(&j, ENOMEM);
	return j.error ? -j.error : ferror(f) ? -EIO : 0;
}
