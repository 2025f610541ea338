/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The computer and the build that a run was made with, and file systems and devices of the
 * targets; see the header. Called by report_open().
 */
#include <errno.h>
#include <fcntl.h>
#include <gnu/libc-version.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>
#include <sys/utsname.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "config.h"
#include "report/info.h"
#include "xdd/base/text.h"
#include "xdd/report/jvalue.h"
#include "xdd/report/report.h"
#include "xdd/sys/machine.h"
#include "xdd/sys/sysfile.h"

/*
 * File systems and devices of the targets, from statx, statvfs, /proc/self/mountinfo and /sys.
 *
 * A file system whose server is gone may never answer. The plan and the check of the targets have
 * asked it before, so that this is no further place to wait.
 */

/* The answer of the file systems about one path. */
struct answer {
	struct statx st;
	struct statvfs fs;
	unsigned long type; /* the number of the file system's kind */
	bool has_fs;
};

/* Fill in `a` for a path that exists. Returns false where the kernel says nothing about it. */
static bool ask_existing(struct answer *a, const char *path)
{
	const unsigned mask = STATX_BASIC_STATS | STATX_MNT_ID;
	struct statfs kind;

	*a = (struct answer){ .has_fs = false };
	if (statx(AT_FDCWD, path, 0, mask, &a->st) < 0)
		return false;
	a->has_fs = !S_ISBLK(a->st.stx_mode) && !S_ISCHR(a->st.stx_mode) &&
		    statvfs(path, &a->fs) == 0 && statfs(path, &kind) == 0;
	/* Only 32 bits of the number are used, which some systems take for a signed number. */
	if (a->has_fs)
		a->type = (uint32_t)kind.f_type;
	return true;
}

/* As ask_existing(), for a target: a file that does not exist yet will be in its directory. */
static bool environment_target_ask(struct answer *a, const struct target_plan *t)
{
	char *directory;
	bool known;

	if (t->kind == TARGET_NULL)
		return false;
	if (ask_existing(a, t->path))
		return true;
	if (errno != ENOENT)
		return false;
	directory = path_directory(t->path);
	known = directory && ask_existing(a, directory);
	free(directory);
	return known;
}

/*
 * A mount by its number: "36 35 98:0 /root /point options tags... - type source options"; see
 * proc_pid_mountinfo(5). `*source` is to be freed.
 */
static void put_mount(json_t *o, uint64_t id, char **source)
{
	FILE *f = fopen("/proc/self/mountinfo", "re");
	char *line = NULL;
	size_t size = 0;

	while (f && getline(&line, &size, f) > 0) {
		char *words[6], *save = NULL, *word, *type, *from, *super;
		size_t n = 0;

		if (strtoull(line, NULL, 10) != id)
			continue;
		line[strcspn(line, "\n")] = '\0';
		for (word = strtok_r(line, " ", &save); word && n < 6;
		     word = strtok_r(NULL, " ", &save))
			words[n++] = word;
		while (word && strcmp(word, "-") != 0)
			word = strtok_r(NULL, " ", &save);
		type = strtok_r(NULL, " ", &save);
		from = strtok_r(NULL, " ", &save);
		super = strtok_r(NULL, " ", &save);
		if (n < 6 || !word || !super)
			break;
		jvalue_put(o, "type", jvalue_text(sysfile_unescape(type)));
		jvalue_put(o, "source", jvalue_text(sysfile_unescape(from)));
		jvalue_put(o, "mount_point", jvalue_text(sysfile_unescape(words[4])));
		jvalue_put(o, "mount_options", jvalue_text(sysfile_unescape(words[5])));
		jvalue_put(o, "super_options", jvalue_text(sysfile_unescape(super)));
		*source = strdup(from);
		break;
	}
	free(line);
	if (f)
		fclose(f);
}

static json_t *file_system(const struct answer *a, char **source)
{
	json_t *o = json_object();
	char name[FSTYPE_SIZE];

	if (a->st.stx_mask & STATX_MNT_ID)
		put_mount(o, a->st.stx_mnt_id, source);
	/* In a chroot, the mount may lie outside of what mountinfo shows. */
	if (!json_object_get(o, "type"))
		jvalue_put(o, "type", jvalue_text(fstype_name(a->type, name)));
	jvalue_put(o, "block_bytes", jvalue_count(a->fs.f_frsize));
	jvalue_put(o, "size_bytes", jvalue_count((uint64_t)a->fs.f_blocks * a->fs.f_frsize));
	jvalue_put(o, "free_bytes", jvalue_count((uint64_t)a->fs.f_bavail * a->fs.f_frsize));
	return o;
}

