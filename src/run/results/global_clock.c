/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The global clock of a run, and -starttime; see the header.
 *
 * Without a time server it is the wall clock as it was when the first pass began: a clock that is
 * set during the run must not move results against each other.
 */
#include "run/results/global_clock.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "run/endtoend/endtoend.h"
#include "run/meter/meter.h"
#include "run/progress/ranks.h"
#include "run/run_state.h"
#include "xdd/base/log.h"
#include "xdd/base/units.h"
#include "xdd/report/result.h"
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
		report_finding(run->report, finding_of_run(NULL, false), SAYS(LATE),
			       (double)(release_ns - at) / 1e9);
	return start_time_moment(run, release_ns);
}

#define SERVER_SIZE 300
#define MAX_DRIFT 500e-6 /* that globaltime.h allows for */

uint64_t global_clock_local_ns(const struct run *run, uint64_t global_ns)
{
	int64_t offset = clock_wall_offset_ns();
	struct globaltime g;

	if (run->clock)
		globaltime_get(run->clock, clock_now_ns(), &g);
	/* With the drift until then; what the first round is wrong by drifts as well. */
	for (int round = 0; run->clock && round < 2; round++) {
		globaltime_get(run->clock, global_ns - (uint64_t)g.offset_ns, &g);
		offset = g.offset_ns;
	}
	return (int64_t)global_ns > offset ? global_ns - (uint64_t)offset : 0;
}

/* Return the clock at `at_ns`, as far as is known now. */
static struct global_anchor anchor(const struct global_clock *c, const struct run *run,
				   uint64_t at_ns)
{
	struct global_anchor a = { .at_ns = at_ns, .g = { .offset_ns = c->wall_ns } };

	if (run->clock)
		globaltime_get(run->clock, at_ns, &a.g);
	else if (run->group)
		ranks_globaltime(run, &a.g);
	return a;
}

void global_clock_begin(struct global_clock *c, const struct run *run)
{
	c->wall_ns = clock_wall_offset_ns();
	c->begin = anchor(c, run, clock_now_ns());
}

/* A step between the two leaves nothing to draw a line to: both ends are by the new clock. */
static void span_of(struct global_span *s, const struct global_clock *c, const struct run *run,
		    const struct global_anchor *from)
{
	s->from = *from;
	s->to = anchor(c, run, clock_now_ns());
	if (s->from.g.steps != s->to.g.steps)
		s->from = anchor(c, run, from->at_ns);
}

/* The earliest operation of the first pass, without requested delays. */
static void take_start(struct global_clock *c, const struct run *run, const struct pass_result *r)
{
	const uint64_t local_ns = r->first_issue_ns - r->shift_ns;
	const struct global_anchor *b = &c->begin;
	const double since = (double)(int64_t)(local_ns - b->at_ns);
	uint64_t global_ns;

	if (r->pass != 1 || r->first_issue_ns == UINT64_MAX)
		return;
	global_ns = local_ns + (uint64_t)b->g.offset_ns +
		    (uint64_t)(int64_t)(since * b->g.drift_ppm / 1e6);
	if (c->start.achieved_ns && c->start.achieved_ns <= global_ns)
		return;
	c->start.achieved_ns = global_ns;
	c->start.bound_known = run->clock || run->group;
	c->start.bound_ns = b->g.bound_ns + (uint64_t)(fabs(since) * MAX_DRIFT);
}

void global_clock_pass(struct global_clock *c, const struct run *run, const struct pass_result *r,
		       struct global_anchor *last, struct global_span *span)
{
	take_start(c, run, r);
	span_of(span, c, run, last->at_ns ? last : &c->begin);
	*last = span->to;
}

void global_clock_run(const struct global_clock *c, const struct run *run, struct global_span *span)
{
	span_of(span, c, run, &c->begin);
}

static uint64_t span_global_ns(const struct global_span *s, uint64_t local_ns)
{
	const double length = (double)(int64_t)(s->to.at_ns - s->from.at_ns);
	const double share = length > 0 ? (double)(int64_t)(local_ns - s->from.at_ns) / length : 0;
	const double drift = (double)(s->to.g.offset_ns - s->from.g.offset_ns) * share;

	return local_ns + (uint64_t)s->from.g.offset_ns + (uint64_t)(int64_t)drift;
}

void global_span_fill(const struct global_span *span, struct figures *f)
{
	const struct tally *t = &f->tally;

	if (!t->last_done_ns || t->first_issue_ns == UINT64_MAX)
		return;
	f->begin_ns = span_global_ns(span, t->first_issue_ns);
	f->finish_ns = span_global_ns(span, t->last_done_ns);
}

/* One warning, and the run goes on: bounds have grown. */
static void global_clock_warn(const struct run *run, const struct clock_result *c,
			      const struct globaltime *end)
{
	const uint64_t most = run->plan->timeserver.max_error_ns;
	const char *what = c->steps	   ? "its clock was set, or another server answered" :
			   !end->answering ? "it does not answer any more" :
			   most && c->bound_at_end_ns > most ?
					     "its clock is known less exactly than maxerror" :
					     NULL;

	if (what)
		log_warning("-timeserver %s: %s; global times are right within %.6f ms at the end",
			    c->server, what, (double)c->bound_at_end_ns / 1e6);
}

static void report_served(const struct global_clock *c, const struct run *run)
{
	const struct timeserver_options *s = &run->plan->timeserver;
	const bool bare = strchr(s->host, ':') && *s->host != '[';
	char server[SERVER_SIZE];
	struct globaltime end;
	struct clock_result clock;

	globaltime_get(run->clock, clock_now_ns(), &end);
	/* An IPv6 number needs brackets before a port. */
	snprintf(server, sizeof(server), bare ? "[%s]:%" PRIu64 : "%s:%" PRIu64, s->host, s->port);
	clock = (struct clock_result){
		.server = server,
		.offset_ns = c->begin.g.offset_ns - c->wall_ns,
		.local_ns = c->begin.g.offset_ns,
		.bound_ns = c->begin.g.bound_ns,
		.bound_at_end_ns = end.bound_ns,
		.drift_known = end.drift_known,
		.drift_ppm = end.drift_ppm,
		.round_trip_ns = end.round_trip_ns,
		.exchanges = end.exchanges,
		.lost = end.lost,
		.steps = end.steps,
	};
	global_clock_warn(run, &clock, &end);
	report_clock(run->report, &clock);
}

void global_clock_report(struct global_clock *c, const struct run *run)
{
	struct clock_result wall = { .local_ns = c->begin.g.offset_ns };

	ranks_clock(run, &wall);

	if (run->clock && c->begin.at_ns)
		report_served(c, run);
	else if (!run->clock)
		report_clock(run->report, &wall);
	if (!c->start.achieved_ns)
		return;
	c->start.requested_ns = run->plan->start_time_ns;
	report_start(run->report, &c->start);
}
