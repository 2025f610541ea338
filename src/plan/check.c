/*
 * Checks of a resolved plan, which need all options and what the targets are, and the warnings about
 * one that passes them. Called while the plan is resolved, and by main.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "plan/parse.h"
#include "xdd/base/log.h"
#include "xdd/base/units.h"

/* Space that a random pass leaves out, from which that is worth a warning. */
#define UNUSED_BYTES (64ull << 20)

enum xdd_status plan_refuse(const struct target_plan *t, const char *fmt, ...)
{
	char text[1024];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	log_error("target %u, %s: %s", t->number, t->path, text);
	return XDD_BAD_ARGUMENT;
}

bool plan_has_size(const struct target_plan *t)
{
	return t->kind == TARGET_FILE || t->kind == TARGET_BLOCK ||
	       (t->kind == TARGET_CHAR && t->size_bytes);
}

uint64_t plan_last_start(const struct plan *plan, const struct target_plan *t)
{
	return t->start_bytes + (plan->passes - 1) * t->pass_offset_bytes;
}

uint64_t plan_bytes_left(const struct plan *plan, const struct target_plan *t)
{
	uint64_t start = plan_last_start(plan, t), end = plan_has_size(t) ? t->size_bytes : 0;

	if (!end && t->written_bytes != PLAN_UNLIMITED)
		end = t->written_bytes;
	return end > start ? end - start : 0;
}

uint64_t plan_size_in_run(const struct target_plan *t)
{
	if (!plan_has_size(t) && !t->writer)
		return UINT64_MAX;
	return t->written_bytes > t->size_bytes ? t->written_bytes : t->size_bytes;
}

uint64_t plan_extent(const struct plan *plan, const struct target_plan *t)
{
	uint64_t start = plan_last_start(plan, t), bytes;

	if (t->rows) {
		uint64_t end = 0, own = t->start_bytes - t->start_offset_blocks * t->block_size;

		for (uint64_t i = 0; i < t->pass_ops; i++) {
			uint64_t size = i + 1 < t->pass_ops ? t->rows[i].blocks * t->block_size :
							      t->last_op_bytes;
			uint64_t e = t->rows[i].block * t->block_size + size;

			if (e > end)
				end = e;
		}
		return own + (plan->passes - 1) * t->pass_offset_bytes + end;
	}
	if (t->pass_ops == 1 && t->range_bytes / t->req_bytes <= 1)
		bytes = t->last_op_bytes;
	else if (t->seek.pattern == SEEK_NONE)
		bytes = t->req_bytes;
	else if (t->seek.pattern == SEEK_STAGGER)
		bytes = plan_stagger_offset(t, t->pass_ops - 1) + t->last_op_bytes;
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

bool plan_may_end_early(const struct plan *plan, const struct target_plan *t)
{
	return t->time_limit_ns || plan->run_time_ns || t->stop_trigger.on ||
	       (t->lockstep.on && t->lockstep.stop);
}

uint64_t plan_sure_passes(const struct plan *plan)
{
	return plan->until_percent > 0 && plan->passes > PLAN_UNTIL_MIN_PASSES ?
		       PLAN_UNTIL_MIN_PASSES :
		       plan->passes;
}

static enum xdd_status check_extent(const struct plan *plan, struct target_plan *t)
{
	bool timed = t->time_limit_ns || plan->run_time_ns;
	uint64_t end = plan_extent(plan, t);
	char a[32], b[32];

	t->end_bytes = end;
	/* An amount that no file can have is for targets that transfer nothing. */
	if (t->pass_bytes > PLAN_MAX_OFFSET && (t->kind == TARGET_NULL || t->op == OP_NOOP))
		return XDD_OK;
	if (end > PLAN_MAX_OFFSET)
		return plan_refuse(t, "the operations lead past the largest offset, 8 EiB");
	if (!plan_has_size(t) || t->op == OP_NOOP || end <= t->size_bytes)
		return XDD_OK;
	units_size_text(end, a, sizeof(a));
	units_size_text(t->size_bytes, b, sizeof(b));
	if (t->kind != TARGET_FILE && !timed)
		return plan_refuse(t, "the operations reach to %s, and the device has %s", a, b);
	return XDD_OK;
}

enum xdd_status plan_check_multiples(const struct target_plan *t, const char *option,
				     uint32_t unit_bytes, bool last)
{
	const bool blocks = t->rows || t->seek.pattern == SEEK_STAGGER;
	const struct {
		const char *what;
		uint64_t bytes;
	} parts[] = {
		{ "the request size (-reqsize, -blocksize)", t->req_bytes },
		{ "the start offset (-startoffset, -targetoffset)", t->start_bytes },
		{ "the pass offset (-passoffset)", t->pass_offset_bytes },
		{ "the block size (-blocksize)", blocks ? t->block_size : 0 },
		{ "the size of the last operation (-bytes)", last ? t->last_op_bytes : 0 },
	};

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		if (parts[i].bytes % unit_bytes)
			return plan_refuse(t,
					   "%s: %s must be a multiple of %u bytes; it is %" PRIu64,
					   option, parts[i].what, unit_bytes, parts[i].bytes);
	}
	return XDD_OK;
}

