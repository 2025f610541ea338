/*
 * Control groups of both versions. Called where memory, threads and processors are limited by one.
 */
#include "xdd/sys/cgroup.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "xdd/base/nstime.h"

#define MOUNTS "/sys/fs/cgroup"

struct walk {
	const char *controller;
	cgroup_fn *fn;
	void *arg;
};

uint64_t cgroup_number(const char *path, const char *key)
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

/* The group at `path` and all its ancestors, below `root`. */
static void each_ancestor(const struct walk *w, const char *root, const char *path, bool unified)
{
	const size_t root_len = strlen(root);
	char group[512], *end;
	int len = snprintf(group, sizeof(group), "%s%s", root, path);

	if (len < 0 || (size_t)len >= sizeof(group))
		return;
	do {
		w->fn(w->arg, group, group + root_len, unified);
		end = strrchr(group, '/');
		if (end)
			*end = '\0';
	} while (end && (size_t)(end - group) >= root_len);
}

/* True if the controllers of a hierarchy, with commas between them, include `name`. */
static bool has_controller(const char *controllers, const char *name)
{
	const size_t len = strlen(name);

	for (const char *c = controllers; c; c = strchr(c, ',') ? strchr(c, ',') + 1 : NULL) {
		if (strncmp(c, name, len) == 0 && (!c[len] || c[len] == ','))
			return true;
	}
	return false;
}

/* A line of /proc/self/cgroup: a number, controllers and a path, with colons between them. */
static void each_of_line(const struct walk *w, char *line)
{
	char *controllers = strchr(line, ':'), *path = NULL, root[256];

	line[strcspn(line, "\n")] = '\0';
	if (controllers)
		path = strchr(++controllers, ':');
	if (!path)
		return;
	*path++ = '\0';
	if (!*controllers)
		each_ancestor(w, MOUNTS, path, true);
	if (!has_controller(controllers, w->controller))
		return;
	/* Controllers that are mounted together have a directory with the names of all of them. */
	snprintf(root, sizeof(root), MOUNTS "/%s", controllers);
	each_ancestor(w, root, path, false);
	if (strchr(controllers, ',')) {
		snprintf(root, sizeof(root), MOUNTS "/%s", w->controller);
		each_ancestor(w, root, path, false);
	}
}

void cgroup_each(const char *controller, cgroup_fn *fn, void *arg)
{
	const struct walk w = { controller, fn, arg };
	FILE *f = fopen("/proc/self/cgroup", "re");
	char line[512];

	while (f && fgets(line, sizeof(line), f))
		each_of_line(&w, line);
	if (f)
		fclose(f);
}

static void consider_throttled(void *arg, const char *dir, const char *name, bool unified)
{
	uint64_t *most = arg, ns;
	char file[640];

	(void)name;
	snprintf(file, sizeof(file), "%s/cpu.stat", dir);
	ns = unified ? cgroup_number(file, "throttled_usec") * NS_PER_US :
		       cgroup_number(file, "throttled_time");
	if (ns > *most)
		*most = ns;
}

uint64_t cgroup_throttled_ns(void)
{
	uint64_t most = 0;

	cgroup_each("cpu", consider_throttled, &most);
	return most;
}
