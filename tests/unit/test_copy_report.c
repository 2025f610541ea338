/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Output of copies: src/copy/report. Functional tests compare it with copies that were made.
 */
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "copy/report/report.h"
#include "copy/report/report_internal.h"
#include "xdd/base/log.h"
#include "xdd/base/units.h"

static const struct copy_place source_place = { .host = "hosta", .path = "/data" };

static struct copy_request sample_request(void)
{
	return (struct copy_request){
		.settings = { .connections = 8, .block_bytes = 1 << 20, .size_bytes = UINT64_MAX },
		.sources = &source_place,
		.n_sources = 1,
		.destination = { .path = "there" },
		.command = "xdd copy hosta:/data there",
	};
}

/* ---- the part that limited a copy ---- */

/* Percents of a second in 10 threads: storage, network, waiting, checking. */
static struct copy_counts times(unsigned storage, unsigned network, unsigned waiting,
				unsigned checking)
{
	const uint64_t percent = NS_PER_SEC / 10;

	return (struct copy_counts){ .moved_bytes = 1,
				     .storage_ns = storage * percent,
				     .network_ns = network * percent,
				     .waiting_ns = waiting * percent,
				     .checking_ns = checking * percent };
}

static const char *limit_of(struct copy_counts s, struct copy_counts d, uint64_t elapsed_ns,
			    unsigned threads)
{
	struct copy_bottleneck b = bottleneck_judge(&s, &d, elapsed_ns, threads, false);

	return copy_verdict_name(&b.verdict);
}

static const char *local_limit_of(struct copy_counts s, struct copy_counts d)
{
	struct copy_bottleneck b = bottleneck_judge(&s, &d, NS_PER_SEC, 10, true);

	return copy_verdict_name(&b.verdict);
}

/* Within a host, idle time of both sides is no network; time in sockets is. */
TEST(test_bottleneck_local)
{
	assert_string_equal(limit_of(times(4, 4, 4, 0), times(4, 4, 4, 0), NS_PER_SEC, 10),
			    "network");
	assert_null(local_limit_of(times(4, 4, 4, 0), times(4, 4, 4, 0)));
	assert_string_equal(local_limit_of(times(10, 85, 0, 5), times(5, 5, 85, 5)), "network");
	assert_string_equal(local_limit_of(times(80, 4, 0, 0), times(4, 4, 85, 5)),
			    "source-storage");
	/* Storage for half of the time, and nothing for the other. */
	assert_string_equal(limit_of(times(51, 0, 0, 0), times(1, 0, 49, 0), NS_PER_SEC, 10),
			    "unclear");
	assert_string_equal(local_limit_of(times(51, 0, 0, 0), times(1, 0, 49, 0)),
			    "source-storage");
}

/* The shares reach the judge, which has a test of its own. */
TEST(test_bottleneck)
{
	struct copy_counts s = times(80, 10, 0, 10), d = times(5, 5, 85, 5);

	assert_string_equal(limit_of(s, d, NS_PER_SEC, 10), "source-storage");
	assert_string_equal(limit_of(times(10, 85, 0, 5), d, NS_PER_SEC, 10), "network");
	assert_string_equal(limit_of(times(5, 90, 0, 5), times(85, 5, 5, 5), NS_PER_SEC, 10),
			    "destination-storage");
	s.cpu_ns = NS_PER_SEC;
	s.cpu_wait_ns = 8 * NS_PER_SEC;
	assert_string_equal(limit_of(s, d, NS_PER_SEC, 10), "source-processor");
	/* The flushes of one thread. */
	d = times(10, 0, 20, 0);
	d.flush_ns = 7 * NS_PER_SEC / 10;
	assert_string_equal(limit_of(times(5, 30, 5, 5), d, NS_PER_SEC, 10), "destination-storage");
	/* Both wait: for names. */
	assert_string_equal(limit_of(times(5, 5, 90, 0), times(10, 0, 90, 0), NS_PER_SEC, 10),
			    "files");
	/* Too short, or nothing was moved. */
	d = times(5, 5, 85, 5);
	assert_null(limit_of(s, d, NS_PER_SEC / 10, 10));
	assert_null(limit_of(s, d, 0, 10));
	assert_null(limit_of(s, d, NS_PER_SEC, 0));
	s.moved_bytes = d.moved_bytes = 0;
	assert_null(limit_of(s, d, NS_PER_SEC, 10));
}

/* Each share is of its own counter, in all threads together; flushes are of one thread. */
TEST(test_shares)
{
	const uint64_t part = NS_PER_SEC / 10;
	const struct copy_counts c = { .storage_ns = part,
				       .network_ns = 2 * part,
				       .waiting_ns = 3 * part,
				       .checking_ns = 4 * part,
				       .cpu_ns = 5 * part,
				       .cpu_wait_ns = 6 * part,
				       .quota_ns = 7 * part,
				       .transit_ns = 8 * part,
				       .flush_ns = 9 * part };
	const struct copy_counts none = { 0 }, sends = { .network_ns = 2 * part },
				 transit = { .transit_ns = 2 * part };
	struct copy_bottleneck b;

	for (int side = 0; side < 2; side++) {
		struct copy_bottleneck of = bottleneck_judge(side ? &none : &c, side ? &c : &none,
							     NS_PER_SEC, 2, false);
		const struct copy_shares *s = side ? &of.destination : &of.source;
		const double tenths[] = { s->storage,	s->network, s->waiting, s->checking,
					  s->processor, s->quota,   s->transit, s->flush };
		static const double wanted[] = { 0.5, 1, 1.5, 2, 5.5, 3.5, 4, 9 };

		for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++)
			assert_int_equal((int)(tenths[i] * 1000 + 0.5), (int)(wanted[i] * 100));
		assert_true(s->pace == 0);
		assert_true((side ? of.source : of.destination).storage == 0);
	}
	/* Sends, receives and data on its way count as a network within a host. */
	b = bottleneck_judge(&sends, &(struct copy_counts){ .moved_bytes = 1 }, NS_PER_SEC, 2,
			     true);
	assert_int_equal(b.verdict.limit, COPY_LIMIT_NETWORK);
	b = bottleneck_judge(&transit, &(struct copy_counts){ .moved_bytes = 1 }, NS_PER_SEC, 2,
			     true);
	assert_int_equal(b.verdict.limit, COPY_LIMIT_NETWORK);
	b = bottleneck_judge(&(struct copy_counts){ .moved_bytes = 1 }, &sends, NS_PER_SEC, 2,
			     true);
	assert_int_equal(b.verdict.limit, COPY_LIMIT_NETWORK);
}

