/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Plans in one process, one after another: src/commands/run.c and the sink of a report.
 */
#include "unit.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "commands/commands.h"
#include "leftovers.h"
#include "xdd/base/log.h"
#include "xdd/base/units.h"
#include "xdd/sys/clock.h"

#define RUNS 50
#define RUNS_LONG 5000

/* One runner for all tests: its signals can be started once in a process. */
static struct runner runner;

struct seen {
	unsigned results[RESULT_COMBINED + 1];
	unsigned statistics, ends;
	uint64_t ops, latencies, failures;
	struct report_failure failure; /* the last one; without its text */
	enum report_end end;
};

static void see_result(void *arg, const struct result *result)
{
	struct histogram_view v =
		latency_view(&result->figures.latency, LATENCY_SERVICE, LATENCY_ALL_DIRS);
	struct seen *seen = arg;

	seen->results[result->what]++;
	if (result->what != RESULT_COMBINED)
		return;
	seen->ops = tally_ops(&result->figures.tally);
	seen->latencies = result->figures.known & FIGURES_LATENCY ? histogram_count(&v) : 0;
}

static void see_statistics(void *arg, const struct pass_statistics *statistics)
{
	struct seen *seen = arg;

	(void)statistics;
	seen->statistics++;
}

static void see_failure(void *arg, const struct report_failure *failure)
{
	struct seen *seen = arg;

	assert_string_equal(failure->why, "END-OF-FILE");
	seen->failures++;
	seen->failure = *failure;
	seen->failure.why = NULL;
}

static void see_end(void *arg, enum report_end end)
{
	struct seen *seen = arg;

	seen->ends++;
	seen->end = end;
}

static struct report_sink sink_of(struct seen *seen, unsigned needs)
{
	*seen = (struct seen){ .ends = 0 };
	return (struct report_sink){ .arg = seen,
				     .needs = needs,
				     .result = see_result,
				     .statistics = see_statistics,
				     .failure = see_failure,
				     .end = see_end };
}

static enum xdd_status run_words(const char *const *words, unsigned needs, struct seen *seen)
{
	struct report_sink sink = sink_of(seen, needs);
	struct plan *plan;
	enum xdd_status status = runner_plan(words, &plan);

	if (!status)
		status = runner_run(&runner, plan, &sink);
	plan_free(plan);
	return status;
}

TEST(test_values)
{
	static const char *const words[] = { "xdd",	"-op",	"read",	    "-targets",
					     "-2",	"null", "-numreqs", "100",
					     "-passes", "3",	"-verbose", NULL };
	struct seen seen;

	assert_int_equal(run_words(words, FIGURES_LATENCY | FIGURES_PASSES, &seen), XDD_OK);
	assert_int_equal(seen.results[RESULT_QUEUE_PASS], 0);
	assert_int_equal(seen.results[RESULT_TARGET_PASS], 6);
	assert_int_equal(seen.results[RESULT_TARGET_AVERAGE], 2);
	assert_int_equal(seen.results[RESULT_COMBINED], 1);
	assert_int_equal(seen.statistics, 3);
	assert_int_equal(seen.ops, 600);
	assert_int_equal(seen.latencies, 600);
	assert_int_equal(seen.ends, 1);
	assert_int_equal(seen.end, REPORT_END_NORMAL);
}

/* The run measures only the figures that the sink needs. */
TEST(test_needs)
{
	static const char *const words[] = { "xdd",  "-op",	 "read", "-target",
					     "null", "-numreqs", "10",	 NULL };
	struct seen seen;

	assert_int_equal(run_words(words, 0, &seen), XDD_OK);
	assert_int_equal(seen.ops, 10);
	assert_int_equal(seen.latencies, 0);
	assert_int_equal(seen.statistics, 0);
	assert_int_equal(run_words(words, FIGURES_QTHREADS, &seen), XDD_OK);
	assert_int_equal(seen.results[RESULT_QUEUE_PASS], 1);
}

