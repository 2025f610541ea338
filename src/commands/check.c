/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * xdd check: a look at files and devices that only reads, its lines on standard output, and
 * commands to go on with. Called by main.
 */
#include "commands/check.h"

#include <inttypes.h>
#include <limits.h>
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
#include "xdd/report/screen.h"

/*
 * Commands to go on with after a check. Pure functions.
 */

/*
 * A word, quoted for a shell where it needs that. NULL: there is no room for all of it, or it has
 * characters that control a terminal, and a command with another name would be of another file.
 */
static const char *quoted(const char *word, char *buf, size_t size)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
				    "-_./+:,=@%";
	size_t n = 0;

	for (const char *p = word; *p; p += utf8_length(p))
		if (printable_unsafe(p))
			return NULL;
	if (!word[strspn(word, plain)])
		return strlen(word) < size ? word : NULL;
	buf[n++] = '\'';
	for (; *word && n + 6 < size; word++) {
		if (*word == '\'')
			n += (size_t)sprintf(buf + n, "'\\''");
		else
			buf[n++] = *word;
	}
	buf[n++] = '\'';
	buf[n] = '\0';
	return *word ? NULL : buf;
}

static void advise_reads(const struct check_target *t, const struct check_result *result,
			 struct check_notes *notes)
{
	const char *dio = t->direct ? " -dio" : " -dropcache";
	char buf[CHECK_NOTE_SIZE / 2], common[CHECK_NOTE_SIZE - 128];
	const char *name = quoted(t->path, buf, sizeof(buf));

	if (!name)
		return;
	snprintf(common, sizeof(common),
		 "xdd -op read -target %s%s -ioengine %s -queuedepth 32 -reqsize %" PRIu64
		 "k -seek random",
		 name, dio, t->engine, t->unit_bytes / 1024);
	check_note(notes, "How certain the figures are, and a file for xdd compare:");
	check_note(notes, "%s -timelimit 10s -passes 5 -jsonout before.json", common);
	check_note(notes, "Response times at half the rate that it reached:");
	check_note(notes, "%s -timelimit 30s -throttle ops %.0f -latency percentiles 50,99,99.9",
		   common, check_figure(&result->rows[CHECK_DEEP], FIGURE_IOPS) / 2 + 1);
}

void check_advise(const struct check_target *t, const struct check_result *result,
		  struct check_notes *notes)
{
	char buf[CHECK_NOTE_SIZE / 2];
	const char *name;

	if (t->memory)
		return;
	for (int i = 0; i < CHECK_PHASES; i++)
		if (!result->rows[i].measured || result->rows[i].errors)
			return;
	advise_reads(t, result, notes);
	name = quoted(t->new_file, buf, sizeof(buf));
	if (!*t->new_file || !name)
		return;
	check_note(notes, "Writes, to a new file that is removed afterwards:");
	check_note(notes,
		   "xdd -op write -target %s%s -bytes %" PRIu64
		   "M -reqsize 1M -queuedepth 8 -datapattern random -syncwrite -deletefile",
		   name, t->direct ? " -dio" : "", t->new_bytes >> 20);
}

/*
 * The lines of a check.
 */

#define MOST_COLUMNS 100

/* From so many columns on, rows have their names in full. */
#define ROOMY_COLUMNS 72

/* Rates of shorter measurements differ much from one to the next. */
#define SHORT_SECONDS 0.2

/* ---- text that fits the width ---- */

static unsigned check_width(const struct screen *s)
{
	return s->columns < MOST_COLUMNS ? s->columns : MOST_COLUMNS;
}

/* A name that is cut to `most` columns; to be freed. */
static char *shortened(const struct screen *s, const char *name, unsigned most)
{
	char *safe = xneed(printable_dup(name, false));
	char *cut = xneed(screen_shorten(s, safe, most));

	free(safe);
	return cut;
}

/* The length of the first word of a command, in which blanks between quotes separate no words. */
static size_t word_bytes(const char *text)
{
	bool quoted = false;
	size_t n;

	for (n = 0; text[n] && (quoted || text[n] != ' '); n++) {
		if (text[n] == '\'')
			quoted = !quoted;
		else if (text[n] == '\\' && !quoted && text[n + 1])
			n++;
	}
	return n;
}

