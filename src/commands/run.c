/*
 * The command without a name: run a plan. Called by main.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "commands/commands.h"
#include "commands/run_ranks.h"
#include "commands/run_series.h"
#include "commands/run_steps.h"
#include "xdd/commands/command.h"

#include "xdd/base/log.h"
#include "xdd/base/memory.h"
#include "xdd/base/output.h"
#include "xdd/base/status.h"
#include "xdd/io/access.h"
#include "xdd/io/engine.h"
#include "xdd/plan/foreign.h"
#include "xdd/plan/plan.h"
#include "xdd/report/report.h"
#include "xdd/run/run.h"
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

static enum xdd_status is_set_up(int err)
{
	char why[THREAD_TEXT_SIZE];

	if (!err)
		return XDD_OK;
	log_error("the run cannot be set up: %s", thread_error(err, why, sizeof(why)));
	return XDD_INIT_FAILED;
}

/* The run of this process, whose results go to the outputs or, with a group, to `document`. */
static enum xdd_status run_here(const struct plan *plan, struct globaltime_client *clock,
				struct group *g, struct signals *signals,
				struct report_document *document, bool *stuck)
{
	struct report *report = NULL;
	enum xdd_status status, closed;

	status = ranks_agree(g, report_open_document(plan, g ? document : NULL, &report));
	if (!status)
		status = run_execute(plan, report, signals, clock, g, stuck);
	report_status(report, status);
	closed = report_close(report);
	return !status || closed == XDD_CANCELED ? closed : status;
}

enum xdd_status run_plan(const struct plan *plan, struct globaltime_client *clock, struct group *g,
			 struct signals *signals, bool *stuck)
{
	struct report_document document = { .text = NULL };
	struct attached *attached;
	enum xdd_status started = is_set_up(attached_start(&attached, plan, signals)), status;

	*stuck = false;
	status = ranks_agree(g, started);
	if (!status) {
		status = run_here(plan, clock, g, signals, &document, stuck);
		if (g)
			status = ranks_report(g, plan, document.text, document.size, status);
	}
	free(document.text);
	if (!started && !*stuck)
		attached_end(attached);
	return status;
}

enum xdd_status run_check_outputs(const struct plan *plan, struct output_pipes *pipes)
{
	enum xdd_status status = report_check(plan);

	return status || plan->dry_run ? status : report_hold_pipes(plan, pipes);
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

/* A refused command line changes no file; a refused target is no mistake of the command line. */
enum xdd_status run_open_errout(const struct plan *plan, enum xdd_status status)
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

/* Of many ranks one shows its plan: those of the others differ by what the placeholders say. */
static enum xdd_status dry_run_first(const struct plan *plan, const struct group *g)
{
	return group_rank(g) ? XDD_OK : dry_run(plan);
}

enum xdd_status run_take_signals(struct signals *signals)
{
	return is_set_up(signals_start(signals));
}

enum xdd_status run_prepare(const struct plan *plan, struct signals *signals,
			    struct globaltime_client **clock)
{
	enum xdd_status status = save_seeks(plan);

	return status ? status : timebase_open(plan, &signals->before, clock);
}

/*
 * Save lists of seeks, which a signal ends as it ends any program. Then take signals, which may end
 * the wait for the time server, too; and reach that.
 */
static enum xdd_status begin(const struct plan *plan, struct signals *signals, bool *taken,
			     struct globaltime_client **clock)
{
	enum xdd_status status = save_seeks(plan);

	if (!status)
		status = run_take_signals(signals);
	*taken = !status;
	return status ? status : timebase_open(plan, &signals->before, clock);
}

/* The run of this process; does not return where threads are stuck in the kernel. */
static enum xdd_status run_to_end(const struct plan *plan, struct globaltime_client *clock,
				  struct group *g, struct signals *signals)
{
	bool stuck;
	enum xdd_status status = run_plan(plan, clock, g, signals, &stuck);

