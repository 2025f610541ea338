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

/* Times of a row. Of rows that are joined: the mean by operations, or the greatest. */
static const struct {
	enum pass_figure figure;
	const char *heading;
	enum plot_id plot;
	bool mean;
} row_times[] = {
	{ FIGURE_P50, "p50", PLOT_LATENCY, true },
	{ FIGURE_P99, "p99", PLOT_LATENCY, false },
	{ FIGURE_MAX, "~max", PLOT_MAXIMA, false },
};

#define N_TIMES (sizeof(row_times) / sizeof(row_times[0]))

/* A row of the document: the members are looked up once, since each line goes over all rows. */
struct row {
	double target;	  /* NAN: all */
	size_t direction; /* or FLUSHES */
	bool has_bandwidth;
	double start_ns, end_ns, ops, bytes, errors;
	double times_ns[N_TIMES];
};

/* Rows of the document that are joined. */
struct joined {
	double start_ns, end_ns, ops, bytes, errors;
	double times_ns[N_TIMES]; /* of a mean: times operations */
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

static void take_times(struct row *to, const json_t *row)
{
	char member[32];

	for (size_t k = 0; k < N_TIMES; k++) {
		snprintf(member, sizeof(member), "%s_ns", figure_name(row_times[k].figure));
		to->times_ns[k] = document_real(row, member);
	}
}

static void take_rows(struct times *t, const json_t *rows)
{
	const json_t *row;
	size_t i;

	t->rows = xcalloc(json_array_size(rows), sizeof(*t->rows));
	json_array_foreach(rows, i, row)
	{
		t->rows[t->n] = (struct row){
			.target = document_real(row, "target"),
			.direction = direction_of(row),
			.has_bandwidth = !isnan(document_real(row, "bandwidth")),
			.start_ns = document_real(row, "start_ns"),
			.end_ns = document_real(row, "end_ns"),
			.ops = known(document_real(row, "ops")),
			.bytes = known(document_real(row, "bytes")),
			.errors = known(document_real(row, "errors")),
		};
		take_times(&t->rows[t->n++], row);
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
	for (size_t k = 0; k < N_TIMES; k++) {
		if (!row_times[k].mean)
			/* NAN, of too few operations, leaves the other. */
			j->times_ns[k] = fmax(j->times_ns[k], row->times_ns[k]);
		else if (row->ops > 0)
			j->times_ns[k] += row->ops * row->times_ns[k];
	}
}

static double rate(double amount, const struct joined *j)
{
	return j->end_ns > j->start_ns ? amount * 1e9 / (j->end_ns - j->start_ns) : NAN;
}

static double time_of(const struct joined *j, size_t k)
{
	if (!(j->ops > 0) || !(row_times[k].mean || j->times_ns[k] > 0))
		return NAN;
	return row_times[k].mean ? j->times_ns[k] / j->ops : j->times_ns[k];
}

static void put_row(struct page *p, const struct joined *j)
{
	char text[SCALED_SIZE];

	page_row(p, scaled_time(j->start_ns, text));
	page_time_cell(p, j->end_ns);
	page_count_cell(p, j->ops);
	page_figure_cell(p, FIGURE_BANDWIDTH, j->bandwidth ? rate(j->bytes, j) : NAN);
	page_figure_cell(p, FIGURE_IOPS, rate(j->ops, j));
	for (size_t k = 0; k < N_TIMES; k++)
		page_time_cell(p, time_of(j, k));
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

struct time_line {
	struct plot *plot;
	size_t k; /* of row_times[] */
};

static void add_time(void *line, const struct joined *j)
{
	const struct time_line *l = line;

	plot_xy(l->plot, middle(j), time_of(j, l->k));
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
	for (size_t k = 0; t->drawn && k < N_TIMES; k++) {
		struct plot *plot = row_times[k].plot == PLOT_MAXIMA ? t->maxima : t->latency;
		char title[32];

		snprintf(title, sizeof(title), "%s %s", direction_name(s->direction),
			 pass_figures[row_times[k].figure].shown);
		plot_series(plot, title);
		each(t, s, add_time, &(struct time_line){ plot, k });
	}
}

static void put_table(const struct times *t, const struct subject *s)
{
	const char *heads[5 + N_TIMES + 2] = { "|from", "~to", "~operations", "bandwidth", "IOPS" };
	char caption[64];

	for (size_t k = 0; k < N_TIMES; k++)
		heads[5 + k] = row_times[k].heading;
	heads[5 + N_TIMES] = "errors";
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
		for (enum pass_figure k = 0; k < FIGURE_FIRST_PERCENTILE; k++)
			page_figure_cell(p, k, of_pass(all, k, i));
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
