/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A combined result for a terminal, 80 columns wide, and as CSV. Called by xdd combine, and by
 * commands that start a run on several hosts.
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/combine_host.h"
#include "report/csv.h"
#include "report/report_internal.h"
#include "xdd/base/log.h"
#include "xdd/base/memory.h"
#include "xdd/base/output.h"
#include "xdd/base/text.h"
#include "xdd/base/units.h"
#include "xdd/report/jvalue.h"
#include "xdd/report/report.h"

/*
 * CSV: a line of each host and one of all together, with the columns of a run.
 */

static enum xdd_status combine_csv_start(const char *path, const char *header, size_t len,
					 bool *is_new)
{
	int found = csv_look(path, header, len);

	*is_new = found == CSV_START_NEW;
	if (found == CSV_START_NEW || found == CSV_START_SAME)
		return XDD_OK;
	if (found == CSV_START_OTHER)
		log_error("combine: -csvout %s: its first line does not name the columns of a run; "
			  "use another file",
			  path);
	else
		log_error("combine: -csvout %s: its first line cannot be read: %s", path,
			  strerror(-found));
	return XDD_BAD_ARGUMENT;
}

static enum xdd_status combine_csv_append(const char *path, const char *text, size_t size)
{
	struct outfile o;
	int err = outfile_open(&o, path);

	if (!err) {
		outfile_write(&o, text, size);
		err = outfile_close(&o);
	}
	if (!err)
		return XDD_OK;
	log_error("combine: -csvout %s: %s", path, output_strerror(err));
	return XDD_IO_ERROR;
}

/* The text of the names or rows of a table; false: memory is short. */
static bool combine_csv_text(struct memstream *m, const struct csv_table *t,
			     int (*write)(FILE *f, const struct csv_table *t))
{
	const bool good = memstream_open(m) && !write(m->f, t);

	return !memstream_close(m) && good;
}

static enum xdd_status combine_csv_write(const struct csv_table *t, const char *path)
{
	struct memstream header = { 0 }, lines = { 0 };
	enum xdd_status status = XDD_INIT_FAILED;
	bool is_new = false;

	if (combine_csv_text(&header, t, csv_write_names) &&
	    combine_csv_text(&lines, t, csv_write_rows))
		status = combine_csv_start(path, header.text, header.size, &is_new);
	else
		log_error("combine: %s", strerror(ENOMEM));
	if (!status && is_new)
		status = combine_csv_append(path, header.text, header.size);
	if (!status)
		status = combine_csv_append(path, lines.text, lines.size);
	free(header.text);
	free(lines.text);
	return status;
}

enum xdd_status combine_write_csv(const json_t *doc, const char *path)
{
	struct csv_table *t = csv_new();
	struct column_list list = { 0 };
	enum xdd_status status = XDD_INIT_FAILED;
	const char *bad;
	size_t len;

	if (t && !column_list_parse(&list, CSV_RESULT_COLUMNS, &bad, &len)) {
		csv_kind(t);
		csv_result_columns(t, &list);
		csv_results(t, &list, doc, CSV_HOSTS, NULL);
		status = combine_csv_write(t, path);
	} else {
		log_error("combine: %s", strerror(ENOMEM));
	}
	column_list_free(&list);
	csv_free(t);
	return status;
}

/*
 * The text is read from the document alone, of which texts may come from any source.
 */

#define WIDTH 80
#define HOST_WIDTH 18
#define LABEL_SIZE 128
#define VALUES_SHOWN 6
#define HOSTS_SHOWN 8
#define MESSAGES_SHOWN 20

/* ---- values of the document ---- */

static double combine_text_number(const json_t *o, const char *key)
{
	return json_number_value(json_object_get(o, key));
}

static bool is_number(const json_t *o, const char *key)
{
	return json_is_number(json_object_get(o, key));
}

/* Main thread: memory was short since combine_print_text() began, and a text is missing. */
static bool lost;

/* The name of a host, cut at `size` bytes: never in the middle of a character. */
static const char *label(const json_t *host, char *buf, size_t size)
{
	char *safe = printable_dup(document_text(host, "label"), false);
	size_t n = 0;

	lost |= !safe;
	while (safe && safe[n]) {
		size_t len = utf8_length(safe + n);

		if (!len || n + len > size - 1)
			break;
		n += len;
	}
	snprintf(buf, size, "%.*s", (int)n, safe ? safe : "");
	free(safe);
	return buf;
}

