/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The gate: ask it, wait at it, report progress to it; arithmetic of lockstep, and rounds of
 * -syncio. Called by the QThreads of targets that are gated or followed.
 */
#include "run/coord/gate.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "run/coord/pace.h"
#include "run/qthread.h"
#include "run/run_state.h"
#include "run/target.h"
#include "xdd/base/arith.h"
#include "xdd/base/log.h"
#include "xdd/base/memory.h"
#include "xdd/base/units.h"
#include "xdd/io/access.h"
#include "xdd/io/engine.h"
#include "xdd/sync/wait.h"
#include "xdd/sys/clock.h"

uint64_t measure_count(const struct measure *m, const struct target_plan *t, uint64_t ops,
		       uint64_t bytes)
{
	switch (m->unit) {
	case MEASURE_OPS:
		return ops / m->value;
	case MEASURE_BYTES:
		return bytes / m->value;
	case MEASURE_PERCENT:
		return (uint64_t)((uint128)ops * PLAN_RATIO_ONE /
				  ((uint128)m->value * t->pass_ops));
	case MEASURE_TIME:
		break;
	}
	return 0;
}

uint64_t measure_before(const struct measure *m, const struct target_plan *t, uint64_t n)
{
	uint64_t bytes;

	if (__builtin_mul_overflow(n, t->req_bytes, &bytes) || bytes > t->pass_bytes)
		bytes = t->pass_bytes;
	return measure_count(m, t, n, bytes);
}

bool lockstep_is_counted(const struct lockstep_plan *l)
{
	return l->when.unit != MEASURE_TIME && l->what.unit != MEASURE_TIME;
}

uint64_t lockstep_slave_needs(const struct lockstep_plan *l, const struct target_plan *slave,
			      uint64_t n)
{
	return measure_before(&l->what, slave, n) + (l->run ? 0 : 1);
}

uint64_t lockstep_master_needs(const struct lockstep_plan *l, const struct target_plan *master,
			       uint64_t n)
{
	uint64_t before = measure_before(&l->when, master, n);

	if (measure_before(&l->when, master, n + 1) > before)
		return before;
	return before ? before - 1 : 0;
}

/* Returns 0 or -errno. Main thread. */
static int syncio_init(struct syncio *s, size_t n_targets)
{
	int err = pthread_mutex_init(&s->lock, NULL);

	if (err)
		return -err;
	s->n_targets = n_targets;
	for (int i = 0; i < 2; i++) {
		s->passes[i].targets = calloc(n_targets, sizeof(*s->passes[i].targets));
		if (!s->passes[i].targets)
			return -ENOMEM;
	}
	return 0;
}

/* Accepts zeroed memory that was never set up. */
static void syncio_destroy(struct syncio *s)
{
	if (!s->n_targets)
		return;
	for (int i = 0; i < 2; i++)
		free(s->passes[i].targets);
	pthread_mutex_destroy(&s->lock);
	s->n_targets = 0;
}

/* Set up pass `pass`, from 1, of a target. Before any of its operations. */
static void syncio_begin(struct syncio *s, size_t target, uint64_t pass)
{
	struct syncio_pass *p = &s->passes[pass & 1];

	pthread_mutex_lock(&s->lock);
	/* The first target sets up for all: none of them is in the round that opens next. */
	if (p->pass != pass) {
		p->pass = pass;
		p->missing = s->n_targets;
		atomic_store(&p->open, 0);
	}
	p->targets[target] = (struct syncio_target){ 0 };
	pthread_mutex_unlock(&s->lock);
}

/* All targets are past the open round: open the round of the slowest. With s->lock. */
static bool open_next(struct syncio *s, struct syncio_pass *p)
{
	uint64_t lowest = UINT64_MAX;
	size_t missing = 0;

	for (size_t i = 0; i < s->n_targets; i++) {
		const struct syncio_target *t = &p->targets[i];

		if (t->over || t->round > lowest)
			continue;
		missing = t->round == lowest ? missing + 1 : 1;
		lowest = t->round;
	}
	if (!missing)
		return false;
	p->missing = missing;
	atomic_store(&p->open, lowest);
	return true;
}

