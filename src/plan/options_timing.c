/*
 * Rows of the option table: passes, limits and delays.
 */
#include <inttypes.h>
#include <stdint.h>
#include <string.h>

#include "plan/parse.h"
#include "xdd/base/units.h"

#define LEAST_RATE 1e-9
#define MOST_RATE 1e9

/* A positive real number. */
static enum xdd_status parse_positive(const struct setting *s, double most, const char *what,
				      double *value)
{
	double v;

	if (units_parse_real(s->args[0].text, &v) || v < LEAST_RATE || v > most)
		return parse_error(XDD_BAD_ARGUMENT, s, &s->args[0],
				   "%s is wanted, above 0 and up to %.0f, with decimals if need be",
				   what, most);
	*value = v;
	return XDD_OK;
}

/* Of ops, bw and delay the last wins. */
static enum xdd_status apply_rate(const struct setting *s, void *dst)
{
	struct target_plan *t = dst;
	bool ops = s->sub->value == THROTTLE_OPS;
	enum xdd_status status = parse_positive(s, MOST_RATE,
						ops ? "a number of operations a second" :
						      "a number of 10^6 bytes a second",
						&t->throttle.rate);

	if (status)
		return status;
	t->throttle.by = (enum throttle_by)s->sub->value;
	t->throttle.delay_ns = 0;
	return XDD_OK;
}

static enum xdd_status apply_var(const struct setting *s, void *dst)
{
	struct target_plan *t = dst;

	return parse_positive(s, 100, "a percentage of the interval between operations",
			      &t->throttle.var_percent);
}

static const struct option throttle_options[] = {
	{ .name = "ops",
	  .type = OPT_CUSTOM,
	  .arg = "<#operations/second>",
	  .value = THROTTLE_OPS,
	  .apply = apply_rate,
	  .help = "issue this many operations a second" },
	{ .name = "bw",
	  .type = OPT_CUSTOM,
	  .arg = "<#megabytes/second>",
	  .value = THROTTLE_BANDWIDTH,
	  .apply = apply_rate,
	  .help = "transfer this many megabytes (10^6 bytes) a second" },
	{ .name = "var",
	  .type = OPT_CUSTOM,
	  .arg = "<%>",
	  .apply = apply_var,
	  .help = "vary the interval between operations at random by up to this much" },
	{ .name = "delay",
	  .type = OPT_SECONDS,
	  .arg = "<seconds>",
	  .min = 1,
	  .max = PLAN_CENTURY_NS,
	  TARGET_FIELD(throttle.delay_ns),
	  .selects = offsetof(struct target_plan, throttle.by),
	  .value = THROTTLE_DELAY,
	  .help = "rest this long after each operation instead" },
	{ 0 },
};

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

	if (until && (units_parse_real(s->args[1].text, &percent) || percent <= 0 || percent > 100))
		return parse_error(
			XDD_BAD_ARGUMENT, s, &s->args[1],
			"behind until a percentage above 0 and up to 100 is wanted: how far the mean "
			"bandwidth may be off");
	if (number && (units_parse_u64(number->text, &passes) || passes < least || passes > most))
		return parse_error(
			XDD_BAD_ARGUMENT, s, number,
			"a whole number of passes is wanted, %" PRIu64 " to %" PRIu64 "%s", least,
			most, until ? "; for fewer passes give their number without until" : "");
	plan->passes = passes;
	plan->until_percent = percent;
	return XDD_OK;
}

const struct option options_timing[] = {
	{ .name = "passes",
	  .aliases = "p",
	  .scope = SCOPE_GLOBAL,
	  .type = OPT_CUSTOM,
	  .arg = "<#passes>|until <percent> [<#most>]",
	  .arity = arity_passes,
	  .apply = apply_passes,
	  .def = "1",
	  .unit = "passes",
	  .help = "how often the work is done over",
	  .detail =
		  "Allowed: 1 to 1000000000 passes. With until, xdd runs passes until the mean bandwidth of "
		  "all targets together is known to within the percentage either way: until its 95 % "
		  "confidence interval is that narrow. At least 18 passes are run, since fewer do not show "
		  "whether a pass depends on the one before it; the run ends without success after 100 "
		  "passes, or after the number given, 18 to 10000. Options that depend on the number of "
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
	  .help = "wait before each pass: this time times the target's number",
	  .detail = "The delay adds to -startdelay, and counts like it." },
	{ .name = "timelimit",
	  .aliases = "tl",
	  .scope = SCOPE_TARGET,
	  .type = OPT_SECONDS,
	  .arg = "<seconds>",
	  .min = 1,
	  .max = PLAN_CENTURY_NS,
	  TARGET_FIELD(time_limit_ns),
	  .help = "end each pass after this time",
	  .detail =
		  "No operation is issued once the time is over; those outstanding are waited for. With "
		  "an amount of work as well, the pass ends with whichever comes first. Without one, the "
		  "pass starts over at the end of the file, device or range until its time is over; a file that "
		  "is new or empty grows when it is written." },
	{ .name = "runtime",
	  .aliases = "rt",
	  .scope = SCOPE_GLOBAL,
	  .type = OPT_SECONDS,
	  .arg = "<seconds>",
	  .min = 1,
	  .max = PLAN_CENTURY_NS,
	  PLAN_FIELD(run_time_ns),
	  .help = "end the whole run after this time, counted from its first pass",
	  .detail = "It ends the run early; it never adds passes." },
	{ .name = "throttle",
	  .aliases = "throt",
	  .scope = SCOPE_TARGET,
	  .type = OPT_SUB,
	  .arg = "<suboption>",
	  .subs = throttle_options,
	  .help = "hold the target to a rate",
	  .detail =
		  "The schedule is fixed: operation n of a pass, counted from 0, is due n intervals "
		  "after the pass began, whatever happened to those before it. After a stall the "
		  "operations that are late are issued as fast as they can be until the schedule is "
		  "caught up with. -latency shows beside the service time, from issue to completion, the "
		  "response time, from when the operation was due; +RESPP99 and the like in "
		  "-outputformat are columns of it. The last of ops, bw and delay wins. With var the "
		  "rate stays as it is, and each operation is moved by a random part of the interval. "
		  "delay is no rate: it adds to -operationdelay.",
	  .example = "xdd -op read -targets 1 data -throttle ops 500 -latency histogram" },
	{ .name = "operationdelay",
	  .aliases = "opdelay",
	  .scope = SCOPE_GLOBAL,
	  .type = OPT_SECONDS,
	  .arg = "<seconds>",
	  .min = 0,
	  .max = PLAN_CENTURY_NS,
	  PLAN_FIELD(operation_delay_ns),
	  .help = "wait after each operation, in each QThread",
	  .detail =
		  "The delay is outside the operation's own time but part of the elapsed time of the "
		  "pass." },
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
	  .detail = "Without it, operations go on failing to the end of the pass." },
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
