/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * xdd compare: runs side by side. Called by main.
 */
#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "commands/commands.h"
#include "xdd/base/log.h"
#include "xdd/base/memory.h"
#include "xdd/base/text.h"
#include "xdd/base/units.h"
#include "xdd/commands/command.h"
#include "xdd/plan/line.h"
#include "xdd/plan/option.h"
#include "xdd/report/compare.h"
#include "xdd/report/screen.h"

#define SEPARATOR "--"
#define FEW_PASSES 5 /* the recommendation for a run with too few */

struct comparison {
	struct compare_side a, b;
	struct compare_limit *limits;
	size_t n_limits;
	struct compare_run *runs; /* of both sides, in order */
	size_t n_runs;
	size_t separators, before; /* the number of "--", and of runs before the last one */
	struct compare_subjects subjects;
	int name_width; /* of their names */
	bool sweeps;	/* the documents are of sweeps; their points are subjects */

	/* sums over the results */
	size_t judged;	  /* figures that have an interval */
	size_t real;	  /* differences that are not chance */
	size_t unstable;  /* that would be real if the runs were reproducible */
	size_t unknown;	  /* figures that cannot be compared, without percentiles */
	size_t exceeded;  /* limits of -failif */
	size_t undecided; /* limits of -failif that cannot be judged */
};

static const char usage[] =
	"usage: xdd compare [-failif <limit>]... <a.json> <b.json>\n"
	"       xdd compare [-failif <limit>]... <a1.json> <a2.json>... -- <b1.json>...\n"
	"\n"
	"Says what differs between runs of xdd with -jsonout: environment, plan, and\n"
	"results. Of each result it shows the ratio of b to a with its confidence\n"
	"interval (95 %, of percentiles 99 %) and a verdict, by Welch's t test.\n"
	"\n"
	"Two runs are compared by their passes, at least two in each: \"real\" is a\n"
	"difference beyond the scatter inside these two runs. Several runs on a side are\n"
	"compared as wholes: \"real\" is then beyond the spread from run to run as well.\n"
	"Documents of xdd sweep are compared point by point, documents of xdd curve load\n"
	"by load: by response times, and by maximum and knee.\n";

static enum xdd_status add_limits(const struct setting *s, void *dst)
{
	struct comparison *c = dst;
	const char *text = s->args[0].text;

	for (;;) {
		c->limits = xarray_room(c->limits, c->n_limits, sizeof(*c->limits));
		if (!compare_limit_parse(&c->limits[c->n_limits], text))
			return XDD_BAD_ARGUMENT;
		text += c->limits[c->n_limits++].length;
		if (!*text)
			return XDD_OK;
		text++;
	}
}

static const struct option rows[] = {
	{ .name = "failif",
	  OPTION_CUSTOM("<limit>", add_limits),
	  .help = "end with an exit status for scripts. <limit> is a figure, "
		  "bandwidth, iops, latency, p50, p99, p99.9, flush, response, response_p50, "
		  "response_p99, response_p99.9, and of curves maximum or knee, and how far b may be "
		  "above or below a: p99+10%, bandwidth-5%; of a curve, latency, p50, p99 and p99.9 "
		  "mean response times; several with commas between them, or with "
		  "-failif again. A limit is exceeded when the change is greater, and real" },
	{ OPTION_HELP, .aliases = "h" },
	{ 0 },
};

static const struct option_table options = { OPTION_GROUPS(OPTION_GROUP("Options", rows)) };

/* ---- the command line ---- */

/* The names of a side, and of its runs. */
static void set_side(struct compare_side *side, const char *name, struct compare_run *runs,
		     size_t n)
{
	*side = (struct compare_side){ .name = name, .runs = runs, .n = n };
	for (size_t i = 0; i < n; i++) {
		if (n == 1)
			snprintf(runs[i].name, sizeof(runs[i].name), "%s", name);
		else
			snprintf(runs[i].name, sizeof(runs[i].name), "%s%zu", name, i + 1);
	}
}