enum attribute_kind {
	ATTRIBUTE_TEXT,
	ATTRIBUTE_CHOSEN, /* the word in brackets */
	ATTRIBUTE_COUNT,
	ATTRIBUTE_FLAG,
};

/* Files of a disk below /sys/dev/block/M:m. */
static const struct attribute {
	const char *key, *file;
	enum attribute_kind kind;
} attributes[] = {
	{ "vendor", "device/vendor", ATTRIBUTE_TEXT },
	{ "model", "device/model", ATTRIBUTE_TEXT },
	{ "firmware", "device/firmware_rev", ATTRIBUTE_TEXT },
	{ "revision", "device/rev", ATTRIBUTE_TEXT },
	{ "numa_node", "device/numa_node", ATTRIBUTE_TEXT },
	{ "mapper_name", "dm/name", ATTRIBUTE_TEXT },
	{ "md_level", "md/level", ATTRIBUTE_TEXT },
	{ "backing_file", "loop/backing_file", ATTRIBUTE_TEXT },
	{ "backing_direct_io", "loop/dio", ATTRIBUTE_FLAG },
	{ "removable", "removable", ATTRIBUTE_FLAG },
	{ "read_only", "ro", ATTRIBUTE_FLAG },
	{ "rotational", "queue/rotational", ATTRIBUTE_FLAG },
	{ "scheduler", "queue/scheduler", ATTRIBUTE_CHOSEN },
	{ "write_cache", "queue/write_cache", ATTRIBUTE_TEXT },
	{ "fua", "queue/fua", ATTRIBUTE_FLAG },
	{ "logical_block_bytes", "queue/logical_block_size", ATTRIBUTE_COUNT },
	{ "physical_block_bytes", "queue/physical_block_size", ATTRIBUTE_COUNT },
	{ "minimum_io_bytes", "queue/minimum_io_size", ATTRIBUTE_COUNT },
	{ "optimal_io_bytes", "queue/optimal_io_size", ATTRIBUTE_COUNT },
	{ "discard_max_bytes", "queue/discard_max_bytes", ATTRIBUTE_COUNT },
	{ "nr_requests", "queue/nr_requests", ATTRIBUTE_COUNT },
	{ "max_sectors_kb", "queue/max_sectors_kb", ATTRIBUTE_COUNT },
	{ "max_hw_sectors_kb", "queue/max_hw_sectors_kb", ATTRIBUTE_COUNT },
	{ "max_segments", "queue/max_segments", ATTRIBUTE_COUNT },
	{ "read_ahead_kb", "queue/read_ahead_kb", ATTRIBUTE_COUNT },
	{ "nomerges", "queue/nomerges", ATTRIBUTE_COUNT },
	{ "rq_affinity", "queue/rq_affinity", ATTRIBUTE_COUNT },
	{ "io_poll", "queue/io_poll", ATTRIBUTE_FLAG },
	{ "wbt_lat_usec", "queue/wbt_lat_usec", ATTRIBUTE_COUNT },
};

static json_t *attribute_value(char *text, enum attribute_kind kind)
{
	char *open = strchr(text, '['), *close = open ? strchr(open, ']') : NULL;

	switch (kind) {
	case ATTRIBUTE_CHOSEN:
		if (close) {
			*close = '\0';
			return jvalue_text(open + 1);
		}
		break;
	case ATTRIBUTE_COUNT:
		return jvalue_count(strtoull(text, NULL, 10));
	case ATTRIBUTE_FLAG:
		return json_boolean(strcmp(text, "0") != 0);
	case ATTRIBUTE_TEXT:
		break;
	}
	return jvalue_text(text);
}

static void put_link_name(json_t *o, const char *key, const char *path)
{
	char target[512];
	ssize_t n = readlink(path, target, sizeof(target) - 1);

	if (n <= 0)
		return;
	target[n] = '\0';
	jvalue_put(o, key, jvalue_text(path_last(target)));
}

