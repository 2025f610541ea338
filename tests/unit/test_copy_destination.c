/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The destination of a copy: trees, large files, existing files, and the end: src/copy/destination.
 */
#include "copy_offers_rig.h"

#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "xdd/base/status.h"

#define BLOCK (64u << 10)

/* ---- the C library: a directory that takes long to make ---- */

#define SLOW_DIR "slow"
static _Atomic bool making;	    /* it is made now */
static _Atomic bool journal_gone;   /* the commit was closed */
static _Atomic bool gone_meanwhile; /* that before this */

int mkdirat(int dir, const char *name, mode_t mode)
{
	if (!strcmp(name, SLOW_DIR)) {
		making = true;
		for (unsigned i = 0; !journal_gone && i < 2000; i++)
			usleep(1000);
		gone_meanwhile = journal_gone;
	}
	return (int)syscall(SYS_mkdirat, dir, name, mode);
}

int unlinkat(int dir, const char *name, int flags)
{
	if (strstr(name, ".journal"))
		journal_gone = true;
	return (int)syscall(SYS_unlinkat, dir, name, flags);
}

/* ---- a file that keeps its size ---- */

static bool keeps_size;

int ftruncate(int fd, off_t size)
{
	if (!keeps_size)
		return (int)syscall(SYS_ftruncate, fd, size);
	errno = EPERM;
	return -1;
}

/* ---- and a file system with storage ---- */

#define EXT4 0xef53
static bool storage;
static struct stat flushed; /* the directory that was flushed last, as it was then */

int fstatfs(int fd, struct statfs *st)
{
	if (syscall(SYS_fstatfs, fd, st))
		return -1;
	if (storage)
		st->f_type = EXT4;
	return 0;
}

int fsync(int fd)
{
	struct stat st;

	if (!fstat(fd, &st) && S_ISDIR(st.st_mode))
		flushed = st;
	return 0;
}

/* Bytes that differ at each offset. */
static uint8_t *pattern(size_t size)
{
	uint8_t *data = malloc(size);

	assert_non_null(data);
	for (size_t i = 0; i < size; i++)
		data[i] = (uint8_t)(i * 2654435761u >> 13);
	return data;
}

static struct stat stat_of(struct source_rig *r, const char *name)
{
	char path[256];
	struct stat st;

	assert_int_equal(lstat(rig_path(r, name, path), &st), 0);
	return st;
}

static void assert_mtime(struct source_rig *r, const char *name)
{
	struct stat st = stat_of(r, name);

	assert_int_equal(st.st_mtim.tv_sec, RIG_MTIME_NS / 1000000000);
	assert_int_equal(st.st_mtim.tv_nsec, RIG_MTIME_NS % 1000000000);
}

static void assert_link(struct source_rig *r, const char *name, const char *target)
{
	char path[256], there[256] = "";

	assert_true(readlink(rig_path(r, name, path), there, sizeof(there) - 1) > 0);
	assert_string_equal(there, target);
}

/* ---- trees ---- */

