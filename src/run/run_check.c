/*
 * Checks of a plan against the machine, before anything is opened. Called by main, and by run.c for
 * refusals.
 */
#include "run/run_check.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "run/endtoend/endtoend.h"
#include "run/short_file.h"
#include "run/target/private_fd.h"
#include "xdd/base/file.h"
#include "xdd/base/log.h"
#include "xdd/io/engine.h"
#include "xdd/io/guard.h"
#include "xdd/io/tag.h"
#include "xdd/io/target_file.h"
#include "xdd/plan/plan.h"
#include "xdd/run/run.h"
#include "xdd/sync/thread.h"

/* Threads of any run beside its QThreads and the main thread: signals and results manager. */
#define OWN_THREADS 2

/* Files of any run that stay open: standard input, output and error. */
#define OWN_FILES 3

static enum xdd_status check_engine(const struct target_plan *t)
{
	const char *why = NULL;
	int err = engine_check(t, &why);

	if (!err)
		return XDD_OK;
	log_error("target %u, %s: -ioengine %s: %s", t->number, t->path, engine_of(t)->info.name,
		  why ? why : strerror(-err));
	return XDD_BAD_ARGUMENT;
}

/* Check limits that targets share: each target may be within them and all together not. */
static enum xdd_status check_engines(const struct plan *plan)
{
	const struct engine *engine;
	char why[256] = "";
	int err = engine_check_all(plan, &engine, why, sizeof(why));

	if (!err)
		return XDD_OK;
	log_error("-ioengine %s: %s", engine->info.name, why);
	return XDD_BAD_ARGUMENT;
}

enum xdd_status run_refuse(const struct guard_refusal *r)
{
	log_error("target %u, %s: %s", r->target->number, r->target->path, r->why);
	return XDD_TARGET_FAILED;
}

/* Refuse a run that needs more threads than the machine allows, before thousands are started. */
static enum xdd_status check_threads(const struct plan *plan, uint64_t *most)
{
	uint64_t threads = OWN_THREADS + endtoend_threads(plan);
	char why[THREAD_TEXT_SIZE];

	for (size_t i = 0; i < plan->n_targets; i++)
		threads += plan->targets[i].qthreads;
	/* The limits are those of the host, which all of its ranks share. */
	threads *= plan->ranks_per_node < plan->n_ranks ? plan->ranks_per_node : plan->n_ranks;
	if (threads <= *most || !thread_limit_exceeded(threads, why, sizeof(why))) {
		*most = threads > *most ? threads : *most;
		return XDD_OK;
	}
	log_error("-targets, -queuedepth: the run needs %" PRIu64
		  " threads: %s; use fewer targets, a smaller queue depth or -ioengine libaio",
		  threads, why);
	return XDD_BAD_ARGUMENT;
}

/* Refuse a run whose files cannot all be open, before hundreds of them are. */
static enum xdd_status check_files(const struct plan *plan)
{
	const uint64_t files = private_fd_files(plan) + OWN_FILES;
	uint64_t limit;

	if (fileopen_make_room(files, &limit))
		return XDD_OK;
	log_error("-targets: the run needs %" PRIu64 " open files, and the limit is %" PRIu64
		  " (ulimit -n); raise it, or use fewer targets",
		  files, limit);
	return XDD_BAD_ARGUMENT;
}

enum xdd_status run_check(const struct plan *plan)
{
	uint64_t threads = 0;

	return run_check_next(plan, &threads);
}

enum xdd_status run_check_next(const struct plan *plan, uint64_t *threads)
{
	struct guard_refusal refusal;

	for (size_t i = 0; i < plan->n_targets; i++) {
		const struct target_plan *t = &plan->targets[i];
		const char *why = NULL;
		int err = target_file_check(t, &why);

		if (err) {
			log_error("target %u, %s: %s", t->number, t->path,
				  why ? why : strerror(-err));
			return XDD_TARGET_FAILED;
		}
		if (check_engine(t))
			return XDD_BAD_ARGUMENT;
		if (t->pattern.kind == PATTERN_TAGGED && !tag_available(&why)) {
			log_error("target %u, %s: -datapattern tagged: %s", t->number, t->path,
				  why);
			return XDD_BAD_ARGUMENT;
		}
	}
	if (check_engines(plan) || check_threads(plan, threads) || check_files(plan) ||
	    endtoend_check(plan))
		return XDD_BAD_ARGUMENT;
	if (guard_check(plan, &refusal))
		return run_refuse(&refusal);
	return short_file_found(plan) ? XDD_BAD_ARGUMENT : plan_check_room(plan);
}
