/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The table of figures; latencies by direction, states of the cache, and sums of them. Called by
 * the last QThread to leave a pass, by the results manager, by -latency intervals, by the columns,
 * and by the writers and readers of documents.
 */
#include "xdd/stat/figures.h"

#include <stddef.h>

/*
 * The table. doc/jsonout.schema.json says what each member is.
 */

_Static_assert(offsetof(struct figures, tally) == 0, "rows of the tally fit a struct tally");

static bool knows_begin(const struct figures *f)
{
	return f->begin_ns;
}

static bool knows_finish(const struct figures *f)
{
	return f->finish_ns;
}

static bool knows_first_op(const struct figures *f)
{
	return f->first_op_ns;
}

static bool knows_first_read(const struct figures *f)
{
	return f->first_read_ns;
}

static bool knows_last_write(const struct figures *f)
{
	return f->last_write_ns;
}

static bool knows_resident(const struct figures *f)
{
	return f->cache.range_bytes && f->cache.accuracy < CACHE_NOT_MEASURED;
}

static bool knows_holes(const struct figures *f)
{
	return f->cache.range_bytes && !f->cache.holes_unknown;
}

#define NUMBERS(field_)                          \
	.off = offsetof(struct figures, field_), \
	.n = sizeof(((struct figures *)0)->field_) / sizeof(uint64_t)

/* QThreads count it, or one of them does not alone. */
#define COUNTED(field_) NUMBERS(tally.field_), .live = offsetof(struct counters, field_)
#define SUMMED(field_) NUMBERS(field_), .live = FIGURE_NOT_LIVE

const struct figure_row figure_rows[] = {
	{ COUNTED(ops), .member = "ops", .help = "Operations that succeeded.", .required = true },
	{ COUNTED(bytes), .member = "bytes",
	  .help = "Bytes that operations moved, also those that failed.", .required = true },
	{ COUNTED(failed_bytes), .member = "failed_bytes",
	  .help = "Of these, the bytes of failed operations.", .required = true },
	{ COUNTED(busy_ns), .member = "busy_ns",
	  .help = "Sum of the service times of operations that succeeded.", .required = true },
	{ COUNTED(failed_ops) },
	{ COUNTED(issued), .member = "issued",
	  .help = "Operations that were submitted, also in warm-ups.", .required = true },
	{ COUNTED(warmup_ops), .member = "warmup_ops",
	  .help = "Operations of warm-ups, which are not among the others." },
	{ COUNTED(errors), .member = "errors", .help = "Operations that failed.",
	  .required = true },
	{ SUMMED(tally.outstanding), .member = "outstanding", .required = true },
	{ COUNTED(miscompares), .member = "miscompares", .part = FIGURES_VERIFIED },
	{ COUNTED(retries), .member = "retries",
	  .help = "Further attempts of operations that had failed." },
	{ COUNTED(order_breaks), .member = "order_breaks", .part = FIGURES_ORDER },
	{ COUNTED(fill_ns), .member = "fill_ns",
	  .help = "Time spent filling buffers, over all QThreads." },
	{ COUNTED(overhead_ns), .member = "overhead_ns", .part = FIGURES_OVERHEAD },
	{ COUNTED(flushes), .member = "flushes", .help = "Flushes, also those that failed." },
	{ COUNTED(flush_ns), .member = "flush_ns", .help = "Sum of the times of flushes." },
	{ SUMMED(tally.sync_ns), .member = "sync_ns", .part = FIGURES_FILE },
	{ SUMMED(tally.open_ns), .member = "open_ns", .part = FIGURES_FILE },
	{ SUMMED(tally.close_ns), .member = "close_ns", .part = FIGURES_FILE },
	{ COUNTED(net_ns), .member = "network_ns", .part = FIGURES_NETWORK },
	{ COUNTED(net_wait_ns), .member = "network_wait_ns", .part = FIGURES_NETWORK },
	{ COUNTED(check_ns), .member = "check_ns", .part = FIGURES_NETWORK },
	{ COUNTED(first_issue_ns), .sum = FIGURE_SUM_LEAST, .none = UINT64_MAX },
	{ COUNTED(last_done_ns), .sum = FIGURE_SUM_GREATEST },
	{ SUMMED(elapsed_ns), .member = "elapsed_ns", .required = true },
	{ SUMMED(begin_ns), .member = "begin_ns", .sum = FIGURE_SUM_LEAST, .known = knows_begin },
	{ SUMMED(finish_ns), .member = "finish_ns", .sum = FIGURE_SUM_GREATEST,
	  .known = knows_finish },
	{ SUMMED(first_op_ns), .member = "first_operation_ns", .sum = FIGURE_SUM_FIRST,
	  .known = knows_first_op },
	{ SUMMED(cache.range_bytes), .member = "range_bytes", .sum = FIGURE_SUM_CACHE },
	{ SUMMED(cache.resident_bytes), .member = "resident_bytes", .sum = FIGURE_SUM_CACHE,
	  .known = knows_resident },
	{ SUMMED(cache.hole_bytes), .member = "hole_bytes", .sum = FIGURE_SUM_CACHE,
	  .known = knows_holes },
	{ SUMMED(wait_ns), .member = "wait_ns", .part = FIGURES_WAIT },
	{ SUMMED(cpu.user_ns), .member = "user_ns", .part = FIGURES_CPU },
	{ SUMMED(cpu.sys_ns), .member = "system_ns", .part = FIGURES_CPU },
	{ SUMMED(lag_ns), .member = "lag_ns", .part = FIGURES_LAG },
	{ SUMMED(first_read_ns), .member = "first_read_ns", .sum = FIGURE_SUM_LEAST,
	  .part = FIGURES_NETWORK, .known = knows_first_read },
	{ SUMMED(last_write_ns), .member = "last_write_ns", .sum = FIGURE_SUM_GREATEST,
	  .part = FIGURES_NETWORK, .known = knows_last_write },
	{ .n = 0 },
};

