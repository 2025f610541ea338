/*
 * The lines of -stonewall. Called by report_stonewall().
 */
#include "xdd/report/stonewall.h"

#include <inttypes.h>

void stonewall_write(FILE *f, const struct stonewall_result *s)
{
	char of[64], who[32] = "time";

	if (s->target != STONEWALL_BY_TIME)
		snprintf(who, sizeof(who), "target %" PRIu32, s->target);
	snprintf(of, sizeof(of), "Stonewall, pass %" PRIu64 ", %s", s->pass, who);
	span_write(f, of, "at", &s->at);
	span_write(f, of, "end", &s->end);
}
