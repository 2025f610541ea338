/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Passes, limits, delays and the pace of a target: -passes, -timelimit, -runtime, -startdelay,
 * -maxerrors, -throttle, -snooze; and -ordering.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "plan/feature.h"
#include "plan/parse.h"
#include "xdd/base/log.h"
#include "xdd/base/memory.h"
#include "xdd/base/units.h"
#include "xdd/plan/engine_info.h"
#include "xdd/plan/mix.h"

#define MAX_PASSES 1000000000

/* A number; or "until", a percentage and perhaps a number. */
static size_t arity_passes(const struct word *args, size_t avail)
{
	if (!avail || strcmp(args[0].text, "until") != 0)
		return 1;
	return avail > 2 && args[2].text[0] >= '0' && args[2].text[0] <= '9' ? 3 : 2;
}

static enum xdd_status apply_passes(const struct setting *s, void *dst)
{
	bool until = s->n_args > 1;
	uint64_t least = until ? PLAN_UNTIL_MIN_PASSES : 1, passes = PLAN_UNTIL_DEFAULT_PASSES;
	uint64_t most = until ? PLAN_UNTIL_MAX_PASSES : MAX_PASSES;
	const struct word *number = s->n_args == 2 ? NULL : &s->args[s->n_args - 1];
	struct plan *plan = dst;
	double percent = 0;

	if (until && (units_parse_percentage(s->args[1].text, &percent) || percent <= 0))
		return parse_error(
			XDD_BAD_ARGUMENT, s, &s->args[1],
			"expected a percentage above 0 and up to 100 after until: how far the mean "
			"bandwidth may be off");
	if (number && (units_parse_count(number->text, &passes) || passes < least || passes > most))
		return parse_error(
			XDD_BAD_ARGUMENT, s, number,
			"expected a whole number of passes, %" PRIu64 " to %" PRIu64 "%s", least,
			most, until ? "; for fewer passes give their number without until" : "");
	plan->passes = passes;
	plan->until_percent = percent;
	return XDD_OK;
}

#define OPS_SUFFIX "ops"

/* A time, or a number with the suffix ops. */
static enum xdd_status apply_warmup(const struct setting *s, void *dst)
{
	const char *text = s->args[0].text;
	size_t n = strlen(text), suffix = strlen(OPS_SUFFIX);
	struct target_plan *t = dst;
	uint64_t value = 0;
	char number[32];
	int err;

	if (n > suffix && n - suffix < sizeof(number) &&
	    strcmp(text + n - suffix, OPS_SUFFIX) == 0) {
		snprintf(number, sizeof(number), "%.*s", (int)(n - suffix), text);
		err = units_parse_count(number, &value);
		if (!err && value <= INT64_MAX) {
			t->warmup_ops = value;
			t->warmup_ns = 0;
			return XDD_OK;
		}
	} else if (units_parse_seconds(text, &value) == 0) {
		t->warmup_ns = value;
		t->warmup_ops = 0;
		return XDD_OK;
	}
	return parse_error(XDD_BAD_ARGUMENT, s, &s->args[0],
			   "expected a time, such as 5 or 500ms, or a number of operations with "
			   "ops after it, such as 1000ops");
}

static enum xdd_status plan_apply_snooze(const struct setting *s, void *dst);

