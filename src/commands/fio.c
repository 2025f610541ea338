/*
 * The command xdd fio: job files of fio as commands of xdd, printed as a script for a shell. Called
 * by main.
 */
#include <string.h>
#include <unistd.h>

#include "commands/commands.h"
#include "commands/fio.h"
#include "xdd/base/file.h"
#include "xdd/base/log.h"
#include "xdd/base/output.h"
#include "xdd/base/status.h"
#include "xdd/base/text.h"
#include "xdd/commands/command.h"
#include "xdd/plan/option.h"

/* ---- the script ---- */

static void put_descriptions(FILE *out, const struct fio_group *g)
{
	for (const struct fio_job *j = g->jobs; j; j = j->next) {
		const char *text = fio_text(j, FIO_DESCRIPTION, NULL);

		if (!text)
			continue;
		fputs("# ", out);
		printable_put(out, j->name);
		fputs(": ", out);
		printable_put(out, text);
		fputc('\n', out);
	}
}

static void put_setting(FILE *out, const struct fio_setting *s)
{
	printable_put(out, s->name);
	if (s->value) {
		fputc('=', out);
		printable_put(out, s->value);
	}
	fputs(" (", out);
	printable_put(out, s->path);
	fprintf(out, ":%u): ", s->line);
}

static void put_notes(FILE *out, const struct fio_group *g, bool left_out)
{
	for (const struct fio_note *n = g->notes; n; n = n->next) {
		if (n->left_out != left_out)
			continue;
		fprintf(out, "# %s: [", left_out ? "left out" : "note");
		printable_put(out, n->section);
		fputs("] ", out);
		if (n->setting)
			put_setting(out, n->setting);
		printable_put(out, n->text);
		fputc('\n', out);
	}
}

static void fio_print(FILE *out, const struct fio_group *g)
{
	for (const struct fio_command *c = g->commands; c; c = c->next) {
		fputs("# ", out);
		printable_put(out, c->title);
		fputc('\n', out);
		if (c->stage == FIO_RUN)
			put_descriptions(out, g);
		fprintf(out, "%s\n", c->line);
	}
	if (!g->commands) {
		fputs("# no command for", out);
		for (const struct fio_job *j = g->jobs; j; j = j->next) {
			fputs(j == g->jobs ? " " : ", ", out);
			printable_put(out, j->name);
		}
		fputc('\n', out);
	}
	put_notes(out, g, false);
	put_notes(out, g, true);
	if (g->next)
		fputc('\n', out);
}

/* ---- the command ---- */

struct arguments {
	const char *job;
	const char *output; /* NULL: standard output */
	const char *leave;  /* of -leaveout; or NULL */
	const char *report; /* of -report; or NULL */
	bool run;
	bool help;
};

enum {
	ROW_RUN,
	ROW_OUTPUT,
	ROW_LEAVEOUT,
	ROW_REPORT,
	ROW_HELP
};

static const struct option rows[] = {
	{ .name = "run", .help = "run the commands as well, one after the other" },
	{ .name = "output",
	  .aliases = "o",
	  .arg = "<file>",
	  .help = "write the commands to <file> instead of standard output (-)" },
	{ .name = "leaveout",
	  .arg = "<setting>,...",
	  .help = "translate without these settings, which xdd cannot do" },
	{ .name = "report",
	  .arg = "person|table|auto",
	  .help = "give the commands this option of a run: how they write results" },
	{ .name = "help", .aliases = "h", .help = "this text" },
	{ 0 },
};

static const struct option_group group = { "Options", rows };
static const struct option_group *const groups[] = { &group, NULL };
static const struct option_table options = { .groups = groups };

/*
 * The setting of fio at `argv[*i]`, as --bs=4k or --bs 4k. False: the word is none. `*err` is the
 * result of fio_read_word().
 */
static bool read_setting(struct fio_file *f, char **argv, int *i, int *err)
{
	char *name = argv[*i] + 2, *value = strchr(name, '=');
	const struct foreign *row;
	unsigned number = (unsigned)*i + 1;

	if (strncmp(argv[*i], "--", 2) != 0 || (!value && option_find(&options, name)))
		return false;
	name = value ? arena_printf(f->arena, "%.*s", (int)(value - name), name) : name;
	row = name ? fio_row_of(name) : NULL;
	if (name && !row)
		return false;
	if (value)
		value++;
	else if (row && fio_type_of(row) != FIO_BOOL && argv[*i + 1] && argv[*i + 1][0] != '-')
		value = argv[++*i];
	*err = name ? fio_read_word(f, number, row->word, value) : -ENOMEM;
	return true;
}

static enum xdd_status report(const struct fio_file *f, int err)
{
	if (!err)
		return XDD_OK;
	log_error("%s", err == -EINVAL ? fio_why(f) : strerror(-err));
	return err == -EINVAL ? XDD_BAD_ARGUMENT : XDD_INIT_FAILED;
}

/* True of a value that -report of a run has. */
static bool is_report(const char *value)
{
	const struct choice *c = option_find(&run_options, "report")->choices;

	while (c->word && strcmp(c->word, value) != 0)
		c++;
	return c->word;
}

static enum xdd_status parse_option(struct arguments *a, char **argv, int *i)
{
	const char *word = argv[*i], *value;
	const struct option *found = option_find(&options, word + (word[1] == '-' ? 2 : 1));

