/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The command xdd fio: job files of fio as commands of xdd, printed as a script for a shell. Called
 * by main.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "commands/commands.h"
#include "xdd/base/file.h"
#include "xdd/base/log.h"
#include "xdd/base/memory.h"
#include "xdd/base/output.h"
#include "xdd/base/status.h"
#include "xdd/base/text.h"
#include "xdd/commands/command.h"
#include "xdd/plan/fio.h"
#include "xdd/plan/line.h"
#include "xdd/plan/option.h"
#include "xdd/sys/child.h"

/*
 * ---- running the commands, each in a process of its own, so that each is exactly what it would be
 * from a shell ----
 */

#define MESSAGES_MAX_BYTES (1u << 20)

struct process {
	pid_t pid;
	sigset_t waited; /* signals that are passed on, and SIGCHLD */
	sigset_t before;
	bool stopped; /* a signal has asked for the end */
};

/* ---- words ---- */

/* Take one word off a line that quote_word() has made, in place. NULL: there is none. */
static char *next_word(char **line)
{
	char *from = *line, *to, *word;
	bool quoted = false;

	while (*from == ' ')
		from++;
	if (!*from)
		return NULL;
	word = to = from;
	for (; *from && (quoted || *from != ' '); from++) {
		if (*from == '\'')
			quoted = !quoted;
		else if (*from == '\\' && !quoted)
			*to++ = *++from;
		else
			*to++ = *from;
	}
	*line = *from ? from + 1 : from;
	*to = '\0';
	return word;
}

/* The words of a line, and one more. `*copy` holds them; both are freed by the caller. */
static char **words_of(const char *line, const char *last, char **copy)
{
	size_t n = 0, room = strlen(line) / 2 + 3;
	char **words = xcalloc(room, sizeof(*words)), *at = *copy = xstrdup(line), *word;

	while ((word = next_word(&at)))
		words[n++] = word;
	words[n] = (char *)last;
	return words;
}

/* ---- processes ---- */

static pid_t start(struct process *c, char **words, int out, int err)
{
	pid_t parent = getpid();
	char path[PATH_MAX];
	int failed = child_program(path, sizeof(path));

	if (failed) {
		errno = -failed;
		return -1;
	}
	c->pid = fork();
	if (c->pid)
		return c->pid;
	/* It must not go on when this process has been killed. */
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (getppid() != parent)
		_exit(XDD_CANCELED);
	sigprocmask(SIG_SETMASK, &c->before, NULL);
	if (out >= 0)
		dup2(out, STDOUT_FILENO);
	if (err >= 0)
		dup2(err, STDERR_FILENO);
	execv(path, words);
	log_error("fio: cannot start %s: %s", path, strerror(errno));
	_exit(XDD_INIT_FAILED);
}

/*
 * Wait for the end of the process, and pass signals on. Those of the terminal, which the kernel
 * sends, have reached the process as well.
 */
static int wait_for(struct process *c)
{
	int status;
	pid_t ended;

	for (;;) {
		siginfo_t info;
		int sig = sigwaitinfo(&c->waited, &info);

		if (sig < 0 && errno != EINTR)
			return -errno;
		if (sig > 0 && sig != SIGCHLD) {
			c->stopped = c->stopped || sig != SIGUSR1;
			if (info.si_code != SI_KERNEL)
				kill(c->pid, sig);
		}
		ended = waitpid(c->pid, &status, WNOHANG);
		if (ended == c->pid)
			return status;
		/* Its number may belong to another process by now. */
		if (ended < 0 && errno != EINTR)
			return -errno;
	}
}

static int status_of(int status)
{
	if (status < 0)
		return log_fail(XDD_INIT_FAILED, "fio: a command cannot be run: %s",
				strerror(-status));
	if (WIFEXITED(status))
		return WEXITSTATUS(status);
	return log_fail(XDD_CANCELED, "fio: a command was ended by signal %d", WTERMSIG(status));
}

static int run_line(struct process *c, const char *line, const char *last, int out, int err)
{
	char *copy, **words = words_of(line, last, &copy);
	int status = start(c, words, out, err) < 0 ? -errno : wait_for(c);

	free(words);
	free(copy);
	return status_of(status);
}

/* ---- commands ---- */

static void show_messages(int fd)
{
	char *text = NULL;
	size_t size;
	int err = lseek(fd, 0, SEEK_SET) ? -errno : readfile(fd, MESSAGES_MAX_BYTES, &text, &size);

	if (err)
		log_error("fio: a command is refused, and its messages cannot be read: %s",
			  strerror(-err));
	else
		log_raw(text);
	free(text);
}

