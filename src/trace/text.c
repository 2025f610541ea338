/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The reports of a trace as text. Called when a run ends, and by xdd tsread.
 */
#include "xdd/trace/trace.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "trace/walk.h"
#include "xdd/base/text.h"

#define PS_PER_NS 1000

/* A time in picoseconds, as in the guide; wall-clock times do not fit into 64 bits. */
static void put_time(FILE *f, int64_t ns)
{
	if (ns)
		fprintf(f, ", %" PRId64 "000", ns);
	else
		fputs(", 0", f);
}

static double ms(double ns)
{
	return ns / 1e6;
}

static double us(double ns)
{
	return ns / 1e3;
}

static void put_cpu(FILE *f, uint16_t cpu)
{
	if (cpu == TRACE_NO_CPU)
		fputs(", -1", f);
	else
		fprintf(f, ", %u", cpu);
}

static int by_qthread(const void *key, const void *element)
{
	uint32_t wanted = *(const uint32_t *)key;
	const struct trace_thread *t = element;

	return (wanted > t->qthread) - (wanted < t->qthread);
}

static int32_t tid_of(const struct trace *t, uint32_t qthread)
{
	const struct trace_thread *found = NULL;

	if (t->n_threads)
		found = bsearch(&qthread, t->threads, t->n_threads, sizeof(*found), by_qthread);
	return found ? found->tid : 0;
}

/* A time of the clock of the entries, or of the global clock. */
static int64_t time_of(const struct trace *t, uint64_t ns, bool global)
{
	return global ? trace_global_ns(t, ns) : (int64_t)ns;
}

static void put_net(FILE *f, const struct trace *t, const struct trace_net *net, bool global)
{
	uint64_t took = net->end_ns > net->start_ns ? net->end_ns - net->start_ns : 0;

	fprintf(f, ", %" PRIu32 ", %" PRIu32, net->bytes, net->calls);
	put_cpu(f, net->cpu_start);
	put_cpu(f, net->cpu_end);
	put_time(f, time_of(t, net->start_ns, global));
	put_time(f, time_of(t, net->end_ns, global));
	fprintf(f, ", %15.5f, %15.3f", ms((double)took),
		took ? (double)net->bytes * 1e3 / (double)took : 0.0);
}

static void put_row(FILE *f, const struct trace *t, const struct trace_row *r, double relative_ns,
		    bool global)
{
	const struct trace_entry *e = r->entry;
	uint64_t block = t->block_size ? t->block_size : 1;

	fprintf(f, "%" PRIu32 ", %c, %" PRIu32 ", %" PRIu64 ", %" PRIu64 ", %" PRIu64, t->target,
		trace_letter(e), e->pass, e->op, e->offset_bytes / block,
		r->distance_bytes / block);
	put_time(f, time_of(t, e->start_ns, global));
	put_time(f, time_of(t, e->end_ns, global));
	fprintf(f, ", %15.5f, %15.5f, %15.5f, %15.5f, %15.3f", ms((double)r->io_ns),
		ms(relative_ns), us((double)r->delta_ns), ms((double)r->loop_ns), r->mb_per_s);
	fprintf(f, ", %" PRIu32 ", %" PRId32 ", %" PRIu32 ", %" PRIu32 ", %" PRIu32 ", %" PRId32,
		e->qthread, tid_of(t, e->qthread), e->slot, e->size_bytes, e->done_bytes, e->error);
	put_cpu(f, e->cpu_start);
	put_cpu(f, e->cpu_end);
	if (r->net)
		put_net(f, t, r->net, global);
}

static void put_heading(FILE *f, uint64_t n, int64_t delta_ns, bool net, bool host)
{
	fprintf(f,
		"Start of DETAILED Time Stamp Report, Number of entries, %" PRIu64
		", Picoseconds per clock tick, %d, delta",
		n, PS_PER_NS);
	put_time(f, delta_ns);
	fputs("\nTarget, RWV Op, Pass, OP Number, Block Location, Distance, StartTS, EndTS, "
	      "IO Time ms, Relative ms, Delta us, Loop ms, Inst MB/sec, QThread, Thread ID, Slot, "
	      "IO Size, Bytes, Error, CPU Start, CPU End",
	      f);
	if (net)
		fputs(", Net Size, Net Calls, Net CPU Start, Net CPU End, Net StartTS, Net EndTS, "
		      "Net Time ms, Net MB/sec",
		      f);
	if (host)
		fputs(", Host", f);
	fputc('\n', f);
}

static void put_last_entry(FILE *f, const struct trace *t)
{
	if (t->cut && t->n)
		fprintf(f, "Last time stamp table entry, %zu\n", t->n - 1);
}

/* Of a run with a time server: times of several hosts compare within the sum of their bounds. */
static void put_bound(FILE *f, const struct trace *t)
{
	if (t->global_bound_ns > 0)
		fprintf(f, "Global times are right within, %.6f, milliseconds\n",
			ms((double)t->global_bound_ns));
}

