/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The points of a sweep: the command lines of xdd sweep and xdd curve, and the points as plans,
 * all checked before the first is run. Called by sweep.c.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "commands/commands.h"
#include "commands/sweep.h"
#include "xdd/base/log.h"
#include "xdd/base/memory.h"
#include "xdd/base/output.h"
#include "xdd/base/text.h"
#include "xdd/base/units.h"
#include "xdd/commands/command.h"
#include "xdd/plan/line.h"
#include "xdd/plan/option.h"
#include "xdd/report/report.h"
#include "xdd/report/sweep.h"
#include "xdd/run/run.h"

/*
 * The options of sweeps and curves themselves, anywhere among the options of the runs.
 */

#define LINE_FIELD(field) OPTION_FIELD(struct sweep, line.field)
#define LEAST_NS (NS_PER_SEC / 1000)
#define EACH_NS (10 * NS_PER_SEC) /* of a curve */
#define MOST_NS (366 * 24 * 3600 * NS_PER_SEC)

static enum xdd_status add_vary(const struct setting *s, void *dst)
{
	struct sweep_line *l = &((struct sweep *)dst)->line;

	l->vary[l->n_vary++] = s->args[0].text;
	return XDD_OK;
}

/* Options of a sweep alone. */
static const struct option sweep_rows[] = {
	{ .name = "vary",
	  OPTION_CUSTOM("<option>=<list>", add_vary),
	  .help = "vary an option whose values may have commas, or several words: the list may "
		  "begin with | or ; as its separator, and have the ranges of the option. Without "
		  "a list: with and without a flag" },
	{ .name = "pairs",
	  OPTION_FLAG(struct sweep, line.pairs),
	  .help = "the first values of all lists are the first point, and so on; otherwise all "
		  "combinations are points" },
	{ .name = "mostrounds",
	  OPTION_NUMBER("<#rounds>", 1, SWEEP_MAX_ROUNDS),
	  LINE_FIELD(most),
	  .help = "greatest number of runs of each point, with -until or -each; 100" },
	{ .name = "until",
	  OPTION_TEXT("<percent>"),
	  LINE_FIELD(until),
	  .help = "run each point until its bandwidth is known to +- this (95 % interval)" },
	{ 0 },
};

/* Options of a curve alone. */
static const struct option curve_rows[] = {
	{ .name = "load",
	  OPTION_TEXT("<list>"),
	  LINE_FIELD(load),
	  .help = "loads in percent of the maximum: 10..90+10,95,100,105 without it" },
	{ .name = "goal",
	  OPTION_TEXT("<figure>=<time>"),
	  LINE_FIELD(goal),
	  .help = "find the greatest load, within 2 %, whose response time is up to this: p99=5ms; "
		  "mean, p50, p99 or p99.9" },
	{ 0 },
};

