/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Processors and memory of the host, and the part that this process may still use.
 */
#ifndef XDD_SYS_MACHINE_H
#define XDD_SYS_MACHINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "xdd/base/err.h"
#include "xdd/base/sets.h"

/*
 * Processors, NUMA nodes and huge pages, as far as this process may use them. Functions that
 * return int return 0 or -errno; the sets are overwritten. Any thread; each call asks the kernel
 * again.
 */

/*
 * Processors that are online and that this thread may run on: those that cpusets and taskset allow.
 */
int topology_processors(struct idset *processors);

/* NUMA nodes that are online; node 0 alone where the kernel knows none. */
int topology_nodes(struct idset *nodes);

/* Nodes that have memory and that this process may take memory from. */
int topology_memory_nodes(struct idset *nodes);

/*
 * Processors of a node, also those that this process may not use. -ENOENT: there is no such node.
 */
int topology_node_processors(unsigned node, struct idset *processors);

/* The pool of explicit huge pages of the default size. */
struct huge_page_pool {
	uint64_t page_bytes; /* 0: this kernel has none */
	uint64_t left;	     /* pages that can still be allocated */
};

int topology_huge_pages(struct huge_page_pool *pool);

/*
 * The control groups of this process, and what their limits take from it. No state; any thread.
 */

/* `dir` is the directory of a group, `name` its path in the hierarchy: "" of the root. */
typedef void cgroup_fn(void *arg, const char *dir, const char *name, bool unified);

/*
 * Call `fn` for each group of this process and all its ancestors, in the unified hierarchy and in
 * the one of `controller`, such as "memory". Groups that cannot be seen have no directory.
 */
void cgroup_each(const char *controller, cgroup_fn *fn, void *arg);

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

/*
 * The memory of the host, and the part that this process may still use. No state; any thread.
 */

struct hostmemory {
	uint64_t total_bytes; /* of the host, or the limit of its control group if that is less */
	uint64_t room_bytes;  /* available of it without swapping */
	char limit[96];	      /* the name of the limit that leaves this room; "": the host */
};

/* Returns 0 or -errno. */
int hostmemory_read(struct hostmemory *m);

/*
 * When the kernel runs out of memory, have it end this process before others. Returns the value
 * from before, for hostmemory_oom_restore(), or -1 if it could not be changed.
 */
int hostmemory_oom_first(void);
void hostmemory_oom_restore(int before);

/*
 * The amount of memory that a process may lock.
 */

/*
 * In bytes; UINT64_MAX when there is no limit, by ulimit -l or by right (CAP_IPC_LOCK). Any thread.
 */
uint64_t memlock_limit_bytes(void);

/*
 * The NUMA nodes that memory is allocated from.
 */

enum mempolicy {
	MEMPOLICY_NONE,	 /* the policy of the process: by default, the node of the first touch */
	MEMPOLICY_LOCAL, /* the node the calling thread is on, others when it is full */
	MEMPOLICY_BIND,	 /* these nodes and no others */
	MEMPOLICY_INTERLEAVE, /* these nodes in turn, page by page */
};

/*
 * Check that this build and this kernel support it. Returns 0, or -errno with a text in `why`.
 */
int mempolicy_available(struct err *why);

/*
 * Place memory that has no pages yet: `size` bytes from `data` on, which begin a page. `nodes`
 * counts for bind and interleave. Returns 0 or -errno. Any thread.
 */
int mempolicy_set(void *data, size_t size, enum mempolicy policy, const struct idset *nodes);

#endif
