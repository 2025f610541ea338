/*
 * A barrier that can be cancelled: `count` threads meet, all leave together, and all see the same
 * time of release. Reusable, round after round, by the same number of threads.
 */
#ifndef XDD_SYNC_BARRIER_H
#define XDD_SYNC_BARRIER_H

#include <stdatomic.h>
#include <stdint.h>

struct barrier {
	/* const after barrier_init() */
	uint32_t count;

	/* atomic: threads that have arrived in this round */
	_Atomic uint32_t arrived;

	/* atomic: round number times two; the lowest bit is set for good by barrier_cancel() */
	_Atomic uint32_t round;

	/* written by the last to arrive, before it starts the next round */
	uint64_t release_ns;
};

/* `count` is at least 1. The caller owns the memory; there is nothing to destroy. */
void barrier_init(struct barrier *b, uint32_t count);

/*
 * Wait for the others. Returns 1 in exactly one of the threads of a round, 0 in the others, or
 * -ECANCELED when the barrier is or becomes cancelled. `*release_ns` (may be NULL) is the clock at
 * which the round was complete, the same for all.
 */
int barrier_wait(struct barrier *b, uint64_t *release_ns);

/* End all present and future waits with -ECANCELED. Any thread. */
void barrier_cancel(struct barrier *b);

#endif
