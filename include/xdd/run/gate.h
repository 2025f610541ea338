/*
 * The gate: what may hold an operation back that has its number, and with it all behind it. Put together
 * once for each target, from its plan; the hot path asks only when target->gated. Private to src/run.
 *
 * It is monotonic: where operation n may pass, so may all before it. So what was issued is always 0 to n-1.
 */
#ifndef XDD_RUN_GATE_H
#define XDD_RUN_GATE_H

#include <stdint.h>

struct target;

/* Answers of gate_ask() beside a clock reading. */
#define GATE_OPEN 0
#define GATE_EVENT (UINT64_MAX - 1) /* when something has happened: gate_wait() */
#define GATE_CLOSED UINT64_MAX	    /* never in this pass */

/*
 * Whether operation `n` of the pass may be issued at clock `now_ns`: GATE_OPEN, GATE_EVENT, GATE_CLOSED or
 * the clock at which to ask again. The QThread that has the number.
 */
uint64_t gate_ask(struct target *t, uint64_t n, uint64_t now_ns);

/*
 * Block until something has happened that operation `n` may have waited for, or until clock `until_ns`. Returns
 * 0, or -ECANCELED once the run stops.
 */
int gate_wait(struct target *t, uint64_t n, uint64_t until_ns);

#endif
