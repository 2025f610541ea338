/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The verdict on a run, as a function of the facts: src/report/verdict.c.
 */
#include "unit.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "verdict_fixture.h"
#include "xdd/plan/engine_info.h"
#include "xdd/plan/plan.h"

/* The tones of the lines of the last verdict, a letter each. */
static char tones[32];

/* All lines of the verdict as one text, "label: text\n" each. */
static const char *text_of(const struct verdict_facts *f)
{
	static const char letters[] = { [SCREEN_PLAIN] = 'p',
					[SCREEN_BOLD] = 'b',
					[SCREEN_GOOD] = 'g',
					[SCREEN_CAUTION] = '!',
					[SCREEN_BAD] = 'x' };
	static char text[4096];
	struct verdict v;

	text[0] = '\0';
	assert_int_equal(verdict_make(f, &v), 0);
	memset(tones, 0, sizeof(tones));
	for (size_t i = 0; i < v.n && i < sizeof(tones) - 1; i++)
		tones[i] = letters[v.lines[i].tone];
	for (size_t i = 0; i < v.n; i++)
		snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s: %s\n",
			 v.lines[i].label, v.lines[i].text);
	verdict_free(&v);
	return text;
}

#define ONE_PASS "certainty: measured once; to see how far it repeats: -passes 5\n"

TEST(test_nothing_known)
{
	struct verdict_facts f = plain();

	assert_string_equal(text_of(&f), ONE_PASS);
	f.run_time_ns = 90 * NS_PER_SEC;
	assert_string_equal(text_of(&f),
			    "certainty: measured once; to see how far it repeats: -timelimit 90 "
			    "-passes 5 in place of -runtime\n");
	f.ops = 0;
	assert_string_equal(text_of(&f), "");
}

TEST(test_limits)
{
	struct verdict_facts f = bound_by(RESULT_BOUND_DEVICE);

	assert_string_equal(text_of(&f), "limited by: the device: xdd waited for it 93 % of the "
					 "time\n" ONE_PASS);
	f = bound_by(RESULT_BOUND_PACED);
	f.pace = "-throttle";
	assert_string_equal(text_of(&f), "limited by: -throttle, as requested: the next request "
					 "was not due yet 63 % of the time\n" ONE_PASS);
	f = bound_by(RESULT_BOUND_STARVED);
	assert_string_equal(text_of(&f),
			    "limited by: a busy machine: xdd could have gone on 50 % of the time, "
			    "but other programs had the processors\n" ONE_PASS);
	f = bound_by(RESULT_BOUND_MIXED);
	assert_string_equal(
		text_of(&f),
		"limited by: no single cause: xdd's threads waited for the device 93 %, for a free "
		"processor 50 %, for the next request to be due 63 %, and were busy 25 % of the "
		"time\n" ONE_PASS);
	f.bounds[RESULT_BOUND_MIXED].held = (struct verdict_range){ 0, 0.004 };
	assert_string_equal(
		text_of(&f),
		"limited by: no single cause: xdd's threads waited for the device 93 %, for a free "
		"processor 50 %, and were busy 25 % of the time\n" ONE_PASS);
	f = bound_by(RESULT_BOUND_UNKNOWN);
	assert_string_equal(text_of(&f), ONE_PASS);
}

/* A log is as fast as its flushes. */
TEST(test_flushes)
{
	struct verdict_facts f = plain();

	f.flushes = 1;
	f.flush_ns = 4 * NS_PER_SEC;
	assert_string_equal(text_of(&f),
			    ONE_PASS "note: one flush to the device took 4.00 s; p50, p99 and "
				     "max of writes leave it out\n");
	f.flushes = 2500;
	assert_string_equal(text_of(&f), ONE_PASS "note: 2500 flushes to the device took 4.00 s, "
						  "1.60 ms each; p50, p99 and max of writes leave "
						  "them out\n");
}

/* The same share of processor time means another thing for each kind of target. */
TEST(test_generator)
{
	struct verdict_facts f = bound_by(RESULT_BOUND_GENERATOR);

	assert_string_equal(text_of(&f),
			    "limited by: the processors: xdd and the kernel were busy 25 % of the "
			    "time; the device may do more\n" ONE_PASS
			    "next: use a greater -threads, so that more processors work\n");
	f.queues = false;
	assert_non_null(strstr(text_of(&f), "next: use a greater -queuedepth, so that more "
					    "processors work\n"));
	f.elapsed_ns = NS_PER_SEC / 1000;
	assert_null(strstr(text_of(&f), "next: "));
	f.elapsed_ns = NS_PER_SEC;
	f.qthreads = 4;
	assert_null(strstr(text_of(&f), "next: "));
	f.direct = false;
	assert_non_null(strstr(text_of(&f), "data went through the page cache, which says little "
					    "about the device\n"));
	f.files = false;
	assert_non_null(strstr(text_of(&f), "limited by: xdd itself, busy 25 % of the time: there "
					    "is no device here\n"));
}

