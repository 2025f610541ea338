/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Command lines of several runs, of runs with -mpi, and placeholders in their words; see the
 * header. Called before a plan is built, by plan_build(), and by the command that carries the runs
 * out.
 */
#include "xdd/plan/runs.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "plan/feature.h"
#include "plan/files.h"
#include "plan/parse.h"
#include "xdd/base/log.h"
#include "xdd/base/memory.h"
#include "xdd/base/text.h"

#define NUMBER_BYTES sizeof("4294967295")

/* The texts for the placeholders of one rank. */
struct values {
	const char *host;
	char rank[NUMBER_BYTES], n_ranks[NUMBER_BYTES];
};

/* The text for the letter after a percent sign; NULL: it is no placeholder. */
static const char *value_of(const struct values *v, char letter)
{
	switch (letter) {
	case 'h':
		return v->host;
	case 'r':
		return v->rank;
	case 'n':
		return v->n_ranks;
	case '%':
	case '\0':
		return "%";
	default:
		return NULL;
	}
}

/* Returns the length of the result, or 0 with the letter of no placeholder in `*wrong`. */
static size_t placeholder_measure(const struct values *v, const char *word, char *wrong)
{
	size_t length = 0;

	for (; *word; word++) {
		const char *value;

		if (*word != '%') {
			length++;
			continue;
		}
		value = value_of(v, word[1]);
		if (!value) {
			*wrong = word[1];
			return 0;
		}
		length += strlen(value);
		if (word[1])
			word++;
	}
	return length;
}

static void fill(const struct values *v, const char *word, char *to)
{
	for (; *word; word++) {
		if (*word != '%') {
			*to++ = *word;
			continue;
		}
		to = stpcpy(to, value_of(v, word[1]));
		if (word[1])
			word++;
	}
	*to = '\0';
}

static const char *wrong_letter(struct arena *arena, char letter)
{
	char sign[3] = { '%', letter, '\0' };

	/* Parts of a character of several bytes, and control characters, are not shown. */
	if (letter <= ' ' || letter > '~')
		sign[1] = '\0';
	return xarena_printf(
		arena,
		"\"%s\" is no placeholder; expected %%h, %%r, %%n, or %%%% for a percent sign",
		sign);
}

const char *placeholder_replace(struct arena *arena, const char *word, const struct placeholders *p,
				const char **result)
{
	struct values v = { .host = p->host };
	char wrong = '\0', *to;
	size_t length;

	*result = word;
	if (!strchr(word, '%'))
		return NULL;
	snprintf(v.rank, sizeof(v.rank), "%" PRIu32, p->rank);
	snprintf(v.n_ranks, sizeof(v.n_ranks), "%" PRIu32, p->n_ranks);
	length = placeholder_measure(&v, word, &wrong);
	if (wrong)
		return wrong_letter(arena, wrong);
	if (length > PLACEHOLDER_MAX_BYTES)
		return xarena_printf(arena,
				     "is longer than %u bytes with its placeholders replaced",
				     PLACEHOLDER_MAX_BYTES);
	to = xarena_alloc(arena, length + 1);
	fill(&v, word, to);
	*result = to;
	return NULL;
}

#define WORDS_ADDED 6

/*
 * True if the option is named, by an alias as well. No option takes the name of another one as its
 * argument, except -help.
 */
static bool has_option(int argc, char **argv, const char *name)
{
	for (int i = 1; i < argc; i++) {
		const struct option *opt = NULL;

		if (option_is_word(&run_options, argv[i]))
			opt = option_find(&run_options, argv[i] + (argv[i][1] == '-' ? 2 : 1));
		if (opt && strcmp(opt->name, name) == 0)
			return true;
	}
	return false;
}

bool ranks_wanted(int argc, char **argv)
{
	/* These only print, and read nothing but their own words. */
	return has_option(argc, argv, "mpi") && !has_option(argc, argv, "help") &&
	       !has_option(argc, argv, "fullhelp") && !has_option(argc, argv, "version");
}

