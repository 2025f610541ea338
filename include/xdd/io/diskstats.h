/*
 * The kernel's counts of a block device: Documentation/block/stat.rst. Any thread.
 */
#ifndef XDD_IO_DISKSTATS_H
#define XDD_IO_DISKSTATS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define DISKSTATS_NAME_SIZE 64

struct diskstats {
	uint64_t requests[2]; /* completed: reads, writes */
	uint64_t merged[2];   /* requests that were joined to one before */
	uint64_t bytes[2];
};

/*
 * The name of the whole device that `path`, a block device or a file on one, is on, into `name`.
 * `disk`, unless NULL, gets its number. Returns 0, -ENODEV when it is on none that has a name
 * (memory, a network, several), or another -errno.
 */
int diskstats_device(const char *path, char name[DISKSTATS_NAME_SIZE], dev_t *disk);

/* False when the counters of the device are switched off (queue/iostats). */
bool diskstats_counts(const char *name);

/* The counts of the device of that name since it was there. Returns 0 or -errno. */
int diskstats_read(const char *name, struct diskstats *stats);

#endif
