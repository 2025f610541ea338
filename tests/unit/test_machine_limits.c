/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Control groups, memory, huge pages, NUMA nodes and threads: src/sys/machine.c and
 * src/sync/thread.c. kernel_files.c keeps their files.
 */
#include "unit.h"

#include <errno.h>
#include <linux/capability.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "config.h"
#include "kernel_files.h"
#include "xdd/base/err.h"
#include "xdd/base/sets.h"
#include "xdd/sync/thread.h"
#include "xdd/sys/machine.h"

#define GROUPS "/sys/fs/cgroup"

/* ---- control groups ---- */

static void note(void *arg, const char *dir, const char *name, bool unified)
{
	char *text = arg;

	sprintf(text + strlen(text), "%s|%s|%d ", dir, name, unified);
}

static const char *groups(const char *controller)
{
	static char text[4096];

	*text = '\0';
	cgroup_each(controller, note, text);
	return text;
}

TEST_SETUP_TEARDOWN(test_groups, kernel_files_begin, kernel_files_end)
{
	char line[1024];

	assert_string_equal(groups("cpu"), "");
	kernel_file_put("/proc/self/cgroup", "12:cpu,cpuacct:/a/b\n5:memory:/m\n0::/u\n");
	assert_string_equal(groups("cpu"), GROUPS
			    "/cpu,cpuacct/a/b|/a/b|0 " GROUPS "/cpu,cpuacct/a|/a|0 " GROUPS
			    "/cpu,cpuacct||0 " GROUPS "/cpu/a/b|/a/b|0 " GROUPS
			    "/cpu/a|/a|0 " GROUPS "/cpu||0 " GROUPS "/u|/u|1 " GROUPS "||1 ");
	assert_string_equal(groups("cpuacct") + strlen(GROUPS "/cpu,cpuacct/a/b|/a/b|0 " GROUPS
							      "/cpu,cpuacct/a|/a|0 " GROUPS
							      "/cpu,cpuacct||0 "),
			    GROUPS "/cpuacct/a/b|/a/b|0 " GROUPS "/cpuacct/a|/a|0 " GROUPS
				   "/cpuacct||0 " GROUPS "/u|/u|1 " GROUPS "||1 ");
	assert_string_equal(groups("memory"), GROUPS "/memory/m|/m|0 " GROUPS "/memory||0 " GROUPS
						     "/u|/u|1 " GROUPS "||1 ");
	/* No part of a name is one. */
	assert_string_equal(groups("acct"), GROUPS "/u|/u|1 " GROUPS "||1 ");
	assert_string_equal(groups("mem"), GROUPS "/u|/u|1 " GROUPS "||1 ");

	kernel_file_put("/proc/self/cgroup", "0::/\n");
	assert_string_equal(groups("cpu"), GROUPS "/|/|1 " GROUPS "||1 ");
	kernel_file_put("/proc/self/cgroup", "none\n1:cpu\n");
	assert_string_equal(groups("cpu"), "");
	/* A name of a group that no buffer takes. */
	snprintf(line, sizeof(line), "1:cpu:/%0499d\n", 0);
	kernel_file_put("/proc/self/cgroup", line);
	assert_string_equal(groups("cpu"), "");
}

TEST_SETUP_TEARDOWN(test_quota, kernel_files_begin, kernel_files_end)
{
	struct idset all;
	double processors;

	kernel_file_put("/proc/self/cgroup", "0::/u/v\n");
	assert_int_equal(cgroup_throttled_ns(), 0);
	kernel_file_put(GROUPS "/u/v/cpu.stat",
			"usage_usec 50\nthrottled_usec_2 60\nthrottled_usec 7\n");
	kernel_file_put(GROUPS "/u/cpu.stat", "throttled_usec\t9\nthrottled_usec 90\n");
	kernel_file_put(GROUPS "/cpu.stat", "throttled_usec 8\n");
	assert_int_equal(cgroup_throttled_ns(), 9000);
	kernel_file_put("/proc/self/cgroup", "3:cpu:/a\n0::/u/v\n");
	kernel_file_put(GROUPS "/cpu/a/cpu.stat", "nr_throttled 2\nthrottled_time 9001\n");
	assert_int_equal(cgroup_throttled_ns(), 9001);

	assert_int_equal(topology_processors(&all), 0);
	processors = idset_count(&all);
	assert_true(cgroup_throttled_share(50, 100, 1) == 0.5);
	assert_true(cgroup_throttled_share(50, 100, 1e9) == 50 / (100 * processors));
	assert_true(cgroup_throttled_share(101, 100, 1) == 1);
	assert_true(cgroup_throttled_share(50, 0, 1) == 0);
}

