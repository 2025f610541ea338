/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The tables of -latency for a screen: figures as lines, so that rows of the wide form fit beside
 * each other, and intervals with the figures that have room. Called by latency.c and report.c.
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "report/latency.h"
#include "report/screen.h"
#include "xdd/base/memory.h"
#include "xdd/base/units.h"

enum {
	HEAD_PASS,
	HEAD_TARGET,
	HEAD_DIRECTION,
	HEAD_TIME,
	HEADS,
};

/* The figures before the percentiles. */
static const struct {
	const char *name;
	uint32_t stat;
} figures[] = {
	{ "min", LATENCY_MIN },
	{ "mean", LATENCY_MEAN },
	{ "stddev", LATENCY_STDDEV },
	{ "weighted", LATENCY_WEIGHTED },
};

#define N_FIGURES (sizeof(figures) / sizeof(figures[0]))

/* A row of the wide form. */
struct latency_column {
	char heads[HEADS][SCALED_SIZE];
	bool run; /* of the whole run */
	bool response;
	bool all; /* of all directions: not in the distribution */
	uint64_t ops;
	uint64_t octaves[LATENCY_OCTAVES];
	double ns[]; /* one for each figure */
};

static size_t count_figures(const struct plan *plan)
{
	const uint32_t *percents;

	return N_FIGURES + latency_percents(plan, &percents) + 1;
}

static uint32_t figure_stat(const struct plan *plan, size_t i)
{
	const uint32_t *percents;
	const size_t n = latency_percents(plan, &percents);

	if (i < N_FIGURES)
		return figures[i].stat;
	return i - N_FIGURES < n ? percents[i - N_FIGURES] : LATENCY_MAX;
}

static const char *figure_label(const struct plan *plan, size_t i, char buf[SCALED_SIZE])
{
	const uint32_t stat = figure_stat(plan, i);

	if (i < N_FIGURES)
		return figures[i].name;
	if (stat == LATENCY_MAX)
		return "max";
	buf[0] = 'p';
	latency_percent_text(stat, buf + 1);
	return buf;
}

static void set_heads(struct latency_column *c, const struct result *r, enum latency_time time,
		      unsigned dir)
{
	c->run = r->what == RESULT_COMBINED;
	if (r->what == RESULT_TARGET_PASS)
		snprintf(c->heads[HEAD_PASS], SCALED_SIZE, "%" PRIu64, r->pass);
	else
		strcpy(c->heads[HEAD_PASS], c->run ? "run" : "average");
	if (c->run)
		strcpy(c->heads[HEAD_TARGET], "all");
	else
		snprintf(c->heads[HEAD_TARGET], SCALED_SIZE, "#%" PRIu64, r->target);
	strcpy(c->heads[HEAD_DIRECTION], latency_dir_name(dir));
	strcpy(c->heads[HEAD_TIME], latency_time_name(time));
	c->response = time == LATENCY_RESPONSE;
	c->all = dir == LATENCY_ALL_DIRS;
}

static int add_column(struct latency_screen *s, const struct plan *plan, const struct result *r,
		      enum latency_time time, unsigned dir, const struct histogram_view *v)
{
	const size_t n = count_figures(plan);
	struct latency_column **columns = array_room(s->columns, s->n, sizeof(*columns)), *c;

	if (!columns)
		return -ENOMEM;
	s->columns = columns;
	c = calloc(1, sizeof(*c) + n * sizeof(c->ns[0]));
	if (!c)
		return -ENOMEM;
	s->columns[s->n++] = c;
	set_heads(c, r, time, dir);
	c->ops = histogram_count(v);
	for (size_t i = 0; i < n; i++)
		c->ns[i] = latency_stat_ns(v, figure_stat(plan, i));
	for (unsigned i = 0; i < LATENCY_OCTAVES && plan->latency.histogram; i++)
		c->octaves[i] =
			histogram_count_between(v, latency_octave_ns(i), latency_octave_ns(i + 1));
	return 0;
}

