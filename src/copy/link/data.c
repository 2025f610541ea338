/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Both ends of data connections: the side that connects, and the one that listens; and which
 * program has a port. Called by attempt.c and server.c.
 */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <netdb.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "copy/link/link.h"
#include "xdd/base/err.h"
#include "xdd/base/log.h"
#include "xdd/base/text.h"
#include "xdd/base/units.h"
#include "xdd/net/session.h"
#include "xdd/net/wire.h"
#include "xdd/sync/thread.h"
#include "xdd/sync/wait.h"
#include "xdd/sys/clock.h"

/*
 * ---- owners of ports ----
 *
 * The kernel lists sockets with their inodes, and each process the inodes of its descriptors.
 */

#define MAX_SOCKETS 256
#define STATE_LISTEN 0x0a

/* Sockets that listen, by inode. */
struct sockets {
	uint64_t inodes[MAX_SOCKETS];
	size_t n;
};

static void add_sockets(struct sockets *s, const char *path, uint16_t first, unsigned n)
{
	FILE *f = fopen(path, "re");
	char line[512];

	while (f && s->n < MAX_SOCKETS && fgets(line, sizeof(line), f)) {
		unsigned port, state;
		uint64_t inode;

		if (sscanf(line, "%*s %*[0-9A-F]:%x %*[0-9A-F]:%*x %x %*s %*s %*s %*s %*s %" SCNu64,
			   &port, &state, &inode) != 3)
			continue;
		if (state == STATE_LISTEN && port >= first && port - first < n && inode)
			s->inodes[s->n++] = inode;
	}
	if (f)
		fclose(f);
}

static void find_sockets(struct sockets *s, uint16_t first, unsigned n)
{
	s->n = 0;
	add_sockets(s, "/proc/net/tcp", first, n);
	add_sockets(s, "/proc/net/tcp6", first, n);
}

/* True: descriptor `name` of `fds` is one of the sockets. */
static bool is_socket(int fds, const char *name, const struct sockets *s)
{
	char link[64];
	ssize_t n = readlinkat(fds, name, link, sizeof(link) - 1);
	uint64_t inode;

	if (n < 0)
		return false;
	link[n] = '\0';
	if (sscanf(link, "socket:[%" SCNu64 "]", &inode) != 1)
		return false;
	for (size_t i = 0; i < s->n; i++)
		if (s->inodes[i] == inode)
			return true;
	return false;
}

static bool has_socket(pid_t pid, const struct sockets *s)
{
	char path[64];
	const struct dirent *e;
	bool found = false;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
	dir = opendir(path);
	if (!dir)
		return false;
	while (!found && (e = readdir(dir)))
		found = is_socket(dirfd(dir), e->d_name, s);
	closedir(dir);
	return found;
}

/* The next process of `proc`, or 0. */
static pid_t next_process(DIR *proc)
{
	const struct dirent *e;

	while ((e = readdir(proc)))
		if (isdigit((unsigned char)e->d_name[0]))
			return (pid_t)atoi(e->d_name);
	return 0;
}

/* The last component of the name of its executable; "" where it cannot be seen. */
static void program_of(pid_t pid, char *name, size_t size)
{
	static const char deleted[] = " (deleted)";
	char path[64], exe[PATH_MAX];
	const char *base;
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);
	n = readlink(path, exe, sizeof(exe) - 1);
	exe[n < 0 ? 0 : n] = '\0';
	if (n >= (ssize_t)sizeof(deleted) && strcmp(exe + n - sizeof(deleted) + 1, deleted) == 0)
		exe[n - (ssize_t)sizeof(deleted) + 1] = '\0';
	base = strrchr(exe, '/');
	base = base ? base + 1 : exe;
	for (; *base && size > 1; base++, size--)
		*name++ = isgraph((unsigned char)*base) ? *base : '?';
	*name = '\0';
}

static bool is_ours(pid_t pid)
{
	char path[64], program[32];
	struct stat st;

	snprintf(path, sizeof(path), "/proc/%d", (int)pid);
	if (pid == getpid() || stat(path, &st) != 0 || st.st_uid != geteuid())
		return false;
	program_of(pid, program, sizeof(program));
	return strcmp(program, "xdd") == 0 || strcmp(program, "xdd.Linux") == 0;
}