/* DIR x { a, sub { b }, link, other names of a and link }, into a directory that does not exist. */
TEST(test_tree)
{
	struct source_rig r;
	struct copy_entry e;
	uint64_t x, a, sub, b, link, other, same;

	rig_open(&r, "new");
	rig_start(&r);
	x = rig_dir(&r, "x");
	e = rig_entry(&r, COPY_FILE, "a");
	e.size_bytes = 5;
	e.mode = 0401;
	e.flags = COPY_HAS_LINKS;
	a = rig_add(&r, &e);
	sub = rig_dir(&r, "sub");
	b = rig_file(&r, "b", 0);
	rig_leave(&r);
	e = rig_entry(&r, COPY_SYMLINK, "link");
	e.target = "../nowhere";
	e.flags = COPY_HAS_LINKS;
	link = rig_add(&r, &e);
	other = rig_last_link(&r, "other", a);
	same = rig_last_link(&r, "same", link);
	rig_leave(&r);
	rig_end(&r);
	rig_until_want(&r, a, COPY_SEND);
	rig_until_want(&r, b, COPY_SEND);
	rig_bundle(&r, b, 0, "", 0);
	rig_bundle(&r, a, 0, "hello", 5);
	rig_until_result(&r, a, COPY_DONE);
	rig_until_result(&r, other, COPY_DONE);
	rig_until_result(&r, link, COPY_DONE);
	rig_until_result(&r, same, COPY_DONE);
	rig_until_result(&r, sub, COPY_DONE);
	rig_until_result(&r, x, COPY_DONE);
	assert_int_equal(rig_finish(&r), XDD_OK);

	rig_assert_contents(&r, "new/a", "hello", 5);
	rig_assert_contents(&r, "new/sub/b", "", 0);
	assert_int_equal(stat_of(&r, "new/a").st_mode & 07777, 0401);
	assert_int_equal(stat_of(&r, "new").st_mode & 07777, 0755);
	assert_int_equal(stat_of(&r, "new/a").st_ino, stat_of(&r, "new/other").st_ino);
	assert_link(&r, "new/link", "../nowhere");
	assert_int_equal(stat_of(&r, "new/link").st_ino, stat_of(&r, "new/same").st_ino);
	assert_mtime(&r, "new");
	assert_mtime(&r, "new/sub");
	assert_mtime(&r, "new/a");
	assert_mtime(&r, "new/link");
	rig_assert_counts(&r, &(struct copy_counts){ .done_files = 2,
						     .done_bytes = 5,
						     .links = 3,
						     .dirs = 2,
						     .moved_bytes = 5 });
	assert_int_equal(rig_temporary_files(&r), 0);
	rig_close(&r);
}

/* The root gets its attributes last, and they are durable too. */
TEST(test_flush_of_root)
{
	struct source_rig r;
	struct stat st;
	uint64_t x, a;

	rig_open(&r, "new");
	storage = true;
	rig_start(&r);
	x = rig_dir(&r, "x");
	a = rig_file(&r, "a", 1);
	rig_leave(&r);
	rig_end(&r);
	rig_until_want(&r, a, COPY_SEND);
	rig_bundle(&r, a, 0, "x", 1);
	rig_until_result(&r, a, COPY_DONE);
	rig_until_result(&r, x, COPY_DONE);
	assert_int_equal(rig_finish(&r), XDD_OK);
	storage = false;
	st = stat_of(&r, "new");
	assert_mtime(&r, "new");
	assert_int_equal(flushed.st_ino, st.st_ino);
	assert_int_equal(flushed.st_mode, st.st_mode);
	assert_int_equal(flushed.st_mtim.tv_sec, st.st_mtim.tv_sec);
	assert_int_equal(flushed.st_mtim.tv_nsec, st.st_mtim.tv_nsec);
	rig_close(&r);
}

/* A copy that is killed leaves directories that others may read as at its end, except with -P. */
TEST(test_modes_meanwhile)
{
	const mode_t before = umask(022);

	for (int everything = 0; everything < 2; everything++) {
		struct source_rig r;
		struct copy_entry e;
		uint64_t a;

		rig_open(&r, "new");
		r.settings.everything = everything;
		rig_start(&r);
		rig_dir(&r, "x");
		e = rig_entry(&r, COPY_DIR, "sub");
		e.mode = 01575;
		rig_add(&r, &e);
		a = rig_file(&r, "a", 1);
		rig_leave(&r);
		rig_leave(&r);
		rig_end(&r);
		rig_until_want(&r, a, COPY_SEND);
		assert_int_equal(stat_of(&r, "new").st_mode & 07777, everything ? 0700 : 0755);
		assert_int_equal(stat_of(&r, "new/sub").st_mode & 07777, everything ? 0700 : 0755);
		rig_bundle(&r, a, 0, "x", 1);
		rig_until_result(&r, a, COPY_DONE);
		assert_int_equal(rig_finish(&r), XDD_OK);
		assert_int_equal(stat_of(&r, "new/sub").st_mode & 07777, everything ? 01575 : 0555);
		rig_close(&r);
	}
	umask(before);
}

