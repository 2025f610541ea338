/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The fast loop: a synchronous engine, and nothing to do around an operation except counting it.
 * Called by issue.c.
 */
#include <sys/resource.h>

#include "run/issue/issue.h"

/*
 * A QThread claims this many numbers together; with others beside it only while an operation takes
 * less than CLAIM_OP_NS.
 */
#define CLAIM_OPS 16
#define CLAIM_OP_NS 2500

/*
 * For this long after the end of the pass a QThread issues the rest of its claim, to leave no gap.
 * While operations take less than CLAIM_OP_NS that needs 40 us; a thread that has lost its
 * processor needs longer.
 */
#define CLAIM_OVERRUN_NS 100000000

/* Numbers that a QThread takes together. */
struct claim {
	uint32_t most;	   /* const during a pass */
	bool alone;	   /* const: no other QThread takes numbers */
	uint32_t ops;	   /* of the last claim */
	uint64_t taken_ns; /* time of the last claim */
	uint64_t over_ns;  /* when the QThread first saw that the pass is over; 0: not yet */
	long sleeps;	   /* of the QThread, when the pass began */
};

/*
 * How often the calling thread has slept, without the times when another thread had taken its
 * processor.
 */
static long count_sleeps(void)
{
	struct rusage used;

	return getrusage(RUSAGE_THREAD, &used) ? 0 : used.ru_nvcsw;
}

/*
 * The word that numbers come from moves between processors with every number taken, which is
 * expensive beside an operation of a microsecond or less. QThreads take several unless an error may
 * end the pass: the clock and a signal leave time for the rest of a claim. A QThread without others
 * takes several too, as it can always return them.
 */
static uint32_t claim_most(const struct qthread *q)
{
	const struct plan *plan = q->target->run->plan;
	/* A pass that they may end must have no gap. */
	const bool ends_early = plan->max_errors || plan->stop_on_error ||
				plan->stonewall.save_file;

	return q->target->plan->qthreads > 1 && ends_early ? 1 : CLAIM_OPS;
}

/* Take the numbers from `*next` until `*last`, at the time `now`. False: there are none left. */
static ALWAYS_INLINE bool claim_ops(struct target *t, struct claim *claim, uint64_t now,
				    uint64_t *next, uint64_t *last)
{
	bool fast = claim->alone || now - claim->taken_ns < claim->ops * CLAIM_OP_NS;
	uint32_t n;

	claim->ops = fast ? claim->most : 1;
	claim->taken_ns = now;
	n = take_ops(t, claim->ops, next);
	*last = *next + n;
	return n != 0;
}

/*
 * The pass is over, and a QThread has the numbers from `next` until `last` left. It returns them if
 * no other QThread has taken later ones. Else it issues them, unless operations have become slow:
 * then it releases them, and the end of the pass reports the gap. A QThread that has not slept in
 * the pass lacked a processor, and its operations are as fast as before. `took_ns`: the operation
 * before. False: issue them.
 */
static __attribute__((noinline)) bool release_ops(struct target *t, struct claim *claim,
						  uint64_t next, uint64_t last, uint64_t now,
						  uint64_t took_ns)
{
	uint64_t end = last;

	if (last >= t->plan->pass_ops ||
	    atomic_compare_exchange_strong(&t->state.next_op, &end, next))
		return true;
	if (!claim->over_ns)
		claim->over_ns = now;
	if (took_ns < CLAIM_OVERRUN_NS && now - claim->over_ns < CLAIM_OVERRUN_NS)
		return false;
	if (count_sleeps() == claim->sleeps)
		return false;
	atomic_fetch_add(&t->state.released, last - next);
	return true;
}

/*
 * Operations on the null device take less than twice as long as reading the clock, and a histogram
 * of all of them would take a fifth more. Percentiles of one in SAMPLE_EVERY are as good, after
 * SAMPLE_FROM operations that all count.
 */
#define SAMPLE_EVERY 64
#define SAMPLE_FROM 1024

/* A limit that every operation exceeds. */
#define SAMPLE_THIS INT64_MIN

/* The shortest of the longest operations of each direction, once all have had some. */
static int64_t sample_limit(const struct qthread *q)
{
	const struct histogram *h = q->latency[LATENCY_SERVICE];
	const bool mixed = q->target->plan->op == OP_MIXED;
	uint64_t least = INT64_MAX;

	for (int dir = 0; dir < DIR_COUNT; dir++) {
		uint64_t max = atomic_load_explicit(&h[dir].max_ns, memory_order_relaxed);

		if (max < least && (max || (mixed && dir <= DIR_WRITE)))
			least = max;
	}
	return least < INT64_MAX ? (int64_t)least : 0;
}

/*
 * Keep the latency of an operation if it belongs to the sample, or is the longest so far of its
 * direction. Out of line, so that it takes no registers from the loop. Returns the next limit.
 */
static __attribute__((noinline)) int64_t
keep_sample(struct qthread *q, const struct io_request *req, int64_t took, bool always)
{
	struct histogram *h = &q->latency[LATENCY_SERVICE][req->dir];
	const uint64_t ns = took > 0 ? (uint64_t)took : 0;

	if (!req->error && (always || ns > atomic_load_explicit(&h->max_ns, memory_order_relaxed)))
		histogram_add(h, ns);
	return req->op < SAMPLE_FROM ? SAMPLE_THIS : sample_limit(q);
}

/* Look at an operation that took longer than `*limit`, which is SAMPLE_THIS for the sample. */
static ALWAYS_INLINE void sample_latency(struct qthread *q, const struct io_request *req,
					 uint64_t done_ns, int64_t *limit)
{
	const int64_t took = (int64_t)(done_ns - req->issue_ns);

	if (__builtin_expect(took > *limit, 0))
		*limit = keep_sample(q, req, took, *limit == SAMPLE_THIS);
}

/* Inlined for each caller, without the code that its `extras` exclude. */
static ALWAYS_INLINE void loop(struct qthread *q, uint64_t now, uint64_t end, unsigned extras,
			       const bool sampled)
{
	struct target *t = q->target;
	struct io_request req = { .buf = q->ring.buffers[0].iov_base };
	struct claim claim = {
		.most = claim_most(q),
		.alone = t->plan->qthreads == 1,
		.sleeps = count_sleeps(),
	};
	uint64_t next = 0, last = 0;
	int64_t limit = SAMPLE_THIS;

	for (;;) {
		if (__builtin_expect(!may_issue(t, now, end), 0)) {
			if (next == last ||
			    release_ops(t, &claim, next, last, now, now - req.issue_ns))
				break;
		} else if (next == last) {
			if (!claim_ops(t, &claim, now, &next, &last))
				break;
			if (sampled && next % SAMPLE_EVERY < CLAIM_OPS)
				limit = SAMPLE_THIS;
		}
		set_op(t, next++, &req);
		if (wants(extras, EXTRA_AUDIT))
			audit_order(q, &req);
		stamp_issue(q, &req, extras);
		t->engine->submit(q->ctx, &req);
		now = clock_reader_now_ns(&q->clock);
		account(q, &req, now, extras);
		if (sampled)
			sample_latency(q, &req, now, &limit);
	}
}

void issue_fast(struct qthread *q, uint64_t now, uint64_t end, unsigned extras)
{
	const unsigned others = extras & ~(EXTRA_SYNC | EXTRA_ALONE);

	if (!others)
		loop(q, now, end, 0, false);
	else if (others == EXTRA_LATENCY && q->samples_latency)
		loop(q, now, end, 0, true);
	else
		loop(q, now, end, extras, false);
}
