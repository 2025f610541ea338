/*
 * Latencies by direction. Called by the last QThread to leave a pass, by the results manager and by
 * the columns.
 */
#include "xdd/stat/latency.h"

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