/* The second time there is no WANT; attributes that differ are corrected. */
TEST(test_again)
{
	struct source_rig r;
	struct copy_entry e;
	uint64_t dir, a, link;
	char path[256];

	rig_open(&r, "there");
	assert_int_equal(mkdir(r.path, 0755), 0);
	for (int again = 0; again < 2; again++) {
		memset(r.outcome, 0, sizeof(r.outcome));
		r.finished = r.over = false;
		r.last_id = 0;
		rig_start(&r);
		dir = rig_dir(&r, "d");
		e = rig_entry(&r, COPY_FILE, "a");
		e.size_bytes = 3;
		e.mode |= 07000; /* not without -P, whatever the source says */
		a = rig_add(&r, &e);
		link = rig_symlink(&r, "l", "t");
		rig_leave(&r);
		rig_end(&r);
		if (!again) {
			rig_until_want(&r, a, COPY_SEND);
			rig_bundle(&r, a, 0, "abc", 3);
		}
		rig_until_result(&r, dir, again ? COPY_SAME : COPY_DONE);
		rig_until_result(&r, a, again ? COPY_SAME : COPY_DONE);
		rig_until_result(&r, link, again ? COPY_SAME : COPY_DONE);
		assert_int_equal(rig_finish(&r), XDD_OK);
		assert_int_equal(stat_of(&r, "there/d/a").st_mode & 07777, again ? 0600 : 0644);
		assert_mtime(&r, "there/d");
		assert_int_equal(chmod(rig_path(&r, "there/d/a", path), 0600), 0);
	}
	rig_assert_counts(&r,
			  &(struct copy_counts){
				  .skipped_files = 1, .skipped_bytes = 3, .links = 1, .dirs = 1 });
	rig_close(&r);
}

/* A file, a directory, a link in the place of others. */
TEST(test_in_the_way)
{
	struct source_rig r;
	uint64_t dir, below, file, lost, deep, link, replaced;
	char path[256];

	rig_open(&r, "d");
	assert_int_equal(mkdir(r.path, 0755), 0);
	rig_write(&r, "victim", "x", 1);
	rig_write(&r, "d/file", "x", 1);
	assert_int_equal(mkdir(rig_path(&r, "d/dir", path), 0755), 0);
	assert_int_equal(symlink("..", rig_path(&r, "d/out", path)), 0);
	assert_int_equal(symlink("../victim", rig_path(&r, "d/away", path)), 0);
	r.settings.into = true;
	rig_start(&r);
	dir = rig_dir(&r, "file");
	below = rig_file(&r, "a", 1);
	deep = rig_dir(&r, "b");
	rig_leave(&r);
	rig_leave(&r);
	lost = rig_dir(&r, "out");
	rig_file(&r, "victim", 1);
	rig_leave(&r);
	file = rig_file(&r, "dir", 1);
	link = rig_symlink(&r, "dir", "x");
	replaced = rig_file(&r, "away", 3);
	rig_end(&r);
	rig_until_result(&r, dir, COPY_LOST);
	rig_until_result(&r, below, COPY_LOST);
	rig_until_result(&r, deep, COPY_LOST);
	rig_until_result(&r, lost, COPY_LOST);
	rig_until_result(&r, file, COPY_LOST);
	rig_until_result(&r, link, COPY_LOST);
	rig_until_want(&r, replaced, COPY_SEND);
	rig_bundle(&r, replaced, 0, "new", 3);
	rig_until_result(&r, replaced, COPY_DONE);
	assert_int_equal(rig_finish(&r), COPY_FAILED);
	/* one line each: file, out, dir, dir; none for what is below */
	assert_int_equal(r.n_failures, 4);
	rig_assert_counts(&r, &(struct copy_counts){ .done_files = 1,
						     .done_bytes = 3,
						     .failed = 7,
						     .moved_bytes = 3,
						     .status = COPY_FAILED });
	rig_assert_contents(&r, "victim", "x", 1);
	rig_assert_contents(&r, "d/away", "new", 3);
	assert_true(S_ISREG(stat_of(&r, "d/away").st_mode));
	rig_close(&r);
}

/* Copy the file "a" to `destination`, where it becomes `made`. */
static void copies_a(struct source_rig *r, const char *destination, const char *made)
{
	uint64_t a;

	rig_open(r, destination);
	r->source = "a";
	rig_start(r);
	a = rig_file(r, "a", 1);
	rig_end(r);
	rig_until_want(r, a, COPY_SEND);
	rig_bundle(r, a, 0, "x", 1);
	rig_until_result(r, a, COPY_DONE);
	assert_int_equal(rig_finish(r), XDD_OK);
	rig_assert_contents(r, made, "x", 1);
	rig_close(r);
}

