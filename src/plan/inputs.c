/*
 * The files that a plan reads besides its targets, so that no output of the same command replaces
 * them; see the header. Called while a plan is built.
 */
#include "plan/inputs.h"

#include <stdlib.h>
#include <string.h>

#include "plan/errors.h"
#include "plan/same_file.h"
#include "plan/seek_load.h"
#include "xdd/base/memory.h"
#include "xdd/plan/stonewall_record.h"

/* Takes a `path` of NULL as memory that is short. */
static bool add(struct plan *plan, const char *option, const char *path)
{
	struct plan_input *input = arena_alloc(plan->arena, sizeof(*input));

	if (!input || !path)
		return false;
	*input = (struct plan_input){ .option = option, .path = path, .next = plan->inputs };
	plan->inputs = input;
	return true;
}

bool plan_add_setup(struct plan *plan, const char *path)
{
	return add(plan, "-setup", path);
}

/* Lists of targets: the words that begin with @. */
static bool add_lists(struct plan *plan, const struct setting *s)
{
	bool good = true;

	if (s->by_default || s->opt->type != OPT_NAMES)
		return true;
	for (size_t i = 0; i < s->n_args && good; i++) {
		const char *text = s->args[i].text;

		if (*text == '@' && text[1])
			good = add(plan, "a list of -targets",
				   strcmp(text, "@-") ? text + 1 : "/dev/stdin");
	}
	return good;
}

static bool add_of_target(struct plan *plan, const struct target_plan *t)
{
	bool good = true;

	if (t->seek.pattern == SEEK_LOAD)
		good = add(plan, "-seek load", seek_load_name(plan, t));
	if (good && t->pattern.kind == PATTERN_FILE && t->pattern.file)
		good = add(plan, "-datapattern file", t->pattern.file);
	if (good && t->endtoend.key_file)
		good = add(plan, "-endtoend key", t->endtoend.key_file);
	if (good && t->restart.file)
		good = add(plan, "-restart file", t->restart.file);
	return good;
}

static bool add_record(struct plan *plan)
{
	char *name;
	bool good;

	if (!plan->stonewall.load_file)
		return true;
	name = stonewall_record_name(plan->stonewall.load_file, plan->rank);
	good = name && add(plan, "-stonewall load", arena_strdup(plan->arena, name));
	free(name);
	return good;
}

/* Data that is written over a list or a setup file would destroy it. */
static enum xdd_status check_input(const struct plan *plan, const struct file_id *ids,
				   const struct plan_input *input)
{
	const struct file_id id = plan_file_id(plan->arena, input->path);

	for (size_t i = 0; i < plan->n_targets; i++) {
		const struct target_plan *t = ids[i].target;

		if (plan_changes(t) && t->kind == TARGET_FILE && file_id_compare(&id, &ids[i]) == 0)
			return plan_refuse(t, "must not be written: %s reads this file",
					   input->option);
	}
	return XDD_OK;
}

static enum xdd_status check_targets(const struct plan *plan)
{
	enum xdd_status status = XDD_OK;
	struct file_id *ids;

	if (!plan->inputs || !plan->n_targets)
		return XDD_OK;
	ids = plan_file_ids(plan);
	if (!ids)
		return plan_no_memory();
	for (const struct plan_input *input = plan->inputs; input && !status; input = input->next) {
		/* Compared by the check of these files. */
		if (strcmp(input->option, "-restart file"))
			status = check_input(plan, ids, input);
	}
	free(ids);
	return status;
}

enum xdd_status plan_find_inputs(struct plan *plan)
{
	bool good = add_record(plan);

	for (size_t i = 0; i < plan->n_settings && good; i++)
		good = add_lists(plan, &plan->settings[i]);
	for (size_t i = 0; i < plan->n_targets && good; i++)
		good = add_of_target(plan, &plan->targets[i]);
	return good ? check_targets(plan) : plan_no_memory();
}
