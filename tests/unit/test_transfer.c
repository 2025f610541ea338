/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Blocks and passes of end-to-end targets: src/run/endtoend/transfer.c and
 * src/run/endtoend/endtoend.c, with a session and a clock that are made here. test_session.c has
 * the real session, and functional tests have copies.
 */
#include "said.h"
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <unistd.h>

#include "run/coord/gate.h"
#include "run/meter/meter.h"
#include "run/qthread.h"
#include "run/run_state.h"
#include "run/target.h"
#include "run/target/data.h"
#include "run/target/target_file_ops.h"
#include "xdd/base/text.h"
#include "xdd/io/target_file.h"
#include "xdd/report/endtoend.h"
#include "xdd/sys/machine.h"

#define REQ 4096u
#define FROM 1000u /* start of the extent */
#define DEPTH 3u
#define QTHREADS 2u
#define OPS 100u
#define NO_LIMIT UINT64_MAX

/* ---- what is called ---- */

/* ---- the clock and the session ---- */

static uint64_t time_ns;

static struct {
	int err;		/* of every call; 0: none */
	int ready;		/* session_wait() */
	uint64_t took_ns;	/* each wait */
	struct net_block block; /* session_receive() */
	int data_err;
	uint64_t transit_ns, retransmits;
	unsigned connections; /* that have facts */
	uint64_t throttled_ns;
	int file_err, settle_err, restart_err, flushed;
	struct wire_pass own, peer; /* session_finish() */
	const char *why;
} fake;

static uint64_t fake_now(void)
{
	return time_ns;
}

static struct digest fake_digest(const void *data, size_t size)
{
	(void)data;
	time_ns += 5;
	return (struct digest){ size, 1 };
}

static int fake_join(struct session *s, uint32_t connection, struct link **link)
{
	(void)s;
	say_line("join %u", connection);
	*link = (struct link *)&fake;
	return fake.err;
}

static void fake_leave(struct link *link)
{
	assert_ptr_equal(link, &fake);
	say_line("leave");
}

static int fake_send(struct link *link, uint32_t pass, const struct net_block *b, const void *data)
{
	assert_ptr_equal(link, &fake);
	if (b->failed)
		say_line("send op %" PRIu64 " of pass %u: failed", b->op, pass);
	else
		say_line("send op %" PRIu64 " of pass %u: %" PRIu64 " bytes at %" PRIu64 ", %s",
			 b->op, pass, b->length, b->offset, (const char *)data);
	time_ns += 7;
	return fake.err;
}

static int fake_last(struct link *link, uint32_t pass)
{
	assert_ptr_equal(link, &fake);
	say_line("last of pass %u", pass);
	return fake.err;
}

static int fake_wait(struct link *link, uint64_t timeout_ns)
{
	(void)link;
	say_line("wait %" PRIu64, timeout_ns);
	time_ns += fake.took_ns;
	return fake.ready;
}

static int fake_receive(struct link *link, uint32_t pass, struct net_block *b, uint64_t *first_ns)
{
	(void)link;
	say_line("receive of pass %u", pass);
	*b = fake.block;
	time_ns += 20;
	*first_ns = time_ns - 1;
	return fake.err;
}

static int fake_receive_data(struct link *link, const struct net_block *b, void *data,
			     uint64_t *check_ns)
{
	(void)link;
	strcpy(data, "data");
	*check_ns += 10;
	time_ns += b->length == 1 ? 4 : 30;
	return fake.data_err;
}

static void fake_stop_pass(struct session *s, uint32_t pass)
{
	(void)s;
	say_line("stop pass %u", pass);
}

static void fake_fail(struct session *s, enum xdd_status status, const char *text)
{
	(void)s;
	say_line("fail %d: %s", status, text);
}

static const char *fake_why(struct session *s)
{
	(void)s;
	return fake.why ? fake.why : "";
}

static int fake_begin(struct session *s, uint32_t pass)
{
	say_line("begin pass %u of %s", pass, (const char *)s);
	return fake.err ? fake.err : fake.ready;
}

static int fake_finish(struct session *s, uint32_t pass, const struct wire_pass *own,
		       struct wire_pass *peer)
{
	(void)s;
	say_line("finish pass %u", pass);
	fake.own = *own;
	*peer = fake.peer;
	return fake.err;
}

static int fake_close(struct session *s)
{
	say_line("close %s", (const char *)s);
	return fake.err;
}

static bool fake_info(struct session *s, uint32_t connection, struct connection_info *info)
{
	(void)s;
	*info = (struct connection_info){ .transit_ns = fake.transit_ns,
					  .retransmits = fake.retransmits };
	info->rtt_ns = connection + 1;
	return connection >= QTHREADS - fake.connections;
}

/* ---- the run ---- */

__attribute__((format(printf, 4, 5))) static int
fake_run_fail(struct target *t, enum stop_reason reason, int err, const char *fmt, ...)
{
	va_list args;

	(void)t;
	say("%s %d: ", reason == STOP_START ? "no start" : "error", err);
	va_start(args, fmt);
	vsay_line(fmt, args);
	va_end(args);
	return err;
}

__attribute__((format(printf, 2, 3))) static void fake_error(const struct target_plan *t,
							     const char *fmt, ...)
{
	va_list args;

	(void)t;
	say("error: ");
	va_start(args, fmt);
	vsay_line(fmt, args);
	va_end(args);
}

static uint64_t fake_throttled(void)
{
	return fake.throttled_ns;
}

static double fake_share(uint64_t throttled_ns, double elapsed_ns, double threads)
{
	return (double)throttled_ns / elapsed_ns / threads;
}

static struct cpu_time fake_within(const struct cpu_meter *m, uint64_t first_ns, uint64_t last_ns)
{
	(void)m;
	return (struct cpu_time){ .user_ns = first_ns, .sys_ns = last_ns };
}

static uint64_t fake_waited(const struct qthread *q, uint64_t first_ns, uint64_t last_ns,
			    struct cpu_time cpu)
{
	(void)q;
	return last_ns - first_ns + cpu.user_ns + cpu.sys_ns;
}