/* The new name of a file, whose directory must exist. */
TEST(test_names)
{
	struct source_rig r;
	uint64_t a;

	copies_a(&r, "other", "other");

	rig_open(&r, "no/such");
	rig_start(&r);
	rig_file(&r, "a", 1);
	rig_end(&r);
	assert_int_equal(rig_refused(&r, "its directory does not exist"), COPY_NO_DESTINATION);
	rig_close(&r);

	/* A directory, no file at all, and a file for a directory that is a file. */
	for (unsigned i = 0; i < 3; i++) {
		rig_open(&r, "file");
		rig_write(&r, "file", "x", 1);
		r.settings.into = i == 2;
		rig_start(&r);
		if (i == 0) {
			rig_dir(&r, "a");
			rig_leave(&r);
		} else if (i == 2) {
			rig_file(&r, "a", 1);
		}
		rig_end(&r);
		assert_int_equal(rig_refused(&r, "is not a directory"), COPY_NO_DESTINATION);
		rig_close(&r);
	}

	/* Slashes at the end ask for a directory. */
	copies_a(&r, "new//", "new/a");
	rig_open(&r, "file");
	rig_write(&r, "file", "x", 1);
	strcat(r.path, "/");
	rig_start(&r);
	rig_file(&r, "a", 1);
	rig_end(&r);
	assert_int_equal(rig_refused(&r, "is not a directory"), COPY_NO_DESTINATION);
	rig_close(&r);

	rig_open(&r, "new");
	r.settings.into = true;
	rig_start(&r);
	a = rig_dir(&r, "");
	rig_leave(&r);
	rig_end(&r);
	rig_until_result(&r, a, COPY_DONE);
	assert_int_equal(rig_finish(&r), XDD_OK);
	assert_mtime(&r, "new");
	rig_close(&r);
}

/* ---- large files ---- */

/* Blocks in any order, a hole, and a tail. */
static void blocks(const struct copy_settings *more, const char *old, size_t old_size)
{
	const size_t size = 5 * BLOCK + 1234;
	uint8_t *data = pattern(size);
	struct source_rig r;
	struct copy_entry e;
	bool ordered = more->ordered_destination;

	rig_open(&r, "f");
	r.settings.in_place = more->in_place;
	r.settings.direct_destination = more->direct_destination;
	r.settings.ordered_destination = ordered;
	if (old)
		rig_write(&r, "f", old, old_size);
	rig_start(&r);
	e = rig_entry(&r, COPY_FILE, "a");
	e.size_bytes = size;
	e.flags = COPY_SPARSE;
	rig_add(&r, &e);
	rig_end(&r);
	rig_until_want(&r, 1, COPY_SEND);
	if (ordered)
		rig_block(&r, 1, 0, data, BLOCK);
	else
		rig_file_end(&r, 1, 4, 3 * BLOCK + 1234, 0);
	rig_block(&r, 1, 3 * BLOCK, data + 3 * BLOCK, BLOCK);
	if (!ordered)
		rig_block(&r, 1, 0, data, BLOCK);
	rig_block(&r, 1, 4 * BLOCK, data + 4 * BLOCK, BLOCK);
	rig_block(&r, 1, 5 * BLOCK, data + 5 * BLOCK, 1234);
	if (ordered)
		rig_file_end(&r, 1, 4, 3 * BLOCK + 1234, 0);
	rig_until_result(&r, 1, COPY_DONE);
	assert_int_equal(rig_finish(&r), XDD_OK);
	memset(data + BLOCK, 0, 2 * BLOCK);
	rig_assert_contents(&r, "f", data, size);
	assert_true(stat_of(&r, "f").st_blocks * 512 < (blkcnt_t)(4 * BLOCK));
	rig_assert_counts(&r, &(struct copy_counts){ .done_files = 1,
						     .done_bytes = size,
						     .moved_bytes = 3 * BLOCK + 1234 });
	free(data);
	rig_close(&r);
}

