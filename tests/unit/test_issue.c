/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The issue loops: src/run/issue/issue.c and issue_fast.c, with an engine made here that records
 * what it gets. One thread, except where a test says so.
 */
#include "unit.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "access_plan.h"
#include "run/issue/issue.h"
#include "xdd/base/log.h"

#define QTHREADS 2
#define DEPTH 4
#define MOST_OPS 1000
#define SECOND_NS 1000000000ull
#define NONE UINT64_MAX

static struct plan plan;
static struct target_plan target_plan;
static struct run run;
static struct target target;
static struct qthread qthreads[QTHREADS];
static struct io_request requests[QTHREADS][DEPTH], *done[QTHREADS][DEPTH];
static struct io_request *free_slots[QTHREADS][DEPTH];
static struct iovec buffers[DEPTH];

/* ---- the engine ---- */

/* A context, one for each QThread. */
static struct device {
	struct io_request *queue[DEPTH];
	unsigned n;
} devices[QTHREADS];

static struct {
	/* set by a test */
	bool queues;
	uint64_t fails;	      /* the operation that fails; NONE: none does */
	int error;	      /* with this error */
	unsigned fail_times;  /* so many times, and then no more */
	uint64_t breaks;      /* the operation whose submission breaks the engine */
	unsigned breaks_reap; /* the reap, from 1, that does; 0: none */
	unsigned late_reap;   /* the one that ends without a request; 0: none */
	void (*submitted)(const struct io_request *req);
	void (*reaped)(void);

	/* recorded */
	uint64_t ops[MOST_OPS]; /* in the order of their submission */
	unsigned n;
	unsigned failed;
	unsigned flushes;
	unsigned reaps;
	unsigned most; /* requests outstanding at a time, of one QThread */
} engine;

static int submit(void *ctx, struct io_request *req)
{
	struct device *d = ctx;

	assert_true(engine.n < MOST_OPS);
	engine.ops[engine.n++] = req->op;
	assert_int_equal(req->done, 0);
	assert_int_equal(req->error, 0);
	assert_int_equal(req->offset, START + req->op * REQ);
	assert_int_equal(req->size, REQ);
	if (engine.submitted)
		engine.submitted(req);
	if (req->op == engine.breaks)
		return -EIO;
	req->error = 0;
	if (req->op == engine.fails && engine.failed < engine.fail_times) {
		engine.failed++;
		req->error = -engine.error;
	}
	req->done = req->error ? 0 : req->size;
	if (engine.queues) {
		assert_true(d->n < DEPTH);
		d->queue[d->n++] = req;
	}
	if (d->n > engine.most)
		engine.most = d->n;
	return 0;
}

/* The youngest first, half of them at a time. */
static int reap(void *ctx, struct io_request **out, unsigned min, unsigned max, uint64_t timeout_ns)
{
	struct device *d = ctx;
	unsigned n = 0, wanted = (d->n + 1) / 2;

	engine.reaps++;
	assert_true(min == 1 && max == DEPTH);
	if (engine.reaps == engine.breaks_reap)
		return -EIO;
	if (engine.reaps == engine.late_reap)
		return 0;
	if (timeout_ns == UINT64_MAX)
		assert_true(d->n > 0);
	if (engine.reaped)
		engine.reaped();
	while (n < wanted)
		out[n++] = d->queue[--d->n];
	return (int)n;
}

/* A flush is of operations that are complete. */
static int flush(int fd)
{
	(void)fd;
	for (unsigned i = 0; i < QTHREADS; i++)
		assert_int_equal(devices[i].n, 0);
	engine.flushes++;
	return 0;
}

static struct engine recorder = {
	.info = { .name = "recorder" }, .submit = submit, .reap = reap, .flush = flush
};

/* ---- messages ---- */

static int log_fd;
static off_t seen;

/* Messages go to a file in memory. */
static int open_log(void)
{
	char path[32];

	log_fd = memfd_create("log", MFD_CLOEXEC);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", log_fd);
	return log_fd < 0 ? -1 : log_open(path);
}

/* The messages since the last call. */
static const char *messages(void)
{
	static char text[4096];
	ssize_t n = pread(log_fd, text, sizeof(text) - 1, seen);

	assert_true(n >= 0);
	text[n] = '\0';
	seen += n;
	return text;
}

