/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * -jsonout: one JSON document about a run, written while it goes on into a file that gets its name
 * at the end. doc/jsonout.schema.json says what is in it.
 *
 * Private to src/report. A jsonout belongs to the thread that has the report.
 */
#ifndef XDD_REPORT_JSONOUT_H
#define XDD_REPORT_JSONOUT_H

#include <jansson.h>
#include <stdbool.h>

#include "report/latency.h"
#include "xdd/plan/plan.h"
#include "xdd/report/endtoend.h"
#include "xdd/report/result.h"

struct jsonout;
struct report_document;

#define JSONOUT_FORMAT "xdd results"
#define JSONOUT_VERSION 2

/* The document goes to standard output, where the text then does not go. */
bool jsonout_is_stdout(const struct plan *plan);

/*
 * Start the document, with all that is known before the run; it goes to the file of the plan, or
 * `to` memory. Returns 0 or -errno.
 */
int jsonout_open(struct jsonout **out, const struct plan *plan, uint64_t started_ns,
		 json_t *environment, struct report_document *to);

void jsonout_result(struct jsonout *j, const struct result *result);
void jsonout_device(struct jsonout *j, const struct device_use *use);
void jsonout_deskew(struct jsonout *j, const struct deskew_result *deskew);
void jsonout_stonewall(struct jsonout *j, const struct stonewall_result *stonewall);
void jsonout_start_skew(struct jsonout *j, const struct start_skew_result *skew);
/* A pass of an end-to-end target. */
void jsonout_endtoend(struct jsonout *j, const struct endtoend_result *r);
/* A row of -intervals. */
void jsonout_interval(struct jsonout *j, const struct series_row *row);
/* The global clock, and the start by it; without them these members are null. */
void jsonout_clock(struct jsonout *j, const struct clock_result *clock);
void jsonout_start(struct jsonout *j, const struct start_result *start);
void jsonout_statistics(struct jsonout *j, const struct pass_statistics *statistics);

/* How the run ended: "normal", "errors" or "canceled". */
void jsonout_end(struct jsonout *j, const char *end);

/*
 * End the document and put it in its place; accepts NULL. Returns 0 or -errno of whatever went
 * wrong with it.
 */
int jsonout_close(struct jsonout *j, enum xdd_status status);

/* Leave nothing of a document whose run does not begin; accepts NULL. */
void jsonout_discard(struct jsonout *j);

/*
 * The plan, a result, an end-to-end copy, the clock or the start as a new object (jsonout_plan.c,
 * jsonout.c, endtoend.c, jsonout.c); NULL when memory is short.
 */
json_t *jsonout_plan(const struct plan *plan);
json_t *jsonout_result_value(const struct plan *plan, const struct result *r);
json_t *jsonout_statistics_value(const struct pass_statistics *statistics);
json_t *jsonout_endtoend_value(const struct endtoend_result *r);

#endif
