/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A directory that tests work in: set-up and tear-down of a group, or of each test. */
#ifndef XDD_TESTS_UNIT_SCRATCH_H
#define XDD_TESTS_UNIT_SCRATCH_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char directory[] = "/tmp/xdd-test-XXXXXX";

/* Other users may enter it. */
static inline int enter_directory(void **state)
{
	memset(strchr(directory, '\0') - 6, 'X', 6);
	return mkdtemp(directory) && chdir(directory) == 0 && chmod(".", 0755) == 0 ? 0 : -1;
}

/* With all that is left in it, closed directories too. */
static inline int remove_directory(void **state)
{
	char command[sizeof("chmod -R u+rwx ; rm -rf ") + 2 * sizeof(directory)];

	snprintf(command, sizeof(command), "chmod -R u+rwx %s; rm -rf %s", directory, directory);
	return system(command);
}

#endif
