/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Documents that are read again: from files and hosts, their head, statistics, points and messages;
 * see the header. Called by the commands, combine*.c, compare.c and the page.
 */
#include "xdd/report/document.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "report/document_internal.h"
#include "report/jsonout.h"
#include "xdd/base/log.h"
#include "xdd/base/memory.h"
#include "xdd/base/units.h"
#include "xdd/report/column.h"
#include "xdd/report/jvalue.h"
#include "xdd/report/rule.h"
#include "xdd/report/sweep.h"

#define MAX_DIGITS 20
#define MAX_STATUS XDD_MISCOMPARE
#define MAX_RANKS (1u << 24)

/* No count, rate per second or time in nanoseconds is greater. */
#define VALUE_MAX 1e24

/* ---- values ---- */

bool document_whole(const json_t *value, uint64_t *out)
{
	const char *text = json_string_value(value);
	size_t n = text ? strspn(text, "0123456789") : 0;

	if (json_is_integer(value) && json_integer_value(value) >= 0) {
		*out = (uint64_t)json_integer_value(value);
		return true;
	}
	if (!text || !n || text[n] || n > MAX_DIGITS)
		return false;
	errno = 0;
	*out = strtoull(text, NULL, 10);
	return errno == 0;
}

bool document_wrong(const struct document_check *c, const char *key, const char *expected)
{
	if (!*c->why)
		snprintf(c->why, DOCUMENT_WHY_SIZE, "%s%s: expected %s", c->part, key, expected);
	return false;
}

bool document_count(const struct document_check *c, const json_t *o, const char *key,
		    uint64_t *value, bool *known)
{
	const json_t *member = json_object_get(o, key);

	*value = 0;
	if (known)
		*known = member && !json_is_null(member);
	if (known && !*known)
		return true;
	if (document_whole(member, value) && *value <= INT64_MAX)
		return true;
	if (known)
		*known = false;
	document_wrong(c, key, *value ? "a smaller number" : "a whole number");
	*value = 0;
	return false;
}

static double real_of(const json_t *value)
{
	const char *text = json_string_value(value);
	double x = NAN;

	if (json_is_number(value))
		x = json_number_value(value);
	else if (text && *text && !text[strspn(text, "0123456789")])
		x = strtod(text, NULL);
	return x >= 0 && x <= VALUE_MAX ? x : NAN;
}

double document_real(const json_t *o, const char *key)
{
	return real_of(json_object_get(o, key));
}

const char *document_text(const json_t *o, const char *key)
{
	const char *text = json_string_value(json_object_get(o, key));

	return text ? text : "";
}

/* A time of jvalue_time(), in ns since 1970; 0: it is none. */
static uint64_t time_of(const char *text)
{
	const char *rest;
	struct tm tm = { 0 };
	unsigned ms = 0;
	time_t seconds;

	rest = strptime(text, "%Y-%m-%dT%H:%M:%S", &tm);
	if (!rest || sscanf(rest, ".%3uZ", &ms) != 1)
		return 0;
	seconds = timegm(&tm);
	/* The year 2262, the last of 63 bits. */
	if (seconds <= 0 || seconds >= (time_t)(INT64_MAX / NS_PER_SEC))
		return 0;
	return (uint64_t)seconds * NS_PER_SEC + ms * NS_PER_MS;
}

/* ---- statistics ---- */

static bool is_figure(const json_t *o)
{
	const json_t *values = json_object_get(o, "values"), *value;
	size_t i;

	if (!json_is_array(values))
		return false;
	json_array_foreach(values, i, value)
	{
		if (!json_is_number(value) || isnan(real_of(value)))
			return false;
	}
	return true;
}

static bool is_statistic(const json_t *o)
{
	const json_t *target = json_object_get(o, "target");

	if (!json_is_null(target) && !json_is_integer(target))
		return false;
	for (enum pass_figure i = 0; i < FIGURE_ALL; i++) {
		const json_t *figure = json_object_get(o, figure_name(i));

		/*
		 * Percentiles are missing in documents of older versions, and null where there
		 * were too few operations; flushes and response times are missing in most runs.
		 */
		if ((figure || i < FIGURE_FIRST_PERCENTILE) &&
		    !(json_is_null(figure) && i >= FIGURE_FIRST_PERCENTILE) && !is_figure(figure))
			return false;
	}
	return true;
}

