/*
 * The command without a name: run a plan. Called by main.
 */
#include <stdlib.h>
#include <unistd.h>

#include "commands/commands.h"
#include "xdd/commands/command.h"

#include "xdd/base/debug.h"
#include "xdd/base/log.h"
#include "xdd/base/output.h"
#include "xdd/base/status.h"
#include "xdd/io/engine.h"
#include "xdd/io/seekfile.h"
#include "xdd/plan/foreign.h"
#include "xdd/plan/plan.h"
#include "xdd/report/report.h"
#include "xdd/run/attached.h"
#include "xdd/run/run.h"
#include "xdd/run/signals.h"
#include "xdd/run/timebase.h"
#include "xdd/sync/thread.h"

static enum xdd_status save_seeks(const struct plan *plan)
{
	for (size_t i = 0; i < plan->n_targets; i++) {
		char *path = NULL;
		int err = seekfile_save(&plan->targets[i], &path);

		if (err)
			log_error("-seek save %s: %s",
				  path ? path : plan->targets[i].seek.save_file,
				  output_strerror(err));
		free(path);
		if (err)
			return XDD_BAD_ARGUMENT;
	}
	return XDD_OK;
}

enum xdd_status dry_run(const struct plan *plan)
{
	struct plan shown;
	struct report *report;
	enum xdd_status status;

	plan_without_outputs(&shown, plan);
	shown.verbose = true;
	status = report_open(&shown, &report);
	if (status)
		return status;
	for (const char **note = plan->target_notes; note && *note; note++)
		report_line(report, "%s", *note);
	report_line(report, "Dry run: nothing was opened, created or changed.");
	return report_close(report);
}

/* Take signals, and watch the program that has started this one. */
static enum xdd_status begin(const struct plan *plan, struct signals *signals,
			     struct attached **attached)
{
	char why[THREAD_TEXT_SIZE];
	int err = signals_start(signals);

	if (!err) {
		err = attached_start(attached, plan, signals);
		if (err)
			signals_end(signals);
	}
	if (!err)
		return XDD_OK;
	log_error("the run cannot be set up: %s", thread_error(err, why, sizeof(why)));
	return XDD_INIT_FAILED;
}

static enum xdd_status do_run(const struct plan *plan, struct globaltime_client *clock)
{
	struct report *report = NULL;
	enum xdd_status status, closed;
	struct attached *attached;
	struct signals signals;
	bool stuck = false;

	status = save_seeks(plan);
	if (!status)
		status = begin(plan, &signals, &attached);
	if (status)
		return status;
	status = report_open(plan, &report);
	if (!status)
		status = run_execute(plan, report, &signals, clock, &stuck);
	report_status(report, status);
	closed = report_close(report);
	if (!status || closed == XDD_CANCELED)
		status = closed;
	if (stuck)
		_exit((int)status);
	attached_end(attached);
	signals_end(&signals);
	return status;
}

/* Check everything that can be known before the run, without a change to any file. */
static enum xdd_status check_run(const struct plan *plan, struct output_pipes *pipes)
{
	enum xdd_status status = report_check(plan);

	if (!status)
		status = run_check(plan);
	if (!status && !plan->dry_run)
		status = report_hold_pipes(plan, pipes);
	return status;
}

/*
 * True if the file of -errout is no target and no other output, which it would replace. Holds the
 * messages back.
 */
static bool errout_is_free(const struct plan *plan)
{
	size_t held = log_hold();
	bool is_free = report_check(plan) == XDD_OK;

	log_drop(held);
	return is_free;
}

/*
 * Send the messages to the file of -errout, those from before the run included. A refused command
 * line changes no file; a refused target is no mistake of the command line.
 */
static enum xdd_status open_errout(const struct plan *plan, enum xdd_status status)
{
	int err;

	if (!plan->errout_file || plan->dry_run || (status && status != XDD_TARGET_FAILED) ||
	    !errout_is_free(plan))
		return status;
	err = log_open(plan->errout_file);
	if (!err || status)
		return status;
	log_error("-errout %s: %s", plan->errout_file, output_strerror(err));
	return XDD_BAD_ARGUMENT;
}

static enum xdd_status execute(const struct plan *plan, enum xdd_status status)
{
	struct output_pipes pipes = { .n = 0 };
	struct globaltime_client *clock = NULL;

	if (!status)
		status = check_run(plan, &pipes);
	if (!status && !plan->dry_run)
		status = timebase_open(plan, &clock);
	status = open_errout(plan, status);
	log_release();
	if (!status)
		plan_warn(plan);
	if (!status)
		status = plan->dry_run ? dry_run(plan) : do_run(plan, clock);
	globaltime_end(clock);
	output_pipes_release(&pipes);
	return status;
}

int run_main(int argc, char **argv)
{
	struct plan *plan;
	enum xdd_status status;
	size_t held;

	held = log_hold();
	status = plan_build(argc, argv, &plan);
	if (status == XDD_BAD_OPTION || status == XDD_BAD_ARGUMENT)
		foreign_answer(argc, argv, held, &status);
	if (!status && plan && plan->help) {
		status = help_print(plan->help);
	} else if (!status && plan && plan->list_engines) {
		engine_print_list();
	} else if (plan) {
		if (plan->json_file)
			log_keep();
		debug_enable(plan->debug_kinds);
		status = execute(plan, status);
	}
	log_release();
	plan_free(plan);
	if (!status && !command_flush())
		status = XDD_IO_ERROR;
	return (int)status;
}
