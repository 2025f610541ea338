/*
 * Properties of direct I/O (O_DIRECT) on a file, as the kernel reports them. Any thread; no state.
 */
#ifndef XDD_SYS_DIRECTIO_H
#define XDD_SYS_DIRECTIO_H

#include <stdbool.h>
#include <stdint.h>

struct directio {
	/*
	 * The file accepts O_DIRECT and goes through the page cache all the same: encrypted and
	 * verity files, ext4 with data=journal, file systems in memory. False where the kernel does
	 * not tell.
	 */
	bool ignored;
	uint32_t offset_align; /* bytes, of offsets and sizes; 0: not known */
	uint32_t memory_align; /* bytes, of buffers; 0: not known */
};

/* Ask about a path, or with `path` NULL about the open file `fd`. On errors nothing is known. */
void directio_query(struct directio *d, int fd, const char *path);

#endif
