/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Pictures of plots as SVG: scales, axes, and the lines between them. Called by page.c, and by
 * plot.c for files.
 *
 * A picture can be read without colours, and without a pointer: lines differ by dashes and markers
 * and have their names beside them. With a pointer each point says its values, without a script. A
 * screen reader gets the title and a description; the page has a table with the values.
 *
 * zoom.js moves what lies along a linear axis of time: the elements of the classes data, hits and
 * tics. Their positions along x are absolute, and have more digits there.
 */
#include <math.h>
#include <string.h>

#include "report/page/page.h"
#include "report/page/picture.h"
#include "xdd/base/text.h"

#define WIDTH 440.0
#define HEIGHT 300.0
#define SMALL_HEIGHT 180.0
#define LINE 15.0 /* from one line of text to the next */
#define CELL 70.0 /* the least width of a cell with a number */
#define CELL_ROW 28.0
#define MOST_HEIGHT 1200.0
#define DIRECT_LETTERS 18 /* longer names of lines are below the picture, not beside the lines */
#define NAME_LETTERS 26	  /* of a name at an axis; longer ones lose their beginning */
#define MARKERS 25	  /* of a line; with more points some have none */
#define SPREAD 12.0	  /* the most by which lines at one place are apart together */
#define SPREAD_LINE 4.0	  /* and from one line to the next */

/* ---- the picture ---- */

size_t picture_letters(const char *text)
{
	size_t n = 0;

	for (; *text; n++)
		text += utf8_length(text) ? utf8_length(text) : 1;
	return n;
}

static size_t longest(const struct plot_tics *tics)
{
	size_t most = 0;

	for (size_t i = 0; i < tics->n; i++) {
		const size_t n = picture_letters(tics->list[i].label);

		most = n > most ? n : most;
	}
	return most < NAME_LETTERS ? most : NAME_LETTERS;
}

static bool is_beyond(const struct plot *plot, const struct plot_point *p)
{
	return plot->y_most > 0 && p->y > plot->y_most;
}

/* Names of lines: how many, and the letters of the longest. */
static size_t names_of_lines(const struct plot *plot, size_t *most)
{
	size_t n = 0;

	*most = 0;
	for (size_t i = 0; i < plot->n_series; i++) {
		const size_t length = picture_letters(plot->series[i].title);

		if (!plot->series[i].n || !length)
			continue;
		*most = length > *most ? length : *most;
		n++;
	}
	return n;
}

bool picture_has_numbers(const struct plot *plot)
{
	return plot->kind->style == PLOT_CELLS && plot->x_scale == PLOT_NAMES;
}

/* The letters of the longest text of a cell; 0: cells have their values. */
static size_t longest_cell(const struct plot *plot)
{
	size_t most = 0;

	for (size_t i = 0; i < plot->n_series; i++) {
		for (size_t k = 0; k < plot->series[i].n; k++) {
			const char *text = plot->series[i].points[k].text;
			const size_t n = text ? picture_letters(text) : 0;

			most = n > most ? n : most;
		}
	}
	return most;
}

static void look_at_points(struct picture *c)
{
	c->value = (struct plot_limits){ INFINITY, -INFINITY };
	for (size_t i = 0; i < c->plot->n_series; i++) {
		const struct plot_series *s = &c->plot->series[i];
		bool beyond = false;

		for (size_t k = 0; k < s->n; k++) {
			beyond |= is_beyond(c->plot, &s->points[k]);
			c->has_disturbed |= s->points[k].disturbed;
			plot_widen(&c->value, s->points[k].value);
		}
		c->beyond += beyond;
	}
}

static double height_of(const struct plot *plot)
{
	const double rows = (double)plot->y_tics.n;

	if (plot->y_scale != PLOT_NAMES)
		return plot->kind->small ? SMALL_HEIGHT : HEIGHT;
	return fmin(MOST_HEIGHT,
		    75 + rows * (plot->kind->style == PLOT_BARS ? PICTURE_ROW : CELL_ROW));
}

