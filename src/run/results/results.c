/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The results manager: a thread that takes finished passes from the targets, writes their lines,
 * keeps the sums, and lets the next pass begin. It sees pass_result values only; when the run stops
 * it waits a bounded time for what is outstanding and reports without what never comes.
 */
#include "run/meter/meter.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "run/endtoend/endtoend.h"
#include "run/meter/sample.h"
#include "run/progress/heartbeat.h"
#include "run/progress/intervals.h"
#include "run/progress/ranks.h"
#include "run/qthread.h"
#include "run/results/crosscheck.h"
#include "run/results/global_clock.h"
#include "run/results/manager.h"
#include "run/results/sums.h"
#include "run/run_state.h"
#include "run/target.h"
#include "xdd/base/log.h"
#include "xdd/base/units.h"
#include "xdd/sys/machine.h"

/*
 * How long operations that are outstanding when the run stops may take before it ends without them.
 */
#define GRACE_NS (3 * NS_PER_SEC)

/*
 * How long flushing, closing and unmapping may take from then on before the results are written
 * without them.
 */
#define SETTLE_NS (30 * NS_PER_SEC)

/* How often to look whether operations still complete, in a run with a limit. */
#define LOOK_NS NS_PER_SEC

/* ---- operations that hang after a limit ---- */

/* The counters of a target in its pass. */
struct activity {
	uint64_t first_ns; /* issue of its first operation; UINT64_MAX: there is none */
	uint64_t last_ns;  /* completion of the last one, or an issue before any */
	uint64_t outstanding;
};

static struct activity activity_of(const struct target *t)
{
	struct activity a = { .first_ns = UINT64_MAX };

	for (uint32_t i = 0; i < t->plan->qthreads; i++) {
		struct tally own;
		uint64_t moved;

		tally_clear(&own);
		tally_add_counters(&own, &t->qthreads[i].counters);
		if (own.first_issue_ns == UINT64_MAX)
			continue;
		moved = own.last_done_ns ? own.last_done_ns : own.first_issue_ns;
		a.last_ns = ns_later(a.last_ns, moved);
		a.first_ns = ns_earlier(a.first_ns, own.first_issue_ns);
		a.outstanding += own.outstanding;
	}
	return a;
}

/*
 * When the pass has to end: by -timelimit from its first operation, or by -runtime; UINT64_MAX: by
 * its amount of work. A side of an end-to-end copy has a limit on silence of its own.
 */
static uint64_t limit_of(const struct target *t, const struct activity *a)
{
	const struct target_plan *plan = t->plan;
	const uint64_t end = atomic_load(&t->run->end_ns);

	if (t->endtoend)
		return UINT64_MAX;
	if (!plan->time_limit_ns || plan->warmup_ops || a->first_ns == UINT64_MAX)
		return end;
	return ns_earlier(end, a->first_ns + plan->warmup_ns + plan->time_limit_ns);
}

/*
 * When the target will have been silent for too long after its limit, unless an operation completes
 * before; UINT64_MAX: it may take as long as it likes, or nothing is outstanding.
 */
static uint64_t hang_ns(const struct target *t)
{
	const struct activity a = activity_of(t);
	const uint64_t limit = limit_of(t, &a);

	if (limit == UINT64_MAX || !a.outstanding)
		return UINT64_MAX;
	return ns_later(a.last_ns, limit) + GRACE_NS;
}

/*
 * When all targets whose pass is not over hang; UINT64_MAX: at least one may go on. A slow device
 * that still completes operations of a deep queue does not hang.
 */
static uint64_t all_hang_ns(const struct manager *m)
{
	uint64_t latest = 0;

	for (size_t i = 0; i < m->plan->n_targets; i++) {
		const struct target *t = &m->run->targets[i];
		uint64_t at = atomic_load(&t->result_pending) ? hang_ns(t) : 0;

		latest = ns_later(latest, at);
	}
	return latest ? latest : UINT64_MAX;
}

