/*
 * The last step of building a plan: from the options as given and the targets as they are to numbers
 * that the run can work with, and every check that needs both. Called by plan_build().
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <libgen.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "xdd/base/log.h"
#include "xdd/base/units.h"
#include "xdd/plan/parse.h"
#include "xdd/plan/seekload.h"

#define MAX_OFFSET ((uint64_t)INT64_MAX)

static enum xdd_status refuse(const struct target_plan *t, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

static enum xdd_status refuse(const struct target_plan *t, const char *fmt, ...)
{
	char text[1024];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	log_error("target %u, %s: %s", t->number, t->path, text);
	return XDD_BAD_ARGUMENT;
}

static bool has_size(const struct target_plan *t)
{
	return t->kind == TARGET_FILE || t->kind == TARGET_BLOCK ||
	       (t->kind == TARGET_CHAR && t->size_bytes);
}

/* First byte of the range of the last pass. */
static uint64_t last_start(const struct plan *plan, const struct target_plan *t)
{
	return t->start_bytes + (plan->passes - 1) * t->pass_offset_bytes;
}

/* Bytes of the target that every pass can have to itself; 0 where nothing is known or left. */
static uint64_t bytes_left(const struct plan *plan, const struct target_plan *t)
{
	uint64_t start = last_start(plan, t);

	return has_size(t) && t->size_bytes > start ? t->size_bytes - start : 0;
}

static enum xdd_status resolve_path(struct plan *plan, struct target_plan *t)
{
	if (strcmp(t->name, "null") == 0) {
		t->kind = TARGET_NULL;
		t->path = t->name;
		return XDD_OK;
	}
	if (!t->dir)
		t->dir = "";
	if (!*t->dir)
		t->path = t->name;
	else
		t->path = arena_printf(plan->arena, "%s%s%s", t->dir,
				       t->dir[strlen(t->dir) - 1] == '/' ? "" : "/", t->name);
	if (!t->path) {
		log_error("%s", strerror(ENOMEM));
		return XDD_INIT_FAILED;
	}
	return XDD_OK;
}

static enum xdd_status resolve_sizes(const struct plan *plan, struct target_plan *t)
{
	uint64_t blocks, moved, passes = plan->passes - 1;

	if (__builtin_mul_overflow(t->req_blocks, t->block_size, &t->req_bytes) ||
	    t->req_bytes > PLAN_MAX_REQUEST_BYTES)
		return refuse(t,
			      "a request of %" PRIu64 " blocks of %" PRIu64
			      " bytes (-reqsize, -blocksize) is larger than 2 GiB",
			      t->req_blocks, t->block_size);
	if (__builtin_mul_overflow(t->target_offset_blocks, t->number, &blocks) ||
	    __builtin_add_overflow(blocks, t->start_offset_blocks, &blocks) ||
	    __builtin_mul_overflow(blocks, t->block_size, &t->start_bytes) ||
	    __builtin_mul_overflow(t->pass_offset_blocks, t->block_size, &t->pass_offset_bytes) ||
	    __builtin_mul_overflow(t->pass_offset_bytes, passes, &moved) ||
	    __builtin_add_overflow(moved, t->start_bytes, &moved) || moved > MAX_OFFSET)
		return refuse(t,
			      "-startoffset %" PRIu64 ", -targetoffset %" PRIu64
			      " and -passoffset %" PRIu64 ", in blocks of %" PRIu64
			      " bytes, lead past the largest offset, 8 EiB",
			      t->start_offset_blocks, t->target_offset_blocks,
			      t->pass_offset_blocks, t->block_size);
	if (__builtin_mul_overflow(t->target_start_delay_ns, t->number, &t->delay_ns) ||
	    __builtin_add_overflow(t->delay_ns, t->start_delay_ns, &t->delay_ns))
		return refuse(t, "-startdelay and -targetstartdelay are too long together");
	return XDD_OK;
}

/* The directions of a loaded list against -op; without -op the list decides. */
static enum xdd_status resolve_loaded_op(struct target_plan *t)
{
	bool seen[3] = { false };
	enum op_request list;

