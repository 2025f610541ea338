/*
 * Memory of the buffers and processors of the threads: rows, and parsing of lists of processors and
 * nodes. The computations are in resources.c.
 */
#include "plan/feature.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "plan/errors.h"
#include "plan/hog.h"
#include "plan/resources.h"
#include "xdd/base/memory.h"
#include "xdd/base/units.h"
#include "xdd/sys/machine.h"

#define MEMALIGN_MAX (1ull << 30)
#define LIST_SIZE 256 /* of a list of processors in a message */
#define NODE "node"

/* Add the meaning of a node in a list: its processors, or itself. */
typedef int (*add_node)(struct idset *set, unsigned node);

static int add_node_itself(struct idset *set, unsigned node)
{
	idset_add(set, node);
	return 0;
}

static int add_node_processors(struct idset *set, unsigned node)
{
	struct idset own, usable;
	int err = topology_node_processors(node, &own);

	if (!err)
		err = topology_processors(&usable);
	if (err)
		return err;
	idset_intersect(&own, &usable);
	if (!idset_count(&own))
		return -ENODATA;
	idset_merge(set, &own);
	return 0;
}

/* A list that is being read. */
struct list {
	struct idset *set;
	add_node add;
};

/* "3", "0-3", "node0" or "node0-1". */
static int read_item(void *arg, char *item)
{
	const struct list *list = arg;
	struct idset nodes = { 0 };
	int err, node;

	if (strncmp(item, NODE, strlen(NODE)) != 0)
		return idset_parse(list->set, item);
	err = idset_parse(&nodes, item + strlen(NODE));
	for (unsigned i = 0; !err && (node = idset_nth(&nodes, i)) >= 0; i++)
		err = list->add(list->set, (unsigned)node);
	return err;
}

static int read_list(const char *text, struct idset *set, add_node add)
{
	struct list list = { set, add };

	return idset_each_item(text, read_item, &list);
}

static enum xdd_status bad_list(const struct setting *s, int err, const char *want)
{
	struct idset nodes;
	char list[LIST_SIZE];

	if (err == -EINVAL || err == -ERANGE)
		return parse_error(XDD_BAD_ARGUMENT, s, &s->args[0], "%s", want);
	if (err == -ENODATA)
		return parse_error(XDD_BAD_ARGUMENT, s, &s->args[0],
				   "the node has no processors that this process may use");
	if (err == -ENOENT && topology_nodes(&nodes) == 0)
		return parse_error(XDD_BAD_ARGUMENT, s, &s->args[0],
				   "is not a NUMA node; there are: %s",
				   idset_text(&nodes, list, sizeof(list)));
	return parse_error(XDD_BAD_ARGUMENT, s, &s->args[0], "%s", strerror(-err));
}

static enum xdd_status keep(const struct setting *s, const struct idset *set,
			    const struct idset **field)
{
	struct idset *copy = arena_alloc(s->arena, sizeof(*copy));

	if (!copy)
		return plan_no_memory();
	*copy = *set;
	*field = copy;
	return XDD_OK;
}

/* Refuse processors of `set` that the process may not use. */
static enum xdd_status check_processors(const struct setting *s, const struct idset *set)
{
	struct idset usable;
	char list[LIST_SIZE];
	int err = topology_processors(&usable), outside;

	if (err)
		return bad_list(s, err, "");
	outside = idset_first_outside(set, &usable);
	if (outside < 0)
		return XDD_OK;
	return parse_error(XDD_BAD_ARGUMENT, s, &s->args[0],
			   "cannot run on processor %d; this process may use: %s", outside,
			   idset_text(&usable, list, sizeof(list)));
}

/*
 * A list, or "all" or "any", as the information section has it, for all that the process may use.
 */
static int read_processors(const char *text, struct idset *set)
{
	if (strcmp(text, "all") == 0 || strcmp(text, "any") == 0)
		return topology_processors(set);
	return read_list(text, set, add_node_processors);
}

static enum xdd_status apply_processor(const struct setting *s, void *dst)
{
	struct target_plan *t = dst;
	struct idset set = { 0 };
	int err = read_processors(s->args[0].text, &set);
	enum xdd_status status;

