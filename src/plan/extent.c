/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Targets as they are, as earlier runs will leave them, and the bytes of them that a run touches.
 * Called while a plan is resolved and checked, and where lists and records are read.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/fs.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "plan/feature.h"
#include "plan/files.h"
#include "plan/parse.h"
#include "xdd/base/memory.h"
#include "xdd/base/text.h"
#include "xdd/plan/engine_info.h"
#include "xdd/plan/mix.h"
#include "xdd/plan/stonewall_record.h"
#include "xdd/sys/blockdev.h"

/*
 * The kind and size of a target, and the alignment that direct I/O on it needs, found before
 * anything is opened for I/O.
 */

#define DIO_ALIGN_DEFAULT 512

/* Sector size of the device a file lies on; the default where it has none of its own. */
static uint32_t device_sector(dev_t dev)
{
	uint64_t sector = 0;

	blockdev_queue_number(dev, "logical_block_size", &sector);
	return sector ? (uint32_t)sector : DIO_ALIGN_DEFAULT;
}

static void probe_dio(struct target_plan *t, const struct stat *st)
{
	struct directio d;

	directio_query(&d, -1, t->path);
	t->memory_align_bytes = d.memory_align;
	t->direct_ignored = d.ignored;
	if (t->kind == TARGET_FILE)
		t->io_align_bytes = d.offset_align ? d.offset_align : device_sector(st->st_dev);
}

/*
 * The file will be on the device of its directory, which determines the alignment on most file
 * systems.
 */
static void probe_missing(struct target_plan *t)
{
	char *directory = path_directory(t->path);
	struct directio d;
	uint64_t mask = 0;
	struct stat st;

	if (directory && stat(directory, &st) == 0) {
		/* For a directory, only file systems in memory report that. */
		directio_query(&d, -1, directory);
		t->direct_ignored = d.ignored;
		t->io_align_bytes = device_sector(st.st_dev);
		blockdev_queue_number(st.st_dev, "dma_alignment", &mask);
		t->memory_align_bytes = mask ? (uint32_t)mask + 1 : 0;
	}
	free(directory);
}

static int probe_block(struct target_plan *t)
{
	int fd = open(t->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK), sector = 0, err = 0;

	if (fd < 0)
		return -errno;
	if (ioctl(fd, BLKGETSIZE64, &t->size_bytes) < 0)
		err = -errno;
	if (ioctl(fd, BLKSSZGET, &sector) < 0 || sector <= 0)
		sector = DIO_ALIGN_DEFAULT;
	t->io_align_bytes = (uint32_t)sector;
	close(fd);
	return err;
}

static enum xdd_status probe_failed(const struct target_plan *t, const char *why)
{
	return target_fail(XDD_TARGET_FAILED, t, "%s", why);
}

enum xdd_status probe_target(struct target_plan *t)
{
	uint32_t block;
	struct stat st;
	int err;

	t->io_align_bytes = DIO_ALIGN_DEFAULT;
	if (t->kind == TARGET_NULL)
		return XDD_OK;
	if (stat(t->path, &st) < 0) {
		if (errno != ENOENT)
			return probe_failed(t, strerror(errno));
		t->kind = TARGET_MISSING;
		if (t->direct_io)
			probe_missing(t);
		return XDD_OK;
	}
	t->device = st.st_rdev;
	switch (st.st_mode & S_IFMT) {
	case S_IFREG:
		t->kind = TARGET_FILE;
		t->size_bytes = (uint64_t)st.st_size;
		if (t->direct_io)
			probe_dio(t, &st);
		return XDD_OK;
	case S_IFBLK:
		t->kind = TARGET_BLOCK;
		if (t->direct_io)
			probe_dio(t, &st);
		err = probe_block(t);
		return err ? probe_failed(t, strerror(-err)) : XDD_OK;
	case S_IFCHR:
		t->kind = TARGET_CHAR;
		/* /dev/sg*: a disk without a block device; other devices have no size. */
		if (plan_engine_caps(t) & ENGINE_SCSI &&
		    scsi_capacity(t->path, &t->size_bytes, &block) < 0)
			t->size_bytes = 0;
		return XDD_OK;
	case S_IFDIR:
		return probe_failed(t, "is a directory; expected a file or a device");
	default:
		return probe_failed(t, "is a pipe or a socket; expected a file or a device");
	}
}

