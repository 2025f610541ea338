/*
 * Discards of files and block devices, for engines that carry them out one by one, and the reasons
 * why they fail.
 */
#ifndef IO_DISCARD_H
#define IO_DISCARD_H

#include <stdbool.h>
#include <stddef.h>

#include "xdd/io/engine.h"

/* fallocate(2): free the blocks of a range, which then reads as zeros, and keep the size. */
#define DISCARD_MODE (FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE)

/*
 * Discard the range of `req`: by BLKDISCARD if `fd` is a block device, else by fallocate(2). Dirty
 * pages of a device are written first. Returns 0 or -errno. Any thread.
 */
int discard_now(int fd, bool is_device, const struct io_request *req);

/* The `explain` of an engine for a discard that the file system or the device does not support. */
void discard_explain(const struct io_request *req, bool is_device, char *buf, size_t size);

#endif
