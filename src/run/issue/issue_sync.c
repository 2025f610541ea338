/*
 * The hot path of engines that complete inside submit: one operation after the other in each QThread.
 * Called by qthread.c, once a pass.
 */
#include <sys/resource.h>

#include "run/coord/gate.h"
#include "run/coord/throttle.h"
#include "run/issue/data.h"
#include "run/issue/issue.h"
#include "run/issue/order.h"
#include "run/issue/retry_flush.h"
#include "run/qthread.h"
#include "run/results/cputime.h"
#include "run/run_state.h"
#include "run/target.h"

/* So many operations in a row a QThread may issue, of a target whose operations are in order, before it wakes another. */
#define OPS_A_TURN 64

#define ALWAYS_INLINE inline __attribute__((always_inline))

/* So many operation numbers a QThread takes together while operations take less than this. */
#define CLAIM_OPS 16
#define CLAIM_OP_NS 2500

/*
 * For so long after the end of the pass a QThread issues what is left of a group, to leave no gap. While operations
 * take less than CLAIM_OP_NS that needs 40 us; a thread that has lost its processor needs longer.
 */
#define CLAIM_OVERRUN_NS 100000000

/* The numbers that a QThread has taken and not issued yet. */
struct claim {
	uint64_t next;
	uint32_t left, count; /* `left` of `count` */
	uint64_t taken_ns;
	uint64_t over_ns; /* when the pass was first seen to be over; 0: not yet */
	long sleeps;	  /* of the QThread, when the pass began */
};

/* How often the calling thread has slept, without the times when another thread had taken its processor. */
static long count_sleeps(void)
{
	struct rusage used;

	return getrusage(RUSAGE_THREAD, &used) ? 0 : used.ru_nvcsw;
}

/* The clock after a wait; without a limit it is not worth reading. */
static uint64_t clock_after(uint64_t now, uint64_t end)
{
	return end == UINT64_MAX ? now : clock_now_ns();
}

/* Wait at the gate. False: `req` is not to be issued any more. */
static bool pass_gate(struct qthread *q, struct io_request *req, uint64_t end)
{
	struct target *t = q->target;
	uint64_t ask, now = clock_now_ns();

	while ((ask = gate_ask(q, req, now)) != GATE_OPEN) {
		bool event = ask == GATE_EVENT;
		int err;

		/* Smaller numbers may have been let through, and still be on their way. */
		if (ask == GATE_CLOSED)
			return false;
		/* Due after the end of the pass, which lasts its time all the same. */
		if (!event && ask >= end) {
			throttle_sleep_until(t, end);
			set_apart(q, now);
			return false;
		}
		err = event ? gate_wait(t, req->op, end) : throttle_sleep_until(t, ask);
		set_apart(q, now);
		now = clock_now_ns();
		if (err || !may_issue(t, event ? now : 0, end)) {
			end_pass(t);
			return false;
		}
	}
	return true;
}

/* Wait for the turn of `req`, which has its number. */
static bool await_turn(struct qthread *q, const struct io_request *req, uint64_t now, uint64_t end)
{
	struct target *t = q->target;

	if (take_turn(q, req->op))
		return false;
	if (may_issue(t, clock_after(now, end), end))
		return true;
	order_leave(&t->order, req->op);
	return false;
}

/* Do what `req`, which has its number, needs before it is issued. False: it is not to be issued any more. */
static bool make_ready(struct qthread *q, struct io_request *req, uint64_t now, uint64_t end,
		       unsigned extras)
{
	struct target *t = q->target;
	bool turn = true;

	if (extras & EXTRA_DATA)
		data_prepare(q, req);
	if (extras & EXTRA_TOT && !await_turn(q, req, now, end)) {
		end_pass(t);
		turn = false;
	}
	if (turn && (!(extras & EXTRA_GATE) || pass_gate(q, req, end)))
		return true;
	if (extras & EXTRA_DATA)
		data_release(q, req);
	if (turn && extras & (EXTRA_LOCK | EXTRA_TOT))
		order_leave(&t->order, req->op);
	return false;
}

/*
 * The word that numbers come from travels between processors with every number taken, which is dear
 * beside an operation of a microsecond or less. QThreads may take several where no order is asked for
 * and nothing but the clock or a signal ends the pass before its last operation: release_ops().
 */
static uint32_t claim_most(const struct qthread *q, unsigned extras)
{
	const struct plan *plan = q->target->run->plan;
	const unsigned one_by_one = EXTRA_LOCK | EXTRA_TOT | EXTRA_DATA | EXTRA_GATE |
				    EXTRA_RETRY_FLUSH | EXTRA_REST | EXTRA_FOLLOWED;

	if (q->target->plan->qthreads == 1 || extras & one_by_one)
		return 1;
	return plan->max_errors || plan->stop_on_error ? 1 : CLAIM_OPS;
}

/* Take numbers, at most `most`, at the time `now`. False: there are none left. */
static ALWAYS_INLINE bool claim_ops(struct target *t, struct claim *claim, uint32_t most,
				    uint64_t now)
{
	bool fast = now - claim->taken_ns < claim->count * CLAIM_OP_NS;

	claim->count = fast ? most : 1;
	claim->taken_ns = now;
	claim->left = take_ops(t, claim->count, &claim->next);
	return claim->left != 0;
}

/*
 * The pass is over, and a QThread has numbers left. It issues them, unless operations have become slow: then it gives
 * the numbers back. Where others have issued later ones that leaves a gap, which the end of the pass reports. A QThread
 * that has not slept in the pass lacked a processor, and its operations are as fast as before. `took_ns`: the operation
 * before. Returns whether it has none left.
 */
