/*
 * The heartbeat's thread, and snapshots of targets that are running. Started by run_execute(); told of
 * passes by QThreads, of the end by the results manager, and asked for a line by the signal thread.
 */
#include "xdd/run/heartbeat.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "xdd/base/debug.h"
#include "xdd/base/log.h"
#include "xdd/base/units.h"
#include "xdd/run/internal.h"
#include "xdd/run/thread.h"

#define DEFAULT_INTERVAL_NS UNITS_NS_PER_SEC
#define UNASKED_AFTER_NS (2 * UNITS_NS_PER_SEC)

/* What is shown when no word says it. */
static const struct heartbeat_options defaults = {
	.ops = true,
	.bw = true,
	.pct = true,
	.etc = true,
};

/* ---- how far a target is ---- */

/*
 * The counters of a pass and its number, together. False when the target was just going from one pass to
 * the next.
 */
static bool read_target(const struct target *t, struct tally *tally, uint64_t *pass)
{
	uint32_t before = atomic_load(&t->turn);

	tally_clear(tally);
	*pass = atomic_load(&t->pass);
	for (uint32_t i = 0; i < t->plan->qthreads; i++)
		tally_add_counters(tally, &t->qthreads[i].counters);
	return before % 2 == 0 && atomic_load(&t->turn) == before;
}

/* When the limits of the pass and of the run end a pass that began at `begin`; 0: they do not. */
static uint64_t limit_of(const struct target *t, uint64_t begin)
{
	uint64_t limit = t->plan->time_limit_ns, end = atomic_load(&t->run->end_ns);

	if (end == UINT64_MAX)
		return limit;
	end = end > begin ? end - begin : 1;
	return limit && limit < end ? limit : end;
}

static void take_sample(const struct heartbeat *h, const struct target *t,
			struct heartbeat_sample *s)
{
	const struct heartbeat_last *last = &h->last[t->plan->number];
	uint64_t now = clock_kernel_ns(), pass;
	struct tally tally;
	bool sound = read_target(t, &tally, &pass), begun = tally.first_issue_ns != UINT64_MAX;

	*s = (struct heartbeat_sample){ .target = t->plan, .options = &t->plan->heartbeat };
	if (last->pass && (!sound || !begun || pass <= last->pass)) {
		s->state = last->cut ? HEARTBEAT_CUT : HEARTBEAT_COMPLETE;
		s->pass = last->pass;
		s->limit_ns = last->limit_ns;
		s->ops = last->ops;
		s->done_ops = last->done_ops;
		s->bytes = last->bytes;
		s->elapsed_ns = last->elapsed_ns;
		return;
	}
	s->pass = sound ? pass : 1;
	if (!sound || !begun)
		return;
	s->state = HEARTBEAT_RUNNING;
	s->ops = tally_ops(&tally);
	s->done_ops = s->ops + tally.errors;
	s->bytes = tally_bytes(&tally);
	s->elapsed_ns = now > tally.first_issue_ns ? now - tally.first_issue_ns : 0;
	s->limit_ns = limit_of(t, tally.first_issue_ns);
}

/*
 * The latencies of the operations completed since this was asked last. Reading is safe: histograms are there
 * before anything is issued, and the lock has been taken since; they are emptied only while `turn` is odd.
 */
static void take_latency(struct heartbeat *h, const struct target *t, struct heartbeat_sample *s)
{
	struct heartbeat_last *last = &h->last[t->plan->number];
	uint32_t turn = atomic_load(&t->turn);
	uint64_t pass = atomic_load(&t->pass);
	struct histogram_view v;
	struct latency now, interval;
	int err = target_latency_copy(&now, t);

	latency_init(&interval);
	if (err || turn % 2 || atomic_load(&t->turn) != turn)
		goto out;
	if (last->shown_pass != pass) {
		latency_free(&last->shown);
		latency_init(&last->shown);
	}
	if (latency_add(&interval, &now))
		goto out;
	latency_subtract(&interval, &last->shown);
	v = latency_view(&interval, LATENCY_SERVICE, LATENCY_ALL_DIRS);
	if (histogram_count(&v)) {
		s->median_ns = histogram_percentile(&v, 50 * HISTOGRAM_PERCENT);
		s->p99_ns = histogram_percentile(&v, 99 * HISTOGRAM_PERCENT);
		s->longest_ns = histogram_max(&v);
	}
	latency_free(&last->shown);
	last->shown = now;
	last->shown_pass = pass;
	latency_init(&now);
out:
	latency_free(&interval);
	latency_free(&now);
}