/*
 * A target has completed its operations before `round`. True: that opened a round. Any
 * thread.
 */
static bool syncio_reach(struct syncio *s, size_t target, uint64_t pass, uint64_t round)
{
	struct syncio_pass *p = &s->passes[pass & 1];
	struct syncio_target *t = &p->targets[target];
	uint64_t open, was;
	bool opened = false;

	pthread_mutex_lock(&s->lock);
	open = atomic_load(&p->open);
	was = t->round;
	/* QThreads may arrive here out of order. */
	if (round > was)
		t->round = round;
	if (was <= open && t->round > open && --p->missing == 0)
		opened = open_next(s, p);
	pthread_mutex_unlock(&s->lock);
	return opened;
}

/* A target has ended its pass. True: that opened a round. Any thread. */
static bool syncio_leave(struct syncio *s, size_t target, uint64_t pass)
{
	struct syncio_pass *p = &s->passes[pass & 1];
	struct syncio_target *t = &p->targets[target];
	bool opened = false;

	pthread_mutex_lock(&s->lock);
	t->over = true;
	if (t->round <= atomic_load(&p->open) && --p->missing == 0)
		opened = open_next(s, p);
	pthread_mutex_unlock(&s->lock);
	return opened;
}

/* How often a target that is not gated checks, while it rests, whether its pass was ended. */
#define REST_LOOK_NS (200 * 1000000ull)

/*
 * Answers of the members: a clock reading, or one of these. The greatest answer of several counts.
 */
#define NOW 0
#define ON_EVENT (UINT64_MAX - 2)
#define NEVER (UINT64_MAX - 1) /* not this operation, nor any with a greater number */
#define STOPPED UINT64_MAX     /* no operation, except those that are admitted */

/* The progress of another target in the pass that `t` is in. */
static struct progress *progress_of(struct target *other, const struct target *t)
{
	return &other->gate.progress[t->pass & 1];
}

/* How many times the measure fits in the work that a target has done by now. */
static uint64_t count_done(const struct measure *m, const struct target *of,
			   const struct progress *p, uint64_t now_ns)
{
	uint64_t start, end;

	if (m->unit != MEASURE_TIME)
		return measure_count(m, of->plan, atomic_load(&p->ops), atomic_load(&p->bytes));
	start = atomic_load(&p->start_ns);
	end = atomic_load(&p->over) ? atomic_load(&p->end_ns) : now_ns;
	return start && end > start ? (end - start) / m->value : 0;
}

/* When `count` of a measure will have been done: a clock reading for a time, else ON_EVENT. */
static uint64_t when_done(const struct measure *m, const struct progress *p, uint64_t count)
{
	uint64_t start = atomic_load(&p->start_ns), at;

	if (m->unit != MEASURE_TIME || !start || __builtin_mul_overflow(m->value, count, &at) ||
	    __builtin_add_overflow(at, start, &at) || at >= ON_EVENT)
		return ON_EVENT;
	return at;
}

/* When a trigger is pulled; NEVER: it will not be. */
static uint64_t ask_trigger(const struct trigger_plan *g, struct target *by, const struct target *t,
			    uint64_t now_ns)
{
	struct progress *p = progress_of(by, t);
	/* Read this first: after it nothing changes any more. */
	bool over = atomic_load(&p->over);

	if (count_done(&g->when, by, p, now_ns))
		return NOW;
	return over ? NEVER : when_done(&g->when, p, 1);
}

static void wake_watchers(struct target *t)
{
	for (size_t i = 0; i < t->gate.n_watches; i++)
		event_signal(&t->gate.watches[i].watcher->gate.event);
}

