/*
 * The requests that a QThread may have outstanding, with their buffers in one mapping of its own.
 * Called by QThreads when they start and end.
 */
#include "run/issue/request_ring.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "run/qthread.h"
#include "run/run_state.h"
#include "run/target.h"
#include "xdd/io/buffer.h"
#include "xdd/plan/plan.h"

static int allocate(struct request_ring *s, unsigned depth)
{
	s->requests = calloc(depth, sizeof(*s->requests));
	s->done = calloc(depth, sizeof(struct io_request *));
	s->buffers = calloc(depth, sizeof(*s->buffers));
	s->free = calloc(depth, sizeof(*s->free));
	return s->requests && s->done && s->buffers && s->free ? 0 : -ENOMEM;
}

int request_ring_init(struct qthread *q, const char **why)
{
	const struct target_plan *plan = q->target->plan;
	const struct memory_plan *memory = &plan->memory;
	struct request_ring *s = &q->ring;
	bool lock = !q->target->run->plan->no_memory_lock;
	unsigned depth = plan_depth_of(plan, q->number);
	int err = 0;

	s->depth = depth;
	if (memory->stride_bytes)
		err = io_buffer_alloc(&q->buffer, plan_region_bytes(memory, depth), memory, lock,
				      why);
	if (!err)
		err = allocate(s, depth);
	if (err)
		return err;
	for (unsigned i = 0; i < depth; i++) {
		if (memory->stride_bytes) {
			s->buffers[i].iov_base = (char *)q->buffer.data + memory->shift_bytes +
						 i * memory->stride_bytes;
			s->buffers[i].iov_len = plan->req_bytes;
		}
		s->requests[i].slot = i;
		s->requests[i].buf = s->buffers[i].iov_base;
		s->free[i] = i;
	}
	s->n_free = depth;
	return 0;
}

void request_ring_free(struct qthread *q)
{
	struct request_ring *s = &q->ring;

	free(s->requests);
	free(s->done);
	free(s->buffers);
	free(s->free);
	memset(s, 0, sizeof(*s));
	io_buffer_free(&q->buffer);
}

void request_ring_put_ready(struct request_ring *ring, const struct io_request *req)
{
	unsigned at = ring->n_free;

	request_ring_put(ring, req);
	for (; at > 0; at--) {
		unsigned *mine = &ring->free[(ring->head + at) % ring->depth];
		unsigned *before = &ring->free[(ring->head + at - 1) % ring->depth];

		if (ring->requests[*before].ready_ns <= req->ready_ns)
			return;
		*mine = *before;
		*before = req->slot;
	}
}
