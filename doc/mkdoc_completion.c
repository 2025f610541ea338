/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The bash completion: words from the tables of options, columns and commands, and the function
 * that chooses among them.
 */
#include <stdio.h>
#include <string.h>

#include "mkdoc.h"
#include "xdd/commands/command.h"
#include "xdd/plan/option.h"
#include "xdd/report/column.h"

/* The name of a row and its aliases as a pattern of "case": -seek | -s. */
static void pattern(const char *dash, const struct option *row)
{
	printf("%s%s", dash, row->name);
	for (const char *a = row->aliases; a && *a;) {
		int len = (int)strcspn(a, " ");

		printf(" | %s%.*s", dash, len, a);
		a += len;
		a += strspn(a, " ");
	}
}

/* The switch of compgen for the argument of a row: files or directories; NULL: neither. */
static const char *kind_of(const struct option *row)
{
	if (!row->arg)
		return NULL;
	if (strstr(row->arg, "<directory>"))
		return "-d";
	if (strstr(row->arg, "<file>") || strstr(row->arg, "<prefix>") ||
	    strstr(row->arg, "<path>"))
		return "-f";
	return NULL;
}

static void choices(const struct option *row)
{
	const char *blank = "";

	printf("words='");
	for (const struct choice *c = row->choices; c->word; c++, blank = " ")
		printf("%s%s", blank, c->word);
	printf("'\n");
}

static void subs(const struct option *opt)
{
	const struct option *sub;
	const char *blank = "";

	for (size_t i = 0; (sub = option_sub(opt, i)); i++, blank = " ")
		printf("%s%s", blank, sub->name);
}

/* After a suboption that may have an argument come that, where it is a word, and all others. */
static void optional_case(const struct option *opt, const struct option *sub)
{
	size_t length = strcspn(sub->arg + 1, "]");

	printf(") words='");
	if (sub->arg[1] != '<')
		printf("%.*s ", (int)length, sub->arg + 1);
	subs(opt);
	printf("' ;;\n");
}

/* After a suboption with an argument of its own comes that, and no other suboption. */
static void sub_case(const struct option *opt, const struct option *sub)
{
	const char *kind = kind_of(sub);

	if (!sub->arg && !sub->choices)
		return;
	printf("\t\t");
	pattern("", sub);
	if (sub->choices) {
		printf(")\n\t\t\t");
		choices(sub);
		printf("\t\t\t;;\n");
	} else if (sub->arg[0] == '[') {
		optional_case(opt, sub);
	} else if (kind) {
		printf(") kind=%s ;;\n", kind);
	} else {
		printf(") kind=none ;;\n");
	}
}

static void option_with_subs(const struct option *opt)
{
	const struct option *sub;

	printf("\t\tcase $3 in\n");
	for (size_t i = 0; (sub = option_sub(opt, i)); i++)
		sub_case(opt, sub);
	printf("\t\t*) words='");
	subs(opt);
	printf("' ;;\n\t\tesac\n");
}

static void option_case(const struct option *opt)
{
	const char *kind = kind_of(opt);

	if (!option_sub(opt, 0) && !opt->choices && !kind)
		return;
	printf("\t");
	pattern("-", opt);
	printf(")\n");
	if (option_sub(opt, 0)) {
		option_with_subs(opt);
	} else if (opt->choices) {
		printf("\t\t(($2)) || ");
		choices(opt);
	} else {
		printf("\t\t(($2)) || kind=%s\n", kind);
	}
	printf("\t\t;;\n");
}

/* The names of the options of a table, each with a blank before it. */
static void names(const char *dash, const struct option_table *table)
{
	for (const struct option_group *const *g = table->groups; *g; g++) {
		for (const struct option *opt = (*g)->options; opt->name; opt++)
			printf(" %s%s", dash, opt->name);
	}
}

/* The first alias of each option, which is a letter, with a blank before it. */
static void letters(const struct option_table *table)
{
	for (const struct option_group *const *g = table->groups; *g; g++) {
		for (const struct option *opt = (*g)->options; opt->name; opt++) {
			if (opt->aliases)
				printf(" -%c", opt->aliases[0]);
		}
	}
}

