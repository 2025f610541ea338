/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Progress and results of a pass while its QThreads go on: src/run/meter/meter.c. The reader is
 * interrupted between two readings of a counter.
 */
#include "unit.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "access_plan.h"
#include "run/coord/pace.h"
#include "run/meter/meter.h"
#include "run/meter/sample.h"
#include "run/qthread.h"
#include "run/run_state.h"
#include "run/target.h"
#include "xdd/stat/counters.h"
#include "xdd/stat/figures.h"
#include "xdd/stat/histogram.h"
#include "xdd/sync/wait.h"
#include "xdd/sys/clock.h"

#define QTHREADS 2u
#define TOOK_NS 100u
#define NEVER UINT_MAX

/* ---- the QThread, which counts an operation in steps ---- */

static struct target_plan target_plan;
static struct plan the_plan;
static struct run run;
static struct target target;
static struct qthread qthreads[QTHREADS];

static unsigned reads, goes_on;

static void count_begin(struct qthread *q)
{
	struct counters *c = &q->counters;

	counters_add(&c->busy_ns[DIR_READ], TOOK_NS);
	counters_publish(&c->bytes[DIR_READ], REQ);
}

static void count_end(struct qthread *q)
{
	counters_publish(&q->counters.ops[DIR_READ], 1);
	histogram_add(&q->latency[LATENCY_SERVICE][DIR_READ], TOOK_NS);
}

/* Before the reading of this number the QThread goes on. */
static void looked(void)
{
	if (reads++ == goes_on)
		count_end(&qthreads[0]);
}

/* After the memory of a result are bytes that nothing writes to. */
static unsigned char *guard;

static void *fake_calloc(size_t n, size_t bytes)
{
	guard = calloc(1, n * bytes + sizeof(struct figures));
	if (!guard)
		return NULL;
	memset(guard + n * bytes, 0xff, sizeof(struct figures));
	guard += n * bytes;
	return guard - n * bytes;
}

#define calloc fake_calloc
#undef atomic_load_explicit
#define atomic_load_explicit(word, order) (looked(), *(word))

#include "../../src/run/meter/meter.c"

static int set_up(void **state)
{
	memset(&target, 0, sizeof(target));
	memset(&run, 0, sizeof(run));
	memset(qthreads, 0, sizeof(qthreads));
	target_plan = plan_of(SEEK_SEQUENTIAL, 100);
	target_plan.qthreads = QTHREADS;
	the_plan = (struct plan){ .n_targets = 1, .targets = &target_plan, .passes = 3 };
	run.plan = &the_plan;
	run.targets = &target;
	stop_init(&run.stop);
	target.run = &run;
	target.plan = &target_plan;
	target.qthreads = qthreads;
	target.pass = 2;
	for (unsigned i = 0; i < QTHREADS; i++) {
		qthreads[i].number = i;
		qthreads[i].target = &target;
		qthreads[i].keeps_latency = true;
		for (int time = 0; time < LATENCY_TIMES; time++)
			assert_int_equal(histogram_init(qthreads[i].latency[time], DIR_COUNT), 0);
		counters_reset(&qthreads[i].counters);
	}
	access_init(&target.state.access, &target_plan, 2);
	reads = 0;
	goes_on = NEVER;
	return 0;
}

static int tear_down(void **state)
{
	for (unsigned i = 0; i < QTHREADS; i++)
		qthread_latency_free(&qthreads[i]);
	stop_destroy(&run.stop);
	return 0;
}

#define RIG_TEST(name) TEST_SETUP_TEARDOWN(name, set_up, tear_down)

/* ---- progress ---- */

static void assert_work(struct figures *f, uint64_t ops, uint64_t begun)
{
	assert_int_equal(f->tally.ops[DIR_READ], ops);
	assert_int_equal(f->tally.bytes[DIR_READ], begun * REQ);
	assert_int_equal(f->tally.busy_ns[DIR_READ], begun * TOOK_NS);
	figures_free(f);
}

/* Operations, bytes and times are of one moment, whenever the QThread goes on. */
TEST(test_one_moment)
{
	struct figures f;

	for (unsigned i = 0; i < 6u * DIR_COUNT * QTHREADS; i++) {
		set_up(state);
		count_begin(&qthreads[0]);
		goes_on = i;
		assert_int_equal(target_progress_copy(&f, &target), 0);
		assert_true(reads > i || i > 4u * DIR_COUNT);
		if (reads > i)
			assert_int_equal(f.latency.of[LATENCY_SERVICE][DIR_READ].n, 1);
		assert_work(&f, 1, 1);
		tear_down(state);
	}
}

