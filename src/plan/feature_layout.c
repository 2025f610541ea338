/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Several processes as the ranks of one run, and files that their targets share: -rank, -mpi,
 * -blockperrank, -segments, -reorder.
 */
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "plan/feature.h"
#include "plan/files.h"
#include "plan/parse.h"
#include "xdd/base/log.h"
#include "xdd/base/random.h"
#include "xdd/base/units.h"

/*
 * A random cycle of the numbers below n, without a table: each number has a position by a Feistel
 * network, and its successor is the number at the next position.
 */

#define ROUNDS 8

/* A permutation of the numbers of 2 * bits bits. */
struct network {
	struct random_sequence sequence;
	unsigned bits;
	uint64_t mask;
};

static uint64_t reorder_mix(const struct network *w, unsigned round, uint64_t half)
{
	return random_u64(&w->sequence, half * ROUNDS + round) & w->mask;
}

static uint64_t forward(const struct network *w, uint64_t x)
{
	uint64_t high = x >> w->bits, low = x & w->mask;

	for (unsigned round = 0; round < ROUNDS; round++) {
		uint64_t next = high ^ reorder_mix(w, round, low);

		high = low;
		low = next;
	}
	return high << w->bits | low;
}

static uint64_t backward(const struct network *w, uint64_t x)
{
	uint64_t high = x >> w->bits, low = x & w->mask;

	for (unsigned round = ROUNDS; round-- > 0;) {
		uint64_t before = low ^ reorder_mix(w, round, high);

		low = high;
		high = before;
	}
	return high << w->bits | low;
}

uint64_t reorder_next(uint64_t seed, uint64_t n, uint64_t i)
{
	struct random_key key = { .seed = seed, .pass = 1, .stream = RANDOM_STREAM_REORDER };
	struct network w = { .sequence = random_sequence(&key), .bits = 1 };

	while (n > 1ull << 2 * w.bits)
		w.bits++;
	w.mask = (1ull << w.bits) - 1;

	/* Fewer than three of four results are too large: repeating ends, and inverts as well. */
	do
		i = forward(&w, i);
	while (i >= n);
	i = (i + 1) % n;
	do
		i = backward(&w, i);
	while (i >= n);
	return i;
}

/*
 * The amount and extent of targets with -blockperrank, for the features of amounts and offsets.
 */

uint64_t layout_amount(const struct target_plan *t)
{
	const struct layout_options *l = &t->layout;
	uint64_t bytes;

	return __builtin_mul_overflow(l->segments ? l->segments : 1, l->block_bytes, &bytes) ?
		       UINT64_MAX :
		       bytes;
}

/* Without -segments as many as the amount needs. */
static uint64_t count_segments(const struct target_plan *t)
{
	const struct layout_options *l = &t->layout;

	if (l->segments)
		return l->segments;
	if (t->pass_ops == PLAN_UNLIMITED || !t->pass_bytes)
		return 1;
	return t->pass_bytes / l->block_bytes + (t->pass_bytes % l->block_bytes != 0);
}

/* The byte after the last block of the file in the last pass; UINT64_MAX where it does not fit. */
static uint64_t file_end(const struct plan *plan, const struct target_plan *t)
{
	const struct layout_options *l = &t->layout;
	uint64_t start = plan_last_start(plan, t) - l->owner * l->block_bytes, bytes;

	if (__builtin_mul_overflow(l->n_owners, l->block_bytes, &bytes) ||
	    __builtin_mul_overflow(bytes, l->n_segments, &bytes) ||
	    __builtin_add_overflow(bytes, start, &bytes))
		return UINT64_MAX;
	return bytes;
}

/* A rank that cuts the file removes blocks that others have written. */
static enum xdd_status check_file_size(const struct target_plan *t, uint64_t end)
{
	char text[32];

	if (!t->pretruncate || !plan_writes(t) || t->pretruncate_bytes >= end ||
	    t->layout.n_owners == 1)
		return XDD_OK;
	return plan_refuse(t,
			   "-pretruncate %" PRIu64
			   ": would remove blocks of other targets (-blockperrank); the file has "
			   "%s, which is -pretruncate %" PRIu64,
			   t->pretruncate_bytes, units_size_text(end, text, sizeof(text)), end);
}

