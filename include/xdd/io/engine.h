/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Engines: how an operation reaches the kernel, and the memory of its buffers.
 */
#ifndef XDD_IO_ENGINE_H
#define XDD_IO_ENGINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include "xdd/base/err.h"
#include "xdd/plan/engine_info.h"
#include "xdd/plan/plan.h"
#include "xdd/plan/target_options.h"
#include "xdd/stat/counters.h"

/*
 * The memory that the I/O buffers of a QThread lie in: placed and locked as the plan says, and
 * touched before anything is timed. Large regions get transparent huge pages where the kernel has
 * some.
 */

struct io_buffer {
	void *data;	 /* a multiple of memory_plan.align_bytes */
	size_t map_size; /* bytes, whole pages */
};

/*
 * Map zeroed memory of at least `size` bytes, and touch every page. With `lock`, lock it in memory
 * where the limit allows it, silently not otherwise. Returns 0 or -errno, then perhaps with a text
 * in `why`. Called by the thread that uses it: the pages come from the node it is on.
 */
int io_buffer_alloc(struct io_buffer *b, size_t size, const struct memory_plan *plan, bool lock,
		    struct err *why);

/* Safe on a buffer that was never allocated (all zero). */
void io_buffer_free(struct io_buffer *b);

/*
 * Engines: how an operation reaches the kernel.
 *
 * An engine is one const descriptor in the registry (engine_registry[]). It holds no
 * state of its own: each QThread has a context, made by init and released by fini. Engines take no
 * locks, print nothing, and know nothing of passes; errors are -errno in the request.
 *
 * A synchronous engine completes a request inside submit. An asynchronous one queues it, and reap
 * hands it back later. CONTRIBUTING shows how to add one.
 */

/* One operation on its way. The caller owns it and its buffer until it is completed. */
struct io_request {
	/* set by the caller */
	enum op_dir dir;
	unsigned slot;	 /* of the context's depth, the same for the life of the request */
	void *buf;	 /* the buffer of that slot */
	uint64_t offset; /* bytes */
	uint64_t size;	 /* bytes */

	/* set by the engine when the request completes */
	uint64_t done; /* bytes the kernel said it moved */
	int error;     /* 0; -errno; or -ENODATA when a read met the end of the target */

	/* the caller's own, not looked at by engines */
	uint64_t op;
	uint64_t due_ns; /* when it was to be issued, where something paces it; else 0 */
	uint64_t issue_ns;
	uint64_t ready_ns;
	uint32_t tries; /* further ones, after the first has failed */
	uint16_t issue_cpu;
	bool warm; /* it belongs to the warm-up of its pass */
};

/* A text of describe with every feature and every fallback, with its end. */
#define ENGINE_TEXT_BYTES 256

/* The parameters of a context. All of them outlive the context. */
struct engine_params {
	const struct target_plan *target; /* its engine_options belong to this engine */
	int fd;
	int buffered_fd; /* the same file without O_DIRECT; used when target->tail_bytes is not 0 */
	unsigned depth;	 /* requests outstanding at a time in this context */
	const struct iovec *buffers; /* one for each slot; NULL when operations need none */
	struct err *why;	     /* NULL, or where init may leave a text when it fails */
};

struct engine {
	struct engine_info info; /* first, so that the registry leads here */

	/*
	 * Check that it can drive this target as planned: kind of target, depth, keywords, limits.
	 * Opens nothing for writing, changes nothing. Returns 0 or -errno, then perhaps with a text
	 * in `why`. NULL: it always can.
	 */
	int (*check)(const struct target_plan *target, struct err *why);

	/*
	 * Check that it can drive all of its targets at once: limits that they share. Called when
	 * `check` has nothing against any of them. Returns 0 or -errno with a message in
	 * `why`. NULL: it always can.
	 */
	int (*check_all)(const struct plan *plan, struct err *why);

	/*
	 * Make a context, in the QThread that will use it. Returns 0 or -errno, then perhaps with a
	 * text in `params->why`. NULL: needs none.
	 */
	int (*init)(void **ctx, const struct engine_params *params);

	/*
	 * Start one request. Synchronous engines complete it and return 0. Asynchronous ones return
	 * 0 once it is queued: in the kernel, or in the context until there are as many as go
	 * together (struct engine_batch; one with `batch 1`). Call reap before what takes time.
	 * A request that the kernel refuses at once counts as completed with an error, and reap
	 * returns it like any other. Returns -errno only when the context is broken.
	 */
	int (*submit)(void *ctx, struct io_request *req);

