/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Copies that are continued: -restart, and the proof of what a destination has kept. Private to
 * src/run.
 */
#ifndef XDD_RUN_ENDTOEND_RESTART_H
#define XDD_RUN_ENDTOEND_RESTART_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "xdd/base/sets.h"
#include "xdd/net/restart_file.h"
#include "xdd/net/wire.h"
#include "xdd/plan/plan.h"

struct endtoend;
struct restart;

/*
 * -restart on the destination of a copy: a thread, the restart monitor, flushes the target every
 * so many seconds and then records in the restart file which operations are durable. A later run
 * reads the file, and asks the source for the others. Private to src/run.
 *
 * Operations have the numbers of the whole copy, also in a session that copies only a part of it.
 * All functions accept NULL, a target without -restart.
 */

/* The cost of the monitor so far. */
struct restart_cost {
	uint64_t flushes;
	uint64_t flush_ns;
	uint64_t records;
	uint64_t record_ns; /* writing them */
};

/*
 * Read the restart file of `t`, if it has one; `*r` is NULL where -restart is not for it. Returns
 * 0, or -errno with a message in `why`. Before session_meet(); target
 * thread.
 */
int restart_open(struct restart **r, const struct target_plan *t, struct err *why);

/*
 * The answer to the plan of the source, as session_accept() gives it: 0: copy all; 1: only `ranges`
 * are missing; or -errno with a text in `why`. Any thread, before restart_begin().
 */
int restart_accept(struct restart *r, const struct wire_plan *own, const struct wire_plan *peer,
		   struct wire_range *ranges, size_t *n, struct err *why);

/*
 * After restart_accept() has returned 1, unless -restart trust is given: move the operations of
 * this session that are durable to the empty set `kept`. Those that are right are to be added again
 * by restart_written(). restart_kept_again() then lists in `ranges` what is missing. The former
 * returns 0 or -ENOMEM. Target thread, before restart_begin().
 */
int restart_take_kept(struct restart *r, const struct wire_plan *peer, struct extents *kept);
void restart_kept_again(struct restart *r, const struct wire_plan *peer, struct wire_range *ranges,
			size_t *n);

/*
 * The target is open, as `fd` (-1: null), and has its first shape: start the monitor. Returns 0, or
 * -errno with a text in `why`. Before the first write; target thread.
 */
int restart_begin(struct restart *r, int fd, struct err *why);

/* Operation `op`, with the digest `d`, is written. QThreads. */
void restart_written(struct restart *r, uint64_t op, uint64_t offset, uint64_t length,
		     struct digest d);

/*
 * No more is written: end the monitor, flush, and record what is durable, before the source learns
 * that all is written. Returns 0; or -errno of a flush, with a text in `why`: restart_end() does
 * nothing then. Last QThread to leave the last pass.
 */
int restart_settle(struct restart *r, struct err *why);

/*
 * No more is written; the file is still open. Flush and record what is durable, or that the copy is
 * complete; end the monitor. Later calls do nothing. Returns 0, or -errno with a text in `why`.
 * Last QThread to leave the last pass, or main thread.
 */
int restart_end(struct restart *r, bool complete, struct err *why);

/* Free it, after restart_end() or without restart_begin(). Main thread. */
void restart_free(struct restart *r);

/* The name of the restart file; NULL: not known yet. Any thread, after restart_begin(). */
const char *restart_path(const struct restart *r);
void restart_costs(struct restart *r, struct restart_cost *cost);

/*
 * A hash of the offsets of the operations of `t`, a source: sources with the same hash and request
 * size have the same data under each number. Any thread.
 */
uint64_t restart_pattern(const struct target_plan *t);

/*
 * The proof of what a destination has kept from an interrupted copy: both sides read it, and
 * compare digests, while they meet. What differs is copied again. Private to src/run.
 */

/*
 * Destination, with a plan `peer` that -restart has accepted: compare what it has kept with the
 * source, unless -restart trust is given, and list in `ranges` what is missing then. Reports.
 * Returns 1; or -errno with a text in `why`. Target thread, while it decides on the plan.
 */
int proof_accept(struct endtoend *e, const struct wire_plan *peer, struct wire_range *ranges,
		 size_t *n, struct err *why);

/* Source: struct session_params.prove, for a struct endtoend. Target thread. */
size_t proof_answer(void *arg, const struct wire_range *ranges, size_t n, uint8_t *out);

/* Source: the sides have met, or not. Target thread. */
void proof_end(struct endtoend *e);

#endif
