/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The page of xdd report: its frame, the order of its parts, elements, values of documents, and
 * the style; see the header. Called by the command, elements and values by all its parts.
 */
#include "report/page/page.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "config.h"
#include "xdd/base/text.h"
#include "xdd/report/compare.h"

/*
 * The style of the page: for screens of any width, light and dark, and for paper.
 *
 * Colours stand in the two blocks of variables only, where a test computes their contrast. Nothing
 * depends on a colour alone.
 */

static const char page_style[] =
	":root{color-scheme:light dark;"
	"--back:#ffffff;--text:#1b1f24;--soft:#4a5360;--line:#b9c0c9;--head:#eef1f5;"
	"--link:#0b4fa8;--good:#14602a;--bad:#a11616;--note:#7a4300}\n"
	"@media screen and (prefers-color-scheme:dark){:root{"
	"--back:#14171b;--text:#e6e9ed;--soft:#aeb6c0;--line:#4b535d;--head:#22272e;"
	"--link:#8ab8ff;--good:#7fd394;--bad:#ff9a94;--note:#f0b865}}\n"
	"*{box-sizing:border-box}\n"
	"body{margin:0 auto;max-width:110rem;padding:1rem;background:var(--back);color:var(--text);"
	"font:1rem/1.5 system-ui,sans-serif;overflow-wrap:anywhere}\n"
	"h1{font-size:1.6rem;line-height:1.25;margin:.5rem 0}\n"
	"h2{font-size:1.3rem;margin:2rem 0 .5rem;border-bottom:1px solid var(--line)}\n"
	"h3{font-size:1.1rem;margin:1.5rem 0 .5rem}\n"
	"p,ul{margin:.5rem 0;max-width:60rem}\n"
	".answer{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,11rem),1fr));"
	"gap:.75rem;margin:1rem 0}\n"
	".answer div{border:1px solid var(--line);border-radius:.3rem;padding:.5rem .75rem}\n"
	".answer dt,.answer span{color:var(--soft);font-size:.9rem;line-height:1.3}\n"
	".answer .good strong{color:var(--good)}.answer .bad strong{color:var(--bad)}"
	".answer .note strong{color:var(--note)}\n"
	".answer dd{margin:0}.answer strong{display:block;font-size:1.5rem;line-height:1.3;text-wrap:balance}"
	".answer .words strong{font-size:1.1rem}\n"
	"a{color:var(--link)}\n"
	"code{font-family:ui-monospace,monospace;font-size:.9em}\n"
	".soft,caption,figcaption{color:var(--soft)}\n"
	".good strong{color:var(--good)}.bad strong{color:var(--bad)}"
	".note strong,.missing{color:var(--note)}\n"
	".skip{position:absolute;left:-99rem}.skip:focus{position:static}\n"
	/* --w is the width that a table needs; one that needs little does not get much more. */
	".table{container-type:inline-size;max-width:max(20rem,calc(1.4*var(--w)));margin:.75rem 0}\n"
	".all,.more{display:none}.more{padding:.2rem .4rem;font-size:.9rem}\n"
	/* A shadow at each edge beyond which the table goes on; it moves away at the end. */
	".box{overflow:auto;max-width:100%;max-height:min(40rem,85vh);"
	"border:1px solid var(--line);background:"
	"linear-gradient(90deg,var(--back) 1rem,transparent) left/2rem 100% local,"
	"linear-gradient(270deg,var(--back) 1rem,transparent) right/2rem 100% local,"
	"linear-gradient(var(--back) 1rem,transparent) top/100% 2rem local,"
	"linear-gradient(0deg,var(--back) 1rem,transparent) bottom/100% 2rem local,"
	"linear-gradient(90deg,var(--line),transparent) left/1rem 100%,"
	"linear-gradient(270deg,var(--line),transparent) right/1rem 100%,"
	"linear-gradient(var(--line),transparent) top/100% 1rem,"
	"linear-gradient(0deg,var(--line),transparent) bottom/100% 1rem,var(--back);"
	"background-repeat:no-repeat}\n"
	"svg:focus{outline:none}a:focus-visible,.box:focus-visible,.all:focus-visible,"
	".zoom button:focus-visible,svg:focus-visible{outline:3px solid var(--link)}\n"
	"table{border-collapse:collapse;font-variant-numeric:tabular-nums;min-width:100%}\n"
	"caption{text-align:left;padding:.4rem .6rem}\n"
	"th,td{padding:.2rem .6rem;text-align:right;white-space:nowrap;"
	"border-top:1px solid var(--line)}\n"
	"th[scope=row],.t{text-align:left;white-space:normal;max-width:40rem}\n"
	"thead th{background:var(--head);position:sticky;top:0}\n"
	"th{font-weight:600}th[scope=col]{white-space:normal;overflow-wrap:break-word}th[scope=row]{font-weight:500}\n"
	/* The table of a single plot is beside it where there is room. */
	"figure{margin:1rem 0;display:flex;flex-wrap:wrap;gap:.75rem 1rem;align-items:flex-start}\n"
	"figcaption,.plots,figure>p{flex:1 1 100%;margin:0}"
	"figcaption{padding-right:max(0px,calc(100% - 60rem))}\n"
	"figure .table{flex:1 1 min(100%,var(--w));margin:0}\n"
	".plots{display:grid;gap:1rem;grid-template-columns:repeat(auto-fit,minmax(min(100%,22rem),1fr))}\n"
	".plots.one{display:block;flex:0 1 30rem}.plots.one .wide{max-width:none}\n"
	".plots.broad{flex:0 1 60rem}\n"
	".plot{max-width:30rem}.wide{grid-column:1/-1;max-width:60rem}\n"
	".plot svg{display:block;width:100%;height:auto}\n"
	/* The script adds controls; its plots take the focus and horizontal drags. */
	".zoom{flex:1 1 100%;display:flex;flex-wrap:wrap;gap:.25rem .5rem;align-items:baseline}"
	".zoom p{flex:1 1 20rem;margin:0;color:var(--soft)}"
	".zoom button{font:inherit;font-size:.9rem;padding:.1rem .6rem;background:var(--head);"
	"color:var(--text);border:1px solid var(--line);border-radius:.3rem}\n"
	"svg[tabindex]{cursor:crosshair;touch-action:pan-y pinch-zoom;-webkit-user-select:none;user-select:none}\n"
	"@media print{body{max-width:none;padding:0 1px;font-size:10pt}"
	".box{max-height:none;overflow:visible;border:0;background:none}nav,.skip,.zoom{display:none}"
	"thead th{position:static}table{font-size:8pt}"
	"th,td{white-space:normal;overflow-wrap:normal;padding:.1rem .2rem;min-width:0!important}"
	"th[scope=row],.t{overflow-wrap:anywhere}h2,h3,caption,thead,figcaption{break-after:avoid}"
	".table{max-width:max(12rem,calc(.9*var(--w)));container-type:normal}figure{display:block}.plots{grid-template-columns:1fr 1fr}"
	"figcaption,.plot,svg,tr,.answer,.answer div{break-inside:avoid}}\n";

