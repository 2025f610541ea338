/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Documents of runs and sweeps: the reader, and xdd compare, report (without plots, or as CSV) or
 * combine, which the input chooses. An input is a line with conditions of -failif (none if it is
 * empty), a document, and, after a NUL, another one.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "commands/commands.h"
#include "fuzz.h"
#include "report/jsonout.h"
#include "report/screen.h"
#include "xdd/commands/command.h"
#include "xdd/report/document.h"
#include "xdd/report/sweep.h"
#include "xdd/stat/histogram.h"

static const char *const words[] = {
	FUZZ_JSON_WORDS,
	"0",
	"0.0",
	"1e24",
	"1e-300",
	"9223372036854775807",
	"18446744073709551615",
	"\"18446744073709551615\"",
	"\"values\":[]",
	"\"passes\":[1]",
	"\"not_reproducible\":\"x\"",
	"\"partial\":true",
	"\"target\":0,",
	"\"run_id\":\"x\"",
	"\"rank\":1,\"ranks\":2,",
	"\"histogram\":[]",
	"\"histogram\":[1,2]",
	"\"intervals\":[]",
	"\"begin_ns\":null",
	"\"begin_ns\":1",
	"\"elapsed_ns\":0",
	"\"what\":\"COMBINED\"",
	"\"what\":\"TARGET_PASS\"",
	"\"nobarrier\":true",
	"\"resolved\":5",
	"\"path\":\"<script>\"",
	"\"options\":\"\\\"'`\"",
	"\"clock\":{\"source\":\"timeserver\",\"bound_ns\":5}",
	"\"machine\":\"m 1\",\"machine_offset_ns\":9223372036854775807,",
	"\"version\":1",
	"\"axes\":[]",
	"\"points\":[]",
	"\"varied\":{}",
	"p99+10%",
	"bandwidth-5%,",
	"+1e9%",
	"\n",
};

/* ---- documents ---- */

static char *make_statistic(struct fuzz_random *r, char *out, const char *target)
{
	const size_t passes = fuzz_below(r, 8), scatter = (size_t)1 << fuzz_below(r, 40);

	out += sprintf(out, "{\"target\":%s,\"not_reproducible\":%s,\"passes\":[", target,
		       fuzz_once_in(r, 4) ? "\"drift\"" : "null");
	for (size_t i = 1; i <= passes; i++)
		out += sprintf(out, "%s%zu", i > 1 ? "," : "", i);
	out = stpcpy(out, "]");
	for (enum pass_figure figure = 0; figure < FIGURE_COUNT; figure++) {
		const size_t mean = fuzz_below(r, 1000000);

		out += sprintf(out, ",\"%s\":{\"mean\":%zu.5,\"interval_high\":%zu,\"values\":[",
			       figure_name(figure), mean, mean + 9);
		for (size_t i = 0; i < passes; i++)
			out += sprintf(out, "%s%zu.5", i ? "," : "", fuzz_below(r, scatter));
		out = stpcpy(out, "]}");
	}
	return stpcpy(out, "}");
}