/* Two files are a and b. With more, the separator follows the first `before` files. */
static bool split_sides(struct comparison *c)
{
	const size_t n = c->n_runs, separators = c->separators;
	size_t before = c->before;

	if (!separators && n == 2)
		before = 1;
	else if (!separators && n > 2)
		log_error(
			"compare: expected two files, or the runs of both sides with -- between them, as in "
			"xdd compare a1.json a2.json -- b1.json b2.json");
	else if (!separators)
		log_error(
			"compare: expected two files of -jsonout, %zu given; see xdd compare -help",
			n);
	else if (separators > 1)
		log_error("compare: expected one -- between the runs of both sides");
	else if (!before || before == n)
		log_error("compare: expected files on both sides of --");
	if (!before || before >= n || separators > 1)
		return false;
	set_side(&c->a, "a", c->runs, before);
	set_side(&c->b, "b", c->runs + before, n - before);
	return true;
}

static enum xdd_status take_file(struct line *l, const char *word)
{
	struct comparison *c = l->to;

	c->runs[c->n_runs++].doc.name = word;
	return XDD_OK;
}

/* "--" is between the sides; options may follow it. */
static enum xdd_status take_separator(struct line *l)
{
	struct comparison *c = l->to;

	if (strcmp(l->argv[l->at], SEPARATOR) != 0)
		return XDD_OK;
	l->at++;
	c->separators++;
	c->before = c->n_runs;
	return XDD_OK;
}

/* ---- environment and plan ---- */

/* Print a text of the document, which may come from any source, between two texts of ours. */
static void put_text(const char *before, const char *text, const char *after)
{
	fputs(before, stdout);
	printable_put(stdout, text);
	fputs(after, stdout);
}

static void print_side(const struct compare_side *side)
{
	for (size_t i = 0; i < side->n; i++) {
		const struct compare_run *run = &side->runs[i];
		const struct document *d = &run->doc;

		printf("%s: ", run->name);
		put_text("", d->name, "\n");
		put_text("  ", d->start_time, ", xdd ");
		put_text("", d->xdd, ", ");
		put_text("", d->partial ? "cut short" : d->sweep ? "sweep" : d->end, "\n");
		put_text("  ", d->command_line, "\n");
	}
}

/* Print the differences between the first run of a side and its others, which should be alike. */
static void print_inside(const struct compare_side *side, const char *title, const char *member)
{
	const json_t *first = json_object_get(side->runs[0].doc.root, member);

	for (size_t i = 1; i < side->n; i++) {
		struct memstream m;

		compare_diff(xmemstream_open(&m), first,
			     json_object_get(side->runs[i].doc.root, member), compare_skipped);
		if (*xmemstream_close(&m))
			printf("\n%s, %s to %s\n%s", title, side->runs[0].name, side->runs[i].name,
			       m.text);
		free(m.text);
	}
}

static void print_diff(const struct comparison *c, const char *title, const char *member)
{
	printf("\n%s\n", title);
	if (!compare_diff(stdout, json_object_get(c->a.runs[0].doc.root, member),
			  json_object_get(c->b.runs[0].doc.root, member), compare_skipped))
		printf("  the same\n");
	print_inside(&c->a, title, member);
	print_inside(&c->b, title, member);
}

/* ---- results ---- */

static void find_subjects(struct comparison *c)
{
	struct compare_subjects *s = &c->subjects;

	compare_subjects(s, &c->a, &c->b);
	if (s->width > (size_t)c->name_width)
		c->name_width = (int)s->width;
}

static void __attribute__((format(printf, 1, 2))) compare_say(const char *fmt, ...)
{
	va_list ap;
	char *text;

	va_start(ap, fmt);
	if (vasprintf(&text, fmt, ap) < 0)
		text = NULL;
	va_end(ap);
	screen_say(xneed(text));
	free(text);
}

/* The runs `of` a side that are not reproducible. */
static void print_trouble(const struct compare_side *side, const struct compare_subject *s,
			  const struct document_statistic *const *of)
{
	for (size_t i = 0; of && i < side->n; i++) {
		if (!*of[i]->not_reproducible)
			continue;
		compare_say("  %s, %s, is not reproducible: %s", side->runs[i].name, s->name,
			    of[i]->not_reproducible);
	}
}

enum {
	COLUMN_SUBJECT,
	COLUMN_FIGURE,
	COLUMN_A,
	COLUMN_B,
	COLUMN_CHANGE,
	COLUMN_INTERVAL,
	COLUMN_VERDICT,
	COMPARE_COLUMNS,
};

