/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A run: latencies of each direction and of flushes, as figures and percentiles and as a heat map
 * of each pass, and the targets side by side, with starts and ends of each pass. Called by page.c.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/latency.h"
#include "report/page/page.h"

/* Fields of the map: columns are passes, or several of them; rows are parts of a decade. */
#define COLUMNS 50
#define PARTS 8
#define DECADES 14
#define ROWS (PARTS * DECADES)

struct heat {
	double counts[COLUMNS][ROWS];
	double ops[COLUMNS];
	double passes;	   /* the number of the last one */
	double per_column; /* passes */
};

static void add_histogram(struct heat *h, size_t column, const struct histogram_sum *times)
{
	for (unsigned i = 0; i < times->size; i++) {
		const double from = (double)histogram_bucket_from(times->first + i);
		const double row = from >= 1 ? PARTS * log10(from) : 0;

		h->counts[column][row < ROWS ? (size_t)row : ROWS - 1] += (double)times->counts[i];
		h->ops[column] += (double)times->counts[i];
	}
}

static void page_heat_collect(struct heat *h, const struct document *d)
{
	for (size_t i = 0; i < d->n_results; i++) {
		if (d->results[i].what == RESULT_TARGET_PASS)
			h->passes = fmax(h->passes, (double)d->results[i].pass);
	}
	h->per_column = fmax(1, ceil(h->passes / COLUMNS));
	for (size_t i = 0; i < d->n_results && h->passes >= 2; i++) {
		const struct document_result *r = &d->results[i];
		const double column = floor(((double)r->pass - 1) / h->per_column);
		struct figures f;

		if (r->what != RESULT_TARGET_PASS || !(column >= 0 && column < COLUMNS))
			continue;
		page_figures(r, &f);
		for (unsigned dir = 0; dir < DIR_COUNT; dir++)
			add_histogram(h, (size_t)column, page_service(&f, dir));
		figures_free(&f);
	}
}

static void page_heat_draw(struct plot *plot, const struct heat *h)
{
	plot_series(plot, "");
	for (size_t c = 0; c < COLUMNS; c++) {
		const double from = (double)c * h->per_column + 0.5;

		for (size_t r = 0; r < ROWS; r++) {
			const struct plot_point cell = { .x = from,
							 .x_to = from + h->per_column,
							 .y = pow(10, (double)r / PARTS),
							 .y_to = pow(10, (double)(r + 1) / PARTS),
							 .value = 100 * h->counts[c][r] /
								  h->ops[c] };

			if (h->counts[c][r] > 0)
				plot_add(plot, &cell);
		}
	}
}

/* The share of operations in each decade. */
static void put_table(struct page *p, const struct heat *h)
{
	static const char *const heads[] = { "|passes",	 "~operations", "< 1 us",  "< 10 us",
					     "< 100 us", "< 1 ms",	"< 10 ms", "< 100 ms",
					     "< 1 s",	 "longer",	NULL };
	static const size_t least = 3, most = 9; /* decades: < 10^least ns, < 10^most ns */

	page_table(p, "Operations by their service times, in percent of all operations", heads);
	for (size_t c = 0; c < COLUMNS; c++) {
		const double from = (double)c * h->per_column + 1;
		size_t r = 0;
		char text[64];

		if (!(h->ops[c] > 0))
			continue;
		if (h->per_column > 1)
			snprintf(text, sizeof(text), "%.15g to %.15g", from,
				 from + h->per_column - 1);
		else
			snprintf(text, sizeof(text), "%.15g", from);
		page_row(p, text);
		page_count_cell(p, h->ops[c]);
		for (size_t decade = least; decade <= most + 1; decade++) {
			double sum = 0;

			for (; r < (decade > most ? ROWS : decade * PARTS); r++)
				sum += h->counts[c][r];
			snprintf(text, sizeof(text), "%.4g", 100 * sum / h->ops[c]);
			page_number(p, text);
		}
		page_row_end(p);
	}
	page_table_end(p, 0);
}

static void page_heat(struct page *p, const struct compare_run *run)
{
	struct heat *h = xcalloc(1, sizeof(*h));

	page_heat_collect(h, &run->doc);
	if (h->passes < 2 && (run->doc.combined || run->doc.n_copies)) {
		free(h);
		return;
	}
	if (h->passes < 2) {
		page_missing(p,
			     "a heat map of the latencies over time, for which a document has one "
			     "histogram for each pass",
			     "-passes 10");
		free(h);
		return;
	}
	page_figure(
		p,
		"Heat map of the service times: the stronger the colour, the more operations of a pass");
	page_heat_draw(page_plot(p, run, PLOT_HEAT), h);
	put_table(p, h);
	page_figure_end(p);
	free(h);
}

