/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * -starttime and the global clock of a run, by a client of global time that this test makes up: its
 * functions are those below.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "unit.h"

#include "run/meter/meter.h"
#include "run/results/global_clock.h"
#include "run/run_state.h"
#include "xdd/base/units.h"
#include "xdd/net/globaltime.h"
#include "xdd/plan/plan.h"
#include "xdd/report/result.h"
#include "xdd/sync/wait.h"
#include "xdd/sys/clock.h"

#define RUN_TEST(name) TEST_SETUP_TEARDOWN(name, set_up, tear_down)

/* ---- the client ---- */

/* offset(at) = offset_ns + (at - from_ns) * ppm; a refresh adds `learned_ns`. */
static struct {
	int64_t offset_ns, learned_ns;
	uint64_t from_ns, bound_ns;
	double ppm;
	unsigned steps, refreshes;
	uint64_t refresh_at_ns, refresh_until_ns;
} model;

static struct globaltime_client *const some_client = (struct globaltime_client *)&model;

void globaltime_get(struct globaltime_client *c, uint64_t at_ns, struct globaltime *out)
{
	const double since = (double)(int64_t)(at_ns - model.from_ns);

	assert_ptr_equal(c, some_client);
	*out = (struct globaltime){
		.offset_ns = model.offset_ns + (int64_t)(since * model.ppm / 1e6),
		.bound_ns = model.bound_ns,
		.drift_ppm = model.ppm,
		.drift_known = true,
		.steps = model.steps,
		.answering = true,
	};
}

int globaltime_refresh(struct globaltime_client *c, uint64_t until_ns)
{
	assert_ptr_equal(c, some_client);
	model.refreshes++;
	model.refresh_at_ns = clock_now_ns();
	model.refresh_until_ns = until_ns;
	model.offset_ns += model.learned_ns;
	return 0;
}

/* The program links these as well. */
int globaltime_begin(struct globaltime_client **c, const struct globaltime_settings *s,
		     struct stop *stop, struct err *why)
{
	(void)c, (void)s, (void)stop, (void)why;
	return -ENOSYS;
}

int globaltime_follow(struct globaltime_client *c)
{
	(void)c;
	return 0;
}

const char *globaltime_server(const struct globaltime_client *c)
{
	(void)c;
	return "";
}

void globaltime_end(struct globaltime_client *c)
{
	(void)c;
}

/* ---- a run ---- */

static struct plan plan;
static struct run run;

static void use_client(int64_t offset_ns)
{
	run.clock = some_client;
	model.from_ns = clock_now_ns();
	model.offset_ns = offset_ns;
}

#define SECOND ((int64_t)NS_PER_SEC)
#define AHEAD (1700000000 * SECOND)

/* ---- the start ---- */

static int set_up(void **state)
{
	memset(&model, 0, sizeof(model));
	memset(&plan, 0, sizeof(plan));
	memset(&run, 0, sizeof(run));
	run.plan = &plan;
	run.n_qthreads = 4;
	stop_init(&run.stop);
	return 0;
}

static int tear_down(void **state)
{
	stop_destroy(&run.stop);
	return 0;
}

RUN_TEST(test_no_start_time)
{
	assert_int_equal(start_time_wait(&run), 0);
	assert_int_equal(run.manager.start_ns, 0);
	assert_int_equal(start_time_moment(&run, 123), 123);
	assert_int_equal(start_time_check(&run, 123), 123);
	assert_false(start_time_is_ahead(&run));
	assert_false(start_time_approach(&run));
}

/* The barrier is passed before the moment, and each QThread is held until then. */
RUN_TEST(test_start)
{
	const uint64_t at_ns = clock_now_ns() + NS_PER_SEC / 5;
	bool ahead, near;

	use_client(AHEAD);
	plan.start_time_ns = at_ns + (uint64_t)AHEAD;
	assert_int_equal(start_time_wait(&run), 0);
	assert_int_equal(run.manager.start_ns, at_ns);
	assert_int_equal(start_time_check(&run, at_ns - 5), at_ns);
	assert_int_equal(start_time_moment(&run, at_ns - 5), at_ns);
	ahead = start_time_is_ahead(&run);
	near = start_time_approach(&run);
	/* A busy machine may wake the thread after the moment. */
	assert_true(near || clock_now_ns() >= at_ns);
	assert_true(ahead || !near);
	start_time_hold(&run);
	assert_true(clock_now_ns() >= at_ns);
	assert_false(start_time_is_ahead(&run));
	assert_false(start_time_approach(&run));
	/* A QThread that is late begins when the barrier was passed. */
	assert_int_equal(start_time_moment(&run, at_ns + 7), at_ns + 7);
	assert_int_equal(start_time_check(&run, at_ns + 7), at_ns + 7);
}

