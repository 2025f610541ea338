/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Files and devices: creating, removing, flushing and allocating them, -force, and space for
 * writes. Targets that are the same file are in files.c.
 */
#include <linux/magic.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "plan/feature.h"
#include "plan/files.h"
#include "plan/parse.h"
#include "xdd/base/file.h"
#include "xdd/base/log.h"
#include "xdd/base/memory.h"
#include "xdd/base/text.h"
#include "xdd/base/units.h"
#include "xdd/plan/engine_info.h"
#include "xdd/plan/mix.h"
#include "xdd/sys/blockdev.h"

#define MAX_BYTES INT64_MAX

/* Devices are collected; they are compared with the targets once all of these are known. */
static enum xdd_status apply_force(const struct setting *s, void *dst)
{
	struct plan *plan = dst;
	const char **more;

	if (!*s->args[0].text)
		return parse_error(XDD_BAD_ARGUMENT, s, &s->args[0],
				   "the name of a device cannot be empty");
	more = xarena_alloc(s->arena, (plan->n_force + 1) * sizeof(*more));
	if (plan->n_force)
		memcpy(more, plan->force, plan->n_force * sizeof(*more));
	more[plan->n_force++] = s->args[0].text;
	plan->force = more;
	return XDD_OK;
}

static enum xdd_status apply_syncwrite(const struct setting *s, void *dst)
{
	struct target_plan *t = dst;
	uint64_t number;

	if (s->n_args && units_parse_u64(s->args[0].text, &number) == 0 && !number)
		t->sync_write = false;
	return XDD_OK;
}

#define FLAG(name_, aliases_, field_, help_, detail_)                                   \
	{                                                                               \
		.name = name_, .aliases = aliases_, TARGET_FLAG(field_), .help = help_, \
		.detail = detail_,                                                      \
	}

#define BYTES(name_, alias_, field_, help_, detail_)                                    \
	{                                                                               \
		.name = name_, .aliases = alias_, OPTION_SIZE("<bytes>", 1, MAX_BYTES), \
		TARGET_FIELD(field_), .help = help_, .detail = detail_,                 \
	}

#define OPEN_SYNC(name_, value_, help_, detail_)                                          \
	{                                                                                 \
		.name = name_, .type = OPT_SET, TARGET_FIELD(open_sync), .value = value_, \
		.help = help_, .detail = detail_,                                         \
	}

