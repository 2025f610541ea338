/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Memory of the buffers and processors of the threads: rows, lists of processors and nodes, the
 * computations, and -hogmemory.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "plan/feature.h"
#include "plan/parse.h"
#include "xdd/base/log.h"
#include "xdd/base/memory.h"
#include "xdd/base/units.h"
#include "xdd/sys/machine.h"

/*
 * -hogmemory: a share of the memory of the host, or bytes.
 */

#define MIB (UINT64_C(1) << 20)

/* The function of the row. */
static enum xdd_status plan_apply_hog(const struct setting *s, void *dst)
{
	const char *word = s->args[0].text;
	struct plan *plan = dst;
	double percent = 0;
	uint64_t bytes = 0;

	if (strchr(word, '%') && !units_parse_percentage(word, &percent) && percent > 0) {
		plan->hog_percent = percent;
		plan->hog_bytes = 0;
		return XDD_OK;
	}
	if (!strchr(word, '%') && !units_parse_size(word, &bytes) && bytes) {
		plan->hog_percent = 0;
		plan->hog_bytes = bytes;
		return XDD_OK;
	}
	return parse_error(
		XDD_BAD_ARGUMENT, s, &s->args[0],
		"expected a share of the memory of the host, above 0 and up to 100%%, such as "
		"75%%, or bytes, such as 2g");
}

/*
 * Compute how much memory to occupy, and refuse more than there is beside `buffer_bytes` of the I/O
 * buffers. XDD_OK, or another status with one line given to log_error().
 */
static enum xdd_status plan_check_hog(struct plan *plan, uint64_t buffer_bytes)
{
	struct hostmemory m;
	uint64_t taken, most;

	if (plan->hog_percent <= 0 && !plan->hog_bytes)
		return XDD_OK;
	if (hostmemory_read(&m))
		return log_refuse(
			"-hogmemory: cannot find out how much memory is available (/proc/meminfo)");
	if (plan->hog_percent > 0)
		plan->hog_bytes = (uint64_t)((double)m.total_bytes * plan->hog_percent / 100);
	taken = buffer_bytes + plan_hog_reserve_bytes(m.total_bytes);
	most = m.room_bytes > taken ? m.room_bytes - taken : 0;
	if (plan->hog_bytes <= most)
		return XDD_OK;
	return log_refuse("-hogmemory: %" PRIu64 " MiB are more than the %" PRIu64
			  " MiB that can be occupied of %" PRIu64 " MiB%s%s; %" PRIu64
			  " MiB of those that are available are for I/O buffers and in reserve",
			  plan->hog_bytes / MIB, most / MIB, m.total_bytes / MIB,
			  *m.limit ? " by " : "", m.limit, taken / MIB);
}

/*
 * The layout of the I/O buffers, whether they fit, and which processors a QThread runs on. The
 * functions that plan.h declares are also called by the modules of a run.
 */

#define LARGE_BYTES (2ull << 20) /* from here on a buffer begins on a huge page of its own */

static uint64_t small_page(void)
{
	long page = sysconf(_SC_PAGESIZE);

	return page > 0 ? (uint64_t)page : 4096;
}

static bool is_power_of_two(uint64_t n)
{
	return n && (n & (n - 1)) == 0;
}

static uint64_t round_up(uint64_t n, uint64_t to)
{
	return (n + to - 1) / to * to;
}

/*
 * Buffers begin on a page, large ones on a huge page: neighbours then share neither. A -memalign
 * that is a power of two, a page at least, is their alignment; any other is their offset in a page.
 */
enum xdd_status plan_resolve_memory(struct plan *plan, struct target_plan *t)
{
	struct memory_plan *m = &t->memory;
	uint64_t page = small_page(), align = page;
	struct huge_page_pool pool;