/*
 * Files as earlier runs will leave them, after a target was probed.
 */

/* Of a file that a run ends by time: large enough for any range, and far from an overflow. */
#define UNKNOWN_BYTES (UINT64_C(1) << 50)

/* A file between two runs. */
struct state {
	bool exists;
	uint64_t bytes;	  /* at most */
	uint64_t planned; /* if no run before ends early */
};

static bool is_file(const struct target_plan *t)
{
	return t->kind == TARGET_FILE || t->kind == TARGET_MISSING;
}

static bool ends_with_pass(const struct plan *plan, const struct target_plan *t)
{
	return t->pass_ops == PLAN_UNLIMITED || plan_may_end_early(plan, t) || plan->stonewall.on;
}

/* The end of what `t` writes, at most. */
static uint64_t written(const struct plan *plan, const struct target_plan *t)
{
	return ends_with_pass(plan, t) ? UNKNOWN_BYTES : plan_extent(plan, t);
}

/* The end of what `t` writes, if it does not end early. */
static uint64_t planned(const struct plan *plan, const struct target_plan *t)
{
	return t->pass_ops == PLAN_UNLIMITED ? UNKNOWN_BYTES : plan_extent(plan, t);
}

/* The run with target `w` on the file. */
static void pass_run(const struct plan *plan, const struct target_plan *w, struct state *s)
{
	const uint64_t most = written(plan, w), end = planned(plan, w);

	if (plan_writes(w)) {
		if (plan_recreates(w))
			s->bytes = s->planned = 0;
		if (w->pretruncate)
			s->bytes = s->planned = w->pretruncate_bytes;
		s->bytes = most > s->bytes ? most : s->bytes;
		s->planned = end > s->planned ? end : s->planned;
		s->exists = true;
	}
	if (w->delete_file)
		*s = (struct state){ .exists = false };
}

/* The targets of an earlier run on the file with `id`. */
static void pass_targets(const struct plan_earlier *e, const struct file_id *id, struct state *s)
{
	const size_t n = e->plan->n_targets;
	const struct file_id *found = bsearch(id, e->ids, n, sizeof(*e->ids), file_id_compare);

	if (!found)
		return;
	while (found > e->ids && file_id_compare(found - 1, id) == 0)
		found--;
	for (; found < e->ids + n && file_id_compare(found, id) == 0; found++) {
		if (is_file(found->target) && !found->target->create_new_files)
			pass_run(e->plan, found->target, s);
	}
}

/* Files with the number of a pass in their names. */
static void pass_new_files(const struct plan *plan, const char *path, struct state *s)
{
	for (const struct target_plan *w = plan->targets; w < plan_end(plan); w++) {
		if (!w->create_new_files || !plan_makes_file(plan, w, path))
			continue;
		*s = (struct state){ .exists = !w->delete_file,
				     .bytes = written(plan, w),
				     .planned = planned(plan, w) };
	}
}

/* The file `path` after the runs before `plan`. */
static void pass_earlier(const struct plan *plan, const char *path, struct state *s)
{
	const struct file_id id = plan_file_id(plan->arena, path);

	for (size_t i = 0; i < plan->n_earlier; i++) {
		pass_targets(&plan->earlier[i], &id, s);
		pass_new_files(plan->earlier[i].plan, path, s);
	}
}

void plan_probe_earlier(const struct plan *plan, struct target_plan *t)
{
	struct state s = { .exists = t->kind == TARGET_FILE, .bytes = t->size_bytes };

	if (!is_file(t) || !plan->n_earlier)
		return;
	pass_earlier(plan, t->path, &s);
	t->foreseen = s.exists != (t->kind == TARGET_FILE) || s.bytes != t->size_bytes;
	t->kind = s.exists ? TARGET_FILE : TARGET_MISSING;
	t->size_bytes = s.exists ? s.bytes : 0;
}