static __attribute__((noinline)) bool release_ops(struct target *t, struct claim *claim,
						  uint64_t now, uint64_t took_ns)
{
	uint64_t end = claim->next + claim->left;

	if (!claim->over_ns)
		claim->over_ns = now;
	if (took_ns < CLAIM_OVERRUN_NS && now - claim->over_ns < CLAIM_OVERRUN_NS)
		return false;
	if (count_sleeps() == claim->sleeps)
		return false;
	if (end < t->plan->pass_ops &&
	    !atomic_compare_exchange_strong(&t->state.next_op, &end, claim->next))
		atomic_fetch_add(&t->state.released, claim->left);
	claim->left = 0;
	return true;
}

/* The next operation of the pass, when it may be issued; false: the pass is over. */
static ALWAYS_INLINE bool next_op(struct qthread *q, struct claim *claim, uint32_t most,
				  struct io_request *req, uint64_t now, uint64_t end,
				  unsigned extras)
{
	struct target *t = q->target;
	bool over;

	if (wants(extras, EXTRA_LOCK)) {
		if (take_turn(q, 0))
			return false;
		now = clock_after(now, end);
	}
	over = !may_issue(t, now, end);
	if (__builtin_expect(over && claim->left, 0))
		over = release_ops(t, claim, now, now - req->issue_ns);
	if (over || (!claim->left && !claim_ops(t, claim, most, now))) {
		if (extras & EXTRA_LOCK)
			order_leave(&t->order, 0);
		return false;
	}
	claim->left--;
	set_op(t, claim->next++, req);
	return !wants(extras, EXTRA_DATA | EXTRA_TOT | EXTRA_GATE) ||
	       make_ready(q, req, now, end, extras);
}

/* Try again what failed, where that is wanted. Returns the clock when it was done with. */
static uint64_t try_again(struct qthread *q, struct io_request *req, uint64_t now)
{
	while (retry_flush_try_again(q, req)) {
		q->target->engine->submit(q->ctx, req);
		now = clock_now_ns();
	}
	return now;
}

/* No operation follows one of this QThread that is complete. */
static bool is_last(const struct target *t, uint64_t now, uint64_t end)
{
	return atomic_load_explicit(&t->state.next_op, memory_order_relaxed) >= t->plan->pass_ops ||
	       !may_issue(t, now, end);
}

/* Do what is to be done behind an operation, and rest. Returns the clock after it. */
static uint64_t finish(struct qthread *q, struct io_request *req, uint64_t now, uint64_t end,
		       unsigned extras)
{
	if (extras & (EXTRA_DATA | EXTRA_RETRY_FLUSH) && is_last(q->target, now, end))
		cputime_last(q);
	if (extras & EXTRA_DATA) {
		data_complete(q, req);
		now = clock_after(now, end);
	}
	if (extras & EXTRA_RETRY_FLUSH) {
		retry_flush_report(q, req, now);
		if (retry_flush_is_due(q->target, req))
			retry_flush_run(q);
		now = clock_now_ns();
	}
	if (extras & EXTRA_REST) {
		uint64_t ready = now + rest_ns(q->target);

		gate_rest(q->target, ready < end ? ready : end);
		set_apart(q, now);
		now = clock_now_ns();
	}
	return now;
}

/*
 * Let the next operation in, which this QThread may issue as well as another. To wake one for each would take
 * longer than many an operation, so that is done now and then, and where this QThread has something else to do.
 */
static void leave(struct target *t, const struct io_request *req, unsigned extras)
{
	bool busy = extras & (EXTRA_DATA | EXTRA_RETRY_FLUSH | EXTRA_REST);

	if (busy || req->op % OPS_A_TURN == OPS_A_TURN - 1)
		order_leave(&t->order, req->op);
	else
		order_leave_briefly(&t->order, req->op);
}

/* Inlined once for each caller, so that what `extras` and `most` rule out is not there. */
static ALWAYS_INLINE void issue(struct qthread *q, uint64_t now, uint64_t end, unsigned extras,
				uint32_t most)
{
	struct target *t = q->target;
	const struct engine *engine = t->engine;
	const bool ordered = extras & (EXTRA_LOCK | EXTRA_TOT);
	const bool leave_early = ordered && t->order.mode == ORDERING_LOOSE;
	const bool leave_late = ordered && !leave_early;
	struct io_request req = { .buf = q->ring.buffers[0].iov_base };
	struct claim claim = { .sleeps = most > 1 ? count_sleeps() : 0 };

	while (next_op(q, &claim, most, &req, now, end, extras)) {
		if (leave_early)
			order_leave(&t->order, req.op);
		if (wants(extras, EXTRA_AUDIT))
			audit_order(q, &req);
		stamp_issue(q, &req, extras);
		engine->submit(q->ctx, &req);
		now = clock_now_ns();
		if (wants(extras, EXTRA_RETRY_FLUSH))
			now = try_again(q, &req, now);
		/*
		 * What completes inside submit has been handed over and is complete: serial and strict. An
		 * error is dealt with first, as it may be the last that is allowed.
		 */
		if (leave_late && !req.error)
			leave(t, &req, extras);
		account(q, &req, now, extras);
		if (leave_late && req.error)
			order_leave(&t->order, req.op);
		if (wants(extras, EXTRA_DATA | EXTRA_RETRY_FLUSH | EXTRA_REST))
			now = finish(q, &req, now, end, extras);
	}
}

void issue_sync(struct qthread *q, uint64_t now, uint64_t end)
{
	const unsigned extras = issue_extras(q);
	const uint32_t most = claim_most(q, extras);

	if (extras || most > 1)
		issue(q, now, end, extras, most);
	else
		issue(q, now, end, 0, 1);
}