/* SHA-256 of page_script, in base64; tests/func/report.py computes it. */
#define SCRIPT_HASH "q683LH/UlgW+e25imFAANuQsNd8O+q9erTsg3qKVaco="

#define LINE_BYTES 4096
#define MAX_NAMES 1000 /* of targets that are compared */

static void put_escaped(FILE *f, const char *text)
{
	for (; *text; text++) {
		switch (*text) {
		case '&':
			fputs("&amp;", f);
			break;
		case '<':
			fputs("&lt;", f);
			break;
		case '>':
			fputs("&gt;", f);
			break;
		case '"':
			fputs("&quot;", f);
			break;
		case '\'':
			fputs("&#39;", f);
			break;
		default:
			fputc(*text, f);
		}
	}
}

void page_escape(FILE *f, const char *text)
{
	char *shown;

	if (!text || !*text)
		return;
	if (printable_is_safe(text)) {
		put_escaped(f, text);
		return;
	}
	shown = xneed(printable_dup(text, false));
	put_escaped(f, shown);
	free(shown);
}

void page_text(struct page *p, const char *text)
{
	page_escape(p->f, text);
}

void page_put(struct page *p, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vfprintf(p->f, fmt, ap);
	va_end(ap);
}

static void __attribute__((format(printf, 3, 0)))
put_element(struct page *p, const char *name, const char *fmt, va_list ap)
{
	char text[LINE_BYTES];

	vsnprintf(text, sizeof(text), fmt, ap);
	page_put(p, "<%s>", name);
	page_text(p, text);
	page_put(p, "</%s>\n", name);
}

