/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Files that are put in place whole: nothing of them is seen before, and nothing is left of one
 * that is abandoned.
 */
#include "unit.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "scratch.h"
#include "xdd/base/file.h"

#define FIXTURE_TEST(name) TEST_SETUP_TEARDOWN(name, enter_directory, remove_directory)

static unsigned names(void)
{
	DIR *d = opendir(".");
	unsigned n = 0;

	assert_non_null(d);
	while (readdir(d))
		n++;
	closedir(d);
	return n - 2;
}

static void put(const char *name, const char *text)
{
	struct newfile n;

	assert_int_equal(newfile_open(&n, name), 0);
	assert_true(fputs(text, n.f) >= 0);
	assert_int_equal(newfile_commit(&n), 0);
}

static void assert_text(const char *name, const char *wanted)
{
	char text[100] = "";
	FILE *f = fopen(name, "r");

	assert_non_null(f);
	text[fread(text, 1, sizeof(text) - 1, f)] = '\0';
	fclose(f);
	assert_string_equal(text, wanted);
}

/* Counts of calls of fsync(2), in place of that of the C library. */
static unsigned flushed_files, flushed_directories;
static int file_flush_error, directory_flush_error;

int fsync(int fd)
{
	struct stat st;

	assert_int_equal(fstat(fd, &st), 0);
	/* The file is flushed before it has its name, its directory after that. */
	assert_text("a", S_ISDIR(st.st_mode) ? "two" : "one");
	flushed_files += S_ISREG(st.st_mode);
	flushed_directories += S_ISDIR(st.st_mode);
	errno = S_ISDIR(st.st_mode) ? directory_flush_error : file_flush_error;
	return errno ? -1 : 0;
}

/* A file that cannot be flushed gets no name; not every file system can flush directories. */
FIXTURE_TEST(test_durable)
{
	static const struct {
		int file_error, directory_error, err;
	} cases[] = {
		{ EIO, 0, -EIO }, { EINVAL, 0, -EINVAL }, { EROFS, 0, -EROFS }, { 0, EINVAL, 0 },
		{ 0, EROFS, 0 },  { 0, EIO, -EIO },	  { 0, 0, 0 },
	};
	struct newfile n;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const bool whole = !cases[i].file_error;

		flushed_files = flushed_directories = 0;
		put("a", "one");
		assert_int_equal(flushed_files + flushed_directories, 0);
		file_flush_error = cases[i].file_error;
		directory_flush_error = cases[i].directory_error;
		assert_int_equal(newfile_open(&n, "a"), 0);
		n.durable = true;
		assert_true(fputs("two", n.f) >= 0);
		assert_int_equal(newfile_commit(&n), cases[i].err);
		assert_text("a", whole ? "two" : "one");
		assert_int_equal(flushed_files, 1);
		assert_int_equal(flushed_directories, whole);
		assert_int_equal(names(), 1);
	}
}

FIXTURE_TEST(test_whole_or_not_at_all)
{
	struct newfile n;

	assert_int_equal(newfile_open(&n, "a"), 0);
	assert_true(fputs("one", n.f) >= 0);
	assert_int_equal(fflush(n.f), 0);
	if (n.unnamed)
		assert_int_equal(names(), 0);
	assert_int_equal(access("a", F_OK), -1);
	assert_int_equal(newfile_commit(&n), 0);
	assert_int_equal(names(), 1);
	assert_text("a", "one");

	assert_int_equal(newfile_open(&n, "a"), 0);
	assert_true(fputs("two", n.f) >= 0);
	assert_int_equal(fflush(n.f), 0);
	assert_text("a", "one");
	newfile_discard(&n);
	newfile_discard(&n);
	assert_int_equal(names(), 1);
	assert_text("a", "one");

	put("a", "three");
	assert_int_equal(names(), 1);
	assert_text("a", "three");
}

static int unnamed_error;

int open(const char *path, int flags, ...)
{
	mode_t mode;
	va_list ap;

	va_start(ap, flags);
	mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(ap, mode_t) : 0;
	va_end(ap);
	if (unnamed_error && (flags & O_TMPFILE) == O_TMPFILE) {
		errno = unnamed_error;
		return -1;
	}
	return openat(AT_FDCWD, path, flags, mode);
}

static void permissions(void)
{
	mode_t mask = umask(027);
	struct stat st;

	put("a", "x");
	umask(mask);
	assert_int_equal(stat("a", &st), 0);
	assert_int_equal(st.st_mode & 0777, 0640);
}

