/*
 * Processors, NUMA nodes and huge pages, as far as this process may use them. Functions that return
 * int return 0 or -errno; the sets are overwritten. Any thread; each call asks the kernel again.
 */
#ifndef XDD_SYS_TOPOLOGY_H
#define XDD_SYS_TOPOLOGY_H

#include <stdint.h>

#include "xdd/base/idset.h"

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

/* The node that this thread is on just now. */
unsigned topology_this_node(void);

/* The pool of explicit huge pages of the default size. */
struct huge_page_pool {
	uint64_t page_bytes; /* 0: this kernel has none */
	uint64_t left;	     /* pages that can still be allocated */
};

int topology_huge_pages(struct huge_page_pool *pool);

#endif