static int fake_look_at_file(struct target *t, const struct wire_pass *own, struct err *why)
{
	(void)t, (void)own;
	return fake.file_err ? err_set(why, fake.file_err, "the file") : 0;
}

static int fake_settle(struct restart *r, struct err *why)
{
	(void)r;
	return fake.settle_err ? err_set(why, fake.settle_err, "the flush") : 0;
}

static int fake_end(struct restart *r, bool complete, struct err *why)
{
	(void)r;
	say_line("restart ends%s", complete ? ", complete" : "");
	return fake.restart_err ? err_set(why, fake.restart_err, "the record") : 0;
}

static void fake_costs(struct restart *r, struct endtoend_monitor *cost)
{
	(void)r;
	cost->flushes = 3;
}

static void fake_written(struct restart *r, uint64_t op, uint64_t offset, uint64_t length,
			 struct digest d)
{
	(void)r, (void)d;
	say_line("written %" PRIu64 ": %" PRIu64 " bytes at %" PRIu64, op, length, offset);
}

static void fake_flush(struct target *t)
{
	(void)t;
	fake.flushed++;
}

#define clock_now_ns fake_now
#define digest_data fake_digest
#define session_join fake_join
#define session_leave fake_leave
#define session_send fake_send
#define session_last fake_last
#define session_wait fake_wait
#define session_receive fake_receive
#define session_receive_data fake_receive_data
#define session_stop_pass fake_stop_pass
#define session_fail fake_fail
#define session_why fake_why
#define session_begin fake_begin
#define session_finish fake_finish
#define session_close fake_close
#define session_info fake_info
#define run_fail fake_run_fail
#undef target_error
#define target_error fake_error
#define cgroup_throttled_ns fake_throttled
#define cgroup_throttled_share fake_share
#define cputime_within fake_within
#define cputime_waited fake_waited
#define endtoend_look_at_file fake_look_at_file
#define restart_settle fake_settle
#define restart_end fake_end
#define restart_costs fake_costs
#define restart_written fake_written
#define target_flush_pass fake_flush

#include "../../src/run/endtoend/endtoend.c"
#include "../../src/run/endtoend/transfer.c"

/* The plan has two targets; the third is after its end. */
static struct target_plan target_plans[3];
static struct plan plan;
static struct run run;
static struct target targets[3], *const target = targets;
static struct qthread qthreads[3][QTHREADS], *const q = &qthreads[0][0];
static struct endtoend endtoends[3], *const e = endtoends;
static struct io_request requests[DEPTH];
static char buffers[DEPTH][REQ];
static uint64_t awaited[3][QTHREADS];
static bool open_transfers;

static int set_up(void **state)
{
	memset(&fake, 0, sizeof(fake));
	memset(&run, 0, sizeof(run));
	memset(targets, 0, sizeof(targets));
	memset(qthreads, 0, sizeof(qthreads));
	memset(endtoends, 0, sizeof(endtoends));
	memset(requests, 0, sizeof(requests));
	memset(awaited, 0, sizeof(awaited));
	time_ns = 1000;
	fake.ready = 1;
	plan = (struct plan){ .n_targets = 2, .targets = target_plans, .passes = 3 };
	run.plan = &plan;
	run.targets = targets;
	stop_init(&run.stop);
	for (unsigned i = 0; i < 3; i++) {
		struct target *t = &targets[i];

		target_plans[i] = (struct target_plan){ .number = i,
							.path = (char *)"a target",
							.req_bytes = REQ,
							.qthreads = QTHREADS,
							.queue_depth = QTHREADS };
		target_plans[i].endtoend.role = E2E_DESTINATION;
		t->run = &run;
		t->plan = &target_plans[i];
		t->qthreads = qthreads[i];
		t->endtoend = &endtoends[i];
		t->pass = 2;
		t->file.fd = -1;
		t->state.extent_from = FROM;
		t->state.access.dir = DIR_WRITE;
		endtoends[i] = (struct endtoend){ .target = t,
						  .session = (struct session *)(i == 2 ? "three" :
										i      ? "two" :
											 "one"),
						  .plan = target_plans[i],
						  .ops = OPS,
						  .awaited = awaited[i] };
		endtoends[i].peer.final_bytes = WIRE_NO_SIZE;
		pthread_mutex_init(&endtoends[i].lock, NULL);
		extents_init(&endtoends[i].received, 4);
		for (unsigned k = 0; k < QTHREADS; k++) {
			qthreads[i][k].target = t;
			qthreads[i][k].number = k;
			qthreads[i][k].ring.depth = DEPTH;
			counters_reset(&qthreads[i][k].counters);
		}
	}
	for (unsigned i = 0; i < DEPTH; i++) {
		requests[i].slot = i;
		requests[i].buf = buffers[i];
		requests[i].size = REQ;
		snprintf(buffers[i], REQ, "block %u", i);
	}
	said[0] = '\0';
	open_transfers = false;
	return 0;
}

static int set_up_open(void **state)
{
	set_up(state);
	for (unsigned i = 0; i < QTHREADS; i++) {
		assert_int_equal(transfer_open(&qthreads[0][i]), 0);
		transfer_begin_pass(&qthreads[0][i]);
	}
	open_transfers = true;
	assert_said("join 0\njoin 1\n");
	return 0;
}

static int tear_down(void **state)
{
	for (unsigned i = 0; i < 3; i++) {
		extents_clear(&endtoends[i].received);
		free(endtoends[i].result);
	}
	for (unsigned i = 0; i < QTHREADS && open_transfers; i++)
		transfer_close(&qthreads[0][i]);
	for (unsigned i = 0; i < QTHREADS; i++)
		free(qthreads[0][i].transfer);
	stop_destroy(&run.stop);
	return 0;
}

#define RIG_TEST(name) TEST_SETUP_TEARDOWN(name, set_up_open, tear_down)

static struct tally tally_of(const struct qthread *of)
{
	struct tally t;

	tally_clear(&t);
	tally_add_counters(&t, &of->counters);
	return t;
}

#define BROKE "error -103: the session with the other side has failed\n"

/* ---- joining ---- */

