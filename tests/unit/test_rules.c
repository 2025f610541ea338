/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The table of rules, src/report/finding.c: each can be reached, and its sentence and its advice
 * are said.
 */
#include "unit.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check_fixture.h"
#include "report_fixture.h"
#include "run/coord/pace.h"
#include "run/results/crosscheck.h"
#include "run/results/global_clock.h"
#include "run/run_state.h"
#include "verdict_fixture.h"
#include "xdd/report/rule.h"

/* The length of the conversion of printf() that `p` begins with. */
static size_t conversion(const char *p)
{
	const size_t flags = strspn(p + 1, "+-.0123456789lz");

	return 1 + flags + 1;
}

/* Skip the text up to a conversion of printf() in `says`, "%%" included, if `*text` begins so. */
static bool skip_literal(const char **says, const char **text)
{
	for (; **says && (**says != '%' || (*says)[1] == '%'); (*says)++, (*text)++) {
		*says += **says == '%';
		if (**says != **text)
			return false;
	}
	return true;
}

/* True if `text` is what `says` gives with some arguments. */
static bool is_said(const char *says, const char *text)
{
	if (!skip_literal(&says, &text))
		return false;
	if (!*says)
		return !*text;
	says += conversion(says);
	for (;; text++) {
		if (is_said(says, text))
			return true;
		if (!*text)
			return false;
	}
}

static const struct rule *rule_of(int id)
{
	return &rule_table[id];
}

TEST(test_rows)
{
	for (int i = 0; i < RULES; i++) {
		const struct rule *rule = rule_of(i);

		if (!rule->name || !rule->condition || !rule->sentence || !*rule->sentence)
			fail_msg("rule %d: something is missing", i);
		if ((rule->limit > 0) != (rule->from != NULL))
			fail_msg("%s: a limit and its text go together", rule->name);
		if (rule->advice_direct && !rule->advice)
			fail_msg("%s: advice for -dio only", rule->name);
		for (int k = 0; k < i; k++)
			if (strcmp(rule->name, rule_of(k)->name) == 0)
				fail_msg("%s: two rules", rule->name);
		for (int k = 0; k < i; k++)
			if (strcmp(rule->sentence, rule_of(k)->sentence) == 0 &&
			    strcmp(rule->sentence, "%s") != 0)
				fail_msg("%s, %s: one sentence", rule->name, rule_of(k)->name);
	}
}

/* ---- lines of the verdict ---- */

static struct verdict_facts facts_with_passes(void)
{
	struct verdict_facts f = plain();

	f.passes_ran = 5;
	f.passes = (struct person_passes){
		.n = 5, .mean = 412e6, .half_width = 7.4e6, .until_percent = 1.5
	};
	return f;
}

static struct verdict_facts facts_of_copy(void)
{
	struct verdict_facts f = bound_by(RESULT_BOUND_DEVICE);

	f.copy = (struct person_copy){ .any = true,
				       .complete = true,
				       .ops = 64,
				       .digest = "abc",
				       .verdict = { .limit = COPY_LIMIT_NETWORK } };
	return f;
}

static struct verdict_facts facts_of_limit(enum rule_id rule)
{
	static const enum result_bound bounds[] = {
		[RULE_BY_DEVICE - RULE_FINDINGS] = RESULT_BOUND_DEVICE,
		[RULE_BY_KERNEL - RULE_FINDINGS] = RESULT_BOUND_GENERATOR,
		[RULE_BY_MEMORY - RULE_FINDINGS] = RESULT_BOUND_GENERATOR,
		[RULE_BY_ITSELF - RULE_FINDINGS] = RESULT_BOUND_GENERATOR,
		[RULE_BY_PACE - RULE_FINDINGS] = RESULT_BOUND_PACED,
		[RULE_BY_OTHERS - RULE_FINDINGS] = RESULT_BOUND_STARVED,
		[RULE_BY_QUOTA - RULE_FINDINGS] = RESULT_BOUND_QUOTA,
		[RULE_BY_LIMIT - RULE_FINDINGS] = RESULT_BOUND_LIMIT,
		[RULE_BY_SEVERAL - RULE_FINDINGS] = RESULT_BOUND_MIXED,
	};
	struct verdict_facts f = bound_by(bounds[rule - RULE_FINDINGS]);

	f.direct = rule != RULE_BY_MEMORY;
	f.files = rule != RULE_BY_ITSELF;
	return f;
}

/* Facts under which the rule holds. */
static struct verdict_facts facts_of(enum rule_id rule)
{
	struct verdict_facts f = plain();