/* ---- lines ---- */

static bool is_of_stream(const struct heartbeat_stream *stream, const struct target_plan *t)
{
	if (t->number < stream->first || t->number > stream->last)
		return false;
	return stream->unasked ||
	       (t->heartbeat.on && (stream->file.fd >= 0 || !t->heartbeat.output));
}

static size_t take_samples(struct heartbeat *h, const struct heartbeat_stream *stream)
{
	size_t n = 0;

	for (size_t i = 0; i < h->run->plan->n_targets; i++) {
		const struct target *t = &h->run->targets[i];

		if (!is_of_stream(stream, t->plan))
			continue;
		take_sample(h, t, &h->samples[n]);
		if (t->plan->heartbeat.latency && h->samples[n].state == HEARTBEAT_RUNNING)
			take_latency(h, t, &h->samples[n]);
		n++;
	}
	return n;
}

/*
 * The line of a stream, for write_line(); NULL without targets or memory. With the lock, which is not held
 * while the line is written: a terminal that is stopped would hold up the ends of passes.
 */
static char *make_line(struct heartbeat *h, struct heartbeat_stream *stream)
{
	struct heartbeat_time when = { .run_ns = clock_kernel_ns() - h->start_ns,
				       .beat = stream->beats++ };
	size_t n = take_samples(h, stream), size = 0;
	char *text = NULL;
	FILE *f = n ? open_memstream(&text, &size) : NULL;

	if (!f)
		return NULL;
	if (stream->unasked)
		heartbeat_progress(f, h->run->plan, h->samples, n);
	else
		heartbeat_line(f, &when, h->samples, n);
	if (!stream->redrawn)
		fputc('\n', f);
	if (fclose(f) == 0)
		return text;
	free(text);
	return NULL;
}

/* Write that line, and free it. Without the lock. */
static void write_line(struct heartbeat_stream *stream, char *text)
{
	if (!text)
		return;
	if (stream->file.fd >= 0)
		outfile_write(&stream->file, text, strlen(text));
	else if (stream->redrawn)
		log_transient(text);
	else
		log_raw(text);
	free(text);
}

void heartbeat_now(struct heartbeat *h)
{
	struct heartbeat_stream all = { .file = { .fd = -1 }, .unasked = true, .last = UINT32_MAX };
	struct heartbeat_time when = { 0 };
	char *text = NULL;
	size_t size = 0, n;
	FILE *f;

	pthread_mutex_lock(&h->lock);
	when.run_ns = clock_kernel_ns() - h->start_ns;
	n = take_samples(h, &all);
	for (size_t i = 0; i < n; i++) {
		if (!h->samples[i].options->on)
			h->samples[i].options = &defaults;
	}
	f = open_memstream(&text, &size);
	if (f) {
		heartbeat_line(f, &when, h->samples, n);
		fputc('\n', f);
	}
	pthread_mutex_unlock(&h->lock);
	if (f && fclose(f) == 0)
		log_raw(text);
	free(text);
}

void heartbeat_ready(struct heartbeat *h)
{
	pthread_mutex_lock(&h->lock);
	pthread_mutex_unlock(&h->lock);
}

/* ---- the thread ---- */

