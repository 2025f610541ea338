/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The part of an engine that the plan uses: its name, its keywords and its capabilities. The
 * operations are in struct engine (xdd/io/engine.h), which begins with this.
 *
 * The registry is const and may be read by any thread. It is defined above io and net, in
 * src/run/engine_registry.c.
 */
#ifndef XDD_PLAN_ENGINE_INFO_H
#define XDD_PLAN_ENGINE_INFO_H

#include <stdbool.h>
#include <stddef.h>

#include "xdd/base/err.h"
#include "xdd/plan/option.h"
#include "xdd/plan/plan.h"

enum engine_caps {
	ENGINE_QUEUES = 1 << 0, /* submit may return before the request is complete; reap waits */
	ENGINE_DIRECT =
		1 << 1, /* queues direct I/O only: buffered requests block or move to threads */
	ENGINE_REORDERS =
		1 << 2,	      /* kernel threads carry out requests that would block, in any order */
	ENGINE_MAPS = 1 << 3, /* the program copies: the file cannot grow, copies are not atomic */
	ENGINE_SCSI = 1 << 4, /* sends SCSI commands: a character device may be a disk */
	ENGINE_NO_DATA = 1 << 5, /* transfers nothing: nothing to verify; drives the null device */
	ENGINE_NO_PATTERN = 1 << 6, /* uses no buffers: nothing to fill */
	ENGINE_OWN_FILE = 1 << 7,   /* is faster where each context has an open file of its own */
	ENGINE_OPENS = 1 << 8,	    /* a context has a file descriptor besides the target's */
	ENGINE_BUFFERS = 1 << 9,    /* a context reads ahead, and writes after completion: drain */
	ENGINE_DISCARDS = 1 << 10,  /* carries out discards of files and block devices */
};

struct engine_info {
	const char *name;
	unsigned caps; /* enum engine_caps */

	/* The name and one line of help, as a suboption of -ioengine. See ENGINE_NAMED(). */
	struct option row;

	/*
	 * Keywords that follow the name: rows whose `off` is into the engine's own struct of
	 * options, which has `options_size` bytes. Ends with a row without a name; NULL: there are
	 * none. Engines may share a name if the arguments are the same.
	 */
	const struct option *keywords;
	size_t options_size;

	/*
	 * Check that this kernel offers the engine at all. Returns 0 or -errno with a message in
	 * `why`. NULL: it always does.
	 */
	int (*available)(struct err *why);

	/* The capabilities with these options. NULL: `caps`. */
	unsigned (*caps_with)(const void *options);
};

#define ENGINE_NAMED(name_, help_) \
	.name = name_, .row = { .name = name_, .type = OPT_CUSTOM, .help = help_ }

/* Ends with NULL. The first engine is the default. */
extern const struct engine_info *const engine_registry[];

/* The engine of that name, or NULL. */
const struct engine_info *engine_named(const char *name);

/*
 * The engine that drives `target`: that without data for the null device, else the one that
 * -ioengine named, else the default.
 */
const struct engine_info *plan_engine(const struct target_plan *target);

/* The capabilities of that engine with the target's keywords: enum engine_caps. */
unsigned plan_engine_caps(const struct target_plan *target);

static inline bool plan_queues(const struct target_plan *target)
{
	return plan_engine_caps(target) & ENGINE_QUEUES;
}

/*
 * 0 if this build and this kernel have the engine; otherwise -errno, perhaps with a message in
 * `why`.
 */
int engine_available(const struct engine_info *engine, struct err *why);

/*
 * An engine that keeps many requests in flight with one QThread, and is available: io_uring before
 * libaio. NULL: there is none; `why` says why the first one is not.
 */
const struct engine_info *engine_queueing(struct err *why);

/*
 * The names of the engines that have all of `with` and none of `without` as "a, b or c", in `buf`;
 * returns `buf`.
 */
char *engine_names(unsigned with, unsigned without, char *buf, size_t size);

#endif
