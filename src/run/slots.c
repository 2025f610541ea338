/*
 * The requests a QThread may have outstanding, with their buffers in one mapping of its own. Called by
 * QThreads when they start and end.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "xdd/run/internal.h"

#define HUGE_PAGE_BYTES (2ull << 20)

/* The queue depth dealt out to the QThreads, the first ones getting one more where it does not divide. */
unsigned slots_share(const struct target_plan *plan, uint32_t qthread)
{
	return (unsigned)(plan->queue_depth / plan->qthreads +
			  (qthread < plan->queue_depth % plan->qthreads));
}

/* Buffers begin on a page, large ones on a huge page: neighbours then share neither. */
static uint64_t buffer_stride(uint64_t req_bytes)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	uint64_t align = req_bytes >= HUGE_PAGE_BYTES ? HUGE_PAGE_BYTES : page;

	return (req_bytes + align - 1) / align * align;
}

int slots_init(struct slots *s, struct io_buffer *memory, const struct target_plan *plan,
	       unsigned depth)
{
	bool wanted = plan->kind != TARGET_NULL && plan->op != OP_NOOP;
	uint64_t stride = buffer_stride(plan->req_bytes);
	int err = wanted ? io_buffer_alloc(memory, stride * depth) : 0;

	s->depth = depth;
	if (err)
		return err;
	s->requests = calloc(depth, sizeof(*s->requests));
	s->done = calloc(depth, sizeof(struct io_request *));
	s->buffers = calloc(depth, sizeof(*s->buffers));
	s->free = calloc(depth, sizeof(*s->free));
	if (!s->requests || !s->done || !s->buffers || !s->free)
		return -ENOMEM;
	for (unsigned i = 0; i < depth; i++) {
		s->buffers[i].iov_base = wanted ? (char *)memory->data + i * stride : NULL;
		s->buffers[i].iov_len = wanted ? plan->req_bytes : 0;
		s->requests[i].slot = i;
		s->requests[i].buf = s->buffers[i].iov_base;
		s->free[i] = i;
	}
	s->n_free = depth;
	return 0;
}

void slots_free(struct slots *s, struct io_buffer *memory)
{
	free(s->requests);
	free(s->done);
	free(s->buffers);
	free(s->free);
	memset(s, 0, sizeof(*s));
	io_buffer_free(memory);
}
