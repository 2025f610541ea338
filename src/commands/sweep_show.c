/*
 * Standard output of a sweep: the rounds as they end, on a terminal, and the table of all points.
 * Called by sweep.c and sweep_run.c.
 */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "commands/sweep.h"
#include "xdd/base/text.h"
#include "xdd/base/units.h"
#include "xdd/plan/plan.h"
#include "xdd/sys/clock.h"

#define LABEL_SIZE 160

/* ---- numbers ---- */

/* A time in the unit that suits it. */
const char *sweep_time_text(double ns, char *buf, size_t size)
{
	if (isnan(ns))
		snprintf(buf, size, "-");
	else if (ns < 1e3)
		snprintf(buf, size, "%.0f ns", ns);
	else if (ns < 1e6)
		snprintf(buf, size, "%.4g us", ns / 1e3);
	else if (ns < 1e9)
		snprintf(buf, size, "%.4g ms", ns / 1e6);
	else
		snprintf(buf, size, "%.4g s", ns / 1e9);
	return buf;
}

const char *sweep_rate_text(double value, char *buf, size_t size)
{
	if (isnan(value))
		snprintf(buf, size, "-");
	else
		snprintf(buf, size, value < 100 ? "%.2f" : value < 1000 ? "%.1f" : "%.0f", value);
	return buf;
}

/* "1:23:45" */
static void clock_text(uint64_t ns, char *buf, size_t size)
{
	const uint64_t s = ns / NS_PER_SEC;

	if (s >= 3600)
		snprintf(buf, size, "%" PRIu64 ":%02" PRIu64 ":%02" PRIu64, s / 3600, s / 60 % 60,
			 s % 60);
	else
		snprintf(buf, size, "%" PRIu64 ":%02" PRIu64, s / 60, s % 60);
}

/* ---- the line before a run ---- */

/* Runs that are known to follow. */
static uint64_t runs_left(const struct sweep_results *r)
{
	uint64_t n = 0;

	for (size_t i = 0; i < r->vary->n_points; i++) {
		const struct sweep_point *p = &r->points[i];

		if (p->unused)
			continue;
		if (p->n < r->least)
			n += r->least - p->n;
		else
			n += sweep_wants(r, p);
	}
	return n;
}

char *sweep_title(const struct sweep *s, const struct sweep_round *round, char *buf, size_t size)
{
	char label[LABEL_SIZE], left[32] = "";
	const uint64_t runs = runs_left(&s->results);
	const bool open = s->results.until_percent > 0 || s->results.each_ns || s->curve;

	sweep_label(&s->vary, (size_t)round->point, label, sizeof(label));
	if (s->runs)
		clock_text((clock_now_ns() - s->begun_ns) / s->runs * runs, left, sizeof(left));
	snprintf(buf, size, "round %" PRIu64 ", point %" PRIu64 " of %zu, %s%s%s%s", round->round,
		 round->point + 1, s->vary.n_points, open && *left ? "at least " : "", left,
		 *left ? " left, " : "", label);
	return buf;
}

/* ---- tables ---- */

/* The width of the column of an axis. */
static int axis_width(const struct vary_axis *axis)
{
	size_t width = strlen(axis->name);

	for (size_t i = 0; i < axis->n; i++) {
		const size_t length = strlen(axis->values[i].text);

		width = length > width ? length : width;
	}
	return width > 40 ? 40 : (int)width;
}

static void put_values(const struct sweep *s, size_t point)
{
	for (size_t i = 0; i < s->vary.n_axes; i++) {
		const struct vary_axis *axis = &s->vary.axes[i];
		const char *text = axis->values[vary_at(&s->vary, point, i)].text;
		const int pad = axis_width(axis) - (int)strlen(text);

		printf("%*s", pad > 0 ? pad : 0, "");
		printable_put(stdout, text);
		fputs("  ", stdout);
	}
}