/* A dry run, whose messages are shown only where the command is refused. */
static int check(struct process *c, const struct fio_command *command)
{
	int out = open("/dev/null", O_WRONLY | O_CLOEXEC);
	int err = memfd_create("messages", MFD_CLOEXEC), status = XDD_INIT_FAILED;

	if (out < 0 || err < 0) {
		log_error("fio: a command cannot be checked: %s", strerror(errno));
	} else {
		status = run_line(c, command->check, "-dryrun", out, err);
		if (status)
			show_messages(err);
	}
	if (out >= 0)
		close(out);
	if (err >= 0)
		close(err);
	return status;
}

static int for_each(struct process *c, struct fio_group *groups,
		    int (*run)(struct process *, const struct fio_command *))
{
	for (const struct fio_group *g = groups; g; g = g->next) {
		for (const struct fio_command *command = g->commands; command;
		     command = command->next) {
			int status = run(c, command);

			if (status || c->stopped)
				return status ? status : XDD_CANCELED;
		}
	}
	return XDD_OK;
}

/* The results of several commands are told apart by their titles. */
static int run(struct process *c, const struct fio_command *command)
{
	fputs("\n# ", stdout);
	printable_put(stdout, command->title);
	putchar('\n');
	if (!command_flush())
		return XDD_IO_ERROR;
	return run_line(c, command->line, NULL, -1, -1);
}

static bool any_command(const struct fio_group *g)
{
	while (g && !g->commands)
		g = g->next;
	return g != NULL;
}

/*
 * Run the commands of all groups, one after the other, after a check of all. Returns the exit
 * status of the first that fails, or XDD_OK.
 */
static int fio_run(struct fio_group *groups)
{
	static const int passed[] = { SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGCHLD };
	struct process c = { .stopped = false };
	int status;

	if (!any_command(groups))
		return log_refuse("fio -run: no job became a command");
	sigemptyset(&c.waited);
	for (size_t i = 0; i < sizeof(passed) / sizeof(passed[0]); i++)
		sigaddset(&c.waited, passed[i]);
	sigprocmask(SIG_BLOCK, &c.waited, &c.before);
	status = for_each(&c, groups, check);
	if (!status)
		status = for_each(&c, groups, run);
	sigprocmask(SIG_SETMASK, &c.before, NULL);
	return status;
}

/* ---- the command ---- */

struct arguments {
	struct fio_file f;
	const char *job;
	const char *output; /* NULL: standard output */
	bool run;
};

#define LINE_FIELD(field) OPTION_FIELD(struct arguments, field)

/* A value that -report of a run has. */
static enum xdd_status set_report(const struct setting *s, void *dst)
{
	const struct choice *c = option_find(&run_options, "report")->choices;
	const char *value = s->args[0].text;

	while (c->word && strcmp(c->word, value) != 0)
		c++;
	((struct arguments *)dst)->f.report = value;
	if (c->word)
		return XDD_OK;
	return log_refuse("fio %s %.64s: expected %s", s->name.text, value, s->opt->arg);
}

static const struct option rows[] = {
	{ .name = "run",
	  OPTION_FLAG(struct arguments, run),
	  .help = "run the commands as well, one after the other" },
	{ .name = "output",
	  .aliases = "o",
	  OPTION_TEXT("<file>"),
	  LINE_FIELD(output),
	  .help = "write the commands to <file> instead of standard output (-)" },
	{ .name = "leaveout",
	  OPTION_TEXT("<setting>,..."),
	  LINE_FIELD(f.leave),
	  .help = "translate without these settings, which xdd cannot do" },
	{ .name = "report",
	  OPTION_CUSTOM("person|table|auto", set_report),
	  .help = "give the commands this option of a run: how they write results" },
	{ OPTION_HELP, .aliases = "h" },
	{ 0 },
};

static const struct option_table options = { OPTION_GROUPS(OPTION_GROUP("Options", rows)) };

static enum xdd_status report(const struct fio_file *f, int err)
{
	if (!err)
		return XDD_OK;
	return log_fail(err == -EINVAL ? XDD_BAD_ARGUMENT : XDD_INIT_FAILED, "%s",
			err == -EINVAL ? fio_why(f) : strerror(-err));
}

/* A setting of fio, as --bs=4k or --bs 4k, where the word is one. */
static enum xdd_status take_setting(struct line *l)
{
	struct fio_file *f = &((struct arguments *)l->to)->f;
	char *const *argv = l->argv + l->at;
	char *name = argv[0] + 2, *value = strchr(name, '=');
	unsigned number = (unsigned)l->at + 1;
	const char *word = NULL;
	bool is_switch = false;

	if (strncmp(argv[0], "--", 2) != 0 || (!value && option_find(&options, name)))
		return XDD_OK;
	if (value)
		name = xarena_printf(f->arena, "%.*s", (int)(value - name), name);
	if (!fio_is_setting(name, &word, &is_switch))
		return XDD_OK;
	l->at++;
	if (value)
		value++;
	else if (!is_switch && argv[1] && argv[1][0] != '-')
		value = l->argv[l->at++];
	return report(f, fio_read_word(f, number, word, value));
}