static const struct option rows[] = {
	FLAG("createnewfiles", "cnf", create_new_files,
	     "write a new file in every pass, named after the pass",
	     "The number of the pass is appended to the name, with a dot and at least eight "
	     "digits: data.00000001, data.00000002 and so on. A regular file of that name is "
	     "replaced; one that is another target, or an output of the run, is refused. For "
	     "targets that are only written to; devices are refused."),
	FLAG("recreatefiles", "recreate", recreate_files,
	     "remove the file and create it again for each pass",
	     "A file that is there before the run is removed once all targets of the run could be "
	     "opened, "
	     "so that a run that is refused leaves it alone. Targets of one file all have the "
	     "option, or none: they recreate it once for each pass, when all of them have closed it. "
	     "With -createnewfiles, the file of the pass before is removed, and only the file "
	     "of the last pass stays. For targets that are only written to; devices are refused."),
	FLAG("reopen", "reop", reopen, "close the target and open it again between passes",
	     "The columns OPENTIME and CLOSETIME show the time it takes. -recreatefiles and "
	     "-createnewfiles reopen as well. The name must lead to the same device, or to a "
	     "regular file, each time; otherwise the run ends, and nothing else is opened."),
	FLAG("deletefile", "del", delete_file, "remove the file after the run",
	     "Regular files only; devices are refused. With -createnewfiles the files of all "
	     "passes "
	     "are removed. Nothing is removed when the run could not start."),
	BYTES("preallocate", "pa preallocation", preallocate_bytes,
	      "have the file system allocate space before the first write",
	      "The space is allocated from the start of the file, whose size stays as it is, each "
	      "time that the file is opened. A file system that cannot do it gets a warning. Has "
	      "no effect on devices and on what is only read; refused with -op discard."),
	{ .name = "pretruncate",
	  .aliases = "pt",
	  OPTION_SIZE("<bytes>", 0, MAX_BYTES),
	  TARGET_FIELD(pretruncate_bytes),
	  .sets = offsetof(struct target_plan, pretruncate),
	  .help = "truncate or extend the file to a size before the first write",
	  .detail =
		  "Done each time that the file is opened, once all targets of the run could be "
		  "opened. "
		  "0 makes it empty. Has no effect on devices and on what is only read; refused with "
		  "-op discard." },
	{ .name = "syncwrite",
	  .aliases = "sw",
	  TARGET_FLAG(sync_write),
	  .arity = option_arity_number,
	  .apply = apply_syncwrite,
	  .help = "flush what was written at the end of each pass",
	  .detail =
		  "fdatasync(2), or SYNCHRONIZE CACHE with the engine sg, once for each target and "
		  "pass; after discards as well. It begins when the last operation is complete and is part of the elapsed "
		  "time and the rates. The columns BUFFERFLUSHTIME and FLUSHLAT... have its time, "
		  "-latency has a row of the flushes, and with -verbose a line has the rates without "
		  "it. The user guide's synopsis has a number after "
		  "the option and gives it no meaning: any number but 0 is the option alone, and 0 "
		  "cancels an earlier -syncwrite." },
	OPEN_SYNC("osync", OPEN_SYNC_FILE,
		  "open the target with O_SYNC: a write includes its flush",
		  "Each write is complete when its data and the attributes of the file are on the "
		  "device: the time is part of the operation, unlike with -flushwrite. The last "
		  "of -osync, -odsync and -orsync wins. Has no effect on what is only read and on "
		  "the null device; the engines mmap and sg do not write through the file, and "
		  "refuse it."),
	OPEN_SYNC("odsync", OPEN_SYNC_DATA,
		  "open the target with O_DSYNC: a write includes the flush of its data",
		  "As -osync, without attributes that are not needed to read the data, such as the "
		  "time of modification."),
	OPEN_SYNC("orsync", OPEN_SYNC_READ,
		  "open the target with O_RSYNC, which Linux treats as O_SYNC",
		  "In POSIX it extends -osync or -odsync to reads. Linux defines O_RSYNC as O_SYNC: "
		  "writes are as with -osync, and reads do not change."),
	{ .name = "flushwrite",
	  .aliases = "fw",
	  OPTION_NUMBER("<#writes>", 0, INT64_MAX),
	  .def = "0",
	  .unit = "operations",
	  TARGET_FIELD(flush_writes),
	  .help = "flush after every so many writes to the target",
	  .detail =
		  "fdatasync(2), or SYNCHRONIZE CACHE with the engine sg, by the QThread whose "
		  "write completes the number. Other QThreads continue; a QThread of an "
		  "asynchronous engine first waits until its own operations are complete. The time "
		  "is not part of any operation's: the column BUFFERFLUSHTIME has the sum, "
		  "FLUSHES and FLUSHLAT... have number and latencies of the flushes, and -latency has "
		  "a row of them. A discard counts as a write. 0: never." },
	{ .name = "flushbetween",
	  TARGET_FLAG(flush_between),
	  .help = "-flushwrite does not flush after the last write of a pass",
	  .detail =
		  "As fsync= and fdatasync= of fio, for a target that only writes and whose pass an "
		  "amount ends." },
	{ .name = "retry",
	  .aliases = "ret",
	  OPTION_NUMBER("<#times>", 0, UINT32_MAX),
	  .def = "0",
	  .unit = "times",
	  TARGET_FIELD(retries),
	  .help = "try an operation that failed again, up to so many times",
	  .detail =
		  "At once, for the rest of the request; the operation counts as failed only when "
		  "the last try fails too. Its time includes all tries; the column RETRIES counts "
		  "them. Errors that may be temporary are tried again, such as EIO, EAGAIN, ENOSPC "
		  "or ETIMEDOUT; not the end of a file, nor errors that the kernel would repeat: "
		  "EINVAL, EFBIG, EBADF, EFAULT, EPERM, EACCES, EROFS, ESPIPE, EOPNOTSUPP." },
	{ .name = "reportthreshold",
	  .aliases = "rept report_threshold",
	  OPTION_TIME("<#.#seconds>", 0, PLAN_CENTURY_NS),
	  .def = "0",
	  TARGET_FIELD(report_threshold_ns),
	  .help = "report each operation that takes longer",
	  .detail = "A line among the results names the target, the QThread, the threshold, the "
		    "time, the "
		    "block and the byte offset. 0: none." },
	{ .name = "force",
	  OPTION_CUSTOM("<device>", apply_force),
	  .collects = true,
	  .help = "allow writing to a device that holds a file system or the like",
	  .detail =
		  "Writing to a block device, or discarding it, is refused when it, or a partition of it, is in use "
		  "(mounted, swap, part of a RAID, LVM, LUKS or multipath device, opened "
		  "exclusively by "
		  "another program) or carries a partition table or the signature of a file "
		  "system, "
		  "swap space, RAID, LVM or encryption. -force names a target, by any of the names "
		  "of "
		  "its device, whose signatures do not count. A device that is in use is refused "
		  "all "
		  "the same. May be given several times.",
	  .example = "xdd -op write -targets 1 /dev/sdx -force /dev/sdx -dio -mbytes 1024" },
	{ 0 },
};

