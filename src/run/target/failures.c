/*
 * Operations that fail and data that is wrong. Called by QThreads, outside the timed window, and by
 * run.c after the last operation.
 */
#include "run/target/failures.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "run/coord/gate.h"
#include "run/qthread.h"
#include "run/run_state.h"
#include "run/target.h"
#include "run/target/data.h"
#include "xdd/base/log.h"
#include "xdd/io/target_file.h"
#include "xdd/io/verify.h"
#include "xdd/plan/plan.h"
#include "xdd/report/sink.h"
#include "xdd/stat/counters.h"
#include "xdd/sync/wait.h"

/* Failures past the end of the target after which a pass ends. */
#define PAST_END_ERRORS 1000

/* The reason of an error, in the words of the engine where it has any. */
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

/* As print_error(), where a sink takes the results. */
static void pass_error(const struct qthread *q, const struct io_request *req)
{
	const struct target *t = q->target;
	char buf[160];

	report_failure(t->run->report,
		       &(struct report_failure){ .target = t->plan->number,
						 .write = req->dir == DIR_WRITE,
						 .offset = req->offset,
						 .bytes = req->size,
						 .why = reason(q, req, buf, sizeof(buf)) });
}

/* The other side of an end-to-end target gets the reason too. */
static void explain_error(const struct qthread *q, const struct io_request *req)
{
	struct target *t = q->target;
	char buf[160];

	run_explain(t,
		    "%s of %" PRIu64 " bytes at offset %" PRIu64 " of %s, operation %" PRIu64
		    " of pass %" PRIu64 ": %s",
		    op_dir_name(req->dir), req->size, req->offset,
		    target_file_path(&t->file, t->plan), req->op, t->pass,
		    reason(q, req, buf, sizeof(buf)));
}

/* End the pass of the target, if nothing has ended it, with the reason. */
static void end_pass(struct target *t, const char *reason)
{
	if (atomic_exchange(&t->state.over, true))
		return;
	log_error("target %u, %s: pass %" PRIu64 " ends: %s", t->plan->number, t->plan->path,
		  t->pass, reason);
	gate_wake(t);
}

/* Count an error in this pass of the target; end the pass or the run if it was the last allowed. */
static void count_error(struct target *t, int detail)
{
	const struct plan *plan = t->run->plan;
	uint64_t in_pass = atomic_fetch_add(&t->state.errors, 1) + 1;
	char reason[80];

	if (plan->stop_on_error)
		run_stop(t->run, STOP_ERROR, detail);
	if (plan->max_errors && in_pass >= plan->max_errors) {
		snprintf(reason, sizeof(reason), "%" PRIu64 " %s (-maxerrors)", in_pass,
			 t->plan->verify == VERIFY_NONE ? "operations have failed" :
							  "errors and miscompares");
		end_pass(t, reason);
	}
}

/*
 * The count for an error that the following operations of the target will have too; NULL for any
 * other error.
 */
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

/*
 * True if the operation, and all that follow it in the pass, lie past the end of the target. They
 * fail at once, a million per second, and their time would count as that of the others.
 */
static bool only_past_end(const struct target_plan *t, const struct io_request *req)
{
	return (req->error == -ENODATA || (req->error == -ENOSPC && t->kind == TARGET_BLOCK)) &&
	       !req->done && t->seek.pattern == SEEK_SEQUENTIAL;
}

void io_error(struct qthread *q, const struct io_request *req)
{
	struct target *t = q->target;
	struct run *run = t->run;
	_Atomic uint64_t *count = ran_out(t, req->error);
	bool first = !count || atomic_fetch_add(count, 1) == 0;

	atomic_fetch_add(&run->failures.errors, 1);
	if (run->takes_failures)
		pass_error(q, req);
	else if (first &&
		 atomic_fetch_add(&run->failures.errors_shown, 1) < run->plan->max_errors_to_print)
		print_error(q, req);
	if (t->endtoend)
		explain_error(q, req);
	count_error(t, -req->error);
	if (atomic_load(&t->state.errors) >= PAST_END_ERRORS && only_past_end(t->plan, req))
		end_pass(t, "all further operations are past the end of the target");
}

/*
 * Report the operations that failed after the first for lack of a resource. Returns their number.
 */
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
	uint64_t own = atomic_load(&run->failures.errors);

	if (run->takes_failures)
		return;
	for (size_t i = 0; i < run->plan->n_targets; i++) {
		own -= summarize(&run->targets[i], RUN_OUT_OF_FILE, "END-OF-FILE");
		own -= summarize(&run->targets[i], RUN_OUT_OF_SPACE, strerror(ENOSPC));
	}
	if (own > run->plan->max_errors_to_print)
		log_error("a total of %" PRIu64 " operations failed, %" PRIu64
			  " are shown (-maxerrorstoprint)",
			  atomic_load(&run->failures.errors), run->plan->max_errors_to_print);
}

/* "0x0011..." */
static const char *hex(const uint8_t *bytes, unsigned n, char *buf)
{
	char *o = buf;

	*o++ = '0';
	*o++ = 'x';
	for (unsigned i = 0; i < n; i++)
		o += sprintf(o, "%02x", bytes[i]);
	*o = '\0';
	return buf;
}

static void print_miscompare(const struct qthread *q, const struct miscompare *m)
{
	const struct target *t = q->target;
	char expected[2 * VERIFY_SHOWN_BYTES + 3], found[2 * VERIFY_SHOWN_BYTES + 3];

	log_error("DATA MISCOMPARE on Target %u Worker Thread %u: %s, read operation %" PRIu64
		  " of pass %" PRIu64 ": %" PRIu64 " bytes at offset %" PRIu64
		  " are wrong: at %" PRIu64 " expected %s, found %s: %s%s%s",
		  t->plan->number, q->number, t->plan->path, m->op, m->pass, m->bytes, m->offset,
		  m->shown_at, hex(m->expected, m->shown, expected), hex(m->found, m->shown, found),
		  miscompare_name(m->kind), *m->text ? ": " : "", m->text);
}

bool miscompare(struct qthread *q, const struct miscompare *m)
{
	struct target *t = q->target;
	const uint64_t limit = t->run->plan->max_errors_to_print;
	uint64_t total = atomic_fetch_add(&t->run->failures.miscompares, 1) + 1;

	atomic_fetch_add(&t->run->failures.miscompared_bytes, m->bytes);
	if (total <= limit)
		print_miscompare(q, m);
	count_error(t, EBADMSG);
	return total < limit;
}

void miscompare_summary(const struct run *run)
{
	uint64_t total = atomic_load(&run->failures.miscompares),
		 limit = run->plan->max_errors_to_print;

	if (total)
		log_error("a total of %" PRIu64 " data miscompares, %" PRIu64 " bytes, %" PRIu64
			  " are shown (-maxerrorstoprint)",
			  total, atomic_load(&run->failures.miscompared_bytes),
			  total < limit ? total : limit);
	for (size_t i = 0; i < run->plan->n_targets; i++) {
		const struct target *t = &run->targets[i];
		uint64_t unjudged = t->data ? atomic_load(&t->data->unjudged) : 0;

		if (unjudged)
			log_notice(
				"target %u, %s: %" PRIu64
				" sectors without a tag, not written by this run, cannot be verified",
				t->plan->number, t->plan->path, unjudged);
	}
}
