/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The offsets that a target accesses, and their order: -seek, offsets and ranges.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "plan/feature.h"
#include "plan/files.h"
#include "plan/parse.h"
#include "xdd/base/log.h"
#include "xdd/base/memory.h"
#include "xdd/base/random.h"
#include "xdd/base/units.h"
#include "xdd/plan/mix.h"

/*
 * -seek load: the list of operations of a target, read from a file. Format: doc/seek-files.md.
 */

#define FIELDS_LEAST 4 /* ordinal, location, request size, operation */
#define FIELDS_MOST 6  /* and two times */

/* The rows read so far. Their number is not known before, as the file may be a pipe. */
struct row_list {
	struct arena *arena;
	struct seek_row *rows;
	size_t n;
};

static void append_row(struct row_list *list, const struct seek_row *row)
{
	list->rows = xarena_room(list->arena, list->rows, list->n, sizeof(*list->rows));
	list->rows[list->n++] = *row;
}

/* Split at blanks, in place. Returns the number of fields, also of those beyond FIELDS_MOST. */
static size_t split_fields(char *text, char *fields[FIELDS_MOST])
{
	size_t n = 0;
	char *save = NULL;

	for (char *f = strtok_r(text, " \t", &save); f; f = strtok_r(NULL, " \t", &save)) {
		if (n < FIELDS_MOST)
			fields[n] = f;
		n++;
	}
	return n;
}

/* 'r', 'w', 'n' or 'd', or 0. */
static char operation_of(const char *field)
{
	if (!field[0] || field[1])
		return 0;
	switch (field[0]) {
	case 'r':
	case 'R':
		return 'r';
	case 'w':
	case 'W':
		return 'w';
	case 'n':
	case 'N':
		return 'n';
	case 'd':
	case 'D':
		return 'd';
	}
	return 0;
}

/* Returns NULL, or the problem of the line. */
static const char *parse_row(char *text, struct seek_row *row)
{
	char *fields[FIELDS_MOST];
	size_t n = split_fields(text, fields);
	uint64_t blocks, unused, end;

	if (n != FIELDS_LEAST && n != FIELDS_MOST)
		return "expected six fields: ordinal, location, request size, operation, two times";
	if (units_parse_u64(fields[0], &unused))
		return "the ordinal is not a number";
	if (units_parse_u64(fields[1], &row->block))
		return "the location is not a number of blocks";
	if (units_parse_u64(fields[2], &blocks) || !blocks || blocks > UINT32_MAX)
		return "the request size is not a number of blocks from 1 to 4294967295";
	if (__builtin_add_overflow(row->block, blocks, &end))
		return "the location is too large";
	row->blocks = (uint32_t)blocks;
	row->op = operation_of(fields[3]);
	if (!row->op)
		return "the operation is not r, w, n or d";
	for (size_t i = FIELDS_LEAST; i < n; i++)
		if (units_parse_u64(fields[i], &unused))
			return "a time is not a number of nanoseconds";
	return NULL;
}

/* One line of `len` bytes as getline() gave it: nothing, a row, or -EBADMSG. */
static int take_line(struct row_list *list, char *text, size_t len, const char **what)
{
	struct seek_row row = { 0 };

	if (strlen(text) != len) {
		*what = "it holds a NUL byte";
		return -EBADMSG;
	}
	if (len && text[len - 1] == '\n')
		text[--len] = '\0';
	if (len && text[len - 1] == '\r')
		text[--len] = '\0';
	if (!len || text[0] == '#')
		return 0;
	*what = parse_row(text, &row);
	if (*what)
		return -EBADMSG;
	append_row(list, &row);
	return 0;
}

static int read_rows(FILE *f, struct row_list *list, unsigned *line, const char **what)
{
	char *text = NULL;
	size_t size = 0;
	ssize_t len;
	int ret = 0;

	while (!ret) {
		errno = 0;
		len = getline(&text, &size, f);
		if (len < 0) {
			/* At the end of the file getline() leaves errno alone. */
			ret = feof(f) ? 0 : errno ? -errno : -EIO;
			break;
		}
		++*line;
		ret = take_line(list, text, (size_t)len, what);
	}
	free(text);
	return ret;
}