TEST_SETUP_TEARDOWN(test_open, set_up, tear_down)
{
	target->endtoend = NULL;
	assert_int_equal(transfer_open(q), 0);
	assert_null(q->transfer);
	transfer_begin_pass(q);
	transfer_end_pass(q);
	transfer_close(q);
	assert_null(transfer_net(q, &requests[0]));
	assert_said("");
	target->endtoend = e;
	assert_int_equal(transfer_open(&q[1]), 0);
	assert_ptr_equal(q[1].transfer->e, e);
	assert_non_null(q[1].transfer->slots);
	transfer_close(&q[1]);
	assert_said("join 1\nleave\n");
	assert_null(q[1].transfer->slots);
	assert_null(q[1].transfer->queue);
	assert_null(q[1].transfer->link);
	/* A session that fails before the first pass prevents the start. */
	fake.err = -EPIPE;
	assert_int_equal(transfer_open(q), -EPIPE);
	assert_said("join 0\nno start -103: the session with the other side has failed\n");
	assert_int_equal(atomic_load(&run.failures.errors), 0);
	transfer_close(q);
}

RIG_TEST(test_begin)
{
	struct transfer *x = q->transfer;
	struct transfer_slot *slots = x->slots;
	struct io_request **queue = x->queue;
	struct link *link = x->link;

	memset(x, 1, sizeof(*x));
	x->e = e;
	x->slots = slots;
	x->queue = queue;
	x->link = link;
	x->broken = false;
	transfer_begin_pass(q);
	assert_true(!x->head && !x->n_queued && !x->first_ns && !x->over && !x->stop_asked);
	assert_true(!x->ops && !x->bytes && !x->failed && !x->first_read_ns && !x->storage_ns &&
		    !x->held_ns && !x->digest.high && !x->digest.low);
}

/* ---- the source ---- */

/* Blocks are sent in the order of their issue, each once it is read. */
RIG_TEST(test_queue)
{
	assert_null(transfer_next(q));
	for (unsigned round = 0; round < 4; round++) {
		struct io_request *a = &requests[round % 3], *b = &requests[(round + 1) % 3];

		a->op = 2 * round;
		b->op = 2 * round + 1;
		transfer_issue(q, a);
		transfer_issue(q, b);
		assert_null(transfer_next(q));
		b->error = round == 0 ? -EIO : 0;
		transfer_read(q, b, 50 + round);
		assert_null(transfer_next(q));
		a->error = 0;
		transfer_read(q, a, 60 + round);
		assert_ptr_equal(transfer_next(q), a);
		assert_int_equal(q->transfer->slots[a->slot].done_ns, 60 + round);
		assert_int_equal(transfer_send(q, 0), 0);
		assert_ptr_equal(transfer_next(q), b);
		assert_int_equal(transfer_send(q, 0), 0);
		assert_null(transfer_next(q));
		assert_int_equal(q->transfer->n_queued, 0);
	}
	/* The first that was read, not the one that failed. */
	assert_int_equal(q->transfer->first_read_ns, 60);
	assert_true(q->transfer->ops == 7 && q->transfer->failed == 1);
}

RIG_TEST(test_send)
{
	struct transfer *x = q->transfer;
	struct digest two = { 0, 0 };

	for (unsigned i = 0; i < DEPTH; i++) {
		requests[i].op = 10 + i;
		requests[i].offset = FROM + i * REQ;
		transfer_issue(q, &requests[i]);
	}
	requests[1].error = -EIO;
	requests[2].size = 100;
	for (unsigned i = 0; i < DEPTH; i++)
		assert_int_equal(transfer_send(q, 0), 0);
	assert_said("send op 10 of pass 2: 4096 bytes at 0, block 0\n"
		    "send op 11 of pass 2: failed\n"
		    "send op 12 of pass 2: 100 bytes at 8192, block 2\n");
	assert_true(x->ops == 2 && x->bytes == REQ + 100 && x->failed == 1);
	digest_add(&two, 0, REQ, (struct digest){ REQ, 1 });
	digest_add(&two, 8192, 100, (struct digest){ 100, 1 });
	assert_true(digest_equal(x->digest, two));
	/* Two digests of 5 ns, and three messages of 7. */
	assert_int_equal(tally_of(q).check_ns, 10);
	assert_int_equal(tally_of(q).net_ns, 21);
	assert_null(transfer_net(q, &requests[0]));
}

RIG_TEST(test_send_fails)
{
	struct transfer *x = q->transfer;

	atomic_store(&e->begun, true);
	for (unsigned i = 0; i < DEPTH; i++)
		transfer_issue(q, &requests[i]);
	/* Its turn does not come: nothing is sent. */
	assert_int_equal(transfer_send(q, -ECANCELED), -ECANCELED);
	assert_said("");
	fake.err = -EPIPE;
	assert_int_equal(transfer_send(q, 0), -EPIPE);
	assert_said("send op 0 of pass 2: 4096 bytes at 18446744073709550616, block 1\n" BROKE);
	assert_int_equal(atomic_load(&run.failures.errors), 1);
	fake.err = 0;
	assert_int_equal(transfer_send(q, 0), -ECONNABORTED);
	assert_said("");
	assert_true(x->broken && !x->ops && !x->failed && !x->n_queued);
	assert_int_equal(tally_of(q).net_ns, 0);
}

/* With time stamps, a block that was sent has its way on the network, until its slot is reused. */
RIG_TEST(test_stamps)
{
	const struct trace_net *net;
	struct trace_writer *writer = (struct trace_writer *)&fake;

	q->trace = writer;
	transfer_issue(q, &requests[0]);
	assert_int_equal(transfer_send(q, 0), 0);
	net = transfer_net(q, &requests[0]);
	assert_non_null(net);
	assert_true(net->start_ns == 1005 && net->end_ns == 1012 && net->bytes == REQ &&
		    net->calls == 1);
	assert_true(net->cpu_start != TRACE_NO_CPU && net->cpu_end != TRACE_NO_CPU);
	transfer_issue(q, &requests[0]);
	assert_null(transfer_net(q, &requests[0]));
	requests[0].error = -EIO;
	assert_int_equal(transfer_send(q, 0), 0);
	assert_null(transfer_net(q, &requests[0]));
	/* The check is no part of it. */
	fake.block = (struct net_block){ .op = 1, .length = 2 };
	assert_int_equal(transfer_receive(q, &requests[1], true, NO_LIMIT), TRANSFER_BLOCK);
	net = transfer_net(q, &requests[1]);
	assert_true(net && net->end_ns - net->start_ns == 20 && net->bytes == 2);
	q->trace = NULL;
}