static const struct option passes_rows[] = {
	{ .name = "passes",
	  .aliases = "p",
	  OPTION_CUSTOM("<#passes>|until <percent> [<#most>]", apply_passes),
	  .arity = arity_passes,
	  .varies = true,
	  .def = "1",
	  .unit = "passes",
	  .help = "how many times the work is done",
	  .detail =
		  "Allowed: 1 to 1000000000 passes. With until, xdd runs passes until the mean "
		  "bandwidth of "
		  "all targets together is known to within the percentage either way: until its 95 "
		  "% "
		  "confidence interval is that narrow. At least 18 passes are run, since fewer do "
		  "not show "
		  "whether a pass depends on the one before it; the run ends without success after "
		  "100 "
		  "passes, or after the number given, 18 to 10000. Options that depend on the "
		  "number of "
		  "passes, such as -passoffset, assume the largest possible one.",
	  .example = "xdd -op read -targets 1 /dev/sdx -dio -mbytes 256 -passes until 2 50" },
	{ .name = "passdelay",
	  .aliases = "pdelay delay",
	  OPTION_TIME("<seconds>", 1, PLAN_CENTURY_NS),
	  PLAN_FIELD(pass_delay_ns),
	  .help = "wait between passes",
	  .detail = "The delay comes after each pass but the last and counts in no rate." },
	{ .name = "startdelay",
	  .aliases = "sd",
	  OPTION_TIME("<seconds>", 0, PLAN_CENTURY_NS),
	  TARGET_FIELD(start_delay_ns),
	  .def = "0",
	  .help = "wait before each pass",
	  .detail =
		  "The delay counts in no rate of the target, and in no rate of COMBINED when all "
		  "targets share it." },
	{ .name = "targetstartdelay",
	  .aliases = "tsd",
	  OPTION_TIME("<seconds>", 0, PLAN_CENTURY_NS),
	  TARGET_FIELD(target_start_delay_ns),
	  .def = "0",
	  .help = "wait before each pass: this time times the target's number",
	  .detail = "The delay adds to -startdelay, and counts like it." },
	{ .name = "timelimit",
	  .aliases = "tl",
	  OPTION_TIME("<seconds>", 0, PLAN_CENTURY_NS),
	  TARGET_FIELD(time_limit_ns),
	  .help = "end each pass after this time",
	  .detail =
		  "No operation is issued once the time is over; outstanding operations complete. "
		  "With an amount of work as well, the pass ends with whichever comes first. "
		  "Without one, the pass starts over at the end of the file, device or range until "
		  "its time is over; a file that is new or empty grows when it is written. 0 means "
		  "no limit." },
	{ .name = "warmup",
	  .scope = SCOPE_TARGET,
	  OPTION_CUSTOM("<seconds>|<#operations>ops", apply_warmup),
	  .varies = true,
	  .def = "0",
	  .help = "leave the start of each pass out of all figures",
	  .detail =
		  "A time, such as 5 or 500ms, or a number of operations, such as 1000ops. The "
		  "operations of the warm-up are the first of the pass: they are issued "
		  "like all others, and what they read is verified. They count in no rate, latency, "
		  "percentile, interval or time stamp; the line Warm-up of -verbose and warmup_ops "
		  "of -jsonout have their number, and ERRORS has those that failed. -timelimit is "
		  "the time after the warm-up; amounts of work, such as -numreqs, include it.",
	  .example = "xdd -op read -targets 1 /dev/sdx -reqsize 4k -warmup 5 -timelimit 30" },
	{ .name = "runtime",
	  .aliases = "rt",
	  OPTION_TIME("<seconds>", 0, PLAN_CENTURY_NS),
	  PLAN_FIELD(run_time_ns),
	  .help = "end the whole run after this time, counted from its first pass",
	  .detail =
		  "It ends the run early; it never adds passes. Outstanding operations complete; if none "
		  "does for 3 seconds, the run ends without them, with status 6. So it is with "
		  "-timelimit. 0 means no limit." },
	{ .name = "throttle",
	  .aliases = "throt",
	  .scope = SCOPE_TARGET,
	  OPTION_SUB("<suboption>", throttle_rows),
	  .help = "hold the target to a rate",
	  .detail =
		  "The schedule is fixed: operation n of a pass, counted from 0, is due n "
		  "intervals after the pass began, whatever happened to those before it. After a "
		  "stall the operations that are late are issued as fast as possible until the "
		  "target is back on schedule. Beside the service time, from issue to completion, "
		  "-latency shows the response time, from when the operation was due; +RESPP99 and "
		  "the like in -outputformat are columns of it. The last of ops, bw and delay "
		  "wins. With var the rate stays the same, and each operation is moved by a random "
		  "part of the interval. With poisson intervals are random and independent of each "
		  "other, with an exponential distribution, and their mean follows from the rate: "
		  "operations come in bursts, as from many users. Each pass has other intervals; "
		  "-seek seed changes all. delay is not a rate: it adds to -operationdelay. The words "
		  "ops and bw may be left out before a rate with its unit, such as 500iops or 10MB/s.",
	  .example = "xdd -op read -targets 1 data -throttle ops 500 poisson -latency" },
	{ .name = "operationdelay",
	  .aliases = "opdelay",
	  OPTION_TIME("<seconds>", 0, PLAN_CENTURY_NS),
	  PLAN_FIELD(operation_delay_ns),
	  .def = "0",
	  .help = "wait after each operation, in each QThread",
	  .detail = "The delay is outside the operation's own time but part of the elapsed time of "
		    "the "
		    "pass." },
	{ .name = "snooze",
	  .scope = SCOPE_TARGET,
	  OPTION_CUSTOM("<%>", plan_apply_snooze),
	  .varies = true,
	  .def = "0",
	  .help = "rest after each operation for this share of the mean response time",
	  .detail =
		  "The mean is over the operations of the same direction, reads or writes, which "
		  "the QThread has done in the pass so far, from issue to completion; of the first "
		  "one it is its own time. With a mean of 5 ms, 80 waits for 4 ms, and 200 for 10 "
		  "ms. Each QThread rests by itself, and with an asynchronous engine each of its "
		  "slots. The rest adds to -operationdelay and -throttle delay; it is no part of "
		  "the operation's own time, but of the elapsed time of the pass.",
	  .example = "xdd -op read -target data -seek random -timelimit 60 -snooze 80%" },
	{ .name = "nobarrier",
	  .aliases = "nb",
	  PLAN_FLAG(no_barrier),
	  .help = "do not have the targets wait for each other between passes" },
	{ .name = "stoponerror",
	  .aliases = "soe",
	  PLAN_FLAG(stop_on_error),
	  .help = "end the whole run with the first operation that fails" },
	{ .name = "maxerrors",
	  OPTION_NUMBER("<#errors>", 1, INT64_MAX),
	  .unit = "errors",
	  PLAN_FIELD(max_errors),
	  .help = "end a target's pass when this many of its operations have failed",
	  .detail = "Without it, the pass continues, whatever fails." },
	{ .name = "maxerrorstoprint",
	  .aliases = "mep",
	  OPTION_NUMBER("<#errors>", 1, INT64_MAX),
	  .def = "10",
	  .unit = "errors",
	  PLAN_FIELD(max_errors_to_print),
	  .help = "how many error lines to print; the rest are only counted" },
	{ 0 },
};