	/*
	 * Asynchronous engines: submit the requests that are still in the context, then collect
	 * completed requests into `done`: at least `min`, unless fewer are outstanding, or
	 * `timeout_ns` (UINT64_MAX: none) is over or a signal arrives before, and at most `max`.
	 * The rest of a short transfer is queued again by the engine: returned requests are
	 * complete. Returns how many, or -errno when the context is broken.
	 */
	int (*reap)(void *ctx, struct io_request **done, unsigned min, unsigned max,
		    uint64_t timeout_ns);

	/*
	 * Write one line about the features that the context obtained to `buf`, of up to
	 * ENGINE_TEXT_BYTES; for -verbose. NULL: there is nothing to say.
	 */
	void (*describe)(const void *ctx, char *buf, size_t size);

	/*
	 * Write the cause of the error of `req` to `buf`, "" when the errno says it all. Only for a
	 * request that has just completed with an error, in its QThread, before the context is used
	 * again. NULL: the errno always says it all.
	 */
	void (*explain)(const void *ctx, const struct io_request *req, char *buf, size_t size);

	/*
	 * Have what was written through `fd` reach the medium. Returns 0 or -errno. NULL:
	 * fdatasync(2) does it. Called through engine_flush().
	 */
	int (*flush)(int fd);

	/*
	 * Write what the context holds of complete requests, none of which is outstanding, and with
	 * `ends_pass` forget what it has read ahead. `*held_bytes`: how much it held. Returns 0 or
	 * -errno, and what it held may be lost then. NULL: it holds nothing.
	 */
	int (*drain)(void *ctx, bool ends_pass, uint64_t *held_bytes);

	/*
	 * Give the context up; accepts NULL. NULL when the engine needs none. With requests still
	 * outstanding, libaio waits for them; io_uring does not, and the kernel may yet write to
	 * their buffers.
	 */
	void (*fini)(void *ctx);
};

/* The cases of io_request_result() other than complete success. */
bool io_request_partial(struct io_request *req, int64_t result);

/*
 * Account for the kernel's result of one transfer for `req`: bytes moved, or -errno; of a discard,
 * 0 or -errno. Returns true
 * when the request is complete, false when it is to be submitted again for what is left of it. For
 * engines.
 */
static inline bool io_request_result(struct io_request *req, int64_t result)
{
	if (__builtin_expect(result > 0 && (uint64_t)result == req->size - req->done, 1)) {
		req->done = req->size;
		return true;
	}
	return io_request_partial(req, result);
}

/*
 * How engines move the last operation of a pass with -dio when its size is no multiple of a sector:
 * all but the tail through the descriptor of the target, then the tail through the other. To the
 * engine the first part is a short transfer, whose rest it submits again. For engines.
 */
struct engine_tail {
	uint64_t op_bytes;     /* the size of that request, which no other has; 0: there is none */
	uint64_t direct_bytes; /* before its tail */
};

void engine_tail_init(struct engine_tail *tail, const struct engine_params *params);

/* True if only the tail of `req` is left. */
static inline bool engine_in_tail(const struct engine_tail *tail, const struct io_request *req)
{
	return req->size == tail->op_bytes && req->done >= tail->direct_bytes;
}

/* The bytes that the next transfer is to move, of what is left of `req`. */
static inline uint64_t engine_bytes_left(const struct engine_tail *tail,
					 const struct io_request *req)
{
	bool cut = req->size == tail->op_bytes && req->done < tail->direct_bytes;

	return (__builtin_expect(cut, 0) ? tail->direct_bytes : req->size) - req->done;
}

/* Zeroed memory in cache lines of its own, or NULL; free() gives it back. For engines. */
void *engine_alloc(size_t size);

/*
 * Requests that were completed without the kernel and wait to be reaped: one a slot at most. For
 * engines.
 */
struct engine_ready {
	struct io_request **requests;
	unsigned n;
};

static inline void engine_ready_put(struct engine_ready *r, struct io_request *req)
{
	r->requests[r->n++] = req;
}

/* Move up to `max` of them to `done`; returns how many. */
static inline unsigned engine_ready_take(struct engine_ready *r, struct io_request **done,
					 unsigned max)
{
	unsigned n = 0;

	while (n < max && r->n)
		done[n++] = r->requests[--r->n];
	return n;
}

/*
 * Nanoseconds left of a wait of `timeout_ns` (UINT64_MAX: without end) that begins with the first
 * call; 0 when it is over. `*end_ns`, UINT64_MAX before that call, is this function's. For engines.
 */
uint64_t engine_time_left(uint64_t timeout_ns, uint64_t *end_ns);

/*
 * The number of requests that an asynchronous engine submits together. It follows the device. One
 * that works beside the thread gets small batches, and a request at once when it has none. One that
 * completes requests during their submission gains nothing from that, so its batches grow to all
 * requests that are free. For engines.
 */