static char *make_figures(struct fuzz_random *r, char *out, uint64_t begin)
{
	size_t ops = 1 + fuzz_below(r, 1000), at = fuzz_below(r, HISTOGRAM_BUCKETS);
	uint64_t ns = histogram_bucket_from((unsigned)at);
	size_t length = fuzz_below(r, 100000);

	out += sprintf(
		out,
		"\"ops\":{\"read\":%zu,\"write\":0,\"noop\":0},\"bytes\":{\"read\":%zu,"
		"\"write\":0,\"noop\":0},\"failed_bytes\":{\"read\":0,\"write\":0,\"noop\":0},"
		"\"busy_ns\":{\"read\":%" PRIu64 ",\"write\":0,\"noop\":0},\"issued\":%zu,"
		"\"errors\":0,\"outstanding\":0,\"elapsed_ns\":%zu,",
		ops, 512 * ops, ns, ops, length);
	if (!fuzz_once_in(r, 5))
		out += sprintf(out, "\"begin_ns\":%" PRIu64 ",\"finish_ns\":%" PRIu64 ",", begin,
			       begin + length);
	out += sprintf(out,
		       "\"latency\":{\"service\":{\"read\":{\"count\":%zu,\"minimum_ns\":%" PRIu64
		       ",\"mean_ns\":%" PRIu64 ".0,\"standard_deviation_ns\":0.0,"
		       "\"maximum_ns\":%" PRIu64 ",\"percentiles_ns\":{\"99.9\":%" PRIu64
		       "},\"histogram\":[%" PRIu64 ",%zu]}},\"response\":{}},",
		       ops, ns, ns, ns, ns, ns, ops);
	/* Of version 1, or of later ones. */
	return stpcpy(out, fuzz_once_in(r, 3) ?
				   "\"columns\":{\"longest\":1.5,\"longesttype\":\"read\","
				   "\"e2elagtime\":0.5,\"percentcputime\":12.5,"
				   "\"id\":\"i\"}" :
				   "\"longest\":{\"ns\":9,\"direction\":\"read\","
				   "\"operation\":7,\"offset_bytes\":512}");
}

static char *make_results(struct fuzz_random *r, char *out)
{
	const size_t passes = fuzz_below(r, 3), targets = 1 + fuzz_below(r, 2);
	uint64_t begin = 1000000 + fuzz_below(r, 1000000);

	for (size_t i = 0; i < passes * targets; i++) {
		out += sprintf(out, "{\"what\":\"TARGET_PASS\",\"pass\":%zu,\"target\":%zu,",
			       1 + i / targets, i % targets);
		out = stpcpy(make_figures(r, out, begin), "},");
		begin += (i + 1) % targets ? 0 : fuzz_below(r, 200000);
	}
	out = stpcpy(out, "{\"what\":\"TARGET_AVERAGE\",\"passes\":1,\"target\":0,"
			  "\"bound\":\"device\",");
	out = stpcpy(make_figures(r, out, begin), "},");
	if (fuzz_once_in(r, 4)) {
		out = stpcpy(out, "{\"what\":\"HOST\",\"host\":0,\"passes\":1,\"targets\":1,"
				  "\"user_ns\":9,\"system_ns\":9,\"request_bytes\":512,"
				  "\"queue_depth\":1,\"block_bytes\":512,");
		out = stpcpy(make_figures(r, out, begin), "},");
	}
	out += sprintf(out,
		       "{\"what\":\"COMBINED\",\"passes\":%zu,\"targets\":%zu,\"queue_depth\":1,"
		       "\"operation\":\"read\",\"request_bytes\":512,\"block_bytes\":512,",
		       passes, targets);
	return stpcpy(make_figures(r, out, begin), "}]");
}

static char *make_intervals(struct fuzz_random *r, char *out)
{
	const size_t n = fuzz_below(r, 9);

	out = stpcpy(out, ",\"intervals\":[");
	for (size_t i = 0; i < n; i++)
		out += sprintf(out,
			       "%s{\"start_ns\":%zu,\"end_ns\":%zu,\"target\":%s,\"pass\":1,"
			       "\"direction\":\"read\",\"ops\":%zu,\"bytes\":5,\"p50_ns\":%zu,"
			       "\"p99_ns\":90,\"max_ns\":99}",
			       i ? "," : "", i * 10, i * 10 + 10, i % 2 ? "0" : "null", i, i * 7);
	return stpcpy(out, "]");
}

