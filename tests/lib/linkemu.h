/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * linkemu: the settings and counters of a direction, and the frames in transit.
 */
#ifndef LINKEMU_H
#define LINKEMU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FRAME_MAX 65600u
/* In transit in one direction; frames beyond this are dropped. */
#define TRANSIT_MAX_FRAMES (1u << 17)
#define TRANSIT_MAX_BYTES (256u << 20)

struct chance {
	double percent;
	uint64_t every; /* 0: by percent */
};

struct settings {
	double delay_ms, jitter_ms, rate_mbit, queue_ms, late_ms, fix, seed;
	struct chance loss, reorder, duplicate, corrupt;
	uint64_t cut_until_ns;
};

enum counter {
	RECEIVED,
	RECEIVED_BYTES,
	SENT,
	SENT_BYTES,
	LOST,
	REORDERED,
	DUPLICATED,
	CORRUPTED,
	QUEUE_FULL,
	CUT,
	REFUSED, /* the other device is down, or this program has no memory */
	COUNTERS,
};

struct frame {
	uint64_t due_ns, number;
	size_t length;
	unsigned char data[];
};

/* A frame that was put in transit: it leaves the link at `due_ns`. */
struct fate {
	uint64_t arrived_ns, due_ns, length;
};

#define FATES 256u

struct direction {
	/* const */
	uint64_t salt; /* of the random numbers */
	int from, to;  /* descriptors of the devices */

	/* guarded by the lock of linkemu.c */
	struct settings set;
	uint64_t published[COUNTERS];
	struct fate published_fates[FATES];
	uint64_t n_published; /* the latest is at (n_published - 1) % FATES */

	/* of its thread */
	struct settings now; /* a copy for a batch */
	uint64_t counters[COUNTERS];
	struct fate fates[FATES];
	uint64_t n_fates;
	uint64_t n_frames, n_segments; /* segments: with data */
	uint64_t link_free_ns;	       /* the last frame has left the queue, with a rate */
	uint64_t last_due_ns;
	uint64_t numbered; /* orders frames that are due at the same time */
	size_t n_heap, heap_bytes;
	struct frame *heap[TRANSIT_MAX_FRAMES]; /* the earliest first */
};

uint64_t now_ns(void);

/* A frame of the device arrives: decide its fate. The thread of the direction, as all below. */
void arrive(struct direction *d, struct frame *f, uint64_t now);

/* Send what is due. */
void send_due(struct direction *d, uint64_t now);

/* Free what is in transit. */
void drop_all(struct direction *d);

#endif
