/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How a run reaches the server of -timeserver: timebase_open() in src/run/run.c, with a client and
 * a clock that are made here. func/timeserver_run.py has servers.
 */
#include "said.h"
#include "unit.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "run/qthread.h"
#include "run/run_state.h"
#include "run/target.h"
#include "xdd/base/err.h"
#include "xdd/base/log.h"
#include "xdd/net/globaltime.h"
#include "xdd/plan/plan.h"
#include "xdd/run/run.h"
#include "xdd/sync/wait.h"
#include "xdd/sys/clock.h"

#define MS_NS ((uint64_t)1000000)

/* ---- what is called ---- */

static uint64_t time_ns;

static struct {
	unsigned fails; /* so many attempts do */
	int err;
	uint64_t bound_ns, took_ns;
	bool stops; /* during the wait */
	enum xdd_status status;
	unsigned ended;
} fake;

static uint64_t fake_now(void)
{
	return time_ns;
}

static void fake_calibrate(void)
{
}

static int fake_begin(struct globaltime_client **client, const struct globaltime_settings *s,
		      struct stop *stop, struct err *why)
{
	(void)stop;
	say_line("%" PRIu64 " ms: %s:%u, bounce %u, for %" PRIu64 " ms", time_ns / MS_NS, s->host,
		 s->port, s->bounce, s->timeout_ns / MS_NS);
	time_ns += fake.took_ns;
	if (!fake.fails) {
		*client = (struct globaltime_client *)&fake;
		return 0;
	}
	fake.fails--;
	return err_set(why, fake.err, "no server");
}

static void fake_end(struct globaltime_client *client)
{
	assert_ptr_equal(client, &fake);
	fake.ended++;
}

static void fake_get(struct globaltime_client *client, uint64_t now_ns, struct globaltime *g)
{
	assert_ptr_equal(client, &fake);
	assert_int_equal(now_ns, time_ns);
	*g = (struct globaltime){ .bound_ns = fake.bound_ns, .offset_ns = 5 };
}

static int fake_sleep(struct stop *stop, uint64_t until_ns)
{
	(void)stop;
	time_ns = until_ns;
	return fake.stops ? -ECANCELED : 0;
}

static enum xdd_status fake_check(const struct plan *plan, uint64_t now_ns, const char *server)
{
	(void)plan, (void)server;
	assert_int_equal(now_ns, time_ns + 5);
	return fake.status;
}

static const char *fake_server(const struct globaltime_client *client)
{
	(void)client;
	return "server";
}

static void fake_warn(const struct plan *plan, uint64_t now_ns)
{
	(void)plan;
	say_line("%" PRIu64 " ms: triggers", now_ns / MS_NS);
}

__attribute__((format(printf, 2, 3))) static enum xdd_status fake_log(enum xdd_status status,
								      const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vsay_line(fmt, args);
	va_end(args);
	return status;
}

#define clock_now_ns fake_now
#define clock_calibrate fake_calibrate
#define globaltime_begin fake_begin
#define globaltime_end fake_end
#define globaltime_get fake_get
#define globaltime_server fake_server
#define stop_sleep_until fake_sleep
#define plan_check_start_time fake_check
#define plan_warn_trigger_times fake_warn
#undef log_fail
#define log_fail fake_log

#include "../../src/run/run.c"

static struct plan the_plan;
static struct globaltime_client *got;

static int begin_test(void **state)
{
	memset(&fake, 0, sizeof(fake));
	said[0] = '\0';
	time_ns = 1000 * MS_NS;
	fake.err = -ECONNREFUSED;
	the_plan.timeserver = (struct timeserver_options){
		.host = "h", .port = 7, .bounce = 3, .wait_ns = 1000 * MS_NS
	};
	got = NULL;
	return 0;
}

static enum xdd_status reached(void)
{
	return timebase_open(&the_plan, NULL, &got);
}

#define FAILS "-timeserver h: no server\n"
#define TO "ms: h:7, bounce 3, for "

/* It tries again each fifth of a second, as long as a next attempt begins in the time. */
TEST_SETUP(test_attempts, begin_test)
{
	fake.fails = 99;
	assert_int_equal(reached(), XDD_INIT_FAILED);
	assert_said("1000 " TO "1000 ms\n1200 " TO "800 ms\n1400 " TO "600 ms\n1600 " TO
		    "400 ms\n1800 " TO "200 ms\n" FAILS);
	the_plan.timeserver.wait_ns = 0;
	assert_int_equal(reached(), XDD_INIT_FAILED);
	assert_said("1800 " TO "0 ms\n" FAILS);
	the_plan.timeserver.wait_ns = 201 * MS_NS;
	assert_int_equal(reached(), XDD_INIT_FAILED);
	assert_said("1800 " TO "201 ms\n2000 " TO "1 ms\n" FAILS);
	/* The time of an attempt counts. */
	fake.took_ns = 300 * MS_NS;
	the_plan.timeserver.wait_ns = 600 * MS_NS;
	assert_int_equal(reached(), XDD_INIT_FAILED);
	assert_said("2000 " TO "600 ms\n2500 " TO "100 ms\n" FAILS);
	fake.fails = 2;
	fake.took_ns = 0;
	assert_int_equal(reached(), XDD_OK);
	assert_said("2800 " TO "600 ms\n3000 " TO "400 ms\n3200 " TO "200 ms\n3200 ms: triggers\n");
	assert_ptr_equal(got, &fake);
}

TEST_SETUP(test_canceled, begin_test)
{
	fake.fails = 99;
	fake.stops = true;
	assert_int_equal(reached(), XDD_CANCELED);
	assert_said("1000 " TO "1000 ms\n");
	fake.stops = false;
	fake.err = -ECANCELED;
	assert_int_equal(reached(), XDD_CANCELED);
	assert_said("1200 " TO "1000 ms\n");
	assert_null(got);
	the_plan.timeserver.host = NULL;
	assert_int_equal(reached(), XDD_OK);
	assert_said("");
}

/* -timeserver maxerror, and times that have passed: the client does not remain. */
TEST_SETUP(test_inexact, begin_test)
{
	the_plan.timeserver.wait_ns = 0;
	the_plan.timeserver.max_error_ns = 2 * MS_NS;
	fake.bound_ns = 2 * MS_NS;
	assert_int_equal(reached(), XDD_OK);
	assert_true(got && !fake.ended);
	said[0] = '\0';
	fake.bound_ns++;
	assert_int_equal(reached(), XDD_INIT_FAILED);
	assert_true(!got && fake.ended == 1);
	assert_said("1000 " TO "0 ms\n-timeserver h: the global clock is known within 2.000001 ms "
		    "only, and maxerror allows 2.000000 ms; use more -timeserver bounce, a quieter "
		    "network, or -timeserver wait\n");
	the_plan.timeserver.max_error_ns = 0;
	assert_int_equal(reached(), XDD_OK);
	fake.status = XDD_BAD_ARGUMENT;
	said[0] = '\0';
	assert_int_equal(reached(), XDD_BAD_ARGUMENT);
	assert_true(!got && fake.ended == 2);
	assert_said("1000 " TO "0 ms\n");
}

RUN_TESTS(NULL, NULL)
