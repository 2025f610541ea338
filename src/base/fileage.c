/*
 * The age of a file at which its ctime proves something; see the header. Called by the sources of
 * copies.
 */
#include "xdd/base/fileage.h"

#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <time.h>

#include "xdd/base/nstime.h"

#define WRITE_NS NS_PER_SEC /* the longest write that is waited for */
#define FAT_NS (2 * NS_PER_SEC)

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

int64_t fileage_wait_ns(int fd, int64_t ctime_ns)
{
	int64_t age_ns = file_clock_ns() - ctime_ns, granule = granule_ns(ctime_ns);

	/* One of the future has the time of another clock. */
	if (age_ns < -(int64_t)FAT_NS || age_ns >= granule + (int64_t)WRITE_NS)
		return 0;
	if (may_be_written(fd))
		return granule + (int64_t)WRITE_NS - age_ns;
	return granule - age_ns;
}
