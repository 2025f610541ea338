/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The lines of the results manager: one for each pass, then the sums, then the facts about the run
 * as a whole, and the reports and dumps of time stamps. Called by results.c.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "config.h"
#include "run/coord/pace.h"
#include "run/issue/order.h"
#include "run/issue/trace.h"
#include "run/meter/meter.h"
#include "run/results/crosscheck.h"
#include "run/results/global_clock.h"
#include "run/results/manager.h"
#include "run/results/sums.h"
#include "run/run_state.h"
#include "run/target.h"
#include "run/target/target_file_ops.h"
#include "xdd/base/file.h"
#include "xdd/base/log.h"
#include "xdd/base/output.h"
#include "xdd/base/units.h"
#include "xdd/report/report.h"
#include "xdd/report/rule.h"
#include "xdd/run/run.h"
#include "xdd/sys/clock.h"
#include "xdd/trace/trace.h"

/*
 * The reports and the dump of the time stamps of a target, after the run.
 */

#define HOST_SIZE 256

static void trace_report_failed(struct run *run, const struct target *t, const char *what,
				const char *path, int err)
{
	run->manager.output_failed = true;
	target_error(t->plan, "-ts %s%s%s: %s", what, path ? " " : "", path ? path : "",
		     output_strerror(err));
}

/* All but the entries; the strings belong to the caller. */
static void trace_report_describe(const struct run *run, const struct target *t,
				  struct trace *trace)
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
			trace_report_failed(run, t, "output", ts->report_path, err);
		return;
	}
	stream = report_stream(run->report);
	err = stream ? trace_text_write(stream, trace, &want) : -ENOMEM;
	if (stream)
		fclose(stream);
	if (err)
		trace_report_failed(run, t, ts->detailed ? "detailed" : "summary", NULL, err);
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
		trace_report_failed(run, t, "dump", path, err);
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
		target_warning(plan,
			       "-ts: the time stamps of the first %" PRIu64 " operations were "
			       "overwritten; -ts size <#operations> makes the table larger than "
			       "%" PRIu64,
			       m->overwritten, plan->trace.size_ops);
}

/*
 * Write reports and dump of the time stamps of `t`, and say what is missing; `span` is the global
 * clock during the run. Results manager.
 */