/* ---- the run ---- */

static void set_up_run(bool queues, enum ordering ordering, bool early, uint64_t ops)
{
	memset(&run, 0, sizeof(run));
	memset(&target, 0, sizeof(target));
	memset(qthreads, 0, sizeof(qthreads));
	memset(requests, 0, sizeof(requests));
	memset(devices, 0, sizeof(devices));
	memset(&engine, 0, sizeof(engine));
	engine.queues = queues;
	engine.fails = engine.breaks = NONE;
	engine.error = EIO;
	engine.fail_times = 1;
	recorder.info.caps = queues ? ENGINE_QUEUES : 0;
	target_plan = plan_of(SEEK_SEQUENTIAL, ops);
	target_plan.path = "a target";
	target_plan.engine = &recorder.info;
	target_plan.kind = TARGET_FILE;
	target_plan.ordering = ordering;
	target_plan.qthreads = QTHREADS;
	target_plan.queue_depth = QTHREADS * DEPTH;
	plan = (struct plan){ .n_targets = 1, .targets = &target_plan };
	run.plan = &plan;
	run.targets = &target;
	stop_init(&run.stop);
	assert_int_equal(results_init(&run.results, 1), 0);
	target.run = &run;
	target.plan = &target_plan;
	target.engine = &recorder;
	target.qthreads = qthreads;
	access_init(&target.state.access, &target_plan, 1);
	assert_int_equal(order_init(&target.order, &target_plan, early, true, &run.stop), 0);
	order_begin_pass(&target.order);
	assert_int_equal(gate_init(&run), 0);
	for (unsigned i = 0; i < QTHREADS; i++) {
		struct qthread *q = &qthreads[i];

		q->target = &target;
		q->number = i;
		q->ctx = &devices[i];
		q->ring = (struct request_ring){ .depth = DEPTH,
						 .requests = requests[i],
						 .done = done[i],
						 .buffers = buffers,
						 .free = free_slots[i],
						 .n_free = DEPTH };
		for (unsigned k = 0; k < DEPTH; k++) {
			requests[i][k].slot = k;
			free_slots[i][k] = &requests[i][k];
		}
		counters_reset(&q->counters);
	}
}

static int tear_down(void **state)
{
	gate_destroy(&run);
	order_destroy(&target.order);
	results_destroy(&run.results);
	stop_destroy(&run.stop);
	return 0;
}

/* QThread `i` does what is left of the pass, which ends in a minute. Returns its nanoseconds. */
static uint64_t pass(unsigned i)
{
	uint64_t now = clock_now_ns();

	issue_pass(&qthreads[i], now, now + 60 * SECOND_NS);
	assert_true(qthreads[i].broken || qthreads[i].ring.n_free == DEPTH);
	return clock_now_ns() - now;
}

static struct tally tally(void)
{
	struct tally t;

	tally_clear(&t);
	for (unsigned i = 0; i < QTHREADS; i++)
		tally_add_counters(&t, &qthreads[i].counters);
	return t;
}

/* Operations `from` to `to` - 1 were submitted, in this order, and no others. */
static void submitted(uint64_t from, uint64_t to)
{
	assert_int_equal(engine.n, to - from);
	for (unsigned i = 0; i < engine.n; i++)
		assert_int_equal(engine.ops[i], from + i);
}

/* Of these operations, `failed` failed, and the others are complete. */
static void counted(uint64_t issued, uint64_t failed)
{
	struct tally t = tally();

	assert_int_equal(t.issued, issued);
	assert_int_equal(tally_ops(&t), issued - failed);
	assert_int_equal(tally_bytes(&t), (issued - failed) * REQ);
	assert_int_equal(t.errors, failed);
	assert_int_equal(t.outstanding, 0);
	assert_int_equal(t.order_breaks, 0);
	assert_true(!issued || t.first_issue_ns <= t.last_done_ns);
}

/* The turn of operation `n` is free: no QThread has kept one. */
static bool turn_is_free(uint64_t n)
{
	if (!order_try(&target.order, n))
		return false;
	if (target.order.by == ORDER_BY_LOCK)
		order_leave(&target.order, n);
	return true;
}

struct mode {
	bool queues;
	enum ordering ordering;
	bool early;
};

