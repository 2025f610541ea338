/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Prints the parts of the documentation that come from the tables of options, columns, commands,
 * foreign words, rules and questions, and from the schemas. Filters replace a line "@OPTIONS@",
 * "@COLUMNS@", "@COMMANDS@", "@TABLE ...@", "@VERDICT@", "@FINDINGS@", "@CHECK@", "@QUESTIONS@" or
 * "@SCHEMA ...@": of the manual pages, and of the pages about words of other tools, about results
 * and about questions. The bash completion has no input. Run by `make docs` and by the test that
 * compares the committed pages with the tables.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "config.h"
#include "mkdoc.h"
#include "xdd/base/memory.h"
#include "xdd/commands/command.h"
#include "xdd/commands/question.h"

#include "xdd/plan/foreign.h"
#include "xdd/plan/option.h"
#include "xdd/report/column.h"
#include "xdd/report/rule.h"

void mkdoc_roff(const char *text)
{
	for (const char *c = text; *c; c++) {
		if (*c == '\\')
			fputs("\\e", stdout);
		else if (*c == '-')
			fputs("\\-", stdout);
		else if ((*c == '.' || *c == '\'') && (c == text || c[-1] == '\n'))
			printf("\\&%c", *c);
		else
			putchar(*c);
	}
}

static void bold(const char *before, const char *text)
{
	fputs("\\fB", stdout);
	mkdoc_roff(before);
	mkdoc_roff(text);
	fputs("\\fR", stdout);
}

static void man_limits(const struct option *row)
{
	char range[192];

	if (option_range(row, range, sizeof(range))) {
		printf("Allowed: ");
		mkdoc_roff(range);
		printf(".\n");
	}
	if (row->def)
		printf("Default: %s%s%s.\n", row->def, row->unit ? " " : "",
		       row->unit ? row->unit : "");
}

static void man_sub(const struct option *opt, const struct option *sub)
{
	char help[256];

	printf(".TP\n");
	bold("", sub->name);
	if (sub->arg) {
		putchar(' ');
		mkdoc_roff(sub->arg);
	}
	putchar('\n');
	mkdoc_roff(option_sub_help(opt, sub, help, sizeof(help)));
	printf(".\n");
	man_limits(sub);
}

static void man_aliases(const char *a)
{
	printf("Also");
	while (*a) {
		char name[64];
		int len = (int)strcspn(a, " ");

		snprintf(name, sizeof(name), "%.*s", len, a);
		putchar(' ');
		bold("-", name);
		a += len;
		a += strspn(a, " ");
		if (*a)
			putchar(',');
	}
	printf(".\n");
}

/* Its letters and names, those that users type first, first. */
static void man_names(const struct option *opt, bool letters)
{
	for (const char *a = letters ? opt->aliases : NULL; a && *a; a += strspn(a, " ")) {
		char name[64];
		int len = (int)strcspn(a, " ");

		snprintf(name, sizeof(name), "%.*s", len, a);
		bold("-", name);
		printf(", ");
		a += len;
	}
	bold("-", opt->name);
}

/* `letters`: the letters of an option are its names before others. */
static void man_option(const struct option *opt, bool letters)
{
	const struct option *sub;

	printf(".TP\n");
	man_names(opt, letters);
	if (opt->scope == SCOPE_TARGET)
		printf(" [\\fBtarget\\fR <n>]");
	if (opt->arg) {
		putchar(' ');
		mkdoc_roff(opt->arg);
	}
	putchar('\n');
	mkdoc_roff(opt->help);
	printf(".\n");
	if (opt->aliases && !letters)
		man_aliases(opt->aliases);
	man_limits(opt);
	if (opt->detail) {
		printf(".IP\n");
		mkdoc_roff(opt->detail);
		putchar('\n');
	}
	if (option_sub(opt, 0)) {
		printf(".RS\n");
		for (size_t i = 0; (sub = option_sub(opt, i)); i++)
			man_sub(opt, sub);
		printf(".RE\n");
	}
	if (opt->example) {
		printf(".IP\nExample:\n.IP\n.EX\n");
		mkdoc_roff(opt->example);
		printf("\n.EE\n");
	}
}

