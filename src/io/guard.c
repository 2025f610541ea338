/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The overwrite guard as a whole: which devices and files a run writes to, the claims, and the
 * verdict. guard_use.c looks who else uses a device, and what is on it.
 */
#include "xdd/io/guard.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/loop.h>
#include <linux/magic.h>
#include <linux/major.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "xdd/base/err.h"
#include "xdd/base/memory.h"
#include "xdd/plan/engine_info.h"
#include "xdd/sys/blockdev.h"
#include "xdd/sys/sysfile.h"

/*
 * Files that a target must not write to: files of the kernel itself, and files that back a loop
 * device in use. Before the run and whenever a target is opened.
 */

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

static int guard_file_refuse_use(const struct guard_loops *loops, const struct stat *st,
				 struct err *why)
{
	return guard_file_in_use(loops, st, why) ? -EBUSY : 0;
}

bool guard_among_devices(const struct stat *directory)
{
	struct stat dev, root;

	return !stat("/dev", &dev) && !stat("/", &root) && dev.st_dev != root.st_dev &&
	       directory->st_dev == dev.st_dev;
}

int guard_file(const struct guard_loops *loops, int fd, const struct stat *st, struct err *why)
{
	if (!is_of_kernel(fd))
		return guard_file_refuse_use(loops, st, why);
	return err_set(
		why, -EPERM,
		"is a file of the kernel (as in /proc and /sys), whose content is no storage; name "
		"a file of another file system");
}

int guard_file_of(struct guard_loops *loops, const char *path, struct stat *st, struct err *why)
{
	int fd, err = 0;

	/* Hundreds of targets in one directory need one look at its file system. */
	if (loops->storage && stat(path, st) == 0 && S_ISREG(st->st_mode) &&
	    st->st_dev == loops->storage)
		return guard_file_refuse_use(loops, st, why);
	fd = open(path, O_PATH | O_CLOEXEC);
	if (fd < 0 || fstat(fd, st)) {
		err = -errno;
		err_errno(why, err);
	} else if (S_ISREG(st->st_mode)) {
		err = guard_file(loops, fd, st, why);
		if (!err)
			loops->storage = st->st_dev;
	}
	if (fd >= 0)
		close(fd);
	return err;
}

/*
 * Loop devices and what backs them: a file or a device whose content is in use as another device
 * is in use itself, which the kernel says nowhere else.
 */

/* The node of a loop device; -errno when it cannot be opened, or belongs to another device. */
static int open_node(const struct guard_loop *l, int flags)
{
	char node[sizeof(l->name) + 8];
	struct stat st;
	int fd;

	snprintf(node, sizeof(node), "/dev/%s", l->name);
	fd = open(node, O_RDONLY | O_NONBLOCK | O_CLOEXEC | flags);
	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) == 0 && S_ISBLK(st.st_mode) && st.st_rdev == l->loop)
		return fd;
	close(fd);
	return -ENODEV;
}

/* As the driver knows it, whatever has its name by now. */
static bool ask_driver(struct guard_loop *l)
{
	struct loop_info64 info;
	int fd = open_node(l, 0), err;

	if (fd < 0)
		return false;
	err = ioctl(fd, LOOP_GET_STATUS64, &info);
	close(fd);
	if (err)
		return false;
	l->dev = (dev_t)info.lo_device;
	l->ino = (ino_t)info.lo_inode;
	l->rdev = (dev_t)info.lo_rdevice;
	return true;
}

/* Fill in what backs the device of that name; false when nothing does, or that cannot be told. */
static bool read_loop(struct guard_loop *l, const char *root, const char *name)
{
	char path[PATH_MAX], line[PATH_MAX], number[32];
	unsigned major_no, minor_no;
	const char *backing, *dev;
	struct stat st;

	if ((size_t)snprintf(l->name, sizeof(l->name), "%s", name) >= sizeof(l->name))
		return false;
	snprintf(path, sizeof(path), "%s/sys/block/%s/loop/backing_file", root, name);
	backing = sysfile_line(path, line, sizeof(line));
	if (!backing)
		return false;
	snprintf(path, sizeof(path), "%s/sys/block/%s/dev", root, name);
	dev = sysfile_line(path, number, sizeof(number));
	if (!dev || sscanf(dev, "%u:%u", &major_no, &minor_no) != 2)
		return false;
	l->loop = makedev(major_no, minor_no);
	if (!*root && ask_driver(l))
		return true;
	if ((size_t)snprintf(path, sizeof(path), "%s%s", root, backing) >= sizeof(path) ||
	    stat(path, &st))
		return false;
	l->dev = st.st_dev;
	l->ino = st.st_ino;
	l->rdev = S_ISBLK(st.st_mode) ? st.st_rdev : 0;
	return true;
}