	for (size_t i = 0; i < t->n_rows; i++)
		seen[t->rows[i].op == 'r' ? 0 : t->rows[i].op == 'w' ? 1 : 2] = true;
	list = seen[0] + seen[1] + seen[2] > 1 ? OP_MIXED :
	       seen[0]			       ? OP_READ :
	       seen[1]			       ? OP_WRITE :
						 OP_NOOP;
	if (t->op != OP_UNSET && t->op != OP_MIXED && t->op != list)
		return refuse(t, "-op %s: the list of -seek load %s %s", plan_op_name(t->op),
			      t->seek.load_file,
			      list == OP_READ  ? "reads" :
			      list == OP_WRITE ? "writes" :
			      list == OP_NOOP  ? "does neither read nor write" :
						 "mixes reads, writes and noops");
	t->op = list;
	return XDD_OK;
}

static enum xdd_status resolve_load(struct plan *plan, struct target_plan *t)
{
	const char *file = t->seek.load_file, *what = NULL;
	unsigned line = 0;
	int err = -ENOMEM;

	if (access(file, F_OK) < 0) {
		const char *own = arena_printf(plan->arena, "%s.T%u.txt", file, t->number);

		if (own && access(own, F_OK) == 0)
			file = own;
	}
	err = seekload_read(file, plan->arena, &t->rows, &t->n_rows, &line, &what);
	if (err == -EBADMSG && line) {
		log_error("-seek load %s: line %u: %s", file, line, what);
		return XDD_BAD_ARGUMENT;
	}
	if (err) {
		log_error("-seek load %s: %s", file,
			  err == -EBADMSG ? "holds no operations" : strerror(-err));
		return XDD_BAD_ARGUMENT;
	}
	for (size_t i = 0; i < t->n_rows; i++) {
		uint64_t end;

		if (t->rows[i].blocks > t->req_blocks)
			return refuse(
				t,
				"-seek load %s: operation %zu has %u blocks, a request %" PRIu64
				" (-reqsize)",
				file, i, t->rows[i].blocks, t->req_blocks);
		if (__builtin_mul_overflow(t->rows[i].block + t->rows[i].blocks, t->block_size,
					   &end) ||
		    end > MAX_OFFSET)
			return refuse(
				t,
				"-seek load %s: operation %zu lies past the largest offset, 8 EiB",
				file, i);
	}
	return resolve_loaded_op(t);
}

/* No -op: write where nothing can be lost, ask otherwise. */
static enum xdd_status resolve_op(struct target_plan *t)
{
	if (t->op != OP_UNSET)
		return XDD_OK;
	if (t->kind == TARGET_NULL || t->kind == TARGET_MISSING ||
	    (t->kind == TARGET_FILE && t->size_bytes == 0)) {
		t->op = OP_WRITE;
		return XDD_OK;
	}
	return refuse(
		t,
		"it holds data and no operation is given: say -op read, or -op write to overwrite "
		"it");
}

static void set_ops(struct target_plan *t, uint64_t ops, uint64_t last)
{
	t->pass_ops = ops;
	t->last_op_bytes = last;
}

/* -bytes and its like: whole requests and one shorter one. */
static void set_bytes(struct target_plan *t, uint64_t bytes)
{
	uint64_t rest = bytes % t->req_bytes;

	set_ops(t, bytes / t->req_bytes + (rest != 0), rest ? rest : t->req_bytes);
	t->pass_bytes = bytes;
}

/* Nothing said how much: the whole of what is there, once. */
static enum xdd_status whole_target(const struct plan *plan, struct target_plan *t)
{
	uint64_t bytes = bytes_left(plan, t), rest;

	if (t->op != OP_READ || !has_size(t))
		return refuse(
			t,
			"no amount of work is given: say -numreqs, -bytes, -mbytes or -timelimit");
	if (!bytes)
		return refuse(
			t,
			t->size_bytes ?
				"there is nothing to read: the start offset is at or past its "
				"end, at %" PRIu64 " bytes" :
				"there is nothing to read: it holds %" PRIu64 " bytes",
			t->size_bytes);
	rest = t->direct_io ? bytes % t->io_align_bytes : 0;
	bytes -= rest;
	if (!bytes)
		return refuse(
			t,
			"it is shorter than one sector of %u bytes, the least that -dio can read",
			t->io_align_bytes);
	t->amount_from = AMOUNT_BYTES;
	set_bytes(t, bytes);
	return XDD_OK;
}

