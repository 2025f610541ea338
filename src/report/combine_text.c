/*
 * A combined result for people, 80 columns wide. It is read from the document alone, of which texts
 * may come from any source. Called by xdd combine, and by those that start a run on several hosts.
 */
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/combine_host.h"
#include "xdd/base/memory.h"
#include "xdd/base/text.h"
#include "xdd/base/units.h"
#include "xdd/report/jvalue.h"

#define WIDTH 80
#define HOST_WIDTH 18
#define LABEL_SIZE 128
#define VALUES_SHOWN 6
#define HOSTS_SHOWN 8
#define MESSAGES_SHOWN 20

/* ---- values of the document ---- */

static double number(const json_t *o, const char *key)
{
	return json_number_value(json_object_get(o, key));
}

static bool is_number(const json_t *o, const char *key)
{
	return json_is_number(json_object_get(o, key));
}

static const char *text_of(const json_t *o, const char *key)
{
	const char *text = json_string_value(json_object_get(o, key));

	return text ? text : "";
}

/* Main thread: memory was short since combine_print_text() began, and a text is missing. */
static bool lost;

/* The name of a host, cut at `size` bytes: never in the middle of a character. */
static const char *label(const json_t *host, char *buf, size_t size)
{
	char *safe = printable_dup(text_of(host, "label"), false);
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
__attribute__((format(printf, 3, 4))) static void put_line(FILE *f, const char *word,
							   const char *fmt, ...)
{
	va_list args;

	fprintf(f, "%-11s ", word);
	va_start(args, fmt);
	put_formatted(f, 12, fmt, args);
	va_end(args);
}

/* ---- the table ---- */

static void put_row(FILE *f, const char *name, const char *start, const json_t *row)
{
	char elapsed[SCALED_SIZE] = "-", rate[SCALED_SIZE] = "-", ops[SCALED_SIZE] = "-";
	char p50[SCALED_SIZE] = "-", p99[SCALED_SIZE] = "-", max[SCALED_SIZE] = "-";

	if (is_number(row, "elapsed_ns"))
		scaled_time(number(row, "elapsed_ns"), elapsed);
	if (is_number(row, "bandwidth"))
		scaled_rate(number(row, "bandwidth"), rate);
	if (is_number(row, "iops"))
		scaled_ops(number(row, "iops"), ops);
	if (is_number(row, "p50_ns"))
		scaled_time(number(row, "p50_ns"), p50);
	if (is_number(row, "p99_ns"))
		scaled_time(number(row, "p99_ns"), p99);
	if (is_number(row, "max_ns"))
		scaled_time(number(row, "max_ns"), max);
	fprintf(f, "%-*s %8s %7s %9s %9s %7s %7s %7s\n", HOST_WIDTH, name, start, elapsed, rate,
		ops, p50, p99, max);
}

static const json_t *combined_of(const json_t *doc)
{
	const json_t *result, *found = NULL;
	size_t i;

	json_array_foreach(json_object_get(doc, "results"), i, result)
	{
		if (strcmp(text_of(result, "what"), "COMBINED") == 0)
			found = result;
	}
	return found;
}

/* A column of milliseconds; NAN: it has no value. */
static double ns_of(const json_t *columns, const char *key)
{
	return is_number(columns, key) ? NS_PER_MS * number(columns, key) : NAN;
}

/* The row of all: from the columns, which have milliseconds and 10^6 bytes. */
static void put_all(FILE *f, const json_t *doc)
{
	const json_t *combined = combined_of(doc);
	const json_t *columns = json_object_get(combined, "columns");
	json_t *row = json_object();

	json_object_set(row, "elapsed_ns", json_object_get(combined, "elapsed_ns"));
	if (is_number(columns, "bandwidth"))
		jvalue_put(row, "bandwidth", jvalue_real(1e6 * number(columns, "bandwidth")));
	if (is_number(columns, "iops"))
		jvalue_put(row, "iops", jvalue_real(number(columns, "iops")));
	jvalue_put(row, "p50_ns", jvalue_real(ns_of(columns, "latp50")));
	jvalue_put(row, "p99_ns", jvalue_real(ns_of(columns, "latp99")));
	jvalue_put(row, "max_ns", jvalue_real(ns_of(columns, "latmax")));
	put_row(f, "all", "", row);
	json_decref(row);
}

static void put_table(FILE *f, const json_t *doc)
{
	const json_t *together = json_object_get(doc, "together"), *host;
	double begin = number(together, "begin_ns");
	size_t i;

	fprintf(f, "%-*s %8s %7s %9s %9s %7s %7s %7s\n", HOST_WIDTH, "host", "start", "elapsed",
		"bandwidth", "rate", "p50", "p99", "max");
	json_array_foreach(json_object_get(doc, "hosts"), i, host)
	{
		char name[HOST_WIDTH + 1], time[SCALED_SIZE], start[SCALED_SIZE + 1] = "-";

		/* Differences of such numbers are exact to 256 ns as floating point. */
		if (begin > 0 && is_number(host, "begin_ns"))
			snprintf(start, sizeof(start), "+%s",
				 scaled_time((double)(json_integer_value(
							      json_object_get(host, "begin_ns")) -
						      json_integer_value(json_object_get(
							      together, "begin_ns"))),
					     time));
		put_row(f, label(host, name, sizeof(name)), start, host);
	}
	if (i > 1)
		put_all(f, doc);
}

/* ---- what is known of all together ---- */

static void put_latency(FILE *f, const json_t *doc)
{
	const json_t *columns = json_object_get(combined_of(doc), "columns");
	char mean[SCALED_SIZE], p99[SCALED_SIZE], p999[SCALED_SIZE], p9999[SCALED_SIZE];

	if (!is_number(columns, "latmean"))
		return;
	put_line(f, "Latency", "mean %s, p99 %s, p99.9 %s, p99.99 %s, of all operations",
		 scaled_time(ns_of(columns, "latmean"), mean),
		 scaled_time(ns_of(columns, "latp99"), p99),
		 scaled_time(ns_of(columns, "latp999"), p999),
		 scaled_time(ns_of(columns, "latp9999"), p9999));
}

static void put_flushes(FILE *f, const json_t *doc)
{
	const json_t *columns = json_object_get(combined_of(doc), "columns");
	char mean[SCALED_SIZE], p99[SCALED_SIZE], max[SCALED_SIZE];

	if (!is_number(columns, "flushlatmean"))
		return;
	put_line(f, "Flushes", "%.0f, mean %s, p99 %s, max %s, in no operation",
		 number(columns, "flushes"), scaled_time(ns_of(columns, "flushlatmean"), mean),
		 scaled_time(ns_of(columns, "flushlatp99"), p99),
		 scaled_time(ns_of(columns, "flushlatmax"), max));
}

static void put_skew(FILE *f, const json_t *doc, const char *word, const char *key)
{
	const json_t *s = json_object_get(json_object_get(doc, "together"), key);
	char first[LABEL_SIZE], last[LABEL_SIZE], skew[SCALED_SIZE], bound[SCALED_SIZE];
	const bool apart = number(s, "first_host") != number(s, "last_host");

	if (!json_is_object(s))
		return;
	if (is_number(s, "bound_ns"))
		scaled_time(number(s, "bound_ns"), bound);
	put_line(f, word, "skew %s, %s%s%s%s%s%s", scaled_time(number(s, "skew_ns"), skew),
		 is_number(s, "bound_ns") ? "true within " : "by clocks of unknown error",
		 is_number(s, "bound_ns") ? bound : "", apart ? "; first " : "",
		 apart ? label_at(doc, json_object_get(s, "first_host"), first, sizeof(first)) : "",
		 apart ? ", last " : "",
		 apart ? label_at(doc, json_object_get(s, "last_host"), last, sizeof(last)) : "");
}

static void put_window(FILE *f, const json_t *doc)
{
	const json_t *w = json_object_get(json_object_get(doc, "together"), "window");
	double ns = number(w, "ns"), elapsed = number(combined_of(doc), "elapsed_ns");
	char time[SCALED_SIZE], rate[SCALED_SIZE], ops[SCALED_SIZE];

	if (!json_is_object(w) || elapsed <= 0)
		return;
	if (ns <= 0) {
		put_line(f, "Window", "at no time all hosts were transferring");
		return;
	}
	put_line(f, "Window",
		 "%s, %.0f %% of the time, all hosts were transferring: about %s, %s by the mean "
		 "rate of each",
		 scaled_time(ns, time), 100 * ns / elapsed,
		 scaled_rate(number(w, "bytes") * NS_PER_SEC / ns, rate),
		 scaled_ops(number(w, "ops") * NS_PER_SEC / ns, ops));
}

static void put_slowest(FILE *f, const json_t *doc)
{
	const json_t *t = json_object_get(doc, "together");
	char slowest[LABEL_SIZE], fastest[LABEL_SIZE];

	if (number(t, "fairness") <= 0)
		return;
	put_line(f, "Slowest", "%s, with %.0f %% of the rate of the fastest, %s",
		 label_at(doc, json_object_get(t, "slowest_host"), slowest, sizeof(slowest)),
		 100 * number(t, "fairness"),
		 label_at(doc, json_object_get(t, "fastest_host"), fastest, sizeof(fastest)));
}

/* ---- differences ---- */

static void put_value(FILE *f, const json_t *value)
{
	const json_t *one;
	size_t i;

	if (json_is_null(value))
		fputs("(none)", f);
	else if (json_is_object(value))
		fputs("(there)", f);
	else if (json_is_array(value))
		json_array_foreach(value, i, one)
		{
			if (i)
				fputc(' ', f);
			put_value(f, one);
		}
	else
		jvalue_write(f, value);
}

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
	printable_put(f, text_of(difference, "name"));
	fputc('\n', f);
	json_array_foreach(values, i, value)
	{
		struct memstream m;

		if (i == VALUES_SHOWN) {
			fprintf(f, "    and %zu other values\n", json_array_size(values) - i);
			return;
		}
		if (memstream_open(&m)) {
			put_value(m.f, json_object_get(value, "value"));
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
		if (strcmp(text_of(one, "level"), "error") != 0)
			others++;
		else if (errors++ < MESSAGES_SHOWN)
			put_item(f, errors == 1 ? "\nErrors of the hosts\n" : "",
				 text_of(one, "text"));
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

		if (number(host, "status") <= 0)
			continue;
		if (!any)
			fputs("\nHosts that failed\n", f);
		any = true;
		fprintf(f, "  %s: status %.0f\n", label(host, name, sizeof(name)),
			number(host, "status"));
	}
}

/* The bytes of a label before the number of its rank; 0: it has none. */
static size_t host_bytes(const json_t *host)
{
	const char *text = text_of(host, "label"), *slash = strrchr(text, '/');

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
		snprintf(name, sizeof(name), "%.*s", (int)bytes, text_of(host, "label"));
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

int combine_print_text(const json_t *doc, FILE *to)
{
	size_t n = json_array_size(json_object_get(doc, "hosts"));
	const bool partial = json_is_true(json_object_get(doc, "partial"));
	const char *id = text_of(doc, "run_id");
	const unsigned long lost_values = jvalue_lost();
	char size[64];

	lost = false;
	put_size(size, sizeof(size), json_object_get(doc, "hosts"));
	put_paragraph(to, "%s%s%s, started %s%s", size, *id ? ", run " : "", id,
		      text_of(doc, "start_time"), partial ? ", not complete" : "");
	fputc('\n', to);
	put_table(to, doc);
	fputc('\n', to);
	put_latency(to, doc);
	put_flushes(to, doc);
	if (n > 1) {
		put_skew(to, doc, "Start", "start_skew");
		put_skew(to, doc, "End", "end_skew");
		put_window(to, doc);
		put_slowest(to, doc);
		combine_stonewall_text(doc, to);
	}
	put_differences(to, doc, "environment", "The environments of the hosts differ in");
	put_differences(to, doc, "plan", "The plans of the hosts differ in");
	put_ends(to, doc);
	put_notes(to, doc);
	put_messages(to, doc);
	lost |= jvalue_lost() != lost_values;
	return lost ? -ENOMEM : ferror(to) ? -EIO : 0;
}