enum xdd_status ranks_words(struct arena *arena, int argc, char **argv,
			    const struct ranks_place *place, int *n, char ***words)
{
	const struct placeholders p = { place->host, place->rank, place->n_ranks };
	const char **to = xarena_alloc(arena, ((size_t)argc + WORDS_ADDED + 1) * sizeof(*to));

	if (has_option(argc, argv, "rank") || has_option(argc, argv, "ranks"))
		return log_refuse(
			"-mpi: cannot be given with -rank or -ranks: MPI says what they are");
	for (int i = 0; i < argc; i++) {
		const char *why = placeholder_replace(arena, argv[i], &p, &to[i]);

		if (!why)
			continue;
		return log_refuse("-mpi: %s: %s", argv[i], why);
	}
	to[argc] = "-rank";
	to[argc + 1] = xarena_printf(arena, "%" PRIu32, place->rank);
	to[argc + 2] = "-ranks";
	to[argc + 3] = xarena_printf(arena, "%" PRIu32, place->n_ranks);
	*n = argc + 4;
	/* The user's number counts: hosts of MPI need not be the hosts that share a cache. */
	if (!has_option(argc, argv, "rankspernode")) {
		to[argc + 4] = "-rankspernode";
		to[argc + 5] = xarena_printf(arena, "%" PRIu32, place->ranks_per_node);
		*n = argc + WORDS_ADDED;
	}
	/* The words are not changed; argv of main() is not const for reasons of its age. */
	*words = (char **)(uintptr_t)to;
	return XDD_OK;
}

#define NAMES_SIZE 256

/* The part of -readback that a run is. */
enum half {
	HALF_NONE, /* a whole run */
	HALF_WRITE,
	HALF_READ,
};

struct one_run {
	const struct section *section; /* NULL: none */
	enum half half;
	const char *name;
	uint64_t *written_ops; /* of HALF_WRITE, when it was planned to be run */
};

struct plan_runs {
	struct arena *arena; /* of all words */
	int argc;
	char **argv;
	struct setting *settings;	 /* for all runs */
	const struct plan_input *inputs; /* the setup files */
	bool supposes_files;		 /* as in a plan */
	size_t n_settings;
	struct one_run *runs;
	size_t n;
	struct plan_series *foreseen;
};

/* ---- which runs ---- */

static const char *section_at(const void *arg, size_t i)
{
	const struct parse *p = arg;

	return i < p->n_sections ? p->sections[i].name : NULL;
}

static enum xdd_status unknown_section(const struct parse *p, const struct setting *s,
				       const struct word *w)
{
	const char *near = suggest_nearest(w->text, section_at, p);
	char names[NAMES_SIZE];

	if (!p->n_sections)
		return parse_error(XDD_BAD_ARGUMENT, s, w,
				   "no setup file has sections; -setup names one");
	if (near)
		return parse_error(XDD_BAD_ARGUMENT, s, w, "is no section; did you mean %s?", near);
	return parse_error(XDD_BAD_ARGUMENT, s, w, "is no section; expected %s",
			   parse_list_words(section_at, p, names, sizeof(names)));
}

static enum xdd_status choose(const struct parse *p, const struct setting *s, const struct word *w)
{
	for (size_t i = 0; i < p->n_sections; i++) {
		if (strcmp(p->sections[i].name, w->text))
			continue;
		p->sections[i].is_chosen = true;
		return XDD_OK;
	}
	return unknown_section(p, s, w);
}

static enum xdd_status choose_sections(const struct parse *p)
{
	enum xdd_status status = XDD_OK;

	for (size_t i = 0; i < p->n_sections; i++)
		p->sections[i].is_chosen = !p->n_choices;
	for (size_t i = 0; i < p->n_choices; i++) {
		const struct setting *s = &p->choices[i];

		for (size_t k = 0; k < s->n_args && !status; k++)
			status = choose(p, s, &s->args[k]);
	}
	return status;
}

/* As settings_have(), of all settings of a run. */
static bool run_has(const struct setting *settings, size_t n, const struct section *section,
		    const char *name, const char *sub)
{
	return settings_have(settings, n, name, sub) ||
	       (section && settings_have(section->settings, section->n_settings, name, sub));
}

