/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The gate of a target with several QThreads: what ends a pass leaves no gap
 * (src/run/coord/gate.c), and the pace of its passes and their common end (src/run/coord/pace.c).
 */
#include "unit.h"

#include <string.h>

#include "run/coord/gate.h"
#include "run/coord/pace.h"
#include "run/qthread.h"
#include "run/run_state.h"
#include "run/target.h"
#include "xdd/io/engine.h"

#define START 1000
#define END 5000
#define INTERVAL 1000

static struct plan plan;
static struct target_plan target_plan;
static struct run run;
static struct target target;
static struct qthread qthreads[3];
static struct io_request requests[3];

/* QThread i has brought operation i. */
static int set_up(double interval_ns)
{
	memset(&run, 0, sizeof(run));
	memset(&target, 0, sizeof(target));
	memset(qthreads, 0, sizeof(qthreads));
	plan = (struct plan){ .n_targets = 1 };
	target_plan = (struct target_plan){
		.req_bytes = 4096,
		.pass_ops = 100,
		.throttle = { .by = THROTTLE_OPS, .interval_ns = interval_ns },
	};
	run.plan = &plan;
	run.targets = &target;
	stop_init(&run.stop);
	target.run = &run;
	target.plan = &target_plan;
	assert_int_equal(gate_init(&run), 0);
	assert_true(target.gated == (interval_ns > 0));
	target.gated = true;
	gate_begin_pass(&target);
	for (uint64_t i = 0; i < 3; i++) {
		qthreads[i].target = &target;
		requests[i] = (struct io_request){ .op = i };
		throttle_begin_pass(&qthreads[i], START);
		gate_arrive(&qthreads[i], i);
	}
	return 0;
}

static int set_up_plain(void **state)
{
	return set_up(0);
}

static int set_up_throttle(void **state)
{
	return set_up(INTERVAL);
}

static int set_up_stonewall(void **state)
{
	set_up(0);
	stonewall_init(&run.stonewall);
	plan.stonewall.on = true;
	target_plan.qthreads = 3;
	target.qthreads = qthreads;
	return 0;
}

static int tear_down(void **state)
{
	gate_destroy(&run);
	stop_destroy(&run.stop);
	return 0;
}

static enum gate_answer ask(size_t i, uint64_t now_ns, uint64_t *at_ns)
{
	return gate_ask(&qthreads[i], &requests[i], now_ns, END, at_ns);
}

/*
 * A QThread that comes after the end with a smaller number than one that was admitted must issue
 * it.
 */
TEST_SETUP_TEARDOWN(test_late, set_up_plain, tear_down)
{
	uint64_t at;

	assert_int_equal(ask(2, END - 1, &at), GATE_OPEN);
	assert_int_equal(ask(0, END, &at), GATE_OPEN);
	assert_int_equal(ask(1, END + 1, &at), GATE_OPEN);
	assert_int_equal(gate_admitted(&target.gate), 3);
}

/* Once a number was not issued no greater one is, not even by a QThread with an earlier clock. */
TEST_SETUP_TEARDOWN(test_shut, set_up_plain, tear_down)
{
	uint64_t at;

	assert_int_equal(ask(0, START, &at), GATE_OPEN);
	assert_int_equal(ask(1, END, &at), GATE_CLOSED);
	assert_int_equal(ask(2, END - 1, &at), GATE_CLOSED);
	assert_int_equal(gate_admitted(&target.gate), 1);
}

/* An error or a signal ends the pass: no greater number is issued. */
TEST_SETUP_TEARDOWN(test_over, set_up_plain, tear_down)
{
	uint64_t at;

	assert_int_equal(ask(1, START, &at), GATE_OPEN);
	atomic_store(&target.state.over, true);
	assert_int_equal(ask(2, START, &at), GATE_CLOSED);
	assert_int_equal(ask(0, START, &at), GATE_OPEN);
	assert_int_equal(gate_admitted(&target.gate), 2);
}

TEST_SETUP_TEARDOWN(test_next_pass, set_up_plain, tear_down)
{
	uint64_t at;

	assert_int_equal(ask(0, END, &at), GATE_CLOSED);
	gate_begin_pass(&target);
	assert_int_equal(ask(0, START, &at), GATE_OPEN);
}

