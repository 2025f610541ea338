/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The sg engine: READ and WRITE commands through SG_IO, on /dev/sg* and on SCSI block devices. They
 * go past the page cache and the block layer's scheduler, straight to the device.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <scsi/sg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io/scsi.h"
#include "xdd/base/file.h"
#include "xdd/io/engine.h"
#include "xdd/plan/mix.h"
#include "xdd/sys/blockdev.h"

#define DEFAULT_COMMAND_BYTES (128u << 10) /* where the kernel does not say how much it takes */

struct sg_options {
	bool fua; /* force unit access */
	bool dpo; /* disable page out */
};

struct sg {
	/* const after init */
	int fd;
	bool own_fd;
	uint32_t block_bytes;
	uint64_t size_bytes;
	unsigned cache; /* enum scsi_cache */

	/* becomes smaller when the kernel refuses a command for its size */
	uint32_t command_bytes;
	uint32_t taken_bytes; /* the largest command that the kernel has accepted */
	bool passing;	      /* why commands of this request are smaller */

	/* of the request before: for explain */
	struct scsi_reply reply;
	const char *text;
};

/* ---- before the run ---- */

static int check_kind(const struct target_plan *target, struct err *why)
{
	struct stat st;

	if (target->open_sync && plan_writes(target))
		return err_set(why, -EINVAL,
			       "SCSI commands know nothing of -osync, -odsync and -orsync; use "
			       "-ioengine sg fua, or -flushwrite");
	if (stat(target->path, &st))
		return err_set(why, -errno, "%s",
			       errno == ENOENT ? "no such device: expected a SCSI device, such as "
						 "/dev/sg0 or /dev/sda" :
						 strerror(errno));
	if (!S_ISBLK(st.st_mode) && !S_ISCHR(st.st_mode))
		return err_set(why, -ENOTBLK, "needs a SCSI device, such as /dev/sg0 or /dev/sda");
	if (S_ISBLK(st.st_mode) && blockdev_is_partition(st.st_rdev))
		return err_set(
			why, -EINVAL,
			"this is a partition, and SCSI commands go to the whole disk: name that");
	return 0;
}

static int check_capacity(int fd, uint32_t *block, struct err *why)
{
	uint64_t bytes;
	int err = scsi_capacity_fd(fd, &bytes, block);

	switch (err) {
	case 0:
		return 0;
	case -ENOTTY:
		return err_set(why, err, "needs a SCSI device; this one takes no SCSI commands");
	case -EOPNOTSUPP:
		return err_set(why, err, "needs a disk; this SCSI device has no blocks");
	case -ENOMEDIUM:
		return err_set(why, err, "the device has no medium, or is not ready");
	case -EACCES:
	case -EPERM:
		return err_set(why, err, "no permission to send SCSI commands to the device");
	default:
		return err_set(why, err, "the device does not tell its capacity");
	}
}

static bool all_aligned(const struct target_plan *target, uint32_t block)
{
	if (target->start_bytes % block || target->pass_offset_bytes % block ||
	    (target->mix ? target->mix->unit_bytes : target->req_bytes) % block ||
	    target->last_op_bytes % block)
		return false;
	if (target->seek.pattern == SEEK_STAGGER && target->block_size % block)
		return false;
	for (size_t i = 0; i < target->n_rows; i++) {
		const struct seek_row *row = &target->rows[i];

		if (row->block * target->block_size % block ||
		    row->blocks * target->block_size % block)
			return false;
	}
	return true;
}

static int check_abilities(int fd, const struct target_plan *target, struct err *why)
{
	const struct sg_options *o = target->engine_options;
	struct scsi_abilities abilities;

	scsi_abilities(fd, &abilities);
	if (!abilities.answered)
		return 0;
	if (plan_writes(target) && abilities.write_protected)
		return err_set(why, -EROFS, "the device is write-protected");
	if ((o->fua || o->dpo) && !abilities.fua_dpo)
		return err_set(why, -EOPNOTSUPP, "the device does not offer fua and dpo");
	return 0;
}

