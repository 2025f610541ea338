/*
 * The entry of the program, under all its names (xdd, xdd.Linux), and of its commands: xdd compare,
 * xdd tsread.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "xdd/base/debug.h"
#include "xdd/base/log.h"
#include "xdd/base/output.h"
#include "xdd/io/engine.h"
#include "xdd/io/seekfile.h"
#include "xdd/plan/plan.h"
#include "xdd/report/compare.h"
#include "xdd/report/report.h"
#include "xdd/run/run.h"
#include "xdd/run/thread.h"
#include "xdd/sys/clock.h"
#include "xdd/trace/tsread.h"

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

/* -dryrun: all that is known about the run, on standard output, and nothing opened. */
static enum xdd_status dry_run(const struct plan *plan)
{
	struct plan look = *plan;
	struct report *report;
	enum xdd_status status;

	look.verbose = true;
	look.output_file = NULL;
	look.csv_file = NULL;
	look.combined_file = NULL;
	look.latency.file = NULL;
	look.json_file = NULL;
	status = report_open(&look, &report);
	if (status)
		return status;
	report_line(report, "Dry run: nothing was opened, created or changed.");
	return report_close(report);
}

static enum xdd_status do_run(const struct plan *plan)
{
	struct report *report = NULL;
	enum xdd_status status, closed;
	struct signals signals;
	char why[THREAD_TEXT_SIZE];
	bool stuck = false;
	int err;

	status = save_seeks(plan);
	if (status)
		return status;
	err = signals_start(&signals);
	if (err) {
		log_error("the run cannot be set up: %s", thread_error(err, why, sizeof(why)));
		return XDD_INIT_FAILED;
	}
	status = report_open(plan, &report);
	if (!status)
		status = run_execute(plan, report, &signals, &stuck);
	report_status(report, status);
	closed = report_close(report);
	if (!status || closed == XDD_CANCELED)
		status = closed;
	if (stuck)
		_exit((int)status);
	signals_end(&signals);
	return status;
}

/* Everything that can be known before the run, without a change to any file. */
static enum xdd_status check_run(const struct plan *plan, struct output_pipes *pipes)
{
	enum xdd_status status = report_check(plan);

	if (!status)
		status = run_check(plan);
	if (!status && !plan->dry_run)
		status = report_hold_pipes(plan, pipes);
	return status;
}

/* Whether the file of -errout is no target and no other output, which it would replace. */
static bool errout_is_free(const struct plan *plan)
{
	size_t held = log_hold();
	bool is_free = report_check(plan) == XDD_OK;

	log_drop(held);
	return is_free;
}

/*
 * Send the messages to the file of -errout, those before the run included. A command line that is refused
 * changes no file; a target that is refused is no mistake of the command line.
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

	if (!status)
		status = check_run(plan, &pipes);
	status = open_errout(plan, status);
	log_release();
	if (!status)
		plan_warn(plan);
	if (!status)
		status = plan->dry_run ? dry_run(plan) : do_run(plan);
	output_pipes_release(&pipes);
	return status;
}

static enum xdd_status xdd_main(int argc, char **argv)
{
	struct plan *plan;
	enum xdd_status status;

	log_hold();
	status = plan_build(argc, argv, &plan);
	if (!status && plan && plan->list_engines) {
		engine_print_list();
	} else if (plan) {
		if (plan->json_file)
			log_keep();
		debug_enable(plan->debug_kinds);
		status = execute(plan, status);
	}
	log_release();
	plan_free(plan);
	return status;
}

/*
 * A standard stream that the caller closed would have its number taken by the next file opened, and
 * results or messages would end up in a target. What is put there instead fails every access.
 */
static void occupy_standard_streams(void)
{
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
		if (fcntl(fd, F_GETFD) < 0 &&
		    open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) != fd)
			_exit(XDD_INIT_FAILED);
	}
}

static int do_compare(int argc, char **argv)
{
	int status = (int)compare_main(argc, argv);

	if (fflush(stdout) == 0 || errno == EPIPE)
		return status;
	log_error("standard output: %s", strerror(errno));
	return COMPARE_TROUBLE;
}

int main(int argc, char **argv)
{
	enum xdd_status status;

	signals_block_progress();
	clock_start();
	occupy_standard_streams();
	/* A reader that goes away is an error of a write, to be reported, not a reason to die. */
	signal(SIGPIPE, SIG_IGN);
	/* Likewise a file that has come to the limit on its size: EFBIG, of a target or of an output. */
	signal(SIGXFSZ, SIG_IGN);
	if (argc > 1 && strcmp(argv[1], "compare") == 0)
		return do_compare(argc - 1, argv + 1);
	if (argc > 1 && strcmp(argv[1], "tsread") == 0)
		status = tsread_main(argc - 1, argv + 1);
	else
		status = xdd_main(argc, argv);
	/* Whoever stops reading the help has read enough of it; results are the report's affair. */
	if (fflush(stdout) != 0 && errno != EPIPE && status == XDD_OK) {
		log_error("standard output: %s", strerror(errno));
		status = XDD_IO_ERROR;
	}
	return (int)status;
}