/* The last operation waits for all others, and the last of these wakes its QThread. */
TEST_SETUP_TEARDOWN(test_last_alone, set_up_plain, tear_down)
{
	struct event *e = &target.gate.event;
	uint64_t at;
	uint32_t key;

	target_plan.pass_ops = 3;
	target.gate.last_alone = true;
	assert_int_equal(ask(0, START, &at), GATE_OPEN);
	assert_int_equal(ask(1, START, &at), GATE_OPEN);
	key = event_listen(e);
	assert_int_equal(ask(2, START, &at), GATE_EVENT);
	gate_completed(&target, 4096);
	assert_int_equal(ask(2, START, &at), GATE_EVENT);
	assert_int_equal(atomic_load(&e->count), key);
	gate_completed(&target, 4096);
	assert_int_not_equal(atomic_load(&e->count), key);
	assert_int_equal(ask(2, START, &at), GATE_OPEN);
	event_leave(e);
}

/*
 * An operation that is due before the end is issued however late; one that is due after it makes
 * the pass last.
 */
TEST_SETUP_TEARDOWN(test_throttle, set_up_throttle, tear_down)
{
	uint64_t at = 0;

	gate_arrive(&qthreads[2], 50);
	requests[2].op = 50;
	assert_int_equal(ask(0, START, &at), GATE_OPEN);
	assert_int_equal(requests[0].due_ns, START);
	assert_int_equal(ask(1, START, &at), GATE_AT);
	assert_int_equal(at, START + INTERVAL);
	assert_int_equal(ask(2, START, &at), GATE_AT);
	assert_int_equal(at, END);
	assert_int_equal(ask(2, END, &at), GATE_CLOSED);
	assert_int_equal(ask(1, END + 1, &at), GATE_OPEN);
	assert_int_equal(requests[1].due_ns, START + INTERVAL);
	assert_int_equal(gate_admitted(&target.gate), 2);
}

/* ---- a lockstep whose slave has a time for each request ---- */

#define SLICE 300

static struct target_plan pair_plans[2];
static struct target pair[2];

/* Target 1 is the slave of target 0, and has SLICE for each two operations of its master. */
static void set_up_slices(bool run_first, bool stop)
{
	memset(&run, 0, sizeof(run));
	memset(pair, 0, sizeof(pair));
	memset(qthreads, 0, sizeof(qthreads));
	plan = (struct plan){ .n_targets = 2, .targets = pair_plans };
	pair_plans[0] = (struct target_plan){ .req_bytes = 4096, .pass_ops = 100 };
	pair_plans[1] = pair_plans[0];
	pair_plans[1].number = 1;
	pair_plans[1].lockstep = (struct lockstep_plan){ .on = true,
							 .when = { MEASURE_OPS, 2 },
							 .what = { MEASURE_TIME, SLICE },
							 .run = run_first,
							 .stop = stop };
	run.plan = &plan;
	run.targets = pair;
	stop_init(&run.stop);
	for (size_t i = 0; i < 2; i++) {
		pair[i].run = &run;
		pair[i].plan = &pair_plans[i];
	}
	assert_int_equal(gate_init(&run), 0);
	for (size_t i = 0; i < 2; i++)
		gate_begin_pass(&pair[i]);
	qthreads[1].target = &pair[1];
	requests[1] = (struct io_request){ .op = 0 };
	throttle_begin_pass(&qthreads[1], START);
	gate_arrive(&qthreads[1], 0);
}

/* The slave asks for its next operation. */
static enum gate_answer slave_asks(uint64_t now_ns)
{
	uint64_t at;
	enum gate_answer answer = ask(1, now_ns, &at);

	if (answer == GATE_OPEN)
		requests[1].op++;
	return answer;
}

static void master_completes(unsigned ops)
{
	for (unsigned i = 0; i < ops; i++)
		gate_completed(&pair[0], 4096);
}

/* Each request is one time slice from the operation that begins it, however many fit in it. */
TEST_TEARDOWN(test_slices, tear_down)
{
	set_up_slices(false, true);
	assert_int_equal(slave_asks(START), GATE_EVENT);
	master_completes(1);
	assert_int_equal(slave_asks(START), GATE_EVENT);
	master_completes(1);
	assert_int_equal(slave_asks(START), GATE_OPEN);
	assert_int_equal(slave_asks(START + 1), GATE_OPEN);
	assert_int_equal(slave_asks(START + SLICE - 1), GATE_OPEN);
	assert_int_equal(slave_asks(START + SLICE), GATE_EVENT);
	/* Two requests are two slices. */
	master_completes(4);
	assert_int_equal(slave_asks(START + 1000), GATE_OPEN);
	assert_int_equal(slave_asks(START + 1000 + SLICE), GATE_OPEN);
	assert_int_equal(slave_asks(START + 1000 + 2 * SLICE - 1), GATE_OPEN);
	assert_int_equal(slave_asks(START + 1000 + 2 * SLICE), GATE_EVENT);
	/* No slice is carried into the next pass. */
	master_completes(2);
	assert_int_equal(slave_asks(START + 2000), GATE_OPEN);
	for (size_t i = 0; i < 2; i++)
		gate_begin_pass(&pair[i]);
	requests[1].op = 0;
	assert_int_equal(slave_asks(START + 2001), GATE_EVENT);
}

