/*
 * Help from option tables: the texts of -help, -help <option>, -fullhelp and -version.
 */
#include "xdd/plan/help.h"

#include <stdio.h>
#include <string.h>

#include "config.h"
#include "plan/errors.h"

#define HELP_WIDTH 79

void help_wrapped(const char *text, int indent, int col)
{
	if (col > indent - 2) {
		putchar('\n');
		col = 0;
	} else if (col) {
		printf("%*s", indent - col - 1, "");
		col = indent - 1;
	}

	while (*text) {
		int len = (int)strcspn(text, " ");

		if (col && col + 1 + len > HELP_WIDTH) {
			putchar('\n');
			col = 0;
		}
		if (!col)
			col = printf("%*s%.*s", indent, "", len, text);
		else
			col += printf(" %.*s", len, text);
		text += len;
		text += strspn(text, " ");
	}
	putchar('\n');
}

static void print_wrapped(const char *text, int indent)
{
	help_wrapped(text, indent, 0);
}

#define SHORT_MAX 2 /* letters of a short name */

/* The short names of an option, " (-s)"; returns the columns that they take. */
static int print_short_names(const struct option *opt)
{
	int col = 0;

	for (const char *a = opt->aliases; a && *a;) {
		int len = (int)strcspn(a, " ");

		if (len <= SHORT_MAX)
			col += printf("%s-%.*s", col ? ", " : " (", len, a);
		a += len;
		a += strspn(a, " ");
	}
	return col + (col ? printf(")") : 0);
}

/* `names`: with its short names. */
static int print_synopsis(const struct option *opt, bool names)
{
	int col = printf("  -%s", opt->name);

	if (names)
		col += print_short_names(opt);
	if (opt->scope == SCOPE_TARGET)
		col += printf(" [target <n>]");
	if (opt->arg && col + 1 + strlen(opt->arg) > HELP_WIDTH)
		col = printf("\n       ") - 1;
	return col + (opt->arg ? printf(" %s", opt->arg) : 0);
}

static void print_default(const struct option *row, int indent)
{
	if (row->def)
		printf("%*sDefault: %s%s%s\n", indent, "", row->def, row->unit ? " " : "",
		       row->unit ? row->unit : "");
}

static void print_range(const struct option *row, int indent)
{
	char range[192], text[224];

	if (!option_range(row, range, sizeof(range)))
		return;
	snprintf(text, sizeof(text), "Allowed: %s", range);
	print_wrapped(text, indent);
}

static void print_subs(const struct option *opt)
{
	const struct option *sub;
	char help[256];

	printf("\n      Suboptions:\n");
	for (size_t i = 0; (sub = option_sub(opt, i)); i++) {
		printf("        %s%s%s\n", sub->name, sub->arg ? " " : "",
		       sub->arg ? sub->arg : "");
		print_wrapped(option_sub_help(opt, sub, help, sizeof(help)), 12);
		print_default(sub, 12);
		print_range(sub, 12);
	}
}

static void explain(const struct option *opt)
{
	print_synopsis(opt, false);
	putchar('\n');
	print_wrapped(opt->help, 6);
	if (opt->aliases) {
		const char *a = opt->aliases;

		printf("      Also:");
		while (*a) {
			int len = (int)strcspn(a, " ");

			printf(" -%.*s", len, a);
			a += len;
			a += strspn(a, " ");
		}
		putchar('\n');
	}
	print_default(opt, 6);
	print_range(opt, 6);
	if (opt->detail) {
		putchar('\n');
		print_wrapped(opt->detail, 6);
	}
	if (option_sub(opt, 0))
		print_subs(opt);
	if (opt->example)
		printf("\n      Example:\n        %s\n", opt->example);
}

void help_list(const struct option_table *table)
{
	for (const struct option_group *const *g = table->groups; *g; g++) {
		printf("%s:\n", (*g)->title);
		for (const struct option *opt = (*g)->options; opt->name; opt++) {
			int col = print_synopsis(opt, true);

			help_wrapped(opt->help, 36, col);
		}
		putchar('\n');
	}
}

void help_full(const struct option_table *table)
{
	for (const struct option_group *const *g = table->groups; *g; g++) {
		printf("%s\n\n", (*g)->title);
		for (const struct option *opt = (*g)->options; opt->name; opt++) {
			explain(opt);
			putchar('\n');
		}
	}
}

int help_option(const struct option_table *table, const char *name)
{
	const struct option *opt = option_find(table, name + strspn(name, "-"));

	if (!opt)
		return -1;
	explain(opt);
	return 0;
}

enum xdd_status help_unknown(const struct setting *s, const struct word *w, const char *near)
{
	if (near)
		return parse_error(XDD_BAD_ARGUMENT, s, w, "is not an option; did you mean -%s?",
				   near);
	return parse_error(XDD_BAD_ARGUMENT, s, w, "is not an option; xdd -help lists them");
}

void help_version(void)
{
	printf("xdd: Version %s\n", PACKAGE_VERSION);
}