static void add_run(struct plan_runs *r, const struct section *section, enum half half)
{
	static const char *const halves[] = {
		[HALF_NONE] = "", [HALF_WRITE] = "write", [HALF_READ] = "read"
	};
	struct one_run *run = &r->runs[r->n++];

	*run = (struct one_run){ .section = section, .half = half };
	run->name = xarena_printf(r->arena, "%s%s%s", section ? section->name : "",
				  section && half ? "-" : "", halves[half]);
}

static void add_runs(struct plan_runs *r, const struct parse *p, const struct section *section)
{
	if (!run_has(p->settings, p->n_settings, section, "readback", NULL)) {
		add_run(r, section, HALF_NONE);
		return;
	}
	add_run(r, section, HALF_WRITE);
	add_run(r, section, HALF_READ);
}

static void list_runs(struct plan_runs *r, const struct parse *p)
{
	r->runs = xarena_alloc(r->arena, 2 * (p->n_sections + 1) * sizeof(*r->runs));
	if (!p->n_sections)
		add_runs(r, p, NULL);
	for (size_t i = 0; i < p->n_sections; i++) {
		if (p->sections[i].is_chosen)
			add_runs(r, p, &p->sections[i]);
	}
}

enum xdd_status plan_runs_read(const struct parse *p, int argc, char **argv,
			       struct plan_runs **runs)
{
	enum xdd_status status = choose_sections(p);
	struct plan_runs *r;

	if (status)
		return status;
	r = xarena_alloc(p->arena, sizeof(*r));
	*r = (struct plan_runs){ .arena = p->arena,
				 .argc = argc,
				 .argv = argv,
				 .settings = p->settings,
				 .inputs = p->plan->inputs,
				 .supposes_files = p->plan->supposes_files,
				 .n_settings = p->n_settings };
	*runs = r;
	list_runs(r, p);
	return XDD_OK;
}

bool plan_runs_is_one(const struct plan_runs *r)
{
	return r->n == 1;
}

enum xdd_status plan_runs_refuse(const struct plan_runs *r)
{
	const struct one_run *run = &r->runs[0];

	if (run->half)
		log_error("-readback: makes two runs, and one is expected here; say -op write, and "
			  "then -op read -verify contents");
	else
		log_error(
			"-setup %.128s: has %zu sections, and one run is expected here; choose it "
			"with -section, as in -section %s",
			run->section->file, r->n, run->name);
	return XDD_BAD_ARGUMENT;
}

/* ---- the settings of a run ---- */

/* Options that make no sense in one half of -readback, and are for the other. */
static bool is_for_half(const struct setting *s, enum half half)
{
	static const struct {
		const char *name;
		enum half half;
	} rows[] = {
		{ "deletefile", HALF_READ },   { "verify", HALF_READ },
		{ "reorder", HALF_READ },      { "recreatefiles", HALF_WRITE },
		{ "preallocate", HALF_WRITE }, { "pretruncate", HALF_WRITE },
		{ "starttime", HALF_WRITE },   { "timelimit", HALF_WRITE },
		{ "runtime", HALF_WRITE },
	};

	for (size_t i = 0; half && i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (strcmp(s->opt->name, rows[i].name) == 0)
			return rows[i].half == half;
	}
	return true;
}

/* True if the option names a file of results, or one that is saved for a later run. */
static bool names_output(const struct setting *s)
{
	static const struct {
		const char *name, *sub;
	} rows[] = {
		{ "timestamps", "output" }, { "timestamps", "dump" }, { "heartbeat", "output" },
		{ "seek", "save" },	    { "stonewall", "save" },
	};

	if (!s->sub)
		return s->opt->is_output || strcmp(s->opt->name, "errout") == 0;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (strcmp(s->opt->name, rows[i].name) == 0 &&
		    strcmp(s->sub->name, rows[i].sub) == 0)
			return true;
	}
	return s->sub->is_output;
}