static bool are_statistics(const json_t *array)
{
	const json_t *statistic;
	size_t i;

	json_array_foreach(array, i, statistic)
	{
		if (!is_statistic(statistic))
			return false;
	}
	return json_is_array(array);
}

/* Room for the elements of an array; one more, since it may be empty. NULL: memory is short. */
static void *room_for(struct document *d, const json_t *array, size_t size)
{
	return arena_alloc(d->arena, (json_array_size(array) + 1) * size);
}

static bool take_figure(struct document *d, const json_t *o, struct document_figure *f)
{
	const json_t *array = json_object_get(o, "values"), *value;
	double *values = room_for(d, array, sizeof(*values));

	if (!values)
		return false;
	json_array_foreach(array, f->n, value) values[f->n] = json_number_value(value);
	f->values = values;
	f->mean = document_real(o, "mean");
	f->high = document_real(o, "interval_high");
	return true;
}

static bool take_statistic(struct document *d, const json_t *o, struct document_statistic *s)
{
	const json_t *target = json_object_get(o, "target"), *steady, *value;
	const json_t *array = json_object_get(o, "passes");
	uint64_t *passes = room_for(d, array, sizeof(*passes));
	bool good = passes;

	s->target = json_is_integer(target) ? json_integer_value(target) : DOCUMENT_ALL;
	s->passes = passes;
	for (; good && s->n < json_array_size(array); s->n++) {
		value = json_array_get(array, s->n);
		if (!document_whole(value, &passes[s->n]))
			passes[s->n] = 0;
	}
	for (enum pass_figure i = 0; i < FIGURE_ALL && good; i++)
		good = take_figure(d, json_object_get(o, figure_name(i)), &s->figures[i]);
	s->not_reproducible = document_text(o, "not_reproducible");
	steady = json_object_get(o, "steady_state");
	s->steady_known = json_is_object(steady);
	s->steady = json_is_true(json_object_get(steady, "reached"));
	if (!document_whole(json_object_get(steady, "after_pass"), &s->steady_after))
		s->steady_after = 0;
	return good;
}

/* Those that are_statistics(). False: memory is short. */
static bool take_statistics(struct document *d, const json_t *array, struct document_statistics *s)
{
	struct document_statistic *list = room_for(d, array, sizeof(*list));
	bool good = list;

	s->list = list;
	for (; good && s->n < json_array_size(array); s->n++)
		good = take_statistic(d, json_array_get(array, s->n), &list[s->n]);
	return good;
}

const struct document_statistic *document_statistic(const struct document_statistics *s,
						    int64_t target)
{
	for (size_t i = 0; i < s->n; i++) {
		if (s->list[i].target == target && s->list[i].n)
			return &s->list[i];
	}
	return NULL;
}

/* ---- points ---- */

static bool is_point(const json_t *o)
{
	const json_t *varied = json_object_get(o, "varied"), *value;
	const char *option;

	json_object_foreach((json_t *)(uintptr_t)varied, option, value)
	{
		if (!json_is_string(value))
			return false;
	}
	return json_is_object(varied) && are_statistics(json_object_get(o, "statistics"));
}

/* The bit of a finding; 0: there is no such finding. */
static unsigned finding_bit(const json_t *finding)
{
	const char *text = json_string_value(finding);

	for (unsigned rule = 0; text && rule < RULE_FINDINGS; rule++) {
		if (strcmp(text, rule_table[rule].name) == 0)
			return 1u << rule;
	}
	return 0;
}

/* Add a round to its point. */
static void add_round(struct document_point *p, const json_t *round)
{
	const json_t *findings = json_object_get(round, "findings"), *finding;
	uint64_t n;
	size_t i;

	json_array_foreach(findings, i, finding) p->findings |= finding_bit(finding);
	p->ops += document_whole(json_object_get(round, "ops"), &n) ? n : 0;
	p->bytes += document_whole(json_object_get(round, "bytes"), &n) ? n : 0;
	p->errors += document_whole(json_object_get(round, "errors"), &n) ? n : 0;
	if (document_whole(json_object_get(round, "max"), &n) && n > p->max_ns)
		p->max_ns = n;
}

