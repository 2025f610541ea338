/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Refusals that run_check() and run_execute() report alike, and files that are shorter than the
 * range that a run reads. Private to src/run.
 */
#ifndef XDD_RUN_RUN_CHECK_H
#define XDD_RUN_RUN_CHECK_H

#include <stdbool.h>

#include "xdd/io/guard.h"
#include "xdd/plan/plan.h"

/* Report a device that must not be written to. Returns the exit status for it. */
enum xdd_status run_refuse(const struct guard_refusal *r);

#endif
