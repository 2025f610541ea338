/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Bars and cells of pictures, and the legends of cells. Called by plot_svg.c.
 */
#include <math.h>
#include <stdio.h>

#include "report/page/page.h"
#include "report/page/picture.h"

/* Their outline shows the shortest ones. */
void picture_bars(const struct picture *c)
{
	fputs("<g class=\"data\">\n", c->f);
	for (size_t k = 0; k < c->plot->series[0].n; k++) {
		const struct plot_point *p = &c->plot->series[0].points[k];
		char a[PLOT_LABEL_SIZE], b[PLOT_LABEL_SIZE];

		fputs("<path class=\"bar\" d=\"", c->f);
		picture_command(c, 'M', picture_x(c, p->x));
		fprintf(c->f, " %.1f", picture_y(c, p->y) - 0.3 * PICTURE_ROW);
		picture_command(c, 'H', picture_x(c, p->x_to));
		fprintf(c->f, "v%.1f", 0.6 * PICTURE_ROW);
		picture_command(c, 'H', picture_x(c, p->x));
		fprintf(c->f, "z\"><title>%s to %s</title></path>\n",
			plot_value_text(p->x, PLOT_TIME, a),
			plot_value_text(p->x_to, PLOT_TIME, b));
	}
	fputs("</g>\n", c->f);
}

/* From 0 to 1; where all values are equal 1. */
static double shade(const struct picture *c, double value)
{
	const struct plot_limits *l = &c->value;

	if (!(l->most > l->least) && c->plot->kind->log_value)
		return 1;
	if (c->plot->kind->log_value)
		return log(value / l->least) / log(l->most / l->least);
	return l->most > 0 ? value / l->most : 0;
}

static const struct {
	const char *class, *word; /* in the legend; NULL: none */
} tones[PLOT_TONES] = {
	[PLOT_SHADE] = { "cell", NULL },	[PLOT_PLAIN] = { "cell", NULL },
	[PLOT_BETTER] = { "better", "better" }, [PLOT_WORSE] = { "worse", "worse" },
	[PLOT_CHANGED] = { "cell", "real" },
};

/* A number has enough contrast on each shade: the strongest is weak. */
static double opacity(const struct picture *c, double value, enum plot_tone tone)
{
	if (tone != PLOT_SHADE)
		return tone == PLOT_PLAIN ? 0 : 0.3;
	return picture_has_numbers(c->plot) ? 0.04 + 0.4 * shade(c, value) :
					      0.12 + 0.88 * shade(c, value);
}

static void put_cell_title(const struct picture *c, const struct plot_point *p)
{
	const enum plot_unit unit = c->plot->kind->y.unit;
	char a[PLOT_LABEL_SIZE], b[PLOT_LABEL_SIZE];

	fputs("<title>", c->f);
	page_escape(c->f, p->title ? p->title : plot_value_text(p->value, c->plot->kind->value, a));
	if (!picture_has_numbers(c->plot))
		fprintf(c->f, ", %s to %s", plot_value_text(p->y, unit, a),
			plot_value_text(p->y_to, unit, b));
	fputs("</title>", c->f);
}

static void put_cell(const struct picture *c, const struct plot_point *p)
{
	const double x = picture_x(c, p->x), y = picture_y(c, p->y_to);
	const double width = picture_x(c, p->x_to) - x, height = picture_y(c, p->y) - y;
	char text[PLOT_LABEL_SIZE];

	fprintf(c->f,
		"<rect class=\"%s\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" "
		"fill-opacity=\"%.2f\">",
		tones[p->tone].class, x, y, width, height, opacity(c, p->value, p->tone));
	put_cell_title(c, p);
	fputs("</rect>\n", c->f);
	if (picture_has_numbers(c->plot))
		picture_text(c, x + width / 2, y + height / 2 + 4, "middle", "number",
			     p->text ? p->text :
				       plot_value_text(p->value, c->plot->kind->value, text));
}

static void shade_text(const struct picture *c, double value, char text[PLOT_LABEL_SIZE])
{
	if (c->plot->kind->value == PLOT_PERCENT)
		snprintf(text, PLOT_LABEL_SIZE, "%.2g %%", value);
	else
		plot_value_text(value, c->plot->kind->value, text);
}

/* A legend of the shades: the least and the greatest value, and steps between them. */
static void put_shades(const struct picture *c)
{
	const double y = c->height - 6, wide = 18;
	const struct plot_limits *l = &c->value;
	const bool log_value = c->plot->kind->log_value;
	double x = PICTURE_EDGE;
	char text[PLOT_LABEL_SIZE];

	shade_text(c, log_value ? l->least : 0, text);
	picture_text(c, x, y, "start", "", text);
	x += PICTURE_LETTER * (double)(picture_letters(text) + 1);
	for (int i = 0; i < 5; i++, x += wide) {
		const double value = log_value ? l->least * pow(l->most / l->least, i / 4.0) :
						 l->most * i / 4;

		fprintf(c->f,
			"<rect class=\"cell\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"12\" "
			"fill-opacity=\"%.2f\"/>\n",
			x, y - 10, wide, opacity(c, value, PLOT_SHADE));
	}
	shade_text(c, l->most, text);
	picture_text(c, x + PICTURE_LETTER, y, "start", "", text);
}

/* A legend of the colours of changes that there are. */
static void put_tones(const struct picture *c)
{
	const double y = c->height - 6, wide = 18;
	bool has[PLOT_TONES] = { false };
	double x = PICTURE_EDGE;

	for (size_t k = 0; k < c->plot->series[0].n; k++)
		has[c->plot->series[0].points[k].tone] = true;
	for (enum plot_tone tone = 0; tone < PLOT_TONES; tone++) {
		if (!has[tone] || !tones[tone].word)
			continue;
		fprintf(c->f,
			"<rect class=\"%s\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"12\" "
			"fill-opacity=\"%.2f\"/>\n",
			tones[tone].class, x, y - 10, wide, opacity(c, 0, tone));
		x += wide + PICTURE_LETTER;
		picture_text(c, x, y, "start", "", tones[tone].word);
		x += PICTURE_LETTER * (double)(picture_letters(tones[tone].word) + 2);
	}
	if (has[PLOT_PLAIN])
		picture_text(c, x, y, "start", "", "in brackets: not real");
}

void picture_cells(const struct picture *c)
{
	for (size_t k = 0; k < c->plot->series[0].n; k++)
		put_cell(c, &c->plot->series[0].points[k]);
	if (c->plot->kind->value == PLOT_CHANGE)
		put_tones(c);
	else
		put_shades(c);
}