static const struct option rows[] = {
	{ .name = "rounds",
	  OPTION_NUMBER("<#rounds>", 1, SWEEP_MAX_ROUNDS),
	  LINE_FIELD(rounds),
	  .help = "least number of runs of each point; 5, with -until 18" },
	{ .name = "each",
	  OPTION_TIME("<time>", LEAST_NS, MOST_NS),
	  LINE_FIELD(each_ns),
	  .help = "time for each point, all its runs together; of a curve 10 seconds" },
	{ .name = "round",
	  OPTION_TIME("<time>", LEAST_NS, MOST_NS),
	  LINE_FIELD(round_ns),
	  .help = "time limit of a run; otherwise an equal share of -each" },
	{ .name = "orderseed",
	  OPTION_NUMBER("<number>", 0, INT64_MAX),
	  LINE_FIELD(seed),
	  .help = "seed of the order in which points are run; otherwise a new one" },
	{ .name = "restore",
	  OPTION_TEXT("recreate|precondition|trim"),
	  LINE_FIELD(restore),
	  .help = "before each run of a point that writes: recreate its files; write all of its "
		  "targets once in sequence, with random data; or discard the ranges that it "
		  "writes" },
	{ .name = "jsonout",
	  OPTION_TEXT("<file>"),
	  LINE_FIELD(jsonout),
	  .help = "write the results as one JSON document, for xdd compare; it replaces the file, and "
		  "- is standard output" },
	{ .name = "csvout",
	  OPTION_TEXT("<file>"),
	  LINE_FIELD(csvout),
	  .help = "write a line for each point, with a column for each list; it replaces the file, "
		  "and - is standard output" },
	{ .name = "columns",
	  OPTION_TEXT("+<id>+<id>..."),
	  LINE_FIELD(columns),
	  .help = "further columns of -csvout and -jsonout, up to 8 with numbers: means over the "
		  "rounds of what a run has in its line COMBINED. xdd -help columns lists them" },
	{ .name = "journal",
	  OPTION_TEXT("<file>"),
	  LINE_FIELD(journal),
	  .help = "keep finished runs here; otherwise in <file>.journal of -jsonout, which is "
		  "removed once the document is complete" },
	{ .name = "resume",
	  OPTION_FLAG(struct sweep, line.resume),
	  .help = "go on with the journal of an interrupted sweep or curve" },
	{ .name = "dryrun",
	  OPTION_FLAG(struct sweep, line.dry_run),
	  .help = "check all points, and print their command lines" },
	{ OPTION_HELP },
	{ 0 },
};

const struct option_table sweep_options = {
	OPTION_GROUPS(OPTION_GROUP("Options of the sweep", sweep_rows),
		      OPTION_GROUP("Rounds and files", rows)),
};
const struct option_table curve_options = {
	OPTION_GROUPS(OPTION_GROUP("Options of the curve", curve_rows),
		      OPTION_GROUP("Rounds and files", rows)),
};

/* Options whose value is the name of a file of this sweep: a resumed one may have others. */
static bool is_place(const struct option *row)
{
	return row->off == offsetof(struct sweep, line.jsonout) ||
	       row->off == offsetof(struct sweep, line.csvout) ||
	       row->off == offsetof(struct sweep, line.journal) ||
	       row->off == offsetof(struct sweep, line.resume);
}

/* Add a word to those that a journal is begun with. */
static void keep_word(struct sweep *s, const char *word)
{
	const char *quoted = xneed(quote_word(s->arena, word));

	s->words = xarena_printf(s->arena, "%s%s%s", s->words, *s->words ? " " : "", quoted);
}

static void keep_option(struct line *l, const struct option *row, const char *word,
			const char *value)
{
	if (is_place(row))
		return;
	keep_word(l->to, word);
	if (value)
		keep_word(l->to, value);
}

/* Any other word is one of the runs. */
static enum xdd_status take_word(struct line *l)
{
	struct sweep *s = l->to;
	const char *value;

	if (line_option(l, &value))
		return XDD_OK;
	s->line.words[s->line.n_words++] = l->argv[l->at];
	keep_word(s, l->argv[l->at++]);
	return XDD_OK;
}

static enum xdd_status check_until(struct sweep *s)
{
	double percent;

	if (!s->line.until)
		return XDD_OK;
	if (units_parse_percentage(s->line.until, &percent) || percent < 0.01 || percent >= 100)
		return log_refuse("%s: -until %.64s: expected a percentage from 0.01 to below 100",
				  s->kind->name, s->line.until);
	s->results.until_percent = percent;
	return XDD_OK;
}

/* How many rounds, and how long each. */
static enum xdd_status check_rounds(struct sweep *s)
{
	struct sweep_line *l = &s->line;
	struct sweep_results *r = &s->results;
	const bool open = s->kind->varies && (l->until || l->each_ns);