bool port_owner(uint16_t port, char text[PORT_OWNER_SIZE])
{
	struct sockets s;
	char program[32];
	bool found = false;
	DIR *proc;
	pid_t pid;

	find_sockets(&s, port, 1);
	proc = s.n ? opendir("/proc") : NULL;
	while (proc && !found && (pid = next_process(proc))) {
		found = has_socket(pid, &s);
		if (found) {
			program_of(pid, program, sizeof(program));
			snprintf(text, PORT_OWNER_SIZE, "process %d (%s)", (int)pid,
				 *program ? program : "?");
		}
	}
	if (proc)
		closedir(proc);
	return found;
}

/* To the process of `fd`, or where there is none to `pid`. Returns true once it is sent. */
static bool send_signal(pid_t pid, int fd, int sig)
{
	return (fd < 0 ? kill(pid, sig) : syscall(SYS_pidfd_send_signal, fd, sig, NULL, 0)) == 0;
}

/* The number of a process may be given to another one between the look and the signal. */
static bool end_process(pid_t pid, const struct sockets *s)
{
	int fd = (int)syscall(SYS_pidfd_open, pid, 0);
	bool ended = false;

	if (fd < 0 && errno != ENOSYS)
		return false;
	/* One that is stopped gets SIGTERM once it runs. */
	if (is_ours(pid) && has_socket(pid, s))
		ended = send_signal(pid, fd, SIGTERM) && send_signal(pid, fd, SIGCONT);
	if (fd >= 0)
		close(fd);
	return ended;
}

/*
 * Send SIGTERM to the other xdd processes of this user that listen on `n` ports from `first` on.
 * Returns how many these are. Any thread.
 */
static unsigned ports_end_own(uint16_t first, unsigned n)
{
	struct sockets s;
	unsigned ended = 0;
	DIR *proc;
	pid_t pid;

	find_sockets(&s, first, n);
	proc = s.n ? opendir("/proc") : NULL;
	while (proc && (pid = next_process(proc)))
		ended += is_ours(pid) && end_process(pid, &s);
	if (proc)
		closedir(proc);
	return ended;
}

/* ---- connections ---- */

static void data_keys_forget(struct data_keys *k)
{
	explicit_bzero(k, sizeof(*k));
}

void meet_answer(struct copy_meet *m, int err, const struct err *why)
{
	m->ok = err == 0;
	if (err)
		snprintf(m->text, sizeof(m->text), "%s", why->text);
}

int data_keys_derive(struct data_keys *k, const struct data_terms *terms, struct err *why)
{
	const char *missing;
	int err;

	memset(k, 0, sizeof(*k));
	if (!digest_available(&missing) || !net_key_available(&missing))
		return err_set(why, -ENOTSUP, "%s", missing);
	err = wire_key_derive(terms->key, "xdd copy: codes", k->codes);
	if (!err && terms->settings->encrypt) {
		k->tls.present = true;
		err = wire_key_derive(terms->key, "xdd copy: TLS", k->tls.bytes);
	}
	return err ? err_set(why, err, "OpenSSL cannot derive a key") : 0;
}

/* Options of the sockets. */
static struct connection_options data_options(const struct data_terms *terms)
{
	return (struct connection_options){ .timeout_ns = terms->settings->timeout_ns };
}

struct stream_terms data_streams(const struct data_terms *terms, const struct data_keys *keys)
{
	return (struct stream_terms){
		.session = terms->session,
		.key = keys->codes,
		.flags = WIRE_CAN_KEY | (terms->settings->encrypt ? WIRE_CAN_ENCRYPT : 0),
		.n = terms->settings->connections,
	};
}

void data_links_close(struct data_links *links)
{
	for (unsigned i = 0; i < links->n; i++)
		link_close(links->links[i]);
	memset(links, 0, sizeof(*links));
}

void data_links_abort(struct data_links *links)
{
	for (unsigned i = 0; i < links->n; i++)
		link_abort(links->links[i]);
}

uint64_t data_links_transit_ns(const struct data_links *links)
{
	uint64_t sum = 0;

	for (unsigned i = 0; !links->inside && i < links->n; i++) {
		struct connection_info info;

		link_info(links->links[i], &info);
		sum += info.transit_ns;
	}
	return sum;
}

/*
 * The side that connects: all connections are made at the same time, each by a thread of its own.
 * On a slow network the round trips of one after the other would take seconds.
 */

