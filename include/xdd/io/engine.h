/*
 * Engines: how an operation reaches the kernel.
 *
 * An engine is one const descriptor in the registry (engine_find(), engine_at()). It holds no state
 * of its own: each QThread has a context, made by init and given up by fini. Engines take no locks,
 * print nothing, and know nothing of targets or passes; errors are -errno in the request.
 *
 * A synchronous engine completes a request inside submit. An asynchronous one queues it, and reap
 * hands it back later.
 */
#ifndef XDD_IO_ENGINE_H
#define XDD_IO_ENGINE_H

#include <stddef.h>
#include <stdint.h>

#include "xdd/base/counters.h"

/* One operation on its way. The caller owns it and its buffer until it is completed. */
struct io_request {
	/* set by the caller */
	enum op_dir dir;
	int fd;
	void *buf;
	uint64_t offset; /* bytes */
	uint64_t size;	 /* bytes */

	/* set by the engine when the request completes */
	uint64_t done; /* bytes the kernel said it moved */
	int error;     /* 0; -errno; or -ENODATA when a read met the end of the target */
};

enum engine_caps {
	ENGINE_SYNC = 1 << 0,	 /* submit completes the request */
	ENGINE_NO_FILE = 1 << 1, /* does not touch the file descriptor */
};

struct engine_params {
	unsigned depth; /* requests outstanding at a time in this context */
};

struct engine {
	const char *name;
	const char *help; /* one line */
	unsigned caps;	  /* enum engine_caps */

	/* Make a context. Returns 0 or -errno. NULL when the engine needs none. */
	int (*init)(void **ctx, const struct engine_params *params);

	/*
	 * Start one request. Synchronous engines complete it and return 0. Asynchronous ones return 0
	 * once it is queued, or -EAGAIN when the context is full.
	 */
	int (*submit)(void *ctx, struct io_request *req);

	/*
	 * Asynchronous engines: collect between `min` and `max` completed requests into `done`;
	 * returns how many, or -errno. NULL for synchronous ones.
	 */
	int (*reap)(void *ctx, struct io_request **done, unsigned min, unsigned max);

	/* Give the context up; accepts NULL. NULL when the engine needs none. */
	void (*fini)(void *ctx);
};

/* The engines there are; for the registry. Everyone else asks engine_find(). */
extern const struct engine engine_psync;
extern const struct engine engine_null;

/* Entry `i` of the registry, or NULL past its end. */
const struct engine *engine_at(size_t i);

/* The engine of that name, or NULL. */
const struct engine *engine_find(const char *name);

#endif
