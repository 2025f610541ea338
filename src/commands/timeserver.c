/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The commands of global time: xdd timeserver, also as timeserver, which serves it, and xdd
 * gettime, also as gettime, which prints it and waits for it. Called by main.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

#include "commands/commands.h"
#include "xdd/base/err.h"
#include "xdd/base/log.h"
#include "xdd/base/units.h"
#include "xdd/commands/command.h"
#include "xdd/net/globaltime.h"
#include "xdd/plan/line.h"
#include "xdd/plan/option.h"
#include "xdd/sys/clock.h"

/* Sleeps end late by tens of microseconds: the rest of a wait is spent looking at the clock. */
#define SPIN_NS (200 * NS_PER_US)

/* While it waits, it looks again how long; a last burst of exchanges shortly before the end. */
#define LOOK_NS NS_PER_SEC
#define REFRESH_NS (300 * NS_PER_MS)
#define REFRESH_UNTIL_NS (100 * NS_PER_MS)

/* In 1973, if it is milliseconds: it is seconds then. */
#define LEAST_MS 100000000000ull
#define MOST_MS (UINT64_MAX / 4 / NS_PER_MS)

struct gettime_line {
	const char *host;
	uint64_t port, bounce, add_ns, wait_ms;
	bool verbose;
};

#define GETTIME_LINE_FIELD(field) OPTION_FIELD(struct gettime_line, field)

static const struct option gettime_rows[] = {
	{ .name = "timeserver",
	  .aliases = "t",
	  OPTION_TEXT("<host>"),
	  GETTIME_LINE_FIELD(host),
	  .help = "the host of the time server",
	  .example = "gettime -timeserver server" },
	{ .name = "port",
	  .aliases = "p",
	  OPTION_NUMBER("<port>", 1, 65535),
	  .def = "2000",
	  GETTIME_LINE_FIELD(port),
	  .help = "the port of the time server",
	  .example = "gettime -timeserver server -port 2001" },
	{ .name = "add",
	  .aliases = "a",
	  OPTION_TIME("<seconds>", 0, 1000000000ull * NS_PER_SEC),
	  GETTIME_LINE_FIELD(add_ns),
	  .help = "print the time that is so much later",
	  .detail = "For a start time that leaves the hosts enough time to prepare.",
	  .example = "gettime -timeserver server -add 20" },
	{ .name = "bounce",
	  OPTION_NUMBER("<times>", 1, GLOBALTIME_MAX_BOUNCE),
	  .def = "100",
	  GETTIME_LINE_FIELD(bounce),
	  .help = "number of exchanges with the time server",
	  .detail = "The best of them count, so more of them are more exact on a busy network.",
	  .example = "gettime -timeserver server -bounce 1000" },
	{ .name = "verbose",
	  .aliases = "v",
	  OPTION_FLAG(struct gettime_line, verbose),
	  .help = "print more, on standard error",
	  .detail = "The time in nanoseconds with its bound, the difference to the clock of this "
		    "host, and the exchanges.",
	  .example = "gettime -timeserver server -verbose" },
	{ .name = "waitfortime",
	  .aliases = "w",
	  OPTION_NUMBER("<milliseconds>", LEAST_MS, MOST_MS),
	  .unit = "milliseconds since 1970 (seconds with 000 after them)",
	  GETTIME_LINE_FIELD(wait_ms),
	  .help = "wait until global time has reached that many milliseconds",
	  .detail = "The command ends then, and prints the time as otherwise. If the time is over "
		    "already, a warning says so.",
	  .example = "gettime -timeserver server -waitfortime 1800000000000" },
	{ OPTION_HELP, .aliases = "h" },
	{ 0 },
};

static const struct option_table gettime_options = { OPTION_GROUPS(
	OPTION_GROUP("Options", gettime_rows)) };

/* A moment on both clocks. */
struct moment {
	uint64_t local_ns, global_ns;
};

static struct moment now(struct globaltime_client *c, struct globaltime *g)
{
	struct moment m = { .local_ns = clock_now_ns() };

	globaltime_get(c, m.local_ns, g);
	m.global_ns = m.local_ns + (uint64_t)g->offset_ns;
	return m;
}

/* Sleep and spin until the kernel's clock, which clock_now_ns() reads here, is at `until_ns`. */
static void sleep_until(uint64_t until_ns)
{
	const struct timespec to = clock_timespec(until_ns > SPIN_NS ? until_ns - SPIN_NS : 0);

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &to, NULL) == EINTR)
		;
	while (clock_now_ns() < until_ns)
		;
}