static void variables(void)
{
	const struct command *command;
	const struct column *column;

	printf("_xdd_options='");
	names("-", &run_options);
	printf("'\n_xdd_commands='");
	for (size_t i = 0; (command = command_at(i)); i++)
		printf(" %s", command->name);
	printf("'\n_xdd_columns='");
	for (size_t i = 0; (column = column_at(i)); i++)
		printf(" +%s", column->id);
	printf("'\n\n");
}

static void command_cases(void)
{
	const struct command *command;

	printf("# The options of a command.\n_xdd_command()\n{\n\tcase $1 in\n");
	for (size_t i = 0; (command = command_at(i)); i++) {
		printf("\t%s) words='", command->name);
		if (command->options)
			names("-", command->options);
		printf("' ;;\n");
	}
	printf("\tnightly) words='");
	names("-", &mkdoc_nightly);
	printf("' ;;\n\tesac\n}\n\n");
}

static void word_cases(void)
{
	printf("# OPTION PLACE BEFORE: the words that may be in this place after the option, or the kind\n"
	       "# of file names. BEFORE is the word before.\n"
	       "_xdd_words()\n{\n\tcase $1 in\n");
	for (const struct option_group *const *g = run_options.groups; *g; g++) {
		for (const struct option *opt = (*g)->options; opt->name; opt++)
			option_case(opt);
	}
	printf("\t-outputformat | -ofmt) words=\"add new $_xdd_columns\" ;;\n"
	       "\t-help | -h) words=\"columns$_xdd_commands ${_xdd_options// -/ } ${_xdd_columns// +/ }\" ;;\n"
	       "\tesac\n}\n\n");
}

/*
 * The completion of xddcp and xdd copy. A word of theirs may be a host and a path, and bash splits
 * words at colons.
 */
static const char xddcp_function[] =
	"# Hosts that ssh knows, each with a colon.\n"
	"_xddcp_hosts()\n{\n"
	"\tlocal file\n\n"
	"\tfor file in ~/.ssh/known_hosts /etc/ssh/ssh_known_hosts; do\n"
	"\t\t[[ -r $file ]] && sed -n 's/^\\([^#|@ ,[*?][^ ,*?]*\\)[ ,].*/\\1:/p' \"$file\"\n"
	"\tdone\n"
	"\tfor file in ~/.ssh/config /etc/ssh/ssh_config; do\n"
	"\t\t[[ -r $file ]] && sed -n 's/^[Hh]ost[ \\t]*//p' \"$file\" | tr -s ' \\t' '\\n' | sed -n '/[*?!]/d; s/$/:/p'\n"
	"\tdone\n"
	"}\n\n"
	"# FIRST: offers the words of xddcp, which begin at word FIRST.\n"
	"_xddcp_words()\n{\n"
	"\tlocal cur=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} words='' kind=-f dash='' user=''\n\n"
	"\tCOMPREPLY=()\n"
	"\t# bash splits --log=file into three words.\n"
	"\tif [[ $cur == = ]]; then\n"
	"\t\tcur=''\n"
	"\telif [[ $before == = ]]; then\n"
	"\t\tbefore=${COMP_WORDS[COMP_CWORD - 2]}\n"
	"\tfi\n"
	"\t# A path after a colon is on the other host.\n"
	"\tif [[ $cur == :* || $before == : || $cur == *:* ]]; then\n"
	"\t\treturn\n"
	"\tfi\n"
	"\t((COMP_CWORD > $1)) && _xddcp_value \"${before/#--/-}\"\n"
	"\tif [[ $kind == -f && $cur == -* ]]; then\n"
	"\t\twords=$_xddcp_options\n"
	"\t\t[[ $cur == --* ]] || words+=$_xddcp_letters\n"
	"\t\tkind=none\n"
	"\telif [[ $kind == -f && $cur != *[/]* && $words == '' && ! $value ]]; then\n"
	"\t\twords=$(_xddcp_hosts)\n"
	"\t\t[[ $cur == *@* ]] && user=${cur%@*}@ cur=${cur##*@} kind=none\n"
	"\tfi\n"
	"\tif [[ $cur == --* ]]; then\n"
	"\t\tdash=-\n"
	"\t\tcur=${cur#-}\n"
	"\tfi\n"
	"\tmapfile -t COMPREPLY < <(compgen -P \"$dash$user\" -W \"$words\" -- \"$cur\" | sort -u)\n"
	"\t[[ ${COMPREPLY[0]-} == *: ]] && compopt -o nospace 2>/dev/null\n"
	"\tif [[ $kind == -* ]]; then\n"
	"\t\tmapfile -t -O ${#COMPREPLY[@]} COMPREPLY < <(compgen \"$kind\" -- \"$cur\")\n"
	"\tfi\n"
	"}\n\n"
	"_xddcp()\n{\n"
	"\tlocal value=''\n\n"
	"\t_xddcp_words 1\n"
	"}\n\n";