/* One draw per statement: the compiler chooses the order of arguments. */
static char *make_run(struct fuzz_random *r, char *out)
{
	const size_t host = fuzz_below(r, 3), other = fuzz_below(r, 2);
	const int version = fuzz_once_in(r, 3) ? 1 : JSONOUT_VERSION;
	const bool ranked = fuzz_once_in(r, 3), partial = fuzz_once_in(r, 3);
	const bool run_time = fuzz_once_in(r, 3), served = fuzz_once_in(r, 2);
	const size_t status = fuzz_below(r, 8);

	out += sprintf(out,
		       "{\"format\":\"%s\",\"version\":%d,\"xdd\":\"9\",\"end\":\"normal\","
		       "\"id\":null,\"run_id\":\"r\",\"partial\":%s,\"status\":%zu,",
		       JSONOUT_FORMAT, version, partial ? "true" : "false", status);
	if (fuzz_once_in(r, 6))
		out = stpcpy(out, "\"hosts\":[{\"host\":\"a\",\"ops\":5,\"processors\":2,"
				  "\"identity\":{\"id\":\"x\",\"requestediops\":5}}],");
	if (fuzz_once_in(r, 4))
		out = stpcpy(out,
			     "\"deskew\":[{\"pass\":null,\"fairness\":0.5,\"window\":{\"ns\":5,"
			     "\"bytes\":9,\"ops\":1.5},\"tail\":{}}],");
	if (ranked)
		out += sprintf(out, "\"rank\":%zu,\"ranks\":3,", host);
	out += sprintf(
		out,
		"\"command_line\":\"xdd -op read\",\"start_time\":\"2027-01-01T00:00:00.%03zuZ\","
		"\"end_time\":\"2027-01-01T00:00:01.000Z\",\"environment\":{\"host\":{\"name\":"
		"\"h%zu\"},\"kernel\":{\"release\":\"%zu\"},\"list\":[1,[2]]},\"plan\":{"
		"\"options\":{\"nobarrier\":%s},\"resolved\":{\"run_time_ns\":%s},\"targets\":[{"
		"\"number\":0,\"path\":\"d<&'\",\"options\":{\"reqsize\":%zu},"
		"\"resolved\":{\"a\":1}}]},"
		"\"messages\":[{\"level\":\"error\",\"text\":\"t\"}],\"clock\":{\"source\":\"%s\","
		"\"bound_ns\":%s,\"machine\":\"m %zu\",\"machine_offset_ns\":-%zu},\"results\":[",
		host, host, other, partial ? "true" : "false", run_time ? "5" : "null", other,
		served ? "timeserver" : "wall", served ? "7" : "null", other, host);
	out = stpcpy(make_results(r, out), ",\"statistics\":[");
	if (!fuzz_once_in(r, 4))
		out = stpcpy(make_statistic(r, out, "0"), ",");
	out = stpcpy(make_statistic(r, out, "null"), "]");
	if (fuzz_once_in(r, 2))
		out = make_intervals(r, out);
	return stpcpy(out, "}\n");
}

/* A sweep with a few points, whose order may be any. */
static char *make_sweep(struct fuzz_random *r, char *out)
{
	const size_t first = fuzz_below(r, 3);

	out += sprintf(out,
		       "{\"format\":\"%s\",\"version\":%d,\"axes\":[{\"option\":\"a\",\"values\":["
		       "\"0\",\"1\",\"2\",\"3\"]},{\"option\":\"b\",\"values\":[\"x\",\"y\"]}],"
		       "\"points\":[",
		       SWEEP_FORMAT, SWEEP_VERSION);
	for (size_t i = 0; i < 4; i++) {
		out += sprintf(out,
			       "%s{\"point\":%zu,\"varied\":{\"a\":\"%zu\",\"b\":\"%s\"},"
			       "\"rounds\":[{\"findings\":[\"cached\"]}],\"statistics\":[",
			       i ? "," : "", i + 1, (first + i) % 4, i % 2 ? "y" : "x");
		out = stpcpy(make_statistic(r, out, "null"), "]}");
	}
	return stpcpy(out, "],\"status\":0}\n");
}