/* Returns a moment that is not before the time that was asked for, with what is known of it. */
static struct moment wait_for(struct globaltime_client *c, const struct gettime_line *l,
			      struct globaltime *g)
{
	const uint64_t wait_ns = l->wait_ms * NS_PER_MS;
	struct moment m = now(c, g);
	uint64_t left_ns = wait_ns - m.global_ns;
	struct timespec pause;

	if (wait_ns <= m.global_ns) {
		log_warning("gettime -waitfortime %" PRIu64 ": is over since %.3f seconds; it does "
			    "not wait",
			    l->wait_ms, (double)(m.global_ns - wait_ns) / 1e9);
		return m;
	}
	prctl(PR_SET_TIMERSLACK, 1);
	if (left_ns > LOOK_NS)
		globaltime_follow(c);
	while (left_ns > REFRESH_NS) {
		pause = clock_timespec(ns_earlier(left_ns - REFRESH_NS, LOOK_NS));
		nanosleep(&pause, NULL);
		m = now(c, g);
		left_ns = wait_ns > m.global_ns ? wait_ns - m.global_ns : 0;
	}
	if (left_ns > REFRESH_UNTIL_NS)
		globaltime_refresh(c, m.local_ns + left_ns - REFRESH_UNTIL_NS);
	/* After a step of the server the time may be one before the local clock began. */
	m = now(c, g);
	/* A later estimate of the clock may say that it is too early still. */
	while (wait_ns > m.global_ns) {
		sleep_until(m.local_ns + (wait_ns - m.global_ns));
		m = now(c, g);
	}
	return m;
}

static void gettime_explain(const struct globaltime_client *c, const struct globaltime *g,
			    const struct moment *m)
{
	int64_t delta_ns = g->offset_ns - clock_wall_offset_ns();

	fprintf(stderr,
		"gettime: %s: %u exchanges, %u lost, %u steps, round trip %.3f us, drift %.3f ppm\n",
		globaltime_server(c), g->exchanges, g->lost, g->steps,
		(double)g->round_trip_ns / 1e3, g->drift_ppm);
	fprintf(stderr,
		"Global Time now is %" PRIu64 " ns, +- %" PRIu64 " ns, at %" PRIu64
		" ns of the monotonic clock\n",
		m->global_ns, g->bound_ns, m->local_ns);
	fprintf(stderr, "delta is %" PRId64 " ticks or %.9f seconds\n", delta_ns,
		(double)delta_ns / 1e9);
}

/* The server may have changed during a long wait. */
static void gettime_warn(const struct globaltime_client *c, const struct globaltime *g)
{
	if (g->steps)
		log_warning("gettime: the clock of the time server %s stepped, or it was started "
			    "again; the time comes from its new clock",
			    globaltime_server(c));
	if (!g->answering)
		log_warning("gettime: the time server %s does not answer any more; the time is "
			    "exact to %.3f ms",
			    globaltime_server(c), (double)g->bound_ns / 1e6);
}

static enum xdd_status print_time(const struct gettime_line *l)
{
	const struct globaltime_settings settings = {
		.host = l->host,
		.port = (uint16_t)l->port,
		.bounce = (unsigned)l->bounce,
	};
	struct err why;
	struct globaltime_client *c;
	struct globaltime g;
	struct moment m;

	if (globaltime_begin(&c, &settings, NULL, &why))
		return log_fail(XDD_INIT_FAILED, "gettime: %s", why.text);
	m = l->wait_ms ? wait_for(c, l, &g) : now(c, &g);
	if (l->verbose)
		gettime_explain(c, &g, &m);
	gettime_warn(c, &g);
	/* Whole seconds and no newline: shells compute with it. */
	printf("%llu", (m.global_ns + l->add_ns) / NS_PER_SEC);
	globaltime_end(c);
	return command_flush() ? XDD_OK : XDD_IO_ERROR;
}

static int gettime_main(int argc, char **argv)
{
	struct gettime_line l = { .port = GLOBALTIME_PORT, .bounce = GLOBALTIME_BOUNCE };
	struct line line = { .name = "gettime", .options = &gettime_options, .to = &l };
	enum xdd_status status = line_read(&line, argc, argv);

	if (!status && line.shows)
		return (int)command_show(&command_gettime, line.shows);
	if (!status && !l.host) {
		log_error("gettime: expected -timeserver <host>; xdd gettime -h lists the options");
		status = XDD_BAD_ARGUMENT;
	}
	return (int)(status ? status : print_time(&l));
}

