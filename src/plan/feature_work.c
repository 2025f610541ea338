/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The operations of a pass and their number: -op, -rwratio, -blocksize, -reqsize, -numreqs,
 * -bytes; and amounts.
 */
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "plan/feature.h"
#include "plan/files.h"
#include "plan/parse.h"
#include "xdd/base/log.h"
#include "xdd/base/memory.h"
#include "xdd/base/units.h"
#include "xdd/plan/mix.h"

#define MAX_BYTES INT64_MAX

static const struct choice op_choices[] = {
	{ "read", "r", OP_READ },
	{ "write", "w", OP_WRITE },
	{ "noop", "nop", OP_NOOP },
	{ "discard", "trim", OP_DISCARD },
	{ 0 },
};

#define NO_MIX "discards cannot be mixed with reads and writes; leave -op discard or -rwratio out"

static enum xdd_status apply_op(const struct setting *s, void *dst)
{
	struct target_plan *t = dst;

	if (t->op == OP_DISCARD && t->ratio_given)
		return parse_error(XDD_BAD_ARGUMENT, s, &s->args[0], NO_MIX);
	t->ratio_given = false;
	t->read_ratio = t->op == OP_READ ? PLAN_RATIO_ONE : 0;
	t->ratio_random = false;
	return XDD_OK;
}

static size_t arity_rwratio(const struct word *args, size_t avail)
{
	return avail > 1 && args[1].text[0] != '-' ? 2 : 1;
}

/* The length of the share of reads in 70/30 or 70:30; 0: the text is not in that form. */
static int reads_of_pair(const char *text)
{
	static const char digits[] = "0123456789.";
	const size_t reads = strspn(text, digits);
	const char *writes = text + reads + 1;

	if (!reads || !text[reads] || !strchr("/:", text[reads]) || !*writes)
		return 0;
	return writes[strspn(writes, digits)] ? 0 : (int)reads;
}

static enum xdd_status apply_rwratio(const struct setting *s, void *dst)
{
	struct target_plan *t = dst;
	const int pair = reads_of_pair(s->args[0].text);
	uint64_t ratio;

	if (pair)
		return parse_error(XDD_BAD_ARGUMENT, s, &s->args[0],
				   "expected the percentage of reads alone; say -rwratio %.*s",
				   pair, s->args[0].text);
	if (units_parse_percent(s->args[0].text, &ratio))
		return parse_error(
			XDD_BAD_ARGUMENT, s, &s->args[0],
			"expected the percentage of reads, 0 to 100, with decimals if need be");
	if (s->n_args == 2 && strcmp(s->args[1].text, "random") != 0)
		return parse_error(XDD_BAD_OPTION, s, &s->args[1],
				   "expected the word random, or nothing, after the percentage");
	if (t->op == OP_DISCARD)
		return parse_error(XDD_BAD_ARGUMENT, s, &s->args[0], NO_MIX);
	t->ratio_given = true;
	t->read_ratio = (uint32_t)ratio;
	t->ratio_random = s->n_args == 2;
	t->op = t->read_ratio == PLAN_RATIO_ONE ? OP_READ : t->read_ratio ? OP_MIXED : OP_WRITE;
	return XDD_OK;
}

static size_t arity_reqsize(const struct word *args, size_t avail)
{
	return avail && strcmp(args[0].text, "mix") == 0 ? 2 : 1;
}

/* The last of both forms wins. */
static enum xdd_status apply_reqsize(const struct setting *s, void *dst)
{
	struct target_plan *t = dst;

	(void)s;
	t->mix_words = NULL;
	return XDD_OK;
}

static enum xdd_status apply_mix(const struct setting *s, void *dst)
{
	struct target_plan *t = dst;
	struct mix_words *words = xarena_alloc(s->arena, sizeof(*words));
	const char *why;

