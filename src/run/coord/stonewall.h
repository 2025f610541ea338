/*
 * -stonewall: no target issues any more in a pass that one of them has ended, or whose time is
 * over; with wearout each goes on to the operation that the one that had come furthest had issued.
 * Private to src/run.
 *
 * Whatever ends it first, the decision is made once for each pass. Another rank of the run may make
 * it as well: the thread that learns of it calls stonewall_close().
 */
#ifndef XDD_RUN_COORD_STONEWALL_H
#define XDD_RUN_COORD_STONEWALL_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "xdd/stat/counters.h"
#include "xdd/sync/group.h"

struct run;
struct target;

/* The moment at which no target issued any more. */
struct stonewall_moment {
	uint64_t pass; /* 0: none yet */
	uint64_t at_ns;
	uint32_t target;
	struct tally tally; /* of all targets until then */
	/* with wearout, all targets may issue so many operations; UINT64_MAX: not known yet */
	uint64_t limit;
};

struct stonewall {
	pthread_mutex_t lock;
	struct stonewall_moment last; /* guarded by lock */
};

void stonewall_init(struct stonewall *s);
void stonewall_destroy(struct stonewall *s);

/*
 * The target, or with STONEWALL_BY_TIME none of them, ends `pass` for all targets that have begun
 * it; later calls for the same pass do nothing. Any thread.
 */
void stonewall_close(struct run *run, uint64_t pass, uint32_t target);

/* With wearout: the operations that all targets of all ranks may issue in `pass`. Any thread. */
void stonewall_go_on(struct run *run, uint64_t pass, uint64_t ops);

/*
 * A target is set up for a pass, which another rank may have ended already. Between
 * stonewall_lock() and stonewall_unlock().
 */
void stonewall_target_begins(struct target *t);

/* The last QThread of `t` to leave its pass. */
void stonewall_target_ends(struct target *t);

/*
 * The state of a target changes from one pass to the next between these. Any thread; without
 * -stonewall nothing.
 */
void stonewall_lock(struct run *run);
void stonewall_unlock(struct run *run);

/*
 * The moment of `pass`, once all targets have ended it; `rank` is the one that did so first, as all
 * ranks know it. False: there was none. Results manager.
 */
bool stonewall_get(struct run *run, uint64_t pass, struct stonewall_moment *m, unsigned *rank);

#endif
