/*
 * Figures, latencies by direction, states of the cache, and sums of them. Called by the last
 * QThread to leave a pass, by the results manager, by -latency intervals and by the columns.
 */
#include "xdd/stat/figures.h"

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
	if (!sum->parts++)
		sum->first_op_ns = from->first_op_ns;
	sum->known &= from->known;
	tally_add(&sum->tally, &from->tally);
	extremes_add(&sum->extremes, &from->extremes);
	sum->cpu.user_ns += from->cpu.user_ns;
	sum->cpu.sys_ns += from->cpu.sys_ns;
	cache_state_add(&sum->cache, &from->cache);
	sum->wait_ns += from->wait_ns;
	sum->elapsed_ns += from->elapsed_ns;
	sum->lag_ns += from->lag_ns;
	if (from->first_read_ns &&
	    (!sum->first_read_ns || from->first_read_ns < sum->first_read_ns))
		sum->first_read_ns = from->first_read_ns;
	if (from->last_write_ns > sum->last_write_ns)
		sum->last_write_ns = from->last_write_ns;
	return latency_add(&sum->latency, &from->latency);
}

void figures_set_elapsed(struct figures *f)
{
	f->elapsed_ns = tally_elapsed_ns(&f->tally);
}
