/*
 * Names and numbers of block devices. Called where -force is checked, and by the overwrite guard.
 */
#include "xdd/base/blockdev.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#define NAME_SIZE 256

/* "8:16" in a file of sysfs. */
static bool read_number(const char *path, dev_t *dev)
{
	unsigned major_no, minor_no;
	FILE *f = fopen(path, "re");
	bool good;

	if (!f)
		return false;
	good = fscanf(f, "%u:%u", &major_no, &minor_no) == 2;
	fclose(f);
	if (good)
		*dev = makedev(major_no, minor_no);
	return good;
}

/* The SCSI device behind a character device has a folder with the name of its disk in it. */
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
		good = read_number(path, dev);
	}
	closedir(dir);
	return good;
}

bool blockdev_number(const char *path, dev_t *dev)
{
	struct stat st;

	if (stat(path, &st))
		return false;
	if (S_ISCHR(st.st_mode))
		return disk_of_char(st.st_rdev, dev);
	*dev = st.st_rdev;
	return S_ISBLK(st.st_mode);
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