static const struct mode modes[] = {
	{ false, ORDERING_NONE, false },   { true, ORDERING_NONE, false },
	{ false, ORDERING_LOOSE, false },  { true, ORDERING_LOOSE, false },
	{ false, ORDERING_LOOSE, true },   { true, ORDERING_LOOSE, true },
	{ false, ORDERING_STRICT, false }, { true, ORDERING_STRICT, false },
	{ false, ORDERING_STRICT, true },  { true, ORDERING_STRICT, true },
	{ false, ORDERING_SERIAL, false }, { true, ORDERING_SERIAL, false },
	{ false, ORDERING_SERIAL, true },  { true, ORDERING_SERIAL, true },
};

#define N_MODES (sizeof(modes) / sizeof(modes[0]))

static void set_up_mode(unsigned i, uint64_t ops)
{
	set_up_run(modes[i].queues, modes[i].ordering, modes[i].early, ops);
}

/* ---- whole passes ---- */

TEST(test_all)
{
	for (unsigned i = 0; i < N_MODES; i++) {
		set_up_mode(i, 200);
		engine.fails = 77;
		pass(0);
		submitted(0, 200);
		counted(200, 1);
		if (target.order.by != ORDER_BY_NOTHING)
			assert_true(turn_is_free(200));
		assert_int_equal(engine.most, !modes[i].queues			   ? 0 :
					      modes[i].ordering == ORDERING_SERIAL ? 1 :
										     DEPTH);
		/* Nothing is left for the other one. */
		pass(1);
		counted(200, 1);
		assert_int_equal(atomic_load(&run.failures.errors), 1);
		assert_false(stop_requested(&run.stop));
		tear_down(state);
	}
}

/* When an operation lets the next one have the turn. */
static bool free_in_submit, free_in_reap;

static void look_in_submit(const struct io_request *req)
{
	free_in_submit = turn_is_free(req->op + 1);
}

static void look_in_reap(void)
{
	free_in_reap = turn_is_free(engine.ops[engine.n - 1] + 1);
}

TEST(test_turns)
{
	for (unsigned i = 0; i < N_MODES; i++) {
		if (modes[i].ordering == ORDERING_NONE)
			continue;
		set_up_mode(i, 1);
		free_in_submit = free_in_reap = false;
		engine.submitted = look_in_submit;
		engine.reaped = look_in_reap;
		pass(0);
		submitted(0, 1);
		assert_int_equal(free_in_submit, modes[i].ordering == ORDERING_LOOSE);
		if (modes[i].queues)
			assert_int_equal(free_in_reap, modes[i].ordering != ORDERING_SERIAL);
		tear_down(state);
	}
}

/* -operationdelay: slots rest, and the operations are the same. */
TEST(test_rest)
{
	for (unsigned i = 0; i < N_MODES; i++) {
		set_up_mode(i, 50);
		plan.operation_delay_ns = 1000;
		pass(0);
		submitted(0, 50);
		counted(50, 0);
		tear_down(state);
	}
}

/* ---- the time in the engine ---- */

#define SPIN_NS 100000

static void spin(void)
{
	const uint64_t end = clock_now_ns() + SPIN_NS;

	while (clock_now_ns() < end)
		;
}

static void spin_in_submit(const struct io_request *req)
{
	(void)req;
	spin();
}

/* Overhead is without the time that an engine takes to submit and to reap, if it queues. */
TEST(test_apart)
{
	for (unsigned i = 0; i < N_MODES; i++) {
		for (int part = 0; part < 3; part++) {
			uint64_t took_ns, calls;

			set_up_mode(i, 10);
			run.needs = part < 2 ? FIGURES_OVERHEAD : 0;
			if (part)
				engine.reaped = spin;
			else
				engine.submitted = spin_in_submit;
			took_ns = pass(0);
			calls = part ? engine.reaps : engine.n;
			if (!modes[i].queues || part == 2)
				assert_int_equal(qthreads[0].apart_ns, 0);
			else
				assert_in_range(qthreads[0].apart_ns, calls * SPIN_NS, took_ns);
			tear_down(state);
		}
	}
}

/* ---- QThreads that wait for the lock ---- */

#define LOCK_WAITERS 2u /* as in src/sync/wait.c: threads may sleep on the lock */

/* By operation: the one before had woken the waiters when it was submitted. */
static bool woken[MOST_OPS];