static void man_options(const struct option_table *table)
{
	for (const struct option_group *const *g = table->groups; *g; g++) {
		printf(".SS %s\n", (*g)->title);
		for (const struct option *opt = (*g)->options; opt->name; opt++)
			man_option(opt, table != &run_options);
	}
}

/* `padded`: a heading or a unit of a column, with blanks around it. */
static void man_trimmed(const char *before, const char *padded, const char *after)
{
	char text[64];
	size_t len;

	padded += strspn(padded, " ");
	len = strlen(padded);
	while (len && padded[len - 1] == ' ')
		len--;
	if (!len || strstr(padded, COLUMN_NO_UNIT))
		return;
	snprintf(text, sizeof(text), "%.*s", (int)len, padded);
	fputs(before, stdout);
	mkdoc_roff(text);
	fputs(after, stdout);
}

static void man_columns(void)
{
	const struct column *c;

	for (size_t i = 0; (c = column_at(i)); i++) {
		printf(".TP\n");
		bold("+", c->id);
		if (c->aliases)
			printf(" (also %s)", c->aliases);
		putchar('\n');
		mkdoc_roff(c->help);
		printf(".\n");
		man_trimmed("Heading: ", c->heading, ".\n");
		man_trimmed("Unit: ", c->units, ".\n");
	}
}

static void man_commands(void)
{
	const struct command *c;
	char page[COMMAND_PAGE_SIZE];

	for (size_t i = 0; (c = command_at(i)); i++) {
		printf(".TP\n.BR \"xdd %s\" \", see ", c->name);
		mkdoc_roff(command_page(c, page));
		printf("\" (1)\n");
		mkdoc_roff(c->summary);
		printf(".\n");
	}
}

static void man_questions(void)
{
	const struct question *q;

	for (size_t i = 0; (q = question_at(i)); i++) {
		printf(".TP\n");
		bold("xdd -help ", q->word);
		printf("\n%s\n", q->heading);
	}
}

static void man(const struct option_table *table)
{
	char line[4096], schema[32];

	while (fgets(line, sizeof(line), stdin)) {
		if (strcmp(line, "@OPTIONS@\n") == 0)
			man_options(table);
		else if (strcmp(line, "@COLUMNS@\n") == 0)
			man_columns();
		else if (strcmp(line, "@COMMANDS@\n") == 0)
			man_commands();
		else if (strcmp(line, "@QUESTIONS@\n") == 0)
			man_questions();
		else if (sscanf(line, "@SCHEMA %31[a-z]@", schema) == 1)
			mkdoc_schema(schema);
		else
			fputs(line, stdout);
	}
}

/* The options of a manual page, not NULL for one that lists none; NULL: no page of xdd. */
static const struct option_table *options_of(const char *page)
{
	const struct command *c;
	char name[COMMAND_PAGE_SIZE];

	for (size_t i = 0; (c = command_at(i)); i++) {
		if (strcmp(page, command_page(c, name)) == 0)
			return c->options;
	}
	return strncmp(page, "xdd", strlen("xdd")) == 0 ? &run_options : NULL;
}

/* ---- words of other tools ---- */

static const char *sample_of(const struct foreign *row, char *buf, size_t size)
{
	if (row->sample || !row->values)
		return row->sample;
	snprintf(buf, size, "%.*s", (int)strcspn(row->values, " "), row->values);
	return buf;
}

#define VALUES_MAX 5 /* that the page shows of a row */

