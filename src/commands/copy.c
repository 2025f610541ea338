/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The command xdd copy, which the script xddcp starts: files and trees from host to host. Called by
 * main.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "commands/commands.h"
#include "commands/copy_line.h"
#include "xdd/base/memory.h"
#include "xdd/base/text.h"
#include "xdd/base/units.h"
#include "xdd/commands/command.h"
#include "xdd/plan/option.h"

/* The command line as a shell reads it. */
static const char *command_text(struct arena *arena, int argc, char *const *argv)
{
	const char **words = xarena_alloc(arena, sizeof(*words) * (size_t)argc);
	size_t size = sizeof("xdd");
	char *text, *end;

	for (int i = 0; i < argc; i++) {
		words[i] = xneed(quote_word(arena, argv[i]));
		size += strlen(words[i]) + 1;
	}
	text = xarena_alloc(arena, size);
	end = stpcpy(text, "xdd");
	for (int i = 0; i < argc; i++) {
		*end++ = ' ';
		end = stpcpy(end, words[i]);
	}
	return text;
}

/* The log of -v, in the current directory. */
static const char *log_name(struct arena *arena, const struct copy_request *r)
{
	char stem[COPY_STEM_BYTES];

	copy_stem(r->sources[0].path, r->settings.begun_s, stem);
	return xarena_printf(arena, "./%s.log", stem);
}

static int copy_files(struct arena *arena, int argc, char *const *argv)
{
	struct copy_line l = { .arena = arena };
	int status = copy_line_read(&l, argc, argv);

	if (status)
		return status;
	if (l.line.shows)
		return (int)command_show(&command_copy, l.line.shows);
	l.request.command = command_text(arena, argc, argv);
	l.request.settings.begun_s = (uint64_t)time(NULL);
	if (l.request.settings.stamps && !l.request.log_path)
		l.request.log_path = log_name(arena, &l.request);
	return copy_run(&l.request);
}

/* For the script xddcp, whose xdd has died: how often these words may be tried. */
static int print_attempts(int argc, char **argv)
{
	struct arena *arena = xarena_new();
	struct copy_line l = { .arena = arena };
	int status = copy_line_read(&l, argc, argv);

	if (!status)
		printf("%u\n", l.line.shows ? 1 : copy_attempts(&l.request));
	arena_free(arena);
	return status || !command_flush() ? COPY_FAILED : XDD_OK;
}

/* The copy ends with the script xddcp, however that ends. */
static void end_with_script(void)
{
	const char *script = getenv("XDDCP_SCRIPT");
	uint64_t pid;

	if (!script || units_parse_u64(script, &pid) || pid != (uint64_t)getppid())
		return;
	unsetenv("XDDCP_SCRIPT");
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (pid != (uint64_t)getppid())
		_exit(XDD_CANCELED);
}

static int copy_main(int argc, char **argv)
{
	struct arena *arena;
	int status;

	if (argc == 2 && strcmp(argv[1], "-server") == 0)
		return copy_server();
	memory_on_end(COPY_FAILED, NULL, NULL);
	if (argc > 1 && strcmp(argv[1], "-attempts") == 0)
		return print_attempts(argc - 1, argv + 1);
	end_with_script();
	arena = xarena_new();
	status = copy_files(arena, argc, argv);
	arena_free(arena);
	return status;
}

const struct command command_copy = {
	.name = "copy",
	.page = "xddcp",
	.summary = "copy files and trees between hosts; also as xddcp",
	.usage = "usage: xddcp [<option> ...] <source> ... [<user>@]<host>:<path> [<size>]\n"
		 "       xddcp [<option> ...] [<user>@]<host>:<path> ... <destination> [<size>]\n"
		 "       xddcp [<option> ...] <host a>:<path> ... <host b>:<path> [<size>]\n"
		 "       xddcp [<option> ...] <source> ... <destination>\n"
		 "\n"
		 "Copies files from host to host. ssh starts xdd on the other host; the data move\n"
		 "by connections of their own, with a key for this copy only. Each block is\n"
		 "checked, and a file gets its name when it is complete. Times, links and\n"
		 "holes are copied, and files that are the same already are skipped. xddcp is\n"
		 "xdd copy.\n",
	.options = &copy_options,
	.footer =
		"Exit status: 0 all files arrived and were checked; 1 memory or threads are short\n"
		"at the start; 5 a signal ended the copy; 6 a log or other output is\n"
		"incomplete; 7 contents differ (-verify);\n"
		"101 arguments; 102 form of source and destination; 103 no xdd there;\n"
		"105 options exclude each other; 106 no such source; 108 ssh cannot start;\n"
		"109 ssh ended; 111 size; 112 version; 114 something was not copied; 115 ports;\n"
		"118 a device needs a size; 119 no such directory; 120 cannot be written.\n",
	.main = copy_main,
};