	r->least = l->rounds ? l->rounds : l->until ? STATS_UNTIL_MIN : 5;
	r->most = l->most ? l->most : open ? (r->least > 100 ? r->least : 100) : r->least;
	r->each_ns = l->each_ns;
	if (l->most && !open)
		return log_refuse(
			"%s: -mostrounds: needs -until or -each, which end a point earlier",
			s->kind->name);
	if (r->most < r->least)
		return log_refuse(
			"%s: -mostrounds %ju: must be at least %ju, the rounds of each point",
			s->kind->name, (uintmax_t)r->most, (uintmax_t)r->least);
	/* A point that is known early then ends after half of its time. */
	if (!s->kind->varies && !l->each_ns && !l->round_ns)
		l->each_ns = EACH_NS;
	if (!l->round_ns && l->each_ns)
		l->round_ns = l->each_ns / (l->until ? 2 * r->least : r->least);
	return XDD_OK;
}

/* ---- files ---- */

/* Standard streams, devices and pipes have no journal beside them. */
static bool has_neighbor(const char *path)
{
	struct stat st;

	return output_standard(path) < 0 && (stat(path, &st) || S_ISREG(st.st_mode));
}

/* Each would replace the other, or the journal, which goes when the sweep is complete. */
static enum xdd_status check_places(const struct sweep *s)
{
	const struct {
		const char *option, *path;
	} files[] = {
		{ "-jsonout", s->line.jsonout },
		{ "-csvout", s->line.csvout },
		{ "-journal", s->journal_path },
	};

	for (size_t i = 1; i < sizeof(files) / sizeof(files[0]); i++) {
		for (size_t k = 0; k < i; k++) {
			if (!command_same_file(files[i].path, files[k].path))
				continue;
			return log_refuse(
				"%s: %s %s: this is the file of %s too; give each output a file "
				"of its own",
				s->kind->name, files[i].option, files[i].path, files[k].option);
		}
	}
	return XDD_OK;
}

static bool is_stdout(const char *path)
{
	return path && output_standard(path) == STDOUT_FILENO;
}

static enum xdd_status check_journal(struct sweep *s)
{
	s->journal_path = s->line.journal;
	s->json_is_stdout = is_stdout(s->line.jsonout);
	s->csv_is_stdout = is_stdout(s->line.csvout);
	s->quiet = s->json_is_stdout || s->csv_is_stdout;
	if (s->journal_path && output_standard(s->journal_path) >= 0)
		return log_refuse("%s: -journal %s: expected a file; it is read by -resume",
				  s->kind->name, s->journal_path);
	if (!s->journal_path && s->line.jsonout && has_neighbor(s->line.jsonout))
		s->journal_path = xarena_printf(s->arena, "%s.journal", s->line.jsonout);
	if (s->journal_path || !s->line.resume)
		return XDD_OK;
	return log_refuse("%s: -resume: needs the journal: -journal <file>, or -jsonout <file>",
			  s->kind->name);
}

enum xdd_status sweep_line_read(struct sweep *s, int argc, char **argv, const char **shows)
{
	struct line line = { .name = s->kind->name,
			     .options = s->kind->options,
			     .to = s,
			     .other = take_word,
			     .stored = keep_option };
	enum xdd_status status;

	s->line.seed = SWEEP_SEED_UNSET;
	s->line.words = xarena_alloc(s->arena, ((size_t)argc + 1) * sizeof(char *));
	s->line.vary = xarena_alloc(s->arena, ((size_t)argc + 1) * sizeof(char *));
	s->words = "";
	status = line_read(&line, argc, argv);
	*shows = line.shows;
	if (status || *shows)
		return status;
	if (!s->line.n_words && !s->line.n_vary)
		return log_refuse("%s: expected the options of a run%s; see xdd %s -help",
				  s->kind->name, s->kind->varies ? ", with lists" : "",
				  s->kind->name);
	status = sweep_restore_read(s);
	if (!status)
		status = sweep_columns_read(s);
	if (!status)
		status = check_until(s);
	if (!status)
		status = check_rounds(s);
	if (!status)
		status = check_journal(s);
	return status ? status : check_places(s);
}

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
	*buf = '\0';
	for (size_t i = 0; i < v->n_axes; i++)
		text_list(buf, size, "%s %s", v->axes[i].name,
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

/* The words that all points have after their own, the words of a round, and one for files. */
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
		return log_refuse(
			"-%s: is varied, and %s:%u has one value for all points; say -setup "
			"before the list",
			s->vary.axes[i].name, last->name.file, last->name.pos);
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
		return log_refuse(
			"-%s: in %s:%u it has no effect, as each run gets its own; say it on the "
			"command line",
			name, setting->name.file, setting->name.pos);
	}
	return XDD_OK;
}

