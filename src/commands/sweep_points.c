/*
 * The points of a sweep as plans, all checked before the first is run. Called by sweep.c.
 */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "commands/captured.h"
#include "commands/sweep.h"
#include "xdd/base/log.h"
#include "xdd/base/memory.h"
#include "xdd/base/text.h"
#include "xdd/plan/option.h"
#include "xdd/report/report.h"
#include "xdd/report/sweep.h"
#include "xdd/run/run.h"

#define LABEL_SIZE 256

/* Options of a single run, which a point cannot have: its results go to the sweep. */
static const char *const refused[] = {
	"attached",	"combinedout", "debug",
	"deskew",	"errout",      "extendedstats",
	"heartbeat",	"intervals",   "ioengine list",
	"latency",	"mpi",	       "output",
	"outputformat", "qthreadinfo", "reallyverbose",
	"report",	"starttime",   "timerinfo",
	"timestamps",	"verbose",     NULL,
};

char *sweep_label(const struct vary *v, size_t point, char *buf, size_t size)
{
	size_t len = 0;

	*buf = '\0';
	for (size_t i = 0; i < v->n_axes && len < size; i++)
		len += (size_t)snprintf(buf + len, size - len, "%s%s %s", i ? ", " : "",
					v->axes[i].name,
					v->axes[i].values[vary_at(v, point, i)].text);
	return buf;
}

/* ---- messages about a point ---- */

/* Report the first line of `c`, which is about `point`. */
static void report_point(const struct sweep *s, size_t point, struct captured *c)
{
	const char *text = captured_message(c->text);
	char label[LABEL_SIZE];

	c->text[strcspn(c->text, "\n")] = '\0';
	sweep_label(&s->vary, point, label, sizeof(label));
	if (*label && s->kind->varies)
		log_error("%s: point %zu of %zu (%s): %s", s->kind->name, point + 1,
			  s->vary.n_points, label, text);
	else
		log_error("%s: %s", s->kind->name, text);
}

/* ---- checks ---- */

/* The words that all points have after their own, those of a round, and one for files. */
static size_t after(const struct sweep *s, bool recreates, const char **words)
{
	size_t n = 0;

	for (size_t i = 0; s->more[i]; i++)
		words[n++] = s->more[i];
	for (size_t i = 0; s->round_words[i]; i++)
		words[n++] = s->round_words[i];
	if (recreates)
		words[n++] = "-recreatefiles";
	words[n] = NULL;
	return n;
}

enum xdd_status sweep_plan_with(struct sweep *s, size_t point, const char *const *more,
				struct plan **plan)
{
	const char *words[SWEEP_MORE_WORDS];
	size_t n = after(s, false, words);

	while (*more)
		words[n++] = *more++;
	words[n] = NULL;
	vary_words(&s->vary, point, words, s->buffer);
	return runner_plan(s->buffer, plan);
}

/* As sweep_plan(), for the next run of a series. */
static enum xdd_status plan_next(struct sweep *s, const struct plan_series *series, size_t point,
				 struct plan **plan)
{
	const char *words[SWEEP_MORE_WORDS];
	enum xdd_status status;

	after(s, false, words);
	vary_words(&s->vary, point, words, s->buffer);
	status = runner_plan_next(series, s->buffer, plan);
	if (status || !s->recreates || !*plan || !sweep_writes(*plan))
		return status;
	plan_free(*plan);
	after(s, true, words);
	vary_words(&s->vary, point, words, s->buffer);
	return runner_plan_next(series, s->buffer, plan);
}

enum xdd_status sweep_plan(struct sweep *s, size_t point, struct plan **plan)
{
	return plan_next(s, NULL, point, plan);
}

static bool is_refused(const struct setting *s)
{
	for (const char *const *name = refused; *name; name++) {
		if (strcmp(s->opt->name, *name) == 0)
			return true;
	}
	return s->opt->is_output;
}

/* True if the setting is of the axis by its name: "queuedepth", "seek range target 1". */
static bool is_of_axis(const struct setting *s, const char *axis)
{
	const bool of_some = s->scope.text && strcmp(s->scope.text, "all") != 0;
	char name[LABEL_SIZE];

	snprintf(name, sizeof(name), "%s%s%s%s%s", s->opt->name, s->sub ? " " : "",
		 s->sub ? s->sub->name : "", of_some ? " target " : "",
		 of_some ? s->scope.text : "");
	return !s->by_default && strcmp(name, axis) == 0;
}

