/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Small files of /proc and /sys, mounts, and names of file systems. No state; any thread.
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

/*
 * Mounts, as /proc/self/mountinfo has them: proc_pid_mountinfo(5).
 */

/*
 * True if the file system of `path` is mounted with an option that is `name`, or begins with it and
 * an equals sign, among the options of the file system itself. False where that is not known.
 */
bool mountinfo_has_option(const char *path, const char *name);

/*
 * Names of file systems by the number that statfs(2) gives.
 */

#define FSTYPE_SIZE 24

/* The name, or the number in hexadecimal where no name is known, in `buf`. Returns `buf`. */
const char *fstype_name(unsigned long magic, char buf[FSTYPE_SIZE]);

#endif
