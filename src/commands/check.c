/*
 * xdd check: a look at files and devices that only reads. Called by main.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "commands/check.h"
#include "commands/commands.h"
#include "xdd/base/log.h"
#include "xdd/base/output.h"
#include "xdd/base/units.h"
#include "xdd/commands/command.h"
#include "xdd/plan/option.h"

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
	  .arg = "<time>",
	  .help = "the time for each name; 30 seconds otherwise" },
	{ .name = "brief", .aliases = "b", .help = "without the commands to go on with" },
	{ .name = "help", .aliases = "h", .help = "this text" },
	{ 0 },
};

static const struct option_group group = { "Options", rows };
static const struct option_group *const groups[] = { &group, NULL };
static const struct option_table options = { .groups = groups };

/* ---- the command line ---- */

static enum xdd_status bad_option(const char *word)
{
	const char *name = word + (word[1] == '-' ? 2 : 1);
	const char *near = option_suggest(&options, name);

	if (option_find(&run_options, name))
		log_error("check: %s: is an option of a run; say xdd -target <name> %s ...", word,
			  word);
	else if (near)
		log_error("check: %s: is not an option; did you mean -%s?", word, near);
	else
		log_error(
			"check: %s: is not an option; expected -seconds, -brief or -help, and ./%s for a "
			"file of that name",
			word, word);
	return XDD_BAD_OPTION;
}

static enum xdd_status take_seconds(struct check *c, const char *word)
{
	uint64_t ns;

	if (!word) {
		log_error("check: -seconds: missing argument <time>");
		return XDD_BAD_ARGUMENT;
	}
	if (units_parse_seconds(word, &ns) || ns < SECONDS_LEAST_NS || ns > SECONDS_MOST_NS) {
		log_error("check: -seconds %s: expected a time from 0.1 to 86400 seconds", word);
		return XDD_BAD_ARGUMENT;
	}
	c->time_ns = ns;
	return XDD_OK;
}

/* `*done`: help was printed, and there is nothing else to do. */
static enum xdd_status parse(struct check *c, int argc, char **argv, bool *done)
{
	for (int i = 1; i < argc; i++) {
		const char *word = argv[i];
		const struct option *found = NULL;
		enum xdd_status status;

		if (word[0] != '-' || !word[1]) {
			c->names[c->n++] = word;
			continue;
		}
		found = option_find(&options, word + (word[1] == '-' ? 2 : 1));
		if (!found)
			return bad_option(word);
		if (strcmp(found->name, "help") == 0) {
			command_help(&command_check);
			*done = true;
			return XDD_OK;
		}
		if (strcmp(found->name, "brief") == 0) {
			c->brief = true;
			continue;
		}
		i++;
		status = take_seconds(c, i < argc ? argv[i] : NULL);
		if (status)
			return status;
	}
	if (c->n)
		return XDD_OK;
	log_error("check: expected a file or device; see xdd check -help");
	return XDD_BAD_ARGUMENT;
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

static enum xdd_status check_one(struct check *c, size_t i, unsigned width)
{
	const struct check_target *t = &c->targets[i];
	struct check_result *result = &c->results[i];
	struct check_notes wrong = { 0 }, next = { 0 };
	enum xdd_status status;

	if (i)
		putchar('\n');
	check_print_target(t, width);
	fflush(stdout);
	status = measure(c, t, result);
	c->n_done = i + 1;
	check_print_rows(result, width);
	check_judge(t, result, &wrong);
	if (c->n == 1 && !c->brief)
		check_advise(t, result, &next);
	check_print_notes(result, &wrong, &next, width);
	return status;
}

static enum xdd_status check_all(struct check *c)
{
	enum xdd_status status = runner_begin(&c->runner), one = XDD_OK;
	const unsigned width = check_width();

	if (status)
		return status;
	for (size_t i = 0; i < c->n && !one && !c->runner.stuck; i++) {
		one = check_one(c, i, width);
		/* The next one may be sound. */
		if (one == XDD_IO_ERROR) {
			status = one;
			one = XDD_OK;
		}
	}
	if (c->n_done > 1)
		check_print_summary(c->targets, c->results, c->n_done, width);
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

static int check_main(int argc, char **argv)
{
	struct check c = { .time_ns = SECONDS_DEFAULT_NS };
	enum xdd_status status = XDD_INIT_FAILED;
	bool done = false;

	c.names = calloc((size_t)argc + 1, sizeof(*c.names));
	c.targets = calloc((size_t)argc + 1, sizeof(*c.targets));
	c.results = calloc((size_t)argc + 1, sizeof(*c.results));
	if (!c.names || !c.targets || !c.results) {
		log_error("check: %s", strerror(ENOMEM));
	} else {
		status = parse(&c, argc, argv, &done);
		if (!status && !done)
			status = open_targets(&c);
		if (!status && !done)
			status = check_all(&c);
	}
	free_all(&c);
	if (!status && !command_flush())
		status = XDD_IO_ERROR;
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
