/*
 * The memory that the I/O buffers of a QThread lie in: placed and locked as the plan says, and
 * touched before anything is timed. Large regions get transparent huge pages where the kernel has
 * some.
 */
#ifndef XDD_IO_BUFFER_H
#define XDD_IO_BUFFER_H

#include <stdbool.h>
#include <stddef.h>

#include "xdd/plan/memory_plan.h"

struct io_buffer {
	void *data;	 /* a multiple of memory_plan.align_bytes */
	size_t map_size; /* bytes, whole pages */
};

/*
 * Map zeroed memory of at least `size` bytes, and touch every page. With `lock`, lock it in memory
 * where the limit allows it, silently not otherwise. Returns 0 or -errno, then perhaps with a text
 * (static) in `*why`. Called by the thread that uses it: the pages come from the node it is on.
 */
int io_buffer_alloc(struct io_buffer *b, size_t size, const struct memory_plan *plan, bool lock,
		    const char **why);

/* Safe on a buffer that was never allocated (all zero). */
void io_buffer_free(struct io_buffer *b);

#endif
