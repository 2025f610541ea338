/*
 * The results manager: a thread that takes finished passes from the targets, writes their lines, keeps
 * the sums, and lets the next pass begin. It sees pass_result values only; when the run stops it waits
 * a bounded time for what is outstanding and reports without what never comes.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "xdd/base/debug.h"
#include "xdd/base/log.h"
#include "xdd/base/units.h"
#include "xdd/report/extremes.h"
#include "xdd/run/deskew.h"
#include "xdd/run/internal.h"
#include "xdd/run/own_file.h"
#include "xdd/run/statistics.h"

/* How long operations that are outstanding when the run stops may take before it ends without them. */
#define GRACE_NS (3 * UNITS_NS_PER_SEC)

/* Sums over the passes of one target. */
struct target_sum {
	struct tally tally;
	struct latency latency;
	struct extremes extremes;
	struct cpu_time cpu;
	struct pass_look look;
	uint64_t wait_ns;
	uint64_t elapsed_ns;
	uint64_t first_op_ns;
	uint64_t passes;
	bool partial;
	struct pass_series series;
};

/* The stretch of time in which any target was transferring; delays are shifted out. */
struct window {
	uint64_t first_ns;
	uint64_t last_ns;
};

struct manager {
	struct run *run;
	const struct plan *plan;
	struct report *report;
	struct target_sum *sums;
	struct window window;
	bool keep_series;	   /* somebody wants statistics over passes */
	struct pass_series series; /* of all targets together; none with -nobarrier */
	struct result together;	   /* the pass that is being collected, of all targets */
	uint64_t combined_ns;	   /* windows of the passes that are over */
	uint64_t passes;
	uint64_t grace_end_ns;
	uint64_t processors;
	struct cpu_time cpu_start;
	struct checks checks;
	bool header_done;
	struct deskew deskew;
	struct start_skew *start_skew;
};

int results_init(struct results_queue *q, uint32_t alive)
{
	pthread_condattr_t attr;
	int err = pthread_mutex_init(&q->lock, NULL);

	if (err)
		return -err;
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	err = pthread_cond_init(&q->changed, &attr);
	pthread_condattr_destroy(&attr);
	if (err) {
		pthread_mutex_destroy(&q->lock);
		return -err;
	}
	q->first = NULL;
	q->tail = &q->first;
	q->alive = alive;
	return 0;
}

void results_destroy(struct results_queue *q)
{
	while (q->first) {
		struct pass_result *r = q->first;

		q->first = r->next;
		pass_result_free(r);
	}
	pthread_cond_destroy(&q->changed);
	pthread_mutex_destroy(&q->lock);
}

void results_put(struct results_queue *q, struct pass_result *r)
{
	pthread_mutex_lock(&q->lock);
	*q->tail = r;
	q->tail = &r->next;
	pthread_cond_signal(&q->changed);
	pthread_mutex_unlock(&q->lock);
}

void results_qthread_gone(struct results_queue *q)
{
	pthread_mutex_lock(&q->lock);
	if (--q->alive == 0)
		pthread_cond_signal(&q->changed);
	pthread_mutex_unlock(&q->lock);
}

void results_wake(struct results_queue *q)
{
	pthread_mutex_lock(&q->lock);
	pthread_cond_signal(&q->changed);
	pthread_mutex_unlock(&q->lock);
}

static struct result target_result(const struct manager *m, const struct target_plan *t,
				   enum result_what what)
{
	return (struct result){
		.what = what,
		.processors = m->processors,
		.target = t->number,
		.queue = t->queue_depth,
		.op = t->op,
		.req_bytes = t->req_bytes,
		.block_size = t->block_size,
	};
}

/* The next result or interval, or NULL when no more will come: all QThreads are gone, or the grace is over. */
static struct pass_result *take_any(struct manager *m)
{
	struct results_queue *q = &m->run->results;
	struct pass_result *r;

