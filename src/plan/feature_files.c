/*
 * Files and devices: creating, removing, flushing and allocating them, and -force. Targets that are
 * the same file are in same_file.c.
 */
#include "plan/feature.h"

#include <stdint.h>
#include <string.h>

#include "plan/errors.h"
#include "plan/same_file.h"
#include "plan/value.h"
#include "xdd/base/log.h"
#include "xdd/base/memory.h"
#include "xdd/base/units.h"
#include "xdd/plan/engine_info.h"
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
	more = arena_alloc(s->arena, (plan->n_force + 1) * sizeof(*more));
	if (!more)
		return plan_no_memory();
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

#define FLAG(name_, aliases_, field_, help_, detail_)                                        \
	{                                                                                    \
		.name = name_, .aliases = aliases_, .scope = SCOPE_TARGET, .type = OPT_FLAG, \
		.value = true, TARGET_FIELD(field_), .help = help_, .detail = detail_,       \
	}

#define BYTES(name_, alias_, field_, help_, detail_)                                               \
	{                                                                                          \
		.name = name_, .aliases = alias_, .scope = SCOPE_TARGET, .type = OPT_SIZE,         \
		.arg = "<bytes>", .min = 1, .max = MAX_BYTES, TARGET_FIELD(field_), .help = help_, \
		.detail = detail_,                                                                 \
	}

#define OPEN_SYNC(name_, value_, help_, detail_)                                                \
	{                                                                                       \
		.name = name_, .scope = SCOPE_TARGET, .type = OPT_SET, TARGET_FIELD(open_sync), \
		.value = value_, .help = help_, .detail = detail_,                              \
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
	     "With -createnewfiles, the file of the "
	     "pass "
	     "before is removed, and only that of the last pass stays. For targets that are only "
	     "written "
	     "to; devices are refused."),
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
	  .scope = SCOPE_TARGET,
	  .type = OPT_SIZE,
	  .arg = "<bytes>",
	  .min = 0,
	  .max = MAX_BYTES,
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
	  .scope = SCOPE_TARGET,
	  .type = OPT_FLAG,
	  .value = true,
	  .arity = option_arity_number,
	  TARGET_FIELD(sync_write),
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
		  "device: the time is part of the operation, unlike that of -flushwrite. The last "
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
		  "writes are those of -osync, and reads do not change."),
	{ .name = "flushwrite",
	  .aliases = "fw",
	  .scope = SCOPE_TARGET,
	  .type = OPT_U64,
	  .arg = "<#writes>",
	  .max = INT64_MAX,
	  .def = "0",
	  .unit = "operations",
	  TARGET_FIELD(flush_writes),
	  .help = "flush after every so many writes to the target",
	  .detail =
		  "fdatasync(2), or SYNCHRONIZE CACHE with the engine sg, by the QThread whose "
		  "write completes the number. Other QThreads continue; a QThread of an "
		  "asynchronous engine first waits until its own operations are complete. The time "
		  "is not part of that of any operation: the column BUFFERFLUSHTIME has the sum, "
		  "FLUSHES and FLUSHLAT... have number and latencies of the flushes, and -latency has "
		  "a row of them. A discard counts as a write. 0: never." },
	{ .name = "flushbetween",
	  .scope = SCOPE_TARGET,
	  .type = OPT_FLAG,
	  .value = true,
	  TARGET_FIELD(flush_between),
	  .help = "-flushwrite does not flush after the last write of a pass",
	  .detail =
		  "As fsync= and fdatasync= of fio, for a target that only writes and whose pass an "
		  "amount ends." },
	{ .name = "retry",
	  .aliases = "ret",
	  .scope = SCOPE_TARGET,
	  .type = OPT_U64,
	  .arg = "<#times>",
	  .max = UINT32_MAX,
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
	  .scope = SCOPE_TARGET,
	  .type = OPT_SECONDS,
	  .arg = "<#.#seconds>",
	  .max = PLAN_CENTURY_NS,
	  .def = "0",
	  TARGET_FIELD(report_threshold_ns),
	  .help = "report each operation that takes longer",
	  .detail = "A line among the results names the target, the QThread, the threshold, the "
		    "time, the "
		    "block and the byte offset. 0: none." },
	{ .name = "force",
	  .scope = SCOPE_GLOBAL,
	  .type = OPT_CUSTOM,
	  .arg = "<device>",
	  .collects = true,
	  .apply = apply_force,
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

	for (size_t i = 0; i < plan->n_targets; i++) {
		struct target_plan *t = &plan->targets[i];

		if (is_same_device(name, t))
			found = t->forced = true;
	}
	if (found)
		return XDD_OK;
	log_error("-force %s: none of the targets is this device; name one that is", name);
	return XDD_BAD_ARGUMENT;
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

static enum xdd_status check(struct plan *plan)
{
	enum xdd_status status = check_files(plan);

	return status ? status : plan_check_same_files(plan);
}

const struct plan_feature feature_files = {
	.group = { "Files and devices", rows },
	.target = { [TARGET_PROBE] = set_kind, [TARGET_SIZE] = set_size },
	.plan = { [PLAN_CHECK] = check },
};