/* An operation that fails is passed with its offset, and is no message. */
TEST(test_failure)
{
	char name[] = "runner-XXXXXX";
	int fd = mkstemp(name);
	const char *const words[] = { "xdd", "-op",	 "read", "-target",    name, "-reqsize",
				      "4",   "-numreqs", "3",	 "-timelimit", "60", NULL };
	struct seen seen;

	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, 8192), 0);
	assert_int_equal(run_words(words, 0, &seen), XDD_IO_ERROR);
	close(fd);
	unlink(name);
	assert_int_equal(seen.end, REPORT_END_ERRORS);
	assert_int_equal(seen.ops, 2);
	assert_int_equal(seen.failures, 1);
	assert_int_equal(seen.failure.offset, 8192);
	assert_int_equal(seen.failure.bytes, 4096);
	assert_false(seen.failure.write);
}

/* Processors, priority and locked memory are those of the process again. */
TEST(test_placement)
{
	static const char *const words[] = { "xdd",  "-op",	     "read",	"-target",
					     "null", "-numreqs",     "10",	"-singleproc",
					     "0",    "-processlock", "-maxpri", NULL };
	cpu_set_t before, after;
	struct seen seen;

	assert_int_equal(sched_getaffinity(0, sizeof(before), &before), 0);
	if (!CPU_ISSET(0, &before) || CPU_COUNT(&before) < 2)
		skip();
	log_hold();
	assert_int_equal(run_words(words, 0, &seen), XDD_OK);
	log_drop(0);
	log_release();
	assert_int_equal(sched_getaffinity(0, sizeof(after), &after), 0);
	assert_true(CPU_EQUAL(&before, &after));
	assert_int_equal(sched_getscheduler(0), SCHED_OTHER);
}

/* A plan that is refused leaves nothing, and the next one runs. */
TEST(test_refused)
{
	static const char *const bad[] = { "xdd",  "-op",      "read", "-target",
					   "null", "-reqsize", "0",    NULL };
	static const char *const missing[] = { "xdd",		"-op",	    "read", "-target",
					       "/no/such/file", "-numreqs", "1",    NULL };
	struct seen seen;

	log_hold();
	assert_int_equal(run_words(bad, 0, &seen), XDD_BAD_ARGUMENT);
	assert_int_equal(run_words(missing, 0, &seen), XDD_TARGET_FAILED);
	log_drop(0);
	log_release();
	assert_int_equal(seen.ends, 0);
}

TEST(test_many)
{
	static const char *const words[] = { "xdd",	    "-op", "read",     "-target", "null",
					     "-queuedepth", "4",   "-numreqs", "10",	  NULL };
	unsigned n = getenv("XDD_TEST_LONG") ? RUNS_LONG : RUNS;
	struct leftovers before;
	struct seen seen;
	uint64_t start;

	assert_int_equal(run_words(words, FIGURES_LATENCY, &seen), XDD_OK);
	before = leftovers_count();
	start = clock_kernel_ns();
	for (unsigned i = 0; i < n; i++) {
		assert_int_equal(run_words(words, FIGURES_LATENCY, &seen), XDD_OK);
		assert_int_equal(seen.ops, 10);
	}
	print_message("%.3f ms for a run\n", (double)(clock_kernel_ns() - start) / 1e6 / (double)n);
	leftovers_assert_none(&before);
}

/* After a signal no plan begins. Last: the signal stays. */
TEST(test_signal)
{
	static const char *const words[] = { "xdd",  "-op",	 "read", "-target",
					     "null", "-numreqs", "10",	 NULL };
	struct seen seen;

	assert_false(runner_is_canceled(&runner));
	log_hold();
	assert_int_equal(kill(getpid(), SIGTERM), 0);
	while (!runner_is_canceled(&runner))
		usleep(1000);
	assert_int_equal(run_words(words, 0, &seen), XDD_CANCELED);
	log_drop(0);
	log_release();
	assert_int_equal(seen.ends, 1);
	assert_int_equal(seen.end, REPORT_END_CANCELED);
	assert_int_equal(seen.ops, 0);
}

static int begin(void **state)
{
	return runner_begin(&runner) ? -1 : 0;
}

static int end(void **state)
{
	runner_end(&runner);
	return 0;
}

int main(void)
{
	signals_block_progress();
	clock_start();
	return cmocka_run_group_tests(tests, begin, end);
}