TEST(test_blocks)
{
	uint8_t *old = pattern(8 * BLOCK);

	blocks(&(struct copy_settings){ .in_place = false }, NULL, 0);
	blocks(&(struct copy_settings){ .in_place = false }, (char *)old, 8 * BLOCK);
	blocks(&(struct copy_settings){ .in_place = true }, NULL, 0);
	blocks(&(struct copy_settings){ .in_place = true }, (char *)old, 8 * BLOCK);
	blocks(&(struct copy_settings){ .in_place = true }, (char *)old, 1);
	blocks(&(struct copy_settings){ .direct_destination = true }, NULL, 0);
	blocks(&(struct copy_settings){ .ordered_destination = true }, NULL, 0);
	free(old);
}

/* A longer file in place, whose end stays. */
TEST(test_longer_in_place)
{
	uint8_t *old = pattern(12 * BLOCK);
	struct source_rig r;
	uint64_t file;

	rig_open(&r, "f");
	r.settings.in_place = true;
	rig_write(&r, "f", old, 12 * BLOCK);
	rig_start(&r);
	file = rig_file(&r, "a", 10 * BLOCK);
	rig_end(&r);
	rig_until_want(&r, file, COPY_SEND);
	keeps_size = true;
	rig_file_end(&r, file, 0, 0, 0);
	rig_until_result(&r, file, COPY_LOST);
	keeps_size = false;
	assert_int_equal(rig_finish(&r), COPY_FAILED);
	assert_int_equal(r.n_failures, 1);
	assert_int_equal(r.n_warnings, 1); /* it is incomplete */
	free(old);
	rig_close(&r);
}

/* A new file in place that is interrupted has the permissions of others, except with -P. */
TEST(test_new_in_place)
{
	const mode_t before = umask(027);

	for (int everything = 0; everything < 2; everything++) {
		struct source_rig r;
		struct copy_entry e;
		uint64_t file;

		rig_open(&r, "f");
		r.settings.in_place = true;
		r.settings.everything = everything;
		rig_start(&r);
		e = rig_entry(&r, COPY_FILE, "a");
		e.size_bytes = 2 * BLOCK;
		e.mode = 04455;
		file = rig_add(&r, &e);
		rig_end(&r);
		rig_until_want(&r, file, COPY_SEND);
		rig_block(&r, file, 0, r.offer, BLOCK);
		rig_file_end(&r, file, 1, BLOCK, COPY_FAILED);
		rig_until_result(&r, file, COPY_LOST);
		assert_int_equal(rig_finish(&r), XDD_OK);
		assert_int_equal(stat_of(&r, "f").st_mode & 07777, everything ? 0600 : 0650);
		rig_close(&r);
	}
	umask(before);
}

/* A file without bytes that are sent, and one that the source cannot read. */
TEST(test_ends)
{
	struct source_rig r;
	uint64_t hole, bad, small;

	rig_open(&r, "d");
	assert_int_equal(mkdir(r.path, 0755), 0);
	r.settings.into = true;
	rig_start(&r);
	hole = rig_file(&r, "hole", 10 * BLOCK);
	bad = rig_file(&r, "bad", 10 * BLOCK);
	small = rig_file(&r, "small", 10);
	rig_end(&r);
	rig_until_want(&r, hole, COPY_SEND);
	rig_until_want(&r, bad, COPY_SEND);
	rig_until_want(&r, small, COPY_SEND);
	rig_file_end(&r, hole, 0, 0, 0);
	rig_block(&r, bad, 0, r.offer, BLOCK);
	rig_file_end(&r, bad, 1, BLOCK, COPY_FAILED);
	rig_bundle(&r, small, COPY_FAILED, "gone", 5);
	rig_until_result(&r, hole, COPY_DONE);
	rig_until_result(&r, bad, COPY_LOST);
	rig_until_result(&r, small, COPY_LOST);
	/* the source has named them */
	assert_int_equal(rig_finish(&r), XDD_OK);
	assert_int_equal(r.n_failures, 0);
	assert_int_equal(stat_of(&r, "d/hole").st_size, 10 * BLOCK);
	assert_int_equal(stat_of(&r, "d/hole").st_blocks, 0);
	assert_false(rig_exists(&r, "d/bad"));
	assert_false(rig_exists(&r, "d/small"));
	assert_int_equal(rig_temporary_files(&r), 0);
	rig_close(&r);
}