	pthread_mutex_lock(&q->lock);
	while (!q->first && q->alive) {
		struct timespec ts;

		if (!stop_requested(&m->run->stop)) {
			pthread_cond_wait(&q->changed, &q->lock);
			continue;
		}
		if (!m->grace_end_ns)
			m->grace_end_ns = clock_now_ns() + GRACE_NS;
		ts.tv_sec = (time_t)(m->grace_end_ns / UNITS_NS_PER_SEC);
		ts.tv_nsec = (long)(m->grace_end_ns % UNITS_NS_PER_SEC);
		if (pthread_cond_timedwait(&q->changed, &q->lock, &ts) == ETIMEDOUT)
			break;
	}
	r = q->first;
	if (r) {
		q->first = r->next;
		if (!q->first)
			q->tail = &q->first;
	}
	pthread_mutex_unlock(&q->lock);
	return r;
}

static void write_interval(struct manager *m, struct pass_result *r)
{
	struct result result = target_result(m, &m->plan->targets[r->target], RESULT_TARGET_PASS);

	result.pass = r->pass;
	result.latency = &r->latency;
	report_latency_interval(m->report, &result, r->from_ns, r->to_ns);
	pass_result_free(r);
}

/* The next result, likewise; intervals that come before it are written. */
static struct pass_result *take(struct manager *m)
{
	struct pass_result *r;

	while ((r = take_any(m)) && r->interval)
		write_interval(m, r);
	return r;
}

static void write_result(struct manager *m, const struct result *result)
{
	if (!m->header_done) {
		report_header(m->report);
		m->header_done = true;
	}
	report_result(m->report, result);
}

static void set_look(struct result *result, const struct pass_look *look)
{
	result->range_bytes = look->range_bytes;
	result->resident_bytes = look->resident_bytes;
	result->hole_bytes = look->hole_bytes;
}

static void add_look(struct pass_look *sum, const struct pass_look *look)
{
	sum->range_bytes += look->range_bytes;
	sum->resident_bytes += look->resident_bytes;
	sum->hole_bytes += look->hole_bytes;
}

/* What a result line shows of latencies. */
static const struct latency *kept(const struct manager *m, const struct latency *latency)
{
	return m->run->keep_latency ? latency : NULL;
}

static void add_latency(struct manager *m, struct latency *sum, const struct latency *from)
{
	if (latency_add(sum, from) && run_stop(m->run, STOP_START, ENOMEM))
		log_error("latencies cannot be added up: %s", strerror(ENOMEM));
}

/* A pass that was cut short says nothing about those that were not. */
static bool is_whole(const struct manager *m, const struct target_plan *t, const struct result *r)
{
	bool short_of = tally_ops(&r->tally) + r->tally.errors < t->pass_ops;

	if (short_of && clock_now_ns() >= atomic_load(&m->run->end_ns))
		return false;
	if (m->plan->max_errors && r->tally.errors >= m->plan->max_errors)
		return false;
	return !r->partial;
}

static void follow_pass(struct manager *m, const struct target_plan *t, const struct result *r)
{
	bool whole = is_whole(m, t, r);

	if (!m->keep_series)
		return;
	tally_add(&m->together.tally, &r->tally);
	m->together.partial |= !whole;
	if (series_add(&m->sums[t->number].series, r, whole))
		log_error("the statistics leave out pass %" PRIu64 " of target %" PRIu64 ": %s",
			  r->pass, r->target, strerror(ENOMEM));
}

static void write_extremes(struct manager *m, const struct result *result)
{
	if (m->plan->extended_stats)
		report_extremes(m->report, result);
}

static void write_pass(struct manager *m, const struct pass_result *r)
{
	const struct target_plan *t = &m->plan->targets[r->target];
	struct result result;

	for (uint32_t i = 0; i < r->n_queues; i++) {
		result = target_result(m, t, RESULT_QUEUE_PASS);
		result.pass = r->pass;
		result.queue = i;
		result.tally = r->queues[i].tally;
		result.latency = kept(m, &r->queues[i].latency);
		result.extremes = r->queues[i].extremes;
		result.elapsed_ns = tally_elapsed_ns(&result.tally);
		result.cpu = r->queues[i].cpu;
		result.partial = r->partial;
		if (m->plan->qthread_info)
			write_result(m, &result);
		report_record(m->report, &result);
	}
	result = target_result(m, t, RESULT_TARGET_PASS);
	result.pass = r->pass;
	result.tally = r->tally;
	result.latency = kept(m, &r->latency);
	result.extremes = r->extremes;
	result.elapsed_ns = tally_elapsed_ns(&r->tally);
	result.first_op_ns = r->first_op_ns;
	set_look(&result, &r->look);
	result.cpu = r->cpu;
	result.partial = r->partial;
	report_latency(m->report, &result);
	follow_pass(m, t, &result);
	report_record(m->report, &result);
	if (!m->plan->verbose)
		return;
	write_result(m, &result);
	write_extremes(m, &result);
	if (r->partial)
		report_line(m->report,
			    "Results are partial: target %u was cut short in pass %" PRIu64,
			    r->target, r->pass);
}

