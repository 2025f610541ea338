/*
 * I/O buffers: src/io/buffer.c.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "xdd/io/buffer.h"

#define NOBODY 65534
#define HUGE_PAGE ((size_t)2 << 20)

static void check_buffer(size_t size)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	static unsigned char resident[4096];
	struct io_buffer b;
	unsigned char *data;

	assert_int_equal(io_buffer_alloc(&b, size), 0);
	data = b.data;
	assert_true(b.size >= size);
	assert_int_equal((uintptr_t)data % (size >= HUGE_PAGE ? HUGE_PAGE : page), 0);

	assert_true(b.map_size / page <= sizeof(resident));
	assert_int_equal(mincore(b.map_base, b.map_size, resident), 0);
	for (size_t i = 0; i < b.map_size / page; i++)
		assert_true(resident[i] & 1);
	for (size_t i = 0; i < b.size; i++)
		if (data[i])
			fail_msg("byte %zu is not zero", i);
	memset(data, 0xa5, b.size);
	io_buffer_free(&b);
	assert_null(b.data);
	io_buffer_free(&b);
}

static void test_sizes(void **state)
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

	(void)state;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
		check_buffer(sizes[i]);
}

static void test_free_nothing(void **state)
{
	struct io_buffer b = { 0 };

	(void)state;
	io_buffer_free(&b);
}

static void test_too_much(void **state)
{
	struct io_buffer b;

	(void)state;
	assert_int_equal(io_buffer_alloc(&b, SIZE_MAX), -ENOMEM);
	io_buffer_free(&b);
	assert_int_equal(io_buffer_alloc(&b, SIZE_MAX - HUGE_PAGE), -ENOMEM);
	io_buffer_free(&b);
}

/* Locking is a favour: without it the buffer is there all the same. */
static void test_no_locking(void **state)
{
	struct rlimit saved, none;
	bool root = geteuid() == 0;

	(void)state;
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sizes),
		cmocka_unit_test(test_free_nothing),
		cmocka_unit_test(test_too_much),
		cmocka_unit_test(test_no_locking),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