/* The longest response times of the rounds that have one. False: memory is short. */
static bool take_response_max(struct document *d, const json_t *rounds, struct document_figure *f)
{
	double *values = room_for(d, rounds, sizeof(*values));
	const json_t *round;
	size_t i;

	f->values = values;
	f->mean = f->high = NAN;
	json_array_foreach(rounds, i, round)
	{
		if (values && json_is_number(json_object_get(round, "response")))
			values[f->n++] = document_real(round, figure_name(FIGURE_RESPONSE_MAX));
	}
	return values;
}

static bool take_point(struct document *d, const json_t *o, struct document_point *p)
{
	const json_t *rounds = json_object_get(o, "rounds"), *round;
	size_t i;

	p->number = document_real(o, "point");
	p->varied = json_object_get(o, "varied");
	p->status = document_real(o, "status");
	p->rounds = json_array_size(rounds);
	p->responds = json_is_number(json_object_get(json_array_get(rounds, 0), "response"));
	p->columns = json_object_get(o, "columns");
	json_array_foreach(rounds, i, round) add_round(p, round);
	return take_response_max(d, rounds, &p->response_max) &&
	       take_statistics(d, json_object_get(o, "statistics"), &p->statistics);
}

static bool take_points(struct document *d)
{
	const json_t *array = json_object_get(d->root, "points");
	struct document_point *points = room_for(d, array, sizeof(*points));
	bool good = points;

	d->points = points;
	for (; good && d->n_points < json_array_size(array); d->n_points++)
		good = take_point(d, json_array_get(array, d->n_points), &points[d->n_points]);
	return good;
}

static bool take_axis(struct document *d, const json_t *o, struct document_axis *axis)
{
	const json_t *array = json_object_get(o, "values"), *value;
	const char **values = room_for(d, array, sizeof(*values));

	axis->option = document_text(o, "option");
	axis->values = values;
	for (; values && axis->n < json_array_size(array); axis->n++) {
		value = json_array_get(array, axis->n);
		values[axis->n] = json_is_string(value) ? json_string_value(value) : "";
	}
	return values;
}

static bool take_axes(struct document *d)
{
	const json_t *array = json_object_get(d->root, "axes");
	struct document_axis *axes = room_for(d, array, sizeof(*axes));
	bool good = axes;

	d->axes = axes;
	for (; good && d->n_axes < json_array_size(array); d->n_axes++)
		good = take_axis(d, json_array_get(array, d->n_axes), &axes[d->n_axes]);
	return good;
}

/* ---- the curve ---- */

static void take_load(const json_t *o, struct document_load *l)
{
	const json_t *drift = json_object_get(o, "drift_percent");

	l->point = document_real(o, "point");
	l->percent = document_real(o, "percent");
	l->offered_iops = document_real(o, "offered_iops");
	l->reached_iops = document_real(o, "reached_iops");
	for (enum pass_figure i = FIGURE_RESPONSE; i < FIGURE_ALL; i++)
		l->response_ns[i - FIGURE_RESPONSE] = document_real(o, figure_name(i));
	l->service_ns = document_real(o, "service");
	l->lateness_ns = document_real(o, "lateness");
	l->lateness_p99_ns = document_real(o, "lateness_p99");
	l->interval_percent = document_real(o, "response_interval_percent");
	l->queue = document_real(o, "queue");
	l->in_service = document_real(o, "in_service");
	l->drift_percent = json_is_number(drift) ? json_number_value(drift) : NAN;
	l->steady = json_is_true(json_object_get(o, "steady"));
	l->disturbed = json_is_true(json_object_get(o, "disturbed"));
	l->overloaded = json_is_true(json_object_get(o, "overloaded"));
}

static bool take_loads(struct document *d, const json_t *array)
{
	struct document_load *loads = room_for(d, array, sizeof(*loads));
	size_t *n = &d->curve.n_loads;

	d->curve.loads = loads;
	for (; loads && *n < json_array_size(array); (*n)++)
		take_load(json_array_get(array, *n), &loads[*n]);
	return loads;
}

