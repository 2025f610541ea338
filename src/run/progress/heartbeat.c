/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The lines of the heartbeat, from snapshots of running targets. Started by run_execute(). QThreads
 * and the results manager report the ends of passes, the results manager the end of the run; the
 * signal thread requests a line.
 *
 * Lines are made with h->lock, and written by the thread of the heartbeat without it: a terminal
 * that is stopped delays neither a pass nor a sample.
 */
#include "run/progress/heartbeat.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "run/meter/meter.h"
#include "run/qthread.h"
#include "run/run_state.h"
#include "run/target.h"
#include "xdd/base/log.h"
#include "xdd/base/memory.h"
#include "xdd/base/output.h"
#include "xdd/base/units.h"
#include "xdd/plan/plan.h"
#include "xdd/report/heartbeat.h"
#include "xdd/report/report.h"
#include "xdd/stat/counters.h"
#include "xdd/stat/figures.h"
#include "xdd/stat/histogram.h"
#include "xdd/sync/thread.h"
#include "xdd/sync/wait.h"
#include "xdd/sys/clock.h"

/* Read the counters of a pass. Returns its number; 0: the first has not been set up. */
static uint64_t read_target(struct target *t, struct tally *tally)
{
	uint64_t pass;

	tally_clear(tally);
	pthread_mutex_lock(&t->sample_lock);
	pass = atomic_load(&t->pass);
	for (uint32_t i = 0; i < t->plan->qthreads; i++)
		tally_add_counters(tally, &t->qthreads[i].counters);
	pthread_mutex_unlock(&t->sample_lock);
	return pass;
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

static void heartbeat_sample_take(const struct heartbeat *h, struct target *t,
				  struct heartbeat_sample *s, uint64_t now_ns)
{
	const struct heartbeat_target *own = &h->targets[t->plan->number];
	struct tally tally;
	const uint64_t pass = read_target(t, &tally);
	const bool begun = tally.first_issue_ns != UINT64_MAX;

	*s = (struct heartbeat_sample){ .target = t->plan, .options = &t->plan->heartbeat };
	if (own->pass && (!begun || pass <= own->pass)) {
		take_complete(own, s, now_ns);
		return;
	}
	s->pass = pass ? pass : 1;
	if (!begun)
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

/* Take `h->samples`, without latencies, at `now_ns` of the kernel's clock. */
static void heartbeat_take(struct heartbeat *h, uint64_t now_ns)
{
	size_t n = h->run->plan->n_targets;
	double left;

	for (size_t i = 0; i < n; i++)
		heartbeat_sample_take(h, &h->run->targets[i], &h->samples[i], now_ns);
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
 * heartbeat_ready() before the first operation.
 */
static void take_latency(struct heartbeat_target *own, struct target *t, struct heartbeat_sample *s,
			 bool shown)
{
	struct latency now;
	bool same;
	int err;

	pthread_mutex_lock(&t->sample_lock);
	same = atomic_load(&t->pass) == s->pass;
	err = target_latency_copy(&now, t);
	pthread_mutex_unlock(&t->sample_lock);
	if (!err && same) {
		take_figures(own, s->pass, &now, &s->median_ns, &s->p99_ns, &s->longest_ns);
		if (shown) {
			latency_free(&own->line_latency);
			own->line_latency = now;
			return;
		}
	}
	latency_free(&now);
}

/*
 * Add to a copy of `h->samples[target]` the latencies since the last line. `shown`: the copy is for
 * a line, and the next line counts from here.
 */
static void heartbeat_select(struct heartbeat *h, size_t target, struct heartbeat_sample *s,
			     bool shown, uint64_t now_ns)
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

#define DEFAULT_INTERVAL_NS NS_PER_SEC
#define UNASKED_AFTER_NS (2 * NS_PER_SEC)
#define PENDING_MAX (4u << 20)
#define CLOSING_SHARE \
	10 /* a line about the end of a pass is left out this soon after a regular one */

static const struct heartbeat_options defaults = { .fields = HEARTBEAT_DEFAULT };

/* ---- lines ---- */

static bool is_of_stream(const struct heartbeat_stream *stream, const struct target_plan *t)
{
	if (t->number < stream->first || t->number > stream->last)
		return false;
	return stream->unasked ||
	       (t->heartbeat.on && (stream->file.fd >= 0 || !t->heartbeat.output));
}

/* Collect the samples of a stream in `h->selected`. Returns their number. With h->lock. */
static size_t select_samples(struct heartbeat *h, const struct heartbeat_stream *stream, bool shown,
			     uint64_t now_ns)
{
	size_t n = 0;

	for (size_t i = 0; i < h->run->plan->n_targets; i++) {
		if (is_of_stream(stream, &h->run->plan->targets[i]))
			heartbeat_select(h, i, &h->selected[n++], shown, now_ns);
	}
	return n;
}

/*
 * Add a line to those that the stream must write; on a terminal it replaces the line before. With
 * h->lock.
 */
static void add_pending(struct heartbeat_stream *stream, const char *text, size_t bytes)
{
	size_t before = stream->redrawn ? 0 : stream->pending_bytes;
	char *all;

	/* The output accepts nothing. */
	if (before + bytes > PENDING_MAX)
		return;
	all = realloc(stream->pending, before + bytes + 1);
	if (!all)
		return;
	memcpy(all + before, text, bytes + 1);
	stream->pending = all;
	stream->pending_bytes = before + bytes;
}

/* Make a line of `h->samples`, which were taken at `now_ns`. With h->lock. */
static void make_line(struct heartbeat *h, struct heartbeat_stream *stream, uint64_t now_ns)
{
	struct heartbeat_time when = { .run_ns = now_ns - h->start_ns, .beat = stream->beats++ };
	size_t n = select_samples(h, stream, !stream->unasked, now_ns);
	struct memstream m;

	if (!n || !memstream_open(&m))
		return;
	if (stream->unasked && report_title(h->run->report))
		fprintf(m.f, "%s: ", report_title(h->run->report));
	if (stream->unasked)
		heartbeat_progress(m.f, h->run->plan, h->selected, n);
	else if (stream->file.fd >= 0)
		heartbeat_row(m.f, &when, h->selected);
	else
		heartbeat_line(m.f, &when, h->selected, n, stream->redrawn ? ' ' : '\n');
	if (!stream->redrawn)
		fputc('\n', m.f);
	if (!memstream_close(&m))
		add_pending(stream, m.text, m.size);
	free(m.text);
}

/*
 * Write the pending lines of `stream`. Returns false if there are none. With h->lock, which is
 * released meanwhile.
 */
static bool write_pending(struct heartbeat *h, struct heartbeat_stream *stream)
{
	char *text = stream->pending;

	if (!text)
		return false;
	stream->pending = NULL;
	stream->pending_bytes = 0;
	pthread_mutex_unlock(&h->lock);
	if (stream->file.fd >= 0)
		outfile_write(&stream->file, text, strlen(text));
	else if (stream->redrawn)
		log_transient(text);
	else
		log_raw(text);
	free(text);
	pthread_mutex_lock(&h->lock);
	return true;
}

void heartbeat_now(struct heartbeat *h)
{
	const struct heartbeat_stream all = { .file = { .fd = -1 },
					      .unasked = true,
					      .last = UINT32_MAX };
	uint64_t now = clock_kernel_ns();
	struct heartbeat_time when = { .run_ns = now - h->start_ns };
	struct memstream m;
	size_t n;

	pthread_mutex_lock(&h->lock);
	heartbeat_take(h, now);
	n = select_samples(h, &all, false, now);
	for (size_t i = 0; i < n; i++) {
		if (!h->selected[i].options->on)
			h->selected[i].options = &defaults;
	}
	if (memstream_open(&m)) {
		heartbeat_line(m.f, &when, h->selected, n, '\n');
		fputc('\n', m.f);
	}
	pthread_mutex_unlock(&h->lock);
	if (!memstream_close(&m))
		log_raw(m.text);
	free(m.text);
}

void heartbeat_ready(struct heartbeat *h)
{
	pthread_mutex_lock(&h->lock);
	pthread_mutex_unlock(&h->lock);
}

/* ---- ends of passes ---- */

/* A pass that all targets of a stream have completed. */
struct end_of_pass {
	uint64_t pass;
	uint64_t end_ns; /* when the last of them did */
	bool in_line;	 /* the last line was about that pass of all of them */
};

/* With h->lock. */
static struct end_of_pass end_of_pass(const struct heartbeat *h,
				      const struct heartbeat_stream *stream)
{
	struct end_of_pass end = { .pass = UINT64_MAX, .in_line = true };

	for (size_t i = 0; i < h->run->plan->n_targets; i++) {
		const struct heartbeat_target *own = &h->targets[i];

		if (!is_of_stream(stream, &h->run->plan->targets[i]))
			continue;
		end.pass = own->pass < end.pass ? own->pass : end.pass;
		end.end_ns = own->end_ns > end.end_ns ? own->end_ns : end.end_ns;
		end.in_line &= own->line_pass == own->pass;
	}
	return end;
}

/* True: a regular line came less than a part of an interval before `end_ns`, or after it. */
static bool is_just_shown(const struct heartbeat_stream *stream, uint64_t end_ns)
{
	return stream->line_ns && end_ns < stream->line_ns + stream->interval_ns / CLOSING_SHARE;
}

void heartbeat_pass_closed(struct heartbeat *h, bool more)
{
	uint64_t now = clock_kernel_ns();

	if (!h->started)
		return;
	pthread_mutex_lock(&h->lock);
	h->over = !more && !h->run->plan->no_barrier;
	heartbeat_take(h, now);
	for (size_t i = 0; i < h->n_streams; i++) {
		struct heartbeat_stream *stream = &h->streams[i];
		struct end_of_pass end = end_of_pass(h, stream);

		if (stream->redrawn || end.pass <= stream->closed_pass)
			continue;
		if (!end.in_line || !is_just_shown(stream, end.end_ns))
			make_line(h, stream, now);
		stream->closed_pass = end.pass;
	}
	pthread_cond_signal(&h->changed);
	pthread_mutex_unlock(&h->lock);
}

/* ---- the threads ---- */

/* Make the lines that are due. Returns when the next one is due. Thread of the sampler. */
static uint64_t make_lines(void *arg)
{
	struct heartbeat *h = arg;
	uint64_t now, next = UINT64_MAX;
	bool taken = false;

	pthread_mutex_lock(&h->lock);
	now = clock_kernel_ns();
	for (size_t i = 0; i < h->n_streams && !h->quit; i++) {
		struct heartbeat_stream *stream = &h->streams[i];

		if (stream->next_ns <= now) {
			if (!taken)
				heartbeat_take(h, now);
			taken = true;
			make_line(h, stream, now);
			stream->line_ns = now;
			/* A late line is not repeated. */
			stream->next_ns += stream->interval_ns *
					   ((now - stream->next_ns) / stream->interval_ns + 1);
		}
		next = ns_earlier(next, stream->next_ns);
	}
	if (taken)
		pthread_cond_signal(&h->changed);
	pthread_mutex_unlock(&h->lock);
	return next;
}

static void *writer_main(void *arg)
{
	struct heartbeat *h = arg;

	debug_line(DEBUG_TASK, "heartbeat: thread %d starts", gettid());
	pthread_mutex_lock(&h->lock);
	while (!h->quit) {
		bool wrote = false;

		for (size_t i = 0; i < h->n_streams; i++)
			wrote |= write_pending(h, &h->streams[i]);
		if (!wrote && !h->quit)
			pthread_cond_wait(&h->changed, &h->lock);
	}
	pthread_mutex_unlock(&h->lock);
	debug_line(DEBUG_TASK, "heartbeat: thread %d ends", gettid());
	return NULL;
}

/* ---- start and end ---- */

static struct heartbeat_stream *add_stream(struct heartbeat *h, uint64_t interval_ns,
					   uint64_t first_beat_ns)
{
	struct heartbeat_stream *stream = &h->streams[h->n_streams++];

	*stream = (struct heartbeat_stream){ .file = { .fd = -1 },
					     .last = UINT32_MAX,
					     .interval_ns = interval_ns,
					     .next_ns = h->start_ns + first_beat_ns };
	return stream;
}

static uint64_t interval_of(const struct target_plan *t)
{
	return t->heartbeat.interval_ns ? t->heartbeat.interval_ns : DEFAULT_INTERVAL_NS;
}

static int add_file(struct heartbeat *h, const struct target_plan *t)
{
	struct heartbeat_stream *stream = add_stream(h, interval_of(t), interval_of(t));
	int err = heartbeat_open(&stream->file, t);

	stream->first = stream->last = t->number;
	if (err)
		target_error(t, "-heartbeat output %s: %s", t->heartbeat.output,
			     output_strerror(err));
	return err;
}

/* Show progress on a terminal, once the run has lasted for a while. */
static void add_unasked(struct heartbeat *h)
{
	struct heartbeat_stream *stream = add_stream(h, DEFAULT_INTERVAL_NS, UNASKED_AFTER_NS);

	stream->redrawn = true;
	stream->unasked = true;
}

/* Add one stream for all lines on standard error, at the shortest of the intervals. */
static void add_stderr(struct heartbeat *h, const struct plan *plan)
{
	uint64_t interval = UINT64_MAX;
	bool lf = !log_is_terminal(), off = plan->quiet;

	for (size_t i = 0; i < plan->n_targets; i++) {
		const struct heartbeat_options *o = &plan->targets[i].heartbeat;

		off |= o->off;
		if (!o->on || o->output)
			continue;
		lf |= o->fields & HEARTBEAT_LF;
		if (interval_of(&plan->targets[i]) < interval)
			interval = interval_of(&plan->targets[i]);
	}
	if (interval != UINT64_MAX)
		add_stream(h, interval, interval)->redrawn = !lf;
	else if (!off && log_is_terminal())
		add_unasked(h);
}

static int add_streams(struct heartbeat *h, const struct plan *plan)
{
	int err = 0;

	for (size_t i = 0; i < plan->n_targets && !err; i++) {
		const struct target_plan *t = &plan->targets[i];

		if (t->heartbeat.on && t->heartbeat.output)
			err = add_file(h, t);
	}
	if (!err)
		add_stderr(h, plan);
	return err;
}

int heartbeat_start(struct heartbeat *h, struct run *run)
{
	size_t n = run->plan->n_targets;
	int err;

	pthread_mutex_init(&h->lock, NULL);
	pthread_cond_init(&h->changed, NULL);
	h->run = run;
	h->start_ns = clock_kernel_ns();
	h->targets = calloc(n, sizeof(*h->targets));
	h->samples = calloc(n, sizeof(*h->samples));
	h->selected = calloc(n, sizeof(*h->selected));
	h->streams = calloc(n + 1, sizeof(*h->streams));
	if (!h->targets || !h->samples || !h->selected || !h->streams)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		latency_init(&h->targets[i].line_latency);
	err = add_streams(h, run->plan);
	if (!err && h->n_streams) {
		err = thread_start(&h->writer, writer_main, h);
		h->started = !err;
		ticker_add(&run->sampler, make_lines, h, h->start_ns);
	}
	return err;
}

/*
 * Make the last line of a stream: on a terminal one that stays, elsewhere one about a pass that was
 * not completed. With h->lock.
 */
static void make_last_line(struct heartbeat *h, struct heartbeat_stream *stream, uint64_t now_ns)
{
	bool closed = end_of_pass(h, stream).pass <= stream->closed_pass;

	for (size_t i = 0; i < h->run->plan->n_targets && closed; i++)
		closed = !is_of_stream(stream, &h->run->plan->targets[i]) ||
			 h->samples[i].state == HEARTBEAT_COMPLETE ||
			 h->samples[i].state == HEARTBEAT_CUT;
	if (stream->unasked || (!stream->redrawn && (closed || is_just_shown(stream, now_ns))))
		return;
	stream->redrawn = false;
	make_line(h, stream, now_ns);
}

void heartbeat_end(struct heartbeat *h)
{
	uint64_t now = clock_kernel_ns();

	if (!h->started)
		return;
	pthread_mutex_lock(&h->lock);
	h->quit = true;
	pthread_cond_signal(&h->changed);
	pthread_mutex_unlock(&h->lock);
	pthread_join(h->writer, NULL);
	h->started = false;
	pthread_mutex_lock(&h->lock);
	h->over = true;
	heartbeat_take(h, now);
	for (size_t i = 0; i < h->n_streams; i++) {
		struct heartbeat_stream *stream = &h->streams[i];

		make_last_line(h, stream, now);
		write_pending(h, stream);
	}
	pthread_mutex_unlock(&h->lock);
	/* Without h->lock, which the signal thread takes: messages may wait for their reader. */
	for (size_t i = 0; i < h->n_streams; i++) {
		struct heartbeat_stream *stream = &h->streams[i];
		int err = outfile_close(&stream->file);

		if (!err)
			continue;
		log_error("-heartbeat output: target %u: %s; lines are missing in its file",
			  stream->first, strerror(-err));
		h->run->manager.output_failed = true;
	}
	log_transient(NULL);
}

void heartbeat_destroy(struct heartbeat *h)
{
	for (size_t i = 0; h->targets && i < h->run->plan->n_targets; i++)
		latency_free(&h->targets[i].line_latency);
	for (size_t i = 0; i < h->n_streams; i++) {
		outfile_close(&h->streams[i].file);
		free(h->streams[i].pending);
	}
	free(h->targets);
	free(h->samples);
	free(h->selected);
	free(h->streams);
}