static void put_disk(json_t *o, const char *disk)
{
	char path[256], buf[512];

	for (size_t i = 0; i < sizeof(attributes) / sizeof(attributes[0]); i++) {
		const struct attribute *a = &attributes[i];
		char *text;

		snprintf(path, sizeof(path), "%s/%s", disk, a->file);
		text = sysfile_line(path, buf, sizeof(buf));
		if (text)
			jvalue_put(o, a->key, attribute_value(text, a->kind));
	}
	snprintf(path, sizeof(path), "%s/size", disk);
	if (sysfile_line(path, buf, sizeof(buf)))
		jvalue_put(o, "size_bytes", jvalue_count(strtoull(buf, NULL, 10) * 512));
}

/* NULL: /sys knows no such device. */
static json_t *device(unsigned major, unsigned minor, bool block)
{
	char base[128], disk[192];
	json_t *o;

	snprintf(base, sizeof(base), "/sys/dev/%s/%u:%u", block ? "block" : "char", major, minor);
	if (access(base, F_OK) < 0)
		return NULL;
	o = json_object();
	put_link_name(o, "name", base);
	snprintf(disk, sizeof(disk), "%s/partition", base);
	if (access(disk, F_OK) < 0) {
		put_disk(o, base);
		return o;
	}
	/* The link leads into the directory of the disk. */
	snprintf(disk, sizeof(disk), "%s/..", base);
	jvalue_put(o, "partition", json_true());
	put_disk(o, disk);
	return o;
}

/*
 * The device a file lies on: its file system's, or, where that has a number of its own, its
 * source.
 */
static json_t *device_of(const struct answer *a, const char *source)
{
	struct stat st;
	json_t *o;

	if (S_ISBLK(a->st.stx_mode) || S_ISCHR(a->st.stx_mode))
		return device(a->st.stx_rdev_major, a->st.stx_rdev_minor, S_ISBLK(a->st.stx_mode));
	o = device(a->st.stx_dev_major, a->st.stx_dev_minor, true);
	if (o || !source || strncmp(source, "/dev/", 5) != 0 || stat(source, &st) < 0 ||
	    !S_ISBLK(st.st_mode))
		return o;
	return device(major(st.st_rdev), minor(st.st_rdev), true);
}

/* `seen` holds what was found out for other targets of the same device. */
static void environment_target_describe(json_t *o, const struct answer *a, json_t *seen)
{
	bool is_device = S_ISBLK(a->st.stx_mode) || S_ISCHR(a->st.stx_mode);
	uint64_t id = a->st.stx_mask & STATX_MNT_ID ? a->st.stx_mnt_id : 0;
	char key[96], *source = NULL;
	json_t *found;

	snprintf(key, sizeof(key), "%o %u:%u %" PRIu64, a->st.stx_mode & S_IFMT,
		 is_device ? a->st.stx_rdev_major : a->st.stx_dev_major,
		 is_device ? a->st.stx_rdev_minor : a->st.stx_dev_minor, is_device ? 0 : id);
	found = json_object_get(seen, key);
	if (!found) {
		json_t *fs = a->has_fs ? file_system(a, &source) : NULL;
		json_t *dev = device_of(a, source);

		found = json_object();
		if (fs)
			jvalue_put(found, "file_system", fs);
		if (dev)
			jvalue_put(found, "device", dev);
		json_object_set_new(seen, key, found);
		free(source);
	}
	json_object_update(o, found);
}

json_t *path_facts(const char *path)
{
	json_t *o = json_object(), *seen = json_object();
	struct answer answer;

	if (o && seen && ask_existing(&answer, path))
		environment_target_describe(o, &answer, seen);
	if (!seen) {
		json_decref(o);
		o = NULL;
	}
	json_decref(seen);
	return o;
}

/* Its part about the targets: an array (environment.c). */
static json_t *environment_targets(const struct plan *plan)
{
	json_t *array = json_array(), *seen = json_object();
	struct answer answer;

	for (size_t i = 0; array && seen && i < plan->n_targets; i++) {
		json_t *o = json_object();

		jvalue_put(o, "path", jvalue_text(plan->targets[i].path));
		if (environment_target_ask(&answer, &plan->targets[i]))
			environment_target_describe(o, &answer, seen);
		json_array_append_new(array, o);
	}
	if (!seen) {
		json_decref(array);
		array = NULL;
	}
	json_decref(seen);
	return array;
}