static void put_header(const struct sweep *s, const char *last)
{
	for (size_t i = 0; i < s->vary.n_axes; i++) {
		const struct vary_axis *axis = &s->vary.axes[i];
		const int pad = axis_width(axis) - (int)strlen(axis->name);

		printf("%*s", pad > 0 ? pad : 0, "");
		printable_put(stdout, axis->name);
		fputs("  ", stdout);
	}
	printf("%10s  %10s  %11s  %11s  %s\n", "MB/s", "IOPS", "latency", "p99", last);
}

static void put_figures(double bandwidth, double iops, double latency, double p99)
{
	char a[32], b[32], c[32], d[32];

	printf("%10s  %10s  %11s  %11s  ", sweep_rate_text(bandwidth / 1e6, a, sizeof(a)),
	       sweep_rate_text(iops, b, sizeof(b)), sweep_time_text(latency, c, sizeof(c)),
	       sweep_time_text(p99, d, sizeof(d)));
}

void sweep_show_head(const struct sweep *s)
{
	if (s->quiet)
		return;
	printf("%zu point%s, %" PRIu64 " round%s each%s, order by -orderseed %" PRIu64 "\n",
	       s->vary.n_points, s->vary.n_points == 1 ? "" : "s", s->results.least,
	       s->results.least == 1 ? "" : "s",
	       s->results.most > s->results.least ? " or more" : "", s->results.seed);
	if (s->terminal)
		put_header(s, "round");
	fflush(stdout);
}

void sweep_show_round(const struct sweep *s, const struct sweep_round *r)
{
	put_values(s, (size_t)r->point);
	put_figures(r->known ? r->values[FIGURE_BANDWIDTH] : NAN,
		    r->known ? r->values[FIGURE_IOPS] : NAN,
		    r->known ? r->values[FIGURE_LATENCY] : NAN,
		    r->known ? r->values[FIGURE_P99] : NAN);
	printf("%5" PRIu64 "\n", r->round);
	fflush(stdout);
}

const char *sweep_percent_text(double percent, char *buf, size_t size)
{
	if (percent < 999.5)
		snprintf(buf, size, percent < 9.95 ? "%.1f %%" : "%.0f %%", percent);
	else
		snprintf(buf, size, isfinite(percent) ? "> 999 %%" : "?");
	return buf;
}

/* The last columns: the interval of the bandwidth, rounds, steady state, errors. */
static void put_rest(const struct sweep *s, const struct sweep_point *p)
{
	const struct sweep_mean m = sweep_mean(&s->results, p, FIGURE_BANDWIDTH);
	const struct sweep_steadiness steady = sweep_steady(p);
	uint64_t errors = 0;
	char percent[32];

	for (size_t i = 0; i < p->n; i++)
		errors += p->rounds[i].errors;
	printf("%8s  %6zu  ", sweep_percent_text(m.percent, percent, sizeof(percent)), p->n);
	if (steady.after)
		printf("after round %" PRIu64, steady.after);
	else
		fputs(m.n < STATS_STEADY_WINDOW ? "-" : "not reached", stdout);
	if (errors)
		printf(", %" PRIu64 " errors", errors);
	if (p->status && p->status != XDD_IO_ERROR)
		printf(", status %d", p->status);
	putchar('\n');
}

void sweep_show_table(const struct sweep *s)
{
	const struct sweep_results *r = &s->results;
	size_t done = 0;

	if (s->quiet)
		return;
	if (s->terminal)
		putchar('\n');
	put_header(s, "  +-95 %  rounds  steady");
	for (size_t i = 0; i < s->vary.n_points; i++) {
		const struct sweep_point *p = &r->points[i];

		put_values(s, i);
		put_figures(sweep_mean(r, p, FIGURE_BANDWIDTH).mean,
			    sweep_mean(r, p, FIGURE_IOPS).mean,
			    sweep_mean(r, p, FIGURE_LATENCY).mean,
			    sweep_mean(r, p, FIGURE_P99).mean);
		put_rest(s, p);
		done += p->n && !sweep_wants(r, p);
	}
	if (r->partial)
		printf("Interrupted: %zu of %zu points are complete%s.\n", done, s->vary.n_points,
		       s->journal_path ? "; -resume continues" : "");
}
