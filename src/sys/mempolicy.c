/*
 * Placing memory on NUMA nodes, by way of libnuma. Called where buffers are allocated.
 */
#include "xdd/sys/mempolicy.h"

#include <errno.h>

#include "config.h"

#ifdef HAVE_LIBNUMA

#include <numaif.h>

#include "xdd/sys/topology.h"

int mempolicy_available(const char **why)
{
	if (get_mempolicy(NULL, NULL, 0, NULL, 0) == 0)
		return 0;
	if (errno == EPERM)
		*why = "a seccomp filter forbids it, as that of a container may";
	else
		*why = "this kernel knows no NUMA nodes";
	return -errno;
}

int mempolicy_set(void *data, size_t size, enum mempolicy policy, const struct idset *nodes)
{
	struct idset here = { 0 };
	int mode = MPOL_BIND;

	if (policy == MEMPOLICY_NONE)
		return 0;
	if (policy == MEMPOLICY_LOCAL) {
		idset_add(&here, topology_this_node());
		nodes = &here;
		mode = MPOL_PREFERRED;
	} else if (policy == MEMPOLICY_INTERLEAVE) {
		mode = MPOL_INTERLEAVE;
	}
	/* The kernel uses one bit less than the number it gets. */
	return mbind(data, size, mode, nodes->words, IDSET_SIZE + 1, 0) ? -errno : 0;
}

#else /* !HAVE_LIBNUMA */

int mempolicy_available(const char **why)
{
	*why = "this xdd was built without libnuma";
	return -ENOSYS;
}

int mempolicy_set(void *data, size_t size, enum mempolicy policy, const struct idset *nodes)
{
	(void)data;
	(void)size;
	(void)nodes;
	return policy == MEMPOLICY_NONE ? 0 : -ENOSYS;
}

#endif
