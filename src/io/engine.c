/*
 * Engines of a plan as a whole, and what engines share. Called where a plan is checked, where
 * QThreads start, and by the engines.
 */
#include "xdd/io/engine.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "xdd/sys/clock.h"

#define CACHE_LINE_BYTES 64

/* Requests that go to the kernel together, at least; doc/performance.md has the figures. */
#define BATCH_SHARE 16 /* one of so many that may be outstanding */
#define BATCH_MAX 8

_Static_assert(offsetof(struct engine, info) == 0, "engine_from() depends on it");

int engine_check(const struct target_plan *target, const char **why)
{
	const struct engine *engine = engine_of(target);
	int err = 0;

	*why = NULL;
	/* An engine for all targets is not meant for the null device. */
	if (target->kind == TARGET_NULL)
		return 0;
	if (engine->available)
		err = engine->available(why);
	if (!err && engine->check)
		err = engine->check(target, why);
	return err;
}

static bool is_used(const struct plan *plan, const struct engine *engine)
{
	for (size_t i = 0; i < plan->n_targets; i++)
		if (engine_of(&plan->targets[i]) == engine)
			return true;
	return false;
}

int engine_check_all(const struct plan *plan, const struct engine **engine, char *why, size_t size)
{
	for (size_t i = 0; engine_registry[i]; i++) {
		int err;

		*engine = engine_from(engine_registry[i]);
		err = (*engine)->check_all && is_used(plan, *engine) ?
			      (*engine)->check_all(plan, why, size) :
			      0;

		if (err)
			return err;
	}
	return 0;
}

int engine_flush(const struct engine *engine, int fd)
{
	int err;

	if (fd < 0)
		return 0;
	if (engine->flush)
		return engine->flush(fd);
	do
		err = fdatasync(fd) ? -errno : 0;
	while (err == -EINTR);
	return err == -EINVAL || err == -EROFS ? 0 : err;
}

void engine_print_list(void)
{
	for (size_t i = 0; engine_registry[i]; i++) {
		const struct engine_info *info = engine_registry[i];
		const struct engine *engine = engine_from(info);
		const char *why = NULL;
		int err = engine->available ? engine->available(&why) : 0;

		printf("%-9s %-4s %s\n", info->name, err ? "no" : "yes", info->row.help);
		if (err)
			printf("%-14s %s\n", "", why ? why : strerror(-err));
	}
}

bool io_request_partial(struct io_request *req, int64_t result)
{
	if (result >= 0) {
		/* That of a discard is 0, and no number of bytes. */
		req->done = req->dir == DIR_DISCARD ? req->size : req->done + (uint64_t)result;
		if (req->done >= req->size)
			return true;
		if (result)
			return false;
		req->error = req->dir == DIR_READ ? -ENODATA : -ENOSPC;
		return true;
	}
	if (result == -EINTR)
		return false;
	/*
	 * A direct read that meets the end of a file inside a sector is short, and what is left of
	 * it is not aligned: EINVAL says no more than that.
	 */
	if (result == -EINVAL && req->dir == DIR_READ && req->done)
		req->error = -ENODATA;
	else
		req->error = (int)result;
	return true;
}

void engine_tail_init(struct engine_tail *tail, const struct engine_params *params)
{
	const struct target_plan *t = params->target;

	*tail = (struct engine_tail){
		.op_bytes = t->tail_bytes ? t->last_op_bytes : 0,
		.direct_bytes = t->last_op_bytes - t->tail_bytes,
	};
}

void *engine_alloc(size_t size)
{
	size_t lines = (size + CACHE_LINE_BYTES - 1) / CACHE_LINE_BYTES;
	void *memory = aligned_alloc(CACHE_LINE_BYTES, lines * CACHE_LINE_BYTES);

	return memory ? memset(memory, 0, lines * CACHE_LINE_BYTES) : NULL;
}

uint64_t engine_time_left(uint64_t timeout_ns, uint64_t *end_ns)
{
	uint64_t now;

	if (timeout_ns == UINT64_MAX)
		return UINT64_MAX;
	now = clock_now_ns();
	if (*end_ns == UINT64_MAX && timeout_ns < UINT64_MAX - now)
		*end_ns = now + timeout_ns;
	if (*end_ns == UINT64_MAX)
		return UINT64_MAX;
	return now < *end_ns ? *end_ns - now : 0;
}

bool engine_in_turn(const struct engine_params *params)
{
	return params->target->ordering == ORDERING_STRICT && params->target->qthreads > 1;
}

int engine_check_batch(const struct target_plan *target, uint64_t batch, const char **why)
{
	if (batch <= 1 || target->ordering != ORDERING_STRICT || target->qthreads == 1)
		return 0;
	return engine_fail(-EINVAL, why,
			   "batch: with -ordering strict and several -threads each operation is "
			   "submitted by itself; leave batch out, or -threads");
}

void engine_batch_init(struct engine_batch *b, const struct engine_params *params, uint64_t keyword)
{
	unsigned share = params->depth / BATCH_SHARE;

	b->least = share < 1 ? 1 : share > BATCH_MAX ? BATCH_MAX : share;
	b->most = params->depth;
	if (engine_in_turn(params))
		b->least = b->most = 1;
	else if (keyword)
		b->least = b->most = (unsigned)keyword;
	b->size = b->least;
}

void engine_batch_describe(const struct engine_batch *b, char *buf, size_t size)
{
	snprintf(buf, size, "submits %u at a time%s", b->least,
		 b->least < b->most ? ", more to a synchronous device" : "");
}