/*
 * The file with the name of a target is none of those that -createnewfiles creates; reading is
 * refused later.
 */
static enum xdd_status set_kind(struct plan *plan, struct target_plan *t)
{
	(void)plan;
	if (t->create_new_files && t->kind == TARGET_FILE &&
	    (t->op == OP_WRITE || t->op == OP_UNSET)) {
		t->kind = TARGET_MISSING;
		t->size_bytes = 0;
	}
	return XDD_OK;
}

/* From here on the size is the one that operations will find. */
static enum xdd_status set_size(struct plan *plan, struct target_plan *t)
{
	(void)plan;
	if (plan_recreates(t))
		t->size_bytes = 0;
	if (t->kind == TARGET_FILE && t->pretruncate && plan_writes(t))
		t->size_bytes = t->pretruncate_bytes;
	return XDD_OK;
}

/* The number of the last write of a mix is not known before. */
static enum xdd_status check_flushes(const struct target_plan *t)
{
	if (!t->flush_between)
		return XDD_OK;
	if (!t->flush_writes)
		return plan_refuse(t, "-flushbetween: there is no -flushwrite <#writes>");
	if (plan_reads(t) && plan_writes(t))
		return plan_refuse(t, "-flushbetween: the target reads too; say -op write");
	return XDD_OK;
}

static enum xdd_status check_kind(const struct target_plan *t)
{
	const char *recreating = plan_recreating_option(t);
	const char *option = recreating ? recreating : "deletefile";

	if (t->kind == TARGET_NULL || (!recreating && !t->delete_file))
		return XDD_OK;
	if (t->kind == TARGET_BLOCK || t->kind == TARGET_CHAR)
		return plan_refuse(t, "-%s: this is a device, and only regular files are removed",
				   option);
	if (!recreating)
		return XDD_OK;
	if (t->op != OP_WRITE)
		return plan_refuse(t,
				   "-%s: a new file holds nothing that could be %s; say -op write",
				   option, t->op == OP_DISCARD ? "discarded" : "read");
	if (plan_engine_caps(t) & ENGINE_MAPS)
		return plan_refuse(t, "-%s: the engine %s cannot write to a new file", option,
				   t->engine->name);
	return XDD_OK;
}

static bool is_same_device(const char *name, const struct target_plan *t)
{
	dev_t a, b;

	if (t->kind == TARGET_NULL)
		return false;
	if (strcmp(name, t->path) == 0)
		return true;
	return (t->kind == TARGET_BLOCK || t->kind == TARGET_CHAR) && blockdev_number(name, &a) &&
	       blockdev_number(t->path, &b) && a == b;
}

static enum xdd_status resolve_force(const struct plan *plan, const char *name)
{
	bool found = false;

	for (struct target_plan *t = plan->targets; t < plan_end(plan); t++) {
		if (is_same_device(name, t))
			found = t->forced = true;
	}
	if (found)
		return XDD_OK;
	return log_refuse("-force %s: none of the targets is this device; name one that is", name);
}

static enum xdd_status check_files(struct plan *plan)
{
	enum xdd_status status = XDD_OK;

