/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Verdicts on what held a target up: src/run/results/crosscheck.c.
 */
#include "unit.h"

#include <math.h>

#include "run/results/crosscheck.h"
#include "run/results/sums.h"

static const struct {
	const char *name;
	struct bound_facts facts;
	enum result_bound bound;
} cases[] = {
	{ "a device that is waited for",
	  { .own = .01, .kernel = .08, .outstanding = .99, .filled = .05, .device = true },
	  RESULT_BOUND_DEVICE },
	{ "the null device, one thread of two processors",
	  { .own = .98, .outstanding = .2, .filled = .49 },
	  RESULT_BOUND_GENERATOR },
	{ "many threads of its own on all processors",
	  { .own = .02, .kernel = .01, .waited = .97, .outstanding = .2, .filled = .97 },
	  RESULT_BOUND_GENERATOR },
	{ "a throttled null device",
	  { .own = .03, .outstanding = .001, .filled = .02, .paced = true },
	  RESULT_BOUND_PACED },
	{ "a throttled device with time to spare",
	  { .own = .01, .kernel = .02, .outstanding = .5, .paced = true, .device = true },
	  RESULT_BOUND_PACED },
	{ "a throttled device that cannot keep up",
	  { .own = .01, .kernel = .02, .outstanding = .99, .paced = true, .device = true },
	  RESULT_BOUND_DEVICE },
	{ "a throttled target that cannot keep up for want of a processor of its own",
	  { .own = .5,
	    .kernel = .47,
	    .outstanding = .6,
	    .filled = .97,
	    .paced = true,
	    .device = true },
	  RESULT_BOUND_GENERATOR },
	{ "others have the processors, most of the time",
	  { .own = .1, .kernel = .2, .waited = .59, .outstanding = .9, .filled = .3, .device = true },
	  RESULT_BOUND_STARVED },
	{ "others have a processor, a third of the time, and there is no device",
	  { .own = .67, .waited = .33, .outstanding = .9, .filled = .33 },
	  RESULT_BOUND_STARVED },
	{ "others and a device",
	  { .own = .01,
	    .kernel = .04,
	    .waited = .3,
	    .outstanding = .9,
	    .filled = .1,
	    .device = true },
	  RESULT_BOUND_MIXED },
	{ "a quota of 5 % of a processor",
	  { .own = .02, .kernel = .03, .waited = .94, .quota = .9, .filled = .05, .device = true },
	  RESULT_BOUND_QUOTA },
	{ "a quota of 80 % of a processor, and the null device",
	  { .own = .8, .waited = .2, .quota = .19, .filled = .8 },
	  RESULT_BOUND_QUOTA },
	{ "a quota that explains a quarter of the wait",
	  { .own = .1, .waited = .8, .quota = .2, .filled = .1 },
	  RESULT_BOUND_STARVED },
	{ "a quota and a device",
	  { .own = .05, .waited = .3, .quota = .3, .outstanding = .9, .filled = .1, .device = true },
	  RESULT_BOUND_MIXED },
	{ "others and a pace",
	  { .own = .03,
	    .waited = .3,
	    .outstanding = .3,
	    .filled = .1,
	    .paced = true,
	    .device = true },
	  RESULT_BOUND_MIXED },
	{ "half at work, half waiting for a device",
	  { .own = .2, .kernel = .3, .waited = .05, .outstanding = .9, .filled = .5, .device = true },
	  RESULT_BOUND_MIXED },
	{ "idle without a device and without a pace",
	  { .own = .5, .outstanding = .5, .filled = .3 },
	  RESULT_BOUND_UNKNOWN },
	{ "a kernel that does not report waits for processors",
	  { .own = .01, .kernel = .05, .outstanding = .99, .device = true, .waited_unknown = true },
	  RESULT_BOUND_UNKNOWN },
	{ "the same, at work all the time",
	  { .own = .5, .kernel = .45, .outstanding = .99, .device = true, .waited_unknown = true },
	  RESULT_BOUND_GENERATOR },
};

TEST(test_verdicts)
{
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		enum result_bound bound = bound_judge(&cases[i].facts);

		if (bound != cases[i].bound)
			fail_msg("%s: %d, expected %d", cases[i].name, bound, cases[i].bound);
	}
}

/* At its limit a cause holds, and next to it no more. */
static void assert_limit(double *share, double limit, struct bound_facts *f, enum result_bound at,
			 enum result_bound below)
{
	*share = limit;
	assert_int_equal(bound_judge(f), at);
	*share = nextafter(limit, 0);
	assert_int_equal(bound_judge(f), below);
}

TEST(test_limits)
{
	const double others = rule_table[RULE_BY_OTHERS].limit / 100;
	struct bound_facts f = { .device = true };

	assert_limit(&f.own, rule_table[RULE_BY_KERNEL].limit / 100, &f, RESULT_BOUND_GENERATOR,
		     RESULT_BOUND_MIXED);
	f = (struct bound_facts){ .paced = true, .device = true };
	/* Of the time in which it was idle. */
	f.outstanding = 1 - rule_table[RULE_BY_PACE].limit / 100;
	while (1 - f.outstanding < rule_table[RULE_BY_PACE].limit / 100)
		f.outstanding = nextafter(f.outstanding, 0);
	assert_int_equal(bound_judge(&f), RESULT_BOUND_PACED);
	f.outstanding = nextafter(f.outstanding, 1);
	assert_int_not_equal(bound_judge(&f), RESULT_BOUND_PACED);
	f = (struct bound_facts){ .own = .7 };
	assert_limit(&f.waited, others, &f, RESULT_BOUND_STARVED, RESULT_BOUND_UNKNOWN);
	f = (struct bound_facts){ .waited = .8, .filled = .9 };
	assert_limit(&f.quota, f.waited * rule_table[RULE_BY_QUOTA].limit / 100, &f,
		     RESULT_BOUND_QUOTA, RESULT_BOUND_UNKNOWN);
	/* A device as well: half of the time is alone, and as much as the device is both. */
	f = (struct bound_facts){ .waited = .5, .device = true };
	assert_int_equal(bound_judge(&f), RESULT_BOUND_STARVED);
	f.waited = nextafter(.5, 0);
	assert_int_equal(bound_judge(&f), RESULT_BOUND_MIXED);
	f = (struct bound_facts){ .own = .5, .waited = .25, .device = true };
	assert_int_equal(bound_judge(&f), RESULT_BOUND_MIXED);
	f.own = .5625;
	assert_int_equal(bound_judge(&f), RESULT_BOUND_STARVED);
	/* Other programs have none where this one has three quarters of all processors. */
	f = (struct bound_facts){ .own = .1, .waited = .8 };
	f.filled = nextafter(.75, 0);
	assert_int_equal(bound_judge(&f), RESULT_BOUND_STARVED);
	f.filled = .75;
	assert_int_equal(bound_judge(&f), RESULT_BOUND_GENERATOR);
}

TEST(test_stopped)
{
	assert_int_equal(stopped_part_ns(1000000000, 0), 1000000000);
	assert_int_equal(stopped_part_ns(1000000000, 400000000), 600000000);
	assert_int_equal(stopped_part_ns(1000000000, 900000000), 0);
	assert_int_equal(stopped_part_ns(1000000000, 2000000000), 0);
}

RUN_TESTS(NULL, NULL)