/* Where QThreads take the processors, an engine that queues needs fewer of them. */
TEST(test_engine)
{
	static const char says[] = "next: -ioengine io_uring needs fewer threads";
	struct verdict_facts f = bound_by(RESULT_BOUND_MIXED);

	f.queues = false;
	f.queueing = "io_uring";
	f.qthreads = f.processors + 1;
	assert_non_null(strstr(text_of(&f), says));
	f.qthreads = f.processors;
	assert_null(strstr(text_of(&f), says));
	f.qthreads = f.processors + 1;
	f.queueing = NULL;
	assert_null(strstr(text_of(&f), says));
	f.queueing = "io_uring";
	f.direct = false;
	assert_null(strstr(text_of(&f), says));
	f.direct = true;
	f.bounds[RESULT_BOUND_MIXED].busy.most = 0.1;
	f.bounds[RESULT_BOUND_MIXED].waited.most = 0.05;
	assert_null(strstr(text_of(&f), says));
}

TEST(test_several_targets)
{
	struct verdict_facts f = bound_by(RESULT_BOUND_DEVICE);

	f.targets = 5;
	f.bounds[RESULT_BOUND_DEVICE].n = 5;
	f.bounds[RESULT_BOUND_DEVICE].idle.least = 0.85;
	assert_non_null(strstr(text_of(&f), "limited by: the device: xdd waited for it 85 to 93 % "
					    "of the time\n"));
	f.bounds[RESULT_BOUND_DEVICE].n = 3;
	assert_non_null(strstr(text_of(&f), "limited: 3 of 5 targets by the device: "));
}

TEST(test_depth_one)
{
	struct verdict_facts f = bound_by(RESULT_BOUND_DEVICE);

	f.depth = 1;
	assert_non_null(strstr(text_of(&f), "next: try -queuedepth 8 to see what the device does "
					    "with several requests at once\n"));
}

TEST(test_certainty)
{
	struct verdict_facts f = plain();

	f.passes_ran = 5;
	f.passes = (struct person_passes){ .n = 5, .mean = 412e6, .half_width = 7.4e6 };
	assert_string_equal(text_of(&f), "certainty: 412 MB/s +-1.8 % is the mean of 5 passes with "
					 "95 % confidence\n");
	f.passes.half_width = 660e6;
	assert_string_equal(text_of(&f), "certainty: 412 MB/s is the mean of 5 passes, too few to "
					 "say how far it repeats\n");
	f.passes.half_width = 1e6;
	assert_non_null(strstr(text_of(&f), "412 MB/s +-0.24 % is"));
	strcpy(f.passes.why, "pass 1 is 38 % slower than the others");
	assert_non_null(
		strstr(text_of(&f), "\nnot reproducible: pass 1 is 38 % slower than the others\n"));
	f.passes = (struct person_passes){ .n = 1, .mean = 1e6, .half_width = INFINITY };
	assert_string_equal(text_of(&f), "");
}

/* Half widths around the limits of their digits and of the rules, with the tones. */
TEST(test_widths)
{
	static const struct {
		double half_width;
		const char *text, *tone;
	} rows[] = {
		{ 0.99e6, "100 MB/s +-0.99 % is", "g" },
		{ 1e6, "100 MB/s +-1.0 % is", "g" },
		{ 9.99e6, "100 MB/s +-10.0 % is", "g" },
		{ 10e6, "100 MB/s +-10 % is", "!" },
		{ 99.9e6, "100 MB/s +-100 % is", "!" },
		{ 100e6, "100 MB/s is the mean of 5 passes, too few", "!" },
	};
	struct verdict_facts f = plain();

	f.passes_ran = 5;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		f.passes = (struct person_passes){ .n = 5,
						   .mean = 100e6,
						   .half_width = rows[i].half_width };
		assert_non_null(strstr(text_of(&f), rows[i].text));
		assert_string_equal(tones, rows[i].tone);
	}
	/* As many passes as a sum needs, and no interval without them. */
	f.passes = (struct person_passes){ .n = 2, .mean = 100e6, .half_width = 1e6 };
	assert_non_null(strstr(text_of(&f), "is the mean of 2 passes"));
	f.passes.n = 1;
	assert_string_equal(text_of(&f), "");
	f.passes_ran = 1;
	assert_string_equal(text_of(&f), ONE_PASS);
	assert_string_equal(tones, "b");
	/* From 0.1 s on a run is judged; a canceled one is not told to run for longer. */
	f = bound_by(RESULT_BOUND_DEVICE);
	f.elapsed_ns = NS_PER_SEC / 10;
	assert_non_null(strstr(text_of(&f), "limited by: "));
	assert_string_equal(tones, "bb");
	f.elapsed_ns--;
	assert_non_null(strstr(text_of(&f), "too short"));
	assert_string_equal(tones, "b");
	f.partial = true;
	assert_null(strstr(text_of(&f), "certainty"));
	f.elapsed_ns++;
	assert_null(strstr(text_of(&f), "certainty"));
	f = plain();
	f.warmup_ops = 1500;
	assert_non_null(strstr(text_of(&f), "1.50 k"));
	assert_string_equal(tones, "bp");
}