/* A setup file after a list would give all points its own value. */
static enum xdd_status check_axes(const struct sweep *s, const struct plan *plan)
{
	for (size_t i = 0; i < s->vary.n_axes; i++) {
		const struct setting *given = NULL, *last = NULL;

		for (size_t k = 0; k < plan->n_settings; k++) {
			const struct setting *setting = &plan->settings[k];

			if (!is_of_axis(setting, s->vary.axes[i].name))
				continue;
			last = setting;
			given = setting->name.file ? given : setting;
		}
		if (!given || !last->name.file || last->opt->collects ||
		    (last->sub && last->sub->collects))
			continue;
		log_error("-%s: is varied, and %s:%u has one value for all points; say -setup "
			  "before the list",
			  s->vary.axes[i].name, last->name.file, last->name.pos);
		return XDD_BAD_ARGUMENT;
	}
	return XDD_OK;
}

/* The depths of a curve, and the time limit of a run, would replace what a setup file says. */
static enum xdd_status check_added(const struct sweep *s, const struct plan *plan)
{
	const bool depths = s->results.curve && s->results.curve->n_depths > 1;
	const bool limit = s->more[0];

	for (size_t i = 0; i < plan->n_settings; i++) {
		const struct setting *setting = &plan->settings[i];
		const char *name = setting->opt->name;

		if (!setting->name.file ||
		    !((depths && strcmp(name, "queuedepth") == 0) ||
		      (limit && (strcmp(name, "timelimit") == 0 || strcmp(name, "runtime") == 0))))
			continue;
		log_error("-%s: in %s:%u it has no effect, as each run gets its own; say it on the "
			  "command line",
			  name, setting->name.file, setting->name.pos);
		return XDD_BAD_ARGUMENT;
	}
	return XDD_OK;
}

static enum xdd_status check_settings(const struct plan *plan)
{
	if (!plan || plan->help || plan->list_engines) {
		log_error("-help, -version and -ioengine list: are no options of a point");
		return XDD_BAD_ARGUMENT;
	}
	for (size_t i = 0; i < plan->n_settings; i++) {
		const struct setting *s = &plan->settings[i];

		if (s->by_default || !is_refused(s))
			continue;
		log_error("%s: is for a single run; a sweep has -jsonout, -csvout and its table",
			  s->name.text);
		return XDD_BAD_OPTION;
	}
	return XDD_OK;
}

/* True if a file of the sweep is a target of the plan. */
static bool is_target(const struct plan *plan, const char *path)
{
	struct stat file, target;
	const bool exists = path && stat(path, &file) == 0;

	for (size_t i = 0; path && i < plan->n_targets; i++) {
		const struct target_plan *t = &plan->targets[i];

		if (t->kind == TARGET_NULL)
			continue;
		if (strcmp(t->path, path) == 0 ||
		    (exists && stat(t->path, &target) == 0 && target.st_ino == file.st_ino &&
		     target.st_dev == file.st_dev))
			return true;
	}
	return false;
}

static enum xdd_status check_files(const struct sweep *s, const struct plan *plan)
{
	const struct {
		const char *option, *path;
	} files[] = {
		{ "jsonout", s->json_is_stdout ? NULL : s->line.jsonout },
		{ "csvout", s->csv_is_stdout ? NULL : s->line.csvout },
		{ "journal", s->journal_path },
	};

	enum xdd_status status = XDD_OK;

	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]) && !status; i++) {
		if (is_target(plan, files[i].path)) {
			log_error("-%s %s: is a target", files[i].option, files[i].path);
			return XDD_BAD_ARGUMENT;
		}
		if (files[i].path)
			status = report_check_file(plan, files[i].option, files[i].path);
	}
	return status;
}

/* How points depend on the files of others. */
struct dependence {
	bool changes; /* one leaves files otherwise than it finds them */
	bool shrinks; /* one makes a file shorter, or removes it */
	bool reads;   /* one reads files */
	bool follows; /* one reads what others write */
	bool needs;   /* and could not, or would find another size, without that */
};

/* The plan goes to the series if later points find other files after it; else it is freed. */
static enum xdd_status keep_plan(struct plan_series *series, struct plan *plan,
				 struct dependence *d)
{
	const enum plan_effect effect = plan_effect(plan);
	enum xdd_status status = XDD_OK;
	bool needed = false;

	for (size_t i = 0; i < plan->n_targets; i++)
		d->reads |= plan_reads(&plan->targets[i]);
	d->follows |= plan_reads_earlier(plan, &needed);
	d->needs |= needed;
	d->changes |= effect != PLAN_LEAVES;
	d->shrinks |= effect == PLAN_SHRINKS;
	if (effect != PLAN_LEAVES) {
		status = plan_series_add(series, plan, NULL);
		if (!status)
			return XDD_OK;
	}
	plan_free(plan);
	return status;
}

