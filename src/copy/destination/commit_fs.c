/*
 * Kinds of file systems; see the header.
 */
#include "copy/destination/commit_fs.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/statfs.h>
#include <sys/utsname.h>
#include <unistd.h>

struct kind {
	unsigned long magic;
	enum commit_flush flush;
	bool shared;
};

/*
 * All others, such as stacked ones, FUSE and those outside of the kernel, have each file flushed,
 * and count as shared: their syncfs(2) may do nothing, or may not learn of errors below.
 */
static const struct kind kinds[] = {
	{ 0x01021994, COMMIT_FLUSH_NONE, false }, /* tmpfs */
	{ 0x858458f6, COMMIT_FLUSH_NONE, false }, /* ramfs */
	{ 0x0000ef53, COMMIT_FLUSH_ALL, false },  /* ext2, ext3, ext4 */
	{ 0x58465342, COMMIT_FLUSH_ALL, false },  /* xfs */
	{ 0x9123683e, COMMIT_FLUSH_ALL, false },  /* btrfs */
	{ 0xf2f52010, COMMIT_FLUSH_ALL, false },  /* f2fs */
	{ 0xca451a4e, COMMIT_FLUSH_ALL, false },  /* bcachefs */
	{ 0x00004d44, COMMIT_FLUSH_ALL, false },  /* vfat */
	{ 0x2011bab0, COMMIT_FLUSH_ALL, false },  /* exfat */
	{ 0x00006969, COMMIT_FLUSH_ALL, true },	  /* nfs */
	{ 0x00c36400, COMMIT_FLUSH_ALL, true },	  /* ceph */
	{ 0x794c7630, COMMIT_FLUSH_EACH, false }, /* overlay */
};

static struct kind kind_of(int fd)
{
	const struct kind other = { 0, COMMIT_FLUSH_EACH, true };
	struct statfs st;

	if (fstatfs(fd, &st))
		return other;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		if (kinds[i].magic == (unsigned long)st.f_type)
			return kinds[i];
	}
	return other;
}

/* syncfs(2) reports errors of writes since Linux 5.8. */
static bool syncfs_reports(void)
{
	struct utsname u;
	unsigned major, minor;

	return uname(&u) == 0 && sscanf(u.release, "%u.%u", &major, &minor) == 2 &&
	       (major > 5 || (major == 5 && minor >= 8));
}

enum commit_flush commit_fs_flush(int fd)
{
	enum commit_flush flush = kind_of(fd).flush;

	return flush == COMMIT_FLUSH_ALL && !syncfs_reports() ? COMMIT_FLUSH_EACH : flush;
}

bool commit_fs_is_shared(int fd)
{
	return kind_of(fd).shared;
}

int commit_fs_link(int fd, int dir_fd, const char *name)
{
	char path[32];

	if (linkat(fd, "", dir_fd, name, AT_EMPTY_PATH) == 0)
		return 0;
	if (errno != ENOENT)
		return -errno;
	/* Only some kernels let all users do that. */
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return linkat(AT_FDCWD, path, dir_fd, name, AT_SYMLINK_FOLLOW) ? -errno : 0;
}
