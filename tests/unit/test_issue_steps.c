/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The steps of the issue loop, each with its time: src/run/issue/issue.c, with a clock, an engine,
 * turns, a gate and blocks of copies that are made here. test_issue.c has the real ones.
 */
#include "said.h"
#include "unit.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "access_plan.h"
#include "run/coord/gate.h"
#include "run/coord/pace.h"
#include "run/endtoend/endtoend.h"
#include "run/issue/op_hooks.h"
#include "run/issue/order.h"
#include "run/meter/meter.h"
#include "run/qthread.h"
#include "run/run_state.h"
#include "run/target.h"
#include "run/target/data.h"
#include "xdd/sys/clock.h"

#define DEPTH 2u
#define FIRST_NS 1000u
#define END_NS 1000000u

/* ---- what is called ---- */

static uint64_t time_ns;

/* The time of the clock and what happens then; then the clock moves on. */
__attribute__((format(printf, 2, 3))) static void step(uint64_t took_ns, const char *fmt, ...)
{
	va_list args;

	say("%" PRIu64 " ", time_ns);
	va_start(args, fmt);
	vsay(fmt, args);
	va_end(args);
	say("; ");
	time_ns += took_ns;
}

struct answer {
	unsigned is; /* enum transfer_answer or gate_answer */
	uint64_t n;  /* the operation, or the time to ask again */
};

#define MOST 8

static struct {
	struct io_request *queue[DEPTH]; /* of the engine */
	unsigned n;
	uint64_t fails;	      /* the operation that fails; UINT64_MAX: none */
	unsigned retries;     /* that help no operation */
	uint64_t flush_after; /* this operation; UINT64_MAX: none */

	struct io_request *unsent[DEPTH];
	unsigned n_unsent;
	int send_err, turn_err, rest_err;
	bool sends_in_turn;
	struct answer received[MOST], asked[MOST];
	unsigned n_received, n_asked;
	unsigned turns;	   /* so often the turn is free first, and then */
	unsigned no_turns; /* another QThread has it so often */
	uint64_t snooze_ns;
	bool stop_at_gate;
	uint64_t measured_ns; /* set by another QThread during a wait at the gate */
} fake;

static uint64_t fake_now(void)
{
	return time_ns;
}

static uint64_t fake_reader(struct clock_reader *r)
{
	(void)r;
	return time_ns;
}

static int fake_submit(void *ctx, struct io_request *req)
{
	(void)ctx;
	step(10, "submit %" PRIu64, req->op);
	req->error = req->op == fake.fails ? -EIO : 0;
	req->done = req->error ? 100 : req->size;
	fake.queue[fake.n++ % DEPTH] = req;
	return 0;
}

/* The oldest one, after 1000 ns. */
static int fake_reap(void *ctx, struct io_request **out, unsigned min, unsigned max,
		     uint64_t timeout_ns)
{
	(void)ctx, (void)min, (void)max;
	assert_true(fake.n > 0);
	if (timeout_ns < 1000) {
		step(timeout_ns, "reap for %" PRIu64, timeout_ns);
		return 0;
	}
	out[0] = fake.queue[0];
	fake.queue[0] = fake.queue[1];
	fake.n--;
	if (timeout_ns == UINT64_MAX)
		step(1000, "reap %" PRIu64, out[0]->op);
	else
		step(1000, "reap %" PRIu64 " for %" PRIu64, out[0]->op, timeout_ns);
	return 1;
}

static bool fake_order_try(struct order *o, uint64_t n)
{
	(void)o;
	if (fake.turns || !fake.no_turns) {
		fake.turns -= fake.turns > 0;
		return true;
	}
	fake.no_turns--;
	step(0, "no turn of %" PRIu64, n);
	return false;
}

static int fake_order_enter(struct order *o, uint64_t n)
{
	(void)o;
	step(30, "wait for turn of %" PRIu64, n);
	return fake.turn_err;
}

static void fake_order_leave(struct order *o, uint64_t n)
{
	(void)o;
	step(0, "leave %" PRIu64, n);
}

static void fake_order_leave_briefly(struct order *o, uint64_t n)
{
	(void)o;
	step(0, "leave %" PRIu64 " briefly", n);
}

static unsigned fake_order_breaks(struct order *o, uint64_t n)
{
	(void)o;
	step(0, "audit %" PRIu64, n);
	return 0;
}

static bool fake_is_turn(const struct tot *t, uint64_t n)
{
	(void)t, (void)n;
	return fake.sends_in_turn;
}

static int fake_tot_wait(struct tot *t, uint64_t n)
{
	(void)t;
	step(40, "wait to send %" PRIu64, n);
	return fake.turn_err;
}

static void fake_tot_pass_on(struct tot *t, uint64_t n)
{
	(void)t;
	step(0, "pass on %" PRIu64, n);
}

static void fake_arrive(struct qthread *q, uint64_t n)
{
	(void)q;
	step(0, "arrive %" PRIu64, n);
}

static enum gate_answer fake_ask(struct qthread *q, struct io_request *req, uint64_t now_ns,
				 uint64_t end_ns, uint64_t *at_ns)
{
	struct answer a = { GATE_OPEN, 0 };

	if (fake.n_asked) {
		a = fake.asked[0];
		memmove(fake.asked, fake.asked + 1, sizeof(fake.asked) - sizeof(a));
		fake.n_asked--;
	}
	if (fake.stop_at_gate)
		stop_request(&q->target->run->stop, STOP_SIGNAL, 2);
	step(0, "ask %" PRIu64 " at %" PRIu64 " until %" PRIu64, req->op, now_ns, end_ns);
	*at_ns = a.n;
	return a.is;
}

