/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A file of known content for the tests of one engine, and requests for it.
 */
#ifndef TESTS_UNIT_ENGINE_FILE_H
#define TESTS_UNIT_ENGINE_FILE_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "xdd/io/engine.h"

#define SIZE 10000

static char path[] = "/tmp/xdd-test-engine-XXXXXX";
static int fd;
static unsigned char buf[SIZE], data[SIZE];

static inline void make_data(void)
{
	for (size_t i = 0; i < SIZE; i++)
		data[i] = (unsigned char)(i * 7 + i / 256);
}

static inline int make_file(void **state)
{
	fd = mkstemp(path);
	make_data();
	return fd < 0 ? -1 : 0;
}

static inline int remove_file(void **state)
{
	close(fd);
	return unlink(path);
}

/* The file as it is at the start of each test. */
static inline int refill(void **state)
{
	memset(buf, 0, sizeof(buf));
	return ftruncate(fd, 0) || syscall(SYS_pwrite64, fd, data, SIZE, 0) != SIZE;
}

static inline struct io_request request(enum op_dir dir, uint64_t offset, uint64_t size)
{
	return (struct io_request){ .dir = dir, .buf = buf, .offset = offset, .size = size };
}

#endif
