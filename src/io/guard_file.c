/*
 * Files that a target must not write to: those of the kernel itself, and those that back a loop
 * device in use. For the overwrite guard, before the run and whenever a target is opened.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "xdd/io/guard.h"

/* Those without a name are not in the headers of all kernels. */
static const unsigned kernel_file_systems[] = {
	BPF_FS_MAGIC,	  CGROUP2_SUPER_MAGIC, CGROUP_SUPER_MAGIC, DEBUGFS_MAGIC,
	PROC_SUPER_MAGIC, PSTOREFS_MAGIC,      SECURITYFS_MAGIC,   SELINUX_MAGIC,
	SMACK_MAGIC,	  SYSFS_MAGIC,	       TRACEFS_MAGIC,	   0x07655821u, /* resctrl */
	0x42494e4du,								/* binfmt_misc */
	0x5a3c69f0u,								/* apparmorfs */
	0x62656570u,								/* configfs */
	0x65735543u,								/* fusectl */
	0x67596969u,								/* rpc_pipefs */
	0x6e667364u,								/* nfsd */
	0xabba1974u,								/* xenfs */
	0xde5e81e4u,								/* efivarfs */
};

static bool is_of_kernel(int fd)
{
	struct statfs fs;

	if (fstatfs(fd, &fs))
		return false;
	for (size_t i = 0; i < sizeof(kernel_file_systems) / sizeof(kernel_file_systems[0]); i++) {
		if ((unsigned)fs.f_type == kernel_file_systems[i])
			return true;
	}
	return false;
}

static int refuse_use(const struct guard_loops *loops, const struct stat *st, char *why,
		      size_t size)
{
	return guard_file_in_use(loops, st, why, size) ? -EBUSY : 0;
}

bool guard_among_devices(const struct stat *directory)
{
	struct stat dev, root;

	return !stat("/dev", &dev) && !stat("/", &root) && dev.st_dev != root.st_dev &&
	       directory->st_dev == dev.st_dev;
}

int guard_file(const struct guard_loops *loops, int fd, const struct stat *st, char *why,
	       size_t size)
{
	if (!is_of_kernel(fd))
		return refuse_use(loops, st, why, size);
	snprintf(
		why, size,
		"is a file of the kernel (as in /proc and /sys), whose content is no storage; name "
		"a file of another file system");
	return -EPERM;
}

int guard_file_of(struct guard_loops *loops, const char *path, struct stat *st, char *why,
		  size_t size)
{
	int fd, err = 0;

	/* Hundreds of targets in one directory need one look at its file system. */
	if (loops->storage && stat(path, st) == 0 && S_ISREG(st->st_mode) &&
	    st->st_dev == loops->storage)
		return refuse_use(loops, st, why, size);
	fd = open(path, O_PATH | O_CLOEXEC);
	if (fd < 0 || fstat(fd, st)) {
		err = -errno;
		snprintf(why, size, "%s", strerror(-err));
	} else if (S_ISREG(st->st_mode)) {
		err = guard_file(loops, fd, st, why, size);
		if (!err)
			loops->storage = st->st_dev;
	}
	if (fd >= 0)
		close(fd);
	return err;
}