static void fake_gate_wait(struct target *t, uint64_t n, enum gate_answer answer, uint64_t at_ns)
{
	t->state.measured_ns = fake.measured_ns;
	step(50, "%s %" PRIu64 " until %" PRIu64, answer == GATE_AT ? "hold" : "event", n, at_ns);
}

static int fake_rest(struct target *t, uint64_t until_ns)
{
	(void)t;
	step(until_ns - time_ns, "rest until %" PRIu64, until_ns);
	return fake.rest_err;
}

static void fake_completed(struct target *t, uint64_t bytes)
{
	(void)t;
	step(0, "completed %" PRIu64, bytes);
}

static void fake_transfer_issue(struct qthread *q, struct io_request *req)
{
	fake.unsent[fake.n_unsent++] = req;
	q->transfer->n_queued++;
	q->transfer->slots[req->slot].complete = false;
}

static void fake_transfer_read(struct qthread *q, struct io_request *req, uint64_t done_ns)
{
	step(0, "%s %" PRIu64 " at %" PRIu64, req->error ? "failed" : "read", req->op, done_ns);
	q->transfer->slots[req->slot].complete = true;
	q->transfer->slots[req->slot].done_ns = done_ns;
}

static struct io_request *fake_transfer_next(const struct qthread *q)
{
	struct io_request *req = fake.n_unsent ? fake.unsent[0] : NULL;

	return req && q->transfer->slots[req->slot].complete ? req : NULL;
}

static int fake_transfer_send(struct qthread *q, int err)
{
	step(err ? 0 : 200, "send %" PRIu64 "%s", fake.unsent[0]->op, err ? ": canceled" : "");
	fake.unsent[0] = fake.unsent[1];
	fake.n_unsent--;
	q->transfer->n_queued--;
	return err ? err : fake.send_err;
}

static enum transfer_answer fake_receive(struct qthread *q, struct io_request *req, bool wait,
					 uint64_t end_ns)
{
	struct answer a = { TRANSFER_OVER, 0 };

	if (fake.n_received) {
		a = fake.received[0];
		memmove(fake.received, fake.received + 1, sizeof(fake.received) - sizeof(a));
		fake.n_received--;
	}
	step(0, "receive into %u until %" PRIu64 "%s: %s", req->slot, end_ns, wait ? ", wait" : "",
	     a.is == TRANSFER_BLOCK   ? "block" :
	     a.is == TRANSFER_SKIP    ? "failed" :
	     a.is == TRANSFER_NOTHING ? "nothing" :
					"over");
	if (!q->transfer->first_ns)
		q->transfer->first_ns = time_ns;
	time_ns += 300;
	req->op = a.n;
	req->dir = DIR_WRITE;
	req->size = REQ;
	io_request_reset(req);
	return a.is;
}

static void fake_written(struct qthread *q, const struct io_request *req)
{
	(void)q;
	step(0, "written %" PRIu64, req->op);
}

static void fake_await_turn(struct qthread *q, uint64_t n)
{
	(void)q;
	step(0, "await turn of %" PRIu64, n);
}

static void fake_has_turn(struct qthread *q)
{
	(void)q;
	step(0, "has turn");
}

static uint64_t fake_real_op(const struct endtoend *e, uint64_t n)
{
	(void)e;
	return n + 70;
}

static void fake_first(struct qthread *q)
{
	(void)q;
}

static void fake_last(struct qthread *q)
{
	(void)q;
	step(0, "last");
}

static void fake_prepare(struct qthread *q, struct io_request *req)
{
	(void)q;
	step(60, "prepare %" PRIu64, req->op);
}

static void fake_release(struct qthread *q, const struct io_request *req)
{
	(void)q;
	step(0, "release %" PRIu64, req->op);
}

static void fake_complete(struct qthread *q, const struct io_request *req)
{
	(void)q;
	step(70, "verify %" PRIu64, req->op);
}

static bool fake_try_again(struct qthread *q, struct io_request *req)
{
	(void)q;
	if (!req->error || !fake.retries)
		return false;
	fake.retries--;
	return true;
}

static void fake_slow(struct qthread *q, struct io_request *req, uint64_t done_ns)
{
	(void)q;
	step(0, "report %" PRIu64 " at %" PRIu64, req->op, done_ns);
}

static bool fake_flush_is_due(struct target *t, const struct io_request *req)
{
	(void)t;
	return req->op == fake.flush_after;
}

static void fake_flush(struct qthread *q)
{
	(void)q;
	step(80, "flush");
}

static uint64_t fake_snooze(struct snooze *s, const struct target_plan *plan,
			    const struct io_request *req, uint64_t done_ns)
{
	(void)s, (void)plan;
	step(0, "snooze after %" PRIu64 " at %" PRIu64, req->op, done_ns);
	return fake.snooze_ns;
}

static bool fake_warm(struct qthread *q, struct io_request *req)
{
	struct target *t = q->target;

	req->issue_ns = time_ns;
	req->warm = req->op < t->plan->warmup_ops;
	if (!req->warm && !t->state.measured_ns)
		t->state.measured_ns = time_ns;
	return req->warm;
}

static void fake_io_error(struct qthread *q, const struct io_request *req)
{
	(void)q;
	step(0, "error of %" PRIu64, req->op);
}

