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
#include <sys/syscall.h>
#include <unistd.h>

#include "xdd/base/file.h"

static char content[300000];

static unsigned reads;

ssize_t read(int fd, void *buf, size_t size)
{
	reads++;
	return syscall(SYS_read, fd, buf, size);
}

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
		/* One read for the contents, and one that finds the end. */
		reads = 0;
		check(file_of(sizes[i]), SIZE_MAX, sizes[i]);
		assert_int_equal(reads, sizes[i] ? 2 : 1);
		check(file_of(sizes[i]), sizes[i], sizes[i]);
		assert_int_equal(reads, sizes[i] ? 4 : 2);
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

/* Where the size says nothing, the first read is large enough for a usual file. */
TEST(test_no_size)
{
	char *data;
	size_t got;
	int fds[2];

	assert_int_equal(pipe(fds), 0);
	assert_int_equal(write(fds[1], content, 1000), 1000);
	close(fds[1]);
	reads = 0;
	check(fds[0], SIZE_MAX, 1000);
	assert_int_equal(reads, 2);
	fds[0] = open("/proc/self/stat", O_RDONLY);
	assert_true(fds[0] >= 0);
	reads = 0;
	assert_int_equal(readfile(fds[0], SIZE_MAX, &data, &got), 0);
	assert_int_equal(reads, 2);
	assert_int_equal(strlen(data), got);
	free(data);
	close(fds[0]);
}

/* No more than the byte after the limit is read. */
TEST(test_limit)
{
	static const size_t limits[] = { 0, 1, 4095, 65535, 299998, 299999 };

	for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
		int fd = file_of(sizeof(content));
		char *data = content;
		size_t got;

		assert_int_equal(readfile(fd, limits[i], &data, &got), -EFBIG);
		assert_null(data);
		assert_int_equal(lseek(fd, 0, SEEK_CUR), limits[i] + 1);
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
