/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Block devices, direct I/O and SCSI commands. Called where -force is checked, by the overwrite
 * guard, when the plan is resolved and looks at its targets, after opening a target, and by the sg
 * engine.
 */
#include "xdd/sys/blockdev.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <scsi/sg.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "xdd/sys/sysfile.h"

#define NAME_SIZE 256

/* "8:16" in a file of sysfs. */
static bool read_device(const char *path, dev_t *dev)
{
	unsigned major_no, minor_no;
	char buf[32];
	const char *line = sysfile_line(path, buf, sizeof(buf));

	if (!line || sscanf(line, "%u:%u", &major_no, &minor_no) != 2)
		return false;
	*dev = makedev(major_no, minor_no);
	return true;
}

/* The SCSI device of a character device has a directory with the name of its disk. */
static bool disk_of_char(dev_t rdev, dev_t *dev)
{
	char path[PATH_MAX];
	struct dirent *entry;
	bool good = false;
	DIR *dir;

	snprintf(path, sizeof(path), "/sys/dev/char/%u:%u/device/block", major(rdev), minor(rdev));
	dir = opendir(path);
	if (!dir)
		return false;
	while (!good && (entry = readdir(dir))) {
		if (entry->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), "/sys/class/block/%s/dev", entry->d_name);
		good = read_device(path, dev);
	}
	closedir(dir);
	return good;
}

bool blockdev_number_of(const struct stat *st, dev_t *dev)
{
	if (S_ISCHR(st->st_mode))
		return disk_of_char(st->st_rdev, dev);
	*dev = st->st_rdev;
	return S_ISBLK(st->st_mode);
}

bool blockdev_number(const char *path, dev_t *dev)
{
	struct stat st;

	return stat(path, &st) == 0 && blockdev_number_of(&st, dev);
}

int blockdev_node(dev_t dev, char *buf, size_t size)
{
	char path[64], line[NAME_SIZE], name[NAME_SIZE] = "";
	struct stat st;
	FILE *f;

	snprintf(path, sizeof(path), "/sys/dev/block/%u:%u/uevent", major(dev), minor(dev));
	f = fopen(path, "re");
	if (!f)
		return -errno;
	while (!*name && fgets(line, sizeof(line), f))
		sscanf(line, "DEVNAME=%255s", name);
	fclose(f);
	if (!*name || (size_t)snprintf(buf, size, "/dev/%s", name) >= size)
		return -ENODEV;
	if (stat(buf, &st))
		return -errno;
	return S_ISBLK(st.st_mode) && st.st_rdev == dev ? 0 : -ENODEV;
}

bool blockdev_is_partition(dev_t dev)
{
	char path[64];

	snprintf(path, sizeof(path), "/sys/dev/block/%u:%u/partition", major(dev), minor(dev));
	return access(path, F_OK) == 0;
}

dev_t blockdev_disk(dev_t dev)
{
	char path[64];

	snprintf(path, sizeof(path), "/sys/dev/block/%u:%u/../dev", major(dev), minor(dev));
	if (blockdev_is_partition(dev))
		read_device(path, &dev);
	return dev;
}

bool blockdev_queue_number(dev_t dev, const char *name, uint64_t *value)
{
	char path[128];

	dev = blockdev_disk(dev);
	snprintf(path, sizeof(path), "/sys/dev/block/%u:%u/queue/%s", major(dev), minor(dev), name);
	return sysfile_number(path, value);
}

bool blockdev_loop(const char *root, const char *name, char *file, size_t size, bool *buffered)
{
	char path[PATH_MAX], line[PATH_MAX];
	const char *backing;
	uint64_t direct;

	snprintf(path, sizeof(path), "%s/sys/class/block/%s/loop/backing_file", root, name);
	backing = sysfile_line(path, line, sizeof(line));
	if (!backing)
		return false;
	snprintf(file, size, "%s", backing);
	snprintf(path, sizeof(path), "%s/sys/class/block/%s/loop/dio", root, name);
	*buffered = sysfile_number(path, &direct) && !direct;
	return true;
}

/*
 * Direct I/O on a file; see the header. Called when the plan is resolved, and after opening a
 * target.
 */

static bool is_memory(int fd, const char *path)
{
	struct statfs fs;

	if (path ? statfs(path, &fs) < 0 : fstatfs(fd, &fs) < 0)
		return false;
	return fs.f_type == TMPFS_MAGIC || fs.f_type == RAMFS_MAGIC || fs.f_type == HUGETLBFS_MAGIC;
}

#ifdef STATX_DIOALIGN

static void ask(struct directio *d, int fd, const char *path)
{
	struct statx stx;

	if (statx(path ? AT_FDCWD : fd, path ? path : "", path ? 0 : AT_EMPTY_PATH,
		  STATX_TYPE | STATX_DIOALIGN, &stx) < 0)
		return;
	if (stx.stx_mask & STATX_DIOALIGN) {
		d->offset_align = stx.stx_dio_offset_align;
		d->memory_align = stx.stx_dio_mem_align;
		d->ignored = S_ISREG(stx.stx_mode) && !d->offset_align;
	} else if (S_ISREG(stx.stx_mode) || S_ISDIR(stx.stx_mode)) {
		d->ignored = is_memory(fd, path);
	}
}

#else /* built with headers older than Linux 6.1 */

static void ask(struct directio *d, int fd, const char *path)
{
	struct stat st;

	if ((path ? stat(path, &st) : fstat(fd, &st)) == 0 &&
	    (S_ISREG(st.st_mode) || S_ISDIR(st.st_mode)))
		d->ignored = is_memory(fd, path);
}