#define WHY_SIZE 512

/* Of an address: INET6_ADDRSTRLEN, and the name of an interface. */
#define NUMBER_SIZE 64
#define MAX_NUMBERS 32

/* Addresses to try. */
struct numbers {
	char text[MAX_NUMBERS][NUMBER_SIZE];
	size_t n;
};

/* Common to the threads; const. */
struct target {
	const char *address;
	uint16_t port;
	const struct data_terms *terms;
	const struct data_keys *keys;
	struct connection_options options;
	uint64_t until_ns;
};

struct attempt {
	const struct target *to;
	unsigned number;
	pthread_t thread;
	bool started;

	/* the thread's, until it is joined */
	struct link *link;
	struct err err;
};

/* ---- one connection ---- */

__attribute__((format(printf, 3, 4))) static int say(struct attempt *a, int err, const char *fmt,
						     ...)
{
	char *address = printable_dup(a->to->address, false);
	va_list ap;

	va_start(ap, fmt);
	err_vset(&a->err, err, fmt, ap);
	va_end(ap);
	err_prefix(&a->err, "%s port %u ", address ? address : "?", a->to->port);
	free(address);
	return err;
}

static int no_welcome(struct attempt *a, int err)
{
	return say(a, err, "does not answer as the other side of this copy (%s)",
		   err == -EBADMSG ? "it sent something else" : strerror(-err));
}

static int receive_welcome(struct attempt *a, struct connection *c, struct wire_key *key)
{
	const struct stream_terms t = data_streams(a->to->terms, a->to->keys);
	uint64_t now_ns = clock_now_ns();
	uint64_t left_ns = a->to->until_ns > now_ns ? a->to->until_ns - now_ns : 0;
	enum wire_fault fault = WIRE_OK;
	struct wire_error refusal;
	int err = connection_wait(c, -1, left_ns);

	if (err == 1)
		err = stream_receive_welcome(c, &t, a->number, key, &refusal, &fault);
	else if (err == 0)
		err = -ETIMEDOUT;
	/* A listener that refuses has no key: its words could be anyone's. */
	if (fault == WIRE_BAD_CODE)
		return say(a, -EACCES, "belongs to another program, or to another copy");
	if (err)
		return no_welcome(a, err == 1 ? -EBADMSG : err);
	hold(HOLD_WELCOME_RECEIVED);
	return 0;
}

/* The texts of a connection speak of options of -endtoend, except those about the network. */
static int no_connection(struct attempt *a, int err)
{
	if (strncmp(a->err.text, "cannot ", strlen("cannot ")) == 0)
		return err;
	return say(a, err, "did not prove that it has the key of this copy");
}

/* Connect, and send HELLO. Returns 0 or -errno; `*c` is then open or NULL. */
static int data_connect_greet(struct attempt *a, struct connection **c, struct wire_key *key)
{
	const struct target *to = a->to;
	const struct stream_terms t = data_streams(to->terms, to->keys);
	int err;

	if (!key)
		return say(a, -ENOMEM, "is not tried (%s)", strerror(ENOMEM));
	err = connection_try(c, to->address, to->port, &to->options,
			     to->keys->tls.present ? &to->keys->tls : NULL, NULL, to->until_ns,
			     &a->err);
	if (err)
		return no_connection(a, err);
	err = stream_send_hello(*c, WIRE_HELLO, &t, a->number, key);
	return err ? no_welcome(a, err) : 0;
}

static void *connect_one(void *arg)
{
	struct attempt *a = arg;
	struct wire_key *key = wire_key_new(a->to->keys->codes);
	struct connection *c = NULL;
	int err = data_connect_greet(a, &c, key);

	if (!err)
		err = receive_welcome(a, c, key);
	if (err) {
		connection_close(c);
		wire_key_free(key);
		return NULL;
	}
	a->link = link_on_connection(c, key, a->number);
	if (!a->link)
		say(a, -ENOMEM, "is not used (%s)", strerror(ENOMEM));
	return NULL;
}

/* ---- all of them ---- */

static void data_connect_start(struct attempt *a, const struct target *to, unsigned number)
{
	int err;

	a->to = to;
	a->number = number;
	err = thread_start(&a->thread, connect_one, a);
	a->started = err == 0;
	if (err)
		say(a, err, "is not tried (cannot start a thread: %s)", strerror(-err));
}

