/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Opening outputs: src/base/output.c.
 */
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include "scratch.h"
#include "xdd/base/output.h"

static void write_text(const char *path, int flags, const char *text)
{
	int fd = output_open(path, flags);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	assert_int_equal(fcntl(fd, F_GETFD), FD_CLOEXEC);
	close(fd);
}

static void assert_text(const char *path, const char *wanted)
{
	char text[100] = "";
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	assert_true(read(fd, text, sizeof(text) - 1) >= 0);
	close(fd);
	assert_string_equal(text, wanted);
}

static int cut_error;

int ftruncate(int fd, off_t size)
{
	errno = cut_error;
	return cut_error ? -1 : (int)syscall(SYS_ftruncate, fd, size);
}

TEST(test_files)
{
	write_text("a", 0, "one");
	write_text("a", O_APPEND, "two");
	assert_text("a", "onetwo");
	write_text("a", 0, "three");
	assert_text("a", "threeo");
	write_text("a", O_APPEND | O_TRUNC, "four");
	assert_text("a", "four");
	cut_error = EIO;
	assert_int_equal(output_open("a", O_TRUNC), -EIO);
	cut_error = 0;
	assert_text("a", "four");
	assert_int_equal(symlink("b", "to-b"), 0);
	write_text("to-b", O_APPEND, "created");
	assert_text("b", "created");
	assert_int_equal(output_open("no/where", O_APPEND), -ENOENT);
	assert_int_equal(output_open("a/b", O_APPEND), -ENOTDIR);
	assert_int_equal(output_open(".", O_APPEND), -EISDIR);
	write_text("/dev/null", O_APPEND | O_TRUNC, "gone");
}

/* The result of a check before the run, and its text. */
static void checks(const char *path, int err, const char *text)
{
	char why[OUTPUT_WHY_SIZE] = "";

	assert_int_equal(output_check(path, why), err);
	assert_string_equal(why, text);
	assert_int_equal(output_check_new(path, why), err);
}

TEST(test_checks)
{
	write_text("file", 0, "x");
	assert_int_equal(symlink("nowhere/at/all", "dangling"), 0);
	checks("-", 0, "");
	checks("file", 0, "");
	checks("new", 0, "");
	checks("./new", 0, "");
	checks("dangling", -ENOENT, "there is no directory nowhere/at");
	checks("no/where", -ENOENT, "there is no directory no");
	checks("file/below", -ENOTDIR, strerror(ENOTDIR));
	checks(".", -EISDIR, strerror(EISDIR));
	assert_string_equal(
		output_strerror(ENOTBLK),
		"is a block device, and an output would destroy what it holds; name a file");
	assert_string_equal(output_strerror(-ENOTCONN),
			    "is a pipe that no process reads; start its reader first");
	assert_string_equal(
		output_strerror(-ENOTUNIQ),
		"its name now leads to something other than a regular file; use a name that "
		"does not change");
}

TEST(test_socket)
{
	struct sockaddr_un name = { .sun_family = AF_UNIX, .sun_path = "socket" };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	char why[OUTPUT_WHY_SIZE];

	assert_true(fd >= 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&name, sizeof(name)), 0);
	assert_int_equal(output_open("socket", O_APPEND), -EPROTOTYPE);
	assert_int_equal(output_check("socket", why), -EPROTOTYPE);
	assert_string_equal(why, "is a socket; name a file or a pipe");
	close(fd);
}

static void *open_reader(void *path)
{
	return (void *)(intptr_t)open(path, O_RDONLY | O_CLOEXEC);
}

/* A reader may be a little late. */
TEST(test_pipe)
{
	struct output_pipes pipes = { .n = 0 };
	pthread_t thread;
	void *reader;
	char text[10];
	int fd;

	assert_int_equal(mkfifo("pipe", 0600), 0);
	assert_int_equal(output_open("pipe", O_APPEND), -ENOTCONN);
	assert_int_equal(output_pipes_hold(&pipes, "pipe"), -ENOTCONN);
	assert_int_equal(output_pipes_hold(&pipes, "a"), 0);
	assert_int_equal(output_pipes_hold(&pipes, "missing"), 0);
	assert_int_equal(pipes.n, 0);
	output_pipes_release(&pipes);
	assert_int_equal(pthread_create(&thread, NULL, open_reader, (void *)"pipe"), 0);
	for (int i = 0; i < 60 && !pipes.n; i++)
		output_pipes_hold(&pipes, "pipe");
	assert_int_equal(pipes.n, 1);
	assert_int_equal(pthread_join(thread, &reader), 0);
	fd = output_open("pipe", O_APPEND);
	assert_true(fd >= 0);
	assert_int_equal(fcntl(fd, F_GETFL) & O_NONBLOCK, 0);
	close(fd);
	/* Held: the reader does not see an end. */
	fd = (int)(intptr_t)reader;
	assert_int_equal(fcntl(fd, F_SETFL, O_NONBLOCK), 0);
	assert_int_equal(read(fd, text, sizeof(text)), -1);
	output_pipes_release(&pipes);
	assert_int_equal(read(fd, text, sizeof(text)), 0);
	close(fd);
}

TEST(test_names)
{
	assert_int_equal(output_standard("-"), STDOUT_FILENO);
	assert_int_equal(output_standard("/dev/stdout"), STDOUT_FILENO);
	assert_int_equal(output_standard("/dev/stderr"), STDERR_FILENO);
	assert_int_equal(output_standard("./-"), -1);
	assert_string_equal(output_strerror(-EACCES), strerror(EACCES));
}

RUN_TESTS(enter_directory, remove_directory)