/* Closes `f`. */
static int load_rows(FILE *f, struct arena *arena, const struct seek_row **rows, size_t *n_rows,
		     unsigned *line, const char **what)
{
	struct row_list list = { .arena = arena };
	int ret = read_rows(f, &list, line, what);

	fclose(f);
	if (!ret && !list.n) {
		*line = 0;
		*what = "it holds no operations";
		ret = -EBADMSG;
	}
	if (ret)
		return ret;
	*rows = list.rows;
	*n_rows = list.n;
	return 0;
}

int seek_load_read(const char *path, struct arena *arena, const struct seek_row **rows,
		   size_t *n_rows, unsigned *line, const char **what)
{
	FILE *f = fopen(path, "re");

	*line = 0;
	*what = NULL;
	return f ? load_rows(f, arena, rows, n_rows, line, what) : -errno;
}

/* As seek_load_read(), for a list that an earlier run saves as `path`, before it has. */
static int read_list(const struct plan *plan, const char *path, struct target_plan *t,
		     unsigned *line, const char **what)
{
	char *text;
	int err = plan_earlier_list(plan, path, &text);
	FILE *f;

	if (err || !text)
		return err ? err :
			     seek_load_read(path, plan->arena, &t->rows, &t->n_rows, line, what);
	f = fmemopen(text, strlen(text), "r");
	err = f ? load_rows(f, plan->arena, &t->rows, &t->n_rows, line, what) : -errno;
	free(text);
	return err;
}

static enum op_request operation_of_row(const struct seek_row *row)
{
	switch (row->op) {
	case 'r':
		return OP_READ;
	case 'w':
		return OP_WRITE;
	case 'd':
		return OP_DISCARD;
	}
	return OP_NOOP;
}

/* Set `*discards` if any of them discards. */
static enum op_request operation_of_rows(const struct target_plan *t, bool *discards)
{
	enum op_request list = OP_UNSET;

	*discards = false;
	for (size_t i = 0; i < t->n_rows; i++) {
		enum op_request own = operation_of_row(&t->rows[i]);

		*discards |= own == OP_DISCARD;
		list = list == OP_UNSET || list == own ? own : OP_MIXED;
	}
	return list;
}

/* Compare the directions of a loaded list with -op; without -op the list decides. */
static enum xdd_status resolve_loaded_op(struct target_plan *t)
{
	static const char *const does[] = {
		[OP_READ] = "reads",
		[OP_WRITE] = "writes",
		[OP_NOOP] = "does neither read nor write",
		[OP_DISCARD] = "discards",
		[OP_MIXED] = "mixes operations",
	};
	bool discards;
	enum op_request list = operation_of_rows(t, &discards);

	if (list == OP_MIXED && discards)
		return plan_refuse(t,
				   "-seek load %s: the list mixes discards (d) with other "
				   "operations; give them a list and a target of their own",
				   t->seek.load_file);
	if (t->ratio_given && discards)
		return plan_refuse(t, "-rwratio: the list of -seek load %s discards; leave one out",
				   t->seek.load_file);
	if (t->op != OP_UNSET && t->op != OP_MIXED && t->op != list)
		return plan_refuse(t, "-op %s: the list of -seek load %s %s; leave out -op",
				   plan_op_name(t->op), t->seek.load_file, does[list]);
	t->op = list;
	return XDD_OK;
}

/* True if the file is there, or will be when the run begins. */
static bool exists(const struct plan *plan, const char *path)
{
	return access(path, F_OK) == 0 || plan_saves_list(plan, path);
}

const char *seek_load_name(const struct plan *plan, const struct target_plan *t)
{
	const char *own;

	if (exists(plan, t->seek.load_file))
		return t->seek.load_file;
	own = xarena_printf(plan->arena, "%s.T%u.txt", t->seek.load_file, t->number);
	return own && exists(plan, own) ? own : t->seek.load_file;
}

/*
 * Read the list of `t` into memory of the plan and set the target's operation by it. Returns
 * XDD_OK, or another status with one line given to log_error().
 */
static enum xdd_status seek_load(struct plan *plan, struct target_plan *t)
{
	const char *file = seek_load_name(plan, t), *what = NULL;
	unsigned line = 0;
	int err;