/* Connect all to one address. Returns 0 or -errno with the text of the first that failed. */
static int connect_all(struct data_links *links, const struct target *to, struct err *why)
{
	unsigned n = to->terms->settings->connections;
	struct attempt *attempts = calloc(n, sizeof(*attempts));
	int err = 0;

	if (!attempts)
		return err_errno(why, -ENOMEM);
	for (unsigned i = 0; i < n; i++)
		data_connect_start(&attempts[i], to, i);
	links->n = n;
	for (unsigned i = 0; i < n; i++) {
		if (attempts[i].started)
			pthread_join(attempts[i].thread, NULL);
		links->links[i] = attempts[i].link;
		if (attempts[i].err.no && !err)
			err = err_set(why, attempts[i].err.no, "%s", attempts[i].err.text);
	}
	if (err)
		data_links_close(links);
	free(attempts);
	return err;
}

/* Add the numbers of `host`, each once: a name often has the address that is tried already. */
static void add_numbers(struct numbers *l, const char *host, struct err *why)
{
	const struct addrinfo hints = { .ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM };
	struct addrinfo *list = NULL;
	char number[NUMBER_SIZE], *safe;
	int err = getaddrinfo(host, NULL, &hints, &list);

	if (err && !err_is_set(why)) {
		safe = printable_dup(host, false);
		err_set(why, -ENXIO, "cannot find the host \"%s\" (%s)", safe ? safe : "?",
			err == EAI_SYSTEM ? strerror(errno) : gai_strerror(err));
		free(safe);
	}
	for (const struct addrinfo *a = err ? NULL : list; a && l->n < MAX_NUMBERS;
	     a = a->ai_next) {
		size_t i = 0;

		if (getnameinfo(a->ai_addr, a->ai_addrlen, number, sizeof(number), NULL, 0,
				NI_NUMERICHOST) != 0)
			continue;
		while (i < l->n && strcmp(l->text[i], number) != 0)
			i++;
		if (i == l->n)
			memcpy(l->text[l->n++], number, sizeof(number));
	}
	if (!err)
		freeaddrinfo(list);
}

/* Returns 0, or -errno with the text of the first that failed. */
static int connect_any(struct data_links *links, const struct data_terms *terms,
		       const struct data_keys *keys, const struct numbers *l, uint16_t port,
		       uint64_t wait_ns, struct err *why)
{
	struct err later;
	int first = -ENXIO;

	for (size_t i = 0; i < l->n; i++) {
		const struct target target = {
			.address = l->text[i],
			.port = port,
			.terms = terms,
			.keys = keys,
			.options = data_options(terms),
			.until_ns = clock_now_ns() + wait_ns,
		};
		int err = connect_all(links, &target, i ? &later : why);

		if (!err)
			return 0;
		if (i == 0)
			first = err;
	}
	return first;
}

int data_connect(struct data_links *links, const struct data_terms *terms,
		 const struct copy_meet *to, uint64_t wait_ns, struct err *why)
{
	struct numbers numbers = { .n = 0 };
	struct data_keys keys;
	int err = data_keys_derive(&keys, terms, why);

	memset(links, 0, sizeof(*links));
	if (err)
		return err;
	err_clear(why);
	for (size_t i = 0; i < to->n_addresses; i++)
		add_numbers(&numbers, to->addresses[i], why);
	if (!numbers.n && !err_is_set(why))
		err_set(why, -ENXIO, "the other side has no address");
	err = connect_any(links, terms, &keys, &numbers, to->port, wait_ns, why);
	data_keys_forget(&keys);
	return err;
}

/*
 * The side that listens: the thread of the listener welcomes each connection at once, so the other
 * side, which waits for that, need not wait for a message through ssh as well.
 */

/* Ports that are tried, one after the other, before any free ones. */
#define PORTS 100
#define ANY_PORTS 10

/* For programs that are ended to free their ports. */
#define FREE_NS (5 * NS_PER_SEC)
#define FREE_PAUSE_NS (20 * NS_PER_MS)

struct data_listener {
	/* const while the listener runs */
	struct data_terms terms; /* without the key */
	struct data_keys keys;
	struct connection_options options;
	struct listener *listener;
	unsigned expected;

	/* written by the thread of the listener until all have arrived */
	struct stream_slot slots[COPY_MAX_CONNECTIONS];

