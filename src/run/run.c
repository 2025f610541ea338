/*
 * A run as a whole: set-up, threads, tear-down, and how it ended. Called by main.
 */
#include "xdd/run/run.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "run/endtoend/endtoend.h"
#include "run/hog.h"
#include "run/meter/results.h"
#include "run/placement.h"
#include "run/progress/heartbeat.h"
#include "run/progress/intervals.h"
#include "run/progress/ranks.h"
#include "run/qthread.h"
#include "run/results/manager.h"
#include "run/run_check.h"
#include "run/run_state.h"
#include "run/target.h"
#include "run/target/failures.h"
#include "run/target/private_fd.h"
#include "run/target/target_file_ops.h"
#include "run/timerinfo.h"
#include "xdd/base/log.h"
#include "xdd/io/guard.h"
#include "xdd/net/globaltime.h"
#include "xdd/plan/plan.h"
#include "xdd/report/report.h"
#include "xdd/run/signals.h"
#include "xdd/sync/thread.h"
#include "xdd/sync/wait.h"
#include "xdd/sys/clock.h"

static enum xdd_status not_set_up(int err)
{
	char text[THREAD_TEXT_SIZE];

	log_error("the run cannot be set up: %s", thread_error(err, text, sizeof(text)));
	return err == -ECANCELED ? XDD_CANCELED : XDD_INIT_FAILED;
}

/* Prepare the process and start the threads that run beside the QThreads. Returns 0 or -errno. */
static int start_helpers(struct run *run)
{
	int err;

	private_fd_begin(run);
	err = ranks_attach(run);
	if (err)
		return err;
	err = placement_begin(&run->placement, run->plan, run->signals->thread.thread);
	if (err)
		return err;
	run->wall_ns = run->group ? ranks_wall_ns(run) : clock_wall_offset_ns();
	err = run->clock ? globaltime_follow(run->clock) : 0;
	if (err)
		return err;
	err = run->plan->timer_info ? timerinfo_measure(&run->timer) : 0;
	if (err)
		return err;
	err = heartbeat_start(&run->heartbeat, run);
	return err ? err : intervals_start(run);
}

/* Accepts a run whose start_helpers() failed or was not called, and a second call. */
static void end_helpers(struct run *run)
{
	signals_detach(run->signals);
	intervals_end(run);
	heartbeat_end(&run->heartbeat);
}

/* Everything before the threads of targets. tear_down() undoes it, also where it failed. */
static enum xdd_status set_up(struct run *run, const struct plan *plan, struct report *report,
			      struct signals *signals, struct globaltime_client *client)
{
	struct guard_refusal refusal;
	enum xdd_status status;
	int err = run_init(run, plan, report, signals);

	run->clock = client;
	clock_calibrate();
	if (err)
		return not_set_up(err);
	if (guard_hold(plan, &run->guard, &refusal))
		return run_refuse(&refusal);
	status = endtoend_open(run);
	if (status)
		return status;
	err = start_helpers(run);
	return err ? not_set_up(err) : XDD_OK;
}

static void start_targets(struct run *run)
{
	size_t n = run->plan->n_targets, i = 0;

	while (i < n && qthread_start(&run->targets[i].qthreads[0]) == 0)
		i++;
	for (; i < n; i++)
		results_gone(&run->results, (uint32_t)run->plan->targets[i].qthreads);
}

/* Run the threads of all targets until the results are written. */
static int run_threads(struct run *run)
{
	pthread_t manager;
	int err = thread_start(&manager, results_main, run);

	if (err)
		return err;
	start_targets(run);
	pthread_join(manager, NULL);
	return 0;
}

/* Some threads are stuck in the kernel: they end with the process. */
static void detach_all(struct run *run)
{
	for (size_t i = 0; i < run->plan->n_targets; i++) {
		struct target *t = &run->targets[i];

		for (uint32_t k = 0; k < t->plan->qthreads; k++) {
			if (t->qthreads[k].started)
				pthread_detach(t->qthreads[k].thread);
		}
	}
}

/* Target threads first: they may still be starting their QThreads. */
static void join_all(struct run *run)
{
	for (size_t i = 0; i < run->plan->n_targets; i++) {
		struct target *t = &run->targets[i];

		for (uint32_t k = 0; k < t->plan->qthreads; k++) {
			if (t->qthreads[k].started)
				pthread_join(t->qthreads[k].thread, NULL);
		}
	}
}

static enum xdd_status how_it_ended(const struct run *run)
{
	switch (stop_why(&run->stop)) {
	case STOP_START:
		return XDD_TARGET_FAILED;
	case STOP_SIGNAL:
		return XDD_CANCELED;
	case STOP_ERROR:
	case STOP_NONE:
		break;
	}
	/*
	 * Wrong data outranks errors: a caller that looks for it must not miss it because of them.
	 */
	if (atomic_load(&run->failures.miscompares))
		return XDD_MISCOMPARE;
	return atomic_load(&run->failures.errors) || run->manager.output_failed ||
			       run->manager.stuck ?
		       XDD_IO_ERROR :
		       XDD_OK;
}

/* How the run ended, with its files closed; a run that is stuck stays as it is. */
static enum xdd_status conclude(struct run *run)
{
	enum xdd_status status;
	bool discard;

	io_error_summary(run);
	miscompare_summary(run);
	status = how_it_ended(run);
	if (run->manager.stuck) {
		detach_all(run);
		return status;
	}
	join_all(run);
	endtoend_release(run);
	discard = !run->begun || !run->manager.released || stop_why(&run->stop) == STOP_START;
	for (size_t i = 0; i < run->plan->n_targets; i++)
		target_close(&run->targets[i], discard);
	endtoend_conclude(run);
	return status == XDD_OK && atomic_load(&run->failures.errors) ? XDD_IO_ERROR : status;
}

/* Run a plan that is set up, unless a signal came before. */
static enum xdd_status drive(struct run *run)
{
	int err = 0;

	signals_attach(run->signals, run);
	err = hog_begin(&run->hog, run);
	if (err && err != -ECANCELED) {
		end_helpers(run);
		return XDD_INIT_FAILED;
	}
	err = 0;
	run->begun = !stop_requested(&run->stop);
	if (run->begun)
		err = run_threads(run);
	else
		report_trailer(run->report, REPORT_END_CANCELED);
	end_helpers(run);
	return err ? not_set_up(err) : conclude(run);
}

/* Free all but what threads that are stuck still use: that ends with the process. */
static void tear_down(struct run *run)
{
	end_helpers(run);
	hog_end(&run->hog);
	if (run->manager.stuck)
		return;
	endtoend_close(run);
	placement_end(&run->placement, run->signals->thread.thread);
	run_free(run);
}

enum xdd_status run_execute(const struct plan *plan, struct report *report, struct signals *signals,
			    struct globaltime_client *client, struct group *group, bool *stuck)
{
	struct run *run = calloc(1, sizeof(*run));
	enum xdd_status status;

	*stuck = false;
	if (!run) {
		ranks_leave(group, NULL, XDD_INIT_FAILED);
		return not_set_up(-ENOMEM);
	}
	run->group = group;
	status = set_up(run, plan, report, signals, client);
	if (!status)
		status = drive(run);
	ranks_leave(group, run, status);
	*stuck = run->manager.stuck;
	tear_down(run);
	return status;
}