	err = read_list(plan, file, t, &line, &what);
	if (err == -EBADMSG && line)
		return log_refuse("-seek load %s: line %u: %s", file, line, what);
	if (err)
		return log_refuse("-seek load %s: %s", file,
				  err == -EBADMSG ? "holds no operations" : strerror(-err));
	for (size_t i = 0; i < t->n_rows; i++) {
		uint64_t end;

		if (t->rows[i].blocks > t->req_blocks)
			return plan_refuse(
				t,
				"-seek load %s: operation %zu has %u blocks, a request %" PRIu64
				" (-reqsize)",
				file, i, t->rows[i].blocks, t->req_blocks);
		if (__builtin_mul_overflow(t->rows[i].block + t->rows[i].blocks, t->block_size,
					   &end) ||
		    end > PLAN_MAX_OFFSET)
			return plan_refuse(
				t,
				"-seek load %s: operation %zu lies past the largest offset, 8 EiB",
				file, i);
	}
	return resolve_loaded_op(t);
}

#define MAX_BLOCKS INT64_MAX

/* Bytes that a random pass leaves out, from which on there is a warning. */
#define UNUSED_BYTES (64ull << 20)

#define PATTERN(name_, value_, help_)                                                        \
	{                                                                                    \
		.name = name_, .type = OPT_SET, TARGET_FIELD(seek.pattern), .value = value_, \
		.help = help_,                                                               \
	}

static size_t arity_random(const struct word *args, size_t avail)
{
	return avail && strcmp(args[0].text, "once") == 0;
}

static enum xdd_status apply_random(const struct setting *s, void *dst)
{
	struct target_plan *t = dst;

	t->seek.pattern = s->n_args ? SEEK_ONCE : SEEK_RANDOM;
	return XDD_OK;
}

static enum xdd_status apply_zipf(const struct setting *s, void *dst)
{
	struct target_plan *t = dst;
	double theta;

	if (units_parse_real(s->args[0].text, &theta) || theta <= 0 || theta > ZIPF_THETA_MAX)
		return parse_error(XDD_BAD_ARGUMENT, s, &s->args[0],
				   "expected the exponent, a number above 0 and up to %d, such as "
				   "0.9 or 1.1",
				   ZIPF_THETA_MAX);
	t->seek.pattern = SEEK_ZIPF;
	t->seek.theta = theta;
	return XDD_OK;
}

static const struct option seek_options[] = {
	PATTERN("sequential", SEEK_SEQUENTIAL, "each request after the one before (the default)"),
	{ .name = "random",
	  OPTION_CUSTOM("[once]", apply_random),
	  .arity = arity_random,
	  .help = "whole requests drawn uniformly from the range; with once each of them once" },
	{ .name = "zipf",
	  OPTION_CUSTOM("<theta>", apply_zipf),
	  .varies = true,
	  .help = "hot spots: the k-th most frequent request in proportion to 1 / k^<theta>" },
	{ .name = "range",
	  .type = OPT_BLOCKS,
	  .arg = "<#blocks>",
	  .min = 1,
	  .max = MAX_BLOCKS,
	  .unit = "blocks",
	  TARGET_FIELD(seek.range_blocks),
	  AMOUNT_FIELD(ENTRY_RANGE),
	  .share = true,
	  .help = "the size of the range, from the start offset" },
	{ .name = "stagger",
	  .aliases = "staggered",
	  .type = OPT_SET,
	  .arity = option_arity_number, /* older scripts have one after it */
	  TARGET_FIELD(seek.pattern),
	  .value = SEEK_STAGGER,
	  .help = "in ascending order, spread evenly over the range" },
	{ .name = "interleave",
	  OPTION_NUMBER("<factor>", 1, 1u << 30),
	  TARGET_FIELD(seek.interleave),
	  .selects = offsetof(struct target_plan, seek.pattern),
	  .value = SEEK_INTERLEAVE,
	  .help = "every <factor>th request" },
	PATTERN("streams", SEEK_STREAMS,
		"the reads of -rwratio in sequence, and its writes in another one"),
	PATTERN("none", SEEK_NONE, "the first request of the range, repeatedly"),
	{ .name = "seed",
	  OPTION_NUMBER("<number>", 0, UINT64_MAX),
	  .def = "72058",
	  TARGET_FIELD(seek.seed),
	  .help = "start of the random sequence" },
	{ .name = "save",
	  OPTION_TEXT("<file>"),
	  TARGET_FIELD(seek.save_file),
	  .help = "write the list of operations to <file>.T<target number>.txt" },
	{ .name = "load",
	  OPTION_TEXT("<file>"),
	  TARGET_FIELD(seek.load_file),
	  .selects = offsetof(struct target_plan, seek.pattern),
	  .value = SEEK_LOAD,
	  .help = "take the list of operations from a saved file" },
	{ .name = "disthist",
	  OPTION_NUMBER("<#buckets>", 1, 1000000),
	  .unit = "buckets",
	  TARGET_FIELD(seek.disthist),
	  .help = "show a histogram of the distances between operations" },
	{ .name = "seekhist",
	  OPTION_NUMBER("<#buckets>", 1, 1000000),
	  .unit = "buckets",
	  TARGET_FIELD(seek.seekhist),
	  .help = "show a histogram of the offsets accessed" },
	{ 0 },
};

