/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The commands of the program. One file in src/commands each, one line in command.c.
 */
#ifndef XDD_COMMANDS_COMMAND_H
#define XDD_COMMANDS_COMMAND_H

#include <stdbool.h>
#include <stddef.h>

#include "xdd/base/status.h"

struct option_table;

struct command {
	const char *name;    /* the first word of the command line; NULL: the run of a plan */
	const char *summary; /* one line for xdd -help, without a capital and a full stop */
	const char *usage;   /* "usage: xdd NAME ..." and its purpose; the help begins with it */
	const struct option_table *options; /* for its help and the completion; NULL: none */
	const char *footer;		    /* the help ends with it; NULL: nothing */
	const char *page; /* its manual page, in section 1; NULL: "xdd-" and its name */

	/*
	 * Run the command; argv[0] is its name, or the program's for the run. Results go to
	 * standard output, messages to log_error(). Returns the exit status of the program. Main
	 * thread, once, while there is no other.
	 */
	int (*main)(int argc, char **argv);
};

/* Command `i` of those with a name, in the order of the help; NULL past the last one. */
const struct command *command_at(size_t i);

/* The command of that name, or NULL. */
const struct command *command_find(const char *name);

#define COMMAND_PAGE_SIZE 32

/* The name of the manual page of a command, in `buf`, which has COMMAND_PAGE_SIZE bytes. */
const char *command_page(const struct command *command, char *buf);

/* Print the help of a command to standard output: usage, options and footer. */
void command_help(const struct command *command);

/*
 * Print what a command line has asked for with `option`: help or version. Returns XDD_OK, or
 * XDD_IO_ERROR, reported.
 */
enum xdd_status command_show(const struct command *command, const char *option);

/*
 * The command that `argv` names, by the name of the program or by its first word, or the run of a
 * plan, which has no name. `*words` is the number of words that are not for it.
 */
const struct command *command_of(int argc, char **argv, int *words);

/*
 * True if two names name the same file, which may be missing, or of the same standard
 * stream; NULL is none. Main thread.
 */
bool command_same_file(const char *a, const char *b);

/*
 * Write what standard output still holds. False: that failed, reported. A reader that has gone away
 * has read enough, and is no failure.
 */
bool command_flush(void);

#endif