void page_line(struct page *p, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	put_element(p, "p", fmt, ap);
	va_end(ap);
}

void page_item(struct page *p, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	put_element(p, "li", fmt, ap);
	va_end(ap);
}

void page_section(struct page *p, int level, const char *title)
{
	const unsigned id = ++p->ids;

	page_put(p, "<section aria-labelledby=\"x%u\">\n<h%d id=\"x%u\">", id, level, id);
	page_text(p, title);
	page_put(p, "</h%d>\n", level);
}

void page_section_end(struct page *p)
{
	page_put(p, "</section>\n");
}

void page_missing(struct page *p, const char *what, const char *option)
{
	page_put(p, "<p class=\"missing\">Missing: ");
	page_text(p, what);
	page_put(p, ". <code>");
	page_text(p, option);
	page_put(p, "</code> adds it.</p>\n");
}

void page_figure(struct page *p, const char *caption)
{
	const unsigned id = ++p->ids;

	page_put(p, "<figure aria-labelledby=\"x%u\">\n<figcaption id=\"x%u\">", id, id);
	page_text(p, caption);
	page_put(p, "</figcaption>\n");
}

struct plot *page_plot(struct page *p, const struct compare_run *run, enum plot_id id)
{
	struct plot *plot = plots_add(&p->plots, id, run->name);

	fflush(p->f);
	plot->at = p->text.size;
	return plot;
}

void page_figure_end(struct page *p)
{
	page_put(p, "</figure>\n");
}

void page_figure_cell(struct page *p, enum pass_figure figure, double value)
{
	char text[SCALED_SIZE];

	page_number(p, figure_text(figure, value, text));
}

size_t page_figure_heads(const char **heads, size_t at, const enum pass_figure *figures, size_t n)
{
	for (size_t i = 0; i < n; i++)
		heads[at++] = pass_figures[figures[i]].shown;
	return at;
}

void page_time_cell(struct page *p, double ns)
{
	char text[SCALED_SIZE];

	page_number(p, scaled_time(ns, text));
}

void page_bytes_cell(struct page *p, double bytes)
{
	char text[SCALED_SIZE];

	page_number(p, scaled_bytes(bytes, text));
}