	for (size_t i = 0; i < plan->n_targets && !status; i++) {
		status = check_kind(&plan->targets[i]);
		if (!status)
			status = check_flushes(&plan->targets[i]);
	}
	for (size_t i = 0; i < plan->n_force && !status; i++)
		status = resolve_force(plan, plan->force[i]);
	return status;
}

static enum xdd_status files_check(struct plan *plan)
{
	enum xdd_status status = check_files(plan);

	return status ? status : plan_check_same_files(plan);
}

const struct plan_feature feature_files = {
	.group = { "Files and devices", rows },
	.target = { [TARGET_PROBE] = set_kind, [TARGET_SIZE] = set_size },
	.plan = { [PLAN_CHECK] = files_check },
};

/*
 * Space for writes: files that need more blocks than their file system has are refused before the
 * run. All figures are the least that a run needs, so that no run is refused that could work.
 * Called by run_check().
 *
 * Space for -preallocate is not counted here: the file system itself answers for it before the
 * first operation.
 */

#define MSDOS_MAGIC 0x4d44
#define EXFAT_MAGIC 0x2011bab0
#define STAT_BLOCK_BYTES 512 /* unit of st_blocks, whatever the file system */

/* Passes of -createnewfiles that are counted: each has a file to look at. */
#define MAX_NEW_FILES 1000

/* Random operations may use fewer offsets than expected; six deviations never happen. */
#define DEVIATIONS 6

/* A part of a file that a target writes, and the least number of bytes in it that it writes. */
struct part {
	const struct target_plan *target;
	dev_t dev; /* file, or directory where `name` is not there yet */
	ino_t ino;
	const char *name;
	uint64_t start;
	uint64_t end;
	uint64_t bytes;
};

/* A file system, and the bytes needed of it, which may be negative: files that are removed. */
struct room {
	dev_t dev;
	uint64_t block_bytes;
	__int128 free_bytes;
	__int128 need_bytes;
	bool counts; /* its free blocks are what can be written */
};

struct rooms {
	struct room *list;
	size_t n;
};

/*
 * True for file systems that are known to keep and count each block that is written: others
 * compress, share blocks, or are on a server or another file system that may.
 */
static bool keeps_blocks(const struct statfs *fs)
{
	switch ((unsigned long)fs->f_type) {
	case EXT4_SUPER_MAGIC: /* ext2 and ext3 too */
	case XFS_SUPER_MAGIC:
	case TMPFS_MAGIC:
	case MSDOS_MAGIC:
	case EXFAT_MAGIC:
		/* A tmpfs without a limit has no number of blocks. */
		return fs->f_blocks && fs->f_bsize > 0;
	default:
		return false;
	}
}

/* The last operation of a target may be shorter than its requests. */
static uint64_t bytes_of_slots(const struct target_plan *t, uint64_t slots)
{
	uint64_t missing = t->req_bytes - t->last_op_bytes, bytes;

	if (__builtin_mul_overflow(slots, t->req_bytes, &bytes))
		return 0;
	return bytes > missing ? bytes - missing : 0;
}

/* Operations of a pass that write, the least number of them. */
static uint64_t writing_ops(const struct target_plan *t)
{
	double share = 1 - (double)t->read_ratio / PLAN_RATIO_ONE, n;

	if (t->op == OP_WRITE)
		return t->pass_ops;
	n = share * (double)t->pass_ops;
	n -= t->ratio_random ? DEVIATIONS * sqrt((double)t->pass_ops) : 1;
	return n > 0 ? (uint64_t)n : 0;
}

/* Offsets that a pass writes at least once, of `slots` possible ones. */
static uint64_t written_slots(const struct target_plan *t, uint64_t slots)
{
	uint64_t writes = writing_ops(t), rounds = t->pass_ops / slots + (t->pass_ops % slots != 0);
	double n;

	/* Most of them may be one request. */
	if (t->seek.pattern == SEEK_ZIPF)
		return writes != 0;
	if (t->seek.pattern != SEEK_RANDOM && t->op == OP_WRITE)
		return writes < slots ? writes : slots;
	/* Each round may write the same offsets as the last one, and read the others. */
	if (t->seek.pattern != SEEK_RANDOM)
		return writes / rounds;
	n = (double)slots * -expm1(-(double)writes / (double)slots);
	n -= DEVIATIONS * sqrt(fmin((double)slots, (double)writes));
	return n > 0 ? (uint64_t)n : 0;
}

