/*
 * -starttime; see the header.
 */
#include "run/results/start_time.h"

#include "run/endtoend/endtoend.h"
#include "run/results/global_clock.h"
#include "run/run_state.h"
#include "xdd/base/log.h"
#include "xdd/base/units.h"
#include "xdd/report/finding.h"
#include "xdd/sync/wait.h"
#include "xdd/sys/clock.h"

/* The clock may be set during the wait, and the drift becomes known: look again this often. */
#define POLL_NS NS_PER_SEC

/* So long before the barrier the time server is asked again: a fresh bound is a narrow one. */
#define REFRESH_NS (300 * NS_PER_MS)
#define REFRESH_MARGIN_NS (20 * NS_PER_MS)

/*
 * How long before the moment the barrier is passed: the threads wake one after the other, and an
 * end-to-end target tells the other side first.
 */
#define LEAD_NS (2 * NS_PER_MS)
#define LEAD_THREAD_NS (20 * NS_PER_US)
#define LEAD_MOST_NS NS_PER_SEC
#define LEAD_NETWORK_NS (100 * NS_PER_MS)

/* A sleep may end late by the slack of timers, and the time that a processor takes to wake. */
#define SPIN_NS (200 * NS_PER_US)

/* Later than this is worth a warning. */
#define LATE_NS (10 * NS_PER_MS)

static uint64_t lead_ns(const struct run *run)
{
	uint64_t lead = LEAD_NS + run->n_qthreads * LEAD_THREAD_NS;

	if (lead > LEAD_MOST_NS)
		lead = LEAD_MOST_NS;
	return endtoend_any(run) ? lead + LEAD_NETWORK_NS : lead;
}

/* clock_now_ns() at the start time, as far as the clock is known now. At least 1. */
static uint64_t due_ns(const struct run *run)
{
	uint64_t at = global_clock_local_ns(run, run->plan->start_time_ns);

	return at ? at : 1;
}

/* Ask the time server once more, for at most `rest_ns`. Silence leaves the bound as it is. */
static void refresh(const struct run *run, uint64_t now_ns, uint64_t rest_ns)
{
	if (rest_ns > REFRESH_MARGIN_NS)
		globaltime_refresh(run->clock, now_ns + rest_ns - REFRESH_MARGIN_NS);
}

static unsigned steps_of(const struct run *run)
{
	struct globaltime g = { .steps = 0 };

	if (run->clock)
		globaltime_get(run->clock, clock_now_ns(), &g);
	return g.steps;
}

/* A step of the server's clock moves the start; `*steps` are those that are known. */
static void tell_steps(const struct run *run, unsigned *steps, uint64_t now_ns, uint64_t due)
{
	const unsigned more = steps_of(run);

	if (more == *steps)
		return;
	*steps = more;
	log_warning("-timeserver %s: its clock was set, or another server answered, before the "
		    "start; the targets start in %.1f seconds (-starttime)",
		    run->plan->timeserver.host, due > now_ns ? (double)(due - now_ns) / 1e9 : 0);
}

int start_time_wait(struct run *run)
{
	const uint64_t lead = lead_ns(run);
	uint64_t now = clock_now_ns(), due;
	unsigned steps = steps_of(run);
	bool fresh = !run->clock;
	int err = 0;

	if (!run->plan->start_time_ns)
		return 0;
	due = due_ns(run);
	if (now < due)
		log_notice("the targets start in %.1f seconds (-starttime)",
			   (double)(due - now) / 1e9);
	while (now + lead < due && !err) {
		uint64_t rest = due - lead - now, nap = rest;

		if (!fresh && rest > REFRESH_NS) {
			nap = rest - REFRESH_NS;
		} else if (!fresh) {
			refresh(run, now, rest);
			fresh = true;
			nap = 0;
		}
		err = stop_sleep_until(&run->stop, now + (nap < POLL_NS ? nap : POLL_NS));
		clock_resync();
		due = due_ns(run);
		now = clock_now_ns();
		tell_steps(run, &steps, now, due);
	}
	run->manager.start_ns = due;
	return err;
}

uint64_t start_time_moment(const struct run *run, uint64_t release_ns)
{
	return ns_later(run->manager.start_ns, release_ns);
}

bool start_time_is_ahead(const struct run *run)
{
	return run->manager.start_ns && clock_now_ns() < run->manager.start_ns;
}

bool start_time_approach(struct run *run)
{
	const uint64_t at = run->manager.start_ns;

	if (at > SPIN_NS && stop_sleep_until(&run->stop, at - SPIN_NS))
		return false;
	return start_time_is_ahead(run);
}

void start_time_hold(const struct run *run)
{
	while (clock_now_ns() < run->manager.start_ns)
		;
}

uint64_t start_time_check(const struct run *run, uint64_t release_ns)
{
	const uint64_t at = run->manager.start_ns;

	if (at && release_ns > at + LATE_NS)
		report_finding(
			run->report, FINDING_LATE, FINDING_RUN,
			"the targets were not ready at the time of -starttime: they start %.3f "
			"seconds after it",
			(double)(release_ns - at) / 1e9);
	return start_time_moment(run, release_ns);
}
