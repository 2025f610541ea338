/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The completions for zsh and fish. Both describe each word with its line of help, which bash
 * cannot. Functions of the shell find the command and the option that a word belongs to; the words
 * come from the tables. Called by mkdoc.
 */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "mkdoc.h"
#include "xdd/commands/command.h"
#include "xdd/plan/option.h"
#include "xdd/report/column.h"

/* How a shell writes the words of one command, or of one of its options. */
struct shell {
	/* Begin the words of `command`, or of its option `opt` if that is not NULL. */
	void (*begin)(const char *command, const struct option *opt);
	void (*word)(const char *dash, const char *word, const char *help);
	void (*end)(void);
};

/* Print the first sentence of `text` for single quotes, with a backslash before `special`. */
static void print_quoted(const char *text, const char *special)
{
	const char *end = strstr(text, ". ");

	for (; *text && text != end; text++) {
		if (strchr(special, *text))
			putchar('\\');
		printf("%s%c", *text == '\'' ? "'\\'" : "", *text);
	}
}

/* Print an option as it is typed, and after it its aliases with `mark` before each. */
static void print_names(const struct option *opt, const char *mark)
{
	printf("-%s", opt->name);
	for (const char *a = opt->aliases; a && *a;) {
		int length = (int)strcspn(a, " ");

		printf("%s-%.*s", mark, length, a);
		a += length;
		a += strspn(a, " ");
	}
}

static void write_words_of_option(const struct shell *shell, const char *command,
				  const struct option *opt)
{
	const struct option *sub;
	char help[192];

	if (!option_sub(opt, 0) && !opt->choices)
		return;
	shell->begin(command, opt);
	for (size_t i = 0; (sub = option_sub(opt, i)); i++) {
		shell->word("", sub->name, option_sub_help(opt, sub, help, sizeof(help)));
		for (const struct choice *c = sub->choices; c && c->word; c++) {
			if (!option_find_sub(opt, c->word))
				shell->word("", c->word, NULL);
		}
		if (sub->arg && sub->arg[0] == '[' && sub->arg[1] != '<') {
			snprintf(help, sizeof(help), "%.*s", (int)strcspn(sub->arg + 1, "]"),
				 sub->arg + 1);
			shell->word("", help, NULL);
		}
	}
	for (const struct choice *c = opt->choices; c && c->word; c++)
		shell->word("", c->word, NULL);
	shell->end();
}

static void write_options(const struct shell *shell, const char *command,
			  const struct option_table *table)
{
	shell->begin(command, NULL);
	for (const struct option_group *const *g = table->groups; *g; g++) {
		for (const struct option *opt = (*g)->options; opt->name; opt++)
			shell->word("-", opt->name, opt->help);
	}
	shell->end();
	for (const struct option_group *const *g = table->groups; *g; g++) {
		for (const struct option *opt = (*g)->options; opt->name; opt++)
			write_words_of_option(shell, command, opt);
	}
}

/* A run is the command "run" here. */
static void write_all(const struct shell *shell)
{
	const struct option columns = { .name = "outputformat", .aliases = "ofmt" };
	const struct command *command;
	const struct column *column;

	write_options(shell, "run", &run_options);
	shell->begin("run", &columns);
	shell->word("", "new", NULL);
	for (size_t i = 0; (column = column_at(i)); i++)
		shell->word("+", column->id, column->help);
	shell->end();
	for (size_t i = 0; (command = command_at(i)); i++) {
		if (command->options)
			write_options(shell, command->name, command->options);
	}
	write_options(shell, "nightly", &mkdoc_nightly);
}

static void zsh_begin(const char *command, const struct option *opt)
{
	char mark[64];

	snprintf(mark, sizeof(mark), "|%s:", command);
	printf("\t(%s:", command);
	if (opt)
		print_names(opt, mark);
	printf(")\n\t\twords=(\n");
}

static void zsh_word(const char *dash, const char *word, const char *help)
{
	printf("\t\t\t'%s%s", dash, word);
	if (help) {
		putchar(':');
		print_quoted(help, "\\:");
	}
	printf("'\n");
}

static void zsh_end(void)
{
	printf("\t\t)\n\t\t;;\n");
}