	if (!stuck)
		return status;
	group_end(g);
	_exit((int)status);
}

static enum xdd_status execute(struct plan *plan, enum xdd_status status, struct group *g)
{
	struct output_pipes pipes = { .n = 0 };
	struct globaltime_client *clock = NULL;
	const bool goes = !status; /* on all ranks alike */
	struct signals signals;
	bool taken = false;

	if (goes)
		status = ranks_check(g, plan);
	if (!status)
		status = check_run(plan, &pipes);
	if (!status && !plan->dry_run)
		status = begin(plan, &signals, &taken, &clock);
	status = run_open_errout(plan, status);
	log_release();
	if (goes)
		status = ranks_agree(g, status);
	if (!status)
		plan_warn(plan);
	if (!status)
		status = plan->dry_run ? dry_run_first(plan, g) :
					 run_to_end(plan, clock, g, &signals);
	globaltime_end(clock);
	if (taken)
		signals_end(&signals);
	output_pipes_release(&pipes);
	return status;
}

/* The words of the user: those of main(), which are the same on all ranks. */
struct given {
	int argc;
	char **argv;
};

/* The ranks of a run begin and end it together, and once. */
static enum xdd_status refuse_runs(void)
{
	log_error("-mpi: is for one run; choose a section with -section, and say -op read -verify "
		  "contents in a run of its own in place of -readback");
	return XDD_BAD_ARGUMENT;
}

/* A plan of this process, of the words of the command line; or several. */
static enum xdd_status build(int argc, char **argv, const struct given *given, size_t held,
			     struct group *g, struct plan **plan, struct plan_runs **runs)
{
	enum xdd_status status = XDD_BAD_OPTION, all;

	if (!foreign_has_version(given->argc, given->argv))
		status = plan_build_runs(argc, argv, plan, runs);
	if (!status && *runs && g)
		status = refuse_runs();

	if (status == XDD_BAD_OPTION || status == XDD_BAD_ARGUMENT)
		foreign_answer(given->argc, given->argv, held, &status);
	all = ranks_agree(g, status);
	/* The plan of another rank is refused: this one is of no use, and its messages are. */
	return status ? status : all;
}

/* Leave MPI, and the process too if ranks are gone: nothing that waits for them may follow. */
static void end_group(struct group *g, enum xdd_status status)
{
	const bool broken = g && group_is_broken(g);

	group_end(g);
	if (!broken)
		return;
	command_flush();
	_exit(status ? (int)status : XDD_IO_ERROR);
}

int run_main(int argc, char **argv)
{
	const struct given given = { argc, argv };
	struct arena *arena = arena_new();
	struct plan *plan = NULL;
	struct plan_runs *runs = NULL;
	struct group *g = NULL;
	enum xdd_status status;
	bool prints;
	size_t held;

	held = log_hold();
	if (!arena)
		log_error("%s", strerror(ENOMEM));
	status = arena ? ranks_begin(arena, &argc, &argv, &g) : XDD_INIT_FAILED;
	if (!status)
		status = build(argc, argv, &given, held, g, &plan, &runs);
	else if (g)
		ranks_agree(g, status);
	if (!status && plan && plan->help) {
		status = help_print(plan->help);
	} else if (!status && plan && plan->list_engines) {
		engine_print_list();
	} else if (!status && runs) {
		status = series_run(runs);
	} else if (plan) {
		if (plan->json_file || g)
			log_keep();
		debug_enable(plan->debug_kinds);
		status = execute(plan, status, g);
	}
	log_release();
	end_group(g, status);
	/* A run has closed its outputs by now, and its document has the status. */
	prints = !plan || plan->help || plan->list_engines || plan->dry_run;
	plan_free(plan);
	plan_runs_free(runs);
	arena_free(arena);
	if (!status && prints && !command_flush())
		status = XDD_IO_ERROR;
	return (int)status;
}
