/*
 * The summary of a copy for people. Called at its end by report.c, for standard output and the log.
 */
#include <inttypes.h>

#include "copy/report/report_internal.h"
#include "xdd/base/status.h"
#include "xdd/base/text.h"
#include "xdd/base/units.h"

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

/* The rate is that of `bytes`, which are named if they are not `all`. */
static void put_time(FILE *f, uint64_t bytes, uint64_t all, uint64_t ns)
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
		put_time(f, s->source.done_bytes, s->source.done_bytes, s->elapsed_ns);
	} else {
		fputs("copied ", f);
		put_amount(f, d->done_files, d->done_bytes);
		put_time(f, state_data_bytes(s), d->done_bytes, s->elapsed_ns);
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
	struct copy_bottleneck b =
		bottleneck_judge(&s->source, &s->destination, s->elapsed_ns, s->connections);
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
	if (s->encrypted)
		return "encrypted; ";
	return s->inside ? "through ssh; " : "not encrypted (-encrypt); ";
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
