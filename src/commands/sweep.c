/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * xdd sweep: runs over lists of values of options, its notes, and its standard output. Called by
 * main.
 */
#include "commands/sweep.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "commands/commands.h"
#include "xdd/base/log.h"
#include "xdd/base/memory.h"
#include "xdd/base/output.h"
#include "xdd/base/text.h"
#include "xdd/base/units.h"
#include "xdd/commands/command.h"
#include "xdd/plan/option.h"
#include "xdd/plan/plan.h"
#include "xdd/report/column.h"
#include "xdd/report/rule.h"
#include "xdd/report/screen.h"
#include "xdd/sys/clock.h"

/*
 * Further columns of the files of a sweep: -columns.
 */

static enum xdd_status sweep_columns_refuse(const struct sweep *s, const char *id, int length,
					    const char *why)
{
	return log_refuse("%s: -columns %.*s: %s", s->kind->name, length, id, why);
}

/* Means need numbers, and a file that has each column once. */
static enum xdd_status sweep_columns_check(const struct sweep *s)
{
	const struct column_list *list = &s->results.columns;

	for (size_t i = 0; i < list->n; i++) {
		const struct column *col = list->columns[i];

		if (col->type != COLUMN_COUNT && col->type != COLUMN_REAL)
			return sweep_columns_refuse(s, col->id, 64,
						    "is a text; name columns with numbers");
		for (size_t k = 0; k < i; k++) {
			if (list->columns[k] == col)
				return sweep_columns_refuse(s, col->id, 64,
							    "is in the list twice; leave one out");
		}
	}
	if (list->n > SWEEP_MAX_COLUMNS)
		return log_refuse("%s: -columns: names %zu columns; expected up to %d",
				  s->kind->name, list->n, SWEEP_MAX_COLUMNS);
	return XDD_OK;
}

static bool has_file(const struct sweep *s)
{
	return s->line.csvout || s->line.jsonout;
}

enum xdd_status sweep_columns_read(struct sweep *s)
{
	const char *text = s->line.columns, *bad;
	char option[32];
	size_t length;
	int err;

	/* Where the line of a curve has no room for them. */
	if (!text && !s->kind->varies && has_file(s) &&
	    (sweep_has_option(s, "flushwrite") || sweep_has_option(s, "syncwrite")))
		text = "+FLUSHES+FLUSHLATMEAN+FLUSHLATP99+FLUSHLATMAX";
	if (!text)
		return XDD_OK;
	if (!has_file(s))
		return sweep_columns_refuse(s, text, 128,
					    "needs a file for them: -csvout or -jsonout");
	err = column_list_parse(&s->results.columns, text, &bad, &length);
	if (err == -EINVAL) {
		snprintf(option, sizeof(option), "%s: -columns", s->kind->name);
		column_list_refuse(option, text, "+OPENTIME+CLOSETIME", bad, length);
		return XDD_BAD_ARGUMENT;
	}
	if (err)
		memory_end();
	return sweep_columns_check(s);
}

/*
 * The notes of a sweep: the warnings of the plans of its points, and the findings of their runs,
 * each once with the points that it concerns.
 */

#define SWEEP_NOTES_LABEL_SIZE 160
#define POINTS_SIZE 640
#define EXAMPLES 3

/* A warning of the plans of some points. */
struct sweep_warning {
	const char *text;
	bool *points;
	struct sweep_warning *next;
};

/* ---- the points, in words ---- */

/* Those that are run: all of a sweep, and of a curve as many as it has come to. */
static size_t points_of(const struct sweep *s)
{
	size_t n = 0;

	for (size_t i = 0; i < s->vary.n_points; i++)
		n += !s->results.points[i].unused;
	return n;
}

static size_t sweep_notes_count(const struct sweep *s, const bool *points)
{
	size_t n = 0;

	for (size_t i = 0; i < s->vary.n_points; i++)
		n += points[i];
	return n;
}