/* A list: only the bytes past everything written before, so that no byte counts twice. */
static uint64_t bytes_of_rows(const struct target_plan *t)
{
	uint64_t high = 0, sum = 0;

	for (uint64_t i = 0; i < t->pass_ops; i++) {
		uint64_t start = t->rows[i].block * t->block_size;
		uint64_t end = start + (i + 1 < t->pass_ops ? t->rows[i].blocks * t->block_size :
							      t->last_op_bytes);

		if (t->rows[i].op != 'w' || end <= high)
			continue;
		sum += end - (start > high ? start : high);
		high = end;
	}
	return sum;
}

/*
 * A mix: each write counts as one of the smallest size, unless all operations write one after
 * another. The largest size is taken off what random writes cover, for the end of the range and for
 * each deviation.
 */
static uint64_t bytes_of_mix(const struct target_plan *t)
{
	double least = (double)mix_smallest(t->mix), most = (double)mix_largest(t->mix);
	double range = (double)t->range_bytes, writes = (double)writing_ops(t), bytes;
	uint64_t lap = mix_lap_bytes(t);

	if (t->seek.pattern == SEEK_RANDOM) {
		bytes = (range - most) * -expm1(-writes * least / range);
		bytes -= most * DEVIATIONS * sqrt(writes);
		return bytes > least ? (uint64_t)bytes : 0;
	}
	if (t->op == OP_WRITE)
		return t->pass_bytes < lap ? t->pass_bytes : lap;
	/* Each lap may write where the last one did, and the last operation may be short. */
	bytes = (writes - 1) * least / ceil((double)t->pass_bytes / (double)lap);
	return bytes > 0 ? (uint64_t)bytes : 0;
}

static uint64_t bytes_of_pass(const struct target_plan *t)
{
	bool ranged = t->range_bytes && t->seek.pattern != SEEK_STAGGER;
	uint64_t slots = ranged ? t->range_bytes / t->req_bytes : UINT64_MAX;

	if (t->rows)
		return bytes_of_rows(t);
	if (t->mix)
		return bytes_of_mix(t);
	if (t->seek.pattern == SEEK_NONE ||
	    (t->seek.pattern == SEEK_INTERLEAVE && !ranged && !t->seek.interleave))
		slots = 1;
	return bytes_of_slots(t, written_slots(t, slots ? slots : 1));
}

/* Fill in the part that all passes write together. */
static void set_part(const struct plan *plan, struct part *p)
{
	const struct target_plan *t = p->target;
	uint64_t passes = plan_sure_passes(plan);
	uint64_t step = t->pass_offset_bytes, length, moved;

	plan_pass_range(t, 1, &p->start, &p->end);
	length = t->extent_bytes;
	p->bytes = bytes_of_pass(t);
	/* Each pass of these has a file of its own. */
	if (plan_recreating_option(t) || !step || passes < 2)
		return;
	moved = (passes - 1) * step;
	p->end += moved;
	if (step >= length)
		p->bytes *= passes;
	else if (p->bytes == length)
		p->bytes += moved;
}

static int compare_parts(const void *a, const void *b)
{
	const struct part *p = a, *q = b;
	int names = strcmp(p->name, q->name);

	if (p->dev != q->dev)
		return p->dev < q->dev ? -1 : 1;
	if (p->ino != q->ino)
		return p->ino < q->ino ? -1 : 1;
	return names ? names : p->start < q->start ? -1 : p->start > q->start;
}

static bool same_file(const struct part *p, const struct part *q)
{
	return p->dev == q->dev && p->ino == q->ino && strcmp(p->name, q->name) == 0;
}

/* True if both have blocks of the same shared file, and each its own. */
static bool share_segments(const struct part *p, const struct part *q)
{
	const struct target_plan *a = p->target, *b = q->target;

	return a->layout.block_bytes && a->layout.block_bytes == b->layout.block_bytes &&
	       a->start_bytes - a->layout.owner * a->layout.block_bytes ==
		       b->start_bytes - b->layout.owner * b->layout.block_bytes &&
	       !a->pass_offset_bytes && !b->pass_offset_bytes;
}

