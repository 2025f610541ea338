/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Files of the kernel for unit tests: fopen, open, opendir, access and stat of the program are this
 * rig's, and take paths below a directory of the test.
 */
#ifndef XDD_TEST_KERNEL_FILES_H
#define XDD_TEST_KERNEL_FILES_H

#include <sys/types.h>

/* Setup and teardown of a cmocka test. */
int kernel_files_begin(void **state);
int kernel_files_end(void **state);

/* Write a file, with its directories. */
void kernel_file_put(const char *path, const char *text);

/* All of a file; static. */
const char *kernel_file_text(const char *path);

/* A path that stat(2) takes for a block device, until the end of the test. */
void kernel_file_node(const char *path, dev_t dev);

#endif
