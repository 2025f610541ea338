/*
 * I/O buffers. Called by each QThread for its own, before the first pass, so that the pages come
 * from its own node and are there before anything is timed.
 */
#include "xdd/io/buffer.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <unistd.h>

#define HUGE_PAGE_BYTES ((size_t)2 << 20)
#define ACCESS (PROT_READ | PROT_WRITE)

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23 /* Linux 5.14; not in the headers of glibc 2.34 and older */
#endif

static int fail(int err, const char **why, const char *text)
{
	*why = text;
	return err;
}

/*
 * Reserve `size` bytes of addresses at a multiple of `align`, both whole pages of the kind to be
 * put there. The kernel aligns to small pages only, so reserve more and give back what sticks out
 * on either side.
 */
static void *reserve(size_t size, size_t align)
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

static int map_private(void *at, size_t size, bool huge, const char **why)
{
	int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | (huge ? MAP_HUGETLB : 0);

	if (mmap(at, size, ACCESS, flags, -1, 0) != MAP_FAILED)
		return 0;
	if (huge && errno == ENOMEM)
		return fail(-ENOMEM, why,
			    "-hugepages: not enough huge pages are left; see the sysctl "
			    "vm.nr_hugepages");
	return -errno;
}

static int no_segment(int err, bool huge, const char **why)
{
	if (huge && err == EPERM)
		return fail(
			-err, why,
			"-sharedmemory -hugepages: the kernel wants the right to lock memory, or "
			"the group of the sysctl vm.hugetlb_shm_group");
	if (huge && err == ENOMEM)
		return fail(-err, why,
			    "-sharedmemory -hugepages: not enough huge pages are left; see the "
			    "sysctl vm.nr_hugepages");
	if (err == EINVAL)
		return fail(-err, why,
			    "-sharedmemory: a segment may not be so large; see the sysctl "
			    "kernel.shmmax");
	if (err == ENOSPC)
		return fail(-err, why,
			    "-sharedmemory: no segment is left; see the sysctls kernel.shmmni and "
			    "kernel.shmall");
	return -err;
}

/*
 * A segment that is marked for removal the moment it is attached goes with the last process that
 * has it, however that one ends. It cannot be marked before: a segment that no process has attached
 * is removed at once.
 */
static int map_shared(void *at, size_t size, bool huge, const char **why)
{
	int id = shmget(IPC_PRIVATE, size, IPC_CREAT | 0600 | (huge ? SHM_HUGETLB : 0)), err = 0;

	if (id < 0)
		return no_segment(errno, huge, why);
	if (shmat(id, at, SHM_REMAP) == (void *)-1)
		err = -errno;
	shmctl(id, IPC_RMID, NULL);
	return err;
}

/* Have the pages put there now: zeroed ones, as all that is new. */
static int touch(void *data, size_t size, bool huge, const char **why)
{
	if (madvise(data, size, MADV_POPULATE_WRITE) == 0)
		return 0;
	if (errno == EINVAL) { /* a kernel before 5.14 */
		memset(data, 0, size);
		return 0;
	}
	if (huge)
		return fail(-errno, why,
			    "-hugepages: not enough of them are left where -numa wants them");
	return -errno;
}

static int fill(struct io_buffer *b, const struct memory_plan *plan, const char **why)
{
	bool huge = plan->huge_pages;
	int err = plan->shared ? map_shared(b->data, b->map_size, huge, why) :
				 map_private(b->data, b->map_size, huge, why);

	if (err)
		return err;
	/* A favour that may be refused. */
	if (!huge && b->map_size >= HUGE_PAGE_BYTES)
		madvise(b->data, b->map_size, MADV_HUGEPAGE);
	err = mempolicy_set(b->data, b->map_size, plan->policy, plan->nodes);
	if (err)
		return fail(err, why,
			    err == -EPERM ? "-numa: a seccomp filter forbids it" :
					    "-numa: the kernel did not take the nodes");
	return touch(b->data, b->map_size, huge, why);
}

int io_buffer_alloc(struct io_buffer *b, size_t size, const struct memory_plan *plan, bool lock,
		    const char **why)
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
	b->data = reserve(size, align);
	if (!b->data)
		return -ENOMEM;
	b->map_size = size;
	err = fill(b, plan, why);
	if (err) {
		io_buffer_free(b);
		return err;
	}
	/* A favour as well. */
	if (lock)
		mlock(b->data, b->map_size);
	return 0;
}

/* A segment of shared memory is detached by unmapping it, too. */
void io_buffer_free(struct io_buffer *b)
{
	if (b->data)
		munmap(b->data, b->map_size);
	memset(b, 0, sizeof(*b));
}
