/*
 * The option table as a whole: its groups, and finding a row by name. Used by the parser, the help and
 * the page generator.
 */
#include "xdd/plan/option.h"

#include <string.h>

#include "plan/parse.h"
#include "xdd/base/suggest.h"
#include "xdd/base/units.h"

const struct option_group option_groups[] = {
	{ "Targets", options_target },
	{ "Files and devices", options_files },
	{ "Amount of work", options_work },
	{ "Access pattern", options_access },
	{ "Data", options_data },
	{ "Engine", options_engine },
	{ "Order of operations", options_order },
	{ "Memory and processors", options_machine },
	{ "Passes, limits and delays", options_timing },
	{ "Coordination between targets", options_coordinate },
	{ "Output", options_output },
	{ "Heartbeat", options_heartbeat },
	{ "Latency", options_latency },
	{ "Time stamps", options_trace },
	{ "Looking closer", options_debug },
	{ "General", options_general },
	{ 0 },
};

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

const struct option *option_find_in(const struct option *subs, const char *word)
{
	for (const struct option *row = subs; row->name; row++) {
		if (strcmp(row->name, word) == 0 || list_has(row->aliases, word))
			return row;
	}
	return NULL;
}

const struct option *option_find(const char *name)
{
	for (const struct option_group *g = option_groups; g->title; g++) {
		const struct option *row = option_find_in(g->options, name);

		if (row)
			return row;
	}
	return option_find_in(options_refused, name);
}

bool option_is_word(const char *text)
{
	if (text[0] != '-' || text[1] == '\0')
		return false;
	return option_find(text + (text[1] == '-' ? 2 : 1)) != NULL;
}

size_t option_arity_number(const struct word *args, size_t avail)
{
	uint64_t n;

	return avail && units_parse_u64(args[0].text, &n) == 0;
}

static void nearest(const struct option *rows, const char *name, const char **best,
		    unsigned *distance)
{
	for (; rows->name; rows++) {
		unsigned d = suggest_distance(name, strlen(name), rows->name);

		/* Someone who stops early, as in -queue, means the longer word. */
		if (strlen(name) >= 3 && strncmp(rows->name, name, strlen(name)) == 0)
			d = 1;
		if (d < *distance) {
			*distance = d;
			*best = rows->name;
		}
	}
}

const char *option_suggest(const char *name)
{
	const char *best = NULL;
	unsigned distance = 99;

	name += strspn(name, "-");
	for (const struct option_group *g = option_groups; g->title; g++)
		nearest(g->options, name, &best, &distance);
	return best && suggest_is_near(distance, strlen(name)) ? best : NULL;
}