TEST(test_until)
{
	struct verdict_facts f = plain();

	f.passes_ran = 20;
	f.until_percent = 2;
	f.passes = (struct person_passes){
		.n = 20, .mean = 412e6, .half_width = 4e6, .until_percent = 1.5
	};
	assert_string_equal(text_of(&f), "certainty: 412 MB/s +-1.5 % is the mean of 20 passes "
					 "with 95 % confidence; -passes until 2 was reached\n");
	assert_string_equal(tones, "g");
	f.until_percent = 1.5;
	assert_non_null(strstr(text_of(&f), "-passes until 1.5 was reached\n"));
	f.until_percent = 1;
	assert_non_null(strstr(text_of(&f), "-passes until 1 was not reached\n"));
	assert_string_equal(tones, "!");
	f.passes.until_percent = INFINITY;
	assert_string_equal(text_of(&f), "");
}

TEST(test_short_run)
{
	struct verdict_facts f = bound_by(RESULT_BOUND_DEVICE);

	f.elapsed_ns = NS_PER_SEC / 20;
	assert_string_equal(text_of(&f),
			    "certainty: too short (50.0 ms) to mean much; to measure for longer: "
			    "-timelimit 10s without -bytes, -numreqs or another amount of work\n");
	f.time_limit_ns = 50 * NS_PER_MS;
	assert_string_equal(text_of(&f),
			    "certainty: too short (50.0 ms) to mean much; to measure for longer: a "
			    "greater -timelimit\n");
	f.run_time_ns = 50 * NS_PER_MS;
	assert_string_equal(
		text_of(&f),
		"certainty: too short (50.0 ms) to mean much; to measure for longer: a greater "
		"-runtime\n");
}

#define CACHED "12 % of what was read came from memory (the page cache), not from the device"
#define DIRECT "; add -dio and -dropcache to read from the device"

TEST(test_findings)
{
	struct finding findings[] = {
		FOUND(RULE_CACHED, 0, "target 0, data: ", CACHED, DIRECT),
		FOUND(RULE_CACHED, 1, "target 1, b: ", CACHED, DIRECT),
		FOUND(RULE_OTHERS, FINDING_RUN, "", "device sda moved 9 bytes", ""),
		FOUND(RULE_ZEROS, FINDING_RUN, "", "the data were zeros", ""),
		FOUND(RULE_SPLIT, FINDING_RUN, "", "device sda: 5 operations split", ""),
	};
	struct verdict_facts f = plain();

	f.direct = false;
	f.findings = findings;
	f.n_findings = 1;
	assert_string_equal(text_of(&f),
			    ONE_PASS "disturbed: " CACHED "\n"
				     "next: add -dio and -dropcache to read from the device\n");
	f.targets = 2;
	f.n_findings = 2;
	assert_non_null(strstr(text_of(&f),
			       "disturbed: target 0, data: " CACHED " (and 1 more like this)\n"));
	f.n_findings = 5;
	findings[0].direct = true;
	assert_non_null(strstr(text_of(&f), "disturbed: device sda moved 9 bytes"));
	assert_non_null(strstr(text_of(&f), "note: the data were zeros\n"));
	/* The first two suggestions only. */
	assert_non_null(strstr(text_of(&f), "next: add -dropcache to read from the device; repeat "
					    "the run while nothing else uses the device\n"));
	assert_null(strstr(text_of(&f), "-reqsize"));
}