static enum xdd_status resolve_delays(struct plan *plan, struct target_plan *t)
{
	(void)plan;
	if (__builtin_mul_overflow(t->target_start_delay_ns, t->number, &t->delay_ns) ||
	    __builtin_add_overflow(t->delay_ns, t->start_delay_ns, &t->delay_ns))
		return plan_refuse(t, "-startdelay, -targetstartdelay: are too long together");
	return XDD_OK;
}

static enum xdd_status check_warmup(struct plan *plan, struct target_plan *t)
{
	if (!plan_warms_up(t))
		return XDD_OK;
	if (t->endtoend.role != E2E_NONE)
		return plan_refuse(t, "-warmup: an end-to-end copy has no warm-up: each of its "
				      "blocks is sent once");
	if (plan->stonewall.on)
		return plan_refuse(t, "-warmup: cannot be combined with -stonewall, which compares "
				      "whole passes");
	if (t->pass_ops != PLAN_UNLIMITED && t->warmup_ops >= t->pass_ops)
		return plan_refuse(t,
				   "-warmup %" PRIu64 "ops: leaves nothing of a pass of %" PRIu64
				   " operations",
				   t->warmup_ops, t->pass_ops);
	return XDD_OK;
}

static enum xdd_status check_until(struct plan *plan)
{
	if (!plan->until_percent || !plan->no_barrier)
		return XDD_OK;
	return log_refuse(
		"-passes until: with -nobarrier the targets have no passes together whose "
		"bandwidth "
		"could be known; leave -nobarrier out, or say how many passes");
}

