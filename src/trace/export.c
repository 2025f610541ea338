/*
 * CSV of traces. Called by xdd tsread.
 */
#include "xdd/trace/export.h"

#include <inttypes.h>

#include "trace/merge.h"
#include "xdd/base/text.h"

static void put_cpu_cell(FILE *f, uint16_t cpu)
{
	if (cpu == TRACE_NO_CPU)
		fputc(',', f);
	else
		fprintf(f, ",%u", cpu);
}

static void put_csv_net(FILE *f, const struct trace *t, const struct trace_net *net)
{
	if (!net || !net->end_ns) {
		fputs(",,,,,,", f);
		return;
	}
	fprintf(f, ",%" PRIu32 ",%" PRIu32 ",%" PRId64 ",%" PRId64, net->bytes, net->calls,
		trace_global_ns(t, net->start_ns), trace_global_ns(t, net->end_ns));
	put_cpu_cell(f, net->cpu_start);
	put_cpu_cell(f, net->cpu_end);
}

static void put_csv_row(FILE *f, const struct trace *t, const struct trace_merged_row *r)
{
	const struct trace_entry *e = r->row.entry;

	csvtext_write(f, t->host);
	fprintf(f, ",%" PRIu32 ",", t->target);
	csvtext_write(f, t->path);
	fprintf(f,
		",%" PRIu32 ",%" PRIu64 ",%c,%" PRIu64 ",%" PRIu32 ",%" PRIu32 ",%" PRId32
		",%" PRId64 ",%" PRId64 ",%" PRIu64 ",%" PRIu32 ",%" PRIu32,
		e->pass, e->op, trace_letter(e), e->offset_bytes, e->size_bytes, e->done_bytes,
		e->error, r->start_ns, r->end_ns, r->row.io_ns, e->qthread, e->slot);
	put_cpu_cell(f, e->cpu_start);
	put_cpu_cell(f, e->cpu_end);
}

int trace_export_csv(FILE *f, const struct trace *const *traces, size_t n)
{
	struct trace_merge m;
	bool net = false;
	int err = trace_merge(&m, traces, n);

	for (size_t i = 0; i < n; i++)
		net |= traces[i]->net != NULL;
	if (!err) {
		fputs("HOST,TARGET,PATH,PASS,OP,TYPE,OFFSET,SIZE,BYTES,ERROR,START_NS,END_NS,IO_NS,"
		      "QTHREAD,SLOT,CPU_START,CPU_END",
		      f);
		if (net)
			fputs(",NET_BYTES,NET_CALLS,NET_START_NS,NET_END_NS,NET_CPU_START,NET_CPU_END",
			      f);
		fputc('\n', f);
	}
	for (size_t i = 0; i < m.n && !err; i++) {
		const struct trace *t = traces[m.rows[i].trace];

		put_csv_row(f, t, &m.rows[i]);
		if (net)
			put_csv_net(f, t, m.rows[i].row.net);
		fputc('\n', f);
	}
	trace_merge_free(&m);
	return err;
}