void page_count_cell(struct page *p, double n)
{
	char text[32];

	if (isfinite(n))
		snprintf(text, sizeof(text), "%.15g", n);
	page_number(p, isfinite(n) ? text : "-");
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

/* The name without its directories, unless another target has it with others. */
static const char *target_name(const struct document *d, int64_t target)
{
	const char *path, *name;

	if ((uint64_t)target >= d->n_targets)
		return "";
	path = d->targets[target];
	name = base_name(path);
	for (size_t i = 0; i < d->n_targets && i < MAX_NAMES; i++) {
		if (strcmp(base_name(d->targets[i]), name) == 0 && strcmp(d->targets[i], path) != 0)
			return path;
	}
	return name;
}

const char *page_target(const struct document *d, int64_t target, char *buf)
{
	const char *name;

	if (target == DOCUMENT_ALL)
		return strcpy(buf, "all targets");
	name = target_name(d, target);
	snprintf(buf, PAGE_NAME_SIZE, "target %" PRId64 "%s%s", target, *name ? ", " : "", name);
	return buf;
}

const char *page_short_target(const struct document *d, int64_t target, char *buf)
{
	const char *name;

	if (target == DOCUMENT_ALL)
		return strcpy(buf, "all");
	name = target_name(d, target);
	snprintf(buf, PAGE_NAME_SIZE, "%" PRId64 "%s%s", target, *name ? ": " : "", name);
	return buf;
}

const char *page_document(const struct compare_run *run, char *buf)
{
	char label[PLOT_LABEL_SIZE];

	plot_label(label, base_name(run->doc.name));
	snprintf(buf, PAGE_NAME_SIZE, "%s: %s", run->name, label);
	return buf;
}

double page_interval_percent(const struct document_figure *f)
{
	return f->mean > 0 && f->high >= f->mean ? 100 * (f->high - f->mean) / f->mean : NAN;
}

bool page_figures(const struct document_result *r, struct figures *f)
{
	char why[DOCUMENT_WHY_SIZE];
	int err;

	*f = (struct figures){ .known = 0 };
	err = r ? document_figures(r, f, why) : -EBADMSG;
	if (!err)
		return true;
	if (err == -ENOMEM)
		memory_end();
	figures_free(f);
	*f = (struct figures){ .known = 0 };
	return false;
}

/*
 * ---- tables ----
 *
 * The widths of columns are estimated by their letters, since no script measures them. A style that
 * depends on the width of the table hides those that have no room; a box to tick shows them.
 */

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

/* The rules of style that fold tables. */
static void page_write_fold_style(FILE *f)
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

/* ---- the page ---- */

#define TITLE_BYTES 512

static void put_head(struct page *p, const struct compare_run *runs, size_t n)
{
	page_put(p, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
		    "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
		    /* The browser refuses all requests, and each script but ours. */
		    "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
		    "style-src 'unsafe-inline'; img-src data:; script-src 'sha256-" SCRIPT_HASH
		    "'\">\n<title>xdd report: ");
	page_text(p, runs[0].doc.name);
	if (n > 1)
		page_put(p, " and %zu more", n - 1);
	page_put(p, "</title>\n<style>\n%s", page_style);
	page_write_fold_style(p->f);
	plot_write_style(p->f);
	page_put(p, "</style>\n</head>\n<body>\n"
		    "<a class=\"skip\" href=\"#main\">Skip to the results</a>\n"
		    "<header>\n<h1>xdd report</h1>\n");
	page_put(p, "<p class=\"soft\">%zu document%s, read by xdd %s</p>\n</header>\n", n,
		 n == 1 ? "" : "s", PACKAGE_VERSION);
}

static void put_contents(struct page *p, const struct compare_run *runs, size_t n)
{
	if (n < 2)
		return;
	page_put(p, "<nav aria-label=\"Contents\">\n<ul>\n");
	for (size_t i = 0; i < n; i++) {
		page_put(p, "<li><a href=\"#d%zu\">%s: ", i + 1, runs[i].name);
		page_text(p, runs[i].doc.name);
		page_put(p, "</a></li>\n");
	}
	page_put(p, "</ul>\n</nav>\n");
}

static void put_document(struct page *p, const struct compare_run *run, size_t number)
{
	char title[TITLE_BYTES];

	page_put(p, "<article id=\"d%zu\" aria-label=\"", number);
	page_text(p, run->doc.name);
	page_put(p, "\">\n");
	snprintf(title, sizeof(title), "%s: %s", run->name, run->doc.name);
	page_section(p, 2, title);
	page_answer(p, run);
	if (run->doc.curved)
		page_curve(p, run);
	page_summary(p, run);
	page_section_end(p);
	if (run->doc.sweep) {
		if (!run->doc.curved)
			page_lines(p, run);
		page_points(p, run);
	} else {
		if (run->doc.combined)
			page_targets(p, run);
		page_times(p, run);
		page_latency(p, run);
		if (!run->doc.combined)
			page_targets(p, run);
	}
	page_environment(p, run);
	page_put(p, "</article>\n");
}

static void put_plot(FILE *f, const struct plot *plot, size_t number)
{
	fprintf(f, "<div class=\"plot%s\">\n", plot_is_wide(plot) ? " wide" : "");
	plot_write_svg(f, plot, number);
	fputs("</div>\n", f);
}

/* The pictures of one place, beside each other where there is room. */
static void put_plots(FILE *f, const struct page *p, size_t first, size_t end)
{
	const struct plot *only = NULL;
	size_t drawn = 0;

	for (size_t i = first; i < end; i++) {
		if (!plot_is_drawn(p->plots.list[i]))
			continue;
		only = p->plots.list[i];
		drawn++;
	}
	if (!drawn)
		return;
	if (!p->draws) {
		fputs("<p class=\"missing\">The plots are missing: -noplots. Their values are in the "
		      "tables.</p>\n",
		      f);
		return;
	}
	fprintf(f, "<div class=\"plots%s%s\">\n", drawn == 1 ? " one" : "",
		drawn == 1 && plot_is_wide(only) ? " broad" : "");
	for (size_t i = first; i < end; i++) {
		if (plot_is_drawn(p->plots.list[i]))
			put_plot(f, p->plots.list[i], i + 1);
	}
	fputs("</div>\n", f);
}

/* The text, with the pictures in their places. */
static void put_all(FILE *f, const struct page *p)
{
	const struct plots *plots = &p->plots;
	size_t at = 0, end;

	for (size_t i = 0; i < plots->n; i = end) {
		const size_t place = plots->list[i]->at;

		for (end = i + 1; end < plots->n && plots->list[end]->at == place; end++)
			;
		fwrite(p->text.text + at, 1, place - at, f);
		at = place;
		put_plots(f, p, i, end);
	}
	fwrite(p->text.text + at, 1, p->text.size - at, f);
}

static bool needs_script(const struct page *p)
{
	for (size_t i = 0; p->draws && i < p->plots.n; i++) {
		if (plot_zooms(p->plots.list[i]))
			return true;
	}
	return false;
}

static void put_page(struct page *p, const struct compare_run *runs, size_t n)
{
	put_head(p, runs, n);
	put_contents(p, runs, n);
	page_put(p, "<main id=\"main\">\n");
	if (n == 2)
		page_difference(p, runs);
	for (size_t i = 0; i < n; i++)
		put_document(p, &runs[i], i + 1);
	page_put(p, "</main>\n");
	if (needs_script(p))
		page_put(p, "<script>%s</script>\n", page_script);
	page_put(p, "</body>\n</html>\n");
}

struct page *page_make(const struct compare_run *runs, size_t n, const char *axis, bool plots)
{
	struct page *p = xcalloc(1, sizeof(*p));

	p->axis = axis;
	p->draws = plots;
	p->f = xmemstream_open(&p->text);
	put_page(p, runs, n);
	xmemstream_close(&p->text);
	return p;
}

void page_free(struct page *page)
{
	if (!page)
		return;
	plots_free(&page->plots);
	free(page->text.text);
	free(page);
}

int page_write(const struct page *page, FILE *f)
{
	errno = 0;
	put_all(f, page);
	if (!ferror(f) && fflush(f) == 0)
		return 0;
	return errno ? -errno : -EIO;
}

bool page_plots_replace(const struct page *page, const char *directory, const char *file)
{
	return plots_replace(&page->plots, directory, file);
}

int page_save_plots(const struct page *page, const char *directory)
{
	return plots_save(&page->plots, directory);
}
