/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * I/O buffers: src/io/engine.c.
 */
#include "unit.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <unistd.h>

#include "xdd/io/engine.h"
#include "xdd/sys/machine.h"

#define NOBODY 65534
#define HUGE_PAGE ((size_t)2 << 20)

static struct memory_plan plain(void)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);

	return (struct memory_plan){ .page_bytes = page, .align_bytes = page };
}

static void check_buffer_locked(size_t size, const struct memory_plan *plan, bool lock)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	static unsigned char resident[4096];
	struct io_buffer b;
	struct err why = { 0 };
	unsigned char *data;

	assert_int_equal(io_buffer_alloc(&b, size, plan, lock, &why), 0);
	data = b.data;
	assert_true(b.map_size >= size);
	assert_int_equal((uintptr_t)data % (size >= HUGE_PAGE ? HUGE_PAGE : page), 0);
	assert_int_equal((uintptr_t)data % plan->align_bytes, 0);

	assert_true(b.map_size / page <= sizeof(resident));
	assert_int_equal(mincore(data, b.map_size, resident), 0);
	for (size_t i = 0; i < b.map_size / page; i++)
		assert_true(resident[i] & 1);
	for (size_t i = 0; i < b.map_size; i++)
		if (data[i])
			fail_msg("byte %zu is not zero", i);
	memset(data, 0xa5, b.map_size);
	io_buffer_free(&b);
	assert_null(b.data);
	io_buffer_free(&b);
}

static void check_buffer_of(size_t size, const struct memory_plan *plan)
{
	check_buffer_locked(size, plan, true);
	check_buffer_locked(size, plan, false);
}

static void check_buffer(size_t size)
{
	const struct memory_plan plan = plain();

	check_buffer_of(size, &plan);
}

TEST(test_sizes)
{
	static const size_t sizes[] = { 0,
					1,
					512,
					4096,
					4097,
					1u << 20,
					HUGE_PAGE - 1,
					HUGE_PAGE,
					HUGE_PAGE + 1,
					3 * HUGE_PAGE };

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
		check_buffer(sizes[i]);
}

TEST(test_free_nothing)
{
	struct io_buffer b = { 0 };

	io_buffer_free(&b);
}

TEST(test_too_much)
{
	const struct memory_plan plan = plain();
	struct err why = { 0 };
	struct io_buffer b;

	assert_int_equal(io_buffer_alloc(&b, SIZE_MAX, &plan, true, &why), -ENOMEM);
	io_buffer_free(&b);
	assert_int_equal(io_buffer_alloc(&b, SIZE_MAX - HUGE_PAGE, &plan, true, &why), -ENOMEM);
	io_buffer_free(&b);
}

TEST(test_alignments)
{
	struct memory_plan plan = plain();

	for (uint64_t align = plan.page_bytes; align <= 64u << 20; align *= 4) {
		plan.align_bytes = align;
		plan.shared = false;
		check_buffer_of(65536, &plan);
		plan.shared = true;
		check_buffer_of(65536, &plan);
	}
}

TEST(test_shared)
{
	struct memory_plan plan = plain();
	struct err why = { 0 };
	struct shmid_ds ds;
	struct io_buffer b;
	bool found = false;
	int highest;

	plan.shared = true;
	assert_int_equal(io_buffer_alloc(&b, 3 << 20, &plan, true, &why), 0);
	/* It is there, attached once, and marked for removal. */
	highest = shmctl(0, SHM_INFO, &ds);
	for (int i = 0; i <= highest; i++) {
		if (shmctl(i, SHM_STAT, &ds) < 0 || ds.shm_cpid != getpid())
			continue;
		found = true;
		assert_int_equal(ds.shm_segsz, b.map_size);
		assert_int_equal(ds.shm_nattch, 1);
		assert_true(ds.shm_perm.mode & SHM_DEST);
		assert_int_equal(ds.shm_perm.mode & 0777, 0600);
	}
	assert_true(found);
	io_buffer_free(&b);
	highest = shmctl(0, SHM_INFO, &ds);
	for (int i = 0; i <= highest; i++)
		assert_false(shmctl(i, SHM_STAT, &ds) >= 0 && ds.shm_cpid == getpid());
}

/* A second one of what has just been given back does not show what the first held. */
TEST(test_again)
{
	struct memory_plan plan = plain();

	for (int i = 0; i < 4; i++) {
		plan.shared = i % 2;
		check_buffer_of(1 << 20, &plan);
	}
}

TEST(test_places)
{
	struct memory_plan plan = plain();
	struct idset nodes = { 0 };

	if (mempolicy_available(NULL))
		skip();
	assert_int_equal(topology_memory_nodes(&nodes), 0);
	plan.nodes = &nodes;
	for (plan.policy = MEMPOLICY_NONE; plan.policy <= MEMPOLICY_INTERLEAVE; plan.policy++) {
		plan.shared = false;
		check_buffer_of(3 << 20, &plan);
		plan.shared = true;
		check_buffer_of(3 << 20, &plan);
	}
}

TEST(test_no_such_place)
{
	struct memory_plan plan = plain();
	struct idset nodes = { 0 };
	struct err why = { 0 };
	struct io_buffer b;

	if (mempolicy_available(NULL))
		skip();
	idset_add(&nodes, IDSET_SIZE - 1);
	plan.nodes = &nodes;
	plan.policy = MEMPOLICY_BIND;
	assert_int_equal(io_buffer_alloc(&b, 4096, &plan, true, &why), -EINVAL);
	assert_non_null(strstr(why.text, "-numa"));
	assert_null(b.data);
}

/* Explicit huge pages: there, or said not to be there. */
TEST(test_huge_pages)
{
	struct memory_plan plan = { .huge_pages = true };
	struct huge_page_pool pool;
	struct err why = { 0 };
	struct io_buffer b;
	int ret;

	assert_int_equal(topology_huge_pages(&pool), 0);
	if (!pool.page_bytes)
		skip();
	plan.page_bytes = plan.align_bytes = pool.page_bytes;
	ret = io_buffer_alloc(&b, (pool.left + 1) * pool.page_bytes, &plan, true, &why);
	if (ret == 0) { /* the pool has grown */
		io_buffer_free(&b);
		skip();
	}
	assert_int_equal(ret, -ENOMEM);
	assert_non_null(strstr(why.text, "vm.nr_hugepages"));
	assert_null(b.data);
}

/* Locking is a favour: without it the buffer is there all the same. */
TEST(test_no_locking)
{
	struct rlimit saved, none;
	bool root = geteuid() == 0;

	assert_int_equal(getrlimit(RLIMIT_MEMLOCK, &saved), 0);
	none = saved;
	none.rlim_cur = 0;
	assert_int_equal(setrlimit(RLIMIT_MEMLOCK, &none), 0);
	/* Root may lock whatever the limit says. */
	if (root)
		assert_int_equal(seteuid(NOBODY), 0);
	check_buffer(65536);
	if (root)
		assert_int_equal(seteuid(0), 0);
	assert_int_equal(setrlimit(RLIMIT_MEMLOCK, &saved), 0);
}

RUN_TESTS(NULL, NULL)