static bool take_curve(struct document *d)
{
	const json_t *curve = json_object_get(d->root, "curve");
	const json_t *maximum = json_object_get(curve, "maximum");
	const json_t *knee = json_object_get(curve, "knee"), *goal = json_object_get(curve, "goal");
	struct document_curve *c = &d->curve;

	d->curved = json_is_object(curve);
	c->maximum.known = json_is_object(maximum);
	c->maximum.point = document_real(maximum, "point");
	c->maximum.iops = document_real(maximum, "iops");
	c->maximum.interval_percent = document_real(maximum, "interval_percent");
	c->maximum.steady_after = document_real(maximum, "steady_after");
	c->knee.known = json_is_object(knee);
	c->knee.percent = document_real(knee, "percent");
	c->knee.low_percent = document_real(knee, "low_percent");
	c->knee.high_percent = document_real(knee, "high_percent");
	c->knee.iops = document_real(knee, "iops");
	c->knee.missing = document_text(curve, "knee_missing");
	c->goal.given = json_is_object(goal);
	c->goal.figure = document_text(goal, "figure");
	c->goal.limit_ns = document_real(goal, "limit");
	c->goal.holds_percent = document_real(goal, "holds_percent");
	c->goal.holds_iops = document_real(goal, "holds_iops");
	c->goal.fails_percent = document_real(goal, "fails_percent");
	c->goal.disturbed = json_is_true(json_object_get(goal, "disturbed"));
	c->rounds_least = document_real(d->root, "rounds_least");
	return take_loads(d, json_object_get(curve, "loads"));
}

/* ---- the head and the end ---- */

static bool take_messages(struct document *d)
{
	const json_t *array = json_object_get(d->root, "messages");
	struct document_message *messages = room_for(d, array, sizeof(*messages));

	d->messages = messages;
	for (; messages && d->n_messages < json_array_size(array); d->n_messages++) {
		const json_t *o = json_array_get(array, d->n_messages);
		struct document_message *m = &messages[d->n_messages];

		m->level = document_text(o, "level");
		m->error = strcmp(m->level, "error") == 0;
		m->text = document_text(o, "text");
	}
	return messages;
}

static bool take_targets(struct document *d)
{
	const json_t *plan = json_object_get(d->root, "plan");
	const json_t *array = json_object_get(plan, "targets"), *o;
	const char **targets = room_for(d, array, sizeof(*targets));

	d->targets = targets;
	for (; targets && d->n_targets < json_array_size(array); d->n_targets++) {
		const json_t *number;

		o = json_array_get(array, d->n_targets);
		number = json_object_get(o, "number");
		targets[d->n_targets] = "";
		if (json_is_integer(number) &&
		    json_integer_value(number) == (json_int_t)d->n_targets)
			targets[d->n_targets] = document_text(o, "path");
	}
	return targets;
}

static void take_clock(struct document *d)
{
	const struct document_check c = { .why = d->fault, .part = "clock: " };
	const json_t *o = json_object_get(d->root, "clock");
	struct document_clock *clock = &d->clock;
	bool end_known;

	if (!json_is_object(o))
		return;
	document_count(&c, o, "bound_ns", &clock->bound_ns, &clock->bound_known);
	document_count(&c, o, "bound_at_end_ns", &clock->end_bound_ns, &end_known);
	if (!end_known)
		clock->end_bound_ns = clock->bound_ns;
	if (json_is_integer(json_object_get(o, "machine_offset_ns")))
		clock->machine = json_string_value(json_object_get(o, "machine"));
	clock->machine_offset = json_integer_value(json_object_get(o, "machine_offset_ns"));
}

static void take_rank(struct document *d)
{
	const struct document_check c = { .why = d->fault, .part = "" };
	bool rank, ranks;

	document_count(&c, d->root, "rank", &d->rank, &rank);
	document_count(&c, d->root, "ranks", &d->ranks, &ranks);
	d->ranked = rank && ranks;
	if (d->ranked && (d->ranks > MAX_RANKS || d->rank >= d->ranks)) {
		document_wrong(&c, "rank", "a number below the number of ranks");
		d->ranked = false;
	}
}

static void take_status(struct document *d)
{
	const struct document_check c = { .why = d->fault, .part = "" };
	const json_t *status = json_object_get(d->root, "status");

	d->status = document_real(d->root, "status");
	if (!json_is_integer(status) || !(d->status <= MAX_STATUS))
		document_wrong(&c, "status", "an exit status of xdd");
}

