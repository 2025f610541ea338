/*
 * Measures as words of an option. Main thread, while a plan is built.
 */
#ifndef XDD_PLAN_MEASURE_H
#define XDD_PLAN_MEASURE_H

#include "xdd/plan/coordination_options.h"
#include "xdd/plan/option.h"

/*
 * Read the measure in words `w[0]`, its unit, and `w[1]`, its amount, of setting `s`. Returns
 * XDD_OK, or another status with one line given to log_error().
 */
enum xdd_status measure_read(const struct setting *s, const struct word *w, struct measure *m);

#endif
