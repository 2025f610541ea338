/*
 * xdd sweep: runs over lists of values of options. Called by main.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "commands/commands.h"
#include "commands/sweep.h"
#include "xdd/base/log.h"
#include "xdd/base/memory.h"
#include "xdd/base/output.h"
#include "xdd/base/text.h"
#include "xdd/commands/command.h"
#include "xdd/plan/option.h"
#include "xdd/sys/clock.h"

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
	"Exit status: 0 all points were run, 5 a signal ended the sweep (-resume continues\n"
	"it), otherwise the greatest status of a run, as xdd has it.\n";

static enum xdd_status no_memory(void)
{
	log_error("%s", strerror(ENOMEM));
	return XDD_INIT_FAILED;
}

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
static enum xdd_status add_limit(struct sweep *s)
{
	const bool own = sweep_has_option(s, "timelimit") || sweep_has_option(s, "runtime");
	const uint64_t ns = s->line.round_ns;

	if (!ns || own)
		return XDD_OK;
	s->more[0] = "-timelimit";
	s->more[1] = arena_printf(s->arena, "%ju.%09ju", (uintmax_t)(ns / NS_PER_SEC),
				  (uintmax_t)(ns % NS_PER_SEC));
	return s->more[1] ? XDD_OK : no_memory();
}

static enum xdd_status choose_seed(struct sweep *s)
{
	uint32_t word = 0;

	if (s->line.seed != SWEEP_SEED_UNSET) {
		s->results.seed = s->line.seed;
		return XDD_OK;
	}
	if (getrandom(&word, sizeof(word), GRND_NONBLOCK) < 0)
		word = (uint32_t)clock_wall_ns();
	s->results.seed = word;
	return XDD_OK;
}

static enum xdd_status prepare(struct sweep *s)
{
	enum xdd_status status = vary_read(s->arena, s->kind->name, s->line.words, s->line.n_words,
					   s->line.vary, s->line.n_vary, s->line.pairs, &s->vary);

	if (!status)
		status = add_limit(s);
	if (!status)
		status = choose_seed(s);
	if (!status && s->kind->prepare)
		status = s->kind->prepare(s);
	if (status)
		return status;
	s->buffer = arena_alloc(s->arena, (vary_room(&s->vary, NULL) + SWEEP_MORE_WORDS) *
						  sizeof(*s->buffer));
	s->results.vary = &s->vary;
	s->results.more = s->more;
	s->results.started_ns = clock_wall_ns();
	s->terminal = isatty(STDOUT_FILENO) && !s->quiet;
	return s->buffer && !sweep_results_begin(&s->results) ? XDD_OK : no_memory();
}

static enum xdd_status keep_command_line(struct sweep *s, int argc, char **argv)
{
	const char *line = arena_printf(s->arena, "xdd %s", s->kind->name);

	for (int i = 1; i < argc && line; i++) {
		const char *word = quote_word(s->arena, argv[i]);

		line = word ? arena_printf(s->arena, "%s %s", line, word) : NULL;
	}
	s->results.command_line = line;
	return line ? XDD_OK : no_memory();
}

/* ---- files ---- */

static enum xdd_status open_file(const struct sweep *s, struct newfile *file, const char *option,
				 const char *path)
{
	int err = path ? newfile_open(file, path) : 0;

	if (!err)
		return XDD_OK;
	log_error("%s: %s %s: %s", s->kind->name, option, path, output_strerror(err));
	return XDD_BAD_ARGUMENT;
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

/* Write the document. The environment is that of the first point. */
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

static enum xdd_status run(struct sweep *s)
{
	enum xdd_status status = runner_begin(&s->runner);

	if (status)
		return status;
	s->kind->head(s);
	status = write_results(s, sweep_run(s));
	if (s->runner.stuck)
		_exit((int)status);
	runner_end(&s->runner);
	return status;
}

static enum xdd_status sweep(struct sweep *s, int argc, char **argv)
{
	bool help = false;
	enum xdd_status status = sweep_line_read(s, argc, argv, &help);

	if (help && !status) {
		command_help(s->kind->command);
		return command_flush() ? XDD_OK : XDD_IO_ERROR;
	}
	if (!status)
		status = keep_command_line(s, argc, argv);
	if (!status)
		status = prepare(s);
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
	struct sweep s = { .kind = kind, .arena = arena_new() };
	enum xdd_status status = s.arena ? sweep(&s, argc, argv) : no_memory();

	newfile_discard(&s.json);
	newfile_discard(&s.csv);
	sweep_journal_close(&s, false);
	column_list_free(&s.results.columns);
	sweep_results_free(&s.results);
	arena_free(s.arena);
	return (int)status;
}

static void print(struct sweep *s)
{
	sweep_print_points(s, s->vary.n_points);
}

static const struct sweep_kind kind = {
	.name = "sweep",
	.command = &command_sweep,
	.options = &sweep_options,
	.varies = true,
	.print = print,
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
