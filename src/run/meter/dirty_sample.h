/*
 * The part of what a pass wrote that is in memory only when it ends. Private to src/run.
 */
#ifndef XDD_RUN_METER_DIRTY_SAMPLE_H
#define XDD_RUN_METER_DIRTY_SAMPLE_H

#include <stdbool.h>
#include <stdint.h>

struct target;

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