/* ---- comparison ---- */

/* As the entries have it. */
static void set_mtime(struct source_rig *r, const char *name)
{
	const struct timespec times[2] = {
		{ .tv_nsec = UTIME_OMIT },
		{ .tv_sec = RIG_MTIME_NS / 1000000000, .tv_nsec = RIG_MTIME_NS % 1000000000 },
	};
	char path[256];

	assert_int_equal(utimensat(AT_FDCWD, rig_path(r, name, path), times, 0), 0);
}

static void make_dir(struct source_rig *r, const char *name)
{
	char path[256];

	assert_int_equal(mkdir(rig_path(r, name, path), 0755), 0);
}

TEST(test_verify)
{
	const size_t size = 40 * COPY_MIN_BLOCK_BYTES + 7;
	uint8_t *data = pattern(size), *other = pattern(size);
	struct source_rig r;
	uint64_t same, differs, empty, longer, missing, dir, below, there, later;

	rig_open(&r, "d");
	assert_int_equal(mkdir(r.path, 0755), 0);
	r.settings.into = r.settings.verify = true;
	make_dir(&r, "d/there");
	make_dir(&r, "d/later");
	set_mtime(&r, "d/there");
	rig_write(&r, "d/same", data, size);
	rig_write(&r, "d/empty", "", 0);
	rig_write(&r, "d/longer", "12", 2);
	other[4096] ^= 1;
	other[20 * 4096 - 1] ^= 1;
	other[size - 1] ^= 1;
	rig_write(&r, "d/differs", other, size);
	set_mtime(&r, "d/same");
	set_mtime(&r, "d/empty");
	set_mtime(&r, "d/differs");
	rig_start(&r);
	same = rig_file(&r, "same", size);
	empty = rig_file(&r, "empty", 0);
	longer = rig_file(&r, "longer", 1);
	missing = rig_file(&r, "missing", 1);
	dir = rig_dir(&r, "dir");
	below = rig_file(&r, "x", 1);
	rig_leave(&r);
	there = rig_dir(&r, "there");
	rig_leave(&r);
	later = rig_dir(&r, "later");
	rig_leave(&r);
	differs = rig_file(&r, "differs", size);
	rig_end(&r);
	rig_until_want(&r, same, COPY_SUMS);
	rig_sums(&r, same, data, 0, size);
	rig_file_end(&r, same, 1, 0, 0);
	rig_until_result(&r, same, COPY_EQUAL);
	rig_until_result(&r, empty, COPY_EQUAL);
	rig_until_result(&r, longer, COPY_DIFFERS);
	rig_until_result(&r, missing, COPY_DIFFERS);
	rig_until_result(&r, dir, COPY_DIFFERS);
	rig_until_result(&r, below, COPY_DIFFERS);
	rig_until_result(&r, there, COPY_EQUAL);
	rig_until_result(&r, later, COPY_DIFFERS);
	rig_until_want(&r, differs, COPY_SUMS);
	rig_sums(&r, differs, data + 20 * 4096, 20 * 4096, size - 20 * 4096);
	rig_sums(&r, differs, data, 0, 20 * 4096);
	rig_file_end(&r, differs, 2, 0, 0);
	rig_until_result(&r, differs, COPY_DIFFERS);
	assert_string_equal(r.failure.text, "bytes 4096-8191, 77824-81919, 163840-163846 differ "
					    "(3 of 41 blocks)");
	assert_true(r.failure.differs);
	assert_int_equal(rig_finish(&r), XDD_MISCOMPARE);
	assert_int_equal(r.n_failures, 5);
	rig_assert_counts(&r, &(struct copy_counts){ .skipped_files = 2,
						     .skipped_bytes = size,
						     .dirs = 2,
						     .failed = 6,
						     .status = XDD_MISCOMPARE });
	assert_false(rig_exists(&r, "d/dir"));
	free(data);
	free(other);
	rig_close(&r);
}

