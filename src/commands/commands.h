/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The functions of the commands, for the table in command.c and for tests, and those that several
 * commands share. Private to src/commands.
 */
#ifndef XDD_COMMANDS_COMMANDS_H
#define XDD_COMMANDS_COMMANDS_H

#include <stdbool.h>
#include <stddef.h>

#include "xdd/base/status.h"
#include "xdd/plan/plan.h"
#include "xdd/plan/runs.h"
#include "xdd/report/report.h"
#include "xdd/run/run.h"

struct command;
struct setting;

/* Exit statuses of xdd compare; the first three are as in diff(1). */
enum compare_status {
	COMPARE_SAME = 0,	  /* no real difference between the results; no limit is exceeded */
	COMPARE_DIFFERENT = 1,	  /* a real difference; not with -failif */
	COMPARE_TROUBLE = 2,	  /* bad arguments or documents, reported */
	COMPARE_INCOMPARABLE = 3, /* too few passes to say; a limit of -failif cannot be judged */
	COMPARE_LIMIT = 4,	  /* a limit of -failif is exceeded */
};

/* Run a plan. Returns an enum xdd_status. */
int run_main(int argc, char **argv);

/*
 * -dryrun: print what is known about the run to standard output; open, create and change nothing.
 */
enum xdd_status dry_run(const struct plan *plan);

/*
 * Plans in this process, one after another, with their results as values (xdd/report/report.h).
 *
 * A runner belongs to the main thread.
 */

struct runner {
	struct signals signals;
	/*
	 * Threads of the last run are stuck in the kernel: nothing can be run or freed any more,
	 * and the process must end by _exit().
	 */
	bool stuck;
};

/*
 * Start taking the signals that end a run. Returns XDD_OK, or XDD_INIT_FAILED with one line given
 * to log_error(). Once in a process.
 */
enum xdd_status runner_begin(struct runner *r);

/*
 * Make a plan of `words`, which end with NULL and begin with the name of the program. Returns
 * XDD_OK and the plan, to be freed by plan_free(), or another status with one line given to
 * log_error().
 */
enum xdd_status runner_plan(const char *const *words, struct plan **plan);

/* As runner_plan(), for the next run of a series: files are as the runs before will leave them. */
enum xdd_status runner_plan_next(const struct plan_series *series, const char *const *words,
				 struct plan **plan);

/*
 * Check a plan and carry it out. Returns the exit status that `xdd` would end with; messages go to
 * log_error() and its neighbours as they do there.
 */
enum xdd_status runner_run(struct runner *r, const struct plan *plan,
			   const struct report_sink *sink);

/* True if a signal has ended a run, or is to prevent the next one. */
bool runner_is_canceled(struct runner *r);

/* End the thread that takes signals. Not with `stuck`. */
void runner_end(struct runner *r);

/*
 * Messages that are kept in place of being printed, so that a command can say what they are about.
 * Callers: run.c, sweep_points.c.
 */

#define CAPTURED_TEXT_SIZE 4096

struct captured {
	char text[CAPTURED_TEXT_SIZE]; /* lines; ends with a NUL once there is one */
	size_t size;		       /* 0: none yet */
};

/* For log_divert(), with a struct captured as its argument: what has no room is left out. */
void captured_add(void *captured, const char *text, size_t size);

/* A line without the name of the program in front. */
const char *captured_message(const char *line);

/* Print what `s`, a use of -help, asks for. Returns XDD_OK, or XDD_BAD_ARGUMENT, reported. */
enum xdd_status help_print(const struct setting *s);

/*
 * xdd check: a look at files and devices that only reads. Its main() returns XDD_OK;
 * XDD_BAD_ARGUMENT or XDD_BAD_OPTION; XDD_CANCELED after a signal; or XDD_IO_ERROR.
 */
extern const struct command command_check;

/* `xdd <file or device> ...`, as a command. */
extern const struct command command_bare_check;

/* The command whose name is near to `word`, or NULL. */
const char *command_suggest(const char *word);

/*
 * xdd combine: one result of documents of -jsonout of several hosts. Its main() returns the
 * greatest status in them, XDD_TARGET_FAILED where all are XDD_OK and one is missing, or
 * XDD_BAD_ARGUMENT.
 */
extern const struct command command_combine;

/*
 * xdd compare: the differences between documents of -jsonout. Its main() returns an enum
 * compare_status.
 */
extern const struct command command_compare;

/*
 * xdd copy: files and trees between hosts, and the side that ssh starts. Its main() returns an exit
 * status of copy_run().
 */
extern const struct command command_copy;

/*
 * xdd curve: response time against load. Its main() returns the same statuses as xdd sweep.
 */
extern const struct command command_curve;

/*
 * xdd fio: job files of fio as commands of xdd. Its main() returns XDD_OK; XDD_BAD_ARGUMENT for a
 * job file that cannot be read or understood; XDD_BAD_OPTION; XDD_IO_ERROR where the output cannot
 * be written; with -run the status of the command that failed.
 */
extern const struct command command_fio;

/*
 * xdd gettime: print the clock of a time server. Its main() returns XDD_OK; XDD_INIT_FAILED when no
 * server answers; XDD_BAD_ARGUMENT, XDD_BAD_OPTION or XDD_IO_ERROR.
 */
extern const struct command command_gettime;

/*
 * xdd multi: a run on many hosts. Its main() returns the greatest status of all hosts, or
 * XDD_BAD_ARGUMENT, XDD_BAD_OPTION, XDD_INIT_FAILED, XDD_TARGET_FAILED for a host without results.
 */
extern const struct command command_multi;

/*
 * xdd report: a page of HTML of documents of -jsonout and of xdd sweep. Its main() returns XDD_OK;
 * XDD_BAD_ARGUMENT for a document that cannot be read; XDD_BAD_OPTION; XDD_IO_ERROR where the page
 * cannot be written.
 */
extern const struct command command_report;

/*
 * xdd sweep: runs over lists of values of options. Its main() returns XDD_OK; XDD_CANCELED after a
 * signal, with what was done; the greatest status of a run; or a status as a run has it.
 */
extern const struct command command_sweep;

/*
 * xdd timeserver: serve that clock. Its main() returns XDD_OK at once, when the server is in the
 * background, or after a signal; XDD_INIT_FAILED, XDD_BAD_ARGUMENT, XDD_BAD_OPTION or XDD_IO_ERROR.
 */
extern const struct command command_timeserver;

/*
 * xdd tsread: print dumps of time stamps. Its main() returns XDD_OK; XDD_BAD_ARGUMENT or
 * XDD_BAD_OPTION; XDD_IO_ERROR when something could not be read or written; XDD_MISCOMPARE when a
 * dump is damaged: what is sound of it was printed.
 */
extern const struct command command_tsread;

#endif