/* Sizes of all parts, and the scales. */
static void lay_out(struct picture *c)
{
	const struct plot *plot = c->plot;
	double left, right = PICTURE_EDGE, top = 2 * LINE, bottom = 3 * LINE;
	size_t most;
	const size_t names = names_of_lines(plot, &most);

	c->zooms = c->number && plot_zooms(plot);
	c->width = WIDTH;
	c->height = height_of(plot);
	look_at_points(c);
	if (picture_has_numbers(plot))
		c->width = fmax(c->width,
				(double)plot->x_tics.n *
						fmax(CELL,
						     PICTURE_LETTER * (double)longest_cell(plot)) +
					130);
	c->is_direct = names && most <= DIRECT_LETTERS;
	left = plot->y_tics.n ? (double)longest(&plot->y_tics) * PICTURE_LETTER + 16 : 56;
	if (c->is_direct)
		right = 28 + (double)most * PICTURE_LETTER;
	c->is_turned = plot->x_scale == PLOT_NAMES && (double)(longest(&plot->x_tics) + 1) *
								      PICTURE_LETTER *
								      (double)plot->x_tics.n >
							      c->width - left - right;
	if (c->is_turned)
		bottom += 0.65 * PICTURE_LETTER * (double)longest(&plot->x_tics);
	top += 9 * (double)c->beyond;
	/* Below: the names of lines, the mark of disturbed points, the shades. */
	c->height += (names && !c->is_direct ? LINE * (double)names : 0) +
		     (c->has_disturbed ? LINE : 0) +
		     (plot->kind->style == PLOT_CELLS ? 1.5 * LINE : 0) + 9 * (double)c->beyond;
	bottom += (names && !c->is_direct ? LINE * (double)names : 0) +
		  (c->has_disturbed ? LINE : 0) +
		  (plot->kind->style == PLOT_CELLS ? 1.5 * LINE : 0);
	c->x.from = left;
	c->x.to = c->width - right;
	c->y.from = c->height - bottom;
	c->y.to = top;
	plot_range_make(&c->x, plot, true);
	plot_range_make(&c->y, plot, false);
}

double picture_x(const struct picture *c, double x)
{
	return plot_place(&c->x, x);
}

double picture_y(const struct picture *c, double y)
{
	return plot_place(&c->y, y);
}

void picture_command(const struct picture *c, char command, double x)
{
	fprintf(c->f, "%c%.*f", command, c->zooms ? 3 : 1, x);
}

void picture_text(const struct picture *c, double x, double y, const char *anchor,
		  const char *classes, const char *text)
{
	fprintf(c->f, "<text x=\"%.1f\" y=\"%.1f\"", x, y);
	if (strcmp(anchor, "start") != 0)
		fprintf(c->f, " text-anchor=\"%s\"", anchor);
	if (*classes)
		fprintf(c->f, " class=\"%s\"", classes);
	fputc('>', c->f);
	page_escape(c->f, text);
	fputs("</text>\n", c->f);
}

/* ---- axes ---- */

/* The end of a name that is too long tells more than its beginning. */
static const char *short_name(const char *name, char buf[PLOT_LABEL_SIZE])
{
	size_t skip = picture_letters(name);

	if (skip <= NAME_LETTERS)
		return name;
	for (skip -= NAME_LETTERS - 3; skip; skip--)
		name += utf8_length(name) ? utf8_length(name) : 1;
	snprintf(buf, PLOT_LABEL_SIZE, "...%s", name);
	return buf;
}

static void put_x_tic(const struct picture *c, double x, const char *label)
{
	const double y = c->y.from + LINE;
	char buf[PLOT_LABEL_SIZE];

	if (!c->is_turned) {
		picture_text(c, x, y, "middle", "", label);
		return;
	}
	fprintf(c->f,
		"<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"end\" transform=\"rotate(-40 %.1f %.1f)\">",
		x, y - 2, x, y - 2);
	page_escape(c->f, short_name(label, buf));
	fputs("</text>\n", c->f);
}

/* A number that would touch the last one is left out. */
static void put_x_tics(const struct picture *c, const struct plot_tic *tics, size_t n)
{
	double free_from = -INFINITY;

	for (size_t i = 0; i < n; i++) {
		const double x = picture_x(c, tics[i].at);
		const double half = 0.5 * PICTURE_LETTER * (double)picture_letters(tics[i].label);

		fprintf(c->f, "<path class=\"grid\" d=\"M%.1f %.1fV%.1f\"/>\n", x, c->y.from + 4,
			c->plot->x_scale == PLOT_NAMES ? c->y.from : c->y.to);
		if (!c->is_turned && x - half < free_from)
			continue;
		put_x_tic(c, x, tics[i].label);
		free_from = x + half + PICTURE_LETTER;
	}
}

