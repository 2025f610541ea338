/*
 * The outputs of a plan, for the checks before a run. Private to src/report; main thread.
 */
#ifndef XDD_REPORT_OUTPUTS_H
#define XDD_REPORT_OUTPUTS_H

#include <stdbool.h>
#include <stddef.h>

#include "xdd/base/status.h"
#include "xdd/plan/plan.h"
#include "xdd/report/outfile.h"

struct output_name {
	const char *option; /* without its dash; NULL: a standard stream */
	const char *path;   /* owned by `made` where that is not NULL; NULL: standard output */
	char *made;
	bool replaced;	      /* by a new file */
	bool emptied;	      /* by the run, which has the file afresh */
	struct outfile_id id; /* must differ from those of other outputs */
	struct outfile_id
		file; /* must not be a target: the same, or what the stream is redirected to */
};

struct output_list {
	struct output_name *names;
	size_t n;
};

/* All return XDD_OK, or a status with one line given to log_error(). */

/* Add the outputs of `plan`; to be freed by outputs_free() in any case. */
enum xdd_status outputs_list(struct output_list *list, const struct plan *plan);

/* Add the files that it saves for a later run, which are not results: of -seek and -stonewall. */
enum xdd_status outputs_add_saved(struct output_list *list, const struct plan *plan);

void outputs_free(struct output_list *list);

/* The files of the targets of `plan`, to be freed; NULL, reported: no memory. */
struct outfile_id *outputs_targets(const struct plan *plan);

/* The files of the inputs of `plan`, in their order, to be freed; NULL, reported: no memory. */
struct outfile_id *outputs_inputs(const struct plan *plan);

/*
 * Refuse outputs that are `inputs`, those of `plan`. `saved`: those that an earlier run saves are
 * made to be read.
 */
enum xdd_status outputs_check_inputs(const struct plan *plan, const struct outfile_id *inputs,
				     const struct output_name *outputs, size_t n, bool saved);

/* Refuse outputs that are `targets`, those of `plan`, or files that they make. */
enum xdd_status outputs_check_targets(const struct plan *plan, const struct outfile_id *targets,
				      const struct output_name *outputs, size_t n);

#endif