bool plan_first_pass_is_last(const struct plan *plan)
{
	if (!plan->run_time_ns)
		return false;
	for (const struct target_plan *t = plan->targets; t < plan_end(plan); t++) {
		if (t->pass_ops != PLAN_UNLIMITED || t->time_limit_ns)
			return false;
	}
	return true;
}

/* Scripts for older programs say 0 for no limit; others may expect a run that ends at once. */
static void warn_no_limit(const struct setting *s)
{
	uint64_t limit_ns;

	if ((strcmp(s->opt->name, "timelimit") == 0 || strcmp(s->opt->name, "runtime") == 0) &&
	    !units_parse_seconds(s->args[0].text, &limit_ns) && !limit_ns)
		log_warning("-%s %s: 0 means no limit; leave it out", s->opt->name,
			    s->args[0].text);
}

static void warn_passes(const struct plan *plan)
{
	for (size_t i = 0; i < plan->n_settings; i++)
		warn_no_limit(&plan->settings[i]);
	if (plan->passes > 1 && plan_first_pass_is_last(plan))
		log_warning("-passes: -runtime ends the run in its first pass; -timelimit "
			    "<seconds> ends each pass");
}

const struct plan_feature feature_passes = {
	.group = { "Passes, limits and delays", passes_rows },
	.target = { [TARGET_PROBE] = resolve_delays, [TARGET_CHECK] = check_warmup },
	.plan = { [PLAN_BEGIN] = check_until },
	.warn = warn_passes,
};

/*
 * -throttle and -snooze: the pace of a target.
 */

#define LEAST_RATE 1e-9
#define MOST_RATE 1e9
#define MEGABYTE 1e6
#define MOST_SNOOZE 100000.0

static enum xdd_status is_positive(const struct setting *s, int err, double v, double most,
				   const char *what)
{
	if (!err && v >= LEAST_RATE && v <= most)
		return XDD_OK;
	return parse_error(XDD_BAD_ARGUMENT, s, &s->args[0],
			   "expected %s, above 0 and up to %.0f, with decimals if need be", what,
			   most);
}

static enum xdd_status parse_ops(const struct setting *s, double *rate)
{
	double v = 0;
	int err = units_parse_op_rate(s->args[0].text, &v);
	enum xdd_status status = is_positive(
		s, err, v, MOST_RATE, "a number of operations per second, such as 200 or 10k");

	if (!status)
		*rate = v;
	return status;
}

static enum xdd_status parse_bandwidth(const struct setting *s, double *rate)
{
	const char *word = s->args[0].text;
	double v = 0;
	int err = units_parse_byte_rate(word, MEGABYTE, &v);
	enum xdd_status status;

	/* A number alone stays as it is: times 10^6 and back may round. */
	if (units_has_suffix(word))
		v /= MEGABYTE;
	else
		err = units_parse_real(word, &v);
	status = is_positive(s, err, v, MOST_RATE,
			     "a number of 10^6 bytes per second, or bytes per second with a "
			     "suffix, such as 10M or 10MB/s");
	if (!status)
		*rate = v;
	return status;
}

/* Of ops, bw and delay the last wins. */
static enum xdd_status apply_rate(const struct setting *s, void *dst)
{
	struct target_plan *t = dst;
	enum xdd_status status = s->sub->value == THROTTLE_OPS ?
					 parse_ops(s, &t->throttle.rate) :
					 parse_bandwidth(s, &t->throttle.rate);

	if (status)
		return status;
	t->throttle.by = (enum throttle_by)s->sub->value;
	t->throttle.delay_ns = 0;
	return XDD_OK;
}

