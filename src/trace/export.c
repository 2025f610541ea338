/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Traces as text, CSV and JSON. Called by xdd tsread, and for text when a run ends.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "trace/walk.h"
#include "xdd/base/text.h"
#include "xdd/trace/trace.h"

/* ---- text ---- */

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

/* ---- CSV ---- */

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

/* ---- JSON: a host is a process of the document; a slot of a QThread is a thread of it ---- */

/* The text between the quotes of a string. A file name may be any bytes; JSON is UTF-8. */
static void put_text(FILE *f, const char *text)
{
	while (*text) {
		size_t n = utf8_length(text);

		if (n == 0) {
			fputs("\\ufffd", f);
			n = 1;
		} else if (*text == '"' || *text == '\\') {
			fprintf(f, "\\%c", *text);
		} else if (n == 1 && *text < 0x20) {
			fprintf(f, "\\u%04x", (unsigned)*text);
		} else {
			fwrite(text, 1, n, f);
		}
		text += n;
	}
}

/* Microseconds with three decimals. */
static void put_us(FILE *f, uint64_t ns)
{
	fprintf(f, "%" PRIu64 ".%03u", ns / 1000, (unsigned)(ns % 1000));
}

/*
 * The time from `from_ns` to a later one. In a manipulated dump the difference may need 64 bits.
 */
static uint64_t export_json_since(int64_t from_ns, int64_t ns)
{
	return (uint64_t)ns - (uint64_t)from_ns;
}

/*
 * A thread of a trace: one slot of a QThread. Perfetto wants small numbers that no two processes
 * share.
 */
struct lane {
	size_t trace;
	uint32_t qthread;
	uint32_t slot;
};

static int by_lane(const void *a, const void *b)
{
	const struct lane *x = a, *y = b;

	if (x->trace != y->trace)
		return x->trace < y->trace ? -1 : 1;
	if (x->qthread != y->qthread)
		return x->qthread < y->qthread ? -1 : 1;
	return (x->slot > y->slot) - (x->slot < y->slot);
}

static struct lane lane_of(const struct trace_merged_row *r)
{
	return (struct lane){ r->trace, r->row.entry->qthread, r->row.entry->slot };
}

/* All lanes there are, sorted, each once; NULL when memory is short. */
static struct lane *collect_lanes(const struct trace_merge *m, size_t *n)
{
	struct lane *lanes = calloc(m->n + 1, sizeof(*lanes));

	*n = 0;
	if (!lanes)
		return NULL;
	for (size_t i = 0; i < m->n; i++)
		lanes[i] = lane_of(&m->rows[i]);
	qsort(lanes, m->n, sizeof(*lanes), by_lane);
	for (size_t i = 0; i < m->n; i++) {
		if (i == 0 || by_lane(&lanes[i], &lanes[*n - 1]) != 0)
			lanes[(*n)++] = lanes[i];
	}
	return lanes;
}

/* The host of a trace. */
struct host {
	const char *name;
	size_t trace;
};

static int by_host(const void *a, const void *b)
{
	const struct host *x = a, *y = b;
	int order = strcmp(x->name, y->name);

	return order ? order : (x->trace > y->trace) - (x->trace < y->trace);
}

/* The document that is being written; arrays are its own. */
struct document {
	FILE *f;
	const struct trace *const *traces;
	size_t n;
	struct trace_merge merge;
	struct lane *lanes;
	size_t n_lanes;
	struct host *hosts; /* of each trace, sorted */
	size_t *pids;	    /* of each trace: the process */
	int64_t origin_ns;
};

/* Number the hosts in the order of their names, from 1. Returns 0 or -ENOMEM. */
static int number_hosts(struct document *d)
{
	size_t pid = 0;

	d->hosts = calloc(d->n + 1, sizeof(*d->hosts));
	d->pids = calloc(d->n + 1, sizeof(*d->pids));
	if (!d->hosts || !d->pids)
		return -ENOMEM;
	for (size_t i = 0; i < d->n; i++)
		d->hosts[i] = (struct host){ d->traces[i]->host, i };
	qsort(d->hosts, d->n, sizeof(*d->hosts), by_host);
	for (size_t i = 0; i < d->n; i++) {
		pid += i == 0 || strcmp(d->hosts[i].name, d->hosts[i - 1].name) != 0;
		d->pids[d->hosts[i].trace] = pid;
	}
	return 0;
}

/* Within which all global times of a process are right, or of all with `pid` 0; 0: not known. */
static int64_t bound_of(const struct document *d, size_t pid)
{
	int64_t most = 0;

	for (size_t i = 0; i < d->n; i++) {
		const int64_t bound_ns = d->traces[i]->global_bound_ns;

		if (pid && d->pids[i] != pid)
			continue;
		if (bound_ns <= 0)
			return 0;
		most = bound_ns > most ? bound_ns : most;
	}
	return most;
}

/* Viewers show the labels of a process beside its name. */
static void put_bound_label(const struct document *d, size_t pid)
{
	const int64_t bound_ns = bound_of(d, pid);

	if (bound_ns)
		fprintf(d->f,
			",\n{\"name\":\"process_labels\",\"ph\":\"M\",\"pid\":%zu,\"args\":"
			"{\"labels\":\"global times within %.3f us\"}}",
			pid, (double)bound_ns / 1e3);
}

