/*
 * Times that prove that a file did not change while it was read. Called by data threads.
 */
#ifndef COPY_SOURCE_SETTLE_H
#define COPY_SOURCE_SETTLE_H

#include "copy/source/open.h"
#include "copy/source/source.h"

/*
 * Before an open file is read: wait until each change from now on gives it another ctime than
 * `*ctime_ns`, which it has, and no write that began before is still going on. That is at once
 * where the ctime is some seconds old; otherwise until the next tick of the clock, the next second
 * or two where the file system keeps seconds, and a second where the file is open for writing or
 * where that is not known. The time counts as waiting, and is added to d->settling_ns. Ends early
 * once the source is closing.
 *
 * Returns FILE_SAME, with `*ctime_ns` as it is now; or FILE_CHANGED or FILE_UNKNOWN, as
 * source_compare(). It cannot help where the clock of a file server is ahead by more than two
 * seconds, nor where a single write lasts longer than a second.
 */
enum file_state settle_wait(struct data_thread *d, int fd, const struct entry *e,
			    int64_t *ctime_ns);

#endif
