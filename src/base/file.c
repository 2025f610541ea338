/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Files. Called where targets and outputs are opened, by the sources of copies, by the readers of
 * setup files, data patterns and dumps, and where lists and documents are written.
 */
#include "xdd/base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

#include "xdd/base/output.h"
#include "xdd/base/text.h"
#include "xdd/base/units.h"

/*
 * Opening files whose names may lead to another file; see the header. Called where targets and
 * outputs are opened.
 */

#define MAX_LINKS 40 /* the kernel's own limit */

int fileopen_again(int fd, int flags)
{
	char link[32];
	int again;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	again = open(link, flags | O_CLOEXEC);
	return again < 0 ? -errno : again;
}

static int judge_file(int fd, fileopen_judge judge, void *arg, struct stat *st)
{
	return fstat(fd, st) ? -errno : judge(arg, fd, st);
}

/* Let transfers wait, unless `flags` says otherwise. */
static int set_blocking(int fd, int flags)
{
	if (fd < 0 || flags & O_NONBLOCK)
		return fd;
	flags = fcntl(fd, F_GETFL);
	if (flags >= 0 && fcntl(fd, F_SETFL, flags & ~O_NONBLOCK) == 0)
		return fd;
	close(fd);
	return -EIO;
}

static int open_first(const char *path, int flags, fileopen_judge judge, void *arg)
{
	int fd = open(path, flags | O_NONBLOCK | O_CLOEXEC), err;
	struct stat st;

	if (fd < 0)
		return -errno;
	err = judge_file(fd, judge, arg, &st);
	if (!err)
		return set_blocking(fd, flags);
	close(fd);
	return err;
}

int fileopen_judged(const char *path, int flags, fileopen_judge judge, void *arg)
{
	int at = open(path, O_PATH | O_CLOEXEC), err, fd, extra;
	struct stat st;

	if (at < 0)
		return -errno;
	err = judge_file(at, judge, arg, &st);
	if (err) {
		close(at);
		return err;
	}
	extra = S_ISFIFO(st.st_mode) ? O_NONBLOCK : 0;
	fd = fileopen_again(at, flags | extra);
	close(at);
	if (fd == -ENOENT)
		return open_first(path, flags, judge, arg);
	return extra ? set_blocking(fd, flags) : fd;
}

/*
 * Returns 1 if another user has put `path` itself, a link or a file, into a sticky directory that
 * all may write to, 0 if not, or -errno. Files of the owner of the directory are trusted.
 *
 * The rule of fs.protected_symlinks and fs.protected_regular, for files of other users.
 */
static int fileopen_is_planted(const char *path)
{
	char *directory = path_directory(path);
	struct stat st, directory_st;
	int planted;

	if (!directory)
		return -ENOMEM;
	if (lstat(path, &st) || stat(directory, &directory_st))
		planted = -errno;
	else
		planted = (directory_st.st_mode & (S_ISVTX | S_IWOTH)) == (S_ISVTX | S_IWOTH) &&
			  st.st_uid != geteuid() && st.st_uid != directory_st.st_uid;
	free(directory);
	return planted;
}

static int may_follow(const char *link)
{
	int planted = fileopen_is_planted(link);

	return planted > 0 ? -EACCES : planted;
}

/* The path that a link with the text `to` leads to; NULL when memory is short. */
static char *fileopen_step(const char *link, const char *to)
{
	int length = *to == '/' ? 0 : (int)(path_last(link) - link);
	char *next;

	return asprintf(&next, "%.*s%s", length, link, to) < 0 ? NULL : next;
}

int fileopen_follow(const char *path, char **name)
{
	char *at = strdup(path);
	int err = 0;

	for (int links = 0; at && !err; links++) {
		char to[PATH_MAX], *next;
		ssize_t n = readlink(at, to, sizeof(to) - 1);

		if (n < 0 && (errno == EINVAL || errno == ENOENT)) {
			*name = at;
			return 0;
		}
		err = n < 0 ? -errno : links >= MAX_LINKS ? -ELOOP : may_follow(at);
		if (err)
			break;
		to[n] = '\0';
		next = fileopen_step(at, to);
		free(at);
		at = next;
	}
	free(at);
	return err ? err : -ENOMEM;
}

