/*
 * The gate: asking, waiting and telling. Called by the QThreads of targets that wait for others or are
 * followed by others; see the header.
 */
#include "run/coord/gate.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "run/coord/lockstep.h"
#include "run/coord/syncio.h"
#include "run/coord/throttle.h"
#include "run/qthread.h"
#include "run/run_state.h"
#include "run/target.h"
#include "xdd/base/debug.h"
#include "xdd/base/log.h"
#include "xdd/io/throttle_schedule.h"
#include "xdd/plan/plan.h"
#include "xdd/sync/event.h"
#include "xdd/sync/stop.h"
#include "xdd/sys/clock.h"

/* How often a target that is not gated looks, while it rests, whether its pass was ended. */
#define REST_LOOK_NS (200 * 1000000ull)

/* Of another target, in the pass that `t` is in. */
static struct progress *progress_of(struct target *other, const struct target *t)
{
	return &other->gate.progress[t->pass & 1];
}

static uint64_t later(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* How often the measure fits in what a target has done by now. */
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

/* When `count` of a measure will have been done: a time where it is one, an event otherwise. */
static uint64_t when_done(const struct measure *m, const struct progress *p, uint64_t count)
{
	uint64_t start = atomic_load(&p->start_ns), at;

	if (m->unit != MEASURE_TIME || !start || __builtin_mul_overflow(m->value, count, &at) ||
	    __builtin_add_overflow(at, start, &at) || at >= GATE_EVENT)
		return GATE_EVENT;
	return at;
}

/* When a trigger is pulled; GATE_CLOSED: it will not be. */
static uint64_t ask_trigger(const struct trigger_plan *g, struct target *by, const struct target *t,
			    uint64_t now_ns)
{
	struct progress *p = progress_of(by, t);
	/* First: after this nothing changes any more. */
	bool over = atomic_load(&p->over);

	if (count_done(&g->when, by, p, now_ns))
		return GATE_OPEN;
	return over ? GATE_CLOSED : when_done(&g->when, p, 1);
}

static void wake_watchers(struct target *t)
{
	for (size_t i = 0; i < t->gate.n_watches; i++)
		event_signal(&t->gate.watches[i].who->gate.event);
}

/* The target begins at `start_ns`, which those who look at it may wait for. */
static void begin(struct target *t, uint64_t start_ns)
{
	uint64_t none = 0;

	if (atomic_compare_exchange_strong(&progress_of(t, t)->start_ns, &none, start_ns))
		wake_watchers(t);
}

static uint64_t ask_start(struct target *t, uint64_t now_ns)
{
	uint64_t answer;

	if (!t->gate.start_by || atomic_load(&progress_of(t, t)->start_ns))
		return GATE_OPEN;
	answer = ask_trigger(&t->plan->start_trigger, t->gate.start_by, t, now_ns);
	if (answer == GATE_OPEN)
		begin(t, now_ns);
	return answer;
}

/* The slave's side of a lockstep. With timed tasks `n` does not matter: its time runs, or does not. */
static uint64_t ask_master(struct target *t, uint64_t n, uint64_t now_ns)
{
	const struct lockstep_plan *l = &t->plan->lockstep;
	bool timed = l->what.unit == MEASURE_TIME;
	struct gate *g = &t->gate;
	struct progress *p;
	uint64_t made, needs, answer;
	bool over;

	if (!g->master)
		return GATE_OPEN;
	p = progress_of(g->master, t);
	over = atomic_load(&p->over);
	made = count_done(&l->when, g->master, p, now_ns);
	if (!timed && made >= lockstep_slave_needs(l, t->plan, n))
		return GATE_OPEN;
	if (over && !l->stop)
		return GATE_OPEN;
	if (!timed) {
		needs = lockstep_slave_needs(l, t->plan, n);
		return over ? GATE_CLOSED : when_done(&l->when, p, needs);
	}
	pthread_mutex_lock(&g->slice_lock);
	if (now_ns < g->slice_end_ns) {
		answer = GATE_OPEN;
	} else if (made + l->run > g->slices) {
		g->slices++;
		g->slice_end_ns = now_ns + l->what.value;
		answer = GATE_OPEN;
	} else {
		needs = g->slices + 1 - l->run;
		answer = over ? GATE_CLOSED : when_done(&l->when, p, needs);
	}
	pthread_mutex_unlock(&g->slice_lock);
	return answer;
}

/* The master's side: no request to a slave that has not done the one before. */
static uint64_t ask_slaves(struct target *t, uint64_t n, uint64_t now_ns)
{
	for (size_t i = 0; i < t->gate.n_counted_slaves; i++) {
		struct target *slave = t->gate.counted_slaves[i];
		const struct lockstep_plan *l = &slave->plan->lockstep;
		struct progress *p = progress_of(slave, t);

		/* One that is waiting for its own trigger, perhaps pulled by this target, holds nobody. */
		if (atomic_load(&p->over) || (slave->gate.start_by && !atomic_load(&p->start_ns)))
			continue;
		if (count_done(&l->what, slave, p, now_ns) < lockstep_master_needs(l, t->plan, n))
			return GATE_EVENT;
	}
	return GATE_OPEN;
}

static uint64_t ask_syncio(const struct target *t, uint64_t n)
{
	const struct run *run = t->run;
	uint64_t ops = run->plan->syncio_ops;

	return !ops || n / ops <= syncio_open(&run->syncio, t->pass) ? GATE_OPEN : GATE_EVENT;
}

/*
 * The tail of the last operation goes through the page cache. A write there of part of a page, with direct writes to
 * the rest of it under way, would bring back what these have replaced: it waits until all else is complete.
 */
static uint64_t ask_tail(const struct target *t, uint64_t n)
{
	if (!t->gate.last_alone || n + 1 < t->plan->pass_ops)
		return GATE_OPEN;
	return atomic_load(&t->gate.progress[t->pass & 1].ops) >= n ? GATE_OPEN : GATE_EVENT;
}

/* All operations up to `n` have been let through. */
static void grant(struct gate *g, uint64_t n)
{
	uint64_t granted = atomic_load(&g->granted);

	while (granted <= n && !atomic_compare_exchange_weak(&g->granted, &granted, n + 1))
		;
}

/* What the other targets say about `n`, with times that gate_wait() is to sleep until at most. */
static uint64_t ask(struct target *t, uint64_t n, uint64_t now_ns)
{
	struct gate *g = &t->gate;
	uint64_t stop = GATE_CLOSED, answer;

	if (n < atomic_load(&g->granted))
		return GATE_OPEN;
	if (g->stop_by)
		stop = ask_trigger(&t->plan->stop_trigger, g->stop_by, t, now_ns);
	if (stop == GATE_OPEN)
		return GATE_CLOSED;
	answer = ask_start(t, now_ns);
	if (answer == GATE_OPEN)
		answer = ask_master(t, n, now_ns);
	if (answer != GATE_CLOSED)
		answer = later(later(answer, ask_tail(t, n)),
			       later(ask_slaves(t, n, now_ns), ask_syncio(t, n)));
	/* When the stop trigger is pulled by time, nothing is let through after it. */
	if (answer != GATE_OPEN && answer != GATE_CLOSED && stop < answer)
		answer = stop;
	return answer;
}

static void debug_gate(const struct target *t, uint64_t n, const char *what)
{
	debug_line(DEBUG_LOCKSTEP, "target %u: operation %" PRIu64 " of pass %" PRIu64 " %s",
		   t->plan->number, n, t->pass, what);
}

/* No other target holds `req`: let it through when it is due. */
static uint64_t let_through(struct qthread *q, struct io_request *req, uint64_t now_ns)
{
	struct target *t = q->target;

	throttle_release(q, req->op, now_ns);
	req->due_ns = throttle_due(t, req->op);
	if (req->due_ns > now_ns) {
		if (req->op >= atomic_load(&t->gate.granted))
			return req->due_ns;
		/* A later one was let through before the schedule moved on. */
		req->due_ns = now_ns;
	}
	if (req->op == 0)
		atomic_store(&t->state.paced_from_ns, atomic_load(&t->state.start_ns));
	grant(&t->gate, req->op);
	return GATE_OPEN;
}

uint64_t gate_ask(struct qthread *q, struct io_request *req, uint64_t now_ns)
{
	struct target *t = q->target;
	const bool locked = t->gate.others && throttle_is_on(t->plan);
	uint64_t answer = ask(t, req->op, now_ns);

	if (answer == GATE_CLOSED) {
		debug_gate(t, req->op, "is not let through any more");
		return GATE_CLOSED;
	}
	/* What is a time to gate_wait() may come before it: when the other target ends, say. */
	if (answer != GATE_OPEN) {
		if (locked && ask_tail(t, req->op) == GATE_OPEN)
			throttle_hold(q, now_ns);
		return GATE_EVENT;
	}
	if (locked)
		pthread_mutex_lock(&t->gate.throttle_lock);
	answer = let_through(q, req, now_ns);
	if (locked)
		pthread_mutex_unlock(&t->gate.throttle_lock);
	if (answer == GATE_OPEN)
		debug_gate(t, req->op, "is let through");
	return answer;
}

int gate_wait(struct target *t, uint64_t n, uint64_t until_ns)
{
	struct event *e = &t->gate.event;

	debug_gate(t, n, "waits for other targets");
	for (;;) {
		uint32_t key = event_listen(e);
		uint64_t now = clock_now_ns(), answer;
		bool stopped = stop_why(&t->run->stop) != STOP_NONE;

		if (stopped || now >= until_ns || atomic_load(&t->state.over)) {
			event_leave(e);
			return stopped ? -ECANCELED : 0;
		}
		answer = ask(t, n, now);
		if (answer == GATE_OPEN || answer == GATE_CLOSED) {
			event_leave(e);
			return 0;
		}
		event_wait(e, key, answer < until_ns ? answer : until_ns);
	}
}

/* Whether nothing more of the pass may be issued; if not, `*until` is no later than when to look again. */
static bool rest_is_over(struct target *t, uint64_t now_ns, uint64_t *until)
{
	uint64_t stop = GATE_CLOSED;

	if (stop_requested(&t->run->stop) || atomic_load(&t->state.over))
		return true;
	if (t->gate.stop_by)
		stop = ask_trigger(&t->plan->stop_trigger, t->gate.stop_by, t, now_ns);
	if (stop < *until)
		*until = stop;
	return stop == GATE_OPEN;
}

/* Nobody signals the event of a target without a gate: the end of its pass is polled. */
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
			event_signal(&w->who->gate.event);
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
	atomic_store(&t->gate.granted, 0);
	t->gate.slices = 0;
	t->gate.slice_end_ns = 0;
	if (t->run->plan->syncio_ops)
		syncio_begin(&t->run->syncio, t->plan->number, t->pass);
}

