/*
 * The proof of what a destination has kept from an interrupted copy: it asks for digests (PROVE),
 * the source answers (SUMS), before the plans are accepted. Called by the target threads of both
 * sides, and by the control thread for received messages.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "net/session_internal.h"

/* Add `data`, of which the session gets hold, to the queue. With the lock. False: it is full. */
static bool enqueue(struct session_proof *p, void *data, size_t n)
{
	if (p->queued == SESSION_PROOFS)
		return false;
	p->queue[p->queued].data = data;
	p->queue[p->queued].n = n;
	p->queued++;
	return true;
}

/* Take the first entry, which the caller frees. With the lock. */
static struct session_piece dequeue(struct session_proof *p)
{
	struct session_piece first = p->queue[0];

	memmove(p->queue, p->queue + 1, --p->queued * sizeof(p->queue[0]));
	return first;
}

/* Have `body`, which the session gets, sent as `type` after the last one. With the lock. */
static int post(struct session *s, enum wire_type type, uint8_t *body, size_t length)
{
	int err;

	while (!(err = session_error(s)) && s->pending & 1u << type)
		session_sleep(s, UINT64_MAX);
	if (err) {
		free(body);
		return err;
	}
	free(s->proof.out.data);
	s->proof.out.data = body;
	s->proof.out.n = length;
	session_post(s, type);
	return 0;
}

size_t session_proof_encode(struct session *s)
{
	size_t n;

	session_lock(s);
	n = s->proof.out.n;
	if (n)
		memcpy(s->body, s->proof.out.data, n);
	session_unlock(s);
	return n;
}

void session_proof_free(struct session_proof *p)
{
	while (p->queued)
		free(dequeue(p).data);
	free(p->out.data);
}

/* ---- destination ---- */

int session_prove(struct session *s, const struct wire_range *ranges, size_t n)
{
	uint8_t *body = malloc(sizeof(uint32_t) + n * sizeof(*ranges));
	int err;

	if (!body)
		return -ENOMEM;
	session_lock(s);
	err = post(s, WIRE_PROVE, body, wire_encode_prove(ranges, n, body));
	if (!err)
		s->proof.unanswered++;
	session_unlock(s);
	return err;
}

int session_sums(struct session *s, uint8_t **body, size_t *length)
{
	struct session_piece answer = { 0 };
	int err;

	session_lock(s);
	while (!(err = session_error(s)) && !s->proof.queued)
		session_sleep(s, UINT64_MAX);
	if (!err)
		answer = dequeue(&s->proof);
	session_unlock(s);
	*body = answer.data;
	*length = answer.n;
	return err;
}

int session_take_sums(struct session *s, const struct wire_header *h, const uint8_t *body)
{
	uint8_t *copy = malloc(h->length + 1);
	bool expected;

	if (!copy)
		return session_broke(s, BLAME_SELF, -ENOMEM, "out of memory");
	memcpy(copy, body, h->length);
	session_lock(s);
	expected = s->proof.unanswered && enqueue(&s->proof, copy, h->length);
	s->proof.unanswered -= expected;
	pthread_cond_broadcast(&s->changed);
	session_unlock(s);
	if (expected)
		return 0;
	free(copy);
	return session_broke(s, BLAME_PEER, -EPROTO,
			     "the source at %s sent digests that were not asked for",
			     connection_peer(s->control));
}

/* ---- source ---- */

/* Answer the first question. With the lock, which is released meanwhile. */
static int answer(struct session *s)
{
	struct session_piece asked = dequeue(&s->proof);
	uint8_t *body = malloc(WIRE_MAX_BODY_BYTES);
	size_t length = 0;

	session_unlock(s);
	if (body)
		length = s->params.prove(s->params.arg, asked.data, asked.n, body);
	free(asked.data);
	session_lock(s);
	return body ? post(s, WIRE_SUMS, body, length) : -ENOMEM;
}

int session_await_accept(struct session *s)
{
	int err;

	while (!(err = session_error(s)) && !(s->state & (SESSION_OPENING | SESSION_IDLE))) {
		if (!s->proof.queued)
			session_sleep(s, UINT64_MAX);
		else if (answer(s) == -ENOMEM)
			return -ENOMEM;
	}
	return err;
}

/* True if the destination may ask for `ranges` now: they ascend over all of its questions. */
static bool may_ask(const struct session *s, const struct wire_range *ranges, size_t n)
{
	const struct wire_range *last = &ranges[n - 1];

	return s->params.prove && s->own.ops != WIRE_NO_SIZE &&
	       ranges[0].first >= s->proof.next_op && last->first + last->count <= s->own.ops;
}

int session_take_prove(struct session *s, const struct wire_header *h, const uint8_t *body)
{
	struct wire_range *ranges = calloc(WIRE_MAX_PROOF_OPS, sizeof(*ranges));
	bool taken = false;
	uint64_t end = 0;
	size_t n;

	if (!ranges)
		return session_broke(s, BLAME_SELF, -ENOMEM, "out of memory");
	if (wire_decode_prove(body, h->length, ranges, &n) == WIRE_OK && may_ask(s, ranges, n)) {
		end = ranges[n - 1].first + ranges[n - 1].count;
		session_lock(s);
		taken = enqueue(&s->proof, ranges, n);
		pthread_cond_broadcast(&s->changed);
		session_unlock(s);
	}
	if (taken) {
		s->proof.next_op = end;
		return 0;
	}
	free(ranges);
	return session_lost(s, -EBADMSG, WIRE_BAD_BODY);
}