static const char *label_at(const json_t *doc, const json_t *number_value, char *buf, size_t size)
{
	size_t i = (size_t)json_integer_value(number_value);

	return label(json_array_get(json_object_get(doc, "hosts"), i), buf, size);
}

/* ---- paragraphs ---- */

/* Write `text` with lines of WIDTH at most; those after the first are indented by `indent`. */
static void put_folded(FILE *f, const char *text, int indent)
{
	int at = indent;

	while (*text) {
		size_t len = strcspn(text, " ");

		if (at > indent && at + 1 + (int)len > WIDTH) {
			fprintf(f, "\n%*s", indent, "");
			at = indent;
		} else if (at > indent) {
			fputc(' ', f);
			at++;
		}
		fprintf(f, "%.*s", (int)len, text);
		at += (int)len;
		text += len;
		text += strspn(text, " ");
	}
	fputc('\n', f);
}

/* Texts of documents are made safe here. */
static void put_formatted(FILE *f, int indent, const char *fmt, va_list args)
{
	char *text = NULL, *safe;

	if (vasprintf(&text, fmt, args) < 0)
		text = NULL;
	safe = text ? printable_dup(text, false) : NULL;
	lost |= !safe;
	put_folded(f, safe ? safe : "", indent);
	free(safe);
	free(text);
}

__attribute__((format(printf, 2, 3))) static void put_paragraph(FILE *f, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	put_formatted(f, 0, fmt, args);
	va_end(args);
}

/* A line with a word before it. */
__attribute__((format(printf, 3, 4))) static void combine_text_put_line(FILE *f, const char *word,
									const char *fmt, ...)
{
	va_list args;

	fprintf(f, "%-11s ", word);
	va_start(args, fmt);
	put_formatted(f, 12, fmt, args);
	va_end(args);
}

/* ---- the table ---- */

/* The figures of a host, or of all together; NAN: not known. */
struct row {
	double elapsed_ns, bandwidth, iops, p50_ns, p99_ns, max_ns;
};

static void put_row(FILE *f, const char *name, const char *start, const struct row *row)
{
	char elapsed[SCALED_SIZE], rate[SCALED_SIZE], ops[SCALED_SIZE];
	char p50[SCALED_SIZE], p99[SCALED_SIZE], max[SCALED_SIZE];

	fprintf(f, "%-*s %8s %7s %9s %9s %7s %7s %7s\n", HOST_WIDTH, name, start,
		scaled_time(row->elapsed_ns, elapsed), scaled_rate(row->bandwidth, rate),
		scaled_ops(row->iops, ops), scaled_time(row->p50_ns, p50),
		scaled_time(row->p99_ns, p99), scaled_time(row->max_ns, max));
}

static struct row row_of_host(const json_t *host)
{
	return (struct row){
		.elapsed_ns = document_real(host, "elapsed_ns"),
		.bandwidth = document_real(host, "bandwidth"),
		.iops = document_real(host, "iops"),
		.p50_ns = document_real(host, "p50_ns"),
		.p99_ns = document_real(host, "p99_ns"),
		.max_ns = document_real(host, "max_ns"),
	};
}

/* Times of all operations, or of flushes. */
static double percentile(const struct figures *f, unsigned dir, double percent)
{
	const struct histogram_view v = latency_view(&f->latency, LATENCY_SERVICE, dir);

	return histogram_known_percentile(&v, (uint32_t)lround(percent * HISTOGRAM_PERCENT));
}

static double mean_ns(const struct figures *f, unsigned dir)
{
	const struct histogram_view v = latency_view(&f->latency, LATENCY_SERVICE, dir);

	return histogram_mean(&v);
}

static struct row row_of_all(const struct figures *f)
{
	const double seconds = (double)f->elapsed_ns / NS_PER_SEC;

	return (struct row){
		.elapsed_ns = f->known ? (double)f->elapsed_ns : NAN,
		.bandwidth = seconds > 0 ? (double)tally_bytes(&f->tally) / seconds : NAN,
		.iops = seconds > 0 ? (double)tally_ops(&f->tally) / seconds : NAN,
		.p50_ns = percentile(f, LATENCY_ALL_DIRS, 50),
		.p99_ns = percentile(f, LATENCY_ALL_DIRS, 99),
		.max_ns = percentile(f, LATENCY_ALL_DIRS, 100),
	};
}