void gate_start(struct target *t, uint64_t start_ns)
{
	if (t->followed && !t->gate.start_by)
		begin(t, start_ns);
}

void gate_end_pass(struct target *t)
{
	struct progress *p = progress_of(t, t);

	if (!t->gated && !t->followed)
		return;
	if (t->gate.start_by && !atomic_load(&p->start_ns) && !stop_requested(&t->run->stop))
		log_warning("target %u, %s: it did nothing in pass %" PRIu64
			    ": target %u did not get to where it pulls the start trigger",
			    t->plan->number, t->plan->path, t->pass,
			    t->gate.start_by->plan->number);
	atomic_store(&p->end_ns, clock_now_ns());
	atomic_store(&p->over, true);
	wake_watchers(t);
	if (t->run->plan->syncio_ops && syncio_leave(&t->run->syncio, t->plan->number, t->pass))
		wake_all(t->run);
}

/* Have `who` woken each time another `each` of `t` is complete, and when it begins and ends. */
static int watch(struct target *t, struct target *who, struct measure each)
{
	struct gate *g = &t->gate;
	struct gate_watch *watches = realloc(g->watches, (g->n_watches + 1) * sizeof(*watches));

	if (!watches)
		return -ENOMEM;
	g->watches = watches;
	g->watches[g->n_watches++] = (struct gate_watch){ who, each };
	t->followed = true;
	return 0;
}

