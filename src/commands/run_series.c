/*
 * Runs that follow each other; see the header. Called by run.c.
 */
#include "commands/run_series.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "commands/captured.h"
#include "commands/commands.h"
#include "commands/run_steps.h"
#include "xdd/base/log.h"
#include "xdd/io/access.h"
#include "xdd/net/globaltime.h"
#include "xdd/report/report.h"
#include "xdd/run/run.h"

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
	log_error("-errout %s: is for all runs; say it before the first section, with %%s in the "
		  "name for a file of each",
		  errout ? errout : first);
	return XDD_BAD_ARGUMENT;
}

/* Options that end the process without a run, and those of a process as a whole. */
static enum xdd_status check_kind(const struct series *s, size_t i)
{
	const struct plan *plan = s->foreseen[i];

	if (plan->help || plan->list_engines || plan->mpi) {
		log_error("-help, -ioengine list, -mpi: are not for one of several runs");
		return XDD_BAD_OPTION;
	}
	return check_errout(s, i);
}

/* A start time that an earlier run has used up would stop the series in the middle. */
static enum xdd_status check_start(const struct series *s, size_t i)
{
	const uint64_t at = s->foreseen[i]->start_time_ns;

	for (size_t k = 0; k < i && at; k++) {
		if (s->foreseen[k]->start_time_ns < at)
			continue;
		log_error(
			"-starttime: must be later than the start time of the run \"%s\"; give it "
			"in the first section only, or a later time in each",
			plan_runs_name(s->runs, k));
		return XDD_BAD_ARGUMENT;
	}
	return XDD_OK;
}

static enum xdd_status check_run(struct series *s, size_t i, uint64_t *threads)
{
	struct plan *plan;
	enum xdd_status status = plan_runs_foresee(s->runs, i, seekfile_write, &plan);

	if (status)
		return status;
	s->foreseen[i] = plan;
	s->dry |= plan->dry_run;
	status = check_kind(s, i);
	if (!status)
		status = check_start(s, i);
	if (!status)
		status = run_check_outputs(plan, &s->pipes);
	if (!status)
		status = report_runs_add(s->outputs, plan);
	return status ? status : run_check_next(plan, threads);
}

/* Nothing is opened for writing, created or changed. The run `*i` is refused, for what `c` has. */
static enum xdd_status check(struct series *s, struct captured *c, size_t *i)
{
	enum xdd_status status = XDD_OK;
	uint64_t threads = 0;

	log_divert(captured_add, c);
	for (*i = 0; *i < s->n; ++*i) {
		c->size = 0;
		status = check_run(s, *i, &threads);
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
	if ((plan->output_file && !plan->person && !s->dry) ||
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
	log_error("-errout %s: %s", errout, output_strerror(err));
	return XDD_BAD_ARGUMENT;
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
	char more[48] = "", run[SUBJECT_SIZE];

	if (s->n - i > 1)
		snprintf(more, sizeof(more), " and the %zu after it", s->n - i - 1);
	subject(s, i, run, sizeof(run));
	if (signals_taken(&s->signals))
		log_error("%s: is not run%s: a signal came", run, more);
	else if (s->stuck)
		log_error("%s: is not run%s: QThreads of %s did not return", run, more,
			  plan_runs_name(s->runs, i - 1));
	else
		log_error("%s: is not run%s: %s ended with status %d; -keepgoing goes on", run,
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

static enum xdd_status run(struct series *s)
{
	struct captured c = { .size = 0 };
	enum xdd_status status;
	bool taken = false;
	size_t refused;

	/* Held lines would not be captured. */
	log_release();
	status = check(s, &c, &refused);

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

enum xdd_status series_run(struct plan_runs *runs)
{
	const size_t n = plan_runs_count(runs);
	struct series s = { .runs = runs, .n = n };
	enum xdd_status status = XDD_INIT_FAILED;

	s.foreseen = calloc(n, sizeof(struct plan *));
	s.outputs = report_runs_new();
	if (s.foreseen && s.outputs)
		status = run(&s);
	else
		log_error("%s", strerror(ENOMEM));
	report_runs_free(s.outputs);
	free(s.foreseen);
	return status;
}
