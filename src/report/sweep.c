/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The results of a sweep in memory, and their journal as text: xdd/report/sweep.h. Called by the
 * command.
 */
#include "xdd/report/sweep.h"

#include <errno.h>
#include <jansson.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "xdd/base/codec.h"
#include "xdd/base/memory.h"
#include "xdd/report/jvalue.h"
#include "xdd/report/result.h"

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
	    asprintf(&line, "%08x %s\n", crc32c(0, text, strlen(text)), text) < 0)
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
	if (strtoul(digits, &end, 16) != crc32c(0, line, length))
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
	    !get_count(o, "bound", RESULT_BOUND_LIMIT, &bound) ||
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
