/*
 * Several processes as the ranks of one run: -rank, -ranks, -rankspernode.
 */
#include "plan/feature.h"

#include <inttypes.h>
#include <stdint.h>

#include "xdd/base/log.h"

#define MAX_RANKS (1u << 20)

static const struct choice attached_choices[] = {
	{ "input", NULL, ATTACHED_INPUT },
	{ "output", NULL, ATTACHED_OUTPUT },
	{ 0 },
};

static const struct option rows[] = {
	{ .name = "rank",
	  .scope = SCOPE_GLOBAL,
	  .type = OPT_U64,
	  .arg = "<number>",
	  .min = 0,
	  .max = MAX_RANKS - 1,
	  PLAN_FIELD(rank),
	  .sets = offsetof(struct plan, ranks_given),
	  .help = "the number of this process among the ranks of a run, from 0",
	  .detail = "Processes that are started with the same -ranks and with different -rank, on "
		    "one host or on many, are the ranks of one run. They do not communicate.",
	  .example = "xdd -op write -targets 1 data.0 -mbytes 64 -rank 0 -ranks 4" },
	{ .name = "ranks",
	  .scope = SCOPE_GLOBAL,
	  .type = OPT_U64,
	  .arg = "<#ranks>",
	  .min = 1,
	  .max = MAX_RANKS,
	  .def = "1",
	  .unit = "ranks",
	  PLAN_FIELD(n_ranks),
	  .sets = offsetof(struct plan, ranks_given),
	  .help = "how many processes the ranks of a run are" },
	{ .name = "rankspernode",
	  .scope = SCOPE_GLOBAL,
	  .type = OPT_U64,
	  .arg = "<#ranks>",
	  .min = 1,
	  .max = MAX_RANKS,
	  .def = "1",
	  .unit = "ranks",
	  PLAN_FIELD(ranks_per_node),
	  .help = "how many ranks with neighbouring numbers a host has",
	  .detail = "Ranks 0 to <#ranks> - 1 are on the first host, and so on." },
	{ .name = "attached",
	  .scope = SCOPE_GLOBAL,
	  .type = OPT_CHOICE,
	  .arg = "input|output",
	  .choices = attached_choices,
	  PLAN_FIELD(attached),
	  .help = "end the run when the program that started it ends or asks for that",
	  .detail = "For programs that start xdd on other hosts, such as xdd multi through ssh. "
		    "input: the run ends as by SIGINT, with its results, once standard input has "
		    "ended. output: once standard output has no reader any more. Until then a line "
		    "per second on standard error says how far the run is, in a form for programs.",
	  .example = "xdd -op read -targets 1 /dev/sdx -jsonout - -attached input" },
	{ 0 },
};

static enum xdd_status check_rank(struct plan *plan)
{
	if (plan->rank < plan->n_ranks)
		return XDD_OK;
	log_error("-rank %" PRIu64 ": must be less than the number of ranks (-ranks), %" PRIu64,
		  plan->rank, plan->n_ranks);
	return XDD_BAD_ARGUMENT;
}

const struct plan_feature feature_layout = {
	.group = { "Ranks", rows },
	.plan = { [PLAN_BEGIN] = check_rank },
};