int fileopen_access(int dir_fd, const char *path, int mode)
{
	if (faccessat(dir_fd, path, mode, AT_EACCESS) == 0)
		return 0;
	if (errno != EPERM)
		return -1;
	/* The older call looks at the real user; with another one in effect, open(2) tells. */
	if (getuid() != geteuid() || getgid() != getegid())
		return 0;
	return (int)syscall(SYS_faccessat, dir_fd, path, mode);
}

bool fileopen_make_room(uint64_t n, uint64_t *limit)
{
	struct rlimit files;

	*limit = 0;
	if (getrlimit(RLIMIT_NOFILE, &files))
		return true; /* unknown: open() tells */
	if (n > files.rlim_cur && n <= files.rlim_max) {
		files.rlim_cur = n;
		if (setrlimit(RLIMIT_NOFILE, &files))
			getrlimit(RLIMIT_NOFILE, &files);
	}
	*limit = n <= files.rlim_cur ? files.rlim_cur : files.rlim_max;
	return n <= files.rlim_cur;
}

/*
 * The age of a file at which its ctime proves something; see the header. Called by the sources of
 * copies.
 */

#define WRITE_NS NS_PER_SEC /* the longest write that is waited for */
#define FAT_NS (2 * NS_PER_SEC)

/* The clock of the kernel for times of files, which stands still between two ticks. */
static int64_t file_clock_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME_COARSE, &now);
	return timespec_ns(&now);
}

/* The granularity that a time shows by its zeros; FAT keeps even seconds. */
static int64_t granule_ns(int64_t time_ns)
{
	int64_t ns = 1;

	while (ns < (int64_t)NS_PER_SEC && time_ns % (10 * ns) == 0)
		ns *= 10;
	return ns == (int64_t)NS_PER_SEC && time_ns % (int64_t)FAT_NS == 0 ? (int64_t)FAT_NS : ns;
}

/*
 * The kernel refuses a lease for reading while the file is open for writing. A program that opens
 * it for writing just now waits until the lease is given back; the signal of that does nothing.
 */
static bool may_be_written(int fd)
{
	if (fcntl(fd, F_SETSIG, SIGURG) || fcntl(fd, F_SETLEASE, F_RDLCK))
		return true;
	fcntl(fd, F_SETLEASE, F_UNLCK);
	return false;
}

int64_t fileage_wait_ns(int fd, int64_t ctime_ns)
{
	int64_t age_ns = file_clock_ns() - ctime_ns, granule = granule_ns(ctime_ns);

	/* One of the future has the time of another clock. */
	if (age_ns < -(int64_t)FAT_NS || age_ns >= granule + (int64_t)WRITE_NS)
		return 0;
	if (may_be_written(fd))
		return granule + (int64_t)WRITE_NS - age_ns;
	return granule - age_ns;
}

#define PIPE_BYTES (64u << 10)

ssize_t readfile_part(int fd, void *buf, size_t size)
{
	size_t done = 0;

	while (done < size) {
		ssize_t n = read(fd, (char *)buf + done, size - done);

		if (n == 0)
			break;
		if (n < 0 && errno != EINTR)
			return -errno;
		done += n > 0 ? (size_t)n : 0;
	}
	return (ssize_t)done;
}

ssize_t readfile_at(int fd, void *buf, size_t size, uint64_t offset)
{
	size_t done = 0;

	while (done < size) {
		ssize_t n = pread(fd, (char *)buf + done, size - done, (off_t)(offset + done));

		if (n == 0)
			break;
		if (n < 0 && errno != EINTR)
			return -errno;
		done += n > 0 ? (size_t)n : 0;
	}
	return (ssize_t)done;
}

/* The bytes to expect. One more than a file has, so that the first read sees its end. */
static size_t guess_size(int fd)
{
	struct stat st;

	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0)
		return (size_t)st.st_size + 1;
	return PIPE_BYTES;
}

static int readfile_fail(char *data, int err)
{
	free(data);
	return err;
}

