/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The hosts of a run: lists of them, the hosts of an allocation of Slurm, and their clock. Called
 * by multi.c and multi_launch.c.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <netdb.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "commands/multi.h"
#include "xdd/base/err.h"
#include "xdd/base/file.h"
#include "xdd/base/log.h"
#include "xdd/base/memory.h"
#include "xdd/base/units.h"
#include "xdd/net/globaltime.h"
#include "xdd/sync/thread.h"
#include "xdd/sys/child.h"
#include "xdd/sys/clock.h"

#define LIST_MAX_BYTES (1u << 20)
#define WAIT_MS 10000

/* Read all that the child writes. Returns 0 with a text, or -errno. */
static int read_all(int fd, char *text, size_t size)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	size_t n = 0;

	while (n + 1 < size) {
		ssize_t got;

		if (poll(&p, 1, WAIT_MS) == 0)
			return -ETIMEDOUT;
		got = read(fd, text + n, size - n - 1);
		if (got == 0) {
			text[n] = '\0';
			return 0;
		}
		if (got > 0)
			n += (size_t)got;
		else if (errno != EAGAIN && errno != EINTR)
			return -errno;
	}
	return -EFBIG;
}

/* Have scontrol expand the list, such as "node[1-4,7]". Returns 0 or -errno. */
static int multi_slurm_expand(const char *list, char *text, size_t size)
{
	char *const argv[] = { (char *)"scontrol", (char *)"show", (char *)"hostnames",
			       (char *)(uintptr_t)list, NULL };
	struct child c;
	int err = child_start(&c, argv, CHILD_PLAIN);

	if (err)
		return err;
	close(c.write_fd);
	err = read_all(c.read_fd, text, size);
	close(c.read_fd);
	if (child_wait(c.pid, err ? 0 : 2 * NS_PER_SEC) && !err)
		err = -EINVAL;
	return err;
}

enum xdd_status multi_hosts_slurm(struct arena *arena, struct multi_hosts *h, uint32_t slots)
{
	const char *list = getenv("SLURM_JOB_NODELIST");
	enum xdd_status status = XDD_BAD_ARGUMENT;
	char *text = xneed(malloc(LIST_MAX_BYTES));
	int err = multi_slurm_expand(list, text, LIST_MAX_BYTES);

	if (err)
		log_error("multi: SLURM_JOB_NODELIST %.128s: scontrol cannot expand it (%s); give "
			  "the hosts with -hosts",
			  list, err == -ENOENT ? "it is not installed" : strerror(-err));
	else
		status = multi_hosts_add(arena, h, text, "SLURM_JOB_NODELIST", slots);
	free(text);
	return status;
}

#define FILE_MAX_BYTES (4u << 20)
#define NAME_MAX_BYTES 255

/* The colon before the number of ranks, or NULL. An address of IPv6 without brackets has more. */
static char *find_slots(char *text)
{
	char *end = strrchr(text, ']'), *colon = strchr(end ? end : text, ':');

	return colon && !strchr(colon + 1, ':') ? colon : NULL;
}

/* An address of IPv6, perhaps with a zone: fe80::1%eth0. */
static bool is_address(const char *name)
{
	char number[INET6_ADDRSTRLEN];
	const size_t n = strcspn(name, "%");
	struct in6_addr address;

	if (n >= sizeof(number) || (name[n] && !name[n + 1]))
		return false;
	memcpy(number, name, n);
	number[n] = '\0';
	return inet_pton(AF_INET6, number, &address) == 1;
}

/* The problem of `host`, or NULL. Names become names of files, so slashes are refused as well. */
static const char *problem(const struct multi_host *host)
{
	const char *wrong = ssh_wrong_name(host->name, host->user);

	if (wrong)
		return wrong;
	if (strpbrk(host->name, "/[],@?*=") || (strchr(host->name, '%') && !is_address(host->name)))
		return "is not the name of a host";
	if (strchr(host->name, ':') && !is_address(host->name))
		return "expected one number of ranks after the host, such as node1:2 or "
		       "[fe80::1]:2";
	if (!host->name[strspn(host->name, "0123456789")])
		return "expected the name of a host; -slots sets the number of ranks of each host";
	if (strlen(host->name) > NAME_MAX_BYTES ||
	    (host->user && strlen(host->user) > NAME_MAX_BYTES))
		return "is too long";
	return NULL;
}

static const char *parse_slots(const char *text, uint32_t *slots)
{
	uint64_t n;

	if (units_parse_u64(text, &n) || !n || n > MULTI_MAX_RANKS)
		return "expected the number of ranks after the colon, from 1 to 16384";
	*slots = (uint32_t)n;
	return NULL;
}