/* ---- series of plans ---- */

struct plan_series *plan_series_new(size_t most)
{
	struct plan_series *s = xcalloc(1, sizeof(*s));

	s->most = most;
	s->list = xcalloc(most + 1, sizeof(*s->list));
	return s;
}

void plan_series_free(struct plan_series *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->n; i++) {
		free(s->list[i].ids);
		plan_free(s->list[i].plan);
	}
	free(s->list);
	free(s);
}

void plan_follow(struct plan *plan, const struct plan_series *series)
{
	plan->earlier = series ? series->list : NULL;
	plan->n_earlier = series ? series->n : 0;
}

void plan_series_add(struct plan_series *s, struct plan *plan, plan_list_writer *write_list)
{
	s->list[s->n++] = (struct plan_earlier){ .plan = plan,
						 .ids = plan_file_ids(plan),
						 .write_list = write_list };
}

/* The file `path` as it is now. False: it is none. */
static bool earlier_look(const char *path, struct state *s)
{
	struct stat st;

	*s = (struct state){ .exists = stat(path, &st) == 0 };
	if (!s->exists)
		return errno == ENOENT;
	s->bytes = s->planned = (uint64_t)st.st_size;
	return S_ISREG(st.st_mode);
}

/* True if an earlier run leaves the files of all passes as `t` does. */
static bool is_made_before(const struct plan *plan, const struct target_plan *t)
{
	for (size_t i = plan->n_earlier; i-- > 0;) {
		const struct plan *before = plan->earlier[i].plan;

		for (size_t k = 0; k < before->n_targets; k++) {
			const struct target_plan *w = &before->targets[k];

			if (w->create_new_files && strcmp(w->path, t->path) == 0 &&
			    before->passes == plan->passes && w->delete_file == t->delete_file &&
			    written(before, w) == written(plan, t))
				return true;
		}
	}
	return false;
}

static enum plan_effect effect_on(const struct plan *plan, const struct target_plan *t)
{
	struct state before, after;

	if (t->create_new_files)
		return is_made_before(plan, t) ? PLAN_LEAVES : PLAN_EXTENDS;
	if (!earlier_look(t->path, &before))
		return PLAN_LEAVES;
	pass_earlier(plan, t->path, &before);
	after = before;
	pass_run(plan, t, &after);
	if (before.exists && (!after.exists || after.planned < before.planned))
		return PLAN_SHRINKS;
	if (after.exists != before.exists || after.bytes != before.bytes ||
	    after.planned != before.planned)
		return PLAN_EXTENDS;
	return PLAN_LEAVES;
}

enum plan_effect plan_effect(const struct plan *plan)
{
	enum plan_effect worst = PLAN_LEAVES, effect;

	for (const struct target_plan *t = plan->targets; t < plan_end(plan); t++) {
		if (!is_file(t) || (!plan_writes(t) && !t->delete_file))
			continue;
		effect = effect_on(plan, t);
		worst = effect > worst ? effect : worst;
	}
	return worst;
}

/* True if a run before `plan` changes the file of `t`. */
static bool is_changed_before(const struct plan *plan, const struct target_plan *t)
{
	struct state s = { .bytes = UINT64_MAX };

	/* No run leaves a state like that. */
	pass_earlier(plan, t->path, &s);
	return s.exists || s.bytes != UINT64_MAX;
}

bool plan_reads_earlier(const struct plan *plan, bool *needed)
{
	bool reads = false;

	*needed = false;
	for (size_t i = 0; i < plan->n_targets && plan->n_earlier; i++) {
		const struct target_plan *t = &plan->targets[i];

		if (!is_file(t) || !plan_reads(t))
			continue;
		reads = reads || is_changed_before(plan, t);
		*needed |= t->foreseen;
	}
	return reads;
}

/* ---- lists and records ---- */

