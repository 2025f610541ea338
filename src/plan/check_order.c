/*
 * Checks of -ordering, and what is to be said about an order that the kernel may not keep. Called by check.c.
 *
 * io_uring carries a request out at once or, where that would block, hands it to threads of the kernel, which
 * overtake each other; io_submit() of libaio blocks instead. Where a request would block was found with the
 * events of the block layer: doc/user-guide.md, "In order".
 */
#include "plan/check_order.h"

#include <fcntl.h>
#include <glob.h>
#include <inttypes.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "plan/errors.h"
#include "xdd/base/log.h"
#include "xdd/plan/engine_info.h"
#include "xdd/sys/sysfile.h"

/* The C library may be older than the call; it has one number everywhere. */
#define SYS_CACHESTAT 451

enum xdd_status plan_check_order(const struct target_plan *t)
{
	char engines[128];

	if (t->ordering != ORDERING_STRICT || t->queue_depth == 1 ||
	    plan_engine(t)->caps & (ENGINE_QUEUES | ENGINE_NO_DATA))
		return XDD_OK;
	return plan_refuse(t,
			   "-ordering strict with more than one operation outstanding needs an "
			   "engine that queues: %s",
			   engine_names(ENGINE_QUEUES, engines, sizeof(engines)));
}

/* What a device takes without making a request wait. */
struct queue_limits {
	uint64_t requests; /* UINT64_MAX where it is not known */
	uint64_t bytes;	   /* of a request that is not split; likewise */
};

static void lower(uint64_t *limit, const char *folder, const char *name, uint64_t unit)
{
	uint64_t value;
	char path[512];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	if (sysfile_number(path, &value) && value && value * unit < *limit)
		*limit = value * unit;
}

/* The limits in the folders that `pattern` stands for; false: there are none. */
static bool lower_all(struct queue_limits *limits, const char *pattern)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	glob_t found;

	if (glob(pattern, 0, NULL, &found))
		return false;
	for (size_t i = 0; i < found.gl_pathc; i++) {
		lower(&limits->requests, found.gl_pathv[i], "nr_requests", 1);
		lower(&limits->bytes, found.gl_pathv[i], "max_sectors_kb", 1024);
		/* Pages of a buffer need not lie together. */
		lower(&limits->bytes, found.gl_pathv[i], "max_segments", page);
	}
	globfree(&found);
	return true;
}

/* Of the device that the target is or lies on, and of those that this is made of. */
static struct queue_limits queue_limits(const struct target_plan *t)
{
	struct queue_limits limits = { UINT64_MAX, UINT64_MAX };
	char device[64], pattern[128];
	struct stat st;
	dev_t dev;

	if (stat(t->path, &st) < 0)
		return limits;
	dev = S_ISBLK(st.st_mode) ? st.st_rdev : st.st_dev;
	snprintf(device, sizeof(device), "/sys/dev/block/%u:%u", major(dev), minor(dev));
	snprintf(pattern, sizeof(pattern), "%s/queue", device);
	if (!lower_all(&limits, pattern)) {
		/* a partition */
		snprintf(pattern, sizeof(pattern), "%s/../queue", device);
		lower_all(&limits, pattern);
	}
	snprintf(pattern, sizeof(pattern), "%s/slaves/*/queue", device);
	lower_all(&limits, pattern);
	snprintf(pattern, sizeof(pattern), "%s/slaves/*/../queue", device);
	lower_all(&limits, pattern);
	return limits;
}

/* The file has all the blocks that the run will write to. */
static bool is_allocated(const struct target_plan *t)
{
	struct stat st;

	if (t->kind == TARGET_MISSING || plan_recreates(t) || stat(t->path, &st) < 0)
		return false;
	return (uint64_t)st.st_size >= t->end_bytes &&
	       (uint64_t)st.st_blocks * 512 >= (uint64_t)st.st_size;
}

/*
 * The page cache holds what stands in the way of requests with -dio: of writes whatever is there, of reads
 * what has not been written yet. Not known before Linux 6.5.
 */
static bool is_cached(const struct target_plan *t)
{
	/* struct cachestat_range and struct cachestat of linux/mman.h; no length: to the end */
	struct {
		uint64_t offset, bytes;
	} range = { 0, 0 };
	struct {
		uint64_t cached, dirty, writeback, evicted, recently_evicted;
	} pages = { 0 };
	int fd = open(t->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

	if (fd < 0)
		return false;
	if (syscall(SYS_CACHESTAT, fd, &range, &pages, 0))
		pages.cached = pages.dirty = pages.writeback = 0;
	close(fd);
	return t->op == OP_READ ? pages.dirty || pages.writeback : pages.cached;
}

/* XFS has a write wait when it is to set the time of the file's last change anew, every few milliseconds. */
static bool is_on_xfs(const struct target_plan *t)
{
	struct statfs fs;

	return t->kind == TARGET_FILE && statfs(t->path, &fs) == 0 && fs.f_type == XFS_SUPER_MAGIC;
}

static void warn_about(const struct target_plan *t, const char *what)
{
	log_warning(
		"target %u, %s: -ordering strict with io_uring: %s; kernel threads carry out what "
		"has to wait, in any order; libaio keeps the order",
		t->number, t->path, what);
}

void plan_warn_order(const struct target_plan *t)
{
	struct queue_limits limits;
	char text[160];

	/* Sends and receives are ordered where there are any. */
	if (t->network_ordering != ORDERING_NONE && t->ordering == ORDERING_NONE)
		log_warning(
			"target %u, %s: -ordering network %s: nothing goes over a network here; "
			"-ordering storage is for reads and writes",
			t->number, t->path, plan_ordering_name(t->network_ordering));
	if (t->ordering != ORDERING_STRICT || !(plan_engine_caps(t) & ENGINE_REORDERS) ||
	    t->queue_depth == 1 || t->op == OP_NOOP || t->kind == TARGET_CHAR)
		return;
	if (!t->direct_io) {
		warn_about(t, "without -dio requests may have to wait for memory or a lock");
		return;
	}
	if (t->op != OP_READ && t->kind != TARGET_BLOCK && !is_allocated(t)) {
		warn_about(t, "writes wait for the blocks that the file does not have yet");
		return;
	}
	if (t->op != OP_READ && is_on_xfs(t)) {
		warn_about(t, "writes on XFS wait for the time of the file's last change");
		return;
	}
	if (is_cached(t)) {
		warn_about(t, "requests wait for what is in the page cache of it");
		return;
	}
	limits = queue_limits(t);
	/* A request is given back a moment after the next has been issued for it. */
	if (t->queue_depth >= limits.requests) {
		snprintf(text, sizeof(text),
			 "-queuedepth %" PRIu64 " needs more than the %" PRIu64
			 " requests that its device has (nr_requests)",
			 t->queue_depth, limits.requests);
		warn_about(t, text);
	} else if (t->req_bytes > limits.bytes) {
		snprintf(text, sizeof(text),
			 "a request of %" PRIu64 " KiB is more than the %" PRIu64
			 " KiB that its device takes in one piece",
			 t->req_bytes / 1024, limits.bytes / 1024);
		warn_about(t, text);
	}
}
