/*
 * Counts of block devices, from /sys. Called at the ends of a run.
 */
#include "xdd/io/diskstats.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "xdd/base/text.h"
#include "xdd/sys/blockdev.h"
#include "xdd/sys/sysfile.h"

#define SECTOR_BYTES 512 /* of the counts, whatever the device's */

int diskstats_device(const char *path, char name[DISKSTATS_NAME_SIZE], dev_t *disk)
{
	char link[64], directory[PATH_MAX];
	const char *last;
	struct stat st;
	dev_t dev;

	if (stat(path, &st) < 0)
		return -errno;
	dev = blockdev_disk(S_ISBLK(st.st_mode) ? st.st_rdev : st.st_dev);
	snprintf(link, sizeof(link), "/sys/dev/block/%u:%u", major(dev), minor(dev));
	if (!realpath(link, directory))
		return -ENODEV;
	last = path_last(directory);
	if (strlen(last) >= DISKSTATS_NAME_SIZE)
		return -ENODEV;
	strcpy(name, last);
	if (disk)
		*disk = dev;
	return 0;
}

int diskstats_read(const char *name, struct diskstats *s)
{
	char path[DISKSTATS_NAME_SIZE + 32];
	uint64_t sectors[2];
	FILE *f;
	int n;

	snprintf(path, sizeof(path), "/sys/class/block/%s/stat", name);
	f = fopen(path, "re");
	if (!f)
		return -errno;
	n = fscanf(f, "%" SCNu64 " %" SCNu64 " %" SCNu64 " %*u %" SCNu64 " %" SCNu64 " %" SCNu64,
		   &s->requests[0], &s->merged[0], &sectors[0], &s->requests[1], &s->merged[1],
		   &sectors[1]);
	fclose(f);
	if (n != 6)
		return -EBADMSG;
	s->bytes[0] = sectors[0] * SECTOR_BYTES;
	s->bytes[1] = sectors[1] * SECTOR_BYTES;
	return 0;
}

bool diskstats_counts(const char *name)
{
	char path[DISKSTATS_NAME_SIZE + 40], buf[16], *line;

	snprintf(path, sizeof(path), "/sys/class/block/%s/queue/iostats", name);
	line = sysfile_line(path, buf, sizeof(buf));
	return !line || strcmp(line, "0") != 0;
}
