/*
 * CSV and JSON of traces. Called by xdd tsread.
 */
#include "xdd/trace/export.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "trace/merge.h"
#include "xdd/base/csvtext.h"
#include "xdd/base/utf8.h"

static void put_cpu_cell(FILE *f, uint16_t cpu)
{
	if (cpu == TRACE_NO_CPU)
		fputc(',', f);
	else
		fprintf(f, ",%u", cpu);
}

static void put_csv_net(FILE *f, const struct trace *t, const struct trace_net *net)
{
	uint64_t shift = (uint64_t)trace_to_global_ns(t);

	if (!net || !net->end_ns) {
		fputs(",,,,,,", f);
		return;
	}
	fprintf(f, ",%" PRIu32 ",%" PRIu32 ",%" PRIu64 ",%" PRIu64, net->bytes, net->calls,
		net->start_ns + shift, net->end_ns + shift);
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
static uint64_t since(int64_t from_ns, int64_t ns)
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

static void put_names(FILE *f, const struct trace *const *traces, size_t n,
		      const struct lane *lanes, size_t n_lanes)
{
	for (size_t i = 0; i < n; i++) {
		fprintf(f,
			"%s{\"name\":\"process_name\",\"ph\":\"M\",\"pid\":%zu,\"args\":{\"name\":\"",
			i ? ",\n" : "", i + 1);
		if (*traces[i]->host) {
			put_text(f, traces[i]->host);
			fputs(": ", f);
		}
		fprintf(f, "target %" PRIu32 " ", traces[i]->target);
		put_text(f, traces[i]->path);
		fputs("\"}}", f);
	}
	for (size_t i = 0; i < n_lanes; i++)
		fprintf(f,
			",\n{\"name\":\"thread_name\",\"ph\":\"M\",\"pid\":%zu,\"tid\":%zu,\"args\":"
			"{\"name\":\"QThread %" PRIu32 " slot %" PRIu32 "\"}}",
			lanes[i].trace + 1, i + 1, lanes[i].qthread, lanes[i].slot);
}

static void put_event(FILE *f, const struct trace_merged_row *r, size_t tid, int64_t origin_ns)
{
	const struct trace_entry *e = r->row.entry;

	fprintf(f, ",\n{\"name\":\"%s\",\"cat\":\"storage\",\"ph\":\"X\",\"ts\":",
		e->dir < DIR_COUNT ? op_dir_name(e->dir) : "?");
	put_us(f, since(origin_ns, r->start_ns));
	fputs(",\"dur\":", f);
	put_us(f, r->row.io_ns);
	fprintf(f,
		",\"pid\":%zu,\"tid\":%zu,\"args\":{\"op\":%" PRIu64 ",\"pass\":%" PRIu32
		",\"offset\":%" PRIu64 ",\"size\":%" PRIu32 ",\"bytes\":%" PRIu32
		",\"error\":%" PRId32 "}}",
		r->trace + 1, tid, e->op, e->pass, e->offset_bytes, e->size_bytes, e->done_bytes,
		e->error);
}

static void put_net_event(FILE *f, const struct trace *t, const struct trace_merged_row *r,
			  size_t tid, int64_t origin_ns)
{
	const struct trace_net *net = r->row.net;
	int64_t start = (int64_t)(net->start_ns + (uint64_t)trace_to_global_ns(t));

	/* Data received before the first operation would have a negative time. */
	if (net->end_ns < net->start_ns || !net->end_ns || start < origin_ns)
		return;
	fputs(",\n{\"name\":\"network\",\"cat\":\"network\",\"ph\":\"X\",\"ts\":", f);
	put_us(f, since(origin_ns, start));
	fputs(",\"dur\":", f);
	put_us(f, net->end_ns - net->start_ns);
	fprintf(f,
		",\"pid\":%zu,\"tid\":%zu,\"args\":{\"op\":%" PRIu64 ",\"bytes\":%" PRIu32
		",\"calls\":%" PRIu32 "}}",
		r->trace + 1, tid, r->row.entry->op, net->bytes, net->calls);
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
		start = (int64_t)(net->start_ns +
				  (uint64_t)trace_to_global_ns(traces[m->rows[i].trace]));
		if (start < first)
			first = start;
	}
	return first;
}

int trace_export_json(FILE *f, const struct trace *const *traces, size_t n)
{
	struct trace_merge m;
	size_t n_lanes = 0;
	struct lane *lanes = NULL;
	int64_t origin;
	int err = trace_merge(&m, traces, n);

	if (!err) {
		lanes = collect_lanes(&m, &n_lanes);
		err = lanes ? 0 : -ENOMEM;
	}
	if (err)
		goto out;
	origin = origin_of(traces, &m);
	fprintf(f,
		"{\"displayTimeUnit\":\"ns\",\"otherData\":{\"origin_ns\":\"%" PRId64
		"\"},\"traceEvents\":[\n",
		origin);
	put_names(f, traces, n, lanes, n_lanes);
	for (size_t i = 0; i < m.n; i++) {
		struct trace_merged_row *r = &m.rows[i];
		struct lane key = lane_of(r);
		struct lane *lane = bsearch(&key, lanes, n_lanes, sizeof(*lanes), by_lane);
		size_t tid = (size_t)(lane - lanes) + 1;

		put_event(f, r, tid, origin);
		if (r->row.net)
			put_net_event(f, traces[r->trace], r, tid, origin);
	}
	fputs("\n]}\n", f);
out:
	free(lanes);
	trace_merge_free(&m);
	return err;
}
