/*
 * Snapshots of running targets, and their progress since the last line. Called by heartbeat.c.
 */
#include <math.h>

#include "run/meter/qthread_latency.h"
#include "run/progress/heartbeat.h"
#include "run/qthread.h"
#include "run/run_state.h"
#include "run/target.h"
#include "xdd/base/units.h"
#include "xdd/report/heartbeat.h"
#include "xdd/report/progress_line.h"
#include "xdd/stat/counters.h"
#include "xdd/stat/figures.h"
#include "xdd/stat/histogram.h"
#include "xdd/sync/wait.h"

/*
 * Read the counters of a pass together with its number. False: the target was changing from one
 * pass to the next.
 */
static bool read_target(const struct target *t, struct tally *tally, uint64_t *pass)
{
	uint32_t before = atomic_load(&t->pass_seq);

	tally_clear(tally);
	*pass = atomic_load(&t->pass);
	for (uint32_t i = 0; i < t->plan->qthreads; i++)
		tally_add_counters(tally, &t->qthreads[i].counters);
	return before % 2 == 0 && atomic_load(&t->pass_seq) == before;
}

/*
 * Time after which limits of the pass and of the run end a pass that began at `begin`; 0: no limit.
 */
static uint64_t limit_of(const struct target *t, uint64_t begin)
{
	uint64_t limit = t->plan->time_limit_ns, end = atomic_load(&t->run->end_ns);

	if (end == UINT64_MAX)
		return limit;
	end = end > begin ? end - begin : 1;
	return limit && limit < end ? limit : end;
}

static uint64_t span_ns(uint64_t from_ns, uint64_t to_ns)
{
	return to_ns > from_ns ? to_ns - from_ns : 0;
}

/*
 * Set the progress from the last line to `end_ns`; from `begin_ns` where the pass began after that
 * line.
 */
static void take_recent(const struct heartbeat_target *own, struct heartbeat_sample *s,
			uint64_t begin_ns, uint64_t end_ns)
{
	bool same = own->line_pass == s->pass;

	s->recent_ns = span_ns(same ? own->line_ns : begin_ns, end_ns);
	s->recent_ops = s->ops - (same ? own->line_ops : 0);
	s->recent_bytes = s->bytes - (same ? own->line_bytes : 0);
}

static void take_complete(const struct heartbeat_target *own, struct heartbeat_sample *s,
			  uint64_t now_ns)
{
	/* A line after the end of the pass has shown all of it, and nothing happened since. */
	bool shown = own->line_pass == own->pass && own->line_ns >= own->end_ns;

	s->state = own->cut ? HEARTBEAT_CUT : HEARTBEAT_COMPLETE;
	s->pass = own->pass;
	s->limit_ns = own->limit_ns;
	s->ops = own->ops;
	s->done_ops = own->done_ops;
	s->bytes = own->bytes;
	s->elapsed_ns = own->elapsed_ns;
	s->rested_ns = span_ns(own->end_ns, now_ns);
	take_recent(own, s, own->end_ns - own->elapsed_ns, shown ? now_ns : own->end_ns);
}

static void take(const struct heartbeat *h, const struct target *t, struct heartbeat_sample *s,
		 uint64_t now_ns)
{
	const struct heartbeat_target *own = &h->targets[t->plan->number];
	struct tally tally;
	uint64_t pass;
	bool sound = read_target(t, &tally, &pass), begun = tally.first_issue_ns != UINT64_MAX;

	*s = (struct heartbeat_sample){ .target = t->plan, .options = &t->plan->heartbeat };
	if (own->pass && (!sound || !begun || pass <= own->pass)) {
		take_complete(own, s, now_ns);
		return;
	}
	s->pass = sound && pass ? pass : 1;
	if (!sound || !begun)
		return;
	s->state = HEARTBEAT_RUNNING;
	s->ops = tally_ops(&tally);
	s->done_ops = s->ops + tally.errors + tally.warmup_ops;
	s->bytes = tally_bytes(&tally);
	s->elapsed_ns = span_ns(tally.first_issue_ns, now_ns);
	s->limit_ns = limit_of(t, tally.first_issue_ns);
	take_recent(own, s, tally.first_issue_ns, now_ns);
}

static double run_left(const struct heartbeat *h, uint64_t now_ns)
{
	uint64_t end = atomic_load(&h->run->end_ns);
	double limit = end == UINT64_MAX ? INFINITY :
					   (double)span_ns(now_ns, end) / (double)NS_PER_SEC;

	if (h->over || stop_requested(&h->run->stop))
		return 0;
	return heartbeat_left(h->run->plan, h->samples, limit);
}

void heartbeat_take(struct heartbeat *h, uint64_t now_ns)
{
	size_t n = h->run->plan->n_targets;
	double left;

	for (size_t i = 0; i < n; i++)
		take(h, &h->run->targets[i], &h->samples[i], now_ns);
	left = run_left(h, now_ns);
	for (size_t i = 0; i < n; i++)
		h->samples[i].left_s = left;
}

