/*
 * The information sections that come before the results: what the run was asked to do, on which
 * system, with which targets. Labels and order are fixed: scripts know them.
 *
 * Private to src/report. Called while the report is opened; they write to a stdio stream in memory.
 */
#ifndef XDD_REPORT_INFO_H
#define XDD_REPORT_INFO_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

#include "xdd/plan/plan.h"

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

/*
 * A line of `label` and a text of others, such as a name, with escapes for what would control a
 * terminal.
 */
void info_text(FILE *f, const char *label, const char *text);

/* "enabled" or "disabled". */
const char *info_enabled(bool on);

/* The block about one target (info_target.c). */
void info_target(FILE *f, const struct plan *plan, const struct target_plan *target);

/* The line about one target that a short report has. */
void info_target_short(FILE *f, const struct target_plan *target);

/* The section about the computer (sysinfo.c), with the time that is left until -starttime. */
void info_system(FILE *f, const struct plan *plan);

/* info_data.c: the lines about its data pattern and verification. */
void info_data(FILE *f, const struct target_plan *t);

#endif