FIXTURE_TEST(test_permissions)
{
	permissions();
}

static int rename_error; /* of the next call */

int rename(const char *from, const char *to)
{
	errno = rename_error;
	rename_error = 0;
	return errno ? -1 : renameat(AT_FDCWD, from, AT_FDCWD, to);
}

static bool no_streams;

FILE *fdopen(int fd, const char *mode)
{
	static FILE *(*next)(int, const char *);

	if (!next)
		*(void **)&next = dlsym(RTLD_NEXT, "fdopen");
	errno = ENOMEM;
	return no_streams ? NULL : next(fd, mode);
}

FILE *fopencookie(void *cookie, const char *mode, cookie_io_functions_t functions)
{
	static FILE *(*next)(void *, const char *, cookie_io_functions_t);

	if (!next)
		*(void **)&next = dlsym(RTLD_NEXT, "fopencookie");
	errno = ENOMEM;
	return no_streams ? NULL : next(cookie, mode, functions);
}

/* An open that fails leaves no name and no descriptor. */
static void no_stream(const char *name, unsigned n_names)
{
	const unsigned open = open_descriptors();
	struct newfile n;

	no_streams = true;
	assert_int_equal(newfile_open(&n, name), -ENOMEM);
	no_streams = false;
	assert_null(n.f);
	assert_null(n.path);
	newfile_discard(&n);
	assert_int_equal(names(), n_names);
	assert_int_equal(open_descriptors(), open);
}

/* A commit that fails leaves the name as it is, and no other one. */
static void failures(void)
{
	const struct rlimit none = { 0, RLIM_INFINITY };
	struct rlimit usual;
	struct newfile n;

	no_stream("new", names());

	put("a", "x");
	assert_int_equal(newfile_open(&n, "b"), 0);
	assert_int_equal(mkdir("b", 0700), 0);
	assert_int_equal(newfile_commit(&n), -ENOTUNIQ);
	assert_int_equal(names(), 2);
	assert_int_equal(rmdir("b"), 0);

	assert_int_equal(newfile_open(&n, "a"), 0);
	rename_error = EXDEV;
	assert_int_equal(newfile_commit(&n), -EXDEV);
	assert_int_equal(names(), 1);
	assert_text("a", "x");

	assert_int_equal(newfile_open(&n, "a"), 0);
	assert_true(fputs("no room", n.f) >= 0);
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &usual), 0);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &none), 0);
	assert_int_equal(newfile_commit(&n), -EFBIG);
	assert_int_equal(names(), 1);
	assert_text("a", "x");

	/* An earlier write has failed, the last one has not. */
	assert_int_equal(newfile_open(&n, "a"), 0);
	assert_true(fputs("no room", n.f) >= 0);
	assert_int_equal(fflush(n.f), EOF);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &usual), 0);
	assert_int_equal(newfile_commit(&n), -EIO);
	assert_int_equal(names(), 1);
	assert_text("a", "x");
}

FIXTURE_TEST(test_failures)
{
	failures();
}

/* The user may have made the link, or another one who is to keep results from being written. */
FIXTURE_TEST(test_link_planted)
{
	struct newfile n;

	assert_int_equal(newfile_open(&n, "a"), 0);
	assert_int_equal(symlink("b", "a"), 0);
	assert_int_equal(newfile_commit(&n), 0);
	assert_text("a", "");
	assert_int_equal(names(), 1);
}

/*
 * A file system, or a kernel, that has no unnamed files: a temporary name does not outlive a
 * failure either. Other errors of the open are final.
 */
FIXTURE_TEST(test_without_unnamed)
{
	static const int errors[] = { EOPNOTSUPP, EISDIR };
	struct newfile n;

	for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++) {
		unnamed_error = errors[i];
		permissions();
		assert_int_equal(names(), 1);
		assert_int_equal(newfile_open(&n, "b"), 0);
		assert_int_equal(names(), 2);
		newfile_discard(&n);
		assert_int_equal(names(), 1);
		failures();
	}
	unnamed_error = EMFILE;
	assert_int_equal(newfile_open(&n, "b"), -EMFILE);
	assert_int_equal(names(), 1);
	unnamed_error = 0;
}

FIXTURE_TEST(test_kept)
{
	mode_t mask = umask(022);
	struct stat st;

	put("a", "one");
	assert_int_equal(chmod("a", 06750), 0);
	put("a", "two");
	assert_text("a", "two");
	umask(mask);
	assert_int_equal(stat("a", &st), 0);
	assert_int_equal(st.st_mode & 07777, 0750);
}