static void put_y_tics(const struct picture *c, const struct plot_tic *tics, size_t n)
{
	char buf[PLOT_LABEL_SIZE];

	for (size_t i = 0; i < n; i++) {
		const double y = picture_y(c, tics[i].at);

		if (c->plot->y_scale != PLOT_NAMES)
			fprintf(c->f, "<path class=\"grid\" d=\"M%.1f %.1fH%.1f\"/>\n", c->x.from,
				y, c->x.to);
		picture_text(c, c->x.from - 6, y + 4, "end", "", short_name(tics[i].label, buf));
	}
}

/* "bandwidth (MB/s)". */
static const char *axis_label(const struct plot *plot, bool x, const struct plot_range *s,
			      char buf[2 * PLOT_LABEL_SIZE])
{
	const char *own = x ? plot->x_label : plot->y_label;
	const char *kind = x ? plot->kind->x.label : plot->kind->y.label;
	const char *label = *own ? own : kind ? kind : "";
	const bool has_unit = !s->log && s->unit && *s->unit &&
			      (x ? plot->x_scale : plot->y_scale) != PLOT_NAMES;

	snprintf(buf, 2 * PLOT_LABEL_SIZE, has_unit ? "%s (%s)" : "%s", label, s->unit);
	return buf;
}

static void put_axes(const struct picture *c)
{
	const struct plot *plot = c->plot;
	const double below = c->is_turned ? 0.65 * PICTURE_LETTER * (double)longest(&plot->x_tics) :
					    0;
	char label[2 * PLOT_LABEL_SIZE];
	struct plot_tic tics[PLOT_MAX_TICS];

	fputs("<g class=\"tics\">\n", c->f);
	if (plot->x_tics.n)
		put_x_tics(c, plot->x_tics.list, plot->x_tics.n);
	else
		put_x_tics(c, tics, plot_range_tics(&c->x, plot->kind->x.unit, true, tics));
	fputs("</g>\n", c->f);
	if (plot->y_tics.n)
		put_y_tics(c, plot->y_tics.list, plot->y_tics.n);
	else
		put_y_tics(c, tics, plot_range_tics(&c->y, plot->kind->y.unit, false, tics));
	fprintf(c->f, "<path class=\"axis\" d=\"M%.1f %.1fV%.1fH%.1f\"/>\n", c->x.from, c->y.to,
		c->y.from, c->x.to);
	picture_text(c, (c->x.from + c->x.to) / 2, c->y.from + 2.2 * LINE + below, "middle", "name",
		     axis_label(plot, true, &c->x, label));
	picture_text(c, 4, LINE - 3, "start", "name", axis_label(plot, false, &c->y, label));
}

/* ---- lines ---- */

static const char *const dashes[PLOT_MAX_SERIES] = { "", "7 3", "2 3", "9 3 2 3",
						     "", "4 2", "1 4", "12 4" };

/* Markers whose radius is about 3. */
static const struct {
	const char *path;
	bool filled;
} markers[PLOT_MAX_SERIES] = {
	{ "m-3.2 0a3.2 3.2 0 1 0 6.4 0a3.2 3.2 0 1 0 -6.4 0", true },
	{ "m-3 -3h6v6h-6z", false },
	{ "m0 -4l4 7h-8z", true },
	{ "m0 -4.4l4.4 4.4l-4.4 4.4l-4.4 -4.4z", false },
	{ "m-3.5 -3.5l7 7m0 -7l-7 7", false },
	{ "m-3 -3h6v6h-6z", true },
	{ "m0 4l4 -7h-8z", false },
	{ "m-4 0h8m-4 -4v8", false },
};

/* Lines that spread are a few pixels apart, but less than their points. */
static double shown_x(const struct picture *c, size_t series, const struct plot_point *p)
{
	const double middle = ((double)c->plot->n_series - 1) / 2;
	double room = c->x.to - c->x.from;
	size_t most = 0;

	if (!c->plot->kind->spreads || c->plot->n_series < 2)
		return picture_x(c, p->x);
	for (size_t i = 0; i < c->plot->n_series; i++)
		most = c->plot->series[i].n > most ? c->plot->series[i].n : most;
	room = fmin(SPREAD, room / (double)(most + 1) / 3);
	return picture_x(c, p->x) +
	       fmin(SPREAD_LINE, room / (2 * middle)) * ((double)series - middle);
}

