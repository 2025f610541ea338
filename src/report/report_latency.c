/*
 * The outputs of -latency: the rows of its CSV file, the lines of intervals, and the tables after
 * the results. Called by report.c, the writers and the results manager.
 */
#include "report/report_internal.h"

void report_latency_csv(struct report *r, const struct result *result,
			const struct latency_interval *interval)
{
	struct memstream l;

	if (r->latency.fd < 0)
		return;
	memstream_open(&l);
	if (l.f && result)
		latency_csv_rows(l.f, r->plan, result, interval);
	else if (l.f)
		latency_csv_header(l.f, r->plan);
	report_write_lines(r, &r->latency, &l);
}

void report_latency_interval(struct report *r, const struct result *result, uint64_t from_ns,
			     uint64_t to_ns)
{
	const struct latency_interval interval = { from_ns, to_ns };
	struct memstream l;

	if (r->sink)
		return;
	if (r->plan->latency.file) {
		report_latency_csv(r, result, &interval);
		return;
	}
	memstream_open(&l);
	if (l.f && !r->intervals_begun)
		latency_table_header(l.f, r->plan, true);
	r->intervals_begun = true;
	if (l.f)
		latency_table_rows(l.f, r->plan, result, &interval);
	report_write_lines(r, &r->text, &l);
}

void report_latency_text(struct report *r)
{
	struct memstream l;

	if (!r->table.f || (fflush(r->table.f) == 0 && !r->table.size))
		return;
	memstream_open(&l);
	if (l.f) {
		latency_table_header(l.f, r->plan, false);
		fwrite(r->table.text, 1, r->table.size, l.f);
	}
	if (l.f && r->octaves.f && fflush(r->octaves.f) == 0) {
		latency_octaves_header(l.f);
		fwrite(r->octaves.text, 1, r->octaves.size, l.f);
	}
	report_write_lines(r, &r->text, &l);
}
