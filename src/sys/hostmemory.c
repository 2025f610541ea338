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

#include "xdd/sys/cgroup.h"
#include "xdd/sys/sysfile.h"

#define OOM_FILE "/proc/self/oom_score_adj"
#define OOM_FIRST 1000

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

static void consider(void *arg, const char *dir, const char *name, bool is_unified)
{
	const struct controller *c = is_unified ? &unified : &separate;
	struct hostmemory *m = arg;
	uint64_t max, used, cached = 0, room;
	char stat[640];

	if (!group_number(dir, c->max, &max) || !group_number(dir, c->used, &used))
		return;
	if (max < m->total_bytes)
		m->total_bytes = max;
	snprintf(stat, sizeof(stat), "%s/memory.stat", dir);
	for (size_t i = 0; i < 2; i++)
		cached += cgroup_number(stat, c->cached[i]);
	used -= cached < used ? cached : used;
	room = max > used ? max - used : 0;
	if (room >= m->room_bytes)
		return;
	m->room_bytes = room;
	snprintf(m->limit, sizeof(m->limit), "%s of the control group %.40s", c->max,
		 *name ? name : "/");
}

int hostmemory_read(struct hostmemory *m)
{
	*m = (struct hostmemory){
		.total_bytes = cgroup_number("/proc/meminfo", "MemTotal:") << 10,
		.room_bytes = cgroup_number("/proc/meminfo", "MemAvailable:") << 10,
	};
	cgroup_each("memory", consider, m);
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