	if (err)
		return bad_list(s, err, "expected processors, as in 3, 0-3,8 or node0, or all");
	status = check_processors(s, &set);
	return status ? status : keep(s, &set, &t->processors);
}

static enum xdd_status apply_singleproc(const struct setting *s, void *dst)
{
	struct plan *plan = dst;
	struct idset set = { 0 };
	enum xdd_status status;
	uint64_t number;

	if (units_parse_u64(s->args[0].text, &number) || number >= IDSET_SIZE)
		return bad_list(s, -EINVAL, "expected the number of a processor");
	idset_add(&set, (unsigned)number);
	status = check_processors(s, &set);
	plan->round_robin = false;
	return status ? status : keep(s, &set, &plan->processors);
}

static enum xdd_status apply_roundrobin(const struct setting *s, void *dst)
{
	struct plan *plan = dst;
	struct idset usable, set = { 0 };
	char list[LIST_SIZE];
	uint64_t n;
	int err = topology_processors(&usable);

	if (err)
		return bad_list(s, err, "");
	if (strcmp(s->args[0].text, "all") == 0)
		n = idset_count(&usable);
	else if (units_parse_u64(s->args[0].text, &n) || n < 1 || n > idset_count(&usable))
		return parse_error(
			XDD_BAD_ARGUMENT, s, &s->args[0],
			"expected a number of processors, 1 to %u, or all; this process may use: "
			"%s",
			idset_count(&usable), idset_text(&usable, list, sizeof(list)));
	for (unsigned i = 0; i < n; i++)
		idset_add(&set, (unsigned)idset_nth(&usable, i));
	plan->round_robin = true;
	return keep(s, &set, &plan->processors);
}

/* Nodes with memory for this process: all of them, or those of a list. */
static int read_nodes(const char *text, struct idset *set)
{
	return text ? read_list(text, set, add_node_itself) : topology_memory_nodes(set);
}

static enum xdd_status apply_nodes(const struct setting *s, struct memory_plan *m, const char *text)
{
	struct idset set = { 0 }, usable;
	char list[LIST_SIZE];
	int err = read_nodes(text, &set), outside;

	if (!err)
		err = topology_memory_nodes(&usable);
	if (err)
		return bad_list(
			s, err,
			"expected NUMA nodes, as in 1, 0-1 or node1; or local, interleave or "
			"interleave:<nodes>");
	outside = idset_first_outside(&set, &usable);
	if (outside >= 0)
		return parse_error(XDD_BAD_ARGUMENT, s, &s->args[0],
				   "cannot use memory of NUMA node %d; this process may use: %s",
				   outside, idset_text(&usable, list, sizeof(list)));
	return keep(s, &set, &m->nodes);
}

static enum xdd_status apply_numa(const struct setting *s, void *dst)
{
	static const char interleave[] = "interleave";
	struct memory_plan *m = &((struct target_plan *)dst)->memory;
	const char *text = s->args[0].text, *why = NULL;
	size_t len = strlen(interleave);
	int err = mempolicy_available(&why);

	if (err)
		return parse_error(XDD_BAD_ARGUMENT, s, &s->args[0], "%s",
				   why ? why : strerror(-err));
	if (strcmp(text, "local") == 0) {
		m->policy = MEMPOLICY_LOCAL;
		return XDD_OK;
	}
	m->policy = MEMPOLICY_BIND;
	if (strncmp(text, interleave, len) == 0 && (!text[len] || text[len] == ':')) {
		m->policy = MEMPOLICY_INTERLEAVE;
		text = text[len] ? text + len + 1 : NULL;
	}
	return apply_nodes(s, m, text);
}

static enum xdd_status apply_maxall(const struct setting *s, void *dst)
{
	struct plan *plan = dst;

	(void)s;
	plan->max_priority = true;
	plan->process_lock = true;
	return XDD_OK;
}

static enum xdd_status apply_minall(const struct setting *s, void *dst)
{
	struct plan *plan = dst;