static const struct screen_column result_columns[COMPARE_COLUMNS] = {
	[COLUMN_SUBJECT] = { .heading = "", .left = true },
	[COLUMN_FIGURE] = { .heading = "", .left = true },
	[COLUMN_A] = { .heading = "a" },
	[COLUMN_B] = { .heading = "b" },
	[COLUMN_CHANGE] = { .heading = "b to a" },
	[COLUMN_INTERVAL] = { .heading = "95 % interval", .leave = 1 },
	[COLUMN_VERDICT] = { .heading = "" },
};

/* The table of results. */
struct compare_table {
	struct screen screen;
	struct screen_column columns[COMPARE_COLUMNS];
	struct screen_table table;
	bool single;  /* there is one subject, which needs no name */
	bool grouped; /* each figure has a line of its own above its subjects, not a column */
	double level; /* of the intervals of the last row */
	bool print;   /* rows are printed; false: they make columns wide enough */
};

static void put_cells(struct compare_table *t, const char *const *cells)
{
	if (t->print)
		screen_table_put(&t->table, stdout, cells);
	else
		screen_table_widen(&t->table, cells);
}

static void put_figure(struct compare_table *t, const struct compare_subject *s,
		       enum pass_figure figure, const struct compare_figure *f)
{
	char *name = xneed(printable_dup(s->name, false)), *subject;
	char a[SCALED_SIZE], b[SCALED_SIZE];
	struct compare_texts texts;

	/* Indented, as the lines of other parts. */
	if (asprintf(&subject, "%s%s", t->grouped ? "    " : "  ", name) < 0)
		subject = NULL;
	compare_texts(&texts, s, f);
	put_cells(t, (const char *const[COMPARE_COLUMNS]){
			     [COLUMN_SUBJECT] = t->single ? "" : xneed(subject),
			     [COLUMN_FIGURE] = pass_figures[figure].shown,
			     [COLUMN_A] = figure_text(figure, f->a, a),
			     [COLUMN_B] = figure_text(figure, f->b, b),
			     [COLUMN_CHANGE] = texts.change,
			     [COLUMN_INTERVAL] = texts.interval,
			     [COLUMN_VERDICT] = texts.verdict,
		     });
	free(subject);
	free(name);
}

/* The headings; further ones name the level of the intervals below them. */
static void put_headings(struct compare_table *t, double level)
{
	char text[32];

	if (!(t->level > 0)) {
		put_cells(t, NULL);
		return;
	}
	snprintf(text, sizeof(text), "%.0f %% interval", 100 * level);
	if (!t->columns[COLUMN_INTERVAL].left_out)
		put_cells(t, (const char *const[COMPARE_COLUMNS]){ "", "", "", "", "", text, "" });
}

static void put_results(struct comparison *c, struct compare_table *t)
{
	t->level = 0;
	for (enum pass_figure figure = 0; figure < FIGURE_NAMES; figure++) {
		bool begun = !t->grouped || !t->print;

		for (size_t i = 0; i < c->subjects.n; i++) {
			const struct compare_subject *s = &c->subjects.list[i];
			struct compare_figure f = compare_judge(s, figure, c->subjects.n);

			if (f.verdict == COMPARE_NO_FIGURE)
				continue;
			if (fabs(t->level - compare_level(figure)) > 0)
				put_headings(t, compare_level(figure));
			t->level = compare_level(figure);
			if (!begun)
				printf("  %s\n", pass_figures[figure].shown);
			begun = true;
			put_figure(t, s, figure, &f);
			if (!t->print)
				continue;
			c->judged += f.verdict > COMPARE_UNKNOWN;
			c->real += f.verdict == COMPARE_REAL;
			c->unstable += f.verdict == COMPARE_UNSTABLE;
			c->unknown += figure < FIGURE_FIRST_PERCENTILE &&
				      f.verdict == COMPARE_UNKNOWN;
		}
	}
}

static void lay_out(struct comparison *c, struct compare_table *t, bool grouped)
{
	memcpy(t->columns, result_columns, sizeof(t->columns));
	t->columns[COLUMN_FIGURE].left_out = grouped;
	t->grouped = grouped;
	t->print = false;
	put_results(c, t);
	screen_table_fit(&t->table);
}

