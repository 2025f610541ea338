/*
 * I/O buffers. Called by each QThread for its own, before the first pass, so that the pages come from
 * its own node and are there before anything is timed.
 */
#include "xdd/io/buffer.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define HUGE_PAGE_BYTES ((size_t)2 << 20)

/*
 * Map `size` bytes at a multiple of `align`, both whole pages. The kernel aligns to pages only, so map
 * more and give back what sticks out on either side.
 */
static int map_aligned(struct io_buffer *b, size_t size, size_t align, size_t page)
{
	size_t spare = align - page;
	size_t head, tail;
	char *map, *data;

	if (size > SIZE_MAX - spare)
		return -ENOMEM;
	map = mmap(NULL, size + spare, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (map == MAP_FAILED)
		return -errno;
	head = (align - (uintptr_t)map % align) % align;
	tail = spare - head;
	data = map + head;
	if (head)
		munmap(map, head);
	if (tail)
		munmap(data + size, tail);

	b->map_base = data;
	b->map_size = size;
	b->data = data;
	b->size = size;
	return 0;
}

int io_buffer_alloc(struct io_buffer *b, size_t size)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	bool huge = size >= HUGE_PAGE_BYTES;
	int ret;

	memset(b, 0, sizeof(*b));
	if (!size)
		size = 1;
	if (size > SIZE_MAX - page)
		return -ENOMEM;
	size = (size + page - 1) / page * page;
	ret = map_aligned(b, size, huge && page < HUGE_PAGE_BYTES ? HUGE_PAGE_BYTES : page, page);
	if (ret)
		return ret;

	/* Both are favours that may be refused. Huge pages first, as locking fills the pages in. */
	if (huge)
		madvise(b->data, b->size, MADV_HUGEPAGE);
	mlock(b->data, b->size);
	memset(b->data, 0, b->size);
	return 0;
}

void io_buffer_free(struct io_buffer *b)
{
	if (b->map_base)
		munmap(b->map_base, b->map_size);
	memset(b, 0, sizeof(*b));
}