const struct command command_gettime = {
	.name = "gettime",
	.page = "gettime",
	.summary = "print the clock of a time server, or wait for it; also as gettime",
	.usage = "usage: gettime -timeserver <host> [<option> ...]\n"
		 "\n"
		 "Asks a time server for global time and prints it on standard output: whole\n"
		 "seconds since 1970, without a newline, as xdd -starttime takes them. gettime is\n"
		 "xdd gettime.\n",
	.options = &gettime_options,
	.footer = "Exit status: 0 the time was printed; 1 no time server answers, and nothing was\n"
		  "printed; 2 invalid argument; 3 invalid option; 6 standard output cannot be\n"
		  "written.\n",
	.main = gettime_main,
};

struct timeserver_line {
	uint64_t port;
	const char *bind; /* NULL: all addresses */
	bool foreground;
};

#define TIMESERVER_LINE_FIELD(field) OPTION_FIELD(struct timeserver_line, field)

static const struct option server_rows[] = {
	{ .name = "port",
	  .aliases = "p",
	  OPTION_NUMBER("<port>", 0, 65535),
	  .def = "2000",
	  TIMESERVER_LINE_FIELD(port),
	  .help = "answer on this UDP port; 0: a free one",
	  .detail = "The port is part of the line that is printed.",
	  .example = "timeserver -port 2001" },
	{ .name = "bind",
	  .aliases = "b",
	  OPTION_TEXT("<address>"),
	  TIMESERVER_LINE_FIELD(bind),
	  .help = "answer on this address only",
	  .detail = "Without it the server answers on all addresses of the machine, IPv4 and IPv6. "
		    "Of a name with several addresses it takes the first that the machine has, and "
		    "warns of the others.",
	  .example = "timeserver -bind 10.0.0.1" },
	{ .name = "foreground",
	  .aliases = "f",
	  OPTION_FLAG(struct timeserver_line, foreground),
	  .help = "stay in the foreground",
	  .detail = "Without it the server goes to the background as soon as it can answer, so a "
		    "script may use it once the command has ended.",
	  .example = "timeserver -foreground" },
	{ OPTION_HELP, .aliases = "h" },
	{ 0 },
};

static const struct option_table server_options = { OPTION_GROUPS(
	OPTION_GROUP("Options", server_rows)) };

/* The line that says where it listens. A reader that has gone away is no error. */
static bool timeserver_announce(const struct time_server *s, const struct timeserver_line *l,
				pid_t pid)
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

static enum xdd_status timeserver_serve(struct time_server *s, int end_fd)
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

	if (pid < 0)
		return log_fail(XDD_INIT_FAILED, "timeserver: cannot go to the background (%s)",
				strerror(errno));
	if (pid > 0)
		return timeserver_announce(s, l, pid) ? XDD_OK : XDD_IO_ERROR;
	return detach() ? XDD_INIT_FAILED : timeserver_serve(s, end_fd);
}

static enum xdd_status run_server(const struct timeserver_line *l)
{
	struct err why;
	enum xdd_status status = XDD_INIT_FAILED;
	struct time_server *s;
	int end_fd;

	if (time_server_open(&s, l->bind, (uint16_t)l->port, &why))
		return log_fail(XDD_INIT_FAILED, "timeserver: %s", why.text);
	end_fd = end_signals();
	if (end_fd < 0)
		log_error("timeserver: %s", strerror(-end_fd));
	else if (!l->foreground)
		status = serve_behind(s, l, end_fd);
	else if (timeserver_announce(s, l, getpid()))
		status = timeserver_serve(s, end_fd);
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
	struct line line = { .name = "timeserver", .options = &server_options, .to = &l };
	enum xdd_status status = line_read(&line, argc, argv);

	if (status)
		return (int)status;
	return (int)(line.shows ? command_show(&command_timeserver, line.shows) : run_server(&l));
}

const struct command command_timeserver = {
	.name = "timeserver",
	.page = "timeserver",
	.summary = "serve one clock to all hosts of a run; also as timeserver",
	.usage = "usage: timeserver [<option> ...]\n"
		 "\n"
		 "Answers the hosts of a run with its clock, so that all of them start at one\n"
		 "moment and their time stamps can be merged. gettime and xdd -timeserver ask it.\n"
		 "It goes to the background, needs no privileges, and ends with SIGTERM.\n"
		 "timeserver is xdd timeserver.\n",
	.options = &server_options,
	.footer = "Exit status: 0 it serves, or was ended by a signal; 1 it cannot listen;\n"
		  "2 invalid argument; 3 invalid option; 6 standard output cannot be written.\n",
	.main = timeserver_main,
};