/* "all 6 points", "the point", or "2 of 6 points: queuedepth 1; queuedepth 2", in `buf`. */
static const char *points_text(const struct sweep *s, const bool *points, char *buf, size_t size)
{
	const size_t all = points_of(s), n = sweep_notes_count(s, points);
	size_t shown = 0;

	if (n >= all) {
		if (all > 2)
			snprintf(buf, size, "all %zu points", all);
		else
			snprintf(buf, size, "%s", all == 1 ? "the point" : "both points");
		return buf;
	}
	snprintf(buf, size, "%zu of %zu points:", n, all);
	for (size_t i = 0; i < s->vary.n_points && shown < EXAMPLES; i++) {
		char label[SWEEP_NOTES_LABEL_SIZE];

		if (points[i])
			text_add(buf, size, "%s %s", shown++ ? ";" : "",
				 sweep_label(&s->vary, i, label, sizeof(label)));
	}
	return n > shown ? text_add(buf, size, "; and %zu more", n - shown) : buf;
}

/* ---- warnings of plans ---- */

static struct sweep_warning *new_warning(struct sweep *s, const char *text)
{
	struct sweep_warning **end = &s->warnings, *w = xarena_alloc(s->arena, sizeof(*w));

	w->text = xarena_strdup(s->arena, text);
	w->points = xarena_alloc(s->arena, s->vary.n_points * sizeof(*w->points));
	while (*end)
		end = &(*end)->next;
	return *end = w;
}

static void add_warning(struct sweep *s, size_t point, const char *text)
{
	struct sweep_warning *w = s->warnings;

	while (w && strcmp(w->text, text))
		w = w->next;
	if (!w)
		w = new_warning(s, text);
	w->points[point] = true;
}

void sweep_keep_warnings(struct sweep *s, size_t point, const struct plan *plan)
{
	static const char prefix[] = "warning: ";
	struct captured c = { .size = 0 };
	char *rest = c.text, *line;

	log_divert(captured_add, &c);
	plan_warn(plan);
	log_divert(NULL, NULL);
	while (c.size && (line = strsep(&rest, "\n")) && *line) {
		const char *text = captured_message(line);

		if (strncmp(text, prefix, sizeof(prefix) - 1) == 0)
			text += sizeof(prefix) - 1;
		add_warning(s, point, text);
	}
}

/* log_warning() for each that was kept. */
static void sweep_log_warnings(const struct sweep *s)
{
	char points[POINTS_SIZE];

	for (const struct sweep_warning *w = s->warnings; w; w = w->next) {
		if (sweep_notes_count(s, w->points) == s->vary.n_points)
			log_warning("%s", w->text);
		else
			log_warning("%s (%s)", w->text,
				    points_text(s, w->points, points, sizeof(points)));
	}
}

/* ---- after the table ---- */

void sweep_say(const struct sweep *s, const char *label, const char *fmt, ...)
{
	struct screen screen;
	char *safe;
	va_list ap;

	va_start(ap, fmt);
	safe = printable_dup(xneed(arena_vprintf(s->arena, fmt, ap)), false);
	va_end(ap);
	screen_init(&screen, STDOUT_FILENO);
	screen_wrap(&screen, stdout, SCREEN_BOLD, label, safe ? safe : "");
	screen_free(&screen);
	free(safe);
}

static void put_note(const struct sweep *s, const char *kind, const char *text, const bool *points)
{
	char of[POINTS_SIZE];

	sweep_say(s, kind, "%s, at %s", text, points_text(s, points, of, sizeof(of)));
}

/* Print findings and warnings to standard output, unless that is a file's. */
static void sweep_show_notes(const struct sweep *s)
{
	bool *points = s->quiet ? NULL : calloc(s->vary.n_points, sizeof(*points));

	if (!points)
		return;
	for (unsigned rule = 0; rule < RULE_FINDINGS; rule++) {
		bool any = false;

		for (size_t i = 0; i < s->vary.n_points; i++) {
			points[i] = sweep_findings(&s->results.points[i]) >> rule & 1;
			any |= points[i];
		}
		if (any)
			put_note(s, "Finding", rule_table[rule].condition, points);
	}
	for (const struct sweep_warning *w = s->warnings; w; w = w->next)
		put_note(s, "Warning", w->text, w->points);
	free(points);
}