/* Where a point is shown: beyond the end of the axis each line has a place of its own. */
static double shown_y(const struct picture *c, size_t series, const struct plot_point *p)
{
	size_t above = 0;

	if (!is_beyond(c->plot, p))
		return picture_y(c, p->y);
	for (size_t i = 0; i < series; i++) {
		const struct plot_series *s = &c->plot->series[i];
		bool beyond = false;

		for (size_t k = 0; k < s->n; k++)
			beyond |= is_beyond(c->plot, &s->points[k]);
		above += beyond;
	}
	return c->y.to - 7 - 9 * (double)above;
}

static void put_line(const struct picture *c, size_t i)
{
	const struct plot_series *s = &c->plot->series[i];

	fprintf(c->f, "<path class=\"line\"");
	if (*dashes[i])
		fprintf(c->f, " stroke-dasharray=\"%s\"", dashes[i]);
	if (c->plot->y_most > 0)
		fprintf(c->f, " clip-path=\"url(#p%zuc)\"", c->number);
	fputs(" d=\"", c->f);
	for (size_t k = 0; k < s->n; k++) {
		picture_command(c, k ? 'L' : 'M', shown_x(c, i, &s->points[k]));
		fprintf(c->f, " %.1f", picture_y(c, s->points[k].y));
	}
	fputs("\"/>\n", c->f);
}

/* Intervals; an end that is not on the axis has no cap. */
static void put_intervals(const struct picture *c, size_t i)
{
	const struct plot_series *s = &c->plot->series[i];
	bool any = false;

	for (size_t k = 0; k < s->n; k++) {
		const struct plot_point *p = &s->points[k];
		const double x = shown_x(c, i, p);
		const double low = fmin(picture_y(c, p->low), c->y.from);
		const double high = fmax(picture_y(c, p->high), c->y.to);

		if (!isfinite(p->low) || is_beyond(c->plot, p))
			continue;
		fputs(any ? "" : "<path class=\"interval\" d=\"", c->f);
		picture_command(c, 'M', x);
		fprintf(c->f, " %.1fV%.1f%s", low, high, high > c->y.to ? "m-3 0h6" : "");
		if (low < c->y.from) {
			picture_command(c, 'M', x);
			fprintf(c->f, " %.1fm-3 0h6", low);
		}
		any = true;
	}
	fputs(any ? "\"/>\n" : "", c->f);
}

static void put_markers(const struct picture *c, size_t i)
{
	const struct plot_series *s = &c->plot->series[i];
	const size_t every = s->n / MARKERS + 1;
	/* Lines that lie on each other have their markers at different places. */
	const size_t first = i * every / PLOT_MAX_SERIES;

	fprintf(c->f, "<path class=\"%s\" d=\"", markers[i].filled ? "full" : "open");
	for (size_t k = 0; k < s->n; k++) {
		if (k % every != first && !is_beyond(c->plot, &s->points[k]))
			continue;
		picture_command(c, 'M', shown_x(c, i, &s->points[k]));
		fprintf(c->f, " %.1f%s", shown_y(c, i, &s->points[k]), markers[i].path);
	}
	fputs("\"/>\n", c->f);
}

static const char *x_text(const struct plot *plot, double x, char buf[PLOT_LABEL_SIZE])
{
	for (size_t i = 0; i < plot->x_tics.n; i++) {
		if (plot->x_tics.list[i].at == x)
			return plot->x_tics.list[i].label;
	}
	return plot_value_text(x, plot->kind->x.unit, buf);
}

