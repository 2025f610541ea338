/*
 * The lines of -stonewall, and its object in a document. Called by report_stonewall(), and by the
 * command for a run of many ranks.
 */
#include "xdd/report/stonewall.h"

#include <inttypes.h>

#include "xdd/report/jvalue.h"

void stonewall_write(FILE *f, const struct stonewall_result *s)
{
	char of[64], who[32] = "time";

	if (s->target != STONEWALL_BY_TIME && s->ranks)
		snprintf(who, sizeof(who), "rank %u target %" PRIu32, s->rank, s->target);
	else if (s->target != STONEWALL_BY_TIME)
		snprintf(who, sizeof(who), "target %" PRIu32, s->target);
	snprintf(of, sizeof(of), "Stonewall, pass %" PRIu64 ", %s", s->pass, who);
	span_write(f, of, "at", &s->at);
	span_write(f, of, "end", &s->end);
}

json_t *jvalue_span(const struct span *s)
{
	json_t *o = json_object();

	jvalue_put(o, "ns", jvalue_count(s->ns));
	jvalue_put(o, "bytes", jvalue_count(s->bytes));
	jvalue_put(o, "ops", jvalue_real(span_ops(s)));
	return o;
}

json_t *jvalue_stonewall(const struct stonewall_result *s)
{
	json_t *o = json_object();

	jvalue_put(o, "pass", jvalue_count(s->pass));
	jvalue_put(o, "target",
		   s->target == STONEWALL_BY_TIME ? json_null() : jvalue_count(s->target));
	jvalue_put(o, "rank", s->ranks ? jvalue_count(s->rank) : json_null());
	jvalue_put(o, "begin_ns", jvalue_count(s->begin_ns));
	jvalue_put(o, "at", jvalue_span(&s->at));
	jvalue_put(o, "end", jvalue_span(&s->end));
	return o;
}
