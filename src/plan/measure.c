/*
 * Measures: how much of a target's pass, in time, operations, a share of them, or bytes. Called by
 * the options of coordination, and where a plan is shown.
 */
#include "plan/measure.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "plan/errors.h"
#include "plan/value.h"
#include "xdd/base/units.h"

static const struct {
	const char *word;
	enum measure_unit unit;
	uint64_t scale;
} measures[] = {
	{ "time", MEASURE_TIME, 1 },	       { "op", MEASURE_OPS, 1 },
	{ "percent", MEASURE_PERCENT, 1 },     { "mbytes", MEASURE_BYTES, 1u << 20 },
	{ "kbytes", MEASURE_BYTES, 1u << 10 },
};

static const char *measure_at(const void *unused, size_t i)
{
	(void)unused;
	return i < sizeof(measures) / sizeof(measures[0]) ? measures[i].word : NULL;
}

static enum xdd_status read_percent(const struct setting *s, const struct word *w, uint64_t *value)
{
	if (units_parse_percent(w->text, value) || !*value)
		return parse_error(
			XDD_BAD_ARGUMENT, s, w,
			"expected a percentage above 0 and up to 100, with decimals if need be");
	return XDD_OK;
}

static enum xdd_status read_ops(const struct setting *s, const struct word *w, uint64_t *value)
{
	if (units_parse_count(w->text, value) || !*value || *value > INT64_MAX)
		return parse_error(XDD_BAD_ARGUMENT, s, w, "expected a whole number, 1 to %" PRId64,
				   INT64_MAX);
	return XDD_OK;
}

static enum xdd_status read_bytes(const struct setting *s, const struct word *w, uint64_t scale,
				  uint64_t *value)
{
	if (units_parse_amount(w->text, scale, value) || !*value || *value > INT64_MAX)
		return parse_error(XDD_BAD_ARGUMENT, s, w,
				   "expected a number, up to %" PRIu64
				   ", or bytes with a suffix, such as 16M or 10MB",
				   (uint64_t)INT64_MAX / scale);
	return XDD_OK;
}

enum xdd_status measure_read(const struct setting *s, const struct word *w, struct measure *m)
{
	for (size_t i = 0; i < sizeof(measures) / sizeof(measures[0]); i++) {
		if (strcmp(w[0].text, measures[i].word) != 0)
			continue;
		m->unit = measures[i].unit;
		if (m->unit == MEASURE_PERCENT)
			return read_percent(s, &w[1], &m->value);
		if (m->unit == MEASURE_TIME)
			return parse_time(s, &w[1], 1, PLAN_CENTURY_NS, &m->value);
		if (m->unit == MEASURE_OPS)
			return read_ops(s, &w[1], &m->value);
		return read_bytes(s, &w[1], measures[i].scale, &m->value);
	}
	return parse_error_words(s, w, measure_at, NULL);
}

/* The names of units, and the value of one. */
static const struct {
	const char *text;
	double scale;
} units[] = {
	[MEASURE_TIME] = { "seconds", 1e9 },
	[MEASURE_OPS] = { "operations", 1 },
	[MEASURE_PERCENT] = { "percent", PLAN_RATIO_ONE / 100 },
	[MEASURE_BYTES] = { "KiB", 1024 },
};

char *plan_measure_text(const struct measure *m, char *buf, size_t size)
{
	const char *text = units[m->unit].text;

	if (m->unit == MEASURE_OPS && m->value == 1)
		text = "operation";
	snprintf(buf, size, "%.12g %s", (double)m->value / units[m->unit].scale, text);
	return buf;
}
