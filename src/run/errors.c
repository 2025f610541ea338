/*
 * Operations that fail: one line each up to -maxerrorstoprint, one for each target that is at the end of its file
 * or has no space left, and what -maxerrors and -stoponerror make of them. Called by QThreads, outside the timed window.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "run/internal.h"
#include "xdd/base/log.h"

/* What went wrong, in the engine's own words where it has any. */
static const char *reason(const struct qthread *q, const struct io_request *req, char *buf,
			  size_t size)
{
	const struct engine *engine = q->target->engine;

	*buf = '\0';
	if (engine->explain)
		engine->explain(q->ctx, req, buf, size);
	if (*buf)
		return buf;
	return req->error == -ENODATA ? "END-OF-FILE" : strerror(-req->error);
}

static void print_error(const struct qthread *q, const struct io_request *req)
{
	const struct target *t = q->target;
	char buf[160], tried[48] = "";

	if (req->tries)
		snprintf(tried, sizeof(tried), ", tried %u times", req->tries + 1);
	log_error("I/O ERROR on Target %u Worker Thread %u: %s of %" PRIu64
		  " bytes at offset %" PRIu64 " of %s, operation %" PRIu64 " of pass %" PRIu64
		  ": %s after %" PRIu64 " bytes%s",
		  t->plan->number, q->number, op_dir_name(req->dir), req->size, req->offset,
		  target_file_path(&t->file, t->plan), req->op, t->pass,
		  reason(q, req, buf, sizeof(buf)), req->done, tried);
}

void errors_count(struct target *t, int detail)
{
	const struct plan *plan = t->run->plan;
	uint64_t in_pass = atomic_fetch_add(&t->errors, 1) + 1;

	if (plan->stop_on_error)
		run_stop(t->run, STOP_ERROR, detail);
	if (plan->max_errors && in_pass >= plan->max_errors &&
	    !atomic_exchange(&t->pass_over, true)) {
		log_error("target %u, %s: pass %" PRIu64 " ends: %" PRIu64 " %s (-maxerrors)",
			  t->plan->number, t->plan->path, t->pass, in_pass,
			  t->plan->verify == VERIFY_NONE ? "operations have failed" :
							   "errors and miscompares");
		gate_wake(t);
	}
}

/* The count that an error belongs to which others of the target will follow; NULL for one that says nothing of them. */
static _Atomic uint64_t *ran_out(struct target *t, int error)
{
	switch (error) {
	case -ENODATA:
		return &t->ran_out[RUN_OUT_OF_FILE];
	case -ENOSPC:
		return &t->ran_out[RUN_OUT_OF_SPACE];
	default:
		return NULL;
	}
}

void io_error(struct qthread *q, const struct io_request *req)
{
	struct target *t = q->target;
	struct run *run = t->run;
	_Atomic uint64_t *count = ran_out(t, req->error);
	bool first = !count || atomic_fetch_add(count, 1) == 0;

	atomic_fetch_add(&run->errors, 1);
	if (first && atomic_fetch_add(&run->errors_told, 1) < run->plan->max_errors_to_print)
		print_error(q, req);
	errors_count(t, -req->error);
}

/* Returns how many operations this is about. */
static uint64_t summarize(const struct target *t, enum run_out kind, const char *why)
{
	uint64_t more = atomic_load(&t->ran_out[kind]);

	more -= more > 0;
	if (more)
		log_error("target %u, %s: %" PRIu64 " more operations failed: %s", t->plan->number,
			  t->plan->path, more, why);
	return more;
}

void io_error_summary(const struct run *run)
{
	uint64_t own = atomic_load(&run->errors);

	for (size_t i = 0; i < run->plan->n_targets; i++) {
		own -= summarize(&run->targets[i], RUN_OUT_OF_FILE, "END-OF-FILE");
		own -= summarize(&run->targets[i], RUN_OUT_OF_SPACE, strerror(ENOSPC));
	}
	if (own > run->plan->max_errors_to_print)
		log_error("%" PRIu64 " operations failed in all, of which %" PRIu64
			  " are shown (-maxerrorstoprint)",
			  atomic_load(&run->errors), run->plan->max_errors_to_print);
}