/* Print a command in lines that a shell joins again: the rest follows a backslash. */
static void put_command(const struct screen *s, const char *text)
{
	static const char first[] = "  ", more[] = " \\\n      ";
	const unsigned room = check_width(s) - 2, indent = 6;
	unsigned at = 2;

	fputs(first, stdout);
	for (const char *from = text; *text; text += strspn(text, " ")) {
		const size_t bytes = word_bytes(text);
		char *word = xneed(strndup(text, bytes));
		const unsigned columns = screen_width(s, word);
		const bool folds = text > from && at + 1 + columns > room;

		fputs(folds ? more : text > from ? " " : "", stdout);
		at = columns + (folds ? indent : text > from ? at + 1 : at);
		fputs(word, stdout);
		free(word);
		text += bytes;
	}
	putchar('\n');
}

/* Print a text after a few characters that begin its line, folded on a terminal. */
static void check_say(const char *begin, const char *text)
{
	char *line;

	if (asprintf(&line, "%s%s", begin, text) < 0)
		line = NULL;
	screen_say(xneed(line));
	free(line);
}

/* ---- what it is ---- */

static void print_device(const struct check_device *d)
{
	char text[1024] = "";

	if (!*d->name)
		return;
	text_list(text, sizeof(text), "%s", d->name);
	if (*d->model)
		text_list(text, sizeof(text), "%s", d->model);
	if (*d->raid)
		text_list(text, sizeof(text), "RAID (%s)", d->raid);
	if (*d->loop_file)
		text_list(text, sizeof(text), "loop device of %s", d->loop_file);
	if (d->is_virtual)
		text_list(text, sizeof(text), "virtual disk, whose host may cache");
	else if (d->rotational_known)
		text_list(text, sizeof(text), "%s",
			  d->rotational ? "rotational" : "not rotational");
	if (d->removable)
		text_list(text, sizeof(text), "removable");
	if (d->usb_mbits)
		text_list(text, sizeof(text), "USB %" PRIu64 " Mbit/s", d->usb_mbits);
	if (*d->scheduler)
		text_list(text, sizeof(text), "scheduler %s", d->scheduler);
	check_say("  ", text);
}

static void print_place(const struct check_target *t)
{
	char text[1024] = "";

	if (*t->file_system)
		text_list(text, sizeof(text), "%s", t->file_system);
	if (*t->source && *t->file_system && strcmp(t->source, t->file_system) != 0)
		text_list(text, sizeof(text), "%s", t->source);
	if (*t->mount_point)
		text_list(text, sizeof(text), "mounted on %s", t->mount_point);
	if (err_is_set(&t->use))
		text_list(text, sizeof(text), "%s", t->use.text);
	if (*text)
		check_say("  ", text);
}

static void check_print_target(const struct screen *s, const struct check_target *t)
{
	char size[SCALED_SIZE], exact[32], text[128];
	char *name;

	units_size_text(t->size_bytes, exact, sizeof(exact));
	snprintf(text, sizeof(text), ": %s, %s%s%s%s", t->block ? "block device" : "file",
		 scaled_bytes((double)t->size_bytes, size), t->size_bytes < 1000 ? "" : " (",
		 t->size_bytes < 1000 ? "" : exact, t->size_bytes < 1000 ? "" : ")");
	/* Lines that go elsewhere may be of any length. */
	name = shortened(s, t->name,
			 isatty(STDOUT_FILENO) ? check_width(s) - (unsigned)strlen(text) :
						 UINT_MAX);
	printf("%s%s\n", name, text);
	free(name);
	print_place(t);
	print_device(&t->device);
	if (t->no_sys && !t->memory)
		check_say("  ", "/sys is not mounted: the device could not be looked at");
	printf("  read only, %s, -ioengine %s\n",
	       t->direct ? "direct I/O" : "through the page cache", t->engine);
	if (err_is_set(&t->why_engine))
		check_say("  no better engine: ", t->why_engine.text);
	putchar('\n');
}

/* ---- figures ---- */