static const struct option rows[] = {
	{ .name = "startoffset",
	  .aliases = "sto",
	  .type = OPT_BLOCKS,
	  .arg = "<#blocks>",
	  .min = 0,
	  .max = MAX_BLOCKS,
	  .def = "0",
	  .unit = "blocks",
	  TARGET_FIELD(start_offset_blocks),
	  AMOUNT_FIELD(ENTRY_START),
	  .share = true,
	  .help = "block of the target at which its range begins" },
	{ .name = "passoffset",
	  .aliases = "po",
	  .type = OPT_BLOCKS,
	  .arg = "<#blocks>",
	  .min = 0,
	  .max = MAX_BLOCKS,
	  .def = "0",
	  .unit = "blocks",
	  TARGET_FIELD(pass_offset_blocks),
	  AMOUNT_FIELD(ENTRY_PASS_OFFSET),
	  .share = true,
	  .help = "blocks by which the range moves on from pass to pass" },
	{ .name = "targetoffset",
	  .aliases = "to",
	  .type = OPT_BLOCKS,
	  .arg = "<#blocks>",
	  .min = 0,
	  .max = MAX_BLOCKS,
	  .def = "0",
	  .unit = "blocks",
	  TARGET_FIELD(target_offset_blocks),
	  AMOUNT_FIELD(ENTRY_TARGET_OFFSET),
	  .share = true,
	  .help = "blocks, times the target's number, by which its range moves on",
	  .detail = "Lets several targets that are one device use different extents of it.",
	  .example = "xdd -op read -targets -4 /dev/sdx -targetoffset 65536 -mbytes 64" },
	{ .name = "seek",
	  .aliases = "s",
	  .scope = SCOPE_TARGET,
	  OPTION_SUB("<suboption>", seek_options),
	  .help = "the access pattern",
	  .detail =
		  "Several suboptions may follow one -seek, or each have its own. The range counts "
		  "blocks and defaults to the amount of data of a pass. Sequential and interleaved "
		  "access start over at the end of a range that is given; a sequential pass with "
		  "more operations than the range holds gets a warning. Random offsets are those "
		  "of whole requests, uniform over the range, never past its end; the same seed "
		  "gives the same offsets in every run, on every machine, at every queue depth. "
		  "-seek random once visits each request of the range once, in random order; a "
		  "shorter last one comes last. A pass of more operations, or one that time ends, "
		  "starts over in another order. -seek streams is for -rwratio: reads and writes "
		  "each have a sequence of their own from the start of the range. Each target "
		  "covers its own range: several targets of one file share the work by -targetoffset or -blockperrank. "
		  "-seek zipf draws requests of Zipf's distribution; those that are frequent lie "
		  "scattered over the range, and are the same in all passes and for all targets "
		  "with the same seed and number of requests in the range. "
		  "-seek stagger needs a number of operations and a range that holds them. A list "
		  "loaded from a file has the offsets, sizes and directions of its operations; the "
		  "start offset is part of them, the target and pass offsets are added. -seek load "
		  "<file> also finds <file>.T<number>.txt, as written by -seek save <file>. "
		  "-numreqs or -bytes takes the first operations of the list; more than the list "
		  "has is refused.",
	  .example = "xdd -op read -targets 1 /dev/sdx -mbytes 16 -seek random range 4000000" },
	{ .name = "range",
	  .type = OPT_BLOCKS,
	  .arg = "<#blocks>",
	  .min = 1,
	  .max = MAX_BLOCKS,
	  .unit = "blocks",
	  TARGET_FIELD(seek.range_blocks),
	  AMOUNT_FIELD(ENTRY_RANGE),
	  .share = true,
	  .help = "the same as -seek range" },
	{ .name = "randomize",
	  .aliases = "rand",
	  TARGET_FLAG(randomize),
	  .help = "other random offsets in every pass" },
	{ 0 },
};