static enum xdd_status check_plan(struct sweep *s, const struct plan *plan, size_t point,
				  uint64_t *threads)
{
	enum xdd_status status = check_settings(plan);

	if (!status)
		status = check_axes(s, plan);
	if (!status)
		status = check_added(s, plan);
	if (!status)
		status = check_files(s, plan);
	if (!status && s->kind->check)
		status = s->kind->check(plan, point);
	if (!status)
		status = run_check_next(plan, threads);
	return status ? status : sweep_restore_check(s, plan);
}

/* `threads`: those that the points before need. `first`: warnings were not kept before. */
static enum xdd_status check_point(struct sweep *s, struct plan_series *series, size_t point,
				   struct dependence *d, uint64_t *threads, bool first)
{
	struct captured c = { .size = 0 };
	struct plan *plan = NULL;
	enum xdd_status status;

	log_divert(captured_add, &c);
	status = plan_next(s, series, point, &plan);
	if (!status)
		status = check_plan(s, plan, point, threads);
	log_divert(NULL, NULL);
	if (status) {
		report_point(s, point, &c);
		plan_free(plan);
		return status;
	}
	if (first)
		sweep_keep_warnings(s, point, plan);
	return keep_plan(series, plan, d);
}

/* Check the points that have not had round `number`, in their order. */
static enum xdd_status check_round(struct sweep *s, struct plan_series *series, uint64_t number,
				   struct dependence *d, bool first)
{
	enum xdd_status status = XDD_OK;
	uint64_t threads = 0;

	for (size_t i = 0; i < s->vary.n_points && !status; i++) {
		if (!sweep_has_round(&s->results.points[i], number))
			status = check_point(s, series, i, d, &threads, first);
	}
	return status;
}

enum xdd_status sweep_check(struct sweep *s)
{
	struct plan_series *series = plan_series_new(2 * s->vary.n_points);
	struct dependence d = { .needs = false };
	enum xdd_status status;

	if (!series) {
		log_error("%s: %s", s->kind->name, strerror(ENOMEM));
		return XDD_INIT_FAILED;
	}
	status = check_round(s, series, 1, &d, true);
	/* The second round begins with other files than the first; the third as the second. */
	if (!status && d.changes && d.reads && s->results.most > 1)
		status = check_round(s, series, 2, &d, false);
	plan_series_free(series);
	/* In a single round a read may be of a file that a later point makes shorter. */
	if (d.shrinks && (d.follows || (d.reads && s->results.most == 1)))
		s->order = SWEEP_ORDER_KEEP;
	else
		s->order = d.needs ? SWEEP_ORDER_FIRST : SWEEP_ORDER_ANY;
	return status;
}

/* The first round that some points have not had, and `*begun`: others have. */
static uint64_t next_round(const struct sweep *s, bool *begun)
{
	uint64_t number = UINT64_MAX;

	for (size_t i = 0; i < s->vary.n_points; i++) {
		const uint64_t next = s->results.points[i].n + 1;

		number = next < number ? next : number;
	}
	*begun = false;
	for (size_t i = 0; i < s->vary.n_points; i++)
		*begun |= sweep_has_round(&s->results.points[i], number);
	return number;
}

enum xdd_status sweep_check_rest(struct sweep *s)
{
	struct dependence d = { .needs = false };
	struct plan_series *series;
	enum xdd_status status;
	uint64_t number;
	bool begun;

	if (s->order == SWEEP_ORDER_ANY)
		return XDD_OK;
	number = next_round(s, &begun);
	s->in_order_until = s->order == SWEEP_ORDER_KEEP ? UINT64_MAX : number + begun;
	if (!begun)
		return XDD_OK;
	series = plan_series_new(s->vary.n_points);
	if (!series) {
		log_error("%s: %s", s->kind->name, strerror(ENOMEM));
		return XDD_INIT_FAILED;
	}
	status = check_round(s, series, number, &d, false);
	plan_series_free(series);
	return status;
}

void sweep_print_points(struct sweep *s, size_t n_points)
{
	for (size_t i = 0; i < n_points; i++) {
		const size_t n = vary_words(&s->vary, i, s->more, s->buffer);

		for (size_t k = 0; k < n; k++) {
			struct arena *arena = arena_new();
			const char *word = arena ? quote_word(arena, s->buffer[k]) : NULL;

			printf("%s%s", k ? " " : "", word ? word : s->buffer[k]);
			arena_free(arena);
		}
		putchar('\n');
	}
}
