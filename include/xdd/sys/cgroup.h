/*
 * The control groups of this process, and what its CPU quota took from it. No state; any thread.
 */
#ifndef XDD_SYS_CGROUP_H
#define XDD_SYS_CGROUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* `dir` is the directory of a group, `name` its path in the hierarchy: "" of the root. */
typedef void cgroup_fn(void *arg, const char *dir, const char *name, bool unified);

/*
 * Call `fn` for each group of this process and all its ancestors, in the unified hierarchy and in
 * the one of `controller`, such as "memory". Groups that cannot be seen have no directory.
 */
void cgroup_each(const char *controller, cgroup_fn *fn, void *arg);

/* The number after `key` in a file of lines "key number"; 0 where there is none. */
uint64_t cgroup_number(const char *path, const char *key);

/*
 * Time in which a CPU quota stopped this process or others of its groups, in nanoseconds: each
 * processor counts by itself. The group, or ancestor, that was stopped longest counts. 0 without a
 * quota.
 */
uint64_t cgroup_throttled_ns(void);

#endif