static void put_names(const struct document *d)
{
	size_t pid = 0;

	for (size_t i = 0; i < d->n; i++) {
		const struct host *h = &d->hosts[i];

		if (d->pids[h->trace] == pid)
			continue;
		pid = d->pids[h->trace];
		fprintf(d->f,
			"%s{\"name\":\"process_name\",\"ph\":\"M\",\"pid\":%zu,\"args\":{\"name\":\"",
			pid > 1 ? ",\n" : "", pid);
		put_text(d->f, *h->name ? h->name : "unknown host");
		fputs("\"}}", d->f);
		put_bound_label(d, pid);
	}
	for (size_t i = 0; i < d->n_lanes; i++) {
		const struct lane *lane = &d->lanes[i];
		const struct trace *t = d->traces[lane->trace];

		fprintf(d->f,
			",\n{\"name\":\"thread_name\",\"ph\":\"M\",\"pid\":%zu,\"tid\":%zu,\"args\":"
			"{\"name\":\"target %" PRIu32 " QThread %" PRIu32 " slot %" PRIu32 ", ",
			d->pids[lane->trace], i + 1, t->target, lane->qthread, lane->slot);
		put_text(d->f, t->path);
		fputs("\"}}", d->f);
	}
}

static void put_event(const struct document *d, const struct trace_merged_row *r, size_t tid)
{
	const struct trace_entry *e = r->row.entry;

	fprintf(d->f, ",\n{\"name\":\"%s\",\"cat\":\"storage\",\"ph\":\"X\",\"ts\":",
		e->dir < DIR_COUNT ? op_dir_name(e->dir) : "?");
	put_us(d->f, export_json_since(d->origin_ns, r->start_ns));
	fputs(",\"dur\":", d->f);
	put_us(d->f, r->row.io_ns);
	fprintf(d->f,
		",\"pid\":%zu,\"tid\":%zu,\"args\":{\"target\":%" PRIu32 ",\"op\":%" PRIu64
		",\"pass\":%" PRIu32 ",\"offset\":%" PRIu64 ",\"size\":%" PRIu32
		",\"bytes\":%" PRIu32 ",\"error\":%" PRId32 "}}",
		d->pids[r->trace], tid, d->traces[r->trace]->target, e->op, e->pass,
		e->offset_bytes, e->size_bytes, e->done_bytes, e->error);
}

static void put_net_event(const struct document *d, const struct trace_merged_row *r, size_t tid)
{
	const struct trace *t = d->traces[r->trace];
	const struct trace_net *net = r->row.net;
	int64_t start = trace_global_ns(t, net->start_ns);

	/* Data received before the first operation would have a negative time. */
	if (net->end_ns < net->start_ns || !net->end_ns || start < d->origin_ns)
		return;
	fputs(",\n{\"name\":\"network\",\"cat\":\"network\",\"ph\":\"X\",\"ts\":", d->f);
	put_us(d->f, export_json_since(d->origin_ns, start));
	fputs(",\"dur\":", d->f);
	put_us(d->f, net->end_ns - net->start_ns);
	fprintf(d->f,
		",\"pid\":%zu,\"tid\":%zu,\"args\":{\"target\":%" PRIu32 ",\"op\":%" PRIu64
		",\"bytes\":%" PRIu32 ",\"calls\":%" PRIu32 "}}",
		d->pids[r->trace], tid, t->target, r->row.entry->op, net->bytes, net->calls);
}

/* The first time of all, so that no event lies before it. */
static int64_t origin_of(const struct trace *const *traces, const struct trace_merge *m)
{
	int64_t first = m->n ? m->rows[0].start_ns : 0;

	for (size_t i = 0; i < m->n; i++) {
		const struct trace_net *net = m->rows[i].row.net;
		int64_t start;

		if (!net || !net->start_ns)
			continue;
		start = trace_global_ns(traces[m->rows[i].trace], net->start_ns);
		if (start < first)
			first = start;
	}
	return first;
}

static void put_head(const struct document *d)
{
	const int64_t bound_ns = bound_of(d, 0);

	fprintf(d->f, "{\"displayTimeUnit\":\"ns\",\"otherData\":{\"origin_ns\":\"%" PRId64 "\"",
		d->origin_ns);
	if (bound_ns)
		fprintf(d->f, ",\"global_bound_ns\":\"%" PRId64 "\"", bound_ns);
	fputs("},\"traceEvents\":[\n", d->f);
}

static void put_events(const struct document *d)
{
	for (size_t i = 0; i < d->merge.n; i++) {
		const struct trace_merged_row *r = &d->merge.rows[i];
		struct lane key = lane_of(r);
		const struct lane *lane =
			bsearch(&key, d->lanes, d->n_lanes, sizeof(*lane), by_lane);
		size_t tid = (size_t)(lane - d->lanes) + 1;

		put_event(d, r, tid);
		if (r->row.net)
			put_net_event(d, r, tid);
	}
}

int trace_export_json(FILE *f, const struct trace *const *traces, size_t n)
{
	struct document d = { .f = f, .traces = traces, .n = n };
	int err = trace_merge(&d.merge, traces, n);

	if (!err) {
		d.lanes = collect_lanes(&d.merge, &d.n_lanes);
		err = d.lanes ? number_hosts(&d) : -ENOMEM;
	}
	if (!err) {
		d.origin_ns = origin_of(traces, &d.merge);
		put_head(&d);
		put_names(&d);
		put_events(&d);
		fputs("\n]}\n", f);
	}
	free(d.lanes);
	free(d.hosts);
	free(d.pids);
	trace_merge_free(&d.merge);
	return err;
}
