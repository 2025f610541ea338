/*
 * Words of the command line as values of option rows. Main thread, while a plan is built.
 */
#ifndef XDD_PLAN_VALUE_H
#define XDD_PLAN_VALUE_H

#include <stdint.h>

#include "xdd/base/units.h"
#include "xdd/plan/option.h"
#include "xdd/plan/plan.h"

/* The longest time that an option accepts. */
#define PLAN_CENTURY_NS (100ull * 365 * 24 * 3600 * NS_PER_SEC)

/*
 * Read the time in word `w` of setting `s`, from `min` to `max`, in nanoseconds; `min` may be 1 for
 * any time above 0. Returns XDD_OK, or XDD_BAD_ARGUMENT with one line given to log_error().
 */
enum xdd_status parse_time(const struct setting *s, const struct word *w, uint64_t min,
			   uint64_t max, uint64_t *ns);

/* The arity of rows that take a whole number or nothing. */
size_t option_arity_number(const struct word *args, size_t avail);

/*
 * Store the value of a setting in `dst`, the struct that its row's `off` is in, with all further
 * fields that the row sets, and call the row's `apply`. Returns XDD_OK, or another status with one
 * line given to log_error().
 */
enum xdd_status parse_apply(const struct setting *s, void *dst);

/*
 * As parse_apply(), with the `row` to store by, where it is not the row of the option or suboption.
 */
enum xdd_status parse_apply_row(const struct setting *s, const struct option *row, void *dst);

/*
 * Give the fields of `rows` their defaults by reading them as if they had been written; `opt` is
 * the option they are suboptions of, or NULL for options, of which those of `scope` count. Returns
 * XDD_OK, or another status with one line given to log_error().
 */
enum xdd_status parse_defaults(struct arena *arena, const struct option *opt,
			       const struct option *rows, void *dst, enum option_scope scope);

#endif
