/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The clock against a counter whose rate is not what it seemed: an hour of a paced pass, in
 * simulated time.
 *
 * The sources are compiled into this test, with a counter, a kernel clock and a futex of its own in
 * the place of the machine's.
 */
#include "unit.h"

#include <errno.h>
#include <inttypes.h>
#include <linux/futex.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define S 1000000000ull
#define TICKS_A_NS 2.4
#define READING_NS 50 /* each reading of a clock takes so long */
#define STALL_NS 1000
#define WAKE_UP_NS 5000 /* from a timer to the thread that it wakes */

static struct {
	uint64_t ns;
	double ticks;
	double seconds_of_cycle; /* the rate changes that fast; 0: it does not */
	double ppm;		 /* and so much; a constant rate is off by it after `changes_ns` */
	uint64_t changes_ns;
	uint64_t sleeps;
	uint64_t wall_ns;   /* from its clock to the time of day */
	unsigned stalls_at; /* this reading, counted down, takes STALL_NS more */
} machine;

static double ppm_now(void)
{
	if (machine.seconds_of_cycle > 0)
		return machine.ppm * sin(2 * 3.14159265358979 * (double)machine.ns / 1e9 /
					 machine.seconds_of_cycle);
	return machine.ns < machine.changes_ns ? 0 : machine.ppm;
}

static void pass_time(uint64_t ns)
{
	machine.ticks += (double)ns * TICKS_A_NS * (1 + ppm_now() / 1e6);
	machine.ns += ns;
}

static uint64_t simulated_tsc(void)
{
	pass_time(READING_NS);
	return (uint64_t)machine.ticks;
}

static int simulated_gettime(clockid_t which, struct timespec *ts)
{
	uint64_t ns;

	if (machine.stalls_at && --machine.stalls_at == 0)
		pass_time(STALL_NS);
	pass_time(READING_NS);
	ns = machine.ns + (which == CLOCK_REALTIME ? machine.wall_ns : 0);
	ts->tv_sec = (time_t)(ns / S);
	ts->tv_nsec = (long)(ns % S);
	return 0;
}

/* A futex that no thread wakes. */
static long simulated_sleep(const struct timespec *until)
{
	uint64_t at = (uint64_t)until->tv_sec * S + (uint64_t)until->tv_nsec;

	machine.sleeps++;
	pass_time(at > machine.ns ? at - machine.ns : 0);
	pass_time(WAKE_UP_NS);
	return -1;
}

static int simulated_prctl(int value)
{
	return value < 0;
}

static char *simulated_source(const char *path, char *buf, size_t size)
{
	(void)path;
	assert_true(size > 4);
	return strcpy(buf, "tsc");
}

#define __builtin_ia32_rdtsc simulated_tsc
#define clock_gettime simulated_gettime
#define syscall(number, word, op, value, until, ...) \
	((void)(word), (void)(value), simulated_sleep(until))
#define sysfile_line simulated_source
#define prctl(option, value) simulated_prctl(value)

#include "../../src/run/coord/pace.c"
#include "../../src/sync/wait.c"
#include "../../src/sys/clock.c"

#undef syscall

/* The results of a pass of an hour. */
struct hour {
	uint64_t worst_response_ns;
	uint64_t worst_difference_ns; /* to the kernel's clock, after the first second */
	uint64_t most_sleeps;	      /* of an operation */
};