/* ---- progress ---- */

static void assert_progress(const struct progress *p, const struct copy_state *s, const char *text)
{
	char buf[PROGRESS_TEXT_SIZE];

	assert_string_equal(progress_text(p, s, PROGRESS_TEXT_SIZE, buf), text);
}

TEST(test_progress)
{
	struct copy_state s = { .source = { .offered_files = 10, .offered_bytes = 2000 } };
	struct progress p = { .n = 0 };

	progress_add(&p, NS_PER_SEC, 0, 0);
	assert_progress(&p, &s, "0 of 10+ files, 0 B of 2.00 kB+");
	s.destination = (struct copy_counts){ .done_files = 4, .done_bytes = 400 };
	progress_add(&p, 3 * NS_PER_SEC, 4, 400);
	assert_progress(&p, &s, "4 of 10+ files, 400 B of 2.00 kB+, 200 B/s");
	s.source.walk_done = 1;
	assert_progress(&p, &s, " 20 %, 4 of 10 files, 400 B of 2.00 kB, 200 B/s, 3 s left");
	/* Small files take longer than their bytes say, and large ones than their number. */
	s.destination.done_files = 1;
	p = (struct progress){ .n = 0 };
	progress_add(&p, 0, 0, 0);
	progress_add(&p, 2 * NS_PER_SEC, 1, 400);
	assert_progress(&p, &s, " 20 %, 1 of 10 files, 400 B of 2.00 kB, 200 B/s, 16 s left");
	s.source.offered_bytes = 655360 + 400;
	assert_progress(&p, &s, "  0 %, 1 of 10 files, 400 B of 656 kB, 200 B/s, 36 s left");
	s.source.offered_bytes = 2000;
	s.destination.failed = 2;
	s.destination.done_files = 10;
	s.destination.done_bytes = 2000;
	assert_progress(&p, &s, "100 %, 10 of 10 files, 2.00 kB of 2.00 kB, 200 B/s, 2 failed");
}

/* A narrow terminal: numbers are whole or not there. */
TEST(test_progress_narrow)
{
	static const struct {
		size_t columns;
		const char *text;
	} lines[] = {
		{ 200, " 20 %, 4 of 10 files, 400 B of 2.00 kB, 200 B/s, 3 s left" },
		{ 57, " 20 %, 4 of 10 files, 400 B of 2.00 kB, 200 B/s, 3 s left" },
		{ 56, " 20 %, 400 B of 2.00 kB, 200 B/s, 3 s left" },
		{ 42, " 20 %, 400 B of 2.00 kB, 200 B/s, 3 s left" },
		{ 41, " 20 %, 200 B/s, 3 s left" },
		{ 1, " 20 %, 200 B/s, 3 s left" },
	};
	struct copy_state s = {
		.source = { .offered_files = 10, .offered_bytes = 2000, .walk_done = 1 },
		.destination = { .done_files = 4, .done_bytes = 400 },
	};
	struct progress p = { .n = 0 };
	char buf[PROGRESS_TEXT_SIZE];

	progress_add(&p, NS_PER_SEC, 0, 0);
	progress_add(&p, 3 * NS_PER_SEC, 4, 400);
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		assert_string_equal(progress_text(&p, &s, lines[i].columns, buf), lines[i].text);
}

/* Of one large file, what was sent counts before it is durable. */
TEST(test_progress_of_one)
{
	struct copy_state s = { .source = { .offered_files = 1,
					    .offered_bytes = 1000000,
					    .walk_done = 1,
					    .done_bytes = 300000 },
				.destination = { .resumed_bytes = 200000 } };
	struct progress p = { .n = 0 };

	progress_add(&p, 0, 0, 200000);
	progress_add(&p, NS_PER_SEC, 0, 200001);
	assert_progress(&p, &s, " 50 %, 500 kB of 1.00 MB, 1.00 B/s, 138 h 53 min left");
	progress_add(&p, 2 * NS_PER_SEC, 0, 204000);
	assert_progress(&p, &s, " 50 %, 500 kB of 1.00 MB, 2.00 kB/s, 5 min left");
}