/* The target begins at `start_ns`, which other targets may wait for. */
static void gate_begin(struct target *t, uint64_t start_ns)
{
	uint64_t none = 0;

	if (atomic_compare_exchange_strong(&progress_of(t, t)->start_ns, &none, start_ns))
		wake_watchers(t);
}

static uint64_t ask_start(struct target *t, uint64_t now_ns)
{
	uint64_t answer;

	if (!t->gate.start_by || atomic_load(&progress_of(t, t)->start_ns))
		return NOW;
	answer = ask_trigger(&t->plan->start_trigger, t->gate.start_by, t, now_ns);
	if (answer == NOW)
		gate_begin(t, now_ns);
	return answer;
}

/* When the slave of a lockstep with timed tasks may issue, after `made` requests of its master. */
static uint64_t ask_slice(struct target *t, uint64_t made, bool over, uint64_t now_ns)
{
	const struct lockstep_plan *l = &t->plan->lockstep;
	struct gate *g = &t->gate;
	uint64_t answer = NOW;

	pthread_mutex_lock(&g->slice_lock);
	if (now_ns < g->slice_end_ns) {
		answer = NOW;
	} else if (made + l->run > g->slices) {
		g->slices++;
		g->slice_end_ns = now_ns + l->what.value;
	} else {
		answer = over ? NEVER :
				when_done(&l->when, progress_of(g->master, t),
					  g->slices + 1 - l->run);
	}
	pthread_mutex_unlock(&g->slice_lock);
	return answer;
}

/* The slave's side of a lockstep. */
static uint64_t ask_master(struct target *t, uint64_t n, uint64_t now_ns)
{
	const struct lockstep_plan *l = &t->plan->lockstep;
	struct progress *p;
	uint64_t made, needs;
	bool over;

	if (!t->gate.master)
		return NOW;
	p = progress_of(t->gate.master, t);
	over = atomic_load(&p->over);
	made = count_done(&l->when, t->gate.master, p, now_ns);
	if (over && !l->stop)
		return NOW;
	if (l->what.unit == MEASURE_TIME)
		return ask_slice(t, made, over, now_ns);
	needs = lockstep_slave_needs(l, t->plan, n);
	if (made >= needs)
		return NOW;
	return over ? NEVER : when_done(&l->when, p, needs);
}

/* The master's side: no request to a slave that has not completed the task before. */
static uint64_t ask_slaves(struct target *t, uint64_t n, uint64_t now_ns)
{
	for (size_t i = 0; i < t->gate.n_counted_slaves; i++) {
		struct target *slave = t->gate.counted_slaves[i];
		const struct lockstep_plan *l = &slave->plan->lockstep;
		struct progress *p = progress_of(slave, t);

		/*
		 * A slave that waits for its start trigger, perhaps pulled by this target, holds no
		 * other target.
		 */
		if (atomic_load(&p->over) || (slave->gate.start_by && !atomic_load(&p->start_ns)))
			continue;
		if (count_done(&l->what, slave, p, now_ns) < lockstep_master_needs(l, t->plan, n))
			return ON_EVENT;
	}
	return NOW;
}

static uint64_t ask_syncio(const struct target *t, uint64_t n)
{
	const struct run *run = t->run;
	uint64_t ops = run->plan->syncio_ops;

	return !ops || n / ops <= syncio_open(&run->syncio, t->pass) ? NOW : ON_EVENT;
}

/*
 * The tail of the last operation uses the page cache. A write of part of a page there, while direct
 * writes to the rest of the page are outstanding, would restore the old contents of that rest: it
 * waits until all others are complete.
 */
static uint64_t ask_tail(const struct target *t, uint64_t n)
{
	if (!t->gate.last_alone || n + 1 < t->plan->pass_ops)
		return NOW;
	return atomic_load(&t->gate.progress[t->pass & 1].ops) >= n ? NOW : ON_EVENT;
}

static uint64_t ask_limit(const struct target *t, uint64_t n)
{
	if (n >= atomic_load(&t->gate.limit))
		return NEVER;
	return atomic_load(&t->gate.admitted) & GATE_HELD ? ON_EVENT : NOW;
}