/* End a run whose limit is over and whose operations hang: as after a signal, it waits no more. */
static void end_hung(struct manager *m)
{
	if (all_hang_ns(m) > clock_now_ns() || !run_stop(m->run, STOP_ERROR, ETIMEDOUT))
		return;
	log_error("%s is over, and no operation has completed for %llu s: the run ends without "
		  "those that are outstanding",
		  clock_now_ns() >= atomic_load(&m->run->end_ns) ? "-runtime" : "-timelimit",
		  GRACE_NS / NS_PER_SEC);
	m->grace_end_ns = m->settle_end_ns = clock_kernel_ns();
}

/* When to look for that again; UINT64_MAX: never. */
static uint64_t next_look_ns(const struct manager *m)
{
	bool limited = atomic_load(&m->run->end_ns) != UINT64_MAX;

	for (size_t i = 0; i < m->plan->n_targets; i++)
		limited |= m->plan->targets[i].time_limit_ns != 0;
	return limited ? clock_now_ns() + LOOK_NS : UINT64_MAX;
}

/* Do everything that has come due while there are no results. */
static void do_due(struct manager *m)
{
	if (clock_now_ns() >= m->stonewall_ns) {
		stonewall_close(m->run, m->passes + 1, STONEWALL_BY_TIME);
		m->stonewall_ns = UINT64_MAX;
	}
	if (clock_now_ns() >= m->look_ns) {
		end_hung(m);
		m->look_ns = next_look_ns(m);
	}
	if (clock_kernel_ns() >= m->resync_ns)
		m->resync_ns = clock_resync();
}

/*
 * Wait for results, for a short time: this thread also has the clock follow the kernel's, and knows
 * by waking late that the process was stopped. With the lock of the queue.
 */
static void wait_for_results(struct manager *m)
{
	struct results_queue *q = &m->run->results;
	uint64_t now_ns = clock_now_ns(), kernel_ns = clock_kernel_ns(), wake_ns, due_ns;

	if (m->look_ns == UINT64_MAX)
		m->look_ns = next_look_ns(m);
	wake_ns = ns_earlier(m->stonewall_ns, m->look_ns);
	due_ns = ns_earlier(m->resync_ns, kernel_ns + STOPPED_TICK_NS);
	if (wake_ns < now_ns + STOPPED_TICK_NS)
		due_ns = ns_earlier(due_ns, kernel_ns + (wake_ns > now_ns ? wake_ns - now_ns : 0));
	/* A sleep is late from its begin at most: a resync may have come due in an earlier wait. */
	if (due_ns < kernel_ns)
		due_ns = kernel_ns;
	if (cond_wait(&q->changed, &q->lock, due_ns) == -ETIMEDOUT) {
		pthread_mutex_unlock(&q->lock);
		stopped_after(&m->stopped, due_ns);
		do_due(m);
		pthread_mutex_lock(&q->lock);
	} else {
		stopped_after(&m->stopped, due_ns);
	}
}

/*
 * Nothing is outstanding: all QThreads that are left flush, close or unmap. With the lock of the
 * queue.
 */
static bool all_settle(const struct results_queue *q)
{
	return atomic_load(&q->settling) >= q->alive;
}

/*
 * Wait for a result once the run has stopped. False: the grace time is over, and a QThread may be
 * stuck. With the lock of the queue.
 */
static bool wait_in_grace(struct manager *m)
{
	struct results_queue *q = &m->run->results;
	uint64_t now = clock_kernel_ns();

	if (!m->grace_end_ns) {
		m->grace_end_ns = now + GRACE_NS;
		m->settle_end_ns = now + SETTLE_NS;
	}
	if (cond_wait(&q->changed, &q->lock, m->grace_end_ns) != -ETIMEDOUT)
		return true;
	now = clock_kernel_ns();
	if (!all_settle(q) || now >= m->settle_end_ns)
		return false;
	m->grace_end_ns = now + GRACE_NS;
	return true;
}

/*
 * The next result or interval, or NULL when no more will come: all QThreads are gone, or the grace
 * is over.
 */
static struct pass_result *take_any(struct manager *m)
{
	struct results_queue *q = &m->run->results;
	struct pass_result *r;