/* `text` with `name` in place of "%s", and "%" in place of "%%". */
static const char *with_name(struct arena *arena, const char *text, const char *name)
{
	char *to, *start;
	size_t n = 0;

	for (const char *c = text; *c; c++)
		n += *c == '%';
	to = start = xarena_alloc(arena, strlen(text) + n * strlen(name) + 1);
	for (; *text; text++) {
		if (text[0] == '%' && text[1] == 's')
			to = stpcpy(to, name);
		else
			*to++ = *text;
		if (text[0] == '%' && (text[1] == 's' || text[1] == '%'))
			text++;
	}
	*to = '\0';
	return start;
}

static void runs_take(struct parse *p, const struct setting *given, const char *name)
{
	struct setting *s = &p->settings[p->n_settings++];
	struct word *args;

	*s = *given;
	s->arena = p->arena;
	if (!names_output(s))
		return;
	args = xarena_alloc(p->arena, (s->n_args + 1) * sizeof(*args));
	for (size_t i = 0; i < s->n_args; i++) {
		args[i] = s->args[i];
		args[i].text = with_name(p->arena, s->args[i].text, name);
	}
	s->args = args;
}

static void take_some(struct parse *p, const struct one_run *run, const struct setting *settings,
		      size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (is_for_half(&settings[i], run->half))
			runs_take(p, &settings[i], run->name);
	}
}

/*
 * The options that make a half of -readback of a run that writes. `located`: -verify location,
 * which is for sequenced data, and is not among the settings of the writes.
 */
static enum xdd_status complete_half(struct parse *p, enum half half, bool located)
{
	const char *const texts[] = { "-datapattern", located ? "sequenced" : "tagged",
				      "-op",	      "read",
				      "-verify",      "contents" };
	enum {
		N = sizeof(texts) / sizeof(texts[0]),
		PATTERN = 2
	};
	struct word words[N], *kept = xarena_alloc(p->arena, sizeof(words));
	const size_t first =
		settings_have(p->settings, p->n_settings, "datapattern", NULL) ? PATTERN : 0;
	const size_t end = half == HALF_READ ? N : PATTERN;

	/* It has no place that the user could look at, and differs from the place of -op. */
	for (size_t i = 0; i < N; i++)
		kept[i] = (struct word){ .text = texts[i] };
	p->section = "";
	return parse_words(p, kept + first, end - first);
}

enum xdd_status plan_runs_settings(const struct plan_runs *r, size_t i, struct parse *p)
{
	const struct one_run *run = &r->runs[i];
	const size_t own = run->section ? run->section->n_settings : 0;
	const size_t before = run->section ? run->section->before : 0;
	enum xdd_status status = XDD_OK;

	if (!run->section && !run->half && p->settings == r->settings)
		return XDD_OK;
	p->n_settings = 0;
	p->cap_settings = r->n_settings + own;
	p->settings = xarena_alloc(p->arena, (p->cap_settings + 1) * sizeof(*p->settings));
	take_some(p, run, r->settings, before);
	if (run->section)
		take_some(p, run, run->section->settings, own);
	take_some(p, run, r->settings + before, r->n_settings - before);
	if (run->half)
		status = complete_half(p, run->half,
				       run_has(r->settings, r->n_settings, run->section, "verify",
					       "location"));
	p->plan->run_name = run->name;
	return status;
}

/* ---- plans ---- */

/* True if what ends the passes is not known, or leaves gaps. */
static bool is_uncertain(const struct plan *plan, const struct target_plan *t)
{
	return t->pass_ops == PLAN_UNLIMITED || t->stop_trigger.on || plan->stonewall.on ||
	       (t->lockstep.on && t->lockstep.stop);
}

/* Operations of a pass that time may end have offsets that depend on nothing but their number. */
static bool repeats(const struct plan *plan, const struct target_plan *t)
{
	const enum seek_pattern p = t->seek.pattern;

	return (p == SEEK_SEQUENTIAL || p == SEEK_RANDOM || p == SEEK_ONCE) &&
	       !t->pass_offset_bytes && (!t->randomize || plan->passes == 1);
}