TEST_SETUP_TEARDOWN(test_io_limits, kernel_files_begin, kernel_files_end)
{
	struct cgroup_io io;

	kernel_file_put("/proc/self/cgroup", "0::/u/v\n");
	kernel_file_put(GROUPS "/u/v/io.max", "8:0 rbps=1 wbps=1 riops=1 wiops=1\n"
					      "8:160 rbps=2 wbps=2 riops=2 wiops=2\n"
					      "8:16 rbps=1000 wbps=max riops=30 wiops=40\n");
	kernel_file_put(GROUPS "/u/io.max", "8:16 rbps=500 wbps=2000 riops=max wiops=50\n");
	kernel_file_put(GROUPS "/io.max", "8:16 rbps=600 wbps=3000 riops=31 wiops=max\n");
	cgroup_io_limits(makedev(8, 16), &io);
	assert_int_equal(io.bytes[0], 500);
	assert_int_equal(io.bytes[1], 2000);
	assert_int_equal(io.ops[0], 30);
	assert_int_equal(io.ops[1], 40);
	cgroup_io_limits(makedev(8, 32), &io);
	assert_int_equal(io.bytes[0] + io.bytes[1] + io.ops[0] + io.ops[1], 0);

	/* Version 1 looks at the own group only. */
	kernel_file_put("/proc/self/cgroup", "4:blkio:/a/b\n");
	kernel_file_put(GROUPS "/blkio/a/b/blkio.throttle.read_bps_device", "8:0 1\n8:16 700\n");
	kernel_file_put(GROUPS "/blkio/a/b/blkio.throttle.write_bps_device", "8:16 800\n");
	kernel_file_put(GROUPS "/blkio/a/b/blkio.throttle.write_iops_device", "8:16 90\n");
	kernel_file_put(GROUPS "/blkio/a/blkio.throttle.read_bps_device", "8:16 1\n");
	kernel_file_put(GROUPS "/blkio/a/blkio.throttle.read_iops_device", "8:16 1\n");
	cgroup_io_limits(makedev(8, 16), &io);
	assert_int_equal(io.bytes[0], 700);
	assert_int_equal(io.bytes[1], 800);
	assert_int_equal(io.ops[0], 0);
	assert_int_equal(io.ops[1], 90);
}

/* ---- threads: src/sync/thread.c ---- */

/* There is room for `room` threads and no more, and that is why. */
static void room_for(uint64_t room, const char *reason)
{
	struct err why;

	assert_false(thread_limit_exceeded(room, &why));
	assert_true(thread_limit_exceeded(room + 1, &why));
	assert_string_equal(why.text, reason);
}

TEST_SETUP_TEARDOWN(test_threads, kernel_files_begin, kernel_files_end)
{
	struct err why;

	kernel_file_put("/proc/loadavg", "0.00 0.00 0.00 1/200 567\n");
	kernel_file_put("/proc/sys/kernel/pid_max", "1000\n");
	room_for(800, "the sysctl kernel.pid_max, 1000, leaves room for 800");
	kernel_file_put("/proc/sys/kernel/threads-max", "900\n");
	room_for(700, "the sysctl kernel.threads-max, 900, leaves room for 700");
	kernel_file_put("/proc/self/maps", "1\n2\n3\n");
	kernel_file_put("/proc/sys/vm/max_map_count", "1003\n");
	room_for(500, "the sysctl vm.max_map_count, 1003, leaves room for 500");
	kernel_file_put("/proc/self/cgroup", "0::/a\n");
	kernel_file_put(GROUPS "/a/pids.max", "150\n");
	kernel_file_put(GROUPS "/a/pids.current", "50\n");
	room_for(100, "pids.max of the control group /a, 150, leaves room for 100");
	assert_string_equal(thread_error(-EAGAIN, &why),
			    "no more threads: pids.max of the control group /a, 150, leaves room "
			    "for 100");
	kernel_file_put(GROUPS "/a/pids.current", "200\n");
	room_for(0, "pids.max of the control group /a, 150, leaves room for 0");
	assert_string_equal(thread_error(-ENOMEM, &why), strerror(ENOMEM));
	/* So few take mappings that are not worth counting. */
	kernel_file_put(GROUPS "/a/pids.max", "max\n");
	kernel_file_put("/proc/sys/vm/max_map_count", "3\n");
	assert_false(thread_limit_exceeded(63, &why));
	assert_true(thread_limit_exceeded(64, &why));
}

