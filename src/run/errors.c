/*
 * Operations that fail: one line each up to -maxerrorstoprint, and what -maxerrors and -stoponerror
 * make of them. Called by QThreads, outside the timed window.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "xdd/base/log.h"
#include "xdd/run/internal.h"

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

void io_error(struct qthread *q, const struct io_request *req)
{
	struct target *t = q->target;
	const struct plan *plan = t->run->plan;
	uint64_t total = atomic_fetch_add(&t->run->errors, 1) + 1;

	if (total <= plan->max_errors_to_print)
		print_error(q, req);
	errors_count(t, -req->error);
}

void io_error_summary(const struct run *run)
{
	uint64_t total = atomic_load(&run->errors);

	if (total > run->plan->max_errors_to_print)
		log_error("%" PRIu64 " operations failed in all, of which %" PRIu64
			  " are shown (-maxerrorstoprint)",
			  total, run->plan->max_errors_to_print);
}
