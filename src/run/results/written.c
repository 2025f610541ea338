/*
 * Checks of what was written; see the header. Called by the results manager.
 */
#include "run/results/written.h"

#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>

#include "run/run_state.h"
#include "xdd/base/text.h"
#include "xdd/base/units.h"
#include "xdd/io/diskstats.h"
#include "xdd/report/report.h"
#include "xdd/sys/sysfile.h"

/* Less than either is the rest that any run leaves behind. */
#define DIRTY_BYTES (1ull << 20)
#define DIRTY_PERCENT 5.0

/* From here on the rate is that of memory. */
#define PARTLY_PERCENT 50.0

/* linux/magic.h has none of these. */
#define ZFS_MAGIC 0x2fc12fc1
#define BCACHEFS_MAGIC 0xca451a4e
#define BTRFS_MAGIC 0x9123683e

void written_check_dirty(struct run *run, int64_t number, const char *what, bool direct,
			 const struct dirty_sample *dirty)
{
	const double percent = 100 * dirty->share;
	char amount[SCALED_SIZE];

	if (!dirty->known || dirty->bytes < DIRTY_BYTES || percent < DIRTY_PERCENT)
		return;
	report_finding(run->report, FINDING_DIRTY, number,
		       "%s: %s%.0f %% of what was written, %s, was in memory when the "
		       "run ended, and not on the device: %s; %s-syncwrite, which includes the "
		       "flush, measures the device",
		       what, dirty->sampled ? "about " : "", percent,
		       scaled_bytes((double)dirty->bytes, amount),
		       percent < PARTLY_PERCENT ? "the rate is partly that of memory" :
						  "that measures memory",
		       direct ? "" : "-dio, or ");
}

static bool are_zeros(const struct target_plan *t)
{
	return t->pattern.kind == PATTERN_CHARACTER && !t->pattern.word;
}

/* The file system of a file compresses, as far as that is known. */
static bool compresses(const char *path)
{
	struct statfs fs;

	if (statfs(path, &fs) < 0)
		return false;
	switch ((uint32_t)fs.f_type) {
	case ZFS_MAGIC:
		return true;
	case BTRFS_MAGIC:
		return mountinfo_has_option(path, "compress") ||
		       mountinfo_has_option(path, "compress-force");
	case BCACHEFS_MAGIC:
		return mountinfo_has_option(path, "compression");
	default:
		return false;
	}
}

/* The reason why the storage of `path` may not store zeros, or NULL. */
static const char *loses_zeros(const char *path, bool file)
{
	char device[DISKSTATS_NAME_SIZE];

	if (file && compresses(path))
		return "its file system compresses them";
	if (diskstats_device(path, device, NULL))
		return NULL;
	if (strncmp(device, "zram", 4) == 0)
		return "zram stores none of them";
	/* Loop devices and RAM disks store what they get, and of other files nothing is known. */
	if (file || strncmp(device, "loop", 4) == 0 || strncmp(device, "ram", 3) == 0)
		return NULL;
	return "thin, compressing or deduplicating storage may not store them";
}

const char *written_loses_zeros(const struct target_plan *t)
{
	const bool file = t->kind == TARGET_FILE || t->kind == TARGET_MISSING;
	const char *why;
	char *directory;

	if (!plan_writes(t) || t->endtoend.role == E2E_DESTINATION || !are_zeros(t) ||
	    (!file && t->kind != TARGET_BLOCK))
		return NULL;
	if (t->kind != TARGET_MISSING)
		return loses_zeros(t->path, file);
	/* Its QThreads may not have created it yet. */
	directory = path_directory(t->path);
	why = directory ? loses_zeros(directory, file) : NULL;
	free(directory);
	return why;
}

void written_report_zeros(struct run *run, const struct target_plan *t, const char *why)
{
	report_finding(run->report, FINDING_ZEROS, t->number,
		       "target %u, %s: the data that was written is zeros, the default: %s; "
		       "-datapattern random is data that cannot be compressed",
		       t->number, t->path, why);
}
