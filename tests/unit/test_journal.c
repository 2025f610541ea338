/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Journals: torn tails, processes that die while they append, damage, locks and full disks.
 * The formats of sweeps and copies have tests of their own: test_sweep.c, test_copy_journal.c.
 */
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "xdd/base/codec.h"
#include "xdd/base/journal.h"

#define FIXTURE_TEST(name) TEST_TEARDOWN(name, tear_down)

static const char path[] = "journal", other[] = "journal.other";

/* ---- the C library, with faults ---- */

static int truncate_error, read_error, lock_error;
static bool interrupts, dies_in_write;

int ftruncate(int fd, off_t size)
{
	if (!truncate_error)
		return (int)syscall(SYS_ftruncate, fd, size);
	errno = truncate_error;
	return -1;
}

/* The first of two calls is interrupted. */
static bool is_interrupted(void)
{
	static unsigned calls;

	errno = EINTR;
	return interrupts && calls++ % 2 == 0;
}

ssize_t pread(int fd, void *data, size_t size, off_t offset)
{
	if (is_interrupted())
		return -1;
	if (!read_error)
		return syscall(SYS_pread64, fd, data, size, offset);
	errno = read_error;
	return -1;
}

ssize_t write(int fd, const void *data, size_t size)
{
	if (is_interrupted())
		return -1;
	if (dies_in_write) {
		syscall(SYS_write, fd, data, size / 2);
		raise(SIGKILL);
	}
	return syscall(SYS_write, fd, data, size);
}

int flock(int fd, int how)
{
	if (is_interrupted())
		return -1;
	if (!lock_error)
		return (int)syscall(SYS_flock, fd, how);
	errno = lock_error;
	return -1;
}

/* ---- a format: bytes that follow (4), a number (4), as many times that byte, CRC-32C (4) ---- */

static size_t encode(uint8_t *out, uint32_t number, size_t n)
{
	struct encoder e = enc_begin(out, 12 + n);

	enc_put(&e, 4, n);
	enc_put(&e, 4, number);
	for (size_t i = 0; i < n; i++)
		enc_put(&e, 1, number);
	enc_put(&e, 4, crc32c(out, 8 + n));
	return enc_end(&e);
}

static int decode(void *arg, const uint8_t *data, size_t size, size_t *used)
{
	uint32_t *number = arg;
	size_t n;

	if (size < 4)
		return 0;
	n = bytes_get(data, 4);
	if (n > 1u << 20)
		return -EBADMSG;
	if (size < 12 + n)
		return 0;
	*used = 12 + n;
	*number = (uint32_t)bytes_get(data + 4, 4);
	return bytes_get(data + 8 + n, 4) == crc32c(data, 8 + n) ? 1 : -EBADMSG;
}

/* ---- helpers ---- */

static struct journal create(void)
{
	struct journal j = { .fd = open(path, O_RDWR | O_APPEND | O_CREAT | O_EXCL | O_CLOEXEC,
					0600) };

	assert_true(j.fd >= 0);
	assert_int_equal(journal_lock(j.fd, AT_FDCWD, path, 0), 0);
	return j;
}

static struct journal reopen(void)
{
	struct journal j = { .fd = open(path, O_RDWR | O_APPEND | O_CLOEXEC) };

	assert_true(j.fd >= 0);
	assert_int_equal(journal_lock(j.fd, AT_FDCWD, path, 0), 0);
	return j;
}

static int put(struct journal *j, uint32_t number, size_t n)
{
	uint8_t *data = malloc(12 + n);
	int err;

	assert_non_null(data);
	err = journal_append(j, data, encode(data, number, n));
	free(data);
	return err;
}

static off_t size_of(const struct journal *j)
{
	struct stat st;

	assert_int_equal(fstat(j->fd, &st), 0);
	return st.st_size;
}

/* Read numbers 1, 2, 3 ... to the end. Returns how it ended, with their count and `*end`. */
static int read_all(const struct journal *j, uint32_t *n, uint64_t *end)
{
	struct journal_reader r;
	uint32_t number;
	int got;

	*n = 0;
	journal_read(&r, j->fd, 0);
	while ((got = journal_read_next(&r, decode, &number)) == 1)
		assert_int_equal(number, ++*n);
	*end = r.end;
	journal_read_end(&r);
	return got;
}

