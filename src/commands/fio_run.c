/*
 * Running the commands of a job file, each in a process of its own, so that each is exactly what it
 * would be from a shell. Called by the command.
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

#include "commands/fio.h"
#include "xdd/base/file.h"
#include "xdd/base/log.h"
#include "xdd/base/status.h"
#include "xdd/base/text.h"
#include "xdd/commands/command.h"
#include "xdd/sys/child.h"

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
	char **words = calloc(room, sizeof(*words)), *at = *copy = strdup(line), *word;

	if (!words || !at) {
		free(words);
		return NULL;
	}
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
	if (status < 0) {
		log_error("fio: a command cannot be run: %s", strerror(-status));
		return XDD_INIT_FAILED;
	}
	if (WIFEXITED(status))
		return WEXITSTATUS(status);
	log_error("fio: a command was ended by signal %d", WTERMSIG(status));
	return XDD_CANCELED;
}

static int run_line(struct process *c, const char *line, const char *last, int out, int err)
{
	char *copy, **words = words_of(line, last, &copy);
	int status = -ENOMEM;

	if (words)
		status = start(c, words, out, err) < 0 ? -errno : wait_for(c);
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

	if (out < 0 || err < 0)
		log_error("fio: a command cannot be checked: %s", strerror(errno));
	else
		status = run_line(c, command->check, "-dryrun", out, err);
	if (status && out >= 0 && err >= 0)
		show_messages(err);
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

int fio_run(struct fio_group *groups)
{
	static const int passed[] = { SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGCHLD };
	struct process c = { .stopped = false };
	int status;

	if (!any_command(groups)) {
		log_error("fio -run: no job became a command");
		return XDD_BAD_ARGUMENT;
	}
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
