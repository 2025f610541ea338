/*
 * The global clock of a run: what it adds to results, and the start of the run by it. Private to
 * src/run; used by the results manager.
 */
#ifndef XDD_RUN_RESULTS_GLOBAL_CLOCK_H
#define XDD_RUN_RESULTS_GLOBAL_CLOCK_H

#include <stdint.h>

struct pass_result;
struct result;
struct run;

/* Global time, in nanoseconds since 1970, when clock_now_ns() is or was `at_ns`. */
uint64_t global_clock_ns(const struct run *run, uint64_t at_ns);

/* Set begin and finish of `result` from its figures. */
void global_clock_fill(const struct run *run, struct result *result);

/*
 * When the run began: the earliest operation of the first pass, without requested delays. Takes in
 * the result of one target; `*first_ns` begins as UINT64_MAX.
 */
void global_clock_first(uint64_t *first_ns, const struct pass_result *r);

/* Report the clock; and the start, unless `first_ns` is UINT64_MAX. */
void global_clock_report(const struct run *run, uint64_t first_ns);

#endif