/* Read it as a later process does, and append one more. */
static void check_continues(struct journal *j, uint32_t expected)
{
	uint32_t n;
	uint64_t end;

	assert_int_equal(read_all(j, &n, &end), 0);
	assert_int_equal(n, expected);
	assert_int_equal(journal_continue(j, end), 0);
	assert_int_equal(put(j, n + 1, 5), 0);
	assert_int_equal(size_of(j), j->size);
	assert_int_equal(read_all(j, &n, &end), 0);
	assert_int_equal(n, expected + 1);
	assert_int_equal(end, j->size);
}

/* Run `part` in a process that must be killed by SIGKILL. */
static void die_in(void (*part)(void))
{
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		part();
		raise(SIGKILL);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

static int tear_down(void **state)
{
	unlink(path);
	return 0;
}

/* ---- tests ---- */

/* Cut to any length, a journal has the records before that, and goes on after them. */
FIXTURE_TEST(test_torn)
{
	static const size_t sizes[] = { 0, 1, 7, 30 };
	size_t ends[4], whole = 0;
	uint8_t data[200];

	for (uint32_t i = 0; i < 4; i++)
		ends[i] = whole += encode(data + whole, i + 1, sizes[i]);
	for (size_t size = 0; size <= whole; size++) {
		struct journal j = create();
		uint32_t expected = 0;

		while (expected < 4 && ends[expected] <= size)
			expected++;
		assert_int_equal(journal_append(&j, data, size), 0);
		assert_int_equal(journal_flush(&j), 0);
		journal_close(&j);
		assert_int_equal(j.fd, -1);
		j = reopen();
		check_continues(&j, expected);
		journal_close(&j);
		assert_int_equal(unlink(path), 0);
	}
}

/* A whole record that was changed is an error, at each byte; those before it are read. */
FIXTURE_TEST(test_damage)
{
	struct journal j = create();
	uint64_t end;
	uint32_t n;

	for (uint32_t i = 0; i < 3; i++)
		assert_int_equal(put(&j, i + 1, 9), 0);
	for (off_t at = 21; at < 42; at++) {
		uint8_t byte;

		assert_int_equal(pread(j.fd, &byte, 1, at), 1);
		byte ^= 0x80;
		/* With O_APPEND, pwrite(2) appends. */
		assert_int_equal(fcntl(j.fd, F_SETFL, 0), 0);
		assert_int_equal(pwrite(j.fd, &byte, 1, at), 1);
		/* With another length it seems to be longer than the rest, and torn. */
		assert_int_equal(read_all(&j, &n, &end), at < 23 ? 0 : -EBADMSG);
		assert_int_equal(n, 1);
		assert_int_equal(end, 21);
		byte ^= 0x80;
		assert_int_equal(pwrite(j.fd, &byte, 1, at), 1);
	}
	assert_int_equal(read_all(&j, &n, &end), 0);
	assert_int_equal(n, 3);
	journal_close(&j);
}

static void append_one(void)
{
	struct journal j = create();

	put(&j, 1, 100);
}

static void append_half(void)
{
	struct journal j = create();

	put(&j, 1, 100);
	dies_in_write = true;
	put(&j, 2, 100);
}

/* A whole record survives the process that appended it without a flush; half of one is lost. */
FIXTURE_TEST(test_killed)
{
	struct journal j;

	die_in(append_one);
	j = reopen();
	check_continues(&j, 1);
	journal_close(&j);
	assert_int_equal(unlink(path), 0);
	die_in(append_half);
	j = reopen();
	assert_true(size_of(&j) > 112);
	check_continues(&j, 1);
	journal_close(&j);
}

/* An append that does not fit leaves no part, and others follow once there is room. */
FIXTURE_TEST(test_full)
{
	struct journal j = create();
	struct rlimit before, small;
	int err;

	assert_int_equal(put(&j, 1, 100), 0);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
	small = before;
	small.rlim_cur = 150;
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
	err = put(&j, 2, 100);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
	assert_int_equal(err, -EFBIG);
	assert_int_equal(size_of(&j), 112);
	check_continues(&j, 1);

	/* One that cannot be undone is the last one. */
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
	truncate_error = EIO;
	err = put(&j, 3, 100);
	assert_int_equal(journal_continue(&j, 0), -EIO);
	truncate_error = 0;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
	assert_int_equal(err, -EFBIG);
	assert_int_equal(put(&j, 3, 1), -EIO);
	journal_close(&j);
}

/* After a flush that failed nothing is appended: what is durable is not known. */
FIXTURE_TEST(test_not_durable)
{
	struct journal j = { .fd = -1 };
	int ends[2];

	assert_int_equal(pipe(ends), 0);
	j.fd = ends[1];
	assert_int_equal(put(&j, 1, 1), 0);
	assert_int_equal(journal_flush(&j), -EINVAL);
	assert_int_equal(put(&j, 2, 1), -EIO);
	journal_close(&j);
	close(ends[0]);
}

/* A process that holds the lock until it is killed. */
static pid_t hold_lock(void)
{
	int ready[2];
	pid_t pid;
	char byte;

	assert_int_equal(pipe(ready), 0);
	pid = fork();
	if (pid == 0) {
		reopen();
		syscall(SYS_write, ready[1], "x", 1);
		for (;;)
			pause();
	}
	close(ready[1]);
	assert_int_equal(read(ready[0], &byte, 1), 1);
	close(ready[0]);
	return pid;
}

/* One process has the lock, as long as it lives. */
FIXTURE_TEST(test_lock)
{
	struct journal j = create();
	pid_t pid;
	int fd, status;

	journal_close(&j);
	pid = hold_lock();
	fd = open(path, O_RDWR | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(journal_lock(fd, AT_FDCWD, path, 0), -EBUSY);
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	interrupts = true;
	assert_int_equal(journal_lock(fd, AT_FDCWD, path, 0), 0);
	interrupts = false;
	lock_error = ENOTSUP;
	assert_int_equal(journal_lock(fd, AT_FDCWD, path, 0), -ENOLCK);
	lock_error = 0;
	close(fd);
}

/* A file that lost its name while it was opened is not the journal. */
FIXTURE_TEST(test_lock_of_name)
{
	struct journal j = create(), new;

	assert_int_equal(rename(path, other), 0);
	assert_int_equal(journal_lock(j.fd, AT_FDCWD, path, 0), -EBUSY);
	new = create();
	assert_int_equal(journal_lock(j.fd, AT_FDCWD, path, 0), -EBUSY);
	lock_error = ENOTSUP;
	assert_int_equal(journal_lock(j.fd, AT_FDCWD, path, 0), -EBUSY);
	lock_error = 0;
	assert_int_equal(journal_lock(j.fd, AT_FDCWD, other, 0), 0);
	assert_int_equal(journal_lock(j.fd, AT_FDCWD, NULL, 0), 0);
	journal_close(&new);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(symlink(other, path), 0);
	assert_int_equal(journal_lock(j.fd, AT_FDCWD, path, 0), 0);
	assert_int_equal(journal_lock(j.fd, AT_FDCWD, path, AT_SYMLINK_NOFOLLOW), -EBUSY);
	journal_close(&j);
	assert_int_equal(unlink(other), 0);
}

/* Records longer than the memory of the reader at first, and more of them. */
FIXTURE_TEST(test_long)
{
	struct journal j = create();
	uint64_t end;
	uint32_t n;

	for (uint32_t i = 0; i < 8; i++)
		assert_int_equal(put(&j, i + 1, i % 2 ? 1u << 20 : 100000), 0);
	interrupts = true;
	assert_int_equal(put(&j, 9, 3), 0);
	assert_int_equal(read_all(&j, &n, &end), 0);
	interrupts = false;
	assert_int_equal(n, 9);
	assert_int_equal(end, j.size);
	journal_close(&j);
}

FIXTURE_TEST(test_read_fails)
{
	struct journal j = create();
	struct journal_reader r;
	uint64_t end;
	uint32_t n;

	assert_int_equal(put(&j, 1, 10), 0);
	read_error = EIO;
	assert_int_equal(read_all(&j, &n, &end), -EIO);
	read_error = 0;
	assert_int_equal(n, 0);
	/* A record that begins before the limit and ends after it. */
	assert_int_equal(truncate(path, JOURNAL_MAX_BYTES - 8), 0);
	assert_int_equal(put(&j, 1, 1u << 20), 0);
	assert_int_equal(ftruncate(j.fd, JOURNAL_MAX_BYTES + 8), 0);
	journal_read(&r, j.fd, JOURNAL_MAX_BYTES - 8);
	assert_int_equal(journal_read_next(&r, decode, &n), -EFBIG);
	journal_read_end(&r);
	journal_close(&j);
}

static int set_up(void **state)
{
	const char *dir = getenv("TMPDIR");

	return chdir(dir ? dir : "/tmp");
}

RUN_TESTS(set_up, NULL)