static void add_pass(struct manager *m, const struct pass_result *r)
{
	struct target_sum *sum = &m->sums[r->target];

	if (!sum->passes)
		sum->first_op_ns = r->first_op_ns;
	sum->passes++;
	tally_add(&sum->tally, &r->tally);
	add_latency(m, &sum->latency, &r->latency);
	extremes_add(&sum->extremes, &r->extremes);
	add_look(&sum->look, &r->look);
	sum->elapsed_ns += tally_elapsed_ns(&r->tally);
	sum->wait_ns += r->wait_ns;
	sum->cpu.user_ns += r->cpu.user_ns;
	sum->cpu.sys_ns += r->cpu.sys_ns;
	sum->partial |= r->partial;
	if (sum->passes > m->passes)
		m->passes = sum->passes;
	if (r->tally.last_done_ns) {
		uint64_t first = r->tally.first_issue_ns - r->shift_ns;
		uint64_t last = r->tally.last_done_ns - r->shift_ns;

		if (first < m->window.first_ns)
			m->window.first_ns = first;
		if (last > m->window.last_ns)
			m->window.last_ns = last;
	}
}

/* Returns its length. */
static uint64_t close_window(struct manager *m)
{
	uint64_t ns =
		m->window.last_ns > m->window.first_ns ? m->window.last_ns - m->window.first_ns : 0;

	m->combined_ns += ns;
	m->window = (struct window){ .first_ns = UINT64_MAX };
	return ns;
}

static void take_in(struct manager *m, struct pass_result *r)
{
	/* A target that had not begun when the run stopped has nothing to say. */
	if (!r->partial || tally_ops(&r->tally) || r->tally.errors || r->tally.outstanding) {
		write_pass(m, r);
		add_pass(m, r);
	}
	if (m->plan->verbose && m->plan->n_targets > 1)
		start_skew_add(&m->start_skew, m->report, r, m->plan->n_targets);
}

/* Results of one pass, which come in any order, in the order of the targets. False: the run stopped. */
static bool collect_pass(struct manager *m, struct pass_result **slots)
{
	uint64_t pass = 0;
	size_t got = 0;

	m->together = (struct result){ .pass = m->passes + 1 };
	while (got < m->plan->n_targets) {
		struct pass_result *r = take(m);

		if (!r)
			break;
		slots[r->target] = r;
		pass = r->pass;
		got++;
	}
	for (size_t i = 0; i < m->plan->n_targets; i++) {
		if (slots[i])
			take_in(m, slots[i]);
	}
	if (got)
		deskew_pass(&m->deskew, m->report, slots, pass);
	for (size_t i = 0; i < m->plan->n_targets; i++) {
		pass_result_free(slots[i]);
		slots[i] = NULL;
	}
	m->together.elapsed_ns = close_window(m);
	if (got < m->plan->n_targets)
		return false;
	if (m->keep_series && series_add(&m->series, &m->together, !m->together.partial))
		log_error("the statistics leave out pass %" PRIu64 ": %s", m->together.pass,
			  strerror(ENOMEM));
	return true;
}

/* -passes until: there have been enough. */
static bool is_known(const struct manager *m)
{
	return m->plan->until_percent && series_is_known(&m->series, m->plan->until_percent);
}