static enum xdd_status apply_var(const struct setting *s, void *dst)
{
	struct target_plan *t = dst;
	double percent = 0;
	int err = units_parse_percentage(s->args[0].text, &percent);
	enum xdd_status status = is_positive(s, err, percent, 100,
					     "a percentage of the interval between operations");

	if (!status)
		t->throttle.var_percent = percent;
	return status;
}

/* Set the percentage of -snooze. */
static enum xdd_status plan_apply_snooze(const struct setting *s, void *dst)
{
	const char *text = s->args[0].text;
	const size_t n = strlen(text);
	struct target_plan *t = dst;
	double percent = 0;
	char number[32];
	int err = -EINVAL;

	if (n < sizeof(number)) {
		memcpy(number, text, n + 1);
		if (n && number[n - 1] == '%')
			number[n - 1] = '\0';
		err = units_parse_real(number, &percent);
	}
	if (err || percent < 0 || percent > MOST_SNOOZE)
		return parse_error(XDD_BAD_ARGUMENT, s, &s->args[0],
				   "expected a percentage of the mean response time, 0 to %.0f, "
				   "such as 80%%",
				   MOST_SNOOZE);
	t->snooze_percent = percent;
	return XDD_OK;
}

/* "500iops" is a rate of operations and "500MB/s" one of bytes; "500" and "10k" may be either. */
static bool is_op_rate(const char *word)
{
	double rate;

	return units_parse_op_rate(word, &rate) == 0;
}

static bool is_byte_rate(const char *word)
{
	double rate;

	return units_parse_byte_rate(word, MEGABYTE, &rate) == 0;
}

const struct option throttle_rows[] = {
	{ .name = "ops",
	  OPTION_CUSTOM("<#operations/second>", apply_rate),
	  .value = THROTTLE_OPS,
	  .bare = is_op_rate,
	  .unit = "operations per second",
	  .varies = true,
	  .help = "issue this many operations per second, such as 200 or 10k" },
	{ .name = "bw",
	  OPTION_CUSTOM("<#megabytes/second>", apply_rate),
	  .value = THROTTLE_BANDWIDTH,
	  .bare = is_byte_rate,
	  .unit = "10^6 bytes per second; bytes with a suffix",
	  .varies = true,
	  .help = "transfer this many megabytes (10^6 bytes) per second; with a suffix bytes, such "
		  "as 10M, 10MB or 10MB/s" },
	{ .name = "var",
	  OPTION_CUSTOM("<%>", apply_var),
	  .varies = true,
	  .help = "vary the interval between operations at random by up to this much" },
	{ .name = "poisson",
	  TARGET_FLAG(throttle.poisson),
	  .help = "have operations arrive at random and independently of each other at this rate" },
	{ .name = "delay",
	  OPTION_TIME("<seconds>", 1, PLAN_CENTURY_NS),
	  TARGET_FIELD(throttle.delay_ns),
	  .selects = offsetof(struct target_plan, throttle.by),
	  .value = THROTTLE_DELAY,
	  .help = "wait this long after each operation instead" },
	{ 0 },
};

/* With a rate of bytes, when an operation is due depends on the sizes of all before it. */
static enum xdd_status sum_rows(struct plan *plan, struct target_plan *t)
{
	uint64_t *before = xarena_alloc(plan->arena, (t->n_rows + 1) * sizeof(*before)), sum = 0;

	for (size_t i = 0; i < t->n_rows; i++) {
		before[i] = sum;
		sum += t->rows[i].blocks * t->block_size;
	}
	before[t->n_rows] = sum;
	t->throttle.bytes_before = before;
	return XDD_OK;
}

/*
 * Arrivals do not depend on sizes: requests of a list or mix come at the rate of requests of mean
 * size.
 */
static double mean_size(const struct target_plan *t)
{
	uint64_t blocks = 0;

	if (t->mix)
		return (double)t->mix->cycle_bytes / (double)t->mix->cycle_ops;
	for (size_t i = 0; i < t->n_rows; i++)
		blocks += t->rows[i].blocks;
	return t->n_rows ? (double)blocks / (double)t->n_rows * (double)t->block_size :
			   (double)t->req_bytes;
}