static const char *row_name(const struct check_row *row, enum check_phase phase, bool roomy,
			    char *buf, size_t size)
{
	char bytes[32];

	units_size_text(row->req_bytes, bytes, sizeof(bytes));
	snprintf(buf, size, "%s %s%s%" PRIu64, phase == CHECK_LARGE ? "sequential" : "random",
		 roomy ? bytes : "", roomy ? ", depth " : "x", row->depth);
	return buf;
}

static const char *figure_of_row(const struct check_row *row, enum pass_figure figure, char *buf)
{
	return figure_text(figure, check_figure(row, figure), buf);
}

static void print_row(const struct check_row *row, enum check_phase phase, bool roomy)
{
	char name[64], text[SCALED_SIZE];
	const int columns = roomy ? 28 : 16;

	printf("%-*s", columns, row_name(row, phase, roomy, name, sizeof(name)));
	if (!row->measured) {
		printf(" not measured\n");
		return;
	}
	for (int i = 0; i < FIGURES_SHOWN; i++)
		printf(" %*s", figure_width(figures_shown[i]),
		       figure_of_row(row, figures_shown[i], text));
	putchar('\n');
}

/* How long a row took that ended, with all that there is to read, before its figures settle. */
static void print_short(const struct check_row *row, enum check_phase phase, bool roomy)
{
	char name[64], time[SCALED_SIZE], text[160];

	if (!row->measured || row->partial || row->seconds >= SHORT_SECONDS)
		return;
	snprintf(text, sizeof(text), "(%s: %" PRIu64 " requests in %s: too short to be exact)",
		 row_name(row, phase, roomy, name, sizeof(name)), row->ops,
		 scaled_time(row->seconds * NS_PER_SEC, time));
	screen_say(text);
}

static void check_print_rows(const struct screen *s, const struct check_result *result)
{
	const bool roomy = s->columns >= ROOMY_COLUMNS;
	const struct check_row *deep = &result->rows[CHECK_DEEP];
	char large[32], small[32];
	bool partial = false;

	printf("%-*s", roomy ? 28 : 16, "");
	for (int i = 0; i < FIGURES_SHOWN; i++)
		printf(" %*s", figure_width(figures_shown[i]), figure_heading(figures_shown[i]));
	putchar('\n');
	for (int i = 0; i < CHECK_PHASES; i++) {
		print_row(&result->rows[i], (enum check_phase)i, roomy);
		partial |= result->rows[i].partial;
	}
	if (!roomy)
		printf("(sequential: %s, random: %s; x%" PRIu64 ": %" PRIu64 " in flight)\n",
		       units_size_text(result->rows[CHECK_LARGE].req_bytes, large, sizeof(large)),
		       units_size_text(deep->req_bytes, small, sizeof(small)), deep->depth,
		       deep->depth);
	for (int i = 0; i < CHECK_PHASES; i++)
		print_short(&result->rows[i], (enum check_phase)i, roomy);
	if (partial)
		printf("The check was cut short: these figures are of a part of it.\n");
	putchar('\n');
}

/* ---- what looks wrong, and what to do next ---- */

static bool is_whole(const struct check_result *r)
{
	for (int i = 0; i < CHECK_PHASES; i++) {
		if (!r->rows[i].measured || r->rows[i].partial)
			return false;
	}
	return true;
}

static void check_print_notes(const struct screen *s, const struct check_result *result,
			      const struct check_notes *wrong, const struct check_notes *next)
{
	if (!wrong->n)
		printf("Nothing looks wrong%s.\n", is_whole(result) ? "" : " in what was measured");
	else
		printf("What looks wrong:\n");
	for (size_t i = 0; i < wrong->n; i++)
		check_say("- ", wrong->text[i]);
	if (next->n)
		putchar('\n');
	for (size_t i = 0; i < next->n; i++) {
		const bool command = i % 2;

		if (command)
			put_command(s, next->text[i]);
		else
			screen_say(next->text[i]);
	}
}

