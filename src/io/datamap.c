/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The page cache seen from outside, maps of resident bytes and holes, and counts of block devices,
 * from /sys; see the header. Called between passes by target threads, and at the ends of a run.
 */
#include "xdd/io/datamap.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "xdd/base/file.h"
#include "xdd/base/random.h"
#include "xdd/base/text.h"
#include "xdd/sys/blockdev.h"
#include "xdd/sys/sysfile.h"

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

int pagecache_drop(int fd)
{
	/* Dirty pages cannot be dropped. A file open for reading alone is synced as well. */
	if (fdatasync(fd) < 0 && errno != EINVAL && errno != EROFS)
		return -errno;
	return -posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
}

/* How often the size of cells doubles over a large range. */
#define OCTAVES 16

void datamap_free(struct datamap *m)
{
	free(m->bounds);
	free(m->resident);
	free(m->holes);
	*m = (struct datamap){ 0 };
}

/*
 * Where cells begin: each page is one or, of a larger range, the cells double in size each time
 * that the offset doubles. So they are small at the beginning of a range, and a sequential pass may
 * read no more than that.
 */
static void set_bounds(struct datamap *m, size_t cells, uint64_t page)
{
	const uint64_t range = m->end - m->begin;
	const bool pages = range <= cells * page;
	const size_t per = pages ? (range + page - 1) / page : cells / OCTAVES;
	uint64_t from = 0;

	m->bounds[0] = m->begin;
	for (unsigned s = pages ? OCTAVES : 1; s <= OCTAVES; s++) {
		uint64_t to = range >> (OCTAVES - s);

		for (size_t i = 1; i <= per; i++) {
			uint64_t at =
				from + (uint64_t)((double)(to - from) * (double)i / (double)per);

			at = m->begin + (pages ? i * page : at / page * page);
			if (at > m->bounds[m->n] && at < m->end)
				m->bounds[++m->n] = at;
		}
		from = to;
	}
	m->bounds[++m->n] = m->end;
}

/* The cell that holds `at`, which is inside the range. */
static size_t cell_of(const struct datamap *m, uint64_t at)
{
	size_t low = 0, high = m->n;

	while (high - low > 1) {
		size_t middle = low + (high - low) / 2;

		if (m->bounds[middle] <= at)
			low = middle;
		else
			high = middle;
	}
	return low;
}

/* Amounts of cells become sums of all cells before. */
static void add_up(double *cells, size_t n)
{
	double sum = 0;

	for (size_t i = 0; i <= n; i++) {
		double own = cells[i];

		cells[i] = sum;
		sum += own;
	}
}

static int map_cache(struct datamap *m, int fd)
{
	for (size_t i = 0; i < m->n; i++) {
		uint64_t at = m->bounds[i], resident = 0;
		int err = pagecache_resident(fd, at, m->bounds[i + 1] - at, &resident,
					     &m->cache_sampled);

		if (err)
			return err;
		m->resident[i] = (double)resident;
	}
	add_up(m->resident, m->n);
	return 0;
}

/* Share a hole among the cells that it lies in. */
static void add_hole(struct datamap *m, uint64_t at, uint64_t end)
{
	for (size_t i = at < end ? cell_of(m, at) : m->n; at < end; i++) {
		uint64_t next = m->bounds[i + 1] < end ? m->bounds[i + 1] : end;

		m->holes[i] += (double)(next - at);
		at = next;
	}
}

/* From `at` on, as many holes as before. */
static void extrapolate(struct datamap *m, uint64_t at)
{
	double share = 0;

	for (size_t i = 0; i < m->n; i++)
		share += m->holes[i];
	share /= (double)(at - m->begin);
	for (size_t i = cell_of(m, at); i < m->n; i++) {
		uint64_t from = m->bounds[i] > at ? m->bounds[i] : at;

		m->holes[i] += share * (double)(m->bounds[i + 1] - from);
	}
}

static int map_holes(struct datamap *m, int fd, size_t extents)
{
	uint64_t at = m->begin;

	for (size_t seen = 0; at < m->end; seen++) {
		off_t data = lseek(fd, (off_t)at, SEEK_DATA), hole;

		if (data < 0 && errno != ENXIO)
			return -errno;
		/* There is no more data up to the end of the file. */
		if (data < 0 || (uint64_t)data >= m->end) {
			add_hole(m, at, m->end);
			break;
		}
		add_hole(m, at, (uint64_t)data);
		hole = lseek(fd, data, SEEK_HOLE);
		if (hole < 0)
			return -errno;
		at = (uint64_t)hole;
		if (seen >= extents && at < m->end) {
			extrapolate(m, at);
			break;
		}
	}
	add_up(m->holes, m->n);
	return 0;
}

