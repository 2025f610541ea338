/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The results manager of a run that ends early, or whose operations hang:
 * src/run/results/results.c, with a clock that is made here.
 */
#include "said.h"
#include "unit.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "run/endtoend/endtoend.h"
#include "run/meter/meter.h"
#include "run/meter/sample.h"
#include "run/progress/heartbeat.h"
#include "run/progress/intervals.h"
#include "run/qthread.h"
#include "run/results/crosscheck.h"
#include "run/results/manager.h"
#include "run/run_state.h"
#include "run/target.h"
#include "xdd/base/log.h"
#include "xdd/base/units.h"
#include "xdd/stat/counters.h"
#include "xdd/sync/wait.h"
#include "xdd/sys/clock.h"
#include "xdd/sys/machine.h"

#define NOW_NS 9000u
#define QTHREADS 3u

/* ---- what is called ---- */

static struct {
	int barrier_err;
	unsigned barrier_fails; /* this call, from 1 */
	unsigned barriers;
	bool endtoend;
	uint64_t throttled_ns[2];
	unsigned asked;
	uint64_t written_ns; /* manager.throttled_ns at the end */
} fake;

static uint64_t fake_now(void)
{
	return NOW_NS;
}

static int fake_barrier(struct barrier *b, uint64_t *release)
{
	(void)b;
	if (release)
		*release = NOW_NS;
	say("wait; ");
	return ++fake.barriers == fake.barrier_fails ? -ECANCELED : 1;
}

static void fake_drop(struct run *run)
{
	(void)run;
	say("drop; ");
}

static void fake_open(struct crosscheck *c)
{
	(void)c;
	say("open; ");
}

static bool fake_any(const struct run *run)
{
	(void)run;
	return fake.endtoend;
}

static uint64_t fake_throttled(void)
{
	return fake.throttled_ns[fake.asked++];
}

static void fake_write_end(struct manager *m)
{
	say("end; ");
	fake.written_ns = m->throttled_ns;
	/* The function that is replaced calls crosscheck_end(), which frees them. */
	free(m->crosscheck.devices);
	free(m->crosscheck.device_of);
}

static void fake_intervals(struct run *run)
{
	(void)run;
}

static void fake_heartbeat(struct heartbeat *h)
{
	(void)h;
}

#define clock_now_ns fake_now
#define clock_kernel_ns fake_now
#define barrier_wait fake_barrier
#define cache_drop_system fake_drop
#define crosscheck_open fake_open
#define endtoend_any fake_any
#define cgroup_throttled_ns fake_throttled
#define manager_write_end fake_write_end
#define intervals_finish fake_intervals
#define heartbeat_end fake_heartbeat

#include "../../src/run/results/results.c"

static struct target_plan target_plan;
static struct plan the_plan;
static struct run run;
static struct target target;
static struct qthread qthreads[QTHREADS + 1];

static int set_up(void **state)
{
	memset(&fake, 0, sizeof(fake));
	memset(&run, 0, sizeof(run));
	memset(&target, 0, sizeof(target));
	memset(qthreads, 0, sizeof(qthreads));
	said[0] = '\0';
	target_plan = (struct target_plan){ .path = (char *)"a target", .qthreads = QTHREADS };
	the_plan = (struct plan){ .n_targets = 1, .targets = &target_plan };
	run.plan = &the_plan;
	run.targets = &target;
	stop_init(&run.stop);
	assert_int_equal(results_init(&run.results, 0), 0);
	target.run = &run;
	target.plan = &target_plan;
	target.qthreads = qthreads;
	for (unsigned i = 0; i < QTHREADS; i++)
		counters_reset(&qthreads[i].counters);
	return 0;
}

static int tear_down(void **state)
{
	results_destroy(&run.results);
	stop_destroy(&run.stop);
	return 0;
}

#define RIG_TEST(name) TEST_SETUP_TEARDOWN(name, set_up, tear_down)