/*
 * Standard output: the rounds as they end, on a terminal, and the table of all points.
 */

#define SWEEP_SHOW_LABEL_SIZE 160

/* ---- numbers ---- */

/* "1:23:45" */
static void clock_text(uint64_t ns, char *buf, size_t size)
{
	const uint64_t s = ns / NS_PER_SEC;

	if (s >= 3600)
		snprintf(buf, size, "%" PRIu64 ":%02" PRIu64 ":%02" PRIu64, s / 3600, s / 60 % 60,
			 s % 60);
	else
		snprintf(buf, size, "%" PRIu64 ":%02" PRIu64, s / 60, s % 60);
}

/* ---- the line before a run ---- */

/* Runs that are known to follow. */
static uint64_t runs_left(const struct sweep_results *r)
{
	uint64_t n = 0;

	for (size_t i = 0; i < r->vary->n_points; i++) {
		const struct sweep_point *p = &r->points[i];

		if (p->unused)
			continue;
		if (p->n < r->least)
			n += r->least - p->n;
		else
			n += sweep_wants(r, p);
	}
	return n;
}

char *sweep_title(const struct sweep *s, const struct sweep_round *round, char *buf, size_t size)
{
	char label[SWEEP_SHOW_LABEL_SIZE], left[32] = "";
	const uint64_t runs = runs_left(&s->results);
	const bool open = s->results.until_percent > 0 || s->results.each_ns || s->curve;

	sweep_label(&s->vary, (size_t)round->point, label, sizeof(label));
	if (s->runs)
		clock_text((clock_now_ns() - s->begun_ns) / s->runs * runs, left, sizeof(left));
	snprintf(buf, size, "round %" PRIu64 ", point %" PRIu64 " of %zu, %s%s%s%s", round->round,
		 round->point + 1, s->vary.n_points, open && *left ? "at least " : "", left,
		 *left ? " left, " : "", label);
	return buf;
}

/* ---- tables ---- */

#define SWEEP_CELL 80

/* The columns after the axes. */
enum sweep_column {
	SWEEP_RATE,
	SWEEP_IOPS,
	SWEEP_LATENCY,
	SWEEP_P99,
	SWEEP_ROUND, /* the last one, while rounds are shown */
	SWEEP_INTERVAL = SWEEP_ROUND,
	SWEEP_ROUNDS,
	SWEEP_STEADY,
};

/* Rounds are shown as they end: their widths are known before. */
static const struct screen_column round_columns[] = {
	{ .heading = "rate", .width = 9 },
	{ .heading = "IOPS", .width = 8 },
	{ .heading = "latency", .width = 7 },
	{ .heading = "p99", .width = 7, .leave = 1 },
	{ .heading = "round" },
};

static const struct screen_column table_columns[] = {
	{ .heading = "rate" },
	{ .heading = "IOPS" },
	{ .heading = "latency" },
	{ .heading = "p99", .leave = 1 },
	{ .heading = "+-95 %" },
	{ .heading = "rounds", .leave = 3 },
	{ .heading = "steady", .leave = 2 },
};

struct sweep_rows {
	struct screen screen;
	struct screen_table table;
	char (*texts)[SWEEP_CELL]; /* of the cells of a row */
	const char **cells;
};

static void set_axis(struct sweep_rows *r, size_t i, const char *text)
{
	char *safe = printable_dup(text, false);

	snprintf(r->texts[i], SWEEP_CELL, "%s", safe ? safe : "?");
	free(safe);
}