/* Where a row is for several values, all are shown, and the first is the example. */
static void foreign_typed(const struct foreign_tool *tool, const struct foreign *row,
			  const char *sample)
{
	int shown = 1;

	printf("| `%s%s", row->kind == FOREIGN_COMMAND ? "xdd " : tool->dashes, row->word);
	if (sample && row->kind == FOREIGN_VALUE)
		printf("%s%s", tool->equals ? "=" : " ", sample);
	else if (row->kind == FOREIGN_SWITCH && tool->equals)
		printf("=1");
	putchar('`');
	for (const char *v = row->values ? strchr(row->values, ' ') : NULL; v && *v; shown++) {
		v++;
		if (shown == VALUES_MAX) {
			printf(", ...");
			break;
		}
		printf(", `%.*s`", (int)strcspn(v, " "), v);
		v += strcspn(v, " ");
	}
}

/* Text of a table: "<" would begin a tag. */
static void remark(const char *text)
{
	for (; text && *text; text++)
		printf("%s%c", *text == '<' ? "\\" : "", *text);
}

static void foreign_row(struct arena *arena, const struct foreign_tool *tool,
			const struct foreign *row)
{
	char buf[64];
	const char *sample = sample_of(row, buf, sizeof(buf));
	const char *text = foreign_text(arena, row, row->kind == FOREIGN_VALUE ? sample : NULL);

	foreign_typed(tool, row, sample);
	if (text && *text)
		printf(" | `%s`", text);
	else
		printf(" | %s", row->say     ? "(leave it out)" :
				row->in_jobs ? "(xdd fio)" :
					       "(none)");
	printf(" | ");
	remark(row->note);
	printf(" |\n");
}

/* A filter that replaces "@TABLE <tool>@" on lines of their own. */
static void from_fio(void)
{
	struct arena *arena = arena_new();
	const struct foreign_tool *tool;
	char line[4096], mark[64];

	while (arena && fgets(line, sizeof(line), stdin)) {
		bool replaced = false;

		for (size_t i = 0; (tool = foreign_tool_at(i)); i++) {
			snprintf(mark, sizeof(mark), "@TABLE %s@\n", tool->name);
			if (strcmp(line, mark) != 0)
				continue;
			replaced = true;
			printf("%s\n\n| %s | xdd | remarks |\n| --- | --- | --- |\n", tool->about,
			       tool->name);
			for (const struct foreign *row = tool->rows; row->word; row++)
				foreign_row(arena, tool, row);
		}
		if (!replaced)
			fputs(line, stdout);
	}
	arena_free(arena);
}

/* ---- rules ---- */

/* A sentence without its figures: "..." for conversions of printf() that follow each other. */
static void rule_sentence(const char *says)
{
	bool shown = false;

	while (*says) {
		const bool figure = *says == '%' && says[1] != '%';

		if (figure && !shown)
			fputs("...", stdout);
		else if (!figure)
			putchar(*says);
		shown = figure;
		if (figure)
			says += 2 + strspn(says + 1, "+-.0123456789lz");
		else
			says += *says == '%' ? 2 : 1;
	}
}

static void rule_limit(const struct rule *rule)
{
	if (!rule->from)
		return;
	/* Formats of the table, each for one double. */
	for (const char *c = rule->from; *c; c++) {
		if (strncmp(c, "%g", 2) == 0)
			printf("%g", rule->limit);
		else if (strncmp(c, "%%", 2) == 0)
			putchar('%');
		else
			putchar(*c);
		c += *c == '%';
	}
}

/* A row: when it holds, the limit, what xdd says, and where `advised`, what to do. */
static void rule_row(const struct rule *rule, bool labeled, bool advised)
{
	printf("| %s | ", rule->condition);
	rule_limit(rule);
	printf(" | ");
	if (labeled)
		printf("*%s*: ", rule->label);
	rule_sentence(rule->sentence);
	if (advised) {
		printf(" | %s", rule->advice ? rule->advice : "");
		if (rule->advice_direct)
			printf("; with -dio: %s", rule->advice_direct);
	}
	printf(" |\n");
}