int readfile(int fd, size_t limit, char **data, size_t *size)
{
	size_t room = guess_size(fd), n = 0;
	char *buf = NULL;

	*data = NULL;
	*size = 0;
	if (room > limit && limit < SIZE_MAX)
		room = limit + 1;
	for (;;) {
		char *more = realloc(buf, room + 1);
		ssize_t got;

		if (!more)
			return readfile_fail(buf, -ENOMEM);
		buf = more;
		got = readfile_part(fd, buf + n, room - n);
		if (got < 0)
			return readfile_fail(buf, (int)got);
		n += (size_t)got;
		if (n > limit)
			return readfile_fail(buf, -EFBIG);
		if (n < room)
			break;
		room *= 2;
	}
	buf[n] = '\0';
	*data = buf;
	*size = n;
	return 0;
}

#define ACL "system.posix_acl_access"
#define LABEL "security.selinux"
#define USER "user."

/* The kernel's limit for a value and for a list of names. */
#define XATTR_BYTES 65536

static bool has_xattr(const char *path, const char *name)
{
	return lgetxattr(path, name, NULL, 0) > 0;
}

static bool copy_xattr(int fd, const char *path, const char *name)
{
	char *value = malloc(XATTR_BYTES);
	ssize_t size = value ? lgetxattr(path, name, value, XATTR_BYTES) : -1;
	bool copied = size >= 0 && fsetxattr(fd, name, value, (size_t)size, 0) == 0;

	free(value);
	return copied;
}

static void copy_xattrs(int fd, const char *path)
{
	char *names = malloc(XATTR_BYTES);
	ssize_t size = names ? llistxattr(path, names, XATTR_BYTES) : 0;

	for (ssize_t at = 0; at < size; at += (ssize_t)strlen(names + at) + 1) {
		const char *name = names + at;

		if (strncmp(name, USER, strlen(USER)) == 0 || strcmp(name, LABEL) == 0)
			copy_xattr(fd, path, name);
	}
	free(names);
}

/* Returns true if the new file has the group of the old one. */
static bool keep_owner(int fd, const struct stat *old)
{
	struct stat st;

	if (fchown(fd, old->st_uid, old->st_gid) && fchown(fd, (uid_t)-1, old->st_gid))
		return fstat(fd, &st) == 0 && st.st_gid == old->st_gid;
	return true;
}

/*
 * Give the file `fd`, which is to take the name of the regular file `path`, its owner, group,
 * permissions, ACL, attributes of users (user.*) and SELinux label. Set-ID bits are not kept: they
 * were meant for other contents. Attributes that the caller may not set are unchanged, and then no
 * user gets more rights than the old file gave. Does nothing and returns false when `path` is
 * missing or no regular file, or when another user has put it into a sticky directory that all may
 * write to.
 */
static bool fileattr_keep(int fd, const char *path)
{
	struct stat old;
	mode_t mode;
	bool group, acl;

	if (lstat(path, &old) || !S_ISREG(old.st_mode) || fileopen_is_planted(path))
		return false;
	/*
	 * Remove the ACL that the directory has given to the new file: it would change the meaning
	 * of the bits.
	 */
	fremovexattr(fd, ACL);
	group = keep_owner(fd, &old);
	acl = has_xattr(path, ACL);
	mode = old.st_mode & 0777;
	/*
	 * Another group gets the rights of others at most. With an ACL the bits of the group are
	 * its mask.
	 */
	if (!group)
		mode = (mode & ~070u) | (mode & (mode & 07) << 3);
	else if (acl)
		mode &= ~070u;
	fchmod(fd, mode);
	if (group && acl)
		copy_xattr(fd, path, ACL);
	copy_xattrs(fd, path);
	return true;
}

/*
 * Files that get their names once they are complete; see the header. Called where lists and
 * documents are written.
 */

/* Without the suffix that makes it unique. */
#define SUFFIX "XXXXXX"

/* The path by which an unnamed file gets a name. */
static void self_path(int fd, char *path, size_t size)
{
	snprintf(path, size, "/proc/self/fd/%d", fd);
}

/* Without /proc, as in a chroot, the complete file could not get a name. */
static bool can_get_name(int fd)
{
	char self[64];

	self_path(fd, self, sizeof(self));
	return access(self, F_OK) == 0;
}