enum xdd_status layout_resolve_range(const struct plan *plan, struct target_plan *t)
{
	struct layout_options *l = &t->layout;
	uint64_t end;

	if (t->last_op_bytes != t->req_bytes)
		return plan_refuse(t,
				   "-bytes %" PRIu64
				   ": must be a multiple of the request size, %" PRIu64
				   " bytes, with -blockperrank",
				   t->pass_bytes, t->req_bytes);
	l->n_segments = count_segments(t);
	end = file_end(plan, t);
	if (end > PLAN_MAX_OFFSET)
		return plan_refuse(t,
				   "-blockperrank: %" PRIu64 " segments of %" PRIu64
				   " blocks reach past the largest offset, 8 EiB",
				   l->n_segments, l->n_owners);
	t->range_bytes = l->n_segments * l->block_bytes;
	return check_file_size(t, end);
}

uint64_t layout_extent(const struct target_plan *t)
{
	const struct layout_options *l = &t->layout;
	uint64_t bytes = t->range_bytes, whole;

	if (!t->pass_ops)
		return 0;
	if (t->seek.pattern == SEEK_SEQUENTIAL && t->pass_ops != PLAN_UNLIMITED &&
	    t->pass_bytes < bytes)
		bytes = t->pass_bytes;
	whole = (bytes - 1) / l->block_bytes;
	return whole * l->n_owners * l->block_bytes + bytes - whole * l->block_bytes;
}

#define MAX_RANKS (1u << 20)
#define MAX_BLOCKS INT64_MAX

/* Every word that is no option; of "random" a number as well. */
static size_t arity_reorder(const struct word *args, size_t avail)
{
	if (!avail || args[0].text[0] == '-')
		return 0;
	return strcmp(args[0].text, "random") == 0 && avail > 1 && args[1].text[0] >= '0' &&
			       args[1].text[0] <= '9' ?
		       2 :
		       1;
}

static enum xdd_status apply_reorder(const struct setting *s, void *dst)
{
	static const struct choice words[] = {
		{ "ranks", NULL, REORDER_RANKS },
		{ "node", NULL, REORDER_NODE },
		{ "random", NULL, REORDER_RANDOM },
		{ 0 },
	};
	struct layout_options *l = &((struct target_plan *)dst)->layout;

	l->reorder = REORDER_DEFAULT;
	l->seed = PLAN_DEFAULT_SEED;
	if (!s->n_args)
		return XDD_OK;
	if (s->n_args == 2 && units_parse_count(s->args[1].text, &l->seed))
		return parse_error(XDD_BAD_ARGUMENT, s, &s->args[1],
				   "expected a whole number after random, the seed");
	for (const struct choice *c = words; c->word; c++) {
		if (strcmp(s->args[0].text, c->word) != 0)
			continue;
		l->reorder = (enum reorder)c->value;
		return XDD_OK;
	}
	l->reorder = REORDER_SHIFT;
	if (units_parse_count(s->args[0].text, &l->shift) || !l->shift)
		return parse_error(
			XDD_BAD_ARGUMENT, s, &s->args[0],
			"expected ranks, node, random or a number of targets, 1 or more");
	return XDD_OK;
}

static const struct choice attached_choices[] = {
	{ "input", NULL, ATTACHED_INPUT },
	{ "output", NULL, ATTACHED_OUTPUT },
	{ 0 },
};

