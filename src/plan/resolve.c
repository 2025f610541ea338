/*
 * The features of a plan, and the last step of building one: from the options as given and the
 * targets as they are to numbers that the run can work with. Called by plan_build(), and by main
 * for the warnings.
 */
#include <stdlib.h>

#include "plan/feature.h"
#include "plan/writers.h"

const struct plan_feature *const plan_features[] = {
	&feature_target,       &feature_amount,
	&feature_endtoend,     &feature_restart,
	&feature_files,	       &feature_work,
	&feature_seek,	       &feature_layout,
	&feature_stonewall,    &feature_data,
	&feature_engine,       &feature_discard,
	&feature_order,	       &feature_machine,
	&feature_passes,       &feature_throttle,
	&feature_coordination, &feature_mpi,
	&feature_timeserver,   &feature_output,
	&feature_heartbeat,    &feature_latency,
	&feature_trace,	       &feature_debug,
	&feature_general,      NULL,
};

/* Those of the features that have options, in the order of the help. */
static const struct option_group *const run_groups[] = {
	&feature_target.group,	  &feature_files.group,
	&feature_work.group,	  &feature_seek.group,
	&feature_data.group,	  &feature_engine.group,
	&feature_order.group,	  &feature_machine.group,
	&feature_passes.group,	  &feature_coordination.group,
	&feature_layout.group,	  &feature_mpi.group,
	&feature_endtoend.group,  &feature_output.group,
	&feature_heartbeat.group, &feature_latency.group,
	&feature_trace.group,	  &feature_debug.group,
	&feature_general.group,	  NULL,
};

const struct option_table run_options = { run_groups, options_refused };

static enum xdd_status plan_step(struct plan *plan, enum plan_step step)
{
	enum xdd_status status = XDD_OK;

	for (const struct plan_feature *const *f = plan_features; *f && !status; f++) {
		if ((*f)->plan[step])
			status = (*f)->plan[step](plan);
	}
	return status;
}

static enum xdd_status target_step(struct plan *plan, struct target_plan *t, enum target_step step)
{
	enum xdd_status status = XDD_OK;

	for (const struct plan_feature *const *f = plan_features; *f && !status; f++) {
		if ((*f)->target[step])
			status = (*f)->target[step](plan, t);
	}
	return status;
}

static enum xdd_status each_target(struct plan *plan, enum target_step step)
{
	enum xdd_status status = XDD_OK;

	for (size_t i = 0; i < plan->n_targets && !status; i++)
		status = target_step(plan, &plan->targets[i], step);
	return status;
}

/* TARGET_SIZE, for the targets that read what other targets write, or for the others. */
static enum xdd_status size_targets(struct plan *plan, bool readers)
{
	enum xdd_status status = XDD_OK;

	for (size_t i = 0; i < plan->n_targets && !status; i++) {
		struct target_plan *t = &plan->targets[i];

		if ((t->writer != NULL) == readers)
			status = target_step(plan, t, TARGET_SIZE);
	}
	return status;
}

/* The size of what is read depends on the amounts of the targets that write it. */
static enum xdd_status resolve_sizes(struct plan *plan)
{
	struct file_id *ids;
	enum xdd_status status = plan_find_writers(plan, &ids);

	if (!status)
		status = size_targets(plan, false);
	if (!status) {
		plan_find_ends(plan, ids);
		status = size_targets(plan, true);
	}
	free(ids);
	return status;
}

enum xdd_status plan_resolve(struct plan *plan)
{
	enum xdd_status status = plan_step(plan, PLAN_BEGIN);

	if (!status)
		status = each_target(plan, TARGET_LOCATE);
	if (!status)
		status = each_target(plan, TARGET_PROBE);
	if (!status)
		status = resolve_sizes(plan);
	if (!status)
		status = each_target(plan, TARGET_CHECK);
	if (!status)
		status = plan_step(plan, PLAN_CHECK);
	return status;
}

void plan_warn(const struct plan *plan)
{
	plan_warn_repeated(plan);
	for (size_t i = 0; i < plan->n_targets; i++) {
		for (const struct plan_feature *const *f = plan_features; *f; f++) {
			if ((*f)->warn_target)
				(*f)->warn_target(&plan->targets[i]);
		}
	}
	for (const struct plan_feature *const *f = plan_features; *f; f++) {
		if ((*f)->warn)
			(*f)->warn(plan);
	}
}
