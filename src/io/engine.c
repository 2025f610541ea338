/*
 * The registry of engines, which keyword is for which of them, and what they share. Called where a plan
 * is checked, where QThreads start, and by the engines.
 */
#include "xdd/io/engine.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "xdd/sys/clock.h"

#define CACHE_LINE_BYTES 64

/* Requests that go to the kernel together unless batch says otherwise; doc/performance.md has the figures. */
#define GROUP_SHARE 16 /* one of so many that may be outstanding */
#define GROUP_MAX 8

/* A new engine is declared in the header and gets a line here. */
static const struct engine *const engines[] = {
	&engine_psync, &engine_libaio, &engine_io_uring, &engine_sg, &engine_mmap, &engine_null,
};

/* A keyword, by its field of struct engine_options, and the engines that take it. */
struct keyword {
	size_t offset;
	size_t size;
	const struct engine *engines[2];
	const char *why;
};

#define FIELD(name) \
	offsetof(struct engine_options, name), sizeof(((struct engine_options *)0)->name)

static const struct keyword keywords[] = {
	{ FIELD(batch),
	  { &engine_libaio, &engine_io_uring },
	  "batch is a keyword of the engines libaio and io_uring" },
	{ FIELD(fixed_bufs), { &engine_io_uring }, "fixedbufs is a keyword of the engine io_uring" },
	{ FIELD(fixed_files),
	  { &engine_io_uring },
	  "fixedfiles is a keyword of the engine io_uring" },
	{ FIELD(sqpoll), { &engine_io_uring }, "sqpoll is a keyword of the engine io_uring" },
	{ FIELD(iopoll), { &engine_io_uring }, "iopoll is a keyword of the engine io_uring" },
	{ FIELD(touch), { &engine_mmap }, "touch is a keyword of the engine mmap" },
	{ FIELD(fua), { &engine_sg }, "fua is a keyword of the engine sg" },
	{ FIELD(dpo), { &engine_sg }, "dpo is a keyword of the engine sg" },
};

const struct engine *engine_at(size_t i)
{
	return i < sizeof(engines) / sizeof(engines[0]) ? engines[i] : NULL;
}

const struct engine *engine_find(const char *name)
{
	const struct engine *engine;

	for (size_t i = 0; (engine = engine_at(i)); i++)
		if (!strcmp(engine->name, name))
			return engine;
	return NULL;
}

const struct engine *engine_of(const struct target_plan *target)
{
	if (target->kind == TARGET_NULL)
		return &engine_null;
	return target->engine ? engine_find(target->engine) : &engine_psync;
}

static bool is_given(const struct keyword *k, const struct engine_options *o)
{
	static const struct engine_options none;

	return memcmp((const char *)o + k->offset, (const char *)&none + k->offset, k->size) != 0;
}

static int check_keywords(const struct engine *engine, const struct engine_options *o,
			  const char **why)
{
	for (size_t i = 0; i < sizeof(keywords) / sizeof(keywords[0]); i++) {
		const struct keyword *k = &keywords[i];

		if (is_given(k, o) && engine != k->engines[0] && engine != k->engines[1]) {
			*why = k->why;
			return -EINVAL;
		}
	}
	return 0;
}

int engine_check(const struct target_plan *target, const char **why)
{
	const struct engine *engine = engine_of(target);
	int err = 0;

	*why = NULL;
	/* An engine for all targets is not meant for the null device, and neither are its keywords. */
	if (target->kind == TARGET_NULL)
		return 0;
	if (!engine) {
		*why = "there is no such engine";
		return -EINVAL;
	}
	err = check_keywords(engine, &target->engine_options, why);
	if (!err && engine->available)
		err = engine->available(why);
	if (!err && engine->check)
		err = engine->check(target, why);
	if (!err && target->ordering == ORDERING_STRICT && target->queue_depth > 1 &&
	    !(engine->caps & ENGINE_QUEUES)) {
		*why = "-ordering strict with more than one operation outstanding needs an engine that "
		       "queues: libaio or io_uring";
		err = -EINVAL;
	}
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
	for (size_t i = 0; (*engine = engine_at(i)); i++) {
		int err = (*engine)->check_all && is_used(plan, *engine) ?
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
	const struct engine *engine;

	for (size_t i = 0; (engine = engine_at(i)); i++) {
		const char *why = NULL;
		int err = engine->available ? engine->available(&why) : 0;

		printf("%-9s %-4s %s\n", engine->name, err ? "no" : "yes", engine->help);
		if (err)
			printf("%-14s %s\n", "", why ? why : strerror(-err));
	}
}

bool io_request_partial(struct io_request *req, int64_t result)
{
	if (result >= 0) {
		req->done += (uint64_t)result;
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
	 * A direct read that meets the end of a file inside a sector is short, and what is left of it
	 * is not aligned: EINVAL says no more than that.
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

unsigned engine_group(const struct engine_params *params)
{
	unsigned share = params->depth / GROUP_SHARE;

	if (engine_in_turn(params))
		return 1;
	if (params->options->batch)
		return (unsigned)params->options->batch;
	return share < 1 ? 1 : share > GROUP_MAX ? GROUP_MAX : share;
}
