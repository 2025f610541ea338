/*
 * Checks that no output replaces, or is added to, a file that the same command reads. Called by the
 * checks of outputs, and by commands with outputs of their own.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "report/outputs.h"
#include "xdd/base/log.h"
#include "xdd/report/report.h"

struct outfile_id *outputs_inputs(const struct plan *plan)
{
	const struct plan_input *input;
	struct outfile_id *ids;
	size_t n = 0;

	for (input = plan->inputs; input; input = input->next)
		n++;
	ids = calloc(n + 1, sizeof(*ids));
	if (!ids) {
		log_error("%s", strerror(ENOMEM));
		return NULL;
	}
	n = 0;
	for (input = plan->inputs; input; input = input->next)
		outfile_identify(&ids[n++], input->path);
	return ids;
}

/* A list, or the record of a stonewall: a later run may read what an earlier one saves. */
static bool is_saved(const struct output_name *o)
{
	return o->option &&
	       (strcmp(o->option, "seek save") == 0 || strcmp(o->option, "stonewall save") == 0);
}

static void refuse(const struct output_name *o, const char *reader)
{
	static const char why[] = "reads this file; give the output a file of its own";

	if (o->option)
		log_error("-%s %s: %s %s", o->option, o->path, reader, why);
	else
		log_error("standard %s: %s %s", o->path ? "error" : "output", reader, why);
}

enum xdd_status outputs_check_inputs(const struct plan *plan, const struct outfile_id *inputs,
				     const struct output_name *outputs, size_t n, bool saved)
{
	size_t k = 0;

	for (const struct plan_input *input = plan->inputs; input; input = input->next, k++) {
		for (size_t i = 0; i < n; i++) {
			const struct output_name *o = &outputs[i];

			if (!outfile_is_same(&o->file, &inputs[k]) || (saved && is_saved(o)))
				continue;
			refuse(o, input->option);
			return XDD_BAD_ARGUMENT;
		}
	}
	return XDD_OK;
}

enum xdd_status report_check_file(const struct plan *plan, const char *option, const char *path)
{
	struct output_name o = { .option = option, .path = path };
	struct outfile_id *inputs;
	enum xdd_status status;

	outfile_identify(&o.file, path);
	if (!o.file.known)
		return XDD_OK;
	inputs = outputs_inputs(plan);
	status = inputs ? outputs_check_inputs(plan, inputs, &o, 1, false) : XDD_INIT_FAILED;
	free(inputs);
	return status;
}
