/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The destination receives messages. The receiving thread takes offers from the channel, and data
 * where there is no data connection. Each data thread takes the messages of one connection and
 * writes the data in them. Called by the role and by destination.c.
 *
 * Large files come as blocks in any order, on all connections. The blocks of a file are written by
 * the threads that receive them; the thread that has the last one completes it.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/falloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "copy/destination/destination.h"
#include "xdd/base/err.h"
#include "xdd/base/file.h"
#include "xdd/sync/thread.h"
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

static int stream_prepare(struct destination *d, struct item *i)
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
		s->open_err = stream_prepare(d, i);
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
	dest_failed(d, i->link.id, i->file.dir, i->file.entry->name, what, err);
	i->answered = true;
	dest_result(d, i->link.id, i->cost_bytes, COPY_LOST);
	answers_flush(d);
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

static int stream_finish(struct destination *d, struct item *i)
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

static void stream_complete(struct destination *d, struct item *i)
{
	struct stream *s = i->stream;
	int err;

	if (s->failed || s->source_failed) {
		file_lost(d, i);
		return;
	}
	err = stream_finish(d, i);
	if (err)
		file_failed(d, i, "write", err);
	else
		file_complete(d, i);
}

/* The end of a message for a file; `messages` and `bytes` of it. */
static int end_message(struct destination *d, struct item *i, unsigned messages, uint64_t bytes,
		       struct err *why)
{
	bool sums = i->state == ITEM_SUMS;
	int complete_now = items_unuse(&d->items, i, messages, bytes);

	if (complete_now < 0)
		return dest_violation(why, "other amounts of a file than it says");
	if (complete_now && sums)
		sums_complete(d, i);
	else if (complete_now)
		stream_complete(d, i);
	return 0;
}

static int stream_block(struct destination *d, const struct wire_header *h, const uint8_t *body,
			struct err *why)
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

static int stream_file_end(struct destination *d, const uint8_t *body, size_t length,
			   struct err *why)
{
	struct copy_file_end e;
	struct item *i;
	int err;

	if (copy_decode_file_end(body, length, &e) != WIRE_OK)
		return dest_violation(why, wire_fault_text(WIRE_BAD_BODY));
	i = items_use(&d->items, e.id, ITEM_SEND | ITEM_SUMS, &err);
	if (!i)
		return err == -ENOMEM ? err : dest_violation(why, "the end of an unknown file");
	if (items_announce(&d->items, i, &e))
		return dest_violation(why, "two ends of a file");
	return end_message(d, i, 0, 0, why);
}

static int stream_sums(struct destination *d, const uint8_t *body, size_t length, struct err *why)
{
	struct item *i;
	int err = sums_message(d, body, length, &i, why);

	return err ? err : end_message(d, i, 1, 0, why);
}

#define BUFFER_ALIGN 4096

struct receiver {
	struct destination *d;
	struct link *link;
	unsigned number;
	struct cpu_use cpu;
	pthread_t thread;
	bool started;
	uint8_t *buffer;
	size_t buffer_bytes;
};

struct receivers {
	unsigned n;
	struct receiver list[COPY_MAX_CONNECTIONS];
};

static int write_small(struct destination *d, struct item *i, const struct copy_bundle_file *f)
{
	int err = file_create(d, i);

	if (!err && f->size)
		err = file_write(i->file.fd, f->data, f->size, 0);
	if (!err && i->file.dir && (i->exists || i->resumed) &&
	    (d->settings->in_place || i->resumed) && ftruncate(i->file.fd, f->size))
		err = -errno;
	return err;
}

static int take_small(struct destination *d, const struct copy_bundle_file *f, struct err *why)
{
	struct item *i = items_take(&d->items, f->id);
	int err;

	if (!i)
		return dest_violation(why, "a file that was not asked for");
	if (f->status) {
		file_lost(d, i);
		return 0;
	}
	if (f->size != i->file.entry->size_bytes) {
		items_remove(&d->items, i);
		file_forget(d, i);
		return dest_violation(why, "a file of another size than it says");
	}
	err = write_small(d, i, f);
	if (err)
		file_failed(d, i, "write", err);
	else
		file_complete(d, i);
	return 0;
}

static int take_bundle(struct destination *d, const uint8_t *body, size_t length, struct err *why)
{
	uint64_t since = clock_now_ns();
	struct decoder c = dec_begin(body, length);
	struct copy_bundle_file f;
	bool more = true;
	int err = 0;

	while (!err && !dest_stopped(d)) {
		if (copy_decode_bundle(&c, &f, &more) != WIRE_OK)
			return dest_violation(why, wire_fault_text(WIRE_BAD_BODY));
		if (!more)
			break;
		dest_tally_add(&d->tally.moved_bytes, f.size);
		err = take_small(d, &f, why);
	}
	dest_tally_add(&d->tally.storage_ns, clock_now_ns() - since);
	return err;
}

static int take_message(struct destination *d, const struct wire_header *h, const uint8_t *body,
			struct err *why)
{
	switch (h->type) {
	case WIRE_COPY_BUNDLE:
		return take_bundle(d, body, h->length, why);
	case WIRE_COPY_BLOCK:
		return stream_block(d, h, body, why);
	case WIRE_COPY_SUMS:
		return stream_sums(d, body, h->length, why);
	case WIRE_COPY_FILE_END:
		return stream_file_end(d, body, h->length, why);
	default:
		return dest_violation(why, "a message that has no place there");
	}
}

