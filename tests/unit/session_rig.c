/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Both sides of copies: session_rig.h. Each side has a thread per target, and one per connection in
 * each pass.
 */
#include "unit.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "leftovers.h"
#include "net_rig.h"
#include "session_rig.h"
#include "xdd/base/err.h"
#include "xdd/sys/clock.h"

#define RIG_TARGETS 4
#define RIG_SUMS 64

/* A side of a copy while it runs. */
struct actor {
	struct rig_copy *copy;
	struct rig_side *side;
	bool source;
	struct stop *stop;
	struct session *session;
	struct endtoend_address addresses[RIG_CONNECTIONS];
	struct endtoend_options options;
	struct link *links[RIG_CONNECTIONS];
	uint64_t op_count; /* of this session */
	pthread_mutex_t lock;
	_Atomic bool over; /* the pass ends early */
};

/* A QThread of a side in a pass. */
struct worker {
	struct actor *actor;
	unsigned number, pass;
	struct wire_pass sum;
	int err;
};

struct rig_copy rig_copy(unsigned connections, unsigned passes, uint64_t ops)
{
	return (struct rig_copy){
		.connections = connections,
		.passes = passes,
		.ops = ops,
		.skip_op = UINT64_MAX,
		.bad_write = UINT64_MAX,
		.source = { .timeout_ns = 60 * SECOND_NS },
		.destination = { .timeout_ns = 60 * SECOND_NS },
	};
}

uint8_t rig_byte(uint32_t target, unsigned pass, uint64_t at)
{
	return (uint8_t)(at * 7 + at / 251 + pass * 31 + target * 101);
}

static uint64_t length_of(const struct rig_copy *c, uint64_t op)
{
	return c->tail_bytes && op == c->ops - 1 ? c->tail_bytes : RIG_REQ;
}

static uint64_t bytes_of(const struct rig_copy *c)
{
	return c->ops ? (c->ops - 1) * RIG_REQ + length_of(c, c->ops - 1) : 0;
}

bool rig_has(const struct rig_copy *c, unsigned pass, uint64_t op)
{
	for (uint64_t i = 0; i < length_of(c, op); i++)
		if (c->data[op * RIG_REQ + i] != rig_byte(c->target, pass, op * RIG_REQ + i))
			return false;
	return true;
}

void rig_free(struct rig_copy *c)
{
	free(c->data);
	c->data = NULL;
}

/* ---- the callbacks ---- */

static void on_failed(void *arg)
{
	struct actor *a = arg;

	a->side->failed++;
	stop_request(a->stop, STOP_ERROR, 0);
}

static void on_stop_pass(void *arg, uint32_t pass)
{
	struct actor *a = arg;

	(void)pass;
	a->side->stops++;
	atomic_store(&a->over, true);
}

/* The digests are made from the number of the operation; each range is answered alone. */
static size_t on_prove(void *arg, const struct wire_range *ranges, size_t n, uint8_t *out)
{
	size_t length = 0;

	(void)arg;
	for (size_t i = 0; i < n; i++) {
		uint8_t digests[WIRE_SUM_BYTES * RIG_SUMS];
		struct wire_sums sums = {
			.id = ranges[i].first,
			.offset_bytes = ranges[i].first * RIG_REQ,
			.end_bytes = (ranges[i].first + ranges[i].count) * RIG_REQ,
			.block_bytes = RIG_REQ,
			.n = ranges[i].count,
			.digests = digests,
		};

		assert_true(sums.n <= RIG_SUMS);
		for (uint64_t k = 0; k < sums.n; k++)
			wire_put_sum((struct digest){ .low = sums.id + k },
				     digests + k * WIRE_SUM_BYTES);
		length += wire_encode_sums(&sums, out + length, WIRE_MAX_BODY_BYTES - length);
	}
	return length;
}

static int on_accept(void *arg, const struct wire_plan *own, const struct wire_plan *peer,
		     struct wire_range *ranges, size_t *n, struct err *why)
{
	struct actor *a = arg;