/* Print to standard output. */
static void check_print_summary(const struct screen *s, const struct check_target *targets,
				const struct check_result *results, size_t n)
{
	const unsigned columns = check_width(s) - 41;

	printf("\n%-*s %9s %9s %9s %9s\n", (int)columns, "", "seq.", "random", "p99", "deep");
	for (size_t i = 0; i < n; i++) {
		const struct check_row *rows = results[i].rows;
		char rate[SCALED_SIZE], one[SCALED_SIZE], p99[SCALED_SIZE], deep[SCALED_SIZE];
		char *name = shortened(s, targets[i].name, columns);

		printf("%s%*s %9s %9s %9s %9s\n", name, (int)(columns - screen_width(s, name)), "",
		       figure_of_row(&rows[CHECK_LARGE], FIGURE_BANDWIDTH, rate),
		       figure_of_row(&rows[CHECK_SINGLE], FIGURE_IOPS, one),
		       figure_of_row(&rows[CHECK_SINGLE], FIGURE_P99, p99),
		       figure_of_row(&rows[CHECK_DEEP], FIGURE_IOPS, deep));
		free(name);
	}
}

#define SECONDS_DEFAULT_NS (30 * NS_PER_SEC)
#define SECONDS_LEAST_NS (NS_PER_SEC / 10)
#define SECONDS_MOST_NS (24 * 3600 * NS_PER_SEC)

struct check {
	const char **names;
	size_t n;
	uint64_t time_ns; /* for each name */
	bool brief;	  /* without commands to go on with */

	struct check_target *targets;
	struct check_result *results;
	size_t n_open; /* targets that are to be freed */
	size_t n_done; /* that have results */
	struct runner runner;
};

static const char usage[] =
	"usage: xdd [check] [-seconds <time>] [-brief] <file or device> ...\n"
	"\n"
	"Reads a file or device for about 30 seconds, shows how fast it is, and says what\n"
	"looks wrong: large sequential reads, then random reads of 4 KiB, one at a time\n"
	"and 32 at a time, over all of it. Nothing is written. Reads bypass the page\n"
	"cache (direct I/O) where the file system can do that. Several names are checked\n"
	"one after the other. A measurement ends after a third of the time, or earlier\n"
	"when as much as the whole file was read.\n";

static const char footer[] =
	"Exit status: 0 it was measured, 2 it cannot be checked, 5 a signal ended it (the\n"
	"measurements so far are shown), 6 reads failed.\n";

static const struct option rows[] = {
	{ .name = "seconds",
	  .aliases = "s",
	  OPTION_TIME("<time>", SECONDS_LEAST_NS, SECONDS_MOST_NS),
	  OPTION_FIELD(struct check, time_ns),
	  .help = "the time for each name; 30 seconds otherwise" },
	{ .name = "brief",
	  .aliases = "b",
	  OPTION_FLAG(struct check, brief),
	  .help = "without the commands to go on with" },
	{ OPTION_HELP, .aliases = "h" },
	{ 0 },
};

static const struct option_table options = { OPTION_GROUPS(OPTION_GROUP("Options", rows)) };

/* ---- the command line ---- */

static enum xdd_status take_name(struct line *l, const char *word)
{
	struct check *c = l->to;

	c->names[c->n++] = word;
	return XDD_OK;
}

/* An option of a run: a user who names a file expects one. */
static enum xdd_status refuse_run(struct line *l)
{
	const char *word = l->argv[l->at], *value;

	if (l->ended || line_option(l, &value) || !option_is_word(&run_options, word))
		return XDD_OK;
	return log_fail(XDD_BAD_OPTION,
			"check %s: is an option of a run; say xdd -target <name> %s ...", word,
			word);
}

/* ---- the check ---- */

/* Open all of them, so that all that cannot be checked are reported, before any is measured. */
static enum xdd_status open_targets(struct check *c)
{
	enum xdd_status status = XDD_OK;

	for (size_t i = 0; i < c->n; i++) {
		enum xdd_status one = check_target_open(&c->targets[c->n_open], c->names[i]);

		if (one)
			status = one;
		else
			c->n_open++;
	}
	return status;
}

static void title_of(const struct check *c, const struct check_target *t, enum check_phase phase,
		     char *buf, size_t size)
{
	static const char *const words[] = {
		[CHECK_LARGE] = "sequential",
		[CHECK_SINGLE] = "random",
		[CHECK_DEEP] = "random, 32 in flight",
	};

	if (c->n > 1)
		snprintf(buf, size, "%s, %d of %d, %s", t->name, phase + 1, CHECK_PHASES,
			 words[phase]);
	else
		snprintf(buf, size, "%d of %d, %s", phase + 1, CHECK_PHASES, words[phase]);
}