/* The range of a file that a message is about; the range of a bundle begins at 0. */
static void describe_stamp(struct stamp *stamp, const struct wire_header *h, const uint8_t *body)
{
	struct wire_sums sums;

	stamp->offset_bytes = h->type == WIRE_COPY_BLOCK ? h->offset : 0;
	stamp->bytes = h->length;
	if (h->type == WIRE_COPY_SUMS && copy_decode_sums(body, h->length, &sums) == WIRE_OK) {
		stamp->offset_bytes = sums.offset_bytes;
		stamp->bytes = (uint32_t)(sums.end_bytes - sums.offset_bytes);
	}
}

/*
 * A message of data with its checked body, in data thread `thread`, or in the receiving thread
 * where data comes through the channel. `stamp` has the times of its transfer. Returns 0, -EBADMSG
 * with `why`, or -ENOMEM.
 */
static int receive_message(struct destination *d, unsigned thread, struct stamp *stamp,
			   const struct wire_header *h, const uint8_t *body, struct err *why)
{
	int err;

	stamp->storage_begin_ns = stamps_now(d->stamps);
	dest_busy(d);
	err = take_message(d, h, body, why);
	dest_idle(d);
	stamp->storage_end_ns = stamps_now(d->stamps);
	if (d->stamps && h->type != WIRE_COPY_FILE_END) {
		describe_stamp(stamp, h, body);
		stamps_add(d->stamps, thread, stamp);
	}
	return err;
}

/* ---- the receiving thread ---- */

static int handle(struct destination *d, const struct wire_header *h, const uint8_t *body,
		  struct err *why)
{
	struct stamp stamp = { 0 };

	if (d->job->data->inside)
		cpu_use_add(&d->channel, &d->cpu);
	/* Data that comes through the channel has no time of a network by itself. */
	return h->type == WIRE_COPY_OFFER ? entries_offer(d, body, h->length, why) :
					    receive_message(d, 0, &stamp, h, body, why);
}

int receive_from_channel(void *arg, const struct wire_header *h, const uint8_t *body,
			 struct err *why)
{
	struct destination *d = arg;
	int err = 0;

	pthread_mutex_lock(&d->receiving);
	if (!dest_stopped(d))
		err = d->ended ? dest_violation(why, "more after the end of all") :
				 handle(d, h, body, why);
	pthread_mutex_unlock(&d->receiving);
	return dest_stopped(d) ? 0 : err;
}

/* ---- data threads ---- */

static int receive_one(struct receiver *r, struct err *why)
{
	struct destination *d = r->d;
	uint64_t since = clock_now_ns(), ns[2] = { 0, 0 };
	struct stamp stamp = { 0 };
	struct wire_header h;
	int err = link_receive(r->link, r->buffer_bytes, &h, why);

	dest_tally_add(&d->tally.waiting_ns, clock_now_ns() - since);
	stamp.network_begin_ns = stamps_now(d->stamps);
	if (!err && h.length)
		err = link_receive_body(r->link, &h, r->buffer, ns, why);
	stamp.network_end_ns = stamps_now(d->stamps);
	dest_tally_add(&d->tally.checking_ns, ns[0]);
	dest_tally_add(&d->tally.network_ns, ns[1]);
	cpu_use_add(&r->cpu, &d->cpu);
	return err ? err : receive_message(d, r->number, &stamp, &h, r->buffer, why);
}

static void *receive_main(void *arg)
{
	struct receiver *r = arg;
	struct err why = { 0 };
	int err;

	do {
		err = receive_one(r, &why);
	} while (!err && !dest_stopped(r->d));
	if (err && !dest_stopped(r->d) && !atomic_load(&r->d->finishing))
		role_link_failed(r->d->role, r->number, err, &why);
	return NULL;
}

static int receive_start(struct receiver *r)
{
	void *buffer;
	int err;

	if (posix_memalign(&buffer, BUFFER_ALIGN, r->buffer_bytes))
		return -ENOMEM;
	r->buffer = buffer;
	err = thread_start(&r->thread, receive_main, r);
	r->started = !err;
	return err;
}

int receivers_start(struct receivers **out, struct destination *d)
{
	struct data_links *data = d->job->data;
	size_t block = d->settings->block_bytes;
	struct receivers *r = calloc(1, sizeof(*r));
	int err = 0;

	*out = r;
	if (!r)
		return -ENOMEM;
	for (unsigned k = 0; !data->inside && k < data->n && !err; k++) {
		r->list[k] = (struct receiver){
			.d = d,
			.link = data->links[k],
			.number = k,
			.buffer_bytes = block > COPY_MAX_BUNDLE_BYTES ? block :
									COPY_MAX_BUNDLE_BYTES,
		};
		r->n++;
		err = receive_start(&r->list[k]);
	}
	return err;
}

void receivers_end(struct receivers *r)
{
	if (!r)
		return;
	for (unsigned k = 0; k < r->n; k++)
		link_abort(r->list[k].link);
	for (unsigned k = 0; k < r->n; k++) {
		if (r->list[k].started)
			pthread_join(r->list[k].thread, NULL);
		free(r->list[k].buffer);
	}
	free(r);
}