static size_t make(struct fuzz_random *r, uint8_t *data)
{
	static const char *const limits[] = { "",	    "",
					      "p99+10%",    "bandwidth-5%,latency+0%",
					      "iops-99.9%", "p99.9+1e3%" };
	char *out = stpcpy((char *)data, limits[fuzz_below(r, 6)]);
	const bool sweeps = fuzz_once_in(r, 4);

	out = (sweeps ? make_sweep : make_run)(r, stpcpy(out, "\n"));
	if (fuzz_once_in(r, 2))
		out = (sweeps ? make_sweep : make_run)(r, out + 1); /* after the NUL */
	return (size_t)(out - (char *)data);
}

/* ---- the reader ---- */

static void check_statistics(const struct document_statistics *s)
{
	for (size_t i = 0; i < s->n; i++) {
		for (enum pass_figure k = 0; k < FIGURE_ALL; k++) {
			const struct document_figure *f = &s->list[i].figures[k];

			for (size_t n = 0; n < f->n; n++) {
				if (!(f->values[n] >= 0 && isfinite(f->values[n])))
					fuzz_fail("a figure of a pass is %g", f->values[n]);
			}
		}
	}
}

static void check_histogram(const struct histogram_sum *h)
{
	uint64_t n = 0;

	for (unsigned i = 0; i < h->size; i++)
		n += h->counts[i];
	if (n != h->n || n > DOCUMENT_MAX_OPS)
		fuzz_fail("a histogram has %" PRIu64 " operations, and says %" PRIu64, n, h->n);
}

static void check_columns(const struct result *r)
{
	const struct column *col;

	for (size_t i = 0; (col = column_at(i)); i++) {
		struct line_cell cell;

		line_cell_bare(&cell, col, r);
		if (!cell.whole && strlen(cell.text) >= LINE_CELL_SIZE - 1)
			fuzz_fail("column %s is cut", col->id);
	}
}

static void check_result(const struct document *d, const struct document_result *r)
{
	char why[DOCUMENT_WHY_SIZE];
	struct result result;
	const int err = document_result_read(d, r, &result, why);
	struct figures f = result.figures;

	if (r->placed && r->begin_ns > r->finish_ns)
		fuzz_fail("a result ends before it begins");
	if (err && !*why)
		fuzz_fail("figures are refused without a reason: %d", err);
	for (unsigned dir = 0; dir < DIR_COUNT && !err; dir++)
		check_histogram(&f.latency.of[LATENCY_SERVICE][dir]);
	if (!err)
		check_columns(&result);
	figures_free(&f);
}

/* Hold what the reader returns against what the commands rely on. */
static void check_reader(const uint8_t *data, size_t size)
{
	struct document d;

	if (document_parse(&d, (const char *)data, size) == 0 && document_read(&d, "fuzz", "x")) {
		check_statistics(&d.statistics);
		for (size_t i = 0; i < d.n_points; i++)
			check_statistics(&d.points[i].statistics);
		for (size_t i = 0; i < d.n_results; i++)
			check_result(&d, &d.results[i]);
		if (d.ranked && d.rank >= d.ranks)
			fuzz_fail("rank %" PRIu64 " of %" PRIu64, d.rank, d.ranks);
	}
	document_free(&d);
}

/* ---- the commands ---- */

#define WORDS 12

static int compare(char **argv, uint64_t hash, const char *limit, const char *const *files)
{
	enum compare_status status;
	int argc = 1;

	argv[0] = (char *)"compare";
	if (*limit) {
		argv[argc++] = (char *)"-failif";
		argv[argc++] = (char *)limit;
	}
	argv[argc++] = (char *)files[0];
	if (hash % 4 == 0) {
		argv[argc++] = (char *)files[0];
		argv[argc++] = (char *)"--";
		argv[argc++] = (char *)files[1];
	}
	argv[argc++] = (char *)files[1];
	status = command_compare.main(argc, argv);
	if (status > COMPARE_LIMIT)
		fuzz_fail("compare: status %d", (int)status);
	fuzz_messages_check(status == COMPARE_TROUBLE ? 1 : 0);
	return status == COMPARE_TROUBLE;
}

