/*
 * The steps by which both sides of a copy get data connections. Called by attempt.c.
 *
 * A server listens first: ssh has reached it, so its other ports may be reachable as well, while a
 * firewall often keeps connections away from the host of the user. Then the other way round. Else
 * data goes through the channels of ssh. The first step is the same for all copies, so it is sent
 * together with START.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "copy/attempt.h"
#include "xdd/base/units.h"

/* An attempt to connect, which a firewall may swallow; and the rest of the connections. */
#define CONNECT_NS (2 * NS_PER_SEC)
#define ACCEPT_NS (5 * NS_PER_SEC)

const struct copy_place *attempt_place(const struct copy_attempt *a, enum copy_role role)
{
	return role == COPY_SOURCE ? &a->request->sources[0] : &a->request->destination;
}

const char *attempt_host(const struct copy_attempt *a, enum copy_role role)
{
	const struct copy_place *p = attempt_place(a, role);

	return p->host ? p->host : "this host";
}

/* The session of a server has failed: the cause. Returns the exit status. */
static int server_failed(struct copy_attempt *a, enum copy_role role, int err, const char *why)
{
	a->at = role;
	snprintf(a->why, sizeof(a->why), "%s", why && *why ? why : strerror(-err));
	return err == -EBADMSG ? COPY_FAILED : COPY_SSH_ENDED;
}

/* A server has sent ERROR instead of an answer. */
static int server_error(struct copy_attempt *a, enum copy_role role, const uint8_t *body,
			size_t length)
{
	struct wire_error e;

	if (wire_decode_error(body, length, &e) != WIRE_OK)
		return server_failed(a, role, -EBADMSG, "sent a wrong message");
	a->at = role;
	snprintf(a->why, sizeof(a->why), "%s", e.text);
	return (int)e.status;
}

/* Have a server do step `m`. Returns 0 or -errno. */
static int send_step(struct copy_attempt *a, enum copy_role role, const struct copy_meet *m)
{
	uint8_t body[WIRE_MAX_HELLO_BYTES * 4];

	return link_send_body(a->servers[side_of(role)].channel, WIRE_COPY_MEET, body,
			      copy_encode_meet(m, body, sizeof(body)));
}

/* The next message, with its body in `body`. Returns 0 or -errno with a text in `why`, or "". */
static int receive(struct link *channel, struct wire_header *h, uint8_t *body, size_t room,
		   char why[WIRE_MAX_TEXT_BYTES])
{
	int err = link_receive(channel, 0, h, why);

	if (!err && h->length > room)
		err = -EBADMSG;
	return err ? err : link_receive_body(channel, h, body, NULL, why);
}

/* Receive the answer to step `m` into it. Returns 0, or an exit status. */
static int receive_answer(struct copy_attempt *a, enum copy_role role, struct copy_meet *m)
{
	struct link *channel = a->servers[side_of(role)].channel;
	uint8_t body[WIRE_MAX_HELLO_BYTES * 4];
	char why[WIRE_MAX_TEXT_BYTES] = "";
	enum copy_meet_how how = m->how;
	struct wire_header h;
	int err = receive(channel, &h, body, sizeof(body), why);

	if (err)
		return server_failed(a, role, err, why);
	if (h.type == WIRE_ERROR)
		return server_error(a, role, body, h.length);
	if (h.type != WIRE_COPY_MET || copy_decode_meet(body, h.length, m) != WIRE_OK ||
	    m->how != how)
		return server_failed(a, role, -EBADMSG, "sent a wrong message");
	return 0;
}

/* Have a server do step `m`, which becomes its answer. Returns 0, or an exit status. */
static int ask(struct copy_attempt *a, enum copy_role role, struct copy_meet *m)
{
	int err = send_step(a, role, m);

	return err ? server_failed(a, role, err, NULL) : receive_answer(a, role, m);
}

/* The server that ssh has started, and of two the destination, listens first. */
static enum copy_role first_listener(const struct copy_attempt *a)
{
	return a->here[side_of(COPY_DESTINATION)] ? COPY_SOURCE : COPY_DESTINATION;
}

void attempt_ask_early(struct copy_attempt *a, enum copy_role role)
{
	const struct copy_meet m = { .how = COPY_LISTEN };

	if (role == first_listener(a))
		send_step(a, role, &m);
}

static void add_address(struct copy_meet *m, const char *address)
{
	if (!*address || m->n_addresses == COPY_MAX_ADDRESSES ||
	    strlen(address) >= sizeof(m->addresses[0]))
		return;
	for (size_t i = 0; i < m->n_addresses; i++) {
		if (strcmp(m->addresses[i], address) == 0)
			return;
	}
	snprintf(m->addresses[m->n_addresses++], sizeof(m->addresses[0]), "%s", address);
}

/* The addresses of the server with `role`, as seen from this host or from another server. */
static void add_addresses(const struct copy_attempt *a, enum copy_role role, bool from_here,
			  struct copy_meet *m)
{
	const struct copy_started *started = &a->servers[side_of(role)].started;
	const struct copy_place *place = attempt_place(a, role);

	if (from_here && place->host)
		add_address(m, started->ssh_address);
	if (place->host)
		add_address(m, place->host);
	if (!from_here) {
		add_address(m, started->host);
		add_address(m, started->ssh_address);
	}
	if (!place->host)
		add_address(m, "127.0.0.1");
}

/*
 * A way to meet did not work: keep the first cause for the note, and try the next one. Returns 0
 * with `*met` false.
 */