static enum xdd_status resolve_amount(const struct plan *plan, struct target_plan *t)
{
	if (t->rows && t->numreqs > t->n_rows)
		return refuse(t, "-numreqs %" PRIu64 ": the list of -seek load has %zu operations",
			      t->numreqs, t->n_rows);
	if (t->numreqs) {
		t->amount_from = AMOUNT_OPS;
		set_ops(t, t->numreqs, t->req_bytes);
		if (__builtin_mul_overflow(t->numreqs, t->req_bytes, &t->pass_bytes) ||
		    t->pass_bytes > MAX_OFFSET)
			return refuse(t,
				      "-numreqs %" PRIu64 ": that is more than 8 EiB in one pass",
				      t->numreqs);
	} else if (t->rows) {
		t->amount_from = AMOUNT_OPS;
		set_ops(t, t->n_rows, t->rows[t->n_rows - 1].blocks * t->block_size);
	} else if (t->amount_bytes) {
		t->amount_from = AMOUNT_BYTES;
		set_bytes(t, t->amount_bytes);
	} else if (t->time_limit_ns || plan->run_time_ns) {
		set_ops(t, PLAN_UNLIMITED, t->req_bytes);
		t->pass_bytes = PLAN_UNLIMITED;
	} else {
		return whole_target(plan, t);
	}
	if (t->rows) {
		t->pass_bytes = 0;
		for (uint64_t i = 0; i < t->pass_ops; i++)
			t->pass_bytes += t->rows[i].blocks * t->block_size;
		t->last_op_bytes = t->rows[t->pass_ops - 1].blocks * t->block_size;
	}
	return XDD_OK;
}

/* An unlimited pass starts over at the end of what is there. */
static enum xdd_status unlimited_range(const struct plan *plan, struct target_plan *t)
{
	uint64_t bytes = bytes_left(plan, t);
	bool grows = t->kind == TARGET_FILE && t->op == OP_WRITE;

	if (!has_size(t) || (grows && t->seek.pattern != SEEK_RANDOM)) {
		if (t->seek.pattern == SEEK_RANDOM)
			return refuse(
				t,
				"-seek random: say the range with -seek range, or an amount of work "
				"that implies it");
		t->range_bytes = (MAX_OFFSET - t->start_bytes) / 2;
		return XDD_OK;
	}
	if (bytes < t->req_bytes)
		return refuse(t,
			      "it holds %" PRIu64
			      " bytes from the start offset on, less than one request of "
			      "%" PRIu64,
			      bytes, t->req_bytes);
	t->range_bytes = bytes;
	return XDD_OK;
}

static enum xdd_status resolve_range(const struct plan *plan, struct target_plan *t)
{
	const struct seek_options *seek = &t->seek;
	bool limited = t->pass_ops != PLAN_UNLIMITED;
	uint64_t need;

	if (seek->pattern == SEEK_LOAD)
		return XDD_OK;
	if (seek->pattern == SEEK_STAGGER && !limited)
		return refuse(
			t,
			"-seek stagger: say how many operations there are, with -numreqs or -bytes");
	if (seek->range_blocks) {
		if (__builtin_mul_overflow(seek->range_blocks, t->block_size, &t->range_bytes) ||
		    t->range_bytes > MAX_OFFSET - t->start_bytes)
			return refuse(t,
				      "-seek range %" PRIu64
				      ": it ends past the largest offset, 8 EiB",
				      seek->range_blocks);
		if (t->range_bytes < t->req_bytes)
			return refuse(t,
				      "-seek range %" PRIu64
				      ": the range is smaller than one request of "
				      "%" PRIu64 " blocks",
				      seek->range_blocks, t->req_blocks);
	} else if (!limited) {
		return unlimited_range(plan, t);
	} else if (seek->pattern == SEEK_RANDOM) {
		t->range_bytes = t->pass_bytes < t->req_bytes ? t->req_bytes : t->pass_bytes;
	} else if (seek->pattern == SEEK_STAGGER) {
		t->range_bytes = t->pass_ops * t->req_bytes;
	}
	if (seek->pattern == SEEK_STAGGER &&
	    (__builtin_mul_overflow(t->pass_ops, t->req_bytes, &need) || need > t->range_bytes))
		return refuse(t,
			      "-seek stagger: a range of %" PRIu64 " blocks does not hold %" PRIu64
			      " requests of %" PRIu64 " blocks",
			      t->range_bytes / t->block_size, t->pass_ops, t->req_blocks);
	return XDD_OK;
}