/* Refuse words that change the intervals of a rate, and have none or contradict each other. */
static enum xdd_status check_intervals(const struct target_plan *t)
{
	const struct throttle_options *throttle = &t->throttle;
	const bool rate = throttle->by == THROTTLE_OPS || throttle->by == THROTTLE_BANDWIDTH;

	if (!rate && (throttle->poisson || throttle->var_percent > 0))
		return plan_refuse(
			t, "-throttle %s: is for a rate; say -throttle ops or -throttle bw as well",
			throttle->poisson ? "poisson" : "var");
	if (throttle->poisson && throttle->var_percent > 0)
		return plan_refuse(t, "-throttle poisson: cannot be used with -throttle var; the "
				      "intervals are random already");
	return XDD_OK;
}

static enum xdd_status check_snooze(const struct target_plan *t)
{
	if (t->snooze_percent <= 0)
		return XDD_OK;
	if (t->throttle.by == THROTTLE_OPS || t->throttle.by == THROTTLE_BANDWIDTH)
		return plan_refuse(
			t,
			"-snooze: cannot be used with -throttle %s, whose rate says when "
			"each operation is due",
			t->throttle.by == THROTTLE_OPS ? "ops" : "bw");
	if (t->endtoend.role != E2E_NONE)
		return plan_refuse(t, "-snooze: cannot be used in an end-to-end copy; "
				      "-throttle holds it to a rate");
	return XDD_OK;
}

static enum xdd_status resolve_throttle(struct plan *plan, struct target_plan *t)
{
	struct throttle_options *throttle = &t->throttle;
	enum xdd_status status = check_intervals(t);

	throttle->rank = plan->rank;
	if (!status)
		status = check_snooze(t);
	if (status)
		return status;
	switch (throttle->by) {
	case THROTTLE_OPS:
		throttle->interval_ns = (double)NS_PER_SEC / throttle->rate;
		return XDD_OK;
	case THROTTLE_BANDWIDTH:
		/* 10^6 bytes per second are one byte per microsecond. */
		throttle->interval_ns = (throttle->poisson ? mean_size(t) : (double)t->req_bytes) *
					1000 / throttle->rate;
		return t->rows && !throttle->poisson ? sum_rows(plan, t) : XDD_OK;
	case THROTTLE_DELAY:
	case THROTTLE_NONE:
		break;
	}
	return XDD_OK;
}

const struct plan_feature feature_throttle = {
	.target = { [TARGET_SIZE] = resolve_throttle },
};

/*
 * In what order the operations of a target are issued: -ordering. The user guide, 5.7; strict is
 * ours.
 */

static const struct choice ordering_choices[] = {
	{ "serial", "so", ORDERING_SERIAL },
	{ "loose", "lo", ORDERING_LOOSE },
	{ "strict", NULL, ORDERING_STRICT },
	{ "none", "no", ORDERING_NONE },
	{ 0 },
};

static enum xdd_status apply_both(const struct setting *s, void *dst)
{
	struct target_plan *t = dst;

	(void)s;
	t->network_ordering = t->ordering;
	return XDD_OK;
}

#define MODE(name_, aliases_, value_, help_)                                                 \
	{                                                                                    \
		.name = name_, .aliases = aliases_, .type = OPT_SET, TARGET_FIELD(ordering), \
		.value = value_, .help = help_,                                              \
	}

#define WHERE(name_, aliases_, field_, apply_, help_)                                       \
	{                                                                                   \
		.name = name_, .aliases = aliases_, .type = OPT_CHOICE,                     \
		.arg = "<serial|loose|strict|none>", TARGET_FIELD(field_), .apply = apply_, \
		.choices = ordering_choices, .help = help_,                                 \
	}