/* A table of the axes and `n` columns more, as wide as the values of the axes and the headings. */
static void rows_begin(const struct sweep *s, struct sweep_rows *r,
		       const struct screen_column *columns, size_t n)
{
	const size_t axes = s->vary.n_axes;

	screen_init(&r->screen, STDOUT_FILENO);
	r->table = (struct screen_table){ .screen = &r->screen, .n = axes + n };
	r->table.columns = xcalloc(axes + n, sizeof(*r->table.columns));
	r->texts = xcalloc(axes + n, sizeof(*r->texts));
	r->cells = xcalloc(axes + n, sizeof(*r->cells));
	for (size_t i = 0; i < axes + n; i++) {
		r->cells[i] = r->texts[i];
		if (i >= axes)
			r->table.columns[i] = columns[i - axes];
		else
			r->table.columns[i].heading = s->vary.axes[i].name;
	}
	screen_table_widen(&r->table, NULL);
	for (size_t i = 0; i < axes; i++) {
		for (size_t k = 0; k < s->vary.axes[i].n; k++) {
			set_axis(r, i, s->vary.axes[i].values[k].text);
			screen_table_widen(&r->table, r->cells);
		}
		*r->texts[i] = '\0';
	}
}

static void rows_end(struct sweep_rows *r)
{
	free(r->table.columns);
	free(r->texts);
	free(r->cells);
	screen_free(&r->screen);
}

/* The cells of a point up to p99; returns the others. */
static char (*set_point(const struct sweep *s, struct sweep_rows *r, size_t point,
			const double values[SWEEP_ROUND]))[SWEEP_CELL]
{
	char(*texts)[SWEEP_CELL] = r->texts + s->vary.n_axes;

	for (size_t i = 0; i < s->vary.n_axes; i++)
		set_axis(r, i, s->vary.axes[i].values[vary_at(&s->vary, point, i)].text);
	scaled_rate(values[SWEEP_RATE], texts[SWEEP_RATE]);
	scaled_ops(values[SWEEP_IOPS], texts[SWEEP_IOPS]);
	scaled_time(values[SWEEP_LATENCY], texts[SWEEP_LATENCY]);
	scaled_time(values[SWEEP_P99], texts[SWEEP_P99]);
	return texts;
}

static const enum pass_figure sweep_shown[SWEEP_ROUND] = { FIGURE_BANDWIDTH, FIGURE_IOPS,
							   FIGURE_LATENCY, FIGURE_P99 };

/* The row of a round; NULL: the headings. On a terminal, which gets each line at its end. */
static void sweep_show_round(const struct sweep *s, const struct sweep_round *round)
{
	double values[SWEEP_ROUND];
	struct sweep_rows r;

	rows_begin(s, &r, round_columns, sizeof(round_columns) / sizeof(round_columns[0]));
	screen_table_fit(&r.table);
	if (round) {
		for (size_t i = 0; i < SWEEP_ROUND; i++)
			values[i] = sweep_round_value(round, sweep_shown[i]);
		snprintf(set_point(s, &r, (size_t)round->point, values)[SWEEP_ROUND], SWEEP_CELL,
			 "%" PRIu64, round->round);
	}
	screen_table_put(&r.table, stdout, round ? r.cells : NULL);
	rows_end(&r);
}

static void sweep_show_head(const struct sweep *s)
{
	if (s->quiet)
		return;
	sweep_say(s, NULL,
		  "%zu point%s, %" PRIu64 " round%s each%s, order by "
		  "-orderseed %" PRIu64,
		  s->vary.n_points, s->vary.n_points == 1 ? "" : "s", s->results.least,
		  s->results.least == 1 ? "" : "s",
		  s->results.most > s->results.least ? " or more" : "", s->results.seed);
	if (s->terminal)
		sweep_show_round(s, NULL);
	fflush(stdout);
}

const char *sweep_percent_text(double percent, char *buf, size_t size)
{
	if (rule_too_few(percent))
		snprintf(buf, size, "too few");
	else
		snprintf(buf, size, percent < 9.95 ? "+-%.1f %%" : "+-%.0f %%", percent);
	return buf;
}

