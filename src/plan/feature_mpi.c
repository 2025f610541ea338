/*
 * Processes that mpirun or srun has started, as the ranks of one run: -mpi.
 */
#include "plan/feature.h"

#include "plan/errors.h"
#include "xdd/base/log.h"

static const struct option rows[] = {
	{ .name = "mpi",
	  .scope = SCOPE_GLOBAL,
	  .type = OPT_FLAG,
	  .value = true,
	  PLAN_FIELD(mpi),
	  .help = "make the processes that mpirun or srun has started one run",
	  .detail =
		  "All ranks begin each pass together, and rank 0 writes one result for all of "
		  "them: as text, and as the document of -jsonout. An error before the first "
		  "operation, -stoponerror, a signal, or a rank that is gone ends the run on all "
		  "ranks; -stonewall ends a pass on all. In each word of the command line, %h stands for the host, %r for the "
		  "rank, %n for the number of ranks and %% for a percent sign. Other outputs have "
		  "the results of one rank, so their names must contain %r. MPI says what -rank "
		  "and -ranks are, and -rankspernode unless it is given. The plugin xdd-mpi.so must have been built with "
		  "the MPI that starts the processes; the variable XDD_PLUGIN_DIR names another "
		  "directory for it.",
	  .example = "mpirun -np 4 xdd -mpi -op write -targets 1 data.%r -mbytes 64" },
	{ 0 },
};

static enum xdd_status check(struct plan *plan)
{
	/* ranks_words() has put -rank and -ranks on the command line. */
	if (plan->mpi && !plan->ranks_given) {
		log_error("-mpi: must be on the command line of a run, and not in a setup file");
		return XDD_BAD_ARGUMENT;
	}
	/* All ranks but one have an empty standard input. */
	if (plan->mpi && plan->attached) {
		log_error("-mpi: cannot be combined with -attached");
		return XDD_BAD_ARGUMENT;
	}
	/* The two sides of a copy agree on passes and ends in their own way. */
	for (size_t i = 0; plan->mpi && i < plan->n_targets; i++) {
		if (plan->targets[i].endtoend.role != E2E_NONE)
			return plan_refuse(&plan->targets[i],
					   "-mpi: cannot be combined with -endtoend");
	}
	return XDD_OK;
}

const struct plan_feature feature_mpi = {
	.group = { "Ranks under MPI", rows },
	.plan = { [PLAN_CHECK] = check },
};
