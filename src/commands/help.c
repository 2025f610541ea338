/*
 * xdd -help: the options, the commands, and information about words. Called by run_main().
 */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "commands/commands.h"
#include "commands/help_search.h"
#include "xdd/commands/command.h"
#include "xdd/plan/help.h"
#include "xdd/report/column.h"

#define MOST_USED_INDENT 36

/* Options of the first days, in the order in which one needs them. */
static const char *const most_used[] = { "target",  "op",      "blocksize",  "bytes",	"dio",
					 "seek",    "rwratio", "queuedepth", "runtime", "passes",
					 "latency", "jsonout", "dryrun" };

static void print_most_used(void)
{
	for (size_t i = 0; i < sizeof(most_used) / sizeof(most_used[0]); i++) {
		const struct option *opt = option_find(&run_options, most_used[i]);

		help_wrapped(opt->help, MOST_USED_INDENT,
			     printf("    -%s%s%s", opt->name, opt->arg ? " " : "",
				    opt->arg ? opt->arg : ""));
	}
}

static void print_usage(void)
{
	const struct command *c;

	printf("usage: xdd <option> ...\n"
	       "       xdd <command> ...\n"
	       "Drives files and devices with I/O and reports what they do.\n\n"
	       "  xdd -op read -target /dev/sdx -dio -bs 4k -seek random -runtime 10\n\n"
	       "Commands:\n");
	for (size_t i = 0; (c = command_at(i)); i++)
		help_wrapped(c->summary, 16, printf("  xdd %s", c->name));
	printf("\nMost used:\n");
	print_most_used();
	putchar('\n');
	help_list(&run_options);
	printf("Options begin with one dash or two. 'target <n>' after an option's name, or\n"
	       "'target <a>-<b>', restricts it to those targets; later options override\n"
	       "earlier ones. 'xdd -help <word>' explains an option, a command or a column, and\n"
	       "searches for other words, also those of fio and dd; 'xdd -help columns' lists\n"
	       "the columns; 'man xdd' has everything.\n");
}

#define COLUMNS_INDENT 24
#define NO_UNIT ">>" /* in the heading of the first column */

static void print_column(const struct column *c)
{
	int col = printf("  +%s", c->id);
	const char *unit = c->units + strspn(c->units, " ");

	help_wrapped(c->help, COLUMNS_INDENT, col);
	if (*unit && !strstr(unit, NO_UNIT))
		printf("%*sin %.*s\n", COLUMNS_INDENT, "", (int)strcspn(unit, " "), unit);
}

static void print_columns(void)
{
	const struct column *c;

	printf("Columns of the result lines, for -outputformat:\n\n");
	for (size_t i = 0; (c = column_at(i)); i++)
		print_column(c);
}

/* A column, written in either case and with its plus sign or without. */
static const struct column *find_column(const char *word)
{
	const struct column *c;

	word += word[0] == '+';
	for (size_t i = 0; (c = column_at(i)) && strcasecmp(c->id, word) != 0; i++)
		;
	return c;
}

static enum xdd_status explain(const struct setting *s, const struct word *w)
{
	const char *word = w->text + strspn(w->text, "-");
	const struct command *command = command_find(word);
	const struct column *column = find_column(word);

	/* A word may be both: the command has -help of its own. */
	if (help_option(&run_options, word) == 0)
		return XDD_OK;
	if (command)
		command_help(command);
	else if (strcmp(word, "columns") == 0)
		print_columns();
	else if (column)
		print_column(column);
	else if (!help_search(word))
		return help_unknown(s, w, option_suggest(&run_options, word));
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
