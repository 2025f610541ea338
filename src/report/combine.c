/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One document of the documents of several hosts; see the header. Called by xdd combine, and by
 * commands that start a run on several hosts.
 */
#include "xdd/report/combine.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config.h"
#include "report/combine_host.h"
#include "report/csv.h"
#include "report/jsonout.h"
#include "xdd/base/log.h"
#include "xdd/base/units.h"
#include "xdd/report/jvalue.h"

#define MAX_MESSAGES 1000

/* Bytes per second by the host's own time, or operations. */
static double combine_rate(const struct combine_host *h, bool bytes)
{
	const struct figures *f = &h->sum.figures;
	double amount = bytes ? (double)tally_bytes(&f->tally) : (double)tally_ops(&f->tally);

	return f->elapsed_ns ? amount * NS_PER_SEC / (double)f->elapsed_ns : 0;
}

/* ---- members of the document ---- */

static json_t *text_or_null(const struct document *doc, const char *key)
{
	return jvalue_text(json_string_value(json_object_get(doc->root, key)));
}

static json_t *skew_value(const struct combine_skew *s)
{
	json_t *o = json_object();

	jvalue_put(o, "skew_ns", jvalue_count(s->skew_ns));
	jvalue_put(o, "bound_ns", jvalue_known(s->bound_known, s->bound_ns));
	jvalue_put(o, "first_host", jvalue_count(s->first));
	jvalue_put(o, "last_host", jvalue_count(s->last));
	return o;
}

static json_t *window_value(const struct combination *c)
{
	json_t *o = json_object();

	jvalue_put(o, "ns", jvalue_count(c->times.window_ns));
	jvalue_put(o, "bytes", jvalue_real(c->window_bytes));
	jvalue_put(o, "ops", jvalue_real(c->window_ops));
	return o;
}

static json_t *together_value(struct combination *c)
{
	const struct combine_times *t = &c->times;
	json_t *o = json_object();

	jvalue_put(o, "hosts", jvalue_count(c->n));
	jvalue_put(o, "missing", json_incref(c->missing));
	jvalue_put(o, "begin_ns", jvalue_known(t->known, t->begin_ns));
	jvalue_put(o, "finish_ns", jvalue_known(t->known, t->finish_ns));
	jvalue_put(o, "start_skew", t->known ? skew_value(&t->start) : json_null());
	jvalue_put(o, "end_skew", t->known ? skew_value(&t->end) : json_null());
	jvalue_put(o, "window", t->known ? window_value(c) : json_null());
	jvalue_put(o, "slowest_host", jvalue_count(c->slowest));
	jvalue_put(o, "fastest_host", jvalue_count(c->fastest));
	jvalue_put(o, "fairness", jvalue_real(c->fairness));
	jvalue_put(o, "passes", json_incref(c->pass_times));
	return o;
}

static json_t *host_value(const struct combine_host *h)
{
	json_t *o = json_object(), *clock = json_object_get(h->doc->root, "clock");
	json_t *deskew = document_deskew(h->doc->root);

	jvalue_put(o, "host", jvalue_text(h->name));
	jvalue_put(o, "label", jvalue_text(h->label));
	jvalue_put(o, "document", jvalue_text(h->doc->name));
	jvalue_put(o, "rank", jvalue_known(h->doc->ranked, h->doc->rank));
	jvalue_put(o, "xdd", text_or_null(h->doc, "xdd"));
	jvalue_put(o, "start_time", text_or_null(h->doc, "start_time"));
	jvalue_put(o, "end_time", text_or_null(h->doc, "end_time"));
	jvalue_put(o, "end", text_or_null(h->doc, "end"));
	jvalue_put(o, "partial", json_boolean(h->doc->partial));
	jvalue_put(o, "status", jvalue_count((uint64_t)h->doc->status));
	jvalue_put(o, "identity", csv_identity(h->doc->root, h->label, DOCUMENT_ALL));
	jvalue_put(o, "processors", jvalue_count(h->sum.processors));
	jvalue_put(o, "deskew", deskew ? json_incref(deskew) : json_null());
	jvalue_put(o, "clock", json_is_object(clock) ? json_incref(clock) : json_null());
	return o;
}

static json_t *combine_hosts_value(const struct combination *c)
{
	json_t *array = json_array();

	for (size_t i = 0; i < c->n; i++)
		json_array_append_new(array, host_value(&c->hosts[i]));
	return array;
}

/* ---- results ---- */

