/*
 * Memory that is available: /proc/meminfo, and the limits of control groups. Called while a plan is
 * checked, and while memory is occupied.
 */
#include "xdd/sys/hostmemory.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "xdd/sys/sysfile.h"

#define OOM_FILE "/proc/self/oom_score_adj"
#define OOM_FIRST 1000
#define MOUNTS "/sys/fs/cgroup"

/* The number after `key` in a file of lines "key number"; 0 where it is not there. */
static uint64_t number_in(const char *path, const char *key)
{
	FILE *f = fopen(path, "re");
	size_t n = strlen(key);
	uint64_t value = 0;
	char line[256];

	while (f && fgets(line, sizeof(line), f)) {
		if (strncmp(line, key, n) == 0 && (line[n] == ' ' || line[n] == '\t')) {
			value = strtoull(line + n, NULL, 10);
			break;
		}
	}
	if (f)
		fclose(f);
	return value;
}

/* Names of the files of a memory controller. */
struct controller {
	const char *max;
	const char *used;
	const char *cached[2]; /* of memory.stat: pages that the kernel frees when it needs them */
};

static const struct controller unified = { "memory.max",
					   "memory.current",
					   { "inactive_file", "active_file" } };
static const struct controller separate = { "memory.limit_in_bytes",
					    "memory.usage_in_bytes",
					    { "total_inactive_file", "total_active_file" } };

static bool group_number(const char *group, const char *name, uint64_t *value)
{
	char file[640];

	snprintf(file, sizeof(file), "%s/%s", group, name);
	return sysfile_number(file, value);
}

static void consider(struct hostmemory *m, const struct controller *c, const char *group,
		     const char *path)
{
	uint64_t max, used, cached = 0, room;
	char stat[640];

	if (!group_number(group, c->max, &max) || !group_number(group, c->used, &used))
		return;
	if (max < m->total_bytes)
		m->total_bytes = max;
	snprintf(stat, sizeof(stat), "%s/memory.stat", group);
	for (size_t i = 0; i < 2; i++)
		cached += number_in(stat, c->cached[i]);
	used -= cached < used ? cached : used;
	room = max > used ? max - used : 0;
	if (room >= m->room_bytes)
		return;
	m->room_bytes = room;
	snprintf(m->limit, sizeof(m->limit), "%s of the control group %.40s", c->max,
		 *path ? path : "/");
}

/* The control group of the process and all its ancestors, below `root`. */
static void consider_groups(struct hostmemory *m, const struct controller *c, const char *root,
			    const char *path)
{
	const size_t root_len = strlen(root);
	char group[512], *end;
	int len = snprintf(group, sizeof(group), "%s%s", root, path);

	if (len < 0 || (size_t)len >= sizeof(group))
		return;
	do {
		consider(m, c, group, group + root_len);
		end = strrchr(group, '/');
		if (end)
			*end = '\0';
	} while (end && (size_t)(end - group) >= root_len);
}

/* True if the controllers of a hierarchy, with commas between them, include that of memory. */
static bool has_memory(const char *controllers)
{
	static const char name[] = "memory";
	const size_t len = sizeof(name) - 1;

	for (const char *c = controllers; c; c = strchr(c, ',') ? strchr(c, ',') + 1 : NULL) {
		if (strncmp(c, name, len) == 0 && (!c[len] || c[len] == ','))
			return true;
	}
	return false;
}

/* A line of /proc/self/cgroup: a number, controllers and a path, with colons between them. */
static void consider_line(struct hostmemory *m, char *line)
{
	char *controllers = strchr(line, ':'), *path = NULL, root[256];

	line[strcspn(line, "\n")] = '\0';
	if (controllers)
		path = strchr(++controllers, ':');
	if (!path)
		return;
	*path++ = '\0';
	if (!*controllers)
		consider_groups(m, &unified, MOUNTS, path);
	if (!has_memory(controllers))
		return;
	/* Controllers that are mounted together have a directory with the names of all of them. */
	snprintf(root, sizeof(root), MOUNTS "/%s", controllers);
	consider_groups(m, &separate, root, path);
	if (strchr(controllers, ','))
		consider_groups(m, &separate, MOUNTS "/memory", path);
}

int hostmemory_read(struct hostmemory *m)
{
	FILE *f = fopen("/proc/self/cgroup", "re");
	char line[512];

	*m = (struct hostmemory){
		.total_bytes = number_in("/proc/meminfo", "MemTotal:") << 10,
		.room_bytes = number_in("/proc/meminfo", "MemAvailable:") << 10,
	};
	while (f && fgets(line, sizeof(line), f))
		consider_line(m, line);
	if (f)
		fclose(f);
	return m->total_bytes && m->room_bytes ? 0 : -ENODATA;
}

static bool oom_write(int value)
{
	FILE *f = fopen(OOM_FILE, "we");
	bool good = f && fprintf(f, "%d\n", value) > 0;

	if (f && fclose(f))
		good = false;
	return good;
}

int hostmemory_oom_first(void)
{
	char buf[32], *line = sysfile_line(OOM_FILE, buf, sizeof(buf));
	int before = line ? (int)strtol(line, NULL, 10) : -1;

	if (!line || before >= OOM_FIRST || !oom_write(OOM_FIRST))
		return -1;
	return before < 0 ? 0 : before;
}

void hostmemory_oom_restore(int before)
{
	if (before >= 0)
		oom_write(before);
}