/* Measure one target. */
static enum xdd_status measure(struct check *c, const struct check_target *t,
			       struct check_result *result)
{
	enum xdd_status status = XDD_OK;

	/* Rows of phases that are not reached are printed as well. */
	for (int i = 0; i < CHECK_PHASES; i++)
		check_row_begin(&result->rows[i], t, (enum check_phase)i);
	for (int i = 0; i < CHECK_PHASES; i++) {
		const enum check_phase phase = (enum check_phase)i;
		char title[256];
		enum xdd_status one;

		title_of(c, t, phase, title, sizeof(title));
		log_transient(title);
		one = check_measure(&c->runner, t, phase, c->time_ns / CHECK_PHASES, title,
				    &result->rows[i]);
		status = one ? one : status;
		if (c->runner.stuck || (one && one != XDD_IO_ERROR))
			return status;
	}
	log_transient(NULL);
	if (!status)
		check_sample_zeros(t, result);
	return status;
}

static enum xdd_status check_one(struct check *c, size_t i, const struct screen *s)
{
	const struct check_target *t = &c->targets[i];
	struct check_result *result = &c->results[i];
	struct check_notes wrong = { 0 }, next = { 0 };
	enum xdd_status status;

	if (i)
		putchar('\n');
	check_print_target(s, t);
	fflush(stdout);
	status = measure(c, t, result);
	c->n_done = i + 1;
	check_print_rows(s, result);
	check_judge(t, result, &wrong);
	if (c->n == 1 && !c->brief)
		check_advise(t, result, &next);
	check_print_notes(s, result, &wrong, &next);
	return status;
}

static enum xdd_status check_all(struct check *c)
{
	enum xdd_status status = runner_begin(&c->runner), one = XDD_OK;
	struct screen screen;

	if (status)
		return status;
	screen_init(&screen, STDOUT_FILENO);
	for (size_t i = 0; i < c->n && !one && !c->runner.stuck; i++) {
		one = check_one(c, i, &screen);
		/* The next one may be sound. */
		if (one == XDD_IO_ERROR) {
			status = one;
			one = XDD_OK;
		}
	}
	if (c->n_done > 1)
		check_print_summary(&screen, c->targets, c->results, c->n_done);
	screen_free(&screen);
	if (!command_flush())
		status = XDD_IO_ERROR;
	if (c->runner.stuck)
		_exit(one ? (int)one : (int)status);
	runner_end(&c->runner);
	return one ? one : status;
}

static void free_all(struct check *c)
{
	for (size_t i = 0; i < c->n_open; i++)
		check_target_free(&c->targets[i]);
	free(c->targets);
	free(c->results);
	free(c->names);
}

static enum xdd_status check_names(struct check *c)
{
	enum xdd_status status;

	if (!c->n)
		return log_refuse("check: expected a file or device; see xdd check -help");
	status = open_targets(c);
	return status ? status : check_all(c);
}

static int check_main(int argc, char **argv)
{
	struct check c = { .time_ns = SECONDS_DEFAULT_NS };
	struct line l = { .name = "check",
			  .options = &options,
			  .to = &c,
			  .operand = take_name,
			  .other = refuse_run };
	enum xdd_status status;

	c.names = xcalloc((size_t)argc + 1, sizeof(*c.names));
	c.targets = xcalloc((size_t)argc + 1, sizeof(*c.targets));
	c.results = xcalloc((size_t)argc + 1, sizeof(*c.results));
	status = line_read(&l, argc, argv);
	if (!status)
		status = l.shows ? command_show(&command_check, l.shows) : check_names(&c);
	free_all(&c);
	return (int)status;
}

const struct command command_bare_check = { .main = check_main };

const struct command command_check = {
	.name = "check",
	.summary =
		"how fast a file or device reads, and what looks wrong; also xdd <file or device>",
	.usage = usage,
	.options = &options,
	.footer = footer,
	.main = check_main,
};