/* -c: equal contents get the time, others are sent. */
TEST(test_contents)
{
	struct source_rig r;
	uint64_t same, differs;

	rig_open(&r, "d");
	assert_int_equal(mkdir(r.path, 0755), 0);
	r.settings.into = r.settings.compare_contents = true;
	rig_write(&r, "d/same", "abc", 3);
	rig_write(&r, "d/differs", "abd", 3);
	rig_start(&r);
	same = rig_file(&r, "same", 3);
	differs = rig_file(&r, "differs", 3);
	rig_end(&r);
	rig_until_want(&r, same, COPY_SUMS);
	rig_until_want(&r, differs, COPY_SUMS);
	rig_sums(&r, same, "abc", 0, 3);
	rig_file_end(&r, same, 1, 0, 0);
	rig_sums(&r, differs, "abc", 0, 3);
	rig_file_end(&r, differs, 1, 0, 0);
	rig_until_result(&r, same, COPY_SAME);
	rig_until_want(&r, differs, COPY_SEND);
	rig_bundle(&r, differs, 0, "abc", 3);
	rig_until_result(&r, differs, COPY_DONE);
	assert_int_equal(rig_finish(&r), XDD_OK);
	rig_assert_contents(&r, "d/differs", "abc", 3);
	assert_mtime(&r, "d/same");
	assert_mtime(&r, "d/differs");
	rig_assert_counts(&r, &(struct copy_counts){ .done_files = 1,
						     .done_bytes = 3,
						     .skipped_files = 1,
						     .skipped_bytes = 3,
						     .moved_bytes = 3 });
	rig_close(&r);
}

/* -k: a file that is removed before it can be compared. */
TEST(test_gone)
{
	char path[256];
	struct source_rig r;
	uint64_t gone;

	rig_open(&r, "d");
	assert_int_equal(mkdir(r.path, 0755), 0);
	r.settings.into = r.settings.verify = true;
	rig_write(&r, "d/gone", "abc", 3);
	set_mtime(&r, "d/gone");
	rig_start(&r);
	gone = rig_file(&r, "gone", 3);
	rig_end(&r);
	rig_until_want(&r, gone, COPY_SUMS);
	snprintf(path, sizeof(path), "%s/gone", r.path);
	assert_int_equal(unlink(path), 0);
	rig_sums(&r, gone, "abc", 0, 3);
	rig_file_end(&r, gone, 1, 0, 0);
	rig_until_result(&r, gone, COPY_LOST);
	assert_string_equal(r.failure.text, "cannot read (No such file or directory)");
	assert_int_equal(rig_finish(&r), COPY_FAILED);
	assert_int_equal(r.n_failures, 1);
	rig_close(&r);
}

/* -n changes nothing, and wants nothing. */
TEST(test_dry_run)
{
	struct source_rig r;
	uint64_t there, a, dir, below, link;

	rig_open(&r, "d");
	assert_int_equal(mkdir(r.path, 0755), 0);
	rig_write(&r, "d/there", "x", 1);
	r.settings.into = r.settings.dry_run = true;
	rig_start(&r);
	there = rig_file(&r, "there", 2);
	a = rig_file(&r, "a", 1);
	dir = rig_dir(&r, "dir");
	below = rig_file(&r, "b", 1);
	rig_leave(&r);
	link = rig_symlink(&r, "l", "x");
	rig_end(&r);
	rig_until_result(&r, there, COPY_WOULD);
	rig_until_result(&r, a, COPY_WOULD);
	rig_until_result(&r, dir, COPY_WOULD);
	rig_until_result(&r, below, COPY_WOULD);
	rig_until_result(&r, link, COPY_WOULD);
	assert_int_equal(rig_finish(&r), XDD_OK);
	rig_assert_contents(&r, "d/there", "x", 1);
	assert_false(rig_exists(&r, "d/a"));
	assert_false(rig_exists(&r, "d/dir"));
	assert_false(rig_exists(&r, "d/l"));
	assert_int_equal(r.counts.done_files + r.counts.skipped_files + r.counts.dirs, 0);
	assert_int_equal(r.counts.failed + r.counts.moved_bytes + r.counts.status, 0);
	rig_close(&r);

	rig_open(&r, "new");
	r.settings.dry_run = true;
	rig_start(&r);
	dir = rig_dir(&r, "dir");
	below = rig_file(&r, "b", 1);
	rig_leave(&r);
	rig_end(&r);
	rig_until_result(&r, dir, COPY_WOULD);
	rig_until_result(&r, below, COPY_WOULD);
	assert_int_equal(rig_finish(&r), XDD_OK);
	assert_false(rig_exists(&r, "new"));
	rig_close(&r);
}

