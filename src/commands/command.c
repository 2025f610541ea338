/*
 * The table of commands. Called by main and by the help.
 */
#include "xdd/commands/command.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "commands/commands.h"
#include "xdd/base/log.h"
#include "xdd/plan/help.h"

static const struct command run = { .main = run_main, .options = &run_options };

/* In the order of the help. A command is declared in commands.h and defined in its own file. */
static const struct command *const commands[] = {
	&command_compare,
	&command_tsread,
};

const struct command *command_at(size_t i)
{
	return i < sizeof(commands) / sizeof(commands[0]) ? commands[i] : NULL;
}

const struct command *command_find(const char *name)
{
	const struct command *c;

	for (size_t i = 0; (c = command_at(i)) && strcmp(c->name, name) != 0; i++)
		;
	return c;
}

const struct command *command_of(int argc, char **argv)
{
	const struct command *c = argc > 1 ? command_find(argv[1]) : NULL;

	return c ? c : &run;
}

void command_help(const struct command *command)
{
	fputs(command->usage, stdout);
	if (command->options) {
		putchar('\n');
		help_list(command->options);
	}
	if (command->footer)
		fputs(command->footer, stdout);
}

bool command_flush(void)
{
	if (fflush(stdout) == 0 || errno == EPIPE)
		return true;
	log_error("standard output: %s", strerror(errno));
	return false;
}
