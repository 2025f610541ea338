/*
 * Lines about the longest and the shortest operation. A writer of writers.c.
 */
#include <inttypes.h>
#include <stdio.h>

#include "report/report_internal.h"
#include "xdd/base/units.h"

static const char *const names[EXTREMES_COUNT] = {
	[EXTREMES_LONGEST] = "longest",
	[EXTREMES_SHORTEST] = "shortest",
};

static void write_subject(char *buf, size_t size, const struct result *result)
{
	if (result->what == RESULT_COMBINED)
		snprintf(buf, size, "Run");
	else if (result->what == RESULT_TARGET_PASS)
		snprintf(buf, size, "Target %" PRIu64 ", pass %" PRIu64, result->target,
			 result->pass);
	else
		snprintf(buf, size, "Target %" PRIu64, result->target);
}

void extremes_write(struct report *r, const struct result *result)
{
	char subject[80], where[80] = "";

	if (!result->figures.extremes.any)
		return;
	write_subject(subject, sizeof(subject), result);
	for (int i = 0; i < EXTREMES_COUNT; i++) {
		const struct extreme *e = &result->figures.extremes.of[i];

		if (result->what == RESULT_COMBINED)
			snprintf(where, sizeof(where), " of target %" PRIu64, e->target);
		report_line(r,
			    "%s, %s operation, %.6f milliseconds, operation %" PRIu64
			    " of pass %" PRIu64 "%s, %s of %" PRIu64 " bytes at byte %" PRIu64,
			    subject, names[i], (double)e->took_ns / NS_PER_MS, e->op, e->pass,
			    where, op_dir_name(e->dir), e->bytes, e->offset);
	}
}