void heartbeat_summary(struct heartbeat *h, struct progress_line *p)
{
	const struct plan *plan = h->run->plan;
	double done = 1;

	*p = (struct progress_line){ .state = PROGRESS_READY,
				     .pass = UINT64_MAX,
				     .passes = plan->passes };
	pthread_mutex_lock(&h->lock);
	heartbeat_take(h, clock_kernel_ns());
	for (size_t i = 0; i < plan->n_targets; i++) {
		const struct heartbeat_sample *s = &h->samples[i];
		double share = heartbeat_share(s);

		if (s->state != HEARTBEAT_WAITING)
			p->state = PROGRESS_RUNNING;
		p->bytes += s->bytes;
		p->ops += s->ops;
		p->pass = s->pass < p->pass ? s->pass : p->pass;
		p->elapsed_ns = ns_later(p->elapsed_ns, s->elapsed_ns);
		done = share < done ? share : done;
	}
	p->left_s = h->samples[0].left_s >= 0 ? (int64_t)h->samples[0].left_s : -1;
	pthread_mutex_unlock(&h->lock);
	p->done_ppm = done >= 0 ? (int64_t)(done * 1e6) : -1;
}

/* Figures of `now` without the part that the last line counted, if that was in the same pass. */
static void take_figures(const struct heartbeat_target *own, uint64_t pass,
			 const struct latency *now, double *median_ns, double *p99_ns,
			 uint64_t *longest_ns)
{
	struct latency recent;
	struct histogram_view v;

	*median_ns = *p99_ns = NAN;
	*longest_ns = 0;
	latency_init(&recent);
	if (latency_add(&recent, now) == 0) {
		if (own->line_pass == pass)
			latency_subtract(&recent, &own->line_latency);
		v = latency_view(&recent, LATENCY_SERVICE, LATENCY_ALL_DIRS);
		*median_ns = histogram_known_percentile(&v, 50 * HISTOGRAM_PERCENT);
		*p99_ns = histogram_known_percentile(&v, 99 * HISTOGRAM_PERCENT);
		*longest_ns = histogram_max(&v);
	}
	latency_free(&recent);
}

/*
 * Read the latencies of a running target. Its histograms exist: all its QThreads called
 * heartbeat_ready() before the first operation. They are reset only while `pass_seq` is odd.
 */
static void take_latency(struct heartbeat_target *own, const struct target *t,
			 struct heartbeat_sample *s, bool shown)
{
	uint32_t turn = atomic_load(&t->pass_seq);
	struct latency now;
	int err = target_latency_copy(&now, t);

	if (!err && turn % 2 == 0 && atomic_load(&t->pass_seq) == turn &&
	    atomic_load(&t->pass) == s->pass) {
		take_figures(own, s->pass, &now, &s->median_ns, &s->p99_ns, &s->longest_ns);
		if (shown) {
			latency_free(&own->line_latency);
			own->line_latency = now;
			return;
		}
	}
	latency_free(&now);
}

void heartbeat_select(struct heartbeat *h, size_t target, struct heartbeat_sample *s, bool shown,
		      uint64_t now_ns)
{
	struct heartbeat_target *own = &h->targets[target];

	*s = h->samples[target];
	s->median_ns = s->p99_ns = NAN;
	if (s->state == HEARTBEAT_RUNNING && (s->options->fields & HEARTBEAT_LATENCY)) {
		if (shown && own->line_pass != s->pass)
			latency_free(&own->line_latency);
		take_latency(own, &h->run->targets[target], s, shown);
	} else if (s->state == HEARTBEAT_COMPLETE || s->state == HEARTBEAT_CUT) {
		s->median_ns = own->median_ns;
		s->p99_ns = own->p99_ns;
		s->longest_ns = own->longest_ns;
		if (shown) {
			own->median_ns = own->p99_ns = NAN;
			own->longest_ns = 0;
		}
	}
	if (!shown || s->state == HEARTBEAT_WAITING)
		return;
	own->line_pass = s->pass;
	own->line_ns = now_ns;
	own->line_ops = s->ops;
	own->line_bytes = s->bytes;
}

void heartbeat_pass_done(struct heartbeat *h, const struct target *t, const struct tally *tally,
			 const struct latency *latency)
{
	struct heartbeat_target *own = &h->targets[t->plan->number];

	pthread_mutex_lock(&h->lock);
	own->pass = atomic_load(&t->pass);
	own->ops = tally_ops(tally);
	own->done_ops = own->ops + tally->errors + tally->warmup_ops;
	own->cut = stop_requested(&t->run->stop) && own->done_ops < t->plan->pass_ops;
	own->limit_ns = limit_of(t, tally->first_issue_ns);
	own->bytes = tally_bytes(tally);
	own->elapsed_ns = tally_elapsed_ns(tally);
	own->end_ns = tally->last_done_ns;
	if (t->plan->heartbeat.fields & HEARTBEAT_LATENCY)
		take_figures(own, own->pass, latency, &own->median_ns, &own->p99_ns,
			     &own->longest_ns);
	pthread_mutex_unlock(&h->lock);
}