static void sleep_on_lock(const struct io_request *req)
{
	woken[req->op] = !(atomic_fetch_or(&target.order.lock.word, LOCK_WAITERS) & LOCK_WAITERS);
}

/* To wake a thread is expensive: 64 short operations in a row do without, others do not. */
TEST(test_wakes)
{
	for (unsigned i = 0; i < N_MODES; i++) {
		/* Loose order leaves the lock before it submits. */
		if (modes[i].early || modes[i].ordering <= ORDERING_LOOSE)
			continue;
		for (int busy = 0; busy < 2; busy++) {
			set_up_mode(i, 200);
			target.retry_flush = busy;
			engine.submitted = sleep_on_lock;
			pass(0);
			submitted(0, 200);
			for (uint64_t n = 1; n < 200; n++)
				assert_int_equal(woken[n], busy || modes[i].queues || n % 64 == 0);
			tear_down(state);
		}
	}
}

/* ---- -retry, -flushwrite ---- */

/* How often operation `n` was submitted. */
static unsigned times(uint64_t n)
{
	unsigned found = 0;

	for (unsigned i = 0; i < engine.n; i++)
		found += engine.ops[i] == n;
	return found;
}

/* An operation that fails is repeated as often as -retry says, if that can help. */
TEST(test_retries)
{
	static const struct {
		int error;
		unsigned fail_times, submitted, errors;
	} cases[] = {
		{ EIO, 1, 2, 0 },	{ EIO, 2, 3, 0 },     { EIO, 3, 3, 1 },
		{ EINVAL, 1, 1, 1 },	{ ENODATA, 1, 1, 1 }, { EROFS, 1, 1, 1 },
		{ ETIMEDOUT, 2, 3, 0 },
	};

	for (unsigned i = 0; i < N_MODES; i++) {
		for (size_t k = 0; k < sizeof(cases) / sizeof(cases[0]); k++) {
			set_up_mode(i, 50);
			target.retry_flush = true;
			target_plan.retries = 2;
			engine.fails = 20;
			engine.error = cases[k].error;
			engine.fail_times = cases[k].fail_times;
			pass(0);
			assert_int_equal(times(20), cases[k].submitted);
			for (uint64_t n = 0; n < 50; n++)
				assert_true(n == 20 || times(n) == 1);
			counted(50, cases[k].errors);
			assert_int_equal(tally().retries, cases[k].submitted - 1);
			tear_down(state);
		}
	}
}

/* The engine breaks while an operation is repeated. */
static void break_second(const struct io_request *req)
{
	if (req->op == 20 && times(20) == 2)
		engine.breaks = 20;
}

TEST(test_broken_retry)
{
	for (unsigned i = 0; i < N_MODES; i++) {
		if (!modes[i].queues)
			continue;
		set_up_mode(i, 50);
		target.retry_flush = true;
		target_plan.retries = 2;
		engine.fails = 20;
		engine.submitted = break_second;
		pass(0);
		assert_true(qthreads[0].broken);
		assert_int_equal(times(20), 2);
		assert_int_equal(stop_why(&run.stop), STOP_ERROR);
		tear_down(state);
	}
}

/* Every so many writes there is a flush, with nothing outstanding in the QThread. */
TEST(test_flushes)
{
	for (unsigned i = 0; i < N_MODES; i++) {
		for (int writes = 0; writes < 2; writes++) {
			set_up_mode(i, 200);
			target.retry_flush = true;
			target_plan.op = writes ? OP_WRITE : OP_READ;
			target_plan.flush_writes = 50;
			access_init(&target.state.access, &target_plan, 1);
			pass(0);
			submitted(0, 200);
			counted(200, 0);
			assert_int_equal(engine.flushes, writes ? 4 : 0);
			assert_int_equal(tally().flushes, engine.flushes);
			tear_down(state);
		}
	}
}

/* ---- what ends a pass ---- */

/* The clock is past the end: nothing is issued, and nothing is kept. */
TEST(test_over_before)
{
	for (unsigned i = 0; i < N_MODES; i++) {
		for (int why = 0; why < 3; why++) {
			uint64_t now = clock_now_ns();

			set_up_mode(i, 200);
			if (why == 0)
				stop_request(&run.stop, STOP_SIGNAL, 2);
			if (why == 1)
				atomic_store(&target.state.over, true);
			issue_pass(&qthreads[0], now, why == 2 ? now : now + 60 * SECOND_NS);
			submitted(0, 0);
			counted(0, 0);
			assert_int_equal(qthreads[0].ring.n_free, DEPTH);
			tear_down(state);
		}
	}
}

