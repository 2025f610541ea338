/*
 * The page cache seen from outside. Called between passes by target threads.
 */
#include "xdd/io/pagecache.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

/* Since Linux 6.5, the same number on all machines; headers may be older. */
#define NR_CACHESTAT 451

/* A range is looked at in so many samples of this size, at most: the kernel looks at every page of them. */
#define SAMPLE_BYTES (256ull << 10)

struct cachestat_range {
	uint64_t offset;
	uint64_t bytes;
};

struct cachestat {
	uint64_t cached; /* pages */
	uint64_t dirty;
	uint64_t writeback;
	uint64_t evicted;
	uint64_t recently_evicted;
};

static uint64_t page_bytes(void)
{
	return (uint64_t)sysconf(_SC_PAGESIZE);
}

/* Whole pages count, and the range may begin and end inside one. */
static uint64_t at_most(uint64_t pages, uint64_t bytes)
{
	uint64_t n = pages * page_bytes();

	return n < bytes ? n : bytes;
}

/* Pages of a range that are resident, by its mapping. Returns 0 or -errno. */
static int resident_by_mincore(int fd, uint64_t offset, uint64_t bytes, uint64_t *pages)
{
	uint64_t n = (bytes + page_bytes() - 1) / page_bytes();
	unsigned char *vector = malloc(n);
	void *map;
	int err = 0;

	if (!vector)
		return -ENOMEM;
	map = mmap(NULL, bytes, PROT_READ, MAP_SHARED, fd, (off_t)offset);
	if (map == MAP_FAILED) {
		free(vector);
		return -EOPNOTSUPP;
	}
	if (mincore(map, bytes, vector) < 0)
		err = -EOPNOTSUPP;
	for (uint64_t i = 0; i < n && !err; i++)
		*pages += vector[i] & 1;
	munmap(map, bytes);
	free(vector);
	return err;
}

/* The same by whatever the kernel has. */
static int resident_pages(int fd, uint64_t offset, uint64_t bytes, uint64_t *pages)
{
	struct cachestat_range range = { .offset = offset, .bytes = bytes };
	struct cachestat stat;

	if (syscall(NR_CACHESTAT, fd, &range, &stat, 0))
		return resident_by_mincore(fd, offset, bytes, pages);
	*pages += stat.cached;
	return 0;
}

int pagecache_resident(int fd, uint64_t offset, uint64_t bytes, unsigned samples,
		       uint64_t *resident)
{
	uint64_t begin = offset / page_bytes() * page_bytes(), end = offset + bytes;
	uint64_t step = (end - begin) / samples / page_bytes() * page_bytes();
	uint64_t pages = 0, looked = 0;

	*resident = 0;
	if (step < SAMPLE_BYTES)
		step = SAMPLE_BYTES;
	for (uint64_t at = begin; at < end; at += step) {
		uint64_t size = end - at < SAMPLE_BYTES ? end - at : SAMPLE_BYTES;
		int err = resident_pages(fd, at, size, &pages);

		if (err)
			return err;
		looked += size;
	}
	if (looked < end - begin)
		*resident =
			(uint64_t)((double)at_most(pages, looked) / (double)looked * (double)bytes);
	else
		*resident = at_most(pages, bytes);
	return 0;
}

bool pagecache_is_all(int fd)
{
	struct statfs fs;

	return fstatfs(fd, &fs) == 0 && (fs.f_type == TMPFS_MAGIC || fs.f_type == RAMFS_MAGIC ||
					 fs.f_type == HUGETLBFS_MAGIC);
}

int pagecache_drop(int fd, uint64_t offset, uint64_t bytes)
{
	int err;

	/* What is dirty cannot be dropped. A file open for reading alone is synced as well. */
	if (fdatasync(fd) < 0 && errno != EINVAL && errno != EROFS)
		return -errno;
	err = posix_fadvise(fd, (off_t)offset, (off_t)bytes, POSIX_FADV_DONTNEED);
	return -err;
}

int pagecache_holes(int fd, uint64_t offset, uint64_t bytes, unsigned extents, uint64_t *holes)
{
	const uint64_t end = offset + bytes;
	uint64_t at = offset;

	*holes = 0;
	for (unsigned n = 0; at < end; n++) {
		off_t data = lseek(fd, (off_t)at, SEEK_DATA), hole;

		if (data < 0 && errno != ENXIO)
			return errno == EINVAL ? -EOPNOTSUPP : -errno;
		/* No data any more, up to the end of the file. */
		if (data < 0 || (uint64_t)data >= end) {
			*holes += end - at;
			return 0;
		}
		*holes += (uint64_t)data - at;
		hole = lseek(fd, data, SEEK_HOLE);
		if (hole < 0)
			return -errno;
		at = (uint64_t)hole;
		if (n >= extents && at > offset) {
			*holes = (uint64_t)((double)*holes / (double)(at - offset) * (double)bytes);
			return 0;
		}
	}
	return 0;
}
