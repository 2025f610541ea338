/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The computer of a run, and the information sections before its results. Private to src/report.
 */
#ifndef XDD_REPORT_INFO_H
#define XDD_REPORT_INFO_H

#include <jansson.h>
#include <stdio.h>

#include "xdd/plan/plan.h"

/*
 * Where a run took place: kernel, processors, memory, the build of xdd, and for each target its
 * file system and device. Whatever cannot be found out is left out; nothing waits for a device.
 *
 * Private to src/report. Called by main, before the run.
 */

/* A new object, or NULL when memory is short. */
json_t *environment_collect(const struct plan *plan);

/* Write the object as lines, each "Environment, <what>, <value>". */
void environment_write(FILE *f, const json_t *environment);

/*
 * The information sections that come before the results: what the run was asked to do, on which
 * system, with which targets. Labels and order are fixed: scripts know them.
 *
 * Private to src/report. Called while the report is opened; they write to a stdio stream in
 * memory.
 */

/* All sections; `environment` is environment_collect()'s. */
void info_write(FILE *f, const struct plan *plan, const json_t *environment);

/* As info_write(), about one target only. */
void info_write_target(FILE *f, const struct plan *plan, uint32_t target);

/* The run's time and id, and a line for each target. */
void info_write_short(FILE *f, const struct plan *plan);

#define INFO_UTC_SIZE 40
#define INFO_TIME_SIZE 32

/* The time now, as "Thu Jan  1 00:00:00 1970", in `buf` (INFO_TIME_SIZE bytes); returns `buf`. */
char *info_time(char *buf);

#define INFO_UTC_SIZE 40

/*
 * A time of clock_wall_ns() by the calendar, in UTC, as RFC 3339 has it, with milliseconds, in
 * `buf` (INFO_UTC_SIZE bytes); returns `buf`.
 */
char *info_utc(uint64_t wall_ns, char *buf);

#endif
