/*
 * Figures and sums of them. Called by the last QThread to leave a pass, by the results manager and
 * by -latency intervals.
 */
#include "xdd/stat/figures.h"

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
