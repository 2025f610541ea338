/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The text outputs of a copy: the shares of both sides and the verdict on them, the summary,
 * the line of progress, and the log. Called by report.c, which locks, and the verdict also by the
 * writer of JSON.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "copy/report/report_internal.h"
#include "xdd/base/output.h"
#include "xdd/base/status.h"
#include "xdd/base/text.h"
#include "xdd/base/units.h"
#include "xdd/sys/clock.h"

/*
 * The shares of both sides of a copy of files, and the verdict on them. Called by the summary and
 * the writer of JSON.
 */

/* Shorter copies are over before their threads are busy. */
#define SHORTEST_NS (NS_PER_SEC / 5)

/* A share in sockets that can have limited a copy within a host. */
#define LEAST_NETWORK 0.1

static struct copy_shares shares(const struct copy_counts *c, uint64_t elapsed_ns, unsigned threads)
{
	return (struct copy_shares){
		.storage = copy_share(c->storage_ns, elapsed_ns, threads),
		.network = copy_share(c->network_ns, elapsed_ns, threads),
		.waiting = copy_share(c->waiting_ns, elapsed_ns, threads),
		.checking = copy_share(c->checking_ns, elapsed_ns, threads),
		.processor = copy_share(c->cpu_ns + c->cpu_wait_ns, elapsed_ns, threads),
		.quota = copy_share(c->quota_ns, elapsed_ns, threads),
		.transit = copy_share(c->transit_ns, elapsed_ns, threads),
		.flush = copy_share(c->flush_ns, elapsed_ns, 1),
	};
}

/*
 * Within a host, time in which neither side had anything to do is no wait for a network: only time
 * that was measured in sockets counts.
 */
static bool has_network(const struct copy_bottleneck *b)
{
	return b->source.network >= LEAST_NETWORK || b->source.transit >= LEAST_NETWORK ||
	       b->destination.network >= LEAST_NETWORK;
}

struct copy_bottleneck bottleneck_judge(const struct copy_counts *source,
					const struct copy_counts *destination, uint64_t elapsed_ns,
					unsigned threads, bool local)
{
	struct copy_bottleneck b = { 0 };

	if (!elapsed_ns || !threads)
		return b;
	b.source = shares(source, elapsed_ns, threads);
	b.destination = shares(destination, elapsed_ns, threads);
	if (elapsed_ns >= SHORTEST_NS && (source->moved_bytes || destination->moved_bytes))
		b.verdict = copy_limit_judge(&b.source, &b.destination, true);
	if (!local || has_network(&b))
		return b;
	if (b.verdict.limit == COPY_LIMIT_NETWORK)
		b.verdict = (struct copy_verdict){ .limit = COPY_LIMIT_UNKNOWN };
	if (b.verdict.other == COPY_LIMIT_NETWORK)
		b.verdict.other = COPY_LIMIT_UNKNOWN;
	return b;
}

struct copy_bottleneck bottleneck_of(const struct copy_state *s)
{
	const struct copy_request *r = s->request;

	return bottleneck_judge(&s->source, &s->destination, s->elapsed_ns,
				s->inside ? 1 : r->settings.connections,
				!r->sources[0].host && !r->destination.host);
}

/*
 * The line of progress, in the thread of the report.
 */

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

/* Holes of these files; 0 if something failed, as data that moved may then be of no file. */
static uint64_t state_hole_bytes(const struct copy_state *s)
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
static double progress_work(uint64_t files, uint64_t bytes)
{
	return (double)files * FILE_WORK_BYTES + (double)bytes;
}

/*
 * Seconds until the rest is done at the rate of now; infinite: not known. Small files come before
 * large ones and are few bytes, so neither the rate of files nor the rate of bytes tells alone.
 */
