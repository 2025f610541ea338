/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Progress for programs: src/report/heartbeat.c.
 */
#include "unit.h"

#include <errno.h>
#include <string.h>

#include "xdd/report/heartbeat.h"

static const struct progress_line sample = {
	.state = PROGRESS_RUNNING,
	.pass = 2,
	.passes = 3,
	.done_ppm = 425000,
	.bytes = UINT64_MAX,
	.ops = 17,
	.elapsed_ns = 1500000000,
	.left_s = -1,
};

static const char line[] = "@xdd 1 running pass=2 passes=3 done=425000 bytes=18446744073709551615 "
			   "ops=17 elapsed=1500000000 left=-1";

TEST(test_both_ways)
{
	char text[PROGRESS_LINE_SIZE];
	struct progress_line got;
	size_t length = progress_line_encode(&sample, text);

	assert_int_equal(length, strlen(line) + 1);
	assert_int_equal(text[length - 1], '\n');
	text[length - 1] = '\0';
	assert_string_equal(text, line);
	assert_int_equal(progress_line_decode(text, &got), 0);
	assert_memory_equal(&got, &sample, sizeof(got));
}

/* The longest line fits. */
TEST(test_longest)
{
	const struct progress_line most = { PROGRESS_RUNNING, UINT64_MAX, UINT64_MAX, 1000000,
					    UINT64_MAX,	      UINT64_MAX, UINT64_MAX, INT64_MAX };
	char text[PROGRESS_LINE_SIZE];

	assert_true(progress_line_encode(&most, text) < sizeof(text));
}

TEST(test_others)
{
	static const char *const texts[] = { "", "xdd: error", "@", "@xdd", "@xd 1 ready" };
	struct progress_line got;

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		assert_int_equal(progress_line_decode(texts[i], &got), -ENOMSG);
}

TEST(test_malformed)
{
	static const char *const texts[] = {
		"@xdd ",
		"@xdd 2 ready",
		"@xdd 1 asleep pass=1 passes=1 done=0 bytes=0 ops=0 elapsed=0 left=0",
		"@xdd 1 ready pass=-1 passes=1 done=0 bytes=0 ops=0 elapsed=0 left=0",
		"@xdd 1 ready pass=1 passes=1 done=1000001 bytes=0 ops=0 elapsed=0 left=0",
		"@xdd 1 ready pass=1 passes=1 done=0 bytes=18446744073709551616 ops=0 elapsed=0 "
		"left=0",
		"@xdd 1 ready pass=1 passes=1 done=0 bytes=0 ops=0 elapsed=0 left=-2",
		"@xdd 1 ready pass=1 passes=1 done=0 bytes=0 ops=0 elapsed=0 "
		"left=9223372036854775808",
		"@xdd 1 ready pass= passes=1 done=0 bytes=0 ops=0 elapsed=0 left=0",
	};
	struct progress_line got;
	char text[sizeof(line) + 1];

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		assert_int_equal(progress_line_decode(texts[i], &got), -EBADMSG);
	/* Each prefix that has more than the mark, and more than the line. */
	for (size_t n = 5; n < sizeof(line) - 1; n++) {
		memcpy(text, line, n);
		text[n] = '\0';
		assert_int_equal(progress_line_decode(text, &got), -EBADMSG);
	}
	memcpy(text, line, sizeof(line) - 1);
	strcpy(text + sizeof(line) - 1, " ");
	assert_int_equal(progress_line_decode(text, &got), -EBADMSG);
}

RUN_TESTS(NULL, NULL)