/* Take `text` apart, which is changed. Returns the problem, or NULL. */
static const char *parse_host(char *text, struct multi_host *host)
{
	char *colon = find_slots(text), *at, *end;
	const char *wrong = NULL;

	if (colon) {
		*colon = '\0';
		wrong = parse_slots(colon + 1, &host->slots);
	}
	host->name = text;
	at = strrchr(text, '@');
	if (at) {
		*at = '\0';
		host->user = text;
		host->name = at + 1;
	}
	if (*host->name == '[') {
		end = strchr(host->name, ']');
		if (!end || end[1])
			return "expected [address] of IPv6";
		*end = '\0';
		host->name++;
	}
	return wrong ? wrong : problem(host);
}

static enum xdd_status bad_host(const char *origin, const char *word, const char *why)
{
	return log_refuse("multi %s %.256s: %s", origin, word, why);
}

static enum xdd_status add_one(struct arena *arena, struct multi_hosts *h, const char *word,
			       const char *origin, uint32_t slots)
{
	struct multi_host host = { .slots = slots };
	char *text = xarena_strdup(arena, word);
	const char *wrong;

	h->list = xarena_room(arena, h->list, h->n, sizeof(*h->list));
	if (h->n == MULTI_MAX_RANKS)
		return bad_host(origin, word, "is one host more than the 16384 that may be");
	wrong = parse_host(text, &host);
	if (wrong)
		return bad_host(origin, word, wrong);
	h->list[h->n++] = host;
	return XDD_OK;
}

/* ---- ranges ---- */

/*
 * A range such as 08-12 at `*text`, and `*text` after it; `*width` is the width of its first
 * number.
 */
static bool take_range(const char **text, uint64_t *first, uint64_t *last, int *width)
{
	const char *c = *text;
	uint64_t *number = first;

	*width = (int)strspn(c, "0123456789");
	for (;; number = last, c++) {
		size_t digits = strspn(c, "0123456789");

		if (!digits || digits > 9)
			return false;
		*number = strtoull(c, NULL, 10);
		c += digits;
		if (number == last || *c != '-')
			break;
	}
	if (number == first)
		*last = *first;
	*text = c;
	return *first <= *last;
}

static enum xdd_status add(struct arena *arena, struct multi_hosts *h, const char *word,
			   const char *origin, uint32_t slots);

/* node[1-3,7]: the numbers between the brackets, with the leading zeros of each first one. */
static enum xdd_status add_ranges(struct arena *arena, struct multi_hosts *h, const char *word,
				  const char *open, const char *origin, uint32_t slots)
{
	const char *close = strchr(open, ']'), *at = open;
	enum xdd_status status = XDD_OK;

	while (close && at < close && !status) {
		uint64_t first, last;
		int width;

		at++;
		if (!take_range(&at, &first, &last, &width) || (*at != ',' && at != close))
			return bad_host(origin, word, "expected ranges, such as node[1-8,12]");
		for (; first <= last && !status; first++) {
			char *one = xarena_printf(arena, "%.*s%0*" PRIu64 "%s", (int)(open - word),
						  word, width, first, close + 1);

			status = add(arena, h, one, origin, slots);
		}
	}
	return close ? status : bad_host(origin, word, "a bracket is not closed");
}

/* Brackets with a colon between them have an address of IPv6. */
static enum xdd_status add(struct arena *arena, struct multi_hosts *h, const char *word,
			   const char *origin, uint32_t slots)
{
	const char *open = strchr(word, '[');

	if (!open || open == word || open[-1] == '@')
		return add_one(arena, h, word, origin, slots);
	return add_ranges(arena, h, word, open, origin, slots);
}

/* The length of the first host of a list; commas between brackets belong to it. */
static size_t host_length(const char *text, const char *separators)
{
	bool inside = false;
	size_t n = 0;

	for (; text[n] && (inside || !strchr(separators, text[n])); n++) {
		if (text[n] == '[' || text[n] == ']')
			inside = text[n] == '[';
	}
	return n;
}

enum xdd_status multi_hosts_add(struct arena *arena, struct multi_hosts *h, const char *text,
				const char *origin, uint32_t slots)
{
	static const char separators[] = ", \t\n";
	enum xdd_status status = XDD_OK;

	while (!status && *(text += strspn(text, separators))) {
		size_t length = host_length(text, separators);
		char *word = xarena_printf(arena, "%.*s", (int)length, text);

		status = add(arena, h, word, origin, slots);
		text += length;
	}
	return status;
}

/* ---- files ---- */

static bool is_blank(const char *line)
{
	return !line[strspn(line, " \t\r")];
}

/* The number after `key` where `word` begins with it. False: it does not, or has no number. */
static bool take_key(const char *word, const char *key, uint32_t *number)
{
	const size_t n = strlen(key);

	return strncmp(word, key, n) == 0 && !parse_slots(word + n, number);
}