static enum xdd_status resolve_offsets(const struct plan *plan, struct target_plan *t)
{
	uint64_t blocks, moved, passes = plan->passes - 1;

	if (__builtin_mul_overflow(t->target_offset_blocks, t->number, &blocks) ||
	    __builtin_add_overflow(blocks, t->start_offset_blocks, &blocks) ||
	    __builtin_mul_overflow(blocks, t->block_size, &t->start_bytes) ||
	    __builtin_mul_overflow(t->pass_offset_blocks, t->block_size, &t->pass_offset_bytes) ||
	    __builtin_mul_overflow(t->pass_offset_bytes, passes, &moved) ||
	    __builtin_add_overflow(moved, t->start_bytes, &moved) || moved > PLAN_MAX_OFFSET)
		return plan_refuse(t,
				   "-startoffset %" PRIu64 ", -targetoffset %" PRIu64
				   " and -passoffset %" PRIu64 ", in blocks of %" PRIu64
				   " bytes, reach past the largest offset, 8 EiB",
				   t->start_offset_blocks, t->target_offset_blocks,
				   t->pass_offset_blocks, t->block_size);
	if (t->endtoend.role == E2E_NONE || !t->restart.offset_bytes)
		return XDD_OK;
	t->start_bytes += t->restart.offset_bytes;
	if (t->start_bytes > PLAN_MAX_OFFSET)
		return plan_refuse(t,
				   "-restart offset %" PRIu64
				   ": reaches past the largest offset, 8 EiB",
				   t->restart.offset_bytes);
	return XDD_OK;
}

static enum xdd_status seek_probe(struct plan *plan, struct target_plan *t)
{
	enum xdd_status status = resolve_offsets(plan, t);

	return status || t->seek.pattern != SEEK_LOAD ? status : seek_load(plan, t);
}

/* So that a pass can start over, its range must hold a request, or a cycle of a mix. */
static uint64_t least_range(const struct target_plan *t)
{
	return t->mix && t->seek.pattern == SEEK_SEQUENTIAL ? t->mix->cycle_bytes : t->req_bytes;
}

/* A sequential pass starts over after whole cycles of a mix only. */
static enum xdd_status refuse_range(const struct target_plan *t, const char *what, uint64_t bytes)
{
	char have[32], cycle[32];

	return plan_refuse(
		t,
		"-reqsize mix: %s %s, less than a cycle of the mix, whose %" PRIu64
		" requests have %s; say smaller weights, or an amount of work that needs "
		"no more",
		what, units_size_text(bytes, have, sizeof(have)), t->mix->cycle_ops,
		units_size_text(t->mix->cycle_bytes, cycle, sizeof(cycle)));
}

/*
 * An unlimited pass starts over at the end of the target; a file that is empty there grows when
 * written.
 */
static enum xdd_status unlimited_range(const struct plan *plan, struct target_plan *t)
{
	uint64_t bytes = plan_bytes_left(plan, t);
	bool grows = t->kind == TARGET_FILE && t->op == OP_WRITE && !bytes;

	if ((!plan_has_size(t) && !bytes) || (grows && !seek_is_random(t->seek.pattern))) {
		if (seek_is_random(t->seek.pattern))
			return plan_refuse(
				t, "-seek random: say the range with -seek range, or an amount of "
				   "work "
				   "that implies it");
		t->range_bytes = (PLAN_MAX_OFFSET - t->start_bytes) / 2;
		return XDD_OK;
	}
	if (bytes >= t->req_bytes && bytes < least_range(t))
		return refuse_range(t, "from the start offset on it holds", bytes);
	if (bytes < t->req_bytes)
		return plan_refuse(t,
				   "it holds %" PRIu64
				   " bytes from the start offset on, less than one request of "
				   "%" PRIu64 "%s",
				   bytes, t->req_bytes,
				   t->kind == TARGET_FILE && t->op == OP_WRITE ?
					   "; say -pretruncate 0 to write a file that grows, or an "
					   "amount of work" :
					   "");
	t->range_bytes = bytes;
	return XDD_OK;
}