/* An operation has been outstanding since the one before completed, or since the first issue. */
RIG_TEST(test_longest_wait)
{
	static const struct {
		uint64_t issued, done, first_ns, last_ns, longest;
	} cases[] = {
		{ 0, 0, UINT64_MAX, 0, 0 }, { 3, 3, 1000, 2000, 0 }, { 3, 2, 1000, 2000, 7000 },
		{ 1, 0, 1500, 0, 7500 },    { 3, 2, 1000, 9000, 0 }, { 3, 2, 1000, 9001, 0 },
		{ 3, 2, 1000, 8999, 1 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct counters *c = &qthreads[1].counters;

		counters_set(&c->issued, cases[i].issued);
		atomic_store(&c->ops[DIR_READ], cases[i].done);
		counters_set(&c->first_issue_ns, cases[i].first_ns);
		counters_set(&c->last_done_ns, cases[i].last_ns);
		assert_int_equal(longest_wait(&target), cases[i].longest);
	}
	/* Of several QThreads, whichever it is; the one after their end does not count. */
	for (unsigned k = 0; k < QTHREADS; k++) {
		for (unsigned i = 0; i < QTHREADS + 1; i++) {
			struct counters *c = &qthreads[i].counters;

			counters_set(&c->issued, 1);
			atomic_store(&c->ops[DIR_READ], 0);
			counters_set(&c->last_done_ns, 0);
			counters_set(&c->first_issue_ns, i == QTHREADS ? 1 : i == k ? 5000 : 6000);
		}
		assert_int_equal(longest_wait(&target), 4000);
	}
}

/* Operations that hang have taken until now. */
RIG_TEST(test_count_hang)
{
	static const struct {
		uint64_t outstanding, last_ns, then_ns;
	} cases[] = {
		{ 0, 5000, 5000 },
		{ 1, 5000, 9000 },
		{ 1, 9000, 9000 },
		{ 1, 9500, 9500 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct figures f;

		figures_init(&f);
		f.tally.outstanding = cases[i].outstanding;
		f.tally.first_issue_ns = 1000;
		f.tally.last_done_ns = cases[i].last_ns;
		count_hang(&f, NOW_NS);
		assert_int_equal(f.tally.last_done_ns, cases[i].then_ns);
		assert_int_equal(f.elapsed_ns,
				 cases[i].then_ns == 9000 && cases[i].last_ns == 5000 ? 8000 : 0);
		figures_free(&f);
	}
}

static void opens(bool opened, const char *text)
{
	struct manager m = { .run = &run, .plan = &the_plan };

	assert_int_equal(is_open(&m), opened);
	assert_said(text);
	tear_down(NULL);
	set_up(NULL);
}

/* Before the first pass the manager waits for targets and for end-to-end connections. */
RIG_TEST(test_opens)
{
	opens(true, "open; ");
	run.opens_together = true;
	opens(true, "wait; open; ");
	run.opens_together = true;
	fake.barrier_fails = 1;
	opens(false, "wait; ");
	the_plan.drop_system_cache = true;
	opens(true, "drop; open; ");
	fake.endtoend = true;
	opens(true, "open; wait; ");
	fake.endtoend = true;
	fake.barrier_fails = 1;
	opens(false, "open; wait; ");
	run.group = (struct group *)&fake;
	opens(true, "open; wait; ");
}

/* Time that the processors' quota took during the run; another group may count from less. */
RIG_TEST(test_throttled)
{
	static const uint64_t cases[][3] = {
		{ 100, 300, 200 }, { 100, 100, 0 }, { 100, 90, 0 }, { 0, 5, 5 }
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		tear_down(state);
		set_up(state);
		run.opens_together = true;
		fake.barrier_fails = 1;
		memcpy(fake.throttled_ns, cases[i], sizeof(fake.throttled_ns));
		stop_request(&run.stop, STOP_SIGNAL, 2);
		results_main(&run);
		assert_said("wait; end; ");
		assert_int_equal(fake.written_ns, cases[i][2]);
	}
}

RUN_TESTS(NULL, NULL)