/* "read, p99: 1.94 ms (1.80 ms to 2.08 ms) at 70; disturbed". */
static void put_point_title(const struct picture *c, const struct plot_series *s,
			    const struct plot_point *p)
{
	const enum plot_unit unit = c->plot->kind->y.unit;
	char a[PLOT_LABEL_SIZE], b[PLOT_LABEL_SIZE];

	fputs("<title>", c->f);
	page_escape(c->f, s->title);
	fprintf(c->f, "%s%s", *s->title ? ": " : "", plot_value_text(p->y, unit, a));
	if (isfinite(p->low))
		fprintf(c->f, " (%s to %s)", plot_value_text(p->low, unit, a),
			plot_value_text(p->high, unit, b));
	fputs(" at ", c->f);
	page_escape(c->f, x_text(c->plot, p->x, a));
	fputs(is_beyond(c->plot, p) ? "; beyond the axis" : "", c->f);
	fputs(p->disturbed ? "; disturbed" : "", c->f);
	fputs("</title>", c->f);
}

/* Places that say their values, wider than the markers. */
static void put_hits(const struct picture *c, size_t i)
{
	const struct plot_series *s = &c->plot->series[i];

	fprintf(c->f, "<g class=\"hits s%zu\">\n", i);
	for (size_t k = 0; k < s->n; k++) {
		fputs("<path d=\"", c->f);
		picture_command(c, 'M', shown_x(c, i, &s->points[k]));
		fprintf(c->f, " %.1fh0\">", shown_y(c, i, &s->points[k]));
		put_point_title(c, s, &s->points[k]);
		fputs("</path>\n", c->f);
	}
	fputs("</g>\n", c->f);
}

/* A cross over each disturbed point, and what it means. */
static void put_disturbed(const struct picture *c)
{
	static const char cross[] = "m-6 -6l12 12m0 -12l-12 12";

	if (!c->has_disturbed)
		return;
	fputs("<path class=\"disturbed\" d=\"", c->f);
	for (size_t i = 0; i < c->plot->n_series; i++) {
		const struct plot_series *s = &c->plot->series[i];

		for (size_t k = 0; k < s->n; k++) {
			if (s->points[k].disturbed)
				fprintf(c->f, "M%.1f %.1f%s", shown_x(c, i, &s->points[k]),
					shown_y(c, i, &s->points[k]), cross);
		}
	}
	fprintf(c->f, "M%.1f %.1f%s\"/>\n", PICTURE_EDGE + 8, c->height - 9, cross);
	picture_text(c, PICTURE_EDGE + 24, c->height - 5, "start", "", "disturbed");
}

/* ---- the names of lines ---- */

static void put_name(const struct picture *c, size_t i, double x, double y)
{
	fprintf(c->f, "<g class=\"s%zu\"><path class=\"line\"", i);
	if (*dashes[i])
		fprintf(c->f, " stroke-dasharray=\"%s\"", dashes[i]);
	fprintf(c->f, " d=\"M%.1f %.1fh20\"/><path class=\"%s\" d=\"M%.1f %.1f%s\"/></g>\n", x,
		y - 4, markers[i].filled ? "full" : "open", x + 10, y - 4, markers[i].path);
	picture_text(c, x + 25, y, "start", "", c->plot->series[i].title);
}

/* The lines that have names, by the places of their ends from the top. */
static size_t order_names(const struct picture *c, size_t order[PLOT_MAX_SERIES],
			  double at[PLOT_MAX_SERIES])
{
	size_t n = 0;

	for (size_t i = 0; i < c->plot->n_series; i++) {
		const struct plot_series *s = &c->plot->series[i];
		size_t k = n;

		if (!s->n || !*s->title)
			continue;
		at[i] = shown_y(c, i, &s->points[s->n - 1]) + 4;
		for (; k && c->is_direct && at[order[k - 1]] > at[i]; k--)
			order[k] = order[k - 1];
		order[k] = i;
		n++;
	}
	return n;
}

/* Names do not touch: from the top each is below the last, from the bottom each above the next. */
static void put_names(const struct picture *c)
{
	size_t order[PLOT_MAX_SERIES];
	double at[PLOT_MAX_SERIES], limit = LINE;
	const size_t n = order_names(c, order, at);

	if (!c->is_direct) {
		for (size_t i = 0; i < n; i++)
			put_name(c, order[i], PICTURE_EDGE,
				 c->height - 5 -
					 LINE * (double)(n - 1 - i + (c->has_disturbed ? 1 : 0)));
		return;
	}
	for (size_t i = 0; i < n; i++) {
		at[order[i]] = fmax(at[order[i]], limit);
		limit = at[order[i]] + LINE;
	}
	limit = fmax(c->y.from + LINE, LINE * (double)n);
	for (size_t i = n; i-- > 0;) {
		at[order[i]] = fmin(at[order[i]], limit);
		limit = at[order[i]] - LINE;
	}
	for (size_t i = 0; i < n; i++)
		put_name(c, order[i], c->x.to + 2, at[order[i]]);
}

