/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The command without a name: run a plan, or several that follow each other. Called by main; plans
 * in this process by commands that make measurements of their own.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "commands/commands.h"
#include "commands/run_ranks.h"
#include "xdd/base/err.h"
#include "xdd/base/log.h"
#include "xdd/base/memory.h"
#include "xdd/base/output.h"
#include "xdd/base/status.h"
#include "xdd/commands/command.h"
#include "xdd/io/access.h"
#include "xdd/io/engine.h"
#include "xdd/net/globaltime.h"
#include "xdd/plan/foreign.h"
#include "xdd/plan/plan.h"
#include "xdd/plan/runs.h"
#include "xdd/report/report.h"
#include "xdd/run/run.h"
#include "xdd/sync/group.h"
#include "xdd/sync/thread.h"

/* All return XDD_OK, or another status, reported. */

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
	struct err why;

	if (!err)
		return XDD_OK;
	return log_fail(XDD_INIT_FAILED, "the run cannot be set up: %s", thread_error(err, &why));
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

/*
 * Carry out a plan. With `*stuck` set, threads are stuck in the kernel and still use the plan: the
 * process must end by _exit().
 */
static enum xdd_status run_plan(const struct plan *plan, struct globaltime_client *clock,
				struct group *g, struct signals *signals, bool *stuck)
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
	if (!*stuck)
		attached_end(attached);
	return status;
}

/*
 * Check the outputs of a plan without a change to any file. Pipes among them are held open, except
 * with -dryrun.
 */
static enum xdd_status run_check_outputs(const struct plan *plan, struct output_pipes *pipes)
{
	enum xdd_status status = report_check(plan);

	return status || plan->dry_run ? status : report_hold_pipes(plan, pipes);
}

/* Check everything that can be known before the run, without a change to any file. */
static enum xdd_status run_check_run(const struct plan *plan, struct output_pipes *pipes)
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
 * Send the messages to the file of -errout, those from before the run included, where a plan has
 * `status`. Returns that, or what went wrong.
 *
 * A refused command line changes no file; a refused target is no mistake of the command line.
 */
static enum xdd_status run_open_errout(const struct plan *plan, enum xdd_status status)
{
	int err;

	if (!plan->errout_file || plan->dry_run || (status && status != XDD_TARGET_FAILED) ||
	    !errout_is_free(plan))
		return status;
	err = log_open(plan->errout_file);
	if (!err || status)
		return status;
	return log_refuse("-errout %s: %s", plan->errout_file, output_strerror(err));
}

/* Of many ranks one shows its plan: the others differ by what the placeholders say. */
static enum xdd_status dry_run_first(const struct plan *plan, const struct group *g)
{
	return group_rank(g) ? XDD_OK : dry_run(plan);
}

/* Start taking signals. Once in a process. */
static enum xdd_status run_take_signals(struct signals *signals)
{
	return is_set_up(signals_start(signals));
}

/* Save lists of seeks, and reach the time server. */
static enum xdd_status run_prepare(const struct plan *plan, struct signals *signals,
				   struct globaltime_client **clock)
{
	enum xdd_status status = save_seeks(plan);

	return status ? status : timebase_open(plan, &signals->before, clock);
}

/*
 * Save lists of seeks, which a signal ends as it ends any program. Then take signals, which may end
 * the wait for the time server, too; and reach that.
 */
