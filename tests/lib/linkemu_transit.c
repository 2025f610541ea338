/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * linkemu: the frames in transit in one direction, and their fate. linkemu.c has the description.
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "linkemu.h"

/* Draws of the random numbers of a frame. */
enum draw {
	DRAW_LOSS,
	DRAW_REORDER,
	DRAW_DUPLICATE,
	DRAW_CORRUPT,
	DRAW_JITTER,
	DRAW_BIT,
	DRAWS,
};

uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static uint64_t ms_to_ns(double ms)
{
	return ms > 0 ? (uint64_t)(ms * 1e6) : 0;
}

/* ---- chances ---- */

/* splitmix64, as a function of the number of the frame and the kind of draw; in [0, 1). */
static double uniform(const struct direction *d, enum draw kind)
{
	uint64_t x = (uint64_t)d->now.seed * 0x9e3779b97f4a7c15u +
		     (d->n_frames * DRAWS + kind) * 0xbf58476d1ce4e5b9u + d->salt;

	x ^= x >> 30;
	x *= 0xbf58476d1ce4e5b9u;
	x ^= x >> 27;
	x *= 0x94d049bb133111ebu;
	x ^= x >> 31;
	return (double)(x >> 11) / 9007199254740992.0;
}

/* `count`: the number of this frame among those that it could happen to, from 1. */
static bool happens(const struct direction *d, struct chance c, enum draw kind, uint64_t count)
{
	if (c.every)
		return count % c.every == 0;
	return c.percent > 0 && uniform(d, kind) * 100 < c.percent;
}

/* ---- the heap ---- */

static bool earlier(const struct frame *a, const struct frame *b)
{
	return a->due_ns < b->due_ns || (a->due_ns == b->due_ns && a->number < b->number);
}

static void heap_put(struct direction *d, struct frame *f)
{
	size_t i = d->n_heap++;

	d->heap_bytes += f->length;
	for (; i && earlier(f, d->heap[(i - 1) / 2]); i = (i - 1) / 2)
		d->heap[i] = d->heap[(i - 1) / 2];
	d->heap[i] = f;
}

static struct frame *heap_take(struct direction *d)
{
	struct frame *first = d->heap[0], *last = d->heap[--d->n_heap];
	size_t i = 0, child;

	d->heap_bytes -= first->length;
	while ((child = 2 * i + 1) < d->n_heap) {
		if (child + 1 < d->n_heap && earlier(d->heap[child + 1], d->heap[child]))
			child++;
		if (!earlier(d->heap[child], last))
			break;
		d->heap[i] = d->heap[child];
		i = child;
	}
	if (d->n_heap)
		d->heap[i] = last;
	return first;
}

/* ---- corruption ---- */

/* A TCP segment with data: sets the offset of the TCP header and of the data in the frame. */
static bool find_data(const unsigned char *p, size_t length, size_t *tcp, size_t *data, size_t *end)
{
	if (length >= 14 + 20 && p[12] == 0x08 && p[13] == 0x00 && p[14 + 9] == 6) {
		*tcp = 14 + (p[14] & 15u) * 4u;
		*end = 14 + ((size_t)p[16] << 8 | p[17]);
	} else if (length >= 14 + 40 && p[12] == 0x86 && p[13] == 0xdd && p[14 + 6] == 6) {
		*tcp = 14 + 40;
		*end = 14 + 40 + ((size_t)p[18] << 8 | p[19]);
	} else {
		return false;
	}
	if (*end > length || *tcp + 20 > *end)
		return false;
	*data = *tcp + (size_t)(p[*tcp + 12] >> 4) * 4;
	return *data < *end;
}

/* Correct the checksum after the 16 bits at `at` have changed from `before`: RFC 1624. */
static void fix_checksum(unsigned char *checksum, const unsigned char *at, unsigned before)
{
	unsigned sum = ~((unsigned)checksum[0] << 8 | checksum[1]) & 0xffffu;

	sum += (~before & 0xffffu) + ((unsigned)at[0] << 8 | at[1]);
	sum = (sum & 0xffffu) + (sum >> 16);
	sum = (sum & 0xffffu) + (sum >> 16);
	sum = ~sum & 0xffffu;
	checksum[0] = (unsigned char)(sum >> 8);
	checksum[1] = (unsigned char)sum;
}

