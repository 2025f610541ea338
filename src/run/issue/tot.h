/*
 * The target operation table: whose turn it is among operations whose numbers are taken already. The
 * user guide, 5.7. Private to src/run.
 *
 * One slot an operation, found by its number, never by its thread. The table is longer than the number of
 * operations that can be under way, so that no two of them share a slot.
 */
#ifndef XDD_RUN_ISSUE_TOT_H
#define XDD_RUN_ISSUE_TOT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TOT_SLOTS_PER_OPERATION 20 /* of the queue depth; the guide's default */

struct tot {
	/* const after tot_init() */
	uint32_t n_slots;

	/* atomic: the words of tot.c, one a slot */
	_Atomic uint32_t *slots;
};

/* A table for `queue_depth` operations under way. Returns 0 or -ENOMEM. */
int tot_init(struct tot *t, uint64_t queue_depth);

/* Accepts a zeroed table. */
void tot_destroy(struct tot *t);

/* It is the turn of operation 0. While nobody uses the table. */
void tot_reset(struct tot *t);

/* Wait for the turn of operation `n`. Returns 0, or -ECANCELED once the table is cancelled. Any thread. */
int tot_wait(struct tot *t, uint64_t n);

/* Whether it is the turn of operation `n`. Any thread. */
bool tot_is_turn(const struct tot *t, uint64_t n);

/* After operation `n` it is the turn of the next. Once for every operation, by whoever had the turn. */
void tot_pass_on(struct tot *t, uint64_t n);

/* End all present and future waits with -ECANCELED. Any thread. */
void tot_cancel(struct tot *t);

#endif