	words->from = s;
	why = mix_read(s->arena, s->args[1].text, words);
	if (why)
		return parse_error(XDD_BAD_ARGUMENT, s, &s->args[1], "%s", why);
	t->mix_words = words;
	t->amounts[ENTRY_REQUEST] = (struct amount){ .kind = AMOUNT_AS_IS };
	return XDD_OK;
}

static const struct option mix_form = {
	.name = "mix",
	.type = OPT_CUSTOM,
	.sets = offsetof(struct target_plan, req_blocks_given),
	.apply = apply_mix,
};

/* Among -bytes, -kbytes, -mbytes and -gbytes the last wins. */
#define AMOUNT(name_, alias_, unit_, scale_)                                                    \
	{                                                                                       \
		.name = name_, .aliases = alias_, .type = OPT_AMOUNT, .arg = "<#" name_ ">",    \
		.min = 1, .max = MAX_BYTES / (scale_), .scale = (scale_), .unit = unit_,        \
		TARGET_FIELD(amount_bytes), AMOUNT_FIELD(ENTRY_WORK), .share = true,            \
		.help = unit_ " to transfer in each pass",                                      \
		.detail = "Among -bytes, -kbytes, -mbytes and -gbytes the last wins; -numreqs " \
			  "overrides all of them.",                                             \
	}