	pthread_mutex_lock(&q->lock);
	while (!q->first && q->alive) {
		if (!stop_requested(&m->run->stop))
			wait_for_results(m);
		else if (!wait_in_grace(m))
			break;
	}
	r = q->first;
	if (r) {
		q->first = r->next;
		q->intervals -= r->interval != RESULT_NO_INTERVAL;
		if (!q->first)
			q->tail = &q->first;
	}
	pthread_mutex_unlock(&q->lock);
	return r;
}

/* The next result, or NULL when no more will come; intervals before it are written. */
static struct pass_result *take(struct manager *m)
{
	struct pass_result *r;

	while ((r = take_any(m)) && r->interval) {
		manager_write_interval(m, r);
		pass_result_free(r);
	}
	return r;
}

static void add_pass(struct manager *m, const struct pass_result *r)
{
	struct target_sum *sum = &m->sums[r->target];

	sum->passes++;
	if (r->figures.tally.issued > sum->most_ops)
		sum->most_ops = r->figures.tally.issued;
	manager_add(m, &sum->figures, &r->figures);
	sum->paced.due_ns += r->paced.due_ns;
	sum->paced.took_ns += r->paced.took_ns;
	sum->partial |= r->partial;
	sum->dirty = r->dirty;
	if (r->endtoend && endtoend_result_add(&sum->endtoend, r->endtoend))
		log_error("the end-to-end facts of target %u leave out pass %" PRIu64 ": %s",
			  r->target, r->pass, strerror(ENOMEM));
	if (sum->passes > m->passes)
		m->passes = sum->passes;
	if (r->figures.tally.last_done_ns)
		window_add(&m->window, r->target, r->figures.tally.first_issue_ns,
			   r->figures.tally.last_done_ns);
}

/* Returns its length. */
static uint64_t close_window(struct manager *m)
{
	uint64_t ns = window_close(&m->window);

	m->combined_ns += ns;
	return ns;
}

static void take_in(struct manager *m, struct pass_result *r)
{
	/* A target that had not begun when the run stopped has nothing to say. */
	if (!r->partial || tally_ops(&r->figures.tally) || r->figures.tally.errors ||
	    r->figures.tally.outstanding) {
		manager_write_pass(m, r);
		add_pass(m, r);
	}
	if ((m->run->needs & FIGURES_STARTS) && m->plan->n_targets > 1)
		start_skew_add(&m->start_skew, m->report, r, m->plan->n_targets);
}

/* All targets are released into a pass at `release_ns`. */
static void set_stonewall(struct manager *m, uint64_t release_ns)
{
	const uint64_t after = m->plan->stonewall.after_ns;

	m->stonewall_ns = after ? release_ns + after : UINT64_MAX;
}

/*
 * Results of one pass, which come in any order, in the order of the targets. False: the run
 * stopped.
 */
static bool collect_pass(struct manager *m, struct pass_result **slots)
{
	struct tally all;
	uint64_t pass = 0;
	size_t got = 0;

	figures_free(&m->together.figures);
	m->together = (struct result){ .pass = m->passes + 1 };
	figures_init(&m->together.figures);
	while (got < m->plan->n_targets) {
		struct pass_result *r = take(m);

		if (!r)
			break;
		slots[r->target] = r;
		pass = r->pass;
		got++;
	}
	tally_clear(&all);
	for (size_t i = 0; i < m->plan->n_targets; i++) {
		if (!slots[i])
			continue;
		take_in(m, slots[i]);
		tally_add(&all, &slots[i]->figures.tally);
	}
	if (got)
		deskew_pass(&m->deskew, m->report, slots, pass);
	for (size_t i = 0; i < m->plan->n_targets; i++) {
		pass_result_free(slots[i]);
		slots[i] = NULL;
	}
	/* A pass that was cut short ends with what its targets left unfinished: manage_rest(). */
	if (got < m->plan->n_targets)
		return false;
	m->together.figures.elapsed_ns = close_window(m);
	if (m->plan->stonewall.on)
		stonewall_pass(m, &all);
	if (m->keep_series && series_add(&m->series, &m->together, !m->together.partial))
		log_error("the statistics leave out pass %" PRIu64 ": %s", m->together.pass,
			  strerror(ENOMEM));
	hold(HOLD_PASS_ENDED);
	return true;
}

