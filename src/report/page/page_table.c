/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tables of the page, which fold to the columns that fit. Called by page.c, and by all parts of the
 * page.
 *
 * The widths of columns are estimated by their letters, since no script measures them. A style that
 * depends on the width of the table hides those that have no room; a box to tick shows them.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/page/page.h"

void page_table(struct page *p, const char *caption, const char *const *heads)
{
	struct page_grid *g = &p->grid;

	*g = (struct page_grid){ .texts = xarena_new() };
	while (heads[g->columns])
		g->columns++;
	g->caption = xarena_strdup(g->texts, caption);
	g->heads = xarena_alloc(g->texts, g->columns * sizeof(*g->heads));
	g->shown = xarena_alloc(g->texts, g->columns * sizeof(*g->shown));
	for (size_t i = 0; i < g->columns; i++) {
		g->heads[i] = xarena_strdup(g->texts, heads[i]);
		g->shown[i] = i == 0;
	}
}

/* Cells after the last column are ignored: parts write as many as they have heads. */
static void grid_add(struct page *p, const char *text, bool words)
{
	struct page_grid *g = &p->grid;

	if (g->at >= g->columns)
		return;
	g->cells = xarena_room(g->texts, g->cells, g->n, sizeof(*g->cells));
	g->cells[g->n++] = (struct page_cell){ xarena_strdup(g->texts, text ? text : ""), words };
	if (text && *text && strcmp(text, "-") != 0)
		g->shown[g->at] = true;
	g->at++;
}

void page_row(struct page *p, const char *head)
{
	p->grid.at = 0;
	grid_add(p, head, true);
}

void page_cell(struct page *p, const char *text)
{
	grid_add(p, text, true);
}

void page_number(struct page *p, const char *text)
{
	grid_add(p, text, false);
}

void page_row_end(struct page *p)
{
	while (p->grid.at < p->grid.columns)
		grid_add(p, "", true);
}

/* ---- columns that fit ---- */

/* Widths in em: of a letter, of one in a head, of the space beside a cell. */
#define LETTER_WIDTH 0.63
#define HEAD_WIDTH 0.7
#define CELL_SPACE 1.25
#define WORD_MOST 10.0 /* longer words of texts are broken */
#define TEXT_MOST 40.0

/* Tables that are narrower than NARROW have smaller letters, and less space beside them. */
#define NARROW 28
#define NARROW_LETTERS 0.8125
#define NARROW_SPACE 0.65

/* Folded columns are hidden up to a width of the table in rem. Below the first one they scroll. */
static const unsigned fold_steps[] = { 22, NARROW, 36, 46, 60, 78, 98 };
#define FOLD_STEPS (sizeof(fold_steps) / sizeof(fold_steps[0]))
#define FOLD_LEAST 19

/* The width of a column: of all of its texts on one line, and at least. Without the space. */
struct grid_width {
	double whole, least;
	unsigned fold; /* how many of the steps hide it */
};

static bool is_folded(const char *head)
{
	return *head == PAGE_FOLD_HEAD[0];
}

static bool is_text(const char *head)
{
	return head[is_folded(head)] == PAGE_TEXT_HEAD[0];
}

static const char *head_text(const char *head)
{
	return head + is_folded(head) + is_text(head);
}

static size_t longest_word(const char *text)
{
	size_t most = 0;

	while (*text) {
		const size_t n = strcspn(text, " ");

		most = n > most ? n : most;
		text += n + (text[n] != '\0');
	}
	return most;
}

static void width_add(struct grid_width *w, const char *text, bool breaks, double letter)
{
	const double whole = letter * (double)strlen(text);

	w->whole = fmax(w->whole, breaks ? fmin(whole, TEXT_MOST) : whole);
	w->least = fmax(w->least,
			breaks ? fmin(letter * (double)longest_word(text), WORD_MOST) : whole);
}

/* True if `n` columns have room where so many steps hide a column. `bar` is taken from the room. */
static bool fits(double sum, size_t n, unsigned fold, double bar)
{
	const double room = (fold ? fold_steps[fold - 1] : FOLD_LEAST) - bar;

	if (fold_steps[fold] <= NARROW)
		return NARROW_LETTERS * sum + NARROW_SPACE * (double)n <= room;
	return sum + CELL_SPACE * (double)n <= room;
}

/* Tables with more rows may have a bar to scroll them, and say how many there are. */
#define MANY_ROWS 15
#define BAR_WIDTH 1.1

/* Columns are taken as long as there is room: those that are folded last first. */
static void grid_fold(const struct page_grid *g, struct grid_width *widths)
{
	const double bar = g->n / g->columns > MANY_ROWS ? BAR_WIDTH : 0;
	double sum = 0;
	size_t n = 0;

	for (int folded = 0; folded < 2; folded++) {
		for (size_t i = 0; i < g->columns; i++) {
			if (!g->shown[i] || is_folded(g->heads[i]) != folded)
				continue;
			sum += widths[i].least;
			n++;
			while (i && widths[i].fold < FOLD_STEPS &&
			       !fits(sum, n, widths[i].fold, bar))
				widths[i].fold++;
		}
	}
}