/* ---- the destination ---- */

RIG_TEST(test_receive)
{
	struct transfer *x = q->transfer;
	struct io_request *req = &requests[1];

	fake.block = (struct net_block){ .op = 7, .offset = 8192, .length = 100 };
	req->error = -EIO;
	req->done = 5;
	assert_int_equal(transfer_receive(q, req, true, NO_LIMIT), TRANSFER_BLOCK);
	assert_said("receive of pass 2\n");
	assert_true(req->op == 7 && req->dir == DIR_WRITE && req->offset == FROM + 8192 &&
		    req->size == 100 && !req->error && !req->done);
	assert_string_equal(req->buf, "data");
	assert_int_equal(x->slots[1].block.op, 7);
	assert_int_equal(x->first_ns, 1019);
	assert_int_equal(atomic_load(&target->state.next_op), 1);
	assert_true(tally_of(q).check_ns == 10 && tally_of(q).net_ns == 20);
	assert_true(extents_contains(&e->received, 7, 8) && e->received.total == 1);
	/* A check that took longer than all of it. */
	fake.block = (struct net_block){ .op = 8, .length = 1 };
	assert_int_equal(transfer_receive(q, req, true, NO_LIMIT), TRANSFER_BLOCK);
	assert_true(tally_of(q).check_ns == 20 && tally_of(q).net_ns == 20);
	assert_int_equal(x->first_ns, 1019);
	/* An operation that the source could not read has no data. */
	fake.block = (struct net_block){ .op = 9, .length = REQ + 1, .failed = true };
	fake.data_err = -EBADMSG;
	assert_int_equal(transfer_receive(q, req, true, NO_LIMIT), TRANSFER_SKIP);
	assert_int_equal(x->failed, 0);
	/* The last message of the pass, and nothing after it. */
	said[0] = '\0';
	fake.block = (struct net_block){ .last = true };
	assert_int_equal(transfer_receive(q, req, true, NO_LIMIT), TRANSFER_OVER);
	assert_int_equal(atomic_load(&target->state.next_op), 3);
	assert_int_equal(transfer_receive(q, req, true, NO_LIMIT), TRANSFER_OVER);
	assert_said("receive of pass 2\n");
	assert_false(x->broken);
}

/* -maxerrors has ended the pass: what still comes fails, and the source is asked to end it. */
RIG_TEST(test_receive_over)
{
	fake.block = (struct net_block){ .op = 7, .length = 100 };
	atomic_store(&target->state.over, true);
	for (unsigned i = 1; i < 3; i++) {
		assert_int_equal(transfer_receive(q, &requests[0], true, NO_LIMIT), TRANSFER_SKIP);
		assert_int_equal(q->transfer->failed, i);
		fake.block.op++;
	}
	assert_said("stop pass 2\nreceive of pass 2\nreceive of pass 2\n");
}

RIG_TEST(test_receive_fails)
{
	struct transfer *x = q->transfer;

	atomic_store(&e->begun, true);
	fake.block = (struct net_block){ .op = 7, .length = 100 };
	fake.err = -EPIPE;
	assert_int_equal(transfer_receive(q, &requests[0], true, NO_LIMIT), TRANSFER_OVER);
	assert_said("receive of pass 2\n" BROKE);
	assert_true(x->broken && !x->over);
	assert_int_equal(transfer_receive(q, &requests[0], true, NO_LIMIT), TRANSFER_OVER);
	assert_said("");
	fake.err = 0;
	x->broken = false;
	fake.data_err = -EBADMSG;
	assert_int_equal(transfer_receive(q, &requests[0], true, NO_LIMIT), TRANSFER_OVER);
	assert_said("receive of pass 2\n" BROKE);
	assert_true(x->broken);
	x->broken = false;
	fake.ready = -EPIPE;
	assert_int_equal(transfer_receive(q, &requests[0], false, NO_LIMIT), TRANSFER_OVER);
	assert_said("wait 0\n" BROKE);
	assert_true(x->broken);
}

