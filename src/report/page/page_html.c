/*
 * Elements of the page; see the header. Called by all its parts.
 */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "report/page/page.h"
#include "xdd/base/text.h"

#define LINE_BYTES 4096

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

void page_text(struct page *p, const char *text)
{
	char *shown;

	if (!text || !*text)
		return;
	if (printable_is_safe(text)) {
		put_escaped(p->f, text);
		return;
	}
	shown = printable_dup(text, false);
	if (shown)
		put_escaped(p->f, shown);
	else
		p->incomplete = true;
	free(shown);
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

void page_table(struct page *p, const char *caption, const char *const *heads)
{
	const unsigned id = ++p->ids;

	page_put(p,
		 "<div class=\"box\" role=\"region\" tabindex=\"0\" aria-labelledby=\"x%u\">\n"
		 "<table>\n<caption id=\"x%u\">",
		 id, id);
	page_text(p, caption);
	page_put(p, "</caption>\n<thead><tr>");
	for (; *heads; heads++) {
		const bool text = **heads == PAGE_TEXT_HEAD[0];

		page_put(p, "<th scope=\"col\"%s>", text ? " class=\"t\"" : "");
		page_text(p, *heads + text);
		page_put(p, "</th>");
	}
	page_put(p, "</tr></thead>\n<tbody>\n");
}

void page_row(struct page *p, const char *head)
{
	page_put(p, "<tr><th scope=\"row\">");
	page_text(p, head);
	page_put(p, "</th>");
}

void page_cell(struct page *p, const char *text)
{
	page_put(p, "<td class=\"t\">");
	page_text(p, text);
	page_put(p, "</td>");
}

void page_number(struct page *p, const char *text)
{
	page_put(p, "<td>");
	page_text(p, text);
	page_put(p, "</td>");
}

void page_row_end(struct page *p)
{
	page_put(p, "</tr>\n");
}

void page_table_end(struct page *p, size_t left_out)
{
	page_put(p, "</tbody>\n</table>\n</div>\n");
	if (left_out)
		page_line(p, "%zu more rows are not shown.", left_out);
}

void page_figure(struct page *p, const char *caption)
{
	const unsigned id = ++p->ids;

	page_put(p, "<figure aria-labelledby=\"x%u\">\n<figcaption id=\"x%u\">", id, id);
	page_text(p, caption);
	page_put(p, "</figcaption>\n");
}

struct plot *page_plot(struct page *p, const struct compare_run *run, enum plot_kind kind,
		       const char *name, const char *title)
{
	char full[PLOT_LABEL_SIZE];
	struct plot *plot;

	snprintf(full, sizeof(full), "%s-%s", run->name, name);
	plot = plots_add(&p->plots, kind, full);
	fflush(p->f);
	if (plot) {
		plot->title = title;
		plot->at = p->text.size;
	} else {
		p->incomplete = true;
	}
	return plot;
}

void page_figure_end(struct page *p)
{
	page_put(p, "</figure>\n");
}