/* More files with other names than a table of a fixed size would have; all find theirs. */
TEST(test_many_links)
{
	enum {
		N = (1 << 18) + 10000
	};
	struct source_rig r;
	uint64_t first = 1, last;

	rig_open(&r, "d");
	assert_int_equal(mkdir(r.path, 0755), 0);
	r.settings.into = r.settings.dry_run = true;
	rig_start(&r);
	for (unsigned i = 0; i < N; i++) {
		struct copy_entry e = rig_entry(&r, COPY_FILE, "f");

		e.flags = COPY_HAS_LINKS;
		last = rig_add(&r, &e);
		if (i % 8192)
			continue;
		rig_send(&r);
		rig_until_result(&r, last, COPY_WOULD);
	}
	first = rig_last_link(&r, "l", first);
	last = rig_last_link(&r, "m", last);
	rig_end(&r);
	rig_until_result(&r, first, COPY_WOULD);
	rig_until_result(&r, last, COPY_WOULD);
	assert_int_equal(rig_finish(&r), XDD_OK);
	rig_close(&r);
}

/* ---- the end ---- */

TEST(test_cancel)
{
	struct source_rig r;
	uint64_t large, small, waits, dir;
	struct copy_entry e;

	rig_open(&r, "d");
	assert_int_equal(mkdir(r.path, 0755), 0);
	r.settings.into = true;
	rig_start(&r);
	dir = rig_dir(&r, "x");
	e = rig_entry(&r, COPY_FILE, "large");
	e.size_bytes = 10 * BLOCK;
	e.flags = COPY_HAS_LINKS;
	large = rig_add(&r, &e);
	small = rig_file(&r, "small", 1);
	waits = rig_link(&r, "link", large);
	rig_send(&r);
	rig_until_want(&r, large, COPY_SEND);
	rig_until_want(&r, small, COPY_SEND);
	rig_block(&r, large, BLOCK, r.offer, BLOCK);
	rig_bundle(&r, small, 0, "x", 1);
	rig_until_result(&r, small, COPY_DONE);
	rig_cancel(&r);
	assert_int_equal(rig_finish(&r), XDD_CANCELED);
	assert_int_equal(r.outcome[large] | r.outcome[waits] | r.outcome[dir], 0);
	rig_assert_contents(&r, "d/x/small", "x", 1);
	assert_false(rig_exists(&r, "d/x/large"));
	assert_int_equal(rig_temporary_files(&r), 0);
	rig_close(&r);
}

/* The channel ends without a word. */
TEST(test_loss)
{
	struct source_rig r;
	uint64_t large;

	rig_open(&r, "d");
	assert_int_equal(mkdir(r.path, 0755), 0);
	r.settings.into = true;
	rig_start(&r);
	large = rig_file(&r, "large", 10 * BLOCK);
	rig_send(&r);
	rig_until_want(&r, large, COPY_SEND);
	rig_block(&r, large, BLOCK, r.offer, BLOCK);
	rig_hang_up(&r);
	assert_int_equal(r.status, COPY_SSH_ENDED);
	assert_int_equal(rig_temporary_files(&r), 0);
	rig_close(&r);
}

/* The copy ends in another thread while an offer is handled: all that it uses stays until then. */
TEST(test_loss_in_offer)
{
	struct source_rig r;

	rig_open(&r, "d");
	assert_int_equal(mkdir(r.path, 0755), 0);
	r.settings.into = true;
	journal_gone = false;
	rig_start(&r);
	rig_dir(&r, SLOW_DIR);
	rig_file(&r, "small", 1);
	rig_send(&r);
	for (unsigned i = 0; !making && i < 20000; i++)
		usleep(1000);
	assert_true(making);
	/* As after a signal: the speaking thread notices that. */
	rig_abort(&r);
	rig_hang_up(&r);
	assert_int_equal(r.status, COPY_SSH_ENDED);
	assert_true(journal_gone);
	assert_false(gone_meanwhile);
	assert_int_equal(rig_temporary_files(&r), 0);
	rig_close(&r);
}

RUN_TESTS(ignore_sigpipe, NULL)