static json_t *sum_value(const struct combination *c)
{
	uint32_t percents[DOCUMENT_MAX_PERCENTS];
	const struct document_result *first = c->hosts[0].combined;
	struct plan *plan = calloc(1, sizeof(*plan));
	json_t *o;

	if (!plan) {
		jvalue_no_memory();
		return NULL;
	}
	/* The percentiles of the first document, so that the combined one has the same. */
	plan->latency.n_percents = first ? document_percents(first, percents) : 0;
	if (plan->latency.n_percents)
		plan->latency.percents = percents;
	o = jsonout_result_value(plan, &c->sum);
	free(plan);
	return o;
}

/* The result of a host, as its document has it, under another name. */
static json_t *host_result(const struct combine_host *h, size_t number)
{
	json_t *o = json_copy((json_t *)(uintptr_t)h->combined->value);

	jvalue_put(o, "what", jvalue_text(column_what(RESULT_HOST)));
	/* Older documents lack these. */
	if (!json_object_get(o, "begin_ns"))
		jvalue_put(o, "begin_ns", json_null());
	if (!json_object_get(o, "finish_ns"))
		jvalue_put(o, "finish_ns", json_null());
	jvalue_put(o, "host", jvalue_count(number));
	return o;
}

static json_t *results_value(const struct combination *c)
{
	json_t *array = json_array();

	for (size_t i = 0; i < c->n; i++) {
		if (c->hosts[i].combined)
			json_array_append_new(array, host_result(&c->hosts[i], i));
	}
	if (c->sum.pass)
		json_array_append_new(array, sum_value(c));
	return array;
}

/* ---- messages ---- */

static void put_message(json_t *array, const char *label, const struct document_message *m)
{
	json_t *o = json_object();

	jvalue_put(o, "level", jvalue_text(m->level));
	jvalue_put(o, "text", json_sprintf("%s: %s", label, m->text));
	json_array_append_new(array, o);
}

static void put_messages(json_t *doc, const struct combination *c)
{
	json_t *array = json_array();
	uint64_t left_out = 0;

	for (size_t i = 0; i < c->n; i++) {
		const struct document *own = c->hosts[i].doc;
		json_int_t lost =
			json_integer_value(json_object_get(own->root, "messages_left_out"));

		left_out += lost > 0 && lost < INT32_MAX ? (uint64_t)lost : 0;
		for (size_t k = 0; k < own->n_messages; k++) {
			if (json_array_size(array) >= MAX_MESSAGES)
				left_out++;
			else
				put_message(array, c->hosts[i].label, &own->messages[k]);
		}
	}
	jvalue_put(doc, "messages", array);
	jvalue_put(doc, "messages_left_out", jvalue_count(left_out));
}

/* ---- the document ---- */

/* The member of all documents; null where they differ. */
static json_t *combine_document_common(const struct combination *c, const char *key)
{
	json_t *first = json_object_get(c->hosts[0].doc->root, key);

	for (size_t i = 1; i < c->n; i++) {
		json_t *other = json_object_get(c->hosts[i].doc->root, key);

		if (!first || !other || !json_equal(first, other))
			return json_null();
	}
	return first ? json_incref(first) : json_null();
}

static void put_head(json_t *doc, const struct combination *c)
{
	const struct document *first = c->hosts[0].doc;
	uint64_t begin = UINT64_MAX;

	for (size_t i = 0; i < c->n; i++) {
		const uint64_t start = c->hosts[i].doc->start_ns;

		if (start && start < begin)
			begin = start;
	}
	jvalue_put(doc, "format", jvalue_text(JSONOUT_FORMAT));
	jvalue_put(doc, "version", json_integer(JSONOUT_VERSION));
	jvalue_put(doc, "xdd", jvalue_text(PACKAGE_VERSION));
	jvalue_put(doc, "id", combine_document_common(c, "id"));
	jvalue_put(doc, "run_id", combine_document_common(c, "run_id"));
	jvalue_put(doc, "command_line", text_or_null(first, "command_line"));
	jvalue_put(doc, "start_time",
		   begin == UINT64_MAX ? text_or_null(first, "start_time") : jvalue_time(begin));
	jvalue_put(doc, "environment", json_incref(json_object_get(first->root, "environment")));
	jvalue_put(doc, "plan", json_incref(json_object_get(first->root, "plan")));
}