static void add_number(uint64_t *sum, uint64_t from, const struct figure_row *row, bool first)
{
	switch (row->sum) {
	case FIGURE_SUM_ADD:
		*sum += from;
		break;
	case FIGURE_SUM_LEAST:
		if (from != row->none && (*sum == row->none || from < *sum))
			*sum = from;
		break;
	case FIGURE_SUM_GREATEST:
		if (from > *sum)
			*sum = from;
		break;
	case FIGURE_SUM_FIRST:
		if (first)
			*sum = from;
		break;
	case FIGURE_SUM_CACHE:
		break;
	}
}

void figure_row_add(void *sum, const void *from, const struct figure_row *row, bool first)
{
	for (size_t i = 0; i < row->n; i++)
		add_number(&figure_row_at(sum, row)[i], figure_row_read(from, row)[i], row, first);
}

void cache_state_add(struct cache_state *sum, const struct cache_state *from)
{
	sum->range_bytes += from->range_bytes;
	sum->resident_bytes += from->resident_bytes;
	sum->hole_bytes += from->hole_bytes;
	sum->holes_unknown |= from->holes_unknown;
	if (from->accuracy > sum->accuracy)
		sum->accuracy = from->accuracy;
}

/*
 * Latencies by direction. Called by the last QThread to leave a pass, by the results manager and
 * by the columns.
 */

void latency_init(struct latency *l)
{
	for (int time = 0; time < LATENCY_TIMES; time++)
		for (int dir = 0; dir < DIR_COUNT; dir++)
			histogram_sum_init(&l->of[time][dir]);
	histogram_sum_init(&l->flushes);
}

void latency_free(struct latency *l)
{
	for (int time = 0; time < LATENCY_TIMES; time++)
		for (int dir = 0; dir < DIR_COUNT; dir++)
			histogram_sum_free(&l->of[time][dir]);
	histogram_sum_free(&l->flushes);
}

int latency_add(struct latency *l, const struct latency *from)
{
	int err = histogram_sum_add(&l->flushes, &from->flushes);

	for (int time = 0; time < LATENCY_TIMES && !err; time++)
		for (int dir = 0; dir < DIR_COUNT && !err; dir++)
			err = histogram_sum_add(&l->of[time][dir], &from->of[time][dir]);
	return err;
}

void latency_subtract(struct latency *l, const struct latency *earlier)
{
	for (int time = 0; time < LATENCY_TIMES; time++)
		for (int dir = 0; dir < DIR_COUNT; dir++)
			histogram_sum_subtract(&l->of[time][dir], &earlier->of[time][dir]);
	histogram_sum_subtract(&l->flushes, &earlier->flushes);
}

struct histogram_view latency_view(const struct latency *l, enum latency_time time, unsigned dir)
{
	struct histogram_view v = { .n_parts = 0 };

	for (unsigned i = 0; i < DIR_COUNT; i++) {
		if (dir == LATENCY_ALL_DIRS || dir == i)
			v.parts[v.n_parts++] = &l->of[time][i];
	}
	if (dir == LATENCY_FLUSHES && time == LATENCY_SERVICE)
		v.parts[v.n_parts++] = &l->flushes;
	return v;
}

/*
 * Figures and sums of them. Called by the last QThread to leave a pass, by the results manager and
 * by -latency intervals.
 */

void figures_init(struct figures *f)
{
	*f = (struct figures){ .known = FIGURES_ALL };
	tally_clear(&f->tally);
	latency_init(&f->latency);
}

void figures_free(struct figures *f)
{
	latency_free(&f->latency);
}

int figures_add(struct figures *sum, const struct figures *from)
{
	const bool first = !sum->parts++;

	for (const struct figure_row *row = figure_rows; row->n; row++)
		figure_row_add(sum, from, row, first);
	sum->known &= from->known;
	extremes_add(&sum->extremes, &from->extremes);
	cache_state_add(&sum->cache, &from->cache);
	return latency_add(&sum->latency, &from->latency);
}

void figures_set_elapsed(struct figures *f)
{
	f->elapsed_ns = tally_elapsed_ns(&f->tally);
}
