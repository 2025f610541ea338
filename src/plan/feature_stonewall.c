/*
 * The suboptions of -stonewall, which is a row of feature_layout.c.
 */
#include "plan/feature.h"

#include "plan/errors.h"
#include "plan/value.h"
#include "xdd/base/log.h"

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

static enum xdd_status check_target(struct plan *plan, struct target_plan *t)
{
	if (!plan->stonewall.on || t->endtoend.role == E2E_NONE)
		return XDD_OK;
	return plan_refuse(t, "-stonewall: cannot be combined with -endtoend, whose copy would "
			      "lack what was not sent");
}

const struct plan_feature feature_stonewall = {
	.plan = { [PLAN_BEGIN] = check_passes },
	.target = { [TARGET_CHECK] = check_target },
};