static int check_device(int fd, const struct target_plan *target, struct err *why)
{
	uint32_t block;
	int err = check_capacity(fd, &block, why);

	if (err)
		return err;
	if ((plan_reads(target) || plan_writes(target)) && !all_aligned(target, block))
		return err_set(why, -EINVAL,
			       "offsets and sizes must be whole blocks of the device (-blocksize)");
	return check_abilities(fd, target, why);
}

static int sg_check(const struct target_plan *target, struct err *why)
{
	int err = check_kind(target, why), fd;

	if (err)
		return err;
	fd = open(target->path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return err_set(why, -errno, "%s",
			       errno == EACCES ? "no permission to open the device" :
						 strerror(errno));
	err = check_device(fd, target, why);
	close(fd);
	return err;
}

/* ---- a context ---- */

/*
 * /dev/sg* takes 16 commands at a time from each opening, and has one buffer for each: a context
 * has its own. A block device has no such limit.
 */
static int open_own(struct sg *sg, int fd)
{
	struct stat st;

	sg->fd = fd;
	if (fstat(fd, &st))
		return -errno;
	if (!S_ISCHR(st.st_mode))
		return 0;
	sg->fd = fileopen_again(fd, fcntl(fd, F_GETFL) & O_ACCMODE);
	if (sg->fd < 0)
		return sg->fd;
	sg->own_fd = true;
	return 0;
}

/* The most that the kernel takes in one command: in bytes from /dev/sg*, in sectors from others. */
static uint32_t most_bytes(const struct sg *sg)
{
	unsigned short sectors = 0;
	int bytes = 0;

	if (sg->own_fd && !ioctl(sg->fd, BLKSECTGET, &bytes) && bytes > 0)
		return (uint32_t)bytes;
	if (!sg->own_fd && !ioctl(sg->fd, BLKSECTGET, &sectors) && sectors > 0)
		return (uint32_t)sectors << 9;
	return DEFAULT_COMMAND_BYTES;
}

static uint32_t whole_blocks(const struct sg *sg, uint32_t bytes)
{
	return bytes < sg->block_bytes ? sg->block_bytes : bytes - bytes % sg->block_bytes;
}

static void reserve(const struct sg *sg, const struct target_plan *target)
{
	int bytes = (int)(target->req_bytes < sg->command_bytes ? target->req_bytes :
								  sg->command_bytes);

	/* Only saves time: without it the driver looks for memory again for each command. */
	if (sg->own_fd)
		ioctl(sg->fd, SG_SET_RESERVED_SIZE, &bytes);
}

static void sg_fini(void *ctx)
{
	struct sg *sg = ctx;

	if (!sg)
		return;
	if (sg->own_fd)
		close(sg->fd);
	free(sg);
}

static int sg_init(void **ctx, const struct engine_params *params)
{
	const struct sg_options *o = params->target->engine_options;
	struct sg *sg = engine_alloc(sizeof(*sg));
	int err;

	if (!sg)
		return -ENOMEM;
	err = open_own(sg, params->fd);
	if (!err)
		err = scsi_capacity_fd(sg->fd, &sg->size_bytes, &sg->block_bytes);
	if (err) {
		sg_fini(sg);
		return err;
	}
	sg->cache = (o->fua ? SCSI_FUA : 0) | (o->dpo ? SCSI_DPO : 0);
	sg->command_bytes = whole_blocks(sg, most_bytes(sg));
	reserve(sg, params->target);
	*ctx = sg;
	return 0;
}

static void sg_describe(const void *ctx, char *buf, size_t size)
{
	const struct sg *sg = ctx;

	snprintf(buf, size, "%llu blocks of %u bytes, at most %u KiB in one command",
		 (unsigned long long)(sg->size_bytes / sg->block_bytes), sg->block_bytes,
		 sg->command_bytes >> 10);
}

/* ---- transfers ---- */

/* The bytes of the next command for `req`: no more than the kernel takes and the device has. */
static uint32_t next_bytes(const struct sg *sg, const struct io_request *req)
{
	uint64_t at = req->offset + req->done, bytes = req->size - req->done;

	if (at >= sg->size_bytes)
		return 0;
	if (bytes > sg->size_bytes - at)
		bytes = sg->size_bytes - at;
	return bytes < sg->command_bytes ? (uint32_t)bytes : sg->command_bytes;
}

static int command(struct sg *sg, const struct io_request *req, uint64_t lba, uint32_t bytes)
{
	enum scsi_way way = req->dir == DIR_READ ? SCSI_FROM_DEVICE : SCSI_TO_DEVICE;
	uint8_t cdb[SCSI_CDB_MAX];
	size_t cdb_size = scsi_cdb_transfer(cdb, req->dir, lba, bytes / sg->block_bytes, sg->cache);

	return scsi_repeat(sg->fd, cdb, cdb_size, way, (char *)req->buf + req->done, bytes,
			   req->dir, &sg->reply);
}

/*
 * The kernel refused a command, perhaps for its size. When one as large was accepted before, or
 * memory is short, that is no limit for the requests after this one.
 */
static bool may_be_too_large(struct sg *sg, int err, uint32_t bytes)
{
	if ((err != -EINVAL && err != -ENOMEM) || bytes <= sg->block_bytes)
		return false;
	if (err == -ENOMEM || bytes <= sg->taken_bytes)
		sg->passing = true;
	return true;
}

/* Move a part of what is left, or learn that less can be moved at a time. Returns 0 or -errno. */
static int transfer(struct sg *sg, struct io_request *req, uint32_t bytes)
{
	uint64_t lba = (req->offset + req->done) / sg->block_bytes;
	int err = command(sg, req, lba, bytes);
	bool refused = err && scsi_reply_good(&sg->reply); /* by the kernel; it was not sent */
	uint32_t moved;

	if (refused && may_be_too_large(sg, err, bytes)) {
		sg->command_bytes = whole_blocks(sg, bytes / 2);
		return 0;
	}
	if (refused)
		return err;
	if (bytes > sg->taken_bytes)
		sg->taken_bytes = bytes;
	moved = scsi_reply_bytes(&sg->reply, lba, bytes, sg->block_bytes);
	moved -= moved % sg->block_bytes;
	req->done += moved;
	if (!err && !moved) {
		sg->text = "the device moved nothing and gave no reason";
		return -EIO;
	}
	return err;
}

static int sg_submit(void *ctx, struct io_request *req)
{
	struct sg *sg = ctx;
	const uint32_t most = sg->command_bytes;

	sg->text = NULL;
	sg->passing = false;
	if (req->dir == DIR_NOOP) {
		req->done = req->size;
		return 0;
	}
	if (req->offset % sg->block_bytes || req->size % sg->block_bytes) {
		sg->text = "not whole blocks of the device";
		req->error = -EINVAL;
		return 0;
	}
	while (req->done < req->size && !req->error) {
		uint32_t bytes = next_bytes(sg, req);

		if (bytes)
			req->error = transfer(sg, req, bytes);
		else
			req->error = req->dir == DIR_READ ? -ENODATA : -ENOSPC;
	}
	/* Smaller commands did not help: the size was not the reason. */
	if (req->error || sg->passing)
		sg->command_bytes = most;
	return 0;
}

static void sg_explain(const void *ctx, const struct io_request *req, char *buf, size_t size)
{
	const struct sg *sg = ctx;

	(void)req;
	if (sg->text)
		snprintf(buf, size, "%s", sg->text);
	else
		scsi_reply_text(&sg->reply, buf, size);
}

static const struct option sg_keywords[] = {
	ENGINE_KEYWORD("fua", struct sg_options, fua, "force unit access"),
	ENGINE_KEYWORD("dpo", struct sg_options, dpo, "disable page out"),
	{ 0 },
};

const struct engine engine_sg = {
	.info = { ENGINE_NAMED(
			  "sg",
			  "SCSI READ and WRITE commands through SG_IO, past the block layer's cache"),
		  .caps = ENGINE_SCSI | ENGINE_OPENS, .keywords = sg_keywords,
		  .options_size = sizeof(struct sg_options) },
	.check = sg_check,
	.init = sg_init,
	.submit = sg_submit,
	.describe = sg_describe,
	.explain = sg_explain,
	.flush = sg_sync_cache,
	.fini = sg_fini,
};
