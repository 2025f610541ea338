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
#include "xdd/report/screen.h"

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
	return log_fail(XDD_IO_ERROR, "combine: -csvout %s: %s", path, output_strerror(err));
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
	struct document d = { .root = json_incref((json_t *)(uintptr_t)doc) };
	struct column_list list = { 0 };
	enum xdd_status status = XDD_INIT_FAILED;
	const char *bad;
	size_t len;

	if (t && document_read(&d, "combine", "the result") &&
	    !column_list_parse(&list, CSV_RESULT_COLUMNS, &bad, &len)) {
		csv_kind(t);
		csv_result_columns(t, &list);
		csv_results(t, &list, &d, CSV_HOSTS, NULL);
		status = combine_csv_write(t, path);
	} else {
		log_error("combine: %s", strerror(ENOMEM));
	}
	column_list_free(&list);
	document_free(&d);
	csv_free(t);
	return status;
}

/*
 * The text is read from the document alone, of which texts may come from any source.
 */

#define WIDTH 80
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

/* Texts of documents are made safe here. */
static void put_formatted(FILE *f, int indent, const char *fmt, va_list args)
{
	char *text = NULL, *safe;

	if (vasprintf(&text, fmt, args) < 0)
		text = NULL;
	safe = text ? printable_dup(text, false) : NULL;
	lost |= !safe;
	text_fold(f, safe ? safe : "", WIDTH, indent);
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

/* A row: a name, when it began, how long it took, the figures, and nothing in the last column. */
#define N_CELLS (3 + FIGURES_SHOWN + 1)

struct row {
	char name[LABEL_SIZE];
	char start[SCALED_SIZE + 1]; /* since the first host began */
	char texts[1 + FIGURES_SHOWN][SCALED_SIZE];
	const char *cells[N_CELLS];
};

/* Without figures nothing is known. */
static void fill_row(struct row *row, const struct figures *f)
{
	const size_t last = N_CELLS - 1;

	scaled_time(f->known ? (double)f->elapsed_ns : NAN, row->texts[0]);
	for (size_t i = 0; i < FIGURES_SHOWN; i++)
		figure_text(figures_shown[i], figure_of_pass(f, figures_shown[i]),
			    row->texts[i + 1]);
	row->cells[0] = row->name;
	row->cells[1] = row->start;
	for (size_t i = 0; i < FIGURES_SHOWN + 1; i++)
		row->cells[i + 2] = row->texts[i];
	row->cells[last] = "";
}

/* The result of host `i`; NULL: there is none. */
static const struct document_result *result_of_host(const struct document *d, size_t i, size_t n)
{
	for (size_t k = 0; k < d->n_results; k++) {
		const struct document_result *r = &d->results[k];

		if (n == 1 ? r->what == RESULT_COMBINED : r->what == RESULT_HOST && r->host == i)
			return r;
	}
	return NULL;
}

static void fill_host(struct row *row, const struct document *d, size_t i, size_t n)
{
	const json_t *together = json_object_get(d->root, "together");
	const json_t *begin = json_object_get(together, "begin_ns");
	const struct document_result *r = result_of_host(d, i, n);
	char why[DOCUMENT_WHY_SIZE], time[SCALED_SIZE];
	struct figures f = { .known = 0 };
	const int err = r ? document_figures(r, &f, why) : 0;

	lost |= err == -ENOMEM;
	if (err)
		f.known = 0;
	label(json_array_get(json_object_get(d->root, "hosts"), i), row->name, sizeof(row->name));
	snprintf(row->start, sizeof(row->start), "-");
	if (json_is_integer(begin) && r && r->placed)
		snprintf(row->start, sizeof(row->start), "+%s",
			 scaled_time((double)(r->begin_ns - (uint64_t)json_integer_value(begin)),
				     time));
	fill_row(row, &f);
	figures_free(&f);
}

static void put_table(FILE *to, const struct document *d, const struct figures *all)
{
	const size_t n = json_array_size(json_object_get(d->root, "hosts"));
	const struct screen screen = { .columns = WIDTH, .gap = "~" };
	struct screen_column columns[N_CELLS] = { { .heading = "host", .left = true },
						  { .heading = "start" },
						  { .heading = "elapsed" } };
	struct screen_table table = { .screen = &screen, .columns = columns, .n = N_CELLS };
	struct row *rows = calloc(n + 1, sizeof(*rows));

	lost |= !rows;
	if (!rows)
		return;
	for (size_t i = 0; i < FIGURES_SHOWN; i++)
		columns[3 + i].heading = figure_heading(figures_shown[i]);
	columns[N_CELLS - 1].heading = "";
	screen_table_widen(&table, NULL);
	for (size_t i = 0; i < n; i++)
		fill_host(&rows[i], d, i, n);
	snprintf(rows[n].name, sizeof(rows[n].name), "all");
	fill_row(&rows[n], all);
	for (size_t i = 0; i < n + (n > 1); i++)
		screen_table_widen(&table, rows[i].cells);
	screen_table_fit(&table);
	screen_table_put(&table, to, NULL);
	for (size_t i = 0; i < n + (n > 1); i++)
		screen_table_put(&table, to, rows[i].cells);
	free(rows);
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
		text_fold(f, m.text, WIDTH, 6);
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
	text_fold(f, safe ? safe : "", WIDTH, 4);
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

static void put_text(FILE *to, const struct document *d, const struct figures *all)
{
	const json_t *doc = d->root;
	size_t n = json_array_size(json_object_get(doc, "hosts"));
	const bool partial = json_is_true(json_object_get(doc, "partial"));
	const char *id = document_text(doc, "run_id");
	char size[64];

	put_size(size, sizeof(size), json_object_get(doc, "hosts"));
	put_paragraph(to, "%s%s%s, started %s%s", size, *id ? ", run " : "", id,
		      document_text(doc, "start_time"), partial ? ", not complete" : "");
	fputc('\n', to);
	put_table(to, d, all);
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

int combine_print_text(const json_t *doc, FILE *to)
{
	const unsigned long lost_values = jvalue_lost();
	struct document d = { .root = json_incref((json_t *)(uintptr_t)doc) };
	const struct document_result *r;
	char why[DOCUMENT_WHY_SIZE];
	struct figures all = { .known = 0 };
	int err = 0;

	lost = !document_read(&d, "combine", "the result");
	r = document_result(&d, RESULT_COMBINED);
	/* Nothing is known without a result, or where sums are too large for a document. */
	if (r)
		err = document_figures(r, &all, why);
	if (err) {
		figures_free(&all);
		all = (struct figures){ .known = 0 };
	}
	lost |= err == -ENOMEM;
	if (!lost)
		put_text(to, &d, &all);
	figures_free(&all);
	document_free(&d);
	lost |= jvalue_lost() != lost_values;
	return lost ? -ENOMEM : ferror(to) ? -EIO : 0;
}