/* A destination without an amount writes what its source sends: anything from the start offset. */
static enum xdd_status destination_range(const struct plan *plan, struct target_plan *t)
{
	if (plan_has_size(t) && t->kind != TARGET_FILE)
		t->range_bytes = plan_bytes_left(plan, t);
	else
		t->range_bytes = PLAN_MAX_OFFSET - plan_last_start(plan, t);
	if (t->range_bytes)
		return XDD_OK;
	return plan_refuse(t, "it holds nothing from the start offset on");
}

static enum xdd_status find_range(struct plan *plan, struct target_plan *t)
{
	const struct seek_options *seek = &t->seek;
	bool limited = t->pass_ops != PLAN_UNLIMITED;
	uint64_t need;

	if (seek->pattern == SEEK_LOAD)
		return XDD_OK;
	if (seek->pattern == SEEK_STREAMS && t->op == OP_MIXED && t->ratio_random)
		return plan_refuse(
			t, "-seek streams: cannot be combined with -rwratio <%%reads> random");
	if (t->layout.block_bytes)
		return layout_resolve_range(plan, t);
	if (!limited && t->endtoend.role == E2E_DESTINATION)
		return destination_range(plan, t);
	if (seek->pattern == SEEK_STAGGER && !limited)
		return plan_refuse(
			t,
			"-seek stagger: say how many operations there are, with -numreqs or -bytes");
	if (seek->range_blocks) {
		if (__builtin_mul_overflow(seek->range_blocks, t->block_size, &t->range_bytes) ||
		    t->range_bytes > PLAN_MAX_OFFSET - t->start_bytes)
			return plan_refuse(t,
					   "-seek range %" PRIu64
					   ": must not end past the largest offset, 8 EiB",
					   seek->range_blocks);
		if (t->range_bytes < t->req_bytes)
			return plan_refuse(t,
					   "-seek range %" PRIu64
					   ": is smaller than one request of %" PRIu64 " blocks",
					   seek->range_blocks, t->req_blocks);
		if (t->range_bytes < least_range(t) && t->pass_bytes > t->range_bytes)
			return refuse_range(t, "-seek range is", t->range_bytes);
	} else if (!limited) {
		return unlimited_range(plan, t);
	} else if (seek_is_random(seek->pattern)) {
		t->range_bytes = t->pass_bytes < t->req_bytes ? t->req_bytes : t->pass_bytes;
	}
	if (__builtin_mul_overflow(t->pass_ops, t->req_bytes, &need))
		need = UINT64_MAX;
	if (seek->pattern == SEEK_STAGGER && !t->range_bytes)
		t->range_bytes = need;
	if (seek->pattern == SEEK_STAGGER && need > t->range_bytes)
		return plan_refuse(t,
				   "-seek stagger: a range of %" PRIu64
				   " blocks does not hold %" PRIu64 " requests of %" PRIu64
				   " blocks",
				   t->range_bytes / t->block_size, t->pass_ops, t->req_blocks);
	return XDD_OK;
}

static enum xdd_status resolve_range(struct plan *plan, struct target_plan *t)
{
	enum xdd_status status = find_range(plan, t);
	uint64_t slots = t->range_bytes / t->req_bytes;
	struct zipf *zipf;

	if (status || t->seek.pattern != SEEK_ZIPF)
		return status;
	zipf = xarena_alloc(plan->arena, sizeof(*zipf));
	zipf_init(zipf, slots ? slots : 1, t->seek.theta);
	t->seek.zipf = zipf;
	return XDD_OK;
}

static enum xdd_status check_extent(const struct plan *plan, struct target_plan *t)
{
	bool timed = t->time_limit_ns || plan->run_time_ns;
	uint64_t end = plan_extent(plan, t), from, to;
	char a[32], b[32];