static void put_tail(json_t *doc, const struct combination *c)
{
	uint64_t status = 0, end = 0;
	bool canceled = false, bad = false, partial = json_array_size(c->missing) > 0;

	for (size_t i = 0; i < c->n; i++) {
		const struct document *own = c->hosts[i].doc;
		const uint64_t own_status = (uint64_t)own->status;

		status = own_status > status ? own_status : status;
		end = own->end_ns > end ? own->end_ns : end;
		partial |= own->partial;
		canceled |= strcmp(own->end, "canceled") == 0;
		bad |= strcmp(own->end, "normal") != 0;
	}
	if (!status && json_array_size(c->missing))
		status = XDD_TARGET_FAILED;
	put_messages(doc, c);
	jvalue_put(doc, "end_time",
		   end ? jvalue_time(end) : text_or_null(c->hosts[0].doc, "end_time"));
	jvalue_put(doc, "end",
		   jvalue_text(canceled	     ? "canceled" :
			       bad || status ? "errors" :
					       "normal"));
	jvalue_put(doc, "partial", json_boolean(partial));
	jvalue_put(doc, "status", jvalue_count(status));
}

int combine_set_status(json_t *doc, enum xdd_status status)
{
	const char *end = json_string_value(json_object_get(doc, "end"));

	if (jvalue_put(doc, "status", json_integer((json_int_t)status)))
		return -ENOMEM;
	if (status && end && strcmp(end, "normal") == 0 &&
	    jvalue_put(doc, "end", jvalue_text("errors")))
		return -ENOMEM;
	return 0;
}

/* The member "hosts", and the whole document: new references. */
static json_t *combine_value(struct combination *c)
{
	static const char *const of_hosts[] = { "devices", "deskew", "start_skew", "endtoend" };
	json_t *doc = json_object(), *differences = json_object();

	put_head(doc, c);
	jvalue_put(doc, "hosts", combine_hosts_value(c));
	jvalue_put(doc, "together", together_value(c));
	jvalue_put(differences, "environment", combine_differences(c->hosts, c->n, "environment"));
	jvalue_put(differences, "plan", combine_differences(c->hosts, c->n, "plan"));
	jvalue_put(doc, "differences", differences);
	jvalue_put(doc, "notes", json_incref(c->notes));
	jvalue_put(doc, "results", results_value(c));
	jvalue_put(doc, "statistics", json_incref(c->statistics));
	for (size_t i = 0; i < sizeof(of_hosts) / sizeof(of_hosts[0]); i++)
		jvalue_put(doc, of_hosts[i], json_array());
	jvalue_put(doc, "stonewall", combine_stonewall(c->hosts, c->n));
	jvalue_put(doc, "clock", json_null());
	jvalue_put(doc, "start", json_null());
	put_tail(doc, c);
	return doc;
}

static void no_memory(void)
{
	log_error("combine: %s", strerror(ENOMEM));
}

/* ---- sums ---- */

/* Sums wrap around only in documents that are not true. */
static bool tally_fits(const struct tally *sum, const struct tally *from)
{
	return tally_bytes(sum) <= UINT64_MAX - tally_bytes(from) &&
	       tally_ops(sum) <= UINT64_MAX - tally_ops(from) &&
	       tally_busy_ns(sum) <= UINT64_MAX - tally_busy_ns(from) &&
	       sum->issued <= UINT64_MAX - from->issued;
}

static void add_kind(struct result *sum, const struct result *r, bool first)
{
	if (first) {
		sum->op = r->op;
		sum->req_bytes = r->req_bytes;
		sum->block_size = r->block_size;
		sum->pass = r->pass;
		sum->verified = r->verified;
	}
	if (sum->op != r->op)
		sum->op = OP_MIXED;
	sum->verified &= r->verified;
	sum->pass = r->pass > sum->pass ? r->pass : sum->pass;
	sum->target += r->target;
	sum->queue += r->queue;
	sum->partial |= r->partial;
}

static bool add_hosts(struct combination *c)
{
	struct result *sum = &c->sum;
	bool first = true;

	sum->what = RESULT_COMBINED;
	for (size_t i = 0; i < c->n; i++) {
		const struct combine_host *h = &c->hosts[i];

		if (!h->combined)
			continue;
		if (!tally_fits(&sum->figures.tally, &h->sum.figures.tally))
			return log_fail(false,
					"combine: %s: the sums of all documents are too large",
					h->doc->name);
		add_kind(sum, &h->sum, first);
		if (figures_add(&sum->figures, &h->sum.figures)) {
			no_memory();
			return false;
		}
		first = false;
	}
	sum->figures.elapsed_ns = c->times.elapsed_ns;
	sum->partial |= json_array_size(c->missing) > 0;
	sum->figures.begin_ns = c->times.known ? c->times.begin_ns : 0;
	sum->figures.finish_ns = c->times.known ? c->times.finish_ns : 0;
	return true;
}