	switch (rule) {
	case RULE_BY_COPY:
	case RULE_COPY_DONE:
		return facts_of_copy();
	case RULE_COPY_LOST:
		f = facts_of_copy();
		f.copy.complete = false;
		return f;
	case RULE_UNTIL:
		f = facts_with_passes();
		f.until_percent = 2;
		return f;
	case RULE_MEAN:
		return facts_with_passes();
	case RULE_TOO_FEW:
		f = facts_with_passes();
		f.passes.half_width = f.passes.mean;
		return f;
	case RULE_UNSTEADY:
		f = facts_with_passes();
		strcpy(f.passes.why, "pass 1 is slower");
		return f;
	case RULE_ONE_RUNTIME:
		f.run_time_ns = NS_PER_SEC;
		return f;
	case RULE_TRIAL:
		f.elapsed_ns = NS_PER_SEC / 20;
		return f;
	case RULE_WARMUP:
		f.warmup_ops = 9;
		return f;
	case RULE_FLUSH:
	case RULE_FLUSHES:
		f.flushes = rule == RULE_FLUSH ? 1 : 7;
		return f;
	case RULE_CANCELED:
	case RULE_NOT_BEGUN:
		f.end = REPORT_END_CANCELED;
		f.ops = rule == RULE_CANCELED ? 5 : 0;
		return f;
	case RULE_CUT:
		f.partial = true;
		return f;
	case RULE_HUNG:
		f.outstanding = 1;
		return f;
	case RULE_ERRORS:
		f.errors = 1;
		return f;
	case RULE_WRONG_DATA:
		f.miscompares = 1;
		return f;
	case RULE_VERIFIED:
		f.verified = true;
		return f;
	case RULE_MORE_THREADS:
	case RULE_MORE_QTHREADS:
		f = facts_of_limit(RULE_BY_KERNEL);
		f.queues = rule == RULE_MORE_THREADS;
		return f;
	case RULE_QUEUEING:
		f = facts_of_limit(RULE_BY_OTHERS);
		f.queues = false;
		f.queueing = "io_uring";
		f.qthreads = f.processors + 1;
		return f;
	case RULE_DEEPER:
		f = facts_of_limit(RULE_BY_DEVICE);
		f.depth = 1;
		return f;
	default:
		return f;
	}
}

/* True if the verdict has a line with the label of a rule, and with the text if that is given. */
static bool verdict_says(const struct verdict_facts *f, const char *label, const char *says)
{
	struct verdict v;
	bool found = false;

	assert_int_equal(verdict_make(f, &v), 0);
	for (size_t i = 0; i < v.n; i++)
		found |= strcmp(v.lines[i].label, label) == 0 && is_said(says, v.lines[i].text);
	verdict_free(&v);
	return found;
}

TEST(test_verdict_lines)
{
	for (int i = RULE_FINDINGS; i < RULE_READS_FAILED; i++) {
		const bool limit = i < RULE_BY_COPY;
		struct verdict_facts f = limit ? facts_of_limit((enum rule_id)i) :
						 facts_of((enum rule_id)i);

		if (!verdict_says(&f, rule_of(i)->label, rule_of(i)->sentence))
			fail_msg("%s: the verdict does not say it", rule_of(i)->name);
	}
}

/* Each finding has its line, and its advice is what to do next. */
TEST(test_verdict_findings)
{
	for (int i = 0; i < RULE_FINDINGS; i++) {
		struct finding finding =
			FOUND((enum rule_id)i, 0, "target 0, data: ", "so it is", "");
		struct verdict_facts f = plain();
		const char *advice = rule_of(i)->advice, *direct = rule_of(i)->advice_direct;

		f.findings = &finding;
		f.n_findings = 1;
		if (!verdict_says(&f, rule_of(i)->label, "so it is"))
			fail_msg("%s: no line", rule_of(i)->name);
		if (verdict_says(&f, "next", advice ? advice : "%s") != (advice != NULL))
			fail_msg("%s: what to do next", rule_of(i)->name);
		finding.direct = true;
		if (direct && !verdict_says(&f, "next", direct))
			fail_msg("%s: what to do next with -dio", rule_of(i)->name);
	}
}

/* ---- what looks wrong to "xdd FILE" ---- */

struct checked {
	struct check_target t;
	struct check_result r;
};

static void make_slow(struct check_row *one, double ns)
{
	one->times[FIGURE_P50] = one->times[FIGURE_P99] = ns;
}

static struct checked checked_rates(enum rule_id rule)
{
	struct checked c = { sound_target(), sound_result() };
	struct check_row *one = &c.r.rows[CHECK_SINGLE];