static const struct option rows[] = {
	{ .name = "op",
	  .aliases = "operation",
	  OPTION_CHOICE("read|write|noop|discard", op_choices),
	  TARGET_FIELD(op),
	  .apply = apply_op,
	  .help = "the operation to perform",
	  .detail =
		  "noop does everything except the transfer: it shows the cost of xdd itself. Its "
		  "operations count the bytes they would have moved. discard gives the storage of "
		  "each request back: of a block device with BLKDISCARD, of a file with "
		  "fallocate(2), which punches a hole and keeps the size. It destroys data and is "
		  "guarded like a write; the engines psync and io_uring can do it. Without -op and -rwratio, xdd "
		  "writes where that can destroy nothing (the null device, a new or empty regular "
		  "file) and otherwise asks. The last of -op and -rwratio wins. An option without "
		  "target <n> is for all targets, wherever it stands: a command line, or setup "
		  "file, that gives several targets two different operations is refused, with the "
		  "command that was probably meant. The command line may override a setup file.",
	  .example = "xdd -op read -op target 1 write -targets 2 a b -numreqs 100" },
	{ .name = "rwratio",
	  .aliases = "rw",
	  .scope = SCOPE_TARGET,
	  OPTION_CUSTOM("<%reads> [random]", apply_rwratio),
	  .arity = arity_rwratio,
	  .varies = true,
	  .help = "percentage of operations that read; the others write",
	  .detail = "Reads and writes are interleaved evenly: the number of reads in a pass is the "
		    "share rounded to the nearest; over any part of the pass it is accurate to one "
		    "operation, and the order is the same in every run. With the word random each "
		    "operation is drawn at random instead, from the seed of -seek seed." },
	{ .name = "blocksize",
	  .aliases = "bs",
	  OPTION_SIZE("<bytes>", 1, 1u << 30),
	  .def = "1024",
	  TARGET_FIELD(block_size),
	  AMOUNT_FIELD(ENTRY_BLOCK),
	  .sets = offsetof(struct target_plan, block_size_given),
	  .help = "bytes in a block, the unit of sizes and offsets",
	  .detail = "Blocks are the unit of numbers without a suffix in -reqsize, -startoffset, "
		    "-passoffset, -targetoffset and -seek range. A size with a suffix, such as 4k, "
		    "and no -reqsize: a request is one block. A number alone, such as 4096, "
		    "changes the block only: a request still has 128 blocks, unless -reqsize "
		    "says otherwise.",
	  .example = "xdd -op read -targets 1 /dev/sdx -blocksize 4k -numreqs 1k -seek random" },
	{ .name = "reqsize",
	  .aliases = "rs",
	  .type = OPT_BLOCKS,
	  .arg = "<#blocks>|mix <size>:<weight>,...",
	  .arity = arity_reqsize,
	  .form = &mix_form,
	  .apply = apply_reqsize,
	  .min = 1,
	  .max = 2097152,
	  AMOUNT_FIELD(ENTRY_REQUEST),
	  .def = "128",
	  .unit = "blocks",
	  TARGET_FIELD(req_blocks),
	  .sets = offsetof(struct target_plan, req_blocks_given),
	  .help = "blocks in a request, or a mix of sizes; an operation transfers one request",
	  .detail =
		  "With a suffix, such as 4k or 1MiB, the number counts bytes, which must be a "
		  "multiple of the block size; without -blocksize a multiple of 512 bytes will "
		  "do. A request may have up to 2 GiB. With mix the requests of a pass have "
		  "several sizes, each as often as its weight, such as 4k:60,64k:40 for 60 % and "
		  "40 % of the operations. Every cycle of operations, as many as the weights "
		  "divided by what they have in common (5 in the example), has exactly these "
		  "shares, in an order that is drawn for each cycle from -seek seed and is the "
		  "same in every pass and run, and for all targets. Sequential requests lie end to end; random ones "
		  "at multiples of their own size. For -seek sequential and random.",
	  .example = "xdd -op read -targets 1 /dev/sdx -reqsize 4k -numreqs 1k -seek random" },
	{ .name = "numreqs",
	  .aliases = "nr",
	  OPTION_NUMBER("<#requests>", 1, INT64_MAX),
	  .unit = "operations",
	  TARGET_FIELD(numreqs),
	  .help = "operations in each pass",
	  .detail = "Overrides -bytes and its variants. Without any of them a pass ends with its "
		    "time limit; without a limit either, an existing file or device is read once "
		    "from its start to its end." },
	{ .name = "bytes",
	  .aliases = "b",
	  .type = OPT_AMOUNT,
	  .arg = "<bytes>",
	  .min = 1,
	  .max = UINT64_MAX,
	  TARGET_FIELD(amount_bytes),
	  AMOUNT_FIELD(ENTRY_WORK),
	  .share = true,
	  .help = "bytes to transfer in each pass",
	  .detail = "When it is not a multiple of the request size, the last operation is shorter. "
		    "Among "
		    "-bytes, -kbytes, -mbytes and -gbytes the last wins; -numreqs overrides all of "
		    "them. "
		    "Offsets of files and devices end at 2^63-1." },
	AMOUNT("kbytes", "kb", "KiB", 1024ull),
	AMOUNT("mbytes", "mb", "MiB", 1048576ull),
	AMOUNT("gbytes", "gb", "GiB", 1073741824ull),
	{ .name = "queuedepth",
	  .aliases = "qd",
	  OPTION_NUMBER("<#operations>", 1, 65536),
	  .def = "1",
	  .unit = "operations",
	  TARGET_FIELD(queue_depth),
	  .sets = offsetof(struct target_plan, queue_depth_given),
	  .help = "operations outstanding at a time on each target",
	  .detail = "Each is carried by a thread of its own, a QThread, with its own buffer." },
	{ 0 },
};

static enum xdd_status work_resolve_request(struct target_plan *t)
{
	if (__builtin_mul_overflow(t->req_blocks, t->block_size, &t->req_bytes) ||
	    t->req_bytes > PLAN_MAX_REQUEST_BYTES)
		return plan_refuse(t,
				   "-reqsize, -blocksize: a request of %" PRIu64
				   " blocks of %" PRIu64 " bytes is larger than 2 GiB",
				   t->req_blocks, t->block_size);
	return XDD_OK;
}

/*
 * Without -op: write where nothing can be lost, ask otherwise. A list of -seek load brings its own.
 */
static enum xdd_status resolve_op(struct plan *plan, struct target_plan *t)
{
	enum xdd_status status = work_resolve_request(t);

