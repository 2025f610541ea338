/*
 * -snooze: rests that are a share of the mean response time. Private to src/run.
 *
 * Each QThread has means of its own, one for each direction, of the operations of the pass that
 * have not failed. Rests change when operations are issued, never which ones.
 */
#ifndef XDD_RUN_COORD_SNOOZE_H
#define XDD_RUN_COORD_SNOOZE_H

#include <stdint.h>

#include "xdd/stat/counters.h"

struct io_request;
struct target_plan;

/* Operations of the pass so far. Owned by the QThread. */
struct snooze {
	uint64_t ops[DIR_COUNT];
	uint64_t took_ns[DIR_COUNT]; /* total */
};

/* The QThread begins a pass. */
static inline void snooze_begin_pass(struct snooze *s)
{
	*s = (struct snooze){ 0 };
}

/*
 * Add `req`, which has completed at clock `done_ns`, to the mean of its direction. Returns how long
 * its slot rests: 0 without -snooze. Of a first operation that has failed, its own time counts.
 */
uint64_t snooze_ns(struct snooze *s, const struct target_plan *plan, const struct io_request *req,
		   uint64_t done_ns);

#endif