static void set_table_row(const struct sweep *s, struct sweep_rows *r, size_t point)
{
	const struct sweep_point *p = &s->results.points[point];
	const struct sweep_steadiness steady = sweep_steady(p);
	double values[SWEEP_ROUND];
	struct sweep_mean m;
	char(*texts)[SWEEP_CELL];

	for (size_t i = 0; i < SWEEP_ROUND; i++)
		values[i] = sweep_mean(&s->results, p, sweep_shown[i]).mean;
	texts = set_point(s, r, point, values);
	m = sweep_mean(&s->results, p, FIGURE_BANDWIDTH);
	sweep_percent_text(m.percent, texts[SWEEP_INTERVAL], SWEEP_CELL);
	snprintf(texts[SWEEP_ROUNDS], SWEEP_CELL, "%zu", p->n);
	if (steady.after)
		snprintf(texts[SWEEP_STEADY], SWEEP_CELL, "after %" PRIu64, steady.after);
	else
		strcpy(texts[SWEEP_STEADY], m.n < STATS_STEADY_WINDOW ? "-" : "no");
}

/* Show errors and status of a point below its row. */
static void show_faults(const struct sweep_point *p)
{
	uint64_t errors = 0;

	for (size_t i = 0; i < p->n; i++)
		errors += p->rounds[i].errors;
	if (errors)
		printf("  the point above: %" PRIu64 " errors\n", errors);
	if (p->status && p->status != XDD_IO_ERROR)
		printf("  the point above: status %d\n", p->status);
}

/* Rows that have no interval, and what makes one. */
static void show_too_few(const struct sweep *s, const struct screen *screen)
{
	size_t few = 0;
	const char *text;

	for (size_t i = 0; i < s->vary.n_points; i++) {
		const struct sweep_point *p = &s->results.points[i];

		few += p->n && rule_too_few(sweep_mean(&s->results, p, FIGURE_BANDWIDTH).percent);
	}
	if (!few)
		return;
	text = xarena_printf(s->arena,
			     RULE_TOO_FEW_WORDS
			     " at %zu point%s to say how far they repeat; -rounds makes more",
			     few, few == 1 ? "" : "s");
	screen_wrap(screen, stdout, SCREEN_PLAIN, "+-95 %", text);
}

static void sweep_show_table(const struct sweep *s)
{
	const struct sweep_results *r = &s->results;
	struct sweep_rows rows;
	size_t done = 0;

	if (s->quiet)
		return;
	if (s->terminal)
		putchar('\n');
	rows_begin(s, &rows, table_columns, sizeof(table_columns) / sizeof(table_columns[0]));
	for (size_t i = 0; i < s->vary.n_points; i++) {
		set_table_row(s, &rows, i);
		screen_table_widen(&rows.table, rows.cells);
		done += r->points[i].n && !sweep_wants(r, &r->points[i]);
	}
	screen_table_fit(&rows.table);
	screen_table_put(&rows.table, stdout, NULL);
	for (size_t i = 0; i < s->vary.n_points; i++) {
		set_table_row(s, &rows, i);
		screen_table_put(&rows.table, stdout, rows.cells);
		show_faults(&r->points[i]);
	}
	screen_table_end(&rows.table, stdout);
	show_too_few(s, &rows.screen);
	rows_end(&rows);
	if (r->partial)
		sweep_say(s, "Interrupted", "%zu of %zu points are complete%s.", done,
			  s->vary.n_points, s->journal_path ? "; -resume continues" : "");
}

static const char usage[] =
	"usage: xdd sweep [options of the sweep] <options of a run, with lists>\n"
	"\n"
	"Runs each combination of the values in the lists several times, and shows a\n"
	"table. A list has commas: -queuedepth 1,2,4 -op read,write; or is a range:\n"
	"1..8 by ones, 1..64x2 by a factor, 64k..1M+64k by a step. Lists are read in\n"
	"options whose values have no commas; -vary gives one to any other.\n"
	"\n"
	"All points are checked before the first is run. Each round runs all of them\n"
	"once, in an order of its own: what changes with time changes all points alike.\n"
	"Points may read what points before them write: the first round is then in\n"
	"their order.\n"
	"Without a time limit or -each, a run does the work of its options.\n";

