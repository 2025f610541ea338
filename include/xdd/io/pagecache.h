/*
 * The part of a target that is in the page cache, and removing it from there. Functions of a file
 * descriptor; any thread, outside the timed window.
 */
#ifndef XDD_IO_PAGECACHE_H
#define XDD_IO_PAGECACHE_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Count the bytes of a range that are in the page cache, into `*resident`, by cachestat(2) or,
 * where the kernel lacks that (before Linux 6.5) or counts the wrong file (overlayfs), by
 * mincore(2). `offset` is a multiple of the page. Of a range of more than 64 MiB (mincore: 256 KiB)
 * a random piece of that size stands for all of it, and `*sampled` is set to true, else left alone.
 * Returns 0 or -errno: -EPERM when the kernel tells only the owner of the file and those who may
 * write to it, -EOPNOTSUPP when neither call works for this file.
 */
int pagecache_resident(int fd, uint64_t offset, uint64_t bytes, uint64_t *resident, bool *sampled);

/*
 * Count the bytes of a range whose pages are dirty or being written back, into `*dirty`, at most
 * `bytes`, by cachestat(2), which waits for no device. Returns 0 or -errno: -ENOSYS before Linux
 * 6.5. For files of pagecache_writes_back() only.
 */
int pagecache_dirty(int fd, uint64_t offset, uint64_t bytes, uint64_t *dirty);

/* True if the file lies in the page cache and nowhere else, as on tmpfs. */
bool pagecache_is_all(int fd);

/*
 * True if dirty pages of the file are on their way to storage: not where the file lies in the page
 * cache only, nor where its pages are those of another file (overlayfs). It asks the file system,
 * which may wait for a server.
 */
bool pagecache_writes_back(int fd);

/*
 * Write back dirty pages and remove the `bytes` from `offset` on from the page cache. Pages that a
 * process has mapped or locked stay. Returns 0 or -errno.
 */
int pagecache_drop(int fd, uint64_t offset, uint64_t bytes);

#endif
