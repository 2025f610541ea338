/*
 * Work of some runs for each operation. Called by the issue loops, before the first clock reading
 * of an operation and after the second.
 */
#include "run/issue/op_hooks.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "run/issue/order.h"
#include "run/qthread.h"
#include "run/run_state.h"
#include "run/target.h"
#include "xdd/base/log.h"
#include "xdd/plan/plan.h"
#include "xdd/stat/counters.h"
#include "xdd/sys/clock.h"

void op_hooks_init(struct target *t)
{
	t->hooks_issue = debug_on(DEBUG_IO | DEBUG_THROTTLE | DEBUG_TOT);
	t->hooks_done = (t->run->needs & FIGURES_EXTREMES) || debug_on(DEBUG_IO);
}

void op_hook_issue(const struct qthread *q, const struct io_request *req)
{
	const struct target *t = q->target;
	const char *how = order_text(&t->order);

	if (how)
		debug_line(DEBUG_TOT,
			   "target %u QThread %u: operation %" PRIu64 " of pass %" PRIu64
			   " has its turn, %s %s",
			   t->plan->number, q->number, req->op, t->pass,
			   plan_ordering_name(t->order.mode), how);
	if (req->due_ns)
		debug_line(DEBUG_THROTTLE,
			   "target %u QThread %u: operation %" PRIu64 " of pass %" PRIu64
			   " goes %" PRId64 " ns after it was due",
			   t->plan->number, q->number, req->op, t->pass,
			   (int64_t)(clock_now_ns() - req->due_ns));
	debug_line(DEBUG_IO,
		   "target %u QThread %u: issue operation %" PRIu64 " of pass %" PRIu64
		   ", %s of %" PRIu64 " bytes at byte %" PRIu64,
		   t->plan->number, q->number, req->op, t->pass, op_dir_name(req->dir), req->size,
		   req->offset);
}

static void debug_done(const struct qthread *q, const struct io_request *req, uint64_t took_ns)
{
	const struct target *t = q->target;

	debug_print(DEBUG_IO,
		    "target %u QThread %u: done operation %" PRIu64 " of pass %" PRIu64
		    ", %s of %" PRIu64 " bytes at byte %" PRIu64 ", %" PRIu64 " bytes in %" PRIu64
		    " ns: %s",
		    t->plan->number, q->number, req->op, t->pass, op_dir_name(req->dir), req->size,
		    req->offset, req->done, took_ns,
		    !req->error		   ? "ok" :
		    req->error == -ENODATA ? "end of the target" :
					     strerror(-req->error));
}

void op_hook_done(struct qthread *q, const struct io_request *req, uint64_t took_ns)
{
	if (debug_on(DEBUG_IO))
		debug_done(q, req, took_ns);
	if ((q->target->run->needs & FIGURES_EXTREMES) && !req->error &&
	    extremes_are_met(&q->extremes, took_ns)) {
		const struct extreme o = {
			.took_ns = took_ns,
			.op = req->op,
			.offset = req->offset,
			.bytes = req->done,
			.dir = req->dir,
		};

		extremes_note(&q->extremes, &o);
	}
}