/* ---- memory ---- */

static void assert_memory(uint64_t total, uint64_t room, const char *limit)
{
	struct hostmemory m;

	assert_int_equal(hostmemory_read(&m), 0);
	assert_int_equal(m.total_bytes, total);
	assert_int_equal(m.room_bytes, room);
	assert_string_equal(m.limit, limit);
}

TEST_SETUP_TEARDOWN(test_memory, kernel_files_begin, kernel_files_end)
{
	struct hostmemory m;

	kernel_file_put("/proc/self/cgroup", "0::/u/v\n");
	assert_int_equal(hostmemory_read(&m), -ENODATA);
	kernel_file_put("/proc/meminfo",
			"MemTotal:        1000 kB\nMemFree: 5 kB\nMemAvailable:     600 kB\n");
	assert_memory(1024000, 614400, "");
	/* A limit without a figure of what is used says nothing. */
	kernel_file_put(GROUPS "/u/v/memory.max", "512000\n");
	assert_memory(1024000, 614400, "");
	kernel_file_put(GROUPS "/u/v/memory.current", "400000\n");
	kernel_file_put(GROUPS "/u/v/memory.stat",
			"anon 7\ninactive_file 100000\nactive_file 50000\n");
	assert_memory(512000, 262000, "memory.max of the control group /u/v");
	kernel_file_put(GROUPS "/u/memory.max", "max\n");
	kernel_file_put(GROUPS "/u/memory.current", "500000\n");
	assert_memory(512000, 262000, "memory.max of the control group /u/v");
	/* The nearest of equal ones counts, and otherwise the least. */
	kernel_file_put(GROUPS "/memory.max", "662000\n");
	kernel_file_put(GROUPS "/memory.current", "400000\n");
	assert_memory(512000, 262000, "memory.max of the control group /u/v");
	kernel_file_put(GROUPS "/memory.max", "661999\n");
	assert_memory(512000, 261999, "memory.max of the control group /");
	/* More is cached than used, for a moment. */
	kernel_file_put(GROUPS "/memory.max", "max\n");
	kernel_file_put(GROUPS "/u/v/memory.current", "100000\n");
	assert_memory(512000, 512000, "memory.max of the control group /u/v");
	kernel_file_put(GROUPS "/u/v/memory.current", "662001\n");
	assert_int_equal(hostmemory_read(&m), -ENODATA);

	kernel_file_put("/proc/self/cgroup", "3:memory:/a\n");
	kernel_file_put(GROUPS "/memory/a/memory.limit_in_bytes", "900000\n");
	kernel_file_put(GROUPS "/memory/a/memory.usage_in_bytes", "800000\n");
	kernel_file_put(GROUPS "/memory/a/memory.stat",
			"inactive_file 1\ntotal_inactive_file 2000\n"
			"total_active_file 30000\n");
	assert_memory(900000, 132000, "memory.limit_in_bytes of the control group /a");
}

TEST_SETUP_TEARDOWN(test_huge_pages, kernel_files_begin, kernel_files_end)
{
	struct huge_page_pool pool;

	assert_int_equal(topology_huge_pages(&pool), -ENOENT);
	assert_int_equal(pool.page_bytes + pool.left, 0);
	kernel_file_put("/proc/meminfo",
			"HugePages_Total: 70\nHugePages_Free: 10\nHugePages_Rsvd: 3\n"
			"HugePages_Surp: 2\nHugepagesize: 2048 kB\n");
	assert_int_equal(topology_huge_pages(&pool), 0);
	assert_int_equal(pool.page_bytes, 2 << 20);
	assert_int_equal(pool.left, 7);
	kernel_file_put("/proc/sys/vm/nr_overcommit_hugepages", "6\n");
	assert_int_equal(topology_huge_pages(&pool), 0);
	assert_int_equal(pool.left, 11);
	kernel_file_put("/proc/sys/vm/nr_overcommit_hugepages", "1\n");
	kernel_file_put("/proc/meminfo",
			"HugePages_Free: 10\nHugePages_Rsvd: 30\nHugePages_Surp: 2\n");
	assert_int_equal(topology_huge_pages(&pool), 0);
	assert_int_equal(pool.left, 0);
}

