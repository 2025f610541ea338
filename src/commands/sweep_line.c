/*
 * The command lines of xdd sweep and xdd curve: their own options, anywhere among those of the
 * runs. Called by sweep.c.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "commands/commands.h"
#include "commands/line.h"
#include "commands/sweep.h"
#include "xdd/base/log.h"
#include "xdd/base/memory.h"
#include "xdd/base/output.h"
#include "xdd/base/text.h"
#include "xdd/base/units.h"
#include "xdd/commands/command.h"
#include "xdd/plan/option.h"

#define LINE_FIELD(field) OPTION_FIELD(struct sweep_line, field)
#define LEAST_NS (NS_PER_SEC / 1000)
#define EACH_NS (10 * NS_PER_SEC) /* of a curve */
#define MOST_NS (366 * 24 * 3600 * NS_PER_SEC)

/* Options of a sweep alone. */
static const struct option sweep_rows[] = {
	{ .name = "vary",
	  .arg = "<option>=<list>",
	  .type = OPT_TEXT,
	  .help = "vary an option whose values may have commas, or several words: the list may "
		  "begin with | or ; as its separator, and have the ranges of the option. Without "
		  "a list: with and without a flag" },
	{ .name = "pairs",
	  .type = OPT_FLAG,
	  LINE_FIELD(pairs),
	  .help = "the first values of all lists are the first point, and so on; otherwise all "
		  "combinations are points" },
	{ .name = "mostrounds",
	  .arg = "<#rounds>",
	  .type = OPT_U64,
	  .min = 1,
	  .max = SWEEP_MAX_ROUNDS,
	  LINE_FIELD(most),
	  .help = "greatest number of runs of each point, with -until or -each; 100" },
	{ .name = "until",
	  .arg = "<percent>",
	  .type = OPT_TEXT,
	  LINE_FIELD(until),
	  .help = "run each point until its bandwidth is known to +- this (95 % interval)" },
	{ 0 },
};

/* Options of a curve alone. */
static const struct option curve_rows[] = {
	{ .name = "load",
	  .arg = "<list>",
	  .type = OPT_TEXT,
	  LINE_FIELD(load),
	  .help = "loads in percent of the maximum: 10..90+10,95,100,105 without it" },
	{ .name = "goal",
	  .arg = "<figure>=<time>",
	  .type = OPT_TEXT,
	  LINE_FIELD(goal),
	  .help = "find the greatest load, within 2 %, whose response time is up to this: p99=5ms; "
		  "mean, p50, p99 or p99.9" },
	{ 0 },
};

static const struct option rows[] = {
	{ .name = "rounds",
	  .arg = "<#rounds>",
	  .type = OPT_U64,
	  .min = 1,
	  .max = SWEEP_MAX_ROUNDS,
	  LINE_FIELD(rounds),
	  .help = "least number of runs of each point; 5, with -until 18" },
	{ .name = "each",
	  .arg = "<time>",
	  .type = OPT_SECONDS,
	  .min = LEAST_NS,
	  .max = MOST_NS,
	  LINE_FIELD(each_ns),
	  .help = "time for each point, all its runs together; of a curve 10 seconds" },
	{ .name = "round",
	  .arg = "<time>",
	  .type = OPT_SECONDS,
	  .min = LEAST_NS,
	  .max = MOST_NS,
	  LINE_FIELD(round_ns),
	  .help = "time limit of a run; otherwise an equal share of -each" },
	{ .name = "orderseed",
	  .arg = "<number>",
	  .type = OPT_U64,
	  .max = INT64_MAX,
	  LINE_FIELD(seed),
	  .help = "seed of the order in which points are run; otherwise a new one" },
	{ .name = "restore",
	  .arg = "recreate|precondition|trim",
	  .type = OPT_TEXT,
	  LINE_FIELD(restore),
	  .help = "before each run of a point that writes: recreate its files; write all of its "
		  "targets once in sequence, with random data; or discard the ranges that it "
		  "writes" },
	{ .name = "jsonout",
	  .arg = "<file>",
	  .type = OPT_TEXT,
	  LINE_FIELD(jsonout),
	  .help = "write the results as one JSON document, for xdd compare; it replaces the file, and "
		  "- is standard output" },
	{ .name = "csvout",
	  .arg = "<file>",
	  .type = OPT_TEXT,
	  LINE_FIELD(csvout),
	  .help = "write a line for each point, with a column for each list; it replaces the file, "
		  "and - is standard output" },
	{ .name = "columns",
	  .arg = "+<id>+<id>...",
	  .type = OPT_TEXT,
	  LINE_FIELD(columns),
	  .help = "further columns of -csvout and -jsonout, up to 8 with numbers: means over the "
		  "rounds of what a run has in its line COMBINED. xdd -help columns lists them" },
	{ .name = "journal",
	  .arg = "<file>",
	  .type = OPT_TEXT,
	  LINE_FIELD(journal),
	  .help = "keep finished runs here; otherwise in <file>.journal of -jsonout, which is "
		  "removed once the document is complete" },
	{ .name = "resume",
	  .type = OPT_FLAG,
	  LINE_FIELD(resume),
	  .help = "go on with the journal of an interrupted sweep or curve" },
	{ .name = "dryrun",
	  .type = OPT_FLAG,
	  LINE_FIELD(dry_run),
	  .help = "check all points, and print their command lines" },
	{ .name = "help", .help = "this text" },
	{ 0 },
};

static const struct option_group sweep_group = { "Options of the sweep", sweep_rows };
static const struct option_group curve_group = { "Options of the curve", curve_rows };
static const struct option_group group = { "Rounds and files", rows };
static const struct option_group *const sweep_groups[] = { &sweep_group, &group, NULL };
static const struct option_group *const curve_groups[] = { &curve_group, &group, NULL };
const struct option_table sweep_options = { .groups = sweep_groups };
const struct option_table curve_options = { .groups = curve_groups };

