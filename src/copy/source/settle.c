/*
 * Young files; see the header.
 *
 * An equal ctime before and after the read proves nothing while a change would give that ctime
 * again: within the granularity of the file system's times. Nor does it where the kernel is in the
 * middle of a write: it sets the time first, and copies the bytes after it.
 */
#include "copy/source/settle.h"

#include <fcntl.h>
#include <signal.h>
#include <time.h>

#include "xdd/base/nstime.h"
#include "xdd/sys/clock.h"

#define WRITE_NS NS_PER_SEC /* the longest write that is waited for */
#define FAT_NS (2 * NS_PER_SEC)
#define SLICE_NS (20 * NS_PER_SEC / 1000)
#define MAX_TRIES 4

/* The clock of the kernel for times of files, which stands still between two ticks. */
static int64_t file_clock_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME_COARSE, &now);
	return timespec_ns(&now);
}

/* The granularity that a time shows by its zeros; FAT keeps even seconds. */
static int64_t granule_ns(int64_t time_ns)
{
	int64_t ns = 1;

	while (ns < (int64_t)NS_PER_SEC && time_ns % (10 * ns) == 0)
		ns *= 10;
	return ns == (int64_t)NS_PER_SEC && time_ns % (int64_t)FAT_NS == 0 ? (int64_t)FAT_NS : ns;
}

/*
 * The kernel refuses a lease for reading while the file is open for writing. A program that opens
 * it for writing just now waits until the lease is given back; the signal of that does nothing.
 */
static bool may_be_written(int fd)
{
	if (fcntl(fd, F_SETSIG, SIGURG) || fcntl(fd, F_SETLEASE, F_RDLCK))
		return true;
	fcntl(fd, F_SETLEASE, F_UNLCK);
	return false;
}

/* How long to wait; 0 or less: no longer. */
static int64_t wait_ns(int fd, int64_t ctime_ns)
{
	int64_t age_ns = file_clock_ns() - ctime_ns, granule = granule_ns(ctime_ns);

	/* One of the future has the time of another clock. */
	if (age_ns < -(int64_t)FAT_NS || age_ns >= granule + (int64_t)WRITE_NS)
		return 0;
	if (may_be_written(fd))
		return granule + (int64_t)WRITE_NS - age_ns;
	return granule - age_ns;
}

static void wait_slice(int64_t ns)
{
	struct timespec slice = { .tv_nsec = ns < (int64_t)SLICE_NS ? ns : (int64_t)SLICE_NS };

	nanosleep(&slice, NULL);
}

static enum file_state wait_until_settled(const struct source *s, int fd, const struct entry *e,
					  int64_t *ctime_ns, int64_t ns)
{
	enum file_state state;
	int touched = 0;

	while (ns > 0 && !atomic_load(&s->closing)) {
		wait_slice(ns);
		state = source_compare(fd, e, ctime_ns);
		if (state == FILE_CHANGED || state == FILE_UNKNOWN)
			return state;
		if (state == FILE_TOUCHED && ++touched == MAX_TRIES)
			return FILE_CHANGED;
		ns = wait_ns(fd, *ctime_ns);
	}
	return FILE_SAME;
}

enum file_state settle_wait(struct data_thread *d, int fd, const struct entry *e, int64_t *ctime_ns)
{
	int64_t ns = wait_ns(fd, *ctime_ns);
	enum file_state state;
	uint64_t begin_ns, waited_ns;

	if (ns <= 0)
		return FILE_SAME;
	begin_ns = clock_now_ns();
	state = wait_until_settled(d->s, fd, e, ctime_ns, ns);
	waited_ns = clock_now_ns() - begin_ns;
	d->settling_ns += waited_ns;
	count_add(&d->counts.waiting_ns, waited_ns);
	return state;
}