	(void)plan;
	if (m->align_asked >= page && is_power_of_two(m->align_asked))
		align = m->align_asked;
	else if (m->align_asked)
		m->shift_bytes = m->align_asked % page;
	else if (t->req_bytes >= LARGE_BYTES)
		align = LARGE_BYTES;
	m->page_bytes = page;
	if (m->huge_pages && topology_huge_pages(&pool) == 0 && pool.page_bytes)
		m->page_bytes = pool.page_bytes;
	m->align_bytes = align > m->page_bytes ? align : m->page_bytes;
	/* In a copy even the null device has data: what is sent, or received. */
	if ((t->kind == TARGET_NULL && t->endtoend.role == E2E_NONE) || t->op == OP_NOOP ||
	    t->op == OP_DISCARD)
		return XDD_OK;
	m->stride_bytes = round_up(t->req_bytes + m->shift_bytes, align);
	/* Do not pad the last buffer for a buffer that will not follow. */
	m->last_bytes = align > LARGE_BYTES ? round_up(t->req_bytes, page) : m->stride_bytes;
	return XDD_OK;
}

enum xdd_status plan_check_memalign(struct plan *plan, struct target_plan *t)
{
	const struct memory_plan *m = &t->memory;
	char text[32];

	(void)plan;
	if (!t->direct_io || !t->memory_align_bytes || !m->stride_bytes ||
	    m->shift_bytes % t->memory_align_bytes == 0)
		return XDD_OK;
	return plan_refuse(
		t, "-memalign %" PRIu64 ": must place the buffers at multiples of %s with -dio",
		m->align_asked, units_size_text(t->memory_align_bytes, text, sizeof(text)));
}

uint64_t plan_region_bytes(const struct memory_plan *memory, uint64_t depth)
{
	if (!depth)
		return 0;
	return round_up(memory->stride_bytes * (depth - 1) + memory->last_bytes,
			memory->page_bytes);
}

uint32_t plan_depth_of(const struct target_plan *t, uint32_t qthread)
{
	return (uint32_t)(t->queue_depth / t->qthreads + (qthread < t->queue_depth % t->qthreads));
}

/* All regions of a target together: a share of the queue depth is one of two numbers. */
static uint64_t target_bytes(const struct target_plan *t)
{
	uint64_t more = t->queue_depth % t->qthreads, depth = t->queue_depth / t->qthreads;

	return more * plan_region_bytes(&t->memory, depth + 1) +
	       (t->qthreads - more) * plan_region_bytes(&t->memory, depth);
}

static enum xdd_status check_huge_pages(uint64_t bytes)
{
	struct huge_page_pool pool;
	char size[32];
	int err = topology_huge_pages(&pool);

	if (err || !pool.page_bytes)
		return log_refuse("-hugepages: this kernel has no huge pages");
	if (bytes / pool.page_bytes <= pool.left)
		return XDD_OK;
	return log_refuse("-hugepages: the I/O buffers take %" PRIu64
			  " of the huge pages of %s, and there are %" PRIu64
			  " left; see the sysctl vm.nr_hugepages",
			  bytes / pool.page_bytes,
			  units_size_text(pool.page_bytes, size, sizeof(size)), pool.left);
}

uint64_t plan_machine_bytes(void)
{
	long pages = sysconf(_SC_PHYS_PAGES);

	return pages > 0 ? (uint64_t)pages * small_page() : UINT64_MAX;
}

/* With buffers that do not fit the kernel would kill a process: refuse them. */
static enum xdd_status plan_check_memory(struct plan *plan)
{
	uint64_t have = plan_machine_bytes(), want = 0, huge = 0;
	enum xdd_status status;

	for (const struct target_plan *t = plan->targets; t < plan_end(plan); t++) {
		uint64_t bytes = target_bytes(t);

		want += bytes;
		if (t->memory.huge_pages)
			huge += bytes;
	}
	if (want >= have)
		return log_refuse(
			"-reqsize, -queuedepth: the I/O buffers would take %.1f GiB, and this "
			"machine has %.1f GiB of memory",
			(double)want / GIB, (double)have / GIB);
	status = huge ? check_huge_pages(huge) : XDD_OK;
	return status ? status : plan_check_hog(plan, want);
}

const struct idset *plan_processors_of(const struct plan *plan, const struct target_plan *t,
				       uint32_t qthread, int *one)
{
	uint64_t number = t->first_qthread + qthread;

	*one = -1;
	if (t->processors)
		return t->processors;
	if (plan->processors && plan->round_robin)
		*one = idset_nth(plan->processors,
				 (unsigned)(number % idset_count(plan->processors)));
	return plan->processors;
}

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

