/*
 * Mounts, as /proc/self/mountinfo has them: proc_pid_mountinfo(5). Any thread; no state.
 */
#ifndef XDD_SYS_MOUNTINFO_H
#define XDD_SYS_MOUNTINFO_H

#include <stdbool.h>

/*
 * True if the file system of `path` is mounted with an option that is `name`, or begins with it and
 * an equals sign, among those of the file system itself. False where that is not known.
 */
bool mountinfo_has_option(const char *path, const char *name);

#endif
