/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Threads and descriptors that a test leaves: leftovers.h.
 */
#include "unit.h"

#include <dirent.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

#include "leftovers.h"

static unsigned entries(const char *path)
{
	DIR *d = opendir(path);
	unsigned n = 0;

	assert_non_null(d);
	while (readdir(d))
		n++;
	closedir(d);
	return n;
}

static void *nothing(void *arg)
{
	(void)arg;
	return (void *)(intptr_t)gettid();
}

/*
 * The threads of the test itself. The thread sanitizer starts one of its own with the first; and
 * threads vanish from /proc a little after they are joined.
 */
static unsigned own_threads(void)
{
	static unsigned own;
	pthread_t thread;
	char name[40];
	void *number;

	if (!own) {
		assert_int_equal(pthread_create(&thread, NULL, nothing, NULL), 0);
		pthread_join(thread, &number);
		snprintf(name, sizeof(name), "/proc/self/task/%d", (int)(intptr_t)number);
		while (access(name, F_OK) == 0)
			usleep(1000);
		own = entries("/proc/self/task");
	}
	return own;
}

struct leftovers leftovers_count(void)
{
	return (struct leftovers){ own_threads(), entries("/proc/self/fd") };
}

void leftovers_assert_none(const struct leftovers *before)
{
	for (int i = 0; i < 1000 && entries("/proc/self/task") > before->threads; i++)
		usleep(1000);
	assert_int_equal(entries("/proc/self/task"), before->threads);
	assert_int_equal(entries("/proc/self/fd"), before->descriptors);
}
