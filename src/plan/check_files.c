/*
 * Checks of what is to be done with files besides reading and writing them, and of -force. Called
 * while the plan is resolved.
 */
#include "plan/check_files.h"

#include <string.h>

#include "plan/errors.h"
#include "xdd/base/log.h"
#include "xdd/plan/engine_info.h"
#include "xdd/sys/blockdev.h"

const char *plan_recreating_option(const struct target_plan *t)
{
	if (t->kind == TARGET_NULL)
		return NULL;
	return t->create_new_files ? "createnewfiles" : t->recreate_files ? "recreatefiles" : NULL;
}

static enum xdd_status check_kind(const struct target_plan *t)
{
	const char *anew = plan_recreating_option(t), *option = anew ? anew : "deletefile";

	if (t->kind == TARGET_NULL || (!anew && !t->delete_file))
		return XDD_OK;
	if (t->kind == TARGET_BLOCK || t->kind == TARGET_CHAR)
		return plan_refuse(t, "-%s: this is a device, and only regular files are removed",
				   option);
	if (!anew)
		return XDD_OK;
	if (t->op != OP_WRITE)
		return plan_refuse(
			t, "-%s: a new file holds nothing that could be read; say -op write",
			option);
	if (plan_engine_caps(t) & ENGINE_MAPS)
		return plan_refuse(t, "-%s: the engine %s cannot write to a new file", option,
				   t->engine->name);
	return XDD_OK;
}

static bool is_same_device(const char *name, const struct target_plan *t)
{
	dev_t a, b;

	if (t->kind == TARGET_NULL)
		return false;
	if (strcmp(name, t->path) == 0)
		return true;
	return (t->kind == TARGET_BLOCK || t->kind == TARGET_CHAR) && blockdev_number(name, &a) &&
	       blockdev_number(t->path, &b) && a == b;
}

static enum xdd_status resolve_force(const struct plan *plan, const char *name)
{
	bool found = false;

	for (size_t i = 0; i < plan->n_targets; i++) {
		struct target_plan *t = &plan->targets[i];

		if (is_same_device(name, t))
			found = t->forced = true;
	}
	if (found)
		return XDD_OK;
	log_error("-force %s: none of the targets is this device; name one that is", name);
	return XDD_BAD_ARGUMENT;
}

enum xdd_status plan_check_files(struct plan *plan)
{
	enum xdd_status status = XDD_OK;

	for (size_t i = 0; i < plan->n_targets && !status; i++)
		status = check_kind(&plan->targets[i]);
	for (size_t i = 0; i < plan->n_force && !status; i++)
		status = resolve_force(plan, plan->force[i]);
	return status;
}
