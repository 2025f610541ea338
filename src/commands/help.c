/*
 * xdd -help: the options, the commands, and information about words. Called by run_main().
 */
#include <stdio.h>
#include <string.h>

#include "commands/commands.h"
#include "xdd/commands/command.h"
#include "xdd/plan/help.h"

static void print_usage(void)
{
	const struct command *c;

	printf("usage: xdd <option> ...\n"
	       "       xdd <command> ...\n"
	       "Drives files and devices with I/O and reports what they do.\n\n"
	       "  xdd -op read -targets 1 /dev/sdx -reqsize 128 -mbytes 64 -passes 3 -verbose\n\n"
	       "Commands:\n");
	for (size_t i = 0; (c = command_at(i)); i++)
		help_wrapped(c->summary, 16, printf("  xdd %s", c->name));
	putchar('\n');
	help_list(&run_options);
	printf("Options begin with one dash or two. 'target <n>' after an option's name, or\n"
	       "'target <a>-<b>', restricts it to those targets; later options override\n"
	       "earlier ones. 'xdd -help <option>' tells more, 'man xdd' all.\n");
}

static enum xdd_status explain(const struct setting *s, const struct word *w)
{
	const struct command *command = command_find(w->text);

	if (command)
		command_help(command);
	else if (help_option(&run_options, w->text))
		return help_unknown(s, w, option_suggest(&run_options, w->text));
	return XDD_OK;
}

enum xdd_status help_print(const struct setting *s)
{
	enum xdd_status status = XDD_OK;

	if (!s->n_args)
		print_usage();
	for (size_t i = 0; i < s->n_args; i++) {
		enum xdd_status one = explain(s, &s->args[i]);

		status = one ? one : status;
	}
	return status;
}
