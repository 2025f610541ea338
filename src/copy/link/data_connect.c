/*
 * The side of data connections that connects: meet.h. Called by copy.c and server.c.
 *
 * All connections are made at the same time, each by a thread of its own: on a slow network the
 * round trips of one after the other would take seconds.
 */
#include <errno.h>
#include <netdb.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "copy/link/data_terms.h"
#include "xdd/base/log.h"
#include "xdd/base/text.h"
#include "xdd/base/units.h"
#include "xdd/sync/event.h"
#include "xdd/sync/thread.h"
#include "xdd/sys/clock.h"

#define WHY_SIZE 512

/* Of an address: INET6_ADDRSTRLEN, and the name of an interface. */
#define NUMBER_SIZE 64
#define MAX_NUMBERS 32

/* Addresses to try. */
struct numbers {
	char text[MAX_NUMBERS][NUMBER_SIZE];
	size_t n;
};

/* Common to the threads. */
struct target {
	/* const */
	const char *address;
	uint16_t port;
	const struct data_terms *terms;
	const struct data_keys *keys;
	struct connection_options options;
	uint64_t until_ns;

	/* atomic: attempts that have sent HELLO, or have failed before that; changes follow */
	_Atomic unsigned greeted, failed;
	struct event changed;
};

struct attempt {
	struct target *to;
	unsigned number;
	pthread_t thread;
	bool started;

	/* the thread's, until it is joined */
	struct link *link;
	int err;
	char why[WHY_SIZE];
};

/* ---- one connection ---- */

__attribute__((format(printf, 3, 4))) static int say(struct attempt *a, int err, const char *fmt,
						     ...)
{
	char *address = printable_dup(a->to->address, false);
	va_list ap;
	int n;

	n = snprintf(a->why, sizeof(a->why), "%s port %u ", address ? address : "?", a->to->port);
	free(address);
	va_start(ap, fmt);
	vsnprintf(a->why + n, sizeof(a->why) - (size_t)n, fmt, ap);
	va_end(ap);
	return err;
}

static int no_welcome(struct attempt *a, int err)
{
	return say(a, err, "does not answer as the other side of this copy (%s)",
		   err == -EBADMSG ? "it sent something else" : strerror(-err));
}

static int receive_welcome(struct attempt *a, struct connection *c, struct wire_key *key)
{
	uint64_t now_ns = clock_now_ns();
	uint64_t left_ns = a->to->until_ns > now_ns ? a->to->until_ns - now_ns : 0;
	uint8_t body[WIRE_MAX_HELLO_BYTES];
	enum wire_fault fault = WIRE_OK;
	struct wire_hello hello;
	struct wire_header h;
	int err = connection_wait(c, -1, left_ns);

	if (err == 1)
		err = connection_receive_header(c, key, 0, &h, &fault);
	else if (err == 0)
		err = -ETIMEDOUT;
	/* A listener that refuses has no key: its words could be anyone's. */
	if (fault == WIRE_BAD_CODE)
		return say(a, -EACCES, "belongs to another program, or to another copy");
	if (!err && (h.length > sizeof(body) || h.connection != a->number || h.sequence))
		err = -EBADMSG;
	if (!err)
		err = connection_receive(c, body, (size_t)h.length);
	if (!err && wire_check_body(&h, body) != WIRE_OK)
		err = -EBADMSG;
	if (err)
		return no_welcome(a, err);
	if (h.type != WIRE_WELCOME ||
	    wire_decode_hello(body, (size_t)h.length, &hello) != WIRE_OK ||
	    !data_hello_is_right(&hello, a->to->terms))
		return no_welcome(a, -EBADMSG);
	hold(HOLD_WELCOME_RECEIVED);
	return 0;
}

/* The texts of a connection speak of options of -endtoend, except those about the network. */
static int no_connection(struct attempt *a, int err)
{
	if (strncmp(a->why, "cannot ", strlen("cannot ")) == 0)
		return err;
	return say(a, err, "did not prove that it has the key of this copy");
}

/* Connect, and send HELLO. Returns 0 or -errno; `*c` is then open or NULL. */
static int greet(struct attempt *a, struct connection **c, struct wire_key *key)
{
	const struct target *to = a->to;
	int err;

	if (!key)
		return say(a, -ENOMEM, "is not tried (%s)", strerror(ENOMEM));
	err = connection_try(c, to->address, to->port, &to->options,
			     to->keys->tls.present ? &to->keys->tls : NULL, NULL, to->until_ns,
			     a->why, sizeof(a->why));
	if (err)
		return no_connection(a, err);
	err = data_send_hello(*c, WIRE_HELLO, to->terms, a->number, key);
	return err ? no_welcome(a, err) : 0;
}

