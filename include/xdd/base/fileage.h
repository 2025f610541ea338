/*
 * Times that prove that a file did not change while it was read. Any thread; no state.
 *
 * An equal ctime before and after the read proves nothing while a change would give that ctime
 * again: within the granularity of the file system's times. Nor does it where the kernel is in the
 * middle of a write: it sets the time first, and copies the bytes after it.
 */
#ifndef XDD_BASE_FILEAGE_H
#define XDD_BASE_FILEAGE_H

#include <stdint.h>

#define FILEAGE_SLICE_NS 20000000ull /* a caller that waits looks at the file again after it */

/*
 * How long to wait until each change gives the open file `fd` another ctime than `ctime_ns`, which
 * it has, and no write that began before is still going on. That is 0 or less where the ctime is
 * some seconds old; otherwise until the next tick of the clock, the next second or two where the
 * file system keeps seconds, and a second where the file is open for writing or where that is not
 * known. It cannot help where the clock of a file server is ahead by more than two seconds, nor
 * where a single write lasts longer than a second.
 */
int64_t fileage_wait_ns(int fd, int64_t ctime_ns);

#endif