/* Seconds, minutes or hours; none above a thousand hours. */
TEST(test_time_left)
{
	static const struct {
		uint64_t seconds;
		const char *text;
	} rows[] = {
		{ 1, ", 1 s left" },
		{ 119, ", 119 s left" },
		{ 120, ", 2 min left" },
		{ 121, ", 3 min left" },
		{ 7199, ", 120 min left" },
		{ 7200, ", 2 h 0 min left" },
		{ 10799, ", 2 h 59 min left" },
		{ 3600000, ", 1000 h 0 min left" },
		{ 3600001, "" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct copy_state s = { .source = { .offered_files = 1,
						    .offered_bytes = rows[i].seconds,
						    .walk_done = 1 } };
		struct progress p = { .n = 0 };
		char buf[PROGRESS_TEXT_SIZE];

		progress_add(&p, 0, 0, 0);
		progress_add(&p, NS_PER_SEC, 0, 1);
		progress_text(&p, &s, PROGRESS_TEXT_SIZE, buf);
		assert_string_equal(strstr(buf, "1.00 B/s") + strlen("1.00 B/s"), rows[i].text);
	}
}

/* The rate is that of the latest ten seconds. */
TEST(test_rate_of_now)
{
	struct copy_state s = { .source = { .offered_files = 2, .offered_bytes = 1000000 } };
	struct progress p = { .n = 0 };

	for (uint64_t i = 0; i < 100; i++)
		progress_add(&p, i * NS_PER_SEC / 4, 0, i < 50 ? 0 : (i - 49) * 250);
	s.destination.done_bytes = 12500;
	assert_progress(&p, &s, "0 of 2+ files, 12.5 kB of 1.00 MB+, 1.00 kB/s");
}

/* ---- the summary ---- */

static void assert_summary(const struct copy_state *s, const char *expected)
{
	char *text;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	assert_non_null(f);
	summary_write(f, s);
	fclose(f);
	assert_string_equal(text, expected);
	free(text);
}

static struct copy_state sample_state(const struct copy_request *request)
{
	return (struct copy_state){
		.request = request,
		.source = { .offered_files = 12, .offered_bytes = 3000000, .walk_done = 1 },
		.destination = { .done_files = 12, .done_bytes = 3000000, .moved_bytes = 3000000 },
		.elapsed_ns = NS_PER_SEC / 10,
	};
}

TEST(test_summary)
{
	struct copy_request q = sample_request();
	struct copy_state s = sample_state(&q);

	assert_summary(
		&s,
		"copied 12 files, 3.00 MB, in 100 ms, 30.0 MB/s\n"
		"  not encrypted (-encrypt); a checksum of all data that was sent was checked\n");
	s.source.offered_files = 15;
	s.destination.skipped_files = 3;
	s.destination.skipped_bytes = 300;
	s.destination.dirs = 4;
	s.destination.links = 5;
	s.destination.resumed_bytes = 1000000;
	s.destination.owners_not_set = 2;
	q.settings.encrypt = true;
	assert_summary(&s, "copied 12 files, 3.00 MB, in 100 ms: 2.00 MB sent, 20.0 MB/s\n"
			   "  identical, skipped: 3 files, 300 B\n"
			   "  directories: 4, links: 5\n"
			   "  resumed: 1.00 MB were there from an interrupted copy\n"
			   "  owners or attributes not set: 2 (this needs the rights of root at "
			   "the destination)\n"
			   "  encrypted; a checksum of all data that was sent was checked; what "
			   "was kept of an interrupted copy has the checksum of the source\n");
	s.destination.moved_bytes = 500000;
	s.destination.dirs = s.destination.links = 0;
	s.destination.skipped_files = 0;
	s.destination.owners_not_set = 0;
	assert_summary(&s, "copied 12 files, 3.00 MB, in 100 ms: 500 kB sent, 5.00 MB/s\n"
			   "  holes: 1.50 MB, which were not sent\n"
			   "  resumed: 1.00 MB were there from an interrupted copy\n"
			   "  encrypted; a checksum of all data that was sent was checked; what "
			   "was kept of an interrupted copy has the checksum of the source\n");
	q.settings.trust = true;
	assert_summary(&s, "copied 12 files, 3.00 MB, in 100 ms: 500 kB sent, 5.00 MB/s\n"
			   "  holes: 1.50 MB, which were not sent\n"
			   "  resumed: 1.00 MB were there from an interrupted copy\n"
			   "  encrypted; a checksum of all data that was sent was checked; what "
			   "was kept of an interrupted copy was not read (-trust)\n");
	s.destination.moved_bytes = s.destination.resumed_bytes = 0;
	assert_summary(&s, "copied 12 files, 3.00 MB, in 100 ms: 0 B sent\n"
			   "  holes: 3.00 MB, which were not sent\n"
			   "  encrypted; a checksum of all data that was sent was checked\n");
	s.destination =
		(struct copy_counts){ .done_files = 15, .done_bytes = 15, .moved_bytes = 15 };
	q.settings.encrypt = false;
	s.inside = true;
	assert_summary(&s, "copied 15 files, 15 B, in 100 ms, 150 B/s\n"
			   "  through ssh; a checksum of all data that was sent was checked\n");
	s.inside = false;
	q.sources = &q.destination;
	assert_summary(&s, "copied 15 files, 15 B, in 100 ms, 150 B/s\n"
			   "  a checksum of all data that was sent was checked\n");
}

TEST(test_summary_of_failures)
{
	struct copy_request q = sample_request();
	struct copy_state s = sample_state(&q);

	s.status = COPY_FAILED;
	s.destination.done_files = 10;
	s.destination.failed = 1;
	s.source.failed = 1;
	s.failures = 2;
	s.warnings = 1;
	s.first[0] = "a: cannot open (Permission denied)";
	s.first[1] = "b\x1b[2J: is a FIFO";
	s.n_first = 2;
	assert_summary(
		&s,
		"copied 10 files, 3.00 MB, in 100 ms, 30.0 MB/s\n"
		"  not copied: 2 of 12 files\n"
		"  failed: 2:\n"
		"    a: cannot open (Permission denied)\n"
		"    b\\x1b[2J: is a FIFO\n"
		"  warnings: 1\n"
		"  not encrypted (-encrypt); a checksum of all data that was sent was checked\n");
	s.destination.failed = 100;
	s.failures = 101;
	s.status = XDD_CANCELED;
	s.source.walk_done = 0;
	s.warnings = 0;
	assert_summary(
		&s,
		"canceled; copied 10 files, 3.00 MB, in 100 ms, 30.0 MB/s\n"
		"  not copied: 2 of 12 or more files\n"
		"  failed: 101, the first ones:\n"
		"    a: cannot open (Permission denied)\n"
		"    b\\x1b[2J: is a FIFO\n"
		"  not encrypted (-encrypt); a checksum of all data that was sent was checked\n");
}

/* Entries below a directory that failed have no lines. */
TEST(test_summary_of_directories_that_failed)
{
	struct copy_request q = sample_request();
	struct copy_state s = sample_state(&q);

	s.status = COPY_FAILED;
	s.destination.done_files = 12;
	s.destination.failed = 6;
	s.failures = 1;
	s.first[0] = "d: is not a directory";
	s.n_first = 1;
	assert_summary(
		&s,
		"copied 12 files, 3.00 MB, in 100 ms, 30.0 MB/s\n"
		"  failed: 6, 5 of them in directories that are named:\n"
		"    d: is not a directory\n"
		"  not encrypted (-encrypt); a checksum of all data that was sent was checked\n");
	s.destination.failed = 27;
	s.failures = 20;
	assert_summary(
		&s,
		"copied 12 files, 3.00 MB, in 100 ms, 30.0 MB/s\n"
		"  failed: 27, 7 of them in directories that are named, the first ones:\n"
		"    d: is not a directory\n"
		"  not encrypted (-encrypt); a checksum of all data that was sent was checked\n");
}

TEST(test_summary_of_other_modes)
{
	struct copy_request q = sample_request();
	struct copy_state s = sample_state(&q);

	q.settings.dry_run = true;
	s.destination = (struct copy_counts){ .skipped_files = 7, .skipped_bytes = 70 };
	s.would_files = 1;
	s.would_bytes = 30;
	assert_summary(&s, "would copy 1 file, 30 B\n"
			   "  identical: 7 files, 70 B\n");
	q.settings.dry_run = false;
	q.settings.verify = true;
	s.would_files = 0;
	s.source.done_bytes = 2000;
	s.destination.failed = 1;
	s.failures = s.differing = 1;
	s.first[0] = "a: bytes 0-4095 differ (1 of 1 blocks)";
	s.n_first = 1;
	s.status = XDD_MISCOMPARE;
	assert_summary(&s, "compared 8 files, 2.00 kB, in 100 ms, 20.0 kB/s\n"
			   "  equal: 7 files, 70 B\n"
			   "  different or failed: 1:\n"
			   "    a: bytes 0-4095 differ (1 of 1 blocks)\n"
			   "  not encrypted (-encrypt); contents were compared by checksums\n");
}

TEST(test_summary_of_bottleneck)
{
	struct copy_request q = sample_request();
	struct copy_state s = sample_state(&q);

	s.elapsed_ns = NS_PER_SEC;
	q.settings.connections = 10;
	s.source = times(10, 85, 0, 5);
	s.source.cpu_ns = 4 * NS_PER_SEC / 10;
	s.source.cpu_wait_ns = 2 * NS_PER_SEC / 10;
	s.destination = times(10, 5, 80, 5);
	assert_summary(
		&s,
		"copied 0 files, 0 B, in 1.00 s\n"
		"  bottleneck: the network\n"
		"    source reads 10 %, checks 5 %, sends 85 %, waits 0 %, processor 6 %; "
		"destination waits 80 %, receives 5 %, checks 5 %, writes 10 %, flushes 0 %, "
		"processor 0 %\n"
		"  not encrypted (-encrypt); a checksum of all data that was sent was checked\n");
	/* Shares so large that 1 percent of each can be seen. */
	s.source = times(52, 99, 53, 54);
	s.source.cpu_ns = 55 * NS_PER_SEC / 10;
	s.destination = times(56, 57, 98, 58);
	s.destination.cpu_ns = 59 * NS_PER_SEC / 10;
	s.destination.flush_ns = 61 * NS_PER_SEC / 100;
	assert_summary(
		&s,
		"copied 0 files, 0 B, in 1.00 s\n"
		"  bottleneck: unclear: the storage of the destination, or the processor of the "
		"destination\n"
		"    source reads 52 %, checks 54 %, sends 99 %, waits 53 %, processor 55 %; "
		"destination waits 98 %, receives 57 %, checks 58 %, writes 56 %, flushes 61 %, "
		"processor 59 %\n"
		"  not encrypted (-encrypt); a checksum of all data that was sent was checked\n");
}

/* ---- outputs ---- */

static char directory[] = "/tmp/xdd-report-XXXXXX";
static char log_file[64], json_file[64], out_file[64], error_file[64];
static int saved_out = -1;

/* Standard output goes to a file. */
static int enter(void **state)
{
	int fd;

	fd = open(out_file, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (fd < 0 || log_open(error_file))
		return -1;
	saved_out = dup(STDOUT_FILENO);
	if (dup2(fd, STDOUT_FILENO) < 0)
		return -1;
	close(fd);
	return 0;
}

static int leave(void **state)
{
	dup2(saved_out, STDOUT_FILENO);
	close(saved_out);
	log_open("/dev/stderr");
	keeps_open = 1;
	unlink(log_file);
	unlink(json_file);
	unlink(out_file);
	unlink(error_file);
	return 0;
}

/* The contents, which the caller frees. */
static char *contents(const char *path)
{
	FILE *f = fopen(path, "r");
	char *text = NULL;
	size_t size = 0;

	if (!f)
		return strdup("");
	if (getdelim(&text, &size, '\0', f) < 0) {
		free(text);
		text = strdup("");
	}
	fclose(f);
	return text;
}

static size_t lines_with(const char *path, const char *word)
{
	char *text = contents(path);
	size_t n = 0;

	for (const char *at = text; (at = strstr(at, word)); at++)
		n++;
	free(text);
	return n;
}

static void fail_one(struct copy_report *r, enum copy_role side, uint32_t status, const char *path)
{
	struct copy_failure f = { .status = status };

	copy_failure_path(&f, path);
	strcpy(f.text, "cannot open (Permission denied)");
	copy_report_failure(r, side, &f);
}

/* All failures are in log and JSON; on standard error only the first hundred. */
TEST_SETUP_TEARDOWN(test_many_failures, enter, leave)
{
	struct copy_request q = sample_request();
	struct copy_report *r;
	json_t *document;

	q.log_path = log_file;
	q.json_path = json_file;
	q.settings.encrypt = true;
	assert_int_equal(copy_report_open(&r, &q), 0);
	copy_report_inside(r, true);
	assert_int_equal(copy_report_begin(r), 0);
	assert_int_equal(copy_report_status(r), 0);
	for (unsigned i = 0; i < 250; i++)
		fail_one(r, i % 2 ? COPY_DESTINATION : COPY_SOURCE, COPY_FAILED, "d/na\nme");
	fail_one(r, COPY_SOURCE, 0, "warned");
	assert_int_equal(copy_report_status(r), COPY_FAILED);
	copy_report_note(r, "data goes through ssh");
	copy_report_counts(r, COPY_SOURCE, &(struct copy_counts){ .offered_files = 250 });
	copy_report_counts(r, COPY_DESTINATION, &(struct copy_counts){ .failed = 125 });
	assert_int_equal(copy_report_close(r, XDD_CANCELED), XDD_CANCELED);
	assert_int_equal(lines_with(error_file, "Permission denied"), 101);
	assert_int_equal(lines_with(error_file, "hosta:d/na?me: cannot open"), 50);
	assert_int_equal(lines_with(error_file, "are not shown; the log has the others"), 1);
	assert_int_equal(lines_with(log_file, " failed hosta:d/na\\nme: cannot"), 125);
	assert_int_equal(lines_with(log_file, " warning hosta:warned"), 1);
	assert_int_equal(lines_with(log_file, " note data goes through ssh\n"), 1);
	assert_int_equal(lines_with(log_file, "exit status 5\n"), 1);
	assert_int_equal(lines_with(out_file, "canceled; copied 0 files"), 1);
	assert_int_equal(lines_with(out_file, "    d/na\\nme: cannot open"), 5);
	document = json_load_file(json_file, 0, NULL);
	assert_non_null(document);
	/* ssh encrypts what goes through it. */
	assert_true(json_is_false(json_object_get(document, "encrypted")));
	assert_true(json_is_true(json_object_get(document, "through_ssh")));
	assert_int_equal(json_array_size(json_object_get(document, "failures")), 251);
	assert_int_equal(json_integer_value(json_object_get(document, "status")), XDD_CANCELED);
	assert_string_equal(json_string_value(json_object_get(document, "end")), "canceled");
	json_decref(document);
}

/* A failure that a later attempt does not find again was repaired. Others count, and once. */
TEST_SETUP_TEARDOWN(test_repaired_failures, enter, leave)
{
	struct copy_request q = sample_request();
	struct copy_report *r;
	json_t *document;

	q.json_path = json_file;
	for (int left = 0; left < 2; left++) {
		assert_int_equal(copy_report_open(&r, &q), 0);
		for (int attempt = 0; attempt < 2; attempt++) {
			assert_int_equal(copy_report_begin(r), 0);
			copy_report_entry(r, "f", COPY_FILE, 1, COPY_SAME);
			if (!attempt)
				fail_one(r, COPY_SOURCE, COPY_FAILED, "repaired");
			if (left)
				fail_one(r, COPY_SOURCE, COPY_FAILED, "left");
			assert_int_equal(copy_report_status(r), attempt && !left ? 0 : COPY_FAILED);
			copy_report_counts(r, COPY_SOURCE,
					   &(struct copy_counts){ .offered_files = 1,
								  .failed = (uint64_t)left });
		}
		assert_int_equal(copy_report_close(r, copy_report_status(r)),
				 left ? COPY_FAILED : 0);
		assert_int_equal(lines_with(error_file, "repaired: cannot open"), 1);
		assert_int_equal(lines_with(error_file, "left: cannot open"), left);
		assert_int_equal(lines_with(out_file, "failed: 1:"), left);
		document = json_load_file(json_file, 0, NULL);
		assert_non_null(document);
		assert_int_equal(json_array_size(json_object_get(document, "failures")), left);
		assert_int_equal(json_integer_value(json_object_get(document, "status")),
				 left ? COPY_FAILED : 0);
		json_decref(document);
		if (!left) {
			leave(state);
			enter(state);
		}
	}
}

/* A loss without a reason is a failure, even if both sides say that all is well. */
TEST_SETUP_TEARDOWN(test_no_reasons, enter, leave)
{
	static const struct {
		enum copy_outcome outcome; /* 0: no result */
		uint64_t failed;	   /* counts of a side */
		size_t offer_bytes;
		bool list;
		int status;
	} cases[] = {
		{ COPY_LOST, 0, 50, false, COPY_FAILED },
		{ COPY_DIFFERS, 0, 50, false, XDD_MISCOMPARE },
		{ COPY_SAME, 3, 50, false, COPY_FAILED },
		{ 0, 0, 1, false, COPY_FAILED },
		{ 0, 0, 1, true, XDD_OK },
		{ COPY_SAME, 0, 50, false, XDD_OK },
	};
	uint8_t offer[50] = { COPY_END }, body[8];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct copy_result result = { .id = 1, .outcome = cases[i].outcome };
		struct copy_request q = sample_request();
		struct copy_report *r;

		q.settings.list = cases[i].list;
		assert_int_equal(copy_report_open(&r, &q), 0);
		assert_int_equal(copy_report_begin(r), 0);
		copy_report_offer(r, offer, cases[i].offer_bytes);
		if (result.outcome)
			copy_report_results(r, body,
					    copy_encode_result(&result, body, sizeof(body)));
		copy_report_counts(r, COPY_SOURCE,
				   &(struct copy_counts){ .failed = cases[i].failed });
		assert_int_equal(copy_report_close(r, XDD_OK), cases[i].status);
	}
	assert_int_equal(lines_with(error_file, "without a reason"), 3);
	assert_int_equal(lines_with(error_file, "has offered nothing"), 1);
}

/* The counters of a side in the order of struct copy_counts; NULL: not as a number. */
static const char *const counters[] = {
	"offered_files",
	"offered_bytes",
	"offered_directories",
	"offered_links",
	NULL,
	"files",
	"bytes",
	"skipped_files",
	"skipped_bytes",
	"directories",
	"links",
	"failed",
	"warnings",
	"moved_bytes",
	"storage_ns",
	"network_ns",
	"waiting_ns",
	"checking_ns",
	"flush_ns",
	"resumed_bytes",
	"owners_not_set",
	"status",
	"cpu_ns",
	"cpu_wait_ns",
	"cpu_quota_ns",
	"transit_ns",
};
#define COUNTERS (sizeof(counters) / sizeof(counters[0]))

static struct copy_counts numbered(uint64_t first)
{
	struct copy_counts c;
	uint64_t n[COUNTERS];

	assert_int_equal(sizeof(n), sizeof(c));
	for (size_t i = 0; i < COUNTERS; i++)
		n[i] = first + i;
	memcpy(&c, n, sizeof(c));
	return c;
}

static void assert_side(const json_t *document, const char *name, uint64_t first)
{
	const json_t *side = json_object_get(document, name);

	assert_int_equal(json_object_size(side), COUNTERS + 1);
	assert_true(json_is_true(json_object_get(side, "all_offered")));
	assert_int_equal(json_object_size(json_object_get(side, "shares")), 9);
	for (size_t i = 0; i < COUNTERS; i++) {
		if (counters[i])
			assert_int_equal(json_integer_value(json_object_get(side, counters[i])),
					 first + i);
	}
}

static void assert_member(const json_t *document, const char *name, const char *expected)
{
	json_t *wanted = json_loads(expected, JSON_DECODE_ANY, NULL);

	assert_non_null(wanted);
	if (!json_equal(json_object_get(document, name), wanted))
		fail_msg("%s: %s, not %s", name,
			 json_dumps(json_object_get(document, name), JSON_ENCODE_ANY), expected);
	json_decref(wanted);
}

/* The lines of the log without their times, and the summary without its time and rate. */
static void assert_log(const char *expected)
{
	char *text = contents(log_file), *out = text, *time;
	const size_t stamp = strlen("2026-01-01 00:00:00.000 ");

	for (const char *at = text; *at;) {
		const char *end = strchrnul(at, '\n') + 1;

		if (at[0] == '2' && at[4] == '-' && at[stamp - 1] == ' ')
			at += stamp;
		memmove(out, at, (size_t)(end - at));
		out += end - at;
		at = end;
	}
	*out = '\0';
	time = strstr(text, ", in ");
	assert_non_null(time);
	memmove(time, strchr(time, '\n'), strlen(strchr(time, '\n')) + 1);
	assert_string_equal(text, expected);
	free(text);
}

/* Each member of the document, and each line of the log. */
TEST_SETUP_TEARDOWN(test_all, enter, leave)
{
	struct copy_request q = sample_request();
	struct connection_info plain = { .local = "[::1]:1",
					 .peer = "[::1]:2",
					 .rtt_ns = 1234567,
					 .retransmits = 3 },
			       secret = { .local = "a:1", .peer = "b:2", .cipher = "aes" };
	struct copy_counts from = numbered(1000), to = numbered(2000);
	struct copy_failure f = { .status = XDD_MISCOMPARE, .differs = true };
	struct copy_report *r;
	json_t *document;

	q.log_path = log_file;
	q.json_path = json_file;
	q.destination = (struct copy_place){ .user = "me", .host = "hostb", .path = "to" };
	q.settings = (struct copy_settings){ .recursive = true,
					     .verify = true,
					     .dry_run = false,
					     .in_place = true,
					     .list = true,
					     .ordered_destination = true,
					     .direct_source = true,
					     .encrypt = true,
					     .connections = 8,
					     .block_bytes = 65536,
					     .size_bytes = 77,
					     .timeout_ns = 99 };
	assert_int_equal(copy_report_open(&r, &q), 0);
	copy_report_inside(r, false);
	assert_int_equal(copy_report_begin(r), 0);
	copy_failure_path(&f, "d");
	strcpy(f.text, "is other");
	copy_report_failure(r, COPY_DESTINATION, &f);
	f = (struct copy_failure){ .status = 0 };
	strcpy(f.text, "beware");
	copy_report_failure(r, COPY_SOURCE, &f);
	fail_one(r, COPY_SOURCE, COPY_FAILED, "e");
	copy_report_note(r, "note %d", 1);
	copy_report_connection(r, &plain);
	copy_report_connection(r, &secret);
	copy_report_counts(r, COPY_SOURCE, &from);
	copy_report_counts(r, COPY_DESTINATION, &to);
	assert_int_equal(copy_report_close(r, XDD_MISCOMPARE), COPY_FAILED);
	document = json_load_file(json_file, 0, NULL);
	assert_non_null(document);
	assert_side(document, "source_side", 1000);
	assert_side(document, "destination_side", 2000);
	assert_member(document, "format", "\"xdd copy\"");
	assert_member(document, "version", "1");
	assert_member(document, "command_line", "\"xdd copy hosta:/data there\"");
	assert_member(document, "sources",
		      "[{\"user\": null, \"host\": \"hosta\", \"path\": \"/data\"}]");
	assert_member(document, "destination",
		      "{\"user\": \"me\", \"host\": \"hostb\", \"path\": \"to\"}");
	assert_member(document, "settings",
		      "{\"recursive\": true, \"preserve\": false, \"verify\": true, \"contents\": "
		      "false, \"dryrun\": false, \"in_place\": true, \"resume\": false, \"list\": "
		      "true, \"ordered_source\": false, \"ordered_destination\": true, "
		      "\"direct_source\": true, \"direct_destination\": false, \"encrypt\": true, "
		      "\"connections\": 8, \"block_bytes\": 65536, \"size_bytes\": 77, "
		      "\"timeout_ns\": 99}");
	assert_member(document, "status", "114");
	assert_member(document, "end", "\"errors\"");
	assert_member(document, "would_copy_files", "0");
	assert_member(document, "would_copy_bytes", "0");
	assert_member(document, "encrypted", "true");
	assert_member(document, "through_ssh", "false");
	assert_member(document, "bottleneck", "null");
	assert_member(document, "bottleneck_between", "null");
	assert_member(document, "notes", "[\"note 1\"]");
	assert_member(document, "messages_left_out", "0");
	assert_member(document, "failures",
		      "[{\"side\": \"destination\", \"path\": \"d\", \"text\": \"is other\", "
		      "\"status\": 7, \"differs\": true}, {\"side\": \"source\", \"path\": null, "
		      "\"text\": \"beware\", \"status\": 0, \"differs\": false}, {\"side\": "
		      "\"source\", \"path\": \"e\", \"text\": \"cannot open (Permission denied)\", "
		      "\"status\": 114, \"differs\": false}]");
	assert_int_equal(json_array_size(json_object_get(document, "connections")), 2);
	assert_int_equal(json_array_size(json_object_get(document, "messages")), 4);
	assert_true(json_integer_value(json_object_get(document, "elapsed_ns")) > 0);
	assert_int_equal(json_object_size(document), 26);
	json_decref(document);
	assert_log("command xdd copy hosta:/data there\n"
		   "differs hostb:d: is other\n"
		   "warning hosta: beware\n"
		   "failed hosta:e: cannot open (Permission denied)\n"
		   "note note 1\n"
		   "connection [::1]:1 to [::1]:2, not encrypted, round trip 1.235 ms, 3 "
		   "retransmissions\n"
		   "connection a:1 to b:2, aes, round trip 0.000 ms, 0 retransmissions\n"
		   "compared 1000 files, 1.01 kB\n"
		   "  equal: 2007 files, 2.01 kB\n"
		   "  directories: 2009, links: 2010\n"
		   "  resumed: 2.02 kB were there from an interrupted copy\n"
		   "  different or failed: 3022, 3020 of them in directories that are named:\n"
		   "    hostb:d: is other\n"
		   "    hosta:e: cannot open (Permission denied)\n"
		   "  warnings: 1\n"
		   "  owners or attributes not set: 2020 (this needs the rights of root at the "
		   "destination)\n"
		   "  encrypted; contents were compared by checksums; what was kept of an "
		   "interrupted copy has the checksum of the source\n"
		   "exit status 114\n");
}

/* Where the failures and warnings are that are not shown. */
TEST_SETUP_TEARDOWN(test_many_warnings, enter, leave)
{
	static const char *const rest[] = { "-log <file> lists them all",
					    "the JSON document has the others",
					    "the log has the others" };
	char line[128], path[16];

	for (size_t i = 0; i < sizeof(rest) / sizeof(rest[0]); i++) {
		struct copy_request q = sample_request();
		struct copy_report *r;

		q.json_path = i ? json_file : NULL;
		q.log_path = i == 2 ? log_file : NULL;
		assert_int_equal(copy_report_open(&r, &q), 0);
		for (unsigned k = 0; k < 101; k++) {
			snprintf(path, sizeof(path), "%zu-%u", i, k);
			fail_one(r, COPY_SOURCE, 0, path);
		}
		assert_int_equal(copy_report_close(r, 0), 0);
		snprintf(line, sizeof(line), "copy: further warnings are not shown; %s\n", rest[i]);
		assert_int_equal(lines_with(error_file, line), 1);
		snprintf(line, sizeof(line), "warning: copy: hosta:%zu-", i);
		assert_int_equal(lines_with(error_file, line), 100);
	}
}

TEST_SETUP_TEARDOWN(test_list, enter, leave)
{
	struct copy_request q = sample_request();
	struct copy_report *r;
	char *text;

	q.settings.dry_run = true;
	assert_int_equal(copy_report_open(&r, &q), 0);
	assert_int_equal(copy_report_begin(r), 0);
	copy_report_entry(r, "d", COPY_DIR, 0, COPY_WOULD);
	copy_report_entry(r, "d/a\nb\\n", COPY_FILE, 12, COPY_WOULD);
	copy_report_entry(r, "d/same", COPY_FILE, 12, COPY_SAME);
	copy_report_entry(r, "d/link", COPY_SYMLINK, 0, COPY_WOULD);
	assert_int_equal(copy_report_close(r, 0), 0);
	text = contents(out_file);
	assert_string_equal(text,
			    "copy d/\ncopy d/a\\nb\\\\n\ncopy d/link\nwould copy 1 file, 12 B\n");
	free(text);
	text = contents(error_file);
	assert_string_equal(text, "");
	free(text);
}

/* With the document on standard output there is nothing else. */
TEST_SETUP_TEARDOWN(test_json_alone, enter, leave)
{
	struct copy_request q = sample_request();
	struct copy_report *r;
	json_t *document;

	q.settings.dry_run = true;
	q.json_path = "-";
	assert_int_equal(copy_report_open(&r, &q), 0);
	copy_report_inside(r, false);
	assert_int_equal(copy_report_begin(r), 0);
	copy_report_entry(r, "d/a", COPY_FILE, 12, COPY_WOULD);
	assert_int_equal(copy_report_close(r, 0), 0);
	document = json_load_file(out_file, 0, NULL);
	assert_non_null(document);
	assert_int_equal(json_integer_value(json_object_get(document, "would_copy_bytes")), 12);
	assert_true(json_is_false(json_object_get(document, "encrypted")));
	assert_true(json_is_false(json_object_get(document, "through_ssh")));
	json_decref(document);
}

TEST_SETUP_TEARDOWN(test_verbose_log, enter, leave)
{
	struct copy_request q = sample_request();
	struct copy_report *r;
	char *text;

	q.settings.stamps = true;
	q.log_path = log_file;
	q.quiet = true;
	assert_int_equal(copy_report_open(&r, &q), 0);
	copy_report_entry(r, "d/\x1b\\", COPY_FILE, 12, COPY_DONE);
	copy_report_entry(r, "d", COPY_DIR, 0, COPY_DONE);
	copy_report_entry(r, "l", COPY_LINK, 0, COPY_LOST);
	assert_int_equal(copy_report_close(r, COPY_FAILED), COPY_FAILED);
	assert_int_equal(lines_with(log_file, " copied file, 12 bytes: d/\\x1b\\\\\n"), 1);
	assert_int_equal(lines_with(log_file, " copied directory, 0 bytes: d\n"), 1);
	assert_int_equal(lines_with(log_file, " not copied hard link, 0 bytes: l\n"), 1);
	assert_int_equal(lines_with(log_file, "command xdd copy hosta:/data there\n"), 1);
	text = contents(out_file);
	assert_string_equal(text, "");
	free(text);
}

/* Outputs that cannot be opened are refused before anything else happens. */
TEST_SETUP_TEARDOWN(test_refused_outputs, enter, leave)
{
	struct copy_request q = sample_request();
	struct copy_report *r;

	q.log_path = "/nonexistent/log";
	assert_int_equal(copy_report_open(&r, &q), COPY_BAD_ARGUMENTS);
	assert_null(r);
	q.log_path = log_file;
	q.json_path = "/nonexistent/json";
	assert_int_equal(copy_report_open(&r, &q), COPY_BAD_ARGUMENTS);
	assert_null(r);
	q.json_path = "/";
	assert_int_equal(copy_report_open(&r, &q), COPY_BAD_ARGUMENTS);
	assert_int_equal(lines_with(error_file, "-log /nonexistent/log: cannot write"), 1);
	assert_int_equal(lines_with(error_file, "-jsonout /nonexistent/json: "), 1);
}

/* The file of the document can be opened, and the one that keeps the failures cannot. */
TEST_SETUP_TEARDOWN(test_no_descriptors, enter, leave)
{
	struct copy_request q = sample_request();
	struct rlimit old, few;
	struct copy_json *j;
	int last;

	q.json_path = json_file;
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
	few = old;
	last = dup(STDIN_FILENO);
	assert_true(last >= 0);
	few.rlim_cur = (rlim_t)last + 1;
	close(last);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
	assert_int_equal(copy_json_open(&j, &q), -EMFILE);
	assert_int_equal(dup(STDIN_FILENO), last);
	close(last);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
	assert_int_equal(access(json_file, F_OK), -1);
}

TEST_SETUP_TEARDOWN(test_full_log, enter, leave)
{
	struct copy_request q = sample_request();
	struct copy_report *r;

	if (access("/dev/full", W_OK))
		skip();
	q.log_path = "/dev/full";
	q.json_path = "/dev/full";
	assert_int_equal(copy_report_open(&r, &q), 0);
	assert_int_equal(copy_report_close(r, 0), XDD_IO_ERROR);
	assert_int_equal(lines_with(error_file, "-log /dev/full: is incomplete (No space"), 1);
	assert_int_equal(lines_with(error_file, "-jsonout /dev/full: is incomplete (No space"), 1);
}

/* That of a server keeps the status, and prints nothing. */
TEST_SETUP_TEARDOWN(test_server, enter, leave)
{
	struct copy_report *r;
	char *text;

	assert_int_equal(copy_report_open(&r, NULL), 0);
	assert_int_equal(copy_report_begin(r), 0);
	fail_one(r, COPY_SOURCE, XDD_MISCOMPARE, "a");
	copy_report_note(r, "nothing");
	assert_int_equal(copy_report_status(r), XDD_MISCOMPARE);
	assert_int_equal(copy_report_close(r, 0), XDD_MISCOMPARE);
	assert_int_equal(copy_report_close(NULL, 3), 3);
	text = contents(error_file);
	assert_string_equal(text, "");
	free(text);
	text = contents(out_file);
	assert_string_equal(text, "");
	free(text);
}

static int make_directory(void **state)
{
	if (!mkdtemp(directory))
		return -1;
	snprintf(log_file, sizeof(log_file), "%s/log", directory);
	snprintf(json_file, sizeof(json_file), "%s/json", directory);
	snprintf(out_file, sizeof(out_file), "%s/out", directory);
	snprintf(error_file, sizeof(error_file), "%s/error", directory);
	return 0;
}

static int remove_directory(void **state)
{
	return rmdir(directory);
}

RUN_TESTS(make_directory, remove_directory)