#define clock_now_ns fake_now
#define clock_reader_now_ns fake_reader
#define order_try fake_order_try
#define order_enter fake_order_enter
#define order_leave fake_order_leave
#define order_leave_briefly fake_order_leave_briefly
#define order_breaks(o, n) fake_order_breaks(o, n)
#define tot_is_turn fake_is_turn
#define tot_wait fake_tot_wait
#define tot_pass_on fake_tot_pass_on
#define gate_arrive fake_arrive
#define gate_ask fake_ask
#define gate_wait fake_gate_wait
#define gate_rest fake_rest
#define gate_completed fake_completed
#define transfer_issue fake_transfer_issue
#define transfer_read fake_transfer_read
#define transfer_next fake_transfer_next
#define transfer_send fake_transfer_send
#define transfer_receive fake_receive
#define transfer_written fake_written
#define transfer_await_turn fake_await_turn
#define transfer_has_turn fake_has_turn
#define endtoend_real_op fake_real_op
#define cputime_first fake_first
#define cputime_last fake_last
#define data_prepare fake_prepare
#define data_release fake_release
#define data_complete fake_complete
#define retry_flush_try_again fake_try_again
#define retry_flush_report fake_slow
#define retry_flush_is_due fake_flush_is_due
#define retry_flush_run fake_flush
#define snooze_ns fake_snooze
#define warmup_issue fake_warm
#define io_error fake_io_error

#include "../../src/run/issue/issue.c"

#undef snooze_ns

/* ---- the run ---- */

static struct plan plan;
static struct target_plan target_plan;
static struct run run;
static struct target target;
static struct qthread qthread, *const q = &qthread;
static struct io_request requests[DEPTH], *done[DEPTH], *free_slots[DEPTH];
static struct iovec buffers[DEPTH];
static struct endtoend endtoend;
static struct transfer transfer;
static struct transfer_slot slots[DEPTH];
static struct engine engine = { .info = { .name = "recorder" },
				.submit = fake_submit,
				.reap = fake_reap };

enum side {
	NO_COPY,
	SOURCE,
	DESTINATION
};

static void set_up(enum side side, bool queues, uint64_t ops)
{
	memset(&fake, 0, sizeof(fake));
	memset(&run, 0, sizeof(run));
	memset(&target, 0, sizeof(target));
	memset(&qthread, 0, sizeof(qthread));
	memset(&transfer, 0, sizeof(transfer));
	memset(requests, 0, sizeof(requests));
	said[0] = '\0';
	time_ns = FIRST_NS;
	fake.fails = fake.flush_after = UINT64_MAX;
	fake.sends_in_turn = true;
	engine.info.caps = queues ? ENGINE_QUEUES : 0;
	target_plan = plan_of(SEEK_SEQUENTIAL, ops);
	target_plan.path = "a target";
	target_plan.engine = &engine.info;
	target_plan.qthreads = 1;
	target_plan.queue_depth = DEPTH;
	plan = (struct plan){ .n_targets = 1, .targets = &target_plan };
	run.plan = &plan;
	run.targets = &target;
	stop_init(&run.stop);
	target.run = &run;
	target.plan = &target_plan;
	target.engine = &engine;
	target.qthreads = q;
	access_init(&target.state.access, &target_plan, 1);
	q->target = &target;
	q->ring = (struct request_ring){ .depth = DEPTH,
					 .requests = requests,
					 .done = done,
					 .buffers = buffers,
					 .free = free_slots,
					 .n_free = DEPTH };
	for (unsigned i = 0; i < DEPTH; i++) {
		requests[i].slot = i;
		free_slots[i] = &requests[i];
	}
	counters_reset(&q->counters);
	if (side == NO_COPY)
		return;
	endtoend.sends = side == SOURCE;
	endtoend.ops = ops;
	target.endtoend = &endtoend;
	transfer.slots = slots;
	q->transfer = &transfer;
}

static void receive(enum transfer_answer answer, uint64_t n)
{
	fake.received[fake.n_received++] = (struct answer){ answer, n };
}

static void ask(enum gate_answer answer, uint64_t at_ns)
{
	fake.asked[fake.n_asked++] = (struct answer){ answer, at_ns };
}

static void pass(void)
{
	issue_pass(q, FIRST_NS, END_NS);
	assert_int_equal(q->ring.n_free, DEPTH);
}

/* The figures of the pass that are not 0, after the steps. */
static void say_figures(void)
{
	struct counters *c = &q->counters;
	const enum op_dir dir = endtoend.sends || !q->transfer ? DIR_READ : DIR_WRITE;
	const struct {
		const char *name;
		uint64_t n;
	} figures[] = {
		{ "issued", c->issued },	  { "ops", c->ops[dir] },
		{ "bytes", c->bytes[dir] },	  { "errors", c->errors },
		{ "failed", c->failed_ops[dir] }, { "failed bytes", c->failed_bytes[dir] },
		{ "busy", c->busy_ns[dir] },	  { "first", c->first_issue_ns },
		{ "last", c->last_done_ns },	  { "net wait", c->net_wait_ns },
		{ "apart", q->apart_ns },	  { "storage", transfer.storage_ns },
		{ "held", transfer.held_ns },	  { "lost", transfer.failed },
	};
	unsigned any = 0;

	for (size_t i = 0; i < sizeof(figures) / sizeof(figures[0]); i++)
		if (figures[i].n)
			say("%s%s %" PRIu64, any++ ? ", " : "", figures[i].name, figures[i].n);
}