static void put_summary(FILE *f, const struct trace *t, const struct trace_sums *s)
{
	uint64_t block = t->block_size ? t->block_size : 1;

	fputs("Start of SUMMARY Time Stamp Report\n", f);
	fprintf(f,
		"Average seek distance in %" PRIu64 " byte blocks, %" PRIu64
		", request size in blocks, %" PRIu64 "\n",
		block, s->average_distance_bytes / block, t->req_bytes / block);
	fprintf(f,
		"Range: Longest seek distance in blocks, %" PRIu64
		", shortest seek distance in blocks, %" PRIu64 "\n",
		s->longest_distance_bytes / block, s->shortest_distance_bytes / block);
	fprintf(f,
		"Average I/O time in milliseconds, %15.5f, average dead time in microseconds, "
		"%15.5f\n",
		ms(s->average_io_ns), us(s->average_delta_ns));
	fprintf(f,
		"I/O Time Range: Longest I/O time in milliseconds, %15.5f, shortest I/O time in "
		"milliseconds, %15.5f\n",
		ms((double)s->longest_io_ns), ms((double)s->shortest_io_ns));
	fprintf(f,
		"Dead Time Range: Longest dead time in microseconds, %15.5f, shortest dead time in "
		"microseconds, %15.5f\n",
		us((double)s->longest_delta_ns), us((double)s->shortest_delta_ns));
	fprintf(f,
		"Operations recorded, %" PRIu64 ", failed, %" PRIu64 ", overwritten, %" PRIu64
		", not recorded, %" PRIu64 ", before the trigger, %" PRIu64 "\n",
		s->ops, s->failed, t->missing.overwritten, t->missing.unrecorded,
		t->missing.before);
	fputs("End of SUMMARY Time Stamp Report\n", f);
}

int trace_text_write(FILE *f, const struct trace *t, const struct trace_text *want)
{
	struct trace_walk *w = trace_walk_new(t);
	int64_t shift = want->normalize ? trace_to_global_ns(t, t->global_at_ns) : 0;
	struct trace_sums sums;
	struct trace_row row;
	uint32_t pass = t->n ? t->entries[0]->pass : 0;

	if (!w)
		return -ENOMEM;
	fprintf(f, "Target number for this report, %" PRIu32 "\n", t->target);
	printable_put_lines(f, t->information);
	put_bound(f, t);
	put_last_entry(f, t);
	if (want->detailed)
		put_heading(f, t->n, shift, t->net != NULL, false);
	while (trace_walk_next(w, &row)) {
		if (!want->detailed)
			continue;
		if (row.entry->pass != pass)
			fputc('\n', f);
		pass = row.entry->pass;
		put_row(f, t, &row, (double)row.relative_ns, want->normalize);
		fputc('\n', f);
	}
	if (want->detailed)
		fputs("End of DETAILED Time Stamp Report\n", f);
	trace_walk_sums(w, &sums);
	trace_walk_free(w);
	if (want->summary)
		put_summary(f, t, &sums);
	return 0;
}

static void put_merged(FILE *f, const struct trace *const *traces, const struct trace_merge *m,
		       bool net)
{
	static const struct trace_net none = { .cpu_start = TRACE_NO_CPU, .cpu_end = TRACE_NO_CPU };

	put_heading(f, m->n, 0, net, true);
	for (size_t i = 0; i < m->n; i++) {
		struct trace_merged_row *r = &m->rows[i];
		const struct trace *t = traces[r->trace];

		put_row(f, t, &r->row,
			(double)((uint64_t)r->start_ns - (uint64_t)m->rows[0].start_ns), true);
		if (net && !r->row.net)
			put_net(f, t, &none, false);
		fputs(", ", f);
		printable_put(f, t->host);
		fputc('\n', f);
	}
	fputs("End of DETAILED Time Stamp Report\n", f);
}

/* A dump may come from an untrusted user. */
static void put_origin(FILE *f, const struct trace *t)
{
	fprintf(f, "Target number for this report, %" PRIu32 ", on, ", t->target);
	printable_put(f, t->host);
	fputs(", ", f);
	printable_put(f, t->path);
	fputc('\n', f);
	put_bound(f, t);
}

int trace_text_merged(FILE *f, const struct trace *const *traces, size_t n,
		      const struct trace_text *want)
{
	struct trace_merge m;
	bool net = false;
	int err = trace_merge(&m, traces, n);

	for (size_t i = 0; i < n && !err; i++) {
		put_origin(f, traces[i]);
		net |= traces[i]->net != NULL;
	}
	if (!err && want->detailed)
		put_merged(f, traces, &m, net);
	for (size_t i = 0; i < n && !err && want->summary; i++) {
		put_origin(f, traces[i]);
		put_summary(f, traces[i], &m.sums[i]);
	}
	trace_merge_free(&m);
	return err;
}