static enum xdd_status run_begin(const struct plan *plan, struct signals *signals, bool *taken,
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
		status = run_check_run(plan, &pipes);
	if (!status && !plan->dry_run)
		status = run_begin(plan, &signals, &taken, &clock);
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

/* The words of the user: as main() got them, which are the same on all ranks. */
struct given {
	int argc;
	char **argv;
};

/* The ranks of a run begin and end it together, and once. */
static enum xdd_status refuse_runs(void)
{
	return log_refuse(
		"-mpi: is for one run; choose a section with -section, and say -op read -verify "
		"contents in a run of its own in place of -readback");
}

/* A plan of this process, of the words of the command line; or several. */
static enum xdd_status run_build(int argc, char **argv, const struct given *given, size_t held,
				 struct group *g, struct plan **plan, struct plan_runs **runs)
{
	enum xdd_status status = plan_build_runs(argc, argv, plan, runs), all;

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

static enum xdd_status series_run(struct plan_runs *runs);

int run_main(int argc, char **argv)
{
	const struct given given = { argc, argv };
	struct arena *arena = xarena_new();
	struct plan *plan = NULL;
	struct plan_runs *runs = NULL;
	struct group *g = NULL;
	enum xdd_status status;
	bool prints;
	size_t held;

	held = log_hold();
	status = ranks_begin(arena, &argc, &argv, &g);
	if (!status)
		status = run_build(argc, argv, &given, held, g, &plan, &runs);
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

#define SUBJECT_SIZE 128

struct series {
	struct plan_runs *runs;
	size_t n;
	struct plan **foreseen; /* of plan_runs_foresee() */
	struct report_runs *outputs;
	struct output_pipes pipes;
	struct signals signals;
	bool dry;
	bool stuck; /* threads of a run are, in the kernel */
};

/* ---- messages about a run ---- */

/* True if `text` begins with the file and a line of it. */
static bool names_line(const char *text, const char *file)
{
	const size_t len = file ? strlen(file) : 0;

	return len && strncmp(text, file, len) == 0 && text[len] == ':';
}

/* The run, in front of a message about it, in `buf`. */
static const char *subject(const struct series *s, size_t i, char *buf, size_t size)
{
	const bool is_section = plan_runs_file(s->runs, i);

	snprintf(buf, size, "%s%s",
		 is_section ? "section " : "-readback: ", plan_runs_name(s->runs, i));
	return buf;
}

/* A message that names no line of the setup file gets the name of the run. */
static void report_line_of(const struct series *s, size_t i, const char *line)
{
	const char *text = captured_message(line);
	char run[SUBJECT_SIZE];

	if (names_line(text, plan_runs_file(s->runs, i)))
		log_error("%s", text);
	else
		log_error("%s: %s", subject(s, i, run, sizeof(run)), text);
}

static void report_captured(const struct series *s, size_t i, struct captured *c)
{
	char *rest = c->text, *line;

	c->text[c->size] = '\0';

	while ((line = strsep(&rest, "\n")) && *line)
		report_line_of(s, i, line);
}

/* ---- checks ---- */

static bool same_text(const char *a, const char *b)
{
	return a == b || (a && b && strcmp(a, b) == 0);
}

/* Messages go to one file of all runs, or each run has its own, by %s in the name. */
static enum xdd_status check_errout(const struct series *s, size_t i)
{
	const char *errout = s->foreseen[i]->errout_file, *first = s->foreseen[0]->errout_file;
	bool all = true, own = errout;

	for (size_t k = 0; k < i; k++) {
		const char *other = s->foreseen[k]->errout_file;

		all = all && same_text(errout, other);
		own = own && other && !same_text(errout, other);
	}
	if (all || own)
		return XDD_OK;
	return log_refuse(
		"-errout %s: is for all runs; say it before the first section, with %%s in the "
		"name for a file of each",
		errout ? errout : first);
}

/* A start time that an earlier run has used up would stop the series in the middle. */
static enum xdd_status check_start(const struct series *s, size_t i)
{
	const uint64_t at = s->foreseen[i]->start_time_ns;

	for (size_t k = 0; k < i && at; k++) {
		if (s->foreseen[k]->start_time_ns < at)
			continue;
		return log_refuse(
			"-starttime: must be later than the start time of the run \"%s\"; give it "
			"in the first section only, or a later time in each",
			plan_runs_name(s->runs, k));
	}
	return XDD_OK;
}

static enum xdd_status run_series_check_run(struct series *s, size_t i, uint64_t *threads)
{
	struct plan *plan;
	enum xdd_status status = plan_runs_foresee(s->runs, i, seekfile_write, &plan);

	if (status)
		return status;
	s->foreseen[i] = plan;
	s->dry |= plan->dry_run;
	status = check_errout(s, i);
	if (!status)
		status = check_start(s, i);
	if (!status)
		status = run_check_outputs(plan, &s->pipes);
	if (!status)
		status = report_runs_add(s->outputs, plan);
	return status ? status : run_check_next(plan, threads);
}

/* Nothing is opened for writing, created or changed. The run `*i` is refused, for what `c` has. */
static enum xdd_status run_series_check(struct series *s, struct captured *c, size_t *i)
{
	enum xdd_status status = XDD_OK;
	uint64_t threads = 0;

	log_divert(captured_add, c);
	for (*i = 0; *i < s->n; ++*i) {
		c->size = 0;
		status = run_series_check_run(s, *i, &threads);
		if (status)
			break;
	}
	log_divert(NULL, NULL);
	return status;
}

/* ---- runs ---- */

/* Where results of all runs go to standard output, each has its name above. */
static void print_name(const struct series *s, const struct plan *plan, size_t i)
{
	if (((plan->output_file || plan->quiet) && !plan->person && !s->dry) ||
	    (plan->json_file && output_standard(plan->json_file) == STDOUT_FILENO))
		return;
	printf("%s[%s]\n", i ? "\n" : "", plan_runs_name(s->runs, i));
	fflush(stdout);
}

static enum xdd_status dry_runs(const struct series *s)
{
	enum xdd_status status = XDD_OK;

	for (size_t i = 0; i < s->n && !status; i++) {
		plan_warn(s->foreseen[i]);
		print_name(s, s->foreseen[i], i);
		status = dry_run(s->foreseen[i]);
	}
	return status;
}

static enum xdd_status carry_out(struct series *s, const struct plan *plan, size_t i)
{
	struct globaltime_client *clock = NULL;
	enum xdd_status status = run_prepare(plan, &s->signals, &clock);

	if (!status) {
		plan_warn(plan);
		print_name(s, plan, i);
		status = run_plan(plan, clock, NULL, &s->signals, &s->stuck);
	}
	if (!s->stuck)
		globaltime_end(clock);
	return status;
}

/* The plan is made again: files are now as the runs before have left them. */
static enum xdd_status plan_again(const struct series *s, size_t i, struct plan **plan)
{
	struct captured c = { .size = 0 };
	enum xdd_status status;

	log_divert(captured_add, &c);
	status = plan_runs_build(s->runs, i, plan);
	if (!status)
		status = run_check(*plan);
	log_divert(NULL, NULL);
	if (status)
		report_captured(s, i, &c);
	else if (c.size)
		log_raw(c.text);
	return status;
}

/* The file of the first run is open; another one takes its place. */
static enum xdd_status next_errout(const struct series *s, size_t i)
{
	const char *errout = s->foreseen[i]->errout_file;
	int err = i && !same_text(errout, s->foreseen[i - 1]->errout_file) ? log_open(errout) : 0;

	if (!err)
		return XDD_OK;
	return log_refuse("-errout %s: %s", errout, output_strerror(err));
}

static enum xdd_status run_one(struct series *s, size_t i)
{
	struct plan *plan = NULL;
	enum xdd_status status = next_errout(s, i);

	if (s->foreseen[i]->json_file)
		log_keep();
	debug_enable(s->foreseen[i]->debug_kinds);
	if (!status)
		status = plan_again(s, i, &plan);
	if (!status)
		status = carry_out(s, plan, i);
	if (!s->stuck)
		plan_free(plan);
	return status;
}

/* Name the runs from `i` on, which are left out. */
static void report_left(struct series *s, size_t i, enum xdd_status status)
{
	char more[48] = "", left[SUBJECT_SIZE];

	if (s->n - i > 1)
		snprintf(more, sizeof(more), " and the %zu after it", s->n - i - 1);
	subject(s, i, left, sizeof(left));
	if (signals_taken(&s->signals))
		log_error("%s: is not run%s: a signal came", left, more);
	else if (s->stuck)
		log_error("%s: is not run%s: QThreads of %s did not return", left, more,
			  plan_runs_name(s->runs, i - 1));
	else
		log_error("%s: is not run%s: %s ended with status %d; -keepgoing goes on", left,
			  more, plan_runs_name(s->runs, i - 1), (int)status);
}

/* True if the run after run `i`, which ended with `status`, begins. */
static bool goes_on(struct series *s, size_t i, enum xdd_status status)
{
	return !s->stuck && !signals_taken(&s->signals) && (!status || s->foreseen[i]->keep_going);
}

/* Does not return where threads are stuck in the kernel. */
static enum xdd_status run_all(struct series *s)
{
	enum xdd_status worst = XDD_OK;

	for (size_t i = 0; i < s->n; i++) {
		const enum xdd_status status = run_one(s, i);

		if (status > worst)
			worst = status;
		if (i + 1 == s->n || goes_on(s, i, status))
			continue;
		report_left(s, i + 1, status);
		worst = worst > XDD_OK ? worst : XDD_CANCELED;
		break;
	}
	if (s->stuck)
		_exit((int)worst);
	return worst;
}

static enum xdd_status run_series_run(struct series *s)
{
	struct captured c = { .size = 0 };
	enum xdd_status status;
	bool taken = false;
	size_t refused;

	/* Held lines would not be captured. */
	log_release();
	status = run_series_check(s, &c, &refused);

	if (!status && !s->dry) {
		status = run_take_signals(&s->signals);
		taken = !status;
	}
	if (s->foreseen[0] && !s->dry)
		status = run_open_errout(s->foreseen[0], status);
	/* That holds messages back, and each run has its own. */
	log_release();
	if (refused < s->n)
		report_captured(s, refused, &c);
	if (!status)
		status = s->dry ? dry_runs(s) : run_all(s);
	if (taken)
		signals_end(&s->signals);
	output_pipes_release(&s->pipes);
	return status;
}

/*
 * Check all runs, and carry them out. Messages that are held (log_hold()) are written first.
 * Returns the greatest status of a run. Main thread.
 */
static enum xdd_status series_run(struct plan_runs *runs)
{
	const size_t n = plan_runs_count(runs);
	struct series s = { .runs = runs, .n = n };
	enum xdd_status status;

	s.foreseen = xcalloc(n, sizeof(struct plan *));
	s.outputs = xneed(report_runs_new());
	status = run_series_run(&s);
	report_runs_free(s.outputs);
	free(s.foreseen);
	return status;
}

/* ---- plans in this process ---- */

void captured_add(void *captured, const char *text, size_t size)
{
	struct captured *c = captured;
	const size_t room = sizeof(c->text) - 1 - c->size;

	if (size > room)
		size = room;
	memcpy(c->text + c->size, text, size);
	c->size += size;
	c->text[c->size] = '\0';
}

const char *captured_message(const char *line)
{
	static const char prefix[] = "xdd: ";
	const size_t length = sizeof(prefix) - 1;

	return strncmp(line, prefix, length) == 0 ? line + length : line;
}

enum xdd_status runner_begin(struct runner *r)
{
	*r = (struct runner){ .stuck = false };
	return run_take_signals(&r->signals);
}

enum xdd_status runner_plan_next(const struct plan_series *series, const char *const *words,
				 struct plan **plan)
{
	enum xdd_status status;
	int n = 0;

	while (words[n])
		n++;
	/* The words are not changed; argv of main() is non-const for historical reasons. */
	status = plan_series_build(series, n, (char **)(uintptr_t)words, plan);
	if (!status)
		return XDD_OK;
	plan_free(*plan);
	*plan = NULL;
	return status;
}

enum xdd_status runner_plan(const char *const *words, struct plan **plan)
{
	return runner_plan_next(NULL, words, plan);
}

enum xdd_status runner_run(struct runner *r, const struct plan *plan,
			   const struct report_sink *sink)
{
	struct report *report;
	struct globaltime_client *clock = NULL;
	enum xdd_status status = run_check(plan);

	if (!status)
		status = timebase_open(plan, &r->signals.before, &clock);
	if (!status)
		status = report_open_sink(plan, sink, &report);
	if (!status) {
		status = run_execute(plan, report, &r->signals, clock, NULL, &r->stuck);
		report_close(report);
	}
	if (!r->stuck)
		globaltime_end(clock);
	return status;
}

bool runner_is_canceled(struct runner *r)
{
	return signals_taken(&r->signals) != 0;
}

void runner_end(struct runner *r)
{
	signals_end(&r->signals);
}
