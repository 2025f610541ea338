/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Maps of resident bytes and holes: src/io/datamap.c, over files in memory, whose pages are
 * resident exactly where they were written.
 */
#include "unit.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "xdd/io/datamap.h"

#define KIB 1024ull
#define MIB (1024 * KIB)
#define GIB (1024 * MIB)

static struct datamap map;
static uint64_t page;

static int file_of(uint64_t size)
{
	int fd = memfd_create("datamap", MFD_CLOEXEC);

	page = (uint64_t)sysconf(_SC_PAGESIZE);
	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, (off_t)size), 0);
	return fd;
}

static void put(int fd, uint64_t offset, uint64_t bytes)
{
	static const char data[64 * KIB] = { 1 };

	for (uint64_t at = 0; at < bytes; at += sizeof(data)) {
		size_t n = bytes - at < sizeof(data) ? bytes - at : sizeof(data);

		assert_int_equal(pwrite(fd, data, n, (off_t)(offset + at)), n);
	}
}

static void take(int fd, uint64_t begin, uint64_t end, size_t cells)
{
	assert_int_equal(datamap_take(&map, fd, begin, end, cells, true, true), 0);
	if (map.cache_err)
		skip();
	assert_int_equal(map.hole_err, 0);
}

static bool near(double a, double b, double by)
{
	return a - b <= by && b - a <= by;
}

/* `resident` of `bytes` from `offset` on, to a byte; the others are holes. */
static void expect(uint64_t offset, uint64_t bytes, double resident)
{
	double covered = 0, got = 0, holes = 0;

	datamap_add(&map, offset, bytes, &covered, &got, &holes);
	assert_true(covered == (double)bytes);
	assert_true(near(got, resident, 1));
	assert_true(near(holes, (double)bytes - resident, 1));
}

TEST(test_every_other_page)
{
	int fd = file_of(4 * MIB);

	for (uint64_t at = 0; at < 4 * MIB; at += 2 * page)
		put(fd, at, page);
	take(fd, 0, 4 * MIB, 4 * MIB / page);
	assert_true(datamap_has_all_pages(&map));
	assert_false(map.cache_sampled);
	expect(0, 4 * MIB, 2.0 * MIB);
	expect(0, page, (double)page);
	expect(page, page, 0);
	expect(3 * page, 2 * page, (double)page);
	assert_true(datamap_is_exact(&map, 77 * page));
	datamap_free(&map);
	close(fd);
}

/* The pattern has the period of anything that looks at the file at regular distances. */
TEST(test_every_other_mebibyte)
{
	int fd = file_of(64 * MIB);

	for (uint64_t at = MIB; at < 64 * MIB; at += 2 * MIB)
		put(fd, at, MIB);
	for (size_t cells = 64; cells <= 1024; cells *= 2) {
		take(fd, 0, 64 * MIB, cells);
		assert_true(map.n <= cells + 1);
		expect(0, 64 * MIB, 32.0 * MIB);
	}
	expect(5 * MIB, MIB, (double)MIB);
	expect(6 * MIB, MIB, 0);
	datamap_free(&map);
	close(fd);
}

TEST(test_beginning_is_fine)
{
	int fd = file_of(8 * GIB);

	put(fd, 0, MIB);
	take(fd, 0, 8 * GIB, 8192);
	expect(0, MIB, (double)MIB);
	expect(0, 2 * MIB, (double)MIB);
	expect(64 * KIB, 4 * MIB, (double)(MIB - 64 * KIB));
	assert_true(datamap_is_exact(&map, 8 * GIB));
	assert_false(datamap_has_all_pages(&map));
	assert_false(datamap_is_exact(&map, 5 * GIB + page));
	datamap_free(&map);
	close(fd);
}

TEST(test_odd_bounds)
{
	int fd = file_of(10 * page + 100);
	double covered = 0, resident = 0, holes = 0;

	put(fd, 0, 10 * page + 100);
	take(fd, 3 * page + 7, 10 * page + 100, 64);
	expect(3 * page + 7, 7 * page + 93, (double)(7 * page + 93));
	/* Nothing is known outside of the range. */
	datamap_add(&map, 0, 3 * page, &covered, &resident, &holes);
	datamap_add(&map, 11 * page, 3 * page, &covered, &resident, &holes);
	assert_true(covered == 0 && resident == 0 && holes == 0);
	datamap_free(&map);
	datamap_add(&map, 0, page, &covered, &resident, &holes);
	assert_true(covered == 0);
	close(fd);
}

TEST(test_sampled)
{
	int fd = file_of(64 * GIB);

	take(fd, 0, 64 * GIB, 64);
	assert_true(map.cache_sampled);
	expect(0, 64 * GIB, 0);
	datamap_free(&map);
	close(fd);
}

/* More extents than are looked at: the rest counts as having the same share. */
TEST(test_many_extents)
{
	int fd = file_of(2000 * page);
	double covered = 0, resident = 0, holes = 0;
	/* Of the 257 pages of 65 extents with the holes between them, 192 are in holes. */
	const double seen = 257, seen_holes = 192, rest = 1600 - seen;

	for (uint64_t at = 0; at < 2000 * page; at += 4 * page)
		put(fd, at, page);
	take(fd, 400 * page, 2000 * page, 64);
	datamap_add(&map, 400 * page, 1600 * page, &covered, &resident, &holes);
	assert_true(near(resident, 400.0 * (double)page, 1));
	assert_true(near(holes, (seen_holes + rest * seen_holes / seen) * (double)page, 1));
	datamap_free(&map);
	close(fd);
}

RUN_TESTS(NULL, NULL)