/*
 * The completion of xdd-multi, xdd multi and xdd-nightly: options of the command before two dashes
 * alone, and words of xdd after them.
 */
static const char starter_functions[] =
	"# COMMAND FIRST: offers the words of the command, which begin at word FIRST.\n"
	"_xdd_starter_words()\n{\n"
	"\tlocal cur=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} words='' kind=-f dash='' i\n\n"
	"\tCOMPREPLY=()\n"
	"\tfor ((i = $2; i < COMP_CWORD; i++)); do\n"
	"\t\tif [[ ${COMP_WORDS[i]} == -- ]]; then\n"
	"\t\t\tCOMP_WORDS=(xdd \"${COMP_WORDS[@]:i + 1}\")\n"
	"\t\t\tCOMP_CWORD=$((COMP_CWORD - i))\n"
	"\t\t\t_xdd\n"
	"\t\t\treturn\n"
	"\t\tfi\n"
	"\tdone\n"
	"\tif [[ $cur == -* ]]; then\n"
	"\t\t_xdd_command \"$1\"\n"
	"\telse\n"
	"\t\tcase $1:${before/#--/-} in\n"
	"\t\tmulti:-launcher) words='ssh srun mpirun pdsh' ;;\n"
	"\t\tnightly:-state) kind=-d ;;\n"
	"\t\tnightly:*) return ;;\n"
	"\t\tesac\n"
	"\tfi\n"
	"\tif [[ $cur == --* ]]; then\n"
	"\t\tdash=-\n"
	"\t\tcur=${cur#-}\n"
	"\tfi\n"
	"\tif [[ $words ]]; then\n"
	"\t\tmapfile -t COMPREPLY < <(compgen -P \"$dash\" -W \"$words\" -- \"$cur\")\n"
	"\telse\n"
	"\t\tmapfile -t COMPREPLY < <(compgen \"$kind\" -- \"$cur\")\n"
	"\tfi\n"
	"}\n\n"
	"_xdd_multi()\n{\n"
	"\t_xdd_starter_words multi 1\n"
	"}\n\n"
	"_xdd_nightly()\n{\n"
	"\t_xdd_starter_words nightly 1\n"
	"}\n\n";