static const char footer[] =
	"Exit status: 0 all points were run, 5 a signal ended the sweep (-resume\n"
	"continues it), otherwise the greatest status of a run, as xdd has it.\n";

/* ---- preparation ---- */

bool sweep_has_option(const struct sweep *s, const char *option)
{
	for (size_t i = 0; i < s->line.n_words; i++) {
		const char *word = s->line.words[i];
		const struct option *opt =
			word[0] == '-' && word[1] ?
				option_find(&run_options, word + (word[1] == '-' ? 2 : 1)) :
				NULL;

		if (opt && strcmp(opt->name, option) == 0)
			return true;
	}
	return false;
}

/* The words that limit each run. Those of the user stay. */
static void add_limit(struct sweep *s)
{
	const bool own = sweep_has_option(s, "timelimit") || sweep_has_option(s, "runtime");
	const uint64_t ns = s->line.round_ns;

	if (!ns || own)
		return;
	s->more[0] = "-timelimit";
	s->more[1] = xarena_printf(s->arena, "%ju.%09ju", (uintmax_t)(ns / NS_PER_SEC),
				   (uintmax_t)(ns % NS_PER_SEC));
}

static void choose_seed(struct sweep *s)
{
	uint32_t word = 0;

	if (s->line.seed != SWEEP_SEED_UNSET) {
		s->results.seed = s->line.seed;
		return;
	}
	if (getrandom(&word, sizeof(word), GRND_NONBLOCK) < 0)
		word = (uint32_t)clock_wall_ns();
	s->results.seed = word;
}

static enum xdd_status sweep_prepare(struct sweep *s)
{
	enum xdd_status status = vary_read(s->arena, s->kind->name, s->line.words, s->line.n_words,
					   s->line.vary, s->line.n_vary, s->line.pairs, &s->vary);

	if (status)
		return status;
	add_limit(s);
	choose_seed(s);
	status = s->kind->prepare ? s->kind->prepare(s) : XDD_OK;
	if (status)
		return status;
	s->buffer = xarena_alloc(s->arena, (vary_room(&s->vary, NULL) + SWEEP_MORE_WORDS) *
						   sizeof(*s->buffer));
	s->results.vary = &s->vary;
	s->results.more = s->more;
	s->results.started_ns = clock_wall_ns();
	s->terminal = isatty(STDOUT_FILENO) && !s->quiet;
	if (sweep_results_begin(&s->results))
		memory_end();
	return XDD_OK;
}

static void keep_command_line(struct sweep *s, int argc, char **argv)
{
	const char *line = xarena_printf(s->arena, "xdd %s", s->kind->name);

	for (int i = 1; i < argc; i++) {
		const char *word = xneed(quote_word(s->arena, argv[i]));

		line = xarena_printf(s->arena, "%s %s", line, word);
	}
	s->results.command_line = line;
}

/* ---- files ---- */

static enum xdd_status open_file(const struct sweep *s, struct newfile *file, const char *option,
				 const char *path)
{
	int err = path ? newfile_open(file, path) : 0;

	if (!err)
		return XDD_OK;
	return log_refuse("%s: %s %s: %s", s->kind->name, option, path, output_strerror(err));
}

static enum xdd_status open_files(struct sweep *s)
{
	enum xdd_status status =
		open_file(s, &s->json, "-jsonout", s->json_is_stdout ? NULL : s->line.jsonout);

	if (!status)
		status = open_file(s, &s->csv, "-csvout", s->csv_is_stdout ? NULL : s->line.csvout);
	return status ? status : sweep_journal_open(s);
}

static bool end_file(const struct sweep *s, struct newfile *file, const char *option,
		     const char *path, int err)
{
	if (!file->f)
		return true;
	err = newfile_close(file, err);
	if (err)
		log_error("%s: %s %s: %s", s->kind->name, option, path, output_strerror(err));
	return !err;
}

static bool write_csv(struct sweep *s)
{
	FILE *f = s->csv_is_stdout ? stdout : s->csv.f;
	int err = f ? s->kind->csv(f, &s->results) : 0;

	return end_file(s, &s->csv, "-csvout", s->line.csvout, err);
}