int datamap_take(struct datamap *m, int fd, uint64_t begin, uint64_t end, size_t cells, bool cache,
		 bool holes)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);

	datamap_free(m);
	m->begin = begin / page * page;
	m->end = end;
	m->bounds = calloc(cells + 2, sizeof(*m->bounds));
	m->resident = calloc(cells + 2, sizeof(*m->resident));
	m->holes = calloc(cells + 2, sizeof(*m->holes));
	if (!m->bounds || !m->resident || !m->holes) {
		datamap_free(m);
		return -ENOMEM;
	}
	set_bounds(m, cells, page);
	m->cache_err = cache ? map_cache(m, fd) : -EOPNOTSUPP;
	m->hole_err = holes ? map_holes(m, fd, cells) : -EOPNOTSUPP;
	if (m->cache_err)
		memset(m->resident, 0, (m->n + 1) * sizeof(*m->resident));
	if (m->hole_err)
		memset(m->holes, 0, (m->n + 1) * sizeof(*m->holes));
	return 0;
}

/* The part of a quantity that lies before `at`, by its sums before each cell. */
static double before(const struct datamap *m, const double *sums, uint64_t at)
{
	size_t i = cell_of(m, at);

	return sums[i] + (sums[i + 1] - sums[i]) * (double)(at - m->bounds[i]) /
				 (double)(m->bounds[i + 1] - m->bounds[i]);
}

bool datamap_is_exact(const struct datamap *m, uint64_t at)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	size_t i;

	if (!m->n || at <= m->begin || at >= m->end)
		return true;
	i = cell_of(m, at);
	return at == m->bounds[i] || m->bounds[i + 1] - m->bounds[i] <= page;
}

bool datamap_has_all_pages(const struct datamap *m)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);

	return m->n == (m->end - m->begin + page - 1) / page;
}

void datamap_add(const struct datamap *m, uint64_t offset, uint64_t bytes, double *covered,
		 double *resident, double *holes)
{
	uint64_t end = offset + bytes;

	if (offset < m->begin)
		offset = m->begin;
	if (end > m->end)
		end = m->end;
	if (!m->n || offset >= end)
		return;
	*covered += (double)(end - offset);
	*resident += before(m, m->resident, end) - before(m, m->resident, offset);
	*holes += before(m, m->holes, end) - before(m, m->holes, offset);
}

#define SECTOR_BYTES 512 /* of the counts, whatever the device's */

int diskstats_number(const char *path, dev_t *number)
{
	struct stat st;

	if (stat(path, &st) < 0)
		return -errno;
	*number = S_ISBLK(st.st_mode) ? st.st_rdev : st.st_dev;
	return 0;
}

int diskstats_disk(dev_t number, char name[DISKSTATS_NAME_SIZE], dev_t *disk)
{
	const dev_t dev = blockdev_disk(number);
	char link[64], directory[PATH_MAX];
	const char *last;

	snprintf(link, sizeof(link), "/sys/dev/block/%u:%u", major(dev), minor(dev));
	if (!realpath(link, directory))
		return -ENODEV;
	last = path_last(directory);
	if (strlen(last) >= DISKSTATS_NAME_SIZE)
		return -ENODEV;
	strcpy(name, last);
	if (disk)
		*disk = dev;
	return 0;
}

int diskstats_device(const char *path, char name[DISKSTATS_NAME_SIZE])
{
	dev_t number;
	int err = diskstats_number(path, &number);

	return err ? err : diskstats_disk(number, name, NULL);
}

int diskstats_read(const char *name, struct diskstats *s)
{
	char path[DISKSTATS_NAME_SIZE + 32];
	uint64_t sectors[2];
	FILE *f;
	int n;

	snprintf(path, sizeof(path), "/sys/class/block/%s/stat", name);
	f = fopen(path, "re");
	if (!f)
		return -errno;
	n = fscanf(f, "%" SCNu64 " %" SCNu64 " %" SCNu64 " %*u %" SCNu64 " %" SCNu64 " %" SCNu64,
		   &s->requests[0], &s->merged[0], &sectors[0], &s->requests[1], &s->merged[1],
		   &sectors[1]);
	fclose(f);
	if (n != 6)
		return -EBADMSG;
	s->bytes[0] = sectors[0] * SECTOR_BYTES;
	s->bytes[1] = sectors[1] * SECTOR_BYTES;
	return 0;
}

bool diskstats_counts(const char *name)
{
	char path[DISKSTATS_NAME_SIZE + 40], buf[16], *line;

	snprintf(path, sizeof(path), "/sys/class/block/%s/queue/iostats", name);
	line = sysfile_line(path, buf, sizeof(buf));
	return !line || strcmp(line, "0") != 0;
}
