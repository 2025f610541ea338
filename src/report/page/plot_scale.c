/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Scales of plots: where a value is, the unit and the numbers of an axis; see the header. Called by
 * plot_svg.c.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "report/page/plot.h"
#include "xdd/base/units.h"
#include "xdd/report/compare.h"

/* How near to each other numbers at an axis are. */
#define TIC_WIDTH 44.0
#define TIC_HEIGHT 45.0

/* ---- values ---- */

const char *plot_value_text(double value, enum plot_unit unit, char buf[PLOT_LABEL_SIZE])
{
	switch (unit) {
	case PLOT_TIME:
		return scaled_time(value, buf);
	case PLOT_RATE:
		return scaled_rate(value, buf);
	case PLOT_OPS:
		return scaled_ops(value, buf);
	case PLOT_CHANGE:
		return compare_change_text(value, buf);
	default:
		snprintf(buf, PLOT_LABEL_SIZE, unit == PLOT_PERCENT ? "%.4g %%" : "%.6g", value);
		return buf;
	}
}

/* The greatest unit in which `most` is at least 1. */
static void scale_unit(struct plot_range *s, enum plot_unit unit)
{
	static const struct {
		double factor;
		const char *names[PLOT_PERCENT + 1];
	} steps[] = {
		{ 1, { "", "ns", "B/s", "per second", "%" } },
		{ 1e3, { NULL, "us", "kB/s", "thousand per second", NULL } },
		{ 1e6, { NULL, "ms", "MB/s", "million per second", NULL } },
		{ 1e9, { NULL, "s", "GB/s", NULL, NULL } },
		{ 1e12, { NULL, NULL, "TB/s", NULL, NULL } },
	};

	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		if (!steps[i].names[unit] || (i && s->most < steps[i].factor))
			continue;
		s->factor = steps[i].factor;
		s->unit = steps[i].names[unit];
	}
}

/* Not below the least and not above the greatest place by much: paths have bounded numbers. */
double plot_place(const struct plot_range *s, double value)
{
	const double span = s->log ? log(s->most / s->least) : s->most - s->least;
	const double t = (s->log ? log(value / s->least) : value - s->least) / span;

	return s->from + (s->to - s->from) * fmin(fmax(t, -5), 5);
}

/* 1, 2 or 5 times a power of ten that is at least `x`. */
static double nice(double x)
{
	const double power = pow(10, floor(log10(x))), m = x / power;

	return power * (m <= 1 + 1e-9 ? 1 : m <= 2 + 1e-9 ? 2 : m <= 5 + 1e-9 ? 5 : 10);
}

void plot_widen(struct plot_limits *l, double value)
{
	if (!isfinite(value))
		return;
	l->least = fmin(l->least, value);
	l->most = fmax(l->most, value);
}

static struct plot_limits limits_of(const struct plot *plot, bool x)
{
	const enum plot_style style = plot->kind->style;
	struct plot_limits l = { INFINITY, -INFINITY };

	for (size_t i = 0; i < plot->n_series; i++) {
		for (size_t k = 0; k < plot->series[i].n; k++) {
			const struct plot_point *p = &plot->series[i].points[k];

			plot_widen(&l, x ? p->x : p->y);
			if (style != PLOT_LINES && x)
				plot_widen(&l, p->x_to);
			if (style == PLOT_CELLS && !x)
				plot_widen(&l, p->y_to);
			if (style == PLOT_LINES && !x) {
				/* An interval that goes far down must not flatten all. */
				plot_widen(&l, p->low > p->y / 10 ? p->low : NAN);
				plot_widen(&l, p->high);
			}
		}
	}
	for (size_t i = 0; i < plot->n_marks; i++) {
		if (plot->marks[i].level != x)
			plot_widen(&l, plot->marks[i].at);
	}
	/* Plots beside each other have the same values along x. */
	for (size_t i = 0; x && i < plot->x_tics.n; i++)
		plot_widen(&l, plot->x_tics.list[i].at);
	return l;
}