static const struct option ordering_rows[] = {
	WHERE("storage", "stor disk", ordering, NULL, "of reads and writes of the target"),
	WHERE("network", "net", network_ordering, NULL, "of sends and receives"),
	WHERE("both", NULL, ordering, apply_both, "of both"),
	MODE("serial", NULL, ORDERING_SERIAL, "the same as storage serial"),
	MODE("loose", NULL, ORDERING_LOOSE, "the same as storage loose"),
	MODE("strict", NULL, ORDERING_STRICT, "the same as storage strict"),
	MODE("none", NULL, ORDERING_NONE, "the same as storage none"),
	{ 0 },
};

static const struct option order_rows[] = {
	{ .name = "ordering",
	  .aliases = "or order",
	  .scope = SCOPE_TARGET,
	  OPTION_SUB("<where> <how>", ordering_rows),
	  .help = "when the next operation of a target may be issued",
	  .detail =
		  "serial: once its predecessor is complete, so that one is in flight at a time. "
		  "strict: once its predecessor has been submitted to the kernel, whatever the "
		  "queue depth: perfectly sequential with a full queue, for engines that queue "
		  "(libaio, io_uring). loose: once its predecessor is about to be issued; QThreads "
		  "may still overtake each other on their way into the kernel, so that nothing is "
		  "guaranteed. none, the default: each QThread issues as soon as it can. With "
		  "-verbose a run says how many operations were issued out of order, where that "
		  "can be known (not for several QThreads with loose or none), and the column "
		  "ORDERBREAKS of -outputformat has the number.",
	  .example = "xdd -op read -targets 1 /dev/sdx -queuedepth 8 -ordering storage serial" },
	MODE("serialordering", "so", ORDERING_SERIAL, "the same as -ordering storage serial"),
	MODE("looseordering", "lo", ORDERING_LOOSE, "the same as -ordering storage loose"),
	MODE("noordering", "no", ORDERING_NONE, "the same as -ordering storage none"),
	{ 0 },
};

static bool is_strict(const struct target_plan *t)
{
	return t->ordering == ORDERING_STRICT && t->queue_depth > 1;
}

static enum xdd_status order_check(struct plan *plan, struct target_plan *t)
{
	char engines[128];

	(void)plan;
	if (!is_strict(t) || plan_engine(t)->caps & (ENGINE_QUEUES | ENGINE_NO_DATA))
		return XDD_OK;
	return plan_refuse(t,
			   "-ordering strict with more than one operation outstanding needs an "
			   "engine that queues: %s",
			   engine_names(ENGINE_QUEUES, 0, engines, sizeof(engines)));
}

static void warn_network(const struct target_plan *t)
{
	const char *why = "nothing goes over a network here; -ordering storage is for reads and "
			  "writes";

	if (t->network_ordering == ORDERING_NONE || t->ordering != ORDERING_NONE ||
	    t->endtoend.role == E2E_SOURCE)
		return;
	if (t->endtoend.role == E2E_DESTINATION)
		why = "the source orders what it sends; say it there";
	target_warning(t, "-ordering network %s: %s", plan_ordering_name(t->network_ordering), why);
}

/*
 * Which requests have to wait depends on the file system, the device and the cache:
 * doc/user-guide.md, "In order".
 */
static void warn_reordered(const struct plan *plan)
{
	for (const struct target_plan *t = plan->targets; t < plan_end(plan); t++) {
		char engines[128];

		if (!is_strict(t) || !(plan_engine_caps(t) & ENGINE_REORDERS) || t->op == OP_NOOP ||
		    t->kind == TARGET_CHAR)
			continue;
		target_warning(t,
			       "-ordering strict with %s: kernel threads execute requests that "
			       "have to wait, in any order; %s keeps the order",
			       t->engine->name,
			       engine_names(ENGINE_QUEUES, ENGINE_REORDERS, engines,
					    sizeof(engines)));
		return;
	}
}

const struct plan_feature feature_order = {
	.group = { "Order of operations", order_rows },
	.target = { [TARGET_CHECK] = order_check },
	.warn_target = warn_network,
	.warn = warn_reordered,
};