static const char *oom_score(void)
{
	return kernel_file_text("/proc/self/oom_score_adj");
}

TEST_SETUP_TEARDOWN(test_oom, kernel_files_begin, kernel_files_end)
{
	assert_int_equal(hostmemory_oom_first(), -1);
	kernel_file_put("/proc/self/oom_score_adj", "100\n");
	assert_int_equal(hostmemory_oom_first(), 100);
	assert_string_equal(oom_score(), "1000\n");
	assert_int_equal(hostmemory_oom_first(), -1);
	assert_string_equal(oom_score(), "1000\n");
	hostmemory_oom_restore(-1);
	assert_string_equal(oom_score(), "1000\n");
	hostmemory_oom_restore(100);
	assert_string_equal(oom_score(), "100\n");
	hostmemory_oom_restore(0);
	assert_string_equal(oom_score(), "0\n");
	kernel_file_put("/proc/self/oom_score_adj", "-17\n");
	assert_int_equal(hostmemory_oom_first(), 0);
	assert_string_equal(oom_score(), "1000\n");
}

/* ---- locked memory ---- */

/*
 * These, and get_mempolicy() below, are in the place of the C library's and libnuma's. Libraries
 * call them too, as the program is loaded: they get errors.
 */

static struct {
	rlim_t bytes;
	bool has_capability, has_namespace, fails;
	const char *users; /* the namespace */
} lock;

int getrlimit(__rlimit_resource_t resource, struct rlimit *limit)
{
	if (!lock.users) {
		errno = ENOSYS;
		return -1;
	}
	assert_int_equal(resource, RLIMIT_MEMLOCK);
	*limit = (struct rlimit){ .rlim_cur = lock.bytes, .rlim_max = RLIM_INFINITY };
	return lock.fails ? -1 : 0;
}

ssize_t readlink(const char *path, char *text, size_t size)
{
	const size_t n = lock.users ? strlen(lock.users) : 0;

	if (!lock.users) {
		errno = ENOSYS;
		return -1;
	}
	assert_string_equal(path, "/proc/self/ns/user");
	assert_true(n < size);
	memcpy(text, lock.users, n);
	return lock.has_namespace ? (ssize_t)n : -1;
}

long syscall(long number, ...)
{
	struct __user_cap_data_struct *caps;
	va_list ap;

	if (number != SYS_capget) {
		errno = ENOSYS;
		return -1;
	}
	va_start(ap, number);
	va_arg(ap, void *);
	caps = va_arg(ap, void *);
	va_end(ap);
	/* All others, or this one. */
	memset(caps, lock.has_capability ? 0 : 0xff, 2 * sizeof(*caps));
	caps[CAP_TO_INDEX(CAP_IPC_LOCK)].effective ^= CAP_TO_MASK(CAP_IPC_LOCK);
	return 0;
}

TEST(test_locked)
{
	lock.bytes = 65536;
	lock.has_namespace = true;
	lock.users = "user:[4026531837]";
	assert_int_equal(memlock_limit_bytes(), 65536);
	lock.has_capability = true;
	assert_int_equal(memlock_limit_bytes(), UINT64_MAX);
	/* A capability of a container is none here. */
	lock.users = "user:[4026531838]";
	assert_int_equal(memlock_limit_bytes(), 65536);
	lock.has_namespace = false;
	assert_int_equal(memlock_limit_bytes(), UINT64_MAX);
	lock.has_capability = false;
	assert_int_equal(memlock_limit_bytes(), 65536);
	lock.fails = true;
	assert_int_equal(memlock_limit_bytes(), UINT64_MAX);
	lock.fails = false;
	lock.bytes = RLIM_INFINITY;
	assert_int_equal(memlock_limit_bytes(), UINT64_MAX);
}

/* ---- nodes ---- */

#define NODES "/sys/devices/system/node"

static void assert_set(const struct idset *set, const char *ids)
{
	char text[64];

	assert_string_equal(idset_text(set, text, sizeof(text)), ids);
}

TEST_SETUP_TEARDOWN(test_no_nodes, kernel_files_begin, kernel_files_end)
{
	struct idset set, all;

	assert_int_equal(topology_nodes(&set), 0);
	assert_set(&set, "0");
	assert_int_equal(topology_memory_nodes(&set), 0);
	assert_set(&set, "0");
	assert_int_equal(topology_processors(&all), 0);
	assert_int_equal(topology_node_processors(0, &set), 0);
	assert_memory_equal(&set, &all, sizeof(set));
	assert_int_equal(topology_node_processors(1, &set), -ENOENT);
}