#define ASSERT_PASS(text)                \
	do {                             \
		pass();                  \
		say_figures();           \
		assert_said(text);       \
		stop_destroy(&run.stop); \
	} while (0)

/* ---- sources ---- */

TEST(test_source)
{
	set_up(SOURCE, false, 3);
	fake.fails = 1;
	ASSERT_PASS(
		"1000 submit 0; 1010 read 0 at 1010; 1010 submit 1; 1020 failed 1 at 1020; "
		"1020 error of 1; 1020 send 0; 1220 submit 2; 1230 read 2 at 1230; 1230 send 1; "
		"1430 send 2; issued 3, ops 2, bytes 8292, errors 1, failed 1, "
		"failed bytes 100, busy 20, first 1000, last 1630, apart 610");
	set_up(SOURCE, true, 4);
	fake.fails = 2;
	ASSERT_PASS(
		"1000 submit 0; 1010 submit 1; 1020 reap 0; 2020 read 0 at 2020; "
		"2020 reap for 0; 2020 send 0; 2220 submit 2; 2230 reap 1; 3230 read 1 at 3230; "
		"3230 reap for 0; 3230 send 1; 3430 submit 3; 3440 reap 2; "
		"4440 failed 2 at 4440; 4440 error of 2; 4440 reap for 0; 4440 send 2; "
		"4640 reap 3; 5640 read 3 at 5640; 5640 send 3; issued 4, ops 3, bytes 12388, "
		"errors 1, failed 1, failed bytes 100, busy 5450, first 1000, last 5840, "
		"apart 4840, storage 4040");
}

/* Blocks that are read and cannot be sent have failed, without a line; a failed read has one. */
TEST(test_unsent)
{
	set_up(SOURCE, true, 3);
	fake.send_err = -EPIPE;
	fake.fails = 1;
	ASSERT_PASS(
		"1000 submit 0; 1010 submit 1; 1020 reap 0; 2020 read 0 at 2020; "
		"2020 reap for 0; 2020 send 0; 2220 submit 2; 2230 reap 1; "
		"3230 failed 1 at 3230; 3230 error of 1; 3230 reap for 0; 3230 send 1; "
		"3430 reap 2; 4430 read 2 at 4430; 4430 send 2; issued 3, bytes 8292, errors 3, "
		"failed 3, failed bytes 8292, first 1000, last 3230, apart 3630, storage 3030");
}

static void set_up_order(enum ordering ordering, bool in_turn)
{
	set_up(SOURCE, false, 1);
	target.orders_sends = true;
	target_plan.network_ordering = ordering;
	fake.sends_in_turn = in_turn;
}

/* -ordering network. */
TEST(test_sends_in_order)
{
	set_up_order(ORDERING_STRICT, true);
	ASSERT_PASS("1000 submit 0; 1010 read 0 at 1010; 1010 send 0; 1210 pass on 0; issued 1, "
		    "ops 1, bytes 4096, busy 10, first 1000, last 1210, apart 200");
	set_up_order(ORDERING_LOOSE, true);
	ASSERT_PASS("1000 submit 0; 1010 read 0 at 1010; 1010 pass on 0; 1010 send 0; issued 1, "
		    "ops 1, bytes 4096, busy 10, first 1000, last 1210, apart 200");
	set_up_order(ORDERING_STRICT, false);
	ASSERT_PASS("1000 submit 0; 1010 read 0 at 1010; 1010 wait to send 0; 1050 send 0; "
		    "1250 pass on 0; issued 1, ops 1, bytes 4096, busy 10, first 1000, last 1250, "
		    "net wait 40, apart 240");
	set_up_order(ORDERING_LOOSE, false);
	ASSERT_PASS("1000 submit 0; 1010 read 0 at 1010; 1010 wait to send 0; 1050 pass on 0; "
		    "1050 send 0; issued 1, ops 1, bytes 4096, busy 10, first 1000, last 1250, "
		    "net wait 40, apart 240");
	set_up_order(ORDERING_STRICT, false);
	fake.turn_err = -ECANCELED;
	ASSERT_PASS("1000 submit 0; 1010 read 0 at 1010; 1010 wait to send 0; "
		    "1050 send 0: canceled; issued 1, bytes 4096, errors 1, failed 1, "
		    "failed bytes 4096, first 1000, net wait 40, apart 40");
	set_up_order(ORDERING_LOOSE, false);
	fake.turn_err = -ECANCELED;
	ASSERT_PASS("1000 submit 0; 1010 read 0 at 1010; 1010 wait to send 0; "
		    "1050 send 0: canceled; issued 1, bytes 4096, errors 1, failed 1, "
		    "failed bytes 4096, first 1000, net wait 40, apart 40");
	set_up_order(ORDERING_STRICT, true);
	fake.send_err = -EPIPE;
	ASSERT_PASS("1000 submit 0; 1010 read 0 at 1010; 1010 send 0; issued 1, bytes 4096, "
		    "errors 1, failed 1, failed bytes 4096, first 1000, apart 200");
}

