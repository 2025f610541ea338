/*
 * The block device of a name, and its properties as the kernel reports them. No state; any thread;
 * nothing is opened.
 */
#ifndef XDD_SYS_BLOCKDEV_H
#define XDD_SYS_BLOCKDEV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

/*
 * The number of the block device that `path` leads to: a block device itself, or the one that a
 * SCSI generic device (/dev/sg*) drives. False when it leads to none.
 */
bool blockdev_number(const char *path, dev_t *dev);

/* As blockdev_number(), for a file whose attributes are known. */
bool blockdev_number_of(const struct stat *st, dev_t *dev);

/*
 * The node below /dev that the kernel names for a block device, into `buf`. Returns 0, or -errno
 * when there is none, or it is another device.
 */
int blockdev_node(dev_t dev, char *buf, size_t size);

bool blockdev_is_partition(dev_t dev);

/* The whole disk that a device is part of, or itself. */
dev_t blockdev_disk(dev_t dev);

/*
 * A number of the device's queue, such as "logical_block_size", which for a
 * partition is that of its disk. False, with `*value` as it was, when there is none.
 */
bool blockdev_queue_number(dev_t dev, const char *name, uint64_t *value);

/*
 * The file of loop device `name`, a directory of /sys/class/block below `root` ("" but in tests),
 * into `file`, and if the device reads and writes it through the page cache. False when it is no
 * loop device, or has no file.
 */
bool blockdev_loop(const char *root, const char *name, char *file, size_t size, bool *buffered);

#endif