int latency_screen_add(struct latency_screen *s, const struct plan *plan, const struct result *r)
{
	struct histogram_view v;
	int err = 0;

	for (unsigned dir = 0; dir < LATENCY_SUBJECTS; dir++)
		for (int time = 0; time < LATENCY_TIMES && !err; time++)
			if (latency_row(r, false, (enum latency_time)time, dir, &v))
				err = add_column(s, plan, r, (enum latency_time)time, dir, &v);
	return err;
}

void latency_screen_free(struct latency_screen *s)
{
	for (size_t i = 0; i < s->n; i++)
		free(s->columns[i]);
	free(s->columns);
	*s = (struct latency_screen){ 0 };
}

/* A table whose lines are figures or ranges of times, for some of the columns. */
struct figures_table {
	const struct plan *plan;
	const struct screen *screen;
	struct latency_column *const *columns;
	size_t n;
	const char *title;
	bool shown[HEADS]; /* lines of headings: those that tell columns apart */
	bool ranges;	   /* lines are ranges, with a bar beside them for a column alone */
	size_t from, to;   /* of the lines */
};

#define BAR_COLUMNS 40

/* Of the lines beside a bar: "128 us to 256 us", the share, and gaps. */
#define BAR_BESIDE 30

static double share_of(const struct latency_column *c, size_t octave)
{
	return c->ops ? (double)c->octaves[octave] / (double)c->ops : 0;
}

static const char *range_text(const struct latency_column *c, size_t octave, char buf[SCALED_SIZE])
{
	const double percent = 100 * share_of(c, octave);

	if (!c->octaves[octave])
		return "-";
	if (percent < 0.1)
		return "<0.1 %";
	snprintf(buf, SCALED_SIZE, "%.1f %%", percent);
	return buf;
}

/* The longest bar is the greatest share. */
static void bar_text(const struct figures_table *t, size_t octave, char bar[BAR_COLUMNS + 1])
{
	const unsigned room = t->screen->columns - BAR_BESIDE;
	const struct latency_column *c = t->columns[0];
	double most = 0;
	size_t n;

	for (size_t i = 0; i < LATENCY_OCTAVES; i++)
		most = fmax(most, share_of(c, i));
	n = most > 0 ? (size_t)lround(share_of(c, octave) / most *
				      (room < BAR_COLUMNS ? room : BAR_COLUMNS)) :
		       0;
	memset(bar, '#', n);
	bar[n] = '\0';
}

static const char *time_text(uint64_t ns, char buf[SCALED_SIZE])
{
	const char *const unit = ns < NS_PER_MS ? "us" : ns < NS_PER_SEC ? "ms" : "s";
	const uint64_t of = ns < NS_PER_MS ? NS_PER_US : ns < NS_PER_SEC ? NS_PER_MS : NS_PER_SEC;

	snprintf(buf, SCALED_SIZE, "%" PRIu64 " %s", ns / of, unit);
	return buf;
}

#define LABEL_SIZE (3 * SCALED_SIZE)

static const char *range_label(size_t octave, char buf[LABEL_SIZE])
{
	char from[SCALED_SIZE], to[SCALED_SIZE];

	if (!octave)
		snprintf(buf, LABEL_SIZE, "less than %s", time_text(latency_octave_ns(1), to));
	else if (octave + 1 == LATENCY_OCTAVES)
		snprintf(buf, LABEL_SIZE, "%s and more",
			 time_text(latency_octave_ns((unsigned)octave), from));
	else
		snprintf(buf, LABEL_SIZE, "%s to %s",
			 time_text(latency_octave_ns((unsigned)octave), from),
			 time_text(latency_octave_ns((unsigned)octave + 1), to));
	return buf;
}

/* The texts of a line. */
struct figures_line {
	char label[LABEL_SIZE], bar[BAR_COLUMNS + 1];
	char (*texts)[SCALED_SIZE];
	const char **cells; /* the label, one for each column, the bar */
};