struct engine_batch {
	unsigned least; /* const after engine_batch_init() */
	unsigned most;	/* const; equal to `least`: the size is fixed */
	unsigned size;

	/* extent of the last request, in bytes */
	uint64_t begin;
	uint64_t end;
};

/*
 * `keyword`: the size, unless it is 0. `least` is one in 16 of the requests that may be
 * outstanding, and 8 at most: each at once up to a depth of 31, 8 at 128. Always one where several
 * QThreads submit in strict order.
 */
void engine_batch_init(struct engine_batch *b, const struct engine_params *params,
		       uint64_t keyword);

/*
 * Submit what is unsent before `req`, the next request, joins it: the extents are adjacent, and the
 * kernel would merge requests of one batch into one for the device. The rate would not be the
 * one of requests of this size, and an error would concern all of them. A size that the user chose
 * is kept. Called once for each request.
 */
static inline bool engine_batch_ends(struct engine_batch *b, const struct io_request *req)
{
	const bool adjacent = req->offset == b->end || req->offset + req->size == b->begin;

	b->begin = req->offset;
	b->end = req->offset + req->size;
	return adjacent && b->least < b->most;
}

/* Submit now, with `unsent` requests in the context and `in_kernel` in the kernel. */
static inline bool engine_batch_is_due(const struct engine_batch *b, unsigned unsent,
				       unsigned in_kernel)
{
	return unsent >= b->size || (!in_kernel && b->size == b->least && b->size < b->most);
}

/*
 * Of `in_kernel` requests, which is not 0, the kernel returned `n` without a wait. After a wait a
 * device that works beside the thread may have completed all of them too, and larger batches would
 * keep it waiting.
 */
static inline void engine_batch_adapt(struct engine_batch *b, unsigned n, unsigned in_kernel)
{
	if (n < in_kernel)
		b->size = b->least;
	else if (n >= b->size)
		b->size = b->size < b->most / 2 ? 2 * b->size : b->most;
}

/* The size in words for -verbose, into `buf`. */
void engine_batch_describe(const struct engine_batch *b, char *buf, size_t size);

/*
 * True if a request must be with the kernel before submit returns: in strict order another QThread
 * submits its own over next, and would overtake what this one keeps. For engines that queue.
 */
bool engine_in_turn(const struct engine_params *params);

/* A keyword without an argument, stored in a bool of the engine's options. For engines. */
#define ENGINE_KEYWORD(name_, options_, field_, help_)                                          \
	{                                                                                       \
		.name = name_, .type = OPT_FLAG, .value = true, OPTION_FIELD(options_, field_), \
		.help = help_,                                                                  \
	}

/* The keyword batch, stored in `uint64_t batch` of the engine's options. For engines that queue. */
#define ENGINE_BATCH(options_)                                                                  \
	{                                                                                       \
		.name = "batch", .type = OPT_U64, .arg = "<#requests>", .min = 1, .max = 65536, \
		.unit = "requests", OPTION_FIELD(options_, batch),                              \
		.help = "how many requests to submit at a time",                                \
	}

/*
 * Refuse a batch that the strict order of several QThreads does not allow. For `check` of engines
 * that queue.
 */
int engine_check_batch(const struct target_plan *target, uint64_t batch, struct err *why);

/* Start over: nothing is done yet. For engines' callers, before submit. */
static inline void io_request_reset(struct io_request *req)
{
	req->done = 0;
	req->error = 0;
}

/* The engine whose part in the plan is `info`, which must be in a struct engine. */
static inline const struct engine *engine_from(const struct engine_info *info)
{
	return (const struct engine *)info;
}

/* The engine that drives `target`: plan_engine(). */
static inline const struct engine *engine_of(const struct target_plan *target)
{
	return engine_from(plan_engine(target));
}

/*
 * Check that this kernel has the engine of a target, and that the engine can drive it. Returns 0 or
 * -errno, with a message in `why` unless strerror() says it all, that completes
 * "-ioengine libaio: ...". Called before any target is opened.
 */
int engine_check(const struct target_plan *target, struct err *why);

/*
 * Check that each engine can drive all targets it has in the plan at once: the limits of the system
 * that they share. Returns 0 or -errno with the engine in `*engine` and a message in `why` that
 * completes "-ioengine libaio: ...". Called when engine_check() has nothing against any target.
 */
int engine_check_all(const struct plan *plan, const struct engine **engine, struct err *why);

/*
 * Flush what was written to `fd`, in the way of the engine. What has nothing to flush, as some
 * devices have, is no error; nor is -1. Returns 0 or -errno. Any thread.
 */
int engine_flush(const struct engine *engine, int fd);

/*
 * -ioengine list: print to standard output which engines there are, whether this build and this
 * kernel have them, and if not why.
 */
void engine_print_list(void);

#endif