static const struct option layout_rows[] = {
	{ .name = "rank",
	  OPTION_NUMBER("<number>", 0, MAX_RANKS - 1),
	  PLAN_FIELD(rank),
	  .sets = offsetof(struct plan, ranks_given),
	  .help = "the number of this process among the ranks of a run, from 0",
	  .detail = "Processes that are started with the same -ranks and with different -rank, on "
		    "one host or on many, are the ranks of one run. They do not communicate.",
	  .example = "xdd -op write -targets 1 data.0 -mbytes 64 -rank 0 -ranks 4" },
	{ .name = "ranks",
	  OPTION_NUMBER("<#ranks>", 1, MAX_RANKS),
	  .def = "1",
	  .unit = "ranks",
	  PLAN_FIELD(n_ranks),
	  .sets = offsetof(struct plan, ranks_given),
	  .help = "how many processes the ranks of a run are" },
	{ .name = "rankspernode",
	  OPTION_NUMBER("<#ranks>", 1, MAX_RANKS),
	  .def = "1",
	  .unit = "ranks",
	  PLAN_FIELD(ranks_per_node),
	  .help = "how many ranks with neighbouring numbers a host has",
	  .detail = "Ranks 0 to <#ranks> - 1 are on the first host, and so on." },
	{ .name = "attached",
	  OPTION_CHOICE("input|output", attached_choices),
	  PLAN_FIELD(attached),
	  .help = "end the run when the program that started it ends or asks for that",
	  .detail = "For programs that start xdd on other hosts, such as xdd multi through ssh. "
		    "input: the run ends as by SIGINT, with its results, once standard input has "
		    "ended. output: once standard output has no reader any more. Until then a line "
		    "per second on standard error says how far the run is, in a form for programs.",
	  .example = "xdd -op read -targets 1 /dev/sdx -jsonout - -attached input" },
	{ .name = "blockperrank",
	  .aliases = "bpr",
	  .type = OPT_BLOCKS,
	  .arg = "<#blocks>",
	  .min = 1,
	  .max = MAX_BLOCKS,
	  .unit = "blocks",
	  TARGET_FIELD(layout.block_blocks),
	  AMOUNT_FIELD(ENTRY_RANK_BLOCK),
	  .help = "size of the block that each target has in a segment of a shared file",
	  .detail =
		  "The targets of all ranks share a file that consists of segments. A segment "
		  "has a block for each target: first the blocks of rank 0, in the order of their "
		  "numbers, then of rank 1. A target accesses only its own blocks, with "
		  "requests in sequence or, with -seek random, drawn from all its blocks. The "
		  "size must be a multiple of the request size. Without an amount of work a pass "
		  "covers the segments; with one and without -segments there are as many "
		  "segments as it needs. -startoffset is where the first segment begins.",
	  .example = "xdd -op write -targets -4 file -rs 64k -blockperrank 1m -segments 4" },
	{ .name = "segments",
	  OPTION_NUMBER("<#segments>", 1, INT64_MAX),
	  .unit = "segments",
	  TARGET_FIELD(layout.segments),
	  .help = "number of segments of a file with -blockperrank" },
	{ .name = "reorder",
	  .scope = SCOPE_TARGET,
	  OPTION_CUSTOM("[ranks|node|<#targets>|random [<seed>]]", apply_reorder),
	  .arity = arity_reorder,
	  .help = "read the blocks that another rank or host wrote (-blockperrank)",
	  .detail = "With node a target reads the blocks of the target with the same position on "
		    "the next host (-rankspernode), with ranks the blocks of the next rank, with a "
		    "number the blocks of the target so many further; after the last one comes the "
		    "first. random makes each target read the blocks of another one, and no two of "
		    "the same; all ranks need the same seed. Without a word it is node; ranks if "
		    "there is one host; and the next target if there is one rank.",
	  .example = "xdd -op read -targets -4 file -rs 64k -bpr 1m -segments 4 -reorder" },
	{ .name = "stonewall",
	  OPTION_SUB("[<suboption>]", stonewall_rows),
	  .alone = &stonewall_rows[0],
	  .help = "end the pass of all targets together, when the first one has ended it",
	  .detail = "No target issues any more in a pass that one of them has ended, by its amount "
		    "of work or otherwise; outstanding operations complete. Two lines after each "
		    "pass, and the document of -jsonout, show the rates of all targets at that "
		    "moment, and to the end of the last operation and of the flush of -syncwrite. "
		    "The results of the pass are those to the end. With -mpi the first rank that "
		    "ends the pass ends it for all ranks; ranks that are started by hand do not "
		    "know of each other, and each of them stops for itself. The rest of a file is "
		    "not written: save and load let a later run read only what was written. With "
		    "wearout all targets write as many blocks.",
	  .example = "xdd -op write -targets 2 a b -mbytes 64 -stonewall 10s" },
	{ 0 },
};

static enum xdd_status check_rank(struct plan *plan)
{
	if (plan->rank < plan->n_ranks)
		return XDD_OK;
	return log_refuse("-rank %" PRIu64
			  ": must be less than the number of ranks (-ranks), %" PRIu64,
			  plan->rank, plan->n_ranks);
}