	(void)plan;
	if (status || t->op != OP_UNSET || t->seek.pattern == SEEK_LOAD)
		return status;
	if (t->kind == TARGET_NULL || t->kind == TARGET_MISSING ||
	    (t->kind == TARGET_FILE && t->size_bytes == 0)) {
		t->op = OP_WRITE;
		return XDD_OK;
	}
	return plan_refuse(
		t,
		"is not empty, and no operation is given; say -op read, or -op write to overwrite "
		"it");
}

static void set_ops(struct target_plan *t, uint64_t ops, uint64_t last)
{
	t->pass_ops = ops;
	t->last_op_bytes = last;
}

/* -bytes and its variants: whole requests and a shorter one. */
static void set_bytes(struct target_plan *t, uint64_t bytes)
{
	uint64_t rest = bytes % t->req_bytes, ops = bytes / t->req_bytes + (rest != 0);

	if (t->mix && bytes)
		ops = mix_ops(t->mix, bytes, &rest);
	/* One operation of 2^64-1 does not matter, and that number has a meaning of its own. */
	set_ops(t, ops == PLAN_UNLIMITED ? ops - 1 : ops, rest ? rest : t->req_bytes);
	t->pass_bytes = bytes;
}

/*
 * Only reads have all of the target as their default amount: it would destroy all that the target
 * holds to forget an amount of writes. `left` bytes are there from the start offset on.
 */
static enum xdd_status refuse_amount(const struct target_plan *t, uint64_t left)
{
	const bool twice = t->seek.pattern == SEEK_RANDOM || t->seek.pattern == SEEK_ZIPF;
	char words[64] = "";

	if (left && left == t->size_bytes)
		snprintf(words, sizeof(words), "-bytes 100%% for %s, or ",
			 twice ? "as much as it holds" : "all of it once");
	else if (left)
		snprintf(words, sizeof(words), "-bytes %" PRIu64 " for the rest of it, or ", left);
	return plan_refuse(
		t, "is given no amount of work; say %s-numreqs, -bytes, -mbytes or -timelimit",
		words);
}

/* Without an amount: the whole target, once. */
static enum xdd_status whole_target(const struct plan *plan, struct target_plan *t)
{
	uint64_t bytes = plan_bytes_left(plan, t);

	/* The size of a new file is what another target writes, if that is known. */
	bool known = t->size_bytes || t->written_bytes != PLAN_UNLIMITED || plan_copies_nothing(t);

	if (t->op != OP_READ || !known || (!plan_has_size(t) && !t->writer))
		return refuse_amount(t, plan_has_size(t) ? bytes : 0);
	if (!bytes && !plan_copies_nothing(t))
		return plan_refuse(
			t,
			t->size_bytes ?
				"there is nothing to read: the start offset is at or past its "
				"end, at %" PRIu64 " bytes" :
				"there is nothing to read: it holds %" PRIu64 " bytes",
			t->size_bytes);
	set_bytes(t, bytes);
	return XDD_OK;
}

/* With -blockperrank: all blocks of the target, once. */
static enum xdd_status whole_segments(struct target_plan *t)
{
	uint64_t bytes = layout_amount(t);

	if (bytes > PLAN_MAX_OFFSET)
		return plan_refuse(t,
				   "-segments %" PRIu64
				   ": the blocks of a target are more than 8 EiB together",
				   t->layout.segments);
	set_bytes(t, bytes);
	return XDD_OK;
}

/* The first operations of a list that transfer the amount; the last of them is cut if necessary. */
static enum xdd_status rows_of_bytes(struct target_plan *t)
{
	uint64_t bytes = 0, n = 0;

	while (n < t->n_rows && bytes < t->amount_bytes)
		bytes += t->rows[n++].blocks * t->block_size;
	if (bytes < t->amount_bytes)
		return plan_refuse(t,
				   "-bytes %" PRIu64
				   ": is more than the list of -seek load has, %" PRIu64 " bytes",
				   t->amount_bytes, bytes);
	t->pass_bytes = t->amount_bytes;
	bytes -= t->amount_bytes;
	set_ops(t, n, t->rows[n - 1].blocks * t->block_size - bytes);
	return XDD_OK;
}

