/*
 * Where a run took place: kernel, processors, memory, the build of xdd, and for each target its
 * file system and device. Whatever cannot be found out is left out; nothing waits for a device.
 *
 * Private to src/report. Called by main, before the run.
 */
#ifndef XDD_REPORT_ENVIRONMENT_H
#define XDD_REPORT_ENVIRONMENT_H

#include <jansson.h>
#include <stdio.h>

#include "xdd/plan/plan.h"

/* A new object, or NULL when memory is short. */
json_t *environment_collect(const struct plan *plan);

/* Its part about the targets: an array (environment_target.c). */
json_t *environment_targets(const struct plan *plan);

/* Write the object as lines, each "Environment, <what>, <value>". */
void environment_write(FILE *f, const json_t *environment);

#endif