/* Write the document. The environment is the one of the first point. */
static bool write_json(struct sweep *s, int status)
{
	FILE *f = s->json_is_stdout ? stdout : s->json.f;
	struct plan *plan = NULL;
	int err = 0;

	if (f && sweep_plan(s, 0, &plan))
		err = -ENOENT;
	if (f && !err)
		err = sweep_write_json(f, &s->results, plan, status);
	if (!s->runner.stuck)
		plan_free(plan);
	return end_file(s, &s->json, "-jsonout", s->line.jsonout, err);
}

/* The document is last, so that it has the status of all. Returns that status. */
static enum xdd_status write_results(struct sweep *s, enum xdd_status status)
{
	bool good, json;

	s->kind->table(s);
	sweep_show_notes(s);
	good = write_csv(s);
	good = command_flush() && good;
	if (!good && !status)
		status = XDD_IO_ERROR;
	json = write_json(s, (int)status);
	json = (!s->json_is_stdout || command_flush()) && json;
	sweep_journal_close(s, good && json && !s->results.partial && !s->json_is_stdout &&
				       s->line.jsonout);
	return json || status ? status : XDD_IO_ERROR;
}

/* ---- the command ---- */

/* Memory is short: write the results of the runs so far. */
static void save_results(void *arg)
{
	struct sweep *s = arg;

	s->results.partial = true;
	write_results(s, XDD_INIT_FAILED);
}

static enum xdd_status run(struct sweep *s)
{
	enum xdd_status status = runner_begin(&s->runner);

	if (status)
		return status;
	s->kind->head(s);
	memory_on_end(XDD_INIT_FAILED, save_results, s);
	status = sweep_run(s);
	memory_on_end(XDD_INIT_FAILED, NULL, NULL);
	status = write_results(s, status);
	if (s->runner.stuck)
		_exit((int)status);
	runner_end(&s->runner);
	return status;
}

static enum xdd_status sweep_sweep(struct sweep *s, int argc, char **argv)
{
	const char *shows;
	enum xdd_status status = sweep_line_read(s, argc, argv, &shows);

	if (shows && !status)
		return command_show(s->kind->command, shows);
	if (!status) {
		keep_command_line(s, argc, argv);
		status = sweep_prepare(s);
	}
	if (!status)
		status = sweep_check(s);
	/* The document of a sweep has them. */
	log_keep();
	if (!status)
		sweep_log_warnings(s);
	if (!status && s->line.dry_run) {
		s->kind->print(s);
		return command_flush() ? XDD_OK : XDD_IO_ERROR;
	}
	if (!status)
		status = open_files(s);
	if (!status)
		status = sweep_check_rest(s);
	return status ? status : run(s);
}

int sweep_command(const struct sweep_kind *kind, int argc, char **argv)
{
	struct sweep s = { .kind = kind, .arena = xarena_new(), .journal.fd = -1 };
	enum xdd_status status = sweep_sweep(&s, argc, argv);

	newfile_discard(&s.json);
	newfile_discard(&s.csv);
	sweep_journal_close(&s, false);
	column_list_free(&s.results.columns);
	sweep_results_free(&s.results);
	arena_free(s.arena);
	return (int)status;
}

static void sweep_print(struct sweep *s)
{
	sweep_print_points(s, s->vary.n_points);
}

static const struct sweep_kind kind = {
	.name = "sweep",
	.command = &command_sweep,
	.options = &sweep_options,
	.varies = true,
	.print = sweep_print,
	.run = sweep_rounds,
	.head = sweep_show_head,
	.round = sweep_show_round,
	.table = sweep_show_table,
	.csv = sweep_write_csv,
};

static int sweep_main(int argc, char **argv)
{
	return sweep_command(&kind, argc, argv);
}

const struct command command_sweep = {
	.name = "sweep",
	.summary = "runs over lists of values of options, with a table, CSV and JSON",
	.usage = usage,
	.options = &sweep_options,
	.footer = footer,
	.main = sweep_main,
};