/*
 * What -dio cannot move of the last operation: up to a page, so that as few bytes as may be are left, and writes to the
 * rest of its page do not go past the page cache where requests are whole pages.
 */
static uint64_t tail_bytes(const struct target_plan *t)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	uint64_t unit = t->io_align_bytes > page ? t->io_align_bytes : page;

	return t->last_op_bytes % t->io_align_bytes ? t->last_op_bytes % unit : 0;
}

static enum xdd_status check_dio(struct target_plan *t)
{
	/* A character device has no page cache to go through. */
	const bool strict = t->kind == TARGET_CHAR;
	enum xdd_status status;

	if (!t->direct_io || t->kind == TARGET_NULL || t->op == OP_NOOP) {
		t->io_align_bytes = 1;
		return XDD_OK;
	}
	status = plan_check_multiples(t, "-dio", t->io_align_bytes, strict);
	if (!status)
		t->tail_bytes = tail_bytes(t);
	return status;
}

static enum xdd_status check_seek(const struct target_plan *t)
{
	const struct seek_options *seek = &t->seek;

	if (t->pass_ops != PLAN_UNLIMITED || !(seek->save_file || seek->disthist || seek->seekhist))
		return XDD_OK;
	return plan_refuse(t,
			   "-seek %s: say how many operations there are, with -numreqs or -bytes",
			   seek->save_file ? "save" :
			   seek->disthist  ? "disthist" :
					     "seekhist");
}

enum xdd_status plan_check_target(const struct plan *plan, struct target_plan *t)
{
	enum xdd_status status = check_extent(plan, t);

	if (!status)
		status = check_dio(t);
	if (!status)
		status = plan_check_memalign(t);
	if (!status)
		status = check_seek(t);
	if (!status)
		status = plan_check_order(t);
	return status;
}

void plan_warn_dio(const struct target_plan *t, const char *path)
{
	log_warning(
		"target %u, %s: -dio: the file system has no direct I/O for this file, and uses "
		"the page cache; put it on another file system",
		t->number, path);
}

/* Words such as lf and output alone name nothing that a line could show. */
static void warn_heartbeat(const struct target_plan *t)
{
	const struct heartbeat_options *h = &t->heartbeat;
	bool shows = h->ops || h->bytes || h->kbytes || h->mbytes || h->gbytes || h->bw ||
		     h->iops || h->pct || h->etc || h->latency || h->target || h->tod ||
		     h->elapsed || h->hostname;

	if (h->append && !h->output)
		log_warning("target %u, %s: -heartbeat append: there is no file to append to; "
			    "-heartbeat output <prefix> names one",
			    t->number, t->path);
	if (h->on && !shows)
		log_warning(
			"target %u, %s: -heartbeat: no field is named, and its lines show none; name "
			"some, such as ops bw pct etc",
			t->number, t->path);
}

/* What is allowed and may still surprise; told only when nothing is refused. */
static void warn(const struct target_plan *t)
{
	const char *word = t->pattern.kind == PATTERN_CHARACTER ? t->pattern.word : NULL;
	char a[32], b[32];

	if (word && word[1])
		log_warning(
			"target %u, %s: -datapattern %.64s: no such pattern; its first character, "
			"%c, is taken as the pattern",
			t->number, t->path, word, *word);
	warn_heartbeat(t);
	if (t->direct_ignored && t->op != OP_NOOP)
		plan_warn_dio(t, t->path);
	if (t->end_bytes > plan_size_in_run(t) && t->pass_ops != PLAN_UNLIMITED && plan_reads(t))
		log_warning("target %u, %s: the operations reach to %s, and it has %s", t->number,
			    t->path, units_size_text(t->end_bytes, a, sizeof(a)),
			    units_size_text(plan_size_in_run(t), b, sizeof(b)));
}

/* Said once, about the first target it is true of. */
static void warn_buffered(const struct plan *plan)
{
	for (size_t i = 0; i < plan->n_targets; i++) {
		const struct target_plan *t = &plan->targets[i];

		if (!t->engine_queues || t->direct_io || t->op == OP_NOOP || !plan_has_size(t))
			continue;
		log_warning(
			"target %u, %s: %s without -dio: buffered requests are carried out one by one "
			"or by kernel threads; psync is faster there",
			t->number, t->path, t->engine);
		return;
	}
}