	t->end_bytes = end;
	plan_pass_range(t, plan->passes, &from, &to);
	t->extent_bytes = end - from;
	/* An amount that no file can have is for targets that transfer nothing. */
	if (t->pass_bytes > PLAN_MAX_OFFSET && (t->kind == TARGET_NULL || t->op == OP_NOOP))
		return XDD_OK;
	if (end > PLAN_MAX_OFFSET)
		return plan_refuse(t, "the operations reach past the largest offset, 8 EiB");
	if (!plan_has_size(t) || t->op == OP_NOOP || end <= t->size_bytes)
		return XDD_OK;
	units_size_text(end, a, sizeof(a));
	units_size_text(t->size_bytes, b, sizeof(b));
	if (t->kind != TARGET_FILE && !timed)
		return plan_refuse(t, "the operations reach to %s, and the device has %s", a, b);
	return XDD_OK;
}

static enum xdd_status check_seek(const struct target_plan *t)
{
	const struct seek_options *seek = &t->seek;
	const char *option = NULL;

	if (seek->seekhist)
		option = "seekhist";
	if (seek->disthist)
		option = "disthist";
	if (seek->save_file)
		option = "save";
	if (t->pass_ops != PLAN_UNLIMITED || !option)
		return XDD_OK;
	return plan_refuse(
		t, "-seek %s: say how many operations there are, with -numreqs or -bytes", option);
}

static enum xdd_status seek_check(struct plan *plan, struct target_plan *t)
{
	enum xdd_status status = check_extent(plan, t);

	return status ? status : check_seek(t);
}

static void warn_end(const struct plan *plan, const struct target_plan *t)
{
	char a[32], b[32];

	/* -readback reads the offsets that were written; random ones may leave out the last. */
	if (plan->read_back)
		return;
	if (t->end_bytes > plan_size_in_run(t) && t->pass_ops != PLAN_UNLIMITED && plan_reads(t))
		target_warning(t, "the operations reach to %s, and it has %s",
			       units_size_text(t->end_bytes, a, sizeof(a)),
			       units_size_text(plan_size_in_run(t), b, sizeof(b)));
}

/* Warn once: without a range of its own, a random pass covers as much as it transfers. */
static void warn_random_range(const struct plan *plan)
{
	for (const struct target_plan *t = plan->targets; t < plan_end(plan); t++) {
		uint64_t left = plan_has_size(t) ? plan_bytes_left(plan, t) : 0;
		char range[32];

		if (!seek_is_random(t->seek.pattern) || t->seek.range_blocks ||
		    t->layout.block_bytes || t->op == OP_NOOP || t->pass_ops == PLAN_UNLIMITED ||
		    t->range_bytes >= left / 2 || left - t->range_bytes < UNUSED_BYTES)
			continue;
		target_warning(t,
			       "-seek random: the requests stay in %s, %.2g %% of the target, as "
			       "much as a pass moves; -seek range %" PRIu64 " is all of it",
			       units_size_text(t->range_bytes, range, sizeof(range)),
			       100.0 * (double)t->range_bytes / (double)t->size_bytes,
			       left / t->block_size);
		return;
	}
}

/* Warn once: a pass never leaves a range that is given. */
static void warn_starts_over(const struct plan *plan)
{
	for (const struct target_plan *t = plan->targets; t < plan_end(plan); t++) {
		uint64_t slots = plan_lap_ops(t);

		if ((t->seek.pattern != SEEK_SEQUENTIAL && t->seek.pattern != SEEK_ONCE) ||
		    !(t->seek.range_blocks || t->layout.segments) ||
		    t->pass_ops == PLAN_UNLIMITED || t->pass_ops <= slots + plan_ends_with_tail(t))
			continue;
		target_warning(t,
			       "%s %" PRIu64 ": is smaller than the amount of a pass; its %" PRIu64
			       " operations start over after each %" PRIu64,
			       t->seek.range_blocks ? "-seek range" : "-segments",
			       t->seek.range_blocks ? t->seek.range_blocks : t->layout.segments,
			       t->pass_ops, slots);
		return;
	}
}

static void warn_ranges(const struct plan *plan)
{
	for (size_t i = 0; i < plan->n_targets; i++)
		warn_end(plan, &plan->targets[i]);
	warn_random_range(plan);
	warn_starts_over(plan);
}

const struct plan_feature feature_seek = {
	.group = { "Access pattern", rows },
	.target = { [TARGET_PROBE] = seek_probe,
		    [TARGET_SIZE] = resolve_range,
		    [TARGET_CHECK] = seek_check },
	.warn = warn_ranges,
};
