/*
 * What of a target is in the page cache, and emptying that. Functions of a file descriptor; any thread,
 * outside the timed window.
 */
#ifndef XDD_IO_PAGECACHE_H
#define XDD_IO_PAGECACHE_H

#include <stdbool.h>
#include <stdint.h>

/*
 * How many of the `bytes` from `offset` on are in the page cache, into `*resident`: by cachestat(2), or
 * where the kernel lacks it (before Linux 6.5) by mincore(2). A large range is judged by `samples` (at least 1)
 * stretches of 256 KiB, evenly apart, for either call looks at every page. Returns 0 or -errno; -EOPNOTSUPP where
 * neither can tell.
 */
int pagecache_resident(int fd, uint64_t offset, uint64_t bytes, unsigned samples,
		       uint64_t *resident);

/* Whether the file lies in the page cache and nowhere else: tmpfs and its like. */
bool pagecache_is_all(int fd);

/*
 * Write back what is dirty and take the `bytes` from `offset` on out of the page cache. Pages that somebody has
 * mapped or locked stay. Returns 0 or -errno.
 */
int pagecache_drop(int fd, uint64_t offset, uint64_t bytes);

/*
 * How many of the `bytes` from `offset` on are holes, or space set aside that was never written: reading them
 * asks no device. Into `*holes`. After `extents` of them the rest is taken to be like what was seen. Returns 0 or
 * -errno; -EOPNOTSUPP where the file system cannot tell. Moves the file's position, which no operation uses.
 */
int pagecache_holes(int fd, uint64_t offset, uint64_t bytes, unsigned extents, uint64_t *holes);

#endif
