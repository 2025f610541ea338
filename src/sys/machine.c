/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Processors and memory: what the kernel reports, what control groups of both versions leave, and
 * how memory is placed. Called while the plan is built and checked, while memory is occupied,
 * where buffers are allocated, and by the io_uring engine.
 */
#include "xdd/sys/machine.h"

#include <errno.h>
#include <inttypes.h>
#include <linux/capability.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "config.h"
#include "xdd/base/units.h"
#include "xdd/sys/sysfile.h"

/*
 * Processors, NUMA nodes and huge pages as the kernel reports them. Called while the plan is
 * built, and by QThreads that place their buffers.
 */

#define NODES "/sys/devices/system/node"
#define LINE_SIZE 16384 /* a list of processors with every second one missing is long */

int topology_processors(struct idset *processors)
{
	memset(processors, 0, sizeof(*processors));
	if (sched_getaffinity(0, sizeof(processors->words), (cpu_set_t *)processors->words) < 0)
		return -errno;
	return 0;
}

/* The list after `label` in a file, or the whole first line when `label` is "". */
static int read_list(const char *path, const char *label, struct idset *set)
{
	FILE *f = fopen(path, "re");
	char line[LINE_SIZE];
	int err = -ENOENT;

	memset(set, 0, sizeof(*set));
	if (!f)
		return -errno;
	while (err == -ENOENT && fgets(line, sizeof(line), f)) {
		char *list = line + strlen(label);

		if (strncmp(line, label, strlen(label)) != 0)
			continue;
		list += strspn(list, " \t");
		list[strcspn(list, "\n")] = '\0';
		err = *list ? idset_parse(set, list) : 0;
	}
	fclose(f);
	return err;
}

/* A kernel without NUMA has no such directory, and all its memory and processors are node 0. */
static bool has_nodes(void)
{
	struct stat st;

	return stat(NODES "/online", &st) == 0;
}

int topology_nodes(struct idset *nodes)
{
	if (has_nodes())
		return read_list(NODES "/online", "", nodes);
	memset(nodes, 0, sizeof(*nodes));
	idset_add(nodes, 0);
	return 0;
}

int topology_memory_nodes(struct idset *nodes)
{
	struct idset allowed;
	int err;

	if (!has_nodes())
		return topology_nodes(nodes);
	err = read_list(NODES "/has_memory", "", nodes);
	if (!err)
		err = read_list("/proc/self/status", "Mems_allowed_list:", &allowed);
	if (!err)
		idset_intersect(nodes, &allowed);
	return err;
}

int topology_node_processors(unsigned node, struct idset *processors)
{
	char path[64];

	if (!has_nodes())
		return node ? -ENOENT : topology_processors(processors);
	snprintf(path, sizeof(path), NODES "/node%u/cpulist", node);
	return read_list(path, "", processors);
}

/* The node that this thread is on just now. */
static unsigned topology_this_node(void)
{
	unsigned processor, node;

	return getcpu(&processor, &node) ? 0 : node;
}

/* Pages that are free and not reserved, and those that the kernel may still allocate. */
int topology_huge_pages(struct huge_page_pool *pool)
{
	uint64_t kib = 0, idle = 0, reserved = 0, surplus = 0, extra = 0;
	FILE *f = fopen("/proc/meminfo", "re");
	char line[128];

	memset(pool, 0, sizeof(*pool));
	if (!f)
		return -errno;
	while (fgets(line, sizeof(line), f)) {
		(void)(sscanf(line, "HugePages_Free: %" SCNu64, &idle) == 1 ||
		       sscanf(line, "HugePages_Rsvd: %" SCNu64, &reserved) == 1 ||
		       sscanf(line, "HugePages_Surp: %" SCNu64, &surplus) == 1 ||
		       sscanf(line, "Hugepagesize: %" SCNu64, &kib) == 1);
	}
	fclose(f);
	sysfile_number("/proc/sys/vm/nr_overcommit_hugepages", &extra);
	pool->page_bytes = kib * 1024;
	pool->left =
		(idle > reserved ? idle - reserved : 0) + (extra > surplus ? extra - surplus : 0);
	return 0;
}

#define MOUNTS "/sys/fs/cgroup"

struct walk {
	const char *controller;
	cgroup_fn *fn;
	void *arg;
};

/* The number after `key` in a file of lines "key number"; 0 where there is none. */
static uint64_t cgroup_number(const char *path, const char *key)
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

/*
 * Memory that is available: /proc/meminfo, and the limits of control groups. Called while a plan
 * is checked, and while memory is occupied.
 */

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

static void hostmemory_consider(void *arg, const char *dir, const char *name, bool is_unified)
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
	cgroup_each("memory", hostmemory_consider, m);
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

/*
 * The limit on locked memory, as the kernel applies it to a process. Called by the io_uring
 * engine, and where the process is locked.
 */

#define FIRST_USER_NAMESPACE "user:[4026531837]" /* PROC_USER_INIT_INO of the kernel */

/* The kernel asks for the capability in the namespace of users it started with. */
static bool in_first_namespace(void)
{
	char text[32] = "";

	return readlink("/proc/self/ns/user", text, sizeof(text) - 1) < 0 ||
	       !strcmp(text, FIRST_USER_NAMESPACE);
}

static bool may_lock_all(void)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct caps[2] = { { 0 } };

	return !syscall(SYS_capget, &header, caps) &&
	       (caps[CAP_TO_INDEX(CAP_IPC_LOCK)].effective & CAP_TO_MASK(CAP_IPC_LOCK)) &&
	       in_first_namespace();
}

uint64_t memlock_limit_bytes(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_MEMLOCK, &limit) || limit.rlim_cur == RLIM_INFINITY || may_lock_all())
		return UINT64_MAX;
	return limit.rlim_cur;
}

#ifdef HAVE_LIBNUMA

#include <numaif.h>

int mempolicy_available(struct err *why)
{
	if (get_mempolicy(NULL, NULL, 0, NULL, 0) == 0)
		return 0;
	if (errno == EPERM)
		return err_set(why, -EPERM, "a seccomp filter forbids it, as in some containers");
	return err_set(why, -errno, "this kernel knows no NUMA nodes");
}

int mempolicy_set(void *data, size_t size, enum mempolicy policy, const struct idset *nodes)
{
	struct idset here = { 0 };
	int mode = MPOL_BIND;

	if (policy == MEMPOLICY_NONE)
		return 0;
	if (policy == MEMPOLICY_LOCAL) {
		idset_add(&here, topology_this_node());
		nodes = &here;
		mode = MPOL_PREFERRED;
	} else if (policy == MEMPOLICY_INTERLEAVE) {
		mode = MPOL_INTERLEAVE;
	}
	/* The kernel uses one bit less than the number it gets. */
	return mbind(data, size, mode, nodes->words, IDSET_SIZE + 1, 0) ? -errno : 0;
}

#else /* !HAVE_LIBNUMA */

int mempolicy_available(struct err *why)
{
	return err_set(why, -ENOSYS, "this xdd was built without libnuma");
}

int mempolicy_set(void *data, size_t size, enum mempolicy policy, const struct idset *nodes)
{
	(void)data;
	(void)size;
	(void)nodes;
	return policy == MEMPOLICY_NONE ? 0 : -ENOSYS;
}

#endif
