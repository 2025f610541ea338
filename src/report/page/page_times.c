/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Bandwidth, IOPS and latency over the time of a run: the rows of -intervals, and the passes.
 * Called by page.c.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/page/page.h"

/* Points of a line, and rows of the table; more rows of the document are joined. */
#define MAX_POINTS 200

/* Lines: all targets and up to this many of them. */
#define MAX_SUBJECTS 6

/* The rows of flushes follow the rows of all directions. */
#define FLUSHES DIR_COUNT

/* A row of the document: the members are looked up once, since each line goes over all rows. */
struct row {
	double target;	  /* NAN: all */
	size_t direction; /* or FLUSHES */
	bool has_bandwidth;
	double start_ns, end_ns, ops, bytes, errors, p50_ns, p99_ns, max_ns;
};

/* Rows of the document that are joined. */
struct joined {
	double start_ns, end_ns, ops, bytes, errors;
	double p50_sum;	       /* of p50 times operations */
	double p99_ns, max_ns; /* the greatest */
	size_t n;
	bool bandwidth; /* flushes have none */
};

/* The rows of a line. */
struct subject {
	double target;	  /* NAN: all */
	size_t direction; /* or FLUSHES */
};

struct times {
	struct page *p;
	const struct compare_run *run;
	struct row *rows; /* owned */
	size_t n;
	struct plot *bandwidth, *iops, *latency, *maxima;
	bool drawn;   /* there are lines: more than one interval */
	bool several; /* directions */
	bool alone;   /* there is one target: its line would be the line of all */
};

static double known(double x)
{
	return isnan(x) ? 0 : x;
}

static const char *direction_name(size_t i)
{
	return i < FLUSHES ? op_dir_name((enum op_dir)i) : "flush";
}

/* Past FLUSHES: it is none. */
static size_t direction_of(const json_t *row)
{
	const char *name = document_text(row, "direction");
	size_t i = 0;

	while (i <= FLUSHES && strcmp(name, direction_name(i)) != 0)
		i++;
	return i;
}

static void take_rows(struct times *t, const json_t *rows)
{
	const json_t *row;
	size_t i;

	t->rows = xcalloc(json_array_size(rows), sizeof(*t->rows));
	json_array_foreach(rows, i, row)
	{
		t->rows[t->n++] = (struct row){
			.target = document_real(row, "target"),
			.direction = direction_of(row),
			.has_bandwidth = !isnan(document_real(row, "bandwidth")),
			.start_ns = document_real(row, "start_ns"),
			.end_ns = document_real(row, "end_ns"),
			.ops = known(document_real(row, "ops")),
			.bytes = known(document_real(row, "bytes")),
			.errors = known(document_real(row, "errors")),
			.p50_ns = document_real(row, "p50_ns"),
			.p99_ns = document_real(row, "p99_ns"),
			.max_ns = known(document_real(row, "max_ns")),
		};
	}
}

static bool is_of(const struct row *row, const struct subject *s)
{
	return row->direction == s->direction &&
	       (isnan(s->target) ? isnan(row->target) : row->target == s->target);
}

static size_t count(const struct times *t, const struct subject *s)
{
	size_t n = 0;

	for (size_t i = 0; i < t->n; i++)
		n += is_of(&t->rows[i], s);
	return n;
}

static void join(struct joined *j, const struct row *row)
{
	if (!j->n++)
		j->start_ns = row->start_ns;
	j->end_ns = row->end_ns;
	j->ops += row->ops;
	j->bytes += row->bytes;
	j->bandwidth |= row->has_bandwidth;
	j->errors += row->errors;
	if (row->ops > 0)
		j->p50_sum += row->ops * row->p50_ns;
	/* NAN, of too few operations, leaves the other. */
	j->p99_ns = fmax(j->p99_ns, row->p99_ns);
	j->max_ns = fmax(j->max_ns, row->max_ns);
}

static double rate(double amount, const struct joined *j)
{
	return j->end_ns > j->start_ns ? amount * 1e9 / (j->end_ns - j->start_ns) : NAN;
}

static double p50_of(const struct joined *j)
{
	return j->ops > 0 ? j->p50_sum / j->ops : NAN;
}