/* The amount of work where -seek load brings a list: all of it, or its first operations. */
static enum xdd_status resolve_rows(struct target_plan *t)
{
	uint64_t n = t->numreqs ? t->numreqs : t->n_rows;

	if (!t->numreqs && t->amount_bytes)
		return rows_of_bytes(t);
	if (n > t->n_rows)
		return plan_refuse(t,
				   "-numreqs %" PRIu64
				   ": is more than the list of -seek load has, %zu operations",
				   n, t->n_rows);
	t->pass_bytes = 0;
	for (uint64_t i = 0; i < n; i++)
		t->pass_bytes += t->rows[i].blocks * t->block_size;
	set_ops(t, n, t->rows[n - 1].blocks * t->block_size);
	return XDD_OK;
}

/* -restart offset: so many bytes of the amount are done. */
static enum xdd_status leave_out_done(struct target_plan *t)
{
	uint64_t done = t->restart.offset_bytes;

	if (!done)
		return XDD_OK;
	if (done > t->pass_bytes)
		return plan_refuse(t,
				   "-restart offset %" PRIu64
				   ": is past the end of the copy, which "
				   "has %" PRIu64 " bytes",
				   done, t->pass_bytes);
	set_bytes(t, t->pass_bytes - done);
	return XDD_OK;
}

/*
 * True if only time, or the other side of a copy, ends a pass. The source of a copy reads a file or
 * device once.
 */
static bool is_unlimited(const struct plan *plan, const struct target_plan *t)
{
	if (t->endtoend.role == E2E_DESTINATION)
		return true;
	if (t->endtoend.role == E2E_SOURCE && plan_has_size(t))
		return false;
	return t->time_limit_ns || plan->run_time_ns;
}

static enum xdd_status resolve_numreqs(struct target_plan *t)
{
	set_ops(t, t->numreqs, t->req_bytes);
	if (__builtin_mul_overflow(t->numreqs, t->req_bytes, &t->pass_bytes) ||
	    t->pass_bytes > PLAN_MAX_OFFSET)
		return plan_refuse(t, "-numreqs %" PRIu64 ": is more than 8 EiB in one pass",
				   t->numreqs);
	if (t->mix) {
		t->pass_bytes = mix_bytes(t->mix, t->numreqs);
		t->last_op_bytes = mix_op(t->mix, t->numreqs - 1).size;
	}
	return leave_out_done(t);
}

/* Refuse a mix with options that need requests of one size. */
static enum xdd_status check_mix(const struct target_plan *t)
{
	const char *other = NULL;

	if (!t->mix)
		return XDD_OK;
	if (t->seek.pattern != SEEK_SEQUENTIAL && t->seek.pattern != SEEK_RANDOM)
		return plan_refuse(t,
				   "-reqsize mix: must be with sequential or random requests; "
				   "-seek is %s",
				   plan_seek_name(t->seek.pattern));
	if (t->layout.block_bytes)
		other = "-blockperrank";
	else if (t->endtoend.role != E2E_NONE)
		other = "-endtoend";
	if (!other)
		return XDD_OK;
	return plan_refuse(t, "-reqsize mix: cannot be combined with %s", other);
}

static enum xdd_status resolve_ops(struct plan *plan, struct target_plan *t)
{
	enum xdd_status status = check_mix(t);

	if (status)
		return status;
	if (t->rows)
		return resolve_rows(t);
	if (t->numreqs)
		return resolve_numreqs(t);
	if (t->amount_bytes) {
		set_bytes(t, t->amount_bytes);
		return leave_out_done(t);
	}
	if (t->layout.block_bytes && (t->layout.segments || !is_unlimited(plan, t)))
		return whole_segments(t);
	if (!is_unlimited(plan, t))
		return whole_target(plan, t);
	set_ops(t, PLAN_UNLIMITED, t->req_bytes);
	t->pass_bytes = PLAN_UNLIMITED;
	return XDD_OK;
}