static void rank_hosts(struct combination *c)
{
	const bool bytes = tally_bytes(&c->sum.figures.tally) > 0;
	double least = 0, most = 0;
	bool first = true;

	for (size_t i = 0; i < c->n; i++) {
		const struct combine_host *h = &c->hosts[i];
		uint64_t ns = combine_spans_length(h->spans, h->n_spans);
		double rate = combine_rate(h, bytes);

		if (h->idle)
			continue;
		if (first || rate < least) {
			least = rate;
			c->slowest = (uint32_t)i;
		}
		if (first || rate > most) {
			most = rate;
			c->fastest = (uint32_t)i;
		}
		first = false;
		if (ns && c->times.known) {
			double share = (double)c->times.window_ns / (double)ns;

			c->window_bytes += share * (double)tally_bytes(&h->sum.figures.tally);
			c->window_ops += share * (double)tally_ops(&h->sum.figures.tally);
		}
	}
	c->fairness = most > 0 ? least / most : 0;
}

static void note_clocks(const struct combination *c)
{
	size_t bounded = 0, busy = 0;

	for (size_t i = 0; i < c->n; i++) {
		busy += c->hosts[i].n_spans > 0;
		bounded += c->hosts[i].n_spans && c->hosts[i].clock.bound_known;
	}
	if (!c->times.known && c->times.elapsed_ns)
		json_array_append_new(
			c->notes,
			jvalue_text(
				"documents without global times (of an older xdd): skew and common "
				"window are not known, and the rates of all hosts together assume "
				"that they begin at one moment"));
	else if (bounded < busy && busy > 1)
		json_array_append_new(
			c->notes,
			jvalue_text("hosts without -timeserver: how far their clocks differ is not "
				    "known, and so how true the skew and the sums are"));
}

/* ---- random offsets that ranks share ---- */

/* File systems of one host; a file of any other one may be open on several. */
static bool is_local(const char *type)
{
	static const char *const types[] = { "ext2", "ext3",  "ext4", "xfs",   "btrfs",	  "f2fs",
					     "zfs",  "tmpfs", "vfat", "exfat", "overlay", "ramfs" };

	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		if (strcmp(type, types[i]) == 0)
			return true;
	}
	return false;
}

static const json_t *target_of(const struct combine_host *h, const char *part, size_t i)
{
	return json_array_get(json_object_get(json_object_get(h->doc->root, part), "targets"), i);
}

/* True if both hosts have one kernel: the boot id is the first word of the name of a clock. */
static bool same_kernel(const struct combine_host *a, const struct combine_host *b)
{
	const char *x = a->clock.machine, *y = b->clock.machine;
	size_t length = x ? strcspn(x, " ") : 0;

	return length && y && strcspn(y, " ") == length && strncmp(x, y, length) == 0;
}

/* True if target `i` of both hosts is one file, at the offsets of one random sequence. */
static bool same_offsets(const struct combine_host *a, const struct combine_host *b, size_t i)
{
	const json_t *x = target_of(a, "plan", i), *y = target_of(b, "plan", i);
	const json_t *seek = json_object_get(json_object_get(x, "options"), "seek");
	const json_t *other = json_object_get(json_object_get(y, "options"), "seek");
	const json_t *fs = json_object_get(target_of(a, "environment", i), "file_system");
	const json_t *rx = json_object_get(x, "resolved"), *ry = json_object_get(y, "resolved");
	const char *pattern = document_text(rx, "seek_pattern"), *kind = document_text(rx, "kind");
	const json_t *seed = json_object_get(seek, "seed");

	if (strncmp(pattern, "random", 6) != 0 && strcmp(pattern, "zipf") != 0)
		return false;
	if (strcmp(kind, "file") != 0 && strcmp(kind, "block device") != 0)
		return false;
	if (!seed || !json_equal((json_t *)seed, json_object_get(other, "seed")) ||
	    strcmp(document_text(ry, "seek_pattern"), pattern) != 0 ||
	    strcmp(document_text(x, "path"), document_text(y, "path")) != 0 ||
	    !json_is_null(json_object_get(json_object_get(x, "options"), "blockperrank")))
		return false;
	return same_kernel(a, b) ||
	       (fs && *document_text(fs, "type") && !is_local(document_text(fs, "type")));
}