TEST_TEARDOWN(test_slice_before, tear_down)
{
	set_up_slices(true, true);
	assert_int_equal(slave_asks(START), GATE_OPEN);
	assert_int_equal(slave_asks(START + SLICE - 1), GATE_OPEN);
	assert_int_equal(slave_asks(START + SLICE), GATE_EVENT);
	master_completes(2);
	assert_int_equal(slave_asks(START + SLICE), GATE_OPEN);
	assert_int_equal(slave_asks(START + 2 * SLICE), GATE_EVENT);
}

/* Once the master has ended, the slave does what is left of its requests, or goes on by itself. */
TEST_TEARDOWN(test_slices_end, tear_down)
{
	set_up_slices(false, true);
	master_completes(2);
	gate_end_pass(&pair[0]);
	assert_int_equal(slave_asks(START), GATE_OPEN);
	assert_int_equal(slave_asks(START + SLICE - 1), GATE_OPEN);
	assert_int_equal(slave_asks(START + SLICE), GATE_CLOSED);
	tear_down(state);
	set_up_slices(false, false);
	gate_end_pass(&pair[0]);
	assert_int_equal(slave_asks(START), GATE_OPEN);
	assert_int_equal(slave_asks(START + 2 * SLICE), GATE_OPEN);
}

/* ---- -syncio ---- */

static void set_up_rounds(uint64_t ops)
{
	memset(&run, 0, sizeof(run));
	memset(pair, 0, sizeof(pair));
	memset(qthreads, 0, sizeof(qthreads));
	plan = (struct plan){ .n_targets = 2, .targets = pair_plans, .syncio_ops = ops };
	run.plan = &plan;
	run.targets = pair;
	stop_init(&run.stop);
	for (size_t i = 0; i < 2; i++) {
		pair_plans[i] = (struct target_plan){ .req_bytes = 4096,
						      .pass_ops = 100,
						      .number = (uint32_t)i };
		pair[i].run = &run;
		pair[i].plan = &pair_plans[i];
		pair[i].pass = 1;
		qthreads[i].target = &pair[i];
	}
	assert_int_equal(gate_init(&run), 0);
	for (size_t i = 0; i < 2; i++)
		gate_begin_pass(&pair[i]);
}

/* May operation `n` of a target be issued? */
static bool is_open(size_t i, uint64_t n)
{
	uint64_t at;

	requests[i] = (struct io_request){ .op = n };
	gate_arrive(&qthreads[i], n);
	return ask(i, START, &at) == GATE_OPEN;
}

/* No target begins a round before the others have completed the one before. */
TEST_TEARDOWN(test_rounds, tear_down)
{
	set_up_rounds(3);
	for (size_t i = 0; i < 2; i++) {
		assert_true(is_open(i, 0) && is_open(i, 2));
		assert_false(is_open(i, 3));
	}
	for (unsigned i = 0; i < 3; i++)
		gate_completed(&pair[0], 4096);
	assert_false(is_open(0, 3));
	for (unsigned i = 0; i < 2; i++)
		gate_completed(&pair[1], 4096);
	assert_false(is_open(0, 3) || is_open(1, 3));
	gate_completed(&pair[1], 4096);
	assert_true(is_open(0, 3) && is_open(1, 5));
	assert_false(is_open(0, 6) || is_open(1, 6));
	/* A target that has ended holds no other one. */
	for (unsigned i = 0; i < 3; i++)
		gate_completed(&pair[0], 4096);
	assert_false(is_open(0, 6));
	gate_end_pass(&pair[1]);
	assert_true(is_open(0, 6));
	assert_false(is_open(0, 9));
	for (unsigned i = 0; i < 3; i++)
		gate_completed(&pair[0], 4096);
	assert_true(is_open(0, 9));
}

