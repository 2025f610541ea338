/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Building a plan from the command line, start to end. Called by main.
 */
#include "xdd/plan/plan.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plan/feature.h"
#include "plan/files.h"
#include "plan/parse.h"
#include "xdd/base/log.h"
#include "xdd/base/memory.h"
#include "xdd/base/text.h"
#include "xdd/base/units.h"
#include "xdd/plan/foreign.h"

/*
 * From settings to the plan: creates the targets, gives every option its default, and applies the
 * settings left to right, so that the last one wins. Once all words are read.
 */

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
	return parse_no_target(p->plan, s, &s->scope);
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

/* Of one option, or of row `sub` of it. */
static enum xdd_status parse_default(struct arena *arena, const struct option *opt,
				     const struct option *sub, void *dst)
{
	const struct option *row = sub ? sub : opt;
	struct word def = { .text = row->def };
	struct setting s = { .opt = opt,
			     .sub = sub,
			     .name = { .text = row->name },
			     .args = &def,
			     .n_args = 1,
			     .by_default = true,
			     .arena = arena };

	return row->source ? row->source->init(&s, dst) : parse_apply(&s, dst);
}

enum xdd_status parse_defaults(struct arena *arena, const struct option *opt,
			       const struct option *rows, void *dst, enum option_scope scope)
{
	enum xdd_status status = XDD_OK;

	for (const struct option *row = rows; row->name && !status; row++) {
		if (!opt && row->scope != scope)
			continue;
		if (row->subs)
			status = parse_defaults(arena, row, row->subs, dst, scope);
		else if (row->source || row->def)
			status = parse_default(arena, opt ? opt : row, opt ? row : NULL, dst);
	}
	return status;
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
	if (!names.n)
		return log_refuse(
			"-targets: is missing; say -targets <file or device>, or xdd -help");
	plan->targets = xarena_alloc(p->arena, names.n * sizeof(*plan->targets));
	plan->n_targets = names.n;
	plan->target_notes = names.notes;
	for (size_t i = 0; i < names.n; i++) {
		plan->targets[i].name = names.names[i].text;
		plan->targets[i].from_directory = names.names[i].directory;
		plan->targets[i].number = (uint32_t)i;
	}
	return XDD_OK;
}

/* Create the targets, give every option its default, and apply the settings from left to right. */
static enum xdd_status apply_settings(struct parse *p)
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
	if (!status)
		plan_sort_settings(p->plan);
	return status;
}

/*
 * The features of a plan, and the last step of building one: from the options as given and the
 * targets as they are to numbers that the run can work with. Also called by main, for the
 * warnings.
 */

/* In the order of the steps; ends with NULL. */
static const struct plan_feature *const plan_features[] = {
	&feature_target,       &feature_amount,
	&feature_endtoend,     &feature_restart,
	&feature_files,	       &feature_work,
	&feature_seek,	       &feature_layout,
	&feature_stonewall,    &feature_data,
	&feature_engine,       &feature_discard,
	&feature_order,	       &feature_machine,
	&feature_passes,       &feature_throttle,
	&feature_coordination, &feature_mpi,
	&feature_timeserver,   &feature_output,
	&feature_heartbeat,    &feature_latency,
	&feature_trace,	       &feature_debug,
	&feature_general,      NULL,
};

/* Features that have options, in the order of the help. */
static const struct option_group *const run_groups[] = {
	&feature_target.group,	  &feature_files.group,
	&feature_work.group,	  &feature_seek.group,
	&feature_data.group,	  &feature_engine.group,
	&feature_order.group,	  &feature_machine.group,
	&feature_passes.group,	  &feature_coordination.group,
	&feature_layout.group,	  &feature_mpi.group,
	&feature_endtoend.group,  &feature_output.group,
	&feature_heartbeat.group, &feature_latency.group,
	&feature_trace.group,	  &feature_debug.group,
	&feature_general.group,	  NULL,
};

const struct option_table run_options = { run_groups, options_refused };

static enum xdd_status plan_step(struct plan *plan, enum plan_step step)
{
	enum xdd_status status = XDD_OK;

