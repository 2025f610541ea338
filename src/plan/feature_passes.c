/*
 * Passes, limits and delays: -passes, -timelimit, -runtime, -startdelay, -maxerrors.
 */
#include "plan/feature.h"

#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "plan/errors.h"
#include "plan/value.h"
#include "xdd/base/log.h"
#include "xdd/base/units.h"

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

static const struct option rows[] = {
	{ .name = "passes",
	  .aliases = "p",
	  .scope = SCOPE_GLOBAL,
	  .type = OPT_CUSTOM,
	  .arg = "<#passes>|until <percent> [<#most>]",
	  .arity = arity_passes,
	  .varies = true,
	  .apply = apply_passes,
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
	  .scope = SCOPE_GLOBAL,
	  .type = OPT_SECONDS,
	  .arg = "<seconds>",
	  .min = 1,
	  .max = PLAN_CENTURY_NS,
	  PLAN_FIELD(pass_delay_ns),
	  .help = "wait between passes",
	  .detail = "The delay comes after each pass but the last and counts in no rate." },
	{ .name = "startdelay",
	  .aliases = "sd",
	  .scope = SCOPE_TARGET,
	  .type = OPT_SECONDS,
	  .arg = "<seconds>",
	  .min = 0,
	  .max = PLAN_CENTURY_NS,
	  TARGET_FIELD(start_delay_ns),
	  .def = "0",
	  .help = "wait before each pass",
	  .detail =
		  "The delay counts in no rate of the target, and in no rate of COMBINED when all "
		  "targets share it." },
	{ .name = "targetstartdelay",
	  .aliases = "tsd",
	  .scope = SCOPE_TARGET,
	  .type = OPT_SECONDS,
	  .arg = "<seconds>",
	  .min = 0,
	  .max = PLAN_CENTURY_NS,
	  TARGET_FIELD(target_start_delay_ns),
	  .def = "0",
	  .help = "wait before each pass: this time times the target's number",
	  .detail = "The delay adds to -startdelay, and counts like it." },
	{ .name = "timelimit",
	  .aliases = "tl",
	  .scope = SCOPE_TARGET,
	  .type = OPT_SECONDS,
	  .arg = "<seconds>",
	  .min = 0,
	  .max = PLAN_CENTURY_NS,
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
	  .type = OPT_CUSTOM,
	  .arg = "<seconds>|<#operations>ops",
	  .varies = true,
	  .apply = apply_warmup,
	  .def = "0",
	  .help = "leave the start of each pass out of all figures",
	  .detail =
		  "A time, such as 5 or 500ms, or a number of operations, such as 1000ops. The "
		  "operations of the warm-up are the first of those of the pass: they are issued "
		  "like all others, and what they read is verified. They count in no rate, latency, "
		  "percentile, interval or time stamp; the line Warm-up of -verbose and warmup_ops "
		  "of -jsonout have their number, and ERRORS has those that failed. -timelimit is "
		  "the time after the warm-up; amounts of work, such as -numreqs, include it.",
	  .example = "xdd -op read -targets 1 /dev/sdx -reqsize 4k -warmup 5 -timelimit 30" },
	{ .name = "runtime",
	  .aliases = "rt",
	  .scope = SCOPE_GLOBAL,
	  .type = OPT_SECONDS,
	  .arg = "<seconds>",
	  .min = 0,
	  .max = PLAN_CENTURY_NS,
	  PLAN_FIELD(run_time_ns),
	  .help = "end the whole run after this time, counted from its first pass",
	  .detail =
		  "It ends the run early; it never adds passes. Outstanding operations complete; if none "
		  "does for 3 seconds, the run ends without them, with status 6. So it is with "
		  "-timelimit. 0 means no limit." },
	{ .name = "throttle",
	  .aliases = "throt",
	  .scope = SCOPE_TARGET,
	  .type = OPT_SUB,
	  .arg = "<suboption>",
	  .subs = throttle_rows,
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
		  "other, with an exponential distribution, and their mean is that of the rate: "
		  "operations come in bursts, as from many users. Each pass has other intervals; "
		  "-seek seed changes all. delay is not a rate: it adds to -operationdelay.",
	  .example = "xdd -op read -targets 1 data -throttle ops 500 poisson -latency" },
	{ .name = "operationdelay",
	  .aliases = "opdelay",
	  .scope = SCOPE_GLOBAL,
	  .type = OPT_SECONDS,
	  .arg = "<seconds>",
	  .min = 0,
	  .max = PLAN_CENTURY_NS,
	  PLAN_FIELD(operation_delay_ns),
	  .def = "0",
	  .help = "wait after each operation, in each QThread",
	  .detail = "The delay is outside the operation's own time but part of the elapsed time of "
		    "the "
		    "pass." },
	{ .name = "snooze",
	  .scope = SCOPE_TARGET,
	  .type = OPT_CUSTOM,
	  .arg = "<%>",
	  .varies = true,
	  .apply = plan_apply_snooze,
	  .def = "0",
	  .help = "rest after each operation for this share of the mean response time",
	  .detail =
		  "The mean is that of the operations of the same direction, reads or writes, which "
		  "the QThread has done in the pass so far, from issue to completion; of the first "
		  "one it is its own time. With a mean of 5 ms, 80 waits for 4 ms, and 200 for 10 "
		  "ms. Each QThread rests by itself, and with an asynchronous engine each of its "
		  "slots. The rest adds to -operationdelay and -throttle delay; it is no part of "
		  "the operation's own time, but of the elapsed time of the pass.",
	  .example = "xdd -op read -target data -seek random -timelimit 60 -snooze 80%" },
	{ .name = "nobarrier",
	  .aliases = "nb",
	  .scope = SCOPE_GLOBAL,
	  .type = OPT_FLAG,
	  .value = true,
	  PLAN_FIELD(no_barrier),
	  .help = "do not have the targets wait for each other between passes" },
	{ .name = "stoponerror",
	  .aliases = "soe",
	  .scope = SCOPE_GLOBAL,
	  .type = OPT_FLAG,
	  .value = true,
	  PLAN_FIELD(stop_on_error),
	  .help = "end the whole run with the first operation that fails" },
	{ .name = "maxerrors",
	  .scope = SCOPE_GLOBAL,
	  .type = OPT_U64,
	  .arg = "<#errors>",
	  .min = 1,
	  .max = INT64_MAX,
	  .unit = "errors",
	  PLAN_FIELD(max_errors),
	  .help = "end a target's pass when this many of its operations have failed",
	  .detail = "Without it, the pass continues, whatever fails." },
	{ .name = "maxerrorstoprint",
	  .aliases = "mep",
	  .scope = SCOPE_GLOBAL,
	  .type = OPT_U64,
	  .arg = "<#errors>",
	  .min = 1,
	  .max = INT64_MAX,
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
	log_error("-passes until: with -nobarrier the targets have no passes together whose "
		  "bandwidth "
		  "could be known; leave -nobarrier out, or say how many passes");
	return XDD_BAD_ARGUMENT;
}

bool plan_first_pass_is_last(const struct plan *plan)
{
	if (!plan->run_time_ns)
		return false;
	for (size_t i = 0; i < plan->n_targets; i++) {
		const struct target_plan *t = &plan->targets[i];

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
	.group = { "Passes, limits and delays", rows },
	.target = { [TARGET_PROBE] = resolve_delays, [TARGET_CHECK] = check_warmup },
	.plan = { [PLAN_BEGIN] = check_until },
	.warn = warn_passes,
};
