/*
 * Memory and processors of a plan: the layout of the I/O buffers, whether they fit, and which
 * processors a QThread runs on. Called while the plan is resolved; the functions that plan.h
 * declares also by the modules of a run.
 */
#include "plan/resources.h"

#include <inttypes.h>
#include <unistd.h>

#include "plan/errors.h"
#include "plan/hog.h"
#include "xdd/base/log.h"
#include "xdd/base/units.h"
#include "xdd/sys/machine.h"

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

	if (err || !pool.page_bytes) {
		log_error("-hugepages: this kernel has no huge pages");
		return XDD_BAD_ARGUMENT;
	}
	if (bytes / pool.page_bytes <= pool.left)
		return XDD_OK;
	log_error("-hugepages: the I/O buffers take %" PRIu64
		  " of the huge pages of %s, and there are %" PRIu64
		  " left; see the sysctl vm.nr_hugepages",
		  bytes / pool.page_bytes, units_size_text(pool.page_bytes, size, sizeof(size)),
		  pool.left);
	return XDD_BAD_ARGUMENT;
}

uint64_t plan_machine_bytes(void)
{
	long pages = sysconf(_SC_PHYS_PAGES);

	return pages > 0 ? (uint64_t)pages * small_page() : UINT64_MAX;
}

/* With buffers that do not fit the kernel would kill a process: refuse them. */
enum xdd_status plan_check_memory(struct plan *plan)
{
	uint64_t have = plan_machine_bytes(), want = 0, huge = 0;
	enum xdd_status status;

	for (size_t i = 0; i < plan->n_targets; i++) {
		const struct target_plan *t = &plan->targets[i];
		uint64_t bytes = target_bytes(t);

		want += bytes;
		if (t->memory.huge_pages)
			huge += bytes;
	}
	if (want >= have) {
		log_error("-reqsize, -queuedepth: the I/O buffers would take %.1f GiB, and this "
			  "machine has %.1f GiB of memory",
			  (double)want / GIB, (double)have / GIB);
		return XDD_BAD_ARGUMENT;
	}
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