static void put_table(FILE *f, const json_t *doc, const struct figures *all)
{
	const json_t *together = json_object_get(doc, "together"), *host;
	const struct row sum = row_of_all(all);
	double begin = combine_text_number(together, "begin_ns");
	size_t i;

	fprintf(f, "%-*s %8s %7s %9s %9s %7s %7s %7s\n", HOST_WIDTH, "host", "start", "elapsed",
		"bandwidth", "rate", "p50", "p99", "max");
	json_array_foreach(json_object_get(doc, "hosts"), i, host)
	{
		char name[HOST_WIDTH + 1], time[SCALED_SIZE], start[SCALED_SIZE + 1] = "-";
		const struct row row = row_of_host(host);

		/* Differences of such numbers are exact to 256 ns as floating point. */
		if (begin > 0 && is_number(host, "begin_ns"))
			snprintf(start, sizeof(start), "+%s",
				 scaled_time((double)(json_integer_value(
							      json_object_get(host, "begin_ns")) -
						      json_integer_value(json_object_get(
							      together, "begin_ns"))),
					     time));
		put_row(f, label(host, name, sizeof(name)), start, &row);
	}
	if (i > 1)
		put_row(f, "all", "", &sum);
}

/* ---- what is known of all together ---- */

static void put_latency(FILE *f, const struct figures *all)
{
	const unsigned dirs = LATENCY_ALL_DIRS;
	char mean[SCALED_SIZE], p99[SCALED_SIZE], p999[SCALED_SIZE], p9999[SCALED_SIZE];

	if (isnan(percentile(all, dirs, 100)))
		return;
	combine_text_put_line(f, "Latency",
			      "mean %s, p99 %s, p99.9 %s, p99.99 %s, of all operations",
			      scaled_time(mean_ns(all, dirs), mean),
			      scaled_time(percentile(all, dirs, 99), p99),
			      scaled_time(percentile(all, dirs, 99.9), p999),
			      scaled_time(percentile(all, dirs, 99.99), p9999));
}

static void put_flushes(FILE *f, const struct figures *all)
{
	char mean[SCALED_SIZE], p99[SCALED_SIZE], max[SCALED_SIZE];

	if (!all->latency.flushes.n)
		return;
	combine_text_put_line(f, "Flushes", "%" PRIu64 ", mean %s, p99 %s, max %s, in no operation",
			      all->tally.flushes, scaled_time(mean_ns(all, LATENCY_FLUSHES), mean),
			      scaled_time(percentile(all, LATENCY_FLUSHES, 99), p99),
			      scaled_time(percentile(all, LATENCY_FLUSHES, 100), max));
}

static void put_skew(FILE *f, const json_t *doc, const char *word, const char *key)
{
	const json_t *s = json_object_get(json_object_get(doc, "together"), key);
	char first[LABEL_SIZE], last[LABEL_SIZE], skew[SCALED_SIZE], bound[SCALED_SIZE];
	const bool apart = combine_text_number(s, "first_host") !=
			   combine_text_number(s, "last_host");

	if (!json_is_object(s))
		return;
	if (is_number(s, "bound_ns"))
		scaled_time(combine_text_number(s, "bound_ns"), bound);
	combine_text_put_line(
		f, word, "skew %s, %s%s%s%s%s%s",
		scaled_time(combine_text_number(s, "skew_ns"), skew),
		is_number(s, "bound_ns") ? "true within " : "by clocks of unknown error",
		is_number(s, "bound_ns") ? bound : "", apart ? "; first " : "",
		apart ? label_at(doc, json_object_get(s, "first_host"), first, sizeof(first)) : "",
		apart ? ", last " : "",
		apart ? label_at(doc, json_object_get(s, "last_host"), last, sizeof(last)) : "");
}

