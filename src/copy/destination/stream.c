/*
 * Large files, which come as blocks in any order, on all connections. The blocks of a file are
 * written by the threads that receive them; the thread that has the last one completes it. Called
 * by receive.c.
 */
#include "copy/destination/stream.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/falloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "copy/destination/file.h"
#include "copy/destination/sums.h"
#include "xdd/base/file.h"
#include "xdd/sys/blockdev.h"
#include "xdd/sys/clock.h"

#define ZEROS_BYTES (256u << 10)
#define DIRECT_ALIGN 4096u /* at least: offsets, sizes and memory */

/*
 * Space is allocated first for direct writes only: they come out of order and each allocates at
 * once, while the kernel allocates what is in the page cache in the order of offsets. Failures of
 * that do not matter, except of space.
 */
static int prepare_direct(struct item *i)
{
	const struct copy_entry *e = i->file.entry;
	struct stream *s = i->stream;
	struct directio info;

	s->direct_fd = fileopen_again(i->file.fd, O_WRONLY | O_DIRECT);
	if (s->direct_fd < 0)
		return 0;
	directio_query(&info, s->direct_fd, NULL);
	s->direct_align = info.offset_align > DIRECT_ALIGN ? info.offset_align : DIRECT_ALIGN;
	if (!i->file.dir || e->flags & COPY_SPARSE || !e->size_bytes)
		return 0;
	if (fallocate(i->file.fd, 0, 0, (off_t)e->size_bytes) && errno == ENOSPC)
		return -ENOSPC;
	return 0;
}

static int prepare(struct destination *d, struct item *i)
{
	const uint64_t size = i->file.entry->size_bytes;
	int err = file_create(d, i);
	struct stat st;

	if (err || !i->file.dir)
		return err ? err : d->settings->direct_destination ? prepare_direct(i) : 0;
	if (fstat(i->file.fd, &st))
		return -errno;
	/* A longer one in place is cut at the end, once it has its contents. */
	if ((uint64_t)st.st_size < size && ftruncate(i->file.fd, (off_t)size))
		return -errno;
	return d->settings->direct_destination ? prepare_direct(i) : 0;
}

/* i->stream->lock is held. */
static int ensure_open(struct destination *d, struct item *i)
{
	struct stream *s = i->stream;

	if (!s->opened) {
		s->open_err = prepare(d, i);
		s->opened = true;
	}
	return s->open_err;
}

/* The aligned part with direct I/O, a rest through the page cache. */
static int write_range(struct item *i, const uint8_t *data, size_t size, uint64_t offset)
{
	const struct stream *s = i->stream;
	size_t direct = 0;
	int err;

	if (s->direct_fd >= 0 && offset % s->direct_align == 0)
		direct = size - size % s->direct_align;
	if (direct) {
		err = file_write(s->direct_fd, data, direct, offset);
		if (err == -EINVAL)
			direct = 0;
		else if (err)
			return err;
	}
	return direct == size ?
		       0 :
		       file_write(i->file.fd, data + direct, size - direct, offset + direct);
}

static int write_ordered(struct item *i, const uint8_t *data, size_t size, uint64_t offset)
{
	struct stream *s = i->stream;

	if (offset < s->next_offset)
		return -EBADMSG;
	s->next_offset = offset + size;
	return write_range(i, data, size, offset);
}

static int write_block(struct destination *d, struct item *i, const uint8_t *data, size_t size,
		       uint64_t offset)
{
	bool ordered = d->settings->ordered_destination;
	struct stream *s = i->stream;
	uint64_t since = clock_now_ns();
	int err;

	pthread_mutex_lock(&s->lock);
	err = ensure_open(d, i);
	if (!err && ordered)
		err = write_ordered(i, data, size, offset);
	pthread_mutex_unlock(&s->lock);
	if (!err && !ordered)
		err = write_range(i, data, size, offset);
	if (!err && d->settings->resume && i->file.number)
		err = commit_wrote(d->commit, &i->file, offset, offset + size);
	dest_tally_add(&d->tally.storage_ns, clock_now_ns() - since);
	return err;
}

/* The first failure of a file at this side: the source learns of it, and its data is dropped. */
static void stream_failed(struct destination *d, struct item *i, const char *what, int err)
{
	if (!items_fail(&d->items, i))
		return;
	dest_failed(d, i->id, i->file.dir, i->file.entry->name, what, err);
	i->answered = true;
	dest_result(d, i->id, i->cost_bytes, COPY_LOST);
	answers_flush(&d->answers);
}

