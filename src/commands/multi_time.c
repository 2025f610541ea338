/*
 * The clock of the run: multi.h. Called by multi.c and multi_launch.c.
 *
 * All hosts ask one time server. Unless one is named, a thread of this process is the server while
 * the run lasts.
 */
#include <errno.h>
#include <inttypes.h>
#include <netdb.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "commands/multi.h"
#include "xdd/base/log.h"
#include "xdd/base/memory.h"
#include "xdd/base/units.h"
#include "xdd/net/globaltime.h"
#include "xdd/sync/thread.h"
#include "xdd/sys/clock.h"

/*
 * The default of -startin: ssh takes about a second, and many of them need processors. All of it
 * takes longer where other programs run; more than MOST_LOAD times as long is no default.
 */
#define START_NS (5 * NS_PER_SEC)
#define START_RANK_NS (50 * NS_PER_MS)
#define START_LAUNCH_NS (200 * NS_PER_MS) /* of one processor, for each rank */
#define MOST_LOAD 8

struct multi_server {
	struct time_server *server;
	pthread_t thread;
	int end_fd;
};

static enum xdd_status no_memory(void)
{
	log_error("multi: %s", strerror(ENOMEM));
	return XDD_INIT_FAILED;
}

/* ---- the server of this process ---- */

static void *serve(void *arg)
{
	struct multi_server *s = arg;
	int err = time_server_serve(s->server, s->end_fd);

	if (err)
		log_error("multi: the time server: %s", strerror(-err));
	return NULL;
}

static enum xdd_status start_server(struct multi *m)
{
	struct multi_server *s = arena_alloc(m->arena, sizeof(*s));
	char why[GLOBALTIME_WHY_BYTES];
	int err;

	if (!s)
		return no_memory();
	if (time_server_open(&s->server, NULL, 0, why, sizeof(why))) {
		log_error("multi: the time server: %s", why);
		return XDD_INIT_FAILED;
	}
	s->end_fd = eventfd(0, EFD_CLOEXEC);
	err = s->end_fd < 0 ? -errno : thread_start(&s->thread, serve, s);
	if (err) {
		log_error("multi: the time server: %s", strerror(-err));
		if (s->end_fd >= 0)
			close(s->end_fd);
		time_server_close(s->server);
		return XDD_INIT_FAILED;
	}
	m->server = s;
	m->time_port = arena_printf(m->arena, "%u", time_server_port(s->server));
	return m->time_port ? XDD_OK : no_memory();
}

void multi_time_end(struct multi *m)
{
	struct multi_server *s = m->server;
	const uint64_t one = 1;

	if (!s)
		return;
	while (write(s->end_fd, &one, sizeof(one)) < 0 && errno == EINTR)
		;
	pthread_join(s->thread, NULL);
	close(s->end_fd);
	time_server_close(s->server);
	m->server = NULL;
}