static void *connect_one(void *arg)
{
	struct attempt *a = arg;
	struct wire_key *key = wire_key_new(a->to->keys->codes);
	struct connection *c = NULL;

	a->err = greet(a, &c, key);
	atomic_fetch_add(a->err ? &a->to->failed : &a->to->greeted, 1);
	event_wake(&a->to->changed);
	if (!a->err)
		a->err = receive_welcome(a, c, key);
	if (a->err) {
		connection_close(c);
		wire_key_free(key);
		return NULL;
	}
	a->link = link_on_connection(c, key, a->number);
	if (!a->link)
		a->err = say(a, -ENOMEM, "is not used (%s)", strerror(ENOMEM));
	return NULL;
}

/* ---- all of them ---- */

static void start(struct attempt *a, struct target *to, unsigned number)
{
	int err;

	a->to = to;
	a->number = number;
	err = thread_start(&a->thread, connect_one, a);
	a->started = err == 0;
	if (!err)
		return;
	a->err = say(a, err, "is not tried (cannot start a thread: %s)", strerror(-err));
	atomic_fetch_add(&to->failed, 1);
}

/* True once all of `n` have sent HELLO; false: one of them has failed. */
static bool all_greeted(struct target *to, unsigned n)
{
	while (!atomic_load(&to->failed) && atomic_load(&to->greeted) < n) {
		uint32_t key = event_listen(&to->changed);

		if (atomic_load(&to->failed) || atomic_load(&to->greeted) == n)
			event_leave(&to->changed);
		else
			event_wait(&to->changed, key, UINT64_MAX);
	}
	return !atomic_load(&to->failed);
}

/* Connect all to one address. Returns 0 or -errno with the text of the first that failed. */
static int connect_all(struct data_links *links, struct target *to, struct data_early *early,
		       char *why, size_t size)
{
	unsigned n = to->terms->settings->connections;
	struct attempt *attempts = calloc(n, sizeof(*attempts));
	int err = 0;

	if (!attempts) {
		snprintf(why, size, "%s", strerror(ENOMEM));
		return -ENOMEM;
	}
	for (unsigned i = 0; i < n; i++)
		start(&attempts[i], to, i);
	if (early && all_greeted(to, n)) {
		early->called = true;
		early->greeted(early->arg);
	}
	links->n = n;
	for (unsigned i = 0; i < n; i++) {
		if (attempts[i].started)
			pthread_join(attempts[i].thread, NULL);
		links->links[i] = attempts[i].link;
		if (attempts[i].err && !err) {
			err = attempts[i].err;
			snprintf(why, size, "%s", attempts[i].why);
		}
	}
	if (err)
		data_links_close(links);
	free(attempts);
	return err;
}

/* Add the numbers of `host`, each once: a name often has the address that is tried already. */
static void add_numbers(struct numbers *l, const char *host, char *why, size_t size)
{
	const struct addrinfo hints = { .ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM };
	struct addrinfo *list = NULL;
	char number[NUMBER_SIZE], *safe;
	int err = getaddrinfo(host, NULL, &hints, &list);

	if (err && !*why) {
		safe = printable_dup(host, false);
		snprintf(why, size, "cannot find the host \"%s\" (%s)", safe ? safe : "?",
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
		       uint64_t wait_ns, struct data_early *early, char *why, size_t size)
{
	char later[WHY_SIZE];
	int first = -ENXIO;

	for (size_t i = 0; i < l->n; i++) {
		struct target target = {
			.address = l->text[i],
			.port = port,
			.terms = terms,
			.keys = keys,
			.options = data_options(terms),
			.until_ns = clock_now_ns() + wait_ns,
		};
		int err = connect_all(links, &target, early, i ? later : why,
				      i ? sizeof(later) : size);

		if (!err)
			return 0;
		if (early && early->called && i)
			snprintf(why, size, "%s", later);
		if (early && early->called)
			return err;
		if (i == 0)
			first = err;
	}
	return first;
}

int data_connect(struct data_links *links, const struct data_terms *terms,
		 const struct copy_meet *to, uint64_t wait_ns, struct data_early *early, char *why,
		 size_t size)
{
	struct numbers numbers = { .n = 0 };
	struct data_keys keys;
	int err = data_keys_derive(&keys, terms, why, size);

	memset(links, 0, sizeof(*links));
	if (err)
		return err;
	*why = '\0';
	for (size_t i = 0; i < to->n_addresses; i++)
		add_numbers(&numbers, to->addresses[i], why, size);
	if (!numbers.n && !*why)
		snprintf(why, size, "the other side has no address");
	err = connect_any(links, terms, &keys, &numbers, to->port, wait_ns, early, why, size);
	data_keys_forget(&keys);
	return err;
}
