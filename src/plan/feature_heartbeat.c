/*
 * Progress of a run while it lasts: -heartbeat. The user guide, 5.2.
 */
#include "plan/feature.h"

#include <stdint.h>

#include "xdd/base/log.h"
#include "xdd/base/units.h"

#define T(field) TARGET_FIELD(heartbeat.field)
#define DAY_NS (24ull * 3600 * NS_PER_SEC)

/* A word asks for the heartbeat as well. */
static enum xdd_status apply_word(const struct setting *s, void *dst)
{
	struct target_plan *t = dst;

	(void)s;
	t->heartbeat.off = false;
	return XDD_OK;
}

static enum xdd_status apply_interval(const struct setting *s, void *dst)
{
	struct target_plan *t = dst;

	(void)s;
	t->heartbeat.off = t->heartbeat.interval_ns == 0;
	return XDD_OK;
}

#define FIELD(name_, aliases_, value_, help_)                                                     \
	{                                                                                         \
		.name = name_, .aliases = aliases_, .type = OPT_BIT, .value = HEARTBEAT_##value_, \
		T(fields), .apply = apply_word, .help = help_,                                    \
	}

static const struct option heartbeat_rows[] = {
	{ .name = "seconds",
	  .type = OPT_SECONDS,
	  .arg = "<seconds>",
	  .min = 0,
	  .max = DAY_NS,
	  .bare = true,
	  T(interval_ns),
	  .apply = apply_interval,
	  .help = "how often; the word seconds may be left out; 0: never" },
	FIELD("ops", "operations", OPS, "operations completed in this pass"),
	FIELD("bytes", "b", BYTES, "bytes transferred in this pass"),
	FIELD("kbytes", "kb", KBYTES, "the same in KiB of 1024 bytes"),
	FIELD("mbytes", "mb", MBYTES, "the same in MiB"),
	FIELD("gbytes", "gb", GBYTES, "the same in GiB"),
	FIELD("bw", "bandwidth", BW, "10^6 bytes per second since the last line"),
	FIELD("iops", NULL, IOPS, "operations per second since the last line"),
	FIELD("pct", "percent", PCT, "how much of the pass is done"),
	FIELD("etc", "eta et", ETC, "estimated time to completion of the run"),
	FIELD("latency", "lat", LATENCY,
	      "median, 99th percentile and longest time of operations since the last line"),
	FIELD("target", "tgt", TARGET, "the target's number before its values"),
	FIELD("tod", "time", TOD, "the time of day at the beginning of the line"),
	FIELD("elapsed", "sec", ELAPSED,
	      "seconds since the run began, at the beginning of the line"),
	FIELD("hostname", "host", HOSTNAME,
	      "the name of this computer, at the beginning of the line"),
	FIELD("lf", "cr nl", LF, "each line stays, on a terminal too"),
	{ .name = "output",
	  .aliases = "out",
	  .type = OPT_TEXT,
	  .arg = "<prefix>",
	  T(output),
	  .help = "lines go to <prefix>.T0000.csv, by number of the target" },
	{ .name = "append",
	  .type = OPT_SET,
	  .value = true,
	  T(append),
	  .apply = apply_word,
	  .help = "append to such a file, instead of replacing it" },
	{ 0 },
};

static const struct option rows[] = {
	{ .name = "heartbeat",
	  .aliases = "hb",
	  .scope = SCOPE_TARGET,
	  .type = OPT_SUB,
	  .arg = "<seconds>|<word> ...",
	  .subs = heartbeat_rows,
	  .help = "show how far each target is while it runs",
	  .detail = "A line to standard error every second, or as often as <seconds> says, and at "
		    "the end of "
		    "each pass, with the fields that are named; a number alone shows ops, bw, pct "
		    "and etc. "
		    "Rates and latencies are those since the last line. On a terminal the line is "
		    "drawn over "
		    "the one before. Without this option a run that takes longer than two seconds "
		    "shows its "
		    "progress on a terminal; -heartbeat 0 turns that off. The signal SIGUSR1 asks "
		    "for a line "
		    "at any time; while the program is still loaded, in the first milliseconds, it "
		    "ends it.",
	  .example = "xdd -op read -targets 1 /dev/sdx -timelimit 60 -heartbeat 5 ops bw pct" },
	{ 0 },
};

/* A number alone selects the default fields; with any word, only named fields are shown. */
static enum xdd_status resolve(struct plan *plan, struct target_plan *t)
{
	struct heartbeat_options *h = &t->heartbeat;
	const bool named = h->fields || h->output;

	(void)plan;
	h->on = (named || h->interval_ns) && !h->off;
	if (!named && h->on)
		h->fields = HEARTBEAT_DEFAULT;
	return XDD_OK;
}

/* Words such as lf and output alone select no field. */
static void warn(const struct target_plan *t)
{
	const struct heartbeat_options *h = &t->heartbeat;

	if (h->append && !h->output)
		log_warning("target %u, %s: -heartbeat append: there is no file to append to; "
			    "-heartbeat output <prefix> names one",
			    t->number, t->path);
	if (h->on && !(h->fields & ~(unsigned)HEARTBEAT_LF))
		log_warning(
			"target %u, %s: -heartbeat: no field is named, and its lines show none; "
			"name "
			"some, such as ops bw pct etc",
			t->number, t->path);
}

const struct plan_feature feature_heartbeat = {
	.group = { "Heartbeat", rows },
	.target = { [TARGET_SIZE] = resolve },
	.warn_target = warn,
};