static const char zsh_functions[] =
	"# Sets command to the one that the words before the cursor belong to: \"run\" without one.\n"
	"_xdd_find_command()\n{\n"
	"\tcase ${service%.Linux} in\n"
	"\t(gettime|timeserver) command=${service%.Linux} ;;\n"
	"\t(xddcp) command=copy ;;\n"
	"\t(xdd-multi) command=multi ;;\n"
	"\t(xdd-nightly) command=nightly ;;\n"
	"\t(*)\n"
	"\t\tcommand=run\n"
	"\t\tif ((CURRENT > 2)) && [[ ${_xdd_commands[(r)$words[2]:*]} == $words[2]:* ]]; then\n"
	"\t\t\tcommand=$words[2]\n"
	"\t\tfi\n"
	"\t\t;;\n"
	"\tesac\n"
	"\tif [[ $command == multi && ${words[1,CURRENT-1][(r)--]} == -- ]]; then\n"
	"\t\tcommand=run\n"
	"\tfi\n"
	"}\n\n"
	"_xdd()\n{\n"
	"\tlocal command option='' i\n"
	"\tlocal -a offered\n\n"
	"\t# After two dashes xdd-nightly has a command line of xdd.\n"
	"\ti=${words[(i)--]}\n"
	"\tif [[ $service == xdd-nightly ]] && ((i < CURRENT)); then\n"
	"\t\twords=(xdd \"${(@)words[i + 1,-1]}\")\n"
	"\t\t((CURRENT -= i - 1))\n"
	"\t\tservice=xdd\n"
	"\tfi\n"
	"\t_xdd_find_command\n"
	"\tif [[ $PREFIX == -* ]]; then\n"
	"\t\toffered=(\"${(@f)$(_xdd_print $command '')}\")\n"
	"\t\t# Two dashes are as good as one.\n"
	"\t\t[[ $PREFIX == --* ]] && offered=(-${^offered})\n"
	"\t\t_describe -o 'option' offered\n"
	"\t\treturn\n"
	"\tfi\n"
	"\tif ((CURRENT == 2)) && [[ $service == xdd* && $command == run ]]; then\n"
	"\t\t_describe 'command' _xdd_commands\n"
	"\tfi\n"
	"\tfor ((i = CURRENT - 1; i > 1; i--)); do\n"
	"\t\tif [[ $words[i] == -[[:alpha:]-]* ]]; then\n"
	"\t\t\toption=${words[i]/#--/-}\n"
	"\t\t\tbreak\n"
	"\t\tfi\n"
	"\tdone\n"
	"\tif [[ -n $option ]]; then\n"
	"\t\toffered=(\"${(@f)$(_xdd_print $command $option)}\")\n"
	"\t\tif [[ -n $offered[1] ]]; then\n"
	"\t\t\t_describe 'word' offered\n"
	"\t\t\treturn\n"
	"\t\tfi\n"
	"\tfi\n"
	"\t_files\n"
	"}\n\n"
	"_xdd \"$@\"\n";

void mkdoc_zsh(void)
{
	static const struct shell zsh = { zsh_begin, zsh_word, zsh_end };
	const struct command *command;

	printf("#compdef xdd xdd.Linux gettime gettime.Linux timeserver timeserver.Linux xddcp "
	       "xdd-multi xdd-nightly\n" LICENCE_LINE
	       "# zsh completion for xdd. Generated from the tables of options, columns and "
	       "commands by\n# `make docs`; do not edit.\n\n"
	       "typeset -ga _xdd_commands=(\n");
	for (size_t i = 0; (command = command_at(i)); i++)
		zsh_word("", command->name, command->summary);
	printf(")\n\n# COMMAND OPTION: prints the options of the command, or the words of its "
	       "option.\n"
	       "_xdd_print()\n{\n\tlocal -a words\n\n\tcase $1:$2 in\n");
	write_all(&zsh);
	printf("\tesac\n\tprint -rl -- \"${words[@]}\"\n}\n\n");
	fputs(zsh_functions, stdout);
}

/* The programs and the condition of the words of fish that follow. */
static const char *fish_programs;
static char fish_condition[256];

