/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * xdd -help: the options, the commands, information about words, and the search. Called by
 * run_main().
 */
#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "commands/commands.h"
#include "xdd/base/memory.h"
#include "xdd/base/text.h"
#include "xdd/commands/command.h"
#include "xdd/commands/question.h"
#include "xdd/plan/foreign.h"
#include "xdd/plan/option.h"
#include "xdd/report/column.h"

/*
 * The search: names first, then parts of names, then texts.
 */

#define INDENT 36
#define MOST_LINES 30
#define SHORTEST_PART 3 /* letters of a word that is searched for inside of others */

enum rank {
	RANK_NAME, /* the word is a name */
	RANK_PART, /* of a name */
	RANK_TEXT, /* of a text */
	RANK_NONE,
};

struct search {
	const char *word;
	struct arena *arena;
	enum rank rank; /* of the lines to print now */
	size_t found;
};

/* True if a word of the text begins with `word`. */
static bool text_has(const char *text, const char *word)
{
	for (const char *c = text; c && (c = strcasestr(c, word)); c++) {
		if (c == text || !isalnum((unsigned char)c[-1]))
			return true;
	}
	return false;
}

static enum rank rank_of(const struct search *s, const char *name, const char *more,
			 const char *text, const char *detail)
{
	if (strcasecmp(name, s->word) == 0 || list_has(more, s->word, strlen(s->word), strncasecmp))
		return RANK_NAME;
	if (strlen(s->word) < SHORTEST_PART)
		return RANK_NONE;
	if (strcasestr(name, s->word) || (more && strcasestr(more, s->word)))
		return RANK_PART;
	return text_has(text, s->word) || text_has(detail, s->word) ? RANK_TEXT : RANK_NONE;
}

/* True if a line of this rank is to be printed now. */
static bool begins_line(struct search *s, enum rank rank)
{
	return rank == s->rank && s->found++ < MOST_LINES;
}

static void line_of(const char *title, const char *text)
{
	help_wrapped(text, INDENT, printf("  %s", title));
}

static void search_option(struct search *s, const struct option *opt)
{
	const struct option *sub;
	char help[256];

	if (begins_line(s, rank_of(s, opt->name, opt->aliases, opt->help, opt->detail)))
		line_of(xarena_printf(s->arena, "-%s%s%s", opt->name, opt->arg ? " " : "",
				      opt->arg ? opt->arg : ""),
			opt->help);
	for (size_t i = 0; (sub = option_sub(opt, i)); i++) {
		const char *text = option_sub_help(opt, sub, help, sizeof(help));

		if (begins_line(s, rank_of(s, sub->name, sub->aliases, text, NULL)))
			line_of(xarena_printf(s->arena, "-%s %s%s%s", opt->name, sub->name,
					      sub->arg ? " " : "", sub->arg ? sub->arg : ""),
				text);
	}
}

static void search_commands(struct search *s)
{
	const struct command *c;

	for (size_t i = 0; (c = command_at(i)); i++) {
		if (begins_line(s, rank_of(s, c->name, NULL, c->summary, c->usage)))
			line_of(xarena_printf(s->arena, "xdd %s", c->name), c->summary);
	}
}

static void search_questions(struct search *s)
{
	const struct question *q;

	for (size_t i = 0; (q = question_at(i)); i++) {
		if (begins_line(s, rank_of(s, q->word, q->also, q->heading, q->answer)))
			line_of(xarena_printf(s->arena, "xdd -help %s", q->word), q->heading);
	}
}

static void search_columns(struct search *s)
{
	const struct column *c;

	for (size_t i = 0; (c = column_at(i)); i++) {
		if (begins_line(s, rank_of(s, c->id, c->aliases, c->help, NULL)))
			line_of(xarena_printf(s->arena, "+%s", c->id), c->help);
	}
}

static void search_tool(struct search *s, const struct foreign_tool *tool)
{
	if (begins_line(s, rank_of(s, tool->name, NULL, NULL, NULL)))
		line_of(xarena_printf(s->arena, "%s", tool->name),
			"its words are answered with words of xdd, and a line to try");
	for (const struct foreign *row = tool->rows; row->word; row++) {
		const char *text,
			*value = list_has(row->values, s->word, strlen(s->word), strncasecmp) ?
					 s->word :
					 NULL;
		enum rank rank = rank_of(s, row->word, row->values, NULL, NULL);

		/* A word without an answer is no find, unless it is the word itself. */
		if ((rank != RANK_NAME && !(row->say && *row->say) && !row->shown) ||
		    !begins_line(s, rank))
			continue;
		text = foreign_text(s->arena, row, value);
		if (!*text)
			text = row->say	    ? "no words are necessary" :
			       row->in_jobs ? "xdd fio translates it" :
					      "xdd has nothing like it";
		if (row->note)
			text = xarena_printf(s->arena, "%s; %s", text, row->note);
		line_of(xarena_printf(s->arena, "%s%s%s%s (%s)",
				      row->kind == FOREIGN_COMMAND ? "xdd " : tool->dashes,
				      row->word, value ? tool->equals ? "=" : " " : "",
				      value ? value : "", tool->name),
			text);
	}
}