/* Warn once: in other programs a block is a request. */
static void warn_request_size(const struct plan *plan)
{
	for (const struct target_plan *t = plan->targets; t < plan_end(plan); t++) {
		char size[32];

		if (!t->block_size_given || t->req_blocks_given || t->rows ||
		    t->amounts[ENTRY_BLOCK].kind == AMOUNT_OF_BYTES)
			continue;
		target_warning(t,
			       "-blocksize %" PRIu64 " without -reqsize: a request has %s, %" PRIu64
			       " blocks; -reqsize 1 is for requests of one block",
			       t->block_size, units_size_text(t->req_bytes, size, sizeof(size)),
			       t->req_blocks);
		return;
	}
}

const struct plan_feature feature_work = {
	.group = { "Amount of work", rows },
	.target = { [TARGET_PROBE] = resolve_op, [TARGET_SIZE] = resolve_ops },
	.warn = warn_request_size,
};

/*
 * Amounts with a suffix, which count bytes, and shares of the target, as blocks and bytes. Has no
 * options of its own; its step comes after the step of feature_target.c, which finds the size.
 */

#define SECTOR_BYTES 512 /* the least that devices transfer */

static enum xdd_status amount_refuse(const struct amount *a, const char *text)
{
	const struct setting *s = a->from;
	char size[48] = "";

	/* One of several sizes. */
	if (s->n_args > 1) {
		units_size_text(a->value, size, 32);
		strcat(size, ": ");
	}
	return parse_error(XDD_BAD_ARGUMENT, s, &s->args[s->n_args - 1], "%s%s", size, text);
}

static const struct option *row_of(const struct amount *a)
{
	return a->from->sub ? a->from->sub : a->from->opt;
}

/* " of target 1", or nothing where there is one target. */
static const char *of_target(const struct plan *plan, const struct target_plan *t, char *buf,
			     size_t size)
{
	*buf = '\0';
	if (plan->n_targets > 1)
		snprintf(buf, size, " of target %" PRIu32, t->number);
	return buf;
}

/* The largest multiple that is not greater, and the next one. */
static enum xdd_status want_multiple(const struct plan *plan, const struct target_plan *t,
				     const struct amount *a, const char *also)
{
	uint64_t below = a->value - a->value % t->block_size, above;
	char block[32], lo[32], hi[32], of[32], text[256], nearest[96];

	if (__builtin_add_overflow(below, t->block_size, &above))
		above = below;
	units_size_text(above, hi, sizeof(hi));
	if (below && above != below)
		snprintf(nearest, sizeof(nearest), "the nearest are %s and %s",
			 units_size_text(below, lo, sizeof(lo)), hi);
	else
		snprintf(nearest, sizeof(nearest), "the nearest is %s", hi);
	snprintf(text, sizeof(text), "must be a multiple of the block size%s, %s; %s%s",
		 of_target(plan, t, of, sizeof(of)),
		 units_size_text(t->block_size, block, sizeof(block)), nearest, also);
	return amount_refuse(a, text);
}

/* The option for all of this target whose number counts blocks, or NULL. */
static const struct setting *counts_blocks(const struct target_plan *t)
{
	for (unsigned i = ENTRY_START; i < N_AMOUNT_ENTRIES; i++) {
		const struct amount *a = &t->amounts[i];

		if (a->from && a->kind == AMOUNT_AS_IS)
			return a->from;
	}
	return NULL;
}

/*
 * A request that is no multiple of the default block size makes a sector the block, unless another
 * option counts blocks: those would change their meaning.
 */