static void maybe_corrupt(struct direction *d, struct frame *f)
{
	size_t tcp, data, end, bit, at, pair;
	unsigned before;

	if (!find_data(f->data, f->length, &tcp, &data, &end))
		return;
	d->n_segments++;
	if (!happens(d, d->now.corrupt, DRAW_CORRUPT, d->n_segments))
		return;
	bit = (size_t)(uniform(d, DRAW_BIT) * (double)((end - data) * 8));
	at = data + bit / 8;
	pair = tcp + ((at - tcp) & ~(size_t)1);
	/* An odd last byte counts with a zero after it. */
	before = (unsigned)f->data[pair] << 8 | (pair + 1 < end ? f->data[pair + 1] : 0);
	f->data[at] ^= (unsigned char)(1u << bit % 8);
	if (d->now.fix != 0) {
		unsigned char after[2] = { f->data[pair], pair + 1 < end ? f->data[pair + 1] : 0 };

		fix_checksum(&f->data[tcp + 16], after, before);
	}
	d->counters[CORRUPTED]++;
}

/* ---- the life of a frame ---- */

/* When the last byte of a frame has left the queue; 0: there is no room in it. */
static uint64_t leaves_queue(struct direction *d, uint64_t now, size_t length)
{
	if (d->now.rate_mbit <= 0)
		return now;
	if (d->link_free_ns < now)
		d->link_free_ns = now;
	else if (d->link_free_ns - now > ms_to_ns(d->now.queue_ms))
		return 0;
	d->link_free_ns += (uint64_t)((double)length * 8000 / d->now.rate_mbit);
	return d->link_free_ns;
}

static void put_in_transit(struct direction *d, const struct frame *model, uint64_t due_ns)
{
	size_t size = sizeof(*model) + model->length;
	struct frame *f = NULL;

	if (d->n_heap < TRANSIT_MAX_FRAMES && d->heap_bytes < TRANSIT_MAX_BYTES)
		f = malloc(size);
	if (!f) {
		d->counters[REFUSED]++;
		return;
	}
	memcpy(f, model, size);
	f->due_ns = due_ns;
	f->number = d->numbered++;
	heap_put(d, f);
}

void arrive(struct direction *d, struct frame *f, uint64_t now)
{
	double delay_ms = d->now.delay_ms;
	uint64_t leaves_ns, due_ns;

	d->n_frames++;
	d->counters[RECEIVED]++;
	d->counters[RECEIVED_BYTES] += f->length;
	if (now < d->now.cut_until_ns) {
		d->counters[CUT]++;
		return;
	}
	leaves_ns = leaves_queue(d, now, f->length);
	if (!leaves_ns) {
		d->counters[QUEUE_FULL]++;
		return;
	}
	if (happens(d, d->now.loss, DRAW_LOSS, d->n_frames)) {
		d->counters[LOST]++;
		return;
	}
	maybe_corrupt(d, f);
	delay_ms += d->now.jitter_ms * (2 * uniform(d, DRAW_JITTER) - 1);
	due_ns = leaves_ns + ms_to_ns(delay_ms);
	if (due_ns < d->last_due_ns)
		due_ns = d->last_due_ns;
	if (happens(d, d->now.reorder, DRAW_REORDER, d->n_frames)) {
		d->counters[REORDERED]++;
		due_ns += ms_to_ns(d->now.late_ms);
	} else {
		d->last_due_ns = due_ns;
	}
	d->fates[d->n_fates++ % FATES] =
		(struct fate){ .arrived_ns = now, .due_ns = due_ns, .length = f->length };
	put_in_transit(d, f, due_ns);
	if (happens(d, d->now.duplicate, DRAW_DUPLICATE, d->n_frames)) {
		d->counters[DUPLICATED]++;
		put_in_transit(d, f, due_ns);
	}
}

void send_due(struct direction *d, uint64_t now)
{
	while (d->n_heap && d->heap[0]->due_ns <= now) {
		struct frame *f = heap_take(d);

		if (now < d->now.cut_until_ns) {
			d->counters[CUT]++;
		} else if (write(d->to, f->data, f->length) == (ssize_t)f->length) {
			d->counters[SENT]++;
			d->counters[SENT_BYTES] += f->length;
		} else {
			d->counters[REFUSED]++;
		}
		free(f);
	}
}

void drop_all(struct direction *d)
{
	while (d->n_heap)
		free(heap_take(d));
}
