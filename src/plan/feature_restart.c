/*
 * Copies that can be resumed: the suboptions of -restart. Its row is in the group of
 * feature_endtoend.c. The user guide, 5.2.
 */
#include "plan/feature.h"

#include <stdint.h>

#include "plan/endtoend.h"
#include "plan/errors.h"
#include "plan/same_file.h"
#include "xdd/base/log.h"
#include "xdd/base/units.h"
#include "xdd/plan/engine_info.h"

#define R(field) TARGET_FIELD(restart.field)
#define ENABLES .sets = offsetof(struct target_plan, restart.enabled)
#define MIN_FREQUENCY_NS (NS_PER_SEC / 100)
#define MAX_FREQUENCY_NS (24 * 3600 * NS_PER_SEC)

static enum xdd_status apply_offset(const struct setting *s, void *dst)
{
	struct target_plan *t = dst;

	(void)s;
	t->restart.enabled = true;
	return XDD_OK;
}

const struct option restart_rows[] = {
	{ .name = "enable",
	  .type = OPT_SET,
	  .value = true,
	  R(enabled),
	  .help = "keep a restart file on the destination" },
	{ .name = "frequency",
	  .aliases = "freq",
	  .type = OPT_SECONDS,
	  .arg = "<seconds>",
	  .min = MIN_FREQUENCY_NS,
	  .max = MAX_FREQUENCY_NS,
	  .def = "1",
	  R(frequency_ns),
	  ENABLES,
	  .help = "how often the restart file is written" },
	{ .name = "file",
	  .type = OPT_TEXT,
	  .arg = "<name>",
	  R(file),
	  ENABLES,
	  .help = "the restart file; its name is made from hosts, files and time otherwise" },
	{ .name = "trust",
	  .type = OPT_SET,
	  .value = true,
	  R(trust),
	  ENABLES,
	  .help = "keep what is there already without comparing it with the source" },
	{ .name = "offset",
	  .aliases = "byteoffset",
	  .type = OPT_SIZE,
	  .arg = "<bytes>",
	  .min = 0,
	  .max = INT64_MAX,
	  R(offset_bytes),
	  .sets = offsetof(struct target_plan, restart.offset_given),
	  .apply = apply_offset,
	  .help = "leave out so many bytes at the start of the copy; on both sides" },
	{ 0 },
};

/* The option of `t` that changes or removes what was copied already, or NULL. */
static const char *removing_option(const struct target_plan *t)
{
	const char *option = plan_recreating_option(t);

	if (option)
		return option;
	return t->pretruncate ? "pretruncate" : t->delete_file ? "deletefile" : NULL;
}

enum xdd_status restart_check(const struct target_plan *t, uint64_t passes)
{
	const char *option = removing_option(t);

	if (t->endtoend.role == E2E_NONE || !t->restart.enabled)
		return XDD_OK;
	if (passes > 1)
		return plan_refuse(t, "-restart: a copy of several passes cannot be resumed; leave "
				      "-passes out");
	if (t->endtoend.role == E2E_SOURCE)
		return XDD_OK;
	if (t->kind == TARGET_NULL)
		return plan_refuse(t, "-restart: the null device keeps nothing that could be "
				      "resumed");
	if (plan_engine_caps(t) & ENGINE_SCSI)
		return plan_refuse(t,
				   "-restart: cannot flush by -ioengine %s while it writes; use "
				   "another engine",
				   plan_engine(t)->name);
	if (option)
		return plan_refuse(t, "-restart: -%s would remove what was copied; leave it out",
				   option);
	return XDD_OK;
}

static enum xdd_status check(struct plan *plan, struct target_plan *t)
{
	return restart_check(t, plan->passes);
}

static enum xdd_status check_files(struct plan *plan)
{
	return plan_check_restart_files(plan);
}

static void warn(const struct target_plan *t)
{
	const struct restart_options *r = &t->restart;

	/* An offset is for both sides. */
	if (t->endtoend.role != E2E_SOURCE || !r->enabled || r->offset_given)
		return;
	log_warning("target %u, %s: -restart: no restart file is made on the source; the "
		    "destination keeps it",
		    t->number, t->path);
}

const struct plan_feature feature_restart = {
	.target = { [TARGET_CHECK] = check },
	.plan = { [PLAN_CHECK] = check_files },
	.warn_target = warn,
};
