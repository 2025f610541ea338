/*
 * The side of data connections that listens: meet.h. Called by copy.c and server.c.
 *
 * The thread of the listener welcomes each connection at once, so the other side, which waits for
 * that, need not wait for a message through ssh as well.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "copy/link/data_terms.h"
#include "copy/link/ports.h"
#include "xdd/base/log.h"
#include "xdd/base/units.h"
#include "xdd/net/listener.h"
#include "xdd/sync/event.h"
#include "xdd/sys/clock.h"

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

	/* written by the thread of the listener */
	struct link *links[COPY_MAX_CONNECTIONS];

	/* atomic: how many of them are there; changes after the link is */
	_Atomic unsigned arrived;
	_Atomic bool no_memory; /* for a link, so that not all can come */
	struct event changed;
};

/* ---- guests: thread of the listener ---- */

static bool refuse(char *why, size_t size, const char *text)
{
	snprintf(why, size, "%s", text);
	return false;
}

/* The code of HELLO proves that the peer has the key of this copy. */
static bool is_proven(const struct listener_guest *g, struct wire_key *key)
{
	struct wire_header h;

	return wire_decode(g->raw, key, 0, &h, NULL) == WIRE_OK && h.sequence == 0 && h.target == 0;
}

/* `g` belongs to this copy: its link, which owns `key` from here on. */
static bool take(struct data_listener *l, const struct listener_guest *g, struct wire_key *key)
{
	uint32_t number = g->header.connection;

	if (data_send_hello(g->connection, WIRE_WELCOME, &l->terms, number, key) != 0) {
		wire_key_free(key);
		return false;
	}
	hold(HOLD_WELCOME_SENT);
	l->links[number] = link_on_connection(g->connection, key, number);
	if (!l->links[number])
		atomic_store(&l->no_memory, true);
	else if (atomic_fetch_add(&l->arrived, 1) + 1 == l->expected)
		listener_set_quiet(l->listener, true);
	event_wake(&l->changed);
	return true;
}

static bool offer(void *arg, const struct listener_guest *g, char *why, size_t size)
{
	struct data_listener *l = arg;
	struct wire_key *key;

	if (!data_hello_is_right(&g->hello, &l->terms))
		return refuse(why, size, "this is another copy");
	if (l->terms.settings->encrypt && !g->tls)
		return refuse(why, size, "this copy is encrypted");
	if (g->header.connection >= l->expected)
		return refuse(why, size, "there is no such data connection");
	key = wire_key_new(l->keys.codes);
	if (!key || !is_proven(g, key)) {
		wire_key_free(key);
		return refuse(why, size, "the first message has a wrong code");
	}
	if (l->links[g->header.connection]) {
		wire_key_free(key);
		return refuse(why, size, "this data connection is there already");
	}
	return take(l, g, key);
}

/* ---- ports ---- */

/* Of all families that this host has. Returns 0 or -errno with a text. */
static int add_all(struct listener *l, uint16_t port, char *why, size_t size)
{
	static const char *const any[] = { "0.0.0.0", "::" };
	bool bound = false;
	int err = 0;

	for (size_t i = 0; i < sizeof(any) / sizeof(any[0]); i++) {
		err = listener_add(l, any[i], bound ? listener_port(l) : port, why, size);
		if (!err)
			bound = true;
		else if (err != -EAFNOSUPPORT && err != -EADDRNOTAVAIL)
			return err;
	}
	return bound ? 0 : err;
}

/* A listener on `port`; the one of an attempt that failed may hold one of several addresses. */
static int listen_on(struct data_listener *l, const char *address, uint16_t port, char *why,
		     size_t size)
{
	int err;

	l->listener = listener_new(&l->options, l->keys.tls.present ? &l->keys.tls : NULL);
	if (!l->listener) {
		snprintf(why, size, "cannot listen (%s)", strerror(ENOMEM));
		return -ENOMEM;
	}
	err = *address ? listener_add(l->listener, address, port, why, size) :
			 add_all(l->listener, port, why, size);
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
		       char *why, size_t size)
{
	int err = -EADDRINUSE;

	for (uint32_t port = first; port < (uint32_t)first + n && port <= UINT16_MAX; port++) {
		err = listen_on(l, address, (uint16_t)port, why, size);
		if (!is_taken(err))
			break;
	}
	return err;
}

