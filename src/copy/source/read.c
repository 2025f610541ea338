/*
 * Reads of large files. Called by data threads.
 */
#include "copy/source/read.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "copy/source/open.h"
#include "xdd/sys/blockdev.h"
#include "xdd/sys/clock.h"

#define USUAL_ALIGN_BYTES 4096u

/* Direct I/O and waiting are flags of the open file. */
static void clear_flag(int fd, int flag)
{
	int flags = fcntl(fd, F_GETFL);

	if (flags >= 0)
		fcntl(fd, F_SETFL, flags & ~flag);
}

static void prepare_direct(struct large *f)
{
	struct directio info;
	uint64_t align;

	directio_query(&info, f->fd, NULL);
	align = info.offset_align > info.memory_align ? info.offset_align : info.memory_align;
	f->align_bytes = align > USUAL_ALIGN_BYTES ? align : USUAL_ALIGN_BYTES;
	if (f->align_bytes * 2 > READ_SPARE_BYTES)
		clear_flag(f->fd, O_DIRECT);
	else
		atomic_store(&f->direct, true);
}

void read_prepare(struct large *f)
{
	if (f->entry->flags & COPY_DEVICE) {
		clear_flag(f->fd, O_NONBLOCK);
		f->stream = lseek(f->fd, 0, SEEK_CUR) < 0 && errno == ESPIPE;
	}
	if (fcntl(f->fd, F_GETFL) & O_DIRECT)
		prepare_direct(f);
	else if (f->entry->size_bytes > f->step_bytes)
		posix_fadvise(f->fd, 0, 0, POSIX_FADV_SEQUENTIAL);
}

/* Read `length` bytes, or up to the end. Returns the number, or -errno. */
static ssize_t read_all(struct large *f, uint8_t *buf, size_t length, uint64_t at)
{
	size_t done = 0;

	while (done < length) {
		ssize_t n = f->stream ? read(f->fd, buf + done, length - done) :
					pread(f->fd, buf + done, length - done, (off_t)(at + done));

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			break;
		done += (size_t)n;
		/* A direct read ends with the file. */
		if (done < length && done % USUAL_ALIGN_BYTES && atomic_load(&f->direct))
			break;
	}
	return (ssize_t)done;
}

/* The whole blocks around a range. Returns as above, counted from its begin. */
static ssize_t read_direct(struct large *f, uint8_t *buf, const struct extent *x, uint8_t **data)
{
	uint64_t before = x->begin % f->align_bytes;
	uint64_t from = x->begin - before;
	uint64_t length = (x->end - from + f->align_bytes - 1) / f->align_bytes * f->align_bytes;
	ssize_t n = read_all(f, buf, length, from);

	if (n == -EINVAL) {
		atomic_store(&f->direct, false);
		clear_flag(f->fd, O_DIRECT);
		*data = buf;
		return read_all(f, buf, x->end - x->begin, x->begin);
	}
	if (n < 0)
		return n;
	*data = buf + before;
	return (uint64_t)n < before ? 0 : n - (ssize_t)before;
}

/* Fewer bytes than the walk found. Other threads may use f->ctime_ns. */
static void short_text(const struct large *f, char *text, size_t size)
{
	int64_t ctime_ns = f->entry->ctime_ns;

	if (source_compare(f->fd, f->entry, &ctime_ns) == FILE_SAME)
		source_size_text(text, size, f->entry, false);
	else
		snprintf(text, size, "became shorter while it was copied");
}

int read_range(struct data_thread *d, struct large *f, const struct extent *x, uint8_t **data,
	       char *text, size_t size)
{
	uint64_t begin_ns = clock_now_ns(), end_ns, length = x->end - x->begin;
	ssize_t n;

	*data = d->buf;
	if (atomic_load(&f->direct))
		n = read_direct(f, d->buf, x, data);
	else
		n = read_all(f, d->buf, length, x->begin);
	end_ns = clock_now_ns();
	count_add(&d->counts.storage_ns, end_ns - begin_ns);
	stamp_storage(d, begin_ns, end_ns);
	if (n < 0) {
		source_errno_text(text, size, "cannot read", (int)n);
		return (int)n;
	}
	if ((uint64_t)n >= length)
		return 0;
	if (f->entry->flags & COPY_DEVICE)
		snprintf(text, size, "ends after %" PRIu64 " bytes", x->begin + (uint64_t)n);
	else
		short_text(f, text, size);
	return -ENODATA;
}