#define HEAD_BYTES 64

/* The directions, and the flushes after them. */
static const unsigned subjects[] = { DIR_READ, DIR_WRITE, DIR_NOOP, DIR_DISCARD, LATENCY_FLUSHES };
#define N_SUBJECTS (sizeof(subjects) / sizeof(subjects[0]))

const struct histogram_sum *page_service(const struct figures *f, unsigned dir)
{
	return dir == LATENCY_FLUSHES ? &f->latency.flushes : &f->latency.of[LATENCY_SERVICE][dir];
}

static void put_figures(struct page *p, const struct document_result *all, const struct figures *f)
{
	static const char *const heads[] = { "|direction", "~operations", "~least", "mean",
					     "~deviation", "greatest",	  NULL };

	page_table(p, "Service times of all targets, from issue to completion", heads);
	for (size_t i = 0; i < N_SUBJECTS; i++) {
		const struct histogram_view v =
			latency_view(&f->latency, LATENCY_SERVICE, subjects[i]);

		if (!histogram_count(&v))
			continue;
		page_row(p, latency_dir_name(subjects[i]));
		page_count_cell(p, (double)histogram_count(&v));
		page_time_cell(p, (double)histogram_min(&v));
		page_time_cell(p, histogram_mean(&v));
		page_time_cell(p, document_deviation_ns(all, subjects[i]));
		page_time_cell(p, (double)histogram_max(&v));
		page_row_end(p);
	}
	page_table_end(p, 0);
}

double page_percentile(const struct figures *f, unsigned dir, uint32_t percent)
{
	const struct histogram_view v = latency_view(&f->latency, LATENCY_SERVICE, dir);

	return histogram_count(&v) ? histogram_known_percentile(&v, percent) : NAN;
}

static void put_percentiles(struct page *p, const struct document_result *all,
			    const struct figures *f)
{
	const size_t n_subjects = f->latency.flushes.n ? N_SUBJECTS : DIR_COUNT;
	const char *heads[N_SUBJECTS + 2] = { "|percentile" };
	uint32_t percents[DOCUMENT_MAX_PERCENTS];
	const size_t n = document_percents(all, percents);

	for (size_t i = 0; i < n_subjects; i++)
		heads[i + 1] = latency_dir_name(subjects[i]);
	page_table(p, "Percentiles: so many percent of the operations took no longer", heads);
	for (size_t k = 0; k < n; k++) {
		char text[LATENCY_PERCENT_SIZE], head[HEAD_BYTES];

		snprintf(head, sizeof(head), "%s %%", latency_percent_text(percents[k], text));
		page_row(p, head);
		for (size_t i = 0; i < n_subjects; i++)
			page_time_cell(p, page_percentile(f, subjects[i], percents[k]));
		page_row_end(p);
	}
	page_table_end(p, 0);
}

/* ---- the distribution ---- */

#define PARTS_PER_DECADE 20

void page_distribution_line(struct plot *plot, const struct histogram_sum *times, const char *title)
{
	double slower = (double)times->n;
	int last = -1;

	if (!times->n)
		return;
	plot_series(plot, title);
	for (unsigned i = 0; i < times->size; i++) {
		const double from = (double)histogram_bucket_from(times->first + i);
		const int part = from >= 1 ? (int)(PARTS_PER_DECADE * log10(from)) : 0;

		if (!times->counts[i])
			continue;
		if (part != last)
			plot_xy(plot, from, 100 * slower / (double)times->n);
		last = part;
		slower -= (double)times->counts[i];
	}
}

static void put_distribution(struct page *p, const struct compare_run *run,
			     const struct document_result *all, const struct figures *f)
{
	struct plot *plot;

	page_figure(p, "Distribution of the service times: share of the operations that took at "
		       "least so long, on logarithmic scales");
	plot = page_plot(p, run, PLOT_DISTRIBUTION);
	for (size_t i = 0; i < N_SUBJECTS; i++)
		page_distribution_line(plot, page_service(f, subjects[i]),
				       latency_dir_name(subjects[i]));
	put_percentiles(p, all, f);
	page_figure_end(p);
}