static int report(char **argv, const char *const *files, bool both, bool csv)
{
	int argc = 2, status;

	argv[0] = (char *)"report";
	argv[1] = (char *)(csv ? "-csv" : "-noplots");
	argv[argc++] = (char *)files[0];
	if (both)
		argv[argc++] = (char *)files[1];
	status = command_report.main(argc, argv);
	if (status != XDD_OK && status != XDD_BAD_ARGUMENT)
		fuzz_fail("report: status %d", status);
	fuzz_messages_check(status ? 1 : 0);
	return status != XDD_OK;
}

static bool is_status_2(const uint8_t *data, size_t size)
{
	static const char key[] = "\"status\"";
	const uint8_t *at = data, *end = data + size;

	while ((at = memmem(at, (size_t)(end - at), key, sizeof(key) - 1))) {
		at += sizeof(key) - 1;
		if (memchr(at, '2', end - at < 8 ? (size_t)(end - at) : 8))
			return true;
	}
	return false;
}

/* `of_host`: 2 may be the status of a host. */
static int combine(char **argv, uint64_t hash, const char *const *files, bool both, bool of_host)
{
	int argc = 1, status;

	argv[0] = (char *)"combine";
	if (hash % 7 == 0)
		argv[argc++] = (char *)"-force";
	if (hash % 5 == 0) {
		argv[argc++] = (char *)"-hosts";
		argv[argc++] = (char *)"h0,h1";
	}
	if (hash % 4 == 0) {
		argv[argc++] = (char *)"-csvout";
		argv[argc++] = (char *)"-";
	} else if (hash % 4 == 1) {
		argv[argc++] = (char *)"-o";
		argv[argc++] = (char *)"/dev/null";
	}
	argv[argc++] = (char *)files[0];
	if (both)
		argv[argc++] = (char *)files[1];
	status = command_combine.main(argc, argv);
	if (status < 0 || status > XDD_MISCOMPARE)
		fuzz_fail("combine: status %d", status);
	if (status != XDD_BAD_ARGUMENT || !of_host)
		fuzz_messages_check(status == XDD_BAD_ARGUMENT ? FUZZ_SOME : 0);
	return status == XDD_BAD_ARGUMENT;
}

int fuzz_one(const uint8_t *data, size_t size)
{
	const uint64_t hash = fuzz_hash(data, size);
	const uint8_t *a = memchr(data, '\n', size), *end = data + size, *b;
	char *limit = strndup((const char *)data, a ? (size_t)(a - data) : size);
	char *argv[WORDS] = { NULL };
	const char *files[2];
	int refused;
	bool csv;

	if (!limit)
		fuzz_fail("memory is short");
	a = a ? a + 1 : end;
	b = memchr(a, '\0', (size_t)(end - a));
	check_reader(a, (size_t)((b ? b : end) - a));
	files[0] = fuzz_file(0, a, (size_t)((b ? b : end) - a));
	files[1] = b ? fuzz_file(1, b + 1, (size_t)(end - b - 1)) : files[0];
	fuzz_messages_clear();
	csv = hash % 3 == 1 ? hash / 3 % 2 : hash % 3 == 2 && hash / 3 % 4 == 0;
	if (hash % 3 == 0)
		refused = compare(argv, hash / 3, limit, files);
	else if (hash % 3 == 1)
		refused = report(argv, files, b, csv);
	else
		refused = combine(argv, hash / 3, files, b, is_status_2(data, size));
	/* Lines of CSV are as exact as the document. */
	if (!csv)
		fuzz_output_check();
	free(limit);
	return refused;
}

const struct fuzz_harness fuzz_harness = {
	.name = "document",
	.make = make,
	.words = words,
	.n_words = sizeof(words) / sizeof(words[0]),
};