static uint64_t ask_stop(const struct target *t, uint64_t now_ns)
{
	if (!t->gate.stop_by)
		return NEVER;
	return ask_trigger(&t->plan->stop_trigger, t->gate.stop_by, t, now_ns);
}

/*
 * The answer of all members except the throttle for operation `n`; a time is the latest to ask
 * again.
 */
static uint64_t ask(struct target *t, uint64_t n, uint64_t now_ns)
{
	uint64_t stop, answer;

	if (n < gate_admitted(&t->gate))
		return NOW;
	stop = ask_stop(t, now_ns);
	if (stop == NOW)
		return STOPPED;
	answer = ask_start(t, now_ns);
	if (answer == NOW)
		answer = ask_master(t, n, now_ns);
	answer = ns_later(answer, ask_limit(t, n));
	if (answer != NEVER)
		answer = ns_later(ns_later(answer, ask_tail(t, n)),
				  ns_later(ask_slaves(t, n, now_ns), ask_syncio(t, n)));
	/* When the stop trigger is pulled by time, no operation is admitted after it. */
	return answer == NOW || answer == NEVER ? answer : ns_earlier(answer, stop);
}

/* Nothing more is issued in this pass: the run stops, or the pass was ended. */
static bool is_over(const struct target *t)
{
	return stop_why(&t->run->stop) != STOP_NONE || atomic_load(&t->state.over);
}

/* Admit all operations up to `n`, unless the gate was shut or held before. */
static enum gate_answer admit(struct gate *g, uint64_t n)
{
	uint64_t admitted = atomic_load(&g->admitted);

	while ((admitted & ~(GATE_SHUT | GATE_HELD)) <= n) {
		if (admitted & GATE_SHUT)
			return GATE_CLOSED;
		if (admitted & GATE_HELD)
			return GATE_EVENT;
		if (atomic_compare_exchange_weak(&g->admitted, &admitted, n + 1))
			break;
	}
	return GATE_OPEN;
}

/*
 * Shut the gate for `req` and all operations after it. If one of these was admitted already, `req`
 * is issued as well, so that no gap remains.
 */
static enum gate_answer shut(struct qthread *q, struct io_request *req, uint64_t now_ns)
{
	struct gate *g = &q->target->gate;
	uint64_t admitted = atomic_load(&g->admitted);

	while ((admitted & ~(GATE_SHUT | GATE_HELD)) <= req->op)
		if (admitted & GATE_SHUT ||
		    atomic_compare_exchange_weak(&g->admitted, &admitted, admitted | GATE_SHUT))
			return GATE_CLOSED;
	req->due_ns = ns_earlier(throttle_due_at(q), now_ns);
	return GATE_OPEN;
}

/* No other target holds `req`: admit it when it is due. */
static enum gate_answer ask_throttle(struct qthread *q, struct io_request *req, uint64_t now_ns,
				     uint64_t end_ns, uint64_t *at_ns)
{
	struct target *t = q->target;

	throttle_release(q, now_ns);
	req->due_ns = throttle_due_at(q);
	if (req->op < gate_admitted(&t->gate)) {
		/* A later operation was admitted before the schedule moved forward. */
		req->due_ns = ns_earlier(req->due_ns, now_ns);
		return GATE_OPEN;
	}
	/*
	 * An operation that is due after the end is not issued, and the pass lasts its time all the
	 * same.
	 */
	if (req->due_ns > now_ns && now_ns < end_ns) {
		*at_ns = ns_earlier(req->due_ns, end_ns);
		return GATE_AT;
	}
	if (req->due_ns >= end_ns)
		return GATE_CLOSED;
	if (req->op == 0)
		atomic_store(&t->state.paced_from_ns, atomic_load(&t->state.start_ns));
	*at_ns = end_ns;
	return admit(&t->gate, req->op);
}

