/*
 * Facts that are no result lines: what devices did, how targets and passes compare, and where an
 * end-to-end copy spent its time. Called by the results manager.
 */
#include <inttypes.h>

#include "report/report_internal.h"
#include "xdd/base/units.h"
#include "xdd/report/clock_result.h"

void report_device(struct report *r, const struct device_use *use)
{
	if (r->sink && r->sink->device)
		r->sink->device(r->sink->arg, use);
	if (r->json)
		jsonout_device(r->json, use);
}

void report_deskew(struct report *r, const struct deskew_result *deskew)
{
	struct memstream l;

	if (r->sink)
		return;
	if (r->json)
		jsonout_deskew(r->json, deskew);
	memstream_open(&l);
	if (l.f)
		deskew_write(l.f, deskew);
	report_write_lines(r, &r->text, &l);
}

void report_stonewall(struct report *r, const struct stonewall_result *stonewall)
{
	struct memstream l;

	if (r->sink)
		return;
	if (r->json)
		jsonout_stonewall(r->json, stonewall);
	memstream_open(&l);
	if (l.f)
		stonewall_write(l.f, stonewall);
	report_write_lines(r, &r->text, &l);
}

void report_start_skew(struct report *r, const struct start_skew_result *skew)
{
	if (r->json)
		jsonout_start_skew(r->json, skew);
	report_detail(r,
		      "Start skew, pass %" PRIu64 ", %.6f, seconds, first, target %" PRIu32
		      ", last, target %" PRIu32,
		      skew->pass, (double)skew->skew_ns / (double)NS_PER_SEC, skew->first_target,
		      skew->last_target);
}

void report_clock(struct report *r, const struct clock_result *clock)
{
	if (r->json)
		jsonout_clock(r->json, clock);
}

static double seconds(uint64_t ns)
{
	return (double)ns / (double)NS_PER_SEC;
}

void report_start(struct report *r, const struct start_result *s)
{
	struct memstream l;

	if (r->json)
		jsonout_start(r->json, s);
	if (r->sink || (!s->requested_ns && !s->bound_known))
		return;
	memstream_open(&l);
	if (l.f) {
		fprintf(l.f, "Start, %.6f", seconds(s->achieved_ns));
		if (s->requested_ns)
			fprintf(l.f, ", requested, %.6f, late, %.6f, seconds",
				seconds(s->requested_ns),
				(double)(int64_t)(s->achieved_ns - s->requested_ns) /
					(double)NS_PER_SEC);
		if (s->bound_known)
			fprintf(l.f, ", bound, %.6f, seconds\n", seconds(s->bound_ns));
		else
			fputs(", bound, unknown\n", l.f);
	}
	report_write_lines(r, &r->text, &l);
}

void report_endtoend(struct report *r, const struct endtoend_result *e)
{
	struct memstream l;

	if (r->sink)
		return;
	if (e->pass && r->json)
		jsonout_endtoend(r->json, e);
	if (!e->pass && r->person)
		person_endtoend(r->person, e);
	if (e->pass || !report_guide(r))
		return;
	memstream_open(&l);
	if (l.f)
		endtoend_write(l.f, e);
	report_write_table_lines(r, &l);
}

void report_statistics(struct report *r, const struct pass_statistics *statistics)
{
	struct memstream l;

	if (r->sink) {
		if (r->sink->statistics)
			r->sink->statistics(r->sink->arg, statistics);
		return;
	}
	if (r->json)
		jsonout_statistics(r->json, statistics);
	if (r->person)
		person_statistics(r->person, statistics);
	if (!r->plan->verbose)
		return;
	memstream_open(&l);
	if (l.f)
		statistics_write(l.f, statistics);
	report_write_lines(r, &r->text, &l);
}
