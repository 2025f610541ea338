/*
 * The page of xdd report: documents of -jsonout and of xdd sweep as one file of HTML. One thread.
 */
#ifndef XDD_REPORT_PAGE_H
#define XDD_REPORT_PAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "xdd/report/compare.h"

/* Documents of one page. */
#define PAGE_MAX_DOCUMENTS 100

struct page;

/*
 * Make the page of `n` documents, which compare_load() has checked. The page needs nothing else: it
 * has no scripts, and refers to no other file. Texts of the documents are escaped. With `plots`
 * gnuplot draws them; where it cannot, the page says so, and there is a warning. `axis` is the
 * option along x in the lines and grids of sweeps that vary it; NULL: that with the most values.
 * Returns 0 with a page, to be freed, or -ENOMEM.
 */
int page_make(struct page **page, const struct compare_run *runs, size_t n, const char *axis,
	      bool plots);

/* True if a document is of a sweep that varies this option, not a curve. */
bool page_has_axis(const struct compare_run *run, const char *axis);
void page_free(struct page *page);

/* Write it. Returns 0 or -errno. */
int page_write(const struct page *page, FILE *f);

/* True if page_save_plots() would write to `file`. */
bool page_plots_replace(const struct page *page, const char *directory, const char *file);

/*
 * Leave data, script, SVG and PNG of each plot in `directory`, which is created where it is
 * missing. Returns 0, or -errno after one line of log_error().
 */
int page_save_plots(const struct page *page, const char *directory);

#endif