/* As ask_throttle(), in one step with a move of the schedule by another QThread. */
static enum gate_answer ask_throttle_locked(struct qthread *q, struct io_request *req,
					    uint64_t now_ns, uint64_t end_ns, uint64_t *at_ns)
{
	pthread_mutex_t *lock = &q->target->gate.throttle_lock;
	enum gate_answer answer;

	pthread_mutex_lock(lock);
	answer = ask_throttle(q, req, now_ns, end_ns, at_ns);
	pthread_mutex_unlock(lock);
	return answer;
}

static enum gate_answer ask_all(struct qthread *q, struct io_request *req, uint64_t now_ns,
				uint64_t end_ns, uint64_t *at_ns)
{
	struct target *t = q->target;
	const bool throttled = throttle_is_on(t->plan), moves = t->gate.others && throttled;
	uint64_t answer = ask(t, req->op, now_ns);

	if (answer == NEVER)
		return GATE_CLOSED;
	if (answer == STOPPED || is_over(t) || (now_ns >= end_ns && (answer != NOW || !throttled)))
		return shut(q, req, now_ns);
	if (answer != NOW) {
		if (moves && ask_tail(t, req->op) == NOW)
			throttle_hold(q, now_ns);
		*at_ns = end_ns;
		return GATE_EVENT;
	}
	return moves ? ask_throttle_locked(q, req, now_ns, end_ns, at_ns) :
		       ask_throttle(q, req, now_ns, end_ns, at_ns);
}

static void debug_gate(const struct target *t, uint64_t n, const char *event)
{
	debug_line(DEBUG_LOCKSTEP, "target %u: operation %" PRIu64 " of pass %" PRIu64 " %s",
		   t->plan->number, n, t->pass, event);
}

enum gate_answer gate_ask(struct qthread *q, struct io_request *req, uint64_t now_ns,
			  uint64_t end_ns, uint64_t *at_ns)
{
	enum gate_answer answer = ask_all(q, req, now_ns, end_ns, at_ns);

	if (answer == GATE_OPEN)
		debug_gate(q->target, req->op, "is admitted");
	else if (answer == GATE_CLOSED)
		debug_gate(q->target, req->op, "is not admitted any more");
	return answer;
}

void gate_arrive(struct qthread *q, uint64_t n)
{
	q->throttle.due_ns = throttle_due_ns(q->target->plan, q->throttle.arrivals, n);
}

static void wait_for_event(struct target *t, uint64_t n, uint64_t until_ns)
{
	struct event *e = &t->gate.event;

	debug_gate(t, n, "waits for other targets");
	for (;;) {
		uint32_t key = event_listen(e);
		uint64_t now = clock_now_ns(), answer = NOW;

		if (now < until_ns && !is_over(t))
			answer = ask(t, n, now);
		if (answer == NOW || answer >= NEVER) {
			event_leave(e);
			return;
		}
		event_wait(e, key, ns_earlier(answer, until_ns));
	}
}

void gate_wait(struct target *t, uint64_t n, enum gate_answer answer, uint64_t at_ns)
{
	if (answer == GATE_EVENT)
		wait_for_event(t, n, at_ns);
	else
		throttle_sleep_until(t, at_ns);
}

/*
 * Nothing more of the pass may be issued; if not, `*until` is no later than the time to ask again.
 */
static bool rest_is_over(struct target *t, uint64_t now_ns, uint64_t *until)
{
	uint64_t stop;

	if (is_over(t))
		return true;
	stop = ask_stop(t, now_ns);
	*until = ns_earlier(stop, *until);
	return stop == NOW;
}

/* No thread signals the event of a target without a gate: poll the end of its pass. */
static int rest_alone(struct target *t, uint64_t until_ns)
{
	for (;;) {
		uint64_t now = clock_now_ns(), look = until_ns;

		if (rest_is_over(t, now, &look))
			return -ECANCELED;
		if (now >= until_ns)
			return 0;
		if (look - now > REST_LOOK_NS)
			look = now + REST_LOOK_NS;
		stop_sleep_until(&t->run->stop, look);
	}
}

