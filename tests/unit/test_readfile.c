/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reading whole files: src/base/file.c.
 */
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "xdd/base/file.h"

static char content[300000];

/* A file with the first `size` bytes of `content`. */
static int file_of(size_t size)
{
	int fd = memfd_create("readfile", 0);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, content, size), size);
	lseek(fd, 0, SEEK_SET);
	return fd;
}

static void check(int fd, size_t limit, size_t size)
{
	char *data;
	size_t got;

	assert_int_equal(readfile(fd, limit, &data, &got), 0);
	assert_int_equal(got, size);
	assert_memory_equal(data, content, size);
	assert_int_equal(data[size], '\0');
	free(data);
	close(fd);
}

TEST(test_files)
{
	static const size_t sizes[] = { 0, 1, 4095, 4096, 65535, 65536, 65537, 300000 };

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		check(file_of(sizes[i]), SIZE_MAX, sizes[i]);
		check(file_of(sizes[i]), sizes[i], sizes[i]);
	}
}

/* A pipe has no size, and its reads are short: more than once the room that is guessed. */
TEST(test_pipe)
{
	int fds[2];

	assert_int_equal(pipe(fds), 0);
	if (fork() == 0) {
		for (size_t done = 0; done < sizeof(content); done += 1000)
			if (write(fds[1], content + done, 1000) != 1000)
				_exit(1);
		_exit(0);
	}
	close(fds[1]);
	check(fds[0], SIZE_MAX, sizeof(content));
}

TEST(test_limit)
{
	static const size_t sizes[] = { 1, 4096, 65536, 300000 };

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		int fd = file_of(sizes[i]);
		char *data = content;
		size_t got;

		assert_int_equal(readfile(fd, sizes[i] - 1, &data, &got), -EFBIG);
		assert_null(data);
		close(fd);
	}
}

TEST(test_errors)
{
	char *data, part[10];
	int fd = open("/", O_RDONLY);
	size_t got;

	assert_int_equal(readfile(fd, SIZE_MAX, &data, &got), -EISDIR);
	assert_null(data);
	close(fd);
	assert_int_equal(readfile(-1, SIZE_MAX, &data, &got), -EBADF);
	fd = file_of(7);
	assert_int_equal(readfile_part(fd, part, sizeof(part)), 7);
	assert_int_equal(readfile_part(fd, part, sizeof(part)), 0);
	close(fd);
	assert_int_equal(readfile_part(fd, part, sizeof(part)), -EBADF);
}

/* Parts at an offset, up to the end of the file. */
TEST(test_at_offset)
{
	static char part[200000];
	int fd = file_of(sizeof(content));

	assert_int_equal(readfile_at(fd, part, 0, 5), 0);
	assert_int_equal(readfile_at(fd, part, 1000, 12345), 1000);
	assert_memory_equal(part, content + 12345, 1000);
	assert_int_equal(readfile_at(fd, part, sizeof(part), 150000), 150000);
	assert_memory_equal(part, content + 150000, 150000);
	assert_int_equal(readfile_at(fd, part, 10, sizeof(content)), 0);
	close(fd);
	assert_int_equal(readfile_at(fd, part, 1, 0), -EBADF);
}

static int fill(void **state)
{
	for (size_t i = 0; i < sizeof(content); i++)
		content[i] = (char)(i * 31 + i / 256);
	return 0;
}

RUN_TESTS(fill, NULL)
