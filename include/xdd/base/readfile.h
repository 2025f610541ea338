/*
 * Read files, pipes and devices to their end. Any thread.
 */
#ifndef XDD_BASE_READFILE_H
#define XDD_BASE_READFILE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * Read from `fd` until `size` bytes are in `buf` or the file ends. Returns the number of bytes, or
 * -errno.
 */
ssize_t readfile_part(int fd, void *buf, size_t size);

/* As readfile_part(), from `offset` on, whatever the offset of `fd` is. */
ssize_t readfile_at(int fd, void *buf, size_t size, uint64_t offset);

/*
 * Read `fd` to its end. Returns 0 with `*data`, which the caller frees, and its `*size`; a NUL
 * follows the last byte. Returns -EFBIG where there are more than `limit` bytes, or another -errno;
 * `*data` is then NULL.
 */
int readfile(int fd, size_t limit, char **data, size_t *size);

#endif