void page_latency(struct page *p, const struct compare_run *run)
{
	const struct document_result *all = document_result(&run->doc, RESULT_COMBINED);
	struct figures f;
	bool any = false;

	page_figures(all, &f);
	for (unsigned dir = 0; dir < DIR_COUNT; dir++)
		any |= page_service(&f, dir)->n > 0;
	page_section(p, 3, "Latency");
	if (any) {
		put_figures(p, all, &f);
		put_distribution(p, run, all, &f);
		page_heat(p, run);
	} else {
		page_line(p, "The document has no latencies: nothing was completed.");
	}
	page_section_end(p);
	figures_free(&f);
}

/* Lines of the plot. */
#define MAX_TARGETS 32

/* The first beginning, of passes of targets or of all results; INFINITY: none is known. */
static double first_begin(const struct document *d, bool passes)
{
	double least = INFINITY;

	for (size_t i = 0; i < d->n_results; i++) {
		const struct document_result *r = &d->results[i];

		if (r->placed && (!passes || r->what == RESULT_TARGET_PASS))
			least = fmin(least, (double)r->begin_ns);
	}
	return least;
}

/* Global times since `origin`; NAN: not known. */
static double begin_of(const struct document_result *r, double origin)
{
	return r->placed ? (double)r->begin_ns - origin : NAN;
}

static double finish_of(const struct document_result *r, double origin)
{
	return r->placed ? (double)r->finish_ns - origin : NAN;
}

static void add_span(struct plot *plot, const struct document *d, const struct document_result *r,
		     double origin)
{
	const double target = (double)r->target;
	char name[PAGE_NAME_SIZE];

	if (r->target >= MAX_TARGETS)
		return;
	plot_add(plot, &(struct plot_point){ .x = begin_of(r, origin),
					     .x_to = finish_of(r, origin),
					     .y = target });
	for (size_t i = 0; i < plot->y_tics.n; i++) {
		if ((uint64_t)plot->y_tics.list[i].at == r->target)
			return;
	}
	plot_tic(&plot->y_tics, target, page_short_target(d, (int64_t)r->target, name));
}

static void put_row(struct page *p, const struct document *d, const struct document_result *r,
		    double origin)
{
	char name[PAGE_NAME_SIZE];

	page_row(p, page_target(d, (int64_t)r->target, name));
	page_count_cell(p, (double)r->pass);
	page_time_cell(p, begin_of(r, origin));
	page_time_cell(p, finish_of(r, origin));
	page_time_cell(p, (double)r->elapsed_ns);
	page_row_end(p);
}

static void page_spans(struct page *p, const struct compare_run *run)
{
	static const char *const heads[] = { "|target", "pass",	   "begins at",
					     "ends at", "elapsed", NULL };
	const struct document *d = &run->doc;
	const double origin = first_begin(d, true);
	struct plot *plot;
	size_t n = 0;

	if (isinf(origin))
		return;
	page_figure(p, "Starts and ends of the passes of each target, since the first operation");
	plot = page_plot(p, run, PLOT_TARGETS);
	plot_series(plot, "");
	page_table(p, "Passes of the targets", heads);
	for (size_t i = 0; i < d->n_results; i++) {
		const struct document_result *r = &d->results[i];

		if (r->what != RESULT_TARGET_PASS || ++n > PAGE_MAX_ROWS)
			continue;
		add_span(plot, d, r, origin);
		put_row(p, d, r, origin);
	}
	page_table_end(p, n > PAGE_MAX_ROWS ? n - PAGE_MAX_ROWS : 0);
	page_figure_end(p);
}

static const enum pass_figure target_figures[] = { FIGURE_BANDWIDTH, FIGURE_IOPS, FIGURE_LATENCY,
						   FIGURE_P99 };
#define N_TARGET_FIGURES (sizeof(target_figures) / sizeof(target_figures[0]))

/* Percentiles are of the direction with the most operations. */
static void put_target_figures(struct page *p, const struct figures *f)
{
	unsigned most = 0;

	for (unsigned dir = 1; dir < DIR_COUNT; dir++) {
		if (page_service(f, dir)->n > page_service(f, most)->n)
			most = dir;
	}
	for (size_t i = 0; i < N_TARGET_FIGURES; i++) {
		const enum pass_figure figure = target_figures[i];
		const unsigned dir = pass_figures[figure].stat ? most : LATENCY_ALL_DIRS;

		page_figure_cell(p, figure, figure_of_dir(f, figure, dir));
	}
}