static void scale_log(struct plot_range *s)
{
	const double below = pow(10, floor(log10(s->least) + 1e-9));

	s->least = s->least >= 5 * below ? 5 * below : s->least >= 2 * below ? 2 * below : below;
	s->most = nice(s->most);
	if (!(s->most > s->least))
		s->most = 10 * s->least;
}

static void scale_linear(struct plot_range *s, enum plot_scale kind, bool x, double length)
{
	if (kind == PLOT_ZERO)
		s->least = fmin(s->least, 0);
	if (!(s->most > s->least)) {
		s->least -= kind == PLOT_ZERO ? 0 : 0.5 * fabs(s->least);
		s->most += 0.5 * fabs(s->most) + 1e-9;
	}
	if (x) {
		s->most += 0.02 * (s->most - s->least);
	} else {
		const double step = nice((s->most - s->least) * TIC_HEIGHT / length);

		s->most = step * ceil(s->most / step - 1e-9);
	}
}

/* The places are those between which the values are. */
void plot_range_make(struct plot_range *s, const struct plot *plot, bool x)
{
	const struct plot_tics *tics = x ? &plot->x_tics : &plot->y_tics;
	const enum plot_scale kind = x ? plot->x_scale : plot->y_scale;
	const struct plot_limits l = limits_of(plot, x);

	s->least = l.least;
	s->most = l.most;
	s->log = kind == PLOT_LOG;
	if (kind == PLOT_NAMES) {
		s->least = -0.5;
		s->most = (double)(tics->n ? tics->n : 1) - 0.5;
	} else if (s->log && tics->n) {
		s->least = l.least / pow(l.most / l.least, 0.05) / 1.02;
		s->most = l.most * pow(l.most / l.least, 0.05) * 1.02;
	} else if (s->log) {
		scale_log(s);
	} else if (plot->kind->style != PLOT_CELLS) {
		scale_linear(s, kind, x, fabs(s->to - s->from));
	}
	if (!x && plot->y_most > 0)
		s->most = plot->y_most;
	scale_unit(s, x ? plot->kind->x.unit : plot->kind->y.unit);
}

/* Add a number to the tics of a scale. */
static void scale_tic(const struct plot_range *s, struct plot_tic *tics, size_t *n, double at,
		      enum plot_unit unit)
{
	struct plot_tic *tic = &tics[*n < PLOT_MAX_TICS ? *n : 0];

	if (*n == PLOT_MAX_TICS || at < s->least * (1 - 1e-9) - 1e-12 || at > s->most * (1 + 1e-9))
		return;
	/* Not -0. */
	at += 0.0;
	tic->at = at;
	if (s->log && unit != PLOT_NUMBER) {
		struct plot_range own = { .most = at * (1 + 1e-9) };

		scale_unit(&own, unit);
		snprintf(tic->label, PLOT_LABEL_SIZE, "%.6g %s", at / own.factor, own.unit);
	} else {
		snprintf(tic->label, PLOT_LABEL_SIZE, "%.6g", at / s->factor);
	}
	(*n)++;
}

/* Numbers for an axis that has no tics of its own; returns how many. */
size_t plot_range_tics(const struct plot_range *s, enum plot_unit unit, bool x,
		       struct plot_tic tics[PLOT_MAX_TICS])
{
	const double decades = s->log ? log10(s->most / s->least) : 0;
	const double room = fabs(s->to - s->from) / (x ? TIC_WIDTH : TIC_HEIGHT);
	size_t n = 0;

	if (s->log) {
		const double every = ceil(fmax(1, decades / fmax(1, room)));

		for (double k = floor(log10(s->least)); k <= log10(s->most) + 1; k += every) {
			scale_tic(s, tics, &n, pow(10, k), unit);
			for (int i = 0; decades < room / 2 && i < 2; i++)
				scale_tic(s, tics, &n, (i ? 5 : 2) * pow(10, k), unit);
		}
	} else {
		double step = nice((s->most - s->least) / fmax(1, room));

		/* Passes are whole. */
		if (unit == PLOT_NUMBER)
			step = fmax(step, 1);
		for (double k = ceil(s->least / step - 1e-9); k * step <= s->most * (1 + 1e-9); k++)
			scale_tic(s, tics, &n, k * step, unit);
	}
	return n;
}
