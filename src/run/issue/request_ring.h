/*
 * The requests that a QThread may have outstanding, with their buffers. Private to src/run.
 *
 * The ring belongs to its QThread: no other thread touches it.
 */
#ifndef XDD_RUN_ISSUE_REQUEST_RING_H
#define XDD_RUN_ISSUE_REQUEST_RING_H

#include <sys/uio.h>

#include "xdd/io/engine.h"

struct qthread;

/* One request, or the share of the queue depth that the QThread has. */
struct request_ring {
	unsigned depth;
	struct io_request *requests; /* one per slot */
	struct io_request **done;    /* room for all of them */
	struct iovec *buffers;	     /* one per slot */

	/* ring of the free slots, oldest first */
	unsigned *free;
	unsigned head;
	unsigned n_free;
};

/*
 * Allocate q->ring and q->buffer. Returns 0 or -errno, then perhaps with a static text in `*why`.
 * Free with request_ring_free() in both cases. QThread.
 */
int request_ring_init(struct qthread *q, const char **why);
void request_ring_free(struct qthread *q);

/* The request of the oldest free slot; valid if there is one. */
static inline struct io_request *request_ring_first(const struct request_ring *ring)
{
	return &ring->requests[ring->free[ring->head]];
}

/* Remove that request, which exists, from the free slots. */
static inline struct io_request *request_ring_take(struct request_ring *ring)
{
	struct io_request *req = request_ring_first(ring);

	ring->head = ring->head + 1 == ring->depth ? 0 : ring->head + 1;
	ring->n_free--;
	return req;
}

/* `req` is complete: its slot is the youngest free one. */
static inline void request_ring_put(struct request_ring *ring, const struct io_request *req)
{
	unsigned tail = ring->head + ring->n_free++;

	ring->free[tail < ring->depth ? tail : tail - ring->depth] = req->slot;
}

/* As request_ring_put(), before the free slots that are ready later. */
void request_ring_put_ready(struct request_ring *ring, const struct io_request *req);

#endif
