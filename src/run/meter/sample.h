/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Data of a target around a pass: where it is before, and what is in memory only afterwards.
 * Private to src/run.
 */
#ifndef XDD_RUN_METER_SAMPLE_H
#define XDD_RUN_METER_SAMPLE_H

#include <stdbool.h>
#include <stdint.h>

#include "xdd/io/datamap.h"
#include "xdd/report/result.h"

struct run;
struct target;

/*
 * Where the data of a target is before a pass: in the page cache, on a device, or nowhere. Private
 * to src/run.
 */

/* Written between passes by the thread that sets up the pass, const during a pass. */
struct cache_sample {
	struct datamap map; /* empty: nothing is read, or nothing can be known */
	enum cache_accuracy accuracy;
};

/*
 * Before a pass, and outside the timed window: empty the page cache where -dropcache asks for that,
 * and take the map of what the pass may read. Reports what goes wrong. By the thread that sets up
 * the pass.
 */
void cache_sample_take(struct target *t);

/*
 * Fill in `data` for a pass that has issued operations 0 to `issued` - 1. Any thread, until the
 * next pass is set up.
 */
void cache_sample_state(const struct target *t, uint64_t issued, struct cache_state *data);

/*
 * -dropcache system: write back everything and empty all caches of the kernel, then look at all
 * targets again; with no operation in flight. By the results manager before the first pass, and by
 * the last QThread of the last target to be set up for one of the others.
 */
void cache_drop_system(struct run *run);

/* Frees what the look at a target holds. */
void cache_sample_free(struct cache_sample *s);

/*
 * The part of what a pass wrote that is in memory only when it ends. Private to src/run.
 */

struct dirty_sample {
	bool known;
	bool sampled;	/* some of the operations stand for all */
	double share;	/* of what the pass wrote: dirty, or being written back; 0 to 1 */
	uint64_t bytes; /* the same, in bytes; at most the size of the target */
};

/*
 * Find out if operations write to the page cache of storage: not with -dio, not in file systems in
 * memory, and not where passes end with a flush. Called when the file has been opened.
 */
void dirty_sample_open(struct target *t);

/*
 * If they do, look at the pages that the operations of the pass wrote. It waits for no device. The
 * last QThread to leave the pass, while the file is open.
 */
struct dirty_sample dirty_sample_take(const struct target *t);

#endif
