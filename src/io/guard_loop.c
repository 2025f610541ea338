/*
 * Loop devices and what backs them, for the overwrite guard: a file or a device whose content is in
 * use as another device is in use itself, which the kernel says nowhere else.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/loop.h>
#include <linux/major.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "xdd/base/memory.h"
#include "xdd/io/guard.h"
#include "xdd/sys/sysfile.h"

/* The node of a loop device; -errno when it cannot be opened, or is that of another device. */
static int open_node(const struct guard_loop *l, int flags)
{
	char node[sizeof(l->name) + 8];
	struct stat st;
	int fd;

	snprintf(node, sizeof(node), "/dev/%s", l->name);
	fd = open(node, O_RDONLY | O_NONBLOCK | O_CLOEXEC | flags);
	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) == 0 && S_ISBLK(st.st_mode) && st.st_rdev == l->loop)
		return fd;
	close(fd);
	return -ENODEV;
}

/* As the driver knows it, whatever has its name by now. */
static bool ask_driver(struct guard_loop *l)
{
	struct loop_info64 info;
	int fd = open_node(l, 0), err;

	if (fd < 0)
		return false;
	err = ioctl(fd, LOOP_GET_STATUS64, &info);
	close(fd);
	if (err)
		return false;
	l->dev = (dev_t)info.lo_device;
	l->ino = (ino_t)info.lo_inode;
	l->rdev = (dev_t)info.lo_rdevice;
	return true;
}

/* Fill in what backs the device of that name; false when nothing does, or that cannot be told. */
static bool read_loop(struct guard_loop *l, const char *root, const char *name)
{
	char path[PATH_MAX], line[PATH_MAX], number[32];
	unsigned major_no, minor_no;
	const char *backing, *dev;
	struct stat st;

	if ((size_t)snprintf(l->name, sizeof(l->name), "%s", name) >= sizeof(l->name))
		return false;
	snprintf(path, sizeof(path), "%s/sys/block/%s/loop/backing_file", root, name);
	backing = sysfile_line(path, line, sizeof(line));
	if (!backing)
		return false;
	snprintf(path, sizeof(path), "%s/sys/block/%s/dev", root, name);
	dev = sysfile_line(path, number, sizeof(number));
	if (!dev || sscanf(dev, "%u:%u", &major_no, &minor_no) != 2)
		return false;
	l->loop = makedev(major_no, minor_no);
	if (!*root && ask_driver(l))
		return true;
	if ((size_t)snprintf(path, sizeof(path), "%s%s", root, backing) >= sizeof(path) ||
	    stat(path, &st))
		return false;
	l->dev = st.st_dev;
	l->ino = st.st_ino;
	l->rdev = S_ISBLK(st.st_mode) ? st.st_rdev : 0;
	return true;
}

/* As read_loop(), by the node, where sysfs is not mounted. */
static bool read_node(struct guard_loop *l, const char *name)
{
	char node[sizeof(l->name) + 8];
	struct stat st;

	if ((size_t)snprintf(l->name, sizeof(l->name), "%s", name) >= sizeof(l->name))
		return false;
	snprintf(node, sizeof(node), "/dev/%s", l->name);
	if (stat(node, &st) || !S_ISBLK(st.st_mode) || major(st.st_rdev) != LOOP_MAJOR)
		return false;
	l->loop = st.st_rdev;
	return ask_driver(l);
}

int guard_loops_read(struct guard_loops *loops, const char *root)
{
	char path[PATH_MAX];
	struct dirent *entry;
	bool nodes = false;
	int err = 0;
	DIR *dir;

	*loops = (struct guard_loops){ .root = root };
	snprintf(path, sizeof(path), "%s/sys/block", root);
	dir = opendir(path);
	if (!dir && !*root) {
		nodes = true;
		dir = opendir("/dev");
	}
	while (dir && !err && (entry = readdir(dir))) {
		struct guard_loop l = { .rdev = 0 }, *list;

		if (strncmp(entry->d_name, "loop", 4) != 0 ||
		    !(nodes ? read_node(&l, entry->d_name) : read_loop(&l, root, entry->d_name)))
			continue;
		list = array_room(loops->list, loops->n, sizeof(*list));
		if (!list) {
			err = -ENOMEM;
			break;
		}
		list[loops->n++] = l;
		loops->list = list;
	}
	if (dir)
		closedir(dir);
	if (err)
		guard_loops_free(loops);
	return err;
}

void guard_loops_free(struct guard_loops *loops)
{
	free(loops->list);
	*loops = (struct guard_loops){ .n = 0 };
}

const struct guard_loop *guard_loop_over(const struct guard_loops *loops, dev_t dev)
{
	for (size_t i = 0; i < loops->n; i++) {
		if (loops->list[i].rdev == dev && loops->list[i].loop != dev)
			return &loops->list[i];
	}
	return NULL;
}

/* The exclusive claim catches what is not found elsewhere, where the node may be opened at all. */
static bool is_claimed(const struct guard_loop *l)
{
	int fd = open_node(l, O_EXCL);

	if (fd >= 0)
		close(fd);
	return fd == -EBUSY;
}

bool guard_file_in_use(const struct guard_loops *loops, const struct stat *st, char *why,
		       size_t size)
{
	char use[GUARD_WHY_SIZE / 2];

	for (size_t i = 0; i < loops->n; i++) {
		const struct guard_loop *l = &loops->list[i];

		if (l->dev != st->st_dev || l->ino != st->st_ino)
			continue;
		if (guard_in_use(loops->root, l->loop, use, sizeof(use)))
			snprintf(why, size, "it backs the loop device %s, which is in use: %s",
				 l->name, use);
		else if (!*loops->root && is_claimed(l))
			snprintf(why, size,
				 "it backs the loop device %s, which the kernel or another program "
				 "has open exclusively",
				 l->name);
		else
			continue;
		return true;
	}
	return false;
}