/* A slave that can hold its master: both sides are counted. */
static int add_counted_slave(struct target *master, struct target *slave)
{
	struct gate *g = &master->gate;
	size_t size = (g->n_counted_slaves + 1) * sizeof(struct target *);
	struct target **slaves = realloc(g->counted_slaves, size);

	if (!slaves)
		return -ENOMEM;
	g->counted_slaves = slaves;
	g->counted_slaves[g->n_counted_slaves++] = slave;
	master->gated = g->others = true;
	return watch(slave, master, slave->plan->lockstep.what);
}

static int tie_trigger(struct run *run, struct target *t, const struct trigger_plan *plan,
		       struct target **by)
{
	if (!plan->on)
		return 0;
	*by = &run->targets[plan->by];
	t->gated = true;
	return watch(*by, t, plan->when);
}

static int tie(struct run *run, struct target *t)
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
		err = tie_trigger(run, t, &t->plan->start_trigger, &t->gate.start_by);
	if (!err)
		err = tie_trigger(run, t, &t->plan->stop_trigger, &t->gate.stop_by);
	t->gate.last_alone = t->plan->tail_bytes && plan_writes(t->plan) &&
			     t->plan->queue_depth > 1 && t->plan->pass_ops > 1;
	t->gate.others |= t->gate.master || t->gate.start_by || run->plan->syncio_ops;
	if (run->plan->syncio_ops || t->gate.last_alone)
		t->gated = t->followed = true;
	return err;
}

static void cancel(void *arg)
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
		err = tie(run, &run->targets[i]);
		any |= run->targets[i].gated;
	}
	if (!err && run->plan->syncio_ops)
		err = syncio_init(&run->syncio, run->plan->n_targets);
	return err || !any ? err : stop_on_request(&run->stop, cancel, run);
}

void gate_destroy(struct run *run)
{
	for (size_t i = 0; run->targets && i < run->plan->n_targets; i++) {
		free(run->targets[i].gate.watches);
		free(run->targets[i].gate.counted_slaves);
	}
	syncio_destroy(&run->syncio);
}
