/*
 * The difference of two documents, as xdd compare reports it. Called by page.c.
 */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/page/page.h"

/* The documents and what is compared. */
struct difference {
	struct compare_side a, b;
	struct compare_points points; /* of sweeps; owned */
	struct compare_subject *subjects;
	char (*names)[PAGE_NAME_SIZE]; /* of the targets of runs; owned */
	size_t n;
	size_t real, unknown; /* rows */
};

static bool find_subjects(struct difference *d)
{
	const json_t *root = d->a.runs[0].root;
	const size_t targets = json_array_size(json_object_get(root, "statistics"));

	d->subjects = calloc(targets + 1, sizeof(*d->subjects));
	d->names = calloc(targets + 1, sizeof(*d->names));
	if (!d->subjects || !d->names)
		return false;
	for (size_t i = 0; i <= targets; i++) {
		const json_int_t target = (json_int_t)i - 1;

		if (!compare_statistic(&d->a.runs[0], target) ||
		    !compare_statistic(&d->b.runs[0], target))
			continue;
		page_target(root, target < 0 ? NAN : (double)target, d->names[d->n]);
		d->subjects[d->n] = (struct compare_subject){
			.target = target, .name = d->names[d->n], .a = &d->a, .b = &d->b
		};
		d->n++;
	}
	return true;
}

static bool find_points(struct difference *d)
{
	if (!compare_sweep_points(&d->a, &d->b, &d->points))
		return false;
	d->subjects = d->points.subjects;
	d->n = d->points.n;
	return true;
}

static const char *percent(double ratio, char *buf, size_t size)
{
	if (isfinite(ratio))
		snprintf(buf, size, "%+.1f %%", 100 * (ratio - 1));
	else
		snprintf(buf, size, "-");
	return buf;
}

static void put_percent(struct page *p, double value)
{
	char text[32];

	snprintf(text, sizeof(text), "%.3g %%", value);
	page_number(p, text);
}

static void put_row(struct difference *d, struct page *p, const struct compare_subject *s,
		    enum pass_figure figure)
{
	static const char *const verdicts[] = {
		[COMPARE_UNKNOWN] = "unknown: too few passes",
		[COMPARE_CHANCE] = "may be chance",
		[COMPARE_UNSTABLE] = "may be chance: a run is not reproducible",
		[COMPARE_REAL] = "real",
	};
	const struct compare_figure f = compare_judge(s, figure, d->n);
	const struct figure_shown *shown = &figures_shown[figure];
	void (*put)(struct page *, double) = figure == FIGURE_BANDWIDTH ? page_rate_cell :
					     figure == FIGURE_IOPS || figure == FIGURE_MAXIMUM ?
									  page_ops_cell :
					     figure == FIGURE_KNEE ? put_percent :
								     page_time_cell;
	char low[32], high[32], interval[72] = "-";

	p->incomplete |= f.no_memory;
	if (f.verdict == COMPARE_NO_FIGURE)
		return;
	if (f.verdict != COMPARE_UNKNOWN)
		snprintf(interval, sizeof(interval), "%s to %s",
			 percent(f.ratio.low, low, sizeof(low)),
			 percent(f.ratio.high, high, sizeof(high)));
	page_row(p, s->name);
	page_cell(p, shown->name);
	put(p, f.a);
	put(p, f.b);
	page_number(p, percent(f.ratio.ratio, low, sizeof(low)));
	page_number(p, interval);
	page_cell(p, verdicts[f.verdict]);
	page_row_end(p);
	d->real += f.verdict == COMPARE_REAL;
	d->unknown += f.verdict == COMPARE_UNKNOWN;
}

static void put_table(struct difference *d, struct page *p)
{
	static const char *const heads[] = { "|subject", "|figure",  "a",	 "b",
					     "b to a",	 "interval", "|verdict", NULL };
	const size_t most = PAGE_MAX_ROWS / FIGURE_NAMES;

	page_table(p,
		   "b to a; intervals are at 95 %, of percentiles, flushes and response times at "
		   "99 %",
		   heads);
	for (size_t i = 0; i < d->n && i < most; i++) {
		for (enum pass_figure figure = 0; figure < FIGURE_NAMES; figure++)
			put_row(d, p, &d->subjects[i], figure);
	}
	page_table_end(p, d->n > most ? FIGURE_NAMES * (d->n - most) : 0);
}

static void put_verdict(struct difference *d, struct page *p)
{
	if (!d->n)
		page_line(p,
			  "The documents have no target or point in common with complete passes.");
	else if (d->real)
		page_line(
			p,
			"The results differ: %zu differences are real, beyond the scatter of the passes.",
			d->real);
	else if (d->unknown)
		page_line(
			p,
			"The results cannot be compared: two complete passes of each are needed, as with -passes 5.");
	else
		page_line(p, "No difference between the results is more than chance.");
}

/* ---- distributions beside each other ---- */

static void put_cells(struct page *p, const json_t *const *all, const char *key)
{
	page_row(p, key);
	for (size_t i = 0; i < 2 * PAGE_DIRECTIONS; i++) {
		const json_t *times = page_service(all[i % 2], page_directions[i / 2]);

		page_time_cell(p, page_real(json_object_get(times, "percentiles_ns"), key));
	}
	page_row_end(p);
}

static void put_distributions(struct page *p, const struct compare_run *runs)
{
	static const char *const keys[] = { "50", "90", "95", "99", "99.9", "99.99", "99.999" };
	static const char *const heads[] = { "|percentile", "read, a", "read, b", "write, a",
					     "write, b",    "noop, a", "noop, b", "discard, a",
					     "discard, b",  NULL };
	const json_t *all[] = { page_result(runs[0].root, "COMBINED"),
				page_result(runs[1].root, "COMBINED") };
	struct plot *plot;

	page_figure(p,
		    "Distributions of the service times of both: share of the operations that took "
		    "at least so long");
	plot = page_plot(p, &runs[0], PLOT_LINES, "distributions",
			 "Distributions of both documents");
	page_distribution_axes(plot);
	for (size_t i = 0; i < 2 * PAGE_DIRECTIONS; i++) {
		char title[32];

		snprintf(title, sizeof(title), "%s, %s", page_directions[i / 2], i % 2 ? "b" : "a");
		page_distribution_line(plot, page_service(all[i % 2], page_directions[i / 2]),
				       title);
	}
	page_table(p, "Percentiles of both", heads);
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		put_cells(p, all, keys[i]);
	page_table_end(p, 0);
	page_figure_end(p);
}

void page_difference(struct page *p, const struct compare_run *runs)
{
	/* The sides do not change them. */
	struct compare_run *both = (struct compare_run *)(uintptr_t)runs;
	struct difference d = { .a = { "a", &both[0], 1 }, .b = { "b", &both[1], 1 } };
	const bool sweeps = compare_is_sweep(&runs[0]);

	page_section(p, 2, "Difference");
	if (sweeps != compare_is_sweep(&runs[1])) {
		page_line(p, "A run and a sweep are not compared.");
	} else if (sweeps ? find_points(&d) : find_subjects(&d)) {
		if (d.n)
			put_table(&d, p);
		put_verdict(&d, p);
		if (!sweeps)
			put_distributions(p, runs);
	} else {
		p->incomplete = true;
	}
	page_section_end(p);
	if (sweeps)
		compare_sweep_free(&d.points);
	else
		free(d.subjects);
	free(d.names);
}