/* Said once: elsewhere a block is a request. */
static void warn_request_size(const struct plan *plan)
{
	for (size_t i = 0; i < plan->n_targets; i++) {
		const struct target_plan *t = &plan->targets[i];
		char size[32];

		if (!t->block_size_given || t->req_blocks_given || t->rows)
			continue;
		log_warning("target %u, %s: -blocksize %" PRIu64
			    " without -reqsize: a request has %s, %" PRIu64
			    " blocks; -reqsize 1 is for requests of one block",
			    t->number, t->path, t->block_size,
			    units_size_text(t->req_bytes, size, sizeof(size)), t->req_blocks);
		return;
	}
}

/* Said once: without a range of its own, a random pass goes over as much as it moves. */
static void warn_random_range(const struct plan *plan)
{
	for (size_t i = 0; i < plan->n_targets; i++) {
		const struct target_plan *t = &plan->targets[i];
		uint64_t left = plan_has_size(t) ? plan_bytes_left(plan, t) : 0;
		char range[32];

		if (t->seek.pattern != SEEK_RANDOM || t->seek.range_blocks || t->op == OP_NOOP ||
		    t->pass_ops == PLAN_UNLIMITED || t->range_bytes >= left / 2 ||
		    left - t->range_bytes < UNUSED_BYTES)
			continue;
		log_warning("target %u, %s: -seek random: the requests stay in %s, %.2g %% of the "
			    "target, as much as a pass moves; -seek range %" PRIu64 " is all of it",
			    t->number, t->path,
			    units_size_text(t->range_bytes, range, sizeof(range)),
			    100.0 * (double)t->range_bytes / (double)t->size_bytes,
			    left / t->block_size);
		return;
	}
}

/* Said once: a range that was given is never left. */
static void warn_starts_over(const struct plan *plan)
{
	for (size_t i = 0; i < plan->n_targets; i++) {
		const struct target_plan *t = &plan->targets[i];
		uint64_t slots = t->range_bytes / t->req_bytes;

		if (t->seek.pattern != SEEK_SEQUENTIAL || !t->seek.range_blocks ||
		    t->pass_ops == PLAN_UNLIMITED || t->pass_ops <= slots)
			continue;
		log_warning("target %u, %s: -seek range %" PRIu64
			    ": is smaller than the amount of a "
			    "pass; its %" PRIu64 " operations start over after each %" PRIu64,
			    t->number, t->path, t->seek.range_blocks, t->pass_ops, slots);
		return;
	}
}

/* Without another end of a pass, the first pass lasts as long as the run. */
static void warn_passes(const struct plan *plan)
{
	if (plan->passes < 2 || !plan->run_time_ns)
		return;
	for (size_t i = 0; i < plan->n_targets; i++) {
		const struct target_plan *t = &plan->targets[i];

		if (t->pass_ops != PLAN_UNLIMITED || t->time_limit_ns)
			return;
	}
	log_warning(
		"-passes: -runtime ends the run in its first pass; -timelimit <seconds> ends each "
		"pass");
}

/* All that the machine has cached can be thrown away where one may, and while nothing runs. */
static enum xdd_status check_drop_system(struct plan *plan)
{
	static const char path[] = "/proc/sys/vm/drop_caches";

	for (size_t i = 0; i < plan->n_targets; i++)
		plan->drop_system_cache |= plan->targets[i].drop_system_cache;
	if (!plan->drop_system_cache)
		return XDD_OK;
	if (plan->no_barrier && plan->passes > 1) {
		log_error(
			"-dropcache system: with -nobarrier the targets have no time between passes "
			"in which none of them runs; use -dropcache without the word");
		return XDD_BAD_ARGUMENT;
	}
	if (faccessat(AT_FDCWD, path, W_OK, AT_EACCESS) == 0)
		return XDD_OK;
	log_error("-dropcache system: %s: %s; -dropcache without the word needs no right", path,
		  strerror(errno));
	return XDD_BAD_ARGUMENT;
}

enum xdd_status plan_check_passes(struct plan *plan)
{
	if (check_drop_system(plan))
		return XDD_BAD_ARGUMENT;
	if (!plan->until_percent || !plan->no_barrier)
		return XDD_OK;
	log_error(
		"-passes until: with -nobarrier the targets have no passes together whose bandwidth "
		"could be known; leave -nobarrier out, or say how many passes");
	return XDD_BAD_ARGUMENT;
}

void plan_warn(const struct plan *plan)
{
	for (size_t i = 0; i < plan->n_targets; i++) {
		warn(&plan->targets[i]);
		plan_warn_order(&plan->targets[i]);
		plan_warn_trace(&plan->targets[i]);
	}
	warn_request_size(plan);
	warn_random_range(plan);
	warn_starts_over(plan);
	warn_buffered(plan);
	warn_passes(plan);
}