/* The reader does not wait for ever; without histograms of all operations it does not wait. */
RIG_TEST(test_attempts)
{
	struct figures f;

	count_begin(&qthreads[0]);
	assert_int_equal(target_progress_copy(&f, &target), 0);
	assert_int_equal(reads, 4u * (COUNTER_TRIES + QTHREADS * DIR_COUNT - 1));
	assert_work(&f, 0, 1);
	for (unsigned i = 0; i < 2; i++) {
		qthreads[0].samples_latency = i;
		qthreads[0].keeps_latency = i;
		reads = 0;
		assert_int_equal(target_progress_copy(&f, &target), 0);
		assert_int_equal(reads, 4u * QTHREADS * DIR_COUNT);
		assert_work(&f, 0, 1);
	}
}

/* The histogram is copied again while it lacks operations, four times at most. */
RIG_TEST(test_latency_attempts)
{
	struct figures f;

	qthreads[0].samples_latency = true;
	counters_publish(&qthreads[0].counters.ops[DIR_READ], 2);
	assert_int_equal(target_progress_copy(&f, &target), 0);
	assert_int_equal(reads, 4u * (LATENCY_TRIES + 1) * DIR_COUNT);
	assert_work(&f, 2, 0);
}

/* ---- results ---- */

/* A QThread used `used_ns` from 1000 to 2000, and its operations took that time. */
static void use(struct qthread *q, uint64_t used_ns)
{
	struct cpu_meter *m = &q->cpu;

	*m = (struct cpu_meter){ .issued = true, .finished = true };
	m->begin.at_ns = m->first.at_ns = 1000;
	m->last.at_ns = 2000;
	m->last.used_ns = m->last.divided.user_ns = used_ns;
	q->wait_ns = 10 * used_ns;
	counters_set(&q->counters.first_issue_ns, 1000);
	counters_set(&q->counters.last_done_ns, 2000);
	counters_set(&q->counters.issued, 50);
}

/* Processor time is known once all QThreads have left the pass. */
RIG_TEST(test_cpu)
{
	const unsigned both = FIGURES_CPU | FIGURES_WAIT;

	use(&qthreads[0], 10);
	use(&qthreads[1], 30);
	for (unsigned i = 0; i < 4; i++) {
		const bool active = i & 1, queues = i & 2;
		struct pass_result *r;

		run.needs = FIGURES_WAIT | (queues ? FIGURES_QTHREADS : 0);
		atomic_store(&target.active, active);
		r = target_snapshot(&target);
		assert_true(r->pass == 2 && r->n_queues == (queues ? QTHREADS : 0));
		assert_int_equal(r->figures.known & both, active ? 0 : both);
		assert_int_equal(r->figures.cpu.user_ns, active ? 0 : 40);
		assert_int_equal(r->figures.wait_ns, active ? 0 : 400);
		for (unsigned k = 0; k < r->n_queues; k++) {
			assert_int_equal(r->queues[k].known & both, active ? 0 : both);
			assert_int_equal(r->queues[k].cpu.user_ns, active ? 0 : k ? 30 : 10);
			assert_int_equal(r->queues[k].wait_ns, active ? 0 : k ? 300 : 100);
			assert_int_equal(r->queues[k].tally.issued, 50);
		}
		for (size_t k = 0; k < sizeof(struct figures); k++)
			assert_int_equal(guard[k], 0xff);
		pass_result_free(r);
	}
}

/* A pass is partial if the run ends before all of its operations are done. */
RIG_TEST(test_partial)
{
	static const struct {
		bool stops;
		uint64_t ops, errors, warm;
		bool partial;
	} cases[] = {
		{ false, 10, 0, 0, false }, { true, 100, 0, 0, false }, { true, 99, 0, 0, true },
		{ true, 98, 2, 0, false },  { true, 97, 2, 1, false },	{ true, 97, 1, 1, true },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct counters *c = &qthreads[1].counters;
		struct pass_result *r;

		atomic_store(&c->ops[DIR_READ], cases[i].ops);
		counters_set(&c->errors, cases[i].errors);
		atomic_store(&c->warmup_ops, cases[i].warm);
		if (cases[i].stops)
			stop_request(&run.stop, STOP_SIGNAL, 2);
		r = target_snapshot(&target);
		assert_int_equal(r->partial, cases[i].partial);
		pass_result_free(r);
	}
}

RUN_TESTS(NULL, NULL)