/* The least number of bytes that parts of one file, in order of their start, are together. */
static uint64_t bytes_of_parts(const struct part *p, size_t n)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < n;) {
		uint64_t start = p[i].start, end = p[i].end, bytes = p[i].bytes;
		bool apart = true;

		for (i++; i < n && p[i].start < end; i++) {
			bool whole = bytes == end - start && p[i].bytes == p[i].end - p[i].start;

			if (p[i].end > end)
				end = p[i].end;
			apart = apart && share_segments(&p[i - 1], &p[i]);
			if (apart)
				bytes += p[i].bytes;
			else if (whole)
				bytes = end - start;
			else if (p[i].bytes > bytes)
				bytes = p[i].bytes;
		}
		sum += bytes;
	}
	return sum;
}

static uint64_t allocated_bytes(const struct stat *st)
{
	return (uint64_t)st->st_blocks * STAT_BLOCK_BYTES;
}

/* Less than a block of data may be in the inode. */
static uint64_t round_up(uint64_t bytes, uint64_t block)
{
	return bytes < block ? 0 : (bytes + block - 1) / block * block;
}

/*
 * The most bytes that a file can have allocated in its parts: inside its size, and past it, where
 * blocks are that its size does not account for.
 */
static uint64_t allocated_there(const struct part *p, size_t n, const struct stat *st,
				uint64_t block)
{
	uint64_t all = allocated_bytes(st),
		 size = ((uint64_t)st->st_size + block - 1) / block * block;
	uint64_t past = all > size ? all - size : 0, start = p->start / block * block, end = 0;
	uint64_t inside;

	for (size_t i = 0; i < n; i++)
		end = p[i].end > end ? p[i].end : end;
	end = end < size ? (end + block - 1) / block * block : size;
	inside = end > start ? end - start : 0;
	return past + inside < all ? past + inside : all;
}

/* The files of all passes exist together; existing files with their names are removed. */
static __int128 need_of_new_files(const struct plan *plan, const struct target_plan *t,
				  uint64_t pass_bytes)
{
	uint64_t passes = plan_sure_passes(plan);
	__int128 need = 0;

	for (uint64_t pass = 1; pass <= passes && pass <= MAX_NEW_FILES; pass++) {
		struct stat st;
		char *name;

		if (asprintf(&name, "%s.%08llu", t->path, (unsigned long long)pass) < 0)
			return need;
		need += pass_bytes;
		if (lstat(name, &st) == 0)
			need -= allocated_bytes(&st);
		free(name);
	}
	return need;
}

/* Bytes that a file needs, given the parts of it that are written. */
static __int128 need_of_file(const struct plan *plan, const struct part *p, size_t n,
			     uint64_t block)
{
	uint64_t bytes = round_up(bytes_of_parts(p, n), block), there;
	bool emptied = false;
	struct stat st;

	if (p->target->create_new_files)
		return need_of_new_files(plan, p->target, bytes);
	if (p->target->kind != TARGET_FILE || stat(p->target->path, &st))
		return bytes;
	for (size_t i = 0; i < n; i++) {
		const struct target_plan *t = p[i].target;

		emptied |= plan_recreates(t) ||
			   (t->pretruncate && t->pretruncate_bytes < (uint64_t)st.st_size);
	}
	if (emptied)
		return (__int128)bytes - allocated_bytes(&st);
	there = allocated_there(p, n, &st, block);
	return bytes > there ? bytes - there : 0;
}

/*
 * The file system of a file or directory, with the most free space that it reports; NULL: not
 * known.
 */
static struct room *room_of(struct rooms *rooms, dev_t dev, const char *path)
{
	struct room *r = rooms->list;
	struct statfs fs;
	__int128 room;

	if (statfs(path, &fs))
		return NULL;
	while (r < rooms->list + rooms->n && r->dev != dev)
		r++;
	if (r == rooms->list + rooms->n) {
		rooms->n++;
		*r = (struct room){ .dev = dev, .counts = keeps_blocks(&fs) };
		r->block_bytes = (uint64_t)(fs.f_frsize ? fs.f_frsize : fs.f_bsize);
	}
	/* Reserved blocks are for root. With project quotas, directories differ. */
	room = (__int128)(geteuid() ? fs.f_bavail : fs.f_bfree) * r->block_bytes;
	if (room > r->free_bytes)
		r->free_bytes = room;
	return r;
}

