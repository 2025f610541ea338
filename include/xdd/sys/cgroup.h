/*
 * The control groups of this process, and what their limits take from it. No state; any thread.
 */
#ifndef XDD_SYS_CGROUP_H
#define XDD_SYS_CGROUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

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

/* Limits of the groups of this process on a disk, per second; 0: none. */
struct cgroup_io {
	uint64_t bytes[2]; /* reads, writes */
	uint64_t ops[2];
};

/*
 * The limits of this process on disk `dev`: io.max of its group and all ancestors, of which the
 * least counts, or blkio.throttle.* of its own group, as version 1 looks at no other
 * (Documentation/admin-guide/cgroup-v2.rst, cgroup-v1/blkio-controller.rst).
 */
void cgroup_io_limits(dev_t dev, struct cgroup_io *io);

/*
 * The share of its time, from 0 to 1, in which each of `threads` was stopped by a quota that took
 * `throttled_ns` of `elapsed_ns`: one processor for each thread, as far as there are processors.
 */
double cgroup_throttled_share(uint64_t throttled_ns, double elapsed_ns, double threads);

#endif
