/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The record of -stonewall save: how many operations of a pass each target has written, for a later
 * run that reads no more than that (-stonewall load). A file of lines of text for each rank.
 */
#ifndef XDD_PLAN_STONEWALL_RECORD_H
#define XDD_PLAN_STONEWALL_RECORD_H

#include <stdint.h>
#include <stdio.h>

#include "xdd/plan/plan.h"

/* The name of the file of a rank, to be freed; NULL when memory is short. Any thread. */
char *stonewall_record_name(const char *file, uint64_t rank);

/* Write the first line, and the line of a target which has written `ops` operations. Any thread. */
void stonewall_record_begin(FILE *f, const struct plan *plan);
void stonewall_record_put(FILE *f, const struct target_plan *t, uint64_t ops);

#endif