static void search_rank(struct search *s)
{
	const struct foreign_tool *tool;

	for (const struct option_group *const *g = run_options.groups; *g; g++) {
		for (const struct option *opt = (*g)->options; opt->name; opt++)
			search_option(s, opt);
	}
	search_commands(s);
	search_questions(s);
	search_columns(s);
	for (size_t i = 0; (tool = foreign_tool_at(i)); i++)
		search_tool(s, tool);
}

/*
 * Print one line each for the options, suboptions, commands, questions, columns and words of other
 * tools that have to do with `word`, best first. False: there are none, and nothing was printed.
 */
static bool help_search(const char *word)
{
	struct search s = { .word = word };

	if (!*word)
		return false;
	s.arena = xarena_new();
	for (s.rank = RANK_NAME; s.rank < RANK_NONE; s.rank++)
		search_rank(&s);
	if (s.found > MOST_LINES)
		printf("  and %zu more; a longer word finds fewer\n", s.found - MOST_LINES);
	if (s.found)
		printf("xdd -help <option> tells more.\n");
	arena_free(s.arena);
	return s.found > 0;
}

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
	printf("Options begin with one dash or two; dashes inside a name do not count, as in\n"
	       "--queue-depth. 'target <n>' after an option's name, or 'target <a>-<b>',\n"
	       "restricts it to those targets; later options override earlier ones.\n"
	       "'xdd -help <word>' explains an option, a command or a column, and searches for\n"
	       "other words, also of fio and dd; 'xdd -help columns' lists the columns,\n"
	       "'xdd -help questions' lists answers that no option has.\n"
	       "'man xdd' has all about a run, 'man xdd-sweep' and the like about a command,\n"
	       "and 'man xdd-columns' about the columns.\n");
}

/*
 * Questions and their answers.
 */

#define QUESTION_INDENT 24
#define PARAGRAPH_INDENT 2

static void print_verbatim(const char *text)
{
	while (*text) {
		const size_t bytes = strcspn(text, "\n");

		printf("%*s%.*s\n", PARAGRAPH_INDENT, "", (int)bytes, text);
		text += bytes + (text[bytes] == '\n');
	}
}

static void print_question(struct arena *arena, const struct question *q)
{
	const char *answer = q->answer, *part;
	size_t bytes;
	bool verbatim;

	printf("%s\n", q->heading);
	while ((bytes = question_part(&answer, &part, &verbatim))) {
		const char *text = xarena_printf(arena, "%.*s", (int)bytes, part);

		putchar('\n');
		if (verbatim)
			print_verbatim(text);
		else
			help_wrapped(text, PARAGRAPH_INDENT, 0);
	}
}

static void print_questions(void)
{
	const struct question *q;

	printf("Questions that no option answers:\n\n");
	for (size_t i = 0; (q = question_at(i)); i++)
		help_wrapped(q->heading, QUESTION_INDENT, printf("  -help %s", q->word));
	printf("\nAll of them: questions.md, among the documents of xdd\n");
}

/* Answer a question of several words, quoted or not. False: there is none. */
static bool help_question(const struct setting *s)
{
	struct arena *arena = xarena_new();
	const char *words = s->args[0].text + strspn(s->args[0].text, "-");
	const struct question *q;

	for (size_t i = 1; i < s->n_args; i++)
		words = xarena_printf(arena, "%s %s", words, s->args[i].text);
	q = question_find(words);
	if (q)
		print_question(arena, q);
	arena_free(arena);
	return q;
}

#define COLUMNS_INDENT 24

static void print_column(const struct column *c)
{
	int col = printf("  +%s", c->id);
	const char *unit = c->units + strspn(c->units, " ");

	help_wrapped(c->help, COLUMNS_INDENT, col);
	if (*unit && !strstr(unit, COLUMN_NO_UNIT))
		printf("%*sin %.*s\n", COLUMNS_INDENT, "", (int)strcspn(unit, " "), unit);
}

static void print_columns(void)
{
	const struct column *c;

	printf("Columns of the result lines, for -outputformat:\n\n");
	for (size_t i = 0; (c = column_at(i)); i++)
		print_column(c);
	printf("\nManual page: xdd-columns(7)\n");
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

static enum xdd_status help_explain(const struct setting *s, const struct word *w)
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
	else if (strcmp(word, "questions") == 0)
		print_questions();
	else if (column)
		print_column(column);
	else if (!help_search(word))
		return option_unknown(XDD_BAD_ARGUMENT, s, w, option_suggest(&run_options, word));
	return XDD_OK;
}

enum xdd_status help_print(const struct setting *s)
{
	enum xdd_status status = XDD_OK;

	if (!s->n_args)
		print_usage();
	else if (help_question(s))
		return XDD_OK;
	for (size_t i = 0; i < s->n_args; i++) {
		enum xdd_status one = help_explain(s, &s->args[i]);

		status = one ? one : status;
	}
	return status;
}
