/*
 * Rows of the option table: what an operation is and how many of them make a pass.
 */
#include <stdint.h>
#include <string.h>

#include "plan/parse.h"
#include "xdd/base/units.h"

#define MAX_BYTES INT64_MAX

static const struct choice op_choices[] = {
	{ "read", "r", OP_READ },
	{ "write", "w", OP_WRITE },
	{ "noop", "nop", OP_NOOP },
	{ 0 },
};

static enum xdd_status apply_op(const struct setting *s, void *dst)
{
	struct target_plan *t = dst;

	(void)s;
	t->read_ratio = t->op == OP_READ ? PLAN_RATIO_ONE : 0;
	t->ratio_random = false;
	return XDD_OK;
}

static size_t arity_rwratio(const struct word *args, size_t avail)
{
	return avail > 1 && args[1].text[0] != '-' ? 2 : 1;
}

static enum xdd_status apply_rwratio(const struct setting *s, void *dst)
{
	struct target_plan *t = dst;
	double percent;

	if (units_parse_real(s->args[0].text, &percent) || percent > 100)
		return parse_error(
			XDD_BAD_ARGUMENT, s, &s->args[0],
			"the percentage of reads is wanted, 0 to 100, with decimals if need be");
	if (s->n_args == 2 && strcmp(s->args[1].text, "random") != 0)
		return parse_error(XDD_BAD_OPTION, s, &s->args[1],
				   "only the word random may follow the percentage");
	t->read_ratio = (uint32_t)(percent * (PLAN_RATIO_ONE / 100) + 0.5);
	t->ratio_random = s->n_args == 2;
	t->op = t->read_ratio == PLAN_RATIO_ONE ? OP_READ : t->read_ratio ? OP_MIXED : OP_WRITE;
	return XDD_OK;
}

/* Among -bytes, -kbytes, -mbytes and -gbytes the last wins. */
#define AMOUNT(name_, alias_, unit_, scale_)                                                       \
	{                                                                                          \
		.name = name_, .aliases = alias_, .scope = SCOPE_TARGET, .type = OPT_U64,          \
		.arg = "<#" name_ ">", .min = 1, .max = MAX_BYTES / (scale_), .scale = (scale_),   \
		.unit = unit_, TARGET_FIELD(amount_bytes),                                         \
		.help = unit_ " to transfer in each pass",                                         \
		.detail =                                                                          \
			"Among -bytes, -kbytes, -mbytes and -gbytes the last wins; -numreqs goes " \
			"before all of them.",                                                     \
	}

const struct option options_work[] = {
	{ .name = "op",
	  .aliases = "operation",
	  .scope = SCOPE_TARGET,
	  .type = OPT_CHOICE,
	  .arg = "read|write|noop",
	  .choices = op_choices,
	  TARGET_FIELD(op),
	  .apply = apply_op,
	  .help = "the operation to perform",
	  .detail =
		  "noop does all that xdd does for an operation but the transfer itself: it shows the "
		  "cost of the tool. Its operations count the bytes they would have moved. Without -op "
		  "and -rwratio, xdd writes where that can destroy nothing (the null device, a new or "
		  "empty regular file) and otherwise asks. The last of -op and -rwratio wins. An option without "
		  "target <n> is for all targets, wherever it stands: a command line, or setup file, that gives "
		  "several targets two different operations is refused, with the command that was probably "
		  "meant. The command line may override a setup file.",
	  .example = "xdd -op read -op target 1 write -targets 2 a b -numreqs 100" },
	{ .name = "rwratio",
	  .aliases = "rw",
	  .scope = SCOPE_TARGET,
	  .type = OPT_CUSTOM,
	  .arg = "<%reads> [random]",
	  .arity = arity_rwratio,
	  .apply = apply_rwratio,
	  .help = "percentage of operations that read; the others write",
	  .detail =
		  "Reads and writes are interleaved evenly: the number of reads in a pass is the share "
		  "rounded to the nearest, it is right to one operation over any part of the pass, and the "
		  "order is the same in every run. With the word random each operation is "
		  "drawn at random instead, from the seed of -seek seed." },
	{ .name = "blocksize",
	  .aliases = "bs",
	  .scope = SCOPE_TARGET,
	  .type = OPT_SIZE,
	  .arg = "<bytes>",
	  .min = 1,
	  .max = 1u << 30,
	  .def = "1024",
	  TARGET_FIELD(block_size),
	  .sets = offsetof(struct target_plan, block_size_given),
	  .help = "bytes in a block, the unit of sizes and offsets",
	  .detail =
		  "Blocks are the unit of -reqsize, -startoffset, -passoffset, -targetoffset and "
		  "-seek range. For requests of one block say -reqsize 1 as well: a request has 128 "
		  "blocks by default." },
	{ .name = "reqsize",
	  .aliases = "rs",
	  .scope = SCOPE_TARGET,
	  .type = OPT_U64,
	  .arg = "<#blocks>",
	  .min = 1,
	  .max = 2097152,
	  .def = "128",
	  .unit = "blocks",
	  TARGET_FIELD(req_blocks),
	  .sets = offsetof(struct target_plan, req_blocks_given),
	  .hint = "for 4 KiB requests say -reqsize 4",
	  .help = "blocks in a request; an operation transfers one request",
	  .detail = "A request may have up to 2 GiB." },
	{ .name = "numreqs",
	  .aliases = "nr",
	  .scope = SCOPE_TARGET,
	  .type = OPT_U64,
	  .arg = "<#requests>",
	  .min = 1,
	  .max = INT64_MAX,
	  .unit = "operations",
	  TARGET_FIELD(numreqs),
	  .help = "operations in each pass",
	  .detail =
		  "Goes before -bytes and its like. Without any of them a pass ends with its time "
		  "limit; without a limit either, an existing file or device is read once from its "
		  "start to its end." },
	{ .name = "bytes",
	  .aliases = "b",
	  .scope = SCOPE_TARGET,
	  .type = OPT_SIZE,
	  .arg = "<bytes>",
	  .min = 1,
	  .max = UINT64_MAX,
	  TARGET_FIELD(amount_bytes),
	  .help = "bytes to transfer in each pass",
	  .detail =
		  "When it is not a multiple of the request size, the last operation is shorter. Among "
		  "-bytes, -kbytes, -mbytes and -gbytes the last wins; -numreqs overrides all of them. "
		  "Offsets of files and devices end at 2^63-1." },
	AMOUNT("kbytes", "kb", "KiB", 1024ull),
	AMOUNT("mbytes", "mb", "MiB", 1048576ull),
	AMOUNT("gbytes", "gb", "GiB", 1073741824ull),
	{ .name = "queuedepth",
	  .aliases = "qd",
	  .scope = SCOPE_TARGET,
	  .type = OPT_U64,
	  .arg = "<#operations>",
	  .min = 1,
	  .max = 65536,
	  .def = "1",
	  .unit = "operations",
	  TARGET_FIELD(queue_depth),
	  .help = "operations outstanding at a time on each target",
	  .detail = "Each is carried by a thread of its own, a QThread, with its own buffer." },
	{ 0 },
};
