/*
 * Control groups of both versions. Called where one limits memory, threads, processors or disks.
 */
#include "xdd/sys/cgroup.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>

#include "xdd/base/nstime.h"
#include "xdd/sys/topology.h"

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

struct io_walk {
	struct cgroup_io *io;
	char disk[32];	  /* as lines of the files begin: "8:0 " */
	bool own_is_read; /* of the hierarchy of version 1 */
};

static void consider_least(uint64_t *least, uint64_t value)
{
	if (value && (!*least || value < *least))
		*least = value;
}

/* Returns the rest of the line of the disk in a file; "" without one. */
static const char *line_of_disk(const struct io_walk *w, const char *dir, const char *file,
				char *line, int size)
{
	const size_t n = strlen(w->disk);
	bool found = false;
	char path[640];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", dir, file);
	f = fopen(path, "re");
	while (f && !found && fgets(line, size, f))
		found = strncmp(line, w->disk, n) == 0;
	if (f)
		fclose(f);
	return found ? line + n : "";
}

/* "max" has no digits, so it counts as no limit. */
static uint64_t value_of(const char *line, const char *key)
{
	const char *at = strstr(line, key);

	return at ? strtoull(at + strlen(key), NULL, 10) : 0;
}

static void consider_io(void *arg, const char *dir, const char *name, bool unified)
{
	static const char *const keys[2][2] = { { "rbps=", "riops=" }, { "wbps=", "wiops=" } };
	static const char *const files[2][2] = {
		{ "blkio.throttle.read_bps_device", "blkio.throttle.read_iops_device" },
		{ "blkio.throttle.write_bps_device", "blkio.throttle.write_iops_device" },
	};
	struct io_walk *w = arg;
	char line[256];

	(void)name;
	if (!unified && w->own_is_read)
		return;
	w->own_is_read |= !unified;
	for (int dir_of = 0; dir_of < 2; dir_of++) {
		uint64_t *const least[2] = { &w->io->bytes[dir_of], &w->io->ops[dir_of] };

		for (int k = 0; k < 2; k++) {
			const char *file = unified ? "io.max" : files[dir_of][k];
			const char *rest = line_of_disk(w, dir, file, line, sizeof(line));

			consider_least(least[k], unified ? value_of(rest, keys[dir_of][k]) :
							   strtoull(rest, NULL, 10));
		}
	}
}

void cgroup_io_limits(dev_t dev, struct cgroup_io *io)
{
	struct io_walk w = { .io = io };

	*io = (struct cgroup_io){ 0 };
	snprintf(w.disk, sizeof(w.disk), "%u:%u ", major(dev), minor(dev));
	cgroup_each("blkio", consider_io, &w);
}

double cgroup_throttled_share(uint64_t throttled_ns, double elapsed_ns, double threads)
{
	struct idset all;
	const double processors = topology_processors(&all) ? 1 : idset_count(&all);
	const double time = elapsed_ns * (threads < processors ? threads : processors);
	const double share = time > 0 ? (double)throttled_ns / time : 0;

	return share < 1 ? share : 1;
}
