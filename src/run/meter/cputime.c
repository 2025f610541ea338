/*
 * Processor time in the elapsed time of passes; see the header. Called by QThreads and the results
 * manager.
 */
#include "run/meter/cputime.h"

#include <time.h>

#include "run/qthread.h"
#include "run/run_state.h"
#include "run/target.h"
#include "xdd/base/units.h"
#include "xdd/sys/clock.h"

static void read_thread(struct cpu_reading *r)
{
	struct timespec used;

	clock_thread_cpu(&r->divided);
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
	r->used_ns = (uint64_t)used.tv_sec * NS_PER_SEC + (uint64_t)used.tv_nsec;
	r->at_ns = clock_now_ns();
}

static uint64_t since(uint64_t now, uint64_t before)
{
	return now > before ? now - before : 0;
}

/* Of a QThread that enters or leaves its pass for all others as well. */
static void read_process(struct run_cpu *c, bool enters)
{
	uint64_t now = clock_now_ns();
	struct cpu_time used;

	clock_process_cpu(&used);
	atomic_fetch_add(&c->wall_ns, enters ? -now : now);
	atomic_fetch_add(&c->user_ns, enters ? -used.user_ns : used.user_ns);
	atomic_fetch_add(&c->sys_ns, enters ? -used.sys_ns : used.sys_ns);
}

static void add_own(struct run_cpu *c, const struct cpu_time *from, const struct cpu_time *to)
{
	atomic_fetch_add(&c->own_user_ns, since(to->user_ns, from->user_ns));
	atomic_fetch_add(&c->own_sys_ns, since(to->sys_ns, from->sys_ns));
}

/*
 * True for the QThread that reads the time of the process as `q` enters its pass. The time of the
 * process costs a walk over all threads: where all QThreads of the run enter each pass together,
 * the first does it for all of them, and QThreads that leave a short pass before others have
 * entered do not read it again.
 */
static bool enters_first(struct run_cpu *c, const struct qthread *q)
{
	uint64_t pass, before;

	if (!c->together)
		return atomic_fetch_add(&c->active, 1) == 0;
	pass = atomic_load(&q->target->pass);
	before = pass - 1;
	if (!atomic_compare_exchange_strong(&c->pass, &before, pass))
		return false;
	/* Those that have left by now have counted themselves off below 0. */
	atomic_fetch_add(&c->active, c->together);
	return true;
}

/*
 * A QThread reads its own time outside of that of the process, so that the difference is that of
 * others.
 */
void cputime_begin(struct qthread *q)
{
	struct run_cpu *c = &q->target->run->cpu;

	q->cpu = (struct cpu_meter){ 0 };
	read_thread(&q->cpu.begin);
	if (enters_first(c, q))
		read_process(c, true);
}

void cputime_first(struct qthread *q)
{
	read_thread(&q->cpu.first);
	q->cpu.issued = true;
}

void cputime_last(struct qthread *q)
{
	read_thread(&q->cpu.last);
	q->cpu.finished = true;
}

void cputime_end(struct qthread *q)
{
	struct run_cpu *c = &q->target->run->cpu;
	struct cpu_meter *m = &q->cpu;

	if (!m->finished)
		read_thread(&m->last);
	m->early = atomic_fetch_sub(&c->active, 1) != 1;
	if (!m->early)
		read_process(c, false);
	clock_thread_cpu(&m->end);
	add_own(c, &m->begin.divided, &m->end);
}

void cputime_left(struct qthread *q)
{
	struct cpu_time now;

	if (!q->cpu.early)
		return;
	clock_thread_cpu(&now);
	add_own(&q->target->run->cpu, &q->cpu.end, &now);
}

/* Of what was used between two readings, as much as fits between `first_ns` and `last_ns`. */
static void add_part(struct cpu_time *sum, const struct cpu_reading *a, const struct cpu_reading *b,
		     uint64_t first_ns, uint64_t last_ns)
{
	uint64_t from = a->at_ns > first_ns ? a->at_ns : first_ns;
	uint64_t to = b->at_ns < last_ns ? b->at_ns : last_ns;
	uint64_t most = since(to, from), used = since(b->used_ns, a->used_ns), user;
	uint64_t user_part = since(b->divided.user_ns, a->divided.user_ns);
	uint64_t sys_part = since(b->divided.sys_ns, a->divided.sys_ns);

	if (used > most)
		used = most;
	user = used;
	if (sys_part)
		user = (uint64_t)((double)used * (double)user_part /
				  (double)(user_part + sys_part));
	sum->user_ns += user;
	sum->sys_ns += used - user;
}

struct cpu_time cputime_within(const struct cpu_meter *m, uint64_t first_ns, uint64_t last_ns)
{
	struct cpu_time sum = { 0 };

	if (m->issued) {
		add_part(&sum, &m->begin, &m->first, first_ns, last_ns);
		add_part(&sum, &m->first, &m->last, first_ns, last_ns);
	} else {
		add_part(&sum, &m->begin, &m->last, first_ns, last_ns);
	}
	return sum;
}

uint64_t cputime_waited(const struct qthread *q, uint64_t first_ns, uint64_t last_ns,
			struct cpu_time cpu)
{
	const uint64_t rest = since(since(last_ns, first_ns), cpu.user_ns + cpu.sys_ns);

	return q->wait_ns < rest ? q->wait_ns : rest;
}

struct cpu_time cputime_of_others(const struct run_cpu *c, uint64_t elapsed_ns, uint64_t most_ns)
{
	struct cpu_time used = { atomic_load(&c->user_ns), atomic_load(&c->sys_ns) };
	uint64_t wall = atomic_load(&c->wall_ns);
	double share, all;

	/* A QThread that never came out of its pass. */
	if (atomic_load(&c->active)) {
		struct cpu_time now;

		clock_process_cpu(&now);
		used.user_ns += now.user_ns;
		used.sys_ns += now.sys_ns;
		wall += clock_now_ns();
	}
	used.user_ns = since(used.user_ns, atomic_load(&c->own_user_ns));
	used.sys_ns = since(used.sys_ns, atomic_load(&c->own_sys_ns));
	/* Before the first operation counts for them no more than for QThreads. */
	share = elapsed_ns < wall ? (double)elapsed_ns / (double)wall : 1;
	all = share * (double)(used.user_ns + used.sys_ns);
	if (all > (double)most_ns)
		share *= (double)most_ns / all;
	return (struct cpu_time){
		.user_ns = (uint64_t)(share * (double)used.user_ns),
		.sys_ns = (uint64_t)(share * (double)used.sys_ns),
	};
}
