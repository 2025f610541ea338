/*
 * The page cache seen from outside. Called between passes by target threads, by way of datamap.c.
 */
#include "xdd/base/file.h"
#include "xdd/io/pagecache.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "xdd/base/random.h"

/* Since Linux 6.5, the same number on all machines; headers may be older. */
#define NR_CACHESTAT 451

/* How much one call looks at: cachestat(2) visits each resident page, mincore(2) each page. */
#define CACHESTAT_BYTES (64ull << 20)
#define MINCORE_BYTES (256ull << 10)

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

/* For everyone else mincore(2) reports all pages as resident. */
static bool may_ask(int fd)
{
	char name[40];
	struct stat st;

	if (geteuid() == 0 || (fstat(fd, &st) == 0 && st.st_uid == geteuid()))
		return true;
	snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
	return fileopen_access(AT_FDCWD, name, W_OK) == 0;
}

/*
 * A file of overlayfs has its pages in a file of another file system, which only its mapping leads
 * to.
 */
static bool is_overlay(int fd)
{
	struct statfs fs;

	return fstatfs(fd, &fs) == 0 && fs.f_type == OVERLAYFS_SUPER_MAGIC;
}

static int resident_by_mincore(int fd, uint64_t offset, uint64_t bytes, uint64_t *pages)
{
	uint64_t n = (bytes + page_bytes() - 1) / page_bytes();
	unsigned char *vector;
	void *map;
	int err = 0;

	if (!may_ask(fd))
		return -EPERM;
	vector = malloc(n);
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

static int cachestat_of(int fd, uint64_t offset, uint64_t bytes, struct cachestat *stat)
{
	struct cachestat_range range = { .offset = offset, .bytes = bytes };

	return syscall(NR_CACHESTAT, fd, &range, stat, 0) ? -errno : 0;
}

static int resident_by_cachestat(int fd, uint64_t offset, uint64_t bytes, uint64_t *pages)
{
	struct cachestat stat;
	int err = cachestat_of(fd, offset, bytes, &stat);

	if (!err)
		*pages = stat.cached;
	return err;
}

int pagecache_dirty(int fd, uint64_t offset, uint64_t bytes, uint64_t *dirty)
{
	const uint64_t page = page_bytes();
	uint64_t first = offset / page, pages = (offset + bytes + page - 1) / page - first;
	struct cachestat stat;
	uint64_t n;
	int err;

	if (!bytes)
		return -EINVAL;
	err = cachestat_of(fd, offset, bytes, &stat);
	if (err)
		return err;
	/* A page that is written again while it is being written back counts as both. */
	n = stat.dirty + stat.writeback < pages ? stat.dirty + stat.writeback : pages;
	*dirty = (uint64_t)((double)n / (double)pages * (double)bytes);
	return 0;
}

/*
 * A random piece of `size` bytes, in whole pages: a periodic choice would see a pattern in the
 * cache wrongly.
 */
static uint64_t random_piece(uint64_t offset, uint64_t bytes, uint64_t size)
{
	uint64_t places = (bytes - size) / page_bytes() + 1;

	return offset + random_splitmix64(offset + RANDOM_GOLDEN) % places * page_bytes();
}

int pagecache_resident(int fd, uint64_t offset, uint64_t bytes, uint64_t *resident, bool *sampled)
{
	uint64_t pages = 0, size = bytes < CACHESTAT_BYTES ? bytes : CACHESTAT_BYTES;
	int err = is_overlay(fd) ? -EOPNOTSUPP :
				   resident_by_cachestat(fd, random_piece(offset, bytes, size),
							 size, &pages);

	/* A filter of system calls that does not know cachestat(2) may say EPERM, too. */
	if (err) {
		size = bytes < MINCORE_BYTES ? bytes : MINCORE_BYTES;
		err = resident_by_mincore(fd, random_piece(offset, bytes, size), size, &pages);
	}
	if (err)
		return err;
	*resident = pages * page_bytes() < size ? pages * page_bytes() : size;
	if (size < bytes) {
		*resident = (uint64_t)((double)*resident / (double)size * (double)bytes);
		*sampled = true;
	}
	return 0;
}

bool pagecache_is_all(int fd)
{
	struct statfs fs;
	struct stat st;

	/* A block device lies in devtmpfs, and its data do not. */
	return fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && fstatfs(fd, &fs) == 0 &&
	       (fs.f_type == TMPFS_MAGIC || fs.f_type == RAMFS_MAGIC ||
		fs.f_type == HUGETLBFS_MAGIC);
}

bool pagecache_writes_back(int fd)
{
	return !pagecache_is_all(fd) && !is_overlay(fd);
}

int pagecache_drop(int fd, uint64_t offset, uint64_t bytes)
{
	int err;

	/* Dirty pages cannot be dropped. A file open for reading alone is synced as well. */
	if (fdatasync(fd) < 0 && errno != EINVAL && errno != EROFS)
		return -errno;
	err = posix_fadvise(fd, (off_t)offset, (off_t)bytes, POSIX_FADV_DONTNEED);
	return -err;
}