static enum xdd_status shrink_block(const struct plan *plan, struct target_plan *t,
				    const struct amount *a)
{
	const struct setting *other = counts_blocks(t);
	char also[96], text[256];

	if (other || t->seek.pattern == SEEK_LOAD) {
		snprintf(text, sizeof(text),
			 "is no multiple of the default block size, 1 KiB, in which %.64s counts; "
			 "say the block size too, such as -blocksize %" PRIu64
			 ": it counts in such blocks then",
			 other ? other->name.text : "-seek load",
			 a->value % SECTOR_BYTES ? a->value : SECTOR_BYTES);
		return amount_refuse(a, text);
	}
	if (a->value % SECTOR_BYTES || !a->value) {
		snprintf(also, sizeof(also),
			 "; say -blocksize %" PRIu64 "B for requests of that size", a->value);
		return want_multiple(plan, t, a, a->value && !t->mix_words ? also : "");
	}
	t->block_size = SECTOR_BYTES;
	return XDD_OK;
}

/* The blocks of a size of a mix. */
static enum xdd_status mix_blocks(const struct plan *plan, struct target_plan *t,
				  const struct mix_item *item, bool may_shrink, uint64_t *blocks)
{
	const struct amount a = { AMOUNT_OF_BYTES, item->value, t->mix_words->from };
	enum xdd_status status = XDD_OK;

	*blocks = item->value;
	if (item->in_blocks)
		return XDD_OK;
	if (a.value % t->block_size)
		status = may_shrink ? shrink_block(plan, t, &a) : want_multiple(plan, t, &a, "");
	*blocks = a.value / t->block_size;
	return status;
}

/* Another size that shrinks the block comes too late for sizes in blocks. */
static bool mix_may_shrink(const struct target_plan *t)
{
	for (size_t i = 0; i < t->mix_words->n; i++) {
		if (t->mix_words->items[i].in_blocks)
			return false;
	}
	return !t->block_size_given;
}

static enum xdd_status refuse_size(const struct mix_words *w, const struct mix_item *item,
				   const char *why)
{
	const struct setting *s = w->from;

	return parse_error(XDD_BAD_ARGUMENT, s, &s->args[1], "%.64s: %s", item->text, why);
}

/* Add a size to the mix; each once. */
static enum xdd_status add_size(const struct mix_words *w, const struct mix_item *item,
				uint64_t blocks, uint64_t block_size, struct request_mix *mix)
{
	uint64_t bytes;

	if (__builtin_mul_overflow(blocks, block_size, &bytes) || bytes > PLAN_MAX_REQUEST_BYTES)
		return refuse_size(w, item, "is larger than 2 GiB");
	for (size_t i = 0; i < mix->n; i++) {
		if (mix->sizes[i].bytes == bytes)
			return refuse_size(w, item,
					   "is there twice; say each size once, with the "
					   "sum of its weights");
	}
	mix->sizes[mix->n++] = (struct mix_size){ bytes, item->ops };
	return XDD_OK;
}

/*
 * The sizes of a mix; its largest is the request size. Targets with the same sizes share the orders
 * of its cycles.
 */
static enum xdd_status resolve_mix(const struct plan *plan, struct target_plan *t)
{
	struct request_mix *mix = xarena_alloc(plan->arena, sizeof(*mix));
	const struct request_mix *same = t->number ? plan->targets[t->number - 1].mix : NULL;
	const struct mix_words *w = t->mix_words;
	const bool may_shrink = mix_may_shrink(t);
	uint64_t blocks;

	for (size_t i = 0; i < w->n; i++) {
		enum xdd_status status = mix_blocks(plan, t, &w->items[i], may_shrink, &blocks);

		if (!status)
			status = add_size(w, &w->items[i], blocks, t->block_size, mix);
		if (status)
			return status;
	}
	mix_init(mix, plan->arena, t->seek.seed, same);
	t->mix = mix;
	t->req_blocks = mix_largest(mix) / t->block_size;
	return XDD_OK;
}

