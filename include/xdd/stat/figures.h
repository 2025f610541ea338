/*
 * The figures of a result: all that is measured of a QThread, a target or a run, in one pass or in
 * several.
 *
 * A struct figures belongs to one thread at a time. It owns the memory of its latencies; a copy by
 * assignment borrows it and is not freed.
 */
#ifndef XDD_STAT_FIGURES_H
#define XDD_STAT_FIGURES_H

#include <stdint.h>

#include "xdd/stat/cache_state.h"
#include "xdd/stat/counters.h"
#include "xdd/stat/extremes.h"
#include "xdd/stat/latency.h"
#include "xdd/sys/clock.h"

/*
 * Figures that not every run measures, as bits of a mask: those an output needs, and those that are
 * known.
 */
enum figures_part {
	FIGURES_LATENCY = 1u << 0,  /* latency */
	FIGURES_EXTREMES = 1u << 1, /* extremes */
	FIGURES_OVERHEAD = 1u << 2, /* tally.overhead_ns */
	FIGURES_ORDER = 1u << 3,    /* tally.order_breaks */
	FIGURES_WAIT = 1u << 4,	    /* wait_ns */
	FIGURES_QTHREADS = 1u << 5, /* figures of each QThread */
	FIGURES_PASSES = 1u << 6,   /* statistics over the passes */
	FIGURES_STARTS = 1u << 7,   /* the starts of several targets */
	FIGURES_CPU = 1u << 8,	    /* cpu */
	FIGURES_DESKEW = 1u << 9,   /* window, tail and fairness of struct result */
	FIGURES_NETWORK = 1u << 10, /* end-to-end: net_ns, net_wait_ns and check_ns of the tally */
	FIGURES_LAG = 1u << 11,	    /* end-to-end: lag_ns */
	/* percentiles and maxima of `latency`, which may be of a sample on the null device */
	FIGURES_PERCENTILES = 1u << 12,
	FIGURES_ALL = (1u << 13) - 1,
};

struct figures {
	unsigned known; /* enum figures_part; those of a sum are known of all its parts */
	uint32_t parts; /* figures that were added: figures_add() */
	struct tally tally;
	struct latency latency;
	struct extremes extremes;
	struct cpu_time cpu;
	struct cache_state cache;
	uint64_t wait_ns;     /* of the QThreads: ready to run, without a processor */
	uint64_t first_op_ns; /* completion time of the first operation; 0: unknown */
	uint64_t elapsed_ns;  /* first issue to last completion, summed over passes */

	/* end-to-end, as far as this side or the other measured it */
	uint64_t lag_ns;	/* time that the QThreads of the destination waited */
	uint64_t first_read_ns; /* start of the pass to the first read; of a sum: the least */
	uint64_t last_write_ns; /* to the last write; of a sum: the greatest; 0: unknown */
};

/* An empty sum: nothing was done, and all of that is known. */
void figures_init(struct figures *f);

/* Free the latencies. Safe on figures that are all zero, and when called again. */
void figures_free(struct figures *f);

/*
 * Add `from` to `sum`; the first operation is that of the first part. Returns 0, or -ENOMEM with
 * latencies missing from the sum.
 */
int figures_add(struct figures *sum, const struct figures *from);

/* Set the elapsed time of one pass, once its tally is complete. */
void figures_set_elapsed(struct figures *f);

#endif
