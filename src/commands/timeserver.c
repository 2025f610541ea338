/*
 * The command xdd timeserver, also as timeserver: serves global time. Called by main.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "commands/commands.h"
#include "commands/line.h"
#include "xdd/base/log.h"
#include "xdd/commands/command.h"
#include "xdd/net/globaltime.h"
#include "xdd/plan/option.h"

struct timeserver_line {
	uint64_t port;
	const char *bind; /* NULL: all addresses */
	bool foreground;
};

#define LINE_FIELD(field) OPTION_FIELD(struct timeserver_line, field)

static const struct option rows[] = {
	{ .name = "port",
	  .aliases = "p",
	  .arg = "<port>",
	  .type = OPT_U64,
	  .max = 65535,
	  .def = "2000",
	  LINE_FIELD(port),
	  .help = "answer on this port, by UDP and TCP; 0: a free one",
	  .detail = "The port is part of the line that is printed.",
	  .example = "timeserver -port 2001" },
	{ .name = "bind",
	  .aliases = "b",
	  .arg = "<address>",
	  .type = OPT_TEXT,
	  LINE_FIELD(bind),
	  .help = "answer on the addresses of this name only",
	  .detail = "Without it the server answers on all addresses of the machine, IPv4 and IPv6.",
	  .example = "timeserver -bind 10.0.0.1" },
	{ .name = "foreground",
	  .aliases = "f",
	  .type = OPT_FLAG,
	  .value = true,
	  LINE_FIELD(foreground),
	  .help = "stay in the foreground",
	  .detail = "Without it the server goes to the background as soon as it can answer, so a "
		    "script may use it once the command has ended.",
	  .example = "timeserver -foreground" },
	{ .name = "help", .aliases = "h", .help = "this text" },
	{ 0 },
};

static const struct option_group group = { "Options", rows };
static const struct option_group *const groups[] = { &group, NULL };
static const struct option_table options = { .groups = groups };

/* The line that says where it listens. A reader that has gone away is no error. */
static bool announce(const struct time_server *s, const struct timeserver_line *l, pid_t pid)
{
	printf("timeserver: listening on %s%sport %u, process %jd\n", l->bind ? l->bind : "",
	       l->bind ? " " : "", time_server_port(s), (intmax_t)pid);
	return command_flush();
}

/* A descriptor that is readable when the server is to end; or -errno. */
static int end_signals(void)
{
	sigset_t set;
	int fd;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigprocmask(SIG_BLOCK, &set, NULL);
	fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return fd < 0 ? -errno : fd;
}

static enum xdd_status serve(struct time_server *s, int end_fd)
{
	int err = time_server_serve(s, end_fd);

	if (err)
		log_error("timeserver: %s", strerror(-err));
	return err ? XDD_INIT_FAILED : XDD_OK;
}

/* Release what the shell waits for: the terminal, pipes, the directory. */
static int detach(void)
{
	int fd = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (fd < 0 || setsid() < 0 || chdir("/") != 0)
		return -errno;
	for (int i = STDIN_FILENO; i <= STDERR_FILENO; i++) {
		if (dup2(fd, i) < 0)
			return -errno;
	}
	if (fd > STDERR_FILENO)
		close(fd);
	return 0;
}

static enum xdd_status serve_behind(struct time_server *s, const struct timeserver_line *l,
				    int end_fd)
{
	pid_t pid = fork();

	if (pid < 0) {
		log_error("timeserver: cannot go to the background (%s)", strerror(errno));
		return XDD_INIT_FAILED;
	}
	if (pid > 0)
		return announce(s, l, pid) ? XDD_OK : XDD_IO_ERROR;
	return detach() ? XDD_INIT_FAILED : serve(s, end_fd);
}

static enum xdd_status run_server(const struct timeserver_line *l)
{
	char why[GLOBALTIME_WHY_BYTES];
	enum xdd_status status = XDD_INIT_FAILED;
	struct time_server *s;
	int end_fd;

	if (time_server_open(&s, l->bind, (uint16_t)l->port, why, sizeof(why))) {
		log_error("timeserver: %s", why);
		return XDD_INIT_FAILED;
	}
	end_fd = end_signals();
	if (end_fd < 0)
		log_error("timeserver: %s", strerror(-end_fd));
	else if (!l->foreground)
		status = serve_behind(s, l, end_fd);
	else if (announce(s, l, getpid()))
		status = serve(s, end_fd);
	else
		status = XDD_IO_ERROR;
	if (end_fd >= 0)
		close(end_fd);
	time_server_close(s);
	return status;
}

static int timeserver_main(int argc, char **argv)
{
	struct timeserver_line l = { .port = GLOBALTIME_PORT };
	bool help = false;
	enum xdd_status status = line_read(&command_timeserver, argc, argv, &l, &help);

	if (status)
		return (int)status;
	if (!help)
		return (int)run_server(&l);
	command_help(&command_timeserver);
	return command_flush() ? XDD_OK : XDD_IO_ERROR;
}

const struct command command_timeserver = {
	.name = "timeserver",
	.summary = "serve one clock to all hosts of a run; also as timeserver",
	.usage =
		"usage: timeserver [<option> ...]\n"
		"\n"
		"Answers the hosts of a run with its clock, so that all of them start at one moment\n"
		"and their time stamps can be merged. gettime and xdd -timeserver ask it. It goes\n"
		"to the background, needs no privileges, and ends with SIGTERM. timeserver is\n"
		"xdd timeserver.\n",
	.options = &options,
	.footer = "Exit status: 0 it serves, or was ended by a signal; 1 it cannot listen;\n"
		  "2 invalid argument; 3 invalid option; 6 standard output cannot be written.\n",
	.main = timeserver_main,
};
