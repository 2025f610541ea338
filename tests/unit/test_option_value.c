/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Options read back from a plan: for every row that has a value, and after each way of giving one.
 */
#include "unit.h"

#include <string.h>

#include "xdd/plan/option.h"

#define MAX_WORDS 64

/* A plan from words apart by blanks, to be freed. */
static struct plan *build(const char *line)
{
	static char text[1024];
	char *argv[MAX_WORDS] = { "xdd" }, *save = NULL;
	struct plan *plan;
	int argc = 1;

	strcpy(text, line);
	for (char *w = strtok_r(text, " ", &save); w; w = strtok_r(NULL, " ", &save))
		argv[argc++] = w;
	assert_int_equal(plan_build(argc, argv, &plan), XDD_OK);
	assert_non_null(plan);
	return plan;
}

static struct option_value value(const struct plan *plan, int target, const char *name,
				 const char *sub)
{
	const struct option *opt = option_find(&run_options, name);

	assert_non_null(opt);
	return option_value(plan, target < 0 ? NULL : &plan->targets[target], opt,
			    sub ? option_find_sub(opt, sub) : NULL);
}

static void assert_none(struct option_value v)
{
	assert_int_equal(v.type, OPTION_VALUE_NONE);
}

static void assert_count(struct option_value v, uint64_t wanted)
{
	assert_int_equal(v.type, OPTION_VALUE_COUNT);
	assert_int_equal(v.count, wanted);
}

static void assert_real(struct option_value v, double wanted)
{
	assert_int_equal(v.type, OPTION_VALUE_REAL);
	assert_true(v.real == wanted);
}

static void assert_text(struct option_value v, const char *wanted)
{
	assert_int_equal(v.type, OPTION_VALUE_TEXT);
	assert_string_equal(v.text, wanted);
}

static void assert_flag(struct option_value v, bool wanted)
{
	assert_int_equal(v.type, OPTION_VALUE_FLAG);
	assert_int_equal(v.flag, wanted);
}

TEST(test_defaults)
{
	struct plan *plan = build("-targets 1 null -op noop -numreqs 5");

	assert_count(value(plan, 0, "reqsize", NULL), 128);
	assert_count(value(plan, 0, "blocksize", NULL), 1024);
	assert_count(value(plan, 0, "startoffset", NULL), 0);
	assert_count(value(plan, 0, "seek", "seed"), PLAN_DEFAULT_SEED);
	assert_none(value(plan, 0, "bytes", NULL));
	assert_none(value(plan, 0, "pretruncate", NULL));
	assert_none(value(plan, -1, "syncio", NULL));
	assert_none(value(plan, 0, "timelimit", NULL));
	assert_none(value(plan, 0, "rwratio", NULL));
	assert_none(value(plan, -1, "csvout", NULL));
	assert_none(value(plan, -1, "passes", NULL));
	assert_real(value(plan, 0, "startdelay", NULL), 0);
	assert_flag(value(plan, 0, "dio", NULL), false);
	assert_text(value(plan, 0, "op", NULL), "noop");
	assert_text(value(plan, -1, "percentcpu", NULL), "absolute");
	plan_free(plan);
}

TEST(test_given)
{
	struct plan *plan =
		build("-targets 3 null null null -op noop -op target 1 read -mbytes 3 "
		      "-kbytes target 2 5 -timelimit 1.5 -verbose -seek range 9999 "
		      "-ordering storage serial -passes until 2.5 70 -rwratio target 0-1 30 "
		      "-rwratio target 1 40 random");
	struct option_value v;

	assert_count(value(plan, 0, "mbytes", NULL), 3);
	assert_count(value(plan, 0, "kbytes", NULL), 3072);
	assert_count(value(plan, 2, "kbytes", NULL), 5);
	assert_real(value(plan, 2, "mbytes", NULL), 5 / 1024.0);
	assert_real(value(plan, 0, "timelimit", NULL), 1.5);
	assert_flag(value(plan, -1, "verbose", NULL), true);
	assert_count(value(plan, 0, "seek", "range"), 9999);
	assert_count(value(plan, 0, "range", NULL), 9999);
	assert_text(value(plan, 0, "ordering", "storage"), "serial");
	v = value(plan, -1, "passes", NULL);
	assert_int_equal(v.type, OPTION_VALUE_WORDS);
	assert_int_equal(v.setting->n_args, 3);
	assert_int_equal(plan->passes, 70);
	assert_true(plan->until_percent == 2.5);
	v = value(plan, 0, "rwratio", NULL);
	assert_string_equal(v.setting->args[0].text, "30");
	v = value(plan, 1, "rwratio", NULL);
	assert_string_equal(v.setting->args[0].text, "40");
	assert_none(value(plan, 2, "rwratio", NULL));
	plan_free(plan);
}

/* Nothing that a row says may lead astray: sanitizers look on. */
TEST(test_every_row)
{
	struct plan *plan = build("-targets 1 null -op noop -numreqs 5");
	size_t n = 0;

	for (const struct option_group *const *g = run_options.groups; *g; g++) {
		for (const struct option *opt = (*g)->options; opt->name; opt++) {
			const struct target_plan *t =
				opt->scope == SCOPE_TARGET ? &plan->targets[0] : NULL;
			const struct option *s;

			for (size_t i = 0; (s = option_sub(opt, i)); i++)
				n += option_value(plan, t, opt, s).type != OPTION_VALUE_NONE;
			n += option_value(plan, t, opt, NULL).type != OPTION_VALUE_NONE;
		}
	}
	assert_true(n > 20);
	plan_free(plan);
}

RUN_TESTS(NULL, NULL)
