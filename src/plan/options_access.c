/*
 * Rows of the option table: which places of a target are accessed, and in which order.
 */
#include <stdint.h>

#include "plan/parse.h"
#include "xdd/base/units.h"

#define T(field) .off = offsetof(struct target_plan, field)
#define MAX_BLOCKS INT64_MAX

/* One of the words that name a pattern; its row's `value` says which. */
static enum xdd_status apply_pattern(struct parse *p, const struct setting *s, void *dst)
{
	struct target_plan *t = dst;

	(void)p;
	t->seek.pattern = (enum seek_pattern)s->sub->value;
	return XDD_OK;
}

static enum xdd_status apply_interleave(struct parse *p, const struct setting *s, void *dst)
{
	struct target_plan *t = dst;

	(void)p;
	(void)s;
	t->seek.pattern = SEEK_INTERLEAVE;
	return XDD_OK;
}

static enum xdd_status apply_load(struct parse *p, const struct setting *s, void *dst)
{
	struct target_plan *t = dst;

	(void)p;
	(void)s;
	t->seek.pattern = SEEK_LOAD;
	return XDD_OK;
}

#define PATTERN(name_, value_, help_)                                                           \
	{                                                                                       \
		.name = name_, .type = OPT_CUSTOM, .arity = option_arity_none, .value = value_, \
		.apply = apply_pattern, .help = help_,                                          \
	}

static const struct option seek_options[] = {
	PATTERN("sequential", SEEK_SEQUENTIAL, "one request behind the other (the default)"),
	PATTERN("random", SEEK_RANDOM, "whole requests drawn uniformly from the range"),
	{ .name = "range",
	  .type = OPT_U64,
	  .arg = "<#blocks>",
	  .min = 1,
	  .max = MAX_BLOCKS,
	  .unit = "blocks",
	  T(seek.range_blocks),
	  .help = "the stretch of the target to stay in, from the start offset" },
	{ .name = "stagger",
	  .aliases = "staggered",
	  .type = OPT_CUSTOM,
	  .arity = option_arity_number, /* older scripts put one behind it */
	  .value = SEEK_STAGGER,
	  .apply = apply_pattern,
	  .help = "in ascending order, spread evenly over the range" },
	{ .name = "interleave",
	  .type = OPT_U64,
	  .arg = "<factor>",
	  .min = 1,
	  .max = 1u << 30,
	  T(seek.interleave),
	  .apply = apply_interleave,
	  .help = "every <factor>th request" },
	PATTERN("none", SEEK_NONE, "the first request of the range again and again"),
	{ .name = "seed",
	  .type = OPT_U64,
	  .arg = "<number>",
	  .min = 0,
	  .max = UINT64_MAX,
	  .def = "72058",
	  T(seek.seed),
	  .help = "start of the random sequence" },
	{ .name = "save",
	  .type = OPT_TEXT,
	  .arg = "<file>",
	  T(seek.save_file),
	  .help = "write the list of operations to <file>.T<target number>.txt" },
	{ .name = "load",
	  .type = OPT_TEXT,
	  .arg = "<file>",
	  T(seek.load_file),
	  .apply = apply_load,
	  .help = "take the list of operations from a saved file" },
	{ .name = "disthist",
	  .type = OPT_U64,
	  .arg = "<#buckets>",
	  .min = 1,
	  .max = 1000000,
	  .unit = "buckets",
	  T(seek.disthist),
	  .help = "show a histogram of the distances between operations" },
	{ .name = "seekhist",
	  .type = OPT_U64,
	  .arg = "<#buckets>",
	  .min = 1,
	  .max = 1000000,
	  .unit = "buckets",
	  T(seek.seekhist),
	  .help = "show a histogram of the places accessed" },
	{ 0 },
};

const struct option options_access[] = {
	{ .name = "startoffset",
	  .aliases = "sto",
	  .scope = SCOPE_TARGET,
	  .type = OPT_U64,
	  .arg = "<#blocks>",
	  .min = 0,
	  .max = MAX_BLOCKS,
	  .def = "0",
	  .unit = "blocks",
	  T(start_offset_blocks),
	  .help = "block of the target at which its range begins" },
	{ .name = "passoffset",
	  .aliases = "po",
	  .scope = SCOPE_TARGET,
	  .type = OPT_U64,
	  .arg = "<#blocks>",
	  .min = 0,
	  .max = MAX_BLOCKS,
	  .def = "0",
	  .unit = "blocks",
	  T(pass_offset_blocks),
	  .help = "blocks by which the range moves on from pass to pass" },
	{ .name = "targetoffset",
	  .aliases = "to",
	  .scope = SCOPE_TARGET,
	  .type = OPT_U64,
	  .arg = "<#blocks>",
	  .min = 0,
	  .max = MAX_BLOCKS,
	  .def = "0",
	  .unit = "blocks",
	  T(target_offset_blocks),
	  .help = "blocks, times the target's number, by which its range moves on",
	  .detail = "Lets several targets that are one device work on different stretches of it.",
	  .example = "xdd -op read -targets -4 /dev/sdx -targetoffset 65536 -mbytes 64" },
	{ .name = "seek",
	  .aliases = "s",
	  .scope = SCOPE_TARGET,
	  .type = OPT_SUB,
	  .arg = "<suboption>",
	  .subs = seek_options,
	  .help = "the access pattern",
	  .detail =
		  "Several suboptions may follow one -seek, or each have its own. The range counts blocks "
		  "and defaults to the amount of data of a pass. Sequential and interleaved access start "
		  "over when they come to the end of a range that was given; a warning says so of a sequential "
		  "pass with more operations than the range holds. Random places are whole "
		  "requests, uniform over the range, never past its end; the same seed gives the same "
		  "places in every run, on every machine, at every queue depth. -seek stagger needs a "
		  "number of operations and a range that holds them. A list loaded from a file brings the "
		  "places, sizes and directions of its operations; the start offset is part of them, the "
		  "target and pass offsets are added. -seek load <file> also finds <file>.T<number>.txt, "
		  "as written by -seek save <file>. -numreqs or -bytes takes the first "
		  "operations of the list, and more than it has is refused.",
	  .example = "xdd -op read -targets 1 /dev/sdx -mbytes 16 -seek random range 4000000" },
	{ .name = "range",
	  .scope = SCOPE_TARGET,
	  .type = OPT_U64,
	  .arg = "<#blocks>",
	  .min = 1,
	  .max = MAX_BLOCKS,
	  .unit = "blocks",
	  T(seek.range_blocks),
	  .help = "the same as -seek range" },
	{ .name = "randomize",
	  .aliases = "rand",
	  .scope = SCOPE_TARGET,
	  .type = OPT_FLAG,
	  .value = true,
	  T(randomize),
	  .help = "other random places in every pass" },
	{ 0 },
};