/* Suffixes count bytes: "-reqsize 4k" is 4096 of them, "-blocksize 4k" alone requests of 4096. */
static enum xdd_status amount_resolve_request(const struct plan *plan, struct target_plan *t)
{
	const struct amount *a = &t->amounts[ENTRY_REQUEST];
	enum xdd_status status = XDD_OK;

	if (t->mix_words)
		return resolve_mix(plan, t);
	if (!t->req_blocks_given && t->amounts[ENTRY_BLOCK].kind == AMOUNT_OF_BYTES)
		t->req_blocks = 1;
	if (a->kind != AMOUNT_OF_BYTES)
		return XDD_OK;
	if (a->value % t->block_size)
		status = t->block_size_given ? want_multiple(plan, t, a, "") :
					       shrink_block(plan, t, a);
	if (!status)
		t->req_blocks = a->value / t->block_size;
	return status;
}

/* A share of the target in bytes: whole requests, and for all of it every byte. */
static enum xdd_status share_bytes(const struct plan *plan, const struct target_plan *t,
				   const struct amount *a, uint64_t *bytes)
{
	uint64_t request = t->mix ? t->block_size : t->req_blocks * t->block_size;
	char of[32], size[32], text[256];

	of_target(plan, t, of, sizeof(of));
	if (!plan_has_size(t) || !t->size_bytes) {
		snprintf(text, sizeof(text),
			 "cannot compute a share: the size%s is not known before the run, or is 0; "
			 "say a number, or bytes with a suffix",
			 *of ? of : " of the target");
		return amount_refuse(a, text);
	}
	*bytes = (uint64_t)((uint128)t->size_bytes * a->value / PLAN_RATIO_ONE);
	if (a->value < PLAN_RATIO_ONE)
		*bytes -= *bytes % request;
	if (*bytes || row_of(a)->min == 0)
		return XDD_OK;
	snprintf(text, sizeof(text), "is less than one request%s, which has %s", of,
		 units_size_text(request, size, sizeof(size)));
	return amount_refuse(a, text);
}

/* The field that the option stands for: bytes for -bytes, blocks for all others. */
static enum xdd_status resolve_entry(const struct plan *plan, struct target_plan *t,
				     enum amount_entry entry)
{
	const struct amount *a = &t->amounts[entry];
	enum xdd_status status = XDD_OK;
	uint64_t bytes = a->value;

	if (a->kind == AMOUNT_AS_IS)
		return XDD_OK;
	if (a->kind == AMOUNT_SHARE)
		status = share_bytes(plan, t, a, &bytes);
	else if (entry != ENTRY_WORK && bytes % t->block_size)
		status = want_multiple(plan, t, a, "");
	if (!status)
		*(uint64_t *)((char *)t + row_of(a)->off) =
			entry == ENTRY_WORK ? bytes : bytes / t->block_size;
	return status;
}

static enum xdd_status amount_resolve(struct plan *plan, struct target_plan *t)
{
	enum xdd_status status = amount_resolve_request(plan, t);

	for (unsigned i = ENTRY_WORK; i < N_AMOUNT_ENTRIES && !status; i++)
		status = resolve_entry(plan, t, (enum amount_entry)i);
	return status;
}

/* kB is 1000 bytes; for a block, 1024 are mostly meant. */
static void amount_warn(const struct target_plan *t)
{
	const struct amount *a = &t->amounts[ENTRY_BLOCK];

	if (a->kind == AMOUNT_OF_BYTES && t->block_size % SECTOR_BYTES && t->block_size >= 1000 &&
	    t->block_size % 1000 == 0)
		log_warning("target %" PRIu32 ", %s: -blocksize %s: has %" PRIu64
			    " bytes; kB and MB are powers of 1000, k and KiB of 1024",
			    t->number, t->path, a->from->args[0].text, t->block_size);
}

const struct plan_feature feature_amount = {
	.target = { [TARGET_PROBE] = amount_resolve },
	.warn_target = amount_warn,
};