/* Passes one after the other, all targets together. */
static void manage_passes(struct manager *m, struct pass_result **slots)
{
	struct run *run = m->run;

	for (uint64_t pass = 1; collect_pass(m, slots); pass++) {
		uint64_t end = atomic_load(&run->end_ns), until;

		run->more = pass < m->plan->passes && clock_now_ns() < end && !is_known(m);
		if (run->more && m->plan->pass_delay_ns) {
			if (m->plan->verbose)
				report_line(m->report, "Starting Pass Delay of %f seconds...",
					    (double)m->plan->pass_delay_ns / 1e9);
			until = clock_now_ns() + m->plan->pass_delay_ns;
			if (stop_sleep_until(&run->stop, until < end ? until : end))
				return;
			run->more = until < end;
		}
		if (run->more && m->plan->drop_system_cache)
			checks_drop_system(run);
		/* All QThreads wait for this thread: nobody else reads the clock. */
		clock_resync();
		if (barrier_wait(&run->start, NULL) < 0 || !run->more)
			return;
	}
}

/* With -nobarrier the targets go through their passes by themselves. */
static void manage_stream(struct manager *m)
{
	struct pass_result *r;

	while ((r = take(m))) {
		take_in(m, r);
		pass_result_free(r);
	}
	close_window(m);
}

/*
 * For how long the oldest outstanding operation of a target has been, at least: its QThread has issued it after
 * what came back last, or is waiting for a queue that has not moved since.
 */
static uint64_t longest_wait(const struct target *t)
{
	uint64_t longest = 0, now = clock_kernel_ns();

	for (uint32_t i = 0; i < t->plan->qthreads; i++) {
		struct tally own;
		uint64_t since;

		tally_clear(&own);
		tally_add_counters(&own, &t->qthreads[i].counters);
		since = own.last_done_ns ? own.last_done_ns : own.first_issue_ns;
		if (own.outstanding && now > since && now - since > longest)
			longest = now - since;
	}
	return longest;
}

/* What targets did in a pass that they will not finish. */
static void take_unfinished(struct manager *m, bool stuck)
{
	for (size_t i = 0; i < m->plan->n_targets; i++) {
		struct target *t = &m->run->targets[i];
		bool unfinished = atomic_exchange(&t->undelivered, false);
		struct pass_result *r = unfinished ? target_snapshot(t) : NULL;

		if (!r)
			continue;
		if (stuck && r->tally.outstanding)
			log_error("target %u, %s: %" PRIu64
				  " operations are still outstanding, for %.1f s at least",
				  r->target, t->plan->path, r->tally.outstanding,
				  (double)longest_wait(t) / (double)UNITS_NS_PER_SEC);
		take_in(m, r);
		pass_result_free(r);
	}
}

/* What is left when the run is over or has stopped: late results, and passes that never end. */
static void manage_rest(struct manager *m)
{
	struct run *run = m->run;
	struct pass_result *r;
	uint32_t alive;

	while ((r = take(m))) {
		take_in(m, r);
		pass_result_free(r);
	}
	pthread_mutex_lock(&run->results.lock);
	alive = run->results.alive;
	pthread_mutex_unlock(&run->results.lock);
	if (alive) {
		run->stuck = true;
		log_error(
			"%u QThreads did not come back within %llu s of the end and are left behind",
			alive, GRACE_NS / UNITS_NS_PER_SEC);
	}
	if (stop_requested(&run->stop))
		take_unfinished(m, alive != 0);
	close_window(m);
}

/* The sums over the passes of target `i`. */
static struct result average_of(const struct manager *m, size_t i)
{
	const struct target_sum *sum = &m->sums[i];
	struct result result = target_result(m, &m->plan->targets[i], RESULT_TARGET_AVERAGE);

	result.pass = sum->passes;
	result.tally = sum->tally;
	result.latency = kept(m, &sum->latency);
	result.extremes = sum->extremes;
	result.elapsed_ns = sum->elapsed_ns;
	result.first_op_ns = sum->first_op_ns;
	set_look(&result, &sum->look);
	result.cpu = sum->cpu;
	result.wait_ns = sum->wait_ns;
	result.bound = checks_bound(m->plan, &result);
	result.partial = sum->partial;
	return result;
}