static void *heartbeat_main(void *arg)
{
	struct heartbeat *h = arg;

	debug_line(DEBUG_TASK, "heartbeat: thread %d starts", gettid());
	pthread_mutex_lock(&h->lock);
	while (!h->quit) {
		uint64_t next = UINT64_MAX, now = clock_kernel_ns();
		struct timespec until;

		for (size_t i = 0; i < h->n_streams; i++) {
			struct heartbeat_stream *stream = &h->streams[i];

			if (stream->next_ns <= now) {
				char *text = make_line(h, stream);

				/* A line that was late is not made up for. */
				stream->next_ns +=
					stream->interval_ns *
					((now - stream->next_ns) / stream->interval_ns + 1);
				pthread_mutex_unlock(&h->lock);
				write_line(stream, text);
				pthread_mutex_lock(&h->lock);
			}
			next = stream->next_ns < next ? stream->next_ns : next;
		}
		until = clock_timespec(next);
		if (!h->quit)
			pthread_cond_clockwait(&h->changed, &h->lock, CLOCK_MONOTONIC, &until);
	}
	pthread_mutex_unlock(&h->lock);
	debug_line(DEBUG_TASK, "heartbeat: thread %d ends", gettid());
	return NULL;
}

void heartbeat_pass_done(struct heartbeat *h, const struct target *t, const struct tally *tally)
{
	struct heartbeat_last *last = &h->last[t->plan->number];

	pthread_mutex_lock(&h->lock);
	last->pass = atomic_load(&t->pass);
	last->ops = tally_ops(tally);
	last->done_ops = last->ops + tally->errors;
	last->cut = stop_requested(&t->run->stop) && last->done_ops < t->plan->pass_ops;
	last->limit_ns = limit_of(t, tally->first_issue_ns);
	last->bytes = tally_bytes(tally);
	last->elapsed_ns = tally_elapsed_ns(tally);
	pthread_mutex_unlock(&h->lock);
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
		log_error("target %u, %s: -heartbeat output %s: %s", t->number, t->path,
			  t->heartbeat.output, strerror(-err));
	return err;
}

/* Progress for a terminal, once the run has gone on for a while. */
static void add_unasked(struct heartbeat *h)
{
	struct heartbeat_stream *stream = add_stream(h, DEFAULT_INTERVAL_NS, UNASKED_AFTER_NS);

	stream->redrawn = true;
	stream->unasked = true;
}

/* One stream for all that goes to standard error, at the shortest of the intervals. */
static void add_stderr(struct heartbeat *h, const struct plan *plan)
{
	uint64_t interval = UINT64_MAX;
	bool lf = !log_is_terminal(), off = false;

	for (size_t i = 0; i < plan->n_targets; i++) {
		const struct heartbeat_options *o = &plan->targets[i].heartbeat;

		off |= o->off;
		if (!o->on || o->output)
			continue;
		lf |= o->lf;
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
	h->last = calloc(n, sizeof(*h->last));
	h->samples = calloc(n, sizeof(*h->samples));
	h->streams = calloc(n + 1, sizeof(*h->streams));
	if (!h->last || !h->samples || !h->streams)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		latency_init(&h->last[i].shown);
	err = add_streams(h, run->plan);
	if (!err && h->n_streams) {
		err = thread_start(&h->thread, heartbeat_main, h);
		h->started = !err;
	}
	return err;
}

void heartbeat_end(struct heartbeat *h)
{
	if (!h->started)
		return;
	pthread_mutex_lock(&h->lock);
	h->quit = true;
	pthread_cond_signal(&h->changed);
	pthread_mutex_unlock(&h->lock);
	pthread_join(h->thread, NULL);
	h->started = false;
	for (size_t i = 0; i < h->n_streams; i++) {
		struct heartbeat_stream *stream = &h->streams[i];

		/* What was asked for ends with a line that stays. */
		stream->redrawn = stream->redrawn && stream->unasked;
		if (!stream->unasked)
			write_line(stream, make_line(h, stream));
		if (outfile_close(&stream->file))
			log_error("-heartbeat output: target %u: lines are missing in its file",
				  stream->first);
	}
	log_transient(NULL);
}

void heartbeat_destroy(struct heartbeat *h)
{
	for (size_t i = 0; h->last && i < h->run->plan->n_targets; i++)
		latency_free(&h->last[i].shown);
	free(h->last);
	free(h->samples);
	free(h->streams);
}