/* -f: end programs of this user on the wanted ports, and wait until one of those is free. */
static int listen_by_force(struct data_listener *l, const char *address, unsigned n, char *why,
			   size_t size)
{
	uint64_t until_ns = clock_now_ns() + FREE_NS;
	uint16_t first = l->terms.settings->port;
	int err;

	if (!ports_end_own(first, n))
		return -EADDRINUSE;
	do {
		struct timespec pause = clock_timespec(FREE_PAUSE_NS);

		nanosleep(&pause, NULL);
		err = listen_from(l, address, first, n, why, size);
	} while (is_taken(err) && clock_now_ns() < until_ns);
	return err;
}

static void say_taken(const struct copy_settings *s, unsigned n, char *why, size_t size)
{
	char owner[PORT_OWNER_SIZE], text[PORT_OWNER_SIZE + 64] = "";
	const uint16_t first = s->port;

	if (port_owner(first, owner))
		snprintf(text, sizeof(text), ": %u belongs to %s%s", first, owner,
			 s->free_ports ? ", which -f does not end" : "");
	snprintf(why, size, "no port from %u to %u is free%s; give another one with -p%s", first,
		 first + n - 1, text,
		 s->free_ports ? "" : ", or -f to end copies of yours that have them");
}

static int find_port(struct data_listener *l, const char *address, char *why, size_t size)
{
	const struct copy_settings *s = l->terms.settings;
	int err = -EADDRINUSE;

	if (s->port)
		err = listen_from(l, address, s->port, l->expected, why, size);
	if (is_taken(err) && s->port && s->free_ports)
		err = listen_by_force(l, address, l->expected, why, size);
	if (is_taken(err) && s->port_given) {
		if (err == -EADDRINUSE)
			say_taken(s, l->expected, why, size);
		return err;
	}
	if (is_taken(err) && s->port)
		err = listen_from(l, address, s->port, PORTS, why, size);
	/* A port that is free for one family may be taken for the other. */
	for (unsigned i = 0; is_taken(err) && i < ANY_PORTS; i++)
		err = listen_on(l, address, 0, why, size);
	return err;
}

/* ---- the interface ---- */

int data_listen(struct data_listener **out, const struct data_terms *terms, const char *address,
		uint16_t *port, char *why, size_t size)
{
	struct data_listener *l = calloc(1, sizeof(*l));
	int err;

	if (!l) {
		snprintf(why, size, "%s", strerror(ENOMEM));
		return -ENOMEM;
	}
	l->terms = *terms;
	l->options = data_options(terms);
	l->expected = terms->settings->connections;
	atomic_init(&l->arrived, 0);
	event_init(&l->changed);
	err = data_keys_derive(&l->keys, terms, why, size);
	explicit_bzero(l->terms.key, sizeof(l->terms.key));
	if (!err)
		err = find_port(l, address, why, size);
	/* ssh reached an address of a gateway. */
	if (err == -EADDRNOTAVAIL && *address)
		err = find_port(l, "", why, size);
	if (!err) {
		*port = listener_port(l->listener);
		err = listener_start(l->listener, offer, l);
		if (err)
			snprintf(why, size, "cannot listen (%s)", strerror(-err));
	}
	if (err) {
		data_listener_free(l);
		return err;
	}
	*out = l;
	return 0;
}

int data_accept(struct data_listener *l, struct data_links *links, uint64_t wait_ns, char *why,
		size_t size)
{
	const uint64_t silence_ns = l->terms.settings->timeout_ns;
	uint64_t until_ns = clock_now_ns() + (wait_ns < silence_ns ? wait_ns : silence_ns);

	while (atomic_load(&l->arrived) < l->expected && !atomic_load(&l->no_memory)) {
		uint32_t key = event_listen(&l->changed);

		if (atomic_load(&l->arrived) == l->expected || atomic_load(&l->no_memory) ||
		    clock_now_ns() >= until_ns)
			event_leave(&l->changed);
		else
			event_wait(&l->changed, key, until_ns);
		if (clock_now_ns() >= until_ns)
			break;
	}
	if (atomic_load(&l->no_memory)) {
		snprintf(why, size, "%s", strerror(ENOMEM));
		return -ENOMEM;
	}
	if (atomic_load(&l->arrived) < l->expected) {
		snprintf(why, size, "%u of %u data connections arrived on port %u",
			 atomic_load(&l->arrived), l->expected, listener_port(l->listener));
		return -ETIMEDOUT;
	}
	memset(links, 0, sizeof(*links));
	memcpy(links->links, l->links, sizeof(links->links));
	memset(l->links, 0, sizeof(l->links));
	links->n = l->expected;
	return 0;
}

void data_listener_free(struct data_listener *l)
{
	if (!l)
		return;
	listener_free(l->listener);
	for (unsigned i = 0; i < l->expected; i++)
		link_close(l->links[i]);
	data_keys_forget(&l->keys);
	free(l);
}