static char *text_of(__int128 bytes, char *buf, size_t size)
{
	return units_size_text(bytes > UINT64_MAX ? UINT64_MAX : (uint64_t)bytes, buf, size);
}

/* Report the first file system that has too little, by the first target on it. */
static enum xdd_status file_space_refuse(const struct room *r, const struct part *parts, size_t n)
{
	const struct target_plan *first = NULL;
	unsigned others = 0;
	char need[32], room[32], more[48] = "";

	for (size_t i = 0; i < n; i++) {
		const struct target_plan *t = parts[i].target;

		if (parts[i].dev != r->dev)
			continue;
		if (first)
			others++;
		if (!first || t->number < first->number)
			first = t;
	}
	if (others)
		snprintf(more, sizeof(more), " of this and %u other target%s", others,
			 others > 1 ? "s" : "");
	return plan_refuse(
		first,
		"the operations%s need at least %s of free space, and the file system has "
		"%s; write less (-numreqs, -bytes), remove files, or end the passes with "
		"-timelimit",
		more, text_of(r->need_bytes, need, sizeof(need)),
		text_of(r->free_bytes, room, sizeof(room)));
}

/*
 * Find the file of a target, or the directory where it will be created; its file system in `rooms`.
 * False: not known.
 */
static bool file_space_locate(const struct plan *plan, struct part *p, struct rooms *rooms)
{
	const struct target_plan *t = p->target;
	char *name = NULL, *directory = NULL;
	struct stat st;
	bool known;

	p->name = "";
	if (t->kind == TARGET_FILE)
		known = stat(t->path, &st) == 0 && S_ISREG(st.st_mode);
	else {
		if (!t->create_new_files && fileopen_follow(t->path, &name))
			return false;
		directory = path_directory(name ? name : t->path);
		known = directory && stat(directory, &st) == 0;
		p->name = xarena_strdup(plan->arena, path_last(name ? name : t->path));
		known = known && p->name;
	}
	if (known) {
		p->dev = st.st_dev;
		p->ino = st.st_ino;
		known = room_of(rooms, st.st_dev, directory ? directory : t->path) != NULL;
	}
	free(directory);
	free(name);
	return known;
}

/* The parts of files that the run certainly writes, in order. */
static size_t file_space_collect(const struct plan *plan, struct part *parts, struct rooms *rooms)
{
	size_t n = 0;

	for (const struct target_plan *t = plan->targets; t < plan_end(plan); t++) {
		if (!plan_writes(t) || (t->kind != TARGET_FILE && t->kind != TARGET_MISSING) ||
		    t->pass_ops == PLAN_UNLIMITED || plan_may_end_early(plan, t) ||
		    plan->stonewall.on)
			continue;
		parts[n].target = t;
		if (!file_space_locate(plan, &parts[n], rooms))
			continue;
		set_part(plan, &parts[n]);
		n++;
	}
	qsort(parts, n, sizeof(*parts), compare_parts);
	return n;
}

static enum xdd_status compare_needs(const struct plan *plan, const struct part *parts, size_t n,
				     struct rooms *rooms)
{
	for (size_t i = 0, end; i < n; i = end) {
		struct room *r = rooms->list;

		for (end = i + 1; end < n && same_file(&parts[i], &parts[end]);)
			end++;
		while (r->dev != parts[i].dev)
			r++;
		if (r->counts)
			r->need_bytes += need_of_file(plan, &parts[i], end - i, r->block_bytes);
	}
	for (size_t i = 0; i < rooms->n; i++) {
		if (rooms->list[i].counts && rooms->list[i].need_bytes > rooms->list[i].free_bytes)
			return file_space_refuse(&rooms->list[i], parts, n);
	}
	return XDD_OK;
}

enum xdd_status plan_check_room(const struct plan *plan)
{
	struct part *parts = xcalloc(plan->n_targets, sizeof(*parts));
	struct rooms rooms = { .list = xcalloc(plan->n_targets, sizeof(*rooms.list)) };
	enum xdd_status status;

	status = compare_needs(plan, parts, file_space_collect(plan, parts, &rooms), &rooms);
	free(parts);
	free(rooms.list);
	return status;
}