/* The byte behind the last one that a run may touch, or 0 when there is no such limit. */
static uint64_t extent(const struct plan *plan, const struct target_plan *t)
{
	uint64_t start = last_start(plan, t), bytes;

	if (t->rows) {
		uint64_t end = 0, own = t->start_bytes - t->start_offset_blocks * t->block_size;

		for (uint64_t i = 0; i < t->pass_ops; i++) {
			uint64_t e = (t->rows[i].block + t->rows[i].blocks) * t->block_size;

			if (e > end)
				end = e;
		}
		return own + (plan->passes - 1) * t->pass_offset_bytes + end;
	}
	if (t->pass_ops == 1 && t->range_bytes / t->req_bytes <= 1)
		bytes = t->last_op_bytes;
	else if (t->seek.pattern == SEEK_NONE)
		bytes = t->req_bytes;
	else if (t->range_bytes)
		bytes = t->pass_bytes < t->range_bytes && t->seek.pattern == SEEK_SEQUENTIAL ?
				t->pass_bytes :
				t->range_bytes / t->req_bytes * t->req_bytes;
	else if (t->seek.pattern == SEEK_INTERLEAVE) {
		if (__builtin_mul_overflow((t->pass_ops - 1) * t->req_bytes, t->seek.interleave,
					   &bytes) ||
		    __builtin_add_overflow(bytes, t->last_op_bytes, &bytes))
			return UINT64_MAX;
	} else {
		bytes = t->pass_bytes;
	}
	return __builtin_add_overflow(start, bytes, &bytes) ? UINT64_MAX : bytes;
}

static enum xdd_status check_extent(const struct plan *plan, struct target_plan *t)
{
	bool timed = t->time_limit_ns || plan->run_time_ns;
	uint64_t end = extent(plan, t);
	char a[32], b[32];

	if (end > MAX_OFFSET)
		return refuse(t, "the operations lead past the largest offset, 8 EiB");
	if (!has_size(t) || t->op == OP_NOOP || end <= t->size_bytes)
		return XDD_OK;
	units_size_text(end, a, sizeof(a));
	units_size_text(t->size_bytes, b, sizeof(b));
	if (t->kind != TARGET_FILE && !timed)
		return refuse(t, "the operations reach to %s, and the device has %s", a, b);
	return XDD_OK;
}

/* What is allowed and may still surprise; told only when nothing is refused. */
static void warn(const struct plan *plan, const struct target_plan *t)
{
	bool whole = t->amount_from == AMOUNT_BYTES && !t->amount_bytes;
	uint64_t end = extent(plan, t), rest = whole ? bytes_left(plan, t) - t->pass_bytes : 0;
	char a[32], b[32];

	if (rest)
		log_warning("target %u, %s: its last %" PRIu64
			    " bytes cannot be read with -dio and are left out",
			    t->number, t->path, rest);
	if (has_size(t) && end > t->size_bytes && t->pass_ops != PLAN_UNLIMITED &&
	    (t->op == OP_READ || t->op == OP_MIXED))
		log_warning("target %u, %s: the operations reach to %s, and it has %s", t->number,
			    t->path, units_size_text(end, a, sizeof(a)),
			    units_size_text(t->size_bytes, b, sizeof(b)));
}

static enum xdd_status check_aligned(const struct target_plan *t, const char *what, uint64_t bytes)
{
	if (bytes % t->io_align_bytes == 0)
		return XDD_OK;
	return refuse(t, "-dio: %s must be a multiple of %u bytes; it is %" PRIu64, what,
		      t->io_align_bytes, bytes);
}

static enum xdd_status check_dio(struct target_plan *t)
{
	enum xdd_status status;

	if (!t->direct_io || t->kind == TARGET_NULL || t->op == OP_NOOP) {
		t->io_align_bytes = 1;
		return XDD_OK;
	}
	status = check_aligned(t, "the request size (-reqsize, -blocksize)", t->req_bytes);
	if (!status)
		status = check_aligned(t, "the start offset (-startoffset, -targetoffset)",
				       t->start_bytes);
	if (!status)
		status = check_aligned(t, "the pass offset (-passoffset)", t->pass_offset_bytes);
	if (!status && (t->rows || t->seek.pattern == SEEK_STAGGER))
		status = check_aligned(t, "the block size (-blocksize)", t->block_size);
	if (!status)
		status = check_aligned(t, "the size of the last operation (-bytes)",
				       t->last_op_bytes);
	return status;
}

/* The file of -seek save is made beside its place, and then renamed. */
static enum xdd_status check_save_file(const struct plan *plan, const struct target_plan *t)
{
	char *path = arena_printf(plan->arena, "%s.T%u.txt", t->seek.save_file, t->number);
	char *copy = path ? arena_strdup(plan->arena, path) : NULL;
	struct stat st;
	int err = 0;

