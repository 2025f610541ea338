/*
 * The page of xdd report: its frame, and the order of its parts. Called by the command.
 */
#include "xdd/report/page.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "config.h"
#include "report/page/page.h"
#include "xdd/base/log.h"

#define TITLE_BYTES 512

static void put_head(struct page *p, const struct compare_run *runs, size_t n)
{
	page_put(p, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
		    "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
		    /* The browser would refuse a script or a request, should there be one. */
		    "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
		    "style-src 'unsafe-inline'; img-src data:\">\n<title>xdd report: ");
	page_text(p, runs[0].path);
	if (n > 1)
		page_put(p, " and %zu more", n - 1);
	page_put(p,
		 "</title>\n<style>\n%s</style>\n</head>\n<body>\n<header>\n<h1>xdd report</h1>\n",
		 page_style);
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
		page_text(p, runs[i].path);
		page_put(p, "</a></li>\n");
	}
	page_put(p, "</ul>\n</nav>\n");
}

static void put_document(struct page *p, const struct compare_run *run, size_t number)
{
	char title[TITLE_BYTES];

	page_put(p, "<article id=\"d%zu\" aria-label=\"", number);
	page_text(p, run->path);
	page_put(p, "\">\n");
	snprintf(title, sizeof(title), "%s: %s", run->name, run->path);
	page_section(p, 2, title);
	page_summary(p, run);
	page_section_end(p);
	if (compare_is_sweep(run)) {
		if (page_has_curve(run))
			page_curve(p, run);
		page_points(p, run);
		if (!page_has_curve(run))
			page_lines(p, run);
	} else {
		page_times(p, run);
		page_latency(p, run);
		page_targets(p, run);
	}
	page_environment(p, run);
	page_put(p, "</article>\n");
}

/* The text, with the pictures in their places. */
static void put_all(FILE *f, const struct page *p)
{
	const struct plots *plots = &p->plots;
	size_t at = 0;

	for (size_t i = 0; i < plots->n; i++) {
		const struct plot *plot = plots->list[i];

		fwrite(p->text.text + at, 1, plot->at - at, f);
		at = plot->at;
		if (plot->svg) {
			fputs("<div class=\"plot\" role=\"region\" tabindex=\"0\" aria-label=\"Plot\">\n",
			      f);
			plot_write_svg(f, plot, i + 1);
			fputs("</div>\n", f);
		} else if (plot_is_drawn(plot)) {
			fprintf(f,
				"<p class=\"missing\">The plot is missing: %s. Its values are in the "
				"table.</p>\n",
				plots->why ? plots->why : "gnuplot did not draw it");
		}
	}
	fwrite(p->text.text + at, 1, p->text.size - at, f);
}

static void put_page(struct page *p, const struct compare_run *runs, size_t n)
{
	put_head(p, runs, n);
	put_contents(p, runs, n);
	page_put(p, "<main>\n");
	if (n == 2)
		page_difference(p, runs);
	for (size_t i = 0; i < n; i++)
		put_document(p, &runs[i], i + 1);
	page_put(p, "</main>\n</body>\n</html>\n");
}

int page_make(struct page **page, const struct compare_run *runs, size_t n, const char *axis,
	      bool plots)
{
	struct page *p = calloc(1, sizeof(*p));
	int err;

	*page = NULL;
	if (!p)
		return -ENOMEM;
	p->axis = axis;
	p->f = memstream_open(&p->text);
	if (p->f)
		put_page(p, runs, n);
	err = memstream_close(&p->text);
	for (size_t i = 0; i < p->plots.n; i++)
		p->incomplete |= p->plots.list[i]->failed;
	if (!err && p->incomplete)
		err = -ENOMEM;
	if (err) {
		page_free(p);
		return err;
	}
	if (plots)
		plots_draw(&p->plots);
	else
		p->plots.why = "-noplots";
	if (plots && p->plots.why)
		log_warning("report: the page has no plots: %s", p->plots.why);
	*page = p;
	return 0;
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