#define CPU_FOLDER "/sys/devices/system/cpu"
#define NODE_FOLDER "/sys/devices/system/node"

#ifdef __clang__
#define COMPILER "clang " __clang_version__
#else
#define COMPILER "gcc " __VERSION__
#endif

static void put_line(json_t *object, const char *key, const char *path)
{
	char buf[256], *line = sysfile_line(path, buf, sizeof(buf));

	if (line)
		jvalue_put(object, key, jvalue_text(line));
}

static json_t *kernel(void)
{
	json_t *o = json_object();
	struct utsname name;

	if (uname(&name) < 0)
		return o;
	jvalue_put(o, "system", jvalue_text(name.sysname));
	jvalue_put(o, "release", jvalue_text(name.release));
	jvalue_put(o, "version", jvalue_text(name.version));
	jvalue_put(o, "machine", jvalue_text(name.machine));
	return o;
}

static json_t *host(void)
{
	json_t *o = json_object();
	struct utsname name;

	if (uname(&name) == 0)
		jvalue_put(o, "name", jvalue_text(name.nodename));
	put_line(o, "vendor", "/sys/class/dmi/id/sys_vendor");
	put_line(o, "product", "/sys/class/dmi/id/product_name");
	return o;
}

/*
 * "model name : ..." of the first processor. No more of the file is read: the kernel asks every
 * processor for its frequency when it comes to its lines.
 */
static void put_model(json_t *o)
{
	static const char *const labels[] = { "model name", "cpu model", "Model", "cpu\t" };
	int fd = open("/proc/cpuinfo", O_RDONLY | O_CLOEXEC);
	char buf[2048], *value = NULL;
	ssize_t n;

	if (fd < 0)
		return;
	n = read(fd, buf, sizeof(buf) - 1);
	close(fd);
	if (n <= 0)
		return;
	buf[n] = '\0';
	for (size_t i = 0; i < sizeof(labels) / sizeof(labels[0]) && !value; i++) {
		value = strstr(buf, labels[i]);
		value = value ? strchr(value, ':') : NULL;
	}
	if (!value)
		return;
	value += 1 + strspn(value + 1, " \t");
	value[strcspn(value, "\n")] = '\0';
	jvalue_put(o, "model", jvalue_text(value));
}

/* The values of all processors, each once, separated by blanks. */
static void put_governors(json_t *o, long processors)
{
	char found[256] = "", path[128], buf[64];

	for (long i = 0; i < processors && i < IDSET_SIZE; i++) {
		const char *governor;

		snprintf(path, sizeof(path), CPU_FOLDER "/cpu%ld/cpufreq/scaling_governor", i);
		governor = sysfile_line(path, buf, sizeof(buf));
		/* A machine without them has none at all. */
		if (!governor && i == 0)
			return;
		if (!governor || strstr(found, governor) ||
		    strlen(found) + strlen(governor) + 2 > sizeof(found))
			continue;
		if (*found)
			strcat(found, " ");
		strcat(found, governor);
	}
	if (*found)
		jvalue_put(o, "governor", jvalue_text(found));
}

static json_t *environment_processors(void)
{
	long online = sysconf(_SC_NPROCESSORS_ONLN), all = sysconf(_SC_NPROCESSORS_CONF);
	json_t *o = json_object();
	struct idset allowed;

	put_model(o);
	if (online > 0)
		jvalue_put(o, "online", jvalue_count((uint64_t)online));
	if (all > 0)
		jvalue_put(o, "configured", jvalue_count((uint64_t)all));
	if (topology_processors(&allowed) == 0)
		jvalue_put(o, "allowed", jvalue_count(idset_count(&allowed)));
	put_governors(o, all);
	put_line(o, "frequency_boost", CPU_FOLDER "/cpufreq/boost");
	return o;
}

static json_t *numa(void)
{
	char buf[256], *online = sysfile_line(NODE_FOLDER "/online", buf, sizeof(buf));
	json_t *o = json_object();
	struct idset nodes = { 0 };

	if (!online)
		return o;
	if (idset_parse(&nodes, online) == 0)
		jvalue_put(o, "nodes", jvalue_count(idset_count(&nodes)));
	jvalue_put(o, "online", jvalue_text(online));
	return o;
}