/* The server is asked shortly before the start, and what it says then counts. */
RUN_TEST(test_refresh)
{
	uint64_t at_ns = 0;

	/* A machine that is so busy that there is no time left for it does not ask. */
	for (int attempt = 0; attempt < 10 && !model.refreshes; attempt++) {
		set_up(state);
		use_client(AHEAD);
		model.learned_ns = SECOND / 20;
		at_ns = clock_now_ns() + NS_PER_SEC;
		plan.start_time_ns = at_ns + (uint64_t)AHEAD;
		assert_int_equal(start_time_wait(&run), 0);
	}
	assert_int_equal(model.refreshes, 1);
	assert_true(model.refresh_at_ns + NS_PER_SEC / 3 > at_ns);
	assert_true(model.refresh_until_ns < at_ns);
	assert_int_equal(run.manager.start_ns, at_ns - NS_PER_SEC / 20);
}

/* Without a server it is the wall clock. */
RUN_TEST(test_wall)
{
	const uint64_t now_ns = clock_now_ns();
	uint64_t at_ns;

	plan.start_time_ns = clock_wall_ns() + NS_PER_SEC / 10;
	assert_int_equal(start_time_wait(&run), 0);
	at_ns = run.manager.start_ns;
	assert_true(at_ns > now_ns && at_ns < clock_now_ns() + NS_PER_SEC);
	assert_int_equal(model.refreshes, 0);
}

RUN_TEST(test_past)
{
	const uint64_t now_ns = clock_now_ns();

	use_client(AHEAD);
	plan.start_time_ns = now_ns + (uint64_t)AHEAD - NS_PER_SEC;
	assert_int_equal(start_time_wait(&run), 0);
	assert_int_equal(run.manager.start_ns, now_ns - NS_PER_SEC);
	assert_int_equal(start_time_moment(&run, now_ns), now_ns);
	assert_false(start_time_is_ahead(&run));
	/* Even a time before the clock of the host began is a start time. */
	plan.start_time_ns = 5;
	assert_int_equal(start_time_wait(&run), 0);
	assert_int_equal(run.manager.start_ns, 1);
}

RUN_TEST(test_stop)
{
	const uint64_t now_ns = clock_now_ns();

	use_client(AHEAD);
	plan.start_time_ns = now_ns + (uint64_t)AHEAD + 3600 * NS_PER_SEC;
	stop_request(&run.stop, STOP_SIGNAL, 2);
	assert_int_equal(start_time_wait(&run), -ECANCELED);
	assert_int_equal(run.manager.start_ns, now_ns + 3600 * NS_PER_SEC);
	/* There is nothing to wait for. */
	assert_true(start_time_is_ahead(&run));
	assert_false(start_time_approach(&run));
}

/* ---- the clock ---- */

/* There and back again, with a drift over an hour. */
RUN_TEST(test_local)
{
	uint64_t local_ns, there_ns;
	struct globaltime g;

	use_client(-5 * SECOND);
	model.ppm = 400;
	local_ns = model.from_ns + 3600 * NS_PER_SEC;
	globaltime_get(run.clock, local_ns, &g);
	there_ns = global_clock_local_ns(&run, local_ns + (uint64_t)g.offset_ns);
	/* 1.44 s, two times by 400 ppm. */
	assert_true(llabs((int64_t)(there_ns - local_ns)) < 1000);
	model.offset_ns = AHEAD;
	assert_int_equal(global_clock_local_ns(&run, 5), 0);
}

static struct pass_result pass_of(uint64_t pass, uint64_t first_ns, uint64_t shift_ns)
{
	return (struct pass_result){ .pass = pass,
				     .first_issue_ns = first_ns,
				     .shift_ns = shift_ns };
}

