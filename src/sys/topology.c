/*
 * Processors, NUMA nodes and huge pages as the kernel reports them. Called while the plan is built,
 * and by QThreads that place their buffers.
 */
#include "xdd/sys/topology.h"

#include <errno.h>
#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "xdd/sys/sysfile.h"

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

unsigned topology_this_node(void)
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
