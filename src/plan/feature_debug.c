/*
 * Details of a run: -extendedstats, -debug.
 */
#include "plan/feature.h"

#include "plan/errors.h"
#include "xdd/base/log.h"

static const char *kind_at(const void *unused, size_t i)
{
	const struct debug_row *row = debug_row_at(i);

	(void)unused;
	return row ? row->name : NULL;
}

static bool is_kind(const char *text)
{
	return debug_row_find(text) || (*text != '-' && suggest_nearest(text, kind_at, NULL));
}

/* All adjacent kinds, misspelt ones too; the first word is always taken as one. */
static size_t arity_debug(const struct word *args, size_t avail)
{
	size_t n = 0;

	while (n < avail && is_kind(args[n].text))
		n++;
	return n ? n : 1;
}

static enum xdd_status apply_debug(const struct setting *s, void *dst)
{
	struct plan *plan = dst;

	for (size_t i = 0; i < s->n_args; i++) {
		const struct debug_row *row = debug_row_find(s->args[i].text);

		if (!row)
			return parse_error_words(s, &s->args[i], kind_at, NULL);
		plan->debug_kinds |= row->kinds;
	}
	return XDD_OK;
}

static const struct option rows[] = {
	{ .name = "extendedstats",
	  .aliases = "extstats",
	  .scope = SCOPE_GLOBAL,
	  .type = OPT_FLAG,
	  .value = true,
	  PLAN_FIELD(extended_stats),
	  .help = "show the longest and the shortest operation",
	  .detail =
		  "Of each target and of the run: how long it took, its pass and number, whether "
		  "it read "
		  "or wrote, and where. With -verbose of each pass too. Operations that failed do "
		  "not "
		  "count. The columns LONGEST and SHORTEST of -outputformat, and those whose names "
		  "begin with them, have the same in result lines." },
	{ .name = "debug",
	  .scope = SCOPE_GLOBAL,
	  .type = OPT_CUSTOM,
	  .arg = "<kind> [<kind> ...]",
	  .arity = arity_debug,
	  .collects = true,
	  .apply = apply_debug,
	  .help = "write lines that begin with DEBUG_ about what happens in a run",
	  .detail =
		  "To standard error, or to the file of -errout. Each line has the seconds since "
		  "the start of the run. The kinds: e2e (end2end), each message of an end-to-end "
		  "copy when it is sent and when it has arrived; io, each operation when it is issued and when "
		  "it is complete; lockstep (ls), operations that wait for other targets, by "
		  "-lockstep, a trigger or -syncio; open, each opening and closing of a target; "
		  "task, threads, when they start and when they end; throttle (throt), how late "
		  "operations are that -throttle paces; timelimit (tl), limits of time that end a "
		  "pass; tot, whose turn it is in an -ordering; ts, chunks of the table of "
		  "-timestamps that QThreads take; user1, at SIGUSR1, how far each QThread is; all "
		  "(a). The lines take time, and results are not those of the run without them.",
	  .example = "xdd -op read -targets 1 data -numreqs 10 -debug io open" },
	{ 0 },
};

const struct plan_feature feature_debug = {
	.group = { "Looking closer", rows },
};