static enum xdd_status machine_keep(const struct setting *s, const struct idset *set,
				    const struct idset **field)
{
	struct idset *copy = xarena_alloc(s->arena, sizeof(*copy));

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
	return status ? status : machine_keep(s, &set, &t->processors);
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
	return status ? status : machine_keep(s, &set, &plan->processors);
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
	return machine_keep(s, &set, &plan->processors);
}

/* Nodes with memory for this process: all of them, or the nodes of a list. */
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
	return machine_keep(s, &set, &m->nodes);
}

static enum xdd_status apply_numa(const struct setting *s, void *dst)
{
	static const char interleave[] = "interleave";
	struct memory_plan *m = &((struct target_plan *)dst)->memory;
	const char *text = s->args[0].text;
	struct err why;
	size_t len = strlen(interleave);
	int err = mempolicy_available(&why);

	if (err)
		return parse_error(XDD_BAD_ARGUMENT, s, &s->args[0], "%s", why.text);
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
	  OPTION_SIZE("<#bytes>", 0, MEMALIGN_MAX),
	  TARGET_FIELD(memory.align_asked),
	  .help = "alignment of the I/O buffers in memory",
	  .detail =
		  "They begin on a page, buffers of 2 MiB or more on a multiple of 2 MiB. A "
		  "power of two from the size of a page on has them begin at a multiple of it. Any "
		  "other number has them begin so many bytes after the start of a page, which "
		  "shows what misaligned buffers cost: 6000 with pages of 4096 bytes is 1904 bytes "
		  "into a page. 0: as without the option. With -dio, an alignment that the device "
		  "cannot transfer to is refused where the kernel reports it.",
	  .example = "xdd -op read -targets 1 /tmp/file -memalign 64" },
	{ .name = "sharedmemory",
	  .aliases = "shm",
	  TARGET_FLAG(memory.shared),
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
	  TARGET_FLAG(memory.huge_pages),
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
	  OPTION_CUSTOM("<nodes>|local|interleave[:<nodes>]", apply_numa),
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
	  PLAN_FLAG(no_memory_lock),
	  .help = "do not lock the I/O buffers in memory",
	  .detail = "Without it they are locked where the memlock limit (ulimit -l) allows it, and "
		    "silently not locked where it does not." },
	{ .name = "processlock",
	  .aliases = "plock",
	  PLAN_FLAG(process_lock),
	  .help = "lock the whole process in memory",
	  .detail =
		  "Without the right to do so, or with too low a memlock limit (ulimit -l), there "
		  "is a warning and the run continues. -nomemlock leaves out the I/O buffers." },
	{ .name = "noproclock",
	  .aliases = "noplock",
	  .type = OPT_FLAG,
	  .value = false,
	  PLAN_FIELD(process_lock),
	  .help = "do not lock the process in memory (the default)" },
	{ .name = "hogmemory",
	  OPTION_CUSTOM("<%>|<#bytes>", plan_apply_hog),
	  .varies = true,
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
	  PLAN_FLAG(max_priority),
	  .help = "run at the highest priority there is",
	  .detail = "That is the highest real-time priority, SCHED_RR, for all threads of xdd: "
		    "nothing else runs on a processor that they keep busy, and that can bring the "
		    "system to a halt. Without the right to do so there is a warning and the run "
		    "continues." },
	{ .name = "maxall",
	  .type = OPT_FLAG,
	  .apply = apply_maxall,
	  .help = "the same as -maxpri -processlock" },
	{ .name = "minall",
	  .type = OPT_FLAG,
	  .apply = apply_minall,
	  .help = "the same as -noproclock -nomemlock" },
	{ .name = "processor",
	  .aliases = "pr",
	  .scope = SCOPE_TARGET,
	  OPTION_CUSTOM("<processors>", apply_processor),
	  .numbered = true,
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
	  OPTION_CUSTOM("<processor>", apply_singleproc),
	  .help = "run all threads on one processor",
	  .detail = "The last one of -singleproc and -roundrobin wins." },
	{ .name = "roundrobin",
	  .aliases = "rr",
	  OPTION_CUSTOM("<#processors>|all", apply_roundrobin),
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
