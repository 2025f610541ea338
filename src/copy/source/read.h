/*
 * Reads of large files: at any offset, around the page cache with -s where the file system allows
 * it, and of devices that cannot be read at an offset.
 */
#ifndef COPY_SOURCE_READ_H
#define COPY_SOURCE_READ_H

#include "copy/source/large.h"

/* The most that direct reads add to a block in the buffer of a thread. */
#define READ_SPARE_BYTES (128u << 10)

/* Find out how an open file can be read, and tell the kernel. */
void read_prepare(struct large *f);

/*
 * Read a range of at most a block. `*data` is then in the buffer of the thread. Returns 0, or
 * -errno with words for people.
 */
int read_range(struct data_thread *d, struct large *f, const struct extent *x, uint8_t **data,
	       char *text, size_t size);

#endif