/* ---- marks ---- */

static void put_band(const struct picture *c, const struct plot_mark *m)
{
	const double from = fmax(picture_x(c, m->low), c->x.from);
	const double to = fmin(picture_x(c, m->high), c->x.to);

	fprintf(c->f,
		"<rect class=\"band\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\"/>\n",
		from, c->y.to, fmax(to - from, 0), c->y.from - c->y.to);
}

/* Beside the line, where there is room; each has a line of text of its own. */
static void put_mark_label(const struct picture *c, const struct plot_mark *m, size_t line)
{
	const double room = c->x.to - PICTURE_LETTER * (double)picture_letters(m->label);

	picture_text(c, fmax(fmin(picture_x(c, m->at) + 4, room), c->x.from + 2),
		     c->y.to + 12 + LINE * (double)line, "start", "halo", m->label);
}

static void put_marks(const struct picture *c)
{
	for (size_t i = 0; i < c->plot->n_marks; i++) {
		const struct plot_mark *m = &c->plot->marks[i];

		if (!m->level && isfinite(m->low))
			put_band(c, m);
	}
	for (size_t i = 0; i < c->plot->n_marks; i++) {
		const struct plot_mark *m = &c->plot->marks[i];

		if (m->level)
			fprintf(c->f, "<path class=\"mark\" d=\"M%.1f %.1fH%.1f\"/>\n", c->x.from,
				picture_y(c, m->at), c->x.to);
		else
			fprintf(c->f, "<path class=\"mark\" d=\"M%.1f %.1fV%.1f\"/>\n",
				picture_x(c, m->at), c->y.from, c->y.to);
	}
}

/* With a label. */
static size_t vertical_lines(const struct plot *plot)
{
	size_t n = 0;

	for (size_t i = 0; i < plot->n_marks; i++)
		n += !plot->marks[i].level && *plot->marks[i].label;
	return n;
}

/* The label of a level is above it, or below it where labels of vertical lines are above. */
static void put_level_label(const struct picture *c, const struct plot_mark *m)
{
	const double y = picture_y(c, m->at);
	const double lines = c->y.to + LINE * (double)vertical_lines(c->plot);

	picture_text(c, c->x.from + 5, y - LINE > lines ? y - 4 : y + LINE - 2, "start", "halo",
		     m->label);
}

static void put_mark_labels(const struct picture *c)
{
	char text[2 * PLOT_LABEL_SIZE], value[PLOT_LABEL_SIZE];
	size_t line = 0;

	for (size_t i = 0; i < c->plot->n_marks; i++) {
		if (c->plot->marks[i].level)
			put_level_label(c, &c->plot->marks[i]);
		else if (*c->plot->marks[i].label)
			put_mark_label(c, &c->plot->marks[i], line++);
	}
	if (!c->beyond)
		return;
	snprintf(text, sizeof(text),
		 "beyond %s:", plot_value_text(c->plot->y_most, c->plot->kind->y.unit, value));
	picture_text(c, c->x.from + 2, c->y.to - 4, "start", "halo", text);
}

/* ---- all lines ---- */

static void put_lines(const struct picture *c)
{
	fputs("<g class=\"data\">\n", c->f);
	for (size_t i = 0; i < c->plot->n_series; i++) {
		const struct plot_series *s = &c->plot->series[i];

		if (!s->n)
			continue;
		fprintf(c->f, "<g class=\"s%zu\">\n", i);
		put_intervals(c, i);
		put_line(c, i);
		put_markers(c, i);
		fputs("</g>\n", c->f);
	}
	fputs("</g>\n", c->f);
	put_disturbed(c);
	put_names(c);
	put_mark_labels(c);
	for (size_t i = 0; i < c->plot->n_series; i++) {
		if (c->plot->series[i].n)
			put_hits(c, i);
	}
}

/* ---- the description ---- */