int gate_rest(struct target *t, uint64_t until_ns)
{
	struct event *e = &t->gate.event;

	if (!t->gated)
		return rest_alone(t, until_ns);
	for (;;) {
		uint32_t key = event_listen(e);
		uint64_t now = clock_now_ns(), look = until_ns;
		bool over = rest_is_over(t, now, &look);

		if (over || now >= until_ns) {
			event_leave(e);
			return over ? -ECANCELED : 0;
		}
		event_wait(e, key, look);
	}
}

static void wake_all(struct run *run)
{
	for (size_t i = 0; i < run->plan->n_targets; i++)
		event_signal(&run->targets[i].gate.event);
}

void gate_completed(struct target *t, uint64_t bytes)
{
	struct progress *p = progress_of(t, t);
	uint64_t syncio = t->run->plan->syncio_ops;
	uint64_t bytes_before = atomic_fetch_add(&p->bytes, bytes);
	uint64_t ops_before = atomic_fetch_add(&p->ops, 1);

	for (size_t i = 0; i < t->gate.n_watches; i++) {
		const struct gate_watch *w = &t->gate.watches[i];

		if (measure_count(&w->each, t->plan, ops_before, bytes_before) !=
		    measure_count(&w->each, t->plan, ops_before + 1, bytes_before + bytes))
			event_signal(&w->watcher->gate.event);
	}
	if (t->gate.last_alone && ops_before + 2 == t->plan->pass_ops)
		event_signal(&t->gate.event);
	if (syncio && (ops_before + 1) % syncio == 0 &&
	    syncio_reach(&t->run->syncio, t->plan->number, t->pass, (ops_before + 1) / syncio))
		wake_all(t->run);
}

void gate_wake(struct target *t)
{
	if (t->gated)
		event_signal(&t->gate.event);
}

uint64_t gate_hold(struct target *t)
{
	return atomic_fetch_or(&t->gate.admitted, GATE_HELD) & ~(GATE_SHUT | GATE_HELD);
}

void gate_limit(struct target *t, uint64_t ops)
{
	atomic_store(&t->gate.limit, ops);
	atomic_fetch_and(&t->gate.admitted, ~GATE_HELD);
	event_signal(&t->gate.event);
}

void gate_begin_pass(struct target *t)
{
	struct progress *p = progress_of(t, t);

	if (!t->gated && !t->followed)
		return;
	atomic_store(&p->ops, 0);
	atomic_store(&p->bytes, 0);
	atomic_store(&p->start_ns, 0);
	atomic_store(&p->end_ns, 0);
	atomic_store(&p->over, false);
	atomic_store(&t->gate.admitted, 0);
	atomic_store(&t->gate.limit, UINT64_MAX);
	t->gate.slices = 0;
	t->gate.slice_end_ns = 0;
	if (t->run->plan->syncio_ops)
		syncio_begin(&t->run->syncio, t->plan->number, t->pass);
}

void gate_start(struct target *t, uint64_t start_ns)
{
	if (t->followed && !t->gate.start_by)
		gate_begin(t, start_ns);
}

void gate_end_pass(struct target *t)
{
	struct progress *p = progress_of(t, t);

	if (!t->gated && !t->followed)
		return;
	if (t->gate.start_by && !atomic_load(&p->start_ns) && !stop_requested(&t->run->stop))
		target_warning(t->plan,
			       "it did nothing in pass %" PRIu64 ": target %u did not get to where "
			       "it pulls the start trigger",
			       t->pass, t->gate.start_by->plan->number);
	atomic_store(&p->end_ns, clock_now_ns());
	atomic_store(&p->over, true);
	wake_watchers(t);
	if (t->run->plan->syncio_ops && syncio_leave(&t->run->syncio, t->plan->number, t->pass))
		wake_all(t->run);
}

