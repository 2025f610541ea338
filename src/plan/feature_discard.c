/*
 * Targets of -op discard: what can be discarded, by which engine, and in which units. Has no
 * options of its own.
 */
#include "plan/feature.h"

#include <inttypes.h>
#include <sys/statvfs.h>

#include "plan/errors.h"
#include "plan/extent.h"
#include "xdd/base/log.h"
#include "xdd/base/units.h"
#include "xdd/plan/engine_info.h"
#include "xdd/plan/mix.h"
#include "xdd/sys/blockdev.h"

#define SECTOR_BYTES 512
#define MAX_FS_BLOCK_BYTES 65536 /* a network file system may name its transfer size instead */

static enum xdd_status check_engine(const struct target_plan *t)
{
	char engines[128];

	if (plan_engine_caps(t) & ENGINE_DISCARDS)
		return XDD_OK;
	return plan_refuse(t, "-op discard: the engine %s cannot discard; use -ioengine %s",
			   plan_engine(t)->name,
			   engine_names(ENGINE_DISCARDS, ENGINE_NO_DATA, engines, sizeof(engines)));
}

static enum xdd_status check_device(const struct target_plan *t)
{
	uint64_t most = UINT64_MAX, sector = SECTOR_BYTES;

	blockdev_queue_number(t->device, "discard_max_bytes", &most);
	if (!most)
		return plan_refuse(t, "-op discard: the device cannot discard "
				      "(queue/discard_max_bytes is 0); name another one");
	blockdev_queue_number(t->device, "logical_block_size", &sector);
	return plan_check_multiples(t, "-op discard", (uint32_t)sector, true);
}

/* The kernel discards nothing past the end of a file, and reports no error. */
static enum xdd_status check_file(const struct target_plan *t)
{
	uint64_t size = plan_size_in_run(t);
	char end[32], has[32];

	if (!size)
		return plan_refuse(t, "-op discard: is empty: there is nothing to discard");
	if (t->end_bytes <= size)
		return XDD_OK;
	return plan_refuse(t, "-op discard: the operations reach to %s, and the file has %s",
			   units_size_text(t->end_bytes, end, sizeof(end)),
			   units_size_text(size, has, sizeof(has)));
}

static enum xdd_status check(struct plan *plan, struct target_plan *t)
{
	enum xdd_status status;

	(void)plan;
	if (t->op != OP_DISCARD)
		return XDD_OK;
	if (t->pretruncate || t->preallocate_bytes)
		return plan_refuse(t,
				   "-%s: is for what is written, and -op discard frees what the "
				   "file holds; leave one out",
				   t->pretruncate ? "pretruncate" : "preallocate");
	if (t->pattern.given)
		return plan_refuse(t, "-datapattern: -op discard transfers no data; leave one out");
	status = check_engine(t);
	if (status || t->kind == TARGET_NULL)
		return status;
	if (t->kind == TARGET_CHAR)
		return plan_refuse(t, "-op discard: is a character device; name a block device or "
				      "a regular file");
	return t->kind == TARGET_BLOCK ? check_device(t) : check_file(t);
}

/* The unit in which storage is freed; 1: unknown. */
static uint64_t unit_bytes(const struct target_plan *t)
{
	struct statvfs fs;
	uint64_t unit = 0;

	if (t->kind == TARGET_BLOCK)
		blockdev_queue_number(t->device, "discard_granularity", &unit);
	else if (t->kind == TARGET_FILE && statvfs(t->path, &fs) == 0 &&
		 fs.f_bsize <= MAX_FS_BLOCK_BYTES)
		unit = fs.f_bsize;
	return unit ? unit : 1;
}

static bool rows_in_units(const struct target_plan *t, uint64_t unit)
{
	for (size_t i = 0; i < t->n_rows; i++) {
		if (t->rows[i].block * t->block_size % unit ||
		    t->rows[i].blocks * t->block_size % unit)
			return false;
	}
	return true;
}

static bool in_units(const struct target_plan *t, uint64_t unit)
{
	if (t->pass_offset_bytes % unit)
		return false;
	if (t->rows)
		return rows_in_units(t, unit);
	return (t->mix ? t->mix->unit_bytes : t->req_bytes) % unit == 0 &&
	       t->start_bytes % unit == 0 && t->last_op_bytes % unit == 0;
}

static void warn(const struct target_plan *t)
{
	uint64_t unit;

	if (t->op != OP_DISCARD)
		return;
	unit = unit_bytes(t);
	if (in_units(t, unit))
		return;
	log_warning("target %" PRIu32 ", %s: -op discard: requests are no whole units of %" PRIu64
		    " bytes, in which %s frees storage: what is less than a unit is not freed",
		    t->number, t->path, unit,
		    t->kind == TARGET_BLOCK ? "the device" : "the file system");
}

const struct plan_feature feature_discard = {
	.target = { [TARGET_CHECK] = check },
	.warn_target = warn,
};