	(void)own, (void)peer;
	if (a->copy->ask && a->copy->ask(a->session, a->copy))
		return -EBADMSG;
	if (a->copy->accepts < 0)
		err_set(why, -EACCES, "the destination refuses: test");
	if (a->copy->accepts > 0) {
		memcpy(ranges, a->copy->ranges, a->copy->n_ranges * sizeof(*ranges));
		*n = a->copy->n_ranges;
	}
	return a->copy->accepts < 0 ? -EPERM : a->copy->accepts;
}

/* Before each step. */
static void step(struct actor *a)
{
	unsigned n = ++a->side->steps;

	if (n == a->side->stop_at && a->side->explain)
		session_explain(a->session, a->side->explain);
	if (n == a->side->stop_at)
		stop_request(a->stop, a->side->stop_for ? a->side->stop_for : STOP_SIGNAL, 2);
	if (n == a->side->fail_at)
		session_fail(a->session, XDD_IO_ERROR, "the test has failed");
}

/* ---- blocks ---- */

/* The k-th operation that this session copies. */
static uint64_t real_op(const struct actor *a, uint64_t k)
{
	const struct rig_side *s = a->source ? a->side : &a->copy->source;

	if (!a->copy->accepts)
		return k;
	for (size_t i = 0; i < s->n_ranges; i++) {
		if (k < s->ranges[i].count)
			return s->ranges[i].first + k;
		k -= s->ranges[i].count;
	}
	return 0;
}

static int send_block(struct worker *w, uint64_t k)
{
	struct actor *a = w->actor;
	struct rig_copy *c = a->copy;
	uint64_t op = real_op(a, k);
	uint8_t data[RIG_REQ];
	struct net_block b = { .op = k,
			       .offset = op * RIG_REQ,
			       .length = length_of(c, op),
			       .failed = op == c->skip_op };

	if (c->throttle_ns)
		stop_sleep_until(a->stop, clock_now_ns() + c->throttle_ns);
	if (b.failed) {
		w->sum.failed++;
		return session_send(a->links[w->number], w->pass, &b, NULL);
	}
	for (uint64_t i = 0; i < b.length; i++)
		data[i] = rig_byte(c->target, w->pass, b.offset + i);
	b.digest = digest_data(data, b.length);
	w->sum.ops++;
	w->sum.bytes += b.length;
	digest_add(&w->sum.digest, b.offset, b.length, b.digest);
	return session_send(a->links[w->number], w->pass, &b, data);
}

static void *send_blocks(void *arg)
{
	struct worker *w = arg;
	struct actor *a = w->actor;

	for (uint64_t k = w->number; k < a->op_count && !w->err; k += a->copy->connections)
		if (!atomic_load(&a->over))
			w->err = send_block(w, k);
	if (!w->err)
		w->err = session_last(a->links[w->number], w->pass);
	return NULL;
}

static int receive_block(struct worker *w, bool *last)
{
	struct actor *a = w->actor;
	struct rig_copy *c = a->copy;
	struct link *link = a->links[w->number];
	uint8_t data[RIG_REQ];
	uint64_t ns = 0, check_ns = 0;
	struct net_block b;
	int r = session_receive(link, w->pass, &b, &ns);

	*last = r < 0 || b.last;
	if (*last || b.failed)
		return r;
	r = session_receive_data(link, &b, data, &check_ns);
	*last = r < 0;
	if (r < 0)
		return r;
	if (b.op == c->bad_write) {
		w->sum.failed++;
		return 0;
	}
	memcpy(c->data + b.offset, data, b.length);
	w->sum.ops++;
	w->sum.bytes += b.length;
	digest_add(&w->sum.digest, b.offset, b.length, b.digest);
	return 0;
}

static void *receive_blocks(void *arg)
{
	struct worker *w = arg;
	bool last = false;

	if (w->actor->side->stop_pass_at == w->pass)
		session_stop_pass(w->actor->session, w->pass);
	while (!last)
		w->err = receive_block(w, &last);
	return NULL;
}

/* ---- the steps of a side ---- */