/* -blockperrank beside options that it contradicts, or that would remove the file of others. */
static enum xdd_status check_others(const struct plan *plan, const struct target_plan *t)
{
	const char *shared = t->create_new_files ? "createnewfiles" :
			     t->recreate_files	 ? "recreatefiles" :
			     t->delete_file	 ? "deletefile" :
						   NULL;

	if (t->seek.pattern != SEEK_SEQUENTIAL && !seek_is_random(t->seek.pattern))
		return plan_refuse(
			t, "-blockperrank: must be with sequential or random requests; -seek is %s",
			plan_seek_name(t->seek.pattern));
	if (t->seek.range_blocks)
		return plan_refuse(t, "-seek range: cannot be combined with -blockperrank, whose "
				      "segments are the range");
	if (t->endtoend.role != E2E_NONE)
		return plan_refuse(t, "-blockperrank: cannot be combined with -endtoend");
	if (shared && plan->n_ranks > 1)
		return plan_refuse(t,
				   "-%s: cannot be combined with -blockperrank and -ranks: another "
				   "rank may have written to the file",
				   shared);
	return XDD_OK;
}

/* IOR requires the same. */
static enum xdd_status check_block(const struct target_plan *t)
{
	uint64_t rest = t->layout.block_bytes % t->req_bytes;
	uint64_t below = t->layout.block_bytes - rest;
	char have[32], request[32], lo[32], hi[32];

	if (!rest)
		return XDD_OK;
	units_size_text(t->layout.block_bytes, have, sizeof(have));
	units_size_text(t->req_bytes, request, sizeof(request));
	units_size_text(below, lo, sizeof(lo));
	units_size_text(below + t->req_bytes, hi, sizeof(hi));
	return plan_refuse(t,
			   "-blockperrank %s: must be a multiple of the request size, %s; the "
			   "nearest %s%s%s %s",
			   have, request, below ? "are " : "", below ? lo : "is",
			   below ? " and" : "", hi);
}

/* The distance between a target and the owner of what it reads; 0: none such. */
static enum xdd_status find_shift(const struct plan *plan, const struct target_plan *t,
				  uint64_t *shift)
{
	const enum reorder order = t->layout.reorder;
	const bool hosts = plan->n_ranks > plan->ranks_per_node;
	const uint64_t of_rank = plan->n_ranks > 1 ? plan->n_targets : 1;

	*shift = order == REORDER_SHIFT ? t->layout.shift : of_rank;
	if (order == REORDER_NODE && !hosts)
		return plan_refuse(t,
				   "-reorder node: there is one host with %" PRIu64
				   " ranks (-ranks, -rankspernode); -reorder ranks reads what the "
				   "next rank wrote",
				   plan->n_ranks);
	if (order != REORDER_NODE && (order != REORDER_DEFAULT || !hosts))
		return XDD_OK;
	if (plan->n_ranks % plan->ranks_per_node)
		return plan_refuse(t,
				   "-reorder node: %" PRIu64
				   " ranks (-ranks) must be a multiple of -rankspernode, %" PRIu64
				   "; -reorder ranks reads what the next rank wrote",
				   plan->n_ranks, plan->ranks_per_node);
	*shift = plan->ranks_per_node * plan->n_targets;
	return XDD_OK;
}

static enum xdd_status find_owner(const struct plan *plan, struct target_plan *t)
{
	struct layout_options *l = &t->layout;
	uint64_t shift = 0;
	enum xdd_status status;

	l->owner = l->index;
	if (l->reorder == REORDER_NONE)
		return XDD_OK;
	if (plan_changes(t))
		return plan_refuse(t, "-reorder: must be for targets that read, and this one is "
				      "written to");
	if (l->n_owners == 1)
		return plan_refuse(t, "-reorder: there is one target and one rank (-ranks), and no "
				      "other that could have written");
	if (l->reorder == REORDER_RANDOM) {
		l->owner = reorder_next(l->seed, l->n_owners, l->index);
		return XDD_OK;
	}
	status = find_shift(plan, t, &shift);
	if (status)
		return status;
	if (shift % l->n_owners == 0)
		return plan_refuse(
			t,
			"-reorder %" PRIu64
			": must not be a multiple of the number of targets of all ranks, "
			"%" PRIu64 ": each would read what it wrote",
			shift, l->n_owners);
	l->owner = (l->index + shift % l->n_owners) % l->n_owners;
	return XDD_OK;
}

