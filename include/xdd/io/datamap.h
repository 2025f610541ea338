/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The data of a target as the kernel knows it: the page cache, holes, and counts of block devices.
 */
#ifndef XDD_IO_DATAMAP_H
#define XDD_IO_DATAMAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * The part of a target that is in the page cache, and removing it from there. Functions of a file
 * descriptor; any thread, outside the timed window.
 */

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
 * cache only, nor where its pages belong to another file (overlayfs). It asks the file system,
 * which may wait for a server.
 */
bool pagecache_writes_back(int fd);

/*
 * Write back dirty pages and remove the file from the page cache: all of it, as the kernel keeps
 * blocks of pages (folios) that reach past the end of a range. Pages that a process has mapped or
 * locked stay. Returns 0 or -errno.
 */
int pagecache_drop(int fd);

/*
 * Which bytes of a file or device are in the page cache, and which are holes, at one moment. Taken
 * before a pass; afterwards it tells the shares of what the pass has read.
 *
 * Owned by one target; one thread at a time, outside the timed window.
 */

struct datamap {
	uint64_t begin; /* bytes; the first page of the range */
	uint64_t end;
	size_t n;	  /* cells */
	uint64_t *bounds; /* n + 1: where each cell begins, and the end */
	double *resident; /* n + 1: bytes before each cell that are resident */
	double *holes;	  /* n + 1: bytes before each cell that are holes */
	int cache_err;	  /* 0, or -errno: residency is not known */
	int hole_err;	  /* 0, or -errno: holes are not known */
	bool cache_sampled;
};

/*
 * Look at the bytes from `begin` to `end` (not empty), in at most `cells` (64 or more) cells of
 * whole pages. `cache` and `holes` say what to look for. Inside a cell, resident bytes and holes
 * count as evenly spread. After `cells` extents the rest counts as having the share of holes of
 * what was seen. `m` is zero or was taken before. Returns 0 or -ENOMEM, with an empty map.
 */
int datamap_take(struct datamap *m, int fd, uint64_t begin, uint64_t end, size_t cells, bool cache,
		 bool holes);

/*
 * Add to the three: the bytes from `offset` to `offset + bytes` that the map covers, and of these
 * the resident ones and the holes. Nothing is added for what is not known, nor from an empty map.
 */
void datamap_add(const struct datamap *m, uint64_t offset, uint64_t bytes, double *covered,
		 double *resident, double *holes);

/* Is an extent that ends at `at` (and begins with the map) known to the page? */
bool datamap_is_exact(const struct datamap *m, uint64_t at);

/* Is each cell one page? */
bool datamap_has_all_pages(const struct datamap *m);

/* Frees what the map holds and empties it. */
void datamap_free(struct datamap *m);

/*
 * The kernel's counts of a block device: Documentation/block/stat.rst. Any thread.
 */

#define DISKSTATS_NAME_SIZE 64

struct diskstats {
	uint64_t requests[2]; /* completed: reads, writes */
	uint64_t merged[2];   /* requests that were joined to one before */
	uint64_t bytes[2];
};

/* The number of the device that `path`, a block device or a file on one, is on. 0 or -errno. */
int diskstats_number(const char *path, dev_t *number);

/*
 * The name of the whole device that `number` is or is a part of, into `name`. `disk`, unless NULL,
 * gets its number. Returns 0, or -ENODEV where it has none (memory, a network, several).
 */
int diskstats_disk(dev_t number, char name[DISKSTATS_NAME_SIZE], dev_t *disk);

/* Both: the name of the whole device that `path` is on. Returns 0 or -errno. */
int diskstats_device(const char *path, char name[DISKSTATS_NAME_SIZE]);

/* False when the counters of the device are switched off (queue/iostats). */
bool diskstats_counts(const char *name);

/* The counts of the device of that name since it was there. Returns 0 or -errno. */
int diskstats_read(const char *name, struct diskstats *stats);

#endif
