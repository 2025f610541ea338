/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Engines of a plan as a whole, what engines share, and I/O buffers. Called where a plan is
 * checked, where QThreads start, and by the engines.
 */
#include "xdd/io/engine.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <unistd.h>

#include "xdd/sys/clock.h"

#define CACHE_LINE_BYTES 64

/* Requests that go to the kernel together, at least; doc/performance.md has the figures. */
#define BATCH_SHARE 16 /* one of so many that may be outstanding */
#define BATCH_MAX 8

_Static_assert(offsetof(struct engine, info) == 0, "engine_from() depends on it");

int engine_check(const struct target_plan *target, struct err *why)
{
	const struct engine *engine = engine_of(target);
	int err;

	err_clear(why);
	/* An engine for all targets is not meant for the null device. */
	if (target->kind == TARGET_NULL)
		return 0;
	err = engine_available(&engine->info, why);
	return err || !engine->check ? err : engine->check(target, why);
}

static bool is_used(const struct plan *plan, const struct engine *engine)
{
	for (size_t i = 0; i < plan->n_targets; i++)
		if (engine_of(&plan->targets[i]) == engine)
			return true;
	return false;
}

int engine_check_all(const struct plan *plan, const struct engine **engine, struct err *why)
{
	for (size_t i = 0; engine_registry[i]; i++) {
		int err;

		*engine = engine_from(engine_registry[i]);
		err = (*engine)->check_all && is_used(plan, *engine) ?
			      (*engine)->check_all(plan, why) :
			      0;

		if (err)
			return err;
	}
	return 0;
}

int engine_flush(const struct engine *engine, int fd)
{
	int err;

	if (fd < 0)
		return 0;
	if (engine->flush)
		return engine->flush(fd);
	do
		err = fdatasync(fd) ? -errno : 0;
	while (err == -EINTR);
	return err == -EINVAL || err == -EROFS ? 0 : err;
}

void engine_print_list(void)
{
	for (size_t i = 0; engine_registry[i]; i++) {
		const struct engine_info *info = engine_registry[i];
		struct err why;
		int err = engine_available(info, &why);

		printf("%-9s %-4s %s\n", info->name, err ? "no" : "yes", info->row.help);
		if (err)
			printf("%-14s %s\n", "", err_text(&why, err));
	}
}

bool io_request_partial(struct io_request *req, int64_t result)
{
	if (result >= 0) {
		/* That of a discard is 0, and no number of bytes. */
		req->done = req->dir == DIR_DISCARD ? req->size : req->done + (uint64_t)result;
		if (req->done >= req->size)
			return true;
		if (result)
			return false;
		req->error = req->dir == DIR_READ ? -ENODATA : -ENOSPC;
		return true;
	}
	if (result == -EINTR)
		return false;
	/*
	 * A direct read that meets the end of a file inside a sector is short, and what is left of
	 * it is not aligned: EINVAL says no more than that.
	 */
	if (result == -EINVAL && req->dir == DIR_READ && req->done)
		req->error = -ENODATA;
	else
		req->error = (int)result;
	return true;
}

void engine_tail_init(struct engine_tail *tail, const struct engine_params *params)
{
	const struct target_plan *t = params->target;

	*tail = (struct engine_tail){
		.op_bytes = t->tail_bytes ? t->last_op_bytes : 0,
		.direct_bytes = t->last_op_bytes - t->tail_bytes,
	};
}

void *engine_alloc(size_t size)
{
	size_t lines = (size + CACHE_LINE_BYTES - 1) / CACHE_LINE_BYTES;
	void *memory = aligned_alloc(CACHE_LINE_BYTES, lines * CACHE_LINE_BYTES);

	return memory ? memset(memory, 0, lines * CACHE_LINE_BYTES) : NULL;
}

uint64_t engine_time_left(uint64_t timeout_ns, uint64_t *end_ns)
{
	uint64_t now;

	if (timeout_ns == UINT64_MAX)
		return UINT64_MAX;
	now = clock_now_ns();
	if (*end_ns == UINT64_MAX && timeout_ns < UINT64_MAX - now)
		*end_ns = now + timeout_ns;
	if (*end_ns == UINT64_MAX)
		return UINT64_MAX;
	return now < *end_ns ? *end_ns - now : 0;
}

bool engine_in_turn(const struct engine_params *params)
{
	return params->target->ordering == ORDERING_STRICT && params->target->qthreads > 1;
}

int engine_check_batch(const struct target_plan *target, uint64_t batch, struct err *why)
{
	if (batch <= 1 || target->ordering != ORDERING_STRICT || target->qthreads == 1)
		return 0;
	return err_set(why, -EINVAL,
		       "batch: with -ordering strict and several -threads each operation is "
		       "submitted by itself; leave batch out, or -threads");
}

void engine_batch_init(struct engine_batch *b, const struct engine_params *params, uint64_t keyword)
{
	unsigned share = params->depth / BATCH_SHARE;

	b->least = share < 1 ? 1 : share > BATCH_MAX ? BATCH_MAX : share;
	b->most = params->depth;
	if (engine_in_turn(params))
		b->least = b->most = 1;
	else if (keyword)
		b->least = b->most = (unsigned)keyword;
	b->size = b->least;
}

void engine_batch_describe(const struct engine_batch *b, char *buf, size_t size)
{
	snprintf(buf, size, "submits %u at a time%s", b->least,
		 b->least < b->most ? ", more to a synchronous device" : "");
}

/*
 * I/O buffers: each QThread has its own before the first pass, so that the pages come from its own
 * node and are there before anything is timed.
 */

#define HUGE_PAGE_BYTES ((size_t)2 << 20)
#define ACCESS (PROT_READ | PROT_WRITE)