/* The start offset becomes the offset of the owner's first block. */
static enum xdd_status add_start(const struct plan *plan, struct target_plan *t)
{
	uint64_t bytes;

	if (__builtin_mul_overflow(t->layout.owner, t->layout.block_bytes, &bytes) ||
	    bytes > PLAN_MAX_OFFSET - plan_last_start(plan, t))
		return plan_refuse(t,
				   "-blockperrank: block %" PRIu64
				   " lies past the largest offset, 8 EiB",
				   t->layout.owner);
	t->start_bytes += bytes;
	return XDD_OK;
}

static enum xdd_status layout_resolve(struct plan *plan, struct target_plan *t)
{
	struct layout_options *l = &t->layout;
	enum xdd_status status;

	if (!l->block_blocks && (l->segments || l->reorder != REORDER_NONE))
		return plan_refuse(t, "-%s: needs -blockperrank, the size of the block of a target",
				   l->segments ? "segments" : "reorder");
	if (!l->block_blocks)
		return XDD_OK;
	if (__builtin_mul_overflow(l->block_blocks, t->block_size, &l->block_bytes) ||
	    l->block_bytes > PLAN_MAX_OFFSET)
		return plan_refuse(t, "-blockperrank: is more than 8 EiB");
	l->n_owners = plan->n_ranks * plan->n_targets;
	l->index = plan->rank * plan->n_targets + t->number;
	status = check_others(plan, t);
	if (!status)
		status = check_block(t);
	if (!status)
		status = find_owner(plan, t);
	l->owner_number = (uint32_t)(l->owner % plan->n_targets);
	return status ? status : add_start(plan, t);
}

const struct plan_feature feature_layout = {
	.group = { "Ranks and shared files", layout_rows },
	.plan = { [PLAN_BEGIN] = check_rank },
	.target = { [TARGET_PROBE] = layout_resolve },
};

/*
 * Processes that mpirun or srun has started: -mpi.
 */

static const struct option mpi_rows[] = {
	{ .name = "mpi",
	  PLAN_FLAG(mpi),
	  .help = "make the processes that mpirun or srun has started one run",
	  .detail =
		  "All ranks begin each pass together, and rank 0 writes one result for all of "
		  "them: as text, and as the document of -jsonout. An error before the first "
		  "operation, -stoponerror, a signal, or a rank that is gone ends the run on all "
		  "ranks; -stonewall ends a pass on all. In each word of the command line, %h stands for the host, %r for the "
		  "rank, %n for the number of ranks and %% for a percent sign. Other outputs have "
		  "the results of one rank, so their names must contain %r. MPI says what -rank "
		  "and -ranks are, and -rankspernode unless it is given. The plugin xdd-mpi.so must have been built with "
		  "the MPI that starts the processes; the variable XDD_PLUGIN_DIR names another "
		  "directory for it.",
	  .example = "mpirun -np 4 xdd -mpi -op write -targets 1 data.%r -mbytes 64" },
	{ 0 },
};

static enum xdd_status mpi_check(struct plan *plan)
{
	/* ranks_words() has put -rank and -ranks on the command line. */
	if (plan->mpi && !plan->ranks_given)
		return log_refuse(
			"-mpi: must be on the command line of a run, and not in a setup file");
	/* All ranks but one have an empty standard input. */
	if (plan->mpi && plan->attached)
		return log_refuse("-mpi: cannot be combined with -attached");
	/* The two sides of a copy agree on passes and ends in their own way. */
	for (size_t i = 0; plan->mpi && i < plan->n_targets; i++) {
		if (plan->targets[i].endtoend.role != E2E_NONE)
			return plan_refuse(&plan->targets[i],
					   "-mpi: cannot be combined with -endtoend");
	}
	return XDD_OK;
}

const struct plan_feature feature_mpi = {
	.group = { "Ranks under MPI", mpi_rows },
	.plan = { [PLAN_CHECK] = mpi_check },
};