static void line_begin(struct figures_line *l, const struct figures_table *t, const char *label)
{
	snprintf(l->label, sizeof(l->label), "%s", label);
	l->bar[0] = '\0';
	l->cells[0] = l->label;
	l->cells[t->n + 1] = l->bar;
}

static void set_head(struct figures_line *l, const struct figures_table *t, int head)
{
	static const char *const labels[HEADS] = { "pass", "target", "", "" };

	line_begin(l, t, head == HEAD_DIRECTION ? t->title : labels[head]);
	for (size_t i = 0; i < t->n; i++)
		l->cells[i + 1] = t->columns[i]->heads[head];
}

static void set_line(struct figures_line *l, const struct figures_table *t, size_t line)
{
	char buf[LABEL_SIZE];

	line_begin(l, t,
		   t->ranges ? range_label(line, buf) :
		   line == 0 ? "operations" :
			       figure_label(t->plan, line - 1, buf));
	for (size_t i = 0; i < t->n; i++) {
		const struct latency_column *c = t->columns[i];

		if (t->ranges)
			l->cells[i + 1] = range_text(c, line, l->texts[i]);
		else if (line == 0)
			l->cells[i + 1] = scaled_count((double)c->ops, l->texts[i]);
		else
			l->cells[i + 1] = scaled_time(c->ns[line - 1], l->texts[i]);
	}
	if (t->ranges && t->n == 1)
		bar_text(t, line, l->bar);
}

static void put_lines(const struct figures_table *t, FILE *f, struct screen_table *table,
		      struct figures_line *l)
{
	for (int head = 0; head < HEADS; head++) {
		if (t->shown[head]) {
			set_head(l, t, head);
			screen_table_put(table, f, l->cells);
		}
	}
	for (size_t line = t->from; line < t->to; line++) {
		set_line(l, t, line);
		screen_table_put(table, f, l->cells);
	}
}

/* Choose the width of each column, and which ones fit. */
static void fit_lines(const struct figures_table *t, struct screen_table *table,
		      struct figures_line *l)
{
	for (int head = 0; head < HEADS; head++) {
		if (t->shown[head]) {
			set_head(l, t, head);
			screen_table_widen(table, l->cells);
		}
	}
	for (size_t line = t->from; line < t->to; line++) {
		set_line(l, t, line);
		screen_table_widen(table, l->cells);
	}
	for (size_t i = 1; i <= t->n; i++)
		table->columns[i].leave = (unsigned)i - 1;
	table->columns[0].left = true;
	screen_table_fit(table);
}

/* Write as many of the columns as fit beside each other; returns how many. */
static size_t put_columns(const struct figures_table *t, FILE *f)
{
	struct figures_line l = { 0 };
	struct screen_table table = { .screen = t->screen, .n = t->n + 2 };
	size_t n = 0;

	table.columns = calloc(table.n, sizeof(*table.columns));
	l.texts = calloc(table.n, sizeof(*l.texts));
	l.cells = calloc(table.n, sizeof(*l.cells));
	if (table.columns && l.texts && l.cells) {
		fit_lines(t, &table, &l);
		put_lines(t, f, &table, &l);
		for (size_t i = 1; i <= t->n; i++)
			n += !table.columns[i].left_out;
	}
	free(l.cells);
	free(l.texts);
	free(table.columns);
	return n;
}

/* Write the columns that tables have; in groups, where not all of them fit beside each other. */
static void put_figures(struct figures_table *t, FILE *f)
{
	size_t left = t->n, n;

	for (; left; left -= n) {
		t->n = left;
		n = put_columns(t, f);
		if (!n)
			break;
		t->columns += n;
		if (left > n)
			fputc('\n', f);
	}
}