static void take_head(struct document *d)
{
	const json_t *root = d->root;
	const json_t *environment = json_object_get(root, "environment");
	const json_t *plan = json_object_get(json_object_get(root, "plan"), "resolved");
	const json_t *late = json_object_get(json_object_get(root, "start"), "late_ns");

	d->xdd = document_text(root, "xdd");
	d->command_line = document_text(root, "command_line");
	d->start_time = document_text(root, "start_time");
	d->end_time = document_text(root, "end_time");
	d->end = document_text(root, "end");
	d->host = document_text(json_object_get(environment, "host"), "name");
	d->run_id = json_string_value(json_object_get(root, "run_id"));
	d->start_ns = time_of(d->start_time);
	d->end_ns = time_of(d->end_time);
	d->partial = json_is_true(json_object_get(root, "partial"));
	d->combined = json_object_get(root, "hosts");
	d->run_time_ns = document_real(plan, "run_time_ns");
	d->late_ns = json_is_integer(late) ? json_number_value(late) : NAN;
	take_status(d);
}

/* ---- the format ---- */

/* Of versions up to `version`; otherwise false, reported. */
static bool is_version(const struct document *d, const char *command, const char *format,
		       int version)
{
	const json_t *found = json_object_get(d->root, "version");

	if (json_is_integer(found) && json_integer_value(found) >= 1 &&
	    json_integer_value(found) <= version)
		return true;
	return log_fail(false,
			"%s: %s: this is of version %" JSON_INTEGER_FORMAT
			" of the format%s; this xdd reads version%s %d",
			command, d->name, json_integer_value(found), format,
			version > 1 ? "s 1 to" : "", version);
}

static bool take_sweep(struct document *d, const char *command)
{
	const json_t *points = json_object_get(d->root, "points"), *point;
	bool good = json_is_array(points);
	size_t i;

	if (!is_version(d, command, " of sweeps", SWEEP_VERSION))
		return false;
	json_array_foreach(points, i, point) good = good && is_point(point);
	if (!good)
		return log_fail(false, "%s: %s: invalid \"points\"", command, d->name);
	if (take_points(d) && take_axes(d) && take_curve(d))
		return true;
	return log_fail(false, "%s: %s", command, strerror(ENOMEM));
}

static bool take_run(struct document *d, const char *command)
{
	const json_t *statistics = json_object_get(d->root, "statistics");

	if (!is_version(d, command, "", JSONOUT_VERSION))
		return false;
	if (!json_is_object(json_object_get(d->root, "environment")) ||
	    !json_is_object(json_object_get(d->root, "plan")) || !json_is_array(statistics))
		return log_fail(false,
				"%s: %s: the environment, the plan or the statistics are missing",
				command, d->name);
	if (!are_statistics(statistics))
		return log_fail(false, "%s: %s: invalid \"statistics\"", command, d->name);
	if (json_integer_value(json_object_get(d->root, "version")) < JSONOUT_VERSION &&
	    !document_upgrade(d->root))
		return log_fail(false, "%s: %s", command, strerror(ENOMEM));
	take_clock(d);
	take_rank(d);
	if (take_targets(d) && take_statistics(d, statistics, &d->statistics) &&
	    document_take_results(d))
		return true;
	return log_fail(false, "%s: %s", command, strerror(ENOMEM));
}

bool document_read(struct document *d, const char *command, const char *name)
{
	const char *format = document_text(d->root, "format");

	d->name = name;
	d->sweep = strcmp(format, SWEEP_FORMAT) == 0;
	if (!d->sweep && strcmp(format, JSONOUT_FORMAT) != 0)
		return log_fail(false, "%s: %s: this is JSON, but not of xdd -jsonout", command,
				name);
	d->arena = arena_new();
	if (!d->arena || !take_messages(d))
		return log_fail(false, "%s: %s", command, strerror(ENOMEM));
	take_head(d);
	return d->sweep ? take_sweep(d, command) : take_run(d, command);
}

/* ---- text ---- */

struct reader {
	int fd;
	unsigned long long bytes; /* so far */
	int error;		  /* errno of a failed read, EFBIG: too long; 0: none */
	bool at_end;
};