static struct grid_width *grid_measure(const struct page_grid *g)
{
	struct grid_width *widths = xcalloc(g->columns, sizeof(*widths));

	for (size_t i = 0; i < g->columns; i++)
		width_add(&widths[i], head_text(g->heads[i]), true, HEAD_WIDTH);
	for (size_t i = 0; i < g->n; i++)
		width_add(&widths[i % g->columns], g->cells[i].text, g->cells[i].is_text,
			  LETTER_WIDTH);
	grid_fold(g, widths);
	return widths;
}

void page_write_fold_style(FILE *f)
{
	fprintf(f,
		"@media screen{@container (max-width:%drem){table{font-size:%grem}"
		"th,td{padding:.2rem %gem}}\n",
		NARROW, NARROW_LETTERS, NARROW_SPACE / 2 / NARROW_LETTERS);
	for (size_t i = 0; i < FOLD_STEPS; i++)
		fprintf(f,
			"@container (max-width:%urem){.all:not(:checked)~.box .f%zu{display:none}"
			".all.m%zu,.more.m%zu{display:inline-block}}\n",
			fold_steps[i], i + 1, i + 1, i + 1);
	fputs("}\n", f);
}

/* ---- writing a table ---- */

static void grid_put_class(struct page *p, bool text, unsigned fold)
{
	if (text && fold)
		page_put(p, " class=\"t f%u\"", fold);
	else if (fold)
		page_put(p, " class=\"f%u\"", fold);
	else if (text)
		page_put(p, " class=\"t\"");
}

static void grid_put_heads(struct page *p, const struct page_grid *g,
			   const struct grid_width *widths)
{
	page_put(p, "<thead><tr>");
	for (size_t i = 0; i < g->columns; i++) {
		const bool text = i == 0 || is_text(g->heads[i]);

		if (!g->shown[i])
			continue;
		page_put(p, "<th scope=\"col\"");
		grid_put_class(p, text, widths[i].fold);
		/* A word is not broken because others have a long one. */
		if (text)
			page_put(p, " style=\"min-width:%.4gem\"",
				 widths[i].least + NARROW_SPACE / NARROW_LETTERS);
		page_put(p, ">");
		page_text(p, head_text(g->heads[i]));
		page_put(p, "</th>");
	}
	page_put(p, "</tr></thead>\n<tbody>\n");
}

static void grid_put_row(struct page *p, const struct page_grid *g, const struct page_cell *row,
			 const struct grid_width *widths)
{
	page_put(p, "<tr><th scope=\"row\">");
	page_text(p, row[0].text);
	page_put(p, "</th>");
	for (size_t i = 1; i < g->columns; i++) {
		if (!g->shown[i])
			continue;
		page_put(p, "<td");
		grid_put_class(p, row[i].is_text, widths[i].fold);
		page_put(p, ">");
		page_text(p, row[i].text);
		page_put(p, "</td>");
	}
	page_put(p, "</tr>\n");
}

/* A box to tick where columns are folded, which shows them. */
static void grid_put_switch(struct page *p, const struct page_grid *g,
			    const struct grid_width *widths)
{
	const unsigned id = p->ids + 1;
	unsigned fold = 0;
	size_t n = 0;

	for (size_t i = 0; i < g->columns; i++) {
		n += g->shown[i];
		if (g->shown[i] && widths[i].fold > fold)
			fold = widths[i].fold;
	}
	if (!fold)
		return;
	p->ids++;
	page_put(p,
		 "<input type=\"checkbox\" class=\"all m%u\" id=\"x%u\"/>"
		 "<label class=\"more m%u\" for=\"x%u\">all %zu columns</label>\n",
		 fold, id, fold, id, n);
}

static void grid_put_caption(struct page *p, const struct page_grid *g)
{
	const size_t rows = g->n / g->columns;
	const unsigned id = ++p->ids;

	page_put(p,
		 "<div class=\"box\" role=\"region\" tabindex=\"0\" aria-labelledby=\"x%u\">\n"
		 "<table>\n<caption id=\"x%u\">",
		 id, id);
	page_text(p, g->caption);
	if (rows > MANY_ROWS)
		page_put(p, " (%zu rows)", rows);
	page_put(p, "</caption>\n");
}

void page_table_end(struct page *p, size_t left_out)
{
	struct page_grid *g = &p->grid;
	struct grid_width *widths;
	double whole = 0;

	for (size_t i = 0; i < g->columns && !g->n; i++)
		g->shown[i] = true;
	widths = grid_measure(g);
	for (size_t i = 0; i < g->columns; i++)
		whole += g->shown[i] ? widths[i].whole + CELL_SPACE : 0;
	page_put(p, "<div class=\"table\" style=\"--w:%.4grem\">\n", whole);
	grid_put_switch(p, g, widths);
	grid_put_caption(p, g);
	grid_put_heads(p, g, widths);
	for (size_t i = 0; i < g->n; i += g->columns)
		grid_put_row(p, g, &g->cells[i], widths);
	page_put(p, "</tbody>\n</table>\n</div>\n</div>\n");
	free(widths);
	arena_free(g->texts);
	*g = (struct page_grid){ .n = 0 };
	if (left_out)
		page_line(p, "%zu more rows are not shown.", left_out);
}
