/*
 * The command xdd gettime, also as gettime: prints global time, and waits for it. Called by main.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>

#include "commands/commands.h"
#include "commands/line.h"
#include "xdd/base/log.h"
#include "xdd/base/units.h"
#include "xdd/commands/command.h"
#include "xdd/net/globaltime.h"
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

#define LINE_FIELD(field) OPTION_FIELD(struct gettime_line, field)

static const struct option rows[] = {
	{ .name = "timeserver",
	  .aliases = "t",
	  .arg = "<host>",
	  .type = OPT_TEXT,
	  LINE_FIELD(host),
	  .help = "the host of the time server",
	  .example = "gettime -timeserver server" },
	{ .name = "port",
	  .aliases = "p",
	  .arg = "<port>",
	  .type = OPT_U64,
	  .min = 1,
	  .max = 65535,
	  .def = "2000",
	  LINE_FIELD(port),
	  .help = "the port of the time server",
	  .example = "gettime -timeserver server -port 2001" },
	{ .name = "add",
	  .aliases = "a",
	  .arg = "<seconds>",
	  .type = OPT_SECONDS,
	  .max = 1000000000ull * NS_PER_SEC,
	  LINE_FIELD(add_ns),
	  .help = "print the time that is so much later",
	  .detail = "For a start time that leaves the hosts enough time to prepare.",
	  .example = "gettime -timeserver server -add 20" },
	{ .name = "bounce",
	  .arg = "<times>",
	  .type = OPT_U64,
	  .min = 1,
	  .max = GLOBALTIME_MAX_BOUNCE,
	  .def = "100",
	  LINE_FIELD(bounce),
	  .help = "number of exchanges with the time server",
	  .detail = "The best of them count, so more of them are more exact on a busy network.",
	  .example = "gettime -timeserver server -bounce 1000" },
	{ .name = "verbose",
	  .aliases = "v",
	  .type = OPT_FLAG,
	  .value = true,
	  LINE_FIELD(verbose),
	  .help = "print more, on standard error",
	  .detail = "The time in nanoseconds with its bound, the difference to the clock of this "
		    "host, and the exchanges.",
	  .example = "gettime -timeserver server -verbose" },
	{ .name = "waitfortime",
	  .aliases = "w",
	  .arg = "<milliseconds>",
	  .type = OPT_U64,
	  .min = LEAST_MS,
	  .max = MOST_MS,
	  .hint = "global time is in milliseconds since 1970 here: seconds with 000 after them",
	  LINE_FIELD(wait_ms),
	  .help = "wait until global time has reached that many milliseconds",
	  .detail = "The command ends then, and prints the time as otherwise. If the time is over "
		    "already, a warning says so.",
	  .example = "gettime -timeserver server -waitfortime 1800000000000" },
	{ .name = "help", .aliases = "h", .help = "this text" },
	{ 0 },
};

static const struct option_group group = { "Options", rows };
static const struct option_group *const groups[] = { &group, NULL };
static const struct option_table options = { .groups = groups };

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

static void wait_for(struct globaltime_client *c, const struct gettime_line *l)
{
	const uint64_t wait_ns = l->wait_ms * NS_PER_MS;
	struct globaltime g;
	struct moment m = now(c, &g);
	uint64_t left_ns = wait_ns - m.global_ns;
	struct timespec pause;

	if (wait_ns <= m.global_ns) {
		log_warning("gettime -waitfortime %" PRIu64 ": is over since %.3f seconds; it does "
			    "not wait",
			    l->wait_ms, (double)(m.global_ns - wait_ns) / 1e9);
		return;
	}
	prctl(PR_SET_TIMERSLACK, 1);
	if (left_ns > LOOK_NS)
		globaltime_follow(c);
	while (left_ns > REFRESH_NS) {
		pause = clock_timespec(ns_earlier(left_ns - REFRESH_NS, LOOK_NS));
		nanosleep(&pause, NULL);
		m = now(c, &g);
		left_ns = wait_ns > m.global_ns ? wait_ns - m.global_ns : 0;
	}
	if (left_ns > REFRESH_UNTIL_NS)
		globaltime_refresh(c, m.local_ns + left_ns - REFRESH_UNTIL_NS);
	/* After a step of the server the time may be one before the local clock began. */
	m = now(c, &g);
	if (wait_ns > m.global_ns)
		sleep_until(m.local_ns + (wait_ns - m.global_ns));
}

static void explain(const struct globaltime_client *c, const struct globaltime *g,
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
static void warn(const struct globaltime_client *c, const struct globaltime *g)
{
	if (g->steps)
		log_warning("gettime: the clock of the time server %s stepped, or it was started "
			    "again; the time is that of its new clock",
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
	char why[GLOBALTIME_WHY_BYTES];
	struct globaltime_client *c;
	struct globaltime g;
	struct moment m;

	if (globaltime_begin(&c, &settings, NULL, why, sizeof(why))) {
		log_error("gettime: %s", why);
		return XDD_INIT_FAILED;
	}
	if (l->wait_ms)
		wait_for(c, l);
	m = now(c, &g);
	if (l->verbose)
		explain(c, &g, &m);
	warn(c, &g);
	/* Whole seconds and no newline: shells compute with it. */
	printf("%llu", (m.global_ns + l->add_ns) / NS_PER_SEC);
	globaltime_end(c);
	return command_flush() ? XDD_OK : XDD_IO_ERROR;
}

static int gettime_main(int argc, char **argv)
{
	struct gettime_line l = { .port = GLOBALTIME_PORT, .bounce = GLOBALTIME_BOUNCE };
	bool help = false;
	enum xdd_status status = line_read(&command_gettime, argc, argv, &l, &help);

	if (!status && help) {
		command_help(&command_gettime);
		return command_flush() ? XDD_OK : XDD_IO_ERROR;
	}
	if (!status && !l.host) {
		log_error("gettime: expected -timeserver <host>; xdd gettime -h lists the options");
		status = XDD_BAD_ARGUMENT;
	}
	return (int)(status ? status : print_time(&l));
}

const struct command command_gettime = {
	.name = "gettime",
	.summary = "print the clock of a time server, or wait for it; also as gettime",
	.usage = "usage: gettime -timeserver <host> [<option> ...]\n"
		 "\n"
		 "Asks a time server for global time and prints it on standard output: whole\n"
		 "seconds since 1970, without a newline, as xdd -starttime takes them. gettime is\n"
		 "xdd gettime.\n",
	.options = &options,
	.footer = "Exit status: 0 the time was printed; 1 no time server answers, and nothing was\n"
		  "printed; 2 invalid argument; 3 invalid option; 6 standard output cannot be\n"
		  "written.\n",
	.main = gettime_main,
};