static enum xdd_status check_settings(const struct plan *plan)
{
	if (!plan || plan->help || plan->list_engines)
		return log_refuse("-help, -version and -ioengine list: are no options of a point");
	for (size_t i = 0; i < plan->n_settings; i++) {
		const struct setting *s = &plan->settings[i];

		if (s->by_default || !is_refused(s))
			continue;
		return log_fail(
			XDD_BAD_OPTION,
			"%s: is for a single run; a sweep has -jsonout, -csvout and its table",
			s->name.text);
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
		if (is_target(plan, files[i].path))
			return log_refuse("-%s %s: is a target", files[i].option, files[i].path);
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
static void keep_plan(struct plan_series *series, struct plan *plan, struct dependence *d)
{
	const enum plan_effect effect = plan_effect(plan);
	bool needed = false;

	for (size_t i = 0; i < plan->n_targets; i++)
		d->reads |= plan_reads(&plan->targets[i]);
	d->follows |= plan_reads_earlier(plan, &needed);
	d->needs |= needed;
	d->changes |= effect != PLAN_LEAVES;
	d->shrinks |= effect == PLAN_SHRINKS;
	if (effect != PLAN_LEAVES)
		plan_series_add(series, plan, NULL);
	else
		plan_free(plan);
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
	keep_plan(series, plan, d);
	return XDD_OK;
}

/* Check all points in their order, before the results of earlier runs are known. */
static enum xdd_status check_round(struct sweep *s, struct plan_series *series,
				   struct dependence *d, bool first)
{
	enum xdd_status status = XDD_OK;
	uint64_t threads = 0;

	for (size_t i = 0; i < s->vary.n_points && !status; i++)
		status = check_point(s, series, i, d, &threads, first);
	return status;
}

enum xdd_status sweep_check(struct sweep *s)
{
	struct plan_series *series = plan_series_new(2 * s->vary.n_points);
	struct dependence d = { .needs = false };
	enum xdd_status status;

	status = check_round(s, series, &d, true);
	/* The second round begins with other files than the first; the third as the second. */
	if (!status && d.changes && d.reads && s->results.most > 1)
		status = check_round(s, series, &d, false);
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
	enum xdd_status status = XDD_OK;
	uint64_t number, threads = 0;
	bool begun;

	if (s->order == SWEEP_ORDER_ANY)
		return XDD_OK;
	number = next_round(s, &begun);
	s->in_order_until = s->order == SWEEP_ORDER_KEEP ? UINT64_MAX : number + begun;
	if (!begun)
		return XDD_OK;
	series = plan_series_new(s->vary.n_points);
	for (size_t i = 0; i < s->vary.n_points && !status; i++) {
		if (!sweep_has_round(&s->results.points[i], number))
			status = check_point(s, series, i, &d, &threads, false);
	}
	plan_series_free(series);
	return status;
}

void sweep_print_points(struct sweep *s, size_t n_points)
{
	for (size_t i = 0; i < n_points; i++) {
		const size_t n = vary_words(&s->vary, i, s->more, s->buffer);

		for (size_t k = 0; k < n; k++) {
			struct arena *arena = xarena_new();
			const char *word = xneed(quote_word(arena, s->buffer[k]));

			printf("%s%s", k ? " " : "", word);
			arena_free(arena);
		}
		putchar('\n');
	}
}