	/* atomic: how many of them are there; changes after the slot has */
	_Atomic unsigned arrived;
	struct event changed;
};

/* ---- guests: thread of the listener ---- */

/* `g` is the stream of `slot`. */
static bool data_listen_welcome(struct data_listener *l, const struct listener_guest *g,
				struct stream_slot *slot)
{
	const struct stream_terms t = data_streams(&l->terms, &l->keys);

	if (stream_send_hello(g->connection, WIRE_WELCOME, &t, g->header.connection, slot->key)) {
		wire_key_free(slot->key);
		*slot = (struct stream_slot){ .key = NULL };
		return false;
	}
	hold(HOLD_WELCOME_SENT);
	if (atomic_fetch_add(&l->arrived, 1) + 1 == l->expected)
		listener_set_quiet(l->listener, true);
	event_wake(&l->changed);
	return true;
}

static bool data_listen_offer(void *arg, const struct listener_guest *g, struct err *why)
{
	static const char *const words[STREAM_VERDICTS] = {
		[STREAM_OF_OTHER] = "this is another copy",
		[STREAM_UNPROVEN] = "the first message has a wrong code",
		[STREAM_IN_CLEAR] = "this copy is encrypted",
		[STREAM_EXCESS] = "there is no such data connection",
		[STREAM_TWICE] = "this data connection is there already",
		[STREAM_NO_MEMORY] = "there is no memory for this data connection",
	};
	struct data_listener *l = arg;
	const struct stream_terms t = data_streams(&l->terms, &l->keys);
	enum stream_verdict verdict = stream_take(&t, g, l->slots);

	if (verdict == STREAM_GOOD)
		return data_listen_welcome(l, g, &l->slots[g->header.connection]);
	err_set(why, -EACCES, "%s", words[verdict]);
	return false;
}

/* ---- ports ---- */

/* Of all families that this host has. Returns 0 or -errno with a text. */
static int add_all(struct listener *l, uint16_t port, struct err *why)
{
	static const char *const any[] = { "0.0.0.0", "::" };
	bool bound = false;
	int err = 0;

	for (size_t i = 0; i < sizeof(any) / sizeof(any[0]); i++) {
		err = listener_add(l, any[i], bound ? listener_port(l) : port, why);
		if (!err)
			bound = true;
		else if (err != -EAFNOSUPPORT && err != -EADDRNOTAVAIL)
			return err;
	}
	return bound ? 0 : err;
}

/* A listener on `port`; the one of an attempt that failed may hold one of several addresses. */
static int listen_on(struct data_listener *l, const char *address, uint16_t port, struct err *why)
{
	int err;

	l->listener = listener_new(&l->options, l->keys.tls.present ? &l->keys.tls : NULL);
	if (!l->listener)
		return err_sys(why, -ENOMEM, "cannot listen");
	err = *address ? listener_add(l->listener, address, port, why) :
			 add_all(l->listener, port, why);
	if (!err)
		return 0;
	listener_free(l->listener);
	l->listener = NULL;
	return err;
}

/* True: another port may do. */
static bool is_taken(int err)
{
	return err == -EADDRINUSE || err == -EACCES;
}

/* Try `n` ports. */
static int listen_from(struct data_listener *l, const char *address, uint16_t first, unsigned n,
		       struct err *why)
{
	int err = -EADDRINUSE;

	for (uint32_t port = first; port < (uint32_t)first + n && port <= UINT16_MAX; port++) {
		err = listen_on(l, address, (uint16_t)port, why);
		if (!is_taken(err))
			break;
	}
	return err;
}

/* -f: end programs of this user on the wanted ports, and wait until one of those is free. */
static int listen_by_force(struct data_listener *l, const char *address, unsigned n,
			   struct err *why)
{
	uint64_t until_ns = clock_now_ns() + FREE_NS;
	uint16_t first = l->terms.settings->port;
	int err;

	if (!ports_end_own(first, n))
		return -EADDRINUSE;
	do {
		struct timespec pause = clock_timespec(FREE_PAUSE_NS);

		nanosleep(&pause, NULL);
		err = listen_from(l, address, first, n, why);
	} while (is_taken(err) && clock_now_ns() < until_ns);
	return err;
}

