/*
 * A random order in which each of n targets reads the blocks of another one. Pure; any thread.
 */
#ifndef XDD_PLAN_REORDER_H
#define XDD_PLAN_REORDER_H

#include <stdint.h>

/*
 * The successor of `i` in a cycle of all numbers below `n` (at least 1) that `seed` selects: a
 * permutation, and with n > 1 no number is its own successor. The same on every machine.
 */
uint64_t reorder_next(uint64_t seed, uint64_t n, uint64_t i);

#endif
