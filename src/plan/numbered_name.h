/*
 * Names with a number in them: file%02d stands for file00, file01 and so on. Main thread, while a
 * plan is built.
 */
#ifndef XDD_PLAN_NUMBERED_NAME_H
#define XDD_PLAN_NUMBERED_NAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct arena;

/* True if `name` has a conversion: %d, or %0Nd with N from 1 to 9. */
bool numbered_name_is(const char *name);

/*
 * The percent sign in `name` that begins neither a conversion nor "%%", or NULL. Such a sign makes
 * no sense in a name with a conversion.
 */
const char *numbered_name_wrong(const char *name);

/*
 * `name`, without such a sign, with `n` in place of each conversion and "%" in place of "%%"; in
 * memory of `arena`. NULL: there is none.
 */
const char *numbered_name(struct arena *arena, const char *name, uint64_t n);

#endif
