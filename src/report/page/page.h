/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Parts of the page of xdd report. Private to src/report; one thread.
 *
 * Each part writes elements to the page; where memory is short, the program ends. It shows a value
 * as unknown that a document lacks, or that is not as it should be.
 */
#ifndef XDD_REPORT_PAGE_PAGE_H
#define XDD_REPORT_PAGE_PAGE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "report/page/plot.h"
#include "xdd/base/memory.h"
#include "xdd/report/compare.h"

/* Rows of a table; more are counted, and not shown. */
#define PAGE_MAX_ROWS 400

struct page_cell {
	const char *text;
	bool is_text; /* not a figure */
};

/* The table that is being written: its columns are known when it ends. */
struct page_grid {
	struct arena *texts;
	const char *caption;
	const char **heads;
	bool *shown;	       /* columns with a value in a row, and the first */
	size_t columns, at, n; /* of heads, of cells of the row so far, of all cells */
	struct page_cell *cells;
};

struct page {
	struct memstream text;
	FILE *f;      /* of the text */
	unsigned ids; /* so far: elements have the ids x1, x2 and so on */
	struct page_grid grid;
	struct plots plots;
	bool draws;	  /* the plots */
	const char *axis; /* along x in lines and grids of sweeps that have it; NULL: any */
};

/* ---- page.c ---- */

/* The text as part of an element or of an attribute in quotes. NULL is an empty text. */
void page_escape(FILE *f, const char *text);
void page_text(struct page *p, const char *text);

/* Markup of the program, and numbers. No text of a document. */
void page_put(struct page *p, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* A paragraph; the format is the program's, and the whole is escaped. */
void page_line(struct page *p, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* As page_line(), as an element of a list. */
void page_item(struct page *p, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* A section with its heading, of level 2 or 3. */
void page_section(struct page *p, int level, const char *title);
void page_section_end(struct page *p);

/* A paragraph that names what the document lacks, and the option that adds it. */
void page_missing(struct page *p, const char *what, const char *option);

/*
 * A table in a box of its own, in which it scrolls. `heads` ends with NULL. Rows begin with a head;
 * page_cell() adds a text, page_number() a figure. The head of a column of texts begins with
 * PAGE_TEXT_HEAD. Columns without a value in any row are left out. Where a window has no room for
 * all columns, those at the end are folded, and before them those with PAGE_FOLD_HEAD, which comes
 * before PAGE_TEXT_HEAD.
 */
#define PAGE_TEXT_HEAD "|"
#define PAGE_FOLD_HEAD "~"
void page_table(struct page *p, const char *caption, const char *const *heads);
void page_row(struct page *p, const char *head);
void page_cell(struct page *p, const char *text);
void page_number(struct page *p, const char *text);
void page_row_end(struct page *p);
void page_table_end(struct page *p, size_t left_out);

/*
 * A figure: plots, and a table with the same values. page_plot() adds a plot here; it may get its
 * data later.
 */
void page_figure(struct page *p, const char *caption);
struct plot *page_plot(struct page *p, const struct compare_run *run, enum plot_id id);
void page_figure_end(struct page *p);

/* Cells of a figure: "412 MB/s", "103 k/s", "1.94 ms", "67.1 MB", "12". Unknown: "-". */
void page_figure_cell(struct page *p, enum pass_figure figure, double value);
void page_time_cell(struct page *p, double ns);
void page_bytes_cell(struct page *p, double bytes);
void page_count_cell(struct page *p, double n);

/* The headings of figures, from heads[at] on. Returns where the next heading goes. */
size_t page_figure_heads(const char **heads, size_t at, const enum pass_figure *figures, size_t n);

/*
 * The name of a target in `buf`: "target 3, data", or "all targets" for DOCUMENT_ALL. It has its
 * directories if another target differs in them only.
 */
#define PAGE_NAME_SIZE 96
const char *page_target(const struct document *d, int64_t target, char *buf);

/* As page_target(), in a plot: "3: data", or "all". */
const char *page_short_target(const struct document *d, int64_t target, char *buf);

/* The name of one of several documents, in a plot: "a: before.json". */
const char *page_document(const struct compare_run *run, char *buf);

/*
 * The figures of a result, which may be NULL; to be freed by figures_free() in any case. False:
 * they are not known, and empty.
 */
bool page_figures(const struct document_result *r, struct figures *f);

/* Half of the interval of the mean, in percent of it; NAN: not known. */
double page_interval_percent(const struct document_figure *f);

/* The script zoom.js without its comments; make generates it. */
extern const char page_script[];

/*
 * page_run.c: the share of operations that took at least each time, as a line of a plot; nothing
 * without operations.
 */
void page_distribution_line(struct plot *plot, const struct histogram_sum *times,
			    const char *title);

/* The service times of a direction, or of flushes. */
const struct histogram_sum *page_service(const struct figures *f, unsigned dir);

/* A percentile of them; NAN: not known. */
double page_percentile(const struct figures *f, unsigned dir, uint32_t percent);

/* ---- parts: of two documents, and each of one ---- */
void page_difference(struct page *p, const struct compare_run *runs);
void page_times(struct page *p, const struct compare_run *run);
void page_answer(struct page *p, const struct compare_run *run);

/*
 * The changes from a to b, over all targets, of the whole curve, or of all `points` of a sweep; of
 * at least one subject. Only results of one plan are called good or bad by colour.
 */
void page_answer_change(struct page *p, const struct compare_subjects *subjects,
			const struct compare_run *runs, bool points, bool same_plan);

/* The figure of a goal: "p99" of "response_p99", or "mean". */
const char *page_goal_figure(const char *name);

/* "better" or "worse": what a ratio of b to a means for a figure. */
const char *page_direction(enum pass_figure figure, double ratio);

void page_summary(struct page *p, const struct compare_run *run);
void page_latency(struct page *p, const struct compare_run *run);
void page_targets(struct page *p, const struct compare_run *run);
void page_environment(struct page *p, const struct compare_run *run);
void page_lines(struct page *p, const struct compare_run *run);

/*
 * Two sweeps of the same lists: both in one plot, or the changes in a grid where they vary several
 * lists. Only results of one plan are called good or bad by colour.
 */
void page_sweeps(struct page *p, const struct compare_run *runs,
		 const struct compare_subjects *subjects, bool same_plan);
void page_curve(struct page *p, const struct compare_run *run);

/* The plot of two curves, in a figure. */
void page_curves(struct page *p, const struct compare_run *runs);
void page_points(struct page *p, const struct compare_run *run);

#endif