	switch (rule) {
	case RULE_SLOWED_DOWN:
	case RULE_NO_GAIN:
		c.r.rows[CHECK_DEEP] = sound_row(4096, 32, rule == RULE_NO_GAIN ? 140000 : 80000);
		break;
	case RULE_TAIL:
		one->times[FIGURE_P99] = 11 * one->times[FIGURE_P50];
		break;
	case RULE_LONGEST:
		one->times[FIGURE_MAX] = 1.5 * NS_PER_SEC;
		break;
	case RULE_NO_DISK:
		c.t.device.rotational = true;
		break;
	case RULE_SLOW_SOLID:
		make_slow(one, 3 * MS);
		break;
	case RULE_SLOW_SEQUENTIAL:
		c.r.rows[CHECK_LARGE] = sound_row(MIB, 8, 1000);
		break;
	default:
		break;
	}
	return c;
}

static struct checked checked_device(enum rule_id rule)
{
	struct checked c = { sound_target(), sound_result() };
	struct check_device *d = &c.t.device;

	switch (rule) {
	case RULE_DEGRADED:
		d->raid_degraded = 1;
		break;
	case RULE_RESYNC:
		strcpy(d->raid_action, "resync");
		break;
	case RULE_SLOW_LINK:
		strcpy(d->link_now, "8.0 GT/s x2");
		break;
	case RULE_USB:
		d->usb_mbits = 480;
		break;
	case RULE_NO_QUEUE:
		d->queue_depth = 1;
		break;
	default:
		return checked_rates(rule);
	}
	return c;
}

static struct checked checked_of(enum rule_id rule)
{
	struct checked c = { sound_target(), sound_result() };

	switch (rule) {
	case RULE_READS_FAILED:
		c.r.rows[0].errors = 1;
		strcpy(c.r.rows[0].first_error, "Input/output error");
		break;
	case RULE_READS_HUNG:
		c.r.rows[0].outstanding = 1;
		break;
	case RULE_IN_MEMORY:
		c.t.memory = true;
		break;
	case RULE_NOT_DIRECT:
		c.t.direct = false;
		break;
	case RULE_ZERO_BLOCKS:
		c.r.zeros = 64;
		break;
	case RULE_ZERO_BLOCKS_SOLID:
		c.t.block = true;
		c.r.zeros = 20;
		break;
	default:
		return checked_device(rule);
	}
	return c;
}

TEST(test_check)
{
	struct check_notes notes;

	for (int i = RULE_READS_FAILED; i < RULES; i++) {
		struct checked c = checked_of((enum rule_id)i);
		bool found = false;

		notes.n = 0;
		check_judge(&c.t, &c.r, &notes);
		for (size_t k = 0; k < notes.n; k++)
			found |= is_said(rule_of(i)->sentence, notes.text[k]);
		if (!found)
			fail_msg("%s: xdd FILE does not say it", rule_of(i)->name);
		assert_null(rule_of(i)->label);
	}
}

/* ---- findings of a run ---- */

/* Rules that a whole run is needed for, and the functional test that reaches them. */
static bool is_of_whole_run(int rule)
{
	return rule == RULE_PASSES ||  /* honest.py */
	       rule == RULE_GAP ||     /* limits.py */
	       rule == RULE_STOPPED || /* crosschecks.py */
	       rule == RULE_STAYED;    /* crosschecks.py */
}

static struct run run;

static struct result sums_of_reads(uint64_t cached, uint64_t holes)
{
	struct result sums = { .what = RESULT_TARGET_AVERAGE,
			       .figures = { .elapsed_ns = 2 * NS_PER_SEC } };

	sums.figures.tally.bytes[DIR_READ] = GIB;
	sums.figures.cache = (struct cache_state){ .range_bytes = GIB,
						   .resident_bytes = cached,
						   .hole_bytes = holes };
	return sums;
}

TEST(test_causes)
{
	assert_null(result_causes[RESULT_BOUND_UNKNOWN].name);
	for (size_t i = RESULT_BOUND_UNKNOWN + 1; i < RESULT_BOUNDS; i++) {
		const struct result_cause *c = &result_causes[i];

		assert_true(c->name && c->text && c->words && c->rule);
		for (size_t k = RESULT_BOUND_UNKNOWN + 1; k < i; k++) {
			assert_string_not_equal(c->name, result_causes[k].name);
			assert_int_not_equal(c->rule, result_causes[k].rule);
		}
	}
}