static void write_averages(struct manager *m)
{
	for (size_t i = 0; i < m->plan->n_targets; i++) {
		struct result result = average_of(m, i);

		if (!result.pass)
			continue;
		report_latency(m->report, &result);
		if (m->plan->verbose)
			write_result(m, &result);
		report_record(m->report, &result);
		write_extremes(m, &result);
	}
}

/* Whether what was measured is what it seems. */
static void write_checks(struct manager *m)
{
	for (size_t i = 0; i < m->plan->n_targets; i++) {
		struct result result = average_of(m, i);

		if (result.pass)
			checks_target(&m->checks, m->run, &result);
	}
}

static void write_combined(struct manager *m)
{
	struct result result = target_result(m, &m->plan->targets[0], RESULT_COMBINED);
	struct latency all;
	struct pass_look look = { 0 };
	struct cpu_time now;

	result.pass = m->passes;
	result.target = m->plan->n_targets;
	result.queue = 0;
	result.elapsed_ns = m->combined_ns;
	result.first_op_ns = m->sums[0].first_op_ns;
	result.latency = kept(m, &all);
	tally_clear(&result.tally);
	latency_init(&all);
	for (size_t i = 0; i < m->plan->n_targets; i++) {
		const struct target_plan *t = &m->plan->targets[i];

		tally_add(&result.tally, &m->sums[i].tally);
		extremes_add(&result.extremes, &m->sums[i].extremes);
		add_look(&look, &m->sums[i].look);
		add_latency(m, &all, &m->sums[i].latency);
		result.queue += t->queue_depth;
		result.partial |= m->sums[i].partial;
		if (t->op != result.op)
			result.op = OP_MIXED;
	}
	set_look(&result, &look);
	clock_process_cpu(&now);
	result.cpu.user_ns = now.user_ns - m->cpu_start.user_ns;
	result.cpu.sys_ns = now.sys_ns - m->cpu_start.sys_ns;
	deskew_fill(&m->deskew, &result);
	write_result(m, &result);
	report_record(m->report, &result);
	report_latency(m->report, &result);
	latency_free(&all);
	write_extremes(m, &result);
	if (result.partial)
		report_line(m->report, "Results are partial: the run was cut short");
}

/*
 * Where nothing keeps threads in order on their way into the kernel, the audit can give a bound only: it looks
 * before the system call of psync, and behind that of engines that queue.
 */
static const char *audit_bound(const struct target_plan *t)
{
	if (t->qthreads == 1 || t->ordering == ORDERING_STRICT || t->ordering == ORDERING_SERIAL)
		return "";
	return t->engine_queues ? " (at most)" : " (at least)";
}

static void write_statistics(struct manager *m)
{
	for (size_t i = 0; m->keep_series && i < m->plan->n_targets; i++)
		series_report(&m->sums[i].series, m->report, false, i);
	if (m->keep_series)
		series_report(&m->series, m->report, true, 0);
	if (m->plan->until_percent)
		report_line(m->report,
			    "Passes until %g %%, %s after %" PRIu64
			    " passes: the 95 %% interval of the bandwidth is +-%.2f %%",
			    m->plan->until_percent, is_known(m) ? "reached" : "not reached",
			    m->passes, series_percent(&m->series));
}

/* The audit of -ordering, and by what means the order was kept. */
static void write_order(struct manager *m)
{
	for (size_t i = 0; m->plan->verbose && i < m->plan->n_targets; i++) {
		const struct target_sum *sum = &m->sums[i];
		const char *how = order_text(&m->run->targets[i].order);

		if (!sum->passes)
			continue;
		report_line(m->report,
			    "Target %zu, order breaks %" PRIu64 " of %" PRIu64 ", %s%s%s%s", i,
			    sum->tally.order_breaks, sum->tally.issued,
			    plan_ordering_name(m->plan->targets[i].ordering), how ? " " : "",
			    how ? how : "", audit_bound(&m->plan->targets[i]));
	}
}

static void write_traces(struct manager *m)
{
	for (size_t i = 0; i < m->plan->n_targets; i++) {
		struct target *t = &m->run->targets[i];

		/* Where a pass has begun, all targets are open, and their tables too. */
		if (m->passes && t->trace.writers)
			trace_report(m->run, t, m->sums[i].partial);
	}
}

