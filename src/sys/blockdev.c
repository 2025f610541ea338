/*
 * Names and numbers of block devices. Called where -force is checked, and by the overwrite guard.
 */
#include "xdd/sys/blockdev.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
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