/* As read_loop(), by the node, where sysfs is not mounted. */
static bool read_node(struct guard_loop *l, const char *name)
{
	char node[sizeof(l->name) + 8];
	struct stat st;

	if ((size_t)snprintf(l->name, sizeof(l->name), "%s", name) >= sizeof(l->name))
		return false;
	snprintf(node, sizeof(node), "/dev/%s", l->name);
	if (stat(node, &st) || !S_ISBLK(st.st_mode) || major(st.st_rdev) != LOOP_MAJOR)
		return false;
	l->loop = st.st_rdev;
	return ask_driver(l);
}

int guard_loops_read(struct guard_loops *loops, const char *root)
{
	char path[PATH_MAX];
	struct dirent *entry;
	bool nodes = false;
	int err = 0;
	DIR *dir;

	*loops = (struct guard_loops){ .root = root };
	snprintf(path, sizeof(path), "%s/sys/block", root);
	dir = opendir(path);
	if (!dir && !*root) {
		nodes = true;
		dir = opendir("/dev");
	}
	while (dir && !err && (entry = readdir(dir))) {
		struct guard_loop l = { .rdev = 0 }, *list;

		if (strncmp(entry->d_name, "loop", 4) != 0 ||
		    !(nodes ? read_node(&l, entry->d_name) : read_loop(&l, root, entry->d_name)))
			continue;
		list = array_room(loops->list, loops->n, sizeof(*list));
		if (!list) {
			err = -ENOMEM;
			break;
		}
		list[loops->n++] = l;
		loops->list = list;
	}
	if (dir)
		closedir(dir);
	if (err)
		guard_loops_free(loops);
	return err;
}

void guard_loops_free(struct guard_loops *loops)
{
	free(loops->list);
	*loops = (struct guard_loops){ .n = 0 };
}

const struct guard_loop *guard_loop_over(const struct guard_loops *loops, dev_t dev)
{
	for (size_t i = 0; i < loops->n; i++) {
		if (loops->list[i].rdev == dev && loops->list[i].loop != dev)
			return &loops->list[i];
	}
	return NULL;
}

/* The exclusive claim catches what is not found elsewhere, where the node may be opened at all. */
static bool guard_loop_is_claimed(const struct guard_loop *l)
{
	int fd = open_node(l, O_EXCL);

	if (fd >= 0)
		close(fd);
	return fd == -EBUSY;
}

bool guard_file_in_use(const struct guard_loops *loops, const struct stat *st, struct err *why)
{
	struct err use;

	for (size_t i = 0; i < loops->n; i++) {
		const struct guard_loop *l = &loops->list[i];

		if (l->dev != st->st_dev || l->ino != st->st_ino)
			continue;
		if (guard_in_use(loops->root, l->loop, &use))
			err_set(why, -EBUSY, "it backs the loop device %s, which is in use: %s",
				l->name, use.text);
		else if (!*loops->root && guard_loop_is_claimed(l))
			err_set(why, -EBUSY,
				"it backs the loop device %s, which the kernel or another program "
				"has open exclusively",
				l->name);
		else
			continue;
		return true;
	}
	return false;
}

struct guard_claim {
	dev_t dev;
	dev_t disk; /* the whole disk it is part of, or itself */
	int fd;	    /* -1: its disk or a partition is claimed by this run, which keeps others out */
};

/* A file that may be written to; all zero where there is none. */
struct guard_good {
	dev_t dev;
	ino_t ino;
};

static bool is_scsi(const struct target_plan *t)
{
	return t->kind == TARGET_CHAR && plan_engine_caps(t) & ENGINE_SCSI;
}

/* The block device that a target writes to or discards; false when there is none. */
static bool written_device(const struct target_plan *t, dev_t *dev)
{
	struct stat st = { .st_mode = is_scsi(t) ? S_IFCHR : S_IFBLK, .st_rdev = t->device };

	return plan_changes(t) && (t->kind == TARGET_BLOCK || is_scsi(t)) &&
	       blockdev_number_of(&st, dev);
}

static int guard_refuse(struct guard_refusal *refusal, const struct target_plan *t, int err,
			const char *text)
{
	refusal->target = t;
	return err_set(&refusal->why, err, "%s", text);
}