static int run_pass(struct actor *a, unsigned pass)
{
	struct worker workers[RIG_CONNECTIONS];
	pthread_t threads[RIG_CONNECTIONS];
	struct wire_pass own = { .elapsed_ns = 1 };
	int err = 0;

	for (unsigned i = 0; i < a->copy->connections; i++) {
		workers[i] = (struct worker){ .actor = a, .number = i, .pass = pass };
		assert_int_equal(pthread_create(&threads[i], NULL,
						a->source ? send_blocks : receive_blocks,
						&workers[i]),
				 0);
	}
	for (unsigned i = 0; i < a->copy->connections; i++) {
		pthread_join(threads[i], NULL);
		own.ops += workers[i].sum.ops;
		own.bytes += workers[i].sum.bytes;
		own.failed += workers[i].sum.failed;
		digest_join(&own.digest, workers[i].sum.digest);
		if (workers[i].err)
			err = workers[i].err;
	}
	step(a);
	if (err)
		return err;
	a->side->own_pass = own;
	if (!a->source)
		a->copy->written += own.ops;
	return session_finish(a->session, pass, &own, &a->side->peer_pass);
}

static int run_passes(struct actor *a)
{
	for (unsigned pass = 1; pass <= a->copy->passes; pass++) {
		int r;

		if (a->source && a->side->end_after && pass > a->side->end_after)
			break;
		step(a);
		/* The destination may end the pass as soon as it has begun. */
		atomic_store(&a->over, false);
		r = session_begin(a->session, pass);
		if (r <= 0)
			return r;
		a->side->begun++;
		step(a);
		r = run_pass(a, pass);
		if (r < 0)
			return r;
	}
	return 0;
}

struct wire_plan rig_plan(const struct rig_copy *c)
{
	return (struct wire_plan){
		.req_bytes = RIG_REQ,
		.bytes = bytes_of(c),
		.ops = c->ops,
		.passes = c->passes,
		.connections = c->connections,
		.final_bytes = WIRE_NO_SIZE,
		.host = "here",
		.name = "file",
	};
}

static int meet(struct actor *a)
{
	struct wire_plan own = rig_plan(a->copy);
	struct wire_range *ranges = calloc(WIRE_MAX_RANGES, sizeof(*ranges));
	int r;

	assert_non_null(ranges);
	if (a->side->change)
		a->side->change(&own);
	step(a);
	r = session_meet(a->session, &own, &a->side->peer, ranges, &a->side->n_ranges, on_accept,
			 a);
	if (r == 0)
		memcpy(a->side->ranges, ranges, sizeof(a->side->ranges));
	free(ranges);
	return r;
}

static int copy_side(struct actor *a)
{
	int r = meet(a);

	if (r < 0)
		return r;
	if (!a->source && a->copy->open_late_ns)
		stop_sleep_until(a->stop, clock_now_ns() + a->copy->open_late_ns);
	step(a);
	r = session_ready(a->session);
	a->op_count = a->copy->ops;
	if (a->source && a->side->peer.flags & WIRE_RESUMES) {
		a->op_count = 0;
		for (size_t i = 0; i < a->side->n_ranges; i++)
			a->op_count += a->side->ranges[i].count;
	}
	for (unsigned i = 0; i < a->copy->connections && r == 0; i++) {
		step(a);
		r = session_join(a->session, i, &a->links[i]);
	}
	if (r == 0)
		r = run_passes(a);
	step(a);
	return r < 0 ? r : session_close(a->session);
}

static void *run_side(void *arg)
{
	struct actor *a = arg;
	struct rig_side *side = a->side;

	side->err = copy_side(a);
	side->ended_ns = clock_now_ns();
	snprintf(side->why, sizeof(side->why), "%s", session_why(a->session));
	for (unsigned i = 0; i < a->copy->connections; i++)
		session_leave(a->links[i]);
	return NULL;
}

/* ---- a run of both sides ---- */

/* The destination is the side that listens. */
static void set_up(struct actor *a, struct rig_copy *c, struct listener *l, uint16_t port,
		   struct stop *stop)
{
	const bool source = !l;
	struct session_params params = {
		.target = c->target,
		.options = &a->options,
		.listener = l,
		.stop = stop,
		.failed = on_failed,
		.stop_pass = on_stop_pass,
		.prove = on_prove,
		.arg = a,
	};

