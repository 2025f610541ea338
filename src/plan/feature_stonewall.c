/*
 * The suboptions of -stonewall, which is a row of feature_layout.c.
 */
#include "plan/feature.h"

#include <stdlib.h>
#include <string.h>

#include "plan/errors.h"
#include "plan/stonewall.h"
#include "plan/value.h"
#include "xdd/base/log.h"
#include "xdd/base/output.h"
#include "xdd/plan/stonewall_record.h"

#define ON .sets = offsetof(struct plan, stonewall.on)

const struct option stonewall_rows[] = {
	{ .name = "first",
	  .type = OPT_SET,
	  .value = true,
	  PLAN_FIELD(stonewall.on),
	  .help = "when the first target has ended the pass (the default)" },
	{ .name = "seconds",
	  .type = OPT_SECONDS,
	  .arg = "<seconds>",
	  .min = 1,
	  .max = PLAN_CENTURY_NS,
	  .bare = true,
	  PLAN_FIELD(stonewall.after_ns),
	  ON,
	  .help = "after this time too, from the start of the pass; the word seconds may be left "
		  "out" },
	{ .name = "wearout",
	  .type = OPT_SET,
	  .value = true,
	  PLAN_FIELD(stonewall.wear_out),
	  ON,
	  .help = "no target stops there: each goes on to the greatest number of operations that "
		  "one had issued by then, or to its own amount" },
	{ .name = "save",
	  .type = OPT_TEXT,
	  .arg = "<file>",
	  PLAN_FIELD(stonewall.save_file),
	  ON,
	  .help = "write how many operations each target has written to <file>.R<rank>.txt" },
	{ .name = "load",
	  .type = OPT_TEXT,
	  .arg = "<file>",
	  PLAN_FIELD(stonewall.load_file),
	  .help = "read no more than was written when such a file was saved" },
	{ 0 },
};

static enum xdd_status check_passes(struct plan *plan)
{
	if (!plan->stonewall.on || !plan->no_barrier)
		return XDD_OK;
	log_error("-stonewall: with -nobarrier the targets have no passes together that could end "
		  "together; leave one of them out");
	return XDD_BAD_ARGUMENT;
}

/* The number of operations must say which offsets were written. */
static enum xdd_status check_saved(const struct plan *plan, const struct target_plan *t)
{
	const char *option = t->create_new_files  ? "createnewfiles" :
			     t->recreate_files	  ? "recreatefiles" :
			     t->pass_offset_bytes ? "passoffset" :
						    NULL;

	if (t->seek.pattern != SEEK_SEQUENTIAL && t->seek.pattern != SEEK_RANDOM &&
	    t->seek.pattern != SEEK_ONCE)
		return plan_refuse(
			t,
			"-stonewall %s: must be with sequential or random requests; -seek "
			"is %s",
			plan->stonewall.save_file ? "save" : "load",
			plan_seek_name(t->seek.pattern));
	if (!plan->stonewall.save_file || !option)
		return XDD_OK;
	return plan_refuse(t, "-stonewall save: cannot be combined with -%s", option);
}

static enum xdd_status check_target(struct plan *plan, struct target_plan *t)
{
	bool records = (plan->stonewall.save_file && t->op == OP_WRITE) ||
		       (plan->stonewall.load_file && t->op == OP_READ);

	if (plan->stonewall.on && t->endtoend.role != E2E_NONE)
		return plan_refuse(t, "-stonewall: cannot be combined with -endtoend, whose copy "
				      "would lack what was not sent");
	return records ? check_saved(plan, t) : XDD_OK;
}

static enum xdd_status limit(struct plan *plan, struct target_plan *t)
{
	return plan->stonewall.load_file && t->op == OP_READ ? stonewall_limit(plan, t) : XDD_OK;
}

/* The record is created beside its name, and then renamed. */
static enum xdd_status check_file(const struct plan *plan)
{
	char *name = stonewall_record_name(plan->stonewall.save_file, plan->rank);
	char why[OUTPUT_WHY_SIZE];
	enum xdd_status status = XDD_OK;

	if (!name)
		return plan_no_memory();
	for (size_t i = 0; i < plan->n_targets && !status; i++)
		if (strcmp(name, plan->targets[i].path) == 0)
			status = plan_refuse(&plan->targets[i],
					     "-stonewall save %s would replace this target",
					     plan->stonewall.save_file);
	if (!status && output_check_new(name, why)) {
		log_error("-stonewall save %s: %s: %s", plan->stonewall.save_file, name, why);
		status = XDD_BAD_ARGUMENT;
	}
	free(name);
	return status;
}

static enum xdd_status check_files(struct plan *plan)
{
	bool writes = false, reads = false;

	for (size_t i = 0; i < plan->n_targets; i++) {
		writes |= plan->targets[i].op == OP_WRITE;
		reads |= plan->targets[i].op == OP_READ;
	}
	if ((plan->stonewall.save_file && !writes) || (plan->stonewall.load_file && !reads)) {
		log_error("-stonewall %s: needs a target that is only %s",
			  plan->stonewall.save_file && !writes ? "save" : "load",
			  plan->stonewall.save_file && !writes ? "written to" : "read");
		return XDD_BAD_ARGUMENT;
	}
	return plan->stonewall.save_file ? check_file(plan) : XDD_OK;
}

const struct plan_feature feature_stonewall = {
	.plan = { [PLAN_BEGIN] = check_passes, [PLAN_CHECK] = check_files },
	.target = { [TARGET_SIZE] = limit, [TARGET_CHECK] = check_target },
};