static void fish_begin(const char *command, const struct option *opt)
{
	size_t n;

	fish_programs = "";
	if (strcmp(command, "gettime") == 0)
		fish_programs = " -c gettime -c gettime.Linux";
	else if (strcmp(command, "timeserver") == 0)
		fish_programs = " -c timeserver -c timeserver.Linux";
	else if (strcmp(command, "copy") == 0)
		fish_programs = " -c xddcp";
	else if (strcmp(command, "multi") == 0)
		fish_programs = " -c xdd-multi";
	else if (strcmp(command, "run") == 0)
		fish_programs = " -c xdd-multi -c xdd-nightly";
	else if (strcmp(command, "nightly") == 0 || strcmp(command, "sweep") == 0 ||
		 strcmp(command, "curve") == 0)
		fish_programs = " -c xdd-nightly";
	n = (size_t)snprintf(fish_condition, sizeof(fish_condition), "__xdd_%s %s",
			     opt ? "after" : "in", command);
	if (opt)
		n += (size_t)snprintf(fish_condition + n, sizeof(fish_condition) - n, " -%s",
				      opt->name);
	for (const char *a = opt ? opt->aliases : NULL; a && *a;) {
		int length = (int)strcspn(a, " ");

		n += (size_t)snprintf(fish_condition + n, sizeof(fish_condition) - n, " -%.*s",
				      length, a);
		a += length;
		a += strspn(a, " ");
	}
}

static void fish_word(const char *dash, const char *word, const char *help)
{
	printf("complete -c xdd%s -n '%s' %s%s", fish_programs, fish_condition,
	       *dash == '-' ? "-o " :
	       *dash	    ? "-f -a +" :
			      "-f -a ",
	       word);
	if (help) {
		printf(" -d '");
		print_quoted(help, "\\");
		putchar('\'');
	}
	putchar('\n');
}

static void fish_end(void)
{
}

static const char fish_functions[] =
	"# The command that the words before the cursor belong to: \"run\" without one.\n"
	"function __xdd_command\n"
	"    set -l words (commandline -opc)\n"
	"    set -l name (string replace -r '.*/' '' -- $words[1] | string replace -r '\\.Linux$' '')\n"
	"    set -l command run\n"
	"    switch $name\n"
	"        case gettime timeserver\n"
	"            set command $name\n"
	"        case xddcp\n"
	"            set command copy\n"
	"        case xdd-multi\n"
	"            set command multi\n"
	"        case xdd-nightly\n"
	"            set command nightly\n"
	"        case '*'\n"
	"            if set -q words[2]; and contains -- $words[2] $__xdd_commands\n"
	"                set command $words[2]\n"
	"            end\n"
	"    end\n"
	"    if contains -- $command multi nightly; and set -l dashes (contains -i -- -- $words)\n"
	"        set -l next $words[(math $dashes + 1)]\n"
	"        if test $command = nightly; and contains -- \"$next\" sweep curve\n"
	"            set command $next\n"
	"        else\n"
	"            set command run\n"
	"        end\n"
	"    end\n"
	"    echo $command\n"
	"end\n\n"
	"# True for the first word after xdd.\n"
	"function __xdd_first\n"
	"    set -l words (commandline -opc)\n"
	"    test (count $words) -eq 1; and string match -qr '(^|/)xdd(\\.Linux)?$' -- $words[1]\n"
	"end\n\n"
	"# COMMAND: true for the words of the command.\n"
	"function __xdd_in\n"
	"    test (__xdd_command) = $argv[1]\n"
	"end\n\n"
	"# COMMAND OPTION...: true after one of these options of the command.\n"
	"function __xdd_after\n"
	"    __xdd_in $argv[1]; or return 1\n"
	"    for word in (commandline -opc)[-1..1]\n"
	"        if string match -qr '^--?[a-zA-Z]' -- $word\n"
	"            contains -- (string replace -r '^--' - -- $word) $argv[2..]\n"
	"            return\n"
	"        end\n"
	"    end\n"
	"    return 1\n"
	"end\n\n";

void mkdoc_fish(void)
{
	static const struct shell fish = { fish_begin, fish_word, fish_end };
	const struct command *command;

	printf(LICENCE_LINE
	       "# fish completion for xdd. Generated from the tables of options, columns and "
	       "commands by\n# `make docs`; do not edit.\n\nset -g __xdd_commands");
	for (size_t i = 0; (command = command_at(i)); i++)
		printf(" %s", command->name);
	printf("\n\n%s", fish_functions);
	for (size_t i = 0; (command = command_at(i)); i++) {
		printf("complete -c xdd -n __xdd_first -a %s -d '", command->name);
		print_quoted(command->summary, "\\");
		printf("'\n");
	}
	write_all(&fish);
	/* After two dashes fish offers no options of its own. */
	printf("complete -c xdd -c xdd-multi -c xdd-nightly -n 'contains -- -- (commandline "
	       "-opc); and string match -q -- \"-*\" (commandline -ct)' -f -a \"(complete -C "
	       "'xdd '(__xdd_command | string replace run '')' '(commandline -ct))\"\n"
	       "complete -c xdd.Linux -w xdd\n");
}