static int guard_refuse_use(struct guard_refusal *refusal, const struct target_plan *t,
			    const char *why)
{
	refusal->target = t;
	return err_set(&refusal->why, -EBUSY,
		       "%s; a device in use is not written to, not even with -force", why);
}

/* Returns a descriptor or -errno; -ENXIO when the name leads to another device by now. */
static int open_device(const char *path, dev_t dev, int flags)
{
	int fd = open(path, flags | O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	struct stat st;

	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) == 0 && S_ISBLK(st.st_mode) && st.st_rdev == dev)
		return fd;
	close(fd);
	return -ENXIO;
}

/* Open for reading: the claim is the same, and closing it makes udev probe nothing again. */
static int open_claim(const struct target_plan *t, dev_t dev, struct guard_refusal *refusal)
{
	char node[PATH_MAX];
	const char *path = t->path;
	struct err use;
	int err;

	if (t->kind == TARGET_CHAR) {
		err = blockdev_node(dev, node, sizeof(node));
		if (err)
			return guard_refuse(
				refusal, t, err,
				"its block device has no node below /dev, so that what is on "
				"it cannot be looked at");
		path = node;
	}
	err = open_device(path, dev, O_EXCL);
	if (err >= 0)
		return err;
	if (err == -ENXIO)
		return guard_refuse(
			refusal, t, err,
			"its name no longer leads to the same device; use a name that does "
			"not change during a run");
	if (err != -EBUSY) {
		refusal->target = t;
		return err_set(&refusal->why, err, "what is on it cannot be looked at: %s",
			       strerror(-err));
	}
	if (!guard_in_use("", dev, &use))
		err_set(&use, err,
			"it is in use: the kernel or another program has it open exclusively");
	return guard_refuse_use(refusal, t, use.text);
}

/* Claim the device unless this run has it already. */
static int claim(struct guard *guard, const struct target_plan *t, dev_t dev,
		 struct guard_refusal *refusal)
{
	struct guard_claim c = { .dev = dev, .disk = blockdev_disk(dev) };
	bool related = false;

	for (size_t i = 0; i < guard->n_claims; i++) {
		if (guard->claims[i].dev == dev)
			return 0;
		related |= guard->claims[i].disk == c.disk;
	}
	c.fd = open_claim(t, dev, refusal);
	if (c.fd == -EBUSY && related)
		c.fd = -1;
	else if (c.fd < 0)
		return c.fd;
	guard->claims[guard->n_claims++] = c;
	return 0;
}

/* A device that cannot be looked at may hold anything. */
static int claim_device(struct guard *guard, const struct target_plan *t,
			struct guard_refusal *refusal)
{
	dev_t dev;

	if (!plan_changes(t))
		return 0;
	if (written_device(t, &dev))
		return claim(guard, t, dev, refusal);
	if (!is_scsi(t))
		return 0;
	return guard_refuse(
		refusal, t, -ENODEV,
		"the kernel does not name its disk (/sys/dev/char), so that what is on it "
		"cannot be looked at; name the block device of the disk");
}

static int judge_file(struct guard *guard, struct guard_loops *loops, const struct target_plan *t,
		      struct guard_refusal *refusal)
{
	struct err why;
	struct stat st;
	int err = guard_file_of(loops, t->path, &st, &why);

	/* An earlier run makes it; this one looks at it then. */
	if (err == -ENOENT && t->foreseen)
		return 0;
	if (err == -EBUSY) {
		refusal->target = t;
		return err_set(&refusal->why, err,
			       "%s; a file in use as a device is not written to", why.text);
	}
	if (err)
		return guard_refuse(refusal, t, err, why.text);
	guard->files[t->number] = (struct guard_good){ st.st_dev, st.st_ino };
	return 0;
}

static bool writes_file(const struct target_plan *t)
{
	return plan_changes(t) && t->kind == TARGET_FILE && !t->create_new_files;
}

/* Before devices are claimed: a claim of this run is no use by others. */
static int judge_files(const struct plan *plan, struct guard *guard, struct guard_refusal *refusal)
{
	struct guard_loops loops;
	bool any = false;
	int err;

	for (size_t i = 0; i < plan->n_targets && !any; i++)
		any = writes_file(&plan->targets[i]);
	if (!any)
		return 0;
	err = guard_loops_read(&loops, "");
	if (err)
		return guard_refuse(refusal, &plan->targets[0], err, strerror(-err));
	for (size_t i = 0; i < plan->n_targets && !err; i++) {
		if (writes_file(&plan->targets[i]))
			err = judge_file(guard, &loops, &plan->targets[i], refusal);
	}
	guard_loops_free(&loops);
	return err;
}