static uint64_t most(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/*
 * Bring the counter into use as main does, on a machine whose rate is off by `wrong_ppm` while that
 * is done.
 */
static void start_clock(double wrong_ppm)
{
	double ppm = machine.ppm;

	machine.ppm = wrong_ppm;
	memset(&clock_state, 0, sizeof(clock_state));
	memset(&follower, 0, sizeof(follower));
	clock_start();
	clock_calibrate();
	machine.ppm = ppm;
	assert_string_equal(clock_source(), "TSC");
}

/*
 * An operation per second on a device that takes no time; `follows`: as the results manager sees to
 * it.
 */
static struct hour pace_hour(bool follows)
{
	static struct target target;
	static struct run run;
	uint64_t again_ns = 0, start;
	struct hour found = { 0 };

	stop_init(&run.stop);
	target.run = &run;
	start = clock_now_ns();
	for (uint64_t i = 1; i <= 3600; i++) {
		uint64_t due = start + i * S, before = machine.sleeps, now;
		int64_t difference;

		throttle_sleep_until(&target, due);
		now = clock_now_ns();
		assert_true(now >= due);
		found.worst_response_ns = most(found.worst_response_ns, now - due);
		found.most_sleeps = most(found.most_sleeps, machine.sleeps - before);
		difference = (int64_t)(now - machine.ns);
		found.worst_difference_ns =
			most(found.worst_difference_ns, (uint64_t)llabs(difference));
		while (follows && again_ns <= machine.ns)
			again_ns = clock_resync();
	}
	stop_destroy(&run.stop);
	return found;
}

static bool has_counter(void)
{
#if defined(__x86_64__)
	return true;
#else
	return false;
#endif
}

TEST(test_hour)
{
	static const struct {
		double at_first, ppm, seconds_of_cycle;
		uint64_t changes_s;
	} cases[] = {
		{ 50, 0, 0, 0 },   { -50, 0, 0, 0 },  { 0, 50, 0, 60 },
		{ 0, -50, 0, 60 }, { 0, 50, 900, 0 }, { 300, 0, 0, 0 },
	};

	if (!has_counter())
		skip();
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		for (int follows = 0; follows < 2; follows++) {
			struct hour found;

			memset(&machine, 0, sizeof(machine));
			machine.ns = 5 * S;
			machine.ppm = cases[i].ppm;
			machine.seconds_of_cycle = cases[i].seconds_of_cycle;
			machine.changes_ns = cases[i].changes_s * S;
			start_clock(cases[i].at_first);
			found = pace_hour(follows);
			/* Spinning with system calls shows as well as late wake-ups. */
			assert_in_range(found.worst_response_ns, 0, 100000);
			assert_in_range(found.most_sleeps, 1, 10);
			if (follows)
				assert_in_range(found.worst_difference_ns, 0, 500000);
		}
	}
}

/* The clock goes forwards and deadlines of sleeps are met, however the counter behaves. */
TEST(test_never_back)
{
	struct clock_reader reader = { 0 };
	uint64_t last;

	if (!has_counter())
		skip();
	memset(&machine, 0, sizeof(machine));
	machine.ns = 5 * S;
	start_clock(100);
	last = clock_now_ns();
	for (int i = 0; i < 200000; i++) {
		uint64_t now;

		/*
		 * Every 20 s of 200 the rate changes, at last by far more than any counter that is
		 * constant.
		 */
		if (i % 20000 == 0)
			machine.ppm = i < 180000 ? (i / 20000 % 2 ? 400 : -400) : 50000;
		pass_time(1000000);
		if (i % 7 == 0)
			clock_resync();
		now = i % 2 ? clock_now_ns() : clock_reader_now_ns(&reader);
		assert_true(now > last);
		assert_true(i == 0 || now - last < 10000000);
		last = now;
	}
	assert_string_equal(clock_source(), "vDSO");
}

/* The counter is compared with the clock for as long as it takes to know its rate, and once. */
TEST(test_calibrate)
{
	const struct clock_pair first = first_pair;
	uint64_t before;

	if (!has_counter())
		skip();
	memset(&machine, 0, sizeof(machine));
	machine.ns = before = 5 * S;
	start_clock(0);
	/* Pairs of readings at both ends add to it. */
	assert_in_range(machine.ns - before, BASELINE_NS,
			BASELINE_NS + 2 * PAIR_TRIES * 3 * READING_NS);
	/* A counter that does not run with the clock is not tried again, nor is none. */
	follower.scale.mult = 0;
	before = machine.ns;
	clock_calibrate();
	memset(&first_pair, 0, sizeof(first_pair));
	memset(&follower, 0, sizeof(follower));
	clock_calibrate();
	assert_int_equal(machine.ns, before);
	first_pair = first;
}

/* The time of day by the clock: of several readings the one that nothing disturbed. */
TEST(test_wall_offset)
{
	const int64_t wall = 1700000000 * (int64_t)S + 123456789;

	if (!has_counter())
		skip();
	for (unsigned stalls_at = 0; stalls_at <= PAIR_TRIES; stalls_at++) {
		memset(&machine, 0, sizeof(machine));
		machine.ns = 5 * S;
		machine.wall_ns = (uint64_t)wall;
		start_clock(0);
		machine.stalls_at = stalls_at;
		/* Ticks are rounded to nanoseconds. */
		assert_in_range(clock_wall_offset_ns() - wall + 3, 0, 6);
	}
}

