/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Shared by engines: discards, and pread and pwrite without libc. Private to src/io.
 */
#ifndef XDD_IO_ENGINE_INTERNAL_H
#define XDD_IO_ENGINE_INTERNAL_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

#include "xdd/io/engine.h"

/*
 * Discards of files and block devices, for engines that carry them out one by one, and the reasons
 * why they fail.
 */

/* fallocate(2): free the blocks of a range, which then reads as zeros, and keep the size. */
#define DISCARD_MODE (FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE)

/*
 * Discard the range of `req`: by BLKDISCARD if `fd` is a block device, else by fallocate(2). Dirty
 * pages of a device are written first. Returns 0 or -errno. Any thread.
 */
int discard_now(int fd, bool is_device, const struct io_request *req);

/* The `explain` of an engine for a discard that the file system or the device does not support. */
void discard_explain(const struct io_request *req, bool is_device, char *buf, size_t size);

/*
 * pread and pwrite without libc. Private to src/io.
 *
 * libc's pread and pwrite are cancellation points, which takes 5 % of a small read from memory,
 * and no thread here is ever cancelled. Its syscall() costs another 15 instructions.
 */

/*
 * `number` is SYS_pread64 or SYS_pwrite64. Returns bytes moved or -errno, and leaves errno alone.
 */
#if defined(__x86_64__) && !defined(__ILP32__)
static inline ssize_t raw_transfer(long number, int fd, void *buf, size_t size, off_t offset)
{
	register off_t fourth __asm__("r10") = offset;
	ssize_t result;

	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "0"(number), "D"((long)fd), "S"(buf), "d"(size), "r"(fourth)
			 : "rcx", "r11", "memory");
	return result;
}
#else
static inline ssize_t raw_transfer(long number, int fd, void *buf, size_t size, off_t offset)
{
	ssize_t result = syscall(number, fd, buf, size, offset);

	return result < 0 ? -errno : result;
}
#endif

#endif