/* Time that an operation waits for something else after it was due moves the schedule. */
TEST_SETUP_TEARDOWN(test_throttle_moves, set_up_throttle, tear_down)
{
	static const struct {
		uint64_t held_ns, again_ns, released_ns, moved_to, start_ns;
	} cases[] = {
		{ 1200, 0, 1400, 1000, 1000 },	  { 1200, 0, 1500, 1000, 1000 },
		{ 1200, 0, 1501, 1000, 1001 },	  { 1200, 0, 1800, 1000, 1300 },
		{ 1500, 0, 1800, 1000, 1300 },	  { 1600, 0, 1900, 1000, 1300 },
		{ 1600, 0, 1600, 1000, 1000 },	  { 1600, 0, 1500, 1000, 1000 },
		{ 1200, 1700, 1800, 1000, 1300 }, { 1200, 0, 1800, 1299, 1300 },
		{ 1200, 0, 1800, 1400, 1400 },	  { 0, 0, 1800, 1000, 1000 },
	};
	struct qthread *q = &qthreads[0];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		q->throttle.held_ns = 0;
		q->throttle.due_ns = 500;
		atomic_store(&target.state.start_ns, 1000);
		assert_int_equal(throttle_due_at(q), 1500);
		if (cases[i].held_ns)
			throttle_hold(q, cases[i].held_ns);
		atomic_store(&target.state.start_ns, cases[i].moved_to);
		if (cases[i].again_ns)
			throttle_hold(q, cases[i].again_ns);
		throttle_release(q, cases[i].released_ns);
		assert_int_equal(atomic_load(&target.state.start_ns), cases[i].start_ns);
		assert_int_equal(q->throttle.held_ns, 0);
		throttle_release(q, cases[i].released_ns + 1000);
		assert_int_equal(atomic_load(&target.state.start_ns), cases[i].start_ns);
	}
}