#endif

void directio_query(struct directio *d, int fd, const char *path)
{
	*d = (struct directio){ 0 };
	ask(d, fd, path);
}

static int direction(enum scsi_way way)
{
	switch (way) {
	case SCSI_FROM_DEVICE:
		return SG_DXFER_FROM_DEV;
	case SCSI_TO_DEVICE:
		return SG_DXFER_TO_DEV;
	case SCSI_NO_DATA:
		break;
	}
	return SG_DXFER_NONE;
}

int scsi_command(int fd, const uint8_t *cdb, size_t cdb_size, enum scsi_way way, void *data,
		 uint32_t size, struct scsi_reply *reply)
{
	struct sg_io_hdr hdr = {
		.interface_id = 'S',
		.dxfer_direction = direction(way),
		.cmd_len = (unsigned char)cdb_size,
		.mx_sb_len = SCSI_SENSE_MAX,
		.dxfer_len = size,
		.dxferp = data,
		.cmdp = (unsigned char *)cdb,
		.sbp = reply->sense,
		.timeout = SCSI_TIMEOUT_MS,
		/* /dev/sg* copies unless told otherwise, and copies all the same where it must. */
		.flags = SG_FLAG_DIRECT_IO,
	};

	*reply = (struct scsi_reply){ 0 };
	while (ioctl(fd, SG_IO, &hdr))
		if (errno != EINTR)
			return -errno;
	reply->status = hdr.status;
	reply->host = hdr.host_status;
	reply->sense_size = hdr.sb_len_wr < SCSI_SENSE_MAX ? hdr.sb_len_wr : SCSI_SENSE_MAX;
	/* Some drivers have been seen to leave nonsense here. */
	if (hdr.resid > 0)
		reply->resid_bytes = (uint32_t)hdr.resid < size ? (uint32_t)hdr.resid : size;
	return 0;
}

enum scsi_sense_key scsi_reply_key(const struct scsi_reply *reply)
{
	bool descriptors;

	if (reply->sense_size < 3)
		return SCSI_NO_SENSE;
	descriptors = (reply->sense[0] & 0x7f) >= 0x72;
	return reply->sense[descriptors ? 1 : 2] & 0x0f;
}

#define READ_CAPACITY_10 0x25
#define SERVICE_ACTION_IN_16 0x9e
#define READ_CAPACITY_16 0x10 /* service action */

#define LAST_TOO_LARGE 0xffffffffu /* in the answer to READ CAPACITY (10): ask with (16) */
#define ATTEMPTS 4		   /* after a reset a device reports several unit attentions */

static int error_of(const struct scsi_reply *reply)
{
	switch (scsi_reply_key(reply)) {
	case SCSI_NOT_READY:
		return -ENOMEDIUM;
	case SCSI_ILLEGAL_REQUEST:
		return -EOPNOTSUPP;
	default:
		return -EIO;
	}
}

static int query(int fd, const uint8_t *cdb, size_t cdb_size, uint8_t *answer, uint32_t size)
{
	struct scsi_reply reply;

	for (int i = 0; i < ATTEMPTS; i++) {
		int err = scsi_command(fd, cdb, cdb_size, SCSI_FROM_DEVICE, answer, size, &reply);

		if (err)
			return err;
		if (scsi_reply_good(&reply))
			return 0;
		if (scsi_reply_key(&reply) != SCSI_UNIT_ATTENTION)
			break;
	}
	return error_of(&reply);
}

static int query_10(int fd, uint64_t *last, uint32_t *block)
{
	static const uint8_t cdb[10] = { READ_CAPACITY_10 };
	uint8_t answer[8] = { 0 };
	int err = query(fd, cdb, sizeof(cdb), answer, sizeof(answer));

	*last = scsi_get_be32(answer);
	*block = scsi_get_be32(answer + 4);
	return err;
}

static int query_16(int fd, uint64_t *last, uint32_t *block)
{
	static const uint8_t cdb[16] = { SERVICE_ACTION_IN_16, READ_CAPACITY_16, [13] = 32 };
	uint8_t answer[32] = { 0 };
	int err = query(fd, cdb, sizeof(cdb), answer, sizeof(answer));

	*last = scsi_get_be64(answer);
	*block = scsi_get_be32(answer + 8);
	return err;
}

int scsi_capacity_fd(int fd, uint64_t *bytes, uint32_t *block)
{
	uint64_t last;
	int err, version;

	if (ioctl(fd, SG_GET_VERSION_NUM, &version))
		return -ENOTTY;
	err = query_10(fd, &last, block);
	if (err == -EOPNOTSUPP || (!err && last == LAST_TOO_LARGE))
		err = query_16(fd, &last, block);
	if (err == -EINVAL) /* SCSI, but not with this kind of command: /dev/bsg */
		return -ENOTTY;
	if (err)
		return err;
	/* A drive without a medium may say so in this way. */
	if (!*block)
		return -ENOMEDIUM;
	if (last == UINT64_MAX || __builtin_mul_overflow(last + 1, *block, bytes))
		return -EOVERFLOW;
	return 0;
}

int scsi_capacity(const char *path, uint64_t *bytes, uint32_t *block)
{
	int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	int err;

	if (fd < 0)
		return -errno;
	err = scsi_capacity_fd(fd, bytes, block);
	close(fd);
	return err;
}