/* Checks of the figures of targets. */
static void reach_targets(struct crosscheck *c)
{
	static const enum result_bound bounds[] = { RESULT_BOUND_GENERATOR, RESULT_BOUND_STARVED,
						    RESULT_BOUND_QUOTA };
	const struct dirty_sample clean = { .known = true };
	const struct dirty_sample dirty = { .known = true, .share = 0.5, .bytes = GIB };
	const struct bound_facts facts = { .waited = 0.9 };
	struct result sums = sums_of_reads(GIB, GIB / 2);

	crosscheck_target(c, &run, &sums, NULL, &clean);
	sums = sums_of_reads(0, 0);
	crosscheck_target(c, &run, &sums, NULL, &dirty);
	c->zeros = &run.plan->targets[0];
	c->zeros_why = "zram stores none of them";
	crosscheck_target(c, &run, &sums, NULL, &clean);
	c->zeros = NULL;
	for (size_t i = 0; i < sizeof(bounds) / sizeof(bounds[0]); i++) {
		sums.bound = bounds[i];
		crosscheck_target(c, &run, &sums, &facts, &clean);
	}
}

/* A device for which this run read 1 GiB in 1024 requests. */
static struct device_check device_of_reads(uint64_t moved, uint64_t requests, uint64_t merged)
{
	struct device_check d = { .name = "xda", .elapsed_ns = NS_PER_SEC, .counted = true };

	d.ops[DIR_READ] = d.all_ops[DIR_READ] = 1024;
	d.bytes[DIR_READ] = d.all_bytes[DIR_READ] = GIB;
	d.after.bytes[DIR_READ] = moved;
	d.after.requests[DIR_READ] = requests;
	d.after.merged[DIR_READ] = merged;
	return d;
}

/* Checks of devices, which they end. */
static void reach_devices(struct crosscheck *c)
{
	c->devices = calloc(6, sizeof(*c->devices));
	assert_non_null(c->devices);
	c->devices[0] = device_of_reads(2 * GIB, 1024, 0);
	c->devices[1] = device_of_reads(GIB, 4096, 0);
	c->devices[2] = device_of_reads(GIB, 512, 512);
	c->devices[3] = device_of_reads(0, 0, 0);
	c->devices[4] = device_of_reads(GIB, 1024, 0);
	strcpy(c->devices[4].loop_file, "/data/disk.img");
	c->devices[5] = device_of_reads(GIB, 1024, 0);
	c->devices[5].limits.bytes[DIR_READ] = GIB;
	c->n_devices = 6;
	crosscheck_end(c, &run);
}

static void reach_times(struct target_plan *t)
{
	const struct throttle_times late = { .due_ns = NS_PER_SEC, .took_ns = 2 * NS_PER_SEC };

	t->throttle.by = THROTTLE_OPS;
	t->throttle.rate = 100;
	t->throttle.interval_ns = NS_PER_SEC / 100;
	throttle_report(&run, t, &late);
	run.manager.start_ns = NS_PER_SEC;
	start_time_check(&run, 2 * NS_PER_SEC);
}

/* Each finding of a run is made, and is a warning that ends with the advice. */
FIXTURE_TEST(test_findings)
{
	struct plan plan = sample_plan();
	struct target_plan t = targets[0];
	bool reached[RULES] = { false };
	struct crosscheck c = { .plan = &plan };
	const struct finding *found;
	int saved;
	size_t n;

	t.kind = TARGET_BLOCK;
	t.direct_io = true;
	plan.targets = &t;
	plan.n_targets = 1;
	plan.output_file = "out.txt";
	run = (struct run){ .plan = &plan };
	assert_int_equal(report_open(&plan, &run.report), XDD_OK);
	saved = redirect_fd(STDERR_FILENO, "stderr");
	reach_targets(&c);
	reach_devices(&c);
	reach_times(&t);
	restore_fd(STDERR_FILENO, saved);
	found = report_findings(run.report, &n);
	for (size_t i = 0; i < n; i++) {
		const struct finding *f = &found[i];
		const char *advice = finding_advice(f);
		char *says = strndup(f->text + f->sentence, f->advice - f->sentence);

		reached[f->rule] = true;
		if (!is_said(rule_of((int)f->rule)->sentence, says))
			fail_msg("%s: says \"%s\"", rule_of((int)f->rule)->name, says);
		if (advice && strcmp(f->text + f->advice + 2, advice) != 0)
			fail_msg("%s: advises \"%s\"", rule_of((int)f->rule)->name,
				 f->text + f->advice);
		assert_holds(get_file("stderr"), f->text);
		free(says);
	}
	for (int i = 0; i < RULE_FINDINGS; i++)
		if (!reached[i] && !is_of_whole_run(i))
			fail_msg("%s: no run finds it", rule_of(i)->name);
	assert_int_equal(report_close(run.report), XDD_OK);
}

RUN_TESTS(NULL, NULL)