static double seconds_left(const struct progress *p, const struct copy_state *s)
{
	size_t from = oldest(p), to = newest(p);
	uint64_t files = s->source.offered_files - state_done_files(s);
	double done, left;

	if (!s->source.walk_done || seconds_of(p) <= 0)
		return INFINITY;
	done = progress_work(p->samples[to].files, p->samples[to].bytes) -
	       progress_work(p->samples[from].files, p->samples[from].bytes);
	/* One of them has begun. */
	left = progress_work(files ? files - 1 : 0, s->source.offered_bytes - state_done_bytes(s));
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

static const char *plural(uint64_t n)
{
	return n == 1 ? "" : "s";
}

static void put_amount(FILE *f, uint64_t files, uint64_t bytes)
{
	char text[SCALED_SIZE];

	fprintf(f, "%" PRIu64 " file%s, %s", files, plural(files),
		scaled_bytes((double)bytes, text));
}

/* The rate is in `bytes`, which are named if they are not `all`. */
static void summary_put_time(FILE *f, uint64_t bytes, uint64_t all, uint64_t ns)
{
	char time[SCALED_SIZE], rate[SCALED_SIZE], sent[SCALED_SIZE];

	if (!ns)
		return;
	fprintf(f, ", in %s", scaled_time((double)ns, time));
	if (bytes != all)
		fprintf(f, ": %s sent", scaled_bytes((double)bytes, sent));
	if (bytes)
		fprintf(f, ", %s",
			scaled_rate((double)bytes * (double)NS_PER_SEC / (double)ns, rate));
}

/* -k: directories and links that differ are no files. */
static uint64_t compared_files(const struct copy_state *s)
{
	uint64_t named = s->destination.skipped_files + s->differing;

	return named < s->source.offered_files ? named : s->source.offered_files;
}

/* "copied 12 files, 3.1 GB, in 5.00 s: 1.55 GB sent, 310 MB/s" */
static void put_first_line(FILE *f, const struct copy_state *s)
{
	const struct copy_settings *settings = &s->request->settings;
	const struct copy_counts *d = &s->destination;

	if (s->status == XDD_CANCELED)
		fputs("canceled; ", f);
	if (settings->dry_run) {
		fputs("would copy ", f);
		put_amount(f, s->would_files, s->would_bytes);
	} else if (settings->verify) {
		fputs("compared ", f);
		put_amount(f, compared_files(s), s->source.done_bytes);
		summary_put_time(f, s->source.done_bytes, s->source.done_bytes, s->elapsed_ns);
	} else {
		fputs("copied ", f);
		put_amount(f, d->done_files, d->done_bytes);
		summary_put_time(f, state_data_bytes(s), d->done_bytes, s->elapsed_ns);
	}
	fputc('\n', f);
}

/* Files that were found, and for which nothing else stands in the summary. */
static void put_missing(FILE *f, const struct copy_state *s)
{
	const struct copy_settings *settings = &s->request->settings;
	uint64_t found = s->source.offered_files;
	uint64_t done = state_done_files(s);

	if (s->status == XDD_OK || found <= done || settings->verify || settings->dry_run)
		return;
	fprintf(f, "  not copied: %" PRIu64 " of %" PRIu64 "%s file%s\n", found - done, found,
		s->source.walk_done ? "" : " or more", plural(found));
}

static const char *identical_label(const struct copy_settings *settings)
{
	if (settings->verify)
		return "equal";
	return settings->dry_run ? "identical" : "identical, skipped";
}

static void put_skipped(FILE *f, const struct copy_state *s)
{
	const struct copy_counts *d = &s->destination;
	char text[SCALED_SIZE];

	if (d->skipped_files) {
		fprintf(f, "  %s: ", identical_label(&s->request->settings));
		put_amount(f, d->skipped_files, d->skipped_bytes);
		fputc('\n', f);
	}
	if ((d->dirs || d->links) && !s->request->settings.dry_run)
		fprintf(f, "  directories: %" PRIu64 ", links: %" PRIu64 "\n", d->dirs, d->links);
	if (state_hole_bytes(s) && !s->request->settings.verify)
		fprintf(f, "  holes: %s, which were not sent\n",
			scaled_bytes((double)state_hole_bytes(s), text));
	if (d->resumed_bytes)
		fprintf(f, "  resumed: %s were there from an interrupted copy\n",
			scaled_bytes((double)d->resumed_bytes, text));
}

/* "  failed: 160, 5 of them in directories that are named, the first ones:" */
static void put_failed(FILE *f, const struct copy_state *s, uint64_t failed)
{
	fprintf(f, "  %s: %" PRIu64, s->request->settings.verify ? "different or failed" : "failed",
		failed);
	if (failed > s->failures)
		fprintf(f, ", %" PRIu64 " of them in directories that are named",
			failed - s->failures);
	fputs(s->failures > s->n_first ? ", the first ones:\n" : ":\n", f);
}

static void put_failures(FILE *f, const struct copy_state *s)
{
	uint64_t failed = s->source.failed + s->destination.failed;

	if (failed < s->failures)
		failed = s->failures;
	if (failed) {
		put_failed(f, s, failed);
		for (size_t i = 0; i < s->n_first; i++) {
			fputs("    ", f);
			printable_put(f, s->first[i]);
			fputc('\n', f);
		}
	}
	if (s->warnings)
		fprintf(f, "  warnings: %" PRIu64 "\n", s->warnings);
	if (s->destination.owners_not_set)
		fprintf(f,
			"  owners or attributes not set: %" PRIu64
			" (this needs the rights of root at the destination)\n",
			s->destination.owners_not_set);
}

static void put_bottleneck(FILE *f, const struct copy_state *s)
{
	struct copy_bottleneck b = bottleneck_of(s);
	const struct copy_shares *from = &b.source, *to = &b.destination;
	char text[COPY_VERDICT_SIZE];

	if (!copy_verdict_text(&b.verdict, text))
		return;
	fprintf(f, "  bottleneck: %s\n", text);
	fprintf(f,
		"    source reads %.0f %%, checks %.0f %%, sends %.0f %%, waits %.0f %%, "
		"processor %.0f %%; "
		"destination waits %.0f %%, receives %.0f %%, checks %.0f %%, writes %.0f %%, flushes "
		"%.0f %%, processor %.0f %%\n",
		100 * from->storage, 100 * from->checking, 100 * from->network, 100 * from->waiting,
		100 * from->processor, 100 * to->waiting, 100 * to->network, 100 * to->checking,
		100 * to->storage, 100 * to->flush, 100 * to->processor);
}

static const char *protection(const struct copy_state *s)
{
	const struct copy_request *q = s->request;

	if (!q->sources[0].host && !q->destination.host)
		return "";
	if (s->inside)
		return "through ssh; ";
	return q->settings.encrypt ? "encrypted; " : "not encrypted (-encrypt); ";
}

static void put_checks(FILE *f, const struct copy_state *s)
{
	const struct copy_settings *settings = &s->request->settings;
	const char *kept =
		settings->trust ?
			"; what was kept of an interrupted copy was not read (-trust)" :
			"; what was kept of an interrupted copy has the checksum of the source";

	if (!s->elapsed_ns || settings->dry_run)
		return;
	fprintf(f, "  %s%s%s\n", protection(s),
		settings->verify ? "contents were compared by checksums" :
				   "a checksum of all data that was sent was checked",
		s->destination.resumed_bytes ? kept : "");
}

void summary_write(FILE *f, const struct copy_state *s)
{
	put_first_line(f, s);
	put_missing(f, s);
	put_skipped(f, s);
	put_failures(f, s);
	put_bottleneck(f, s);
	put_checks(f, s);
}

/*
 * The log of a copy: a line for each failure and note, with -v for each entry, and the summary.
 */

#define TIME_SIZE 32

struct logfile {
	FILE *f;
	int error; /* the first errno */
};

static void logfile_put_time(FILE *f)
{
	uint64_t now_ns = clock_wall_ns();
	time_t now = (time_t)(now_ns / NS_PER_SEC);
	char text[TIME_SIZE];
	struct tm tm;

	strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S", localtime_r(&now, &tm));
	fprintf(f, "%s.%03u ", text, (unsigned)(now_ns % NS_PER_SEC / NS_PER_MS));
}

static int open_path(const char *path)
{
	int fd = output_standard(path);

	if (fd < 0)
		return output_open(path, O_APPEND);
	fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	return fd < 0 ? -errno : fd;
}

int logfile_open(struct logfile **l, const struct copy_request *request)
{
	struct logfile *new = calloc(1, sizeof(*new));
	int fd = new ? open_path(request->log_path) : -ENOMEM;

	if (fd < 0) {
		free(new);
		return fd;
	}
	new->f = outwait_stream(fd);
	if (!new->f) {
		int err = -errno;

		close(fd);
		free(new);
		return err;
	}
	*l = new;
	logfile_put_time(new->f);
	fputs("command ", new->f);
	/* As the shell reads it. */
	printable_put(new->f, request->command ? request->command : "xdd copy");
	fputc('\n', new->f);
	return 0;
}

void logfile_line(struct logfile *l, const char *word, const char *text)
{
	logfile_put_time(l->f);
	fprintf(l->f, "%s ", word);
	printable_put_exact(l->f, text);
	fputc('\n', l->f);
}

static const char *outcome_word(enum copy_outcome outcome)
{
	static const char *const words[] = {
		[COPY_DONE] = "copied",	    [COPY_SAME] = "same",	[COPY_EQUAL] = "equal",
		[COPY_DIFFERS] = "differs", [COPY_LOST] = "not copied", [COPY_WOULD] = "would copy",
	};

	return words[outcome];
}

static const char *kind_word(enum copy_kind kind)
{
	switch (kind) {
	case COPY_DIR:
		return "directory";
	case COPY_SYMLINK:
		return "symbolic link";
	case COPY_LINK:
		return "hard link";
	default:
		return "file";
	}
}

void logfile_entry(struct logfile *l, const char *path, enum copy_kind kind, uint64_t bytes,
		   enum copy_outcome outcome)
{
	logfile_put_time(l->f);
	fprintf(l->f, "%s %s, %" PRIu64 " bytes: ", outcome_word(outcome), kind_word(kind), bytes);
	printable_put_exact(l->f, path);
	fputc('\n', l->f);
}

void logfile_flush(struct logfile *l)
{
	errno = 0;
	if ((fflush(l->f) || ferror(l->f)) && !l->error)
		l->error = errno ? errno : EIO;
}

int logfile_close(struct logfile *l, const struct copy_state *s)
{
	int err;

	if (!l)
		return 0;
	if (s->request) {
		logfile_put_time(l->f);
		summary_write(l->f, s);
		logfile_put_time(l->f);
		fprintf(l->f, "exit status %d\n", s->status);
	}
	logfile_flush(l);
	if (fclose(l->f) && !l->error)
		l->error = errno;
	err = -l->error;
	free(l);
	return err;
}
