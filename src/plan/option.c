/*
 * Finding rows of an option table by name. Called by the parser, the help and the page generator.
 */
#include "xdd/plan/option.h"

#include <string.h>

#include "plan/value.h"
#include "xdd/base/text.h"
#include "xdd/base/units.h"

/* True when `list`, words separated by blanks, holds `word`. */
static bool list_has(const char *list, const char *word)
{
	size_t len = strlen(word);

	while (list && *list) {
		size_t n = strcspn(list, " ");

		if (n == len && strncmp(list, word, n) == 0)
			return true;
		list += n + strspn(list + n, " ");
	}
	return false;
}

static bool is_called(const struct option *row, const char *word)
{
	return strcmp(row->name, word) == 0 || list_has(row->aliases, word);
}

const struct option *option_find_in(const struct option *rows, const char *word)
{
	for (const struct option *row = rows; row->name; row++) {
		if (is_called(row, word))
			return row;
	}
	return NULL;
}

const struct option *option_sub(const struct option *opt, size_t i)
{
	if (opt->source)
		return opt->source->at(i);
	return opt->subs && opt->subs[i].name ? &opt->subs[i] : NULL;
}

const struct option *option_find_sub(const struct option *opt, const char *word)
{
	const struct option *sub;

	for (size_t i = 0; (sub = option_sub(opt, i)) && !is_called(sub, word); i++)
		;
	return sub;
}

const char *option_sub_help(const struct option *opt, const struct option *sub, char *buf,
			    size_t size)
{
	return opt->source ? opt->source->help(sub, buf, size) : sub->help;
}

const struct option *option_find(const struct option_table *table, const char *name)
{
	for (const struct option_group *const *g = table->groups; *g; g++) {
		const struct option *row = option_find_in((*g)->options, name);

		if (row)
			return row;
	}
	return table->refused ? option_find_in(table->refused, name) : NULL;
}

bool option_is_word(const struct option_table *table, const char *text)
{
	if (text[0] != '-' || text[1] == '\0')
		return false;
	return option_find(table, text + (text[1] == '-' ? 2 : 1)) != NULL;
}

static void nearest(const struct option *rows, const char *name, const char **best,
		    unsigned *distance)
{
	for (; rows->name; rows++) {
		unsigned d = suggest_distance(name, strlen(name), rows->name);

		/* A word that is cut short, as in -queue, means the longer one. */
		if (strlen(name) >= 3 && strncmp(rows->name, name, strlen(name)) == 0)
			d = 1;
		if (d < *distance) {
			*distance = d;
			*best = rows->name;
		}
	}
}

const char *option_suggest(const struct option_table *table, const char *name)
{
	const char *best = NULL;
	unsigned distance = 99;

	name += strspn(name, "-");
	for (const struct option_group *const *g = table->groups; *g; g++)
		nearest((*g)->options, name, &best, &distance);
	return best && suggest_is_near(distance, strlen(name)) ? best : NULL;
}