static void trace_report(struct run *run, struct target *t, const struct global_span *span,
			 bool partial)
{
	char host[HOST_SIZE] = "", *information = report_information(run->plan, t->plan->number);
	struct trace trace = { .partial = partial, .host = host };
	struct trace_thread *threads = list_threads(&t->trace, &trace.n_threads);
	int err = trace_collect(&t->trace, &trace);

	if (!err && (!information || !threads))
		err = -ENOMEM;
	if (err) {
		trace_report_failed(run, t, "reports", NULL, err);
		goto out;
	}
	gethostname(host, sizeof(host) - 1);
	trace.information = information;
	trace.threads = threads;
	trace_report_describe(run, t, &trace);
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

static struct result target_result(const struct manager *m, const struct target_plan *t,
				   enum result_what what)
{
	return (struct result){
		.what = what,
		.processors = m->processors,
		.qthreads = what == RESULT_QUEUE_PASS ? 1 : t->qthreads,
		.verified = t->verify != VERIFY_NONE,
		.target = t->number,
		.queue = t->queue_depth,
		.op = t->op,
		.req_bytes = t->req_bytes,
		.block_size = t->block_size,
	};
}

void manager_write_interval(struct manager *m, const struct pass_result *r)
{
	bool all = r->target == m->plan->n_targets;
	const struct interval_result interval = {
		.target = r->target,
		.pass = r->pass,
		.from_ns = r->from_ns,
		.to_ns = r->to_ns,
		.partial = r->partial,
		.figures = &r->figures,
	};
	struct result result = target_result(m, &m->plan->targets[all ? 0 : r->target],
					     all ? RESULT_COMBINED : RESULT_TARGET_PASS);

	if (r->interval == RESULT_INTERVAL) {
		report_interval(m->report, &interval);
		return;
	}
	result.target = r->target;
	result.pass = r->pass;
	result.figures = r->figures;
	report_latency_interval(m->report, &result, r->from_ns, r->to_ns);
}

void manager_add(struct manager *m, struct figures *sum, const struct figures *from)
{
	if (figures_add(sum, from) && run_stop(m->run, STOP_START, ENOMEM))
		log_error("latencies cannot be added up: %s", strerror(ENOMEM));
}

/* A pass that was cut short says nothing about those that were not. */
static bool is_whole(const struct manager *m, const struct target_plan *t, const struct result *r)
{
	const struct tally *done = &r->figures.tally;
	bool short_of = tally_ops(done) + done->errors + done->warmup_ops < t->pass_ops;
	bool only_run_time = t->pass_ops == PLAN_UNLIMITED && !t->time_limit_ns;

	if (short_of && !only_run_time && clock_now_ns() >= atomic_load(&m->run->end_ns))
		return false;
	if (m->plan->max_errors && r->figures.tally.errors >= m->plan->max_errors)
		return false;
	return !r->partial;
}

static void follow_pass(struct manager *m, const struct target_plan *t, const struct result *r)
{
	bool whole = is_whole(m, t, r);

	if (r->figures.tally.warmup_ops && !r->partial && !tally_ops(&r->figures.tally))
		target_warning(t,
			       "-warmup: pass %" PRIu64 " was over before its warm-up: nothing of "
			       "it was measured",
			       r->pass);
	if (!m->keep_series)
		return;
	if (!m->plan->no_barrier)
		manager_add(m, &m->together.figures, &r->figures);
	m->together.partial |= !whole;
	if (series_add(&m->sums[t->number].series, r, whole))
		log_error("the statistics leave out pass %" PRIu64 " of target %" PRIu64 ": %s",
			  r->pass, r->target, strerror(ENOMEM));
}

void manager_write_pass(struct manager *m, struct pass_result *r)
{
	const struct target_plan *t = &m->plan->targets[r->target];
	struct global_span span;
	struct result result;

	global_clock_pass(&m->clock, m->run, r, &m->sums[r->target].clock, &span);
	for (uint32_t i = 0; i < r->n_queues; i++) {
		result = target_result(m, t, RESULT_QUEUE_PASS);
		result.pass = r->pass;
		result.queue = i;
		result.figures = r->queues[i];
		result.partial = r->partial;
		global_span_fill(&span, &result.figures);
		report_result(m->report, &result);
	}
	result = target_result(m, t, RESULT_TARGET_PASS);
	result.pass = r->pass;
	global_span_fill(&span, &r->figures);
	result.figures = r->figures;
	result.partial = r->partial;
	follow_pass(m, t, &result);
	report_result(m->report, &result);
	if (r->endtoend)
		report_endtoend(m->report, r->endtoend);
}

/* -passes until: there have been enough. */
bool manager_is_known(const struct manager *m)
{
	return m->plan->until_percent && series_is_known(&m->series, m->plan->until_percent);
}

/*
 * Collect how the QThreads of a target spent their time; `r` has its sums. Returns false when that
 * is too short to tell.
 */
static bool facts_of(const struct manager *m, const struct result *r, struct bound_facts *facts)
{
	const struct bound_run run = {
		.cpu_ns = m->cpu_ns,
		.throttled_ns = m->throttled_ns,
		.stopped_ns = m->stopped.total_ns,
	};

	return bound_facts(facts, m->plan, r, &run);
}

static struct result_times times_of(const struct bound_facts *facts)
{
	const double busy = facts->own + facts->kernel, held = bound_held(facts);
	const double rest = 1 - busy - facts->waited - held;

	return (struct result_times){
		.known = true,
		.busy = busy,
		.waited = facts->waited,
		.held = held,
		.idle = rest > 0 ? rest : 0,
	};
}

/* The sums over the passes of target `i`. */
static struct result average_of(const struct manager *m, size_t i)
{
	struct bound_facts facts;
	const struct target_sum *sum = &m->sums[i];
	struct result result = target_result(m, &m->plan->targets[i], RESULT_TARGET_AVERAGE);

	result.pass = sum->passes;
	result.figures = sum->figures;
	if (facts_of(m, &result, &facts)) {
		result.bound = bound_judge(&facts);
		if (result.bound == RESULT_BOUND_DEVICE &&
		    crosscheck_is_limited(&m->crosscheck, &m->plan->targets[i]))
			result.bound = RESULT_BOUND_LIMIT;
		result.times = times_of(&facts);
	}
	result.partial = sum->partial;
	return result;
}

static void write_averages(struct manager *m)
{
	for (size_t i = 0; i < m->plan->n_targets; i++) {
		struct result result = average_of(m, i);

		if (result.pass)
			report_result(m->report, &result);
	}
}

/* Check the results against other sources. */
static void write_checks(struct manager *m)
{
	for (size_t i = 0; i < m->plan->n_targets; i++) {
		struct result result = average_of(m, i);
		struct bound_facts facts;
		bool told = facts_of(m, &result, &facts);

		if (!result.pass)
			continue;
		crosscheck_target(&m->crosscheck, m->run, &result, told ? &facts : NULL,
				  &m->sums[i].dirty);
		throttle_report(m->run, &m->plan->targets[i], &m->sums[i].paced);
	}
}

/* The run of -readback that follows reads no more. Failed operations may lie anywhere in a pass. */
static void count_written(const struct manager *m)
{
	for (size_t i = 0; m->plan->written_ops && i < m->plan->n_targets; i++) {
		const struct target_sum *sum = &m->sums[i];

		if (!sum->figures.tally.errors && !sum->figures.tally.outstanding)
			m->plan->written_ops[i] = sum->most_ops;
	}
}

static void report_stop(const struct manager *m)
{
	char text[SCALED_SIZE];

	if (m->stopped.total_ns)
		report_finding(m->report, finding_of_run(NULL, false), SAYS(STOPPED),
			       scaled_time((double)m->stopped.total_ns, text));
}

/* Add the processor time of threads that are no QThreads. */
static void add_others(const struct manager *m, struct figures *f)
{
	uint64_t most = f->elapsed_ns * m->online, own = f->cpu.user_ns + f->cpu.sys_ns;
	struct cpu_time others =
		cputime_of_others(&m->run->cpu, f->elapsed_ns, most > own ? most - own : 0);

	f->cpu.user_ns += others.user_ns;
	f->cpu.sys_ns += others.sys_ns;
}

/* A result of all targets, without figures. */
static struct result result_of_all(const struct manager *m, enum result_what what, uint64_t pass)
{
	struct result result = target_result(m, &m->plan->targets[0], what);

	result.pass = pass;
	result.target = m->plan->n_targets;
	result.queue = 0;
	result.qthreads = 0;
	figures_init(&result.figures);
	for (size_t i = 0; i < m->plan->n_targets; i++) {
		const struct target_plan *t = &m->plan->targets[i];

		result.queue += t->queue_depth;
		result.qthreads += t->qthreads;
		result.verified |= t->verify != VERIFY_NONE;
		if (t->op != result.op)
			result.op = OP_MIXED;
	}
	return result;
}

void manager_write_stonewall(struct manager *m, enum result_what what, const struct tally *sum,
			     uint64_t begin_ns, uint64_t elapsed_ns)
{
	struct result result = result_of_all(m, what, m->together.pass);

	result.figures.known = 0;
	result.figures.tally = *sum;
	result.figures.elapsed_ns = elapsed_ns;
	result.figures.begin_ns = begin_ns;
	result.figures.finish_ns = begin_ns + elapsed_ns;
	report_result(m->report, &result);
}

static void write_combined(struct manager *m)
{
	struct result result = result_of_all(m, RESULT_COMBINED, m->passes);

	for (size_t i = 0; i < m->plan->n_targets; i++) {
		manager_add(m, &result.figures, &m->sums[i].figures);
		result.partial |= m->sums[i].partial;
	}
	/* The targets ran at the same time: their elapsed times overlap. */
	result.figures.elapsed_ns = m->combined_ns;
	add_others(m, &result.figures);
	deskew_fill(&m->deskew, &result);
	report_result(m->report, &result);
	figures_free(&result.figures);
}

/* Where the copies to or from other hosts spent their time, and that they are complete. */
static void write_endtoend(struct manager *m)
{
	for (size_t i = 0; i < m->plan->n_targets; i++)
		if (m->sums[i].endtoend)
			report_endtoend(m->report, m->sums[i].endtoend);
}

/* How -passes until ended. */
static void write_until(const struct manager *m)
{
	const double percent = series_percent(&m->series);
	char interval[32];

	snprintf(interval, sizeof(interval), "+-%.2f %%", percent);
	report_table_line(m->report,
			  "Passes until %g %%, %s after %" PRIu64
			  " passes: the 95 %% interval of the bandwidth is %s",
			  m->plan->until_percent, manager_is_known(m) ? "reached" : "not reached",
			  m->passes,
			  rule_too_few(percent) ? "unknown, of " RULE_TOO_FEW_PASSES : interval);
}

static void write_statistics(struct manager *m)
{
	for (size_t i = 0; m->keep_series && i < m->plan->n_targets; i++)
		series_report(&m->sums[i].series, m->report, false, i);
	if (m->keep_series)
		series_report(&m->series, m->report, true, 0);
	if (m->plan->until_percent)
		write_until(m);
}

/* The audit of -ordering, and by what means the order was kept. */
static void write_order(struct manager *m)
{
	for (size_t i = 0; i < m->plan->n_targets; i++) {
		const struct target_sum *sum = &m->sums[i];
		const char *how = order_text(&m->run->targets[i].order);

		if (!sum->passes)
			continue;
		if (!plan_knows_order(&m->plan->targets[i])) {
			report_detail(
				m->report,
				"Target %zu, order breaks unknown of %" PRIu64
				", %s%s%s: QThreads may overtake each other on their way into "
				"the kernel",
				i, sum->figures.tally.issued,
				plan_ordering_name(m->plan->targets[i].ordering), how ? " " : "",
				how ? how : "");
			continue;
		}
		report_detail(m->report,
			      "Target %zu, order breaks %" PRIu64 " of %" PRIu64 ", %s%s%s", i,
			      sum->figures.tally.order_breaks, sum->figures.tally.issued,
			      plan_ordering_name(m->plan->targets[i].ordering), how ? " " : "",
			      how ? how : "");
	}
}

static void write_traces(struct manager *m)
{
	struct global_span span;

	if (!m->passes)
		return;
	global_clock_run(&m->clock, m->run, &span);
	for (size_t i = 0; i < m->plan->n_targets; i++) {
		const struct target_sum *sum = &m->sums[i];
		struct target *t = &m->run->targets[i];

		/* Where a pass has begun, all targets are open, and their tables too. */
		if (t->trace.writers)
			trace_report(m->run, t, &span, sum->partial || !sum->passes);
	}
}

static enum report_end how_it_ended(const struct run *run)
{
	enum stop_reason why = stop_why(&run->stop);

	if (why == STOP_SIGNAL || outwait_was_cut())
		return REPORT_END_CANCELED;
	if (why != STOP_NONE || atomic_load(&run->failures.errors) ||
	    atomic_load(&run->failures.miscompares))
		return REPORT_END_ERRORS;
	return run->manager.output_failed ? REPORT_END_ERRORS : REPORT_END_NORMAL;
}

/*
 * -runtime ended the run; a run that was stopped says so in other words. Without barriers the
 * targets may have run different numbers of passes: the fewest count.
 */
static void check_passes(const struct manager *m)
{
	const struct plan *plan = m->plan;
	size_t few = 0;

	if (plan->until_percent || stop_requested(&m->run->stop) || !plan->run_time_ns ||
	    plan_first_pass_is_last(plan))
		return;
	for (size_t i = 1; i < plan->n_targets; i++)
		few = m->sums[i].passes < m->sums[few].passes ? i : few;
	if (m->passes < plan->passes)
		report_finding(m->run->report, finding_of_run(NULL, false), SAYS(PASSES),
			       plan->passes, m->passes);
	else if (m->sums[few].passes < plan->passes)
		report_finding(m->run->report, finding_of_target(&plan->targets[few]), SAYS(PASSES),
			       plan->passes, m->sums[few].passes);
}

void manager_write_end(struct manager *m)
{
	/*
	 * A signal from here on changes nothing: lines, documents and exit status are to say the
	 * same.
	 */
	signals_detach(m->run->signals);
	if (m->passes) {
		count_written(m);
		for (size_t i = 0; i < m->plan->n_targets; i++) {
			const struct figures *f = &m->sums[i].figures;

			crosscheck_add(&m->crosscheck, &m->plan->targets[i], f);
			m->cpu_ns += f->cpu.user_ns + f->cpu.sys_ns;
		}
		write_averages(m);
		write_combined(m);
		write_endtoend(m);
		write_statistics(m);
		deskew_end(&m->deskew, m->report);
		write_order(m);
		report_stop(m);
		report_findings_hold(m->report);
		write_checks(m);
		report_findings_release(m->report);
		check_passes(m);
	}
	global_clock_report(&m->clock, m->run);
	write_traces(m);
	crosscheck_end(&m->crosscheck, m->run);
	report_trailer(m->report, how_it_ended(m->run));
}

/* Print the clock source and the features that each engine obtained. */
void manager_describe(struct manager *m)
{
	report_detail(m->report, "Clock, %s", clock_source());
	if (m->plan->timer_info)
		report_line(m->report,
			    "Timer, %s, resolution %" PRIu64
			    " ns, overhead %.1f ns per reading, time stamp %.1f ns per operation",
			    clock_source(), m->run->timer.resolution_ns, m->run->timer.reading_ns,
			    m->run->timer.stamp_ns);
	for (size_t i = 0; i < m->plan->n_targets; i++) {
		const struct target *t = &m->run->targets[i];

		if (*t->engine_text)
			report_detail(m->report, "Target %zu, engine %s: %s", i,
				      t->engine->info.name, t->engine_text);
		if (private_fd_wanted(t))
			report_detail(m->report, "Target %zu, open files, %u for %u QThreads", i,
				      atomic_load(&t->private_fds) + 1, t->plan->qthreads);
	}
}