/* -EOPNOTSUPP: the file system or the kernel has no unnamed files, or no way to name one. */
static int open_unnamed(const char *path)
{
	char *directory = path_directory(path);
	int fd;

	if (!directory)
		return -ENOMEM;
	fd = open(directory, O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666);
	if (fd < 0)
		fd = errno == EISDIR ? -EOPNOTSUPP : -errno;
	free(directory);
	if (fd >= 0 && !can_get_name(fd)) {
		close(fd);
		fd = -EOPNOTSUPP;
	}
	return fd;
}

/* For its owner only, until it is complete. */
static int open_temporary(char *path)
{
	int fd = mkostemp(path, O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

mode_t newfile_mask(void)
{
	mode_t mask = umask(0);

	umask(mask);
	return 0777 & ~mask;
}

/* The permissions of a file that open(2) has just created. */
static void set_usual_mode(int fd)
{
	fchmod(fd, 0666 & newfile_mask());
}

/* Give the unnamed file its temporary name, which it has for a moment only. */
static int name_file(const struct newfile *n)
{
	char *suffix = n->temporary + strlen(n->temporary) - strlen(SUFFIX);
	char self[64];

	self_path(fileno(n->f), self, sizeof(self));
	for (int tries = 0; tries < 100; tries++) {
		snprintf(suffix, sizeof(SUFFIX), "%06x", (unsigned)clock_kernel_ns() & 0xffffff);
		if (linkat(AT_FDCWD, self, AT_FDCWD, n->temporary, AT_SYMLINK_FOLLOW) == 0)
			return 0;
		if (errno != EEXIST)
			return -errno;
	}
	return -EEXIST;
}

static void newfile_forget(struct newfile *n)
{
	free(n->path);
	free(n->temporary);
	*n = (struct newfile){ .f = NULL };
}

/* A pipe or a device is written to, not replaced. */
static int open_in_place(struct newfile *n, const char *path)
{
	int fd = output_open(path, 0), err;

	if (fd < 0)
		return fd;
	n->f = outwait_stream(fd);
	if (n->f)
		return 0;
	err = -errno;
	close(fd);
	return err;
}

/* Make a stream of the file that is to become n->path; on failure close and remove the file. */
static int newfile_stream(struct newfile *n, int fd)
{
	int err;

	n->f = fdopen(fd, "w");
	if (n->f)
		return 0;
	err = -errno;
	close(fd);
	if (!n->unnamed)
		unlink(n->temporary);
	return err;
}

/* Open the file that is to become n->path; where that fails, nothing is left to close. */
static int open_new(struct newfile *n)
{
	int fd, err;

	if (asprintf(&n->temporary, "%s." SUFFIX, n->path) < 0) {
		n->temporary = NULL;
		newfile_forget(n);
		return -ENOMEM;
	}
	fd = open_unnamed(n->path);
	n->unnamed = fd >= 0;
	if (fd == -EOPNOTSUPP)
		fd = open_temporary(n->temporary);
	err = fd < 0 ? fd : newfile_stream(n, fd);
	if (err)
		newfile_forget(n);
	return err;
}

/*
 * A name that has changed, for example to a device, is left as it is. A link that another user has
 * planted since the file was opened must not prevent the results: the file replaces it.
 */
static int check_replaced(const char *path, bool opened)
{
	struct stat st;

	if (lstat(path, &st))
		return errno == ENOENT ? 0 : -errno;
	return S_ISREG(st.st_mode) || (opened && S_ISLNK(st.st_mode)) ? 0 : -ENOTUNIQ;
}

int newfile_open(struct newfile *n, const char *path)
{
	struct stat st;
	int err;

	*n = (struct newfile){ .f = NULL };
	if (stat(path, &st) == 0) {
		if (!S_ISREG(st.st_mode))
			return open_in_place(n, path);
	} else if (errno != ENOENT) {
		/* For example a link that fs.protected_symlinks does not allow to be followed. */
		return -errno;
	}
	err = fileopen_follow(path, &n->path);
	if (err)
		return err;
	/* The name may have led to another file when it was resolved. */
	err = check_replaced(n->path, false);
	if (!err)
		return open_new(n);
	newfile_forget(n);
	return err;
}

int newfile_open_replace(struct newfile *n, const char *path)
{
	*n = (struct newfile){ .path = strdup(path), .replace_all = true };
	return n->path ? open_new(n) : -ENOMEM;
}

/* Not every file system can flush a directory, or needs it. */
static int flush_directory(const char *path)
{
	char *directory = path_directory(path);
	int fd, err = 0;

	if (!directory)
		return -ENOMEM;
	fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd >= 0 && fsync(fd) && errno != EINVAL && errno != EROFS)
		err = -errno;
	if (fd >= 0)
		close(fd);
	free(directory);
	return err;
}

int newfile_commit(struct newfile *n)
{
	bool in_place = !n->temporary, named = !n->unnamed && !in_place;
	int err = 0;

	errno = 0;
	if (fflush(n->f) || ferror(n->f))
		err = errno ? -errno : -EIO;
	if (!err && n->durable && !in_place && fsync(fileno(n->f)))
		err = -errno;
	/* A private file has at no moment more rights under its temporary name. */
	if (!err && !in_place && !fileattr_keep(fileno(n->f), n->path) && named)
		set_usual_mode(fileno(n->f));
	if (n->unnamed && !err) {
		err = name_file(n);
		named = !err;
	}
	if (fclose(n->f) && !err)
		err = -errno;
	if (!err && !in_place && !n->replace_all)
		err = check_replaced(n->path, true);
	if (!err && !in_place && rename(n->temporary, n->path))
		err = -errno;
	if (err && named)
		unlink(n->temporary);
	if (!err && n->durable && !in_place)
		err = flush_directory(n->path);
	newfile_forget(n);
	return err;
}

void newfile_discard(struct newfile *n)
{
	if (!n->f)
		return;
	fclose(n->f);
	if (n->temporary && !n->unnamed)
		unlink(n->temporary);
	newfile_forget(n);
}

int newfile_close(struct newfile *n, int err)
{
	if (!err)
		return newfile_commit(n);
	newfile_discard(n);
	return err;
}

#define COPY_BYTES 65536

/* For file systems without unnamed files. Returns a descriptor, or -1. */
static int open_removed(const char *directory)
{
	char *path;
	int fd;

	if (asprintf(&path, "%s/xdd-XXXXXX", directory) < 0)
		return -1;
	fd = mkostemp(path, O_CLOEXEC);
	if (fd >= 0)
		unlink(path);
	free(path);
	return fd;
}

static int open_in(const char *directory)
{
	int fd = open(directory, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

	return fd < 0 ? open_removed(directory) : fd;
}

static char *directory_of(const char *near)
{
	const char *tmpdir = getenv("TMPDIR");

	if (near)
		return path_directory(near);
	return strdup(tmpdir && *tmpdir ? tmpdir : "/tmp");
}

FILE *spool_open(const char *near)
{
	char *directory = directory_of(near);
	FILE *f;
	int fd;

	if (!directory) {
		errno = ENOMEM;
		return NULL;
	}
	fd = open_in(directory);
	free(directory);
	if (fd < 0)
		fd = memfd_create("spool", MFD_CLOEXEC);
	f = fd < 0 ? NULL : fdopen(fd, "w+");
	if (!f && fd >= 0)
		close(fd);
	return f;
}

int spool_read(FILE *spool, int (*take)(void *arg, const char *piece, size_t size), void *arg)
{
	char *buf;
	size_t n;
	int err = 0;

	if (fflush(spool) || ferror(spool) || fseeko(spool, 0, SEEK_SET))
		return errno ? -errno : -EIO;
	buf = malloc(COPY_BYTES);
	if (!buf)
		return -ENOMEM;
	while (!err && (n = fread(buf, 1, COPY_BYTES, spool)) > 0)
		err = take(arg, buf, n);
	if (!err && ferror(spool))
		err = -EIO;
	free(buf);
	return err;
}

static int spool_put(void *to, const char *piece, size_t size)
{
	if (fwrite(piece, 1, size, to) == size)
		return 0;
	return errno ? -errno : -EIO;
}

int spool_copy(FILE *spool, FILE *to)
{
	return spool_read(spool, spool_put, to);
}
