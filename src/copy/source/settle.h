/*
 * Times that prove that a file did not change while it was read. Called by data threads.
 */
#ifndef COPY_SOURCE_SETTLE_H
#define COPY_SOURCE_SETTLE_H

#include "copy/source/open.h"
#include "copy/source/source.h"

/*
 * Before an open file is read: wait as long as fileage_wait_ns() says for `*ctime_ns`, which it
 * has. The time counts as waiting, and is added to d->settling_ns. Ends early once the source is
 * closing.
 *
 * Returns FILE_SAME, with `*ctime_ns` as it is now; or FILE_CHANGED or FILE_UNKNOWN, as
 * source_compare().
 */
enum file_state settle_wait(struct data_thread *d, int fd, const struct entry *e,
			    int64_t *ctime_ns);

#endif