/* Words of a command line of fio, as people have it and as --showcmd prints it. */
static enum xdd_status take_fio(struct line *l)
{
	const struct arguments *a = l->to;
	const char *word = l->argv[l->at];

	if (strcmp(word, "--") != 0 &&
	    (strcmp(word, "fio") != 0 || !l->argv[l->at + 1] || a->job || a->f.sections))
		return take_setting(l);
	l->at++;
	return XDD_OK;
}

static enum xdd_status take_job(struct line *l, const char *word)
{
	struct arguments *a = l->to;

	if (a->job)
		return log_refuse("fio %.128s: expected one job file", word);
	a->job = word;
	return XDD_OK;
}

static enum xdd_status check_line(struct arguments *a)
{
	if (a->output && output_standard(a->output) == STDOUT_FILENO)
		a->output = NULL;
	if (!a->job != !a->f.sections)
		return XDD_OK;
	if (a->job)
		log_error("fio %.128s: expected a job file or settings, and not both", a->job);
	else
		log_error("fio: expected a job file: xdd fio <job file> [-run], or xdd fio -h");
	return XDD_BAD_ARGUMENT;
}

static enum xdd_status write_commands(const struct arguments *a, const struct fio_group *g)
{
	struct newfile f;
	int err;

	if (!a->output) {
		fio_print(stdout, g);
		return command_flush() ? XDD_OK : XDD_IO_ERROR;
	}
	err = newfile_open(&f, a->output);
	if (!err) {
		fio_print(f.f, g);
		err = newfile_close(&f, ferror(f.f) ? -EIO : 0);
	}
	if (!err)
		return XDD_OK;
	return log_fail(XDD_IO_ERROR, "fio -o %.200s: %s", a->output, output_strerror(err));
}

static enum xdd_status convert(struct arguments *a)
{
	struct fio_file *f = &a->f;
	struct fio_group *g = NULL;
	char why[OUTPUT_WHY_SIZE];
	enum xdd_status status = check_line(a);
	int err;

	if (status)
		return status;
	if (a->output && output_check_new(a->output, why))
		return log_refuse("fio -o %.200s: %s", a->output, why);
	err = a->job ? fio_read(f, a->job) : 0;
	for (const struct fio_path *p = f->paths; !err && p; p = p->next) {
		if (command_same_file(a->output, p->path))
			err = fio_fail(f, p->path, 0, "is the file of -o; use another file");
	}
	if (!err)
		err = fio_map(f, &g);
	if (!err && !g)
		err = a->job ? fio_fail(f, a->job, 0,
					"has no job; expected a section such as [job]") :
			       fio_fail(f, "fio", 0, "expected a job, such as --name=job");
	status = report(f, err);
	if (!status)
		status = write_commands(a, g);
	return status || !a->run ? status : (enum xdd_status)fio_run(g);
}

static int fio_main(int argc, char **argv)
{
	struct arguments a = { .f = { .arena = xarena_new() } };
	struct line l = {
		.name = "fio", .options = &options, .to = &a, .operand = take_job, .other = take_fio
	};
	enum xdd_status status = line_read(&l, argc, argv);

	if (!status)
		status = l.shows ? command_show(&command_fio, l.shows) : convert(&a);
	arena_free(a.f.arena);
	return (int)status;
}

const struct command command_fio = {
	.name = "fio",
	.summary = "job files of fio as commands of xdd",
	.usage = "usage: xdd fio <job file> [-run] [-leaveout <setting>,...]\n"
		 "                          [-report person|table|auto] [-o <file>]\n"
		 "       xdd fio --name=<job> --<setting>=<value> ... [-run] [-o <file>]\n"
		 "\n"
		 "Reads a job file of fio (- is standard input) and prints the command of xdd for\n"
		 "each group of jobs that run at the same time. A setting that xdd cannot do and\n"
		 "without which another job would run ends that, unless -leaveout names it.\n"
		 "Comments list each other setting that was left out, with the reason, and what\n"
		 "xdd does otherwise. The output is a shell script. Files that are read and do\n"
		 "not exist are written by a command before, as fio does. Settings may be typed\n"
		 "as for fio: xdd fio --name=a --rw=randread --filename=f, also after --, and\n"
		 "with the word fio before them.\n",
	.options = &options,
	.footer = "\n"
		  "With -run the commands run as well, after a check of all of them. The first\n"
		  "that fails ends the rest, and xdd fio ends with its status. Otherwise the exit\n"
		  "status is 0; 2 the job file cannot be read or understood; 3 invalid option; 6\n"
		  "the output cannot be written. Devices that hold data are protected as ever:\n"
		  "-force is never part of a command.\n",
	.main = fio_main,
};