TEST_SETUP_TEARDOWN(test_nodes, kernel_files_begin, kernel_files_end)
{
	struct idset set;

	kernel_file_put(NODES "/online", "0-2\n");
	kernel_file_put(NODES "/node1/cpulist", "2-3,5\n");
	kernel_file_put(NODES "/node2/cpulist", "\n");
	assert_int_equal(topology_nodes(&set), 0);
	assert_set(&set, "0-2");
	assert_int_equal(topology_memory_nodes(&set), -ENOENT);
	kernel_file_put(NODES "/has_memory", "0-1\n");
	kernel_file_put("/proc/self/status", "Mems_allowed:\t1\n");
	assert_int_equal(topology_memory_nodes(&set), -ENOENT);
	kernel_file_put("/proc/self/status",
			"Name: x\nMems_allowed:\t6\nMems_allowed_list:\t1-2\nx: 0\n");
	assert_int_equal(topology_memory_nodes(&set), 0);
	assert_set(&set, "1");
	assert_int_equal(topology_node_processors(1, &set), 0);
	assert_set(&set, "2-3,5");
	assert_int_equal(topology_node_processors(2, &set), 0);
	assert_int_equal(idset_count(&set), 0);
	assert_int_equal(topology_node_processors(3, &set), -ENOENT);
}

#ifdef HAVE_LIBNUMA

#include <numaif.h>

static bool policy_tested;
static int policy_errno, policy_mode;
static struct idset policy_nodes;

long get_mempolicy(int *mode, unsigned long *nodes, unsigned long most, void *data, unsigned flags)
{
	if (!policy_tested) {
		errno = ENOSYS;
		return -1;
	}
	assert_true(!mode && !nodes && !most && !data && !flags);
	errno = policy_errno;
	return policy_errno ? -1 : 0;
}

long mbind(void *data, unsigned long size, int mode, const unsigned long *nodes, unsigned long most,
	   unsigned flags)
{
	assert_ptr_equal(data, &policy_mode);
	assert_int_equal(size, 4096);
	assert_int_equal(most, IDSET_SIZE + 1);
	assert_int_equal(flags, 0);
	policy_mode = mode;
	memcpy(policy_nodes.words, nodes, sizeof(policy_nodes.words));
	errno = policy_errno;
	return policy_errno ? -1 : 0;
}

TEST(test_policy)
{
	struct idset nodes = { 0 };
	struct err why = { 0 };

	policy_tested = true;
	policy_errno = 0;
	assert_int_equal(mempolicy_available(&why), 0);
	assert_false(err_is_set(&why));
	policy_errno = EPERM;
	assert_int_equal(mempolicy_available(&why), -EPERM);
	assert_string_equal(why.text, "a seccomp filter forbids it, as in some containers");
	policy_errno = ENOSYS;
	assert_int_equal(mempolicy_available(&why), -ENOSYS);
	assert_string_equal(why.text, "this kernel knows no NUMA nodes");

	idset_add(&nodes, 3);
	policy_mode = -1;
	assert_int_equal(mempolicy_set(&policy_mode, 4096, MEMPOLICY_NONE, &nodes), 0);
	assert_int_equal(policy_mode, -1);
	assert_int_equal(mempolicy_set(&policy_mode, 4096, MEMPOLICY_BIND, &nodes), -ENOSYS);
	policy_errno = 0;
	assert_int_equal(mempolicy_set(&policy_mode, 4096, MEMPOLICY_BIND, &nodes), 0);
	assert_int_equal(policy_mode, MPOL_BIND);
	assert_set(&policy_nodes, "3");
	assert_int_equal(mempolicy_set(&policy_mode, 4096, MEMPOLICY_INTERLEAVE, &nodes), 0);
	assert_int_equal(policy_mode, MPOL_INTERLEAVE);
	assert_set(&policy_nodes, "3");
	assert_int_equal(mempolicy_set(&policy_mode, 4096, MEMPOLICY_LOCAL, NULL), 0);
	assert_int_equal(policy_mode, MPOL_PREFERRED);
	assert_int_equal(idset_count(&policy_nodes), 1);
}

#endif

RUN_TESTS(NULL, NULL)
