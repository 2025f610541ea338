/*
 * Direct I/O on a file; see the header. Called when the plan is resolved, and after opening a
 * target.
 */
#include "xdd/sys/directio.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>

static bool is_memory(int fd, const char *path)
{
	struct statfs fs;

	if (path ? statfs(path, &fs) < 0 : fstatfs(fd, &fs) < 0)
		return false;
	return fs.f_type == TMPFS_MAGIC || fs.f_type == RAMFS_MAGIC || fs.f_type == HUGETLBFS_MAGIC;
}

#ifdef STATX_DIOALIGN

static void ask(struct directio *d, int fd, const char *path)
{
	struct statx stx;

	if (statx(path ? AT_FDCWD : fd, path ? path : "", path ? 0 : AT_EMPTY_PATH,
		  STATX_TYPE | STATX_DIOALIGN, &stx) < 0)
		return;
	if (stx.stx_mask & STATX_DIOALIGN) {
		d->offset_align = stx.stx_dio_offset_align;
		d->memory_align = stx.stx_dio_mem_align;
		d->ignored = S_ISREG(stx.stx_mode) && !d->offset_align;
	} else if (S_ISREG(stx.stx_mode) || S_ISDIR(stx.stx_mode)) {
		d->ignored = is_memory(fd, path);
	}
}

#else /* built with headers older than Linux 6.1 */

static void ask(struct directio *d, int fd, const char *path)
{
	struct stat st;

	if ((path ? stat(path, &st) : fstat(fd, &st)) == 0 &&
	    (S_ISREG(st.st_mode) || S_ISDIR(st.st_mode)))
		d->ignored = is_memory(fd, path);
}

#endif

void directio_query(struct directio *d, int fd, const char *path)
{
	*d = (struct directio){ 0 };
	ask(d, fd, path);
}