/* Passes one after the other, all targets together. */
static void manage_passes(struct manager *m, struct pass_result **slots)
{
	struct run *run = m->run;

	for (uint64_t pass = 1; collect_pass(m, slots); pass++) {
		/* The source of an end-to-end copy decides, and its announcement says so. */
		const bool follows = run->endtoend.destinations.n;
		uint64_t end = follows ? UINT64_MAX : atomic_load(&run->end_ns), until, release;

		run->manager.more = pass < m->plan->passes && clock_now_ns() < end &&
				    (follows || run->group || !manager_is_known(m));
		heartbeat_pass_closed(&run->heartbeat, run->manager.more);
		if (run->manager.more && m->plan->pass_delay_ns) {
			report_detail(m->report, "Starting Pass Delay of %f seconds...",
				      (double)m->plan->pass_delay_ns / 1e9);
			until = clock_now_ns() + m->plan->pass_delay_ns;
			if (stop_sleep_until(&run->stop, until < end ? until : end))
				return;
			run->manager.more = until < end;
		}
		if (run->manager.more)
			run->manager.more = endtoend_begin(run, pass + 1);
		m->resync_ns = clock_resync();
		run->manager.more =
			ranks_begin_pass(run, follows || !manager_is_known(m), !run->manager.more);
		if (barrier_wait(&run->start, &release) < 0 || !run->manager.more)
			return;
		ranks_released(run, pass + 1, release);
		set_stonewall(m, release);
	}
}

/* Take all that comes. */
static void drain(struct manager *m)
{
	struct pass_result *r;

	while ((r = take(m))) {
		take_in(m, r);
		pass_result_free(r);
	}
}

/*
 * For how long the oldest outstanding operation of a target has been, at least: its QThread has
 * issued it after the operation that completed last, or is waiting for a queue that has not moved
 * since.
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

/* Operations that hang have taken until now, which is part of the elapsed time. */
static void count_hang(struct figures *f, uint64_t now)
{
	if (!f->tally.outstanding || now <= f->tally.last_done_ns)
		return;
	f->tally.last_done_ns = now;
	figures_set_elapsed(f);
}

static void count_hangs(struct pass_result *r)
{
	uint64_t now = clock_now_ns();

	count_hang(&r->figures, now);
	for (uint32_t i = 0; i < r->n_queues; i++)
		count_hang(&r->queues[i], now);
}

/* Take the results of targets that will not finish their pass. */
static void take_unfinished(struct manager *m, bool stuck)
{
	for (size_t i = 0; i < m->plan->n_targets; i++) {
		struct target *t = &m->run->targets[i];
		bool unfinished = atomic_exchange(&t->result_pending, false);
		struct pass_result *r = unfinished ? target_snapshot(t) : NULL;

		if (!r)
			continue;
		if (stuck && r->figures.tally.outstanding)
			log_error("target %u, %s: %" PRIu64
				  " operations are still outstanding, for %.1f s at least",
				  r->target, t->plan->path, r->figures.tally.outstanding,
				  (double)longest_wait(t) / (double)NS_PER_SEC);
		intervals_close(t, &r->figures);
		if (stuck)
			count_hangs(r);
		take_in(m, r);
		pass_result_free(r);
	}
}

/* Take late results, and results of passes that never end, after the run. */
static void manage_rest(struct manager *m)
{
	struct run *run = m->run;
	uint32_t alive;
	bool settle;

	drain(m);
	pthread_mutex_lock(&run->results.lock);
	alive = run->results.alive;
	settle = all_settle(&run->results);
	pthread_mutex_unlock(&run->results.lock);
	if (alive && settle) {
		log_notice("%u QThreads still flush, close or unmap, and are waited for", alive);
	} else if (alive) {
		run->manager.stuck = true;
		log_error("%u QThreads did not return within %llu s of the end and are abandoned",
			  alive, GRACE_NS / NS_PER_SEC);
	}
	if (stop_requested(&run->stop))
		take_unfinished(m, run->manager.stuck);
	intervals_finish(run);
	drain(m);
	close_window(m);
}

