/*
 * I/O buffers: page aligned, huge-page aligned from 2 MiB up, touched before they are timed.
 */
#ifndef XDD_IO_BUFFER_H
#define XDD_IO_BUFFER_H

#include <stddef.h>

struct io_buffer {
	void *data;
	size_t size;	 /* usable bytes */
	size_t map_size; /* bytes mapped from map_base */
	void *map_base;
};

/*
 * Map a zeroed buffer of at least `size` bytes, lock it in memory where the limit allows it (silently
 * not otherwise), and touch every page. Returns 0 or -errno. Called by the thread that uses it.
 */
int io_buffer_alloc(struct io_buffer *b, size_t size);

/* Safe on a buffer that was never allocated (all zero). */
void io_buffer_free(struct io_buffer *b);

#endif
