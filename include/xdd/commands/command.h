/*
 * The commands of the program. One file in src/commands each, one row in command.c.
 */
#ifndef XDD_COMMANDS_COMMAND_H
#define XDD_COMMANDS_COMMAND_H

#include <stdbool.h>

struct command {
	const char *name; /* the first word of the command line */

	/*
	 * Run the command; argv[0] is its name, or that of the program for the run. Results go to
	 * standard output, messages to log_error(). Returns the exit status of the program. Main
	 * thread, once, while there is no other.
	 */
	int (*main)(int argc, char **argv);
};

/* The command that `argv` names, or the run of a plan, which has no name. */
const struct command *command_of(int argc, char **argv);

/*
 * Write what standard output still holds. False: that failed, reported. A reader that has gone away
 * has read enough, and is no failure.
 */
bool command_flush(void);

#endif
