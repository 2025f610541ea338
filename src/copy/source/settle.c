/* Young files; see the header. */
#include "copy/source/settle.h"

#include <time.h>

#include "xdd/base/file.h"
#include "xdd/sys/clock.h"

#define MAX_TRIES 4

static void wait_slice(int64_t ns)
{
	struct timespec slice = { .tv_nsec = ns < (int64_t)FILEAGE_SLICE_NS ?
						     ns :
						     (int64_t)FILEAGE_SLICE_NS };

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
		ns = fileage_wait_ns(fd, *ctime_ns);
	}
	return FILE_SAME;
}

enum file_state settle_wait(struct data_thread *d, int fd, const struct entry *e, int64_t *ctime_ns)
{
	int64_t ns = fileage_wait_ns(fd, *ctime_ns);
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
