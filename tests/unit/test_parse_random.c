/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Random command lines and setup files: the parser accepts each or refuses it with one message.
 */
#include "unit.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "parse_fixture.h"
#include "plan/parse.h"
#include "xdd/base/random.h"
#include "xdd/plan/option.h"
#include "xdd/plan/plan.h"

#define ROBUSTNESS_RUNS 20000

/* CPU time for all of them: sanitizers take more. */
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
#define ROBUSTNESS_LIMIT_S 60
#else
#define ROBUSTNESS_LIMIT_S 5
#endif

struct dice {
	struct random_sequence sequence;
	uint64_t n;
};

static uint64_t roll(struct dice *d, uint64_t sides)
{
	return random_below(&d->sequence, d->n++, sides);
}

/* Words that are no options; some are arguments that options take. */
static const char *const odd_words[] = {
	"",
	"-",
	"--",
	"---",
	"0",
	"1",
	"2",
	"7",
	"-1",
	"4k",
	"1.5",
	"1e3",
	"0x10",
	"+5",
	" 5",
	"100",
	"null",
	"null",
	"null",
	"data",
	"empty",
	"nosuch",
	"list",
	"setup",
	"deeper",
	"target",
	"all",
	"0-1",
	"1-0",
	"0-",
	"read",
	"write",
	"noop",
	"random",
	"range",
	"seed",
	"stagger",
	"none",
	"load",
	"save",
	"interleave",
	"disthist",
	"absolute",
	"add",
	"new",
	"+WHAT",
	"+",
	"+OPS+",
	"commandline",
	"a=b",
	"-op=read",
	"#x",
	"'",
	"\"",
	"\\",
	"\n",
	"9223372036854775807",
	"9223372036854775808",
	"18446744073709551615",
	"18446744073709551616",
	"99999999999999999999999999999999",
	"-300",
	"9000",
	"%s%n%d",
	"\xff\xfe",
	"1m",
	"1ms",
	"100000h",
	"\x01",
	"-targts",
	"-nosuch",
};

static const char *odd_word(struct dice *d)
{
	return odd_words[roll(d, sizeof(odd_words) / sizeof(odd_words[0]))];
}

static size_t n_options;
static const char *options[256];

static void list_option(const struct option *row, const struct option *of)
{
	/* Help prints, which is of no use here; refusals end the reading, so a few will do. */
	bool help = row->type == OPT_ACTION && strcmp(row->name, "setup") != 0;

	if (!of && !help && (row->type != OPT_REFUSED || n_options % 8 == 0))
		options[n_options++] = row->name;
}

/* An option, most often with something like its argument. Returns the number of words. */
static int add_option(struct dice *d, const char **argv, int left)
{
	static char names[MAX_WORDS][48];
	const char *name = options[roll(d, n_options)];
	const struct option *row = option_find(&run_options, name);
	static const char *const good_numbers[] = { "1", "2", "3", "4", "16", "1000", "999999999" };
	int n = 0;

	snprintf(names[left], sizeof(names[left]), "-%s", name);
	argv[n++] = names[left];
	if (row->scope == SCOPE_TARGET && n < left && roll(d, 6) == 0) {
		argv[n++] = "target";
		if (n < left)
			argv[n++] = (roll(d, 2) ? "0" : odd_word(d));
	}
	if (!row->arg || n >= left)
		return n;
	if (option_sub(row, 0) && roll(d, 4)) {
		size_t subs = 0;

		while (option_sub(row, subs))
			subs++;
		row = option_sub(row, roll(d, subs));
		argv[n++] = row->name;
		if (!row->arg || n >= left)
			return n;
	}
	if (row->choices && roll(d, 4))
		argv[n++] = row->choices[roll(d, 2)].word;
	else if (row->type >= OPT_U64 && row->type <= OPT_SECONDS && roll(d, 4))
		argv[n++] = good_numbers[roll(d, 7)];
	else
		argv[n++] = odd_word(d);
	return n;
}

static int random_line(struct dice *d, const char **argv)
{
	static const char *const starts[] = { "-targets", "1",	"null", "-op",	    "read",
					      "-targets", "-3", "null", "-rwratio", "50" };
	int n = 0, most = 1 + (int)roll(d, MAX_WORDS - 24);

	argv[n++] = "xdd";
	if (roll(d, 4)) {
		size_t first = roll(d, 2) * 5;

		for (size_t i = 0; i < 5; i++)
			argv[n++] = starts[first + i];
	}
	while (n < most) {
		if (roll(d, 24) == 0)
			argv[n++] = odd_word(d);
		else
			n += add_option(d, argv + n, MAX_WORDS - 1 - n);
	}
	if (roll(d, 2) && n + 2 < MAX_WORDS) {
		argv[n++] = "-numreqs";
		argv[n++] = "5";
	}
	argv[n] = NULL;
	return n;
}

