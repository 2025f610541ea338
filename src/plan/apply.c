/*
 * From settings to the plan: creates the targets, gives every option its default, and applies the
 * settings left to right, so that the last one wins. Called by plan_build() once all words are
 * read.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "plan/errors.h"
#include "plan/parse.h"
#include "plan/target_names.h"
#include "plan/value.h"
#include "xdd/base/log.h"
#include "xdd/base/memory.h"
#include "xdd/base/units.h"

/* "3", "0-3" or "all". */
static enum xdd_status scope_range(const struct parse *p, const struct setting *s, uint64_t *first,
				   uint64_t *last)
{
	const char *text = s->scope.text, *dash = strchr(text, '-');
	char head[32];
	int err;

	*first = 0;
	*last = p->plan->n_targets - 1;
	if (strcmp(text, "all") == 0)
		return XDD_OK;
	if (dash) {
		snprintf(head, sizeof(head), "%.*s", (int)(dash - text), text);
		err = units_parse_u64(head, first) || units_parse_u64(dash + 1, last);
	} else {
		err = units_parse_u64(text, first);
		*last = *first;
	}
	if (!err && *first <= *last && *last < p->plan->n_targets)
		return XDD_OK;
	if (!err && *first > *last)
		return parse_error(XDD_BAD_ARGUMENT, s, &s->scope,
				   "expected the lower number of the range first");
	if (p->plan->n_targets == 1)
		return parse_error(XDD_BAD_ARGUMENT, s, &s->scope,
				   "is not a target: there is one, number 0");
	return parse_error(XDD_BAD_ARGUMENT, s, &s->scope,
			   "is not a target: there are %zu, 0 to %zu", p->plan->n_targets,
			   p->plan->n_targets - 1);
}

static enum xdd_status apply_setting(struct parse *p, struct setting *s)
{
	uint64_t first = 0, last = p->plan->n_targets - 1;
	enum xdd_status status = XDD_OK;

	if (s->opt->scope == SCOPE_GLOBAL)
		return parse_apply(s, p->plan);
	if (s->scope.text)
		status = scope_range(p, s, &first, &last);
	s->first = first;
	s->last = last;
	for (uint64_t i = first; !status && i <= last; i++)
		status = parse_apply(s, &p->plan->targets[i]);
	return status;
}

enum xdd_status parse_defaults(struct arena *arena, const struct option *opt,
			       const struct option *rows, void *dst, enum option_scope scope)
{
	for (const struct option *row = rows; row->name; row++) {
		struct word def = { .text = row->def };
		struct setting s = { .opt = opt ? opt : row,
				     .sub = opt ? row : NULL,
				     .name = { .text = row->name },
				     .args = &def,
				     .n_args = 1,
				     .by_default = true,
				     .arena = arena };
		enum xdd_status status = XDD_OK;

		if (!opt && row->scope != scope)
			continue;
		if (row->subs)
			status = parse_defaults(arena, row, row->subs, dst, scope);
		else if (row->source)
			status = row->source->init(&s, dst);
		else if (row->def)
			status = parse_apply(&s, dst);
		if (status)
			return status;
	}
	return XDD_OK;
}

static enum xdd_status all_defaults(struct parse *p)
{
	enum xdd_status status = XDD_OK;

	for (const struct option_group *const *g = p->table->groups; *g && !status; g++) {
		status = parse_defaults(p->arena, NULL, (*g)->options, p->plan, SCOPE_GLOBAL);
		for (size_t i = 0; i < p->plan->n_targets && !status; i++)
			status = parse_defaults(p->arena, NULL, (*g)->options, &p->plan->targets[i],
						SCOPE_TARGET);
	}
	return status;
}

static enum xdd_status collect_names(struct parse *p, struct target_names *names)
{
	enum xdd_status status = XDD_OK;

	for (size_t i = 0; i < p->n_settings && !status; i++) {
		struct setting *s = &p->settings[i];

		if (s->opt->type != OPT_NAMES)
			continue;
		s->first = names->n;
		status = s->opt->apply(s, names);
		s->last = names->n - 1;
	}
	return status;
}

/*
 * -targetdir of all targets, or NULL: names that stand for several are looked up there. One for
 * some targets only cannot count, as their numbers are not known yet.
 */
static const char *directory_of_all(const struct parse *p)
{
	for (size_t i = p->n_settings; i > 0; i--) {
		const struct setting *s = &p->settings[i - 1];

		if (strcmp(s->opt->name, "targetdir") == 0 &&
		    (!s->scope.text || strcmp(s->scope.text, "all") == 0))
			return s->args[0].text;
	}
	return NULL;
}

static enum xdd_status make_targets(struct parse *p)
{
	struct target_names names = { .dir = directory_of_all(p) };
	enum xdd_status status = collect_names(p, &names);
	struct plan *plan = p->plan;

	if (status)
		return status;
	if (!names.n) {
		log_error("-targets: is missing; say -targets <file or device>, or xdd -help");
		return XDD_BAD_ARGUMENT;
	}
	plan->targets = arena_alloc(p->arena, names.n * sizeof(*plan->targets));
	if (!plan->targets)
		return plan_no_memory();
	plan->n_targets = names.n;
	plan->target_notes = names.notes;
	for (size_t i = 0; i < names.n; i++) {
		plan->targets[i].name = names.names[i].text;
		plan->targets[i].from_directory = names.names[i].directory;
		plan->targets[i].number = (uint32_t)i;
	}
	return XDD_OK;
}

enum xdd_status apply_settings(struct parse *p)
{
	enum xdd_status status = make_targets(p);

	if (!status)
		status = all_defaults(p);
	for (size_t i = 0; i < p->n_settings && !status; i++) {
		if (p->settings[i].opt->type != OPT_NAMES)
			status = apply_setting(p, &p->settings[i]);
	}
	if (!status)
		status = parse_check_operations(p);
	p->plan->settings = p->settings;
	p->plan->n_settings = p->n_settings;
	return status ? status : plan_sort_settings(p->plan);
}
