/*
 * Small files of /proc and /sys. No state; any thread.
 */
#ifndef XDD_SYS_SYSFILE_H
#define XDD_SYS_SYSFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The first line of a file, without blanks around it; it lies in `buf`. NULL when there is none. */
char *sysfile_line(const char *path, char *buf, size_t size);

/*
 * The decimal number that is the first line of a file. False, with `*value` as it was, when there
 * is none.
 */
bool sysfile_number(const char *path, uint64_t *value);

/*
 * Replace "\040" and the like, as in lists of mounts, by their characters, in place. Returns
 * `text`.
 */
char *sysfile_unescape(char *text);

#endif