static void rule_rows(int from, int to, bool labeled, bool advised)
{
	printf("| it holds when | limit | xdd says |%s\n| --- | --- | --- |%s\n",
	       advised ? " what to do |" : "", advised ? " --- |" : "");
	for (int i = from; i < to; i++)
		rule_row(&rule_table[i], labeled, advised);
}

/* A filter that replaces "@VERDICT@", "@FINDINGS@" and "@CHECK@" on lines of their own. */
static void reading_results(void)
{
	char line[4096];

	while (fgets(line, sizeof(line), stdin)) {
		if (strcmp(line, "@VERDICT@\n") == 0)
			rule_rows(RULE_FINDINGS, RULE_READS_FAILED, true, false);
		else if (strcmp(line, "@FINDINGS@\n") == 0)
			rule_rows(0, RULE_FINDINGS, true, true);
		else if (strcmp(line, "@CHECK@\n") == 0)
			rule_rows(RULE_READS_FAILED, RULES, false, false);
		else
			fputs(line, stdout);
	}
}

/* ---- questions ---- */

#define DOCUMENT_WIDTH 120

/* A paragraph in lines, without a tag in it. */
static void markdown_wrapped(const char *text, size_t bytes)
{
	const char *end = text + bytes;
	size_t column = 0;

	while (text < end) {
		const size_t word = strcspn(text, " \n");

		if (column && column + 1 + word > DOCUMENT_WIDTH) {
			putchar('\n');
			column = 0;
		}
		column += (size_t)printf("%s%.*s", column ? " " : "", (int)word, text);
		text += word + 1;
	}
	putchar('\n');
}

/* Lines that are printed as they are lose the two blanks that mark them. */
static void question_verbatim(const char *text, size_t bytes)
{
	printf("```\n");
	while (bytes) {
		const size_t line = strcspn(text, "\n"), step = line < bytes ? line + 1 : bytes;

		printf("%.*s\n", (int)(line < bytes ? line - 2 : bytes - 2), text + 2);
		text += step;
		bytes -= step;
	}
	printf("```\n");
}

/* A filter that replaces "@QUESTIONS@" on a line of its own. */
static void questions(void)
{
	const struct question *q;
	char line[4096];

	while (fgets(line, sizeof(line), stdin)) {
		if (strcmp(line, "@QUESTIONS@\n") != 0) {
			fputs(line, stdout);
			continue;
		}
		for (size_t i = 0; (q = question_at(i)); i++) {
			const char *answer = q->answer, *part;
			size_t bytes;
			bool verbatim;

			printf("%s## %s\n", i ? "\n" : "", q->heading);
			while ((bytes = question_part(&answer, &part, &verbatim))) {
				putchar('\n');
				if (verbatim)
					question_verbatim(part, bytes);
				else
					markdown_wrapped(part, bytes);
			}
		}
	}
}

int main(int argc, char **argv)
{
	const struct option_table *table =
		argc == 3 && strcmp(argv[1], "man") == 0 ? options_of(argv[2]) : NULL;

	if (table) {
		man(table);
	} else if (argc == 2 && strcmp(argv[1], "completion") == 0) {
		mkdoc_completion();
	} else if (argc == 2 && strcmp(argv[1], "zsh") == 0) {
		mkdoc_zsh();
	} else if (argc == 2 && strcmp(argv[1], "fish") == 0) {
		mkdoc_fish();
	} else if (argc == 2 && strcmp(argv[1], "from-fio") == 0) {
		from_fio();
	} else if (argc == 2 && strcmp(argv[1], "reading-results") == 0) {
		reading_results();
	} else if (argc == 2 && strcmp(argv[1], "questions") == 0) {
		questions();
	} else {
		fprintf(stderr, "usage: mkdoc man PAGE < PAGE.1.in | "
				"mkdoc from-fio < from-fio.md.in | "
				"mkdoc reading-results < reading-results.md.in | "
				"mkdoc questions < questions.md.in | mkdoc completion | "
				"mkdoc zsh | mkdoc fish\n");
		return 2;
	}
	return fflush(stdout) == 0 ? 0 : 1;
}