/* The first target that several ranks access at the same offsets; -1: there is none. */
static int shared_target(const struct combination *c)
{
	for (size_t k = 1; k < c->n; k++) {
		const struct combine_host *h = &c->hosts[k];
		const json_t *plan = json_object_get(h->doc->root, "plan");
		const size_t n = json_array_size(json_object_get(plan, "targets"));

		for (size_t i = 0; i < n; i++) {
			if (same_offsets(&c->hosts[0], h, i) || same_offsets(h - 1, h, i))
				return (int)i;
		}
	}
	return -1;
}

static void note_offsets(const struct combination *c)
{
	const int i = shared_target(c);
	char text[256];

	if (i < 0)
		return;
	snprintf(text, sizeof(text),
		 "target %d: several ranks access one file at the same random offsets, so caches "
		 "may answer most of them; -seek seed <n>%%r gives each rank offsets of its own",
		 i);
	json_array_append_new(c->notes, jvalue_text(text));
}

/* A result of one host is the result of all. */
static json_t *only_one(const struct combination *c)
{
	json_t *doc = json_copy(c->hosts[0].doc->root);

	if (doc && !json_object_get(doc, "hosts"))
		jvalue_put(doc, "hosts", combine_hosts_value(c));
	return doc;
}

static bool read_host(struct combine_host *h, size_t number, const struct document *doc,
		      bool several)
{
	if (!combine_host_read(h, (uint32_t)number, doc))
		return false;
	if (!several || !doc->combined)
		return true;
	return log_fail(false, "combine: %s: is a combined result; give the documents of its hosts",
			doc->name);
}

bool combine_check(const struct document *doc, bool several)
{
	struct combine_host h;
	bool good = read_host(&h, 0, doc, several);

	combine_host_free(&h);
	return good;
}

static bool read_hosts(struct combination *c, const struct document *docs,
		       const struct combine_options *o)
{
	for (size_t i = 0; i < c->n; i++) {
		struct combine_host *h = &c->hosts[i];

		if (!read_host(h, i, &docs[i], c->n > 1))
			return false;
		if (o->rank_hosts && docs[i].ranked && docs[i].rank < o->n_rank_hosts)
			h->called = o->rank_hosts[docs[i].rank];
	}
	return true;
}

static json_t *combine_combine(struct combination *c, const struct document *docs,
			       const struct combine_options *o)
{
	if (!read_hosts(c, docs, o) || !combine_belong(c->hosts, c->n, o))
		return NULL;
	combine_label(c->hosts, c->n, c->notes);
	combine_missing(c->hosts, c->n, o, c->missing, c->notes);
	if (c->n == 1 && !json_array_size(c->missing))
		return only_one(c);
	combine_share_clock(c->hosts, c->n);
	if (combine_times(&c->times, c->hosts, c->n)) {
		no_memory();
		return NULL;
	}
	note_clocks(c);
	note_offsets(c);
	if (!combine_passes(c->hosts, c->n, c->times.elapsed_ns, c->statistics, c->pass_times,
			    c->notes) ||
	    !add_hosts(c))
		return NULL;
	rank_hosts(c);
	return combine_value(c);
}

json_t *combine_documents(const struct document *docs, size_t n, const struct combine_options *o)
{
	struct combination c = {
		.hosts = calloc(n, sizeof(*c.hosts)),
		.n = n,
		.missing = json_array(),
		.notes = json_array(),
		.statistics = json_array(),
		.pass_times = json_array(),
	};
	const unsigned long lost = jvalue_lost();
	json_t *doc = NULL;

	figures_init(&c.sum.figures);
	if (!c.hosts || !c.missing || !c.notes || !c.statistics || !c.pass_times)
		no_memory();
	else
		doc = combine_combine(&c, docs, o);
	if (doc && jvalue_lost() != lost) {
		no_memory();
		json_decref(doc);
		doc = NULL;
	}
	for (size_t i = 0; c.hosts && i < n; i++)
		combine_host_free(&c.hosts[i]);
	figures_free(&c.sum.figures);
	free(c.hosts);
	json_decref(c.missing);
	json_decref(c.notes);
	json_decref(c.statistics);
	json_decref(c.pass_times);
	return doc;
}