/* The kernel puts the pages there that it locks; the mlock() of the sanitizers does nothing. */
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define LOCK_TOUCHES true
#else
#define LOCK_TOUCHES false
#endif

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23 /* Linux 5.14; not in the headers of glibc 2.34 and older */
#endif

/*
 * Reserve `size` bytes of addresses at a multiple of `align`, both whole pages of the kind to be
 * put there. The kernel aligns to small pages only, so reserve more and give back what sticks out
 * on either side.
 */
static void *buffer_reserve(size_t size, size_t align)
{
	size_t more = align - (size_t)sysconf(_SC_PAGESIZE), head;
	char *map;

	if (size > SIZE_MAX - more)
		return NULL;
	map = mmap(NULL, size + more, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1,
		   0);
	if (map == MAP_FAILED)
		return NULL;
	head = (align - (uintptr_t)map % align) % align;
	if (head)
		munmap(map, head);
	if (more > head)
		munmap(map + head + size, more - head);
	return map + head;
}

/* Map memory at `*at`; NULL: anywhere. */
static int map_private(void **at, size_t size, bool huge, struct err *why)
{
	int flags = MAP_PRIVATE | MAP_ANONYMOUS | (*at ? MAP_FIXED : 0) | (huge ? MAP_HUGETLB : 0);
	void *map = mmap(*at, size, ACCESS, flags, -1, 0);

	if (map != MAP_FAILED) {
		*at = map;
		return 0;
	}
	if (huge && errno == ENOMEM)
		return err_set(why, -ENOMEM,
			       "-hugepages: not enough huge pages are left; see the sysctl "
			       "vm.nr_hugepages");
	return -errno;
}

static int no_segment(int err, bool huge, struct err *why)
{
	if (huge && err == EPERM)
		return err_set(
			why, -err,
			"-sharedmemory -hugepages: the kernel wants the right to lock memory, or "
			"the group of the sysctl vm.hugetlb_shm_group");
	if (huge && err == ENOMEM)
		return err_set(why, -err,
			       "-sharedmemory -hugepages: not enough huge pages are left; see the "
			       "sysctl vm.nr_hugepages");
	if (err == EINVAL)
		return err_set(why, -err,
			       "-sharedmemory: a segment may not be so large; see the sysctl "
			       "kernel.shmmax");
	if (err == ENOSPC)
		return err_set(
			why, -err,
			"-sharedmemory: no segment is left; see the sysctls kernel.shmmni and "
			"kernel.shmall");
	return -err;
}

/*
 * A segment that is marked for removal the moment it is attached goes with the last process that
 * has it, however that one ends. It cannot be marked before: a segment that no process has attached
 * is removed at once.
 */
static int map_shared(void **at, size_t size, bool huge, struct err *why)
{
	int id = shmget(IPC_PRIVATE, size, IPC_CREAT | 0600 | (huge ? SHM_HUGETLB : 0)), err = 0;
	void *map;

	if (id < 0)
		return no_segment(errno, huge, why);
	map = shmat(id, *at, *at ? SHM_REMAP : 0);
	if (map == (void *)-1)
		err = -errno;
	else
		*at = map;
	shmctl(id, IPC_RMID, NULL);
	return err;
}

/* Have the pages put there now: zeroed ones, as all that is new. */
static int buffer_touch(void *data, size_t size, bool huge, struct err *why)
{
	if (madvise(data, size, MADV_POPULATE_WRITE) == 0)
		return 0;
	if (errno == EINVAL) { /* a kernel before 5.14 */
		memset(data, 0, size);
		return 0;
	}
	if (huge)
		return err_set(why, -errno,
			       "-hugepages: not enough of them are left where -numa wants them");
	return -errno;
}

static int buffer_fill(struct io_buffer *b, const struct memory_plan *plan, bool lock,
		       struct err *why)
{
	bool huge = plan->huge_pages;
	int err = plan->shared ? map_shared(&b->data, b->map_size, huge, why) :
				 map_private(&b->data, b->map_size, huge, why);

	if (err)
		return err;
	/* A favour that may be refused. */
	if (!huge && b->map_size >= HUGE_PAGE_BYTES)
		madvise(b->data, b->map_size, MADV_HUGEPAGE);
	err = mempolicy_set(b->data, b->map_size, plan->policy, plan->nodes);
	if (err)
		return err_set(why, err, "%s",
			       err == -EPERM ? "-numa: a seccomp filter forbids it" :
					       "-numa: the kernel did not take the nodes");
	/* Locking is a favour as well. It leaves pages of shared memory for the first write. */
	if (lock && mlock(b->data, b->map_size) == 0 && LOCK_TOUCHES && !plan->shared)
		return 0;
	return buffer_touch(b->data, b->map_size, huge, why);
}

int io_buffer_alloc(struct io_buffer *b, size_t size, const struct memory_plan *plan, bool lock,
		    struct err *why)
{
	size_t page = plan->page_bytes, align = plan->align_bytes;
	int err;

	memset(b, 0, sizeof(*b));
	if (!size)
		size = 1;
	if (size > SIZE_MAX - page)
		return -ENOMEM;
	size = (size + page - 1) / page * page;
	if (size >= HUGE_PAGE_BYTES && align < HUGE_PAGE_BYTES)
		align = HUGE_PAGE_BYTES;
	if (align > (size_t)sysconf(_SC_PAGESIZE)) {
		b->data = buffer_reserve(size, align);
		if (!b->data)
			return -ENOMEM;
	}
	b->map_size = size;
	err = buffer_fill(b, plan, lock, why);
	if (err)
		io_buffer_free(b);
	return err;
}

/* A segment of shared memory is detached by unmapping it, too. */
void io_buffer_free(struct io_buffer *b)
{
	if (b->data)
		munmap(b->data, b->map_size);
	memset(b, 0, sizeof(*b));
}