/* Which wait there is for a message, and what ends it. */
RIG_TEST(test_wait)
{
	static const struct {
		bool wait;
		int ready;
		uint64_t end_ns; /* the clock is at 1000 */
		enum transfer_answer answer;
		const char *says;
	} cases[] = {
		{ true, 0, NO_LIMIT, TRANSFER_BLOCK, "receive of pass 2\n" },
		{ false, 1, NO_LIMIT, TRANSFER_BLOCK, "wait 0\nreceive of pass 2\n" },
		{ false, 0, NO_LIMIT, TRANSFER_NOTHING, "wait 0\n" },
		{ true, 1, 1001, TRANSFER_BLOCK, "wait 1\nreceive of pass 2\n" },
		{ false, 0, 1001, TRANSFER_NOTHING, "wait 0\n" },
		{ false, 0, 1000, TRANSFER_NOTHING, "stop pass 2\nwait 0\n" },
		{ true, 0, 1000, TRANSFER_BLOCK, "stop pass 2\nreceive of pass 2\n" },
		/* The limit comes while it waits. */
		{ true, 0, 1100, TRANSFER_BLOCK, "wait 100\nstop pass 2\nreceive of pass 2\n" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		tear_down(state);
		set_up_open(state);
		fake.ready = cases[i].ready;
		fake.took_ns = 200;
		fake.block = (struct net_block){ .op = 7, .length = 100 };
		assert_int_equal(transfer_receive(q, &requests[0], cases[i].wait, cases[i].end_ns),
				 cases[i].answer);
		assert_said(cases[i].says);
	}
	/* It is asked once. */
	q->transfer->stop_asked = true;
	fake.block.op++;
	assert_int_equal(transfer_receive(q, &requests[0], true, 0), TRANSFER_BLOCK);
	assert_said("receive of pass 2\n");
}

/* A source may not send these. */
RIG_TEST(test_refused)
{
	static const struct {
		struct net_block block;
		const char *what;
	} cases[] = {
		{ { .op = OPS - 1, .length = REQ }, NULL },
		{ { .op = OPS, .length = REQ }, "which is not in the plan" },
		{ { .op = OPS, .failed = true }, "which is not in the plan" },
		{ { .op = 1, .length = REQ + 1 }, "which lies outside of the copied extent" },
		{ { .op = 1, .offset = INT64_MAX - FROM - REQ, .length = REQ }, NULL },
		{ { .op = 1, .offset = INT64_MAX - FROM - REQ + 1, .length = REQ },
		  "which lies outside of the copied extent" },
		{ { .op = 1, .offset = INT64_MAX - FROM }, NULL },
		{ { .op = 1, .offset = INT64_MAX - FROM + 1 },
		  "which lies outside of the copied extent" },
		{ { .op = 1, .offset = UINT64_MAX, .failed = true }, NULL },
		{ { .op = 50, .length = REQ }, "for the second time" },
		{ { .op = 8, .length = REQ }, "with too many missing before it" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const char *what = cases[i].what;
		char text[200] = "receive of pass 2\n";

		tear_down(state);
		set_up_open(state);
		atomic_store(&e->begun, true);
		extents_add(&e->received, 50, 51);
		for (unsigned n = 0; what && strstr(what, "many") && n < 4; n++)
			extents_add(&e->received, 2 * n, 2 * n + 1);
		fake.block = cases[i].block;
		assert_int_equal(transfer_receive(q, &requests[0], true, NO_LIMIT),
				 what		   ? TRANSFER_OVER :
				 fake.block.failed ? TRANSFER_SKIP :
						     TRANSFER_BLOCK);
		if (what)
			snprintf(text + strlen(text), 180,
				 "fail %d: the source sent operation %" PRIu64
				 " of pass 2, %s\n" BROKE,
				 XDD_IO_ERROR, fake.block.op, what);
		assert_said(text);
		assert_true(q->transfer->broken == (what != NULL));
	}
}

/* The part of a wait for a message that belongs to the pass. */
RIG_TEST(test_net_wait)
{
	static const struct {
		uint64_t own_ns;	    /* first_ns of the QThread */
		uint64_t first_ns, last_ns; /* of another QThread: issue, completion */
		bool last;
		uint64_t waited; /* from 1000 to 1019 */
	} cases[] = {
		{ 0, UINT64_MAX, 0, false, 0 }, { 0, 900, 950, false, 19 },
		{ 0, 1004, 0, false, 15 },	{ 5, UINT64_MAX, 0, false, 19 },
		{ 5, 900, 1010, true, 10 },	{ 5, 900, 2000, true, 19 },
		{ 5, 900, 990, true, 0 },	{ 0, 1004, 1010, true, 6 },
		{ 5, UINT64_MAX, 0, true, 0 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		tear_down(state);
		set_up_open(state);
		q->transfer->first_ns = cases[i].own_ns;
		counters_set(&q[1].counters.first_issue_ns, cases[i].first_ns);
		counters_set(&q[1].counters.last_done_ns, cases[i].last_ns);
		fake.block = (struct net_block){ .op = 7, .length = 1, .last = cases[i].last };
		transfer_receive(q, &requests[0], true, NO_LIMIT);
		assert_int_equal(tally_of(q).net_wait_ns, cases[i].waited);
	}
}

RIG_TEST(test_written)
{
	struct transfer *x = q->transfer;
	struct digest one = { 0, 0 };

	x->slots[1].block =
		(struct net_block){ .op = 7, .offset = 8192, .length = 100, .digest = { 3, 4 } };
	transfer_written(q, &requests[1]);
	assert_said("written 7: 100 bytes at 8192\n");
	digest_add(&one, 8192, 100, (struct digest){ 3, 4 });
	assert_true(x->ops == 1 && x->bytes == 100 && !x->failed && digest_equal(x->digest, one));
	requests[1].error = -EIO;
	transfer_written(q, &requests[1]);
	assert_said("");
	assert_true(x->ops == 1 && x->bytes == 100 && x->failed == 1);
}

/* A turn that cannot come: all QThreads wait for later ones, or are done. */
RIG_TEST(test_stuck)
{
	static const struct {
		uint64_t received, other, n;
		bool stuck;
	} cases[] = {
		/* Operation 3 is missing. */
		{ 3, 4, 5, true },
		{ 3, ENDTOEND_AWAITS_NO_MORE, 5, true },
		{ 3, ENDTOEND_AWAITS_NO_MORE, 3, false },
		{ 3, 3, 5, false },
		{ 3, ENDTOEND_AWAITS_NOTHING, 5, false },
		{ 3, 4, ENDTOEND_AWAITS_NOTHING, false },
		{ 3, ENDTOEND_AWAITS_NO_MORE, ENDTOEND_AWAITS_NO_MORE, false },
		{ 3, 4, ENDTOEND_AWAITS_NO_MORE, true },
		{ 0, 1, 2, true },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char text[200] = "";

		tear_down(state);
		set_up_open(state);
		atomic_store(&e->begun, true);
		if (cases[i].received)
			extents_add(&e->received, 0, cases[i].received);
		extents_add(&e->received, 4, 10);
		e->awaited[1] = cases[i].other;
		transfer_await_turn(q, cases[i].n);
		assert_int_equal(e->awaited[0], cases[i].n);
		if (cases[i].stuck)
			snprintf(text, sizeof(text),
				 "fail %d: the source did not send operation %" PRIu64
				 " of pass 2, which must be written before others\n" BROKE,
				 XDD_IO_ERROR, cases[i].received);
		assert_said(text);
		transfer_has_turn(q);
		assert_int_equal(e->awaited[0], ENDTOEND_AWAITS_NOTHING);
		assert_said("");
	}
}

RIG_TEST(test_end)
{
	struct transfer *x = q->transfer;

	transfer_end_pass(q);
	assert_int_equal(e->awaited[0], ENDTOEND_AWAITS_NO_MORE);
	assert_said("");
	e->sends = true;
	transfer_end_pass(q);
	assert_said("last of pass 2\n");
	assert_false(x->broken);
	fake.err = -EPIPE;
	atomic_store(&e->begun, true);
	transfer_end_pass(q);
	assert_said("last of pass 2\n" BROKE);
	assert_true(x->broken);
	transfer_end_pass(q);
	x->broken = false;
	stop_request(&run.stop, STOP_SIGNAL, 2);
	transfer_end_pass(q);
	assert_said("");
}

/* ---- passes ---- */

RIG_TEST(test_begin_passes)
{
	endtoends[1].sends = true;
	extents_add(&e->received, 3, 4);
	e->awaited[1] = 9;
	fake.throttled_ns = 77;
	fake.transit_ns = 5;
	fake.connections = 1;
	/* Sources first. */
	assert_true(endtoend_begin(&run, 3));
	assert_said("begin pass 3 of two\nbegin pass 3 of one\n");
	assert_true(e->received.total == 0 && e->awaited[1] == 0);
	assert_true(e->begun && endtoends[1].begun);
	assert_int_equal(e->throttled_ns, 77);
	assert_int_equal(endtoends[1].transit_ns, 5);
	assert_int_equal(e->transit_ns, 0);
	/* The source has ended the run. */
	fake.ready = 0;
	assert_false(endtoend_begin(&run, 3));
	assert_said("begin pass 3 of two\n");
	endtoends[1].sends = false;
	assert_false(endtoend_begin(&run, 3));
	assert_said("begin pass 3 of one\n");
	fake.err = -EPIPE;
	fake.why = "a reason";
	assert_false(endtoend_begin_target(target, 4));
	assert_said("begin pass 4 of one\nerror -103: a reason\n");
	target->endtoend = NULL;
	assert_true(endtoend_begin_target(target, 4));
	targets[1].endtoend = NULL;
	assert_true(endtoend_begin(&run, 4));
	assert_said("");
	target->endtoend = e;
}

/* Two QThreads with different numbers in each of their counters. */
static void fill(void)
{
	for (unsigned i = 0; i < QTHREADS; i++) {
		struct transfer *x = qthreads[0][i].transfer;
		struct counters *c = &qthreads[0][i].counters;

		x->ops = 1 + i;
		x->bytes = 10 + i;
		x->failed = 0;
		x->storage_ns = 20 + i;
		x->held_ns = 30 + i;
		x->digest = (struct digest){ 0 };
		digest_add(&x->digest, i, 1, (struct digest){ 1, i });
		x->first_read_ns = i ? 5100 : 5200;
		counters_set(&c->busy_ns[DIR_WRITE], 40 + i);
		counters_set(&c->net_ns, 50 + i);
		counters_set(&c->net_wait_ns, 160 + i);
		counters_set(&c->check_ns, 70 + i);
		counters_set(&c->first_issue_ns, 5000 + i);
		counters_set(&c->last_done_ns, 5900 + i);
	}
	fake.connections = 1;
	fake.retransmits = 4;
	fake.transit_ns = 100;
	fake.throttled_ns = 300;
	e->throttled_ns = 60;
	e->transit_ns = 60;
	atomic_store(&target->state.sync_ns, 7);
}

RIG_TEST(test_summary)
{
	static const struct engine_info queues = { .caps = ENGINE_QUEUES };

	for (unsigned i = 0; i < 16; i++) {
		const bool sends = i & 1, paced = i & 2, queued = i & 4, serial = i & 8;
		const struct wire_pass *own = &fake.own;
		struct digest all = { 0, 0 };

		tear_down(state);
		set_up_open(state);
		fill();
		e->sends = sends;
		target_plans[0].throttle.interval_ns = paced;
		target_plans[0].engine = queued ? &queues : NULL;
		e->own.flags = serial ? WIRE_SERIAL : 0;
		endtoend_end_pass(target);
		assert_true(own->ops == 3 && own->bytes == 21 && own->failed == 0);
		digest_add(&all, 0, 1, (struct digest){ 1, 0 });
		digest_add(&all, 1, 1, (struct digest){ 1, 1 });
		assert_true(digest_equal(own->digest, all));
		assert_int_equal(own->elapsed_ns, 901 + 7);
		assert_int_equal(own->storage_ns, (queued ? 41 : 81) + (serial ? 7 : 14));
		assert_int_equal(own->network_ns, 101);
		assert_int_equal(own->pace_ns, paced ? 61 : 0);
		assert_int_equal(own->waiting_ns, 321 - (paced ? 61 : 0));
		assert_int_equal(own->checking_ns, 141);
		assert_int_equal(own->first_read_ns, 100);
		assert_int_equal(own->last_write_ns, sends ? 0 : 901);
		assert_int_equal(own->retransmits, 4);
		assert_int_equal(own->transit_ns, sends ? 40 : 0);
		assert_int_equal(own->cpu_ns, 2 * (5000 + 5901));
		assert_int_equal(own->cpu_wait_ns, 2 * (901 + 5000 + 5901));
		assert_true(own->quota_ns >= 239 && own->quota_ns <= 240);
		assert_int_equal(atomic_load(&target->state.confirmed_ns), sends ? time_ns : 0);
	}
	/* Nothing was done; counts of another group or connection may be less. */
	tear_down(state);
	set_up_open(state);
	e->throttled_ns = 1;
	e->transit_ns = 1;
	e->sends = true;
	atomic_store(&target->state.sync_ns, 7);
	endtoend_end_pass(target);
	assert_true(!fake.own.elapsed_ns && !fake.own.first_read_ns && !fake.own.transit_ns);
	assert_int_equal(fake.own.storage_ns, 14);
}

static void assert_side(const struct endtoend_side *s, uint64_t n, bool serial)
{
	assert_true(s->known && s->lanes == serial);
	assert_true(s->ops == n && s->bytes == n + 1 && s->failed == n + 2);
	assert_true(s->elapsed_ns == n + 3 && s->storage_ns == n + 4 && s->network_ns == n + 5);
	assert_true(s->waiting_ns == n + 6 && s->checking_ns == n + 7 && s->pace_ns == n + 8);
	assert_true(s->cpu_ns == n + 9 && s->cpu_wait_ns == n + 10 && s->quota_ns == n + 11);
	assert_true(s->transit_ns == n + 12 && s->retransmits == n + 13);
	assert_string_equal(s->digest, "00000000000000110000000000000022");
}

static struct wire_pass numbers(uint64_t n)
{
	return (struct wire_pass){ .ops = n,
				   .bytes = n + 1,
				   .failed = n + 2,
				   .digest = { 0x22, 0x11 },
				   .elapsed_ns = n + 3,
				   .storage_ns = n + 4,
				   .network_ns = n + 5,
				   .waiting_ns = n + 6,
				   .checking_ns = n + 7,
				   .first_read_ns = 5 * n,
				   .last_write_ns = 7 * n,
				   .pace_ns = n + 8,
				   .cpu_ns = n + 9,
				   .cpu_wait_ns = n + 10,
				   .quota_ns = n + 11,
				   .transit_ns = n + 12,
				   .retransmits = n + 13 };
}

/* The result has both sides, and belongs to the result of the pass. */
RIG_TEST(test_result)
{
	for (unsigned i = 0; i < 4; i++) {
		const bool sends = i & 1, ended = i & 2;
		const struct wire_pass own = numbers(100), peer = numbers(200);
		struct pass_result r = { 0 };
		struct endtoend_result *of;

		tear_down(state);
		set_up_open(state);
		e->sends = sends;
		target_plans[0].endtoend.role = sends ? E2E_SOURCE : E2E_DESTINATION;
		e->compared_bytes = 12;
		e->own.flags = WIRE_SERIAL;
		strcpy(e->peer.host, "host");
		strcpy(e->peer.name, "name");
		memset(e->own.run, 0xab, sizeof(e->own.run));
		memset(e->peer.run, 0xcd, sizeof(e->peer.run));
		fake.connections = 1;
		keep_result(target, &own, &peer);
		keep_result(target, &own, ended ? NULL : &peer);
		endtoend_add_result(target, &r);
		assert_null(e->result);
		of = r.endtoend;
		assert_true(of->target == 0 && of->pass == 2 && of->n_qthreads == 2);
		assert_true(of->role == target_plans[0].endtoend.role && of->compared_bytes == 12);
		assert_true(of->n_info == 1 && of->info[0].rtt_ns == 2);
		assert_string_equal(of->peer_host, "host");
		assert_string_equal(of->peer_name, "name");
		assert_int_equal(of->session[0], sends ? 'a' : 'c');
		assert_side(sends ? &of->source : &of->destination, 100, true);
		if (ended)
			assert_false((sends ? &of->destination : &of->source)->known);
		else
			assert_side(sends ? &of->destination : &of->source, 200, false);
		assert_false(of->complete);
		assert_int_equal(r.figures.lag_ns, !sends ? 106 + 108 : ended ? 0 : 206 + 208);
		assert_int_equal(r.figures.known & FIGURES_LAG,
				 of->destination.known ? FIGURES_LAG : 0);
		assert_int_equal(r.figures.first_read_ns, sends ? 500 : ended ? 0 : 1000);
		assert_int_equal(r.figures.last_write_ns, !sends ? 700 : ended ? 0 : 1400);
		free(of);
		/* It is delivered once. */
		r.endtoend = NULL;
		endtoend_add_result(target, &r);
		assert_null(r.endtoend);
	}
	for (unsigned i = 0; i < 4; i++) {
		struct wire_pass own = numbers(1), peer = numbers(1);

		own.failed = i & 1;
		peer.failed = i & 2;
		keep_result(target, &own, &peer);
		assert_true(e->result->complete == (i == 0));
	}
	target->endtoend = NULL;
	endtoend_add_result(target, &(struct pass_result){ 0 });
	endtoend_end_pass(target);
	target->endtoend = e;
}

/* Bytes that a destination had before; the last operation of the copy is short. */
RIG_TEST(test_resumed)
{
	static const struct {
		bool resumes;
		uint64_t ops; /* that are copied, of 10 */
		struct wire_range last;
		uint64_t bytes;
	} cases[] = {
		{ false, 4, { 6, 4 }, 0 },
		{ true, 10, { 0, 10 }, 0 },
		{ true, 11, { 0, 10 }, 0 },
		{ true, 4, { 6, 4 }, 6 * REQ },
		{ true, 4, { 5, 4 }, 6 * REQ - (REQ - 100) },
		{ true, 0, { 0, 0 }, 9 * REQ + 100 },
	};

	for (size_t i = 0; i < 2 * sizeof(cases) / sizeof(cases[0]); i++) {
		struct wire_range ranges[2] = { { 0, 1 }, cases[i / 2].last };
		struct wire_plan *p = i % 2 ? &e->own : &e->peer;

		e->own = e->peer = (struct wire_plan){ 0 };
		e->sends = i % 2;
		*p = (struct wire_plan){ .ops = 10, .bytes = 9 * REQ + 100, .req_bytes = REQ };
		e->resumes = cases[i / 2].resumes;
		e->ops = cases[i / 2].ops;
		e->ranges = ranges;
		e->n_ranges = cases[i / 2].ops ? 2 : 0;
		assert_int_equal(resumed_bytes(e), cases[i / 2].bytes);
	}
	e->ranges = NULL;
	e->n_ranges = 0;
}

#define INCOMPLETE "error: pass 2: the copy is incomplete: "

/* A pass ends in many ways, and some of them are complete. */
RIG_TEST(test_ends)
{
	enum {
		OWN = 1,
		PEER = 2,
		FEW = 4,
		CANCELED = 8,
		FILE_ = 16,
		SETTLE = 32,
		FINISH = 64
	};
	static const struct {
		unsigned what, errors;
		const char *says;
	} cases[] = {
		{ 0, 0, "finish pass 2\nrestart ends, complete\n" },
		{ OWN, 0, "finish pass 2\nrestart ends\n" },
		{ FEW, 0, "finish pass 2\nrestart ends\n" },
		{ PEER, 1,
		  "finish pass 2\n" INCOMPLETE
		  "1 operations failed on the source, the first: a reason\nrestart ends\n" },
		{ CANCELED, 0, "restart ends\n" },
		{ FILE_, 1, "fail 6: the file\n" BROKE "restart ends\n" },
		{ SETTLE, 1, "fail 6: the flush\n" BROKE "restart ends\n" },
		{ FINISH, 1, "finish pass 2\n" BROKE "restart ends\n" },
	};

	assert_int_equal(XDD_IO_ERROR, 6);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const unsigned what = cases[i].what;

		tear_down(state);
		set_up_open(state);
		atomic_store(&e->begun, true);
		e->ops = what & FEW ? 4 : 3;
		q->transfer->ops = 3;
		q->transfer->failed = what & OWN;
		fake.peer.failed = what & PEER ? 1 : 0;
		strcpy(fake.peer.error, "a reason");
		if (what & CANCELED)
			stop_request(&run.stop, STOP_SIGNAL, 2);
		fake.file_err = what & FILE_ ? -ESTALE : 0;
		fake.settle_err = what & SETTLE ? -EIO : 0;
		fake.err = what & FINISH ? -EPIPE : 0;
		endtoend_end_pass(target);
		assert_said(cases[i].says);
		assert_int_equal(atomic_load(&run.failures.errors), cases[i].errors);
		assert_int_equal(e->result->monitor.flushes, 3);
		assert_true(e->result->source.known == (what < CANCELED));
	}
	fake.err = 0;
	fake.peer.failed = 2;
	fake.peer.error[0] = '\0';
	fake.restart_err = -EIO;
	e->sends = true;
	endtoend_end_pass(target);
	assert_said("finish pass 2\n" INCOMPLETE "2 operations failed on the destination\n"
		    "restart ends\nerror: the record\n");
	assert_int_equal(atomic_load(&run.failures.errors), 3);
	fake.restart_err = 0;
	targets[1].endtoend = NULL;
	endtoend_release(&run);
	assert_said("restart ends\n");
	targets[1].endtoend = &endtoends[1];
}

/* The file of a destination gets the size of the source's, if the copy is complete. */
RIG_TEST(test_final_size)
{
	static const struct {
		uint64_t start, final, size;
		bool sends, incomplete, sync;
		off_t left;
		int flushed;
	} cases[] = {
		{ 0, 100, 300, false, false, false, 100, 0 },
		{ 50, 100, 300, false, false, true, 150, 1 },
		{ 0, 300, 300, false, false, true, 300, 0 },
		{ 0, 400, 300, false, false, true, 300, 0 },
		{ 50, WIRE_NO_SIZE, 300, false, false, true, 300, 0 },
		{ 0, 100, 300, true, false, true, 300, 0 },
		{ 0, 100, 300, false, true, true, 300, 0 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const int fd = memfd_create("target", MFD_CLOEXEC);
		struct stat st;

		tear_down(state);
		set_up_open(state);
		assert_int_equal(ftruncate(fd, (off_t)cases[i].size), 0);
		target->file.fd = fd;
		e->plan.start_bytes = cases[i].start;
		e->peer.final_bytes = cases[i].final;
		e->sends = cases[i].sends;
		e->ops = cases[i].incomplete;
		target_plans[0].sync_write = cases[i].sync;
		endtoend_end_pass(target);
		assert_int_equal(fstat(fd, &st), 0);
		assert_int_equal(st.st_size, cases[i].left);
		assert_int_equal(fake.flushed, cases[i].flushed);
		close(fd);
	}
	said[0] = '\0';
	target->file.fd = memfd_create("target", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	assert_int_equal(ftruncate(target->file.fd, 300), 0);
	assert_int_equal(fcntl(target->file.fd, F_ADD_SEALS, F_SEAL_SHRINK), 0);
	e->sends = false;
	e->ops = 0;
	e->peer.final_bytes = 100;
	endtoend_end_pass(target);
	assert_said("finish pass 2\nerror: cannot be truncated to the 100 bytes of the source: "
		    "Operation not permitted\nrestart ends, complete\n");
	assert_int_equal(atomic_load(&run.failures.errors), 1);
	close(target->file.fd);
	target->file.fd = -1;
}

/* ---- the run ---- */

RIG_TEST(test_conclude)
{
	endtoend_conclude(&run);
	assert_said("close one\nclose two\n");
	atomic_store(&endtoends[1].begun, true);
	targets[0].endtoend = NULL;
	fake.err = -EPIPE;
	endtoend_conclude(&run);
	assert_said("close two\n" BROKE);
	stop_request(&run.stop, STOP_SIGNAL, 2);
	endtoend_conclude(&run);
	endtoend_broke(&endtoends[1]);
	assert_said("");
	assert_int_equal(atomic_load(&run.failures.errors), 1);
	targets[0].endtoend = e;
}

RIG_TEST(test_threads)
{
	target_plans[0].endtoend.role = E2E_NONE;
	target_plans[1].endtoend.role = E2E_NONE;
	assert_int_equal(endtoend_threads(&plan), 0);
	target_plans[1].endtoend.role = E2E_SOURCE;
	assert_int_equal(endtoend_threads(&plan), 1);
	target_plans[1].restart.enabled = true;
	assert_int_equal(endtoend_threads(&plan), 1);
	target_plans[1].endtoend.role = E2E_DESTINATION;
	assert_int_equal(endtoend_threads(&plan), 3);
	target_plans[0] = target_plans[1];
	assert_int_equal(endtoend_threads(&plan), 5);
	assert_false(endtoend_any(&run));
	run.endtoend.sources.n = 1;
	assert_true(endtoend_any(&run));
	run.endtoend.sources.n = 0;
	run.endtoend.destinations.n = 1;
	assert_true(endtoend_any(&run));
}

/* The destination ends the pass that runs, and no other. */
RIG_TEST(test_stop_pass)
{
	assert_int_equal(gate_init(&run), 0);
	stop_pass(e, 1);
	assert_false(atomic_load(&target->state.over));
	stop_pass(e, 2);
	assert_true(atomic_load(&target->state.over));
	gate_destroy(&run);
}

RUN_TESTS(NULL, NULL)
