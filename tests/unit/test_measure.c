/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Measures of coordination: src/plan/value.c.
 */
#include "plan_fixture.h"

#define PAIR "-op write -targets 2 null null -numreqs 10 -starttrigger 0 1 "

/* The measure is that many of its unit. */
static void measures(const char *words, enum measure_unit unit, uint64_t value, const char *text)
{
	char line[200], shown[64];
	const struct measure *m;

	snprintf(line, sizeof(line), PAIR "%s", words);
	good(line);
	m = &plan->targets[1].start_trigger.when;
	assert_int_equal(m->unit, unit);
	assert_int_equal(m->value, value);
	assert_string_equal(plan_measure_text(m, shown, sizeof(shown)), text);
}

static void refused(const char *words, const char *text)
{
	char line[200];

	snprintf(line, sizeof(line), PAIR "%s", words);
	bad(line, XDD_BAD_ARGUMENT, text);
}

TEST_TEARDOWN(test_read, forget_plan)
{
	measures("op 1", MEASURE_OPS, 1, "1 operation");
	measures("op 10", MEASURE_OPS, 10, "10 operations");
	measures("time 0.5", MEASURE_TIME, 500000000, "0.5 seconds");
	measures("time 0.000000001", MEASURE_TIME, 1, "1e-09 seconds");
	measures("percent 100", MEASURE_PERCENT, PLAN_RATIO_ONE, "100 percent");
	measures("percent 0.5", MEASURE_PERCENT, PLAN_RATIO_ONE / 200, "0.5 percent");
	measures("kbytes 3", MEASURE_BYTES, 3072, "3 KiB");
	measures("kbytes 1.5", MEASURE_BYTES, 1536, "1.5 KiB");
	measures("mbytes 1", MEASURE_BYTES, 1 << 20, "1024 KiB");
	measures("mbytes 2k", MEASURE_BYTES, 2048, "2 KiB");
}

/* The greatest numbers are taken, and can never be reached; those beyond are no numbers. */
TEST_TEARDOWN(test_limits, forget_plan)
{
	static const char never[] =
		"-starttrigger: never fires: needs 9223372036854775807 operations";

	refused("op 9223372036854775807", never);
	refused("op 9223372036854775808", "expected a whole number, 1 to 9223372036854775807");
	refused("op 0", "expected a whole number, 1 to 9223372036854775807");
	refused("op 1.5", "expected a whole number, 1 to 9223372036854775807");
	refused("kbytes 9007199254740991", "never fires: needs 9223372036854774784 bytes");
	refused("mbytes 9223372036854775807B", "never fires: needs 9223372036854775807 bytes");
	refused("mbytes 9223372036854775808B",
		"expected a number, up to 8796093022207, or bytes with a suffix");
	refused("kbytes 9007199254740992",
		"expected a number, up to 9007199254740991, or bytes with a suffix");
	refused("kbytes 0", "expected a number, up to 9007199254740991, or bytes with a suffix");
	refused("percent 0", "expected a percentage above 0 and up to 100");
	refused("percent 100.01", "expected a percentage above 0 and up to 100");
	refused("time 0", "-starttrigger 0: ");
	refused("bytes 5", "expected time, op, percent, mbytes or kbytes; did you mean mbytes?");
}

RUN_TESTS(set_up, remove_directory)
