/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Documents of runs and sweeps compared, and as a page.
 */
#ifndef XDD_REPORT_COMPARE_H
#define XDD_REPORT_COMPARE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "xdd/report/column.h"
#include "xdd/report/document.h"
#include "xdd/report/result.h"
#include "xdd/stat/stats.h"

struct page;

/*
 * The parts of xdd compare. One thread.
 */

/* One document. */
struct compare_run {
	char name[24];	     /* in the output: "a", or "a2" among several */
	struct document doc; /* loaded by the command */
};

/* The runs on one side, in the order of the command line. */
struct compare_side {
	const char *name; /* "a" or "b" */
	const struct compare_run *runs;
	size_t n;
};

enum compare_kind {
	COMPARE_TARGET, /* or a point of a sweep */
	COMPARE_LOOP,	/* a closed loop of a curve: service times */
	COMPARE_LOAD, /* a load of a curve: response times, since that is what its users wait for */
	COMPARE_CURVE, /* a whole curve: maximum and knee */
};

/*
 * The subject of a comparison: one target, or all of them together (-1), of runs or of a point; or
 * a whole curve.
 */
struct compare_subject {
	const char *name;
	const struct compare_side *a, *b;
	/* of each run of a, then of b; NULL: the subject is a curve */
	const struct document_statistic *const *of;
	enum compare_kind kind;
	bool offers_differ; /* a load: its rates are those offered, and these differ */
	bool rounds;	    /* of sweeps: rounds take the place of passes */
};

/* The subjects that all runs of both sides have. */
struct compare_subjects {
	struct arena *arena; /* owned: what follows */
	struct compare_subject *list;
	size_t n;
	bool curve;	 /* the last one is a curve */
	size_t left_out; /* points that a sweep does not have */
	size_t width;	 /* of the longest name of a point */
};

enum compare_verdict {
	COMPARE_NO_FIGURE, /* a document does not have it */
	COMPARE_UNKNOWN,   /* too few passes for an interval */
	COMPARE_CHANCE,
	COMPARE_UNSTABLE, /* real, if a run were reproducible */
	COMPARE_OFFERED,  /* a rate that differs as the rates offered do: by construction */
	COMPARE_REAL,
};

/* One figure of one subject. */
struct compare_figure {
	double a; /* mean, in the unit of the figure */
	double b;
	struct stats_ratio ratio;
	enum compare_verdict verdict;
};

/* -failif: how far a figure may rise or fall. */
struct compare_limit {
	const char *text; /* as given; the caller's */
	size_t length;	  /* of that */
	enum pass_figure figure;
	double ratio; /* of b to a that is allowed: the highest, or the lowest */
	bool falls;   /* it is the lowest */
};

enum compare_limit_state {
	COMPARE_WITHIN,
	COMPARE_EXCEEDED,
	COMPARE_UNDECIDED,
};

/*
 * Collect the subjects: of runs all targets together and, of several, each target, in this order;
 * of sweeps the points, in the order of the first sweep, and of curves the curve after them. The
 * sides stay the caller's.
 */
void compare_subjects(struct compare_subjects *s, const struct compare_side *a,
		      const struct compare_side *b);
void compare_subjects_free(struct compare_subjects *s);

/*
 * write a line with its path for each value that differs between `a` and `b`.
 * `skip` names members that are left out, and ends with NULL. Returns the number of lines.
 */
size_t compare_diff(FILE *f, const json_t *a, const json_t *b, const char *const *skip);

/* Members that change all the time, and names that are meant to differ; NULL ends them. */
extern const char *const compare_skipped[];

/*
 * compare `figure` (below FIGURE_NAMES) of `s`, one of `subjects` that are
 * compared. COMPARE_NO_FIGURE: a document does not have it, or `s` is not judged by it.
 */
struct compare_figure compare_judge(const struct compare_subject *s, enum pass_figure figure,
				    size_t subjects);

/* The level of the intervals of a figure, for a single subject. */
double compare_level(enum pass_figure figure);

/*
 * A figure in words. A change beyond ten times is a factor, and so is the interval then: "610
 * times" and "2.10 to 900 times".
 */
#define COMPARE_TEXT 64
#define COMPARE_UNSTEADY "unsteady" /* the verdict COMPARE_UNSTABLE, and its reason */
#define COMPARE_UNSTEADY_PASSES "the passes of a run differ by as much"
#define COMPARE_UNSTEADY_ROUNDS "the rounds of a sweep differ by as much"
struct compare_texts {
	char change[COMPARE_TEXT];   /* "+12.5 %", "610 times"; "-": not known */
	char interval[COMPARE_TEXT]; /* "+1.2 to +3.4 %", "too few passes"; "": none */
	const char *verdict;	     /* "real" */
	const char *reason;	     /* of a verdict that is not plain; or "" */
};
void compare_texts(struct compare_texts *t, const struct compare_subject *s,
		   const struct compare_figure *f);

/* Write a change, or the range of several, given as ratios. Returns `buf`. */
const char *compare_change_text(double ratio, char buf[COMPARE_TEXT]);
const char *compare_range_text(double low, double high, char buf[COMPARE_TEXT]);

/*
 * the figure that a condition on `figure` means for `s`, since a load of a curve
 * is judged by response times. False: `s` has no such figure by its nature.
 */
bool compare_limit_figure(const struct compare_subject *s, enum pass_figure *figure);

/*
 * parse one condition, which ends at a comma or at the end. False: one line was
 * logged.
 */
bool compare_limit_parse(struct compare_limit *limit, const char *text);

/*
 * Judge a limit by a figure of `s`. With COMPARE_UNDECIDED `*why` is a static text that says what
 * is missing, with the word of the verdict.
 */
enum compare_limit_state compare_limit_check(const struct compare_limit *limit,
					     const struct compare_subject *s,
					     const struct compare_figure *figure, const char **why);

/*
 * Write the figures of documents as CSV: a row for each result of a run, with the columns of
 * `list`, for each point of a sweep, and for each load of a curve, after a column with the name of
 * the document. Returns 0, -ENOMEM or -EIO.
 */
#define CSV_MAX_DOCUMENTS 10000
int documents_write_csv(FILE *f, const struct compare_run *runs, size_t n,
			const struct column_list *list);

/*
 * The page of xdd report: documents of -jsonout and of xdd sweep as one file of HTML. One thread.
 */

/* Documents of one page. */
#define PAGE_MAX_DOCUMENTS 100

/*
 * Make the page of `n` documents. The page needs nothing else: it has no scripts, and refers to no
 * other file. Texts of the documents are escaped. Without `plots` it has tables only, and says so.
 * `axis` is the option along x in the lines and grids of sweeps that vary it; NULL: the option with
 * the most values.
 */
struct page *page_make(const struct compare_run *runs, size_t n, const char *axis, bool plots);

/* True if a document is of a sweep that varies this option, not a curve. */
bool page_has_axis(const struct compare_run *run, const char *axis);
void page_free(struct page *page);

/* Write it. Returns 0 or -errno. */
int page_write(const struct page *page, FILE *f);

/* True if page_save_plots() would write to `file`. */
bool page_plots_replace(const struct page *page, const char *directory, const char *file);

/*
 * Leave data, script and SVG of each plot in `directory`, which is created where it is
 * missing. Returns 0, or -errno after one line of log_error().
 */
int page_save_plots(const struct page *page, const char *directory);

#endif