/* The time of the kernel's clock at which a wait ends. */
TEST(test_deadline)
{
	struct timespec at;
	uint64_t now;

	if (!has_counter())
		skip();
	memset(&machine, 0, sizeof(machine));
	machine.ns = 5 * S;
	start_clock(0);
	now = clock_now_ns();
	at = clock_deadline(now + S);
	/* The clock is read after the kernel's. */
	assert_in_range((uint64_t)at.tv_sec * S + (uint64_t)at.tv_nsec + READING_NS - now - S + 3,
			0, 6);
	at = clock_deadline(now);
	assert_int_equal((uint64_t)at.tv_sec * S + (uint64_t)at.tv_nsec, machine.ns - READING_NS);
}

/* ---- scales: two ticks per nanosecond ---- */

#define TICKS 2
#define RATE (1ull << 31)
#define MS 1000000ull

static struct clock_pair pair_at(uint64_t ns)
{
	return (struct clock_pair){ 1000 + TICKS * ns, 10 * S + ns };
}

static struct clock_follower begun(void)
{
	const struct clock_pair first = pair_at(0), now = pair_at(MS);
	struct clock_follower f;

	assert_int_equal(clock_follower_begin(&f, &first, &now), 0);
	return f;
}

static void assert_scale(const struct clock_scale *s, uint64_t tsc, uint64_t ns, uint64_t mult)
{
	assert_int_equal(s->tsc, tsc);
	assert_int_equal(s->ns, ns);
	assert_int_equal(s->span, TICKS * S);
	assert_int_equal(s->mult, mult);
	assert_int_equal(s->mult_after, RATE);
}

TEST(test_first_scale)
{
	static const struct {
		uint64_t tsc, ns;
		int err;
	} cases[] = {
		{ 101, 51, 0 },	      { 100, 51, -EINVAL }, { 99, 51, -EINVAL },
		{ 101, 50, -EINVAL }, { 101, 49, -EINVAL },
	};
	struct clock_follower f = begun();

	assert_scale(&f.scale, pair_at(MS).tsc, 10 * S + MS, RATE);
	assert_int_equal(f.older.tsc, 1000);
	assert_int_equal(f.newer.tsc, pair_at(MS).tsc);
	assert_int_equal(f.began_ns, 10 * S + MS);
	assert_int_equal(f.last_ns, 10 * S + MS);
	assert_int_equal(f.mult, RATE);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct clock_pair from = { 100, 50 }, to = { cases[i].tsc, cases[i].ns };

		assert_int_equal(clock_follower_begin(&f, &from, &to), cases[i].err);
	}
	assert_true(is_plausible(1000999, 1000000));
	assert_false(is_plausible(1001000, 1000000));
	assert_true(is_plausible(999001, 1000000));
	assert_false(is_plausible(999000, 1000000));
	assert_false(is_plausible(0, 0));
}

/* The next scale begins 1 ms later, without a step, and removes the difference within a second. */
TEST(test_next_scale)
{
	static const struct {
		int64_t off_ns, slewed;
	} cases[] = {
		{ 0, 0 },
		{ 100, 214 },
		{ -100, -214 },
		{ 199999, 429494 },
		{ 200000, 429496 },
		{ 200001, 429496 },
		{ 1000000, 429496 },
		{ -199999, -429494 },
		{ -200000, -429496 },
		{ -200001, -429496 },
	};
	struct clock_follower f = begun();
	struct clock_pair now = pair_at(6 * MS - 1);

	assert_int_equal(clock_follow(&f, &now), -EAGAIN);
	assert_scale(&f.scale, pair_at(MS).tsc, 10 * S + MS, RATE);
	now = pair_at(6 * MS);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		f = begun();
		f.scale.ns -= (uint64_t)cases[i].off_ns;
		assert_int_equal(clock_follow(&f, &now), 0);
		assert_scale(&f.scale, pair_at(7 * MS).tsc,
			     10 * S + 7 * MS - (uint64_t)cases[i].off_ns,
			     RATE + (uint64_t)cases[i].slewed);
		assert_int_equal(f.last_ns, now.ns);
	}
}