	for (const struct plan_feature *const *f = plan_features; *f && !status; f++) {
		if ((*f)->plan[step])
			status = (*f)->plan[step](plan);
	}
	return status;
}

static enum xdd_status target_step(struct plan *plan, struct target_plan *t, enum target_step step)
{
	enum xdd_status status = XDD_OK;

	for (const struct plan_feature *const *f = plan_features; *f && !status; f++) {
		if ((*f)->target[step])
			status = (*f)->target[step](plan, t);
	}
	return status;
}

static enum xdd_status each_target(struct plan *plan, enum target_step step)
{
	enum xdd_status status = XDD_OK;

	for (size_t i = 0; i < plan->n_targets && !status; i++)
		status = target_step(plan, &plan->targets[i], step);
	return status;
}

/* TARGET_SIZE, for the targets that read what other targets write, or for the others. */
static enum xdd_status size_targets(struct plan *plan, bool readers)
{
	enum xdd_status status = XDD_OK;

	for (size_t i = 0; i < plan->n_targets && !status; i++) {
		struct target_plan *t = &plan->targets[i];

		if ((t->writer != NULL) == readers)
			status = target_step(plan, t, TARGET_SIZE);
	}
	return status;
}

/* The size of what is read depends on the amounts of the targets that write it. */
static enum xdd_status resolve_sizes(struct plan *plan)
{
	struct file_id *ids;
	enum xdd_status status = plan_find_writers(plan, &ids);

	if (!status)
		status = size_targets(plan, false);
	if (!status) {
		plan_find_ends(plan, ids);
		status = size_targets(plan, true);
	}
	free(ids);
	return status;
}

enum xdd_status plan_resolve(struct plan *plan)
{
	enum xdd_status status = plan_step(plan, PLAN_BEGIN);

	if (!status)
		status = each_target(plan, TARGET_LOCATE);
	if (!status)
		status = each_target(plan, TARGET_PROBE);
	if (!status)
		status = resolve_sizes(plan);
	if (!status)
		status = each_target(plan, TARGET_CHECK);
	if (!status)
		status = plan_step(plan, PLAN_CHECK);
	return status;
}

void plan_warn(const struct plan *plan)
{
	plan_warn_repeated(plan);
	for (size_t i = 0; i < plan->n_targets; i++) {
		for (const struct plan_feature *const *f = plan_features; *f; f++) {
			if ((*f)->warn_target)
				(*f)->warn_target(&plan->targets[i]);
		}
	}
	for (const struct plan_feature *const *f = plan_features; *f; f++) {
		if ((*f)->warn)
			(*f)->warn(plan);
	}
}

void target_message(enum log_level level, const struct target_plan *t, const char *fmt, ...)
{
	char text[LOG_LINE_BYTES + 1];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	log_message(level, "target %u, %s: %s", t->number, t->path, text);
}

static void keep_command_line(struct plan *plan, int argc, char **argv)
{
	size_t len = 1;
	char *line, *o;

	for (int i = 0; i < argc; i++)
		len += strlen(argv[i]) * 4 + 3;
	line = xarena_alloc(plan->arena, len);
	o = line;
	for (int i = 0; i < argc; i++) {
		const char *word = xneed(quote_word(plan->arena, argv[i]));

		if (i)
			*o++ = ' ';
		o = stpcpy(o, word);
	}
	plan->command_line = line;
}

struct plan *plan_new(int argc, char **argv)
{
	struct arena *arena = xarena_new();
	struct plan *plan = xarena_alloc(arena, sizeof(*plan));

	plan->arena = arena;
	keep_command_line(plan, argc, argv);
	return plan;
}

/* A new plan, and the words of the command line. */
static struct plan *plan_begin(int argc, char **argv, struct word **words)
{
	struct plan *plan = plan_new(argc, argv);

	*words = xarena_alloc(plan->arena, (size_t)argc * sizeof(**words) + 1);
	for (int i = 1; i < argc; i++)
		(*words)[i - 1] = (struct word){ .text = argv[i], .pos = (unsigned)i };
	return plan;
}

enum xdd_status plan_apply(struct parse *p)
{
	struct plan *plan = p->plan;
	enum xdd_status status = apply_settings(p);