static int owner_errors; /* calls of fchown(2) that fail from now on */

int fchown(int fd, uid_t user, gid_t group)
{
	if (owner_errors) {
		owner_errors--;
		errno = EPERM;
		return -1;
	}
	return fchownat(fd, "", user, group, AT_EMPTY_PATH);
}

/* Where the group cannot be kept, the new one has no more rights than others. */
FIXTURE_TEST(test_group)
{
	static const struct {
		int errors;
		gid_t group;
		mode_t mode, wanted;
	} cases[] = {
		{ 0, 1, 0764, 0764 }, { 1, 1, 0764, 0764 }, { 2, 0, 0764, 0764 },
		{ 2, 1, 0764, 0744 }, { 2, 1, 0746, 0746 }, { 2, 1, 0777, 0777 },
		{ 2, 1, 0750, 0700 }, { 2, 1, 0707, 0707 }, { 2, 1, 0673, 0633 },
	};
	struct stat st;

	if (geteuid() != 0)
		skip();
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const gid_t wanted = cases[i].errors < 2 ? getegid() + cases[i].group : getegid();

		put("a", "one");
		assert_int_equal(chown("a", (uid_t)-1, getegid() + cases[i].group), 0);
		assert_int_equal(chmod("a", cases[i].mode), 0);
		owner_errors = cases[i].errors;
		put("a", "two");
		assert_int_equal(owner_errors, 0);
		assert_int_equal(stat("a", &st), 0);
		assert_int_equal(st.st_mode & 07777, cases[i].wanted);
		assert_int_equal(st.st_gid, wanted);
	}
}

FIXTURE_TEST(test_link_is_followed)
{
	struct stat st;

	put("a", "before");
	assert_int_equal(symlink("a", "link"), 0);
	put("link", "after");
	assert_int_equal(lstat("link", &st), 0);
	assert_true(S_ISLNK(st.st_mode));
	assert_text("a", "after");
}

/* The new file replaces a link or a pipe; the file that a link points to stays as it was. */
FIXTURE_TEST(test_replace)
{
	struct newfile n;
	struct stat st;

	put("a", "before");
	assert_int_equal(symlink("a", "link"), 0);
	assert_int_equal(newfile_open_replace(&n, "link"), 0);
	assert_true(fputs("new", n.f) >= 0);
	assert_int_equal(newfile_commit(&n), 0);
	assert_int_equal(lstat("link", &st), 0);
	assert_true(S_ISREG(st.st_mode));
	assert_text("link", "new");
	assert_text("a", "before");
	assert_int_equal(unlink("link"), 0);
	assert_int_equal(mkfifo("link", 0600), 0);
	assert_int_equal(newfile_open_replace(&n, "link"), 0);
	assert_true(fputs("new", n.f) >= 0);
	assert_int_equal(newfile_commit(&n), 0);
	assert_text("link", "new");
	assert_int_equal(names(), 2);
	assert_int_equal(newfile_open_replace(&n, "missing/a"), -ENOENT);
	newfile_discard(&n);
}

FIXTURE_TEST(test_errors)
{
	struct newfile n;

	assert_int_equal(newfile_open(&n, "missing/a"), -ENOENT);
	newfile_discard(&n);
	assert_int_equal(mkdir("sub", 0700), 0);
	assert_int_equal(newfile_open(&n, "sub"), -EISDIR);
	newfile_discard(&n);
	assert_int_equal(symlink("link", "link"), 0);
	assert_int_equal(newfile_open(&n, "link"), -ELOOP);
	newfile_discard(&n);
	assert_int_equal(unlink("link"), 0);
	assert_int_equal(names(), 1);
}

/* A pipe gets what is written, and stays. */
FIXTURE_TEST(test_no_regular_file)
{
	char text[10] = "";
	struct newfile n;
	struct stat st;
	int fd;

	assert_int_equal(mkfifo("a", 0600), 0);
	fd = open("a", O_RDWR | O_CLOEXEC | O_NONBLOCK);
	assert_true(fd >= 0);
	put("a", "one");
	assert_int_equal(read(fd, text, sizeof(text) - 1), 3);
	assert_string_equal(text, "one");
	assert_int_equal(newfile_open(&n, "a"), 0);
	newfile_discard(&n);
	no_stream("a", 1);
	close(fd);
	assert_int_equal(lstat("a", &st), 0);
	assert_true(S_ISFIFO(st.st_mode));
	assert_int_equal(names(), 1);
}

RUN_TESTS(NULL, NULL)