static int write_zeros(struct item *i, struct extent gap)
{
	uint8_t *zeros = calloc(1, ZEROS_BYTES);
	int err = zeros ? 0 : -ENOMEM;

	while (!err && gap.begin < gap.end) {
		uint64_t n = gap.end - gap.begin;

		n = n < ZEROS_BYTES ? n : ZEROS_BYTES;
		err = file_write(i->file.fd, zeros, (size_t)n, gap.begin);
		gap.begin += n;
	}
	free(zeros);
	return err;
}

/* Ranges that did not come are holes, also where there was something. */
static int clear_gaps(struct destination *d, struct item *i)
{
	struct extent gap = { 0, 0 };
	int mode = i->file.dir ? FALLOC_FL_PUNCH_HOLE : FALLOC_FL_ZERO_RANGE;

	if (!i->file.dir && !d->root.block)
		return 0;
	while (extents_next_missing(&i->stream->got, gap.end, i->file.entry->size_bytes, &gap)) {
		int err = fallocate(i->file.fd, mode | FALLOC_FL_KEEP_SIZE, (off_t)gap.begin,
				    (off_t)(gap.end - gap.begin)) ?
				  write_zeros(i, gap) :
				  0;

		if (err)
			return err;
	}
	return 0;
}

static int finish(struct destination *d, struct item *i)
{
	bool had_contents = i->resumed || (d->settings->in_place && i->exists) || !i->file.dir;
	int err = ensure_open(d, i);

	if (!err && had_contents)
		err = clear_gaps(d, i);
	if (!err && i->file.dir && d->settings->in_place &&
	    ftruncate(i->file.fd, (off_t)i->file.entry->size_bytes))
		err = -errno;
	return err;
}

static void complete(struct destination *d, struct item *i)
{
	struct stream *s = i->stream;
	int err;

	if (s->failed || s->source_failed) {
		file_lost(d, i);
		return;
	}
	err = finish(d, i);
	if (err)
		file_failed(d, i, "write", err);
	else
		file_complete(d, i);
}

/* The end of a message for a file; `messages` and `bytes` of it. */
static int end_message(struct destination *d, struct item *i, unsigned messages, uint64_t bytes,
		       char *why)
{
	bool sums = i->state == ITEM_SUMS;
	int complete_now = items_unuse(&d->items, i, messages, bytes);

	if (complete_now < 0)
		return dest_violation(why, "other amounts of a file than it says");
	if (complete_now && sums)
		sums_complete(d, i);
	else if (complete_now)
		complete(d, i);
	return 0;
}

int stream_block(struct destination *d, const struct wire_header *h, const uint8_t *body, char *why)
{
	uint64_t id = copy_block_id(h), size = h->length;
	bool failed;
	int err;
	struct item *i = items_use(&d->items, id, ITEM_SEND, &err);

	if (!i)
		return err == -ENOMEM ? err : dest_violation(why, "data that was not asked for");
	err = items_claim(&d->items, i, h->offset, size, &failed);
	if (err == -EBADMSG)
		return dest_violation(why, "data that lies outside of a file, or twice");
	if (!err && !failed)
		err = write_block(d, i, body, size, h->offset);
	if (err == -EBADMSG)
		return dest_violation(why, "data in descending order, which -o rules out");
	if (err)
		stream_failed(d, i, "write", err);
	dest_tally_add(&d->tally.moved_bytes, size);
	return end_message(d, i, 1, size, why);
}

int stream_file_end(struct destination *d, const uint8_t *body, size_t length, char *why)
{
	struct copy_file_end e;
	struct item *i;
	int err;

	if (copy_decode_file_end(body, length, &e) != WIRE_OK)
		return dest_violation(why, wire_fault_text(WIRE_BAD_BODY));
	i = items_use_any(&d->items, e.id, &err);
	if (!i)
		return err == -ENOMEM ? err : dest_violation(why, "the end of an unknown file");
	if (items_announce(&d->items, i, &e))
		return dest_violation(why, "two ends of a file");
	return end_message(d, i, 0, 0, why);
}

int stream_sums_end(struct destination *d, struct item *i, char *why)
{
	return end_message(d, i, 1, 0, why);
}