static double p99_of(const struct joined *j)
{
	return j->ops > 0 && j->p99_ns > 0 ? j->p99_ns : NAN;
}

static void put_row(struct page *p, const struct joined *j)
{
	char text[SCALED_SIZE];

	page_row(p, scaled_time(j->start_ns, text));
	page_time_cell(p, j->end_ns);
	page_count_cell(p, j->ops);
	page_rate_cell(p, j->bandwidth ? rate(j->bytes, j) : NAN);
	page_ops_cell(p, rate(j->ops, j));
	page_time_cell(p, p50_of(j));
	page_time_cell(p, p99_of(j));
	page_time_cell(p, j->ops > 0 ? j->max_ns : NAN);
	page_count_cell(p, j->errors);
	page_row_end(p);
}

/* ---- lines ---- */

/* Call `take` for each group of rows of a subject. */
static void each(const struct times *t, const struct subject *s,
		 void (*take)(void *arg, const struct joined *j), void *arg)
{
	const size_t n = count(t, s), group = (n + MAX_POINTS - 1) / MAX_POINTS;
	struct joined j = { .n = 0 };

	for (size_t i = 0; i < t->n; i++) {
		if (!is_of(&t->rows[i], s))
			continue;
		join(&j, &t->rows[i]);
		if (j.n < group)
			continue;
		take(arg, &j);
		j = (struct joined){ .n = 0 };
	}
	if (j.n)
		take(arg, &j);
}

static double middle(const struct joined *j)
{
	return (j->start_ns + j->end_ns) / 2;
}

static void add_bandwidth(void *plot, const struct joined *j)
{
	plot_xy(plot, middle(j), rate(j->bytes, j));
}

static void add_iops(void *plot, const struct joined *j)
{
	plot_xy(plot, middle(j), rate(j->ops, j));
}

static void add_p50(void *plot, const struct joined *j)
{
	plot_xy(plot, middle(j), p50_of(j));
}

static void add_p99(void *plot, const struct joined *j)
{
	plot_xy(plot, middle(j), p99_of(j));
}

static void add_max(void *plot, const struct joined *j)
{
	plot_xy(plot, middle(j), j->max_ns);
}

static void add_row(void *page, const struct joined *j)
{
	put_row(page, j);
}

static void draw_rates(const struct times *t, const struct subject *s)
{
	char name[PAGE_NAME_SIZE], title[PAGE_NAME_SIZE + 16];

	if (!t->drawn)
		return;
	page_short_target(&t->run->doc,
			  !isnan(s->target) ? (int64_t)s->target :
			  t->alone	    ? 0 :
					      DOCUMENT_ALL,
			  name);
	snprintf(title, sizeof(title), "%s%s%s", t->several ? direction_name(s->direction) : "",
		 t->several ? ", " : "", name);
	plot_series(t->bandwidth, title);
	each(t, s, add_bandwidth, t->bandwidth);
	plot_series(t->iops, title);
	each(t, s, add_iops, t->iops);
}

static void draw_latency(const struct times *t, const struct subject *s)
{
	const struct {
		struct plot *plot;
		const char *name;
		void (*add)(void *plot, const struct joined *j);
	} lines[] = { { t->latency, "p50", add_p50 },
		      { t->latency, "p99", add_p99 },
		      { t->maxima, "max", add_max } };

	for (size_t i = 0; t->drawn && i < sizeof(lines) / sizeof(lines[0]); i++) {
		char title[32];

		snprintf(title, sizeof(title), "%s %s", direction_name(s->direction),
			 lines[i].name);
		plot_series(lines[i].plot, title);
		each(t, s, lines[i].add, lines[i].plot);
	}
}

static void put_table(const struct times *t, const struct subject *s)
{
	static const char *const heads[] = { "|from", "~to", "~operations", "bandwidth", "IOPS",
					     "p50",   "p99", "~max",	    "errors",	 NULL };
	char caption[64];

	snprintf(caption, sizeof(caption), "Intervals of all targets, %s",
		 direction_name(s->direction));
	page_table(t->p, caption, heads);
	each(t, s, add_row, t->p);
	page_table_end(t->p, 0);
}