/* The address from which this host sends to one of `list`. */
static bool find_address(const struct addrinfo *list, char *text, size_t size)
{
	struct sockaddr_storage own;
	bool found = false;

	for (; list && !found; list = list->ai_next) {
		int fd = socket(list->ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
		socklen_t length = sizeof(own);

		/* Nothing is sent. */
		found = fd >= 0 && connect(fd, list->ai_addr, list->ai_addrlen) == 0 &&
			getsockname(fd, (struct sockaddr *)&own, &length) == 0 &&
			getnameinfo((struct sockaddr *)&own, length, text, (socklen_t)size, NULL, 0,
				    NI_NUMERICHOST) == 0;
		if (fd >= 0)
			close(fd);
	}
	return found;
}

const char *multi_time_host(const struct multi *m, const struct multi_host *host)
{
	const struct addrinfo hints = { .ai_socktype = SOCK_DGRAM };
	char text[NI_MAXHOST] = "";
	struct addrinfo *list = NULL;

	if (m->time_host)
		return m->time_host;
	/* A name of ssh's configuration only: the hosts must know the name of this one. */
	if (getaddrinfo(host->name, "22", &hints, &list) || !find_address(list, text, sizeof(text)))
		gethostname(text, sizeof(text) - 1);
	if (list)
		freeaddrinfo(list);
	return arena_strdup(m->arena, text);
}

/* ---- the start time ---- */

static uint64_t start_in_ns(const struct multi *m)
{
	const long online = sysconf(_SC_NPROCESSORS_ONLN), processors = online > 0 ? online : 1;
	double load;
	uint64_t ns;

	if (m->line.start_in_ns != UINT64_MAX)
		return m->line.start_in_ns;
	if (getloadavg(&load, 1) < 1)
		load = 0;
	ns = START_NS + m->n * (START_RANK_NS + START_LAUNCH_NS / (uint64_t)processors);
	load = 1 + load / (double)processors;
	return (uint64_t)((double)ns * (load < MOST_LOAD ? load : MOST_LOAD));
}

/* <host>, <host>:<port>, [<address>] or [<address>]:<port>. */
static enum xdd_status read_server(struct multi *m)
{
	char *text = arena_strdup(m->arena, m->line.time_server), *colon, *end;
	uint64_t port = GLOBALTIME_PORT;

	if (!text)
		return no_memory();
	end = *text == '[' ? strchr(text, ']') : NULL;
	colon = strrchr(end ? end : text, ':');
	/* Several colons without brackets: an address. */
	if (colon && !end && strchr(text, ':') != colon)
		colon = NULL;
	if (colon) {
		*colon = '\0';
		if (units_parse_u64(colon + 1, &port) || !port || port > UINT16_MAX)
			port = 0;
	}
	if (end) {
		*end = '\0';
		text++;
	}
	if (!*text || *text == '-' || !port) {
		log_error("multi -timeserver %.128s: expected <host> or <host>:<port>",
			  m->line.time_server);
		return XDD_BAD_ARGUMENT;
	}
	m->time_host = text;
	m->time_port = arena_printf(m->arena, "%" PRIu64, port);
	return m->time_port ? XDD_OK : no_memory();
}

/* The global time of the server that was named. */
static enum xdd_status ask_server(const struct multi *m, uint64_t *now_ns)
{
	const struct globaltime_settings s = { .host = m->time_host,
					       .port = (uint16_t)atoi(m->time_port) };
	uint64_t local_ns;
	struct globaltime_client *c;
	char why[GLOBALTIME_WHY_BYTES] = "";
	struct globaltime t;

	if (globaltime_begin(&c, &s, NULL, why, sizeof(why))) {
		log_error("multi -timeserver %.128s: %s", m->line.time_server, why);
		return XDD_INIT_FAILED;
	}
	local_ns = clock_now_ns();
	globaltime_get(c, local_ns, &t);
	globaltime_end(c);
	*now_ns = local_ns + (uint64_t)t.offset_ns;
	return XDD_OK;
}

static enum xdd_status set_start(struct multi *m, uint64_t now_ns)
{
	uint64_t at_ns = now_ns + start_in_ns(m);

	m->start_time = arena_printf(m->arena, "%" PRIu64 ".%09" PRIu64,
				     (uint64_t)(at_ns / NS_PER_SEC),
				     (uint64_t)(at_ns % NS_PER_SEC));
	return m->start_time ? XDD_OK : no_memory();
}

enum xdd_status multi_time_begin(struct multi *m)
{
	const char *named = m->line.time_server;
	const bool none = named && strcmp(named, "none") == 0;
	/* The server of this process has the clock of this host. */
	uint64_t now_ns = clock_wall_ns();
	enum xdd_status status = named && !none ? read_server(m) : XDD_OK;

	if (status)
		return status;
	if (m->line.dry_run) {
		if (!named)
			m->time_port = MULTI_PORT_TEXT;
		m->start_time = start_in_ns(m) ? MULTI_TIME_TEXT : NULL;
		return XDD_OK;
	}
	if (!none)
		status = named ? ask_server(m, &now_ns) : start_server(m);
	if (status || !start_in_ns(m))
		return status;
	return set_start(m, now_ns);
}