	if (status)
		return status;
	/* The results of several runs are told apart by it. */
	if (plan->run_name)
		plan->id = plan->id ? xarena_printf(p->arena, "%s %s", plan->id, plan->run_name) :
				      plan->run_name;
	return XDD_OK;
}

/* As plan_build_runs(), after the runs of `series`. */
static enum xdd_status build(const struct plan_series *series, int argc, char **argv,
			     struct plan **out, struct plan_runs **runs)
{
	struct word *words;
	struct plan *plan = plan_begin(argc, argv, &words);
	struct parse p = { .table = &run_options, .plan = plan };
	struct plan_runs *r = NULL;
	enum xdd_status status;

	*out = NULL;
	if (runs)
		*runs = NULL;
	plan_follow(plan, series);
	p.arena = plan->arena;
	status = parse_words(&p, words, argc > 1 ? (size_t)argc - 1 : 0);
	if (!status && !p.done)
		status = plan_runs_read(&p, argc, argv, &r);
	if (!status && r && !plan_runs_is_one(r)) {
		if (runs) {
			*runs = r;
			return XDD_OK;
		}
		status = plan_runs_refuse(r);
	}
	if (!status && r)
		status = plan_runs_settings(r, 0, &p);
	if (!status && !p.done)
		status = plan_apply(&p);
	if (!status && !p.done)
		status = plan_resolve(plan);
	/* A plan with a target that is refused has an output: -errout. */
	if ((!status || status == XDD_TARGET_FAILED) && !p.done) {
		const enum xdd_status found = plan_find_inputs(plan);

		status = found ? found : status;
	}
	if ((status && status != XDD_TARGET_FAILED) ||
	    (p.done && !plan->list_engines && !plan->help))
		plan_free(plan);
	else
		*out = plan;
	return status;
}

enum xdd_status plan_build_runs(int argc, char **argv, struct plan **out, struct plan_runs **runs)
{
	return build(NULL, argc, argv, out, runs);
}

enum xdd_status plan_build(int argc, char **argv, struct plan **out)
{
	return build(NULL, argc, argv, out, NULL);
}

enum xdd_status plan_series_build(const struct plan_series *series, int argc, char **argv,
				  struct plan **out)
{
	return build(series, argc, argv, out, NULL);
}

enum xdd_status plan_suppose(const struct word *words, size_t n_words)
{
	char *none[] = { NULL };
	struct plan *plan = plan_new(0, none), *of_run;
	struct parse p = { .table = &run_options, .plan = plan };
	struct plan_runs *r = NULL;
	enum xdd_status status;

	plan->supposes_files = true;
	p.arena = plan->arena;
	status = parse_words(&p, words, n_words);
	if (!status && !p.done)
		status = plan_runs_read(&p, 0, none, &r);
	if (status || p.done) {
		plan_free(plan);
		return status;
	}
	/* The words of -mpi are complete only in a rank. */
	if (!status && settings_have(p.settings, p.n_settings, "mpi", NULL))
		status = plan_runs_is_one(r) ? apply_settings(&p) : plan_runs_refuse(r);
	else
		for (size_t i = 0; i < plan_runs_count(r) && !status; i++)
			status = plan_runs_foresee(r, i, NULL, &of_run);
	plan_runs_free(r);
	return status;
}

/* These read a file of the other host, or print and do nothing else. */
static bool is_beyond_check(const char *word)
{
	static const char *const names[] = { "setup", "help", "fullhelp", "version" };
	const struct option *o =
		*word == '-' ? option_find(&run_options, word + (word[1] == '-' ? 2 : 1)) : NULL;

	for (size_t i = 0; o && i < sizeof(names) / sizeof(names[0]); i++)
		if (strcmp(o->name, names[i]) == 0)
			return true;
	return false;
}

/* -targets without a number may stand for files of the other host. */
static bool has_files(const struct parse *p)
{
	for (size_t i = 0; i < p->n_settings; i++) {
		const struct setting *s = &p->settings[i];

		if (strcmp(s->opt->name, "targets") == 0 &&
		    s->args[0].text[strspn(s->args[0].text, "-0123456789")])
			return true;
	}
	return false;
}