/* Files of many targets: names that end otherwise are not looked up. */
static bool is_file_of(const struct plan *plan, const char *path, const char *other)
{
	struct file_id a, b;

	if (strcmp(path_last(path), path_last(other)))
		return false;
	a = plan_file_id(plan->arena, path);
	b = plan_file_id(plan->arena, other);
	return file_id_compare(&a, &b) == 0;
}

/* The target whose list an earlier run saves as `path`, and that run; NULL: none. */
static const struct target_plan *find_list(const struct plan *plan, const char *path,
					   const struct plan_earlier **run)
{
	for (size_t i = plan->n_earlier; i-- > 0;) {
		const struct plan *before = plan->earlier[i].plan;

		*run = &plan->earlier[i];
		for (size_t k = 0; k < before->n_targets && (*run)->write_list; k++) {
			const struct target_plan *t = &before->targets[k];
			const char *name = t->seek.save_file ?
						   xarena_printf(plan->arena, "%s.T%u.txt",
								 t->seek.save_file, t->number) :
						   NULL;

			if (name && is_file_of(plan, path, name))
				return t;
		}
	}
	return NULL;
}

bool plan_saves_list(const struct plan *plan, const char *path)
{
	const struct plan_earlier *run;

	return find_list(plan, path, &run);
}

int plan_earlier_list(const struct plan *plan, const char *path, char **text)
{
	const struct plan_earlier *run;
	const struct target_plan *t = find_list(plan, path, &run);
	struct memstream m;
	int err;

	*text = NULL;
	if (!t)
		return 0;
	err = run->write_list(t, xmemstream_open(&m));
	xmemstream_close(&m);
	if (err)
		free(m.text);
	else
		*text = m.text;
	return err;
}

static bool saves_record(const struct plan *plan, const struct plan *before, const char *path)
{
	char *name = before->stonewall.save_file ?
			     stonewall_record_name(before->stonewall.save_file, before->rank) :
			     NULL;
	const bool saves = name && is_file_of(plan, path, name);

	free(name);
	return saves;
}

char *plan_earlier_record(const struct plan *plan, const char *path)
{
	const struct plan *before = NULL;
	struct memstream m;

	for (size_t i = plan->n_earlier; i-- > 0 && !before;) {
		if (saves_record(plan, plan->earlier[i].plan, path))
			before = plan->earlier[i].plan;
	}
	if (!before)
		return NULL;
	stonewall_record_begin(xmemstream_open(&m), before);
	for (const struct target_plan *t = before->targets; t < plan_end(before); t++) {
		if (t->op == OP_WRITE)
			stonewall_record_put(m.f, t, t->pass_ops);
	}
	xmemstream_close(&m);
	return m.text;
}

bool plan_has_size(const struct target_plan *t)
{
	return t->kind == TARGET_FILE || t->kind == TARGET_BLOCK ||
	       (t->kind == TARGET_CHAR && t->size_bytes);
}

