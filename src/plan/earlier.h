/*
 * Files as earlier runs of the same command line will leave them, for the checks before the first
 * of these. Main thread.
 */
#ifndef XDD_PLAN_EARLIER_H
#define XDD_PLAN_EARLIER_H

#include <stdbool.h>
#include <stdint.h>

#include "plan/same_file.h"
#include "xdd/plan/plan.h"
#include "xdd/plan/runs.h"

struct plan_series {
	struct plan_earlier *list; /* of `most`; it does not move, as plans point to it */
	size_t n, most;
};

/* A run that comes before, and the files of its targets, sorted. */
struct plan_earlier {
	struct plan *plan;
	struct file_id *ids;
	plan_list_writer *write_list;
};

/* `plan`, which is about to be built, comes after the runs of `series`; NULL: of none. */
void plan_follow(struct plan *plan, const struct plan_series *series);

/*
 * Give `t`, which has been probed, the kind and the size that its file will have. Nothing where no
 * earlier run writes to it.
 */
void plan_probe_earlier(const struct plan *plan, struct target_plan *t);

/* True if an earlier run saves the list `path`: -seek save. */
bool plan_saves_list(const struct plan *plan, const char *path);

/*
 * The text of that list, or of the record `path` of a stonewall, as an earlier run saves it: the
 * last of several. All operations of a pass count in a record. 0 and `*text`, to be freed, which is
 * NULL if there is no such run; or -errno.
 */
int plan_earlier_list(const struct plan *plan, const char *path, char **text);
int plan_earlier_record(const struct plan *plan, const char *path, char **text);

#endif