/* A source ends with the last operation that the destination lacks. It sends before it waits. */
TEST(test_source_ends)
{
	set_up(SOURCE, true, 3);
	endtoend.ops = 2;
	target.order.by = ORDER_BY_LOCK;
	target.order.mode = ORDERING_STRICT;
	fake.no_turns = 2;
	ASSERT_PASS("1000 no turn of 0; 1000 wait for turn of 0; 1030 submit 0; 1040 leave 0; "
		    "1040 no turn of 0; 1040 reap 0 for 20000; 2040 read 0 at 2040; 2040 submit 1; "
		    "2050 leave 1; 2050 reap for 0; 2050 send 0; 2250 leave 0; 2250 reap 1; "
		    "3250 read 1 at 3250; 3250 send 1; issued 2, ops 2, bytes 8192, busy 2220, "
		    "first 1030, last 3450, net wait 30, apart 2450, storage 2020, held 30");
	set_up(SOURCE, true, 2);
	target.gated = true;
	ask(GATE_OPEN, 0);
	ask(GATE_AT, 300000);
	ask(GATE_EVENT, 0);
	ask(GATE_AT, 300000);
	ASSERT_PASS(
		"1000 arrive 0; 1000 ask 0 at 1000 until 1000000; 1000 submit 0; 1010 arrive 1; "
		"1010 ask 1 at 1000 until 1000000; 1010 reap 0 for 259000; 2010 read 0 at 2010; "
		"2010 ask 1 at 2010 until 1000000; 2010 send 0; "
		"2210 ask 1 at 2210 until 1000000; 2210 hold 1 until 300000; "
		"2260 ask 1 at 2260 until 1000000; 2260 submit 1; 2270 reap 1; "
		"3270 read 1 at 3270; 3270 send 1; issued 2, ops 2, bytes 8192, busy 2020, "
		"first 1000, last 3470, net wait 50, apart 2470, storage 2020, held 50");
}

/* ---- destinations ---- */

TEST(test_destination)
{
	set_up(DESTINATION, false, 9);
	receive(TRANSFER_BLOCK, 4);
	receive(TRANSFER_SKIP, 5);
	receive(TRANSFER_BLOCK, 6);
	fake.fails = 6;
	target.order.audited = true;
	target.followed = true;
	ASSERT_PASS("1000 receive into 0 until 1000000, wait: block; 1300 audit 4; 1300 submit 4; "
		    "1310 completed 4096; 1310 written 4; 1310 receive into 1 until 1000000, "
		    "wait: failed; 1610 audit 5; 1610 completed 4096; "
		    "1610 receive into 0 until 1000000, wait: block; 1910 audit 6; 1910 submit 6; "
		    "1920 error of 6; 1920 completed 4096; 1920 written 6; "
		    "1920 receive into 1 until 1000000, wait: over; issued 2, ops 1, bytes 4196, "
		    "errors 1, failed 1, failed bytes 100, busy 10, first 1000, last 1920, "
		    "apart 1210");
	set_up(DESTINATION, true, 9);
	receive(TRANSFER_BLOCK, 4);
	receive(TRANSFER_NOTHING, 0);
	receive(TRANSFER_SKIP, 5);
	receive(TRANSFER_BLOCK, 6);
	ASSERT_PASS("1000 receive into 0 until 1000000, wait: block; 1300 submit 4; "
		    "1310 receive into 1 until 1000000: nothing; 1610 reap 4 for 100000; "
		    "2610 written 4; 2610 receive into 1 until 1000000, wait: failed; "
		    "2910 receive into 0 until 1000000, wait: block; 3210 submit 6; "
		    "3220 receive into 1 until 1000000: over; 3520 reap 6; 4520 written 6; "
		    "issued 2, ops 2, bytes 8192, busy 2620, first 1000, last 4520, net wait 1000, "
		    "apart 3540, storage 1020");
}

TEST(test_destination_alone)
{
	set_up(DESTINATION, true, 9);
	target.order.alone = true;
	receive(TRANSFER_BLOCK, 4);
	receive(TRANSFER_BLOCK, 6);
	ASSERT_PASS(
		"1000 receive into 0 until 1000000, wait: block; 1300 submit 4; 1310 reap 4; "
		"2310 written 4; 2310 receive into 1 until 1000000, wait: block; 2610 submit 6; "
		"2620 reap 6; 3620 written 6; 3620 receive into 0 until 1000000, wait: over; "
		"issued 2, ops 2, bytes 8192, busy 2020, first 1000, last 3620, apart 2920, "
		"storage 2020");
}

TEST(test_destination_turns)
{
	set_up(DESTINATION, true, 9);
	target.order.by = ORDER_BY_TOT;
	target.order.mode = ORDERING_STRICT;
	fake.no_turns = 2;
	receive(TRANSFER_BLOCK, 4);
	receive(TRANSFER_SKIP, 5);
	ASSERT_PASS("1000 receive into 0 until 1000000, wait: block; 1300 no turn of 4; "
		    "1300 await turn of 4; 1300 no turn of 4; 1300 wait for turn of 4; "
		    "1330 has turn; 1330 submit 4; 1340 leave 4; "
		    "1340 receive into 1 until 1000000: failed; 1640 has turn; 1640 leave 5; "
		    "1640 receive into 1 until 1000000: over; 1940 reap 4; 2940 written 4; "
		    "issued 1, ops 1, bytes 4096, busy 1610, first 1000, last 2940, net wait 30, "
		    "apart 1950, storage 1010, held 30");
	set_up(DESTINATION, true, 9);
	target.order.by = ORDER_BY_TOT;
	target.order.mode = ORDERING_STRICT;
	receive(TRANSFER_BLOCK, 4);
	receive(TRANSFER_BLOCK, 5);
	atomic_store(&target.state.over, true);
	ASSERT_PASS("1000 receive into 0 until 1000000, wait: block; 1300 has turn; 1300 submit 4; "
		    "1310 leave 4; 1310 receive into 1 until 1000000: block; 1610 has turn; "
		    "1610 submit 5; 1620 leave 5; 1620 reap 4; 2620 written 4; "
		    "2620 receive into 0 until 1000000: over; 2920 reap 5; 3920 written 5; "
		    "issued 2, ops 2, bytes 8192, busy 3630, first 1000, last 3920, apart 2930, "
		    "storage 2020");
	set_up(DESTINATION, false, 9);
	target.order.by = ORDER_BY_TOT;
	target.order.mode = ORDERING_STRICT;
	fake.no_turns = 2;
	fake.turn_err = -ECANCELED;
	receive(TRANSFER_BLOCK, 4);
	ASSERT_PASS("1000 receive into 0 until 1000000, wait: block; 1300 no turn of 4; "
		    "1300 await turn of 4; 1300 no turn of 4; 1300 wait for turn of 4; "
		    "1330 has turn; first 18446744073709551615, net wait 30, apart 330, held 30");
}