/* -readback of another operation, before anything else is said about the plan. */
static enum xdd_status check_operations(const struct plan *plan, enum half half)
{
	for (size_t i = 0; half == HALF_WRITE && i < plan->n_targets; i++) {
		const struct target_plan *t = &plan->targets[i];

		if (t->create_new_files)
			return log_refuse(
				"target %u, %s: is created for each pass (-createnewfiles), and "
				"-readback reads one file",
				t->number, t->name);
		if (t->op == OP_WRITE || t->op == OP_UNSET)
			continue;
		return log_refuse("target %u, %s: must write, to be read back; its operation is %s",
				  t->number, t->name, plan_op_name(t->op));
	}
	return XDD_OK;
}

/* All that is read back must have been written. */
static enum xdd_status check_amounts(const struct plan *plan, enum half half)
{
	for (size_t i = 0; half == HALF_WRITE && i < plan->n_targets; i++) {
		const struct target_plan *t = &plan->targets[i];

		if (is_uncertain(plan, t))
			return plan_refuse(
				t, "must write all that is read back, and may end early; give an "
				   "amount of work, and no -stonewall, -stoptrigger or -lockstep "
				   "with stop");
		if (plan_may_end_early(plan, t) && !repeats(plan, t))
			return plan_refuse(
				t, "cannot be read back where -timelimit or -runtime may end a "
				   "pass: its offsets must be sequential or random, and offsets of "
				   "each pass the same");
	}
	return XDD_OK;
}

static enum xdd_status runs_build(const struct plan_runs *r, size_t i,
				  const struct plan_series *series, struct plan **out)
{
	struct parse p = { .table = &run_options };
	const enum half half = r->runs[i].half;
	enum xdd_status status;

	*out = NULL;
	p.plan = plan_new(r->argc, r->argv);
	p.arena = p.plan->arena;
	plan_follow(p.plan, series);
	p.plan->inputs = r->inputs;
	p.plan->supposes_files = r->supposes_files;
	if (half == HALF_READ)
		p.plan->written_ops = r->runs[i - 1].written_ops;
	status = plan_runs_settings(r, i, &p);
	if (!status)
		status = plan_apply(&p);
	if (!status)
		status = check_operations(p.plan, half);
	if (!status)
		status = plan_resolve(p.plan);
	if (!status)
		status = check_amounts(p.plan, half);
	if (!status)
		status = plan_find_inputs(p.plan);
	if (status)
		plan_free(p.plan);
	else
		*out = p.plan;
	return status;
}

/* Have a plan count what is written, for the run after it. */
static void count_written(struct plan_runs *r, size_t i, struct plan *plan)
{
	uint64_t *ops = xarena_alloc(r->arena, plan->n_targets * sizeof(*ops));

	for (size_t k = 0; k < plan->n_targets; k++)
		ops[k] = UINT64_MAX;
	plan->written_ops = r->runs[i].written_ops = ops;
}

enum xdd_status plan_runs_build(struct plan_runs *r, size_t i, struct plan **plan)
{
	enum xdd_status status = runs_build(r, i, NULL, plan);

	if (!status && r->runs[i].half == HALF_WRITE)
		count_written(r, i, *plan);
	return status;
}

enum xdd_status plan_runs_foresee(struct plan_runs *r, size_t i, plan_list_writer *write_list,
				  struct plan **plan)
{
	enum xdd_status status;

	if (!r->foreseen)
		r->foreseen = plan_series_new(r->n);
	status = runs_build(r, i, r->foreseen, plan);
	if (status)
		return status;
	plan_series_add(r->foreseen, *plan, write_list);
	return XDD_OK;
}

void plan_runs_free(struct plan_runs *r)
{
	if (!r)
		return;
	plan_series_free(r->foreseen);
	arena_free(r->arena);
}

size_t plan_runs_count(const struct plan_runs *r)
{
	return r->n;
}

const char *plan_runs_name(const struct plan_runs *r, size_t i)
{
	return r->runs[i].name;
}

const char *plan_runs_file(const struct plan_runs *r, size_t i)
{
	return r->runs[i].section ? r->runs[i].section->file : NULL;
}