static enum xdd_status check_words(int argc, char **argv)
{
	struct word *words;
	struct plan *plan = plan_begin(argc, argv, &words);
	struct parse p = { .table = &run_options, .plan = plan };
	struct plan_runs *r = NULL;
	enum xdd_status status;

	p.arena = plan->arena;
	status = parse_words(&p, words, (size_t)argc - 1);
	if (!status && !p.done)
		status = plan_runs_read(&p, argc, argv, &r);
	if (!status && r && !plan_runs_is_one(r))
		status = plan_runs_refuse(r);
	if (!status && !p.done && !has_files(&p))
		status = apply_settings(&p);
	plan_free(plan);
	return status;
}

enum xdd_status plan_check_words(int argc, char **argv)
{
	enum xdd_status status;
	size_t held;

	for (int i = 1; i < argc; i++)
		if (is_beyond_check(argv[i]))
			return XDD_OK;
	held = log_hold();
	status = check_words(argc, argv);
	if (status == XDD_BAD_OPTION || status == XDD_BAD_ARGUMENT)
		foreign_answer(argc, argv, held, &status);
	else if (status != XDD_INIT_FAILED)
		log_drop(held);
	log_release();
	return status;
}

void plan_free(struct plan *plan)
{
	if (plan)
		arena_free(plan->arena);
}

/*
 * Clear the files of the report that `rows`, which end with a row without a name, and their
 * suboptions set.
 */
static void clear_outputs(struct plan *plan, const struct option *rows)
{
	for (; rows && rows->name; rows++) {
		if (rows->is_output)
			memset((char *)plan + rows->off, 0, rows->size);
		clear_outputs(plan, rows->subs);
	}
}

void plan_without_outputs(struct plan *copy, const struct plan *plan)
{
	*copy = *plan;
	for (const struct option_group *const *g = run_options.groups; *g; g++)
		clear_outputs(copy, (*g)->options);
}

const char *plan_op_name(enum op_request op)
{
	switch (op) {
	case OP_READ:
		return "read";
	case OP_WRITE:
		return "write";
	case OP_NOOP:
		return "noop";
	case OP_DISCARD:
		return "discard";
	case OP_MIXED:
		return "mixed";
	case OP_UNSET:
		break;
	}
	return "unset";
}

bool plan_warms_up(const struct target_plan *t)
{
	return t->warmup_ops || t->warmup_ns;
}

bool plan_is_paced(const struct plan *plan, const struct target_plan *t)
{
	return t->throttle.interval_ns > 0 || t->throttle.delay_ns || plan->operation_delay_ns ||
	       t->snooze_percent > 0 || t->lockstep.on;
}

bool plan_knows_order(const struct target_plan *t)
{
	return t->qthreads == 1 || t->ordering == ORDERING_STRICT || t->ordering == ORDERING_SERIAL;
}

const char *plan_ordering_name(enum ordering ordering)
{
	static const char *const names[] = {
		[ORDERING_NONE] = "none",
		[ORDERING_LOOSE] = "loose",
		[ORDERING_STRICT] = "strict",
		[ORDERING_SERIAL] = "serial",
	};

	return names[ordering];
}

const char *plan_open_sync_name(enum open_sync sync)
{
	static const char *const names[] = {
		[OPEN_SYNC_NONE] = "none",
		[OPEN_SYNC_FILE] = "O_SYNC",
		[OPEN_SYNC_DATA] = "O_DSYNC",
		[OPEN_SYNC_READ] = "O_RSYNC",
	};

	return names[sync];
}

const char *plan_seek_name(enum seek_pattern pattern)
{
	static const char *const names[] = {
		[SEEK_SEQUENTIAL] = "sequential", [SEEK_RANDOM] = "random",
		[SEEK_ONCE] = "random once",	  [SEEK_ZIPF] = "zipf",
		[SEEK_STAGGER] = "staggered",	  [SEEK_INTERLEAVE] = "interleaved",
		[SEEK_STREAMS] = "streams",	  [SEEK_NONE] = "none",
		[SEEK_LOAD] = "loaded",
	};

	return names[pattern];
}
