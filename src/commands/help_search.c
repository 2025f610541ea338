/*
 * The search of xdd -help: names first, then parts of names, then texts. Called by help_print().
 */
#include "commands/help_search.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "xdd/base/memory.h"
#include "xdd/commands/command.h"
#include "xdd/plan/foreign.h"
#include "xdd/plan/help.h"
#include "xdd/plan/option.h"
#include "xdd/report/column.h"

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

/* True if `word` is in the list, whose words have blanks or commas between them. */
static bool list_has(const char *list, const char *word)
{
	size_t len = strlen(word);

	while (list && *list) {
		size_t n = strcspn(list, " ,");

		if (n == len && strncasecmp(list, word, n) == 0)
			return true;
		list += n + strspn(list + n, " ,");
	}
	return false;
}

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
	if (strcasecmp(name, s->word) == 0 || list_has(more, s->word))
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
		line_of(arena_printf(s->arena, "-%s%s%s", opt->name, opt->arg ? " " : "",
				     opt->arg ? opt->arg : ""),
			opt->help);
	for (size_t i = 0; (sub = option_sub(opt, i)); i++) {
		const char *text = option_sub_help(opt, sub, help, sizeof(help));

		if (begins_line(s, rank_of(s, sub->name, sub->aliases, text, NULL)))
			line_of(arena_printf(s->arena, "-%s %s%s%s", opt->name, sub->name,
					     sub->arg ? " " : "", sub->arg ? sub->arg : ""),
				text);
	}
}

static void search_commands(struct search *s)
{
	const struct command *c;

	for (size_t i = 0; (c = command_at(i)); i++) {
		if (begins_line(s, rank_of(s, c->name, NULL, c->summary, c->usage)))
			line_of(arena_printf(s->arena, "xdd %s", c->name), c->summary);
	}
}

static void search_columns(struct search *s)
{
	const struct column *c;

	for (size_t i = 0; (c = column_at(i)); i++) {
		if (begins_line(s, rank_of(s, c->id, c->aliases, c->help, NULL)))
			line_of(arena_printf(s->arena, "+%s", c->id), c->help);
	}
}

static void search_tool(struct search *s, const struct foreign_tool *tool)
{
	for (const struct foreign *row = tool->rows; row->word; row++) {
		const char *text, *value = list_has(row->values, s->word) ? s->word : NULL;
		enum rank rank = rank_of(s, row->word, row->values, NULL, NULL);

		/* A word without an answer is no find, unless it is the word itself. */
		if ((rank != RANK_NAME && !(row->say && *row->say)) || !begins_line(s, rank))
			continue;
		text = foreign_text(s->arena, row, value);
		if (!text || !*text)
			text = row->say	    ? "no words are necessary" :
			       row->in_jobs ? "xdd fio translates it" :
					      "xdd has nothing like it";
		if (row->note)
			text = arena_printf(s->arena, "%s; %s", text, row->note);
		line_of(arena_printf(s->arena, "%s%s%s%s (%s)", tool->dashes, row->word,
				     value ? tool->equals ? "=" : " " : "", value ? value : "",
				     tool->name),
			text ? text : "");
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
	search_columns(s);
	for (size_t i = 0; (tool = foreign_tool_at(i)); i++)
		search_tool(s, tool);
}

bool help_search(const char *word)
{
	struct search s = { .word = word, .arena = *word ? arena_new() : NULL };

	if (!s.arena)
		return false;
	for (s.rank = RANK_NAME; s.rank < RANK_NONE; s.rank++)
		search_rank(&s);
	if (s.found > MOST_LINES)
		printf("  and %zu more; a longer word finds fewer\n", s.found - MOST_LINES);
	if (s.found)
		printf("xdd -help <option> tells more.\n");
	arena_free(s.arena);
	return s.found > 0;
}
