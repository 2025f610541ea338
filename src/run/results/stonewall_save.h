/*
 * The figures and the record of -stonewall. Private to src/run; results manager.
 */
#ifndef XDD_RUN_RESULTS_STONEWALL_SAVE_H
#define XDD_RUN_RESULTS_STONEWALL_SAVE_H

struct manager;
struct tally;

/* Report a pass that is over, in which the targets have done `all`. */
void stonewall_pass(struct manager *m, const struct tally *all);

/* Write the record of this rank, once all results are in; a failure is reported. */
void stonewall_save(const struct manager *m);

#endif
