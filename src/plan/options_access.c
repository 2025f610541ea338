/*
 * Rows of the option table: which places of a target are accessed, and in which order.
 */
#include <stdint.h>

#include "plan/parse.h"
#include "xdd/base/units.h"

#define MAX_BLOCKS INT64_MAX

#define PATTERN(name_, value_, help_)                                                        \
	{                                                                                    \
		.name = name_, .type = OPT_SET, TARGET_FIELD(seek.pattern), .value = value_, \
		.help = help_,                                                               \
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
	  TARGET_FIELD(seek.range_blocks),
	  .help = "the stretch of the target to stay in, from the start offset" },
	{ .name = "stagger",
	  .aliases = "staggered",
	  .type = OPT_SET,
	  .arity = option_arity_number, /* older scripts have one after it */
	  TARGET_FIELD(seek.pattern),
	  .value = SEEK_STAGGER,
	  .help = "in ascending order, spread evenly over the range" },
	{ .name = "interleave",
	  .type = OPT_U64,
	  .arg = "<factor>",
	  .min = 1,
	  .max = 1u << 30,
	  TARGET_FIELD(seek.interleave),
	  .selects = offsetof(struct target_plan, seek.pattern),
	  .value = SEEK_INTERLEAVE,
	  .help = "every <factor>th request" },
	PATTERN("none", SEEK_NONE, "the first request of the range again and again"),
	{ .name = "seed",
	  .type = OPT_U64,
	  .arg = "<number>",
	  .min = 0,
	  .max = UINT64_MAX,
	  .def = "72058",
	  TARGET_FIELD(seek.seed),
	  .help = "start of the random sequence" },
	{ .name = "save",
	  .type = OPT_TEXT,
	  .arg = "<file>",
	  TARGET_FIELD(seek.save_file),
	  .help = "write the list of operations to <file>.T<target number>.txt" },
	{ .name = "load",
	  .type = OPT_TEXT,
	  .arg = "<file>",
	  TARGET_FIELD(seek.load_file),
	  .selects = offsetof(struct target_plan, seek.pattern),
	  .value = SEEK_LOAD,
	  .help = "take the list of operations from a saved file" },
	{ .name = "disthist",
	  .type = OPT_U64,
	  .arg = "<#buckets>",
	  .min = 1,
	  .max = 1000000,
	  .unit = "buckets",
	  TARGET_FIELD(seek.disthist),
	  .help = "show a histogram of the distances between operations" },
	{ .name = "seekhist",
	  .type = OPT_U64,
	  .arg = "<#buckets>",
	  .min = 1,
	  .max = 1000000,
	  .unit = "buckets",
	  TARGET_FIELD(seek.seekhist),
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
	  TARGET_FIELD(start_offset_blocks),
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
	  TARGET_FIELD(pass_offset_blocks),
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
	  TARGET_FIELD(target_offset_blocks),
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
	  TARGET_FIELD(seek.range_blocks),
	  .help = "the same as -seek range" },
	{ .name = "randomize",
	  .aliases = "rand",
	  .scope = SCOPE_TARGET,
	  .type = OPT_FLAG,
	  .value = true,
	  TARGET_FIELD(randomize),
	  .help = "other random places in every pass" },
	{ 0 },
};
