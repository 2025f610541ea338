/*
 * Files as earlier runs of the same command line will leave them, for the checks before the first
 * of these. Main thread.
 */
#ifndef XDD_PLAN_EARLIER_H
#define XDD_PLAN_EARLIER_H

#include "plan/same_file.h"
#include "xdd/plan/plan.h"

/* A run that comes before, and the files of its targets, sorted. */
struct plan_earlier {
	const struct plan *plan;
	struct file_id *ids;
};

/*
 * Give `t`, which has been probed, the kind and the size that its file will have. Nothing where no
 * earlier run writes to it.
 */
void plan_probe_earlier(const struct plan *plan, struct target_plan *t);

#endif