static int no_way(char *cause, size_t size, const char *host, const char *text)
{
	if (!*cause)
		snprintf(cause, size, "%s: %.900s", host, text);
	return 0;
}

/* All data connections are made: the copy begins while their WELCOMEs are on the way. */
static void greeted(void *attempt)
{
	struct copy_attempt *a = attempt;

	/* A failure is found again by those who use the channel. */
	attempt_begin(a);
}

/* A server has ended: its reason may be among what it has sent. Returns the exit status. */
static int server_has_ended(struct copy_attempt *a, enum copy_role role)
{
	struct link *channel = a->servers[side_of(role)].channel;
	uint8_t *body = malloc(WIRE_MAX_BODY_BYTES);
	char why[WIRE_MAX_TEXT_BYTES] = "";
	struct wire_header h;
	int status = 0;

	while (body && !status && !receive(channel, &h, body, WIRE_MAX_BODY_BYTES, why)) {
		if (h.type == WIRE_ERROR)
			status = server_error(a, role, body, h.length);
	}
	free(body);
	return status ? status : server_failed(a, role, -ECONNRESET, "the connection was lost");
}

/* This side connects to a server that listens. Returns as no_way(), or an exit status. */
static int connect_here(struct copy_attempt *a, enum copy_role role, const struct copy_meet *to,
			bool *met, char *cause, size_t size)
{
	struct data_early early = { .greeted = greeted, .arg = a };
	char why[WIRE_MAX_TEXT_BYTES] = "";
	int err = data_connect(&a->links, &a->terms, to, CONNECT_NS, a->careful ? NULL : &early,
			       why, sizeof(why));

	*met = err == 0;
	if (!err)
		return 0;
	if (!early.called)
		return no_way(cause, size, attempt_host(a, role), why);
	if (ssh_has_ended(&a->servers[side_of(role)], ATTEMPT_CAUSE_NS))
		return server_has_ended(a, role);
	a->unwelcome = true;
	return server_failed(a, role, err, why);
}

/* The server with `role` listens, and the other side connects. */
static int server_listens(struct copy_attempt *a, enum copy_role role, bool *met, char *cause,
			  size_t size)
{
	struct copy_meet m = { .how = COPY_LISTEN }, to = { .how = COPY_CONNECT };
	int status = role == first_listener(a) ? receive_answer(a, role, &m) : ask(a, role, &m);

	if (status)
		return status;
	if (!m.ok && a->request->settings.port_given) {
		a->at = role;
		snprintf(a->why, sizeof(a->why), "%s", m.text);
		return COPY_NO_PORT;
	}
	if (!m.ok)
		return no_way(cause, size, attempt_host(a, role), m.text);
	to.port = m.port;
	add_addresses(a, role, a->here[side_of(copy_peer_of(role))], &to);
	if (a->here[side_of(copy_peer_of(role))])
		return connect_here(a, role, &to, met, cause, size);
	status = ask(a, copy_peer_of(role), &to);
	*met = !status && to.ok;
	return *met || status ? status :
				no_way(cause, size, attempt_host(a, copy_peer_of(role)), to.text);
}

/* This host listens, and the server with `role` connects. */
static int this_host_listens(struct copy_attempt *a, enum copy_role role, bool *met, char *cause,
			     size_t size)
{
	struct copy_meet to = { .how = COPY_CONNECT };
	char why[WIRE_MAX_TEXT_BYTES] = "";
	struct data_listener *l = NULL;
	int status = 0;

	if (data_listen(&l, &a->terms, "", &to.port, why, sizeof(why)) != 0)
		return no_way(cause, size, "this host", why);
	/* The server knows this host's address: ssh has told it. */
	status = ask(a, role, &to);
	if (!status && to.ok)
		*met = data_accept(l, &a->links, ACCEPT_NS, why, sizeof(why)) == 0;
	data_listener_free(l);
	if (!status && !*met)
		no_way(cause, size, attempt_host(a, role), to.ok ? why : to.text);
	return status;
}

static int meet_inside(struct copy_attempt *a)
{
	for (enum copy_role role = COPY_SOURCE; role <= COPY_DESTINATION; role++) {
		struct copy_meet m = { .how = COPY_INSIDE };
		int status = a->here[side_of(role)] ? 0 : ask(a, role, &m);

		if (status)
			return status;
		if (!a->here[side_of(role)] && !m.ok)
			return server_failed(a, role, -EBADMSG, m.text);
		a->links.inside = true;
		if (!a->here[side_of(role)])
			continue;
		a->links.links[0] = link_inside(a->servers[side_of(copy_peer_of(role))].channel);
		if (!a->links.links[0])
			return server_failed(a, role, -ENOMEM, NULL);
		a->links.n = 1;
	}
	return 0;
}

int attempt_meet(struct copy_attempt *a)
{
	enum copy_role first = first_listener(a);
	char cause[WIRE_MAX_TEXT_BYTES + 256] = "";
	bool met = false;
	int status = server_listens(a, first, &met, cause, sizeof(cause));

	if (!status && !met && a->here[side_of(copy_peer_of(first))])
		status = this_host_listens(a, first, &met, cause, sizeof(cause));
	else if (!status && !met)
		status = server_listens(a, copy_peer_of(first), &met, cause, sizeof(cause));
	if (!status && !met) {
		copy_report_note(a->report, "data goes through ssh, which is slower: %s", cause);
		status = meet_inside(a);
	}
	copy_report_inside(a->report, !met);
	return status;
}