/* The rate is measured from a pair that is 1 s to 2 s old. */
TEST(test_window)
{
	struct clock_follower f = begun();
	struct clock_pair now = pair_at(S + MS - 1);

	assert_int_equal(clock_follow(&f, &now), 0);
	assert_int_equal(f.older.ns, 10 * S);
	assert_int_equal(f.newer.ns, 10 * S + MS);
	f = begun();
	now = pair_at(S + MS);
	assert_int_equal(clock_follow(&f, &now), 0);
	assert_int_equal(f.older.ns, 10 * S + MS);
	assert_int_equal(f.newer.ns, 11 * S + MS);
	assert_int_equal(f.newer.tsc, now.tsc);
}

/* A counter with another rate is not used any more; the clock goes on 1 ms ahead. */
TEST(test_without_counter)
{
	static const struct {
		uint64_t tsc, shown_ns;
	} cases[] = { { 99, 1000 }, { 100, 1000 }, { 102, 1001 }, { 300, 1100 } };
	const struct clock_scale old = { 100, 1000, TICKS * S, RATE, RATE };
	struct clock_follower f = begun();
	struct clock_pair now = pair_at(20 * MS);

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct clock_pair at = { cases[i].tsc, 50 };
		const struct clock_scale s = without_counter(&old, &at);

		assert_int_equal(s.ns + 50, cases[i].shown_ns + MS);
		assert_int_equal(s.mult, 0);
	}
	f.mult = RATE + RATE / 500;
	assert_int_equal(clock_follow(&f, &now), 0);
	assert_int_equal(f.scale.mult, 0);
	assert_int_equal(f.scale.ns, MS);
	assert_true(clock_follow_again_ns(&f) == UINT64_MAX);
	now = pair_at(40 * MS);
	assert_int_equal(clock_follow(&f, &now), -EAGAIN);
}

TEST(test_follow_again)
{
	static const struct {
		uint64_t age_ns, wait_ns;
	} cases[] = {
		{ 0, 10 * MS },	      { 10 * MS, 10 * MS }, { 10 * MS + 1, 10 * MS + 1 },
		{ 20 * MS, 20 * MS }, { S - 1, S - 1 },	    { S, S },
		{ S + 1, S },	      { 3600 * S, S },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct clock_follower f = begun();

		f.last_ns = f.began_ns + cases[i].age_ns;
		assert_int_equal(clock_follow_again_ns(&f), f.last_ns + cases[i].wait_ns);
	}
}

#define READINGS 10000

static atomic_bool torn_over;
static _Atomic uint64_t torn_readings;

/* All readings of these scales are the same, unless a part is of one and a part of the other. */
static void *publish_pairs(void *arg)
{
	(void)arg;
	/* The reader may get a processor only after that. */
	for (uint64_t turn = 0; turn < 1000000 || atomic_load(&torn_readings) < READINGS; turn++) {
		/* Slots are used in another cycle. */
		uint64_t shift = turn % 3 * 7777;

		publish(&(struct clock_scale){ .tsc = 1000 + shift,
					       .ns = 50000 + shift,
					       .span = 1ull << 40,
					       .mult = 1ull << 32,
					       .mult_after = 1ull << 32 });
	}
	atomic_store(&torn_over, true);
	return NULL;
}

TEST(test_concurrent_readers)
{
	struct clock_reader reader = { 0 };
	uint64_t wrong = 0;
	pthread_t writer;

	if (!has_counter())
		skip();
	memset(&machine, 0, sizeof(machine));
	machine.ticks = 1000000;
	publish(&(struct clock_scale){ 1000, 50000, 1ull << 40, 1ull << 32, 1ull << 32 });
	publish(&(struct clock_scale){ 1000, 50000, 1ull << 40, 1ull << 32, 1ull << 32 });
	assert_int_equal(pthread_create(&writer, NULL, publish_pairs, NULL), 0);
	for (unsigned i = 0; !atomic_load(&torn_over); i++) {
		double before = machine.ticks;
		uint64_t now = i % 2 ? clock_now_ns() : clock_reader_now_ns(&reader);

		/* A reading that was disturbed reads the counter again. */
		wrong += now < (uint64_t)before - 1000 + 50000 ||
			 now > (uint64_t)machine.ticks - 1000 + 50000;
		atomic_fetch_add(&torn_readings, 1);
	}
	pthread_join(writer, NULL);
	assert_int_equal(wrong, 0);
}

RUN_TESTS(NULL, NULL)
