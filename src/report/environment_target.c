/*
 * File systems and devices of the targets, from statx, statvfs, /proc/self/mountinfo and /sys.
 * Called by environment_collect().
 *
 * A file system whose server is gone may never answer. The plan and the check of the targets have
 * asked it before, so that this is no further place to wait.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "report/environment.h"
#include "xdd/base/text.h"
#include "xdd/base/units.h"
#include "xdd/report/jvalue.h"
#include "xdd/report/path_facts.h"
#include "xdd/sys/clock.h"
#include "xdd/sys/sysfile.h"

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
static bool ask(struct answer *a, const struct target_plan *t)
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
 * The device a file lies on: that of its file system, or, where that has a number of its own, its
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
static void describe(json_t *o, const struct answer *a, json_t *seen)
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
		describe(o, &answer, seen);
	if (!seen) {
		json_decref(o);
		o = NULL;
	}
	json_decref(seen);
	return o;
}

json_t *environment_targets(const struct plan *plan)
{
	json_t *array = json_array(), *seen = json_object();
	struct answer answer;

	for (size_t i = 0; array && seen && i < plan->n_targets; i++) {
		json_t *o = json_object();

		jvalue_put(o, "path", jvalue_text(plan->targets[i].path));
		if (ask(&answer, &plan->targets[i]))
			describe(o, &answer, seen);
		json_array_append_new(array, o);
	}
	if (!seen) {
		json_decref(array);
		array = NULL;
	}
	json_decref(seen);
	return array;
}
