/*
 * The bytes of a target that a run touches. Main thread, while a plan is built.
 */
#ifndef XDD_PLAN_EXTENT_H
#define XDD_PLAN_EXTENT_H

#include <stdbool.h>
#include <stdint.h>

#include "xdd/plan/plan.h"

/* The largest offset a file may have. */
#define PLAN_MAX_OFFSET ((uint64_t)INT64_MAX)

/* True if the size of the target is known. */
bool plan_has_size(const struct target_plan *t);

/*
 * True if the source of a copy has nothing to send: an empty file, or one that -restart offset
 * leaves nothing of.
 */
bool plan_copies_nothing(const struct target_plan *t);

/* First byte of the range of the last pass. */
uint64_t plan_last_start(const struct plan *plan, const struct target_plan *t);

/*
 * Bytes of the target that every pass can have to itself, including those that other targets of the
 * run write to a new file; 0 where nothing is known or left.
 */
uint64_t plan_bytes_left(const struct plan *plan, const struct target_plan *t);

/*
 * The operations after which a sequential pass in a range starts over; UINT64_MAX: a pass of a mix
 * never does.
 */
uint64_t plan_lap_ops(const struct target_plan *t);

/* The byte after the last one that a run may touch; UINT64_MAX where it does not fit. */
uint64_t plan_extent(const struct plan *plan, const struct target_plan *t);

/*
 * Check that sizes and offsets of all operations are multiples of `unit_bytes`, which `option` asks
 * for; the size of the last one as well with `last`. Returns XDD_OK, or another status with one
 * line given to log_error().
 */
enum xdd_status plan_check_multiples(const struct target_plan *t, const char *option,
				     uint32_t unit_bytes, bool last);

/* Let a pass of target `t` have `ops` operations at most, 1 or more. */
void plan_limit_ops(struct target_plan *t, uint64_t ops);

#endif