	*a = (struct actor){ .copy = c, .source = source, .stop = stop };
	a->side = source ? &c->source : &c->destination;
	for (unsigned i = 0; i < c->connections; i++)
		a->addresses[i] = (struct endtoend_address){ "127.0.0.1", port, 1 };
	a->options = (struct endtoend_options){
		.role = source ? E2E_SOURCE : E2E_DESTINATION,
		.addresses = a->addresses,
		.n_addresses = c->connections,
		.timeout_ns = a->side->timeout_ns,
		.timeout_given = a->side->timeout_given,
		.encrypt = a->side->encrypt,
	};
	params.key = &a->side->key;
	a->session = session_new(&params);
	assert_non_null(a->session);
}

/* Stops a side after a time. */
static void *stop_later(void *arg)
{
	struct actor *a = arg;

	if (stop_sleep_until(a->stop, clock_now_ns() + a->side->stop_after_ns) == 0)
		stop_request(a->stop, STOP_SIGNAL, 2);
	return NULL;
}

static struct listener *listen_for(const struct rig_copy *c,
				   const struct connection_options *options, uint16_t *port)
{
	const struct net_key *key = &c->destination.key;
	struct listener *l = listener_new(options, key->present ? key : NULL);
	struct err why;

	assert_non_null(l);
	do
		*port = rig_free_port("127.0.0.1");
	while (listener_add(l, "127.0.0.1", *port, &why) == -EADDRINUSE);
	return l;
}

static void start_all(struct actor *actors, pthread_t *threads, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		pthread_t *mine = &threads[2 * i];

		assert_int_equal(pthread_create(&mine[0], NULL, run_side, &actors[i]), 0);
		if (actors[i].side->stop_after_ns)
			assert_int_equal(pthread_create(&mine[1], NULL, stop_later, &actors[i]), 0);
	}
}

static void look_at(struct proxy *proxy, struct rig_copy *c)
{
	c->harmed = proxy_done(proxy);
	for (unsigned i = 0; i <= c->connections; i++)
		for (int up = 0; up < 2; up++)
			c->forwarded[i][up] = proxy_bytes(proxy, i, up);
	proxy_stop(proxy);
}

void rig_run(struct rig_copy *copies, unsigned n)
{
	struct leftovers before = leftovers_count();
	const struct connection_options options = { .timeout_ns = copies->destination.timeout_ns };
	struct session *sessions[RIG_TARGETS];
	struct session_table table = { sessions, n };
	struct actor actors[2 * RIG_TARGETS];
	pthread_t threads[4 * RIG_TARGETS];
	struct stop stops[2];
	struct proxy *proxy = NULL;
	struct listener *l;
	uint16_t port;

	stop_init(&stops[0]);
	stop_init(&stops[1]);
	l = listen_for(copies, &options, &port);
	for (unsigned i = 0; i < n; i++) {
		copies[i].target = i;
		copies[i].began_ns = clock_now_ns();
		copies[i].data = calloc(1, copies[i].ops * RIG_REQ + 1);
		set_up(&actors[2 * i], &copies[i], l, port, &stops[0]);
		sessions[i] = actors[2 * i].session;
	}
	assert_int_equal(listener_start(l, session_offer, &table), 0);
	if (copies->fault)
		proxy = proxy_start(port, copies->fault);
	for (unsigned i = 0; i < n; i++)
		set_up(&actors[2 * i + 1], &copies[i], NULL, proxy ? proxy_port(proxy) : port,
		       &stops[1]);
	start_all(actors, threads, copies->visit ? 1 : 2 * n);
	if (copies->visit)
		copies->visit(copies, port);
	for (unsigned i = 0; i < (copies->visit ? 1 : 2 * n); i++) {
		pthread_join(threads[2 * i], NULL);
		if (actors[i].side->stop_after_ns) {
			stop_request(actors[i].stop, STOP_ERROR, 0);
			pthread_join(threads[2 * i + 1], NULL);
		}
	}
	copies->refused = listener_refused(l);
	listener_free(l);
	for (unsigned i = 0; i < 2 * n; i++)
		session_free(actors[i].session);
	if (proxy)
		look_at(proxy, copies);
	stop_destroy(&stops[0]);
	stop_destroy(&stops[1]);
	leftovers_assert_none(&before);
}