	if (!found)
		return command_bad_option(&command_fio, word);
	if (found == &rows[ROW_RUN])
		a->run = true;
	if (found == &rows[ROW_HELP])
		a->help = true;
	if (!found->arg)
		return XDD_OK;
	value = argv[*i + 1];
	if (!value || !*value) {
		log_error("fio %s: missing argument %s", word, found->arg);
		return XDD_BAD_ARGUMENT;
	}
	++*i;
	if (found == &rows[ROW_LEAVEOUT])
		a->leave = value;
	else if (found == &rows[ROW_OUTPUT])
		a->output = output_standard(value) == STDOUT_FILENO ? NULL : value;
	else
		a->report = is_report(value) ? value : NULL;
	if (found != &rows[ROW_REPORT] || a->report)
		return XDD_OK;
	log_error("fio %s %.64s: expected %s", word, value, found->arg);
	return XDD_BAD_ARGUMENT;
}

static enum xdd_status parse(struct arguments *a, struct fio_file *f, int argc, char **argv)
{
	enum xdd_status status = XDD_OK;
	int err = 0;

	for (int i = 1; !status && !a->help && i < argc; i++) {
		/* A command line of fio, as people have it and as --showcmd prints it. */
		if (strcmp(argv[i], "--") == 0 ||
		    (strcmp(argv[i], "fio") == 0 && argv[i + 1] && !a->job && !f->sections))
			continue;
		if (argv[i][0] != '-' || !argv[i][1]) {
			if (a->job) {
				log_error("fio %.128s: expected one job file", argv[i]);
				return XDD_BAD_ARGUMENT;
			}
			a->job = argv[i];
		} else if (read_setting(f, argv, &i, &err)) {
			status = report(f, err);
		} else {
			status = parse_option(a, argv, &i);
		}
	}
	if (status || a->help || !a->job != !f->sections)
		return status;
	if (a->job)
		log_error("fio %.128s: expected a job file or settings, and not both", a->job);
	else
		log_error("fio: expected a job file: xdd fio <job file> [-run], or xdd fio -h");
	return XDD_BAD_ARGUMENT;
}

static void print(FILE *out, const struct fio_group *g)
{
	for (; g; g = g->next)
		fio_print(out, g);
}

static enum xdd_status write_commands(const struct arguments *a, const struct fio_group *g)
{
	struct newfile f;
	int err;

	if (!a->output) {
		print(stdout, g);
		return command_flush() ? XDD_OK : XDD_IO_ERROR;
	}
	err = newfile_open(&f, a->output);
	if (!err) {
		print(f.f, g);
		err = newfile_close(&f, ferror(f.f) ? -EIO : 0);
	}
	if (!err)
		return XDD_OK;
	log_error("fio -o %.200s: %s", a->output, output_strerror(err));
	return XDD_IO_ERROR;
}

static enum xdd_status convert(const struct arguments *a, struct fio_file *f)
{
	struct fio_group *g = NULL;
	char why[OUTPUT_WHY_SIZE];
	enum xdd_status status;
	int err;

	if (a->output && output_check_new(a->output, why)) {
		log_error("fio -o %.200s: %s", a->output, why);
		return XDD_BAD_ARGUMENT;
	}
	f->output = a->output;
	f->leave = a->leave;
	f->report = a->report;
	err = a->job ? fio_read(f, a->job) : 0;
	if (!err)
		err = fio_jobs(f, &g);
	if (!err && !g)
		err = a->job ? fio_fail(f, a->job, 0,
					"has no job; expected a section such as [job]") :
			       fio_fail(f, "fio", 0, "expected a job, such as --name=job");
	if (!err)
		err = fio_map(f, g);
	status = report(f, err);
	if (!status)
		status = write_commands(a, g);
	return status || !a->run ? status : (enum xdd_status)fio_run(g);
}

static int fio_main(int argc, char **argv)
{
	struct arguments a = { .job = NULL };
	struct fio_file f = { .arena = arena_new() };
	enum xdd_status status;

	if (!f.arena) {
		log_error("fio: %s", strerror(ENOMEM));
		return XDD_INIT_FAILED;
	}
	status = parse(&a, &f, argc, argv);
	if (!status && a.help)
		command_help(&command_fio);
	else if (!status)
		status = convert(&a, &f);
	arena_free(f.arena);
	if (!status && !command_flush())
		status = XDD_IO_ERROR;
	return (int)status;
}

const struct command command_fio = {
	.name = "fio",
	.summary = "job files of fio as commands of xdd",
	.usage =
		"usage: xdd fio <job file> [-run] [-leaveout <setting>,...]\n"
		"                          [-report person|table|auto] [-o <file>]\n"
		"       xdd fio --name=<job> --<setting>=<value> ... [-run] [-o <file>]\n"
		"\n"
		"Reads a job file of fio (- is standard input) and prints the command of xdd for each\n"
		"group of jobs that run at the same time. A setting that xdd cannot do and without\n"
		"which another job would run ends that, unless -leaveout names it. Comments list each\n"
		"other setting that was left out, with the reason, and what xdd does otherwise. The\n"
		"output is a shell script.\n"
		"Files that are read and do not exist are written by a command before, as fio does.\n"
		"Settings may be typed as for fio: xdd fio --name=a --rw=randread --filename=f, also\n"
		"after --, and with the word fio before them.\n",
	.options = &options,
	.footer =
		"\n"
		"With -run the commands run as well, after a check of all of them. The first that\n"
		"fails ends the rest, and its status is that of xdd fio. Otherwise the exit status\n"
		"is 0; 2 the job file cannot be read or understood; 3 invalid option; 6 the output\n"
		"cannot be written. Devices that hold data are protected as ever: -force is never\n"
		"part of a command.\n",
	.main = fio_main,
};
