/*
 * One display for all hosts: multi.h. Called by multi_run.c.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "commands/multi.h"
#include "xdd/base/log.h"
#include "xdd/base/memory.h"
#include "xdd/base/units.h"

#define TERMINAL_NS (NS_PER_SEC / 2)
#define LINE_NS (10 * NS_PER_SEC)

/* All ranks together. */
struct summary {
	size_t starting, ready, running, done;
	uint64_t pass, passes;
	double share, bytes_per_s, ops_per_s;
	int64_t left_s;
};

static void add_running(struct summary *s, const struct progress_line *p)
{
	double seconds = (double)p->elapsed_ns / NS_PER_SEC;
	double share = p->done_ppm >= 0 ? (double)p->done_ppm / 1e6 : -1;

	s->running++;
	s->pass = p->pass < s->pass ? p->pass : s->pass;
	s->passes = p->passes > s->passes ? p->passes : s->passes;
	/* The pass is done when the last host is. */
	s->share = share < s->share ? share : s->share;
	s->left_s = p->left_s > s->left_s ? p->left_s : s->left_s;
	if (seconds > 0) {
		s->bytes_per_s += (double)p->bytes / seconds;
		s->ops_per_s += (double)p->ops / seconds;
	}
}

static struct summary summarize(const struct multi *m)
{
	struct summary s = { .pass = UINT64_MAX, .share = 1, .left_s = -1 };

	for (size_t i = 0; i < m->n; i++) {
		const struct multi_rank *r = &m->ranks[i];

		if (r->state == MULTI_ENDED)
			s.done++;
		else if (!r->has_progress)
			s.starting++;
		else if (r->progress.state == PROGRESS_READY)
			s.ready++;
		else
			add_running(&s, &r->progress);
	}
	return s;
}

static void put_part(FILE *f, size_t n, const char *text, const char **before)
{
	if (!n)
		return;
	fprintf(f, "%s%zu %s", *before, n, text);
	*before = ", ";
}

static void put(FILE *f, const struct summary *s)
{
	char rate[SCALED_SIZE], ops[SCALED_SIZE];
	const char *before = "";

	put_part(f, s->starting, "starting", &before);
	put_part(f, s->ready, "ready", &before);
	put_part(f, s->running, "running", &before);
	put_part(f, s->done, "done", &before);
	if (!s->running)
		return;
	fprintf(f, "; pass %" PRIu64 " of %" PRIu64, s->pass, s->passes);
	if (s->share >= 0)
		fprintf(f, ", %.0f %%", s->share * 100);
	fprintf(f, ", %s, %s", scaled_rate(s->bytes_per_s, rate), scaled_ops(s->ops_per_s, ops));
	if (s->left_s >= 0)
		fprintf(f, ", %" PRId64 " s left", s->left_s);
}

uint64_t multi_show(struct multi *m, uint64_t now_ns)
{
	const bool terminal = log_is_terminal();
	const uint64_t interval_ns = terminal ? TERMINAL_NS : LINE_NS;
	struct summary s;
	struct memstream out;

	if (m->line.quiet)
		return UINT64_MAX;
	if (now_ns < m->shown_ns + interval_ns)
		return m->shown_ns + interval_ns;
	m->shown_ns = now_ns;
	s = summarize(m);
	if (!memstream_open(&out))
		return now_ns + interval_ns;
	put(out.f, &s);
	if (!memstream_close(&out)) {
		if (terminal)
			log_transient(out.text);
		else
			log_notice("multi: %s", out.text);
	}
	free(out.text);
	return now_ns + interval_ns;
}