/* The limit tells what this finding does. */
TEST(test_told_twice)
{
	struct finding finding = FOUND(RULE_STARVED, 0, "target 0, data: ", "a busy machine", "");
	struct verdict_facts f = bound_by(RESULT_BOUND_STARVED);

	f.findings = &finding;
	f.n_findings = 1;
	assert_null(strstr(text_of(&f), "disturbed"));
	f.bounds[RESULT_BOUND_STARVED].n = 0;
	assert_non_null(strstr(text_of(&f), "disturbed"));
}

TEST(test_faults)
{
	struct verdict_facts f = plain();

	f.errors = 3;
	f.ops = 7;
	assert_string_equal(text_of(&f), "errors: 3 of 10 requests failed; the figures are of the "
					 "others\n" ONE_PASS);
	f.failed = (struct verdict_targets){ 1, "data" };
	assert_non_null(strstr(text_of(&f), "3 of 10 requests failed; "));
	f.targets = 5;
	assert_non_null(strstr(text_of(&f), "3 of 10 requests failed on data; "));
	f.failed.n = 2;
	assert_non_null(strstr(text_of(&f), "3 of 10 requests failed on 2 targets; "));
	f = plain();
	f.outstanding = 1;
	f.partial = true;
	assert_string_equal(
		text_of(&f),
		"partial: an error ended the run early; the figures are of the part that "
		"ran\nhung: 1 request never completed\n");
	assert_string_equal(tones, "!x");
	f.targets = 3;
	f.outstanding = 2;
	f.hung = (struct verdict_targets){ 2, "data" };
	assert_non_null(strstr(text_of(&f), "hung: 2 requests on 2 targets never completed\n"));
	f.hung.n = 1;
	assert_non_null(strstr(text_of(&f), "hung: 2 requests on data never completed\n"));
	f.end = REPORT_END_CANCELED;
	assert_non_null(strstr(text_of(&f), "partial: the run was canceled before its end; the "));
	f = plain();
	f.verified = true;
	assert_string_equal(text_of(&f),
			    "verified: all data that was read is as expected\n" ONE_PASS);
	assert_string_equal(tones, "gb");
	f.miscompares = 1;
	assert_string_equal(text_of(&f), "wrong data: 1 extent of what was read holds other data "
					 "than expected\n" ONE_PASS);
	assert_string_equal(tones, "xb");
	f.miscompares = 2;
	assert_string_equal(text_of(&f), "wrong data: 2 extents of what was read hold other data "
					 "than expected\n" ONE_PASS);
	f = (struct verdict_facts){ .end = REPORT_END_CANCELED };
	assert_string_equal(text_of(&f), "partial: the run was canceled before it began\n");
}

TEST(test_copies)
{
	struct verdict_facts f = bound_by(RESULT_BOUND_DEVICE);

	f.copy = (struct person_copy){ .any = true,
				       .complete = true,
				       .ops = 64,
				       .digest = "abc",
				       .verdict = { .limit = COPY_LIMIT_NETWORK } };
	assert_string_equal(text_of(&f),
			    "copy complete: both sides confirm 64 requests, digest abc\n"
			    "limited by: the network\n");
	f.copy.complete = false;
	f.copy.verdict.limit = COPY_LIMIT_UNKNOWN;
	assert_string_equal(text_of(&f),
			    "copy not confirmed: this side wrote 64 requests, and the other side "
			    "does not confirm them\n");
}

/* ---- facts of a plan and of its results ---- */

static const struct engine_info *engine_that(bool queues)
{
	for (size_t i = 0; engine_registry[i]; i++) {
		const struct engine_info *e = engine_registry[i];

		if (!(e->caps & ENGINE_QUEUES) == !queues && !e->caps_with)
			return e;
	}
	return NULL;
}

/* Two files that are read with -dio. */
static void two_files(struct target_plan targets[2], struct plan *plan)
{
	*plan = (struct plan){ .targets = targets, .n_targets = 2, .passes = 1 };
	for (unsigned i = 0; i < 2; i++)
		targets[i] = (struct target_plan){ .kind = TARGET_FILE,
						   .path = i ? "b" : "a",
						   .op = OP_READ,
						   .direct_io = true,
						   .engine = engine_that(false),
						   .queue_depth = 1 };
}

