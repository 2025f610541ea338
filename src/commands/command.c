/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The table of commands. Called by main and by the help.
 */
#include "xdd/commands/command.h"

#include <errno.h>
#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "commands/commands.h"
#include "xdd/base/log.h"
#include "xdd/base/memory.h"
#include "xdd/base/output.h"
#include "xdd/base/text.h"
#include "xdd/plan/foreign.h"
#include "xdd/plan/option.h"
#include "xdd/report/report.h"

static int unknown_main(int argc, char **argv);

static const struct command run = { .main = run_main, .options = &run_options };

/* For a first word that is nothing. */
static const struct command unknown = { .main = unknown_main };

/* In the order of the help. A command is declared in commands.h and defined in its own file. */
static const struct command *const commands[] = {
	&command_check,	 &command_combine, &command_compare,	&command_copy,
	&command_curve,	 &command_fio,	   &command_gettime,	&command_multi,
	&command_report, &command_sweep,   &command_timeserver, &command_tsread,
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

/* The command that a link to the program is named after: gettime, gettime.Linux. NULL: none. */
static const struct command *command_of_link(const char *path)
{
	static const struct command *const linked[] = { &command_gettime, &command_timeserver };
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;

	for (size_t i = 0; i < sizeof(linked) / sizeof(linked[0]); i++) {
		size_t length = strlen(linked[i]->name);

		if (strncmp(name, linked[i]->name, length) == 0 &&
		    (!name[length] || strcmp(name + length, ".Linux") == 0))
			return linked[i];
	}
	return NULL;
}

/* True if a first word is the name of a file, or can be nothing else. */
static bool is_file_name(const char *word)
{
	struct stat st;

	return lstat(word, &st) == 0 ||
	       (!strchr(word, '=') && (strchr(word, '/') || strchr(word, '.')));
}

/*
 * Words that a run explains: the names of options without a dash, settings as other tools write
 * them, and a stray word before options.
 */
static bool is_for_run(const char *word, const char *next)
{
	return !*word || strchr(word, '=') || option_find(&run_options, word) ||
	       (next && *next == '-' && !command_suggest(word));
}

static const char *name_at(const void *unused, size_t i)
{
	const struct command *c = command_at(i);

	(void)unused;
	return c ? c->name : NULL;
}

const char *command_suggest(const char *word)
{
	return suggest_nearest(word, name_at, NULL);
}

const struct command *command_of(int argc, char **argv, int *words)
{
	const struct command *c = argc > 0 ? command_of_link(argv[0]) : NULL;

	*words = 0;
	if (c)
		return c;
	c = argc > 1 ? command_find(argv[1]) : NULL;
	if (c)
		*words = 1;
	if (c || argc < 2 || argv[1][0] == '-')
		return c ? c : &run;
	if (is_file_name(argv[1]))
		return &command_bare_check;
	return is_for_run(argv[1], argv[2]) ? &run : &unknown;
}

static int unknown_main(int argc, char **argv)
{
	const char *word = argc > 1 ? argv[1] : "";
	const char *command = command_suggest(word), *option = option_suggest(&run_options, word);
	const struct foreign_tool *tool;
	const struct foreign *row = foreign_command(word, &tool);
	struct arena *arena;

	if (row) {
		arena = xarena_new();
		log_error("%.128s: is no command and no such file; %s", word,
			  foreign_advice(arena, row, NULL));
		arena_free(arena);
	} else if (command)
		log_error("%.128s: is no command and no such file; did you mean %s?", word,
			  command);
	else if (option)
		log_error("%.128s: is no command and no such file; did you mean -%s?", word,
			  option);
	else
		log_error("%.128s: is no command and no such file; xdd -help lists the commands",
			  word);
	return XDD_BAD_ARGUMENT;
}

const char *command_page(const struct command *command, char *buf)
{
	snprintf(buf, COMMAND_PAGE_SIZE, "%s%s", command->page ? "" : "xdd-",
		 command->page ? command->page : command->name);
	return buf;
}

void command_help(const struct command *command)
{
	char page[COMMAND_PAGE_SIZE];

	fputs(command->usage, stdout);
	if (command->options) {
		putchar('\n');
		help_list(command->options);
	}
	if (command->footer)
		fputs(command->footer, stdout);
	printf("Manual page: %s(1)\n", command_page(command, page));
}

enum xdd_status command_show(const struct command *command, const char *option)
{
	if (strcmp(option, "version") == 0)
		help_version();
	else
		command_help(command);
	return command_flush() ? XDD_OK : XDD_IO_ERROR;
}

bool command_same_file(const char *a, const char *b)
{
	struct outfile_id id_a, id_b;

	if (!a || !b)
		return false;
	outfile_identify(&id_a, a);
	outfile_identify(&id_b, b);
	return outfile_is_same(&id_a, &id_b) ||
	       (output_standard(a) >= 0 && output_standard(a) == output_standard(b));
}

/* True: standard output is a pipe that has no reader any more. */
static bool is_reader_gone(void)
{
	struct pollfd p = { .fd = STDOUT_FILENO, .events = POLLOUT };

	return poll(&p, 1, 0) > 0 && (p.revents & POLLERR);
}

bool command_flush(void)
{
	if (fflush(stdout)) {
		if (errno == EPIPE)
			return true;
		return log_fail(false, "standard output: %s", strerror(errno));
	}
	/* The part of an earlier write is lost. A reader that has seen enough wants none. */
	if (!ferror(stdout) || is_reader_gone())
		return true;
	return log_fail(false, "standard output: is incomplete");
}
