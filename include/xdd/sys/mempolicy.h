/*
 * The NUMA nodes that memory is allocated from.
 */
#ifndef XDD_SYS_MEMPOLICY_H
#define XDD_SYS_MEMPOLICY_H

#include <stddef.h>

#include "xdd/base/idset.h"

enum mempolicy {
	MEMPOLICY_NONE,	 /* the policy of the process: by default, the node of the first touch */
	MEMPOLICY_LOCAL, /* the node the calling thread is on, others when it is full */
	MEMPOLICY_BIND,	 /* these nodes and no others */
	MEMPOLICY_INTERLEAVE, /* these nodes in turn, page by page */
};

/*
 * Check that this build and this kernel support it. Returns 0, or -errno with `*why` a text for
 * people (static).
 */
int mempolicy_available(const char **why);

/*
 * Place memory that has no pages yet: `size` bytes from `data` on, which begin a page. `nodes`
 * counts for bind and interleave. Returns 0 or -errno. Any thread.
 */
int mempolicy_set(void *data, size_t size, enum mempolicy policy, const struct idset *nodes);

#endif