static void take(struct global_clock *c, const struct pass_result *r)
{
	struct global_anchor last = { 0 };
	struct global_span span;

	global_clock_pass(c, &run, r, &last, &span);
	assert_true(last.at_ns >= c->begin.at_ns);
	assert_int_equal(span.from.at_ns, c->begin.at_ns);
	assert_int_equal(span.to.at_ns, last.at_ns);
}

/* The earliest operation of the first pass, without the delay that was asked for. */
RUN_TEST(test_achieved)
{
	struct global_clock c = { 0 };
	struct pass_result second, late, none, early;
	uint64_t begin_ns;

	use_client(AHEAD);
	model.bound_ns = 1000;
	global_clock_begin(&c, &run);
	begin_ns = c.begin.at_ns;
	second = pass_of(2, begin_ns, 0);
	late = pass_of(1, begin_ns + 3000000, 0);
	none = pass_of(1, UINT64_MAX, 0);
	early = pass_of(1, begin_ns + 4000000, 2000000);
	take(&c, &second);
	assert_int_equal(c.start.achieved_ns, 0);
	take(&c, &late);
	assert_int_equal(c.start.achieved_ns, begin_ns + 3000000 + (uint64_t)AHEAD);
	/* 500 ppm of the time between. */
	assert_int_equal(c.start.bound_ns, 1000 + 1500);
	take(&c, &none);
	take(&c, &early);
	assert_int_equal(c.start.achieved_ns, begin_ns + 2000000 + (uint64_t)AHEAD);
	assert_int_equal(c.start.bound_ns, 1000 + 1000);
	assert_true(c.start.bound_known);
	take(&c, &late);
	assert_int_equal(c.start.achieved_ns, begin_ns + 2000000 + (uint64_t)AHEAD);
}

/* Without a server the error is not known, and a clock that is set during the run moves nothing. */
RUN_TEST(test_no_server)
{
	struct global_clock c = { 0 };
	struct pass_result r;

	global_clock_begin(&c, &run);
	c.wall_ns -= 12345;
	c.begin.g.offset_ns = c.wall_ns;
	r = pass_of(1, c.begin.at_ns, 0);
	take(&c, &r);
	assert_int_equal(c.start.achieved_ns, c.begin.at_ns + (uint64_t)c.wall_ns);
	assert_false(c.start.bound_known);
}

/* A step leaves nothing to draw a line to. */
RUN_TEST(test_step)
{
	struct global_clock c = { 0 };
	struct global_anchor last = { 0 };
	struct pass_result r;
	struct global_span span;

	use_client(AHEAD);
	global_clock_begin(&c, &run);
	model.offset_ns += 3600 * SECOND;
	model.steps = 1;
	r = pass_of(1, c.begin.at_ns, 0);
	global_clock_pass(&c, &run, &r, &last, &span);
	assert_int_equal(span.from.at_ns, c.begin.at_ns);
	assert_int_equal(span.from.g.offset_ns, AHEAD + 3600 * SECOND);
	assert_int_equal(span.to.g.offset_ns, AHEAD + 3600 * SECOND);
	/* The next pass continues where this one ended. */
	r = pass_of(2, last.at_ns, 0);
	global_clock_pass(&c, &run, &r, &last, &span);
	assert_int_equal(span.from.g.steps, 1);
	global_clock_run(&c, &run, &span);
	assert_int_equal(span.from.g.offset_ns, AHEAD + 3600 * SECOND);
}

RUN_TEST(test_span)
{
	const struct global_span line = {
		.from = { .at_ns = 1000000, .g = { .offset_ns = AHEAD } },
		.to = { .at_ns = 3000000, .g = { .offset_ns = AHEAD + 800 } },
	};
	const struct global_span point = { .from = line.from, .to = line.from };
	struct figures f = { .known = 0 };

	f.tally.first_issue_ns = UINT64_MAX;
	global_span_fill(&line, &f);
	assert_int_equal(f.begin_ns, 0);
	assert_int_equal(f.finish_ns, 0);
	f.tally.first_issue_ns = 1500000;
	f.tally.last_done_ns = 3500000;
	global_span_fill(&line, &f);
	assert_int_equal(f.begin_ns, 1500000 + AHEAD + 200);
	assert_int_equal(f.finish_ns, 3500000 + AHEAD + 1000);
	global_span_fill(&point, &f);
	assert_int_equal(f.begin_ns, 1500000 + AHEAD);
}

RUN_TESTS(NULL, NULL)
