/*
 * The kind and size of a target, and the alignment that direct I/O on it needs, found before
 * anything is opened for I/O. Called while the plan is resolved.
 */
#include "plan/probe.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "xdd/base/log.h"
#include "xdd/base/text.h"
#include "xdd/plan/engine_info.h"
#include "xdd/sys/blockdev.h"

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

static enum xdd_status failed(const struct target_plan *t, const char *why)
{
	log_error("target %u, %s: %s", t->number, t->path, why);
	return XDD_TARGET_FAILED;
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
			return failed(t, strerror(errno));
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
		return err ? failed(t, strerror(-err)) : XDD_OK;
	case S_IFCHR:
		t->kind = TARGET_CHAR;
		/* /dev/sg*: a disk without a block device; other devices have no size. */
		if (plan_engine_caps(t) & ENGINE_SCSI &&
		    scsi_capacity(t->path, &t->size_bytes, &block) < 0)
			t->size_bytes = 0;
		return XDD_OK;
	case S_IFDIR:
		return failed(t, "is a directory; expected a file or a device");
	default:
		return failed(t, "is a pipe or a socket; expected a file or a device");
	}
}
