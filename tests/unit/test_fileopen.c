/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Opening files whose names may lead elsewhere: src/base/file.c.
 */
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "scratch.h"
#include "xdd/base/file.h"
#include "xdd/base/units.h"

#define NOBODY 65534

/* The limit of open files, and errno of its calls. */
static struct rlimit open_files;
static int get_errno, set_errno;
static unsigned sets;

int getrlimit(__rlimit_resource_t resource, struct rlimit *limit)
{
	if (resource != RLIMIT_NOFILE)
		return prlimit(0, resource, NULL, limit);
	errno = get_errno;
	if (get_errno)
		return -1;
	*limit = open_files;
	return 0;
}

int setrlimit(__rlimit_resource_t resource, const struct rlimit *limit)
{
	assert_int_equal(resource, RLIMIT_NOFILE);
	assert_int_equal(limit->rlim_max, open_files.rlim_max);
	sets++;
	errno = set_errno;
	if (set_errno)
		return -1;
	open_files = *limit;
	return 0;
}

/* The file that a name leads to; NULL: `err`. */
static void follows(const char *path, int err, const char *wanted)
{
	char *name = NULL;

	assert_int_equal(fileopen_follow(path, &name), err);
	if (wanted)
		assert_string_equal(name, wanted);
	else
		assert_null(name);
	free(name);
}

