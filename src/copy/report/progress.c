/*
 * The line of progress. Called by the thread of the report.
 */
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <string.h>

#include "copy/report/report_internal.h"
#include "xdd/base/status.h"
#include "xdd/base/units.h"

/* Estimates of a longer time are not worth a line. */
#define MAX_LEFT_S (1000.0 * 3600)

/* To create and name a small file takes about as long as to copy so many bytes. */
#define FILE_WORK_BYTES 65536.0

void progress_add(struct progress *p, uint64_t now_ns, uint64_t files, uint64_t bytes)
{
	p->samples[p->next].ns = now_ns;
	p->samples[p->next].files = files;
	p->samples[p->next].bytes = bytes;
	p->next = (p->next + 1) % PROGRESS_SAMPLES;
	if (p->n < PROGRESS_SAMPLES)
		p->n++;
}

static size_t oldest(const struct progress *p)
{
	return p->n < PROGRESS_SAMPLES ? 0 : p->next;
}

static size_t newest(const struct progress *p)
{
	return (p->next + PROGRESS_SAMPLES - 1) % PROGRESS_SAMPLES;
}

static double seconds_of(const struct progress *p)
{
	if (p->n < 2)
		return 0;
	return (double)(p->samples[newest(p)].ns - p->samples[oldest(p)].ns) / (double)NS_PER_SEC;
}

static double per_second(uint64_t from, uint64_t to, double seconds)
{
	return seconds > 0 && to > from ? (double)(to - from) / seconds : 0;
}

uint64_t state_done_files(const struct copy_state *s)
{
	const struct copy_counts *d = &s->destination;
	uint64_t n = d->done_files + d->skipped_files;

	return n < s->source.offered_files ? n : s->source.offered_files;
}

/* Bytes of files that were copied now, and not by an earlier copy. */
static uint64_t new_bytes(const struct copy_counts *d)
{
	return d->done_bytes > d->resumed_bytes ? d->done_bytes - d->resumed_bytes : 0;
}

uint64_t state_data_bytes(const struct copy_state *s)
{
	const struct copy_counts *d = &s->destination;

	return new_bytes(d) < d->moved_bytes ? new_bytes(d) : d->moved_bytes;
}

uint64_t state_hole_bytes(const struct copy_state *s)
{
	return s->status == XDD_OK ? new_bytes(&s->destination) - state_data_bytes(s) : 0;
}

/*
 * Files count at the destination once they are durable, which is late for large ones: until then
 * what the source has sent counts.
 */
uint64_t state_done_bytes(const struct copy_state *s)
{
	const struct copy_counts *d = &s->destination;
	uint64_t sent = s->source.done_bytes + d->resumed_bytes;
	uint64_t n = (sent > d->done_bytes ? sent : d->done_bytes) + d->skipped_bytes;

	return n < s->source.offered_bytes ? n : s->source.offered_bytes;
}

/* The work of files and bytes, as bytes. */
static double work(uint64_t files, uint64_t bytes)
{
	return (double)files * FILE_WORK_BYTES + (double)bytes;
}

/*
 * Seconds until the rest is done at the rate of now; infinite: not known. Small files come before
 * large ones and are few bytes, so neither the rate of files nor that of bytes tells alone.
 */
static double seconds_left(const struct progress *p, const struct copy_state *s)
{
	size_t from = oldest(p), to = newest(p);
	uint64_t files = s->source.offered_files - state_done_files(s);
	double done, left;

	if (!s->source.walk_done || seconds_of(p) <= 0)
		return INFINITY;
	done = work(p->samples[to].files, p->samples[to].bytes) -
	       work(p->samples[from].files, p->samples[from].bytes);
	/* One of them has begun. */
	left = work(files ? files - 1 : 0, s->source.offered_bytes - state_done_bytes(s));
	return done > 0 ? left * seconds_of(p) / done : INFINITY;
}

struct text {
	char *at, *end;
};

static void add(struct text *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static void add(struct text *t, const char *fmt, ...)
{
	size_t room = (size_t)(t->end - t->at);
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(t->at, room, fmt, ap);
	va_end(ap);
	if (n > 0)
		t->at += (size_t)n < room ? (size_t)n : room - 1;
}

/* "3 s", "12 min", "2 h 5 min": no more than is known. */
static void add_left(struct text *t, double seconds)
{
	uint64_t whole = (uint64_t)ceil(seconds);

	if (whole < 120)
		add(t, "%" PRIu64 " s left, ", whole);
	else if (whole < 7200)
		add(t, "%" PRIu64 " min left, ", (whole + 59) / 60);
	else
		add(t, "%" PRIu64 " h %" PRIu64 " min left, ", whole / 3600, whole % 3600 / 60);
}

/* A line leaves these out, in this order. */
enum {
	OMIT_NOTHING,
	OMIT_FILES,
	OMIT_BYTES
};

static void add_done(struct text *t, const struct copy_state *s, int omit)
{
	const struct copy_counts *c = &s->source;
	const char *more = c->walk_done ? "" : "+";
	uint64_t bytes = state_done_bytes(s);
	char done[SCALED_SIZE], all[SCALED_SIZE];

	if (c->walk_done && c->offered_bytes)
		add(t, "%3u %%, ", (unsigned)(100.0 * (double)bytes / (double)c->offered_bytes));
	if (omit < OMIT_FILES && (c->offered_files != 1 || !c->walk_done))
		add(t, "%" PRIu64 " of %" PRIu64 "%s files, ", state_done_files(s),
		    c->offered_files, more);
	if (omit < OMIT_BYTES)
		add(t, "%s of %s%s, ", scaled_bytes((double)bytes, done),
		    scaled_bytes((double)c->offered_bytes, all), more);
}

static size_t line(const struct progress *p, const struct copy_state *s, int omit,
		   char buf[PROGRESS_TEXT_SIZE])
{
	const struct copy_counts *c = &s->source;
	double left = seconds_left(p, s);
	struct text t = { buf, buf + PROGRESS_TEXT_SIZE };
	char rate[SCALED_SIZE];

	*buf = '\0';
	add_done(&t, s, omit);
	if (seconds_of(p) > 0)
		add(&t, "%s, ",
		    scaled_rate(per_second(p->samples[oldest(p)].bytes, p->samples[newest(p)].bytes,
					   seconds_of(p)),
				rate));
	if (c->failed + s->destination.failed)
		add(&t, "%" PRIu64 " failed, ", c->failed + s->destination.failed);
	if (left <= MAX_LEFT_S &&
	    (state_done_files(s) < c->offered_files || state_done_bytes(s) < c->offered_bytes))
		add_left(&t, left);
	/* The comma after the last of them. */
	if (t.at - buf >= 2)
		t.at -= 2;
	*t.at = '\0';
	return (size_t)(t.at - buf);
}

char *progress_text(const struct progress *p, const struct copy_state *s, size_t columns,
		    char buf[PROGRESS_TEXT_SIZE])
{
	int omit = OMIT_NOTHING;

	while (line(p, s, omit, buf) > columns && omit < OMIT_BYTES)
		omit++;
	return buf;
}