static void put_distribution(struct figures_table *t, FILE *f)
{
	struct latency_column **columns = calloc(t->n, sizeof(*columns));
	size_t n = 0;

	t->from = LATENCY_OCTAVES;
	t->to = 0;
	for (size_t i = 0; columns && i < t->n; i++) {
		if (t->columns[i]->all)
			continue;
		columns[n++] = t->columns[i];
		for (size_t k = 0; k < LATENCY_OCTAVES; k++) {
			if (!t->columns[i]->octaves[k])
				continue;
			t->from = k < t->from ? k : t->from;
			t->to = k + 1 > t->to ? k + 1 : t->to;
		}
	}
	t->columns = columns;
	t->n = n;
	t->ranges = true;
	t->title = "distribution";
	put_figures(t, f);
	free(columns);
}

void latency_screen_write(FILE *f, const struct plan *plan, const struct latency_screen *s)
{
	struct screen screen;
	struct figures_table t = {
		.plan = plan,
		.screen = &screen,
		.columns = s->columns,
		.n = s->n,
		.title = "latency",
		.shown = { [HEAD_DIRECTION] = true },
		.to = 1 + count_figures(plan),
	}, distribution;

	screen_init(&screen, STDOUT_FILENO);
	for (size_t i = 0; i < s->n; i++) {
		t.shown[HEAD_PASS] |= !s->columns[i]->run;
		t.shown[HEAD_TARGET] |= !s->columns[i]->run;
		t.shown[HEAD_TIME] |= s->columns[i]->response;
	}
	distribution = t;
	put_figures(&t, f);
	if (plan->latency.histogram) {
		fputc('\n', f);
		put_distribution(&distribution, f);
	}
	screen_free(&screen);
}

/* ---- intervals ---- */

enum {
	INTERVAL_TO,
	INTERVAL_TARGET,
	INTERVAL_OP,
	INTERVAL_TIME,
	INTERVAL_OPS,
	INTERVAL_FIGURES,
};

/* Rows are shown while the run goes on: their widths are known before. */
static const struct screen_column interval_columns[INTERVAL_FIGURES] = {
	[INTERVAL_TO] = { .heading = "time", .width = 6 },
	[INTERVAL_TARGET] = { .heading = "", .width = 4, .left = true },
	[INTERVAL_OP] = { .heading = "", .width = 5, .left = true },
	[INTERVAL_TIME] = { .heading = "", .width = 8, .left = true },
	[INTERVAL_OPS] = { .heading = "ops", .width = 6 },
};

#define FIGURE_WIDTH 7
#define FINE_NS 10000000
#define LEAVE_FIRST 1000 /* more than there are percentiles */

#define KEPT_LAST 3 /* percentiles that others leave before */

/* The order in which figures are left out; the mean and the maximum stay. */
static unsigned leave_of(const struct plan *plan, size_t figure)
{
	switch (figure_stat(plan, figure)) {
	case LATENCY_MEAN:
	case LATENCY_MAX:
		return 0;
	case 50 * HISTOGRAM_PERCENT:
		return 1;
	case 99 * HISTOGRAM_PERCENT:
		return 2;
	case 99 * HISTOGRAM_PERCENT + 9 * HISTOGRAM_PERCENT / 10:
		return KEPT_LAST;
	default:
		return KEPT_LAST + 1 + (unsigned)figure + (figure < N_FIGURES ? LEAVE_FIRST : 0);
	}
}

static bool has_discards(const struct plan *plan)
{
	for (size_t i = 0; i < plan->n_targets; i++) {
		if (plan->targets[i].op == OP_DISCARD)
			return true;
	}
	return false;
}

/* True if a target has response times beside service times. */
static bool has_response(const struct plan *plan)
{
	for (size_t i = 0; i < plan->n_targets; i++) {
		if (plan->targets[i].throttle.interval_ns > 0)
			return true;
	}
	return false;
}