static size_t read_some(void *buf, size_t size, void *arg)
{
	struct reader *r = arg;
	ssize_t n;

	do {
		n = read(r->fd, buf, size);
	} while (n < 0 && errno == EINTR);
	if (n < 0)
		r->error = errno;
	if (n == 0)
		r->at_end = true;
	if (n > 0)
		r->bytes += (unsigned long long)n;
	if (r->bytes > DOCUMENT_MAX_BYTES)
		r->error = EFBIG;
	return r->error ? (size_t)-1 : (size_t)n;
}

static json_t *parse_file(const char *command, const char *path, struct reader *r)
{
	const unsigned long lost = jvalue_lost();
	json_error_t err;
	json_t *root = jvalue_load(read_some, r, JSON_REJECT_DUPLICATES, &err);

	if (root)
		return root;
	if (jvalue_lost() != lost)
		r->error = ENOMEM;
	/* A document that ends in the middle of a word or a number is cut short as well. */
	if (r->error)
		log_error("%s: %s: %s", command, path, strerror(r->error));
	else if (r->at_end || json_error_code(&err) == json_error_premature_end_of_input)
		log_error("%s: %s: the document is cut short, in line %d", command, path, err.line);
	else
		log_error("%s: %s: is no document of -jsonout: no JSON: line %d, column %d: %s",
			  command, path, err.line, err.column, err.text);
	return NULL;
}

static json_t *read_file(const char *command, const char *path)
{
	struct reader r = { .fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY) };
	struct stat st;
	json_t *root;

	if (r.fd < 0)
		return log_fail(NULL, "%s: %s: %s", command, path, strerror(errno));
	if (fstat(r.fd, &st) == 0 && S_ISDIR(st.st_mode)) {
		log_error("%s: %s: %s", command, path, strerror(EISDIR));
		close(r.fd);
		return NULL;
	}
	root = parse_file(command, path, &r);
	close(r.fd);
	return root;
}

/* ---- many documents ---- */

/* Members of `o` that equal members of `first` become the same ones. */
static void share_members(json_t *o, json_t *first)
{
	const char *key;
	json_t *value;
	void *next;

	json_object_foreach_safe(o, next, key, value)
	{
		json_t *other = json_object_get(first, key);

		if (other && other != value && json_equal(other, value))
			json_object_set(o, key, other);
		else if (json_is_object(value) && json_is_object(other))
			share_members(value, other);
	}
}

/* Only the results of passes of targets and of all count. */
static void trim_results(json_t *results)
{
	for (size_t i = json_array_size(results); i-- > 0;) {
		const char *what = document_text(json_array_get(results, i), "what");

		if (strcmp(what, column_what(RESULT_QUEUE_PASS)) == 0 ||
		    strcmp(what, column_what(RESULT_TARGET_AVERAGE)) == 0)
			json_array_remove(results, i);
	}
}

static void document_trim(json_t *root, const json_t *first)
{
	static const char *const unused[] = { "intervals", "endtoend", "start_skew" };
	static const char *const shared[] = { "plan", "environment" };

	trim_results(json_object_get(root, "results"));
	for (size_t i = 0; i < sizeof(unused) / sizeof(unused[0]); i++)
		json_object_del(root, unused[i]);
	for (size_t i = 0; i < sizeof(shared) / sizeof(shared[0]); i++)
		share_members(json_object_get(root, shared[i]), json_object_get(first, shared[i]));
}

/* ---- all of it ---- */

bool document_load(struct document *d, const char *command, const char *path,
		   const struct document *first)
{
	*d = (struct document){ .root = read_file(command, path) };
	if (!d->root)
		return false;
	if (first)
		document_trim(d->root, first->root);
	return document_read(d, command, path);
}

int document_parse(struct document *d, const char *text, size_t size)
{
	const unsigned long lost = jvalue_lost();
	json_error_t error;

	*d = (struct document){ .root = jvalue_parse(text, size, JSON_REJECT_DUPLICATES, &error) };
	if (d->root)
		return 0;
	return jvalue_lost() == lost ? -EBADMSG : -ENOMEM;
}

void document_free(struct document *d)
{
	json_decref(d->root);
	arena_free(d->arena);
	*d = (struct document){ .root = NULL };
}