static void describe_series(const struct picture *c, const struct plot_series *s)
{
	const enum plot_unit unit = c->plot->kind->y.unit;
	const struct plot_point *first = &s->points[0], *last = &s->points[s->n - 1];
	char a[PLOT_LABEL_SIZE], b[PLOT_LABEL_SIZE];

	fputc(' ', c->f);
	page_escape(c->f, *s->title ? s->title : "Line");
	fprintf(c->f, ": %zu point%s, from %s at ", s->n, s->n == 1 ? "" : "s",
		plot_value_text(first->y, unit, a));
	page_escape(c->f, x_text(c->plot, first->x, b));
	fprintf(c->f, " to %s at ", plot_value_text(last->y, unit, a));
	page_escape(c->f, x_text(c->plot, last->x, b));
	fputc('.', c->f);
}

static void describe(const struct picture *c)
{
	const struct plot *plot = c->plot;
	char label[2 * PLOT_LABEL_SIZE], a[PLOT_LABEL_SIZE], b[PLOT_LABEL_SIZE];

	if (plot->x_scale != PLOT_NAMES) {
		fputs("Along x: ", c->f);
		page_escape(c->f, axis_label(plot, true, &c->x, label));
		fputs(". Along y: ", c->f);
		page_escape(c->f, axis_label(plot, false, &c->y, label));
		fputc('.', c->f);
	}
	for (size_t i = 0; i < plot->n_series && plot->kind->style == PLOT_LINES; i++) {
		if (plot->series[i].n)
			describe_series(c, &plot->series[i]);
	}
	if (plot->kind->style == PLOT_CELLS)
		fprintf(c->f, " Cells: from %s to %s.",
			plot_value_text(c->value.least, plot->kind->value, a),
			plot_value_text(c->value.most, plot->kind->value, b));
	for (size_t i = 0; i < plot->n_marks; i++) {
		if (!*plot->marks[i].label)
			continue;
		fputs(plot->marks[i].level ? " Level: " : " Vertical line: ", c->f);
		page_escape(c->f, plot->marks[i].label);
		fputc('.', c->f);
	}
	fprintf(c->f, " Values: %s.", plot->kind->path);
}

/* ---- all ---- */

bool plot_is_wide(const struct plot *plot)
{
	struct picture c = { .plot = plot };

	lay_out(&c);
	return c.width > WIDTH;
}

/* A zoom cuts at the left and the right only: markers at the other edges stay whole. */
static void put_clip_path(const struct picture *c)
{
	const double room = c->zooms ? 7 : 0;

	fprintf(c->f,
		"<clipPath id=\"p%zuc\"><rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\"/>"
		"</clipPath>\n",
		c->number, c->x.from, c->y.to - room, c->x.to - c->x.from,
		c->y.from - c->y.to + 2 * room);
}

static void put_head(const struct picture *c)
{
	const struct plot *plot = c->plot;

	fprintf(c->f, "<svg class=\"chart\" ");
	if (!c->number)
		fprintf(c->f,
			"xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" ",
			c->width, c->height);
	if (c->zooms)
		fprintf(c->f, "data-from=\"%.15g\" data-to=\"%.15g\" data-unit=\"%s\" ", c->x.least,
			c->x.most, c->x.unit);
	fprintf(c->f,
		"viewBox=\"0 0 %.0f %.0f\" role=\"img\" aria-labelledby=\"p%zut\" "
		"aria-describedby=\"p%zud\">\n<title id=\"p%zut\">%s",
		c->width, c->height, c->number, c->number, c->number, plot->kind->title);
	if (*plot->part) {
		fputs(": ", c->f);
		page_escape(c->f, plot->part);
	}
	fprintf(c->f, "</title>\n<desc id=\"p%zud\">", c->number);
	describe(c);
	fputs("</desc>\n", c->f);
	if (!c->number)
		plot_write_file_style(c->f);
	if (plot->y_most > 0 || c->zooms)
		put_clip_path(c);
}

void plot_write_svg(FILE *f, const struct plot *plot, size_t number)
{
	struct picture c = { .f = f, .plot = plot, .number = number };

	lay_out(&c);
	put_head(&c);
	if (plot->kind->style == PLOT_CELLS)
		picture_cells(&c);
	put_axes(&c);
	put_marks(&c);
	if (plot->kind->style == PLOT_BARS)
		picture_bars(&c);
	else if (plot->kind->style == PLOT_LINES)
		put_lines(&c);
	fputs("</svg>\n", f);
}
