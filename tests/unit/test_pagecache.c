/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The page cache seen from outside: src/io/datamap.c, over files in memory, which are in the page
 * cache only.
 */
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "xdd/io/datamap.h"

#define PAGES 100

static uint64_t page;
static int memory;

/* Pages from 10 to 29 of PAGES. */
static int make_pages(void)
{
	if (ftruncate(memory, (off_t)(PAGES * page)))
		return -1;
	for (unsigned i = 10; i < 30; i++)
		if (pwrite(memory, "1", 1, (off_t)(i * page)) != 1)
			return -1;
	return 0;
}

static int make_file(void **state)
{
	page = (uint64_t)sysconf(_SC_PAGESIZE);
	memory = memfd_create("pagecache", MFD_CLOEXEC);
	return memory < 0 ? -1 : make_pages();
}

static int close_file(void **state)
{
	return close(memory);
}

TEST(test_where)
{
	static const char *const others[] = { "/", "/proc/self/stat", "/dev/null" };
	struct statfs fs;
	int fd, ends[2];
	bool in_memory;

	assert_true(pagecache_is_all(memory));
	assert_false(pagecache_writes_back(memory));
	for (unsigned i = 0; i < 3; i++) {
		fd = open(others[i], O_RDONLY | O_CLOEXEC);
		if (fd < 0)
			continue;
		assert_false(pagecache_is_all(fd));
		close(fd);
	}
	assert_int_equal(pipe(ends), 0);
	assert_false(pagecache_is_all(ends[0]));
	close(ends[0]);
	close(ends[1]);
	assert_false(pagecache_is_all(-1));
	/* A file of the test itself is on whatever the build is on. */
	fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(fstatfs(fd, &fs), 0);
	in_memory = fs.f_type == TMPFS_MAGIC || fs.f_type == RAMFS_MAGIC;
	assert_int_equal(pagecache_is_all(fd), in_memory);
	assert_int_equal(pagecache_writes_back(fd),
			 !in_memory && fs.f_type != OVERLAYFS_SUPER_MAGIC);
	close(fd);
}

/* Pages from `first` on, `n` of them, of which `there` are resident. */
static void resident(uint64_t first, uint64_t n, uint64_t there)
{
	uint64_t bytes = 12345;
	bool sampled = false;

	assert_int_equal(pagecache_resident(memory, first * page, n * page, &bytes, &sampled), 0);
	assert_int_equal(bytes, there * page);
	assert_false(sampled);
}

TEST(test_resident)
{
	uint64_t bytes = 0;
	bool sampled = false;

	resident(0, PAGES, 20);
	resident(0, 10, 0);
	resident(0, 11, 1);
	resident(10, 20, 20);
	resident(29, 1, 1);
	resident(29, 10, 1);
	resident(30, 10, 0);
	/* A part of a page is no more than that. */
	assert_int_equal(pagecache_resident(memory, 29 * page, 100, &bytes, &sampled), 0);
	assert_int_equal(bytes, 100);
	assert_int_equal(pagecache_resident(memory, 28 * page, page + 100, &bytes, &sampled), 0);
	assert_int_equal(bytes, page + 100);
	assert_true(pagecache_resident(-1, 0, page, &bytes, &sampled) < 0);
}

/* Large ranges are sampled; of one that is not there at all no sample is. */
TEST(test_sampled)
{
	uint64_t bytes = 1;
	bool sampled = false;

	assert_int_equal(ftruncate(memory, (off_t)1 << 40), 0);
	assert_int_equal(pagecache_resident(memory, 1 << 30, (uint64_t)1 << 39, &bytes, &sampled),
			 0);
	assert_int_equal(bytes, 0);
	assert_true(sampled);
}

/* A sample lies in its range: here in a range of which all is there, and nothing around it. */
TEST(test_sample_is_inside)
{
	static const char data[65536] = { 1 };
	const uint64_t begin = 1ull << 30, size = (64ull << 20) + sizeof(data);
	uint64_t bytes = 0;
	bool sampled = false;

	assert_int_equal(ftruncate(memory, 0), 0);
	for (uint64_t at = begin; at < begin + size; at += sizeof(data))
		assert_int_equal(pwrite(memory, data, sizeof(data), (off_t)at), sizeof(data));
	assert_int_equal(pagecache_resident(memory, begin, size, &bytes, &sampled), 0);
	assert_int_equal(bytes, size);
	assert_true(sampled);
	assert_int_equal(ftruncate(memory, 0), 0);
	assert_int_equal(make_pages(), 0);
}

/* Pages of a file in memory are nowhere else, and stay. */
TEST(test_drop)
{
	uint64_t bytes = 0;
	bool sampled = false;

	assert_int_equal(pagecache_drop(memory), 0);
	assert_int_equal(pagecache_resident(memory, 0, PAGES * page, &bytes, &sampled), 0);
	assert_int_equal(bytes, 20 * page);
	assert_int_equal(pagecache_drop(-1), -EBADF);
}

RUN_TESTS(make_file, close_file)