	(void)s;
	plan->process_lock = false;
	plan->no_memory_lock = true;
	return XDD_OK;
}

static const struct option rows[] = {
	{ .name = "memalign",
	  .aliases = "mal",
	  .scope = SCOPE_TARGET,
	  .type = OPT_SIZE,
	  .arg = "<#bytes>",
	  .min = 0,
	  .max = MEMALIGN_MAX,
	  TARGET_FIELD(memory.align_asked),
	  .help = "alignment of the I/O buffers in memory",
	  .detail =
		  "They begin on a page, and those of 2 MiB or more on a multiple of 2 MiB. A "
		  "power of two from the size of a page on has them begin at a multiple of it. Any "
		  "other number has them begin so many bytes after the start of a page, which "
		  "shows what misaligned buffers cost: 6000 with pages of 4096 bytes is 1904 bytes "
		  "into a page. 0: as without the option. With -dio, an alignment that the device "
		  "cannot transfer to is refused where the kernel reports it.",
	  .example = "xdd -op read -targets 1 /tmp/file -memalign 64" },
	{ .name = "sharedmemory",
	  .aliases = "shm",
	  .scope = SCOPE_TARGET,
	  .type = OPT_FLAG,
	  .value = true,
	  TARGET_FIELD(memory.shared),
	  .help = "put the I/O buffers into shared memory segments (shmget)",
	  .detail =
		  "There is one segment for each QThread. Once the run is set up, it goes away "
		  "with the "
		  "process, however that ends. SIGKILL at the moment at which a segment is created "
		  "can "
		  "leave it in the system: ipcs -m lists it, with 0 in the column nattch, and "
		  "ipcrm -m removes "
		  "it." },
	{ .name = "hugepages",
	  .scope = SCOPE_TARGET,
	  .type = OPT_FLAG,
	  .value = true,
	  TARGET_FIELD(memory.huge_pages),
	  .help = "put the I/O buffers into explicit huge pages",
	  .detail =
		  "They come from the pool of the default size, which the administrator fills: see "
		  "the "
		  "sysctl vm.nr_hugepages. A run whose buffers do not fit into it is refused. "
		  "Without "
		  "this option, buffers of 2 MiB and more get transparent huge pages where the "
		  "kernel "
		  "has some. With -sharedmemory the kernel asks for the right to lock memory, or "
		  "the "
		  "group of the sysctl vm.hugetlb_shm_group.",
	  .example = "xdd -op read -targets 1 /dev/sdx -dio -reqsize 4096 -hugepages" },
	{ .name = "numa",
	  .scope = SCOPE_TARGET,
	  .type = OPT_CUSTOM,
	  .arg = "<nodes>|local|interleave[:<nodes>]",
	  .apply = apply_numa,
	  .help = "NUMA nodes whose memory the I/O buffers come from",
	  .detail =
		  "Without it, a buffer comes from the node of its QThread, unless the process was "
		  "started with another policy, by numactl, say. <nodes>, as in 1, 0-1 or node1: "
		  "from "
		  "these and no others. local: from the node that the QThread is on when it "
		  "starts, "
		  "whatever policy the process has. interleave: from these nodes, or from all, "
		  "page by "
		  "page.",
	  .example = "xdd -op read -targets 1 /dev/sdx -dio -processor node0 -numa 1" },
	{ .name = "nomemlock",
	  .aliases = "nomlock",
	  .scope = SCOPE_GLOBAL,
	  .type = OPT_FLAG,
	  .value = true,
	  PLAN_FIELD(no_memory_lock),
	  .help = "do not lock the I/O buffers in memory",
	  .detail = "Without it they are locked where the memlock limit (ulimit -l) allows it, and "
		    "silently not locked where it does not." },
	{ .name = "processlock",
	  .aliases = "plock",
	  .scope = SCOPE_GLOBAL,
	  .type = OPT_FLAG,
	  .value = true,
	  PLAN_FIELD(process_lock),
	  .help = "lock the whole process in memory",
	  .detail =
		  "Without the right to do so, or with too low a memlock limit (ulimit -l), there "
		  "is a warning and the run continues. -nomemlock leaves out the I/O buffers." },
	{ .name = "noproclock",
	  .aliases = "noplock",
	  .scope = SCOPE_GLOBAL,
	  .type = OPT_FLAG,
	  .value = false,
	  PLAN_FIELD(process_lock),
	  .help = "do not lock the process in memory (the default)" },
	{ .name = "hogmemory",
	  .scope = SCOPE_GLOBAL,
	  .type = OPT_CUSTOM,
	  .arg = "<%>|<#bytes>",
	  .varies = true,
	  .apply = plan_apply_hog,
	  .help = "occupy memory during the run, so that the page cache cannot have it",
	  .detail =
		  "A share, such as 75%, of the memory of the host, or of the limit of its control "
		  "group if that is less; or bytes, such as 2g. It is occupied before the first "
		  "pass, by each process of a run of several ranks, and locked where the memlock "
		  "limit allows it; otherwise there is a warning. A run that asks for more than is "
		  "available, less a 32nd of the memory, is refused. If the kernel runs out of "
		  "memory all the same, it ends xdd before other processes.",
	  .example = "xdd -op read -target /data/file -hogmemory 80%" },
	{ .name = "maxpri",
	  .aliases = "maximumpriority",
	  .scope = SCOPE_GLOBAL,
	  .type = OPT_FLAG,
	  .value = true,
	  PLAN_FIELD(max_priority),
	  .help = "run at the highest priority there is",
	  .detail = "That is the highest real-time priority, SCHED_RR, for all threads of xdd: "
		    "nothing else runs on a processor that they keep busy, and that can bring the "
		    "system to a halt. Without the right to do so there is a warning and the run "
		    "continues." },
	{ .name = "maxall",
	  .scope = SCOPE_GLOBAL,
	  .type = OPT_FLAG,
	  .apply = apply_maxall,
	  .help = "the same as -maxpri -processlock" },
	{ .name = "minall",
	  .scope = SCOPE_GLOBAL,
	  .type = OPT_FLAG,
	  .apply = apply_minall,
	  .help = "the same as -noproclock -nomemlock" },
	{ .name = "processor",
	  .aliases = "pr",
	  .scope = SCOPE_TARGET,
	  .type = OPT_CUSTOM,
	  .arg = "<processors>",
	  .numbered = true,
	  .apply = apply_processor,
	  .help = "processors that the QThreads of a target run on",
	  .detail =
		  "A number, a range, the processors of a NUMA node, or a list of these: 3, 0-3,8 "
		  "or "
		  "node0; all stands for those that this process may use. Each QThread of the "
		  "target "
		  "may run on any of them. -processor overrides -singleproc and -roundrobin. "
		  "-processor 0 1, with the number of the target first, is -processor target 0 1.",
	  .example = "xdd -op read -targets 1 /dev/sdx -dio -queuedepth 8 -processor node0" },
	{ .name = "singleproc",
	  .aliases = "sp",
	  .scope = SCOPE_GLOBAL,
	  .type = OPT_CUSTOM,
	  .arg = "<processor>",
	  .apply = apply_singleproc,
	  .help = "run all threads on one processor",
	  .detail = "The last one of -singleproc and -roundrobin wins." },
	{ .name = "roundrobin",
	  .aliases = "rr",
	  .scope = SCOPE_GLOBAL,
	  .type = OPT_CUSTOM,
	  .arg = "<#processors>|all",
	  .apply = apply_roundrobin,
	  .help = "distribute the QThreads over so many processors",
	  .detail =
		  "Counted through all targets, the first QThread runs on the first processor that "
		  "this "
		  "process may use, the next on the next, and so on in turn.",
	  .example = "xdd -op read -targets 1 /dev/sdx -dio -queuedepth 8 -roundrobin 4" },
	{ 0 },
};

const struct plan_feature feature_machine = {
	.group = { "Memory and processors", rows },
	.target = { [TARGET_SIZE] = plan_resolve_memory, [TARGET_CHECK] = plan_check_memalign },
	.plan = { [PLAN_CHECK] = plan_check_memory },
};
