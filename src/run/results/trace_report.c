/*
 * The reports and the dump of the time stamps of a target, after the run. Called by
 * the results manager.
 */
#include "config.h"

#include "run/results/trace_report.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "run/issue/trace.h"
#include "run/results/global_clock.h"
#include "run/run_state.h"
#include "run/target.h"
#include "xdd/base/file.h"
#include "xdd/base/log.h"
#include "xdd/base/output.h"
#include "xdd/report/report.h"
#include "xdd/sys/clock.h"
#include "xdd/trace/trace.h"

#define HOST_SIZE 256

static void failed(struct run *run, const struct target *t, const char *what, const char *path,
		   int err)
{
	run->manager.output_failed = true;
	log_error("target %u, %s: -ts %s%s%s: %s", t->plan->number, t->plan->path, what,
		  path ? " " : "", path ? path : "", output_strerror(err));
}

/* All but the entries; the strings belong to the caller. */
static void describe(const struct run *run, const struct target *t, struct trace *trace)
{
	const struct plan *plan = run->plan;

	trace->program = PACKAGE_NAME " " PACKAGE_VERSION;
	trace->path = t->plan->path;
	trace->id = plan->id ? plan->id : "";
	trace->command = plan->command_line;
	trace->target = t->plan->number;
	trace->block_size = t->plan->block_size;
	trace->req_bytes = t->plan->req_bytes;
	trace->queue_depth = t->plan->queue_depth;
	trace->wall_ns = t->trace.wall_ns;
	trace->wall_end_ns = clock_wall_offset_ns();
	trace->cut = t->plan->trace.cut;
}

/* A line from the first to the last offset; its bound is the greater of both. */
static void describe_clock(const struct global_span *s, struct trace *trace)
{
	const double length = (double)(int64_t)(s->to.at_ns - s->from.at_ns);
	const double change = (double)(s->to.g.offset_ns - s->from.g.offset_ns);
	const double ppb = length > 0 ? change / length * 1e9 : 0;
	const uint64_t from = s->from.g.bound_ns, to = s->to.g.bound_ns;

	trace->global_ns = s->from.g.offset_ns - trace->wall_ns;
	trace->global_at_ns = s->from.at_ns;
	if (fabs(ppb) <= TRACE_MAX_DRIFT_PPB)
		trace->global_drift_ppb = (int64_t)ppb;
	/* Of a short run the line is as steep as the errors of its ends. */
	trace->global_bound_ns = (int64_t)(from > to ? from : to) + (int64_t)(length / 1e9) + 1 +
				 (fabs(ppb) > TRACE_MAX_DRIFT_PPB ? (int64_t)fabs(change) : 0);
}

static struct trace_thread *list_threads(const struct trace_table *table, size_t *n)
{
	struct trace_thread *threads = calloc(table->plan->qthreads, sizeof(*threads));

	*n = 0;
	for (uint32_t i = 0; threads && i < table->plan->qthreads; i++) {
		int32_t tid = atomic_load_explicit(&table->writers[i].tid, memory_order_relaxed);

		if (tid)
			threads[(*n)++] = (struct trace_thread){ i, tid };
	}
	return threads;
}

static int write_report_file(const struct trace_options *ts, const struct trace *trace,
			     const struct trace_text *want)
{
	struct newfile f;
	FILE *stream;
	int fd, err;

	if (!ts->append) {
		err = newfile_open(&f, ts->report_path);
		return err ? err : newfile_close(&f, trace_text_write(f.f, trace, want));
	}
	fd = output_open(ts->report_path, O_APPEND);
	if (fd < 0)
		return fd;
	stream = outwait_stream(fd);
	if (!stream) {
		err = -errno;
		close(fd);
		return err;
	}
	err = trace_text_write(stream, trace, want);
	errno = 0;
	if ((fflush(stream) || ferror(stream)) && !err)
		err = errno ? -errno : -EIO;
	if (fclose(stream) && !err)
		err = -errno;
	return err;
}

static void write_reports(struct run *run, const struct target *t, const struct trace *trace)
{
	const struct trace_options *ts = &t->plan->trace;
	const struct trace_text want = { ts->detailed, ts->summary, ts->normalize };
	FILE *stream;
	int err;

	if (!ts->summary)
		return;
	if (ts->report_path) {
		err = write_report_file(ts, trace, &want);
		if (err)
			failed(run, t, "output", ts->report_path, err);
		return;
	}
	stream = report_stream(run->report);
	err = stream ? trace_text_write(stream, trace, &want) : -ENOMEM;
	if (stream)
		fclose(stream);
	if (err)
		failed(run, t, ts->detailed ? "detailed" : "summary", NULL, err);
}

static void write_dump(struct run *run, const struct target *t, const struct trace *trace)
{
	const char *path = t->plan->trace.dump_path;
	struct newfile f;
	long size = 0;
	int err;

	if (!path)
		return;
	err = newfile_open(&f, path);
	if (!err) {
		err = trace_dump_write(f.f, trace);
		size = ftell(f.f);
		err = newfile_close(&f, err);
	}
	if (err)
		failed(run, t, "dump", path, err);
	else
		report_line(run->report, "Timestamp table written to %s - %zu entries, %ld bytes",
			    path, trace->n, size);
}

/* Nothing is dropped silently. */
static void say_missing(struct run *run, const struct target *t, const struct trace *trace)
{
	const struct trace_missing *m = &trace->missing;
	const struct target_plan *plan = t->plan;

	if (!m->overwritten && !m->unrecorded && !m->before)
		return;
	report_line(run->report,
		    "Target %u, time stamps of %zu operations recorded, %" PRIu64
		    " overwritten, %" PRIu64 " not recorded, %" PRIu64 " before the trigger",
		    plan->number, trace->n, m->overwritten, m->unrecorded, m->before);
	if (m->overwritten && plan->trace.size_by_default)
		log_warning("target %u, %s: -ts: the time stamps of the first %" PRIu64
			    " operations were overwritten; -ts size <#operations> makes the table "
			    "larger than %" PRIu64,
			    plan->number, plan->path, m->overwritten, plan->trace.size_ops);
}

void trace_report(struct run *run, struct target *t, const struct global_span *span, bool partial)
{
	char host[HOST_SIZE] = "", *information = report_information(run->plan, t->plan->number);
	struct trace trace = { .partial = partial, .host = host };
	struct trace_thread *threads = list_threads(&t->trace, &trace.n_threads);
	int err = trace_collect(&t->trace, &trace);

	if (!err && (!information || !threads))
		err = -ENOMEM;
	if (err) {
		failed(run, t, "reports", NULL, err);
		goto out;
	}
	gethostname(host, sizeof(host) - 1);
	trace.information = information;
	trace.threads = threads;
	describe(run, t, &trace);
	if (run->clock)
		describe_clock(span, &trace);
	write_reports(run, t, &trace);
	write_dump(run, t, &trace);
	say_missing(run, t, &trace);
out:
	free(trace.entries);
	free(trace.net);
	free(threads);
	free(information);
}