static void set_up_closed(void)
{
	set_up(DESTINATION, true, 9);
	target.gated = true;
	target.order.audited = true;
	target.order.by = ORDER_BY_TOT;
	ask(GATE_CLOSED, 0);
	receive(TRANSFER_BLOCK, 4);
	receive(TRANSFER_BLOCK, 5);
}

TEST(test_destination_gate)
{
	set_up_closed();
	ASSERT_PASS(
		"1000 receive into 0 until 1000000, wait: block; 1300 arrive 4; 1300 has turn; "
		"1300 ask 4 at 1300 until 18446744073709551615; 1300 audit 4; 1300 leave 4; "
		"1300 receive into 1 until 1000000, wait: block; 1600 arrive 5; 1600 has turn; "
		"1600 ask 5 at 1600 until 18446744073709551615; 1600 audit 5; 1600 submit 5; "
		"1610 leave 5; 1610 receive into 0 until 1000000: over; 1910 reap 5; "
		"2910 written 5; issued 1, ops 1, bytes 4096, busy 1310, first 1000, last 2910, "
		"apart 1920, storage 1010, lost 1");
	set_up_closed();
	fake.stop_at_gate = true;
	ASSERT_PASS("1000 receive into 0 until 1000000, wait: block; 1300 arrive 4; 1300 has turn; "
		    "1300 ask 4 at 1300 until 18446744073709551615; 1300 leave 4; "
		    "first 18446744073709551615, apart 300");
}

/* ---- turns and the gate, without a copy ---- */

TEST(test_turns)
{
	set_up(NO_COPY, true, 3);
	target.order.by = ORDER_BY_TOT;
	target.order.mode = ORDERING_STRICT;
	fake.no_turns = 1;
	ASSERT_PASS(
		"1000 no turn of 0; 1000 wait for turn of 0; 1030 submit 0; 1040 leave 0; "
		"1040 submit 1; 1050 leave 1; 1050 reap 0; 2050 submit 2; 2060 leave 2; "
		"2060 reap 1; 3060 reap 2; issued 3, ops 3, bytes 12288, busy 5050, first 1030, "
		"last 4060, apart 30");
	set_up(NO_COPY, true, 3);
	target.order.by = ORDER_BY_LOCK;
	target.order.mode = ORDERING_LOOSE;
	target.gated = true;
	fake.no_turns = 2;
	ASSERT_PASS("1000 no turn of 0; 1000 wait for turn of 0; 1030 arrive 0; "
		    "1030 ask 0 at 1030 until 1000000; 1030 leave 0; 1030 submit 0; "
		    "1040 no turn of 0; 1040 reap 0 for 20000; 2040 arrive 1; "
		    "2040 ask 1 at 2040 until 1000000; 2040 leave 1; 2040 submit 1; 2050 arrive 2; "
		    "2050 ask 2 at 2040 until 1000000; 2050 leave 2; 2050 submit 2; 2060 reap 1; "
		    "3060 leave 0; 3060 reap 2; issued 3, ops 3, bytes 12288, busy 4040, "
		    "first 1030, last 4060, apart 30");
	/* Without a gate no turn depends on operations of this QThread. */
	set_up(NO_COPY, true, 2);
	target.order.by = ORDER_BY_LOCK;
	target.order.mode = ORDERING_STRICT;
	fake.turns = fake.no_turns = 1;
	ASSERT_PASS(
		"1000 submit 0; 1010 leave 0; 1010 no turn of 0; 1010 wait for turn of 0; "
		"1040 submit 1; 1050 leave 1; 1050 reap 0; 2050 leave 0; 2050 reap 1; issued 2, "
		"ops 2, bytes 8192, busy 3060, first 1000, last 3050, apart 30");
}

