/*
 * Connections that the listener offers, in its thread: it waits for nothing here.
 */
#include <stdio.h>
#include <string.h>

#include "net/session_internal.h"

/* Refuse, in words. */
static bool refuse(char *why, size_t size, const char *text)
{
	snprintf(why, size, "%s", text);
	return false;
}

static bool offer_control(struct session *s, const struct listener_guest *g, char *why, size_t size)
{
	if (s->keyed && !g->tls)
		return refuse(
			why, size,
			"the destination has a key, the source has none: give both the same -e2e key");
	if (s->control || s->state != SESSION_NEW)
		return refuse(why, size, SESSION_BUSY);
	memcpy(s->id, g->hello.session, sizeof(s->id));
	s->peer_hello = g->hello;
	s->control = g->connection;
	session_notify(s);
	return true;
}

/* The code of the header proves that the peer has the key of this session. */
static bool proven(struct session *s, const struct listener_guest *g)
{
	struct wire_key *key = s->have_key ? wire_key_new(s->key) : NULL;
	struct wire_header h;
	enum wire_fault fault = WIRE_BAD_CODE;

	if (key || !s->have_key)
		fault = wire_decode(g->raw, key, 0, &h, NULL);
	wire_key_free(key);
	return fault == WIRE_OK;
}

static bool offer_data(struct session *s, const struct listener_guest *g, char *why, size_t size)
{
	uint32_t i = g->header.connection;

	if (s->state < SESSION_OPENING || memcmp(s->id, g->hello.session, sizeof(s->id)) != 0)
		return refuse(why, size, "the destination knows no such session");
	if (!proven(s, g))
		return refuse(why, size, "the first message of a data connection has a wrong code");
	if (s->params.options->encrypt && !g->tls)
		return refuse(
			why, size,
			"the destination has -e2e encrypt, the source has not: give it to both");
	if (i >= s->own.connections)
		return refuse(why, size, "the destination expects no such data connection");
	if (s->data[i].taken)
		return refuse(why, size, "the destination has this data connection already");
	s->data[i] = (struct session_data){ .connection = g->connection, .taken = true };
	session_notify(s);
	return true;
}

/* True: it may expect more connections. */
static bool incomplete(struct session *s)
{
	bool more;

	session_lock(s);
	more = !s->control || s->state < SESSION_OPENING;
	for (uint32_t i = 0; !more && i < s->own.connections; i++)
		more = !s->data[i].taken;
	more = more && !session_error(s);
	session_unlock(s);
	return more;
}

static bool any_incomplete(const struct session_table *t)
{
	for (size_t i = 0; i < t->n; i++)
		if (incomplete(t->sessions[i]))
			return true;
	return false;
}

bool session_offer(void *table, const struct listener_guest *g, char *why, size_t size)
{
	const struct session_table *t = table;
	struct session *s;
	bool taken;

	if (g->header.target >= t->n)
		return refuse(why, size,
			      "the destination has fewer end-to-end targets than the source: give"
			      " both the same");
	s = t->sessions[g->header.target];
	session_lock(s);
	if (session_error(s))
		taken = refuse(why, size, "the copy has ended on the destination");
	else if (g->header.connection == WIRE_NO_CONNECTION)
		taken = g->hello.purpose == WIRE_CONTROL && offer_control(s, g, why, size);
	else
		taken = g->hello.purpose == WIRE_TRANSFER && offer_data(s, g, why, size);
	session_unlock(s);
	if (taken)
		listener_set_quiet(s->params.listener, !any_incomplete(t));
	return taken;
}