/* The verdict on 10 s of a plan whose targets all had this limit; the second one has `errors`. */
static const char *verdict_of(const struct plan *plan, enum result_bound bound, uint64_t errors)
{
	static char text[4096];
	const struct screen screen = { .columns = 1000 };
	struct person *p = person_new(plan);
	FILE *f = fmemopen(text, sizeof(text), "w");

	assert_true(p && f);
	p->all.passes = 1;
	p->all.elapsed_ns = 10 * NS_PER_SEC;
	p->all.all.n = 1000000;
	p->all.errors = errors;
	for (size_t i = 0; i < p->n; i++) {
		p->targets[i].any = true;
		p->targets[i].errors = i ? errors : 0;
		p->targets[i].bound = bound;
		p->targets[i].times = (struct result_times){
			.known = true, .busy = 0.25, .waited = 0.25, .held = 0.625, .idle = 0.934
		};
	}
	assert_int_equal(person_verdict(p, NULL, 0, REPORT_END_NORMAL, &screen, f), 0);
	assert_int_equal(fclose(f), 0);
	free(p);
	return text;
}

/* Each target with an engine that queues; one without is enough for other advice. */
TEST(test_engines_of_plan)
{
	const struct engine_info *queues = engine_that(true);
	struct target_plan targets[2];
	struct plan plan;

	for (unsigned i = 0; queues && i < 4; i++) {
		two_files(targets, &plan);
		for (unsigned k = 0; k < 2; k++)
			targets[k].engine = engine_that(i >> k & 1);
		assert_non_null(
			strstr(verdict_of(&plan, RESULT_BOUND_GENERATOR, 0),
			       i == 3 ? "use a greater -threads" : "use a greater -queuedepth"));
	}
}

/* One target is enough to change the advice for the run. */
TEST(test_targets_of_plan)
{
	static const char cached[] = "data went through the page cache";
	static const char none[] = "there is no device here";
	struct target_plan targets[2];
	struct plan plan;

	for (unsigned i = 0; i < 2; i++) {
		two_files(targets, &plan);
		assert_null(strstr(verdict_of(&plan, RESULT_BOUND_GENERATOR, 0), cached));
		targets[i].direct_io = false;
		assert_non_null(strstr(verdict_of(&plan, RESULT_BOUND_GENERATOR, 0), cached));
		/* Nothing of it is in the page cache. */
		targets[i].op = OP_NOOP;
		assert_non_null(strstr(verdict_of(&plan, RESULT_BOUND_GENERATOR, 0), "the device"));
		assert_null(strstr(verdict_of(&plan, RESULT_BOUND_GENERATOR, 0), cached));
		targets[!i].op = OP_DISCARD;
		assert_non_null(strstr(verdict_of(&plan, RESULT_BOUND_GENERATOR, 0), none));
		two_files(targets, &plan);
		assert_non_null(
			strstr(verdict_of(&plan, RESULT_BOUND_DEVICE, 0), "try -queuedepth 8"));
		targets[i].queue_depth = 2;
		assert_null(strstr(verdict_of(&plan, RESULT_BOUND_DEVICE, 0), "try -queuedepth"));
		targets[i].queue_depth = 1;
		targets[i].qthreads = 1000000;
		assert_null(strstr(verdict_of(&plan, RESULT_BOUND_GENERATOR, 0), "use a greater"));
	}
	two_files(targets, &plan);
	assert_non_null(strstr(verdict_of(&plan, RESULT_BOUND_DEVICE, 7), "requests failed on b;"));
}

TEST(test_kinds_of_plan)
{
	struct target_plan targets[2];
	struct plan plan;

	for (int kind = TARGET_NULL; kind <= TARGET_CHAR; kind++) {
		const bool device = kind == TARGET_FILE || kind == TARGET_BLOCK ||
				    kind == TARGET_MISSING;

		two_files(targets, &plan);
		targets[0].kind = targets[1].kind = kind;
		assert_int_equal(!strstr(verdict_of(&plan, RESULT_BOUND_GENERATOR, 0),
					 "there is no device here"),
				 device);
	}
}

static void paces(const struct plan *plan, const char *by)
{
	const char *text = verdict_of(plan, RESULT_BOUND_PACED, 0);
	char says[64];

	snprintf(says, sizeof(says), "limited by: %s, as requested", by);
	if (!strstr(text, says))
		fail_msg("\"%s\" is not in: %s", says, text);
}

TEST(test_pace_of_plan)
{
	struct target_plan targets[2];
	struct plan plan;

	two_files(targets, &plan);
	paces(&plan, "its pace");
	plan.operation_delay_ns = 1;
	paces(&plan, "-operationdelay");
	targets[1].lockstep.on = true;
	paces(&plan, "-lockstep");
	targets[1].snooze_percent = 10;
	paces(&plan, "-snooze");
	targets[1].throttle.by = THROTTLE_OPS;
	paces(&plan, "-throttle");
	targets[0].lockstep.on = true;
	paces(&plan, "-lockstep");
}

RUN_TESTS(NULL, NULL)