/* Options whose value is the name of a file of this sweep: a resumed one may have others. */
static bool is_place(const struct option *row)
{
	return row->off == offsetof(struct sweep_line, jsonout) ||
	       row->off == offsetof(struct sweep_line, csvout) ||
	       row->off == offsetof(struct sweep_line, journal) ||
	       row->off == offsetof(struct sweep_line, resume);
}

static enum xdd_status no_memory(void)
{
	log_error("%s", strerror(ENOMEM));
	return XDD_INIT_FAILED;
}

/* Add words to those that a journal is begun with. */
static enum xdd_status keep_word(struct sweep *s, const char *word)
{
	const char *quoted = quote_word(s->arena, word);

	s->words =
		quoted ? arena_printf(s->arena, "%s%s%s", s->words, *s->words ? " " : "", quoted) :
			 NULL;
	return s->words ? XDD_OK : no_memory();
}

/* The option of the sweep that `word` is; "--until=3" has its value in `*value`. */
static const struct option *own_option(struct sweep *s, const char *word, const char **value)
{
	const char *name, *equals;

	*value = NULL;
	if (word[0] != '-' || !word[1])
		return NULL;
	name = word + (word[1] == '-' ? 2 : 1);
	equals = strchr(name, '=');
	if (equals) {
		*value = equals + 1;
		name = arena_printf(s->arena, "%.*s", (int)(equals - name), name);
	}
	return name ? option_find(s->kind->options, name) : NULL;
}

static enum xdd_status take_own(struct sweep *s, const struct option *row, const char *word,
				const char *value)
{
	const bool vary = strcmp(row->name, "vary") == 0;
	enum xdd_status status = XDD_OK;

	if (!row->arg && value) {
		log_error("%s: %.128s: -%s takes no value", s->kind->name, word, row->name);
		return XDD_BAD_ARGUMENT;
	}
	if (vary && value && *value)
		s->line.vary[s->line.n_vary++] = value;
	else
		status = line_take(s->kind->name, row, word, value, &s->line);
	if (!status && !is_place(row))
		status = keep_word(s, word);
	if (!status && !is_place(row) && value)
		status = keep_word(s, value);
	return status;
}

static enum xdd_status read_words(struct sweep *s, int argc, char **argv, bool *help)
{
	enum xdd_status status = XDD_OK;

	for (int i = 1; i < argc && !status && !*help; i++) {
		const char *word = argv[i], *value;
		const struct option *row = own_option(s, word, &value);

		if (!row) {
			s->line.words[s->line.n_words++] = word;
			status = keep_word(s, word);
			continue;
		}
		*help = strcmp(row->name, "help") == 0;
		if (row->arg && !value)
			value = ++i < argc ? argv[i] : NULL;
		if (!*help)
			status = take_own(s, row, word, value);
	}
	return status;
}

static enum xdd_status check_until(struct sweep *s)
{
	double percent;

	if (!s->line.until)
		return XDD_OK;
	if (units_parse_percentage(s->line.until, &percent) || percent < 0.01 || percent >= 100) {
		log_error("%s: -until %.64s: expected a percentage from 0.01 to below 100",
			  s->kind->name, s->line.until);
		return XDD_BAD_ARGUMENT;
	}
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
	if (l->most && !open) {
		log_error("%s: -mostrounds: needs -until or -each, which end a point earlier",
			  s->kind->name);
		return XDD_BAD_ARGUMENT;
	}
	if (r->most < r->least) {
		log_error("%s: -mostrounds %ju: must be at least %ju, the rounds of each point",
			  s->kind->name, (uintmax_t)r->most, (uintmax_t)r->least);
		return XDD_BAD_ARGUMENT;
	}
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
			log_error("%s: %s %s: this is the file of %s too; give each output a file "
				  "of its own",
				  s->kind->name, files[i].option, files[i].path, files[k].option);
			return XDD_BAD_ARGUMENT;
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
	if (s->journal_path && output_standard(s->journal_path) >= 0) {
		log_error("%s: -journal %s: expected a file; it is read by -resume", s->kind->name,
			  s->journal_path);
		return XDD_BAD_ARGUMENT;
	}
	if (!s->journal_path && s->line.jsonout && has_neighbor(s->line.jsonout)) {
		s->journal_path = arena_printf(s->arena, "%s.journal", s->line.jsonout);
		if (!s->journal_path)
			return no_memory();
	}
	if (s->journal_path || !s->line.resume)
		return XDD_OK;
	log_error("%s: -resume: needs the journal: -journal <file>, or -jsonout <file>",
		  s->kind->name);
	return XDD_BAD_ARGUMENT;
}

enum xdd_status sweep_line_read(struct sweep *s, int argc, char **argv, bool *help)
{
	enum xdd_status status;

	s->line.seed = SWEEP_SEED_UNSET;
	s->line.words = arena_alloc(s->arena, ((size_t)argc + 1) * sizeof(char *));
	s->line.vary = arena_alloc(s->arena, ((size_t)argc + 1) * sizeof(char *));
	s->words = "";
	if (!s->line.words || !s->line.vary)
		return no_memory();
	status = read_words(s, argc, argv, help);
	if (status || *help)
		return status;
	if (!s->line.n_words && !s->line.n_vary) {
		log_error("%s: expected the options of a run%s; see xdd %s -help", s->kind->name,
			  s->kind->varies ? ", with lists" : "", s->kind->name);
		return XDD_BAD_ARGUMENT;
	}
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
