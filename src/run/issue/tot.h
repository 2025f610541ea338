/*
 * The target operation table: the turn among operations that have their numbers already. User
 * guide, 5.7. Private to src/run.
 *
 * Each operation has a slot, found by its number, never by its thread. The table is longer than the
 * greatest number of operations in flight, so that no two of them share a slot.
 */
#ifndef XDD_RUN_ISSUE_TOT_H
#define XDD_RUN_ISSUE_TOT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TOT_SLOTS_PER_OPERATION 20 /* times the queue depth; the guide's default */

struct tot {
	/* const after tot_init() */
	uint32_t n_slots;

	/* atomic: the words of tot.c, one per slot */
	_Atomic uint32_t *slots;
};

/* A table for `queue_depth` operations in flight. Returns 0 or -ENOMEM. */
int tot_init(struct tot *t, uint64_t queue_depth);

/* Accepts a zeroed table. */
void tot_destroy(struct tot *t);

/* Operation 0 has the turn. While no thread uses the table. */
void tot_reset(struct tot *t);

/*
 * Wait for the turn of operation `n`. Returns 0, or -ECANCELED once the table is cancelled. Any
 * thread.
 */
int tot_wait(struct tot *t, uint64_t n);

/* True: operation `n` has the turn. Any thread. */
bool tot_is_turn(const struct tot *t, uint64_t n);

/*
 * Pass the turn of operation `n` on to the next. Once per operation, by the thread that has the
 * turn.
 */
void tot_pass_on(struct tot *t, uint64_t n);

/* End all present and future waits with -ECANCELED. Any thread. */
void tot_cancel(struct tot *t);

#endif
