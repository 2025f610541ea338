/*
 * Lockstep as arithmetic: how far a master and its slave may go, from how far the other has come.
 * The user guide, 5.4. Pure functions; any thread. Private to src/run.
 *
 * The operations of the master make requests, one for each further `when` that is complete. Each
 * request is for one task of the slave: `what` of its operations.
 */
#ifndef XDD_RUN_COORD_LOCKSTEP_H
#define XDD_RUN_COORD_LOCKSTEP_H

#include <stdbool.h>
#include <stdint.h>

#include "xdd/plan/plan.h"

/*
 * How often `m` is in `ops` operations of a target with `bytes` bytes. Not for times. Percents need
 * a target whose pass has a number of operations.
 */
uint64_t measure_count(const struct measure *m, const struct target_plan *t, uint64_t ops,
		       uint64_t bytes);

/* As measure_count(), for the operations before number `n`, as planned. */
uint64_t measure_before(const struct measure *m, const struct target_plan *t, uint64_t n);

/* True: both sides of a lockstep are counted, neither is timed. */
bool lockstep_is_counted(const struct lockstep_plan *l);

/*
 * Requests that must have been made before operation `n` of the slave may be issued. Not for timed
 * tasks.
 */
uint64_t lockstep_slave_needs(const struct lockstep_plan *l, const struct target_plan *slave,
			      uint64_t n);

/*
 * Tasks that the slave must have completed before operation `n` of the master may be issued: all
 * requested tasks, if this operation makes the next request; else all except the last. So the slave
 * lags by one task at most, and both work side by side while it has one. Not where either side is
 * timed: a clock does not wait.
 */
uint64_t lockstep_master_needs(const struct lockstep_plan *l, const struct target_plan *master,
			       uint64_t n);

#endif