/* Setup files of the same kind of words, and now and then of mere bytes. */
static void random_setup(struct dice *d, const char *name)
{
	char text[1024];
	size_t n = 0;

	if (roll(d, 3) == 0) {
		static const char bytes[] = "-op read\n\n'\"\\# \t\r4k\1\377targets setup deeper";

		n = roll(d, 200);
		for (size_t i = 0; i < n; i++)
			text[i] = bytes[roll(d, sizeof(bytes) - (roll(d, 50) != 0))];
	} else {
		const char *argv[MAX_WORDS];
		int argc = random_line(d, argv);

		for (int i = 1; i < argc && n + 100 < sizeof(text); i++)
			n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%c", argv[i],
					      roll(d, 3) ? ' ' : '\n');
	}
	write_file(name, text, n);
}

/* Of this process: the machine may be busy with other tests. */
static double cpu_s(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

/* The properties of a plan that the run relies on. */
static void check_plan(const struct plan *p)
{
	for (size_t i = 0; i < p->n_targets; i++) {
		const struct target_plan *t = &p->targets[i];

		assert_true(t->op != OP_UNSET && t->kind != TARGET_UNKNOWN);
		assert_true(t->req_bytes >= 1 && t->req_bytes <= PLAN_MAX_REQUEST_BYTES);
		assert_true(t->queue_depth >= 1 && t->queue_depth <= 65536);
		assert_true(t->pass_ops >= 1);
		assert_true(t->last_op_bytes >= 1 && t->last_op_bytes <= t->req_bytes);
		assert_true(t->start_bytes <= INT64_MAX);
		/* -bytes counts up to 2^64-1; offsets of files and devices do not. */
		assert_true(t->pass_bytes <= INT64_MAX || t->pass_ops == PLAN_UNLIMITED ||
			    !t->numreqs);
		if (t->kind != TARGET_NULL && t->op != OP_NOOP && t->pass_ops != PLAN_UNLIMITED)
			assert_true(t->end_bytes <= INT64_MAX);
		if (t->pass_ops != PLAN_UNLIMITED && !t->rows)
			assert_int_equal((t->pass_ops - 1) * t->req_bytes + t->last_op_bytes,
					 t->pass_bytes);
		if (t->range_bytes)
			assert_true(t->range_bytes >= t->req_bytes);
		assert_true(t->seek.pattern != SEEK_LOAD || t->n_rows >= t->pass_ops);
	}
}

TEST(robustness)
{
	const struct random_key key = { .seed = 2006 };
	struct dice d = { .sequence = random_sequence(&key) };
	double start = cpu_s(), limit = ROBUSTNESS_LIMIT_S;
	unsigned accepted = 0;

	n_options = 0;
	each_row(list_option);
	for (unsigned i = 0; i < ROBUSTNESS_RUNS; i++) {
		const char *argv[MAX_WORDS];
		int argc = random_line(&d, argv);
		enum xdd_status status;
		struct plan *p = NULL;
		const char *said;

		if (i % 16 == 0) {
			random_setup(&d, "setup");
			random_setup(&d, "deeper");
		}
		status = plan_build(argc, (char **)argv, &p);
		said = messages();
		if (status == XDD_OK && p) {
			check_plan(p);
			accepted++;
		} else if (status == XDD_OK || (p && status != XDD_TARGET_FAILED) ||
			   status > XDD_TARGET_FAILED || strncmp(said, "xdd: ", 5) != 0 ||
			   strchr(said, '\n') != said + strlen(said) - 1) {
			fail_msg("run %u: status %d: %s", i, (int)status, said);
		}
		plan_free(p);
		if (cpu_s() - start > limit)
			fail_msg("%u runs took more than %g s of CPU time", i + 1, limit);
	}
	/* Enough of them get through to be a test of more than the refusals. */
	assert_in_range(accepted, ROBUSTNESS_RUNS / 50, ROBUSTNESS_RUNS - ROBUSTNESS_RUNS / 10);
}

RUN_TESTS(set_up, remove_directory)
