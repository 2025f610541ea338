/*
 * The command line of a run with -mpi; see the header. Called before a plan is built.
 */
#include "xdd/plan/ranks.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "plan/errors.h"
#include "plan/parse.h"
#include "xdd/base/log.h"
#include "xdd/base/memory.h"
#include "xdd/plan/placeholder.h"

#define WHY_SIZE 256
#define WORDS_ADDED 6

/* Two dashes are as good as one. */
static bool has_word(int argc, char **argv, const char *word)
{
	for (int i = 1; i < argc; i++) {
		const char *given = argv[i];

		if (strcmp(given[0] == '-' && given[1] == '-' ? given + 1 : given, word) == 0)
			return true;
	}
	return false;
}

/* True if one of the options is named; words that cannot be read may name any. */
static bool names(struct arena *arena, int argc, char **argv, const char *const *options)
{
	struct plan *plan = arena_alloc(arena, sizeof(*plan));
	struct word *words = arena_alloc(arena, (size_t)argc * sizeof(*words) + 1);
	struct parse p = { .table = &run_options, .plan = plan, .arena = arena };

	if (!plan || !words)
		return true;
	plan->arena = arena;
	for (int i = 1; i < argc; i++)
		words[i - 1] = (struct word){ .text = argv[i], .pos = (unsigned)i };
	if (parse_words(&p, words, (size_t)argc - 1) || p.done)
		return !p.done;
	for (size_t i = 0; i < p.n_settings; i++) {
		for (const char *const *name = options; *name; name++) {
			if (strcmp(p.settings[i].opt->name, *name) == 0)
				return true;
		}
	}
	return false;
}

/* As names(), without a trace: the plan itself reports what is wrong. */
static bool names_option(int argc, char **argv, const char *const *options)
{
	struct arena *arena = arena_new();
	const size_t held = log_hold();
	bool found = !arena || names(arena, argc, argv, options);

	log_drop(held);
	arena_free(arena);
	return found;
}

bool ranks_wanted(int argc, char **argv)
{
	static const char *const mpi[] = { "mpi", NULL };
	/* These only print, and read nothing but their own words. */
	static const char *const prints[] = { "-help", "-fullhelp", "-version" };

	if (!has_word(argc, argv, "-mpi"))
		return false;
	for (size_t i = 0; i < sizeof(prints) / sizeof(prints[0]); i++) {
		if (has_word(argc, argv, prints[i]))
			return false;
	}
	return names_option(argc, argv, mpi);
}

static enum xdd_status refuse_word(const char *word, int err, const char *why)
{
	if (err == -ENOMEM)
		return plan_no_memory();
	log_error("-mpi: %s: %s", word, why);
	return XDD_BAD_ARGUMENT;
}

enum xdd_status ranks_words(struct arena *arena, int argc, char **argv,
			    const struct ranks_place *place, int *n, char ***words)
{
	static const char *const own[] = { "rank", "ranks", NULL };
	static const char *const per_node[] = { "rankspernode", NULL };
	const struct placeholders p = { place->host, place->rank, place->n_ranks };
	const char **to = arena_alloc(arena, ((size_t)argc + WORDS_ADDED + 1) * sizeof(*to));
	char why[WHY_SIZE];

	if (!to)
		return plan_no_memory();
	if ((has_word(argc, argv, "-rank") || has_word(argc, argv, "-ranks")) &&
	    names_option(argc, argv, own)) {
		log_error("-mpi: cannot be given with -rank or -ranks: MPI says what they are");
		return XDD_BAD_ARGUMENT;
	}
	for (int i = 0; i < argc; i++) {
		int err = placeholder_replace(arena, argv[i], &p, &to[i], why, sizeof(why));

		if (err)
			return refuse_word(argv[i], err, why);
	}
	to[argc] = "-rank";
	to[argc + 1] = arena_printf(arena, "%" PRIu32, place->rank);
	to[argc + 2] = "-ranks";
	to[argc + 3] = arena_printf(arena, "%" PRIu32, place->n_ranks);
	if (!to[argc + 1] || !to[argc + 3])
		return plan_no_memory();
	*n = argc + 4;
	/* That of the user counts: the hosts of MPI need not be those that share a cache. */
	if (!has_word(argc, argv, "-rankspernode") || !names_option(argc, argv, per_node)) {
		to[argc + 4] = "-rankspernode";
		to[argc + 5] = arena_printf(arena, "%" PRIu32, place->ranks_per_node);
		if (!to[argc + 5])
			return plan_no_memory();
		*n = argc + WORDS_ADDED;
	}
	/* The words are not changed; argv of main() is not const for reasons of its age. */
	*words = (char **)(uintptr_t)to;
	return XDD_OK;
}