static void put_window(FILE *f, const json_t *doc, const struct figures *all)
{
	const json_t *w = json_object_get(json_object_get(doc, "together"), "window");
	double ns = combine_text_number(w, "ns"), elapsed = (double)all->elapsed_ns;
	char time[SCALED_SIZE], rate[SCALED_SIZE], ops[SCALED_SIZE];

	if (!json_is_object(w) || elapsed <= 0)
		return;
	if (ns <= 0) {
		combine_text_put_line(f, "Window", "at no time all hosts were transferring");
		return;
	}
	combine_text_put_line(
		f, "Window",
		"%s, %.0f %% of the time, all hosts were transferring: about %s, %s by the mean "
		"rate of each",
		scaled_time(ns, time), 100 * ns / elapsed,
		scaled_rate(combine_text_number(w, "bytes") * NS_PER_SEC / ns, rate),
		scaled_ops(combine_text_number(w, "ops") * NS_PER_SEC / ns, ops));
}

static void put_slowest(FILE *f, const json_t *doc)
{
	const json_t *t = json_object_get(doc, "together");
	char slowest[LABEL_SIZE], fastest[LABEL_SIZE];

	if (combine_text_number(t, "fairness") <= 0)
		return;
	combine_text_put_line(
		f, "Slowest", "%s, with %.0f %% of the rate of the fastest, %s",
		label_at(doc, json_object_get(t, "slowest_host"), slowest, sizeof(slowest)),
		100 * combine_text_number(t, "fairness"),
		label_at(doc, json_object_get(t, "fastest_host"), fastest, sizeof(fastest)));
}

/* ---- differences ---- */

static void put_hosts(FILE *f, const json_t *doc, const json_t *hosts)
{
	const json_t *one;
	size_t i;

	json_array_foreach(hosts, i, one)
	{
		char name[LABEL_SIZE];

		if (i == HOSTS_SHOWN) {
			fprintf(f, " and %zu more", json_array_size(hosts) - i);
			return;
		}
		fprintf(f, "%s%s", i ? ", " : "", label_at(doc, one, name, sizeof(name)));
	}
}

static void put_difference(FILE *f, const json_t *doc, const json_t *difference)
{
	const json_t *values = json_object_get(difference, "values"), *value;
	size_t i;

	fputs("  ", f);
	printable_put(f, document_text(difference, "name"));
	fputc('\n', f);
	json_array_foreach(values, i, value)
	{
		struct memstream m;

		if (i == VALUES_SHOWN) {
			fprintf(f, "    and %zu other values\n", json_array_size(values) - i);
			return;
		}
		if (memstream_open(&m)) {
			jvalue_show(m.f, json_object_get(value, "value"));
			fputs("  on ", m.f);
			put_hosts(m.f, doc, json_object_get(value, "hosts"));
		}
		if (memstream_close(&m)) {
			lost = true;
			return;
		}
		fputs("    ", f);
		put_folded(f, m.text, 6);
		free(m.text);
	}
}

static void put_differences(FILE *f, const json_t *doc, const char *member, const char *title)
{
	const json_t *list = json_object_get(json_object_get(doc, "differences"), member), *one;
	size_t i;

	if (!json_array_size(list))
		return;
	fprintf(f, "\n%s\n", title);
	json_array_foreach(list, i, one) put_difference(f, doc, one);
}

/* ---- notes and messages ---- */

static void put_item(FILE *f, const char *title, const char *text)
{
	char *safe = printable_dup(text, false);

	lost |= !safe;
	fprintf(f, "%s  ", title);
	put_folded(f, safe ? safe : "", 4);
	free(safe);
}

static void put_notes(FILE *f, const json_t *doc)
{
	const json_t *notes = json_object_get(doc, "notes");

	for (size_t i = 0; i < json_array_size(notes); i++) {
		const char *text = json_string_value(json_array_get(notes, i));

		put_item(f, i ? "" : "\nNotes\n", text ? text : "?");
	}
}

static void put_messages(FILE *f, const json_t *doc)
{
	const json_t *one;
	size_t i, errors = 0, others = 0;

	json_array_foreach(json_object_get(doc, "messages"), i, one)
	{
		if (strcmp(document_text(one, "level"), "error") != 0)
			others++;
		else if (errors++ < MESSAGES_SHOWN)
			put_item(f, errors == 1 ? "\nErrors of the hosts\n" : "",
				 document_text(one, "text"));
	}
	if (errors > MESSAGES_SHOWN)
		fprintf(f, "  and %zu more\n", errors - MESSAGES_SHOWN);
	if (others)
		fprintf(f, "\nWarnings and notes of the hosts: %zu, in their documents\n", others);
}

