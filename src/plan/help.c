/*
 * Help from the option table: -help, -help <option>, -fullhelp and -version, on standard output.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "config.h"
#include "plan/help.h"
#include "xdd/base/units.h"

#define HELP_WIDTH 79

/*
 * Print `text` in lines of at most HELP_WIDTH columns, each indented; the first continues at column
 * `col` of the line, if that is not past the indentation.
 */
static void print_wrapped_at(const char *text, int indent, int col)
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
	print_wrapped_at(text, indent, 0);
}

static int print_synopsis(const struct option *opt)
{
	return printf("  -%s%s%s%s", opt->name, opt->scope == SCOPE_TARGET ? " [target <n>]" : "",
		      opt->arg ? " " : "", opt->arg ? opt->arg : "");
}

static void print_default(const struct option *row, int indent)
{
	if (row->def)
		printf("%*sDefault: %s%s%s\n", indent, "", row->def, row->unit ? " " : "",
		       row->unit ? row->unit : "");
}

static void print_range(const struct option *row, int indent)
{
	char lo[32], hi[32], text[160];

	if (row->type == OPT_U64)
		snprintf(text, sizeof(text), "Allowed: %" PRIu64 " to %" PRIu64, row->min,
			 row->max);
	else if (row->type == OPT_SIZE)
		snprintf(text, sizeof(text),
			 "Allowed: %s to %s; K, M, G and T stand for powers of 1024",
			 units_size_text(row->min, lo, sizeof(lo)),
			 units_size_text(row->max, hi, sizeof(hi)));
	else if (row->type == OPT_SECONDS)
		snprintf(text, sizeof(text), "Seconds with decimals, or with ms, us, m or h");
	else
		return;
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
	}
}

static void explain(const struct option *opt)
{
	print_synopsis(opt);
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

void help_usage(const struct option_table *table)
{
	printf("usage: xdd <option> ...\n"
	       "Drives files and devices with I/O and reports what they do.\n\n"
	       "  xdd -op read -targets 1 /dev/sdx -reqsize 128 -mbytes 64 -passes 3 -verbose\n\n");
	for (const struct option_group *const *g = table->groups; *g; g++) {
		printf("%s:\n", (*g)->title);
		for (const struct option *opt = (*g)->options; opt->name; opt++) {
			int col = print_synopsis(opt);

			print_wrapped_at(opt->help, 36, col);
		}
		putchar('\n');
	}
	printf("Options begin with one dash or two. 'target <n>' after an option's name, or\n"
	       "'target <a>-<b>', restricts it to those targets; later options override\n"
	       "earlier ones. 'xdd -help <option>' tells more, 'man xdd' all.\n");
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

void help_version(void)
{
	printf("xdd: Version %s\n", PACKAGE_VERSION);
}
