/*
 * Building a plan from the command line, start to end. Called by main.
 */
#include "xdd/plan/plan.h"

#include <errno.h>
#include <string.h>

#include "plan/earlier.h"
#include "plan/errors.h"
#include "plan/feature.h"
#include "plan/inputs.h"
#include "plan/parse.h"
#include "plan/runs.h"
#include "xdd/base/log.h"
#include "xdd/base/memory.h"
#include "xdd/base/text.h"
#include "xdd/plan/foreign.h"

static int keep_command_line(struct plan *plan, int argc, char **argv)
{
	size_t len = 1;
	char *line, *o;

	for (int i = 0; i < argc; i++)
		len += strlen(argv[i]) * 4 + 3;
	line = arena_alloc(plan->arena, len);
	if (!line)
		return -ENOMEM;
	o = line;
	for (int i = 0; i < argc; i++) {
		const char *word = quote_word(plan->arena, argv[i]);

		if (!word)
			return -ENOMEM;
		if (i)
			*o++ = ' ';
		o = stpcpy(o, word);
	}
	plan->command_line = line;
	return 0;
}

struct plan *plan_new(int argc, char **argv)
{
	struct arena *arena = arena_new();
	struct plan *plan = arena ? arena_alloc(arena, sizeof(*plan)) : NULL;

	if (plan)
		plan->arena = arena;
	if (plan && !keep_command_line(plan, argc, argv))
		return plan;
	arena_free(arena);
	return NULL;
}

/* A new plan, and the words of the command line. */
static struct plan *begin(int argc, char **argv, struct word **words)
{
	struct plan *plan = plan_new(argc, argv);

	*words = plan ? arena_alloc(plan->arena, (size_t)argc * sizeof(**words) + 1) : NULL;
	if (!*words) {
		plan_free(plan);
		return NULL;
	}
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
		plan->id = plan->id ? arena_printf(p->arena, "%s %s", plan->id, plan->run_name) :
				      plan->run_name;
	return plan->run_name && !plan->id ? plan_no_memory() : XDD_OK;
}

/* As plan_build_runs(), after the runs of `series`. */
static enum xdd_status build(const struct plan_series *series, int argc, char **argv,
			     struct plan **out, struct plan_runs **runs)
{
	struct word *words;
	struct plan *plan = begin(argc, argv, &words);
	struct parse p = { .table = &run_options, .plan = plan };
	struct plan_runs *r = NULL;
	enum xdd_status status;

	*out = NULL;
	if (runs)
		*runs = NULL;
	if (!plan)
		return plan_no_memory();
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

static bool has_mpi(const struct parse *p)
{
	for (size_t i = 0; i < p->n_settings; i++) {
		if (strcmp(p->settings[i].opt->name, "mpi") == 0)
			return true;
	}
	return false;
}

enum xdd_status plan_suppose(const struct word *words, size_t n_words)
{
	char *none[] = { NULL };
	struct plan *plan = plan_new(0, none), *of_run;
	struct parse p = { .table = &run_options, .plan = plan };
	struct plan_runs *r = NULL;
	enum xdd_status status;

	if (!plan)
		return plan_no_memory();
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
	if (!status && has_mpi(&p))
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
	struct plan *plan = begin(argc, argv, &words);
	struct parse p = { .table = &run_options, .plan = plan };
	struct plan_runs *r = NULL;
	enum xdd_status status;

	if (!plan)
		return plan_no_memory();
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
