/*
 * Data threads: each receives the messages of one connection and writes what they contain. Called
 * by destination.c, and by entries.c where data comes through the channel.
 */
#include "copy/destination/receive.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "copy/destination/file.h"
#include "copy/destination/stream.h"
#include "copy/destination/sums.h"
#include "xdd/sync/thread.h"
#include "xdd/sys/clock.h"

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

static int take_small(struct destination *d, const struct copy_bundle_file *f, char *why)
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

static int take_bundle(struct destination *d, const uint8_t *body, size_t length, char *why)
{
	uint64_t since = clock_now_ns();
	struct copy_bundle_cursor c;
	struct copy_bundle_file f;
	bool more = true;
	int err = 0;

	copy_bundle_cursor_init(&c, body, length);
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
			char *why)
{
	switch (h->type) {
	case WIRE_COPY_BUNDLE:
		return take_bundle(d, body, h->length, why);
	case WIRE_COPY_BLOCK:
		return stream_block(d, h, body, why);
	case WIRE_COPY_SUMS:
		return sums_message(d, body, h->length, why);
	case WIRE_COPY_FILE_END:
		return stream_file_end(d, body, h->length, why);
	default:
		return dest_violation(why, "a message that has no place there");
	}
}

/* The range of a file that a message is about; that of a bundle begins at 0. */
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

int receive_message(struct destination *d, unsigned thread, struct stamp *stamp,
		    const struct wire_header *h, const uint8_t *body, char *why)
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

static int receive_one(struct receiver *r, char *why)
{
	struct destination *d = r->d;
	uint64_t since = clock_now_ns(), ns[2] = { 0, 0 };
	struct stamp stamp = { 0 };
	struct wire_header h;
	int err = link_receive(r->link, r->buffer_bytes, &h, why);

	dest_tally_add(&d->tally.waiting_ns, clock_now_ns() - since);
	if (!err && h.length > r->buffer_bytes)
		err = dest_violation(why, "a message that is too long");
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
	char why[WIRE_MAX_TEXT_BYTES] = "";
	int err;

	do {
		err = receive_one(r, why);
	} while (!err && !dest_stopped(r->d));
	if (err && !dest_stopped(r->d) && !atomic_load(&r->d->finishing))
		role_link_failed(r->d->role, r->number, err, why);
	return NULL;
}

static int start(struct receiver *r)
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
		err = start(&r->list[k]);
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