/* The elapsed time of a pass begins and ends with its schedule. */
TEST_SETUP_TEARDOWN(test_throttle_extends, set_up_throttle, tear_down)
{
	static const struct {
		uint64_t from_ns, until_ns, warmup_ns, first_ns, last_ns, begins_ns, ends_ns;
	} cases[] = {
		{ 100, 900, 0, 200, 800, 100, 900 }, { 100, 900, 0, 200, 0, 200, 0 },
		{ 0, 900, 0, 200, 800, 200, 900 },   { 300, 700, 0, 200, 800, 200, 800 },
		{ 200, 800, 0, 200, 800, 200, 800 }, { 100, 900, 5, 200, 800, 200, 900 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct tally tally = { .first_issue_ns = cases[i].first_ns,
				       .last_done_ns = cases[i].last_ns };

		atomic_store(&target.state.paced_from_ns, cases[i].from_ns);
		atomic_store(&target.state.paced_until_ns, cases[i].until_ns);
		target_plan.warmup_ns = cases[i].warmup_ns;
		throttle_extend(&target, &tally);
		assert_int_equal(tally.first_issue_ns, cases[i].begins_ns);
		assert_int_equal(tally.last_done_ns, cases[i].ends_ns);
	}
}

/* The time that operations should have taken, and did, without the moves of the schedule. */
TEST_SETUP_TEARDOWN(test_throttle_measures, set_up_throttle, tear_down)
{
	static const struct {
		uint64_t from_ns, measured_ns, warmup_ns, warmup_ops, start_ns, last_ns, due_ns,
			took_ns;
	} cases[] = {
		{ 1000, 0, 0, 0, 1000, 11000, 10 * INTERVAL, 10000 },
		{ 1000, 7, 0, 0, 1500, 11000, 10 * INTERVAL, 9500 },
		{ 1000, 0, 0, 0, 11000, 11000, 10 * INTERVAL, 0 },
		{ 1000, 0, 0, 0, 11001, 11000, 10 * INTERVAL, 0 },
		{ 0, 1000, 0, 0, 1500, 11000, 0, 0 },
		{ 1000, 1200, 5, 2, 1500, 11000, 8 * INTERVAL, 9700 },
		{ 1000, 0, 5, 2, 1500, 11000, 0, 0 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct tally tally = { .issued = 10,
					     .warmup_ops = cases[i].warmup_ops,
					     .first_issue_ns = 1000,
					     .last_done_ns = cases[i].last_ns };
		struct throttle_times times;

		atomic_store(&target.state.paced_from_ns, cases[i].from_ns);
		atomic_store(&target.state.paced_measured_ns, cases[i].measured_ns);
		atomic_store(&target.state.start_ns, cases[i].start_ns);
		target_plan.warmup_ns = cases[i].warmup_ns;
		times = throttle_measure(&target, &tally);
		assert_int_equal(times.due_ns, cases[i].due_ns);
		assert_int_equal(times.took_ns, cases[i].took_ns);
	}
}

static bool is_held(void)
{
	return atomic_load(&target.gate.admitted) & GATE_HELD;
}

/* Another rank has ended a pass that a target begins. */
TEST_SETUP_TEARDOWN(test_stonewall_begins, set_up_stonewall, tear_down)
{
	static const struct {
		bool on, wear_out;
		uint64_t ended, limit;
		bool over, held;
		uint64_t gate_limit;
	} cases[] = {
		{ true, false, 2, UINT64_MAX, true, false, UINT64_MAX },
		{ true, false, 1, UINT64_MAX, false, false, UINT64_MAX },
		{ false, false, 2, UINT64_MAX, false, false, UINT64_MAX },
		{ true, true, 2, UINT64_MAX, false, true, UINT64_MAX },
		{ true, true, 2, 7, false, false, 7 },
		{ true, true, 2, 0, false, false, 0 },
		{ true, true, 1, 7, false, false, UINT64_MAX },
	};

	atomic_store(&target.pass, 2);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		plan.stonewall.on = cases[i].on;
		plan.stonewall.wear_out = cases[i].wear_out;
		run.stonewall.last = (struct stonewall_moment){ .pass = cases[i].ended,
								.limit = cases[i].limit };
		atomic_store(&target.state.over, false);
		gate_begin_pass(&target);
		stonewall_lock(&run);
		stonewall_target_begins(&target);
		stonewall_unlock(&run);
		assert_int_equal(atomic_load(&target.state.over), cases[i].over);
		assert_int_equal(is_held(), cases[i].held);
		assert_int_equal(atomic_load(&target.gate.limit), cases[i].gate_limit);
	}
	plan.stonewall.on = true;
	stonewall_destroy(&run.stonewall);
}

/* The first end of a pass counts, with the work of all QThreads until then. */
TEST_SETUP_TEARDOWN(test_stonewall_first, set_up_stonewall, tear_down)
{
	struct stonewall_moment m;
	unsigned rank = 9;

	atomic_store(&target.pass, 2);
	for (size_t i = 0; i < 3; i++)
		counters_add(&qthreads[i].counters.ops[DIR_WRITE], i + 1);
	assert_false(stonewall_get(&run, 2, &m, &rank));
	stonewall_close(&run, 2, 5);
	counters_add(&qthreads[0].counters.ops[DIR_WRITE], 10);
	stonewall_close(&run, 2, 6);
	stonewall_close(&run, 1, 7);
	stonewall_target_ends(&target);
	stonewall_go_on(&run, 2, 50);
	assert_true(stonewall_get(&run, 2, &m, &rank));
	assert_int_equal(rank, 0);
	assert_int_equal(m.pass, 2);
	assert_int_equal(m.target, 5);
	assert_int_equal(m.tally.ops[DIR_WRITE], 6);
	assert_int_equal(m.limit, UINT64_MAX);
	assert_true(atomic_load(&target.state.over));
	assert_false(stonewall_get(&run, 3, &m, &rank));
	/* Of a pass that the target has not begun, its work is not known. */
	atomic_store(&target.state.over, false);
	stonewall_close(&run, 3, STONEWALL_BY_TIME);
	assert_true(stonewall_get(&run, 3, &m, &rank));
	assert_int_equal(m.target, STONEWALL_BY_TIME);
	assert_int_equal(m.tally.ops[DIR_WRITE], 0);
	assert_false(atomic_load(&target.state.over));
	stonewall_destroy(&run.stonewall);
}

/* With wearout all may issue what the first one had; another pass has another limit. */
TEST_SETUP_TEARDOWN(test_stonewall_wears_out, set_up_stonewall, tear_down)
{
	struct stonewall_moment m;
	unsigned rank;
	uint64_t at;

	plan.stonewall.wear_out = true;
	atomic_store(&target.pass, 2);
	assert_int_equal(ask(1, START, &at), GATE_OPEN);
	stonewall_close(&run, 2, 0);
	assert_true(stonewall_get(&run, 2, &m, &rank));
	assert_int_equal(m.limit, 2);
	assert_false(atomic_load(&target.state.over) || is_held());
	assert_int_equal(atomic_load(&target.gate.limit), 2);
	stonewall_go_on(&run, 1, 9);
	assert_int_equal(atomic_load(&target.gate.limit), 2);
	assert_int_equal(ask(2, START, &at), GATE_CLOSED);
	stonewall_go_on(&run, 2, 9);
	assert_int_equal(atomic_load(&target.gate.limit), 9);
	stonewall_destroy(&run.stonewall);
}

RUN_TESTS(NULL, NULL)