static void open_plots(struct times *t, double all)
{
	size_t directions = 0;

	for (size_t i = 0; i < DIR_COUNT; i++) {
		const size_t n = count(t, &(struct subject){ all, i });

		directions += n > 0;
		t->drawn |= n > 1;
	}
	t->several = directions > 1;
	t->alone = true;
	for (size_t i = 0; i < t->n; i++)
		t->alone &= isnan(t->rows[i].target) || t->rows[i].target == 0;
	t->bandwidth = page_plot(t->p, t->run, PLOT_BANDWIDTH);
	t->iops = page_plot(t->p, t->run, PLOT_IOPS);
	t->latency = page_plot(t->p, t->run, PLOT_LATENCY);
	t->maxima = page_plot(t->p, t->run, PLOT_MAXIMA);
}

/* The rows of all targets; of the only target where there are none. */
static double subject_of_all(const struct times *t)
{
	for (size_t i = 0; i < t->n; i++) {
		if (isnan(t->rows[i].target))
			return NAN;
	}
	return 0;
}

/* They have no bandwidth, and are none of the operations. */
static void put_flushes(const struct times *t, double all)
{
	const struct subject s = { all, FLUSHES };

	if (!count(t, &s))
		return;
	draw_latency(t, &s);
	put_table(t, &s);
}

static void put_intervals(struct times *t)
{
	const double all = subject_of_all(t);

	page_figure(t->p,
		    "Bandwidth, IOPS and service times over time, since the first pass began. "
		    "Where rows are joined, p50 is their mean, and p99 and max are the greatest");
	open_plots(t, all);
	for (size_t i = 0; i < DIR_COUNT; i++) {
		const struct subject s = { all, i };

		if (!count(t, &s))
			continue;
		draw_rates(t, &s);
		draw_latency(t, &s);
		put_table(t, &s);
	}
	put_flushes(t, all);
	for (size_t k = 0; isnan(all) && !t->alone && k < MAX_SUBJECTS * DIR_COUNT; k++) {
		const struct subject s = { (double)(k / DIR_COUNT), k % DIR_COUNT };

		if (count(t, &s))
			draw_rates(t, &s);
	}
	page_figure_end(t->p);
}

/* ---- passes ---- */

static double of_pass(const struct document_statistic *all, enum pass_figure figure, size_t pass)
{
	const struct document_figure *f = &all->figures[figure];

	return pass < f->n ? f->values[pass] : 0;
}

static void put_passes(struct page *p, const struct compare_run *run,
		       const struct document_statistic *all)
{
	static const char *const heads[] = { "|pass", "bandwidth", "IOPS", "latency", NULL };
	const size_t n = all->n;
	struct plot *plot;
	size_t i;

	page_figure(p, "Bandwidth of all targets by pass");
	plot = page_plot(p, run, PLOT_PASSES);
	plot_series(plot, "");
	page_table(p, "Passes", heads);
	for (i = 0; i < n && i < PAGE_MAX_ROWS; i++) {
		char text[32];

		snprintf(text, sizeof(text), "%" PRIu64, all->passes[i]);
		plot_xy(plot, (double)all->passes[i], of_pass(all, FIGURE_BANDWIDTH, i));
		page_row(p, text);
		page_rate_cell(p, of_pass(all, FIGURE_BANDWIDTH, i));
		page_ops_cell(p, of_pass(all, FIGURE_IOPS, i));
		page_time_cell(p, of_pass(all, FIGURE_LATENCY, i));
		page_row_end(p);
	}
	page_table_end(p, n > i ? n - i : 0);
	page_figure_end(p);
}

void page_times(struct page *p, const struct compare_run *run)
{
	const struct document_statistic *all =
		document_statistic(&run->doc.statistics, DOCUMENT_ALL);
	const json_t *rows = json_object_get(run->doc.root, "intervals");
	struct times t = { .p = p, .run = run };

	page_section(p, 3, "Over time");
	take_rows(&t, rows);
	if (t.n)
		put_intervals(&t);
	else if (run->doc.combined)
		page_line(p,
			  "The documents of the hosts have bandwidth, IOPS and latency over time.");
	else
		page_missing(p, "bandwidth, IOPS and latency over time", "-intervals 1s");
	if (all && all->n > 1)
		put_passes(p, run, all);
	page_section_end(p);
	free(t.rows);
}