int guard_hold(const struct plan *plan, struct guard *guard, struct guard_refusal *refusal)
{
	int err;

	*guard = (struct guard){ .n_claims = 0 };
	guard->claims = calloc(plan->n_targets, sizeof(*guard->claims));
	guard->files = calloc(plan->n_targets, sizeof(*guard->files));
	err = guard->claims && guard->files ?
		      judge_files(plan, guard, refusal) :
		      guard_refuse(refusal, &plan->targets[0], -ENOMEM, strerror(ENOMEM));
	for (size_t i = 0; i < plan->n_targets && !err; i++)
		err = claim_device(guard, &plan->targets[i], refusal);
	if (err)
		guard_release(guard);
	return err;
}

static bool guard_is_claimed(const struct guard *guard, dev_t dev)
{
	for (size_t i = 0; guard && i < guard->n_claims; i++) {
		if (guard->claims[i].dev == dev)
			return true;
	}
	return false;
}

/* A file that another has taken the place of since the run was checked. */
static int allows_file(int fd, const struct stat *st, struct err *why)
{
	struct guard_loops loops;
	int err = guard_loops_read(&loops, "");

	if (err)
		return err;
	err = guard_file(&loops, fd, st, NULL);
	guard_loops_free(&loops);
	if (err)
		err_set(why, err, "%s",
			err == -EBUSY ?
				"it backs a loop device in use; a file in use as a device is not "
				"written to" :
				"its name now leads to a file of the kernel, which is no storage");
	return err;
}

int guard_allows(const struct guard *guard, const struct target_plan *t, int fd,
		 const struct stat *st, struct err *why)
{
	const struct guard_good *good = guard && guard->files ? &guard->files[t->number] : NULL;
	dev_t dev;

	if (S_ISREG(st->st_mode))
		return good && good->dev == st->st_dev && good->ino == st->st_ino ?
			       0 :
			       allows_file(fd, st, why);
	if (!S_ISBLK(st->st_mode) && !is_scsi(t))
		return 0;
	if (blockdev_number_of(st, &dev) && guard_is_claimed(guard, dev))
		return 0;
	return err_set(why, -ESTALE,
		       "it is not a device that this run has claimed; use a name that does not "
		       "change during a run");
}

void guard_release(struct guard *guard)
{
	for (size_t i = 0; i < guard->n_claims; i++) {
		if (guard->claims[i].fd >= 0)
			close(guard->claims[i].fd);
	}
	free(guard->claims);
	free(guard->files);
	memset(guard, 0, sizeof(*guard));
}

static int judge_content(const struct guard *guard, const struct target_plan *t, dev_t dev,
			 struct guard_refusal *refusal)
{
	int fd = -1, own = -1, err;
	struct err why;

	for (size_t i = 0; i < guard->n_claims; i++) {
		if (guard->claims[i].dev == dev)
			fd = guard->claims[i].fd;
	}
	/* Its disk is claimed in its place. */
	if (fd < 0)
		fd = own = open_device(t->path, dev, 0);
	if (fd < 0)
		return guard_refuse(refusal, t, fd, strerror(-fd));
	err = guard_signature(fd, &why);
	if (own >= 0)
		close(own);
	if (!err)
		return 0;
	refusal->target = t;
	return err_set(&refusal->why, err, "%s; to overwrite it all the same, say -force %s",
		       why.text, t->path);
}

/* True if the target before this one writes to the same device. */
static bool is_judged(const struct plan *plan, size_t i, dev_t dev)
{
	dev_t other;

	return i && written_device(&plan->targets[i - 1], &other) && other == dev;
}

int guard_check(const struct plan *plan, struct guard_refusal *refusal)
{
	struct guard guard = { 0 };
	int err = guard_hold(plan, &guard, refusal);

	if (err)
		return err;
	for (size_t i = 0; i < plan->n_targets && !err; i++) {
		const struct target_plan *t = &plan->targets[i];
		struct err use;
		dev_t dev;

		if (!written_device(t, &dev) || is_judged(plan, i, dev))
			continue;
		if (guard_in_use("", dev, &use))
			err = guard_refuse_use(refusal, t, use.text);
		else if (!t->forced)
			err = judge_content(&guard, t, dev, refusal);
	}
	guard_release(&guard);
	return err;
}