/* Where something is to be done once all targets are open, wait for that. False: the run stops. */
static bool is_open(struct manager *m)
{
	if (m->run->opens_together && barrier_wait(&m->run->start, NULL) < 0)
		return false;
	if (m->plan->drop_system_cache)
		cache_drop_system(m->run);
	crosscheck_open(&m->crosscheck);
	/* All QThreads of end-to-end targets have their connections; other ranks wait for none. */
	return (!endtoend_any(m->run) && !m->run->group) || barrier_wait(&m->run->start, NULL) >= 0;
}

/* Let the operations of the first pass begin. False: the run stops. */
static bool is_released(struct manager *m, uint64_t *release)
{
	crosscheck_start(&m->crosscheck);
	return barrier_wait(&m->run->start, release) >= 0;
}

void *results_main(void *arg)
{
	struct run *run = arg;
	struct manager m = {
		.run = run,
		.plan = run->plan,
		.report = run->report,
		.stonewall_ns = UINT64_MAX,
		.look_ns = UINT64_MAX,
	};
	struct pass_result **slots = calloc(run->plan->n_targets, sizeof(*slots));
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	uint64_t release, throttled_ns;

	debug_line(DEBUG_TASK, "results manager: thread %d starts", gettid());
	m.sums = calloc(run->plan->n_targets, sizeof(*m.sums));
	if ((!slots || !m.sums || window_init(&m.window, run->plan->n_targets) ||
	     crosscheck_begin(&m.crosscheck, run->plan) || deskew_init(&m.deskew, run->plan)) &&
	    run_stop(run, STOP_START, ENOMEM))
		log_error("memory for the results: %s", strerror(ENOMEM));
	for (size_t i = 0; m.sums && i < run->plan->n_targets; i++) {
		figures_init(&m.sums[i].figures);
	}
	m.online = cpus > 0 ? (uint64_t)cpus : 1;
	m.processors = run->plan->percent_cpu == PERCENT_CPU_RELATIVE ? m.online : 1;
	m.keep_series = m.sums && ((run->needs & FIGURES_PASSES) || m.plan->until_percent);
	run->manager.more = true;
	m.resync_ns = clock_resync();
	m.throttled_ns = cgroup_throttled_ns();
	/* All are open; and ready, once what changes their files has been done. */
	if (is_open(&m) && ranks_begin_pass(run, true, false) && !start_time_wait(run) &&
	    endtoend_begin(run, 1) && is_released(&m, &release)) {
		run->manager.released = true;
		ranks_released(run, 1, release);
		set_stonewall(&m, start_time_check(run, release));
		global_clock_begin(&m.clock, run);
		manager_describe(&m);
		if (run->plan->no_barrier)
			drain(&m);
		else
			manage_passes(&m, slots);
	}
	manage_rest(&m);
	crosscheck_stop(&m.crosscheck);
	heartbeat_end(&run->heartbeat);
	if (run->plan->stonewall.save_file && m.sums)
		stonewall_save(&m);
	throttled_ns = cgroup_throttled_ns();
	/* Another group may count from less. */
	m.throttled_ns = throttled_ns > m.throttled_ns ? throttled_ns - m.throttled_ns : 0;
	manager_write_end(&m);
	hold(HOLD_RESULTS_WRITTEN);
	deskew_destroy(&m.deskew);
	start_skew_free(m.start_skew);
	for (size_t i = 0; m.sums && i < run->plan->n_targets; i++) {
		figures_free(&m.sums[i].figures);
		series_free(&m.sums[i].series);
		free(m.sums[i].endtoend);
	}
	series_free(&m.series);
	figures_free(&m.together.figures);
	window_destroy(&m.window);
	free(m.sums);
	free(slots);
	debug_line(DEBUG_TASK, "results manager: thread %d ends", gettid());
	return NULL;
}