static void say_taken(const struct copy_settings *s, unsigned n, struct err *why)
{
	char owner[PORT_OWNER_SIZE], text[PORT_OWNER_SIZE + 64] = "";
	const uint16_t first = s->port;

	if (port_owner(first, owner))
		snprintf(text, sizeof(text), ": %u belongs to %s%s", first, owner,
			 s->free_ports ? ", which -f does not end" : "");
	err_set(why, -EADDRINUSE, "no port from %u to %u is free%s; give another one with -p%s",
		first, first + n - 1, text,
		s->free_ports ? "" : ", or -f to end copies of yours that have them");
}

static int find_port(struct data_listener *l, const char *address, struct err *why)
{
	const struct copy_settings *s = l->terms.settings;
	int err = -EADDRINUSE;

	if (s->port)
		err = listen_from(l, address, s->port, l->expected, why);
	if (is_taken(err) && s->port_given && s->free_ports)
		err = listen_by_force(l, address, l->expected, why);
	if (is_taken(err) && s->port_given) {
		if (err == -EADDRINUSE)
			say_taken(s, l->expected, why);
		return err;
	}
	if (is_taken(err) && s->port)
		err = listen_from(l, address, s->port, PORTS, why);
	/* A port that is free for one family may be taken for the other. */
	for (unsigned i = 0; is_taken(err) && i < ANY_PORTS; i++)
		err = listen_on(l, address, 0, why);
	return err;
}

/* ---- the interface ---- */

int data_listen(struct data_listener **out, const struct data_terms *terms, const char *address,
		uint16_t *port, struct err *why)
{
	struct data_listener *l = calloc(1, sizeof(*l));
	int err;

	if (!l)
		return err_errno(why, -ENOMEM);
	l->terms = *terms;
	l->options = data_options(terms);
	l->expected = terms->settings->connections;
	atomic_init(&l->arrived, 0);
	event_init(&l->changed);
	err = data_keys_derive(&l->keys, terms, why);
	explicit_bzero(l->terms.key, sizeof(l->terms.key));
	if (!err)
		err = find_port(l, address, why);
	/* ssh reached an address of a gateway. */
	if (err == -EADDRNOTAVAIL && *address)
		err = find_port(l, "", why);
	if (!err) {
		*port = listener_port(l->listener);
		err = listener_start(l->listener, data_listen_offer, l);
		if (err)
			err_sys(why, err, "cannot listen");
	}
	if (err) {
		data_listener_free(l);
		return err;
	}
	*out = l;
	return 0;
}

/* All have arrived. Returns 0 or -ENOMEM; the connections are the links' then, or closed. */
static int data_take_links(struct data_listener *l, struct data_links *links)
{
	int err = 0;

	memset(links, 0, sizeof(*links));
	for (; links->n < l->expected; links->n++) {
		struct stream_slot *slot = &l->slots[links->n];

		links->links[links->n] = link_on_connection(slot->connection, slot->key, links->n);
		slot->connection = NULL;
		slot->key = NULL;
		if (!links->links[links->n])
			err = -ENOMEM;
	}
	if (err)
		data_links_close(links);
	return err;
}

int data_accept(struct data_listener *l, struct data_links *links, uint64_t wait_ns,
		struct err *why)
{
	const uint64_t silence_ns = l->terms.settings->timeout_ns;
	uint64_t until_ns = clock_now_ns() + (wait_ns < silence_ns ? wait_ns : silence_ns);
	int err;

	while (atomic_load(&l->arrived) < l->expected && clock_now_ns() < until_ns) {
		uint32_t key = event_listen(&l->changed);

		if (atomic_load(&l->arrived) < l->expected)
			event_wait(&l->changed, key, until_ns);
		else
			event_leave(&l->changed);
	}
	if (atomic_load(&l->arrived) < l->expected)
		return err_set(why, -ETIMEDOUT, "%u of %u data connections arrived on port %u",
			       atomic_load(&l->arrived), l->expected, listener_port(l->listener));
	err = data_take_links(l, links);
	return err ? err_errno(why, err) : 0;
}

void data_listener_free(struct data_listener *l)
{
	if (!l)
		return;
	listener_free(l->listener);
	for (unsigned i = 0; i < l->expected; i++) {
		connection_close(l->slots[i].connection);
		wire_key_free(l->slots[i].key);
	}
	data_keys_forget(&l->keys);
	free(l);
}
