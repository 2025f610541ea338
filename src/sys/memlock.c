/*
 * The limit on locked memory, as the kernel applies it to a process. Called by the io_uring
 * engine, and where the process is locked.
 */
#include "xdd/sys/memlock.h"

#include <linux/capability.h>
#include <stdbool.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#define FIRST_USER_NAMESPACE "user:[4026531837]" /* PROC_USER_INIT_INO of the kernel */

/* The kernel asks for the capability in the namespace of users it started with. */
static bool in_first_namespace(void)
{
	char text[32] = "";

	return readlink("/proc/self/ns/user", text, sizeof(text) - 1) < 0 ||
	       !strcmp(text, FIRST_USER_NAMESPACE);
}

static bool may_lock_all(void)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct caps[2] = { { 0 } };

	return !syscall(SYS_capget, &header, caps) &&
	       (caps[CAP_TO_INDEX(CAP_IPC_LOCK)].effective & CAP_TO_MASK(CAP_IPC_LOCK)) &&
	       in_first_namespace();
}

uint64_t memlock_limit_bytes(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_MEMLOCK, &limit) || limit.rlim_cur == RLIM_INFINITY || may_lock_all())
		return UINT64_MAX;
	return limit.rlim_cur;
}