static void make(const char *name)
{
	int fd = open(name, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	close(fd);
}

TEST(test_follow)
{
	make("file");
	assert_int_equal(mkdir("sub", 0700), 0);
	assert_int_equal(symlink("file", "to-file"), 0);
	assert_int_equal(symlink("../to-file", "sub/to-link"), 0);
	assert_int_equal(symlink("nothing", "sub/to-nothing"), 0);
	assert_int_equal(symlink("/nowhere/at/all", "absolute"), 0);
	assert_int_equal(symlink("loop", "loop"), 0);
	follows("file", 0, "file");
	follows("nothing", 0, "nothing");
	follows("to-file", 0, "file");
	follows("sub/to-link", 0, "sub/../file");
	follows("sub/to-nothing", 0, "sub/nothing");
	follows("absolute", 0, "/nowhere/at/all");
	follows("loop", -ELOOP, NULL);
	follows("file/below", -ENOTDIR, NULL);
	/* As many links as the kernel follows, and one more. */
	assert_int_equal(symlink("file", "link1"), 0);
	for (int i = 1; i <= 40; i++) {
		char to[16], link[16];

		snprintf(to, sizeof(to), "link%d", i);
		snprintf(link, sizeof(link), "link%d", i + 1);
		assert_int_equal(symlink(to, link), 0);
	}
	follows("link40", 0, "file");
	assert_int_equal(access("link40", F_OK), 0);
	follows("link41", -ELOOP, NULL);
}

/* Links of others, in a directory that all may write to. */
TEST(test_planted_links)
{
	if (geteuid() != 0)
		skip();
	assert_int_equal(mkdir("sticky", 0700), 0);
	assert_int_equal(symlink("aim", "sticky/own"), 0);
	assert_int_equal(symlink("aim", "sticky/planted"), 0);
	assert_int_equal(lchown("sticky/planted", NOBODY, (gid_t)-1), 0);
	follows("sticky/planted", 0, "sticky/aim");
	assert_int_equal(chmod("sticky", 01777), 0);
	follows("sticky/own", 0, "sticky/aim");
	follows("sticky/planted", -EACCES, NULL);
	assert_int_equal(chmod("sticky", 0777), 0);
	follows("sticky/planted", 0, "sticky/aim");
	/* the owner of the directory may do what it wants there */
	assert_int_equal(chmod("sticky", 01777), 0);
	assert_int_equal(chown("sticky", NOBODY, (gid_t)-1), 0);
	follows("sticky/planted", 0, "sticky/aim");
	follows("sticky/own", 0, "sticky/aim");
}

static int accept(void *arg, int fd, const struct stat *st)
{
	unsigned *calls = arg;

	(void)fd;
	(*calls)++;
	return S_ISREG(st->st_mode) || S_ISFIFO(st->st_mode) ? 0 : -EPERM;
}

TEST(test_judged)
{
	unsigned calls = 0;
	int fd, again;

	assert_int_equal(fileopen_judged("nothing", O_RDONLY, accept, &calls), -ENOENT);
	assert_int_equal(calls, 0);
	assert_int_equal(fileopen_judged("sub", O_RDONLY, accept, &calls), -EPERM);
	assert_int_equal(calls, 1);
	fd = fileopen_judged("to-file", O_RDWR | O_APPEND, accept, &calls);
	assert_true(fd >= 0);
	assert_int_equal(fcntl(fd, F_GETFL) & (O_ACCMODE | O_APPEND | O_NONBLOCK),
			 O_RDWR | O_APPEND);
	assert_int_equal(fcntl(fd, F_GETFD), FD_CLOEXEC);
	again = fileopen_again(fd, O_RDONLY);
	assert_true(again >= 0);
	assert_int_equal(fcntl(again, F_GETFL) & O_ACCMODE, O_RDONLY);
	close(again);
	close(fd);
}

/* Opening a pipe does not wait for its other end; transfers do. */
TEST(test_pipe)
{
	unsigned calls = 0;
	int reader, fd;

	assert_int_equal(mkfifo("pipe", 0600), 0);
	assert_int_equal(fileopen_judged("pipe", O_WRONLY, accept, &calls), -ENXIO);
	reader = open("pipe", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	assert_true(reader >= 0);
	fd = fileopen_judged("pipe", O_WRONLY, accept, &calls);
	assert_true(fd >= 0);
	assert_int_equal(fcntl(fd, F_GETFL) & O_NONBLOCK, 0);
	close(fd);
	close(reader);
}

TEST(test_make_room)
{
	static const struct {
		uint64_t n;
		int get_errno, set_errno;
		bool room;
		uint64_t limit, current;
		unsigned sets;
	} cases[] = {
		{ 1, 0, 0, true, 10, 10, 0 },	   { 10, 0, 0, true, 10, 10, 0 },
		{ 11, 0, 0, true, 11, 11, 1 },	   { 20, 0, 0, true, 20, 20, 1 },
		{ 21, 0, 0, false, 20, 10, 0 },	   { 11, 0, EPERM, false, 20, 10, 1 },
		{ 21, EFAULT, 0, true, 0, 10, 0 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		uint64_t limit = 7;

		open_files = (struct rlimit){ 10, 20 };
		get_errno = cases[i].get_errno;
		set_errno = cases[i].set_errno;
		sets = 0;
		assert_int_equal(fileopen_make_room(cases[i].n, &limit), cases[i].room);
		assert_int_equal(limit, cases[i].limit);
		assert_int_equal(open_files.rlim_cur, cases[i].current);
		assert_int_equal(sets, cases[i].sets);
	}
}

/* The clock of the times of files. */
static int64_t file_now_ns;

int clock_gettime(clockid_t clock, struct timespec *now)
{
	if (clock != CLOCK_REALTIME_COARSE)
		return (int)syscall(SYS_clock_gettime, clock, now);
	*now = (struct timespec){ .tv_sec = file_now_ns / (int64_t)NS_PER_SEC,
				  .tv_nsec = file_now_ns % (int64_t)NS_PER_SEC };
	return 0;
}

/*
 * A ctime is trusted once its clock has moved on by the granularity that its zeros show, and a
 * second later where the file is open for writing: `granule` and `late` after the ctime. One that
 * is older, or more than 2 s ahead, is trusted at once.
 */
static void check_age(int fd, int64_t ctime_ns, int64_t granule, int64_t late)
{
	const int64_t second = NS_PER_SEC, old = granule + second;
	const int64_t ages[] = { -2 * second, -1, 0, 1, granule, old - 1 };

	for (size_t i = 0; i < sizeof(ages) / sizeof(ages[0]); i++) {
		file_now_ns = ctime_ns + ages[i];
		assert_int_equal(fileage_wait_ns(fd, ctime_ns), granule + late - ages[i]);
	}
	file_now_ns = ctime_ns + old;
	assert_int_equal(fileage_wait_ns(fd, ctime_ns), 0);
	file_now_ns = ctime_ns - 2 * second - 1;
	assert_int_equal(fileage_wait_ns(fd, ctime_ns), 0);
}

TEST(test_age)
{
	const int64_t second = NS_PER_SEC, even = 1700000000 * second;
	int fd, writer;

	make("aged");
	fd = open("aged", O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	/* Without leases every file may be open for writing. */
	if (fcntl(fd, F_SETLEASE, F_RDLCK) || fcntl(fd, F_SETLEASE, F_UNLCK)) {
		close(fd);
		skip();
	}
	for (int writes = 0; writes < 2; writes++) {
		const int64_t late = writes ? second : 0;

		writer = writes ? open("aged", O_WRONLY | O_CLOEXEC) : -1;
		for (int64_t granule = 1; granule < second; granule *= 10)
			check_age(fd, even + 3 * granule, granule, late);
		check_age(fd, even + second, second, late);
		check_age(fd, even, 2 * second, late);
		if (writes)
			close(writer);
	}
	close(fd);
}

RUN_TESTS(enter_directory, remove_directory)