static void print_table(struct comparison *c)
{
	struct compare_table t;

	screen_init(&t.screen, STDOUT_FILENO);
	/* Lines that go elsewhere may be of any length. */
	if (!isatty(STDOUT_FILENO))
		t.screen.columns = UINT_MAX;
	t.table = (struct screen_table){ .screen = &t.screen,
					 .columns = t.columns,
					 .n = COMPARE_COLUMNS };
	t.single = c->subjects.n == 1;
	lay_out(c, &t, false);
	if (t.columns[COLUMN_INTERVAL].left_out && !t.single)
		lay_out(c, &t, true);
	t.print = true;
	put_results(c, &t);
	screen_table_end(&t.table, stdout);
	screen_free(&t.screen);
}

static void print_results(struct comparison *c)
{
	printf("\nResults\n");
	for (size_t i = 0; i < c->subjects.n; i++) {
		const struct compare_subject *s = &c->subjects.list[i];

		print_trouble(s->a, s, s->of);
		print_trouble(s->b, s, s->of ? s->of + s->a->n : NULL);
	}
	print_table(c);
	if (c->subjects.n == c->subjects.curve)
		fputs(c->sweeps ? "  there is no point with complete rounds in each sweep\n" :
				  "  there is no target with complete passes in all runs\n",
		      stdout);
	if (c->subjects.left_out)
		printf("  points that a sweep does not have: %zu\n", c->subjects.left_out);
}

/* Judge a limit for one subject. False: a subject of this kind has no such figure. */
static bool print_limit(struct comparison *c, const struct compare_limit *limit,
			const struct compare_subject *s)
{
	enum pass_figure figure = limit->figure;
	enum compare_limit_state state;
	struct compare_figure f;
	const char *why = NULL;

	if (!compare_limit_figure(s, &figure))
		return false;
	f = compare_judge(s, figure, c->subjects.n);
	state = compare_limit_check(limit, s, &f, &why);
	c->exceeded += state == COMPARE_EXCEEDED;
	c->undecided += state == COMPARE_UNDECIDED;
	compare_say("  %-16.*s %-*s %s%s", (int)limit->length, limit->text, c->name_width, s->name,
		    why			      ? "cannot be judged: " :
		    state == COMPARE_EXCEEDED ? "exceeded" :
						"within",
		    why ? why : "");
	return true;
}

/* Why no subject has the figure of a limit. */
static const char *why_nowhere(const struct comparison *c, const struct compare_limit *limit)
{
	if (!c->subjects.n)
		return "there is nothing to compare";
	return limit->figure >= FIGURE_ALL ? "the documents are not of curves" :
					     "no load of the curves has this figure";
}

static void print_limits(struct comparison *c)
{
	printf("\nLimits\n");
	for (size_t k = 0; k < c->n_limits; k++) {
		const struct compare_limit *limit = &c->limits[k];
		bool judged = false;

		for (size_t i = 0; i < c->subjects.n; i++)
			judged |= print_limit(c, limit, &c->subjects.list[i]);
		if (judged)
			continue;
		c->undecided++;
		compare_say("  %-16.*s cannot be judged: %s", (int)limit->length, limit->text,
			    why_nowhere(c, limit));
	}
}

/* ---- conclusion ---- */

/* Recommend more passes for a run that has too few. */
static void print_remedy(const struct compare_side *side)
{
	for (size_t i = 0; i < side->n; i++) {
		const struct document *d = &side->runs[i].doc;
		size_t passes = 0;

		for (size_t k = 0; k < d->statistics.n; k++) {
			const size_t own = d->statistics.list[k].n;

			passes = own > passes ? own : passes;
		}
		if (passes > 1 || (passes == 1 && side->n > 1))
			continue;
		compare_say("%s has %s complete pass: run with %s-passes %d or more.",
			    side->runs[i].name, passes ? "one" : "no",
			    isnan(d->run_time_ns) ?
				    "" :
				    "-timelimit <seconds> instead of -runtime, and ",
			    FEW_PASSES);
	}
}

static enum compare_status conclude_limits(const struct comparison *c)
{
	if (c->exceeded) {
		compare_say("A limit is exceeded.");
		return COMPARE_LIMIT;
	}
	if (c->undecided) {
		compare_say("No limit is exceeded, and at least one cannot be judged.");
		return COMPARE_INCOMPARABLE;
	}
	compare_say("No limit is exceeded.");
	return COMPARE_SAME;
}

static const char *documents_of(const struct comparison *c)
{
	return c->subjects.curve ? "curves" : c->sweeps ? "sweeps" : "runs";
}

