/*
 * Names as targets of a check: the kind, and how it can be read. Called by check.c.
 */
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <grp.h>
#include <inttypes.h>
#include <linux/fs.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "commands/check.h"
#include "commands/commands.h"
#include "xdd/base/log.h"
#include "xdd/base/random.h"
#include "xdd/base/text.h"
#include "xdd/io/datamap.h"
#include "xdd/io/engine.h"
#include "xdd/io/guard.h"
#include "xdd/report/report.h"
#include "xdd/sys/blockdev.h"

#define SMALL_BYTES 4096
#define LARGE_BYTES (1u << 20)
#define LARGE_LEAST_BYTES (64u << 10)
#define LARGE_SHARE 8 /* large requests are at most this part of the target */
#define SAMPLES 64

/* The size of a file for a write test, and its least. */
#define NEW_FILE_BYTES (1ull << 30)
#define NEW_FILE_LEAST (64ull << 20)

static enum xdd_status refuse(const struct check_target *t, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

static enum xdd_status refuse(const struct check_target *t, const char *fmt, ...)
{
	char text[1024];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	log_error("check: %s: %s", t->name, text);
	return XDD_BAD_ARGUMENT;
}

/* ---- names that cannot be checked ---- */

/* The group whose members may read, or NULL. */
static const char *group_of_readers(const struct stat *st)
{
	const struct group *g = st->st_mode & S_IRGRP ? getgrgid(st->st_gid) : NULL;

	return g ? g->gr_name : NULL;
}

static enum xdd_status refuse_missing(const struct check_target *t)
{
	const char *command = command_suggest(t->name);

	if (command)
		return refuse(t, "no such file or device; did you mean the command %s?", command);
	return refuse(t, "no such file or device");
}

static enum xdd_status refuse_open(const struct check_target *t, const struct stat *st, int err)
{
	const char *group = group_of_readers(st);

	if (err == ENOMEDIUM)
		return refuse(t, "has no medium");
	if (err != EACCES && err != EPERM)
		return refuse(t, "cannot be opened for reading: %s", strerror(err));
	if (geteuid() == 0)
		return refuse(t, "cannot be opened for reading: %s", strerror(err));
	if (group && st->st_gid != 0)
		return refuse(t,
			      "cannot be opened for reading: %s; use sudo, or become a member of "
			      "group %s",
			      strerror(err), group);
	return refuse(t, "cannot be opened for reading: %s; use sudo", strerror(err));
}

static enum xdd_status refuse_directory(const struct check_target *t, const struct stat *st)
{
	char node[64];

	if (blockdev_node(st->st_dev, node, sizeof(node)) == 0)
		return refuse(t,
			      "is a directory; expected a file or a device, such as %s, which it "
			      "is on",
			      node);
	return refuse(t, "is a directory; expected a file or a device");
}

/* The first block device of the controller /dev/nvme0, to be freed; NULL: there is none. */
static char *name_space_of(const char *path)
{
	const char *name = path_last(path);
	char *pattern, *found = NULL;
	glob_t names;

	if (strncmp(name, "nvme", 4) != 0 || name[4 + strspn(name + 4, "0123456789")])
		return NULL;
	if (asprintf(&pattern, "%sn[0-9]*", path) < 0)
		return NULL;
	if (glob(pattern, 0, NULL, &names) == 0) {
		found = strdup(names.gl_pathv[0]);
		globfree(&names);
	}
	free(pattern);
	return found;
}

static enum xdd_status refuse_character(const struct check_target *t, const struct stat *st)
{
	char *name_space = name_space_of(t->name);
	char node[64];
	dev_t dev;

	if (name_space)
		refuse(t, "is a controller; expected one of its disks, such as %s", name_space);
	else if (blockdev_number_of(st, &dev) && blockdev_node(dev, node, sizeof(node)) == 0)
		refuse(t, "is a character device; expected its block device, %s", node);
	else
		refuse(t, "is a character device; expected a file or a block device");
	free(name_space);
	return XDD_BAD_ARGUMENT;
}

static enum xdd_status refuse_kind(const struct check_target *t, const struct stat *st)
{
	switch (st->st_mode & S_IFMT) {
	case S_IFDIR:
		return refuse_directory(t, st);
	case S_IFCHR:
		return refuse_character(t, st);
	case S_IFIFO:
		return refuse(t, "is a pipe; expected a file or a block device");
	default:
		return refuse(t, "is a socket; expected a file or a block device");
	}
}

static enum xdd_status refuse_size(const struct check_target *t)
{
	const char *dot = strrchr(t->name, '.');

	if (!t->block && dot && strcmp(dot, ".fio") == 0)
		return refuse(t,
			      "is a job file of fio; xdd fio %s shows the same as an xdd command",
			      t->name);
	if (t->block && !t->size_bytes)
		return refuse(t, "has a size of 0: no medium, or nothing is attached to it");
	if (!t->size_bytes)
		return refuse(t, "has a size of 0; a check needs %d bytes at least", SMALL_BYTES);
	return refuse(t, "has %" PRIu64 " bytes; a check needs %" PRIu64 " at least", t->size_bytes,
		      t->unit_bytes);
}

/* ---- how it can be read ---- */

/* True if a read past the page cache works: some file systems accept the flag only. */
static bool reads_directly(int fd, uint64_t bytes)
{
	void *buf = NULL;
	bool refused;

	if (posix_memalign(&buf, bytes, bytes))
		return false;
	refused = pread(fd, buf, bytes, 0) < 0 && errno == EINVAL;
	free(buf);
	return !refused;
}

static void find_direct(struct check_target *t, int fd)
{
	int direct = open(t->path, O_RDONLY | O_DIRECT | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct directio d = { 0 };
	int sector = 0;

	t->memory = !t->block && pagecache_is_all(fd);
	t->unit_bytes = SMALL_BYTES;
	if (direct < 0)
		return;
	directio_query(&d, direct, NULL);
	if (d.offset_align > t->unit_bytes)
		t->unit_bytes = d.offset_align;
	if (t->block && ioctl(direct, BLKSSZGET, &sector) == 0 && (uint64_t)sector > t->unit_bytes)
		t->unit_bytes = (uint64_t)sector;
	t->direct = !d.ignored && !t->memory && t->size_bytes >= t->unit_bytes &&
		    reads_directly(direct, t->unit_bytes);
	close(direct);
}

/*
 * Large requests that the device takes whole, and of which the target has several.
 */
static void find_large(struct check_target *t)
{
	uint64_t most = t->device.most_bytes;

	t->large_bytes = LARGE_BYTES;
	while (most >= LARGE_LEAST_BYTES && t->large_bytes > most)
		t->large_bytes /= 2;
	while (t->large_bytes > t->unit_bytes && t->large_bytes > t->size_bytes / LARGE_SHARE)
		t->large_bytes /= 2;
	if (t->large_bytes < t->unit_bytes)
		t->large_bytes = t->unit_bytes;
}

/* Reads through the page cache block, or move to threads of the kernel: psync has its own. */
static const char *find_engine(bool direct)
{
	static const char *const names[] = { "io_uring", "libaio" };

	for (size_t i = 0; direct && i < sizeof(names) / sizeof(names[0]); i++) {
		const struct engine_info *info = engine_named(names[i]);
		const char *why;

		if (info && (!engine_from(info)->available || !engine_from(info)->available(&why)))
			return names[i];
	}
	return "psync";
}

static void copy_text(char *buf, size_t size, const json_t *o, const char *key)
{
	const char *text = json_string_value(json_object_get(o, key));

	snprintf(buf, size, "%s", text ? text : "");
}

/* A file for a write test: a small part of what is free, under a name that does not exist. */
static void find_new_file(struct check_target *t)
{
	char *directory = path_directory(t->name);
	struct statvfs fs;
	struct stat st;
	int n;

	if (!directory || access(directory, W_OK) < 0 || statvfs(directory, &fs) < 0) {
		free(directory);
		return;
	}
	n = snprintf(t->new_file, sizeof(t->new_file), "%s/xdd-write-test", directory);
	free(directory);
	t->new_bytes = NEW_FILE_BYTES;
	while (t->new_bytes > NEW_FILE_LEAST && t->new_bytes / fs.f_frsize > fs.f_bavail / 10)
		t->new_bytes /= 2;
	if (n >= (int)sizeof(t->new_file) || t->new_bytes / fs.f_frsize > fs.f_bavail / 10 ||
	    lstat(t->new_file, &st) == 0)
		*t->new_file = '\0';
}

static void find_facts(struct check_target *t, const struct stat *st)
{
	json_t *facts = path_facts(t->path);
	const json_t *fs = json_object_get(facts, "file_system");
	char disk[DISKSTATS_NAME_SIZE];

	copy_text(t->file_system, sizeof(t->file_system), fs, "type");
	copy_text(t->mount_point, sizeof(t->mount_point), fs, "mount_point");
	copy_text(t->source, sizeof(t->source), fs, "source");
	json_decref(facts);
	if (t->block && !guard_in_use("", st->st_rdev, t->use, sizeof(t->use)))
		*t->use = '\0';
	if (diskstats_device(t->path, disk, NULL) == 0)
		check_device_read(&t->device, "", disk);
	t->no_sys = access("/sys/dev", F_OK) != 0;
}

static enum xdd_status look(struct check_target *t, int fd)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return refuse(t, "%s", strerror(errno));
	t->block = S_ISBLK(st.st_mode);
	t->size_bytes = t->block ? 0 : (uint64_t)st.st_size;
	if (t->block && ioctl(fd, BLKGETSIZE64, &t->size_bytes) < 0)
		return refuse(t, "its size is not known: %s", strerror(errno));
	find_direct(t, fd);
	if (t->size_bytes < t->unit_bytes)
		return refuse_size(t);
	find_facts(t, &st);
	find_large(t);
	t->engine = find_engine(t->direct);
	if (!t->block)
		find_new_file(t);
	return XDD_OK;
}

static enum xdd_status open_and_look(struct check_target *t)
{
	enum xdd_status status;
	struct stat st;
	int fd;

	if (stat(t->name, &st) < 0)
		return errno == ENOENT ? refuse_missing(t) : refuse(t, "%s", strerror(errno));
	if (!S_ISREG(st.st_mode) && !S_ISBLK(st.st_mode))
		return refuse_kind(t, &st);
	fd = open(t->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0)
		return refuse_open(t, &st, errno);
	status = look(t, fd);
	close(fd);
	return status;
}

/* A name that begins with a slash, "./" or "../" means nothing else to -target. */
static char *path_of(const char *name)
{
	char *path;

	if (*name == '/' || strncmp(name, "./", 2) == 0 || strncmp(name, "../", 3) == 0)
		return strdup(name);
	return asprintf(&path, "./%s", name) < 0 ? NULL : path;
}

enum xdd_status check_target_open(struct check_target *t, const char *name)
{
	enum xdd_status status;

	*t = (struct check_target){ .name = name, .path = path_of(name) };
	if (!t->path) {
		log_error("check: %s", strerror(ENOMEM));
		return XDD_INIT_FAILED;
	}
	status = open_and_look(t);
	if (status)
		check_target_free(t);
	return status;
}

void check_target_free(struct check_target *t)
{
	free(t->path);
	t->path = NULL;
}

/* ---- zeros ---- */

static bool is_zeros(const unsigned char *buf, size_t bytes)
{
	return buf[0] == 0 && memcmp(buf, buf + 1, bytes - 1) == 0;
}

void check_sample_zeros(const struct check_target *t, struct check_result *result)
{
	const uint64_t blocks = t->size_bytes / t->unit_bytes;
	const uint64_t parts = blocks < SAMPLES ? blocks : SAMPLES, part = blocks / parts;
	int fd = open(t->path, O_RDONLY | (t->direct ? O_DIRECT : 0) | O_CLOEXEC | O_NOCTTY);
	void *buf = NULL;

	if (fd >= 0 && posix_memalign(&buf, t->unit_bytes, t->unit_bytes) == 0) {
		for (uint64_t i = 0; i < parts; i++) {
			uint64_t block = i * part + random_splitmix64(i) % part;

			if (pread(fd, buf, t->unit_bytes, (off_t)(block * t->unit_bytes)) !=
			    (ssize_t)t->unit_bytes)
				continue;
			result->sampled++;
			result->zeros += is_zeros(buf, t->unit_bytes);
		}
	}
	free(buf);
	if (fd >= 0)
		close(fd);
}
