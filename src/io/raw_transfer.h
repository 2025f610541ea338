/*
 * pread and pwrite without libc. Private to src/io.
 *
 * libc's pread and pwrite are cancellation points, which takes 5 % of a small read from memory, and
 * no thread here is ever cancelled. Its syscall() costs another 15 instructions.
 */
#ifndef XDD_IO_RAW_TRANSFER_H
#define XDD_IO_RAW_TRANSFER_H

#include <errno.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

/*
 * `number` is SYS_pread64 or SYS_pwrite64. Returns bytes moved or -errno, and leaves errno alone.
 */
#if defined(__x86_64__) && !defined(__ILP32__)
static inline ssize_t raw_transfer(long number, int fd, void *buf, size_t size, off_t offset)
{
	register off_t fourth __asm__("r10") = offset;
	ssize_t result;

	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "0"(number), "D"((long)fd), "S"(buf), "d"(size), "r"(fourth)
			 : "rcx", "r11", "memory");
	return result;
}
#else
static inline ssize_t raw_transfer(long number, int fd, void *buf, size_t size, off_t offset)
{
	ssize_t result = syscall(number, fd, buf, size, offset);

	return result < 0 ? -errno : result;
}
#endif

#endif