/* A line "Name:   123 kB", or without a unit. */
static void put_memory(json_t *o, const char *meminfo, const char *name, const char *key)
{
	const char *at = strstr(meminfo, name);
	char *end;
	uint64_t value;

	if (!at)
		return;
	value = strtoull(at + strlen(name), &end, 10);
	if (strncmp(end, " kB", 3) == 0)
		value *= 1024;
	jvalue_put(o, key, jvalue_count(value));
}

static json_t *memory(void)
{
	int fd = open("/proc/meminfo", O_RDONLY | O_CLOEXEC);
	long page = sysconf(_SC_PAGESIZE);
	json_t *o = json_object();
	char buf[8192];
	ssize_t n = fd < 0 ? -1 : read(fd, buf, sizeof(buf) - 1);

	if (fd >= 0)
		close(fd);
	buf[n > 0 ? n : 0] = '\0';
	put_memory(o, buf, "MemTotal:", "total_bytes");
	put_memory(o, buf, "MemAvailable:", "available_bytes");
	put_memory(o, buf, "SwapTotal:", "swap_bytes");
	put_memory(o, buf, "HugePages_Total:", "huge_pages");
	put_memory(o, buf, "Hugepagesize:", "huge_page_bytes");
	if (page > 0)
		jvalue_put(o, "page_bytes", jvalue_count((uint64_t)page));
	put_line(o, "transparent_huge_pages", "/sys/kernel/mm/transparent_hugepage/enabled");
	return o;
}

/* "name=version name=version", as configure put them together; without a version: true. */
static json_t *libraries(void)
{
	char text[] = BUILD_LIBRARIES, *save = NULL;
	json_t *o = json_object();

	jvalue_put(o, "libc", jvalue_text(gnu_get_libc_version()));
	for (char *word = strtok_r(text, " ", &save); word; word = strtok_r(NULL, " ", &save)) {
		char *version = strchr(word, '=');

		if (version)
			*version++ = '\0';
		jvalue_put(o, word, version && *version ? jvalue_text(version) : json_true());
	}
	return o;
}

static json_t *environment_build(void)
{
	json_t *o = json_object();

	jvalue_put(o, "version", jvalue_text(PACKAGE_VERSION));
	jvalue_put(o, "compiler", jvalue_text(COMPILER));
	jvalue_put(o, "cflags", jvalue_text(BUILD_CFLAGS));
	jvalue_put(o, "host", jvalue_text(BUILD_HOST));
	jvalue_put(o, "sanitizers", jvalue_text(BUILD_SANITIZERS));
	jvalue_put(o, "libraries", libraries());
	return o;
}

json_t *environment_collect(const struct plan *plan)
{
	json_t *o = json_object();

	if (!o || jvalue_put(o, "host", host()) || jvalue_put(o, "kernel", kernel()) ||
	    jvalue_put(o, "processors", environment_processors()) ||
	    jvalue_put(o, "numa", numa()) || jvalue_put(o, "memory", memory()) ||
	    jvalue_put(o, "build", environment_build()) ||
	    jvalue_put(o, "targets", environment_targets(plan))) {
		json_decref(o);
		return NULL;
	}
	return o;
}

/* A value as people read it; members of an object are lines of their own. */
static void write_value(FILE *f, const char *label, const json_t *value)
{
	const char *key;
	json_t *member;
	size_t i;
	char deeper[256];

	if (json_is_object(value)) {
		json_object_foreach((json_t *)value, key, member)
		{
			snprintf(deeper, sizeof(deeper), "%s%s%s", label, *label ? " " : "", key);
			write_value(f, deeper, member);
		}
		return;
	}
	if (json_is_array(value)) {
		json_array_foreach((json_t *)value, i, member)
		{
			snprintf(deeper, sizeof(deeper), "%.*s %zu", (int)strlen(label) - 1, label,
				 i);
			write_value(f, deeper, member);
		}
		return;
	}
	fputs("Environment, ", f);
	for (const char *c = label; *c; c++)
		fputc(*c == '_' ? ' ' : *c, f);
	fputs(", ", f);
	jvalue_write(f, value);
	fputc('\n', f);
}

void environment_write(FILE *f, const json_t *environment)
{
	write_value(f, "", environment);
}