/* A line of a file, which is changed: a host, perhaps with slots=<n> and max_slots of mpirun. */
static enum xdd_status read_line(struct arena *arena, struct multi_hosts *h, char *line,
				 const char *origin, uint32_t slots)
{
	uint32_t most = MULTI_MAX_RANKS;
	char *save = NULL, *name, *word;
	bool good = true;

	line[strcspn(line, "#\r")] = '\0';
	name = strtok_r(line, " \t", &save);
	while (good && (word = strtok_r(NULL, " \t", &save)))
		good = take_key(word, "slots=", &slots) || take_key(word, "max_slots=", &most) ||
		       take_key(word, "max-slots=", &most);
	if (!name || !good || (strchr(name, ',') && !strchr(name, '[')))
		return log_refuse("multi %s expected a host, or a host and slots=<#ranks>", origin);
	return add(arena, h, name, origin, slots < most ? slots : most);
}

static enum xdd_status read_lines(struct arena *arena, struct multi_hosts *h, char *text,
				  const char *path, uint32_t slots)
{
	enum xdd_status status = XDD_OK;

	for (unsigned n = 1; text && !status; n++) {
		char *line = strsep(&text, "\n");
		char *hash = strchr(line, '#');

		if (hash)
			*hash = '\0';
		if (!is_blank(line)) {
			char *origin = xarena_printf(arena, "-hostfile %s:%u:", path, n);

			status = read_line(arena, h, line, origin, slots);
		}
	}
	return status;
}

enum xdd_status multi_hosts_read(struct arena *arena, struct multi_hosts *h, const char *path,
				 uint32_t slots)
{
	int fd = strcmp(path, "-") == 0 ? dup(STDIN_FILENO) : open(path, O_RDONLY | O_CLOEXEC);
	int err = fd < 0 ? -errno : 0;
	enum xdd_status status;
	char *text = NULL;
	size_t size;

	if (!err)
		err = readfile(fd, FILE_MAX_BYTES, &text, &size);
	if (fd >= 0)
		close(fd);
	if (!err && strlen(text) != size)
		err = -EBADMSG;
	if (err) {
		log_error("multi -hostfile %s: %s", path,
			  err == -EBADMSG ? "is not a text" : strerror(-err));
		free(text);
		return XDD_BAD_ARGUMENT;
	}
	status = read_lines(arena, h, text, path, slots);
	free(text);
	return status;
}

/*
 * The clock of the run: all hosts ask one time server. Unless one is named, a thread of this
 * process is the server while the run lasts.
 */

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

/* ---- the server of this process ---- */

static void *multi_time_serve(void *arg)
{
	struct multi_server *s = arg;
	int err = time_server_serve(s->server, s->end_fd);

	if (err)
		log_error("multi: the time server: %s", strerror(-err));
	return NULL;
}

static enum xdd_status start_server(struct multi *m)
{
	struct multi_server *s = xarena_alloc(m->arena, sizeof(*s));
	struct err why;
	int err;

	if (time_server_open(&s->server, NULL, 0, &why))
		return log_fail(XDD_INIT_FAILED, "multi: the time server: %s", why.text);
	s->end_fd = eventfd(0, EFD_CLOEXEC);
	err = s->end_fd < 0 ? -errno : thread_start(&s->thread, multi_time_serve, s);
	if (err) {
		log_error("multi: the time server: %s", strerror(-err));
		if (s->end_fd >= 0)
			close(s->end_fd);
		time_server_close(s->server);
		return XDD_INIT_FAILED;
	}
	m->server = s;
	m->time_port = xarena_printf(m->arena, "%u", time_server_port(s->server));
	return XDD_OK;
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
	return xarena_strdup(m->arena, text);
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
	char *text = xarena_strdup(m->arena, m->line.time_server), *colon, *end;
	uint64_t port = GLOBALTIME_PORT;

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
	if (!*text || *text == '-' || !port)
		return log_refuse("multi -timeserver %.128s: expected <host> or <host>:<port>",
				  m->line.time_server);
	m->time_host = text;
	m->time_port = xarena_printf(m->arena, "%" PRIu64, port);
	return XDD_OK;
}

/* The global time of the server that was named. */
static enum xdd_status ask_server(const struct multi *m, uint64_t *now_ns)
{
	const struct globaltime_settings s = { .host = m->time_host,
					       .port = (uint16_t)atoi(m->time_port) };
	uint64_t local_ns;
	struct globaltime_client *c;
	struct err why;
	struct globaltime t;

	if (globaltime_begin(&c, &s, NULL, &why))
		return log_fail(XDD_INIT_FAILED, "multi -timeserver %.128s: %s",
				m->line.time_server, why.text);
	local_ns = clock_now_ns();
	globaltime_get(c, local_ns, &t);
	globaltime_end(c);
	*now_ns = local_ns + (uint64_t)t.offset_ns;
	return XDD_OK;
}

static enum xdd_status set_start(struct multi *m, uint64_t now_ns)
{
	uint64_t at_ns = now_ns + start_in_ns(m);

	m->start_time = xarena_printf(m->arena, "%" PRIu64 ".%09" PRIu64,
				      (uint64_t)(at_ns / NS_PER_SEC),
				      (uint64_t)(at_ns % NS_PER_SEC));
	return XDD_OK;
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
