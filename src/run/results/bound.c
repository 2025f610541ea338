/*
 * Verdicts; see the header. Called by the results manager.
 */
#include "run/results/bound.h"

#include "xdd/base/units.h"
#include "xdd/plan/engine_info.h"
#include "xdd/sys/machine.h"

/* Shorter passes are charged with processor time from before and after them. */
#define LEAST_NS (NS_PER_SEC / 1000)

/* Shares from which one cause is the cause. */
#define GENERATOR_SHARE 0.9
#define DEVICE_SHARE 0.8
#define STARVED_SHARE 0.5

/* Shares from which a cause counts. */
#define HELD_COUNTS 0.2
#define WAITED_COUNTS 0.2

/* A run that uses so much of its processors has itself to blame when its QThreads wait for them. */
#define FILLED 0.75

static double share(uint64_t part, double whole)
{
	double s = (double)part / whole;

	return s < 1 ? s : 1;
}

/* An end-to-end target waits for its peer as well: the verdict of its copy knows for which one. */
static bool has_device(const struct target_plan *t)
{
	return t->kind != TARGET_NULL && t->op != OP_NOOP && t->endtoend.role == E2E_NONE;
}

/* One operation at a time, whatever the depth. */
static bool is_serial(const struct target_plan *t)
{
	return t->ordering == ORDERING_SERIAL ||
	       (t->ordering == ORDERING_STRICT && !plan_queues(t));
}

/* How many processors the QThreads of the target may use. */
static unsigned processors_of(const struct plan *plan, const struct target_plan *t)
{
	const struct idset *given = t->processors ? t->processors : plan->processors;
	struct idset all;
	unsigned n = given ? idset_count(given) : topology_processors(&all) ? 1 : idset_count(&all);

	return n ? n : 1;
}

/* The share of its time in which a QThread was stopped by a CPU quota. */
static double quota_share(const struct plan *plan, double elapsed, uint64_t throttled_ns)
{
	double qthreads = 0;

	for (size_t i = 0; i < plan->n_targets; i++)
		qthreads += plan->targets[i].qthreads;
	return cgroup_throttled_share(throttled_ns, elapsed, qthreads);
}

bool bound_facts(struct bound_facts *f, const struct plan *plan, const struct result *sums,
		 const struct bound_run *run)
{
	const struct target_plan *t = &plan->targets[sums->target];
	const uint64_t all_ns = sums->figures.elapsed_ns;
	const uint64_t own_ns = all_ns > run->stopped_ns ? all_ns - run->stopped_ns : 0;
	const double elapsed = (double)own_ns, time = elapsed * t->qthreads;
	const double depth = is_serial(t) ? 1 : (double)t->queue_depth;
	const uint64_t cpu = sums->figures.cpu.user_ns + sums->figures.cpu.sys_ns;
	struct idset all;
	double own, everyone;

	*f = (struct bound_facts){ 0 };
	if (own_ns < LEAST_NS)
		return false;
	f->own = share(sums->figures.cpu.user_ns, time);
	f->kernel = share(sums->figures.cpu.sys_ns, time);
	f->waited = share(sums->figures.wait_ns, time);
	/* Some of the wait may have been before the first operation. */
	if (f->own + f->kernel + f->waited > 1)
		f->waited = f->own + f->kernel < 1 ? 1 - f->own - f->kernel : 0;
	f->quota = quota_share(plan, elapsed, run->throttled_ns);
	if (f->quota > f->waited)
		f->quota = f->waited;
	f->outstanding = share(tally_busy_ns(&sums->figures.tally), elapsed * depth);
	own = share(cpu, elapsed * processors_of(plan, t));
	everyone = topology_processors(&all) ? 0 : share(run->cpu_ns, elapsed * idset_count(&all));
	f->filled = own > everyone ? own : everyone;
	f->paced = plan_is_paced(plan, t);
	f->device = has_device(t);
	f->waited_unknown = !(sums->figures.known & FIGURES_WAIT);
	return true;
}

static double idle(const struct bound_facts *f)
{
	double busy = f->own + f->kernel + f->waited;

	return busy < 1 ? 1 - busy : 0;
}

double bound_held(const struct bound_facts *f)
{
	double unused = 1 - f->outstanding;

	if (!f->paced)
		return 0;
	return unused < idle(f) ? unused : idle(f);
}

enum result_bound bound_judge(const struct bound_facts *f)
{
	const double held = bound_held(f), device = idle(f) - held;
	const bool by_quota = f->waited >= WAITED_COUNTS && f->quota >= f->waited / 2;
	const bool by_others = by_quota || (f->waited >= WAITED_COUNTS && f->filled < FILLED);

	if (by_others && held >= HELD_COUNTS)
		return RESULT_BOUND_MIXED;
	if (by_others && f->waited < STARVED_SHARE && f->waited <= device)
		return RESULT_BOUND_MIXED;
	if (by_others)
		return by_quota ? RESULT_BOUND_QUOTA : RESULT_BOUND_STARVED;
	if (held >= HELD_COUNTS)
		return RESULT_BOUND_PACED;
	if (f->own + f->kernel + f->waited >= GENERATOR_SHARE)
		return RESULT_BOUND_GENERATOR;
	/* QThreads that are idle and not held wait for a device, or for an unknown cause. */
	if (!f->device || f->waited_unknown)
		return RESULT_BOUND_UNKNOWN;
	return device >= DEVICE_SHARE ? RESULT_BOUND_DEVICE : RESULT_BOUND_MIXED;
}

const char *bound_text(enum result_bound bound)
{
	switch (bound) {
	case RESULT_BOUND_DEVICE:
		return "device-bound";
	case RESULT_BOUND_GENERATOR:
		return "generator-bound";
	case RESULT_BOUND_PACED:
		return "paced";
	case RESULT_BOUND_STARVED:
		return "starved";
	case RESULT_BOUND_MIXED:
		return "mixed";
	case RESULT_BOUND_QUOTA:
		return "quota";
	case RESULT_BOUND_LIMIT:
		return "io_quota";
	case RESULT_BOUND_UNKNOWN:
		break;
	}
	return NULL;
}