static const char function[] =
	"_xdd()\n{\n"
	"\tlocal cur=${COMP_WORDS[COMP_CWORD]} option='' words='' kind='' dash='' head='' value='' i first\n\n"
	"\tCOMPREPLY=()\n"
	"\t# The option that the word belongs to, and the first word after it and its target.\n"
	"\tfor ((i = COMP_CWORD - 1; i > 0; i--)); do\n"
	"\t\tif [[ ${COMP_WORDS[i]} == -[[:alpha:]-]* ]]; then\n"
	"\t\t\toption=${COMP_WORDS[i]/#--/-}\n"
	"\t\t\tbreak\n"
	"\t\tfi\n"
	"\tdone\n"
	"\tfirst=$((i + 1))\n"
	"\tif ((first + 1 < COMP_CWORD)) && [[ ${COMP_WORDS[first]} == target ]]; then\n"
	"\t\tfirst=$((first + 2))\n"
	"\tfi\n"
	"\tif ((COMP_CWORD == 1)) && [[ $cur != -* ]]; then\n"
	"\t\twords=$_xdd_commands\n"
	"\t\tkind=-f\n"
	"\telif ((COMP_CWORD > 1)) && [[ ${COMP_WORDS[1]} == copy ]]; then\n"
	"\t\t_xddcp_words 2\n"
	"\t\treturn\n"
	"\telif ((COMP_CWORD > 1)) && [[ ${COMP_WORDS[1]} == multi ]]; then\n"
	"\t\t_xdd_starter_words multi 2\n"
	"\t\treturn\n"
	"\telif ((COMP_CWORD > 1)) && [[ \" $_xdd_commands \" == *\" ${COMP_WORDS[1]} \"* ]]; then\n"
	"\t\tkind=-f\n"
	"\t\tif [[ $cur == -* ]]; then\n"
	"\t\t\t_xdd_command \"${COMP_WORDS[1]}\"\n"
	"\t\t\tkind=none\n"
	"\t\tfi\n"
	"\telif [[ $cur == -* ]]; then\n"
	"\t\twords=$_xdd_options\n"
	"\t\tkind=none\n"
	"\telse\n"
	"\t\t_xdd_words \"$option\" $((COMP_CWORD - first)) \"${COMP_WORDS[COMP_CWORD - 1]}\"\n"
	"\tfi\n"
	"\t# Two dashes are as good as one, and columns are a list: +OPS+IOPS.\n"
	"\tif [[ $cur == --* ]]; then\n"
	"\t\tdash=-\n"
	"\t\tcur=${cur#-}\n"
	"\telif [[ $cur == +*+* ]]; then\n"
	"\t\thead=${cur%+*}\n"
	"\t\tcur=+${cur##*+}\n"
	"\tfi\n"
	"\tif [[ $words ]]; then\n"
	"\t\tmapfile -t COMPREPLY < <(compgen -P \"$dash$head\" -W \"$words\" -- \"$cur\")\n"
	"\tfi\n"
	"\tif [[ $kind == -* ]]; then\n"
	"\t\tmapfile -t -O ${#COMPREPLY[@]} COMPREPLY < <(compgen \"$kind\" -- \"$cur\")\n"
	"\telif [[ ! $kind && ! $words ]]; then\n"
	"\t\tmapfile -t COMPREPLY < <(compgen -f -- \"$cur\")\n"
	"\tfi\n"
	"}\n\n"
	"# COMMAND: the options of a command that is a program as well.\n"
	"_xdd_link()\n{\n"
	"\tlocal cur=${COMP_WORDS[COMP_CWORD]} words='' dash=''\n\n"
	"\tCOMPREPLY=()\n"
	"\t[[ $cur == -* ]] || return\n"
	"\t_xdd_command \"$1\"\n"
	"\tif [[ $cur == --* ]]; then\n"
	"\t\tdash=-\n"
	"\t\tcur=${cur#-}\n"
	"\tfi\n"
	"\tmapfile -t COMPREPLY < <(compgen -P \"$dash\" -W \"$words\" -- \"$cur\")\n"
	"}\n\n"
	"_gettime()\n{\n\t_xdd_link gettime\n}\n\n"
	"_timeserver()\n{\n\t_xdd_link timeserver\n}\n\n"
	"complete -o filenames -F _xdd xdd xdd.Linux\n"
	"complete -F _gettime gettime gettime.Linux\n"
	"complete -F _timeserver timeserver timeserver.Linux\n"
	"complete -o filenames -F _xdd_multi xdd-multi\n"
	"complete -o filenames -F _xdd_nightly xdd-nightly\n"
	"complete -o filenames -F _xddcp xddcp\n";

/* The values of xddcp's options. */
static void xddcp_values(const struct option_table *table)
{
	printf("# OPTION: sets the kind of names that its value has.\n"
	       "_xddcp_value()\n{\n\tcase $1 in\n");
	for (const struct option_group *const *g = table->groups; *g; g++) {
		for (const struct option *opt = (*g)->options; opt->name; opt++) {
			const char *kind = kind_of(opt);

			if (!opt->arg)
				continue;
			printf("\t");
			pattern("-", opt);
			printf(") kind=%s value=yes ;;\n", kind ? kind : "none");
		}
	}
	printf("\tesac\n}\n\n");
}

void mkdoc_completion(void)
{
	const struct option_table *copy = command_find("copy")->options;

	printf(LICENCE_LINE
	       "# bash completion for xdd. Generated from the tables of options, columns and commands by\n"
	       "# `make docs`; do not edit.\n"
	       "# shellcheck shell=bash\n\n");
	variables();
	command_cases();
	word_cases();
	printf("_xddcp_options='");
	names("-", copy);
	printf("'\n_xddcp_letters='");
	letters(copy);
	printf("'\n\n");
	xddcp_values(copy);
	fputs(xddcp_function, stdout);
	fputs(starter_functions, stdout);
	fputs(function, stdout);
}