/* Say that all results or some cannot be compared, and the remedy. */
static void print_incomparable(const struct comparison *c)
{
	compare_say(c->judged ? "Not all results of the %s can be compared." :
				"The %s cannot be compared.",
		    documents_of(c));
	if (c->sweeps && c->unknown)
		compare_say("Points need two complete rounds: run with -rounds %d or more.",
			    FEW_PASSES);
	if (c->sweeps)
		return;
	print_remedy(&c->a);
	print_remedy(&c->b);
}

static void print_difference(const struct comparison *c)
{
	const bool single = c->a.n == 1 && c->b.n == 1;

	compare_say("The results differ, by more than the scatter inside the %s%s%s.",
		    single ? "two " : "", documents_of(c),
		    single ? "" : " and the spread between them");
	if (single && !c->sweeps)
		compare_say(
			"Several runs of each, made in turns, show the spread between runs as well: "
			"xdd compare a1 a2 a3 -- b1 b2 b3.");
}

static enum compare_status conclude(const struct comparison *c)
{
	const bool comparable = c->judged && !c->unknown;

	if (!comparable)
		print_incomparable(c);
	if (c->n_limits)
		return conclude_limits(c);
	if (c->real) {
		print_difference(c);
		return COMPARE_DIFFERENT;
	}
	if (!comparable)
		return COMPARE_INCOMPARABLE;
	if (c->unstable)
		compare_say("The results differ, but are " COMPARE_UNSTEADY
			    ": %s. Find out why, or compare several %s of each.",
			    c->sweeps ? COMPARE_UNSTEADY_ROUNDS : COMPARE_UNSTEADY_PASSES,
			    documents_of(c));
	else
		compare_say("No difference between the results is more than chance.");
	return COMPARE_SAME;
}

/* Load the documents. False: reported. */
static bool load(struct comparison *c)
{
	const struct document *first = &c->runs[0].doc;

	for (size_t i = 0; i < c->n_runs; i++) {
		struct document *d = &c->runs[i].doc;

		if (!document_load(d, "compare", d->name, NULL))
			return false;
		if (d->sweep == first->sweep)
			continue;
		return log_fail(
			false,
			"compare: %s: is the document of a %s, and %s is the document of a %s",
			d->name, d->sweep ? "sweep" : "run", first->name,
			first->sweep ? "sweep" : "run");
	}
	c->sweeps = first->sweep;
	c->name_width = 12;
	find_subjects(c);
	return true;
}

static enum compare_status compare(struct comparison *c)
{
	if (!load(c))
		return COMPARE_TROUBLE;
	print_side(&c->a);
	print_side(&c->b);
	print_diff(c, "Environment", "environment");
	print_diff(c, c->sweeps ? "Lists" : "Plan", c->sweeps ? "axes" : "plan");
	print_results(c);
	if (c->n_limits)
		print_limits(c);
	putchar('\n');
	return conclude(c);
}

static int compare_main(int argc, char **argv)
{
	struct comparison c = { 0 };
	struct line l = { .name = "compare",
			  .options = &options,
			  .to = &c,
			  .operand = take_file,
			  .other = take_separator };
	enum compare_status status = COMPARE_TROUBLE;

	memory_on_end(COMPARE_TROUBLE, NULL, NULL);
	c.runs = xcalloc((size_t)argc, sizeof(*c.runs));
	if (!line_read(&l, argc, argv)) {
		if (l.shows && !command_show(&command_compare, l.shows))
			status = COMPARE_SAME;
		else if (!l.shows && split_sides(&c))
			status = compare(&c);
	}
	for (size_t i = 0; i < c.n_runs; i++)
		document_free(&c.runs[i].doc);
	free(c.limits);
	compare_subjects_free(&c.subjects);
	free(c.runs);
	return command_flush() ? (int)status : COMPARE_TROUBLE;
}

const struct command command_compare = {
	.name = "compare",
	.summary = "say what differs between runs, and whether that is chance",
	.usage = usage,
	.options = &options,
	.footer =
		"Exit status: 0 no real difference between the results, 1 there is one, 2 a file\n"
		"cannot be read, 3 the runs cannot be compared. With -failif: 0 no limit is\n"
		"exceeded, 4 one is, 2 as above, 3 none is, and one cannot be judged.\n",
	.main = compare_main,
};