/*
 * The gates of a run: which targets hold which, and which targets watch others. Called by
 * run_execute() before and after its threads run.
 */

/* Wake `watcher` each time another `each` of `t` is complete, and when `t` begins and ends. */
static int watch(struct target *t, struct target *watcher, struct measure each)
{
	struct gate *g = &t->gate;
	struct gate_watch *watches = array_room(g->watches, g->n_watches, sizeof(*watches));

	if (!watches)
		return -ENOMEM;
	g->watches = watches;
	g->watches[g->n_watches++] = (struct gate_watch){ watcher, each };
	t->followed = true;
	return 0;
}

/* A slave that may hold its master, as both sides are counted. */
static int add_counted_slave(struct target *master, struct target *slave)
{
	struct gate *g = &master->gate;
	struct target **slaves =
		array_room(g->counted_slaves, g->n_counted_slaves, sizeof(struct target *));

	if (!slaves)
		return -ENOMEM;
	g->counted_slaves = slaves;
	g->counted_slaves[g->n_counted_slaves++] = slave;
	master->gated = g->others = true;
	return watch(slave, master, slave->plan->lockstep.what);
}

static int link_trigger(struct run *run, struct target *t, const struct trigger_plan *plan,
			struct target **by)
{
	if (!plan->on)
		return 0;
	*by = &run->targets[plan->by];
	t->gated = true;
	return watch(*by, t, plan->when);
}

/* The end of the last operation uses the page cache. A source decides late for its destination. */
static bool may_have_tail(const struct target_plan *t)
{
	return t->tail_bytes || (t->endtoend.role == E2E_DESTINATION && t->direct_io);
}

static int link_target(struct run *run, struct target *t)
{
	const struct lockstep_plan *l = &t->plan->lockstep;
	int err = 0;

	if (l->on) {
		t->gate.master = &run->targets[l->master];
		t->gated = true;
		err = watch(t->gate.master, t, l->when);
		if (!err && lockstep_is_counted(l))
			err = add_counted_slave(t->gate.master, t);
	}
	if (!err)
		err = link_trigger(run, t, &t->plan->start_trigger, &t->gate.start_by);
	if (!err)
		err = link_trigger(run, t, &t->plan->stop_trigger, &t->gate.stop_by);
	t->gate.last_alone = may_have_tail(t->plan) && plan_writes(t->plan) &&
			     t->plan->queue_depth > 1 && t->plan->pass_ops > 1;
	t->gate.others |= t->gate.master || t->gate.start_by || run->plan->syncio_ops;
	if (run->plan->syncio_ops || t->gate.last_alone)
		t->gated = t->followed = true;
	t->gated |= throttle_is_on(t->plan) || run->plan->stonewall.wear_out;
	return err;
}

static void gate_links_cancel(void *arg)
{
	struct run *run = arg;

	for (size_t i = 0; i < run->plan->n_targets; i++)
		event_wake(&run->targets[i].gate.event);
}

int gate_init(struct run *run)
{
	bool any = false;
	int err = 0;

	for (size_t i = 0; i < run->plan->n_targets && !err; i++) {
		struct gate *g = &run->targets[i].gate;

		event_init(&g->event);
		err = -pthread_mutex_init(&g->slice_lock, NULL);
		if (!err)
			err = -pthread_mutex_init(&g->throttle_lock, NULL);
	}
	for (size_t i = 0; i < run->plan->n_targets && !err; i++) {
		err = link_target(run, &run->targets[i]);
		any |= run->targets[i].gated;
	}
	if (!err && run->plan->syncio_ops)
		err = syncio_init(&run->syncio, run->plan->n_targets);
	return err || !any ? err : stop_on_request(&run->stop, gate_links_cancel, run);
}

void gate_destroy(struct run *run)
{
	for (size_t i = 0; run->targets && i < run->plan->n_targets; i++) {
		free(run->targets[i].gate.watches);
		free(run->targets[i].gate.counted_slaves);
	}
	syncio_destroy(&run->syncio);
}