/* Hosts that did not end as they should. */
static void put_ends(FILE *f, const json_t *doc)
{
	const json_t *host;
	bool any = false;
	size_t i;

	json_array_foreach(json_object_get(doc, "hosts"), i, host)
	{
		char name[LABEL_SIZE];

		if (combine_text_number(host, "status") <= 0)
			continue;
		if (!any)
			fputs("\nHosts that failed\n", f);
		any = true;
		fprintf(f, "  %s: status %.0f\n", label(host, name, sizeof(name)),
			combine_text_number(host, "status"));
	}
}

/* The bytes of a label before the number of its rank; 0: it has none. */
static size_t host_bytes(const json_t *host)
{
	const char *text = document_text(host, "label"), *slash = strrchr(text, '/');

	return slash && is_number(host, "rank") ? (size_t)(slash - text) : 0;
}

/* How many hosts these ranks are on; 0: a document is of no rank. */
static size_t count_hosts(const json_t *hosts)
{
	json_t *names = json_object(), *host;
	size_t i, n;

	json_array_foreach(hosts, i, host)
	{
		size_t bytes = host_bytes(host);
		char name[LABEL_SIZE];

		if (!bytes)
			break;
		snprintf(name, sizeof(name), "%.*s", (int)bytes, document_text(host, "label"));
		json_object_set_new_nocheck(names, name, json_true());
	}
	n = i == json_array_size(hosts) ? json_object_size(names) : 0;
	json_decref(names);
	return n;
}

/* "4 hosts", or "4 ranks on 2 hosts". */
static void put_size(char *text, size_t size, const json_t *list)
{
	size_t n = json_array_size(list), hosts = count_hosts(list);

	if (hosts && hosts < n)
		snprintf(text, size, "%zu ranks on %zu host%s", n, hosts, hosts == 1 ? "" : "s");
	else
		snprintf(text, size, "%zu host%s", n, n == 1 ? "" : "s");
}

static void put_text(FILE *to, const json_t *doc, const struct figures *all)
{
	size_t n = json_array_size(json_object_get(doc, "hosts"));
	const bool partial = json_is_true(json_object_get(doc, "partial"));
	const char *id = document_text(doc, "run_id");
	char size[64];

	put_size(size, sizeof(size), json_object_get(doc, "hosts"));
	put_paragraph(to, "%s%s%s, started %s%s", size, *id ? ", run " : "", id,
		      document_text(doc, "start_time"), partial ? ", not complete" : "");
	fputc('\n', to);
	put_table(to, doc, all);
	fputc('\n', to);
	put_latency(to, all);
	put_flushes(to, all);
	if (n > 1) {
		put_skew(to, doc, "Start", "start_skew");
		put_skew(to, doc, "End", "end_skew");
		put_window(to, doc, all);
		put_slowest(to, doc);
		combine_stonewall_text(doc, to);
	}
	put_differences(to, doc, "environment", "The environments of the hosts differ in");
	put_differences(to, doc, "plan", "The plans of the hosts differ in");
	put_ends(to, doc);
	put_notes(to, doc);
	put_messages(to, doc);
}

/*
 * The figures of all targets; nothing is known without a result of them, or where sums are too
 * large for a document. To be freed by figures_free(). False: memory is short.
 */
static bool read_all(const json_t *doc, struct figures *f)
{
	struct document_result all = { .what = RESULT_COMBINED };
	const json_t *result;
	char why[DOCUMENT_WHY_SIZE];
	size_t i;
	int err;

	json_array_foreach(json_object_get(doc, "results"), i, result)
	{
		if (strcmp(document_text(result, "what"), column_what(all.what)) == 0)
			all.value = result;
	}
	err = document_figures(&all, f, why);
	if (err) {
		figures_free(f);
		*f = (struct figures){ .known = 0 };
	}
	return err != -ENOMEM;
}

int combine_print_text(const json_t *doc, FILE *to)
{
	const unsigned long lost_values = jvalue_lost();
	struct figures all;

	lost = !read_all(doc, &all);
	if (!lost)
		put_text(to, doc, &all);
	figures_free(&all);
	lost |= jvalue_lost() != lost_values;
	return lost ? -ENOMEM : ferror(to) ? -EIO : 0;
}