TEST(test_gate)
{
	set_up(NO_COPY, true, 2);
	target.gated = true;
	target.followed = true;
	ask(GATE_AT, 300000);
	ask(GATE_EVENT, 400000);
	ask(GATE_OPEN, 0);
	ask(GATE_EVENT, 400000);
	ask(GATE_AT, 500000);
	ASSERT_PASS(
		"1000 arrive 0; 1000 ask 0 at 1000 until 1000000; 1000 hold 0 until 300000; "
		"1050 ask 0 at 1050 until 1000000; 1050 event 0 until 400000; "
		"1100 ask 0 at 1100 until 1000000; 1100 submit 0; 1110 arrive 1; "
		"1110 ask 1 at 1100 until 1000000; 1110 reap 0 for 200000; 2110 completed 4096; "
		"2110 ask 1 at 2110 until 1000000; 2110 hold 1 until 500000; "
		"2160 ask 1 at 2160 until 1000000; 2160 submit 1; 2170 reap 1; "
		"3170 completed 4096; issued 2, ops 2, bytes 8192, busy 2020, first 1100, "
		"last 3170, apart 150");
	set_up(NO_COPY, true, 2);
	target.gated = true;
	ask(GATE_CLOSED, 0);
	ASSERT_PASS("1000 arrive 0; 1000 ask 0 at 1000 until 1000000; first 18446744073709551615");
	set_up(NO_COPY, true, 2);
	target.gated = true;
	target.order.by = ORDER_BY_TOT;
	q->data = (struct qthread_data *)&fake;
	ask(GATE_OPEN, 0);
	ask(GATE_CLOSED, 0);
	run.needs = FIGURES_OVERHEAD;
	ASSERT_PASS("1000 prepare 0; 1060 arrive 0; 1060 ask 0 at 1060 until 1000000; "
		    "1060 submit 0; 1070 leave 0; 1070 prepare 1; 1130 arrive 1; "
		    "1130 ask 1 at 1130 until 1000000; 1130 release 1; 1130 leave 1; 1130 reap 0; "
		    "2130 last; 2130 verify 0; issued 1, ops 1, bytes 4096, busy 1070, first 1060, "
		    "last 2130, apart 1010");
	set_up(NO_COPY, false, 2);
	target.order.by = ORDER_BY_TOT;
	fake.no_turns = 2;
	fake.turn_err = -ECANCELED;
	ASSERT_PASS("1000 no turn of 0; 1000 wait for turn of 0; first 18446744073709551615, "
		    "apart 30");
}

static void set_up_locked(enum side side)
{
	set_up(side, false, 2);
	target.order.by = ORDER_BY_LOCK;
	target.order.mode = ORDERING_STRICT;
	fake.fails = 1;
}

/* How the turn is left: a waiter is woken if the QThread is busy before its next operation. */
TEST(test_leaves)
{
	set_up_locked(NO_COPY);
	ASSERT_PASS("1000 submit 0; 1010 leave 0 briefly; 1010 submit 1; 1020 error of 1; "
		    "1020 leave 1; 1020 leave 0; issued 2, ops 1, bytes 4196, errors 1, failed 1, "
		    "failed bytes 100, busy 10, first 1000, last 1020, apart 10");
	set_up_locked(NO_COPY);
	q->data = (struct qthread_data *)&fake;
	ASSERT_PASS("1000 prepare 0; 1060 submit 0; 1070 leave 0; 1070 verify 0; 1140 prepare 1; "
		    "1200 submit 1; 1210 error of 1; 1210 leave 1; 1210 last; 1210 verify 1; "
		    "1280 leave 0; issued 2, ops 1, bytes 4196, errors 1, failed 1, "
		    "failed bytes 100, busy 10, first 1060, last 1210, apart 10");
	set_up_locked(NO_COPY);
	target.retry_flush = true;
	ASSERT_PASS(
		"1000 submit 0; 1010 leave 0; 1010 report 0 at 1010; 1010 submit 1; "
		"1020 error of 1; 1020 leave 1; 1020 last; 1020 report 1 at 1020; 1020 leave 0; "
		"issued 2, ops 1, bytes 4196, errors 1, failed 1, failed bytes 100, busy 10, "
		"first 1000, last 1020, apart 10");
	set_up_locked(NO_COPY);
	plan.operation_delay_ns = 500;
	ASSERT_PASS("1000 submit 0; 1010 leave 0; 1010 snooze after 0 at 1010; 1010 submit 1; "
		    "1020 error of 1; 1020 leave 1; 1020 snooze after 1 at 1020; "
		    "1020 rest until 1510; 1510 leave 0; issued 2, ops 1, bytes 4196, errors 1, "
		    "failed 1, failed bytes 100, busy 10, first 1000, last 1020, apart 500");
	set_up_locked(SOURCE);
	ASSERT_PASS("1000 submit 0; 1010 leave 0; 1010 read 0 at 1010; 1010 submit 1; "
		    "1020 failed 1 at 1020; 1020 error of 1; 1020 leave 1; 1020 send 0; "
		    "1220 leave 0; 1220 send 1; issued 2, ops 1, bytes 4196, errors 1, failed 1, "
		    "failed bytes 100, busy 10, first 1000, last 1220, apart 410");
}

/* ---- rests ---- */