/* The table of intervals, its columns in the order of figure_stat(). */
struct interval_table {
	const struct plan *plan;
	struct screen_table table;
	size_t n; /* figures */
	char (*texts)[SCALED_SIZE];
	const char **cells;
};

static void set_columns(struct interval_table *t)
{
	struct screen_column *columns = t->table.columns;

	memcpy(columns, interval_columns, sizeof(interval_columns));
	for (size_t i = 0; i < t->n; i++) {
		struct screen_column *c = &columns[INTERVAL_FIGURES + i];
		const unsigned width =
			(unsigned)strlen(figure_label(t->plan, i, t->texts[INTERVAL_FIGURES + i]));

		c->heading = figure_label(t->plan, i, t->texts[INTERVAL_FIGURES + i]);
		c->width = width > FIGURE_WIDTH ? width : FIGURE_WIDTH;
		c->leave = leave_of(t->plan, i);
	}
	if (has_discards(t->plan))
		columns[INTERVAL_OP].width = (unsigned)strlen("discard");
	columns[INTERVAL_TARGET].left_out = t->plan->n_targets == 1;
	columns[INTERVAL_TIME].left_out = !has_response(t->plan);
	columns[t->table.n - 1].heading = "";
	screen_table_fit(&t->table);
}

static void put_row(struct interval_table *t, FILE *f, const struct result *r,
		    const struct latency_interval *interval, enum latency_time time, unsigned dir,
		    const struct histogram_view *v)
{
	const bool all = r->what == RESULT_COMBINED;
	char target[SCALED_SIZE];

	snprintf(target, sizeof(target), "#%" PRIu64, r->target);
	t->cells[INTERVAL_TO] = series_time_text(interval->to_ns,
						 interval->to_ns - interval->from_ns < FINE_NS,
						 t->texts[INTERVAL_TO]);
	t->cells[INTERVAL_TARGET] = all ? "all" : target;
	t->cells[INTERVAL_OP] = latency_dir_name(dir);
	t->cells[INTERVAL_TIME] = latency_time_name(time);
	t->cells[INTERVAL_OPS] = scaled_count((double)histogram_count(v), t->texts[INTERVAL_OPS]);
	for (size_t i = 0; i < t->n; i++)
		t->cells[INTERVAL_FIGURES + i] =
			scaled_time(latency_stat_ns(v, figure_stat(t->plan, i)),
				    t->texts[INTERVAL_FIGURES + i]);
	t->cells[t->table.n - 1] = "";
	screen_table_put(&t->table, f, t->cells);
}

static void put_rows(struct interval_table *t, FILE *f, const struct result *r,
		     const struct latency_interval *interval, bool first)
{
	struct histogram_view v;

	set_columns(t);
	if (first) {
		screen_table_end(&t->table, f);
		screen_table_put(&t->table, f, NULL);
	}
	for (unsigned dir = 0; dir < LATENCY_SUBJECTS; dir++)
		for (int time = 0; time < LATENCY_TIMES; time++)
			if (latency_row(r, true, (enum latency_time)time, dir, &v))
				put_row(t, f, r, interval, (enum latency_time)time, dir, &v);
}

void latency_screen_interval(FILE *f, const struct plan *plan, const struct result *r,
			     const struct latency_interval *interval, bool first)
{
	struct screen screen;
	struct interval_table t = { .plan = plan, .n = count_figures(plan) };

	t.table.screen = &screen;
	t.table.n = INTERVAL_FIGURES + t.n + 1;
	t.table.columns = calloc(t.table.n, sizeof(*t.table.columns));
	t.texts = calloc(t.table.n, sizeof(*t.texts));
	t.cells = calloc(t.table.n, sizeof(*t.cells));
	if (t.table.columns && t.texts && t.cells) {
		screen_init(&screen, STDOUT_FILENO);
		put_rows(&t, f, r, interval, first);
		screen_free(&screen);
	}
	free(t.cells);
	free(t.texts);
	free(t.table.columns);
}
