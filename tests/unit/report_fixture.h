/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Common parts of the tests of the report: a directory to run in, files, standard streams that are
 * caught, and a plan with two targets.
 */
#ifndef REPORT_FIXTURE_H
#define REPORT_FIXTURE_H

#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "scratch.h"
#include "xdd/report/report.h"

#define MAX_TEXT 65536
#define HEADER "WHAT,OPS,BANDWIDTH\n"
#define FORMAT "+WHAT+OPS+BANDWIDTH"
#define PASS_LINE "QUEUE_PASS,10,0.041\n"
#define COMBINED_LINE "COMBINED,10,0.041\n"

static inline void put_file(const char *name, const char *text)
{
	FILE *f = fopen(name, "w");

	assert_non_null(f);
	assert_true(fputs(text, f) >= 0);
	assert_int_equal(fclose(f), 0);
}

static inline const char *get_file(const char *name)
{
	static char text[MAX_TEXT];
	FILE *f = fopen(name, "r");
	size_t n;

	if (!f)
		fail_msg("%s: %s", name, strerror(errno));
	n = fread(text, 1, sizeof(text) - 1, f);
	text[n] = '\0';
	fclose(f);
	return text;
}

static inline void assert_holds(const char *text, const char *part)
{
	if (!strstr(text, part))
		fail_msg("\"%s\" is not in:\n%s", part, text);
}

static inline void assert_lacks(const char *text, const char *part)
{
	if (strstr(text, part))
		fail_msg("\"%s\" is in:\n%s", part, text);
}

/* Let `fd` be the file `name` until restore_fd(); returns what restore_fd() wants. */
static inline int redirect_fd(int fd, const char *name)
{
	int saved = dup(fd), to = open(name, O_RDWR | O_CREAT | O_TRUNC | O_NOCTTY, 0600);

	fflush(stdout);
	assert_true(saved >= 0 && to >= 0);
	assert_int_equal(dup2(to, fd), fd);
	close(to);
	return saved;
}

static inline void restore_fd(int fd, int saved)
{
	assert_int_equal(dup2(saved, fd), fd);
	close(saved);
}

static struct target_plan targets[2] = {
	{ .number = 0,
	  .name = "x",
	  .dir = "/data/",
	  .path = "/data/x",
	  .kind = TARGET_MISSING,
	  .op = OP_READ,
	  .block_size = 1024,
	  .req_blocks = 4,
	  .req_bytes = 4096,
	  .queue_depth = 4,
	  .qthreads = 4,
	  .pass_ops = 1000,
	  .pass_bytes = 4096000,
	  .seek.pattern = SEEK_SEQUENTIAL },
	{ .number = 1,
	  .name = "null",
	  .dir = "",
	  .path = "null",
	  .kind = TARGET_NULL,
	  .op = OP_MIXED,
	  .read_ratio = 75 * (PLAN_RATIO_ONE / 100),
	  .block_size = 512,
	  .req_blocks = 8,
	  .req_bytes = 4096,
	  .queue_depth = 1,
	  .qthreads = 1,
	  .pass_ops = PLAN_UNLIMITED,
	  .pass_bytes = PLAN_UNLIMITED,
	  .time_limit_ns = 2500000000,
	  .start_bytes = 1048576,
	  .range_bytes = 8192,
	  .direct_io = true,
	  .seek = { .pattern = SEEK_INTERLEAVE, .interleave = 2 } },
};

static inline struct plan sample_plan(void)
{
	return (struct plan){ .passes = 3,
			      .qthread_info = true,
			      .columns_chosen = true,
			      .output_format = FORMAT,
			      .n_targets = 2,
			      .targets = targets };
}

static const struct result sample = {
	.what = RESULT_QUEUE_PASS,
	.pass = 1,
	.queue = 4,
	.figures = { .known = FIGURES_ALL,
		     .tally = { .ops = { 10 }, .bytes = { 40960 }, .busy_ns = { 1000000000 } },
		     .elapsed_ns = 1000000000 },
	.processors = 1,
	.op = OP_READ,
	.req_bytes = 4096,
	.block_size = 1024,
};

/* A run with one pass line and its COMBINED line; returns how closing it went. */
static inline enum xdd_status run_report(const struct plan *plan)
{
	struct result combined = sample;
	struct report *r;
	enum xdd_status status = report_open(plan, &r);

	if (status)
		return status;
	combined.what = RESULT_COMBINED;
	report_result(r, &sample);
	report_result(r, &combined);
	report_trailer(r, REPORT_END_NORMAL);
	return report_close(r);
}

/* The message of a call that fails with `want`. */
static inline const char *error_of(enum xdd_status (*call)(const struct plan *),
				   const struct plan *plan, enum xdd_status want)
{
	int saved = redirect_fd(STDERR_FILENO, "stderr");
	enum xdd_status status = call(plan);
	const char *text;

	restore_fd(STDERR_FILENO, saved);
	text = get_file("stderr");
	if (status != want)
		fail_msg("status %d, not %d: %s", status, want, text);
	if (want) {
		assert_non_null(strchr(text, '\n'));
		assert_string_equal(strchr(text, '\n'), "\n");
	} else {
		assert_string_equal(text, "");
	}
	return text;
}

#define assert_refused(plan, message) \
	assert_string_equal(error_of(report_check, plan, XDD_BAD_ARGUMENT), "xdd: " message "\n")
#define assert_accepted(plan) error_of(report_check, plan, XDD_OK)

#define FIXTURE_TEST(name) TEST_SETUP_TEARDOWN(name, enter_directory, remove_directory)

#endif