static void end_at_20(const struct io_request *req)
{
	if (req->op == 20)
		atomic_store(&target.state.over, true);
}

/* Outstanding operations are awaited, and no operation follows. */
TEST(test_over_between)
{
	for (unsigned i = 0; i < N_MODES; i++) {
		bool fast = modes[i].ordering == ORDERING_NONE && !modes[i].queues;

		set_up_mode(i, 200);
		engine.submitted = end_at_20;
		pass(0);
		submitted(0, 21);
		counted(21, 0);
		/* A QThread may have taken more numbers, and returns them. */
		if (fast)
			assert_int_equal(target.state.next_op, 21);
		if (target.order.by != ORDER_BY_NOTHING)
			assert_true(turn_is_free(21));
		tear_down(state);
	}
}

/* -maxerrors: the error that is the last one keeps the turn until it is counted. */
TEST(test_last_error)
{
	for (unsigned i = 0; i < N_MODES; i++) {
		set_up_mode(i, 200);
		plan.max_errors = 1;
		engine.fails = 20;
		pass(0);
		pass(1);
		/* Others may have been submitted while it was outstanding. */
		assert_true(engine.n >= 21 && engine.n <= 20 + DEPTH);
		if (!modes[i].queues || modes[i].ordering == ORDERING_SERIAL)
			assert_int_equal(engine.n, 21);
		counted(engine.n, 1);
		tear_down(state);
	}
}

/* The gate admits 20 operations: the next one is dropped, with its slot and its turn. */
TEST(test_gate_closes)
{
	for (unsigned i = 0; i < N_MODES; i++) {
		set_up_mode(i, 200);
		target.gated = true;
		gate_begin_pass(&target);
		gate_limit(&target, 20);
		pass(0);
		submitted(0, 20);
		counted(20, 0);
		if (target.order.by != ORDER_BY_NOTHING)
			assert_true(turn_is_free(21));
		tear_down(state);
	}
}

/* ---- an engine that breaks ---- */

#define BROKEN "xdd: target 0, a target: engine recorder: Input/output error\n"

static void is_broken(uint64_t ops, const char *text)
{
	assert_true(qthreads[0].broken);
	assert_int_equal(engine.n, ops);
	assert_int_equal(atomic_load(&run.failures.errors), 1);
	assert_int_equal((int)stop_why(&run.stop), STOP_ERROR);
	assert_int_equal(run.stop.detail, EIO);
	assert_string_equal(messages(), text);
	if (target.order.by == ORDER_BY_TOT)
		assert_true(tot_is_turn(&target.order.tot, ops));
}

static void stop_before(const struct io_request *req)
{
	if (req->op == engine.breaks)
		stop_request(&run.stop, STOP_SIGNAL, 2);
}

TEST(test_broken_submit)
{
	for (unsigned i = 0; i < N_MODES; i++) {
		unsigned reaps;

		if (!modes[i].queues)
			continue;
		set_up_mode(i, 200);
		engine.breaks = 10;
		messages();
		pass(0);
		is_broken(11, BROKEN);
		/* Its requests are lost: no completion is awaited. */
		reaps = engine.reaps;
		pass(1);
		assert_int_equal(engine.n, 11);
		assert_int_equal(engine.reaps, reaps);
		assert_false(qthreads[1].broken);
		tear_down(state);
		/* The first reason why the run ends is the only one that is reported. */
		set_up_mode(i, 200);
		engine.breaks = 10;
		engine.submitted = stop_before;
		messages();
		pass(0);
		assert_int_equal(stop_why(&run.stop), STOP_SIGNAL);
		assert_true(qthreads[0].broken);
		assert_string_equal(messages(), "");
		tear_down(state);
	}
}

TEST(test_broken_reap)
{
	for (unsigned i = 0; i < N_MODES; i++) {
		if (!modes[i].queues)
			continue;
		set_up_mode(i, 200);
		engine.breaks_reap = 3;
		pass(0);
		assert_int_equal(engine.reaps, 3);
		assert_true(qthreads[0].broken);
		assert_int_equal(atomic_load(&run.failures.errors), 1);
		assert_int_equal((int)stop_why(&run.stop), STOP_ERROR);
		tear_down(state);
	}
}