bool plan_copies_nothing(const struct target_plan *t)
{
	return t->endtoend.role == E2E_SOURCE && t->kind == TARGET_FILE && !t->writer &&
	       t->size_bytes == t->restart.offset_bytes && t->start_bytes == t->size_bytes;
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

uint64_t plan_lap_ops(const struct target_plan *t)
{
	uint64_t lap = t->mix ? mix_lap_bytes(t) : 0;

	if (t->mix)
		return lap == UINT64_MAX ? lap : lap / t->mix->cycle_bytes * t->mix->cycle_ops;
	return t->range_bytes / t->req_bytes;
}

/* Random requests of a mix end where the last request of one of its sizes does. */
static uint64_t mix_extent(const struct target_plan *t)
{
	const struct request_mix *mix = t->mix;
	uint64_t most = 0;

	if (t->seek.pattern == SEEK_SEQUENTIAL) {
		most = mix_lap_bytes(t);
		return t->pass_bytes < most ? t->pass_bytes : most;
	}
	for (size_t i = 0; i < mix->n; i++) {
		uint64_t end = t->range_bytes - t->range_bytes % mix->sizes[i].bytes;

		most = end > most ? end : most;
	}
	return most;
}

/* -seek streams: as far as the longer of both streams reaches, in the range. */
static uint64_t streams_extent(const struct target_plan *t)
{
	const uint64_t range = t->range_bytes / t->req_bytes * t->req_bytes;
	const uint64_t missing = t->req_bytes - t->last_op_bytes;
	uint64_t ops = t->pass_ops, reads, of_reads, of_writes, most;
	bool last_reads;

	if (ops == PLAN_UNLIMITED)
		return range;
	reads = plan_reads_of(t, ops);
	last_reads = reads > plan_reads_of(t, ops - 1);
	of_reads = reads * t->req_bytes - (last_reads ? missing : 0);
	of_writes = (ops - reads) * t->req_bytes - (last_reads ? 0 : missing);
	most = of_reads > of_writes ? of_reads : of_writes;
	return range && range < most ? range : most;
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
	if (t->layout.block_bytes)
		bytes = layout_extent(t);
	else if (!t->pass_ops)
		bytes = 0;
	else if (t->mix)
		bytes = mix_extent(t);
	else if (t->pass_ops == PLAN_UNLIMITED && t->endtoend.role == E2E_DESTINATION)
		bytes = t->range_bytes;
	else if (t->pass_ops == 1 && t->range_bytes / t->req_bytes <= 1)
		bytes = t->last_op_bytes;
	else if (t->seek.pattern == SEEK_NONE)
		bytes = t->req_bytes;
	else if (t->seek.pattern == SEEK_STREAMS)
		bytes = streams_extent(t);
	else if (t->seek.pattern == SEEK_STAGGER)
		bytes = plan_stagger_offset(t, t->pass_ops - 1) + t->last_op_bytes;
	else if (plan_ends_with_tail(t))
		bytes = t->pass_bytes;
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

void plan_limit_ops(struct target_plan *t, uint64_t ops)
{
	if (ops >= t->pass_ops)
		return;
	t->pass_ops = ops;
	t->last_op_bytes = t->mix ? mix_op(t->mix, ops - 1).size : t->req_bytes;
	t->pass_bytes = t->mix ? mix_bytes(t->mix, ops) : ops * t->req_bytes;
}

uint64_t plan_sure_passes(const struct plan *plan)
{
	return plan->until_percent > 0 && plan->passes > PLAN_UNTIL_MIN_PASSES ?
		       PLAN_UNTIL_MIN_PASSES :
		       plan->passes;
}

/* The first size of a mix that is no multiple. */
static uint64_t first_apart(const struct request_mix *mix, uint32_t unit_bytes)
{
	size_t i = 0;

	while (i + 1 < mix->n && mix->sizes[i].bytes % unit_bytes == 0)
		i++;
	return mix->sizes[i].bytes;
}

enum xdd_status plan_check_multiples(const struct target_plan *t, const char *option,
				     uint32_t unit_bytes, bool last)
{
	const uint64_t requests = t->mix ? t->mix->unit_bytes : t->req_bytes;
	const bool blocks = t->rows || t->seek.pattern == SEEK_STAGGER;
	const struct {
		const char *what;
		uint64_t bytes;
	} parts[] = {
		{ t->mix ? "each request size (-reqsize mix)" :
			   "the request size (-reqsize, -blocksize)",
		  requests },
		{ "the start offset (-startoffset, -targetoffset)", t->start_bytes },
		{ "the pass offset (-passoffset)", t->pass_offset_bytes },
		{ "the block size (-blocksize)", blocks ? t->block_size : 0 },
		{ "the size of the last operation (-bytes)", last ? t->last_op_bytes : 0 },
	};

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		if (parts[i].bytes % unit_bytes)
			return plan_refuse(t,
					   "%s: %s must be a multiple of %u bytes; it is %" PRIu64,
					   option, parts[i].what, unit_bytes,
					   i == 0 && t->mix ? first_apart(t->mix, unit_bytes) :
							      parts[i].bytes);
	}
	return XDD_OK;
}