static void write_end(struct manager *m)
{
	enum stop_reason why = stop_why(&m->run->stop);

	if (m->passes) {
		write_averages(m);
		write_combined(m);
		write_statistics(m);
		deskew_end(&m->deskew, m->report);
		write_order(m);
		write_checks(m);
	}
	write_traces(m);
	checks_end(&m->checks, m->run);
	report_trailer(m->report, why == STOP_SIGNAL ? REPORT_END_CANCELED :
				  why != STOP_NONE || atomic_load(&m->run->errors) ||
						  atomic_load(&m->run->miscompares) ||
						  m->run->output_failed ?
						       REPORT_END_ERRORS :
						       REPORT_END_NORMAL);
}

/* What the clock reads, and what the engines got of what they tried for. */
static void describe_engines(struct manager *m)
{
	if (m->plan->verbose)
		report_line(m->report, "Clock, %s", clock_source());
	if (m->plan->timer_info)
		report_line(m->report,
			    "Timer, %s, resolution %" PRIu64
			    " ns, overhead %.1f ns a reading, time stamp %.1f ns an operation",
			    clock_source(), m->run->timer.resolution_ns, m->run->timer.reading_ns,
			    m->run->timer.stamp_ns);
	for (size_t i = 0; m->plan->verbose && i < m->plan->n_targets; i++) {
		const struct target *t = &m->run->targets[i];

		if (*t->engine_text)
			report_line(m->report, "Target %zu, engine %s: %s", i, t->engine->name,
				    t->engine_text);
		if (own_file_wanted(t))
			report_line(m->report, "Target %zu, open files, %u for %u QThreads", i,
				    atomic_load(&t->own_files) + 1, t->plan->qthreads);
	}
}

/* Where something is to be done once all targets are open, wait for that. False: the run stops. */
static bool is_open(struct manager *m)
{
	if (m->run->reshapes && barrier_wait(&m->run->start, NULL) < 0)
		return false;
	if (m->plan->drop_system_cache)
		checks_drop_system(m->run);
	return true;
}

void *results_main(void *arg)
{
	struct run *run = arg;
	struct manager m = { .run = run,
			     .plan = run->plan,
			     .report = run->report,
			     .window = { .first_ns = UINT64_MAX } };
	struct pass_result **slots = calloc(run->plan->n_targets, sizeof(*slots));
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);

	debug_line(DEBUG_TASK, "results manager: thread %d starts", gettid());
	m.sums = calloc(run->plan->n_targets, sizeof(*m.sums));
	if ((!slots || !m.sums || checks_begin(&m.checks, run->plan) ||
	     deskew_init(&m.deskew, run->plan)) &&
	    run_stop(run, STOP_START, ENOMEM))
		log_error("%s", strerror(ENOMEM));
	for (size_t i = 0; m.sums && i < run->plan->n_targets; i++) {
		tally_clear(&m.sums[i].tally);
		latency_init(&m.sums[i].latency);
	}
	m.processors = run->plan->percent_cpu == PERCENT_CPU_RELATIVE && cpus > 0 ? (uint64_t)cpus :
										    1;
	m.keep_series = m.sums && (m.plan->verbose || m.plan->json_file || m.plan->until_percent);
	run->more = true;
	clock_process_cpu(&m.cpu_start);
	/* All are open; and ready, once what changes their files has been done. */
	if (is_open(&m) && !starttime_wait(run) && barrier_wait(&run->start, NULL) >= 0) {
		starttime_check(run);
		describe_engines(&m);
		if (run->plan->no_barrier)
			manage_stream(&m);
		else
			manage_passes(&m, slots);
	}
	manage_rest(&m);
	heartbeat_end(&run->heartbeat);
	write_end(&m);
	deskew_destroy(&m.deskew);
	start_skew_free(m.start_skew);
	for (size_t i = 0; m.sums && i < run->plan->n_targets; i++) {
		latency_free(&m.sums[i].latency);
		series_free(&m.sums[i].series);
	}
	series_free(&m.series);
	free(m.sums);
	free(slots);
	debug_line(DEBUG_TASK, "results manager: thread %d ends", gettid());
	return NULL;
}