/* A reap whose time is over is no error. */
TEST(test_late_reap)
{
	for (unsigned i = 0; i < N_MODES; i++) {
		if (!modes[i].queues)
			continue;
		set_up_mode(i, 200);
		engine.late_reap = 3;
		pass(0);
		submitted(0, 200);
		counted(200, 0);
		assert_false(qthreads[0].broken);
		assert_int_equal(atomic_load(&run.failures.errors), 0);
		tear_down(state);
	}
}

/* ---- two QThreads ---- */

/* While operation 0 has the lock, the other QThread comes, whose wait ends with an error. */
static void other_comes(const struct io_request *req)
{
	if (req->op != 0)
		return;
	lock_cancel(&target.order.lock);
	pass(1);
	assert_int_equal(engine.n, 1);
}

TEST(test_lock_is_held)
{
	for (unsigned i = 0; i < N_MODES; i++) {
		/* Loose order has no lock during the submission. */
		if (modes[i].early || modes[i].ordering <= ORDERING_LOOSE)
			continue;
		set_up_mode(i, 200);
		engine.submitted = other_comes;
		pass(0);
		assert_int_equal(engine.ops[0], 0);
		assert_int_equal(tally().issued, engine.n);
		tear_down(state);
	}
}

/* Operation 0 takes number 1 for another QThread, which passes its turn on later. */
static void take_another(const struct io_request *req)
{
	if (req->op == 0)
		atomic_fetch_add(&target.state.next_op, 1);
}

/* Once the QThread waits with operation 2, the pass is over, and operation 1 passes its turn on. */
static void *pass_turn_on(void *arg)
{
	const bool *ends = arg;

	while (atomic_load(&target.state.next_op) < 3)
		sched_yield();
	if (*ends)
		atomic_store(&target.state.over, true);
	while (!tot_is_turn(&target.order.tot, 1))
		sched_yield();
	tot_pass_on(&target.order.tot, 1);
	return NULL;
}

/*
 * A QThread that waits for its turn sees the end of the pass only when it has it: it issues nothing
 * then, and passes the turn on.
 */
TEST(test_over_in_turn)
{
	static const bool ends[] = { false, true };

	for (unsigned i = 0; i < 2 * N_MODES; i++) {
		const struct mode *m = &modes[i / 2];
		const bool *end = &ends[i % 2];
		pthread_t thread;
		uint64_t took_ns;

		if (!m->early)
			continue;
		set_up_mode(i / 2, 100);
		engine.submitted = take_another;
		assert_int_equal(
			pthread_create(&thread, NULL, pass_turn_on, (void *)(uintptr_t)end), 0);
		took_ns = pass(0);
		assert_int_equal(pthread_join(thread, NULL), 0);
		assert_int_equal(engine.n, *end ? 1 : 99);
		assert_int_equal(engine.ops[0], 0);
		for (unsigned k = 1; k < engine.n; k++)
			assert_int_equal(engine.ops[k], k + 1);
		assert_true(atomic_load(&target.state.over) == *end);
		assert_true(turn_is_free(*end ? 3 : 100));
		/* The wait is no overhead of the QThread. */
		assert_true(qthreads[0].apart_ns > 0 && qthreads[0].apart_ns <= took_ns);
		tear_down(state);
	}
}

/* The wait for a turn that never comes ends with the run. */
static void *cancel_turn(void *arg)
{
	(void)arg;
	while (atomic_load(&target.state.next_op) < 3)
		sched_yield();
	run_stop(&run, STOP_SIGNAL, 2);
	return NULL;
}

TEST(test_stop_in_turn)
{
	for (unsigned i = 0; i < N_MODES; i++) {
		pthread_t thread;

		if (!modes[i].early)
			continue;
		set_up_mode(i, 100);
		engine.submitted = take_another;
		assert_int_equal(pthread_create(&thread, NULL, cancel_turn, NULL), 0);
		pass(0);
		assert_int_equal(pthread_join(thread, NULL), 0);
		submitted(0, 1);
		counted(1, 0);
		tear_down(state);
	}
}

int main(void)
{
	if (open_log())
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