/* `origin` is the beginning of the first target. */
static void put_target(struct page *p, const struct document *d, const struct document_result *r,
		       double origin)
{
	const int64_t target = r->what == RESULT_COMBINED ? DOCUMENT_ALL : (int64_t)r->target;
	struct figures f;
	char name[PAGE_NAME_SIZE];

	page_figures(r, &f);
	page_row(p, page_target(d, target, name));
	page_cell(p, plan_op_name(r->op));
	page_bytes_cell(p, (double)r->request_bytes);
	page_count_cell(p, (double)r->queue_depth);
	put_target_figures(p, &f);
	page_bytes_cell(p, (double)tally_bytes(&f.tally));
	page_count_cell(p, (double)tally_ops(&f.tally));
	page_count_cell(p, (double)f.tally.errors);
	page_time_cell(p, begin_of(r, origin));
	page_time_cell(p, finish_of(r, origin));
	page_row_end(p);
	figures_free(&f);
}

/* A host of a combined document, or all of them. */
static void put_host(struct page *p, const struct document *d, const struct document_result *r)
{
	const json_t *hosts = json_object_get(d->root, "hosts");
	const bool one = r->what == RESULT_HOST || json_array_size(hosts) == 1;
	const json_t *host = json_array_get(hosts, r->what == RESULT_HOST ? r->host : 0);
	struct figures f;

	page_figures(r, &f);
	page_row(p, one ? document_text(host, "host") : "all");
	for (size_t i = 0; i < FIGURES_SHOWN; i++)
		page_figure_cell(p, figures_shown[i], figure_of_pass(&f, figures_shown[i]));
	page_bytes_cell(p, (double)tally_bytes(&f.tally));
	page_count_cell(p, (double)tally_ops(&f.tally));
	page_count_cell(p, (double)f.tally.errors);
	page_row_end(p);
	figures_free(&f);
}

/* The hosts of a combined document, each over its passes. */
static void put_hosts(struct page *p, const struct document *d)
{
	static const char *const last[] = { "~bytes", "~operations", "errors", NULL };
	const char *heads[1 + FIGURES_SHOWN + sizeof(last) / sizeof(*last)] = { "|host" };
	size_t n = 0;

	memcpy(&heads[page_figure_heads(heads, 1, figures_shown, FIGURES_SHOWN)], last,
	       sizeof(last));
	page_table(p, "Hosts side by side, over all passes", heads);
	for (size_t i = 0; i < d->n_results; i++) {
		if (d->results[i].what == RESULT_HOST && ++n <= PAGE_MAX_ROWS)
			put_host(p, d, &d->results[i]);
	}
	if (!n && document_result(d, RESULT_COMBINED))
		put_host(p, d, document_result(d, RESULT_COMBINED));
	page_table_end(p, n > PAGE_MAX_ROWS ? n - PAGE_MAX_ROWS : 0);
}

void page_targets(struct page *p, const struct compare_run *run)
{
	static const char *const first[] = { "|target", "~|operation", "~request", "~depth" };
	static const char *const last[] = { "~bytes",	  "~operations", "errors",
					    "~begins at", "~ends at",	 NULL };
	const size_t n_first = sizeof(first) / sizeof(*first);
	const char *heads[sizeof(first) / sizeof(*first) + N_TARGET_FIGURES +
			  sizeof(last) / sizeof(*last)];
	const struct document *d = &run->doc;
	const double origin = first_begin(d, false);
	size_t n = 0;

	memcpy(heads, first, sizeof(first));
	memcpy(&heads[page_figure_heads(heads, n_first, target_figures, N_TARGET_FIGURES)], last,
	       sizeof(last));
	page_section(p, 3, d->combined ? "Hosts" : "Targets");
	if (d->combined)
		put_hosts(p, d);
	page_table(p, "Targets side by side, over all passes; times since the first operation",
		   heads);
	for (size_t i = 0; i < d->n_results; i++) {
		if (d->results[i].what != RESULT_TARGET_PASS && d->results[i].what != RESULT_HOST &&
		    ++n <= PAGE_MAX_ROWS)
			put_target(p, d, &d->results[i], origin);
	}
	page_table_end(p, n > PAGE_MAX_ROWS ? n - PAGE_MAX_ROWS : 0);
	page_spans(p, run);
	page_section_end(p);
}
