/*
 * The table of commands. Called by main.
 */
#include "xdd/commands/command.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "commands/commands.h"
#include "xdd/base/log.h"

static const struct command run = { NULL, run_main };

static const struct command commands[] = {
	{ "compare", compare_main },
	{ "tsread", tsread_main },
};

const struct command *command_of(int argc, char **argv)
{
	for (size_t i = 0; argc > 1 && i < sizeof(commands) / sizeof(commands[0]); i++) {
		if (strcmp(argv[1], commands[i].name) == 0)
			return &commands[i];
	}
	return &run;
}

bool command_flush(void)
{
	if (fflush(stdout) == 0 || errno == EPIPE)
		return true;
	log_error("standard output: %s", strerror(errno));
	return false;
}