	if (!copy)
		err = ENOMEM;
	else if (stat(path, &st) == 0)
		err = S_ISDIR(st.st_mode) ? EISDIR : 0;
	else if (errno != ENOENT)
		err = errno;
	if (!err && faccessat(AT_FDCWD, dirname(copy), W_OK | X_OK, AT_EACCESS) < 0)
		err = errno;
	if (!err)
		return XDD_OK;
	log_error("-seek save %s: %s", t->seek.save_file, strerror(err));
	return XDD_BAD_ARGUMENT;
}

static enum xdd_status check_seek_save(const struct plan *plan, const struct target_plan *t)
{
	const struct seek_options *seek = &t->seek;

	if ((seek->save_file || seek->disthist || seek->seekhist) && t->pass_ops == PLAN_UNLIMITED)
		return refuse(
			t, "-seek %s: say how many operations there are, with -numreqs or -bytes",
			seek->save_file ? "save" :
			seek->disthist	? "disthist" :
					  "seekhist");
	return seek->save_file ? check_save_file(plan, t) : XDD_OK;
}

/* One QThread an operation, or, with an engine that queues, few that share the operations. */
static enum xdd_status resolve_qthreads(struct target_plan *t)
{
	uint64_t n = t->queue_depth;

	if (t->kind == TARGET_NULL)
		t->engine_queues = false;
	else if (t->threads && !t->engine_queues)
		return refuse(
			t,
			"-threads: the engine %s has a QThread for each operation; -threads is for "
			"libaio and io_uring",
			t->engine ? t->engine : "psync");
	if (t->engine_queues) {
		n = t->threads ? t->threads : 1;
		if (n > t->queue_depth)
			n = t->queue_depth;
	}
	t->qthreads = (uint32_t)n;
	return XDD_OK;
}

static enum xdd_status resolve_target(struct plan *plan, struct target_plan *t)
{
	enum xdd_status status = resolve_path(plan, t);

	if (!status)
		status = probe_target(t);
	if (!status)
		status = resolve_sizes(plan, t);
	if (!status && t->seek.pattern == SEEK_LOAD)
		status = resolve_load(plan, t);
	if (!status)
		status = resolve_op(t);
	if (!status && t->kind == TARGET_MISSING && t->op != OP_WRITE) {
		log_error("target %u, %s: %s", t->number, t->path, strerror(ENOENT));
		return XDD_TARGET_FAILED;
	}
	if (!status)
		status = resolve_amount(plan, t);
	if (!status)
		status = resolve_range(plan, t);
	if (!status)
		status = check_extent(plan, t);
	if (!status)
		status = check_dio(t);
	if (!status)
		status = check_seek_save(plan, t);
	if (!status)
		status = resolve_qthreads(t);
	return status;
}

/* Buffers that cannot fit would have the kernel kill something; say so instead. */
static enum xdd_status check_memory(const struct plan *plan)
{
	long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
	uint64_t have = pages > 0 && page > 0 ? (uint64_t)pages * (uint64_t)page : UINT64_MAX,
		 want = 0;

	for (size_t i = 0; i < plan->n_targets; i++) {
		const struct target_plan *t = &plan->targets[i];

		if (t->kind != TARGET_NULL && t->op != OP_NOOP)
			want += t->queue_depth * t->req_bytes;
	}
	if (want < have)
		return XDD_OK;
	log_error(
		"-reqsize, -queuedepth: the I/O buffers would take %.1f GiB, and this machine has %.1f GiB "
		"of memory",
		(double)want / (1u << 30), (double)have / (1u << 30));
	return XDD_BAD_ARGUMENT;
}

/* Said once, about the first target it is true of. */
static void warn_buffered(const struct plan *plan)
{
	for (size_t i = 0; i < plan->n_targets; i++) {
		const struct target_plan *t = &plan->targets[i];

		if (!t->engine_queues || t->direct_io || t->op == OP_NOOP || !has_size(t))
			continue;
		log_warning(
			"target %u, %s: %s without -dio: buffered requests are carried out one by one "
			"or by kernel threads; psync is faster there",
			t->number, t->path, t->engine);
		return;
	}
}

enum xdd_status plan_resolve(struct plan *plan)
{
	enum xdd_status status = XDD_OK;

	for (size_t i = 0; i < plan->n_targets && !status; i++)
		status = resolve_target(plan, &plan->targets[i]);
	if (!status)
		status = check_memory(plan);
	for (size_t i = 0; i < plan->n_targets && !status; i++)
		warn(plan, &plan->targets[i]);
	if (!status)
		warn_buffered(plan);
	return status;
}