TEST(test_rests)
{
	set_up(NO_COPY, true, 4);
	plan.operation_delay_ns = 1500;
	ASSERT_PASS("1000 submit 0; 1010 submit 1; 1020 reap 0; 2020 snooze after 0 at 2020; "
		    "2020 reap 1 for 1500; 3020 snooze after 1 at 3020; 3020 rest until 3520; "
		    "3520 submit 2; 3530 reap 2 for 1000; 4530 snooze after 2 at 4530; "
		    "4530 submit 3; 4540 reap 3 for 1500; 5540 snooze after 3 at 5540; "
		    "5540 rest until 6030; issued 4, ops 4, bytes 16384, busy 5050, first 1000, "
		    "last 5540, apart 990");
	set_up(NO_COPY, true, 4);
	target_plan.throttle.delay_ns = 100;
	target_plan.snooze_percent = 1;
	fake.snooze_ns = 200;
	ASSERT_PASS("1000 submit 0; 1010 submit 1; 1020 reap 0; 2020 snooze after 0 at 2020; "
		    "2020 reap for 300; 2320 submit 2; 2330 reap 1; 3330 snooze after 1 at 3330; "
		    "3330 reap for 300; 3630 submit 3; 3640 reap 2; 4640 snooze after 2 at 4640; "
		    "4640 reap for 300; 4940 reap 3; 5940 snooze after 3 at 5940; issued 4, ops 4, "
		    "bytes 16384, busy 7970, first 1000, last 5940");
	set_up(NO_COPY, false, 4);
	plan.operation_delay_ns = END_NS;
	ASSERT_PASS("1000 submit 0; 1010 snooze after 0 at 1010; 1010 submit 1; "
		    "1020 snooze after 1 at 1020; 1020 rest until 1000000; issued 2, ops 2, "
		    "bytes 8192, busy 20, first 1000, last 1020, apart 998980");
	set_up(NO_COPY, false, 4);
	plan.operation_delay_ns = 100;
	fake.rest_err = -ECANCELED;
	ASSERT_PASS("1000 submit 0; 1010 snooze after 0 at 1010; 1010 submit 1; "
		    "1020 snooze after 1 at 1020; 1020 rest until 1110; issued 2, ops 2, "
		    "bytes 8192, busy 20, first 1000, last 1020, apart 90");
}

/* ---- -retry, -flushwrite and the warm-up ---- */

static void set_up_retry(bool queues)
{
	set_up(NO_COPY, queues, 3);
	target.retry_flush = true;
	fake.fails = fake.flush_after = 1;
	fake.retries = 1;
}

TEST(test_retries_and_flushes)
{
	set_up_retry(false);
	ASSERT_PASS("1000 submit 0; 1010 report 0 at 1010; 1010 submit 1; 1020 submit 1; "
		    "1030 error of 1; 1030 report 1 at 1030; 1030 flush; 1110 submit 2; 1120 last; "
		    "1120 report 2 at 1120; issued 3, ops 2, bytes 8292, errors 1, failed 1, "
		    "failed bytes 100, busy 20, first 1000, last 1120, apart 20");
	set_up_retry(true);
	ASSERT_PASS(
		"1000 submit 0; 1010 submit 1; 1020 reap 0; 2020 report 0 at 2020; 2020 reap 1; "
		"3020 submit 1; 3030 reap 1; 4030 error of 1; 4030 report 1 at 4030; "
		"4030 flush; 4110 submit 2; 4120 reap 2; 5120 last; 5120 report 2 at 5120; "
		"issued 3, ops 2, bytes 8292, errors 1, failed 1, failed bytes 100, busy 2030, "
		"first 1000, last 5120");
}

static void set_up_warm(bool queues, uint64_t warm, uint64_t limit_ns)
{
	set_up(NO_COPY, queues, 100);
	target_plan.warmup_ops = warm;
	target_plan.time_limit_ns = limit_ns;
}

/* The time limit begins when a warm-up of so many operations is over. */
TEST(test_warm_limit)
{
	set_up_warm(false, 3, 25);
	target.followed = true;
	ASSERT_PASS("1000 submit 0; 1010 completed 4096; 1010 submit 1; 1020 completed 4096; "
		    "1020 submit 2; 1030 completed 4096; 1030 submit 3; 1040 completed 4096; "
		    "1040 submit 4; 1050 completed 4096; 1050 submit 5; 1060 completed 4096; "
		    "issued 6, ops 3, bytes 12288, busy 30, first 1030, last 1060");
	set_up_warm(true, 3, 2500);
	ASSERT_PASS(
		"1000 submit 0; 1010 submit 1; 1020 reap 0; 2020 submit 2; 2030 reap 1; "
		"3030 submit 3; 3040 reap 2; 4040 submit 4; 4050 reap 3; 5050 submit 5; "
		"5060 reap 4; 6060 reap 5; issued 6, ops 3, bytes 12288, busy 6050, first 3030, "
		"last 7060");
	set_up_warm(true, 1, 2500);
	target.gated = true;
	ask(GATE_OPEN, 0);
	ask(GATE_OPEN, 0);
	ask(GATE_AT, 43000);
	ASSERT_PASS(
		"1000 arrive 0; 1000 ask 0 at 1000 until 1000000; 1000 submit 0; 1010 arrive 1; "
		"1010 ask 1 at 1000 until 1000000; 1010 submit 1; 1020 reap 0; 2020 arrive 2; "
		"2020 ask 2 at 2020 until 3510; 2020 reap for 980; "
		"3000 ask 2 at 3000 until 3510; 3000 submit 2; 3010 reap 1; 4010 reap 2; "
		"issued 3, ops 2, bytes 8192, busy 5010, first 1010, last 5010");
	set_up_warm(false, 50, 2500);
	target.gated = true;
	fake.measured_ns = 1040;
	ask(GATE_AT, 1500);
	ask(GATE_CLOSED, 0);
	ASSERT_PASS("1000 arrive 0; 1000 ask 0 at 1000 until 1000000; 1000 hold 0 until 1500; "
		    "1050 ask 0 at 1050 until 3540; first 18446744073709551615, apart 50");
}

RUN_TESTS(NULL, NULL)
